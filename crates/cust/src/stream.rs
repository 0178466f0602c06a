//! Streams: queues of work that a device executes in order.
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let (first, second) = (
//!     Stream::new(StreamFlags::NON_BLOCKING, None)?,
//!     Stream::new(StreamFlags::NON_BLOCKING, None)?,
//! );
//! // … enqueue work into `first` …
//! second.wait_for(&first)?; // later work in `second` starts after it
//! second.synchronize()?;
//! # Ok::<(), cust::error::Error>(())
//! ```

use std::any::Any;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use cust_raw::{CUresult, CUstream, CUstreamWaitValue_flags};

use crate::backend::Api;
use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::host_call;
use crate::progress::Progress;
use crate::report::Waited;

bitflags::bitflags! {
    /// How a stream synchronizes with the legacy default stream.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct StreamFlags: u32 {
        /// The stream synchronizes implicitly with the default stream.
        const DEFAULT = 0;
        /// The stream does not synchronize implicitly with the default stream.
        const NON_BLOCKING = 1;
    }
}

bitflags::bitflags! {
    /// How a stream waits for an event. Only the default is defined.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct StreamWaitEventFlags: u32 {
        /// The default.
        const DEFAULT = 0;
    }
}

/// A queue of work.
///
/// Copies and kernels in one stream execute in order; those in different streams may execute
/// concurrently. Dropping a stream does not wait: pending work in it still completes.
///
/// # Examples
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
/// stream.synchronize()?;
/// # Ok::<(), cust::error::Error>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    inner: Arc<StreamInner>,
}

/// A stream, and its known ordering with work of other streams. Buffers that it used keep it alive.
pub(crate) struct StreamInner {
    pub(crate) raw: CUstream,
    pub(crate) context: Context,
    progress: Arc<Progress>,
    /// For each other stream, by ID: the sequence number up to which this stream has waited for it.
    seen: Mutex<Vec<(u64, u64)>>,
    /// Whether the stream is being captured into a graph.
    capturing: AtomicBool,
    /// Device memory for launches with host slices, while no launch uses it.
    pub(crate) scratch: Mutex<Option<Scratch>>,
    /// The object that the stream belongs to, kept alive.
    owner: Option<Arc<dyn Any + Send + Sync>>,
}

impl std::ops::Deref for StreamInner {
    type Target = Progress;

    #[inline]
    fn deref(&self) -> &Progress {
        &self.progress
    }
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for StreamInner {}
// SAFETY: as above; the other fields are atomic or behind a mutex.
unsafe impl Sync for StreamInner {}

impl std::fmt::Debug for StreamInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("raw", &self.raw)
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

impl StreamInner {
    fn new(raw: CUstream, context: Context) -> StreamInner {
        StreamInner {
            raw,
            context,
            progress: Arc::new(Progress::new()),
            seen: Mutex::new(Vec::new()),
            capturing: AtomicBool::new(false),
            scratch: Mutex::new(None),
            owner: None,
        }
    }

    /// Returns the stream's progress, which outlives it.
    #[inline]
    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    fn seen(&self) -> MutexGuard<'_, Vec<(u64, u64)>> {
        self.seen.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns whether later work in this stream is already ordered after the work of `other` up to
    /// `number`.
    #[inline]
    pub(crate) fn is_after(&self, other: &StreamInner, number: u64) -> bool {
        if self.id() == other.id() || other.is_complete(number) {
            return true;
        }
        let seen = self.seen();
        seen.iter()
            .any(|&(id, up_to)| id == other.id() && up_to >= number)
    }

    /// Orders later work in this stream after all pending work in `other`.
    pub(crate) fn wait_for(&self, other: &StreamInner) -> CudaResult<()> {
        let issued = other.issued();
        if self.is_after(other, issued) {
            return Ok(());
        }
        self.context.order(self.raw, other)?;
        self.record_seen(other, issued);
        Ok(())
    }

    /// Records that this stream has waited for the work of `other` up to `number`.
    pub(crate) fn record_seen(&self, other: &StreamInner, number: u64) {
        let mut seen = self.seen();
        match seen.iter_mut().find(|(id, _)| *id == other.id()) {
            Some((_, up_to)) => *up_to = number.max(*up_to),
            None => seen.push((other.id(), number)),
        }
    }

    /// Waits until no work of the stream accesses memory any more. Kernel panics are left for the
    /// next `synchronize`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot wait, for example because other code is capturing
    /// the stream. Work may then still be running.
    pub(crate) fn settle(&self) -> CudaResult<()> {
        let issued = self.issued();
        let waited = self.context.bind().and_then(|api| {
            // SAFETY: the stream is alive.
            let result = unsafe { api.driver.cuStreamSynchronize(self.raw) };
            api.check(result, || "waiting for a stream".to_owned())
        });
        match waited {
            Err(error) if !error.ends_all_work() => return Err(error),
            // A destroyed or lost context executes no more work.
            _ => self.mark_complete(issued),
        }
        Ok(())
    }

    /// Waits until no work of the stream accesses memory any more, and aborts the process if that
    /// is impossible. For work on memory that the caller has only borrowed.
    ///
    /// # Errors
    ///
    /// Returns an error only if the error ended all work in the context.
    pub(crate) fn settle_surely(&self) -> CudaResult<()> {
        let issued = self.issued();
        let doing = || "waiting for a stream".to_owned();
        // SAFETY: the stream is alive.
        let waited = unsafe { wait_surely(&self.context, self.raw, doing) };
        self.mark_complete(issued);
        waited
    }

    pub(crate) fn set_capturing(&self, capturing: bool) {
        if self.capturing.swap(capturing, Ordering::SeqCst) == capturing {
            return;
        }
        match capturing {
            true => CAPTURES.fetch_add(1, Ordering::SeqCst),
            false => CAPTURES.fetch_sub(1, Ordering::SeqCst),
        };
    }

    /// Returns whether enqueued work is recorded into a graph instead of executed: because the
    /// stream is being captured, or because it has joined the capture of another stream by waiting
    /// for an event in it.
    #[inline]
    pub(crate) fn is_capturing(&self) -> bool {
        self.capturing.load(Ordering::Acquire)
            || (CAPTURES.load(Ordering::Acquire) > 0 && is_captured(self.context.api(), self))
    }
}

/// The number of captures in progress. While there is none, no stream need be asked for its status.
/// Captures that other code begins with the driver's handle are not counted: beginning one is
/// unsafe, and that code must not enqueue safe launches and copies into the stream.
static CAPTURES: AtomicUsize = AtomicUsize::new(0);

/// Waits until no work of a stream accesses memory any more, and aborts the process if that is
/// impossible. For work on memory that the caller has only borrowed.
///
/// # Errors
///
/// Returns an error only if the error ended all work in the context.
///
/// # Safety
///
/// The stream must be alive and belong to the context.
pub(crate) unsafe fn wait_surely(
    context: &Context,
    stream: CUstream,
    doing: impl Fn() -> String,
) -> CudaResult<()> {
    // The driver refuses to wait while other code is capturing the stream.
    for _ in 0..1000 {
        let waited = context.bind().and_then(|api| {
            // SAFETY: as the caller promises.
            let result = unsafe { api.driver.cuStreamSynchronize(stream) };
            api.check(result, &doing)
        });
        match waited {
            Err(error) if !error.ends_all_work() => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            waited => return waited,
        }
    }
    use std::io::Write;
    // stderr may be closed: ignore the error.
    let _ = writeln!(
        std::io::stderr(),
        "fatal: cannot wait for a stream whose pending work accesses host memory"
    );
    std::process::abort()
}

/// Returns whether the driver records the work of a stream into a graph. A stream also joins the
/// capture of another stream when it waits for an event in it.
pub(crate) fn is_captured(api: &Api, stream: &StreamInner) -> bool {
    use cust_raw::CUstreamCaptureStatus as Status;
    let mut status = Status::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is alive, and the pointer is valid for the call. On failure, the status is
    // unchanged.
    let _ = unsafe { api.driver.cuStreamIsCapturing(stream.raw, &mut status) };
    status != Status::CU_STREAM_CAPTURE_STATUS_NONE
}

impl Stream {
    /// Wraps a stream that belongs to `owner`, such as a green context.
    pub(crate) fn of_raw(
        raw: CUstream,
        context: Context,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Stream {
        let mut inner = StreamInner::new(raw, context);
        inner.owner = Some(owner);
        Stream {
            inner: Arc::new(inner),
        }
    }

    /// Creates a stream in the current context.
    ///
    /// Lower numbers are higher priorities; `None` is the default priority, 0. See
    /// [`Context::stream_priority_range`].
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context, and the driver's error if it cannot create
    /// the stream.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let priorities = context.stream_priority_range()?;
    /// let urgent = Stream::new(StreamFlags::NON_BLOCKING, Some(priorities.greatest))?;
    /// assert_eq!(urgent.get_priority()?, priorities.greatest);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Stream> {
        let context = Context::current("creating a stream")?;
        let api = context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        let result = unsafe {
            let priority = priority.unwrap_or(0);
            api.driver
                .cuStreamCreateWithPriority(&mut raw, flags.bits(), priority)
        };
        api.check(result, || "creating a stream".to_owned())?;
        let inner = Arc::new(StreamInner::new(raw, context));
        Ok(Stream { inner })
    }

    /// Waits until all work in the stream is complete.
    ///
    /// # Errors
    ///
    /// Returns [`Error::KernelPanic`] or [`Error::StackOverflow`] if a kernel reported one, and
    /// [`Error::Driver`] if a kernel faulted.
    pub fn synchronize(&self) -> CudaResult<()> {
        let api = self.inner.context.bind()?;
        let issued = self.inner.issued();
        // SAFETY: the stream is alive.
        let result = unsafe { api.driver.cuStreamSynchronize(self.inner.raw) };
        let waited = api.check(result, || "waiting for a stream".to_owned());
        if waited.is_ok() {
            self.inner.mark_complete(issued);
        }
        (self.inner.context).finish_wait(waited, Waited::Stream(self.inner.id()))
    }

    /// Returns whether all work in the stream is complete, without waiting.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if a kernel faulted, if the stream is being captured, or if the
    /// context was reset or lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// // … enqueue work …
    /// while !stream.query()? {
    ///     std::thread::yield_now(); // or do other work
    /// }
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn query(&self) -> CudaResult<bool> {
        let api = self.inner.context.bind()?;
        let issued = self.inner.issued();
        // SAFETY: the stream is alive.
        let result = unsafe { api.driver.cuStreamQuery(self.inner.raw) };
        if result == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(false);
        }
        api.check(result, || "querying whether a stream is done".to_owned())?;
        self.inner.mark_complete(issued);
        Ok(true)
    }

    /// Makes later work in the stream wait for all work that is pending in `other` now. The host
    /// does not wait.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if `other` belongs to another context.
    pub fn wait_for(&self, other: &Stream) -> CudaResult<()> {
        let doing = || "making a stream wait for another stream".to_owned();
        let context = &self.inner.context;
        context.require_same(&other.inner.context, doing)?;
        // Work that was enqueued through the raw handle has no sequence number, so the numbers
        // cannot show that there is nothing to wait for.
        context.order(self.inner.raw, &other.inner)
    }

    /// Calls `callback` on another thread when all work that is pending in the stream is complete.
    ///
    /// Work enqueued later waits until the callback returns or calls a function of this crate that
    /// calls the driver; from then on, the callback no longer blocks its stream. A callback may
    /// therefore use and drop any object, and wait for any stream, including its own.
    ///
    /// A panic in the callback is caught and discarded. If the context is lost before the callback
    /// is called, the callback is dropped instead.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Capturing`] while the stream is being captured, because a callback can be
    /// called only once, but a graph launched any number of times.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// // … enqueue work …
    /// stream.add_callback(move || sender.send("complete").expect("the receiver waits"))?;
    /// assert_eq!(receiver.recv(), Ok("complete"));
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn add_callback<F>(&self, callback: F) -> CudaResult<()>
    where
        F: FnOnce() + Send + 'static,
    {
        unsafe extern "C" fn call<F: FnOnce() + Send + 'static>(
            _stream: CUstream,
            result: CUresult,
            callback: *mut c_void,
        ) {
            // SAFETY: created by `Box::into_raw` below, and passed here once.
            let callback = unsafe { Box::from_raw(callback.cast::<F>()) };
            host_call::call_and_wait(move || {
                if result == CUresult::CUDA_SUCCESS {
                    callback();
                }
            });
        }
        let doing = || "adding a callback to a stream".to_owned();
        if self.inner.is_capturing() {
            return Err(Error::Capturing { doing: doing() });
        }
        let api = self.inner.context.bind()?;
        let callback = Box::into_raw(Box::new(callback));
        // Unlike `cuLaunchHostFunc`, `cuStreamAddCallback` also calls back after a fault. The
        // callback is then dropped, which unblocks threads that wait for an object it captured,
        // such as the sender of a channel.
        // SAFETY: `call` takes exactly this pointer, once.
        let result = unsafe {
            api.driver
                .cuStreamAddCallback(self.inner.raw, Some(call::<F>), callback.cast(), 0)
        };
        if result != CUresult::CUDA_SUCCESS {
            // SAFETY: the driver rejected the callback, and will not call it.
            drop(unsafe { Box::from_raw(callback) });
        } else {
            self.inner.next_number();
        }
        api.check(result, doing)
    }

    /// Returns the stream's flags.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn get_flags(&self) -> CudaResult<StreamFlags> {
        let api = self.inner.context.bind()?;
        let mut flags = 0;
        // SAFETY: the stream is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuStreamGetFlags(self.inner.raw, &mut flags) };
        api.check(result, || "querying a stream's flags".to_owned())?;
        Ok(StreamFlags::from_bits_truncate(flags))
    }

    /// Returns the stream's priority. Lower numbers are higher priorities.
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
    /// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    /// assert_eq!(stream.get_priority()?, 0);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn get_priority(&self) -> CudaResult<i32> {
        let api = self.inner.context.bind()?;
        let mut priority = 0;
        // SAFETY: the stream is alive, and the pointer is valid for the call.
        let result = unsafe {
            api.driver
                .cuStreamGetPriority(self.inner.raw, &mut priority)
        };
        api.check(result, || "querying a stream's priority".to_owned())?;
        Ok(priority)
    }

    /// Returns the driver's ID of the stream, which profilers display.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the context was reset or lost.
    pub fn id(&self) -> CudaResult<u64> {
        let api = self.inner.context.bind()?;
        let mut id = 0;
        // SAFETY: the stream is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuStreamGetId(self.inner.raw, &mut id) };
        api.check(result, || "querying a stream's ID".to_owned())?;
        Ok(id)
    }

    /// Returns the context that the stream belongs to.
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// Returns the driver's handle.
    pub fn as_inner(&self) -> CUstream {
        self.inner.raw
    }

    pub(crate) fn inner(&self) -> &Arc<StreamInner> {
        &self.inner
    }
}

/// The condition of [`Stream::wait_value`]. `found` is the value in memory, and `value` the
/// argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitUntil {
    /// `found` is at least `value`, with wraparound: `(found - value) as signed >= 0`.
    AtLeast,
    /// `found == value`.
    Equal,
    /// `found & value != 0`.
    AnyBit,
    /// `!(found | value) != 0`.
    Nor,
}

impl WaitUntil {
    pub(crate) fn raw(self) -> CUstreamWaitValue_flags {
        match self {
            WaitUntil::AtLeast => CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ,
            WaitUntil::Equal => CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_EQ,
            WaitUntil::AnyBit => CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_AND,
            WaitUntil::Nor => CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_NOR,
        }
    }
}

mod value {
    use cust_raw::{
        CUdeviceptr, CUresult, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpType, Driver,
    };

    /// A type that streams can write and wait for: `u32` or `u64`.
    pub trait StreamValue: cust_core::traits::DeviceCopy {
        /// Enqueues a write of `value` to the address `to`.
        ///
        /// # Safety
        ///
        /// The address must be valid for a write of the type.
        unsafe fn write(d: &Driver, stream: CUstream, to: CUdeviceptr, value: Self) -> CUresult;

        /// Makes the stream wait for the value at the address `of`.
        ///
        /// # Safety
        ///
        /// The address must be valid for reads of the type until the wait is over.
        unsafe fn wait(
            d: &Driver,
            stream: CUstream,
            of: CUdeviceptr,
            value: Self,
            flags: u32,
        ) -> CUresult;

        /// Returns the write as an operation of a batch.
        fn write_operation(self, to: CUdeviceptr) -> CUstreamBatchMemOpParams;
    }

    macro_rules! values {
        ($($ty:ty: $write:ident $wait:ident $operation:ident $value:ident;)*) => {
            $(impl StreamValue for $ty {
                unsafe fn write(
                    d: &Driver,
                    stream: CUstream,
                    to: CUdeviceptr,
                    value: Self,
                ) -> CUresult {
                    // SAFETY: as the caller promises.
                    unsafe { d.$write(stream, to, value.into(), 0) }
                }

                unsafe fn wait(
                    d: &Driver,
                    stream: CUstream,
                    of: CUdeviceptr,
                    value: Self,
                    flags: u32,
                ) -> CUresult {
                    // SAFETY: as the caller promises.
                    unsafe { d.$wait(stream, of, value.into(), flags) }
                }

                fn write_operation(self, to: CUdeviceptr) -> CUstreamBatchMemOpParams {
                    // SAFETY: all-zero bytes are valid for these integers.
                    let mut operation: CUstreamBatchMemOpParams = unsafe { std::mem::zeroed() };
                    operation.writeValue.operation = CUstreamBatchMemOpType::$operation;
                    operation.writeValue.address = to;
                    operation.writeValue.__bindgen_anon_1.$value = self;
                    operation
                }
            })*
        };
    }
    values! {
        u32: cuStreamWriteValue32_v2 cuStreamWaitValue32_v2
            CU_STREAM_MEM_OP_WRITE_VALUE_32 value;
        u64: cuStreamWriteValue64_v2 cuStreamWaitValue64_v2
            CU_STREAM_MEM_OP_WRITE_VALUE_64 value64;
    }
}
pub(crate) use value::StreamValue;

/// Device memory for one launch at a time. A stream keeps one small allocation, so that small
/// launches need not allocate; the cost of allocating is negligible beside that of a large copy.
pub(crate) struct Scratch {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    /// Whether the memory is from the context's pool.
    pub(crate) pooled: bool,
}

impl Scratch {
    /// Frees the memory, which no work may use any more.
    pub(crate) fn free(self, api: &Api, stream: CUstream) {
        // SAFETY: allocated once, freed once. An error means that the context is gone.
        let _ = unsafe {
            match self.pooled {
                true => api.driver.cuMemFreeAsync(self.address, stream),
                false => api.driver.cuMemFree_v2(self.address),
            }
        };
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        // Pending work in the stream still completes. An error means that the context is gone, and
        // the stream with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: the stream is alive.
            if unsafe { api.driver.cuStreamQuery(self.raw) } == CUresult::CUDA_SUCCESS {
                self.context.forget_stream(self.id());
            }
            let scratch = self.scratch.get_mut().unwrap_or_else(|e| e.into_inner());
            if let Some(scratch) = scratch.take() {
                scratch.free(api, self.raw);
            }
            // SAFETY: created by `new`, destroyed once.
            let _ = unsafe { api.driver.cuStreamDestroy_v2(self.raw) };
        }
    }
}
