//! Textures and surfaces: arrays that the hardware lays out for locality, filters between their
//! elements, and guards at their edges. The host makes them (`cust::texture`) and passes their
//! handles.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::texture::Texture;
//!
//! /// A picture at another size, by a texture that filters.
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
//! What a texture does with coordinates outside of it, whether coordinates go from 0 to 1, and
//! whether it filters is the host's choice, for what is sampled: whole coordinates know nothing of
//! it, and have zeros outside. Floats in textures of small integers come out between 0
//! and 1 (or -1 and 1), unless the host wants them as integers.
//!
//! The host passes a reference to its texture or surface, and the launch checks that dimensions and
//! elements are those of the parameter. A handle must be of one that lives: making one of a number
//! is unsafe for that reason.

use core::marker::PhantomData;

use crate::intrinsics::texture as rows;

/// What a texture gives: four numbers, of which elements have the first one, two or four.
pub trait Texel: Copy + sealed::Sealed {
    /// `f32`, `i32` or `u32`.
    type Number: Number;
    /// How many numbers it has.
    const CHANNELS: u32;
    /// The element, of the four.
    fn of(numbers: [Self::Number; 4]) -> Self;
}

/// A type of numbers that textures give.
pub trait Number: Copy + sealed::Sealed + numbers::Fetch {
    /// What the host calls them.
    #[doc(hidden)]
    const NUMBERS: cust_core::kernel::ImageNumbers;
}

mod sealed {
    pub trait Sealed {}
}

/// The instructions by the numbers' type.
mod numbers {
    use super::rows;

    /// How numbers of a type are fetched.
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
                    // `tex.1d` by whole coordinates is for linear memory. Of an array it reads zeros, and
                    // `tex.2d` the row. Of the two, arrays alone have a height.
                    // SAFETY: the handle is the host's.
                    unsafe {
                        match rows::txq_height(texture) {
                            0 => rows::tex_1d_TY_s32(texture, x),
                            _ => rows::tex_2d_TY_s32(texture, [x[0], 0]),
                        }
                    }
                }
                #[inline(always)]
                fn fetch_2(texture: u64, x: [i32; 2]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_2d_TY_s32(texture, x) }
                }
                #[inline(always)]
                fn fetch_3(texture: u64, x: [i32; 3]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_3d_TY_s32(texture, x) }
                }
                #[inline(always)]
                fn sample_1(texture: u64, x: [f32; 1]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_1d_TY_f32(texture, x) }
                }
                #[inline(always)]
                fn sample_2(texture: u64, x: [f32; 2]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_2d_TY_f32(texture, x) }
                }
                #[inline(always)]
                fn sample_3(texture: u64, x: [f32; 3]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_3d_TY_f32(texture, x) }
                }
                #[inline(always)]
                fn level_1(texture: u64, x: [f32; 1], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_level_1d_TY_f32(texture, x, level) }
                }
                #[inline(always)]
                fn level_2(texture: u64, x: [f32; 2], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_level_2d_TY_f32(texture, x, level) }
                }
                #[inline(always)]
                fn level_3(texture: u64, x: [f32; 3], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_level_3d_TY_f32(texture, x, level) }
                }
                #[inline(always)]
                fn gradients_1(texture: u64, x: [f32; 1], dx: [f32; 1], dy: [f32; 1]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_grad_1d_TY_f32(texture, x, dx, dy) }
                }
                #[inline(always)]
                fn gradients_2(texture: u64, x: [f32; 2], dx: [f32; 2], dy: [f32; 2]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_grad_2d_TY_f32(texture, x, dx, dy) }
                }
                #[inline(always)]
                fn gradients_3(texture: u64, x: [f32; 3], dx: [f32; 3], dy: [f32; 3]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_grad_3d_TY_f32(texture, x, dx, dy) }
                }
                #[inline(always)]
                fn layer1(texture: u64, layer: u32, x: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_a1d_TY_f32(texture, layer, x) }
                }
                #[inline(always)]
                fn layer2(texture: u64, layer: u32, x: [f32; 2]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_a2d_TY_f32(texture, layer, x) }
                }
                #[inline(always)]
                fn fetch_layer1(texture: u64, layer: u32, x: i32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_a2d_TY_s32(texture, layer, [x, 0]) }
                }
                #[inline(always)]
                fn fetch_layer2(texture: u64, layer: u32, x: [i32; 2]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_a2d_TY_s32(texture, layer, x) }
                }
                #[inline(always)]
                fn layer1_level(texture: u64, layer: u32, x: f32, level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_level_a1d_TY_f32(texture, layer, x, level) }
                }
                #[inline(always)]
                fn layer2_level(texture: u64, layer: u32, x: [f32; 2], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_level_a2d_TY_f32(texture, layer, x, level) }
                }
                #[inline(always)]
                fn layer1_gradients(texture: u64, layer: u32, x: f32, dx: f32, dy: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_grad_a1d_TY_f32(texture, layer, x, [dx], [dy]) }
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
                    unsafe { rows::tex_grad_a2d_TY_f32(texture, layer, x, dx, dy) }
                }
                #[inline(always)]
                fn cube_level(texture: u64, x: [f32; 3], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_level_cube_TY_f32(texture, x, level) }
                }
                #[inline(always)]
                fn cube_layer_level(texture: u64, layer: u32, x: [f32; 3], level: f32) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_level_acube_TY_f32(texture, layer, x, level) }
                }
                #[inline(always)]
                fn cube(texture: u64, x: [f32; 3]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_cube_TY_f32(texture, x) }
                }
                #[inline(always)]
                fn cube_layer(texture: u64, layer: u32, x: [f32; 3]) -> [Self; 4] {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::tex_acube_TY_f32(texture, layer, x) }
                }
                #[inline(always)]
                fn gather(texture: u64, x: [f32; 2], component: u32) -> [Self; 4] {
                    match component {
                        0 => unsafe { rows::tld4_r_2d_TY_f32(texture, x) },
                        1 => unsafe { rows::tld4_g_2d_TY_f32(texture, x) },
                        2 => unsafe { rows::tld4_b_2d_TY_f32(texture, x) },
                        _ => unsafe { rows::tld4_a_2d_TY_f32(texture, x) },
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
        /// It is good for the launch that it is an argument of, so safe code cannot keep it for a later
        /// one: it is neither `Send` nor `Sync`, as what a static holds has to be, and no element
        /// of a buffer.
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
            /// From the number that the host's object has.
            ///
            /// # Safety
            /// It is one of this kind, with such elements, and lives while it is used.
            #[inline(always)]
            #[must_use]
            pub const unsafe fn from_raw(handle: u64) -> Self {
                Self(handle, PhantomData)
            }
        }
    };
}

handle! {
    /// A texture of one, two or three dimensions.
    Texture<T, const D: usize>
}
handle! {
    /// A list of textures of one or two dimensions.
    LayeredTexture<T, const D: usize>
}
handle! {
    /// Six textures around a point, asked for in a direction.
    CubeTexture<T>
}
handle! {
    /// A list of cubes.
    LayeredCubeTexture<T>
}
handle! {
    /// A surface of one, two or three dimensions: an array that is read and written element by
    /// element.
    Surface<T, const D: usize>
}
handle! {
    /// A list of surfaces of one or two dimensions.
    LayeredSurface<T, const D: usize>
}

macro_rules! texture_params {
    ($($name:ident<T $(, $d:ident)?> $shape:expr;)*) => {$(
        // SAFETY: a handle, which its functions read elements of `T` by.
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
        // SAFETY: a handle, which its functions read and write elements of `T` by.
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
            /// The element at whole coordinates, unfiltered; zeros outside, whatever the address mode.
            /// Of a texture without normalized coordinates.
            #[inline(always)]
            #[must_use]
            pub fn fetch(self, x: [i32; D]) -> T {
                T::of(numbers::Fetch::fetch_D(self.0, x))
            }

            /// What is at a place, filtered if the texture filters.
            #[inline(always)]
            #[must_use]
            pub fn sample(self, x: [f32; D]) -> T {
                T::of(numbers::Fetch::sample_D(self.0, x))
            }

            /// What is at a place of a level of a mipmap.
            #[inline(always)]
            #[must_use]
            pub fn sample_level(self, x: [f32; D], level: f32) -> T {
                T::of(numbers::Fetch::level_D(self.0, x, level))
            }

            /// What is at a place, at the level that suits the distance to the places beside it.
            #[inline(always)]
            #[must_use]
            pub fn sample_gradients(self, x: [f32; D], dx: [f32; D], dy: [f32; D]) -> T {
                T::of(numbers::Fetch::gradients_D(self.0, x, dx, dy))
            }
        }
    }
}

impl<T: Texel> Texture<T, 2> {
    /// A component of the four elements that would be filtered between: of the one below on the
    /// left (at the larger second coordinate), then on around.
    #[inline(always)]
    #[must_use]
    pub fn gather(self, x: [f32; 2], component: u32) -> [T::Number; 4] {
        numbers::Fetch::gather(self.0, x, component)
    }
}

macro_rules! sizes {
    ($($name:ident $width:ident $height:ident, $doc:literal $third:ident = $of:expr;)*) => {$(
        impl<T, const D: usize> $name<T, D> {
            /// Elements along the first dimension.
            #[inline(always)]
            #[must_use]
            pub fn width(self) -> u32 {
                // SAFETY: the handle is the host's.
                unsafe { rows::$width(self.0) }
            }

            /// Elements along the second dimension.
            #[inline(always)]
            #[must_use]
            pub fn height(self) -> u32 {
                // SAFETY: the handle is the host's.
                unsafe { rows::$height(self.0) }
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
// Layers of rows are known as the height, others as the depth; what asks for them by name does not load.
sizes! {
    Texture txq_width txq_height,
        "Elements along the third dimension." depth = |handle, _| unsafe { rows::txq_depth(handle) };
    LayeredTexture txq_width txq_height, "The number of layers." layers = |handle, dimensions| {
        if dimensions == 1 { unsafe { rows::txq_height(handle) } } else { unsafe { rows::txq_depth(handle) } }
    };
    Surface suq_width suq_height,
        "Elements along the third dimension." depth = |handle, _| unsafe { rows::suq_depth(handle) };
    LayeredSurface suq_width suq_height, "The number of layers." layers = |handle, dimensions| {
        if dimensions == 1 { unsafe { rows::suq_height(handle) } } else { unsafe { rows::suq_depth(handle) } }
    };
}

macro_rules! level_sizes {
    ($($name:ident)*) => {$(
        impl<T, const D: usize> $name<T, D> {
            /// Elements along each dimension of a level of a mipmap. Level 0 is the whole, and levels
            /// that are not there have none.
            #[inline(always)]
            #[must_use]
            pub fn level_size(self, level: u32) -> [u32; D] {
                core::array::from_fn(|dimension| match dimension {
                    0 => unsafe { rows::txq_level_width(self.0, level) },
                    1 => unsafe { rows::txq_level_height(self.0, level) },
                    _ => unsafe { rows::txq_level_depth(self.0, level) },
                })
            }
        }
    )*};
}
level_sizes! { Texture LayeredTexture }

macro_rules! cube_sizes {
    ($($name:ident)*) => {$(
        impl<T> $name<T> {
            /// Elements along an edge.
            #[inline(always)]
            #[must_use]
            pub fn width(self) -> u32 {
                // SAFETY: the handle is the host's.
                unsafe { rows::txq_width(self.0) }
            }

            /// Elements along an edge of a level of a mipmap, 0 for levels that are not there.
            #[inline(always)]
            #[must_use]
            pub fn level_width(self, level: u32) -> u32 {
                // SAFETY: the handle is the host's.
                unsafe { rows::txq_level_width(self.0, level) }
            }
        }
    )*};
}
cube_sizes! { CubeTexture LayeredCubeTexture }

impl<T> LayeredCubeTexture<T> {
    /// The number of cubes.
    #[inline(always)]
    #[must_use]
    pub fn layers(self) -> u32 {
        // SAFETY: the handle is the host's.
        unsafe { rows::txq_depth(self.0) }
    }
}

impl<T: Texel> LayeredTexture<T, 1> {
    /// What is at a place of a layer.
    #[inline(always)]
    #[must_use]
    pub fn sample(self, layer: u32, x: f32) -> T {
        T::of(numbers::Fetch::layer1(self.0, layer, x))
    }

    /// The element at whole coordinates of a layer, unfiltered, as [`Texture::fetch`].
    #[inline(always)]
    #[must_use]
    pub fn fetch(self, layer: u32, x: i32) -> T {
        T::of(numbers::Fetch::fetch_layer1(self.0, layer, x))
    }

    /// What is at a place of a level of a layer's mipmap.
    #[inline(always)]
    #[must_use]
    pub fn sample_level(self, layer: u32, x: f32, level: f32) -> T {
        T::of(numbers::Fetch::layer1_level(self.0, layer, x, level))
    }

    /// What is at a place of a layer, at the level that suits the distance to the places beside it.
    #[inline(always)]
    #[must_use]
    pub fn sample_gradients(self, layer: u32, x: f32, dx: f32, dy: f32) -> T {
        T::of(numbers::Fetch::layer1_gradients(self.0, layer, x, dx, dy))
    }
}

impl<T: Texel> LayeredTexture<T, 2> {
    /// What is at a place of a layer.
    #[inline(always)]
    #[must_use]
    pub fn sample(self, layer: u32, x: [f32; 2]) -> T {
        T::of(numbers::Fetch::layer2(self.0, layer, x))
    }

    /// The element at whole coordinates of a layer, unfiltered, as [`Texture::fetch`].
    #[inline(always)]
    #[must_use]
    pub fn fetch(self, layer: u32, x: [i32; 2]) -> T {
        T::of(numbers::Fetch::fetch_layer2(self.0, layer, x))
    }

    /// What is at a place of a level of a layer's mipmap.
    #[inline(always)]
    #[must_use]
    pub fn sample_level(self, layer: u32, x: [f32; 2], level: f32) -> T {
        T::of(numbers::Fetch::layer2_level(self.0, layer, x, level))
    }

    /// What is at a place of a layer, at the level that suits the distance to the places beside it.
    #[inline(always)]
    #[must_use]
    pub fn sample_gradients(self, layer: u32, x: [f32; 2], dx: [f32; 2], dy: [f32; 2]) -> T {
        T::of(numbers::Fetch::layer2_gradients(self.0, layer, x, dx, dy))
    }
}

impl<T: Texel> CubeTexture<T> {
    /// What is in a direction, of any length but zero.
    #[inline(always)]
    #[must_use]
    pub fn sample(self, direction: [f32; 3]) -> T {
        T::of(numbers::Fetch::cube(self.0, direction))
    }

    /// What is in a direction at a level of the mipmap.
    #[inline(always)]
    #[must_use]
    pub fn sample_level(self, direction: [f32; 3], level: f32) -> T {
        T::of(numbers::Fetch::cube_level(self.0, direction, level))
    }
}

impl<T: Texel> LayeredCubeTexture<T> {
    /// What is in a direction of a layer.
    #[inline(always)]
    #[must_use]
    pub fn sample(self, layer: u32, direction: [f32; 3]) -> T {
        T::of(numbers::Fetch::cube_layer(self.0, layer, direction))
    }

    /// What is in a direction of a layer at a level of the mipmap.
    #[inline(always)]
    #[must_use]
    pub fn sample_level(self, layer: u32, direction: [f32; 3], level: f32) -> T {
        T::of(numbers::Fetch::cube_layer_level(
            self.0, layer, direction, level,
        ))
    }
}

/// An element of surfaces.
pub trait Cell: Copy + surfaces::Access {}

/// The instructions by the elements' type. The list's parentheses hold its items together.
#[allow(unused_parens)]
mod surfaces {
    use super::rows;

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

    /// Where an element of `SIZE` bytes begins in its row. Beyond all rows for an `x` whose product would
    /// wrap, and for a negative one.
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
                    let $bits = unsafe { rows::$read_1(surface, [offset::<$size>(x)]) };
                    $from
                }
                #[inline(always)]
                fn read_2(surface: u64, [x, y]: [i32; 2]) -> $ty {
                    // SAFETY: the handle is the host's.
                    let $bits = unsafe { rows::$read_2(surface, [offset::<$size>(x), y]) };
                    $from
                }
                #[inline(always)]
                fn read_3(surface: u64, [x, y, z]: [i32; 3]) -> $ty {
                    // SAFETY: the handle is the host's.
                    let $bits = unsafe { rows::$read_3(surface, [offset::<$size>(x), y, z]) };
                    $from
                }
                #[inline(always)]
                fn read_layer_1(surface: u64, layer: u32, [x]: [i32; 1]) -> $ty {
                    // SAFETY: the handle is the host's.
                    let $bits = unsafe { rows::$read_a1(surface, layer, offset::<$size>(x)) };
                    $from
                }
                #[inline(always)]
                fn read_layer_2(surface: u64, layer: u32, [x, y]: [i32; 2]) -> $ty {
                    // SAFETY: the handle is the host's.
                    let $bits = unsafe { rows::$read_a2(surface, layer, [offset::<$size>(x), y]) };
                    $from
                }
                #[inline(always)]
                fn write_1(surface: u64, [x]: [i32; 1], $value: $ty) {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::$write_1(surface, [offset::<$size>(x)], $to) };
                }
                #[inline(always)]
                fn write_2(surface: u64, [x, y]: [i32; 2], $value: $ty) {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::$write_2(surface, [offset::<$size>(x), y], $to) };
                }
                #[inline(always)]
                fn write_3(surface: u64, [x, y, z]: [i32; 3], $value: $ty) {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::$write_3(surface, [offset::<$size>(x), y, z], $to) };
                }
                #[inline(always)]
                fn write_layer_1(surface: u64, layer: u32, [x]: [i32; 1], $value: $ty) {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::$write_a1(surface, layer, offset::<$size>(x), $to) };
                }
                #[inline(always)]
                fn write_layer_2(surface: u64, layer: u32, [x, y]: [i32; 2], $value: $ty) {
                    // SAFETY: the handle is the host's.
                    unsafe { rows::$write_a2(surface, layer, [offset::<$size>(x), y], $to) };
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
            /// The element at these coordinates; zeros outside of the surface.
            #[inline(always)]
            #[must_use]
            pub fn read(self, x: [i32; D]) -> T {
                surfaces::Access::read_D(self.0, x)
            }

            /// Changes the element at these coordinates; nothing outside of the surface. Other
            /// threads see it after a barrier or in the next launch, and textures of the same array
            /// in the next launch.
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
            /// The element at these coordinates of a layer; zeros outside of the surface.
            #[inline(always)]
            #[must_use]
            pub fn read(self, layer: u32, x: [i32; D]) -> T {
                surfaces::Access::read_layer_D(self.0, layer, x)
            }

            /// Changes the element at these coordinates of a layer, as [`Surface::write`].
            #[inline(always)]
            pub fn write(self, layer: u32, x: [i32; D], value: T) {
                surfaces::Access::write_layer_D(self.0, layer, x, value);
            }
        }
    }
}

impl Surface<u32, 2> {
    /// Adds to the element at these coordinates, atomically.
    #[inline(always)]
    pub fn add(self, [x, y]: [i32; 2], value: u32) {
        // SAFETY: the handle is the host's.
        unsafe { rows::sured_2d_add_u32_zero(self.0, [surfaces::offset::<4>(x), y], value) };
    }
}
