//! Removes what kernels do for exited threads at places that all threads reach before any of them
//! exits, and barriers that order nothing.
//!
//! The reductions and scans of `cuda_std` ask which lanes of a warp and how many threads of a block
//! are left, wait before they write to shared memory, in case that a previous one is still read,
//! and shared memory waits after it was read. The library cannot know that no thread exits before
//! the call, that the call is the first one, or that nothing follows.

use crate::hash::{HashMap, HashSet};

use super::digraph::{Digraph, Dominators, END};
use super::flow::{End, Graph, Id};
use super::instructions::{
    instructions, is_among_lanes, is_parameter, is_pure, is_same_in_block, results, sources,
};
use super::specialize::block_width;
use crate::rewrite::instruction;
use crate::{Function, Instruction, Integer, Operand, Statement};

/// The number of lanes of a warp.
const LANES: u64 = 32;

/// Types of integers.
const INTEGERS: &[&str] = &["b32", "b64", "s32", "s64", "u32", "u64"];

/// The maximum number of instructions that show that an integer is a multiple of [`LANES`].
const STEPS: usize = 8;

/// A block, and the index of one of its statements.
pub(super) type Place = (Id, usize);

/// Simplifies the operations among the threads of a block. Returns the number of changes.
///
/// `panics` are the functions that end the launch.
pub(super) fn simplify(
    graph: &mut Graph<'_>,
    kernel: &Function<'_>,
    panics: &HashSet<&str>,
) -> usize {
    let mut waits = false;
    graph.visit(graph.order.iter().copied(), &mut |it| {
        waits |= matches!(it.opcode, "bar" | "barrier" | "vote");
    });
    if !waits {
        return 0;
    }
    let changed = fold_counts(graph, kernel, panics);
    if changed > 0 {
        graph.tidy();
    }
    changed + remove_barriers(graph)
}

/// Replaces the ballot of all lanes and the number of threads that arrive at a barrier by constants
/// where no thread of the warp or block can have exited, and removes the branches that depend on them.
///
/// Threads may have panicked. The others then get any bits for their values, until the launch ends.
/// Without the panic, they do not.
fn fold_counts(graph: &mut Graph<'_>, kernel: &Function<'_>, panics: &HashSet<&str>) -> usize {
    let threads = super::threads(kernel);
    if threads == 0 {
        return 0;
    }
    let warp = Together::Warp {
        in_row: has_whole_rows(kernel) == Some(true),
    };
    let single = single_definitions(graph);
    let mut counts = Vec::new();
    for &id in &graph.order {
        for (index, statement) in graph.blocks[id].body.iter().enumerate() {
            if let Some(count) = Count::of(statement, &single)
                && (count.barrier.is_some() || threads.is_multiple_of(LANES))
            {
                counts.push(((id, index), count));
            }
        }
    }
    if counts.is_empty() {
        return 0;
    }
    // The code for exited threads has barriers, too, but does not run if all counts are constants.
    // By induction over the counts: until one differs, all threads run this copy without that code.
    let (known, outcomes) = loop {
        let mut known = HashMap::default();
        for (_, count) in &counts {
            let value = match count.barrier {
                Some(_) => Integer::unsigned(threads),
                None => Integer::signed(-1),
            };
            known.insert(count.result, value);
        }
        let outcomes = outcomes(&single, &known);
        let mut copy = graph.clone();
        settle(&mut copy, &outcomes);
        let ends = copy.ends_in(|block| {
            let mut panic = false;
            (block.body.iter())
                .for_each(|it| instructions(it, &mut |it| panic |= calls(it, panics)));
            panic
        });
        remove_checks(&mut copy, &ends);
        let paths = Paths::new(&copy);
        let has_ballots = counts.iter().any(|(_, count)| count.barrier.is_none());
        let in_warp = has_ballots.then(|| Divergence::new(&copy, warp).blocks);
        let in_warp = in_warp.unwrap_or_default();
        let before = counts.len();
        counts.retain(|(place, count)| {
            copy.order.contains(&place.0)
                && match &count.barrier {
                    None => paths.is_reached_except_in(*place, &in_warp),
                    Some(it) => paths.is_reached_by_all(*place) && paths.counts_here(*place, it),
                }
        });
        if counts.len() == before {
            break (known, outcomes);
        }
    };
    let changed = counts.len();
    for ((id, index), count) in counts.into_iter().rev() {
        let value = Operand::Integer(known[count.result]);
        let result = Operand::Name(count.result);
        let mut statements = vec![instruction("mov", &["b32"], vec![result, value])];
        if let Some(barrier) = count.barrier {
            statements.insert(0, instruction("barrier", &["sync"], vec![barrier]));
        }
        let body = &mut graph.blocks[id].body;
        body.splice(index..=index, statements);
    }
    settle(graph, &outcomes);
    changed
}

/// Removes the branches whose outcome is known.
fn settle<'a>(graph: &mut Graph<'a>, outcomes: &HashMap<&'a str, bool>) {
    for id in graph.order.clone() {
        graph.settle(id, outcomes);
    }
}

/// Returns whether the rows of a kernel's blocks consist of whole warps, if their size is known.
pub(super) fn has_whole_rows(kernel: &Function<'_>) -> Option<bool> {
    Some(block_width(kernel)?.is_multiple_of(LANES))
}

/// Returns whether all lanes of a warp that have not panicked reach the first block together and then
/// execute `blocks` equally often, with equal values in `registers`.
///
/// A lane that panics never returns, so the others may execute these blocks without it. `in_row` says
/// whether the rows of the kernel's blocks consist of whole warps.
pub(super) fn are_together<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    in_row: bool,
    blocks: &[Id],
    registers: &[&'a str],
) -> bool {
    let mut copy = graph.clone();
    remove_checks(&mut copy, cold);
    let divergence = Divergence::new(&copy, Together::Warp { in_row });
    let paths = Paths::new(&copy);
    blocks
        .iter()
        .all(|&id| paths.is_reached_except_in((id, 0), &divergence.blocks))
        && registers.iter().all(|&name| !divergence.differs(name))
}

/// Returns the dominators on the ways backward from [`END`].
pub(super) fn ends(graph: &Graph<'_>) -> Dominators {
    let mut back = Digraph::new();
    back.add_node(END);
    for &id in &graph.order {
        let targets = graph.blocks[id].end.targets();
        if targets.is_empty() {
            back.add_edge(END, id);
        }
        for to in targets {
            back.add_edge(to, id);
        }
    }
    back.dominators(END)
}

/// Returns the function without the branches to cold blocks, and the blocks from which the lanes of a
/// warp may then go different ways.
pub(super) fn divergent_branches<'a>(graph: &Graph<'a>, cold: &[bool]) -> (Graph<'a>, HashSet<Id>) {
    let mut copy = graph.clone();
    remove_checks(&mut copy, cold);
    let divergence = Divergence::new(&copy, Together::Warp { in_row: false });
    let is_divergent = |&id: &Id| {
        let end = &copy.blocks[id].end;
        end.targets().len() > 1 && !divergence.is_uniform(end)
    };
    let divergent = copy.order.iter().copied().filter(is_divergent).collect();
    (copy, divergent)
}

/// Removes the branches to cold blocks.
fn remove_checks(graph: &mut Graph<'_>, cold: &[bool]) {
    for id in graph.order.clone() {
        if let Some(check) = super::check_of(graph, cold, id) {
            graph.blocks[id].end = End::Jump(check.passes, false);
        }
    }
    graph.remove_unreachable();
}

/// Returns whether an instruction calls one of the functions.
pub(super) fn calls(it: &Instruction<'_>, functions: &HashSet<&str>) -> bool {
    let is_one = |it: &Operand<'_>| matches!(it, Operand::Name(name) if functions.contains(name));
    it.opcode == "call" && it.operands.iter().any(is_one)
}

/// Returns whether an instruction exchanges values among lanes of a warp that wait for each other.
pub(super) fn is_shuffle(it: &Instruction<'_>) -> bool {
    it.opcode == "shfl"
        && it.modifiers.first() == Some(&"sync")
        && it.guard.is_none()
        && matches!(it.operands.first(), Some(Operand::Name(_)))
}

/// Returns the instructions that are the only ones to write their result.
fn single_definitions<'a>(graph: &Graph<'a>) -> HashMap<&'a str, Instruction<'a>> {
    let mut all = HashMap::<&'a str, Option<Instruction<'a>>>::default();
    graph.visit(graph.order.iter().copied(), &mut |it| {
        results(it, &mut |name| {
            let first = !all.contains_key(name);
            all.insert(name, first.then(|| it.clone()));
        });
    });
    (all.into_iter())
        .filter_map(|(name, it)| Some((name, it?)))
        .collect()
}

/// Returns the predicates that compare a known 32-bit value with a constant.
pub(super) fn outcomes<'a>(
    single: &HashMap<&'a str, Instruction<'a>>,
    known: &HashMap<&'a str, Integer>,
) -> HashMap<&'a str, bool> {
    let mut outcomes = HashMap::default();
    for (&predicate, it) in single {
        if let ("setp", [relation @ ("eq" | "ne"), "s32" | "u32" | "b32"], None) =
            (it.opcode, &it.modifiers[..], it.guard)
            && let [_, Operand::Name(register), Operand::Integer(value)] = &it.operands[..]
            && single.contains_key(register)
            && let Some(known) = known.get(register)
        {
            let equal = known.bits as u32 == value.bits as u32;
            outcomes.insert(predicate, equal == (*relation == "eq"));
        }
    }
    outcomes
}

/// A ballot in which all lanes take part, or a barrier that counts its threads.
pub(super) struct Count<'a> {
    /// The register with the mask or the number.
    pub result: &'a str,
    /// The number of the barrier.
    pub barrier: Option<Operand<'a>>,
}

impl<'a> Count<'a> {
    /// Returns the count of a statement: a block that converts an integer to the predicate.
    pub fn of(
        statement: &Statement<'a>,
        single: &HashMap<&'a str, Instruction<'a>>,
    ) -> Option<Count<'a>> {
        let Statement::Block(_) = statement else {
            return None;
        };
        let mut all = Vec::new();
        instructions(statement, &mut |it| all.push(it));
        let [set, count] = all[..] else {
            return None;
        };
        let ("setp", ["ne", "b32"], [Operand::Name(predicate), value, Operand::Integer(zero)]) =
            (set.opcode, &set.modifiers[..], &set.operands[..])
        else {
            return None;
        };
        let holds = zero.bits == 0 && constant(value, single).is_some_and(|value| value != 0);
        if !holds || set.guard.is_some() || count.guard.is_some() {
            return None;
        }
        match (count.opcode, &count.modifiers[..], &count.operands[..]) {
            (
                "vote",
                ["sync", "ballot", "b32"],
                [Operand::Name(result), Operand::Name(counted), mask],
            ) if counted == predicate && constant(mask, single) == Some(u32::MAX) => Some(Count {
                result,
                barrier: None,
            }),
            (
                "barrier",
                ["red", "popc", "u32"],
                [
                    Operand::Name(result),
                    barrier @ Operand::Integer(_),
                    Operand::Name(counted),
                ],
            ) if counted == predicate => Some(Count {
                result,
                barrier: Some(barrier.clone()),
            }),
            _ => None,
        }
    }
}

/// Returns the value of a 32-bit operand, if it is a constant.
fn constant<'a>(operand: &Operand<'a>, single: &HashMap<&'a str, Instruction<'a>>) -> Option<u32> {
    match operand {
        Operand::Integer(value) => Some(value.bits as u32),
        Operand::Name(name) => {
            let it = single.get(name)?;
            match (it.opcode, &it.operands[..], it.guard) {
                ("mov", [_, Operand::Integer(value)], None) => Some(value.bits as u32),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Removes the first barrier of a kernel if it separates no accesses, and the last one likewise.
/// Returns the number of removed barriers.
///
/// Whatever code follows, all threads of the block reach these barriers. So without one of them, a
/// block runs as if all its threads had reached it at the same time; only the order of the accesses
/// before and after it must not matter.
fn remove_barriers(graph: &mut Graph<'_>) -> usize {
    let mut removed = 0;
    // One at a time: of two barriers in a row, each is redundant only because of the other.
    while let Some((id, index)) = redundant_barrier(graph) {
        graph.blocks[id].body.remove(index);
        removed += 1;
    }
    removed
}

fn redundant_barrier(graph: &Graph<'_>) -> Option<Place> {
    let paths = Paths::new(graph);
    graph.order.iter().find_map(|&id| {
        let mut body = graph.blocks[id].body.iter().enumerate();
        let (index, _) = body.find(|&(index, statement)| match statement {
            Statement::Instruction(it) if it.modifiers.first() == Some(&"sync") => {
                let place = (id, index);
                barrier(it).is_some_and(|number| {
                    !paths.repeated.contains(&id)
                        && paths.is_reached_by_all(place)
                        && (paths.is_redundant_first(place, number)
                            || paths.is_redundant_last(place, number))
                })
            }
            _ => false,
        })?;
        Some((id, index))
    })
}

/// Returns the number of the barrier at which an instruction waits for all threads of the block.
fn barrier(it: &Instruction<'_>) -> Option<u64> {
    let number = match (it.opcode, &it.modifiers[..], &it.operands[..]) {
        ("bar" | "barrier", ["sync"] | ["sync", "aligned"], [number]) => number,
        ("bar" | "barrier", ["red", ..], [_, number, _]) => number,
        _ => return None,
    };
    match (number, it.guard) {
        (Operand::Integer(number), None) => Some(number.bits),
        _ => None,
    }
}

/// Returns whether an instruction accesses no memory that a thread of the block writes, and waits
/// for no other warp.
fn is_private(it: &Instruction<'_>) -> bool {
    let read_only = it.opcode == "ld" && it.modifiers.contains(&"nc");
    is_pure(it)
        || is_parameter(it)
        || read_only
        || is_among_lanes(it)
        || matches!(it.opcode, "activemask" | "elect")
}

/// Returns whether an instruction accesses memory, but no shared memory.
fn is_elsewhere(it: &Instruction<'_>) -> bool {
    let elsewhere = |word: &&str| matches!(*word, "global" | "local" | "const" | "param");
    matches!(it.opcode, "ld" | "ldu" | "st" | "atom" | "red") && it.modifiers.iter().any(elsewhere)
}

/// Returns whether an instruction calls a function that reports a panic, which accesses no shared
/// memory and waits at no barrier. Functions that format a message call other code.
fn is_report(it: &Instruction<'_>) -> bool {
    let reports = |operand: &Operand<'_>| match operand {
        Operand::Name(name) => name.starts_with("__cuda_std_panic_") && !name.ends_with("_fmt"),
        _ => false,
    };
    it.opcode == "call" && it.operands.iter().any(reports)
}

fn is_shared(it: &Instruction<'_>, opcode: &str) -> bool {
    it.opcode == opcode && it.modifiers.contains(&"shared")
}

/// What a search does at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Continues behind it.
    Pass,
    /// Ends this path.
    Stop,
    /// Ends the search: the instruction must not be on the path.
    Fail,
}

/// The paths through a kernel.
struct Paths<'g, 'a> {
    graph: &'g Graph<'a>,
    /// The predecessors of each block.
    predecessors: Vec<Vec<Id>>,
    /// The blocks on cycles.
    repeated: HashSet<Id>,
    /// The blocks that some threads of the block execute more often than others.
    divergent: HashSet<Id>,
}

impl<'g, 'a> Paths<'g, 'a> {
    fn new(graph: &'g Graph<'a>) -> Paths<'g, 'a> {
        let mut paths = Paths {
            graph,
            predecessors: graph.predecessors(),
            repeated: HashSet::default(),
            divergent: HashSet::default(),
        };
        let mut flow = Digraph::new();
        for &id in &graph.order {
            for to in graph.blocks[id].end.targets() {
                flow.add_edge(id, to);
                if to == id {
                    paths.repeated.insert(id);
                }
            }
        }
        for component in flow.components() {
            if component.len() > 1 {
                paths.repeated.extend(component);
            }
        }
        paths.divergent = Divergence::new(graph, Together::Block).blocks;
        paths
    }

    /// Returns the statements that may run before a place, by block.
    fn before(&self, (id, index): Place) -> Vec<(Id, &'g [Statement<'a>])> {
        let mut leads = HashSet::from_iter([id]);
        let mut left = vec![id];
        while let Some(id) = left.pop() {
            left.extend(self.predecessors[id].iter().filter(|&&id| leads.insert(id)));
        }
        let statements = |each: Id| {
            let body = &self.graph.blocks[each].body[..];
            match each == id && !self.repeated.contains(&id) {
                true => &body[..index],
                false => body,
            }
        };
        leads.into_iter().map(|id| (id, statements(id))).collect()
    }

    /// Returns the instructions that may run before a place.
    fn instructions_before(&self, place: Place) -> Vec<&'g Instruction<'a>> {
        let mut all = Vec::new();
        for statement in self.before(place).into_iter().flat_map(|(_, it)| it) {
            instructions(statement, &mut |it| all.push(it));
        }
        all
    }

    /// Returns whether all threads of a block execute the statement, equally often, and before the
    /// first of them exits. If only some threads could reach an exit before, the statement's block
    /// would be divergent.
    fn is_reached_by_all(&self, place: Place) -> bool {
        self.is_reached_except_in(place, &self.divergent)
    }

    /// The same for the threads whose divergent blocks are given.
    fn is_reached_except_in(&self, place: Place, divergent: &HashSet<Id>) -> bool {
        let leaves = |it: &Instruction<'_>| matches!(it.opcode, "call" | "exit" | "ret" | "trap");
        !divergent.contains(&place.0) && !self.instructions_before(place).into_iter().any(leaves)
    }

    /// Returns whether a barrier that all threads reach is their first one and separates no
    /// accesses: there is no access to shared memory before it, and at most stores to shared memory
    /// before the next barrier, which orders all other accesses.
    fn is_redundant_first(&self, place: Place, number: u64) -> bool {
        let before = self.instructions_before(place);
        let independent = |it: &Instruction<'_>| is_private(it) || is_elsewhere(it);
        before.into_iter().all(independent)
            && self.search(place, true, &|it| match it {
                Some(it) if barrier(it) == Some(number) => Step::Stop,
                Some(it) if is_private(it) || is_shared(it, "st") => Step::Pass,
                _ => Step::Fail,
            })
    }

    /// Returns whether a barrier that all threads reach is their last one and separates no accesses:
    /// there are at most loads from shared memory since the previous barrier, and no stores to
    /// shared memory after it. An exit counts as arrival, so the threads still do not overtake each
    /// other.
    fn is_redundant_last(&self, place: Place, number: u64) -> bool {
        let loads = |it: Option<&Instruction<'a>>| match it {
            Some(it) if barrier(it) == Some(number) => Step::Stop,
            Some(it) if is_private(it) || is_shared(it, "ld") => Step::Pass,
            _ => Step::Fail,
        };
        let elsewhere = |it: Option<&Instruction<'a>>| match it {
            Some(it) if it.opcode == "ld" || is_private(it) || is_elsewhere(it) => Step::Pass,
            Some(it) if is_report(it) || it.opcode == "exit" => Step::Pass,
            None => Step::Stop,
            _ => Step::Fail,
        };
        self.search(place, false, &loads)
            && self.search(place, true, &elsewhere)
            && self.waits_together(number)
    }

    /// Returns whether all threads reach each instruction that may wait at a barrier, so that they
    /// meet there, and not at different instructions.
    fn waits_together(&self, number: u64) -> bool {
        (self.graph.order.iter()).all(|&id| self.waits_together_in(id, usize::MAX, number))
    }

    /// Returns whether all threads of the block that arrive at a barrier do so at this place, which
    /// all threads reach. If one warp waited at another instruction before, and the others do after
    /// this one, each instruction would count the threads of some warps.
    fn counts_here(&self, place: Place, barrier: &Operand<'a>) -> bool {
        let &Operand::Integer(Integer { bits: number, .. }) = barrier else {
            return false;
        };
        let mut before = self.before(place).into_iter();
        before.all(|(id, statements)| self.waits_together_in(id, statements.len(), number))
    }

    /// Returns whether all threads reach each instruction among the first `count` statements of a
    /// block that may wait or arrive at a barrier.
    fn waits_together_in(&self, id: Id, count: usize, number: u64) -> bool {
        let mut statements = self.graph.blocks[id].body.iter().enumerate().take(count);
        statements.all(|(index, statement)| {
            let (mut waits, mut unknown) = (false, false);
            instructions(statement, &mut |it| match (it.opcode, barrier(it)) {
                (_, Some(of)) => waits |= of == number,
                ("bar" | "barrier", None) => unknown |= !it.modifiers.contains(&"cluster"),
                ("call", None) => unknown |= !is_report(it),
                _ => {}
            });
            !unknown && (!waits || self.is_reached_by_all((id, index)))
        })
    }

    /// Follows all paths from a place, forward or backward. `step` is called with each instruction,
    /// and with `None` where the kernel ends or begins. Returns whether no path fails.
    fn search(
        &self,
        (id, index): Place,
        forward: bool,
        step: &impl Fn(Option<&Instruction<'a>>) -> Step,
    ) -> bool {
        let graph = self.graph;
        let body = &graph.blocks[id].body;
        let mut left = vec![(
            id,
            if forward {
                &body[index + 1..]
            } else {
                &body[..index]
            },
        )];
        let mut seen = HashSet::default();
        while let Some((id, statements)) = left.pop() {
            let mut all = Vec::new();
            for statement in statements {
                instructions(statement, &mut |it| all.push(it));
            }
            if !forward {
                all.reverse();
            }
            let mut steps = all.into_iter().map(|it| step(Some(it)));
            match steps.find(|&step| step != Step::Pass) {
                Some(Step::Fail) => return false,
                Some(_) => continue,
                None => {}
            }
            let next = match forward {
                true => graph.blocks[id].end.targets().to_vec(),
                false => self.predecessors[id].clone(),
            };
            if (next.is_empty() || (!forward && id == graph.order[0])) && step(None) == Step::Fail {
                return false;
            }
            let new = next.into_iter().filter(|&id| seen.insert(id));
            left.extend(new.map(|id| (id, &graph.blocks[id].body[..])));
        }
        true
    }
}

/// Threads that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Together {
    /// All threads of a block.
    Block,
    /// The lanes of a warp. `in_row`: they are consecutive along the block's first dimension.
    Warp { in_row: bool },
}

impl Together {
    /// Returns how a special register differs among the threads.
    fn difference(self, special: &str) -> Difference {
        match (self, special) {
            _ if is_same_in_block(special) => Difference::None,
            (Together::Warp { in_row: true }, "%tid.x") => Difference::Lane,
            (Together::Warp { in_row: true }, "%tid.y" | "%tid.z") => Difference::None,
            _ => Difference::Any,
        }
    }
}

/// How a register differs among threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    #[default]
    None,
    /// Only in the bits of the lane, the lowest five: the quotient by [`LANES`] is the same.
    Lane,
    Any,
}

/// How registers differ among the threads of a block or a warp, and the blocks that some of these
/// threads execute more often than others. All threads execute the other blocks in the same order, so
/// a register whose writers are in these blocks has the same value in all threads if the operands
/// have.
struct Divergence<'a> {
    /// Whether rows of the block consist of whole warps.
    in_row: bool,
    registers: HashMap<&'a str, Difference>,
    blocks: HashSet<Id>,
}

impl<'a> Divergence<'a> {
    /// Computes the divergence. Registers that are not written are those of parameters, variables
    /// and the hardware.
    fn new(graph: &Graph<'a>, threads: Together) -> Divergence<'a> {
        let mut written = HashSet::default();
        graph.visit(graph.order.iter().copied(), &mut |it| {
            results(it, &mut |name| _ = written.insert(name));
        });
        let single = single_definitions(graph);
        let after = ends(graph);
        let in_endless_loop = |id: &Id| after.immediate_dominator(*id).is_none();
        let mut divergence = Divergence {
            in_row: threads == Together::Warp { in_row: true },
            registers: HashMap::default(),
            blocks: (graph.order.iter().copied())
                .filter(in_endless_loop)
                .collect(),
        };
        let at_start = |name: &str| {
            let register = name.starts_with('%') || graph.type_of(name).is_some();
            match register && !written.contains(name) {
                true => threads.difference(name),
                false => Difference::None,
            }
        };
        let mut changed = true;
        while changed {
            changed = false;
            for &id in &graph.order {
                let diverges = divergence.blocks.contains(&id);
                for statement in &graph.blocks[id].body {
                    let difference = match statement {
                        Statement::Instruction(it) if !diverges => {
                            divergence.of_result(it, &at_start, &single)
                        }
                        _ => Difference::Any,
                    };
                    instructions(statement, &mut |it| {
                        results(it, &mut |name| {
                            changed |= divergence.add(name, difference);
                        });
                    });
                }
                let branch = &graph.blocks[id].end;
                branch.sources(&mut |name| _ = divergence.add(name, at_start(name)));
                let targets = branch.targets();
                if targets.len() < 2 || !diverges && divergence.is_uniform(branch) {
                    continue;
                }
                // All threads that reach the branch reach the first block that follows on all paths.
                let join = after.immediate_dominator(id);
                for to in targets {
                    let mut next = Some(to);
                    while let Some(id) = next.filter(|_| next != join) {
                        changed |= divergence.blocks.insert(id);
                        next = after.immediate_dominator(id);
                    }
                }
            }
        }
        divergence
    }

    /// Adds a difference of a register. Returns whether it is a new one.
    fn add(&mut self, name: &'a str, difference: Difference) -> bool {
        let known = self.registers.entry(name).or_default();
        let is_new = difference > *known;
        *known = difference.max(*known);
        is_new
    }

    /// Returns how the result of an instruction differs that all threads execute.
    fn of_result(
        &self,
        it: &Instruction<'a>,
        at_start: &impl Fn(&str) -> Difference,
        single: &HashMap<&'a str, Instruction<'a>>,
    ) -> Difference {
        let of_name = |name: &str| {
            let known = self.registers.get(name).copied().unwrap_or_default();
            known.max(at_start(name))
        };
        // No thread writes what this loads.
        let is_constant = it.opcode == "ld" && it.modifiers.contains(&"nc") && it.guard.is_none();
        let mut most = Difference::None;
        sources(it, &mut |name| most = most.max(of_name(name)));
        if !is_pure(it) && !is_parameter(it) && !is_constant {
            return Difference::Any;
        }
        if most != Difference::Lane {
            return most;
        }
        let of = |operand: &Operand<'a>| match operand {
            Operand::Name(name) => of_name(name),
            _ => Difference::None,
        };
        let by_lanes = |operand: &Operand<'a>| {
            of(operand) == Difference::None && self.is_multiple(operand, single, STEPS)
        };
        if !it
            .modifiers
            .iter()
            .all(|it| INTEGERS.contains(it) || *it == "lo")
        {
            return Difference::Any;
        }
        match (it.opcode, &it.operands[..]) {
            ("shr", [_, _, Operand::Integer(by)]) if by.bits >= 5 => Difference::None,
            ("and", [_, a, b]) if by_lanes(a) || by_lanes(b) => Difference::None,
            ("mov", [_, Operand::Name(_)]) | ("cvt", _) | ("and" | "or" | "xor", _) => {
                Difference::Lane
            }
            ("add", [_, a, b]) if by_lanes(a) || by_lanes(b) => Difference::Lane,
            ("sub", [_, _, b]) if by_lanes(b) => Difference::Lane,
            ("mad", [_, a, b, _])
                if [a, b].into_iter().all(|it| of(it) == Difference::None)
                    && [a, b].into_iter().any(by_lanes) =>
            {
                Difference::Lane
            }
            _ => Difference::Any,
        }
    }

    /// Returns whether a register may differ among the threads.
    fn differs(&self, name: &str) -> bool {
        (self.registers.get(name)).is_some_and(|it| *it != Difference::None)
    }

    /// Returns whether all threads that reach the end of a block at the same time take the same
    /// branch.
    fn is_uniform(&self, end: &End<'a>) -> bool {
        match end {
            End::Branch(guard, ..) => !self.differs(guard.register),
            _ => false,
        }
    }

    /// Returns whether an integer is a multiple of [`LANES`]. Follows at most `steps` instructions.
    fn is_multiple(
        &self,
        operand: &Operand<'a>,
        single: &HashMap<&'a str, Instruction<'a>>,
        steps: usize,
    ) -> bool {
        let name = match operand {
            Operand::Integer(value) => return value.bits.is_multiple_of(LANES),
            Operand::Name("%ntid.x") => return self.in_row,
            Operand::Name(name) => name,
            _ => return false,
        };
        let (Some(it), Some(steps)) = (single.get(name), steps.checked_sub(1)) else {
            return false;
        };
        let is_multiple = |operand| self.is_multiple(operand, single, steps);
        match (it.opcode, &it.modifiers[..], &it.operands[..], it.guard) {
            ("shl", _, [_, _, Operand::Integer(by)], None) => (5..32).contains(&by.bits),
            ("mov" | "cvt", types, [_, of], None)
                if types.iter().all(|ty| INTEGERS.contains(ty)) =>
            {
                is_multiple(of)
            }
            ("mul", ["lo", _] | ["wide", "s32" | "u32"], [_, a, b], None) => {
                is_multiple(a) || is_multiple(b)
            }
            _ => false,
        }
    }
}
