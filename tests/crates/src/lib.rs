//! Crates from crates.io, unmodified, on the GPU or on the emulator: what they compute is compared
//! with what the CPU computes, for every input.

use crate_tests_kernels::{Case, Input, Record};
use cust::module::OptLevel;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Threads of a block: few, so that the emulator's workers share the blocks evenly.
const BLOCK: u32 = 32;

/// How the kernels were compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    /// Optimised.
    Release,
    /// Not optimised, with overflow checks and debug assertions.
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

    fn ptx(self) -> &'static str {
        match self {
            Build::Release => include_str!(concat!(env!("OUT_DIR"), "/release.ptx")),
            Build::Debug => include_str!(concat!(env!("OUT_DIR"), "/debug.ptx")),
        }
    }
}

/// A record in a buffer.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct OnDevice(Record);

// SAFETY: a record is numbers, of the same layout on both sides.
unsafe impl DeviceCopy for OnDevice {}

/// The device with both modules, each loaded when the first test asks for it.
struct Session {
    modules: [OnceLock<Result<Module, String>>; 2],
    stream: Stream,
    _context: Context,
}

impl Session {
    fn new() -> CudaResult<Session> {
        let context = cust::init_auto()?.into_context();
        // Unoptimised code needs more than the default of 1 KiB. On a GPU this is reserved for
        // every thread that can be resident.
        let stack = match context.backend() {
            Backend::Gpu => 64 << 10,
            Backend::Emulator => 256 << 10,
        };
        context.set_resource_limit(ResourceLimit::StackSize, stack)?;
        context.set_resource_limit(ResourceLimit::MallocHeapSize, 256 << 20)?;
        Ok(Session {
            modules: [const { OnceLock::new() }; 2],
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
            _context: context,
        })
    }

    fn module(&self, build: Build) -> Result<&Module, Failed> {
        let module = self.modules[build as usize].get_or_init(|| {
            let options = match build {
                Build::Release => vec![],
                Build::Debug => vec![ModuleJitOption::OptLevel(OptLevel::O0)],
            };
            Module::from_ptx(build.ptx(), &options).map_err(|error| error.to_string())
        });
        module
            .as_ref()
            .map_err(|error| Failed::from(error.as_str()))
    }

    fn run(&self, build: Build, number: u32, case: Case) -> Result<(), Failed> {
        let records =
            DeviceBuffer::from_slice(&vec![OnDevice(Record::default()); case.inputs as usize])?;
        let kernel = self.module(build)?.get_function("run_case")?;
        let stream = &self.stream;
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
    let of = |build: Build| {
        crate_tests_kernels::all()
            .enumerate()
            .map(move |(number, case)| {
                Trial::test(format!("{}::{}", build.name(), case.name), move || {
                    static SESSION: OnceLock<Result<Mutex<Session>, String>> = OnceLock::new();
                    let session = SESSION.get_or_init(|| match Session::new() {
                        Ok(session) => Ok(Mutex::new(session)),
                        Err(error) => Err(error.to_string()),
                    });
                    // One test at a time: a panic in a kernel is returned by the next synchronize.
                    let session = session.as_ref()?.lock();
                    session
                        .unwrap_or_else(PoisonError::into_inner)
                        .run(build, number as u32, case)
                })
            })
    };
    Build::ALL.into_iter().flat_map(of).collect()
}
