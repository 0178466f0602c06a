//! Texture and surface objects of arrays: descriptions in device memory, by their addresses.

use cust_raw::{
    CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_READ_AS_INTEGER, CU_TRSF_SRGB, CUDA_RESOURCE_DESC,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUarray_format, CUfilter_mode, CUresourcetype,
    CUresult, CUsurfObject, CUtexObject,
};

use super::state::{from_pointer, state};
use super::{Outcome, api, put};
use crate::texture::Texture;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// What an object is made of: the array or the memory of the description, looked at in the plainest
/// way.
///
/// # Safety
///
/// The pointer is null or to a description.
unsafe fn source(resource: *const CUDA_RESOURCE_DESC) -> Result<Texture, CUresult> {
    if resource.is_null() {
        return Err(INVALID);
    }
    // SAFETY: as the caller promises.
    let resource = unsafe { &*resource };
    // SAFETY: the type says which part of the union is there.
    let array = unsafe {
        match resource.resType {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => resource.res.array.hArray,
            CUresourcetype::CU_RESOURCE_TYPE_LINEAR => {
                let memory = &resource.res.linear;
                let texture = plain(memory.devPtr, 0, [0; 3], memory.format, memory.numChannels);
                return linear(texture, memory.sizeInBytes as u64);
            }
            CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => {
                let memory = &resource.res.pitch2D;
                let (pitch, sizes) = (memory.pitchInBytes as u64, [memory.width, memory.height, 0]);
                let (format, channels) = (memory.format, memory.numChannels);
                return pitched(plain(memory.devPtr, pitch, sizes, format, channels));
            }
            _ => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        }
    };
    let array = state()?.array(from_pointer(array))?;
    let descriptor = &array.descriptor;
    // Cubes' faces are not looked at as such.
    const CUBE: u32 = 4;
    if descriptor.Flags & CUBE != 0 {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let sizes = [descriptor.Width, descriptor.Height, descriptor.Depth];
    let (format, channels) = (descriptor.Format, descriptor.NumChannels);
    Ok(plain(
        array.address,
        array.row as u64,
        sizes,
        format,
        channels,
    ))
}

/// Elements of a format, of so many numbers each, looked at in the plainest way.
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
    }
}

/// Textures of memory begin at multiples of this, as the device's attribute says.
const ALIGNMENT: u64 = 512;
/// Rows of a pitched texture begin at multiples of this.
const PITCH_ALIGNMENT: u64 = 32;

/// What fits into so many bytes, one after the other.
fn linear(mut texture: Texture, bytes: u64) -> Result<Texture, CUresult> {
    let elements = bytes / texture.element_size().max(1);
    if !texture.address.is_multiple_of(ALIGNMENT) || !(1..=1 << 28).contains(&elements) {
        return Err(INVALID);
    }
    texture.sizes = [elements as u32, 0, 0];
    Ok(texture)
}

/// If rows and their distance are such as textures can have.
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

/// Puts a description where kernels find it.
///
/// # Safety
///
/// `to` is null or valid for a write.
unsafe fn make(to: *mut u64, texture: &Texture) -> Outcome {
    let context = state()?.usable()?;
    if to.is_null() {
        return Err(INVALID);
    }
    let address = context.memory.alloc(128, 64);
    let address = address.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
    // SAFETY: the memory is ours, and addresses are the host's.
    unsafe {
        (address as *mut [u64; 16]).write(texture.encode());
        put(to, address)
    }
}

/// Takes a description away again.
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
        // SAFETY: as `cuda.h` asks for them.
        let (mut texture, description) = unsafe { (source(resource)?, &*description) };
        if description.flags & CU_TRSF_SRGB != 0 {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        texture.modes = description.addressMode.map(|mode| mode.0 as u8);
        texture.linear = description.filterMode == CUfilter_mode::CU_TR_FILTER_MODE_LINEAR;
        texture.as_integer = description.flags & CU_TRSF_READ_AS_INTEGER != 0;
        texture.normalized = description.flags & CU_TRSF_NORMALIZED_COORDINATES != 0;
        texture.border = description.borderColor;
        // SAFETY: as above.
        unsafe { make(object, &texture) }
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
            let mut surface = source(resource)?;
            surface.surface = true;
            make(object, &surface)
        }
    }

    fn cuSurfObjectDestroy(object: CUsurfObject) {
        destroy(object)
    }
}
