//! Converts a function's body to a control flow graph, and back.

use crate::hash::{HashMap, HashSet};
use std::collections::BTreeSet;
use std::ops::Deref;

use super::instructions::{instructions, is_parameter, is_pure, rename};
use super::liveness::read;
use super::names::Names;
use crate::dead::visit_operand;
use crate::rewrite::instruction;
use crate::{Guard, Instruction, Operand, Registers, Space, Statement, Type};

/// The index of a block.
pub(super) type Id = usize;

/// A basic block: statements without branches, and a terminator.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    /// The label.
    pub label: &'a str,
    /// Instructions, `.loc` directives, labels of debug information, and nested blocks such as
    /// calls.
    pub body: Vec<Statement<'a>>,
    /// The terminator.
    pub end: End<'a>,
}

/// The terminator of a block.
#[derive(Clone, Debug)]
pub(super) enum End<'a> {
    /// An unconditional branch, and whether it is uniform (`.uni`).
    Jump(Id, bool),
    /// A conditional branch: the predicate, whether it is uniform, the target if the predicate
    /// holds, and the target otherwise.
    Branch(Guard<'a>, bool, Id, Id),
    /// `brx.idx`: the instruction and its targets.
    Switch(Instruction<'a>, Vec<Id>),
    /// `ret`, `exit`, `trap`.
    Leave(Instruction<'a>),
    /// The end of a block after a call that does not return.
    Never,
}

impl<'a> End<'a> {
    /// Calls `visit` with each register that the end reads.
    pub fn sources(&self, visit: &mut impl FnMut(&'a str)) {
        match self {
            End::Branch(guard, ..) => visit(guard.register),
            End::Leave(it) | End::Switch(it, _) => read(it, visit),
            End::Jump(..) | End::Never => {}
        }
    }

    /// Replaces the registers that the end reads.
    pub fn rename(&mut self, new: &mut impl FnMut(&'a str) -> &'a str) {
        match self {
            End::Branch(guard, ..) => guard.register = new(guard.register),
            End::Leave(it) | End::Switch(it, _) => rename(it, new),
            End::Jump(..) | End::Never => {}
        }
    }

    /// Returns the possible targets.
    pub fn targets(&self) -> Targets {
        match self {
            End::Jump(to, _) => Targets::Few([*to, 0], 1),
            End::Branch(_, _, to, otherwise) => Targets::Few([*to, *otherwise], 2),
            End::Switch(_, targets) => Targets::Many(targets.clone()),
            End::Leave(_) | End::Never => Targets::Few([0; 2], 0),
        }
    }

    /// Returns whether a block is a possible target.
    pub fn leads_to(&self, id: Id) -> bool {
        match self {
            End::Jump(to, _) => *to == id,
            End::Branch(_, _, to, otherwise) => *to == id || *otherwise == id,
            End::Switch(_, targets) => targets.contains(&id),
            End::Leave(_) | End::Never => false,
        }
    }

    /// Replaces the targets.
    pub fn retarget(&mut self, new: &impl Fn(Id) -> Id) {
        match self {
            End::Jump(to, _) => *to = new(*to),
            End::Branch(_, _, to, otherwise) => {
                *to = new(*to);
                *otherwise = new(*otherwise);
            }
            End::Switch(..) | End::Leave(_) | End::Never => {}
        }
    }
}

/// The possible targets of an end. Those of most ends are not allocated.
#[derive(Clone, Debug)]
pub(super) enum Targets {
    /// The first ones of two.
    Few([Id; 2], usize),
    Many(Vec<Id>),
}

impl Deref for Targets {
    type Target = [Id];

    fn deref(&self) -> &[Id] {
        match self {
            Targets::Few(targets, count) => &targets[..*count],
            Targets::Many(targets) => targets,
        }
    }
}

impl IntoIterator for Targets {
    type Item = Id;
    type IntoIter = EachTarget;

    fn into_iter(self) -> EachTarget {
        EachTarget {
            targets: self,
            next: 0,
        }
    }
}

/// An iterator over targets.
pub(super) struct EachTarget {
    targets: Targets,
    next: usize,
}

impl Iterator for EachTarget {
    type Item = Id;

    fn next(&mut self) -> Option<Id> {
        let target = self.targets.get(self.next).copied()?;
        self.next += 1;
        Some(target)
    }
}

/// Properties of a graph that its edges determine.
pub(super) struct Shape {
    /// For each block whether it is cold: see [`Graph::cold`].
    pub cold: Vec<bool>,
    /// The predecessors of each block: see [`Graph::predecessors`].
    pub predecessors: Vec<Vec<Id>>,
}

/// The control flow graph of a function's body.
#[derive(Clone, Debug)]
pub(super) struct Graph<'a> {
    /// The declarations of registers and variables.
    declarations: Vec<Statement<'a>>,
    /// The blocks. The first is the entry.
    pub blocks: Vec<Block<'a>>,
    /// The order in which the blocks are written.
    pub order: Vec<Id>,
    /// The types of registers, by name, or by prefix for those declared with a count.
    types: HashMap<&'a str, Type>,
    /// The registers added to the function.
    fresh: Vec<(Type, &'a str)>,
}

impl<'a> Graph<'a> {
    /// Builds the graph of a body. Returns `None` if the body has a construct that graphs cannot
    /// represent. `no_return` are the functions that do not return.
    pub fn new(
        body: &[Statement<'a>],
        no_return: &HashSet<&'a str>,
        names: &'a Names,
    ) -> Option<Graph<'a>> {
        let mut labels = HashSet::default();
        for statement in body {
            match statement {
                Statement::Instruction(instruction) => labels.extend(branch_target(instruction)),
                Statement::BranchTargets { targets, .. } => labels.extend(targets.iter().copied()),
                Statement::Block(_) => {
                    let mut branches = false;
                    instructions(statement, &mut |it| {
                        branches |= matches!(it.opcode, "bra" | "brx" | "ret");
                    });
                    if branches {
                        return None;
                    }
                }
                _ => {}
            }
        }
        let mut graph = Graph {
            declarations: Vec::new(),
            blocks: Vec::new(),
            order: Vec::new(),
            types: HashMap::default(),
            fresh: Vec::new(),
        };
        let mut open: Option<(&'a str, Vec<Statement<'a>>)> = Some((names.label(), Vec::new()));
        // Terminators refer to labels until all blocks are known.
        let mut ends: Vec<RawEnd<'a>> = Vec::new();
        let mut switches: HashMap<&'a str, &Vec<&'a str>> = HashMap::default();
        for statement in body {
            match statement {
                Statement::Registers(registers) => {
                    for &(name, _) in &registers.names {
                        if registers.vector.is_none() {
                            graph.types.insert(name, registers.ty);
                        }
                    }
                    graph.declarations.push(statement.clone());
                }
                Statement::Variable(_)
                | Statement::CallPrototype(_)
                | Statement::CallTargets { .. } => {
                    graph.declarations.push(statement.clone());
                }
                Statement::BranchTargets { label, targets } => {
                    switches.insert(label, targets);
                    graph.declarations.push(statement.clone());
                }
                Statement::Label(label) if labels.contains(label) => {
                    if let Some((own, body)) = open.take() {
                        let end = match falls_off(&body, no_return) {
                            true => RawEnd::Never,
                            false => RawEnd::Jump(label, false),
                        };
                        graph.push(own, body, end, &mut ends);
                    }
                    open = Some((label, Vec::new()));
                }
                Statement::Instruction(instruction) => {
                    let (own, mut body) =
                        open.take().unwrap_or_else(|| (names.label(), Vec::new()));
                    let uniform = instruction.modifiers.contains(&"uni");
                    match (instruction.opcode, instruction.guard) {
                        ("bra", None) => {
                            let end = RawEnd::Jump(branch_target(instruction)?, uniform);
                            graph.push(own, body, end, &mut ends);
                        }
                        ("bra", Some(guard)) => {
                            let next = names.label();
                            let to = branch_target(instruction)?;
                            let end = RawEnd::Branch(guard, uniform, to, next);
                            graph.push(own, body, end, &mut ends);
                            open = Some((next, Vec::new()));
                        }
                        ("brx", None) => {
                            let Some(Operand::Name(list)) = instruction.operands.get(1) else {
                                return None;
                            };
                            let end = RawEnd::Switch(instruction.clone(), list);
                            graph.push(own, body, end, &mut ends);
                        }
                        ("ret" | "exit" | "trap", None) => {
                            let end = RawEnd::Leave(instruction.clone());
                            graph.push(own, body, end, &mut ends);
                        }
                        ("ret" | "exit" | "brx", Some(_)) => return None,
                        _ => {
                            body.push(statement.clone());
                            open = Some((own, body));
                        }
                    }
                }
                _ => match &mut open {
                    Some((_, body)) => body.push(statement.clone()),
                    // `.loc` directives and labels of debug information in unreachable code.
                    None => open = Some((names.label(), vec![statement.clone()])),
                },
            }
        }
        if let Some((own, body)) = open {
            let ends_there = body
                .iter()
                .any(|s| matches!(s, Statement::Instruction(_) | Statement::Block(_)));
            if ends_there && !falls_off(&body, no_return) {
                return None;
            }
            graph.push(own, body, RawEnd::Never, &mut ends);
        }
        let ids: HashMap<&str, Id> = (graph.blocks.iter().enumerate())
            .map(|(id, block)| (block.label, id))
            .collect();
        let id = |label: &str| ids.get(label).copied();
        for (block, end) in ends.iter().enumerate() {
            graph.blocks[block].end = match end {
                RawEnd::Jump(to, uniform) => End::Jump(id(to)?, *uniform),
                RawEnd::Branch(guard, uniform, to, next) => {
                    End::Branch(*guard, *uniform, id(to)?, id(next)?)
                }
                RawEnd::Switch(instruction, list) => {
                    let targets = switches.get(list)?.iter().map(|label| id(label));
                    End::Switch(instruction.clone(), targets.collect::<Option<_>>()?)
                }
                RawEnd::Leave(instruction) => End::Leave(instruction.clone()),
                RawEnd::Never => End::Never,
            };
        }
        Some(graph)
    }

    fn push(
        &mut self,
        label: &'a str,
        body: Vec<Statement<'a>>,
        end: RawEnd<'a>,
        ends: &mut Vec<RawEnd<'a>>,
    ) {
        self.order.push(self.blocks.len());
        self.blocks.push(Block {
            label,
            body,
            end: End::Never,
        });
        ends.push(end);
    }

    /// Adds a block, to be written after the block `after`, or last.
    pub fn add(&mut self, block: Block<'a>, after: Option<Id>) -> Id {
        let id = self.blocks.len();
        self.blocks.push(block);
        match after.and_then(|after| self.order.iter().position(|&id| id == after)) {
            Some(place) => self.order.insert(place + 1, id),
            None => self.order.push(id),
        }
        id
    }

    /// Adds a block, to be written before the block `before`.
    pub fn add_before(&mut self, block: Block<'a>, before: Id) -> Id {
        let id = self.add(block, None);
        if let Some(place) = self.order.iter().position(|&id| id == before) {
            self.order[place..].rotate_right(1);
        }
        id
    }

    /// Adds a register.
    pub fn register(&mut self, ty: Type, names: &'a Names) -> &'a str {
        let name = names.register();
        self.fresh.push((ty, name));
        self.types.insert(name, ty);
        name
    }

    /// Appends an instruction to `body` that writes a new register, and returns the register.
    pub fn emit(
        &mut self,
        names: &'a Names,
        body: &mut Vec<Statement<'a>>,
        ty: Type,
        opcode: &'a str,
        modifiers: &[&'a str],
        sources: impl IntoIterator<Item = Operand<'a>>,
    ) -> &'a str {
        let result = self.register(ty, names);
        let operands = std::iter::once(Operand::Name(result)).chain(sources);
        body.push(instruction(opcode, modifiers, operands.collect()));
        result
    }

    /// Appends the conjunction of two predicates to `body`, and returns its register.
    pub fn and(
        &mut self,
        names: &'a Names,
        body: &mut Vec<Statement<'a>>,
        predicates: [&'a str; 2],
    ) -> &'a str {
        let operands = predicates.map(Operand::Name);
        self.emit(names, body, Type::Pred, "and", &["pred"], operands)
    }

    /// Returns the type of a register, or `None` if the name is not that of a register.
    pub fn type_of(&self, name: &str) -> Option<Type> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        self.types
            .get(name)
            .or_else(|| self.types.get(prefix))
            .copied()
    }

    /// Returns the number of statements of all blocks, which is about that of the registers.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.body.len()).sum()
    }

    /// Returns the predecessors of each block.
    pub fn predecessors(&self) -> Vec<Vec<Id>> {
        self.predecessors_of(self.order.iter().copied())
    }

    /// Returns the predecessors of a block.
    pub fn predecessors_of_one(&self, id: Id) -> impl Iterator<Item = Id> {
        let order = self.order.iter().copied();
        order.filter(move |&from| self.blocks[from].end.leads_to(id))
    }

    /// Returns the predecessors of each block among `blocks`.
    fn predecessors_of(&self, blocks: impl Iterator<Item = Id>) -> Vec<Vec<Id>> {
        let mut all = vec![Vec::new(); self.blocks.len()];
        for id in blocks {
            for to in self.blocks[id].end.targets() {
                all[to].push(id);
            }
        }
        all
    }

    /// Returns for each block whether it is cold: all paths from it end in a panic or a trap.
    pub fn cold(&self) -> Vec<bool> {
        self.ends_in(|_| true)
    }

    /// Returns for each block whether all paths from it end in a trap, or in a call that does not
    /// return, in a block for which `is_end` is true.
    pub fn ends_in(&self, is_end: impl Fn(&Block<'a>) -> bool) -> Vec<bool> {
        let mut cold: Vec<bool> = (self.blocks.iter())
            .map(|block| match &block.end {
                End::Never => is_end(block),
                End::Leave(instruction) => instruction.opcode == "trap",
                _ => false,
            })
            .collect();
        let mut pending: Vec<Id> = (0..cold.len()).filter(|&id| cold[id]).collect();
        if pending.is_empty() {
            return cold;
        }
        // The edges, also those of blocks that are not written: for each block the last edge to it, and
        // for each edge the block that it comes from and the edge before it to the same block.
        let mut last = vec![None; cold.len()];
        let mut edges: Vec<(Id, Option<usize>)> = Vec::with_capacity(cold.len() * 2);
        for (from, block) in self.blocks.iter().enumerate() {
            for to in block.end.targets() {
                edges.push((from, last[to]));
                last[to] = Some(edges.len() - 1);
            }
        }
        while let Some(id) = pending.pop() {
            let mut next = last[id];
            while let Some(edge) = next {
                let (from, before) = edges[edge];
                if !cold[from] && self.blocks[from].end.targets().iter().all(|&to| cold[to]) {
                    cold[from] = true;
                    pending.push(from);
                }
                next = before;
            }
        }
        cold
    }

    /// Returns whether a block leaves the function, possibly after other blocks, without any effect.
    pub fn only_leaves(&self, mut id: Id) -> bool {
        for _ in 0..self.order.len() {
            let mut nothing = true;
            self.visit([id], &mut |it| nothing &= is_pure(it) || is_parameter(it));
            match self.blocks[id].end {
                End::Leave(_) => return nothing,
                End::Jump(to, _) if nothing => id = to,
                _ => return false,
            }
        }
        false
    }

    /// Returns the cold blocks and the predecessors of each block.
    pub fn shape(&self) -> Shape {
        Shape {
            cold: self.cold(),
            predecessors: self.predecessors(),
        }
    }

    /// Calls `f` with each instruction of the blocks, including those of nested blocks.
    pub fn visit<'g>(
        &'g self,
        blocks: impl IntoIterator<Item = Id>,
        f: &mut impl FnMut(&'g Instruction<'a>),
    ) {
        for id in blocks {
            for statement in &self.blocks[id].body {
                instructions(statement, f);
            }
        }
    }

    /// Removes the variables in local memory that no instruction refers to.
    pub fn remove_unused_variables(&mut self) {
        let mut used = HashSet::default();
        self.visit(self.order.iter().copied(), &mut |it| {
            for operand in &it.operands {
                visit_operand(operand, &mut |name| _ = used.insert(name));
            }
        });
        self.declarations.retain(|declaration| match declaration {
            Statement::Variable(it) => it.space != Space::Local || used.contains(it.name),
            _ => true,
        });
    }

    /// Ends a block in an indirect branch with a new list of targets.
    pub fn switch(&mut self, id: Id, branch: Instruction<'a>, list: &'a str, targets: Vec<Id>) {
        let labels = targets.iter().map(|&to| self.blocks[to].label).collect();
        self.declarations.push(Statement::BranchTargets {
            label: list,
            targets: labels,
        });
        self.blocks[id].end = End::Switch(branch, targets);
    }

    /// Replaces targets of a block, also those of an indirect branch.
    pub fn retarget(&mut self, id: Id, names: &'a Names, new: &HashMap<Id, Id>) {
        let to = |to: Id| new.get(&to).copied().unwrap_or(to);
        let (mut branch, targets) = match &mut self.blocks[id].end {
            End::Switch(_, targets) if !targets.iter().any(|it| new.contains_key(it)) => return,
            End::Switch(branch, targets) => (branch.clone(), targets.iter().copied().map(to)),
            end => return end.retarget(&to),
        };
        let targets = targets.collect();
        let list = names.label();
        let old = branch.operands.pop();
        branch.operands.push(Operand::Name(list));
        self.switch(id, branch, list, targets);
        let is_old = |label: &str| matches!(old, Some(Operand::Name(old)) if old == label);
        let is_used = self.blocks.iter().any(|block| match &block.end {
            End::Switch(branch, _) => branch.operands.last() == old.as_ref(),
            _ => false,
        });
        if !is_used {
            self.declarations.retain(|declaration| match declaration {
                Statement::BranchTargets { label, .. } => !is_old(label),
                _ => true,
            });
        }
    }

    /// Replaces the branch at the end of a block, if its predicate is among those with a known value.
    pub fn settle(&mut self, id: Id, outcomes: &HashMap<&'a str, bool>) {
        let block = &mut self.blocks[id];
        if let End::Branch(guard, _, to, otherwise) = block.end
            && let Some(outcome) = outcomes.get(guard.register)
        {
            let target = match *outcome != guard.negated {
                true => to,
                false => otherwise,
            };
            block.end = End::Jump(target, false);
        }
    }

    /// Appends the blocks that only follow a block to it.
    pub fn absorb(&mut self, id: Id) {
        let mut predecessors = self.predecessors();
        while let End::Jump(to, _) = self.blocks[id].end
            && to != id
            && to != self.order[0]
            && predecessors[to] == [id]
        {
            let body = std::mem::take(&mut self.blocks[to].body);
            self.blocks[id].body.extend(body);
            self.blocks[id].end = std::mem::replace(&mut self.blocks[to].end, End::Never);
            predecessors = self.predecessors();
        }
    }

    /// Returns whether a block ends in an indirect branch.
    pub fn has_switch(&self) -> bool {
        let mut ids = self.order.iter();
        ids.any(|&id| matches!(self.blocks[id].end, End::Switch(..)))
    }

    /// Removes empty and unreachable blocks.
    pub fn tidy(&mut self) {
        let nothing = |block: &Block<'a>| match block.end {
            End::Jump(to, _) => (block.body.iter())
                .all(|statement| matches!(statement, Statement::Loc(_)))
                .then_some(to),
            _ => None,
        };
        for id in self.order.clone() {
            let blocks = &self.blocks;
            let end_of = |mut to: Id| {
                // A cycle of empty blocks is an endless loop.
                for _ in 0..blocks.len() {
                    match nothing(&blocks[to]) {
                        Some(next) => to = next,
                        None => return to,
                    }
                }
                to
            };
            let mut end = blocks[id].end.clone();
            end.retarget(&end_of);
            self.blocks[id].end = end;
        }
        self.remove_unreachable();
    }

    /// Removes the blocks that no path from the first one reaches.
    pub fn remove_unreachable(&mut self) {
        let mut reached = HashSet::from_iter([self.order[0]]);
        let mut left = vec![self.order[0]];
        while let Some(id) = left.pop() {
            let targets = self.blocks[id].end.targets();
            left.extend(targets.into_iter().filter(|&to| reached.insert(to)));
        }
        let mut order: Vec<Id> = Vec::with_capacity(reached.len());
        for &id in &self.order {
            if reached.contains(&id) {
                order.push(id);
            } else if let Some(&before) = order.last() {
                // Debug information refers to the labels.
                let labels = std::mem::take(&mut self.blocks[id].body).into_iter();
                let labels = labels.filter(|s| matches!(s, Statement::Label(_)));
                self.blocks[before].body.extend(labels);
            }
        }
        self.order = order;
    }

    /// Converts the graph to a body.
    pub fn write(self) -> Vec<Statement<'a>> {
        let mut written = self.declarations;
        for (ty, name) in self.fresh {
            written.push(Statement::Registers(Box::new(Registers {
                ty,
                vector: None,
                names: vec![(name, None)],
                line: 0,
            })));
        }
        let mut targeted = BTreeSet::new();
        let mut bodies = Vec::new();
        let labels: Vec<&'a str> = self.blocks.iter().map(|block| block.label).collect();
        let mut blocks: Vec<Option<Block<'a>>> = self.blocks.into_iter().map(Some).collect();
        for (place, &id) in self.order.iter().enumerate() {
            let Some(Block {
                label,
                mut body,
                end,
            }) = blocks[id].take()
            else {
                continue;
            };
            let next = self.order.get(place + 1).copied();
            let mut bra = |guard, uniform: bool, to: Id| {
                targeted.insert(to);
                Statement::Instruction(Instruction {
                    guard,
                    opcode: "bra",
                    modifiers: if uniform { vec!["uni"] } else { Vec::new() },
                    operands: vec![Operand::Name(labels[to])],
                    line: 0,
                })
            };
            match end {
                End::Jump(to, _) if Some(to) == next => {}
                End::Jump(to, uniform) => body.push(bra(None, uniform, to)),
                End::Branch(guard, uniform, to, otherwise) => {
                    if Some(to) == next && Some(otherwise) != next {
                        let guard = Guard {
                            negated: !guard.negated,
                            ..guard
                        };
                        body.push(bra(Some(guard), uniform, otherwise));
                    } else {
                        body.push(bra(Some(guard), uniform, to));
                        if Some(otherwise) != next {
                            body.push(bra(None, true, otherwise));
                        }
                    }
                }
                End::Switch(instruction, targets) => {
                    targeted.extend(targets);
                    body.push(Statement::Instruction(instruction));
                }
                End::Leave(instruction) => body.push(Statement::Instruction(instruction)),
                End::Never => {}
            }
            bodies.push((id, label, body));
        }
        for (id, label, body) in bodies {
            if targeted.contains(&id) {
                written.push(Statement::Label(label));
            }
            written.extend(body);
        }
        written
    }
}

enum RawEnd<'a> {
    Jump(&'a str, bool),
    Branch(Guard<'a>, bool, &'a str, &'a str),
    Switch(Instruction<'a>, &'a str),
    Leave(Instruction<'a>),
    Never,
}

/// Returns the target of a direct branch.
fn branch_target<'a>(instruction: &Instruction<'a>) -> Option<&'a str> {
    match (instruction.opcode, instruction.operands.first()) {
        ("bra", Some(&Operand::Name(label))) => Some(label),
        _ => None,
    }
}

/// Returns whether the last statement calls a function that does not return, perhaps with `exit`
/// after the call.
fn falls_off(body: &[Statement<'_>], no_return: &HashSet<&str>) -> bool {
    let last = body
        .iter()
        .rev()
        .find(|statement| matches!(statement, Statement::Instruction(_) | Statement::Block(_)));
    let mut never = false;
    if let Some(last) = last {
        instructions(last, &mut |instruction| {
            let names = |operand: &Operand<'_>| match operand {
                Operand::Name(name) => no_return.contains(name),
                _ => false,
            };
            never = match instruction.opcode {
                "call" => instruction.operands.iter().any(names),
                // `exit_after_panics` puts it after the call.
                "exit" => never,
                _ => false,
            };
        });
    }
    never
}
