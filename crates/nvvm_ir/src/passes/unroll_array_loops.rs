//! The pass `unroll_array_loops`.

use std::collections::{HashMap, HashSet};

use super::remove_unreachable_blocks::remove_unreachable_blocks_of;
use super::unroll_divergent_loops::users;
use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, Callee, CastOp, InstKind};
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// The maximum number of instructions of all iterations of a loop.
const LARGEST: usize = 1024;

/// The maximum number of iterations.
const ITERATIONS: u128 = 64;

/// Unrolls loops over arrays of a thread completely, so that the arrays can be in registers.
///
/// LLVM does so if it knows the number of iterations. `for (to, &value) in to.iter_mut().zip(&array)`
/// also ends with the slice `to`. But each iteration accesses one more element of the array: there are
/// at most as many as elements.
///
/// Only arrays are considered of which all elements then have constant indices.
pub fn unroll_array_loops(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let arrays = arrays(module, func);
        if arrays.is_empty() {
            continue;
        }
        // Each round leaves fewer loops over these arrays.
        while let Some(each) = find(module, func, &arrays) {
            each.unroll(module, func);
            remove_unreachable_blocks_of(module, func);
        }
    }
}

/// A local array whose address is only used to access it.
struct Array {
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

/// A loop with a counter that begins with a constant and grows by a constant.
struct Counted {
    header: Block,
    latch: Block,
    body: Vec<Block>,
    counter: Value,
    bits: u32,
    start: u128,
    step: u128,
}

/// A loop to unroll.
struct Unrolled {
    counted: Counted,
    /// The number of iterations after which `access` would be out of bounds.
    count: u128,
    access: Value,
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

/// Returns a loop to unroll.
fn find(module: &Module, func: Func, allocas: &[Value]) -> Option<Unrolled> {
    let users = users(module, func);
    let arrays: Vec<Array> = (allocas.iter())
        .filter_map(|&alloca| Array::of(module, &users, alloca))
        .filter(|array| !array.elements.is_empty())
        .collect();
    if arrays.is_empty() {
        return None;
    }
    let blocks = &module.func(func).blocks;
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    let block_of = |inst: Value| module.inst(inst).map(|data| index[&data.block]);
    let bounded: Vec<(Counted, u128, Value)> = flow
        .loops()
        .iter()
        .filter_map(|each| Counted::of(module, blocks, each))
        .filter_map(|counted| {
            let always = |access: &&Access| {
                let (header, latch) = (index[&counted.header], index[&counted.latch]);
                block_of(access.inst).is_some_and(|block| {
                    flow.dominates(header, block) && flow.dominates(block, latch)
                })
            };
            let counts = arrays.iter().flat_map(|array| {
                let accesses = array.accesses.iter().filter(always);
                accesses.filter_map(|access| {
                    let count = counted.iterations(module, access, array.bytes)?;
                    Some((count, access.inst))
                })
            });
            let (count, access) = counts.min_by_key(|&(count, _)| count)?;
            Some((counted, count, access))
        })
        .collect();
    // An element's index is constant in each iteration of such a loop.
    let counter_of = |element: &Value| {
        let block = module.inst(*element)?.block;
        bounded.iter().position(|(counted, _, _)| {
            counted.body.contains(&block) && counted.offset(module, *element, 0).is_some()
        })
    };
    let wanted: HashSet<usize> = arrays
        .iter()
        .filter_map(|array| array.elements.iter().map(counter_of).collect())
        .flat_map(|loops: Vec<usize>| loops)
        .collect();
    let mut bounded = bounded.into_iter().enumerate();
    bounded.find_map(|(at, (counted, count, access))| {
        let insts = counted.body.iter();
        let size: usize = insts.map(|&block| module.block(block).insts.len()).sum();
        if !wanted.contains(&at) || (count as usize) * size > LARGEST {
            return None;
        }
        let left = left(module, &counted, &users, &index, &flow)?;
        Some(Unrolled {
            counted,
            count,
            access,
            left,
        })
    })
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
    fn of(module: &Module, blocks: &[Block], each: &Loop) -> Option<Counted> {
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
        module.block(header).insts.iter().find_map(|&counter| {
            let InstKind::Phi(incoming) = &module.inst(counter)?.kind else {
                return None;
            };
            let &[(start, before), (next, back)] = &incoming[..] else {
                return None;
            };
            let (start, next) = match (before == latch, back == latch) {
                (false, true) => (start, next),
                (true, false) => (next, start),
                _ => return None,
            };
            let InstKind::Bin {
                op: BinOp::Add,
                lhs,
                rhs,
                ..
            } = module.inst(next)?.kind
            else {
                return None;
            };
            (lhs == counter).then_some(Counted {
                header,
                latch,
                body: body.clone(),
                counter,
                bits: module.types.int_bits(module.ty(counter))?,
                start: number(module, start)?,
                step: number(module, rhs)?,
            })
        })
    }

    /// Returns the counter in an iteration.
    fn value(&self, iteration: u128) -> u128 {
        truncate(
            self.bits,
            self.start.wrapping_add(self.step.wrapping_mul(iteration)),
        )
    }

    /// Returns a number in an iteration, if it is computed from constants and the counter.
    fn number(&self, module: &Module, value: Value, iteration: u128) -> Option<u128> {
        if value == self.counter {
            return Some(self.value(iteration));
        }
        if let Some(number) = number(module, value) {
            return Some(number);
        }
        let data = module.inst(value)?;
        self.body.contains(&data.block).then_some(())?;
        evaluate(module, value, &data.kind, |operand| {
            self.number(module, operand, iteration)
        })
    }

    /// Returns the distance of the address of an element from that of its array in an iteration.
    fn offset(&self, module: &Module, address: Value, iteration: u128) -> Option<u64> {
        match &module.inst(address)?.kind {
            InstKind::Alloca { .. } => Some(0),
            InstKind::Gep {
                element,
                base,
                indices,
                ..
            } => {
                let &[index] = &indices[..] else {
                    return None;
                };
                let bits = module.types.int_bits(module.ty(index))?;
                let index = sign_extend(bits, self.number(module, index, iteration)?) as u64;
                let distance = index.wrapping_mul(module.types.size(*element));
                let base = self.offset(module, *base, iteration)?;
                Some(base.wrapping_add(distance))
            }
            _ => None,
        }
    }

    /// Returns in how many iterations an access is within its array.
    fn iterations(&self, module: &Module, access: &Access, bytes: u64) -> Option<u128> {
        let is_outside = |&iteration: &u128| {
            let offset = self.offset(module, access.address, iteration);
            offset.is_some_and(|offset| {
                offset
                    .checked_add(access.bytes)
                    .is_none_or(|end| end > bytes)
            })
        };
        self.offset(module, access.address, 0)?;
        (0..=ITERATIONS).find(is_outside).filter(|&count| count > 0)
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
            count,
            access,
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
        for iteration in 1..=count {
            let from = (blocks[&last], blocks[&header]);
            values = counted.next_phis(module, &values);
            blocks = (body.iter())
                .map(|&block| (block, module.add_block(func, "iteration")))
                .collect();
            counted.copy(module, iteration, &blocks, &mut values);
            if iteration == count {
                end_before(module, values[&access]);
            }
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
        counted.fold(module);
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

    /// Copies the instructions for an iteration to its blocks. `values` has the header's phis, and
    /// then all values.
    fn copy(
        &self,
        module: &mut Module,
        iteration: u128,
        blocks: &HashMap<Block, Block>,
        values: &mut HashMap<Value, Value>,
    ) {
        let mut copies = Vec::new();
        for &block in &self.body {
            let (copy, data) = (blocks[&block], module.block(block).clone());
            for inst in data.insts {
                let ty = module.ty(inst);
                if let Some(number) = self.number(module, inst, iteration) {
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
        for copy in copies {
            let Some(data) = module.inst_mut(copy) else {
                continue;
            };
            data.kind.for_each_operand_mut(|operand| {
                *operand = values.get(operand).copied().unwrap_or(*operand);
            });
            let rename = |block: &mut Block| *block = *blocks.get(block).unwrap_or(block);
            match &mut data.kind {
                InstKind::Phi(incoming) => incoming.iter_mut().for_each(|(_, from)| rename(from)),
                kind => kind.for_each_successor_mut(rename),
            }
        }
    }

    /// Replaces what is constant in the first iteration.
    fn fold(&self, module: &mut Module) {
        for &block in &self.body {
            for inst in module.block(block).insts.clone() {
                let Some(mut kind) = module.inst(inst).map(|data| data.kind.clone()) else {
                    continue;
                };
                kind.for_each_operand_mut(|operand| {
                    if let Some(number) = self.number(module, *operand, 0) {
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

/// Returns the result of an operation on integers of at most 64 bits whose operands are known.
fn evaluate(
    module: &Module,
    inst: Value,
    kind: &InstKind,
    number: impl Fn(Value) -> Option<u128>,
) -> Option<u128> {
    let bits = module.types.int_bits(module.ty(inst))?;
    let result = match *kind {
        InstKind::Bin { op, lhs, rhs, .. } => {
            let (lhs, rhs) = (number(lhs)?, number(rhs)?);
            match op {
                BinOp::Add => lhs.wrapping_add(rhs),
                BinOp::Sub => lhs.wrapping_sub(rhs),
                BinOp::Mul => lhs.wrapping_mul(rhs),
                BinOp::And => lhs & rhs,
                BinOp::Or => lhs | rhs,
                BinOp::Xor => lhs ^ rhs,
                BinOp::Shl if rhs < bits.into() => lhs << rhs,
                BinOp::LShr if rhs < bits.into() => lhs >> rhs,
                _ => return None,
            }
        }
        InstKind::Cast { op, value } => {
            let from = module.types.int_bits(module.ty(value))?;
            match op {
                CastOp::Trunc | CastOp::ZExt => number(value)?,
                CastOp::SExt => sign_extend(from, number(value)?),
                _ => return None,
            }
        }
        _ => return None,
    };
    (bits <= 64).then(|| truncate(bits, result))
}

fn truncate(bits: u32, number: u128) -> u128 {
    number & (u128::MAX >> (128 - bits))
}

fn sign_extend(bits: u32, number: u128) -> u128 {
    let unused = 128 - bits;
    ((number << unused) as i128 >> unused) as u128
}
