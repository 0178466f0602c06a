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
    break_cycles(module, &mut calls);
    let mut sizes: Vec<Option<usize>> = vec![None; calls.len()];
    for root in module.funcs() {
        // Callees before callers. Of cycles only functions that call themselves are left.
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

/// Takes calls of functions that are not inlined out of `calls`, and marks functions `noinline` until
/// no cycle of several functions is left. Functions that call each other, as those that drop or
/// compare a tree do, would be inlined into each other, several times each, until libnvvm ends at
/// a limit of its own that it takes minutes to come to. One function of each cycle stays one: the
/// largest, so that small ones that many call are still inlined there.
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

/// The sets of several functions each of which calls each other, over others or directly
/// (Tarjan's strongly connected components).
pub(super) fn cycles(calls: &[Vec<Func>]) -> Vec<Vec<Func>> {
    const UNSEEN: usize = usize::MAX;
    const DONE: usize = usize::MAX - 1;
    let mut cycles = Vec::new();
    // The number of a function in the order of the walk, and the lowest one that it reaches.
    let mut lowest = vec![UNSEEN; calls.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut count = 0;
    for root in 0..calls.len() {
        if lowest[root] != UNSEEN {
            continue;
        }
        // Functions that are being walked: each with its number and the next of its calls.
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

/// The functions that a function calls, once for each call.
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

    /// As the functions that drop a tree are.
    #[test]
    fn each_cycle_has_a_function_that_stays() {
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

    /// A panic may happen where panics are reported.
    #[test]
    fn a_cycle_that_is_broken_already_stays_as_it_is() {
        let panic = function("panic", 90, &["atomic"]).replace(") {", ") noinline {");
        let functions = [function("atomic", 50, &["panic"]), panic];
        assert!(!stays(&functions, "atomic"));
    }
}
