//! Texture and surface objects of arrays: descriptions in device memory, by their addresses.

use cust_raw::{
    CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_READ_AS_INTEGER, CU_TRSF_SRGB, CUDA_RESOURCE_DESC,
    CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUfilter_mode, CUresourcetype, CUresult,
    CUsurfObject, CUtexObject,
};

use super::state::{from_pointer, state};
use super::{Outcome, api, put};
use crate::texture::Texture;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// What an object is made of: the array of the description, looked at in the plainest way.
///
/// # Safety
///
/// The pointer is null or to a description.
unsafe fn array(resource: *const CUDA_RESOURCE_DESC) -> Result<Texture, CUresult> {
    if resource.is_null() {
        return Err(INVALID);
    }
    // SAFETY: as the caller promises; the type says which part of the union is there.
    let (kind, array) = unsafe { ((*resource).resType, (*resource).res.array.hArray) };
    if kind != CUresourcetype::CU_RESOURCE_TYPE_ARRAY {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    let array = state()?.array(from_pointer(array))?;
    let descriptor = &array.descriptor;
    // Cubes' faces are not looked at as such.
    const CUBE: u32 = 4;
    if descriptor.Flags & CUBE != 0 {
        return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    Ok(Texture {
        surface: false,
        address: array.address,
        row: array.row as u64,
        sizes: [descriptor.Width, descriptor.Height, descriptor.Depth].map(|size| size as u32),
        format: descriptor.Format.0,
        channels: descriptor.NumChannels,
        modes: [1; 3],
        linear: false,
        as_integer: true,
        normalized: false,
        border: [0.0; 4],
    })
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
        let (mut texture, description) = unsafe { (array(resource)?, &*description) };
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
            let mut surface = array(resource)?;
            surface.surface = true;
            make(object, &surface)
        }
    }

    fn cuSurfObjectDestroy(object: CUsurfObject) {
        destroy(object)
    }
}
