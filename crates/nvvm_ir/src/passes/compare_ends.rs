//! The pass `compare_ends`.

use super::check_windows::{Places, decide};
use super::prune::prune;
use super::rejoin_branches::branch;
use super::terms::{Facts, unextended};
use super::unroll_array_loops::number;
use crate::inst::{BinOp, Callee, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum depth of an end of a range.
const DEPTH: u32 = 4;

/// Removes branches on the least length of a range around an element.
///
/// `x.saturating_sub(1)..=(x + 1).min(255)` has two elements at least, if `x` is at most 255: the end
/// is two or more above the start. So a loop over the elements does not end before the second one, and
/// the copies of its body that `unroll_windows` makes need no branch between the first two. LLVM has
/// ranges of numbers, but does not relate them.
pub fn compare_ends(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let tests: Vec<Test> = (module.func(func).blocks.iter())
            .filter_map(|&block| Test::of(module, block))
            .collect();
        if tests.is_empty() {
            continue;
        }
        let places = Places::new(module, func);
        let known: Vec<(Block, bool)> = (tests.iter())
            .filter_map(|test| {
                let facts = places.facts(module, test.block);
                Some((test.block, test.outcome(module, &facts)?))
            })
            .collect();
        if known.is_empty() {
            continue;
        }
        for (block, holds) in known {
            decide(module, block, holds);
        }
        prune(module, func);
    }
}

/// A branch on a comparison of two integers, of which at least one is an end of a range.
struct Test {
    block: Block,
    pred: IntPred,
    /// The integer `lhs` is compared with the sum of `rhs` and `by`.
    lhs: Value,
    rhs: Value,
    by: i128,
}

impl Test {
    fn of(module: &Module, block: Block) -> Option<Test> {
        let (cond, ..) = branch(module, block)?;
        let &InstKind::ICmp { pred, lhs, rhs } = &module.inst(cond)?.kind else {
            return None;
        };
        let (pred, lhs, rhs) = match counted(module, lhs, DEPTH) {
            Some(_) => (pred.swapped(), rhs, lhs),
            None => (pred, lhs, rhs),
        };
        // A length is compared with a number: the end with the sum of the start and the number.
        let length = match module.inst(unextended(module, lhs)).map(|data| &data.kind) {
            Some(&InstKind::Bin {
                op: BinOp::Sub,
                lhs,
                rhs,
                flags,
            }) if flags.nuw => Some((lhs, rhs)),
            _ => None,
        };
        let length = length.zip(counted(module, rhs, DEPTH));
        let (lhs, rhs, by) = match length {
            Some(((high, low), number)) => (high, low, number),
            None => (lhs, rhs, 0),
        };
        let clamps = clamps(module, lhs, DEPTH) + clamps(module, rhs, DEPTH);
        (clamps >= 2).then_some(Test {
            block,
            pred,
            lhs,
            rhs,
            by,
        })
    }

    /// Returns whether the comparison holds, if that is known.
    fn outcome(&self, module: &Module, facts: &Facts) -> Option<bool> {
        let &Test { lhs, rhs, by, .. } = self;
        let at_most = |by: i128| facts.is_at_most(module, lhs, rhs, by);
        let at_least = |by: i128| facts.is_at_most(module, rhs, lhs, -by);
        let is_less = || at_most(by - 1);
        let is_greater = || at_least(by + 1);
        match self.pred {
            IntPred::Eq => (is_less() || is_greater()).then_some(false),
            IntPred::Ne => (is_less() || is_greater()).then_some(true),
            IntPred::Ult if is_less() => Some(true),
            IntPred::Ult => at_least(by).then_some(false),
            IntPred::Ule if at_most(by) => Some(true),
            IntPred::Ule => is_greater().then_some(false),
            IntPred::Ugt if is_greater() => Some(true),
            IntPred::Ugt => at_most(by).then_some(false),
            IntPred::Uge if at_least(by) => Some(true),
            IntPred::Uge => is_less().then_some(false),
            _ => None,
        }
    }
}

/// Returns the value of a constant, or of a counter in a copy of the body of an unrolled loop.
fn counted(module: &Module, value: Value, depth: u32) -> Option<i128> {
    if let Some(number) = number(module, value) {
        return i128::try_from(number).ok();
    }
    let depth = depth.checked_sub(1)?;
    match &module.inst(value)?.kind {
        InstKind::Phi(incoming) => match incoming[..] {
            [(value, _)] => counted(module, value, depth),
            _ => None,
        },
        &InstKind::Bin {
            op: BinOp::Add,
            lhs,
            rhs,
            flags,
        } if flags.nuw => {
            let [lhs, rhs] = [lhs, rhs].map(|value| counted(module, value, depth));
            lhs?.checked_add(rhs?)
        }
        _ => None,
    }
}

/// Returns the number of minima, maxima and saturating differences in an end of a range.
fn clamps(module: &Module, value: Value, depth: u32) -> usize {
    let Some(depth) = depth.checked_sub(1) else {
        return 0;
    };
    match module
        .inst(unextended(module, value))
        .map(|data| &data.kind)
    {
        Some(&InstKind::Bin {
            op: BinOp::Add,
            lhs,
            ..
        }) => clamps(module, lhs, depth),
        Some(InstKind::Call(call)) => usize::from(matches!(
            call.callee,
            Callee::Intrinsic(Intrinsic::UMin | Intrinsic::UMax | Intrinsic::USubSat)
        )),
        _ => 0,
    }
}
