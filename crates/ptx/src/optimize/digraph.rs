//! Directed graphs of blocks: their orders, cycles and dominators.

use super::flow::Id;

/// The end of all ways through a function, as a node.
pub(super) const END: Id = Id::MAX;

/// Stands for a node without a number.
const NONE: u32 = u32::MAX;

/// The number of each node, if it has one.
#[derive(Debug)]
struct Numbers {
    blocks: Vec<u32>,
    end: u32,
}

impl Numbers {
    fn new() -> Numbers {
        Numbers {
            blocks: Vec::new(),
            end: NONE,
        }
    }

    fn get(&self, id: Id) -> Option<usize> {
        let number = match id {
            END => self.end,
            _ => self.blocks.get(id).copied().unwrap_or(NONE),
        };
        (number != NONE).then_some(number as usize)
    }

    fn set(&mut self, id: Id, number: usize) {
        let number = number as u32;
        if id == END {
            self.end = number;
            return;
        }
        if id >= self.blocks.len() {
            self.blocks.resize(id + 1, NONE);
        }
        self.blocks[id] = number;
    }
}

/// A directed graph whose nodes are blocks or [`END`], without parallel edges.
#[derive(Debug)]
pub(super) struct Digraph {
    /// The nodes, in the order in which they were added.
    nodes: Vec<Id>,
    /// The index of each node in `nodes`.
    indices: Numbers,
    /// The edges from each node, and those to it.
    after: Lists,
    before: Lists,
    /// The edges, in the order in which they were added.
    edges: Vec<(Id, Id)>,
}

/// For each node, a list of the nodes at the other ends of edges. A list is in the order in which the
/// edges were added. All lists share their memory.
#[derive(Debug)]
struct Lists {
    /// The first and the last edge of each list, or [`NONE`].
    ends: Vec<(u32, u32)>,
    /// For each edge, the index of the node, and the next edge of the same list or [`NONE`].
    edges: Vec<(u32, u32)>,
}

impl Lists {
    fn new() -> Lists {
        Lists {
            ends: Vec::new(),
            edges: Vec::new(),
        }
    }

    /// Appends a node to a list, by an edge behind all others.
    fn push(&mut self, list: usize, node: usize) {
        let edge = self.edges.len() as u32;
        self.edges.push((node as u32, NONE));
        let ends = &mut self.ends[list];
        match ends.1 {
            NONE => ends.0 = edge,
            last => self.edges[last as usize].1 = edge,
        }
        ends.1 = edge;
    }

    fn of(&self, list: usize) -> Neighbors<'_> {
        let next = self.ends[list].0;
        Neighbors { lists: self, next }
    }
}

/// An iterator over the nodes of a list.
#[derive(Clone)]
struct Neighbors<'s> {
    lists: &'s Lists,
    /// The next edge, or [`NONE`].
    next: u32,
}

impl Iterator for Neighbors<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let &(node, next) = self.lists.edges.get(self.next as usize)?;
        self.next = next;
        Some(node as usize)
    }
}

impl Digraph {
    pub fn new() -> Digraph {
        Digraph {
            nodes: Vec::new(),
            indices: Numbers::new(),
            after: Lists::new(),
            before: Lists::new(),
            edges: Vec::new(),
        }
    }

    /// Adds a node unless the graph has it. Returns its index.
    pub fn add_node(&mut self, id: Id) -> usize {
        self.indices.get(id).unwrap_or_else(|| {
            let index = self.nodes.len();
            self.indices.set(id, index);
            self.nodes.push(id);
            self.after.ends.push((NONE, NONE));
            self.before.ends.push((NONE, NONE));
            index
        })
    }

    /// Adds an edge and its nodes, unless the graph has it.
    pub fn add_edge(&mut self, from: Id, to: Id) {
        let (a, b) = (self.add_node(from), self.add_node(to));
        // One of the lists is mostly short.
        let (mut after, mut before) = (self.after.of(a), self.before.of(b));
        let is_known = loop {
            match (after.next(), before.next()) {
                (None, _) | (_, None) => break false,
                (Some(to), Some(from)) if to == b || from == a => break true,
                _ => {}
            }
        };
        if !is_known {
            self.after.push(a, b);
            self.before.push(b, a);
            self.edges.push((from, to));
        }
    }

    /// Returns the edges, in the order in which they were added.
    pub fn edges(&self) -> &[(Id, Id)] {
        &self.edges
    }

    /// Returns the nodes that follow a node.
    pub fn after(&self, id: Id) -> impl Iterator<Item = Id> {
        self.neighbors(&self.after, id)
    }

    /// Returns the nodes before a node.
    pub fn before(&self, id: Id) -> impl Iterator<Item = Id> {
        self.neighbors(&self.before, id)
    }

    fn neighbors<'s>(&'s self, lists: &'s Lists, id: Id) -> impl Iterator<Item = Id> + 's {
        let indices = self.indices.get(id).map(|index| lists.of(index));
        let indices = indices.into_iter().flatten();
        indices.map(|index| self.nodes[index])
    }

    /// Returns the nodes that a node leads to, and the node itself, in postorder.
    pub fn postorder(&self, from: Id) -> Vec<Id> {
        let order = self.postorder_of(from).into_iter();
        order.map(|index| self.nodes[index]).collect()
    }

    fn postorder_of(&self, from: Id) -> Vec<usize> {
        let mut order = Vec::new();
        let Some(start) = self.indices.get(from) else {
            return order;
        };
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut states = vec![State::New; self.nodes.len()];
        let mut pending = vec![start];
        while let Some(&index) = pending.last() {
            match states[index] {
                State::New => {
                    states[index] = State::Open;
                    let next = self.after.of(index);
                    pending.extend(next.filter(|&it| states[it] == State::New));
                }
                State::Open => {
                    states[index] = State::Done;
                    order.push(index);
                    pending.pop();
                }
                State::Done => _ = pending.pop(),
            }
        }
        order
    }

    /// Returns the strongly connected components, each after those that it leads to.
    pub fn components(&self) -> Vec<Vec<Id>> {
        // Tarjan's algorithm. A node is on `stack` from its last visit until its component is known.
        let count = self.nodes.len();
        let mut lowest = vec![NONE; count];
        let mut is_assigned = vec![false; count];
        let mut stack: Vec<usize> = Vec::new();
        let mut components = Vec::new();
        let mut next_number = 0;
        // Each node on the way from the first one, its number, and the edges that are left.
        let mut path: Vec<(usize, u32, Neighbors<'_>)> = Vec::new();
        for first in 0..count {
            if lowest[first] != NONE {
                continue;
            }
            lowest[first] = next_number;
            path.push((first, next_number, self.after.of(first)));
            next_number += 1;
            while let Some((index, number, left)) = path.last_mut() {
                let (index, number) = (*index, *number);
                if let Some(next) = left.next() {
                    if lowest[next] == NONE {
                        lowest[next] = next_number;
                        path.push((next, next_number, self.after.of(next)));
                        next_number += 1;
                    } else if !is_assigned[next] {
                        lowest[index] = lowest[index].min(lowest[next]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(before, ..)) = path.last() {
                    lowest[before] = lowest[before].min(lowest[index]);
                }
                stack.push(index);
                if lowest[index] == number {
                    // The nodes that were entered after the first of a component are in it.
                    let own = |&&it: &&usize| lowest[it] >= number;
                    let size = stack.iter().rev().take_while(own).count();
                    let component = stack.split_off(stack.len() - size);
                    component.iter().for_each(|&it| is_assigned[it] = true);
                    let ids = component.into_iter().map(|it| self.nodes[it]);
                    components.push(ids.collect());
                }
            }
        }
        components
    }

    /// Returns the dominators of the nodes that a node leads to.
    pub fn dominators(&self, from: Id) -> Dominators {
        let mut order = self.postorder_of(from);
        order.reverse();
        let mut positions = vec![NONE; self.nodes.len()];
        for (position, &index) in order.iter().enumerate() {
            positions[index] = position as u32;
        }
        let mut above = vec![NONE; order.len()];
        if let Some(first) = above.first_mut() {
            *first = 0;
        }
        // Each node is dominated by what dominates all nodes before it.
        let mut changed = true;
        while changed {
            changed = false;
            for (position, &index) in order.iter().enumerate().skip(1) {
                let before = self.before.of(index);
                let known = before
                    .map(|it| positions[it])
                    .filter(|&it| it != NONE && above[it as usize] != NONE);
                let common = known.reduce(|mut a, mut b| {
                    while a != b {
                        match a > b {
                            true => a = above[a as usize],
                            false => b = above[b as usize],
                        }
                    }
                    a
                });
                if let Some(common) = common
                    && above[position] != common
                {
                    above[position] = common;
                    changed = true;
                }
            }
        }
        let mut numbers = Numbers::new();
        let mut nodes = Vec::with_capacity(order.len());
        for (position, index) in order.into_iter().enumerate() {
            numbers.set(self.nodes[index], position);
            nodes.push(self.nodes[index]);
        }
        Dominators {
            nodes,
            numbers,
            above,
        }
    }
}

/// The dominators of the nodes that the entry leads to.
#[derive(Debug)]
pub(super) struct Dominators {
    /// The nodes in reverse postorder. The first is the entry.
    nodes: Vec<Id>,
    /// The position of each node in `nodes`.
    numbers: Numbers,
    /// The position of the immediate dominator of each node. That of the entry is its own.
    above: Vec<u32>,
}

impl Dominators {
    /// Returns the immediate dominator of a node, which the entry and unreachable nodes lack.
    pub fn immediate_dominator(&self, id: Id) -> Option<Id> {
        let number = self.numbers.get(id).filter(|&number| number > 0)?;
        Some(self.nodes[self.above[number] as usize])
    }

    /// Returns the dominators of a node from itself up to the entry, or `None` if it is unreachable.
    pub fn dominators(&self, id: Id) -> Option<impl Iterator<Item = Id>> {
        let number = self.numbers.get(id)?;
        let next = |&number: &usize| (number > 0).then(|| self.above[number] as usize);
        let all = std::iter::successors(Some(number), next);
        Some(all.map(|number| self.nodes[number]))
    }

    /// Returns whether a node is reachable and dominated by `above`.
    pub fn dominates(&self, above: Id, id: Id) -> bool {
        let (Some(above), Some(mut number)) = (self.numbers.get(above), self.numbers.get(id))
        else {
            return false;
        };
        while number > above {
            number = self.above[number] as usize;
        }
        number == above
    }

    /// Returns the nodes, each followed by the nodes that it dominates.
    pub fn in_order(&self) -> Vec<Id> {
        let mut below = vec![Vec::new(); self.nodes.len()];
        for (number, &above) in self.above.iter().enumerate().skip(1) {
            below[above as usize].push(number);
        }
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut pending: Vec<usize> = (0..self.nodes.len().min(1)).collect();
        while let Some(number) = pending.pop() {
            order.push(self.nodes[number]);
            pending.extend(&below[number]);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digraph(edges: &[(Id, Id)]) -> Digraph {
        let mut graph = Digraph::new();
        for &(from, to) in edges {
            graph.add_edge(from, to);
        }
        graph
    }

    /// Random graphs, compared with definitions.
    #[test]
    fn random_graphs() {
        let mut seed = 1u32;
        let mut random = |limit: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % limit
        };
        for _ in 0..500 {
            let count = 1 + random(9);
            let mut graph = Digraph::new();
            graph.add_node(0);
            for _ in 0..random(20) {
                let [from, to] = [0; 2].map(|_| random(count));
                graph.add_edge(from, if to == 8 { END } else { to });
            }
            let reached = |from: Id, without: Option<Id>| {
                let mut reached = Vec::new();
                let mut pending = vec![from];
                while let Some(id) = pending.pop() {
                    if Some(id) != without && !reached.contains(&id) {
                        reached.push(id);
                        pending.extend(graph.after(id));
                    }
                }
                reached
            };
            let nodes = &graph.nodes;
            let all = reached(0, None);
            let dominators = graph.dominators(0);
            for &id in nodes {
                for &above in nodes {
                    let expected = all.contains(&id) && !reached(0, Some(above)).contains(&id);
                    assert_eq!(dominators.dominates(above, id), expected, "{graph:?}");
                    let listed = dominators.dominators(id);
                    let found = listed.is_some_and(|mut all| all.any(|it| it == above));
                    assert_eq!(found, expected);
                }
                let above = dominators.dominators(id).and_then(|mut all| all.nth(1));
                assert_eq!(dominators.immediate_dominator(id), above);
                for (lists, next) in [(&graph.after, true), (&graph.before, false)] {
                    for other in graph.neighbors(lists, id) {
                        let edge = if next { (id, other) } else { (other, id) };
                        assert!(graph.edges.contains(&edge));
                    }
                }
            }
            let order = dominators.in_order();
            assert_eq!(order.len(), all.len());
            for (place, &id) in order.iter().enumerate() {
                let own = order[place..].iter();
                let count = own.take_while(|&&it| dominators.dominates(id, it)).count();
                let below = all.iter().filter(|&&it| dominators.dominates(id, it));
                assert_eq!(count, below.count());
            }
            let postorder = graph.postorder(0);
            assert_eq!(postorder.len(), all.len());
            assert_eq!(postorder.last(), Some(&0));
            let components = graph.components();
            let sizes = components.iter().map(Vec::len);
            assert_eq!(sizes.sum::<usize>(), nodes.len());
            for (place, component) in components.iter().enumerate() {
                for &id in component {
                    let together = |&other: &Id| reached(other, None).contains(&id);
                    let mut own: Vec<Id> = reached(id, None).into_iter().filter(together).collect();
                    let mut found = component.clone();
                    own.sort_unstable();
                    found.sort_unstable();
                    assert_eq!(own, found);
                    let earlier = components[..=place].concat();
                    assert!(graph.after(id).all(|it| earlier.contains(&it)));
                }
            }
        }
    }

    #[test]
    fn edges_are_in_order_and_not_parallel() {
        let graph = digraph(&[(1, 2), (2, END), (1, 1), (1, 2), (0, 1)]);
        assert_eq!(graph.edges(), [(1, 2), (2, END), (1, 1), (0, 1)]);
        assert!(graph.after(1).eq([2, 1]) && graph.before(1).eq([1, 0]));
        assert_eq!(graph.before(3).count() + graph.after(3).count(), 0);
        assert_eq!(graph.postorder(0), [END, 2, 1, 0]);
        assert!(graph.postorder(3).is_empty());
    }
}
