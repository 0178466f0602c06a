//! `foreign!`: functions that the device gets from elsewhere (libdevice, the driver, the device
//! runtime), and panicking versions for the host.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, FnArg, ForeignItemFn, LitStr, Result};

/// Returns the expansion, or the first error.
pub fn expand(input: TokenStream) -> TokenStream {
    let functions = |input: ParseStream<'_>| {
        let mut functions = Vec::new();
        while !input.is_empty() {
            functions.push(ForeignItemFn::parse(input)?);
        }
        Ok(functions)
    };
    let functions = match functions.parse2(input) {
        Ok(functions) => functions,
        Err(error) => return error.into_compile_error(),
    };
    let each = functions.into_iter();
    each.map(|function| one(function).unwrap_or_else(syn::Error::into_compile_error))
        .collect()
}

fn one(mut function: ForeignItemFn) -> Result<TokenStream> {
    let link_name = |attribute: &Attribute| attribute.path().is_ident("link_name");
    let named = function.attrs.iter().find(|attribute| link_name(attribute));
    let symbol = match named {
        Some(attribute) => {
            let value = &attribute.meta.require_name_value()?.value;
            syn::parse2::<LitStr>(quote!(#value))?.value()
        }
        None => function.sig.ident.to_string(),
    };
    let ForeignItemFn {
        attrs, vis, sig, ..
    } = &function;
    // Safe functions are declared `safe` in an `extern` block.
    let safe = sig.unsafety.is_none().then(|| quote!(safe));
    let device = quote! {
        #[cfg(target_arch = "nvptx64")]
        unsafe extern "C" {
            #(#attrs)*
            #vis #safe #sig;
        }
    };
    function.attrs.retain(|attribute| !link_name(attribute));
    for input in &mut function.sig.inputs {
        if let FnArg::Typed(input) = input {
            *input.pat = syn::parse_quote!(_);
        }
    }
    let ForeignItemFn {
        attrs, vis, sig, ..
    } = &function;
    let name = &sig.ident;
    Ok(quote! {
        #device
        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[inline(never)]
        #[cfg_attr(nvvm_single_source, nvvm::foreign(#symbol))]
        // `track_caller` would add a parameter to the device's function.
        #[cfg_attr(not(nvvm_single_source), track_caller)]
        #vis #sig {
            ::cuda_std::session::only_on_device(::core::stringify!(#name))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::expand;
    use quote::quote;

    #[test]
    fn both_sides_have_the_function() {
        let text = expand(quote! {
            /// Gives back.
            #[link_name = "cudaFree"]
            pub unsafe fn free(pointer: *mut u8) -> i32;
            fn sine(x: f32) -> f32;
        });
        let text = text.to_string();
        for part in [
            "pub unsafe fn free (pointer : * mut u8) -> i32 ;",
            "nvvm :: foreign (\"cudaFree\")",
            "pub unsafe fn free (_ : * mut u8) -> i32 {",
            "safe fn sine (x : f32) -> f32 ;",
            "nvvm :: foreign (\"sine\")",
        ] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }
}
