//! Decodes `cvt` between all integer and floating-point types of up to 64 bits.

use ptx::Type;

use super::float::for_float;
use super::integer::{for_integer, supported};
use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::value::{Brain, Float, Half, Single, Value};
use crate::exec::{Handler, float, general, unary};
use crate::soft_float::{self, F32, F64, Mode};

/// Flags in `imm`, above the rounding mode.
const FTZ: i64 = 1 << 8;
const SAT: i64 = 1 << 9;
const RELU: i64 = 1 << 10;
/// Rounds to an integral value first.
const INTEGRAL: i64 = 1 << 11;

const INTEGER_ROUNDING: &[(&str, Mode)] = &[
    ("rni", Mode::Nearest),
    ("rzi", Mode::Zero),
    ("rmi", Mode::Down),
    ("rpi", Mode::Up),
];

/// An integer type of up to 64 bits.
trait Integer: Value {
    fn to_i128(self) -> i128;
    fn clamp_from(value: i128) -> Self;
    fn from_float(value: f64) -> Self;
    /// The result for a NaN, unless it is zero.
    const NAN: Self;
}

macro_rules! integers {
    ($($ty:ty, $nan:expr;)*) => {$(
        impl Integer for $ty {
            #[inline(always)]
            fn to_i128(self) -> i128 { self.into() }
            #[inline(always)]
            fn clamp_from(value: i128) -> Self { value.clamp(<$ty>::MIN.into(), <$ty>::MAX.into()) as $ty }
            #[inline(always)]
            fn from_float(value: f64) -> Self { value as $ty }
            const NAN: Self = $nan;
        }
    )*};
}
integers! {
    u8, 1 << 7; u16, 1 << 15; u32, 1 << 31; u64, 1 << 63; i8, i8::MIN; i16, i16::MIN; i32, i32::MIN; i64, i64::MIN;
}

/// Converts a float to an integer: rounds, then clamps. A NaN becomes zero or, if either type has
/// 64 bits, the integer with only the top bit set.
fn to_integer<F: Float, I: Integer>(value: F, imm: i64) -> I {
    let value = if imm & FTZ != 0 { value.flush() } else { value };
    let wide = value.wide();
    if wide.is_nan() {
        return if size_of::<F>() == 8 || size_of::<I>() == 8 {
            I::NAN
        } else {
            I::clamp_from(0)
        };
    }
    I::from_float(float::integral(wide, Mode::from_number(imm & 0xff)))
}

/// Converts an integer to a float, rounding once.
fn from_integer<I: Integer, F: Float>(value: I, imm: i64) -> F {
    let result = F::pack(
        soft_float::integer(value.to_i128()),
        Mode::from_number(imm & 0xff),
    );
    if imm & SAT != 0 {
        float::saturate(result)
    } else {
        result
    }
}

/// Converts between floats of the same or different types. Flushing applies to 32-bit floats on
/// either side.
fn between<A: Float, B: Float>(value: A, imm: i64) -> B {
    let value = flush_single(value, imm);
    let mode = Mode::from_number(imm & 0xff);
    let wide = value.wide();
    if wide.is_nan() {
        return adjust(convert_nan(value, imm), imm);
    }
    let number = if imm & INTEGRAL != 0 {
        soft_float::F64.unpack(float::integral(wide, mode).to_bits())
    } else {
        value.unpack()
    };
    adjust(flush_single(B::pack(number, mode), imm), imm)
}

/// Flushes a 32-bit float if `imm` requests it.
fn flush_single<T: Float>(value: T, imm: i64) -> T {
    if imm & FTZ != 0 && size_of::<T>() == 4 {
        value.flush()
    } else {
        value
    }
}

/// Applies `.sat` and `.relu`.
fn adjust<T: Float>(mut value: T, imm: i64) -> T {
    if imm & SAT != 0 {
        value = float::saturate(value);
    }
    if imm & RELU != 0 {
        value = float::relu(value);
    }
    value
}

/// Converts a NaN. It keeps its payload if a double is involved, and from bfloat16 to f32, which is
/// only a shift; otherwise it becomes the canonical NaN.
fn convert_nan<A: Float, B: Float>(value: A, imm: i64) -> B {
    let usual = B::not_a_number(&[]);
    if A::FORMAT == soft_float::BF16 && B::FORMAT == soft_float::F32 {
        return B::with_bits(value.bits() << 16);
    }
    if size_of::<A>() < 8 && size_of::<B>() < 8 {
        return usual;
    }
    // Flushing turns a 32-bit NaN into the canonical one first.
    let bits = if imm & FTZ != 0 && size_of::<A>() == 4 {
        0x7fff_ffff
    } else {
        value.bits()
    };
    B::with_bits(A::FORMAT.convert_nan(bits, B::FORMAT))
}

/// Returns the handler of a conversion that evaluates `imm`.
fn general_conversion(to: Type, from: Type) -> Option<Handler> {
    match (to.is_float(), from.is_float()) {
        (false, false) => for_integer!(to, D => {
            for_integer!(from, S => general(|i, r, _| r.set(i.d, D::clamp_from(r.get::<S>(i.a).to_i128()))))
        })?,
        (false, true) => for_integer!(to, D => {
            for_float!(from, S => general(|i, r, _| r.set(i.d, to_integer::<S, D>(r.get(i.a), i.imm))))
        })?,
        (true, false) => for_float!(to, D => {
            for_integer!(from, S => general(|i, r, _| r.set(i.d, from_integer::<S, D>(r.get(i.a), i.imm))))
        })?,
        (true, true) => for_float!(to, D => {
            for_float!(from, S => general(|i, r, _| r.set(i.d, between::<S, D>(r.get(i.a), i.imm))))
        })?,
    }
}

/// Returns the handler of a frequent conversion without flags.
fn plain_conversion(
    to: Type,
    from: Type,
    mode: Option<Mode>,
    integral: Option<Mode>,
) -> Option<Handler> {
    match (to, from) {
        _ if !to.is_float() && !from.is_float() => {
            for_integer!(to, D => for_integer!(from, S => unary(|a: S| a as D)))?
        }
        (Type::F32, _) if !from.is_float() && mode == Some(Mode::Nearest) => {
            for_integer!(from, S => unary(|a: S| a as f32))
        }
        (Type::F64, _) if !from.is_float() && mode == Some(Mode::Nearest) => {
            for_integer!(from, S => unary(|a: S| a as f64))
        }
        (Type::F64, Type::F32) if integral.is_none() => Some(unary(|a: f32| match a.is_nan() {
            true => F32.convert_nan(a.to_bits().into(), F64),
            false => f64::from(a).to_bits(),
        })),
        (Type::F32, Type::F64) if mode == Some(Mode::Nearest) => {
            Some(unary(|a: f64| match a.is_nan() {
                true => F64.convert_nan(a.to_bits(), F32) as u32,
                false => (a as f32).to_bits(),
            }))
        }
        // A NaN becomes zero from f32 to 32-bit integers, as in Rust.
        (Type::S32, Type::F32) if integral == Some(Mode::Zero) => Some(unary(|a: f32| a as i32)),
        (Type::U32, Type::F32) if integral == Some(Mode::Zero) => Some(unary(|a: f32| a as u32)),
        _ => None,
    }
}

/// Rounds a float to the precision of tf32: 10 bits of fraction, in 32 bits.
fn to_tf32(bits: u32, mode: Mode) -> u32 {
    if bits & 0x7f80_0000 == 0x7f80_0000 {
        return bits & !0x1fff;
    }
    let rest = bits & 0x1fff;
    let kept = bits & !0x1fff;
    let up = match mode {
        Mode::Away => rest >= 0x1000,
        Mode::Zero => false,
        _ => rest > 0x1000 || rest == 0x1000 && kept & 0x2000 != 0,
    };
    if up { kept + 0x2000 } else { kept }
}

impl<'a> Decoder<'_, 'a> {
    pub(super) fn convert(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        if words.opcode != "cvt" {
            return Ok(false);
        }
        if words.has("pack") {
            self.convert_pack(words)?;
            return Ok(true);
        }
        if self.convert_small(words)? {
            return Ok(true);
        }
        let integral = words.one_of(INTEGER_ROUNDING);
        let mode = words.one_of(super::float::ROUNDING);
        let flag = |set: bool, flag: i64| if set { flag } else { 0 };
        let mut imm = flag(words.has("ftz"), FTZ)
            | flag(words.has("sat"), SAT)
            | flag(words.has("relu"), RELU);
        let satfinite = words.has("satfinite");
        let (to, from) = (words.ty()?, words.ty()?);
        if satfinite && to != Type::Tf32 {
            return unsupported_form("`.satfinite`");
        }
        let exact = |ty| matches!(ty, Type::Bf16 | Type::Bf16x2 | Type::Tf32);
        self.may_be_wider = !exact(to) && !exact(from);
        match (to, from) {
            (Type::F16x2 | Type::Bf16x2, Type::F32) => {
                self.convert_pair(words, to, mode, imm)?;
                return Ok(true);
            }
            (Type::Tf32, Type::F32) => {
                let run = general(|i, r, _| {
                    let mut result = to_tf32(r.get(i.a), Mode::from_number(i.imm & 0xff));
                    if i.imm & RELU != 0 {
                        result = float::relu(Single(result)).0;
                    }
                    if i.imm & SAT != 0 && result & 0x7fff_ffff == 0x7f80_0000 {
                        result -= 0x2000;
                    }
                    r.set(i.d, result);
                });
                self.op1(words, run, Type::Tf32, Type::F32)?;
                self.last_imm(
                    imm & RELU | flag(satfinite, SAT) | mode.unwrap_or(Mode::Away) as i64,
                );
                return Ok(true);
            }
            _ => {}
        }
        let plain = if imm == 0 {
            plain_conversion(to, from, mode, integral)
        } else {
            None
        };
        let rounding = integral.or(mode);
        if rounding.is_none() && from.is_float() && !to.is_float() {
            return invalid("`cvt` from a float to an integer without a rounding mode");
        }
        imm |= rounding.unwrap_or(Mode::Nearest) as i64 | flag(integral.is_some(), INTEGRAL);
        let run = match plain {
            Some(run) => run,
            None => supported(general_conversion(to, from), "cvt")?,
        };
        self.op1(words, run, to, from)?;
        self.last_imm(imm);
        Ok(true)
    }

    /// Converts two 32-bit floats to a pair; the first becomes the upper half.
    fn convert_pair(
        &mut self,
        words: &mut Modifiers<'_, 'a>,
        to: Type,
        mode: Option<Mode>,
        imm: i64,
    ) -> Result<()> {
        fn pair<T: Float>() -> Handler {
            general(|i, r, _| {
                let half = |slot| between::<Single, T>(r.get(slot), i.imm);
                r.set(i.d, float::pair(half(i.b), half(i.a)));
            })
        }
        let run = if to == Type::F16x2 {
            pair::<Half>()
        } else {
            pair::<Brain>()
        };
        self.op2(words, run, to, Type::F32, Type::F32)?;
        self.last_imm(imm | mode.unwrap_or(Mode::Nearest) as i64);
        Ok(())
    }

    /// Decodes `cvt.pack.sat`: clamps and packs two integers, with a third above them for small
    /// types.
    fn convert_pack(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        if !words.has("sat") {
            return invalid("`cvt.pack` without `.sat`");
        }
        let to = words.next().unwrap_or_default();
        let from = words.ty()?;
        let third = words.has("b32");
        let (bits, signed) = match to {
            "u16" => (16, false),
            "s16" => (16, true),
            "u8" => (8, false),
            "s8" => (8, true),
            "u4" => (4, false),
            "s4" => (4, true),
            "u2" => (2, false),
            "s2" => (2, true),
            _ => return unsupported_form(format!("`cvt.pack` to `.{to}`")),
        };
        let run = general(|i, r, _| {
            let (bits, signed) = (i.imm & 0xff, i.imm & 0x100 != 0);
            let (low, high) = if signed {
                (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
            } else {
                (0, (1 << bits) - 1)
            };
            let value = |slot| {
                let value = if i.imm & 0x200 != 0 {
                    i64::from(r.get::<i32>(slot))
                } else {
                    i64::from(r.get::<u32>(slot))
                };
                (value.clamp(low, high) as u64) & ((1 << bits) - 1)
            };
            let above = if i.imm & 0x400 != 0 {
                u64::from(r.get::<u32>(i.c)) << (2 * bits)
            } else {
                0
            };
            r.set_raw(i.d, (value(i.b) | value(i.a) << bits | above) & 0xffff_ffff);
        });
        let flags = bits
            | i64::from(signed) << 8
            | i64::from(from.is_signed()) << 9
            | i64::from(third) << 10;
        if third {
            return self.op3(words, run, Type::U32, [from, from, Type::B32], flags);
        }
        self.op2(words, run, Type::U32, from, from)?;
        self.last_imm(flags);
        Ok(())
    }
}
