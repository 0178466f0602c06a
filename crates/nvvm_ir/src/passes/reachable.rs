//! Reachability from kernels and used statics, for the passes that remove everything else.

use crate::legalize::SOFT_FLOAT;
use crate::module::Module;
use crate::types::TypeKind;
use crate::uses::{Symbol, SymbolWalk};

/// Whether each global and function is reachable, by handle.
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
    // The legalizer will call these functions if the module uses `f128`.
    let quads = module.types.has(&TypeKind::Fp128);
    let soft_float = SOFT_FLOAT
        .iter()
        .filter(|_| quads)
        .filter_map(|name| module.as_func(module.named(name)?))
        .map(Symbol::Func);
    let mut queue: Vec<Symbol> = kernels.chain(used).chain(soft_float).collect();
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
