//! `#[shared]` parameters of kernels. They are not parameters of the entry: the entry creates a
//! handle for each, with its own static and barrier, and passes it to the user's function.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, FnArg, Ident, ItemFn, PatType, Result, Signature};

use crate::generic::is_generic;

/// The number of hardware barriers that are reserved for shared memory.
const MOST: usize = 8;

/// Removes the `#[shared]` parameters from the signature and returns them.
pub fn take(function: &mut ItemFn) -> Vec<PatType> {
    let mut taken = Vec::new();
    let inputs = std::mem::take(&mut function.sig.inputs);
    let mut kept = Punctuated::new();
    for mut input in inputs {
        let is_shared = unmark(&mut input);
        match input {
            FnArg::Typed(typed) if is_shared => taken.push(typed),
            other => kept.push(other),
        }
    }
    function.sig.inputs = kept;
    taken
}

/// Removes the attributes, and returns for each parameter whether it had one.
pub fn strip(function: &mut ItemFn) -> Vec<bool> {
    function.sig.inputs.iter_mut().map(unmark).collect()
}

/// Removes the attribute, and returns whether there was one.
fn unmark(input: &mut FnArg) -> bool {
    let FnArg::Typed(parameter) = input else {
        return false;
    };
    let count = parameter.attrs.len();
    (parameter.attrs).retain(|a| !a.path().is_ident("shared"));
    parameter.attrs.len() < count
}

/// Checks the number of parameters.
pub fn check(parameters: &[PatType]) -> Result<()> {
    match parameters.get(MOST) {
        Some(parameter) => {
            let message = format!(
                "a kernel has at most {MOST} shared parameters, one for each barrier; a tuple of \
                 layouts needs one"
            );
            Err(Error::new_spanned(parameter, message))
        }
        None => Ok(()),
    }
}

/// Returns the statements of a kernel's entry that create the handles and bind them to `names`.
pub fn handles(parameters: &[PatType], names: &[&Ident], kernel: &Signature) -> TokenStream {
    // A static cannot be generic: the compiler creates one for each instance.
    let instance = is_generic(kernel).then(|| crate::generic::Handle::new(kernel).ty());
    // The type's span makes errors about the type point to it.
    let as_handle =
        |ty: &syn::Type| quote_spanned!(ty.span()=> <#ty as ::cuda_std::shared::Handle>);
    let types: Vec<_> = parameters
        .iter()
        .map(|parameter| {
            as_handle(&crate::names::without_lifetimes(
                &parameter.ty,
                &kernel.generics,
            ))
        })
        .collect();
    let numbered = parameters.iter().zip(names).enumerate();
    let scope = quote::format_ident!("{}", crate::names::fresh(kernel, "__scope"));
    let statements = numbered.map(|(number, (parameter, name))| {
        let PatType { attrs, ty, .. } = parameter;
        // Handles live as long as this function runs, for which the kernel has no lifetime name.
        let ty = &crate::names::without_lifetimes(ty, &kernel.generics);
        // A length in the type may refer to a user's constant.
        let storage = quote::format_ident!("{}", crate::names::fresh(ty, "STORAGE"));
        let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        let handle = as_handle(ty);
        let number = number as u32;
        if let Some(instance) = &instance {
            return quote! {
                #(#cfgs)*
                // SAFETY: the memory and the number belong to this parameter alone, and only the
                // kernel's entry calls this function, which no code can name.
                let #name: #ty = unsafe {
                    #handle::make(
                        &#scope,
                        ::cuda_std::shared::of_instance::<#instance, #handle::Storage, #number>(),
                        #number,
                    )
                };
            };
        }
        quote! {
            #(#cfgs)*
            let #name: #ty = {
                #[::cuda_std::address_space(shared)]
                static mut #storage: ::cuda_std::shared::Static<
                    #handle::Storage,
                > = ::cuda_std::shared::Static::uninit();
                // SAFETY: the static and the number belong to this parameter alone, and only the
                // kernel's entry calls this function, which no code can name.
                unsafe {
                    #handle::make(&#scope, (&raw mut #storage).cast(), #number)
                }
            };
        }
    });
    quote! {
        const {
            ::cuda_std::shared::check_dynamic(
                &[#(#types::DYNAMIC),*]
            )
        };
        let #scope = ::cuda_std::shared::Scope::new();
        #(#statements)*
    }
}
