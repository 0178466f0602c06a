//! Short ways from values and slices of the host to memory of the device.

use crate::error::CudaResult;
use crate::memory::{DeviceBox, DeviceBuffer, DeviceCopy, LockedBuffer, UnifiedBox, UnifiedBuffer};

/// Makes boxes from a value.
pub trait DeviceCopyExt: DeviceCopy {
    /// A copy of the value on the device.
    fn as_dbox(&self) -> CudaResult<DeviceBox<Self>> {
        DeviceBox::new(self)
    }

    /// A copy of the value in unified memory.
    fn as_unified_box(&self) -> CudaResult<UnifiedBox<Self>> {
        UnifiedBox::new(*self)
    }
}

impl<T: DeviceCopy> DeviceCopyExt for T {}

/// Makes buffers from a slice.
///
/// ```
/// use cust::prelude::*;
///
/// let _context = cust::quick_init_on(Backend::Emulator)?;
/// let buffer = [1.5f32, 2.5].as_dbuf()?;
/// assert_eq!(buffer.as_host_vec()?, [1.5, 2.5]);
/// # Ok::<(), cust::error::Error>(())
/// ```
pub trait SliceExt<T: DeviceCopy>: AsRef<[T]> {
    /// A copy of the elements on the device.
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self.as_ref())
    }

    /// A copy of the elements in unified memory.
    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>> {
        UnifiedBuffer::from_slice(self.as_ref())
    }

    /// A copy of the elements in pinned memory.
    fn as_locked_buf(&self) -> CudaResult<LockedBuffer<T>> {
        LockedBuffer::from_slice(self.as_ref())
    }
}

impl<T: DeviceCopy> SliceExt<T> for [T] {}
impl<T: DeviceCopy, const N: usize> SliceExt<T> for [T; N] {}
impl<T: DeviceCopy> SliceExt<T> for Vec<T> {}
