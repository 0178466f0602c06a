//! Removes what kernels do for exited threads at places that all threads reach before any of them
//! exits, and barriers that order nothing.
//!
//! The reductions and scans of `cuda_std` ask which lanes of a warp and how many threads of a block
//! are left, wait before they write to shared memory, in case that a previous one is still read,
//! and shared memory waits after it was read. The library cannot know that no thread exits before
//! the call, that the call is the first one, or that nothing follows.

use crate::hash::{HashMap, HashSet};

use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::flow::{End, Graph, Id};
use super::instructions::{instructions, is_parameter, is_pure, results, sources};
use super::sink::dominators;
use crate::rewrite::instruction;
use crate::{Function, Instruction, Integer, Operand, Statement};

/// A block, and the index of one of its statements.
pub(super) type Place = (Id, usize);

/// Simplifies the operations among the threads of a block. Returns the number of changes.
pub(super) fn simplify(graph: &mut Graph<'_>, kernel: &Function<'_>) -> usize {
    let mut waits = false;
    graph.visit(graph.order.iter().copied(), &mut |it| {
        waits |= matches!(it.opcode, "bar" | "barrier" | "vote");
    });
    if !waits {
        return 0;
    }
    let changed = fold_counts(graph, kernel);
    if changed > 0 {
        graph.tidy();
    }
    changed + remove_barriers(graph)
}

/// Replaces the ballot of all lanes and the number of threads that arrive at a barrier by constants
/// where no thread can have exited, and removes the branches that depend on them.
fn fold_counts(graph: &mut Graph<'_>, kernel: &Function<'_>) -> usize {
    let threads = super::threads(kernel);
    if threads == 0 {
        return 0;
    }
    let paths = Paths::new(graph);
    let mut folded = Vec::new();
    for &id in &graph.order {
        for (index, statement) in graph.blocks[id].body.iter().enumerate() {
            if let Some(count) = Count::of(statement, &paths.single)
                && (count.barrier.is_some() || threads.is_multiple_of(32))
                && paths.is_reached_by_all((id, index))
                && (count.barrier.as_ref()).is_none_or(|it| paths.counts_here((id, index), it))
            {
                folded.push(((id, index), count));
            }
        }
    }
    let mut known = HashMap::default();
    for (_, count) in &folded {
        let value = match count.barrier {
            Some(_) => Integer::unsigned(threads),
            None => Integer::signed(-1),
        };
        known.insert(count.result, value);
    }
    let outcomes = outcomes(&paths.single, &known);
    let changed = folded.len();
    for ((id, index), count) in folded.into_iter().rev() {
        let value = Operand::Integer(known[count.result]);
        let result = Operand::Name(count.result);
        let mut statements = vec![instruction("mov", &["b32"], vec![result, value])];
        if let Some(barrier) = count.barrier {
            statements.insert(0, instruction("barrier", &["sync"], vec![barrier]));
        }
        let body = &mut graph.blocks[id].body;
        body.splice(index..=index, statements);
    }
    for block in &mut graph.blocks {
        if let End::Branch(guard, _, to, otherwise) = block.end
            && let Some(&outcome) = outcomes.get(guard.register)
        {
            let target = if outcome != guard.negated {
                to
            } else {
                otherwise
            };
            block.end = End::Jump(target, false);
        }
    }
    changed
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
                    paths.is_reached_by_all(place)
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
    const AMONG_LANES: &[&str] = &["activemask", "elect", "match", "redux", "shfl", "vote"];
    let read_only = it.opcode == "ld" && it.modifiers.contains(&"nc");
    is_pure(it) || is_parameter(it) || read_only || AMONG_LANES.contains(&it.opcode)
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
    /// The instructions that are the only ones to write their result.
    single: HashMap<&'a str, Instruction<'a>>,
    /// The predecessors of each block.
    predecessors: Vec<Vec<Id>>,
    /// The blocks on cycles.
    repeated: HashSet<Id>,
    /// The blocks that end in a branch that all threads of the block take to the same target.
    uniform: HashSet<Id>,
    /// Those of `uniform` that either all threads of the block reach or none.
    together: HashSet<Id>,
    dominators: Dominators<Id>,
}

impl<'g, 'a> Paths<'g, 'a> {
    fn new(graph: &'g Graph<'a>) -> Paths<'g, 'a> {
        let mut paths = Paths {
            graph,
            single: HashMap::default(),
            predecessors: graph.predecessors(),
            repeated: HashSet::default(),
            uniform: HashSet::default(),
            together: HashSet::default(),
            dominators: dominators(graph),
        };
        let mut flow = DiGraphMap::<Id, ()>::new();
        let mut writers = HashMap::<&str, (u32, Id)>::default();
        for &id in &graph.order {
            for to in graph.blocks[id].end.targets() {
                flow.add_edge(id, to, ());
                if to == id {
                    paths.repeated.insert(id);
                }
            }
            for statement in &graph.blocks[id].body {
                instructions(statement, &mut |it| {
                    results(it, &mut |name| {
                        let writer = writers.entry(name).or_insert((0, id));
                        writer.0 += 1;
                        paths.single.insert(name, it.clone());
                    });
                });
            }
        }
        for component in tarjan_scc(&flow) {
            if component.len() > 1 {
                paths.repeated.extend(component);
            }
        }
        paths.single.retain(|name, _| writers[name].0 == 1);
        let mut known = HashMap::default();
        for &id in &graph.order {
            if let End::Branch(guard, ..) = &graph.blocks[id].end
                && !paths.repeated.contains(&id)
                && paths.is_uniform(guard.register, &writers, &mut known)
            {
                paths.uniform.insert(id);
            }
        }
        let divergent = paths.divergent();
        paths.together = &paths.uniform - &divergent;
        paths
    }

    /// Returns the blocks that some threads of the block may reach and others not: those that depend
    /// on a branch that is not uniform, or that only some threads reach.
    fn divergent(&self) -> HashSet<Id> {
        let graph = self.graph;
        // Paths backward, from one end of the kernel.
        let end = Id::MAX;
        let mut back = DiGraphMap::<Id, ()>::new();
        back.add_node(end);
        for &id in &graph.order {
            let targets = graph.blocks[id].end.targets();
            if targets.is_empty() {
                back.add_edge(end, id, ());
            }
            for to in targets {
                back.add_edge(to, id, ());
            }
        }
        let after = simple_fast(&back, end);
        let in_endless_loop = |id: &Id| after.immediate_dominator(*id).is_none();
        let mut divergent: HashSet<Id> = (graph.order.iter().copied())
            .filter(in_endless_loop)
            .collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &id in &graph.order {
                if self.uniform.contains(&id) && !divergent.contains(&id) {
                    continue;
                }
                let targets = graph.blocks[id].end.targets();
                if targets.len() < 2 {
                    continue;
                }
                // All threads that reach the branch reach the first block that follows on all paths.
                let join = after.immediate_dominator(id);
                for to in targets {
                    let mut next = Some(to);
                    while let Some(id) = next.filter(|_| next != join) {
                        changed |= divergent.insert(id);
                        next = after.immediate_dominator(id);
                    }
                }
            }
        }
        divergent
    }

    /// Returns whether a name has the same value in all threads of the block.
    fn is_uniform(
        &self,
        name: &'a str,
        writers: &HashMap<&str, (u32, Id)>,
        known: &mut HashMap<&'a str, bool>,
    ) -> bool {
        if let Some(&known) = known.get(name) {
            return known;
        }
        // For registers that depend on themselves.
        known.insert(name, false);
        let uniform = match (self.single.get(name), writers.get(name)) {
            (Some(it), Some((_, block))) => {
                let mut uniform = (is_pure(it) || is_parameter(it)) && it.guard.is_none();
                uniform &= !self.repeated.contains(block);
                let mut names = Vec::new();
                sources(it, &mut |name| names.push(name));
                uniform && (names.into_iter()).all(|name| self.is_uniform(name, writers, known))
            }
            (None, None) => {
                let of_grid = ["%ctaid.", "%nctaid.", "%ntid."];
                // Other names are those of parameters and variables.
                let register = name.starts_with('%') || self.graph.type_of(name).is_some();
                !register || of_grid.iter().any(|special| name.starts_with(special))
            }
            _ => false,
        };
        known.insert(name, uniform);
        uniform
    }

    /// Returns the blocks that run before `id` or instead of it in a launch in which a thread of the
    /// block reaches `id`.
    fn before(&self, id: Id) -> HashSet<Id> {
        let mut leads = HashSet::from_iter([id]);
        let mut left = vec![id];
        while let Some(id) = left.pop() {
            left.extend(self.predecessors[id].iter().filter(|&&id| leads.insert(id)));
        }
        // All threads that reach a uniform branch take it to the same target. A thread that reaches
        // `id` reaches it, too, if it always precedes `id`, or if all threads reach it or none.
        let dominators = self.dominators.dominators(id).into_iter().flatten();
        let preceding: HashSet<Id> = dominators.filter(|id| self.uniform.contains(id)).collect();
        let takes_same = |id: &Id| self.together.contains(id) || preceding.contains(id);
        let mut left = vec![self.graph.order[0]];
        let mut before = HashSet::default();
        while let Some(each) = left.pop() {
            if each == id || !before.insert(each) {
                continue;
            }
            let mut targets = self.graph.blocks[each].end.targets();
            // A thread that has passed by `id` may take such a branch behind it.
            if leads.contains(&each) && takes_same(&each) {
                targets.retain(|to| leads.contains(to));
            }
            left.extend(targets);
        }
        before
    }

    /// Returns the instructions that run before a place or instead of it.
    fn instructions_before(&self, (id, index): Place) -> Vec<&'g Instruction<'a>> {
        let graph = self.graph;
        let mut all = Vec::new();
        graph.visit(self.before(id), &mut |it| all.push(it));
        for statement in &graph.blocks[id].body[..index] {
            instructions(statement, &mut |it| all.push(it));
        }
        all
    }

    /// Returns whether all threads of a block execute the statement, once, and before the first of
    /// them exits.
    fn is_reached_by_all(&self, place: Place) -> bool {
        let ends = |id: Id| matches!(self.graph.blocks[id].end, End::Leave(_) | End::Never);
        let leaves = |it: &Instruction<'_>| matches!(it.opcode, "call" | "exit" | "ret" | "trap");
        !self.repeated.contains(&place.0)
            && !self.before(place.0).into_iter().any(ends)
            && !self.instructions_before(place).into_iter().any(leaves)
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
    fn counts_here(&self, (id, index): Place, barrier: &Operand<'a>) -> bool {
        let &Operand::Integer(Integer { bits: number, .. }) = barrier else {
            return false;
        };
        let mut before = self.before(id).into_iter();
        before.all(|id| self.waits_together_in(id, usize::MAX, number))
            && self.waits_together_in(id, index, number)
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
                true => graph.blocks[id].end.targets(),
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
