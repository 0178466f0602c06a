//! Vectors of two and four numbers with the alignment of CUDA C++'s vector types (`float4`), so that
//! a thread loads or stores all of their elements with one instruction.
//!
//! The alignment is the size: 16 bytes for [`F32x4`], while `[f32; 4]` has an alignment of 4 bytes
//! and needs four instructions. Each type dereferences to its array, so that indices, iterators and
//! the array's methods work; operators act on each element.
//!
//! ```
//! use cust_core::vector::{AsScalars, AsVectors, F32x4};
//!
//! let a = F32x4::new(1.0, 2.0, 3.0, 4.0);
//! let sum = a + F32x4::splat(1.0) * 2.0;
//! assert_eq!(sum, F32x4([3.0, 4.0, 5.0, 6.0]));
//! assert_eq!((sum[0], sum.w()), (3.0, 6.0));
//! assert_eq!(sum.iter().sum::<f32>(), 18.0);
//!
//! let scalars = [a, sum];
//! let scalars: &[f32] = scalars.as_scalars();
//! assert_eq!(scalars.len(), 8);
//! let vectors = scalars.as_vectors::<F32x4>();
//! assert_eq!(vectors, Some(&[a, sum][..]));
//! ```

use core::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Deref,
    DerefMut, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign,
};

use crate::layout::{Layout, Part};
use crate::traits::DeviceCopy;

/// A vector type: [`LANES`](Vector::LANES) values of type [`Scalar`](Vector::Scalar).
///
/// # Safety
///
/// The type has the size of `[Scalar; LANES]` and at least its alignment, `LANES` is not 0, and
/// `LANES` valid values of `Scalar`, one after the other, are a valid value of the type, and the
/// reverse.
pub unsafe trait Vector: DeviceCopy {
    /// The type of an element.
    type Scalar: DeviceCopy;
    /// The number of elements.
    const LANES: usize;
}

/// Slices of scalars that can be viewed as slices of vectors.
pub trait AsVectors<T> {
    /// Views the elements as vectors. Returns `None` if the number of elements is not a multiple of
    /// [`V::LANES`](Vector::LANES), or the address of the first element is not a multiple of the
    /// alignment of `V`.
    fn as_vectors<V: Vector<Scalar = T>>(&self) -> Option<&[V]>;

    /// Like [`as_vectors`](AsVectors::as_vectors), for a mutable slice.
    fn as_vectors_mut<V: Vector<Scalar = T>>(&mut self) -> Option<&mut [V]>;
}

/// Slices of vectors that can be viewed as slices of scalars.
pub trait AsScalars<T> {
    /// Views the elements of all vectors as one slice.
    fn as_scalars(&self) -> &[T];

    /// Like [`as_scalars`](AsScalars::as_scalars), for a mutable slice.
    fn as_scalars_mut(&mut self) -> &mut [T];
}

/// Returns the number of vectors `V` at `pointer` and their address, if `length` scalars there can
/// be viewed as vectors. The address differs from `pointer` only if `length` is 0.
///
/// The result is derived from `pointer` in every case, since the compiler loses track of the state
/// space of a pointer that may also be a constant.
#[inline(always)]
fn vectors_at<V: Vector>(pointer: *mut V::Scalar, length: usize) -> Option<(*mut V, usize)> {
    const {
        assert!(V::LANES > 0, "a vector has at least one element");
        assert!(size_of::<V>() == V::LANES * size_of::<V::Scalar>());
        assert!(align_of::<V>() >= align_of::<V::Scalar>());
    }
    if !length.is_multiple_of(V::LANES) {
        return None;
    }
    let beyond = pointer.addr() % align_of::<V>();
    if beyond == 0 {
        return Some((pointer.cast(), length / V::LANES));
    }
    // An empty slice may have any address that is aligned for the scalar.
    let next = pointer
        .cast::<V>()
        .wrapping_byte_add(align_of::<V>() - beyond);
    (length == 0).then_some((next, 0))
}

impl<T> AsVectors<T> for [T] {
    #[inline(always)]
    fn as_vectors<V: Vector<Scalar = T>>(&self) -> Option<&[V]> {
        let (pointer, length) = vectors_at::<V>(self.as_ptr().cast_mut(), self.len())?;
        // SAFETY: the pointer is aligned and not null, and `Vector` guarantees that the scalars are
        // as many valid vectors.
        Some(unsafe { core::slice::from_raw_parts(pointer, length) })
    }

    #[inline(always)]
    fn as_vectors_mut<V: Vector<Scalar = T>>(&mut self) -> Option<&mut [V]> {
        let (pointer, length) = vectors_at::<V>(self.as_mut_ptr(), self.len())?;
        // SAFETY: as above; valid vectors are valid scalars, so writes keep the scalars valid.
        Some(unsafe { core::slice::from_raw_parts_mut(pointer, length) })
    }
}

impl<V: Vector> AsScalars<V::Scalar> for [V] {
    #[inline(always)]
    fn as_scalars(&self) -> &[V::Scalar] {
        // SAFETY: `Vector` guarantees that each vector is `LANES` valid scalars. Their number does
        // not overflow, because the slice exists in memory.
        unsafe { core::slice::from_raw_parts(self.as_ptr().cast(), self.len() * V::LANES) }
    }

    #[inline(always)]
    fn as_scalars_mut(&mut self) -> &mut [V::Scalar] {
        let length = self.len() * V::LANES;
        // SAFETY: as above; valid scalars are valid vectors, so writes keep the vectors valid.
        unsafe { core::slice::from_raw_parts_mut(self.as_mut_ptr().cast(), length) }
    }
}

/// Defines the vector types.
macro_rules! vectors {
    ($($name:ident: $kind:ident $T:ident $lanes:literal $align:literal $c:literal
        ($($i:tt $field:ident),*);)*) => {
        $(
            #[doc = concat!(
                "A vector of ", $lanes, " `", stringify!($T), "`, aligned to ", $align,
                " bytes: CUDA C++'s `", $c, "`."
            )]
            #[derive(Clone, Copy, Debug, Default, PartialEq)]
            #[repr(C, align($align))]
            pub struct $name(pub [$T; $lanes]);

            impl $name {
                /// Creates a vector of these elements.
                #[inline(always)]
                #[must_use]
                pub const fn new($($field: $T),*) -> Self {
                    Self([$($field),*])
                }

                /// Creates a vector whose elements are all `value`.
                #[inline(always)]
                #[must_use]
                pub const fn splat(value: $T) -> Self {
                    Self([value; $lanes])
                }

                /// Returns the elements.
                #[inline(always)]
                #[must_use]
                pub const fn to_array(self) -> [$T; $lanes] {
                    self.0
                }

                $(
                    #[doc = concat!("Returns element ", $i, ".")]
                    #[inline(always)]
                    #[must_use]
                    pub const fn $field(self) -> $T {
                        self.0[$i]
                    }
                )*
            }

            // SAFETY: the only field is an array of numbers, and the size is the array's.
            unsafe impl Vector for $name {
                type Scalar = $T;
                const LANES: usize = $lanes;
            }

            const _: () = assert!(size_of::<$name>() == size_of::<[$T; $lanes]>());
            const _: () = assert!(size_of::<$name>() == $align && align_of::<$name>() == $align);

            // SAFETY: numbers without pointers.
            unsafe impl DeviceCopy for $name {
                const LAYOUT: Layout = Layout::core::<Self>(
                    stringify!($name),
                    const { &[Part::Field("0", 0, &<[$T; $lanes]>::LAYOUT)] },
                );
            }

            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: all zero bits are zeros.
            unsafe impl bytemuck::Zeroable for $name {}
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: an array of numbers, without padding.
            unsafe impl bytemuck::Pod for $name {}

            impl From<[$T; $lanes]> for $name {
                #[inline(always)]
                fn from(elements: [$T; $lanes]) -> Self {
                    Self(elements)
                }
            }

            impl From<$name> for [$T; $lanes] {
                #[inline(always)]
                fn from(vector: $name) -> Self {
                    vector.0
                }
            }

            impl Deref for $name {
                type Target = [$T; $lanes];

                #[inline(always)]
                fn deref(&self) -> &[$T; $lanes] {
                    &self.0
                }
            }

            impl DerefMut for $name {
                #[inline(always)]
                fn deref_mut(&mut self) -> &mut [$T; $lanes] {
                    &mut self.0
                }
            }

            vectors! { @binary $name ($($i)*)
                Add add AddAssign add_assign;
                Sub sub SubAssign sub_assign;
                Mul mul MulAssign mul_assign;
                Div div DivAssign div_assign;
            }

            impl Mul<$T> for $name {
                type Output = Self;

                #[inline(always)]
                fn mul(self, factor: $T) -> Self {
                    Self([$(self.0[$i] * factor),*])
                }
            }

            impl Mul<$name> for $T {
                type Output = $name;

                #[inline(always)]
                fn mul(self, vector: $name) -> $name {
                    vector * self
                }
            }

            impl MulAssign<$T> for $name {
                #[inline(always)]
                fn mul_assign(&mut self, factor: $T) {
                    *self = *self * factor;
                }
            }

            vectors! { @$kind $name ($($i)*) }
        )*
    };
    (@binary $name:ident $lanes:tt $($Trait:ident $method:ident $Assign:ident $assign:ident;)*) => {
        $(vectors! { @one $name $lanes $Trait $method $Assign $assign })*
    };
    (@one $name:ident ($($i:tt)*) $Trait:ident $method:ident $Assign:ident $assign:ident) => {
        impl $Trait for $name {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self([$($Trait::$method(self.0[$i], other.0[$i])),*])
            }
        }

        impl $Assign for $name {
            #[inline(always)]
            fn $assign(&mut self, other: Self) {
                *self = $Trait::$method(*self, other);
            }
        }
    };
    (@float $name:ident $lanes:tt) => {
        vectors! { @neg $name $lanes }
    };
    (@signed $name:ident $lanes:tt) => {
        vectors! { @neg $name $lanes }
        vectors! { @unsigned $name $lanes }
    };
    (@unsigned $name:ident $lanes:tt) => {
        impl Eq for $name {}

        impl core::hash::Hash for $name {
            #[inline]
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }

        vectors! { @binary $name $lanes
            BitAnd bitand BitAndAssign bitand_assign;
            BitOr bitor BitOrAssign bitor_assign;
            BitXor bitxor BitXorAssign bitxor_assign;
        }
        vectors! { @unary $name $lanes Not not }
    };
    (@neg $name:ident $lanes:tt) => {
        vectors! { @unary $name $lanes Neg neg }
    };
    (@unary $name:ident ($($i:tt)*) $Trait:ident $method:ident) => {
        impl $Trait for $name {
            type Output = Self;

            #[inline(always)]
            fn $method(self) -> Self {
                Self([$($Trait::$method(self.0[$i])),*])
            }
        }
    };
}
vectors! {
    F32x2: float f32 2 8 "float2" (0 x, 1 y);
    F32x4: float f32 4 16 "float4" (0 x, 1 y, 2 z, 3 w);
    F64x2: float f64 2 16 "double2" (0 x, 1 y);
    I8x4: signed i8 4 4 "char4" (0 x, 1 y, 2 z, 3 w);
    I16x2: signed i16 2 4 "short2" (0 x, 1 y);
    I16x4: signed i16 4 8 "short4" (0 x, 1 y, 2 z, 3 w);
    I32x2: signed i32 2 8 "int2" (0 x, 1 y);
    I32x4: signed i32 4 16 "int4" (0 x, 1 y, 2 z, 3 w);
    I64x2: signed i64 2 16 "longlong2" (0 x, 1 y);
    U8x4: unsigned u8 4 4 "uchar4" (0 x, 1 y, 2 z, 3 w);
    U16x2: unsigned u16 2 4 "ushort2" (0 x, 1 y);
    U16x4: unsigned u16 4 8 "ushort4" (0 x, 1 y, 2 z, 3 w);
    U32x2: unsigned u32 2 8 "uint2" (0 x, 1 y);
    U32x4: unsigned u32 4 16 "uint4" (0 x, 1 y, 2 z, 3 w);
    U64x2: unsigned u64 2 16 "ulonglong2" (0 x, 1 y);
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::ops::{Add, Div, Mul, Neg, Sub};

    use super::*;

    #[test]
    fn operators_act_on_each_element() {
        let (a, b) = (F32x4::new(1.0, -2.0, 3.0, 8.0), F32x4::splat(2.0));
        assert_eq!(a + b, F32x4::new(3.0, 0.0, 5.0, 10.0));
        assert_eq!(a - b, F32x4::new(-1.0, -4.0, 1.0, 6.0));
        assert_eq!(a * b, F32x4::new(2.0, -4.0, 6.0, 16.0));
        assert_eq!(a / b, F32x4::new(0.5, -1.0, 1.5, 4.0));
        assert_eq!(-a, F32x4::new(-1.0, 2.0, -3.0, -8.0));
        assert_eq!(a * 3.0, 3.0 * a);
        assert_eq!(a * 3.0, F32x4::new(3.0, -6.0, 9.0, 24.0));

        let (a, b) = (U16x2::new(0xff, 10), U16x2::new(0x0f, 3));
        assert_eq!(a & b, U16x2::new(0x0f, 2));
        assert_eq!(a | b, U16x2::new(0xff, 11));
        assert_eq!(a ^ b, U16x2::new(0xf0, 9));
        assert_eq!(!a, U16x2::new(0xff00, 0xfff5));
    }

    fn assigned<T: Copy>(mut value: T, f: impl FnOnce(&mut T)) -> T {
        f(&mut value);
        value
    }

    #[test]
    fn assignments_equal_the_operators() {
        let (a, b) = (I32x4::new(20, -21, 22, 23), I32x4::new(4, 3, -2, 1));
        assert_eq!(assigned(a, |a| *a += b), Add::add(a, b));
        assert_eq!(assigned(a, |a| *a -= b), Sub::sub(a, b));
        assert_eq!(assigned(a, |a| *a *= b), Mul::mul(a, b));
        assert_eq!(assigned(a, |a| *a *= 3), Mul::mul(a, 3));
        assert_eq!(assigned(a, |a| *a /= b), Div::div(a, b));
        assert_eq!(assigned(a, |a| *a &= b), a & b);
        assert_eq!(assigned(a, |a| *a |= b), a | b);
        assert_eq!(assigned(a, |a| *a ^= b), a ^ b);
        assert_eq!(Neg::neg(a), I32x4::new(-20, 21, -22, -23));
    }

    #[test]
    fn elements_are_those_of_the_array() {
        let mut a = I64x2::from([1, 2]);
        assert_eq!((a.x(), a.y(), a[0], a.len()), (1, 2, 1, 2));
        a[1] = 5;
        a.iter_mut().for_each(|x| *x += 1);
        assert_eq!(a.to_array(), [2, 6]);
        assert_eq!(<[i64; 2]>::from(a), [2, 6]);
        assert_eq!(a.map(|x| 2 * x), [4, 12]);
        let b = U8x4::new(1, 2, 3, 4);
        assert_eq!([b.x(), b.y(), b.z(), b.w()], *b);
        assert_eq!(F64x2::default(), F64x2::splat(0.0));
    }

    #[test]
    fn slices_are_viewed_as_vectors_and_back() {
        let mut vectors = [U32x4::new(0, 1, 2, 3), U32x4::new(4, 5, 6, 7)];
        let scalars = vectors.as_scalars_mut();
        scalars[5] = 50;
        assert_eq!(scalars, [0, 1, 2, 3, 4, 50, 6, 7]);
        assert_eq!(scalars.as_vectors::<U32x4>().map(<[U32x4]>::len), Some(2));
        scalars.as_vectors_mut::<U32x2>().unwrap()[1] = U32x2::splat(9);
        assert_eq!(vectors.as_scalars(), [0, 1, 9, 9, 4, 50, 6, 7]);
    }

    #[test]
    fn misaligned_addresses_and_odd_lengths_are_none() {
        let mut vectors = [U32x4::default(); 3];
        let scalars = vectors.as_scalars_mut();
        assert!(scalars[1..5].as_vectors::<U32x4>().is_none());
        assert!(scalars[2..6].as_vectors_mut::<U32x4>().is_none());
        assert!(scalars[2..6].as_vectors::<U32x2>().is_some());
        assert!(scalars[..7].as_vectors::<U32x4>().is_none());
        assert!(scalars[..7].as_vectors_mut::<U32x2>().is_none());
        assert!(scalars[4..].as_vectors::<U32x4>().is_some());
    }

    #[test]
    fn empty_slices_are_viewed_at_every_address() {
        let vectors = [U32x4::default()];
        let scalars = vectors.as_scalars();
        for start in 0..4 {
            let empty = scalars[start..start].as_vectors::<U32x4>().unwrap();
            assert!(empty.is_empty() && empty.as_ptr().is_aligned());
        }
        assert_eq!(
            Vec::<f32>::new().as_vectors_mut::<F32x4>(),
            Some(&mut [][..])
        );
        let none: [F32x4; 0] = [];
        assert_eq!(none.as_scalars(), []);
    }

    #[test]
    fn the_layout_is_described_with_its_alignment() {
        let mut bytes = [0; 64];
        let mut writer = crate::layout::Writer::new(&mut bytes);
        writer.layout(&F32x4::LAYOUT);
        let len = writer.len;
        assert_eq!(
            core::str::from_utf8(&bytes[..len]),
            Ok("F32x4 { 0: [f32; 4] at 0, 16 bytes, align 16 }")
        );
    }
}
