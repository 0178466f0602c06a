//! The pass `unroll_windows`.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::terms::distance;
use super::unroll_array_loops::{Counted, Counter, number, unroll_until};
use crate::flow::Flow;
use crate::inst::{BinOp, Callee, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of iterations of a loop.
const ITERATIONS: i128 = 9;

/// The maximum number of instructions of all iterations.
const LARGEST: usize = 192;

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
        let distance = distance(module, bound, counter.start, signed)?;
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
