//! The pass `skip_swaps`.

use std::collections::HashMap;

use super::remove_unreachable_blocks::remove_unreachable_blocks_of;
use super::unroll_divergent_loops::users;
use crate::inst::{BinOp, Callee, CastOp, InstKind};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::types::{Type, TypeKind};
use crate::value::{Block, Const, Func, Value};

/// Removes branches and selects that only swap the operands of commutative operations.
///
/// `group::warp().reduce(value, f)` calls `f` with the values of two lanes in the order of the lanes:
/// half of the lanes swap them. LLVM removes the swap if `f` is commutative. But where `value` has
/// several floats, which shuffles exchange as integers, LLVM leaves a branch that chooses all of them,
/// one side of an operation as an integer and the other side as a float.
pub fn skip_swaps(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        skip_in(module, func);
    }
}

fn skip_in(module: &mut Module, func: Func) {
    let mut replaced = Vec::new();
    for block in module.func(func).blocks.clone() {
        for inst in module.block(block).insts.clone() {
            if let Some(pair) = unordered(module, inst) {
                replaced.extend(operands(module, inst).into_iter().flatten());
                replace_operands(module, block, inst, pair);
            }
        }
    }
    let mut skipped = false;
    for join in remove_unused(module, func, replaced) {
        skipped |= skip_branch(module, func, join);
    }
    if skipped {
        remove_unreachable_blocks_of(module, func);
    }
}

/// Returns the operands of a commutative operation.
fn operands(module: &Module, inst: Value) -> Option<[Value; 2]> {
    use Intrinsic::{MaxNum, Maximum, MinNum, Minimum, SMax, SMin, UMax, UMin};
    match &module.inst(inst)?.kind {
        &InstKind::Bin {
            op:
                BinOp::Add
                | BinOp::Mul
                | BinOp::And
                | BinOp::Or
                | BinOp::Xor
                | BinOp::FAdd
                | BinOp::FMul,
            lhs,
            rhs,
            ..
        } => Some([lhs, rhs]),
        InstKind::Call(call) => match (&call.callee, &call.args[..]) {
            (
                Callee::Intrinsic(MaxNum | Maximum | MinNum | Minimum | SMax | SMin | UMax | UMin),
                &[lhs, rhs],
            ) => Some([lhs, rhs]),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the value that bitcasts convert.
fn source(module: &Module, mut value: Value) -> Value {
    while let Some(InstKind::Cast {
        op: CastOp::Bitcast,
        value: from,
        ..
    }) = module.inst(value).map(|data| &data.kind)
    {
        value = *from;
    }
    value
}

/// Returns whether a value is a number, not a vector.
fn is_number(module: &Module, value: Value) -> bool {
    matches!(
        module.types.kind(module.ty(value)),
        TypeKind::Int(_) | TypeKind::Half | TypeKind::Float | TypeKind::Double
    )
}

/// Returns the bits of a constant number.
fn bits(module: &Module, value: Value) -> Option<u128> {
    match *module
        .as_const(value)
        .filter(|_| is_number(module, value))?
    {
        Const::Int(bits) | Const::Float(bits) => Some(bits),
        Const::Zero => Some(0),
        _ => None,
    }
}

/// Returns whether two values without bitcasts have the same bits.
fn is_same(module: &Module, a: Value, b: Value) -> bool {
    a == b || bits(module, a).is_some_and(|bits_of_a| Some(bits_of_a) == bits(module, b))
}

/// Returns the two values, without bitcasts, that a commutative operation has as operands in either
/// order.
///
/// Both values are available where the operation is. For phis, each of them comes from every
/// predecessor of their block, so it dominates the predecessors and thus the block.
fn unordered(module: &Module, inst: Value) -> Option<[Value; 2]> {
    let sides = operands(module, inst).filter(|_| is_number(module, inst))?;
    let [lhs, rhs] = sides.map(|side| source(module, side));
    let pairs: Vec<[Value; 2]> = match (&module.inst(lhs)?.kind, &module.inst(rhs)?.kind) {
        (InstKind::Phi(incoming), InstKind::Phi(_)) => {
            let block = module.inst(lhs)?.block;
            if module.inst(rhs)?.block != block {
                return None;
            }
            let pairs = incoming
                .iter()
                .map(|&(value, from)| Some([value, module.incoming(rhs, from)?]));
            pairs.collect::<Option<_>>()?
        }
        (
            &InstKind::Select {
                cond,
                then,
                otherwise,
            },
            &InstKind::Select {
                cond: other,
                then: other_then,
                otherwise: other_otherwise,
            },
        ) if cond == other => vec![[then, other_then], [otherwise, other_otherwise]],
        _ => return None,
    };
    let mut pairs = pairs
        .into_iter()
        .map(|pair| pair.map(|value| source(module, value)));
    let [a, b] = pairs.next()?;
    let is_pair = |[c, d]: [Value; 2]| {
        let is = |a, c, b, d| is_same(module, a, c) && is_same(module, b, d);
        is(a, c, b, d) || is(a, d, b, c)
    };
    pairs.all(is_pair).then_some([a, b])
}

/// Replaces the operands of a commutative operation with values of any type of the same size.
fn replace_operands(module: &mut Module, block: Block, inst: Value, pair: [Value; 2]) {
    let Some([old, _]) = operands(module, inst) else {
        return;
    };
    let ty = module.ty(old);
    let [a, b] = pair.map(|value| converted(module, block, inst, value, ty));
    match module.inst_mut(inst).map(|data| &mut data.kind) {
        Some(InstKind::Bin { lhs, rhs, .. }) => (*lhs, *rhs) = (a, b),
        Some(InstKind::Call(call)) => call.args = vec![a, b],
        _ => {}
    }
}

/// Returns the bits of a value as another type, for an instruction of a block.
fn converted(module: &mut Module, block: Block, inst: Value, value: Value, ty: Type) -> Value {
    if module.ty(value) == ty {
        return value;
    }
    if let Some(bits) = bits(module, value) {
        return match module.types.int_bits(ty) {
            Some(_) => module.const_int(ty, bits),
            None => module.const_float_bits(ty, bits),
        };
    }
    let loc = module.inst(inst).and_then(|data| data.loc);
    let kind = InstKind::Cast {
        op: CastOp::Bitcast,
        value,
    };
    let cast = module.push_inst(block, ty, kind, loc);
    let insts = &mut module.block_mut(block).insts;
    insts.pop();
    let at = insts.iter().position(|&it| it == inst);
    insts.insert(at.unwrap_or(insts.len()), cast);
    cast
}

/// Removes phis, selects and bitcasts that are not used, and what only they use. Returns the blocks of
/// the phis.
fn remove_unused(module: &mut Module, func: Func, mut pending: Vec<Value>) -> Vec<Block> {
    let mut blocks = Vec::new();
    if pending.is_empty() {
        return blocks;
    }
    let mut uses: HashMap<Value, usize> = (users(module, func).into_iter())
        .map(|(value, users)| (value, users.len()))
        .collect();
    while let Some(value) = pending.pop() {
        let Some(data) = module.inst(value) else {
            continue;
        };
        let block = data.block;
        let is_unused = uses.get(&value).is_none_or(|&count| count == 0);
        let is_phi = matches!(data.kind, InstKind::Phi(_));
        let is_removable = is_phi
            || matches!(data.kind, InstKind::Select { .. })
            || matches!(
                data.kind,
                InstKind::Cast {
                    op: CastOp::Bitcast,
                    ..
                }
            );
        let place = (module.block(block).insts.iter()).position(|&inst| inst == value);
        let Some(place) = place.filter(|_| is_unused && is_removable) else {
            continue;
        };
        data.kind.for_each_operand(|operand| {
            if let Some(count) = uses.get_mut(&operand) {
                *count -= 1;
            }
            pending.push(operand);
        });
        module.block_mut(block).insts.remove(place);
        if is_phi && !blocks.contains(&block) {
            blocks.push(block);
        }
    }
    blocks
}

/// Replaces a branch with a jump if both its arms are empty and lead to `join`, whose phis have the same
/// values from both. Returns whether there is one.
fn skip_branch(module: &mut Module, func: Func, join: Block) -> bool {
    let is_empty = |module: &Module, arm: Block| {
        let data = module.block(arm);
        let is_jump = match data.insts[..] {
            [end] => (module.inst(end))
                .is_some_and(|end| matches!(end.kind, InstKind::Br(to) if to == join)),
            _ => false,
        };
        is_jump && !data.no_unroll && data.unroll_count.is_none()
    };
    for block in module.func(func).blocks.clone() {
        if block == join {
            continue;
        }
        let end = module.terminator(block).and_then(|end| module.inst(end));
        let Some((then, otherwise, loc)) = end.and_then(|end| match end.kind {
            InstKind::CondBr {
                then, otherwise, ..
            } => Some((then, otherwise, end.loc)),
            _ => None,
        }) else {
            continue;
        };
        let edge = |module: &Module, arm: Block| match arm {
            arm if arm == join => Some(block),
            arm => is_empty(module, arm).then_some(arm),
        };
        let (Some(one), Some(other)) = (edge(module, then), edge(module, otherwise)) else {
            continue;
        };
        let phis: Vec<Value> = (module.block(join).insts.iter().copied())
            .take_while(|&inst| module.is_phi(inst))
            .collect();
        let is_equal = |&phi: &Value| module.incoming(phi, one) == module.incoming(phi, other);
        if !phis.iter().all(is_equal) {
            continue;
        }
        // The arms remain for other predecessors, or become unreachable.
        for phi in phis {
            let value = module.incoming(phi, one);
            if let (Some(value), Some(InstKind::Phi(incoming))) =
                (value, module.inst_mut(phi).map(|data| &mut data.kind))
            {
                incoming.retain(|&(_, from)| from != block);
                incoming.push((value, block));
            }
        }
        module.block_mut(block).insts.pop();
        let void = module.types.void();
        module.push_inst(block, void, InstKind::Br(join), loc);
        return true;
    }
    false
}
