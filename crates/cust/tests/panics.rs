//! A panic in a kernel is returned as an error, and the context stays usable.
//!
//! A panic in one test may be reported to another test that uses kernels of the same module, so the
//! tests take turns.

mod common;

use std::sync::Mutex;

use common::{PANICS, init, stream};
use cust::error::{Error, KernelPanic};
use cust::prelude::*;

static TURN: Mutex<()> = Mutex::new(());

fn expect_panic(result: CudaResult<()>) -> KernelPanic {
    match result {
        Err(Error::KernelPanic(panic)) => *panic,
        other => panic!("expected a kernel's panic, not {other:?}"),
    }
}

#[test]
fn a_panic_is_returned_once_and_the_context_goes_on() {
    let _turn = TURN.lock();
    let _context = init();
    let module = Module::from_ptx(PANICS, &[]).unwrap();
    let stream = stream();
    for _ in 0..3 {
        let data = DeviceBuffer::from_slice(&[u32::MAX; 100]).unwrap();
        // SAFETY: the kernel checks its indices.
        let launch = |len: usize| unsafe {
            launch!(module.set<<<2, 50, 0, stream>>>(data.as_device_ptr(), len)).unwrap();
        };
        // Thread 49 of block 1 panics; the others finish.
        launch(99);
        let panic = expect_panic(stream.synchronize());
        assert_eq!(panic.message, "out of bounds");
        assert_eq!(panic.truncated, 100);
        assert_eq!(
            (&panic.file[..], panic.line, panic.column),
            ("src/lib.rs", 12, 34)
        );
        assert_eq!((panic.block, panic.thread), ([1, 0, 0], [49, 0, 0]));
        assert_eq!(panic.kernel(), Some("set"));
        assert_eq!(
            panic.to_string(),
            "the kernel `set` panicked at src/lib.rs:12:34 in block (1, 0, 0), thread \
             (49, 0, 0): out of bounds … (100 bytes more)"
        );
        let values = data.as_host_vec().unwrap();
        assert!((0..99).all(|i| values[i] == i as u32));
        assert_eq!(values[99], u32::MAX);

        // The panic is returned once; the same kernel then runs without a panic.
        stream.synchronize().unwrap();
        launch(100);
        stream.synchronize().unwrap();
        assert_eq!(data.as_host_vec().unwrap()[99], 99);
    }
}

#[test]
fn many_threads_that_panic_make_one_report() {
    let _turn = TURN.lock();
    let context = init();
    let module = Module::from_ptx(PANICS, &[]).unwrap();
    let (stream, other) = (stream(), stream());
    // SAFETY: the kernels access no memory of the host or of buffers.
    unsafe {
        launch!(module.always<<<64, 64, 0, stream>>>()).unwrap();
        launch!(module.set<<<1, 1, 0, other>>>(0u64, 0usize)).unwrap();
    }
    other.synchronize().ok();
    let panic = match context.synchronize() {
        Err(error) => expect_panic(Err(error)),
        // The wait for the other stream returned the panic.
        Ok(()) => return,
    };
    assert!(panic.to_string().contains("panicked at src/lib.rs:12:34"));
    context.synchronize().unwrap();
}

#[test]
fn a_panic_is_told_by_the_kernels_that_can_have_made_it() {
    let _turn = TURN.lock();
    let context = init();
    let module = Module::from_ptx(PANICS, &[]).unwrap();
    let stream = stream();
    let data = DeviceBuffer::<u32>::zeroed(1).unwrap();
    // SAFETY: the kernels check their indices.
    unsafe {
        launch!(module.set<<<1, 1, 0, stream>>>(data.as_device_ptr(), data.len())).unwrap();
        launch!(module.always<<<1, 1, 0, stream>>>()).unwrap();
    }
    let panic = expect_panic(context.synchronize());
    assert_eq!(panic.kernel(), None);
    assert_eq!(panic.kernels, ["set", "always"]);
    assert!(
        panic
            .to_string()
            .starts_with("one of the kernels `set`, `always` panicked")
    );
}

#[test]
fn repeated_launches_are_known_to_each_wait() {
    let _turn = TURN.lock();
    let context = init();
    let module = Module::from_ptx(PANICS, &[]).unwrap();
    let (first, second) = (stream(), stream());
    let data = DeviceBuffer::<u32>::zeroed(64).unwrap();
    let set = |stream: &Stream, len: usize| {
        // SAFETY: the kernel checks its indices.
        unsafe { launch!(module.set<<<1, 64, 0, stream>>>(data.as_device_ptr(), len)).unwrap() };
    };
    for wait_for_context in [false, true, false] {
        // The launch is repeated after a wait has forgotten the one before.
        for _ in 0..2 {
            set(&first, 64);
            set(&first, 10);
            let panic = expect_panic(match wait_for_context {
                true => context.synchronize(),
                false => first.synchronize(),
            });
            assert_eq!(panic.kernel(), Some("set"));
            first.synchronize().unwrap();
        }
        // A wait for one stream keeps the launches in the other.
        set(&second, 64);
        set(&first, 64);
        first.synchronize().unwrap();
        set(&second, 10);
        assert_eq!(expect_panic(second.synchronize()).kernel(), Some("set"));
        context.synchronize().unwrap();
    }
}

#[test]
fn events_return_panics_too() {
    let _turn = TURN.lock();
    let _context = init();
    let module = Module::from_ptx(PANICS, &[]).unwrap();
    let stream = stream();
    // SAFETY: the kernel has no parameters.
    unsafe { launch!(module.always<<<1, 1, 0, stream>>>()).unwrap() };
    let event = Event::new(EventFlags::DISABLE_TIMING).unwrap();
    event.record(&stream).unwrap();
    assert_eq!(expect_panic(event.synchronize()).kernel(), Some("always"));
}

#[test]
fn a_panic_outlives_its_module() {
    let _turn = TURN.lock();
    let context = init();
    let module = Module::from_ptx(PANICS, &[]).unwrap();
    let stream = stream();
    // SAFETY: the kernel has no parameters.
    unsafe { launch!(module.always<<<1, 1, 0, stream>>>()).unwrap() };
    drop(module);
    expect_panic(context.synchronize());
    context.synchronize().unwrap();
}

#[test]
fn a_panic_is_told_to_those_who_may_have_caused_it() {
    let _turn = TURN.lock();
    let _context = init();
    let (module, other_module) = (
        Module::from_ptx(PANICS, &[]).unwrap(),
        Module::from_ptx(PANICS, &[]).unwrap(),
    );
    let (first, second, third) = (stream(), stream(), stream());
    let data = DeviceBuffer::from_slice(&[0u32; 64]).unwrap();
    let launch = |module: &Module, stream: &Stream, len: usize| {
        // SAFETY: the kernel checks its indices.
        unsafe { launch!(module.set<<<1, 64, 0, stream>>>(data.as_device_ptr(), len)).unwrap() };
    };
    launch(&module, &first, 10);
    launch(&module, &second, 64);
    launch(&other_module, &third, 64);
    while !(first.query().unwrap() && second.query().unwrap() && third.query().unwrap()) {}
    // This stream's module did not panic.
    third.synchronize().unwrap();
    // It is not known which of the two panicked: each reports the panic once.
    for stream in [&second, &first] {
        assert_eq!(expect_panic(stream.synchronize()).message, "out of bounds");
        stream.synchronize().unwrap();
    }
}
