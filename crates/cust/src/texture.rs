//! Textures and surfaces: arrays, and plain memory, as kernels read them with filtering, and arrays
//! as kernels write them.
//!
//! References to them are passed to kernels' parameters of the types of `cuda_std::texture`; the
//! launch checks that dimensions and elements are those of the parameter. The emulator has neither
//! cubes, nor levels, nor sRGB.

use std::any::type_name;
use std::sync::Arc;

use cust_core::kernel::{
    Access, Argument, ImageNumbers, ImageShape, Launch, Pass, SurfaceParam, TextureParam, bytes_of,
};
use cust_raw::{
    CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_READ_AS_INTEGER, CU_TRSF_SRGB, CUDA_RESOURCE_DESC,
    CUDA_TEXTURE_DESC, CUaddress_mode, CUarray_format, CUfilter_mode, CUresourcetype, CUsurfObject,
    CUtexObject,
};
use smallvec::SmallVec;

use crate::context::Context;
use crate::error::CudaResult;
use crate::memory::{Array, ArrayElement, DeviceBuffer, MipmappedArray, PitchedBuffer};
use crate::tracker::Tracker;

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
    /// The levels to look at, of an array that has some: from the first number to the second, so
    /// the first level alone unless this says more.
    pub mipmap_levels: [f32; 2],
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

/// What a texture is made of.
trait Source<T> {
    /// What the driver is told of it.
    fn resource(&self) -> CUDA_RESOURCE_DESC;
    fn shape(&self) -> CudaResult<ImageShape>;
    fn context(&self) -> &Context;
    /// What knows who uses it.
    fn trackers(&self) -> Trackers<'_>;
}

/// One, but for arrays with levels.
type Trackers<'a> = SmallVec<[&'a Tracker; 1]>;

fn resource(kind: CUresourcetype) -> CUDA_RESOURCE_DESC {
    // SAFETY: zeros are valid for these plain numbers and pointers.
    let mut resource: CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
    resource.resType = kind;
    resource
}

impl<T: ArrayElement> Source<T> for Array<T> {
    fn resource(&self) -> CUDA_RESOURCE_DESC {
        let mut resource = resource(CUresourcetype::CU_RESOURCE_TYPE_ARRAY);
        resource.res.array.hArray = self.as_raw();
        resource
    }

    fn shape(&self) -> CudaResult<ImageShape> {
        use crate::memory::ArrayFlags;
        let descriptor = self.descriptor()?;
        let flags = ArrayFlags::from_bits_truncate(descriptor.Flags);
        let has = |flag| flags.contains(flag);
        let flat = 1 + usize::from(descriptor.Height != 0);
        Ok(match (has(ArrayFlags::LAYERED), has(ArrayFlags::CUBEMAP)) {
            (true, true) => ImageShape::LayeredCube,
            (true, false) => ImageShape::Layered(flat),
            (false, true) => ImageShape::Cube,
            (false, false) => ImageShape::Plain(if descriptor.Depth != 0 { 3 } else { flat }),
        })
    }

    fn context(&self) -> &Context {
        self.tracker().context()
    }

    fn trackers(&self) -> Trackers<'_> {
        [self.tracker()].into()
    }
}

impl<T: ArrayElement> Source<T> for MipmappedArray<T> {
    fn resource(&self) -> CUDA_RESOURCE_DESC {
        let mut resource = resource(CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
        resource.res.mipmap.hMipmappedArray = self.as_raw();
        resource
    }

    fn shape(&self) -> CudaResult<ImageShape> {
        // There are no arrays without levels.
        self.level(0)
            .map_or(Ok(ImageShape::Plain(1)), |level| level.shape())
    }

    fn context(&self) -> &Context {
        self.context()
    }

    fn trackers(&self) -> Trackers<'_> {
        let levels = (0..self.levels()).filter_map(|level| self.level(level));
        levels.map(|level| level.tracker()).collect()
    }
}

impl<T: ArrayElement> Source<T> for DeviceBuffer<T> {
    fn resource(&self) -> CUDA_RESOURCE_DESC {
        let mut resource = resource(CUresourcetype::CU_RESOURCE_TYPE_LINEAR);
        resource.res.linear.devPtr = self.as_device_ptr().as_raw();
        resource.res.linear.format = T::FORMAT;
        resource.res.linear.numChannels = T::CHANNELS;
        resource.res.linear.sizeInBytes = self.len() * size_of::<T>();
        resource
    }

    fn shape(&self) -> CudaResult<ImageShape> {
        Ok(ImageShape::Plain(1))
    }

    fn context(&self) -> &Context {
        self.range().tracker.context()
    }

    fn trackers(&self) -> Trackers<'_> {
        [self.range().tracker].into()
    }
}

impl<T: ArrayElement> Source<T> for PitchedBuffer<T> {
    fn resource(&self) -> CUDA_RESOURCE_DESC {
        let mut resource = resource(CUresourcetype::CU_RESOURCE_TYPE_PITCH2D);
        resource.res.pitch2D.devPtr = self.as_device_ptr().as_raw();
        resource.res.pitch2D.format = T::FORMAT;
        resource.res.pitch2D.numChannels = T::CHANNELS;
        resource.res.pitch2D.width = self.extent().width;
        resource.res.pitch2D.height = self.extent().height;
        resource.res.pitch2D.pitchInBytes = self.pitch();
        resource
    }

    fn shape(&self) -> CudaResult<ImageShape> {
        Ok(ImageShape::Plain(2))
    }

    fn context(&self) -> &Context {
        self.tracker().context()
    }

    fn trackers(&self) -> Trackers<'_> {
        [self.tracker()].into()
    }
}

/// What kernels get of a texture or a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// A texture: numbers, so many for each element.
    Numbers(ImageNumbers, u32),
    /// A surface: elements of so many bytes.
    Bytes(usize),
}

impl std::fmt::Display for Gives {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Gives::Numbers(numbers, 1) => write!(f, "{numbers}"),
            Gives::Numbers(numbers, count) => write!(f, "{count} {numbers} each"),
            Gives::Bytes(1) => f.write_str("elements of one byte"),
            Gives::Bytes(bytes) => write!(f, "elements of {bytes} bytes"),
        }
    }
}

/// How a kernel sees a texture or a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    shape: ImageShape,
    gives: Gives,
}

impl std::fmt::Display for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.shape, self.gives)
    }
}

/// A texture or a surface as an argument of a launch.
pub struct ImageArgument<'a> {
    handle: u64,
    trackers: Trackers<'a>,
    access: Access,
    mismatch: Option<Mismatch>,
}

/// A parameter sees other things than there are.
pub(crate) struct Mismatch {
    pub(crate) wanted: View,
    pub(crate) there: View,
    pub(crate) type_name: fn() -> &'static str,
}

impl<'a> ImageArgument<'a> {
    fn new<P>(
        handle: u64,
        trackers: Trackers<'a>,
        access: Access,
        wanted: View,
        there: View,
    ) -> ImageArgument<'a> {
        let mismatch = (wanted != there).then_some(Mismatch {
            wanted,
            there,
            type_name: type_name::<P>,
        });
        ImageArgument {
            handle,
            trackers,
            access,
            mismatch,
        }
    }
}

// SAFETY: the handle is of what the trackers are of.
unsafe impl Pass for ImageArgument<'_> {
    fn pass<'a>(&'a self, launch: &mut dyn Launch<'a>) {
        launch.parameter(bytes_of(&self.handle), type_name::<u64>);
        for &tracker in &self.trackers {
            launch.resource(tracker, self.access, 0, usize::MAX);
        }
        if let Some(mismatch) = &self.mismatch {
            launch.resource(mismatch, self.access, 0, 0);
        }
    }
}

fn texture_view<T: ArrayElement>(
    source: &impl Source<T>,
    config: &TextureConfig,
) -> CudaResult<View> {
    use CUarray_format as F;
    let signed = match T::FORMAT {
        F::CU_AD_FORMAT_SIGNED_INT8
        | F::CU_AD_FORMAT_SIGNED_INT16
        | F::CU_AD_FORMAT_SIGNED_INT32 => Some(true),
        F::CU_AD_FORMAT_FLOAT | F::CU_AD_FORMAT_HALF => None,
        _ => Some(false),
    };
    // The widest have no float that they could become.
    let whole = config.read_as_integer || size_of::<T>() == 4 * T::CHANNELS as usize;
    let numbers = match signed {
        Some(true) if whole => ImageNumbers::Signed,
        Some(false) if whole => ImageNumbers::Unsigned,
        _ => ImageNumbers::Float,
    };
    Ok(View {
        shape: source.shape()?,
        gives: Gives::Numbers(numbers, T::CHANNELS),
    })
}

/// Textures, by what they are made of.
macro_rules! textures {
    ($($(#[$doc:meta])* $name:ident of $source:ident, $accessor:ident: $what:literal;)*) => {$(
        $(#[$doc])*
        pub struct $name<T: ArrayElement> {
            raw: CUtexObject,
            view: View,
            $accessor: Arc<$source<T>>,
        }

        impl<T: ArrayElement> $name<T> {
            #[doc = concat!("Makes a texture of ", $what, ".")]
            ///
            /// # Errors
            ///
            /// The driver's, for what textures of such elements do not have.
            pub fn new($accessor: Arc<$source<T>>, config: &TextureConfig) -> CudaResult<Self> {
                let source: &$source<T> = &$accessor;
                let (description, resource) = (config.raw(), source.resource());
                let api = Source::context(source).bind()?;
                let view = texture_view(source, config)?;
                let mut raw = 0;
                // SAFETY: the pointers are valid for the call, and what it is made of is alive.
                let result = unsafe {
                    api.driver
                        .cuTexObjectCreate(&mut raw, &resource, &description, std::ptr::null())
                };
                api.check(result, || format!("creating a texture of {source:?}"))?;
                Ok($name { raw, view, $accessor })
            }

            #[doc = concat!("What it is made of: ", $what, ".")]
            pub fn $accessor(&self) -> &$source<T> {
                &self.$accessor
            }

            /// The driver's handle. What kernels read through it is not tracked: they have to be
            /// done before the memory changes or the texture is dropped.
            pub fn as_raw(&self) -> CUtexObject {
                self.raw
            }
        }

        // SAFETY: the texture is there until the work is done, and nothing writes to it meanwhile;
        // a launch with another view than the parameter's is refused.
        #[diagnostic::do_not_recommend]
        unsafe impl<'a, T: ArrayElement, P: TextureParam> Argument<P> for &'a $name<T> {
            type Passed = ImageArgument<'a>;

            fn into_passed(self) -> ImageArgument<'a> {
                let wanted = View {
                    shape: P::SHAPE,
                    gives: Gives::Numbers(P::NUMBERS, P::CHANNELS),
                };
                let trackers = self.$accessor.trackers();
                ImageArgument::new::<P>(self.raw, trackers, Access::Read, wanted, self.view)
            }
        }

        impl<T: ArrayElement> Drop for $name<T> {
            fn drop(&mut self) {
                let source: &$source<T> = &self.$accessor;
                done_with(Source::context(source), &source.trackers(), |driver| {
                    // SAFETY: made once, destroyed once.
                    let _ = unsafe { driver.cuTexObjectDestroy(self.raw) };
                });
            }
        }

        impl<T: ArrayElement> std::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x}, {:?})"), self.raw, self.$accessor)
            }
        }
    )*};
}

textures! {
    /// A texture on an array, which it shares with whoever else holds it.
    Texture of Array, array: "an array";
    /// A texture on an array with levels, which it shares with whoever else holds it. Its
    /// coordinates are normalized.
    MipmappedTexture of MipmappedArray, array: "an array with levels";
    /// A texture on plain memory, which it shares with whoever else holds it. Kernels fetch whole
    /// elements of it: it has one dimension, no filter and no address modes.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use cust::prelude::*;
    /// use cust::texture::{BufferTexture, TextureConfig};
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let table = Arc::new(DeviceBuffer::from_slice(&[1.0f32, 2.0, 4.0])?);
    /// let texture = BufferTexture::new(table, &TextureConfig::default())?;
    /// assert_eq!(texture.buffer().len(), 3);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
    BufferTexture of DeviceBuffer, buffer: "plain memory";
    /// A texture on plain memory in rows, which it shares with whoever else holds it: it has two
    /// dimensions.
    PitchedTexture of PitchedBuffer, buffer: "plain memory in rows";
}

/// A surface on an array, through which kernels read and write it.
pub struct Surface<T: ArrayElement> {
    raw: CUsurfObject,
    view: View,
    array: Arc<Array<T>>,
}

impl<T: ArrayElement> Surface<T> {
    /// Makes a surface of an array, which has to be made with
    /// [`ArrayFlags::SURFACE_LDST`](crate::memory::ArrayFlags::SURFACE_LDST).
    pub fn new(array: Arc<Array<T>>) -> CudaResult<Surface<T>> {
        let api = Source::context(&*array).bind()?;
        let view = View {
            shape: array.shape()?,
            gives: Gives::Bytes(size_of::<T>()),
        };
        let resource = array.resource();
        let mut raw = 0;
        // SAFETY: the pointers are valid for the call, and the array is alive.
        let result = unsafe { api.driver.cuSurfObjectCreate(&mut raw, &resource) };
        api.check(result, || format!("creating a surface of {array:?}"))?;
        Ok(Surface { raw, view, array })
    }

    /// The array.
    pub fn array(&self) -> &Array<T> {
        &self.array
    }

    /// The driver's handle. What kernels do through it is not tracked: they have to be done before
    /// the array is used otherwise or the surface is dropped.
    pub fn as_raw(&self) -> CUsurfObject {
        self.raw
    }
}

// SAFETY: the surface is there until the work is done, its array takes turns, and any bytes make
// elements; a launch with another view than the parameter's is refused.
#[diagnostic::do_not_recommend]
unsafe impl<'a, T: ArrayElement, P: SurfaceParam> Argument<P> for &'a Surface<T> {
    type Passed = ImageArgument<'a>;

    fn into_passed(self) -> ImageArgument<'a> {
        let wanted = View {
            shape: P::SHAPE,
            gives: Gives::Bytes(P::ELEMENT),
        };
        let trackers = self.array.trackers();
        ImageArgument::new::<P>(self.raw, trackers, Access::Write, wanted, self.view)
    }
}

/// Waits for what uses the memory, and says how to call the driver.
fn done_with(context: &Context, trackers: &[&Tracker], destroy: impl FnOnce(&cust_raw::Driver)) {
    // An object that work may still use is leaked.
    let settle = |tracker: &&Tracker| tracker.settle(Access::Write);
    let settled = trackers.iter().try_for_each(settle).is_ok();
    // An error means that the context is gone, and the object with it.
    if settled && let Ok(api) = context.bind() {
        destroy(api.driver);
    }
}

impl<T: ArrayElement> Drop for Surface<T> {
    fn drop(&mut self) {
        done_with(self.array.context(), &self.array.trackers(), |driver| {
            // SAFETY: made once, destroyed once.
            let _ = unsafe { driver.cuSurfObjectDestroy(self.raw) };
        });
    }
}

impl<T: ArrayElement> std::fmt::Debug for Surface<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Surface({:#x}, {:?})", self.raw, self.array)
    }
}
