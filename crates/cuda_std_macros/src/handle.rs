//! The type of a kernel's name that `#[kernel]` creates. On the host it implements `Kernel` and has
//! a function `args` with the kernel's parameters; for device code that launches the kernel it
//! implements `Launchable` and has a function `parameters`.
//!
//! Types and functions have separate namespaces, so `vecadd` is both a function and a type, and one
//! `use` imports both.

use crate::generic::is_generic;
use crate::options::Options;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::{self, VisitMut};
use syn::{FnArg, GenericParam, Ident, ItemFn, Lifetime, Pat, Type, WhereClause};

/// The names of primitive types: a type with such a name would shadow it in the whole module.
const PRIMITIVES: &[&str] = &[
    "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64",
    "i128", "isize", "f16", "f32", "f64", "f128",
];

/// Returns the items of the handle; empty for a kernel that cannot have one.
pub fn expand(
    function: &ItemFn,
    constants: &[usize],
    options: &Options,
    on_cpu: &TokenStream,
) -> TokenStream {
    let name = &function.sig.ident;
    let inputs = function.sig.inputs.iter().enumerate();
    let brief = crate::names::fresh(&function.sig, "__k");
    let brief = Lifetime::new(&format!("'{brief}"), Span::call_site());
    let parameters: Vec<Parameter> = inputs
        .filter_map(|(i, input)| parameter(i, input, constants.contains(&i), &brief))
        .collect();
    let hidden = PRIMITIVES.iter().any(|primitive| name == primitive);
    let all = parameters.len() == function.sig.inputs.len();
    if hidden || !all {
        return TokenStream::new();
    }

    let visibility = &function.vis;
    let cfgs = function.attrs.iter().filter(|a| a.path().is_ident("cfg"));
    let cfgs: Vec<_> = cfgs.collect();
    let docs = function.attrs.iter().filter(|a| a.path().is_ident("doc"));
    let docs: Vec<_> = docs.collect();
    let text = name.to_string();
    let entry = text.strip_prefix("r#").unwrap_or(&text);

    let lifetimes = function
        .sig
        .generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Lifetime(lifetime) => Some(quote!(#lifetime,)),
            _ => None,
        });
    let captured = function.sig.generics.lifetimes().map(|parameter| {
        let lifetime = &parameter.lifetime;
        quote!(#lifetime,)
    });
    let (lifetimes, captured): (Vec<TokenStream>, Vec<TokenStream>) =
        (lifetimes.collect(), captured.collect());
    let handle = crate::generic::Handle::new(&function.sig);
    let mut bounds = bounds(function, &parameters);
    if is_generic(&function.sig) {
        let bounds = bounds.get_or_insert_with(|| syn::parse_quote!(where));
        bounds.predicates.extend(handle.predicates());
    }
    let elided = parameters.iter().any(|parameter| parameter.elided);
    let elided = elided.then(|| quote!(#brief,));
    let prefix = crate::names::fresh(&function.sig, "__A");
    let generics: Vec<Ident> = (0..parameters.len())
        .map(|i| format_ident!("{prefix}{i}"))
        .collect();
    let names: Vec<&Ident> = parameters.iter().map(|p| &p.name).collect();
    // A type parameter is inferred from the argument; for a closure, with the bounds.
    let is_bits = |ty: &Type| crate::generic::is_type_parameter(&function.sig, ty);
    let mut declared = Vec::new();
    let mut accepted = Vec::new();
    for (parameter, generic) in parameters.iter().zip(&generics) {
        let ty = &parameter.ty;
        if is_bits(ty) {
            accepted.push(quote!(#ty));
            continue;
        }
        accepted.push(quote!(#generic));
        declared.push({
            let argument_ty = argument_type(ty);
            quote_spanned!(ty.span()=> #generic: ::cuda_std::kernel::host::Argument<#argument_ty>)
        });
    }
    let accepting: Vec<&Ident> = (parameters.iter().zip(&generics))
        .filter(|(parameter, _)| !is_bits(&parameter.ty))
        .map(|(_, generic)| generic)
        .collect();
    let mut values = quote!(());
    for (parameter, name) in parameters.iter().zip(&names).rev() {
        let value = crate::generic::passed(&function.sig, name, &parameter.ty);
        values = quote!((#value, #values));
    }
    let mark = is_generic(&function.sig).then(|| {
        quote! {
            ::cuda_std::single_source! {
                <Self as ::cuda_std::kernel::Instance>::mark();
            }
        }
    });
    let (definition, ty, own) = (handle.definition(), handle.ty(), handle.names());
    let (of_type, of_kernel) = (
        handle.declared(&TokenStream::new()),
        handle.declared(&quote!('static)),
    );
    // A kernel with raw pointers dereferences them, whether or not it is declared `unsafe`.
    let raw = parameters.iter().any(|p| matches!(p.ty, Type::Ptr(_)));
    let allowed = quote! {
        #[allow(
            dead_code,
            private_bounds,
            private_interfaces,
            non_camel_case_types,
            clippy::all,
            clippy::pedantic
        )]
    };
    // The interface for device code that launches the kernel.
    let types: Vec<&Type> = parameters.iter().map(|p| &p.ty).collect();
    let for_device = quote! {
        // SAFETY: the kernel's entry has this name.
        unsafe impl ::cuda_std::dynamic::Launchable for #name {
            #[inline(always)]
            fn entry() -> *const ::core::ffi::c_void {
                #[cfg(target_arch = "nvptx64")]
                {
                    unsafe extern "C" {
                        #[link_name = #entry]
                        safe static ENTRY: ::core::primitive::u8;
                    }
                    (&raw const ENTRY).cast()
                }
                #[cfg(not(target_arch = "nvptx64"))]
                ::core::ptr::null()
            }
        }

        #allowed
        impl #name {
            #[inline(always)]
            #[doc(hidden)]
            pub fn parameters<#(#lifetimes)* #elided>(
                #(#names: #types),*
            ) -> impl ::core::marker::Sized + use<#(#captured)* #elided> #bounds {
                #[repr(C)]
                struct Parameters<#(#generics),*>(#(#generics),*);
                Parameters(#(#names),*)
            }
        }
    };
    let unsafety = (raw || function.sig.unsafety.is_some()).then(|| {
        let section = "# Safety\n\nAs for the kernel, in every launch with these arguments.";
        (quote!(unsafe), quote!(#[doc = #section]))
    });
    let (unsafety, section) = unsafety.unzip();
    let block_size = crate::options::block_size(&options.section).map(|[x, y, z]| {
        quote! {
            const BLOCK_SIZE: ::core::option::Option<[::core::primitive::u32; 3]> =
                ::core::option::Option::Some([#x, #y, #z]);
        }
    });
    // An instance of a generic kernel is in the device code of the crate that marks it.
    let link = (!is_generic(&function.sig)).then(|| {
        quote! {
            ::cuda_std::single_source! {
                // Inlined into another crate, it would refer to that crate's device code.
                #[inline(never)]
                fn link() {
                    ::cuda_std::kernel::link_image();
                }
            }
        }
    });
    let package = crate::names::package();
    // A generic kernel is part of a single-source program, in which one compilation produces both
    // sides.
    let signature = match is_generic(&function.sig) {
        true => quote!(""),
        false => signature(function, constants, options),
    };
    let about = format!("The kernel `{entry}`, which the host can launch.");
    let about_args = format!("Creates the arguments of a launch of `{entry}`.");
    // Omit on the device what kernels do not need: it would repeat the compiler's errors about the
    // function.
    let (host_only, for_device) = match options.device_launch {
        true => (None, Some(for_device)),
        false => (Some(quote!(#[cfg(not(target_arch = "nvptx64"))])), None),
    };
    // Where these items are not allowed, that is, in an `impl`, a macro call is still accepted. On
    // the device, the backend then reports the error; on the host, the compiler rejects the items,
    // with the macro's name in its message.
    quote! {
        #(#cfgs)*
        #host_only
        ::cuda_std::kernels_are_free_functions! {
            #[allow(non_camel_case_types, dead_code)]
            #[doc = #about]
            #[doc = ""]
            #(#docs)*
            #visibility #definition

            #for_device

            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the function of the same name is that kernel, and `args` has its parameters.
            unsafe impl #of_kernel ::cuda_std::kernel::host::Kernel for #ty {
                const NAME: &'static ::core::primitive::str = #entry;
                const PACKAGE: &'static ::core::primitive::str = #package;
                const SIGNATURE: &'static ::core::primitive::str = #signature;
                #block_size
                #link
            }

            #[cfg(not(target_arch = "nvptx64"))]
            #allowed
            impl #of_type #ty {
                #[doc = #about_args]
                #section
                #[inline]
                pub #unsafety fn args<#(#lifetimes)* #elided #(#declared),*>(
                    #(#names: #accepted),*
                ) -> ::cuda_std::kernel::host::Args<
                    #ty,
                    impl ::cuda_std::kernel::host::Pass
                        + use<#(#captured)* #elided #(#own,)* #(#accepting),*>
                > #bounds {
                    #mark
                    // SAFETY: these are the kernel's parameters. The launch is sound if the
                    // kernel's signature is safe; otherwise the caller guarantees it.
                    unsafe { ::cuda_std::kernel::host::Args::new(#values) }
                }
            }

            #on_cpu
        }
    }
}

/// Returns the bounds of `args`: the function's, and those that references in the parameters' types
/// imply. Types in bounds, as `args` has them, imply none.
fn bounds(function: &ItemFn, parameters: &[Parameter]) -> Option<WhereClause> {
    let mut implied = Implied(Vec::new(), Vec::new());
    for parameter in parameters {
        implied.visit_type(&parameter.ty);
    }
    let mut bounds = function.sig.generics.where_clause.clone();
    for (long, short) in implied.1 {
        let bounds = bounds.get_or_insert_with(|| syn::parse_quote!(where));
        if !bounds.predicates.empty_or_trailing() {
            bounds.predicates.push_punct(Default::default());
        }
        bounds.predicates.push(syn::parse_quote!(#long: #short));
    }
    bounds
}

/// The lifetimes of the enclosing references, and pairs of lifetimes of which the first outlives
/// the second.
struct Implied<'ast>(Vec<&'ast Lifetime>, Vec<(Lifetime, Lifetime)>);

impl<'ast> Visit<'ast> for Implied<'ast> {
    fn visit_type_reference(&mut self, reference: &'ast syn::TypeReference) {
        if let Some(lifetime) = &reference.lifetime {
            self.visit_lifetime(lifetime);
            self.0.push(lifetime);
            self.visit_type(&reference.elem);
            self.0.pop();
        }
    }

    fn visit_lifetime(&mut self, long: &'ast Lifetime) {
        for &short in &self.0 {
            let pair = (long.clone(), short.clone());
            if long != short && !self.1.contains(&pair) {
                self.1.push(pair);
            }
        }
    }

    // Function types have their own lifetimes.
    fn visit_type_bare_fn(&mut self, _function: &'ast syn::TypeBareFn) {}

    fn visit_type_trait_object(&mut self, _object: &'ast syn::TypeTraitObject) {}
}

/// Returns an expression for the kernel's signature as a string, with the layouts of its
/// parameters.
fn signature(function: &ItemFn, constants: &[usize], options: &Options) -> TokenStream {
    let signature = &function.sig;
    let parameters = signature.inputs.iter().enumerate().map(|(i, input)| {
        let FnArg::Typed(typed) = input else {
            return TokenStream::new();
        };
        let constant = constants.contains(&i);
        let ty = match constant {
            true => crate::grid_constant::value_of(&typed.ty).unwrap_or(&typed.ty),
            false => &typed.ty,
        };
        let ty = crate::names::without_lifetimes(ty, &signature.generics);
        // Only `cfg`s decide whether the parameter exists; other attributes are not allowed here.
        let cfgs = typed.attrs.iter().filter(|a| a.path().is_ident("cfg"));
        quote!(#(#cfgs)* ::cuda_std::kernel::signature::parameter!(#ty, #constant),)
    });
    let constant = |name| format_ident!("{}", crate::names::fresh(signature, name));
    let (described, bytes) = (constant("__SIGNATURE"), constant("__BYTES"));
    let name = crate::names::text(&signature.ident);
    let package = crate::names::package_and_version();
    let kind = match signature.unsafety {
        Some(_) => "unsafe fn",
        None => "fn",
    };
    let section = &options.section;
    quote! {
        ::cuda_std::kernel::signature::signature_text!(#described #bytes
            package: #package,
            kind: #kind,
            name: #name,
            parameters: &[#(#parameters)*],
            options: #section,
        )
    }
}

/// Returns, for the body of the kernel's entry on the device, the record that passes the signature
/// to the compiler.
pub fn record(function: &ItemFn, constants: &[usize], options: &Options) -> TokenStream {
    let name = crate::names::text(&function.sig.ident);
    let signature = signature(function, constants, options);
    quote! {
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            #[used]
            #[unsafe(link_section = "nvvm.record")]
            static __RECORD: ::cuda_std::kernel::signature::Record =
                ::cuda_std::kernel::signature::Record::of_kernel(#name, #signature);
        };
    }
}

/// Like [`record`], for a single-source session: names the type with which the host finds the
/// kernel.
pub fn host_record(function: &ItemFn, constants: &[usize], options: &Options) -> TokenStream {
    let handle = &function.sig.ident;
    let name = crate::names::text(handle);
    let signature = signature(function, constants, options);
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        ::cuda_std::single_source! {
            const _: () = {
                ::cuda_std::with_tool_attributes! {
                    [#[nvvm::section("nvvm.record")]]
                    #[used]
                    static __RECORD: ::cuda_std::kernel::signature::Record =
                        ::cuda_std::kernel::signature::Record::of_kernel_named::<#handle>(
                            #name,
                            #signature,
                        );
                }
            };
        }
    }
}

/// A parameter of `args`.
pub struct Parameter {
    pub name: Ident,
    pub ty: Type,
    /// Whether the type has an elided lifetime, which `args` names.
    pub elided: bool,
}

/// Returns the parameter, or `None` if a `cfg` decides whether it exists. For a grid constant, it
/// is the value to which the kernel's parameter refers.
pub fn parameter(
    index: usize,
    input: &FnArg,
    constant: bool,
    brief: &Lifetime,
) -> Option<Parameter> {
    let FnArg::Typed(typed) = input else {
        return None;
    };
    if typed.attrs.iter().any(|a| a.path().is_ident("cfg")) {
        return None;
    }
    let name = match &*typed.pat {
        Pat::Ident(ident) => ident.ident.clone(),
        // A pattern has no name.
        other => format_ident!("argument_{index}", span = other.span()),
    };
    let ty = crate::kernel::without_parens(&typed.ty);
    let mut ty = match constant {
        true => crate::grid_constant::value_of(ty)?.clone(),
        false => ty.clone(),
    };
    let mut namer = Namer {
        brief,
        elided: false,
    };
    namer.visit_type_mut(&mut ty);
    Some(Parameter {
        name,
        ty,
        elided: namer.elided,
    })
}

/// Returns the type `P` in the bound `Argument<P>` of a parameter's argument. For a reference to a
/// value it is a separate type, so that host values can be passed to it.
pub fn argument_type(ty: &Type) -> TokenStream {
    let Type::Reference(reference) = ty else {
        return quote!(#ty);
    };
    let pointee = crate::kernel::without_parens(&reference.elem);
    let is_str = matches!(pointee, Type::Path(path) if path.path.is_ident("str"));
    let is_value = !is_str
        && !matches!(
            pointee,
            Type::Slice(_) | Type::Array(_) | Type::TraitObject(_)
        );
    match &reference.lifetime {
        Some(lifetime) if is_value && reference.mutability.is_none() => {
            quote_spanned!(ty.span()=> ::cuda_std::kernel::host::Reference<#lifetime, #pointee>)
        }
        _ => quote!(#ty),
    }
}

/// Types whose lifetime kernels usually elide, which a bound cannot.
const HANDLES: [&str; 11] = [
    "PerThread",
    "PerThread2d",
    "PerThread3d",
    "PerThreadChunk",
    "PerBlock",
    "PerWarp",
    "PerRow",
    "PerColumn",
    "PerBlockRow",
    "PerWarpRow",
    "PerTile",
];

/// Names elided lifetimes, because `Argument<&[f32]>` must name them.
struct Namer<'a> {
    brief: &'a Lifetime,
    elided: bool,
}

impl Namer<'_> {
    fn lifetime(&mut self, span: Span) -> Lifetime {
        self.elided = true;
        let mut lifetime = self.brief.clone();
        lifetime.set_span(span);
        lifetime
    }
}

impl VisitMut for Namer<'_> {
    fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
        if reference.lifetime.is_none() {
            reference.lifetime = Some(self.lifetime(reference.and_token.span()));
        }
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = self.lifetime(lifetime.span());
        }
    }

    fn visit_path_segment_mut(&mut self, segment: &mut syn::PathSegment) {
        visit_mut::visit_path_segment_mut(self, segment);
        let syn::PathArguments::AngleBracketed(arguments) = &mut segment.arguments else {
            return;
        };
        let is_lifetime = |a: &syn::GenericArgument| matches!(a, syn::GenericArgument::Lifetime(_));
        if HANDLES.iter().any(|handle| segment.ident == handle)
            && !arguments.args.iter().any(is_lifetime)
        {
            let lifetime = self.lifetime(segment.ident.span());
            let lifetime = syn::GenericArgument::Lifetime(lifetime);
            arguments.args.insert(0, lifetime);
        }
    }

    // Elided lifetimes inside `fn(&T)` have another meaning.
    fn visit_type_bare_fn_mut(&mut self, _function: &mut syn::TypeBareFn) {}
}
