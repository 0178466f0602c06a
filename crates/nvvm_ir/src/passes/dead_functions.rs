//! `dead_functions`, which removes unused functions.

use super::reachable::reachable;
use crate::module::Module;

/// Removes each function, defined or declared, that is reachable neither from a kernel nor from a
/// used static. Calls, addresses in code, and addresses in reachable statics count as references.
/// Other external functions are not roots, since nothing outside the module can call them.
/// Unreachable statics lose their initializers, which may contain addresses of functions;
/// `dead_globals` removes the statics.
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
