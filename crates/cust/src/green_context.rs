//! Green contexts: partitions of a device's multiprocessors. Kernels in a green context's streams
//! run only on its multiprocessors, so that latency-critical work need not wait for
//! throughput-bound work.
//!
//! # Examples
//!
//! ```
//! use cust::green_context::GreenContext;
//! use cust::prelude::*;
//!
//! let context = cust::quick_init_on(Backend::Emulator)?;
//! let all = context.device().multiprocessors()?;
//! let (parts, rest) = all.split(1, 1)?;
//! let green = GreenContext::new(&context, &parts)?;
//! assert_eq!(green.multiprocessors()?.count(), parts[0].count());
//! let stream = green.stream(None)?; // for launches and copies, like any other stream
//! stream.synchronize()?;
//! # Ok::<(), cust::error::Error>(())
//! ```
//!
//! Memory, modules and events belong to the device's primary context.

use std::sync::Arc;

use cust_raw::{
    CUdevResource, CUdevResourceType, CUgreenCtx, CUgreenCtxCreate_flags, CUresult, CUstream_flags,
};

use crate::context::Context;
use crate::device::Device;
use crate::error::{CudaResult, Error};
use crate::event::Event;
use crate::stream::Stream;

/// A set of multiprocessors of a device.
#[derive(Clone, Copy)]
pub struct Multiprocessors {
    device: Device,
    raw: CUdevResource,
}

impl std::fmt::Debug for Multiprocessors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} multiprocessors of {:?}", self.count(), self.device)
    }
}

impl Device {
    /// Returns all multiprocessors of the device, which [`Multiprocessors::split`] partitions.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::NotFound`](crate::error::CudaError::NotFound) for drivers before CUDA
    /// 12.4.
    pub fn multiprocessors(&self) -> CudaResult<Multiprocessors> {
        // SAFETY: all-zero bytes are valid for these integers.
        let mut raw: CUdevResource = unsafe { std::mem::zeroed() };
        let kind = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
        // SAFETY: the pointer is valid for the call.
        let result = unsafe {
            let device = self.as_raw();
            self.api
                .driver
                .cuDeviceGetDevResource(device, &mut raw, kind)
        };
        self.api.check(result, || {
            format!("querying the multiprocessors of {self:?}")
        })?;
        Ok(Multiprocessors { device: *self, raw })
    }
}

impl Multiprocessors {
    /// Returns the number of multiprocessors.
    pub fn count(&self) -> u32 {
        // SAFETY: this is the union's field for multiprocessors.
        unsafe { self.raw.__bindgen_anon_1.sm.smCount }
    }

    /// Splits the multiprocessors into up to `groups` groups of at least `least` multiprocessors
    /// each, and the remaining multiprocessors.
    ///
    /// The device may require larger groups than requested.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if there are fewer than `least` multiprocessors.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let context = cust::quick_init_on(Backend::Emulator)?;
    /// let all = context.device().multiprocessors()?;
    /// // One group for latency-critical work, and the rest for everything else.
    /// let (groups, rest) = all.split(1, 1)?;
    /// assert_eq!(groups[0].count() + rest.count(), all.count());
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn split(&self, groups: u32, least: u32) -> CudaResult<(Vec<Multiprocessors>, Self)> {
        let api = self.device.api;
        // There are at most as many groups as multiprocessors.
        let groups = groups.min(self.count());
        let mut count = groups;
        let mut list = vec![self.raw; groups as usize];
        let mut rest = self.raw;
        // SAFETY: the list has room for `groups` groups, and the pointers are valid for the call.
        let result = unsafe {
            api.driver.cuDevSmResourceSplitByCount(
                list.as_mut_ptr(),
                &mut count,
                &self.raw,
                &mut rest,
                0,
                least,
            )
        };
        api.check(result, || {
            format!("splitting {self:?} into {groups} groups of {least}")
        })?;
        list.truncate(count as usize);
        let device = self.device;
        let parts = list.into_iter().map(|raw| Multiprocessors { device, raw });
        Ok((parts.collect(), Multiprocessors { device, raw: rest }))
    }
}

/// A green context: a set of multiprocessors of a device. See the [module's documentation](self).
#[derive(Debug, Clone)]
pub struct GreenContext {
    inner: Arc<Inner>,
}

/// The green context, which its streams keep alive.
#[derive(Debug)]
struct Inner {
    raw: CUgreenCtx,
    context: Context,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl GreenContext {
    /// Creates a green context with the multiprocessors of `parts`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if `parts` is empty, or contains multiprocessors of different
    /// splits, and [`Error::WrongContext`] if it contains those
    /// of another device.
    pub fn new(context: &Context, parts: &[Multiprocessors]) -> CudaResult<GreenContext> {
        let doing = || format!("creating a green context of {parts:?}");
        // The driver trusts the descriptions, which are its own data.
        if parts.iter().any(|part| part.device != context.device()) {
            return Err(Error::WrongContext { doing: doing() });
        }
        let api = context.bind()?;
        if parts.is_empty() {
            // Drivers abort the process instead of returning an error.
            api.check(CUresult::CUDA_ERROR_INVALID_VALUE, doing)?;
        }
        let mut list: Vec<CUdevResource> = parts.iter().map(|part| part.raw).collect();
        let (mut description, mut raw) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the list lives through the call, and the pointers are valid for it.
        unsafe {
            let count = list.len() as u32;
            let result =
                api.driver
                    .cuDevResourceGenerateDesc(&mut description, list.as_mut_ptr(), count);
            api.check(result, doing)?;
            let flags = CUgreenCtxCreate_flags::CU_GREEN_CTX_DEFAULT_STREAM.0;
            let device = context.device().as_raw();
            let result = api
                .driver
                .cuGreenCtxCreate(&mut raw, description, device, flags);
            api.check(result, doing)?;
        }
        let context = context.clone();
        let inner = Arc::new(Inner { raw, context });
        Ok(GreenContext { inner })
    }

    /// Creates a stream whose kernels run on the context's multiprocessors.
    ///
    /// Lower numbers are higher priorities; `None` is the default priority, 0.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot create the stream.
    pub fn stream(&self, priority: Option<i32>) -> CudaResult<Stream> {
        let context = &self.inner.context;
        let api = context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the context is alive, and the pointer is valid for the call.
        let result = unsafe {
            let flags = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
            let priority = priority.unwrap_or(0);
            api.driver
                .cuGreenCtxStreamCreate(&mut raw, self.inner.raw, flags, priority)
        };
        api.check(result, || "creating a stream of a green context".to_owned())?;
        Ok(Stream::of_raw(raw, context.clone(), self.inner.clone()))
    }

    /// Returns the context's multiprocessors.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the query fails.
    pub fn multiprocessors(&self) -> CudaResult<Multiprocessors> {
        let api = self.inner.context.bind()?;
        // SAFETY: all-zero bytes are valid for these integers.
        let mut raw: CUdevResource = unsafe { std::mem::zeroed() };
        // SAFETY: the context is alive, and the pointer is valid for the call.
        let result = unsafe {
            let kind = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
            api.driver
                .cuGreenCtxGetDevResource(self.inner.raw, &mut raw, kind)
        };
        api.check(result, || {
            "querying a green context's multiprocessors".to_owned()
        })?;
        let device = self.inner.context.device();
        Ok(Multiprocessors { device, raw })
    }

    /// Records an event after all work that is pending in the context's streams. The emulator does
    /// not support it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if the event belongs to
    /// another context, and the driver's error if it does not support the operation.
    pub fn record(&self, event: &Event) -> CudaResult<()> {
        let doing = || "recording an event after the work of a green context".to_owned();
        self.events(event, doing, |driver, event| {
            // SAFETY: both are alive.
            unsafe { driver.cuGreenCtxRecordEvent(self.inner.raw, event) }
        })
    }

    /// Makes later work in the context's streams wait for an event.
    ///
    /// # Errors
    ///
    /// Returns [`Error::WrongContext`] if the event belongs to
    /// another context.
    pub fn wait(&self, event: &Event) -> CudaResult<()> {
        let doing = || "making a green context wait for an event".to_owned();
        let context = &self.inner.context;
        context.require_same(event.context(), doing)?;
        let api = context.bind()?;
        // SAFETY: both are alive, and the event may be destroyed while streams wait for it.
        let result = unsafe {
            api.driver
                .cuGreenCtxWaitEvent(self.inner.raw, event.as_raw())
        };
        api.check(result, doing)
    }

    fn events(
        &self,
        event: &Event,
        doing: impl Fn() -> String,
        record: impl FnOnce(&cust_raw::Driver, cust_raw::CUevent) -> CUresult,
    ) -> CudaResult<()> {
        let context = &self.inner.context;
        context.require_same(event.context(), &doing)?;
        let api = context.bind()?;
        // The event's position in each stream is not known.
        let mark = event.forget_mark();
        let result = record(api.driver, event.as_raw());
        drop(mark);
        api.check(result, doing)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // An error means that the context is gone, and this with it.
        if let Ok(api) = self.context.bind() {
            // SAFETY: created once, destroyed once; its streams are destroyed already.
            let _ = unsafe { api.driver.cuGreenCtxDestroy(self.raw) };
        }
    }
}
