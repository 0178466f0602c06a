//! What the code of each kernel depends on, so that the compiler can tell which kernels a change
//! affects.

use crate::module::{Linkage, Module};
use crate::types::AddrSpace;
use crate::uses::{Symbol, for_each_outside_operand, for_each_symbol};
use crate::value::{Func, Global};
use crate::write::SymbolWriter;

/// The dependencies of a module's kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependencies<T> {
    /// The kernels, in the order of their names.
    pub kernels: Vec<KernelDependencies<T>>,
    /// What no kernel reaches, and module-level assembly: it may affect all kernels.
    pub rest: Vec<T>,
}

/// The dependencies of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDependencies<T> {
    /// The kernel.
    pub kernel: Func,
    /// The kernel and what it reaches: functions and static variables, in the order of their names.
    pub symbols: Vec<T>,
    /// The internal variables among them through which kernels can exchange values. An optimizer
    /// that sees some kernels of the module must not assume that it sees all uses of these.
    pub variables: Vec<Global>,
}

/// Returns the dependencies of each kernel. `describe` gets the text of each function and variable
/// once: it is the same in all modules in which the code, the attributes and the debug information
/// are the same, and names other functions and variables.
///
/// ```
/// let module = nvvm_ir::read_module(
///     "define void @f() {
///      start:
///        ret void
///      }
///      define void @k() {
///      start:
///        call void @f()
///        ret void
///      }
///      !nvvm.annotations = !{!0}
///      !0 = !{ptr @k, !\"kernel\", i32 1}",
/// )?;
/// let dependencies = nvvm_ir::dependencies(&module, |text| text.lines().count());
/// assert_eq!(dependencies.kernels[0].symbols.len(), 2);
/// assert!(dependencies.rest.is_empty());
/// # Ok::<(), nvvm_ir::ReadError>(())
/// ```
pub fn dependencies<T: Clone>(
    module: &Module,
    mut describe: impl FnMut(&str) -> T,
) -> Dependencies<T> {
    // Indices: first all globals, then all functions.
    let globals = module.globals.len();
    let index = |symbol: Symbol| match symbol {
        Symbol::Global(global) => global.0 as usize,
        Symbol::Func(func) => globals + func.0 as usize,
    };
    let mut symbols: Vec<Symbol> = (module.globals().map(Symbol::Global))
        .chain(module.funcs().map(Symbol::Func))
        .collect();
    symbols.sort_by_key(|&symbol| name(module, symbol));
    let mut writer = SymbolWriter::new(module);
    let mut nodes: Vec<Option<Node<T>>> = vec![None; globals + module.funcs.len()];
    for (rank, &symbol) in symbols.iter().enumerate() {
        let mut refers: Vec<usize> = Vec::new();
        let mut refer = |symbol| refers.push(index(symbol));
        match symbol {
            Symbol::Global(global) => {
                if let Some(init) = module.global(global).init {
                    for_each_symbol(module, init, &mut refer);
                }
            }
            Symbol::Func(func) => for_each_outside_operand(module, func, |operand| {
                for_each_symbol(module, operand, &mut refer);
            }),
        }
        refers.sort_unstable();
        refers.dedup();
        nodes[index(symbol)] = Some(Node {
            rank,
            symbol,
            description: describe(writer.text(symbol)),
            refers,
        });
    }
    let mut reached_by_any = vec![false; symbols.len()];
    // The number of the last kernel that reached a symbol.
    let mut reached_by = vec![usize::MAX; nodes.len()];
    let kernels = (symbols.iter().enumerate())
        .filter_map(|(number, &symbol)| match symbol {
            Symbol::Func(func) => module.func(func).kernel.as_ref().map(|_| (number, func)),
            Symbol::Global(_) => None,
        })
        .map(|(number, kernel)| {
            let mut found = Vec::new();
            let mut pending = vec![index(Symbol::Func(kernel))];
            while let Some(at) = pending.pop() {
                if let Some(node) = &nodes[at]
                    && std::mem::replace(&mut reached_by[at], number) != number
                {
                    found.push(node);
                    pending.extend(&node.refers);
                }
            }
            found.sort_unstable_by_key(|node| node.rank);
            found
                .iter()
                .for_each(|node| reached_by_any[node.rank] = true);
            KernelDependencies {
                kernel,
                symbols: found.iter().map(|node| node.description.clone()).collect(),
                variables: (found.iter())
                    .filter_map(|node| match node.symbol {
                        Symbol::Global(global) => Some(global),
                        Symbol::Func(_) => None,
                    })
                    .filter(|&global| is_exchanged(module, global))
                    .collect(),
            }
        })
        .collect();
    let unreached = (nodes.iter().flatten()).filter(|node| !reached_by_any[node.rank]);
    let mut unreached: Vec<&Node<T>> = unreached.collect();
    unreached.sort_unstable_by_key(|node| node.rank);
    let mut rest: Vec<T> = (unreached.iter())
        .map(|node| node.description.clone())
        .collect();
    rest.extend(module.asm.iter().map(|asm| describe(asm)));
    Dependencies { kernels, rest }
}

/// A function or variable.
#[derive(Clone)]
struct Node<T> {
    /// The position in the order of names.
    rank: usize,
    symbol: Symbol,
    description: T,
    /// The indices of the symbols that it refers to.
    refers: Vec<usize>,
}

fn name(module: &Module, symbol: Symbol) -> &str {
    match symbol {
        Symbol::Global(global) => &module.global(global).name,
        Symbol::Func(func) => &module.func(func).name,
    }
}

/// Returns whether kernels can exchange values through an internal variable.
fn is_exchanged(module: &Module, global: Global) -> bool {
    let data = module.global(global);
    let is_of_launch = matches!(data.space, AddrSpace::Shared | AddrSpace::Local);
    data.linkage == Linkage::Internal && !data.constant && !is_of_launch
}
