//! The pass `fold_null_tests`.

use std::collections::HashMap;

use crate::inst::{InstKind, IntPred};
use crate::module::{Linkage, Module};
use crate::types::AddrSpace;
use crate::value::{Const, Func, Value};

/// Folds comparisons of the generic address of a static with null.
///
/// No static is at the generic address 0. LLVM assumes that only of globals in address space 0, and
/// statics are in other address spaces. Such a comparison remains of an `Option` of a reference,
/// for example of `next` of an iterator over chunks of a constant.
pub fn fold_null_tests(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let insts = blocks.iter().flat_map(|&block| &module.block(block).insts);
        let folded: HashMap<Value, bool> = insts
            .filter_map(|&inst| Some((inst, null_test(module, inst)?)))
            .collect();
        if folded.is_empty() {
            continue;
        }
        let constants = [false, true].map(|value| module.const_bool(value));
        for block in blocks {
            let mut insts = std::mem::take(&mut module.block_mut(block).insts);
            insts.retain(|inst| !folded.contains_key(inst));
            for &inst in &insts {
                if let Some(data) = module.inst_mut(inst) {
                    data.kind.for_each_operand_mut(|operand| {
                        if let Some(&result) = folded.get(operand) {
                            *operand = constants[usize::from(result)];
                        }
                    });
                }
            }
            module.block_mut(block).insts = insts;
        }
    }
}

/// Returns the result of an instruction that compares a static's generic address with null.
fn null_test(module: &Module, inst: Value) -> Option<bool> {
    let &InstKind::ICmp { pred, lhs, rhs } = &module.inst(inst)?.kind else {
        return None;
    };
    let result = match pred {
        IntPred::Eq => false,
        IntPred::Ne => true,
        _ => return None,
    };
    let is_null = |value| {
        module.types.addr_space(module.ty(value)) == Some(AddrSpace::Generic)
            && matches!(module.as_const(value), Some(Const::Zero))
    };
    let compares = is_null(rhs) && is_in_static(module, lhs);
    let compares_reversed = is_null(lhs) && is_in_static(module, rhs);
    (compares || compares_reversed).then_some(result)
}

/// Returns whether a value is an address in a static, or one past its end.
fn is_in_static(module: &Module, value: Value) -> bool {
    if let Some(InstKind::Freeze(frozen)) = module.inst(value).map(|data| &data.kind) {
        return is_in_static(module, *frozen);
    }
    let Some(&Const::Addr { base, offset }) = module.as_const(value) else {
        return false;
    };
    let Some(global) = module.as_global(base) else {
        return false;
    };
    let global = module.global(global);
    if global.init.is_none() && global.linkage == Linkage::Weak {
        return false;
    }
    let size = module.types.size(global.ty);
    u64::try_from(offset).is_ok_and(|offset| offset <= size)
}
