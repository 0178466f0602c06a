//! Runs libnvvm with a time limit and leaves functions that exceed it unoptimized.
//!
//! Most programs compile within [`UNWATCHED`]. A program that does not is compiled again while
//! libnvvm reports its progress. A function that exceeds its limit is marked `optnone`, and
//! compilation starts over. After [`STRIKES`] such functions, or after [`PROGRAM`], all large
//! functions are marked, and finally the whole program.
//!
//! libnvvm splits a large program into parts and compiles these in parallel, except while it reports
//! its progress: the reports of several threads could not be told apart.

use std::fs;
use std::time::Duration;

use cuda_toolkit::Toolkit;
use nvvm::{Bound, Library, OptLevel, Outcome, Program, Slow};
use nvvm_ir::{Dialect, Func, Module};
use rustc_session::Session;
use rustc_session::config::DebugInfo;

use crate::debuginfo::has_variables;
use crate::diagnostics::toolkit;
use crate::inlining;
use crate::options::Options;
use crate::pipeline::Dumper;
use crate::ptx_cache;

/// The CPU time of a compilation without progress reports, in addition to [`UNWATCHED_PERCENT`] of
/// [`for_size`]: about twice what libnvvm needs for programs that compile normally. Progress
/// reports cost such programs little, so a short limit, which soon detects the others, is
/// preferable.
const UNWATCHED: Duration = Duration::from_secs(4);
const UNWATCHED_PERCENT: u32 = 35;

/// The CPU time limits for one function: in a single pass, and in total.
const PASS: Duration = Duration::from_secs(5);
const FUNCTION: Duration = Duration::from_secs(12);

/// The CPU time limit for the program, plus that of [`for_size`]. It applies first while functions
/// are marked one by one, and again without the large functions.
const PROGRAM: Duration = Duration::from_secs(60);

/// Returns the CPU time granted for the size of a program. libnvvm 13.0 optimizes 4,000 to 8,000
/// instructions per second in programs that compile normally; this is a quarter of that rate.
fn for_size(instructions: usize) -> Duration {
    Duration::from_millis(instructions as u64)
}

/// The maximum number of functions that are marked one by one.
const STRIKES: usize = 4;

/// Functions with more instructions than this are large. After [`STRIKES`], all of them are marked.
const LARGE: usize = 500;

/// A compilation by libnvvm.
pub(crate) struct Libnvvm<'a> {
    sess: &'a Session,
    library: &'a Library,
    options: nvvm::Options,
    krate: &'a str,
    toolkit: &'a Toolkit,
    /// Modules with more instructions than this are split.
    split_above: Option<usize>,
}

/// Which functions are optimized, and within which limits.
enum Level {
    /// All functions, without progress reports.
    Unwatched,
    /// All functions except those that exceeded their limit.
    Functions { left: usize, time: Duration },
    /// All functions except large ones.
    Large,
    /// No functions: the program or the last resort disables optimizations.
    Unbounded,
}

impl Level {
    fn bound(&self, for_size: Duration) -> Option<Bound> {
        let watched = |total| Bound::Function {
            pass: PASS,
            all: FUNCTION,
            total,
        };
        match *self {
            Level::Unwatched => Some(Bound::Total(UNWATCHED + for_size * UNWATCHED_PERCENT / 100)),
            Level::Functions { time, .. } => Some(watched(time + for_size)),
            Level::Large => Some(watched(PROGRAM + for_size)),
            Level::Unbounded => None,
        }
    }
}

impl<'a> Libnvvm<'a> {
    pub(crate) fn new(
        sess: &'a Session,
        toolkit: &'a Toolkit,
        library: &'a Library,
        arch: nvvm::Arch,
        options: &Options,
        krate: &'a str,
    ) -> Self {
        let mut nvvm_options = nvvm::Options::new(arch);
        nvvm_options.opt_level = match crate::options::optimizes(sess) {
            false => OptLevel::O0,
            true => OptLevel::O3,
        };
        nvvm_options.debug = match sess.opts.debuginfo {
            DebugInfo::None => nvvm::DebugInfo::None,
            _ if has_variables(sess) => nvvm::DebugInfo::Full,
            _ => nvvm::DebugInfo::LineInfo,
        };
        nvvm_options.fma = options.fma;
        nvvm_options.ftz = options.ftz;
        nvvm_options.prec_div = options.prec_div;
        nvvm_options.prec_sqrt = options.prec_sqrt;
        Libnvvm {
            sess,
            library,
            options: nvvm_options,
            krate,
            toolkit,
            split_above: options.split_above,
        }
    }

    /// Compiles the module to PTX. Returns it with whether no warning was reported; returns `None`
    /// after reporting an error.
    pub(crate) fn compile(
        mut self,
        module: &mut Module,
        dialect: Dialect,
        dumper: &Dumper<'_>,
    ) -> Option<(Vec<u8>, bool)> {
        let mut level = match self.options.opt_level {
            OptLevel::O0 => Level::Unbounded,
            _ => Level::Unwatched,
        };
        let instructions: usize = module.funcs().map(|func| module.size_of_func(func)).sum();
        let for_size = for_size(instructions);
        self.options.split = splits(&self.options, instructions, self.split_above);
        let mut warned = false;
        loop {
            let text = self
                .sess
                .time("nvvm_write", || nvvm_ir::write_module(module, dialect));
            dumper.dump("written.ll", || text.clone());
            match self.attempt(&text, level.bound(for_size))? {
                Outcome::Compiled(ptx) => {
                    let ptx = if self.options.split {
                        dumper.dump("parts.ptx", || String::from_utf8_lossy(&ptx).into_owned());
                        match join(&ptx, module) {
                            Ok(joined) => joined.into_bytes(),
                            Err(error) => {
                                toolkit::parts_not_joined(self.sess, &error);
                                self.options.split = false;
                                warned = true;
                                continue;
                            }
                        }
                    } else {
                        ptx
                    };
                    return Some((ptx, !warned));
                }
                Outcome::TookLong => warned |= self.lower_level(module, &mut level, None),
                Outcome::Slow(slow) => {
                    warned |= self.lower_level(module, &mut level, Some(&slow));
                }
            }
            self.options.split = false;
        }
    }

    /// Chooses which functions to leave unoptimized next. Returns whether it warned of them.
    fn lower_level(&mut self, module: &mut Module, level: &mut Level, slow: Option<&Slow>) -> bool {
        let (left, time) = match *level {
            Level::Unwatched => {
                *level = Level::Functions {
                    left: STRIKES,
                    time: PROGRAM,
                };
                return false;
            }
            Level::Functions { left, time } => (left, time),
            Level::Large | Level::Unbounded => {
                toolkit::all_left_unoptimized(self.sess, self.krate);
                self.options.opt_level = OptLevel::O0;
                *level = Level::Unbounded;
                return true;
            }
        };
        let func = slow
            .and_then(|slow| slow.function.as_deref())
            .and_then(|name| module.funcs().find(|&func| module.func(func).name == name))
            .filter(|&func| !module.func(func).attrs.opt_none);
        if let (Some(func), Some(slow)) = (func, slow)
            && left > 0
        {
            toolkit::left_unoptimized(self.sess, &path(&module.func(func).name), slow);
            inlining::leave_unoptimized(&mut module.func_mut(func).attrs);
            *level = Level::Functions {
                left: left - 1,
                time: time.saturating_sub(slow.total),
            };
        } else {
            toolkit::large_left_unoptimized(self.sess, LARGE);
            leave_large_unoptimized(module, LARGE);
            *level = Level::Large;
        }
        true
    }

    fn attempt(&mut self, text: &str, bound: Option<Bound>) -> Option<Outcome> {
        let function = toolkit::libdevice_function(text);
        let found = function.and(self.toolkit.libdevice.as_ref());
        let libdevice = found.and_then(|found| fs::read(&found.path).ok());
        if libdevice.is_none()
            && let Some(function) = function
        {
            toolkit::no_libdevice(self.sess, function, &self.toolkit.searched);
            return None;
        }
        let result = (|| {
            let mut program = Program::new(self.library)?;
            program.say_at_crash(toolkit::crashed(self.krate));
            program.add_module("kernels", text.as_bytes())?;
            if let Some(libdevice) = &libdevice {
                program.add_libdevice_lazily(libdevice)?;
            }
            match bound {
                Some(bound) => program.compile_within(&self.options, bound),
                None => program.compile(&self.options).map(Outcome::Compiled),
            }
        })();
        match result {
            Ok(outcome) => Some(outcome),
            // Not all versions of libnvvm can split modules. With 13.0, on a busy machine, one of its
            // threads once did not know the options, for sm_100.
            Err(nvvm::Error::Compile { .. }) if self.options.split => {
                self.options.split = false;
                self.attempt(text, bound)
            }
            Err(err) => {
                toolkit::refused(self.sess, &err, text);
                None
            }
        }
    }
}

/// Returns whether libnvvm splits a module. It never splits an unoptimized one: libnvvm splits
/// after its optimizations, and `ptx::join` does not join debug information of variables.
fn splits(options: &nvvm::Options, instructions: usize, above: Option<usize>) -> bool {
    options.opt_level != OptLevel::O0
        && options.debug != nvvm::DebugInfo::Full
        && above.is_some_and(|limit| instructions > limit)
}

/// Makes one module of the PTX of the parts of a module.
fn join(ptx: &[u8], module: &Module) -> Result<String, ptx::Error> {
    let text = String::from_utf8_lossy(ptx);
    let visible = ptx_cache::visible_symbols(module);
    ptx::join(&text, &visible, &module.asm.join("\n"))
}

/// Marks the functions that the options exclude from optimization.
pub(crate) fn apply_options(module: &mut Module, options: &Options) {
    if let Some(limit) = options.optimize_up_to {
        leave_large_unoptimized(module, limit);
    }
    if options.leave_unoptimized.is_empty() {
        return;
    }
    let is_named = |symbol: &str| {
        let path = path(symbol);
        (options.leave_unoptimized.iter()).any(|name| name == symbol || *name == path)
    };
    let named: Vec<Func> = module
        .funcs()
        .filter(|&func| is_named(&module.func(func).name))
        .collect();
    for func in named {
        inlining::leave_unoptimized(&mut module.func_mut(func).attrs);
    }
}

/// Returns a function's path in the form that `--leave-unoptimized` accepts.
fn path(symbol: &str) -> String {
    let mut path = ptx::stack::demangle(symbol);
    path.retain(|character| !character.is_whitespace());
    path
}

/// Marks the functions with more than `limit` instructions as not to be optimized.
fn leave_large_unoptimized(module: &mut Module, limit: usize) {
    let large: Vec<Func> = module
        .funcs()
        .filter(|&func| module.size_of_func(func) > limit)
        .collect();
    for func in large {
        inlining::leave_unoptimized(&mut module.func_mut(func).attrs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_optimized_modules_are_split() {
        let mut options = nvvm::Options::new(nvvm::Arch::SM_90);
        options.opt_level = OptLevel::O3;
        assert!(splits(&options, 1001, Some(1000)));
        assert!(!splits(&options, 1000, Some(1000)));
        assert!(!splits(&options, 1001, None));
        options.debug = nvvm::DebugInfo::LineInfo;
        assert!(splits(&options, 1, Some(0)));
        options.debug = nvvm::DebugInfo::Full;
        assert!(!splits(&options, 1, Some(0)));
        options.debug = nvvm::DebugInfo::None;
        options.opt_level = OptLevel::O0;
        assert!(!splits(&options, 1, Some(0)));
    }

    #[test]
    fn paths_have_no_white_space_and_no_hash() {
        assert_eq!(path("_RNvMNtCs1234_1a1bNtB2_1S1f"), "<a::b::S>::f");
        assert_eq!(path("kernel"), "kernel");
    }
}
