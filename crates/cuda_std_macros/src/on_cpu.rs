//! How a kernel's threads run on the CPU: an implementation of `OnCpu`, which reads the parameters and
//! calls the user's function.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{FnArg, ItemFn, Lifetime, Signature, Type};

/// The implementation for a kernel that has a handle. `function` has the parameters of the entry, `body`
/// all of them, and `is_shared` says which of these are shared memory.
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
            // The arguments keep the value for the launch and no longer.
            let Type::Reference(reference) = crate::kernel::without_parens(&typed.ty) else {
                return TokenStream::new();
            };
            if (reference.lifetime.as_ref()).is_some_and(|lifetime| lifetime.ident != "_") {
                return TokenStream::new();
            }
            statements.push(quote! { let #argument = parameters.reference(); });
        } else {
            let ty = everlasting(&typed.ty, signature);
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
            // SAFETY: it calls the kernel, whose parameters these are.
            unsafe impl #generics ::cuda_std::kernel::host::OnCpu for #ty #bounds {
                unsafe fn run(parameters: &mut ::cuda_std::kernel::host::Parameters<'_>) {
                    // SAFETY: the caller's promise, which is the kernel's too.
                    unsafe {
                        let scope = ::cuda_std::shared::Scope::new();
                        #(#statements)*
                        #callee(#(#arguments),*);
                    }
                }
            }
        };
    };
    // The compiler of a single-source session sees to it that a generic kernel's arguments refer to
    // nothing of the host.
    let items = match crate::generic::is_generic(signature) {
        true => quote!(::cuda_std::single_source! { #items }),
        false => items,
    };
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #items
    }
}

/// A parameter's type, with `'static` for the lifetimes of the function: it holds for every lifetime that
/// it does not itself call `'static`, and then `args` takes memory of the host that lives as long.
pub fn everlasting(ty: &Type, signature: &Signature) -> TokenStream {
    let ty = crate::names::without_lifetimes(ty, &signature.generics);
    let input: FnArg = syn::parse_quote!(argument: #ty);
    let forever = Lifetime::new("'static", Span::call_site());
    match crate::handle::parameter(0, &input, false, &forever) {
        Some(crate::handle::Parameter { ty, .. }) => quote!(#ty),
        None => quote!(#ty),
    }
}
