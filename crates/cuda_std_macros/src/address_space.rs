//! `#[address_space(shared)]`: checks the static, and marks it for the backend. For a static in
//! constant or global memory, creates a type of its name on the host, with which `cust` finds it;
//! for a private static only in single source, where host code can be in its module.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Ident, ItemStatic, LitStr, StaticMutability, Token, Visibility};

/// Returns the expansion, or the error and the unchanged item.
pub fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    match marked(attribute, item.clone()) {
        Ok(marked) => marked,
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#error #item)
        }
    }
}

fn marked(attribute: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    let expected = "expected an address space: `shared`, `constant` or `global`";
    if attribute.is_empty() {
        return Err(Error::new(Span::call_site(), expected));
    }
    let Options { space, name } =
        syn::parse2(attribute.clone()).map_err(|error| match error.to_string() {
            message if message.contains("unsafe") => error,
            _ => Error::new_spanned(&attribute, expected),
        })?;
    let section = match space.to_string().as_str() {
        "shared" => "nvvm.shared",
        "constant" => "nvvm.constant",
        "global" => "nvvm.global",
        other => {
            let message = format!("unknown address space `{other}`; {expected}");
            return Err(Error::new_spanned(&space, message));
        }
    };
    let item: ItemStatic = syn::parse2(item.clone()).map_err(|_| {
        let item = item
            .into_iter()
            .next()
            .map_or(TokenStream::new(), |first| first.into());
        Error::new_spanned(item, "`#[address_space]` can only be applied to a static")
    })?;
    if space == "shared" && !matches!(item.mutability, StaticMutability::Mut(_)) {
        return Err(Error::new_spanned(
            item.static_token,
            "shared memory must be `static mut`: its initializer has no effect, so a static that is \
             never written is never initialized",
        ));
    }
    if space == "shared"
        && let Some(name) = &name
    {
        let message = "each block has its own shared memory, which the host cannot find by name";
        return Err(Error::new_spanned(name, message));
    }
    if let Some(name) = &name
        && crate::names::is_reserved(&name.value())
    {
        let message = crate::names::reserved(&name.value());
        return Err(Error::new_spanned(name, message));
    }
    // The item's own symbol name takes precedence, then the attribute's. A static that other crates
    // can name gets a generated one.
    let text = item.ident.to_string();
    let text = text.strip_prefix("r#").unwrap_or(&text);
    let own = own_symbol(&item.attrs, text);
    let given = name.map(|name| name.value()).filter(|_| own.is_none());
    let exported = given
        .as_ref()
        .map(|name| quote!(#[cfg_attr(target_arch = "nvptx64", unsafe(export_name = #name))]));
    // In a single-source session, the item is the same for both sides.
    let exported_to_both = given
        .as_ref()
        .map(|name| quote!(#[unsafe(export_name = #name)]));
    let handle = (space != "shared").then(|| {
        let symbol = match own.or(given) {
            Some(symbol) => quote!(#symbol),
            None => symbol(&item, text),
        };
        let changes = matches!(item.mutability, StaticMutability::Mut(_));
        let handle = handle(&item, text, &symbol, &space.to_string(), changes);
        match is_private(&item) {
            true => quote!(::cuda_std::single_source! { #handle }),
            false => handle,
        }
    });
    Ok(quote! {
        ::cuda_std::with_tool_attributes! {
            [#[nvvm::section(#section)] #exported_to_both]
            #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = #section))]
            #exported
            #item
        }
        #handle
    }
    .into_token_stream())
}

/// Returns the expansion of `#[constant]`, or the error and the unchanged item.
pub fn expand_constant(attribute: TokenStream, item: TokenStream) -> TokenStream {
    constant(attribute, item.clone()).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote!(#error #item)
    })
}

/// Returns a `Constant` in constant memory. For the host it is a `static mut` of the declared type,
/// which can be modified while no kernel runs.
fn constant(attribute: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    if !attribute.is_empty() {
        return Err(Error::new_spanned(
            attribute,
            "`#[constant]` takes no options",
        ));
    }
    let item: ItemStatic = syn::parse2(item).map_err(|error| {
        Error::new(
            error.span(),
            "`#[constant]` can only be applied to a static",
        )
    })?;
    if let StaticMutability::Mut(token) = &item.mutability {
        let message = "a `#[constant]` static cannot be `mut`: kernels cannot modify it, and the host sets it";
        return Err(Error::new_spanned(token, message));
    }
    let refused = is_private(&item).then(|| {
        let message = "a `#[constant]` static must be visible to the host, which sets it: make it `pub`. For \
                       values that never change, use `#[address_space(constant)]`";
        let error = Error::new_spanned(&item.ident, message).into_compile_error();
        quote!(::cuda_std::two_crates! { #error })
    });
    let text = item.ident.to_string();
    let symbol = symbol(&item, &text);
    let handle = handle(&item, &text, &symbol, "constant", true);
    let ItemStatic {
        attrs,
        vis,
        static_token,
        ident,
        ty,
        expr,
        ..
    } = &item;
    Ok(quote! {
        #refused
        ::cuda_std::with_tool_attributes! {
            [#[nvvm::section("nvvm.constant")]]
            #(#attrs)*
            #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = "nvvm.constant"))]
            #vis #static_token #ident: ::cuda_std::Constant<#ty> = ::cuda_std::Constant::new(#expr);
        }
        #handle
    })
}

/// Returns whether only the static's own module can name it. In the two-crate way, the host cannot.
fn is_private(item: &ItemStatic) -> bool {
    matches!(item.vis, Visibility::Inherited)
}

/// The error message for other options.
const OPTIONS: &str = "the only option is `unsafe(name = \"..\")`";

/// The arguments of the attribute.
struct Options {
    space: Ident,
    name: Option<LitStr>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Options, Error> {
        let space = input.parse()?;
        let mut name = None;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
            if !input.peek(Token![unsafe]) {
                let key: Ident = input.parse()?;
                if key != "name" {
                    return Err(Error::new_spanned(key, OPTIONS));
                }
                let message = "choosing a symbol is unsafe, as with `no_mangle`: no other item may \
                               have it. Write `unsafe(name = \"..\")`";
                return Err(Error::new_spanned(key, message));
            }
            input.parse::<Token![unsafe]>()?;
            let content;
            syn::parenthesized!(content in input);
            let key: Ident = content.parse()?;
            if key != "name" {
                return Err(Error::new_spanned(key, OPTIONS));
            }
            content.parse::<Token![=]>()?;
            name = Some(content.parse()?);
        }
        Ok(Options { space, name })
    }
}

/// Returns the type with which the host finds the static. `changes` says whether the host may
/// modify it.
fn handle(
    item: &ItemStatic,
    text: &str,
    symbol: &TokenStream,
    space: &str,
    changes: bool,
) -> TokenStream {
    let name = &item.ident;
    let (ty, visibility) = (&item.ty, &item.vis);
    let cfgs = item.attrs.iter().filter(|a| a.path().is_ident("cfg"));
    let cfgs: Vec<_> = cfgs.collect();
    let about = format!("The static `{text}`, which the host finds in a module.");
    let changes = changes.then(|| {
        quote! {
            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: it is a `static mut` or a `Constant`, whose value kernels expect to change
            // between launches.
            unsafe impl ::cuda_std::kernel::global::GlobalMut for #name {}
        }
    });
    let constant = |name| quote::format_ident!("{}", crate::names::fresh(ty, name));
    let (described, bytes) = (constant("__SIGNATURE"), constant("__BYTES"));
    let package = crate::names::package();
    let whole_package = crate::names::package_and_version();
    let kind = match changes.is_some() {
        true => "static mut",
        false => "static",
    };
    let signature = quote! {
        ::cuda_std::kernel::signature::signature_text!(#described #bytes
            package: #whole_package,
            kind: #kind,
            name: #text,
            parameters: &[::cuda_std::kernel::signature::parameter!(#ty, false)],
            options: #space,
        )
    };
    quote! {
        #(#cfgs)*
        ::cuda_std::device_items! {
            const _: () = {
                ::cuda_std::with_tool_attributes! {
                    [#[nvvm::section("nvvm.record")]]
                    #[used]
                    #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = "nvvm.record"))]
                    static __RECORD: ::cuda_std::kernel::signature::Record =
                        ::cuda_std::kernel::signature::Record::of_static(
                            #symbol,
                            #signature,
                            &raw const #name,
                        );
                }
            };
        }

        #(#cfgs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(non_camel_case_types, dead_code, clippy::upper_case_acronyms)]
        #[doc = #about]
        #visibility enum #name {}

        #(#cfgs)*
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the static of the same name is that variable, and has this type.
        unsafe impl ::cuda_std::kernel::global::Global for #name {
            type Value = #ty;
            const SYMBOL: &'static ::core::primitive::str = #symbol;
            const NAME: &'static ::core::primitive::str = #text;
            const PACKAGE: &'static ::core::primitive::str = #package;
            const SIGNATURE: &'static ::core::primitive::str = #signature;
        }

        #changes
    }
}

/// Returns the symbol that the item's own attributes specify: `no_mangle` or `export_name`, also
/// inside `unsafe`. Attributes in a `cfg_attr` whose condition is false are not visible.
pub fn own_symbol(attributes: &[Attribute], name: &str) -> Option<String> {
    fn find(tokens: TokenStream, name: &str) -> Option<String> {
        let mut exported = false;
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    if let Some(found) = find(group.stream(), name) {
                        return Some(found);
                    }
                }
                TokenTree::Ident(ident) if ident == "no_mangle" => return Some(name.to_owned()),
                TokenTree::Ident(ident) => exported = ident == "export_name",
                TokenTree::Literal(literal) if exported => {
                    let literal = TokenTree::from(literal).into();
                    let literal = syn::parse2::<syn::LitStr>(literal).ok()?;
                    return Some(literal.value());
                }
                _ => {}
            }
        }
        None
    }
    let mut attributes = attributes.iter();
    attributes.find_map(|attribute| find(attribute.to_token_stream(), name))
}

/// Returns a unique symbol: the name and a hash of the package, the module and the position in the
/// file, which are the same when the crate is compiled for the device and for the host. It is an
/// expression, because only the compiler knows the module.
///
/// A macro that several functions call can declare a private static in each. The position of the
/// call tells them apart.
fn symbol(item: &ItemStatic, name: &str) -> TokenStream {
    let mut place = String::new();
    if proc_macro::is_available() {
        let span = item.ident.span().unwrap();
        let file = span.local_file();
        let file = file.as_ref().and_then(|file| file.file_name());
        let file = file.map(|file| file.to_string_lossy().into_owned());
        let file = file.unwrap_or_default();
        place = format!("{file} {} {}", span.line(), span.column());
    }
    let package = crate::names::package_and_version();
    let place = match is_private(item) {
        true => quote!(::core::concat!(#place, ' ', ::core::line!(), ' ', ::core::column!())),
        false => quote!(#place),
    };
    quote!(::cuda_std::kernel::signature::symbol_text!(#name, #package, #place))
}

#[cfg(test)]
mod tests {
    use super::{expand, expand_constant};
    use quote::quote;

    fn error(attribute: proc_macro2::TokenStream, item: proc_macro2::TokenStream, message: &str) {
        let text = expand(attribute, item).to_string();
        assert!(text.contains("compile_error"), "no error in: {text}");
        assert!(text.contains(message), "`{message}` is not in: {text}");
    }

    #[test]
    fn spaces_become_sections() {
        for (space, section) in [
            (quote!(shared), "nvvm.shared"),
            (quote!(constant), "nvvm.constant"),
            (quote!(global), "nvvm.global"),
        ] {
            let text = expand(
                space,
                quote!(
                    pub static mut X: u32 = 0;
                ),
            )
            .to_string();
            assert!(
                text.contains(&format!("link_section = \"{section}\"")),
                "{text}"
            );
            assert!(text.contains("target_arch = \"nvptx64\""), "{text}");
            let both = format!("nvvm :: section (\"{section}\")");
            assert!(text.contains(&both), "{text}");
            assert!(!text.contains("compile_error"), "{text}");
        }
    }

    #[test]
    fn constants_are_what_the_host_sets() {
        let text = expand_constant(
            quote!(),
            quote!(
                pub static X: [f32; 4] = [0.0; 4];
            ),
        )
        .to_string();
        for part in [
            "link_section = \"nvvm.constant\"",
            "pub static X : :: cuda_std :: Constant < [f32 ; 4] >",
            "type Value = [f32 ; 4]",
            "GlobalMut for X",
        ] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        for (item, message) in [
            (
                quote!(
                    pub static mut X: u32 = 0;
                ),
                "cannot be `mut`",
            ),
            (
                quote!(
                    pub const X: u32 = 0;
                ),
                "applied to a static",
            ),
        ] {
            let text = expand_constant(quote!(), item).to_string();
            assert!(text.contains("compile_error"), "no error in: {text}");
            assert!(text.contains(message), "`{message}` is not in: {text}");
        }
    }

    #[test]
    fn private_statics_have_handles_in_single_source() {
        let item = quote!(
            static X: u32 = 0;
        );
        let text = expand(quote!(global), item.clone()).to_string();
        let (both, single_source) = text.split_once("single_source !").unwrap();
        assert!(!both.contains("enum") && !both.contains("RECORD"), "{text}");
        assert!(single_source.contains("enum X"), "{text}");
        assert!(single_source.contains("column !"), "{text}");
        let text = expand_constant(quote!(), item).to_string();
        assert!(
            text.starts_with(":: cuda_std :: two_crates ! { :: core :: compile_error"),
            "{text}"
        );
        assert!(text.contains("make it `pub`"), "{text}");
        assert!(text.contains("GlobalMut for X"), "{text}");
    }

    #[test]
    fn public_statics_have_handles() {
        let text = expand(
            quote!(constant),
            quote!(
                pub static mut X: [f32; 4] = [0.0; 4];
            ),
        );
        let text = text.to_string();
        assert!(text.contains("pub enum X"), "{text}");
        assert!(text.contains("type Value = [f32 ; 4]"), "{text}");
        assert!(text.contains("GlobalMut for X"), "{text}");
        assert!(text.contains("symbol_text ! (\"X\""), "{text}");
        let text = expand(
            quote!(global),
            quote!(
                pub(crate) static X: u32 = 0;
            ),
        )
        .to_string();
        assert!(text.contains("pub (crate) enum X"), "{text}");
        assert!(!text.contains("GlobalMut"), "{text}");
        let item = quote!(
            pub static mut X: u32 = 0;
        );
        let text = expand(quote!(shared), item).to_string();
        assert!(!text.contains("enum"), "{text}");
        assert!(!text.contains("export_name"), "{text}");
        assert!(!text.contains("RECORD"), "{text}");
    }

    #[test]
    fn names_of_their_own_are_kept() {
        for (attribute, symbol) in [
            (
                quote!(#[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]),
                "X",
            ),
            (quote!(#[unsafe(no_mangle)]), "X"),
            (quote!(#[unsafe(export_name = "other")]), "other"),
        ] {
            let item = quote!(#attribute pub static mut X: u32 = 0;);
            let text = expand(quote!(global), item).to_string();
            assert!(
                text.contains(&format!(
                    "SYMBOL : & 'static :: core :: primitive :: str = \"{symbol}\""
                )),
                "{text}"
            );
            assert!(!text.contains("symbol_text"), "{text}");
        }
        let item = quote!(
            pub static mut X: u32 = 0;
        );
        let text = expand(quote!(global, unsafe(name = "Y")), item.clone()).to_string();
        assert!(text.contains("export_name = \"Y\""), "{text}");
        assert!(
            text.contains("SYMBOL : & 'static :: core :: primitive :: str = \"Y\""),
            "{text}"
        );
        let private = quote!(
            static X: u32 = 0;
        );
        let text = expand(quote!(global, unsafe(name = "Y")), private).to_string();
        let (both, _) = text.split_once("single_source !").unwrap();
        assert!(both.contains("export_name = \"Y\""), "{text}");
        assert!(!both.contains("enum"), "{text}");
        error(
            quote!(global, nam = "Y"),
            item.clone(),
            "the only option is",
        );
        error(quote!(global, name = "Y"), item.clone(), "is unsafe");
        error(
            quote!(shared, unsafe(name = "Y")),
            item,
            "each block has its own shared memory",
        );
    }

    #[test]
    fn mistakes_are_explained() {
        let x = quote!(
            static mut X: u32 = 0;
        );
        error(quote!(), x.clone(), "expected an address space");
        error(quote!(local), x.clone(), "unknown address space `local`");
        error(quote!(shared, global), x, "the only option is");
        error(
            quote!(shared),
            quote!(
                fn f() {}
            ),
            "applied to a static",
        );
        error(
            quote!(shared),
            quote!(
                static X: u32 = 0;
            ),
            "must be `static mut`",
        );
    }
}
