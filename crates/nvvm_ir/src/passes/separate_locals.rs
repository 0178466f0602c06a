//! The pass `separate_locals`.

use std::collections::{HashMap, HashSet};

use super::load_elements::split_address;
use super::unroll_divergent_loops::users;
use crate::builder::Builder;
use crate::flow::Flow;
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
        branch_on_selects(module, func);
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

/// Replaces selects of addresses of local variables by branches, if they reach a phi.
///
/// `max_by_key` compares pairs of a key and an element. If the first parts of two keys are equal, LLVM
/// selects the address of the pair whose second part is greater, and otherwise a phi does.
fn branch_on_selects(module: &mut Module, func: Func) {
    let blocks = module.func(func).blocks.clone();
    let mut found = Vec::new();
    for &block in &blocks {
        for &phi in &module.block(block).insts {
            let Some(InstKind::Phi(incoming)) = module.inst(phi).map(|data| &data.kind) else {
                break;
            };
            let selects = incoming.iter().filter(|&&(value, from)| {
                let terminator = module.terminator(from).and_then(|inst| module.inst(inst));
                let is_only_way =
                    matches!(terminator.map(|data| &data.kind), Some(InstKind::Br(_)));
                let is_plain = from != block && !module.block(from).no_unroll;
                is_only_way && is_plain && selected_locals(module, value).is_some()
            });
            found.extend(selects.map(|&(select, from)| (block, phi, select, from)));
        }
    }
    if found.is_empty() {
        return;
    }
    let users = users(module, func);
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let ways: Vec<(Block, Block)> = found.iter().map(|it| (it.0, it.3)).collect();
    for (block, phi, select, from) in found {
        // A way back would become two, and another select would remain.
        let goes_back = flow.dominates(index[&block], index[&from]);
        let is_only = ways.iter().filter(|&&way| way == (block, from)).count() == 1;
        if !goes_back && is_only && users.get(&select).is_some_and(|all| all[..] == [phi]) {
            branch_on(module, func, block, phi, select, from);
        }
    }
}

/// Returns the condition and the addresses of a select, if both are those of local variables.
fn selected_locals(module: &Module, select: Value) -> Option<(Value, [Value; 2])> {
    match module.inst(select)?.kind {
        InstKind::Select {
            cond,
            then,
            otherwise,
        } => {
            let are_local = is_local(module, then) && is_local(module, otherwise);
            are_local.then_some((cond, [then, otherwise]))
        }
        _ => None,
    }
}

/// Replaces a select that a phi uses by a branch at the end of the block `from`, which precedes the
/// phi's.
fn branch_on(
    module: &mut Module,
    func: Func,
    block: Block,
    phi: Value,
    select: Value,
    from: Block,
) {
    let Some((cond, values)) = selected_locals(module, select) else {
        return;
    };
    let Some(terminator) = module.terminator(from) else {
        return;
    };
    let ways = values.map(|value| (value, module.add_block(func, "selected")));
    for (_, way) in ways {
        Builder::at(module, way, None).br(block);
    }
    for each in module.block(block).insts.clone() {
        let Some(InstKind::Phi(incoming)) = module.inst_mut(each).map(|data| &mut data.kind) else {
            break;
        };
        let Some(at) = incoming.iter().position(|&(_, it)| it == from) else {
            continue;
        };
        let (old, _) = incoming.remove(at);
        let own = ways.map(|(value, way)| (if each == phi { value } else { old }, way));
        incoming.extend(own);
    }
    if let Some(data) = module.inst_mut(terminator) {
        data.kind = InstKind::CondBr {
            cond,
            then: ways[0].1,
            otherwise: ways[1].1,
        };
    }
    if let Some(data) = module.inst(select) {
        let place = data.block;
        module.block_mut(place).insts.retain(|&inst| inst != select);
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
