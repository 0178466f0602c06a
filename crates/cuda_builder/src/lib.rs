//! Builds a GPU crate from a `build.rs`, on stable Rust.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), cuda_builder::Error> {
//!     cuda_builder::CudaBuilder::new("kernels").embed("kernels").build()?;
//!     Ok(())
//! }
//! ```
//! The host program loads the result with
//! `static KERNELS: Embedded = cust::include_module!("kernels");`.
//!
//! [`CudaBuilder::build`] runs these steps, each in a module of its own: locate the pinned
//! toolchain (`toolchain`), locate or build the backend (`backend`), locate libnvvm, run cargo on
//! the GPU crate for each architecture (`device_build`, in an environment that `environment`
//! cleans, reading cargo's messages with `messages`), assemble cubins (`assemble`), copy the
//! requested files, write what the program embeds (`embed`), and report the files that were read to
//! the outer cargo (`depinfo`), so that nothing is rebuilt unnecessarily.
//!
//! # Environment variables
//! - `RUSTC_CODEGEN_NVVM`: the backend's dylib.
//! - `RUST_NVVM_DIST`: the directory of a distribution, which has the pinned compiler and the
//!   backend. The default is `rust-nvvm/VERSION` in `XDG_DATA_HOME` or `~/.local/share`, if it
//!   exists. Without these two, the backend is built from the sources next to this crate (in a
//!   clone of the repository or a git dependency) or from the published package
//!   `rustc_codegen_nvvm` of the same version.
//! - `CUDA_HOME`, `CUDA_PATH`: a CUDA toolkit, or the directory into which pip fetched libnvvm.
//! - `CUDA_BUILDER_CACHE`: the directory of the cache of the backend, `core` and `alloc`, which all
//!   projects of a user share. The default is `rust-nvvm` in `XDG_CACHE_HOME` or `~/.cache`; if
//!   [`CudaBuilder::target_dir`] or `RUSTC_CODEGEN_NVVM` is set, all output is in the target
//!   directory. The cache may be deleted at any time.
//! - `CUDA_BUILDER_DUMP`: a directory that receives the output of every stage of the backend, as by
//!   [`CudaBuilder::dump`], and the MIR, in a directory for each architecture.
//! - `CUDA_BUILDER_PROGRESS`: a file, such as `/dev/tty`, that receives the inner cargo's progress
//!   during the build. Cargo itself shows a build script's output only on failure or with `-vv`.

mod backend;
mod depinfo;
mod device_build;
mod distribution;
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

/// Internals for `cargo cuda` and `./x`; not a stable interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::backend::{Backend, find as find_backend, prebuilt as prebuilt_backend};
    pub use crate::device_build::DUMP_VARIABLE;
    pub use crate::distribution::{
        FILE as DISTRIBUTION_FILE, backend_in, description as distribution,
    };
    pub use crate::environment::clean;
    pub use crate::messages::Progress;
    pub use crate::toolchain::Toolchain;
}
