//! `internalize`, which tells libnvvm what it may inline and drop.

use crate::module::{Linkage, Module};

/// Makes every definition internal but kernels and used statics: libnvvm then inlines what has one
/// caller and drops what has none, and PTX keeps `.visible` for what the host looks up. Static
/// memory of the constant and global spaces that is not marked as used is invisible to the host
/// afterwards. Declarations stay as they are.
pub fn internalize(module: &mut Module) {
    for func in module.funcs() {
        let data = module.func_mut(func);
        if !data.blocks.is_empty() && data.kernel.is_none() {
            data.linkage = Linkage::Internal;
        }
    }
    for global in module.globals() {
        let data = module.global_mut(global);
        if data.init.is_some() && !data.used {
            data.linkage = Linkage::Internal;
        }
    }
}
