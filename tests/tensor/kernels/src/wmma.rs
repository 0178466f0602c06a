//! `wmma`: products of every shape and type, loaded either way.

use crate::kernel;
use crate::values::{Value, hash};
use cuda_std::half::{Bf16, F16};
use cuda_std::matrix::wmma::{
    A, Accumulator, B, ColumnMajor, LoadA, LoadB, Multiply, RowMajor, Sum, Wmma,
};

/// Where the parts of the input begin, in bytes: A, B, C, each at most 4 KiB.
pub const PART: usize = 4096;

#[inline(always)]
unsafe fn run<P, L, R>(input: *const u8, output: *mut u32, sides: [u32; 3], rows: [bool; 2])
where
    P: LoadA<L> + LoadB<R> + Multiply<L, R> + Sum<RowMajor> + Sum<ColumnMajor>,
{
    let [m, n, k] = sides;
    // SAFETY: the parts are there, dense.
    unsafe {
        let a = A::<P, L>::load(input.cast(), if rows[0] { k } else { m });
        let b = B::<P, R>::load(input.add(PART).cast(), if rows[1] { n } else { k });
        let c = Accumulator::<P>::load(input.add(2 * PART).cast(), n);
        let d = P::multiply(a, b, c);
        d.store(output.cast(), n);
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub struct Case {
    pub name: &'static str,
    pub sides: [usize; 3],
    pub rows: [bool; 2],
    /// Bytes of an element of the factors and the sum.
    pub bytes: [usize; 2],
    /// The bits of A, B, C and the expected result, in row-major order.
    pub matrices: fn(sides: [usize; 3]) -> [std::vec::Vec<u64>; 4],
}

#[cfg(not(target_arch = "nvptx64"))]
fn matrices<T: Value, C: Value>(
    [m, n, k]: [usize; 3],
    result: fn(i64) -> u64,
) -> [std::vec::Vec<u64>; 4] {
    let at = |matrix, rows: usize, columns: usize| {
        (0..rows * columns).map(move |i| hash(matrix, i / columns, i % columns))
    };
    let a: std::vec::Vec<T> = at(1, m, k).map(T::by_chance).collect();
    let b: std::vec::Vec<T> = at(2, k, n).map(T::by_chance).collect();
    let c: std::vec::Vec<C> = at(3, m, n).map(C::by_chance).collect();
    let d = (0..m * n).map(|i| {
        let (row, column) = (i / n, i % n);
        let start = c[i].whole();
        let start = if start > i64::from(i32::MAX) {
            i64::from(start as u32 as i32)
        } else {
            start
        };
        let products = (0..k).map(|j| a[row * k + j].whole() * b[j * n + column].whole());
        result(start + products.sum::<i64>())
    });
    let d = d.collect();
    let bits = |list: &[T]| list.iter().map(|x| x.bits()).collect();
    [bits(&a), bits(&b), c.iter().map(|x| x.bits()).collect(), d]
}

#[cfg(not(target_arch = "nvptx64"))]
fn integer(sum: i64) -> u64 {
    u64::from(sum as u32)
}
#[cfg(not(target_arch = "nvptx64"))]
fn half(sum: i64) -> u64 {
    F16::from_f32(sum as f32).bits()
}
#[cfg(not(target_arch = "nvptx64"))]
fn single(sum: i64) -> u64 {
    (sum as f32).bits()
}
#[cfg(not(target_arch = "nvptx64"))]
fn double(sum: i64) -> u64 {
    (sum as f64).to_bits()
}

macro_rules! cases {
    ($kernel:ident $cases:ident:
     $($number:literal <$m:literal, $n:literal, $k:literal, $t:ty, $c:ty> $l:ident $r:ident ($value:ty) = $result:ident;)*) => {
        kernel! {
            $kernel(input, output) {
                // SAFETY: the input is the case's number and then, from 128 bytes on, the parts.
                unsafe {
                    match *input {
                        $($number => run::<Wmma<$m, $n, $k, $t, $c>, $l, $r>(
                            input.add(32).cast(), output, [$m, $n, $k], [rows::$l, rows::$r],
                        ),)*
                        _ => {}
                    }
                }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        pub static $cases: &[Case] = &[$(Case {
            name: concat!("m", $m, "n", $n, "k", $k, " ", stringify!($t), " ", stringify!($c), " ", stringify!($l), " ", stringify!($r)),
            sides: [$m, $n, $k],
            rows: [rows::$l, rows::$r],
            bytes: [size_of::<$value>(), size_of::<$c>()],
            matrices: |sides| matrices::<$value, $c>(sides, $result),
        }),*];
    };
}

#[allow(non_upper_case_globals)]
mod rows {
    pub const RowMajor: bool = true;
    pub const ColumnMajor: bool = false;
}

cases! { wmma_75 CASES_75:
    0 <16, 16, 16, F16, f32> RowMajor RowMajor (F16) = single;
    1 <16, 16, 16, F16, f32> RowMajor ColumnMajor (F16) = single;
    2 <16, 16, 16, F16, f32> ColumnMajor RowMajor (F16) = single;
    3 <16, 16, 16, F16, f32> ColumnMajor ColumnMajor (F16) = single;
    4 <16, 16, 16, F16, F16> RowMajor RowMajor (F16) = half;
    5 <32, 8, 16, F16, f32> RowMajor ColumnMajor (F16) = single;
    6 <32, 8, 16, F16, F16> ColumnMajor RowMajor (F16) = half;
    7 <8, 32, 16, F16, f32> ColumnMajor ColumnMajor (F16) = single;
    8 <8, 32, 16, F16, F16> RowMajor RowMajor (F16) = half;
    9 <16, 16, 16, i8, i32> RowMajor ColumnMajor (i8) = integer;
    10 <32, 8, 16, i8, i32> ColumnMajor RowMajor (i8) = integer;
    11 <8, 32, 16, i8, i32> RowMajor RowMajor (i8) = integer;
    12 <16, 16, 16, u8, i32> ColumnMajor ColumnMajor (u8) = integer;
    13 <32, 8, 16, u8, i32> RowMajor RowMajor (u8) = integer;
    14 <8, 32, 16, u8, i32> ColumnMajor RowMajor (u8) = integer;
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
cases! { wmma_90 CASES_90:
    0 <16, 16, 16, Bf16, f32> RowMajor ColumnMajor (Bf16) = single;
    1 <32, 8, 16, Bf16, f32> ColumnMajor RowMajor (Bf16) = single;
    2 <8, 32, 16, Bf16, f32> RowMajor RowMajor (Bf16) = single;
    3 <16, 16, 8, cuda_std::matrix::Tf32, f32> RowMajor ColumnMajor (f32) = single;
    4 <16, 16, 8, cuda_std::matrix::Tf32, f32> ColumnMajor RowMajor (f32) = single;
    5 <8, 8, 4, f64, f64> RowMajor ColumnMajor (f64) = double;
    6 <8, 8, 4, f64, f64> ColumnMajor RowMajor (f64) = double;
}
