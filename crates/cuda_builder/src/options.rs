//! The builder's options. `flags` and `device_build` implement them.

use crate::{Arch, Error, Output, UnknownArch};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The output for each architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Emit {
    /// PTX, which the driver compiles at load time. It runs on its architecture and on every later
    /// one.
    #[default]
    Ptx,
    /// PTX, and the cubin that `ptxas` assembles from it, which needs no compilation at load time. A
    /// cubin runs only on GPUs of its architecture's major version.
    Cubin,
    /// PTX and cubins for all architectures, and one fat binary that contains all of them. It runs
    /// on every GPU, without compilation on those for which it has a cubin.
    Fatbin,
}

/// The profile of the GPU crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Cargo's `dev`: overflow checks and debug assertions. Kernels are optimized nevertheless,
    /// unless [`CudaBuilder::opt_level`] is set.
    Debug,
    /// Cargo's `release`.
    Release,
}

/// `-C opt-level` of the GPU crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OptLevel {
    /// No optimization.
    O0,
    /// Basic optimizations.
    O1,
    /// Most optimizations.
    O2,
    /// All optimizations.
    O3,
}

/// `-C debuginfo` of the GPU crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DebugInfo {
    /// No debug information.
    None,
    /// Line tables, which profilers and sanitizers use.
    LineTables,
    /// Full debug information, for debuggers.
    Full,
}

/// An architecture, or its name: `sm_90`, `compute_90`.
pub trait IntoArch {
    /// Converts to an architecture.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is not that of a known architecture.
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

/// Builder of one GPU crate. See the [crate documentation](crate) for an example.
#[derive(Debug, Clone)]
pub struct CudaBuilder {
    pub(crate) krate: PathBuf,
    pub(crate) archs: Vec<Result<Arch, UnknownArch>>,
    pub(crate) emit: Emit,
    pub(crate) profile: Option<Profile>,
    pub(crate) opt_level: Option<OptLevel>,
    pub(crate) debug_info: Option<DebugInfo>,
    pub(crate) backend_options: Vec<(String, OsString)>,
    pub(crate) copy_to: Option<PathBuf>,
    pub(crate) embed: Option<String>,
    pub(crate) target_dir: Option<PathBuf>,
    pub(crate) features: Vec<String>,
    pub(crate) default_features: bool,
    pub(crate) cargo_args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl CudaBuilder {
    /// Creates a builder of the GPU crate in the directory `krate`, which contains its `Cargo.toml`.
    /// A relative path is relative to the package of the build script. The crate may be a plain
    /// `lib`: no `crate-type` is needed.
    pub fn new(krate: impl AsRef<Path>) -> CudaBuilder {
        CudaBuilder {
            krate: krate.as_ref().to_path_buf(),
            archs: Vec::new(),
            emit: Emit::default(),
            profile: None,
            opt_level: None,
            debug_info: None,
            backend_options: Vec::new(),
            copy_to: None,
            embed: None,
            target_dir: None,
            features: Vec::new(),
            default_features: true,
            cargo_args: Vec::new(),
            env: Vec::new(),
        }
    }

    /// Adds an architecture to build for, such as `"sm_90"` or [`Arch::SM_90`]. The default is
    /// [`CudaBuilder::DEFAULT_ARCH`].
    #[must_use]
    pub fn arch(mut self, arch: impl IntoArch) -> Self {
        self.archs.push(arch.into_arch());
        self
    }

    /// Adds several architectures. The crate is built for each of them separately.
    #[must_use]
    pub fn archs<A: IntoArch>(mut self, archs: impl IntoIterator<Item = A>) -> Self {
        self.archs
            .extend(archs.into_iter().map(IntoArch::into_arch));
        self
    }

    /// The oldest architecture that every supported libnvvm compiles for. Its PTX runs on all GPUs
    /// that CUDA 13 supports.
    pub const DEFAULT_ARCH: Arch = Arch::SM_75;

    /// Sets the output for each architecture.
    #[must_use]
    pub fn emit(mut self, emit: Emit) -> Self {
        self.emit = emit;
        self
    }

    /// Copies the output to a file. With several architectures, the architecture precedes the
    /// extension (`kernels.sm_90.ptx`); the extension of a cubin is `.cubin`, that of a fat binary
    /// `.fatbin`. A file that already has the same contents is not written.
    #[must_use]
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_path_buf());
        self
    }

    /// Writes the output to the build script's `OUT_DIR`, for the program to embed:
    /// `cust::include_module!("NAME")` is a module that loads the image that fits the device, and
    /// whose kernels are launched with checked arguments.
    ///
    /// ```no_run
    /// // build.rs
    /// fn main() -> Result<(), cuda_builder::Error> {
    ///     cuda_builder::CudaBuilder::new("kernels").embed("kernels").build()?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// The features of the GPU crate must equal those with which the program depends on it.
    #[must_use]
    pub fn embed(mut self, name: impl Into<String>) -> Self {
        self.embed = Some(name.into());
        self
    }

    /// Selects the `dev` profile (`true`) or the `release` profile. The default is the profile of
    /// the program's build, and `release` outside a build script.
    #[must_use]
    pub fn debug(mut self, debug: bool) -> Self {
        self.profile = Some(if debug {
            Profile::Debug
        } else {
            Profile::Release
        });
        self
    }

    /// Sets `opt-level`. By default, kernels are optimized in both profiles; the `dev` profile keeps
    /// overflow checks and debug assertions.
    #[must_use]
    pub fn opt_level(mut self, level: OptLevel) -> Self {
        self.opt_level = Some(level);
        self
    }

    /// Sets `debug`. By default, kernels have line tables, so that errors name lines of Rust; line
    /// tables do not change the generated code.
    #[must_use]
    pub fn debug_info(mut self, debug_info: DebugInfo) -> Self {
        self.debug_info = Some(debug_info);
        self
    }

    /// Sets whether a multiplication and an addition may be contracted to a fused multiply-add (on
    /// by default). Without contraction, floating-point results equal the CPU's.
    #[must_use]
    pub fn fma_contraction(self, on: bool) -> Self {
        self.backend_option("fma", on_off(on))
    }

    /// Sets whether subnormal `f32` are flushed to zero (off by default).
    #[must_use]
    pub fn ftz(self, on: bool) -> Self {
        self.backend_option("ftz", on_off(on))
    }

    /// Sets whether `f32` division is correctly rounded (on by default) or a faster approximation.
    #[must_use]
    pub fn prec_div(self, on: bool) -> Self {
        self.backend_option("prec-div", on_off(on))
    }

    /// Sets whether the `f32` square root is correctly rounded (on by default) or a faster
    /// approximation.
    #[must_use]
    pub fn prec_sqrt(self, on: bool) -> Self {
        self.backend_option("prec-sqrt", on_off(on))
    }

    /// Leaves functions of more than `instructions` instructions unoptimized: libnvvm's compile time
    /// grows much faster than the size of a function.
    #[must_use]
    pub fn optimize_up_to(self, instructions: usize) -> Self {
        self.backend_option("optimize-up-to", instructions.to_string())
    }

    /// Leaves a function unoptimized. The compiler does the same, with a warning, to a function that
    /// takes libnvvm too long. `function` is its symbol or its path, such as
    /// `zune_jpeg::huffman::HuffmanTable::new`.
    #[must_use]
    pub fn leave_unoptimized(self, function: &str) -> Self {
        let name: String = function.split_whitespace().collect();
        self.backend_option("leave-unoptimized", name)
    }

    /// Searches this CUDA toolkit for libnvvm and libdevice first.
    #[must_use]
    pub fn cuda(self, directory: impl AsRef<Path>) -> Self {
        self.backend_option("cuda", absolute(directory.as_ref()))
    }

    /// Sets the recursion depth that the stack of kernels provides for. The default is 64, but at
    /// most 16 KiB of stack per kernel, or twice the kernel's stack without nested calls if that is
    /// more. Deeper recursion returns `Error::StackOverflow`; `#[kernel(stack_size = BYTES)]` sets
    /// the stack of one kernel.
    ///
    /// Every resident thread of the device gets this stack, used or not: 16 KiB are 4.4 GB on an
    /// H100. A kernel without recursion gets the stack that it needs, independent of this option.
    #[must_use]
    pub fn recursion_depth(self, calls: u32) -> Self {
        self.backend_option("recursion-depth", calls.to_string())
    }

    /// Sets whether the LLVM of the Rust toolchain optimizes kernels before libnvvm does (on by
    /// default). Off, libnvvm compiles them alone: arrays that loops index stay in local memory more
    /// often.
    #[must_use]
    pub fn pre_optimize(self, on: bool) -> Self {
        self.backend_option("pre-optimize", on_off(on))
    }

    /// Sets whether checks, such as bounds checks, are moved out of loops and combined (on by
    /// default). Panics, and everything before them, are the same in both cases.
    #[must_use]
    pub fn move_checks(self, on: bool) -> Self {
        self.backend_option("move-checks", on_off(on))
    }

    /// Sets whether kernels have a second entry for ordinary launches, in which lengths are below
    /// 2³⁰ and the grid has a thread per element, and a third one for launches with fewer threads (on by
    /// default). `cust` launches them where the launch permits. Off, kernels have one entry, which
    /// tests for ordinary launches itself: this is faster if another library launches them.
    #[must_use]
    pub fn ordinary_entries(self, on: bool) -> Self {
        self.backend_option(crate::flags::ORDINARY_ENTRIES, on_off(on))
    }

    /// Lets stack slots that are never live together share memory in functions whose slots take more
    /// than `bytes` bytes (16,384 by default). `None` turns sharing off.
    #[must_use]
    pub fn share_slots(self, bytes: Option<u64>) -> Self {
        self.backend_option("share-slots", bytes_or_off(bytes))
    }

    /// Warns about functions whose stack frame has more than `bytes` bytes (16,384 by default).
    /// `None` turns the warning off.
    #[must_use]
    pub fn frame_warning(self, bytes: Option<u64>) -> Self {
        self.backend_option("frame-warning", bytes_or_off(bytes))
    }

    /// Divides the kernels of large optimized modules into parts, and compiles these in parallel.
    /// On by default.
    #[must_use]
    pub fn parts(self, on: bool) -> Self {
        self.backend_option("parts", on_off(on))
    }

    /// Compiles optimized modules of more than `instructions` instructions in parallel: libnvvm
    /// splits the module after inlining. The default is 400,000. `None` turns this off.
    #[must_use]
    pub fn split_above(self, instructions: Option<usize>) -> Self {
        let limit = instructions.map_or_else(|| "off".to_owned(), |limit| limit.to_string());
        self.backend_option("split-above", limit)
    }

    /// Writes the output of every stage of the backend to a directory.
    #[must_use]
    pub fn dump(self, directory: impl AsRef<Path>) -> Self {
        self.backend_option("dump", absolute(directory.as_ref()))
    }

    /// Passes an option to the backend: `backend_option("fma", "off")` is
    /// `-Cllvm-args=--fma=off`. `-Cllvm-args=--help` lists the options. Each also has a method of the
    /// builder, except `roots`, which is for tests of the compiler. A later value overrides an
    /// earlier one. Neither name nor value may contain white space.
    #[must_use]
    pub fn backend_option(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.backend_options.push((name.into(), value.into()));
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

    /// Sets the directory for build artifacts. The default is the build script's target directory,
    /// or that of the GPU crate outside a build script.
    #[must_use]
    pub fn target_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.target_dir = Some(directory.as_ref().to_path_buf());
        self
    }

    /// Builds the crate.
    ///
    /// The compiler's diagnostics and cargo's progress are forwarded to standard error.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the toolchain, the backend or libnvvm is missing, or if the crate does
    /// not compile. Its message says what to do, and does not repeat the diagnostics.
    pub fn build(&self) -> Result<Output, Error> {
        crate::device_build::build(self)
    }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn absolute(directory: &Path) -> PathBuf {
    std::path::absolute(directory).unwrap_or_else(|_| directory.to_path_buf())
}

/// Formats the value of an option that is a number of bytes or `off`.
fn bytes_or_off(bytes: Option<u64>) -> String {
    bytes.map_or("off".to_owned(), |bytes| bytes.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in the backend's table of options.
    fn backend_options() -> Vec<String> {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../rustc_codegen_nvvm/src/options.rs");
        let text = std::fs::read_to_string(file).unwrap();
        let name = |line: &str| {
            let name = line.trim().strip_prefix("name: \"")?.strip_suffix("\",")?;
            Some(name.to_owned())
        };
        text.lines().filter_map(name).collect()
    }

    #[test]
    fn every_option_of_the_backend_has_a_method() {
        let builder = CudaBuilder::new("k")
            .dump("d")
            .cuda("c")
            .fma_contraction(false)
            .ftz(true)
            .prec_div(false)
            .prec_sqrt(false)
            .optimize_up_to(700)
            .recursion_depth(8)
            .leave_unoptimized("<a as b>::c")
            .pre_optimize(false)
            .move_checks(false)
            .ordinary_entries(false)
            .share_slots(None)
            .frame_warning(Some(1 << 20))
            .parts(false)
            .split_above(Some(1000))
            // For tests of the compiler: it has no method of its own.
            .backend_option("roots", "all");
        let given = &builder.backend_options;
        let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, backend_options());
        let flags = crate::flags::last_crate_flags(&builder).unwrap();
        for flag in [
            "fma=off",
            "ftz=on",
            "prec-div=off",
            "leave-unoptimized=<aasb>::c",
            "share-slots=off",
            "frame-warning=1048576",
            "parts=off",
            "split-above=1000",
        ] {
            assert!(
                flags.contains(&format!("-Cllvm-args=--{flag}")),
                "{flag}: {flags:?}"
            );
        }
    }

    #[test]
    fn an_option_with_a_space_is_refused() {
        let builder = CudaBuilder::new("k").dump("/a b");
        let error = crate::flags::last_crate_flags(&builder).unwrap_err();
        assert!(error.to_string().contains("/a b"), "{error}");
    }
}
