//! `#[grid_constant]` parameters of kernels: references to the launch's own parameters. The host
//! passes a value, and the kernel gets its address in parameter memory, without a copy.

use syn::{Error, FnArg, ItemFn, Result, Type};

/// Removes the attributes, and returns the indices of the parameters that had one.
pub fn take(function: &mut ItemFn) -> Vec<usize> {
    let mut found = Vec::new();
    for (index, input) in function.sig.inputs.iter_mut().enumerate() {
        let FnArg::Typed(typed) = input else { continue };
        let count = typed.attrs.len();
        typed.attrs.retain(|a| !a.path().is_ident("grid_constant"));
        if typed.attrs.len() < count {
            found.push(index);
        }
    }
    found
}

/// Returns the type of the value that the host passes for a parameter that the kernel has by
/// reference.
pub fn value_of(ty: &Type) -> Option<&Type> {
    match crate::kernel::without_parens(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => Some(&reference.elem),
        _ => None,
    }
}

/// Checks that the parameters are references, at positions that do not depend on a `cfg`.
pub fn check(function: &ItemFn, parameters: &[usize]) -> Result<()> {
    for &index in parameters {
        let FnArg::Typed(typed) = &function.sig.inputs[index] else {
            continue;
        };
        // The compiler finds the parameter by its position among all parameters.
        let mut before = function.sig.inputs.iter().take(index + 1);
        let cfg = before.find_map(|input| match input {
            FnArg::Typed(typed) => typed.attrs.iter().find(|a| a.path().is_ident("cfg")),
            FnArg::Receiver(_) => None,
        });
        if let Some(cfg) = cfg {
            return Err(Error::new_spanned(
                cfg,
                "a `#[grid_constant]` parameter and those before it cannot have a `cfg`",
            ));
        }
        if value_of(&typed.ty).is_none() {
            return Err(Error::new_spanned(
                &typed.ty,
                "a `#[grid_constant]` parameter must be a reference, `&T`, to the value that the host \
                 passes",
            ));
        }
    }
    Ok(())
}

/// Returns the part of the section's name that lists these parameters.
pub fn section(parameters: &[usize]) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let list: Vec<String> = parameters.iter().map(usize::to_string).collect();
    format!(";gridconst={}", list.join(","))
}
