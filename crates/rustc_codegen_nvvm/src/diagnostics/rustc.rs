//! Adds GPU-specific notes to rustc's own errors, for example that no `std` can be installed.
//!
//! rustc emits every diagnostic through one function, which its query system sets. This module
//! wraps that function.

use std::borrow::Cow;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustc_errors::codes::E0463;
use rustc_errors::{
    DiagArgValue, DiagInner, DiagMessage, ErrorGuaranteed, MultiSpan, Style, Subdiag, Sublevel,
    TRACK_DIAGNOSTIC,
};
use rustc_span::Span;
use rustc_span::hygiene::{ExpnKind, MacroKind};

type Emit<'a> = &'a mut dyn FnMut(DiagInner) -> Option<ErrorGuaranteed>;
type Track = fn(DiagInner, Emit<'_>) -> Option<ErrorGuaranteed>;

/// The function that was installed before.
static PREVIOUS: OnceLock<Track> = OnceLock::new();

/// Installs [`track`] in front of rustc's function, once per process.
pub(crate) fn install() {
    install_function(&(track as Track));
}

/// Installs [`track_host`] in front of rustc's function, for a single-source session.
pub(crate) fn install_for_host() {
    install_function(&(track_host as Track));
}

fn install_function(function: &'static Track) {
    PREVIOUS.get_or_init(|| *TRACK_DIAGNOSTIC.swap(function));
}

fn track(mut diag: DiagInner, emit: Emit<'_>) -> Option<ErrorGuaranteed> {
    explain(&mut diag);
    pass_on(diag, emit)
}

/// Replaces rustc's errors about a kernel in an `impl`, which are about items that the user did not
/// write, by a single one.
fn track_host(mut diag: DiagInner, emit: Emit<'_>) -> Option<ErrorGuaranteed> {
    /// The attributes of the kernels that have been reported.
    static REPORTED: Mutex<Vec<(Span, ErrorGuaranteed)>> = Mutex::new(Vec::new());

    let Some(attribute) = kernel_in_impl(&diag) else {
        return pass_on(diag, emit);
    };
    let all = || REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    let before =
        (all().iter()).find_map(|&(other, reported)| (other == attribute).then_some(reported));
    if before.is_some() {
        return before;
    }
    explain_associated(&mut diag);
    let reported = pass_on(diag, emit);
    all().extend(reported.map(|reported| (attribute, reported)));
    reported
}

fn pass_on(diag: DiagInner, emit: Emit<'_>) -> Option<ErrorGuaranteed> {
    match PREVIOUS.get() {
        Some(previous) => previous(diag, emit),
        None => emit(diag),
    }
}

/// Returns the span of the attribute `#[kernel]` of an associated function, if rustc rejects an item
/// that the attribute adds to the `impl`.
fn kernel_in_impl(diag: &DiagInner) -> Option<Span> {
    let (DiagMessage::Str(text) | DiagMessage::Inline(text), _) = diag.messages.first()?;
    // The templates of the messages, without the kind of the item.
    let is_rejected = text.contains(" is not supported in ")
        || text.contains(" items in this context need a name");
    let span = diag.span.primary_span().filter(|_| is_rejected)?;
    let mut expansions = span.macro_backtrace();
    let attribute = expansions.find(|expansion| match expansion.kind {
        ExpnKind::Macro(MacroKind::Attr, name) => {
            let name = name.as_str();
            name == "kernel" || name.ends_with("::kernel")
        }
        _ => false,
    })?;
    Some(attribute.call_site)
}

/// The items that `#[kernel]` adds are not allowed in an `impl`, and the attribute cannot tell that it
/// is in one.
fn explain_associated(diag: &mut DiagInner) {
    let message = "a kernel in an `impl` or a trait needs `#[kernel(associated)]`";
    diag.messages = vec![(DiagMessage::Str(message.into()), Style::NoStyle)];
    diag.children.clear();
    add(
        diag,
        Sublevel::Help,
        "with `#[kernel(associated)]` on a function `f`, `f_args` takes the arguments of a launch; \
         without it, a kernel is a free function: move it out of the block",
    );
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
