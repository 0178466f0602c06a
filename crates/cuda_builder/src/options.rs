//! The builder's options. What they do to the build stands in `flags` and `device_build`.

use crate::{Arch, Error, Output, UnknownArch};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is made for each architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Emit {
    /// PTX, which the driver compiles when it loads it. It runs on its architecture and on
    /// every later one.
    #[default]
    Ptx,
    /// PTX, and the cubin that `ptxas` makes of it: nothing is compiled when it is loaded. A
    /// cubin runs only on GPUs of its architecture's major version.
    Cubin,
    /// PTX and cubins for all architectures, and one file that holds all of them. It runs
    /// everywhere, without compiling on the GPUs that it has a cubin for.
    Fatbin,
}

/// The profile of the GPU crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Cargo's `dev`: overflow checks, debug assertions, little optimisation.
    Debug,
    /// Cargo's `release`.
    Release,
}

/// `-C opt-level` of the GPU crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OptLevel {
    /// No optimisation.
    O0,
    /// Some.
    O1,
    /// Most.
    O2,
    /// All.
    O3,
}

/// `-C debuginfo` of the GPU crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DebugInfo {
    /// None.
    None,
    /// Line tables, which profilers and sanitizers use.
    LineTables,
    /// Everything a debugger wants.
    Full,
}

/// An architecture, or the name of one: `sm_90`, `compute_90`.
pub trait IntoArch {
    /// The architecture that is meant.
    fn into_arch(self) -> Result<Arch, UnknownArch>;
}

impl IntoArch for Arch {
    fn into_arch(self) -> Result<Arch, UnknownArch> {
        Ok(self)
    }
}

impl IntoArch for &str {
    fn into_arch(self) -> Result<Arch, UnknownArch> {
        self.parse()
    }
}

impl IntoArch for String {
    fn into_arch(self) -> Result<Arch, UnknownArch> {
        self.parse()
    }
}

/// Builds one GPU crate. See the crate's documentation for an example.
#[derive(Debug, Clone)]
pub struct CudaBuilder {
    pub(crate) krate: PathBuf,
    pub(crate) archs: Vec<Result<Arch, UnknownArch>>,
    pub(crate) emit: Emit,
    pub(crate) profile: Option<Profile>,
    pub(crate) opt_level: Option<OptLevel>,
    pub(crate) debug_info: Option<DebugInfo>,
    pub(crate) fma: bool,
    pub(crate) ftz: bool,
    pub(crate) recursion_depth: Option<u32>,
    pub(crate) dump: Option<PathBuf>,
    pub(crate) copy_to: Option<PathBuf>,
    pub(crate) embed: Option<String>,
    pub(crate) target_dir: Option<PathBuf>,
    pub(crate) features: Vec<String>,
    pub(crate) default_features: bool,
    pub(crate) cargo_args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl CudaBuilder {
    /// A build of the GPU crate in the folder `krate`, which holds its `Cargo.toml`. A relative
    /// path is relative to the package whose build script this is. The crate may be a plain
    /// `lib`: no `crate-type` is needed.
    pub fn new(krate: impl AsRef<Path>) -> CudaBuilder {
        CudaBuilder {
            krate: krate.as_ref().to_path_buf(),
            archs: Vec::new(),
            emit: Emit::default(),
            profile: None,
            opt_level: None,
            debug_info: None,
            fma: true,
            ftz: false,
            recursion_depth: None,
            dump: None,
            copy_to: None,
            embed: None,
            target_dir: None,
            features: Vec::new(),
            default_features: true,
            cargo_args: Vec::new(),
            env: Vec::new(),
        }
    }

    /// Adds an architecture to build for, such as `"sm_90"` or [`Arch::SM_90`]. Without one it
    /// is [`CudaBuilder::DEFAULT_ARCH`].
    #[must_use]
    pub fn arch(mut self, arch: impl IntoArch) -> Self {
        self.archs.push(arch.into_arch());
        self
    }

    /// Adds several architectures, each of which is built for on its own.
    #[must_use]
    pub fn archs<A: IntoArch>(mut self, archs: impl IntoIterator<Item = A>) -> Self {
        self.archs
            .extend(archs.into_iter().map(IntoArch::into_arch));
        self
    }

    /// The oldest architecture that every supported libnvvm compiles for: its PTX runs on all
    /// GPUs that CUDA 13 knows.
    pub const DEFAULT_ARCH: Arch = Arch::SM_75;

    /// Says what to make for each architecture.
    #[must_use]
    pub fn emit(mut self, emit: Emit) -> Self {
        self.emit = emit;
        self
    }

    /// Copies the result to a file. Where there are several results, the architecture is put
    /// before the extension (`kernels.sm_90.ptx`); a cubin gets `.cubin` for its extension, and a
    /// fat binary `.fatbin`. A file that has the right content already is left as it is.
    #[must_use]
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_path_buf());
        self
    }

    /// Leaves all that the build makes in the build script's `OUT_DIR`, for the program to embed:
    /// `cust::include_module!("NAME")` is a module that loads what fits the device, and whose
    /// kernels are launched with checked arguments.
    ///
    /// ```no_run
    /// // build.rs
    /// fn main() -> Result<(), cuda_builder::Error> {
    ///     cuda_builder::CudaBuilder::new("kernels").embed("kernels").build()?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// The features of the GPU crate have to be those with which the program depends on it.
    #[must_use]
    pub fn embed(mut self, name: impl Into<String>) -> Self {
        self.embed = Some(name.into());
        self
    }

    /// Builds in the `dev` profile, or not. By default the profile is that of the build script's
    /// own build, and `release` outside of a build script.
    #[must_use]
    pub fn debug(mut self, debug: bool) -> Self {
        self.profile = Some(if debug {
            Profile::Debug
        } else {
            Profile::Release
        });
        self
    }

    /// Overrides the profile's `opt-level`.
    #[must_use]
    pub fn opt_level(mut self, level: OptLevel) -> Self {
        self.opt_level = Some(level);
        self
    }

    /// Overrides the profile's `debug`.
    #[must_use]
    pub fn debug_info(mut self, debug_info: DebugInfo) -> Self {
        self.debug_info = Some(debug_info);
        self
    }

    /// Whether a multiplication and an addition may become one fused multiply-add (they may by
    /// default). Without, floating-point results equal the CPU's.
    #[must_use]
    pub fn fma_contraction(mut self, on: bool) -> Self {
        self.fma = on;
        self
    }

    /// Whether subnormal `f32` are flushed to zero (they are not by default).
    #[must_use]
    pub fn ftz(mut self, on: bool) -> Self {
        self.ftz = on;
        self
    }

    /// How many calls of recursive functions may be nested in kernels. By default 64, but with at
    /// most 32 KiB of stack for them; `#[kernel(stack_size = BYTES)]` sets the stack of one kernel.
    ///
    /// Each thread that the device can hold gets this stack, used or not: 16 KiB are 4.4 GB on an
    /// H100. A kernel without recursion gets what it needs, whatever this says.
    #[must_use]
    pub fn recursion_depth(mut self, calls: u32) -> Self {
        self.recursion_depth = Some(calls);
        self
    }

    /// Writes every stage of the backend's work into a folder.
    #[must_use]
    pub fn dump(mut self, folder: impl AsRef<Path>) -> Self {
        self.dump = Some(folder.as_ref().to_path_buf());
        self
    }

    /// Enables features of the GPU crate.
    #[must_use]
    pub fn features<S: Into<String>>(mut self, features: impl IntoIterator<Item = S>) -> Self {
        self.features.extend(features.into_iter().map(Into::into));
        self
    }

    /// Disables the GPU crate's default features.
    #[must_use]
    pub fn no_default_features(mut self) -> Self {
        self.default_features = false;
        self
    }

    /// Appends an argument to the inner `cargo rustc`.
    #[must_use]
    pub fn cargo_arg(mut self, arg: impl Into<OsString>) -> Self {
        self.cargo_args.push(arg.into());
        self
    }

    /// Sets an environment variable for the inner build.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The folder for build artefacts. By default they are in the build script's own target
    /// folder; outside of a build script, in that of the GPU crate.
    #[must_use]
    pub fn target_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.target_dir = Some(folder.as_ref().to_path_buf());
        self
    }

    /// Builds the crate.
    ///
    /// The compiler's diagnostics and cargo's progress go to standard error as they come; an
    /// error's text says what happened and what to do, and does not repeat them.
    pub fn build(&self) -> Result<Output, Error> {
        crate::device_build::build(self)
    }
}
