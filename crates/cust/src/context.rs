//! Contexts: a device in use by this process, with everything allocated on it.
//!
//! This crate uses each device's *primary* context, which it shares with libraries such as cuBLAS.
//! Objects (buffers, streams, modules …) keep their context alive, and make it current in the
//! driver for their own calls, on whatever thread. Functions that create objects
//! (`DeviceBuffer::zeroed`, `Stream::new`, `Module::from_ptx`) use the context that the calling
//! thread made current with [`CurrentContext::set_current`], or the process's default context,
//! which is the context created last.
//!
//! [`Context`] has an example.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock, Weak};

use cust_raw::{
    CUcontext, CUevent, CUevent_flags, CUfunc_cache, CUlimit, CUmemAllocationType,
    CUmemLocationType, CUmemPoolProps, CUmemoryPool, CUresult, CUstream, CUstream_flags,
};

use crate::backend::{Api, Backend, on_fault, set_default};
use crate::bound;
use crate::device::{Device, DeviceAttribute};
use crate::error::{CudaError, CudaResult, Error};
use crate::host_call::release_stream;
use crate::report::{self, Pending, Report, Reported};
use crate::stack::{self, Stack};
use crate::stream::StreamInner;
use crate::waiting::Waiting;

/// The reciprocal of the fraction of device memory that the pool keeps after it was freed.
const KEPT_FRACTION: usize = 16;

bitflags::bitflags! {
    /// How host threads wait for the device, and what the context keeps.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct ContextFlags: u32 {
        /// Spin if there are more cores than contexts, otherwise yield.
        const SCHED_AUTO = 0;
        /// Spin while waiting: lowest latency, at the cost of a busy core.
        const SCHED_SPIN = 1;
        /// Yield the core while waiting.
        const SCHED_YIELD = 2;
        /// Block on a synchronization primitive while waiting.
        const SCHED_BLOCKING_SYNC = 4;
        /// Map pinned memory into the device's address space. Always set on 64-bit systems.
        const MAP_HOST = 8;
        /// Do not shrink local memory after a launch.
        const LMEM_RESIZE_TO_MAX = 16;
    }
}

/// A resource limit of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResourceLimit {
    /// Bytes of stack per thread of a kernel with recursion or indirect calls. Launches raise the
    /// limit to their kernels' needs, unless the program has set it.
    StackSize,
    /// Bytes of the buffer for `print!` output, which the host fetches when it synchronizes.
    PrintfFifoSize,
    /// Bytes of the device heap, from which kernels allocate (`Vec`, `String`, `Box`).
    MallocHeapSize,
    /// The maximum nesting depth at which a kernel may synchronize with the kernels it launched.
    DeviceRuntimeSynchronizeDepth,
    /// The maximum number of pending launches from kernels.
    DeviceRuntimePendingLaunchCount,
    /// The maximum L2 cache fetch granularity in bytes.
    MaxL2FetchGranularity,
}

impl ResourceLimit {
    fn raw(self) -> CUlimit {
        match self {
            ResourceLimit::StackSize => CUlimit::CU_LIMIT_STACK_SIZE,
            ResourceLimit::PrintfFifoSize => CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE,
            ResourceLimit::MallocHeapSize => CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE,
            ResourceLimit::DeviceRuntimeSynchronizeDepth => {
                CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH
            }
            ResourceLimit::DeviceRuntimePendingLaunchCount => {
                CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT
            }
            ResourceLimit::MaxL2FetchGranularity => CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
        }
    }
}

/// The preferred partition of the storage that L1 cache and shared memory share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheConfig {
    /// No preference.
    None,
    /// Prefers larger shared memory.
    PreferShared,
    /// Prefers a larger L1 cache.
    PreferL1,
    /// Prefers L1 cache and shared memory of equal size.
    PreferEqual,
}

impl CacheConfig {
    pub(crate) fn raw(self) -> CUfunc_cache {
        match self {
            CacheConfig::None => CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE,
            CacheConfig::PreferShared => CUfunc_cache::CU_FUNC_CACHE_PREFER_SHARED,
            CacheConfig::PreferL1 => CUfunc_cache::CU_FUNC_CACHE_PREFER_L1,
            CacheConfig::PreferEqual => CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL,
        }
    }

    pub(crate) fn from_raw(raw: CUfunc_cache) -> CacheConfig {
        match raw {
            CUfunc_cache::CU_FUNC_CACHE_PREFER_SHARED => CacheConfig::PreferShared,
            CUfunc_cache::CU_FUNC_CACHE_PREFER_L1 => CacheConfig::PreferL1,
            CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL => CacheConfig::PreferEqual,
            _ => CacheConfig::None,
        }
    }
}

/// The primary context of a device.
///
/// Clones refer to the same context. The context created last stays alive until another context is
/// created, [`Context::reset`] is called, or the process exits. Other contexts stay alive until the
/// last `Context` and the last object created in them are dropped.
///
/// # Examples
///
/// ```
/// let context = cust::quick_init_on(cust::Backend::Emulator)?;
/// println!("running on {}", context.device().name()?);
/// context.synchronize()?;
/// # Ok::<(), cust::error::Error>(())
/// ```
#[derive(Clone)]
pub struct Context {
    inner: Arc<ContextInner>,
}

struct ContextInner {
    device: Device,
    raw: CUcontext,
    /// The reports of the modules that can panic.
    reports: Mutex<Vec<Arc<Report>>>,
    /// Panics that were read from the reports, and are still to be returned by a wait.
    pending: Mutex<Vec<Pending>>,
    /// Set by `Context::reset`, which destroys everything created in the context.
    destroyed: AtomicBool,
    /// The driver's code of the fault that lost the context, or 0. A lost context executes no more
    /// work, and the driver is not called for it again.
    lost: AtomicU32,
    /// Futures that wait for the driver's callback.
    waiting: Mutex<Vec<Weak<Waiting>>>,
    /// The most recent launches, for errors that are detected later.
    launched: Mutex<VecDeque<Launched>>,
    /// The last entry of `launched`, which is usually repeated.
    last: LastLaunch,
    /// The event that orders streams; created on first use.
    ordering: Mutex<Option<Handle<CUevent>>>,
    /// The idle private streams: see [`Context::private_stream`].
    private_streams: Mutex<Vec<Handle<CUstream>>>,
    /// The device's limits of launches; queried on first use.
    limits: OnceLock<DeviceLimits>,
    /// The pool that device memory is allocated from, or `None` if the device does not support
    /// memory pools; created on first use.
    pool: OnceLock<Option<Handle<CUmemoryPool>>>,
    stack: Stack,
}

/// A launch that may be pending.
struct Launched {
    kernel: Arc<str>,
    stream: Weak<StreamInner>,
    /// The launch's sequence number in the stream.
    number: u64,
}

impl Launched {
    fn is_complete(&self) -> bool {
        let stream = self.stream.upgrade();
        stream.is_some_and(|stream| stream.is_complete(self.number))
    }
}

/// The last entry of the list of launches. With it, launching the same kernel in the same stream
/// repeatedly takes no lock. It is used only for error messages, so it may lag behind.
#[derive(Default)]
struct LastLaunch {
    /// The stream's ID.
    stream: AtomicU64,
    /// The address of the kernel's name, which the list keeps alive.
    kernel: AtomicUsize,
    /// The sequence number of the last launch of this kernel in this stream.
    number: AtomicU64,
}

/// The maximum number of launches that are recorded.
const LAUNCHES: usize = 32;

/// A device's limits of launches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceLimits {
    /// Blocks along each axis.
    pub(crate) grid: [u32; 3],
    /// Threads along each axis.
    pub(crate) block: [u32; 3],
    /// Bytes of shared memory per block, with opt-in.
    pub(crate) shared: u32,
}

/// A driver handle that any thread may use.
#[derive(Clone, Copy)]
struct Handle<T>(T);

// SAFETY: the driver's handles may be used from any thread.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Handle<T> {}

// SAFETY: the driver's functions may be called from any thread.
unsafe impl Send for ContextInner {}
// SAFETY: as above; the other mutable fields are atomic or behind a mutex.
unsafe impl Sync for ContextInner {}

/// The live contexts, so that each device has at most one `ContextInner`.
static ALIVE: Mutex<Option<Alive>> = Mutex::new(None);
type Alive = HashMap<(Backend, i32), Weak<ContextInner>>;
/// The context created last, which threads without a current context use. It is kept alive, so that
/// a program need not keep the `Context` in order to use the device.
static PROCESS_DEFAULT: RwLock<Option<Arc<ContextInner>>> = RwLock::new(None);

thread_local! {
    /// The context that this thread made current.
    static CURRENT: RefCell<Weak<ContextInner>> = const { RefCell::new(Weak::new()) };
    /// The context whose address `bound` has. The weak reference prevents reuse of the address.
    static BOUND_TO: RefCell<Weak<ContextInner>> = const { RefCell::new(Weak::new()) };
}

impl Context {
    /// Returns the device's primary context, creating it if necessary.
    ///
    /// The context becomes the current context of this thread, and the default context of threads
    /// that have no current context.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot create the context.
    pub fn new(device: Device) -> CudaResult<Context> {
        let context = Context::retain(device)?;
        CurrentContext::set_current(&context)?;
        set_process_default(Some(Arc::clone(&context.inner)));
        set_default(device.backend());
        Ok(context)
    }

    fn retain(device: Device) -> CudaResult<Context> {
        release_stream();
        let mut alive = lock(&ALIVE);
        let alive = alive.get_or_insert_default();
        let key = (device.backend(), device.raw);
        if let Some(inner) = alive.get(&key).and_then(Weak::upgrade) {
            return Ok(Context { inner });
        }
        let api = device.api;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuDevicePrimaryCtxRetain(&mut raw, device.raw) };
        api.check(result, || {
            format!("creating a context on device {}", device.raw)
        })?;
        let inner = Arc::new(ContextInner {
            device,
            raw,
            reports: Mutex::new(Vec::new()),
            pending: Mutex::new(Vec::new()),
            destroyed: AtomicBool::new(false),
            lost: AtomicU32::new(0),
            waiting: Mutex::default(),
            launched: Mutex::default(),
            last: LastLaunch::default(),
            ordering: Mutex::new(None),
            private_streams: Mutex::new(Vec::new()),
            limits: OnceLock::new(),
            pool: OnceLock::new(),
            stack: Stack::default(),
        });
        alive.insert(key, Arc::downgrade(&inner));
        on_fault(note_lost);
        print_unreported_at_exit();
        Ok(Context { inner })
    }

    /// Returns the current context: this thread's, or the process's default context.
    pub(crate) fn current(doing: &'static str) -> CudaResult<Context> {
        let inner = CURRENT
            .try_with(|current| current.borrow().upgrade())
            .ok()
            .flatten()
            .or_else(|| {
                let default = PROCESS_DEFAULT.read().unwrap_or_else(|e| e.into_inner());
                default.clone()
            });
        match inner {
            Some(inner) => Ok(Context { inner }),
            None => Err(Error::NoContext { doing }),
        }
    }

    /// Calls `f` with this context as the thread's current context.
    pub(crate) fn with_current<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Restore(Weak<ContextInner>);
        impl Drop for Restore {
            fn drop(&mut self) {
                let former = std::mem::take(&mut self.0);
                let _ = CURRENT.try_with(|current| *current.borrow_mut() = former);
            }
        }
        let own = Arc::downgrade(&self.inner);
        let former = CURRENT.try_with(|current| current.replace(own));
        let _restore = former.map(Restore);
        f()
    }

    /// Sets the flags of the device's primary context.
    pub fn set_flags(&self, flags: ContextFlags) -> CudaResult<()> {
        release_stream();
        let api = self.api();
        // SAFETY: takes no pointers.
        let result = unsafe {
            api.driver
                .cuDevicePrimaryCtxSetFlags_v2(self.inner.device.raw, flags.bits())
        };
        api.check(result, || {
            format!("setting the context's flags to {flags:?}")
        })
    }

    /// Returns the context's flags.
    pub fn flags(&self) -> CudaResult<ContextFlags> {
        let api = self.bind()?;
        let mut flags = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetFlags(&mut flags) };
        api.check(result, || "querying the context's flags".to_owned())?;
        Ok(ContextFlags::from_bits_truncate(flags))
    }

    /// Returns the context's device.
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// Returns the backend that executes the context's kernels.
    pub fn backend(&self) -> Backend {
        self.inner.device.backend()
    }

    /// Waits until all work in the context is complete.
    ///
    /// # Errors
    ///
    /// Returns [`Error::KernelPanic`] or [`Error::StackOverflow`] if a kernel reported one, and
    /// [`Error::Driver`] if a kernel faulted.
    pub fn synchronize(&self) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: takes no arguments.
        let result = unsafe { api.driver.cuCtxSynchronize() };
        let waited = api.check(result, || "waiting for the context".to_owned());
        self.finish_wait(waited, None)
    }

    /// Returns a resource limit.
    pub fn get_resource_limit(&self, limit: ResourceLimit) -> CudaResult<usize> {
        let api = self.bind()?;
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetLimit(&mut value, limit.raw()) };
        api.check(result, || format!("querying the limit {limit:?}"))?;
        Ok(value)
    }

    /// Sets a resource limit. The driver may round the value.
    ///
    /// After [`ResourceLimit::StackSize`] has been set, launches no longer raise the limit, and
    /// unloading modules no longer lowers it.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the value is too large, or the limit can no longer be changed:
    /// [`ResourceLimit::MallocHeapSize`] and [`ResourceLimit::PrintfFifoSize`] are fixed by the
    /// first launch of a kernel that uses the heap or prints.
    pub fn set_resource_limit(&self, limit: ResourceLimit, value: usize) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: takes no pointers.
        let result = unsafe { api.driver.cuCtxSetLimit(limit.raw(), value) };
        api.check(result, || format!("setting the limit {limit:?} to {value}"))?;
        if limit == ResourceLimit::StackSize {
            self.user_set_stack();
        }
        Ok(())
    }

    /// Returns the CUDA version that the driver supports, as (major, minor).
    pub fn driver_version(&self) -> CudaResult<(u32, u32)> {
        let version = self.api().version()? as u32;
        Ok((version / 1000, version % 1000 / 10))
    }

    /// Returns the lowest and the highest stream priority. Lower numbers are higher priorities.
    pub fn stream_priority_range(&self) -> CudaResult<StreamPriorityRange> {
        let api = self.bind()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: the pointers are valid for the call.
        let result = unsafe {
            api.driver
                .cuCtxGetStreamPriorityRange(&mut least, &mut greatest)
        };
        api.check(result, || {
            "querying the range of stream priorities".to_owned()
        })?;
        Ok(StreamPriorityRange { least, greatest })
    }

    /// Returns the driver's ID of the context, which is unique in the process.
    pub fn id(&self) -> CudaResult<u64> {
        let api = self.bind()?;
        let mut id = 0;
        // SAFETY: the context is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetId(self.inner.raw, &mut id) };
        api.check(result, || "querying the context's ID".to_owned())?;
        Ok(id)
    }

    /// Returns the driver API version of the context.
    pub fn get_api_version(&self) -> CudaResult<u32> {
        let api = self.bind()?;
        let mut version = 0;
        // SAFETY: the context is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetApiVersion(self.inner.raw, &mut version) };
        api.check(result, || "querying the context's API version".to_owned())?;
        Ok(version)
    }

    /// Returns the preferred partition of L1 cache and shared memory, for kernels without a
    /// preference of their own.
    pub fn get_cache_config(&self) -> CudaResult<CacheConfig> {
        let api = self.bind()?;
        let mut config = CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetCacheConfig(&mut config) };
        api.check(result, || "querying the cache preference".to_owned())?;
        Ok(CacheConfig::from_raw(config))
    }

    /// Sets the preferred partition of L1 cache and shared memory, for kernels without a
    /// preference of their own.
    pub fn set_cache_config(&self, config: CacheConfig) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: takes no pointers.
        let result = unsafe { api.driver.cuCtxSetCacheConfig(config.raw()) };
        api.check(result, || {
            format!("setting the cache preference to {config:?}")
        })
    }

    /// Resets all persisting lines of the L2 cache to normal.
    pub fn reset_persisting_l2_cache(&self) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: takes no arguments.
        let result = unsafe { api.driver.cuCtxResetPersistingL2Cache() };
        api.check(result, || {
            "resetting the persisting lines of the cache".to_owned()
        })
    }

    /// Enables access from kernels of this context to the memory of `peer`, in this direction only.
    ///
    /// Enabling access that is already enabled has no effect.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the device cannot access the peer's memory, and
    /// [`Error::WrongBackend`] if the peer belongs to another backend.
    pub fn enable_peer_access(&self, peer: &Context) -> CudaResult<()> {
        let doing = || format!("enabling access of {self:?} to the memory of {peer:?}");
        let api = self.bind_with(peer, doing)?;
        // SAFETY: both contexts are alive.
        let result = unsafe { api.driver.cuCtxEnablePeerAccess(peer.inner.raw, 0) };
        if result == CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED {
            return Ok(());
        }
        api.check(result, doing)
    }

    /// Disables the access that [`Context::enable_peer_access`] enabled.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if access is not enabled, and [`Error::WrongBackend`] if the peer
    /// belongs to another backend.
    pub fn disable_peer_access(&self, peer: &Context) -> CudaResult<()> {
        let doing = || format!("disabling access of {self:?} to the memory of {peer:?}");
        let api = self.bind_with(peer, doing)?;
        // SAFETY: both contexts are alive.
        let result = unsafe { api.driver.cuCtxDisablePeerAccess(peer.inner.raw) };
        api.check(result, doing)
    }

    /// Destroys the device's primary context with all its resources, including those of other
    /// libraries in this process.
    ///
    /// A fault in a kernel makes the context unusable. After a reset, [`Context::new`] creates a
    /// new one: always on the emulator, and on a GPU if the driver allows it.
    ///
    /// Objects created in the old context may still be dropped; their other methods return errors.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot reset the device.
    ///
    /// # Safety
    ///
    /// Pinned and unified memory allocated in the context must not be accessed afterwards.
    pub unsafe fn reset(device: &Device) -> CudaResult<()> {
        release_stream();
        let mut alive = lock(&ALIVE);
        let key = (device.backend(), device.raw);
        let old = alive.get_or_insert_default().remove(&key);
        if let Some(inner) = old.and_then(|weak| weak.upgrade()) {
            inner.destroyed.store(true, Ordering::SeqCst);
            lock(&inner.reports).clear();
            let context = Context { inner };
            context.finish_waiting(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
            let default = PROCESS_DEFAULT.read().unwrap_or_else(|e| e.into_inner());
            let is_default = (default.as_ref()).is_some_and(|it| Arc::ptr_eq(it, &context.inner));
            drop(default);
            if is_default {
                set_process_default(None);
            }
        }
        // SAFETY: as the caller promises.
        let result = unsafe { device.api.driver.cuDevicePrimaryCtxReset_v2(device.raw) };
        device
            .api
            .check(result, || format!("resetting device {}", device.raw))
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUcontext {
        self.inner.raw
    }

    /// Makes the context current in the driver for this thread, and returns the table of the
    /// driver's functions, for functions that this crate does not wrap.
    pub fn driver(&self) -> CudaResult<&'static cust_raw::Driver> {
        Ok(self.bind()?.driver)
    }

    pub(crate) fn stack(&self) -> &Stack {
        &self.inner.stack
    }

    pub(crate) fn api(&self) -> &'static Api {
        self.inner.device.api
    }

    /// Makes the context current in the driver for the calling thread. Every object does this
    /// before its calls, since another library may have changed the current context.
    #[inline]
    pub(crate) fn bind(&self) -> CudaResult<&'static Api> {
        let api = self.api();
        release_stream();
        if self.inner.destroyed.load(Ordering::Relaxed) {
            let destroyed = CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED;
            api.check(destroyed, || "using a context after its reset".to_owned())?;
        }
        let lost = self.inner.lost.load(Ordering::Relaxed);
        if lost != 0 {
            let doing = "using a context that a fault has lost".to_owned();
            return Err(api.error(CUresult(lost), doing));
        }
        // SAFETY: the context is alive as long as `self`.
        let result = unsafe { api.driver.cuCtxSetCurrent(self.inner.raw) };
        self.check(result, || "making the context current".to_owned())?;
        if bound::get() != self.address() {
            self.note_bound();
        }
        Ok(api)
    }

    /// Makes the context current, for a call that also takes a handle of the context `peer`: both
    /// must belong to the same driver, and neither may be destroyed or lost.
    pub(crate) fn bind_with(
        &self,
        peer: &Context,
        doing: impl FnOnce() -> String,
    ) -> CudaResult<&'static Api> {
        self.device().require_same_backend(&peer.device(), doing)?;
        peer.bind()?;
        self.bind()
    }

    /// Like [`Api::check`], for a result that is known to belong to this context.
    pub(crate) fn check(&self, result: CUresult, doing: impl FnOnce() -> String) -> CudaResult<()> {
        match CudaError::from_raw(result) {
            None => return Ok(()),
            Some(code) if code.is_sticky() => self.note_lost(result),
            Some(_) => {}
        }
        Err(self.api().error(result, doing()))
    }

    /// Records that this crate made the context current in the driver for this thread.
    #[cold]
    fn note_bound(&self) {
        let _ = BOUND_TO.try_with(|bound| *bound.borrow_mut() = Arc::downgrade(&self.inner));
        bound::set(self.address());
    }

    /// Records that a fault has lost the context.
    fn note_lost(&self, code: CUresult) {
        let lost = &self.inner.lost;
        let _ = lost.compare_exchange(0, code.0, Ordering::SeqCst, Ordering::SeqCst);
        self.finish_waiting(code);
    }

    /// Finishes all waiting futures with `code`.
    fn finish_waiting(&self, code: CUresult) {
        let waiting = std::mem::take(&mut *lock(&self.inner.waiting));
        for waiting in waiting.iter().filter_map(Weak::upgrade) {
            waiting.finish(code);
        }
    }

    /// Records a future that waits for the driver's callback, so that it finishes if the context
    /// is lost or destroyed.
    pub(crate) fn note_waiting(&self, future: &Arc<Waiting>) {
        let mut waiting = lock(&self.inner.waiting);
        waiting.retain(|known| known.strong_count() > 0);
        waiting.push(Arc::downgrade(future));
    }

    /// Like [`Context::bind`], but calls the driver only if this context is not the one that this
    /// crate last made current for this thread.
    ///
    /// The flag in the result is `true` if the context is certainly current, and `false` if another
    /// library may have changed the current context since.
    #[inline]
    pub(crate) fn bind_for_launch(&self) -> CudaResult<(&'static Api, bool)> {
        if bound::get() == self.address() && !self.inner.destroyed.load(Ordering::Relaxed) {
            return Ok((self.api(), false));
        }
        Ok((self.bind()?, true))
    }

    /// Calls `launch` after [`Context::bind_for_launch`], which returned `sure`.
    ///
    /// If `sure` is false, another library may have made another context current. The driver then
    /// rejects the launch, since the stream and the kernel belong to this context; in that case,
    /// makes the context current and retries.
    #[inline]
    pub(crate) fn launch(&self, sure: bool, mut launch: impl FnMut() -> CUresult) -> CUresult {
        let result = launch();
        if result == CUresult::CUDA_SUCCESS || sure || self.bind().is_err() {
            return result;
        }
        launch()
    }

    /// Returns a number that is unique among live contexts.
    #[inline]
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.inner).addr()
    }

    pub(crate) fn is_same(&self, other: &Context) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn require_same(
        &self,
        other: &Context,
        doing: impl FnOnce() -> String,
    ) -> CudaResult<()> {
        if self.is_same(other) {
            return Ok(());
        }
        Err(Error::WrongContext { doing: doing() })
    }

    /// Returns an idle stream, for work that the calling thread waits for, or that does not depend
    /// on other work.
    ///
    /// The driver's per-thread default stream does not serve: a thread that used it in a context
    /// that is lost afterwards never exits, because libcuda's thread-local destructor waits for the
    /// stream (driver 580.159.04, `tests/fault_kinds.rs`).
    pub(crate) fn private_stream(&self) -> CudaResult<PrivateStream<'_>> {
        let unused = lock(&self.inner.private_streams).pop();
        let raw = match unused {
            Some(Handle(raw)) => raw,
            None => {
                let api = self.bind()?;
                let mut raw = std::ptr::null_mut();
                let flags = CUstream_flags::CU_STREAM_DEFAULT.0;
                // SAFETY: the pointer is valid for the call.
                let result = unsafe { api.driver.cuStreamCreate(&mut raw, flags) };
                api.check(result, || "creating a stream for copies".to_owned())?;
                raw
            }
        };
        Ok(PrivateStream { context: self, raw })
    }

    /// Orders later work in a stream after all pending work in `other`.
    pub(crate) fn order(&self, stream: CUstream, other: &StreamInner) -> CudaResult<()> {
        let doing = || "making a stream wait for another stream".to_owned();
        let api = self.bind()?;
        // One event serves all calls: `cuStreamWaitEvent` captures the event's position, so the
        // event may be recorded again at once. The lock prevents recording it between the two
        // calls.
        let mut ordering = lock(&self.inner.ordering);
        let event = match *ordering {
            Some(Handle(event)) => event,
            None => {
                let mut event = std::ptr::null_mut();
                let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
                // SAFETY: the pointer is valid for the call.
                let result = unsafe { api.driver.cuEventCreate(&mut event, flags) };
                api.check(result, doing)?;
                *ordering = Some(Handle(event));
                event
            }
        };
        // SAFETY: all handles are alive.
        unsafe {
            api.check(api.driver.cuEventRecord(event, other.raw), doing)?;
            api.check(api.driver.cuStreamWaitEvent(stream, event, 0), doing)
        }
    }

    /// Returns the device's limits of launches.
    pub(crate) fn device_limits(&self) -> CudaResult<DeviceLimits> {
        if let Some(limits) = self.inner.limits.get() {
            return Ok(*limits);
        }
        let device = self.device();
        let get = |attribute| Ok(device.get_attribute(attribute)?.max(0) as u32);
        let limits = DeviceLimits {
            grid: [
                get(DeviceAttribute::MaxGridDimX)?,
                get(DeviceAttribute::MaxGridDimY)?,
                get(DeviceAttribute::MaxGridDimZ)?,
            ],
            block: [
                get(DeviceAttribute::MaxBlockDimX)?,
                get(DeviceAttribute::MaxBlockDimY)?,
                get(DeviceAttribute::MaxBlockDimZ)?,
            ],
            shared: get(DeviceAttribute::MaxSharedMemoryPerBlockOptin)?
                .max(get(DeviceAttribute::MaxSharedMemoryPerBlock)?),
        };
        Ok(*self.inner.limits.get_or_init(|| limits))
    }

    /// Returns the pool that device memory is allocated from, or `None` if the device does not
    /// support memory pools.
    pub(crate) fn pool(&self) -> Option<CUmemoryPool> {
        let pool = self.inner.pool.get_or_init(|| self.make_pool().map(Handle));
        pool.map(|Handle(pool)| pool)
    }

    fn make_pool(&self) -> Option<CUmemoryPool> {
        let api = self.bind().ok()?;
        let device = self.device();
        let supported = device
            .get_attribute(DeviceAttribute::MemoryPoolsSupported)
            .ok()?;
        if supported == 0 {
            return None;
        }
        // SAFETY: all-zero bytes are valid for these integers.
        let mut properties: CUmemPoolProps = unsafe { std::mem::zeroed() };
        properties.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = device.raw;
        let mut pool = std::ptr::null_mut();
        // SAFETY: the pointers are valid for the call.
        let result = unsafe { api.driver.cuMemPoolCreate(&mut pool, &properties) };
        if result != CUresult::CUDA_SUCCESS {
            return None;
        }
        // Keep freed memory up to a fraction of the device's memory. The host waits for
        // allocations, so an allocation must not depend on a free in a busy stream.
        let mut kept = (device.total_memory().unwrap_or(0) / KEPT_FRACTION) as u64;
        let mut no = 0i32;
        use cust_raw::CUmemPool_attribute as Attribute;
        let threshold = Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        let dependencies = Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
        // SAFETY: the values have the attributes' types. Errors are ignored: the attributes affect
        // only performance.
        unsafe {
            let _ = api
                .driver
                .cuMemPoolSetAttribute(pool, threshold, (&raw mut kept).cast());
            let _ = api
                .driver
                .cuMemPoolSetAttribute(pool, dependencies, (&raw mut no).cast());
        }
        Some(pool)
    }

    /// Releases freed device memory that is kept for later buffers to the system, except for `keep`
    /// bytes.
    pub fn trim_memory(&self, keep: usize) -> CudaResult<()> {
        let api = self.bind()?;
        let Some(pool) = self.pool() else {
            return Ok(());
        };
        // SAFETY: the pool is alive.
        let result = unsafe { api.driver.cuMemPoolTrimTo(pool, keep) };
        api.check(result, || "trimming the memory pool".to_owned())
    }

    pub(crate) fn add_report(&self, report: &Arc<Report>) {
        lock(&self.inner.reports).push(Arc::clone(report));
    }

    /// Removes the report of a module that is being dropped and has no pending kernels. A panic in
    /// the report is kept for the next `synchronize`. From here on, no thread arms the report.
    pub(crate) fn remove_report(&self, report: &Arc<Report>) {
        let mut reports = lock(&self.inner.reports);
        if self.inner.destroyed.load(Ordering::Relaxed) {
            return;
        }
        reports.retain(|known| !Arc::ptr_eq(known, report));
        // `read` instead of `take`: nothing will read the rearmed report.
        if let Some(panic) = report.read(true) {
            lock(&self.inner.pending).push(panic);
        }
    }

    /// Forgets the launches in a stream whose work is complete and which is being destroyed.
    pub(crate) fn forget_stream(&self, stream: usize) {
        let reports = lock(&self.inner.reports);
        let mut pending = lock(&self.inner.pending);
        self.take_reports(&reports, &mut pending, Some(stream));
        for report in reports.iter() {
            report.note_synchronized(Some(stream));
        }
        for panic in pending.iter_mut() {
            panic.forget(stream);
        }
    }

    /// Records a launch.
    pub(crate) fn note_kernel(&self, kernel: &Arc<str>, stream: &Arc<StreamInner>, number: u64) {
        let last = &self.inner.last;
        let (stream_id, place) = (stream.id(), kernel.as_ptr().addr());
        // Fast path: the same kernel is launched repeatedly.
        if last.stream.load(Ordering::Relaxed) == stream_id
            && last.kernel.load(Ordering::Relaxed) == place
        {
            last.number.store(number, Ordering::Relaxed);
            return;
        }
        let mut launched = self.launched();
        while launched.len() >= LAUNCHES || launched.front().is_some_and(Launched::is_complete) {
            launched.pop_front();
        }
        launched.push_back(Launched {
            kernel: Arc::clone(kernel),
            stream: Arc::downgrade(stream),
            number,
        });
        last.number.store(number, Ordering::Relaxed);
        last.kernel.store(place, Ordering::Relaxed);
        last.stream.store(stream_id, Ordering::Relaxed);
    }

    /// Returns the recorded launches, after updating the last entry from `last`.
    fn launched(&self) -> MutexGuard<'_, VecDeque<Launched>> {
        let mut launched = lock(&self.inner.launched);
        if let Some(back) = launched.back_mut() {
            let number = self.inner.last.number.load(Ordering::Relaxed);
            back.number = back.number.max(number);
        }
        launched
    }

    /// Returns the names of the recorded kernels that may be pending.
    fn kernels_in_flight(&self) -> Vec<String> {
        let mut kernels: Vec<String> = Vec::new();
        for launched in self.launched().iter() {
            let known = kernels.iter().any(|kernel| **kernel == *launched.kernel);
            if !known && !launched.is_complete() {
                kernels.push(launched.kernel.to_string());
            }
        }
        kernels
    }

    /// Completes a wait: checks for panic reports, and adds the pending kernels to the error of a
    /// fault.
    ///
    /// `stream` is the stream that was waited for, `None` for the whole context, and `usize::MAX`
    /// for a wait that is not for a single stream.
    pub(crate) fn finish_wait(
        &self,
        waited: CudaResult<()>,
        stream: Option<usize>,
    ) -> CudaResult<()> {
        let panic = self.take_panic(stream);
        let waited = waited.map_err(|error| match error {
            Error::Driver(mut error) if error.code.is_sticky() => {
                error.kernels = self.kernels_in_flight();
                let recursive = self.stack().doubtful_among(&error.kernels);
                if !recursive.is_empty() {
                    stack::hint(&mut error, &recursive);
                }
                Error::Driver(error)
            }
            error => error,
        });
        if waited.is_ok() {
            for report in lock(&self.inner.reports).iter() {
                report.note_synchronized(stream);
            }
        }
        match (waited, panic) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(Reported::Panic(panic))) => Err(Error::KernelPanic(Box::new(panic))),
            (Ok(()), Some(Reported::Overflow(mut overflow))) => {
                overflow.limit = self.stack_limit();
                Err(Error::StackOverflow(Box::new(overflow)))
            }
            (Err(Error::Driver(mut error)), Some(panic)) => {
                let detail = error.detail.take().map_or(String::new(), |d| d + "; ");
                error.detail = Some(format!("{detail}before that, {panic}"));
                Err(Error::Driver(error))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Returns the next reported panic that a wait for `stream` has to return.
    fn take_panic(&self, stream: Option<usize>) -> Option<Reported> {
        let reports = lock(&self.inner.reports);
        let mut pending = lock(&self.inner.pending);
        self.take_reports(&reports, &mut pending, stream);
        // `usize::MAX` stands for several streams.
        let stream = stream.filter(|&stream| stream != usize::MAX);
        let mut reported = report::tell(&mut pending, stream)?;
        if let Reported::Panic(panic) = &mut reported
            && panic.is_out_of_heap()
        {
            let limit = self.get_resource_limit(ResourceLimit::MallocHeapSize);
            panic.explain_heap(limit.ok());
        }
        Some(reported)
    }

    /// Moves complete reports to `pending`. `waited` is the stream that was waited for, `None` for
    /// all streams.
    fn take_reports(
        &self,
        reports: &[Arc<Report>],
        pending: &mut Vec<Pending>,
        waited: Option<usize>,
    ) {
        let lost = self.inner.lost.load(Ordering::SeqCst) != 0;
        let api = (!lost).then(|| self.api());
        let taken = reports.iter().filter_map(|report| report.take(api, waited));
        pending.extend(taken);
    }
}

/// A private stream in use by one call; returned to the context on drop. See
/// [`Context::private_stream`].
pub(crate) struct PrivateStream<'a> {
    context: &'a Context,
    raw: CUstream,
}

impl PrivateStream<'_> {
    pub(crate) fn raw(&self) -> CUstream {
        self.raw
    }
}

impl Drop for PrivateStream<'_> {
    fn drop(&mut self) {
        lock(&self.context.inner.private_streams).push(Handle(self.raw));
    }
}

impl Device {
    /// Returns the flags of the device's primary context, and whether the context is active in this
    /// process.
    pub fn primary_context_state(&self) -> CudaResult<(ContextFlags, bool)> {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: the pointers are valid for the call.
        let result = unsafe {
            self.api
                .driver
                .cuDevicePrimaryCtxGetState(self.raw, &mut flags, &mut active)
        };
        self.check(result, "querying the state of its primary context")?;
        Ok((ContextFlags::from_bits_truncate(flags), active != 0))
    }
}

fn set_process_default(inner: Option<Arc<ContextInner>>) {
    let mut default = PROCESS_DEFAULT.write().unwrap_or_else(|e| e.into_inner());
    let former = std::mem::replace(&mut *default, inner);
    // Drop `former` after unlocking: it may be the last reference, whose drop calls the driver.
    drop(default);
    drop(former);
}

/// Registers a function that prints panics that were never returned to stderr when the process
/// exits. It reads host memory only, and does not call the driver.
fn print_unreported_at_exit() {
    extern "C" fn report() {
        // Unwinding into the C library is undefined behavior. `try_lock`, because the thread that
        // holds a lock may no longer exist.
        let _ = std::panic::catch_unwind(|| {
            let Ok(alive) = ALIVE.try_lock() else { return };
            let alive = alive.iter().flat_map(HashMap::values);
            for inner in alive.filter_map(Weak::upgrade) {
                if let (Ok(reports), Ok(mut pending)) =
                    (inner.reports.try_lock(), inner.pending.try_lock())
                {
                    pending.extend(reports.iter().filter_map(|report| report.read(false)));
                    report::print_unreported(&mut pending);
                }
                // The driver may be shutting down: release nothing.
                std::mem::forget(inner);
            }
        });
    }
    unsafe extern "C" {
        fn atexit(callback: extern "C" fn()) -> std::ffi::c_int;
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    // Registered after the driver was initialized, so that it runs before the driver's exit
    // handler. SAFETY: the function is valid for the lifetime of the process.
    ONCE.call_once(|| {
        if !cfg!(miri) {
            let _ = unsafe { atexit(report) };
        }
    });
}

/// Records that the context that this crate last made current for this thread is lost.
#[cold]
fn note_lost(code: CUresult) {
    let bound = BOUND_TO.try_with(|bound| bound.borrow().upgrade());
    if let Ok(Some(inner)) = bound {
        Context { inner }.note_lost(code);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        let api = self.device.api;
        report::print_unreported(&mut lock(&self.pending));
        let ordering = lock(&self.ordering).take();
        let streams = std::mem::take(&mut *lock(&self.private_streams));
        let pool = self.pool.take().flatten();
        release_stream();
        if self.lost.load(Ordering::SeqCst) != 0 && !self.destroyed.load(Ordering::SeqCst) {
            // In a lost context, the driver's calls fail, and some have been observed to hang.
            return;
        }
        let own_nothing = ordering.is_none() && streams.is_empty() && pool.is_none();
        if !self.destroyed.load(Ordering::SeqCst) && !own_nothing {
            // SAFETY: all were created in this context, which is alive, and are destroyed only
            // here. The driver releases the pool after the last of its allocations is freed.
            unsafe {
                let _ = api.driver.cuCtxSetCurrent(self.raw);
                for Handle(stream) in streams {
                    let _ = api.driver.cuStreamDestroy_v2(stream);
                }
                if let Some(Handle(event)) = ordering {
                    let _ = api.driver.cuEventDestroy_v2(event);
                }
                if let Some(Handle(pool)) = pool {
                    let _ = api.driver.cuMemPoolDestroy(pool);
                }
            }
        }
        // SAFETY: retained once in `retain`, released once here. When the process exits, the driver
        // may be deinitialized already; the error is ignored.
        let _ = unsafe { api.driver.cuDevicePrimaryCtxRelease_v2(self.device.raw) };
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context({:?})", self.inner.device)
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Context) -> bool {
        self.is_same(other)
    }
}

impl Eq for Context {}

/// The range of stream priorities. Lower numbers are higher priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPriorityRange {
    /// The lowest priority (the largest number).
    pub least: i32,
    /// The highest priority (the smallest number).
    pub greatest: i32,
}

/// The calling thread's current context: the context that it made current with
/// [`CurrentContext::set_current`], or the process's default context.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// Makes a context current for this thread.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn set_current(context: &Context) -> CudaResult<()> {
        context.bind()?;
        let weak = Arc::downgrade(&context.inner);
        // The access fails on a thread that is exiting, which makes no further calls.
        let _ = CURRENT.try_with(|current| *current.borrow_mut() = weak);
        Ok(())
    }

    /// Returns the current context.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] if no context is alive.
    pub fn get() -> CudaResult<Context> {
        Context::current("querying the current context")
    }

    /// Returns the current context's device.
    pub fn get_device() -> CudaResult<Device> {
        Ok(CurrentContext::get()?.device())
    }

    /// Returns the current context's flags.
    pub fn get_flags() -> CudaResult<ContextFlags> {
        CurrentContext::get()?.flags()
    }

    /// See [`Context::synchronize`].
    pub fn synchronize() -> CudaResult<()> {
        Context::current("waiting for the context")?.synchronize()
    }

    /// See [`Context::get_resource_limit`].
    pub fn get_resource_limit(limit: ResourceLimit) -> CudaResult<usize> {
        CurrentContext::get()?.get_resource_limit(limit)
    }

    /// See [`Context::set_resource_limit`].
    pub fn set_resource_limit(limit: ResourceLimit, value: usize) -> CudaResult<()> {
        CurrentContext::get()?.set_resource_limit(limit, value)
    }

    /// See [`Context::stream_priority_range`].
    pub fn get_stream_priority_range() -> CudaResult<StreamPriorityRange> {
        CurrentContext::get()?.stream_priority_range()
    }
}
