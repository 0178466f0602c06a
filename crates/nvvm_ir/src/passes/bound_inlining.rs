//! `bound_inlining`, which keeps the time that libnvvm takes in proportion to the program.

use crate::inst::{Callee, InstKind};
use crate::module::Module;
use crate::value::{Func, ValueKind};

/// How many instructions a function with several callers may come to.
const SEVERAL: usize = 2_000;

/// How many a function with one caller may come to.
const ONE: usize = 20_000;

/// Marks `noinline` what would become too large. libnvvm inlines, from the leaves of the calls up,
/// functions of several hundred instructions into every caller, and what has one caller whatever
/// its size: code that is made of many small steps, as big-integer arithmetic or a parser is,
/// grows into functions of a hundred thousand instructions, on which libnvvm and ptxas spend
/// minutes and gigabytes. So a function's size is taken with all that will be inlined into it, and
/// beyond a limit it stays a function. The limits are far above what is worth inlining for speed:
/// instructions are counted as lowered, several for each that is left after optimisation.
pub fn bound_inlining(module: &mut Module) {
    let mut calls: Vec<Vec<Func>> = vec![Vec::new(); module.funcs.len()];
    for func in module.funcs() {
        calls[func.0 as usize] = calls_of(module, func);
    }
    let mut callers = vec![0usize; calls.len()];
    for func in calls.iter().flatten() {
        callers[func.0 as usize] += 1;
    }
    let mut sizes: Vec<Option<usize>> = vec![None; calls.len()];
    for root in module.funcs() {
        // Callees before callers; a function that is being walked already, which calls itself over
        // others, is no part of those.
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

/// The functions that a function calls, once for each call.
fn calls_of(module: &Module, func: Func) -> Vec<Func> {
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

    /// A function of `size` instructions that then makes calls.
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
        // A leaf that is too large by itself does not make its callers large.
        let large = of(SEVERAL + 1, &["leaf", "leaf"]);
        assert!(stays(&large, "leaf") && !stays(&large, "middle"));
    }

    #[test]
    fn one_caller_may_have_more() {
        let with = |calls: &[&str]| [function("leaf", SEVERAL + 1, &[]), function("a", 20, calls)];
        assert!(!stays(&with(&["leaf"]), "leaf"));
        assert!(stays(&with(&["leaf", "leaf"]), "leaf"));
    }

    #[test]
    fn recursion_ends() {
        let functions = [
            function("a", SEVERAL, &["b"]),
            function("b", 30, &["a", "a"]),
        ];
        assert!(!stays(&functions, "b"));
    }
}
