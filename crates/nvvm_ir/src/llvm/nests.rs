//! The loops with inner loops that neither LLVM nor libnvvm should unroll.

use std::collections::{HashMap, HashSet};

use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, Callee, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// The maximum number of iterations of a loop that is unrolled.
const ITERATIONS: u128 = 8;
/// The maximum number of instructions of all iterations of a loop that is unrolled.
const INSTS: u128 = 512;
/// The maximum number of blocks of a function: the analysis takes quadratic time.
const BLOCKS: usize = 2048;

/// Returns the latches of loops with a constant number of iterations that repeat an inner loop whose
/// number of iterations is unknown, each as the index of a block.
///
/// LLVM and libnvvm unroll such loops completely, in the hope that constant counters simplify the
/// iterations. The copies of the inner loop remain, so a thread fetches each instruction from outside
/// the instruction cache, and threads that leave the inner loops at different times meet later.
/// Unrolling pays if afterwards all indices of a local array are constant.
pub(super) fn latches_of_nests(module: &Module) -> Vec<(Func, usize)> {
    let mut latches = Vec::new();
    for func in module.funcs() {
        let blocks = &module.func(func).blocks;
        if blocks.len() > BLOCKS {
            continue;
        }
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let loops = flow.loops();
        let is_long = |each: &Loop| {
            let size = (each.body.iter())
                .map(|&block| module.block(blocks[block]).insts.len() as u128)
                .sum::<u128>();
            iterations(module, blocks, each)
                .is_some_and(|count| count > ITERATIONS && count.saturating_mul(size) > INSTS)
        };
        let contains = |outer: &Loop, inner: &Loop| {
            outer.header != inner.header && outer.body.contains(&inner.header)
        };
        let nests: Vec<&Loop> = (loops.iter())
            .filter(|outer| loops.iter().any(|inner| contains(outer, inner)) && is_long(outer))
            .collect();
        if nests.is_empty() {
            continue;
        }
        let unknown = Unknown {
            module,
            headers: (loops.iter())
                .map(|each| {
                    (
                        blocks[each.header],
                        iterations(module, blocks, each).is_none(),
                    )
                })
                .collect(),
        };
        let arrays = unknown.arrays(blocks);
        for outer in nests {
            let repeats = (loops.iter().filter(|inner| contains(outer, inner))).any(|inner| {
                let header = Some(blocks[inner.header]);
                exits(module, blocks, inner).all(|(_, cond, _)| unknown.slice(cond, header).1)
            });
            let uses = (outer.body.iter())
                .flat_map(|&block| unknown.accesses(blocks[block]))
                .flat_map(|ptr| unknown.slice(ptr, None).0)
                .any(|array| !arrays.contains(&array));
            if repeats && !uses {
                latches.push((func, outer.latches[0]));
            }
        }
    }
    latches
}

/// The values of a function that are unknown even if each loop with a constant number of iterations
/// is unrolled.
struct Unknown<'m> {
    module: &'m Module,
    /// The headers of loops, and whether their number of iterations is unknown.
    headers: HashMap<Block, bool>,
}

impl Unknown<'_> {
    /// Returns the local variables that a value depends on by their addresses, and whether it depends
    /// on an unknown value, apart from the number of iterations of the loop of `header`.
    fn slice(&self, value: Value, header: Option<Block>) -> (Vec<Value>, bool) {
        let module = self.module;
        let (mut seen, mut pending) = (HashSet::new(), vec![value]);
        let (mut variables, mut is_unknown) = (Vec::new(), false);
        while let Some(value) = pending.pop() {
            if !seen.insert(value) {
                continue;
            }
            let Some(data) = module.inst(value) else {
                let is_constant = module.as_const(value).is_some()
                    || module.as_func(value).is_some()
                    || module.as_global(value).is_some();
                is_unknown |= !is_constant;
                continue;
            };
            match &data.kind {
                InstKind::Alloca { count: None, .. } => variables.push(value),
                InstKind::Phi(incoming) => {
                    is_unknown |= match self.headers.get(&data.block) {
                        Some(&repeats) => repeats && header != Some(data.block),
                        None => incoming.len() > 1,
                    };
                    pending.extend(incoming.iter().map(|&(value, _)| value));
                }
                InstKind::Call(call) => {
                    is_unknown |= !is_arithmetic(&call.callee);
                    pending.extend(&call.args);
                }
                InstKind::Bin { .. }
                | InstKind::Cast { .. }
                | InstKind::Gep { .. }
                | InstKind::ICmp { .. }
                | InstKind::Select { .. }
                | InstKind::ExtractValue { .. }
                | InstKind::Freeze(_) => data.kind.for_each_operand(|it| pending.push(it)),
                _ => is_unknown = true,
            }
        }
        (variables, is_unknown)
    }

    /// Returns the addresses that a block accesses.
    fn accesses(&self, block: Block) -> impl Iterator<Item = Value> {
        let insts = &self.module.block(block).insts;
        insts.iter().filter_map(|&inst| {
            let kind = &self.module.inst(inst)?.kind;
            match *kind {
                InstKind::Load { ptr, .. } | InstKind::Store { ptr, .. } => Some(ptr),
                _ => None,
            }
        })
    }

    /// Returns the local variables that are accessed at an unknown index.
    fn arrays(&self, blocks: &[Block]) -> HashSet<Value> {
        let mut found = HashSet::new();
        for ptr in blocks.iter().flat_map(|&block| self.accesses(block)) {
            let (variables, is_unknown) = self.slice(ptr, None);
            if is_unknown {
                found.extend(variables);
            }
        }
        found
    }
}

/// Returns whether a call of a function depends on its arguments alone.
fn is_arithmetic(callee: &Callee) -> bool {
    use Intrinsic::*;
    let arithmetic = [
        Abs, Bitreverse, Bswap, Ctlz, Ctpop, Cttz, SMax, SMin, UMax, UMin,
    ];
    matches!(callee, Callee::Intrinsic(callee) if arithmetic.contains(callee))
}

/// Returns the blocks and the conditions with which a loop is left, and for which value it goes on.
fn exits<'m>(
    module: &'m Module,
    blocks: &'m [Block],
    each: &'m Loop,
) -> impl Iterator<Item = (Block, Value, bool)> + 'm {
    let body: HashSet<Block> = each.body.iter().map(|&block| blocks[block]).collect();
    each.body.iter().filter_map(move |&block| {
        let terminator = module.inst(module.terminator(blocks[block])?)?;
        match terminator.kind {
            InstKind::CondBr {
                cond,
                then,
                otherwise,
            } => {
                let stays = [then, otherwise].map(|to| body.contains(&to));
                (stays[0] != stays[1]).then_some((blocks[block], cond, stays[0]))
            }
            InstKind::Switch { value, .. } => {
                let to = terminator.kind.successors();
                to.iter()
                    .any(|to| !body.contains(to))
                    .then_some((blocks[block], value, false))
            }
            _ => None,
        }
    })
}

/// Returns the maximum number of iterations of a loop, if an exit limits it by a constant.
fn iterations(module: &Module, blocks: &[Block], each: &Loop) -> Option<u128> {
    let &[latch] = &each.latches[..] else {
        return None;
    };
    let (header, latch) = (blocks[each.header], blocks[latch]);
    exits(module, blocks, each)
        .filter_map(|(block, cond, stays)| {
            let is_end = block == latch;
            limit(module, header, latch, is_end, cond, stays)
        })
        .min()
}

/// Returns the number of iterations after which a counter equals a constant, or at the end of which
/// (`is_end`) it is not below one: an index that a check compares with a constant is hardly a count.
fn limit(
    module: &Module,
    header: Block,
    latch: Block,
    is_end: bool,
    cond: Value,
    stays: bool,
) -> Option<u128> {
    let InstKind::ICmp { pred, lhs, rhs } = module.inst(cond)?.kind else {
        return None;
    };
    let least_above = match (pred, stays) {
        (IntPred::Eq, false) | (IntPred::Ne, true) => 0,
        (IntPred::Ult | IntPred::Slt, true) if is_end => 0,
        (IntPred::Ugt | IntPred::Sgt, false) if is_end => 1,
        _ => return None,
    };
    // The first value of a counter.
    let start = |phi: Value| {
        let data = module.inst(phi)?;
        let InstKind::Phi(incoming) = &data.kind else {
            return None;
        };
        let next = module.incoming(phi, latch)?;
        let counts = data.block == header && next_of(module, next) == Some(phi);
        let &(start, _) = incoming.iter().find(|(_, from)| *from != latch)?;
        number(module, start).filter(|_| counts && incoming.len() == 2)
    };
    let (start, is_next) = match start(lhs) {
        Some(start) => (start, false),
        None => (start(next_of(module, lhs)?)?, true),
    };
    let count = number(module, rhs)?.checked_sub(start)?;
    Some(count + least_above + u128::from(!is_next))
}

/// Returns the value to which an instruction adds 1.
fn next_of(module: &Module, value: Value) -> Option<Value> {
    match module.inst(value)?.kind {
        InstKind::Bin {
            op: BinOp::Add,
            lhs,
            rhs,
            ..
        } => (number(module, rhs)? == 1).then_some(lhs),
        _ => None,
    }
}

fn number(module: &Module, value: Value) -> Option<u128> {
    match module.as_const(value)? {
        Const::Int(number) => Some(*number),
        Const::Zero => Some(0),
        _ => None,
    }
}
