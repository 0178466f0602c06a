//! The pass `unroll_array_loops`.

mod known;
mod whole_warps;

use std::collections::{BTreeSet, HashMap, HashSet};

use self::known::{Known, State};
use self::whole_warps::{Separated, rename};
use super::remove_unreachable_blocks::remove_unreachable_blocks_of;
use super::resume_unrolling::expanded;
use super::unroll_divergent_loops::users;
use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, Callee, CastOp, InstKind};
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// The maximum size of all iterations of the loops over an array, in instructions.
const LARGEST: usize = 3072;

/// The maximum number of iterations of a loop.
const ITERATIONS: usize = 64;

/// The size of a call of a function of libdevice, and of one that libnvvm expands to tens of
/// instructions.
const CALL: usize = 4;
const EXPANDED: usize = 32;

/// Unrolls loops over arrays of a thread completely, so that the arrays can be in registers.
///
/// LLVM does so if it knows the number of iterations. `for (to, &value) in to.iter_mut().zip(&array)`
/// also ends with the slice `to`. But each iteration accesses one more element of the array: there are
/// at most as many as elements.
///
/// An index may also be an element of a constant array, as in `block[ORDER[round][k]]`.
///
/// Nested loops whose counters start at a counter of an outer loop are unrolled from the outside to
/// the inside. Only arrays are considered of which all elements then have constant indices. Loops
/// that are too large for that only since warps may lack lanes get a copy for whole warps:
/// see [`whole_warps`].
pub fn unroll_array_loops(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let arrays = arrays(module, func);
        if arrays.is_empty() {
            continue;
        }
        // Each round leaves fewer loops over these arrays.
        while let Some(each) = find(module, func, &arrays) {
            match each {
                Change::Unroll(unrolled) => unrolled.unroll(module, func),
                Change::Separate(separated) => separated.apply(module, func),
            }
            fold_branches(module, func);
            remove_unreachable_blocks_of(module, func);
        }
    }
}

/// A local array whose address is only used to access it.
struct Array {
    alloca: Value,
    bytes: u64,
    /// The addresses of elements with an index that is not constant.
    elements: Vec<Value>,
    accesses: Vec<Access>,
}

/// A load from an array or a store to it.
#[derive(Copy, Clone)]
struct Access {
    inst: Value,
    address: Value,
    bytes: u64,
}

/// A loop with one latch.
pub(super) struct Counted {
    pub(super) header: Block,
    pub(super) latch: Block,
    pub(super) body: Vec<Block>,
    pub(super) counters: Vec<Counter>,
}

/// A phi of a loop's header, of integers.
pub(super) struct Counter {
    pub(super) phi: Value,
    pub(super) start: Value,
    pub(super) next: Value,
}

/// The iterations of a loop, for each the values of its counters, and of those of outer loops.
struct Iterations {
    states: Vec<State>,
    /// The access before which the last iteration ends, since it would be outside its array.
    /// Otherwise, the last iteration leaves the loop.
    end: Option<Value>,
}

/// What is done with a loop.
enum Change {
    Unroll(Unrolled),
    Separate(Separated),
}

/// A loop to unroll.
struct Unrolled {
    counted: Counted,
    iterations: Iterations,
    left: Vec<Left>,
}

/// A value of a loop that is used outside.
struct Left {
    value: Value,
    /// The block behind the loop that dominates its uses.
    exit: Block,
    /// The users, with their blocks. A phi uses the value at the ends of the blocks it comes from.
    uses: Vec<(Value, Block)>,
}

/// Returns the arrays of a function that have elements with variable indices.
pub(super) fn arrays(module: &Module, func: Func) -> Vec<Value> {
    let blocks = module.func(func).blocks.iter();
    let insts = blocks.flat_map(|&block| module.block(block).insts.iter().copied());
    let allocas: Vec<Value> = insts
        .filter(|&inst| {
            let kind = module.inst(inst).map(|data| &data.kind);
            matches!(kind, Some(InstKind::Alloca { count: None, .. }))
        })
        .collect();
    if allocas.is_empty() {
        return allocas;
    }
    let users = users(module, func);
    let is_indexed = |&alloca: &Value| {
        Array::of(module, &users, alloca).is_some_and(|array| !array.elements.is_empty())
    };
    allocas.into_iter().filter(is_indexed).collect()
}

impl Array {
    /// Returns the array at an address. Returns `None` if the address is used otherwise.
    fn of(module: &Module, users: &HashMap<Value, Vec<Value>>, alloca: Value) -> Option<Array> {
        let InstKind::Alloca { ty, .. } = module.inst(alloca)?.kind else {
            return None;
        };
        let mut array = Array {
            alloca,
            bytes: module.types.size(ty),
            elements: Vec::new(),
            accesses: Vec::new(),
        };
        let mut pending = vec![alloca];
        while let Some(address) = pending.pop() {
            for &user in users.get(&address).into_iter().flatten() {
                match &module.inst(user)?.kind {
                    InstKind::Load { access, .. } if access.atomic.is_none() => {
                        array.accesses.push(Access {
                            inst: user,
                            address,
                            bytes: module.types.size(module.ty(user)),
                        });
                    }
                    InstKind::Store { value, access, .. }
                        if *value != address && access.atomic.is_none() =>
                    {
                        array.accesses.push(Access {
                            inst: user,
                            address,
                            bytes: module.types.size(module.ty(*value)),
                        });
                    }
                    InstKind::Gep { base, indices, .. } if *base == address => {
                        let &[index] = &indices[..] else {
                            return None;
                        };
                        if number(module, index).is_none() {
                            array.elements.push(user);
                        }
                        pending.push(user);
                    }
                    // Lifetimes, and initialization with zeros.
                    InstKind::Call(call) if matches!(call.callee, Callee::Intrinsic(_)) => {}
                    _ => return None,
                }
            }
        }
        Some(array)
    }
}

/// Returns a change that lets arrays be in registers.
fn find(module: &Module, func: Func, allocas: &[Value]) -> Option<Change> {
    let users = users(module, func);
    let arrays: Vec<Array> = (allocas.iter())
        .filter_map(|&alloca| Array::of(module, &users, alloca))
        .filter(|array| !array.elements.is_empty())
        .collect();
    if arrays.is_empty() {
        return None;
    }
    let mut nests = Nests::new(module, func, arrays);
    let first = |only_whole: bool| {
        let arrays = nests.arrays.iter();
        let loops = arrays.filter_map(|array| nests.first_loop(array, &users, only_whole));
        loops.min_by_key(|&(at, _)| at)
    };
    let left = |nests: &Nests<'_>, at: usize| {
        left(module, &nests.loops[at], &users, &nests.index, &nests.flow)
    };
    if let Some((at, iterations)) = first(false) {
        let left = left(&nests, at)?;
        return Some(Change::Unroll(Unrolled {
            counted: nests.loops.swap_remove(at),
            iterations,
            left,
        }));
    }
    let (at, _) = first(true)?;
    let left = left(&nests, at)?;
    nests.separate(at, &users, left).map(Change::Separate)
}

/// The loops of a function, with the arrays that they may visit.
struct Nests<'a> {
    module: &'a Module,
    arrays: Vec<Array>,
    /// The accesses to the arrays and the addresses of their elements.
    of_arrays: HashSet<Value>,
    expanded: HashSet<Value>,
    index: HashMap<Block, usize>,
    flow: Flow,
    loops: Vec<Counted>,
    /// For each counter that is computed from constants and such counters, its loop and the counters
    /// that it is computed from.
    counters: HashMap<Value, (usize, BTreeSet<Value>)>,
}

impl<'a> Nests<'a> {
    fn new(module: &'a Module, func: Func, arrays: Vec<Array>) -> Nests<'a> {
        let blocks = &module.func(func).blocks;
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let loops: Vec<Counted> = (flow.loops().iter())
            .filter_map(|each| Counted::of(module, blocks, each))
            .collect();
        let of_arrays = (arrays.iter())
            .flat_map(|array| array.accesses.iter().flat_map(|it| [it.inst, it.address]))
            .collect();
        let mut nests = Nests {
            module,
            arrays,
            of_arrays,
            expanded: expanded(module),
            index,
            flow,
            loops,
            counters: HashMap::new(),
        };
        nests.find_counters();
        nests
    }

    /// Finds the counters that are computed from constants and counters.
    fn find_counters(&mut self) {
        let counters = self.loops.iter().enumerate().flat_map(|(at, each)| {
            let phis = each.counters.iter();
            phis.map(move |counter| (counter.phi, (at, BTreeSet::new())))
        });
        self.counters = counters.collect();
        loop {
            let mut found = HashMap::new();
            for (at, each) in self.loops.iter().enumerate() {
                for counter in &each.counters {
                    let start = self.sources(counter.start, each.header);
                    let next = self.sources(counter.next, each.latch);
                    if let (Some(mut all), Some(next)) = (start, next)
                        && self.counters.contains_key(&counter.phi)
                        && all.iter().all(|phi| self.counters[phi].0 != at)
                    {
                        all.extend(next);
                        found.insert(counter.phi, (at, all));
                    }
                }
            }
            let is_stable = found.len() == self.counters.len();
            self.counters = found;
            if is_stable {
                return;
            }
        }
    }

    /// Returns the counters that an integer is computed from, all of loops around a block.
    fn sources(&self, value: Value, block: Block) -> Option<BTreeSet<Value>> {
        let mut sources = BTreeSet::new();
        let (mut pending, mut seen) = (vec![value], HashSet::new());
        while let Some(value) = pending.pop() {
            if number(self.module, value).is_some() || !seen.insert(value) {
                continue;
            }
            if let Some(&(at, _)) = self.counters.get(&value) {
                self.loops[at].body.contains(&block).then_some(())?;
                sources.insert(value);
                continue;
            }
            let kind = &self.module.inst(value)?.kind;
            if let Some((_, place)) = known::element(self.module, kind) {
                pending.extend(place.index.map(|index| index.value));
                continue;
            }
            known::is_computed(kind).then_some(())?;
            kind.for_each_operand(|operand| pending.push(operand));
        }
        Some(sources)
    }

    /// Returns the loops that give the elements of an array constant indices if they are unrolled.
    fn loops_of(&self, array: &Array) -> Option<BTreeSet<usize>> {
        let mut all = BTreeSet::new();
        for &element in &array.elements {
            let data = self.module.inst(element)?;
            let InstKind::Gep { indices, .. } = &data.kind else {
                return None;
            };
            for &index in indices {
                all.extend(self.sources(index, data.block)?);
            }
        }
        let mut pending: Vec<Value> = all.iter().copied().collect();
        while let Some(phi) = pending.pop() {
            let more = self.counters[&phi].1.iter().copied();
            pending.extend(more.filter(|&phi| all.insert(phi)));
        }
        Some(all.iter().map(|phi| self.counters[phi].0).collect())
    }

    /// Returns the first loop to unroll for an array. With `only_whole`, it has ballots, and the size
    /// is that for whole warps.
    fn first_loop(
        &self,
        array: &Array,
        users: &HashMap<Value, Vec<Value>>,
        only_whole: bool,
    ) -> Option<(usize, Iterations)> {
        let loops = self.loops_of(array)?;
        let can_unroll = |&at: &usize| {
            left(self.module, &self.loops[at], users, &self.index, &self.flow).is_some()
        };
        loops.iter().all(can_unroll).then_some(())?;
        let mut size = 0;
        let mut first = None;
        for &at in loops
            .iter()
            .filter(|&&at| self.parent(at, &loops).is_none())
        {
            let masks = match only_whole {
                true => self.masks(at),
                false => None,
            };
            let has_masks = masks.is_some();
            let masks = masks.map(|(_, masks)| masks).unwrap_or_default();
            let iterations = self.iterations(at, &loops, &masks, has_masks, &mut size)?;
            if has_masks == only_whole {
                first = first.or(Some((at, iterations)));
            }
        }
        first
    }

    /// Returns the innermost of `loops` around a loop.
    fn parent(&self, at: usize, loops: &BTreeSet<usize>) -> Option<usize> {
        let header = self.loops[at].header;
        let around = loops.iter().copied();
        around
            .filter(|&outer| outer != at && self.loops[outer].body.contains(&header))
            .min_by_key(|&outer| self.loops[outer].body.len())
    }

    /// Returns the iterations of a loop, and adds its size if it and all of `loops` are unrolled.
    /// `outer` has the counters of the outer loops. If `must_be_uniform`, all threads must run the same
    /// blocks.
    fn iterations(
        &self,
        at: usize,
        loops: &BTreeSet<usize>,
        outer: &State,
        must_be_uniform: bool,
        size: &mut usize,
    ) -> Option<Iterations> {
        let Counted {
            header, counters, ..
        } = &self.loops[at];
        let inner: Vec<usize> = (loops.iter().copied())
            .filter(|&each| self.parent(each, loops) == Some(at))
            .collect();
        let mut states: Vec<State> = Vec::new();
        while states.len() <= ITERATIONS {
            let known = Known::new(self.module, states.last().unwrap_or(outer));
            let is_first = states.is_empty();
            let numbers = counters.iter().filter_map(|counter| {
                let value = if is_first {
                    counter.start
                } else {
                    counter.next
                };
                Some((counter.phi, known.number(value)?))
            });
            let mut state = outer.clone();
            state.extend(numbers.collect::<Vec<_>>());
            let known = Known::new(self.module, &state);
            let (reached, is_last) = self.reached(at, &known);
            let access = if is_last {
                None
            } else {
                self.outside(at, &known)
            };
            for &block in &reached {
                let is_inside = |&&each: &&usize| self.loops[each].body.contains(&block);
                if !inner.iter().any(|each| is_inside(&each)) {
                    (!must_be_uniform || self.is_uniform(block, &known)).then_some(())?;
                    let insts = self.module.block(block).insts.iter();
                    *size += insts.map(|&inst| self.size(inst, &known)).sum::<usize>();
                }
            }
            (*size <= LARGEST).then_some(())?;
            if access.is_none() {
                for &each in &inner {
                    if reached.contains(&self.loops[each].header) {
                        self.iterations(each, loops, &state, must_be_uniform, size)?;
                    }
                }
            }
            debug_assert!(reached.contains(header));
            states.push(state);
            if is_last || access.is_some() {
                return Some(Iterations {
                    states,
                    end: access,
                });
            }
        }
        None
    }

    /// Returns the blocks that an iteration of a loop can reach, and whether it is the last one.
    fn reached(&self, at: usize, known: &Known<'_>) -> (HashSet<Block>, bool) {
        let Counted { header, body, .. } = &self.loops[at];
        let (mut reached, mut pending) = (HashSet::new(), vec![*header]);
        let mut is_last = true;
        while let Some(block) = pending.pop() {
            if !reached.insert(block) {
                continue;
            }
            let terminator = self.module.terminator(block);
            let kind = terminator.and_then(|inst| self.module.inst(inst));
            let successors = match kind.map(|data| &data.kind) {
                Some(&InstKind::CondBr {
                    cond,
                    then,
                    otherwise,
                }) if let Some(cond) = known.number(cond) => {
                    vec![if cond == 1 { then } else { otherwise }]
                }
                kind => kind.map(InstKind::successors).unwrap_or_default(),
            };
            is_last &= !successors.contains(header);
            pending.extend(successors.into_iter().filter(|to| body.contains(to)));
        }
        (reached, is_last)
    }

    /// Returns whether all threads go on with the same block after a block.
    fn is_uniform(&self, block: Block, known: &Known<'_>) -> bool {
        let terminator = self.module.terminator(block);
        match terminator.and_then(|inst| Some(&self.module.inst(inst)?.kind)) {
            Some(InstKind::Br(_)) => true,
            Some(&InstKind::CondBr { cond, .. }) => known.number(cond).is_some(),
            _ => false,
        }
    }

    /// Returns an access of each iteration of a loop that is outside its array in this one.
    fn outside(&self, at: usize, known: &Known<'_>) -> Option<Value> {
        let (header, latch) = (self.loops[at].header, self.loops[at].latch);
        let (header, latch) = (self.index[&header], self.index[&latch]);
        let is_always = |inst: Value| {
            let block = self.module.inst(inst).map(|data| self.index[&data.block]);
            block.is_some_and(|block| {
                self.flow.dominates(header, block) && self.flow.dominates(block, latch)
            })
        };
        self.arrays.iter().find_map(|array| {
            let is_outside = |access: &&Access| {
                let offset = known.offset(access.address);
                let end = offset.map(|offset| offset.checked_add(access.bytes));
                end.is_some_and(|end| end.is_none_or(|end| end > array.bytes))
            };
            let accesses = array.accesses.iter();
            let mut outside = accesses.filter(|access| is_always(access.inst));
            outside.find(is_outside).map(|access| access.inst)
        })
    }

    /// Returns the size of an instruction of an iteration.
    fn size(&self, inst: Value, known: &Known<'_>) -> usize {
        let Some(data) = self.module.inst(inst) else {
            return 0;
        };
        if self.of_arrays.contains(&inst) || known.number(inst).is_some() {
            return 0;
        }
        match &data.kind {
            InstKind::Phi(_) | InstKind::Br(_) | InstKind::Unreachable => 0,
            InstKind::Cast {
                op: CastOp::Bitcast,
                ..
            } => 0,
            InstKind::Gep { indices, .. } => {
                let mut indices = indices.iter();
                usize::from(indices.any(|&index| number(self.module, index).is_none()))
            }
            InstKind::CondBr { cond, .. } => usize::from(known.number(*cond).is_none()),
            InstKind::Call(call) => match call.callee {
                Callee::Value(callee) if self.expanded.contains(&callee) => EXPANDED,
                Callee::Value(callee) if self.module.as_func(callee).is_some() => CALL,
                _ => 1,
            },
            _ => 1,
        }
    }
}

/// Unrolls a loop completely. The condition `end` is `outcome` in the last iteration, and not known
/// before. Returns whether that was possible.
pub(super) fn unroll_until(
    module: &mut Module,
    func: Func,
    counted: Counted,
    iterations: usize,
    (end, outcome): (Value, bool),
) -> bool {
    let blocks = &module.func(func).blocks;
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let users = users(module, func);
    let Some(left) = left(module, &counted, &users, &index, &flow) else {
        return false;
    };
    let mut states = vec![State::new(); iterations];
    if let Some(last) = states.last_mut() {
        last.insert(end, outcome.into());
    }
    let unrolled = Unrolled {
        counted,
        iterations: Iterations { states, end: None },
        left,
    };
    unrolled.unroll(module, func);
    fold_branches(module, func);
    remove_unreachable_blocks_of(module, func);
    true
}

/// Returns the values of a loop that are used outside, except by phis for the ways out.
fn left(
    module: &Module,
    counted: &Counted,
    users: &HashMap<Value, Vec<Value>>,
    index: &HashMap<Block, usize>,
    flow: &Flow,
) -> Option<Vec<Left>> {
    let is_inside = |block: &Block| counted.body.contains(block);
    let blocks = &module.func(module.block(counted.header).func).blocks;
    let exits = counted.exits(module);
    let mut all: Vec<Left> = Vec::new();
    let insts = counted.body.iter();
    for value in insts.flat_map(|&block| module.block(block).insts.iter().copied()) {
        for &user in users.get(&value).into_iter().flatten() {
            let data = module.inst(user)?;
            let places = match &data.kind {
                InstKind::Phi(incoming) => (incoming.iter())
                    .filter(|&&(of, _)| of == value)
                    .map(|&(_, from)| from)
                    .collect(),
                _ => vec![data.block],
            };
            for place in places.into_iter().filter(|place| !is_inside(place)) {
                let &(_, exit) = exits.iter().find(|(_, exit)| {
                    let mut from = flow.predecessors(index[exit]).iter();
                    flow.dominates(index[exit], index[&place])
                        && from.all(|&from| is_inside(&blocks[from as usize]))
                })?;
                let mut known = all.iter_mut();
                match known.find(|left| left.value == value && left.exit == exit) {
                    Some(left) => left.uses.push((user, place)),
                    None => all.push(Left {
                        value,
                        exit,
                        uses: vec![(user, place)],
                    }),
                }
            }
        }
    }
    Some(all)
}

impl Counted {
    pub(super) fn of(module: &Module, blocks: &[Block], each: &Loop) -> Option<Counted> {
        let &[latch] = &each.latches[..] else {
            return None;
        };
        let (header, latch) = (blocks[each.header], blocks[latch]);
        let body: Vec<Block> = each.body.iter().map(|&block| blocks[block]).collect();
        let insts = body.iter().flat_map(|&block| &module.block(block).insts);
        let mut kinds = insts.filter_map(|&inst| module.inst(inst));
        if kinds.any(|data| matches!(data.kind, InstKind::Alloca { .. })) {
            return None;
        }
        let insts = module.block(header).insts.iter();
        let counters = insts.filter_map(|&phi| {
            let InstKind::Phi(incoming) = &module.inst(phi)?.kind else {
                return None;
            };
            let &[first, second] = &incoming[..] else {
                return None;
            };
            let ((start, _), (next, _)) = match (first.1 == latch, second.1 == latch) {
                (false, true) => (first, second),
                (true, false) => (second, first),
                _ => return None,
            };
            (module.types.int_bits(module.ty(phi))? <= 64).then_some(Counter { phi, start, next })
        });
        Some(Counted {
            header,
            latch,
            counters: counters.collect(),
            body,
        })
    }

    /// Returns the numbers that the instructions of the loop are in an iteration.
    fn numbers(&self, module: &Module, state: &State) -> State {
        let known = Known::new(module, state);
        let insts = self
            .body
            .iter()
            .flat_map(|&block| &module.block(block).insts);
        insts
            .filter_map(|&inst| Some((inst, known.number(inst)?)))
            .collect()
    }
}

impl Left {
    /// Adds a phi of the value to the block behind the loop. `edges` are the ways out.
    fn add_phi(self, module: &mut Module, edges: &[(Block, Block)]) {
        let from = edges.iter().filter(|(_, to)| *to == self.exit);
        let mut incoming = Vec::new();
        for &(from, _) in from {
            let terminator = module.terminator(from).and_then(|inst| module.inst(inst));
            let successors = terminator.map(|data| data.kind.successors());
            let count = (successors.iter().flatten())
                .filter(|&&to| to == self.exit)
                .count();
            incoming.extend(vec![(self.value, from); count]);
        }
        let kind = InstKind::Phi(incoming);
        let phi = module.push_inst(self.exit, module.ty(self.value), kind, None);
        module.block_mut(self.exit).insts.rotate_right(1);
        let replace = |operand: &mut Value| {
            if *operand == self.value {
                *operand = phi;
            }
        };
        for (user, place) in self.uses {
            match module.inst_mut(user).map(|data| &mut data.kind) {
                Some(InstKind::Phi(incoming)) => (incoming.iter_mut())
                    .filter(|(_, from)| *from == place)
                    .for_each(|(value, _)| replace(value)),
                Some(kind) => kind.for_each_operand_mut(replace),
                None => {}
            }
        }
    }
}

impl Unrolled {
    fn unroll(self, module: &mut Module, func: Func) {
        let Unrolled {
            counted,
            iterations: Iterations { states, end },
            left,
        } = self;
        let exits = counted.exits(module);
        for each in left {
            each.add_phi(module, &exits);
        }
        let Counted {
            header,
            latch: last,
            ref body,
            ..
        } = counted;
        // What each value and each block of the loop is in an iteration.
        let mut values: HashMap<Value, Value> = HashMap::new();
        let mut blocks: HashMap<Block, Block> = body.iter().map(|&block| (block, block)).collect();
        let mut back = Vec::new();
        let numbers = states.iter().map(|state| counted.numbers(module, state));
        let numbers: Vec<State> = numbers.collect();
        let mut last_access = end;
        for numbers in &numbers[1..] {
            let from = (blocks[&last], blocks[&header]);
            values = counted.next_phis(module, &values);
            blocks = (body.iter())
                .map(|&block| (block, module.add_block(func, "iteration")))
                .collect();
            counted.copy(module, numbers, &blocks, &mut values);
            last_access = end.map(|access| values[&access]);
            back.push((from, blocks[&header]));
            for &(from, to) in &exits {
                add_incoming(module, to, from, blocks[&from], &values);
            }
        }
        // Only now, since the first iteration is the one that is copied.
        for ((latch, header), next) in back {
            module.replace_successor(latch, header, next);
        }
        module.retain_incoming(header, |from| from != last);
        if let Some(access) = last_access {
            end_before(module, access);
        }
        counted.fold(module, &numbers[0]);
        let data = module.block_mut(last);
        (data.no_unroll, data.unroll_count) = (false, None);
    }
}

impl Counted {
    /// Returns the edges that leave the loop.
    fn exits(&self, module: &Module) -> Vec<(Block, Block)> {
        let mut exits = Vec::new();
        for &from in &self.body {
            let terminator = module.terminator(from).and_then(|inst| module.inst(inst));
            let to = terminator.map(|data| data.kind.successors());
            exits.extend(to.into_iter().flatten().map(|to| (from, to)));
        }
        exits.retain(|(_, to)| !self.body.contains(to));
        exits.sort_unstable();
        exits.dedup();
        exits
    }

    /// Returns what the phis of the header are in an iteration. `before` has the values of the
    /// iteration before that differ from the first one's.
    fn next_phis(&self, module: &Module, before: &HashMap<Value, Value>) -> HashMap<Value, Value> {
        let insts = module.block(self.header).insts.iter();
        let phis = insts.map_while(|&inst| match &module.inst(inst)?.kind {
            InstKind::Phi(incoming) => Some((inst, incoming)),
            _ => None,
        });
        phis.filter_map(|(phi, incoming)| {
            let &(value, _) = incoming.iter().find(|(_, from)| *from == self.latch)?;
            Some((phi, before.get(&value).copied().unwrap_or(value)))
        })
        .collect()
    }

    /// Copies the instructions for an iteration to its blocks. `numbers` has the instructions whose
    /// results are constant. `values` has the header's phis, and then all values.
    fn copy(
        &self,
        module: &mut Module,
        numbers: &State,
        blocks: &HashMap<Block, Block>,
        values: &mut HashMap<Value, Value>,
    ) {
        let mut copies = Vec::new();
        for &block in &self.body {
            let (copy, data) = (blocks[&block], module.block(block).clone());
            for inst in data.insts {
                let ty = module.ty(inst);
                if let Some(&number) = numbers.get(&inst) {
                    values.insert(inst, module.const_int(ty, number));
                } else if let Some(data) = module.inst(inst)
                    && !values.contains_key(&inst)
                {
                    let (kind, loc) = (data.kind.clone(), data.loc);
                    let new = module.push_inst(copy, ty, kind, loc);
                    copies.push(new);
                    values.insert(inst, new);
                }
            }
            if block != self.latch {
                let new = module.block_mut(copy);
                (new.no_unroll, new.unroll_count) = (data.no_unroll, data.unroll_count);
            }
        }
        rename(module, &copies, blocks, values);
    }

    /// Replaces what is constant.
    fn fold(&self, module: &mut Module, numbers: &State) {
        for &block in &self.body {
            for inst in module.block(block).insts.clone() {
                let Some(mut kind) = module.inst(inst).map(|data| data.kind.clone()) else {
                    continue;
                };
                kind.for_each_operand_mut(|operand| {
                    if let Some(&number) = numbers.get(operand) {
                        *operand = module.const_int(module.ty(*operand), number);
                    }
                });
                if let Some(data) = module.inst_mut(inst) {
                    data.kind = kind;
                }
            }
        }
    }
}

/// Ends a block before an instruction, which is never reached.
fn end_before(module: &mut Module, inst: Value) {
    let Some(block) = module.inst(inst).map(|data| data.block) else {
        return;
    };
    let terminator = module.terminator(block).and_then(|inst| module.inst(inst));
    let successors = terminator.map(|data| data.kind.successors());
    for to in successors.into_iter().flatten() {
        module.retain_incoming(to, |from| from != block);
    }
    let insts = &mut module.block_mut(block).insts;
    let at = insts.iter().position(|&each| each == inst);
    insts.truncate(at.unwrap_or(insts.len()));
    let void = module.types.void();
    module.push_inst(block, void, InstKind::Unreachable, None);
}

/// Replaces the branches of a function whose condition is constant.
fn fold_branches(module: &mut Module, func: Func) {
    for block in module.func(func).blocks.clone() {
        let terminator = module.terminator(block);
        let kind = terminator.and_then(|inst| module.inst(inst));
        let Some(&InstKind::CondBr {
            cond,
            then,
            otherwise,
        }) = kind.map(|data| &data.kind)
        else {
            continue;
        };
        let Some(cond) = number(module, cond).filter(|_| then != otherwise) else {
            continue;
        };
        let (taken, other) = match cond {
            0 => (otherwise, then),
            _ => (then, otherwise),
        };
        module.retain_incoming(other, |from| from != block);
        if let Some(data) = terminator.and_then(|inst| module.inst_mut(inst)) {
            data.kind = InstKind::Br(taken);
        }
    }
}

/// Gives the phis of a block the values for the copy of a predecessor, if it is still one.
fn add_incoming(
    module: &mut Module,
    block: Block,
    from: Block,
    copy: Block,
    values: &HashMap<Value, Value>,
) {
    let terminator = module.terminator(copy).and_then(|inst| module.inst(inst));
    if !terminator.is_some_and(|data| data.kind.successors().contains(&block)) {
        return;
    }
    for inst in module.block(block).insts.clone() {
        let Some(InstKind::Phi(incoming)) = module.inst_mut(inst).map(|data| &mut data.kind) else {
            break;
        };
        let copies = incoming.iter().filter(|(_, of)| *of == from);
        let copies = copies.map(|(value, _)| (*values.get(value).unwrap_or(value), copy));
        let copies: Vec<(Value, Block)> = copies.collect();
        incoming.extend(copies);
    }
}

/// Returns whether a value is the sum of a counter and a constant.
pub(super) fn is_step(module: &Module, counter: Value, next: Value) -> bool {
    match module.inst(next).map(|data| &data.kind) {
        Some(&InstKind::Bin {
            op: BinOp::Add,
            lhs,
            rhs,
            ..
        }) => lhs == counter && number(module, rhs).is_some(),
        _ => false,
    }
}

/// Returns the number that an integer constant of at most 64 bits is.
pub(super) fn number(module: &Module, value: Value) -> Option<u128> {
    let bits = module.types.int_bits(module.ty(value))?;
    match module.as_const(value)? {
        &Const::Int(number) if bits <= 64 => Some(number),
        Const::Zero => Some(0),
        _ => None,
    }
}
