//! Contexts: a device in use by this process, with everything allocated on it.
//!
//! This crate uses each device's *primary* context, which it shares with libraries such as cuBLAS.
//! Objects (buffers, streams, modules …) keep their context alive, and make it current in the
//! driver for their own calls, on whatever thread. Functions that create objects
//! (`DeviceBuffer::zeroed`, `Stream::new`, `Module::from_ptx`) use the context that the calling
//! thread made current with [`CurrentContext::set_current`], or the process's default context,
//! which is the context created last.
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//!
//! let context = Context::new(Device::of(Backend::Emulator, 0)?)?;
//! // Another thread uses the default context, and may also make a context current itself.
//! let buffer = std::thread::spawn(move || {
//!     CurrentContext::set_current(&context)?;
//!     DeviceBuffer::from_slice(&[1u32, 2, 3])
//! });
//! let buffer = buffer.join().expect("the thread does not panic")?;
//! assert_eq!(buffer.as_host_vec()?, [1, 2, 3]);
//! assert_eq!(*buffer.context(), CurrentContext::get()?);
//! # Ok::<(), cust::error::Error>(())
//! ```

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock, Weak};

use cust_raw::{CUcontext, CUfunc_cache, CUlimit, CUresult, CUstreamCaptureMode};

use crate::backend::{Api, Backend, on_fault, set_default};
use crate::bound_context;
use crate::device::{Device, DeviceAttribute};
use crate::error::{CudaError, CudaResult, Error};
use crate::host_call::release_stream;
use crate::waker::Waiting;

/// The size of the largest log that the driver returns.
const LOG_BYTES: usize = 25_600;

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
    pub(crate) fn raw(self) -> CUlimit {
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
    /// Set by `Context::reset`, which destroys everything created in the context.
    destroyed: AtomicBool,
    /// The driver's code of the fault that lost the context, or 0. A lost context executes no more
    /// work, and the driver is not called for it again.
    lost: AtomicU32,
    /// Futures that wait for the driver's callback.
    waiting: Mutex<Vec<Weak<Waiting>>>,
    /// The device's limits of launches; queried on first use.
    limits: OnceLock<DeviceLimits>,
    /// The state that other modules keep for the context, created on first use.
    extensions: [OnceLock<Box<dyn Extension>>; EXTENSIONS],
}

/// The number of types that implement [`Slot`].
const EXTENSIONS: usize = 4;

/// State that a higher layer keeps for each context.
pub(crate) trait Extension: Any + Send + Sync {
    /// Called when the context is reset, which destroys everything in it.
    fn on_reset(&self) {}

    /// Destroys the driver's objects. The context is current, and neither reset nor lost.
    fn release(&mut self, _api: &Api) {}

    /// Called when the process exits. Other threads may have stopped while they held locks.
    fn at_exit(&self) {}
}

/// The place of an [`Extension`] in the context.
pub(crate) trait Slot: Extension + Default {
    /// A number below `EXTENSIONS`, different for each type.
    const SLOT: usize;
}

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
pub(crate) struct Handle<T>(pub(crate) T);

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
/// The address of the context in `PROCESS_DEFAULT`, or 0.
static DEFAULT_ADDRESS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The context that this thread made current.
    static CURRENT: RefCell<Weak<ContextInner>> = const { RefCell::new(Weak::new()) };
    /// The context whose address `bound_context` has. The weak reference prevents reuse of the
    /// address.
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
            destroyed: AtomicBool::new(false),
            lost: AtomicU32::new(0),
            waiting: Mutex::default(),
            limits: OnceLock::new(),
            extensions: Default::default(),
        });
        alive.insert(key, Arc::downgrade(&inner));
        on_fault(record_lost);
        run_at_exit();
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

    /// Returns whether [`Context::current`] returns this context; takes no lock. The result may be
    /// `false` in any case on a thread that is exiting.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        let is_current = |current: &RefCell<Weak<ContextInner>>| {
            let current = current.borrow();
            std::ptr::eq(current.as_ptr(), Arc::as_ptr(&self.inner))
                || (current.strong_count() == 0
                    && DEFAULT_ADDRESS.load(Ordering::Acquire) == self.address())
        };
        CURRENT.try_with(is_current).unwrap_or(false)
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
    ///
    /// # Errors
    ///
    /// Returns the driver's error for flags that it does not know.
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
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
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

    /// Returns a resource limit.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let context = cust::quick_init_on(Backend::Emulator)?;
    /// let bytes = context.get_resource_limit(ResourceLimit::StackSize)?;
    /// context.set_resource_limit(ResourceLimit::StackSize, 2 * bytes)?;
    /// assert_eq!(context.get_resource_limit(ResourceLimit::StackSize)?, 2 * bytes);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn get_resource_limit(&self, limit: ResourceLimit) -> CudaResult<usize> {
        let api = self.bind()?;
        let mut value = 0;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetLimit(&mut value, limit.raw()) };
        api.check(result, || format!("querying the limit {limit:?}"))?;
        Ok(value)
    }

    /// Returns the CUDA version that the driver supports, as (major, minor).
    ///
    /// # Errors
    ///
    /// Returns the driver's error.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let context = cust::quick_init_on(Backend::Emulator)?;
    /// assert_eq!(context.driver_version()?, (13, 0));
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn driver_version(&self) -> CudaResult<(u32, u32)> {
        let version = self.api().version()? as u32;
        Ok((version / 1000, version % 1000 / 10))
    }

    /// Returns the driver's log of errors in this process: messages with more detail than the error
    /// codes, such as the limit that a launch exceeded. The log of the emulator describes the last
    /// fault.
    ///
    /// The log can be read after the context was lost. The driver keeps the most recent messages.
    ///
    /// # Errors
    ///
    /// Returns the driver's error: `CUDA_ERROR_NOT_FOUND` for drivers before CUDA 12.9, which have
    /// no log.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let context = cust::quick_init_on(Backend::Emulator)?;
    /// if let Err(error) = context.synchronize() {
    ///     eprintln!("{error}\n{}", context.driver_log()?);
    /// }
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn driver_log(&self) -> CudaResult<String> {
        let api = self.api();
        let mut buffer = vec![0u8; LOG_BYTES];
        let mut size = buffer.len();
        // SAFETY: the buffer has `size` bytes; without an iterator, the driver copies all messages.
        let result = unsafe {
            api.driver.cuLogsDumpToMemory(
                std::ptr::null_mut(),
                buffer.as_mut_ptr().cast(),
                &mut size,
                0,
            )
        };
        api.check(result, || "reading the driver's log".to_owned())?;
        let text = buffer.get(..size).unwrap_or(&buffer);
        let end = text.iter().position(|&byte| byte == 0);
        Ok(String::from_utf8_lossy(&text[..end.unwrap_or(text.len())]).into_owned())
    }

    /// Returns the lowest and the highest stream priority. Lower numbers are higher priorities.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let context = cust::quick_init_on(Backend::Emulator)?;
    /// let range = context.stream_priority_range()?;
    /// let urgent = Stream::new(StreamFlags::NON_BLOCKING, Some(range.greatest))?;
    /// assert_eq!(urgent.get_priority()?, range.greatest);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
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
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn id(&self) -> CudaResult<u64> {
        let api = self.bind()?;
        let mut id = 0;
        // SAFETY: the context is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuCtxGetId(self.inner.raw, &mut id) };
        api.check(result, || "querying the context's ID".to_owned())?;
        Ok(id)
    }

    /// Returns the driver API version of the context.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
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
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
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
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn set_cache_config(&self, config: CacheConfig) -> CudaResult<()> {
        let api = self.bind()?;
        // SAFETY: takes no pointers.
        let result = unsafe { api.driver.cuCtxSetCacheConfig(config.raw()) };
        api.check(result, || {
            format!("setting the cache preference to {config:?}")
        })
    }

    /// Resets all persisting lines of the L2 cache to normal.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
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
            inner.each_extension(|extension| extension.on_reset());
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
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn driver(&self) -> CudaResult<&'static cust_raw::Driver> {
        Ok(self.bind()?.driver)
    }

    /// Returns the state that a higher layer keeps for the context.
    #[inline]
    pub(crate) fn extension<T: Slot>(&self) -> &T {
        let extension = self.inner.extensions[T::SLOT].get_or_init(|| Box::new(T::default()));
        let any: &dyn Any = &**extension;
        any.downcast_ref().expect("each type has a slot of its own")
    }

    /// Returns whether the context was reset.
    pub(crate) fn is_reset(&self) -> bool {
        self.inner.destroyed.load(Ordering::SeqCst)
    }

    /// Returns whether a fault has lost the context.
    pub(crate) fn is_lost(&self) -> bool {
        self.inner.lost.load(Ordering::SeqCst) != 0
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
        if bound_context::get() != self.address() {
            self.record_bound();
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
            Some(code) if code.is_sticky() => self.record_lost(result),
            Some(_) => {}
        }
        Err(self.api().error(result, doing()))
    }

    /// Records that this crate made the context current in the driver for this thread.
    #[cold]
    fn record_bound(&self) {
        let _ = BOUND_TO.try_with(|bound| *bound.borrow_mut() = Arc::downgrade(&self.inner));
        bound_context::set(self.address());
        // Else the driver would refuse to wait and to allocate while any thread captures a stream.
        let [relaxed, mut mode] = [
            CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
            CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        ];
        // SAFETY: the pointer is valid for the call. On failure, the mode is unchanged.
        let mut exchange = || unsafe {
            let _ = (self.api().driver).cuThreadExchangeStreamCaptureMode(&mut mode);
            mode
        };
        if exchange() == relaxed {
            exchange();
        }
    }

    /// Records that a fault has lost the context.
    fn record_lost(&self, code: CUresult) {
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
    pub(crate) fn record_waiting(&self, future: &Arc<Waiting>) {
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
        if bound_context::get() == self.address() && !self.inner.destroyed.load(Ordering::Relaxed) {
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
        if result == CUresult::CUDA_SUCCESS || sure {
            return result;
        }
        self.retry_launch(result, launch)
    }

    #[cold]
    fn retry_launch(&self, result: CUresult, launch: impl FnOnce() -> CUresult) -> CUresult {
        match self.bind() {
            Ok(_) => launch(),
            Err(_) => result,
        }
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
}

impl Device {
    /// Returns the flags of the device's primary context, and whether the context is active in this
    /// process.
    ///
    /// # Errors
    ///
    /// Returns the driver's error.
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
    DEFAULT_ADDRESS.store(
        inner.as_ref().map_or(0, |inner| Arc::as_ptr(inner).addr()),
        Ordering::Release,
    );
    let former = std::mem::replace(&mut *default, inner);
    // Drop `former` after unlocking: it may be the last reference, whose drop calls the driver.
    drop(default);
    drop(former);
}

/// Registers a function that calls [`Extension::at_exit`] when the process exits.
fn run_at_exit() {
    extern "C" fn run() {
        // Unwinding into the C library is undefined behavior. `try_lock`, because the thread that
        // holds a lock may no longer exist.
        let _ = std::panic::catch_unwind(|| {
            let Ok(alive) = ALIVE.try_lock() else { return };
            let alive = alive.iter().flat_map(HashMap::values);
            for inner in alive.filter_map(Weak::upgrade) {
                inner.each_extension(|extension| extension.at_exit());
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
            let _ = unsafe { atexit(run) };
        }
    });
}

/// Records that the context that this crate last made current for this thread is lost.
#[cold]
fn record_lost(code: CUresult) {
    let bound = BOUND_TO.try_with(|bound| bound.borrow().upgrade());
    if let Ok(Some(inner)) = bound {
        Context { inner }.record_lost(code);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl ContextInner {
    fn each_extension(&self, f: impl Fn(&dyn Extension)) {
        for extension in self.extensions.iter().filter_map(OnceLock::get) {
            f(&**extension);
        }
    }
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        let api = self.device.api;
        release_stream();
        let reset = self.destroyed.load(Ordering::SeqCst);
        if self.lost.load(Ordering::SeqCst) != 0 && !reset {
            // In a lost context, the driver's calls fail, and some have been observed to hang.
            return;
        }
        let extensions = self.extensions.iter_mut().filter_map(OnceLock::get_mut);
        let mut extensions = extensions.filter(|_| !reset).peekable();
        if extensions.peek().is_some() {
            // SAFETY: the context is alive.
            let _ = unsafe { api.driver.cuCtxSetCurrent(self.raw) };
        }
        for extension in extensions {
            extension.release(api);
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
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let context = CurrentContext::get()?;
    /// std::thread::scope(|scope| {
    ///     let thread = scope.spawn(|| {
    ///         CurrentContext::set_current(&context)?;
    ///         Ok(CurrentContext::get()? == context)
    ///     });
    ///     let same: CudaResult<bool> = thread.join().expect("the thread does not panic");
    ///     assert!(same?);
    ///     CudaResult::Ok(())
    /// })?;
    /// # Ok::<(), cust::error::Error>(())
    /// ```
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
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] if no context is alive.
    pub fn get_device() -> CudaResult<Device> {
        Ok(CurrentContext::get()?.device())
    }

    /// Returns the current context's flags.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] if no context is alive, and the driver's error if the context
    /// was reset or lost.
    pub fn get_flags() -> CudaResult<ContextFlags> {
        CurrentContext::get()?.flags()
    }

    /// See [`Context::get_resource_limit`].
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] if no context is alive, and the driver's error if the context
    /// was reset or lost.
    pub fn get_resource_limit(limit: ResourceLimit) -> CudaResult<usize> {
        CurrentContext::get()?.get_resource_limit(limit)
    }

    /// See [`Context::stream_priority_range`].
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] if no context is alive, and the driver's error if the context
    /// was reset or lost.
    pub fn get_stream_priority_range() -> CudaResult<StreamPriorityRange> {
        CurrentContext::get()?.stream_priority_range()
    }
}
