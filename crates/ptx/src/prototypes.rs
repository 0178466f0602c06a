//! Inserts function prototypes before variables whose initializers contain the functions'
//! addresses. libnvvm writes them for its own variables, but not for those in module-level PTX,
//! which precedes all functions.

use crate::hash::{HashMap, HashSet};

use crate::ast::{Function, Item, Module};
use crate::dead::visit_init;

/// Declares functions before the initializers that refer to them, as ptxas requires.
pub fn declare_functions(module: &mut Module<'_>) {
    let functions = module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some((function.name, function)),
        _ => None,
    });
    let functions: HashMap<&str, &Function<'_>> = functions.collect();
    let mut known = HashSet::default();
    let mut missing = Vec::new();
    for (index, item) in module.items.iter().enumerate() {
        match item {
            Item::Function(function) => {
                known.insert(function.name);
            }
            Item::Variable(variable) => {
                let mut visit = |name| {
                    if let Some(&function) = functions.get(name)
                        && known.insert(name)
                    {
                        missing.push((index, prototype(function)));
                    }
                };
                if let Some(init) = &variable.init {
                    visit_init(init, &mut visit);
                }
            }
            _ => {}
        }
    }
    for (index, prototype) in missing.into_iter().rev() {
        module.items.insert(index, Item::Function(prototype));
    }
}

fn prototype<'a>(function: &Function<'a>) -> Function<'a> {
    Function {
        linkage: function.linkage,
        attributes: function.attributes.clone(),
        returns: function.returns.clone(),
        params: function.params.clone(),
        directives: function.directives.clone(),
        body: None,
        ..*function
    }
}
