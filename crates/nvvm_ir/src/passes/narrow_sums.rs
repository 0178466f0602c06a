//! The pass `narrow_sums`.

use std::collections::{HashMap, HashSet};

use crate::inst::{BinOp, Callee, CastOp, Flags, InstKind};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::types::Type;
use crate::value::{Block, Const, Func, Value};

/// Computes integers of 64 bits in 32 bits if only their low 32 bits are used.
///
/// In `iter.filter(…).count() as u32`, the loop adds numbers of type `usize` and the conversion
/// follows the loop. LLVM narrows such a sum within an expression, but not through the phi of a
/// loop, and GPUs have 32-bit registers: a 64-bit addition is two instructions.
///
/// Assumptions about a sum, such as that an iterator has at most as many elements as its upper bound
/// says, do not keep it wide: they are removed.
///
/// The low 32 bits of the results depend only on the low 32 bits of the operands: the pass considers
/// additions, subtractions, multiplications, bitwise operations, shifts to the left by a constant,
/// selects and phis.
pub fn narrow_sums(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let narrow = narrow_values(module, func);
        if !narrow.is_empty() {
            rewrite(module, func, &narrow);
        }
    }
}

/// Returns the 64-bit instructions of which only the low 32 bits are used and which belong to a
/// loop's phi, in the order of the function.
fn narrow_values(module: &Module, func: Func) -> Vec<Value> {
    let mut candidates: Vec<Value> = Vec::new();
    let mut users: HashMap<Value, Vec<Value>> = HashMap::new();
    for &block in &module.func(func).blocks {
        for &inst in &module.block(block).insts {
            let Some(data) = module.inst(inst) else {
                continue;
            };
            if operands(module, inst).is_some() {
                candidates.push(inst);
            }
            (data.kind).for_each_operand(|value| users.entry(value).or_default().push(inst));
        }
    }
    let has_phi = |value: &Value| module.is_phi(*value);
    if !candidates.iter().any(has_phi) {
        return Vec::new();
    }
    let users = |value: Value| users.get(&value).map_or(&[][..], Vec::as_slice);
    let mut narrow: HashSet<Value> = candidates.iter().copied().collect();
    let mut pending = candidates.clone();
    while let Some(value) = pending.pop() {
        let is_wide = |&user: &Value| {
            let is_assumed = || users(user).iter().all(|&call| is_assumption(module, call));
            !narrow.contains(&user)
                && !truncates(module, user)
                && !(is_comparison(module, user) && is_assumed())
        };
        if !narrow.contains(&value) {
            continue;
        }
        let operands = operands(module, value).unwrap_or_default();
        let has_word = |&operand: &Value| narrow.contains(&operand) || has_word(module, operand);
        if users(value).iter().any(is_wide) || !operands.iter().all(has_word) {
            narrow.remove(&value);
            pending.extend(operands);
            pending.extend(users(value));
        }
    }
    // LLVM has narrowed everything but the sums of loops.
    let mut kept = HashSet::new();
    let phis = candidates.iter().copied().filter(|value| has_phi(value));
    let mut pending: Vec<Value> = phis.collect();
    while let Some(value) = pending.pop() {
        if narrow.contains(&value) && kept.insert(value) {
            pending.extend(operands(module, value).unwrap_or_default());
            pending.extend(users(value));
        }
    }
    candidates.retain(|value| kept.contains(value));
    candidates
}

/// Returns whether a value is a constant or an extended word. Truncating other values gains nothing:
/// they may be needed with 64 bits, too, and passes over PTX know more about the range of an index.
fn has_word(module: &Module, value: Value) -> bool {
    if let Some(constant) = module.as_const(value) {
        use Const::{Int, Poison, Undef, Zero};
        return matches!(constant, Int(_) | Zero | Undef | Poison);
    }
    let Some(&InstKind::Cast {
        op: CastOp::ZExt | CastOp::SExt,
        value: short,
    }) = module.inst(value).map(|data| &data.kind)
    else {
        return false;
    };
    let bits = module.types.int_bits(module.ty(short));
    bits.is_some_and(|bits| bits <= 32)
}

fn is_comparison(module: &Module, value: Value) -> bool {
    let data = module.inst(value);
    data.is_some_and(|data| matches!(data.kind, InstKind::ICmp { .. }))
}

fn is_assumption(module: &Module, value: Value) -> bool {
    let data = module.inst(value);
    data.is_some_and(|data| match &data.kind {
        InstKind::Call(call) => call.callee == Callee::Intrinsic(Intrinsic::Assume),
        _ => false,
    })
}

/// Returns whether an instruction uses at most the low 32 bits of its operand.
fn truncates(module: &Module, inst: Value) -> bool {
    let Some(InstKind::Cast { op, .. }) = module.inst(inst).map(|data| &data.kind) else {
        return false;
    };
    let bits = module.types.int_bits(module.ty(inst));
    *op == CastOp::Trunc && bits.is_some_and(|bits| bits <= 32)
}

/// Returns the 64-bit operands of an instruction with a 64-bit result, if the low 32 bits of the
/// result depend only on the low 32 bits of the operands.
fn operands(module: &Module, inst: Value) -> Option<Vec<Value>> {
    (module.types.int_bits(module.ty(inst)) == Some(64)).then_some(())?;
    Some(match &module.inst(inst)?.kind {
        InstKind::Phi(incoming) => incoming.iter().map(|&(value, _)| value).collect(),
        &InstKind::Select {
            then, otherwise, ..
        } => vec![then, otherwise],
        &InstKind::Bin { op, lhs, rhs, .. } => match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor => {
                vec![lhs, rhs]
            }
            BinOp::Shl => match module.as_const(rhs)? {
                Const::Zero | Const::Int(0..32) => vec![lhs, rhs],
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    })
}

/// Gives the instructions 32 bits, and replaces their truncations.
fn rewrite(module: &mut Module, func: Func, narrow: &[Value]) {
    let word = module.types.int(32);
    for &value in narrow {
        module.value_mut(value).ty = word;
    }
    for &value in narrow {
        let Some(data) = module.inst(value) else {
            continue;
        };
        let (mut kind, block) = (data.kind.clone(), data.block);
        match &mut kind {
            InstKind::Phi(incoming) => {
                for (value, from) in incoming {
                    *value = low_word(module, *value, word, Place::End(*from));
                }
            }
            InstKind::Select {
                then, otherwise, ..
            } => {
                *then = low_word(module, *then, word, Place::Before(block, value));
                *otherwise = low_word(module, *otherwise, word, Place::Before(block, value));
            }
            InstKind::Bin {
                lhs, rhs, flags, ..
            } => {
                *lhs = low_word(module, *lhs, word, Place::Before(block, value));
                *rhs = low_word(module, *rhs, word, Place::Before(block, value));
                *flags = Flags::default();
            }
            _ => {}
        }
        if let Some(data) = module.inst_mut(value) {
            data.kind = kind;
        }
    }
    remove_users(module, func, narrow, word);
}

/// Where to compute the low word of a value.
#[derive(Copy, Clone)]
enum Place {
    /// At the end of a block.
    End(Block),
    /// In a block, before an instruction of it.
    Before(Block, Value),
}

/// Returns the low 32 bits of a constant, an extended word or a value that has 32 bits now.
fn low_word(module: &mut Module, value: Value, word: Type, place: Place) -> Value {
    if module.ty(value) == word {
        return value;
    }
    match module.as_const(value) {
        Some(&Const::Int(number)) => return module.const_int(word, number & 0xffff_ffff),
        Some(Const::Zero) => return module.const_int(word, 0),
        Some(Const::Undef) => return module.const_undef(word),
        Some(Const::Poison) => return module.const_poison(word),
        _ => {}
    }
    let kind = match module.inst(value).map(|data| data.kind.clone()) {
        Some(InstKind::Cast { value: short, .. }) if module.ty(short) == word => return short,
        Some(kind) => kind,
        None => return value,
    };
    match place {
        Place::End(block) => module.insert_at_end(block, word, kind),
        Place::Before(block, inst) => {
            let loc = module.inst(inst).and_then(|data| data.loc);
            let cast = module.push_inst(block, word, kind, loc);
            let insts = &mut module.block_mut(block).insts;
            if let Some(at) = insts.iter().position(|&other| other == inst) {
                insts[at..].rotate_right(1);
            }
            cast
        }
    }
}

/// Removes the truncations of the values to 32 bits, which the values have now, and the assumptions
/// about the values.
fn remove_users(module: &mut Module, func: Func, narrow: &[Value], word: Type) {
    let narrow: HashSet<Value> = narrow.iter().copied().collect();
    let blocks = module.func(func).blocks.clone();
    let mut same: HashMap<Value, Value> = HashMap::new();
    let mut removed: HashSet<Value> = HashSet::new();
    for &block in &blocks {
        for &inst in &module.block(block).insts {
            match module.inst(inst).map(|data| &data.kind) {
                Some(&InstKind::Cast { value, .. })
                    if narrow.contains(&value) && module.ty(inst) == word =>
                {
                    same.insert(inst, value);
                }
                Some(&InstKind::ICmp { lhs, rhs, .. })
                    if narrow.contains(&lhs) || narrow.contains(&rhs) =>
                {
                    removed.insert(inst);
                }
                _ => {}
            }
        }
    }
    for &block in &blocks {
        let mut insts = std::mem::take(&mut module.block_mut(block).insts);
        insts.retain(|&inst| {
            let Some(data) = module.inst_mut(inst) else {
                return true;
            };
            let mut is_gone = same.contains_key(&inst) || removed.contains(&inst);
            data.kind.for_each_operand_mut(|operand| {
                if let Some(&value) = same.get(operand) {
                    *operand = value;
                }
                is_gone |= removed.contains(operand);
            });
            !is_gone
        });
        module.block_mut(block).insts = insts;
    }
}
