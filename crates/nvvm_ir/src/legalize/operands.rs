//! Rewrites the operands and types of an instruction in place.

use crate::inst::{Callee, InstKind, ParamAttrs};
use crate::types::Type;
use crate::value::Value;

/// Replaces each operand that is a value.
pub(super) fn map_operands(kind: &mut InstKind, mut f: impl FnMut(Value) -> Value) {
    use InstKind::*;
    let mut set = |v: &mut Value| *v = f(*v);
    match kind {
        Br(_) | Unreachable | Fence { .. } => {}
        Ret(value) => value.iter_mut().for_each(set),
        CondBr { cond: value, .. }
        | Switch { value, .. }
        | Load { ptr: value, .. }
        | FNeg(value)
        | Freeze(value)
        | Cast { value, .. }
        | ExtractValue {
            aggregate: value, ..
        } => set(value),
        Alloca { count, .. } => count.iter_mut().for_each(set),
        Gep { base, indices, .. } => {
            set(base);
            indices.iter_mut().for_each(set)
        }
        CmpXchg {
            ptr, expected, new, ..
        } => {
            set(ptr);
            set(expected);
            set(new)
        }
        Store {
            value: a, ptr: b, ..
        }
        | AtomicRmw {
            ptr: a, value: b, ..
        }
        | Bin { lhs: a, rhs: b, .. }
        | ICmp { lhs: a, rhs: b, .. }
        | FCmp { lhs: a, rhs: b, .. }
        | InsertValue {
            aggregate: a,
            value: b,
            ..
        }
        | ExtractElement {
            vector: a,
            index: b,
        }
        | ShuffleVector { a, b, .. } => {
            set(a);
            set(b)
        }
        Select {
            cond: a,
            then: b,
            otherwise: c,
        }
        | InsertElement {
            vector: a,
            value: b,
            index: c,
        } => {
            set(a);
            set(b);
            set(c)
        }
        Phi(incoming) => incoming.iter_mut().for_each(|(v, _)| set(v)),
        Call(call) => {
            if let Callee::Value(v) = &mut call.callee {
                set(v)
            }
            call.args.iter_mut().for_each(set)
        }
    }
}

/// Replaces each type in an instruction, except its result type.
pub(super) fn map_types(kind: &mut InstKind, mut f: impl FnMut(Type) -> Type) {
    match kind {
        InstKind::Alloca { ty, .. } | InstKind::Gep { element: ty, .. } => *ty = f(*ty),
        InstKind::Call(call) => {
            call.sig = f(call.sig);
            map_attr_types(&mut call.ret_attrs, &mut f);
            call.arg_attrs
                .iter_mut()
                .for_each(|attrs| map_attr_types(attrs, &mut f));
        }
        _ => {}
    }
}

/// Replaces the types in attributes.
pub(super) fn map_attr_types(attrs: &mut ParamAttrs, mut f: impl FnMut(Type) -> Type) {
    attrs.byval = attrs.byval.map(&mut f);
    attrs.sret = attrs.sret.map(&mut f);
}
