//! The type sweep: illegal-width integers become the next wider width that libnvvm supports, `f128`
//! becomes `i128`, and `bf16` becomes `i16`, also inside other types. Sizes, alignments and struct
//! offsets are unchanged.
//!
//! Values keep their handles and change their types first. Then the instructions whose meaning
//! depends on the old type are replaced, by the modules that the rule of this module names.

use std::collections::HashMap;

use super::rewriter::Rewriter;
use super::{LegalizeError, Target, bfloat, fp128, odd_ints, odd_memory};
use crate::inst::*;
use crate::module::Module;
use crate::types::{Type, TypeKind, Types};
use crate::value::{Const, Value, ValueKind};

/// Rewrites the types that libnvvm lacks, if the module has any.
pub(super) fn legalize_types(
    module: &mut Module,
    target: &Target,
    errors: &mut Vec<LegalizeError>,
) {
    let new_types = new_types(&mut module.types);
    if new_types.iter().zip(0..).all(|(ty, old)| ty.0 == old) {
        return;
    }
    check_types(module, errors);
    let old_types: Vec<Type> = module.values.iter().map(|value| value.ty).collect();
    let consts = rewrite_consts(module, &new_types);
    let new = |ty: Type| new_types.get(ty.0 as usize).copied().unwrap_or(ty);
    for value in &mut module.values[..old_types.len()] {
        match &mut value.kind {
            ValueKind::Param(..) => {}
            ValueKind::Inst(data) => {
                data.kind.for_each_type_mut(|ty| *ty = new(*ty));
                mask_cases(&mut data.kind, |value| {
                    module.types.int_bits(old_types[value.index()])
                });
            }
            _ => continue,
        }
        value.ty = new(value.ty);
    }
    for global in &mut module.globals {
        global.ty = new(global.ty);
        global.init = global
            .init
            .map(|init| consts.get(&init).copied().unwrap_or(init));
    }
    for func in module.funcs() {
        let data = module.func_mut(func);
        data.sig = new(data.sig);
        data.ret_attrs.for_each_type_mut(|ty| *ty = new(*ty));
        data.param_attrs
            .iter_mut()
            .for_each(|attrs| attrs.for_each_type_mut(|ty| *ty = new(*ty)));
        if !data.blocks.is_empty() {
            let mut rewriter = Rewriter::new(module, *target, func, &consts, errors);
            rewriter.old_types = &old_types;
            rewriter.new_types = &new_types;
            rewriter.run_once(rule);
        }
    }
}

/// Truncates a switch's cases to the width of its operand, which is zero-extended from now on.
fn mask_cases(kind: &mut InstKind, bits: impl Fn(Value) -> Option<u32>) {
    let InstKind::Switch { value, cases, .. } = kind else {
        return;
    };
    if let Some(bits @ 1..=128) = bits(*value) {
        cases
            .iter_mut()
            .for_each(|case| case.0 &= u128::MAX >> (128 - bits));
    }
}

/// Returns the width of the register that holds an integer of a width.
pub(super) fn container(bits: u32) -> u32 {
    if bits == 1 {
        1
    } else {
        bits.next_power_of_two().max(8)
    }
}

/// Returns the replacement of each type, by handle.
fn new_types(types: &mut Types) -> Vec<Type> {
    let mut new: Vec<Type> = Vec::new();
    for old in types.all() {
        let at = |new: &[Type], ty: Type| new[ty.0 as usize];
        let kind = match types.kind(old).clone() {
            TypeKind::Int(bits) => TypeKind::Int(if bits <= 128 { container(bits) } else { bits }),
            TypeKind::Fp128 => TypeKind::Int(128),
            TypeKind::BFloat => TypeKind::Int(16),
            TypeKind::Array(element, len) => TypeKind::Array(at(&new, element), len),
            // A vector of illegal-width integers is packed by bits; its uses are rejected.
            TypeKind::Vector(element, len) if types.int_bits(element).is_none() => {
                TypeKind::Vector(at(&new, element), len)
            }
            TypeKind::Struct { fields, packed } => TypeKind::Struct {
                fields: fields.iter().map(|&field| at(&new, field)).collect(),
                packed,
            },
            TypeKind::Func {
                ret,
                params,
                variadic,
            } => TypeKind::Func {
                ret: at(&new, ret),
                params: params.iter().map(|&param| at(&new, param)).collect(),
                variadic,
            },
            kind => kind,
        };
        new.push(types.intern(kind));
    }
    new
}

/// Returns whether a type has no replacement.
fn is_unsupported(types: &Types, ty: Type) -> bool {
    match types.kind(ty) {
        TypeKind::Int(bits) => *bits > 128,
        TypeKind::Vector(element, _) => types
            .int_bits(*element)
            .is_some_and(|bits| bits != container(bits) || bits > 128),
        TypeKind::Array(element, _) => is_unsupported(types, *element),
        TypeKind::Struct { fields, .. } => fields.iter().any(|&field| is_unsupported(types, field)),
        TypeKind::Func { ret, params, .. } => {
            is_unsupported(types, *ret) || params.iter().any(|&param| is_unsupported(types, param))
        }
        _ => false,
    }
}

fn check_types(module: &Module, errors: &mut Vec<LegalizeError>) {
    let types = &module.types;
    let unsupported: Vec<bool> = types.all().map(|ty| is_unsupported(types, ty)).collect();
    if !unsupported.contains(&true) {
        return;
    }
    let mut check = |symbol: &str, ty: Type| {
        if unsupported[ty.0 as usize] {
            let what = crate::write::type_name(module, ty);
            errors.push(LegalizeError::UnsupportedType {
                symbol: symbol.to_owned(),
                what,
            });
        }
    };
    for global in module.globals().map(|global| module.global(global)) {
        check(&global.name, global.ty);
    }
    for func in module.funcs().map(|func| module.func(func)) {
        check(&func.name, func.sig);
        for &block in &func.blocks {
            module
                .block(block)
                .insts
                .iter()
                .for_each(|&inst| check(&func.name, module.ty(inst)));
        }
    }
}

/// Returns the replacements of constants whose types change.
fn rewrite_consts(module: &mut Module, new_types: &[Type]) -> HashMap<Value, Value> {
    let mut new_consts = HashMap::new();
    // The fields of an aggregate are older constants.
    for index in 0..module.values.len() {
        let value = Value(index as u32);
        let ValueKind::Const(old) = &module.value(value).kind else {
            continue;
        };
        let ty = new_types[module.ty(value).0 as usize];
        if ty == module.ty(value) {
            continue;
        }
        let scalar = module.types.int_bits(ty).is_some();
        let new = match old {
            Const::Int(bits) | Const::Float(bits) => Const::Int(*bits),
            // The register's bits above an illegal width must be zero.
            Const::Zero | Const::Undef | Const::Poison if scalar => Const::Int(0),
            Const::Aggregate(fields) => {
                let field = |field: &Value| new_consts.get(field).copied().unwrap_or(*field);
                Const::Aggregate(fields.iter().map(field).collect())
            }
            other => other.clone(),
        };
        let new = module.constant(ty, new);
        new_consts.insert(value, new);
    }
    new_consts
}

/// The class of an old type in this sweep. The class of a vector is that of its elements.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Class {
    /// An integer of a width that libnvvm does not support.
    Odd(u32),
    /// `f128`.
    Quad,
    /// `bf16`.
    Brain,
    /// Any other type.
    Plain,
}

pub(super) fn class(rw: &Rewriter, ty: Type) -> Class {
    match *rw.kind(rw.module.types.scalar(ty)) {
        TypeKind::Int(bits) if bits <= 128 && bits != container(bits) => Class::Odd(bits),
        TypeKind::Fp128 => Class::Quad,
        TypeKind::BFloat => Class::Brain,
        _ => Class::Plain,
    }
}

/// Replaces an instruction on old types. `ty` is the old type of its result.
fn rule(rw: &mut Rewriter, ty: Type, kind: &InstKind) -> Option<Value> {
    use Class::*;
    let of = |rw: &Rewriter, value: Value| class(rw, rw.old_ty(value));
    let is_odd = |rw: &Rewriter, value: Value| matches!(of(rw, value), Odd(_));
    match *kind {
        InstKind::Load { ptr, access } if odd_memory::contains_odd(rw, ty) => {
            Some(odd_memory::legalize_load(rw, ty, ptr, access))
        }
        InstKind::Store { value, ptr, access }
            if odd_memory::contains_odd(rw, rw.old_ty(value)) =>
        {
            Some(odd_memory::legalize_store(rw, ty, value, ptr, access))
        }
        InstKind::AtomicRmw { value, .. } | InstKind::CmpXchg { new: value, .. }
            if is_odd(rw, value) =>
        {
            Some(odd_memory::refuse_atomic(rw, ty))
        }
        InstKind::Gep {
            element,
            base,
            ref indices,
            inbounds,
        } if indices.iter().any(|&index| is_odd(rw, index)) => Some(odd_ints::legalize_gep(
            rw, ty, element, base, indices, inbounds,
        )),
        InstKind::Bin { op, lhs, rhs, .. } => match of(rw, lhs) {
            Odd(bits) => Some(odd_ints::legalize_bin(rw, bits, op, [lhs, rhs])),
            Quad => fp128::legalize_bin(rw, ty, op, [lhs, rhs]),
            Brain => Some(bfloat::legalize_bin(rw, ty, op, [lhs, rhs])),
            Plain => None,
        },
        InstKind::FNeg(value) if matches!(of(rw, value), Quad | Brain) => {
            Some(fp128::legalize_fneg(rw, ty, value))
        }
        InstKind::ICmp { pred, lhs, rhs } if is_odd(rw, lhs) => {
            Some(odd_ints::legalize_icmp(rw, pred, [lhs, rhs]))
        }
        InstKind::FCmp { pred, lhs, rhs } => match of(rw, lhs) {
            Quad => Some(fp128::legalize_fcmp(rw, ty, pred, [lhs, rhs])),
            Brain => Some(bfloat::legalize_fcmp(rw, ty, pred, [lhs, rhs])),
            _ => None,
        },
        InstKind::Cast { op, value } => match (of(rw, value), class(rw, ty)) {
            (Plain, Plain) => None,
            _ if op == CastOp::Bitcast => Some(odd_ints::legalize_bitcast(rw, ty, value)),
            (Brain, _) | (_, Brain) => Some(bfloat::legalize_cast(rw, ty, op, value)),
            (Quad, _) | (_, Quad) => Some(fp128::legalize_cast(rw, ty, op, value)),
            _ => Some(odd_ints::legalize_cast(rw, ty, op, value)),
        },
        InstKind::Call(ref call) => {
            let (Callee::Intrinsic(intrinsic), args) = (&call.callee, &call.args) else {
                return None;
            };
            let arg = args.first().map_or(Plain, |&arg| of(rw, arg));
            // The family of the float handles a conversion, whatever the integer's width.
            let class = if arg == Plain { class(rw, ty) } else { arg };
            match class {
                Odd(_) => Some(odd_ints::legalize_intrinsic(rw, ty, *intrinsic, args)),
                Quad => Some(fp128::legalize_intrinsic(rw, ty, *intrinsic, args)),
                Brain => Some(bfloat::legalize_intrinsic(rw, ty, *intrinsic, args)),
                Plain => None,
            }
        }
        _ => None,
    }
}
