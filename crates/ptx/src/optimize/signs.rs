//! Computes absolute values and negations of floats as such.
//!
//! LLVM computes them with a bit operation if it has the bits of the float in an integer register:
//! that of a vector load, or of inline assembly that converts from fp16. GPUs have no instruction
//! for `abs` and `neg`: most instructions on floats can change the signs of their operands.
//!
//! `abs` and `neg` do not keep the payload of a NaN, so only operands of instructions for which all
//! NaN are the same are replaced.

use crate::hash::{HashMap, HashSet};

use super::definitions;
use super::flow::Graph;
use super::instructions::{has_result, sources};
use super::liveness;
use super::names::Names;
use crate::dead::visit_operand;
use crate::rewrite::instruction;
use crate::{Instruction, Operand, Statement, Type};

/// Opcodes of instructions on floats whose result does not depend on the sign or the payload of a
/// NaN.
const ARITHMETIC: &[&str] = &[
    "add", "div", "ex2", "fma", "lg2", "mad", "max", "min", "mul", "rcp", "rsqrt", "setp", "sqrt",
    "sub", "tanh",
];

/// Replaces the bit operations of a function. Returns the number of replaced ones.
pub(super) fn replace<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    // The registers with bits of floats whose signs are changed.
    let mut changed: HashMap<&'a str, Sign> = HashMap::default();
    // The registers that instructions other than arithmetic read.
    let mut exact: HashSet<&'a str> = HashSet::default();
    graph.visit(0..graph.blocks.len(), &mut |it| {
        if let (Some(sign), Some(&Operand::Name(result))) = (Sign::of(it), it.operands.first()) {
            changed.insert(result, sign);
        }
        if !is_arithmetic(it) {
            sources(it, &mut |name| _ = exact.insert(name));
            if !has_result(it) {
                it.operands.iter().for_each(|operand| {
                    visit_operand(operand, &mut |name| _ = exact.insert(name));
                });
            }
        }
    });
    if changed.is_empty() {
        return 0;
    }
    let all = vec![false; graph.blocks.len()];
    let counts = definitions(graph, &all);
    changed.retain(|name, _| counts.get(name) == Some(&1));
    // A float in `%f1` whose bits are in `%r1`: `mov.b32 %f1, %r1`.
    let float = |it: &Instruction<'a>| match it.operands[..] {
        [Operand::Name(to), Operand::Name(bits)] => {
            let sign = *changed.get(bits)?;
            let is_float =
                it.opcode == "mov" && it.modifiers == [sign.bits()] && it.guard.is_none();
            (is_float && !exact.contains(to)).then_some((to, bits, sign))
        }
        _ => None,
    };
    let mut moved: HashSet<&'a str> = HashSet::default();
    graph.visit(0..graph.blocks.len(), &mut |it| {
        moved.extend(float(it).map(|(_, bits, _)| bits));
    });
    if moved.is_empty() {
        return 0;
    }
    let floats: HashMap<&'a str, &'a str> = (moved.iter())
        .map(|&bits| (bits, graph.register(changed[bits].float(), names)))
        .collect();
    for id in 0..graph.blocks.len() {
        let body = std::mem::take(&mut graph.blocks[id].body);
        let mut replaced = Vec::with_capacity(body.len());
        for statement in body {
            let Statement::Instruction(it) = &statement else {
                replaced.push(statement);
                continue;
            };
            if let Some((to, bits, sign)) = float(it)
                && let Some(&from) = floats.get(bits)
            {
                let operands = [to, from].map(Operand::Name).to_vec();
                replaced.push(instruction("mov", &[sign.float().name()], operands));
                continue;
            }
            let change = match (Sign::of(it), &it.operands[..]) {
                (Some(sign), [Operand::Name(bits), from, _]) => {
                    floats.get(bits).map(|&to| (sign, to, from.clone()))
                }
                _ => None,
            };
            if let Some((sign, to, from)) = change {
                let ty = sign.float();
                let before = graph.emit(names, &mut replaced, ty, "mov", &[sign.bits()], [from]);
                let operands = [to, before].map(Operand::Name).to_vec();
                replaced.push(instruction(sign.opcode, &[ty.name()], operands));
            }
            replaced.push(statement);
        }
        graph.blocks[id].body = replaced;
    }
    // The bits are mostly not used any more.
    let blocks = graph.order.clone();
    liveness::remove_dead(graph, &blocks);
    moved.len()
}

/// A change of the sign of a float.
#[derive(Clone, Copy, Debug)]
struct Sign {
    /// `abs` or `neg`.
    opcode: &'static str,
    /// Whether the float has 64 bits.
    wide: bool,
}

impl Sign {
    /// Returns the change of a sign that an instruction computes on the bits of a float.
    fn of(it: &Instruction<'_>) -> Option<Sign> {
        let [_, Operand::Name(_), Operand::Integer(mask)] = &it.operands[..] else {
            return None;
        };
        let wide = match it.modifiers[..] {
            ["b32"] => false,
            ["b64"] => true,
            _ => return None,
        };
        let mask = if wide { mask.bits } else { mask.bits << 32 };
        let rest = if wide { u64::MAX } else { u64::MAX << 32 };
        let sign = 1 << 63;
        let opcode = match it.opcode {
            "and" if mask == rest ^ sign => "abs",
            "xor" if mask == sign => "neg",
            _ => return None,
        };
        it.guard.is_none().then_some(Sign { opcode, wide })
    }

    /// Returns the name of the type of the bits.
    fn bits(self) -> &'static str {
        if self.wide { "b64" } else { "b32" }
    }

    /// Returns the type of the float.
    fn float(self) -> Type {
        if self.wide { Type::F64 } else { Type::F32 }
    }
}

/// Returns whether the result of an instruction does not depend on the sign or the payload of an
/// operand that is NaN.
fn is_arithmetic(it: &Instruction<'_>) -> bool {
    match it.modifiers[..] {
        [.., to, "f32" | "f64"] if it.opcode == "cvt" => to.starts_with(['s', 'u']),
        [.., "f32" | "f64"] => {
            ARITHMETIC.contains(&it.opcode) && !it.modifiers.contains(&"xorsign")
        }
        _ => false,
    }
}
