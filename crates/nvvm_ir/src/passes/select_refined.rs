//! The pass `select_refined`.

use std::collections::HashMap;

use super::remove_unreachable_blocks::remove_unreachable_blocks_of;
use crate::builder::Builder;
use crate::inst::{Callee, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// The maximum number of instructions of the block that chooses.
const LARGEST: usize = 12;

/// Replaces a branch past a block that chooses again among the same values by selects.
///
/// `min_by_key` and the like choose `if new < best { new } else { best }` if there is a best element,
/// and `new` otherwise. Without the branch, each value is `if exists && best <= new { best } else {
/// new }`: one select, as in the block. LLVM keeps the branch if the block chooses several values, as
/// the key and the parts of an element, and the threads of a warp diverge there.
pub fn select_refined(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        select_in(module, func);
    }
}

fn select_in(module: &mut Module, func: Func) {
    let blocks = module.func(func).blocks.clone();
    let mut edges: HashMap<Block, usize> = HashMap::new();
    for &block in &blocks {
        let end = module.terminator(block).and_then(|inst| module.inst(inst));
        for to in end.map(|end| end.kind.successors()).unwrap_or_default() {
            *edges.entry(to).or_default() += 1;
        }
    }
    let mut changed = false;
    for block in blocks {
        if let Some(refined) = Refined::at(module, &edges, block) {
            refined.apply(module, block);
            changed = true;
        }
    }
    if changed {
        remove_unreachable_blocks_of(module, func);
    }
}

/// How a block chooses one of two values, of which one is the value without the block.
struct Choice {
    /// A comparison, or two values and how they compare if the block chooses the first one.
    cond: Result<Value, (IntPred, Value, Value)>,
    /// The value of the condition for which the block chooses the other value.
    holds: bool,
    other: Value,
}

/// A branch past a block that chooses.
struct Refined {
    arm: Block,
    join: Block,
    cond: Value,
    /// The value of the condition for which the block runs.
    runs: bool,
    /// The phis with the values without the block, and the choices.
    choices: Vec<(Value, Value, Choice)>,
}

impl Refined {
    fn at(module: &Module, edges: &HashMap<Block, usize>, block: Block) -> Option<Refined> {
        let &InstKind::CondBr {
            cond,
            then,
            otherwise,
        } = &module.inst(module.terminator(block)?)?.kind
        else {
            return None;
        };
        let leads = |arm: Block, join: Block| {
            let end = module.terminator(arm).and_then(|end| module.inst(end));
            edges.get(&arm) == Some(&1) && end.is_some_and(|end| end.kind.successors() == [join])
        };
        let (arm, join, runs) = match (leads(then, otherwise), leads(otherwise, then)) {
            (true, false) => (then, otherwise, true),
            (false, true) => (otherwise, then, false),
            _ => return None,
        };
        let data = module.block(arm);
        let is_marked = data.no_unroll || data.unroll_count.is_some();
        if is_marked || join == block || data.insts.len() > LARGEST {
            return None;
        }
        let (_, computed) = data.insts.split_last()?;
        if !computed.iter().all(|&inst| only_chooses(module, inst)) {
            return None;
        }
        let mut choices = Vec::new();
        for &phi in &module.block(join).insts {
            if !module.is_phi(phi) {
                break;
            }
            let without = module.incoming(phi, block)?;
            let with = module.incoming(phi, arm)?;
            if with != without {
                let choice = choice(module, arm, with, without)?;
                choices.push((phi, without, choice));
            }
        }
        (choices.len() > 1).then_some(Refined {
            arm,
            join,
            cond,
            runs,
            choices,
        })
    }

    fn apply(self, module: &mut Module, block: Block) {
        let Some(branch) = module.block_mut(block).insts.pop() else {
            return;
        };
        let loc = module.inst(branch).and_then(|data| data.loc);
        let insts = &mut module.block_mut(self.arm).insts;
        let computed: Vec<Value> = insts.drain(..insts.len() - 1).collect();
        for inst in computed {
            if let Some(data) = module.inst_mut(inst) {
                data.block = block;
            }
            module.block_mut(block).insts.push(inst);
        }
        let no = module.const_bool(false);
        let yes = module.const_bool(true);
        let mut conditions: HashMap<(Value, bool), Value> = HashMap::new();
        let mut compared: HashMap<(IntPred, Value, Value), Value> = HashMap::new();
        let mut selected = HashMap::new();
        for (phi, without, choice) in self.choices {
            let cond = match choice.cond {
                Ok(cond) => cond,
                Err(key @ (pred, lhs, rhs)) => *compared.entry(key).or_insert_with(|| {
                    find(module, block, key)
                        .unwrap_or_else(|| Builder::at(module, block, loc).icmp(pred, lhs, rhs))
                }),
            };
            let mut builder = Builder::at(module, block, loc);
            let chooses = *conditions.entry((cond, choice.holds)).or_insert_with(|| {
                let cond = match choice.holds {
                    true => cond,
                    false => builder.select(cond, no, yes),
                };
                // The comparison may be poison where the block does not run.
                match self.runs {
                    true => builder.select(self.cond, cond, no),
                    false => builder.select(self.cond, no, cond),
                }
            });
            let value = builder.select(chooses, choice.other, without);
            selected.insert(phi, value);
        }
        for inst in module.block(self.join).insts.clone() {
            if !module.is_phi(inst) {
                break;
            }
            if let Some(InstKind::Phi(incoming)) = module.inst_mut(inst).map(|it| &mut it.kind) {
                incoming.retain(|&(_, from)| from != self.arm);
                for (value, from) in incoming {
                    if *from == block
                        && let Some(&selected) = selected.get(&inst)
                    {
                        *value = selected;
                    }
                }
            }
        }
        Builder::at(module, block, loc).br(self.join);
    }
}

/// Returns whether an instruction compares or chooses.
fn only_chooses(module: &Module, inst: Value) -> bool {
    let Some(data) = module.inst(inst) else {
        return false;
    };
    let bits = module.types.int_bits(module.ty(inst));
    match &data.kind {
        InstKind::ICmp { .. } | InstKind::FCmp { .. } => bits == Some(1),
        InstKind::Select { .. } => bits.is_none_or(|bits| bits <= 64),
        InstKind::Call(_) => least(module, inst).is_some() && bits.is_some_and(|bits| bits <= 64),
        _ => false,
    }
}

/// Returns the operands of a minimum or maximum, and how they compare if it is the first one.
fn least(module: &Module, inst: Value) -> Option<(IntPred, Value, Value)> {
    let InstKind::Call(call) = &module.inst(inst)?.kind else {
        return None;
    };
    let pred = match call.callee {
        Callee::Intrinsic(Intrinsic::UMin) => IntPred::Ult,
        Callee::Intrinsic(Intrinsic::UMax) => IntPred::Ugt,
        Callee::Intrinsic(Intrinsic::SMin) => IntPred::Slt,
        Callee::Intrinsic(Intrinsic::SMax) => IntPred::Sgt,
        _ => return None,
    };
    match call.args[..] {
        [lhs, rhs] => Some((pred, lhs, rhs)),
        _ => None,
    }
}

/// Returns how a block chooses a value, if it is that without the block or another one.
fn choice(module: &Module, arm: Block, with: Value, without: Value) -> Option<Choice> {
    let data = module.inst(with).filter(|data| data.block == arm)?;
    let (cond, then, otherwise) = match data.kind {
        InstKind::Select {
            cond,
            then,
            otherwise,
        } => (Ok(cond), then, otherwise),
        _ => {
            let (pred, lhs, rhs) = least(module, with)?;
            (Err((pred, lhs, rhs)), lhs, rhs)
        }
    };
    let (other, holds) = match (then == without, otherwise == without) {
        (true, false) => (otherwise, false),
        (false, true) => (then, true),
        _ => return None,
    };
    Some(Choice { cond, holds, other })
}

/// Returns a comparison of a block.
fn find(module: &Module, block: Block, key: (IntPred, Value, Value)) -> Option<Value> {
    let mut insts = module.block(block).insts.iter().copied();
    insts.find(|&inst| match module.inst(inst).map(|data| &data.kind) {
        Some(&InstKind::ICmp { pred, lhs, rhs }) => (pred, lhs, rhs) == key,
        _ => false,
    })
}
