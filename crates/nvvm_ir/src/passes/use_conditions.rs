//! The pass `use_conditions`.

use std::collections::HashMap;

use super::unroll_divergent_loops::users;
use crate::flow::Flow;
use crate::inst::{BinOp, CastOp, InstKind};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// Replaces numbers that a branch decides by constants behind the branch.
///
/// Of `next` of a slice's iterator, LLVM makes `next = address + (address != end)`, and then a branch
/// on the same comparison. libnvvm does not find out that `next` is `address + 1` behind the branch,
/// so it keeps a selection and a 64-bit addition for each element, and does not recognize the counter.
pub fn use_conditions(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let mut state: Option<(Flow, HashMap<Value, Vec<Value>>)> = None;
        for (at, &block) in blocks.iter().enumerate() {
            let kind = module.terminator(block).and_then(|last| module.inst(last));
            let Some(&InstKind::CondBr {
                cond,
                then,
                otherwise,
            }) = kind.map(|data| &data.kind)
            else {
                continue;
            };
            if then == otherwise || module.inst(cond).is_none() {
                continue;
            }
            let (flow, users) = state.get_or_insert_with(|| {
                let flow = Flow::new(module, func, |block| index[&block]);
                (flow, users(module, func))
            });
            if !flow.is_reachable(at) {
                continue;
            }
            let mut changes = Vec::new();
            for (to, holds) in [(then, true), (otherwise, false)] {
                if flow.predecessors(index[&to]) == [at as u32] {
                    let way = Way {
                        flow,
                        index: &index,
                        users,
                        to,
                        holds,
                    };
                    way.find(module, cond, &mut changes);
                }
            }
            if !changes.is_empty() {
                for change in changes {
                    change.apply(module);
                }
                // The blocks are the same.
                *users = self::users(module, func);
            }
        }
    }
}

/// The code behind a branch on a condition.
struct Way<'a> {
    flow: &'a Flow,
    index: &'a HashMap<Block, usize>,
    users: &'a HashMap<Value, Vec<Value>>,
    /// The block to which the branch leads.
    to: Block,
    /// Whether the condition holds there.
    holds: bool,
}

/// A value to replace behind a branch.
struct Change {
    /// The value to replace.
    old: Value,
    /// The value that decides it, and the value of that one behind the branch.
    decided: Value,
    by: Decided,
    /// The block to which the branch leads.
    to: Block,
    /// The users, with the block from which a phi takes the value.
    uses: Vec<(Value, Option<Block>)>,
}

/// A value behind a branch.
#[derive(Clone, Copy)]
enum Decided {
    Int(u128),
    Value(Value),
}

impl Way<'_> {
    /// Adds the changes for what a condition decides.
    fn find(&self, module: &Module, cond: Value, changes: &mut Vec<Change>) {
        for &user in self.users.get(&cond).into_iter().flatten() {
            let by = match module.inst(user).map(|data| &data.kind) {
                Some(&InstKind::Cast {
                    op: op @ (CastOp::ZExt | CastOp::SExt),
                    value,
                }) if value == cond => {
                    let Some(bits) = module.types.int_bits(module.ty(user)) else {
                        continue;
                    };
                    Decided::Int(match (self.holds, op) {
                        (false, _) => 0,
                        (true, CastOp::ZExt) => 1,
                        (true, _) => u128::MAX >> (128 - bits),
                    })
                }
                Some(&InstKind::Select {
                    cond: by,
                    then,
                    otherwise,
                }) if by == cond => Decided::Value(if self.holds { then } else { otherwise }),
                _ => continue,
            };
            self.add(module, user, user, by, changes);
            for &sum in self.users.get(&user).into_iter().flatten() {
                let is_sum = matches!(
                    module.inst(sum).map(|data| &data.kind),
                    Some(
                        InstKind::Gep { .. }
                            | InstKind::Bin {
                                op: BinOp::Add | BinOp::Sub,
                                ..
                            }
                    )
                );
                // The sum remains if something else uses it, so that there would be two.
                if is_sum && self.uses(module, sum).len() == self.count(sum) {
                    self.add(module, sum, user, by, changes);
                }
            }
        }
    }

    /// Adds the change of a value.
    fn add(
        &self,
        module: &Module,
        old: Value,
        decided: Value,
        by: Decided,
        changes: &mut Vec<Change>,
    ) {
        // The operands of what is computed before the branch are available behind it.
        let data = module.inst(old).filter(|data| {
            let from = self.index[&data.block];
            data.block != self.to && self.flow.dominates(from, self.index[&self.to])
        });
        let uses = self.uses(module, old);
        if data.is_some() && !uses.is_empty() {
            changes.push(Change {
                old,
                decided,
                by,
                to: self.to,
                uses,
            });
        }
    }

    /// Returns the number of users of a value.
    fn count(&self, value: Value) -> usize {
        self.users.get(&value).map_or(0, Vec::len)
    }

    /// Returns the uses of a value behind the branch.
    fn uses(&self, module: &Module, value: Value) -> Vec<(Value, Option<Block>)> {
        let behind = |block: Block| {
            let at = self.index[&block];
            self.flow.is_reachable(at) && self.flow.dominates(self.index[&self.to], at)
        };
        let mut uses = Vec::new();
        let mut seen = Vec::new();
        for &user in self.users.get(&value).into_iter().flatten() {
            // An instruction with several uses of a value is there several times.
            if seen.contains(&user) {
                continue;
            }
            seen.push(user);
            let Some(data) = module.inst(user) else {
                continue;
            };
            match &data.kind {
                InstKind::Phi(incoming) => {
                    let own = incoming.iter().filter(|(own, _)| *own == value);
                    uses.extend(
                        own.filter(|(_, from)| behind(*from))
                            .map(|&(_, from)| (user, Some(from))),
                    );
                }
                kind if behind(data.block) => {
                    kind.for_each_operand(|operand| {
                        if operand == value {
                            uses.push((user, None));
                        }
                    });
                }
                _ => {}
            }
        }
        uses
    }
}

impl Change {
    fn apply(self, module: &mut Module) {
        let by = match self.by {
            Decided::Int(value) => {
                let ty = module.ty(self.decided);
                module.const_int(ty, value)
            }
            Decided::Value(value) => value,
        };
        let new = if self.old == self.decided {
            by
        } else {
            let Some(data) = module.inst(self.old) else {
                return;
            };
            let (mut kind, loc) = (data.kind.clone(), data.loc);
            kind.for_each_operand_mut(|operand| {
                if *operand == self.decided {
                    *operand = by;
                }
            });
            let ty = module.ty(self.old);
            let insts = module.block(self.to).insts.iter();
            let place = insts.take_while(|&&inst| module.is_phi(inst)).count();
            let new = module.push_inst(self.to, ty, kind, loc);
            module.block_mut(self.to).insts[place..].rotate_right(1);
            new
        };
        for (user, from) in self.uses {
            let Some(data) = module.inst_mut(user) else {
                continue;
            };
            match (&mut data.kind, from) {
                (InstKind::Phi(incoming), Some(from)) => {
                    for (value, block) in incoming {
                        if *value == self.old && *block == from {
                            *value = new;
                        }
                    }
                }
                (kind, _) => kind.for_each_operand_mut(|operand| {
                    if *operand == self.old {
                        *operand = new;
                    }
                }),
            }
        }
    }
}
