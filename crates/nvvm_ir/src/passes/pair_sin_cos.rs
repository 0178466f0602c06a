//! The passes `pair_sin_cos` and `store_sin_cos`.

use std::collections::HashMap;

use crate::inst::{Call, Callee, InstKind, MemAccess};
use crate::metadata::Di;
use crate::module::{Linkage, Module};
use crate::types::{AddrSpace, Type, TypeKind};
use crate::value::{Block, Func, Value};

/// Functions of libdevice that store the sine and the cosine of a number, without `__nv_`.
const NAMES: [&str; 5] = ["fast_sincosf", "sincos", "sincosf", "sincospi", "sincospif"];

/// The number of zeros that are passed to the functions that return both. LLVM counts an instruction per
/// argument: without the zeros, it would unroll more loops than for a call with two addresses and the
/// loads of both results, although libnvvm expands either call to some 40 instructions.
const ZEROS: usize = 4;

/// Returns the name of the function that returns what a function of libdevice stores.
pub(crate) fn name_of_pair(name: &str) -> String {
    format!("__nv_{name}_pair")
}

/// Lets functions that store a sine and a cosine return both, for LLVM.
///
/// LLVM leaves a call that writes memory where it is, also if a loop computes the sine and the cosine
/// of the same angle in each iteration. Each call becomes one of a function that accesses no memory,
/// and two stores. [`store_sin_cos`] changes the calls back.
pub fn pair_sin_cos(module: &mut Module) {
    for name in NAMES {
        let Some(stores) = module.named(&format!("__nv_{name}")) else {
            continue;
        };
        for (_, calls) in calls_of(module, stores) {
            for call in calls {
                pair(module, call, &name_of_pair(name));
            }
        }
    }
}

/// Lets functions that return a sine and a cosine store both again: libdevice has no others.
pub fn store_sin_cos(module: &mut Module) {
    for name in NAMES {
        let Some(pairs) = module.named(&name_of_pair(name)) else {
            continue;
        };
        for (func, calls) in calls_of(module, pairs) {
            let stored: HashMap<Value, Value> = (calls.into_iter())
                .filter_map(|call| Some((call, store(module, func, call, name)?)))
                .collect();
            replace(module, func, &stored);
        }
        if let Some(func) = module.as_func(pairs) {
            module.remove_func(func);
        }
    }
}

/// Returns the calls of a function, by the functions that have them.
fn calls_of(module: &Module, callee: Value) -> Vec<(Func, Vec<Value>)> {
    let is_call = |inst: &Value| match module.inst(*inst).map(|data| &data.kind) {
        Some(InstKind::Call(call)) => call.callee == Callee::Value(callee),
        _ => false,
    };
    let calls = |func: Func| -> Vec<Value> {
        let blocks = module.func(func).blocks.iter();
        let insts = blocks.flat_map(|&block| module.block(block).insts.iter().copied());
        insts.filter(is_call).collect()
    };
    let all = module.funcs().map(|func| (func, calls(func)));
    all.filter(|(_, calls)| !calls.is_empty()).collect()
}

/// The place of an instruction, and those after it, which are not in the block until
/// [`Place::finish`].
struct Place {
    block: Block,
    loc: Option<Di>,
    rest: Vec<Value>,
}

impl Place {
    /// Takes an instruction out of its block.
    fn of(module: &mut Module, inst: Value) -> Option<Place> {
        let data = module.inst(inst)?;
        let (block, loc) = (data.block, data.loc);
        let insts = &mut module.block_mut(block).insts;
        let at = insts.iter().position(|&other| other == inst)?;
        let rest = insts.split_off(at + 1);
        insts.pop();
        Some(Place { block, loc, rest })
    }

    fn push(&self, module: &mut Module, ty: Type, kind: InstKind) -> Value {
        module.push_inst(self.block, ty, kind, self.loc)
    }

    fn call(
        &self,
        module: &mut Module,
        name: &str,
        (result, params): (Type, &[Type]),
        args: Vec<Value>,
    ) -> Option<Value> {
        let sig = module.types.func(result, params, false);
        let callee = match module.named(name) {
            Some(callee) => callee,
            None => {
                let func = module.add_func(name, sig)?;
                let data = module.func_mut(func);
                data.linkage = Linkage::External;
                data.attrs.no_unwind = true;
                data.value
            }
        };
        let call = Call::new(Callee::Value(callee), sig, args);
        Some(self.push(module, result, InstKind::Call(Box::new(call))))
    }

    fn finish(self, module: &mut Module) {
        module.block_mut(self.block).insts.extend(self.rest);
    }
}

/// Returns how to access a sine or a cosine.
fn access(module: &Module, ty: Type) -> MemAccess {
    let align = match module.types.kind(ty) {
        TypeKind::Double => 8,
        _ => 4,
    };
    MemAccess {
        align,
        ..MemAccess::default()
    }
}

/// Replaces a call that stores the sine and the cosine by one that returns them.
fn pair(module: &mut Module, call: Value, name: &str) -> Option<()> {
    let InstKind::Call(old) = &module.inst(call)?.kind else {
        return None;
    };
    let &[angle, sine, cosine] = &old.args[..] else {
        return None;
    };
    let place = Place::of(module, call)?;
    let ty = module.ty(angle);
    let both = module.types.structure(&[ty, ty], false);
    let int = module.types.int(32);
    let (mut params, mut args) = (vec![ty], vec![angle]);
    params.extend([int; ZEROS]);
    args.extend([module.const_int(int, 0); ZEROS]);
    let pair = place.call(module, name, (both, &params), args);
    let (void, access) = (module.types.void(), access(module, ty));
    for (index, ptr) in (0..).zip([sine, cosine]) {
        let Some(aggregate) = pair else {
            continue;
        };
        let value = place.push(module, ty, InstKind::ExtractValue { aggregate, index });
        place.push(module, void, InstKind::Store { value, ptr, access });
    }
    place.finish(module);
    Some(())
}

/// Replaces a call that returns the sine and the cosine by one that stores them. Returns both.
fn store(module: &mut Module, func: Func, call: Value, name: &str) -> Option<Value> {
    let InstKind::Call(old) = &module.inst(call)?.kind else {
        return None;
    };
    let &[angle, ..] = &old.args[..] else {
        return None;
    };
    let (ty, both) = (module.ty(angle), module.ty(call));
    let (ptr, void) = (module.types.ptr_in(AddrSpace::Generic), module.types.void());
    let access = access(module, ty);
    let entry = *module.func(func).blocks.first()?;
    let variables = [(); 2].map(|()| {
        let kind = InstKind::Alloca {
            ty,
            count: None,
            align: access.align,
        };
        let variable = module.push_inst(entry, ptr, kind, None);
        module.block_mut(entry).insts.rotate_right(1);
        variable
    });
    let place = Place::of(module, call)?;
    let args = vec![angle, variables[0], variables[1]];
    let params = [ty, ptr, ptr];
    place.call(module, &format!("__nv_{name}"), (void, &params), args)?;
    let mut aggregate = module.const_undef(both);
    for (index, ptr) in (0..).zip(variables) {
        let value = place.push(module, ty, InstKind::Load { ptr, access });
        let kind = InstKind::InsertValue {
            aggregate,
            value,
            index,
        };
        aggregate = place.push(module, both, kind);
    }
    place.finish(module);
    Some(aggregate)
}

/// Replaces values in a function.
fn replace(module: &mut Module, func: Func, values: &HashMap<Value, Value>) {
    for block in module.func(func).blocks.clone() {
        for inst in module.block(block).insts.clone() {
            if let Some(data) = module.inst_mut(inst) {
                data.kind.for_each_operand_mut(|operand| {
                    *operand = values.get(operand).copied().unwrap_or(*operand);
                });
            }
        }
    }
}
