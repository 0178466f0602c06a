//! The pass `expand_moves`.

use super::compute_elements::place;
use super::select_elements::Index;
use super::separate_fields::Ranges;
use super::unroll_array_loops::number;
use crate::builder::Builder;
use crate::inst::{BinOp, Call, Callee, CastOp, InstKind, IntPred, MemAccess};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Const, Func, Value};

/// The maximum number of words that are moved.
const WORDS: u64 = 32;

/// The maximum number of words that a move of variable size may change.
const CHANGED: i64 = 16;

/// The maximum number of values between a size and the constants that it is computed from.
const DEPTH: usize = 6;

/// Replaces moves of a few words in memory by loads and stores.
///
/// `array.rotate_left(1)` and `array.copy_within(1.., 0)` move all elements but one by one place. The
/// old and the new place overlap, so that LLVM neither splits the copy into words nor keeps the array
/// in registers, and libnvvm asks at run time which word is first.
///
/// `array[..=place].rotate_right(1)` and `array.copy_within(place..len, place + 1)` move a variable number
/// of elements by a constant distance. In a small local array, each word that may change is selected
/// from its old value and the moved one. With constant indices otherwise, the array is then in registers.
pub fn expand_moves(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let mut ranges = None;
        for block in module.func(func).blocks.clone() {
            for inst in module.block(block).insts.clone() {
                if let Some(each) = Move::of(module, inst) {
                    each.expand(module);
                } else if moves(module, inst).is_some() {
                    let ranges = ranges.get_or_insert_with(|| Ranges::new(module, func));
                    if let Some(each) = PartialMove::of(module, ranges, inst) {
                        each.expand(module);
                    }
                }
            }
        }
    }
}

/// Returns a call of `memmove` that is not volatile, with its addresses and its size.
fn moves(module: &Module, inst: Value) -> Option<(&Call, [Value; 3])> {
    let InstKind::Call(call) = &module.inst(inst)?.kind else {
        return None;
    };
    let (Callee::Intrinsic(Intrinsic::Memmove), &[to, from, size, volatile]) =
        (&call.callee, &call.args[..])
    else {
        return None;
    };
    matches!(module.as_const(volatile)?, Const::Zero | Const::Int(0))
        .then_some((call, [to, from, size]))
}

/// A call of `memmove` with a constant size.
struct Move {
    call: Value,
    to: Value,
    from: Value,
    /// The number of words.
    count: u64,
    /// The size of a word in bytes, which the addresses are aligned to.
    word: u64,
}

impl Move {
    fn of(module: &Module, inst: Value) -> Option<Move> {
        let (call, [to, from, size]) = moves(module, inst)?;
        let size = u64::try_from(number(module, size)?).ok()?;
        let align = |index: usize| call.arg_attrs.get(index).map_or(1, |it| it.align.max(1));
        let word = align(0).min(align(1)).min(8);
        let count = size / word;
        let is_small = size > 0 && size % word == 0 && count <= WORDS;
        is_small.then_some(Move {
            call: inst,
            to,
            from,
            count,
            word,
        })
    }

    /// Loads all words before the first is stored.
    fn expand(&self, module: &mut Module) {
        let Some(data) = module.inst(self.call) else {
            return;
        };
        let (block, loc) = (data.block, data.loc);
        let insts = &module.block(block).insts;
        let Some(place) = insts.iter().position(|&inst| inst == self.call) else {
            return;
        };
        let rest = module.block_mut(block).insts.split_off(place);
        let word = module.types.int(self.word as u32 * 8);
        let int = module.types.int(64);
        let access = MemAccess {
            align: self.word,
            ..MemAccess::default()
        };
        let at = |module: &mut Module, base: Value, index: u64| {
            if index == 0 {
                return base;
            }
            let kind = InstKind::Gep {
                element: word,
                base,
                indices: vec![module.const_int(int, index.into())],
                inbounds: true,
            };
            module.push_inst(block, module.ty(base), kind, loc)
        };
        let mut words = Vec::new();
        for index in 0..self.count {
            let ptr = at(module, self.from, index);
            let kind = InstKind::Load { ptr, access };
            words.push(module.push_inst(block, word, kind, loc));
        }
        for (index, value) in (0..).zip(words) {
            let ptr = at(module, self.to, index);
            let kind = InstKind::Store { value, ptr, access };
            let void = module.types.void();
            module.push_inst(block, void, kind, loc);
        }
        let after = rest.into_iter().filter(|&inst| inst != self.call);
        module.block_mut(block).insts.extend(after);
    }
}

/// A call of `memmove` with a variable size or start, within a local variable.
struct PartialMove {
    call: Value,
    local: Value,
    /// The number of bytes.
    size: Value,
    /// The offset of the first byte that changes, without the variable index.
    to: i64,
    /// The variable part of that offset.
    index: Option<Index>,
    /// The number of bytes from an old place to the new one.
    distance: i64,
    /// The range of offsets that may change.
    changed: (i64, i64),
    /// The number of bytes that change in any case, if the first one is known.
    least: i64,
    /// The size of a word in bytes, of which all of these are multiples.
    word: i64,
}

impl PartialMove {
    fn of(module: &Module, ranges: &Ranges, inst: Value) -> Option<PartialMove> {
        let (_, [to, from, size]) = moves(module, inst)?;
        let block = module.inst(inst)?.block;
        let (local, to) = place(module, to)?;
        let (other, from) = place(module, from)?;
        let &InstKind::Alloca {
            ty,
            count: None,
            align,
        } = &module.inst(local)?.kind
        else {
            return None;
        };
        let is_same = match (to.index, from.index) {
            (None, None) => true,
            (Some(to), Some(from)) => to.value == from.value && to.scale == from.scale,
            _ => false,
        };
        (local == other && is_same).then_some(())?;
        let end = i64::try_from(module.types.size(ty)).ok()?;
        let distance = to.offset.checked_sub(from.offset)?;
        let scale = to.index.map_or(0, |index| index.scale);
        let zeros = [distance, to.offset, end, align as i64, scale]
            .map(i64::trailing_zeros)
            .into_iter()
            .min()?
            .min(factor(module, size, DEPTH));
        let word = 1 << zeros.min(3);
        let sizes = ranges.of(module, size, block);
        let (first, last) = match to.index {
            None => (0, 0),
            Some(index) => (ranges.of(module, index.value, block))
                .and_then(|(low, high)| Some((low.checked_mul(scale)?, high.checked_mul(scale)?)))
                .unwrap_or((-end, end)),
        };
        let most = sizes.map_or(end, |(_, high)| high);
        // Other bytes are outside of the variable in the old or the new place.
        let low = (to.offset.checked_add(first)?).max(0).max(distance);
        let high = (to.offset.checked_add(last)?.checked_add(most)?)
            .min(end)
            .min(end + distance);
        let is_small = distance != 0 && low < high && (high - low) / word <= CHANGED;
        is_small.then_some(PartialMove {
            call: inst,
            local,
            size,
            to: to.offset,
            index: to.index,
            distance,
            changed: (low, high),
            least: match to.index {
                None => sizes.map_or(0, |(low, _)| low),
                Some(_) => 0,
            },
            word,
        })
    }

    /// Loads all words before the first is stored.
    fn expand(&self, module: &mut Module) {
        let Some(data) = module.inst(self.call) else {
            return;
        };
        let (block, loc) = (data.block, data.loc);
        let insts = &mut module.block_mut(block).insts;
        let Some(at) = insts.iter().position(|&inst| inst == self.call) else {
            return;
        };
        let rest = insts.split_off(at);
        let mut bx = Builder::at(module, block, loc);
        let (byte, int) = (bx.module.types.int(8), bx.module.types.int(32));
        let ty = bx.module.types.int(self.word as u32 * 8);
        let access = MemAccess {
            align: self.word as u64,
            ..MemAccess::default()
        };
        let address = |bx: &mut Builder<'_>, offset: i64| {
            let offset = bx.module.const_i64(offset);
            bx.gep(byte, self.local, &[offset], true)
        };
        let size = narrowed(&mut bx, self.size);
        let start = self.index.map(|index| {
            let scale = bx.module.const_int(int, index.scale as u32 as u128);
            let index = narrowed(&mut bx, index.value);
            bx.bin(BinOp::Mul, index, scale)
        });
        let (low, high) = self.changed;
        let offsets = || (low..high).step_by(self.word as usize);
        let mut values = Vec::new();
        for offset in offsets() {
            let from = address(&mut bx, offset - self.distance);
            let moved = bx.load(ty, from, access);
            let at = offset - self.to;
            if self.index.is_none() && at < self.least {
                values.push(moved);
                continue;
            }
            let to = address(&mut bx, offset);
            let old = bx.load(ty, to, access);
            let mut at = bx.module.const_int(int, at as u32 as u128);
            if let Some(start) = start {
                at = bx.bin(BinOp::Sub, at, start);
            }
            let changes = bx.icmp(IntPred::Ult, at, size);
            values.push(bx.select(changes, moved, old));
        }
        for (offset, value) in offsets().zip(values) {
            let to = address(&mut bx, offset);
            bx.store(value, to, access);
        }
        let after = rest.into_iter().filter(|&inst| inst != self.call);
        module.block_mut(block).insts.extend(after);
    }
}

/// Returns an integer of 64 bits as one of 32 bits. A move of other sizes or indices is outside of a
/// local variable, or moves nothing.
fn narrowed(bx: &mut Builder<'_>, value: Value) -> Value {
    let int = bx.module.types.int(32);
    match bx.module.types.int_bits(bx.module.ty(value)) {
        Some(32) => value,
        _ => bx.cast(CastOp::Trunc, value, int),
    }
}

/// Returns the exponent of a power of two that divides an integer.
fn factor(module: &Module, value: Value, depth: usize) -> u32 {
    const LARGE: u32 = 32;
    if let Some(number) = number(module, value) {
        return number.trailing_zeros().min(LARGE);
    }
    let (Some(data), Some(depth)) = (module.inst(value), depth.checked_sub(1)) else {
        return 0;
    };
    let of = |value| factor(module, value, depth);
    match &data.kind {
        &InstKind::Bin { op, lhs, rhs, .. } => match op {
            BinOp::Add | BinOp::Sub | BinOp::Or => of(lhs).min(of(rhs)),
            BinOp::And => of(lhs).max(of(rhs)),
            BinOp::Mul => (of(lhs) + of(rhs)).min(LARGE),
            BinOp::Shl => match number(module, rhs) {
                Some(by) if by < LARGE.into() => (of(lhs) + by as u32).min(LARGE),
                _ => 0,
            },
            _ => 0,
        },
        &InstKind::Cast {
            op: CastOp::ZExt,
            value,
        } => of(value),
        InstKind::Phi(incoming) => {
            let all = incoming.iter().map(|&(value, _)| of(value));
            all.min().unwrap_or(0)
        }
        &InstKind::Select {
            then, otherwise, ..
        } => of(then).min(of(otherwise)),
        _ => 0,
    }
}
