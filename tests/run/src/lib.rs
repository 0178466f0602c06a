//! Device programs whose results are compared with the CPU's, on the GPU or on the emulator.
//!
//! The programs are in the crate `kernels`. Here is what launches them and compares, as trials of
//! a test harness (`tests/device.rs`): one for each case and build. All share one context and two
//! modules, which are loaded once.

use cust::module::OptLevel;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

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
    /// The builds that there are: both, or, in a single-source session, the one whose MIR has the
    /// checks of the session's profile.
    pub const ALL: &[Build] = match cfg!(nvvm_single_source) {
        false => &[Build::Release, Build::Debug],
        true if cfg!(debug_assertions) => &[Build::Debug],
        true => &[Build::Release],
    };

    /// The name in test names.
    pub fn name(self) -> &'static str {
        match self {
            Build::Release => "release",
            Build::Debug => "debug",
        }
    }

    /// The PTX for a device of this compute capability.
    #[cfg(not(nvvm_single_source))]
    fn ptx(self, capability: (u32, u32)) -> &'static str {
        match self {
            Build::Release if capability.0 >= 10 => {
                include_str!(concat!(env!("OUT_DIR"), "/release-modern.ptx"))
            }
            Build::Release => include_str!(concat!(env!("OUT_DIR"), "/release.ptx")),
            Build::Debug => include_str!(concat!(env!("OUT_DIR"), "/debug.ptx")),
        }
    }

    /// The PTX of the kernels crate for a device of this compute capability, which the program
    /// carries.
    #[cfg(nvvm_single_source)]
    fn ptx(self, _capability: (u32, u32)) -> &'static str {
        let all = cust::module::own_ptx().iter();
        let mut with_cases = all.filter(|ptx| ptx.contains(".entry run_case_0("));
        with_cases.next().expect("the kernels crate's PTX")
    }
}

/// The modules of a build: one without cases, and each group of them.
const PARTS: usize = 1 + device_tests_kernels::GROUPS.len();

/// The group of cases that an entry runs.
fn group_of(entry: &str) -> Option<usize> {
    entry.strip_prefix("run_case_")?.parse().ok()
}

/// The device with the modules of both builds, each loaded when the first test asks for it.
pub struct Session {
    modules: [[OnceLock<Result<Module, String>>; PARTS]; 2],
    stream: Stream,
    /// Shown before the tests.
    pub device: String,
    /// Where cubins of the modules are, if the driver shall not compile the PTX.
    cubins: Option<PathBuf>,
    capability: (u32, u32),
    context: Context,
}

impl Session {
    fn new() -> CudaResult<Session> {
        let chosen = cust::init_auto()?;
        let device = chosen.to_string();
        let context = chosen.into_context();
        Ok(Session {
            modules: [const { [const { OnceLock::new() }; PARTS] }; 2],
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
            device,
            cubins: std::env::var_os("DEVICE_TESTS_CUBINS")
                .filter(|_| context.backend() == Backend::Gpu)
                .map(PathBuf::from),
            capability: context.device().compute_capability()?,
            context,
        })
    }

    /// The device's context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The module of a build, for all but the cases.
    pub fn module(&self, build: Build) -> Result<&Module, Failed> {
        self.part(build, None)
    }

    /// The module of a build that has a group of the cases.
    pub fn cases(&self, build: Build, group: usize) -> Result<&Module, Failed> {
        self.part(build, Some(group))
    }

    /// The emulator takes a build as it is. On a GPU each group is a module of its own: ptxas, and
    /// so the driver, crashes on all of them together, unoptimised.
    fn part(&self, build: Build, group: Option<usize>) -> Result<&Module, Failed> {
        let group = group.filter(|_| self.on_gpu());
        let place = group.map_or(0, |group| group + 1);
        let module = self.modules[build as usize][place].get_or_init(|| {
            let load = |ptx: &str| {
                // The driver's compiler takes long for so much code, above all if it optimises.
                let options = match build {
                    Build::Release => vec![],
                    Build::Debug => vec![ModuleJitOption::OptLevel(OptLevel::O0)],
                };
                Module::from_ptx(ptx, &options).map_err(|error| error.to_string())
            };
            if !self.on_gpu() {
                return load(build.ptx(self.capability));
            }
            let part = group.map_or("rest".to_owned(), |group| format!("cases{group}"));
            let (major, minor) = self.capability;
            let name = format!(
                "device-tests-{}.{part}.sm_{major}{minor}.cubin",
                build.name()
            );
            let folder = self.cubins.as_ref();
            match folder.and_then(|folder| std::fs::read(folder.join(name)).ok()) {
                // SAFETY: the build made the cubin.
                Some(cubin) => {
                    unsafe { Module::from_cubin(&cubin, &[]) }.map_err(|error| error.to_string())
                }
                None => {
                    let mut ptx = ptx::Module::parse(build.ptx(self.capability))
                        .map_err(|e| e.to_string())?;
                    ptx::keep_entries(&mut ptx, |entry| group_of(entry) == group);
                    load(&ptx.to_string())
                }
            }
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

/// The session, borrowed by one test.
pub struct Held(MutexGuard<'static, Option<Session>>);

impl Deref for Held {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.0.as_ref().expect("`session` makes one")
    }
}

impl Held {
    /// After a fault on the emulator, drops the session, so that the next test gets a new context. On
    /// a GPU the process may not use the device again; there the bundle's runner starts new ones.
    fn reset_if_lost(mut self) {
        if self.on_gpu() || self.context.synchronize().is_ok() {
            return;
        }
        let device = self.context.device();
        *self.0 = None;
        // SAFETY: all that lived in the context belonged to the session.
        if let Err(error) = unsafe { Context::reset(&device) } {
            eprintln!("the context cannot be reset: {error}");
        }
    }
}

/// The session, for one test at a time: a panic in a kernel is returned by the next synchronize,
/// which must be that of the same test.
pub fn session() -> Result<Held, Failed> {
    static SESSION: Mutex<Option<Session>> = Mutex::new(None);
    let mut session = SESSION.lock().unwrap_or_else(PoisonError::into_inner);
    if session.is_none() {
        *session = Some(Session::new()?);
    }
    Ok(Held(session))
}

/// A trial of one build.
fn trial(
    build: Build,
    name: &str,
    run: impl FnOnce(&Session, Build) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let name = format!("{}::{name}", build.name());
    Trial::test(name.clone(), move || {
        let session = session()?;
        let outcome = test_outcome::named(&name, || run(&session, build));
        if outcome.is_err() {
            session.reset_if_lost();
        }
        outcome
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
    Build::ALL.iter().copied().flat_map(of).flatten().collect()
}

/// Fails unless the device's result is the expected one.
fn expect<T: PartialEq + std::fmt::Debug>(found: T, expected: T, what: &str) -> Result<(), Failed> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} is\n  {found:?}\nbut should be\n  {expected:?}").into())
}
