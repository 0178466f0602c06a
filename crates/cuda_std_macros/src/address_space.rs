//! `#[address_space(shared)]`: checks the static, and marks it for the backend.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Error, Ident, ItemStatic, StaticMutability};

/// The expansion, or the item unchanged with the error before it.
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
    let choose = "choose an address space: `shared`, `constant` or `global`";
    if attribute.is_empty() {
        return Err(Error::new(Span::call_site(), choose));
    }
    let space: Ident =
        syn::parse2(attribute.clone()).map_err(|_| Error::new_spanned(&attribute, choose))?;
    let section = match space.to_string().as_str() {
        "shared" => "nvvm.shared",
        "constant" => "nvvm.constant",
        "global" => "nvvm.global",
        other => {
            let message = format!("there is no address space `{other}` for statics; {choose}");
            return Err(Error::new_spanned(&space, message));
        }
    };
    let item: ItemStatic = syn::parse2(item.clone()).map_err(|_| {
        let item = item
            .into_iter()
            .next()
            .map_or(TokenStream::new(), |first| first.into());
        Error::new_spanned(item, "`#[address_space]` goes on a static")
    })?;
    if space == "shared" && !matches!(item.mutability, StaticMutability::Mut(_)) {
        return Err(Error::new_spanned(
            item.static_token,
            "shared memory must be `static mut`: its initialiser has no effect, so that a static \
             which is never written would hold nothing",
        ));
    }
    Ok(quote! {
        #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = #section))]
        #item
    }
    .into_token_stream())
}

#[cfg(test)]
mod tests {
    use super::expand;
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
            assert!(!text.contains("compile_error"), "{text}");
        }
    }

    #[test]
    fn mistakes_are_explained() {
        let x = quote!(
            static mut X: u32 = 0;
        );
        error(quote!(), x.clone(), "choose an address space");
        error(quote!(local), x.clone(), "no address space `local`");
        error(quote!(shared, global), x, "choose an address space");
        error(
            quote!(shared),
            quote!(
                fn f() {}
            ),
            "goes on a static",
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
