//! Demands that the products in indices fit 32 bits.
//!
//! The index of an element of a matrix is `y * width + x`. Where no check limits it, as with raw
//! pointers, it may be any 64-bit number, even if the width and the height are small. But `x` and
//! `y` are mostly functions of the indices of the thread and the block, so the sizes of the grid and
//! the parameters give an upper bound for each product. The test of
//! [`specialize`](super::specialize) demands that these bounds are below [`BOUND`].

use crate::hash::{HashMap, HashSet};

use super::flow::{Graph, Id};
use super::instructions::is_parameter;
use super::narrow::Range;
use super::specialize::{BOUND, Test, block_width};
use super::version::number;
use crate::{Base, Function, Instruction, Operand, Type};

/// The maximum number of products of a kernel.
const PRODUCTS: usize = 16;

/// The maximum number of instructions between a product and the values that it is computed from.
const DEPTH: usize = 24;

/// The maximum number of instructions of the test with the bounds.
const INSTRUCTIONS: usize = 64;

/// The maximum of `%nctaid.y` and `%nctaid.z` (PTX ISA, special registers).
const BLOCKS: u64 = 65535;

/// The maximum of `%ntid`.
const THREADS: u64 = 1024;

/// Returns the products of two registers that indices consist of: 64-bit numbers that addresses are
/// computed from by additions and multiplications.
pub(super) fn of_indices<'a>(
    graph: &Graph<'a>,
    blocks: &[Id],
    single: &HashMap<&'a str, Instruction<'a>>,
) -> Vec<&'a str> {
    let mut seen: HashSet<&'a str> = HashSet::default();
    let mut left: Vec<&'a str> = Vec::new();
    graph.visit(blocks.iter().copied(), &mut |it| {
        for operand in &it.operands {
            if let Operand::Address(Base::Name(name), _) = operand
                && seen.insert(name)
            {
                left.push(name);
            }
        }
    });
    let mut products = Vec::new();
    while let Some(name) = left.pop() {
        let Some(it) = single.get(name) else {
            continue;
        };
        let is_linear = matches!(
            it.opcode,
            "add" | "cvt" | "cvta" | "mad" | "max" | "min" | "mov" | "mul" | "shl" | "sub"
        ) && it.modifiers.first() != Some(&"hi");
        if !is_linear || it.guard.is_some() {
            continue;
        }
        if let ("mul" | "mad", [_, Operand::Name(_), Operand::Name(_), ..]) =
            (it.opcode, &it.operands[..])
            && graph.type_of(name) == Some(Type::B64)
        {
            products.push(name);
        }
        for operand in &it.operands[1..] {
            if let Operand::Name(source) = operand
                && seen.insert(source)
            {
                left.push(source);
            }
        }
    }
    products.sort_unstable();
    products
}

/// An upper bound of an integer, without sign.
#[derive(Clone, Copy, Debug)]
enum Bound<'a> {
    Number(u64),
    /// A 64-bit register of the test, and what it is at most if the test passes.
    Register(&'a str, u64),
}

impl<'a> Bound<'a> {
    fn most(self) -> u64 {
        match self {
            Bound::Number(most) | Bound::Register(_, most) => most,
        }
    }

    fn operand(self) -> Operand<'a> {
        match self {
            Bound::Number(value) => number(value),
            Bound::Register(register, _) => Operand::Name(register),
        }
    }
}

/// The upper bounds of registers.
pub(super) struct Bounds<'k, 'a> {
    kernel: &'k Function<'a>,
    single: &'k HashMap<&'a str, Instruction<'a>>,
    known: HashMap<&'a str, Bound<'a>>,
    /// The registers of the test that must be below [`BOUND`].
    demanded: Vec<&'a str>,
    /// The registers of the test that must not be zero, and those of the kernel.
    positive: Vec<(&'a str, &'a str)>,
}

impl<'k, 'a> Bounds<'k, 'a> {
    /// Adds the bounds of the products to the test.
    pub fn new(
        kernel: &'k Function<'a>,
        single: &'k HashMap<&'a str, Instruction<'a>>,
        products: &[&'a str],
        test: &mut Test<'_, 'a>,
    ) -> Bounds<'k, 'a> {
        let mut bounds = Bounds {
            kernel,
            single,
            known: HashMap::default(),
            demanded: Vec::new(),
            positive: Vec::new(),
        };
        for product in products.iter().take(PRODUCTS) {
            let before = (test.save(), bounds.known.clone());
            let numbers = (bounds.demanded.len(), bounds.positive.len());
            if bounds.of(test, product, DEPTH).is_none() || test.len() > INSTRUCTIONS {
                test.restore(before.0);
                bounds.known = before.1;
                bounds.demanded.truncate(numbers.0);
                bounds.positive.truncate(numbers.1);
            }
        }
        bounds
    }

    /// Returns the registers of the test that must be below [`BOUND`].
    pub fn demanded(&self) -> &[&'a str] {
        &self.demanded
    }

    /// Returns the registers of the test that must not be zero.
    pub fn positive(&self) -> impl Iterator<Item = &'a str> {
        self.positive.iter().map(|&(value, _)| value)
    }

    /// Returns the ranges of the registers of the kernel.
    pub fn ranges(&self) -> impl Iterator<Item = (&'a str, Range)> {
        self.known.iter().map(|(&name, bound)| {
            let is_positive = self.positive.iter().any(|&(_, it)| it == name);
            (name, (is_positive.into(), bound.most() as i64))
        })
    }

    /// Returns the upper bound of a register. Wrapped results are below the whole ones.
    fn of(&mut self, test: &mut Test<'_, 'a>, name: &'a str, depth: usize) -> Option<Bound<'a>> {
        if let Some(&known) = self.known.get(name) {
            return Some(known);
        }
        let it = self.single.get(name)?;
        if it.guard.is_some() || depth == 0 {
            return None;
        }
        let bound = self.result(test, name, it, depth - 1)?;
        self.known.insert(name, bound);
        Some(bound)
    }

    fn operand(
        &mut self,
        test: &mut Test<'_, 'a>,
        operand: &Operand<'a>,
        depth: usize,
    ) -> Option<Bound<'a>> {
        match operand {
            Operand::Integer(value) if value.bits < BOUND => Some(Bound::Number(value.bits)),
            Operand::Name(name) => match special(name) {
                Some(special) => self.special(test, special),
                None => self.of(test, name, depth),
            },
            _ => None,
        }
    }

    fn result(
        &mut self,
        test: &mut Test<'_, 'a>,
        name: &'a str,
        it: &Instruction<'a>,
        depth: usize,
    ) -> Option<Bound<'a>> {
        let operands = it.operands.get(1..)?;
        match (it.opcode, &it.modifiers[..], operands) {
            ("ld", ["param", "u64"], _) if test.is_extent(name) => {
                let value = test.value(name)?;
                Some(Bound::Register(value, BOUND - 1))
            }
            ("ld", ["param", "u32"], _) => {
                let value = [Operand::Name(test.value(name)?)];
                let whole = test.emit(Type::B64, "cvt", &["u64", "u32"], value);
                self.demanded.push(whole);
                Some(Bound::Register(whole, BOUND - 1))
            }
            ("mov", ["u32" | "s32" | "b32" | "u64" | "s64" | "b64"], [from])
            | ("cvt", ["u64", "u32"] | ["s64", "s32"] | ["u32", "u64"], [from]) => {
                self.operand(test, from, depth)
            }
            ("add", ["s32" | "u32" | "s64" | "u64"], [a, Operand::Integer(less)])
                if (less.bits as i64) < 0 =>
            {
                let least = (less.bits as i64).unsigned_abs();
                if !self.is_at_least(test, a, least, depth) {
                    return None;
                }
                let a = self.operand(test, a, depth)?;
                Some(self.less(test, a, least))
            }
            ("add", ["s32" | "u32" | "s64" | "u64"], [a, b])
            | ("or" | "xor", ["b32" | "b64"], [a, b])
            | ("max", ["u32" | "u64"], [a, b]) => {
                let (a, b) = (self.operand(test, a, depth)?, self.operand(test, b, depth)?);
                Some(self.sum(test, a, b))
            }
            ("sub", ["s32" | "u32" | "s64" | "u64"], [a, Operand::Name(multiple)]) => {
                let divisor = self.divisor(a, multiple)?;
                // As small numbers, both are what the division used.
                let bounds = [a, &divisor].map(|it| self.operand(test, it, depth));
                let [Some(dividend), Some(divisor_bound)] = bounds else {
                    return None;
                };
                match self.is_at_least(test, &divisor, 1, depth) {
                    true => Some(divisor_bound),
                    false => Some(dividend),
                }
            }
            // A part of an index may be negative before it is clamped.
            ("max", [ty @ ("s32" | "s64")], [Operand::Name(a), Operand::Integer(least)])
                if least.bits < BOUND =>
            {
                let least = Bound::Number(least.bits);
                let a = match self.single.get(a) {
                    Some(Instruction {
                        opcode: "add",
                        modifiers,
                        operands,
                        guard: None,
                        ..
                    }) if modifiers[..] == [*ty] => match &operands[..] {
                        [_, a, Operand::Integer(less)]
                            if (-(BOUND as i64)..0).contains(&(less.bits as i64)) =>
                        {
                            self.operand(test, a, depth)?
                        }
                        _ => self.of(test, a, depth)?,
                    },
                    _ => self.of(test, a, depth)?,
                };
                Some(self.sum(test, a, least))
            }
            ("min", ["u32" | "u64" | "s32" | "s64"], [a, b]) => {
                let is_signed = it.modifiers[0].starts_with('s');
                let bounds = [self.operand(test, a, depth), self.operand(test, b, depth)];
                match bounds {
                    [Some(a), Some(b)] if b.most() < a.most() => Some(b),
                    [Some(a), Some(_)] => Some(a),
                    [Some(one), None] | [None, Some(one)] if !is_signed => Some(one),
                    _ => None,
                }
            }
            ("and", ["b32" | "b64"], [a, Operand::Integer(mask)]) => {
                match self.operand(test, a, depth) {
                    Some(a) => Some(a),
                    None => (mask.bits < BOUND).then_some(Bound::Number(mask.bits)),
                }
            }
            ("cvt", ["u64" | "u32", "u16"], [from]) => {
                let bound = self.operand(test, from, depth);
                Some(bound.unwrap_or(Bound::Number(u16::MAX.into())))
            }
            ("cvt", ["u16", "u32" | "u64"], [from]) => self.operand(test, from, depth),
            // The quotient of a division by a constant.
            ("shr", ["u32" | "u64"], [a, Operand::Integer(by)]) if by.bits < 32 => {
                match self.operand(test, a, depth) {
                    Some(Bound::Number(value)) => Some(Bound::Number(value >> by.bits)),
                    Some(Bound::Register(register, most)) => {
                        let operands = [Operand::Name(register), number(by.bits)];
                        let value = test.emit(Type::B64, "shr", &["u64"], operands);
                        Some(Bound::Register(value, most >> by.bits))
                    }
                    None if it.modifiers == ["u32"] && by.bits > 2 => {
                        Some(Bound::Number(u64::from(u32::MAX) >> by.bits))
                    }
                    None => None,
                }
            }
            ("div", ["u32" | "u64"], [a, divisor]) => {
                let a = self.operand(test, a, depth)?;
                let Operand::Name(divisor) = self.original(divisor) else {
                    return Some(a);
                };
                // An upper bound of the divisor would not do, but that of a parameter is its value.
                let is_exact = self.single.get(divisor).is_some_and(is_parameter);
                let divisor = Operand::Name(divisor);
                if !is_exact || !self.is_at_least(test, &divisor, 1, depth) {
                    return Some(a);
                }
                let divisor = self.operand(test, &divisor, depth)?;
                let operands = [a.operand(), divisor.operand()];
                let value = test.emit(Type::B64, "div", &["u64"], operands);
                Some(Bound::Register(value, a.most()))
            }
            ("shr", ["u32" | "u64"], [a, _])
            | ("rem", ["u32" | "u64"], [a, _])
            | ("mul", ["hi", "u32" | "u64"], [a, Operand::Integer(_)]) => {
                self.operand(test, a, depth)
            }
            ("div" | "rem", ["s32" | "s64"], [a, Operand::Integer(by)])
                if (1..BOUND).contains(&by.bits) =>
            {
                self.operand(test, a, depth)
            }
            ("shl", ["b32" | "b64"], [a, Operand::Integer(by)]) if by.bits < 30 => {
                let a = self.operand(test, a, depth)?;
                Some(self.product(test, a, Bound::Number(1 << by.bits)))
            }
            ("mul", ["lo" | "wide", "s32" | "u32" | "s64" | "u64"], [a, b]) => {
                let (a, b) = (self.operand(test, a, depth)?, self.operand(test, b, depth)?);
                Some(self.product(test, a, b))
            }
            ("mad", ["lo" | "wide", "s32" | "u32" | "s64" | "u64"], [a, b, c]) => {
                let (a, b) = (self.operand(test, a, depth)?, self.operand(test, b, depth)?);
                let c = self.operand(test, c, depth)?;
                let product = self.product(test, a, b);
                Some(self.sum(test, product, c))
            }
            _ => None,
        }
    }

    /// Returns the divisor if a register holds the quotient of a number times the divisor. The
    /// difference of both is the remainder.
    fn divisor(&self, dividend: &Operand<'a>, multiple: &'a str) -> Option<Operand<'a>> {
        let product = self.single.get(multiple)?;
        let ("mul", Some(&"lo"), None) = (product.opcode, product.modifiers.first(), product.guard)
        else {
            return None;
        };
        let [_, a, b] = &product.operands[..] else {
            return None;
        };
        [(a, b), (b, a)]
            .into_iter()
            .find_map(|(quotient, divisor)| {
                let Operand::Name(quotient) = self.original(quotient) else {
                    return None;
                };
                let division = self.single.get(quotient)?;
                let ("div", ["u32" | "u64"]) = (division.opcode, &division.modifiers[..]) else {
                    return None;
                };
                let same =
                    |a: &Operand<'a>, b: &Operand<'a>| match [a, b].map(|it| self.original(it)) {
                        [Operand::Name(a), Operand::Name(b)] => a == b,
                        _ => false,
                    };
                let is_quotient = division.guard.is_none()
                    && same(&division.operands[1], dividend)
                    && same(&division.operands[2], divisor);
                is_quotient.then(|| self.original(divisor))
            })
    }

    /// Returns the operand that a register has the value of, if that is a small number.
    fn original(&self, operand: &Operand<'a>) -> Operand<'a> {
        let mut operand = operand.clone();
        while let Operand::Name(name) = operand
            && let Some(it) = self.single.get(name)
            && it.guard.is_none()
            && let ("mov", [_]) | ("cvt", ["u64", "u32"] | ["u32", "u64"]) =
                (it.opcode, &it.modifiers[..])
        {
            operand = it.operands[1].clone();
        }
        operand
    }

    /// Returns whether an integer is not below a small number.
    fn is_at_least(
        &mut self,
        test: &mut Test<'_, 'a>,
        operand: &Operand<'a>,
        least: u64,
        depth: usize,
    ) -> bool {
        let name = match operand {
            Operand::Integer(value) => return (least..BOUND).contains(&value.bits),
            Operand::Name(name) => name,
            _ => return false,
        };
        let Some(it) = self.single.get(name) else {
            return false;
        };
        if it.guard.is_some() || depth == 0 {
            return false;
        }
        match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("ld", ["param", "u32" | "u64"], _) if least == 1 => {
                let Some(Bound::Register(value, _)) = self.of(test, name, depth) else {
                    return false;
                };
                if !self.positive.contains(&(value, name)) {
                    self.positive.push((value, name));
                }
                true
            }
            ("max", [_], [_, _, Operand::Integer(value)]) => (least..BOUND).contains(&value.bits),
            // The sum does not wrap around.
            ("add", [_], [_, a, Operand::Integer(value)]) => {
                (least..BOUND).contains(&value.bits) && self.operand(test, a, depth - 1).is_some()
            }
            ("min", [_], [_, a, b]) => {
                self.is_at_least(test, a, least, depth - 1)
                    && self.is_at_least(test, b, least, depth - 1)
            }
            _ => false,
        }
    }

    /// Returns the bound of a special register.
    fn special(&mut self, test: &mut Test<'_, 'a>, special: Special) -> Option<Bound<'a>> {
        let threads = |dimension: usize| {
            let mut directives = self.kernel.directives.iter();
            let size = directives.find(|it| it.name == "reqntid")?;
            Some(size.values.get(dimension).copied().unwrap_or(1).max(1))
        };
        let (name, most, less) = match special {
            Special::Thread(dimension) | Special::Threads(dimension) => {
                let less = u64::from(matches!(special, Special::Thread(_)));
                if let Some(threads) = threads(dimension) {
                    return Some(Bound::Number(threads - less));
                }
                (["%ntid.x", "%ntid.y", "%ntid.z"][dimension], THREADS, less)
            }
            Special::Block(dimension) | Special::Blocks(dimension) => {
                let less = u64::from(matches!(special, Special::Block(_)));
                let most = match dimension {
                    // The test demands this.
                    0 => (BOUND - 1) / block_width(self.kernel).unwrap_or(THREADS).max(1),
                    _ => BLOCKS,
                };
                let names = ["%nctaid.x", "%nctaid.y", "%nctaid.z"];
                (names[dimension], most, less)
            }
        };
        let value = [Operand::Name(test.special(name))];
        let whole = test.emit(Type::B64, "cvt", &["u64", "u32"], value);
        Some(self.less(test, Bound::Register(whole, most), less))
    }

    /// Returns the bound of an integer minus a number that it is not below.
    fn less(&mut self, test: &mut Test<'_, 'a>, a: Bound<'a>, less: u64) -> Bound<'a> {
        match a {
            _ if less == 0 => a,
            Bound::Number(value) => Bound::Number(value.saturating_sub(less)),
            Bound::Register(register, most) => {
                let less = number(less.wrapping_neg());
                let operands = [Operand::Name(register), less];
                let value = test.emit(Type::B64, "add", &["s64"], operands);
                Bound::Register(value, most)
            }
        }
    }

    fn sum(&mut self, test: &mut Test<'_, 'a>, a: Bound<'a>, b: Bound<'a>) -> Bound<'a> {
        // Both are below 2³¹.
        let most = a.most() + b.most();
        match (a, b) {
            (Bound::Number(0), other) | (other, Bound::Number(0)) => other,
            (Bound::Number(a), Bound::Number(b)) if a + b < BOUND => Bound::Number(a + b),
            _ => {
                let operands = [a.operand(), b.operand()];
                let register = match a {
                    Bound::Number(_) => {
                        let [a, b] = operands;
                        test.emit(Type::B64, "add", &["s64"], [b, a])
                    }
                    Bound::Register(..) => test.emit(Type::B64, "add", &["s64"], operands),
                };
                self.demand_if_large(register, most)
            }
        }
    }

    fn product(&mut self, test: &mut Test<'_, 'a>, a: Bound<'a>, b: Bound<'a>) -> Bound<'a> {
        // Both are below 2³¹.
        let most = a.most() * b.most();
        match (a, b) {
            (Bound::Number(1), other) | (other, Bound::Number(1)) => other,
            (Bound::Number(_), Bound::Number(_)) if most < BOUND => Bound::Number(most),
            _ => {
                let (a, b) = match a {
                    Bound::Number(_) => (b, a),
                    Bound::Register(..) => (a, b),
                };
                let [a, b] = [a, b].map(|factor| match factor {
                    Bound::Number(value) => number(value),
                    Bound::Register(register, _) => {
                        let whole = [Operand::Name(register)];
                        Operand::Name(test.emit(Type::B32, "cvt", &["u32", "u64"], whole))
                    }
                });
                let register = test.emit(Type::B64, "mul", &["wide", "u32"], [a, b]);
                self.demand_if_large(register, most)
            }
        }
    }

    /// Returns the bound in a register, which must be small unless it is in any case.
    fn demand_if_large(&mut self, register: &'a str, most: u64) -> Bound<'a> {
        if most < BOUND {
            return Bound::Register(register, most);
        }
        self.demanded.push(register);
        Bound::Register(register, BOUND - 1)
    }
}

/// A special register with a dimension.
#[derive(Clone, Copy, Debug)]
enum Special {
    Thread(usize),
    Threads(usize),
    Block(usize),
    Blocks(usize),
}

/// Returns the special register with a name.
fn special(name: &str) -> Option<Special> {
    let (name, dimension) = name.rsplit_once('.')?;
    let dimension = ["x", "y", "z"].iter().position(|it| *it == dimension)?;
    match name {
        "%tid" => Some(Special::Thread(dimension)),
        "%ntid" => Some(Special::Threads(dimension)),
        "%ctaid" => Some(Special::Block(dimension)),
        "%nctaid" => Some(Special::Blocks(dimension)),
        _ => None,
    }
}
