//! `intrinsics!`: the table of the device's instructions.
//!
//! `each` repeats rows over lists, `row` parses them, `template` turns PTX with named operands into
//! an `asm!` template, and `expand` makes of each row the device function, its host version, and
//! the entry of `ROWS` from which the documentation and the tests are generated.

mod each;
mod expand;
mod row;
mod template;

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};

/// The expansion, or the first mistake.
pub fn expand(input: TokenStream) -> TokenStream {
    match rows(input) {
        Ok(rows) => expand::expand(&rows),
        Err(error) => error.into_compile_error(),
    }
}

/// Items with their repetitions written out.
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
