//! The pass `skip_selects`.

use std::collections::HashMap;

use super::subtract_steps::is_zero;
use super::unroll_divergent_loops::users;
use crate::builder::Builder;
use crate::inst::{BinOp, InstKind};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of instructions that a new block computes.
const LARGEST: usize = 8;

/// Moves selects past the predecessors on whose way they select what was there before.
///
/// In `if let Some(distance) = triangle.hit(ray) && distance < first { first = distance; }`, LLVM
/// replaces the branches after the inlined `hit` with selects. Each `return None` then sets the result
/// to `false` and its value to 0, only to select the old `first`. This pass gives the other ways to the
/// selects a block of their own.
pub fn skip_selects(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let mut used = users(module, func);
        for block in module.func(func).blocks.clone() {
            if let Some(selects) = Selects::of(module, &used, block) {
                selects.skip(module, func);
                used = users(module, func);
            }
        }
    }
}

/// Selects of a block, all of which have the same condition.
struct Selects {
    block: Block,
    /// The predecessors for which the condition may be true.
    from: Vec<Block>,
    /// The selects, each with the value if the condition is false.
    selects: Vec<(Value, Value)>,
    /// What the selects are computed from in the block, and the selects, in order.
    computed: Vec<Value>,
}

impl Selects {
    /// Returns the selects of a block, if there are any to skip. `users` are the instructions that use
    /// each value.
    fn of(module: &Module, users: &HashMap<Value, Vec<Value>>, block: Block) -> Option<Selects> {
        let insts = &module.block(block).insts;
        insts.iter().find_map(|&condition| {
            let passes = conjuncts(module, condition)?
                .into_iter()
                .find_map(|value| {
                    let data = module.inst(value).filter(|data| data.block == block)?;
                    match &data.kind {
                        InstKind::Phi(incoming) => Some(incoming),
                        _ => None,
                    }
                })?;
            let mut from: Vec<Block> = (passes.iter())
                .filter(|(value, _)| !is_zero(module, *value))
                .map(|&(_, from)| from)
                .collect();
            from.dedup();
            if from.is_empty() || from.len() == passes.len() {
                return None;
            }
            // A block that goes back marks its loop.
            let is_plain = |from: &Block| *from != block && !module.block(*from).no_unroll;
            from.iter().all(is_plain).then_some(())?;
            let mut selects = Vec::new();
            for &inst in users.get(&condition).into_iter().flatten() {
                let data = module.inst(inst).filter(|data| data.block == block)?;
                match data.kind {
                    InstKind::Select {
                        cond,
                        then,
                        otherwise,
                    } if cond == condition && then != condition && otherwise != condition => {
                        is_available(module, block, otherwise).then_some(())?;
                        selects.push((inst, otherwise));
                    }
                    _ => return None,
                }
            }
            let mut computed = Vec::new();
            for &(select, _) in &selects {
                add_computation(module, block, select, &mut computed)?;
            }
            (!selects.is_empty()).then_some(Selects {
                block,
                from,
                selects,
                computed,
            })
        })
    }

    fn skip(self, module: &mut Module, func: Func) {
        let Selects {
            block,
            from,
            selects,
            computed,
        } = self;
        let loc = computed.first().and_then(|&inst| module.inst(inst)?.loc);
        let new = module.add_block(func, "selected");
        for &from in &from {
            module.replace_successor(from, block, new);
        }
        // The values of the block's instructions in the new one.
        let mut values: HashMap<Value, Value> = HashMap::new();
        let mut others: HashMap<Value, Vec<(Value, Block)>> = HashMap::new();
        for inst in module.block(block).insts.clone() {
            let ty = module.ty(inst);
            let Some(InstKind::Phi(incoming)) = module.inst(inst).map(|data| &data.kind) else {
                break;
            };
            let (own, rest): (Vec<_>, Vec<_>) =
                (incoming.iter().copied()).partition(|(_, block)| from.contains(block));
            let value = match own[..] {
                [(value, _)] => value,
                _ => Builder::at(module, new, loc).phi(ty, own),
            };
            values.insert(inst, value);
            others.insert(inst, rest.clone());
            let all = rest.into_iter().chain([(value, new)]).collect();
            if let Some(data) = module.inst_mut(inst) {
                data.kind = InstKind::Phi(all);
            }
        }
        for inst in computed {
            let ty = module.ty(inst);
            let Some(data) = module.inst(inst) else {
                continue;
            };
            let (mut kind, loc) = (data.kind.clone(), data.loc);
            kind.for_each_operand_mut(|operand| {
                *operand = values.get(operand).copied().unwrap_or(*operand);
            });
            let copy = module.push_inst(new, ty, kind, loc);
            values.insert(inst, copy);
        }
        Builder::at(module, new, loc).br(block);
        let passed: Vec<Block> = (others.values().next().into_iter().flatten())
            .map(|&(_, from)| from)
            .collect();
        for (select, otherwise) in selects {
            let old = |from: Block| {
                let incoming = others.get(&otherwise);
                let own = incoming.and_then(|all| all.iter().find(|(_, block)| *block == from));
                own.map_or(otherwise, |&(value, _)| value)
            };
            let mut incoming: Vec<(Value, Block)> =
                passed.iter().map(|&from| (old(from), from)).collect();
            incoming.push((values[&select], new));
            if let Some(data) = module.inst_mut(select) {
                data.kind = InstKind::Phi(incoming);
            }
            let insts = &mut module.block_mut(block).insts;
            if let Some(at) = insts.iter().position(|&inst| inst == select) {
                insts[..=at].rotate_right(1);
            }
        }
    }
}

/// Returns the operands of a conjunction.
fn conjuncts(module: &Module, value: Value) -> Option<[Value; 2]> {
    (module.types.int_bits(module.ty(value)) == Some(1)).then_some(())?;
    match module.inst(value)?.kind {
        InstKind::Bin {
            op: BinOp::And,
            lhs,
            rhs,
            ..
        } => Some([lhs, rhs]),
        InstKind::Select {
            cond,
            then,
            otherwise,
        } => is_zero(module, otherwise).then_some([cond, then]),
        _ => None,
    }
}

/// Returns whether a value is known where a block is entered.
fn is_available(module: &Module, block: Block, value: Value) -> bool {
    (module.inst(value))
        .is_none_or(|data| data.block != block || matches!(data.kind, InstKind::Phi(_)))
}

/// Adds an instruction of a block and what it is computed from in the block, in order. Returns `None`
/// if a copy would differ or they are many.
fn add_computation(
    module: &Module,
    block: Block,
    value: Value,
    computed: &mut Vec<Value>,
) -> Option<()> {
    if is_available(module, block, value) || computed.contains(&value) {
        return Some(());
    }
    let kind = &module.inst(value)?.kind;
    let is_pure = matches!(
        kind,
        InstKind::Bin { .. }
            | InstKind::Cast { .. }
            | InstKind::FCmp { .. }
            | InstKind::FNeg(_)
            | InstKind::Gep { .. }
            | InstKind::ICmp { .. }
            | InstKind::Select { .. }
    );
    if !is_pure {
        return None;
    }
    let mut operands = Vec::new();
    kind.for_each_operand(|operand| operands.push(operand));
    for operand in operands {
        add_computation(module, block, operand, computed)?;
    }
    computed.push(value);
    (computed.len() <= LARGEST).then_some(())
}
