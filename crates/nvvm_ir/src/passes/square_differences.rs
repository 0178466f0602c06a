//! The pass `square_differences`.

use crate::builder::Builder;
use crate::inst::{BinOp, Flags, InstKind};
use crate::module::Module;
use crate::value::{Func, Value};

/// Squares differences instead of absolute differences.
///
/// `a.abs_diff(b).pow(2)` selects `a - b` or `b - a`. The square modulo a power of two is the same, so
/// neither the comparison nor the select is needed.
pub fn square_differences(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        for block in module.func(func).blocks.clone() {
            let insts = module.block(block).insts.clone();
            for (place, inst) in insts.into_iter().enumerate().rev() {
                let Some((lhs, rhs)) = difference(module, inst) else {
                    continue;
                };
                let rest = module.block_mut(block).insts.split_off(place);
                let loc = module.inst(inst).and_then(|data| data.loc);
                // The selected difference has no assumptions: it may wrap around.
                let difference = Builder::at(module, block, loc).bin(BinOp::Sub, lhs, rhs);
                module.block_mut(block).insts.extend(rest);
                if let Some(data) = module.inst_mut(inst) {
                    data.kind = InstKind::Bin {
                        op: BinOp::Mul,
                        lhs: difference,
                        rhs: difference,
                        flags: Flags::default(),
                    };
                }
            }
        }
    }
}

/// Returns the operands of the absolute difference that an instruction squares.
fn difference(module: &Module, inst: Value) -> Option<(Value, Value)> {
    let &InstKind::Bin {
        op: BinOp::Mul,
        lhs,
        rhs,
        ..
    } = &module.inst(inst)?.kind
    else {
        return None;
    };
    let &InstKind::Select {
        then, otherwise, ..
    } = &module.inst(lhs).filter(|_| lhs == rhs)?.kind
    else {
        return None;
    };
    let operands = |value| match module.inst(value)?.kind {
        InstKind::Bin {
            op: BinOp::Sub,
            lhs,
            rhs,
            ..
        } => Some((lhs, rhs)),
        _ => None,
    };
    let (a, b) = operands(then)?;
    (operands(otherwise)? == (b, a)).then_some((a, b))
}
