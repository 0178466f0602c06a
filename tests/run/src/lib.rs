//! Device programs whose results are compared with the CPU's, on the GPU or on the emulator.
//!
//! The programs are in the crate `kernels`. Here is what launches them and compares, as trials of
//! a test harness (`tests/device.rs`): one for each case and build. All share one context and two
//! modules, which are loaded once.

use cust::module::OptLevel;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};
use std::ops::Deref;
use test_session::{Device, Held, Modules, Shared};

pub mod blocks;
pub mod cases;
pub mod litmus;
pub mod output;
pub mod panics;
pub mod parameters;

/// How the kernels were compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// Optimized.
    Release,
    /// Not optimized, with overflow checks and debug assertions.
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

/// The start of the names of a bundle's cubins.
const NAME: &str = match cfg!(nvvm_single_source) {
    false => "device-tests",
    true => "single-source-device-tests",
};

/// The modules of a build: one without cases, and each group of them.
const PARTS: usize = 1 + device_tests_kernels::GROUPS.len();

/// The group of cases that an entry runs.
fn group_of(entry: &str) -> Option<usize> {
    entry.strip_prefix("run_case_")?.parse().ok()
}

/// The device with the modules of both builds.
pub struct Session {
    modules: Modules<{ 2 * PARTS }>,
    device: Device,
}

impl Deref for Session {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Session {
    /// The module of a build, for all but the cases.
    pub fn module(&self, build: Build) -> Result<&Module, Failed> {
        self.part(build, None)
    }

    /// The module of a build that has a group of the cases.
    pub fn cases(&self, build: Build, group: usize) -> Result<&Module, Failed> {
        self.part(build, Some(group))
    }

    /// The emulator takes a build as it is. On a GPU each group is a module of its own: ptxas, and
    /// so the driver, crashes on all of them together, unoptimized.
    fn part(&self, build: Build, group: Option<usize>) -> Result<&Module, Failed> {
        let group = group.filter(|_| self.on_gpu());
        let place = group.map_or(0, |group| group + 1);
        self.modules.get(build as usize * PARTS + place, || {
            let compile = |ptx: &str| {
                // The driver's compiler is slow for this amount of code, especially when it
                // optimizes.
                let options = match build {
                    Build::Release => vec![],
                    Build::Debug => vec![ModuleJitOption::OptLevel(OptLevel::O0)],
                };
                Module::from_ptx(ptx, &options).map_err(|error| error.to_string())
            };
            let ptx = build.ptx(self.capability);
            if !self.on_gpu() {
                return compile(ptx);
            }
            let part = group.map_or("rest".to_owned(), |group| format!("cases{group}"));
            self.load(&format!("{NAME}-{}.{part}", build.name()), || {
                let mut ptx = ptx::Module::parse(ptx).map_err(|error| error.to_string())?;
                ptx::keep_entries(&mut ptx, |entry| group_of(entry) == group);
                compile(&ptx.to_string())
            })
        })
    }
}

/// Returns the session, for one test at a time.
pub fn session() -> Result<Held<Session>, Failed> {
    static SESSION: Shared<Session> = Shared::new();
    SESSION.borrow(|| {
        Ok(Session {
            modules: Modules::new(),
            device: Device::new()?,
        })
    })
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
