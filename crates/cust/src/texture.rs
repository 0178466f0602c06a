//! Textures and surfaces: arrays as kernels read them with filtering, and write them.
//!
//! The objects are numbers, which kernels take by value. The emulator has them of arrays, without cubes
//! and sRGB.

use std::sync::Arc;

use cust_core::kernel::Access;
use cust_raw::{
    CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_READ_AS_INTEGER, CU_TRSF_SRGB, CUDA_RESOURCE_DESC,
    CUDA_TEXTURE_DESC, CUaddress_mode, CUfilter_mode, CUresourcetype, CUsurfObject, CUtexObject,
};

use crate::context::Context;
use crate::error::CudaResult;
use crate::memory::{Array, ArrayElement, MipmappedArray, settle_levels};

/// What a texture says of coordinates outside of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AddressMode {
    /// It repeats; for normalized coordinates.
    Wrap,
    /// Its edge goes on.
    #[default]
    Clamp,
    /// It repeats, mirrored; for normalized coordinates.
    Mirror,
    /// There is the border's colour.
    Border,
}

/// What a texture says of coordinates between its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FilterMode {
    /// What the nearest element says.
    #[default]
    Nearest,
    /// What lies between its neighbours; for floats.
    Linear,
}

/// How a texture reads its array.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct TextureConfig {
    /// For each dimension.
    pub address_modes: [AddressMode; 3],
    /// Between elements.
    pub filter: FilterMode,
    /// Whether integers stay integers; else they become floats between 0 and 1, or -1 and 1.
    pub read_as_integer: bool,
    /// Whether coordinates run from 0 to 1.
    pub normalized_coordinates: bool,
    /// Whether the elements are sRGB colours.
    pub srgb: bool,
    /// The most neighbours to look at along a line of sight.
    pub max_anisotropy: u32,
    /// The colour beyond the border.
    pub border_color: [f32; 4],
    /// Between levels, of an array that has some.
    pub mipmap_filter: FilterMode,
    /// What is added to the level that a kernel asks for.
    pub mipmap_level_bias: f32,
    /// The levels to look at: from the first number to the second.
    pub mipmap_levels: [f32; 2],
}

/// A texture on an array, which it shares with whoever else holds it.
pub struct Texture<T> {
    raw: CUtexObject,
    array: Arc<Array<T>>,
}

/// A surface on an array, through which kernels read and write it.
pub struct Surface<T> {
    raw: CUsurfObject,
    array: Arc<Array<T>>,
}

fn resource<T: ArrayElement>(array: &Array<T>) -> CUDA_RESOURCE_DESC {
    // SAFETY: zeros are valid for these plain numbers and pointers.
    let mut resource: CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
    resource.resType = CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array.as_raw();
    resource
}

impl TextureConfig {
    fn raw(&self) -> CUDA_TEXTURE_DESC {
        let config = self;
        // SAFETY: zeros are valid for these plain numbers.
        let mut description: CUDA_TEXTURE_DESC = unsafe { std::mem::zeroed() };
        description.addressMode = config.address_modes.map(|mode| match mode {
            AddressMode::Wrap => CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP,
            AddressMode::Clamp => CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
            AddressMode::Mirror => CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR,
            AddressMode::Border => CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
        });
        let filter = |filter| match filter {
            FilterMode::Nearest => CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            FilterMode::Linear => CUfilter_mode::CU_TR_FILTER_MODE_LINEAR,
        };
        description.filterMode = filter(config.filter);
        description.mipmapFilterMode = filter(config.mipmap_filter);
        description.mipmapLevelBias = config.mipmap_level_bias;
        [
            description.minMipmapLevelClamp,
            description.maxMipmapLevelClamp,
        ] = config.mipmap_levels;
        let flags = [
            (config.read_as_integer, CU_TRSF_READ_AS_INTEGER),
            (
                config.normalized_coordinates,
                CU_TRSF_NORMALIZED_COORDINATES,
            ),
            (config.srgb, CU_TRSF_SRGB),
        ];
        description.flags = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum();
        description.maxAnisotropy = config.max_anisotropy;
        description.borderColor = config.border_color;
        description
    }
}

impl<T: ArrayElement> Texture<T> {
    /// Makes a texture of an array.
    ///
    /// # Errors
    ///
    /// The driver's, for what arrays of such elements do not have.
    pub fn new(array: Arc<Array<T>>, config: &TextureConfig) -> CudaResult<Texture<T>> {
        let description = config.raw();
        let api = array.context().bind()?;
        let mut raw = 0;
        // SAFETY: the pointers are valid for the call, and the array is alive.
        let result = unsafe {
            let resource = resource(&array);
            api.driver
                .cuTexObjectCreate(&mut raw, &resource, &description, std::ptr::null())
        };
        api.check(result, || format!("making a texture of {array:?}"))?;
        Ok(Texture { raw, array })
    }

    /// The array.
    pub fn array(&self) -> &Array<T> {
        &self.array
    }

    /// The driver's handle, which kernels take by value. What they read through it is not tracked:
    /// they have to be done before the array changes or the texture is dropped.
    pub fn as_raw(&self) -> CUtexObject {
        self.raw
    }
}

/// A texture on an array with levels, which it shares with whoever else holds it.
pub struct MipmappedTexture<T> {
    raw: CUtexObject,
    array: Arc<MipmappedArray<T>>,
}

impl<T: ArrayElement> MipmappedTexture<T> {
    /// Makes a texture of an array with levels. The emulator has none.
    ///
    /// # Errors
    ///
    /// The driver's, for what arrays of such elements do not have.
    pub fn new(array: Arc<MipmappedArray<T>>, config: &TextureConfig) -> CudaResult<Self> {
        let description = config.raw();
        // SAFETY: zeros are valid for these plain numbers and pointers.
        let mut resource: CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
        resource.resType = CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        resource.res.mipmap.hMipmappedArray = array.as_raw();
        let api = array.context().bind()?;
        let mut raw = 0;
        // SAFETY: the pointers are valid for the call, and the array is alive.
        let result = unsafe {
            api.driver
                .cuTexObjectCreate(&mut raw, &resource, &description, std::ptr::null())
        };
        api.check(result, || format!("making a texture of {array:?}"))?;
        Ok(MipmappedTexture { raw, array })
    }

    /// The array.
    pub fn array(&self) -> &MipmappedArray<T> {
        &self.array
    }

    /// The driver's handle, which kernels take by value. As for [`Texture::as_raw`].
    pub fn as_raw(&self) -> CUtexObject {
        self.raw
    }
}

impl<T> Drop for MipmappedTexture<T> {
    fn drop(&mut self) {
        settle_levels(&self.array);
        // An error means that the context is gone, and the object with it.
        if let Ok(api) = self.array.context_of().bind() {
            // SAFETY: made once, destroyed once.
            let _ = unsafe { api.driver.cuTexObjectDestroy(self.raw) };
        }
    }
}

impl<T> std::fmt::Debug for MipmappedTexture<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MipmappedTexture({:#x}, {:?})", self.raw, self.array)
    }
}

impl<T: ArrayElement> Surface<T> {
    /// Makes a surface of an array, which has to be made with
    /// [`ArrayFlags::SURFACE_LDST`](crate::memory::ArrayFlags::SURFACE_LDST).
    pub fn new(array: Arc<Array<T>>) -> CudaResult<Surface<T>> {
        let api = array.context().bind()?;
        let mut raw = 0;
        // SAFETY: the pointers are valid for the call, and the array is alive.
        let result = unsafe {
            let resource = resource(&array);
            api.driver.cuSurfObjectCreate(&mut raw, &resource)
        };
        api.check(result, || format!("making a surface of {array:?}"))?;
        Ok(Surface { raw, array })
    }

    /// The array.
    pub fn array(&self) -> &Array<T> {
        &self.array
    }

    /// The driver's handle, which kernels take by value. As for [`Texture::as_raw`].
    pub fn as_raw(&self) -> CUsurfObject {
        self.raw
    }
}

/// Waits for the copies that use an array, and says how to call the driver.
fn done_with<T>(array: &Array<T>, destroy: impl FnOnce(&cust_raw::Driver)) {
    array.tracker().settle(Access::Write);
    let context: &Context = array.tracker().context();
    // An error means that the context is gone, and the object with it.
    if let Ok(api) = context.bind() {
        destroy(api.driver);
    }
}

impl<T> Drop for Texture<T> {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once.
        done_with(&self.array, |driver| unsafe {
            let _ = driver.cuTexObjectDestroy(self.raw);
        });
    }
}

impl<T> Drop for Surface<T> {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once.
        done_with(&self.array, |driver| unsafe {
            let _ = driver.cuSurfObjectDestroy(self.raw);
        });
    }
}

impl<T> std::fmt::Debug for Texture<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Texture({:#x}, {:?})", self.raw, self.array)
    }
}

impl<T> std::fmt::Debug for Surface<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Surface({:#x}, {:?})", self.raw, self.array)
    }
}
