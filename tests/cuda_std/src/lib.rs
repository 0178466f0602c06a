//! Tests every public function of `cuda_std` on a device, lane by lane, against the CPU.
//!
//! The crate `kernels` has the kernels; each thread writes a few numbers. This crate launches the
//! kernels and computes the expected numbers of each thread, as trials of a test harness
//! (`tests/device.rs`). Tests that require a newer architecture than the device's are skipped.

use cust::prelude::*;
use libtest_mimic::{Failed, Trial};
use std::ops::Deref;
use test_session::{Device, Held, Modules, Shared};

mod atomics;
mod examples;
mod groups;
mod guide;
mod math;
mod newer;
mod output;
mod raw;
mod synchronization;
mod vectors;
mod warp;

/// The architecture that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// The oldest architecture, for features that every GPU has.
    Sm75,
    /// `sm_90`, for features that `sm_80` and `sm_90` added.
    Sm90,
}

impl Arch {
    /// Returns the kernels' PTX.
    pub fn ptx(self) -> &'static str {
        match self {
            Arch::Sm75 => include_str!(concat!(env!("OUT_DIR"), "/sm_75.ptx")),
            Arch::Sm90 => include_str!(concat!(env!("OUT_DIR"), "/sm_90.ptx")),
        }
    }

    /// Returns the kernels' PTX for a device with this compute capability. From 10.0 on, one module
    /// has all kernels.
    fn ptx_on(self, capability: (u32, u32)) -> &'static str {
        match capability {
            (10.., _) => include_str!(concat!(env!("OUT_DIR"), "/sm_100.ptx")),
            _ => self.ptx(),
        }
    }

    fn capability(self) -> (u32, u32) {
        match self {
            Arch::Sm75 => (7, 5),
            Arch::Sm90 => (9, 0),
        }
    }
}

/// The device with its modules.
pub struct Session {
    modules: Modules<2>,
    device: Device,
}

impl Deref for Session {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Session {
    /// Returns the module for an architecture.
    pub fn module(&self, arch: Arch) -> Result<&Module, Failed> {
        self.modules.get(arch as usize, || {
            let (major, minor) = arch.capability();
            self.load(&format!("cuda-std-tests-sm_{major}{minor}"), || {
                let ptx = arch.ptx_on(self.capability);
                Module::from_ptx(ptx, &[]).map_err(|error| error.to_string())
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

/// Creates a trial that uses the module of an architecture.
pub fn trial(
    arch: Arch,
    name: &'static str,
    run: impl FnOnce(&Session, &Module) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    Trial::test(name, move || {
        let session = session()?;
        let (needed, here) = (arch.capability(), session.capability);
        if here < needed {
            test_outcome::skip(format_args!(
                "needs compute capability {}.{}, the device has {}.{}",
                needed.0, needed.1, here.0, here.1
            ));
            return Ok(());
        }
        test_outcome::named(name, || run(&session, session.module(arch)?))
    })
}

/// Launches a kernel whose parameters are `arguments` and a `PerThread<[u64; N]>`, and compares
/// what each thread wrote with the expected values.
pub fn per_thread<const N: usize>(
    session: &Session,
    module: &Module,
    kernel: &str,
    (blocks, threads): (u32, u32),
    arguments: &[&DeviceBuffer<u64>],
    expected: impl Fn(u32) -> [u64; N],
) -> Result<(), Failed> {
    let count = (blocks * threads) as usize;
    let output = DeviceBuffer::<u64>::zeroed(count * N)?;
    let (to, stream) = (per_thread_argument(&output, count), &session.stream);
    let kernel_function = module.get_function(kernel)?;
    // SAFETY: the kernels here take slices, and write one array per thread.
    unsafe {
        match arguments {
            [] => launch!(kernel_function<<<blocks, threads, 0, stream>>>(to))?,
            [from] => launch!(kernel_function<<<blocks, threads, 0, stream>>>(
                from.as_device_ptr(), from.len(), to
            ))?,
            _ => return Err("more arguments than any kernel here takes".into()),
        }
    }
    stream.synchronize()?;
    for (i, found) in output.as_host_vec()?.chunks(N).enumerate() {
        let expected = expected(i as u32);
        if let Some(k) = (0..N).find(|&k| found[k] != expected[k]) {
            let (found, expected) = (found[k], expected[k]);
            return Err(format!(
                "{kernel}, thread {i}, number {k}: {found:#x}, but should be {expected:#x}"
            )
            .into());
        }
    }
    Ok(())
}

/// Returns a `PerThread` as a kernel argument: the address and the number of elements.
pub fn per_thread_argument<T: DeviceCopy>(output: &DeviceBuffer<T>, elements: usize) -> [u64; 2] {
    // A reference is never null, even to an empty slice.
    [output.as_device_ptr().as_raw().max(16), elements as u64]
}

/// Returns an error unless the device's result is the expected one.
pub fn expect<T: PartialEq + std::fmt::Debug>(
    found: T,
    expected: T,
    what: &str,
) -> Result<(), Failed> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} is\n  {found:?}\nbut should be\n  {expected:?}").into())
}

/// Returns all trials.
pub fn trials() -> Vec<Trial> {
    [
        warp::trials(),
        synchronization::trials(),
        output::trials(),
        vectors::trials(),
        atomics::trials(),
        groups::trials(),
        newer::trials(),
        math::trials(),
        guide::trials(),
        examples::trials(),
        raw::trials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
