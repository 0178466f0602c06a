//! Computes 64-bit integers of the copy of a kernel's body in 32 bits.
//!
//! GPUs have 32-bit registers: each 64-bit addition, comparison or address of an array's element
//! takes two instructions or more. The copy that `specialize` makes runs only if all lengths and
//! extents among the kernel's parameters are below 2³⁰. This pass propagates the ranges that follow
//! from that, from special registers and from branches, and replaces operations whose operands and
//! results fit 32 bits with sign.

use crate::hash::{HashMap, HashSet};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::counts::{Counted, Known};
use super::definitions;
use super::digraph::Digraph;
use super::floats::{self, Floats};
use super::flow::{End, Graph, Id};
use super::instructions::{instructions, is_pure, rename_operand, results, sources};
use super::loops::{self, Comparison, Counter, Relation};
use super::names::Names;
use super::specialize::{self, BOUND, Covered, Special};
use super::transfers::{Transfer, transfers};
use super::version::number;
use crate::dead::visit_operand;
use crate::rewrite::instruction;
use crate::{Guard, Instruction, Integer, Operand, Statement, Type};

/// The maximum depth of nested loops whose counters' ranges are found.
const NESTED: usize = 3;

/// The maximum number of attempts to find registers that stay within 31 bits in loops.
const ROUNDS: usize = 8;

/// The maximum number of nodes of a condition: its parts may occur several times in it, so it would
/// grow exponentially with the number of instructions.
const NODES: usize = 64;

/// The maximum number of nested unions of bits whose signs are compared.
const UNIONS: usize = 3;

/// The values that an integer may have, both ends included.
pub(super) type Range = (i64, i64);

/// Returns which of the loops, each with its header, have a counter that is known not to wrap around
/// in the first addition: the counter is below 2³² when the loop is entered, and the stride below
/// 2⁶³.
pub(super) fn start_small<'a>(
    graph: &Graph<'a>,
    special: &Special<'a>,
    counters: &[(Id, Covered<'a>)],
) -> Vec<bool> {
    let region = Region::new(graph, special);
    let mut small = vec![None; counters.len()];
    region.visit(graph, special, &mut |_, _| {}, &mut |from, to, facts| {
        if from.is_some_and(|from| region.position[&from] >= region.position[&to]) {
            return;
        }
        for (index, &(header, Covered { counter, stride })) in counters.iter().enumerate() {
            if header == to {
                let [counter, stride] =
                    [counter, stride].map(|name| facts.range(&Operand::Name(name)));
                let is_small = matches!(counter, Some((0.., ..=0xffff_ffff)))
                    && matches!(stride, Some((0.., _)));
                small[index] = Some(is_small && small[index] != Some(false));
            }
        }
    });
    small.into_iter().map(|small| small == Some(true)).collect()
}

/// Removes the branches of the copy that the ranges of integers decide, and joins the blocks around
/// them. libnvvm divides integers of 64 bits in 32 bits if both fit them, behind such a branch.
/// Returns the number of removed branches.
/// Leaves the region if there are none.
pub(super) fn settle<'a>(
    graph: &mut Graph<'a>,
    special: &Special<'a>,
    left: &mut Option<Region<'a>>,
) -> usize {
    let cold = graph.cold();
    let definitions = definitions(graph, &cold);
    let region = Region::take(left, graph, special);
    let mut outcomes: HashMap<&'a str, bool> = HashMap::default();
    let decide = &mut |facts: &Facts<'a>, statement: &Statement<'a>| {
        if let Statement::Instruction(it) = statement
            && let Some(comparison) = Comparison::of(it, true)
            && let Some(&Operand::Name(predicate)) = it.operands.first()
            && definitions.get(predicate) == Some(&1)
            && let Some(outcome) = facts.holds(&comparison)
        {
            outcomes.insert(predicate, outcome);
        }
    };
    region.visit(graph, special, decide, &mut |_, _, _| {});
    // The comparisons that the test makes are known in the copy, but decide whether it runs.
    let is_settled = |graph: &Graph<'a>, id: Id| match graph.blocks[id].end {
        End::Branch(guard, ..) => id != special.first && outcomes.contains_key(guard.register),
        _ => false,
    };
    let hot = region.order.iter().copied();
    let settled: Vec<Id> = hot.filter(|&id| is_settled(graph, id)).collect();
    for &id in &settled {
        graph.settle(id, &outcomes);
    }
    if !settled.is_empty() {
        graph.remove_unreachable();
        for &id in &settled {
            graph.absorb(id);
        }
        graph.remove_unreachable();
    } else {
        *left = Some(region);
    }
    settled.len()
}

/// Rewrites the copy of a kernel's body. Returns the number of replaced operations.
pub(super) fn narrow<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    left: &mut Option<Region<'a>>,
) -> usize {
    // A panic whose check was removed reads nothing.
    graph.remove_unreachable();
    let cold = graph.cold();
    let predecessors = graph.predecessors();
    let region = Region::take(left, graph, special);
    let hot: HashSet<Id> = region.order.iter().copied().collect();
    let own = Registers::new(graph, names, &cold, &predecessors, special, &region);
    let mut states: HashMap<Id, State<'a>> = HashMap::default();
    states.insert(
        special.first,
        State {
            facts: Facts::new(special),
            low: own.variables.clone(),
            floats: Floats::default(),
            products: HashMap::default(),
            upper: HashMap::default(),
        },
    );
    let mut count = 0;
    let mut entries: HashMap<Id, HashMap<&'a str, Low<'a>>> = HashMap::default();
    for &id in &region.order {
        let Some(mut state) = states.remove(&id) else {
            continue;
        };
        region.enter(id, &mut state.facts);
        let body = std::mem::take(&mut graph.blocks[id].body);
        let mut narrowed = Vec::with_capacity(body.len());
        for statement in body {
            count += state.rewrite(graph, names, statement, &own, &mut narrowed);
        }
        graph.blocks[id].body = narrowed;
        let end = graph.blocks[id].end.clone();
        for to in end.targets() {
            let mut facts = state.facts.clone();
            facts.follow(&end, to);
            let on_edge = State {
                facts,
                low: state.low.clone(),
                floats: state.floats.clone(),
                products: state.products.clone(),
                upper: state.upper.clone(),
            };
            if hot.contains(&to) {
                match states.get_mut(&to) {
                    Some(known) => known.meet(&on_edge),
                    None if region.position[&to] <= region.position[&id] => {}
                    None => _ = states.insert(to, on_edge),
                }
            } else if cold[to] && predecessors[to].len() == 1 {
                entries.insert(to, state.low.clone());
            } else if cold[to] {
                let widened = widened_for(graph, &cold, to, &state.low, &own);
                graph.blocks[id].body.extend(widened);
            }
        }
    }
    for (to, low) in entries {
        let widened = widened_for(graph, &cold, to, &low, &own);
        let body = &mut graph.blocks[to].body;
        let place = (body.iter())
            .position(|it| matches!(it, Statement::Instruction(_) | Statement::Block(_)))
            .unwrap_or(body.len());
        body.splice(place..place, widened);
    }
    count
}

/// Returns the control flow graph of the hot blocks of the copy.
fn flow(graph: &Graph<'_>, special: &Special<'_>, cold: &[bool]) -> Digraph {
    let mut flow = Digraph::new();
    flow.add_node(special.first);
    for id in special.blocks(graph).into_iter().filter(|&id| !cold[id]) {
        for to in graph.blocks[id].end.targets() {
            if !cold[to] && to != special.general {
                flow.add_edge(id, to);
            }
        }
    }
    flow
}

/// Returns the hot blocks of the copy in reverse postorder, as [`Region::order`].
pub(super) fn order(graph: &Graph<'_>, special: &Special<'_>, cold: &[bool]) -> Vec<Id> {
    let mut order = flow(graph, special, cold).postorder(special.first);
    order.reverse();
    order
}

/// The hot blocks of the copy.
pub(super) struct Region<'a> {
    /// The blocks in reverse postorder: each follows its predecessors, except in loops.
    order: Vec<Id>,
    /// The position of each block in `order`.
    position: HashMap<Id, usize>,
    /// The registers that a loop writes, for each block that it is entered at or continued at.
    written: HashMap<Id, Vec<&'a str>>,
    /// The blocks that loops with several entries continue at. What holds where such a loop is
    /// entered at the block need not hold where it is entered elsewhere.
    joins: HashSet<Id>,
    /// What holds everywhere.
    always: Facts<'a>,
    /// Ranges of these registers that hold in each iteration.
    invariants: HashMap<Id, Vec<(&'a str, Range)>>,
    /// Pairs of registers of which the first is less than the second in each iteration.
    orders: HashMap<Id, Vec<(&'a str, &'a str)>>,
    /// How the loops count that start with a block.
    counted: HashMap<Id, Counted<'a>>,
    /// The blocks that such loops start with whose counter is less than its bound before.
    entered: HashSet<Id>,
    /// The counters of grid-stride loops that start with a block, and the bounds that they are below
    /// whenever the loop continues.
    strided: HashMap<Id, (&'a str, &'a str)>,
    /// The transfers of the innermost loop that starts with a block.
    transfers: HashMap<Id, Vec<Transfer<'a>>>,
}

impl<'a> Region<'a> {
    /// Returns the region that the pass before this one has left, or else computes it.
    pub fn take(
        left: &mut Option<Region<'a>>,
        graph: &Graph<'a>,
        special: &Special<'a>,
    ) -> Region<'a> {
        left.take().unwrap_or_else(|| Region::new(graph, special))
    }

    pub fn new(graph: &Graph<'a>, special: &Special<'a>) -> Region<'a> {
        let cold = graph.cold();
        let flow = flow(graph, special, &cold);
        let mut order = flow.postorder(special.first);
        order.reverse();
        let position: HashMap<Id, usize> = (order.iter().enumerate())
            .map(|(position, &id)| (id, position))
            .collect();
        let dominators = flow.dominators(special.first);
        let mut written = HashMap::default();
        let mut joins = HashSet::default();
        let mut natural = HashSet::default();
        for component in flow.components() {
            for &id in &component {
                let latches: Vec<Id> = flow
                    .before(id)
                    .filter(|from| position[from] >= position[&id])
                    .collect();
                if latches.is_empty() {
                    continue;
                }
                let is_natural = (latches.iter()).all(|&latch| dominators.dominates(id, latch));
                let mut blocks = BTreeSet::from([id]);
                if is_natural {
                    natural.insert(id);
                    for latch in latches {
                        loops::add_body(&flow, latch, &mut blocks);
                    }
                } else {
                    blocks.extend(&component);
                    joins.insert(id);
                }
                let mut names = Vec::new();
                graph.visit(blocks, &mut |it| {
                    results(it, &mut |name| names.push(name));
                });
                names.sort_unstable();
                names.dedup();
                written.insert(id, names);
            }
        }
        let loops = loops::single_latch(graph, &cold);
        let counted = (loops.iter())
            .filter(|each| natural.contains(&each.header))
            .filter_map(|each| Some((each.header, Counted::new(graph, each)?)));
        let several = loops::several_latches(graph, &cold);
        let several_counted = (several.iter())
            .filter(|each| natural.contains(&each.header))
            .filter_map(|each| Some((each.header, Counted::with_several_latches(graph, each)?)));
        let counted = counted.chain(several_counted).collect();
        let position_of = |id| position.get(&id).copied().unwrap_or(0);
        let transfers = (loops.iter().chain(&several))
            .filter(|each| natural.contains(&each.header))
            .map(|each| (each.header, transfers(graph, each, position_of)))
            .collect();
        let strided = (loops.iter())
            .filter(|each| natural.contains(&each.header))
            .filter_map(|each| {
                let (counter, _, bound) = specialize::strided(graph, each)?;
                let is_invariant = !each.written.contains_key(bound);
                is_invariant.then_some((each.header, (counter, bound)))
            })
            .collect();
        let mut region = Region {
            order,
            position,
            written,
            joins,
            always: Facts::new(special),
            invariants: HashMap::default(),
            orders: HashMap::default(),
            counted,
            entered: HashSet::default(),
            strided,
            transfers,
        };
        if region.written.is_empty() {
            return region;
        }
        // The bounds of inner loops may depend on the counters of outer ones.
        for _ in 0..NESTED {
            if !region.find_invariants(graph, special) {
                break;
            }
        }
        if region.find_inductive(graph, special) {
            region.find_invariants(graph, special);
        }
        region
    }

    /// Finds registers that loops change and that fit 31 bits because they do when the loop is
    /// entered, and whenever an iteration ends if they did at its start: for example the index of
    /// the smallest element so far. Returns whether there are any.
    fn find_inductive(&mut self, graph: &Graph<'a>, special: &Special<'a>) -> bool {
        let known = |id: &Id, name: &&'a str| {
            let mut invariants = self.invariants.get(id).into_iter().flatten();
            invariants.any(|(known, _)| known == name)
        };
        let mut assumed: HashMap<Id, HashSet<&'a str>> = HashMap::default();
        for (&id, names) in &self.written {
            let wide = (names.iter().copied())
                .filter(|name| graph.type_of(name) == Some(Type::B64) && !known(&id, name));
            assumed.insert(id, wide.collect());
        }
        if assumed.values().all(HashSet::is_empty) {
            return false;
        }
        let limit: Range = (0, i32::MAX.into());
        let proven = self.invariants.clone();
        for _ in 0..ROUNDS {
            self.invariants = proven.clone();
            for (id, names) in &assumed {
                let ranges = self.invariants.entry(*id).or_default();
                ranges.extend(names.iter().map(|&name| (name, limit)));
                ranges.sort_unstable();
            }
            let mut failed = Vec::new();
            self.visit(graph, special, &mut |_, _| {}, &mut |_, to, facts| {
                for &name in assumed.get(&to).into_iter().flatten() {
                    let range = facts.range(&Operand::Name(name));
                    if !range.is_some_and(|range| range.0 >= limit.0 && range.1 <= limit.1) {
                        failed.push((to, name));
                    }
                }
            });
            if failed.is_empty() {
                return assumed.values().any(|names| !names.is_empty());
            }
            for (id, name) in failed {
                assumed.entry(id).or_default().remove(name);
            }
        }
        self.invariants = proven;
        false
    }

    /// Finds ranges of registers that loops change: those that hold when a loop is entered, and
    /// whenever an iteration ends, whatever held at its start, for example because the loop only
    /// continues if the counter is below a bound; and those that follow from the number of
    /// iterations. Returns whether they differ from those that were known.
    fn find_invariants(&mut self, graph: &Graph<'a>, special: &Special<'a>) -> bool {
        let mut differ = false;
        let mut entered: HashMap<Id, Facts<'a>> = HashMap::default();
        let mut continued: HashMap<Id, Facts<'a>> = HashMap::default();
        self.visit(graph, special, &mut |_, _| {}, &mut |from, to, facts| {
            if !self.written.contains_key(&to) {
                return;
            }
            let is_back = from.is_some_and(|from| self.position[&from] >= self.position[&to]);
            let known = if is_back {
                &mut continued
            } else {
                &mut entered
            };
            match known.get_mut(&to) {
                Some(known) => known.meet(facts),
                None => _ = known.insert(to, facts.clone()),
            }
        });
        for (id, mut facts) in entered {
            let counted = (self.counted.get(&id))
                .map(|counted| {
                    if counted.is_entered(|a, b| facts.is_below(a, b)) {
                        differ |= self.entered.insert(id);
                    }
                    let is_ahead = self.entered.contains(&id);
                    counted.ranges(|operand| facts.known(operand), is_ahead)
                })
                .unwrap_or_default();
            let transferred: Vec<(&'a str, Range)> = match continued.get(&id) {
                Some(continued) => {
                    let orders = self.orders_of(id, &facts, continued);
                    differ |= self.orders.get(&id).map_or(&[][..], Vec::as_slice) != orders;
                    self.orders.insert(id, orders);
                    let transfers = self.transfers.get(&id).into_iter().flatten();
                    let ranges = transfers.filter_map(|it| it.ranges(&facts, continued));
                    let ranges = ranges.flatten().collect();
                    facts.meet(continued);
                    ranges
                }
                None => Vec::new(),
            };
            let written = self.written[&id].iter();
            let mut ranges: HashMap<&'a str, Range> = written
                .filter_map(|name| Some((*name, *facts.ranges.get(name)?)))
                .collect();
            for (name, (low, high)) in counted.into_iter().chain(transferred) {
                let range = ranges.entry(name).or_insert((low, high));
                *range = (range.0.max(low), range.1.min(high));
            }
            let mut ranges: Vec<(&'a str, Range)> = ranges.into_iter().collect();
            ranges.sort_unstable();
            differ |= self.invariants.get(&id) != Some(&ranges);
            self.invariants.insert(id, ranges);
        }
        differ
    }

    /// Returns the pairs of registers that are ordered in each iteration of a loop: where it is entered
    /// and where it is continued.
    fn orders_of(
        &self,
        id: Id,
        entered: &Facts<'a>,
        continued: &Facts<'a>,
    ) -> Vec<(&'a str, &'a str)> {
        let written = &self.written[&id];
        let is_written = |name: &&'a str| written.binary_search(name).is_ok();
        let mut orders = Vec::new();
        for (&(left, right), &is_less) in &continued.ordered {
            let [a, b] = [left, right].map(Operand::Name);
            if is_less && [left, right].iter().any(is_written) && entered.is_below(&a, &b) {
                orders.push((left, right));
            }
        }
        orders.sort_unstable();
        orders
    }

    /// Returns the blocks in reverse postorder.
    pub fn order(&self) -> &[Id] {
        &self.order
    }

    /// Returns the registers that the loop writes that is entered at a block.
    pub fn written(&self, id: Id) -> &[&'a str] {
        self.written.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Returns the counters of the loop that starts with a block, if it ends when one of them reaches
    /// a bound. Each iteration changes each of them once.
    pub fn counters(&self, id: Id) -> &[Counter<'a>] {
        self.counted.get(&id).map_or(&[], Counted::counters)
    }

    /// Returns how the loop that starts with a block counts.
    pub fn counted(&self, id: Id) -> Option<&Counted<'a>> {
        self.counted.get(&id)
    }

    /// Returns the counter of the grid-stride loop that starts with a block, and the bound that it is
    /// below, as an unsigned number, whenever the loop continues.
    pub fn strided(&self, id: Id) -> Option<(&'a str, &'a str)> {
        self.strided.get(&id).copied()
    }

    /// Returns whether the loop that starts with a block ends when a counter reaches a bound that it is
    /// less than before.
    pub fn is_entered(&self, id: Id) -> bool {
        self.entered.contains(&id)
    }

    /// Returns whether a loop with several entries continues at a block: what is known of the blocks
    /// before it in reverse postorder does not suffice there.
    pub fn is_join(&self, id: Id) -> bool {
        self.joins.contains(&id)
    }

    /// Returns whether a block is in the region and follows another one, except in a loop.
    pub fn follows(&self, from: Id, to: Id) -> bool {
        let to = self.position.get(&to);
        to.is_some_and(|to| *to > self.position[&from])
    }

    /// Returns the facts at the start of each block.
    pub fn facts(&self, graph: &Graph<'a>, special: &Special<'a>) -> HashMap<Id, Facts<'a>> {
        let mut all: HashMap<Id, Facts<'a>> = HashMap::default();
        self.visit(graph, special, &mut |_, _| {}, &mut |from, to, facts| {
            if from.is_none_or(|from| self.follows(from, to)) {
                match all.get_mut(&to) {
                    Some(known) => known.meet(facts),
                    None => _ = all.insert(to, facts.clone()),
                }
            }
        });
        for (&id, facts) in &mut all {
            self.enter(id, facts);
        }
        all
    }

    /// Forgets what the loop that starts with a block changes.
    fn enter(&self, id: Id, facts: &mut Facts<'a>) {
        if self.is_join(id) {
            *facts = self.always.clone();
        }
        for &name in self.written.get(&id).into_iter().flatten() {
            facts.forget(name);
        }
        for &(name, range) in self.invariants.get(&id).into_iter().flatten() {
            facts.note_key(name);
            facts.ranges.insert(name, range);
        }
        for &(left, right) in self.orders.get(&id).into_iter().flatten() {
            facts.note_use(left);
            facts.note_use(right);
            facts.ordered.insert((left, right), true);
        }
    }

    /// Calls `statement` with each statement and the facts before it, and `edge` with the facts on
    /// each edge, from a block to a block, and on the entry.
    pub fn visit(
        &self,
        graph: &Graph<'a>,
        special: &Special<'a>,
        statement: &mut impl FnMut(&Facts<'a>, &Statement<'a>),
        edge: &mut impl FnMut(Option<Id>, Id, &Facts<'a>),
    ) {
        let facts = Facts::new(special);
        edge(None, special.first, &facts);
        let mut all = HashMap::from_iter([(special.first, facts)]);
        for &id in &self.order {
            let Some(mut facts) = all.remove(&id) else {
                continue;
            };
            self.enter(id, &mut facts);
            for each in &graph.blocks[id].body {
                statement(&facts, each);
                facts.statement(each);
            }
            let end = &graph.blocks[id].end;
            let mut targets = end.targets().to_vec();
            targets.retain(|to| self.position.contains_key(to));
            let last = targets.len().saturating_sub(1);
            for (index, &to) in targets.iter().enumerate() {
                let mut on_edge = match index == last {
                    true => std::mem::take(&mut facts),
                    false => facts.clone(),
                };
                on_edge.follow(end, to);
                edge(Some(id), to, &on_edge);
                if self.follows(id, to) {
                    match all.get_mut(&to) {
                        Some(known) => known.meet(&on_edge),
                        None => _ = all.insert(to, on_edge),
                    }
                }
            }
        }
    }
}

impl<'a> Transfer<'a> {
    /// Returns the ranges of the two registers at the start of each iteration, if the loop never
    /// decreases the one below zero. `entered` and `continued` are what is known when the loop is
    /// entered, and when an iteration has ended.
    fn ranges(&self, entered: &Facts<'a>, continued: &Facts<'a>) -> Option<[(&'a str, Range); 2]> {
        let range_of = |facts: &Facts<'a>, name| match facts.range(&Operand::Name(name))? {
            range @ (0.., _) => Some(range),
            _ => None,
        };
        let from = range_of(entered, self.from)?;
        let to = range_of(entered, self.to)?;
        range_of(continued, self.from)?;
        range_of(continued, self.amount)?;
        Some([
            (self.from, (0, from.1)),
            (self.to, (to.0, to.1.checked_add(from.1)?)),
        ])
    }
}

/// Returns the instructions that compute the 64-bit registers that cold code reads.
fn widened_for<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    entry: Id,
    low: &HashMap<&'a str, Low<'a>>,
    own: &Registers<'a>,
) -> Vec<Statement<'a>> {
    let mut used = HashSet::default();
    let mut seen = HashSet::from_iter([entry]);
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
        .filter(|(name, _)| own.contains(name) && used.contains(**name))
        .map(|(&name, &low)| (name, low))
        .collect();
    needed.sort_unstable();
    let extended = needed.into_iter().map(|(name, low)| extend(name, low));
    extended.collect()
}

/// Returns the instruction that computes the whole register.
fn extend<'a>(wide: &'a str, low: Low<'a>) -> Statement<'a> {
    let operands = |source| vec![Operand::Name(wide), Operand::Name(source)];
    match low.wide {
        Wide::Unsigned => instruction("cvt", &["u64", "u32"], operands(low.register)),
        Wide::Signed => instruction("cvt", &["s64", "s32"], operands(low.register)),
        Wide::Product(source, factor) => {
            let mut operands = operands(source);
            operands.push(Operand::Integer(Integer::unsigned(factor)));
            instruction("mul", &["wide", "u32"], operands)
        }
    }
}

/// The 64-bit registers of the copy of which only the lower half may be computed. Only the copy and
/// the panics behind it read them.
struct Registers<'a> {
    /// The registers that one instruction writes before all that read them.
    private: HashSet<&'a str>,
    /// The registers that several instructions write, with the 32-bit register that has the lower
    /// half of the value at all times.
    variables: HashMap<&'a str, Low<'a>>,
    /// Those to which a number is added.
    shifted: HashSet<&'a str>,
}

impl<'a> Registers<'a> {
    fn new(
        graph: &mut Graph<'a>,
        names: &'a Names,
        cold: &[bool],
        predecessors: &[Vec<Id>],
        special: &Special<'a>,
        region: &Region<'a>,
    ) -> Registers<'a> {
        let hot: HashSet<Id> = region.order.iter().copied().collect();
        let (mut private, others) = owned(graph, cold, predecessors, special, &hot);
        // `mov.b64` also writes registers of floats.
        private.retain(|name| graph.type_of(name) != Some(Type::F64));
        let others: HashSet<&'a str> = (others.into_iter())
            .filter(|name| graph.type_of(name) == Some(Type::B64))
            .collect();
        // The smallest value of each register, if all values fit 32 bits with sign.
        let mut least: HashMap<&'a str, Option<i64>> = HashMap::default();
        let written = &mut |facts: &Facts<'a>, statement: &Statement<'a>| {
            instructions(statement, &mut |it| {
                let range = match it.guard {
                    None => facts.result_range(it).filter(|&range| fits(range)),
                    Some(_) => None,
                };
                results(it, &mut |name| {
                    if others.contains(name) {
                        let least = least.entry(name).or_insert(Some(0));
                        *least = least.zip(range).map(|(least, range)| least.min(range.0));
                    }
                });
            });
        };
        region.visit(graph, special, written, &mut |_, _, _| {});
        // Cold code changes no variable.
        for &id in graph.order.iter().filter(|&&id| cold[id]) {
            for statement in &graph.blocks[id].body {
                instructions(statement, &mut |it| {
                    results(it, &mut |name| _ = least.insert(name, None));
                });
            }
        }
        let mut sorted: Vec<_> = (least.into_iter())
            .filter_map(|(name, least)| Some((name, least?)))
            .collect();
        sorted.sort_unstable();
        let variable = |(name, least): (&'a str, i64)| {
            let register = graph.register(Type::B32, names);
            let wide = match least < 0 {
                true => Wide::Signed,
                false => Wide::Unsigned,
            };
            (name, Low { register, wide })
        };
        let variables = sorted.into_iter().map(variable).collect();
        Registers {
            private,
            variables,
            shifted: floats::shifted(graph),
        }
    }

    /// Returns whether a 32-bit register is the lower half of one that several instructions write.
    fn is_variable(&self, low: &str) -> bool {
        self.variables.values().any(|it| it.register == low)
    }

    fn contains(&self, name: &str) -> bool {
        self.private.contains(name) || self.variables.contains_key(name)
    }
}

fn fits((low, high): Range) -> bool {
    low >= i32::MIN.into() && high <= i32::MAX.into()
}

/// Returns the registers that only the copy and the panics behind it access: those that one
/// instruction writes before all that read them, and the others.
fn owned<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    predecessors: &[Vec<Id>],
    special: &Special<'a>,
    hot: &HashSet<Id>,
) -> (HashSet<&'a str>, HashSet<&'a str>) {
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
    let mut flow = Digraph::new();
    flow.add_node(special.first);
    for &id in &own {
        for &from in predecessors[id].iter().filter(|from| own.contains(from)) {
            flow.add_edge(from, id);
        }
    }
    let dominators = flow.dominators(special.first);
    // The position of the instruction that writes a register.
    let mut writes: HashMap<&'a str, Option<(Id, usize)>> = HashMap::default();
    let mut reads: Vec<(&'a str, Id, usize)> = Vec::new();
    let mut shared = HashSet::default();
    for &id in &graph.order {
        let block = &graph.blocks[id];
        for (place, statement) in block.body.iter().enumerate() {
            instructions(statement, &mut |it| {
                results(it, &mut |name| {
                    let write = writes.entry(name).or_insert(Some((id, place)));
                    if *write != Some((id, place)) {
                        *write = None;
                    }
                });
                sources(it, &mut |name| reads.push((name, id, place)));
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
    let mut late = HashSet::default();
    for (name, id, place) in reads {
        let Some(&Some((writer, written))) = writes.get(name) else {
            continue;
        };
        let precedes = match writer == id {
            true => written < place,
            false => dominators.dominates(writer, id),
        };
        if !precedes {
            late.insert(name);
        }
    }
    let own = writes
        .into_iter()
        .filter(|(name, _)| !shared.contains(name));
    let (single, others): (Vec<_>, Vec<_>) =
        own.partition(|(name, write)| write.is_some() && !late.contains(name));
    let names = |list: Vec<(&'a str, _)>| list.into_iter().map(|(name, _)| name).collect();
    (names(single), names(others))
}

/// Removes a key from a map. Computes no hash if the map is empty, as most maps of facts are.
fn remove<V>(map: &mut HashMap<&str, V>, key: &str) {
    if !map.is_empty() {
        map.remove(key);
    }
}

/// A condition that a predicate register holds.
#[derive(Clone, Debug)]
pub(super) enum Condition<'a> {
    Compare(Comparison<'a>),
    And(Box<Condition<'a>>, Box<Condition<'a>>),
    Or(Box<Condition<'a>>, Box<Condition<'a>>),
    Not(Box<Condition<'a>>),
    Unknown,
}

impl<'a> Condition<'a> {
    /// Calls `f` with comparisons that hold if the condition has the value.
    pub fn implied(&self, value: bool, f: &mut impl FnMut(&Comparison<'a>)) {
        match (self, value) {
            (Condition::And(a, b), true) | (Condition::Or(a, b), false) => {
                a.implied(value, f);
                b.implied(value, f);
            }
            (Condition::Not(a), _) => a.implied(!value, f),
            (Condition::Compare(it), true) => f(it),
            (Condition::Compare(it), false) => f(&it.inverted()),
            (Condition::And(..), false) | (Condition::Or(..), true) | (Condition::Unknown, _) => {}
        }
    }

    /// Returns the number of nodes.
    fn size(&self) -> usize {
        match self {
            Condition::And(a, b) | Condition::Or(a, b) => 1 + a.size() + b.size(),
            Condition::Not(a) => 1 + a.size(),
            Condition::Compare(_) | Condition::Unknown => 1,
        }
    }

    /// Returns whether comparisons that all satisfy `f` are equivalent to the condition having the
    /// value.
    pub fn all(&self, value: bool, f: &mut impl FnMut(&Comparison<'a>) -> bool) -> bool {
        match (self, value) {
            (Condition::And(a, b), true) | (Condition::Or(a, b), false) => {
                a.all(value, f) && b.all(value, f)
            }
            (Condition::Not(a), _) => a.all(!value, f),
            (Condition::Compare(it), _) => f(it),
            (Condition::And(..), false) | (Condition::Or(..), true) | (Condition::Unknown, _) => {
                false
            }
        }
    }

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
pub(super) struct Facts<'a> {
    ranges: HashMap<&'a str, Range>,
    /// Those that hold after several predecessors are shared among the facts.
    conditions: HashMap<&'a str, Rc<Condition<'a>>>,
    /// The register that a register is a copy of.
    copies: HashMap<&'a str, &'a str>,
    /// The exponents of powers of two that divide integers.
    zeros: HashMap<&'a str, u32>,
    /// The registers that are simple functions of another one.
    parts: HashMap<&'a str, Part<'a>>,
    /// The registers that are a function of a quotient.
    divisions: HashMap<&'a str, Division<'a>>,
    /// The registers that are the sum of another register and a number. One of 32 bits without a range
    /// may wrap around.
    sums: HashMap<&'a str, (&'a str, i64)>,
    /// The registers of 64 bits that are the sum of two others, which may wrap around.
    totals: HashMap<&'a str, [&'a str; 2]>,
    /// The registers of 64 bits that are the difference of two others.
    differences: HashMap<&'a str, [&'a str; 2]>,
    /// The registers that are the minimum of two others, neither of which is negative.
    minima: HashMap<&'a str, [&'a str; 2]>,
    /// The registers that have the bits of two others, so the sign of either.
    unions: HashMap<&'a str, [&'a str; 2]>,
    /// Pairs of registers of which the first is at most the second, as unsigned numbers, and whether
    /// it is less.
    ordered: HashMap<(&'a str, &'a str), bool>,
    /// The registers that facts about other registers use, and some that they used. Most registers
    /// are not among them when an instruction writes them, and then no fact must be searched. Facts
    /// at several places share the set.
    used: Rc<RefCell<HashSet<&'a str>>>,
    /// The registers that have facts of their own, and some that had. Facts at several places share the
    /// set.
    keys: Rc<RefCell<HashSet<&'a str>>>,
    extents: HashSet<&'a str>,
    /// The extents that are not zero.
    positive: HashSet<&'a str>,
    /// Ranges of the results of instructions.
    bounded: Rc<HashMap<&'a str, Range>>,
}

/// A part of the division of a register by a power of two, of which the exponent is given, or the
/// opposite of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part<'a> {
    Quotient(&'a str, u32),
    Remainder(&'a str, u32),
    /// 1 if there is a remainder, otherwise 0.
    Excess(&'a str, u32),
    /// The quotient, rounded up.
    Rounded(&'a str, u32),
    /// The register without the remainder.
    Multiple(&'a str, u32),
    /// The minimum of the register and a number.
    Limited(&'a str, i64),
    Opposite(&'a str),
    /// The register with all bits inverted, `-1 - register`.
    Complement(&'a str),
}

impl<'a> Part<'a> {
    /// Returns the register.
    fn of(self) -> &'a str {
        match self {
            Part::Quotient(of, _)
            | Part::Remainder(of, _)
            | Part::Excess(of, _)
            | Part::Rounded(of, _)
            | Part::Multiple(of, _)
            | Part::Limited(of, _)
            | Part::Opposite(of)
            | Part::Complement(of) => of,
        }
    }
}

/// A function of the quotient of two unsigned registers. Compilers compute a remainder from the
/// quotient if they need both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Division<'a> {
    dividend: &'a str,
    divisor: &'a str,
    part: Divided,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Divided {
    Quotient,
    /// The quotient times the divisor.
    Multiple,
    /// The bitwise complement of that: `-1 - multiple`.
    Complement,
    /// The remainder minus a number.
    Remainder(i64),
}

impl<'a> Facts<'a> {
    fn new(special: &Special<'a>) -> Facts<'a> {
        let keys = special.ranges.iter().map(|&(name, _)| name);
        Facts {
            ranges: special.ranges.iter().copied().collect(),
            conditions: HashMap::default(),
            copies: HashMap::default(),
            zeros: HashMap::default(),
            parts: HashMap::default(),
            divisions: HashMap::default(),
            sums: HashMap::default(),
            totals: HashMap::default(),
            differences: HashMap::default(),
            minima: HashMap::default(),
            unions: HashMap::default(),
            ordered: HashMap::default(),
            used: Rc::default(),
            keys: Rc::new(RefCell::new(keys.collect())),
            extents: special.extents.clone(),
            positive: special.positive.clone(),
            bounded: Rc::new(special.bounded.clone()),
        }
    }

    /// Returns the range of an operand, if it is known.
    pub fn range(&self, operand: &Operand<'a>) -> Option<Range> {
        match operand {
            Operand::Integer(value) => {
                let value = value.bits as i64;
                Some((value, value))
            }
            Operand::Name(name) => {
                let range = match self.ranges.get(name) {
                    Some(&range) => Some(range),
                    None => special(name),
                };
                // More may be known about the other register since.
                let original = self.copies.get(name).unwrap_or(name);
                let part = self.parts.get(name).or_else(|| self.parts.get(original));
                let implied = part.and_then(|&part| self.part_range(part));
                match (range, implied) {
                    (Some((low, high)), Some((least, most))) => {
                        Some((low.max(least), high.min(most)))
                    }
                    (range, _) => range,
                }
            }
            _ => None,
        }
    }

    /// Returns what is known about an operand, if its range is.
    fn known(&self, operand: &Operand<'a>) -> Option<Known> {
        let range = self.range(operand)?;
        let zeros = self.zeros_of(operand);
        Some(Known { range, zeros })
    }

    /// Returns the exponent of a power of two that divides an operand.
    pub fn zeros_of(&self, operand: &Operand<'a>) -> u32 {
        match operand {
            Operand::Integer(value) => value.bits.trailing_zeros(),
            Operand::Name(name) => self.zeros.get(name).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// Returns the exponent of a power of two that divides an instruction's result.
    fn result_zeros(&self, it: &Instruction<'a>) -> u32 {
        let of = |index: usize| it.operands.get(index).map_or(0, |it| self.zeros_of(it));
        match (it.opcode, &it.modifiers[..]) {
            ("mov", ["u64" | "s64" | "b64" | "u32" | "s32" | "b32"])
            | ("cvt", ["u64", "u32"] | ["u32", "u64"])
            | ("neg", ["s64" | "s32"]) => of(1),
            ("and", ["b64" | "b32"]) => of(1).max(of(2)),
            ("add" | "sub", ["u64" | "s64" | "u32" | "s32"]) => match self.result_part(it) {
                Some(Part::Multiple(_, by)) => by,
                _ => of(1).min(of(2)),
            },
            ("mul", ["lo", "u64" | "s64" | "u32" | "s32"] | ["wide", "u32"]) => {
                of(1).saturating_add(of(2))
            }
            ("shl", ["b64" | "b32"]) => match it.operands.get(2) {
                Some(Operand::Integer(by)) if by.bits < 64 => of(1) + by.bits as u32,
                _ => of(1),
            },
            _ => 0,
        }
    }

    /// Returns which part of a division an instruction computes.
    fn result_part(&self, it: &Instruction<'a>) -> Option<Part<'a>> {
        match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("shr", ["u64"], [_, Operand::Name(of), Operand::Integer(by)]) if by.bits < 63 => {
                Some(Part::Quotient(of, by.bits as u32))
            }
            ("and", ["b64"], [_, Operand::Name(of), Operand::Integer(mask)])
                if mask.bits.wrapping_add(1).is_power_of_two() =>
            {
                Some(Part::Remainder(of, mask.bits.trailing_ones()))
            }
            ("sub", ["u64" | "s64"], [_, Operand::Name(of), Operand::Name(less)]) => {
                let &Part::Remainder(same, by) = self.parts.get(less)? else {
                    return None;
                };
                // `n % 2^62` has the same remainder as `n`.
                let has_remainder = match self.parts.get(of) {
                    Some(&Part::Remainder(whole, more)) => whole == same && more >= by,
                    _ => false,
                };
                (same == *of || has_remainder).then_some(Part::Multiple(of, by))
            }
            ("min", ["u64"], [_, Operand::Name(of), Operand::Integer(most)]) => {
                let most = i64::try_from(most.bits).ok()?;
                Some(Part::Limited(of, most))
            }
            ("neg", ["s64"], [_, Operand::Name(of)]) => Some(Part::Opposite(of)),
            ("not", ["b64"], [_, Operand::Name(of)]) => Some(Part::Complement(of)),
            ("add", ["u64" | "s64"], [_, Operand::Name(a), Operand::Name(b)]) => {
                match (*self.parts.get(a)?, *self.parts.get(b)?) {
                    (Part::Quotient(of, by), Part::Excess(same, by_same))
                    | (Part::Excess(of, by), Part::Quotient(same, by_same))
                        if (of, by) == (same, by_same) =>
                    {
                        Some(Part::Rounded(of, by))
                    }
                    _ => None,
                }
            }
            (
                "selp",
                ["u64" | "s64" | "b64"],
                [
                    _,
                    Operand::Integer(one),
                    Operand::Integer(zero),
                    Operand::Name(condition),
                ],
            ) if (one.bits, zero.bits) == (1, 0) => {
                let Condition::Compare(it) = self.conditions.get(condition)?.as_ref() else {
                    return None;
                };
                match (it.relation, &it.left, &it.right) {
                    (Relation::NotEqual, Operand::Name(left), Operand::Integer(right))
                        if right.bits == 0 =>
                    {
                        match self.parts.get(left)? {
                            &Part::Remainder(of, by) => Some(Part::Excess(of, by)),
                            _ => None,
                        }
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the range of a function of another register, where it helps.
    fn part_range(&self, part: Part<'a>) -> Option<Range> {
        let (low, high) = self.range(&Operand::Name(part.of()))?;
        let round = |value: i64, by: u32| (value >> by) + i64::from(value & !(-1 << by) != 0);
        match part {
            Part::Rounded(_, by) if low >= 0 => Some((round(low, by), round(high, by))),
            Part::Multiple(_, by) if low >= 0 => Some((low & (-1 << by), high & (-1 << by))),
            Part::Limited(_, most) if low >= 0 => Some((low.min(most), high.min(most))),
            Part::Opposite(_) => Some((high.checked_neg()?, low.checked_neg()?)),
            Part::Complement(_) => Some((!high, !low)),
            _ => None,
        }
    }

    /// Returns which function of a quotient an instruction computes.
    fn result_division(&self, it: &Instruction<'a>) -> Option<Division<'a>> {
        if it.guard.is_some() {
            return None;
        }
        let part_of = |operand: &Operand<'a>| match operand {
            Operand::Name(name) => {
                let own = self.divisions.get(name);
                own.or_else(|| self.divisions.get(self.original(name)))
                    .copied()
            }
            _ => None,
        };
        let with = |of: Division<'a>, part: Divided| Some(Division { part, ..of });
        match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("div", ["u64" | "u32"], [_, a @ Operand::Name(dividend), Operand::Name(divisor)]) => {
                let (low, _) = self.range(a)?;
                (low >= 0).then_some(Division {
                    dividend: self.original(dividend),
                    divisor: self.original(divisor),
                    part: Divided::Quotient,
                })
            }
            // Not greater than the dividend, so it does not wrap around.
            ("mul", ["lo", "u64" | "s64" | "u32" | "s32"] | ["wide", "u32"], [_, a, b]) => {
                [(a, b), (b, a)]
                    .into_iter()
                    .find_map(|(quotient, divisor)| {
                        let of = part_of(quotient)?;
                        let Operand::Name(divisor) = divisor else {
                            return None;
                        };
                        let is_same = self.original(divisor) == of.divisor;
                        let is_multiple = is_same && of.part == Divided::Quotient;
                        is_multiple.then_some(Division {
                            part: Divided::Multiple,
                            ..of
                        })
                    })
            }
            ("not", ["b64"], [_, a]) => match part_of(a)? {
                of if of.part == Divided::Multiple => with(of, Divided::Complement),
                _ => None,
            },
            ("sub", ["u64" | "s64" | "u32" | "s32"], [_, Operand::Name(a), b]) => {
                let of = part_of(b)?;
                let is_same = self.original(a) == of.dividend;
                match of.part {
                    Divided::Multiple if is_same => with(of, Divided::Remainder(0)),
                    _ => None,
                }
            }
            ("add", ["u64" | "s64"], [_, a, b]) => {
                [(a, b), (b, a)]
                    .into_iter()
                    .find_map(|(dividend, complement)| {
                        let of = part_of(complement)?;
                        let Operand::Name(dividend) = dividend else {
                            return None;
                        };
                        let is_same = self.original(dividend) == of.dividend;
                        let is_remainder = is_same && of.part == Divided::Complement;
                        is_remainder.then_some(Division {
                            part: Divided::Remainder(1),
                            ..of
                        })
                    })
            }
            _ => None,
        }
    }

    /// Returns the range of a function of a quotient, where it helps.
    fn division_range(&self, of: Division<'a>) -> Option<Range> {
        let (_, dividend) = self.range(&Operand::Name(of.dividend))?;
        let remainder = match self.range(&Operand::Name(of.divisor)) {
            Some((1.., divisor)) => dividend.min(divisor - 1),
            _ => dividend,
        };
        match of.part {
            Divided::Quotient => None,
            Divided::Multiple => Some((0, dividend)),
            Divided::Complement => Some((-1 - dividend, -1)),
            Divided::Remainder(less) => Some((-less, remainder - less)),
        }
    }

    pub fn condition(&self, name: &str) -> Condition<'a> {
        let known = self.conditions.get(name);
        known.map_or(Condition::Unknown, |known| known.as_ref().clone())
    }

    /// Updates the facts for the execution of a statement.
    pub fn statement(&mut self, statement: &Statement<'a>) {
        if let Statement::Instruction(it) = statement {
            self.instruction(it);
        } else {
            instructions(statement, &mut |it| {
                results(it, &mut |name| self.forget(name))
            });
        }
    }

    fn forget(&mut self, name: &'a str) {
        if self.keys.borrow().contains(name) {
            remove(&mut self.copies, name);
            remove(&mut self.parts, name);
            remove(&mut self.divisions, name);
            remove(&mut self.sums, name);
            remove(&mut self.totals, name);
            remove(&mut self.differences, name);
            remove(&mut self.minima, name);
            remove(&mut self.unions, name);
            remove(&mut self.zeros, name);
            remove(&mut self.ranges, name);
            remove(&mut self.conditions, name);
        }
        if !self.used.borrow().contains(name) {
            return;
        }
        self.copies.retain(|_, of| *of != name);
        self.parts.retain(|_, of| of.of() != name);
        (self.divisions).retain(|_, it| it.dividend != name && it.divisor != name);
        self.sums.retain(|_, (of, _)| *of != name);
        self.totals.retain(|_, of| !of.contains(&name));
        self.differences.retain(|_, of| !of.contains(&name));
        self.minima.retain(|_, of| !of.contains(&name));
        self.unions.retain(|_, of| !of.contains(&name));
        self.ordered.retain(|(a, b), _| *a != name && *b != name);
        self.conditions.retain(|_, condition| {
            let mut found = false;
            condition.visit(&mut |used| found |= used == name);
            !found
        });
    }

    /// Records that a fact about another register uses this one.
    fn note_use(&self, name: &'a str) {
        self.used.borrow_mut().insert(name);
    }

    /// Records that a register has a fact.
    fn note_key(&self, name: &'a str) {
        self.keys.borrow_mut().insert(name);
    }

    fn instruction(&mut self, it: &Instruction<'a>) {
        let (range, condition) = match it.guard {
            None => (self.result_range(it), self.result_condition(it)),
            Some(_) => (None, None),
        };
        let (zeros, part) = match it.guard {
            None => (self.result_zeros(it), self.result_part(it)),
            Some(_) => (0, None),
        };
        let division = self.result_division(it);
        let sum = match (it.opcode, it.guard, &it.modifiers[..], &it.operands[..]) {
            (
                "add",
                None,
                ["u64" | "s64"],
                [_, a @ Operand::Name(of), Operand::Integer(number)],
            ) if self.range(a).is_some() && range.is_some() => Some((*of, number.bits as i64)),
            // The difference wraps around unless it turns out to be small.
            (
                "add",
                None,
                ["u32" | "s32"],
                [_, a @ Operand::Name(of), Operand::Integer(number)],
            ) if (number.bits as i32) < 0
                && matches!(self.range(a), Some((0.., high)) if high <= i32::MAX.into()) =>
            {
                Some((*of, i64::from(number.bits as i32)))
            }
            _ => None,
        };
        let pair = match (it.guard, &it.modifiers[..], &it.operands[..]) {
            (None, ["u64" | "s64"], &[_, Operand::Name(left), Operand::Name(right)])
                if matches!(it.opcode, "add" | "sub") =>
            {
                Some([left, right])
            }
            _ => None,
        };
        let minimum = match (it.opcode, it.guard, &it.modifiers[..], &it.operands[..]) {
            (
                "min",
                None,
                ["u64" | "u32" | "s64" | "s32"],
                [_, a @ Operand::Name(left), b @ Operand::Name(right)],
            ) if matches!(
                (self.range(a), self.range(b)),
                (Some((0.., _)), Some((0.., _)))
            ) =>
            {
                Some([*left, *right])
            }
            _ => None,
        };
        let union = match (it.opcode, it.guard, &it.modifiers[..], &it.operands[..]) {
            ("or", None, ["b32" | "b64"], &[_, Operand::Name(left), Operand::Name(right)]) => {
                Some([left, right])
            }
            _ => None,
        };
        results(it, &mut |name| self.forget(name));
        let Some(&Operand::Name(result)) = it.operands.first() else {
            return;
        };
        let has_same_value = match (it.opcode, &it.modifiers[..]) {
            // Two readings of a clock differ.
            ("mov", ["u64" | "s64" | "b64" | "u32" | "s32" | "b32"]) | ("cvt", ["u64", "u32"]) => {
                is_pure(it)
            }
            // The range of the result is that of the source only if the source fits.
            ("cvt", ["u32", "u64"]) => it.guard.is_none() && range.is_some(),
            _ => false,
        };
        if union.or(pair).or(minimum).is_some()
            || sum.is_some()
            || zeros > 0
            || part.is_some()
            || division.is_some()
            || range.is_some()
            || has_same_value
            || condition.is_some()
        {
            self.note_key(result);
        }
        if let Some(union) = union.filter(|of| !of.contains(&result)) {
            union.iter().for_each(|of| self.note_use(of));
            self.unions.insert(result, union);
        }
        if let Some(pair) = pair.filter(|of| !of.contains(&result)) {
            pair.iter().for_each(|of| self.note_use(of));
            match it.opcode {
                "add" => self.totals.insert(result, pair),
                _ => self.differences.insert(result, pair),
            };
        }
        if let Some(minimum) = minimum.filter(|of| !of.contains(&result)) {
            minimum.iter().for_each(|of| self.note_use(of));
            self.minima.insert(result, minimum);
        }
        if let Some(sum) = sum.filter(|&(of, _)| of != result) {
            self.note_use(sum.0);
            self.sums.insert(result, sum);
        }
        if zeros > 0 {
            self.zeros.insert(result, zeros);
        }
        if let Some(part) = part.filter(|part| part.of() != result) {
            self.note_use(part.of());
            self.parts.insert(result, part);
        }
        if let Some(division) = division
            && division.dividend != result
            && division.divisor != result
        {
            self.note_use(division.dividend);
            self.note_use(division.divisor);
            self.divisions.insert(result, division);
        }
        if let Some(range) = range {
            self.ranges.insert(result, range);
        }
        if let [_, Operand::Name(of)] = it.operands[..]
            && has_same_value
            && of != result
        {
            let of = self.copies.get(of).copied().unwrap_or(of);
            self.note_use(of);
            self.copies.insert(result, of);
        }
        if let Some(condition) = condition {
            // A comparison with the old value of its own result is impossible.
            condition.visit(&mut |name| self.note_use(name));
            self.conditions.insert(result, Rc::new(condition));
        }
        if it.guard.is_none() {
            self.learn_operands(it, result);
        }
    }

    /// Records the ranges of the operands of a sum or difference that follow from that of the
    /// result, which is not computed from the operands alone if it is an extent.
    fn learn_operands(&mut self, it: &Instruction<'a>, result: &'a str) {
        let (opcode @ ("add" | "sub"), [ty], [_, a, b]) =
            (it.opcode, &it.modifiers[..], &it.operands[..])
        else {
            return;
        };
        let is_result =
            |operand: &Operand<'a>| matches!(operand, Operand::Name(it) if *it == result);
        let (Some(range), Some(a_range @ (0.., _)), Some(b_range @ (0.., _))) = (
            self.ranges.get(result).copied(),
            self.range(a),
            self.range(b),
        ) else {
            return;
        };
        if !is_64(ty)
            || !self.extents.contains(result)
            || [a, b].into_iter().any(is_result)
            || a_range.1.checked_add(b_range.1).is_none()
        {
            return;
        }
        // The sum does not wrap around, so neither operand is greater than it.
        let (most_a, most_b) = match opcode {
            "add" => (range.1 - b_range.0, range.1 - a_range.0),
            _ => (range.1.saturating_add(b_range.1), a_range.1 - range.0),
        };
        for (operand, known, most) in [(a, a_range, most_a), (b, b_range, most_b)] {
            if let Operand::Name(name) = operand
                && known.0 <= most
                && most < known.1
            {
                self.learn(name, (known.0, most));
            }
        }
    }

    /// Returns a comparison as a condition. One of the sign of a register with the bits of two others
    /// is of both signs: LLVM combines `x < 0 || y < 0` to `(x | y) < 0`.
    fn signs(&self, it: Comparison<'a>, depth: usize) -> Condition<'a> {
        let sides = match it.left {
            Operand::Name(name) if it.signed && depth > 0 => self.unions.get(name),
            _ => None,
        };
        let number = match it.right {
            Operand::Integer(number) if it.bits == 32 => Some(i64::from(number.bits as i32)),
            Operand::Integer(number) => Some(number.bits as i64),
            _ => None,
        };
        let is_negative = match (it.relation, number) {
            (Relation::Less, Some(0)) | (Relation::LessOrEqual, Some(-1)) => true,
            (Relation::GreaterOrEqual, Some(0)) | (Relation::Greater, Some(-1)) => false,
            _ => return Condition::Compare(it),
        };
        let Some(sides) = sides else {
            return Condition::Compare(it);
        };
        let [left, right] = sides.map(|side| {
            let left = Operand::Name(side);
            Box::new(self.signs(Comparison { left, ..it.clone() }, depth - 1))
        });
        match is_negative {
            true => Condition::Or(left, right),
            false => Condition::And(left, right),
        }
    }

    fn result_condition(&self, it: &Instruction<'a>) -> Option<Condition<'a>> {
        let condition = match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("setp", ..) => Comparison::of(it, true).map(|it| self.signs(it, UNIONS)),
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
        };
        condition.filter(|condition| condition.size() <= NODES)
    }

    /// Returns the range of an instruction's result, if it is known.
    pub fn result_range(&self, it: &Instruction<'a>) -> Option<Range> {
        let bounded = match it.operands.first() {
            Some(Operand::Name(name)) => self.bounded.get(name).copied(),
            _ => None,
        };
        match (self.computed_range(it), bounded) {
            (Some((low, high)), Some((least, most))) => Some((low.max(least), high.min(most))),
            (computed, bounded) => computed.or(bounded),
        }
    }

    /// Returns the range of an instruction's result, which follows from those of its operands.
    fn computed_range(&self, it: &Instruction<'a>) -> Option<Range> {
        let operand = |index: usize| self.range(it.operands.get(index)?);
        let word =
            |(low, high): Range| (low >= 0 && high <= i64::from(u32::MAX)).then_some((low, high));
        let nonnegative = |range: Range| (range.0 >= 0).then_some(range);
        if let Some(Operand::Name(name)) = it.operands.first()
            && self.extents.contains(name)
        {
            return Some((self.positive.contains(name).into(), BOUND as i64 - 1));
        }
        if let Some(part) = self.result_part(it)
            && let Some(range) = self.part_range(part)
        {
            return Some(range);
        }
        let division = self.result_division(it);
        if let Some(range) = division.and_then(|of| self.division_range(of)) {
            return Some(range);
        }
        match (it.opcode, &it.modifiers[..]) {
            ("mov", ["u64" | "s64" | "b64"]) => operand(1),
            ("mov", ["u32" | "s32" | "b32"]) => word(operand(1)?),
            ("cvt", ["u64", "u32"]) => match operand(1).and_then(word) {
                Some(range) => Some(range),
                None => Some((0, u32::MAX.into())),
            },
            ("cvt", ["s64", "s32"]) => match operand(1) {
                Some(range) if range.0 >= 0 && fits(range) => Some(range),
                _ => Some((i32::MIN.into(), i32::MAX.into())),
            },
            ("add", [ty]) => {
                let (a, b) = (operand(1)?, operand(2)?);
                let mut sum = (a.0.checked_add(b.0)?, a.1.checked_add(b.1)?);
                // `a - b - 1` of `b < a`.
                let [_, left, right] = &it.operands[..] else {
                    return None;
                };
                let middle = self
                    .middle(left, right)
                    .or_else(|| self.middle(right, left));
                if let Some(range) = middle {
                    return Some(range);
                }
                if self.is_above_complement(left, right) || self.is_above_complement(right, left) {
                    sum.0 = sum.0.max(0);
                }
                if is_64(ty) { Some(sum) } else { word(sum) }
            }
            ("sub", [ty]) => {
                let (a, b) = (operand(1)?, operand(2)?);
                if let Some(range) = self.rest(&it.operands[1], &it.operands[2]) {
                    return Some(range);
                }
                let mut difference = (a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?);
                if a.0 >= 0 && b.0 >= 0 && self.is_at_most(&it.operands[2], &it.operands[1]) {
                    difference.0 = difference.0.max(0);
                }
                if is_64(ty) {
                    Some(difference)
                } else {
                    word(difference)
                }
            }
            ("mul", ["wide", "u32"]) => {
                let (a, b) = (nonnegative(operand(1)?)?, nonnegative(operand(2)?)?);
                Some((a.0.checked_mul(b.0)?, a.1.checked_mul(b.1)?))
            }
            ("mul", ["lo", "s64" | "u64"]) => {
                let (a, b) = (operand(1)?, operand(2)?);
                let product = |a: i64, b: i64| a.checked_mul(b);
                let all = [
                    product(a.0, b.0)?,
                    product(a.0, b.1)?,
                    product(a.1, b.0)?,
                    product(a.1, b.1)?,
                ];
                Some((*all.iter().min()?, *all.iter().max()?))
            }
            // The quotient of a division by a constant, before it is shifted, or whether a product
            // has more than 64 bits.
            ("mul", ["hi", "u64"]) => {
                let (low, high) = nonnegative(operand(1)?)?;
                let (least, most) = match it.operands.get(2)? {
                    Operand::Integer(factor) => (factor.bits, factor.bits),
                    _ => nonnegative(operand(2)?).map(|(a, b)| (a as u64, b as u64))?,
                };
                // Where code is unreachable, the upper end may be below the lower one.
                let high_half = |a: i64, factor: u64| {
                    let product = u128::from(a as u64) * u128::from(factor);
                    (product >> 64) as i64
                };
                Some((high_half(low, least), high_half(high, most)))
            }
            ("mul", ["wide", "u16"]) => {
                let most = |operand: &Operand<'a>| match operand {
                    Operand::Integer(value) => i64::from(value.bits as u16),
                    _ => u16::MAX.into(),
                };
                Some((0, most(it.operands.get(1)?) * most(it.operands.get(2)?)))
            }
            ("cvt", ["u64" | "u32", "u16"]) => Some((0, u16::MAX.into())),
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
            ("bfi", ["b64"]) => {
                let (upper, lower) = (nonnegative(operand(1)?)?, nonnegative(operand(2)?)?);
                let by = inserted_above(&it.operands)?;
                let factor = 1i64 << by;
                let high = upper.1.checked_mul(factor)?;
                let most = lower.1.min(factor - 1);
                Some((upper.0 * factor, high.checked_add(most)?))
            }
            ("or" | "xor", ["b64" | "b32"]) => {
                let (a, b) = (nonnegative(operand(1)?)?, nonnegative(operand(2)?)?);
                let is_below = |range: Range, zeros: u32| zeros < 63 && range.1 < 1 << zeros;
                let zeros = [1, 2].map(|index| self.zeros_of(&it.operands[index]));
                if is_below(a, zeros[1]) || is_below(b, zeros[0]) {
                    // No bit is set in both.
                    return Some((a.0 + b.0, a.1.checked_add(b.1)?));
                }
                let bits = 64 - (a.1 | b.1).leading_zeros();
                let low = if it.opcode == "or" { a.0.max(b.0) } else { 0 };
                Some((low, ((1u128 << bits) - 1) as i64))
            }
            ("and", ["b64" | "b32"]) => {
                let of = |index| operand(index).and_then(nonnegative);
                if let Some(Operand::Integer(mask)) = it.operands.get(2)
                    && let Some(a) = of(1)
                    && mask.bits.leading_ones() >= 32
                    && mask.bits.leading_ones() + mask.bits.trailing_zeros() == 64
                {
                    let mask = mask.bits as i64;
                    return Some((a.0 & mask, a.1 & mask));
                }
                // The upper bits are constant: `(len - 1) % 2^62` of a length that is not 0.
                if let Some(Operand::Integer(mask)) = it.operands.get(2)
                    && let Some((low, high)) = of(1)
                    && mask.bits.wrapping_add(1).is_power_of_two()
                    && (low ^ high) as u64 <= mask.bits
                {
                    let mask = mask.bits as i64;
                    return Some((low & mask, high & mask));
                }
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
            // The ranges of 32-bit integers have no sign.
            ("min" | "max", [ty @ ("s64" | "s32")]) => {
                let (least, most) = match *ty {
                    "s64" => (i64::MIN, i64::MAX),
                    _ => (i32::MIN.into(), i32::MAX.into()),
                };
                let of = |index: usize| match operand(index) {
                    Some(range) if range.0 >= least && range.1 <= most => range,
                    _ => (least, most),
                };
                let (a, b) = (of(1), of(2));
                let range = match it.opcode {
                    "min" => (a.0.min(b.0), a.1.min(b.1)),
                    _ => (a.0.max(b.0), a.1.max(b.1)),
                };
                (range != (least, most) && (*ty == "s64" || range.0 >= 0)).then_some(range)
            }
            ("max", ["u64" | "u32"]) => {
                let (a, b) = (nonnegative(operand(1)?)?, nonnegative(operand(2)?)?);
                Some((a.0.max(b.0), a.1.max(b.1)))
            }
            ("div", ["u64" | "u32"]) => {
                let (a, b) = (nonnegative(operand(1)?)?, operand(2).and_then(nonnegative));
                let b = b.unwrap_or((1, i64::MAX));
                Some((a.0 / b.1.max(1), a.1 / b.0.max(1)))
            }
            ("rem", ["u64" | "u32"]) => {
                let of = |index| operand(index).and_then(nonnegative);
                match (of(1), of(2)) {
                    (Some(a), Some(b)) => Some((0, a.1.min((b.1 - 1).max(0)))),
                    (Some(a), None) => Some((0, a.1)),
                    (None, Some(b)) => Some((0, (b.1 - 1).max(0))),
                    (None, None) => None,
                }
            }
            ("shr", ["u64" | "u32"]) => {
                let (a, by) = (nonnegative(operand(1)?)?, operand(2)?);
                let known = by.0 == by.1 && (0..63).contains(&by.0);
                known.then(|| (a.0 >> by.0, a.1 >> by.0))
            }
            ("selp", ["b64" | "u64" | "s64"]) => {
                let [_, a, b, Operand::Name(condition)] = &it.operands[..] else {
                    return None;
                };
                let under = |value: bool, operand: &Operand<'a>| {
                    let mut facts = self.clone();
                    facts.assume(&self.condition(condition), value);
                    facts.range(operand)
                };
                let (a, b) = (under(true, a)?, under(false, b)?);
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
            ("cvt", ["u32", "u64"]) => word(operand(1)?),
            _ => None,
        }
    }

    /// Adds what holds after a branch to `to`.
    fn follow(&mut self, end: &End<'a>, to: Id) {
        if let End::Branch(guard, _, target, otherwise) = end
            && target != otherwise
        {
            let Guard { negated, register } = *guard;
            let condition = self.condition(register);
            self.assume(&condition, (to == *target) != negated);
        }
    }

    pub fn assume(&mut self, condition: &Condition<'a>, value: bool) {
        let mut count = 0;
        condition.implied(value, &mut |it| {
            self.assume_comparison(it);
            count += 1;
        });
        // Earlier comparisons may have operands whose ranges follow from later ones.
        if count > 1 {
            condition.implied(value, &mut |it| self.assume_comparison(it));
        }
    }

    /// Returns the register that a register is a copy of, or the register itself.
    fn original(&self, name: &'a str) -> &'a str {
        self.copies.get(name).copied().unwrap_or(name)
    }

    /// Returns whether a register is known to be at most another one, as an unsigned number.
    fn is_at_most(&self, a: &Operand<'a>, b: &Operand<'a>) -> bool {
        let (Operand::Name(a), Operand::Name(b)) = (a, b) else {
            return false;
        };
        let [a, b] = [a, b].map(|name| self.original(name));
        let is_part = match self.parts.get(a) {
            Some(&(Part::Quotient(of, _) | Part::Remainder(of, _) | Part::Limited(of, _))) => {
                self.original(of) == b
            }
            _ => false,
        };
        let minimum = self.minima.get(a);
        let is_minimum =
            minimum.is_some_and(|of| of.iter().any(|operand| self.original(operand) == b));
        is_part || is_minimum || self.ordered.contains_key(&(a, b))
    }

    /// Returns the range of `low + (high - low) / 2^n`, where `n` is not 0 and `low` at most `high`.
    fn middle(&self, low: &Operand<'a>, half: &Operand<'a>) -> Option<Range> {
        let (Operand::Name(name), Operand::Name(half)) = (low, half) else {
            return None;
        };
        let Some(&Part::Quotient(of, 1..)) = self.parts.get(self.original(half)) else {
            return None;
        };
        let &[high, subtracted] = self.differences.get(self.original(of))?;
        let high = Operand::Name(high);
        let (from @ (0.., _), to @ (0.., _)) = (self.range(low)?, self.range(&high)?) else {
            return None;
        };
        let is_ordered =
            self.original(subtracted) == self.original(name) && self.is_at_most(low, &high);
        let less = i64::from(self.is_below(low, &high));
        is_ordered.then_some((from.0, to.1 - less))
    }

    /// Returns the range of `total - min(total, number)`: the elements after a chunk.
    fn rest(&self, total: &Operand<'a>, chunk: &Operand<'a>) -> Option<Range> {
        let (Operand::Name(name), Operand::Name(chunk)) = (total, chunk) else {
            return None;
        };
        let Some(&Part::Limited(of, most)) = self.parts.get(self.original(chunk)) else {
            return None;
        };
        let (low @ 0.., high) = self.range(total)? else {
            return None;
        };
        let is_same = self.original(of) == self.original(name);
        is_same.then_some(((low - most).max(0), (high - most).max(0)))
    }

    /// Returns whether an operand is greater than the number of which the other one is the complement.
    fn is_above_complement(&self, a: &Operand<'a>, complement: &Operand<'a>) -> bool {
        let Operand::Name(complement) = complement else {
            return false;
        };
        match self.parts.get(self.original(complement)) {
            Some(&Part::Complement(of)) => self.is_below(&Operand::Name(of), a),
            _ => false,
        }
    }

    /// Returns whether a number is known to be less than another one. Neither is negative.
    fn is_below(&self, a: &Operand<'a>, b: &Operand<'a>) -> bool {
        let (Some((0.., high)), Some((low @ 0.., _))) = (self.range(a), self.range(b)) else {
            return false;
        };
        if high < low {
            return true;
        }
        let (Operand::Name(name), Operand::Name(other)) = (a, b) else {
            return false;
        };
        let [name, other] = [name, other].map(|name| self.original(name));
        let is_sum = |(of, number): &(&'a str, i64)| self.original(of) == name && *number > 0;
        let is_below = |minimum: &[&'a str; 2]| {
            let mut operands = minimum.iter().map(|&it| Operand::Name(it));
            operands.all(|it| self.is_below(a, &it))
        };
        self.ordered.get(&(name, other)) == Some(&true)
            || self.sums.get(other).is_some_and(is_sum)
            || self.minima.get(other).is_some_and(is_below)
    }

    fn assume_comparison(&mut self, it: &Comparison<'a>) {
        match it.relation {
            Relation::Less | Relation::LessOrEqual if !it.signed => {
                if let (Operand::Name(left), Operand::Name(right)) = (&it.left, &it.right) {
                    let [left, right] = [left, right].map(|name| self.original(name));
                    self.note_use(left);
                    self.note_use(right);
                    let is_less = it.relation == Relation::Less;
                    *self.ordered.entry((left, right)).or_default() |= is_less;
                }
                let strict = i64::from(it.relation == Relation::Less);
                let (left, right) = (self.range(&it.left), self.range(&it.right));
                if let (Operand::Name(name), Some((0.., high))) = (&it.left, right) {
                    // Unsigned, so the left side is not negative either.
                    let low = left.map_or(0, |(low, _)| low.max(0));
                    let known = left.map_or(
                        i64::MAX,
                        |(low, high)| if low < 0 { i64::MAX } else { high },
                    );
                    self.learn(name, (low, known.min(high - strict)));
                }
                if let (Operand::Name(name), Some((low @ 0.., _)), Some((0.., high))) =
                    (&it.right, left, right)
                {
                    let own = right.map_or(0, |(own, _)| own);
                    self.learn(name, (own.max(low.saturating_add(strict)), high));
                }
                for operand in [&it.left, &it.right] {
                    if let Operand::Name(name) = operand {
                        self.learn_summands(name);
                    }
                }
            }
            Relation::Less | Relation::LessOrEqual => {
                let strict = i64::from(it.relation == Relation::Less);
                let greatest = i64::MAX >> (64 - it.bits);
                let (left, right) = (self.range(&it.left), self.range(&it.right));
                // Registers of 32 bits have unsigned ranges.
                let is_signed = |range: &Range| range.1 <= greatest;
                if let (Operand::Name(name), Some((low, _))) = (&it.right, left.filter(is_signed))
                    && low >= -strict
                {
                    let own = right.unwrap_or((0, greatest));
                    let least = low.saturating_add(strict);
                    self.learn(name, (own.0.max(least), own.1.min(greatest)));
                }
                if let (Operand::Name(name), Some((low @ 0.., own)), Some((_, high))) =
                    (&it.left, left.filter(is_signed), right.filter(is_signed))
                {
                    self.learn(name, (low, own.min(high.saturating_sub(strict))));
                }
            }
            Relation::Greater | Relation::GreaterOrEqual => {
                self.assume_comparison(&it.swapped());
            }
            Relation::NotEqual => {
                if let (Operand::Name(name), Operand::Integer(value)) = (&it.left, &it.right)
                    && let Some((low @ 0.., high)) = self.range(&it.left)
                    && low < high
                {
                    // Registers of 32 bits have unsigned ranges.
                    let value = match it.bits {
                        32 => i64::from(value.bits as u32),
                        _ => value.bits as i64,
                    };
                    match (value == low, value == high) {
                        (true, _) => self.learn(name, (low + 1, high)),
                        (_, true) => self.learn(name, (low, high - 1)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Records the ranges of two numbers whose sum does not wrap around, because it is not less than
    /// one of them: `start..start + count` within a slice.
    fn learn_summands(&mut self, total: &'a str) {
        let sum = Operand::Name(total);
        let (Some(&summands), Some((0.., most))) = (self.totals.get(total), self.range(&sum))
        else {
            return;
        };
        let is_exact = |summand: &'a str| self.is_at_most(&Operand::Name(summand), &sum);
        if !summands.into_iter().any(is_exact) {
            return;
        }
        for summand in summands {
            let range = match self.range(&Operand::Name(summand)) {
                Some((low @ 0.., high)) => (low, high.min(most)),
                _ => (0, most),
            };
            if range.0 <= range.1 {
                self.learn(summand, range);
            }
        }
    }

    /// Returns whether a comparison holds, if the ranges decide it.
    fn holds(&self, it: &Comparison<'a>) -> Option<bool> {
        if it.signed && it.bits < 64 {
            return None;
        }
        // Numbers in the order of the comparison.
        let ordered = |operand: &Operand<'a>| {
            let (low, high) = self.range(operand)?;
            if it.signed {
                return Some((low as u64 ^ 1 << 63, high as u64 ^ 1 << 63));
            }
            let same_sign = (low < 0) == (high < 0);
            let mask = u64::MAX >> (64 - it.bits);
            same_sign.then_some((low as u64 & mask, high as u64 & mask))
        };
        let (left, right) = (ordered(&it.left)?, ordered(&it.right)?);
        let is_apart = left.1 < right.0 || right.1 < left.0;
        let is_same = left.0 == left.1 && left == right;
        let decide = |always: bool, never: bool| match (always, never) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        match it.relation {
            Relation::Less => decide(left.1 < right.0, left.0 >= right.1),
            Relation::LessOrEqual => decide(left.1 <= right.0, left.0 > right.1),
            Relation::Greater => decide(left.0 > right.1, left.1 <= right.0),
            Relation::GreaterOrEqual => decide(left.0 >= right.1, left.1 < right.0),
            Relation::Equal => decide(is_same, is_apart),
            Relation::NotEqual => decide(is_apart, is_same),
        }
    }

    /// Records the range of a register, of its copies, of sums with a number, and of the operands
    /// that it is the minimum of.
    fn learn(&mut self, name: &'a str, range: Range) {
        let original = self.copies.get(name).copied().unwrap_or(name);
        self.note_key(original);
        self.ranges.insert(original, range);
        for (&copy, &of) in &self.copies {
            if of == original {
                self.ranges.insert(copy, range);
            }
        }
        // The register, and the registers that it is a number away from.
        let mut bases = vec![(original, 0)];
        let is_exact = |&&(_, number): &&(&'a str, i64)| number >= 0 || range.1 <= i32::MAX.into();
        bases.extend(self.sums.get(original).filter(is_exact));
        bases.extend(self.sums.get(name).filter(is_exact));
        let copied = bases
            .iter()
            .map(|&(base, number)| (self.original(base), number));
        let originals: Vec<_> = copied.filter(|it| !bases.contains(it)).collect();
        bases.extend(originals);
        for (base, number) in bases {
            let low = range.0.saturating_sub(number);
            let high = range.1.saturating_sub(number);
            let mut intersect = |name: &'a str, by: i64| {
                // A difference that is not small may have wrapped around.
                if let Some(its) = self.ranges.get_mut(name)
                    && (by >= 0 || its.1 <= i32::MAX.into())
                {
                    its.0 = its.0.max(low.saturating_add(by));
                    its.1 = its.1.min(high.saturating_add(by));
                }
            };
            intersect(base, 0);
            for (&sum, &(of, number)) in &self.sums {
                if of == base || self.copies.get(of) == Some(&base) {
                    intersect(sum, number);
                }
            }
        }
        // `x < width.min(length)` also shows that the width is not zero.
        let minimum = (self.minima.get(original)).or_else(|| self.minima.get(name));
        for operand in minimum.copied().into_iter().flatten() {
            if let Some((low, high)) = self.range(&Operand::Name(operand))
                && low < range.0
                && range.0 <= high
            {
                self.learn(operand, (range.0, high));
            }
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
        // No path has changed the operands of what a common predecessor has computed.
        (self.conditions).retain(|name, condition| match other.conditions.get(name) {
            Some(its) => Rc::ptr_eq(condition, its),
            None => false,
        });
        (self.copies).retain(|copy, of| other.copies.get(copy) == Some(of));
        (self.parts).retain(|name, part| other.parts.get(name) == Some(part));
        (self.divisions).retain(|name, it| other.divisions.get(name) == Some(it));
        (self.sums).retain(|name, sum| other.sums.get(name) == Some(sum));
        (self.totals).retain(|name, of| other.totals.get(name) == Some(of));
        (self.differences).retain(|name, of| other.differences.get(name) == Some(of));
        (self.minima).retain(|name, of| other.minima.get(name) == Some(of));
        (self.unions).retain(|name, of| other.unions.get(name) == Some(of));
        (self.ordered).retain(|pair, is_less| match other.ordered.get(pair) {
            Some(its) => {
                *is_less &= its;
                true
            }
            None => false,
        });
        (self.zeros).retain(|name, zeros| match other.zeros.get(name) {
            Some(its) => {
                *zeros = (*zeros).min(*its);
                true
            }
            None => false,
        });
    }
}

/// If `x * factor >> 64 + by` is the quotient of each `x` below 2³¹ and a divisor, returns the factor
/// of 32 bits with which `x * factor >> 32 + by` is the same.
fn narrow_factor(factor: u64, by: u32) -> Option<u64> {
    let divisor = 1u128.checked_shl(64 + by)?.div_ceil(factor.max(1).into());
    let narrow = u32::try_from(factor.div_ceil(1 << 32)).ok()?;
    // The product exceeds `x / divisor` by less than `1 / divisor`, so no integer is between them.
    // The excess of the product with `factor` is smaller.
    let power = 1u128.checked_shl(32 + by)?;
    let excess = u128::from(narrow)
        .checked_mul(divisor)?
        .checked_sub(power)?;
    (excess.checked_mul(i32::MAX as u128)? < power).then_some(narrow.into())
}

fn is_64(ty: &str) -> bool {
    matches!(ty, "u64" | "s64")
}

/// Returns the range of a special register.
fn special(name: &str) -> Option<Range> {
    if name == "%laneid" {
        return Some((0, 31));
    }
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
    wide: Wide<'a>,
}

/// How the whole register is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wide<'a> {
    /// By extension of the lower half with zeros.
    Unsigned,
    /// By extension of the lower half with its sign.
    Signed,
    /// As the product of an unsigned 32-bit register and a number, which costs no more than an
    /// extension and can be part of an address.
    Product(&'a str, u64),
}

/// The facts at a place in the copy, and the registers that only have a 32-bit value so far.
#[derive(Clone, Debug)]
struct State<'a> {
    facts: Facts<'a>,
    /// The 32-bit register with the lower half of each private register that is not computed.
    low: HashMap<&'a str, Low<'a>>,
    floats: Floats<'a>,
    /// The private registers that are computed as the product of a register and a number: that
    /// register, which no other instruction writes and which fits 31 bits, and the number.
    products: HashMap<&'a str, (&'a str, u64)>,
    /// The private registers that are the upper half of the product of a register and a number: that
    /// register's lower half, which no other instruction writes and which fits 31 bits, and the
    /// number.
    upper: HashMap<&'a str, (&'a str, u64)>,
}

impl<'a> State<'a> {
    fn meet(&mut self, other: &State<'a>) {
        self.facts.meet(&other.facts);
        self.floats.meet(&other.floats);
        self.low
            .retain(|name, low| other.low.get(name) == Some(low));
        (self.products).retain(|name, product| other.products.get(name) == Some(product));
        (self.upper).retain(|name, product| other.upper.get(name) == Some(product));
    }

    /// Appends the statement, or a replacement, to `to`. Returns the number of replacements.
    fn rewrite(
        &mut self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        statement: Statement<'a>,
        own: &Registers<'a>,
        to: &mut Vec<Statement<'a>>,
    ) -> usize {
        let Statement::Instruction(it) = &statement else {
            self.facts.statement(&statement);
            to.push(statement);
            return 0;
        };
        let selected = self.selected(it);
        let it = selected.as_ref().unwrap_or(it);
        let replaced = it.guard.is_none() && self.replace(graph, names, it, own, to);
        if !replaced {
            // The instruction needs all bits.
            let mut wide = Vec::new();
            sources(it, &mut |name| {
                if let Some(&low) = self.low.get(name) {
                    wide.push((name, low));
                }
            });
            let mut renamed = it.clone();
            // The result may be one of the sources.
            let mut first_source = 0;
            results(it, &mut |_| first_source = 1);
            for (name, low) in wide {
                let Some(ty) = graph.type_of(name) else {
                    continue;
                };
                let full = graph.register(ty, names);
                to.push(extend(full, low));
                for operand in &mut renamed.operands[first_source..] {
                    rename_operand(operand, &mut |used| if used == name { full } else { used });
                }
            }
            to.push(Statement::Instruction(renamed));
        }
        results(it, &mut |name| {
            let Some(&variable) = own.variables.get(name) else {
                return;
            };
            let target = Operand::Name(variable.register);
            to.push(match self.low.insert(name, variable) {
                Some(low) if low != variable => {
                    let source = Operand::Name(low.register);
                    instruction("mov", &["b32"], vec![target, source])
                }
                _ => instruction("cvt", &["u32", "u64"], vec![target, Operand::Name(name)]),
            });
        });
        self.facts.instruction(it);
        if own.private.contains(floats::result(it))
            && floats::source(it).is_none_or(|it| own.private.contains(it))
        {
            let has_offset = own.shifted.contains(floats::result(it));
            self.floats.instruction(graph, names, it, has_offset, to);
        }
        usize::from(replaced)
    }

    /// Returns a copy of the operand that `selp` selects, if the facts decide its condition.
    fn selected(&self, it: &Instruction<'a>) -> Option<Instruction<'a>> {
        let ("selp", [_], None) = (it.opcode, &it.modifiers[..], it.guard) else {
            return None;
        };
        let [result, if_true, if_false, Operand::Name(condition)] = &it.operands[..] else {
            return None;
        };
        let Condition::Compare(compared) = self.facts.condition(condition) else {
            return None;
        };
        let selected = match self.facts.holds(&compared)? {
            true => if_true,
            false => if_false,
        };
        Some(Instruction {
            opcode: "mov",
            operands: vec![result.clone(), selected.clone()],
            ..it.clone()
        })
    }

    /// Appends a 32-bit replacement, if there is one.
    fn replace(
        &mut self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        it: &Instruction<'a>,
        own: &Registers<'a>,
        to: &mut Vec<Statement<'a>>,
    ) -> bool {
        let fits = |range: Option<Range>| range.is_some_and(fits);
        let is_word = |operand: &Operand<'a>| fits(self.facts.range(operand));
        let is_unsigned_word = |operand: &Operand<'a>| {
            let range = self.facts.range(operand);
            range.is_some_and(|(low, high)| low >= 0 && high <= u32::MAX.into())
        };
        let result_range = self.facts.result_range(it);
        if let Some((value @ 0.., same)) = result_range
            && value == same
            && is_pure(it)
            && let Some(result @ Operand::Name(register)) = it.operands.first()
            && let Some(ty @ (Type::B32 | Type::B64)) = graph.type_of(register)
        {
            let value = Operand::Integer(Integer::unsigned(value as u64));
            let operands = vec![result.clone(), value];
            to.push(instruction("mov", &[ty.name()], operands));
            return true;
        }
        let is_small = |range: Option<Range>| matches!(range, Some((0.., ..=0x7fff_ffff)));
        let is_index = |operand: &Operand<'a>| is_small(self.facts.range(operand));
        // Comparisons with an index do not distinguish larger numbers.
        let is_saturated = |operand: &Operand<'a>| self.floats.saturated(operand).is_some();
        let is_shifted = |operand: &Operand<'a>| self.floats.shifted(operand).is_some();
        let is_limit = |operand: &Operand<'a>| {
            let range = self.facts.range(operand);
            range.is_some_and(|(low, high)| low >= 0 && high <= BOUND as i64)
        };
        let is_own =
            |result: &Operand<'a>| matches!(result, Operand::Name(name) if own.contains(name));
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
            // Numbers of 32 bits without sign.
            (
                "setp",
                [relation, "u64"] | [relation @ ("eq" | "ne"), "s64" | "b64"],
                [result @ Operand::Name(_), a, b],
            ) if is_unsigned_word(a) && is_unsigned_word(b) => {
                let [a, b] = self.lows(graph, names, [a, b], to);
                let operands = vec![result.clone(), a, b];
                to.push(instruction("setp", &[relation, "u32"], operands));
                true
            }
            ("setp", [relation, "u64"], [result @ Operand::Name(_), a, b])
                if is_saturated(a) && is_index(b) || is_index(a) && is_saturated(b) =>
            {
                let operands = [a, b].map(|it| self.saturated_low(graph, names, it, to));
                let mut all = vec![result.clone()];
                all.extend(operands);
                to.push(instruction("setp", &[relation, "u32"], all));
                true
            }
            (
                "setp",
                [relation @ ("eq" | "ne"), "s64" | "u64" | "b64"],
                [result @ Operand::Name(_), a, b],
            ) if is_shifted(a) && (is_limit(b) || Floats::is_comparable(b)) => {
                let [a, b] = [a, b].map(|it| self.shifted_low(graph, names, it, to));
                let operands = vec![result.clone(), a, b];
                to.push(instruction("setp", &[relation, "s32"], operands));
                true
            }
            ("setp", [relation, "u64"], [result @ Operand::Name(_), a, b])
                if is_shifted(a) && is_limit(b) || is_limit(a) && is_shifted(b) =>
            {
                let [a, b] = [a, b].map(|it| self.shifted_low(graph, names, it, to));
                let operands = vec![result.clone(), a, b];
                to.push(instruction("setp", &[relation, "u32"], operands));
                true
            }
            ("min", ["u64"], [result, a, b])
                if is_own(result)
                    && (is_shifted(a) && is_limit(b) || is_limit(a) && is_shifted(b)) =>
            {
                let operands = [a, b].map(|it| self.shifted_low(graph, names, it, to));
                let low = graph.emit(names, to, Type::B32, "min", &["u32"], operands);
                self.defer(it, low);
                true
            }
            ("min", ["u64"], [result, a, b])
                if is_own(result)
                    && (is_saturated(a) && is_index(b) || is_index(a) && is_saturated(b)) =>
            {
                let operands = [a, b].map(|it| self.saturated_low(graph, names, it, to));
                let low = graph.emit(names, to, Type::B32, "min", &["u32"], operands);
                self.defer(it, low);
                true
            }
            (
                "cvt",
                ["rn", ty @ ("f32" | "f64"), "u64" | "s64"],
                [result, a @ Operand::Name(_)],
            ) if is_index(a) => {
                let [a] = self.lows(graph, names, [a], to);
                to.push(instruction(
                    "cvt",
                    &["rn", ty, "u32"],
                    vec![result.clone(), a],
                ));
                true
            }
            (opcode @ ("add" | "sub"), ["s64" | "u64"], [result, a, b])
                if is_own(result) && is_word(a) && is_word(b) && fits(result_range) =>
            {
                let [a, b] = self.lows(graph, names, [a, b], to);
                let low = graph.emit(names, to, Type::B32, opcode, &["s32"], [a, b]);
                self.defer(it, low);
                true
            }
            // As unsigned numbers, negative ones are greater than indices, in 32 bits too.
            ("min", ["u64"], [result, a, b])
                if is_own(result) && is_word(a) && is_word(b) && (is_index(a) || is_index(b)) =>
            {
                let [a, b] = self.lows(graph, names, [a, b], to);
                let low = graph.emit(names, to, Type::B32, "min", &["u32"], [a, b]);
                self.defer(it, low);
                true
            }
            (opcode @ ("min" | "max"), ["s64"], [result, a, b])
                if is_own(result) && is_word(a) && is_word(b) =>
            {
                let [a, b] = self.lows(graph, names, [a, b], to);
                let low = graph.emit(names, to, Type::B32, opcode, &["s32"], [a, b]);
                self.defer(it, low);
                true
            }
            // A bound that no index reaches.
            ("min", ["u64"], [result, a, Operand::Integer(most)])
                if is_own(result) && is_index(a) && most.bits > u64::from(u32::MAX) =>
            {
                let low = self.lows(graph, names, [a], to);
                let low = graph.emit(names, to, Type::B32, "mov", &["b32"], low);
                self.defer(it, low);
                true
            }
            // The extents of the grid along other dimensions are 1.
            ("mul", ["lo", "s32" | "u32"], [result @ Operand::Name(_), a, b])
                if let Some(other) = [(a, b), (b, a)].into_iter().find_map(|(one, other)| {
                    (self.facts.range(one) == Some((1, 1))).then_some(other)
                }) =>
            {
                let operands = vec![result.clone(), other.clone()];
                to.push(instruction("mov", &["b32"], operands));
                true
            }
            (opcode @ ("max" | "div" | "rem"), ["u64"], [result, a, b])
                if is_own(result) && is_index(a) && is_index(b) =>
            {
                let [a, b] = self.lows(graph, names, [a, b], to);
                let low = graph.emit(names, to, Type::B32, opcode, &["u32"], [a, b]);
                self.defer(it, low);
                true
            }
            // The lower half of the result depends only on those of the operands.
            (opcode @ ("and" | "or" | "xor"), ["b64"], [result, a, b])
                if is_own(result) && is_small(result_range) =>
            {
                let [a, b] = self.lows(graph, names, [a, b], to);
                let low = graph.emit(names, to, Type::B32, opcode, &["b32"], [a, b]);
                self.defer(it, low);
                true
            }
            ("shr", ["u64" | "s64" | "b64"], [result, a, by @ Operand::Integer(count)])
                if is_own(result) && is_index(a) && count.bits < 32 =>
            {
                let a = match self.quotient(a, count.bits as u32) {
                    Some((dividend, factor)) => {
                        let operands = [Operand::Name(dividend), number(factor)];
                        let upper =
                            graph.emit(names, to, Type::B32, "mul", &["hi", "u32"], operands);
                        Operand::Name(upper)
                    }
                    None => self.low_of(graph, names, a, to),
                };
                let operands = [a, by.clone()];
                let low = graph.emit(names, to, Type::B32, "shr", &["u32"], operands);
                self.defer(it, low);
                true
            }
            ("selp", ["b64" | "u64" | "s64"], [result, a, b, condition])
                if is_own(result) && is_word(a) && is_word(b) && is_small(result_range) =>
            {
                let [a, b] = self.lows(graph, names, [a, b], to);
                let operands = [a, b, condition.clone()];
                let low = graph.emit(names, to, Type::B32, "selp", &["b32"], operands);
                self.defer(it, low);
                true
            }
            ("mov", ["u64" | "s64" | "b64"], [result, a @ Operand::Name(source)])
                if is_own(result) && is_word(a) && graph.type_of(source) == Some(Type::B64) =>
            {
                let [low] = self.lows(graph, names, [a], to);
                let low = graph.emit(names, to, Type::B32, "mov", &["b32"], [low]);
                self.defer(it, low);
                true
            }
            ("cvt", ["u64", "u32"] | ["s64", "s32"], [result, a @ Operand::Name(source)])
                if is_own(result) && graph.type_of(source) == Some(Type::B32) =>
            {
                let operands = [a.clone()];
                let low = graph.emit(names, to, Type::B32, "mov", &["b32"], operands);
                self.defer(it, low);
                true
            }
            ("cvt", ["u32", "u64"], [result, a @ Operand::Name(source)])
                if self.low.contains_key(source) =>
            {
                let [low] = self.lows(graph, names, [a], to);
                to.push(instruction("mov", &["b32"], vec![result.clone(), low]));
                true
            }
            (
                "mul",
                ["wide", "u32"],
                [result, a @ Operand::Name(source), Operand::Integer(factor)],
            ) if is_own(result)
                && is_small(result_range)
                && graph.type_of(source) == Some(Type::B32) =>
            {
                self.multiply(graph, names, it, a.clone(), factor.bits, to);
                true
            }
            ("mul", ["wide", "u32"], [result, a, b])
                if is_own(result) && is_small(result_range) =>
            {
                let operands = [a, b].map(Operand::clone);
                let low = graph.emit(names, to, Type::B32, "mul", &["lo", "s32"], operands);
                self.defer(it, low);
                true
            }
            ("mul", ["lo", "s64" | "u64"], [result, a, b])
                if is_own(result) && is_index(a) && is_index(b) && is_small(result_range) =>
            {
                let factor = match b {
                    Operand::Integer(factor) => Some(factor.bits),
                    _ => None,
                };
                let [a, b] = self.lows(graph, names, [a, b], to);
                if let Some(factor) = factor {
                    self.multiply(graph, names, it, a, factor, to);
                    return true;
                }
                let low = graph.emit(names, to, Type::B32, "mul", &["lo", "s32"], [a, b]);
                self.defer(it, low);
                true
            }
            ("mul", ["lo", "s64" | "u64"], [result, a, b])
                if is_own(result) && is_word(a) && is_word(b) && fits(result_range) =>
            {
                let operands = self.lows(graph, names, [a, b], to);
                let low = graph.emit(names, to, Type::B32, "mul", &["lo", "s32"], operands);
                self.defer(it, low);
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
            (
                "mul",
                ["lo", "s64" | "u64"],
                [result @ Operand::Name(_), a, b @ Operand::Name(_)],
            ) if is_word(a) && is_word(b) => {
                let [a, b] = self.lows(graph, names, [a, b], to);
                to.push(instruction(
                    "mul",
                    &["wide", "s32"],
                    vec![result.clone(), a, b],
                ));
                true
            }
            // `(a * h + (a * l >> 32)) >> 32` for a factor of `h * 2^32 + l`: the quotient of a division
            // by a constant.
            ("mul", ["hi", "u64"], [result, a, Operand::Integer(factor)])
                if is_own(result) && is_index(a) && is_small(result_range) =>
            {
                let [a] = self.lows(graph, names, [a], to);
                if let (&Operand::Name(source), &Operand::Name(product)) = (&a, result)
                    && own.private.contains(product)
                    && !own.is_variable(source)
                {
                    self.upper.insert(product, (source, factor.bits));
                }
                let [low, high] = [factor.bits & u64::from(u32::MAX), factor.bits >> 32]
                    .map(|half| Operand::Integer(Integer::unsigned(half)));
                let operands = [a.clone(), low];
                let carry = graph.emit(names, to, Type::B32, "mul", &["hi", "u32"], operands);
                let operands = [Operand::Name(carry)];
                let carry = graph.emit(names, to, Type::B64, "cvt", &["u64", "u32"], operands);
                let operands = [a, high, Operand::Name(carry)];
                let sum = graph.emit(names, to, Type::B64, "mad", &["wide", "u32"], operands);
                let operands = [Operand::Name(sum), Operand::Integer(Integer::unsigned(32))];
                let sum = graph.emit(names, to, Type::B64, "shr", &["u64"], operands);
                let operands = [Operand::Name(sum)];
                let low = graph.emit(names, to, Type::B32, "cvt", &["u32", "u64"], operands);
                self.defer(it, low);
                true
            }
            ("mad", ["lo", "s64" | "u64"], [result, a, b, c])
                if is_own(result)
                    && is_index(a)
                    && is_index(b)
                    && is_index(c)
                    && is_small(result_range) =>
            {
                let operands = self.lows(graph, names, [a, b, c], to);
                let low = graph.emit(names, to, Type::B32, "mad", &["lo", "s32"], operands);
                self.defer(it, low);
                true
            }
            ("bfi", ["b64"], [result, upper, lower, ..])
                if is_own(result)
                    && is_index(upper)
                    && is_index(lower)
                    && is_small(result_range)
                    && let Some(by) = inserted_above(&it.operands) =>
            {
                let [upper, lower] = self.lows(graph, names, [upper, lower], to);
                let operands = [
                    upper,
                    lower,
                    Operand::Integer(Integer::unsigned(by.into())),
                    Operand::Integer(Integer::unsigned((32 - by).into())),
                ];
                let low = graph.emit(names, to, Type::B32, "bfi", &["b32"], operands);
                self.defer(it, low);
                true
            }
            (
                "shl",
                ["b64"],
                [
                    result @ Operand::Name(_),
                    a @ Operand::Name(_),
                    Operand::Integer(by),
                ],
            ) if by.bits < 31 && is_index(a) => {
                let [low] = self.lows(graph, names, [a], to);
                if is_own(result) && is_small(result_range) {
                    self.multiply(graph, names, it, low, 1 << by.bits, to);
                } else {
                    if let (&Operand::Name(source), &Operand::Name(product)) = (&low, result)
                        && own.private.contains(product)
                        && !own.is_variable(source)
                    {
                        self.products.insert(product, (source, 1 << by.bits));
                    }
                    let factor = Operand::Integer(Integer::unsigned(1 << by.bits));
                    let operands = vec![result.clone(), low, factor];
                    to.push(instruction("mul", &["wide", "u32"], operands));
                }
                true
            }
            // An addition can be part of the multiplication.
            ("sub", ["s64" | "u64"], [result, a @ Operand::Name(from), Operand::Name(product)])
                if !self.low.contains_key(from) && self.product(product).is_some() =>
            {
                let Some((source, factor)) = self.product(product) else {
                    return false;
                };
                let source = Operand::Name(source);
                let negated = graph.emit(names, to, Type::B32, "neg", &["s32"], [source]);
                let operands = [
                    Operand::Name(negated),
                    Operand::Integer(Integer::unsigned(factor)),
                ];
                let product = graph.emit(names, to, Type::B64, "mul", &["wide", "s32"], operands);
                let operands = vec![result.clone(), a.clone(), Operand::Name(product)];
                to.push(instruction("add", &["s64"], operands));
                true
            }
            (opcode @ ("neg" | "not"), ["s64" | "b64"], [result, a])
                if is_own(result) && is_word(a) && fits(result_range) =>
            {
                let ty = if *opcode == *"neg" { "s32" } else { "b32" };
                let [a] = self.lows(graph, names, [a], to);
                let low = graph.emit(names, to, Type::B32, opcode, &[ty], [a]);
                self.defer(it, low);
                true
            }
            // A register that several instructions write, such as a counter.
            (opcode @ ("add" | "sub"), ["s64" | "u64"], [result @ Operand::Name(_), a, b])
                if fits(result_range) && is_word(a) && is_word(b) =>
            {
                let types = match is_small(result_range) {
                    true => ["u64", "u32"],
                    false => ["s64", "s32"],
                };
                let [a, b] = self.lows(graph, names, [a, b], to);
                let low = graph.emit(names, to, Type::B32, opcode, &["s32"], [a, b]);
                let operands = vec![result.clone(), Operand::Name(low)];
                to.push(instruction("cvt", &types, operands));
                true
            }
            _ => false,
        }
    }

    /// If a register shifted by `by` bits is a quotient by a constant, returns the 32-bit dividend and
    /// the factor whose product has the same quotient in its upper half, shifted by `by` bits.
    fn quotient(&self, register: &Operand<'a>, by: u32) -> Option<(&'a str, u64)> {
        let Operand::Name(name) = register else {
            return None;
        };
        let &(dividend, factor) = self.upper.get(name)?;
        Some((dividend, narrow_factor(factor, by)?))
    }

    /// Returns the register and the number, both of which fit 31 bits, whose product a register is.
    fn product(&self, name: &str) -> Option<(&'a str, u64)> {
        let product = match self.low.get(name) {
            Some(low) => match low.wide {
                Wide::Product(source, factor) => Some((source, factor)),
                Wide::Unsigned | Wide::Signed => None,
            },
            None => self.products.get(name).copied(),
        };
        product.filter(|&(_, factor)| factor <= i32::MAX as u64)
    }

    /// Computes the lower half of the product of a 32-bit register and a number, which fits 31 bits.
    fn multiply(
        &mut self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        it: &Instruction<'a>,
        source: Operand<'a>,
        factor: u64,
        to: &mut Vec<Statement<'a>>,
    ) {
        // The register may change before the whole product is needed.
        let kept = graph.emit(names, to, Type::B32, "mov", &["b32"], [source]);
        let operands = [
            Operand::Name(kept),
            Operand::Integer(Integer::unsigned(factor)),
        ];
        let register = graph.emit(names, to, Type::B32, "mul", &["lo", "s32"], operands);
        if let Some(&Operand::Name(result)) = it.operands.first() {
            let wide = Wide::Product(kept, factor);
            self.low.insert(result, Low { register, wide });
        }
    }

    /// Records that only the lower half of an instruction's result is computed.
    fn defer(&mut self, it: &Instruction<'a>, register: &'a str) {
        let range = self.facts.result_range(it);
        let wide = match range.is_none_or(|(low, _)| low < 0) {
            true => Wide::Signed,
            false => Wide::Unsigned,
        };
        if let Some(&Operand::Name(result)) = it.operands.first() {
            self.low.insert(result, Low { register, wide });
        }
    }

    /// Returns the 32-bit register of a converted float, or the lower half of an index.
    fn saturated_low(
        &self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        operand: &Operand<'a>,
        to: &mut Vec<Statement<'a>>,
    ) -> Operand<'a> {
        match self.floats.saturated(operand) {
            Some(register) => Operand::Name(register),
            None => self.low_of(graph, names, operand, to),
        }
    }

    /// Returns the 32-bit register of a converted float with an offset, or the lower half of another
    /// operand.
    fn shifted_low(
        &self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        operand: &Operand<'a>,
        to: &mut Vec<Statement<'a>>,
    ) -> Operand<'a> {
        match self.floats.shifted(operand) {
            Some(register) => Operand::Name(register),
            None => self.low_of(graph, names, operand, to),
        }
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
                None if let Some(register) = self.floats.saturated(operand)
                    && let Some((0.., _)) = self.facts.range(operand).filter(|&it| fits(it)) =>
                {
                    register
                }
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

/// Returns the position of `bfi.b64` if it inserts all bits from there on: the result is the first
/// source, shifted, and the lower bits of the second one.
fn inserted_above(operands: &[Operand<'_>]) -> Option<u32> {
    match operands {
        [_, _, _, Operand::Integer(at), Operand::Integer(count)]
            if at.bits < 31 && at.bits.checked_add(count.bits)? >= 64 =>
        {
            Some(at.bits as u32)
        }
        _ => None,
    }
}
