//! Panics in kernels: the report must say what the same panic says on the host, the other threads
//! must go on, and so must the context.

use crate::{Build, Session, expect, trial};
use cust::error::KernelPanic;
use cust::prelude::*;
use device_tests_kernels::panics::{self, PANICS, Panic, WITHOUT_MEMORY, mix};
use libtest_mimic::{Failed, Trial};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

const BLOCKS: u32 = 3;
const THREADS: u32 = 32;

/// A trial for each way to panic, and some for what follows.
pub fn trials(build: Build) -> Vec<Trial> {
    let of = |(number, case): (usize, Panic)| {
        trial(build, case.name, move |session, build| {
            run(session, build, number as u32, case)
        })
    };
    let mut trials: Vec<Trial> = PANICS.iter().copied().enumerate().map(of).collect();
    trials.push(trial(build, "panic_everywhere", everywhere));
    trials.push(trial(build, "panic_with_values", with_values));
    trials.push(trial(build, "panic_twice", twice));
    trials.push(trial(build, "panic_before_barrier", before_barrier));
    trials.push(trial(build, "panic_in_loops", in_loops));
    trials.push(trial(build, "panic_without_memory", without_memory));
    trials
}

/// The message of a panic.
#[derive(Clone, Debug, PartialEq)]
struct Said {
    message: String,
    file: String,
    line: u32,
    column: u32,
}

/// Runs a function on the host and catches its panic.
fn on_host(run: impl FnOnce() -> u64) -> Option<Said> {
    thread_local! {
        static SAID: RefCell<Option<Said>> = const { RefCell::new(None) };
        static CATCHING: RefCell<bool> = const { RefCell::new(false) };
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if !CATCHING.with_borrow(|catching| *catching) {
                return usual(info);
            }
            let payload = info.payload();
            let message = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or(payload.downcast_ref::<&str>().copied())
                .unwrap_or_default()
                .to_owned();
            let location = info
                .location()
                .map(|at| (at.file().to_owned(), at.line(), at.column()));
            let (file, line, column) = location.unwrap_or_default();
            SAID.set(Some(Said {
                message,
                file,
                line,
                column,
            }));
        }));
    });
    CATCHING.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    CATCHING.set(false);
    result.err().and_then(|_| SAID.take())
}

/// The panic that a synchronize returned.
fn panicked(result: CudaResult<()>) -> Result<KernelPanic, Failed> {
    match result {
        Err(error) => match error.panic() {
            Some(panic) => {
                let KernelPanic {
                    message,
                    file,
                    line,
                    column,
                    truncated,
                    ..
                } = panic;
                let place = format_args!("{file}:{line}:{column}: {message} … {truncated}");
                test_outcome::observe("panic", place);
                Ok(panic.clone())
            }
            None => Err(format!("another error than a panic: {error}").into()),
        },
        Ok(()) => Err("no panic was returned".into()),
    }
}

fn run(session: &Session, build: Build, number: u32, case: Panic) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let kernel = module.get_function("run_panic")?;
    for who in [0, 45, BLOCKS * THREADS - 1] {
        let threads = (BLOCKS * THREADS) as usize;
        let done = DeviceBuffer::<u64>::zeroed(threads)?;
        // SAFETY: there is an element for each thread.
        unsafe {
            launch!(kernel<<<BLOCKS, THREADS, 0, stream>>>(number, who, done.as_device_ptr()))?;
        }
        let result = stream.synchronize();
        let done = done.as_host_vec()?;
        let others = (0..threads)
            .filter(|i| *i != who as usize)
            .all(|i| done[i] == 1);
        expect(others, true, "whether all other threads went on")?;
        if case.overflow && build == Build::Release {
            result?;
            continue;
        }
        let panic = panicked(result)?;
        expect(done[who as usize], 0, "what the panicking thread wrote")?;
        expect(panic.block, [who / THREADS, 0, 0], "the block")?;
        expect(panic.thread, [who % THREADS, 0, 0], "the thread")?;
        expect(panic.kernel(), Some("run_panic"), "the kernel")?;
        match on_host(|| (case.run)(who)) {
            Some(said) => compare(&panic, &said)?,
            // A release build of this program has no overflow checks to compare with.
            None => expect(
                case.overflow && !cfg!(debug_assertions),
                true,
                "why not on the host",
            )?,
        }
        stream
            .synchronize()
            .map_err(|error| format!("the panic came twice: {error}"))?;
    }
    Ok(())
}

/// Compares with the host's panic.
fn compare(panic: &KernelPanic, said: &Said) -> Result<(), Failed> {
    // A message that does not fit the report is truncated, and the rest counted.
    let message = said
        .message
        .get(..panic.message.len())
        .unwrap_or(&said.message);
    expect(&panic.message[..], message, "the message")?;
    let total = panic.message.len() + panic.truncated;
    expect(total, said.message.len(), "the message's whole length")?;
    expect(
        panic.truncated > 0,
        said.message.len() > 4096,
        "whether the message was cut",
    )?;
    // Host and device have the standard library's sources in other directories, and perhaps this
    // crate's, too.
    let file = |path: &str| {
        let path = path.replace('\\', "/");
        let from = path
            .find("/library/")
            .or(path.rfind("/src/"))
            .map_or(0, |at| at + 1);
        path[from..].to_owned()
    };
    expect(file(&panic.file), file(&said.file), "the file")?;
    expect(
        (panic.line, panic.column),
        (said.line, said.column),
        "line and column",
    )
}

fn everywhere(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    for _ in 0..2 {
        // SAFETY: the kernel touches no memory.
        unsafe { launch!(module.panic_everywhere<<<BLOCKS, THREADS, 0, stream>>>())? };
        let panic = panicked(stream.synchronize())?;
        expect(&panic.message[..], "all of us, 2", "the message")?;
        expect(
            panic.block[0] < BLOCKS && panic.thread[0] < THREADS,
            true,
            "a thread's place",
        )?;
    }
    Ok(())
}

fn with_values(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let values: [panics::Compared; 4] = [
        (5, 2.5, 256),
        (i32::MAX, f32::NAN, u32::MAX),
        (100, f32::INFINITY, 1 << 31),
        (3, 1e-7 + 1.0, 5000),
    ];
    for case in 0..5 {
        for compared @ (integer, float, number) in values {
            // SAFETY: the kernel touches no memory.
            unsafe {
                launch!(module.panic_with_values<<<1, 1, 0, stream>>>(case, integer, float, number))?;
            }
            let panic = panicked(stream.synchronize())?;
            expect(panic.kernel(), Some("panic_with_values"), "the kernel")?;
            match on_host(|| panics::compare(case, compared)) {
                Some(said) => compare(&panic, &said)?,
                None => return Err("the host does not panic".into()),
            }
        }
    }
    Ok(())
}

fn twice(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    // SAFETY: the kernel touches no memory.
    unsafe { launch!(module.panic_twice<<<1, THREADS, 0, stream>>>())? };
    let panic = panicked(stream.synchronize())?;
    expect(
        &panic.message[..],
        "it was half a ",
        "what was formatted of the message",
    )?;
    expect(
        panic.file.ends_with("panics.rs"),
        true,
        "whether the file is known",
    )?;
    stream.synchronize()?;
    Ok(())
}

fn before_barrier(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let done = DeviceBuffer::<u64>::zeroed(64)?;
    // SAFETY: there is an element for each thread.
    unsafe {
        launch!(module.panic_before_barrier<<<1, 64, 0, stream>>>(7u32, done.as_device_ptr()))?;
    }
    let panic = panicked(stream.synchronize())?;
    expect(panic.thread, [7, 0, 0], "the thread")?;
    let expected: Vec<u64> = (0..64).map(|i| u64::from(i != 7)).collect();
    expect(done.as_host_vec()?, expected, "who passed the barrier")
}

fn in_loops(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    const THREADS: usize = 64;
    const LAST: usize = 40 * (THREADS - 1);
    let next = |at: usize| at.saturating_sub(1 + at * at % 11);
    let steps = |from| std::iter::successors(Some(from), |&at| Some(next(at)));
    let steps = |from| steps(from).take_while(|&at| at != 0).count() as u64;
    // Only the last thread comes to these indices: in none of the loops, the first, and the second.
    for bad in [None, Some(LAST + 5), Some(LAST + 3)] {
        let mut list: Vec<u32> = (0..40 * THREADS).map(|at| next(at) as u32).collect();
        if let Some(bad) = bad {
            list[bad] = u32::MAX;
        }
        let list = DeviceBuffer::from_slice(&list)?;
        let done = DeviceBuffer::<u64>::zeroed(THREADS)?;
        // SAFETY: there are as many indices, and an element for each thread.
        unsafe {
            launch!(module.panic_in_loops<<<1, THREADS as u32, 0, stream>>>(
                list.as_device_ptr(), list.len(), done.as_device_ptr()
            ))?;
        }
        let result = stream.synchronize();
        let mut expected: Vec<u64> = (0..THREADS)
            .map(|i| mix(mix(steps(40 * i + 5), steps(40 * i + 3)), next(i) as u64))
            .collect();
        match bad {
            None => result?,
            Some(_) => {
                let panic = panicked(result)?;
                expect(panic.thread, [THREADS as u32 - 1, 0, 0], "the thread")?;
                expected[THREADS - 1] = 0;
            }
        }
        expect(done.as_host_vec()?, expected, "the results")?;
    }
    Ok(())
}

fn without_memory(session: &Session, build: Build) -> Result<(), Failed> {
    let (module, stream) = (session.module(build)?, &session.stream);
    let number = DeviceBuffer::<u64>::zeroed(1)?;
    // SAFETY: there is room for a number.
    unsafe {
        launch!(module.panic_without_memory<<<1, 1, 0, stream>>>(
            1usize << 40, number.as_device_ptr()
        ))?;
    }
    let panic = panicked(stream.synchronize())?;
    let heap = session
        .context
        .get_resource_limit(ResourceLimit::MallocHeapSize)?;
    let message = format!(
        "memory allocation of 8796093022208 bytes failed: the device's heap is used up, which has \
         {heap} bytes\nhelp: before the first launch, set a larger size with \
         `Context::set_resource_limit(ResourceLimit::MallocHeapSize, BYTES)`"
    );
    expect(panic.message, message, "the message")?;
    let known = panic.file.ends_with("panics.rs");
    expect(known, true, "whether the file is known")?;
    expect(panic.line, WITHOUT_MEMORY, "the line")
}
