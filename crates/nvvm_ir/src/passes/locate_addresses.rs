//! The pass `locate_addresses`.

use std::collections::HashMap;

use super::compare_indices::{address, lookups};
use super::select_elements::is_plain;
use super::unroll_divergent_loops::users;
use crate::builder::Builder;
use crate::inst::{CastOp, InstKind};
use crate::module::Module;
use crate::types::AddrSpace;
use crate::value::{Const, Func, Value};

/// Addresses below this one are of nothing: the address of an empty slice is an alignment.
const UNMAPPED: u64 = 1 << 16;

/// Gives addresses from tables of constants their state space, if all of them are in global memory.
///
/// ```text
/// static NAMES: [&str; 3] = ["one", "two", "three"];
/// let first = NAMES[number].as_bytes()[0];
/// ```
///
/// libnvvm does not know what an address from memory points to, so its accesses would be generic. Loads
/// of constants also become those of memory that does not change.
pub fn locate_addresses(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let found: Vec<(Value, bool)> = (lookups(module, func).iter())
            .filter_map(|lookup| {
                let mut are_constant = true;
                for &(_, element) in &lookup.elements {
                    match module.as_const(element) {
                        Some(&Const::IntToPtr(number)) if number < UNMAPPED => continue,
                        Some(Const::Zero) => continue,
                        _ => {}
                    }
                    let (base, _) = address(module, element)?;
                    are_constant &= module.global(module.as_global(base)?).constant;
                }
                Some((lookup.load, are_constant))
            })
            .collect();
        if found.is_empty() {
            continue;
        }
        let users = users(module, func);
        for (load, are_constant) in found {
            locate(module, &users, load);
            if are_constant {
                mark_loads(module, &users, load);
            }
        }
    }
}

/// Replaces the uses of an address by one that comes from global memory.
fn locate(module: &mut Module, users: &HashMap<Value, Vec<Value>>, load: Value) {
    let Some((block, loc)) = module.inst(load).map(|data| (data.block, data.loc)) else {
        return;
    };
    let insts = &mut module.block_mut(block).insts;
    let Some(at) = insts.iter().position(|&inst| inst == load) else {
        return;
    };
    let mut behind = insts.split_off(at + 1);
    let [global, generic] =
        [AddrSpace::Global, AddrSpace::Generic].map(|it| module.types.ptr_in(it));
    let mut bx = Builder::at(module, block, loc);
    let inside = bx.cast(CastOp::AddrSpaceCast, load, global);
    let located = bx.cast(CastOp::AddrSpaceCast, inside, generic);
    module.block_mut(block).insts.append(&mut behind);
    for &user in users.get(&load).into_iter().flatten() {
        if let Some(data) = module.inst_mut(user) {
            data.kind.for_each_operand_mut(|operand| {
                if *operand == load {
                    *operand = located;
                }
            });
        }
    }
}

/// Marks the loads from constants, whose addresses are computed from an address alone.
fn mark_loads(module: &mut Module, users: &HashMap<Value, Vec<Value>>, address: Value) {
    let mut pending = vec![address];
    while let Some(address) = pending.pop() {
        for &user in users.get(&address).into_iter().flatten() {
            match module.inst_mut(user).map(|data| &mut data.kind) {
                Some(InstKind::Load { access, .. }) if is_plain(access) => access.invariant = true,
                Some(InstKind::Gep { .. }) => pending.push(user),
                _ => {}
            }
        }
    }
}
