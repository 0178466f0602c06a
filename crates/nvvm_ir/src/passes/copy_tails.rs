//! The pass `copy_tails`.

use std::collections::HashMap;

use super::call_directly::split;
use super::unroll_array_loops::number;
use super::unroll_divergent_loops::users;
use crate::builder::Builder;
use crate::inst::{BinOp, Callee, CastOp, InstKind, IntPred, MemAccess};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Func, Value};

/// The maximum number of bytes.
const BYTES: u64 = 15;

/// Copies a few bytes into a local array one by one, if their number is variable.
///
/// A hash of a string reads whole words, and copies the bytes that are left into an array:
/// `last[..tail.len()].copy_from_slice(tail)`, where `tail.len()` is `len % 8`. libnvvm makes that a
/// loop, so the array is in memory. With a branch before each byte, it is an integer in registers.
///
/// An array that is used otherwise, at variable indices or by calls, stays in memory anyway.
pub fn copy_tails(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let insts = (module.func(func).blocks.iter())
            .flat_map(|&block| module.block(block).insts.iter().copied());
        let mut tails: Vec<Tail> = insts.filter_map(|inst| Tail::of(module, inst)).collect();
        if tails.is_empty() {
            continue;
        }
        let users = users(module, func);
        tails.retain(|tail| is_promoted(module, &users, tail.array));
        tails.iter().for_each(|tail| tail.expand(module));
    }
}

/// A call of `memcpy` with a variable size.
struct Tail {
    call: Value,
    /// The local array.
    array: Value,
    to: Value,
    from: Value,
    len: Value,
    /// The maximum number of bytes.
    most: u64,
}

impl Tail {
    fn of(module: &Module, inst: Value) -> Option<Tail> {
        let InstKind::Call(call) = &module.inst(inst)?.kind else {
            return None;
        };
        let (Callee::Intrinsic(Intrinsic::Memcpy), &[to, from, len, volatile]) =
            (&call.callee, &call.args[..])
        else {
            return None;
        };
        (number(module, volatile)? == 0 && number(module, len).is_none()).then_some(())?;
        let most = most(module, len)?;
        let array = start(module, to)?;
        (most <= BYTES).then_some(Tail {
            call: inst,
            array,
            to,
            from,
            len,
            most,
        })
    }

    fn expand(&self, module: &mut Module) {
        let Some(data) = module.inst(self.call) else {
            return;
        };
        let (block, loc) = (data.block, data.loc);
        let insts = &module.block(block).insts;
        let Some(place) = insts.iter().position(|&inst| inst == self.call) else {
            return;
        };
        let func = module.block(block).func;
        let after = split(module, block, place);
        module.block_mut(after).insts.remove(0);
        let (i8, len) = (module.types.int(8), module.ty(self.len));
        let access = MemAccess {
            align: 1,
            ..MemAccess::default()
        };
        let mut last = block;
        for index in 0..self.most {
            let copy = module.add_block(func, "copy");
            let number = module.const_int(len, index.into());
            let distance = module.const_i64(index as i64);
            let mut bx = Builder::at(module, last, loc);
            let is_all = bx.icmp(IntPred::Eq, self.len, number);
            bx.cond_br(is_all, after, copy);
            bx.switch_to(copy);
            let from = bx.gep(i8, self.from, &[distance], true);
            let byte = bx.load(i8, from, access);
            let to = bx.gep(i8, self.to, &[distance], true);
            bx.store(byte, to, access);
            last = copy;
        }
        Builder::at(module, last, loc).br(after);
    }
}

/// Returns the maximum of an integer, if its computation limits it.
fn most(module: &Module, value: Value) -> Option<u64> {
    let limit = match module.inst(value)?.kind {
        InstKind::Bin {
            op: BinOp::And,
            lhs,
            rhs,
            ..
        } => number(module, rhs).or_else(|| number(module, lhs))?,
        InstKind::Bin {
            op: BinOp::URem,
            rhs,
            ..
        } => number(module, rhs)?.checked_sub(1)?,
        InstKind::Cast {
            op: CastOp::ZExt,
            value,
        } => most(module, value)?.into(),
        _ => return None,
    };
    u64::try_from(limit).ok()
}

/// Returns the local variable that an address is a constant distance behind.
fn start(module: &Module, address: Value) -> Option<Value> {
    match &module.inst(address)?.kind {
        InstKind::Alloca { count: None, .. } => Some(address),
        InstKind::Gep { base, indices, .. } => {
            let is_constant = indices.iter().all(|&it| number(module, it).is_some());
            start(module, *base).filter(|_| is_constant)
        }
        _ => None,
    }
}

/// Returns whether a local variable is in registers once the copies of variable size are replaced.
fn is_promoted(module: &Module, users: &HashMap<Value, Vec<Value>>, array: Value) -> bool {
    let mut pending = vec![array];
    while let Some(address) = pending.pop() {
        for &user in users.get(&address).into_iter().flatten() {
            let is_plain = |access: &MemAccess| !access.volatile && access.atomic.is_none();
            match module.inst(user).map(|data| &data.kind) {
                Some(InstKind::Load { access, .. }) if is_plain(access) => {}
                Some(InstKind::Store { value, access, .. })
                    if *value != address && is_plain(access) => {}
                Some(InstKind::Gep { .. }) if start(module, user).is_some() => pending.push(user),
                Some(InstKind::Call(call)) => match call.callee {
                    Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) => {}
                    Callee::Intrinsic(Intrinsic::Memset | Intrinsic::Memcpy)
                        if call.args[0] == address
                            && (number(module, call.args[2]).is_some()
                                || Tail::of(module, user).is_some()) => {}
                    _ => return false,
                },
                _ => return false,
            }
        }
    }
    true
}
