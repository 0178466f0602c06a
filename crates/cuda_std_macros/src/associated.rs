//! Kernels that are associated functions, for single-source programs: `#[kernel(associated)]` in an
//! `impl`.
//!
//! An `impl` cannot contain a type with the kernel's name. Therefore a second associated function
//! creates the arguments, and the type of the kernel's function represents the kernel.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, FnArg, ItemFn, Lifetime, Type};

use crate::generic;
use crate::handle::Parameter;

/// Returns whether the attribute declares an associated kernel.
pub fn is_requested(attribute: &TokenStream) -> bool {
    let mut tokens = attribute.clone().into_iter();
    tokens.any(|token| matches!(token, TokenTree::Ident(ident) if ident == "associated"))
}

/// Returns the expansion, or the errors and the unchanged item.
pub fn expand(attribute: TokenStream, mut function: ItemFn) -> TokenStream {
    generic::normalize(&mut function.sig);
    let mut stripped = function.clone();
    let shared = crate::shared::take(&mut stripped);
    let constants = crate::grid_constant::take(&mut stripped);
    let checked = crate::kernel::check(attribute, &stripped.sig, &shared).and_then(|options| {
        crate::kernel::check_name(&function)?;
        let refused = |what: &str| {
            let message = format!("an associated kernel cannot have {what}");
            Err(Error::new_spanned(&function.sig.ident, message))
        };
        if !shared.is_empty() || !constants.is_empty() {
            return refused("`#[shared]` or `#[grid_constant]` parameters");
        }
        if options.device_launch || crate::options::block_size(&options.section).is_some() {
            return refused("`block_size` or `device_launch`");
        }
        let mut inputs = function.sig.inputs.iter();
        if inputs.any(|input| {
            matches!(input, FnArg::Typed(typed) if typed.attrs.iter().any(|a| a.path().is_ident("cfg")))
        }) {
            return refused("parameters with a `cfg`");
        }
        Ok(options)
    });
    match checked {
        Ok(options) => items(function, &options.section),
        Err(errors) => {
            let errors = errors.into_compile_error();
            quote!(#errors #stripped)
        }
    }
}

fn items(mut function: ItemFn, section: &str) -> TokenStream {
    let args = args(&function);
    let checks = function.sig.inputs.iter().map(|input| {
        let ty = match input {
            FnArg::Receiver(receiver) => syn::parse_quote_spanned!(receiver.span()=> Self),
            FnArg::Typed(typed) => (*typed.ty).clone(),
        };
        let check = crate::kernel::check_of_type(&function.sig, &ty);
        quote_spanned!(ty.span()=> const { #check::<#ty>() };)
    });
    // Beside the user's statements: rustc would report the braces of a block as unnecessary.
    let checks: syn::Block = syn::parse_quote!({ #(#checks)* });
    function.block.stmts.splice(0..0, checks.stmts);
    let refused = Error::new_spanned(
        &function.sig.ident,
        "a kernel of a crate for the device cannot be an associated function: the host launches it by its \
         name alone. Write a free function that calls this one; or build host and device code as one \
         crate with `cargo cuda`",
    );
    let refused = refused.into_compile_error();
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #refused
        #[cfg_attr(
            not(target_arch = "nvptx64"),
            ::cuda_std::single_source_attributes(nvvm::section(#section))
        )]
        #[allow(dead_code)]
        #function
        #args
    }
}

/// Returns the function that creates the arguments.
fn args(function: &ItemFn) -> TokenStream {
    let signature = &function.sig;
    let brief = crate::names::fresh(signature, "__k");
    let brief = Lifetime::new(&format!("'{brief}"), Span::call_site());
    let prefix = crate::names::fresh(signature, "__A");
    let mut generics = signature.generics.clone();
    let mut parameters = Vec::new();
    let mut types = Vec::new();
    let mut passed = quote!(());
    let mut values = quote!(());
    let mut is_unsafe = signature.unsafety.is_some();
    let mut elided = false;
    for (index, input) in signature.inputs.iter().enumerate().rev() {
        // `parameter` returns `None` only for the receiver.
        let (name, ty): (TokenStream, Type) =
            match crate::handle::parameter(index, input, false, &brief) {
                Some(Parameter {
                    name,
                    ty,
                    elided: is_elided,
                }) => {
                    elided |= is_elided;
                    (quote!(#name), ty)
                }
                None => (quote!(self), syn::parse_quote!(Self)),
            };
        types.push(match input {
            FnArg::Receiver(_) => quote!(Self),
            FnArg::Typed(typed) => crate::on_cpu::with_static_lifetimes(&typed.ty, signature),
        });
        is_unsafe |= matches!(ty, Type::Ptr(_));
        let value = generic::passed(signature, &name, &ty);
        values = quote!((#value, #values));
        if generic::is_type_parameter(signature, &ty) {
            parameters.push(quote!(#name: #ty));
            passed = quote!((::cuda_std::kernel::host::Bits<#ty>, #passed));
            continue;
        }
        let accepted: Type = match input {
            FnArg::Receiver(_) => {
                parameters.push(quote!(self));
                syn::parse_quote!(Self)
            }
            FnArg::Typed(_) => {
                let generic = format_ident!("{prefix}{index}");
                parameters.push(quote!(#name: #generic));
                generics.params.push(syn::parse_quote!(#generic));
                syn::parse_quote!(#generic)
            }
        };
        let argument_ty = crate::handle::argument_type(&ty);
        let bound =
            quote_spanned!(ty.span()=> #accepted: ::cuda_std::kernel::host::Argument<#argument_ty>);
        let bound: syn::WherePredicate = syn::parse_quote!(#bound);
        generics.make_where_clause().predicates.push(bound);
        passed = quote! {
            (<#accepted as ::cuda_std::kernel::host::Argument<#argument_ty>>::Passed, #passed)
        };
    }
    parameters.reverse();
    types.reverse();
    if elided {
        generics.params.insert(0, syn::parse_quote!(#brief));
    }
    let bounds = &generics.where_clause;
    let visibility = &function.vis;
    let name = &signature.ident;
    let text = crate::names::text(name);
    let package = crate::names::package();
    let args_name = format_ident!("{text}_args", span = name.span());
    let entry = generic::Handle::new(signature).function(name);
    let about = format!("Creates the arguments of a launch of `{text}`.");
    let kernel = match signature.unsafety.is_some() || types.len() > MOST_ON_CPU {
        true => quote!(host::Kernel),
        false => quote!(AssociatedKernel),
    };
    let unsafety = is_unsafe.then(|| quote!(unsafe));
    let section = is_unsafe.then(|| {
        let text = "# Safety\n\nAs for the kernel, in every launch with these arguments.";
        quote!(#[doc = ""] #[doc = #text])
    });
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(dead_code, private_bounds, private_interfaces, clippy::all, clippy::pedantic)]
        #[doc = #about]
        #section
        #visibility #unsafety fn #args_name #generics(
            #(#parameters),*
        ) -> ::cuda_std::kernel::host::Args<impl ::cuda_std::kernel::#kernel, #passed> #bounds {
            struct Name;
            impl ::cuda_std::kernel::host::AssociatedName for Name {
                const NAME: &'static ::core::primitive::str = #text;
                const PACKAGE: &'static ::core::primitive::str = #package;
            }
            // SAFETY: these are the kernel's parameters. The launch is sound if the kernel's
            // signature is safe; otherwise the caller guarantees it.
            unsafe {
                ::cuda_std::kernel::associated_args::<(#(#types,)*), _, _, _>(
                    Self::#entry,
                    Name,
                    #values,
                )
            }
        }
    }
}

/// The maximum number of parameters of a kernel that runs on the CPU.
const MOST_ON_CPU: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(function: TokenStream) -> String {
        let attribute = quote!(associated);
        assert!(is_requested(&attribute));
        let function = syn::parse2(function).unwrap();
        expand(attribute, function).to_string().replace(' ', "")
    }

    #[test]
    fn a_second_function_takes_the_arguments() {
        let text = expanded(quote!(
            pub fn f<T: Copy>(self, t: T, xs: &[u32], mut ys: PerThread<T>) {}
        ));
        for part in [
            "nvvm::section(\"nvvm.kernel\")",
            "pubfnf_args<'__k,T:Copy+'static,__A3,__A2>(self,t:T,xs:__A2,ys:__A3)",
            "__A2:::cuda_std::kernel::host::Argument<&'__k[u32]>",
            "__A3:::cuda_std::kernel::host::Argument<PerThread<'__k,T>>",
            "associated_args::<(Self,T,&'static[u32],PerThread<'static,T>,),_,_,_>(Self::f::<T>,Name,",
            "check_param::<Self>()",
        ] {
            assert!(text.contains(part), "`{part}` is not in {text}");
        }
        assert_eq!(text.matches("compile_error").count(), 1, "{text}");
    }

    #[test]
    fn checks_are_statements_of_the_body() {
        let text = expanded(quote!(
            fn f(x: u32) {
                for _ in 0..x {}
            }
        ));
        let body = "fnf(x:u32){const{::cuda_std::kernel::check_param::<u32>()};for_in0..x{}}";
        assert!(text.contains(body), "{text}");
    }

    #[test]
    fn arguments_with_raw_pointers_are_unsafe() {
        let text = expanded(quote!(
            fn f(x: *const u32, n: u32) {}
        ));
        assert!(text.contains("unsafefnf_args"), "{text}");
        let text = expanded(quote!(
            fn f(x: &u32, n: u32) {}
        ));
        assert!(!text.contains("unsafefnf_args"), "{text}");
    }

    #[test]
    fn what_it_cannot_have_is_an_error() {
        for function in [
            quote!(
                fn f(&self) {}
            ),
            quote!(
                fn f(self: Box<Self>) {}
            ),
            quote!(
                fn f(#[shared] a: Shared<Array<u32, 2>>) {}
            ),
            quote!(
                fn f(#[cfg(x)] a: u32) {}
            ),
        ] {
            let text = expanded(function);
            assert!(text.starts_with("::core::compile_error"), "{text}");
        }
    }
}
