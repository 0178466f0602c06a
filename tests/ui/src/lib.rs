//! Tests of the compiler's diagnostics, in the manner of rustc's own UI tests.
//!
//! Each file of `cases/` is a device crate with something wrong in it, and says on the offending
//! lines what the compiler has to say there. `case` reads a file, `toolchain` compiles `core`,
//! `alloc` and `cuda_std` once and then each case with them, and `judge` compares. What rustc
//! prints as a whole is kept beside the case, as `NAME.stderr`.
//!
//! ```text
//! ./x test ui-tests             all cases
//! ./x test ui-tests foreign     those whose name contains `foreign`
//! BLESS=1 ./x test ui-tests     write the snapshots anew
//! ```
//!
//! # In a case
//! - `//~ ERROR text`: a message of that kind (`ERROR`, `WARNING`, `NOTE`, `HELP`) about this
//!   line contains the text. `//~^` means the line above, `//~^^` the one before it, `//~v` the
//!   line below, `//~|` the line of the annotation before, and `//~?` no line of the case.
//!   Every error and every warning has to be annotated; notes and helps may be.
//! - `//@ compile-flags: FLAGS`: further arguments for rustc. The first `-Ctarget-cpu` replaces
//!   the one that all other crates are compiled with.
//! - `//@ aux-build: FILE`: compile `cases/auxiliary/FILE` first, as a library of its name. It may
//!   have `compile-flags` too.
//! - `//@ toolkit: KIND`: what of NVIDIA's there is; see [`case::Toolkit`].
//! - `//@ check-pass`: it compiles, without an error.
//! - `//@ no-snapshot`: part of the text comes from a library, and changes with its version.

pub mod case;
pub mod judge;
pub mod toolchain;
