//! The condition under which a launch may use another entry of a kernel than the general one.
//!
//! A kernel `NAME` with an entry `NAME$ordinary` has a variable `__cuda_std_ordinary_of_NAME` with an
//! encoded [`Condition`], and one with an entry `NAME$strided` a variable
//! `__cuda_std_strided_of_NAME`. The host evaluates them for each launch in the order of
//! [`Launches::ALL`], and launches the entry of the first one that holds, otherwise `NAME`.

use std::fmt;

use crate::hash::HashMap;
use crate::{Base, Function, Instruction, Operand, Statement};

/// The launches for which a kernel may have an entry beside the general one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Launches {
    /// Launches with a thread for each element.
    Ordinary,
    /// Launches with fewer threads, whose grid-stride loops have several iterations.
    Strided,
}

impl Launches {
    /// All launches, in the order in which the host tests the conditions.
    pub const ALL: [Launches; 2] = [Launches::Ordinary, Launches::Strided];

    /// Returns the name of a kernel's entry for these launches.
    pub fn entry_of(self, kernel: &str) -> String {
        format!("{kernel}{}", self.suffix())
    }

    /// Returns the name of the variable with the condition for the entry of a kernel.
    pub fn condition_of(self, kernel: &str) -> String {
        format!("{}{kernel}", self.condition_prefix())
    }

    /// Returns the prefix of [`condition_of()`](Self::condition_of).
    pub const fn condition_prefix(self) -> &'static str {
        match self {
            Launches::Ordinary => "__cuda_std_ordinary_of_",
            Launches::Strided => "__cuda_std_strided_of_",
        }
    }

    /// Returns the suffix of [`entry_of()`](Self::entry_of).
    const fn suffix(self) -> &'static str {
        match self {
            Launches::Ordinary => "$ordinary",
            Launches::Strided => "$strided",
        }
    }
}

/// Returns the name of the kernel and the launches that an entry is for, if it is not the general
/// entry of the kernel.
pub fn kernel_of_entry(entry: &str) -> Option<(&str, Launches)> {
    (Launches::ALL.into_iter()).find_map(|it| Some((entry.strip_suffix(it.suffix())?, it)))
}

/// The special registers that conditions may read: the sizes of the block and of the grid.
pub(crate) const SIZES: [&str; 6] = [
    "%ntid.x",
    "%ntid.y",
    "%ntid.z",
    "%nctaid.x",
    "%nctaid.y",
    "%nctaid.z",
];

/// The functions of `cuda_std::thread` that return [`SIZES`].
const SIZE_NAMES: [&str; 6] = [
    "block_dim_x",
    "block_dim_y",
    "block_dim_z",
    "grid_dim_x",
    "grid_dim_y",
    "grid_dim_z",
];

/// The maximum number of steps, so that their values fit on the stack.
const STEPS: usize = 192;

/// The number of steps of most conditions.
const SHORT: usize = 48;

/// The number of bytes of an encoded step. A constant has as many bytes after it.
const STEP_BYTES: usize = 8;

/// The sizes of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchSizes {
    /// The number of threads of a block in each dimension.
    pub block: [u32; 3],
    /// The number of blocks of the grid in each dimension.
    pub grid: [u32; 3],
}

/// What a step computes from the values of earlier steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// The parameter `a` at byte `b`, `width` bits.
    Parameter,
    /// The size with the index `a` in [`SIZES`].
    Size,
    Constant,
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    /// A shift that repeats the sign.
    ShrSigned,
    Min,
    MinSigned,
    Max,
    MaxSigned,
    Div,
    Rem,
    /// The lower `width` bits.
    Truncate,
    /// `width` bits to 64, with sign.
    Extend,
    Equal,
    NotEqual,
    Less,
    LessSigned,
    /// Less or equal.
    AtMost,
    AtMostSigned,
    /// 1 if the value is 0.
    Not,
    /// `b` if `a` is not 0, otherwise `c`.
    Select,
}

const KINDS: [Kind; 28] = [
    Kind::Parameter,
    Kind::Size,
    Kind::Constant,
    Kind::Add,
    Kind::Sub,
    Kind::Mul,
    Kind::And,
    Kind::Or,
    Kind::Xor,
    Kind::Shl,
    Kind::Shr,
    Kind::ShrSigned,
    Kind::Min,
    Kind::MinSigned,
    Kind::Max,
    Kind::MaxSigned,
    Kind::Div,
    Kind::Rem,
    Kind::Truncate,
    Kind::Extend,
    Kind::Equal,
    Kind::NotEqual,
    Kind::Less,
    Kind::LessSigned,
    Kind::AtMost,
    Kind::AtMostSigned,
    Kind::Not,
    Kind::Select,
];

impl Kind {
    /// Returns the number of operands that are values of earlier steps.
    fn operands(self) -> usize {
        match self {
            Kind::Parameter | Kind::Size | Kind::Constant => 0,
            Kind::Truncate | Kind::Extend | Kind::Not => 1,
            Kind::Select => 3,
            _ => 2,
        }
    }
}

/// A step of a condition. Values of fewer than 64 bits have zeros above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    kind: Kind,
    /// The number of bits of the operands.
    width: u8,
    operands: [u16; 3],
    /// The value of a constant.
    constant: u64,
}

/// Returns the text of a number. Large powers of two are written as such.
fn number(value: u64) -> String {
    match value.is_power_of_two() && value >= 1 << 16 {
        true => format!("2^{}", value.ilog2()),
        false => value.to_string(),
    }
}

/// The condition under which a launch may use another entry than the general one: a function of the
/// parameters and of the sizes of the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Each step has a value; that of the last one is 1 if the condition holds.
    steps: Vec<Step>,
}

impl Condition {
    /// Decodes the bytes of a variable `__cuda_std_ordinary_of_NAME` or `__cuda_std_strided_of_NAME` of
    /// a kernel whose parameters have these sizes in bytes. Returns `None` if they are not a condition of
    /// such a kernel.
    pub fn decode(bytes: &[u8], parameters: &[usize]) -> Option<Condition> {
        let mut steps = Vec::new();
        let mut rest = bytes;
        while let Some((step, after)) = rest.split_first_chunk::<STEP_BYTES>() {
            rest = after;
            let operand = |at: usize| u16::from_le_bytes([step[at], step[at + 1]]);
            let mut decoded = Step {
                kind: *KINDS.get(usize::from(step[0]))?,
                width: step[1],
                operands: [operand(2), operand(4), operand(6)],
                constant: 0,
            };
            if decoded.kind == Kind::Constant {
                let (constant, after) = rest.split_first_chunk::<8>()?;
                decoded.constant = u64::from_le_bytes(*constant);
                rest = after;
            }
            let [first, second, _] = decoded.operands.map(usize::from);
            let operands = &decoded.operands[..decoded.kind.operands()];
            let is_valid = matches!(decoded.width, 8 | 16 | 32 | 64)
                && operands.iter().all(|&it| usize::from(it) < steps.len())
                && match decoded.kind {
                    Kind::Parameter => (parameters.get(first))
                        .is_some_and(|&size| second + usize::from(decoded.width / 8) <= size),
                    Kind::Size => first < SIZES.len(),
                    _ => true,
                };
            if !is_valid || steps.len() == STEPS {
                return None;
            }
            steps.push(decoded);
        }
        (rest.is_empty() && !steps.is_empty()).then_some(Condition { steps })
    }

    /// Returns the encoded condition.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for step in &self.steps {
            bytes.extend([step.kind as u8, step.width]);
            bytes.extend(step.operands.iter().flat_map(|it| it.to_le_bytes()));
            if step.kind == Kind::Constant {
                bytes.extend(step.constant.to_le_bytes());
            }
        }
        bytes
    }

    /// Returns the bytes of parameters that the condition depends on: the zero-based index of the
    /// parameter, the offset of the first byte, and the number of bytes.
    pub fn parameters(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let read = self.steps.iter().filter(|it| it.kind == Kind::Parameter);
        read.map(|step| {
            let [index, offset, _] = step.operands.map(usize::from);
            (index, offset, usize::from(step.width / 8))
        })
    }

    /// Returns whether the condition holds for a launch. `parameter` returns the value of a
    /// parameter's bytes as a little-endian integer, from its zero-based index, the offset of the
    /// first byte, and the number of bytes: 1, 2, 4 or 8.
    #[inline]
    pub fn holds(
        &self,
        sizes: &LaunchSizes,
        parameter: impl FnMut(usize, usize, usize) -> u64,
    ) -> bool {
        // Most conditions are short.
        let last = self.steps.len() - 1;
        match last {
            ..SHORT => self.values::<SHORT>(sizes, parameter)[last] == 1,
            _ => self.values::<STEPS>(sizes, parameter)[last] == 1,
        }
    }

    /// Returns the demands that a launch does not meet, each with the values that it depends on:
    /// `param_3+8 <= grid_dim_x * 256 (param_3+8 is 300, grid_dim_x is 1)`. `parameter` is that of
    /// [`holds()`](Self::holds).
    pub fn unmet(
        &self,
        sizes: &LaunchSizes,
        parameter: impl FnMut(usize, usize, usize) -> u64,
    ) -> Vec<String> {
        let values = self.values::<STEPS>(sizes, parameter);
        let mut unmet = Vec::new();
        self.add_unmet(self.steps.len() - 1, &values, &mut unmet);
        unmet
    }

    /// Adds the demands because of which a step is 0.
    fn add_unmet(&self, place: usize, values: &[u64], unmet: &mut Vec<String>) {
        let step = &self.steps[place];
        let [first, second, _] = step.operands.map(usize::from);
        // Not all operands are steps.
        let limit = values.get(second).copied().unwrap_or(0);
        match step.kind {
            Kind::And => {
                for operand in [first, second].into_iter().filter(|&it| values[it] == 0) {
                    self.add_unmet(operand, values, unmet);
                }
            }
            // Bits that none of several numbers may have are tested together.
            Kind::Less if limit.is_power_of_two() => {
                for part in self
                    .parts(first)
                    .into_iter()
                    .filter(|&it| values[it] >= limit)
                {
                    unmet.push(self.with_values(part, &format!(" < {}", number(limit)), values));
                }
            }
            Kind::Equal if limit == 0 => {
                for part in self.parts(first).into_iter().filter(|&it| values[it] != 0) {
                    unmet.push(self.with_values(part, " == 0", values));
                }
            }
            _ => unmet.push(self.with_values(place, "", values)),
        }
    }

    /// Returns the operands of a tree of `|`.
    fn parts(&self, place: usize) -> Vec<usize> {
        let step = &self.steps[place];
        let [first, second, _] = step.operands.map(usize::from);
        match step.kind {
            Kind::Or => [self.parts(first), self.parts(second)].concat(),
            _ => vec![place],
        }
    }

    /// Returns the text of a step, more text, and the values that the step depends on.
    fn with_values(&self, place: usize, more: &str, values: &[u64]) -> String {
        let mut leaves = Vec::new();
        let text = self.text(place, &mut leaves);
        let text = match text.strip_prefix('(').and_then(|it| it.strip_suffix(')')) {
            Some(inner) if more.is_empty() => inner,
            _ => &text,
        };
        let leaves = (leaves.iter()).map(|&it| format!("{} is {}", self.leaf(it), values[it]));
        format!("{text}{more} ({})", leaves.collect::<Vec<_>>().join(", "))
    }

    /// Returns the name of a parameter or a size.
    fn leaf(&self, place: usize) -> String {
        let step = &self.steps[place];
        match (step.kind, step.operands) {
            (Kind::Parameter, [index, 0, _]) => format!("param_{index}"),
            (Kind::Parameter, [index, offset, _]) => format!("param_{index}+{offset}"),
            (_, [size, ..]) => SIZE_NAMES[usize::from(size)].to_owned(),
        }
    }

    /// Returns a step as an expression, and adds the parameters and sizes in it to `leaves`.
    fn text(&self, place: usize, leaves: &mut Vec<usize>) -> String {
        let step = &self.steps[place];
        if matches!(step.kind, Kind::Parameter | Kind::Size) {
            if !leaves.contains(&place) {
                leaves.push(place);
            }
            return self.leaf(place);
        }
        let operands = &step.operands[..step.kind.operands()];
        let operands: Vec<String> = (operands.iter())
            .map(|&it| self.text(it.into(), leaves))
            .collect();
        let sign = match step.kind {
            Kind::Add => "+",
            Kind::Sub => "-",
            Kind::Mul => "*",
            Kind::And => "&",
            Kind::Or => "|",
            Kind::Xor => "^",
            Kind::Shl => "<<",
            Kind::Shr | Kind::ShrSigned => ">>",
            Kind::Div => "/",
            Kind::Rem => "%",
            Kind::Equal => "==",
            Kind::NotEqual => "!=",
            Kind::Less | Kind::LessSigned => "<",
            Kind::AtMost | Kind::AtMostSigned => "<=",
            Kind::Min | Kind::MinSigned => "min",
            Kind::Max | Kind::MaxSigned => "max",
            Kind::Not => "!",
            Kind::Select => "if",
            Kind::Constant | Kind::Parameter | Kind::Size => "",
            Kind::Truncate | Kind::Extend => "",
        };
        match (&operands[..], step.kind) {
            ([], _) => number(step.constant),
            ([one], _) => format!("{sign}{one}"),
            ([one, other], Kind::Mul) if other == "1" => one.clone(),
            ([_, _], Kind::Min | Kind::MinSigned | Kind::Max | Kind::MaxSigned)
            | ([_, _, _], _) => {
                format!("{sign}({})", operands.join(", "))
            }
            _ => format!("({})", operands.join(&format!(" {sign} "))),
        }
    }

    /// Returns the values of all steps for a launch.
    #[inline]
    fn values<const COUNT: usize>(
        &self,
        sizes: &LaunchSizes,
        mut parameter: impl FnMut(usize, usize, usize) -> u64,
    ) -> [u64; COUNT] {
        let mut values = [0u64; COUNT];
        for (step, place) in self.steps.iter().zip(0..COUNT) {
            let [first, second, third] = step.operands.map(usize::from);
            let unused = 64 - u32::from(step.width);
            let value = |operand: usize| values.get(operand).copied().unwrap_or(0);
            let signed = |operand: usize| ((value(operand) << unused) as i64) >> unused;
            let (a, b) = (value(first), value(second));
            // PTX clamps the distances of shifts.
            let distance = b.min(u64::from(step.width)) as u32;
            let result = match step.kind {
                Kind::Parameter => parameter(first, second, usize::from(step.width / 8)),
                Kind::Size => match first {
                    0..3 => u64::from(sizes.block[first]),
                    _ => u64::from(sizes.grid[first - 3]),
                },
                Kind::Constant => step.constant,
                Kind::Add => a.wrapping_add(b),
                Kind::Sub => a.wrapping_sub(b),
                Kind::Mul => a.wrapping_mul(b),
                Kind::And => a & b,
                Kind::Or => a | b,
                Kind::Xor => a ^ b,
                Kind::Shl => a.checked_shl(distance).unwrap_or(0),
                Kind::Shr => a.checked_shr(distance).unwrap_or(0),
                Kind::ShrSigned => (signed(first) >> distance.min(63)) as u64,
                Kind::Min => a.min(b),
                Kind::MinSigned => signed(first).min(signed(second)) as u64,
                Kind::Max => a.max(b),
                Kind::MaxSigned => signed(first).max(signed(second)) as u64,
                // GPUs return all ones.
                Kind::Div => a.checked_div(b).unwrap_or(u64::MAX),
                Kind::Rem => a.checked_rem(b).unwrap_or(a),
                Kind::Truncate => a,
                Kind::Extend => signed(first) as u64,
                Kind::Equal => u64::from(a == b),
                Kind::NotEqual => u64::from(a != b),
                Kind::Less => u64::from(a < b),
                Kind::LessSigned => u64::from(signed(first) < signed(second)),
                Kind::AtMost => u64::from(a <= b),
                Kind::AtMostSigned => u64::from(signed(first) <= signed(second)),
                Kind::Not => u64::from(a == 0),
                Kind::Select => value(if a != 0 { second } else { third }),
            };
            values[place] = match step.kind {
                Kind::Extend | Kind::Select => result,
                _ => result & (u64::MAX >> unused),
            };
        }
        values
    }

    /// Returns the condition that all of `conditions` are true after the statements, or `None` if
    /// these do more than to compute with parameters of `kernel` and the sizes of the launch.
    pub(crate) fn of<'s, 'a: 's>(
        kernel: &Function<'a>,
        statements: impl IntoIterator<Item = &'s Statement<'a>>,
        conditions: &[&'a str],
    ) -> Option<Condition> {
        let mut builder = Builder::default();
        for statement in statements {
            match statement {
                Statement::Instruction(it) => builder.add(kernel, it)?,
                Statement::Loc(_) | Statement::Label(_) => {}
                _ => return None,
            }
        }
        let mut all = None;
        for &condition in conditions {
            let value = *builder.values.get(condition)?;
            all = Some(match all {
                None => value,
                Some(all) => builder.step(Kind::And, 8, &[all, value]),
            });
        }
        let last = all?;
        builder.keep_used(last);
        (builder.steps.len() <= STEPS).then_some(Condition {
            steps: builder.steps,
        })
    }
}

/// Converts instructions to steps.
#[derive(Default)]
struct Builder<'a> {
    steps: Vec<Step>,
    /// The steps with the values of registers.
    values: HashMap<&'a str, u16>,
    /// The parameters whose addresses registers hold.
    addresses: HashMap<&'a str, usize>,
}

impl<'a> Builder<'a> {
    fn push(&mut self, step: Step) -> u16 {
        let equal = self.steps.iter().position(|it| *it == step);
        let place = equal.unwrap_or_else(|| {
            self.steps.push(step);
            self.steps.len() - 1
        });
        place as u16
    }

    fn step(&mut self, kind: Kind, width: u8, operands: &[u16]) -> u16 {
        let mut padded = [0; 3];
        padded[..operands.len()].copy_from_slice(operands);
        self.push(Step {
            kind,
            width,
            operands: padded,
            constant: 0,
        })
    }

    fn constant(&mut self, width: u8, bits: u64) -> u16 {
        self.push(Step {
            kind: Kind::Constant,
            width,
            operands: [0; 3],
            constant: bits & (u64::MAX >> (64 - u32::from(width))),
        })
    }

    /// Returns the step with the value of an operand.
    fn operand(&mut self, width: u8, operand: &Operand<'a>) -> Option<u16> {
        match operand {
            Operand::Integer(integer) => Some(self.constant(width, integer.bits)),
            Operand::Name(name) => match SIZES.iter().position(|it| it == name) {
                Some(size) => Some(self.step(Kind::Size, 32, &[size as u16])),
                None => self.values.get(name).copied(),
            },
            _ => None,
        }
    }

    /// Returns the step with the 64-bit product of two 32-bit operands.
    fn wide(&mut self, signed: bool, a: &Operand<'a>, b: &Operand<'a>) -> Option<u16> {
        let factors = [self.operand(32, a)?, self.operand(32, b)?];
        let factors = match signed {
            true => factors.map(|factor| self.step(Kind::Extend, 32, &[factor])),
            false => factors,
        };
        Some(self.step(Kind::Mul, 64, &factors))
    }

    /// Adds the steps of an instruction.
    fn add(&mut self, kernel: &Function<'a>, it: &Instruction<'a>) -> Option<()> {
        let (Some(&Operand::Name(result)), None) = (it.operands.first(), it.guard) else {
            return None;
        };
        let sources = &it.operands[1..];
        let parameter = |name: &str| kernel.params.iter().position(|it| it.name == name);
        if let ("mov", [Operand::Name(name)]) = (it.opcode, sources)
            && let Some(index) = parameter(name)
        {
            self.addresses.insert(result, index);
            return Some(());
        }
        let (ty, modifiers) = it.modifiers.split_last()?;
        let signed = ty.starts_with('s');
        let width = match (it.opcode, *ty) {
            (_, "pred") => 8,
            (_, ty) => ty.trim_start_matches(['b', 's', 'u']).parse().ok()?,
        };
        if !matches!(width, 8 | 16 | 32 | 64) || ty.starts_with('f') {
            return None;
        }
        let either = |unsigned, with_sign| if signed { with_sign } else { unsigned };
        let value = match (it.opcode, modifiers, sources) {
            ("ld", ["param"], [Operand::Address(Base::Name(base), offset)]) if !signed => {
                let index = parameter(base).or_else(|| self.addresses.get(base).copied())?;
                let offset = u16::try_from(*offset).ok()?;
                self.step(Kind::Parameter, width, &[index as u16, offset])
            }
            ("mov", [], [from]) => self.operand(width, from)?,
            // The first modifier is the type of the result.
            ("cvt", [to], [from]) => {
                let from = self.operand(width, from)?;
                match (*to, signed) {
                    ("u32" | "s32" | "b32", _) if width >= 32 => {
                        self.step(Kind::Truncate, 32, &[from])
                    }
                    ("u64" | "s64" | "b64", true) => self.step(Kind::Extend, width, &[from]),
                    ("u32" | "u64" | "s64" | "b64", false) => from,
                    _ => return None,
                }
            }
            ("not", [], [from]) if *ty == "pred" => {
                let from = self.operand(8, from)?;
                self.step(Kind::Not, 8, &[from])
            }
            ("neg", [], [from]) if *ty != "pred" => {
                let operands = [self.constant(width, 0), self.operand(width, from)?];
                self.step(Kind::Sub, width, &operands)
            }
            ("mul", ["wide"], [a, b]) if width == 32 => self.wide(signed, a, b)?,
            ("mul", ["hi"], [a, b]) if width == 32 => {
                let product = self.wide(signed, a, b)?;
                let distance = self.constant(32, 32);
                let upper = self.step(Kind::Shr, 64, &[product, distance]);
                self.step(Kind::Truncate, 32, &[upper])
            }
            ("mad", ["wide"], [a, b, c]) if width == 32 => {
                let product = self.wide(signed, a, b)?;
                let c = self.operand(64, c)?;
                self.step(Kind::Add, 64, &[product, c])
            }
            ("mad", ["lo"], [a, b, c]) => {
                let factors = [self.operand(width, a)?, self.operand(width, b)?];
                let product = self.step(Kind::Mul, width, &factors);
                let c = self.operand(width, c)?;
                self.step(Kind::Add, width, &[product, c])
            }
            ("selp", [], [a, b, condition]) => {
                let condition = self.operand(8, condition)?;
                let (a, b) = (self.operand(width, a)?, self.operand(width, b)?);
                self.step(Kind::Select, 64, &[condition, a, b])
            }
            ("setp", [relation], [a, b]) => {
                let (a, b) = (self.operand(width, a)?, self.operand(width, b)?);
                let less = either(Kind::Less, Kind::LessSigned);
                let at_most = either(Kind::AtMost, Kind::AtMostSigned);
                let (kind, operands) = match *relation {
                    "eq" => (Kind::Equal, [a, b]),
                    "ne" => (Kind::NotEqual, [a, b]),
                    "lt" => (less, [a, b]),
                    "ge" => (at_most, [b, a]),
                    "gt" => (less, [b, a]),
                    "le" => (at_most, [a, b]),
                    _ => return None,
                };
                self.step(kind, width, &operands)
            }
            (opcode, modifiers, [a, b]) => {
                let kind = match (opcode, modifiers) {
                    ("add", []) => Kind::Add,
                    ("sub", []) => Kind::Sub,
                    ("mul", ["lo"]) => Kind::Mul,
                    ("and", []) => Kind::And,
                    ("or", []) => Kind::Or,
                    ("xor", []) => Kind::Xor,
                    ("shl", []) => Kind::Shl,
                    ("shr", []) => either(Kind::Shr, Kind::ShrSigned),
                    ("min", []) => either(Kind::Min, Kind::MinSigned),
                    ("max", []) => either(Kind::Max, Kind::MaxSigned),
                    ("div", []) if !signed => Kind::Div,
                    ("rem", []) if !signed => Kind::Rem,
                    _ => return None,
                };
                // The distance of a shift has 32 bits.
                let second = match kind {
                    Kind::Shl | Kind::Shr | Kind::ShrSigned => 32,
                    _ => width,
                };
                let operands = [self.operand(width, a)?, self.operand(second, b)?];
                self.step(kind, width, &operands)
            }
            _ => return None,
        };
        self.values.insert(result, value);
        Some(())
    }

    /// Removes the steps on which the step `last` does not depend, and those after it.
    fn keep_used(&mut self, last: u16) {
        let mut used = vec![false; usize::from(last) + 1];
        used[usize::from(last)] = true;
        for place in (0..used.len()).rev() {
            if used[place] {
                let step = &self.steps[place];
                for &operand in &step.operands[..step.kind.operands()] {
                    used[usize::from(operand)] = true;
                }
            }
        }
        let mut places = Vec::with_capacity(used.len());
        let mut kept: Vec<Step> = Vec::new();
        for (step, is_used) in self.steps.iter().zip(&used) {
            places.push(kept.len() as u16);
            if *is_used {
                let mut step = *step;
                let count = step.kind.operands();
                for operand in &mut step.operands[..count] {
                    *operand = places[usize::from(*operand)];
                }
                kept.push(step);
            }
        }
        self.steps = kept;
    }
}

impl fmt::Display for Condition {
    /// Writes one step per line, as `%0 = add.64 %1, %2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.steps.iter().enumerate() {
            let [first, second, _] = step.operands;
            write!(f, "%{place} = ")?;
            match step.kind {
                Kind::Parameter => write!(f, "parameter.{} {first}+{second}", step.width)?,
                Kind::Size => f.write_str(SIZES[usize::from(first)])?,
                Kind::Constant => write!(f, "{}", step.constant)?,
                kind => {
                    write!(f, "{}.{}", format!("{kind:?}").to_lowercase(), step.width)?;
                    for operand in &step.operands[..kind.operands()] {
                        write!(f, " %{operand}")?;
                    }
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Item, Module};

    const SIZES_OF_LAUNCH: LaunchSizes = LaunchSizes {
        block: [32, 4, 1],
        grid: [7, 5, 3],
    };

    /// Returns the condition that the predicate `%p` is true at the end of a kernel `k`, whose first
    /// parameter has 16 bytes and whose second one has 4.
    fn condition(body: &str) -> Option<Condition> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n
            .visible .entry k(.param .align 8 .b8 k_param_0[16], .param .u32 k_param_1) {{
                {body}
            }}"
        );
        let module = Module::parse(&text).unwrap();
        let [Item::Function(kernel)] = &module.items[..] else {
            panic!("one kernel");
        };
        let condition = Condition::of(kernel, kernel.body.as_ref().unwrap(), &["%p"])?;
        let decoded = Condition::decode(&condition.encode(), &[16, 4]);
        assert_eq!(decoded.as_ref(), Some(&condition));
        Some(condition)
    }

    /// Returns whether a condition holds for the parameters `[a, b]` and `c`.
    fn holds(condition: &Condition, a: u64, b: u64, c: u32) -> bool {
        let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
        condition.holds(&SIZES_OF_LAUNCH, |index, offset, count| {
            let c = c.to_le_bytes();
            let from = [&bytes[..], &c[..]][index];
            let mut value = [0; 8];
            value[..count].copy_from_slice(&from[offset..offset + count]);
            u64::from_le_bytes(value)
        })
    }

    /// Returns whether the register `%x` is equal to `result` after an instruction with the operands
    /// `a` and `b`.
    fn computes(instruction: &str, ty: &str, a: u64, b: u64, result: u64) -> bool {
        let condition = condition(&format!(
            "ld.param.u64 %a, [k_param_0];
             ld.param.u64 %b, [k_param_0+8];
             cvt.u32.u64 %a32, %a;
             cvt.u32.u64 %b32, %b;
             {instruction};
             setp.eq.{ty} %p, %x, {};",
            result as i64
        ));
        holds(&condition.expect(instruction), a, b, 0)
    }

    #[test]
    fn operations_have_the_results_of_ptx() {
        let low = |value: i32| u64::from(value as u32);
        for (instruction, ty, a, b, expected) in [
            ("add.s64 %x, %a, %b", "s64", 5, u64::MAX, 4),
            ("add.s32 %x, %a32, %b32", "s32", 5, low(-7), low(-2)),
            ("sub.s32 %x, %a32, 6", "s32", 5, 0, low(-1)),
            ("sub.s64 %x, %a, %b", "s64", 5, 6, u64::MAX),
            ("neg.s64 %x, %a", "s64", 5, 0, -5_i64 as u64),
            ("neg.s32 %x, %a32", "s32", 5, 0, low(-5)),
            ("mul.lo.s64 %x, %a, %b", "s64", 1 << 40, 1 << 23, 1 << 63),
            (
                "mul.lo.s32 %x, %a32, %b32",
                "s32",
                1 << 20,
                3 << 11,
                1 << 31,
            ),
            (
                "mul.wide.u32 %x, %a32, %b32",
                "s64",
                low(-1),
                2,
                0x1_ffff_fffe,
            ),
            (
                "mul.wide.s32 %x, %a32, %b32",
                "s64",
                low(-3),
                2,
                -6i64 as u64,
            ),
            ("mad.lo.s32 %x, %a32, %b32, 9", "s32", 4, 5, 29),
            (
                "mad.wide.u32 %x, %a32, %b32, %b",
                "s64",
                low(-1),
                2,
                0x2_0000_0000,
            ),
            (
                "mad.wide.s32 %x, %a32, %b32, %b",
                "s64",
                low(-3),
                2,
                -4i64 as u64,
            ),
            ("mul.hi.u32 %x, %a32, %b32", "s32", low(-1), 3, 2),
            ("mul.hi.s32 %x, %a32, %b32", "s32", low(-1), 3, low(-1)),
            ("and.b64 %x, %a, %b", "s64", 12, 10, 8),
            ("or.b64 %x, %a, %b", "s64", 12, 10, 14),
            ("xor.b32 %x, %a32, %b32", "s32", 12, 10, 6),
            ("shl.b32 %x, %a32, %b32", "s32", 3, 31, 1 << 31),
            ("shl.b32 %x, %a32, %b32", "s32", 3, 32, 0),
            ("shr.u64 %x, %a, %b32", "s64", 1 << 63, 63, 1),
            ("shr.s32 %x, %a32, %b32", "s32", low(-8), 1, low(-4)),
            ("shr.s64 %x, %a, %b32", "s64", -8i64 as u64, 200, u64::MAX),
            ("min.u32 %x, %a32, %b32", "s32", low(-1), 3, 3),
            ("min.s32 %x, %a32, %b32", "s32", low(-1), 3, low(-1)),
            ("max.u64 %x, %a, %b", "s64", u64::MAX, 3, u64::MAX),
            ("max.s64 %x, %a, %b", "s64", u64::MAX, 3, 3),
            ("div.u64 %x, %a, %b", "s64", 100, 7, 14),
            ("rem.u32 %x, %a32, %b32", "s32", 100, 7, 2),
            ("cvt.s64.s32 %x, %a32", "s64", low(-5), 0, -5i64 as u64),
            ("cvt.u64.u32 %x, %a32", "s64", 0x7_0000_0002, 0, 2),
            (
                "mov.u32 %y, %nctaid.y; mul.lo.s32 %x, %y, %a32",
                "s32",
                9,
                0,
                45,
            ),
            ("mov.u32 %y, %ntid.x; add.s32 %x, %y, %a32", "s32", 9, 0, 41),
            (
                "setp.gt.s32 %q, %a32, %b32; selp.b32 %x, 1, 2, %q",
                "s32",
                3,
                low(-2),
                1,
            ),
        ] {
            for (result, equal) in [(expected, true), (expected ^ 1, false)] {
                assert_eq!(
                    computes(instruction, ty, a, b, result),
                    equal,
                    "{instruction} of {a:#x} and {b:#x}"
                );
            }
        }
    }

    #[test]
    fn comparisons_have_the_width_and_sign_of_the_type() {
        for (relation, a, b, expected) in [
            ("lt.u64", 1 << 40, 1u64 << 41, true),
            ("lt.u32", 1 << 40 | 5, 4, false),
            ("lt.s32", u64::from(u32::MAX), 0, true),
            ("le.u32", 4, 4, true),
            ("ge.u64", 3, 4, false),
            ("gt.s64", 0, u64::MAX, true),
            ("ne.s32", 1 << 32, 0, false),
            ("eq.s64", 1 << 32, 0, false),
        ] {
            let suffix = if relation.ends_with("64") { "" } else { "32" };
            let condition = condition(&format!(
                "mov.b64 %k, k_param_0;
                 ld.param.u64 %a, [%k];
                 ld.param.u64 %b, [%k+8];
                 cvt.u32.u64 %a32, %a;
                 cvt.u32.u64 %b32, %b;
                 setp.{relation} %q, %a{suffix}, %b{suffix};
                 ld.param.u32 %c, [k_param_1];
                 setp.eq.s32 %r, %c, 6;
                 not.pred %s, %r;
                 or.pred %t, %q, %s;
                 and.pred %p, %t, %q;"
            ))
            .unwrap();
            assert_eq!(holds(&condition, a, b, 6), expected, "{relation}");
            assert_eq!(holds(&condition, a, b, 7), expected, "{relation}");
        }
    }

    #[test]
    fn unmet_demands_have_their_values() {
        let condition = condition(
            "ld.param.u64 %a, [k_param_0];
             ld.param.u64 %b, [k_param_0+8];
             or.b64 %ab, %a, %b;
             setp.lt.u64 %short, %ab, 1073741824;
             mov.u32 %blocks, %nctaid.x;
             shl.b32 %threads, %blocks, 5;
             cvt.u32.u64 %a32, %a;
             setp.le.u32 %enough, %a32, %threads;
             ld.param.u32 %c, [k_param_1];
             min.u32 %least, %c, %a32;
             setp.eq.s32 %whole, %least, 8;
             and.b64 %bits, %b, 15;
             setp.eq.s64 %aligned, %bits, 0;
             and.pred %q, %short, %enough;
             and.pred %r, %whole, %aligned;
             and.pred %p, %q, %r;",
        )
        .unwrap();
        let unmet = |a: u64, b: u64, c: u32| {
            condition.unmet(&SIZES_OF_LAUNCH, |index, offset, _| match (index, offset) {
                (0, 0) => a,
                (0, _) => b,
                _ => c.into(),
            })
        };
        assert!(holds(&condition, 224, 16, 8));
        assert_eq!(unmet(224, 16, 8), [""; 0]);
        assert_eq!(
            unmet(225, 1 << 40, 8),
            [
                "param_0+8 < 2^30 (param_0+8 is 1099511627776)",
                "param_0 <= (grid_dim_x << 5) (param_0 is 225, grid_dim_x is 7)",
            ]
        );
        assert_eq!(
            unmet(224, 24, 7),
            [
                "min(param_1, param_0) == 8 (param_1 is 7, param_0 is 224)",
                "(param_0+8 & 15) == 0 (param_0+8 is 24)",
            ]
        );
    }

    #[test]
    fn only_functions_of_parameters_and_sizes_are_conditions() {
        for body in [
            "mov.u32 %a, %tid.x; setp.eq.s32 %p, %a, 0;",
            "mov.u32 %a, %ctaid.x; setp.eq.s32 %p, %a, 0;",
            "ld.param.u64 %a, [k_param_0]; ld.global.u32 %b, [%a]; setp.eq.s32 %p, %b, 0;",
            "ld.param.f32 %a, [k_param_1]; setp.eq.f32 %p, %a, %a;",
            "setp.eq.s32 %q, 0, 0; @%q setp.eq.s32 %p, 1, 1;",
            "setp.eq.s32 %q, 0, 0;",
        ] {
            assert_eq!(condition(body), None, "{body}");
        }
    }

    #[test]
    fn bytes_of_other_kernels_are_rejected() {
        let condition =
            condition("ld.param.u64 %a, [k_param_0+8]; setp.eq.s64 %p, %a, 3;").unwrap();
        let bytes = condition.encode();
        assert!(Condition::decode(&bytes, &[16]).is_some());
        assert_eq!(Condition::decode(&bytes, &[8, 8]), None);
        assert_eq!(Condition::decode(&bytes, &[]), None);
        assert_eq!(Condition::decode(&bytes[..bytes.len() - 1], &[16]), None);
        assert_eq!(Condition::decode(&[], &[16]), None);
        // The byte of a parameter is not a step.
        let byte = Condition::decode(&[0, 64, 0, 0, 200, 0, 0, 0], &[256]).unwrap();
        assert_eq!(byte.unmet(&SIZES_OF_LAUNCH, |_, _, _| 7).len(), 1);
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[place] ^= 1 << bit;
                // Whatever it means, it must not panic.
                if let Some(condition) = Condition::decode(&other, &[16]) {
                    holds(&condition, 1, 2, 3);
                    condition.unmet(&SIZES_OF_LAUNCH, |_, _, _| 1);
                }
            }
        }
    }
}
