//! `#[derive(DeviceCopy)]`: declares that values of a type may be copied to a device as bytes.
//!
//! Use the macro through the crates that re-export it: `cust` for host programs, `cust_core` for
//! `no_std` crates that host and device share.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DataEnum, DeriveInput, Field, Fields, Ident, Member, Meta, Path, Token, Type,
    parse_macro_input, parse_quote,
};

/// Implements `cust::memory::DeviceCopy`. Every field must be `DeviceCopy`.
#[proc_macro_derive(DeviceCopy)]
pub fn device_copy(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let layout = parse_quote!(::cust::memory::layout);
    expand(input, parse_quote!(::cust::memory::DeviceCopy), layout).into()
}

/// Implements `cust_core::DeviceCopy`, for crates that do not depend on `cust`. Every field must be
/// `DeviceCopy`.
#[proc_macro_derive(DeviceCopyCore)]
pub fn device_copy_core(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let layout = parse_quote!(::cust_core::layout);
    expand(input, parse_quote!(::cust_core::DeviceCopy), layout).into()
}

/// Returns the implementation, including a description of the type. The description requires every
/// field to be `DeviceCopy`; a field that is not is an error at its type.
fn expand(mut input: DeriveInput, path: Path, layout: Path) -> TokenStream {
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#path));
    }
    let name = &input.ident;
    let described = |ty: &Type| quote_spanned!(ty.span()=> &<#ty as #path>::LAYOUT);
    let repr = repr(&input.attrs);
    let check = check(&input.data);
    let mut chosen = false;
    let (kind, parts) = match &input.data {
        Data::Struct(data) => ("struct", offsets(&layout, &data.fields, described)),
        Data::Union(data) => {
            let fields = Fields::Named(data.fields.clone());
            ("union", offsets(&layout, &fields, described))
        }
        Data::Enum(data) => {
            // The representation of an enum without fields is its discriminant.
            let plain = data
                .variants
                .iter()
                .all(|variant| variant.fields.is_empty());
            let promised = repr.iter().any(|word| !word.starts_with("align"));
            chosen = !plain && !promised;
            ("enum", variants(&layout, data, &repr, described))
        }
    };
    let head = format!("{kind} {}", text(name));
    let repr = match repr.is_empty() {
        true => String::new(),
        false => format!("repr({})", repr.join(", ")),
    };
    // Not `env!`, which a macro of the user's crate could shadow.
    let variable = |name| std::env::var(name).unwrap_or_default();
    let package = format!(
        "{} {}",
        variable("CARGO_PKG_NAME"),
        variable("CARGO_PKG_VERSION")
    );
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        // SAFETY: every field is `DeviceCopy`, which the description requires.
        #[automatically_derived]
        unsafe impl #impl_generics #path for #name #type_generics #where_clause {
            const LAYOUT: #layout::Layout = {
                #check
                #layout::Layout::new::<Self>(#layout::Kind::Composite(#layout::Composite {
                    name: #head,
                    package: #package,
                    repr: #repr,
                    chosen: #chosen,
                    parts: const { &[#(#parts),*] },
                }))
            };
        }
    }
}

/// Returns statements that compile only if the type has exactly these fields: an attribute that
/// follows the derive may add fields, and change their types.
fn check(data: &Data) -> TokenStream {
    let fields = match data {
        Data::Struct(data) => &data.fields,
        Data::Enum(data) => return check_variants(data),
        // Reading a field of a union is unsafe.
        Data::Union(_) => return TokenStream::new(),
    };
    let members: Vec<Member> = fields.members().collect();
    let types = fields.iter().map(|field| &field.ty);
    quote! {
        #[allow(deprecated)]
        let _ = |Self { #(#members: _),* }: Self| {};
        #(
            #[allow(deprecated)]
            let _ = |value: Self| -> *const #types { &raw const value.#members };
        )*
    }
}

/// As [`check`], for an enum.
fn check_variants(data: &DataEnum) -> TokenStream {
    let arms = data.variants.iter().map(|variant| {
        let ident = &variant.ident;
        let members = variant.fields.members();
        let names: Vec<Ident> = (0..variant.fields.len())
            .map(|index| Ident::new(&format!("field_{index}"), Span::mixed_site()))
            .collect();
        let types = variant.fields.iter().map(|field| &field.ty);
        quote! {
            Self::#ident { #(#members: ref #names),* } => {
                #(let _: *const #types = &raw const *#names;)*
            }
        }
    });
    quote! {
        #[allow(deprecated)]
        let _ = |value: &Self| match *value {
            #(#arms)*
        };
    }
}

/// Describes the fields of a struct or union, with their offsets.
fn offsets(
    layout: &Path,
    fields: &Fields,
    described: impl Fn(&Type) -> TokenStream,
) -> Vec<TokenStream> {
    let fields = fields.iter().zip(fields.members());
    let field = |(field, member): (&Field, Member)| {
        let (name, described) = (name(&member), described(&field.ty));
        quote! {
            #layout::Part::Field(#name, #layout::offset_of!(Self, #member), #described)
        }
    };
    fields.map(field).collect()
}

/// Describes the variants of an enum, each followed by its fields.
fn variants(
    layout: &Path,
    data: &DataEnum,
    repr: &[String],
    described: impl Fn(&Type) -> TokenStream,
) -> Vec<TokenStream> {
    let mut parts = Vec::new();
    let units = (data.variants.iter()).all(|variant| matches!(variant.fields, Fields::Unit));
    let integer = repr.iter().find(|word| word.starts_with(['u', 'i']));
    let integer = integer.map_or("isize", |word| word);
    let integer = Ident::new(integer, Span::call_site());
    let mut next = quote!(0i128);
    for variant in &data.variants {
        let ident = &variant.ident;
        let discriminant = match &variant.discriminant {
            // Only unit variants can be cast. For other enums, the expression determines the value.
            _ if units => quote!(Self::#ident as ::core::primitive::i128),
            Some((_, expression)) => quote!({
                const DISCRIMINANT: ::core::primitive::#integer = #expression;
                DISCRIMINANT as ::core::primitive::i128
            }),
            None => next,
        };
        let name_of_variant = text(ident);
        parts.push(quote!(#layout::Part::Variant(#name_of_variant, #discriminant)));
        for (field, member) in variant.fields.iter().zip(variant.fields.members()) {
            let (name, described) = (name(&member), described(&field.ty));
            parts.push(quote!(#layout::Part::Inner(#name, #described)));
        }
        next = quote!((#discriminant + 1));
    }
    parts
}

/// Returns the arguments of the `repr` attributes.
fn repr(attributes: &[Attribute]) -> Vec<String> {
    let attributes = attributes.iter().filter(|a| a.path().is_ident("repr"));
    let words = attributes.filter_map(|attribute| {
        let words = Punctuated::<Meta, Token![,]>::parse_terminated;
        attribute.parse_args_with(words).ok()
    });
    let words = words.flatten();
    words.map(|word| quote!(#word).to_string()).collect()
}

fn name(member: &Member) -> String {
    match member {
        Member::Named(ident) => text(ident),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// Returns the identifier without `r#`.
fn text(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::check;
    use syn::{DeriveInput, parse_quote};

    fn checked(input: DeriveInput) -> String {
        check(&input.data).to_string().replace(' ', "")
    }

    #[test]
    fn fields_that_an_attribute_adds_are_found() {
        let text = checked(parse_quote! {
            struct S<T>(u32, T);
        });
        assert!(text.contains("|Self{0:_,1:_}:Self|{}"), "{text}");
        assert!(text.contains("->*constT{&rawconstvalue.1}"), "{text}");
        let text = checked(parse_quote! {
            enum E {
                A,
                B { r#type: u8 },
            }
        });
        assert!(text.contains("Self::A{}=>{}"), "{text}");
        assert!(
            text.contains("Self::B{r#type:reffield_0}=>{let_:*constu8=&rawconst*field_0;}"),
            "{text}"
        );
    }
}
