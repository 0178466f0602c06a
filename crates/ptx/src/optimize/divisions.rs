//! Starts loads before divisions.
//!
//! ptxas expands a division that rounds correctly, a reciprocal, a square root and a division of
//! 64-bit integers to a branch to a slow path, and moves no load across it. A load that comes after
//! the division therefore adds its latency to that of the division, and ptxas, like LLVM, does not
//! unroll a loop with such a division, so that each iteration waits for its own loads.
//!
//! [`unroll`] runs several iterations of such a loop at once if their loads do not depend on the
//! results of divisions, and [`start_loads`] moves the loads of a block before its divisions. Both also
//! do this for exchanges between lanes, across which ptxas moves no load either.

use crate::hash::{HashMap, HashSet};

use super::flow::{End, Graph, Id};
use super::instructions::{
    can_be_copied, has_effect, is_among_lanes, is_parameter, is_pure, rename, results, sources,
};
use super::loops::{self, Loop, Relation, Step, Which};
use super::names::Names;
use super::sink::dominators;
use super::version::{Accesses, number};
use super::{PRESSURE, liveness, straight, words};
use crate::rewrite::instruction;
use crate::{Base, Instruction, Operand, Statement, Type};

/// The maximum number of iterations that run at once.
const ITERATIONS: usize = 4;

/// The maximum number of instructions of a loop to unroll.
const LARGEST: usize = 64;

/// The maximum number of divisions of a loop to unroll.
const DIVISIONS: usize = 2;

/// The maximum number of exchanges between lanes of a loop to unroll.
const EXCHANGES: usize = 8;

/// The largest step of a counter.
const LONGEST: i64 = 1 << 16;

/// The maximum number of 32-bit words that loads before a division read.
const WORDS: usize = 16;

/// The size of a cache line in bytes. The registers of further loads from the same line are better
/// used otherwise.
const LINE: u64 = 128;

/// Returns whether ptxas expands an instruction to a branch to a slow path.
pub(super) fn is_division(it: &Instruction<'_>) -> bool {
    let has = |names: &[&str]| it.modifiers.iter().any(|modifier| names.contains(modifier));
    match it.opcode {
        "rcp" | "sqrt" => has(&["rn", "rz", "rm", "rp"]),
        "div" => has(&["rn", "rz", "rm", "rp", "u64", "s64"]),
        "rem" => has(&["u64", "s64"]),
        _ => false,
    }
}

/// Returns whether an instruction loads from global memory without an ordering.
pub(super) fn is_load(it: &Instruction<'_>) -> bool {
    it.opcode == "ld" && it.modifiers.first() == Some(&"global") && !has_effect(it)
}

/// Returns whether a load may move across stores: no instruction of the kernel writes what it reads.
pub(super) fn is_constant(it: &Instruction<'_>) -> bool {
    it.modifiers.contains(&"nc")
}

/// Unrolls loops, except those that begin with a block of `slow`. Returns how many.
///
/// `together` are the headers of loops that all lanes of a warp run equally often. Only these loops may
/// exchange values between lanes.
pub(super) fn unroll<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    slow: &HashSet<Id>,
    together: &HashSet<Id>,
) -> usize {
    let mut count = 0;
    let mut accesses = Accesses::default();
    for each in loops::innermost(graph, &graph.cold()) {
        if !slow.contains(&each.header) {
            let exchanges = together.contains(&each.header);
            let unrolled = unroll_one(graph, names, &mut accesses, &each, exchanges);
            count += usize::from(unrolled.is_some());
        }
    }
    count
}

fn unroll_one<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    accesses: &mut Accesses<'a>,
    each: &Loop<'a>,
    exchanges: bool,
) -> Option<()> {
    let mut waits = false;
    graph.visit(each.blocks.iter().copied(), &mut |it| {
        waits |= is_division(it) || exchanges && is_among_lanes(it);
    });
    if !waits {
        return None;
    }
    let line = straight::line(graph, names, each)?;
    let iterations = iterations(&line.statements, exchanges)?;
    let counters = each.counters(graph);
    let (counter, which, compared) = match line.first {
        None => each.condition(graph, &counters)?,
        Some((guard, goes_on)) => {
            let (_, block, _) = each.definition(graph, guard.register)?;
            let ends_there = matches!(graph.blocks[each.latch].end, End::Jump(..));
            if block != each.header || !ends_there {
                return None;
            }
            each.comparison(graph, &counters, guard.register, goes_on != guard.negated)?
        }
    };
    let (step, down, exact) = match (counter.step, compared.relation) {
        (Step::Constant(step @ 1..=LONGEST), Relation::Less) => (step as u64, false, false),
        (Step::Constant(1), Relation::NotEqual) => (1, false, true),
        (Step::Constant(-1), Relation::Greater) => (1, true, false),
        (Step::Constant(-1), Relation::NotEqual) => (1, true, true),
        _ => return None,
    };
    let tested = match line.first {
        None => Which::Next,
        Some(_) => Which::Current,
    };
    if which != tested || counter.bits != compared.bits {
        return None;
    }

    // The test whether there are enough iterations. If the test is at the end of the loop, the first runs
    // whatever the counter is.
    let (ty, sub, unsigned, signed) = match counter.bits {
        32 => (Type::B32, "s32", "u32", "s32"),
        _ => (Type::B64, "s64", "u64", "s64"),
    };
    let mut test = Vec::new();
    let counter = Operand::Name(counter.register);
    let (low, high) = match down {
        true => (compared.right, counter),
        false => (counter, compared.right),
    };
    let sources = [high.clone(), low.clone()];
    let left = graph.emit(names, &mut test, ty, "sub", &[sub], sources);
    let others = number(step * (iterations as u64 - 1));
    let sources = [Operand::Name(left), others];
    let gt = &["gt", unsigned];
    let mut enough = graph.emit(names, &mut test, Type::Pred, "setp", gt, sources);
    if !exact {
        let order = if compared.signed { signed } else { unsigned };
        let sources = [low, high];
        let below = graph.emit(
            names,
            &mut test,
            Type::Pred,
            "setp",
            &["lt", order],
            sources,
        );
        enough = graph.and(names, &mut test, [enough, below]);
    }

    let mut now: HashMap<&'a str, &'a str> = HashMap::default();
    let mut body = Vec::new();
    for _ in 0..iterations {
        for statement in &line.statements {
            body.push(match statement {
                Statement::Instruction(it) => {
                    Statement::Instruction(renamed(graph, names, it, &mut now)?)
                }
                _ => statement.clone(),
            });
        }
    }
    let needed = straight::needed(&line.statements, |name| {
        accesses.is_read_outside(graph, each, name)
    });
    let mut last: Vec<(&'a str, &'a str)> = now.iter().map(|(&old, &new)| (old, new)).collect();
    last.sort_unstable();
    for (old, new) in last.into_iter().filter(|(old, _)| needed.contains(old)) {
        let ty = graph.type_of(old)?;
        let operands = [old, new].map(Operand::Name).to_vec();
        body.push(instruction("mov", &[ty.name()], operands));
    }

    let mut end = graph.blocks[each.latch].end.clone();
    if let End::Branch(guard, ..) = &mut end {
        guard.register = now.get(guard.register).copied().unwrap_or(guard.register);
    }
    loops::add_tested(graph, names, each, (test, enough), (body, end), true);
    Some(())
}

/// Returns how many iterations can run at once so that their loads come before their divisions and
/// exchanges. `exchanges` is whether iterations may exchange values between lanes.
fn iterations<'a>(line: &[Statement<'a>], exchanges: bool) -> Option<usize> {
    let (mut size, mut divisions, mut exchanged, mut effects) = (0, 0, 0, false);
    for it in straight::instructions(line) {
        let is_exchange = is_among_lanes(it);
        if it.guard.is_some() || !(can_be_copied(it) || exchanges && is_exchange) {
            return None;
        }
        size += 1;
        divisions += usize::from(is_division(it));
        exchanged += usize::from(is_exchange);
        effects |= has_effect(it);
    }
    if size > LARGEST || divisions > DIVISIONS || exchanged > EXCHANGES {
        return None;
    }
    // The registers with results of loads or divisions, in any iteration.
    let mut delayed: HashSet<&'a str> = HashSet::default();
    loop {
        let before = delayed.len();
        for it in straight::instructions(line) {
            let mut late = is_division(it) || !is_pure(it) && !is_parameter(it);
            sources(it, &mut |name| late |= delayed.contains(name));
            if late {
                results(it, &mut |name| _ = delayed.insert(name));
            }
        }
        if delayed.len() == before {
            break;
        }
    }
    let mut early = 0;
    for it in straight::instructions(line) {
        let mut movable = is_load(it) && (is_constant(it) || !effects);
        sources(it, &mut |name| movable &= !delayed.contains(name));
        if movable {
            early += words(it);
        }
    }
    let most = WORDS.checked_div(early)?.min(ITERATIONS);
    (most > 1).then_some(most)
}

/// Copies an instruction with new registers for its results. `now` maps the registers of the loop to
/// those with their current values.
fn renamed<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    it: &Instruction<'a>,
    now: &mut HashMap<&'a str, &'a str>,
) -> Option<Instruction<'a>> {
    let mut written = Vec::new();
    results(it, &mut |name| written.push(name));
    let count = usize::from(!written.is_empty());
    let current =
        |name: &'a str, now: &HashMap<&'a str, &'a str>| now.get(name).copied().unwrap_or(name);
    let mut read = it.clone();
    let mut result = it.clone();
    read.operands.drain(..count);
    result.operands.truncate(count);
    rename(&mut read, &mut |name| current(name, now));
    for name in written {
        let ty = graph.type_of(name)?;
        now.insert(name, graph.register(ty, names));
    }
    rename(&mut result, &mut |name| current(name, now));
    result.operands.append(&mut read.operands);
    Some(result)
}

/// Returns whether ptxas moves no load across an instruction: a division, or an exchange between
/// lanes, which ptxas expands to a branch for warps whose threads are not together.
fn holds_loads(it: &Instruction<'_>) -> bool {
    is_division(it) || is_among_lanes(it)
}

/// Moves loads before the divisions and the exchanges that precede them, except in cold blocks.
/// Returns how many.
///
/// Loads that depend on an exchange pass later exchanges only in kernels with more than [`PRESSURE`]
/// live registers: in others, more loads in flight per thread do not pay for fewer resident threads.
pub(super) fn start_loads(graph: &mut Graph<'_>) -> usize {
    let shape = graph.shape();
    let dominators = dominators(graph);
    let hot = graph.order.iter().copied().filter(|&id| !shape.cold[id]);
    let hot: Vec<Id> = hot.collect();
    let mut has_few_registers = None;
    let mut count = 0;
    for &id in &hot {
        let (mut at, mut exchanges) = (0, 0);
        while let Some(place) = next_barrier(graph, id, at) {
            at = place;
            if let Statement::Instruction(it) = &graph.blocks[id].body[place]
                && !is_division(it)
            {
                exchanges += 1;
                if exchanges > 1
                    && *has_few_registers
                        .get_or_insert_with(|| liveness::pressure(graph, &hot) <= PRESSURE)
                {
                    at = place + 1;
                    continue;
                }
            }
            let before = dominators.dominators(id).into_iter().flatten().skip(1);
            let near = lines(graph, before, id, place);
            let moved = start_before(graph, id, place, near, &shape.predecessors);
            count += moved;
            at = next_barrier(graph, id, at).map_or(usize::MAX, |place| place + 1);
        }
    }
    count
}

/// Returns the position of the first instruction at or after a position of a block across which ptxas
/// moves no load.
fn next_barrier(graph: &Graph<'_>, id: Id, at: usize) -> Option<usize> {
    let body = graph.blocks[id].body.get(at..)?;
    let found = body
        .iter()
        .position(|statement| matches!(statement, Statement::Instruction(it) if holds_loads(it)));
    Some(at + found?)
}

/// Returns what the loads before a position of a block read, in the block and in those before it, as
/// far as the block does not change the registers with their addresses.
fn lines<'a>(
    graph: &Graph<'a>,
    before: impl Iterator<Item = Id>,
    id: Id,
    place: usize,
) -> Lines<'a> {
    let mut near = Lines::default();
    graph.visit(before, &mut |it| _ = near.is_new(it));
    for statement in &graph.blocks[id].body[..place] {
        if let Statement::Instruction(it) = statement {
            near.is_new(it);
            results(it, &mut |name| near.forget(name));
        }
    }
    near
}

/// Moves loads from other cache lines than `near` before the instruction at a position of a block, from
/// the rest of the block and the blocks that only follow it. Returns how many.
fn start_before<'a>(
    graph: &mut Graph<'a>,
    id: Id,
    place: usize,
    near: Lines<'a>,
    predecessors: &[Vec<Id>],
) -> usize {
    // The instructions from that one on, and where they are.
    let mut row: Vec<(Id, usize, &Instruction<'a>)> = Vec::new();
    let (mut block, mut skip, mut seen) = (id, place, vec![id]);
    'row: loop {
        for (index, statement) in graph.blocks[block].body.iter().enumerate().skip(skip) {
            match statement {
                Statement::Instruction(it)
                    if it.guard.is_none() && (can_be_copied(it) || holds_loads(it)) =>
                {
                    row.push((block, index, it));
                }
                Statement::Loc(_) | Statement::Label(_) => {}
                _ => break 'row,
            }
        }
        match graph.blocks[block].end {
            End::Jump(to, _) if predecessors[to].len() == 1 && !seen.contains(&to) => {
                seen.push(to);
                (block, skip) = (to, 0);
            }
            _ => break,
        }
    }
    let moved = movable(&row, near);
    let mut moved: HashSet<(Id, usize)> = moved
        .into_iter()
        .map(|index| (row[index].0, row[index].1))
        .collect();
    let count = moved.len();
    let mut loads = Vec::with_capacity(count);
    for id in seen {
        let body = std::mem::take(&mut graph.blocks[id].body);
        for (index, statement) in body.into_iter().enumerate() {
            match moved.remove(&(id, index)) {
                true => loads.push(statement),
                false => graph.blocks[id].body.push(statement),
            }
        }
    }
    graph.blocks[id].body.splice(place..place, loads);
    count
}

/// The memory near which loads read.
#[derive(Default)]
struct Lines<'a>(Vec<(&'a str, i64)>);

impl<'a> Lines<'a> {
    /// Adds what a load reads, and returns whether it is in another cache line than that of earlier
    /// loads, as far as their operands tell.
    fn is_new(&mut self, it: &Instruction<'a>) -> bool {
        let Some(&Operand::Address(Base::Name(base), offset)) = it.operands.get(1) else {
            return true;
        };
        let is_near = |&(other, at): &(&str, i64)| base == other && offset.abs_diff(at) < LINE;
        let found = self.0.iter().any(is_near);
        if is_load(it) && !found {
            self.0.push((base, offset));
        }
        !found
    }

    /// Removes what was read at addresses in a register that changes.
    fn forget(&mut self, register: &str) {
        self.0.retain(|&(base, _)| base != register);
    }
}

/// Returns the indices of the instructions of a row to move before the first one: loads from other
/// cache lines than `near`, and the instructions that compute their addresses.
fn movable<'a>(row: &[(Id, usize, &Instruction<'a>)], mut near: Lines<'a>) -> Vec<usize> {
    // For each register, the last instruction that writes it.
    let mut writers: HashMap<&str, usize> = HashMap::default();
    // For each instruction that can move, those in the row that it depends on.
    let mut needs: Vec<Option<Vec<usize>>> = Vec::with_capacity(row.len());
    let mut moved: HashSet<usize> = HashSet::default();
    let (mut effects, mut size) = (false, 0);
    for (index, &(_, _, it)) in row.iter().enumerate() {
        let load = is_load(it) && (is_constant(it) || !effects);
        effects |= has_effect(it);
        let computes = is_pure(it) && !is_division(it);
        let mut own = (load || computes || is_parameter(it)).then(Vec::new);
        sources(it, &mut |name| {
            if let Some(&writer) = writers.get(name) {
                match (&mut own, &needs[writer]) {
                    (Some(own), Some(_)) => own.push(writer),
                    _ => own = None,
                }
            }
        });
        results(it, &mut |name| _ = writers.insert(name, index));
        if load && near.is_new(it) && own.is_some() && size + words(it) <= WORDS {
            size += words(it);
            let mut pending = vec![index];
            while let Some(next) = pending.pop() {
                if moved.insert(next) {
                    let needed = if next == index { &own } else { &needs[next] };
                    pending.extend(needed.iter().flatten());
                }
            }
        }
        needs.push(own);
    }
    // An instruction must not pass another that uses its result's register.
    let (mut read, mut written) = (HashSet::default(), HashSet::default());
    for (index, &(_, _, it)) in row.iter().enumerate() {
        if moved.contains(&index) {
            let mut passes = true;
            sources(it, &mut |name| passes &= !written.contains(name));
            results(it, &mut |name| {
                passes &= !written.contains(name) && !read.contains(name)
            });
            if !passes {
                return Vec::new();
            }
        } else {
            sources(it, &mut |name| _ = read.insert(name));
            results(it, &mut |name| _ = written.insert(name));
        }
    }
    let mut moved: Vec<usize> = moved.into_iter().collect();
    moved.sort_unstable();
    moved
}
