//! The pass `separate_fields`.

use std::collections::{HashMap, HashSet};

use super::select_elements::{Index, Place, is_plain};
use super::unroll_array_loops::number;
use super::unroll_divergent_loops::users;
use crate::flow::Dominators;
use crate::inst::{BinOp, Callee, CastOp, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// The maximum size of a local variable in bytes. Larger numbers do not overflow in [`Ranges`].
const BYTES: i64 = 1 << 20;

/// The maximum bound of a number that an index is computed from.
const LARGE: i64 = 1 << 40;

/// The maximum number of values between an index and its bounds.
const DEPTH: usize = 6;

/// The maximum number of blocks that dominate an access and may check its index.
const BRANCHES: usize = 16;

/// Moves fields of local variables that are beside an array to variables of their own.
///
/// ```text
/// struct Stack { items: [u32; 16], len: usize }
/// ```
///
/// LLVM keeps a variable in memory if it is accessed at a variable index, as `items[len]` is. A store to
/// `items` might also change `len`, which is then in memory too. If checks in front of all such accesses
/// bound the index, `len` can be in a register.
///
/// The checks may be of the index plus a constant: after two calls of `pop`, LLVM has derived from the
/// checks of the first index that the second one, which is one less, is inside.
pub fn separate_fields(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let data = module.func(func);
        let named: HashSet<Value> = data.variables.iter().map(|&(value, _)| value).collect();
        let Some(&entry) = data.blocks.first() else {
            continue;
        };
        let locals: Vec<Value> = (module.block(entry).insts.iter().copied())
            .filter(|inst| !named.contains(inst))
            .filter(|&inst| {
                let kind = module.inst(inst).map(|data| &data.kind);
                matches!(kind, Some(InstKind::Alloca { count: None, .. }))
            })
            .collect();
        if locals.is_empty() {
            continue;
        }
        let users = users(module, func);
        let ranges = Ranges::new(module, func);
        let fields: Vec<(Value, Field)> = (locals.into_iter())
            .flat_map(|local| {
                let fields = fields(module, &users, &ranges, local).unwrap_or_default();
                fields.into_iter().map(move |field| (local, field))
            })
            .collect();
        for (local, field) in fields {
            field.separate(module, local);
        }
    }
}

/// Bytes of a local variable that loads and stores at constant offsets access.
struct Field {
    start: i64,
    end: i64,
    /// The accesses with their offsets.
    accesses: Vec<(Value, i64)>,
}

/// Bytes of a local variable: from the first one up to the one behind the last.
struct Bytes {
    start: i64,
    end: i64,
    /// The access and its offset, if it can be moved.
    access: Option<(Value, i64)>,
}

/// Returns the fields of a local variable that are apart from all accesses at variable indices. Returns
/// `None` if it has none, or if its address is used for something other than accesses.
fn fields(
    module: &Module,
    users: &HashMap<Value, Vec<Value>>,
    ranges: &Ranges,
    local: Value,
) -> Option<Vec<Field>> {
    let InstKind::Alloca { ty, .. } = module.inst(local)?.kind else {
        return None;
    };
    let size = i64::try_from(module.types.size(ty)).ok()?;
    (size <= BYTES).then_some(())?;
    let start = Place {
        offset: 0,
        index: None,
    };
    let mut all: Vec<Bytes> = Vec::new();
    let mut is_indexed = false;
    let mut pending = vec![(local, start)];
    while let Some((address, place)) = pending.pop() {
        for &user in users.get(&address).into_iter().flatten() {
            let data = module.inst(user)?;
            let (length, can_move) = match &data.kind {
                InstKind::Load { access, .. } => {
                    (module.types.size(module.ty(user)), is_plain(access))
                }
                InstKind::Store { value, access, .. } if *value != address => {
                    (module.types.size(module.ty(*value)), is_plain(access))
                }
                InstKind::Gep { .. } => {
                    pending.push((user, step(module, place, user)?));
                    continue;
                }
                InstKind::Call(call) => match call.callee {
                    Callee::Intrinsic(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) => {
                        continue;
                    }
                    Callee::Intrinsic(
                        Intrinsic::Memcpy | Intrinsic::Memmove | Intrinsic::Memset,
                    ) => {
                        let length = number(module, *call.args.get(2)?)?;
                        (u64::try_from(length).ok()?, false)
                    }
                    _ => return None,
                },
                _ => return None,
            };
            let length = i64::try_from(length)
                .ok()
                .filter(|&length| length <= size)?;
            let (first, last) = match place.index {
                None => (0, 0),
                Some(index) => {
                    is_indexed = true;
                    let (low, high) = ranges.of(module, index.value, data.block)?;
                    let scale = (0..=BYTES).contains(&index.scale).then_some(index.scale)?;
                    (low * scale, high * scale)
                }
            };
            let is_near = place.offset.unsigned_abs() <= BYTES as u64;
            is_near.then_some(())?;
            all.push(Bytes {
                start: place.offset + first,
                end: place.offset + last + length,
                access: (can_move && place.index.is_none()).then_some((user, place.offset)),
            });
        }
    }
    let is_inside = |bytes: &Bytes| 0 <= bytes.start && bytes.end <= size;
    (is_indexed && all.iter().all(is_inside)).then_some(())?;
    // Accesses that overlap are of one field.
    all.sort_by_key(|bytes| bytes.start);
    let mut found: Vec<(Field, bool)> = Vec::new();
    for bytes in all {
        match found.last_mut() {
            Some((field, can_move)) if bytes.start < field.end => {
                field.end = field.end.max(bytes.end);
                *can_move &= bytes.access.is_some();
                field.accesses.extend(bytes.access);
            }
            _ => found.push((
                Field {
                    start: bytes.start,
                    end: bytes.end,
                    accesses: bytes.access.into_iter().collect(),
                },
                bytes.access.is_some(),
            )),
        }
    }
    let fields = found.into_iter().filter(|(_, can_move)| *can_move);
    Some(fields.map(|(field, _)| field).collect())
}

/// Returns the place of an address that is computed from the address of another place.
///
/// The product of the index does not wrap, since the index is bounded where the address is used.
fn step(module: &Module, place: Place, gep: Value) -> Option<Place> {
    let InstKind::Gep {
        element,
        ref indices,
        ..
    } = module.inst(gep)?.kind
    else {
        return None;
    };
    let &[value] = &indices[..] else {
        return None;
    };
    let is_long = module.types.int_bits(module.ty(value)) == Some(64);
    match number(module, value) {
        None if place.index.is_none() && is_long => {
            let scale = i64::try_from(module.types.size(element)).ok()?;
            Some(Place {
                index: Some(Index { value, scale }),
                ..place
            })
        }
        None => None,
        Some(_) => place.step(module, gep),
    }
}

impl Field {
    /// Moves the field to a variable of its own.
    fn separate(self, module: &mut Module, local: Value) {
        let Some(data) = module.inst(local) else {
            return;
        };
        let InstKind::Alloca { align, .. } = data.kind else {
            return;
        };
        let (block, loc, ptr) = (data.block, data.loc, module.ty(local));
        let byte = module.types.int(8);
        let ty = module.types.array(byte, (self.end - self.start) as u64);
        // Accesses keep their alignment.
        let align = align.max(16);
        let skipped = self.start.rem_euclid(align as i64);
        let ty = match skipped {
            0 => ty,
            _ => module
                .types
                .array(byte, (self.end - self.start + skipped) as u64),
        };
        // In a struct, because LLVM's inliner merges array allocas of different call sites.
        let ty = module.types.structure(&[ty], false);
        let kind = InstKind::Alloca {
            ty,
            count: None,
            align,
        };
        let own = module.push_inst(block, ptr, kind, loc);
        let insts = &mut module.block_mut(block).insts;
        insts.rotate_right(1);
        for (access, offset) in self.accesses {
            let Some(data) = module.inst(access) else {
                continue;
            };
            let (block, loc) = (data.block, data.loc);
            let distance = module.const_i64(offset - self.start + skipped);
            let kind = InstKind::Gep {
                element: byte,
                base: own,
                indices: vec![distance],
                inbounds: true,
            };
            let address = module.push_inst(block, ptr, kind, loc);
            let insts = &mut module.block_mut(block).insts;
            insts.pop();
            if let Some(at) = insts.iter().position(|&inst| inst == access) {
                insts.insert(at, address);
            }
            if let Some(InstKind::Load { ptr, .. } | InstKind::Store { ptr, .. }) =
                module.inst_mut(access).map(|data| &mut data.kind)
            {
                *ptr = address;
            }
        }
    }
}

/// Bounds of integers that branches check.
pub(super) struct Ranges {
    dominators: Dominators,
}

impl Ranges {
    pub(super) fn new(module: &Module, func: Func) -> Ranges {
        Ranges {
            dominators: Dominators::new(module, func),
        }
    }

    /// Returns the smallest and the largest number that a value can be in a block. The value dominates
    /// the block.
    pub(super) fn of(&self, module: &Module, value: Value, block: Block) -> Option<(i64, i64)> {
        self.bounds(module, value, block, None, DEPTH)
            .filter(|&(_, high)| high <= BYTES)
    }

    /// Returns the bounds of a value at the end of a block, or where the block goes on to another one.
    fn bounds(
        &self,
        module: &Module,
        value: Value,
        block: Block,
        to: Option<Block>,
        depth: usize,
    ) -> Option<(i64, i64)> {
        if let Some(number) = number(module, value) {
            let number = i64::try_from(number).ok()?;
            return Some((number, number));
        }
        let depth = depth.checked_sub(1)?;
        let sum = Sum::of(module, value);
        let defined = module.inst(sum.base).map(|data| data.block);
        let mut conditions = Vec::new();
        let (mut block, mut to) = (block, to);
        for _ in 0..BRANCHES {
            if let Some(to) = to {
                add_conditions(module, block, to, &mut conditions);
            }
            if defined == Some(block) {
                break;
            }
            let Some((above, is_only)) = self.dominators.above(block) else {
                break;
            };
            (block, to) = (above, is_only.then_some(block));
        }
        // The conditions with the distances of their left sides from the base.
        let mut conditions: Vec<(i64, IntPred, i64)> = (conditions.into_iter())
            .filter_map(|(pred, lhs, limit)| {
                let lhs = Sum::of(module, lhs);
                (lhs.base == sum.base).then_some((lhs.distance, pred, limit))
            })
            .collect();
        if self.is_never_zero(module, sum.base) {
            conditions.push((0, IntPred::Ne, 0));
        }
        let own = self.bounds_of_inst(module, sum.base, depth);
        let (mut low, mut high) = own.unwrap_or((i64::MIN, i64::MAX));
        for &(distance, pred, limit) in &conditions {
            let (first, last) = match pred {
                IntPred::Ult => (0, limit - 1),
                IntPred::Ule => (0, limit),
                IntPred::Eq => (limit, limit),
                _ => continue,
            };
            low = low.max(first - distance);
            high = high.min(last - distance);
        }
        // Without bounds, a sum may wrap around and be any number.
        (low >= -LARGE && high <= LARGE).then_some(())?;
        for _ in 0..=conditions.len() {
            for &(distance, pred, limit) in &conditions {
                let least = match pred {
                    IntPred::Ugt => limit + 1,
                    IntPred::Uge => limit,
                    IntPred::Ne if high + distance == limit => {
                        high -= 1;
                        continue;
                    }
                    IntPred::Ne if low + distance == limit => limit + 1,
                    _ => continue,
                };
                // A negative sum is a large number.
                if low + distance >= 0 {
                    low = low.max(least - distance);
                }
            }
        }
        let (low, high) = (low + sum.distance, high + sum.distance);
        // Code that never runs has no number between its bounds.
        (0 <= low && low <= high).then_some((low, high))
    }

    /// Returns whether each value of a phi is a constant or has been compared with zero, as the length
    /// is in `while let Some(item) = stack.pop()`.
    fn is_never_zero(&self, module: &Module, phi: Value) -> bool {
        let Some(data) = module.inst(phi) else {
            return false;
        };
        let InstKind::Phi(incoming) = &data.kind else {
            return false;
        };
        incoming.iter().all(|&(value, from)| {
            if let Some(number) = number(module, value) {
                return number != 0;
            }
            let mut conditions = Vec::new();
            add_conditions(module, from, data.block, &mut conditions);
            conditions.iter().any(|&(pred, compared, limit)| {
                compared == value && pred == IntPred::Ne && limit == 0
            })
        })
    }

    /// Returns the bounds that follow from what an instruction computes.
    fn bounds_of_inst(&self, module: &Module, value: Value, depth: usize) -> Option<(i64, i64)> {
        let data = module.inst(value)?;
        match &data.kind {
            InstKind::Phi(incoming) => {
                let mut all = (i64::MAX, 0);
                for &(from, way) in incoming {
                    let (low, high) = self.bounds(module, from, way, Some(data.block), depth)?;
                    all = (all.0.min(low), all.1.max(high));
                }
                Some(all)
            }
            &InstKind::Cast {
                op: CastOp::ZExt,
                value,
            } => {
                let bits = module.types.int_bits(module.ty(value))?;
                let most = 1i64
                    .checked_shl(bits)
                    .filter(|_| bits < 32)
                    .map(|it| it - 1);
                let of_value = self.bounds(module, value, data.block, None, depth);
                match (of_value, most) {
                    (Some((low, high)), Some(most)) => Some((low, high.min(most))),
                    (Some(known), None) => Some(known),
                    (None, Some(most)) => Some((0, most)),
                    (None, None) => None,
                }
            }
            &InstKind::Bin {
                op: BinOp::And,
                rhs,
                ..
            } => Some((0, i64::try_from(number(module, rhs)?).ok()?)),
            &InstKind::Bin {
                op: BinOp::URem,
                rhs,
                ..
            } => Some((0, i64::try_from(number(module, rhs)?).ok()?.checked_sub(1)?)),
            &InstKind::Bin {
                op: BinOp::Shl,
                lhs,
                rhs,
                ..
            } if module.types.int_bits(module.ty(value)) == Some(64) => {
                let by = u32::try_from(number(module, rhs)?).ok()?;
                let (low, high) = self.bounds(module, lhs, data.block, None, depth)?;
                let fits = by < 20 && high <= LARGE;
                fits.then_some((low << by, high << by))
            }
            _ => None,
        }
    }
}

/// A value plus a constant.
struct Sum {
    base: Value,
    distance: i64,
}

impl Sum {
    /// Returns what a value of 64 bits is the sum of.
    fn of(module: &Module, value: Value) -> Sum {
        let mut sum = Sum {
            base: value,
            distance: 0,
        };
        if module.types.int_bits(module.ty(value)) != Some(64) {
            return sum;
        }
        for _ in 0..DEPTH {
            let Some(&InstKind::Bin {
                op: BinOp::Add,
                lhs,
                rhs,
                ..
            }) = module.inst(sum.base).map(|data| &data.kind)
            else {
                break;
            };
            let distance = match module.as_const(rhs) {
                Some(&Const::Int(number)) => (number as u64 as i64).checked_add(sum.distance),
                _ => None,
            };
            let Some(distance) = distance.filter(|it| (-BYTES..=BYTES).contains(it)) else {
                break;
            };
            (sum.base, sum.distance) = (lhs, distance);
        }
        sum
    }
}

/// Adds the comparisons with constants that hold where a block goes on to another one.
fn add_conditions(
    module: &Module,
    block: Block,
    to: Block,
    conditions: &mut Vec<(IntPred, Value, i64)>,
) {
    let kind = |value: Value| module.inst(value).map(|data| &data.kind);
    let Some(&InstKind::CondBr {
        cond,
        then,
        otherwise,
    }) = module.terminator(block).and_then(kind)
    else {
        return;
    };
    if then == otherwise {
        return;
    }
    let holds = then == to;
    let mut pending = vec![(cond, DEPTH)];
    while let Some((cond, depth)) = pending.pop() {
        // `a && b` that holds, and `a || b` that does not hold.
        let is_bool = |value, wanted: bool| number(module, value) == Some(wanted.into());
        let both = match kind(cond) {
            Some(&InstKind::ICmp { pred, lhs, rhs }) => {
                let limit = number(module, rhs).and_then(|limit| i64::try_from(limit).ok());
                if let Some(limit) = limit.filter(|limit| (0..=BYTES).contains(limit)) {
                    let pred = if holds { pred } else { pred.inverse() };
                    conditions.push((pred, lhs, limit));
                }
                continue;
            }
            Some(&InstKind::Bin { op, lhs, rhs, .. }) => match (op, holds) {
                (BinOp::And, true) | (BinOp::Or, false) => [lhs, rhs],
                _ => continue,
            },
            Some(&InstKind::Select {
                cond,
                then,
                otherwise,
            }) => match holds {
                true if is_bool(otherwise, false) => [cond, then],
                false if is_bool(then, true) => [cond, otherwise],
                _ => continue,
            },
            _ => continue,
        };
        if depth > 0 {
            pending.extend(both.map(|cond| (cond, depth - 1)));
        }
    }
}
