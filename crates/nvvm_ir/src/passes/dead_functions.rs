//! `dead_functions`, which keeps what is compiled small.

use super::reachable::reachable;
use crate::module::Module;

/// Drops every function, defined or declared, that neither a kernel nor a used static reaches:
/// over calls, over addresses in code, and over addresses in the statics that those reach. Other
/// visible functions are no roots, since nothing outside the module can call into it. Statics that
/// are not reached lose their contents, as these may hold functions' addresses; `dead_globals`
/// drops them.
pub fn dead_functions(module: &mut Module) {
    let reached = reachable(module);
    for global in module.globals() {
        if !reached.globals[global.0 as usize] {
            module.global_mut(global).init = None;
        }
    }
    for func in module.funcs() {
        if !reached.funcs[func.0 as usize] {
            module.remove_func(func);
        }
    }
}
