//! `bound_inlining`, which keeps libnvvm's time proportional to the size of the program.

use crate::graph::{cycles, postorder};
use crate::module::Module;
use crate::uses::all_calls;
use crate::value::Func;

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
    let mut calls = all_calls(module);
    let mut callers = vec![0usize; calls.len()];
    for func in calls.iter().flatten() {
        callers[func.0 as usize] += 1;
    }
    break_cycles(module, &mut calls);
    // Callees before callers. The only remaining cycles are functions that call themselves.
    let funcs = module.funcs().map(|func| func.0 as usize);
    let order = postorder(calls.len(), funcs, |func, i| {
        Some(calls[func].get(i)?.0 as usize)
    });
    let mut sizes = vec![0; calls.len()];
    for i in order {
        let func = Func(i as u32);
        let inlined = calls[i].iter().map(|callee| sizes[callee.0 as usize]);
        let size = module.size_of_func(func) + inlined.sum::<usize>();
        let limit = if callers[i] == 1 { ONE } else { SEVERAL };
        let data = module.func_mut(func);
        if size > limit && !data.attrs.always_inline && data.kernel.is_none() {
            data.attrs.no_inline = true;
            data.attrs.inline_hint = false;
        }
        let stays = data.attrs.no_inline || data.kernel.is_some();
        sizes[i] = if stays { 1 } else { size };
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
        let cycles = cycles(calls.len(), |func, i| Some(calls[func].get(i)?.0 as usize));
        for cycle in cycles.into_iter().filter(|cycle| cycle.len() > 1) {
            let largest = (cycle.into_iter())
                .map(|func| Func(func as u32))
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
