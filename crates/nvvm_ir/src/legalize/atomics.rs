//! Legalizes atomic operations and fences to scoped PTX: libnvvm drops their orderings and lacks
//! most of the operations, so this module implements Rust's memory model.
//!
//! The mapping onto PTX's memory model is that of its authors (Lustig, Sahasrabuddhe and Giroux, "A
//! Formal Analysis of the NVIDIA PTX Memory Consistency Model"): relaxed, acquire and release are
//! PTX's own; a sequentially consistent operation is a `fence.sc` followed by the operation, with
//! acquire if it reads (the preceding fence already releases).
//!
//! PTX defines no atomics on local memory; because no other thread can access it, a plain access
//! suffices. If a pointer may point to local memory, `in_space` emits a check at run time.

use super::atom_ptx::{
    Atom, Place, atom_sem, fence, from_raw, one_atom, one_cas, raw_load, raw_store, to_raw,
};
use super::cas_loop;
use super::rewriter::Rewriter;
use crate::inst::*;
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::{Const, Value};

/// Returns the width in bits of a type that supports atomic operations.
fn width(rw: &Rewriter, ty: Type) -> Option<u32> {
    match rw.kind(ty) {
        TypeKind::Int(1) => Some(8),
        TypeKind::Int(bits @ (8 | 16 | 32 | 64 | 128)) => Some(*bits),
        TypeKind::Half => Some(16),
        TypeKind::Float => Some(32),
        TypeKind::Double | TypeKind::Ptr(_) => Some(64),
        _ => None,
    }
}

fn refuse(rw: &mut Rewriter, ty: Type, value_ty: Type) -> Value {
    let what = format!("an atomic operation on {:?}", rw.kind(value_ty));
    rw.unsupported(ty, what)
}

fn raw_ty(rw: &mut Rewriter, ty: Type) -> Type {
    match *rw.kind(ty) {
        TypeKind::Ptr(_) => ty,
        _ => {
            let bits = width(rw, ty).expect("checked before");
            rw.int_ty(bits)
        }
    }
}

/// Returns the address space that a pointer is known to point into.
fn space_of(rw: &Rewriter, ptr: Value) -> Option<AddrSpace> {
    let mut ptr = ptr;
    // The bound keeps the pass linear; real address computations are shorter.
    for _ in 0..16 {
        match rw.module.types.addr_space(rw.ty(ptr)) {
            Some(AddrSpace::Generic) | None => {}
            space => return space,
        }
        ptr = rw.current(ptr);
        if let Some(&Const::Addr { base, .. }) = rw.module.as_const(ptr) {
            return Some(rw.module.global(rw.module.as_global(base)?).space);
        }
        ptr = match rw.module.inst(ptr)?.kind {
            InstKind::Alloca { .. } => return Some(AddrSpace::Local),
            InstKind::Gep { base, .. } => base,
            InstKind::Cast {
                op: CastOp::AddrSpaceCast | CastOp::Bitcast,
                value,
            } => value,
            _ => return None,
        };
    }
    None
}

/// Returns the pointer that the address `ptr` is computed from, in the same address space.
///
/// libnvvm 13.0 replaces the operand of `isspacep` with the pointer that it is computed from, but
/// does not cast it to `i8*`. If that pointer was cast for a `getelementptr`, the call is invalid and
/// libnvvm fails with "Broken function found" (`address_space_of_an_element` in `tests/libnvvm.rs`).
/// The operand therefore is a pointer that libnvvm does not replace.
fn origin(rw: &Rewriter, ptr: Value) -> Value {
    let mut origin = ptr;
    while let Some(inst) = rw.module.inst(origin) {
        let base = match inst.kind {
            InstKind::Gep { base, .. } => base,
            InstKind::Cast {
                op: CastOp::Bitcast,
                value,
            } => value,
            _ => break,
        };
        let base = rw.current(base);
        let space = rw.module.types.addr_space(rw.ty(base));
        // An offset from a constant, such as null, may be an address in any space.
        if space != Some(AddrSpace::Generic) || rw.module.as_const(base).is_some() {
            break;
        }
        origin = base;
    }
    origin
}

/// Emits an access as `shared` (scoped PTX) or as `own` (plain, for local memory), depending on
/// where the pointer points.
pub(super) fn in_space(
    rw: &mut Rewriter,
    ptr: Value,
    scope: Scope,
    own: impl FnOnce(&mut Rewriter, Value) -> Option<Value>,
    shared: impl FnOnce(&mut Rewriter, Place) -> Option<Value>,
) -> Option<Value> {
    let known = |space, suffix| (Some(space), suffix);
    let (space, suffix) = match space_of(rw, ptr) {
        Some(AddrSpace::Local) => return own(rw, ptr),
        Some(AddrSpace::Shared) => known(AddrSpace::Shared, ".shared"),
        Some(AddrSpace::Global) => known(AddrSpace::Global, ".global"),
        Some(AddrSpace::Generic | AddrSpace::Constant) | None => (None, ""),
    };
    if let Some(space) = space {
        let ty = rw.module.types.ptr_in(space);
        let ptr = rw.cast(CastOp::AddrSpaceCast, ptr, ty);
        return shared(
            rw,
            Place {
                ptr,
                space: suffix,
                scope,
            },
        );
    }
    let ptr = rw.generic(ptr);
    let i1 = rw.int_ty(1);
    let origin = origin(rw, ptr);
    let is_own = rw.call_named("llvm.nvvm.isspacep.local", i1, &[origin]);
    let (own_block, shared_block) = (rw.new_block("own"), rw.new_block("shared"));
    let join = rw.new_block("joined");
    rw.cond_br(is_own, own_block, shared_block);
    rw.go_to(own_block);
    let own_value = own(rw, ptr);
    let own_end = rw.block();
    rw.br(join);
    rw.go_to(shared_block);
    let shared_value = shared(
        rw,
        Place {
            ptr,
            space: "",
            scope,
        },
    );
    let shared_end = rw.block();
    rw.br(join);
    rw.go_to(join);
    let (own_value, shared_value) = (own_value?, shared_value?);
    let incoming = vec![(own_value, own_end), (shared_value, shared_end)];
    Some(rw.emit(rw.ty(own_value), InstKind::Phi(incoming)))
}

/// Legalizes a fence between threads.
pub(super) fn legalize_fence(
    rw: &mut Rewriter,
    ty: Type,
    ordering: Ordering,
    scope: Scope,
) -> Value {
    fence(rw, ordering, scope);
    rw.module.const_undef(ty)
}

/// Legalizes an atomic load.
pub(super) fn legalize_load(
    rw: &mut Rewriter,
    ty: Type,
    ptr: Value,
    access: MemAccess,
    (ordering, scope): (Ordering, Scope),
) -> Value {
    if width(rw, ty).is_none() {
        return refuse(rw, ty, ty);
    }
    if space_of(rw, ptr) == Some(AddrSpace::Local) {
        let atomic = None;
        return rw.load(ty, ptr, MemAccess { atomic, ..access });
    }
    let raw_ty = raw_ty(rw, ty);
    let place = strong_place(rw, ptr, scope);
    if ordering == Ordering::SeqCst {
        fence(rw, Ordering::SeqCst, scope);
    }
    let sem = if ordering == Ordering::Relaxed {
        "relaxed"
    } else {
        "acquire"
    };
    let raw = raw_load(rw, raw_ty, place, sem);
    from_raw(rw, raw, ty)
}

/// Legalizes an atomic store.
pub(super) fn legalize_store(
    rw: &mut Rewriter,
    ty: Type,
    (value, ptr): (Value, Value),
    access: MemAccess,
    (ordering, scope): (Ordering, Scope),
) -> Value {
    let value_ty = rw.ty(value);
    if width(rw, value_ty).is_none() {
        return refuse(rw, ty, value_ty);
    }
    if space_of(rw, ptr) == Some(AddrSpace::Local) {
        let atomic = None;
        rw.store(value, ptr, MemAccess { atomic, ..access });
        return rw.module.const_undef(ty);
    }
    let raw = to_raw(rw, value);
    let place = strong_place(rw, ptr, scope);
    let sem = match ordering {
        Ordering::SeqCst => {
            fence(rw, Ordering::SeqCst, scope);
            "relaxed"
        }
        Ordering::Relaxed => "relaxed",
        _ => "release",
    };
    raw_store(rw, raw, place, sem);
    rw.module.const_undef(ty)
}

/// Returns the place of a strong load or store. PTX defines these on local memory too, unlike other
/// atomics, so no branch is needed.
fn strong_place(rw: &mut Rewriter, ptr: Value, scope: Scope) -> Place {
    let (space, suffix) = match space_of(rw, ptr) {
        Some(AddrSpace::Shared) => (AddrSpace::Shared, ".shared"),
        Some(AddrSpace::Global) => (AddrSpace::Global, ".global"),
        _ => (AddrSpace::Generic, ""),
    };
    let ty = rw.module.types.ptr_in(space);
    let ptr = rw.cast(CastOp::AddrSpaceCast, ptr, ty);
    Place {
        ptr,
        space: suffix,
        scope,
    }
}

/// Legalizes an atomic read-modify-write operation.
pub(super) fn legalize_rmw(
    rw: &mut Rewriter,
    ty: Type,
    op: RmwOp,
    (ptr, value): (Value, Value),
    (ordering, scope): (Ordering, Scope),
) -> Value {
    let Some(width) = width(rw, ty) else {
        return refuse(rw, ty, ty);
    };
    if width == 128 && rw.target.sm < 90 {
        return rw.needs_arch(ty, "an atomic operation of 128 bits", 90);
    }
    let own = |rw: &mut Rewriter, ptr| {
        let access = MemAccess {
            align: u64::from(width / 8),
            ..MemAccess::default()
        };
        let old = rw.load(ty, ptr, access);
        let new = combine(rw, op, old, value);
        rw.store(new, ptr, access);
        Some(old)
    };
    let shared = |rw: &mut Rewriter, place| Some(shared_rmw(rw, op, place, value, ordering));
    in_space(rw, ptr, scope, own, shared).expect("both give the old value")
}

/// Computes the value that a read-modify-write operation writes.
pub(super) fn combine(rw: &mut Rewriter, op: RmwOp, old: Value, value: Value) -> Value {
    let select = |rw: &mut Rewriter, pred| {
        let first = rw.icmp(pred, old, value);
        rw.select(first, old, value)
    };
    match op {
        RmwOp::Xchg => value,
        RmwOp::Add => rw.bin(BinOp::Add, old, value),
        RmwOp::Sub => rw.bin(BinOp::Sub, old, value),
        RmwOp::And => rw.bin(BinOp::And, old, value),
        RmwOp::Nand => {
            let both = rw.bin(BinOp::And, old, value);
            rw.not(both)
        }
        RmwOp::Or => rw.bin(BinOp::Or, old, value),
        RmwOp::Xor => rw.bin(BinOp::Xor, old, value),
        RmwOp::Max => select(rw, IntPred::Sgt),
        RmwOp::Min => select(rw, IntPred::Slt),
        RmwOp::UMax => select(rw, IntPred::Ugt),
        RmwOp::UMin => select(rw, IntPred::Ult),
        RmwOp::FAdd => rw.bin(BinOp::FAdd, old, value),
    }
}

fn shared_rmw(
    rw: &mut Rewriter,
    op: RmwOp,
    place: Place,
    value: Value,
    ordering: Ordering,
) -> Value {
    let ty = rw.ty(value);
    let width = width(rw, ty).expect("checked before");
    let float = rw.module.types.is_float(ty);
    let raw_ty = raw_ty(rw, ty);
    let new = |rw: &mut Rewriter, old| {
        let old = from_raw(rw, old, ty);
        let new = combine(rw, op, old, value);
        to_raw(rw, new)
    };
    let bitwise = !float && rw.bits(ty) != 1;
    let old = match (Atom::of(op), width, op) {
        (Some(atom), ..=16, RmwOp::And | RmwOp::Or | RmwOp::Xor) if bitwise => {
            cas_loop::narrow_bitwise(rw, atom, place, value, ordering)
        }
        (_, ..=16, _) => cas_loop::narrow_rmw(rw, place, raw_ty, ordering, new),
        (Some(atom), 17..=64, _) | (Some(atom), _, RmwOp::Xchg) => {
            if ordering == Ordering::SeqCst {
                fence(rw, Ordering::SeqCst, place.scope);
            }
            return one_atom(rw, atom, place, value, atom_sem(ordering));
        }
        _ => cas_loop::wide_rmw(rw, place, raw_ty, ordering, new),
    };
    from_raw(rw, old, ty)
}

/// Returns an ordering that suffices for both outcomes of a compare-and-exchange.
fn both_outcomes(success: Ordering, failure: Ordering) -> Ordering {
    use Ordering::*;
    match (success, failure) {
        (SeqCst, _) | (_, SeqCst) => SeqCst,
        (Relaxed, Acquire) => Acquire,
        (Release, Acquire) => AcqRel,
        _ => success,
    }
}

/// Legalizes an atomic compare-and-exchange, whose result is `{previous, equal}`.
pub(super) fn legalize_cmpxchg(
    rw: &mut Rewriter,
    ty: Type,
    ptr: Value,
    [expected, new]: [Value; 2],
    (success, failure): (Ordering, Ordering),
    scope: Scope,
) -> Value {
    let value_ty = rw.ty(new);
    let Some(width) = width(rw, value_ty) else {
        return refuse(rw, ty, value_ty);
    };
    if width == 128 && rw.target.sm < 90 {
        return rw.needs_arch(ty, "an atomic operation of 128 bits", 90);
    }
    let ordering = both_outcomes(success, failure);
    let expected = to_raw(rw, expected);
    let new = to_raw(rw, new);
    let raw_ty = rw.ty(new);
    let own = |rw: &mut Rewriter, ptr| {
        let access = MemAccess {
            align: u64::from(width / 8),
            ..MemAccess::default()
        };
        let old = rw.load(raw_ty, ptr, access);
        let equal = rw.icmp(IntPred::Eq, old, expected);
        let written = rw.select(equal, new, old);
        rw.store(written, ptr, access);
        Some(old)
    };
    let shared = |rw: &mut Rewriter, place: Place| {
        if width <= 16 {
            return Some(cas_loop::narrow_cas(rw, place, expected, new, ordering));
        }
        if ordering == Ordering::SeqCst {
            fence(rw, Ordering::SeqCst, place.scope);
        }
        Some(one_cas(rw, place, expected, new, atom_sem(ordering)))
    };
    let old = in_space(rw, ptr, scope, own, shared).expect("both give the old value");
    let equal = rw.icmp(IntPred::Eq, old, expected);
    let old = from_raw(rw, old, value_ty);
    rw.aggregate(ty, &[old, equal])
}
