//! `#[derive(DeviceCopy)]`: declares that values of a type may be copied to a device as bytes.
//!
//! The macro is used through the crates that re-export it: `cust` for host programs, `cust_core`
//! for `no_std` crates that host and device share.

use proc_macro::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Path, parse_macro_input, parse_quote};

/// Implements `cust::memory::DeviceCopy`; every field has to be `DeviceCopy` itself.
#[proc_macro_derive(DeviceCopy)]
pub fn device_copy(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(input, parse_quote!(::cust::memory::DeviceCopy)).into()
}

/// Implements `cust_core::DeviceCopy`, for crates that do not depend on `cust`.
#[proc_macro_derive(DeviceCopyCore)]
pub fn device_copy_core(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(input, parse_quote!(::cust_core::DeviceCopy)).into()
}

/// The implementation, and a function that fails to compile unless every field is `DeviceCopy`,
/// with the error on that field.
fn expand(mut input: DeriveInput, path: Path) -> proc_macro2::TokenStream {
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#path));
    }
    let fields: Vec<&syn::Field> = match &input.data {
        Data::Struct(data) => fields_of(&data.fields),
        Data::Enum(data) => data
            .variants
            .iter()
            .flat_map(|variant| fields_of(&variant.fields))
            .collect(),
        Data::Union(data) => data.fields.named.iter().collect(),
    };
    let checks = fields.iter().map(|field| {
        let ty = &field.ty;
        quote_spanned!(ty.span()=> assert_device_copy::<#ty>();)
    });
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        // SAFETY: every field is `DeviceCopy`, which the function below checks.
        #[automatically_derived]
        unsafe impl #impl_generics #path for #name #type_generics #where_clause {}

        const _: () = {
            fn assert_device_copy<T: #path>() {}
            #[allow(dead_code)]
            fn assert_fields #impl_generics () #where_clause {
                #(#checks)*
            }
        };
    }
}

fn fields_of(fields: &Fields) -> Vec<&syn::Field> {
    fields.iter().collect()
}
