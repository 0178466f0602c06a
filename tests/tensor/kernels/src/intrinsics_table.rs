//! Rows of the table that compute something from registers, each with what it is to give. The CPU
//! computes that with other means.

use crate::kernel;
use crate::values::hash;
use cuda_std::intrinsics::{float, half, integer};
use cuda_std::prelude::*;

pub const THREADS: usize = 256;

/// Operands of a row, by chance.
pub struct Operands {
    thread: usize,
    case: usize,
    next: usize,
}

impl Operands {
    fn word(&mut self) -> u32 {
        self.next += 1;
        let word = hash(self.case as u32 + 100, self.thread, self.next);
        // Some words are special ones.
        match hash(99, self.thread, self.next * 64 + self.case) % 8 {
            0 => [0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff, 31, 32, 0x80][word as usize % 8],
            1 => word % 64,
            _ => word,
        }
    }

    fn float(&mut self) -> f32 {
        let word = self.word();
        let special = [0.0, -0.0, 1.0, -1.5, f32::INFINITY, f32::NAN, 1e-40, 3.4e38];
        match word % 16 {
            0..=2 => special[word as usize / 16 % 8],
            3..=9 => (word as i32 >> 8) as f32 / 4096.0,
            _ => f32::from_bits(word),
        }
    }
}

trait Operand {
    fn take(operands: &mut Operands) -> Self;
}

macro_rules! operands {
    ($($ty:ty = $take:expr;)*) => {$(
        impl Operand for $ty {
            fn take(operands: &mut Operands) -> Self {
                $take(operands)
            }
        }
    )*};
}
operands! {
    u16 = |o: &mut Operands| o.word() as u16;
    i16 = |o: &mut Operands| o.word() as i16;
    u32 = |o: &mut Operands| o.word();
    i32 = |o: &mut Operands| o.word() as i32;
    u64 = |o: &mut Operands| u64::from(o.word()) | u64::from(o.word()) << 32;
    i64 = |o: &mut Operands| u64::take(o) as i64;
    f32 = |o: &mut Operands| o.float();
    f64 = |o: &mut Operands| {
        let x = o.float();
        f64::from(x) * (1.0 + f64::from(o.word()) / 1e12)
    };
    [u32; 2] = |o: &mut Operands| [o.word(), o.word()];
    [u64; 2] = |o: &mut Operands| [u64::take(o), u64::take(o)];
}

/// A number from 0 to 40, where more would be undefined.
struct Small(u32);
impl Operand for Small {
    fn take(operands: &mut Operands) -> Self {
        Small(operands.word() % 41)
    }
}

trait Output {
    fn bits(self) -> u64;
}

macro_rules! outputs {
    ($($ty:ty, |$x:ident| $bits:expr;)*) => {$(
        impl Output for $ty {
            fn bits(self) -> u64 {
                let $x = self;
                $bits
            }
        }
    )*};
}
outputs! {
    bool, |x| x.into();
    u16, |x| x.into();
    i16, |x| u64::from(x as u16);
    u32, |x| x.into();
    i32, |x| u64::from(x as u32);
    u64, |x| x;
    i64, |x| x as u64;
    f32, |x| if x.is_nan() { 0x7fff_ffff } else { x.to_bits().into() };
    f64, |x| if x.is_nan() { 0x7ff8 << 48 } else { x.to_bits() };
    (u32, u32), |x| u64::from(x.0) | u64::from(x.1) << 32;
    (u64, u64), |x| x.0 ^ x.1.rotate_left(17);
    [u32; 2], |x| u64::from(x[0]) | u64::from(x[1]) << 32;
    [u64; 2], |x| x[0] ^ x[1].rotate_left(17);
}

macro_rules! rows {
    ($kernel:ident $count:ident $reference:ident $names:ident:
     $($name:literal ($($arg:ident: $ty:ty),*) $row:expr => $expected:expr;)*) => {
        pub const $count: usize = [$($name),*].len();

        kernel! {
            $kernel(input, output) {
                let thread = thread::index_1d() as usize;
                let mut case = 0;
                $({
                    let mut operands = Operands { thread, case, next: 0 };
                    $(let $arg = <$ty as Operand>::take(&mut operands);)*
                    $(let _ = &$arg;)*
                    let result = Output::bits($row);
                    // SAFETY: a number for each thread and case.
                    unsafe { output.cast::<u64>().add(thread * $count + case).write(result) };
                    case += 1;
                })*
                let _ = case;
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        pub static $names: &[&str] = &[$($name),*];

        /// The expected results of the rows for a thread.
        #[cfg(not(target_arch = "nvptx64"))]
        pub fn $reference(thread: usize) -> std::vec::Vec<u64> {
            let mut results = std::vec::Vec::new();
            $({
                let mut operands = Operands { thread, case: results.len(), next: 0 };
                $(let $arg = <$ty as Operand>::take(&mut operands);)*
                    $(let _ = &$arg;)*
                results.push(Output::bits($expected));
            })*
            results
        }
    };
}

#[cfg(not(target_arch = "nvptx64"))]
mod reference {
    //! The other means.

    pub fn bytes(a: u32) -> [i64; 4] {
        a.to_le_bytes().map(i64::from)
    }
    pub fn signed_bytes(a: u32) -> [i64; 4] {
        a.to_le_bytes().map(|x| i64::from(x as i8))
    }
    pub fn dot(a: [i64; 4], b: [i64; 4], c: i64) -> u32 {
        (a.iter().zip(&b).map(|(a, b)| a * b).sum::<i64>() + c) as u32
    }
    pub fn halves(a: u32, signed: bool) -> [i64; 2] {
        [a as u16, (a >> 16) as u16].map(|x| {
            if signed {
                i64::from(x as i16)
            } else {
                x.into()
            }
        })
    }
    pub fn lanes(
        a: u32,
        b: u32,
        bits: u32,
        signed: bool,
        limit: bool,
        f: impl Fn(i64, i64) -> i64,
    ) -> u32 {
        let mut packed = 0u32;
        for lane in 0..32 / bits {
            let part = |x: u32| {
                let x = i64::from(x >> (lane * bits) & (u32::MAX >> (32 - bits)));
                if signed && x >> (bits - 1) != 0 {
                    x - (1 << bits)
                } else {
                    x
                }
            };
            let (low, high) = if signed {
                (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
            } else {
                (0, (1i64 << bits) - 1)
            };
            let mut result = f(part(a), part(b));
            if limit {
                result = result.clamp(low, high);
            }
            packed |= (result as u32 & (u32::MAX >> (32 - bits))) << (lane * bits);
        }
        packed
    }
    pub fn part(x: u32, bits: u32, signed: bool) -> i64 {
        let x = i64::from(x & (u32::MAX >> (32 - bits)));
        if signed && x >> (bits - 1) != 0 {
            x - (1 << bits)
        } else {
            x
        }
    }
    /// The sum over all lanes.
    pub fn sum(
        a: u32,
        b: u32,
        c: u32,
        bits: u32,
        signed: bool,
        f: impl Fn(i64, i64) -> i64,
    ) -> u32 {
        let lanes = (0..32 / bits).map(|lane| lane * bits);
        let sums = lanes.map(|at| f(part(a >> at, bits, signed), part(b >> at, bits, signed)));
        (i64::from(c) + sums.sum::<i64>()) as u32
    }
    pub fn prmt_f4e(a: u32, b: u32, c: u32) -> u32 {
        ((u64::from(b) << 32 | u64::from(a)) >> (8 * (c & 3))) as u32
    }
    pub fn prmt_b4e(a: u32, b: u32, c: u32) -> u32 {
        // Backwards from the byte of this number, around to b.
        let all = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        let byte = |i: u32| all[((c & 3) + 8 - i) as usize % 8];
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    }
    pub fn prmt_rc8(a: u32, _: u32, c: u32) -> u32 {
        (a >> (8 * (c & 3)) & 255) * 0x0101_0101
    }
    pub fn prmt_ecl(a: u32, _: u32, c: u32) -> u32 {
        // Bytes below the number's are that one.
        let bytes = a.to_le_bytes();
        let byte = |i: u32| bytes[i.max(c & 3) as usize];
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    }
    pub fn prmt_ecr(a: u32, _: u32, c: u32) -> u32 {
        let bytes = a.to_le_bytes();
        let byte = |i: u32| bytes[i.min(c & 3) as usize];
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    }
    pub fn prmt_rc16(a: u32, _: u32, c: u32) -> u32 {
        (a >> (16 * (c & 1)) & 0xffff) * 0x1_0001
    }
    pub fn flush(x: f32) -> f32 {
        if x.is_subnormal() {
            0.0f32.copysign(x)
        } else {
            x
        }
    }
    pub fn saturate(x: f32) -> f32 {
        if x.is_nan() {
            0.0
        } else {
            x.clamp(0.0, 1.0) + 0.0
        }
    }
    pub fn sub(a: f32, b: f32, to: To) -> f32 {
        add(a, -b, to)
    }
    pub fn prmt(a: u32, b: u32, selector: u32) -> u32 {
        let all = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        let byte = |i: u32| {
            let digit = selector >> (4 * i) & 15;
            let byte = all[digit as usize & 7];
            if digit & 8 != 0 {
                ((byte as i8) >> 7) as u8
            } else {
                byte
            }
        };
        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
    }

    /// Rounds what is exact or odd to `f32`.
    #[derive(Clone, Copy)]
    pub enum To {
        Nearest,
        Zero,
        Down,
        Up,
    }
    pub fn single(x: f64, to: To) -> f32 {
        let near = x as f32;
        if x.is_nan() || f64::from(near) == x {
            return near;
        }
        let above = f64::from(near) > x;
        let (down, up) = if above {
            (near.next_down(), near)
        } else {
            (near, near.next_up())
        };
        match to {
            To::Nearest => near,
            To::Down => down,
            To::Up => up,
            To::Zero => {
                if x < 0.0 {
                    up
                } else {
                    down
                }
            }
        }
    }
    /// A result of which `rest` was cut off, its last bit one if there was any.
    fn odd(x: f64, rest: f64) -> f64 {
        if !x.is_finite() || rest == 0.0 || rest.is_nan() || x.to_bits() & 1 != 0 {
            return x;
        }
        let away = (rest > 0.0) == (x > 0.0);
        f64::from_bits(if away {
            x.to_bits() + 1
        } else {
            x.to_bits() - 1
        })
    }
    fn zero_sum(x: f64, a: f64, b: f64, to: To) -> f64 {
        // An exact zero of numbers is negative if rounded down.
        if x == 0.0
            && (a != 0.0 || b != 0.0 || a.is_sign_negative() != b.is_sign_negative())
            && matches!(to, To::Down)
        {
            -0.0
        } else {
            x
        }
    }
    pub fn add(a: f32, b: f32, to: To) -> f32 {
        let (a, b) = (f64::from(a), f64::from(b));
        let sum = a + b;
        let back = sum - a;
        let rest = (a - (sum - back)) + (b - back);
        single(zero_sum(odd(sum, rest), a, b, to), to)
    }
    pub fn mul(a: f32, b: f32, to: To) -> f32 {
        single(f64::from(a) * f64::from(b), to)
    }
    pub fn fma(a: f32, b: f32, c: f32, to: To) -> f32 {
        let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
        let sum = product + c;
        let back = sum - product;
        let rest = (product - (sum - back)) + (c - back);
        single(zero_sum(odd(sum, rest), product, c, to), to)
    }
    pub fn div(a: f32, b: f32, to: To) -> f32 {
        let (a, b) = (f64::from(a), f64::from(b));
        let quotient = a / b;
        let rest = (-quotient).mul_add(b, a) / b;
        single(odd(quotient, rest), to)
    }
    pub fn sqrt(a: f32, to: To) -> f32 {
        let a = f64::from(a);
        let root = a.sqrt();
        single(odd(root, (-root).mul_add(root, a)), to)
    }
    pub fn rounded(a: f32, to: To) -> f64 {
        let a = f64::from(a);
        match to {
            To::Nearest => a.round_ties_even(),
            To::Zero => a.trunc(),
            To::Down => a.floor(),
            To::Up => a.ceil(),
        }
    }
}
#[cfg(not(target_arch = "nvptx64"))]
use reference::To;

rows! { rows_integer INTEGERS integers INTEGER_NAMES:
    "popc_b32" (a: u32) integer::popc_b32(a) => a.count_ones();
    "popc_b64" (a: u64) integer::popc_b64(a) => a.count_ones();
    "clz_b32" (a: u32) integer::clz_b32(a) => a.leading_zeros();
    "clz_b64" (a: u64) integer::clz_b64(a) => a.leading_zeros();
    "brev_b32" (a: u32) integer::brev_b32(a) => a.reverse_bits();
    "brev_b64" (a: u64) integer::brev_b64(a) => a.reverse_bits();
    "bfind_u32" (a: u32) integer::bfind_u32(a) => 31u32.wrapping_sub(a.leading_zeros());
    "bfind_s32" (a: i32) integer::bfind_s32(a) => 31u32.wrapping_sub((a ^ a >> 31).leading_zeros());
    "bfind_u64" (a: u64) integer::bfind_u64(a) => 63u32.wrapping_sub(a.leading_zeros());
    "bfind_shiftamt_u32" (a: u32) integer::bfind_shiftamt_u32(a) => if a == 0 { u32::MAX } else { a.leading_zeros() };
    "bfe_u32" (a: u32, at: Small, n: Small) integer::bfe_u32(a, at.0 % 32, n.0 % 33) => {
        let (at, n) = (at.0 % 32, n.0 % 33);
        (u64::from(a) >> at & ((1 << n) - 1)) as u32
    };
    "bfe_s32" (a: i32, at: Small, n: Small) integer::bfe_s32(a, at.0 % 32, n.0 % 33) => {
        let (at, n) = (at.0 % 32, n.0 % 33);
        if n == 0 { 0 } else { ((i64::from(a) >> at) << (64 - n) >> (64 - n)) as i32 }
    };
    "bfi_b32" (a: u32, b: u32, at: Small, n: Small) integer::bfi_b32(a, b, at.0 % 32, n.0 % 33) => {
        let (at, n) = (at.0 % 32, n.0 % 33);
        let mask = (((1u64 << n) - 1) << at) as u32;
        b & !mask | (((u64::from(a)) << at) as u32) & mask
    };
    "bmsk_clamp_b32" (at: Small, n: Small) integer::bmsk_clamp_b32(at.0 % 32, n.0) => (((1u64 << n.0.min(32)) - 1) << (at.0 % 32)) as u32;
    "szext_wrap_s32" (a: i32, n: Small) integer::szext_wrap_s32(a, n.0) => {
        let n = n.0 & 31;
        if n == 0 { 0 } else { a << (32 - n) >> (32 - n) }
    };
    "shf_l_wrap_b32" (a: u32, b: u32, n: Small) integer::shf_l_wrap_b32(a, b, n.0) => ((u64::from(b) << 32 | u64::from(a)) << (n.0 & 31) >> 32) as u32;
    "shf_r_clamp_b32" (a: u32, b: u32, n: Small) integer::shf_r_clamp_b32(a, b, n.0) => ((u64::from(b) << 32 | u64::from(a)) >> n.0.min(32)) as u32;
    "lop3_b32" (a: u32, b: u32, c: u32) integer::lop3_b32::<0x96>(a, b, c) => a ^ b ^ c;
    "lop3_b32 majority" (a: u32, b: u32, c: u32) integer::lop3_b32::<0xe8>(a, b, c) => a & b | b & c | a & c;
    "prmt_b32" (a: u32, b: u32, c: u32) integer::prmt_b32(a, b, c) => reference::prmt(a, b, c);
    "prmt_b32_f4e" (a: u32, b: u32, c: u32) integer::prmt_b32_f4e(a, b, c) => ((u64::from(b) << 32 | u64::from(a)) >> (8 * (c & 3))) as u32;
    "prmt_b32_rc8" (a: u32, b: u32, c: u32) integer::prmt_b32_rc8(a, b, c) => (a >> (8 * (c & 3)) & 255) * 0x0101_0101;
    "prmt_b32_rc16" (a: u32, b: u32, c: u32) integer::prmt_b32_rc16(a, b, c) => (a >> (16 * (c & 1)) & 0xffff) * 0x1_0001;
    "mul24_lo_u32" (a: u32, b: u32) integer::mul24_lo_u32(a, b) => (u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) as u32;
    "mul24_hi_s32" (a: i32, b: i32) integer::mul24_hi_s32(a, b) => ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 16) as i32;
    "mad24_lo_s32" (a: i32, b: i32, c: i32) integer::mad24_lo_s32(a, b, c) => ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) as i32).wrapping_add(c);
    "mul_hi_u32" (a: u32, b: u32) integer::mul_hi_u32(a, b) => ((u64::from(a) * u64::from(b)) >> 32) as u32;
    "mul_hi_s64" (a: i64, b: i64) integer::mul_hi_s64(a, b) => ((i128::from(a) * i128::from(b)) >> 64) as i64;
    "mad_hi_s32" (a: i32, b: i32, c: i32) integer::mad_hi_s32(a, b, c) => (((i64::from(a) * i64::from(b)) >> 32) as i32).wrapping_add(c);
    "mul_wide_s32" (a: i32, b: i32) integer::mul_wide_s32(a, b) => i64::from(a) * i64::from(b);
    "mad_wide_u32" (a: u32, b: u32, c: u64) integer::mad_wide_u32(a, b, c) => (u64::from(a) * u64::from(b)).wrapping_add(c);
    "sad_s32" (a: i32, b: i32, c: u32) integer::sad_s32(a, b, c) => a.abs_diff(b).wrapping_add(c);
    "sad_u64" (a: u64, b: u64, c: u64) integer::sad_u64(a, b, c) => a.abs_diff(b).wrapping_add(c);
    "sad_s16" (a: i16, b: i16, c: u16) integer::sad_s16(a, b, c) => a.abs_diff(b).wrapping_add(c);
    "add_sat_s32" (a: i32, b: i32) integer::add_sat_s32(a, b) => a.saturating_add(b);
    "sub_sat_s32" (a: i32, b: i32) integer::sub_sat_s32(a, b) => a.saturating_sub(b);
    "dp4a_u32_u32" (a: u32, b: u32, c: u32) integer::dp4a_u32_u32(a, b, c) => reference::dot(reference::bytes(a), reference::bytes(b), c.into());
    "dp4a_s32_s32" (a: i32, b: i32, c: i32) integer::dp4a_s32_s32(a, b, c) => reference::dot(reference::signed_bytes(a as u32), reference::signed_bytes(b as u32), c.into());
    "dp4a_u32_s32" (a: u32, b: i32, c: i32) integer::dp4a_u32_s32(a, b, c) => reference::dot(reference::bytes(a), reference::signed_bytes(b as u32), c.into());
    "dp2a_lo_s32_u32" (a: i32, b: u32, c: i32) integer::dp2a_lo_s32_u32(a, b, c) => {
        let ([x, y], b) = (reference::halves(a as u32, true), reference::bytes(b));
        (x * b[0] + y * b[1] + i64::from(c)) as i32
    };
    "dp2a_hi_u32_u32" (a: u32, b: u32, c: u32) integer::dp2a_hi_u32_u32(a, b, c) => {
        let ([x, y], b) = (reference::halves(a, false), reference::bytes(b));
        (x * b[2] + y * b[3] + i64::from(c)) as u32
    };
    "add_carry_u_32" (a: u32, b: u32, c: u32) integer::add_carry_u_32(a, b, c & 1) => {
        let sum = u64::from(a) + u64::from(b) + u64::from(c & 1);
        (sum as u32, (sum >> 32) as u32)
    };
    "add_carry_u_64" (a: u64, b: u64, c: u64) integer::add_carry_u_64(a, b, c & 1) => {
        let sum = u128::from(a) + u128::from(b) + u128::from(c & 1);
        (sum as u64, (sum >> 64) as u64)
    };
    "sub_borrow_u_32" (a: u32, b: u32, c: u32) integer::sub_borrow_u_32(a, b, c & 1) => {
        let difference = i64::from(a) - i64::from(b) - i64::from(c & 1);
        (difference as u32, (difference < 0) as u32)
    };
    "add_wide_u_32" (a: [u32; 2], b: [u32; 2]) integer::add_wide_u_32(a, b) => a.bits().wrapping_add(b.bits());
    "sub_wide_u_32" (a: [u32; 2], b: [u32; 2]) integer::sub_wide_u_32(a, b) => a.bits().wrapping_sub(b.bits());
    "mad_wide_carry_u_64" (a: u64, b: u64, c: [u64; 2]) integer::mad_wide_carry_u_64(a, b, c) => {
        let c = u128::from(c[0]) | u128::from(c[1]) << 64;
        let sum = (u128::from(a) * u128::from(b)).wrapping_add(c);
        [sum as u64, (sum >> 64) as u64]
    };
    "cvt_pack_sat_s16_s32" (a: i32, b: i32) integer::cvt_pack_sat_s16_s32(a, b) => {
        let clamp = |x: i32| x.clamp(i16::MIN.into(), i16::MAX.into()) as u16;
        u32::from(clamp(a)) << 16 | u32::from(clamp(b))
    };
    "cvt_pack_sat_u8_s32_b32" (a: i32, b: i32, c: u32) integer::cvt_pack_sat_u8_s32_b32(a, b, c) => {
        let clamp = |x: i32| x.clamp(0, 255) as u32;
        c << 16 | clamp(a) << 8 | clamp(b)
    };
}

rows! { rows_video VIDEOS videos VIDEO_NAMES:
    "vadd2_u32" (a: u32, b: u32) integer::vadd2_u32(a, b) => reference::lanes(a, b, 16, false, false, |a, b| a + b);
    "vadd4_s32" (a: i32, b: i32) integer::vadd4_s32(a, b) => reference::lanes(a as u32, b as u32, 8, true, false, |a, b| a + b);
    "vadd4_sat_u32" (a: u32, b: u32) integer::vadd4_sat_u32(a, b) => reference::lanes(a, b, 8, false, true, |a, b| a + b);
    "vadd2_sat_s32" (a: i32, b: i32) integer::vadd2_sat_s32(a, b) => reference::lanes(a as u32, b as u32, 16, true, true, |a, b| a + b);
    "vsub4_sat_u32" (a: u32, b: u32) integer::vsub4_sat_u32(a, b) => reference::lanes(a, b, 8, false, true, |a, b| a - b);
    "vsub2_s32" (a: i32, b: i32) integer::vsub2_s32(a, b) => reference::lanes(a as u32, b as u32, 16, true, false, |a, b| a - b);
    "vmin4_u32" (a: u32, b: u32) integer::vmin4_u32(a, b) => reference::lanes(a, b, 8, false, false, i64::min);
    "vmax2_s32" (a: i32, b: i32) integer::vmax2_s32(a, b) => reference::lanes(a as u32, b as u32, 16, true, false, i64::max);
    "vabsdiff4_u32" (a: u32, b: u32) integer::vabsdiff4_u32(a, b) => reference::lanes(a, b, 8, false, false, |a, b| (a - b).abs());
    "vabsdiff4_u32_add" (a: u32, b: u32, c: u32) integer::vabsdiff4_u32_add(a, b, c) => {
        let (a, b) = (reference::bytes(a), reference::bytes(b));
        (0..4).fold(c, |sum, i| sum.wrapping_add(a[i].abs_diff(b[i]) as u32))
    };
    "vavrg4_u32" (a: u32, b: u32) integer::vavrg4_u32(a, b) => reference::lanes(a, b, 8, false, false, |a, b| (a + b + 1) >> 1);
    "vset4_lt_u32" (a: u32, b: u32) integer::vset4_lt_u32(a, b) => reference::lanes(a, b, 8, false, false, |a, b| (a < b).into());
    "vset2_ge_s32" (a: i32, b: i32) integer::vset2_ge_s32(a, b) => reference::lanes(a as u32, b as u32, 16, true, false, |a, b| (a >= b).into());
    "vset4_eq_u32_add" (a: u32, b: u32, c: u32) integer::vset4_eq_u32_add(a & 0x0303_0303, b & 0x0303_0303, c) => {
        let (a, b) = (reference::bytes(a & 0x0303_0303), reference::bytes(b & 0x0303_0303));
        (0..4).fold(c, |sum, i| sum.wrapping_add((a[i] == b[i]) as u32))
    };
    "vadd_b0_u32" (a: u32, b: u32) integer::vadd_b0_u32(a, b) => (a & 255) + (b & 255);
    "vsub_h1_s32" (a: i32, b: i32) integer::vsub_h1_s32(a, b) => (a >> 16) - (b >> 16);
    "vmad_b3_u32" (a: u32, b: u32, c: u32) integer::vmad_b3_u32(a, b, c) => ((a >> 24) * (b >> 24)).wrapping_add(c);
    "vmin_h0_s32" (a: i32, b: i32) integer::vmin_h0_s32(a, b) => i32::from((a as i16).min(b as i16));
    "vadd_sat_max_s32" (a: i32, b: i32, c: i32) integer::vadd_sat_max_s32(a, b, c) => a.saturating_add(b).max(c);
    "vabsdiff_sat_add_u32" (a: u32, b: u32, c: u32) integer::vabsdiff_sat_add_u32(a, b, c) => a.abs_diff(b).wrapping_add(c);
    "vshl_clamp_u32" (a: u32, n: Small) integer::vshl_clamp_u32(a, n.0) => (u64::from(a) << n.0.min(32)) as u32;
    "vshr_wrap_s32" (a: i32, n: Small) integer::vshr_wrap_s32(a, n.0) => a >> (n.0 & 31);
    "vset_gt_s32" (a: i32, b: i32) integer::vset_gt_s32(a, b) => (a > b) as u32;
}

rows! { rows_float FLOATS floats FLOAT_NAMES:
    "add_rn_f32" (a: f32, b: f32) float::add_rn_f32(a, b) => a + b;
    "add_rz_f32" (a: f32, b: f32) float::add_rz_f32(a, b) => reference::add(a, b, To::Zero);
    "add_rm_f32" (a: f32, b: f32) float::add_rm_f32(a, b) => reference::add(a, b, To::Down);
    "sub_rp_f32" (a: f32, b: f32) float::sub_rp_f32(a, b) => reference::add(a, -b, To::Up);
    "mul_rz_f32" (a: f32, b: f32) float::mul_rz_f32(a, b) => reference::mul(a, b, To::Zero);
    "mul_rm_f32" (a: f32, b: f32) float::mul_rm_f32(a, b) => reference::mul(a, b, To::Down);
    "mul_rp_f32" (a: f32, b: f32) float::mul_rp_f32(a, b) => reference::mul(a, b, To::Up);
    "fma_rn_f32" (a: f32, b: f32, c: f32) float::fma_rn_f32(a, b, c) => reference::fma(a, b, c, To::Nearest);
    "fma_rz_f32" (a: f32, b: f32, c: f32) float::fma_rz_f32(a, b, c) => reference::fma(a, b, c, To::Zero);
    "fma_rm_f32" (a: f32, b: f32, c: f32) float::fma_rm_f32(a, b, c) => reference::fma(a, b, c, To::Down);
    "fma_rp_f32" (a: f32, b: f32, c: f32) float::fma_rp_f32(a, b, c) => reference::fma(a, b, c, To::Up);
    "div_rn_f32" (a: f32, b: f32) float::div_rn_f32(a, b) => a / b;
    "div_rz_f32" (a: f32, b: f32) float::div_rz_f32(a, b) => reference::div(a, b, To::Zero);
    "div_rp_f32" (a: f32, b: f32) float::div_rp_f32(a, b) => reference::div(a, b, To::Up);
    "rcp_rn_f32" (a: f32) float::rcp_rn_f32(a) => 1.0 / a;
    "rcp_rm_f32" (a: f32) float::rcp_rm_f32(a) => reference::div(1.0, a, To::Down);
    "sqrt_rn_f32" (a: f32) float::sqrt_rn_f32(a) => a.sqrt();
    "sqrt_rz_f32" (a: f32) float::sqrt_rz_f32(a) => reference::sqrt(a, To::Zero);
    "sqrt_rp_f32" (a: f32) float::sqrt_rp_f32(a) => reference::sqrt(a, To::Up);
    "add_rn_sat_f32" (a: f32, b: f32) float::add_rn_sat_f32(a, b) => if (a + b).is_nan() { 0.0 } else { (a + b).clamp(0.0, 1.0) + 0.0 };
    "add_rn_f64" (a: f64, b: f64) float::add_rn_f64(a, b) => a + b;
    "mul_rn_f64" (a: f64, b: f64) float::mul_rn_f64(a, b) => a * b;
    "fma_rn_f64" (a: f64, b: f64, c: f64) float::fma_rn_f64(a, b, c) => a.mul_add(b, c);
    "div_rn_f64" (a: f64, b: f64) float::div_rn_f64(a, b) => a / b;
    "sqrt_rn_f64" (a: f64) float::sqrt_rn_f64(a) => a.sqrt();
    "order of roundings" (a: f64, b: f64) {
        let near = float::mul_rn_f64(a, b);
        let (down, up) = (float::mul_rm_f64(a, b), float::mul_rp_f64(a, b));
        let zero = float::mul_rz_f64(a, b);
        near.is_nan() || (down <= near && near <= up && zero == if near < 0.0 { up } else { down })
    } => true;
    "min_f32" (a: f32, b: f32) float::min_f32(a, b) => if a == b { f32::from_bits(a.to_bits() | b.to_bits()) } else { a.min(b) };
    "max_f32" (a: f32, b: f32) float::max_f32(a, b) => if a == b { f32::from_bits(a.to_bits() & b.to_bits()) } else { a.max(b) };
    "copysign_f32" (a: f32, b: f32) float::copysign_f32(a, b) => b.copysign(a);
    "testp_subnormal_f32" (a: f32) float::testp_subnormal_f32(a) => a.is_subnormal();
    "testp_normal_f64" (a: f64) float::testp_normal_f64(a) => a.is_normal() || a == 0.0;
    "testp_notanumber_f32" (a: f32) float::testp_notanumber_f32(a) => a.is_nan();
    "cvt_rn_f32_f64" (a: f64) float::cvt_rn_f32_f64(a) => a as f32;
    "cvt_rz_f32_f64" (a: f64) float::cvt_rz_f32_f64(a) => reference::single(a, To::Zero);
    "cvt_rm_f32_s64" (a: i64) float::cvt_rm_f32_s64(a >> 11) => reference::single((a >> 11) as f64, To::Down);
    "cvt_rp_f32_u32" (a: u32) float::cvt_rp_f32_u32(a) => reference::single(a.into(), To::Up);
    "cvt_rni_s32_f32" (a: f32) float::cvt_rni_s32_f32(a) => reference::rounded(a, To::Nearest) as i32;
    "cvt_rmi_s32_f32" (a: f32) float::cvt_rmi_s32_f32(a) => reference::rounded(a, To::Down) as i32;
    "cvt_rpi_u32_f32" (a: f32) float::cvt_rpi_u32_f32(a) => reference::rounded(a, To::Up) as u32;
    "cvt_rzi_f32_f32" (a: f32) float::cvt_rzi_f32_f32(a) => a.trunc();
    "cvt_rmi_f64_f64" (a: f64) float::cvt_rmi_f64_f64(a) => a.floor();
    "ex2_approx_f32 is near" (a: f32) {
        let a = (a.to_bits() >> 20) as f32 / 64.0 - 20.0;
        let (near, far) = (float::ex2_approx_f32(a), a.exp2());
        (near - far).abs() <= far * 1e-6
    } => true;
    "rsqrt_approx_f32 is near" (a: f32) {
        let a = (a.to_bits() >> 12) as f32 + 1.0;
        (float::rsqrt_approx_f32(a) * a.sqrt() - 1.0).abs() <= 1e-6
    } => true;
    "sin and cos_approx_f32 are near" (a: f32) {
        let a = (a.to_bits() >> 20) as f32 / 2048.0;
        (float::sin_approx_f32(a) - a.sin()).abs() <= 1e-6 && (float::cos_approx_f32(a) - a.cos()).abs() <= 1e-6
    } => true;
    "lg2_approx_f32 is near" (a: f32) {
        let a = (a.to_bits() >> 20) as f32 + 2.0;
        (float::lg2_approx_f32(a) - a.log2()).abs() <= 1e-5
    } => true;
    "tanh_approx_f32 is near" (a: f32) {
        let a = (a.to_bits() >> 20) as f32 / 1024.0 - 2.0;
        (float::tanh_approx_f32(a) - a.tanh()).abs() <= 1e-3
    } => true;
    "div_full_f32 is near" (a: f32) {
        let a = (a.to_bits() >> 12) as f32 + 1.0;
        (float::div_full_f32(a, 7.0) * 7.0 / a - 1.0).abs() <= 1e-6
            && (float::div_approx_f32(a, 7.0) * 7.0 / a - 1.0).abs() <= 1e-6
            && (float::rcp_approx_f32(a) * a - 1.0).abs() <= 1e-6
            && (float::sqrt_approx_f32(a) / a.sqrt() - 1.0).abs() <= 1e-6
    } => true;
    "cvt_rz_f16_f32" (a: f32) half::cvt_rz_f16_f32((a.to_bits() >> 16) as f32 + 0.7) => {
        let x = (a.to_bits() >> 16) as f32 + 0.7;
        let near = cuda_std::half::F16::from_f32(x);
        if near.to_f32() > x { near.to_bits() - 1 } else { near.to_bits() }
    };
    "cvt_rni_s32_f16" (a: u16) half::cvt_rni_s32_f16(a & 0x7bff) => cuda_std::half::F16::from_bits(a & 0x7bff).to_f32().round_ties_even() as i32;
    "cvt_f64_f16" (a: u16) half::cvt_f64_f16(a) => f64::from(cuda_std::half::F16::from_bits(a).to_f32());
    "setp_lt_f16" (a: u16, b: u16) half::setp_lt_f16(a, b) => cuda_std::half::F16::from_bits(a) < cuda_std::half::F16::from_bits(b);
    "setp_gtu_f16" (a: u16, b: u16) half::setp_gtu_f16(a, b) => {
        let (a, b) = (cuda_std::half::F16::from_bits(a).to_f32(), cuda_std::half::F16::from_bits(b).to_f32());
        !(a <= b)
    };
    "add_rn_sat_f16" (a: f32, b: f32) half::add_rn_sat_f16(half::cvt_rn_f16_f32(a), half::cvt_rn_f16_f32(b)) => {
        use cuda_std::half::F16;
        let sum = (F16::from_f32(a) + F16::from_f32(b)).to_f32();
        F16::from_f32(if sum.is_nan() { 0.0 } else { sum.clamp(0.0, 1.0) + 0.0 }).to_bits()
    };
    "ex2 and tanh_approx_f16 are near" (a: f32) {
        let a = cuda_std::half::F16::from_f32((a.to_bits() >> 20) as f32 / 1024.0 - 2.0);
        (a.exp2_approx().to_f32() - a.to_f32().exp2()).abs() <= 4e-3
            && (a.tanh_approx().to_f32() - a.to_f32().tanh()).abs() <= 2e-3
    } => true;
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
rows! { rows_newer NEWER newer NEWER_NAMES:
    "min_nan_f32" (a: f32, b: f32) float::min_nan_f32(a, b) => if a.is_nan() || b.is_nan() { f32::NAN } else if a == b { f32::from_bits(a.to_bits() | b.to_bits()) } else { a.min(b) };
    "max_xorsign_abs_f32" (a: f32, b: f32) float::max_xorsign_abs_f32(a, b) => {
        let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
        let most = a.abs().max(b.abs());
        if most.is_nan() { most } else { f32::from_bits(most.to_bits() | sign) }
    };
    "cvt_rna_tf32_f32" (a: f32) {
        if a.is_nan() { 0 } else { float::cvt_rna_tf32_f32(a) & 0xffff_e000 }
    } => if a.is_nan() { 0 } else { cuda_std::matrix::Tf32::new(a).get().to_bits() };
    "fma_rn_relu_bf16" (a: f32, b: f32, c: f32) {
        let bits = |x| half::cvt_rn_bf16_f32(x);
        half::fma_rn_relu_bf16(bits(a), bits(b), bits(c))
    } => {
        use cuda_std::half::Bf16;
        Bf16::from_f32(a).mul_add_relu(Bf16::from_f32(b), Bf16::from_f32(c)).to_bits()
    };
    "cvt_rz_bf16_f32" (a: f32) half::cvt_rz_bf16_f32(a) => if a.is_nan() { 0x7fff } else { (a.to_bits() >> 16) as u16 };
    "cvt_rn_f16x2_f32" (a: f32, b: f32) half::cvt_rn_f16x2_f32(a, b) => {
        use cuda_std::half::F16;
        u32::from(F16::from_f32(a).to_bits()) << 16 | u32::from(F16::from_f32(b).to_bits())
    };
    "cvt_rn_satfinite_e4m3x2_f32" (a: f32, b: f32) half::cvt_rn_satfinite_e4m3x2_f32(a, b) => {
        use cuda_std::minifloat::E4m3;
        u16::from(E4m3::from_f32(a).to_bits()) << 8 | u16::from(E4m3::from_f32(b).to_bits())
    };
    "cvt_rn_satfinite_e5m2x2_f32" (a: f32, b: f32) half::cvt_rn_satfinite_e5m2x2_f32(a, b) => {
        use cuda_std::minifloat::E5m2;
        u16::from(E5m2::from_f32(a).to_bits()) << 8 | u16::from(E5m2::from_f32(b).to_bits())
    };
    "cvt_rn_f16x2_e4m3x2" (a: u16) half::cvt_rn_f16x2_e4m3x2(a) => {
        use cuda_std::{half::F16, minifloat::E4m3};
        let half = |bits: u16| u32::from(F16::from_f32(E4m3::from_bits(bits as u8).to_f32()).to_bits());
        half(a) | half(a >> 8) << 16
    };
    "cvt_rn_f16x2_e5m2x2" (a: u16) half::cvt_rn_f16x2_e5m2x2(a) => {
        use cuda_std::{half::F16, minifloat::E5m2};
        let half = |bits: u16| u32::from(F16::from_f32(E5m2::from_bits(bits as u8).to_f32()).to_bits());
        half(a) | half(a >> 8) << 16
    };
    "add_s16x2" (a: u32, b: u32) integer::add_s16x2(a, b) => reference::lanes(a, b, 16, true, false, |a, b| a + b);
    "max_u16x2" (a: u32, b: u32) integer::max_u16x2(a, b) => reference::lanes(a, b, 16, false, false, i64::max);
    "min_relu_s16x2" (a: u32, b: u32) integer::min_relu_s16x2(a, b) => reference::lanes(a, b, 16, true, false, |a, b| a.min(b).max(0));
    "max_relu_s32" (a: i32, b: i32) integer::max_relu_s32(a, b) => a.max(b).max(0);
}

cuda_std_macros::repeat! {
    rows! { rows_lanes LANES lanes_of LANE_NAMES:
        for (TY, RUST, SIGNED) in [(u32, u32, false), (s32, i32, true)] {
            for (OP, BITS, F) in [
                (vadd2, 16, (|a, b| a + b)), (vadd4, 8, (|a, b| a + b)), (vsub2, 16, (|a, b| a - b)),
                (vsub4, 8, (|a, b| a - b)), (vmin2, 16, (i64::min)), (vmin4, 8, (i64::min)),
                (vmax2, 16, (i64::max)), (vmax4, 8, (i64::max)),
                (vabsdiff2, 16, (|a: i64, b: i64| (a - b).abs())), (vabsdiff4, 8, (|a: i64, b: i64| (a - b).abs()))
            ] {
                "<OP>_<TY>" (a: RUST, b: RUST) integer::OP_TY(a, b) => reference::lanes(a as u32, b as u32, BITS, SIGNED, false, F);
                "<OP>_sat_<TY>" (a: RUST, b: RUST) integer::OP_sat_TY(a, b) => reference::lanes(a as u32, b as u32, BITS, SIGNED, true, F);
                "<OP>_<TY>_add" (a: RUST, b: RUST, c: RUST) integer::OP_TY_add(a, b, c) => reference::sum(a as u32, b as u32, c as u32, BITS, SIGNED, F);
            }
            for (OP, BITS, CMP, F) in [
                (vset2, 16, eq, (|a, b| (a == b).into())), (vset2, 16, ne, (|a, b| (a != b).into())),
                (vset2, 16, lt, (|a, b| (a < b).into())), (vset2, 16, le, (|a, b| (a <= b).into())),
                (vset2, 16, gt, (|a, b| (a > b).into())), (vset2, 16, ge, (|a, b| (a >= b).into())),
                (vset4, 8, eq, (|a, b| (a == b).into())), (vset4, 8, ne, (|a, b| (a != b).into())),
                (vset4, 8, lt, (|a, b| (a < b).into())), (vset4, 8, le, (|a, b| (a <= b).into())),
                (vset4, 8, gt, (|a, b| (a > b).into())), (vset4, 8, ge, (|a, b| (a >= b).into()))
            ] {
                "<OP>_<CMP>_<TY>" (a: RUST, b: RUST) integer::OP_CMP_TY(a, b) => reference::lanes(a as u32, b as u32, BITS, SIGNED, false, F);
                "<OP>_<CMP>_<TY>_add" (a: RUST, b: RUST, c: u32) integer::OP_CMP_TY_add(a, b, c) => reference::sum(a as u32, b as u32, c, BITS, SIGNED, F);
            }
            for (PART, SHIFT, BITS) in [(b0, 0, 8), (b1, 8, 8), (b2, 16, 8), (b3, 24, 8), (h0, 0, 16), (h1, 16, 16)] {
                for (OP, F) in [
                    (vadd, (|a, b| a + b)), (vsub, (|a, b| a - b)), (vmin, (i64::min)), (vmax, (i64::max)),
                    (vabsdiff, (|a: i64, b: i64| (a - b).abs()))
                ] {
                    "<OP>_<PART>_<TY>" (a: RUST, b: RUST) integer::OP_PART_TY(a, b) => {
                        let f: fn(i64, i64) -> i64 = F;
                        let part = |x: RUST| reference::part(x as u32 >> SHIFT, BITS, SIGNED);
                        f(part(a), part(b)) as u32
                    };
                }
            }
            for CMP in [eq, ne, lt, le, gt, ge] {
                "vset_<CMP>_<TY>" (a: RUST, b: RUST) integer::vset_CMP_TY(a, b) => a.CMP(&b) as u32;
            }
            for (OP, F) in [(add, (|a: i64, c| a + c)), (min, (i64::min)), (max, (i64::max))] {
                for (FIRST, G) in [
                    (vadd, (|a, b| a + b)), (vsub, (|a, b| a - b)), (vmin, (i64::min)), (vmax, (i64::max)),
                    (vabsdiff, (|a: i64, b: i64| (a - b).abs()))
                ] {
                    "<FIRST>_sat_<OP>_<TY>" (a: RUST, b: RUST, c: RUST) integer::FIRST_sat_OP_TY(a, b, c) => {
                        let (first, f): (fn(i64, i64) -> i64, fn(i64, i64) -> i64) = (G, F);
                        let first = first(a.into(), b.into()).clamp(RUST::MIN.into(), RUST::MAX.into());
                        f(first, c.into()) as u32
                    };
                }
            }
            for (NAME, SHIFT) in [(by1, 0), (shr7, 7), (shr15, 15)] {
                "vmad_<NAME>_<TY>" (a: RUST, b: RUST, c: RUST) integer::vmad_NAME_TY(a, b, c) => {
                    let all = (i128::from(a) * i128::from(b) + i128::from(c)) >> SHIFT;
                    all.clamp(RUST::MIN.into(), RUST::MAX.into()) as u32
                };
            }
        }
        for (TA, RA, BA, TB, RB, BB, RC) in [
            (u32, u32, (reference::bytes), u32, u32, (reference::bytes), u32),
            (u32, u32, (reference::bytes), s32, i32, (reference::signed_bytes), i32),
            (s32, i32, (reference::signed_bytes), u32, u32, (reference::bytes), i32),
            (s32, i32, (reference::signed_bytes), s32, i32, (reference::signed_bytes), i32)
        ] {
            "dp4a_<TA>_<TB>" (a: RA, b: RB, c: RC) integer::dp4a_TA_TB(a, b, c) => reference::dot(BA(a as u32), BB(b as u32), c.into());
        }
        for MODE in [f4e, b4e, rc8, ecl, ecr, rc16] {
            "prmt_b32_<MODE>" (a: u32, b: u32, c: u32) integer::prmt_b32_MODE(a, b, c) => reference::prmt_MODE(a, b, c);
        }
    }

    rows! { rows_rounding ROUNDINGS roundings ROUNDING_NAMES:
        for (R, TO) in [(rn, Nearest), (rz, Zero), (rm, Down), (rp, Up)] {
            "add_<R>_f32" (a: f32, b: f32) float::add_R_f32(a, b) => reference::add(a, b, To::TO);
            "sub_<R>_f32" (a: f32, b: f32) float::sub_R_f32(a, b) => reference::add(a, -b, To::TO);
            "mul_<R>_f32" (a: f32, b: f32) float::mul_R_f32(a, b) => reference::mul(a, b, To::TO);
            "fma_<R>_f32" (a: f32, b: f32, c: f32) float::fma_R_f32(a, b, c) => reference::fma(a, b, c, To::TO);
            "div_<R>_f32" (a: f32, b: f32) float::div_R_f32(a, b) => reference::div(a, b, To::TO);
            "rcp_<R>_f32" (a: f32) float::rcp_R_f32(a) => reference::div(1.0, a, To::TO);
            "sqrt_<R>_f32" (a: f32) float::sqrt_R_f32(a) => reference::sqrt(a, To::TO);
            "cvt_<R>_f32_f64" (a: f64) float::cvt_R_f32_f64(a) => reference::single(a, To::TO);
            "cvt_<R>_f32_s32" (a: i32) float::cvt_R_f32_s32(a) => reference::single(a.into(), To::TO);
            "cvt_<R>_f32_u32" (a: u32) float::cvt_R_f32_u32(a) => reference::single(a.into(), To::TO);
            "cvt_<R>_f64_s32" (a: i32) float::cvt_R_f64_s32(a) => f64::from(a);
            "cvt_<R>_f64_u32" (a: u32) float::cvt_R_f64_u32(a) => f64::from(a);
            for OP in [add, sub, mul] {
                "<OP>_<R>_ftz_f32" (a: f32, b: f32) float::OP_R_ftz_f32(a, b) => {
                    let (a, b) = (reference::flush(a), reference::flush(b));
                    reference::flush(reference::OP(a, b, To::TO))
                };
                "<OP>_<R>_sat_f32" (a: f32, b: f32) float::OP_R_sat_f32(a, b) => reference::saturate(reference::OP(a, b, To::TO));
                "<OP>_<R>_ftz_sat_f32" (a: f32, b: f32) float::OP_R_ftz_sat_f32(a, b) => {
                    let (a, b) = (reference::flush(a), reference::flush(b));
                    reference::saturate(reference::flush(reference::OP(a, b, To::TO)))
                };
            }
            "fma_<R>_sat_f32" (a: f32, b: f32, c: f32) float::fma_R_sat_f32(a, b, c) => reference::saturate(reference::fma(a, b, c, To::TO));
        }
        for (R, TO) in [(rni, Nearest), (rzi, Zero), (rmi, Down), (rpi, Up)] {
            for (INT, RUST) in [(s32, i32), (u32, u32)] {
                "cvt_<R>_<INT>_f32" (a: f32) float::cvt_R_INT_f32(a) => reference::rounded(a, To::TO) as RUST;
            }
            "cvt_<R>_s64_f32" (a: f32) float::cvt_R_s64_f32(if a.is_nan() { 0.0 } else { a }) => reference::rounded(if a.is_nan() { 0.0 } else { a }, To::TO) as i64;
            "cvt_<R>_u64_f32" (a: f32) float::cvt_R_u64_f32(if a.is_nan() { 0.0 } else { a }) => reference::rounded(if a.is_nan() { 0.0 } else { a }, To::TO) as u64;
            "cvt_<R>_f32_f32" (a: f32) float::cvt_R_f32_f32(a) => reference::rounded(a, To::TO) as f32;
        }
        for (TY, FLOAT) in [(f32, f32), (f64, f64)] {
            "testp_finite_<TY>" (a: FLOAT) float::testp_finite_TY(a) => a.is_finite();
            "testp_infinite_<TY>" (a: FLOAT) float::testp_infinite_TY(a) => a.is_infinite();
            "testp_number_<TY>" (a: FLOAT) float::testp_number_TY(a) => !a.is_nan();
            "testp_notanumber_<TY>" (a: FLOAT) float::testp_notanumber_TY(a) => a.is_nan();
            "testp_normal_<TY>" (a: FLOAT) float::testp_normal_TY(a) => a.is_normal() || a == 0.0;
            "testp_subnormal_<TY>" (a: FLOAT) float::testp_subnormal_TY(a) => a.is_subnormal();
        }
        for (CMP, F) in [
            (eq, (|a, b| a == b)), (ne, (|a: f32, b: f32| a < b || a > b)), (lt, (|a, b| a < b)),
            (le, (|a, b| a <= b)), (gt, (|a, b| a > b)), (ge, (|a, b| a >= b)),
            (equ, (|a: f32, b: f32| !(a < b || a > b))), (neu, (|a, b| a != b)), (ltu, (|a: f32, b: f32| !(a >= b))),
            (leu, (|a: f32, b: f32| !(a > b))), (gtu, (|a: f32, b: f32| !(a <= b))), (geu, (|a: f32, b: f32| !(a < b))),
            (num, (|a: f32, b: f32| !a.is_nan() && !b.is_nan())), (nan, (|a: f32, b: f32| a.is_nan() || b.is_nan()))
        ] {
            "setp_<CMP>_f16" (a: u16, b: u16) half::setp_CMP_f16(a, b) => {
                use cuda_std::half::F16;
                let f: fn(f32, f32) -> bool = F;
                f(F16::from_bits(a).to_f32(), F16::from_bits(b).to_f32())
            };
            "set_<CMP>_f16x2" (a: u32, b: u32) half::set_CMP_f16x2(a, b) => {
                use cuda_std::half::F16x2;
                let f: fn(f32, f32) -> bool = F;
                let (a, b) = (F16x2::from_bits(a), F16x2::from_bits(b));
                let one = |x: bool| if x { 0x3c00u32 } else { 0 };
                one(f(a.low().to_f32(), b.low().to_f32())) | one(f(a.high().to_f32(), b.high().to_f32())) << 16
            };
        }
    }
}
