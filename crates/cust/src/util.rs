//! Extension traits that copy host values and slices to device, unified and pinned memory.
//!
//! [`SliceExt`] has an example.

use crate::error::CudaResult;
use crate::kernel::{HostRowsMut, HostVolumeMut};
use crate::memory::{DeviceBox, DeviceBuffer, DeviceCopy, LockedBuffer, UnifiedBox, UnifiedBuffer};

/// Creates boxes from a value.
pub trait DeviceCopyExt: DeviceCopy {
    /// Copies the value to device memory.
    fn as_dbox(&self) -> CudaResult<DeviceBox<Self>> {
        DeviceBox::new(self)
    }

    /// Copies the value to unified memory.
    fn as_unified_box(&self) -> CudaResult<UnifiedBox<Self>> {
        UnifiedBox::new(*self)
    }
}

impl<T: DeviceCopy> DeviceCopyExt for T {}

/// Creates buffers from a slice, and 2D and 3D views of it for launches.
///
/// # Examples
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
    /// Copies the elements to device memory.
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self.as_ref())
    }

    /// Copies the elements to unified memory.
    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>> {
        UnifiedBuffer::from_slice(self.as_ref())
    }

    /// Copies the elements to pinned host memory.
    fn as_locked_buf(&self) -> CudaResult<LockedBuffer<T>> {
        LockedBuffer::from_slice(self.as_ref())
    }

    /// Views the elements as rows of `width` elements, for a kernel parameter of type
    /// `PerThread2d`, `PerTile`, `PerRow` or `PerColumn`.
    ///
    /// The launch copies the elements to the device and back. The last row may be shorter. Widths
    /// above 2⁴⁰ are clamped to 2⁴⁰.
    fn rows_mut(&mut self, width: usize) -> HostRowsMut<'_, T>
    where
        Self: AsMut<[T]>,
    {
        HostRowsMut {
            elements: self.as_mut(),
            width,
        }
    }

    /// Views the elements as layers of `height` rows of `width` elements, for a kernel parameter
    /// of type `PerThread3d`.
    ///
    /// The launch copies the elements to the device and back. The last layer may be shorter.
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
