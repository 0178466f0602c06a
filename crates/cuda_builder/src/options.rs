//! The builder's options. `flags` and `device_build` implement them.

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
    /// Cargo's `dev`: overflow checks and debug assertions. Kernels are optimized all the same,
    /// unless [`CudaBuilder::opt_level`] says otherwise.
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

    /// Sets `opt-level`. Without it kernels are optimized in both profiles: the `dev` profile's
    /// overflow checks and debug assertions stay.
    #[must_use]
    pub fn opt_level(mut self, level: OptLevel) -> Self {
        self.opt_level = Some(level);
        self
    }

    /// Sets `debug`. Without it kernels have line tables, by which errors name lines of Rust; they
    /// do not change the code.
    #[must_use]
    pub fn debug_info(mut self, debug_info: DebugInfo) -> Self {
        self.debug_info = Some(debug_info);
        self
    }

    /// Whether a multiplication and an addition may become one fused multiply-add (they may by
    /// default). Without, floating-point results equal the CPU's.
    #[must_use]
    pub fn fma_contraction(self, on: bool) -> Self {
        self.backend_option("fma", on_off(on))
    }

    /// Whether subnormal `f32` are flushed to zero (they are not by default).
    #[must_use]
    pub fn ftz(self, on: bool) -> Self {
        self.backend_option("ftz", on_off(on))
    }

    /// Whether `f32` division is correctly rounded (it is by default), or a faster approximation.
    #[must_use]
    pub fn prec_div(self, on: bool) -> Self {
        self.backend_option("prec-div", on_off(on))
    }

    /// Whether the `f32` square root is correctly rounded (it is by default), or a faster
    /// approximation.
    #[must_use]
    pub fn prec_sqrt(self, on: bool) -> Self {
        self.backend_option("prec-sqrt", on_off(on))
    }

    /// Leaves functions of more than `instructions` instructions unoptimized: libnvvm's time grows
    /// much faster than the size of a function.
    #[must_use]
    pub fn optimize_up_to(self, instructions: usize) -> Self {
        self.backend_option("optimize-up-to", instructions.to_string())
    }

    /// Leaves a function unoptimized, as the compiler does, with a warning, to one that libnvvm
    /// takes too long for. `function` is its symbol or its path, such as
    /// `zune_jpeg::huffman::HuffmanTable::new`.
    #[must_use]
    pub fn leave_unoptimized(self, function: &str) -> Self {
        let name: String = function.split_whitespace().collect();
        self.backend_option("leave-unoptimized", name)
    }

    /// Looks for libnvvm and libdevice in this CUDA toolkit first.
    #[must_use]
    pub fn cuda(self, folder: impl AsRef<Path>) -> Self {
        self.backend_option("cuda", absolute(folder.as_ref()))
    }

    /// How many calls of recursive functions may be nested in kernels. By default 64, but a
    /// kernel gets at most 16 KiB of stack, or twice what it needs without nested calls if that is
    /// more. A deeper recursion ends in `Error::StackOverflow`; `#[kernel(stack_size = BYTES)]` sets
    /// the stack of one kernel.
    ///
    /// Each thread that the device can hold gets this stack, used or not: 16 KiB are 4.4 GB on an
    /// H100. A kernel without recursion gets what it needs, whatever this says.
    #[must_use]
    pub fn recursion_depth(self, calls: u32) -> Self {
        self.backend_option("recursion-depth", calls.to_string())
    }

    /// Lets stack slots of a function that are never live together share memory if they come to more
    /// than `bytes` bytes (16,384 by default), or never.
    #[must_use]
    pub fn share_slots(self, bytes: Option<u64>) -> Self {
        self.backend_option("share-slots", bytes_or_off(bytes))
    }

    /// Warns about functions whose stack frame has more than `bytes` bytes (16,384 by default), or
    /// about none.
    #[must_use]
    pub fn frame_warning(self, bytes: Option<u64>) -> Self {
        self.backend_option("frame-warning", bytes_or_off(bytes))
    }

    /// Writes every stage of the backend's work into a folder.
    #[must_use]
    pub fn dump(self, folder: impl AsRef<Path>) -> Self {
        self.backend_option("dump", absolute(folder.as_ref()))
    }

    /// Gives an option to the backend: `backend_option("fma", "off")` is
    /// `-Cllvm-args=--fma=off`. `-Cllvm-args=--help` lists the options, each of which has a method
    /// of the builder too, but for `roots`, which is for tests of the compiler. A later value
    /// overrides an earlier one. Neither name nor value may contain white space.
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

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf())
}

/// The value of an option that is a number of bytes or `off`.
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
            .share_slots(None)
            .frame_warning(Some(1 << 20))
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
