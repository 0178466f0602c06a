//! Safe access to the CUDA driver API, on a GPU or on the emulator.
//!
//! A program picks a device, loads a module of kernels, copies data to buffers, launches, waits
//! and copies back. Nothing links against CUDA: libcuda is loaded at run time, and where there is
//! none, or where `CUST_DEVICE=emulator` says so, the PTX emulator takes its place behind the same
//! functions.
//!
//! ```
//! use cust::prelude::*;
//!
//! // Usually: include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"))
//! const PTX: &str = "
//!     .version 7.0
//!     .target sm_70
//!     .address_size 64
//!     .visible .entry fill(.param .u64 data, .param .u64 len, .param .u32 value) {
//!         .reg .u64 %a<4>; .reg .u32 %r<3>;
//!         ld.param.u64 %a1, [data];
//!         ld.param.u32 %r1, [value];
//!         mov.u32 %r2, %tid.x;
//!         mul.wide.u32 %a2, %r2, 4;
//!         add.s64 %a3, %a1, %a2;
//!         st.global.u32 [%a3], %r1;
//!         ret;
//!     }";
//!
//! fn main() -> CudaResult<()> {
//!     // The GPU if there is one, else the emulator.
//!     let device = cust::init_auto()?;
//!     println!("running on {device}");
//!
//!     let module = Module::from_ptx(PTX, &[])?;
//!     let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//!     let data = DeviceBuffer::<u32>::zeroed(4)?;
//!     // SAFETY: the kernel writes `value` to `len` elements, one for each thread.
//!     unsafe {
//!         launch!(module.fill<<<1, 4, 0, stream>>>(data.as_device_ptr(), data.len(), 7u32))?;
//!     }
//!     stream.synchronize()?;
//!     assert_eq!(data.as_host_vec()?, [7, 7, 7, 7]);
//!     Ok(())
//! }
//! ```
//!
//! # Without `unsafe`
//!
//! Kernels of a crate that the program depends on are launched by [`Module::launch`] with arguments
//! that the compiler checks (see [`kernel`]), from a module that [`include_module!`] embeds. Buffers
//! know the streams that use them ([`memory`]); [`graph`]s own theirs; [`finished`] has futures.
//! `launch!` is for modules from elsewhere. What wraps each function of the driver API is listed in
//! `docs/driver-api.md`; [`Context::driver`] has all of them.
//!
//! [`Module::launch`]: module::Module::launch
//!
//! # Choosing the device
//!
//! | call | device |
//! |---|---|
//! | [`quick_init`] | what `CUST_DEVICE` says (`gpu`, `emulator`), else the GPU; without one, an error |
//! | [`quick_init_on`] | the backend given |
//! | [`init_auto`] | what `CUST_DEVICE` says, else the GPU, else the emulator; says what and why |
//!
//! On the emulator a note on stderr names a kernel that has run for 20 s. The environment variable
//! `PTX_EMULATOR_TIME_LIMIT` sets a limit in seconds, after which the launch fails with
//! [`CudaError::LaunchTimeout`](error::CudaError::LaunchTimeout).
//! The emulator has the limits of an `sm_90` device and refuses PTX for later architectures;
//! `PTX_EMULATOR_ARCH` selects another one: `sm_100`, `sm_103`, `sm_120` or `sm_121`.
//!
//! # Panics in kernels
//!
//! A panic in a kernel is returned by the next `synchronize` of its stream, of an event or of the
//! context, and by the next copy that waits for the stream, as [`Error::KernelPanic`]: message, file,
//! line, column, block and thread. If other streams had kernels of the same module in flight, each is
//! told, once: which of them panicked is not known. The panicking thread ends; the other threads, and
//! the context, go on. A panic that nobody was told of when the process exits is printed to stderr.
//!
//! # Threads
//!
//! Objects may be used from any thread; each call makes its object's context current in the
//! driver for the calling thread. What needs a context but has no object to take it from uses the
//! one made current by this thread, else the process's default (see [`context`]).
//!
//! # Names
//!
//! They are those of `cust` 0.3 where its interface is sound, so that programs move over.

pub mod context;
mod cpu;
pub mod device;
pub mod dlpack;
pub mod error;
pub mod event;
#[cfg(unix)]
pub mod external;
pub mod finished;
pub mod function;
pub mod graph;
pub mod green;
pub mod ipc;
pub mod kernel;
#[doc(hidden)]
pub mod launch;
pub mod memory;
pub mod module;
pub mod prelude;
pub mod profiler;
pub mod stream;
pub mod tensor_map;
pub mod texture;
pub mod util;

mod backend;
mod ecosystem;
mod host_call;
mod host_memory;
mod report;
mod stack;
mod tracker;

use std::fmt;

pub use backend::{Backend, DEVICE_VARIABLE};
pub use cpu::launch_cpu;
pub use cust_derive::DeviceCopy;
/// The raw bindings, for what this crate does not wrap.
pub use cust_raw as raw;
pub use kernel::launch;

use context::Context;
use device::Device;
use error::{CudaResult, Error};

// The derive macro names this crate as `::cust`, in its own tests too.
extern crate self as cust;

bitflags::bitflags! {
    /// Flags of [`init`]. The driver defines none.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct CudaFlags: u32 {}
}

/// Loads and initialises the driver that `CUST_DEVICE` chooses, else that of GPUs. The other
/// functions of this module do so by themselves.
pub fn init(_flags: CudaFlags) -> CudaResult<()> {
    backend::default_api().map(|_| ())
}

/// Initialises the driver and makes a context on the first device: the GPU, or what the
/// environment variable `CUST_DEVICE` says (`gpu` or `emulator`). The context stays alive until the
/// process ends, or until a context on another device is made.
pub fn quick_init() -> CudaResult<Context> {
    quick_init_on(Backend::from_env()?.unwrap_or(Backend::Gpu))
}

/// Initialises the given backend and makes a context on its first device.
///
/// ```
/// let context = cust::quick_init_on(cust::Backend::Emulator)?;
/// assert!(context.device().name()?.starts_with("PTX emulator"));
/// # Ok::<(), cust::error::Error>(())
/// ```
pub fn quick_init_on(backend: Backend) -> CudaResult<Context> {
    Context::new(Device::of(backend, 0)?)
}

/// Makes a context on the GPU if there is one, else on the emulator. `CUST_DEVICE` overrides the
/// choice; then a GPU that is not there is an error.
///
/// The result displays as the device's name, with the reason if it is not a GPU:
///
/// ```
/// let chosen = cust::init_auto()?;
/// println!("running on {chosen}");
/// # Ok::<(), cust::error::Error>(())
/// ```
pub fn init_auto() -> CudaResult<ChosenDevice> {
    let (context, reason) = match Backend::from_env()? {
        Some(backend) => {
            let reason = (backend == Backend::Emulator)
                .then(|| format!("{DEVICE_VARIABLE}=emulator is set"));
            (quick_init_on(backend)?, reason)
        }
        None => match quick_init_on(Backend::Gpu) {
            Ok(context) => (context, None),
            Err(error) => (quick_init_on(Backend::Emulator)?, Some(why_no_gpu(&error))),
        },
    };
    let name = context.device().name()?;
    Ok(ChosenDevice {
        context,
        name,
        reason,
    })
}

/// Why there is no GPU, without the hint at the emulator that is already in use.
fn why_no_gpu(error: &Error) -> String {
    match error {
        Error::NoDriver { reason } => reason.clone(),
        Error::NoDevice { code, text } => format!("the CUDA driver finds no GPU ({code}: {text})"),
        error => error.to_string(),
    }
}

/// The device that [`init_auto`] chose, with its context. Like that of [`quick_init`], it stays
/// alive without this value.
#[derive(Debug)]
pub struct ChosenDevice {
    context: Context,
    name: String,
    reason: Option<String>,
}

impl ChosenDevice {
    /// The context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The context alone.
    pub fn into_context(self) -> Context {
        self.context
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What executes kernels.
    pub fn backend(&self) -> Backend {
        self.context.backend()
    }

    /// Why it is the emulator.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

impl fmt::Display for ChosenDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.reason {
            Some(reason) => write!(f, " ({reason})"),
            None => Ok(()),
        }
    }
}
