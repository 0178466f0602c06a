//! Safe launches: kernels of a crate that the program depends on, with arguments that are checked
//! at compile time.
//!
//! # Examples
//!
//! ```
//! // A crate of its own, which the build script compiles for the device:
//! mod kernels {
//!     use cuda_std::prelude::*;
//!
//!     #[kernel]
//!     pub fn add(a: &[f32], b: &[f32], mut c: PerThread<f32>) {
//!         for (i, c) in c.own() {
//!             *c = a[i] + b[i];
//!         }
//!     }
//! }
//!
//! # const PTX: &str = "
//! # .version 7.0
//! # .target sm_70
//! # .address_size 64
//! # .visible .entry add(
//! #     .param .u64 a,
//! #     .param .u64 a_len,
//! #     .param .u64 b,
//! #     .param .u64 b_len,
//! #     .param .align 8 .b8 c[16]
//! # ) {
//! #     .reg .pred %p<2>;
//! #     .reg .u32 %r<4>;
//! #     .reg .u64 %a<7>;
//! #     .reg .f32 %f<4>;
//! #     mov.u32 %r1, %ctaid.x;
//! #     mov.u32 %r2, %ntid.x;
//! #     mov.u32 %r3, %tid.x;
//! #     mad.lo.u32 %r1, %r1, %r2, %r3;
//! #     cvt.u64.u32 %a1, %r1;
//! #     ld.param.u64 %a2, [c+8];
//! #     setp.ge.u64 %p1, %a1, %a2;
//! #     @%p1 bra END;
//! #     shl.b64 %a3, %a1, 2;
//! #     ld.param.u64 %a4, [a];
//! #     add.s64 %a4, %a4, %a3;
//! #     ld.global.f32 %f1, [%a4];
//! #     ld.param.u64 %a5, [b];
//! #     add.s64 %a5, %a5, %a3;
//! #     ld.global.f32 %f2, [%a5];
//! #     add.f32 %f3, %f1, %f2;
//! #     ld.param.u64 %a6, [c];
//! #     add.s64 %a6, %a6, %a3;
//! #     st.global.f32 [%a6], %f3;
//! # END:
//! #     ret;
//! # }";
//! # use cust::module::Image;
//! use cust::prelude::*;
//! use kernels::add;
//!
//! // static KERNELS: Embedded = cust::include_module!("kernels");
//! # // SAFETY: the PTX's kernel has the parameters of `add`.
//! # static KERNELS: Embedded =
//! #     unsafe { Embedded::new(&[env!("CARGO_PKG_NAME")], &[("sm_70", Image::Ptx(PTX))]) };
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! let module = KERNELS.load()?;
//! let a = DeviceBuffer::from_slice(&[1.0f32; 1000])?;
//! let b = DeviceBuffer::from_slice(&[2.0f32; 1000])?;
//! let mut c = DeviceBuffer::<f32>::zeroed(1000)?;
//! let config = LaunchConfig::for_elements(c.len(), 256);
//! module.launch(&stream, config, add::args(&a, &b, &mut c))?;
//! assert_eq!(c.as_host_vec()?, [3.0; 1000]); // waits for the launch
//!
//! // Slices in host memory are copied.
//! let mut sum = vec![0.0; 1000];
//! module.launch(&stream, config, add::args(&a, &vec![0.5; 1000], &mut sum))?;
//! assert_eq!(sum, [1.5; 1000]);
//! # Ok::<(), cust::error::Error>(())
//! ```
//!
//! A launch borrows its buffers only until it is enqueued. Each buffer then records the stream that
//! uses it: work in other streams, copies to the host and deallocation wait for the pending launch
//! automatically. A launch therefore returns no guard, and safety does not depend on explicit
//! synchronization.
//!
//! `args` is unsafe for kernels that are `unsafe fn`s or take raw pointers.
//!
//! # Host slices
//!
//! Arguments may also be slices, arrays and `Vec`s in host memory: a shared reference for a `&[T]`
//! parameter, `&[T; N]` for `&[T; N]`, and a mutable reference for `PerThread<T>` and the other
//! output types. The launch copies the elements to the device, copies those of mutable references
//! back, and returns when the copies are complete. If the kernel panics, the launch returns the
//! panic as its error. Host slices can be combined with device buffers, which are not copied:
//!
//! ```text
//! let (a, b): (Vec<f32>, DeviceBuffer<f32>) = …;
//! let mut c = vec![0.0; a.len()];
//! module.launch(&stream, (blocks, threads), vecadd::args(&a, &b, &mut c))?;
//! println!("{c:?}");
//! ```
//!
//! The element type must implement [`DeviceCopy`]. Launches in a graph, and launches into a stream
//! that is being captured, reject host slices. Data that several launches use is better kept in a
//! [`DeviceBuffer`], which is copied once.

// This file contains kernels and their launches; `config.rs` the launch configuration; `checks.rs`
// compares it with the limits; `arguments.rs` passes device memory to kernels, and `views.rs` rows
// and volumes; `collector.rs` collects what a launch passes.

mod arguments;
mod checks;
mod collector;
mod config;
mod views;

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Mutex;

use cust_core::kernel::Pass;

use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::function::Function;
#[cfg(doc)]
use crate::memory::{DeviceBuffer, DeviceCopy};
use crate::module::Module;
use crate::stream::{Stream, StreamFlags};

pub use arguments::Range;
pub(crate) use checks::{Dimensions, check_block_size, check_size, launch_size};
pub(crate) use collector::{Collector, InGraph, doing};
pub(crate) use config::attributes;
pub use config::{AccessWindow, CacheProperty, ClusterPolicy, LaunchConfig, SyncDomain};
pub use cust_core::kernel::{Args, Kernel as KernelType};
pub use views::{HostRowsMut, HostShapeMut, HostVolumeMut, RowsMut, VolumeMut};

/// A kernel of a module, whose signature is that of the kernel type `K`.
///
/// [`Module::kernel`] looks up a kernel, once for any number of launches. A `Kernel` dereferences
/// to its [`Function`].
pub struct Kernel<'m, K> {
    function: Function<'m>,
    kernel: PhantomData<fn() -> K>,
}

impl<K> Clone for Kernel<'_, K> {
    fn clone(&self) -> Self {
        Kernel {
            function: self.function.clone(),
            kernel: PhantomData,
        }
    }
}

impl<K> std::fmt::Debug for Kernel<'_, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.function.fmt(f)
    }
}

impl<'m, K> Deref for Kernel<'m, K> {
    type Target = Function<'m>;

    fn deref(&self) -> &Function<'m> {
        &self.function
    }
}

impl<K: KernelType> Kernel<'_, K> {
    /// Enqueues a launch into a stream, after the pending work in other streams that it depends on.
    ///
    /// The launch is asynchronous: the next `synchronize`, or the next copy to the host, returns
    /// errors that occur while the kernel runs.
    ///
    /// A launch with host slices, arrays or `Vec`s as arguments copies them to the device, copies
    /// those that the kernel writes back, and returns when the copies are complete. It also returns
    /// errors that occur while the kernel runs.
    ///
    /// # Errors
    ///
    /// Returns an error if the launch configuration exceeds a limit of the kernel or the device
    /// ([`Error::LaunchSize`], [`Error::SharedMemory`]), if an object belongs to another context
    /// ([`Error::WrongContext`]) or to a graph ([`Error::BufferOfGraph`]), if the stream is being
    /// captured ([`Error::Capturing`]), or if the driver rejects the launch.
    pub fn launch<A: Pass>(
        &self,
        stream: &Stream,
        config: impl Into<LaunchConfig>,
        args: Args<K, A>,
    ) -> CudaResult<()> {
        launch_function(&self.function, stream, &config.into(), &args)
    }
}

impl<K: KernelType> Kernel<'static, K> {
    /// Returns a kernel of the program itself in the current context.
    ///
    /// [`Stream::launch`] does not need this lookup. It is for launches in graphs, and for the
    /// methods of [`Function`], such as those that compute the occupancy.
    ///
    /// ```text
    /// let kernel = Kernel::<vecadd>::own()?;
    /// graph.launch(&kernel, (blocks, threads), vecadd::args(a.read(), b.read(), c.write()))?;
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Stream::launch`] that concern the module, and [`Error::NoContext`]
    /// without a context.
    pub fn own() -> CudaResult<Self> {
        let context = Context::current("looking up a kernel of the program")?;
        Ok(Kernel {
            function: crate::module::own_kernel::<K>(&context)?.clone(),
            kernel: PhantomData,
        })
    }
}

/// Launches the kernel `K`, whose function in the module is `function`. The callers consume the
/// arguments.
fn launch_function<K: KernelType, A: Pass>(
    function: &Function<'_>,
    stream: &Stream,
    config: &LaunchConfig,
    args: &Args<K, A>,
) -> CudaResult<()> {
    check_block_size::<K>(config)?;
    let mut collector = Collector::of(function);
    args.pass(&mut collector);
    // SAFETY: the arguments have the types of the kernel's parameters, and record the memory that
    // they use. The callers consume them, so no other launch has the host memory that they borrow.
    unsafe { collector.launch(function, stream, config) }
}

/// Launches a kernel of the program itself in the current context.
///
/// This is [`Stream::launch`] on a stream that all calls of this function share, from all threads;
/// its launches run one after the other. To run kernels concurrently, create streams.
///
/// ```text
/// cust::launch((blocks, threads), vecadd::args(&a, &b, &mut c))?;
/// ```
///
/// If all arguments are in device memory, the launch is asynchronous; copies to the host wait for
/// it.
///
/// # Errors
///
/// Returns the errors of [`Stream::launch`], and [`Error::NoContext`] without a context.
pub fn launch<K: KernelType, A: Pass>(
    config: impl Into<LaunchConfig>,
    args: Args<K, A>,
) -> CudaResult<()> {
    own_stream()?.launch(config, args)
}

/// Returns the stream that [`launch`] uses in the current context. The stream is never destroyed,
/// like the program's own modules.
pub(crate) fn own_stream() -> CudaResult<&'static Stream> {
    thread_local! {
        /// The stream that this thread used last. It keeps its context alive, so no other context
        /// has the same address.
        static RECENT: Cell<Option<&'static Stream>> = const { Cell::new(None) };
    }
    if let Ok(Some(stream)) = RECENT.try_with(Cell::get)
        && stream.context().is_current()
    {
        return Ok(stream);
    }
    let stream = find_own_stream(&Context::current("launching a kernel of the program")?)?;
    // On a thread that is exiting, the access fails, and each launch looks the stream up again.
    let _ = RECENT.try_with(|recent| recent.set(Some(stream)));
    Ok(stream)
}

#[cold]
fn find_own_stream(context: &Context) -> CudaResult<&'static Stream> {
    static STREAMS: Mutex<Vec<&'static Stream>> = Mutex::new(Vec::new());
    // Before the lock: inside a host callback, `bind` releases the stream that the callback blocks.
    context.bind()?;
    let mut streams = STREAMS.lock().unwrap_or_else(|e| e.into_inner());
    let found = streams.iter().find(|s| s.context().is_same(context));
    if let Some(stream) = found {
        return Ok(stream);
    }
    let stream = context.with_current(|| Stream::new(StreamFlags::NON_BLOCKING, None))?;
    let stream = Box::leak(Box::new(stream));
    streams.push(stream);
    Ok(stream)
}

impl Stream {
    /// Launches a kernel of the program itself, whose device code `cargo cuda` embedded.
    ///
    /// The first launch in a context loads the module, which stays loaded. The context stays alive
    /// until the process exits or [`Context::reset`](crate::context::Context::reset) is called.
    ///
    /// ```text
    /// stream.launch((blocks, threads), vecadd::args(&a, &b, &mut c))?;
    /// ```
    ///
    /// If all arguments are in device memory, the launch is asynchronous. Otherwise it behaves as
    /// described for [`Kernel::launch`].
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoDeviceCode`] if the program was not built with `cargo cuda`,
    /// [`Error::NotEmbedded`] if the kernel's crate was not, the errors of loading a module, and
    /// those of [`Kernel::launch`].
    pub fn launch<K: KernelType, A: Pass>(
        &self,
        config: impl Into<LaunchConfig>,
        args: Args<K, A>,
    ) -> CudaResult<()> {
        let function = crate::module::own_kernel::<K>(self.context())?;
        launch_function(function, self, &config.into(), &args)
    }
}

impl Module {
    /// Returns the kernel with the name and signature of the kernel type `K`.
    ///
    /// The module must be an embedded module that was built from `K`'s crate; see
    /// [`include_module!`](crate::include_module).
    ///
    /// # Errors
    ///
    /// Returns [`Error::ForeignModule`] if the module was not built from `K`'s crate,
    /// [`Error::KernelNotFound`] if it does not contain the kernel, and [`Error::Signature`] if the
    /// kernel's parameters in the module differ from those of `K`. Signatures differ if host and
    /// device code were built with different features or different versions of a dependency, or by
    /// different compilers that choose different layouts for a parameter's type.
    pub fn kernel<K: KernelType>(&self) -> CudaResult<Kernel<'_, K>> {
        if self.is_own() {
            return Ok(Kernel {
                function: self.own_function::<K>()?,
                kernel: PhantomData,
            });
        }
        if !self.has_package(K::PACKAGE) {
            return Err(Error::ForeignModule {
                kernel: K::shown(),
                package: K::PACKAGE,
            });
        }
        if K::SIGNATURE.is_empty() {
            // Only the program's own module has instances of generic kernels.
            return Err(Error::NotEmbedded {
                kernel: K::shown(),
                package: K::PACKAGE,
            });
        }
        // SAFETY: the embedded module was built from `K`'s package, and the signatures, which
        // describe all parameters on both sides, are compared below.
        let kernel = unsafe { self.kernel_unchecked::<K>()? };
        kernel.function.kernel.check_signature(K::SIGNATURE)?;
        Ok(kernel)
    }

    /// Returns the kernel with the name of the kernel type `K`, without comparing signatures.
    ///
    /// This is [`Module::kernel`] for modules that are not embedded.
    ///
    /// # Errors
    ///
    /// Returns [`Error::KernelNotFound`] if the module does not contain the kernel.
    ///
    /// # Safety
    ///
    /// The module must have been built from the same version of `K`'s crate, with the same features
    /// and, unless Rust guarantees the layout of all parameter types, with the same compiler.
    pub unsafe fn kernel_unchecked<K: KernelType>(&self) -> CudaResult<Kernel<'_, K>> {
        Ok(Kernel {
            function: self.get_function(K::NAME)?,
            kernel: PhantomData,
        })
    }

    /// Launches a kernel: shorthand for [`Module::kernel`] followed by [`Kernel::launch`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Module::kernel`] and [`Kernel::launch`].
    pub fn launch<K: KernelType, A: Pass>(
        &self,
        stream: &Stream,
        config: impl Into<LaunchConfig>,
        args: Args<K, A>,
    ) -> CudaResult<()> {
        self.kernel::<K>()?.launch(stream, config, args)
    }
}
