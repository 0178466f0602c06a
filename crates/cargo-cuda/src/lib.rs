//! `cargo cuda`: builds and runs crates with kernels beside host code.
//!
//! The program `cargo-cuda` is a cargo subcommand ([`command`]) and, if cargo calls it as
//! `RUSTC_WRAPPER`, a wrapper of rustc ([`wrapper`]). The program `cuda-rustdoc` is the same for
//! rustdoc. The wrapper adds the flags of single-source crates ([`flags`]) to every compilation for
//! the host: the codegen backend ([`backend`]) and a standard library with the MIR of all functions
//! ([`sysroot`]). Both are built once per user and stored in the user's cache.
//!
//! Other commands read device code: [`images`] finds it in programs, [`device_code`] describes it,
//! and [`artifacts`] builds the programs.

#![doc(hidden)]

pub mod arguments;
pub mod artifacts;
pub mod backend;
pub mod cache;
pub mod command;
pub mod completions;
pub mod consent;
pub mod dependencies;
pub mod device_code;
pub mod doctor;
pub mod flags;
pub mod images;
pub mod inspect;
pub mod list;
pub mod occupancy;
pub mod options;
pub mod project;
pub mod ptxas;
pub mod report;
pub mod run;
pub mod source;
pub mod sysroot;
pub mod tools;
pub mod wrapper;
