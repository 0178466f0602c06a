//! Printing from kernels. What a kernel prints goes to the process's standard output, so the
//! kernel runs in a child process, which is this test binary again.

use crate::{Build, expect, session};
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeSet;
use std::process::{Command, ExitCode};

/// Says to the child which build's kernel to run.
const VARIABLE: &str = "DEVICE_TESTS_PRINT";

/// The long line's length: more than the device formats on its stack.
const LONG: usize = 700;

/// The trials.
pub fn trials(build: Build) -> Vec<Trial> {
    let name = format!("{}::print_lines", build.name());
    vec![Trial::test(name, move || lines(build))]
}

/// In the child, runs the kernel.
pub fn child() -> Option<ExitCode> {
    let name = std::env::var(VARIABLE).ok()?;
    let build = Build::ALL.into_iter().find(|build| build.name() == name)?;
    Some(match print(build) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.message().unwrap_or_default());
            ExitCode::FAILURE
        }
    })
}

fn print(build: Build) -> Result<(), Failed> {
    let session = session()?;
    let (module, stream) = (session.module(build)?, session.stream());
    // SAFETY: the kernel touches no memory.
    unsafe { launch!(module.block_print<<<2, 4, 0, stream>>>(LONG as u32))? };
    Ok(stream.synchronize()?)
}

fn lines(build: Build) -> Result<(), Failed> {
    let output = Command::new(std::env::current_exe()?)
        .env(VARIABLE, build.name())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let output = String::from_utf8(output.stdout)?;
    let found: BTreeSet<&str> = output.lines().collect();
    let mut expected: BTreeSet<String> = (0..8)
        .map(|i| {
            let number = f64::from(i) / 4.0;
            format!("thread {i}: {:?} {number:>6.2} {}%", Some("text"), i * 10)
        })
        .collect();
    expected.insert(format!("{:-^1$}", " long ", LONG));
    expected.insert("no line break".to_owned());
    expected.insert("{} %s %d and a NUL".to_owned());
    expect(
        found,
        expected.iter().map(String::as_str).collect(),
        "the output",
    )
}
