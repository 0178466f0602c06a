//! Computes the results of trees of comparisons without branches.
//!
//! In `let digit = match byte { b'A' => 0, b'C' => 1, …, _ => return None };`, the arm without a
//! digit jumps past the use of the digit. The threads of a warp reconverge after that use instead of
//! where the other arms join, so the use runs once for each arm that a warp takes. This pass selects
//! the digit and the target of one branch, if the arms only choose among known values.

use crate::hash::{HashMap, HashSet};

use super::flow::{End, Graph, Id};
use super::instructions::{results, sources};
use super::liveness::Liveness;
use super::names::Names;
use super::specialize::is_fast;
use super::{definitions, literal};
use crate::dead::visit_operand;
use crate::rewrite::instruction;
use crate::{Guard, Instruction, Operand, Statement, Type};

/// The minimum number of branches of a tree.
const LEAST: usize = 3;

/// The maximum number of branches of a tree.
const BRANCHES: usize = 8;

/// The maximum number of instructions that a tree computes in advance.
const INSTRUCTIONS: usize = 24;

/// The types of values that `selp` selects.
const TYPES: &[&str] = &[
    "b16", "b32", "b64", "f32", "f64", "s16", "s32", "s64", "u16", "u32", "u64",
];

/// Replaces the trees of a function. Returns the number of replaced ones.
pub(super) fn select<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let definitions = definitions(graph, &vec![false; graph.blocks.len()]);
    let predecessors = graph.predecessors();
    let mut live: Option<Liveness<'a>> = None;
    let mut inside: HashSet<Id> = HashSet::default();
    let mut count = 0;
    for root in graph.order.clone() {
        if cold[root] || inside.contains(&root) {
            continue;
        }
        let mut tree = Tree {
            graph,
            cold: &cold,
            definitions: &definitions,
            predecessors: &predecessors,
            root,
            inside: HashSet::default(),
            branches: 0,
            computed: Vec::new(),
            read: HashSet::default(),
            assigned: HashMap::default(),
            exits: HashMap::default(),
        };
        let Some(node) = tree.branch(root, &HashMap::default()) else {
            continue;
        };
        let Some(targets) = tree.targets() else {
            continue;
        };
        let Tree {
            inside: blocks,
            computed,
            assigned,
            ..
        } = tree;
        // Trees keep what is live at the start of the blocks that are left.
        let live = live.get_or_insert_with(|| Liveness::new(graph, &graph.order.clone()));
        // A register that only one arm writes may have a value of an earlier iteration.
        let next = graph.blocks[root].end.targets();
        let mut lasts = false;
        for it in &computed {
            results(it, &mut |name| {
                lasts |= next.iter().any(|&to| live.contains(to, name));
            });
        }
        if lasts {
            continue;
        }
        inside.extend(blocks);
        let mut body = std::mem::take(&mut graph.blocks[root].body);
        body.extend(computed.into_iter().map(Statement::Instruction));
        let mut sorted: Vec<(&'a str, &'a str)> = assigned.into_iter().collect();
        sorted.sort_unstable();
        let mut moves = Vec::new();
        for (register, ty) in sorted {
            let is_read = |exit: Id| live.contains(exit, register);
            if let Some(value) = node.value(graph, names, &mut body, (register, ty), &is_read) {
                moves.push(instruction(
                    "mov",
                    &[ty],
                    vec![Operand::Name(register), value],
                ));
            }
        }
        let goes = node.goes(graph, names, &mut body, targets[0]);
        body.extend(moves);
        let Goes::If(register, value) = goes else {
            unreachable!("a tree has two targets");
        };
        let register = literal(graph, names, &mut body, (register, value));
        graph.blocks[root].body = body;
        graph.blocks[root].end = End::Branch(Guard::new(register), false, targets[0], targets[1]);
        count += 1;
    }
    if count > 0 {
        graph.remove_unreachable();
    }
    count
}

/// A part of a tree.
#[derive(Debug)]
enum Node<'a> {
    /// A predicate, and the parts if it is true and if it is false.
    Branch(&'a str, Box<[Node<'a>; 2]>),
    /// A target outside the tree, and the values that registers then have.
    Exit(Id, HashMap<&'a str, Operand<'a>>),
}

/// Whether a part of a tree goes to a target.
#[derive(Clone, Copy, Debug)]
enum Goes<'a> {
    Known(bool),
    /// If the predicate has a value.
    If(&'a str, bool),
}

impl<'a> Node<'a> {
    /// Appends the computation of the value that a register of the given type has at the end of the
    /// tree. Returns `None` if no target reads it. `is_read` is whether a target does.
    fn value(
        &self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        body: &mut Vec<Statement<'a>>,
        (register, ty): (&'a str, &'a str),
        is_read: &impl Fn(Id) -> bool,
    ) -> Option<Operand<'a>> {
        match self {
            Node::Exit(exit, values) => is_read(*exit).then(|| {
                let value = values.get(register).cloned();
                value.unwrap_or(Operand::Name(register))
            }),
            Node::Branch(predicate, parts) => {
                let [a, b] = [&parts[0], &parts[1]]
                    .map(|part| part.value(graph, names, body, (register, ty), is_read));
                let (a, b) = match (a, b) {
                    (Some(a), Some(b)) if a != b => (a, b),
                    (a, b) => return a.or(b),
                };
                let operands = [a, b, Operand::Name(predicate)];
                let wide = graph.type_of(register)?;
                let value = graph.emit(names, body, wide, "selp", &[ty], operands);
                Some(Operand::Name(value))
            }
        }
    }

    /// Appends the computation of whether the tree goes to a target.
    fn goes(
        &self,
        graph: &mut Graph<'a>,
        names: &'a Names,
        body: &mut Vec<Statement<'a>>,
        target: Id,
    ) -> Goes<'a> {
        let (predicate, parts) = match self {
            Node::Exit(exit, _) => return Goes::Known(*exit == target),
            Node::Branch(predicate, parts) => (*predicate, parts),
        };
        let both = [&parts[0], &parts[1]].map(|part| part.goes(graph, names, body, target));
        let mut combine = |opcode: &'a str, a: (&'a str, bool), b: (&'a str, bool)| {
            let operands = [a, b].map(|it| Operand::Name(literal(graph, names, body, it)));
            (
                graph.emit(names, body, Type::Pred, opcode, &["pred"], operands),
                true,
            )
        };
        let (register, value) = match both {
            [Goes::Known(a), Goes::Known(b)] if a == b => return Goes::Known(a),
            [Goes::Known(a), Goes::Known(_)] => (predicate, a),
            [Goes::Known(true), Goes::If(it, value)] => {
                combine("or", (predicate, true), (it, value))
            }
            [Goes::Known(false), Goes::If(it, value)] => {
                combine("and", (predicate, false), (it, value))
            }
            [Goes::If(it, value), Goes::Known(true)] => {
                combine("or", (predicate, false), (it, value))
            }
            [Goes::If(it, value), Goes::Known(false)] => {
                combine("and", (predicate, true), (it, value))
            }
            [Goes::If(a, of_a), Goes::If(b, of_b)] => {
                let a = combine("and", (predicate, true), (a, of_a));
                let b = combine("and", (predicate, false), (b, of_b));
                combine("or", a, b)
            }
        };
        Goes::If(register, value)
    }
}

/// A tree of branches whose blocks only choose among values.
struct Tree<'g, 'a> {
    graph: &'g Graph<'a>,
    cold: &'g [bool],
    definitions: &'g HashMap<&'a str, u32>,
    predecessors: &'g [Vec<Id>],
    root: Id,
    /// The blocks after the root.
    inside: HashSet<Id>,
    branches: usize,
    /// The instructions to compute in advance: each writes a register that no other one writes.
    computed: Vec<Instruction<'a>>,
    /// The registers with values to choose.
    read: HashSet<&'a str>,
    /// The registers that the blocks set, with their types.
    assigned: HashMap<&'a str, &'a str>,
    /// The targets, and the number of arms that lead to each.
    exits: HashMap<Id, usize>,
}

impl<'a> Tree<'_, 'a> {
    /// Returns the part of the tree that starts with the branch at the end of a block.
    fn branch(&mut self, id: Id, values: &HashMap<&'a str, Operand<'a>>) -> Option<Node<'a>> {
        let End::Branch(guard, _, to, otherwise) = self.graph.blocks[id].end else {
            return None;
        };
        self.branches += 1;
        if self.branches > BRANCHES {
            return None;
        }
        let targets = match guard.negated {
            false => [to, otherwise],
            true => [otherwise, to],
        };
        let [a, b] = targets.map(|to| self.part(to, values.clone()));
        Some(Node::Branch(guard.register, Box::new([a?, b?])))
    }

    /// Returns the part of the tree that starts with a block: the block itself, if it does more than
    /// to choose.
    fn part(&mut self, id: Id, values: HashMap<&'a str, Operand<'a>>) -> Option<Node<'a>> {
        if let Some((computed, chosen)) = self.chooses(id) {
            self.inside.insert(id);
            self.computed.extend(computed);
            if self.computed.len() > INSTRUCTIONS {
                return None;
            }
            let mut values = values;
            for (register, ty, value) in chosen {
                if *self.assigned.entry(register).or_insert(ty) != ty {
                    return None;
                }
                visit_operand(&value, &mut |name| _ = self.read.insert(name));
                values.insert(register, value);
            }
            return match self.graph.blocks[id].end {
                End::Jump(to, _) => self.part(to, values),
                _ => self.branch(id, &values),
            };
        }
        *self.exits.entry(id).or_default() += 1;
        Some(Node::Exit(id, values))
    }

    /// Returns the instructions of a block that can be computed in advance, and the registers that
    /// it sets, if it has no others.
    #[expect(clippy::type_complexity)]
    fn chooses(
        &self,
        id: Id,
    ) -> Option<(Vec<Instruction<'a>>, Vec<(&'a str, &'a str, Operand<'a>)>)> {
        let block = &self.graph.blocks[id];
        if id == self.root
            || self.cold[id]
            || self.inside.contains(&id)
            || self.predecessors[id].len() != 1
            || !matches!(block.end, End::Jump(..) | End::Branch(..))
        {
            return None;
        }
        let (mut computed, mut chosen) = (Vec::new(), Vec::new());
        for statement in &block.body {
            let it = match statement {
                Statement::Instruction(it) => it,
                Statement::Loc(_) | Statement::Label(_) => continue,
                _ => return None,
            };
            let Some(&Operand::Name(result)) = it.operands.first() else {
                return None;
            };
            if !is_fast(it) {
                return None;
            }
            if self.definitions.get(result) == Some(&1) {
                computed.push(it.clone());
                continue;
            }
            let ("mov", &[ty], [_, value]) = (it.opcode, &it.modifiers[..], &it.operands[..])
            else {
                return None;
            };
            let is_value = match value {
                Operand::Integer(_) | Operand::F32(_) | Operand::F64(_) => true,
                Operand::Name(name) => self.graph.type_of(name).is_some(),
                _ => false,
            };
            if !is_value || !TYPES.contains(&ty) {
                return None;
            }
            chosen.push((result, ty, value.clone()));
        }
        Some((computed, chosen))
    }

    /// Returns the two targets of a tree that is worth to be replaced: first the one where arms join.
    fn targets(&self) -> Option<[Id; 2]> {
        let mut exits: Vec<(usize, Id)> =
            self.exits.iter().map(|(&id, &arms)| (arms, id)).collect();
        exits.sort_unstable();
        let [(_, second), (_, first)] = exits[..] else {
            return None;
        };
        if self.branches < LEAST || self.cold[first] || self.cold[second] {
            return None;
        }
        // The tree reads the values from before it.
        let mut is_set = self
            .read
            .iter()
            .any(|name| self.assigned.contains_key(name));
        for it in &self.computed {
            sources(it, &mut |name| is_set |= self.assigned.contains_key(name));
        }
        (!is_set).then_some([first, second])
    }
}
