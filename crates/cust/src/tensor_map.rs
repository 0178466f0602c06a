//! Tensor maps: descriptors of tensors in device memory for the Tensor Memory Accelerator (TMA).
//!
//! Tensor maps are created on the host and passed to kernels by value. They require compute
//! capability 9.0.
//!
//! # Examples
//!
//! ```
//! use cust::prelude::*;
//! use cust::tensor_map::{TensorMap, TiledTensor};
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let memory = DeviceBuffer::<f32>::zeroed(64 * 8)?;
//! // 8 rows of 64 floats, copied in boxes of 8 rows of 32 floats.
//! let tensor = TiledTensor {
//!     sizes: &[64, 8],
//!     strides: &[64 * 4],
//!     box_sizes: &[32, 8],
//!     element_strides: &[1, 1],
//!     ..TiledTensor::default()
//! };
//! // SAFETY: the memory has this layout, and outlives the launches that use the map.
//! let map = unsafe { TensorMap::tiled(memory.as_device_ptr(), &tensor)? };
//! # let _ = map;
//! # Ok::<(), cust::error::Error>(())
//! ```

use std::ffi::c_void;

use cust_raw::{
    CUtensorMap, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapInterleave,
    CUtensorMapL2promotion, CUtensorMapSwizzle,
};

use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::memory::{DeviceCopy, DevicePointer};

/// A tensor map, which is passed to kernels by value. It contains the memory's address, but does
/// not keep the memory alive.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct TensorMap {
    opaque: [u64; 16],
}

// SAFETY: plain integers; accessing the memory through the map is unsafe.
unsafe impl DeviceCopy for TensorMap {}

/// An element type of tensor maps.
///
/// # Safety
///
/// The type must have the size of `TYPE`.
pub unsafe trait TensorElement: DeviceCopy {
    /// The driver's data type.
    const TYPE: CUtensorMapDataType;
}

macro_rules! elements {
    ($($ty:ty: $name:ident;)*) => {
        $(
            // SAFETY: the types are the same.
            unsafe impl TensorElement for $ty {
                const TYPE: CUtensorMapDataType = CUtensorMapDataType::$name;
            }
        )*
    };
}
elements! {
    u8: CU_TENSOR_MAP_DATA_TYPE_UINT8;
    u16: CU_TENSOR_MAP_DATA_TYPE_UINT16;
    u32: CU_TENSOR_MAP_DATA_TYPE_UINT32;
    i32: CU_TENSOR_MAP_DATA_TYPE_INT32;
    u64: CU_TENSOR_MAP_DATA_TYPE_UINT64;
    i64: CU_TENSOR_MAP_DATA_TYPE_INT64;
    f32: CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    f64: CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
}
#[cfg(feature = "half")]
elements! {
    half::f16: CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    half::bf16: CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

/// The swizzle mode: how the rows of a box are permuted in shared memory to avoid bank conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Swizzle {
    /// No swizzling.
    #[default]
    None,
    /// Swizzles within 32 bytes.
    Bytes32,
    /// Swizzles within 64 bytes.
    Bytes64,
    /// Swizzles within 128 bytes.
    Bytes128,
}

/// The L2 promotion: the granularity with which the L2 cache fetches memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum L2Promotion {
    /// No promotion.
    #[default]
    None,
    /// 64 bytes.
    Bytes64,
    /// 128 bytes.
    Bytes128,
    /// 256 bytes.
    Bytes256,
}

/// The interleaved layout of channels, for tensors of three and more dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Interleave {
    /// Not interleaved: the strides determine the layout.
    #[default]
    None,
    /// Channels are stored in slices of 16 bytes per pixel (`NC/8HWC8` with 2-byte channels).
    Bytes16,
    /// Channels are stored in slices of 32 bytes per pixel (`NC/16HWC16` with 2-byte channels).
    /// Requires [`Swizzle::Bytes32`].
    Bytes32,
}

/// The description of a tensor for [`TensorMap::tiled`], and of the boxes that are copied.
///
/// Dimensions are in CUDA's order: the innermost dimension, whose elements are contiguous, is
/// first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TiledTensor<'a> {
    /// The number of elements along each dimension; one to five dimensions.
    pub sizes: &'a [u64],
    /// The stride in bytes of each dimension but the first; multiples of 16.
    pub strides: &'a [u64],
    /// The number of elements of a box along each dimension; at most 256.
    pub box_sizes: &'a [u32],
    /// The traversal stride along each dimension: 1 copies every element, 2 every second, …
    pub element_strides: &'a [u32],
    /// The swizzle mode in shared memory.
    pub swizzle: Swizzle,
    /// Whether out-of-bounds elements of floating-point type are filled with NaN instead of zero.
    pub nan_outside: bool,
    /// The L2 promotion.
    pub l2_promotion: L2Promotion,
    /// The interleaved layout.
    pub interleave: Interleave,
}

/// The description of images for [`TensorMap::im2col`], and of the pixels that are copied: one row
/// of a matrix per pixel, for convolutions. The dimensions are the channels, one to three spatial
/// dimensions, and the image.
///
/// A copy starts at a pixel and continues along the first spatial dimension, then along the others,
/// then in the next image, inside a bounding box of each image's pixels. The copy may specify an
/// offset that is added to all pixel coordinates: the position in the filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Im2colTensor<'a> {
    /// The number of elements along each dimension; three to five dimensions.
    pub sizes: &'a [u64],
    /// The stride in bytes of each dimension but the first; multiples of 16.
    pub strides: &'a [u64],
    /// The start of the bounding box, for each spatial dimension.
    pub lower_corner: &'a [i32],
    /// The end of the bounding box, for each spatial dimension, relative to the end of the image.
    pub upper_corner: &'a [i32],
    /// The number of channels copied per pixel; at most 256.
    pub channels: u32,
    /// The number of pixels copied; at most 1024.
    pub pixels: u32,
    /// The traversal stride along each dimension: 1 copies every pixel, 2 every second, …
    pub element_strides: &'a [u32],
    /// The swizzle mode in shared memory.
    pub swizzle: Swizzle,
    /// Whether out-of-bounds elements of floating-point type are filled with NaN instead of zero.
    pub nan_outside: bool,
    /// The L2 promotion.
    pub l2_promotion: L2Promotion,
    /// The interleaved layout.
    pub interleave: Interleave,
}

fn raw_swizzle(swizzle: Swizzle) -> CUtensorMapSwizzle {
    match swizzle {
        Swizzle::None => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
        Swizzle::Bytes32 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        Swizzle::Bytes64 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        Swizzle::Bytes128 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
    }
}

fn raw_fill(nan_outside: bool) -> CUtensorMapFloatOOBfill {
    if nan_outside {
        CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
    } else {
        CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
    }
}

fn raw_promotion(promotion: L2Promotion) -> CUtensorMapL2promotion {
    match promotion {
        L2Promotion::None => CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
        L2Promotion::Bytes64 => CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
        L2Promotion::Bytes128 => CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        L2Promotion::Bytes256 => CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
    }
}

fn raw_interleave(interleave: Interleave) -> CUtensorMapInterleave {
    match interleave {
        Interleave::None => CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
        Interleave::Bytes16 => CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_16B,
        Interleave::Bytes32 => CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_32B,
    }
}

/// Checks the lengths of lists, given as (found, expected): the driver reads one entry per
/// dimension.
fn check_lengths(lengths: &[(usize, usize)]) -> CudaResult<()> {
    match lengths.iter().find(|(found, wanted)| found != wanted) {
        None => Ok(()),
        Some(&(found, expected)) => Err(Error::SizeMismatch {
            doing: "creating a tensor map",
            source_len: found,
            destination_len: expected,
        }),
    }
}

impl TensorMap {
    /// Returns the driver's representation of the map, for kernels that declare their own type for
    /// it (`cuda_std::copy::TensorMap::from_words`).
    #[must_use]
    pub fn to_words(self) -> [u64; 16] {
        self.opaque
    }

    /// Creates a tensor map for copies of tiles.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoContext`] without a context, [`Error::SizeMismatch`] if the lists'
    /// lengths do not match the number of dimensions, and the driver's error for invalid values.
    ///
    /// # Safety
    ///
    /// While kernels use the map, the memory must be valid and have the described layout.
    pub unsafe fn tiled<T: TensorElement>(
        memory: DevicePointer<T>,
        tensor: &TiledTensor<'_>,
    ) -> CudaResult<TensorMap> {
        let api = Context::current("creating a tensor map")?.bind()?;
        let rank = tensor.sizes.len();
        check_lengths(&[
            (tensor.strides.len(), rank.saturating_sub(1)),
            (tensor.box_sizes.len(), rank),
            (tensor.element_strides.len(), rank),
        ])?;
        let mut map = TensorMap { opaque: [0; 16] };
        let address: *mut c_void = std::ptr::without_provenance_mut(memory.as_raw() as usize);
        // SAFETY: the map has the size and alignment of the driver's, and the lists have one entry
        // per dimension.
        let result = unsafe {
            api.driver.cuTensorMapEncodeTiled(
                (&raw mut map).cast::<CUtensorMap>(),
                T::TYPE,
                rank as u32,
                address,
                tensor.sizes.as_ptr(),
                tensor.strides.as_ptr(),
                tensor.box_sizes.as_ptr(),
                tensor.element_strides.as_ptr(),
                raw_interleave(tensor.interleave),
                raw_swizzle(tensor.swizzle),
                raw_promotion(tensor.l2_promotion),
                raw_fill(tensor.nan_outside),
            )
        };
        api.check(result, || format!("creating a tensor map of {tensor:?}"))?;
        Ok(map)
    }

    /// Creates a tensor map for copies of pixels in im2col mode.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`TensorMap::tiled`].
    ///
    /// # Safety
    ///
    /// While kernels use the map, the memory must be valid and have the described layout.
    pub unsafe fn im2col<T: TensorElement>(
        memory: DevicePointer<T>,
        tensor: &Im2colTensor<'_>,
    ) -> CudaResult<TensorMap> {
        let api = Context::current("creating a tensor map")?.bind()?;
        let rank = tensor.sizes.len();
        check_lengths(&[
            (tensor.strides.len(), rank.saturating_sub(1)),
            (tensor.lower_corner.len(), rank.saturating_sub(2)),
            (tensor.upper_corner.len(), rank.saturating_sub(2)),
            (tensor.element_strides.len(), rank),
        ])?;
        let mut map = TensorMap { opaque: [0; 16] };
        let address: *mut c_void = std::ptr::without_provenance_mut(memory.as_raw() as usize);
        // SAFETY: as above.
        let result = unsafe {
            api.driver.cuTensorMapEncodeIm2col(
                (&raw mut map).cast::<CUtensorMap>(),
                T::TYPE,
                rank as u32,
                address,
                tensor.sizes.as_ptr(),
                tensor.strides.as_ptr(),
                tensor.lower_corner.as_ptr(),
                tensor.upper_corner.as_ptr(),
                tensor.channels,
                tensor.pixels,
                tensor.element_strides.as_ptr(),
                raw_interleave(tensor.interleave),
                raw_swizzle(tensor.swizzle),
                raw_promotion(tensor.l2_promotion),
                raw_fill(tensor.nan_outside),
            )
        };
        api.check(result, || format!("creating a tensor map of {tensor:?}"))?;
        Ok(map)
    }

    /// Returns the map with another address.
    ///
    /// # Errors
    ///
    /// Returns the driver's error if the address is not sufficiently aligned.
    ///
    /// # Safety
    ///
    /// As for [`TensorMap::tiled`].
    pub unsafe fn with_address<T: TensorElement>(
        mut self,
        memory: DevicePointer<T>,
    ) -> CudaResult<TensorMap> {
        let api = Context::current("changing a tensor map")?.bind()?;
        let address: *mut c_void = std::ptr::without_provenance_mut(memory.as_raw() as usize);
        // SAFETY: as above.
        let result = unsafe {
            let map = (&raw mut self).cast::<CUtensorMap>();
            api.driver.cuTensorMapReplaceAddress(map, address)
        };
        api.check(result, || "changing the address of a tensor map".to_owned())?;
        Ok(self)
    }
}

const _: () = assert!(size_of::<TensorMap>() == size_of::<CUtensorMap>());
