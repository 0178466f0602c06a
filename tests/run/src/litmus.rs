//! The memory model: outcomes that Rust forbids must never show, in many runs of small programs.
//! On a GPU some that it allows must show, else the runs would prove nothing.

use crate::{Build, Session, trial};
use cust::prelude::*;
use device_tests_kernels::litmus::{Program, RESULTS, STRIDE, Strength};
use libtest_mimic::{Failed, Trial};
use std::io::Write;

/// Weak outcomes that an H100 shows within the runs of a trial.
const SHOWN: [Program; 2] = [Program::MessagePassing, Program::StoreBuffering];

/// A trial for each program and strength.
pub fn trials(build: Build) -> Vec<Trial> {
    let mut trials = Vec::new();
    for program in Program::ALL {
        for strength in Strength::ALL {
            let name = format!("litmus_{program:?}_{strength:?}");
            trials.push(trial(build, &name, move |session, build| {
                run(session, build, program, strength)
            }));
        }
    }
    trials
}

fn run(
    session: &Session,
    build: Build,
    program: Program,
    strength: Strength,
) -> Result<(), Failed> {
    let gpu = session.on_gpu();
    let (blocks, launches) = if gpu { (512, 40) } else { (4, 2) };
    let (module, stream) = (session.module(build)?, &session.stream);
    let n = blocks as usize * 128;
    for width in [1usize, 2, 4, 8] {
        let mut weak = 0;
        for launch in 0..launches {
            let memory = DeviceBuffer::<u8>::zeroed(2 * n * STRIDE * width)?;
            let results = DeviceBuffer::<[u32; RESULTS]>::zeroed(n)?;
            let seed = launch * 12_345 + 7;
            // SAFETY: there is memory for each thread, of which there are a power of two.
            unsafe {
                launch!(module.litmus<<<blocks, 128u32, 0, stream>>>(
                    program as u32,
                    strength as u32,
                    width as u32,
                    seed,
                    memory.as_device_ptr(),
                    results.as_device_ptr()
                ))?;
            }
            stream.synchronize()?;
            let results = results.as_host_vec()?;
            weak += results.iter().filter(|&&r| program.is_weak(r)).count();
        }
        let instances = n * launches as usize;
        note(build, program, strength, width, instances, weak)?;
        if program.forbids(strength) && weak > 0 {
            return Err(format!(
                "{weak} of {instances} instances on {width}-byte atomics had the forbidden outcome"
            )
            .into());
        }
        // In a debug build, the time between the accesses hides weak behavior.
        if gpu
            && build == Build::Release
            && width == 4
            && strength == Strength::Relaxed
            && SHOWN.contains(&program)
            && weak == 0
        {
            return Err("the allowed outcome never showed, so the test shows nothing".into());
        }
    }
    Ok(())
}

/// Adds a line to the file that `DEVICE_TESTS_LITMUS` names, if it does.
fn note(
    build: Build,
    program: Program,
    strength: Strength,
    width: usize,
    instances: usize,
    weak: usize,
) -> Result<(), Failed> {
    let Some(path) = std::env::var_os("DEVICE_TESTS_LITMUS") else {
        return Ok(());
    };
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    writeln!(
        file,
        "{{\"build\": \"{}\", \"program\": \"{program:?}\", \"strength\": \"{strength:?}\", \
         \"bytes\": {width}, \"instances\": {instances}, \"weak\": {weak}, \"forbidden\": {}}}",
        build.name(),
        program.forbids(strength)
    )?;
    Ok(())
}
