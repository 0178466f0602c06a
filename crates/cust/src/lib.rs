//! Safe access to the CUDA driver API, on a GPU or on the emulator.
//!
//! A program selects a device, loads a module, copies data to device buffers, launches kernels,
//! synchronizes, and copies the results back. Nothing links against CUDA: libcuda is loaded at run
//! time. Without a CUDA driver, or with `CUST_DEVICE=emulator`, the PTX emulator implements the
//! same functions.
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
//!     // The GPU if there is one, otherwise the emulator.
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
//! - [`Module::launch`] launches kernels of a crate that the program depends on. The module is
//!   embedded by [`include_module!`], and the arguments are checked at compile time (see
//!   [`kernel`]).
//! - Buffers record the streams that use them (see [`memory`]); a [`graph`] owns its buffers.
//! - [`future`] provides futures for pending work.
//! - [`launch!`] launches kernels of modules from other sources.
//!
//! `docs/driver-api.md` lists the wrapper of each driver API function; [`Context::driver`] gives
//! access to all of them.
//!
//! [`Module::launch`]: module::Module::launch
//!
//! # Choosing the device
//!
//! | call | device |
//! |---|---|
//! | [`quick_init`] | the value of `CUST_DEVICE` (`gpu`, `emulator`), else the GPU; without a GPU, an error |
//! | [`quick_init_on`] | the given backend |
//! | [`init_auto`] | the value of `CUST_DEVICE`, else the GPU, else the emulator; reports the choice and the reason |
//!
//! If a kernel runs for 20 s on the emulator, the emulator prints the kernel's name to stderr. The
//! environment variable `PTX_EMULATOR_TIME_LIMIT` sets a time limit in seconds, after which the
//! launch fails with [`CudaError::LaunchTimeout`](error::CudaError::LaunchTimeout).
//! The emulator has the limits of an `sm_90` device and rejects PTX for later architectures;
//! `PTX_EMULATOR_ARCH` selects another architecture: `sm_100`, `sm_103`, `sm_120` or `sm_121`.
//!
//! # Panics in kernels
//!
//! If a kernel panics, the next `synchronize` of its stream, of an event or of the context, or the
//! next copy that waits for the stream, returns [`Error::KernelPanic`] with the message, file,
//! line, column, block and thread. If kernels of the same module were pending in several streams,
//! it is not known which of them panicked, and each of these streams reports the panic once. The
//! panicking thread exits; the other threads continue, and the context stays usable. A panic that
//! was not returned before the process exits is printed to stderr.
//!
//! # Threads
//!
//! Objects may be used from any thread; each call makes its object's context current in the
//! driver for the calling thread. A function that creates an object uses the calling thread's
//! current context, or the process's default context if the thread has none (see [`context`]).
//!
//! # Compatibility
//!
//! Names and signatures are those of `cust` 0.3 wherever its API is sound, so that programs can
//! migrate.

// `docs/architecture.md` describes the layers of these modules; `tests/layers.rs` checks that a
// module uses only its own and lower layers.

pub mod context;
mod cpu;
pub mod device;
pub mod dlpack;
pub mod error;
pub mod event;
pub mod ext;
#[cfg(unix)]
pub mod external;
pub mod function;
pub mod future;
pub mod graph;
pub mod green_context;
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

mod backend;
mod bound_context;
mod dimensions;
mod host_call;
mod host_slices;
mod interop;
mod launch_log;
mod private_stream;
mod progress;
mod report;
mod stack;
mod tracker;
mod wait;
mod waker;

use std::fmt;

pub use backend::{Backend, DEVICE_VARIABLE};
pub use cpu::{launch_cpu, launch_cpu_on_fibers};
pub use cust_core::vector;
pub use cust_derive::DeviceCopy;
/// The raw bindings to the driver API, for functions that this crate does not wrap.
pub use cust_raw as raw;
pub use kernel::launch;

use context::Context;
use device::Device;
use error::{CudaResult, Error};

// The derive macro names this crate as `::cust`, in its own tests too.
extern crate self as cust;

bitflags::bitflags! {
    /// Flags of [`init`]. The driver API defines none.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct CudaFlags: u32 {}
}

/// Loads and initializes the backend that `CUST_DEVICE` selects, by default the CUDA driver.
///
/// Calling this function is optional: all other functions initialize the backend themselves.
///
/// # Errors
///
/// Returns [`Error::NoDriver`] if libcuda cannot be loaded, [`Error::UnknownBackend`] if
/// `CUST_DEVICE` has an invalid value, and the driver's error if initialization fails.
pub fn init(_flags: CudaFlags) -> CudaResult<()> {
    backend::default_api().map(|_| ())
}

/// Initializes the driver and creates a context on its first device.
///
/// The backend is the value of the environment variable `CUST_DEVICE` (`gpu` or `emulator`), by
/// default the GPU. The context stays alive until the process exits or a context on another device
/// is created.
///
/// # Errors
///
/// Returns [`Error::NoDriver`] or [`Error::NoDevice`] if there is no CUDA driver or no GPU, and
/// [`Error::UnknownBackend`] if `CUST_DEVICE` has an invalid value.
pub fn quick_init() -> CudaResult<Context> {
    quick_init_on(Backend::from_env()?.unwrap_or(Backend::Gpu))
}

/// Initializes the given backend and creates a context on its first device.
///
/// # Errors
///
/// Returns [`Error::NoDriver`] or [`Error::NoDevice`] if there is no CUDA driver or no GPU.
///
/// # Examples
///
/// ```
/// let context = cust::quick_init_on(cust::Backend::Emulator)?;
/// assert!(context.device().name()?.starts_with("PTX emulator"));
/// # Ok::<(), cust::error::Error>(())
/// ```
pub fn quick_init_on(backend: Backend) -> CudaResult<Context> {
    Context::new(Device::of(backend, 0)?)
}

/// Creates a context on the GPU if there is one, otherwise on the emulator.
///
/// The environment variable `CUST_DEVICE` overrides the choice; with `CUST_DEVICE=gpu`, a missing
/// GPU is an error.
///
/// # Errors
///
/// Returns the errors of [`quick_init_on`], and [`Error::UnknownBackend`] if `CUST_DEVICE` has an
/// invalid value.
///
/// # Examples
///
/// The result displays as the device's name, followed by the reason if the device is not a GPU:
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

/// Returns the reason why no GPU is usable, without the hint to use the emulator, which is already
/// in use.
fn why_no_gpu(error: &Error) -> String {
    match error {
        Error::NoDriver { reason } => reason.clone(),
        Error::NoDevice { code, text } => format!("the CUDA driver found no GPU ({code}: {text})"),
        error => error.to_string(),
    }
}

/// The device that [`init_auto`] selected, with its context.
///
/// As with [`quick_init`], the context stays alive when this value is dropped.
#[derive(Debug)]
pub struct ChosenDevice {
    context: Context,
    name: String,
    reason: Option<String>,
}

impl ChosenDevice {
    /// Returns the context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Converts into the context.
    pub fn into_context(self) -> Context {
        self.context
    }

    /// Returns the device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the backend that executes kernels.
    pub fn backend(&self) -> Backend {
        self.context.backend()
    }

    /// Returns the reason why the emulator was selected, or `None` on a GPU.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::PeerAttribute;
    use crate::graph::GraphBuilder;
    use crate::green_context::GreenContext;
    use crate::memory::{MemoryAdvice, MemoryLocation};
    use crate::prelude::*;

    /// Returns contexts of two backends. The second backend is the emulator as well, so that the
    /// test needs no GPU: a call that mixes them must not reach the driver.
    fn two_backends() -> [Context; 2] {
        let api = Box::leak(Box::new(backend::Api {
            driver: ptx_emulator::driver::driver(),
            backend: Backend::Gpu,
        }));
        let device = Device { raw: 0, api };
        let contexts = [device, Device::of(Backend::Emulator, 0).unwrap()];
        contexts.map(|device| Context::new(device).unwrap())
    }

    #[test]
    fn threads_share_the_stream_of_each_context() {
        let contexts = two_backends();
        let stream_of = |context: &Context| {
            CurrentContext::set_current(context).unwrap();
            crate::kernel::own_stream().unwrap()
        };
        let streams = contexts.each_ref().map(stream_of);
        for (context, stream) in contexts.iter().zip(streams) {
            assert_eq!(stream.context(), context);
        }
        // Also after the thread used the other context, and on other threads.
        let is_same = || {
            let again = contexts.each_ref().map(stream_of);
            again.iter().zip(streams).all(|(a, b)| std::ptr::eq(*a, b))
        };
        assert!(is_same() && is_same());
        std::thread::scope(|scope| {
            // The default context of this thread is either, since tests run concurrently.
            let of_default = scope.spawn(|| {
                let [first, second] = [(); 2].map(|()| crate::kernel::own_stream().unwrap());
                [first, second].map(|of| streams.iter().any(|stream| std::ptr::eq(*stream, of)))
            });
            assert_eq!(of_default.join().unwrap(), [true; 2]);
            assert!(scope.spawn(is_same).join().unwrap());
        });
        // A context that is current only during a call.
        CurrentContext::set_current(&contexts[0]).unwrap();
        let inner = contexts[1].with_current(|| crate::kernel::own_stream().unwrap());
        assert!(std::ptr::eq(inner, streams[1]));
        assert!(std::ptr::eq(
            crate::kernel::own_stream().unwrap(),
            streams[0]
        ));
    }

    #[test]
    fn objects_of_two_backends_cannot_be_mixed() {
        let [a, b] = two_backends();
        let on = |context: &Context| {
            CurrentContext::set_current(context).unwrap();
        };
        fn is_refused<T>(result: CudaResult<T>) {
            match result {
                Err(Error::WrongBackend { .. } | Error::WrongContext { .. }) => {}
                Err(error) => panic!("{error}"),
                Ok(_) => panic!("accepted"),
            }
        }
        is_refused(a.enable_peer_access(&b));
        is_refused(a.disable_peer_access(&b));
        let attribute = PeerAttribute::AccessSupported;
        is_refused(a.device().peer_attribute(attribute, &b.device()));
        assert!(!a.device().can_access_peer(&b.device()).unwrap());
        is_refused(GreenContext::new(
            &a,
            &[b.device().multiprocessors().unwrap()],
        ));

        on(&b);
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
        let event = Event::new(EventFlags::DEFAULT).unwrap();
        let there = DeviceBuffer::from_slice(&[1u32; 4]).unwrap();
        let pinned = LockedBuffer::from_slice(&[1u32; 4]).unwrap();
        on(&a);
        let own = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
        let own_event = Event::new(EventFlags::DEFAULT).unwrap();
        let mut here = DeviceBuffer::from_slice(&[2u32; 4]).unwrap();
        let unified = UnifiedBuffer::new(&1u32, 4).unwrap();
        is_refused(here.copy_from_peer(&there));
        is_refused(here.copy_from(&there));
        is_refused(own.copy(&there, &mut here));
        is_refused(stream.copy(&there, &mut here));
        is_refused(own.upload(&pinned, &mut here));
        let location = MemoryLocation::Device(b.device());
        is_refused(unified.advise(MemoryAdvice::AccessedBy(location, true)));
        is_refused(unified.prefetch(location, &own));
        is_refused(unified.prefetch(MemoryLocation::Host, &stream));
        is_refused(own.wait_for(&stream));
        is_refused(own.wait_event(&event, StreamWaitEventFlags::DEFAULT));
        is_refused(event.record(&own));
        is_refused(event.elapsed(&own_event));
        let mut graph = GraphBuilder::new().unwrap();
        let foreign = graph.buffer(there);
        graph.set_zero(foreign).unwrap();
        is_refused(graph.instantiate().unwrap().launch(&own));
        let graph = || GraphBuilder::new().unwrap();
        let mut graph_here = graph();
        is_refused(graph_here.record_event(&std::sync::Arc::new(event), &[]));
        on(&b);
        is_refused(graph_here.child(graph(), &[]));
        is_refused(graph_here.instantiate().unwrap().update(graph()));

        // Objects of a context that is not current are awaited and linked in their own context.
        own_event.record(&own).unwrap();
        let _future = own_event.completion().unwrap();
        assert_eq!(here.as_host_vec().unwrap(), [2; 4]);
    }
}
