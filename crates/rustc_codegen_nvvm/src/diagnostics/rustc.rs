//! Adds GPU-specific notes to rustc's own errors, for example that no `std` can be installed.
//!
//! rustc emits every diagnostic through one function, which its query system sets. This module
//! wraps that function.

use std::borrow::Cow;
use std::sync::OnceLock;

use rustc_errors::codes::E0463;
use rustc_errors::{
    DiagArgValue, DiagInner, DiagMessage, ErrorGuaranteed, MultiSpan, Style, Subdiag, Sublevel,
    TRACK_DIAGNOSTIC,
};

type Emit<'a> = &'a mut dyn FnMut(DiagInner) -> Option<ErrorGuaranteed>;
type Track = fn(DiagInner, Emit<'_>) -> Option<ErrorGuaranteed>;

/// The function that was installed before.
static PREVIOUS: OnceLock<Track> = OnceLock::new();

/// Installs [`track`] in front of rustc's function, once per process.
pub(crate) fn install() {
    PREVIOUS.get_or_init(|| *TRACK_DIAGNOSTIC.swap(&(track as Track)));
}

fn track(mut diag: DiagInner, emit: Emit<'_>) -> Option<ErrorGuaranteed> {
    explain(&mut diag);
    match PREVIOUS.get() {
        Some(previous) => previous(diag, emit),
        None => emit(diag),
    }
}

fn explain(diag: &mut DiagInner) {
    if diag.code == Some(E0463) {
        let of_std =
            |value: &DiagArgValue| matches!(value, DiagArgValue::Str(name) if name == "std");
        if diag.args.get("crate_name").is_some_and(of_std) {
            explain_std(diag);
        }
        return;
    }
    let Some((DiagMessage::Str(text) | DiagMessage::Inline(text), _)) = diag.messages.first()
    else {
        return;
    };
    if text.starts_with("`#[panic_handler]` function required") {
        add(
            diag,
            Sublevel::Help,
            "`cuda_std` has one, which reports a panic to the host: depend on it, \
            with its feature `panic-handler`, and `use cuda_std::prelude::*;`",
        );
    } else if text.starts_with("dropping unsupported crate type") {
        add(
            diag,
            Sublevel::Help,
            "a GPU program is a `cdylib`: one PTX file with everything that its kernels reach",
        );
    } else if text.starts_with("no global memory allocator found") {
        add(
            diag,
            Sublevel::Help,
            "`cuda_std` has one, which uses the device's heap: depend on it, with \
            its feature `allocator`, and `use cuda_std::prelude::*;`",
        );
    }
}

/// rustc assumes that the target is not installed, but `std` does not exist for it.
fn explain_std(diag: &mut DiagInner) {
    diag.children.clear();
    add(
        diag,
        Sublevel::Note,
        "there is no `std` on a GPU, only `core` and `alloc`",
    );
    if diag.span.primary_span().is_none_or(|span| span.is_dummy()) {
        add(diag, Sublevel::Help, without_std());
    } else {
        add(
            diag,
            Sublevel::Help,
            "items of `core` and `alloc` are available: `core::mem`, and after `extern \
            crate alloc;` also `alloc::vec::Vec`",
        );
    }
}

/// Returns the advice for a crate that links `std` on its own. Cargo's environment tells whether it
/// is the user's own crate.
fn without_std() -> Cow<'static, str> {
    let set = |name| std::env::var(name).ok();
    match (set("CARGO_CRATE_NAME"), set("CARGO_PKG_NAME")) {
        (Some(_), Some(package)) if set("CARGO_PRIMARY_PACKAGE").is_none() => format!(
            "the package `{package}` may have a feature `std`, which `default-features = false` \
            often disables; `cargo tree -e features,no-dev -i {package}` shows what enables it"
        )
        .into(),
        _ => "add `#![no_std]` to the crate root; dependencies often have a feature `std`, which \
            `default-features = false` disables"
            .into(),
    }
}

fn add(diag: &mut DiagInner, level: Sublevel, text: impl Into<Cow<'static, str>>) {
    diag.children.push(Subdiag {
        level,
        messages: vec![(DiagMessage::Str(text.into()), Style::NoStyle)],
        span: MultiSpan::new(),
    });
}
