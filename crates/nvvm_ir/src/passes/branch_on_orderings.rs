//! The pass `branch_on_orderings`.

use super::bound_searches::number;
use super::remove_unreachable_blocks::remove_unreachable_blocks_of;
use crate::builder::Builder;
use crate::inst::{BinOp, CastOp, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// Replaces a switch on a three-way comparison with two branches on the comparisons.
///
/// `match a.cmp(&b)` is a switch on `llvm.ucmp` or `llvm.scmp`, which the reader expands to the
/// difference of two comparisons. libnvvm and ptxas compute that difference in 16 bits and compare
/// it with the cases: nine instructions for each `match` instead of two.
pub fn branch_on_orderings(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let switches: Vec<Switch> = blocks
            .iter()
            .filter_map(|&block| Switch::at(module, block))
            .collect();
        if switches.is_empty() {
            continue;
        }
        for switch in switches {
            switch.apply(module, func);
        }
        remove_unreachable_blocks_of(module, func);
    }
}

/// A block that ends in a switch on a three-way comparison, with a target for each result.
struct Switch {
    block: Block,
    is_less: Value,
    is_greater: Value,
    less: Block,
    equal: Block,
    greater: Block,
}

impl Switch {
    /// Returns the switch at the end of a block. Returns `None` if results share a target, which
    /// one branch would distinguish.
    fn at(module: &Module, block: Block) -> Option<Switch> {
        let (value, default, cases) = module.switch(block)?;
        let (is_less, is_greater) = ordering(module, value)?;
        let width = module.types.int_bits(module.ty(value))?;
        let target = |result: u128| {
            let case = cases.iter().find(|(case, _)| *case == result);
            case.map_or(default, |&(_, to)| to)
        };
        let switch = Switch {
            block,
            is_less,
            is_greater,
            less: target(u128::MAX >> (128 - width)),
            equal: target(0),
            greater: target(1),
        };
        let [less, equal, greater] = switch.targets();
        let distinct = less != equal && equal != greater && less != greater;
        (distinct && !module.block(block).no_unroll).then_some(switch)
    }

    fn targets(&self) -> [Block; 3] {
        [self.less, self.equal, self.greater]
    }

    fn apply(self, module: &mut Module, func: Func) {
        let not_less = module.add_block(func, "not_less");
        let switch = module.block_mut(self.block).insts.pop();
        let Some(data) = switch.and_then(|inst| module.inst(inst)) else {
            return;
        };
        let (loc, successors) = (data.loc, data.kind.successors());
        for to in successors {
            match self.targets().contains(&to) {
                true => module.merge_incoming(to, self.block),
                false => module.retain_incoming(to, |from| from != self.block),
            }
        }
        for to in [self.equal, self.greater] {
            module.replace_incoming(to, self.block, not_less);
        }
        Builder::at(module, self.block, loc).cond_br(self.is_less, self.less, not_less);
        Builder::at(module, not_less, loc).cond_br(self.is_greater, self.greater, self.equal);
    }
}

/// Returns the comparisons "is less" and "is greater" of which a value is the ordering. The second one
/// holds only if the first one does not.
fn ordering(module: &Module, value: Value) -> Option<(Value, Value)> {
    let widened = |value: Value| match module.inst(value)?.kind {
        InstKind::Cast {
            op: CastOp::ZExt,
            value,
        } => Some(value),
        _ => None,
    };
    let compared = |value: Value| match module.inst(value)?.kind {
        InstKind::ICmp { pred, lhs, rhs } => Some((pred, [lhs, rhs])),
        _ => None,
    };
    match module.inst(value)?.kind {
        // The difference of two comparisons.
        InstKind::Bin {
            op: BinOp::Sub,
            lhs,
            rhs,
            ..
        } => {
            let (is_greater, is_less) = (widened(lhs)?, widened(rhs)?);
            let (greater, operands) = compared(is_greater)?;
            let (less, same) = compared(is_less)?;
            let opposite = matches!(
                (less, greater),
                (IntPred::Ult, IntPred::Ugt) | (IntPred::Slt, IntPred::Sgt)
            );
            (opposite && operands == same).then_some((is_less, is_greater))
        }
        // LLVM writes comparisons with powers of two as a sign, and keeps the selection.
        InstKind::Select {
            cond,
            then,
            otherwise,
        } => {
            let width = module.types.int_bits(module.ty(value))?;
            let differs = widened(otherwise)?;
            let is_bool = module.types.int_bits(module.ty(differs))? == 1;
            let is_minus_one = number(module, then)? == u128::MAX >> (128 - width);
            (is_bool && is_minus_one).then_some((cond, differs))
        }
        _ => None,
    }
}
