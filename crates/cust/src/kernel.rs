//! Safe launches: kernels of a crate that the program depends on, with arguments that are checked
//! at compile time.
//!
//! ```text
//! use kernels::vecadd;                        // a crate with `#[kernel] pub fn vecadd(…)`
//!
//! static KERNELS: Embedded = cust::include_module!("kernels");
//!
//! let module = KERNELS.load()?;
//! module.launch(&stream, (blocks, threads), vecadd::args(&a, &b, &mut c))?;
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

use std::any::Any;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::Mutex;

use cust_core::kernel::{
    Access, Argument, ByValue, HostMemory, Launch, Output, OutputOf, OutputRows, OutputValue,
    OutputVolume, Pass, Reference, bytes_of,
};
use cust_raw::{
    CUaccessPolicyWindow, CUaccessProperty, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchConfig,
    CUresult,
};
use smallvec::SmallVec;

use crate::context::Context;
use crate::dimensions::{BlockSize, GridSize};
use crate::error::{CudaResult, Error, ImageMismatch, LaunchSize, SharedMemory};
use crate::function::Function;
use crate::host_memory::{self, HostArgument};
use crate::memory::{
    DeviceBox, DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice, DeviceSliceMut, LockedBuffer,
    RangeOnDevice, UnifiedBox, UnifiedBuffer,
};
use crate::module::Module;
use crate::stream::{Stream, StreamFlags};
use crate::texture::Mismatch;
use crate::tracker::{self, Captured, Dependency, Tracker};

pub use cust_core::kernel::{Args, Kernel as KernelType};

/// The configuration of a launch: grid and block dimensions, dynamic shared memory, and launch
/// attributes.
///
/// A tuple of grid and block dimensions converts to a `LaunchConfig`, as does a tuple of grid and
/// block dimensions and the number of bytes of dynamic shared memory.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
///
/// let config = LaunchConfig::new((4, 4), 256).shared_mem_bytes(1024);
/// assert_eq!(config, ((4, 4), 256, 1024).into());
/// assert_eq!(LaunchConfig::for_elements(1000, 256).grid, GridSize::x(4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchConfig {
    /// The number of blocks of the grid.
    pub grid: GridSize,
    /// The number of threads per block.
    pub block: BlockSize,
    /// Bytes of dynamic shared memory per block.
    pub shared_mem_bytes: u32,
    /// The number of blocks per cluster. The blocks of a cluster can access each other's shared
    /// memory.
    pub cluster: Option<GridSize>,
    /// Whether the launch is cooperative: all blocks are resident at the same time and may
    /// synchronize with each other.
    pub cooperative: bool,
    /// The priority of the launch; `None` for the stream's priority.
    pub priority: Option<i32>,
    /// The rarely used attributes.
    rare: Rare,
}

/// Rarely used launch attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Rare {
    any: bool,
    programmatic: bool,
    preferred_cluster: Option<GridSize>,
    cluster_policy: Option<ClusterPolicy>,
    carveout: Option<u32>,
    sync_domain: Option<SyncDomain>,
    nvlink: Option<bool>,
    window: Option<AccessWindow>,
}

/// The cluster scheduling policy of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClusterPolicy {
    /// Spreads the blocks of a cluster over the multiprocessors.
    Spread,
    /// Lets the hardware balance the load.
    LoadBalancing,
}

/// The memory synchronization domain of a launch. A fence orders only the writes of kernels in the
/// same domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncDomain {
    /// The default domain.
    Default,
    /// The domain for kernels that write to other devices, so that fences of kernels in the default
    /// domain do not wait for these writes.
    Remote,
}

/// How the L2 cache treats the lines of an [`AccessWindow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheProperty {
    /// No preference.
    Normal,
    /// The lines are evicted first.
    Streaming,
    /// The lines stay in the part of the L2 cache that is set aside for persisting accesses.
    Persisting,
}

/// An access policy window: advice to the L2 cache about a range of memory that a kernel accesses
/// repeatedly, or only once. It affects performance, never results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccessWindow {
    /// The first address.
    pub address: u64,
    /// The number of bytes.
    pub bytes: usize,
    /// The percentage of lines that get the property `hit`; the others get `miss`.
    pub hit_percent: u8,
    /// The property of `hit_percent` percent of the lines, usually [`CacheProperty::Persisting`].
    pub hit: CacheProperty,
    /// The property of the other lines: not [`CacheProperty::Persisting`].
    pub miss: CacheProperty,
}

impl LaunchConfig {
    /// Creates the configuration of a launch with the given grid and block dimensions.
    pub fn new(grid: impl Into<GridSize>, block: impl Into<BlockSize>) -> LaunchConfig {
        LaunchConfig {
            grid: grid.into(),
            block: block.into(),
            shared_mem_bytes: 0,
            cluster: None,
            cooperative: false,
            priority: None,
            rare: Rare::default(),
        }
    }

    /// Creates a one-dimensional configuration with at least one thread per element: the number of
    /// blocks is `elements / block`, rounded up and clamped to 1 ..= 2³¹ − 1.
    pub fn for_elements(elements: usize, block: u32) -> LaunchConfig {
        const MOST: usize = i32::MAX as usize;
        let blocks = elements.div_ceil(block.max(1) as usize).clamp(1, MOST);
        LaunchConfig::new(blocks as u32, block)
    }

    /// Sets the number of bytes of dynamic shared memory per block.
    #[must_use]
    pub fn shared_mem_bytes(mut self, bytes: u32) -> LaunchConfig {
        self.shared_mem_bytes = bytes;
        self
    }

    /// Sets the number of blocks per cluster.
    #[must_use]
    pub fn cluster(mut self, blocks: impl Into<GridSize>) -> LaunchConfig {
        self.cluster = Some(blocks.into());
        self
    }

    /// Makes the launch cooperative: all blocks are resident at the same time and may synchronize
    /// with each other.
    #[must_use]
    pub fn cooperative(mut self) -> LaunchConfig {
        self.cooperative = true;
        self
    }

    /// Enables programmatic dependent launch: the kernel may start before the preceding kernel in
    /// the stream has completed, as soon as every block of the preceding kernel has called
    /// `griddepcontrol_launch_dependents` or exited. Requires compute capability 9.0.
    ///
    /// # Safety
    ///
    /// The kernel must call `griddepcontrol_wait` before it accesses memory that earlier work in
    /// the stream accesses, and before it exits.
    #[must_use]
    pub unsafe fn programmatic(mut self) -> LaunchConfig {
        self.rare.any = true;
        self.rare.programmatic = true;
        self
    }

    /// Sets the preferred number of blocks per cluster, a multiple of the number set by
    /// [`cluster`], which is used where the preferred number does not fit. Requires compute
    /// capability 10.0.
    ///
    /// [`cluster`]: LaunchConfig::cluster
    #[must_use]
    pub fn preferred_cluster(mut self, blocks: impl Into<GridSize>) -> LaunchConfig {
        self.rare.any = true;
        self.rare.preferred_cluster = Some(blocks.into());
        self
    }

    /// Sets the cluster scheduling policy.
    #[must_use]
    pub fn cluster_policy(mut self, policy: ClusterPolicy) -> LaunchConfig {
        self.rare.any = true;
        self.rare.cluster_policy = Some(policy);
        self
    }

    /// Sets the preferred share of the unified L1 cache and shared memory that is used as shared
    /// memory, in percent.
    #[must_use]
    pub fn shared_memory_carveout(mut self, percent: u8) -> LaunchConfig {
        self.rare.any = true;
        self.rare.carveout = Some(percent.min(100).into());
        self
    }

    /// Sets the memory synchronization domain.
    #[must_use]
    pub fn sync_domain(mut self, domain: SyncDomain) -> LaunchConfig {
        self.rare.any = true;
        self.rare.sync_domain = Some(domain);
        self
    }

    /// Sets whether the launch is scheduled to maximize NVLink utilization.
    #[must_use]
    pub fn nvlink_centric(mut self, centric: bool) -> LaunchConfig {
        self.rare.any = true;
        self.rare.nvlink = Some(centric);
        self
    }

    /// Sets the access policy window, which advises the L2 cache.
    #[must_use]
    pub fn access_window(mut self, window: AccessWindow) -> LaunchConfig {
        self.rare.any = true;
        self.rare.window = Some(window);
        self
    }

    /// Returns whether the launch has attributes, which `cuLaunchKernel` cannot take.
    #[inline]
    pub(crate) fn has_attributes(&self) -> bool {
        self.cluster.is_some() || self.cooperative || self.priority.is_some() || self.rare.any
    }

    /// Returns whether programmatic dependent launch is enabled.
    pub(crate) fn is_programmatic(&self) -> bool {
        self.rare.programmatic
    }

    /// Sets the priority of the launch, which overrides the stream's priority.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> LaunchConfig {
        self.priority = Some(priority);
        self
    }
}

impl<G: Into<GridSize>, B: Into<BlockSize>> From<(G, B)> for LaunchConfig {
    fn from((grid, block): (G, B)) -> LaunchConfig {
        LaunchConfig::new(grid, block)
    }
}

impl<G: Into<GridSize>, B: Into<BlockSize>> From<(G, B, u32)> for LaunchConfig {
    fn from((grid, block, bytes): (G, B, u32)) -> LaunchConfig {
        LaunchConfig::new(grid, block).shared_mem_bytes(bytes)
    }
}

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
        launch_function(&self.function, stream, &config.into(), args)
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

/// Launches the kernel `K`, whose function in the module is `function`.
fn launch_function<K: KernelType, A: Pass>(
    function: &Function<'_>,
    stream: &Stream,
    config: &LaunchConfig,
    args: Args<K, A>,
) -> CudaResult<()> {
    check_block_size::<K>(config)?;
    let mut collector = Collector::default();
    args.pass(&mut collector);
    // SAFETY: the arguments have the types of the kernel's parameters, and record the memory that
    // they use. They are consumed, so no other launch has the host memory that they borrow.
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
    let context = Context::current("launching a kernel of the program")?;
    own_stream(&context)?.launch(config, args)
}

/// Returns the stream that [`launch`] uses in a context. The stream is never destroyed, like the
/// program's own modules.
fn own_stream(context: &Context) -> CudaResult<&'static Stream> {
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
        launch_function(function, self, &config.into(), args)
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
                kernel: K::NAME,
                package: K::PACKAGE,
            });
        }
        if K::SIGNATURE.is_empty() {
            // Only the program's own module has instances of generic kernels.
            return Err(Error::NotEmbedded {
                kernel: K::NAME,
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

/// One parameter of the kernel's entry: its bytes, and its type's name for errors.
#[derive(Clone, Copy)]
struct Parameter<'a> {
    bytes: &'a [MaybeUninit<u8>],
    type_name: fn() -> &'static str,
}

/// Collects the parameters and dependencies of a launch.
#[derive(Default)]
pub(crate) struct Collector<'a> {
    parameters: SmallVec<[Parameter<'a>; 16]>,
    dependencies: SmallVec<[Dependency<'a>; 8]>,
    /// Arguments in host memory.
    host: SmallVec<[HostArgument<'a>; 4]>,
    /// Buffers that belong to graphs.
    in_graphs: SmallVec<[(&'a InGraph, Access); 2]>,
    /// A texture or surface that does not match its parameter.
    mismatch: Option<&'a Mismatch>,
    /// Whether there are textures or surfaces. They are tracked as whole resources.
    images: bool,
}

/// A buffer that belongs to a graph: the graph's ID, and the buffer's index in the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InGraph {
    pub(crate) graph: u64,
    pub(crate) buffer: usize,
}

impl<'a> Launch<'a> for Collector<'a> {
    #[inline]
    fn parameter(&mut self, bytes: &'a [MaybeUninit<u8>], type_name: fn() -> &'static str) {
        if !bytes.is_empty() {
            self.parameters.push(Parameter { bytes, type_name });
        }
    }

    #[inline]
    fn resource(&mut self, resource: &'a dyn Any, access: Access, address: u64, bytes: usize) {
        // Only types of this crate call this function, with resources of these types.
        if let Some(tracker) = resource.downcast_ref::<Tracker>() {
            let dependency = Dependency::new(tracker, access, address, bytes);
            self.dependencies.push(dependency);
            self.images |= bytes == usize::MAX;
        } else if let Some(resource) = resource.downcast_ref::<InGraph>() {
            self.in_graphs.push((resource, access));
        } else if let Some(mismatch) = resource.downcast_ref::<Mismatch>() {
            self.mismatch = Some(mismatch);
        }
    }

    fn host(&mut self, memory: HostMemory<'a>) {
        // A placeholder for the address, which is known once the device memory is allocated.
        static LATER: [MaybeUninit<u8>; 40] = [MaybeUninit::new(0); 40];
        let type_name = memory.type_name();
        let index = self.parameters.len();
        match memory.is_wide() {
            true => {
                self.parameter(&LATER[..8], type_name);
                self.parameter(&LATER[..8], type_name);
            }
            false => self.parameter(&LATER[..8 * (1 + memory.sizes().len())], type_name),
        }
        self.host.push(HostArgument { memory, index });
    }
}

impl<'a> Collector<'a> {
    /// Returns pointers to the parameters, after comparing their number and sizes with the
    /// module's.
    pub(crate) fn pointers(
        &self,
        function: &Function<'_>,
    ) -> CudaResult<SmallVec<[*mut c_void; 16]>> {
        if let Some(sizes) = function.parameter_sizes() {
            if sizes.len() != self.parameters.len() {
                return Err(Error::ArgumentCount {
                    kernel: function.name().to_owned(),
                    expected: sizes.len(),
                    found: self.parameters.len(),
                });
            }
            let parameters = self.parameters.iter().zip(sizes).enumerate();
            for (index, (parameter, &size)) in parameters {
                if parameter.bytes.len() != size {
                    return Err(Error::ArgumentSize {
                        kernel: function.name().to_owned(),
                        index,
                        type_name: (parameter.type_name)(),
                        expected: size,
                        found: parameter.bytes.len(),
                    });
                }
            }
        }
        if let Some(mismatch) = self.mismatch {
            return Err(Error::Image(Box::new(ImageMismatch {
                kernel: function.name().to_owned(),
                parameter: (mismatch.type_name)(),
                expected: mismatch.wanted.to_string(),
                found: mismatch.there.to_string(),
            })));
        }
        if self.images {
            self.refuse_aliased_images(function)?;
        }
        let pointer = |parameter: &Parameter<'_>| parameter.bytes.as_ptr().cast_mut().cast();
        Ok(self.parameters.iter().map(pointer).collect())
    }

    /// Returns an error if one array is used as a texture and as a surface: texture caches are not
    /// coherent with surface writes of the same launch.
    #[cold]
    fn refuse_aliased_images(&self, function: &Function<'_>) -> CudaResult<()> {
        for (index, one) in self.dependencies.iter().enumerate() {
            let conflicts = |other: &Dependency<'_>| {
                std::ptr::eq(one.tracker, other.tracker) && one.access != other.access
            };
            if self.dependencies[..index].iter().any(conflicts) {
                return Err(Error::AliasedImage {
                    kernel: function.name().to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Returns whether an argument is in host memory. Such arguments are borrowed for one launch
    /// only.
    pub(crate) fn has_host_memory(&self) -> bool {
        !self.host.is_empty()
    }

    pub(crate) fn dependencies(&self) -> &[Dependency<'a>] {
        &self.dependencies
    }

    /// Returns the trackers of textures and surfaces.
    pub(crate) fn images(&self) -> impl Iterator<Item = (&'a Tracker, Access)> {
        let images = self.dependencies.iter().filter(|image| image.is_whole());
        images.map(|image| (image.tracker, image.access))
    }

    /// Returns the graphs' buffers that the kernel uses.
    pub(crate) fn in_graphs(&self) -> &[(&'a InGraph, Access)] {
        &self.in_graphs
    }

    /// Checks the launch, then enqueues it.
    ///
    /// # Safety
    ///
    /// The parameters must have the types of the kernel's parameters, the kernel must be sound for
    /// these arguments, and it must access only the memory in `dependencies`. No other launch may
    /// have the host memory.
    unsafe fn launch(
        &self,
        function: &Function<'_>,
        stream: &Stream,
        config: &LaunchConfig,
    ) -> CudaResult<()> {
        let doing = || doing(function, config);
        stream.context().require_same(function.context(), doing)?;
        if !self.in_graphs.is_empty() {
            return Err(Error::BufferOfGraph { doing: doing() });
        }
        check_size(function, config)?;
        let mut pointers = self.pointers(function)?;
        if self.host.is_empty() {
            // SAFETY: as the caller promises.
            return unsafe { self.enqueue(function, stream, config, &mut pointers) };
        }
        // SAFETY: `self.host` describes the arguments that `pointers` refers to.
        unsafe {
            host_memory::launch(stream, &self.host, &mut pointers, doing, |pointers| {
                self.enqueue(function, stream, config, pointers)
            })
        }
    }

    /// Enqueues the launch with the given pointers to its parameters.
    ///
    /// # Safety
    ///
    /// As for `launch`.
    #[inline]
    unsafe fn enqueue(
        &self,
        function: &Function<'_>,
        stream: &Stream,
        config: &LaunchConfig,
        pointers: &mut [*mut c_void],
    ) -> CudaResult<()> {
        let doing = || doing(function, config);
        let captured = Captured::Refused;
        let inner = stream.inner();
        crate::launch::note_launch(function, stream)?;
        // SAFETY: as the caller promises.
        unsafe {
            tracker::enqueue_launch(inner, &self.dependencies, captured, doing, |api, raw| {
                call(api.driver, function, config, raw, pointers)
            })?;
        }
        crate::launch::note_launched(function, inner, inner.issued());
        Ok(())
    }
}

pub(crate) fn doing(function: &Function<'_>, config: &LaunchConfig) -> String {
    let LaunchConfig { grid, block, .. } = config;
    let bytes = config.shared_mem_bytes;
    format!(
        "launching the kernel `{}` with grid {grid}, block {block} and {bytes} bytes of dynamic \
         shared memory",
        function.name()
    )
}

/// Calls the driver's launch function.
///
/// # Safety
///
/// As for `cuLaunchKernel`.
unsafe fn call(
    driver: &cust_raw::Driver,
    function: &Function<'_>,
    config: &LaunchConfig,
    stream: cust_raw::CUstream,
    pointers: &mut [*mut c_void],
) -> CUresult {
    let (grid, block) = (config.grid, config.block);
    if !config.has_attributes() {
        // SAFETY: as the caller promises.
        return unsafe {
            driver.cuLaunchKernel(
                function.to_raw(),
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                config.shared_mem_bytes,
                stream,
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
    }
    let mut attributes = attributes(config);
    // SAFETY: all-zero bytes are valid for these integers and pointers.
    let mut raw: CUlaunchConfig = unsafe { std::mem::zeroed() };
    (raw.gridDimX, raw.gridDimY, raw.gridDimZ) = (grid.x, grid.y, grid.z);
    (raw.blockDimX, raw.blockDimY, raw.blockDimZ) = (block.x, block.y, block.z);
    raw.sharedMemBytes = config.shared_mem_bytes;
    raw.hStream = stream;
    raw.attrs = attributes.as_mut_ptr();
    raw.numAttrs = attributes.len() as u32;
    // SAFETY: as the caller promises; the attributes live through the call.
    unsafe {
        driver.cuLaunchKernelEx(
            &raw,
            function.to_raw(),
            pointers.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    }
}

pub(crate) fn attributes(config: &LaunchConfig) -> SmallVec<[CUlaunchAttribute; 4]> {
    let mut attributes = SmallVec::new();
    let attribute = |id| {
        // SAFETY: all-zero bytes are valid for every kind of attribute.
        let mut attribute: CUlaunchAttribute = unsafe { std::mem::zeroed() };
        attribute.id = id;
        attribute
    };
    if let Some(cluster) = config.cluster {
        let mut a = attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
        // Writing a single field of a union is safe.
        a.value.clusterDim.x = cluster.x;
        a.value.clusterDim.y = cluster.y;
        a.value.clusterDim.z = cluster.z;
        attributes.push(a);
    }
    if config.cooperative {
        let mut a = attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
        a.value.cooperative = 1;
        attributes.push(a);
    }
    if let Some(priority) = config.priority {
        let mut a = attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY);
        a.value.priority = priority;
        attributes.push(a);
    }
    if config.rare.any {
        rare_attributes(&config.rare, attribute, &mut attributes);
    }
    attributes
}

#[cold]
fn rare_attributes(
    rare: &Rare,
    attribute: impl Fn(CUlaunchAttributeID) -> CUlaunchAttribute,
    attributes: &mut SmallVec<[CUlaunchAttribute; 4]>,
) {
    use CUlaunchAttributeID as Id;
    if rare.programmatic {
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
        a.value.programmaticStreamSerializationAllowed = 1;
        attributes.push(a);
    }
    if let Some(cluster) = rare.preferred_cluster {
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
        a.value.preferredClusterDim.x = cluster.x;
        a.value.preferredClusterDim.y = cluster.y;
        a.value.preferredClusterDim.z = cluster.z;
        attributes.push(a);
    }
    if let Some(policy) = rare.cluster_policy {
        use cust_raw::CUclusterSchedulingPolicy as Raw;
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
        a.value.clusterSchedulingPolicyPreference = match policy {
            ClusterPolicy::Spread => Raw::CU_CLUSTER_SCHEDULING_POLICY_SPREAD,
            ClusterPolicy::LoadBalancing => Raw::CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING,
        };
        attributes.push(a);
    }
    if let Some(percent) = rare.carveout {
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
        a.value.sharedMemCarveout = percent;
        attributes.push(a);
    }
    if let Some(domain) = rare.sync_domain {
        use cust_raw::CUlaunchMemSyncDomain as Raw;
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
        a.value.memSyncDomain = match domain {
            SyncDomain::Default => Raw::CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT,
            SyncDomain::Remote => Raw::CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE,
        };
        attributes.push(a);
    }
    if let Some(centric) = rare.nvlink {
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING);
        a.value.nvlinkUtilCentricScheduling = centric.into();
        attributes.push(a);
    }
    if let Some(window) = rare.window {
        let mut a = attribute(Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
        a.value.accessPolicyWindow = window.raw();
        attributes.push(a);
    }
}

impl AccessWindow {
    fn raw(&self) -> CUaccessPolicyWindow {
        let property = |property| match property {
            CacheProperty::Normal => CUaccessProperty::CU_ACCESS_PROPERTY_NORMAL,
            CacheProperty::Streaming => CUaccessProperty::CU_ACCESS_PROPERTY_STREAMING,
            CacheProperty::Persisting => CUaccessProperty::CU_ACCESS_PROPERTY_PERSISTING,
        };
        CUaccessPolicyWindow {
            base_ptr: std::ptr::with_exposed_provenance_mut(self.address as usize),
            num_bytes: self.bytes,
            hitRatio: f32::from(self.hit_percent.min(100)) / 100.0,
            hitProp: property(self.hit),
            missProp: property(self.miss),
        }
    }
}

impl Stream {
    /// Sets the access policy window of all later launches in the stream.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the window is larger than the device supports.
    pub fn set_access_window(&self, window: AccessWindow) -> CudaResult<()> {
        let api = self.context().bind()?;
        // SAFETY: all-zero bytes are valid for every kind of attribute.
        let mut value: cust_raw::CUlaunchAttributeValue = unsafe { std::mem::zeroed() };
        value.accessPolicyWindow = window.raw();
        let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
        // SAFETY: the stream is alive, and the value has the attribute's kind.
        let result = unsafe { api.driver.cuStreamSetAttribute(self.as_inner(), id, &value) };
        api.check(result, || {
            format!("setting a stream's access policy window to {window:?}")
        })
    }
}

/// Compares the block dimensions with those that the kernel declares with `block_size`, if any.
#[inline]
pub(crate) fn check_block_size<K: KernelType>(config: &LaunchConfig) -> CudaResult<()> {
    let block = [config.block.x, config.block.y, config.block.z];
    match K::BLOCK_SIZE {
        Some(size) if size != block => Err(wrong_block_size(K::NAME, config, size)),
        _ => Ok(()),
    }
}

#[cold]
fn wrong_block_size(kernel: &str, config: &LaunchConfig, [x, y, z]: [u32; 3]) -> Error {
    Error::LaunchSize(Box::new(LaunchSize {
        kernel: kernel.to_owned(),
        grid: config.grid,
        block: config.block,
        reason: format!("its `block_size` requires blocks of {x} × {y} × {z} threads"),
    }))
}

/// Checks the launch configuration against the limits of the kernel and the device; the error names
/// the value that exceeds its limit.
///
/// If necessary, raises the function's limit of dynamic shared memory, up to the device's opt-in
/// maximum.
pub(crate) fn check_size(function: &Function<'_>, config: &LaunchConfig) -> CudaResult<()> {
    let limits = function.limits()?;
    let (grid, block) = (config.grid, config.block);
    // Fast path: a one-dimensional launch that passes all of the checks below.
    let wide = |n: u32| n.wrapping_sub(1) < (i32::MAX as u32).min(limits.device.grid[0]);
    if [grid.y, grid.z, block.y, block.z] == [1; 4]
        && wide(grid.x)
        && block.x.wrapping_sub(1) < limits.threads.min(limits.device.block[0])
        && config.shared_mem_bytes == 0
        && config.cluster.is_none()
    {
        return Ok(());
    }
    let refuse = |reason: String| {
        Err(Error::LaunchSize(Box::new(LaunchSize {
            kernel: function.name().to_owned(),
            grid: config.grid,
            block: config.block,
            reason,
        })))
    };
    let grid = [config.grid.x, config.grid.y, config.grid.z];
    let block = [config.block.x, config.block.y, config.block.z];
    let device = &limits.device;
    let dimensions = [
        ("grid", "blocks", grid, device.grid),
        ("block", "threads", block, device.block),
    ];
    for (what, of, sizes, most) in dimensions {
        for ((axis, size), most) in ["x", "y", "z"].iter().zip(sizes).zip(most) {
            if size == 0 {
                return refuse(format!("the {what} has no {of} along {axis}"));
            }
            if size > most {
                return refuse(format!(
                    "the {what} has {size} {of} along {axis}, and the device allows {most}"
                ));
            }
        }
    }
    let threads: u64 = block.iter().map(|&size| u64::from(size)).product();
    if threads > u64::from(limits.threads) {
        return refuse(format!(
            "a block has {threads} threads, and the kernel allows {}",
            limits.threads
        ));
    }
    // Thread indices are 64-bit.
    let all = grid.iter().map(|&size| u128::from(size)).product::<u128>() * u128::from(threads);
    if all > u128::from(u64::MAX >> 1) {
        return refuse(format!(
            "the grid has {all} threads, and at most 2^63 - 1 are supported"
        ));
    }
    if let Some(cluster) = config.cluster {
        let cluster = [cluster.x, cluster.y, cluster.z];
        let fits = |(blocks, size): (u32, u32)| size != 0 && blocks % size == 0;
        if !grid.into_iter().zip(cluster).all(fits) {
            return refuse(format!(
                "the grid cannot be divided into clusters of {} × {} × {} blocks",
                cluster[0], cluster[1], cluster[2]
            ));
        }
    }
    match function.allow_shared(config.shared_mem_bytes)? {
        None => Ok(()),
        Some(most) => Err(Error::SharedMemory(Box::new(SharedMemory {
            doing: doing(function, config),
            kernel: function.name().to_owned(),
            own: limits.own_shared.into(),
            dynamic: config.shared_mem_bytes.into(),
            most: u64::from(limits.own_shared) + u64::from(most),
        }))),
    }
}

/// A range of device memory, as passed to a kernel's parameters.
pub struct Range<'a> {
    /// Address, number of elements, width, height and depth.
    words: [u64; 5],
    shape: Shape,
    access: Access,
    tracker: &'a Tracker,
    bytes: usize,
    type_name: fn() -> &'static str,
}

/// The words that a [`Range`] passes, and the number of parameters that it passes them in.
enum Shape {
    /// One parameter: the address.
    Thin,
    /// Two parameters: the address and the number of elements.
    Wide,
    /// One parameter: the address and the number of elements.
    Struct,
    /// One parameter: the address, the number of elements, width and height.
    Rows,
    /// One parameter: the address, the number of elements, width, height and depth.
    Volume,
}

impl<'a> Range<'a> {
    fn new<T>(range: RangeOnDevice<'a, T>, shape: Shape, access: Access) -> Range<'a> {
        // Rust references are never null, even if they refer to zero bytes.
        let address = match range.address {
            0 => align_of::<T>() as u64,
            address => address,
        };
        Range {
            words: [address, range.len as u64, 0, 0, 0],
            shape,
            access,
            tracker: range.tracker,
            bytes: range.len * size_of::<T>(),
            type_name: std::any::type_name::<[T]>,
        }
    }
}

fn slice_bytes(words: &[u64]) -> &[MaybeUninit<u8>] {
    // SAFETY: any byte is a valid `MaybeUninit<u8>`, and the result borrows the words.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

// SAFETY: address and length describe memory that the tracker tracks.
unsafe impl Pass for Range<'_> {
    #[inline]
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        let words = match self.shape {
            Shape::Thin | Shape::Wide => 1,
            Shape::Struct => 2,
            Shape::Rows => 4,
            Shape::Volume => 5,
        };
        launch.parameter(slice_bytes(&self.words[..words]), self.type_name);
        if let Shape::Wide = self.shape {
            launch.parameter(bytes_of(&self.words[1]), self.type_name);
        }
        launch.resource(self.tracker, self.access, self.words[0], self.bytes);
    }
}

/// Implements `Argument` for types that are passed by reference: for parameters of type `&[T]` and
/// `&T`, and for the output types.
macro_rules! arguments {
    ($([$($lifetimes:tt)*] $ty:ty => $range:ident, $kind:ident;)*) => {
        $(arguments!(@$kind [$($lifetimes)*] $ty, $range);)*
    };
    (@read [$($lifetimes:tt)*] $ty:ty, $range:ident) => {
        arguments!(@shared [$($lifetimes)*] $ty, $range, &'p [T], Wide);
        arguments!(@shared [$($lifetimes)*] $ty, $range, Reference<'p, [T]>, Wide, diagnostic::do_not_recommend);
    };
    (@read_value [$($lifetimes:tt)*] $ty:ty, $range:ident) => {
        arguments!(@shared [$($lifetimes)*] $ty, $range, &'p T, Thin, diagnostic::do_not_recommend);
        arguments!(@shared [$($lifetimes)*] $ty, $range, Reference<'p, T>, Thin);
    };
    (@shared [$($lifetimes:tt)*] $ty:ty, $range:ident, $parameter:ty, $shape:ident $(, $hint:meta)?) => {
        // SAFETY: the referent is alive, and nothing writes to it before the work is done.
        $(#[$hint])?
        unsafe impl<'a, $($lifetimes)* 'p, T: DeviceCopy> Argument<$parameter> for $ty {
            type Passed = Range<'a>;

            #[inline]
            fn into_passed(self) -> Range<'a> {
                Range::new(self.$range(), Shape::$shape, Access::Read)
            }
        }
    };
    (@write [$($lifetimes:tt)*] $ty:ty, $range:ident) => {
        // SAFETY: nothing else uses the elements before the work is done.
        unsafe impl<'a, $($lifetimes)* T: DeviceCopy, P: Output<Element = T>> Argument<P>
            for $ty
        {
            type Passed = Range<'a>;

            #[inline]
            fn into_passed(self) -> Range<'a> {
                let shape = if P::WIDE { Shape::Wide } else { Shape::Struct };
                Range::new(self.$range(), shape, Access::Write)
            }
        }
    };
    (@write_value [$($lifetimes:tt)*] $ty:ty, $range:ident) => {
        // SAFETY: nothing else uses the value before the work is done.
        unsafe impl<'a, $($lifetimes)* T: DeviceCopy, P: OutputValue<Element = T>> Argument<P>
            for $ty
        {
            type Passed = Range<'a>;

            #[inline]
            fn into_passed(self) -> Range<'a> {
                Range::new(self.$range(), Shape::Thin, Access::Write)
            }
        }
    };
}

arguments! {
    [] &'a DeviceBuffer<T> => range, read;
    [] DeviceSlice<'a, T> => range, read;
    ['s,] &'a DeviceSlice<'s, T> => range, read;
    ['s,] &'a DeviceSliceMut<'s, T> => range, read;
    [] &'a UnifiedBuffer<T> => range, read;
    [] &'a LockedBuffer<T> => range, read;
    [] &'a DeviceBox<T> => range, read_value;
    [] &'a UnifiedBox<T> => range, read_value;
    [] &'a mut DeviceBuffer<T> => range_mut, write;
    [] DeviceSliceMut<'a, T> => into_range, write;
    ['s,] &'a mut DeviceSliceMut<'s, T> => range_mut, write;
    [] &'a mut UnifiedBuffer<T> => range_mut, write;
    [] &'a mut LockedBuffer<T> => range_mut, write;
    [] &'a mut DeviceBox<T> => range_mut, write_value;
    [] &'a mut UnifiedBox<T> => range_mut, write_value;
}

/// The maximum number of columns that is passed to a kernel: larger than any device's memory, and
/// small enough that the index of an element one row and one column past the end is below 2⁶⁴.
const MOST_COLUMNS: u64 = 1 << 40;
/// The maximum number of rows that is passed to a kernel. Only zero-sized elements have more.
const MOST_ROWS: u64 = 1 << 62;

/// Elements in device memory viewed as the rows of a matrix, for a kernel parameter of type
/// `PerThread2d`, `PerTile`, `PerRow` or `PerColumn`. Returned by `rows_mut` of a buffer.
pub struct RowsMut<'a, T: DeviceCopy> {
    elements: DeviceSliceMut<'a, T>,
    width: usize,
}

impl<'a, T: DeviceCopy> RowsMut<'a, T> {
    pub(crate) fn new(elements: DeviceSliceMut<'a, T>, width: usize) -> RowsMut<'a, T> {
        RowsMut { elements, width }
    }
}

// SAFETY: nothing else uses the elements before the work is done.
unsafe impl<'a, T: DeviceCopy, P: OutputRows<Element = T>> Argument<P> for RowsMut<'a, T> {
    type Passed = Range<'a>;

    fn into_passed(self) -> Range<'a> {
        let mut range = Range::new(self.elements.into_range(), Shape::Rows, Access::Write);
        let sizes = row_sizes(range.words[1], self.width);
        range.words[2..4].copy_from_slice(&sizes);
        range
    }
}

/// Returns width and height of `length` elements in rows of `width`.
fn row_sizes(length: u64, width: usize) -> [u64; 2] {
    let width = (width as u64).min(MOST_COLUMNS);
    [width, length.div_ceil(width.max(1)).min(MOST_ROWS)]
}

/// Elements in device memory viewed as layers of rows, for a kernel parameter of type
/// `PerThread3d`. Returned by `volume_mut` of a buffer.
pub struct VolumeMut<'a, T: DeviceCopy> {
    elements: DeviceSliceMut<'a, T>,
    width: usize,
    height: usize,
}

impl<'a, T: DeviceCopy> VolumeMut<'a, T> {
    pub(crate) fn new(
        elements: DeviceSliceMut<'a, T>,
        width: usize,
        height: usize,
    ) -> VolumeMut<'a, T> {
        VolumeMut {
            elements,
            width,
            height,
        }
    }
}

// SAFETY: nothing else uses the elements before the work is done.
unsafe impl<'a, T: DeviceCopy, P: OutputVolume<Element = T>> Argument<P> for VolumeMut<'a, T> {
    type Passed = Range<'a>;

    fn into_passed(self) -> Range<'a> {
        let mut range = Range::new(self.elements.into_range(), Shape::Volume, Access::Write);
        let sizes = volume_sizes(range.words[1], self.width, self.height);
        range.words[2..].copy_from_slice(&sizes);
        range
    }
}

/// Returns width, height and depth of `length` elements in layers of `height` rows of `width`.
fn volume_sizes(length: u64, width: usize, height: usize) -> [u64; 3] {
    let width = (width as u64).min(MOST_COLUMNS);
    // If a layer is larger than any memory, clamp the height to the rows that exist: the indices of
    // other rows might wrap.
    let (height, layer) = match width.checked_mul(height as u64) {
        Some(layer) if layer <= MOST_COLUMNS => (height as u64, layer),
        _ => (length.div_ceil(width).min(MOST_ROWS), length),
    };
    [width, height, length.div_ceil(layer.max(1))]
}

/// Elements in host memory viewed as the rows of a matrix, for a kernel parameter of type
/// `PerThread2d`, `PerTile`, `PerRow` or `PerColumn`. Returned by
/// [`SliceExt::rows_mut`](crate::util::SliceExt::rows_mut).
#[derive(Debug)]
pub struct HostRowsMut<'a, T> {
    pub(crate) elements: &'a mut [T],
    pub(crate) width: usize,
}

/// Elements in host memory viewed as layers of rows, for a kernel parameter of type `PerThread3d`.
/// Returned by [`SliceExt::volume_mut`](crate::util::SliceExt::volume_mut).
#[derive(Debug)]
pub struct HostVolumeMut<'a, T> {
    pub(crate) elements: &'a mut [T],
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// Elements in host memory that a kernel writes, passed as address, length and `N` dimensions.
pub struct PassedSizes<'a, T, const N: usize> {
    pointer: *mut T,
    len: usize,
    sizes: [u64; N],
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: `PassedSizes` represents an exclusive reference to the elements.
unsafe impl<T: Send, const N: usize> Send for PassedSizes<'_, T, N> {}

// SAFETY: the launch writes the address of a copy and the dimensions into the parameter. `Args`
// passes its arguments to one launch only, so no other launch accesses the elements.
unsafe impl<T: DeviceCopy, const N: usize> Pass for PassedSizes<'_, T, N> {
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        // SAFETY: the elements are borrowed exclusively, and the dimensions fit their number.
        launch.host(unsafe {
            HostMemory::new(self.pointer, self.len, false, Access::Write).with_sizes(self.sizes)
        });
    }
}

// SAFETY: the elements are copied, and the copies live until the launch completes, which has
// exclusive use of them.
unsafe impl<'a: 'p, 'p, T: DeviceCopy, P: OutputRows<Element = T> + OutputOf<'p>> Argument<P>
    for HostRowsMut<'a, T>
{
    type Passed = PassedSizes<'a, T, 2>;

    fn into_passed(self) -> PassedSizes<'a, T, 2> {
        PassedSizes {
            pointer: self.elements.as_mut_ptr(),
            len: self.elements.len(),
            sizes: row_sizes(self.elements.len() as u64, self.width),
            borrow: PhantomData,
        }
    }
}

// SAFETY: as above.
unsafe impl<'a: 'p, 'p, T: DeviceCopy, P: OutputVolume<Element = T> + OutputOf<'p>> Argument<P>
    for HostVolumeMut<'a, T>
{
    type Passed = PassedSizes<'a, T, 3>;

    fn into_passed(self) -> PassedSizes<'a, T, 3> {
        PassedSizes {
            pointer: self.elements.as_mut_ptr(),
            len: self.elements.len(),
            sizes: volume_sizes(self.elements.len() as u64, self.width, self.height),
            borrow: PhantomData,
        }
    }
}

macro_rules! pointers {
    ($($pointer:ty)*) => {
        // SAFETY: `args` is unsafe for kernels that take raw pointers: the caller guarantees that
        // the kernel's accesses are valid.
        $(unsafe impl<T> Argument<$pointer> for DevicePointer<T> {
            type Passed = ByValue<u64>;

            #[inline]
            fn into_passed(self) -> ByValue<u64> {
                ByValue(self.as_raw())
            }
        })*
    };
}
pointers!(*const T *mut T);
