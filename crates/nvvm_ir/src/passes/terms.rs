//! Bounds of integers that are sums of another value and a constant.

use super::unroll_array_loops::number;
use crate::inst::{BinOp, Callee, CastOp, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::Value;

/// The maximum depth of an expression.
const DEPTH: u32 = 8;

/// Returns the maximum of the difference of two integers, if the first one is not less.
pub(super) fn distance(module: &Module, high: Value, low: Value, signed: bool) -> Option<i128> {
    within(module, high, low, signed, DEPTH)
}

fn within(module: &Module, high: Value, low: Value, signed: bool, depth: u32) -> Option<i128> {
    let terms = |value: Value, is_upper: bool| {
        let mut terms = Terms {
            module,
            is_upper,
            signed,
            all: Vec::new(),
        };
        terms.add(value, 0, depth);
        terms.all
    };
    let lows = terms(low, false);
    let pairs = (terms(high, true).into_iter())
        .flat_map(|high| lows.iter().map(move |&low| (high, low)))
        .filter(|(high, low)| high.base == low.base);
    pairs.map(|(high, low)| high.constant - low.constant).min()
}

/// A sum of a value, if there is one, and a constant.
#[derive(Clone, Copy)]
struct Term {
    base: Option<Value>,
    constant: i128,
}

/// The bounds of an integer, of which each is a sum.
///
/// An addition that wraps around has a smaller result than the sum, and a subtraction a larger one, so
/// both only have bounds on the other side.
struct Terms<'a> {
    module: &'a Module,
    /// Whether these are upper bounds.
    is_upper: bool,
    signed: bool,
    all: Vec<Term>,
}

impl Terms<'_> {
    /// Adds the bounds of the sum of a value and a constant.
    fn add(&mut self, value: Value, constant: i128, depth: u32) {
        let module = self.module;
        let Some(bits) = module.types.int_bits(module.ty(value)) else {
            return;
        };
        if let Some(number) = self.constant(value, bits) {
            self.all.push(Term {
                base: None,
                constant: constant + number,
            });
            return;
        }
        let (Some(data), Some(depth)) = (module.inst(value), depth.checked_sub(1)) else {
            self.push(value, constant);
            return;
        };
        match &data.kind {
            &InstKind::Cast { op, value: inner } if op == self.extension() => {
                self.add(inner, constant, depth);
                return;
            }
            &InstKind::Bin {
                op: BinOp::Add,
                lhs,
                rhs,
                flags,
            } => {
                let step = number(module, rhs).map(|step| sign_extend(step, bits));
                let is_exact = if self.signed { flags.nsw } else { flags.nuw };
                if let Some(step) = step
                    && ((step > 0) == self.is_upper || is_exact && (self.signed || step > 0))
                {
                    self.add(lhs, constant + step, depth);
                }
            }
            // Does not wrap around.
            &InstKind::Bin {
                op: BinOp::Sub,
                lhs,
                rhs,
                flags,
            } if self.is_upper && !self.signed && flags.nuw => {
                let most = within(module, lhs, rhs, false, depth);
                self.all.extend(most.map(|most| Term {
                    base: None,
                    constant: constant + most,
                }));
            }
            InstKind::Call(call) => {
                let &[lhs, rhs, ..] = &call.args[..] else {
                    self.push(value, constant);
                    return;
                };
                match (intrinsic(&call.callee), self.is_upper, self.signed) {
                    (Some(Intrinsic::UMin), true, false)
                    | (Some(Intrinsic::SMin), true, true)
                    | (Some(Intrinsic::UMax), false, false)
                    | (Some(Intrinsic::SMax), false, true) => {
                        self.add(lhs, constant, depth);
                        self.add(rhs, constant, depth);
                    }
                    (Some(Intrinsic::USubSat), true, false) => self.add(lhs, constant, depth),
                    (Some(Intrinsic::USubSat), false, false) => {
                        if let Some(step) = self.constant(rhs, bits) {
                            self.add(lhs, constant - step, depth);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        self.push(value, constant);
    }

    fn push(&mut self, value: Value, constant: i128) {
        self.all.push(Term {
            base: Some(value),
            constant,
        });
    }

    /// Returns the cast that does not change an integer.
    fn extension(&self) -> CastOp {
        match self.signed {
            true => CastOp::SExt,
            false => CastOp::ZExt,
        }
    }

    fn constant(&self, value: Value, bits: u32) -> Option<i128> {
        let number = number(self.module, value)?;
        match self.signed {
            true => Some(sign_extend(number, bits)),
            false => i128::try_from(number).ok(),
        }
    }
}

fn intrinsic(callee: &Callee) -> Option<Intrinsic> {
    match callee {
        Callee::Intrinsic(intrinsic) => Some(*intrinsic),
        _ => None,
    }
}

/// Returns the signed integer with these bits.
fn sign_extend(number: u128, bits: u32) -> i128 {
    let unused = 128 - bits;
    ((number << unused) as i128) >> unused
}

/// Facts that hold at a place: for each, that an integer without sign is at most another one plus a
/// constant.
#[derive(Default)]
pub(super) struct Facts {
    all: Vec<(Value, Value, i128)>,
}

impl Facts {
    /// Adds what follows from a comparison.
    pub(super) fn add(&mut self, module: &Module, pred: IntPred, lhs: Value, rhs: Value) {
        let (lhs, rhs) = (unextended(module, lhs), unextended(module, rhs));
        match pred {
            IntPred::Ult => self.all.push((lhs, rhs, -1)),
            IntPred::Ule => self.all.push((lhs, rhs, 0)),
            IntPred::Ugt => self.all.push((rhs, lhs, -1)),
            IntPred::Uge => self.all.push((rhs, lhs, 0)),
            _ => {}
        }
    }

    /// Returns whether an integer without sign is at most the sum of another one and a constant.
    pub(super) fn is_at_most(&self, module: &Module, low: Value, high: Value, by: i128) -> bool {
        self.at_most(module, low, high, by, DEPTH)
    }

    fn at_most(&self, module: &Module, low: Value, high: Value, by: i128, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        let high = unextended(module, high);
        let kind = module.inst(high).map(|data| &data.kind);
        match kind {
            Some(&InstKind::Bin {
                op: BinOp::Add,
                lhs,
                rhs,
                flags,
            }) if flags.nuw
                && let Some(step) = number(module, rhs) =>
            {
                return self.at_most(module, low, lhs, by + step as i128, depth);
            }
            Some(InstKind::Call(call)) => {
                if let (Some(Intrinsic::UMin), &[lhs, rhs]) =
                    (intrinsic(&call.callee), &call.args[..])
                {
                    return [lhs, rhs]
                        .into_iter()
                        .all(|high| self.at_most(module, low, high, by, depth));
                }
            }
            _ => {}
        }
        if self.parts_at_most(module, low, high, by, depth) {
            return true;
        }
        let mut terms = Terms {
            module,
            is_upper: true,
            signed: false,
            all: Vec::new(),
        };
        terms.add(low, 0, depth);
        let bits = |value: Value| module.types.int_bits(module.ty(value));
        let limit = bits(high)
            .and_then(|_| number(module, high))
            .map(|it| it as i128);
        let is_known = |&Term { base, constant }: &Term| match (base, limit) {
            (None, Some(limit)) => constant <= limit + by,
            (None, None) => constant <= by,
            (Some(base), _) => {
                let is_same = base == high && constant <= by;
                is_same
                    || self.all.iter().any(|&(small, large, more)| {
                        let large_number = number(module, large).map(|it| it as i128);
                        small == base
                            && match (large_number, limit) {
                                (Some(large), Some(limit)) => large + more + constant <= limit + by,
                                _ => large == high && more + constant <= by,
                            }
                    })
            }
        };
        terms.all.iter().any(is_known)
    }
}

impl Facts {
    /// Like `at_most`, from facts about the operands of the instruction that computes `low`.
    fn parts_at_most(
        &self,
        module: &Module,
        low: Value,
        high: Value,
        by: i128,
        depth: u32,
    ) -> bool {
        let low = unextended(module, low);
        match module.inst(low).map(|data| &data.kind) {
            // A sum that wraps around is less than without.
            Some(&InstKind::Bin {
                op: BinOp::Add,
                lhs,
                rhs,
                ..
            }) => number(module, rhs)
                .and_then(|step| i128::try_from(step).ok())
                .is_some_and(|step| self.at_most(module, lhs, high, by - step, depth)),
            Some(InstKind::Call(call)) => {
                let &[lhs, rhs] = &call.args[..] else {
                    return false;
                };
                let is_at_most =
                    |value: Value, by: i128| self.at_most(module, value, high, by, depth);
                match intrinsic(&call.callee) {
                    Some(Intrinsic::UMin) => is_at_most(lhs, by) || is_at_most(rhs, by),
                    Some(Intrinsic::UMax) => is_at_most(lhs, by) && is_at_most(rhs, by),
                    // The maximum of the difference and zero.
                    Some(Intrinsic::USubSat) => {
                        let step = number(module, rhs).and_then(|step| i128::try_from(step).ok());
                        step.is_some_and(|step| is_at_most(lhs, by + step))
                            && self.is_zero_at_most(module, high, by)
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Returns whether the sum of an integer without sign and a constant is not negative.
    fn is_zero_at_most(&self, module: &Module, high: Value, by: i128) -> bool {
        let least = number(module, high).and_then(|it| i128::try_from(it).ok());
        least.unwrap_or(0) + by >= 0
    }
}

/// Returns what an integer is an extension of with zeros, if it is one.
pub(super) fn unextended(module: &Module, value: Value) -> Value {
    match module.inst(value).map(|data| &data.kind) {
        Some(&InstKind::Cast {
            op: CastOp::ZExt,
            value,
        }) => value,
        _ => value,
    }
}
