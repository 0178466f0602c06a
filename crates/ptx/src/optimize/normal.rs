//! Omits the treatment of subnormal numbers where an operand is known to be none.
//!
//! `rsqrt.approx`, `sqrt.approx` and `lg2.approx` scale a subnormal operand up, and the result back:
//! three more instructions. With `.ftz`, they take such an operand for zero instead, and have the
//! same result for any other. A squared distance with a softening term, for example, is at least as
//! large as that term.

use crate::hash::HashMap;

use super::flow::Graph;
use super::instructions::{instructions, results};
use crate::{Instruction, Operand, Statement};

/// Opcodes of functions that differ only for subnormal operands if they have `.ftz`.
const FUNCTIONS: &[&str] = &["lg2", "rsqrt", "sqrt"];

/// Changes the functions of a body. Returns the number of changed ones.
pub(super) fn assume(graph: &mut Graph<'_>) -> usize {
    let mut count = 0;
    for block in &mut graph.blocks {
        // The values of registers are at least these numbers, which are not negative, or NaN.
        let mut least: HashMap<&str, f32> = HashMap::default();
        for statement in &mut block.body {
            if let Statement::Instruction(it) = statement
                && FUNCTIONS.contains(&it.opcode)
                && it.modifiers == ["approx", "f32"]
                && let Some(Operand::Name(operand)) = it.operands.get(1)
                && least
                    .get(operand)
                    .is_some_and(|it| *it >= f32::MIN_POSITIVE)
            {
                it.modifiers.insert(1, "ftz");
                count += 1;
            }
            let result = match statement {
                Statement::Instruction(it) if it.guard.is_none() => result_of(it, &least),
                _ => None,
            };
            instructions(statement, &mut |it| {
                results(it, &mut |name| _ = least.remove(name));
            });
            if let Some((name, number)) = result {
                least.insert(name, number);
            }
        }
    }
    count
}

/// Returns the register that an instruction writes, with a lower bound of its value that is not
/// negative. All instructions round correctly, so their results are monotonic.
fn result_of<'a>(it: &Instruction<'a>, least: &HashMap<&'a str, f32>) -> Option<(&'a str, f32)> {
    let [Operand::Name(result), sources @ ..] = &it.operands[..] else {
        return None;
    };
    let constant = |operand: &Operand<'a>| match operand {
        Operand::F32(bits) => Some(f32::from_bits(*bits)).filter(|it| *it >= 0.0),
        _ => None,
    };
    let of = |operand: &Operand<'a>| match operand {
        Operand::Name(name) => least.get(name).copied(),
        _ => constant(operand),
    };
    let is_square = |a: &Operand<'a>, b: &Operand<'a>| match (a, b) {
        (Operand::Name(a), Operand::Name(b)) => a == b,
        _ => false,
    };
    // The product of squares may be rounded to zero.
    let product = |a, b| match (is_square(a, b), of(a), of(b)) {
        (_, Some(a), Some(b)) => Some(a * b),
        (true, ..) => Some(0.0),
        _ => None,
    };
    let number = match (it.opcode, &it.modifiers[..], sources) {
        ("mov", ["f32"], [a]) => of(a),
        ("abs", ["f32"], [a]) => Some(of(a).unwrap_or(0.0)),
        ("add", ["f32"] | ["rn", "f32"], [a, b]) => Some(of(a)? + of(b)?),
        ("mul", ["f32"] | ["rn", "f32"], [a, b]) => product(a, b),
        // The product is not negative.
        ("fma", ["rn", "f32"], [a, b, c]) => product(a, b).and(of(c)),
        // If one operand is NaN, the result is the other.
        ("max", ["f32"], [a, b]) => match (constant(a).or(constant(b)), of(a), of(b)) {
            (Some(number), ..) => Some(number),
            (None, Some(a), Some(b)) => Some(a.min(b)),
            _ => None,
        },
        ("min", ["f32"], [a, b]) => Some(of(a)?.min(of(b)?)),
        _ => None,
    };
    // The product of the bounds 0 and infinity is none.
    let number = number.filter(|it| !it.is_nan())?;
    Some((result, number))
}
