//! Contexts: a device in use by this process, with everything allocated on it.
//!
//! This crate uses each device's *primary* context, which libraries such as cuBLAS share.
//! Objects (buffers, streams, modules …) keep their context alive, and make it current in the
//! driver for their own calls, whatever thread these come from. What has no object to tell the
//! context from (`DeviceBuffer::new`, `Stream::new`, `Module::from_ptx`) uses the context that
//! the thread made current with [`CurrentContext::set_current`], else the process's default: the
//! one made last.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock, Weak};

use cust_raw::{
    CUcontext, CUevent, CUevent_flags, CUfunc_cache, CUlimit, CUmemAllocationType,
    CUmemLocationType, CUmemPoolProps, CUmemoryPool, CUresult, CUstream, CUstream_flags,
};

use crate::backend::{Api, Backend, set_default};
use crate::device::{Device, DeviceAttribute};
use crate::error::{CudaError, CudaResult, Error};
use crate::finished::Shared as Waiting;
use crate::function::CacheConfig;
use crate::host_call::let_stream_go_on;
use crate::report::{self, Pending, Report, Reported};
use crate::stack::{self, Stack};
use crate::stream::StreamInner;

/// Freed device memory is kept for later buffers up to this part of all.
const KEPT_FRACTION: usize = 16;

bitflags::bitflags! {
    /// How the host waits for the device, and what the context keeps.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct ContextFlags: u32 {
        /// Spin if there are more cores than contexts, else yield.
        const SCHED_AUTO = 0;
        /// Spin while waiting: lowest latency, one busy core.
        const SCHED_SPIN = 1;
        /// Yield the core while waiting.
        const SCHED_YIELD = 2;
        /// Sleep while waiting.
        const SCHED_BLOCKING_SYNC = 4;
        /// Map pinned memory into the device's address space (always so on 64-bit systems).
        const MAP_HOST = 8;
        /// Keep local memory at its largest size so far.
        const LMEM_RESIZE_TO_MAX = 16;
    }
}

/// A limit of a context's resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResourceLimit {
    /// Bytes of stack for each thread of a kernel with recursion or calls through pointers. Launches
    /// raise the limit to what their kernels need, until it is set: then it stays as it was set.
    StackSize,
    /// Bytes for `print!` output until the host fetches it at a synchronize.
    PrintfFifoSize,
    /// Bytes that kernels may allocate (`Vec`, `String`, `Box`).
    MallocHeapSize,
    /// Depth of nested synchronizing launches from kernels.
    DeviceRuntimeSynchronizeDepth,
    /// Launches from kernels that may be pending.
    DeviceRuntimePendingLaunchCount,
    /// Largest fetch of the L2 cache, in bytes.
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

/// A device in use. Clones refer to the same context. The context made last stays alive until the
/// process ends, another one is made, or [`Context::reset`]; earlier ones until the last `Context`
/// and the last object made in them are dropped.
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
    /// Panics that somebody has still to be told of.
    pending: Mutex<Vec<Pending>>,
    /// Set by `Context::reset`: everything made in the context is gone.
    destroyed: AtomicBool,
    /// The fault that lost the context, as the driver's code: no work in it runs any more, and the
    /// driver is not called for it again. 0 if there was none.
    lost: AtomicU32,
    /// Futures that wait for the driver to call back.
    waiting: Mutex<Vec<Weak<Waiting>>>,
    /// The kernels launched last, for errors that come later.
    launched: Mutex<VecDeque<Launched>>,
    /// The last of them, which is usually launched again and again.
    last: LastLaunch,
    /// The event that orders streams among each other; made on first use.
    ordering: Mutex<Option<Handle<CUevent>>>,
    /// See [`Context::private_stream`]: those that nobody uses now.
    private_streams: Mutex<Vec<Handle<CUstream>>>,
    /// What the device allows launches; looked up on first use.
    limits: OnceLock<DeviceLimits>,
    /// The pool that device memory comes from, where the device has pools; made on first use.
    pool: OnceLock<Option<Handle<CUmemoryPool>>>,
    stack: Stack,
}

/// A launch that may not be done.
struct Launched {
    kernel: Arc<str>,
    stream: Weak<StreamInner>,
    /// Its number in the stream.
    number: u64,
}

impl Launched {
    fn is_past(&self) -> bool {
        let stream = self.stream.upgrade();
        stream.is_some_and(|stream| stream.is_past(self.number))
    }
}

/// The entry of the list that was made last, so that launching the same kernel in the same stream
/// takes no lock. It serves messages alone, so it may lag behind.
#[derive(Default)]
struct LastLaunch {
    /// The stream's own number.
    stream: AtomicU64,
    /// Where the kernel's name is; the list keeps it there.
    kernel: AtomicUsize,
    /// The number of the last such launch in the stream.
    number: AtomicU64,
}

/// As many launches are remembered.
const LAUNCHES: usize = 32;

/// What a device allows launches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceLimits {
    /// Blocks along each axis.
    pub(crate) grid: [u32; 3],
    /// Threads along each axis.
    pub(crate) block: [u32; 3],
    /// Bytes of shared memory for a block that asks for them.
    pub(crate) shared: u32,
}

/// A handle of the driver's that any thread may use.
#[derive(Clone, Copy)]
struct Handle<T>(T);

// SAFETY: the driver's handles are good on every thread.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Handle<T> {}

// SAFETY: the driver's functions may be called from any thread.
unsafe impl Send for ContextInner {}
// SAFETY: as above; what is ours is behind mutexes.
unsafe impl Sync for ContextInner {}

/// The contexts alive, so that a device's context is one object however often it is asked for.
static ALIVE: Mutex<Option<Alive>> = Mutex::new(None);
type Alive = HashMap<(Backend, i32), Weak<ContextInner>>;
/// The context made last: that of threads which made none current. It stays alive, so that a
/// program need not keep the `Context` only to go on using the device.
static PROCESS_DEFAULT: RwLock<Option<Arc<ContextInner>>> = RwLock::new(None);

thread_local! {
    /// The context that this thread made current.
    static CURRENT: RefCell<Weak<ContextInner>> = const { RefCell::new(Weak::new()) };
    /// Where the context is that this crate made current for this thread in the driver last.
    static BOUND: Cell<usize> = const { Cell::new(0) };
    /// That context. It also keeps the place from being another context's.
    static BOUND_TO: RefCell<Weak<ContextInner>> = const { RefCell::new(Weak::new()) };
}

impl Context {
    /// The device's primary context. It becomes current for this thread, and the default of
    /// threads that made none current.
    pub fn new(device: Device) -> CudaResult<Context> {
        let context = Context::retain(device)?;
        CurrentContext::set_current(&context)?;
        set_process_default(Some(Arc::clone(&context.inner)));
        set_default(device.backend());
        Ok(context)
    }

    fn retain(device: Device) -> CudaResult<Context> {
        let_stream_go_on();
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
            format!("making a context on device {}", device.raw)
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
        report_untold_at_exit();
        Ok(Context { inner })
    }

    /// The current context: this thread's, else the process's default.
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

    /// Calls `f` with this as the thread's current context.
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
        let_stream_go_on();
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

    /// The context's flags.
    pub fn flags(&self) -> CudaResult<ContextFlags> {
        let api = self.bind()?;
        let mut flags = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetFlags(&mut flags) };
        api.check(result, || "asking for the context's flags".to_owned())?;
        Ok(ContextFlags::from_bits_truncate(flags))
    }

    /// The device that it is on.
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// What executes its kernels.
    pub fn backend(&self) -> Backend {
        self.inner.device.backend()
    }

    /// Waits for everything that was started in the context; returns a panic that a kernel
    /// reported, or the fault that stopped one, as an error.
    pub fn synchronize(&self) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: takes no arguments.
        let result = unsafe { api.driver.cuCtxSynchronize() };
        let waited = api.check(result, || "waiting for the context".to_owned());
        self.finish_wait(waited, None)
    }

    /// A limit's value.
    pub fn get_resource_limit(&self, limit: ResourceLimit) -> CudaResult<usize> {
        let api = self.bind()?;
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetLimit(&mut value, limit.raw()) };
        api.check(result, || format!("asking for the limit {limit:?}"))?;
        Ok(value)
    }

    /// Sets a limit. The driver may round the value.
    ///
    /// [`ResourceLimit::StackSize`] stays as it is set: launches no longer raise it, and unloading
    /// modules no longer lowers it.
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

    /// The CUDA version that the driver supports, as (major, minor).
    pub fn driver_version(&self) -> CudaResult<(u32, u32)> {
        let version = self.api().version()? as u32;
        Ok((version / 1000, version % 1000 / 10))
    }

    /// The lowest and highest priority of streams; lower numbers are served first.
    pub fn stream_priority_range(&self) -> CudaResult<StreamPriorityRange> {
        let api = self.bind()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: the pointers are valid for the call.
        let result = unsafe {
            api.driver
                .cuCtxGetStreamPriorityRange(&mut least, &mut greatest)
        };
        api.check(result, || "asking for the priorities of streams".to_owned())?;
        Ok(StreamPriorityRange { least, greatest })
    }

    /// The context's number, unique in the process.
    pub fn id(&self) -> CudaResult<u64> {
        let api = self.bind()?;
        let mut id = 0;
        // SAFETY: the context is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetId(self.inner.raw, &mut id) };
        api.check(result, || "asking for the context's number".to_owned())?;
        Ok(id)
    }

    /// The version of the driver's interface that the context is of.
    pub fn get_api_version(&self) -> CudaResult<u32> {
        let api = self.bind()?;
        let mut version = 0;
        // SAFETY: the context is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetApiVersion(self.inner.raw, &mut version) };
        api.check(result, || "asking for the context's version".to_owned())?;
        Ok(version)
    }

    /// What kernels prefer the first-level cache and shared memory to be divided for, unless they
    /// say so themselves.
    pub fn get_cache_config(&self) -> CudaResult<CacheConfig> {
        let api = self.bind()?;
        let mut config = CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetCacheConfig(&mut config) };
        api.check(result, || "asking for the cache preference".to_owned())?;
        Ok(CacheConfig::from_raw(config))
    }

    /// Sets what kernels prefer, unless they say so themselves.
    pub fn set_cache_config(&self, config: CacheConfig) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: takes no pointers.
        let result = unsafe { api.driver.cuCtxSetCacheConfig(config.raw()) };
        api.check(result, || {
            format!("setting the cache preference to {config:?}")
        })
    }

    /// Lets all lines of the second-level cache that were to stay in it go.
    pub fn reset_persisting_l2_cache(&self) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: takes no arguments.
        let result = unsafe { api.driver.cuCtxResetPersistingL2Cache() };
        api.check(result, || {
            "resetting the persisting lines of the cache".to_owned()
        })
    }

    /// Lets kernels of this context access memory of another device's; once for each direction. It
    /// is no error if they can already.
    pub fn enable_peer_access(&self, peer: &Context) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: both contexts are alive.
        let result = unsafe { api.driver.cuCtxEnablePeerAccess(peer.inner.raw, 0) };
        if result == CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED {
            return Ok(());
        }
        api.check(result, || {
            format!("giving {self:?} access to the memory of {peer:?}")
        })
    }

    /// Takes back [`Context::enable_peer_access`].
    pub fn disable_peer_access(&self, peer: &Context) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: both contexts are alive.
        let result = unsafe { api.driver.cuCtxDisablePeerAccess(peer.inner.raw) };
        api.check(result, || {
            format!("taking access to the memory of {peer:?} from {self:?}")
        })
    }

    /// Destroys everything on the device's primary context, also in other libraries of this
    /// process. After a fault in a kernel, which loses the context, work goes on with a new one
    /// from [`Context::new`]: always on the emulator, and where the driver allows it on a GPU.
    ///
    /// # Safety
    ///
    /// Pinned and managed memory made in the context must not be accessed afterwards. Calls of
    /// the objects made in it return errors, and dropping them is allowed.
    pub unsafe fn reset(device: &Device) -> CudaResult<()> {
        let_stream_go_on();
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

    /// The driver's handle.
    pub fn as_raw(&self) -> CUcontext {
        self.inner.raw
    }

    /// The table of the driver's functions, for what this crate does not wrap. The context is
    /// made current for this thread.
    pub fn driver(&self) -> CudaResult<&'static cust_raw::Driver> {
        Ok(self.bind()?.driver)
    }

    pub(crate) fn stack(&self) -> &Stack {
        &self.inner.stack
    }

    pub(crate) fn api(&self) -> &'static Api {
        self.inner.device.api
    }

    /// Makes the context current for the calling thread in the driver. Every object does this
    /// before its own calls, since another library may have changed it.
    #[inline]
    pub(crate) fn bind(&self) -> CudaResult<&'static Api> {
        let api = self.api();
        let_stream_go_on();
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
        if BOUND.try_with(Cell::get).unwrap_or(0) != self.address() {
            self.note_bound();
        }
        Ok(api)
    }

    /// As [`Api::check`], of a result that is known to be of this context.
    pub(crate) fn check(&self, result: CUresult, doing: impl FnOnce() -> String) -> CudaResult<()> {
        match CudaError::from_raw(result) {
            None => return Ok(()),
            Some(code) if code.is_sticky() => self.note_lost(result),
            Some(_) => {}
        }
        Err(self.api().error(result, doing()))
    }

    /// Notes that the context is this thread's in the driver.
    #[cold]
    fn note_bound(&self) {
        let _ = BOUND_TO.try_with(|bound| *bound.borrow_mut() = Arc::downgrade(&self.inner));
        let _ = BOUND.try_with(|bound| bound.set(self.address()));
    }

    /// Notes that a fault has lost the context.
    fn note_lost(&self, code: CUresult) {
        let lost = &self.inner.lost;
        let _ = lost.compare_exchange(0, code.0, Ordering::SeqCst, Ordering::SeqCst);
        self.finish_waiting(code);
    }

    /// Ends the futures' waits.
    fn finish_waiting(&self, code: CUresult) {
        let waiting = std::mem::take(&mut *lock(&self.inner.waiting));
        for waiting in waiting.iter().filter_map(Weak::upgrade) {
            waiting.finish(code);
        }
    }

    /// Remembers a future that waits for the driver to call back, so that it ends with the context.
    pub(crate) fn note_waiting(&self, future: &Arc<Waiting>) {
        let mut waiting = lock(&self.inner.waiting);
        waiting.retain(|known| known.strong_count() > 0);
        waiting.push(Arc::downgrade(future));
    }

    /// As [`Context::bind`], unless this crate made it current for this thread last: then another
    /// library may have changed it since, and `false` says so.
    #[inline]
    pub(crate) fn bind_for_launch(&self) -> CudaResult<(&'static Api, bool)> {
        let bound = BOUND.try_with(Cell::get).unwrap_or(0);
        if bound == self.address() && !self.inner.destroyed.load(Ordering::Relaxed) {
            return Ok((self.api(), false));
        }
        Ok((self.bind()?, true))
    }

    /// Launches, after [`Context::bind_for_launch`], which also said whether it is `sure`. Else
    /// another library may have made another context current: then the driver refuses, since the
    /// stream and the kernel are of this one, and it is tried again.
    #[inline]
    pub(crate) fn launch(&self, sure: bool, mut launch: impl FnMut() -> CUresult) -> CUresult {
        let result = launch();
        if result == CUresult::CUDA_SUCCESS || sure || self.bind().is_err() {
            return result;
        }
        launch()
    }

    /// A number that no other context has as long as this one is alive.
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

    /// A stream for work that the calling thread waits for, or that has nothing to wait for.
    ///
    /// The driver's own stream for each thread would do, but a thread that used it in a context
    /// that is then lost never ends: libcuda's destructor for the thread waits for the stream
    /// (driver 580.159.04, `tests/fault_kinds.rs`).
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

    /// Lets the work put into a stream from now on come after all that is in `other`.
    pub(crate) fn order(&self, stream: CUstream, other: &StreamInner) -> CudaResult<()> {
        let doing = || "letting a stream wait for another".to_owned();
        let api = self.bind()?;
        // One event for all: the driver takes down what it stands for when it is waited for, so
        // it may be recorded anew at once; but not in between.
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

    /// What the device allows launches.
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

    /// The pool that device memory comes from; `None` for devices without pools.
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
        // SAFETY: plain numbers, for which zeros are valid.
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
        // What is freed stays at hand up to a part of the memory. The host waits for allocations,
        // so these must not come to wait for frees in streams that are busy.
        let mut kept = (device.total_memory().unwrap_or(0) / KEPT_FRACTION) as u64;
        let mut no = 0i32;
        use cust_raw::CUmemPool_attribute as Attribute;
        let threshold = Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        let dependencies = Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
        // SAFETY: the values are of the attributes' types. Both are only advice.
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

    /// Gives freed device memory that is kept for later buffers back to the system, but for
    /// `keep` bytes.
    pub fn trim_memory(&self, keep: usize) -> CudaResult<()> {
        let api = self.bind()?;
        let Some(pool) = self.pool() else {
            return Ok(());
        };
        // SAFETY: the pool is alive.
        let result = unsafe { api.driver.cuMemPoolTrimTo(pool, keep) };
        api.check(result, || "giving back unused memory".to_owned())
    }

    pub(crate) fn add_report(&self, report: &Arc<Report>) {
        lock(&self.inner.reports).push(Arc::clone(report));
    }

    /// Takes the report of a module that is being dropped off the list; a panic in it is kept for
    /// the next synchronize.
    pub(crate) fn remove_report(&self, report: &Arc<Report>) {
        let mut reports = lock(&self.inner.reports);
        if self.inner.destroyed.load(Ordering::Relaxed) {
            return;
        }
        reports.retain(|known| !Arc::ptr_eq(known, report));
        // Only read: the variable that would have to be armed went with the module.
        if let Some(panic) = report.read(true) {
            lock(&self.inner.pending).push(panic);
        }
    }

    /// Forgets the kernels launched in a stream that is done and goes away.
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

    /// Notes that a kernel was launched.
    pub(crate) fn note_kernel(&self, kernel: &Arc<str>, stream: &Arc<StreamInner>, number: u64) {
        let last = &self.inner.last;
        let (stream_id, place) = (stream.id(), kernel.as_ptr().addr());
        // The usual case: one kernel again and again.
        if last.stream.load(Ordering::Relaxed) == stream_id
            && last.kernel.load(Ordering::Relaxed) == place
        {
            last.number.store(number, Ordering::Relaxed);
            return;
        }
        let mut launched = self.launched();
        while launched.len() >= LAUNCHES || launched.front().is_some_and(Launched::is_past) {
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

    /// The launches remembered, the last of them up to date.
    fn launched(&self) -> MutexGuard<'_, VecDeque<Launched>> {
        let mut launched = lock(&self.inner.launched);
        if let Some(back) = launched.back_mut() {
            let number = self.inner.last.number.load(Ordering::Relaxed);
            back.number = back.number.max(number);
        }
        launched
    }

    /// The kernels that may have been running just now, those launched last if there are many.
    fn kernels_in_flight(&self) -> Vec<String> {
        let mut kernels: Vec<String> = Vec::new();
        for launched in self.launched().iter() {
            let known = kernels.iter().any(|kernel| **kernel == *launched.kernel);
            if !known && !launched.is_past() {
                kernels.push(launched.kernel.to_string());
            }
        }
        kernels
    }

    /// Ends a wait: looks for panic reports. `stream` is what was waited for, `None` for the whole
    /// context.
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

    /// The next panic that was reported, and that whoever waits for this stream, or for several, has
    /// not been told.
    fn take_panic(&self, stream: Option<usize>) -> Option<Reported> {
        let reports = lock(&self.inner.reports);
        let mut pending = lock(&self.inner.pending);
        self.take_reports(&reports, &mut pending, stream);
        // What is no stream's handle stands for several.
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

    /// Takes complete reports out. `waited` is the stream that was waited for, `None` for all.
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

/// A stream that one call uses; then the next may. See [`Context::private_stream`].
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

fn set_process_default(inner: Option<Arc<ContextInner>>) {
    let mut default = PROCESS_DEFAULT.write().unwrap_or_else(|e| e.into_inner());
    let former = std::mem::replace(&mut *default, inner);
    // It may be the last reference, and its drop calls the driver.
    drop(default);
    drop(former);
}

/// Says on stderr at the end of the process which kernels panicked without anybody's having waited
/// for them, as the standard library does for threads. It looks at memory of the host alone.
fn report_untold_at_exit() {
    extern "C" fn report() {
        // Unwinding into the C library would be undefined. What is locked is left alone: nobody may
        // be there any more to unlock it.
        let _ = std::panic::catch_unwind(|| {
            let Ok(alive) = ALIVE.try_lock() else { return };
            let alive = alive.iter().flat_map(HashMap::values);
            for inner in alive.filter_map(Weak::upgrade) {
                if let (Ok(reports), Ok(mut pending)) =
                    (inner.reports.try_lock(), inner.pending.try_lock())
                {
                    pending.extend(reports.iter().filter_map(|report| report.read(false)));
                    report::print_untold(&mut pending);
                }
                // The driver may be about to go: nothing is released any more.
                std::mem::forget(inner);
            }
        });
    }
    unsafe extern "C" {
        fn atexit(callback: extern "C" fn()) -> std::ffi::c_int;
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    // After the driver was initialized, so that this comes before what the driver does at exit.
    // SAFETY: the function is there as long as the process.
    ONCE.call_once(|| {
        if !cfg!(miri) {
            let _ = unsafe { atexit(report) };
        }
    });
}

/// Before another caller's work on this thread, which may begin with a launch.
pub(crate) fn forget_bound() {
    let _ = BOUND.try_with(|bound| bound.set(0));
}

/// Notes that the context that this thread called the driver for is lost.
#[cold]
pub(crate) fn note_lost(code: CUresult) {
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
        report::print_untold(&mut lock(&self.pending));
        let ordering = lock(&self.ordering).take();
        let streams = std::mem::take(&mut *lock(&self.private_streams));
        let pool = self.pool.take().flatten();
        let_stream_go_on();
        if self.lost.load(Ordering::SeqCst) != 0 && !self.destroyed.load(Ordering::SeqCst) {
            // The driver's calls fail, and some were seen to hang.
            return;
        }
        let own_nothing = ordering.is_none() && streams.is_empty() && pool.is_none();
        if !self.destroyed.load(Ordering::SeqCst) && !own_nothing {
            // SAFETY: all were made in this context, which is alive, and go only here. The pool's
            // memory goes with the last of its allocations.
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
        // SAFETY: retained once in `retain`, released once here. At the process's end the driver
        // may be gone already, and says so; there is nothing left to do then.
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

/// The priorities that streams can have; lower numbers are served first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPriorityRange {
    /// The lowest priority (the largest number).
    pub least: i32,
    /// The highest priority (the smallest number).
    pub greatest: i32,
}

/// The context that the calling thread works in.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// Makes a context current for this thread.
    pub fn set_current(context: &Context) -> CudaResult<()> {
        context.bind()?;
        let weak = Arc::downgrade(&context.inner);
        // A thread that is ending has no place to keep it, and no further calls to make either.
        let _ = CURRENT.try_with(|current| *current.borrow_mut() = weak);
        Ok(())
    }

    /// The current context: this thread's, else the process's default.
    pub fn get() -> CudaResult<Context> {
        Context::current("asking for the current context")
    }

    /// The current context's device.
    pub fn get_device() -> CudaResult<Device> {
        Ok(CurrentContext::get()?.device())
    }

    /// The current context's flags.
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
