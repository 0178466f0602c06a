//! Streams: queues of work that a device does in order.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use cust_core::kernel::Access;
use cust_raw::{CUresult, CUstream, CUstreamWaitValue_flags};

use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::event::Event;
use crate::function::{BlockSize, Function, GridSize};
use crate::host_call;
use crate::host_memory::Scratch;
use crate::memory::{DeviceBox, DevicePointer};
use crate::tracker::{self, Captured, Dependency};

bitflags::bitflags! {
    /// How a stream behaves towards the default stream.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct StreamFlags: u32 {
        /// Its work waits for the default stream's, and the other way round.
        const DEFAULT = 0;
        /// Its work runs beside the default stream's.
        const NON_BLOCKING = 1;
    }
}

bitflags::bitflags! {
    /// How a stream waits for an event. No flags are defined.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct StreamWaitEventFlags: u32 {
        /// As usual.
        const DEFAULT = 0;
    }
}

/// A queue of work. Copies and kernels put into it run in order; those of different streams may
/// run at the same time.
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
/// stream.synchronize()?;
/// # Ok::<(), cust::error::Error>(())
/// ```
///
/// Dropping a stream does not wait: work in it still completes.
#[derive(Debug)]
pub struct Stream {
    inner: Arc<StreamInner>,
}

/// A stream, and what is known of the order of work in it. Buffers that it used keep it alive.
pub(crate) struct StreamInner {
    pub(crate) raw: CUstream,
    pub(crate) context: Context,
    /// Unlike the driver's handle, never used again.
    id: u64,
    /// The number of the work put in last.
    issued: AtomicU64,
    /// All work up to this number is known to be done.
    past: AtomicU64,
    /// For other streams, by their ids: up to which number of theirs this one has waited.
    seen: Mutex<Vec<(u64, u64)>>,
    /// Work put in is recorded into a graph, and not done.
    capturing: AtomicBool,
    /// Device memory for launches with memory of the host, if nobody uses it now.
    pub(crate) scratch: Mutex<Option<Scratch>>,
    /// The part of the device that it is of.
    green: Option<Arc<crate::green::Inner>>,
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for StreamInner {}
// SAFETY: as above; what is ours is atomic or behind a mutex.
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
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        StreamInner {
            raw,
            context,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            issued: AtomicU64::new(0),
            past: AtomicU64::new(0),
            seen: Mutex::new(Vec::new()),
            capturing: AtomicBool::new(false),
            scratch: Mutex::new(None),
            green: None,
        }
    }

    /// Its own number, which is never 0 and never another stream's.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The number of the work put in last. All work with this number or a lower one is in the
    /// stream when this returns.
    pub(crate) fn issued(&self) -> u64 {
        self.issued.load(Ordering::SeqCst)
    }

    /// A number for work that was just put in.
    pub(crate) fn next_number(&self) -> u64 {
        self.issued.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether all work up to the number is known to be done.
    #[inline]
    pub(crate) fn is_past(&self, number: u64) -> bool {
        self.past.load(Ordering::Acquire) >= number
    }

    /// Notes that all work up to the number is done.
    pub(crate) fn mark_past(&self, number: u64) {
        self.past.fetch_max(number, Ordering::AcqRel);
    }

    fn seen(&self) -> MutexGuard<'_, Vec<(u64, u64)>> {
        self.seen.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether what is put into this stream from now on comes after that work of the other.
    #[inline]
    pub(crate) fn is_after(&self, other: &StreamInner, number: u64) -> bool {
        if self.id == other.id || other.is_past(number) {
            return true;
        }
        let seen = self.seen();
        seen.iter()
            .any(|&(id, up_to)| id == other.id && up_to >= number)
    }

    /// Lets what is put into this stream from now on come after all that is in the other.
    pub(crate) fn wait_for(&self, other: &StreamInner) -> CudaResult<()> {
        let issued = other.issued();
        if self.is_after(other, issued) {
            return Ok(());
        }
        self.context.order(self.raw, other)?;
        self.note_seen(other, issued);
        Ok(())
    }

    /// Notes that this stream has waited for the other's work up to the number.
    pub(crate) fn note_seen(&self, other: &StreamInner, number: u64) {
        let mut seen = self.seen();
        match seen.iter_mut().find(|(id, _)| *id == other.id) {
            Some((_, up_to)) => *up_to = number.max(*up_to),
            None => seen.push((other.id, number)),
        }
    }

    /// Waits until nothing of the stream's work touches memory any more. Panics of kernels are
    /// left for the next `synchronize`.
    ///
    /// # Errors
    ///
    /// The driver's, if it cannot wait, for instance because other code captures the stream: the
    /// work may still run.
    pub(crate) fn settle(&self) -> CudaResult<()> {
        let issued = self.issued();
        let waited = self.context.bind().and_then(|api| {
            // SAFETY: the stream is alive.
            let result = unsafe { api.driver.cuStreamSynchronize(self.raw) };
            api.check(result, || "waiting for a stream".to_owned())
        });
        match waited {
            Err(error) if !error.ends_all_work() => return Err(error),
            // A context that is gone or lost does nothing any more.
            _ => self.mark_past(issued),
        }
        Ok(())
    }

    /// Waits until nothing of the stream's work touches memory any more, whatever happens: for work
    /// on memory that the caller has only borrowed. The error is one that ended all work.
    pub(crate) fn settle_surely(&self) -> CudaResult<()> {
        let issued = self.issued();
        // Other code may capture the stream, for which the driver refuses to wait.
        for _ in 0..1000 {
            let waited = self.context.bind().and_then(|api| {
                // SAFETY: the stream is alive.
                let result = unsafe { api.driver.cuStreamSynchronize(self.raw) };
                api.check(result, || "waiting for a stream".to_owned())
            });
            match waited {
                Err(error) if !error.ends_all_work() => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                waited => {
                    self.mark_past(issued);
                    return waited;
                }
            }
        }
        use std::io::Write;
        // A closed stderr is nobody's fault.
        let _ = writeln!(
            std::io::stderr(),
            "fatal: cannot wait for a stream whose work uses memory of the host"
        );
        std::process::abort()
    }

    pub(crate) fn set_capturing(&self, capturing: bool) {
        self.capturing.store(capturing, Ordering::Release);
    }

    /// Whether work put in is only recorded.
    #[inline]
    pub(crate) fn is_capturing(&self) -> bool {
        self.capturing.load(Ordering::Acquire)
    }
}

impl Stream {
    /// A stream of a part of the device.
    pub(crate) fn of_green(
        raw: CUstream,
        context: Context,
        green: Arc<crate::green::Inner>,
    ) -> Stream {
        let mut inner = StreamInner::new(raw, context);
        inner.green = Some(green);
        Stream {
            inner: Arc::new(inner),
        }
    }

    /// Makes a stream in the current context, with a priority if given: lower numbers are served
    /// first (see [`Context::stream_priority_range`]).
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Stream> {
        let context = Context::current("making a stream")?;
        let api = context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is valid for the call.
        let result = unsafe {
            let priority = priority.unwrap_or(0);
            api.driver
                .cuStreamCreateWithPriority(&mut raw, flags.bits(), priority)
        };
        api.check(result, || "making a stream".to_owned())?;
        let inner = Arc::new(StreamInner::new(raw, context));
        Ok(Stream { inner })
    }

    /// Waits until all work in the stream is done. Returns a panic that a kernel of the context
    /// reported, or the fault that stopped one, as an error.
    pub fn synchronize(&self) -> CudaResult<()> {
        let api = self.inner.context.bind()?;
        let issued = self.inner.issued();
        // SAFETY: the stream is alive.
        let result = unsafe { api.driver.cuStreamSynchronize(self.inner.raw) };
        let waited = api.check(result, || "waiting for a stream".to_owned());
        if waited.is_ok() {
            self.inner.mark_past(issued);
        }
        let raw = self.inner.raw as usize;
        self.inner.context.finish_wait(waited, Some(raw))
    }

    /// Whether all work in the stream is done.
    pub fn query(&self) -> CudaResult<bool> {
        let api = self.inner.context.bind()?;
        let issued = self.inner.issued();
        // SAFETY: the stream is alive.
        let result = unsafe { api.driver.cuStreamQuery(self.inner.raw) };
        if result == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(false);
        }
        api.check(result, || "asking whether a stream is done".to_owned())?;
        self.inner.mark_past(issued);
        Ok(true)
    }

    /// Lets the work put into the stream from now on wait for the event. The host does not wait.
    pub fn wait_event(&self, event: &Event, flags: StreamWaitEventFlags) -> CudaResult<()> {
        let doing = || "letting a stream wait for an event".to_owned();
        let context = &self.inner.context;
        context.require_same(event.context(), doing)?;
        let api = context.bind()?;
        event.with_mark(|mark| {
            // SAFETY: both are alive, and the driver keeps what it needs of the event.
            let result = unsafe {
                api.driver
                    .cuStreamWaitEvent(self.inner.raw, event.as_raw(), flags.bits())
            };
            api.check(result, doing)?;
            if let Some((stream, number)) = &mark.at {
                self.inner.note_seen(stream, *number);
            }
            Ok(())
        })
    }

    /// Lets the work put into the stream from now on wait for all that is in `other` now. The
    /// host does not wait.
    pub fn wait_for(&self, other: &Stream) -> CudaResult<()> {
        let doing = || "letting a stream wait for another".to_owned();
        let context = &self.inner.context;
        context.require_same(&other.inner.context, doing)?;
        // Work that was put in by hand is not numbered: the numbers may say that there is nothing
        // to wait for.
        context.order(self.inner.raw, &other.inner)
    }

    /// Calls `callback` on another thread when all work put into the stream so far is done. Work put
    /// in later waits until the callback returns, or calls a function of this crate that calls the
    /// driver: from then on the callback no longer holds its stream up. So it may use and drop
    /// whatever it likes, and wait for any stream, its own included.
    ///
    /// A panic in it is caught and dropped. If the context is lost before its turn comes, it is
    /// dropped without being called.
    ///
    /// # Errors
    ///
    /// [`Error::Capturing`](crate::error::Error::Capturing) while the stream is captured: a
    /// callback is called once, a graph any number of times.
    pub fn add_callback<F>(&self, callback: F) -> CudaResult<()>
    where
        F: FnOnce() + Send + 'static,
    {
        unsafe extern "C" fn call<F: FnOnce() + Send + 'static>(
            _stream: CUstream,
            result: CUresult,
            callback: *mut c_void,
        ) {
            // SAFETY: made by `Box::into_raw` below, and passed here once.
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
        // Unlike `cuLaunchHostFunc` this calls back after a fault as well, so that nobody waits for
        // what the callback captured, such as the sender of a channel.
        // SAFETY: `call` takes exactly this pointer, once.
        let result = unsafe {
            api.driver
                .cuStreamAddCallback(self.inner.raw, Some(call::<F>), callback.cast(), 0)
        };
        if result != CUresult::CUDA_SUCCESS {
            // SAFETY: the driver did not take it.
            drop(unsafe { Box::from_raw(callback) });
        } else {
            self.inner.next_number();
        }
        api.check(result, doing)
    }

    /// Launches a kernel with raw pointers to its arguments; `launch!` is the checked form.
    ///
    /// # Safety
    ///
    /// Each element of `args` points to an argument of the size and type of the kernel's
    /// parameter, and what the kernel does with them has to be sound.
    pub unsafe fn launch_raw<G, B>(
        &self,
        function: &Function<'_>,
        grid_size: G,
        block_size: B,
        shared_mem_bytes: u32,
        args: &[*mut c_void],
    ) -> CudaResult<()>
    where
        G: Into<GridSize>,
        B: Into<BlockSize>,
    {
        // SAFETY: as the caller promises.
        unsafe {
            crate::launch::launch_raw(
                function,
                grid_size.into(),
                block_size.into(),
                shared_mem_bytes,
                self,
                args,
            )
        }
    }

    /// Its flags.
    pub fn get_flags(&self) -> CudaResult<StreamFlags> {
        let api = self.inner.context.bind()?;
        let mut flags = 0;
        // SAFETY: the stream is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuStreamGetFlags(self.inner.raw, &mut flags) };
        api.check(result, || "asking for a stream's flags".to_owned())?;
        Ok(StreamFlags::from_bits_truncate(flags))
    }

    /// Its priority; lower numbers are served first.
    pub fn get_priority(&self) -> CudaResult<i32> {
        let api = self.inner.context.bind()?;
        let mut priority = 0;
        // SAFETY: the stream is alive, and the pointer is valid for the call.
        let result = unsafe {
            api.driver
                .cuStreamGetPriority(self.inner.raw, &mut priority)
        };
        api.check(result, || "asking for a stream's priority".to_owned())?;
        Ok(priority)
    }

    /// The driver's number of it, as profilers show it.
    pub fn id(&self) -> CudaResult<u64> {
        let api = self.inner.context.bind()?;
        let mut id = 0;
        // SAFETY: the stream is alive, and the pointer is valid for the call.
        let result = unsafe { api.driver.cuStreamGetId(self.inner.raw, &mut id) };
        api.check(result, || "asking for a stream's number".to_owned())?;
        Ok(id)
    }

    /// Puts writing `value` to `to` into the stream: a cheap message to others that wait for it
    /// with [`Stream::wait_value`], or poll it.
    ///
    /// The box is one of [`DeviceBox::outside_pools`]; the driver refuses memory of a pool, where
    /// other boxes are.
    pub fn write_value<T: StreamValue>(&self, to: &mut DeviceBox<T>, value: T) -> CudaResult<()> {
        let doing = || "putting writing of a value into a stream".to_owned();
        let to = to.range();
        let write = Dependency::new(to.tracker, Access::Write, to.address, size_of::<T>());
        // SAFETY: the value is of the box's type.
        unsafe {
            let refused = Captured::Refused;
            tracker::enqueue(&self.inner, &[write], refused, doing, |api, stream| {
                T::write(api.driver, stream, to.address, value)
            })
        }
    }

    /// Lets the work put into the stream from now on wait until the value at `of` is as asked for:
    /// something that only a kernel or another device may write there meanwhile, through pointers.
    ///
    /// # Safety
    ///
    /// The box stays alive until the wait is over. If nothing ever writes such a value, the stream
    /// waits forever.
    pub unsafe fn wait_value<T: StreamValue>(
        &self,
        of: DevicePointer<T>,
        until: WaitUntil,
        value: T,
    ) -> CudaResult<()> {
        let api = self.inner.context.bind()?;
        // SAFETY: as the caller promises.
        let result = unsafe {
            T::wait(
                api.driver,
                self.inner.raw,
                of.as_raw(),
                value,
                until.raw().0,
            )
        };
        api.check(result, || "letting a stream wait for a value".to_owned())?;
        self.inner.next_number();
        Ok(())
    }

    /// The context that it belongs to.
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// The driver's handle.
    pub fn as_inner(&self) -> CUstream {
        self.inner.raw
    }

    pub(crate) fn inner(&self) -> &Arc<StreamInner> {
        &self.inner
    }
}

/// What a stream waits for a value to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitUntil {
    /// At least the value given, counting around: `(found - value) as signed >= 0`.
    AtLeast,
    /// The value given.
    Equal,
    /// One with bits in common with the value given.
    AnyBit,
    /// One for which `!(found | value)` is not zero.
    Nor,
}

impl WaitUntil {
    fn raw(self) -> CUstreamWaitValue_flags {
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

    /// A type that streams write and wait for.
    pub trait StreamValue: crate::memory::DeviceCopy {
        /// # Safety
        ///
        /// The address is good for a write of the type.
        unsafe fn write(d: &Driver, stream: CUstream, to: CUdeviceptr, value: Self) -> CUresult;

        /// # Safety
        ///
        /// The address is good for reads of the type until the wait is over.
        unsafe fn wait(
            d: &Driver,
            stream: CUstream,
            of: CUdeviceptr,
            value: Self,
            flags: u32,
        ) -> CUresult;

        /// The write as one of a batch.
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
                    // SAFETY: zeros are valid for these plain numbers.
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

impl Drop for StreamInner {
    fn drop(&mut self) {
        // Work in the stream still completes. An error means that the context is gone, and the
        // stream with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: the stream is alive.
            if unsafe { api.driver.cuStreamQuery(self.raw) } == CUresult::CUDA_SUCCESS {
                // A later stream may get the same handle.
                self.context.forget_stream(self.raw as usize);
            }
            let scratch = self.scratch.get_mut().unwrap_or_else(|e| e.into_inner());
            if let Some(scratch) = scratch.take() {
                scratch.free(api, self.raw);
            }
            // SAFETY: made by `new`, destroyed once.
            let _ = unsafe { api.driver.cuStreamDestroy_v2(self.raw) };
        }
    }
}
