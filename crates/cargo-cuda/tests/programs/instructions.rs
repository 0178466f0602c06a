//! Instructions of SSE and SSE2 and carries, with the host's results, and inline assembly, which
//! crates use without feature detection.

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

/// Assembly of vector registers, with floats in their lowest lane.
fn vector_assembly(a: usize, b: usize) -> [u128; 9] {
    let (mut root, mut double_root) = (FLOATS[a][0].abs(), DOUBLES[a][0].abs());
    let (mut lanes, mut double_lanes) = (floats(a), doubles(a));
    let (mut equal, mut both, mut either) = (ints(a), ints(a), ints(a));
    let (mask, wide_mask): (u32, u64);
    unsafe {
        let (x, y) = (
            transmute::<_, [f32; 4]>(floats(b)),
            transmute::<_, [f64; 2]>(doubles(b)),
        );
        // The sign of the NaN that a square root of a negative number returns is not specified.
        let (x, y) = (_mm_set_ss(x[1].abs()), _mm_set_sd(y[1].abs()));
        asm!("sqrtss {x}, {x}", x = inout(xmm_reg) root, options(nostack, nomem, pure));
        asm!("sqrtsd {0}, {0}", inout(xmm_reg) double_root, options(nostack, nomem, pure));
        asm!("sqrtss {0}, {1}", inout(xmm_reg) lanes, in(xmm_reg) x);
        asm!("sqrtsd {}, {}", inout(xmm_reg) double_lanes, in(xmm_reg) y);
        asm!("pcmpeqb {}, {}", inlateout(xmm_reg) equal, in(xmm_reg) ints(b));
        asm!("pand {}, {}", inlateout(xmm_reg) both, in(xmm_reg) ints(b));
        asm!("por {0}, {1}", "pxor {0}, {2}",
            inlateout(xmm_reg) either, in(xmm_reg) ints(b), in(xmm_reg) equal);
        asm!("pmovmskb {mask:e}, {a}", mask = lateout(reg) mask, a = in(xmm_reg) ints(a));
        asm!("pmovmskb {}, {}", lateout(reg) wide_mask, in(xmm_reg) ints(b));
    }
    let [root, double_root] = [u128::from(root.to_bits()), double_root.to_bits().into()];
    [
        root,
        double_root,
        with_one_nan(lanes).bits(),
        double_lanes.bits(),
        equal.bits(),
        both.bits(),
        either.bits(),
        mask.into(),
        wide_mask.into(),
    ]
}

/// Assembly of general registers, with the carry and zero flags.
#[allow(asm_sub_register)]
fn scalar_assembly(a: u128, b: u128) -> [u64; 16] {
    let [a0, a1] = [a as u64, (a >> 64) as u64];
    let [b0, b1] = [b as u64, (b >> 64) as u64];
    let divisor = b0 | 1;
    let (mut low, mut high) = (a0, a1);
    let (mut difference, mut borrowed) = (a0 as u32, a1 as u32);
    let (mut word, mut double_word, mut copy) = (a0 as u16, a0 as u32, a0);
    let (mut byte, mut inverted): (u8, u32) = (a0 as u8, a1 as u32);
    let (quotient, remainder, quotient32, product, above): (u64, u64, u32, u64, u8);
    let (mut narrow, upper): (u64, u32) = (a1, (a1 as u32) % (divisor as u32));
    unsafe {
        asm!("div {0:r}", in(reg) divisor, inout("dx") a1 % divisor => remainder,
            inout("ax") a0 => quotient, options(pure, nomem, nostack));
        asm!("div {0:e}", in(reg) divisor as u32, inlateout("edx") upper => _,
            inlateout("eax") a0 as u32 => quotient32);
        asm!("mul {}", in(reg) b1, inlateout("rax") a0 => _, lateout("rdx") product);
        asm!("add {0}, {2}", "adc {1}, {3}",
            inout(reg) low, inout(reg) high, in(reg) b0, in(reg) b1);
        asm!("sub {0:e}, {2:e}; sbb {1:e}, {3:e}",
            inout(reg) difference, inout(reg) borrowed, in(reg) b0, in(reg) b1);
        asm!("test {0}, {0}", "cmovnz {1:e}, {2:e}",
            in(reg_byte) (b0 & 1) as u8, inlateout(reg) word, in(reg) b0 as u16);
        asm!("cmp {0:x}, {1:x}", "cmovbe {2:e}, {1:e}",
            in(reg) a0, in(reg) b0, inlateout(reg) double_word);
        asm!("xor {0:e}, {1:e}", "cmovz {2}, {1}",
            inout(reg) a1 => _, in(reg) a0, inlateout(reg) copy);
        asm!("CMP {0}, {1}", "SETA {2}", in(reg) a0, in(reg) b0, out(reg_byte) above);
        asm!("not {0}\n  or {0}, {1} # a comment\n nop", inout(reg_byte) byte, in(reg_byte) b0 as u8);
        asm!("mov {1:e}, {0:e}", "not {1:e}", in(reg) inverted, out(reg) inverted);
        // Writes the lower half of the register, and keeps the upper one.
        asm!("mov {0:x}, {1:x}", "and {0:r}, {2}", inout(reg) narrow, in(reg) b0, in(reg) !255u64);
    }
    let (mut sum, mut rest, mut sum32) = (0, 0, 0);
    let carries = {
        let carry = _addcarry_u64(a0 as u8 & 3, a0, b0, &mut sum);
        let borrow = _subborrow_u64(carry, a1, b1, &mut rest);
        let last = _addcarry_u32(borrow, a0 as u32, b1 as u32, &mut sum32);
        u32::from_le_bytes([carry, borrow, last, above])
    };
    [
        quotient,
        remainder,
        quotient32.into(),
        product,
        low,
        high,
        difference.into(),
        borrowed.into(),
        word.into(),
        u64::from(double_word),
        copy,
        byte.into(),
        inverted.into(),
        narrow,
        sum ^ rest,
        u64::from(sum32) << 32 | u64::from(carries),
    ]
}

type Assembly = ([u128; 9], [u64; 16]);

fn assembly(i: usize) -> Assembly {
    let (a, b) = (i / INTS.len(), i % INTS.len());
    (vector_assembly(a, b), scalar_assembly(INTS[a], INTS[b]))
}

/// Instructions that a processor may lack: the host does not execute them.
fn fused(i: usize) -> [f64; 5] {
    let (x, y, z) = (i as f64 + 0.1, 3.7, -1.0 / 3.0);
    let [mut a, mut b, mut c] = [x; 3];
    let (mut single, four) = (x as f32, x);
    if cuda_std::is_device() {
        let mut result: f64;
        unsafe {
            asm!("vfmadd213sd {}, {}, {}", inout(xmm_reg) a, in(xmm_reg) y, in(xmm_reg) z);
            asm!("vfmadd132sd {}, {}, {}", inout(xmm_reg) b, in(xmm_reg) y, in(xmm_reg) z);
            asm!("vfmadd231sd {}, {}, {}", inout(xmm_reg) c, in(xmm_reg) y, in(xmm_reg) z);
            asm!("vfmadd213ss {}, {}, {}",
                inout(xmm_reg) single, in(xmm_reg) y as f32, in(xmm_reg) z as f32);
            asm!("vfmaddsd {}, {}, {}, {}",
                out(xmm_reg) result, in(xmm_reg) four, in(xmm_reg) y, in(xmm_reg) z);
        }
        return [a, b, c, single.into(), result];
    }
    let single = (x as f32).mul_add(y as f32, z as f32);
    [
        x.mul_add(y, z),
        x.mul_add(z, y),
        y.mul_add(z, x),
        single.into(),
        x.mul_add(y, z),
    ]
}

#[kernel]
fn assemblies(mut to: PerThread<Assembly>, mut sums: PerThread<[f64; 5]>) {
    to.each(|i, to| *to = assembly(i));
    sums.each(|i, sums| *sums = fused(i));
}

/// Raises the exception of a division whose quotient does not fit.
#[kernel]
fn exception(high: u64, mut to: PerThread<u64>) {
    to.each(|_, to| unsafe {
        asm!("div {}", in(reg) 5u64, inout("rdx") high => _, inout("rax") 1u64 => *to);
    });
}

#[kernel]
fn results(mut to: PerThread<[u128; NAMES.len()]>, mut sums: PerThread<u32>) {
    to.each(|i, to| compute(i / INTS.len(), i % INTS.len(), to));
    sums.each(|i, sum| *sum = behind_barriers(i as u32));
}

/// Stores that bypass the caches of the host's processor.
#[kernel]
fn streams(mut to: PerThread<([u128; 3], i32, i64)>) {
    for (i, to) in to.own() {
        // SAFETY: the addresses are aligned.
        unsafe {
            _mm_stream_si128((&raw mut to.0[0]).cast(), ints(i));
            _mm_stream_ps((&raw mut to.0[1]).cast(), floats(i));
            _mm_stream_pd((&raw mut to.0[2]).cast(), doubles(i));
            _mm_stream_si32(&mut to.1, i as i32 - 3);
            _mm_stream_si64(&mut to.2, i as i64 - 3);
            _mm_sfence();
        }
    }
}

/// An instruction of an extension, without a detection.
#[kernel]
fn extension(mut to: PerThread<u32>) {
    to.each(|i, to| *to = unsafe { _mm_crc32_u32(1, i as u32) });
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
    let mut of_assembly = vec![Assembly::default(); PAIRS];
    let mut sums = vec![[0.0; 5]; PAIRS];
    cust::launch((2, 32), assemblies::args(&mut of_assembly, &mut sums))?;
    for (i, (results, sums)) in of_assembly.iter().zip(sums).enumerate() {
        let (vectors, scalars) = assembly(i);
        assert_eq!(results.0, vectors, "{i}");
        assert_eq!(results.1, scalars, "{i}");
        assert_eq!(sums, fused(i), "{i}");
    }
    let mut stored = vec![([0; 3], 0, 0); INTS.len()];
    cust::launch((1, 32), streams::args(&mut stored))?;
    for (i, stored) in stored.into_iter().enumerate() {
        let vectors = [ints(i).bits(), floats(i).bits(), doubles(i).bits()];
        assert_eq!(stored, (vectors, i as i32 - 3, i as i64 - 3));
    }
    let error = cust::launch((1, 1), extension::args(&mut [0])).unwrap_err();
    let expected = "the instruction `sse42.crc32.32.32` of x86 does not exist on a GPU";
    assert!(error.to_string().ends_with(expected), "{error}");
    let mut quotient = vec![0];
    cust::launch((1, 1), exception::args(4, &mut quotient))?;
    assert_eq!(u128::from(quotient[0]), ((4 << 64) + 1) / 5);
    // The context is unusable after this.
    assert!(cust::launch((1, 1), exception::args(5, &mut quotient)).is_err());
    println!("the instructions gave what they give on the host");
    Ok(())
}
