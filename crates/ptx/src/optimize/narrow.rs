//! Computes the 64-bit indices of the first iteration of grid-stride loops in 32 bits.
//!
//! GPUs have 32-bit registers: each 64-bit addition, comparison or address of an array's element
//! takes two instructions or more. `peel` lets the copy of the first iteration run only if all
//! lengths and extents among the kernel's parameters are below 2³⁰. This pass propagates the ranges
//! that follow from that, from special registers and from branches, and replaces operations whose
//! operands and results fit 32 bits with sign. If the extents are larger, the original loop runs.

use std::collections::{HashMap, HashSet};

use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;

use super::flow::{End, Graph, Id};
use super::instructions::{instructions, rename_operand, results, sources};
use super::loops::{Comparison, Relation};
use super::names::Names;
use crate::dead::visit_operand;
use crate::rewrite::instruction;
use crate::{Base, Guard, Instruction, Integer, Operand, Statement, Type};

/// The exclusive bound of the parameters.
pub(super) const BOUND: u64 = 1 << 30;

/// The maximum number of instructions from the entry to the loop.
const LARGEST: usize = 400;

/// The copy of the first iteration of a nest of loops.
#[derive(Debug)]
pub(super) struct Peeled<'a> {
    /// The first block of the copy, which runs if the extents are below [`BOUND`].
    pub first: Id,
    /// The blocks of the copy.
    pub blocks: HashSet<Id>,
    /// The registers with lengths and extents.
    pub extents: HashSet<&'a str>,
}

/// Returns the registers with lengths and extents among the parameters that the blocks compare or
/// add, if there is enough to gain: `before` are the blocks that precede the loop.
pub(super) fn extents<'a>(
    graph: &Graph<'a>,
    before: &[Id],
    inside: &[Id],
) -> Option<HashSet<&'a str>> {
    const WORTHWHILE: usize = 8;
    let mut parameters = HashSet::new();
    let mut addresses = HashSet::new();
    let mut writes: HashMap<&'a str, u32> = HashMap::new();
    for &id in &graph.order {
        for statement in &graph.blocks[id].body {
            instructions(statement, &mut |it| {
                results(it, &mut |name| *writes.entry(name).or_insert(0) += 1);
                if it.opcode == "ld" && it.modifiers == ["param", "u64"] && it.guard.is_none() {
                    results(it, &mut |name| _ = parameters.insert(name));
                }
                if it.opcode == "cvta" {
                    sources(it, &mut |name| _ = addresses.insert(name));
                }
                for operand in &it.operands {
                    if let Operand::Address(Base::Name(name), _) = operand {
                        addresses.insert(*name);
                    }
                }
            });
        }
    }
    let mut used = HashSet::new();
    let mut operations = 0;
    for &id in before.iter().chain(inside) {
        for statement in &graph.blocks[id].body {
            instructions(statement, &mut |it| {
                let counts = match it.opcode {
                    "setp" | "add" | "sub" => inside.contains(&id) && is_wide(it),
                    "mul" | "mad" | "min" | "max" => false,
                    _ => return,
                };
                operations += usize::from(counts);
                sources(it, &mut |name| _ = used.insert(name));
            });
        }
    }
    let single = |name: &&str| !addresses.contains(name) && writes.get(name) == Some(&1);
    let mut extents: HashSet<&'a str> =
        parameters.iter().copied().filter(|it| single(it)).collect();
    // Products of extents, such as the distance between the layers of a volume.
    for &id in before {
        for statement in &graph.blocks[id].body {
            if let Statement::Instruction(it) = statement
                && let ("mul", ["lo", "s64" | "u64"], [Operand::Name(product), a, b]) =
                    (it.opcode, &it.modifiers[..], &it.operands[..])
                && [a, b]
                    .iter()
                    .all(|it| matches!(it, Operand::Name(n) if extents.contains(n)))
                && single(product)
            {
                extents.insert(product);
            }
        }
    }
    extents.retain(|name| used.contains(name));
    (operations >= WORTHWHILE && !extents.is_empty()).then_some(extents)
}

/// Returns whether the last modifier is a 64-bit integer type.
fn is_wide(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.modifiers.last(), Some(&("u64" | "s64" | "b64")))
}

/// Adds the instructions that test the extents, and returns the predicate.
pub(super) fn test<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    body: &mut Vec<Statement<'a>>,
    extents: &HashSet<&'a str>,
) -> &'a str {
    let mut sorted: Vec<&'a str> = extents.iter().copied().collect();
    sorted.sort_unstable();
    let mut all = sorted[0];
    for &next in &sorted[1..] {
        let operands = [all, next].map(Operand::Name);
        all = graph.emit(names, body, Type::B64, "or", &["b64"], operands);
    }
    let operands = [
        Operand::Name(all),
        Operand::Integer(Integer::unsigned(BOUND)),
    ];
    graph.emit(names, body, Type::Pred, "setp", &["lt", "u64"], operands)
}

/// Returns the blocks from the function's entry to `to`, as far as there is a single way.
pub(super) fn before(graph: &Graph<'_>, to: Id) -> Vec<Id> {
    let predecessors = graph.predecessors();
    let mut path = Vec::new();
    let mut size = 0;
    let mut at = to;
    while let [only] = predecessors[at][..]
        && !path.contains(&only)
    {
        size += graph.blocks[only].body.len();
        if size > LARGEST {
            break;
        }
        path.push(only);
        at = only;
    }
    path.reverse();
    path
}

/// Rewrites the copies of first iterations. Returns the number of replaced operations.
pub(super) fn narrow<'a>(graph: &mut Graph<'a>, names: &'a Names, peeled: &[Peeled<'a>]) -> usize {
    peeled
        .iter()
        .map(|each| narrow_one(graph, names, each))
        .sum()
}

fn narrow_one<'a>(graph: &mut Graph<'a>, names: &'a Names, peeled: &Peeled<'a>) -> usize {
    let cold = graph.cold();
    let predecessors = graph.predecessors();
    let first = peeled.first;
    let mut facts = Facts {
        extents: peeled.extents.clone(),
        ..Facts::default()
    };
    let path = before(graph, first);
    for (index, &id) in path.iter().enumerate() {
        for statement in &graph.blocks[id].body {
            facts.statement(statement);
        }
        let next = path.get(index + 1).copied().unwrap_or(first);
        facts = facts.on_edge(&graph.blocks[id].end, next);
    }

    let hot: HashSet<Id> = (peeled.blocks.iter().copied())
        .filter(|&id| !cold[id])
        .collect();
    let Some(order) = topological(graph, &predecessors, &hot, first) else {
        return 0;
    };
    let private = private(graph, &cold, &predecessors, &hot);
    let mut states: HashMap<Id, State<'a>> = HashMap::new();
    states.insert(
        first,
        State {
            facts,
            low: HashMap::new(),
        },
    );
    let mut count = 0;
    let mut entries: HashMap<Id, HashMap<&'a str, Low<'a>>> = HashMap::new();
    for id in order {
        let Some(mut state) = states.remove(&id) else {
            continue;
        };
        let body = std::mem::take(&mut graph.blocks[id].body);
        let mut narrowed = Vec::with_capacity(body.len());
        for statement in body {
            count += state.rewrite(graph, names, statement, &private, &mut narrowed);
        }
        graph.blocks[id].body = narrowed;
        let end = graph.blocks[id].end.clone();
        for to in end.targets() {
            let on_edge = State {
                facts: state.facts.on_edge(&end, to),
                low: state.low.clone(),
            };
            if hot.contains(&to) {
                match states.get_mut(&to) {
                    Some(known) => known.meet(&on_edge),
                    None => _ = states.insert(to, on_edge),
                }
            } else if cold[to] && predecessors[to].len() == 1 {
                entries.insert(to, state.low.clone());
            } else if cold[to] {
                let widened = widened_for(graph, &cold, to, &state.low, &private);
                graph.blocks[id].body.extend(widened);
            }
        }
    }
    for (to, low) in entries {
        let widened = widened_for(graph, &cold, to, &low, &private);
        let body = &mut graph.blocks[to].body;
        let place = (body.iter())
            .position(|it| matches!(it, Statement::Instruction(_) | Statement::Block(_)))
            .unwrap_or(body.len());
        body.splice(place..place, widened);
    }
    count
}

/// Returns the instructions that compute the 64-bit registers that cold code reads.
fn widened_for<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    entry: Id,
    low: &HashMap<&'a str, Low<'a>>,
    private: &HashSet<&'a str>,
) -> Vec<Statement<'a>> {
    let mut used = HashSet::new();
    let mut seen = HashSet::from([entry]);
    let mut left = vec![entry];
    while let Some(id) = left.pop() {
        let block = &graph.blocks[id];
        for statement in &block.body {
            instructions(statement, &mut |it| {
                sources(it, &mut |name| _ = used.insert(name));
            });
        }
        let targets = block.end.targets().into_iter();
        left.extend(targets.filter(|&to| cold[to] && seen.insert(to)));
    }
    let mut needed: Vec<(&'a str, Low<'a>)> = (low.iter())
        .filter(|(name, _)| private.contains(**name) && used.contains(**name))
        .map(|(&name, &low)| (name, low))
        .collect();
    needed.sort_unstable();
    let extended = needed.into_iter().map(|(name, low)| extend(name, low));
    extended.collect()
}

/// Returns the instruction that extends a 32-bit register.
fn extend<'a>(wide: &'a str, low: Low<'a>) -> Statement<'a> {
    let types = if low.signed {
        ["s64", "s32"]
    } else {
        ["u64", "u32"]
    };
    let operands = [wide, low.register].map(Operand::Name).to_vec();
    instruction("cvt", &types, operands)
}

/// Returns the blocks in an order in which each follows its predecessors, or `None` if there is a
/// cycle, or a way into the blocks other than to `first`.
fn topological(
    graph: &Graph<'_>,
    predecessors: &[Vec<Id>],
    blocks: &HashSet<Id>,
    first: Id,
) -> Option<Vec<Id>> {
    let mut flow = DiGraphMap::<Id, ()>::new();
    for &id in graph.order.iter().filter(|&id| blocks.contains(id)) {
        flow.add_node(id);
        for &from in predecessors[id].iter().filter(|_| id != first) {
            if !blocks.contains(&from) {
                return None;
            }
            flow.add_edge(from, id, ());
        }
    }
    toposort(&flow, None).ok()
}

/// Returns the registers that only the copy and the panics behind it read, and that one instruction
/// writes.
fn private<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    predecessors: &[Vec<Id>],
    hot: &HashSet<Id>,
) -> HashSet<&'a str> {
    let mut own = hot.clone();
    loop {
        let before = own.len();
        for &id in &graph.order {
            if cold[id] && !predecessors[id].is_empty() {
                let mut from = predecessors[id].iter();
                if from.all(|from| own.contains(from)) {
                    own.insert(id);
                }
            }
        }
        if own.len() == before {
            break;
        }
    }
    let mut writes: HashMap<&'a str, u32> = HashMap::new();
    let mut shared = HashSet::new();
    for &id in &graph.order {
        let block = &graph.blocks[id];
        for statement in &block.body {
            instructions(statement, &mut |it| {
                results(it, &mut |name| *writes.entry(name).or_insert(0) += 1);
                // A nested block may have declarations of its own.
                let plain = matches!(statement, Statement::Instruction(_)) || cold[id];
                if !own.contains(&id) || !plain {
                    sources(it, &mut |name| _ = shared.insert(name));
                    results(it, &mut |name| _ = shared.insert(name));
                }
            });
        }
        match &block.end {
            End::Leave(it) | End::Switch(it, _) => {
                sources(it, &mut |name| _ = shared.insert(name));
            }
            End::Branch(..) | End::Jump(..) | End::Never => {}
        }
    }
    let single = writes.into_iter().filter(|&(_, count)| count == 1);
    single
        .map(|(name, _)| name)
        .filter(|name| !shared.contains(name))
        .collect()
}

/// A condition that a predicate register holds.
#[derive(Clone, Debug)]
enum Condition<'a> {
    Compare(Comparison<'a>),
    And(Box<Condition<'a>>, Box<Condition<'a>>),
    Or(Box<Condition<'a>>, Box<Condition<'a>>),
    Not(Box<Condition<'a>>),
    Unknown,
}

impl<'a> Condition<'a> {
    fn visit(&self, visit: &mut impl FnMut(&'a str)) {
        match self {
            Condition::Compare(it) => {
                visit_operand(&it.left, visit);
                visit_operand(&it.right, visit);
            }
            Condition::And(a, b) | Condition::Or(a, b) => {
                a.visit(visit);
                b.visit(visit);
            }
            Condition::Not(a) => a.visit(visit),
            Condition::Unknown => {}
        }
    }
}

/// The known facts at a place: the ranges of integer registers, as signed numbers of their width
/// for 64 bits and as unsigned ones for 32 bits, and the conditions in predicate registers.
#[derive(Clone, Debug, Default)]
struct Facts<'a> {
    ranges: HashMap<&'a str, (i64, i64)>,
    conditions: HashMap<&'a str, Condition<'a>>,
    extents: HashSet<&'a str>,
}

impl<'a> Facts<'a> {
    /// Returns the range of an operand, if it is known.
    fn range(&self, operand: &Operand<'a>) -> Option<(i64, i64)> {
        match operand {
            Operand::Integer(value) => {
                let value = value.bits as i64;
                Some((value, value))
            }
            Operand::Name(name) => match self.ranges.get(name) {
                Some(&range) => Some(range),
                None => special(name),
            },
            _ => None,
        }
    }

    fn condition(&self, name: &str) -> Condition<'a> {
        (self.conditions.get(name).cloned()).unwrap_or(Condition::Unknown)
    }

    /// Updates the facts for the execution of a statement.
    fn statement(&mut self, statement: &Statement<'a>) {
        if let Statement::Instruction(it) = statement {
            self.instruction(it);
        } else {
            instructions(statement, &mut |it| {
                results(it, &mut |name| self.forget(name))
            });
        }
    }

    fn forget(&mut self, name: &'a str) {
        self.ranges.remove(name);
        self.conditions.remove(name);
        self.conditions.retain(|_, condition| {
            let mut found = false;
            condition.visit(&mut |used| found |= used == name);
            !found
        });
    }

    fn instruction(&mut self, it: &Instruction<'a>) {
        let (range, condition) = match it.guard {
            None => (self.result_range(it), self.result_condition(it)),
            Some(_) => (None, None),
        };
        results(it, &mut |name| self.forget(name));
        let Some(&Operand::Name(result)) = it.operands.first() else {
            return;
        };
        if let Some(range) = range {
            self.ranges.insert(result, range);
        }
        if let Some(condition) = condition {
            // A comparison with the old value of its own result is impossible.
            self.conditions.insert(result, condition);
        }
    }

    fn result_condition(&self, it: &Instruction<'a>) -> Option<Condition<'a>> {
        match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("setp", ..) => Comparison::of(it, true).map(Condition::Compare),
            (opcode @ ("and" | "or"), ["pred"], [_, Operand::Name(a), Operand::Name(b)]) => {
                let (a, b) = (self.condition(a).into(), self.condition(b).into());
                Some(match opcode {
                    "and" => Condition::And(a, b),
                    _ => Condition::Or(a, b),
                })
            }
            ("not", ["pred"], [_, Operand::Name(a)]) => {
                Some(Condition::Not(self.condition(a).into()))
            }
            ("mov", ["pred"], [_, Operand::Name(a)]) => Some(self.condition(a)),
            _ => None,
        }
    }

    /// Returns the range of an instruction's result, if it is known.
    fn result_range(&self, it: &Instruction<'a>) -> Option<(i64, i64)> {
        let operand = |index: usize| self.range(it.operands.get(index)?);
        let word = |(low, high): (i64, i64)| {
            (low >= 0 && high <= i64::from(u32::MAX)).then_some((low, high))
        };
        let nonnegative = |range: (i64, i64)| (range.0 >= 0).then_some(range);
        if let Some(Operand::Name(name)) = it.operands.first()
            && self.extents.contains(name)
        {
            return Some((0, BOUND as i64 - 1));
        }
        match (it.opcode, &it.modifiers[..]) {
            ("mov", ["u64" | "s64" | "b64"]) => operand(1),
            ("mov", ["u32" | "s32" | "b32"]) => word(operand(1)?),
            ("cvt", ["u64", "u32"]) => match operand(1).and_then(word) {
                Some(range) => Some(range),
                None => Some((0, u32::MAX.into())),
            },
            ("add", [ty]) => {
                let (a, b) = (operand(1)?, operand(2)?);
                let sum = (a.0.checked_add(b.0)?, a.1.checked_add(b.1)?);
                if is_64(ty) { Some(sum) } else { word(sum) }
            }
            ("sub", [ty]) => {
                let (a, b) = (operand(1)?, operand(2)?);
                let difference = (a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?);
                if is_64(ty) {
                    Some(difference)
                } else {
                    word(difference)
                }
            }
            ("mul", ["wide", "u32"]) | ("mul", ["lo", "s64" | "u64"]) => {
                let (a, b) = (nonnegative(operand(1)?)?, nonnegative(operand(2)?)?);
                Some((a.0.checked_mul(b.0)?, a.1.checked_mul(b.1)?))
            }
            ("mul", ["lo", "s32" | "u32"]) => {
                let (a, b) = (nonnegative(operand(1)?)?, nonnegative(operand(2)?)?);
                word((a.0.checked_mul(b.0)?, a.1.checked_mul(b.1)?))
            }
            ("mad", ["lo", ty]) => {
                let [a, b, c] = [operand(1)?, operand(2)?, operand(3)?];
                let (a, b, c) = (nonnegative(a)?, nonnegative(b)?, nonnegative(c)?);
                let low = a.0.checked_mul(b.0)?.checked_add(c.0)?;
                let high = a.1.checked_mul(b.1)?.checked_add(c.1)?;
                if is_64(ty) {
                    Some((low, high))
                } else {
                    word((low, high))
                }
            }
            ("shl", [ty]) => {
                let (a, by) = (nonnegative(operand(1)?)?, operand(2)?);
                if by.0 != by.1 || !(0..63).contains(&by.0) {
                    return None;
                }
                let factor = 1i64 << by.0;
                let shifted = (a.0.checked_mul(factor)?, a.1.checked_mul(factor)?);
                if *ty == "b64" {
                    Some(shifted)
                } else {
                    word(shifted)
                }
            }
            ("or", ["b64" | "b32"]) => {
                let (a, b) = (nonnegative(operand(1)?)?, nonnegative(operand(2)?)?);
                let bits = 64 - (a.1 | b.1).leading_zeros();
                Some((a.0.max(b.0), ((1u128 << bits) - 1) as i64))
            }
            ("and", ["b64" | "b32"]) => {
                let of = |index| operand(index).and_then(nonnegative);
                let high = match (of(1), of(2)) {
                    (Some(a), Some(b)) => a.1.min(b.1),
                    (Some(one), None) | (None, Some(one)) => one.1,
                    (None, None) => return None,
                };
                Some((0, high))
            }
            ("min", ["u64" | "u32"]) => {
                let of = |index| operand(index).and_then(nonnegative);
                match (of(1), of(2)) {
                    (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.min(b.1))),
                    (Some(one), None) | (None, Some(one)) => Some((0, one.1)),
                    (None, None) => None,
                }
            }
            ("max", ["u64" | "u32"]) => {
                let (a, b) = (nonnegative(operand(1)?)?, nonnegative(operand(2)?)?);
                Some((a.0.max(b.0), a.1.max(b.1)))
            }
            _ => None,
        }
    }

    /// Returns the facts after a branch to `to`.
    fn on_edge(&self, end: &End<'a>, to: Id) -> Facts<'a> {
        let mut facts = self.clone();
        if let End::Branch(guard, _, target, otherwise) = end
            && target != otherwise
        {
            let Guard { negated, register } = *guard;
            let condition = self.condition(register);
            facts.assume(&condition, (to == *target) != negated);
        }
        facts
    }

    fn assume(&mut self, condition: &Condition<'a>, value: bool) {
        match (condition, value) {
            (Condition::And(a, b), true) | (Condition::Or(a, b), false) => {
                self.assume(a, value);
                self.assume(b, value);
            }
            (Condition::Not(a), _) => self.assume(a, !value),
            (Condition::Compare(it), true) => self.assume_comparison(it),
            (Condition::Compare(it), false) => self.assume_comparison(&it.inverted()),
            (Condition::And(..), false) | (Condition::Or(..), true) | (Condition::Unknown, _) => {}
        }
    }

    fn assume_comparison(&mut self, it: &Comparison<'a>) {
        match it.relation {
            Relation::Less | Relation::LessOrEqual if !it.signed => {
                let strict = i64::from(it.relation == Relation::Less);
                let (left, right) = (self.range(&it.left), self.range(&it.right));
                if let (Operand::Name(name), Some((0.., high))) = (&it.left, right) {
                    // Unsigned, so the left side is not negative either.
                    let low = left.map_or(0, |(low, _)| low.max(0));
                    let known = left.map_or(
                        i64::MAX,
                        |(low, high)| if low < 0 { i64::MAX } else { high },
                    );
                    self.ranges.insert(name, (low, known.min(high - strict)));
                }
                if let (Operand::Name(name), Some((low @ 0.., _)), Some((0.., high))) =
                    (&it.right, left, right)
                {
                    let own = right.map_or(0, |(own, _)| own);
                    self.ranges.insert(name, (own.max(low + strict), high));
                }
            }
            Relation::Greater | Relation::GreaterOrEqual => {
                self.assume_comparison(&it.swapped());
            }
            Relation::NotEqual => {
                if let (Operand::Name(name), Operand::Integer(Integer { bits: 0, .. })) =
                    (&it.left, &it.right)
                    && let Some((0, high @ 1..)) = self.range(&it.left)
                {
                    self.ranges.insert(name, (1, high));
                }
            }
            _ => {}
        }
    }

    /// Keeps what holds in both.
    fn meet(&mut self, other: &Facts<'a>) {
        self.ranges
            .retain(|name, range| match other.ranges.get(name) {
                Some(its) => {
                    *range = (range.0.min(its.0), range.1.max(its.1));
                    true
                }
                None => false,
            });
        self.conditions.clear();
    }
}

fn is_64(ty: &str) -> bool {
    matches!(ty, "u64" | "s64")
}

/// Returns the range of a special register.
fn special(name: &str) -> Option<(i64, i64)> {
    let (register, dimension) = name.rsplit_once('.')?;
    // PTX ISA, "Special Registers"; CUDA Programming Guide, "Compute Capabilities".
    Some(match (register, dimension) {
        ("%tid", "x" | "y") => (0, 1023),
        ("%tid", "z") => (0, 63),
        ("%ntid", "x" | "y") => (1, 1024),
        ("%ntid", "z") => (1, 64),
        ("%ctaid", "x") => (0, i32::MAX as i64 - 1),
        ("%ctaid", "y" | "z") => (0, 65534),
        ("%nctaid", "x") => (1, i32::MAX.into()),
        ("%nctaid", "y" | "z") => (1, 65535),
        _ => return None,
    })
}

/// The lower half of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Low<'a> {
    register: &'a str,
    /// Whether the number may be negative.
    signed: bool,
}

/// The facts at a place in the copy, and the registers that only have a 32-bit value so far.
#[derive(Clone, Debug)]
struct State<'a> {
    facts: Facts<'a>,
    /// The 32-bit register with the lower half of each private register that is not computed.
    low: HashMap<&'a str, Low<'a>>,
}

impl<'a> State<'a> {
    fn meet(&mut self, other: &State<'a>) {
        self.facts.meet(&other.facts);
        self.low
            .retain(|name, low| other.low.get(name) == Some(low));
    }

    /// Appends the statement, or a replacement, to `to`. Returns the number of replacements.
    fn rewrite(
        &mut self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        statement: Statement<'a>,
        private: &HashSet<&'a str>,
        to: &mut Vec<Statement<'a>>,
    ) -> usize {
        let Statement::Instruction(it) = &statement else {
            self.facts.statement(&statement);
            to.push(statement);
            return 0;
        };
        let replaced = it.guard.is_none() && self.replace(graph, names, it, private, to);
        if !replaced {
            // The instruction needs all bits.
            let mut wide = Vec::new();
            sources(it, &mut |name| {
                if let Some(&low) = self.low.get(name) {
                    wide.push((name, low));
                }
            });
            let mut renamed = it.clone();
            for (name, low) in wide {
                let Some(ty) = graph.type_of(name) else {
                    continue;
                };
                let full = graph.register(ty, names);
                to.push(extend(full, low));
                for operand in &mut renamed.operands {
                    rename_operand(operand, &mut |used| if used == name { full } else { used });
                }
            }
            to.push(Statement::Instruction(renamed));
        }
        self.facts.instruction(it);
        usize::from(replaced)
    }

    /// Appends a 32-bit replacement, if there is one.
    fn replace(
        &mut self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        it: &Instruction<'a>,
        private: &HashSet<&'a str>,
        to: &mut Vec<Statement<'a>>,
    ) -> bool {
        let fits = |range: Option<(i64, i64)>| {
            range.is_some_and(|(low, high)| low >= i32::MIN.into() && high <= i32::MAX.into())
        };
        let is_word = |operand: &Operand<'a>| fits(self.facts.range(operand));
        let is_unsigned_word = |operand: &Operand<'a>| {
            let range = self.facts.range(operand);
            range.is_some_and(|(low, high)| low >= 0 && high <= u32::MAX.into())
        };
        match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            (
                "setp",
                [relation, ty @ ("u64" | "s64" | "b64")],
                [result @ Operand::Name(_), a, b],
            ) if is_word(a) && is_word(b) => {
                // Extension with sign preserves the order of unsigned numbers, too.
                let ty = match *ty {
                    "u64" => "u32",
                    "s64" => "s32",
                    _ => "b32",
                };
                let [a, b] = self.lows(graph, names, [a, b], to);
                to.push(instruction(
                    "setp",
                    &[relation, ty],
                    vec![result.clone(), a, b],
                ));
                true
            }
            (opcode @ ("add" | "sub"), ["s64" | "u64"], [Operand::Name(result), a, b])
                if private.contains(result)
                    && is_word(a)
                    && is_word(b)
                    && fits(self.facts.result_range(it)) =>
            {
                let [a, b] = self.lows(graph, names, [a, b], to);
                let low = graph.emit(names, to, Type::B32, opcode, &["s32"], [a, b]);
                self.defer(it, result, low);
                true
            }
            (
                "mov",
                ["u64" | "s64" | "b64"],
                [Operand::Name(result), a @ Operand::Name(source)],
            ) if private.contains(result) && is_word(a) && graph.type_of(source).is_some() => {
                let [low] = self.lows(graph, names, [a], to);
                let low = graph.emit(names, to, Type::B32, "mov", &["b32"], [low]);
                self.defer(it, result, low);
                true
            }
            ("mul", ["lo", "s64" | "u64"], [result @ Operand::Name(_), a, b])
                if is_unsigned_word(a) && is_unsigned_word(b) =>
            {
                let [a, b] = self.lows(graph, names, [a, b], to);
                to.push(instruction(
                    "mul",
                    &["wide", "u32"],
                    vec![result.clone(), a, b],
                ));
                true
            }
            ("shl", ["b64"], [result @ Operand::Name(_), a, Operand::Integer(by)])
                if by.bits < 31 && matches!(a, Operand::Name(_)) =>
            {
                let Some((0.., ..=0x7fff_ffff)) = self.facts.range(a) else {
                    return false;
                };
                let [low] = self.lows(graph, names, [a], to);
                let factor = Operand::Integer(Integer::unsigned(1 << by.bits));
                let operands = vec![result.clone(), low, factor];
                to.push(instruction("mul", &["wide", "u32"], operands));
                true
            }
            _ => false,
        }
    }

    /// Records that only the lower half of an instruction's result is computed.
    fn defer(&mut self, it: &Instruction<'a>, result: &'a str, register: &'a str) {
        let range = self.facts.result_range(it);
        let signed = range.is_none_or(|(low, _)| low < 0);
        self.low.insert(result, Low { register, signed });
    }

    /// Returns the lower halves of operands.
    fn lows<const N: usize>(
        &self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        operands: [&Operand<'a>; N],
        to: &mut Vec<Statement<'a>>,
    ) -> [Operand<'a>; N] {
        operands.map(|operand| self.low_of(graph, names, operand, to))
    }

    fn low_of(
        &self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        operand: &Operand<'a>,
        to: &mut Vec<Statement<'a>>,
    ) -> Operand<'a> {
        match operand {
            Operand::Integer(value) => {
                Operand::Integer(Integer::unsigned(value.bits & u64::from(u32::MAX)))
            }
            Operand::Name(name) => Operand::Name(match self.low.get(name) {
                Some(low) => low.register,
                None => graph.emit(
                    names,
                    to,
                    Type::B32,
                    "cvt",
                    &["u32", "u64"],
                    [operand.clone()],
                ),
            }),
            _ => operand.clone(),
        }
    }
}
