//! Textures and surfaces: arrays with a layout for spatial locality, hardware filtering and
//! out-of-bounds handling. The host creates them (`cust::texture`) and passes their handles.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::texture::Texture;
//!
//! /// Resizes a picture with a filtering texture.
//! #[kernel]
//! pub fn resize(picture: Texture<f32, 2>, width: u32, height: u32, mut to: PerThread<f32>) {
//!     for (i, to) in to.own() {
//!         let (x, y) = (i as u32 % width, i as u32 / width);
//!         let place = [(x as f32 + 0.5) / width as f32, (y as f32 + 0.5) / height as f32];
//!         *to = picture.sample(place);
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! The host selects the address mode (for coordinates outside the texture), normalized coordinates,
//! and filtering. They apply to sampling only: `fetch`, with integer coordinates, ignores them and
//! returns zeros outside the texture. Elements of textures of small integers are converted to
//! floats from 0 to 1 (or -1 to 1), unless the host selects integers.
//!
//! The host passes a reference to its texture or surface, and the launch checks that its dimensions
//! and elements match the parameter. A handle must belong to a live object; therefore creating one
//! from a number is unsafe.

use core::marker::PhantomData;

use crate::intrinsics::texture as raw;

/// An element of a texture: the first one, two or four of the four components that an instruction
/// returns.
pub trait Texel: Copy + sealed::Sealed {
    /// The type of a component: `f32`, `i32` or `u32`.
    type Number: Number;
    /// The number of components.
    const CHANNELS: u32;
    /// Creates the element from the four components.
    fn of(numbers: [Self::Number; 4]) -> Self;
}

/// The type of a texture's components.
pub trait Number: Copy + sealed::Sealed + numbers::Fetch {
    /// The corresponding kind on the host.
    #[doc(hidden)]
    const NUMBERS: cust_core::kernel::ImageNumbers;
}

mod sealed {
    pub trait Sealed {}
}

/// The instructions for each component type.
mod numbers {
    use super::raw;

    /// The texture instructions for a component type.
    pub trait Fetch: Sized {
        fn fetch_1(texture: u64, x: [i32; 1]) -> [Self; 4];
        fn fetch_2(texture: u64, x: [i32; 2]) -> [Self; 4];
        fn fetch_3(texture: u64, x: [i32; 3]) -> [Self; 4];
        fn sample_1(texture: u64, x: [f32; 1]) -> [Self; 4];
        fn sample_2(texture: u64, x: [f32; 2]) -> [Self; 4];
        fn sample_3(texture: u64, x: [f32; 3]) -> [Self; 4];
        fn level_1(texture: u64, x: [f32; 1], level: f32) -> [Self; 4];
        fn level_2(texture: u64, x: [f32; 2], level: f32) -> [Self; 4];
        fn level_3(texture: u64, x: [f32; 3], level: f32) -> [Self; 4];
        fn gradients_1(texture: u64, x: [f32; 1], dx: [f32; 1], dy: [f32; 1]) -> [Self; 4];
        fn gradients_2(texture: u64, x: [f32; 2], dx: [f32; 2], dy: [f32; 2]) -> [Self; 4];
        fn gradients_3(texture: u64, x: [f32; 3], dx: [f32; 3], dy: [f32; 3]) -> [Self; 4];
        fn layer1(texture: u64, layer: u32, x: f32) -> [Self; 4];
        fn layer2(texture: u64, layer: u32, x: [f32; 2]) -> [Self; 4];
        fn fetch_layer1(texture: u64, layer: u32, x: i32) -> [Self; 4];
        fn fetch_layer2(texture: u64, layer: u32, x: [i32; 2]) -> [Self; 4];
        fn layer1_level(texture: u64, layer: u32, x: f32, level: f32) -> [Self; 4];
        fn layer2_level(texture: u64, layer: u32, x: [f32; 2], level: f32) -> [Self; 4];
        fn layer1_gradients(texture: u64, layer: u32, x: f32, dx: f32, dy: f32) -> [Self; 4];
        fn layer2_gradients(
            texture: u64,
            layer: u32,
            x: [f32; 2],
            dx: [f32; 2],
            dy: [f32; 2],
        ) -> [Self; 4];
        fn cube_level(texture: u64, x: [f32; 3], level: f32) -> [Self; 4];
        fn cube_layer_level(texture: u64, layer: u32, x: [f32; 3], level: f32) -> [Self; 4];
        fn cube(texture: u64, x: [f32; 3]) -> [Self; 4];
        fn cube_layer(texture: u64, layer: u32, x: [f32; 3]) -> [Self; 4];
        fn gather(texture: u64, x: [f32; 2], component: u32) -> [Self; 4];
    }

    cuda_std_macros::repeat! {
        for (TY, RUST, KIND) in [(f32, f32, Float), (s32, i32, Signed), (u32, u32, Unsigned)] {
            impl super::sealed::Sealed for RUST {}
            impl super::Number for RUST {
                const NUMBERS: cust_core::kernel::ImageNumbers =
                    cust_core::kernel::ImageNumbers::KIND;
            }
            impl Fetch for RUST {
                #[inline(always)]
                fn fetch_1(texture: u64, x: [i32; 1]) -> [Self; 4] {
                    // `tex.1d` with integer coordinates is for linear memory. For an array it
                    // returns zeros; `tex.2d` reads the array's only row. Only arrays have a height
                    // that is not zero.
                    unsafe {
                        match raw::txq_height(texture) {
                            0 => raw::tex_1d_TY_s32(texture, x),
                            _ => raw::tex_2d_TY_s32(texture, [x[0], 0]),
                        }
                    }
                }
                #[inline(always)]
                fn fetch_2(texture: u64, x: [i32; 2]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_2d_TY_s32(texture, x) }
                }
                #[inline(always)]
                fn fetch_3(texture: u64, x: [i32; 3]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_3d_TY_s32(texture, x) }
                }
                #[inline(always)]
                fn sample_1(texture: u64, x: [f32; 1]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_1d_TY_f32(texture, x) }
                }
                #[inline(always)]
                fn sample_2(texture: u64, x: [f32; 2]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_2d_TY_f32(texture, x) }
                }
                #[inline(always)]
                fn sample_3(texture: u64, x: [f32; 3]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_3d_TY_f32(texture, x) }
                }
                #[inline(always)]
                fn level_1(texture: u64, x: [f32; 1], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_level_1d_TY_f32(texture, x, level) }
                }
                #[inline(always)]
                fn level_2(texture: u64, x: [f32; 2], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_level_2d_TY_f32(texture, x, level) }
                }
                #[inline(always)]
                fn level_3(texture: u64, x: [f32; 3], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_level_3d_TY_f32(texture, x, level) }
                }
                #[inline(always)]
                fn gradients_1(texture: u64, x: [f32; 1], dx: [f32; 1], dy: [f32; 1]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_grad_1d_TY_f32(texture, x, dx, dy) }
                }
                #[inline(always)]
                fn gradients_2(texture: u64, x: [f32; 2], dx: [f32; 2], dy: [f32; 2]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_grad_2d_TY_f32(texture, x, dx, dy) }
                }
                #[inline(always)]
                fn gradients_3(texture: u64, x: [f32; 3], dx: [f32; 3], dy: [f32; 3]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_grad_3d_TY_f32(texture, x, dx, dy) }
                }
                #[inline(always)]
                fn layer1(texture: u64, layer: u32, x: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_a1d_TY_f32(texture, layer, x) }
                }
                #[inline(always)]
                fn layer2(texture: u64, layer: u32, x: [f32; 2]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_a2d_TY_f32(texture, layer, x) }
                }
                #[inline(always)]
                fn fetch_layer1(texture: u64, layer: u32, x: i32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_a2d_TY_s32(texture, layer, [x, 0]) }
                }
                #[inline(always)]
                fn fetch_layer2(texture: u64, layer: u32, x: [i32; 2]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_a2d_TY_s32(texture, layer, x) }
                }
                #[inline(always)]
                fn layer1_level(texture: u64, layer: u32, x: f32, level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_level_a1d_TY_f32(texture, layer, x, level) }
                }
                #[inline(always)]
                fn layer2_level(texture: u64, layer: u32, x: [f32; 2], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_level_a2d_TY_f32(texture, layer, x, level) }
                }
                #[inline(always)]
                fn layer1_gradients(texture: u64, layer: u32, x: f32, dx: f32, dy: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_grad_a1d_TY_f32(texture, layer, x, [dx], [dy]) }
                }
                #[inline(always)]
                fn layer2_gradients(
                    texture: u64,
                    layer: u32,
                    x: [f32; 2],
                    dx: [f32; 2],
                    dy: [f32; 2],
                ) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_grad_a2d_TY_f32(texture, layer, x, dx, dy) }
                }
                #[inline(always)]
                fn cube_level(texture: u64, x: [f32; 3], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_level_cube_TY_f32(texture, x, level) }
                }
                #[inline(always)]
                fn cube_layer_level(texture: u64, layer: u32, x: [f32; 3], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_level_acube_TY_f32(texture, layer, x, level) }
                }
                #[inline(always)]
                fn cube(texture: u64, x: [f32; 3]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_cube_TY_f32(texture, x) }
                }
                #[inline(always)]
                fn cube_layer(texture: u64, layer: u32, x: [f32; 3]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::tex_acube_TY_f32(texture, layer, x) }
                }
                #[inline(always)]
                fn gather(texture: u64, x: [f32; 2], component: u32) -> [Self; 4] {
                    match component {
                        0 => unsafe { raw::tld4_r_2d_TY_f32(texture, x) },
                        1 => unsafe { raw::tld4_g_2d_TY_f32(texture, x) },
                        2 => unsafe { raw::tld4_b_2d_TY_f32(texture, x) },
                        _ => unsafe { raw::tld4_a_2d_TY_f32(texture, x) },
                    }
                }
            }
        }
    }
}

macro_rules! texels {
    ($($ty:ty, $number:ty;)*) => {$(
        impl Texel for $ty {
            type Number = $number;
            const CHANNELS: u32 = 1;
            #[inline(always)]
            fn of(numbers: [$number; 4]) -> $ty {
                numbers[0] as $ty
            }
        }
        impl sealed::Sealed for [$ty; 2] {}
        impl Texel for [$ty; 2] {
            type Number = $number;
            const CHANNELS: u32 = 2;
            #[inline(always)]
            fn of(numbers: [$number; 4]) -> [$ty; 2] {
                [numbers[0] as $ty, numbers[1] as $ty]
            }
        }
        impl sealed::Sealed for [$ty; 4] {}
        impl Texel for [$ty; 4] {
            type Number = $number;
            const CHANNELS: u32 = 4;
            #[inline(always)]
            fn of(numbers: [$number; 4]) -> [$ty; 4] {
                numbers.map(|number| number as $ty)
            }
        }
    )*};
}
texels! { f32, f32; i32, i32; u32, u32; i8, i32; u8, u32; i16, i32; u16, u32; }
macro_rules! seal {
    ($($ty:ty)*) => { $(impl sealed::Sealed for $ty {})* };
}
seal! { i8 u8 i16 u16 }

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident<T $(, const $d:ident: usize)?>) => {
        $(#[$doc])*
        /// The handle is valid only for the launch that it is an argument of. Safe code cannot keep
        /// it for a later launch: it is neither `Send` nor `Sync`, so it cannot be in a static, and
        /// it cannot be an element of a buffer.
        #[repr(transparent)]
        pub struct $name<T $(, const $d: usize)?>(u64, PhantomData<(fn() -> T, *const ())>);

        impl<T $(, const $d: usize)?> Clone for $name<T $(, $d)?> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T $(, const $d: usize)?> Copy for $name<T $(, $d)?> {}

        impl<T $(, const $d: usize)?> $name<T $(, $d)?> {
            /// Creates a handle from the number of the host's object.
            ///
            /// # Safety
            /// The number must belong to an object of this kind, with elements of type `T`, that is
            /// live while the handle is used.
            #[inline(always)]
            #[must_use]
            pub const unsafe fn from_raw(handle: u64) -> Self {
                Self(handle, PhantomData)
            }
        }
    };
}

handle! {
    /// A texture with one, two or three dimensions.
    Texture<T, const D: usize>
}
handle! {
    /// An array of textures with one or two dimensions: a layered texture.
    LayeredTexture<T, const D: usize>
}
handle! {
    /// A cubemap: six square textures, sampled by direction.
    CubeTexture<T>
}
handle! {
    /// An array of cubemaps: a layered cubemap.
    LayeredCubeTexture<T>
}
handle! {
    /// A surface with one, two or three dimensions: an array that kernels read and write by
    /// element.
    Surface<T, const D: usize>
}
handle! {
    /// An array of surfaces with one or two dimensions: a layered surface.
    LayeredSurface<T, const D: usize>
}

macro_rules! texture_params {
    ($($name:ident<T $(, $d:ident)?> $shape:expr;)*) => {$(
        // SAFETY: the type is a handle, and its functions read elements of type `T`.
        unsafe impl<T: Texel $(, const $d: usize)?> cust_core::kernel::TextureParam
            for $name<T $(, $d)?>
        {
            const SHAPE: cust_core::kernel::ImageShape = $shape;
            const NUMBERS: cust_core::kernel::ImageNumbers = T::Number::NUMBERS;
            const CHANNELS: u32 = T::CHANNELS;
        }
    )*};
}
texture_params! {
    Texture<T, D> cust_core::kernel::ImageShape::Plain(D);
    LayeredTexture<T, D> cust_core::kernel::ImageShape::Layered(D);
    CubeTexture<T> cust_core::kernel::ImageShape::Cube;
    LayeredCubeTexture<T> cust_core::kernel::ImageShape::LayeredCube;
}

macro_rules! surface_params {
    ($($name:ident $shape:ident;)*) => {$(
        // SAFETY: the type is a handle, and its functions read and write elements of type `T`.
        unsafe impl<T: Cell, const D: usize> cust_core::kernel::SurfaceParam for $name<T, D> {
            const SHAPE: cust_core::kernel::ImageShape = cust_core::kernel::ImageShape::$shape(D);
            const ELEMENT: usize = size_of::<T>();
        }
    )*};
}
surface_params! {
    Surface Plain;
    LayeredSurface Layered;
}

cuda_std_macros::repeat! {
    for D in [1, 2, 3] {
        impl<T: Texel> Texture<T, D> {
            /// Returns the element at integer coordinates, without filtering. Returns zeros outside
            /// the texture, for every address mode. The texture must not use normalized
            /// coordinates.
            #[inline(always)]
            #[must_use]
            pub fn fetch(self, x: [i32; D]) -> T {
                T::of(numbers::Fetch::fetch_D(self.0, x))
            }

            /// Samples the texture at `x`, with filtering if the texture enables it.
            #[inline(always)]
            #[must_use]
            pub fn sample(self, x: [f32; D]) -> T {
                T::of(numbers::Fetch::sample_D(self.0, x))
            }

            /// Samples mip level `level` at `x`.
            #[inline(always)]
            #[must_use]
            pub fn sample_level(self, x: [f32; D], level: f32) -> T {
                T::of(numbers::Fetch::level_D(self.0, x, level))
            }

            /// Samples at `x` with the mip level that the gradients `dx` and `dy` select.
            #[inline(always)]
            #[must_use]
            pub fn sample_gradients(self, x: [f32; D], dx: [f32; D], dy: [f32; D]) -> T {
                T::of(numbers::Fetch::gradients_D(self.0, x, dx, dy))
            }
        }
    }
}

impl<T: Texel> Texture<T, 2> {
    /// Returns one component of the four elements that bilinear filtering would use,
    /// counterclockwise from the lower left one (lower left is the one with the larger second
    /// coordinate).
    #[inline(always)]
    #[must_use]
    pub fn gather(self, x: [f32; 2], component: u32) -> [T::Number; 4] {
        numbers::Fetch::gather(self.0, x, component)
    }
}

macro_rules! sizes {
    ($($name:ident $width:ident $height:ident, $doc:literal $third:ident = $of:expr;)*) => {$(
        impl<T, const D: usize> $name<T, D> {
            /// Returns the number of elements along the first dimension.
            #[inline(always)]
            #[must_use]
            pub fn width(self) -> u32 {
                // SAFETY: the handle is the host's.
                unsafe { raw::$width(self.0) }
            }

            /// Returns the number of elements along the second dimension.
            #[inline(always)]
            #[must_use]
            pub fn height(self) -> u32 {
                // SAFETY: the handle is the host's.
                unsafe { raw::$height(self.0) }
            }

            #[doc = $doc]
            #[inline(always)]
            #[must_use]
            pub fn $third(self) -> u32 {
                let of: fn(u64, usize) -> u32 = $of;
                of(self.0, D)
            }
        }
    )*};
}
// For layers of rows, the hardware stores the number of layers as the height, for others as the
// depth. Queries for the array size by name do not load.
sizes! {
    Texture txq_width txq_height,
        "Returns the number of elements along the third dimension." depth = |handle, _| unsafe { raw::txq_depth(handle) };
    LayeredTexture txq_width txq_height, "Returns the number of layers." layers = |handle, dimensions| {
        if dimensions == 1 { unsafe { raw::txq_height(handle) } } else { unsafe { raw::txq_depth(handle) } }
    };
    Surface suq_width suq_height,
        "Returns the number of elements along the third dimension." depth = |handle, _| unsafe { raw::suq_depth(handle) };
    LayeredSurface suq_width suq_height, "Returns the number of layers." layers = |handle, dimensions| {
        if dimensions == 1 { unsafe { raw::suq_height(handle) } } else { unsafe { raw::suq_depth(handle) } }
    };
}

macro_rules! level_sizes {
    ($($name:ident)*) => {$(
        impl<T, const D: usize> $name<T, D> {
            /// Returns the number of elements along each dimension of a mip level. Level 0 is the
            /// full size. Returns zeros for levels that do not exist.
            #[inline(always)]
            #[must_use]
            pub fn level_size(self, level: u32) -> [u32; D] {
                core::array::from_fn(|dimension| match dimension {
                    0 => unsafe { raw::txq_level_width(self.0, level) },
                    1 => unsafe { raw::txq_level_height(self.0, level) },
                    _ => unsafe { raw::txq_level_depth(self.0, level) },
                })
            }
        }
    )*};
}
level_sizes! { Texture LayeredTexture }

macro_rules! cube_sizes {
    ($($name:ident)*) => {$(
        impl<T> $name<T> {
            /// Returns the number of elements along an edge.
            #[inline(always)]
            #[must_use]
            pub fn width(self) -> u32 {
                // SAFETY: the handle is the host's.
                unsafe { raw::txq_width(self.0) }
            }

            /// Returns the number of elements along an edge of a mip level, or 0 for levels that do
            /// not exist.
            #[inline(always)]
            #[must_use]
            pub fn level_width(self, level: u32) -> u32 {
                // SAFETY: the handle is the host's.
                unsafe { raw::txq_level_width(self.0, level) }
            }
        }
    )*};
}
cube_sizes! { CubeTexture LayeredCubeTexture }

impl<T> LayeredCubeTexture<T> {
    /// Returns the number of cubemaps.
    #[inline(always)]
    #[must_use]
    pub fn layers(self) -> u32 {
        // SAFETY: the handle is the host's.
        unsafe { raw::txq_depth(self.0) }
    }
}

impl<T: Texel> LayeredTexture<T, 1> {
    /// Samples a layer at `x`.
    #[inline(always)]
    #[must_use]
    pub fn sample(self, layer: u32, x: f32) -> T {
        T::of(numbers::Fetch::layer1(self.0, layer, x))
    }

    /// Returns the element at an integer coordinate of a layer, without filtering, as
    /// [`Texture::fetch`] does.
    #[inline(always)]
    #[must_use]
    pub fn fetch(self, layer: u32, x: i32) -> T {
        T::of(numbers::Fetch::fetch_layer1(self.0, layer, x))
    }

    /// Samples mip level `level` of a layer at `x`.
    #[inline(always)]
    #[must_use]
    pub fn sample_level(self, layer: u32, x: f32, level: f32) -> T {
        T::of(numbers::Fetch::layer1_level(self.0, layer, x, level))
    }

    /// Samples a layer at `x` with the mip level that the gradients `dx` and `dy` select.
    #[inline(always)]
    #[must_use]
    pub fn sample_gradients(self, layer: u32, x: f32, dx: f32, dy: f32) -> T {
        T::of(numbers::Fetch::layer1_gradients(self.0, layer, x, dx, dy))
    }
}

impl<T: Texel> LayeredTexture<T, 2> {
    /// Samples a layer at `x`.
    #[inline(always)]
    #[must_use]
    pub fn sample(self, layer: u32, x: [f32; 2]) -> T {
        T::of(numbers::Fetch::layer2(self.0, layer, x))
    }

    /// Returns the element at integer coordinates of a layer, without filtering, as
    /// [`Texture::fetch`] does.
    #[inline(always)]
    #[must_use]
    pub fn fetch(self, layer: u32, x: [i32; 2]) -> T {
        T::of(numbers::Fetch::fetch_layer2(self.0, layer, x))
    }

    /// Samples mip level `level` of a layer at `x`.
    #[inline(always)]
    #[must_use]
    pub fn sample_level(self, layer: u32, x: [f32; 2], level: f32) -> T {
        T::of(numbers::Fetch::layer2_level(self.0, layer, x, level))
    }

    /// Samples a layer at `x` with the mip level that the gradients `dx` and `dy` select.
    #[inline(always)]
    #[must_use]
    pub fn sample_gradients(self, layer: u32, x: [f32; 2], dx: [f32; 2], dy: [f32; 2]) -> T {
        T::of(numbers::Fetch::layer2_gradients(self.0, layer, x, dx, dy))
    }
}

impl<T: Texel> CubeTexture<T> {
    /// Samples in a direction. The vector can have any length except zero.
    #[inline(always)]
    #[must_use]
    pub fn sample(self, direction: [f32; 3]) -> T {
        T::of(numbers::Fetch::cube(self.0, direction))
    }

    /// Samples mip level `level` in a direction.
    #[inline(always)]
    #[must_use]
    pub fn sample_level(self, direction: [f32; 3], level: f32) -> T {
        T::of(numbers::Fetch::cube_level(self.0, direction, level))
    }
}

impl<T: Texel> LayeredCubeTexture<T> {
    /// Samples a layer in a direction.
    #[inline(always)]
    #[must_use]
    pub fn sample(self, layer: u32, direction: [f32; 3]) -> T {
        T::of(numbers::Fetch::cube_layer(self.0, layer, direction))
    }

    /// Samples mip level `level` of a layer in a direction.
    #[inline(always)]
    #[must_use]
    pub fn sample_level(self, layer: u32, direction: [f32; 3], level: f32) -> T {
        T::of(numbers::Fetch::cube_layer_level(
            self.0, layer, direction, level,
        ))
    }
}

/// An element type of surfaces.
pub trait Cell: Copy + surfaces::Access {}

/// The instructions for each element type. The parentheses in the list group its items.
#[allow(unused_parens)]
mod surfaces {
    use super::raw;

    pub trait Access: Sized {
        fn read_1(surface: u64, x: [i32; 1]) -> Self;
        fn read_2(surface: u64, x: [i32; 2]) -> Self;
        fn read_3(surface: u64, x: [i32; 3]) -> Self;
        fn read_layer_1(surface: u64, layer: u32, x: [i32; 1]) -> Self;
        fn read_layer_2(surface: u64, layer: u32, x: [i32; 2]) -> Self;
        fn write_1(surface: u64, x: [i32; 1], value: Self);
        fn write_2(surface: u64, x: [i32; 2], value: Self);
        fn write_3(surface: u64, x: [i32; 3], value: Self);
        fn write_layer_1(surface: u64, layer: u32, x: [i32; 1], value: Self);
        fn write_layer_2(surface: u64, layer: u32, x: [i32; 2], value: Self);
    }

    /// Returns the byte offset of element `x` of `SIZE` bytes in its row. For a negative `x`, and
    /// if the product would overflow, the offset is past the end of any row.
    #[inline(always)]
    pub fn offset<const SIZE: u32>(x: i32) -> i32 {
        const LAST: u32 = i32::MAX as u32;
        ((x as u32).min(LAST / SIZE) * SIZE) as i32
    }

    macro_rules! access {
        ($($ty:ty, $size:literal, |$bits:ident| $from:expr, |$value:ident| $to:expr,
            $read_1:ident $read_2:ident $read_3:ident $read_a1:ident $read_a2:ident
            $write_1:ident $write_2:ident $write_3:ident $write_a1:ident $write_a2:ident;)*) => {$(
            impl super::Cell for $ty {}
            impl Access for $ty {
                #[inline(always)]
                fn read_1(surface: u64, [x]: [i32; 1]) -> $ty {
                    // SAFETY: the handle is the host's.
                    let $bits = unsafe { raw::$read_1(surface, [offset::<$size>(x)]) };
                    $from
                }
                #[inline(always)]
                fn read_2(surface: u64, [x, y]: [i32; 2]) -> $ty {
                    // SAFETY: the handle is the host's.
                    let $bits = unsafe { raw::$read_2(surface, [offset::<$size>(x), y]) };
                    $from
                }
                #[inline(always)]
                fn read_3(surface: u64, [x, y, z]: [i32; 3]) -> $ty {
                    // SAFETY: the handle is the host's.
                    let $bits = unsafe { raw::$read_3(surface, [offset::<$size>(x), y, z]) };
                    $from
                }
                #[inline(always)]
                fn read_layer_1(surface: u64, layer: u32, [x]: [i32; 1]) -> $ty {
                    // SAFETY: the handle is the host's.
                    let $bits = unsafe { raw::$read_a1(surface, layer, offset::<$size>(x)) };
                    $from
                }
                #[inline(always)]
                fn read_layer_2(surface: u64, layer: u32, [x, y]: [i32; 2]) -> $ty {
                    // SAFETY: the handle is the host's.
                    let $bits = unsafe { raw::$read_a2(surface, layer, [offset::<$size>(x), y]) };
                    $from
                }
                #[inline(always)]
                fn write_1(surface: u64, [x]: [i32; 1], $value: $ty) {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::$write_1(surface, [offset::<$size>(x)], $to) };
                }
                #[inline(always)]
                fn write_2(surface: u64, [x, y]: [i32; 2], $value: $ty) {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::$write_2(surface, [offset::<$size>(x), y], $to) };
                }
                #[inline(always)]
                fn write_3(surface: u64, [x, y, z]: [i32; 3], $value: $ty) {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::$write_3(surface, [offset::<$size>(x), y, z], $to) };
                }
                #[inline(always)]
                fn write_layer_1(surface: u64, layer: u32, [x]: [i32; 1], $value: $ty) {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::$write_a1(surface, layer, offset::<$size>(x), $to) };
                }
                #[inline(always)]
                fn write_layer_2(surface: u64, layer: u32, [x, y]: [i32; 2], $value: $ty) {
                    // SAFETY: the handle is the host's.
                    unsafe { raw::$write_a2(surface, layer, [offset::<$size>(x), y], $to) };
                }
            }
        )*};
    }

    cuda_std_macros::repeat! {
        for (TY, SIZE, BITS, FROM, TO) in [
            (u8, 1, b8, bits, value), (i8, 1, b8, (bits as i8), (value as u8)),
            (u16, 2, b16, bits, value), (i16, 2, b16, (bits as i16), (value as u16)),
            (u32, 4, b32, bits, value), (i32, 4, b32, (bits as i32), (value as u32)),
            (f32, 4, b32, (f32::from_bits(bits)), (value.to_bits())), (u64, 8, b64, bits, value)
        ] {
            access! { TY, SIZE, |bits| FROM, |value| TO,
                suld_1d_BITS_zero suld_2d_BITS_zero suld_3d_BITS_zero suld_a1d_BITS_zero suld_a2d_BITS_zero
                sust_1d_BITS_zero sust_2d_BITS_zero sust_3d_BITS_zero sust_a1d_BITS_zero sust_a2d_BITS_zero; }
        }
        for (TY, SIZE, V, BITS, FROM, TO) in [
            (u8, 2, 2, b8, bits, value), (u8, 4, 4, b8, bits, value),
            (u16, 4, 2, b16, bits, value), (u16, 8, 4, b16, bits, value),
            (u32, 8, 2, b32, bits, value), (u32, 16, 4, b32, bits, value),
            (i32, 8, 2, b32, (bits.map(|x| x as i32)), (value.map(|x| x as u32))),
            (i32, 16, 4, b32, (bits.map(|x| x as i32)), (value.map(|x| x as u32))),
            (f32, 8, 2, b32, (bits.map(f32::from_bits)), (value.map(f32::to_bits))),
            (f32, 16, 4, b32, (bits.map(f32::from_bits)), (value.map(f32::to_bits)))
        ] {
            access! { [TY; V], SIZE, |bits| FROM, |value| TO,
                suld_1d_v_V_BITS_zero suld_2d_v_V_BITS_zero suld_3d_v_V_BITS_zero
                suld_a1d_v_V_BITS_zero suld_a2d_v_V_BITS_zero
                sust_1d_v_V_BITS_zero sust_2d_v_V_BITS_zero sust_3d_v_V_BITS_zero
                sust_a1d_v_V_BITS_zero sust_a2d_v_V_BITS_zero; }
        }
    }
}

cuda_std_macros::repeat! {
    for D in [1, 2, 3] {
        impl<T: Cell> Surface<T, D> {
            /// Returns the element at these coordinates, or zeros outside the surface.
            #[inline(always)]
            #[must_use]
            pub fn read(self, x: [i32; D]) -> T {
                surfaces::Access::read_D(self.0, x)
            }

            /// Stores an element at these coordinates; does nothing outside the surface. Other
            /// threads see it after a barrier or in the next launch; textures of the same array see
            /// it in the next launch.
            #[inline(always)]
            pub fn write(self, x: [i32; D], value: T) {
                surfaces::Access::write_D(self.0, x, value);
            }
        }
    }
}

cuda_std_macros::repeat! {
    for D in [1, 2] {
        impl<T: Cell> LayeredSurface<T, D> {
            /// Returns the element at these coordinates of a layer, or zeros outside the surface.
            #[inline(always)]
            #[must_use]
            pub fn read(self, layer: u32, x: [i32; D]) -> T {
                surfaces::Access::read_layer_D(self.0, layer, x)
            }

            /// Stores an element at these coordinates of a layer, as [`Surface::write`] does.
            #[inline(always)]
            pub fn write(self, layer: u32, x: [i32; D], value: T) {
                surfaces::Access::write_layer_D(self.0, layer, x, value);
            }
        }
    }
}

impl Surface<u32, 2> {
    /// Atomically adds to the element at these coordinates.
    #[inline(always)]
    pub fn add(self, [x, y]: [i32; 2], value: u32) {
        // SAFETY: the handle is the host's.
        unsafe { raw::sured_2d_add_u32_zero(self.0, [surfaces::offset::<4>(x), y], value) };
    }
}
