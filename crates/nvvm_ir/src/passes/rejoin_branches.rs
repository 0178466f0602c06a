//! The pass `rejoin_branches`.

use std::collections::HashMap;

use super::count_doublings::{Range, compare, constant_side, largest};
use super::terms::unextended;
use super::unroll_divergent_loops::users;
use crate::builder::Builder;
use crate::flow::Flow;
use crate::inst::{InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of changes in a function.
const MOST: usize = 100;

/// Lets threads meet before a branch that some of them skip because they know its result.
///
/// ```text
/// if x > 0 { least = least.min(above[x - 1]) }
/// if x < 255 { least = least.min(above[x + 1]) }
/// ```
///
/// Threads with `x == 0` need not test `x < 255`, so LLVM lets them jump into the second `if`, whose test
/// is within the first one then. ptxas has no predicates for such code, and threads wait for each other
/// twice.
pub fn rejoin_branches(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        for _ in 0..MOST {
            let Some(skip) = find(module, func) else {
                break;
            };
            skip.apply(module, func);
        }
    }
}

/// A way past the branch at the end of a block.
struct Skip {
    /// The block that branches to the two others.
    from: Block,
    /// The block whose branch is skipped.
    arm: Block,
    /// The target of the way, and the other target of the branch.
    to: Block,
    other: Block,
    /// The phis of `to` with what they are after `arm`.
    phis: Vec<(Value, Value)>,
}

fn find(module: &Module, func: Func) -> Option<Skip> {
    let blocks = &module.func(func).blocks;
    let candidates: Vec<Skip> = (blocks.iter())
        .filter_map(|&block| Skip::at(module, block))
        .collect();
    if candidates.is_empty() {
        return None;
    }
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let users = users(module, func);
    candidates.into_iter().find(|skip| {
        let predecessors = |block: Block| flow.predecessors(index[&block]).len();
        (predecessors(skip.arm), predecessors(skip.to)) == (1, 2) && skip.keeps(module, &users)
    })
}

/// Returns the condition and the targets of a branch.
pub(super) fn branch(module: &Module, block: Block) -> Option<(Value, Block, Block)> {
    match module.inst(module.terminator(block)?)?.kind {
        InstKind::CondBr {
            cond,
            then,
            otherwise,
        } if then != otherwise => Some((cond, then, otherwise)),
        _ => None,
    }
}

impl Skip {
    fn at(module: &Module, from: Block) -> Option<Skip> {
        let (cond, then, otherwise) = branch(module, from)?;
        [(then, otherwise, false), (otherwise, then, true)]
            .into_iter()
            .find_map(|(arm, to, holds)| {
                let (test, if_true, if_false) = branch(module, arm)?;
                let outcome = implied(module, (cond, holds), test)?;
                let (target, other) = if outcome {
                    (if_true, if_false)
                } else {
                    (if_false, if_true)
                };
                // The variable, which the first condition compares, too, is known at `from`.
                let (_, variable, _) = constant_side(module, test)?;
                let is_known = module.inst(variable).is_none_or(|data| data.block != arm);
                let insts = &module.block(arm).insts[..];
                let is_empty = insts.iter().all(|&inst| {
                    let is_last = module.terminator(arm) == Some(inst);
                    inst == test || is_last
                });
                let is_loop = [arm, from].contains(&other) || [arm, from].contains(&to);
                if target != to || !is_known || is_empty || is_loop {
                    return None;
                }
                let insts = module.block(to).insts.iter();
                let phis = insts.copied().take_while(|&inst| module.is_phi(inst));
                Some(Skip {
                    from,
                    arm,
                    to,
                    other,
                    phis: phis
                        .filter_map(|phi| Some((phi, module.incoming(phi, arm)?)))
                        .collect(),
                })
            })
    }

    /// Returns whether phis of the two targets are all that uses values of the arm elsewhere, and those
    /// of `other` use what the others do.
    fn keeps(&self, module: &Module, users: &HashMap<Value, Vec<Value>>) -> bool {
        let insts = &module.block(self.arm).insts;
        insts.iter().all(|&value| {
            let mut users = users.get(&value).into_iter().flatten();
            users.all(|&user| match module.inst(user) {
                Some(data) if data.block == self.arm => true,
                Some(data) if module.is_phi(user) && data.block == self.to => true,
                Some(data) if module.is_phi(user) && data.block == self.other => {
                    let is_passed = self.phis.iter().any(|&(_, passed)| passed == value);
                    let InstKind::Phi(incoming) = &data.kind else {
                        return false;
                    };
                    let mut uses = incoming.iter().filter(|&&(of, _)| of == value);
                    is_passed && uses.all(|&(_, block)| block == self.arm)
                }
                _ => false,
            })
        })
    }

    fn apply(self, module: &mut Module, func: Func) {
        let Skip {
            from,
            arm,
            to,
            other,
            ..
        } = self;
        let Some((cond, then, otherwise)) = branch(module, arm) else {
            return;
        };
        let joined = module.add_block(func, "rejoined");
        let loc = (module.terminator(arm)).and_then(|inst| module.inst(inst)?.loc);
        let test = module.inst(cond).map(|data| data.kind.clone());
        let mut passed = HashMap::new();
        for (phi, value) in self.phis {
            let ty = module.ty(phi);
            let Some(before) = module.incoming(phi, from) else {
                continue;
            };
            let incoming = vec![(before, from), (value, arm)];
            let new = Builder::at(module, joined, loc).phi(ty, incoming);
            passed.insert(value, new);
            if let Some(data) = module.inst_mut(phi) {
                data.kind = InstKind::Phi(vec![(new, joined)]);
            }
        }
        for phi in module.block(other).insts.clone() {
            let Some(InstKind::Phi(incoming)) = module.inst_mut(phi).map(|data| &mut data.kind)
            else {
                break;
            };
            for (value, block) in incoming.iter_mut().filter(|(_, block)| *block == arm) {
                *block = joined;
                *value = passed.get(value).copied().unwrap_or(*value);
            }
        }
        let data = module.block_mut(arm);
        data.insts.pop();
        let of_loop = (
            std::mem::take(&mut data.no_unroll),
            data.unroll_count.take(),
        );
        let data = module.block_mut(joined);
        (data.no_unroll, data.unroll_count) = of_loop;
        Builder::at(module, arm, loc).br(joined);
        module.replace_successor(from, to, joined);
        let mut bx = Builder::at(module, joined, loc);
        let cond = match test {
            Some(InstKind::ICmp { pred, lhs, rhs }) => bx.icmp(pred, lhs, rhs),
            _ => cond,
        };
        bx.cond_br(cond, then, otherwise);
    }
}

/// Returns the result of a comparison with a constant if another one, of the same variable, has a known
/// result.
fn implied(module: &Module, (known, holds): (Value, bool), unknown: Value) -> Option<bool> {
    let (first, variable, limit) = constant_side(module, known)?;
    let (second, compared, other) = constant_side(module, unknown)?;
    let bits = module.types.int_bits(module.ty(variable))?;
    (bits <= 64 && unextended(module, variable) == unextended(module, compared)).then_some(())?;
    // Numbers that an extension does not change are the same with both widths.
    let width = module.types.int_bits(module.ty(compared))?;
    let first = if holds { first } else { first.inverse() };
    let bias = |number: u128, bits: u32| number ^ (1 << (bits - 1));
    if first.is_signed() || second.is_signed() {
        // As numbers without sign, of which the smallest is 0.
        (bits == width).then_some(())?;
        let is_same = |pred: IntPred| pred.is_signed() || matches!(pred, IntPred::Eq | IntPred::Ne);
        (is_same(first) && is_same(second)).then_some(())?;
        let most = largest(bits);
        let range = range(first.unsigned(), bias(limit & most, bits), bits)?;
        return compare(second.unsigned(), bits, range, bias(other & most, bits));
    }
    compare(second, width, range(first, limit, bits)?, other)
}

/// Returns the integers for which a comparison with a limit holds, if there are any.
fn range(pred: IntPred, limit: u128, bits: u32) -> Option<Range> {
    let most = largest(bits);
    let limit = limit & most;
    match pred {
        IntPred::Eq => Some((limit, limit)),
        IntPred::Ne if limit == 0 => Some((1, most)),
        IntPred::Ne if limit == most => Some((0, most - 1)),
        IntPred::Ult => Some((0, limit.checked_sub(1)?)),
        IntPred::Ule => Some((0, limit)),
        IntPred::Ugt => Some((limit + 1, most)).filter(|range| range.0 <= range.1),
        IntPred::Uge => Some((limit, most)),
        _ => None,
    }
}
