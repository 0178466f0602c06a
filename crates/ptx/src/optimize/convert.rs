//! Converts 16-bit integers to floats through 32 bits.
//!
//! Since sm_90, GPUs convert 32-bit integers to `f32` with full throughput. libnvvm converts a `u8`
//! from 16 bits, which a slower unit does.

use super::flow::Graph;
use super::names::Names;
use crate::{Operand, Statement, Type};

/// Replaces the conversions of a function. Returns the number of replacements.
pub(super) fn widen<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let mut count = 0;
    for id in graph.order.clone() {
        let mut body = Vec::new();
        for mut statement in std::mem::take(&mut graph.blocks[id].body) {
            if let Statement::Instruction(it) = &mut statement
                && it.guard.is_none()
                && it.opcode == "cvt"
                && let ["rn", "f32", from @ ("u16" | "s16")] = it.modifiers[..]
                && let [Operand::Name(_), source @ Operand::Name(_)] = &mut it.operands[..]
            {
                let to = if from == "u16" { "u32" } else { "s32" };
                let narrow = [source.clone()];
                let wide = graph.emit(names, &mut body, Type::B32, "cvt", &[to, from], narrow);
                *source = Operand::Name(wide);
                it.modifiers[2] = to;
                count += 1;
            }
            body.push(statement);
        }
        graph.blocks[id].body = body;
    }
    count
}
