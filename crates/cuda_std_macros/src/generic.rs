//! Generic kernels: kernels with type and constant parameters, for single-source programs.
//!
//! The handle of a generic kernel is generic as well: `map<f32, F>` names one instance. Its function
//! `args` marks the instance, which the compiler then finds among those of the host's functions.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{
    ConstParam, Error, FnArg, GenericParam, Ident, Signature, Token, Type, TypeParam,
    TypeParamBound, WherePredicate,
};

/// Returns whether a kernel has parameters other than lifetimes. [`normalize`] must have replaced
/// `impl` types.
pub fn is_generic(signature: &Signature) -> bool {
    let mut parameters = signature.generics.params.iter();
    parameters.any(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
}

/// Returns an error for each type parameter, const parameter and `impl` type, for crates that are
/// compiled only for the device.
pub fn refused_on_device(signature: &Signature) -> TokenStream {
    let parameters = signature.generics.params.iter();
    let parameters = parameters.filter(|p| !matches!(p, GenericParam::Lifetime(_)));
    let mut errors: Vec<Error> = parameters
        .map(|parameter| {
            Error::new_spanned(
                parameter,
                "a kernel in a device-only crate cannot be generic: the host launches a kernel by its \
                 name, which identifies one instance. Write a generic function, and one kernel per \
                 type that calls it; or build host and device code as one crate with `cargo cuda`",
            )
        })
        .collect();
    let mut types = ImplTypes(Vec::new());
    for input in &signature.inputs {
        if let FnArg::Typed(parameter) = input {
            types.visit_type_mut(&mut parameter.ty.clone());
        }
    }
    errors.extend(types.0.iter().map(|ty| {
        Error::new_spanned(
            ty,
            "a kernel in a device-only crate cannot be generic: `impl` in a parameter makes it generic",
        )
    }));
    let errors = errors.into_iter().map(Error::into_compile_error);
    quote!(#(#[cfg(target_arch = "nvptx64")] #errors)*)
}

/// Collects the outermost `impl` types.
struct ImplTypes(Vec<syn::TypeImplTrait>);

impl VisitMut for ImplTypes {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        match ty {
            Type::ImplTrait(found) => self.0.push(found.clone()),
            _ => visit_mut::visit_type_mut(self, ty),
        }
    }
}

/// The `impl` types of a signature, by the names of the type parameters that replace them.
pub type Written = Vec<(Ident, syn::TypeImplTrait)>;

/// Replaces each `impl` type in the parameters with a type parameter, and makes all type parameters
/// `'static`: the host finds an instance by its types' `TypeId`s. Returns the replaced types.
pub fn normalize(signature: &mut Signature) -> Written {
    struct Namer<'a>(&'a str, Vec<TypeParam>, Written);

    impl VisitMut for Namer<'_> {
        fn visit_type_mut(&mut self, ty: &mut Type) {
            let Type::ImplTrait(found) = ty else {
                return visit_mut::visit_type_mut(self, ty);
            };
            let span = found.impl_token.span;
            let name = format_ident!("{}{}", self.0, self.1.len(), span = span);
            let mut parameter = TypeParam::from(name.clone());
            parameter.colon_token = Some(Token![:](span));
            parameter.bounds = found.bounds.clone();
            self.1.push(parameter);
            self.2.push((name.clone(), found.clone()));
            *ty = syn::parse_quote!(#name);
        }
    }

    let prefix = crate::names::fresh(signature, "Impl");
    let mut namer = Namer(&prefix, Vec::new(), Vec::new());
    for input in &mut signature.inputs {
        if let FnArg::Typed(parameter) = input {
            namer.visit_type_mut(&mut parameter.ty);
        }
    }
    let named = namer.1.into_iter().map(GenericParam::Type);
    signature.generics.params.extend(named);
    for parameter in signature.generics.type_params_mut() {
        parameter.colon_token.get_or_insert_default();
        parameter.bounds.push(syn::parse_quote!('static));
    }
    namer.2
}

/// Returns a type as the user wrote it: with the `impl` types that [`normalize`] replaced. Returns
/// `None` if it has none.
pub fn as_written(ty: &Type, written: &Written) -> Option<Type> {
    struct Restorer<'a>(&'a Written, bool);

    impl VisitMut for Restorer<'_> {
        fn visit_type_mut(&mut self, ty: &mut Type) {
            let Type::Path(path) = &*ty else {
                return visit_mut::visit_type_mut(self, ty);
            };
            let ident = path.path.get_ident().filter(|_| path.qself.is_none());
            match self.0.iter().find(|(name, _)| Some(name) == ident) {
                Some((_, found)) => {
                    *ty = Type::ImplTrait(found.clone());
                    self.1 = true;
                }
                None => visit_mut::visit_type_mut(self, ty),
            }
        }
    }

    let mut restorer = Restorer(written, false);
    let mut ty = ty.clone();
    restorer.visit_type_mut(&mut ty);
    restorer.1.then_some(ty)
}

/// Returns whether a parameter's type is a type parameter, which is passed as its bytes.
pub fn is_type_parameter(signature: &Signature, ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let mut parameters = signature.generics.type_params();
    path.qself.is_none()
        && (path.path.get_ident())
            .is_some_and(|ident| parameters.any(|parameter| parameter.ident == *ident))
}

/// Returns the form in which a launch stores the argument `name` for a parameter of type `ty`.
pub fn passed(signature: &Signature, name: &impl ToTokens, ty: &Type) -> TokenStream {
    match is_type_parameter(signature, ty) {
        // SAFETY (of the expansion): the kernel's own check requires `Copy`, and the compiler
        // checks the types of each instance.
        true => quote!(unsafe { ::cuda_std::kernel::host::Bits::new(#name) }),
        false => {
            let argument_ty = crate::handle::argument_type(ty);
            quote!(::cuda_std::kernel::host::Argument::<#argument_ty>::into_passed(#name))
        }
    }
}

/// The parts of the type that represents a generic kernel. All are empty for a kernel that is not
/// generic.
pub struct Handle<'a> {
    signature: &'a Signature,
}

impl<'a> Handle<'a> {
    pub fn new(signature: &'a Signature) -> Self {
        Handle { signature }
    }

    /// Returns the names of the parameters.
    pub fn names(&self) -> Vec<&'a Ident> {
        let parameters = self.signature.generics.params.iter();
        parameters
            .filter_map(|parameter| match parameter {
                GenericParam::Lifetime(_) => None,
                GenericParam::Type(parameter) => Some(&parameter.ident),
                GenericParam::Const(parameter) => Some(&parameter.ident),
            })
            .collect()
    }

    /// Returns `name` or `name<T, N>`.
    pub fn ty(&self) -> TokenStream {
        let name = &self.signature.ident;
        let names = self.names();
        match names.is_empty() {
            true => quote!(#name),
            false => quote!(#name<#(#names),*>),
        }
    }

    /// Returns `name` or `name::<T, N>`.
    pub fn function(&self, name: &Ident) -> TokenStream {
        let names = self.names();
        match names.is_empty() {
            true => quote!(#name),
            false => quote!(#name::<#(#names),*>),
        }
    }

    /// Returns `<T, const N: usize>`, with those bounds of each type that are allowed only there,
    /// and `bounds`.
    pub fn declared(&self, bounds: &TokenStream) -> TokenStream {
        if !is_generic(self.signature) {
            return TokenStream::new();
        }
        let parameters = self.signature.generics.params.iter();
        let declared = parameters.filter_map(|parameter| match parameter {
            GenericParam::Lifetime(_) => None,
            GenericParam::Const(ConstParam { ident, ty, .. }) => Some(quote!(const #ident: #ty)),
            GenericParam::Type(TypeParam {
                ident, bounds: own, ..
            }) => {
                let relaxed = own.iter().filter(|bound| is_relaxed(bound));
                Some(quote!(#ident: #(#relaxed +)* #bounds))
            }
        });
        quote!(<#(#declared),*>)
    }

    /// Returns the bounds in the declarations of the type parameters, in the form of a `where`
    /// clause.
    pub fn predicates(&self) -> Vec<WherePredicate> {
        let parameters = self.signature.generics.type_params();
        parameters
            .map(|TypeParam { ident, bounds, .. }| {
                let bounds = bounds.iter().filter(|bound| !is_relaxed(bound));
                let bounds: Punctuated<_, Token![+]> = bounds.cloned().collect();
                syn::parse_quote!(#ident: #bounds)
            })
            .collect()
    }

    /// Returns the definition of the type.
    pub fn definition(&self) -> TokenStream {
        let name = &self.signature.ident;
        if !is_generic(self.signature) {
            return quote!(enum #name {});
        }
        let declared = self.declared(&TokenStream::new());
        let types = self.signature.generics.type_params();
        let types = types.map(|parameter| &parameter.ident);
        quote! {
            // With braces: a tuple struct would also be a function.
            struct #name #declared {
                types: ::cuda_std::kernel::host::Types<fn(#(*const #types),*)>,
            }
        }
    }

    /// Returns, for a generic kernel in a single-source session, the code that declares `entry` as
    /// the function of an instance.
    pub fn instance(&self, entry: &Ident) -> TokenStream {
        if !is_generic(self.signature) {
            return TokenStream::new();
        }
        let (generics, _, _) = self.signature.generics.split_for_impl();
        let mut bounds = self.signature.generics.clone();
        bounds
            .make_where_clause()
            .predicates
            .extend(self.predicates());
        let bounds = &bounds.where_clause;
        let (ty, entry) = (self.ty(), self.function(entry));
        quote! {
            impl #generics ::cuda_std::kernel::Instance for #ty #bounds {
                #[inline(always)]
                fn mark() {
                    ::cuda_std::kernel::mark_instance::<Self, _>(#entry);
                }
            }
        }
    }
}

/// Returns whether the bound is `?Sized`, which is allowed only in the declaration.
fn is_relaxed(bound: &TypeParamBound) -> bool {
    match bound {
        TypeParamBound::Trait(bound) => matches!(bound.modifier, syn::TraitBoundModifier::Maybe(_)),
        _ => false,
    }
}

/// Rejects the option `device_launch` for a generic kernel.
pub fn check_options(signature: &Signature, device_launch: bool) -> syn::Result<()> {
    match device_launch && is_generic(signature) {
        true => Err(Error::new(
            Span::call_site(),
            "a generic kernel cannot be launched by kernels: remove `device_launch`",
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(tokens: impl ToTokens) -> String {
        tokens.to_token_stream().to_string().replace(' ', "")
    }

    #[test]
    fn impl_types_become_parameters() {
        let mut function: syn::ItemFn = syn::parse_quote!(
            fn f<T: Copy>(f: impl Fn(T) -> T + Copy, Impl: &[(T, impl Copy)]) {}
        );
        assert_eq!(
            refused_on_device(&function.sig)
                .to_string()
                .matches("compile_error")
                .count(),
            3
        );
        let written = normalize(&mut function.sig);
        assert_eq!(
            text(&function.sig),
            "fnf<T:Copy+'static,Impl_0:Fn(T)->T+Copy+'static,Impl_1:Copy+'static>\
             (f:Impl_0,Impl:&[(T,Impl_1)])"
        );
        assert!(is_generic(&function.sig));
        let restored = as_written(&syn::parse_quote!(&[(T, Impl_1)]), &written);
        assert_eq!(text(restored), "&[(T,implCopy)]");
        assert!(as_written(&syn::parse_quote!(&[T]), &written).is_none());
    }

    #[test]
    fn bounds_stand_where_they_can() {
        let function: syn::ItemFn = syn::parse_quote!(
            fn f<'a, T: ?Sized + Send, const N: usize>(x: &'a T) {}
        );
        let handle = Handle::new(&function.sig);
        assert_eq!(text(handle.ty()), "f<T,N>");
        assert_eq!(
            text(handle.declared(&quote!('static))),
            "<T:?Sized+'static,constN:usize>"
        );
        assert_eq!(text(&handle.predicates()[0]), "T:Send");
        assert!(!is_type_parameter(&function.sig, &syn::parse_quote!(&'a T)));
        assert!(is_type_parameter(&function.sig, &syn::parse_quote!(T)));
        assert!(!is_type_parameter(
            &function.sig,
            &syn::parse_quote!(T::Item)
        ));
    }

    #[test]
    fn lifetimes_alone_make_no_kernel_generic() {
        let function: syn::ItemFn = syn::parse_quote!(
            fn f<'a>(x: &'a [u32]) {}
        );
        let handle = Handle::new(&function.sig);
        assert!(!is_generic(&function.sig));
        assert_eq!(text(handle.definition()), "enumf{}");
        assert!(handle.instance(&function.sig.ident).is_empty());
        assert!(handle.declared(&quote!('static)).is_empty());
    }
}
