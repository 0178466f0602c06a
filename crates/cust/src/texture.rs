//! Texture and surface objects: kernels read arrays and linear memory through textures, with
//! filtering, and read and write arrays through surfaces.
//!
//! A reference to a texture or surface is the argument for a kernel parameter of a type in
//! `cuda_std::texture`. The launch checks that dimensionality and element type match the parameter.
//! The emulator does not support cubemaps, mipmaps and sRGB.
//!
//! # Examples
//!
//! ```
//! // A crate of its own, which the build script compiles for the device:
//! mod kernels {
//!     use cuda_std::prelude::*;
//!     use cuda_std::texture::Texture;
//!
//!     /// Samples a table between its elements.
//!     #[kernel]
//!     pub fn sample(table: Texture<f32, 1>, mut to: PerThread<f32>) {
//!         for (i, to) in to.own() {
//!             *to = table.sample([0.5 * i as f32]);
//!         }
//!     }
//! }
//!
//! # const PTX: &str = "
//! # .version 7.0
//! # .target sm_70
//! # .address_size 64
//! # .visible .entry sample(.param .u64 table, .param .align 8 .b8 to[16]) {
//! #     .reg .b32 %r<2>;
//! #     .reg .b64 %rd<4>;
//! #     .reg .f32 %f<6>;
//! #     ld.param.u64 %rd1, [table];
//! #     ld.param.u64 %rd2, [to];
//! #     mov.u32 %r1, %tid.x;
//! #     cvt.rn.f32.u32 %f1, %r1;
//! #     mul.f32 %f1, %f1, 0f3F000000;
//! #     tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1}];
//! #     mul.wide.u32 %rd3, %r1, 4;
//! #     add.u64 %rd2, %rd2, %rd3;
//! #     st.global.f32 [%rd2], %f2;
//! #     ret;
//! # }";
//! # use cust::module::Image;
//! use std::sync::Arc;
//!
//! use cust::memory::{Array, ArrayFlags};
//! use cust::prelude::*;
//! use cust::texture::{FilterMode, Texture, TextureConfig};
//! use kernels::sample;
//!
//! // static KERNELS: Embedded = cust::include_module!("kernels");
//! # // SAFETY: the PTX's kernel has the parameters of `sample`.
//! # static KERNELS: Embedded =
//! #     unsafe { Embedded::new(&[env!("CARGO_PKG_NAME")], &[("sm_70", Image::Ptx(PTX))]) };
//!
//! let _context = cust::quick_init_on(Backend::Emulator)?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! let table = Array::from_slice(&[1.0f32, 3.0, 5.0], 3, ArrayFlags::empty())?;
//! let config = TextureConfig {
//!     filter: FilterMode::Linear,
//!     ..TextureConfig::default()
//! };
//! let texture = Texture::new(Arc::new(table), &config)?;
//! let mut to = DeviceBuffer::<f32>::zeroed(4)?;
//! KERNELS.load()?.launch(&stream, (1, 4), sample::args(&texture, &mut to))?;
//! // The centers of the elements are at 0.5, 1.5 and 2.5.
//! assert_eq!(to.as_host_vec()?, [1.0, 1.0, 2.0, 3.0]);
//! # Ok::<(), cust::error::Error>(())
//! ```

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

/// How a texture handles coordinates that are out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AddressMode {
    /// Repeats the texture. Requires normalized coordinates.
    Wrap,
    /// Clamps coordinates to the edge.
    #[default]
    Clamp,
    /// Repeats the texture, mirrored. Requires normalized coordinates.
    Mirror,
    /// Returns the border color.
    Border,
}

/// How a texture handles coordinates between its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FilterMode {
    /// Returns the nearest element.
    #[default]
    Nearest,
    /// Interpolates linearly between neighboring elements. Requires reads as floating point.
    Linear,
}

/// The sampling configuration of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TextureConfig {
    /// The address mode of each dimension.
    pub address_modes: [AddressMode; 3],
    /// The filter mode.
    pub filter: FilterMode,
    /// Whether integers are read as integers. Otherwise, 8-bit and 16-bit integers are converted to
    /// floats in the range 0 to 1 (unsigned) or -1 to 1 (signed).
    pub read_as_integer: bool,
    /// Whether coordinates are normalized to the range 0 to 1.
    pub normalized_coordinates: bool,
    /// Whether elements are converted from sRGB to linear values.
    pub srgb: bool,
    /// The maximum anisotropy ratio.
    pub max_anisotropy: u32,
    /// The border color, for [`AddressMode::Border`].
    pub border_color: [f32; 4],
    /// The filter mode between mip levels.
    pub mipmap_filter: FilterMode,
    /// The offset that is added to the requested mip level.
    pub mipmap_level_bias: f32,
    /// The range of mip levels that are read: the lowest and the highest. By default, only level 0.
    pub mipmap_levels: [f32; 2],
}

impl TextureConfig {
    fn raw(&self) -> CUDA_TEXTURE_DESC {
        let config = self;
        // SAFETY: all-zero bytes are valid for these numbers.
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

/// The memory that a texture reads.
trait Source<T> {
    /// Returns the driver's resource descriptor.
    fn resource(&self) -> CUDA_RESOURCE_DESC;
    fn shape(&self) -> CudaResult<ImageShape>;
    fn context(&self) -> &Context;
    /// Returns the trackers of the memory.
    fn trackers(&self) -> Trackers<'_>;
}

/// One tracker, or one per level of a mipmapped array.
type Trackers<'a> = SmallVec<[&'a Tracker; 1]>;

fn resource(kind: CUresourcetype) -> CUDA_RESOURCE_DESC {
    // SAFETY: all-zero bytes are valid for these integers and pointers.
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
        // Every mipmapped array has a level 0.
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

/// The elements that kernels read from a texture or a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// For a texture: the type of the numbers, and their number per element.
    Numbers(ImageNumbers, u32),
    /// For a surface: the size of an element in bytes.
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

/// The shape and the elements of a texture or a surface, as kernels access it.
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

/// A texture or surface that does not match the kernel's parameter.
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

// SAFETY: the handle refers to the memory that the trackers track.
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
    // 32-bit integers are not converted to floats.
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

/// Defines a texture type for each kind of memory.
macro_rules! textures {
    ($($(#[$doc:meta])* $name:ident of $source:ident, $accessor:ident: $what:literal;)*) => {$(
        $(#[$doc])*
        pub struct $name<T: ArrayElement> {
            raw: CUtexObject,
            view: View,
            $accessor: Arc<$source<T>>,
        }

        impl<T: ArrayElement> $name<T> {
            #[doc = concat!("Creates a texture that reads ", $what, ".")]
            ///
            /// # Errors
            ///
            /// Returns the driver's error if textures of such elements do not support the
            /// configuration.
            pub fn new($accessor: Arc<$source<T>>, config: &TextureConfig) -> CudaResult<Self> {
                let source: &$source<T> = &$accessor;
                let (description, resource) = (config.raw(), source.resource());
                let api = Source::context(source).bind()?;
                let view = texture_view(source, config)?;
                let mut raw = 0;
                // SAFETY: the pointers are valid for the call, and the source is alive.
                let result = unsafe {
                    api.driver
                        .cuTexObjectCreate(&mut raw, &resource, &description, std::ptr::null())
                };
                api.check(result, || format!("creating a texture of {source:?}"))?;
                Ok($name { raw, view, $accessor })
            }

            #[doc = concat!("Returns the memory that the texture reads: ", $what, ".")]
            pub fn $accessor(&self) -> &$source<T> {
                &self.$accessor
            }

            /// Returns the driver's handle.
            ///
            /// Kernels that receive the handle are not tracked: they must complete before the
            /// memory changes or the texture is dropped.
            pub fn as_raw(&self) -> CUtexObject {
                self.raw
            }
        }

        // SAFETY: the texture is alive until the work is done, and nothing writes to it before; a
        // launch returns an error if the texture does not match the parameter.
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
                destroy_when_unused(Source::context(source), &source.trackers(), |driver| {
                    // SAFETY: created once, destroyed once.
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
    /// A texture that reads an array. It shares ownership of the array.
    Texture of Array, array: "an array";
    /// A texture that reads a mipmapped array. It shares ownership of the array. Its coordinates
    /// are normalized.
    MipmappedTexture of MipmappedArray, array: "a mipmapped array";
    /// A texture that reads linear memory. It shares ownership of the buffer. Kernels fetch
    /// elements by integer index: the texture is one-dimensional, without filtering and address
    /// modes.
    ///
    /// # Examples
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
    BufferTexture of DeviceBuffer, buffer: "linear memory";
    /// A two-dimensional texture that reads pitched memory. It shares ownership of the buffer.
    PitchedTexture of PitchedBuffer, buffer: "pitched memory";
}

/// A surface, through which kernels read and write an array. It shares ownership of the array.
pub struct Surface<T: ArrayElement> {
    raw: CUsurfObject,
    view: View,
    array: Arc<Array<T>>,
}

impl<T: ArrayElement> Surface<T> {
    /// Creates a surface for an array, which must have been created with
    /// [`ArrayFlags::SURFACE_LDST`](crate::memory::ArrayFlags::SURFACE_LDST).
    ///
    /// # Errors
    ///
    /// Returns the driver's error for an array without this flag.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use cust::memory::{Array, ArrayFlags};
    /// use cust::prelude::*;
    /// use cust::texture::Surface;
    ///
    /// let _context = cust::quick_init_on(Backend::Emulator)?;
    /// let array = Array::from_slice(&[1.0f32, 2.0, 3.0, 4.0], (2, 2), ArrayFlags::SURFACE_LDST)?;
    /// let surface = Surface::new(Arc::new(array))?; // the argument of a launch
    /// assert_eq!(surface.array().as_host_vec()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), cust::error::Error>(())
    /// ```
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

    /// Returns the array.
    pub fn array(&self) -> &Array<T> {
        &self.array
    }

    /// Returns the driver's handle.
    ///
    /// Kernels that receive the handle are not tracked: they must complete before the array is used
    /// otherwise or the surface is dropped.
    pub fn as_raw(&self) -> CUsurfObject {
        self.raw
    }
}

// SAFETY: the surface is alive until the work is done, its array's tracker locks (`turns`), and all
// bit patterns are valid elements; a launch returns an error if the surface does not match the
// parameter.
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

/// Waits for all pending work that uses the memory, then calls `destroy`.
fn destroy_when_unused(
    context: &Context,
    trackers: &[&Tracker],
    destroy: impl FnOnce(&cust_raw::Driver),
) {
    // Leak an object that pending work may use.
    let settle = |tracker: &&Tracker| tracker.settle(Access::Write);
    let settled = trackers.iter().try_for_each(settle).is_ok();
    // An error means that the context is gone, and the object with it.
    if settled && let Ok(api) = context.bind() {
        destroy(api.driver);
    }
}

impl<T: ArrayElement> Drop for Surface<T> {
    fn drop(&mut self) {
        destroy_when_unused(self.array.context(), &self.array.trackers(), |driver| {
            // SAFETY: created once, destroyed once.
            let _ = unsafe { driver.cuSurfObjectDestroy(self.raw) };
        });
    }
}

impl<T: ArrayElement> std::fmt::Debug for Surface<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Surface({:#x}, {:?})", self.raw, self.array)
    }
}
