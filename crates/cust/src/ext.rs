//! Extension traits that copy host values and slices to device, unified and pinned memory.
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let scale = 2.5f32.as_dbox()?;
//! let device = [1.0f32, 2.0].as_dbuf()?;
//! let pinned = vec![3u8; 4].as_locked_buf()?;
//! assert_eq!(scale.as_host_value()?, 2.5);
//! assert_eq!(device.as_host_vec()?, [1.0, 2.0]);
//! assert_eq!(pinned[..], [3; 4]);
//! # Ok::<(), cust::error::Error>(())
//! ```

use crate::error::CudaResult;
use crate::kernel::{HostRowsMut, HostVolumeMut};
use crate::memory::{DeviceBox, DeviceBuffer, DeviceCopy, LockedBuffer, UnifiedBox, UnifiedBuffer};

/// Creates boxes from a value.
pub trait DeviceCopyExt: DeviceCopy {
    /// Copies the value to device memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceBox::new`].
    fn as_dbox(&self) -> CudaResult<DeviceBox<Self>> {
        DeviceBox::new(self)
    }

    /// Copies the value to unified memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UnifiedBox::new`].
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
    ///
    /// # Errors
    ///
    /// Returns the errors of [`DeviceBuffer::from_slice`].
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self.as_ref())
    }

    /// Copies the elements to unified memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UnifiedBuffer::from_slice`].
    fn as_unified_buf(&self) -> CudaResult<UnifiedBuffer<T>> {
        UnifiedBuffer::from_slice(self.as_ref())
    }

    /// Copies the elements to pinned host memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`LockedBuffer::from_slice`].
    fn as_locked_buf(&self) -> CudaResult<LockedBuffer<T>> {
        LockedBuffer::from_slice(self.as_ref())
    }

    /// Views the elements as rows of `width` elements, for a kernel parameter of type
    /// `PerThread2d`, `PerTile`, `PerRow`, `PerColumn`, `PerBlockRow` or `PerWarpRow`.
    ///
    /// The launch copies the elements to the device and back. The last row may be shorter. A width
    /// above the number of elements is clamped to that number.
    ///
    /// # Examples
    ///
    /// ```
    /// use cuda_std::PerThread2d;
    /// use cuda_std::prelude::*;
    /// use cust::prelude::*;
    ///
    /// /// The transpose of a matrix.
    /// #[kernel]
    /// pub fn transpose(from: &[u32], mut to: PerThread2d<u32>) {
    ///     let height = to.height();
    ///     to.each(|(x, y), to| *to = from[x * height + y]);
    /// }
    ///
    /// let from = [1, 2, 3, 4, 5, 6]; // 2 rows of 3 columns
    /// let mut to = [0; 6]; // 3 rows of 2 columns
    /// cust::launch_cpu((1, (2, 3)), transpose::args(&from, to.rows_mut(2)))?;
    /// assert_eq!(to, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    fn rows_mut(&mut self, width: usize) -> HostRowsMut<'_, T>
    where
        Self: AsMut<[T]>,
    {
        HostRowsMut::rows(self.as_mut(), width)
    }

    /// Views the elements as layers of `height` rows of `width` elements, for a kernel parameter
    /// of type `PerThread3d`.
    ///
    /// The launch copies the elements to the device and back. The last layer may be shorter. A width
    /// above the number of elements is clamped to that number, and a height above the number of rows
    /// to that number.
    ///
    /// # Examples
    ///
    /// ```
    /// use cuda_std::PerThread3d;
    /// use cuda_std::prelude::*;
    /// use cust::prelude::*;
    ///
    /// #[kernel]
    /// pub fn number(mut to: PerThread3d<usize>) {
    ///     to.each(|(x, y, z), to| *to = 100 * z + 10 * y + x);
    /// }
    ///
    /// let mut to = [0; 8]; // 2 layers of 2 rows of 2 elements
    /// cust::launch_cpu((1, (2, 2, 2)), number::args(to.volume_mut(2, 2)))?;
    /// assert_eq!(to, [0, 1, 10, 11, 100, 101, 110, 111]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    fn volume_mut(&mut self, width: usize, height: usize) -> HostVolumeMut<'_, T>
    where
        Self: AsMut<[T]>,
    {
        HostVolumeMut::volume(self.as_mut(), width, height)
    }
}

impl<T: DeviceCopy> SliceExt<T> for [T] {}
impl<T: DeviceCopy, const N: usize> SliceExt<T> for [T; N] {}
impl<T: DeviceCopy> SliceExt<T> for Vec<T> {}
