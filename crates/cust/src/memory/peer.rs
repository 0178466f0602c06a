//! Copies between devices.

use cust_core::kernel::Access;

use super::copy::{ON_DEVICE, copy_size};
use super::{DeviceBuffer, DeviceCopy};
use crate::error::CudaResult;
use crate::tracker::Dependency;

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Copies a buffer, which may be on another device, into this one, and waits.
    ///
    /// If peer access is enabled, the copy does not go through host memory.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`](crate::error::Error::SizeMismatch) if the lengths differ,
    /// [`Error::WrongBackend`](crate::error::Error::WrongBackend) if one buffer is in the memory of
    /// the emulator and the other in that of a GPU, and the driver's error if the copy fails.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use cust::prelude::*;
    ///
    /// // Two GPUs: the emulator has one device.
    /// let _first = Context::new(Device::get_device(0)?)?;
    /// let source = DeviceBuffer::from_slice(&[1u32, 2])?;
    /// let _second = Context::new(Device::get_device(1)?)?;
    /// let mut buffer = DeviceBuffer::<u32>::zeroed(2)?;
    /// buffer.copy_from_peer(&source)?;
    /// assert_eq!(buffer.as_host_vec()?, [1, 2]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn copy_from_peer(&mut self, source: &DeviceBuffer<T>) -> CudaResult<()> {
        let (to, from) = (self.range(), source.range());
        let bytes = copy_size::<T>(ON_DEVICE, from.len, to.len)?;
        if bytes == 0 {
            return Ok(());
        }
        let (to_context, from_context) = (to.context(), from.context());
        let doing = || format!("copying {bytes} bytes from {from_context:?} to {to_context:?}");
        to_context.bind_with(from_context, doing)?;
        // Streams of different contexts are not ordered with each other, so the host waits.
        from.tracker.settle(Access::Read)?;
        let write = Dependency::new(to.tracker, Access::Write, to.address, bytes);
        // SAFETY: both buffers have `bytes` bytes, and other work can only read `source` meanwhile.
        unsafe {
            crate::tracker::run(to_context, &[write], doing, |api, stream| {
                api.driver.cuMemcpyPeerAsync(
                    to.address,
                    to_context.as_raw(),
                    from.address,
                    from_context.as_raw(),
                    bytes,
                    stream,
                )
            })
        }
    }
}
