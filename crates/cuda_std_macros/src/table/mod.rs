//! `intrinsics!`: the table of the device's instructions.
//!
//! `each` repeats rows over lists, `row` parses them, `template` converts PTX with named operands
//! to an `asm!` template, and `expand` generates from each row the device function, its host
//! version, and the entry of `ROWS` from which the documentation and the tests are generated.

mod each;
mod expand;
mod row;
mod template;

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};

/// Returns the expansion, or the first error.
pub fn expand(input: TokenStream) -> TokenStream {
    match rows(input) {
        Ok(rows) => expand::expand(&rows),
        Err(error) => error.into_compile_error(),
    }
}

/// Expands the repetitions in items.
pub fn repeat(input: TokenStream) -> TokenStream {
    each::unfold(input).unwrap_or_else(syn::Error::into_compile_error)
}

fn rows(input: TokenStream) -> syn::Result<Vec<row::Row>> {
    let input = each::unfold(input)?;
    let parser = |input: ParseStream<'_>| {
        let mut rows = Vec::new();
        while !input.is_empty() {
            rows.push(input.parse()?);
        }
        Ok(rows)
    };
    parser.parse2(input)
}

#[cfg(test)]
mod tests;
