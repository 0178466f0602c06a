//! The options of a compilation, in libnvvm's syntax.

use crate::{Arch, Dialect};
use std::ffi::CString;

/// The amount of debug information in the PTX. The module must contain it as metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DebugInfo {
    /// None.
    #[default]
    None,
    /// Line tables, which profilers and sanitizers use. They do not affect optimization.
    LineInfo,
    /// Full debug information, for debuggers. libnvvm emits it only with [`OptLevel::O0`]; with
    /// [`OptLevel::O3`], line tables are requested instead.
    Full,
}

/// The optimization level; libnvvm has these two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OptLevel {
    /// No optimization.
    O0,
    /// All optimizations.
    #[default]
    O3,
}

/// The options of a compilation. [`Options::new`] returns libnvvm's defaults.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Options {
    /// The architecture to compile for.
    pub arch: Arch,
    /// The optimization level.
    pub opt_level: OptLevel,
    /// The amount of debug information.
    pub debug: DebugInfo,
    /// Whether to contract a multiplication and an addition to a fused multiply-add.
    pub fma: bool,
    /// Whether to flush subnormal `f32` to zero.
    pub ftz: bool,
    /// Whether `f32` division and reciprocals are correctly rounded instead of approximate.
    pub prec_div: bool,
    /// Whether `f32` square roots are correctly rounded instead of approximate.
    pub prec_sqrt: bool,
    /// Whether libnvvm splits the module after its interprocedural passes, and compiles the parts
    /// on all processors. The result is then a sequence of PTX modules, in an order that varies;
    /// `ptx::join` makes one module of them. Not all versions of libnvvm have the option.
    pub split: bool,
}

/// Options that disable or limit passes of libnvvm 13.0 that miscompile or do not terminate.
/// Options of the optimizer follow `-Xopt`; versions that do not know an option ignore it.
const SWITCHED_OFF: &[&str] = &[
    // "Simplify Live Out": replaces a call's result that equals its argument and is used in other
    // blocks by the argument, and deletes the call although it has side effects.
    "-simplify-live-out=0",
    // "Remove unused exception handling info": leaves unreachable blocks after a call that does not
    // return; "Global Value Numbering" then recurses infinitely in their loops. Device code has no
    // exceptions.
    "-disable-PruneEHPass",
    // "Process __restrict__ keyword": treats `noalias` as C's `restrict`, also for the target of a
    // pointer that was stored and loaded again. Miscompiles blake3, rand_pcg and others. Loads
    // through the read-only cache do not need the pass.
    "-disable-ProcessRestrictPass",
    // NVIDIA's extension of LLVM's trip count analysis: if a loop also exits when its counter is
    // less than its initial value, which never happens, the analysis assumes that the loop exits
    // there immediately, and folds the loop's other conditions to true.
    "-track-trip-count-more=0",
    // "Merge disjoint stack slots": shares slots by their lifetimes, although other passes have
    // moved loads beyond these. Miscompiles ed25519-dalek.
    "-no-stack-coloring",
    // SROA splits aggregates that are copied: on 2 KB arrays of packed structs it did not terminate
    // within ten minutes. Aggregates larger than this number of bytes do not fit a thread's
    // registers.
    "-sroa-size-limit=1024",
    // "Branch Distribution": merges the accesses of two branches and uses the alignment of one of
    // them, even if the other accesses a packed field.
    "-disable-branch-dist",
];

/// Additional options for architectures with the dialect of LLVM 7.
const SWITCHED_OFF_IN_LLVM7: &[&str] = &[
    // The inliner converts `noalias` parameters to alias scopes, and the loop unroller applies the
    // scopes of one iteration to others: stores are lost.
    "-enable-noalias-to-md-conversion=0",
];

/// Additional options for the other architectures.
const SWITCHED_OFF_IN_MODERN: &[&str] = &[
    // "Process __restrict__ keyword", as above, under the name that the option has there: stores
    // through an iterator over a local array are lost (`alias_swapped_and_rotated` in `tests/run`).
    "-process-restrict=0",
    // "Split GEPs to a variadic base and a constant offset": core's sorts return a wrong order for
    // 16-byte values (`slice_sort` in `tests/run`).
    "-disable-separate-const-offset-from-gep",
];

impl Options {
    /// Returns the defaults: optimized, no debug information, contraction on, everything else as in
    /// IEEE 754.
    pub fn new(arch: Arch) -> Options {
        Options {
            arch,
            opt_level: OptLevel::default(),
            debug: DebugInfo::default(),
            fma: true,
            ftz: false,
            prec_div: true,
            prec_sqrt: true,
            split: false,
        }
    }

    /// Formats the options for libnvvm. All options are passed, so that the result does not depend
    /// on the defaults of the library's version.
    pub fn to_args(&self) -> Vec<String> {
        let flag = |name: &str, on: bool| format!("-{name}={}", u8::from(on));
        let mut args = vec![
            format!("-arch={}", self.arch.compute()),
            match self.opt_level {
                OptLevel::O0 => "-opt=0".to_owned(),
                OptLevel::O3 => "-opt=3".to_owned(),
            },
            flag("fma", self.fma),
            flag("ftz", self.ftz),
            flag("prec-div", self.prec_div),
            flag("prec-sqrt", self.prec_sqrt),
        ];
        match (self.debug, self.opt_level) {
            (DebugInfo::None, _) => {}
            (DebugInfo::Full, OptLevel::O0) => args.push("-g".to_owned()),
            (DebugInfo::LineInfo | DebugInfo::Full, _) => {
                args.push("-generate-line-info".to_owned());
            }
        }
        if self.split {
            // With one thread, libnvvm does not split the module.
            let threads =
                std::thread::available_parallelism().map_or(2, |count| count.get().max(2));
            args.push(format!("-split-compile-extended={threads}"));
            // "Memory Space Optimization" would copy functions in each part, once for each
            // combination of their parameters' state spaces: 13 % more code in rhai.
            args.extend(["-Xopt".to_owned(), "-do-clone-for-ip-msp=0".to_owned()]);
        }
        let of_dialect = match self.arch.dialect() {
            Dialect::Llvm7 => SWITCHED_OFF_IN_LLVM7,
            Dialect::Modern => SWITCHED_OFF_IN_MODERN,
        };
        for &pass in SWITCHED_OFF.iter().chain(of_dialect) {
            args.extend(["-Xopt".to_owned(), pass.to_owned()]);
        }
        args
    }

    pub(crate) fn to_c_args(&self) -> Vec<CString> {
        // None of the strings above contains a NUL.
        self.to_args()
            .into_iter()
            .map(|arg| CString::new(arg).unwrap_or_default())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_written() {
        let mut options = Options::new(Arch::SM_90);
        assert_eq!(
            options.to_args().join(" "),
            "-arch=compute_90 -opt=3 -fma=1 -ftz=0 -prec-div=1 -prec-sqrt=1 -Xopt -simplify-live-out=0 \
             -Xopt -disable-PruneEHPass \
             -Xopt -disable-ProcessRestrictPass -Xopt -track-trip-count-more=0 -Xopt -no-stack-coloring \
             -Xopt -sroa-size-limit=1024 -Xopt \
             -disable-branch-dist -Xopt -enable-noalias-to-md-conversion=0"
        );
        options = Options {
            arch: Arch::SM_90A,
            opt_level: OptLevel::O0,
            debug: DebugInfo::Full,
            fma: false,
            ftz: true,
            prec_div: false,
            prec_sqrt: false,
            split: false,
        };
        assert_eq!(
            options.to_args().join(" "),
            "-arch=compute_90a -opt=0 -fma=0 -ftz=1 -prec-div=0 -prec-sqrt=0 -g -Xopt -simplify-live-out=0 \
             -Xopt -disable-PruneEHPass \
             -Xopt -disable-ProcessRestrictPass -Xopt -track-trip-count-more=0 -Xopt -no-stack-coloring \
             -Xopt -sroa-size-limit=1024 -Xopt \
             -disable-branch-dist -Xopt -enable-noalias-to-md-conversion=0"
        );
        options.opt_level = OptLevel::O3;
        assert!(
            options
                .to_args()
                .contains(&"-generate-line-info".to_owned())
        );
        assert!(!options.to_args().contains(&"-g".to_owned()));
        let splits = |options: &Options| {
            let threads = options
                .to_args()
                .iter()
                .find_map(|arg| arg.strip_prefix("-split-compile-extended=")?.parse().ok());
            threads.is_some_and(|count: usize| count >= 2)
        };
        assert!(!splits(&options));
        options.split = true;
        assert!(splits(&options));
    }
}
