//! The pass `index_walks`.

use std::collections::{HashMap, HashSet};

use super::bound_counts::Ways;
use super::bound_searches::{kind, number, phi};
use super::unroll_divergent_loops::users;
use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, CastOp, Flags, InstKind, IntPred};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Block, Func, Value};

/// How many instructions `fits` looks at one behind the other.
const DEPTH: usize = 4;

/// Gives loops over slices that get shorter indices of 32 bits.
///
/// `while let [first, rest @ ..] = slice { …; slice = rest; }` keeps the slice's address and its length
/// in registers: two numbers of 64 bits that change together, four instructions. A loop that merges two
/// slices selects each of these numbers anew in each iteration. If the length has at most 32 bits,
/// because the slice lies between two numbers of type `u32`, the loop counts the elements that it has
/// left behind instead. Address and length are computed from that index of 32 bits, the address by one
/// instruction.
///
/// If the address does not change, as in `while let [rest @ .., last] = slice`, the length itself gets 32
/// bits.
///
/// The length decreases by one element where a branch has shown that it is not 0. So it is at most the
/// length before the loop.
pub fn index_walks(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        index_walks_of(module, func);
    }
}

fn index_walks_of(module: &mut Module, func: Func) {
    let blocks = module.func(func).blocks.clone();
    let word = module.types.int(64);
    let has_length = |&block: &Block| {
        let mut insts = module.block(block).insts.iter();
        insts.any(|&inst| is_decrement(module, inst).is_some())
    };
    if !blocks.iter().any(has_length) {
        return;
    }
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    for found in flow.loops() {
        let header = blocks[found.header];
        let phis: Vec<Value> = (module.block(header).insts.iter().copied())
            .take_while(|&inst| module.is_phi(inst))
            .collect();
        for &length in &phis {
            if module.ty(length) != word {
                continue;
            }
            let ways = Ways {
                module,
                flow: &flow,
                blocks: &blocks,
                index: &index,
            };
            if let Some(walk) = Walk::of(&ways, &found, length) {
                walk.rewrite(module, func);
            }
        }
    }
}

/// A loop's use of a slice that gets shorter.
struct Walk {
    header: Block,
    before: Block,
    /// The length before the loop.
    length: Value,
    /// The lengths in the loop, the phi of the header first.
    lengths: Vec<Value>,
    /// The addresses that increase as the length decreases.
    addresses: Vec<Addresses>,
}

/// The addresses of the first element.
struct Addresses {
    /// The address before the loop.
    base: Value,
    /// The size of an element.
    size: u64,
    inbounds: bool,
    /// The phis, each with the phi of its block that is the length.
    phis: Vec<(Value, Value)>,
}

impl Walk {
    fn of(ways: &Ways, found: &Loop, first: Value) -> Option<Walk> {
        let module = ways.module;
        let header = ways.blocks[found.header];
        let is_inside = |block: Block| found.body.contains(&ways.index[&block]);
        let incoming = phi(module, header, first)?;
        let mut outside = incoming.iter().filter(|&&(_, from)| !is_inside(from));
        let &(length, before) = outside
            .next()
            .filter(|_| outside.clone().next().is_none())?;
        if number(module, length).is_some() || !fits(module, length, DEPTH) {
            return None;
        }
        let mut lengths = vec![first];
        let mut seen = HashSet::from([first]);
        let mut steps = false;
        let mut at = 0;
        while let Some(&value) = lengths.get(at) {
            at += 1;
            let data = module.inst(value).filter(|data| is_inside(data.block))?;
            let from: Vec<Value> = match &data.kind {
                InstKind::Phi(incoming) if value == first => {
                    let inside = incoming.iter().filter(|&&(_, from)| from != before);
                    inside.map(|&(value, _)| value).collect()
                }
                InstKind::Phi(incoming) => incoming.iter().map(|&(value, _)| value).collect(),
                &InstKind::Select {
                    then, otherwise, ..
                } => vec![then, otherwise],
                _ => {
                    let old = is_decrement(module, value)?;
                    steps = true;
                    ways.is_not_0_in(old, data.block).then_some(())?;
                    vec![old]
                }
            };
            lengths.extend(from.into_iter().filter(|&value| seen.insert(value)));
        }
        steps.then_some(())?;
        let phis = (module.block(header).insts.iter()).take_while(|&&inst| module.is_phi(inst));
        let addresses = phis
            .filter(|&&inst| module.types.is_ptr(module.ty(inst)))
            .filter_map(|&address| Addresses::of(module, before, address, first))
            .collect();
        Some(Walk {
            header,
            before,
            length,
            lengths,
            addresses,
        })
    }

    /// Counts elements in 32 bits: those that are left behind if addresses increase, and otherwise those
    /// that remain.
    fn rewrite(&self, module: &mut Module, func: Func) {
        let users = users(module, func);
        let users = |value: Value| users.get(&value).map_or(&[][..], Vec::as_slice);
        let (short, long) = (module.types.int(32), module.types.int(64));
        let counts_up = !self.addresses.is_empty();
        let length = low_word(module, self.length, self.before, short);
        let zero = module.const_int(short, 0);
        let step = module.const_int(short, if counts_up { 1 } else { u32::MAX.into() });
        let (first, last) = if counts_up {
            (zero, length)
        } else {
            (length, zero)
        };
        for &value in &self.lengths {
            module.value_mut(value).ty = short;
            let Some(data) = module.inst_mut(value) else {
                continue;
            };
            match &mut data.kind {
                InstKind::Phi(incoming) if data.block == self.header => {
                    (incoming.iter_mut().filter(|(_, from)| *from == self.before))
                        .for_each(|(value, _)| *value = first);
                }
                InstKind::Bin { rhs, flags, .. } => {
                    *rhs = step;
                    *flags = Flags {
                        nuw: counts_up,
                        ..Flags::default()
                    };
                }
                _ => {}
            }
        }
        let extend = |value| InstKind::Cast {
            op: CastOp::ZExt,
            value,
        };
        let mut replaced: HashMap<Value, Value> = HashMap::new();
        for addresses in &self.addresses {
            let byte = module.types.int(8);
            let element = module.types.array(byte, addresses.size);
            for &(address, index) in &addresses.phis {
                let index = insert_behind(module, index, long, extend(index));
                let gep = InstKind::Gep {
                    element,
                    base: addresses.base,
                    indices: vec![index],
                    inbounds: addresses.inbounds,
                };
                let new = insert_behind(module, index, module.ty(address), gep);
                replaced.insert(address, new);
            }
        }
        let web: HashSet<Value> = self.lengths.iter().copied().collect();
        for &value in &self.lengths {
            let (tests, others): (Vec<Value>, Vec<Value>) = (users(value).iter())
                .filter(|user| !web.contains(user))
                .partition(|&&user| compared(module, user, value).is_some());
            for test in tests {
                if let Some(InstKind::ICmp { rhs, .. }) =
                    module.inst_mut(test).map(|data| &mut data.kind)
                {
                    *rhs = last;
                }
            }
            if others.is_empty() {
                continue;
            }
            let mut remaining = value;
            if counts_up {
                let nuw = true;
                let sub = InstKind::Bin {
                    op: BinOp::Sub,
                    lhs: length,
                    rhs: value,
                    flags: Flags {
                        nuw,
                        ..Flags::default()
                    },
                };
                remaining = insert_behind(module, value, short, sub);
            }
            let wide = insert_behind(module, remaining, long, extend(remaining));
            for user in others {
                if let Some(data) = module.inst_mut(user) {
                    data.kind.for_each_operand_mut(|operand| {
                        if *operand == value {
                            *operand = wide;
                        }
                    });
                }
            }
        }
        self.replace(module, func, &replaced);
    }

    /// Replaces phis by other values.
    fn replace(&self, module: &mut Module, func: Func, replaced: &HashMap<Value, Value>) {
        for block in module.func(func).blocks.clone() {
            let mut insts = std::mem::take(&mut module.block_mut(block).insts);
            insts.retain(|inst| !replaced.contains_key(inst));
            for &inst in &insts {
                if let Some(data) = module.inst_mut(inst) {
                    data.kind.for_each_operand_mut(|operand| {
                        if let Some(&new) = replaced.get(operand) {
                            *operand = new;
                        }
                    });
                }
            }
            module.block_mut(block).insts = insts;
        }
    }
}

impl Addresses {
    /// Returns the addresses of a phi of the loop's header that increase whenever the length decreases.
    fn of(module: &Module, before: Block, address: Value, length: Value) -> Option<Addresses> {
        let base = module.incoming(address, before)?;
        let mut size = None;
        let mut inbounds = true;
        let mut phis = Vec::new();
        let mut pending = vec![(address, length)];
        let mut seen = HashSet::from([(address, length)]);
        while let Some(pair) = pending.pop() {
            let (to, at) = (module.inst(pair.0)?, module.inst(pair.1)?);
            let mut from = Vec::new();
            match (&to.kind, &at.kind) {
                (InstKind::Phi(addresses), InstKind::Phi(_)) if to.block == at.block => {
                    phis.push(pair);
                    for &(next, block) in addresses {
                        let is_first = pair == (address, length) && block == before;
                        if !is_first {
                            from.push((next, module.incoming(pair.1, block)?));
                        }
                    }
                }
                (
                    &InstKind::Select {
                        cond,
                        then: a,
                        otherwise: b,
                    },
                    &InstKind::Select {
                        cond: same,
                        then: c,
                        otherwise: d,
                    },
                ) if cond == same => from.extend([(a, c), (b, d)]),
                (
                    &InstKind::Gep {
                        element,
                        base: old,
                        ref indices,
                        inbounds: stays,
                    },
                    InstKind::Bin { .. },
                ) => {
                    let &[index] = &indices[..] else {
                        return None;
                    };
                    let step = module.types.size(element);
                    let bytes = step.checked_mul(number(module, index)?.try_into().ok()?)?;
                    (bytes > 0 && *size.get_or_insert(bytes) == bytes).then_some(())?;
                    inbounds &= stays;
                    from.push((old, is_decrement(module, pair.1)?));
                }
                _ => return None,
            }
            pending.extend(from.into_iter().filter(|&pair| seen.insert(pair)));
        }
        Some(Addresses {
            base,
            size: size?,
            inbounds,
            phis,
        })
    }
}

/// Returns the number of which an instruction computes the predecessor.
fn is_decrement(module: &Module, inst: Value) -> Option<Value> {
    match *kind(module, inst)? {
        InstKind::Bin {
            op: BinOp::Add,
            lhs,
            rhs,
            ..
        } if number(module, rhs) == Some(u64::MAX.into()) => Some(lhs),
        _ => None,
    }
}

/// Returns the predicate with which a value is compared with 0.
fn compared(module: &Module, inst: Value, value: Value) -> Option<IntPred> {
    match *kind(module, inst)? {
        InstKind::ICmp { pred, lhs, rhs } => {
            let is_test = matches!(pred, IntPred::Eq | IntPred::Ne);
            (is_test && lhs == value && number(module, rhs) == Some(0)).then_some(pred)
        }
        _ => None,
    }
}

/// Returns whether a number of 64 bits is less than 2^32.
fn fits(module: &Module, value: Value, depth: usize) -> bool {
    if let Some(number) = number(module, value) {
        return number <= u32::MAX.into();
    }
    if depth == 0 {
        return false;
    }
    let fits = |value| fits(module, value, depth - 1);
    match kind(module, value) {
        Some(&InstKind::Cast {
            op: CastOp::ZExt,
            value,
        }) => {
            let bits = module.types.int_bits(module.ty(value));
            bits.is_some_and(|bits| bits <= 32)
        }
        Some(&InstKind::Bin {
            op,
            lhs,
            rhs,
            flags,
        }) => match op {
            BinOp::Sub => flags.nuw && fits(lhs),
            BinOp::LShr | BinOp::UDiv => fits(lhs),
            BinOp::And => fits(lhs) || fits(rhs),
            _ => false,
        },
        Some(&InstKind::Select {
            then, otherwise, ..
        }) => fits(then) && fits(otherwise),
        Some(InstKind::Phi(incoming)) => incoming.iter().all(|&(value, _)| fits(value)),
        _ => false,
    }
}

/// Returns the low 32 bits of a value at the end of a block.
fn low_word(module: &mut Module, value: Value, block: Block, word: Type) -> Value {
    if let Some(&InstKind::Cast {
        op: CastOp::ZExt,
        value,
    }) = kind(module, value)
        && module.ty(value) == word
    {
        return value;
    }
    let op = CastOp::Trunc;
    module.insert_at_end(block, word, InstKind::Cast { op, value })
}

/// Inserts an instruction behind another one, or behind the phis of its block.
fn insert_behind(module: &mut Module, inst: Value, ty: Type, new: InstKind) -> Value {
    let Some((block, loc)) = module.inst(inst).map(|data| (data.block, data.loc)) else {
        return inst;
    };
    let value = module.push_inst(block, ty, new, loc);
    let insts = &module.block(block).insts;
    let at = match module.is_phi(inst) {
        true => insts.iter().position(|&other| !module.is_phi(other)),
        false => insts
            .iter()
            .position(|&other| other == inst)
            .map(|at| at + 1),
    };
    if let Some(at) = at {
        module.block_mut(block).insts[at..].rotate_right(1);
    }
    value
}
