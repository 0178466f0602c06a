//! Products of every shape and type that the architecture has.

use crate::values::{Value, hash};
use cuda_std::half::{Bf16, F16};
use cuda_std::matrix::{
    A, Accumulator, B, Bit, I4, Mma, Multiply, MultiplyBits, MultiplySaturating, Shape, Tf32, U4,
};
use cuda_std::minifloat::{E4m3, E5m2};

/// Fills the factors and writes the sum, each element twice 32 bits wide.
#[cfg_attr(not(target_arch = "nvptx64"), allow(dead_code))]
#[inline(always)]
unsafe fn run<P: Shape>(
    output: *mut u32,
    multiply: impl FnOnce(A<P>, B<P>, Accumulator<P>) -> Accumulator<P>,
) where
    P::ElementA: Value,
    P::ElementB: Value,
    P::ElementC: Value,
{
    let a = A::from_fn(|row, column| Value::by_chance(hash(1, row, column)));
    let b = B::from_fn(|row, column| Value::by_chance(hash(2, row, column)));
    let c = Accumulator::from_fn(|row, column| Value::by_chance(hash(3, row, column)));
    multiply(a, b, c).for_each(|row, column, value| {
        // SAFETY: the output has two words for each element of the sum.
        unsafe {
            output
                .cast::<u64>()
                .add(row * P::N + column)
                .write(value.bits())
        };
    });
}

/// The sum as the host computes it, of the numbers that the bits of `C` mean.
#[cfg(not(target_arch = "nvptx64"))]
fn expected<P: Shape>(combine: fn(i64, i64) -> i64, result: fn(i64) -> u64) -> std::vec::Vec<u64>
where
    P::ElementA: Value,
    P::ElementB: Value,
    P::ElementC: Value,
{
    let mut sums = std::vec::Vec::new();
    for row in 0..P::M {
        for column in 0..P::N {
            let products = (0..P::K).map(|k| {
                let a: P::ElementA = Value::by_chance(hash(1, row, k));
                let b: P::ElementB = Value::by_chance(hash(2, k, column));
                combine(a.whole(), b.whole())
            });
            let c: P::ElementC = Value::by_chance(hash(3, row, column));
            let start = match c.whole() {
                // An `i32`'s bits.
                bits if bits > i64::from(i32::MAX) => i64::from(bits as u32 as i32),
                whole => whole,
            };
            sums.push(result(start + products.sum::<i64>()));
        }
    }
    sums
}

#[cfg(not(target_arch = "nvptx64"))]
pub type Case = (&'static str, fn() -> std::vec::Vec<u64>);

/// A kernel of cases by number, and the table of the results that the host expects.
macro_rules! products {
    ($kernel:ident $cases:ident $(#[$attribute:meta])*:
     $($number:literal $function:ident<$m:literal, $n:literal, $k:literal, $a:ty, $b:ty, $c:ty> = $result:ident;)*) => {
        crate::kernel! {
            $(#[$attribute])*
            $kernel(input, output) {
                unsafe {
                    match *input {
                        $($number => run::<Mma<$m, $n, $k, $a, $b, $c>>(output, Mma::<$m, $n, $k, $a, $b, $c>::$function),)*
                        _ => {}
                    }
                }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        pub static $cases: &[Case] = &[$(
            (concat!("m", $m, "n", $n, "k", $k, " ", stringify!($a), " ", stringify!($b), " ", stringify!($c), " ", stringify!($function)),
             || expected::<Mma<$m, $n, $k, $a, $b, $c>>(combine::$function, result::$result)),
        )*];
    };
}

#[cfg(not(target_arch = "nvptx64"))]
mod combine {
    pub fn multiply(a: i64, b: i64) -> i64 {
        a * b
    }
    pub use multiply as multiply_saturating;
    pub fn multiply_xor(a: i64, b: i64) -> i64 {
        a ^ b
    }
    pub fn multiply_and(a: i64, b: i64) -> i64 {
        a & b
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod result {
    use super::{F16, Value};

    pub fn half(sum: i64) -> u64 {
        F16::from_f32(sum as f32).bits()
    }
    pub fn single(sum: i64) -> u64 {
        (sum as f32).bits()
    }
    pub fn double(sum: i64) -> u64 {
        (sum as f64).to_bits()
    }
    pub fn integer(sum: i64) -> u64 {
        u64::from(sum as u32)
    }
}

products! { products_75 CASES_75:
    0 multiply<16, 8, 8, F16, F16, F16> = half;
    1 multiply<16, 8, 8, F16, F16, f32> = single;
    2 multiply<8, 8, 16, i8, i8, i32> = integer;
    3 multiply<8, 8, 16, i8, u8, i32> = integer;
    4 multiply<8, 8, 16, u8, i8, i32> = integer;
    5 multiply<8, 8, 16, u8, u8, i32> = integer;
    6 multiply_saturating<8, 8, 16, u8, u8, i32> = integer;
    7 multiply<8, 8, 32, I4, I4, i32> = integer;
    8 multiply<8, 8, 32, I4, U4, i32> = integer;
    9 multiply<8, 8, 32, U4, I4, i32> = integer;
    10 multiply<8, 8, 32, U4, U4, i32> = integer;
    11 multiply_saturating<8, 8, 32, I4, U4, i32> = integer;
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
products! { products_90 CASES_90:
    0 multiply<16, 8, 16, F16, F16, F16> = half;
    1 multiply<16, 8, 16, F16, F16, f32> = single;
    2 multiply<16, 8, 8, Bf16, Bf16, f32> = single;
    3 multiply<16, 8, 16, Bf16, Bf16, f32> = single;
    4 multiply<16, 8, 4, Tf32, Tf32, f32> = single;
    5 multiply<16, 8, 8, Tf32, Tf32, f32> = single;
    6 multiply<8, 8, 4, f64, f64, f64> = double;
    7 multiply<16, 8, 4, f64, f64, f64> = double;
    8 multiply<16, 8, 8, f64, f64, f64> = double;
    9 multiply<16, 8, 16, f64, f64, f64> = double;
    10 multiply<16, 8, 16, i8, i8, i32> = integer;
    11 multiply<16, 8, 16, u8, i8, i32> = integer;
    12 multiply<16, 8, 32, i8, i8, i32> = integer;
    13 multiply<16, 8, 32, i8, u8, i32> = integer;
    14 multiply<16, 8, 32, u8, u8, i32> = integer;
    15 multiply_saturating<16, 8, 32, u8, i8, i32> = integer;
    16 multiply<16, 8, 32, I4, I4, i32> = integer;
    17 multiply<16, 8, 64, I4, U4, i32> = integer;
    18 multiply<16, 8, 64, U4, U4, i32> = integer;
    19 multiply_saturating<16, 8, 64, U4, I4, i32> = integer;
    20 multiply_xor<8, 8, 128, Bit, Bit, i32> = integer;
    21 multiply_and<8, 8, 128, Bit, Bit, i32> = integer;
    22 multiply_xor<16, 8, 128, Bit, Bit, i32> = integer;
    23 multiply_and<16, 8, 128, Bit, Bit, i32> = integer;
    24 multiply_xor<16, 8, 256, Bit, Bit, i32> = integer;
    25 multiply_and<16, 8, 256, Bit, Bit, i32> = integer;
    26 multiply<16, 8, 32, E4m3, E4m3, f32> = single;
    27 multiply<16, 8, 32, E4m3, E5m2, f32> = single;
    28 multiply<16, 8, 32, E5m2, E4m3, f32> = single;
    29 multiply<16, 8, 32, E5m2, E5m2, f32> = single;
    30 multiply<16, 8, 16, E4m3, E5m2, f32> = single;
    31 multiply<16, 8, 16, E4m3, E4m3, F16> = half;
    32 multiply<16, 8, 32, E5m2, E4m3, F16> = half;
}
