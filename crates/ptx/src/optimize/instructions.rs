//! Registers that an instruction reads and writes, and its effects.

use crate::dead::visit_operand;
use crate::{Instruction, Operand, Statement};

/// Opcodes that compute the first operand from the others and have no other effect, sorted.
const PURE: &[&str] = &[
    "abs", "add", "and", "bfe", "bfi", "bfind", "brev", "clz", "cnot", "copysign", "cos", "cvt",
    "cvta", "div", "dp2a", "dp4a", "ex2", "fma", "fns", "isspacep", "lg2", "lop3", "mad", "mad24",
    "max", "min", "mov", "mul", "mul24", "neg", "not", "or", "popc", "prmt", "rcp", "rem", "rsqrt",
    "sad", "selp", "set", "setp", "shf", "shl", "shr", "sin", "slct", "sqrt", "sub", "tanh",
    "testp", "xor",
];

/// The same as numbers, which compare faster than strings.
const PURE_WORDS: [u64; PURE.len()] = {
    let mut words = [0; PURE.len()];
    let mut index = 0;
    while index < words.len() {
        words[index] = word(PURE[index]);
        index += 1;
    }
    words
};

/// Returns the bytes of an opcode of at most eight as a number in the same order.
const fn word(opcode: &str) -> u64 {
    let bytes = opcode.as_bytes();
    let mut word = 0;
    let mut index = 0;
    while index < bytes.len() {
        word |= (bytes[index] as u64) << (56 - 8 * index);
        index += 1;
    }
    word
}

/// Returns whether an opcode computes the first operand from the others and has no other effect.
fn is_pure_opcode(opcode: &str) -> bool {
    opcode.len() <= 8 && PURE_WORDS.binary_search(&word(opcode)).is_ok()
}

/// Returns whether an opcode accesses memory and does not affect the control flow of other threads.
fn is_access(opcode: &str) -> bool {
    matches!(
        opcode,
        "atom" | "ld" | "ldu" | "prefetch" | "prefetchu" | "red" | "st"
    )
}

/// Returns whether an opcode has no result.
fn has_no_result(opcode: &str) -> bool {
    matches!(opcode, "prefetch" | "prefetchu" | "red" | "st")
}

/// Returns whether an instruction only computes its result from its operands. Special registers
/// such as `%clock` do not count as operands.
pub(super) fn is_pure(instruction: &Instruction<'_>) -> bool {
    let special = |operand: &Operand<'_>| match operand {
        Operand::Name(name) => is_special(name),
        _ => false,
    };
    instruction.guard.is_none()
        && is_pure_opcode(instruction.opcode)
        && !instruction.modifiers.contains(&"cc")
        && !instruction.operands.iter().any(special)
        && !matches!(instruction.operands.first(), Some(Operand::Pair(_)) | None)
}

/// Returns whether a copy of an instruction on another path has the same effect. Operations among
/// threads, calls and unknown instructions do not.
pub(super) fn can_be_copied(instruction: &Instruction<'_>) -> bool {
    let opcode = instruction.opcode;
    (is_pure_opcode(opcode) || is_access(opcode)) && !instruction.modifiers.contains(&"cc")
}

/// Returns whether an instruction exchanges values between the lanes of a warp.
pub(super) fn is_among_lanes(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.opcode, "match" | "redux" | "shfl" | "vote")
}

/// Returns whether an instruction loads a parameter.
pub(super) fn is_parameter(instruction: &Instruction<'_>) -> bool {
    instruction.opcode == "ld" && instruction.modifiers.first() == Some(&"param")
}

/// Returns whether the first operand of an instruction is its result, as [`results`] and [`sources`]
/// assume. That of a barrier or an unknown instruction may be read.
pub(super) fn has_result(instruction: &Instruction<'_>) -> bool {
    let is_reduction =
        matches!(instruction.opcode, "bar" | "barrier") && instruction.modifiers.contains(&"red");
    let is_among_threads = matches!(
        instruction.opcode,
        "activemask" | "elect" | "ldmatrix" | "match" | "mma" | "redux" | "shfl" | "tex" | "vote"
    );
    can_be_copied(instruction) || is_among_threads || is_reduction
}

/// Returns whether an instruction writes memory, or reads memory with an ordering.
pub(super) fn has_effect(instruction: &Instruction<'_>) -> bool {
    const ORDERED: &[&str] = &["acquire", "mmio", "relaxed", "volatile"];
    let access = is_access(instruction.opcode);
    let plain_load =
        instruction.opcode == "ld" && !instruction.modifiers.iter().any(|m| ORDERED.contains(m));
    access && !plain_load
}

/// Returns whether a special register changes over time.
fn is_special(name: &str) -> bool {
    // Most names are those of registers.
    matches!(
        name.as_bytes(),
        [b'%', b'c' | b'g' | b'p' | b's' | b'w', ..]
    ) && ["%clock", "%globaltimer", "%pm", "%smid", "%warpid"]
        .iter()
        .any(|special| name.starts_with(special))
}

/// Calls `visit` with each register that the instruction writes.
pub(crate) fn results<'a>(instruction: &Instruction<'a>, visit: &mut impl FnMut(&'a str)) {
    if has_no_result(instruction.opcode) {
        return;
    }
    if let Some(result) = instruction.operands.first()
        && !matches!(result, Operand::Address(..))
    {
        visit_operand(result, visit);
    }
}

/// Calls `visit` with each register (and other name) that the instruction reads.
pub(crate) fn sources<'a>(instruction: &Instruction<'a>, visit: &mut impl FnMut(&'a str)) {
    if let Some(guard) = instruction.guard {
        visit(guard.register);
    }
    let results = usize::from(!has_no_result(instruction.opcode));
    for (index, operand) in instruction.operands.iter().enumerate() {
        // A guarded instruction may leave its result unchanged, and an address operand is read.
        if index >= results
            || instruction.guard.is_some()
            || matches!(operand, Operand::Address(..))
        {
            visit_operand(operand, visit);
        }
    }
}

/// Calls `visit` with each instruction of a statement, including nested blocks.
pub(crate) fn instructions<'s, 'a>(
    statement: &'s Statement<'a>,
    visit: &mut impl FnMut(&'s Instruction<'a>),
) {
    match statement {
        Statement::Instruction(instruction) => visit(instruction),
        Statement::Block(inner) => inner.iter().for_each(|s| instructions(s, visit)),
        _ => {}
    }
}

/// Replaces each name in an operand.
pub(super) fn rename_operand<'a>(
    operand: &mut Operand<'a>,
    to: &mut impl FnMut(&'a str) -> &'a str,
) {
    match operand {
        Operand::Name(name) | Operand::Part(name, _) | Operand::NameOffset(name, _) => {
            *name = to(name);
        }
        Operand::Address(crate::Base::Name(name), _) => *name = to(name),
        Operand::Compound(all) | Operand::Vector(all) | Operand::List(all) => {
            all.iter_mut()
                .for_each(|operand| rename_operand(operand, to));
        }
        Operand::Pair(pair) => {
            rename_operand(&mut pair.0, to);
            rename_operand(&mut pair.1, to);
        }
        Operand::Not(inner) => rename_operand(inner, to),
        Operand::Integer(_) | Operand::F32(_) | Operand::F64(_) | Operand::Address(..) => {}
    }
}

/// Replaces each name in an instruction.
pub(crate) fn rename<'a>(
    instruction: &mut Instruction<'a>,
    to: &mut impl FnMut(&'a str) -> &'a str,
) {
    if let Some(guard) = &mut instruction.guard {
        guard.register = to(guard.register);
    }
    for operand in &mut instruction.operands {
        rename_operand(operand, to);
    }
}

/// Returns whether a special register has the same value in all threads of a block.
pub(super) fn is_same_in_block(special: &str) -> bool {
    ["%ctaid.", "%nctaid.", "%ntid."]
        .iter()
        .any(|of_grid| special.starts_with(of_grid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_found() {
        assert!(PURE.is_sorted() && PURE_WORDS.is_sorted());
        assert!(PURE.iter().all(|opcode| is_pure_opcode(opcode)));
        for opcode in ["", "a", "addc", "ld", "zzzzzzzzz", "copysignx"] {
            assert!(!is_pure_opcode(opcode), "{opcode}");
        }
    }

    #[test]
    fn special_registers_that_change() {
        for name in ["%clock64", "%globaltimer_lo", "%pm0", "%smid", "%warpid"] {
            assert!(is_special(name), "{name}");
        }
        for name in ["", "%", "%p1", "%r7", "%tid.x", "clock"] {
            assert!(!is_special(name), "{name}");
        }
    }
}
