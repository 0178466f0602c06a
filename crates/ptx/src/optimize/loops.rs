//! Loops and their counters.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::definitions;
use super::digraph::Digraph;
use super::flow::{Block, End, Graph, Id};
use super::instructions::{instructions, results};
use super::names::Names;
use crate::hash::{HashMap, HashSet};
use crate::{Guard, Instruction, Operand, Statement};

/// The maximum number of moves from the sum to the counter.
const MOVES: usize = 4;

/// A loop, with a single latch except from [`several_latches()`].
#[derive(Debug)]
pub(super) struct Loop<'a> {
    /// The block that each iteration starts with.
    pub header: Id,
    /// The block with the back edge.
    pub latch: Id,
    /// The blocks, in the order in which they are written.
    pub blocks: Vec<Id>,
    /// The same as a set.
    inside: HashSet<Id>,
    /// For each register that the loop writes: the number of writes, and the block and position of
    /// the last one.
    pub written: HashMap<&'a str, (u32, Id, usize)>,
    /// For each register, the number of instructions in the function that write it.
    definitions: Rc<HashMap<&'a str, u32>>,
}

/// Returns the control flow graph without cold blocks, and its back edges, each from a latch to the
/// header that dominates it.
pub(super) fn back_edges(graph: &Graph<'_>, cold: &[bool]) -> (Digraph, Vec<(Id, Id)>) {
    let mut flow = Digraph::new();
    let Some(&entry) = graph.order.first() else {
        return (flow, Vec::new());
    };
    flow.add_node(entry);
    for &id in graph.order.iter().filter(|&&id| !cold[id]) {
        for to in graph.blocks[id].end.targets() {
            if !cold[to] {
                flow.add_edge(id, to);
            }
        }
    }
    let dominators = flow.dominators(entry);
    let mut back = Vec::new();
    for &(from, to) in flow.edges() {
        if dominators.dominates(to, from) {
            back.push((from, to));
        }
    }
    (flow, back)
}

/// Adds the blocks of the loop with this latch to `inside`, which has the loop's header.
pub(super) fn add_body(flow: &Digraph, latch: Id, inside: &mut BTreeSet<Id>) {
    let mut pending = vec![latch];
    while let Some(id) = pending.pop() {
        if inside.insert(id) {
            pending.extend(flow.before(id));
        }
    }
}

/// Returns the innermost loops of a function, whose latch each iteration runs once.
pub(super) fn innermost<'a>(graph: &Graph<'a>, cold: &[bool]) -> Vec<Loop<'a>> {
    let (flow, back) = back_edges(graph, cold);
    if back.is_empty() {
        return Vec::new();
    }
    let headers: HashSet<Id> = back.iter().map(|&(_, to)| to).collect();
    let definitions = Rc::new(definitions(graph, cold));
    let places = places(graph);
    let mut loops = Vec::new();
    for &(latch, header) in &back {
        if back.iter().filter(|&&(_, to)| to == header).count() > 1 {
            continue;
        }
        let mut inside = BTreeSet::from([header]);
        add_body(&flow, latch, &mut inside);
        if inside
            .iter()
            .any(|id| *id != header && headers.contains(id))
            || repeats(graph, header, latch, &inside)
        {
            continue;
        }
        loops.push(Loop::new(
            graph,
            &places,
            header,
            latch,
            &inside,
            &definitions,
        ));
    }
    loops
}

/// Returns the loops of a function that have a single latch, which each iteration runs once.
pub(super) fn single_latch<'a>(graph: &Graph<'a>, cold: &[bool]) -> Vec<Loop<'a>> {
    let (flow, back) = back_edges(graph, cold);
    if back.is_empty() {
        return Vec::new();
    }
    let definitions = Rc::new(definitions(graph, cold));
    let places = places(graph);
    let mut loops: Vec<Loop<'a>> = Vec::new();
    for &(latch, header) in &back {
        if back.iter().filter(|&&(_, to)| to == header).count() == 1 {
            let mut inside = BTreeSet::from([header]);
            add_body(&flow, latch, &mut inside);
            if !repeats(graph, header, latch, &inside) {
                loops.push(Loop::new(
                    graph,
                    &places,
                    header,
                    latch,
                    &inside,
                    &definitions,
                ));
            }
        }
    }
    loops
}

/// Returns the loops of a function that have several latches. [`Loop::latch`] of each is its header.
pub(super) fn several_latches<'a>(graph: &Graph<'a>, cold: &[bool]) -> Vec<Loop<'a>> {
    let (flow, back) = back_edges(graph, cold);
    let mut latches: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
    for &(latch, header) in &back {
        latches.entry(header).or_default().push(latch);
    }
    latches.retain(|_, latches| latches.len() > 1);
    if latches.is_empty() {
        return Vec::new();
    }
    let definitions = Rc::new(definitions(graph, cold));
    let places = places(graph);
    let loop_of = |(header, latches): (Id, Vec<Id>)| {
        let mut inside = BTreeSet::from([header]);
        for latch in latches {
            add_body(&flow, latch, &mut inside);
        }
        Loop::new(graph, &places, header, header, &inside, &definitions)
    };
    latches.into_iter().map(loop_of).collect()
}

/// Returns the position of each block in the order in which the blocks are written.
pub(super) fn places(graph: &Graph<'_>) -> Vec<usize> {
    let mut places = vec![usize::MAX; graph.blocks.len()];
    for (place, &id) in graph.order.iter().enumerate() {
        places[id] = place;
    }
    places
}

/// Returns whether an iteration may run the latch several times, because the latch also ends an
/// inner loop.
fn repeats(graph: &Graph<'_>, header: Id, latch: Id, inside: &BTreeSet<Id>) -> bool {
    let targets = graph.blocks[latch].end.targets();
    targets
        .iter()
        .any(|to| *to != header && inside.contains(to))
}

/// The value added to a register in each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Constant(i64),
    Register(&'a str),
    /// The register is subtracted.
    Minus(&'a str),
}

/// A register to which each iteration adds the same value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter<'a> {
    /// The register.
    pub register: &'a str,
    /// A separate register with the value for the next iteration, if there is one.
    pub next: Option<&'a str>,
    /// The value added in each iteration.
    pub step: Step<'a>,
    /// The width in bits: 32 or 64.
    pub bits: u32,
}

/// Whether a comparison uses the counter's current value or its next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Current,
    Next,
}

impl<'a> Loop<'a> {
    fn new(
        graph: &Graph<'a>,
        places: &[usize],
        header: Id,
        latch: Id,
        inside: &BTreeSet<Id>,
        definitions: &Rc<HashMap<&'a str, u32>>,
    ) -> Loop<'a> {
        let mut blocks: Vec<Id> = inside.iter().copied().collect();
        blocks.sort_unstable_by_key(|&id| places[id]);
        let mut written = HashMap::default();
        for &id in &blocks {
            for (index, statement) in graph.blocks[id].body.iter().enumerate() {
                instructions(statement, &mut |it| {
                    results(it, &mut |name| {
                        let place = written.entry(name).or_insert((0, id, index));
                        *place = (place.0 + 1, id, index);
                    });
                });
            }
        }
        Loop {
            header,
            latch,
            inside: blocks.iter().copied().collect(),
            blocks,
            written,
            definitions: Rc::clone(definitions),
        }
    }

    /// Returns whether a block is in the loop.
    pub fn contains(&self, id: Id) -> bool {
        self.inside.contains(&id)
    }

    /// Returns whether the operand does not change in the loop.
    pub fn is_invariant(&self, operand: &Operand<'a>) -> bool {
        match operand {
            Operand::Integer(_) => true,
            Operand::Name(name) => !self.written.contains_key(name),
            _ => false,
        }
    }

    /// Returns the only instruction of the function that writes a register, with its block and
    /// position, if it is in the loop and has no other result.
    pub fn definition<'g>(
        &self,
        graph: &'g Graph<'a>,
        register: &str,
    ) -> Option<(&'g Instruction<'a>, Id, usize)> {
        let &(1, block, index) = self.written.get(register)? else {
            return None;
        };
        if self.definitions.get(register) != Some(&1) {
            return None;
        }
        match &graph.blocks[block].body[index] {
            Statement::Instruction(instruction) => Some((instruction, block, index)),
            _ => None,
        }
    }

    /// Returns whether an instruction is the only one of the function that writes its results.
    pub fn is_defined_once(&self, it: &Instruction<'a>) -> bool {
        let mut once = true;
        results(it, &mut |name| {
            once &= self.definitions.get(name) == Some(&1)
        });
        once
    }

    /// Returns the counters of the loop.
    pub fn counters(&self, graph: &Graph<'a>) -> Vec<Counter<'a>> {
        let mut counters = Vec::new();
        let mut written: Vec<_> = self.written.iter().collect();
        written.sort_unstable();
        for (&register, &(times, block, index)) in written {
            if times != 1 || block != self.latch {
                continue;
            }
            let Statement::Instruction(it) = &graph.blocks[block].body[index] else {
                continue;
            };
            if let Some((step, bits)) = self.step_of(it, register) {
                counters.push(Counter {
                    register,
                    next: None,
                    step,
                    bits,
                });
            } else if let Some((next, sum)) = self.moved(graph, it)
                && let Some((step, bits)) = self.step_of(sum, register)
            {
                counters.push(Counter {
                    register,
                    next: Some(next),
                    step,
                    bits,
                });
            }
        }
        counters
    }

    /// Returns the register that an instruction of the loop moves, possibly through others, and the
    /// instruction that computes it.
    fn moved<'g>(
        &self,
        graph: &'g Graph<'a>,
        it: &'g Instruction<'a>,
    ) -> Option<(&'a str, &'g Instruction<'a>)> {
        let source = |it: &Instruction<'a>| match (it.opcode, it.guard, &it.operands[..]) {
            ("mov", None, &[_, Operand::Name(from)]) => Some(from),
            _ => None,
        };
        let mut from = source(it)?;
        for _ in 0..MOVES {
            let (computes, ..) = self.definition(graph, from)?;
            match source(computes) {
                Some(next) => from = next,
                None => return Some((from, computes)),
            }
        }
        None
    }

    /// Returns the value that an addition or subtraction adds to a register, and the width in bits.
    pub fn step_of(&self, sum: &Instruction<'a>, register: &str) -> Option<(Step<'a>, u32)> {
        let bits = match (sum.opcode, &sum.modifiers[..], sum.guard) {
            ("add" | "sub", ["s64" | "u64"], None) => 64,
            ("add" | "sub", ["s32" | "u32"], None) => 32,
            _ => return None,
        };
        if sum.opcode == "sub" {
            return match sum.operands[..] {
                [_, Operand::Name(from), Operand::Name(step)]
                    if from == register && !self.written.contains_key(step) =>
                {
                    Some((Step::Minus(step), bits))
                }
                _ => None,
            };
        }
        let [_, Operand::Name(first), second] = &sum.operands[..] else {
            return None;
        };
        let added = match second {
            _ if *first == register => second,
            Operand::Name(name) if *name == register => &sum.operands[1],
            _ => return None,
        };
        match added {
            Operand::Integer(value) => {
                let step = match bits {
                    32 => i64::from(value.bits as i32),
                    _ => value.bits as i64,
                };
                Some((Step::Constant(step), bits))
            }
            Operand::Name(name) if !self.written.contains_key(name) => {
                Some((Step::Register(name), bits))
            }
            _ => None,
        }
    }

    /// Returns the comparison under which the loop continues: of a counter with an invariant.
    pub fn condition(
        &self,
        graph: &Graph<'a>,
        counters: &[Counter<'a>],
    ) -> Option<(Counter<'a>, Which, Comparison<'a>)> {
        let (register, goes_on) = self.guard(graph)?;
        self.comparison(graph, counters, register, goes_on)
    }

    /// Returns a condition that must hold for another iteration, as [`Self::condition`]: the loop may
    /// end although it holds.
    pub fn necessary_condition(
        &self,
        graph: &Graph<'a>,
        counters: &[Counter<'a>],
    ) -> Option<(Counter<'a>, Which, Comparison<'a>)> {
        let (register, goes_on) = self.guard(graph)?;
        let mut pending = vec![register];
        while let Some(register) = pending.pop() {
            if let Some(found) = self.comparison(graph, counters, register, goes_on) {
                return Some(found);
            }
            let Some((set, ..)) = self.definition(graph, register) else {
                continue;
            };
            let all = if goes_on { "and" } else { "or" };
            if set.opcode == all && set.modifiers == ["pred"] && set.guard.is_none() {
                pending.extend(set.operands[1..].iter().filter_map(|it| match it {
                    Operand::Name(name) if self.written.contains_key(name) => Some(*name),
                    _ => None,
                }));
            }
        }
        None
    }

    /// Returns the predicate of the branch at the end of the loop, and its value for another
    /// iteration.
    pub fn guard(&self, graph: &Graph<'a>) -> Option<(&'a str, bool)> {
        let End::Branch(guard, _, to, otherwise) = graph.blocks[self.latch].end else {
            return None;
        };
        match (to == self.header, otherwise == self.header) {
            (true, false) => Some((guard.register, !guard.negated)),
            (false, true) => Some((guard.register, guard.negated)),
            _ => None,
        }
    }

    /// Returns the comparison of a counter that sets a predicate, if another value is invariant.
    pub fn comparison(
        &self,
        graph: &Graph<'a>,
        counters: &[Counter<'a>],
        register: &'a str,
        goes_on: bool,
    ) -> Option<(Counter<'a>, Which, Comparison<'a>)> {
        let (set, block, place) = self.definition(graph, register)?;
        let compared = Comparison::of(set, goes_on)?;
        for compared in [compared.clone(), compared.swapped()] {
            let Operand::Name(left) = compared.left else {
                continue;
            };
            if !self.is_invariant(&compared.right) {
                continue;
            }
            for &counter in counters {
                if counter.next == Some(left) {
                    return Some((counter, Which::Next, compared));
                }
                if counter.register == left {
                    let &(_, written_in, written_at) = self.written.get(left)?;
                    let after = block == written_in && place > written_at;
                    let which = if after { Which::Next } else { Which::Current };
                    return Some((counter, which, compared));
                }
            }
        }
        None
    }
}

/// A relation between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Relation {
    /// Returns the relation of a `setp` instruction.
    pub fn from_name(name: &str) -> Option<Relation> {
        use Relation::*;
        Some(match name {
            "lt" | "lo" => Less,
            "le" | "ls" => LessOrEqual,
            "gt" | "hi" => Greater,
            "ge" | "hs" => GreaterOrEqual,
            "eq" => Equal,
            "ne" => NotEqual,
            _ => return None,
        })
    }

    /// Returns whether the relation holds between two values.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Relation::Less => left < right,
            Relation::LessOrEqual => left <= right,
            Relation::Greater => left > right,
            Relation::GreaterOrEqual => left >= right,
            Relation::Equal => left == right,
            Relation::NotEqual => left != right,
        }
    }

    /// Returns the relation that holds if this one does not.
    fn inverted(self) -> Relation {
        use Relation::*;
        match self {
            Less => GreaterOrEqual,
            LessOrEqual => Greater,
            Greater => LessOrEqual,
            GreaterOrEqual => Less,
            Equal => NotEqual,
            NotEqual => Equal,
        }
    }
}

/// Adds a test before a loop, and other code of iterations that runs in its place if the test sets
/// its predicate. Then the code goes on with itself where the loop would with its header, or with the
/// test if `tests_again`.
pub(super) fn add_tested<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    each: &Loop<'a>,
    (test, predicate): (Vec<Statement<'a>>, &'a str),
    (body, mut end): (Vec<Statement<'a>>, End<'a>),
    tests_again: bool,
) {
    let header = each.header;
    let outside: Vec<Id> = graph
        .predecessors_of_one(header)
        .filter(|id| !each.contains(*id))
        .collect();
    let first = graph.blocks.len();
    let again = if tests_again { first } else { first + 1 };
    end.retarget(&|to| if to == header { again } else { to });
    let tested = End::Branch(Guard::new(predicate), false, first + 1, header);
    for (body, end) in [(test, tested), (body, end)] {
        let label = names.label();
        graph.add_before(Block { label, body, end }, header);
    }
    for id in outside {
        let end = &mut graph.blocks[id].end;
        end.retarget(&|to| if to == header { first } else { to });
    }
}

/// A comparison of integers.
#[derive(Clone, Debug)]
pub(super) struct Comparison<'a> {
    pub relation: Relation,
    pub signed: bool,
    pub bits: u32,
    pub left: Operand<'a>,
    pub right: Operand<'a>,
}

impl<'a> Comparison<'a> {
    /// Returns the comparison that holds if `setp` sets its register to `value`.
    pub fn of(set: &Instruction<'a>, value: bool) -> Option<Comparison<'a>> {
        let ([relation, ty], [Operand::Name(_), left, right]) =
            (&set.modifiers[..], &set.operands[..])
        else {
            return None;
        };
        if set.opcode != "setp" || set.guard.is_some() {
            return None;
        }
        let relation = Relation::from_name(relation)?;
        let (signed, bits) = match *ty {
            "u64" | "b64" => (false, 64),
            "s64" => (true, 64),
            "u32" | "b32" => (false, 32),
            "s32" => (true, 32),
            _ => return None,
        };
        let relation = if value { relation } else { relation.inverted() };
        Some(Comparison {
            relation,
            signed: signed && !matches!(relation, Relation::Equal | Relation::NotEqual),
            bits,
            left: left.clone(),
            right: right.clone(),
        })
    }

    /// Returns the comparison with the sides in the order in which the relation is `<` or its
    /// opposite, and whether it is `<`.
    pub fn by_less(&self) -> Option<(Comparison<'a>, bool)> {
        use Relation::*;
        Some(match self.relation {
            Less => (self.clone(), true),
            Greater => (self.swapped(), true),
            GreaterOrEqual => (self.clone(), false),
            LessOrEqual => (self.swapped(), false),
            Equal | NotEqual => return None,
        })
    }

    /// Returns the opposite comparison.
    pub fn inverted(&self) -> Comparison<'a> {
        Comparison {
            relation: self.relation.inverted(),
            ..self.clone()
        }
    }

    /// Returns the comparison with the sides exchanged.
    pub fn swapped(&self) -> Comparison<'a> {
        use Relation::*;
        Comparison {
            relation: match self.relation {
                Less => Greater,
                LessOrEqual => GreaterOrEqual,
                Greater => Less,
                GreaterOrEqual => LessOrEqual,
                same => same,
            },
            left: self.right.clone(),
            right: self.left.clone(),
            ..*self
        }
    }
}
