//! Published crates, unmodified, on the GPU or on the emulator: what they compute is compared
//! with what the CPU computes, for every input.

use crate_tests_kernels::{Case, Input, Record};
use cust::module::OptLevel;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};
use std::borrow::Cow;
use std::path::Path;
use test_session::{Device, Held, Modules, Shared};

pub mod list;

/// Threads of a block: few, so that the emulator's workers share the blocks evenly.
const BLOCK: u32 = 32;

/// How the kernels were compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    /// Optimized.
    Release,
    /// Not optimized, with overflow checks and debug assertions.
    Debug,
}

impl Build {
    const ALL: [Build; 2] = [Build::Release, Build::Debug];

    fn name(self) -> &'static str {
        match self {
            Build::Release => "release",
            Build::Debug => "debug",
        }
    }
}

/// The device programs: a module's name, and its PTX for each build.
macro_rules! programs {
    ($($name:literal)*) => {
        [$(($name, [
            include_str!(concat!(env!("OUT_DIR"), "/", $name, "-release.ptx")),
            include_str!(concat!(env!("OUT_DIR"), "/", $name, "-debug.ptx")),
        ])),*]
    };
}

/// As many as there are modules of cases.
const PROGRAMS: [(&str, [&str; 2]); 13] = programs!(
    "algebra" "bignums" "containers" "curves" "hashes" "numbers" "packing" "parsers" "random" "regex"
    "science" "structures" "text"
);

/// The PTX of a program: that of the build script, or that in the directory that
/// `CRATE_TESTS_PTX` names.
fn ptx(at: usize, build: Build) -> Cow<'static, str> {
    let (name, builds) = PROGRAMS[at];
    let other = std::env::var_os("CRATE_TESTS_PTX").and_then(|directory| {
        let file = Path::new(&directory).join(format!("{name}-{}.ptx", build.name()));
        std::fs::read_to_string(file).ok()
    });
    other.map_or(Cow::Borrowed(builds[build as usize]), Cow::Owned)
}

/// A record in a buffer.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct OnDevice(Record);

// SAFETY: a record is numbers, of the same layout on both sides.
unsafe impl DeviceCopy for OnDevice {}

/// The device with all programs.
struct Session {
    modules: Modules<{ 2 * PROGRAMS.len() }>,
    device: Device,
}

impl Session {
    fn new() -> CudaResult<Session> {
        let device = Device::new()?;
        let limit = ResourceLimit::MallocHeapSize;
        device.context.set_resource_limit(limit, 256 << 20)?;
        Ok(Session {
            modules: Modules::new(),
            device,
        })
    }

    fn module(&self, name: &str, build: Build) -> Result<&Module, Failed> {
        let at = (PROGRAMS.iter().position(|(other, _)| *other == name))
            .ok_or_else(|| format!("there is no program `{name}`"))?;
        self.modules.get(2 * at + build as usize, || {
            let options = match build {
                Build::Release => vec![],
                Build::Debug => vec![ModuleJitOption::OptLevel(OptLevel::O0)],
            };
            Module::from_ptx(ptx(at, build), &options).map_err(|error| error.to_string())
        })
    }

    fn run(&self, module: &str, build: Build, number: u32, case: Case) -> Result<(), Failed> {
        let records =
            DeviceBuffer::from_slice(&vec![OnDevice(Record::default()); case.inputs as usize])?;
        let kernel = self.module(module, build)?.get_function("run_case")?;
        let stream = &self.device.stream;
        let blocks = case.inputs.div_ceil(BLOCK);
        // SAFETY: the kernel writes one record for each input.
        unsafe {
            launch!(kernel<<<blocks, BLOCK, 0, stream>>>(
                number,
                records.as_device_ptr(),
                records.len()
            ))?;
        }
        stream.synchronize()?;
        for (i, OnDevice(found)) in records.as_host_vec()?.iter().enumerate() {
            let mut expected = Record::default();
            (case.run)(Input::new(i as u32), &mut expected);
            compare(found, &expected).map_err(|error| format!("input {i}: {error}"))?;
        }
        Ok(())
    }
}

fn compare(found: &Record, expected: &Record) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let mut pairs = found.words().iter().zip(expected.words());
    if let Some(at) = pairs.position(|(found, expected)| found != expected) {
        let (found, expected) = (found.words()[at], expected.words()[at]);
        return Err(format!(
            "result {at} is {found:#x} ({found}), but on the host {expected:#x} ({expected})"
        ));
    }
    Err(format!(
        "of {} results, on the host {}, a late one differs",
        found.len(),
        expected.len()
    ))
}

/// A trial for each case and build.
pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("list_of_crates", || Ok(list::check()?))];
    for build in Build::ALL {
        for (module, cases) in crate_tests_kernels::MODULES {
            let at = PROGRAMS.iter().position(|(other, _)| other == module);
            let there = at.is_some_and(|at| !ptx(at, build).is_empty());
            for (number, case) in cases.iter().enumerate() {
                let name = format!("{}::{}", build.name(), case.name);
                let run = move || session()?.run(module, build, number as u32, *case);
                trials.push(Trial::test(name, run).with_ignored_flag(!there));
            }
        }
    }
    trials
}

/// Returns the session, for one test at a time.
fn session() -> Result<Held<Session>, Failed> {
    static SESSION: Shared<Session> = Shared::new();
    SESSION.borrow(Session::new)
}
