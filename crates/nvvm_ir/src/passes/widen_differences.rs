//! The pass `widen_differences`.

use super::unroll_divergent_loops::users;
use crate::inst::{BinOp, CastOp, Flags, InstKind, IntPred};
use crate::metadata::Di;
use crate::module::Module;
use crate::types::Type;
use crate::value::{Block, Func, Value};

/// Computes absolute differences of 8-bit and 16-bit integers in 32 bits.
///
/// `a.abs_diff(b)` is a select of `b - a` and `a - b`. PTX has registers of 16 bits, but GPUs have not:
/// ptxas extends the operands for the comparison, and both results and the operands again for the
/// differences. The difference of extended operands fits in 32 bits, and its absolute value is the
/// extended result.
pub fn widen_differences(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        for block in module.func(func).blocks.clone() {
            let insts = module.block(block).insts.clone();
            let found = insts
                .iter()
                .filter_map(|&inst| Difference::of(module, inst));
            let differences: Vec<Difference> = found.collect();
            if differences.is_empty() {
                continue;
            }
            let users = users(module, func);
            for difference in differences {
                let users = users.get(&difference.select);
                difference.widen(module, block, users.map_or(&[][..], Vec::as_slice));
            }
        }
    }
}

/// An absolute difference.
struct Difference {
    select: Value,
    operands: [Value; 2],
    /// `SExt` or `ZExt`, as the comparison takes the operands.
    extend: CastOp,
}

impl Difference {
    fn of(module: &Module, select: Value) -> Option<Difference> {
        let InstKind::Select {
            cond,
            then,
            otherwise,
        } = module.inst(select)?.kind
        else {
            return None;
        };
        let bits = module.types.int_bits(module.ty(select))?;
        (bits == 8 || bits == 16).then_some(())?;
        let InstKind::ICmp { pred, lhs, rhs } = module.inst(cond)?.kind else {
            return None;
        };
        let (extend, is_less) = match pred {
            IntPred::Slt | IntPred::Sle => (CastOp::SExt, true),
            IntPred::Sgt | IntPred::Sge => (CastOp::SExt, false),
            IntPred::Ult | IntPred::Ule => (CastOp::ZExt, true),
            IntPred::Ugt | IntPred::Uge => (CastOp::ZExt, false),
            IntPred::Eq | IntPred::Ne => return None,
        };
        let [less, greater] = match is_less {
            true => [lhs, rhs],
            false => [rhs, lhs],
        };
        let differs = |value: Value, from: Value, by: Value| {
            let Some(data) = module.inst(value) else {
                return false;
            };
            matches!(
                data.kind,
                InstKind::Bin { op: BinOp::Sub, lhs, rhs, .. } if lhs == from && rhs == by
            )
        };
        let is_absolute = differs(then, greater, less) && differs(otherwise, less, greater);
        is_absolute.then_some(Difference {
            select,
            operands: [less, greater],
            extend,
        })
    }

    fn widen(self, module: &mut Module, block: Block, users: &[Value]) {
        let Difference {
            select,
            operands,
            extend,
        } = self;
        let loc = module.inst(select).and_then(|data| data.loc);
        let word = module.types.int(32);
        let truth = module.types.int(1);
        let zero = module.const_int(word, 0);
        let mut insert = |ty: Type, kind: InstKind| insert(module, select, block, ty, kind, loc);
        let [less, greater] =
            operands.map(|value| insert(word, InstKind::Cast { op: extend, value }));
        let sub = |lhs: Value, rhs: Value| InstKind::Bin {
            op: BinOp::Sub,
            lhs,
            rhs,
            flags: Flags {
                nsw: true,
                ..Flags::default()
            },
        };
        let difference = insert(word, sub(less, greater));
        let negated = insert(word, sub(zero, difference));
        let cond = InstKind::ICmp {
            pred: IntPred::Slt,
            lhs: difference,
            rhs: zero,
        };
        let absolute = InstKind::Select {
            cond: insert(truth, cond),
            then: negated,
            otherwise: difference,
        };
        let wide = insert(word, absolute.clone());
        if let Some(data) = module.inst_mut(select) {
            data.kind = InstKind::Cast {
                op: CastOp::Trunc,
                value: wide,
            };
        }
        for &user in users {
            let bits = module.types.int_bits(module.ty(user));
            let Some(data) = module.inst_mut(user) else {
                continue;
            };
            if let InstKind::Cast {
                op: CastOp::ZExt,
                value,
            } = &mut data.kind
            {
                match bits {
                    Some(32) => data.kind = absolute.clone(),
                    Some(33..) => *value = wide,
                    _ => (),
                }
            }
        }
    }
}

/// Inserts an instruction before another one of a block.
fn insert(
    module: &mut Module,
    before: Value,
    block: Block,
    ty: Type,
    kind: InstKind,
    loc: Option<Di>,
) -> Value {
    let inst = module.push_inst(block, ty, kind, loc);
    let insts = &mut module.block_mut(block).insts;
    if let Some(at) = insts.iter().position(|&inst| inst == before) {
        insts[at..].rotate_right(1);
    }
    inst
}
