//! Tensor maps: checked as by the driver, and written in the encoding of `tensor_map`.

use std::ffi::{c_int, c_void};

use cust_raw::{
    CUresult, CUtensorMap, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapInterleave,
    CUtensorMapL2promotion, CUtensorMapSwizzle,
};

use super::api;
use crate::tensor_map::{Cut, TensorMap, element};

/// The parameters that both kinds of maps share.
struct Common {
    ty: CUtensorMapDataType,
    rank: u32,
    address: *mut c_void,
    sizes: *const u64,
    strides: *const u64,
    steps: *const u32,
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    fill: CUtensorMapFloatOOBfill,
}

impl Common {
    /// Returns the map with a box of one element, or an error if the driver would reject it.
    ///
    /// # Safety
    ///
    /// The lists have as many entries as the rank, the strides one less.
    unsafe fn map(&self) -> Result<TensorMap, CUresult> {
        let invalid = Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        let rank = self.rank as usize;
        let lists = self.sizes.is_null() || self.steps.is_null();
        let (strides_missing, address) = (self.strides.is_null(), self.address.addr() as u64);
        if !(1..=5).contains(&rank) || lists || rank > 1 && strides_missing || address % 16 != 0 {
            return invalid;
        }
        let Some((size, _)) = u8::try_from(self.ty.0).ok().and_then(element) else {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        };
        if self.interleave != CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE
            || self.swizzle.0 > 3
        {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        let mut map = TensorMap {
            address,
            ty: self.ty.0 as u8,
            rank: rank as u8,
            swizzle: self.swizzle.0 as u8,
            nan_outside: self.fill != CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            sizes: [1; 5],
            strides: [0; 4],
            steps: [1; 5],
            cut: Cut::Tile { sides: [1; 5] },
        };
        for dimension in 0..rank {
            // SAFETY: as the caller promises.
            unsafe {
                map.sizes[dimension] = self.sizes.add(dimension).read();
                map.steps[dimension] = self.steps.add(dimension).read();
                if dimension > 0 {
                    map.strides[dimension - 1] = self.strides.add(dimension - 1).read();
                }
            }
        }
        let least = u64::from(size);
        let strides = &map.strides[..rank - 1];
        let good = map.sizes.iter().all(|size| (1..=1 << 32).contains(size))
            && map.steps.iter().all(|step| (1..=8).contains(step))
            && strides
                .iter()
                .all(|&stride| stride % 16 == 0 && stride < 1 << 40)
            && strides
                .first()
                .is_none_or(|&stride| stride >= map.sizes[0] * least);
        if good { Ok(map) } else { invalid }
    }

    /// Checks whether rows of this many elements of a box can be copied.
    fn check_row(&self, elements: u32) -> Result<(), CUresult> {
        let size = element(self.ty.0 as u8).map_or(1, |(size, _)| size);
        let bytes = elements * size;
        let span = 16 << self.swizzle.0;
        if bytes == 0 || bytes % 16 != 0 || self.swizzle.0 != 0 && bytes > span {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        Ok(())
    }
}

/// Writes a map for the caller.
///
/// # Safety
///
/// `to` is null or valid for a write.
unsafe fn write(to: *mut CUtensorMap, map: &TensorMap) -> Result<(), CUresult> {
    if to.is_null() || to.addr() % 64 != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: as the caller promises; a map has 128 bytes.
    unsafe { to.cast::<[u64; 16]>().write(map.encode()) };
    Ok(())
}

api! {
    fn cuTensorMapEncodeTiled(
        map: *mut CUtensorMap,
        ty: CUtensorMapDataType,
        rank: u32,
        address: *mut c_void,
        sizes: *const u64,
        strides: *const u64,
        sides: *const u32,
        steps: *const u32,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        _promotion: CUtensorMapL2promotion,
        fill: CUtensorMapFloatOOBfill,
    ) {
        let common = Common { ty, rank, address, sizes, strides, steps, interleave, swizzle, fill };
        // SAFETY: as `cuda.h` requires.
        let mut tensor = unsafe { common.map()? };
        if sides.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let mut list = [1; 5];
        for (dimension, side) in list.iter_mut().enumerate().take(rank as usize) {
            // SAFETY: as above.
            *side = unsafe { sides.add(dimension).read() };
        }
        if list.iter().any(|side| !(1..=256).contains(side)) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        common.check_row(list[0])?;
        tensor.cut = Cut::Tile { sides: list };
        // SAFETY: as above.
        unsafe { write(map, &tensor) }
    }

    fn cuTensorMapEncodeIm2col(
        map: *mut CUtensorMap,
        ty: CUtensorMapDataType,
        rank: u32,
        address: *mut c_void,
        sizes: *const u64,
        strides: *const u64,
        lower: *const c_int,
        upper: *const c_int,
        channels: u32,
        pixels: u32,
        steps: *const u32,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        _promotion: CUtensorMapL2promotion,
        fill: CUtensorMapFloatOOBfill,
    ) {
        let common = Common { ty, rank, address, sizes, strides, steps, interleave, swizzle, fill };
        // SAFETY: as `cuda.h` requires.
        let mut tensor = unsafe { common.map()? };
        if rank < 3 || lower.is_null() || upper.is_null() || channels > 256 || pixels > 1024 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        common.check_row(channels)?;
        let corner = |list: *const c_int| {
            let mut corner = [0; 3];
            for (dimension, side) in corner.iter_mut().enumerate().take(rank as usize - 2) {
                // SAFETY: as above.
                *side = unsafe { list.add(dimension).read() };
            }
            corner
        };
        let (lower, upper) = (corner(lower), corner(upper));
        tensor.cut = Cut::Columns { lower, upper, channels, pixels };
        // SAFETY: as above.
        unsafe { write(map, &tensor) }
    }

    fn cuTensorMapReplaceAddress(map: *mut CUtensorMap, address: *mut c_void) {
        if map.is_null() || map.addr() % 64 != 0 || address.addr() % 16 != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: a map has 128 bytes.
        let words = unsafe { map.cast::<[u64; 16]>().read() };
        let Some(mut tensor) = TensorMap::decode(&words) else {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        };
        tensor.address = address.addr() as u64;
        // SAFETY: as above.
        unsafe { write(map, &tensor) }
    }
}
