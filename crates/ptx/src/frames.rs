//! The local memory that functions reserve on the stack.

use crate::ast::{Item, Module, Space, Statement};

/// Returns the functions with variables in local memory, with the size of these variables in bytes.
/// ptxas adds space for spilled registers.
pub fn frames<'a>(module: &Module<'a>) -> Vec<(&'a str, u64)> {
    let functions = module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    });
    functions
        .filter_map(|function| {
            let bytes = local_bytes(function.body.as_deref()?);
            (bytes > 0).then_some((function.name, bytes))
        })
        .collect()
}

/// Returns the size of a body's variables in local memory.
pub(crate) fn local_bytes(body: &[Statement<'_>]) -> u64 {
    let sizes = body.iter().map(|statement| match statement {
        Statement::Variable(variable) if variable.space == Space::Local => {
            variable.size().unwrap_or(u64::MAX)
        }
        Statement::Block(body) => local_bytes(body),
        _ => 0,
    });
    sizes.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_variables_add_up() {
        let text = ".version 9.0\n.target sm_75\n.address_size 64\n
            .func none() { ret; }
            .func some() {
                .local .align 8 .b8 depot[24]; .shared .b8 other[100];
                { .local .b32 inner[2]; }
                ret;
            }";
        let module = Module::parse(text).expect("PTX");
        assert_eq!(frames(&module), [("some", 32)]);
    }
}
