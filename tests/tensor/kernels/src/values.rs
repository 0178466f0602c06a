//! Elements by chance: small whole numbers, of which sums are exact in every type.

use cuda_std::half::{Bf16, F16};
use cuda_std::matrix::{Bit, E2m1Byte, I4, Tf32, U4};
use cuda_std::minifloat::{E2m1, E2m3, E3m2, E4m3, E5m2};

/// A hash of a matrix and a place in it.
pub fn hash(matrix: u32, row: usize, column: usize) -> u32 {
    let x = (matrix.wrapping_mul(0x9e37_79b9))
        ^ (row as u32).wrapping_mul(0x85eb_ca6b)
        ^ (column as u32).wrapping_mul(0xc2b2_ae35);
    let x = (x ^ x >> 15).wrapping_mul(0x2c1b_3c6d);
    let x = (x ^ x >> 12).wrapping_mul(0x297a_2d39);
    x ^ x >> 15
}

/// A type of elements.
pub trait Value: Copy {
    /// A small number by chance.
    fn by_chance(hash: u32) -> Self;
    /// The number, which is whole.
    fn whole(self) -> i64;
    /// Its bits.
    fn bits(self) -> u64;
}

macro_rules! floats {
    ($($ty:ty, $from:expr, $to:expr, $bits:expr;)*) => {$(
        impl Value for $ty {
            fn by_chance(hash: u32) -> Self {
                $from((hash % 5) as f32 - 2.0)
            }
            fn whole(self) -> i64 {
                $to(self) as i64
            }
            fn bits(self) -> u64 {
                $bits(self)
            }
        }
    )*};
}
floats! {
    F16, F16::from_f32, F16::to_f32, |x: F16| x.to_bits().into();
    Bf16, Bf16::from_f32, Bf16::to_f32, |x: Bf16| x.to_bits().into();
    Tf32, Tf32::new, Tf32::get, |x: Tf32| x.get().to_bits().into();
    f32, |x| x, |x| x, |x: f32| x.to_bits().into();
    f64, f64::from, |x| x, |x: f64| x.to_bits();
    E4m3, E4m3::from_f32, E4m3::to_f32, |x: E4m3| x.to_bits().into();
    E5m2, E5m2::from_f32, E5m2::to_f32, |x: E5m2| x.to_bits().into();
    E3m2, E3m2::from_f32, E3m2::to_f32, |x: E3m2| x.to_bits().into();
    E2m3, E2m3::from_f32, E2m3::to_f32, |x: E2m3| x.to_bits().into();
    E2m1, E2m1::from_f32, E2m1::to_f32, |x: E2m1| x.to_bits().into();
    E2m1Byte, |x| E2m1Byte(E2m1::from_f32(x)), |x: E2m1Byte| x.0.to_f32(), |x: E2m1Byte| x.0.to_bits().into();
}

macro_rules! integers {
    ($($ty:ty, $from:expr, $to:expr;)*) => {$(
        impl Value for $ty {
            fn by_chance(hash: u32) -> Self {
                $from(hash as _)
            }
            fn whole(self) -> i64 {
                $to(self) as i64
            }
            fn bits(self) -> u64 {
                $to(self) as u64
            }
        }
    )*};
}
integers! {
    i8, |x: i8| x, |x| x;
    u8, |x: u8| x, |x| x;
    I4, I4::new, I4::get;
    U4, U4::new, U4::get;
    i32, |x: i32| x % 1000, |x| x as u32;
    Bit, |x: u32| Bit(x & 1 != 0), |x: Bit| x.0;
}
