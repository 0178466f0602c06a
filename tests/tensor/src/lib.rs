//! Device tests of what moves and multiplies tiles of numbers: each kernel's output is compared with
//! what the CPU computes, on the GPU or on the emulator. What a device lacks is said and left out.

mod examples;
mod numbers;
mod products;
mod rows;
mod textures;
mod tiles;
mod transfers;
mod wgmma;
mod wmma;

use cust::kernel::LaunchConfig;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};
use std::sync::{Mutex, MutexGuard, OnceLock};

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
    modules: [OnceLock<Result<Module, String>>; 2],
    stream: Stream,
    /// Shown before the tests.
    pub device: String,
    capability: (u32, u32),
    context: Context,
}

impl Session {
    fn new() -> CudaResult<Session> {
        let chosen = cust::init_auto()?;
        let device = chosen.to_string();
        let context = chosen.into_context();
        Ok(Session {
            modules: [const { OnceLock::new() }; 2],
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
            device,
            capability: context.device().compute_capability()?,
            context,
        })
    }

    /// Whether the device runs a module.
    pub fn has(&self, needs: Needs) -> bool {
        match needs {
            Needs::Sm75 => true,
            Needs::Sm90a => self.capability == (9, 0),
        }
    }

    /// Whether this is a GPU.
    pub fn on_gpu(&self) -> bool {
        self.context.backend() == Backend::Gpu
    }

    fn module(&self, needs: Needs) -> Result<&Module, Failed> {
        let module = self.modules[needs as usize].get_or_init(|| {
            let ptx = match needs {
                Needs::Sm75 => include_str!(concat!(env!("OUT_DIR"), "/sm_75.ptx")),
                Needs::Sm90a => include_str!(concat!(env!("OUT_DIR"), "/sm_90a.ptx")),
            };
            Module::from_ptx(ptx, &[]).map_err(|error| error.to_string())
        });
        module.as_ref().map_err(Failed::from)
    }

    /// Launches a kernel with an input, and returns so many words of output.
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

    /// Launches a kernel with clusters of so many blocks.
    pub fn run_clusters(
        &self,
        kernel: &str,
        (blocks, threads): (u32, u32),
        each: u32,
        input: &[u32],
        output: usize,
    ) -> Result<Vec<u32>, Failed> {
        if each == 1 {
            return self.run(Needs::Sm90a, kernel, (blocks, threads, 0), input, output);
        }
        let input = DeviceBuffer::from_slice(input)?;
        let output = DeviceBuffer::from_slice(&vec![0xdead_beefu32; output])?;
        let config = LaunchConfig::new(blocks, threads).cluster(each);
        // SAFETY: the kernel has an input and an output, which are as long as it expects.
        let args = unsafe {
            tensor_tests_kernels::transfers::clusters::args(
                input.as_device_ptr().as_ptr(),
                output.as_device_ptr().as_mut_ptr(),
            )
        };
        self.module(Needs::Sm90a)?
            .launch(&self.stream, config, args)?;
        self.stream.synchronize()?;
        Ok(output.as_host_vec()?)
    }
}

/// The session, for one test at a time.
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

fn trial(
    needs: Needs,
    name: impl Into<String>,
    run: impl FnOnce(&Session) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let name = name.into();
    let shown = name.clone();
    Trial::test(name, move || {
        let session = session()?;
        if !session.has(needs) {
            println!("{shown}: left out, it needs {needs:?}");
            return Ok(());
        }
        run(&session)
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
        rows::trials(),
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
