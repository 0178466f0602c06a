//! The pass `fold_null_tests`.

use std::collections::{HashMap, HashSet};

use crate::inst::{CastOp, InstKind, IntPred};
use crate::module::{Linkage, Module};
use crate::types::AddrSpace;
use crate::value::{Const, Func, Value, ValueKind};

/// Folds comparisons with null of generic addresses in statics and in memory that a parameter which
/// is not null points to.
///
/// No static is at the generic address 0. LLVM assumes that only of globals in address space 0, and
/// statics are in other address spaces. Such a comparison remains of an `Option` of a reference,
/// for example of `next` of an iterator over chunks of a constant. In a loop over a slice in shared
/// memory, the address is a phi, and the test would be a second exit that prevents unrolling.
///
/// `slice.iter().enumerate().min_by_key(…)` carries the address of the smallest element through the
/// loop as an integer, and uses it only to test whether there is one.
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

/// Returns the result of an instruction that compares an address that is not null with null.
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
        let ty = module.ty(value);
        let is_address = module.types.addr_space(ty) == Some(AddrSpace::Generic)
            || module.types.int_bits(ty) == Some(64);
        is_address && matches!(module.as_const(value), Some(Const::Zero | Const::Int(0)))
    };
    let compared = match (is_null(lhs), is_null(rhs)) {
        (false, true) => lhs,
        (true, false) => rhs,
        _ => return None,
    };
    is_derived(module, compared).then_some(result)
}

/// Returns whether a value is derived from addresses in statics, and from parameters that are not
/// null, by operations whose results are not null if their operands are not.
fn is_derived(module: &Module, value: Value) -> bool {
    // A phi of a loop is not null if it is not null in the first iteration.
    let mut seen = HashSet::from([value]);
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        let mut derive = |from: Value| {
            if seen.insert(from) {
                pending.push(from);
            }
        };
        match module.inst(value).map(|data| &data.kind) {
            Some(InstKind::Freeze(frozen)) => derive(*frozen),
            Some(InstKind::Gep {
                base,
                inbounds: true,
                ..
            }) => derive(*base),
            Some(InstKind::Cast {
                op: CastOp::PtrToInt,
                value: pointer,
            }) if module.types.int_bits(module.ty(value)) == Some(64) => derive(*pointer),
            Some(InstKind::Cast {
                op: CastOp::Bitcast,
                value,
            }) => derive(*value),
            Some(InstKind::Phi(incoming)) => incoming.iter().for_each(|&(from, _)| derive(from)),
            Some(InstKind::Select {
                then, otherwise, ..
            }) => [*then, *otherwise].into_iter().for_each(derive),
            Some(_) => return false,
            None if is_in_static(module, value) || is_nonnull(module, value) => {}
            None => return false,
        }
    }
    true
}

/// Returns whether a value is a parameter that is not null.
fn is_nonnull(module: &Module, value: Value) -> bool {
    let ValueKind::Param(func, index) = module.value(value).kind else {
        return false;
    };
    let attrs = module.func(func).param_attrs.get(index as usize);
    attrs.is_some_and(|attrs| attrs.nonnull)
}

/// Returns whether a value is an address in a static, or one past its end.
pub(crate) fn is_in_static(module: &Module, value: Value) -> bool {
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
