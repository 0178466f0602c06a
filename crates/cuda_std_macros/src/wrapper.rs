//! Detects that the kernels of a program in single source are compiled without `cargo-cuda`, which
//! cargo should call as a wrapper of rustc. The program would have no device code, and its launches
//! would fail at run time.
//!
//! The usual reason is the environment variable `RUSTC_WRAPPER`, which takes precedence over
//! `.cargo/config.toml`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use std::sync::atomic::{AtomicBool, Ordering};

/// `.cargo/config.toml` sets this variable.
const PREPARED: &str = "CARGO_CUDA_PREPARED";

/// The wrapper sets this variable.
const WRAPPED: &str = "CARGO_CUDA_WRAPPED";

/// Returns an error for the first kernel of a crate if the wrapper is missing.
pub fn check() -> TokenStream {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let is_set = |name| std::env::var_os(name).is_some();
    if !is_set(PREPARED) || is_set(WRAPPED) || REPORTED.swap(true, Ordering::Relaxed) {
        return TokenStream::new();
    }
    error(std::env::var("RUSTC_WRAPPER").ok().as_deref())
}

/// Returns the error. A `cfg` excludes rust-analyzer, which calls macros without the wrapper, and
/// kernels crates that `cuda_builder` compiles.
fn error(other: Option<&str>) -> TokenStream {
    let reason = match other.filter(|other| !other.is_empty()) {
        Some(other) => format!(
            "`RUSTC_WRAPPER` is `{other}`, which replaces the wrapper `cargo-cuda` of \
             `.cargo/config.toml`\n\
             help: set `CARGO_CUDA_RUSTC_WRAPPER` instead, or build with `cargo cuda`"
        ),
        None => "cargo does not call the wrapper `cargo-cuda` of `.cargo/config.toml`\n\
                 help: unset `RUSTC_WRAPPER`, or build with `cargo cuda`"
            .to_owned(),
    };
    let message = format!("the kernels would have no device code: {reason}");
    let error = syn::Error::new(Span::call_site(), message).into_compile_error();
    quote! {
        #[cfg(not(any(nvvm_single_source, target_arch = "nvptx64")))]
        #error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_other_wrapper() {
        let text = error(Some("/usr/bin/sccache")).to_string();
        assert!(
            text.contains("`RUSTC_WRAPPER` is `/usr/bin/sccache`"),
            "{text}"
        );
        for other in [None, Some("")] {
            let text = error(other).to_string();
            assert!(text.contains("help: unset `RUSTC_WRAPPER`"), "{text}");
        }
    }
}
