//! Conversions between floats and 64-bit integers in the copy of a kernel's body.
//!
//! GPUs convert floats to 32-bit integers several times as fast as to 64 bits. In `x as usize`, the
//! integer is mostly compared with a length, or limited by one: then a conversion that saturates at
//! 2³² - 1 has the same effect, since lengths are smaller in the copy. A filter also adds numbers
//! before it limits the integer, as in `(x as usize + 2).saturating_sub(1).min(width - 1)`. Then the
//! conversion saturates further below, so that no sum in 32 bits wraps around that does not in 64.

use crate::hash::{HashMap, HashSet};

use super::flow::Graph;
use super::names::Names;
use super::specialize::BOUND;
use crate::{Instruction, Integer, Operand, Statement, Type};

/// A float converted to an integer, with the value 0 for NaN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion<'a> {
    /// The register with the integer.
    pub result: &'a str,
    /// The register with the result of the conversion, which is unspecified for NaN.
    pub value: &'a str,
    /// The type of the float.
    pub ty: &'a str,
    /// The register with the float.
    pub float: &'a str,
    /// The predicate that the float is NaN, or that it is not (`false`).
    pub nan: (&'a str, bool),
}

impl<'a> Conversion<'a> {
    /// Returns the conversion to an integer type whose result an instruction selects. `single` are
    /// the registers that one instruction writes.
    pub fn of(
        single: &HashMap<&'a str, Instruction<'a>>,
        it: &Instruction<'a>,
        to: &str,
    ) -> Option<Conversion<'a>> {
        let plain = |it: &Instruction<'a>| it.guard.is_none();
        let [Operand::Name(result), a, b, Operand::Name(condition)] = &it.operands[..] else {
            return None;
        };
        if !plain(it)
            || !matches!(
                (it.opcode, &it.modifiers[..]),
                ("selp", ["b64" | "u64" | "s64"])
            )
        {
            return None;
        }
        let test = single.get(condition).filter(|it| plain(it))?;
        let (float, ty, is_nan) = match (test.opcode, &test.modifiers[..], &test.operands[..]) {
            (
                "setp",
                [relation @ ("nan" | "num"), ty @ ("f32" | "f64")],
                [_, Operand::Name(a), Operand::Name(b)],
            ) if a == b => (*a, *ty, *relation == "nan"),
            _ => return None,
        };
        let (zero, value) = if is_nan { (a, b) } else { (b, a) };
        let (Operand::Integer(Integer { bits: 0, .. }), Operand::Name(value)) = (zero, value)
        else {
            return None;
        };
        let conversion = single.get(value).filter(|it| plain(it))?;
        match (
            conversion.opcode,
            &conversion.modifiers[..],
            &conversion.operands[..],
        ) {
            ("cvt", ["rzi", integer, of], [_, Operand::Name(from)])
                if (*integer, *of, *from) == (to, ty, float) => {}
            _ => return None,
        }
        Some(Conversion {
            result,
            value,
            ty,
            float,
            nan: (condition, is_nan),
        })
    }

    /// Appends the conversion to a 32-bit type, which saturates. Returns the register with the
    /// result.
    pub fn emit_word(
        &self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        to: &mut Vec<Statement<'a>>,
        word: &'a str,
    ) -> &'a str {
        let float = Operand::Name(self.float);
        let word = graph.emit(
            names,
            to,
            Type::B32,
            "cvt",
            &["rzi", word, self.ty],
            [float],
        );
        if self.ty == "f32" {
            return word;
        }
        // PTX ISA, `cvt`: NaN becomes 0, except if the float has 64 bits.
        let (condition, is_nan) = self.nan;
        let zero = Operand::Integer(Integer::unsigned(0));
        let (a, b) = match is_nan {
            true => (zero, Operand::Name(word)),
            false => (Operand::Name(word), zero),
        };
        let operands = [a, b, Operand::Name(condition)];
        graph.emit(names, to, Type::B32, "selp", &["b32"], operands)
    }
}

/// What is known about registers that hold floats converted to `u64`.
#[derive(Clone, Debug, Default)]
pub(super) struct Floats<'a> {
    /// The results of conversions, which are unspecified for NaN, with the float's type and register.
    converted: HashMap<&'a str, (&'a str, &'a str)>,
    /// The predicates that a float is NaN, or that it is not (`false`).
    nan: HashMap<&'a str, (&'a str, bool)>,
    /// The results of `x as u64`, with the register that has those of `x as u32`.
    saturated: HashMap<&'a str, &'a str>,
    /// Sums of such results and numbers, and selections of them.
    shifted: HashMap<&'a str, Shifted<'a>>,
}

/// A 32-bit register for a 64-bit one. Either it is the lower half of the integer, which has 32 bits
/// with sign, or both are at least [`LARGE`], and the integer is less than 2⁶⁴ - 2 [`OFFSET`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shifted<'a> {
    register: &'a str,
    /// The maximum absolute value of the sum of the numbers that have been added.
    offset: u64,
}

/// The least value of an integer that 32 bits do not hold exactly.
const LARGE: u64 = (1 << 31) - 4 * OFFSET;

/// The maximum offset. A float below 2⁶⁴ is at most 2⁶⁴ - 2048, so a sum of such a float and numbers
/// is only negative, as a signed number, if it is large.
const OFFSET: u64 = 512;

/// Returns the registers to which a number is added, or that are compared with one for equality.
pub(super) fn shifted<'a>(graph: &Graph<'a>) -> HashSet<&'a str> {
    let mut found = HashSet::default();
    graph.visit(graph.order.iter().copied(), &mut |it| {
        let is_shift = matches!(
            (it.opcode, &it.modifiers[..]),
            ("add", ["s64" | "u64"]) | ("setp", ["eq" | "ne", "s64" | "u64" | "b64"])
        );
        if let ([_, Operand::Name(name), Operand::Integer(_)], true) = (&it.operands[..], is_shift)
        {
            found.insert(*name);
        }
    });
    found
}

/// Returns the register that an instruction writes, if it writes one.
pub(super) fn result<'a>(it: &Instruction<'a>) -> &'a str {
    match it.operands.first() {
        Some(&Operand::Name(name)) => name,
        _ => "",
    }
}

/// Returns the float that an instruction converts or tests.
pub(super) fn source<'a>(it: &Instruction<'a>) -> Option<&'a str> {
    match (it.opcode, &it.operands[..]) {
        ("cvt" | "setp", &[_, Operand::Name(name), ..]) => Some(name),
        _ => None,
    }
}

impl<'a> Floats<'a> {
    /// Keeps what is known on both paths.
    pub fn meet(&mut self, other: &Floats<'a>) {
        self.converted
            .retain(|name, it| other.converted.get(name) == Some(it));
        self.nan.retain(|name, it| other.nan.get(name) == Some(it));
        self.saturated
            .retain(|name, it| other.saturated.get(name) == Some(it));
        self.shifted
            .retain(|name, it| other.shifted.get(name) == Some(it));
    }

    /// Returns a 32-bit register that can replace the operand in an unsigned comparison with a number
    /// that is at most [`BOUND`], or in a comparison for equality with such a number or one that is
    /// at least `-OFFSET`.
    pub fn shifted(&self, operand: &Operand<'a>) -> Option<&'a str> {
        match operand {
            Operand::Name(name) => self.shifted.get(name).map(|it| it.register),
            _ => None,
        }
    }

    /// Returns whether an operand is a number for which [`Floats::shifted`] keeps the outcome of a
    /// comparison for equality.
    pub fn is_comparable(operand: &Operand<'_>) -> bool {
        let range = -(OFFSET as i64)..=BOUND as i64;
        matches!(operand, Operand::Integer(number) if range.contains(&(number.bits as i64)))
    }

    /// Returns a side of a selection in 32 bits, and its offset.
    fn side(&self, operand: &Operand<'a>) -> Option<(Operand<'a>, u64)> {
        match operand {
            Operand::Name(name) => {
                let it = self.shifted.get(name)?;
                Some((Operand::Name(it.register), it.offset))
            }
            Operand::Integer(number) => (number.bits <= BOUND).then(|| (operand.clone(), 0)),
            _ => None,
        }
    }

    /// Returns the register with `x as u32` if the operand is `x as u64`.
    pub fn saturated(&self, operand: &Operand<'a>) -> Option<&'a str> {
        match operand {
            Operand::Name(name) => self.saturated.get(name).copied(),
            _ => None,
        }
    }

    /// Considers an instruction that has been appended to `to`. Its result, and the float that it
    /// converts or tests, have no other definition. `has_offset` is whether [`shifted`] has the result.
    pub fn instruction(
        &mut self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        it: &Instruction<'a>,
        has_offset: bool,
        to: &mut Vec<Statement<'a>>,
    ) {
        if it.guard.is_some() {
            return;
        }
        let types = ["f32", "f64"];
        match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("cvt", ["rzi", "u64", ty], &[Operand::Name(result), Operand::Name(float)])
                if types.contains(ty) =>
            {
                self.converted.insert(result, (ty, float));
            }
            (
                "setp",
                [relation @ ("nan" | "num"), _],
                &[Operand::Name(result), Operand::Name(a), Operand::Name(b)],
            ) if a == b => {
                self.nan.insert(result, (a, *relation == "nan"));
            }
            (
                "add",
                ["s64" | "u64"],
                [
                    Operand::Name(result),
                    Operand::Name(name),
                    Operand::Integer(number),
                ],
            ) => {
                let Some(&Shifted { register, offset }) = self.shifted.get(name) else {
                    return;
                };
                let offset = offset.saturating_add((number.bits as i64).unsigned_abs());
                if offset <= OFFSET {
                    let number = Integer::unsigned(number.bits & u64::from(u32::MAX));
                    let operands = [Operand::Name(register), Operand::Integer(number)];
                    let register = graph.emit(names, to, Type::B32, "add", &["s32"], operands);
                    self.shifted.insert(result, Shifted { register, offset });
                }
            }
            (
                "selp",
                ["b64" | "u64" | "s64"],
                [Operand::Name(result), a, b, Operand::Name(condition)],
            ) => {
                let Some(&(tested, is_nan)) = self.nan.get(condition) else {
                    let is_shifted = self.shifted(a).is_some() || self.shifted(b).is_some();
                    if let (Some(a), Some(b), true) = (self.side(a), self.side(b), is_shifted) {
                        let offset = a.1.max(b.1);
                        let operands = [a.0, b.0, Operand::Name(condition)];
                        let register = graph.emit(names, to, Type::B32, "selp", &["b32"], operands);
                        self.shifted.insert(result, Shifted { register, offset });
                    }
                    return;
                };
                let (zero, value) = if is_nan { (a, b) } else { (b, a) };
                if let (Operand::Integer(zero), Operand::Name(value)) = (zero, value)
                    && let Some(&(ty, float)) = self.converted.get(value)
                    && (zero.bits, float) == (0, tested)
                {
                    let nan = (*condition, is_nan);
                    let conversion = Conversion {
                        result,
                        value,
                        ty,
                        float,
                        nan,
                    };
                    let word = conversion.emit_word(graph, names, to, "u32");
                    self.saturated.insert(result, word);
                    if has_offset {
                        let most = Operand::Integer(Integer::unsigned(LARGE + OFFSET));
                        let operands = [Operand::Name(word), most];
                        let small = graph.emit(names, to, Type::B32, "min", &["u32"], operands);
                        // From 2⁶⁴ on, the integer is 2⁶⁴ - 1: one more is zero.
                        let limit = match ty {
                            "f32" => Operand::F32(0x5f80_0000),
                            _ => Operand::F64(0x43f0_0000_0000_0000),
                        };
                        let is_all = ["ge", ty];
                        let operands = [Operand::Name(tested), limit];
                        let is_all = graph.emit(names, to, Type::Pred, "setp", &is_all, operands);
                        let all = Operand::Integer(Integer::unsigned(u32::MAX.into()));
                        let operands = [all, Operand::Name(small), Operand::Name(is_all)];
                        let register = graph.emit(names, to, Type::B32, "selp", &["b32"], operands);
                        self.shifted.insert(
                            result,
                            Shifted {
                                register,
                                offset: 0,
                            },
                        );
                    }
                }
            }
            _ => {}
        }
    }
}
