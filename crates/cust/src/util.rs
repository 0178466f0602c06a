//! Short ways from values and slices of the host to memory of the device.

use crate::error::CudaResult;
use crate::kernel::{HostRowsMut, HostVolumeMut};
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

/// Makes buffers, rows and layers from a slice.
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

    /// The elements as rows of `width`, for a launch with a kernel's parameter `PerThread2d`,
    /// `PerTile`, `PerRow` or `PerColumn`, which copies them to the device and back. The last row may
    /// be short. Widths above 2⁴⁰ count as 2⁴⁰.
    fn rows_mut(&mut self, width: usize) -> HostRowsMut<'_, T>
    where
        Self: AsMut<[T]>,
    {
        HostRowsMut {
            elements: self.as_mut(),
            width,
        }
    }

    /// The elements as layers of `height` rows of `width`, for a launch with a kernel's parameter
    /// `PerThread3d`, which copies them to the device and back. The last layer may be short.
    fn volume_mut(&mut self, width: usize, height: usize) -> HostVolumeMut<'_, T>
    where
        Self: AsMut<[T]>,
    {
        HostVolumeMut {
            elements: self.as_mut(),
            width,
            height,
        }
    }
}

impl<T: DeviceCopy> SliceExt<T> for [T] {}
impl<T: DeviceCopy, const N: usize> SliceExt<T> for [T; N] {}
impl<T: DeviceCopy> SliceExt<T> for Vec<T> {}
