//! Read-modify-write operations that PTX lacks, as compare-exchange loops; 8-bit and 16-bit
//! operations use the aligned 32-bit word that contains them.
//!
//! The loop itself is relaxed; a fence before it releases, and a fence after it acquires.

use super::atom_ptx::{Atom, Place, atom_sem, fence, one_atom, one_cas, raw_load};
use super::rewriter::Rewriter;
use crate::inst::*;
use crate::types::Type;
use crate::value::Value;

fn fence_before(rw: &mut Rewriter, place: Place, ordering: Ordering) {
    if !matches!(ordering, Ordering::Relaxed | Ordering::Acquire) {
        fence(rw, ordering, place.scope);
    }
}

fn fence_after(rw: &mut Rewriter, place: Place, ordering: Ordering) {
    if !matches!(ordering, Ordering::Relaxed | Ordering::Release) {
        fence(rw, Ordering::AcqRel, place.scope);
    }
}

/// Emits a loop on 32, 64 or 128 bits and returns the previous value. `new` computes the new value
/// from the previous one.
pub(super) fn wide_rmw(
    rw: &mut Rewriter,
    place: Place,
    ty: Type,
    ordering: Ordering,
    new: impl FnOnce(&mut Rewriter, Value) -> Value,
) -> Value {
    fence_before(rw, place, ordering);
    let start = rw.block();
    let first = raw_load(rw, ty, place, "relaxed");
    let (again, done) = (rw.new_block("cas"), rw.new_block("cas_done"));
    rw.br(again);
    rw.go_to(again);
    let old = rw.emit(ty, InstKind::Phi(Vec::new()));
    let new = new(rw, old);
    let seen = one_cas(rw, place, old, new, "relaxed");
    let same = rw.icmp(IntPred::Eq, seen, old);
    let end = rw.block();
    rw.set_incoming(old, vec![(first, start), (seen, end)]);
    rw.cond_br(same, done, again);
    rw.go_to(done);
    fence_after(rw, place, ordering);
    old
}

/// A field of 8 or 16 bits: the word that contains it, the shift from the word's lowest bit, and
/// the field's mask in the word.
struct Field {
    word: Place,
    shift: Value,
    mask: Value,
    ty: Type,
}

impl Field {
    fn new(rw: &mut Rewriter, place: Place, ty: Type) -> Field {
        let (i32, i64) = (rw.int_ty(32), rw.int_ty(64));
        let address = rw.cast(CastOp::PtrToInt, place.ptr, i64);
        let bytes = rw.bin_int(BinOp::And, address, 3);
        let zero = rw.int(i64, 0);
        let back = rw.bin(BinOp::Sub, zero, bytes);
        let ptr = rw.offset(place.ptr, back);
        let bytes = rw.resize(bytes, i32, false);
        let shift = rw.bin_int(BinOp::Shl, bytes, 3);
        let ones = rw.int(i32, (1 << rw.bits(ty)) - 1);
        let mask = rw.bin(BinOp::Shl, ones, shift);
        Field {
            word: Place { ptr, ..place },
            shift,
            mask,
            ty,
        }
    }

    /// Extracts the field from a word.
    fn get(&self, rw: &mut Rewriter, word: Value) -> Value {
        let field = rw.bin(BinOp::LShr, word, self.shift);
        rw.resize(field, self.ty, false)
    }

    /// Returns a word with the field in place and all other bits zero.
    fn put(&self, rw: &mut Rewriter, field: Value) -> Value {
        let word = rw.int_ty(32);
        let field = rw.resize(field, word, false);
        rw.bin(BinOp::Shl, field, self.shift)
    }

    /// Replaces the field in a word.
    fn set(&self, rw: &mut Rewriter, word: Value, field: Value) -> Value {
        let outside = rw.not(self.mask);
        let rest = rw.bin(BinOp::And, word, outside);
        let field = self.put(rw, field);
        rw.bin(BinOp::Or, rest, field)
    }
}

/// Emits a loop on 8 or 16 bits and returns the previous value. `new` computes the new value from
/// the previous one.
pub(super) fn narrow_rmw(
    rw: &mut Rewriter,
    place: Place,
    ty: Type,
    ordering: Ordering,
    new: impl FnOnce(&mut Rewriter, Value) -> Value,
) -> Value {
    let field = Field::new(rw, place, ty);
    let i32 = rw.int_ty(32);
    let word = wide_rmw(rw, field.word, i32, ordering, |rw, word| {
        let old = field.get(rw, word);
        let new = new(rw, old);
        field.set(rw, word, new)
    });
    field.get(rw, word)
}

/// Emits `and`, `or` or `xor` on 8 or 16 bits: with the right mask these do not change the rest of
/// the word, so no loop is needed.
pub(super) fn narrow_bitwise(
    rw: &mut Rewriter,
    atom: Atom,
    place: Place,
    value: Value,
    ordering: Ordering,
) -> Value {
    let ty = rw.ty(value);
    let field = Field::new(rw, place, ty);
    let mut operand = field.put(rw, value);
    if atom.keeps_ones() {
        let outside = rw.not(field.mask);
        operand = rw.bin(BinOp::Or, operand, outside);
    }
    if ordering == Ordering::SeqCst {
        fence(rw, ordering, place.scope);
    }
    let word = one_atom(rw, atom, field.word, operand, atom_sem(ordering));
    field.get(rw, word)
}

/// Emits a compare-and-exchange of 8 or 16 bits and returns the previous value. It retries while
/// only the rest of the word changes.
pub(super) fn narrow_cas(
    rw: &mut Rewriter,
    place: Place,
    expected: Value,
    new: Value,
    ordering: Ordering,
) -> Value {
    let ty = rw.ty(new);
    fence_before(rw, place, ordering);
    let field = Field::new(rw, place, ty);
    let i32 = rw.int_ty(32);
    let start = rw.block();
    let first = raw_load(rw, i32, field.word, "relaxed");
    let (again, attempt) = (rw.new_block("cas"), rw.new_block("cas_try"));
    let done = rw.new_block("cas_done");
    rw.br(again);
    rw.go_to(again);
    let word = rw.emit(i32, InstKind::Phi(Vec::new()));
    let old = field.get(rw, word);
    let equal = rw.icmp(IntPred::Eq, old, expected);
    rw.cond_br(equal, attempt, done);
    rw.go_to(attempt);
    let written = field.set(rw, word, new);
    let seen = one_cas(rw, field.word, word, written, "relaxed");
    let same = rw.icmp(IntPred::Eq, seen, word);
    let end = rw.block();
    rw.set_incoming(word, vec![(first, start), (seen, end)]);
    rw.cond_br(same, done, again);
    rw.go_to(done);
    fence_after(rw, place, ordering);
    // If the exchange took place, the previous value is the expected one.
    old
}
