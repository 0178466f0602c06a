//! Copies between devices.

use cust_core::kernel::Access;

use super::copy::{ON_DEVICE, copy_size};
use super::{DeviceBuffer, DeviceCopy};
use crate::error::CudaResult;
use crate::tracker::Dependency;

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Copies a buffer that may be another device's into this one, and waits. Devices that can
    /// access each other's memory need not go through the host's.
    pub fn copy_from_peer(&mut self, source: &DeviceBuffer<T>) -> CudaResult<()> {
        let (to, from) = (self.range(), source.range());
        let bytes = copy_size::<T>(ON_DEVICE, from.len, to.len)?;
        if bytes == 0 {
            return Ok(());
        }
        let (to_context, from_context) = (to.context(), from.context());
        // Streams of two devices know nothing of each other: the host waits for both sides.
        from.tracker.settle(Access::Read)?;
        let write = Dependency::new(to.tracker, Access::Write, to.address, bytes);
        let doing = || format!("copying {bytes} bytes from {from_context:?} to {to_context:?}");
        // SAFETY: both sides have as many bytes, and `source` is only read by others meanwhile.
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
