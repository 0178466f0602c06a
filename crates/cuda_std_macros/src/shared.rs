//! `#[shared]` parameters of kernels: not parameters of the entry, but handles of shared memory
//! that the entry creates, each from a static and a barrier of its own, and passes to the user's
//! function.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, FnArg, Ident, ItemFn, PatType, Result, Signature};

use crate::generic::is_generic;

/// The barriers that are there for shared memory.
const MOST: usize = 8;

/// Takes the parameters out of the signature.
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

/// Takes the attributes alone, and returns for each parameter whether it had one.
pub fn strip(function: &mut ItemFn) -> Vec<bool> {
    function.sig.inputs.iter_mut().map(unmark).collect()
}

/// Takes the attribute, and returns whether there was one.
fn unmark(input: &mut FnArg) -> bool {
    let FnArg::Typed(parameter) = input else {
        return false;
    };
    let count = parameter.attrs.len();
    (parameter.attrs).retain(|a| !a.path().is_ident("shared"));
    parameter.attrs.len() < count
}

/// Whether there are not too many.
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

/// The statements that make the handles, of these names, in the entry of a kernel of this signature.
pub fn handles(parameters: &[PatType], names: &[&Ident], kernel: &Signature) -> TokenStream {
    // No static can be generic: the compiler makes one for each instance.
    let instance = is_generic(kernel).then(|| crate::generic::Handle::new(kernel).ty());
    // With the type's span, so that what is wrong with it is shown there.
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
        // Handles live as long as this function runs, which no lifetime of the kernel's says.
        let ty = &crate::names::without_lifetimes(ty, &kernel.generics);
        // A length in the type may be a constant of the user's.
        let storage = quote::format_ident!("{}", crate::names::fresh(ty, "STORAGE"));
        let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        let handle = as_handle(ty);
        let number = number as u32;
        if let Some(instance) = &instance {
            return quote! {
                #(#cfgs)*
                // SAFETY: the memory is this parameter's alone, as is the number, and this function is
                // called by the kernel's entry only, since nobody can name it.
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
                // SAFETY: the static is this parameter's alone, as is the number, and this function
                // is called by the kernel's entry only, since nobody can name it.
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
