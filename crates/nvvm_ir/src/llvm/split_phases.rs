//! Splits loops that go through phases, in LLVM's text.
//!
//! The text is changed instead of a module, because a module lacks metadata of LLVM's.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Reader;
use super::fold::compared;
use super::nest_loops::{Body, incoming, is_plain, is_reducible, with_bodies, with_names};
use super::unroll_swaps::{type_of_any, type_of_word, without_scopes};
use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, Callee, CastOp, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::passes::is_in_static;
use crate::read::ReadError;
use crate::types::{AddrSpace, TypeKind};
use crate::value::{Block, Const, Func, Value, ValueKind};

/// The maximum number of blocks of a loop.
const BLOCKS: usize = 24;
/// The maximum number of instructions of a loop.
const INSTS: usize = 256;
/// The maximum growth of the number of blocks and instructions, in halves.
const GROWTH: usize = 6;
/// The same if no address tells the phase: the first iteration differs from the others.
const FIRST_GROWTH: usize = 3;
/// The maximum number of states of blocks before equivalent ones are merged.
const NODES: usize = 512;
/// The maximum number of loops of a function that are split.
const LOOPS: usize = 8;
/// The maximum number of instructions of the code for all states of a loop's counters, without those whose
/// results are known.
const UNROLLED: usize = 800;
/// The maximum number of values among which a phi chooses.
const VALUES: usize = 64;
/// The maximum length of a chain of instructions before a loop that tells whether a value is null.
pub(super) const DEPTH: usize = 8;

/// Splits loops whose phis tell in which phase the loop is: one of them is an address that the loop sets to
/// null.
///
/// `for x in a.iter().chain(b)` is one loop. A phi of its header is the address of the next element of
/// `a`, or null as soon as `a` is exhausted, and each iteration tests it. The loop becomes two loops,
/// one after the other. `for x in option.into_iter().chain(other)` becomes code without a loop. Of
/// `for x in a.skip(n)`, each iteration tests whether elements are still to skip; only the first one does
/// after the split. The first iteration of a loop around another one is split off if a phi tells that it
/// differs from the others.
///
/// A block is copied for the facts that decide its branch or a later one. The loop remains one if
/// a phase could follow a later one.
pub(super) fn split_phases(text: &str, reader: &mut Reader) -> Result<String, ReadError> {
    split(text, reader, &[Numbers::Constants, Numbers::None], "phase")
}

/// Unrolls loops with inner loops that go on where the iteration before has left them, if all of them count
/// between constants.
///
/// `for x in (0..3).flat_map(|i| (0..8).filter(…))` becomes code without a loop, with a copy of each block for
/// each state of the counters. LLVM unrolls only loops that start anew.
pub(super) fn unroll_resumed(text: &str, reader: &mut Reader) -> Result<String, ReadError> {
    split(text, reader, &[Numbers::Resumed], "state")
}

fn split(
    text: &str,
    reader: &mut Reader,
    numbers: &[Numbers],
    label: &str,
) -> Result<String, ReadError> {
    let mut text = text.to_owned();
    for round in 0..LOOPS {
        let read = reader.read(&text)?;
        // The loops of a function that may be split. A round splits the first of them that it can.
        let mut splits: HashMap<&str, Vec<Vec<Split>>> = HashMap::new();
        for func in read.funcs() {
            let found = Split::all(read, func, numbers);
            if !found.is_empty() {
                splits.insert(read.func(func).name.as_str(), vec![found]);
            }
        }
        let new = with_bodies(&text, &splits, |body, splits, _| {
            let mut splits = splits.iter();
            splits.find_map(|split| body.clone().split_loop(split, &format!("{label}.{round}")))
        });
        if new == text {
            break;
        }
        text = new;
    }
    Ok(text)
}

/// What is known about a value unless it is poison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fact {
    /// A number, or an address as a number.
    Int(u128),
    /// Neither zero nor null.
    NonZero,
}

pub(super) type Facts = BTreeMap<Value, Fact>;

/// The target of an edge in a loop that is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Target {
    /// A block outside, by its index.
    Outside(usize),
    /// A copy of a block.
    Copy(usize),
}

/// A copy of a block of a loop.
#[derive(Clone, Debug)]
struct Copy {
    /// The block's index.
    block: usize,
    /// The targets of the terminator, in the order of its successors. A terminator that is decided
    /// has one.
    to: Vec<Target>,
    is_decided: bool,
}

/// A loop and its copies. Blocks are given by their index in the function.
pub(super) struct Split {
    header: usize,
    body: BTreeSet<usize>,
    copies: Vec<Copy>,
    /// The copy of the header to which each edge into the loop leads, by its source.
    entries: BTreeMap<usize, usize>,
}

impl Split {
    /// Returns the splits of a function's loops that are good, those of inner loops first.
    fn all(module: &Module, func: Func, numbers: &[Numbers]) -> Vec<Split> {
        let mut found: Vec<Split> = Vec::new();
        for &numbers in numbers {
            for_each_loop(module, func, numbers, |states, flow| {
                found.extend(states.split(flow));
            });
        }
        found.sort_by_key(|split| split.body.len());
        found
    }

    /// Returns whether the copies are within a limit, form loops that are each entered at one block, and
    /// none of the loops has two copies of a block.
    fn is_good(&self, module: &Module, blocks: &[Block], limit: &Limit) -> bool {
        let size = |block: usize| module.block(blocks[block]).insts.len();
        let before: usize = self.body.iter().map(|&block| size(block)).sum();
        let after: usize = self.copies.iter().map(|copy| size(copy.block)).sum();
        let is_small = match limit {
            Limit::Growth(growth) => {
                2 * self.copies.len() <= growth * self.body.len() && 2 * after <= growth * before
            }
            Limit::Without(_) => true,
        };
        let root = self.copies.len();
        let successors = |copy: usize| -> Vec<usize> {
            match self.copies.get(copy) {
                None => self.entries.values().copied().collect(),
                Some(copy) => (copy.to.iter())
                    .filter_map(|to| match to {
                        Target::Copy(copy) => Some(*copy),
                        Target::Outside(_) => None,
                    })
                    .collect(),
            }
        };
        let all: BTreeSet<usize> = (0..=root).collect();
        let next: Vec<Vec<usize>> = all.iter().map(|&copy| successors(copy)).collect();
        let cycles = crate::graph::cycles(root + 1, |copy, i| next[copy].get(i).copied());
        let is_once = |cycle: &Vec<usize>| {
            let of: HashSet<usize> = cycle.iter().map(|&copy| self.copies[copy].block).collect();
            let is_unrolled = match limit {
                Limit::Growth(_) => true,
                Limit::Without(headers) => headers.iter().all(|header| !of.contains(header)),
            };
            of.len() == cycle.len() && is_unrolled
        };
        self.copies.len() > self.body.len()
            && is_small
            && cycles.iter().all(is_once)
            && is_reducible(&all, root, successors)
    }
}

/// A limit for the copies of a loop's blocks.
enum Limit {
    /// The maximum growth of the number of blocks and instructions, in halves.
    Growth(usize),
    /// The headers of which no copy is in a loop.
    Without(BTreeSet<usize>),
}

/// Which integers of more than eight bits that a loop carries may tell in which phase it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Those that are addresses.
    None,
    /// Also those that are chosen among constants, and those that each iteration sets to zero.
    Constants,
    /// Also all others, if inner loops go on where the iteration before has left them.
    Resumed,
}

/// Calls `f` with the small loops of a function whose phis decide branches.
pub(super) fn for_each_loop(
    module: &Module,
    func: Func,
    numbers: Numbers,
    mut f: impl FnMut(&States<'_>, &Flow),
) {
    let blocks = &module.func(func).blocks;
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let loops = flow.loops();
    let headers: BTreeSet<usize> = loops.iter().map(|each| each.header).collect();
    // Unreachable blocks may lead into the middle.
    let is_entered = |each: &Loop| {
        let mut inner = each.body.iter().filter(|&&block| block != each.header);
        let mut before = flow.predecessors(each.header).iter();
        inner.all(|&block| {
            let mut from = flow.predecessors(block).iter();
            from.all(|&from| each.body.contains(&(from as usize)))
        }) && before.all(|&from| flow.is_reachable(from as usize))
    };
    for each in &loops {
        if is_small(module, blocks, each)
            && is_entered(each)
            && let Some(states) = States::new(module, blocks, &index, each, &headers, numbers)
        {
            f(&states, &flow);
        }
    }
}

fn is_small(module: &Module, blocks: &[Block], each: &Loop) -> bool {
    let body = || each.body.iter().map(|&block| blocks[block]);
    let size: usize = body().map(|block| module.block(block).insts.len()).sum();
    let mut insts = body().flat_map(|block| &module.block(block).insts);
    let keeps = |block: usize| {
        let data = module.block(blocks[block]);
        data.no_unroll || data.unroll_count.is_some()
    };
    each.body.len() <= BLOCKS
        && size <= INSTS
        && body().all(|block| is_plain(module, block))
        && !each.latches.iter().any(|&latch| keeps(latch))
        && !insts.any(|&inst| {
            let kind = module.inst(inst).map(|data| &data.kind);
            matches!(kind, Some(InstKind::Alloca { .. }))
        })
}

/// The values of a loop that decide its branches.
pub(super) struct States<'a> {
    pub(super) module: &'a Module,
    blocks: &'a [Block],
    index: &'a HashMap<Block, usize>,
    each: &'a Loop,
    /// The headers of all loops.
    headers: &'a BTreeSet<usize>,
    numbers: Numbers,
    /// What inner loops carry, if the values of the loop's phis depend on it. Empty unless all numbers
    /// may be states.
    resumed: HashSet<Value>,
    /// The values that decide branches or are assumed, in the order of the blocks' instructions.
    pub(super) tracked: BTreeMap<usize, Vec<Value>>,
    all: HashSet<Value>,
    /// The tracked values on which the branches of a block and later ones depend, at its start.
    live: HashMap<usize, HashSet<Value>>,
}

/// Among what phis and selects choose a value.
struct Chosen {
    is_address: bool,
    /// Null or zero is one of the values.
    may_be_null: bool,
    /// All of the values are constants.
    is_constant: bool,
}

/// A block with what is known when it starts.
pub(super) type Node = (usize, Facts);

impl<'a> States<'a> {
    fn new(
        module: &'a Module,
        blocks: &'a [Block],
        index: &'a HashMap<Block, usize>,
        each: &'a Loop,
        headers: &'a BTreeSet<usize>,
        numbers: Numbers,
    ) -> Option<States<'a>> {
        let mut states = States {
            module,
            blocks,
            index,
            each,
            headers,
            numbers,
            resumed: HashSet::new(),
            tracked: BTreeMap::new(),
            all: HashSet::new(),
            live: HashMap::new(),
        };
        if numbers == Numbers::Resumed {
            states.resumed = states.resumed()?;
        }
        let conds = each.body.iter().flat_map(|&block| states.conditions(block));
        let mut pending: Vec<Value> = conds.collect();
        while let Some(value) = pending.pop() {
            if states.is_inside(value) && states.is_state(value) && states.all.insert(value) {
                pending.extend(states.operands(value));
            }
        }
        let header = &module.block(blocks[each.header]).insts;
        let mut phis = (header.iter()).filter(|&inst| module.is_phi(*inst));
        let is_phase = |phi: Value| {
            numbers == Numbers::Resumed
                || states.may_be_null(phi)
                || states.is_reset(phi)
                || states.is_of_first(phi)
        };
        if !phis.any(|&phi| states.all.contains(&phi) && is_phase(phi)) {
            return None;
        }
        for &block in &each.body {
            let insts = module.block(blocks[block]).insts.iter().copied();
            let tracked = insts.filter(|inst| states.all.contains(inst)).collect();
            states.tracked.insert(block, tracked);
        }
        states.find_live();
        Some(states)
    }

    pub(super) fn is_inside(&self, value: Value) -> bool {
        let data = self.module.inst(value);
        data.is_some_and(|data| self.each.body.contains(&self.index[&data.block]))
    }

    fn terminator(&self, block: usize) -> Option<&'a InstKind> {
        let inst = self.module.terminator(self.blocks[block])?;
        self.module.inst(inst).map(|data| &data.kind)
    }

    /// Returns the value that decides where a block continues.
    fn decider(&self, block: usize) -> Option<Value> {
        match self.terminator(block)? {
            InstKind::CondBr { cond, .. } => Some(*cond),
            InstKind::Switch { value, .. } => Some(*value),
            _ => None,
        }
    }

    /// Returns the conditions that a block assumes whenever it runs.
    fn assumed(&self, block: usize) -> Vec<Value> {
        let mut conds = Vec::new();
        for &inst in &self.module.block(self.blocks[block]).insts {
            let Some(InstKind::Call(call)) = self.module.inst(inst).map(|data| &data.kind) else {
                continue;
            };
            match call.callee {
                Callee::Intrinsic(Intrinsic::Assume) => conds.extend(call.args.first()),
                Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) => {}
                // The call may not return.
                _ => break,
            }
        }
        conds
    }

    /// Returns the value that decides where a block continues, and the conditions that it assumes.
    fn conditions(&self, block: usize) -> Vec<Value> {
        let mut conds = self.assumed(block);
        conds.extend(self.decider(block));
        conds
    }

    /// Returns whether a value may tell in which phase the loop is. Other integers that a loop carries, such
    /// as counters, would not decide a branch of later iterations. What an inner loop carries tells in
    /// which phase that loop is.
    fn is_state(&self, value: Value) -> bool {
        let module = self.module;
        if !module.is_phi(value) {
            return true;
        }
        let bits = module.types.int_bits(module.ty(value));
        let block = module.inst(value).map(|data| self.index[&data.block]);
        let is_inner = block.is_some_and(|it| it != self.each.header && self.headers.contains(&it));
        if self.numbers == Numbers::Resumed {
            return !is_inner || self.resumed.contains(&value);
        }
        let is_number = bits.is_some_and(|bits| bits > 8) && !self.chosen(value).is_address;
        let is_state = !is_number
            || self.is_reset(value)
            || self.numbers == Numbers::Constants && self.chosen(value).is_constant;
        is_state && !is_inner
    }

    /// Returns the numbers that inner loops carry and that decide how the next iteration starts. Returns
    /// `None` unless an inner loop also starts with what the iteration before has left.
    fn resumed(&self) -> Option<HashSet<Value>> {
        let module = self.module;
        let body = &self.each.body;
        let phis = |block: usize| {
            let insts = module.block(self.blocks[block]).insts.iter().copied();
            insts
                .take_while(|&inst| module.is_phi(inst))
                .filter(|&inst| {
                    let bits = module.types.int_bits(module.ty(inst));
                    bits.is_some_and(|bits| (9..=64).contains(&bits))
                })
        };
        let inner: Vec<Value> = (body.iter().copied())
            .filter(|block| *block != self.each.header && self.headers.contains(block))
            .flat_map(phis)
            .collect();
        let own: Vec<Value> = phis(self.each.header).collect();
        let needed = |phi: Value| self.needed(phi, &own);
        let of_own: Vec<(Value, HashSet<Value>)> =
            own.iter().map(|&phi| (phi, needed(phi))).collect();
        let resumed: HashSet<Value> = (inner.into_iter())
            .filter(|inner| of_own.iter().any(|(_, needed)| needed.contains(inner)))
            .collect();
        let goes_on = |inner: Value| {
            let starts = needed(inner);
            let mut own = of_own.iter();
            own.any(|(phi, needed)| needed.contains(&inner) && starts.contains(phi))
        };
        resumed
            .iter()
            .any(|&inner| goes_on(inner))
            .then_some(resumed)
    }

    /// Returns the values of the loop from which a phi's value is computed, not beyond `last`.
    fn needed(&self, phi: Value, last: &[Value]) -> HashSet<Value> {
        let (mut seen, mut pending) = (HashSet::new(), Vec::new());
        if let Some(InstKind::Phi(incoming)) = self.module.inst(phi).map(|data| &data.kind) {
            pending.extend(incoming.iter().map(|&(value, _)| value));
        }
        while let Some(value) = pending.pop() {
            let is_plain = match self.module.inst(value).map(|data| &data.kind) {
                Some(
                    InstKind::Phi(_)
                    | InstKind::Bin { .. }
                    | InstKind::Cast { .. }
                    | InstKind::Select { .. },
                ) => self.is_inside(value),
                _ => false,
            };
            if is_plain && seen.insert(value) && !last.contains(&value) {
                let data = self.module.inst(value);
                data.into_iter()
                    .for_each(|data| data.kind.for_each_operand(|operand| pending.push(operand)));
            }
        }
        seen
    }

    /// Returns whether an operation is one of numbers whose result is tracked.
    fn computes(&self, op: BinOp) -> bool {
        use BinOp::*;
        let is_sum = matches!(op, Add | Sub | Mul | Shl | LShr);
        matches!(op, And | Or | Xor) || is_sum && self.numbers == Numbers::Resumed
    }

    /// Returns whether a value is a number that each iteration sets to zero, as that of the elements which
    /// `skip` and `step_by` have still to skip. It sets the first iteration apart.
    fn is_reset(&self, value: Value) -> bool {
        let module = self.module;
        let Some(data) = module.inst(value) else {
            return false;
        };
        let InstKind::Phi(incoming) = &data.kind else {
            return false;
        };
        let is_zero = |value: Value| {
            let constant = module.as_const(value);
            matches!(constant, Some(Const::Zero | Const::Int(0)))
        };
        let (inside, outside): (Vec<_>, Vec<_>) =
            (incoming.iter()).partition(|(_, from)| self.each.body.contains(&self.index[from]));
        self.numbers == Numbers::Constants
            && self.index[&data.block] == self.each.header
            && module.types.int_bits(module.ty(value)).is_some()
            && inside.iter().all(|&&(value, _)| is_zero(value))
            && outside.iter().any(|&&(value, _)| !is_zero(value))
    }

    /// Returns whether a phi may be an address that the loop sets to null.
    fn may_be_null(&self, phi: Value) -> bool {
        let chosen = self.chosen(phi);
        chosen.is_address && chosen.may_be_null
    }

    /// Returns whether a phi tells whether an iteration is the first one of a loop around another loop.
    /// LLVM only peels loops without inner loops.
    fn is_of_first(&self, phi: Value) -> bool {
        let body = &self.each.body;
        let headers = self.headers.iter().filter(|it| body.contains(it));
        let is_around = headers.count() > 1;
        let Some(InstKind::Phi(incoming)) = self.module.inst(phi).map(|data| &data.kind) else {
            return false;
        };
        let values = |is_back: bool| -> Option<u128> {
            let mut values = (incoming.iter())
                .filter(|(_, from)| body.contains(&self.index[from]) == is_back)
                .map(|&(value, _)| match self.module.as_const(value)? {
                    Const::Int(number) => Some(*number),
                    Const::Zero => Some(0),
                    _ => None,
                });
            let first = values.next()??;
            values.all(|value| value == Some(first)).then_some(first)
        };
        is_around && matches!((values(false), values(true)), (Some(a), Some(b)) if a != b)
    }

    /// Returns among what a value is chosen.
    fn chosen(&self, value: Value) -> Chosen {
        let (mut seen, mut pending) = (HashSet::new(), vec![value]);
        let (mut is_address, mut may_be_null, mut is_constant) = (false, false, true);
        while let Some(value) = pending.pop() {
            if !seen.insert(value) {
                continue;
            }
            may_be_null |= match self.module.as_const(value) {
                Some(Const::Zero | Const::Int(0)) => true,
                Some(_) => false,
                None => {
                    is_address |= self.is_generic(value);
                    false
                }
            };
            if seen.len() > VALUES {
                is_constant = false;
                break;
            }
            match self.module.inst(value).map(|data| &data.kind) {
                Some(InstKind::Phi(_)) => pending.extend(self.operands(value)),
                Some(&InstKind::Select {
                    then, otherwise, ..
                }) => pending.extend([then, otherwise]),
                Some(&InstKind::Cast {
                    op: CastOp::PtrToInt | CastOp::IntToPtr,
                    value,
                }) => pending.push(value),
                _ => is_constant &= self.module.as_const(value).is_some(),
            }
        }
        Chosen {
            is_address,
            may_be_null,
            is_constant,
        }
    }

    /// Returns the values from which a tracked value's fact follows.
    fn operands(&self, value: Value) -> Vec<Value> {
        let module = self.module;
        match module.inst(value).map(|data| &data.kind) {
            Some(InstKind::Phi(incoming)) => incoming.iter().map(|&(value, _)| value).collect(),
            Some(&InstKind::Cast {
                op: CastOp::PtrToInt | CastOp::IntToPtr | CastOp::ZExt | CastOp::Trunc,
                value,
            }) => vec![value],
            Some(&InstKind::ICmp { lhs, rhs, .. }) => vec![lhs, rhs],
            Some(&InstKind::Bin { op, lhs, rhs, .. }) if self.computes(op) => vec![lhs, rhs],
            Some(&InstKind::Select {
                cond,
                then,
                otherwise,
            }) => vec![cond, then, otherwise],
            Some(InstKind::Gep {
                base,
                inbounds: true,
                ..
            }) => vec![*base],
            _ => Vec::new(),
        }
    }

    /// Adds a value and the values from which its fact follows. Those are of the same iteration.
    fn add_live(&self, live: &mut HashSet<Value>, value: Value) {
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            if self.all.contains(&value) && live.insert(value) && !self.module.is_phi(value) {
                pending.extend(self.operands(value));
            }
        }
    }

    /// Returns the successors of a block in the loop.
    fn inside(&self, block: usize) -> Vec<usize> {
        let to = self.terminator(block).map(InstKind::successors);
        let to = to.into_iter().flatten().map(|to| self.index[&to]);
        to.filter(|to| self.each.body.contains(to)).collect()
    }

    fn phis(&self, block: usize) -> impl Iterator<Item = Value> {
        let tracked = self.tracked[&block].iter().copied();
        tracked.filter(|&value| self.module.is_phi(value))
    }

    fn find_live(&mut self) {
        self.live = (self.each.body.iter())
            .map(|&block| (block, HashSet::new()))
            .collect();
        loop {
            let mut changed = false;
            for &block in self.each.body.iter().rev() {
                let mut live: HashSet<Value> = HashSet::new();
                for value in self.conditions(block) {
                    self.add_live(&mut live, value);
                }
                for to in self.inside(block) {
                    let phis: Vec<Value> = self.phis(to).collect();
                    for &value in self.live[&to].iter().filter(|value| !phis.contains(value)) {
                        self.add_live(&mut live, value);
                    }
                    for phi in phis.iter().filter(|phi| self.live[&to].contains(phi)) {
                        if let Some(value) = self.module.incoming(*phi, self.blocks[block]) {
                            self.add_live(&mut live, value);
                        }
                    }
                }
                for value in &self.tracked[&block] {
                    if !self.module.is_phi(*value) {
                        live.remove(value);
                    }
                }
                changed |= live != self.live[&block];
                self.live.insert(block, live);
            }
            if !changed {
                return;
            }
        }
    }

    /// Returns what is known about a value of which `facts` has no better knowledge.
    pub(super) fn fact(&self, facts: &Facts, value: Value, depth: usize) -> Option<Fact> {
        let module = self.module;
        if let Some(&fact) = facts.get(&value) {
            return Some(fact);
        }
        match module.as_const(value) {
            Some(&Const::Int(number)) => return Some(Fact::Int(number)),
            Some(Const::Zero) if self.is_number(value) => return Some(Fact::Int(0)),
            Some(Const::IntToPtr(address)) => return Some(Fact::Int((*address).into())),
            Some(&Const::PtrToInt(address))
                if module.types.int_bits(module.ty(value)) == Some(64) =>
            {
                return self.fact(facts, address, 0);
            }
            Some(Const::Addr { .. }) if self.is_generic(value) => {
                return is_in_static(module, value).then_some(Fact::NonZero);
            }
            Some(_) => return None,
            None => {}
        }
        if let ValueKind::Param(func, at) = module.value(value).kind {
            let attrs = &module.func(func).param_attrs[at as usize];
            return (attrs.nonnull || attrs.dereferenceable > 0).then_some(Fact::NonZero);
        }
        if depth == 0 || self.is_inside(value) {
            return None;
        }
        self.computed(facts, value, depth - 1)
    }

    fn is_number(&self, value: Value) -> bool {
        let ty = self.module.ty(value);
        let is_int = self
            .module
            .types
            .int_bits(ty)
            .is_some_and(|bits| bits <= 64);
        is_int || self.is_generic(value)
    }

    /// Returns whether a value is an address at which null is no variable.
    fn is_generic(&self, value: Value) -> bool {
        let kind = self.module.types.kind(self.module.ty(value));
        matches!(kind, TypeKind::Ptr(AddrSpace::Generic))
    }

    /// Returns what is known about the result of an instruction.
    fn computed(&self, facts: &Facts, value: Value, depth: usize) -> Option<Fact> {
        use Fact::*;
        let module = self.module;
        let of = |value: Value| self.fact(facts, value, depth);
        let bits = |value: Value| module.types.int_bits(module.ty(value));
        if !self.is_number(value) {
            return None;
        }
        match module.inst(value)?.kind {
            InstKind::Cast { op, value: from } if self.is_number(from) => match op {
                CastOp::PtrToInt if bits(value) == Some(64) => of(from),
                CastOp::IntToPtr if bits(from) == Some(64) => of(from),
                CastOp::ZExt => of(from),
                CastOp::Trunc => match of(from)? {
                    Int(number) => Some(Int(number & (u128::MAX >> (128 - bits(value)?)))),
                    NonZero => None,
                },
                _ => None,
            },
            InstKind::Bin { op, lhs, rhs, .. } => match (op, of(lhs), of(rhs)) {
                (BinOp::And, Some(Int(0)), _) | (BinOp::And, _, Some(Int(0))) => Some(Int(0)),
                (BinOp::And, Some(Int(a)), Some(Int(b))) => Some(Int(a & b)),
                (BinOp::Or, Some(Int(a)), Some(Int(b))) => Some(Int(a | b)),
                (BinOp::Or, Some(known), _) | (BinOp::Or, _, Some(known))
                    if bits(value) == Some(1) && known == Int(1) =>
                {
                    Some(Int(1))
                }
                (BinOp::Xor, Some(Int(a)), Some(Int(b))) => Some(Int(a ^ b)),
                (_, Some(Int(a)), Some(Int(b))) if self.computes(op) => {
                    let bits = bits(value)?;
                    let distance = (b < bits.into()).then_some(b as u32);
                    let number = match op {
                        BinOp::Add => a.wrapping_add(b),
                        BinOp::Sub => a.wrapping_sub(b),
                        BinOp::Mul => a.wrapping_mul(b),
                        BinOp::Shl => a << distance?,
                        BinOp::LShr => a >> distance?,
                        _ => return None,
                    };
                    Some(Int(number & (u128::MAX >> (128 - bits))))
                }
                _ => None,
            },
            InstKind::Select {
                cond,
                then,
                otherwise,
            } => match self.truth(of(cond)) {
                Some(true) => of(then),
                Some(false) => of(otherwise),
                None => {
                    let (then, otherwise) = (of(then)?, of(otherwise)?);
                    match (then, otherwise) {
                        _ if then == otherwise => Some(then),
                        (Int(0), _) | (_, Int(0)) => None,
                        _ => Some(NonZero),
                    }
                }
            },
            InstKind::ICmp { pred, lhs, rhs } if self.is_number(lhs) => {
                let result = match (of(lhs)?, of(rhs)?) {
                    (Int(a), Int(b)) => compared(pred, a, b, bits(lhs).unwrap_or(64))?,
                    (NonZero, Int(0)) => match pred {
                        IntPred::Eq | IntPred::Ule => false,
                        IntPred::Ne | IntPred::Ugt => true,
                        _ => return None,
                    },
                    _ => return None,
                };
                Some(Int(result.into()))
            }
            // An address within a variable, or its end, is not null unless all are.
            InstKind::Gep {
                base,
                inbounds: true,
                ..
            } if self.is_generic(base) => match of(base)? {
                Int(0) => None,
                _ => Some(NonZero),
            },
            InstKind::Load { access, .. } => access.nonnull.then_some(NonZero),
            InstKind::Alloca { .. } => Some(NonZero),
            _ => None,
        }
    }

    fn truth(&self, fact: Option<Fact>) -> Option<bool> {
        match fact? {
            Fact::Int(number) => Some(number != 0),
            Fact::NonZero => Some(true),
        }
    }

    /// Adds a fact about a value, and those that follow for the values from which it is computed.
    fn assume(&self, facts: &mut Facts, value: Value, fact: Fact) {
        let module = self.module;
        let fact = match (fact, module.types.int_bits(module.ty(value))) {
            (Fact::NonZero, Some(1)) => Fact::Int(1),
            _ => fact,
        };
        if !self.is_inside(value) || facts.contains_key(&value) && fact == Fact::NonZero {
            return;
        }
        if facts.insert(value, fact) == Some(fact) {
            return;
        }
        let truth = self.truth(Some(fact));
        match module.inst(value).map(|data| &data.kind) {
            Some(&InstKind::Cast {
                op: CastOp::PtrToInt | CastOp::IntToPtr,
                value: from,
            }) if self.is_number(from)
                && self.is_number(value)
                && [value, from].iter().all(|&value| {
                    let bits = module.types.int_bits(module.ty(value));
                    bits.is_none_or(|bits| bits == 64)
                }) =>
            {
                self.assume(facts, from, fact);
            }
            Some(&InstKind::Cast {
                op: CastOp::ZExt,
                value: from,
            }) if self.is_number(from) => {
                let bits = module.types.int_bits(module.ty(from)).unwrap_or(0);
                match fact {
                    Fact::Int(number) if number >> bits != 0 => {}
                    _ => self.assume(facts, from, fact),
                }
            }
            Some(&InstKind::ICmp { pred, lhs, rhs }) if self.is_number(lhs) => {
                let is_equal = match (pred, truth) {
                    (IntPred::Eq, Some(truth)) => truth,
                    (IntPred::Ne, Some(truth)) => !truth,
                    _ => return,
                };
                for (value, other) in [(lhs, rhs), (rhs, lhs)] {
                    match (self.fact(facts, other, 0), is_equal) {
                        (Some(fact), true) => self.assume(facts, value, fact),
                        (Some(Fact::Int(0)), false) => self.assume(facts, value, Fact::NonZero),
                        _ => {}
                    }
                }
            }
            Some(&InstKind::Select {
                cond,
                then,
                otherwise,
            }) if module.types.int_bits(module.ty(value)) == Some(1) => {
                let of = |value: Value| self.truth(self.fact(facts, value, 0));
                let (then_is, otherwise_is) = (of(then), of(otherwise));
                let (Some(truth), is_bit) = (truth, self.is_number(cond)) else {
                    return;
                };
                // `and` and `or` that evaluate their second operand only if it matters.
                if is_bit && then_is == Some(!truth) {
                    self.assume(facts, cond, Fact::Int(0));
                    self.assume(facts, otherwise, Fact::Int(truth.into()));
                } else if is_bit && otherwise_is == Some(!truth) {
                    self.assume(facts, cond, Fact::Int(1));
                    self.assume(facts, then, Fact::Int(truth.into()));
                }
            }
            Some(&InstKind::Bin {
                op: op @ (BinOp::And | BinOp::Or | BinOp::Xor),
                lhs,
                rhs,
                ..
            }) if module.types.int_bits(module.ty(value)) == Some(1) => match (op, truth) {
                (BinOp::And, Some(true)) | (BinOp::Or, Some(false)) => {
                    self.assume(facts, lhs, fact);
                    self.assume(facts, rhs, fact);
                }
                (BinOp::Xor, Some(truth)) => {
                    if let Some(known) = self.truth(self.fact(facts, rhs, 0)) {
                        self.assume(facts, lhs, Fact::Int((known != truth).into()));
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Adds the facts that follow from others about the values of an iteration in `known`.
    fn refresh(&self, facts: &mut Facts, known: &HashSet<Value>) {
        for &block in &self.each.body {
            for &value in self.tracked[&block].iter().filter(|it| known.contains(it)) {
                if !facts.contains_key(&value)
                    && !self.module.is_phi(value)
                    && let Some(fact) = self.computed(facts, value, DEPTH)
                {
                    facts.insert(value, fact);
                }
            }
        }
    }

    /// Returns what is known at the start of a block after an edge.
    fn enter(&self, facts: &Facts, from: Block, to: usize) -> Facts {
        let phis: Vec<Value> = self.phis(to).collect();
        let live = &self.live[&to];
        let mut new: Facts = (facts.iter())
            .filter(|(value, _)| live.contains(value) && !phis.contains(value))
            .map(|(&value, &fact)| (value, fact))
            .collect();
        for phi in phis.into_iter().filter(|phi| live.contains(phi)) {
            let value = self.module.incoming(phi, from);
            if let Some(fact) = value.and_then(|value| self.fact(facts, value, DEPTH)) {
                new.insert(phi, fact);
            }
        }
        new
    }

    /// Returns the edges from a node, and whether it is decided which one is taken.
    fn edges(&self, node: &Node) -> (Vec<(usize, Facts)>, bool) {
        let block = &node.0;
        let facts = self.facts_in(node);
        let mut known = self.live[block].clone();
        known.extend(&self.tracked[block]);
        let with = |value: Value, fact: Option<Fact>| {
            let mut facts = facts.clone();
            if let Some(fact) = fact {
                self.assume(&mut facts, value, fact);
                // Facts of later instructions follow from those of earlier ones.
                self.refresh(&mut facts, &known);
                self.refresh(&mut facts, &known);
            }
            facts
        };
        let at = |to: &Block| self.index[to];
        match self.terminator(*block) {
            Some(InstKind::CondBr {
                cond,
                then,
                otherwise,
            }) => match self.truth(self.fact(&facts, *cond, DEPTH)) {
                _ if then == otherwise => (vec![(at(then), facts.clone()); 2], false),
                Some(true) => (vec![(at(then), facts)], true),
                Some(false) => (vec![(at(otherwise), facts)], true),
                None => {
                    let then = (at(then), with(*cond, Some(Fact::Int(1))));
                    let otherwise = (at(otherwise), with(*cond, Some(Fact::Int(0))));
                    (vec![then, otherwise], false)
                }
            },
            Some(InstKind::Switch {
                value,
                default,
                cases,
            }) => {
                if let Some(Fact::Int(number)) = self.fact(&facts, *value, DEPTH) {
                    let case = cases.iter().find(|(case, _)| *case == number);
                    let to = case.map_or(default, |(_, to)| to);
                    return (vec![(at(to), facts)], true);
                }
                let tests_zero = cases.iter().any(|&(case, _)| case == 0);
                let rest = tests_zero.then_some(Fact::NonZero);
                let targets = || {
                    let cases = cases.iter().map(|(_, to)| to);
                    cases.chain([default])
                };
                let is_only = |to: &Block| targets().filter(|&it| it == to).count() == 1;
                let fact_at = |to: &Block, fact: Option<Fact>| fact.filter(|_| is_only(to));
                let mut edges = vec![(at(default), with(*value, fact_at(default, rest)))];
                for (case, to) in cases {
                    let fact = fact_at(to, Some(Fact::Int(*case)));
                    edges.push((at(to), with(*value, fact)));
                }
                (edges, false)
            }
            other => {
                let to = other.map(InstKind::successors).unwrap_or_default();
                (to.iter().map(|to| (at(to), facts.clone())).collect(), false)
            }
        }
    }

    /// Returns whether a node assumes what is known not to hold, so that it is never reached.
    fn is_unreachable(&self, node: &Node) -> bool {
        let facts = self.facts_in(node);
        let mut assumed = self.assumed(node.0).into_iter();
        assumed.any(|cond| self.fact(&facts, cond, DEPTH) == Some(Fact::Int(0)))
    }

    /// Returns what is known at the end of a node, before its terminator.
    pub(super) fn facts_in(&self, (block, facts): &Node) -> Facts {
        let mut facts = facts.clone();
        for &value in &self.tracked[block] {
            if !self.module.is_phi(value)
                && let Some(fact) = self.computed(&facts, value, DEPTH)
            {
                facts.insert(value, fact);
            }
        }
        facts
    }

    /// Returns the nodes that are reachable from the ways into the loop, a copy of a block for each of
    /// them, and the copies of the header at which the loop is entered, by the edges' sources.
    pub(super) fn explore(&self, flow: &Flow) -> Option<(Vec<Node>, Split)> {
        let header = self.each.header;
        let mut nodes: Vec<Node> = Vec::new();
        let mut numbers: BTreeMap<Node, usize> = BTreeMap::new();
        let mut number = |nodes: &mut Vec<Node>, node: Node| {
            *numbers.entry(node).or_insert_with_key(|node| {
                nodes.push(node.clone());
                nodes.len() - 1
            })
        };
        let mut entries: BTreeMap<usize, usize> = BTreeMap::new();
        let before = flow.predecessors(header).iter().map(|&from| from as usize);
        for from in before.filter(|from| !self.each.body.contains(from)) {
            let facts = self.enter(&Facts::new(), self.blocks[from], header);
            entries.insert(from, number(&mut nodes, (header, facts)));
        }
        let mut copies: Vec<Copy> = Vec::new();
        let mut size = 0;
        while copies.len() < nodes.len() {
            if nodes.len() > NODES || size > UNROLLED && self.numbers == Numbers::Resumed {
                return None;
            }
            let node = nodes[copies.len()].clone();
            size += self.size(&node);
            let (edges, mut is_decided) = self.edges(&node);
            let mut next: Vec<Node> = Vec::new();
            for (target, facts) in edges {
                next.push(match self.each.body.contains(&target) {
                    false => (target, Facts::new()),
                    true => (target, self.enter(&facts, self.blocks[node.0], target)),
                });
            }
            let is_reached =
                |node: &Node| !self.each.body.contains(&node.0) || !self.is_unreachable(node);
            let mut reached = next.iter().filter(|node| is_reached(node)).cloned();
            if !is_decided && let (Some(only), None) = (reached.next(), reached.next()) {
                is_decided = true;
                next = vec![only];
            }
            let mut to = Vec::new();
            for next in next {
                to.push(match self.each.body.contains(&next.0) {
                    false => Target::Outside(next.0),
                    true => Target::Copy(number(&mut nodes, next)),
                });
            }
            copies.push(Copy {
                block: node.0,
                to,
                is_decided,
            });
        }
        let split = Split {
            header,
            body: self.each.body.clone(),
            copies,
            entries,
        };
        Some((nodes, split))
    }

    /// Returns the number of a node's instructions whose results are not known.
    fn size(&self, node: &Node) -> usize {
        let facts = self.facts_in(node);
        let is_known = |value: Value| self.fact(&facts, value, DEPTH).is_some();
        let is_left = |inst: &&Value| match self.module.inst(**inst).map(|data| &data.kind) {
            Some(InstKind::Phi(_) | InstKind::Br(_)) => false,
            Some(InstKind::CondBr { cond: value, .. } | InstKind::Switch { value, .. }) => {
                !is_known(*value)
            }
            Some(InstKind::Call(call)) => !matches!(call.callee, Callee::Intrinsic(_)),
            _ => !facts.contains_key(*inst),
        };
        let insts = self.module.block(self.blocks[node.0]).insts.iter();
        insts.filter(is_left).count()
    }

    /// Returns the copies of the loop's blocks that decide most branches.
    fn split(&self, flow: &Flow) -> Option<Split> {
        let (_, split) = self.explore(flow)?;
        let split = split.merged();
        let of: BTreeSet<usize> = split.copies.iter().map(|copy| copy.block).collect();
        let may_be_null = || self.phis(self.each.header).any(|phi| self.may_be_null(phi));
        let limit = match self.numbers {
            Numbers::Resumed => {
                let inner = self.resumed.iter().filter_map(|&phi| self.module.inst(phi));
                let inner = inner.map(|data| self.index[&data.block]);
                Limit::Without(inner.chain([self.each.header]).collect())
            }
            _ if may_be_null() => Limit::Growth(GROWTH),
            _ => Limit::Growth(FIRST_GROWTH),
        };
        let is_good = || split.is_good(self.module, self.blocks, &limit);
        (of == self.each.body && is_good()).then_some(split)
    }
}

impl Split {
    /// Merges copies that behave the same.
    fn merged(self) -> Split {
        let Split {
            header,
            body,
            copies,
            entries,
        } = self;
        let to_classes = |copy: &Copy, class: &[usize]| -> Vec<Target> {
            let to = copy.to.iter().map(|to| match to {
                Target::Copy(to) => Target::Copy(class[*to]),
                outside => *outside,
            });
            to.collect()
        };
        // Copies of a class have the same block and the same decision, and lead to the same classes.
        let mut class: Vec<usize> = vec![0; copies.len()];
        let mut count = 0;
        loop {
            let mut known: HashMap<(usize, Option<usize>, usize, Vec<Target>), usize> =
                HashMap::new();
            let mut new = Vec::with_capacity(copies.len());
            for (at, copy) in copies.iter().enumerate() {
                let decided = copy
                    .to
                    .first()
                    .filter(|_| copy.is_decided)
                    .map(|to| match to {
                        Target::Outside(block) => *block,
                        Target::Copy(to) => copies[*to].block,
                    });
                let next = known.len();
                let key = (copy.block, decided, class[at], to_classes(copy, &class));
                new.push(*known.entry(key).or_insert(next));
            }
            class = new;
            if known.len() == count {
                break;
            }
            count = known.len();
        }
        let mut merged: Vec<Option<Copy>> = vec![None; count];
        for (at, copy) in copies.into_iter().enumerate() {
            let to = to_classes(&copy, &class);
            merged[class[at]].get_or_insert(Copy { to, ..copy });
        }
        Split {
            header,
            body,
            copies: merged.into_iter().flatten().collect(),
            entries: entries
                .into_iter()
                .map(|(from, to)| (from, class[to]))
                .collect(),
        }
    }
}

impl<'a> Body<'a> {
    /// Replaces a loop by its copies. The first copy of each block keeps the names.
    fn split_loop(mut self, split: &Split, label: &str) -> Option<Vec<String>> {
        let blocks = self.blocks.clone();
        let lines = self.lines;
        let labels: HashMap<&str, usize> = (split.body.iter())
            .map(|&block| (blocks[block].name.as_str(), block))
            .collect();
        // The block and the line of each value of the loop.
        let mut values: HashMap<&str, (usize, usize)> = HashMap::new();
        for &block in &split.body {
            let at = blocks[block].first..blocks[block].end;
            for (at, line) in at.clone().zip(&lines[at]) {
                if let Some((name, _)) = line.trim().split_once(" = ") {
                    values.insert(name, (block, at));
                }
            }
        }
        // The number of each copy among those of its block.
        let mut copies_of: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, copy) in split.copies.iter().enumerate() {
            copies_of.entry(copy.block).or_default().push(at);
        }
        let number = |copy: usize| {
            let own = &copies_of[&split.copies[copy].block];
            own.iter().position(|&it| it == copy).unwrap_or(0)
        };
        let named = |name: &str, copy: usize| match number(copy) {
            0 => name.to_owned(),
            number => format!("{label}.{number}.{name}"),
        };
        let label_of = |copy: usize| named(&blocks[split.copies[copy].block].name, copy);
        let mut slots = Slots {
            label,
            lines,
            values: &values,
            slots: BTreeMap::new(),
            loads: 0,
        };

        // Returns what an operand is in a copy, and the line that loads it, if any.
        let in_copy = |value: &str, copy: usize, slots: &mut Slots<'_>| {
            Some(match values.get(value) {
                Some(&(block, _)) if block == split.copies[copy].block => {
                    (format!("%{}", named(&value[1..], copy)), None)
                }
                Some(_) => slots.load(value).map(|(line, name)| (name, Some(line)))?,
                None => (value.to_owned(), None),
            })
        };
        let edges = |from: usize, to: Target| {
            let to_same = split.copies[from].to.iter().filter(|&&it| it == to);
            to_same.count()
        };

        // The values that phis take at the end of each copy, and the lines that load them.
        let mut at_end: Vec<Vec<String>> = vec![Vec::new(); split.copies.len()];
        let mut phi = |line: &str, target: Target, slots: &mut Slots<'_>| {
            let mut pairs = Vec::new();
            let mut seen = HashSet::new();
            for (value, from) in incoming(line)? {
                let Some(block) = labels.get(from) else {
                    match target {
                        Target::Copy(copy) => {
                            let from_block = blocks.iter().position(|it| it.name == from)?;
                            if split.entries.get(&from_block) == Some(&copy) {
                                pairs.push(format!("[ {value}, %{from} ]"));
                            }
                        }
                        // The value of a loop's block on the way of another one.
                        Target::Outside(_) => pairs.push(format!("[ {value}, %{from} ]")),
                    }
                    continue;
                };
                if !seen.insert(*block) {
                    continue;
                }
                for &copy in &copies_of[block] {
                    let count = edges(copy, target);
                    if count > 0 {
                        let (value, load) = in_copy(value, copy, slots)?;
                        at_end[copy].extend(load);
                        let pair = format!("[ {value}, %{} ]", label_of(copy));
                        pairs.extend(vec![pair; count]);
                    }
                }
            }
            let (start, rest) = line.split_once(" [ ").filter(|_| !pairs.is_empty())?;
            let end = rest.rfind(" ]").map(|end| &rest[end + 2..])?;
            Some(format!("{start} {}{end}", pairs.join(", ")))
        };
        let mut phis: HashMap<(usize, usize), String> = HashMap::new();
        for (at, copy) in split.copies.iter().enumerate() {
            let block = &blocks[copy.block];
            for (index, line) in (block.first..).zip(&lines[block.first..block.end]) {
                if line.contains(" = phi ") {
                    let new = phi(line, Target::Copy(at), &mut slots)?;
                    phis.insert((at, index), new);
                }
            }
        }

        // The other blocks.
        for (index, block) in blocks.iter().enumerate() {
            if split.body.contains(&index) {
                continue;
            }
            for (at, own) in (block.first..).zip(&lines[block.first..block.end]) {
                let mut line = own.clone();
                if line.contains(" = phi ") {
                    let is_exit = incoming(&line)?
                        .iter()
                        .any(|(_, from)| labels.contains_key(from));
                    if is_exit {
                        line = phi(&line, Target::Outside(index), &mut slots)?;
                    }
                    let mut pairs = Vec::new();
                    let mut loaded: HashMap<&str, String> = HashMap::new();
                    for (value, from) in incoming(&line)? {
                        let from_block = blocks.iter().find(|it| it.name == from);
                        let is_inside = labels.contains_key(from) || from_block.is_none();
                        let mut value = value.to_owned();
                        if let Some(known) = loaded.get(from) {
                            value.clone_from(known);
                        } else if !is_inside && values.contains_key(value.as_str()) {
                            let (load, new) = slots.load(&value)?;
                            self.add(from_block?.terminator, load);
                            loaded.insert(from, new.clone());
                            value = new;
                        }
                        pairs.push(format!("[ {value}, %{from} ]"));
                    }
                    let (start, rest) = line.split_once(" [ ")?;
                    let end = rest.rfind(" ]").map(|end| &rest[end + 2..])?;
                    line = format!("{start} {}{end}", pairs.join(", "));
                } else {
                    let (loads, new) = slots.replace(&line, |_| false)?;
                    // A switch is several lines.
                    loads
                        .into_iter()
                        .for_each(|load| self.add(at.min(block.terminator), load));
                    line = new;
                    if let Some(&copy) = split.entries.get(&index)
                        && at >= block.terminator
                    {
                        let header = &blocks[split.header].name;
                        line = with_names(&line, |name| {
                            (name[1..] == **header).then(|| format!("%{}", label_of(copy)))
                        });
                    }
                }
                if line != *own {
                    self.changed.insert(at, line);
                }
            }
        }

        // The copies. `text` has the lines of each, and where values of slots are defined.
        let has_scopes = split.body.iter().any(|&block| {
            let block = &blocks[block];
            (lines[block.first..block.end].iter())
                .any(|line| line.contains("@llvm.experimental.noalias.scope.decl"))
        });
        let mut texts: Vec<Vec<(String, Option<&str>)>> = Vec::new();
        for (at, copy) in split.copies.iter().enumerate() {
            let block = &blocks[copy.block];
            let is_own = |name: &str| {
                let defined = values.get(name);
                defined.is_some_and(|&(defined, _)| defined == copy.block)
            };
            let mut text: Vec<(String, Option<&str>)> = Vec::new();
            let mut ends = std::mem::take(&mut at_end[at]);
            let mut targets = copy.to.iter();
            for (index, line) in (block.first..).zip(&lines[block.first..block.end]) {
                let defined = line.trim().split_once(" = ").map(|(name, _)| name);
                if index == block.terminator {
                    text.extend(ends.drain(..).map(|load| (load, None)));
                    if let Some(&to) = copy.to.first().filter(|_| copy.is_decided) {
                        let to = match to {
                            Target::Copy(copy) => label_of(copy),
                            Target::Outside(block) => blocks[block].name.clone(),
                        };
                        text.push((format!("  br label %{to}"), None));
                    }
                }
                if index >= block.terminator && copy.is_decided {
                    continue;
                }
                let line = match phis.get(&(at, index)) {
                    Some(phi) => {
                        let (name, rest) = phi.trim().split_once(" = ")?;
                        format!("  %{} = {rest}", named(&name[1..], at))
                    }
                    None => {
                        let (loads, line) = slots.replace(line, is_own)?;
                        text.extend(loads.into_iter().map(|load| (load, None)));
                        let mut is_label = false;
                        let mut new = String::with_capacity(line.len());
                        // The words after `label` are targets, in the order of the successors.
                        for part in line.split_inclusive("label ") {
                            let own = with_names(part, |name| {
                                if !std::mem::take(&mut is_label) {
                                    return is_own(name)
                                        .then(|| format!("%{}", named(&name[1..], at)));
                                }
                                match targets.next() {
                                    Some(&Target::Copy(copy)) => {
                                        Some(format!("%{}", label_of(copy)))
                                    }
                                    _ => None,
                                }
                            });
                            new.push_str(&own);
                            is_label = part.ends_with("label ") && index >= block.terminator;
                        }
                        new
                    }
                };
                let line = match has_scopes && number(at) > 0 {
                    true => without_scopes(&line, 1)?,
                    false => line,
                };
                text.push((line, defined));
            }
            texts.push(text);
        }

        let first = blocks.first()?.first;
        for (slot, ty) in slots.slots.values() {
            self.add(first, format!("  {slot} = alloca {ty}, align 8"));
        }
        for (at, text) in texts.into_iter().enumerate() {
            let mut new = Vec::new();
            let mut stores = Vec::new();
            for (line, defined) in text {
                let is_phi = line.contains(" = phi ");
                if !is_phi {
                    new.append(&mut stores);
                }
                new.push(line);
                if let Some(name) = defined
                    && let Some((slot, ty)) = slots.slots.get(name)
                {
                    let value = named(&name[1..], at);
                    let store = format!("  store {ty} %{value}, ptr {slot}, align 8");
                    match is_phi {
                        true => stores.push(store),
                        false => new.push(store),
                    }
                }
            }
            match number(at) {
                0 => self.replace(&blocks[split.copies[at].block], &new),
                _ => {
                    self.last.push(format!("{}:", label_of(at)));
                    self.last.append(&mut new);
                }
            }
        }
        Some(self.finish())
    }
}

/// The local variables that have the values of a loop in blocks other than those that compute them.
struct Slots<'a> {
    label: &'a str,
    lines: &'a [String],
    values: &'a HashMap<&'a str, (usize, usize)>,
    /// The variable and the type of each value.
    slots: BTreeMap<String, (String, &'a str)>,
    loads: usize,
}

impl Slots<'_> {
    /// Returns a line that loads a value, and the name of the result.
    fn load(&mut self, value: &str) -> Option<(String, String)> {
        if !self.slots.contains_key(value) {
            let (_, line) = self.values.get(value)?;
            let (_, inst) = self.lines[*line].trim().split_once(" = ")?;
            let slot = format!("%{}.s{}", self.label, self.slots.len());
            self.slots
                .insert(value.to_owned(), (slot, type_of_result(inst)?));
        }
        let (slot, ty) = &self.slots[value];
        self.loads += 1;
        let new = format!("%{}.v{}", self.label, self.loads);
        Some((format!("  {new} = load {ty}, ptr {slot}, align 8"), new))
    }

    /// Replaces the values of a line that have to be loaded. Returns the lines that load them.
    fn replace(
        &mut self,
        line: &str,
        is_own: impl Fn(&str) -> bool,
    ) -> Option<(Vec<String>, String)> {
        let mut used: Vec<String> = Vec::new();
        with_names(line, |name| {
            let is_used = self.values.contains_key(name) && !is_own(name);
            if is_used && !used.iter().any(|it| it == name) {
                used.push(name.to_owned());
            }
            None
        });
        let mut loads = Vec::new();
        let mut new: HashMap<String, String> = HashMap::new();
        for name in used {
            let (load, value) = self.load(&name)?;
            loads.push(load);
            new.insert(name, value);
        }
        Some((loads, with_names(line, |name| new.get(name).cloned())))
    }
}

/// Returns the type of an instruction's result, if it is a number or a generic address.
fn type_of_result(inst: &str) -> Option<&str> {
    let is_call = ["call ", "tail call "]
        .iter()
        .any(|call| inst.starts_with(call));
    match inst.split_once(" @") {
        Some((call, _)) if is_call => type_of_word(call.rsplit(' ').next()?),
        _ => type_of_any(inst),
    }
}
