//! Products of four warps.

use crate::kernel;
use crate::values::{Value, hash};
use cuda_std::copy;
use cuda_std::half::{Bf16, F16};
use cuda_std::intrinsics::wgmma as raw;
use cuda_std::matrix::{Packed, Tf32};
use cuda_std::minifloat::{E4m3, E5m2};
use cuda_std::prelude::*;
use cuda_std::wgmma::{self, Descriptor, Swizzle};

pub struct Case {
    pub name: &'static str,
    pub n: usize,
    pub k: usize,
    /// Bits of an element of A, and the result's width.
    pub bits: usize,
    pub half: bool,
    pub integer: bool,
    pub negated: bool,
    /// The numbers of A and B by their hash.
    pub elements: [fn(u32) -> (u64, i64); 2],
}

#[cfg(not(target_arch = "nvptx64"))]
fn of<T: Value>(hash: u32) -> (u64, i64) {
    let x = T::by_chance(hash);
    (x.bits(), x.whole())
}

/// Puts a matrix into shared memory, of rows of 32 bytes.
#[inline(always)]
unsafe fn fill<T: Value + Packed>(to: *mut u8, matrix: u32, lines: usize, swizzle: Swizzle) {
    let thread = thread::thread_idx_x() as usize;
    let bytes = T::BITS / 8;
    for index in (thread..lines * 32 / bytes).step_by(128) {
        let (line, column) = (index / (32 / bytes), index % (32 / bytes));
        let byte = column * bytes;
        let place = match swizzle {
            Swizzle::None => line / 8 * 256 + byte / 16 * 128 + line % 8 * 16 + byte % 16,
            _ => {
                let width = 256 >> swizzle as usize;
                let plain = line * width + byte;
                plain ^ (plain >> 7 & (width / 16 - 1)) << 4
            }
        };
        let bits = T::by_chance(hash(matrix, line, column)).pack();
        // SAFETY: there is room for the matrix.
        unsafe {
            match bytes {
                1 => to.add(place).write(bits as u8),
                2 => to.add(place).cast::<u16>().write(bits as u16),
                _ => to.add(place).cast::<u32>().write(bits),
            }
        }
    }
}

macro_rules! cases {
    ($kernel:ident $cases:ident:
     $($number:literal $row:ident<$($imm:literal),*> [$ty:ty; $len:literal] $n:literal $a:ty, $b:ty, $swizzle:ident, $from:ident $(, $negated:ident)?;)*) => {
        kernel! {
            $kernel(input, output) {
                #[address_space(shared)]
                static mut A: Aligned<8192> = Aligned([0; 8192]);
                #[address_space(shared)]
                static mut B: Aligned<32768> = Aligned([0; 32768]);
                #[repr(align(1024))]
                struct Aligned<const N: usize>([u8; N]);
                let (a, b) = ((&raw mut A).cast::<u8>(), (&raw mut B).cast::<u8>());
                let thread = thread::thread_idx_x() as usize;
                // SAFETY: 128 threads, whose matrices are there.
                unsafe {
                    match *input {
                        $($number => {
                            const SWIZZLE: Swizzle = Swizzle::$swizzle;
                            fill::<$a>(a, 1, 64, SWIZZLE);
                            fill::<$b>(b, 2, $n, SWIZZLE);
                            copy::fence();
                            thread::sync_threads();
                            let width = if let Swizzle::None = SWIZZLE { 32 } else { 256 >> SWIZZLE as u32 };
                            let b = Descriptor::new(b, 128, 8 * width, SWIZZLE);
                            let a = cases!(@a $from a, width, SWIZZLE, $a);
                            let mut sum: [$ty; $len] = [Default::default(); $len];
                            wgmma::fence();
                            raw::$row::<$($imm),*>(&mut sum, a, b.bits(), false);
                            raw::$row::<$($imm),*>(&mut sum, a, b.bits(), true);
                            wgmma::commit();
                            wgmma::wait::<0>();
                            for index in 0..$len {
                                *output.add(thread * $len + index) = Bits::bits(sum[index]);
                            }
                        })*
                        _ => {}
                    }
                }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        pub static $cases: &[Case] = &[$(Case {
            name: concat!(stringify!($row), " ", stringify!($swizzle)),
            n: $n,
            k: 256 / <$a as Packed>::BITS,
            bits: <$a as Packed>::BITS,
            half: $n * 64 / 128 != $len,
            integer: <$ty as Bits>::INTEGER,
            negated: cases!(@negated $($negated)?),
            elements: [of::<$a>, of::<$b>],
        }),*];
    };
    (@negated) => { false };
    (@negated negated) => { true };
    (@a shared $a:ident, $width:ident, $swizzle:expr, $ty:ty) => {
        Descriptor::new($a, 128, 8 * $width, $swizzle).bits()
    };
    (@a registers $a:ident, $width:ident, $swizzle:expr, $ty:ty) => {{
        let lane = thread::thread_idx_x() as usize;
        let each = 32 / <$ty as Packed>::BITS;
        core::array::from_fn(|register: usize| {
            let row = lane / 32 * 16 + lane % 32 / 4 + register % 2 * 8;
            (0..each).fold(0u32, |bits, part| {
                let column = (register / 2 * 4 + lane % 4) * each + part;
                bits | <$ty as Value>::by_chance(hash(1, row, column)).pack() << (part * <$ty as Packed>::BITS)
            })
        })
    }};
}

trait Bits {
    const INTEGER: bool;
    fn bits(self) -> u32;
}
impl Bits for f32 {
    const INTEGER: bool = false;
    fn bits(self) -> u32 {
        self.to_bits()
    }
}
impl Bits for u32 {
    const INTEGER: bool = false;
    fn bits(self) -> u32 {
        self
    }
}
impl Bits for i32 {
    const INTEGER: bool = true;
    fn bits(self) -> u32 {
        self as u32
    }
}

cases! { group_products CASES:
    0 wgmma_m64_n8_k16_f32_f16_f16<1, 1, 0, 0> [f32; 4] 8 F16, F16, None, shared;
    1 wgmma_m64_n64_k16_f32_f16_f16<1, 1, 0, 0> [f32; 32] 64 F16, F16, None, shared;
    2 wgmma_m64_n64_k16_f32_f16_f16<1, 1, 0, 0> [f32; 32] 64 F16, F16, Bytes128, shared;
    3 wgmma_m64_n128_k16_f32_f16_f16<1, 1, 0, 0> [f32; 64] 128 F16, F16, Bytes64, shared;
    4 wgmma_m64_n256_k16_f32_f16_f16<1, 1, 0, 0> [f32; 128] 256 F16, F16, Bytes32, shared;
    5 wgmma_m64_n64_k16_f32_f16_f16< -1, 1, 0, 0> [f32; 32] 64 F16, F16, None, shared, negated;
    6 wgmma_m64_n24_k16_f16_f16_f16<1, 1, 0, 0> [u32; 6] 24 F16, F16, None, shared;
    7 wgmma_m64_n32_k16_f32_f16_f16_ra<1, 1, 0> [f32; 16] 32 F16, F16, None, registers;
    8 wgmma_m64_n40_k16_f32_bf16_bf16<1, 1, 0, 0> [f32; 20] 40 Bf16, Bf16, None, shared;
    9 wgmma_m64_n96_k16_f32_bf16_bf16_ra<1, 1, 0> [f32; 48] 96 Bf16, Bf16, Bytes32, registers;
    10 wgmma_m64_n64_k8_f32_tf32_tf32<1, 1> [f32; 32] 64 Tf32, Tf32, None, shared;
    11 wgmma_m64_n16_k8_f32_tf32_tf32_ra<1, 1> [f32; 8] 16 Tf32, Tf32, None, registers;
    12 wgmma_m64_n64_k32_f32_e4m3_e5m2<1, 1> [f32; 32] 64 E4m3, E5m2, None, shared;
    13 wgmma_m64_n8_k32_f16_e5m2_e5m2<1, 1> [u32; 2] 8 E5m2, E5m2, None, shared;
    14 wgmma_m64_n16_k32_f32_e4m3_e4m3_ra<1, 1> [f32; 8] 16 E4m3, E4m3, None, registers;
    15 wgmma_m64_n64_k32_s32_s8_s8<> [i32; 32] 64 i8, i8, None, shared;
    16 wgmma_m64_n16_k32_s32_u8_s8_ra<> [i32; 8] 16 u8, i8, None, registers;
    17 wgmma_m64_n48_k32_s32_s8_u8_satfinite<> [i32; 24] 48 i8, u8, Bytes32, shared;
}
