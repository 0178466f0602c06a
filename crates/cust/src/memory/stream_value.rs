//! Values in device memory as signals between streams.

use cust_core::kernel::Access;

use super::{DeviceBox, DevicePointer};
use crate::error::CudaResult;
use crate::stream::{Stream, StreamValue, WaitUntil};
use crate::tracker::{self, Captured, Dependency};

impl Stream {
    /// Enqueues a write of `value` to `to`: a cheap signal to streams that wait for the value with
    /// [`Stream::wait_value`], or to kernels that poll it.
    ///
    /// `to` must have been created by [`DeviceBox::outside_pools`]: the driver rejects memory from
    /// a memory pool, which other boxes use.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the box is in pool memory,
    /// [`Error::WrongContext`](crate::error::Error::WrongContext) if it belongs to another context,
    /// and [`Error::Capturing`](crate::error::Error::Capturing) while the stream is being captured.
    pub fn write_value<T: StreamValue>(&self, to: &mut DeviceBox<T>, value: T) -> CudaResult<()> {
        let doing = || "enqueuing a write of a value".to_owned();
        let to = to.range();
        let write = Dependency::new(to.tracker, Access::Write, to.address, size_of::<T>());
        // SAFETY: the value has the box's type.
        unsafe {
            let refused = Captured::Refused;
            tracker::enqueue(self.inner(), &[write], refused, doing, |api, stream| {
                T::write(api.driver, stream, to.address, value)
            })
        }
    }

    /// Makes later work in the stream wait until the value at `of` satisfies the condition `until`
    /// with respect to `value`.
    ///
    /// If nothing writes such a value, the stream waits forever.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if it cannot enqueue the wait.
    ///
    /// # Safety
    ///
    /// The memory at `of` must stay alive until the wait is over.
    pub unsafe fn wait_value<T: StreamValue>(
        &self,
        of: DevicePointer<T>,
        until: WaitUntil,
        value: T,
    ) -> CudaResult<()> {
        let api = self.context().bind()?;
        // SAFETY: as the caller promises.
        let result = unsafe {
            T::wait(
                api.driver,
                self.as_inner(),
                of.as_raw(),
                value,
                until.raw().0,
            )
        };
        api.check(result, || "making a stream wait for a value".to_owned())?;
        self.inner().next_number();
        Ok(())
    }
}
