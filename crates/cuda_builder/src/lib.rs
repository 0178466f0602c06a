//! Builds a GPU crate from a `build.rs`, on stable Rust.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), cuda_builder::Error> {
//!     cuda_builder::CudaBuilder::new("kernels").embed("kernels").build()?;
//!     Ok(())
//! }
//! ```
//! and in the program `static KERNELS: Embedded = cust::include_module!("kernels");`.
//!
//! [`CudaBuilder::build`] runs these steps, a file each: find the pinned toolchain
//! (`toolchain`), find or build the backend (`backend`), find libnvvm, run cargo on the GPU crate
//! for each architecture (`device_build`, in an environment that `environment` cleans, reading
//! cargo's messages with `messages`), make cubins (`assemble`), copy what was asked for, write what
//! the program embeds (`embed`), and tell the outer cargo which files were read (`depinfo`), so
//! that nothing is rebuilt without need.
//!
//! # Environment variables
//! - `RUSTC_CODEGEN_NVVM`: the backend's dylib. Without it the backend is built from the sources
//!   beside this crate.
//! - `CUDA_HOME`, `CUDA_PATH`: a CUDA toolkit, or the folder that pip fetched libnvvm into.
//! - `CUDA_BUILDER_CACHE`: the folder of the cache of the backend, `core` and `alloc`, which all
//!   projects of a user share. By default it is `rust-nvvm` in `XDG_CACHE_HOME` or `~/.cache`; where
//!   [`CudaBuilder::target_dir`] or `RUSTC_CODEGEN_NVVM` is set, all is in the target folder. It may
//!   be deleted at any time.
//! - `CUDA_BUILDER_PROGRESS`: a file, such as `/dev/tty`, that gets the inner cargo's progress
//!   while the build runs. Cargo itself shows a build script's output only when it fails or
//!   under `-vv`.

mod assemble;
mod backend;
mod depinfo;
mod device_build;
mod embed;
mod environment;
mod error;
mod flags;
mod messages;
mod options;
mod output;
mod toolchain;

pub use cuda_toolkit::{Arch, UnknownArch};
pub use error::Error;
pub use flags::device_rustflags;
pub use messages::{Diagnostic, Level};
pub use options::{CudaBuilder, DebugInfo, Emit, IntoArch, OptLevel, Profile};
pub use output::{Artifact, Output};
pub use toolchain::TOOLCHAIN;
