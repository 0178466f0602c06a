//! Control flow of a function: predecessors, reachability and dominance, for the verifier and the
//! passes.

use std::collections::{BTreeSet, HashMap};

use crate::graph::postorder;
use crate::module::Module;
use crate::value::{Block, Func};

/// The control flow graph of a function. Blocks are identified by their index in the function.
pub(crate) struct Flow {
    /// For each block, its predecessors in ascending order, once for each edge.
    predecessors: Vec<Vec<u32>>,
    /// For each reachable block, when a depth-first walk of the dominator tree enters the block and
    /// when it leaves the block's subtree.
    span: Vec<Option<(u32, u32)>>,
}

impl Flow {
    /// Computes the graph. `index` returns a block's index in the function.
    pub(crate) fn new(module: &Module, func: Func, index: impl Fn(Block) -> usize) -> Flow {
        let blocks = &module.func(func).blocks;
        let mut successors: Vec<Vec<usize>> = Vec::with_capacity(blocks.len());
        let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); blocks.len()];
        for (from, &block) in blocks.iter().enumerate() {
            let to: Vec<usize> = module
                .terminator(block)
                .and_then(|inst| module.inst(inst))
                .map(|data| data.kind.successors().into_iter().map(&index).collect())
                .unwrap_or_default();
            // `from` ascends, so the lists are sorted.
            to.iter().for_each(|&to| predecessors[to].push(from as u32));
            successors.push(to);
        }
        let entry = (!blocks.is_empty()).then_some(0);
        let mut order = postorder(blocks.len(), entry, |block, i| {
            successors[block].get(i).copied()
        });
        order.reverse();
        let idom = dominators(&order, &predecessors);
        let span = spans(&order, &idom, blocks.len());
        Flow { predecessors, span }
    }

    pub(crate) fn predecessors(&self, block: usize) -> &[u32] {
        &self.predecessors[block]
    }

    pub(crate) fn is_reachable(&self, block: usize) -> bool {
        self.span[block].is_some()
    }

    /// Returns whether `a` dominates `b`. Every block dominates an unreachable block.
    pub(crate) fn dominates(&self, a: usize, b: usize) -> bool {
        match (self.span[a], self.span[b]) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some((from, to)), Some((at, _))) => from <= at && at < to,
        }
    }

    /// Returns the immediate dominator of each reachable block but the first.
    fn dominators(&self) -> Vec<Option<usize>> {
        let mut order: Vec<usize> = (0..self.span.len())
            .filter(|&it| self.is_reachable(it))
            .collect();
        order.sort_unstable_by_key(|&block| self.span[block]);
        let mut dominators = vec![None; self.span.len()];
        let mut above: Vec<usize> = Vec::new();
        for block in order {
            while above
                .last()
                .is_some_and(|&last| !self.dominates(last, block))
            {
                above.pop();
            }
            dominators[block] = above.last().copied();
            above.push(block);
        }
        dominators
    }

    /// Returns the loops, in the order of their headers.
    pub(crate) fn loops(&self) -> Vec<Loop> {
        let mut loops = Vec::new();
        for header in (0..self.span.len()).filter(|&block| self.is_reachable(block)) {
            let from = self.predecessors(header).iter().map(|&from| from as usize);
            let mut latches: Vec<usize> = from
                .filter(|&from| self.is_reachable(from) && self.dominates(header, from))
                .collect();
            latches.dedup();
            if latches.is_empty() {
                continue;
            }
            let mut body = BTreeSet::from([header]);
            let mut pending = latches.clone();
            while let Some(block) = pending.pop() {
                if body.insert(block) {
                    let from = self.predecessors(block).iter().map(|&from| from as usize);
                    pending.extend(from.filter(|&from| self.is_reachable(from)));
                }
            }
            loops.push(Loop {
                header,
                latches,
                body,
            });
        }
        loops
    }
}

/// The immediate dominators of the blocks of a function.
pub(crate) struct Dominators {
    /// For each block, its immediate dominator, and whether the only edge to the block is from there.
    of: HashMap<Block, (Block, bool)>,
}

impl Dominators {
    pub(crate) fn new(module: &Module, func: Func) -> Dominators {
        let blocks = &module.func(func).blocks;
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let of = (flow.dominators().into_iter().enumerate())
            .filter_map(|(block, dominator)| {
                let is_only = flow.predecessors(block).len() == 1;
                Some((blocks[block], (blocks[dominator?], is_only)))
            })
            .collect();
        Dominators { of }
    }

    /// Returns the immediate dominator of a block, and whether the only edge to the block is from
    /// there: the condition of that edge then holds in the block.
    pub(crate) fn above(&self, block: Block) -> Option<(Block, bool)> {
        self.of.get(&block).copied()
    }
}

/// A natural loop. Blocks are identified by their index in the function.
pub(crate) struct Loop {
    pub(crate) header: usize,
    /// The blocks from which it goes back to the header.
    pub(crate) latches: Vec<usize>,
    pub(crate) body: BTreeSet<usize>,
}

/// Computes immediate dominators with the algorithm of Cooper, Harvey and Kennedy; `None` for
/// unreachable blocks.
fn dominators(order: &[usize], predecessors: &[Vec<u32>]) -> Vec<Option<usize>> {
    let mut rank = vec![usize::MAX; predecessors.len()];
    for (at, &block) in order.iter().enumerate() {
        rank[block] = at;
    }
    let mut idom: Vec<Option<usize>> = vec![None; predecessors.len()];
    let Some(&entry) = order.first() else {
        return idom;
    };
    idom[entry] = Some(entry);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &order[1..] {
            let mut new: Option<usize> = None;
            for &from in &predecessors[block] {
                let from = from as usize;
                if idom[from].is_none() {
                    continue;
                }
                new = Some(match new {
                    None => from,
                    Some(other) => common_dominator(&idom, &rank, from, other),
                });
            }
            if idom[block] != new {
                idom[block] = new;
                changed = true;
            }
        }
    }
    idom
}

fn common_dominator(idom: &[Option<usize>], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if rank[a] > rank[b] {
            a = idom[a].unwrap_or(b);
        } else {
            b = idom[b].unwrap_or(a);
        }
    }
    a
}

fn spans(order: &[usize], idom: &[Option<usize>], len: usize) -> Vec<Option<(u32, u32)>> {
    // Parents precede children in reverse postorder, so sizes are computed bottom-up and starts
    // top-down.
    let mut size = vec![1u32; len];
    for &block in order.iter().skip(1).rev() {
        if let Some(parent) = idom[block] {
            size[parent] += size[block];
        }
    }
    let mut span = vec![None; len];
    let mut next = vec![0u32; len];
    for (at, &block) in order.iter().enumerate() {
        let start = match idom[block] {
            Some(parent) if at > 0 => {
                let start = next[parent];
                next[parent] += size[block];
                start
            }
            _ => 0,
        };
        next[block] = start + 1;
        span[block] = Some((start, start + size[block]));
    }
    span
}
