//! Rules about blocks, phis and dominance.

use super::{NOWHERE, Rule, Verifier};
use crate::flow::Flow;
use crate::inst::InstKind;
use crate::value::{Block, Func, Value, ValueKind};

impl Verifier<'_> {
    /// Checks rule 7. Returns whether the other checks may rely on it.
    pub(super) fn check_blocks(&mut self, func: Func) -> bool {
        let m = self.m;
        let before = self.errors.len();
        let name = m.func(func).name.as_str();
        let blocks = &m.func(func).blocks;
        for (index, &block) in blocks.iter().enumerate() {
            let slot = &mut self.block_index[block.0 as usize];
            if *slot != NOWHERE || m.block(block).func != func {
                let message = format!("the block `{}` occurs in two places", m.block(block).name);
                self.error(Rule::Blocks, Some(name), message);
            } else {
                *slot = index as u32;
            }
        }
        for &block in blocks {
            let label = m.block(block).name.as_str();
            for (at, &inst) in m.block(block).insts.iter().enumerate() {
                let Some(data) = m.inst(inst) else {
                    let message =
                        format!("the block `{label}` contains a value that is not an instruction");
                    self.error(Rule::Blocks, Some(name), message);
                    continue;
                };
                if data.block != block || self.position[inst.index()] != NOWHERE {
                    self.inst_error(Rule::Blocks, inst, "the instruction occurs in two places");
                }
                self.position[inst.index()] = at as u32;
                if data.kind.is_terminator() && at + 1 != m.block(block).insts.len() {
                    self.inst_error(
                        Rule::Blocks,
                        inst,
                        "a terminator that is not the last instruction",
                    );
                }
            }
            let Some(last) = m.terminator(block) else {
                let message = format!("the block `{label}` has no terminator");
                self.error(Rule::Blocks, Some(name), message);
                continue;
            };
            if let Some(data) = m.inst(last) {
                for to in data.kind.successors() {
                    if self.index_of(to).is_none() {
                        self.inst_error(
                            Rule::Blocks,
                            last,
                            "a branch to a block of another function",
                        );
                    } else if to == blocks[0] {
                        self.inst_error(Rule::Blocks, last, "a branch to the entry block");
                    }
                }
            }
        }
        self.errors.len() == before
    }

    fn index_of(&self, block: Block) -> Option<usize> {
        let index = *self.block_index.get(block.0 as usize)?;
        (index != NOWHERE).then_some(index as usize)
    }

    /// Checks rules 8 and 9.
    pub(super) fn check_flow(&mut self, func: Func) {
        let m = self.m;
        let flow = Flow::new(m, func, |block| self.block_index[block.0 as usize] as usize);
        for (index, &block) in m.func(func).blocks.iter().enumerate() {
            let mut phis = true;
            for &inst in &m.block(block).insts {
                if self.full() {
                    return;
                }
                let Some(data) = m.inst(inst) else { continue };
                if let InstKind::Phi(incoming) = &data.kind {
                    if !phis {
                        self.inst_error(Rule::Phis, inst, "a phi after other instructions");
                    }
                    self.check_phi(inst, incoming, flow.predecessors(index));
                    for &(value, from) in incoming {
                        if let Some(from) = self.index_of(from)
                            && flow.is_reachable(from)
                            && !self.defined_at(&flow, value, from, u32::MAX)
                        {
                            let message = "a value does not dominate its edge";
                            self.inst_error(Rule::Dominance, inst, message);
                        }
                    }
                    continue;
                }
                phis = false;
                if flow.is_reachable(index) {
                    let mut bad = false;
                    let at = self.position[inst.index()];
                    data.kind
                        .for_each_operand(|v| bad |= !self.defined_at(&flow, v, index, at));
                    if bad {
                        self.inst_error(
                            Rule::Dominance,
                            inst,
                            "an operand does not dominate its use",
                        );
                    }
                }
            }
        }
    }

    /// Returns whether a value is defined at a position in a block.
    fn defined_at(&self, flow: &Flow, value: Value, block: usize, at: u32) -> bool {
        match &self.m.value(value).kind {
            ValueKind::Param(func, _) => *func == self.func,
            ValueKind::Inst(data) => {
                let Some(home) = self.index_of(data.block) else {
                    return false;
                };
                let position = self.position[value.index()];
                if position == NOWHERE {
                    false
                } else if home == block {
                    position < at
                } else {
                    flow.dominates(home, block)
                }
            }
            _ => true,
        }
    }

    fn check_phi(&mut self, phi: Value, incoming: &[(Value, Block)], predecessors: &[u32]) {
        let mut from: Vec<u32> = incoming
            .iter()
            .map(|(_, block)| self.index_of(*block).map_or(NOWHERE, |index| index as u32))
            .collect();
        from.sort_unstable();
        if from != predecessors {
            let message = "the phi's blocks are not the predecessors";
            self.inst_error(Rule::Phis, phi, message);
        }
        let mut sorted = incoming.to_vec();
        sorted.sort_unstable_by_key(|(_, block)| *block);
        if sorted
            .windows(2)
            .any(|pair| pair[0].1 == pair[1].1 && pair[0].0 != pair[1].0)
        {
            self.inst_error(Rule::Phis, phi, "two values for edges from one block");
        }
    }
}
