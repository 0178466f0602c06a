//! Printing from kernels, and panics on hosts that take no reports. What a kernel prints goes to the
//! process's standard output, and a failed assertion ends its context, so these kernels run in a
//! child process, which is this test binary again.

use crate::{Build, expect, session};
use cust::error::Error;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeSet;
use std::process::{Command, ExitCode, Output};

/// Says to the child what to run, and of which build.
const VARIABLE: &str = "DEVICE_TESTS_CHILD";

/// The programs that a child process can run.
type Job = fn(Build) -> Result<(), Failed>;

const JOBS: [(&str, Job); 2] = [("print", print), ("panic_unreported", panic_unreported)];

/// The long line's length: more than the device formats on its stack.
const LONG: usize = 700;

/// The trials.
pub fn trials(build: Build) -> Vec<Trial> {
    let name = |test| format!("{}::{test}", build.name());
    vec![
        Trial::test(name("print_lines"), move || lines(build)),
        Trial::test(name("panic_unreported"), move || assertion(build)),
    ]
}

/// In the child, runs the kernel.
pub fn child() -> Option<ExitCode> {
    let variable = std::env::var(VARIABLE).ok()?;
    let (name, build) = variable.split_once(' ')?;
    let &build = Build::ALL.iter().find(|known| known.name() == build)?;
    let (_, job) = JOBS.into_iter().find(|(known, _)| *known == name)?;
    Some(match job(build) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.message().unwrap_or_default());
            ExitCode::FAILURE
        }
    })
}

fn print(build: Build) -> Result<(), Failed> {
    let session = session()?;
    let (module, stream) = (session.module(build)?, &session.stream);
    // SAFETY: the kernel touches no memory.
    unsafe { launch!(module.block_print<<<2, 4, 0, stream>>>(LONG as u32))? };
    Ok(stream.synchronize()?)
}

/// Panics in a module whose host has not said where reports go.
fn panic_unreported(build: Build) -> Result<(), Failed> {
    let session = session()?;
    let (module, stream) = (session.module(build)?, &session.stream);
    // SAFETY: the variable is a `ReportSlot` of 16 bytes, all of whose values are valid.
    let mut slot = unsafe { module.get_global::<[u64; 2]>("__cuda_std_report_slot")? };
    slot.copy_from(&[0, 0])?;
    // SAFETY: the kernel touches no memory.
    unsafe { launch!(module.panic_everywhere<<<1, 1, 0, stream>>>())? };
    match stream.synchronize() {
        Err(Error::Driver(error)) if error.code == CudaError::Assert => Ok(()),
        other => Err(format!("not a failed assertion: {other:?}").into()),
    }
}

fn assertion(build: Build) -> Result<(), Failed> {
    let output = run_child("panic_unreported", build)?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    if !output.status.success() {
        return Err(text.into_owned().into());
    }
    let line = text.lines().find(|line| line.contains("all of us, 2"));
    let line = line.ok_or_else(|| format!("the message is missing in {text:?}"))?;
    expect(
        line.contains("panics.rs:"),
        true,
        "whether the file is named",
    )?;
    expect(
        line.contains("thread: [0,0,0]"),
        true,
        "whether the thread is named",
    )
}

fn run_child(job: &str, build: Build) -> Result<Output, Failed> {
    let child = Command::new(std::env::current_exe()?)
        .env(VARIABLE, format!("{job} {}", build.name()))
        .output()?;
    Ok(child)
}

fn lines(build: Build) -> Result<(), Failed> {
    let output = run_child("print", build)?;
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
