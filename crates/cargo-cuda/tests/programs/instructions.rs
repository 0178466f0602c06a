//! Instructions of SSE and SSE2, with the host's results, and assembly without instructions: crates
//! use both without feature detection.

use cuda_std::prelude::*;
use cust::prelude::*;
use std::arch::{asm, x86_64::*};
use std::mem::transmute;

/// Lanes with signs, carries, and the extremes of each width.
const INTS: [u128; 6] = [
    0,
    u128::MAX,
    0x8000_7fff_0001_fffe_1234_80ff_ff7f_0180,
    0x0102_0304_0506_0708_8090_a0b0_c0d0_e0f0,
    0x7fff_8000_7fff_8000_ffff_ffff_8000_0000,
    // As a number of bits, more than a lane of 16 has.
    17,
];
const FLOATS: [[f32; 4]; 6] = [
    [0.0, -0.0, 1.5, -2.5],
    [-0.0, 0.0, f32::NAN, 1.0],
    [f32::INFINITY, 3e9, -3e9, 0.5],
    [2147483648.0, -2147483648.0, 1e-40, f32::NAN],
    [1.0, f32::NAN, -1.0, 7.0],
    [-1e30, 16777217.0, 2.5, 3.5],
];
const DOUBLES: [[f64; 2]; 6] = [
    [0.0, -0.0],
    [f64::NAN, 1.0],
    [2147483647.5, -2147483648.5],
    [1e300, -1e-300],
    [2.5, 3.5],
    [9.3e18, f64::NAN],
];
const PAIRS: usize = INTS.len() * INTS.len();

fn ints(i: usize) -> __m128i {
    unsafe { transmute(INTS[i]) }
}

fn floats(i: usize) -> __m128 {
    unsafe { transmute(FLOATS[i]) }
}

fn doubles(i: usize) -> __m128d {
    unsafe { transmute(DOUBLES[i]) }
}

trait Bits {
    fn bits(self) -> u128;
}

macro_rules! bits {
    ($($ty:ty)*) => {$(
        impl Bits for $ty {
            fn bits(self) -> u128 {
                unsafe { transmute(self) }
            }
        }
    )*};
}
bits!(__m128i __m128 __m128d);

impl Bits for i32 {
    fn bits(self) -> u128 {
        self as u128
    }
}

impl Bits for i64 {
    fn bits(self) -> u128 {
        self as u128
    }
}

/// The bits of a NaN that a conversion returns differ between processors.
fn with_one_nan(vector: __m128) -> __m128 {
    let mut lanes: [f32; 4] = unsafe { transmute(vector) };
    if lanes[0].is_nan() {
        lanes[0] = f32::NAN;
    }
    unsafe { transmute(lanes) }
}

/// Defines `NAMES` and `compute`, which calls each function with the operands `a` and `b`.
macro_rules! functions {
    ($($operands:ident { $($function:ident)* })*) => {
        const NAMES: &[&str] = &[$($(stringify!($function)),*),*];

        fn compute(a: usize, b: usize, to: &mut [u128; NAMES.len()]) {
            let results = unsafe { [$($(functions!($operands $function a b)),*),*] };
            *to = results;
        }
    };
    (ints $function:ident $a:ident $b:ident) => { $function(ints($a), ints($b)).bits() };
    (floats $function:ident $a:ident $b:ident) => { $function(floats($a), floats($b)).bits() };
    (doubles $function:ident $a:ident $b:ident) => { $function(doubles($a), doubles($b)).bits() };
    (of_floats $function:ident $a:ident $b:ident) => { $function(floats($a)).bits() };
    (of_doubles $function:ident $a:ident $b:ident) => { $function(doubles($a)).bits() };
    (both $function:ident $a:ident $b:ident) => {
        with_one_nan($function(floats($a), doubles($b))).bits()
    };
}

functions! {
    ints {
        _mm_mulhi_epu16 _mm_mulhi_epi16 _mm_avg_epu8 _mm_avg_epu16 _mm_madd_epi16 _mm_sad_epu8
        _mm_packs_epi16 _mm_packus_epi16 _mm_packs_epi32
        _mm_sll_epi16 _mm_sll_epi32 _mm_sll_epi64 _mm_srl_epi16 _mm_srl_epi32 _mm_srl_epi64
        _mm_sra_epi16 _mm_sra_epi32
    }
    floats {
        _mm_min_ps _mm_max_ps _mm_min_ss _mm_max_ss
        _mm_cmpeq_ps _mm_cmplt_ps _mm_cmple_ps _mm_cmpunord_ps _mm_cmpneq_ps _mm_cmpnlt_ps
        _mm_cmpnle_ps _mm_cmpord_ps _mm_cmpgt_ps _mm_cmpge_ps
        _mm_cmpeq_ss _mm_cmplt_ss _mm_cmpgt_ss _mm_cmpord_ss
        _mm_comieq_ss _mm_comilt_ss _mm_comile_ss _mm_comigt_ss _mm_comige_ss _mm_comineq_ss
        _mm_ucomieq_ss _mm_ucomilt_ss _mm_ucomineq_ss
    }
    doubles {
        _mm_min_pd _mm_max_pd _mm_min_sd _mm_max_sd
        _mm_cmpeq_pd _mm_cmplt_pd _mm_cmpneq_pd _mm_cmpnle_pd _mm_cmpord_sd _mm_cmpge_sd
        _mm_comieq_sd _mm_comilt_sd _mm_comige_sd _mm_comineq_sd _mm_ucomigt_sd
    }
    of_floats {
        _mm_cvtss_si32 _mm_cvttss_si32 _mm_cvtss_si64 _mm_cvttss_si64
        _mm_cvtps_epi32 _mm_cvttps_epi32
    }
    of_doubles {
        _mm_cvtsd_si32 _mm_cvttsd_si32 _mm_cvtsd_si64 _mm_cvttsd_si64
        _mm_cvtpd_epi32 _mm_cvttpd_epi32
    }
    both { _mm_cvtsd_ss }
}

/// Adds 7 after assembly that keeps LLVM from certain optimizations for the host.
fn behind_barriers(mut x: u32) -> u32 {
    let mut seven: *const u32 = &7;
    unsafe {
        asm!("/*{0:e}*/", inout(reg) x, options(nostack));
        asm!("/* {} */", inout(reg) seven);
        asm!("");
        asm!("# {0}", in(reg) x);
        _mm_mfence();
        x + *seven
    }
}

#[kernel]
fn results(mut to: PerThread<[u128; NAMES.len()]>, mut sums: PerThread<u32>) {
    to.each(|i, to| compute(i / INTS.len(), i % INTS.len(), to));
    sums.each(|i, sum| *sum = behind_barriers(i as u32));
}

fn main() -> CudaResult<()> {
    cust::init_auto()?;
    let (mut to, mut sums) = (vec![[0; NAMES.len()]; PAIRS], vec![0; PAIRS]);
    cust::launch((2, 32), results::args(&mut to, &mut sums))?;
    for (i, (results, sum)) in to.iter().zip(sums).enumerate() {
        let (a, b) = (i / INTS.len(), i % INTS.len());
        let mut expected = [0; NAMES.len()];
        compute(a, b, &mut expected);
        for (name, (result, expected)) in NAMES.iter().zip(results.iter().zip(expected)) {
            assert_eq!(*result, expected, "{name} of {a} and {b}");
        }
        assert_eq!(sum, i as u32 + 7);
    }
    println!("the instructions gave what they give on the host");
    Ok(())
}
