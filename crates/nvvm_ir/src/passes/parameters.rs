//! Adds parameters to functions after lowering: determines which functions can have one, and
//! `inherit_parameter`, which adds one to all functions on the call paths to another function.

use std::collections::{HashMap, HashSet};

use crate::inst::{Callee, InstKind, ParamAttrs};
use crate::module::{Linkage, Module};
use crate::types::TypeKind;
use crate::uses::{Symbol, SymbolWalk, calls_of};
use crate::value::{Func, Value, ValueKind};

/// The result of [`inherit_parameter`].
#[derive(Debug, Default)]
pub struct Inherited {
    /// The new parameter of each function that has one.
    pub params: HashMap<Func, Value>,
    /// The calls of these functions, each with the function that contains the call. The calls still
    /// lack the argument; see [`push_argument`].
    pub calls: Vec<(Func, Value)>,
}

/// Adds a pointer as last parameter to `root`, and to each function of `through` that reaches a
/// call of `root` through functions of `through` only. A function that is not only called directly
/// has a fixed signature and gets no parameter.
pub fn inherit_parameter(
    module: &mut Module,
    root: Func,
    through: &HashSet<Func>,
    name: &str,
) -> Inherited {
    let free = only_called(module);
    if !free.contains(&root) {
        return Inherited::default();
    }
    let mut callers: HashMap<Func, Vec<Func>> = HashMap::new();
    for func in module.funcs() {
        if free.contains(&func) && through.contains(&func) {
            for callee in calls_of(module, func) {
                callers.entry(callee).or_default().push(func);
            }
        }
    }
    let mut reached = HashSet::from([root]);
    let mut open = vec![root];
    while let Some(func) = open.pop() {
        for &caller in callers.get(&func).into_iter().flatten() {
            if reached.insert(caller) {
                open.push(caller);
            }
        }
    }
    let mut inherited = Inherited::default();
    for func in module.funcs() {
        if reached.contains(&func) {
            let param = add_parameter(module, func, name, ParamAttrs::default());
            inherited.params.insert(func, param);
        }
        for &block in &module.func(func).blocks {
            let insts = module.block(block).insts.iter().copied();
            let calls = insts.filter(|&inst| {
                called(module, inst).is_some_and(|callee| reached.contains(&callee))
            });
            inherited.calls.extend(calls.map(|inst| (func, inst)));
        }
    }
    inherited
}

/// Returns the function that an instruction calls directly.
fn called(module: &Module, inst: Value) -> Option<Func> {
    let InstKind::Call(call) = &module.inst(inst)?.kind else {
        return None;
    };
    match call.callee {
        Callee::Value(callee) => module.as_func(callee),
        _ => None,
    }
}

/// Appends the argument for a parameter that was added to the callee of a direct call.
///
/// # Panics
///
/// Panics if `call` is not a direct call.
pub fn push_argument(module: &mut Module, call: Value, argument: Value) {
    let callee = called(module, call).expect("a direct call");
    let sig = module.func(callee).sig;
    if let Some(call) = module.call_mut(call) {
        call.sig = sig;
        call.args.push(argument);
        if !call.arg_attrs.is_empty() {
            call.arg_attrs.push(ParamAttrs::default());
        }
    }
}

/// Adds a pointer as last parameter to a function. The function's calls then lack the argument.
pub(super) fn add_parameter(
    module: &mut Module,
    func: Func,
    name: &str,
    attrs: ParamAttrs,
) -> Value {
    let ptr = module.types.ptr();
    let data = module.func(func);
    let TypeKind::Func { ret, params, .. } = module.types.kind(data.sig) else {
        unreachable!("a function's type is a signature")
    };
    let (ret, mut params, index) = (*ret, params.clone(), data.params.len() as u32);
    params.push(ptr);
    let sig = module.types.func(ret, &params, false);
    let value = module.push_value(ptr, ValueKind::Param(func, index));
    module.value_mut(value).name = Some(name.into());
    let data = module.func_mut(func);
    data.sig = sig;
    data.params.push(value);
    data.param_attrs.push(attrs);
    value
}

/// Returns the functions whose signature may change: those with a body that are only called
/// directly, with their own signature.
pub(super) fn only_called(module: &Module) -> HashSet<Func> {
    let mut excluded: HashSet<Func> = HashSet::new();
    let mut walk = SymbolWalk::new(module);
    let exclude = |symbol, excluded: &mut HashSet<Func>| {
        if let Symbol::Func(func) = symbol {
            excluded.insert(func);
        }
    };
    for global in module.globals() {
        if let Some(init) = module.global(global).init {
            walk.walk(module, init, &mut |symbol| exclude(symbol, &mut excluded));
        }
    }
    for func in module.funcs() {
        let data = module.func(func);
        let internal = data.linkage == Linkage::Internal && data.kernel.is_none();
        let variadic = matches!(
            module.types.kind(data.sig),
            TypeKind::Func { variadic: true, .. }
        );
        if !internal || variadic || data.blocks.is_empty() {
            excluded.insert(func);
        }
        for &block in &data.blocks {
            for &inst in &module.block(block).insts {
                let Some(inst) = module.inst(inst) else {
                    continue;
                };
                let mut direct = None;
                if let InstKind::Call(call) = &inst.kind
                    && let Callee::Value(callee) = call.callee
                    && let ValueKind::Func(callee_func) = module.value(callee).kind
                {
                    direct = Some(callee);
                    let same = call.sig == module.func(callee_func).sig;
                    if call.musttail || !same {
                        excluded.extend([func, callee_func]);
                    }
                    if call.args.contains(&callee) {
                        excluded.insert(callee_func);
                    }
                }
                inst.kind.for_each_operand(|operand| {
                    if Some(operand) != direct
                        && !matches!(
                            module.value(operand).kind,
                            ValueKind::Inst(_) | ValueKind::Param(..)
                        )
                    {
                        walk.walk(module, operand, &mut |symbol| {
                            exclude(symbol, &mut excluded);
                        });
                    }
                });
            }
        }
    }
    (module.funcs())
        .filter(|func| !excluded.contains(func))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
define internal ptr @root() {
start:
  ret ptr null
}

define internal void @inner() {
start:
  %0 = call ptr @root()
  ret void
}

define internal void @outer() {
start:
  call void @inner()
  ret void
}

define internal void @pointed() {
start:
  call void @inner()
  ret void
}

define internal void @program() {
start:
  call void @outer()
  ret void
}

define void @kernel(ptr %to) {
start:
  call void @program()
  call void @pointed()
  store ptr @pointed, ptr %to, align 8
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{ptr @kernel, !"kernel", i32 1}
"#;

    fn func(module: &Module, name: &str) -> Func {
        let named = module.named(name).expect("it is in the text");
        module.as_func(named).expect("it is a function")
    }

    #[test]
    fn functions_on_the_path_get_the_parameter() {
        let mut module = crate::read::read_module(TEXT).expect("the text is right");
        let through = ["inner", "outer", "pointed"].map(|name| func(&module, name));
        let root = func(&module, "root");
        let inherited = inherit_parameter(&mut module, root, &HashSet::from(through), "location");
        let mut given: Vec<&str> = (inherited.params.keys())
            .map(|&func| module.func(func).name.as_str())
            .collect();
        given.sort_unstable();
        assert_eq!(given, ["inner", "outer", "root"]);
        let ptr = module.types.ptr();
        let null = module.const_zero(ptr);
        let mut callers = Vec::new();
        for (caller, call) in inherited.calls {
            let argument = inherited.params.get(&caller).copied().unwrap_or(null);
            push_argument(&mut module, call, argument);
            callers.push(module.func(caller).name.clone());
        }
        assert_eq!(callers, ["inner", "outer", "pointed", "program"]);
        crate::verify(&module).expect("the calls have the argument");
    }
}
