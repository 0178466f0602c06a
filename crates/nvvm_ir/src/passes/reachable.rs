//! What kernels and used statics reach, for the passes that drop the rest.

use crate::module::Module;
use crate::uses::{Symbol, SymbolWalk};

/// Which globals and functions are reached, by their handles' numbers.
pub(super) struct Reachable {
    pub(super) globals: Vec<bool>,
    pub(super) funcs: Vec<bool>,
}

pub(super) fn reachable(module: &Module) -> Reachable {
    let mut reached = Reachable {
        globals: vec![false; module.globals.len()],
        funcs: vec![false; module.funcs.len()],
    };
    let kernels = module
        .funcs()
        .filter(|&f| module.func(f).kernel.is_some())
        .map(Symbol::Func);
    let used = module
        .globals()
        .filter(|&g| module.global(g).used)
        .map(Symbol::Global);
    let mut queue: Vec<Symbol> = kernels.chain(used).collect();
    let mut walk = SymbolWalk::new(module);
    while let Some(symbol) = queue.pop() {
        let seen = match symbol {
            Symbol::Global(global) => &mut reached.globals[global.0 as usize],
            Symbol::Func(func) => &mut reached.funcs[func.0 as usize],
        };
        if std::mem::replace(seen, true) {
            continue;
        }
        let mut found = |symbol| queue.push(symbol);
        match symbol {
            Symbol::Global(global) => {
                if let Some(init) = module.global(global).init {
                    walk.walk(module, init, &mut found);
                }
            }
            Symbol::Func(func) => walk.walk_func(module, func, &mut found),
        }
    }
    reached
}
