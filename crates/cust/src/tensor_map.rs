//! Tensor maps: what bulk copies of tensors on the device (TMA) need to know of the memory. They
//! are made on the host and passed to kernels by value, from compute capability 9.0 on.

use std::ffi::c_void;

use cust_raw::{
    CUtensorMap, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapInterleave,
    CUtensorMapL2promotion, CUtensorMapSwizzle,
};

use crate::context::Context;
use crate::error::{CudaResult, Error};
use crate::memory::{DeviceCopy, DevicePointer};

/// A tensor map, to be passed to kernels by value. It holds an address, without keeping the memory.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct TensorMap {
    opaque: [u64; 16],
}

// SAFETY: plain numbers; whose memory they name is the business of the kernel that uses it.
unsafe impl DeviceCopy for TensorMap {}

/// A type of elements that tensor maps know.
///
/// # Safety
///
/// The type has the size of `TYPE`.
pub unsafe trait TensorElement: DeviceCopy {
    /// What the driver calls it.
    const TYPE: CUtensorMapDataType;
}

macro_rules! elements {
    ($($ty:ty: $name:ident;)*) => {
        $(
            // SAFETY: of this type.
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

/// How the rows of a box are permuted in shared memory, against conflicts of banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Swizzle {
    /// Not at all.
    #[default]
    None,
    /// Within 32 bytes.
    Bytes32,
    /// Within 64 bytes.
    Bytes64,
    /// Within 128 bytes.
    Bytes128,
}

/// How much the second-level cache fetches at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum L2Promotion {
    /// What is asked for.
    #[default]
    None,
    /// 64 bytes.
    Bytes64,
    /// 128 bytes.
    Bytes128,
    /// 256 bytes.
    Bytes256,
}

/// How channels lie in memory beside each other, of tensors of three and more dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Interleave {
    /// As the strides say.
    #[default]
    None,
    /// In groups of 16 bytes, of which each pixel has one.
    Bytes16,
    /// In groups of 32 bytes; with [`Swizzle::Bytes32`].
    Bytes32,
}

/// Which memory a tensor map describes, and which boxes of it are copied at once. Dimensions are
/// in the order of CUDA: the one whose elements lie side by side first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TiledTensor<'a> {
    /// Elements along each dimension; one to five dimensions.
    pub sizes: &'a [u64],
    /// Bytes from one index to the next along each dimension but the first; multiples of 16.
    pub strides: &'a [u64],
    /// Elements of a box along each dimension; at most 256.
    pub box_sizes: &'a [u32],
    /// Which elements of a box are copied along each dimension: every one, every second, …
    pub element_strides: &'a [u32],
    /// How a box lies in shared memory.
    pub swizzle: Swizzle,
    /// Whether floats outside of the tensor are NaN; else they are zero.
    pub nan_outside: bool,
    /// How much the second-level cache fetches at a time.
    pub l2_promotion: L2Promotion,
    /// How channels lie in memory.
    pub interleave: Interleave,
}

/// Which images a tensor map describes, and how many of their pixels are copied at once: one row of
/// a matrix for each pixel, as convolutions want it (`im2col`). The dimensions are channels, one to
/// three of space, and the image.
///
/// A copy begins at a pixel and goes on along the first dimension of space, then along the others,
/// then in the next image, within a box around each image's pixels. The copy may say by how much
/// all pixels are shifted: by the place in the filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Im2colTensor<'a> {
    /// Elements along each dimension; three to five dimensions.
    pub sizes: &'a [u64],
    /// Bytes from one index to the next along each dimension but the first; multiples of 16.
    pub strides: &'a [u64],
    /// Where the box begins, for each dimension of space.
    pub lower_corner: &'a [i32],
    /// By how much the box ends after the image does (or before it, if negative).
    pub upper_corner: &'a [i32],
    /// Channels that are copied of each pixel; at most 256.
    pub channels: u32,
    /// Pixels that are copied; at most 1024.
    pub pixels: u32,
    /// Which pixels are copied along each dimension: every one, every second, …
    pub element_strides: &'a [u32],
    /// How a row lies in shared memory.
    pub swizzle: Swizzle,
    /// Whether floats outside of the tensor are NaN; else they are zero.
    pub nan_outside: bool,
    /// How much the second-level cache fetches at a time.
    pub l2_promotion: L2Promotion,
    /// How channels lie in memory.
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

/// Lists have as many entries as the dimensions that they are for: the driver reads so many.
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
    /// The map as the driver made it, for kernels that declare a type of their own for it
    /// (`cuda_std::copy::TensorMap::from_words`).
    #[must_use]
    pub fn to_words(self) -> [u64; 16] {
        self.opaque
    }

    /// A map of memory in tiles.
    ///
    /// # Safety
    ///
    /// The memory is as described, as long as kernels use the map.
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
        // SAFETY: the map has the size and alignment of the driver's, and the lists have as many
        // entries as there are dimensions.
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

    /// A map of images in rows of pixels.
    ///
    /// # Safety
    ///
    /// The memory is as described, as long as kernels use the map.
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

    /// The same map of other memory.
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
