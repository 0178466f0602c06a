//! Decodes comparisons and selections: `setp`, `set`, `selp`, `slct`.

use ptx::Type;

use super::integer::{for_integer, supported};
use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::float;
use crate::exec::value::{Brain, Double, Float, Half, Single, flush};
use crate::exec::{Handler, binary, general, ternary, unary};

/// The outcomes that a comparison accepts: 1 less, 2 equal, 4 greater, 8 unordered.
const COMPARISONS: &[(&str, i64)] = &[
    ("eq", 2),
    ("ne", 5),
    ("lt", 1),
    ("le", 3),
    ("gt", 4),
    ("ge", 6),
    ("lo", 1),
    ("ls", 3),
    ("hi", 4),
    ("hs", 6),
    ("equ", 10),
    ("neu", 13),
    ("ltu", 9),
    ("leu", 11),
    ("gtu", 12),
    ("geu", 14),
    ("num", 7),
    ("nan", 8),
];

const COMBINATIONS: &[(&str, u8)] = &[("and", 0), ("or", 1), ("xor", 2)];

/// A flag in `imm`, above the accepted outcomes.
const FTZ: i64 = 16;

fn integer_comparison(ty: Type, outcomes: i64) -> Option<Handler> {
    match outcomes {
        2 => for_integer!(ty, T => binary(|a: T, b: T| a == b)),
        5 => for_integer!(ty, T => binary(|a: T, b: T| a != b)),
        1 => for_integer!(ty, T => binary(|a: T, b: T| a < b)),
        3 => for_integer!(ty, T => binary(|a: T, b: T| a <= b)),
        4 => for_integer!(ty, T => binary(|a: T, b: T| a > b)),
        6 => for_integer!(ty, T => binary(|a: T, b: T| a >= b)),
        _ => None,
    }
}

#[allow(clippy::neg_cmp_op_on_partial_ord)]
fn float_comparison(ty: Type, outcomes: i64, ftz: bool) -> Option<Handler> {
    macro_rules! fast {
        ($T:ty, $bits:ty) => {
            match outcomes {
                2 => binary(|a: $T, b: $T| a == b),
                1 => binary(|a: $T, b: $T| a < b),
                3 => binary(|a: $T, b: $T| a <= b),
                4 => binary(|a: $T, b: $T| a > b),
                6 => binary(|a: $T, b: $T| a >= b),
                13 => binary(|a: $T, b: $T| a != b),
                9 => binary(|a: $T, b: $T| !(a >= b)),
                11 => binary(|a: $T, b: $T| !(a > b)),
                12 => binary(|a: $T, b: $T| !(a <= b)),
                14 => binary(|a: $T, b: $T| !(a < b)),
                8 => binary(|a: $T, b: $T| a.is_nan() || b.is_nan()),
                _ => slow::<$bits>(),
            }
        };
    }
    fn slow<T: Float>() -> Handler {
        general(|i, r, _| {
            let (mut a, mut b): (T, T) = (r.get(i.a), r.get(i.b));
            if i.imm & FTZ != 0 {
                (a, b) = (a.flush(), b.flush());
            }
            r.set(i.d, float::compare(a.wide(), b.wide(), i.imm));
        })
    }
    Some(match ty {
        Type::F32 if ftz => slow::<Single>(),
        Type::F32 => fast!(f32, Single),
        Type::F64 => fast!(f64, Double),
        Type::F16 => slow::<Half>(),
        Type::Bf16 => slow::<Brain>(),
        _ => return None,
    })
}

/// Compares one lane, given by `e`, of packed fp16 operands.
fn lane_comparison<T: Float>() -> Handler {
    general(|i, r, _| {
        let (mut a, mut b) = (
            float::lane::<T>(r.get(i.a), i.e),
            float::lane::<T>(r.get(i.b), i.e),
        );
        if i.imm & FTZ != 0 {
            (a, b) = (a.flush(), b.flush());
        }
        r.set(i.d, float::compare(a.wide(), b.wide(), i.imm));
    })
}

/// The parsed modifiers of a comparison.
struct Comparison {
    outcomes: i64,
    unsigned: bool,
    combination: Option<u8>,
    ftz: bool,
}

impl<'a> Decoder<'_, 'a> {
    pub(super) fn compare(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        match words.opcode {
            "setp" => self.set_predicate(words)?,
            "set" => self.set(words)?,
            "selp" => {
                let ty = words.ty()?;
                if ty.bits() > 64 || ty == Type::Pred {
                    return unsupported_form("`selp` of this type");
                }
                let run = ternary(|a: u64, b: u64, p: bool| if p { a } else { b });
                self.op3(words, run, ty, [ty, ty, Type::Pred], 0)?;
            }
            "slct" => {
                let ftz = words.has("ftz");
                let (ty, selector) = (words.ty()?, words.ty()?);
                let run = match selector {
                    Type::S32 => ternary(|a: u64, b: u64, c: i32| if c >= 0 { a } else { b }),
                    Type::F32 if ftz => {
                        ternary(|a: u64, b: u64, c: f32| if flush(c) >= 0.0 { a } else { b })
                    }
                    Type::F32 => ternary(|a: u64, b: u64, c: f32| if c >= 0.0 { a } else { b }),
                    _ => return invalid("`slct` with this selector"),
                };
                self.op3(words, run, ty, [ty, ty, selector], 0)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn comparison(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<Comparison> {
        let unsigned = ["lo", "ls", "hi", "hs"]
            .into_iter()
            .any(|word| words.sees(word));
        let Some(outcomes) = words.one_of(COMPARISONS) else {
            return invalid(format!("`{}` without a comparison", words.opcode));
        };
        Ok(Comparison {
            outcomes,
            unsigned,
            combination: words.one_of(COMBINATIONS),
            ftz: words.has("ftz"),
        })
    }

    /// Emits a comparison of `a` and `b` into the predicate `d`.
    fn emit_comparison(
        &mut self,
        how: &Comparison,
        ty: Type,
        lane: u32,
        (d, a, b): (u32, u32, u32),
    ) -> Result<()> {
        let unsigned = |ty| match ty {
            Type::S16 => Type::U16,
            Type::S32 => Type::U32,
            Type::S64 => Type::U64,
            other => other,
        };
        let run = match ty {
            Type::F16x2 => Some(lane_comparison::<Half>()),
            Type::Bf16x2 => Some(lane_comparison::<Brain>()),
            _ if ty.is_float() => float_comparison(ty, how.outcomes, how.ftz),
            _ => integer_comparison(if how.unsigned { unsigned(ty) } else { ty }, how.outcomes),
        };
        let run = supported(run, "setp")?;
        let imm = how.outcomes | if how.ftz { FTZ } else { 0 };
        self.emit(run, |inst| {
            (inst.d, inst.a, inst.b, inst.e) = (d, a, b, lane);
            inst.imm = imm;
        });
        Ok(())
    }

    fn emit_combination(&mut self, combination: u8, d: u32, a: u32, b: u32) {
        let run = match combination {
            0 => binary(|a: bool, b: bool| a & b),
            1 => binary(|a: bool, b: bool| a | b),
            _ => binary(|a: bool, b: bool| a ^ b),
        };
        self.emit(run, |inst| (inst.d, inst.a, inst.b) = (d, a, b));
    }

    fn set_predicate(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let how = self.comparison(words)?;
        let ty = words.ty()?;
        let operands = words.operands();
        let wanted = 3 + usize::from(how.combination.is_some());
        if operands.len() != wanted {
            return invalid(format!(
                "`setp` with {} operands instead of {wanted}",
                operands.len()
            ));
        }
        let (a, b) = (
            self.source(&operands[1], ty)?,
            self.source(&operands[2], ty)?,
        );
        let with = operands
            .get(3)
            .map(|operand| self.source(operand, Type::Pred))
            .transpose()?;
        let (p, q) = self.target_pair(&operands[0], Type::Pred, Type::Pred)?;
        if ty == Type::F16x2 || ty == Type::Bf16x2 {
            // The second predicate is that of the upper half.
            for (lane, target) in [(0, Some(p)), (1, q)] {
                let Some(target) = target else { continue };
                let result = if with.is_some() {
                    self.temporary()
                } else {
                    target
                };
                self.emit_comparison(&how, ty, lane, (result, a, b))?;
                if let (Some(combination), Some(with)) = (how.combination, with) {
                    self.emit_combination(combination, target, result, with);
                }
            }
            return Ok(());
        }
        let simple = with.is_none() && q.is_none();
        let result = if simple { p } else { self.temporary() };
        self.emit_comparison(&how, ty, 0, (result, a, b))?;
        if simple {
            return Ok(());
        }
        // The second predicate is the combination with the negated comparison. Both are computed
        // before either is written, since the combining predicate may be one of them.
        let mut values = [result; 2];
        if q.is_some() {
            values[1] = self.temporary();
            let negated = values[1];
            self.emit(unary(|a: bool| !a), |inst| {
                (inst.d, inst.a) = (negated, result)
            });
        }
        if let (Some(combination), Some(with)) = (how.combination, with) {
            for value in values.iter_mut().take(1 + usize::from(q.is_some())) {
                let combined = self.temporary();
                self.emit_combination(combination, combined, *value, with);
                *value = combined;
            }
        }
        for (target, value) in [(Some(p), values[0]), (q, values[1])] {
            if let Some(target) = target {
                self.emit(unary(|a: bool| a), |inst| {
                    (inst.d, inst.a) = (target, value)
                });
            }
        }
        Ok(())
    }

    fn set(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let how = self.comparison(words)?;
        let (to, ty) = (words.ty()?, words.ty()?);
        let operands = words.operands();
        let wanted = 3 + usize::from(how.combination.is_some());
        if operands.len() != wanted {
            return invalid(format!(
                "`set` with {} operands instead of {wanted}",
                operands.len()
            ));
        }
        let (a, b) = (
            self.source(&operands[1], ty)?,
            self.source(&operands[2], ty)?,
        );
        let with = operands
            .get(3)
            .map(|operand| self.source(operand, Type::Pred))
            .transpose()?;
        let d = self.target(&operands[0], to)?;
        let truth: u64 = match to {
            Type::F32 => 1f32.to_bits().into(),
            Type::F16 | Type::F16x2 => 0x3c00,
            Type::Bf16 | Type::Bf16x2 => 0x3f80,
            Type::U16 | Type::S16 | Type::B16 => 0xffff,
            Type::U32 | Type::S32 | Type::B32
                if ty.is_float() && ty.bits() == 32 && matches!(ty, Type::F16x2 | Type::Bf16x2) =>
            {
                0xffff
            }
            Type::U32 | Type::S32 | Type::B32 => 0xffff_ffff,
            _ => return unsupported_form("`set` to this type"),
        };
        let (truth, zero) = (self.constant(truth), self.constant(0));
        let packed = matches!(ty, Type::F16x2 | Type::Bf16x2);
        let mut halves = [zero; 2];
        for (lane, half) in halves.iter_mut().enumerate().take(1 + usize::from(packed)) {
            let result = self.temporary();
            self.emit_comparison(&how, ty, lane as u32, (result, a, b))?;
            if let (Some(combination), Some(with)) = (how.combination, with) {
                self.emit_combination(combination, result, result, with);
            }
            *half = self.temporary();
            let value = *half;
            let select = ternary(|a: u64, b: u64, p: bool| if p { a } else { b });
            self.emit(select, |inst| {
                (inst.d, inst.a, inst.b, inst.c) = (value, truth, zero, result)
            });
        }
        let join = if packed {
            binary(|a: u16, b: u16| u32::from(a) | u32::from(b) << 16)
        } else {
            binary(|a: u64, _: u64| a)
        };
        self.emit(join, |inst| {
            (inst.d, inst.a, inst.b) = (d, halves[0], halves[1])
        });
        Ok(())
    }
}
