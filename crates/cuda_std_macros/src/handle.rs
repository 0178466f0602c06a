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

/// The names of primitive types: a type of such a name would hide it in the whole module.
const PRIMITIVES: &[&str] = &[
    "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64",
    "i128", "isize", "f16", "f32", "f64", "f128",
];

/// The items of the handle; nothing for a kernel that cannot have one.
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
    // A type parameter is inferred from the argument itself, a closure's with its bounds.
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
            let asked = asked(ty);
            quote_spanned!(ty.span()=> #generic: ::cuda_std::kernel::host::Argument<#asked>)
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
    // A kernel that takes raw pointers reads or writes through them, whether it says `unsafe` or
    // not.
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
    // What device code that launches the kernel has of it.
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
        let section =
            "# Safety\n\nAs for the kernel, in every launch that these arguments are for.";
        (quote!(unsafe), quote!(#[doc = #section]))
    });
    let (unsafety, section) = unsafety.unzip();
    let block_size = crate::options::block_size(&options.section).map(|[x, y, z]| {
        quote! {
            const BLOCK_SIZE: ::core::option::Option<[::core::primitive::u32; 3]> =
                ::core::option::Option::Some([#x, #y, #z]);
        }
    });
    let package = crate::names::package();
    // A generic kernel is of a single-source program, where one compilation makes both sides.
    let signature = match is_generic(&function.sig) {
        true => quote!(""),
        false => signature(function, constants, options),
    };
    let about = format!("The kernel `{entry}`, as the host launches it.");
    let about_args = format!("The arguments of a launch of `{entry}`.");
    // What kernels do not need on the device is not there: it would repeat what the compiler has to
    // say of the function itself.
    let (host_only, for_device) = match options.device_launch {
        true => (None, Some(for_device)),
        false => (Some(quote!(#[cfg(not(target_arch = "nvptx64"))])), None),
    };
    // A call of a macro may stand where these items may not, which is in an `impl`. On the device,
    // where it goes, the backend says what is wrong there; on the host the compiler refuses the
    // items, and the macro's name is in its message.
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
            // SAFETY: the function beside it is that kernel, and `args` has its parameters.
            unsafe impl #of_kernel ::cuda_std::kernel::host::Kernel for #ty {
                const NAME: &'static ::core::primitive::str = #entry;
                const PACKAGE: &'static ::core::primitive::str = #package;
                const SIGNATURE: &'static ::core::primitive::str = #signature;
                #block_size
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
                    // SAFETY: these are the kernel's parameters; that it is sound is what its
                    // signature says, or else the caller.
                    unsafe { ::cuda_std::kernel::host::Args::new(#values) }
                }
            }

            #on_cpu
        }
    }
}

/// The bounds of `args`: the function's, and those that references in the parameters' types imply. Types in
/// bounds, as they are there, imply none.
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

/// The references that something is inside of, and pairs of lifetimes of which the first outlives the
/// second.
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

    // What is inside has lifetimes of its own.
    fn visit_type_bare_fn(&mut self, _function: &'ast syn::TypeBareFn) {}

    fn visit_type_trait_object(&mut self, _object: &'ast syn::TypeTraitObject) {}
}

/// The kernel's signature as text, with the layouts of its parameters: an expression.
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
        // Only these decide whether the parameter is there; others have no place here.
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

/// For the device: what tells the compiler the signature, for the body of the kernel's entry.
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

/// As [`record`], where the host's session compiles the kernel as well: it names the type that the host
/// finds the kernel by.
pub fn host_record(function: &ItemFn, constants: &[usize], options: &Options) -> TokenStream {
    let handle = &function.sig.ident;
    let name = crate::names::text(handle);
    let signature = signature(function, constants, options);
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        ::cuda_std::single_source! {
            const _: () = {
                #[used]
                #[nvvm::section("nvvm.record")]
                static __RECORD: ::cuda_std::kernel::signature::Record =
                    ::cuda_std::kernel::signature::Record::of_kernel_named::<#handle>(
                        #name,
                        #signature,
                    );
            };
        }
    }
}

/// A parameter of the kernel, as `args` has it.
pub struct Parameter {
    pub name: Ident,
    pub ty: Type,
    /// Whether the type has a lifetime without a name, which `args` names.
    pub elided: bool,
}

/// The parameter; `None` if it is there only under some `cfg`. Of a constant of the grid the host
/// passes the value that the reference is to.
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

/// What the argument for a parameter of this type is asked for. A reference to a value has a type
/// of its own there, which values of the host can be passed to.
pub fn asked(ty: &Type) -> TokenStream {
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

/// Types whose lifetime a kernel's signature usually leaves out. A bound cannot.
const HANDLES: [&str; 9] = [
    "PerThread",
    "PerThread2d",
    "PerThread3d",
    "PerThreadChunk",
    "PerBlock",
    "PerWarp",
    "PerRow",
    "PerColumn",
    "PerTile",
];

/// Gives lifetimes without a name one: `Argument<&[f32]>` has to say which.
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

    // Inside of `fn(&T)` they mean something else.
    fn visit_type_bare_fn_mut(&mut self, _function: &mut syn::TypeBareFn) {}
}
