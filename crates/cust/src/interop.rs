//! Interoperability with `bytemuck`, `ndarray` and `cudarc`.
//!
//! With the features of these names, the types of `glam`, `half`, `nalgebra` and `num-complex` are
//! `DeviceCopy`. [`dlpack`](crate::dlpack) exchanges tensors with other languages.

use bytemuck::{AnyBitPattern, NoUninit};

use crate::error::{CudaResult, Error};
use crate::memory::{DeviceBuffer, DeviceCopy};

impl<T: DeviceCopy + NoUninit> DeviceBuffer<T> {
    /// Reinterprets the buffer as elements of another type, which must accept any bit pattern.
    ///
    /// # Errors
    ///
    /// Returns [`Error::SizeMismatch`] if the size in bytes is not a multiple of the size of `U`,
    /// or the address is not aligned for `U`.
    ///
    /// # Examples
    ///
    /// ```
    /// use cust::prelude::*;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let words = DeviceBuffer::from_slice(&[0x0201u16, 0x0403])?;
    /// assert_eq!(words.try_cast::<u8>()?.as_host_vec()?, [1, 2, 3, 4]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    pub fn try_cast<U: DeviceCopy + AnyBitPattern>(self) -> CudaResult<DeviceBuffer<U>> {
        let bytes = self.len() * size_of::<T>();
        let size = size_of::<U>();
        let address = self.range().address;
        let aligned = address.is_multiple_of(align_of::<U>() as u64);
        if size == 0 || !bytes.is_multiple_of(size) || !aligned {
            return Err(Error::SizeMismatch {
                doing: "casting a buffer",
                source_len: bytes,
                destination_len: bytes.checked_div(size).unwrap_or(0) * size,
            });
        }
        Ok(self.with_elements(bytes / size))
    }
}

/// Arrays of `ndarray`.
#[cfg(feature = "ndarray")]
mod of_ndarray {
    use super::*;
    use ndarray::{Array, ArrayRef, Dimension, ShapeError, StrideShape};

    impl<T: DeviceCopy> DeviceBuffer<T> {
        /// Allocates a buffer and copies an array's elements into it, in row-major order.
        ///
        /// # Errors
        ///
        /// Returns the errors of [`DeviceBuffer::from_slice`].
        ///
        /// # Examples
        ///
        /// ```
        /// use cust::prelude::*;
        /// use ndarray::array;
        ///
        /// let _context = cust::quick_init_on(Backend::Emulator)?;
        /// let matrix = array![[1.0f32, 2.0], [3.0, 4.0]];
        /// let buffer = DeviceBuffer::from_ndarray(&matrix.t())?;
        /// assert_eq!(buffer.as_host_vec()?, [1.0, 3.0, 2.0, 4.0]);
        /// assert_eq!(buffer.as_ndarray((2, 2))?, matrix.t());
        /// # Ok::<(), cust::error::Error>(())
        /// ```
        pub fn from_ndarray<D: Dimension>(array: &ArrayRef<T, D>) -> CudaResult<Self> {
            match array.as_slice() {
                Some(slice) => DeviceBuffer::from_slice(slice),
                None => {
                    let elements: Vec<T> = array.iter().copied().collect();
                    DeviceBuffer::from_slice(&elements)
                }
            }
        }

        /// Copies the elements to an array of the given shape.
        ///
        /// # Errors
        ///
        /// Returns [`Error::SizeMismatch`] if the shape does not have the buffer's number of
        /// elements.
        pub fn as_ndarray<D, S>(&self, shape: S) -> CudaResult<Array<T, D>>
        where
            D: Dimension,
            S: Into<StrideShape<D>>,
        {
            let shape = shape.into();
            let size = shape.size();
            let array: Result<_, ShapeError> = Array::from_shape_vec(shape, self.as_host_vec()?);
            array.map_err(|_| Error::SizeMismatch {
                doing: "creating an array of a buffer",
                source_len: self.len(),
                destination_len: size,
            })
        }
    }
}

/// Buffers of `cudarc`, which wraps cuBLAS, cuFFT and other libraries. Both crates use the devices'
/// primary contexts.
#[cfg(feature = "cudarc")]
mod of_cudarc {
    use std::sync::Arc;

    use cudarc::driver::{CudaSlice, CudaStream, DeviceRepr};

    use super::*;
    use crate::memory::DevicePointer;

    impl<T: DeviceCopy + DeviceRepr> DeviceBuffer<T> {
        /// Waits for all pending work that uses the buffer, and transfers ownership of its memory
        /// to `cudarc`, which uses it in `stream`.
        ///
        /// # Safety
        ///
        /// The stream must belong to the buffer's device.
        pub unsafe fn into_cudarc(self, stream: &Arc<CudaStream>) -> CudaSlice<T> {
            let len = self.len();
            let address = self.into_device_ptr().as_raw();
            // SAFETY: the memory has `len` elements, and no other owner.
            unsafe { stream.upgrade_device_ptr(address, len) }
        }

        /// Waits for all pending work in the slice's stream, and takes ownership of its memory.
        ///
        /// # Errors
        ///
        /// Returns [`Error::Foreign`] if `cudarc` cannot wait for the stream, and
        /// [`Error::NoContext`] without a context.
        ///
        /// # Safety
        ///
        /// The slice must belong to the current context's device, and its elements must be valid.
        pub unsafe fn from_cudarc(slice: CudaSlice<T>) -> CudaResult<Self> {
            let (stream, len) = (Arc::clone(slice.stream()), slice.len());
            if let Err(error) = stream.synchronize() {
                return Err(Error::Foreign {
                    doing: "waiting for a stream of cudarc",
                    reason: error.to_string(),
                });
            }
            let pointer = DevicePointer::from_raw(slice.leak());
            // SAFETY: the memory was allocated in the primary context, and has no other owner.
            unsafe { DeviceBuffer::from_raw_parts(pointer, len) }
        }
    }
}
