//! Device tests of instructions that move and multiply tiles: each kernel's output is compared with
//! what the CPU computes, on the GPU or on the emulator. Tests of features that a device lacks are
//! skipped.

mod examples;
mod intrinsics_table;
mod numbers;
mod products;
mod textures;
mod tiles;
mod transfers;
mod wgmma;
mod wmma;

use cust::kernel::{Args, KernelType, LaunchConfig};
use cust::prelude::*;
use cust_core::kernel::Pass;
use libtest_mimic::{Failed, Trial};
use std::ops::Deref;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use test_session::{Device, Held, Modules, Shared};

/// A module, by the architecture that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Any.
    Sm75,
    /// Just compute capability 9.0.
    Sm90a,
}

/// The device, with the modules that it can run.
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
    /// Whether the device runs a module.
    pub fn has(&self, needs: Needs) -> bool {
        match needs {
            Needs::Sm75 => true,
            Needs::Sm90a => self.capability == (9, 0),
        }
    }

    fn module(&self, needs: Needs) -> Result<&Module, Failed> {
        self.modules.get(needs as usize, || {
            macro_rules! ptx {
                ($arch:literal) => {
                    (
                        $arch,
                        include_str!(concat!(env!("OUT_DIR"), "/", $arch, ".ptx")),
                    )
                };
            }
            let (stem, ptx) = match (needs, self.capability) {
                (Needs::Sm90a, _) => ptx!("sm_90a"),
                (Needs::Sm75, (10.., _)) => ptx!("sm_100"),
                (Needs::Sm75, _) => ptx!("sm_75"),
            };
            self.load(&format!("tensor-tests-{stem}"), || {
                Module::from_ptx(ptx, &[]).map_err(|error| error.to_string())
            })
        })
    }

    /// Launches a kernel with an input, and returns this number of words of output.
    pub fn run(
        &self,
        needs: Needs,
        kernel: &str,
        (blocks, threads, shared): (u32, u32, u32),
        input: &[u32],
        output: usize,
    ) -> Result<Vec<u32>, Failed> {
        let function = self.module(needs)?.get_function(kernel)?;
        let input = DeviceBuffer::from_slice(input)?;
        let output = DeviceBuffer::from_slice(&vec![0xdead_beefu32; output])?;
        let stream = &self.stream;
        // SAFETY: all kernels have an input and an output, which are as long as they expect.
        unsafe {
            launch!(function<<<blocks, threads, shared, stream>>>(
                input.as_device_ptr(),
                output.as_device_ptr()
            ))?;
        }
        stream.synchronize()?;
        Ok(output.as_host_vec()?)
    }

    /// Launches a kernel with clusters of this number of blocks.
    pub fn run_clusters<K: KernelType, A: Pass>(
        &self,
        (blocks, threads): (u32, u32),
        each: u32,
        arguments: impl FnOnce(*const u32, *mut u32) -> Args<K, A>,
        output: usize,
    ) -> Result<Vec<u32>, Failed> {
        let input = DeviceBuffer::from_slice(&transfers::CLUSTER_INPUT)?;
        let output = DeviceBuffer::from_slice(&vec![0xdead_beefu32; output])?;
        let arguments = arguments(
            input.as_device_ptr().as_ptr(),
            output.as_device_ptr().as_mut_ptr(),
        );
        let config = LaunchConfig::new(blocks, threads).cluster(each);
        // SAFETY: the module was built from the kernels' crate.
        let kernel = unsafe { self.module(Needs::Sm90a)?.kernel_unchecked::<K>()? };
        kernel.launch(&self.stream, config, arguments)?;
        self.stream.synchronize()?;
        Ok(output.as_host_vec()?)
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

fn trial(
    needs: Needs,
    name: impl Into<String>,
    run: impl FnOnce(&Session) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let name = name.into();
    let shown = name.clone();
    Trial::test(name, move || {
        let session = session()?;
        test_outcome::named(&shown, || {
            if !session.has(needs) {
                test_outcome::skip(format_args!("needs {needs:?}"));
                return Ok(());
            }
            run(&session)
        })
    })
}

/// As [`trial`], on a GPU in a process of its own: what ends a context there says nothing of others,
/// and what never ends is ended.
fn alone(
    needs: Needs,
    name: impl Into<String>,
    run: impl FnOnce(&Session) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    const ALONE: &str = "TENSOR_TESTS_ALONE";
    let name = name.into();
    let shown = name.clone();
    trial(needs, name, move |session| {
        if !session.on_gpu() || std::env::var_os(ALONE).is_some() {
            return run(session);
        }
        let mut child = Command::new(std::env::current_exe()?)
            // In the main thread: where another that used the driver is just ending, the driver's exit
            // handler waits for ever once a kernel has failed (driver 580.159.04).
            .args(["--exact", &shown, "--test-threads=1"])
            .env(ALONE, "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let start = Instant::now();
        while child.try_wait()?.is_none() {
            if start.elapsed() > Duration::from_secs(60) {
                child.kill()?;
                child.wait()?;
                return Err("it does not end".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && text.contains("1 passed") {
            return Ok(());
        }
        Err(format!("{text}{}", String::from_utf8_lossy(&output.stderr)).into())
    })
}

/// All trials.
pub fn trials() -> Vec<Trial> {
    [
        products::trials(),
        wmma::trials(),
        examples::trials(),
        tiles::trials(),
        textures::trials(),
        wgmma::trials(),
        transfers::trials(),
        numbers::trials(),
        intrinsics_table::trials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Words as numbers of 64 bits.
fn wide(words: &[u32]) -> Vec<u64> {
    words
        .chunks(2)
        .map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32)
        .collect()
}

/// Fails with the first places that differ.
fn compare<T: PartialEq + std::fmt::LowerHex>(found: &[T], expected: &[T]) -> Result<(), Failed> {
    if found.len() != expected.len() {
        return Err(format!("{} values, not {}", found.len(), expected.len()).into());
    }
    let pairs = found.iter().zip(expected).enumerate();
    let wrong: Vec<String> = pairs
        .filter(|(_, (found, expected))| found != expected)
        .map(|(place, (found, expected))| format!("{place}: {found:#x}, not {expected:#x}"))
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let shown = wrong.len().min(8);
    Err(format!("{} differ: {}", wrong.len(), wrong[..shown].join("; ")).into())
}
