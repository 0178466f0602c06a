//! Decodes floating-point arithmetic. Rounding to nearest in 32 and 64 bits has specialized
//! handlers; other rounding modes and the 16-bit formats use general handlers, which evaluate
//! flags.

use ptx::Type;

use super::integer::supported;
use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::float::{self, ADD, DIV, FMA, MUL, RCP, SQRT, SUB};
use crate::exec::value::{Brain, Float, Half, canonical, flush, settle};
use crate::exec::{Handler, binary, general, ternary, unary};
use crate::soft_float::Mode;

/// Evaluates an expression for the float type of a PTX type.
macro_rules! for_float {
    ($ty:expr, $T:ident => $e:expr) => {
        match $ty {
            ptx::Type::F16 => {
                type $T = crate::exec::value::Half;
                Some($e)
            }
            ptx::Type::Bf16 => {
                type $T = crate::exec::value::Brain;
                Some($e)
            }
            ptx::Type::F32 => {
                type $T = crate::exec::value::Single;
                Some($e)
            }
            ptx::Type::F64 => {
                type $T = crate::exec::value::Double;
                Some($e)
            }
            _ => None,
        }
    };
}
pub(super) use for_float;

pub(super) const ROUNDING: &[(&str, Mode)] = &[
    ("rn", Mode::Nearest),
    ("rz", Mode::Zero),
    ("rm", Mode::Down),
    ("rp", Mode::Up),
    ("rna", Mode::Away),
];

/// Flags of the general handlers, above the rounding mode in `imm`.
const FTZ: i64 = 1 << 8;
const SAT: i64 = 1 << 9;
const RELU: i64 = 1 << 10;
/// The position of the operation in `imm`.
const OPERATION: u32 = 16;

/// Executes an operation with all its flags.
fn flagged<T: Float>(imm: i64, a: T, b: T, c: T) -> T {
    let flush = |x: T| if imm & FTZ != 0 { x.flush() } else { x };
    let operation = (imm >> OPERATION) as u8;
    let mode = Mode::from_number(imm & 0xff);
    let (a, b, c) = (flush(a), flush(b), flush(c));
    let result = if mode == Mode::Nearest
        && matches!(operation, ADD | SUB | MUL)
        && T::FORMAT != crate::soft_float::F64
        && T::FORMAT != crate::soft_float::F32
    {
        float::narrow_binary(operation, a, b)
    } else {
        float::rounded(operation, a, b, c, mode)
    };
    let mut result = flush(result);
    if imm & SAT != 0 {
        result = float::saturate(result);
    }
    if imm & RELU != 0 {
        result = float::relu(result);
    }
    result
}

/// The same for both halves of a register.
fn flagged_pair<T: Float>(imm: i64, a: u32, b: u32, c: u32) -> u32 {
    let half = |index| {
        flagged::<T>(
            imm,
            float::lane(a, index),
            float::lane(b, index),
            float::lane(c, index),
        )
    };
    float::pair(half(0), half(1))
}

fn flagged_handler(ty: Type) -> Option<Handler> {
    Some(match ty {
        Type::F16x2 => general(|i, r, _| {
            r.set(
                i.d,
                flagged_pair::<Half>(i.imm, r.get(i.a), r.get(i.b), r.get(i.c)),
            )
        }),
        Type::Bf16x2 => general(|i, r, _| {
            r.set(
                i.d,
                flagged_pair::<Brain>(i.imm, r.get(i.a), r.get(i.b), r.get(i.c)),
            )
        }),
        _ => {
            return for_float!(ty, T => general(|i, r, _| r.set(i.d, flagged::<T>(i.imm, r.get(i.a), r.get(i.b), r.get(i.c)))));
        }
    })
}

/// `neg`, or `abs` if `imm` is odd.
fn sign<T: Float>(imm: i64, a: T) -> T {
    float::change_sign(if imm & FTZ != 0 { a.flush() } else { a }, imm & 1 != 0)
}

fn sign_pair<T: Float>(imm: i64, a: u32) -> u32 {
    let half = |index| sign::<T>(imm, float::lane(a, index));
    float::pair(half(0), half(1))
}

/// Flags of `min` and `max`.
const MAX: i64 = 1;
const NAN: i64 = 2;
const XORSIGN: i64 = 4;

fn extremum<T: Float>(imm: i64, a: T, b: T) -> T {
    let flush = |x: T| if imm & FTZ != 0 { x.flush() } else { x };
    let (a, b) = (flush(a), flush(b));
    if imm & XORSIGN != 0 {
        let sign = 1 << (size_of::<T>() * 8 - 1);
        return float::extremum_magnitude(a, b, imm & MAX != 0, imm & NAN != 0, sign);
    }
    float::extremum(a, b, imm & MAX != 0, imm & NAN != 0)
}

fn extremum_pair<T: Float>(imm: i64, a: u32, b: u32) -> u32 {
    let half = |index| extremum::<T>(imm, float::lane(a, index), float::lane(b, index));
    float::pair(half(0), half(1))
}

/// Returns the handler of a function of one float, which flushes subnormal numbers if `ftz` is set.
macro_rules! function {
    ($ty:expr, $ftz:expr, $f:expr) => {
        match ($ty, $ftz) {
            (Type::F32, false) => Some(unary(|a: f32| float::approximate(a, false, $f))),
            (Type::F32, true) => Some(unary(|a: f32| float::approximate(a, true, $f))),
            (Type::F16, _) => Some(unary(|a: Half| Half::narrow($f(a.wide())))),
            (Type::Bf16, _) => Some(unary(|a: Brain| Brain::narrow($f(a.wide())))),
            (Type::F16x2, _) => Some(unary(|a: u32| {
                let half = |index| Half::narrow($f(float::lane::<Half>(a, index).wide()));
                float::pair(half(0), half(1))
            })),
            (Type::Bf16x2, _) => Some(unary(|a: u32| {
                let half = |index| Brain::narrow($f(float::lane::<Brain>(a, index).wide()));
                float::pair(half(0), half(1))
            })),
            _ => None,
        }
    };
}

/// Keeps the upper 32 bits, as double-precision approximations do.
fn upper_half(value: f64) -> f64 {
    f64::from_bits(value.to_bits() & !0xffff_ffff)
}

/// Flushes a subnormal double to zero. Only these approximations require that.
fn flush_wide(value: f64) -> f64 {
    if value.is_subnormal() {
        0f64.copysign(value)
    } else {
        value
    }
}

impl<'a> Decoder<'_, 'a> {
    pub(super) fn float(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        if !words.last_type().is_some_and(Type::is_float) {
            return Ok(false);
        }
        match words.opcode {
            "add" | "sub" | "mul" | "fma" | "mad" | "div" | "rcp" | "sqrt" => {
                self.arithmetic(words)?
            }
            "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => self.approximation(words)?,
            "neg" | "abs" => {
                let ftz = words.has("ftz");
                let ty = words.ty()?;
                let run = match ty {
                    Type::F16x2 => Some(general(|i, r, _| {
                        r.set(i.d, sign_pair::<Half>(i.imm, r.get(i.a)))
                    })),
                    Type::Bf16x2 => Some(general(|i, r, _| {
                        r.set(i.d, sign_pair::<Brain>(i.imm, r.get(i.a)))
                    })),
                    _ => {
                        for_float!(ty, T => general(|i, r, _| r.set(i.d, sign::<T>(i.imm, r.get(i.a)))))
                    }
                };
                self.op1(words, supported(run, words.opcode)?, ty, ty)?;
                self.last_imm(if ftz { FTZ } else { 0 } | i64::from(words.opcode == "abs"));
            }
            "min" | "max" => self.extremum(words)?,
            "copysign" => {
                let ty = words.ty()?;
                let run = match ty {
                    Type::F32 => Some(binary(|a: f32, b: f32| b.copysign(a))),
                    Type::F64 => Some(binary(|a: f64, b: f64| b.copysign(a))),
                    _ => None,
                };
                self.op2(words, supported(run, "copysign")?, ty, ty, ty)?;
            }
            "testp" => {
                let tests = [
                    ("finite", 0),
                    ("infinite", 1),
                    ("number", 2),
                    ("notanumber", 3),
                    ("normal", 4),
                    ("subnormal", 5),
                ];
                let Some(test) = words.one_of(&tests) else {
                    return invalid("`testp` without a test");
                };
                let ty = words.ty()?;
                let run = match ty {
                    Type::F32 => general(|i, r, _| {
                        let value: f32 = r.get(i.a);
                        r.set(
                            i.d,
                            float::test_property(value.into(), value.is_subnormal(), i.imm),
                        );
                    }),
                    Type::F64 => general(|i, r, _| {
                        let value: f64 = r.get(i.a);
                        r.set(
                            i.d,
                            float::test_property(value, value.is_subnormal(), i.imm),
                        );
                    }),
                    _ => return unsupported_form("`testp` of this type"),
                };
                self.op1(words, run, Type::Pred, ty)?;
                self.last_imm(test);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets `imm` of the last emitted instruction.
    pub(super) fn last_imm(&mut self, imm: i64) {
        if let Some(inst) = self.function.code.last_mut() {
            inst.imm = imm;
        }
    }

    fn arithmetic(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        // `.approx` and `.full` permit the result of rounding to nearest.
        let approximate = words.has("approx") | words.has("full");
        let mode = words.one_of(ROUNDING).unwrap_or(Mode::Nearest);
        let (ftz, sat, relu) = (words.has("ftz"), words.has("sat"), words.has("relu"));
        let ty = words.ty()?;
        let operation = match words.opcode {
            "add" => ADD,
            "sub" => SUB,
            "mul" => MUL,
            "div" => DIV,
            "sqrt" => SQRT,
            "rcp" => RCP,
            _ => FMA,
        };
        let plain = mode == Mode::Nearest && !sat && !relu;
        let wide_approximation = approximate && ty == Type::F64;
        let run = match (operation, ty) {
            (RCP, Type::F64) if wide_approximation => {
                Some(unary(|a: f64| upper_half(1.0 / flush_wide(a))))
            }
            _ if wide_approximation => None,
            (ADD, Type::F32) if plain && !ftz => Some(binary(|a: f32, b: f32| canonical(a + b))),
            (SUB, Type::F32) if plain && !ftz => Some(binary(|a: f32, b: f32| canonical(a - b))),
            (MUL, Type::F32) if plain && !ftz => Some(binary(|a: f32, b: f32| canonical(a * b))),
            (DIV, Type::F32) if plain && !ftz => Some(binary(|a: f32, b: f32| canonical(a / b))),
            (FMA, Type::F32) if plain && !ftz => {
                Some(ternary(|a: f32, b: f32, c: f32| canonical(a.mul_add(b, c))))
            }
            (SQRT, Type::F32) if plain && !ftz => Some(unary(|a: f32| canonical(a.sqrt()))),
            (RCP, Type::F32) if plain && !ftz => Some(unary(|a: f32| canonical(1.0 / a))),
            (ADD, Type::F32) if plain => Some(binary(|a: f32, b: f32| {
                canonical(flush(flush(a) + flush(b)))
            })),
            (SUB, Type::F32) if plain => Some(binary(|a: f32, b: f32| {
                canonical(flush(flush(a) - flush(b)))
            })),
            (MUL, Type::F32) if plain => Some(binary(|a: f32, b: f32| {
                canonical(flush(flush(a) * flush(b)))
            })),
            (DIV, Type::F32) if plain => Some(binary(|a: f32, b: f32| {
                canonical(flush(flush(a) / flush(b)))
            })),
            (FMA, Type::F32) if plain => Some(ternary(|a: f32, b: f32, c: f32| {
                canonical(flush(flush(a).mul_add(flush(b), flush(c))))
            })),
            (SQRT, Type::F32) if plain => Some(unary(|a: f32| canonical(flush(a).sqrt()))),
            (RCP, Type::F32) if plain => Some(unary(|a: f32| canonical(flush(1.0 / flush(a))))),
            (ADD, Type::F64) if plain => Some(binary(|a: f64, b: f64| settle(a + b, [b, a]))),
            (SUB, Type::F64) if plain => Some(binary(|a: f64, b: f64| settle(a - b, [b, a]))),
            (MUL, Type::F64) if plain => Some(binary(|a: f64, b: f64| settle(a * b, [b, a]))),
            (DIV, Type::F64) if plain => Some(binary(|a: f64, b: f64| settle(a / b, [a, b]))),
            (FMA, Type::F64) if plain => Some(ternary(|a: f64, b: f64, c: f64| {
                settle(a.mul_add(b, c), [b, c, a])
            })),
            (SQRT, Type::F64) if plain => Some(unary(|a: f64| settle(a.sqrt(), [a]))),
            (RCP, Type::F64) if plain => Some(unary(|a: f64| settle(1.0 / a, [a]))),
            (ADD | SUB | MUL | FMA, _) | (_, Type::F32 | Type::F64) => flagged_handler(ty),
            _ => None,
        };
        let run = supported(run, words.opcode)?;
        match operation {
            SQRT | RCP => self.op1(words, run, ty, ty)?,
            FMA => self.op3(words, run, ty, [ty; 3], 0)?,
            _ => self.op2(words, run, ty, ty, ty)?,
        }
        let flag = |set: bool, flag: i64| if set { flag } else { 0 };
        let flags = flag(ftz, FTZ) | flag(sat, SAT) | flag(relu, RELU);
        self.last_imm(mode as i64 | flags | i64::from(operation) << OPERATION);
        Ok(())
    }

    fn approximation(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let _ = words.has("approx");
        let ftz = words.has("ftz");
        let ty = words.ty()?;
        let run = match words.opcode {
            "rsqrt" if ty == Type::F64 && ftz => {
                Some(unary(|a: f64| upper_half(1.0 / flush_wide(a).sqrt())))
            }
            "rsqrt" if ty == Type::F64 => Some(unary(|a: f64| settle(1.0 / a.sqrt(), [a]))),
            "rsqrt" => function!(ty, ftz, |x: f64| 1.0 / x.sqrt()),
            "sin" => function!(ty, ftz, f64::sin),
            "cos" => function!(ty, ftz, f64::cos),
            "lg2" => function!(ty, ftz, f64::log2),
            "ex2" => function!(ty, ftz, f64::exp2),
            _ => function!(ty, ftz, f64::tanh),
        };
        self.op1(words, supported(run, words.opcode)?, ty, ty)
    }

    fn extremum(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let flag = |set: bool, flag: i64| if set { flag } else { 0 };
        let mut imm = flag(words.opcode == "max", MAX)
            | flag(words.has("ftz"), FTZ)
            | flag(words.has("NaN"), NAN);
        if words.has("xorsign") {
            if !words.has("abs") {
                return invalid("`.xorsign` without `.abs`");
            }
            imm |= XORSIGN;
        }
        let ty = words.ty()?;
        let run = match ty {
            Type::F16x2 => Some(general(|i, r, _| {
                r.set(i.d, extremum_pair::<Half>(i.imm, r.get(i.a), r.get(i.b)))
            })),
            Type::Bf16x2 => Some(general(|i, r, _| {
                r.set(i.d, extremum_pair::<Brain>(i.imm, r.get(i.a), r.get(i.b)))
            })),
            _ => {
                for_float!(ty, T => general(|i, r, _| r.set(i.d, extremum::<T>(i.imm, r.get(i.a), r.get(i.b)))))
            }
        };
        let run = supported(run, words.opcode)?;
        if let [d, a, b, c] = words.operands() {
            let (a, b, c) = (
                self.source(a, ty)?,
                self.source(b, ty)?,
                self.source(c, ty)?,
            );
            let between = self.temporary();
            let d = self.target(d, ty)?;
            self.emit(run, |inst| {
                (inst.d, inst.a, inst.b, inst.imm) = (between, a, b, imm)
            });
            self.emit(run, |inst| {
                (inst.d, inst.a, inst.b, inst.imm) = (d, between, c, imm)
            });
            return Ok(());
        }
        self.op2(words, run, ty, ty, ty)?;
        self.last_imm(imm);
        Ok(())
    }
}
