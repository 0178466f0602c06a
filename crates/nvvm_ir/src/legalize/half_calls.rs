//! Legalizes fp16 arguments and results.
//!
//! In libnvvm's LLVM 7 dialect, the instructions that pass fp16 values are missing: a function that
//! returns a `half`, alone or in a struct, returns nothing. Calls therefore pass integers with the
//! same bits; all other code keeps `half`.

use std::collections::HashMap;

use super::rewriter::Rewriter;
use super::{LegalizeError, Target};
use crate::inst::*;
use crate::module::Module;
use crate::types::{Type, TypeKind, Types};
use crate::value::{Value, ValueKind};
use crate::write::Dialect;

/// Rewrites the signatures that contain `half`, with the calls and returns that use them.
pub(super) fn legalize_half_calls(
    module: &mut Module,
    target: &Target,
    errors: &mut Vec<LegalizeError>,
) {
    let has_half = |module: &Module| {
        (0..module.types.len())
            .any(|index| *module.types.kind(Type(index as u32)) == TypeKind::Half)
    };
    if target.dialect != Dialect::Llvm7 || !has_half(module) {
        return;
    }
    let none = HashMap::new();
    for func in module.funcs() {
        let sig = module.func(func).sig;
        let new = passed_as(&mut module.types, sig);
        let mut changed = Vec::new();
        if new != sig {
            module.func_mut(func).sig = new;
            for (index, old) in module.func(func).params.clone().into_iter().enumerate() {
                let ty = module.ty(old);
                let passed = passed_as(&mut module.types, ty);
                if passed != ty {
                    let new = module.push_value(passed, ValueKind::Param(func, index as u32));
                    module.func_mut(func).params[index] = new;
                    changed.push((old, new));
                }
            }
        }
        if module.func(func).blocks.is_empty() {
            continue;
        }
        if !changed.is_empty() {
            let mut rewriter = Rewriter::new(module, *target, func, &none, errors);
            rewriter.prepend_to_entry(|rw| {
                let convert = |&(old, new): &(Value, Value)| {
                    let ty = rw.ty(old);
                    (old, convert(rw, new, ty))
                };
                changed.iter().map(convert).collect()
            });
        }
        Rewriter::new(module, *target, func, &none, errors).run_once(rule);
    }
}

/// Returns the type that a value is passed as: integers in place of `half`.
fn passed_as(types: &mut Types, ty: Type) -> Type {
    match types.kind(ty).clone() {
        TypeKind::Half => types.int(16),
        TypeKind::Vector(element, len) => {
            let element = passed_as(types, element);
            types.vector(element, len)
        }
        TypeKind::Array(element, len) => {
            let element = passed_as(types, element);
            types.array(element, len)
        }
        TypeKind::Struct { fields, packed } => {
            let fields: Vec<Type> = fields
                .iter()
                .map(|&field| passed_as(types, field))
                .collect();
            types.structure(&fields, packed)
        }
        TypeKind::Func {
            ret,
            params,
            variadic,
        } => {
            let ret = passed_as(types, ret);
            let params: Vec<Type> = params
                .iter()
                .map(|&param| passed_as(types, param))
                .collect();
            types.func(ret, &params, variadic)
        }
        _ => ty,
    }
}

/// Returns whether a type contains `half`.
fn has_half(types: &Types, ty: Type) -> bool {
    match types.kind(ty) {
        TypeKind::Half => true,
        TypeKind::Vector(element, _) | TypeKind::Array(element, _) => has_half(types, *element),
        TypeKind::Struct { fields, .. } => fields.iter().any(|&field| has_half(types, field)),
        TypeKind::Func { ret, params, .. } => {
            has_half(types, *ret) || params.iter().any(|&param| has_half(types, param))
        }
        _ => false,
    }
}

/// Converts a value between its own type and the type it is passed as.
fn convert(rw: &mut Rewriter, value: Value, to: Type) -> Value {
    let from = rw.ty(value);
    if from == to {
        return value;
    }
    let fields: Vec<Type> = match rw.kind(to) {
        TypeKind::Struct { fields, .. } => fields.clone(),
        TypeKind::Array(element, len) => vec![*element; *len as usize],
        _ => return rw.bitcast(value, to),
    };
    let values: Vec<Value> = (0..)
        .zip(fields)
        .map(|(index, field)| {
            let value = rw.extract_value(value, index);
            convert(rw, value, field)
        })
        .collect();
    rw.aggregate(to, &values)
}

fn rule(rw: &mut Rewriter, ty: Type, kind: &InstKind) -> Option<Value> {
    let types = &rw.module.types;
    match kind {
        InstKind::Ret(Some(value)) if has_half(types, rw.ty(*value)) => {
            Some(legalize_return(rw, *value))
        }
        InstKind::Call(call)
            if matches!(call.callee, Callee::Value(_)) && has_half(types, call.sig) =>
        {
            Some(legalize_call(rw, ty, call.clone()))
        }
        _ => None,
    }
}

fn legalize_return(rw: &mut Rewriter, value: Value) -> Value {
    let ty = rw.ty(value);
    let ty = passed_as(&mut rw.module.types, ty);
    let value = convert(rw, value, ty);
    rw.emit_void(InstKind::Ret(Some(value)))
}

fn legalize_call(rw: &mut Rewriter, ty: Type, mut call: Box<Call>) -> Value {
    call.sig = passed_as(&mut rw.module.types, call.sig);
    for arg in &mut call.args {
        let ty = rw.ty(*arg);
        let ty = passed_as(&mut rw.module.types, ty);
        *arg = convert(rw, *arg, ty);
    }
    let passed = passed_as(&mut rw.module.types, ty);
    let result = rw.emit(passed, InstKind::Call(call));
    if *rw.kind(ty) == TypeKind::Void {
        return result;
    }
    convert(rw, result, ty)
}
