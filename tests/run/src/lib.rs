//! Device programs whose results are compared with the CPU's, on the GPU or on the emulator.
//!
//! The programs are in the crate `kernels`. Here is what launches them and compares, as trials of
//! a test harness (`tests/device.rs`): one for each case and build. All share one context and two
//! modules, which are loaded once.

use cust::module::OptLevel;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock};

pub mod blocks;
pub mod cases;
pub mod litmus;
pub mod output;
pub mod panics;
pub mod parameters;

/// How the kernels were compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// Optimised.
    Release,
    /// Not optimised, with overflow checks and debug assertions.
    Debug,
}

impl Build {
    /// Both builds.
    pub const ALL: [Build; 2] = [Build::Release, Build::Debug];

    /// The name in test names.
    pub fn name(self) -> &'static str {
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

/// The device with both modules, each loaded when the first test asks for it.
pub struct Session {
    modules: [OnceLock<Result<Module, String>>; 2],
    stream: Stream,
    /// Shown before the tests.
    pub device: String,
    /// Where cubins of the modules are, if the driver shall not compile the PTX.
    cubins: Option<PathBuf>,
    capability: String,
    context: Context,
}

impl Session {
    fn new() -> CudaResult<Session> {
        let chosen = cust::init_auto()?;
        let device = chosen.to_string();
        let context = chosen.into_context();
        // Unoptimised code with `format!` and recursion needs more than the default of 1 KiB. On a
        // GPU this is reserved for every thread that can be resident.
        let stack = match context.backend() {
            Backend::Gpu => 32 << 10,
            Backend::Emulator => 128 << 10,
        };
        context.set_resource_limit(ResourceLimit::StackSize, stack)?;
        let (major, minor) = context.device().compute_capability()?;
        Ok(Session {
            modules: [const { OnceLock::new() }; 2],
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
            device,
            cubins: std::env::var_os("DEVICE_TESTS_CUBINS")
                .filter(|_| context.backend() == Backend::Gpu)
                .map(PathBuf::from),
            capability: format!("{major}{minor}"),
            context,
        })
    }

    /// The module of a build.
    pub fn module(&self, build: Build) -> Result<&Module, Failed> {
        let module = self.modules[build as usize].get_or_init(|| {
            // The driver's compiler takes long for so much code, above all if it optimises.
            let options = match build {
                Build::Release => vec![],
                Build::Debug => vec![ModuleJitOption::OptLevel(OptLevel::O0)],
            };
            let name = format!("device-tests-{}.sm_{}.cubin", build.name(), self.capability);
            let cubin = self
                .cubins
                .as_ref()
                .and_then(|folder| std::fs::read(folder.join(name)).ok());
            let module = match cubin {
                Some(cubin) => Module::from_cubin(&cubin, &[]),
                None => Module::from_ptx(build.ptx(), &options),
            };
            module.map_err(|error| error.to_string())
        });
        module
            .as_ref()
            .map_err(|error| Failed::from(error.as_str()))
    }

    /// Whether this is a GPU.
    pub fn on_gpu(&self) -> bool {
        self.context.backend() == Backend::Gpu
    }

    /// The stream of all launches.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }
}

/// The session, for one test at a time: a panic in a kernel is returned by the next synchronize,
/// which must be that of the same test.
pub fn session() -> Result<MutexGuard<'static, Session>, Failed> {
    static SESSION: OnceLock<Result<Mutex<Session>, String>> = OnceLock::new();
    let session = SESSION.get_or_init(|| {
        let session = Session::new().map_err(|error| error.to_string())?;
        Ok(Mutex::new(session))
    });
    match session {
        Ok(session) => Ok(session
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())),
        Err(error) => Err(error.into()),
    }
}

/// A trial of one build.
fn trial(
    build: Build,
    name: &str,
    run: impl FnOnce(&Session, Build) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    Trial::test(format!("{}::{name}", build.name()), move || {
        run(&*session()?, build)
    })
}

/// All trials.
pub fn trials() -> Vec<Trial> {
    let of = |build| {
        [
            cases::trials(build),
            parameters::trials(build),
            blocks::trials(build),
            panics::trials(build),
            output::trials(build),
            litmus::trials(build),
        ]
    };
    Build::ALL.into_iter().flat_map(of).flatten().collect()
}

/// Fails unless the device's result is the expected one.
fn expect<T: PartialEq + std::fmt::Debug>(found: T, expected: T, what: &str) -> Result<(), Failed> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} is\n  {found:?}\nbut should be\n  {expected:?}").into())
}
