//! The rows of the intrinsics table that no test of a safe function covers: the number of correct
//! rows per thread.

use crate::{Arch, Session, expect, per_thread_argument, trial};
use cuda_std_tests_kernels::random;
use cuda_std_tests_kernels::raw::Table;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};

const THREADS: usize = 64;

/// Returns the trials.
pub fn trials() -> Vec<Trial> {
    vec![
        // Loads and stores of four widths and three vector types.
        trial(Arch::Sm75, "raw::accesses", |session, module| {
            run(
                session,
                module,
                "raw_accesses",
                true,
                4 * (10 + 8) + 3 * (6 + 4),
            )
        }),
        trial(Arch::Sm75, "raw::atomics", |session, module| {
            run(session, module, "raw_atomics", false, 3 * (4 + 2 + 4 * 4))
        }),
        trial(Arch::Sm75, "raw::constant", constant),
        trial(Arch::Sm90, "raw::newer", newer),
        trial(Arch::Sm90, "raw::vectors", |session, module| {
            run(session, module, "raw_vectors", false, 2 * (1 + 2 * 5))
        }),
    ]
}

/// A parameter that the kernel takes by reference.
fn constant(session: &Session, module: &Module) -> Result<(), Failed> {
    let table = Table {
        step: 11,
        numbers: std::array::from_fn(|i| random(i as u32) as u32),
    };
    let to = DeviceBuffer::<u64>::zeroed(THREADS)?;
    let (kernel, stream) = (module.get_function("raw_constant")?, &session.stream);
    // SAFETY: the kernel's parameters are a number, a table, and an output for each thread.
    unsafe {
        launch!(kernel<<<1, THREADS as u32, 0, stream>>>(
            7u32, table, per_thread_argument(&to, THREADS)
        ))?;
    }
    stream.synchronize()?;
    let number = |i: usize| u64::from(table.numbers[(7 + i) % 62]);
    let expected: Vec<u64> = (0..THREADS)
        .map(|i| (number(i) + number(i + 11)) << 8)
        .collect();
    expect(to.as_host_vec()?, expected, "what the threads found")
}

/// Launches a kernel with one block, and compares the number of correct rows per thread.
fn run(
    session: &Session,
    module: &Module,
    name: &str,
    takes_input: bool,
    rows: u64,
) -> Result<(), Failed> {
    let stream = &session.stream;
    let from: Vec<u64> = (0..2 * THREADS as u32).map(random).collect();
    let from = from.as_dbuf()?;
    let own = DeviceBuffer::<u64>::zeroed(4 * THREADS)?;
    let to = DeviceBuffer::<u64>::zeroed(THREADS)?;
    let (own_argument, result) = (
        per_thread_argument(&own, THREADS),
        per_thread_argument(&to, THREADS),
    );
    let kernel = module.get_function(name)?;
    // SAFETY: the kernel's parameters are two (or no) numbers to read for each thread, 32 bytes for
    // each thread, and an output.
    unsafe {
        if takes_input {
            launch!(kernel<<<1, THREADS as u32, 0, stream>>>(
                from.as_device_ptr(), from.len(), own_argument, result
            ))?;
        } else {
            launch!(kernel<<<1, THREADS as u32, 0, stream>>>(own_argument, result))?;
        }
    }
    stream.synchronize()?;
    expect(
        to.as_host_vec()?,
        vec![rows; THREADS],
        "the rows that are right",
    )
}

fn newer(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    let from: Vec<u64> = (0..THREADS as u32).map(random).collect();
    let (from, line) = (from.as_dbuf()?, DeviceBuffer::<u64>::zeroed(16)?);
    let own = DeviceBuffer::<u64>::zeroed(4 * THREADS)?;
    let to = DeviceBuffer::<u64>::zeroed(THREADS)?;
    // SAFETY: the kernel's parameters are a number to read for each thread, a line of 128 bytes, 32
    // bytes for each thread, and an output.
    unsafe {
        launch!(module.raw_newer<<<1, THREADS as u32, 0, stream>>>(
            from.as_device_ptr(), from.len(), line.as_device_ptr(),
            per_thread_argument(&own, THREADS), per_thread_argument(&to, THREADS)
        ))?;
    }
    stream.synchronize()?;
    let rows = 4 * 4 * 2 + 5 + 3 * 4 * 2 + 4 * 2 + 4 + 2 + 4 * 4;
    expect(
        to.as_host_vec()?,
        vec![rows; THREADS],
        "the rows that are right",
    )
}
