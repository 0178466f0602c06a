//! Memory and events of another process, which is this test program started again.

use std::error::Error;
use std::process::Command;

use cust::event::EventFlags;
use cust::ipc::{self, IpcEvent, IpcMemory, OpenedMemory};
use cust::memory::{cuda_free, cuda_malloc, memcpy_dtoh, memcpy_htod};
use cust::prelude::*;
use interop_tests::BUMP;

type Outcome = Result<(), Box<dyn Error>>;

const COUNT: u32 = 10_000;
const BYTES: usize = COUNT as usize * size_of::<u32>();
/// How the other process hears of the names.
const NAMES: [&str; 2] = ["INTEROP_MEMORY", "INTEROP_EVENT"];

fn to_hex(name: [u8; 64]) -> String {
    name.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Result<[u8; 64], Box<dyn Error>> {
    let mut name = [0; 64];
    for (i, byte) in name.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2).ok_or("too short")?, 16)?;
    }
    Ok(name)
}

/// Puts adding `by` to each element into the stream, `times` times.
fn bump(
    module: &Module,
    stream: &Stream,
    data: DevicePointer<u32>,
    by: u32,
    times: u32,
) -> Outcome {
    let kernel = module.get_function("bump")?;
    for _ in 0..times {
        // SAFETY: the data has this number of elements.
        unsafe { launch!(kernel<<<COUNT.div_ceil(256), 256, 0, stream>>>(data, COUNT, by))? };
    }
    Ok(())
}

#[test]
#[ignore = "needs a GPU"]
fn another_process_goes_on_with_memory_after_an_event() -> Outcome {
    let _context = cust::quick_init_on(Backend::Gpu)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let module = Module::from_ptx(BUMP, &[])?;
    let event = Event::new(EventFlags::INTERPROCESS | EventFlags::DISABLE_TIMING)?;
    // SAFETY: freed below, once.
    let memory = unsafe { cuda_malloc::<u32>(COUNT as usize)? };
    let numbers: Vec<u32> = (0..COUNT).collect();
    // SAFETY: both sides have this number of bytes.
    unsafe { memcpy_htod(memory.as_raw(), numbers.as_ptr().cast(), BYTES)? };
    // Long enough for the other process to come too early, if it did not wait.
    bump(&module, &stream, memory, 1, 20_000)?;
    event.record(&stream)?;

    let names = [ipc::share_memory(memory)?.0, ipc::share_event(&event)?.0];
    let output = Command::new(std::env::current_exe()?)
        .args(["--exact", "the_other_process", "--ignored", "--nocapture"])
        .envs(NAMES.into_iter().zip(names.map(to_hex)))
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("went on"), "{said}");

    let mut found = vec![0u32; COUNT as usize];
    // SAFETY: as above.
    unsafe { memcpy_dtoh(found.as_mut_ptr().cast(), memory.as_raw(), BYTES)? };
    let wrong = (0..COUNT).find(|&i| found[i as usize] != i + 20_000 + 1_000_000);
    assert_eq!(wrong.map(|i| (i, found[i as usize])), None);
    // SAFETY: allocated above, and the other process is gone.
    unsafe { cuda_free(memory)? };
    Ok(())
}

#[test]
#[ignore = "started by the test above"]
fn the_other_process() -> Outcome {
    let [Ok(memory), Ok(event)] = NAMES.map(std::env::var) else {
        test_outcome::skip("runs in the process that another test starts");
        return Ok(());
    };
    let _context = cust::quick_init_on(Backend::Gpu)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let module = Module::from_ptx(BUMP, &[])?;
    // SAFETY: the first process keeps the memory, and waits for this one.
    let memory = unsafe { OpenedMemory::<u32>::open(IpcMemory(from_hex(&memory)?))? };
    // SAFETY: the parent keeps its event until this process has exited.
    let event = unsafe { ipc::open_event(IpcEvent(from_hex(&event)?))? };
    stream.wait_event(&event, StreamWaitEventFlags::DEFAULT)?;
    bump(&module, &stream, memory.as_device_ptr(), 1_000_000, 1)?;
    stream.synchronize()?;
    println!("went on");
    Ok(())
}

#[test]
#[ignore = "needs a GPU"]
fn names_that_are_none_are_errors() -> Outcome {
    let _context = cust::quick_init_on(Backend::Gpu)?;
    // SAFETY: it fails.
    let error = unsafe { OpenedMemory::<u32>::open(IpcMemory([0x5a; 64])) }.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("opening memory of another process"),
        "{error}"
    );
    // SAFETY: the handle is invalid, which the driver reports.
    let error = unsafe { ipc::open_event(IpcEvent([0x5a; 64])).unwrap_err() };
    assert!(
        error
            .to_string()
            .contains("opening an event of another process"),
        "{error}"
    );
    // An event that was not made for it.
    let event = Event::new(EventFlags::DISABLE_TIMING)?;
    let error = ipc::share_event(&event).unwrap_err();
    assert!(error.to_string().contains("sharing an event"), "{error}");
    // The context goes on.
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    event.record(&stream)?;
    event.synchronize()?;
    Ok(())
}

#[test]
fn the_emulator_shares_nothing() -> Outcome {
    let _context = cust::quick_init_on(Backend::Emulator)?;
    let buffer = DeviceBuffer::from_slice(&[1u32])?;
    let error = ipc::share_memory(buffer.as_device_ptr()).unwrap_err();
    assert!(error.to_string().contains("sharing the memory"), "{error}");
    Ok(())
}
