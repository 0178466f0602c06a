//! Hoists checks out of loops.
//!
//! Code before an innermost loop computes whether a check can fail in any iteration: from the
//! number of iterations, and from the index in the first iteration if each iteration adds the same
//! value to it. If no check can fail, a copy of the loop without the checks runs. Otherwise the
//! original loop runs, so that a panic occurs after the same effects.
//!
//! This is elimination of inductive range checks by loop versioning (R. Bodík, R. Gupta, V. Sarkar,
//! "ABCD", PLDI 2000, describes the checks that it removes).

use crate::hash::{HashMap, HashSet};

use super::arrivals::is_shuffle;
use super::digraph::{Digraph, Dominators};
use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, instructions, is_pure, rename, results, sources};
use super::liveness::read;
use super::loops::{self, Comparison, Counter, Loop, Relation, Step, Which};
use super::names::Names;
use super::{Check, check_of, unroll};
use crate::{Function, Guard, Instruction, Integer, Operand, Slice, Statement, Type};

/// The maximum number of instructions of a loop to optimize.
const LARGEST: usize = 400;

/// What is known about a function.
pub(super) struct Known<'k, 'a> {
    /// The function, if it is a kernel.
    pub kernel: Option<&'k Function<'a>>,
    /// The slices among its parameters.
    pub slices: &'k [&'k Slice],
}

/// Versions the innermost loops of a function. Returns the number of removed checks, and adds the
/// blocks of the original loops to `slow`.
pub(super) fn version<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    known: &Known<'_, 'a>,
    slow: &mut HashSet<Id>,
) -> usize {
    let mut count = 0;
    let mut cold = graph.cold();
    let mut accesses = Accesses::default();
    for each in loops::innermost(graph, &cold) {
        if slow.contains(&each.header) {
            continue;
        }
        if let Some(removed) = version_one(graph, names, &mut accesses, &cold, &each, known, slow) {
            count += removed;
            cold = graph.cold();
        }
    }
    count
}

fn version_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    accesses: &mut Accesses<'a>,
    cold: &[bool],
    each: &Loop<'a>,
    known: &Known<'_, 'a>,
    slow: &mut HashSet<Id>,
) -> Option<usize> {
    let (mut plain, mut shuffles) = (true, false);
    let mut size = 0;
    for &id in &each.blocks {
        for statement in &graph.blocks[id].body {
            instructions(statement, &mut |it| {
                shuffles |= is_shuffle(it);
                plain &= can_be_copied(it) || is_shuffle(it);
                size += 1;
            });
        }
        plain &= !matches!(graph.blocks[id].end, End::Switch(..));
    }
    let kernel = known.kernel.filter(|_| shuffles);
    if !plain || size > LARGEST || shuffles && kernel.is_none() {
        return None;
    }
    let checks: Vec<(Id, Check<'a>)> = (each.blocks.iter())
        .filter(|&&id| id != each.latch)
        .filter_map(|&id| Some((id, check_of(graph, cold, id)?)))
        .collect();
    if checks.is_empty() {
        return None;
    }
    let counters = each.counters(graph);
    let mut ahead = Ahead::new(graph, names, each, &counters);
    ahead.trip = ahead.trip();
    let mut removed = HashMap::default();
    for &(id, check) in &checks {
        let passes = ahead
            .attempt(|ahead| ahead.passes_where_reached(id, check))
            .or_else(|| ahead.attempt(|ahead| ahead.always_passes(check)));
        if passes.is_some() {
            removed.insert(id, check.passes);
        }
    }
    let plan =
        |ahead: &mut Ahead<'_, 'a>| unroll::plan(ahead, cold, &removed, known.slices, kernel);
    let plan = ahead.attempt(plan);
    // Without a plan, it is not known that the lanes of a warp run the same copy.
    if plan.is_none() && (removed.is_empty() || shuffles) {
        return None;
    }
    let mut condition = ahead.all();
    if shuffles {
        condition = ahead.in_all_lanes(condition);
    }
    let header = each.header;
    let mut several = None;
    let fast = match plan {
        // The remaining iterations run in the original loop: a third copy would cost more uniform
        // registers than ptxas has.
        Some(plan) => {
            let live = live(ahead.graph, accesses, cold, each);
            let place = ahead.graph.order.iter().position(|id| *id == header)?;
            several = Some(unroll::several(&mut ahead, &plan));
            let unrolled = unroll::unroll(&mut ahead, &plan, header, &live);
            let order = &mut ahead.graph.order;
            order.truncate(order.len() - unrolled.len());
            order.splice(place..place, unrolled.iter().copied());
            unrolled
        }
        None => copy(ahead.graph, names, accesses, cold, each, &removed).blocks,
    };
    let body = ahead.body;
    let outside: Vec<Id> = graph
        .predecessors_of_one(header)
        .filter(|id| !each.contains(*id) && !fast.contains(id))
        .collect();
    let block = Block {
        label: names.label(),
        body,
        end: End::Branch(Guard::new(condition), false, fast[0], header),
    };
    let mut test = graph.add_before(block, fast[0]);
    if let Some((body, register)) = several {
        // The test of all checks does not pay for a single iteration.
        let guard = Guard::new(register);
        let end = End::Branch(guard, false, test, header);
        let label = names.label();
        test = graph.add_before(Block { label, body, end }, test);
    }
    for id in outside {
        graph.blocks[id]
            .end
            .retarget(&|to| if to == header { test } else { to });
    }
    // The original loop is now cold.
    graph.order.retain(|id| !each.contains(*id));
    graph.order.extend(&each.blocks);
    slow.extend(&each.blocks);
    Some(removed.len())
}

/// A copy of a loop.
pub(super) struct Copy {
    /// The blocks, the header first.
    pub blocks: Vec<Id>,
    /// The header.
    pub header: Id,
    /// The latch.
    pub latch: Id,
}

/// Copies a loop without the checks of `removed`. The copy writes the registers that are used
/// outside the loop, and has its own registers for all others.
pub(super) fn copy<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    accesses: &mut Accesses<'a>,
    cold: &[bool],
    each: &Loop<'a>,
    removed: &HashMap<Id, Id>,
) -> Copy {
    let copied = with_panics(graph, cold, each, removed);
    // Registers that only these blocks use get new names, so that the copy's registers have a
    // single definition, too.
    let outside = accesses.outside(graph, cold, each, &copied);
    let mut new = HashMap::default();
    let mut written: Vec<&'a str> = each.written.keys().copied().collect();
    written.sort_unstable();
    for name in written {
        if !outside.contains(name)
            && let Some(ty) = graph.type_of(name)
        {
            new.insert(name, graph.register(ty, names));
        }
    }
    let first = graph.blocks.len();
    let ids: HashMap<Id, Id> = (copied.iter().enumerate())
        .map(|(index, &id)| (id, first + index))
        .collect();
    let mut to = |name: &'a str| new.get(name).copied().unwrap_or(name);
    for &id in &copied {
        let Block {
            mut body, mut end, ..
        } = graph.blocks[id].clone();
        body.retain(|statement| !matches!(statement, Statement::Label(_)));
        body.iter_mut()
            .for_each(|statement| rename_statement(statement, &mut to));
        if let Some(&passes) = removed.get(&id) {
            end = End::Jump(passes, false);
        }
        if let End::Branch(guard, ..) = &mut end {
            guard.register = to(guard.register);
        }
        end.retarget(&|to| ids.get(&to).copied().unwrap_or(to));
        let label = names.label();
        graph.add(Block { label, body, end }, None);
    }
    // Before the original loop; panics stay at the end.
    let count = each.blocks.len();
    let end = graph.order.len() - copied.len();
    let panics = graph.order.split_off(end + count);
    let fast = graph.order.split_off(end);
    let place = graph.order.iter().position(|&id| each.contains(id));
    let place = place.unwrap_or(end);
    graph.order.splice(place..place, fast.iter().copied());
    graph.order.extend(panics);
    let header = ids[&each.header];
    let mut all = vec![header];
    all.extend(fast.into_iter().filter(|&id| id != header));
    Copy {
        blocks: all,
        header,
        latch: ids[&each.latch],
    }
}

/// Returns the blocks of a loop, and the panics of its checks except those of `removed`.
fn with_panics(
    graph: &Graph<'_>,
    cold: &[bool],
    each: &Loop<'_>,
    removed: &HashMap<Id, Id>,
) -> Vec<Id> {
    let mut all = each.blocks.clone();
    let mut left: Vec<Id> = (each.blocks.iter())
        .filter(|id| !removed.contains_key(id))
        .flat_map(|&id| graph.blocks[id].end.targets())
        .filter(|&to| cold[to])
        .collect();
    while let Some(id) = left.pop() {
        if !all.contains(&id) {
            all.push(id);
            left.extend(graph.blocks[id].end.targets());
        }
    }
    all
}

/// The blocks that access each register, for a pass that only adds blocks.
#[derive(Debug, Default)]
pub(super) struct Accesses<'a> {
    reads: HashMap<&'a str, Vec<Id>>,
    writes: HashMap<&'a str, Vec<Id>>,
    /// The number of blocks that have been considered.
    count: usize,
}

impl<'a> Accesses<'a> {
    /// Considers the blocks that have been added.
    fn update(&mut self, graph: &Graph<'a>) {
        let add = |all: &mut HashMap<&'a str, Vec<Id>>, name, id| {
            let blocks = all.entry(name).or_default();
            if blocks.last() != Some(&id) {
                blocks.push(id);
            }
        };
        for (id, block) in graph.blocks.iter().enumerate().skip(self.count) {
            graph.visit([id], &mut |it| {
                read(it, &mut |name| add(&mut self.reads, name, id));
                results(it, &mut |name| add(&mut self.writes, name, id));
            });
            (block.end).sources(&mut |name| add(&mut self.reads, name, id));
        }
        self.count = graph.blocks.len();
    }

    /// Returns whether a block outside a loop reads a register.
    pub fn is_read_outside(&mut self, graph: &Graph<'a>, each: &Loop<'a>, name: &str) -> bool {
        self.update(graph);
        let blocks = self.reads.get(name).into_iter().flatten();
        blocks.copied().any(|id| !each.contains(id))
    }

    /// Returns the registers that the loop writes and that blocks other than `blocks` and the panics
    /// of the loop access.
    fn outside(
        &mut self,
        graph: &Graph<'a>,
        cold: &[bool],
        each: &Loop<'a>,
        blocks: &[Id],
    ) -> HashSet<&'a str> {
        self.update(graph);
        let own: HashSet<Id> = blocks.iter().copied().collect();
        let mut known: Option<Vec<Vec<Id>>> = None;
        // A panic that is reached only from the loop does not require that a register keeps its
        // name.
        let mut is_panic = |id: Id| {
            let predecessors = || graph.predecessors();
            cold[id]
                && known.get_or_insert_with(predecessors)[id]
                    .iter()
                    .all(|&from| each.contains(from))
        };
        let mut is_outside = |name: &&'a str| {
            let blocks = [self.reads.get(name), self.writes.get(name)].into_iter();
            let mut blocks = blocks.flatten().flatten().copied();
            blocks.any(|id| !own.contains(&id) && !is_panic(id))
        };
        each.written
            .keys()
            .copied()
            .filter(|name| is_outside(name))
            .collect()
    }
}

/// Returns the registers that the loop writes and that are used outside it, or in its next
/// iteration: those that are initialized before it.
fn live<'a>(
    graph: &Graph<'a>,
    accesses: &mut Accesses<'a>,
    cold: &[bool],
    each: &Loop<'a>,
) -> Vec<&'a str> {
    let blocks = with_panics(graph, cold, each, &HashMap::default());
    let outside = accesses.outside(graph, cold, each, &blocks);
    let mut live: Vec<&'a str> = (each.written.keys().copied())
        .filter(|name| outside.contains(name))
        .collect();
    live.sort_unstable();
    live
}

fn rename_statement<'a>(statement: &mut Statement<'a>, to: &mut impl FnMut(&'a str) -> &'a str) {
    match statement {
        Statement::Instruction(it) => rename(it, to),
        Statement::Block(inner) => inner.iter_mut().for_each(|s| rename_statement(s, to)),
        _ => {}
    }
}

/// The known facts about a loop's iterations.
#[derive(Clone, Debug)]
pub(super) struct Trip<'a> {
    counter: Counter<'a>,
    /// The number of times that the back edge is taken, in 64 bits, if it is simple to compute.
    pub times: Option<Operand<'a>>,
    /// An exclusive upper bound of the counter's values, in the counter's width.
    pub bound: Option<Operand<'a>>,
}

/// The range of a register's values in a loop, in 64 bits.
pub(super) struct Range<'a> {
    pub lowest: Operand<'a>,
    pub highest: Operand<'a>,
}

/// The iterations that reach a block of a loop.
struct Reached<'a> {
    /// The numbers of the first and the last one, in 64 bits, unless there is none.
    first: Operand<'a>,
    last: Operand<'a>,
    /// The predicates of which one holds if there is none.
    absent: Vec<Operand<'a>>,
}

/// The block before a loop.
pub(super) struct Ahead<'l, 'a> {
    pub graph: &'l mut Graph<'a>,
    pub names: &'a Names,
    pub each: &'l Loop<'a>,
    pub counters: &'l [Counter<'a>],
    pub trip: Option<Trip<'a>>,
    pub body: Vec<Statement<'a>>,
    /// The registers that must all be true.
    conditions: Vec<&'a str>,
    /// The values of the loop's registers in the first iteration and in the second.
    copies: [HashMap<&'a str, Operand<'a>>; 2],
}

/// Returns a number as an operand.
pub(super) fn number<'a>(value: u64) -> Operand<'a> {
    Operand::Integer(Integer::unsigned(value))
}

impl<'l, 'a> Ahead<'l, 'a> {
    /// Returns an empty block before a loop whose number of iterations is not needed.
    pub fn new(
        graph: &'l mut Graph<'a>,
        names: &'a Names,
        each: &'l Loop<'a>,
        counters: &'l [Counter<'a>],
    ) -> Ahead<'l, 'a> {
        Ahead {
            graph,
            names,
            each,
            counters,
            trip: None,
            body: Vec::new(),
            conditions: Vec::new(),
            copies: [HashMap::default(), HashMap::default()],
        }
    }

    pub fn emit(
        &mut self,
        ty: Type,
        opcode: &'a str,
        modifiers: &[&'a str],
        sources: impl IntoIterator<Item = Operand<'a>>,
    ) -> Operand<'a> {
        let body = &mut self.body;
        let result = (self.graph).emit(self.names, body, ty, opcode, modifiers, sources);
        Operand::Name(result)
    }

    pub fn emit64(
        &mut self,
        opcode: &'a str,
        modifiers: &[&'a str],
        left: &Operand<'a>,
        right: &Operand<'a>,
    ) -> Operand<'a> {
        self.emit(Type::B64, opcode, modifiers, [left.clone(), right.clone()])
    }

    /// Adds the condition that a comparison holds.
    pub fn demand(
        &mut self,
        relation: &'a str,
        ty: &'a str,
        left: &Operand<'a>,
        right: &Operand<'a>,
    ) {
        let wide = if ty.ends_with("64") {
            Type::B64
        } else {
            Type::B32
        };
        let left = match left {
            Operand::Integer(_) => &self.emit(wide, "mov", &[wide.name()], [left.clone()]),
            _ => left,
        };
        let set = self.emit(
            Type::Pred,
            "setp",
            &[relation, ty],
            [left.clone(), right.clone()],
        );
        if let Operand::Name(name) = set {
            self.conditions.push(name);
        }
    }

    /// Runs `f`, and undoes its code and conditions if it returns `None`.
    pub fn attempt<T>(&mut self, f: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let (body, conditions) = (self.body.len(), self.conditions.len());
        let copies = self.copies.clone();
        let result = f(self);
        if result.is_none() {
            self.body.truncate(body);
            self.conditions.truncate(conditions);
            self.copies = copies;
        }
        result
    }

    /// Returns a register that is true if all conditions hold.
    fn all(&mut self) -> &'a str {
        self.all_of(&self.conditions.clone())
    }

    /// Returns a register that is true if all of these are.
    fn all_of(&mut self, registers: &[&'a str]) -> &'a str {
        let mut all = registers[0];
        for &next in &registers[1..] {
            let both = self.emit(Type::Pred, "and", &["pred"], [all, next].map(Operand::Name));
            if let Operand::Name(name) = both {
                all = name;
            }
        }
        all
    }

    /// Returns a comparison with the side on the right that is the same in all iterations, if one is.
    fn with_invariant_right(&self, compared: Comparison<'a>) -> Comparison<'a> {
        match self.is_invariant(&compared.left) {
            true => compared.swapped(),
            false => compared,
        }
    }

    /// Returns a register that is true if another one is in all lanes of the warp.
    pub fn in_all_lanes(&mut self, register: &'a str) -> &'a str {
        let sources = [Operand::Name(register), number(u32::MAX.into())];
        let vote = ["sync", "all", "pred"];
        (self.graph).emit(
            self.names,
            &mut self.body,
            Type::Pred,
            "vote",
            &vote,
            sources,
        )
    }

    /// Zero-extends a value to 64 bits.
    fn widened(&mut self, value: &Operand<'a>, bits: u32) -> Operand<'a> {
        match value {
            Operand::Integer(integer) if bits == 32 => number(u64::from(integer.bits as u32)),
            Operand::Integer(integer) => number(integer.bits),
            _ if bits == 32 => self.emit(Type::B64, "cvt", &["u64", "u32"], [value.clone()]),
            _ => value.clone(),
        }
    }

    /// Adds a step to a bound, and the condition that the sum does not wrap around.
    fn sum_without_wrap(
        &mut self,
        bound: &Operand<'a>,
        step: &'a str,
        bits: u32,
        ty: &'a str,
    ) -> Operand<'a> {
        let (sum, add): (_, &'a str) = match bits {
            32 => (Type::B32, "s32"),
            _ => (Type::B64, "s64"),
        };
        let sum = self.emit(sum, "add", &[add], [bound.clone(), Operand::Name(step)]);
        self.demand("ge", ty, &sum, bound);
        sum
    }

    /// Computes the number of iterations, and adds the conditions that this requires.
    fn trip(&mut self) -> Option<Trip<'a>> {
        let (counter, which, compared) = self.each.condition(self.graph, self.counters)?;
        if compared.bits != counter.bits {
            return None;
        }
        let bits = counter.bits;
        let (unsigned, signed) = match bits {
            32 => ("u32", "s32"),
            _ => ("u64", "s64"),
        };
        let first = Operand::Name(counter.register);
        let bound = compared.right.clone();
        let up = matches!(compared.relation, Relation::Less | Relation::NotEqual);
        if compared.signed {
            // With this condition no value is negative.
            let least = if up { &first } else { &bound };
            self.demand("ge", signed, &least.clone(), &number(0));
        }
        let ahead = match (counter.step, which, compared.relation) {
            // The values are `first` to `bound - 1`.
            (Step::Constant(1), Which::Next, Relation::Less | Relation::NotEqual) => {
                self.demand("lt", unsigned, &first, &bound);
                let (from, to) = (self.widened(&first, bits), self.widened(&bound, bits));
                let difference = self.emit64("sub", &["s64"], &to, &from);
                let times = self.emit64("sub", &["s64"], &difference, &number(1));
                (Some(times), Some(bound))
            }
            // The values are `first` to `bound`.
            (Step::Constant(1), Which::Current, Relation::Less | Relation::NotEqual) => {
                self.demand("le", unsigned, &first, &bound);
                let (from, to) = (self.widened(&first, bits), self.widened(&bound, bits));
                (Some(self.emit64("sub", &["s64"], &to, &from)), None)
            }
            // The values are `first` down to `bound + 1`.
            (Step::Constant(-1), Which::Next, Relation::Greater | Relation::NotEqual) => {
                self.demand("gt", unsigned, &first, &bound);
                let (from, to) = (self.widened(&first, bits), self.widened(&bound, bits));
                let difference = self.emit64("sub", &["s64"], &from, &to);
                (
                    Some(self.emit64("sub", &["s64"], &difference, &number(1))),
                    None,
                )
            }
            (Step::Constant(-1), Which::Current, Relation::Greater | Relation::NotEqual) => {
                self.demand("ge", unsigned, &first, &bound);
                let (from, to) = (self.widened(&first, bits), self.widened(&bound, bits));
                (Some(self.emit64("sub", &["s64"], &from, &to)), None)
            }
            (Step::Constant(step), Which::Next, Relation::Less) if step > 1 && step < 1 << 30 => {
                self.demand("lt", unsigned, &first, &bound);
                let most = match (bits, compared.signed) {
                    (32, false) => u64::from(u32::MAX),
                    (32, true) => i32::MAX as u64,
                    (_, false) => u64::MAX,
                    (_, true) => i64::MAX as u64,
                };
                self.demand("le", unsigned, &bound, &number(most - step as u64 + 1));
                let times = (step as u64).is_power_of_two().then(|| {
                    let (from, to) = (self.widened(&first, bits), self.widened(&bound, bits));
                    let difference = self.emit64("sub", &["s64"], &to, &from);
                    let less = self.emit64("sub", &["s64"], &difference, &number(1));
                    let shift = number(step.trailing_zeros().into());
                    self.emit64("shr", &["u64"], &less, &shift)
                });
                (times, Some(bound))
            }
            (Step::Constant(step), Which::Next, Relation::NotEqual)
                if step > 1 && step < 1 << 30 && (step as u64).is_power_of_two() =>
            {
                self.demand("lt", unsigned, &first, &bound);
                let (from, to) = (self.widened(&first, bits), self.widened(&bound, bits));
                let difference = self.emit64("sub", &["s64"], &to, &from);
                let rest = self.emit64("and", &["b64"], &difference, &number(step as u64 - 1));
                self.demand("eq", "s64", &rest, &number(0));
                let less = self.emit64("sub", &["s64"], &difference, &number(1));
                let shift = number(step.trailing_zeros().into());
                (
                    Some(self.emit64("shr", &["u64"], &less, &shift)),
                    Some(bound),
                )
            }
            (Step::Register(step), Which::Next, Relation::Less) => {
                self.demand("lt", unsigned, &first, &bound);
                // The last addition must not wrap.
                let ty = if compared.signed { signed } else { unsigned };
                self.sum_without_wrap(&bound, step, bits, ty);
                (None, Some(bound))
            }
            // The values are below `bound + step`.
            (Step::Register(step), Which::Current, Relation::Less) if !compared.signed => {
                let sum = self.sum_without_wrap(&bound, step, bits, unsigned);
                self.demand("lt", unsigned, &first, &sum);
                (None, Some(sum))
            }
            _ => {
                self.conditions.clear();
                self.body.clear();
                return None;
            }
        };
        Some(Trip {
            counter,
            times: ahead.0,
            bound: ahead.1,
        })
    }

    /// Adds the condition that a check passes in all iterations. Returns `None` if that cannot be
    /// determined before the loop.
    fn always_passes(&mut self, check: Check<'a>) -> Option<()> {
        if !self.each.written.contains_key(check.register) {
            let mut register = check.register;
            if check.negated {
                let not = self.emit(Type::Pred, "not", &["pred"], [Operand::Name(register)]);
                let Operand::Name(name) = not else {
                    return None;
                };
                register = name;
            }
            self.conditions.push(register);
            return Some(());
        }
        let (set, ..) = self.each.definition(self.graph, check.register)?;
        let compared = self.with_invariant_right(Comparison::of(set, !check.negated)?);
        if !self.is_invariant(&compared.right) {
            return None;
        }
        let right = self.value(&compared.right, 0)?;
        if self.is_invariant(&compared.left) {
            let left = self.value(&compared.left, 0)?;
            let relation = match compared.relation {
                Relation::Less => "lt",
                Relation::LessOrEqual => "le",
                Relation::Greater => "gt",
                Relation::GreaterOrEqual => "ge",
                Relation::Equal => "eq",
                Relation::NotEqual => "ne",
            };
            let ty = match (compared.signed, compared.bits) {
                (false, 32) => "u32",
                (true, 32) => "s32",
                (false, _) => "u64",
                (true, _) => "s64",
            };
            self.demand(relation, ty, &left, &right);
            return Some(());
        }
        if compared.signed {
            return None;
        }
        let Operand::Name(index) = compared.left else {
            return None;
        };
        let limit = self.widened(&right, compared.bits);
        if matches!(compared.relation, Relation::Less | Relation::NotEqual)
            && let Some(bound) = self.bound_of(index)
        {
            self.demand("le", "u64", &bound, &limit);
            return Some(());
        }
        let range = self.range(index, compared.bits)?;
        match compared.relation {
            Relation::Less | Relation::NotEqual => {
                self.demand("lt", "u64", &range.highest, &limit);
            }
            Relation::LessOrEqual => self.demand("le", "u64", &range.highest, &limit),
            Relation::Greater => self.demand("gt", "u64", &range.lowest, &limit),
            Relation::GreaterOrEqual => self.demand("ge", "u64", &range.lowest, &limit),
            Relation::Equal => return None,
        }
        Some(())
    }

    /// Adds the condition that a check passes in all iterations that reach it, if tests of numbers
    /// that grow by a power of two decide that: `if y > radius { sum -= from[y - radius - 1] }`.
    fn passes_where_reached(&mut self, id: Id, check: Check<'a>) -> Option<()> {
        let (set, ..) = self.each.definition(self.graph, check.register)?;
        let compared = self.with_invariant_right(Comparison::of(set, !check.negated)?);
        let Operand::Name(index) = compared.left else {
            return None;
        };
        let slope = self.slope(index)?;
        if slope.is_some_and(|slope| slope <= 0)
            || compared.signed
            || compared.bits != 64
            || compared.relation != Relation::Less
            || !self.is_invariant(&compared.right)
        {
            return None;
        }
        let reached = self.reached(id)?;
        // Nothing is widened, so the index in any iteration is the sum of its first value and a
        // product, both modulo 2^64.
        let conditions = self.conditions.len();
        self.demand_no_wrap(index, 0)?;
        if self.conditions.len() > conditions {
            return None;
        }
        let right = self.value(&compared.right, 0)?;
        let limit = self.widened(&right, compared.bits);
        let name = Operand::Name(index);
        let start = self.value(&name, 0)?;
        let slope = match slope {
            Some(slope) => number(slope as u64),
            None => {
                let second = self.value(&name, 1)?;
                let slope = self.emit64("sub", &["s64"], &second, &start);
                self.demand("ge", "s64", &slope, &number(0));
                slope
            }
        };
        let skipped = self.emit64("mul", &["lo", "s64"], &reached.first, &slope);
        let first = self.emit64("add", &["s64"], &start, &skipped);
        let times = self.emit64("sub", &["s64"], &reached.last, &reached.first);
        let by = self.product(&times, &slope);
        let highest = self.exact_sum(&first, &by, 64);
        self.demand("lt", "u64", &highest, &limit);
        // Or no iteration reaches it.
        let passes = self.conditions.split_off(conditions);
        let mut all = Operand::Name(self.all_of(&passes));
        for absent in reached.absent {
            all = self.emit(Type::Pred, "or", &["pred"], [all, absent]);
        }
        let Operand::Name(all) = all else {
            return None;
        };
        self.conditions.push(all);
        Some(())
    }

    /// Returns the iterations that reach a block of the loop, if tests of numbers that grow by a power
    /// of two decide that.
    fn reached(&mut self, id: Id) -> Option<Reached<'a>> {
        let times = self.trip.clone()?.times?;
        let mut tests = Vec::new();
        let mut dominators = None;
        let mut block = id;
        while block != self.each.header {
            let mut predecessors = self.graph.predecessors_of_one(block);
            let (Some(from), None) = (predecessors.next(), predecessors.next()) else {
                // Each way to where several ways meet leads through the immediate dominator.
                drop(predecessors);
                let dominators = dominators.get_or_insert_with(|| self.dominators());
                block = dominators.immediate_dominator(block)?;
                continue;
            };
            drop(predecessors);
            if let End::Branch(guard, _, to, otherwise) = self.graph.blocks[from].end
                && to != otherwise
                && let Some((set, ..)) = self.each.definition(self.graph, guard.register)
                && self.is_current(set, guard.register)
                && let Some(compared) = Comparison::of(set, (to == block) != guard.negated)
            {
                tests.push((compared, dominators.is_none()));
            }
            block = from;
        }
        let mut reached = Reached {
            first: number(0),
            last: times,
            absent: Vec::new(),
        };
        let mut found = false;
        for (test, is_near) in tests {
            found |= self
                .attempt(|ahead| ahead.restrict(&mut reached, test, is_near))
                .is_some();
        }
        if !found {
            return None;
        }
        let sources = [reached.last.clone(), reached.first.clone()];
        let absent = self.emit(Type::Pred, "setp", &["lt", "u64"], sources);
        reached.absent.push(absent);
        Some(reached)
    }

    /// Returns the dominators of an iteration's blocks.
    fn dominators(&self) -> Dominators {
        let mut flow = Digraph::new();
        flow.add_node(self.each.header);
        for &id in &self.each.blocks {
            for to in self.graph.blocks[id].end.targets() {
                if to != self.each.header && self.each.contains(to) {
                    flow.add_edge(id, to);
                }
            }
        }
        flow.dominators(self.each.header)
    }

    /// Restricts iterations to those in which a test of a number that grows by a power of two holds.
    /// Numbers other than counters count only if they grow by one and the test `is_near`: no ways meet
    /// after it.
    fn restrict(
        &mut self,
        reached: &mut Reached<'a>,
        test: Comparison<'a>,
        is_near: bool,
    ) -> Option<()> {
        let mut test = self.with_invariant_right(test);
        let Operand::Name(left) = test.left else {
            return None;
        };
        // Each unsigned number but 0 is greater than 0.
        if test.relation == Relation::NotEqual
            && matches!(&test.right, Operand::Integer(number) if number.bits == 0)
        {
            test.relation = Relation::Greater;
            test.signed = false;
        }
        let slope = u64::try_from(self.slope(left)??).ok()?;
        // A counter does not wrap around. Of other numbers, the code before the loop tests that, which is
        // often false if they start at different values in the lanes of a warp.
        let is_counter = self.counters.iter().any(|it| it.register == left);
        let is_suited = slope == 1 && is_near || slope.is_power_of_two() && is_counter;
        if test.signed || !self.is_invariant(&test.right) || !is_suited {
            return None;
        }
        let right = self.value(&test.right, 0)?;
        let right = self.widened(&right, test.bits);
        // The number in the first iteration. It does not wrap around.
        let start = self.range(left, test.bits)?.lowest;
        match test.relation {
            Relation::Less | Relation::LessOrEqual => {
                let (absent, less) = match test.relation {
                    Relation::Less => ("ge", 1),
                    _ => ("gt", 0),
                };
                let sources = [start.clone(), right.clone()];
                let absent = self.emit(Type::Pred, "setp", &[absent, "u64"], sources);
                reached.absent.push(absent);
                let last = self.emit64("sub", &["s64"], &right, &start);
                let last = self.emit64("sub", &["s64"], &last, &number(less));
                let last = self.quotient(last, slope);
                let sources = [last, reached.last.clone()];
                reached.last = self.emit(Type::B64, "min", &["u64"], sources);
            }
            Relation::Greater | Relation::GreaterOrEqual => {
                // If a sum wraps around, the iterations are restricted less.
                let more = u64::from(test.relation == Relation::Greater);
                let least = self.emit64("add", &["s64"], &right, &number(more));
                let first = self.emit64("max", &["u64"], &least, &start);
                let mut first = self.emit64("sub", &["s64"], &first, &start);
                if slope > 1 {
                    first = self.emit64("add", &["s64"], &first, &number(slope - 1));
                }
                let first = self.quotient(first, slope);
                let sources = [first, reached.first.clone()];
                reached.first = self.emit(Type::B64, "max", &["u64"], sources);
            }
            Relation::Equal | Relation::NotEqual => return None,
        }
        Some(())
    }

    /// Returns the quotient of a number and a power of two.
    fn quotient(&mut self, dividend: Operand<'a>, divisor: u64) -> Operand<'a> {
        match divisor.trailing_zeros() {
            0 => dividend,
            by => self.emit64("shr", &["u64"], &dividend, &number(by.into())),
        }
    }

    /// Returns an exclusive upper bound of a register's values, in 64 bits, if the register is the
    /// loop's counter or the zero-extended counter.
    pub fn bound_of(&mut self, register: &'a str) -> Option<Operand<'a>> {
        let trip = self.trip.clone()?;
        let bound = trip.bound?;
        let is_counter = register == trip.counter.register
            || {
                let (it, ..) = self.each.definition(self.graph, register)?;
                it.opcode == "cvt"
                    && it.modifiers == ["u64", "u32"]
                    && self.is_current(it, register)
                    && matches!(&it.operands[..], [_, Operand::Name(from)] if *from == trip.counter.register)
            };
        is_counter.then(|| self.widened(&bound, trip.counter.bits))
    }

    /// Returns whether an instruction reads the values that counters have at the start of the
    /// iteration.
    pub fn is_current(&self, instruction: &Instruction<'a>, result: &str) -> bool {
        let mut current = true;
        if let Some(&(_, block, place)) = self.each.written.get(result) {
            sources(instruction, &mut |name| {
                if self.counters.iter().any(|counter| counter.register == name)
                    && let Some(&(_, written_in, written_at)) = self.each.written.get(name)
                {
                    current &= block != written_in || place < written_at;
                }
            });
        }
        current
    }

    /// Returns whether a value is the same in all iterations, even if the loop computes it.
    pub fn is_invariant(&self, operand: &Operand<'a>) -> bool {
        self.each.is_invariant(operand)
            || matches!(operand, Operand::Name(name) if self.slope(name) == Some(Some(0)))
    }

    /// Returns the value that each iteration adds to a register: `None` if it varies, and
    /// `Some(None)` if it is always the same but not a constant.
    fn slope(&self, register: &str) -> Option<Option<i64>> {
        self.slope_within(register, 0)
    }

    fn slope_within(&self, register: &str, depth: u32) -> Option<Option<i64>> {
        const DEEPEST: u32 = 12;
        if let Some(counter) = self.counters.iter().find(|c| c.register == register) {
            return Some(match counter.step {
                Step::Constant(step) => Some(step),
                Step::Register(_) | Step::Minus(_) => None,
            });
        }
        if !self.each.written.contains_key(register) {
            return Some(Some(0));
        }
        if depth > DEEPEST {
            return None;
        }
        let (it, ..) = self.each.definition(self.graph, register)?;
        if !is_pure(it) || !self.is_current(it, register) {
            return None;
        }
        let slope = |operand: &Operand<'a>| match operand {
            Operand::Name(name) => self.slope_within(name, depth + 1),
            Operand::Integer(_) | Operand::F32(_) | Operand::F64(_) => Some(Some(0)),
            _ => None,
        };
        let sources = &it.operands[1..];
        let mut all_constant = true;
        for operand in sources {
            all_constant &= slope(operand) == Some(Some(0));
        }
        if all_constant {
            return Some(Some(0));
        }
        let both = |f: fn(i64, i64) -> Option<i64>, left: Option<i64>, right: Option<i64>| {
            left.zip(right).and_then(|(left, right)| f(left, right))
        };
        let constant = |operand: &Operand<'a>| match operand {
            Operand::Integer(value) => i64::try_from(value.bits).ok(),
            _ => None,
        };
        let product = |left: &Operand<'a>, right: &Operand<'a>| {
            let (left_slope, right_slope) = (slope(left)?, slope(right)?);
            match (left_slope, right_slope) {
                (slope, Some(0)) => Some(both(i64::checked_mul, slope, constant(right))),
                (Some(0), slope) => Some(both(i64::checked_mul, slope, constant(left))),
                _ => None,
            }
        };
        match (it.opcode, &it.modifiers[..], sources) {
            ("mov", _, [from]) => slope(from),
            ("cvt", ["u64", "u32"] | ["s64", "s32"] | ["u32", "u64"], [from]) => slope(from),
            ("add", ["s64" | "u64" | "s32" | "u32"], [left, right]) => {
                Some(both(i64::checked_add, slope(left)?, slope(right)?))
            }
            ("sub", ["s64" | "u64" | "s32" | "u32"], [left, right]) => {
                Some(both(i64::checked_sub, slope(left)?, slope(right)?))
            }
            ("shl", ["b64" | "b32"], [left, Operand::Integer(by)]) if by.bits < 32 => {
                Some(both(i64::checked_mul, slope(left)?, Some(1 << by.bits)))
            }
            ("mul", ["lo", "s64" | "u64" | "s32" | "u32"] | ["wide", "u32"], [left, right]) => {
                product(left, right)
            }
            ("mad", ["lo", "s64" | "u64" | "s32" | "u32"], [left, right, added]) => {
                Some(both(i64::checked_add, product(left, right)?, slope(added)?))
            }
            _ => None,
        }
    }

    /// Returns the constant that each iteration adds to a register, if the register is computed without
    /// conversions, which would wrap around at another width.
    pub fn step_without_wrap(&mut self, register: &'a str) -> Option<i64> {
        let step = self.slope(register)??;
        let conditions = self.conditions.len();
        self.attempt(|ahead| {
            ahead.demand_no_wrap(register, 0)?;
            (ahead.conditions.len() == conditions).then_some(step)
        })
    }

    /// Returns the value of an operand in the first iteration (0) or in the second (1).
    pub fn value(&mut self, operand: &Operand<'a>, iteration: usize) -> Option<Operand<'a>> {
        let Operand::Name(name) = *operand else {
            return Some(operand.clone());
        };
        if let Some(known) = self.copies[iteration].get(name) {
            return Some(known.clone());
        }
        if !self.each.written.contains_key(name) {
            return Some(operand.clone());
        }
        let counter = self.counters.iter().find(|c| c.register == name).copied();
        let value = if let Some(counter) = counter {
            let (opcode, step) = match counter.step {
                Step::Constant(step) => ("add", Operand::Integer(Integer::signed(step))),
                Step::Register(step) => ("add", Operand::Name(step)),
                Step::Minus(step) => ("sub", Operand::Name(step)),
            };
            match (iteration, counter.bits) {
                (0, _) => operand.clone(),
                (_, 32) => self.emit(Type::B32, opcode, &["s32"], [operand.clone(), step]),
                _ => self.emit64(opcode, &["s64"], operand, &step),
            }
        } else {
            let (it, ..) = self.each.definition(self.graph, name)?;
            let mut it = it.clone();
            if !is_pure(&it) || !self.is_current(&it, name) {
                return None;
            }
            let ty = self.graph.type_of(name)?;
            for source in &mut it.operands[1..] {
                *source = self.value(source, iteration)?;
            }
            let result = Operand::Name(self.graph.register(ty, self.names));
            it.operands[0] = result.clone();
            self.body.push(Statement::Instruction(it));
            result
        };
        self.copies[iteration].insert(name, value.clone());
        Some(value)
    }

    /// Returns the range of values of a register of `bits` bits, and adds the condition that the
    /// register does not wrap.
    pub fn range(&mut self, register: &'a str, bits: u32) -> Option<Range<'a>> {
        let times = self.trip.clone()?.times?;
        let slope = self.slope(register)?;
        self.demand_no_wrap(register, 0)?;
        let name = Operand::Name(register);
        let first = self.value(&name, 0)?;
        let first = self.widened(&first, bits);
        let (down, by) = match slope {
            Some(1) => (false, times),
            Some(-1) => (true, times),
            Some(slope) if slope != i64::MIN => {
                let factor = slope.unsigned_abs();
                self.demand("le", "u64", &times, &number(u64::MAX / factor));
                (
                    slope < 0,
                    self.emit64("mul", &["lo", "s64"], &times, &number(factor)),
                )
            }
            Some(_) => return None,
            None => {
                let second = self.value(&name, 1)?;
                let second = self.widened(&second, bits);
                // If the second value is less than the first, the register wraps or decreases.
                self.demand("ge", "u64", &second, &first);
                let slope = self.emit64("sub", &["s64"], &second, &first);
                (false, self.product(&times, &slope))
            }
        };
        Some(if down {
            self.demand("le", "u64", &by, &first);
            let lowest = self.emit64("sub", &["s64"], &first, &by);
            Range {
                lowest,
                highest: first,
            }
        } else {
            let highest = self.exact_sum(&first, &by, bits);
            Range {
                lowest: first,
                highest,
            }
        })
    }

    /// Emits a 64-bit sum, and adds the condition that it does not wrap in `bits` bits.
    fn exact_sum(&mut self, first: &Operand<'a>, by: &Operand<'a>, bits: u32) -> Operand<'a> {
        let room = match bits {
            32 => self.emit64("sub", &["s64"], &number(u32::MAX.into()), first),
            _ => self.emit(Type::B64, "not", &["b64"], [first.clone()]),
        };
        self.demand("le", "u64", by, &room);
        self.emit64("add", &["s64"], first, by)
    }

    /// Emits a 64-bit product, and adds the condition that it does not wrap.
    fn product(&mut self, left: &Operand<'a>, right: &Operand<'a>) -> Operand<'a> {
        let high = self.emit64("mul", &["hi", "u64"], left, right);
        self.demand("eq", "s64", &high, &number(0));
        self.emit64("mul", &["lo", "s64"], left, right)
    }

    /// Adds the condition that the values from which a register is widened do not wrap.
    fn demand_no_wrap(&mut self, register: &'a str, depth: u32) -> Option<()> {
        if self.slope(register)? == Some(0) || self.counters.iter().any(|c| c.register == register)
        {
            return Some(());
        }
        let (it, ..) = self.each.definition(self.graph, register)?;
        let it = it.clone();
        let wide = match (it.opcode, &it.modifiers[..]) {
            ("cvt", ["u64", "u32"]) | ("mul", ["wide", "u32"]) => Some(u64::from(u32::MAX)),
            ("cvt", ["s64", "s32"]) => Some(i32::MAX as u64),
            _ => None,
        };
        for source in &it.operands[1..] {
            let &Operand::Name(name) = source else {
                continue;
            };
            if self.slope(name)? == Some(0) {
                continue;
            }
            if let Some(most) = wide
                && self.bound_of(name).is_none()
            {
                let range = self.range(name, 32)?;
                self.demand("le", "u64", &range.highest, &number(most));
            } else if let Some(most) = wide.filter(|&most| most != u64::from(u32::MAX)) {
                let bound = self.bound_of(name)?;
                self.demand("le", "u64", &bound, &number(most));
            }
            if depth < 12 {
                self.demand_no_wrap(name, depth + 1)?;
            }
        }
        Some(())
    }
}
