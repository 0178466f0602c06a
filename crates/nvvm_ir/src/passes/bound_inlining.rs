//! `bound_inlining`, which keeps libnvvm's time proportional to the size of the program.

use crate::inst::{Callee, InstKind};
use crate::module::Module;
use crate::value::{Func, ValueKind};

/// The maximum number of instructions of a function with several callers, including inlined
/// callees.
const SEVERAL: usize = 2_000;

/// The maximum for a function with one caller.
const ONE: usize = 20_000;

/// Marks functions `noinline` that would otherwise grow too large.
///
/// libnvvm inlines bottom-up: functions of several hundred instructions into every caller, and
/// functions with a single caller whatever their size. Code that consists of many small steps, such
/// as big-integer arithmetic or a parser, grows to functions of a hundred thousand instructions, on
/// which libnvvm and ptxas spend minutes and gigabytes. This pass computes each function's size
/// including everything that will be inlined into it, and marks the function `noinline` if the size
/// exceeds a limit. The limits are far above the sizes for which inlining improves speed;
/// instructions are counted as lowered, several for each that remains after optimization.
pub fn bound_inlining(module: &mut Module) {
    let mut calls: Vec<Vec<Func>> = vec![Vec::new(); module.funcs.len()];
    for func in module.funcs() {
        calls[func.0 as usize] = calls_of(module, func);
    }
    let mut callers = vec![0usize; calls.len()];
    for func in calls.iter().flatten() {
        callers[func.0 as usize] += 1;
    }
    break_cycles(module, &mut calls);
    let mut sizes: Vec<Option<usize>> = vec![None; calls.len()];
    for root in module.funcs() {
        // Callees before callers. The only remaining cycles are functions that call themselves.
        let mut stack = vec![(root, 0)];
        if sizes[root.0 as usize].is_some() {
            continue;
        }
        sizes[root.0 as usize] = Some(0);
        while let Some((func, next)) = stack.last_mut() {
            let (func, i) = (*func, func.0 as usize);
            if let Some(&callee) = calls[i].get(*next) {
                *next += 1;
                if sizes[callee.0 as usize].is_none() {
                    sizes[callee.0 as usize] = Some(0);
                    stack.push((callee, 0));
                }
                continue;
            }
            stack.pop();
            let inlined = calls[i]
                .iter()
                .map(|callee| sizes[callee.0 as usize].unwrap_or(0));
            let size = module.size_of_func(func) + inlined.sum::<usize>();
            let limit = if callers[i] == 1 { ONE } else { SEVERAL };
            let data = module.func_mut(func);
            if size > limit && !data.attrs.always_inline && data.kernel.is_none() {
                data.attrs.no_inline = true;
                data.attrs.inline_hint = false;
            }
            sizes[i] = Some(if data.attrs.no_inline || data.kernel.is_some() {
                1
            } else {
                size
            });
        }
    }
}

/// Removes calls of `noinline` functions from `calls`, and marks functions `noinline` until no
/// cycle of several functions is left.
///
/// Mutually recursive functions, such as those that drop or compare a tree, would be inlined into
/// each other several times, until libnvvm reaches its own limit after minutes. In each cycle the
/// largest function is marked, so that small functions with many callers are still inlined.
fn break_cycles(module: &mut Module, calls: &mut [Vec<Func>]) {
    loop {
        for callees in calls.iter_mut() {
            callees.retain(|&callee| !module.func(callee).attrs.no_inline);
        }
        let mut found = false;
        for cycle in cycles(calls) {
            let largest = (cycle.into_iter())
                .filter(|&func| !module.func(func).attrs.always_inline)
                .max_by_key(|&func| (module.size_of_func(func), func.0));
            if let Some(func) = largest {
                let attrs = &mut module.func_mut(func).attrs;
                attrs.no_inline = true;
                attrs.inline_hint = false;
                found = true;
            }
        }
        if !found {
            return;
        }
    }
}

/// Returns the sets of mutually recursive functions: Tarjan's strongly connected components with
/// more than one function.
pub(super) fn cycles(calls: &[Vec<Func>]) -> Vec<Vec<Func>> {
    const UNSEEN: usize = usize::MAX;
    const DONE: usize = usize::MAX - 1;
    let mut cycles = Vec::new();
    // For each function the lowest number, in the order of the walk, that it reaches.
    let mut lowest = vec![UNSEEN; calls.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut count = 0;
    for root in 0..calls.len() {
        if lowest[root] != UNSEEN {
            continue;
        }
        // The functions on the current path: each with its number and the index of its next call.
        let mut walk = vec![(root, count, 0)];
        lowest[root] = count;
        count += 1;
        open.push(root);
        while let Some((func, number, next)) = walk.last_mut() {
            let (func, number) = (*func, *number);
            if let Some(callee) = calls[func].get(*next) {
                let callee = callee.0 as usize;
                if lowest[callee] == UNSEEN {
                    lowest[callee] = count;
                    walk.push((callee, count, 0));
                    count += 1;
                    open.push(callee);
                    continue;
                }
                if lowest[callee] != DONE {
                    lowest[func] = lowest[func].min(lowest[callee]);
                }
                *next += 1;
                continue;
            }
            walk.pop();
            if lowest[func] == number {
                let at = open.iter().rposition(|&other| other == func).unwrap_or(0);
                let set = open.split_off(at);
                set.iter().for_each(|&func| lowest[func] = DONE);
                if set.len() > 1 {
                    cycles.push(set.into_iter().map(|func| Func(func as u32)).collect());
                }
            }
        }
    }
    cycles
}

/// Returns the functions that a function calls, once for each call.
pub(super) fn calls_of(module: &Module, func: Func) -> Vec<Func> {
    let mut calls = Vec::new();
    for &block in &module.func(func).blocks {
        for &inst in &module.block(block).insts {
            if let Some(data) = module.inst(inst)
                && let InstKind::Call(call) = &data.kind
                && let Callee::Value(callee) = call.callee
                && let ValueKind::Func(callee) = module.value(callee).kind
            {
                calls.push(callee);
            }
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// Returns a function of `size` instructions followed by calls.
    fn function(name: &str, size: usize, calls: &[&str]) -> String {
        let mut text = format!("define i32 @{name}(i32 %x) {{\nstart:\n");
        for i in 1..size - calls.len() {
            let _ = writeln!(text, "  %v{i} = add i32 %x, {i}");
        }
        for (i, callee) in calls.iter().enumerate() {
            let _ = writeln!(text, "  %c{i} = call i32 @{callee}(i32 %x)");
        }
        text.push_str("  ret i32 %x\n}\n");
        text
    }

    fn stays(functions: &[String], name: &str) -> bool {
        let mut module = crate::read_module(&functions.concat()).expect("a module");
        bound_inlining(&mut module);
        let data = module
            .funcs()
            .map(|func| module.func(func))
            .find(|func| func.name == name);
        data.expect("the function").attrs.no_inline
    }

    #[test]
    fn sizes_add_up_over_calls() {
        let of = |size, calls: &[&str]| {
            [
                function("leaf", size, &[]),
                function("middle", 20, calls),
                function("a", 20, &["middle"]),
                function("b", 20, &["middle"]),
            ]
        };
        assert!(!stays(&of(900, &["leaf", "leaf"]), "middle"));
        assert!(stays(&of(900, &["leaf", "leaf", "leaf"]), "middle"));
        // A leaf that is itself too large does not make its callers large.
        let large = of(SEVERAL + 1, &["leaf", "leaf"]);
        assert!(stays(&large, "leaf") && !stays(&large, "middle"));
    }

    #[test]
    fn one_caller_may_have_more() {
        let with = |calls: &[&str]| [function("leaf", SEVERAL + 1, &[]), function("a", 20, calls)];
        assert!(!stays(&with(&["leaf"]), "leaf"));
        assert!(stays(&with(&["leaf", "leaf"]), "leaf"));
        let [leaf, caller] = with(&["leaf", "leaf"]);
        let always = leaf.replace(") {", ") alwaysinline {");
        assert!(!stays(&[always, caller], "leaf"));
    }

    #[test]
    fn recursion_ends() {
        let functions = [
            function("a", SEVERAL, &["b"]),
            function("b", 30, &["a", "a"]),
        ];
        assert!(stays(&functions, "a") && !stays(&functions, "b"));
        assert!(!stays(&[function("a", 30, &["a"])], "a"));
    }

    /// As in the functions that drop a tree.
    #[test]
    fn each_cycle_keeps_a_noinline_function() {
        let functions = [
            function("root", 10, &["small"]),
            function("small", 10, &["large", "middle", "leaf"]),
            function("middle", 20, &["large", "small"]),
            function("large", 30, &["small"]),
            function("leaf", 40, &[]),
        ];
        let stay = |name| stays(&functions, name);
        assert!(stay("large") && stay("middle"));
        assert!(!stay("small") && !stay("leaf") && !stay("root"));
    }

    /// A panic inside the panic handler.
    #[test]
    fn a_cycle_with_a_noinline_function_is_unchanged() {
        let panic = function("panic", 90, &["atomic"]).replace(") {", ") noinline {");
        let functions = [function("atomic", 50, &["panic"]), panic];
        assert!(!stays(&functions, "atomic"));
    }
}
