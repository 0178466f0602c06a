//! Divides the kernels of a module into parts, which are compiled in parallel.
//!
//! The kernels of a module mostly have nothing in common but functions that are inlined. How they are
//! divided depends on the module only, not on the machine: builds are reproducible.

use std::collections::HashMap;

use nvvm_ir::{Func, Global};

use crate::ptx_cache::{Dependencies, Symbol};

/// The minimum size of a part, in bytes of the text of its lowered functions. Starting a process for
/// it, and reading libdevice, then takes little of the time.
const MIN_SIZE: usize = 1_000_000;

/// The maximum number of parts. Each starts with a copy of the module.
const MAX_PARTS: usize = 16;

/// The maximum size of functions that count for each kernel that reaches them: they are inlined. A
/// larger function counts once in a part.
const INLINED: usize = 8_000;

/// The maximum size of all parts together, in percent of that of the module. Functions that kernels
/// share are compiled in several parts.
const MAX_PERCENT: usize = 125;

/// Returns the kernels of each part. Kernels that can exchange values through a variable are in one
/// part: an optimizer must see all uses of it.
pub(crate) fn divide(dependencies: &Dependencies) -> Vec<Vec<Func>> {
    divide_at(dependencies, MIN_SIZE)
}

/// Divides the kernels into parts of at least a size.
fn divide_at(dependencies: &Dependencies, min: usize) -> Vec<Vec<Func>> {
    let groups = groups(dependencies);
    let whole = Group::of(&groups).size();
    let mut min = min.max(whole / MAX_PARTS);
    loop {
        let parts = distribute(&groups, min);
        let size: usize = parts.iter().map(|part| Group::of(part).size()).sum();
        if parts.len() < 2 || size * 100 <= whole * MAX_PERCENT {
            let kernels = |part: &[Group]| part.iter().flat_map(|it| it.kernels.clone()).collect();
            return parts.into_iter().map(kernels).collect();
        }
        min *= 2;
    }
}

/// Returns the kernels that must be compiled together.
fn groups(dependencies: &Dependencies) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of: HashMap<Global, usize> = HashMap::new();
    for kernel in &dependencies.kernels {
        let mut group = Group::default();
        group.kernels.push(kernel.kernel);
        for symbol in &kernel.symbols {
            group.add(symbol);
        }
        let at = groups.len();
        for variable in &kernel.variables {
            if let Some(other) = group_of.insert(*variable, at).filter(|&it| it != at) {
                let absorbed = std::mem::take(&mut groups[other]);
                group.absorb(&absorbed);
                (group_of.values_mut())
                    .filter(|it| **it == other)
                    .for_each(|it| *it = at);
            }
        }
        groups.push(group);
    }
    groups.retain(|group| !group.kernels.is_empty());
    groups
}

/// Distributes groups to parts of at least a size, in their order.
fn distribute(groups: &[Group], min: usize) -> Vec<&[Group]> {
    let mut parts = Vec::new();
    let mut rest = groups;
    while !rest.is_empty() {
        let mut part = Group::default();
        let len = (rest.iter())
            .position(|group| {
                part.absorb(group);
                part.size() >= min
            })
            .map_or(rest.len(), |last| last + 1);
        // A small part takes less time with others.
        let is_last = Group::of(&rest[len..]).size() < min / 2;
        let (first, others) = rest.split_at(if is_last { rest.len() } else { len });
        parts.push(first);
        rest = others;
    }
    parts
}

/// Kernels that are compiled together.
#[derive(Default)]
struct Group {
    kernels: Vec<Func>,
    /// The size of what is inlined.
    inlined: usize,
    /// The sizes of larger functions and variables, by hash.
    shared: HashMap<u128, usize>,
}

impl Group {
    fn of(groups: &[Group]) -> Group {
        let mut all = Group::default();
        groups.iter().for_each(|group| all.absorb(group));
        all
    }

    fn add(&mut self, symbol: &Symbol) {
        if symbol.len <= INLINED {
            self.inlined += symbol.len;
        } else {
            self.shared.insert(symbol.hash, symbol.len);
        }
    }

    fn absorb(&mut self, other: &Group) {
        self.kernels.extend(&other.kernels);
        self.inlined += other.inlined;
        self.shared.extend(&other.shared);
    }

    fn size(&self) -> usize {
        self.inlined + self.shared.values().sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// Returns the names of the kernels in each part of a module with some definitions, and with
    /// kernels that call functions and add to variables.
    fn parts(definitions: &str, kernels: &[(&str, &str)], min: usize) -> Vec<Vec<String>> {
        let mut text = definitions.to_owned();
        let mut nodes = String::new();
        let mut list = Vec::new();
        for (number, (name, uses)) in kernels.iter().enumerate() {
            let _ = writeln!(
                text,
                "define void @{name}() {{\nstart:\n{uses}  ret void\n}}"
            );
            let _ = writeln!(nodes, "!{number} = !{{ptr @{name}, !\"kernel\", i32 1}}");
            list.push(format!("!{number}"));
        }
        let _ = writeln!(
            text,
            "!nvvm.annotations = !{{{}}}\n{nodes}",
            list.join(", ")
        );
        let module = nvvm_ir::read_module(&text).unwrap();
        let parts = divide_at(&crate::ptx_cache::dependencies(&module), min);
        let names = |part: &Vec<Func>| {
            part.iter()
                .map(|&it| module.func(it).name.clone())
                .collect()
        };
        parts.iter().map(names).collect()
    }

    #[test]
    fn kernels_that_share_a_variable_are_in_one_part() {
        let variables = "@x = internal global i32 1\n@y = internal global i32 1\n\
                         @c = internal constant i32 1\n@v = global i32 1\n";
        let store = |name: &str| format!("  store i32 2, ptr @{name}, align 4\n");
        let load = |name: &str| format!("  %v = load i32, ptr @{name}, align 4\n");
        let (x, y, v, c) = (store("x"), store("y"), store("v"), load("c"));
        let both = store("x") + &y;
        let kernels = [
            ("a", &*x),
            ("b", &c),
            ("d", &v),
            ("e", &y),
            ("f", &c),
            ("g", &v),
            ("h", &both),
        ];
        let parts = parts(variables, &kernels, 1);
        let expected: [&[&str]; 5] = [&["b"], &["d"], &["f"], &["g"], &["h", "a", "e"]];
        assert_eq!(parts, expected);
    }

    #[test]
    fn parts_have_a_size() {
        let kernels = [("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", "")];
        let text = "define void @a() {\nstart:\n  ret void\n}\n\
                    !nvvm.annotations = !{!0}\n!0 = !{ptr @a, !\"kernel\", i32 1}";
        let module = nvvm_ir::read_module(text).unwrap();
        let size = crate::ptx_cache::dependencies(&module).kernels[0].symbols[0].len;
        let counts = |min| -> Vec<usize> {
            let parts = parts("", &kernels, min);
            parts.iter().map(Vec::len).collect()
        };
        assert_eq!(counts(1), [1, 1, 1, 1, 1]);
        assert_eq!(counts(2 * size), [2, 2, 1]);
        assert_eq!(counts(2 * size + 1), [3, 2]);
        // The rest is too small to be a part.
        assert_eq!(counts(4 * size), [5]);
        assert_eq!(counts(1_000_000), [5]);
    }

    /// Each part compiles what it calls.
    #[test]
    fn kernels_that_share_most_code_are_not_divided() {
        let large = |name: &str| {
            let mut text = format!("define internal void @{name}(ptr %p) {{\nstart:\n");
            while text.len() <= INLINED {
                text.push_str("  store i32 1, ptr %p, align 4\n");
            }
            text + "  ret void\n}\n"
        };
        let functions = large("f") + &large("g") + &large("h");
        let call = |name: &str| format!("  call void @{name}(ptr null)\n");
        let (f, g, h) = (call("f"), call("g"), call("h"));
        let same = [("a", &*f), ("b", &f), ("c", &f)];
        assert_eq!(parts(&functions, &same, 1), [["a", "b", "c"]]);
        let own = [("a", &*f), ("b", &g), ("c", &h)];
        assert_eq!(parts(&functions, &own, 1), [["a"], ["b"], ["c"]]);
    }
}
