//! `dead_globals`, which removes unused statics.

use super::reachable::reachable;
use crate::module::Module;

/// Removes each static that is reachable neither from a kernel nor from a used static. Unreachable
/// functions, which may still reference these statics, are removed, too.
pub fn dead_globals(module: &mut Module) {
    let reached = reachable(module);
    for func in module.funcs() {
        if !reached.funcs[func.0 as usize] {
            module.remove_func(func);
        }
    }
    for global in module.globals() {
        if !reached.globals[global.0 as usize] {
            module.remove_global(global);
        }
    }
}
