//! The pass `unroll_windows`.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::unroll_array_loops::{Counted, Counter, number, unroll_until};
use crate::flow::Flow;
use crate::inst::{BinOp, Callee, CastOp, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of iterations of a loop.
const ITERATIONS: i128 = 9;

/// The maximum number of instructions of all iterations.
const LARGEST: usize = 192;

/// The maximum depth of an expression.
const DEPTH: u32 = 8;

/// Unrolls loops over the few elements around another one.
///
/// `for &value in &row[x.saturating_sub(1)..(x + 2).min(width)]` has at most three iterations, whatever
/// `x` and `width` are: the end of the range is at most `x + 2`, and its start at least `x - 1`. LLVM
/// has ranges of numbers, but does not relate them. libnvvm and ptxas would unroll the loop for four or
/// sixteen iterations, which never happen, and another one for the rest. Each copy of the body keeps
/// the test that ends the loop.
pub fn unroll_windows(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let mut failed = HashSet::new();
        // An inner loop first. Then the loop around it may be short enough.
        while let Some(window) = find(module, func, &failed) {
            let header = window.counted.header;
            let end = (window.end, !window.continues);
            if !unroll_until(module, func, window.counted, window.iterations, end) {
                failed.insert(header);
            }
        }
    }
}

/// A loop with few iterations.
struct Window {
    counted: Counted,
    /// The maximum number of iterations.
    iterations: usize,
    /// The condition at the end of the loop.
    end: Value,
    /// Whether the loop continues if the condition is true.
    continues: bool,
}

/// Returns a loop of a function to unroll.
fn find(module: &Module, func: Func, failed: &HashSet<Block>) -> Option<Window> {
    let blocks = &module.func(func).blocks;
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let loops = flow.loops();
    let is_innermost = |body: &BTreeSet<usize>| {
        let headers = loops.iter().map(|other| other.header);
        headers.filter(|header| body.contains(header)).count() == 1
    };
    let inner = loops.iter().filter(|each| is_innermost(&each.body));
    inner
        .filter(|each| !failed.contains(&blocks[each.header]))
        .filter_map(|each| Counted::of(module, blocks, each))
        .find_map(|counted| Window::of(module, counted))
}

impl Window {
    fn of(module: &Module, counted: Counted) -> Option<Window> {
        let latch = module.terminator(counted.latch)?;
        let &InstKind::CondBr {
            cond,
            then,
            otherwise,
            ..
        } = &module.inst(latch)?.kind
        else {
            return None;
        };
        let continues = match (then == counted.header, otherwise == counted.header) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
        let &InstKind::ICmp { pred, lhs, rhs } = &module.inst(cond)?.kind else {
            return None;
        };
        let is_inside = |value: Value| {
            let data = module.inst(value);
            data.is_some_and(|data| counted.body.contains(&data.block))
        };
        let pred = if continues { pred } else { pred.inverse() };
        let sides = [(pred, lhs, rhs), (pred.swapped(), rhs, lhs)];
        let iterations = (sides.into_iter())
            .filter(|&(_, _, bound)| !is_inside(bound))
            .find_map(|(pred, counter, bound)| {
                let mut counters = counted.counters.iter();
                counters.find_map(|it| iterations(module, it, pred, counter, bound))
            })?;
        let insts = counted
            .body
            .iter()
            .flat_map(|&block| &module.block(block).insts);
        let mut size = 0;
        for &inst in insts {
            let kind = &module.inst(inst)?.kind;
            if let InstKind::Call(call) = kind
                && !matches!(call.callee, Callee::Intrinsic(_))
            {
                return None;
            }
            size += usize::from(!matches!(kind, InstKind::Phi(_) | InstKind::Br(_)));
        }
        let iterations = usize::try_from(iterations).ok()?;
        (size * iterations <= LARGEST).then_some(Window {
            counted,
            iterations,
            end: cond,
            continues,
        })
    }
}

/// Returns the maximum number of iterations of a loop that continues while a comparison of a counter
/// with a bound holds, if it is small.
fn iterations(
    module: &Module,
    counter: &Counter,
    pred: IntPred,
    compared: Value,
    bound: Value,
) -> Option<i128> {
    let &InstKind::Bin {
        op: BinOp::Add,
        lhs,
        rhs,
        flags,
    } = &module.inst(counter.next)?.kind
    else {
        return None;
    };
    (lhs == counter.phi && number(module, rhs) == Some(1)).then_some(())?;
    let delay = match compared {
        _ if compared == counter.next => 0,
        _ if compared == counter.phi => 1,
        _ => return None,
    };
    // A counter that is less than the bound before the step does not wrap around.
    let is_checked = delay == 1 && matches!(pred, IntPred::Ult | IntPred::Slt);
    let of = |signed: bool, is_inclusive: bool| {
        let is_exact = if signed { flags.nsw } else { flags.nuw };
        (is_exact || is_checked).then_some(())?;
        let distance = distance(module, bound, counter.start, signed, DEPTH)?;
        let most = (distance + delay + i128::from(is_inclusive)).max(1);
        (most <= ITERATIONS).then_some(most)
    };
    match pred {
        IntPred::Ne => of(false, false).or_else(|| of(true, false)),
        IntPred::Ult => of(false, false),
        IntPred::Ule => of(false, true),
        IntPred::Slt => of(true, false),
        IntPred::Sle => of(true, true),
        _ => None,
    }
}

/// Returns the maximum of the difference of two integers, if the first one is not less.
fn distance(module: &Module, high: Value, low: Value, signed: bool, depth: u32) -> Option<i128> {
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
                let most = distance(module, lhs, rhs, false, depth);
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
