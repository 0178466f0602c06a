//! Does several iterations at once of loops whose exits depend on no load.
//!
//! A loop over `rows.skip(a).step_by(b)` ends when the iterator's count ends, or when one of the
//! iterators inside is exhausted. ptxas does not unroll a loop with several exits, so each load
//! waits for that of the iteration before. This pass computes whether the next iterations take no
//! exit, and then runs them without these branches: their loads are in flight together. The iterations
//! that are left run at once, too: each instruction with an effect is predicated with whether the loop
//! comes to its iteration. The original loop has all exits.
//!
//! ptxas moves no load across a branch. If an iteration has branches that do not leave the loop, the
//! loads of all iterations that run at once are issued before the first one.
//!
//! Loops with one exit are left to [`super::strides`], which calls [`unroll_single`] for those that it
//! has no test for, and to ptxas: it unrolls loops whose counter changes by a constant.

use crate::hash::{HashMap, HashSet};

use super::conditional_loads::zero;
use super::divisions::is_division;
use super::flow::{Block, End, Graph, Id};
use super::instructions::{can_be_copied, has_effect, instructions, is_parameter, is_pure};
use super::instructions::{rename_operand, results, sources};
use super::literal;
use super::loops::{self, Loop};
use super::names::Names;
use super::version::{self, Accesses, Copy};
use crate::rewrite::instruction;
use crate::{Base, Guard, Instruction, Operand, Statement, Type};

/// How many loads that do not depend on each other are in flight together.
const LOADS: usize = 4;

/// Loops of more instructions stay as they are.
const LARGEST: usize = 48;

/// Loops of more blocks stay as they are.
const BLOCKS: usize = 16;

/// The maximum number of instructions of an iteration that the exits depend on.
const CONDITIONS: usize = 24;

/// Unrolls loops, except those that begin with a block of `slow`. Returns how many.
pub(super) fn unroll<'a>(graph: &mut Graph<'a>, names: &'a Names, slow: &HashSet<Id>) -> usize {
    let mut count = 0;
    let mut cold = graph.cold();
    let mut accesses = Accesses::default();
    for each in loops::innermost(graph, &cold) {
        if !slow.contains(&each.header)
            && let Some(plan) = plan(graph, &cold, &each)
            && plan.exits.len() > 1
        {
            unroll_one(graph, names, &mut accesses, &mut cold, &each, &plan);
            count += 1;
        }
    }
    count
}

/// Unrolls a loop with one exit that depends on a counter with a variable step, unless the loop divides
/// ([`super::divisions`]). Returns whether it did. ptxas unrolls loops whose counters change by constants.
pub(super) fn unroll_single<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    accesses: &mut Accesses<'a>,
    cold: &[bool],
    each: &Loop<'a>,
) -> bool {
    let mut divides = false;
    graph.visit(each.blocks.iter().copied(), &mut |it| {
        divides |= is_division(it);
    });
    let Some(plan) = plan(graph, cold, each).filter(|plan| plan.exits.len() == 1 && !divides)
    else {
        return false;
    };
    if !plan.is_variable(graph, each) {
        return false;
    }
    unroll_one(graph, names, accesses, &mut cold.to_vec(), each, &plan);
    true
}

/// The blocks of a loop, and what its exits depend on.
struct Plan<'a> {
    /// The blocks that each iteration runs, in execution order.
    row: Vec<Id>,
    /// The blocks with an exit, with the predicate, its value for which the loop continues, and the
    /// block that is next.
    exits: HashMap<Id, (&'a str, bool, Id)>,
    /// The instructions that the exits depend on, by block and position.
    conditions: HashSet<(Id, usize)>,
    /// How many iterations are done at once. libnvvm may have made several one.
    iterations: usize,
    /// Whether an iteration has branches that do not leave the loop.
    has_arms: bool,
    /// The loads that can be issued before the first of them, and the instructions that compute their
    /// addresses.
    ahead: Ahead,
}

impl<'a> Plan<'a> {
    /// Returns whether the instructions of an iteration can be predicated, behind loads of all iterations.
    fn can_be_predicated(&self, graph: &Graph<'a>) -> bool {
        let mut can = !self.has_arms && !self.ahead.loads.is_empty();
        graph.visit(self.row.iter().copied(), &mut |it| {
            can &= it.guard.is_none();
        });
        can
    }

    /// Returns whether the exits depend on a register that each iteration computes from its last value and
    /// from other registers. A counter that changes by a constant is computed from itself alone.
    fn is_variable(&self, graph: &Graph<'a>, each: &Loop<'a>) -> bool {
        // What the registers are computed from.
        let mut computed: HashMap<&'a str, Vec<&'a str>> = HashMap::default();
        let (mut written, mut carried) = (HashSet::default(), HashSet::default());
        for &id in &self.row {
            for (place, statement) in graph.blocks[id].body.iter().enumerate() {
                if let Statement::Instruction(it) = statement
                    && self.conditions.contains(&(id, place))
                {
                    let mut from = Vec::new();
                    sources(it, &mut |name| from.push(name));
                    let is_carried = |name: &&&str| {
                        each.written.contains_key(**name) && !written.contains(**name)
                    };
                    carried.extend(from.iter().filter(is_carried).copied());
                    results(it, &mut |name| {
                        written.insert(name);
                        computed.entry(name).or_default().extend(&from);
                    });
                }
            }
        }
        let reached = |name: &'a str| {
            let (mut seen, mut pending) = (HashSet::default(), vec![name]);
            while let Some(next) = pending.pop() {
                let from = computed.get(next).into_iter().flatten();
                pending.extend(from.filter(|&&name| seen.insert(name)));
            }
            seen
        };
        carried.into_iter().any(|name| {
            // The registers between the last value and the next one.
            let between = reached(name);
            let mut between = between.iter().filter(|it| reached(it).contains(name));
            between.any(|it| computed.get(it).is_some_and(|from| from.len() > 1))
        })
    }
}

/// Instructions, by block and position.
#[derive(Default)]
struct Ahead {
    loads: HashSet<(Id, usize)>,
    addresses: HashSet<(Id, usize)>,
}

/// Returns the blocks of a loop that each iteration runs, in execution order.
fn row_of(graph: &Graph<'_>, each: &Loop<'_>) -> Option<Vec<Id>> {
    let next = |id: Id| -> Vec<Id> {
        let targets = graph.blocks[id].end.targets().into_iter();
        targets
            .filter(|&to| to != each.header && each.contains(to))
            .collect()
    };
    let mut row = vec![each.header];
    loop {
        let last = row[row.len() - 1];
        if last == each.latch {
            return Some(row);
        }
        // The number of blocks between this and another one, if all ways to the latch go through that.
        let distance = |to: Id| {
            let (mut seen, mut pending) = (HashSet::default(), next(last));
            while let Some(id) = pending.pop() {
                if id != to && seen.insert(id) {
                    pending.extend(next(id));
                }
            }
            (!seen.contains(&each.latch)).then_some(seen.len())
        };
        let found = (each.blocks.iter())
            .filter(|id| !row.contains(id))
            .filter_map(|&id| Some((distance(id)?, id)));
        row.push(found.min()?.1);
    }
}

fn plan<'a>(graph: &Graph<'a>, cold: &[bool], each: &Loop<'a>) -> Option<Plan<'a>> {
    if each.blocks.len() > BLOCKS {
        return None;
    }
    let row = row_of(graph, each)?;
    let mut exits = HashMap::default();
    for &id in &each.blocks {
        match &graph.blocks[id].end {
            End::Jump(..) => {}
            &End::Branch(guard, _, to, otherwise) => {
                let stays = each.contains(to);
                if !stays && !each.contains(otherwise) {
                    return None;
                }
                if stays == each.contains(otherwise) {
                    continue;
                }
                let (next, exit) = if stays {
                    (to, otherwise)
                } else {
                    (otherwise, to)
                };
                if cold[exit] || !row.contains(&id) {
                    return None;
                }
                exits.insert(id, (guard.register, stays != guard.negated, next));
            }
            _ => return None,
        }
    }
    if exits.is_empty() {
        return None;
    }
    let (mut size, mut plain, mut writes) = (0, true, false);
    for &id in &each.blocks {
        for statement in &graph.blocks[id].body {
            plain &= !matches!(statement, Statement::Block(_));
            instructions(statement, &mut |it| {
                size += 1;
                plain &= can_be_copied(it);
                let own = ["shared", "local"];
                writes |= has_effect(it) && !it.modifiers.iter().any(|it| own.contains(it));
            });
        }
    }
    if !plain || size > LARGEST {
        return None;
    }
    let conditions = exits.values().map(|&(register, ..)| register);
    let conditions = computed(graph, each, &row, conditions.collect())?;
    if conditions.len() > CONDITIONS {
        return None;
    }
    let starts_early = |it: &Instruction<'a>| {
        let is_fixed = it.modifiers.contains(&"nc") || !writes;
        match it.operands.get(1) {
            Some(&Operand::Address(Base::Name(address), _)) => {
                let is_load = it.opcode == "ld" && it.modifiers.first() == Some(&"global");
                is_load
                    && is_fixed
                    && !has_effect(it)
                    && each.written.contains_key(address)
                    && computed(graph, each, &row, vec![address]).is_some()
            }
            _ => false,
        }
    };
    // Whether an exit is between loads of an iteration.
    let (mut loads, mut waits, mut early) = (0, false, false);
    for &id in &row {
        let before = loads;
        graph.visit([id], &mut |it| {
            loads += usize::from(it.opcode == "ld" && it.modifiers.first() == Some(&"global"));
            let starts = starts_early(it);
            early |= starts;
            waits |= starts && before > 0;
        });
    }
    let iterations = LOADS.div_ceil(loads.max(1));
    if !early || !waits && iterations == 1 {
        return None;
    }
    let mut ahead = Ahead::default();
    let mut registers = Vec::new();
    let mut effects = false;
    graph.visit(each.blocks.iter().copied(), &mut |it| {
        effects |= has_effect(it)
    });
    for &id in &row {
        for (place, statement) in graph.blocks[id].body.iter().enumerate() {
            if let Statement::Instruction(it) = statement
                && let [Operand::Name(_), Operand::Address(Base::Name(address), _)] =
                    it.operands[..]
                && it.guard.is_none()
                && starts_early(it)
                && (!effects || it.modifiers.contains(&"nc"))
            {
                ahead.loads.insert((id, place));
                registers.push(address);
            }
        }
    }
    ahead.addresses = computed(graph, each, &row, registers)?;
    let has_arms = row.len() < each.blocks.len();
    if has_arms && ahead.loads.is_empty() {
        return None;
    }
    Some(Plan {
        row,
        exits,
        conditions,
        iterations,
        has_arms,
        ahead,
    })
}

/// Returns the instructions of a loop that compute registers, in this and in former iterations, if
/// they depend on no load and each iteration runs them.
fn computed<'a>(
    graph: &Graph<'a>,
    each: &Loop<'a>,
    row: &[Id],
    registers: Vec<&'a str>,
) -> Option<HashSet<(Id, usize)>> {
    let mut needed = HashSet::from_iter(registers);
    let mut found = HashSet::default();
    loop {
        let before = found.len();
        for &id in row {
            for (place, statement) in graph.blocks[id].body.iter().enumerate() {
                let Statement::Instruction(it) = statement else {
                    continue;
                };
                let mut writes = false;
                results(it, &mut |name| writes |= needed.contains(name));
                if writes && found.insert((id, place)) {
                    let is_plain = is_pure(it) || is_parameter(it) && it.guard.is_none();
                    if !is_plain {
                        return None;
                    }
                    sources(it, &mut |name| _ = needed.insert(name));
                }
            }
        }
        if found.len() == before {
            let mut others = each.blocks.iter().filter(|id| !row.contains(id));
            let is_chosen = others.any(|&id| {
                let mut writes = false;
                graph.visit([id], &mut |it| {
                    results(it, &mut |name| writes |= needed.contains(name));
                });
                writes
            });
            return (!is_chosen).then_some(found);
        }
    }
}

fn unroll_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    accesses: &mut Accesses<'a>,
    cold: &mut Vec<bool>,
    each: &Loop<'a>,
    plan: &Plan<'a>,
) {
    let mut copies =
        |graph: &mut Graph<'a>, count| copies(graph, names, accesses, cold, each, plan, count);
    let whole = copies(graph, plan.iterations);
    let has_rest = plan.iterations > 2 && plan.can_be_predicated(graph);
    let rest = copies(graph, if has_rest { plan.iterations - 1 } else { 0 });
    let mut test = Vec::new();
    let stays = test_exits(graph, names, plan, &mut test);
    let enough = stays[plan.iterations - 1].unwrap_or_default();

    let inside: HashSet<Id> = (each.blocks.iter().copied())
        .chain(whole.iter().flat_map(|copy| copy.blocks.clone()))
        .chain(rest.iter().flat_map(|copy| copy.blocks.clone()))
        .collect();
    let outside: Vec<Id> = graph
        .predecessors_of_one(each.header)
        .filter(|id| !inside.contains(id))
        .collect();
    let add = |graph: &mut Graph<'a>, body, end| {
        let label = names.label();
        graph.add_before(Block { label, body, end }, whole[0].blocks[0])
    };
    let branch = |register, to, otherwise| End::Branch(Guard::new(register), false, to, otherwise);
    let fewer = match rest.first() {
        Some(first) => {
            let loads = start_loads(graph, names, each, plan, &rest, &stays);
            let ahead = add(graph, loads, End::Jump(first.header, false));
            match stays[0] {
                Some(some) => add(graph, Vec::new(), branch(some, ahead, each.header)),
                None => ahead,
            }
        }
        None => each.header,
    };
    let test = add(graph, test, branch(enough, whole[0].header, fewer));
    if plan.has_arms {
        let loads = start_loads(graph, names, each, plan, &whole, &[]);
        let ahead = add(graph, loads, End::Jump(whole[0].header, false));
        graph.blocks[test].end = branch(enough, ahead, fewer);
    }
    let mut body = Vec::new();
    let last = predicate_rest(graph, names, each, plan, &rest, &stays, &mut body);
    if let Some(copy) = rest.last() {
        let exit =
            (graph.blocks[each.latch].end.targets().into_iter()).find(|&to| !each.contains(to));
        graph.blocks[copy.latch].body.extend(body);
        graph.blocks[copy.latch].end = match (last, exit) {
            (Some(stays), Some(exit)) => branch(stays, each.header, exit),
            _ => End::Jump(each.header, false),
        };
    }
    for (index, copy) in whole.iter().enumerate() {
        let end = &mut graph.blocks[copy.latch].end;
        match whole.get(index + 1) {
            Some(next) => *end = End::Jump(next.header, false),
            None => end.retarget(&|to| if to == copy.header { test } else { to }),
        }
    }
    for (index, copy) in rest.iter().enumerate() {
        if let Some(next) = rest.get(index + 1) {
            graph.blocks[copy.latch].end = End::Jump(next.header, false);
        }
    }
    for id in outside {
        let end = &mut graph.blocks[id].end;
        end.retarget(&|to| if to == each.header { test } else { to });
    }
    cold.resize(graph.blocks.len(), false);
}

/// Returns the loads of all iterations that run at once. Those of the copies become moves of their
/// results. `runs` has the predicates of the iterations; the first one runs in any case.
fn start_loads<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    each: &Loop<'a>,
    plan: &Plan<'a>,
    copies: &[Copy],
    runs: &[Option<&'a str>],
) -> Vec<Statement<'a>> {
    let mut started = Vec::new();
    let mut now: HashMap<&'a str, &'a str> = HashMap::default();
    for (index, copy) in copies.iter().enumerate() {
        let runs = runs.get(index).copied().flatten().filter(|_| index > 0);
        let first = copy.blocks.iter().copied().min().unwrap_or(copy.header);
        for &id in &plan.row {
            for place in 0..graph.blocks[id].body.len() {
                let is_load = plan.ahead.loads.contains(&(id, place));
                if is_load || plan.ahead.addresses.contains(&(id, place)) {
                    let found = emit_copy(graph, names, &mut started, &mut now, (id, place));
                    if let Some(result) = found.filter(|_| is_load) {
                        if let Some(runs) = runs
                            && let Some(Statement::Instruction(mut load)) = started.pop()
                        {
                            // Otherwise ptxas would keep a register for former values.
                            started.extend(zero(graph, &load));
                            load.guard = Some(Guard::new(runs));
                            started.push(Statement::Instruction(load));
                        }
                        let at = each.blocks.iter().position(|&it| it == id).unwrap_or(0);
                        // A copy of a block has no labels in its body.
                        let labels = graph.blocks[id].body[..place].iter();
                        let labels = labels.filter(|it| matches!(it, Statement::Label(_)));
                        let place = place - labels.count();
                        replace_load(graph, (first + at, place), result);
                    }
                }
            }
        }
    }
    started
}

/// Replaces a load by a move.
fn replace_load<'a>(graph: &mut Graph<'a>, (id, place): (Id, usize), from: &'a str) {
    let Some(ty) = graph.type_of(from) else {
        return;
    };
    let statement = &mut graph.blocks[id].body[place];
    if let Statement::Instruction(it) = statement {
        let to = it.operands[0].clone();
        *statement = instruction("mov", &[ty.name()], vec![to, Operand::Name(from)]);
    }
}

/// Appends a copy of an instruction, with the current registers of its sources and a new one for its
/// result. Returns that.
fn emit_copy<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    to: &mut Vec<Statement<'a>>,
    now: &mut HashMap<&'a str, &'a str>,
    (id, place): (Id, usize),
) -> Option<&'a str> {
    let Statement::Instruction(it) = &graph.blocks[id].body[place] else {
        return None;
    };
    let mut it = it.clone();
    let mut written = Vec::new();
    results(&it, &mut |name| written.push(name));
    for operand in &mut it.operands[1..] {
        rename_operand(operand, &mut |name| now.get(name).copied().unwrap_or(name));
    }
    for &name in &written {
        if let Some(ty) = graph.type_of(name) {
            now.insert(name, graph.register(ty, names));
        }
    }
    rename_operand(&mut it.operands[0], &mut |name| {
        now.get(name).copied().unwrap_or(name)
    });
    to.push(Statement::Instruction(it));
    written.first().and_then(|name| now.get(name).copied())
}

/// Copies a loop without its exits, except that of the latch.
fn copies<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    accesses: &mut Accesses<'a>,
    cold: &mut Vec<bool>,
    each: &Loop<'a>,
    plan: &Plan<'a>,
    count: usize,
) -> Vec<Copy> {
    let exits = plan.exits.iter().filter(|(id, _)| **id != each.latch);
    let removed = exits.map(|(&id, &(.., next))| (id, next)).collect();
    let mut copies = Vec::new();
    for _ in 0..count {
        cold.resize(graph.blocks.len(), false);
        copies.push(version::copy(graph, names, accesses, cold, each, &removed));
    }
    copies
}

/// Appends instructions that compute whether the next iterations take no exit, except that of the
/// last one's latch. Returns the predicates for each number of iterations from one on; there is none
/// if such an iteration always runs.
fn test_exits<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    plan: &Plan<'a>,
    test: &mut Vec<Statement<'a>>,
) -> Vec<Option<&'a str>> {
    let mut now: HashMap<&'a str, &'a str> = HashMap::default();
    let mut all: Option<&'a str> = None;
    let mut found = Vec::new();
    for iteration in 1..=plan.iterations {
        for &id in &plan.row {
            for place in 0..graph.blocks[id].body.len() {
                if plan.conditions.contains(&(id, place)) {
                    emit_copy(graph, names, test, &mut now, (id, place));
                }
            }
            if Some(&id) == plan.row.last() {
                found.push(all);
                if iteration == plan.iterations {
                    break;
                }
            }
            if let Some(&(register, value, _)) = plan.exits.get(&id) {
                let register = now.get(register).copied().unwrap_or(register);
                let stays = literal(graph, names, test, (register, value));
                all = Some(match all {
                    None => stays,
                    Some(before) => graph.and(names, test, [before, stays]),
                });
            }
        }
    }
    found
}

/// Predicates iterations with whether the loop comes to them: the first one runs in any case, and
/// `stays` has the predicates of the others. Appends instructions to `last` that compute whether the
/// loop goes on behind the last iteration that runs, and returns that, unless it always does.
fn predicate_rest<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    each: &Loop<'a>,
    plan: &Plan<'a>,
    rest: &[Copy],
    stays: &[Option<&'a str>],
    last: &mut Vec<Statement<'a>>,
) -> Option<&'a str> {
    let mut all: Option<&'a str> = None;
    for (copy, &runs) in rest.iter().zip(stays) {
        let runs = runs.filter(|_| copy.header != rest[0].header);
        if let Some(runs) = runs {
            for &id in &copy.blocks {
                let body = std::mem::take(&mut graph.blocks[id].body);
                let mut new = Vec::new();
                for statement in body {
                    match statement {
                        Statement::Instruction(it) => {
                            predicate(graph, names, each, it, runs, &mut new)
                        }
                        other => new.push(other),
                    }
                }
                graph.blocks[id].body = new;
            }
        }
        if !plan.exits.contains_key(&each.latch) {
            continue;
        }
        let End::Branch(guard, _, to, _) = graph.blocks[copy.latch].end else {
            continue;
        };
        let goes_on = (guard.register, (to == copy.header) != guard.negated);
        let mut goes_on = literal(graph, names, last, goes_on);
        if let Some(runs) = runs {
            let skipped = literal(graph, names, last, (runs, false));
            let operands = [goes_on, skipped].map(Operand::Name);
            goes_on = graph.emit(names, last, Type::Pred, "or", &["pred"], operands);
        }
        all = Some(match all {
            None => goes_on,
            Some(before) => graph.and(names, last, [before, goes_on]),
        });
    }
    all
}

/// Appends an instruction of an iteration that runs if a predicate is true. Registers that only this
/// iteration uses may have any value otherwise.
fn predicate<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    each: &Loop<'a>,
    mut it: Instruction<'a>,
    runs: &'a str,
    to: &mut Vec<Statement<'a>>,
) {
    // The registers that other code uses, each with one for the result.
    let mut kept: Vec<(&'a str, &'a str, Type)> = Vec::new();
    results(&it, &mut |name| {
        if each.written.contains_key(name)
            && let Some(ty) = graph.type_of(name)
        {
            kept.push((name, graph.register(ty, names), ty));
        }
    });
    if !kept.is_empty() {
        rename_operand(&mut it.operands[0], &mut |name| {
            let own = kept.iter().find(|&&(kept, ..)| kept == name);
            own.map_or(name, |&(_, own, _)| own)
        });
    }
    if !is_pure(&it) && !is_parameter(&it) {
        if it.opcode == "ld" {
            // Otherwise ptxas would keep a register for former values.
            to.extend(zero(graph, &it));
        }
        it.guard = Some(Guard::new(runs));
    }
    to.push(Statement::Instruction(it));
    for (name, own, ty) in kept {
        if ty == Type::Pred {
            let skipped = literal(graph, names, to, (runs, false));
            let new = graph.and(names, to, [own, runs]);
            let old = graph.and(names, to, [name, skipped]);
            let operands = [name, new, old].map(Operand::Name);
            to.push(instruction("or", &["pred"], operands.to_vec()));
        } else {
            let operands = [name, own, name, runs].map(Operand::Name);
            to.push(instruction("selp", &[ty.name()], operands.to_vec()));
        }
    }
}
