//! Texture and surface objects: descriptions in device memory, whose addresses are the handles.

use cust_raw::{
    CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_READ_AS_INTEGER, CU_TRSF_SRGB, CUDA_RESOURCE_DESC,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUarray_format, CUfilter_mode, CUresourcetype,
    CUresult, CUsurfObject, CUtexObject,
};

use super::state::{Handle, from_pointer, state};
use super::{Outcome, api, put};
use crate::texture::{DESCRIPTION, Texture};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Returns the textures of a resource, with default sampling: an array, the levels of a mipmapped
/// array, or linear memory.
///
/// # Safety
///
/// The pointer is null or to a description.
unsafe fn source(resource: *const CUDA_RESOURCE_DESC) -> Result<Vec<Texture>, CUresult> {
    if resource.is_null() {
        return Err(INVALID);
    }
    // SAFETY: as the caller promises.
    let resource = unsafe { &*resource };
    // SAFETY: the type determines the active field of the union.
    unsafe {
        match resource.resType {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => {
                Ok(vec![of_array(from_pointer(resource.res.array.hArray))?])
            }
            CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                let whole = from_pointer(resource.res.mipmap.hMipmappedArray);
                let levels = state()?.mipmapped(whole)?;
                levels.iter().map(|&level| of_array(level)).collect()
            }
            CUresourcetype::CU_RESOURCE_TYPE_LINEAR => {
                let memory = &resource.res.linear;
                let texture = plain(memory.devPtr, 0, [0; 3], memory.format, memory.numChannels);
                Ok(vec![linear(texture, memory.sizeInBytes as u64)?])
            }
            CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => {
                let memory = &resource.res.pitch2D;
                let (pitch, sizes) = (memory.pitchInBytes as u64, [memory.width, memory.height, 0]);
                let (format, channels) = (memory.format, memory.numChannels);
                let texture = plain(memory.devPtr, pitch, sizes, format, channels);
                Ok(vec![pitched(texture)?])
            }
            _ => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        }
    }
}

/// Returns the texture of an array, with default sampling.
fn of_array(array: Handle) -> Result<Texture, CUresult> {
    let array = state()?.array(array)?;
    let descriptor = &array.descriptor;
    let sizes = [descriptor.Width, descriptor.Height, descriptor.Depth];
    let (format, channels) = (descriptor.Format, descriptor.NumChannels);
    let texture = plain(array.address, array.row as u64, sizes, format, channels);
    Ok(Texture {
        cube: descriptor.Flags & cust_raw::CUDA_ARRAY3D_CUBEMAP != 0,
        layered: descriptor.Flags & cust_raw::CUDA_ARRAY3D_LAYERED != 0,
        ..texture
    })
}

/// Returns a texture of a format with `channels` components, with default sampling.
fn plain(
    address: u64,
    row: u64,
    sizes: [usize; 3],
    format: CUarray_format,
    channels: u32,
) -> Texture {
    Texture {
        surface: false,
        address,
        row,
        sizes: sizes.map(|size| size as u32),
        format: format.0,
        channels,
        modes: [1; 3],
        linear: false,
        as_integer: true,
        normalized: false,
        border: [0.0; 4],
        cube: false,
        layered: false,
        levels: 1,
        mixes_levels: false,
        level_bias: 0.0,
        level_range: [0.0; 2],
    }
}

/// The alignment of textures in linear memory, as the device attribute reports it.
const ALIGNMENT: u64 = 512;
/// The alignment of the rows of a pitched texture.
const PITCH_ALIGNMENT: u64 = 32;

/// Makes a texture one-dimensional, with as many elements as fit into `bytes` bytes.
fn linear(mut texture: Texture, bytes: u64) -> Result<Texture, CUresult> {
    let elements = bytes / texture.element_size().max(1);
    if !texture.address.is_multiple_of(ALIGNMENT) || !(1..=1 << 28).contains(&elements) {
        return Err(INVALID);
    }
    texture.sizes = [elements as u32, 0, 0];
    Ok(texture)
}

/// Checks the dimensions and the pitch of a pitched texture.
fn pitched(texture: Texture) -> Result<Texture, CUresult> {
    let [width, height, _] = texture.sizes.map(u64::from);
    let aligned = texture.address.is_multiple_of(ALIGNMENT)
        && texture.row.is_multiple_of(PITCH_ALIGNMENT)
        && width * texture.element_size() <= texture.row;
    let sizes = 1..=1 << 17;
    if !aligned || !sizes.contains(&width) || !sizes.contains(&height) {
        return Err(INVALID);
    }
    Ok(texture)
}

/// Writes the descriptions of all mip levels to device memory.
///
/// # Safety
///
/// `to` is null or valid for a write.
unsafe fn make(to: *mut u64, levels: &[Texture]) -> Outcome {
    let context = state()?.usable()?;
    if to.is_null() {
        return Err(INVALID);
    }
    let bytes = levels.len() * DESCRIPTION as usize;
    let address = context.memory.alloc(bytes, 64);
    let address = address.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    // SAFETY: the memory was just allocated, and device addresses are host addresses.
    unsafe {
        for (level, texture) in levels.iter().enumerate() {
            (address as *mut [u64; 16])
                .add(level)
                .write(texture.encode());
        }
        put(to, address)
    }
}

/// Frees a description.
fn destroy(handle: u64) -> Outcome {
    let context = state()?.usable()?;
    if context.memory.free(handle) {
        Ok(())
    } else {
        Err(INVALID)
    }
}

api! {
    fn cuTexObjectCreate(
        object: *mut CUtexObject,
        resource: *const CUDA_RESOURCE_DESC,
        description: *const CUDA_TEXTURE_DESC,
        view: *const CUDA_RESOURCE_VIEW_DESC,
    ) {
        if description.is_null() {
            return Err(INVALID);
        }
        if !view.is_null() {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        // SAFETY: as `cuda.h` requires.
        let (mut levels, description) = unsafe { (source(resource)?, &*description) };
        if description.flags & CU_TRSF_SRGB != 0 {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        let normalized = description.flags & CU_TRSF_NORMALIZED_COORDINATES != 0;
        let count = levels.len();
        // SAFETY: as above.
        let mipmapped = unsafe { (*resource).resType }
            == CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        if mipmapped && !normalized {
            return Err(INVALID);
        }
        let linear = |mode| mode == CUfilter_mode::CU_TR_FILTER_MODE_LINEAR;
        for texture in &mut levels {
            texture.modes = description.addressMode.map(|mode| mode.0 as u8);
            texture.linear = linear(description.filterMode);
            texture.as_integer = description.flags & CU_TRSF_READ_AS_INTEGER != 0;
            texture.normalized = normalized || texture.cube;
            texture.border = description.borderColor;
            texture.levels = count as u32;
            texture.mixes_levels = linear(description.mipmapFilterMode);
            texture.level_bias = description.mipmapLevelBias;
            texture.level_range = [
                description.minMipmapLevelClamp,
                description.maxMipmapLevelClamp,
            ];
        }
        // SAFETY: as above.
        unsafe { make(object, &levels) }
    }

    fn cuTexObjectDestroy(object: CUtexObject) {
        destroy(object)
    }

    fn cuSurfObjectCreate(object: *mut CUsurfObject, resource: *const CUDA_RESOURCE_DESC) {
        // SAFETY: as above.
        unsafe {
            if !resource.is_null()
                && (*resource).resType != CUresourcetype::CU_RESOURCE_TYPE_ARRAY {
                return Err(INVALID);
            }
            let mut levels = source(resource)?;
            levels[0].surface = true;
            make(object, &levels)
        }
    }

    fn cuSurfObjectDestroy(object: CUsurfObject) {
        destroy(object)
    }
}
