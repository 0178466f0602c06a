//! Buffers of plain bytes, of arrays of `ndarray`, and shared with `cudarc`.
//!
//! The types of `glam`, `half`, `nalgebra` and `num-complex` are `DeviceCopy` with the features of
//! those names; [`dlpack`](crate::dlpack) is the way to other languages.

use bytemuck::{AnyBitPattern, NoUninit};

use crate::error::{CudaResult, Error};
use crate::memory::{DeviceBuffer, DeviceCopy};

impl<T: DeviceCopy + NoUninit> DeviceBuffer<T> {
    /// The same memory as elements of another type, which any bytes make. The size has to be a
    /// multiple of the other type's.
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
        let address = self.as_device_ptr().as_raw();
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
        /// A copy of an array's elements, in the order of its indices, the last fastest.
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

        /// A copy of the elements as an array of the shape given.
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

/// Buffers of `cudarc`, through which cuBLAS, cuFFT and others are called. Both work in the
/// devices' primary contexts.
#[cfg(feature = "cudarc")]
mod of_cudarc {
    use std::sync::Arc;

    use cudarc::driver::{CudaSlice, CudaStream, DeviceRepr};

    use super::*;
    use crate::memory::DevicePointer;

    impl<T: DeviceCopy + DeviceRepr> DeviceBuffer<T> {
        /// Gives the memory to `cudarc`, whose `stream` it is used in from now on. Waits for the
        /// work that uses it.
        ///
        /// # Safety
        ///
        /// The stream is of the buffer's device.
        pub unsafe fn into_cudarc(self, stream: &Arc<CudaStream>) -> CudaSlice<T> {
            let len = self.len();
            let address = self.into_device_ptr().as_raw();
            // SAFETY: the memory has this many elements, and belongs to nobody else.
            unsafe { stream.upgrade_device_ptr(address, len) }
        }

        /// Takes memory over from `cudarc`. Waits for the work in its stream.
        ///
        /// # Safety
        ///
        /// The slice is of the current context's device, and its elements are valid.
        pub unsafe fn from_cudarc(slice: CudaSlice<T>) -> CudaResult<Self> {
            let (stream, len) = (Arc::clone(slice.stream()), slice.len());
            if let Err(error) = stream.synchronize() {
                return Err(Error::Foreign {
                    doing: "waiting for a stream of cudarc",
                    reason: error.to_string(),
                });
            }
            let pointer = DevicePointer::from_raw(slice.leak());
            // SAFETY: allocated in the primary context, and used by nobody else any more.
            unsafe { DeviceBuffer::from_raw_parts(pointer, len) }
        }
    }
}
