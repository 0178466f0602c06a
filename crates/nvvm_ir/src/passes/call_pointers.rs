//! `call_pointers`, which replaces calls of function pointers with direct calls.

use std::collections::HashSet;

use super::call_directly::{call_one_of, split};
use crate::inst::{Callee, InstKind};
use crate::module::Module;
use crate::uses::{Symbol, for_each_symbol};
use crate::value::Value;

/// The maximum number of functions that a call compares its pointer with.
const CANDIDATES: usize = 8;

/// Replaces calls of function pointers with comparisons of the pointer and direct calls.
///
/// ```text
/// const OPERATIONS: [fn(f32, f32) -> f32; 3] = [add, multiply, f32::max];
/// x = OPERATIONS[code](x, y);
/// ```
///
/// A pointer is the address of one of the functions whose address the module uses and that have the
/// signature of the call. LLVM then inlines the functions, and removes the comparisons if the pointer is
/// known. The threads of a warp that call different functions meet again after the call.
///
/// The module must be the whole program. Function pointers are not read from the globals in `vtables`.
pub fn call_pointers(module: &mut Module, calls: &[Value], vtables: &HashSet<Value>) {
    if calls.is_empty() {
        return;
    }
    let used = used_as_pointers(module, vtables);
    for &call in calls {
        let _ = replace(module, &used, call);
    }
}

/// Returns the functions whose addresses a module uses for something other than calls, in the order of
/// the module.
fn used_as_pointers(module: &Module, vtables: &HashSet<Value>) -> Vec<Value> {
    let mut used: HashSet<Value> = HashSet::new();
    let mut add = |value: Value| {
        for_each_symbol(module, value, &mut |symbol| {
            if let Symbol::Func(func) = symbol {
                used.insert(module.func(func).value);
            }
        });
    };
    for func in module.funcs() {
        for &block in &module.func(func).blocks {
            for data in (module.block(block).insts.iter()).filter_map(|&inst| module.inst(inst)) {
                match &data.kind {
                    InstKind::Call(call) => call.args.iter().for_each(|&arg| add(arg)),
                    kind => kind.for_each_operand(&mut add),
                }
            }
        }
    }
    for global in module.globals() {
        let data = module.global(global);
        if let Some(init) = data.init.filter(|_| !vtables.contains(&data.value)) {
            add(init);
        }
    }
    let funcs = module.funcs().map(|func| module.func(func).value);
    funcs.filter(|func| used.contains(func)).collect()
}

/// Replaces a call, or returns `None` without a change if it cannot be replaced.
fn replace(module: &mut Module, used: &[Value], inst: Value) -> Option<()> {
    let data = module.inst(inst)?;
    let InstKind::Call(call) = &data.kind else {
        return None;
    };
    let Callee::Value(pointer) = call.callee else {
        return None;
    };
    if call.musttail || module.as_func(pointer).is_some() {
        return None;
    }
    let block = data.block;
    let has_signature = |&callee: &Value| {
        let func = module.as_func(callee);
        func.is_some_and(|func| module.func(func).sig == call.sig)
    };
    let mut callees: Vec<Value> = used.iter().copied().filter(has_signature).collect();
    let last = callees.pop().filter(|_| callees.len() < CANDIDATES)?;
    let at = (module.block(block).insts.iter()).position(|&other| other == inst)?;
    let after = split(module, block, at);
    let callees = callees.into_iter().map(|callee| (callee, vec![callee]));
    call_one_of(
        module,
        (inst, block, after),
        pointer,
        callees.collect(),
        last,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::Dialect;
    use crate::{read_module, verify, write_module};

    const TEXT: &str = "
@table = internal addrspace(1) constant [2 x ptr] [ptr @a, ptr @b], align 8
@methods = internal addrspace(1) constant [1 x ptr] [ptr @method], align 8

declare void @keep(ptr)

define internal i32 @a(i32 %x) {
start:
  ret i32 %x
}

define internal i32 @b(i32 %x) {
start:
  ret i32 2
}

define internal i32 @passed(i32 %x) {
start:
  ret i32 3
}

define internal i32 @method(i32 %x) {
start:
  ret i32 4
}

define internal i32 @called(i32 %x) {
start:
  ret i32 5
}

define internal i64 @other(i32 %x) {
start:
  ret i64 6
}

define void @k(ptr %out, ptr %f, i32 %x) {
start:
  call void @keep(ptr @passed)
  call void @keep(ptr @other)
  %y = call i32 @called(i32 %x)
  %z = call i32 %f(i32 %y)
  store i32 %z, ptr %out, align 4
  ret void
}
";

    /// Replaces the calls of pointers in a module.
    fn replaced(text: &str) -> String {
        let mut module = read_module(text).expect("a module");
        let funcs: Vec<_> = module.funcs().collect();
        let blocks = funcs.iter().flat_map(|&func| &module.func(func).blocks);
        let calls: Vec<Value> = blocks
            .flat_map(|&block| module.block(block).insts.iter().copied())
            .collect();
        let vtables = module.named("methods").into_iter().collect();
        call_pointers(&mut module, &calls, &vtables);
        verify(&module).expect("a valid module");
        write_module(&module, Dialect::Modern)
    }

    #[test]
    fn pointers_are_compared() {
        let text = replaced(TEXT);
        for callee in ["a", "b", "passed"] {
            assert!(
                text.contains(&format!("call i32 @{callee}(i32 %y)")),
                "{text}"
            );
        }
        // One of them without a comparison.
        assert_eq!(text.matches("icmp eq ptr %f, @").count(), 2, "{text}");
        assert!(!text.contains("call i32 %f"), "{text}");
        assert!(!text.contains("@method(i32 %y)"), "{text}");
        assert!(text.contains("%z = phi i32"), "{text}");
    }

    #[test]
    fn calls_of_many_functions_remain() {
        let more: String = (0..6)
            .map(|at| {
                format!("define internal i32 @more{at}(i32 %x) {{\nstart:\n  ret i32 %x\n}}\n")
            })
            .collect();
        let uses: String = (0..6)
            .map(|at| format!("  call void @keep(ptr @more{at})\n"))
            .collect();
        let text = TEXT.replace("  %y = call", &format!("{uses}  %y = call"));
        assert!(replaced(&format!("{more}{text}")).contains("call i32 %f"));
        // No function has the signature.
        let text = TEXT.replace(
            "%z = call i32 %f(i32 %y)",
            "%z = call i32 %f(i32 %y, i32 %y)",
        );
        assert!(replaced(&text).contains("call i32 %f"));
    }
}
