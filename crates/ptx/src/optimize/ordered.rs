//! Removes the selections that keep the operands of a reduction of a warp in the order of the lanes.
//!
//! `group::warp().reduce(value, f)` exchanges values with the lanes at the distances 1, 2, 4, 8 and
//! 16. In each step, the lower of two lanes computes `f(own, other)` and the upper one
//! `f(other, own)`, so `f` need not be commutative. LLVM removes the selections if it is; otherwise,
//! they take two instructions per word and step.
//!
//! Only lanes 0 and 16 need the right values before the last step, and both are the lower lanes of
//! all steps up to then. So all lanes compute `f(own, other)`; the others compute numbers that no
//! one uses. Instead of exchanging values, the last step then reads those of lanes 0 and 16.
//!
//! This requires that `f` is free of branches and effects, and that both lanes would compute the
//! same. The pass evaluates each step for the lower and the upper lane, with symbols for their
//! values, and compares the results.

use crate::hash::{HashMap, HashSet};

use super::flow::{Graph, Id};
use super::instructions::{instructions, is_parameter, is_pure, rename_operand, results, sources};
use super::liveness::read;
use super::names::Names;
use super::specialize::single_definitions;
use super::version::number;
use crate::{Base, Function, Instruction, Operand, Statement, Type};

/// The distances of the steps.
const DISTANCES: [u64; 5] = [1, 2, 4, 8, 16];

/// The last step.
const LAST: usize = DISTANCES.len();

/// Opcodes whose first two sources can be exchanged.
const COMMUTATIVE: &[&str] = &["add", "and", "fma", "mad", "max", "min", "mul", "or", "xor"];

/// Relations of `setp` whose operands can be exchanged.
const SYMMETRIC: &[&str] = &["eq", "equ", "nan", "ne", "neu", "num"];

/// Removes the selections from a kernel. Returns the number of changed reductions.
pub(super) fn relax<'a>(graph: &mut Graph<'a>, names: &'a Names, kernel: &Function<'a>) -> usize {
    let is_shuffle =
        |it: &&Statement<'_>| matches!(it, Statement::Instruction(it) if it.opcode == "shfl");
    let shuffles = |body: &[Statement<'_>]| body.iter().filter(is_shuffle).count();
    if (graph.blocks.iter()).all(|block| shuffles(&block.body) < LAST) {
        return 0;
    }
    let params: HashSet<&'a str> = kernel.params.iter().map(|it| it.name).collect();
    let cold = vec![false; graph.blocks.len()];
    let single = single_definitions(graph, &cold);
    let mut count = 0;
    for id in graph.order.clone() {
        // Bodies grow, so the reductions are changed from the last to the first.
        for reduction in reductions(graph, id, &single).into_iter().rev() {
            if let Some(body) = Steps::of(graph, names, &single, &params, &reduction).run(id) {
                graph.blocks[id].body = body;
                count += 1;
            }
        }
    }
    count
}

/// The places of the shuffles of a reduction, in order, each with its step: 1 to [`LAST`].
type Reduction = Vec<(usize, usize)>;

/// Returns the reductions of a block, without their selections.
fn reductions<'a>(
    graph: &Graph<'a>,
    id: Id,
    single: &HashMap<&'a str, Instruction<'a>>,
) -> Vec<Reduction> {
    let mut all = Vec::new();
    let mut open: Reduction = Vec::new();
    for (place, statement) in graph.blocks[id].body.iter().enumerate() {
        let Statement::Instruction(it) = statement else {
            continue;
        };
        let Some(distance) = exchange(it, single) else {
            continue;
        };
        let step = (DISTANCES.iter()).position(|it| *it == distance);
        let last = open.last().map_or(0, |&(_, step)| step);
        match step.map(|step| step + 1) {
            Some(step) if step == last || step == last + 1 => open.push((place, step)),
            step => {
                all.push(std::mem::take(&mut open));
                open.extend(step.filter(|step| *step == 1).map(|step| (place, step)));
            }
        }
    }
    all.push(open);
    all.retain(|it| it.last().is_some_and(|&(_, step)| step == LAST));
    all
}

/// Returns the distance of an exchange of 32 bits among all lanes of a warp.
pub(super) fn exchange<'a>(
    it: &Instruction<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
) -> Option<u64> {
    let [Operand::Name(_), Operand::Name(_), distance, segments, mask] = &it.operands[..] else {
        return None;
    };
    let is_exchange = it.opcode == "shfl"
        && it.modifiers == ["sync", "bfly", "b32"]
        && it.guard.is_none()
        && constant(segments, single)? == 31
        && constant(mask, single)? == u64::from(u32::MAX);
    let distance = constant(distance, single)?;
    is_exchange.then_some(distance)
}

/// Returns the value of a constant with 32 bits.
pub(super) fn constant<'a>(
    operand: &Operand<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
) -> Option<u64> {
    match operand {
        Operand::Integer(value) => Some(value.bits & u64::from(u32::MAX)),
        Operand::Name(name) => {
            let it = single.get(name)?;
            match (it.opcode, &it.operands[..], it.guard) {
                ("mov", [_, Operand::Integer(value)], None) => {
                    Some(value.bits & u64::from(u32::MAX))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The index of a symbolic value.
type Number = usize;

/// A symbolic value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Value<'a> {
    /// A constant: its bits, and whether it is negative.
    Constant(u64, bool),
    /// A symbol, parameter, or register that is the same in all lanes, and an offset.
    Uniform(&'a str, i64),
    /// Anything else that is computed before the reduction.
    Unknown(usize),
    /// Whether a lane is the lower one.
    IsLower(bool),
    /// The value of the lower or the upper lane before the step: see [`Values::of_lane`].
    OfLane(Number, bool),
    /// The lower or upper half of 64 bits.
    Half(Number, bool),
    /// 64 bits.
    Pair(Number, Number),
    /// The result of an instruction.
    Result(&'a str, Vec<&'a str>, Vec<Number>),
}

/// Symbolic values, each with one number.
#[derive(Default)]
struct Values<'a> {
    numbers: HashMap<Value<'a>, Number>,
    /// The values, and whether they are the same in all lanes.
    all: Vec<(Value<'a>, bool)>,
}

impl<'a> Values<'a> {
    fn number(&mut self, value: Value<'a>) -> Number {
        if let Some(&known) = self.numbers.get(&value) {
            return known;
        }
        let uniform = match &value {
            Value::Constant(..) | Value::Uniform(..) => true,
            Value::Unknown(_) | Value::IsLower(_) | Value::OfLane(..) => false,
            Value::Half(of, _) => self.all[*of].1,
            Value::Pair(low, high) => self.all[*low].1 && self.all[*high].1,
            Value::Result(.., sources) => sources.iter().all(|it| self.all[*it].1),
        };
        let number = self.all.len();
        self.all.push((value.clone(), uniform));
        self.numbers.insert(value, number);
        number
    }

    fn is_uniform(&self, number: Number) -> bool {
        self.all[number].1
    }

    fn unknown(&mut self) -> Number {
        self.number(Value::Unknown(self.all.len()))
    }

    fn half(&mut self, of: Number, upper: bool) -> Number {
        match self.all[of].0 {
            Value::Pair(low, high) => [low, high][usize::from(upper)],
            _ => self.number(Value::Half(of, upper)),
        }
    }

    fn pair(&mut self, low: Number, high: Number) -> Number {
        match (&self.all[low].0, &self.all[high].0) {
            (&Value::Half(a, false), &Value::Half(b, true)) if a == b => a,
            _ => self.number(Value::Pair(low, high)),
        }
    }

    /// Returns what a value that all lanes had after a step is in the lower or the upper lane of
    /// the next one.
    fn of_lane(&mut self, number: Number, upper: bool) -> Number {
        match self.all[number].0 {
            _ if self.is_uniform(number) => number,
            Value::Half(of, half) => {
                let of = self.of_lane(of, upper);
                self.half(of, half)
            }
            Value::Pair(low, high) => {
                let [low, high] = [low, high].map(|it| self.of_lane(it, upper));
                self.pair(low, high)
            }
            _ => self.number(Value::OfLane(number, upper)),
        }
    }

    /// Returns the result of a pure instruction.
    fn result(&mut self, it: &Instruction<'a>, mut sources: Vec<Number>) -> Number {
        match (it.opcode, &sources[..]) {
            ("mov", &[from]) => return from,
            ("mov", &[low, high]) if it.modifiers == ["b64"] => return self.pair(low, high),
            ("selp", &[a, b, _]) if a == b => return a,
            ("selp", &[a, b, condition]) => {
                if let Value::IsLower(is_lower) = self.all[condition].0 {
                    return if is_lower { a } else { b };
                }
            }
            _ => {}
        }
        let symmetric = match (it.opcode, it.modifiers.first()) {
            ("setp", Some(relation)) => sources.len() == 2 && SYMMETRIC.contains(relation),
            _ => COMMUTATIVE.contains(&it.opcode),
        };
        if symmetric && sources.len() >= 2 {
            sources[..2].sort_unstable();
        }
        self.number(Value::Result(it.opcode, it.modifiers.clone(), sources))
    }
}

/// The value of a register in the lower and in the upper lane of a step.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The step that computes the register; 0 before the reduction.
    step: usize,
    /// The values.
    lanes: [Number; 2],
}

/// The evaluation of a reduction.
struct Steps<'g, 'a> {
    graph: &'g mut Graph<'a>,
    names: &'a Names,
    single: &'g HashMap<&'a str, Instruction<'a>>,
    params: &'g HashSet<&'a str>,
    reduction: &'g Reduction,
    values: Values<'a>,
    known: HashMap<&'a str, Known>,
    /// The registers whose values change in some lanes.
    changed: HashSet<&'a str>,
    /// The registers that have been read.
    read: HashSet<&'a str>,
    /// The current step: 0 before the reduction.
    step: usize,
    /// The registers with the values of lane 0 before the last step, by the values of the registers
    /// with those of each lane.
    lowest: HashMap<[Number; 2], &'a str>,
    /// The replacements of registers in the last step.
    replaced: HashMap<&'a str, &'a str>,
    /// The number of removed selections.
    removed: usize,
    body: Vec<Statement<'a>>,
}

impl<'g, 'a> Steps<'g, 'a> {
    fn of(
        graph: &'g mut Graph<'a>,
        names: &'a Names,
        single: &'g HashMap<&'a str, Instruction<'a>>,
        params: &'g HashSet<&'a str>,
        reduction: &'g Reduction,
    ) -> Steps<'g, 'a> {
        Steps {
            graph,
            names,
            single,
            params,
            reduction,
            values: Values::default(),
            known: HashMap::default(),
            changed: HashSet::default(),
            read: HashSet::default(),
            step: 0,
            lowest: HashMap::default(),
            replaced: HashMap::default(),
            removed: 0,
            body: Vec::new(),
        }
    }

    /// Returns the body of the block without selections, or `None` if the reduction must stay.
    fn run(mut self, id: Id) -> Option<Vec<Statement<'a>>> {
        let (last, _) = *self.reduction.last()?;
        for (place, statement) in self.graph.blocks[id].body.clone().into_iter().enumerate() {
            let shuffle = (self.reduction.iter()).find(|(it, _)| *it == place);
            instructions(&statement, &mut |it| {
                read(it, &mut |name| _ = self.read.insert(name));
            });
            match (statement, shuffle) {
                (Statement::Instruction(it), Some(&(_, step))) => {
                    self.step = step;
                    self.shuffle(it)?;
                }
                (Statement::Instruction(it), None) => self.compute(it, place < last)?,
                (statement, _) => {
                    let mut changes = false;
                    instructions(&statement, &mut |it| {
                        read(it, &mut |name| changes |= self.changed.contains(name));
                        results(it, &mut |name| _ = self.known.remove(name));
                    });
                    if changes {
                        return None;
                    }
                    self.body.push(statement);
                }
            }
        }
        let words = (self.reduction.iter()).filter(|(_, step)| *step == LAST);
        if self.removed <= words.count() || self.is_used_elsewhere(id) {
            return None;
        }
        Some(self.body)
    }

    /// Returns whether a changed register is read in another block or at the end of this one.
    fn is_used_elsewhere(&self, id: Id) -> bool {
        let mut used = false;
        let mut note = |name: &'a str| used |= self.changed.contains(name);
        for (other, block) in self.graph.blocks.iter().enumerate() {
            for statement in block.body.iter().filter(|_| other != id) {
                instructions(statement, &mut |it| read(it, &mut note));
            }
            block.end.sources(&mut note);
        }
        used
    }

    /// Adds an exchange. In the last step, the result becomes the value of lane 16.
    fn shuffle(&mut self, mut it: Instruction<'a>) -> Option<()> {
        let (&Operand::Name(result), &Operand::Name(source)) =
            (it.operands.first()?, it.operands.get(1)?)
        else {
            return None;
        };
        let [lower, upper] = self.lanes(source, self.step)?;
        if self.step == LAST {
            it.modifiers[1] = "idx";
            it.operands[2] = number(16);
            let mut of_lowest = it.clone();
            let low = self.graph.register(Type::B32, self.names);
            of_lowest.operands[0] = Operand::Name(low);
            of_lowest.operands[2] = number(0);
            self.body.push(Statement::Instruction(of_lowest));
            self.lowest.insert([lower, upper], low);
        }
        self.body.push(Statement::Instruction(it));
        self.change(result, [upper, lower], self.step)
    }

    /// Records the value of a register that is not the same in all lanes any more.
    fn change(&mut self, name: &'a str, lanes: [Number; 2], step: usize) -> Option<()> {
        self.changed.insert(name);
        self.known.insert(name, Known { step, lanes });
        // A loop may have read the value of the previous iteration.
        (self.single.contains_key(name) && !self.read.contains(name)).then_some(())
    }

    /// Adds an instruction. `early` is true before the last shuffle.
    fn compute(&mut self, mut it: Instruction<'a>, early: bool) -> Option<()> {
        let is_order = |guard: &Operand<'a>| match guard {
            Operand::Name(name) if self.step > 0 => {
                is_lower(self.single, name).filter(|(bit, _)| *bit == DISTANCES[self.step - 1])
            }
            _ => None,
        };
        let order = match (it.opcode, &it.operands[..]) {
            ("selp", [_, _, _, condition]) => is_order(condition),
            _ => None,
        };
        let mut changes = order.is_some();
        read(&it, &mut |name| changes |= self.changed.contains(name));
        // The sources of the last shuffles are computed among them.
        let step = match self.step == LAST && early {
            true => LAST - 1,
            false => self.step,
        };
        let lanes = self.result(&it, step);
        if !changes {
            let mut written = Vec::new();
            results(&it, &mut |name| written.push(name));
            for (index, name) in written.into_iter().enumerate() {
                match lanes.get(index) {
                    Some(&lanes) => _ = self.known.insert(name, Known { step, lanes }),
                    None => _ = self.known.remove(name),
                }
            }
            self.body.push(Statement::Instruction(it));
            return Some(());
        }
        if let Some((_, is_lower)) = order {
            let condition = it.operands.pop()?;
            drop(condition);
            it.operands.remove(if is_lower { 2 } else { 1 });
            it.opcode = "mov";
            self.removed += 1;
        }
        let mut valid = !lanes.is_empty();
        if step == LAST {
            let mut read = Vec::new();
            sources(&it, &mut |name| read.push(name));
            for name in read {
                valid &= self.use_lowest(name).is_some();
            }
            for operand in it.operands.iter_mut().skip(1) {
                let replaced = &self.replaced;
                rename_operand(operand, &mut |name| {
                    replaced.get(name).copied().unwrap_or(name)
                });
            }
        }
        if !valid {
            return None;
        }
        let mut written = Vec::new();
        results(&it, &mut |name| written.push(name));
        for (name, lanes) in written.into_iter().zip(lanes) {
            // All lanes have the result of the last step.
            if step == LAST && lanes[0] == lanes[1] {
                self.known.insert(name, Known { step, lanes });
            } else {
                self.change(name, lanes, step)?;
            }
        }
        self.body.push(Statement::Instruction(it));
        Some(())
    }

    /// Replaces a register that an instruction of the last step reads by one with the value of lane
    /// 0, if it is one with the value of the lower lane. Returns `None` if the instruction cannot
    /// have the same result in all lanes.
    fn use_lowest(&mut self, name: &'a str) -> Option<()> {
        if self.replaced.contains_key(name) {
            return Some(());
        }
        let lanes = self.lanes(name, LAST)?;
        let is_own = self.known.get(name).is_none_or(|it| it.step < LAST);
        if lanes[0] == lanes[1] || (!is_own && self.changed.contains(name)) {
            return Some(());
        }
        if !is_own {
            return None;
        }
        let ty = self.graph.type_of(name)?;
        let from = match self.lowest.get(&lanes) {
            Some(&low) => Operand::Name(low),
            None => {
                let mut half = |upper| {
                    let lanes = lanes.map(|it| self.values.half(it, upper));
                    self.lowest.get(&lanes).copied().map(Operand::Name)
                };
                Operand::Vector(vec![half(false)?, half(true)?])
            }
        };
        let moved = match (&from, ty.bytes()) {
            (Operand::Name(_), 4) => "b32",
            (Operand::Vector(_), 8) => "b64",
            _ => return None,
        };
        let low = (self.graph).emit(self.names, &mut self.body, ty, "mov", &[moved], [from]);
        self.replaced.insert(name, low);
        Some(())
    }

    /// Returns the values of the registers that an instruction writes, or none if they are not
    /// known.
    fn result(&mut self, it: &Instruction<'a>, step: usize) -> Vec<[Number; 2]> {
        let Some(lanes) = self.try_result(it, step) else {
            return Vec::new();
        };
        match it.operands.first() {
            Some(Operand::Name(_)) => vec![lanes],
            Some(Operand::Vector(parts)) if parts.len() == 2 && it.modifiers == ["b64"] => {
                [false, true]
                    .map(|upper| lanes.map(|it| self.values.half(it, upper)))
                    .to_vec()
            }
            _ => Vec::new(),
        }
    }

    fn try_result(&mut self, it: &Instruction<'a>, step: usize) -> Option<[Number; 2]> {
        if !(is_pure(it) || self.is_param(it)) {
            return None;
        }
        let mut sources: [Vec<Number>; 2] = Default::default();
        for operand in it.operands.get(1..)? {
            let parts = match operand {
                Operand::Vector(parts) if it.opcode == "mov" => &parts[..],
                _ => std::slice::from_ref(operand),
            };
            for part in parts {
                let lanes = self.operand(part, step)?;
                for (all, lane) in sources.iter_mut().zip(lanes) {
                    all.push(lane);
                }
            }
        }
        Some(sources.map(|sources| self.values.result(it, sources)))
    }

    fn operand(&mut self, operand: &Operand<'a>, step: usize) -> Option<[Number; 2]> {
        let value = match *operand {
            Operand::Name(name) => return self.lanes(name, step),
            Operand::Integer(value) => Value::Constant(value.bits, value.negative),
            Operand::F32(bits) => Value::Constant(u64::from(bits), false),
            Operand::F64(bits) => Value::Constant(bits, false),
            Operand::Address(Base::Name(name), offset) if self.params.contains(name) => {
                Value::Uniform(name, offset)
            }
            _ => return None,
        };
        Some([self.values.number(value); 2])
    }

    /// Returns whether an instruction loads a parameter of the kernel.
    fn is_param(&self, it: &Instruction<'a>) -> bool {
        is_parameter(it)
            && it.guard.is_none()
            && matches!(it.operands.get(1), Some(Operand::Address(Base::Name(name), _)) if self.params.contains(name))
    }

    /// Returns the values of a register in the lower and the upper lane of a step, or `None` if
    /// lanes other than these two have other values.
    fn lanes(&mut self, name: &'a str, step: usize) -> Option<[Number; 2]> {
        if self.graph.type_of(name).is_none() {
            let value = Value::Uniform(name, 0);
            return (!name.starts_with('%')).then(|| [self.values.number(value); 2]);
        }
        if let Some((bit, is_lower)) = is_lower(self.single, name)
            && step > 0
            && bit == DISTANCES[step - 1]
        {
            let lanes = [is_lower, !is_lower];
            return Some(lanes.map(|it| self.values.number(Value::IsLower(it))));
        }
        let Known { step: of, lanes } = match self.known.get(name) {
            Some(&known) => known,
            None => {
                let value = match self.single.get(name) {
                    Some(it) if self.is_param(it) => self.values.number(Value::Uniform(name, 0)),
                    Some(it) => match (it.opcode, &it.operands[..], it.guard) {
                        ("mov", [_, from @ (Operand::Integer(_) | Operand::F32(_))], None)
                        | ("mov", [_, from @ Operand::F64(_)], None) => {
                            let from = from.clone();
                            self.operand(&from, step)?[0]
                        }
                        _ if step <= 1 => self.values.unknown(),
                        _ => return None,
                    },
                    None if step <= 1 => self.values.unknown(),
                    None => return None,
                };
                let known = Known {
                    step: 0,
                    lanes: [value; 2],
                };
                self.known.insert(name, known);
                known
            }
        };
        if of == step {
            return Some(lanes);
        }
        if lanes[0] != lanes[1] || of > step {
            return None;
        }
        if self.values.is_uniform(lanes[0]) {
            return Some(lanes);
        }
        let [lower, upper] = [false, true].map(|upper| self.values.of_lane(lanes[0], upper));
        (of + 1 == step).then_some([lower, upper])
    }
}

/// Returns the bit of the lane that a predicate tests, and whether the predicate is true if it is 0.
fn is_lower<'a>(
    single: &HashMap<&'a str, Instruction<'a>>,
    predicate: &str,
) -> Option<(u64, bool)> {
    let it = single.get(predicate).filter(|it| it.guard.is_none())?;
    let ("setp", [relation, "b32" | "s32" | "u32"], [_, Operand::Name(tested), compared]) =
        (it.opcode, &it.modifiers[..], &it.operands[..])
    else {
        return None;
    };
    let compared = constant(compared, single)?;
    if is_lane(single, tested) {
        return match (*relation, compared) {
            ("lt", 16) | ("le", 15) => Some((16, true)),
            ("ge", 16) | ("gt", 15) => Some((16, false)),
            _ => None,
        };
    }
    let it = single.get(tested).filter(|it| it.guard.is_none())?;
    let ("and", ["b32"], [_, Operand::Name(lane), bit]) =
        (it.opcode, &it.modifiers[..], &it.operands[..])
    else {
        return None;
    };
    let bit = constant(bit, single).filter(|bit| DISTANCES.contains(bit))?;
    let is_lower = match (*relation, compared) {
        ("eq", 0) => true,
        ("ne", 0) => false,
        ("eq", compared) if compared == bit => false,
        ("ne", compared) if compared == bit => true,
        _ => return None,
    };
    is_lane(single, lane).then_some((bit, is_lower))
}

/// Returns whether a register is the index of the lane.
fn is_lane(single: &HashMap<&str, Instruction<'_>>, register: &str) -> bool {
    let Some(it) = single.get(register) else {
        return false;
    };
    let is_move = it.opcode == "mov" && it.guard.is_none();
    is_move && matches!(it.operands[..], [_, Operand::Name("%laneid")])
}
