//! The options of a compilation, in libnvvm's syntax.

use crate::{Arch, Dialect};
use std::ffi::CString;

/// How much debug information goes into the PTX. The module has to contain it as metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DebugInfo {
    /// None.
    #[default]
    None,
    /// Line tables, which profilers and sanitizers use; optimisation is not hindered.
    LineInfo,
    /// Everything a debugger wants. libnvvm gives it only with [`OptLevel::O0`]; with
    /// [`OptLevel::O3`] line tables are asked for instead.
    Full,
}

/// libnvvm knows these two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OptLevel {
    /// No optimisation.
    O0,
    /// All of it.
    #[default]
    O3,
}

/// The options of a compilation. [`Options::new`] gives libnvvm's own defaults.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Options {
    /// The architecture to compile for.
    pub arch: Arch,
    /// Whether to optimise.
    pub opt_level: OptLevel,
    /// How much debug information to emit.
    pub debug: DebugInfo,
    /// Contract a multiplication and an addition to a fused multiply-add.
    pub fma: bool,
    /// Flush subnormal `f32` to zero.
    pub ftz: bool,
    /// Divide and take reciprocals of `f32` as IEEE 754 says, instead of approximately.
    pub prec_div: bool,
    /// Take square roots of `f32` as IEEE 754 says, instead of approximately.
    pub prec_sqrt: bool,
}

/// Passes of libnvvm's that make wrong code or do not end, which are switched off or held back.
/// Options of its optimiser go behind `-Xopt`; versions that do not know one of them ignore it.
const SWITCHED_OFF: &[&str] = &[
    // "Simplify Live Out": where a call's result is known to be its argument, and is used in other
    // blocks, it takes the argument instead, and deletes the call as if it had no effects.
    "-simplify-live-out=0",
    // "Remove unused exception handling info": behind a call that does not return it leaves blocks
    // that nothing reaches, and "Global Value Numbering" recurses in their loops without end. There
    // are no exceptions.
    "-disable-PruneEHPass",
    // "Process __restrict__ keyword": it takes `noalias` for C's `restrict`, and also what a pointer
    // is to that was stored and loaded again; blake3, rand_pcg and others came out wrong. Loads
    // through the read-only cache do not need it.
    "-disable-ProcessRestrictPass",
    // An addition to LLVM's count of a loop's iterations: where a loop ends too if its counter is
    // less than it was at the start, which it never is, it takes the loop to end there at once, and
    // then all else that the loop asks for true.
    "-track-trip-count-more=0",
    // "Merge disjoint stack slots": it shares slots by their lifetimes, beyond which other passes have
    // moved loads; ed25519-dalek's signatures came out wrong.
    "-no-stack-coloring",
    // SROA splits aggregates that are copied around into pieces: on arrays of 2 KB of packed structs it
    // had not ended after more than ten minutes. What is larger than this, in bytes, is more than a
    // thread has registers for.
    "-sroa-size-limit=1024",
    // "Branch Distribution": it merges accesses of both branches, and gives what it makes the alignment
    // of one of them, be the other a packed field.
    "-disable-branch-dist",
];

/// What is switched off besides for architectures whose dialect is LLVM 7's.
const SWITCHED_OFF_IN_LLVM7: &[&str] = &[
    // The inliner makes alias scopes of `noalias` parameters, and the loop unroller takes those of
    // one iteration for those of another: stores go missing.
    "-enable-noalias-to-md-conversion=0",
];

/// What is switched off besides for the other architectures.
const SWITCHED_OFF_IN_MODERN: &[&str] = &[
    // "Process __restrict__ keyword", as above, by the name that the option has there: stores through
    // the pointers of an iterator over a local array went missing (`alias_swapped_and_rotated` of
    // `tests/run`).
    "-process-restrict=0",
    // "Split GEPs to a variadic base and a constant offset": core's sorts of values of 16 bytes gave a
    // wrong order (`slice_sort` of `tests/run`).
    "-disable-separate-const-offset-from-gep",
];

impl Options {
    /// The defaults: optimised, no debug information, FMA on, everything else as IEEE 754 says.
    pub fn new(arch: Arch) -> Options {
        Options {
            arch,
            opt_level: OptLevel::default(),
            debug: DebugInfo::default(),
            fma: true,
            ftz: false,
            prec_div: true,
            prec_sqrt: true,
        }
    }

    /// The options as libnvvm wants them written. All are given, so that what is compiled does
    /// not depend on the defaults of the library's version.
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
        // None of the texts above can contain a NUL.
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
    }
}
