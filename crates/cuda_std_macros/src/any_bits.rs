//! `#[derive(AnyBits)]`: for structs whose fields are valid for any bit pattern.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, parse_quote};

/// Returns the implementation, and a function that fails to compile unless every field is
/// `AnyBits`, with the error on that field.
pub fn expand(input: TokenStream) -> TokenStream {
    try_expand(input).unwrap_or_else(Error::into_compile_error)
}

fn try_expand(input: TokenStream) -> Result<TokenStream, Error> {
    let mut input: DeriveInput = syn::parse2(input)?;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(
            &input.ident,
            "only structs can derive `AnyBits`: enums have invalid bit patterns, and unions need a manual \
             `unsafe impl`",
        ));
    };
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::cuda_std::AnyBits));
    }
    let checks = data.fields.iter().map(|field| {
        let ty = &field.ty;
        quote_spanned!(ty.span()=> assert_any_bits::<#ty>();)
    });
    let types: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
    let members: Vec<_> = data.fields.members().collect();
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        // SAFETY: all fields are valid for any bit pattern, as the function below checks.
        #[automatically_derived]
        unsafe impl #impl_generics ::cuda_std::AnyBits for #name #type_generics #where_clause {
            const INITIALIZED: ::core::primitive::bool = true
                #(&& <#types as ::cuda_std::AnyBits>::INITIALIZED)*
                && ::cuda_std::kernel::size::<Self>()
                    == 0 #(+ ::cuda_std::kernel::size::<#types>())*;
        }

        const _: () = {
            fn assert_any_bits<T: ::cuda_std::AnyBits>() {}
            #[allow(dead_code, deprecated)]
            fn assert_fields #impl_generics () #where_clause {
                #(#checks)*
                // An attribute that follows the derive may add fields, and change their types.
                let _ = |#name { #(#members: _),* }: #name #type_generics| {};
                #(let _ = |value: #name #type_generics| -> *const #types {
                    &raw const value.#members
                };)*
            }
        };
    })
}

#[cfg(test)]
mod tests {
    use super::expand;
    use quote::quote;

    #[test]
    fn fields_are_checked() {
        let text = expand(quote!(
            struct Pair<T>(T, u32);
        ))
        .to_string();
        for part in [
            "impl < T : :: cuda_std :: AnyBits > :: cuda_std :: AnyBits for Pair < T >",
            "assert_any_bits :: < T >",
            "assert_any_bits :: < u32 >",
        ] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }

    #[test]
    fn enums_are_refused() {
        let text = expand(quote!(
            enum Which {
                One,
            }
        ))
        .to_string();
        assert!(text.contains("only structs can derive"), "{text}");
    }
}
