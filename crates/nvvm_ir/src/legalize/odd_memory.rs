//! Legalizes illegal-width integers in memory: they are read and written in chunks of 1, 2, 4 and 8
//! bytes, so that adjacent bytes are unchanged.

use super::odd_ints::keep_low;
use super::rewriter::Rewriter;
use super::types::{Class, class};
use crate::inst::*;
use crate::types::{Type, TypeKind};
use crate::value::Value;

/// Returns whether a type contains an illegal-width integer.
pub(super) fn contains_odd(rw: &Rewriter, ty: Type) -> bool {
    match rw.kind(ty) {
        TypeKind::Array(element, _) => contains_odd(rw, *element),
        TypeKind::Struct { fields, .. } => fields.iter().any(|&field| contains_odd(rw, field)),
        _ => matches!(class(rw, ty), Class::Odd(_)) && rw.vector_len(ty).is_none(),
    }
}

/// Rejects an atomic operation of an illegal width.
pub(super) fn refuse_atomic(rw: &mut Rewriter, ty: Type) -> Value {
    let new_ty = rw.new_ty(ty);
    rw.unsupported(new_ty, "an atomic operation on an illegal-width integer")
}

/// Returns the chunks of an integer of `bits` bits: offsets and sizes in bytes.
fn pieces(bits: u32) -> impl Iterator<Item = (u64, u64)> {
    let bytes = u64::from(bits.div_ceil(8));
    let mut at = 0;
    std::iter::from_fn(move || {
        let left = bytes - at;
        let size = if left >= 8 {
            8
        } else {
            1 << left.checked_ilog2()?
        };
        at += size;
        Some((at - size, size))
    })
}

/// Returns the properties of the access to a chunk, whose offset is a multiple of its size.
fn piece_access(access: MemAccess, size: u64) -> MemAccess {
    MemAccess {
        align: access.align.clamp(1, size),
        range: None,
        nonnull: false,
        ..access
    }
}

fn at_offset(rw: &mut Rewriter, ptr: Value, at: u64) -> Value {
    if at == 0 {
        return ptr;
    }
    let offset = rw.module.const_i64(at as i64);
    rw.offset(ptr, offset)
}

/// Legalizes a load of an illegal-width integer, or of an aggregate that contains one.
pub(super) fn legalize_load(rw: &mut Rewriter, ty: Type, ptr: Value, access: MemAccess) -> Value {
    if access.atomic.is_some() {
        return refuse_atomic(rw, ty);
    }
    load(rw, ty, ptr, access)
}

fn load(rw: &mut Rewriter, ty: Type, ptr: Value, access: MemAccess) -> Value {
    let new_ty = rw.new_ty(ty);
    let bits = match shape(rw, ty) {
        Shape::Odd(bits) => bits,
        Shape::Fields(fields) => {
            let fields: Vec<Value> = fields
                .into_iter()
                .map(|(field, at)| {
                    let ptr = at_offset(rw, ptr, at);
                    let align = field_access(access, at);
                    load(rw, field, ptr, align)
                })
                .collect();
            return rw.aggregate(new_ty, &fields);
        }
        Shape::Plain => {
            let range = None;
            return rw.load(new_ty, ptr, MemAccess { range, ..access });
        }
    };
    let mut value = None;
    for (at, size) in pieces(bits) {
        let piece_ty = rw.int_ty(size as u32 * 8);
        let ptr = at_offset(rw, ptr, at);
        let piece = rw.load(piece_ty, ptr, piece_access(access, size));
        let piece = rw.resize(piece, new_ty, false);
        value = Some(match value {
            None => piece,
            Some(low) => {
                let piece = rw.bin_int(BinOp::Shl, piece, u128::from(at * 8));
                rw.bin(BinOp::Or, low, piece)
            }
        });
    }
    let value = value.expect("an integer has at least one byte");
    if bits.is_multiple_of(8) {
        value
    } else {
        keep_low(rw, value, bits)
    }
}

/// How a value is accessed.
enum Shape {
    /// An integer of this illegal width: in chunks.
    Odd(u32),
    /// An aggregate that contains one: field by field, each with its offset.
    Fields(Vec<(Type, u64)>),
    /// Any other type: at once.
    Plain,
}

fn shape(rw: &Rewriter, ty: Type) -> Shape {
    if !contains_odd(rw, ty) {
        return Shape::Plain;
    }
    let types = &rw.module.types;
    match (types.kind(ty), class(rw, ty)) {
        (TypeKind::Struct { fields, .. }, _) => Shape::Fields(
            (0..)
                .zip(fields)
                .map(|(i, &field)| (field, types.field_offset(ty, i)))
                .collect(),
        ),
        (TypeKind::Array(element, len), _) => {
            let size = types.size(*element);
            Shape::Fields((0..*len).map(|i| (*element, i * size)).collect())
        }
        (_, Class::Odd(bits)) => Shape::Odd(bits),
        _ => Shape::Plain,
    }
}

fn field_access(access: MemAccess, at: u64) -> MemAccess {
    let align = if at == 0 {
        access.align
    } else {
        access.align.min(1 << at.trailing_zeros())
    };
    MemAccess { align, ..access }
}

/// Legalizes a store of an illegal-width integer, or of an aggregate that contains one.
pub(super) fn legalize_store(
    rw: &mut Rewriter,
    ty: Type,
    value: Value,
    ptr: Value,
    access: MemAccess,
) -> Value {
    if access.atomic.is_some() {
        return refuse_atomic(rw, ty);
    }
    let value_ty = rw.old_ty(value);
    let value = rw.current(value);
    store(rw, value_ty, value, ptr, access);
    rw.module.const_undef(ty)
}

fn store(rw: &mut Rewriter, ty: Type, value: Value, ptr: Value, access: MemAccess) {
    let bits = match shape(rw, ty) {
        Shape::Odd(bits) => bits,
        Shape::Fields(fields) => {
            for (index, (field, at)) in (0..).zip(fields) {
                let part = rw.extract_value(value, index);
                let ptr = at_offset(rw, ptr, at);
                store(rw, field, part, ptr, field_access(access, at));
            }
            return;
        }
        Shape::Plain => return rw.store(value, ptr, access),
    };
    for (at, size) in pieces(bits) {
        let piece_ty = rw.int_ty(size as u32 * 8);
        let piece = if at == 0 {
            value
        } else {
            rw.bin_int(BinOp::LShr, value, u128::from(at * 8))
        };
        let piece = rw.resize(piece, piece_ty, false);
        let ptr = at_offset(rw, ptr, at);
        rw.store(piece, ptr, piece_access(access, size));
    }
}
