//! The pass `read_constants`.

use std::collections::{HashMap, HashSet};

use super::unroll_array_loops::number;
use super::unroll_divergent_loops::users;
use crate::inst::{Callee, InstKind};
use crate::intrinsic::Intrinsic;
use crate::module::{Linkage, Module};
use crate::types::AddrSpace;
use crate::value::{Const, Func, Value};

/// Replaces local variables whose only contents are a copy of a constant with a constant.
///
/// `for round in ROUNDS` moves the array into its iterator, so each thread copies it to local memory.
/// LLVM reads the constant itself if the whole variable is a copy, but the iterator also has the
/// range of the elements that are left, which LLVM keeps in registers.
///
/// The bytes around the copy are never written, so the new constant may have any there. The pass
/// runs after `unroll_array_loops`, which reads the elements of some of these arrays at constant
/// indices.
pub fn read_constants(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let allocas: Vec<Value> = (module.func(func).blocks.iter())
            .flat_map(|&block| module.block(block).insts.iter().copied())
            .filter(|&inst| {
                let kind = module.inst(inst).map(|data| &data.kind);
                matches!(kind, Some(InstKind::Alloca { count: None, .. }))
            })
            .collect();
        if allocas.is_empty() {
            continue;
        }
        let users = users(module, func);
        for alloca in allocas {
            if let Some(copied) = Copied::of(module, &users, alloca) {
                copied.replace(module, func, alloca);
            }
        }
    }
}

/// A local variable with a copy of a constant.
struct Copied {
    /// The constant that is copied, a global.
    from: Value,
    /// The bytes of the variable.
    bytes: Vec<u8>,
    align: u64,
    /// Where the copy begins in the constant and in the variable.
    offsets: [usize; 2],
    /// The copy, and where the variable's lifetime begins and ends.
    removed: HashSet<Value>,
}

impl Copied {
    /// Returns the copy in a variable. Returns `None` if the variable has other contents too, or if
    /// no index is variable.
    fn of(module: &Module, users: &HashMap<Value, Vec<Value>>, alloca: Value) -> Option<Copied> {
        let &InstKind::Alloca { ty, align, .. } = &module.inst(alloca)?.kind else {
            return None;
        };
        let mut copy: Option<(Value, Option<i64>)> = None;
        let mut removed = HashSet::from([alloca]);
        let mut is_variable = false;
        // Addresses with their distances from the start, if these are constant.
        let mut pending = vec![(alloca, Some(0i64))];
        while let Some((address, offset)) = pending.pop() {
            for &user in users.get(&address).into_iter().flatten() {
                match &module.inst(user)?.kind {
                    InstKind::Load { access, .. }
                        if !access.volatile && access.atomic.is_none() =>
                    {
                        is_variable |= offset.is_none();
                    }
                    InstKind::Gep {
                        base,
                        element,
                        indices,
                        ..
                    } if *base == address => {
                        let size = i64::try_from(module.types.size(*element)).ok()?;
                        let offset = match &indices[..] {
                            &[index] => offset
                                .zip(number(module, index))
                                .and_then(|(at, by)| size.checked_mul(by as i64)?.checked_add(at)),
                            _ => None,
                        };
                        pending.push((user, offset));
                    }
                    InstKind::Call(call) => match call.callee {
                        Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) => {
                            removed.insert(user);
                        }
                        Callee::Intrinsic(Intrinsic::Memcpy)
                            if copy.is_none() && call.args[0] == address =>
                        {
                            copy = Some((user, offset));
                            removed.insert(user);
                        }
                        _ => return None,
                    },
                    _ => return None,
                }
            }
        }
        let (copy, Some(to)) = copy.filter(|_| is_variable)? else {
            return None;
        };
        let InstKind::Call(call) = &module.inst(copy)?.kind else {
            return None;
        };
        let &[_, source, len, volatile] = &call.args[..] else {
            return None;
        };
        let (from, offset) = match module.as_const(source) {
            Some(&Const::Addr { base, offset }) => (base, offset),
            _ => (source, 0),
        };
        let global = module.global(module.as_global(from)?);
        let space = global.space;
        if !global.constant
            || !matches!(space, AddrSpace::Global | AddrSpace::Constant)
            || number(module, volatile) != Some(0)
        {
            return None;
        }
        let size = usize::try_from(module.types.size(ty)).ok()?;
        let contents = match module.as_const(global.init?)? {
            Const::Bytes(bytes) => bytes.clone(),
            Const::Zero => vec![0; usize::try_from(module.types.size(global.ty)).ok()?],
            _ => return None,
        };
        let len = usize::try_from(number(module, len)?).ok()?;
        let offsets = [usize::try_from(offset).ok()?, usize::try_from(to).ok()?];
        let part = contents.get(offsets[0]..)?.get(..len)?;
        let mut bytes = vec![0; size];
        bytes
            .get_mut(offsets[1]..)?
            .get_mut(..len)?
            .copy_from_slice(part);
        Some(Copied {
            from,
            bytes,
            align,
            offsets,
            removed,
        })
    }

    fn replace(self, module: &mut Module, func: Func, alloca: Value) {
        let Some(constant) = self.constant(module) else {
            return;
        };
        let address = module.const_addr(constant, 0);
        for block in module.func(func).blocks.clone() {
            let mut insts = std::mem::take(&mut module.block_mut(block).insts);
            insts.retain(|inst| !self.removed.contains(inst));
            for &inst in &insts {
                if let Some(data) = module.inst_mut(inst) {
                    data.kind.for_each_operand_mut(|operand| {
                        if *operand == alloca {
                            *operand = address;
                        }
                    });
                }
            }
            module.block_mut(block).insts = insts;
        }
    }

    /// Returns a global with the variable's contents.
    fn constant(&self, module: &mut Module) -> Option<Value> {
        let source = module.global(module.as_global(self.from)?);
        let [from, to] = self.offsets;
        let name = format!("{}_{from}_{to}_{}", source.name, self.bytes.len());
        let space = source.space;
        let init = module.const_bytes(&self.bytes);
        let ty = module.ty(init);
        let global = match module.named(&name) {
            Some(existing) => module.as_global(existing)?,
            None => {
                let global = module.add_global(&name, ty, space)?;
                let data = module.global_mut(global);
                data.init = Some(init);
                data.constant = true;
                data.linkage = Linkage::Internal;
                global
            }
        };
        let data = module.global_mut(global);
        data.align = data.align.max(self.align);
        (data.init == Some(init)).then_some(data.value)
    }
}
