//! The pass `separate_locals`.

use std::collections::{HashMap, HashSet};

use super::load_elements::split_address;
use super::unroll_divergent_loops::users;
use crate::builder::Builder;
use crate::inst::{Callee, InstKind};
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// The maximum number of instructions of a copy.
const LARGEST: usize = 32;

/// The maximum number of copies.
const COPIES: usize = 8;

/// Gives each way to a block that accesses one of several local variables a copy of the accesses.
///
/// ```text
/// let nearest = if x.next < y.next { &mut x } else { &mut y };
/// nearest.advance();
/// ```
///
/// LLVM keeps `x` and `y` in memory, since a register has no address. In a copy for each of the two, the
/// address is constant, and both can be in registers. The same holds for `match axis { 0 => &mut x, … }`
/// in implementations of `IndexMut`.
pub fn separate_locals(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let mut used = None;
        for block in module.func(func).blocks.clone() {
            if !has_address_phi(module, block) {
                continue;
            }
            let users = used.get_or_insert_with(|| users(module, func));
            if let Some(chosen) = Chosen::of(module, users, block) {
                chosen.separate(module, func, users);
                used = None;
            }
        }
    }
}

fn has_address_phi(module: &Module, block: Block) -> bool {
    let insts = module.block(block).insts.iter();
    let mut phis = insts.map_while(|&inst| match &module.inst(inst)?.kind {
        InstKind::Phi(incoming) => Some(incoming),
        _ => None,
    });
    phis.any(|incoming| incoming.iter().all(|&(value, _)| is_local(module, value)))
}

/// Returns whether an address is that of a part of a local variable.
fn is_local(module: &Module, address: Value) -> bool {
    let (base, _) = split_address(module, address);
    let kind = module.inst(base).map(|data| &data.kind);
    matches!(kind, Some(InstKind::Alloca { count: None, .. }))
}

/// A block that accesses one of several local variables.
struct Chosen {
    block: Block,
    predecessors: Vec<Block>,
    /// Its first instructions: the phis and everything up to the last access.
    head: Vec<Value>,
}

impl Chosen {
    fn of(module: &Module, users: &HashMap<Value, Vec<Value>>, block: Block) -> Option<Chosen> {
        let insts = &module.block(block).insts;
        let mut last = 0;
        let mut predecessors: Option<Vec<Block>> = None;
        for &inst in insts {
            let InstKind::Phi(incoming) = &module.inst(inst)?.kind else {
                break;
            };
            predecessors.get_or_insert_with(|| incoming.iter().map(|&(_, from)| from).collect());
            if !incoming.iter().all(|&(value, _)| is_local(module, value)) {
                continue;
            }
            for &(value, _) in incoming {
                let (variable, _) = split_address(module, value);
                is_only_accessed(module, users, variable).then_some(())?;
            }
            for access in accesses(module, users, inst)? {
                last = last.max(insts.iter().position(|&each| each == access)?);
            }
        }
        let predecessors = predecessors?;
        let distinct: HashSet<Block> = predecessors.iter().copied().collect();
        let is_plain = |from: &Block| *from != block && !module.block(*from).no_unroll;
        let head = insts.get(..=last)?;
        let is_copied = |&inst: &Value| match module.inst(inst).map(|data| &data.kind) {
            Some(InstKind::Call(call)) => match call.callee {
                Callee::Intrinsic(_) => true,
                Callee::Value(callee) => module
                    .as_func(callee)
                    .is_some_and(|func| module.func(func).name.starts_with("__nv_")),
                Callee::Asm(_) => false,
            },
            Some(
                InstKind::AtomicRmw { .. } | InstKind::CmpXchg { .. } | InstKind::Fence { .. },
            ) => false,
            _ => true,
        };
        let fits = last > 0
            && last <= LARGEST
            && predecessors.len() <= COPIES
            && distinct.len() == predecessors.len()
            && predecessors.iter().all(is_plain)
            && head.iter().all(is_copied);
        fits.then(|| Chosen {
            block,
            head: head.to_vec(),
            predecessors,
        })
    }

    fn separate(self, module: &mut Module, func: Func, users: &HashMap<Value, Vec<Value>>) {
        let Chosen {
            block,
            predecessors,
            head,
        } = self;
        module.block_mut(block).insts.drain(..head.len());
        let mut incoming: HashMap<Value, Vec<(Value, Block)>> = HashMap::new();
        for from in predecessors {
            let copy = module.add_block(func, "separate");
            module.replace_successor(from, block, copy);
            let mut values: HashMap<Value, Value> = HashMap::new();
            for &inst in &head {
                let ty = module.ty(inst);
                let Some(data) = module.inst(inst) else {
                    continue;
                };
                let (mut kind, loc) = (data.kind.clone(), data.loc);
                let value = match &mut kind {
                    InstKind::Phi(incoming) => {
                        let own = incoming.iter().find(|(_, of)| *of == from);
                        own.map_or(inst, |&(value, _)| value)
                    }
                    _ => {
                        kind.for_each_operand_mut(|operand| {
                            *operand = values.get(operand).copied().unwrap_or(*operand);
                        });
                        module.push_inst(copy, ty, kind, loc)
                    }
                };
                values.insert(inst, value);
                incoming.entry(inst).or_default().push((value, copy));
            }
            Builder::at(module, copy, None).br(block);
        }
        let mut phis = 0;
        for inst in head.iter().copied() {
            let all = users.get(&inst).into_iter().flatten();
            let behind: Vec<Value> = all.copied().filter(|user| !head.contains(user)).collect();
            if behind.is_empty() {
                continue;
            }
            let values = incoming.remove(&inst).unwrap_or_default();
            let phi = module.push_inst(block, module.ty(inst), InstKind::Phi(values), None);
            let insts = &mut module.block_mut(block).insts;
            insts[phis..].rotate_right(1);
            phis += 1;
            for user in behind {
                if let Some(data) = module.inst_mut(user) {
                    data.kind.for_each_operand_mut(|operand| {
                        if *operand == inst {
                            *operand = phi;
                        }
                    });
                }
            }
        }
    }
}

/// Returns the accesses to an address and to others at constant distances from it. Returns `None` if it
/// is used otherwise.
fn accesses(
    module: &Module,
    users: &HashMap<Value, Vec<Value>>,
    address: Value,
) -> Option<Vec<Value>> {
    let mut all = Vec::new();
    let mut pending = vec![address];
    while let Some(address) = pending.pop() {
        for &user in users.get(&address).into_iter().flatten() {
            match &module.inst(user)?.kind {
                InstKind::Load { .. } => all.push(user),
                InstKind::Store { value, .. } if *value != address => all.push(user),
                InstKind::Gep { base, indices, .. }
                    if *base == address && is_constant(module, indices) =>
                {
                    pending.push(user);
                }
                _ => return None,
            }
        }
    }
    Some(all)
}

/// Returns whether a local variable is accessed at constant distances only, or through phis.
fn is_only_accessed(module: &Module, users: &HashMap<Value, Vec<Value>>, variable: Value) -> bool {
    let mut pending = vec![variable];
    let mut seen = HashSet::from([variable]);
    while let Some(address) = pending.pop() {
        for &user in users.get(&address).into_iter().flatten() {
            let Some(data) = module.inst(user) else {
                return false;
            };
            match &data.kind {
                InstKind::Load { .. } => {}
                InstKind::Store { value, .. } if *value != address => {}
                InstKind::Gep { base, indices, .. }
                    if *base == address && is_constant(module, indices) =>
                {
                    pending.extend(seen.insert(user).then_some(user));
                }
                InstKind::Phi(_) => pending.extend(seen.insert(user).then_some(user)),
                InstKind::Call(call) if matches!(call.callee, Callee::Intrinsic(_)) => {}
                _ => return false,
            }
        }
    }
    true
}

fn is_constant(module: &Module, indices: &[Value]) -> bool {
    let is_number =
        |&index: &Value| matches!(module.as_const(index), Some(Const::Int(_) | Const::Zero));
    indices.iter().all(is_number)
}
