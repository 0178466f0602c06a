//! Emits the PTX of a single atomic access, exchange or fence, for `atomics` and `cas_loop`.

use super::bits::{halves, join};
use super::rewriter::Rewriter;
use crate::inst::*;
use crate::types::{Type, TypeKind};
use crate::value::Value;

/// Converts a value to the integer or pointer that PTX operates on.
pub(super) fn to_raw(rw: &mut Rewriter, value: Value) -> Value {
    match rw.kind(rw.ty(value)) {
        TypeKind::Int(1) => {
            let i8 = rw.int_ty(8);
            rw.resize(value, i8, false)
        }
        TypeKind::Half | TypeKind::Float | TypeKind::Double => rw.bits_of(value),
        _ => value,
    }
}

/// The inverse of [`to_raw`].
pub(super) fn from_raw(rw: &mut Rewriter, raw: Value, ty: Type) -> Value {
    match rw.kind(ty) {
        TypeKind::Int(1) => rw.resize(raw, ty, false),
        TypeKind::Half | TypeKind::Float | TypeKind::Double => rw.bitcast(raw, ty),
        _ => raw,
    }
}

/// Returns the PTX name of a scope. Before sm_90 there are no clusters, so the next wider scope is
/// used.
pub(super) fn scope_name(rw: &Rewriter, scope: Scope) -> &'static str {
    match scope {
        Scope::Block => "cta",
        Scope::Cluster if rw.target.sm >= 90 => "cluster",
        Scope::Cluster | Scope::Device => "gpu",
        Scope::System => "sys",
    }
}

/// The address of an atomic access, with the PTX qualifiers that precede the type.
#[derive(Copy, Clone)]
pub(super) struct Place {
    pub ptr: Value,
    pub space: &'static str,
    pub scope: Scope,
}

/// Emits `fence.sc` or `fence.acq_rel`, or nothing for a relaxed fence.
pub(super) fn fence(rw: &mut Rewriter, ordering: Ordering, scope: Scope) {
    let kind = match ordering {
        Ordering::Relaxed => return,
        Ordering::SeqCst => "sc",
        Ordering::Acquire | Ordering::Release | Ordering::AcqRel => "acq_rel",
    };
    let template = format!("fence.{kind}.{};", scope_name(rw, scope));
    let void = rw.module.types.void();
    rw.memory_asm(template, "", void, &[]);
}

/// Returns the register type and the constraint letter for a value of a width.
fn register(rw: &mut Rewriter, width: u32) -> (Type, &'static str) {
    match width {
        8 | 16 => (rw.int_ty(16), "h"),
        32 => (rw.int_ty(32), "r"),
        _ => (rw.int_ty(64), "l"),
    }
}

/// Emits `ld.SEM` of an integer or a pointer.
pub(super) fn raw_load(rw: &mut Rewriter, ty: Type, place: Place, sem: &str) -> Value {
    let scope = scope_name(rw, place.scope);
    let width = rw.bits(ty);
    let prefix = format!("ld.{sem}.{scope}{}", place.space);
    if width == 128 {
        let template =
            format!("{{ .reg .b128 t; {prefix}.b128 t, [$2]; mov.b128 {{$0, $1}}, t; }}");
        return pair_asm(rw, template, "=l,=l,l", &[place.ptr]);
    }
    let (register, letter) = register(rw, width);
    let register = if rw.module.types.is_ptr(ty) {
        ty
    } else {
        register
    };
    let kind = if width == 8 { 'u' } else { 'b' };
    let loaded = rw.memory_asm(
        format!("{prefix}.{kind}{width} $0, [$1];"),
        &format!("={letter},l"),
        register,
        &[place.ptr],
    );
    if register == ty {
        loaded
    } else {
        rw.resize(loaded, ty, false)
    }
}

/// Emits `st.SEM` of an integer or a pointer.
pub(super) fn raw_store(rw: &mut Rewriter, value: Value, place: Place, sem: &str) {
    let scope = scope_name(rw, place.scope);
    let ty = rw.ty(value);
    let width = rw.bits(ty);
    let prefix = format!("st.{sem}.{scope}{}", place.space);
    let void = rw.module.types.void();
    if width == 128 {
        let (low, high) = halves(rw, value);
        let template =
            format!("{{ .reg .b128 t; mov.b128 t, {{$1, $2}}; {prefix}.b128 [$0], t; }}");
        rw.memory_asm(template, "l,l,l", void, &[place.ptr, low, high]);
        return;
    }
    let (register, letter) = register(rw, width);
    let value = if rw.module.types.is_ptr(ty) {
        value
    } else {
        rw.resize(value, register, false)
    };
    let kind = if width == 8 { 'u' } else { 'b' };
    let template = format!("{prefix}.{kind}{width} [$0], $1;");
    rw.memory_asm(template, &format!("l,{letter}"), void, &[place.ptr, value]);
}

/// Emits inline PTX whose result is an i128 in two halves.
fn pair_asm(rw: &mut Rewriter, template: String, constraints: &str, args: &[Value]) -> Value {
    let i64 = rw.int_ty(64);
    let pair = rw.module.types.structure(&[i64, i64], false);
    let result = rw.memory_asm(template, constraints, pair, args);
    let low = rw.extract_value(result, 0);
    let high = rw.extract_value(result, 1);
    join(rw, low, high)
}

/// Returns the PTX semantics of a single atomic instruction. A sequentially consistent operation
/// has a `fence.sc` before it, so the instruction itself only needs to acquire.
pub(super) fn atom_sem(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Relaxed => "relaxed",
        Ordering::Acquire | Ordering::SeqCst => "acquire",
        Ordering::Release => "release",
        Ordering::AcqRel => "acq_rel",
    }
}

/// A read-modify-write operation that PTX has.
#[derive(Copy, Clone)]
pub(super) struct Atom {
    /// PTX's name.
    name: &'static str,
    /// The letter of PTX's type.
    kind: char,
    /// Whether the operand is negated before.
    negate: bool,
}

impl Atom {
    /// Returns PTX's operation, or `None` for `nand`.
    pub(super) fn of(op: RmwOp) -> Option<Atom> {
        let (name, kind) = match op {
            RmwOp::Xchg => ("exch", 'b'),
            RmwOp::Add | RmwOp::Sub => ("add", 'u'),
            RmwOp::And => ("and", 'b'),
            RmwOp::Or => ("or", 'b'),
            RmwOp::Xor => ("xor", 'b'),
            RmwOp::Max => ("max", 's'),
            RmwOp::Min => ("min", 's'),
            RmwOp::UMax => ("max", 'u'),
            RmwOp::UMin => ("min", 'u'),
            RmwOp::FAdd => ("add", 'f'),
            RmwOp::Nand => return None,
        };
        let negate = op == RmwOp::Sub;
        Some(Atom { name, kind, negate })
    }

    /// Returns whether an operand of ones keeps the previous value, rather than one of zeros.
    pub(super) fn keeps_ones(self) -> bool {
        self.name == "and"
    }
}

/// Emits `atom.SEM.SCOPE.OP` of 32 or 64 bits, or an exchange of 128 bits.
pub(super) fn one_atom(
    rw: &mut Rewriter,
    atom: Atom,
    place: Place,
    value: Value,
    sem: &str,
) -> Value {
    let ty = rw.ty(value);
    let width = rw.bits(ty);
    let prefix = format!("atom.{sem}.{}{}", scope_name(rw, place.scope), place.space);
    if width == 128 {
        let (low, high) = halves(rw, value);
        let template = format!(
            "{{ .reg .b128 o, n; mov.b128 n, {{$3, $4}}; {prefix}.exch.b128 o, [$2], n; \
             mov.b128 {{$0, $1}}, o; }}"
        );
        return pair_asm(rw, template, "=l,=l,l,l,l", &[place.ptr, low, high]);
    }
    let Atom { name, kind, negate } = atom;
    let mut raw = if kind == 'f' {
        value
    } else {
        to_raw(rw, value)
    };
    if negate {
        let zero = rw.int(ty, 0);
        raw = rw.bin(BinOp::Sub, zero, raw);
    }
    let letter = match (kind, width) {
        ('f', 32) => "f",
        ('f', _) => "d",
        (_, 32) => "r",
        _ => "l",
    };
    let template = format!("{prefix}.{name}.{kind}{width} $0, [$1], $2;");
    let raw_ty = rw.ty(raw);
    let old = rw.memory_asm(
        template,
        &format!("={letter},l,{letter}"),
        raw_ty,
        &[place.ptr, raw],
    );
    from_raw(rw, old, ty)
}

/// Emits `atom.SEM.SCOPE.cas` of 32, 64 or 128 bits and returns the previous value.
pub(super) fn one_cas(
    rw: &mut Rewriter,
    place: Place,
    expected: Value,
    new: Value,
    sem: &str,
) -> Value {
    let ty = rw.ty(new);
    let width = rw.bits(ty);
    let prefix = format!("atom.{sem}.{}{}", scope_name(rw, place.scope), place.space);
    if width == 128 {
        let (expected_low, expected_high) = halves(rw, expected);
        let (low, high) = halves(rw, new);
        let template = format!(
            "{{ .reg .b128 o, e, n; mov.b128 e, {{$3, $4}}; mov.b128 n, {{$5, $6}}; \
             {prefix}.cas.b128 o, [$2], e, n; mov.b128 {{$0, $1}}, o; }}"
        );
        let args = [place.ptr, expected_low, expected_high, low, high];
        return pair_asm(rw, template, "=l,=l,l,l,l,l,l", &args);
    }
    let letter = if width == 32 { "r" } else { "l" };
    let template = format!("{prefix}.cas.b{width} $0, [$1], $2, $3;");
    let constraints = format!("={letter},l,{letter},{letter}");
    rw.memory_asm(template, &constraints, ty, &[place.ptr, expected, new])
}
