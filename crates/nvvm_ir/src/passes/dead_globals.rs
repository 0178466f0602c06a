//! `dead_globals`, which keeps static memory small.

use super::reachable::reachable;
use crate::module::Module;

/// Drops every static that neither a kernel nor a used static reaches. Functions that are not
/// reached may refer to them still, so `dead_functions` runs before it, or they are dropped here.
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
