//! `DeviceCopy` for types of other crates, each behind a feature of the crate's name.

#[cfg(any(
    feature = "glam",
    feature = "half",
    feature = "nalgebra",
    feature = "num-complex"
))]
use crate::traits::DeviceCopy;

#[cfg(feature = "glam")]
mod of_glam {
    use super::DeviceCopy;
    use crate::layout::Layout;

    macro_rules! plain {
        ($($ty:ident)*) => {
            // SAFETY: the type consists of numbers.
            $(unsafe impl DeviceCopy for glam::$ty {
                const LAYOUT: Layout =
                    Layout::core::<Self>(concat!("glam::", stringify!($ty)), &[]);
            })*
        };
    }
    plain! {
        Vec2 Vec3 Vec3A Vec4 Mat2 Mat3 Mat3A Mat4 Quat Affine2 Affine3A
        DVec2 DVec3 DVec4 DMat2 DMat3 DMat4 DQuat DAffine2 DAffine3
        IVec2 IVec3 IVec4 UVec2 UVec3 UVec4
        I8Vec2 I8Vec3 I8Vec4 U8Vec2 U8Vec3 U8Vec4
        I16Vec2 I16Vec3 I16Vec4 U16Vec2 U16Vec3 U16Vec4
        I64Vec2 I64Vec3 I64Vec4 U64Vec2 U64Vec3 U64Vec4
        BVec2 BVec3 BVec4
    }
}

#[cfg(feature = "half")]
mod of_half {
    use super::DeviceCopy;

    use crate::layout::{Kind, Layout};

    // SAFETY: a number.
    unsafe impl DeviceCopy for half::f16 {
        const LAYOUT: Layout = Layout::new::<Self>(Kind::Scalar("half::f16"));
    }
    // SAFETY: a number.
    unsafe impl DeviceCopy for half::bf16 {
        const LAYOUT: Layout = Layout::new::<Self>(Kind::Scalar("half::bf16"));
    }
}

#[cfg(feature = "num-complex")]
// SAFETY: two `DeviceCopy` values.
unsafe impl<T: DeviceCopy> DeviceCopy for num_complex::Complex<T> {
    const LAYOUT: crate::layout::Layout = crate::layout::Layout::core::<Self>(
        "num_complex::Complex",
        const { &[crate::layout::Part::Inner("re and im", &T::LAYOUT)] },
    );
}

#[cfg(feature = "nalgebra")]
mod of_nalgebra {
    use super::DeviceCopy;
    use crate::layout::{Layout, Part};
    use core::mem::offset_of;
    use nalgebra::{ArrayStorage, Isometry, Matrix, OPoint, Quaternion, Scalar, Translation, Unit};
    use nalgebra::{Const, DefaultAllocator, DimName, allocator::Allocator};

    /// Describes a type whose components all have type `T`, in an order that its author chose.
    const fn of<Whole, T: DeviceCopy>(name: &'static str) -> Layout {
        Layout::core::<Whole>(name, const { &[Part::Inner("element", &T::LAYOUT)] })
    }

    // SAFETY: consists of `DeviceCopy` values.
    unsafe impl<T: DeviceCopy + Scalar, const R: usize, const C: usize> DeviceCopy
        for Matrix<T, Const<R>, Const<C>, ArrayStorage<T, R, C>>
    {
        const LAYOUT: Layout = of::<Self, [[T; R]; C]>("nalgebra::Matrix");
    }
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy + Scalar, D: DimName> DeviceCopy for OPoint<T, D>
    where
        DefaultAllocator: Allocator<D>,
        Self: Copy,
    {
        const LAYOUT: Layout = of::<Self, T>("nalgebra::OPoint");
    }
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy + Scalar> DeviceCopy for Quaternion<T>
    where
        Self: Copy,
    {
        const LAYOUT: Layout = of::<Self, T>("nalgebra::Quaternion");
    }
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy> DeviceCopy for Unit<T> {
        const LAYOUT: Layout = of::<Self, T>("nalgebra::Unit");
    }
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy + Scalar, const D: usize> DeviceCopy for Translation<T, D>
    where
        Self: Copy,
    {
        const LAYOUT: Layout = of::<Self, T>("nalgebra::Translation");
    }
    // SAFETY: as above.
    unsafe impl<T: DeviceCopy + Scalar, R: DeviceCopy, const D: usize> DeviceCopy for Isometry<T, R, D>
    where
        Self: Copy,
    {
        const LAYOUT: Layout = Layout::core::<Self>(
            "nalgebra::Isometry",
            const {
                &[
                    Part::Field("rotation", offset_of!(Self, rotation), &R::LAYOUT),
                    Part::Field("translation", offset_of!(Self, translation), &T::LAYOUT),
                ]
            },
        );
    }
}
