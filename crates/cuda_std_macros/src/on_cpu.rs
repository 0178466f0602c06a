//! Kernels on the CPU: an implementation of `OnCpu`, which reads the parameters and calls the
//! user's function.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{FnArg, ItemFn, Lifetime, Signature, Type};

/// Returns the implementation for a kernel that has a handle. `function` has the parameters of the
/// entry, `body` has all parameters, and `is_shared` says which of those are shared memory.
pub fn expand(
    function: &ItemFn,
    body: &ItemFn,
    is_shared: &[bool],
    constants: &[usize],
) -> TokenStream {
    let signature = &function.sig;
    let (mut statements, mut arguments) = (Vec::new(), Vec::new());
    let (mut passed, mut shared) = (0, 0_u32);
    for (index, (input, &is_shared)) in body.sig.inputs.iter().zip(is_shared).enumerate() {
        let FnArg::Typed(typed) = input else {
            return TokenStream::new();
        };
        let argument = format_ident!("argument_{index}");
        arguments.push(argument.clone());
        if is_shared {
            let ty = crate::names::without_lifetimes(&typed.ty, &signature.generics);
            statements.push(quote! {
                let #argument: #ty = ::cuda_std::shared::on_cpu::<#ty>(&scope, #shared);
            });
            shared += 1;
            continue;
        }
        if constants.contains(&passed) {
            // The arguments own the value for the duration of the launch, which no named lifetime
            // expresses.
            let Type::Reference(reference) = crate::kernel::without_parens(&typed.ty) else {
                return TokenStream::new();
            };
            if (reference.lifetime.as_ref()).is_some_and(|lifetime| lifetime.ident != "_") {
                return TokenStream::new();
            }
            statements.push(quote! { let #argument = parameters.reference(); });
        } else {
            let ty = with_static_lifetimes(&typed.ty, signature);
            statements.push(quote! { let #argument = parameters.take::<#ty>(); });
        }
        passed += 1;
    }
    let handle = crate::generic::Handle::new(signature);
    let (generics, _, _) = signature.generics.split_for_impl();
    let mut bounds = signature.generics.clone();
    if crate::generic::is_generic(signature) {
        let predicates = &mut bounds.make_where_clause().predicates;
        predicates.extend(handle.predicates());
    }
    let bounds = &bounds.where_clause;
    let (ty, callee) = (handle.ty(), handle.function(&signature.ident));
    let items = quote! {
        #[allow(warnings, clippy::all, clippy::pedantic)]
        const _: () = {
            // SAFETY: `run` calls the kernel that the type represents, with its parameters.
            unsafe impl #generics ::cuda_std::kernel::host::OnCpu for #ty #bounds {
                unsafe fn run(parameters: &mut ::cuda_std::kernel::host::Parameters<'_>) {
                    // SAFETY: the caller's guarantees are those that the kernel requires.
                    unsafe {
                        let scope = ::cuda_std::shared::Scope::new();
                        #(#statements)*
                        #callee(#(#arguments),*);
                    }
                }
            }
        };
    };
    // In a single-source session, the compiler ensures that the arguments of a generic kernel do
    // not refer to host memory.
    let items = match crate::generic::is_generic(signature) {
        true => quote!(::cuda_std::single_source! { #items }),
        false => items,
    };
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #items
    }
}

/// Returns a parameter's type with the function's lifetimes replaced by `'static`. An
/// implementation for it covers every lifetime that the kernel does not itself declare `'static`;
/// in that case `args` requires host memory that lives as long.
pub fn with_static_lifetimes(ty: &Type, signature: &Signature) -> TokenStream {
    let ty = crate::names::without_lifetimes(ty, &signature.generics);
    let input: FnArg = syn::parse_quote!(argument: #ty);
    let forever = Lifetime::new("'static", Span::call_site());
    match crate::handle::parameter(0, &input, false, &forever) {
        Some(crate::handle::Parameter { ty, .. }) => quote!(#ty),
        None => quote!(#ty),
    }
}
