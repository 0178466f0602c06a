//! The backend's options, passed as `-Cllvm-args=--name=value`.
//!
//! [`TABLE`] defines each option; parsing, defaults, `--help` and the documentation's table derive
//! from it. rustc splits the argument at white space, so one `-Cllvm-args` may contain several
//! options, and paths must not contain spaces. A relative path is relative to rustc's working
//! directory, which under cargo is the workspace's root.

use std::fmt::Write;
use std::path::PathBuf;

use rustc_session::config::{OptLevel, OutputType};
use rustc_session::{EarlySession, Session};
use rustc_span::edit_distance::edit_distance;

use crate::single_source;

/// The items from which lowering starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Roots {
    /// The kernels.
    #[default]
    Kernels,
    /// The kernels and every function of the crate without type parameters, for tests of the
    /// compiler.
    All,
}

/// The parsed options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The directory that each stage of the module is written to.
    pub dump: Option<PathBuf>,
    /// A CUDA toolkit in which to look for libnvvm and libdevice first.
    pub cuda: Option<PathBuf>,
    /// Whether `a * b + c` may be contracted to one fused operation.
    pub fma: bool,
    /// Whether single-precision subnormals are flushed to zero.
    pub ftz: bool,
    /// Whether single-precision division is correctly rounded.
    pub prec_div: bool,
    /// Whether the single-precision square root is correctly rounded.
    pub prec_sqrt: bool,
    /// Functions with more instructions than this are not optimized.
    pub optimize_up_to: Option<usize>,
    /// The maximum recursion depth that stack sizes are computed for.
    pub recursion_depth: Option<u32>,
    /// Functions that are not optimized, by symbol or by path without white space.
    pub leave_unoptimized: Vec<String>,
    /// Whether LLVM optimizes the module before libnvvm.
    pub pre_optimize: bool,
    /// Whether checks are hoisted out of loops and combined.
    pub move_checks: bool,
    /// Whether kernels have entries of their own for ordinary and for strided launches. By default,
    /// they have in single-source programs, whose kernels `cust` launches.
    pub ordinary_entries: Option<bool>,
    /// Functions with stack slots of more than this many bytes in total share stack between slots.
    pub share_slots: Option<u64>,
    /// Stack frames of more than this many bytes cause a warning.
    pub frame_warning: Option<u64>,
    /// Whether the kernels of large optimized modules are compiled in parts, in parallel.
    pub parts: bool,
    /// libnvvm compiles optimized modules with more instructions than this in parts.
    pub split_above: Option<usize>,
    /// The items from which lowering starts.
    pub roots: Roots,
}

/// An option: `--name=value`.
struct Row {
    name: &'static str,
    /// The accepted values as `a|b`, or the kind of value in capitals.
    value: &'static str,
    /// Empty if the option is unset by default.
    default: &'static str,
    doc: &'static str,
    /// Sets the option. The value is one of those that `value` lists.
    set: fn(&mut Options, &str),
}

const TABLE: &[Row] = &[
    Row {
        name: "dump",
        value: "DIR",
        default: "",
        doc: "write the module to DIR after every stage of the compilation",
        set: |options, value| options.dump = Some(PathBuf::from(value)),
    },
    Row {
        name: "cuda",
        value: "DIR",
        default: "",
        doc: "look for libnvvm and libdevice in the CUDA toolkit at DIR first",
        set: |options, value| options.cuda = Some(PathBuf::from(value)),
    },
    Row {
        name: "fma",
        value: "on|off",
        default: "on",
        doc: "contract a multiplication and an addition to one fused operation; off: results equal \
              the CPU's bit for bit",
        set: |options, value| options.fma = value == "on",
    },
    Row {
        name: "ftz",
        value: "on|off",
        default: "off",
        doc: "flush subnormal f32 values to zero",
        set: |options, value| options.ftz = value == "on",
    },
    Row {
        name: "prec-div",
        value: "on|off",
        default: "on",
        doc: "round f32 division correctly; off: a faster approximation",
        set: |options, value| options.prec_div = value == "on",
    },
    Row {
        name: "prec-sqrt",
        value: "on|off",
        default: "on",
        doc: "round the f32 square root correctly; off: a faster approximation",
        set: |options, value| options.prec_sqrt = value == "on",
    },
    Row {
        name: "optimize-up-to",
        value: "N",
        default: "",
        doc: "leave functions with more than N instructions unoptimized: libnvvm's time grows much \
              faster than a function's size",
        set: |options, value| options.optimize_up_to = value.parse().ok(),
    },
    Row {
        name: "recursion-depth",
        value: "N",
        default: "",
        doc: "reserve stack for N nested calls of recursive functions; by default 64, but at most \
              16 KiB per kernel",
        set: |options, value| options.recursion_depth = value.parse().ok(),
    },
    Row {
        name: "leave-unoptimized",
        value: "FUNCTION",
        default: "",
        doc: "leave the function with this path (without white space) or symbol unoptimized; may be \
              given more than once",
        set: |options, value| options.leave_unoptimized.push(value.to_owned()),
    },
    Row {
        name: "pre-optimize",
        value: "on|off",
        default: "on",
        doc: "optimize with the LLVM of the Rust toolchain before libnvvm does; off: with libnvvm \
              alone",
        set: |options, value| options.pre_optimize = value == "on",
    },
    Row {
        name: "move-checks",
        value: "on|off",
        default: "on",
        doc: "hoist checks (such as bounds checks) out of loops and combine them; off: checks stay \
              where the program has them",
        set: |options, value| options.move_checks = value == "on",
    },
    Row {
        name: "ordinary-entries",
        value: "on|off",
        default: "",
        doc: "give kernels a second entry, which `cust` launches if the launch permits it; off: one \
              entry, which tests whether it does; by default on in single-source programs",
        set: |options, value| options.ordinary_entries = Some(value == "on"),
    },
    Row {
        name: "share-slots",
        value: "BYTES|off",
        default: "16384",
        doc: "let stack slots with disjoint lifetimes share memory in frames of more than BYTES",
        set: |options, value| options.share_slots = value.parse().ok(),
    },
    Row {
        name: "frame-warning",
        value: "BYTES|off",
        default: "16384",
        doc: "warn about functions with a stack frame of more than BYTES",
        set: |options, value| options.frame_warning = value.parse().ok(),
    },
    Row {
        name: "parts",
        value: "on|off",
        default: "on",
        doc: "divide the kernels of large optimized modules into parts, and compile these in \
              parallel",
        set: |options, value| options.parts = value == "on",
    },
    Row {
        name: "split-above",
        value: "N|off",
        default: "400000",
        doc: "let libnvvm split optimized modules of more than N instructions, and compile the parts \
              in parallel",
        set: |options, value| options.split_above = value.parse().ok(),
    },
    Row {
        name: "roots",
        value: "kernels|all",
        default: "kernels",
        doc: "what to compile, with everything that it reaches; all: also every function of the \
              crate without type parameters (for tests of the compiler)",
        set: |options, value| {
            options.roots = if value == "all" {
                Roots::All
            } else {
                Roots::Kernels
            }
        },
    },
];

impl Row {
    /// Returns the accepted values, if `value` lists them.
    fn choices(&self) -> Option<impl Iterator<Item = &'static str>> {
        self.value.contains('|').then(|| self.value.split('|'))
    }

    fn accepts(&self, value: &str) -> bool {
        match self.choices() {
            _ if matches!(self.value, "BYTES|off" | "N|off") => {
                value == "off" || value.parse::<u64>().is_ok()
            }
            Some(mut choices) => choices.any(|choice| choice == value),
            None if self.value == "N" => value.parse::<usize>().is_ok(),
            None => !value.is_empty(),
        }
    }
}

/// The request of the arguments.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Compile(Options),
    /// `--help`, for a terminal.
    Help,
    /// `--help=markdown`, for the documentation.
    MarkdownHelp,
}

/// How options are written, for messages about wrong ones.
struct Syntax {
    /// Precedes each name.
    dashes: &'static str,
    /// Where options are given.
    place: &'static str,
    /// Where to find the list of options.
    list: &'static str,
}

const LLVM_ARGS: Syntax = Syntax {
    dashes: "--",
    place: "`-Cllvm-args`",
    list: "`-Cllvm-args=--help` lists the options",
};

const HOST_SYNTAX: Syntax = Syntax {
    dashes: "",
    place: "`NVVM_OPTIONS`",
    list: "`NVVM_OPTIONS=name=value,name=value`; the guide lists the options of the compiler",
};

/// A rejected argument.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    message: String,
    help: String,
}

impl Options {
    /// Returns the options of a session, which [`check_early`] has validated.
    pub(crate) fn from_session(sess: &Session) -> Self {
        let request = match single_source::is_host(sess) {
            true => parse(&host_args(sess), &HOST_SYNTAX),
            false => parse(&sess.opts.cg.llvm_args, &LLVM_ARGS),
        };
        match request {
            Ok(Request::Compile(options)) => options,
            // `check_early` ends the process.
            Ok(Request::Help | Request::MarkdownHelp) | Err(_) => Self::defaults(),
        }
    }

    fn defaults() -> Self {
        let mut options = Self::default();
        for row in TABLE.iter().filter(|row| !row.default.is_empty()) {
            (row.set)(&mut options, row.default);
        }
        options
    }
}

/// In a single-source session, `--cfg nvvm_options="name=value,…"`: there, `-Cllvm-args` belongs to
/// the host's backend.
const HOST_OPTIONS: &str = "nvvm_options";

/// The same options as an environment variable. `cuda_std` reads it at compile time, so that cargo
/// recompiles all crates that may have kernels when it changes.
const HOST_VARIABLE: &str = "NVVM_OPTIONS";

pub(crate) fn host_options(sess: &Session) -> impl Iterator<Item = String> {
    let options = sess.config.iter().filter_map(|&(name, value)| {
        (name.as_str() == HOST_OPTIONS).then(|| value.map(|value| value.to_string()))?
    });
    // The last value of an option counts, so the flag overrides the environment.
    let options: Vec<String> = std::env::var(HOST_VARIABLE)
        .into_iter()
        .chain(options)
        .collect();
    let split = |list: String| {
        let options = list.split(',').map(|option| option.trim().to_owned());
        options.filter(|o| !o.is_empty()).collect::<Vec<_>>()
    };
    options.into_iter().flat_map(split)
}

/// Returns the backend's options of a single-source session.
fn host_args(sess: &Session) -> Vec<String> {
    let own = |option: &String| {
        let starts = |name: &&str| option.starts_with(name);
        [ARCH, OPTIMIZE, CUBINS].iter().any(starts)
    };
    host_options(sess).filter(|option| !own(option)).collect()
}

/// The option for an architecture of a single-source session; it may be repeated.
const ARCH: &str = "arch=";

/// The option that disables the optimization of kernels in a single-source session.
const OPTIMIZE: &str = "optimize=";

/// The option that embeds machine code in a single-source session.
const CUBINS: &str = "cubins=";

/// Returns whether kernels are optimized. In a single-source session they are even if the host's
/// code is not, unless `optimize=off` is set.
pub(crate) fn optimizes(sess: &Session) -> bool {
    match single_source::is_host(sess) {
        true => values(sess, OPTIMIZE)
            .last()
            .is_none_or(|value| value != "off"),
        false => sess.opts.optimize != OptLevel::No,
    }
}

/// Returns the architectures of a single-source session without duplicates. Invalid names have
/// already been rejected.
pub(crate) fn host_archs(sess: &Session) -> Vec<nvvm::Arch> {
    let names = values(sess, ARCH).into_iter();
    let mut archs: Vec<nvvm::Arch> = names.filter_map(|name| name.parse().ok()).collect();
    archs.sort_by_key(|arch| (arch.number(), arch.sm()));
    archs.dedup();
    if archs.is_empty() {
        archs.push(crate::arch_of_name(None));
    }
    archs
}

/// Returns whether a session compiles kernels for several architectures.
pub(crate) fn has_several_archs(sess: &Session) -> bool {
    single_source::is_host(sess) && host_archs(sess).len() > 1
}

/// Returns whether a single-source session embeds machine code in addition to PTX.
pub(crate) fn embeds_cubins(sess: &Session) -> bool {
    values(sess, CUBINS)
        .last()
        .is_some_and(|value| value == "on")
}

/// Returns the values of an option of a single-source session.
fn values(sess: &Session, option: &str) -> Vec<String> {
    let value = |given: String| Some(given.strip_prefix(option)?.to_owned());
    host_options(sess).filter_map(value).collect()
}

/// Reports unknown options of a single-source session.
pub(crate) fn check_host(sess: &Session) {
    if let Err(refusals) = parse(&host_args(sess), &HOST_SYNTAX) {
        for Refusal { message, help } in refusals {
            sess.dcx().struct_err(message).with_help(help).emit();
        }
    }
    for (option, name) in [(OPTIMIZE, "optimize"), (CUBINS, "cubins")] {
        for value in values(sess, option) {
            if !["on", "off"].contains(&&*value) {
                let message = format!("`{name}` is `on` or `off`, not `{value}`");
                sess.dcx().struct_err(message).emit();
            }
        }
    }
    for arch in values(sess, ARCH) {
        let known = arch.parse::<nvvm::Arch>();
        if !known.is_ok_and(|known| known.sm() == arch) {
            let message = format!("unknown GPU architecture `{arch}`");
            sess.dcx().struct_err(message).emit();
        }
    }
    sess.dcx().abort_if_errors();
}

/// Reports unknown options, handles `--help`, and rejects output kinds that this backend does not
/// support. To be called before anything is compiled.
pub(crate) fn check_early(sess: &EarlySession) {
    match parse(&sess.opts.cg.llvm_args, &LLVM_ARGS) {
        Ok(Request::Compile(_)) => {}
        Ok(Request::Help) => {
            print!("{}", help());
            std::process::exit(0);
        }
        Ok(Request::MarkdownHelp) => {
            print!("{}", markdown());
            std::process::exit(0);
        }
        Err(refusals) => {
            for Refusal { message, help } in refusals {
                sess.dcx().struct_err(message).with_help(help).emit();
            }
        }
    }
    for kind in sess.opts.output_types.keys() {
        if let OutputType::LlvmAssembly
        | OutputType::Bitcode
        | OutputType::ThinLinkBitcode
        | OutputType::Object = kind
        {
            sess.dcx()
                .struct_err(format!(
                    "`--emit={}` is not possible for a GPU",
                    kind.shorthand()
                ))
                .with_help(
                    "`--emit=asm` writes the PTX; `-Cllvm-args=--dump=DIR` the NVVM IR of every \
                     stage",
                )
                .emit();
        }
    }
    sess.dcx().abort_if_errors();
}

fn parse(args: &[String], syntax: &Syntax) -> Result<Request, Vec<Refusal>> {
    let mut options = Options::defaults();
    let mut refusals = Vec::new();
    for arg in args {
        match arg.as_str() {
            "--help" => return Ok(Request::Help),
            "--help=markdown" => return Ok(Request::MarkdownHelp),
            _ => {}
        }
        if let Err(refusal) = parse_one(arg, syntax, &mut options) {
            refusals.push(refusal);
        }
    }
    if refusals.is_empty() {
        Ok(Request::Compile(options))
    } else {
        Err(refusals)
    }
}

fn parse_one(arg: &str, syntax: &Syntax, options: &mut Options) -> Result<(), Refusal> {
    let (name, value) = match arg.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (arg, None),
    };
    let dashes = syntax.dashes;
    let known = |row: &&Row| name.strip_prefix(dashes) == Some(row.name);
    let Some(row) = TABLE.iter().find(known) else {
        let help = match nearest(name.trim_start_matches('-')) {
            Some(row) => format!("a similar option is `{dashes}{}={}`", row.name, row.value),
            None => syntax.list.to_owned(),
        };
        let message = format!("the backend has no option `{name}` (in {})", syntax.place);
        return Err(Refusal { message, help });
    };
    match value {
        Some(value) if row.accepts(value) => {
            (row.set)(options, value);
            Ok(())
        }
        Some(value) => Err(Refusal {
            message: format!("invalid value `{value}` of the backend's option `{name}`"),
            help: format!("the option is `{name}={}`", row.value),
        }),
        None => Err(Refusal {
            message: format!("the backend's option `{name}` needs a value"),
            help: format!("the option is `{name}={}`", row.value),
        }),
    }
}

/// Returns the option that `name` is most likely a misspelling of.
fn nearest(name: &str) -> Option<&'static Row> {
    let limit = name.len().max(3) / 3;
    let by_distance =
        |row: &'static Row| edit_distance(name, row.name, limit).map(|distance| (distance, row));
    TABLE
        .iter()
        .filter_map(by_distance)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, row)| row)
}

fn help() -> String {
    let mut text = String::from(
        "Options of the NVIDIA GPU backend, given as `-Cllvm-args=\"--name=value ...\"`:\n\n",
    );
    for row in TABLE {
        let _ = writeln!(text, "    --{}={}", row.name, row.value);
        for line in wrap(row.doc, 80) {
            let _ = writeln!(text, "            {line}");
        }
        if !row.default.is_empty() {
            let _ = writeln!(text, "            [default: {}]", row.default);
        }
    }
    text.push_str("    --help[=markdown]\n            print this, and compile nothing\n");
    text
}

fn markdown() -> String {
    let mut text = String::from("| Option | Default | What it does |\n|---|---|---|\n");
    for row in TABLE {
        let value = row.value.replace('|', "\\|");
        let default = if row.default.is_empty() {
            "unset"
        } else {
            row.default
        };
        let _ = writeln!(
            text,
            "| `--{}={value}` | {default} | {} |",
            row.name, row.doc
        );
    }
    text
}

/// Breaks a string into lines of at most `width` characters, except for longer words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_str(args: &str) -> Result<Request, Vec<Refusal>> {
        let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
        parse(&args, &LLVM_ARGS)
    }

    fn refusal(args: &str) -> Refusal {
        let mut refusals = parse_str(args).expect_err("the arguments are wrong");
        assert_eq!(refusals.len(), 1);
        refusals.remove(0)
    }

    #[test]
    fn the_table_is_consistent() {
        for (index, row) in TABLE.iter().enumerate() {
            assert!(
                row.default.is_empty() || row.accepts(row.default),
                "{}",
                row.name
            );
            assert!(
                TABLE[..index].iter().all(|other| other.name != row.name),
                "{}",
                row.name
            );
            assert!(help().contains(&format!("--{}={}\n", row.name, row.value)));
            assert!(markdown().contains(&format!("| `--{}=", row.name)));
        }
    }

    #[test]
    fn defaults() {
        let Ok(Request::Compile(options)) = parse_str("") else {
            panic!()
        };
        assert!(options.fma && !options.ftz && options.prec_div && options.prec_sqrt);
        assert_eq!(
            (options.dump, options.cuda, options.roots),
            (None, None, Roots::Kernels)
        );
    }

    #[test]
    fn values_are_set_and_the_last_one_counts() {
        let Ok(Request::Compile(options)) =
            parse_str("--fma=off --ftz=on --dump=a/b=c --roots=all --dump=d --prec-sqrt=off")
        else {
            panic!()
        };
        assert!(!options.fma && options.ftz && options.prec_div && !options.prec_sqrt);
        assert_eq!(options.dump, Some(PathBuf::from("d")));
        assert_eq!(options.roots, Roots::All);
        for (args, limit) in [
            ("", Some(16384)),
            ("--frame-warning=1000", Some(1000)),
            ("--frame-warning=off", None),
        ] {
            let Ok(Request::Compile(options)) = parse_str(args) else {
                panic!()
            };
            assert_eq!(options.frame_warning, limit);
            let args = args.replace("frame-warning", "share-slots");
            let Ok(Request::Compile(options)) = parse_str(&args) else {
                panic!()
            };
            assert_eq!(options.share_slots, limit);
        }
        for (args, limit) in [
            ("", Some(400_000)),
            ("--split-above=0", Some(0)),
            ("--split-above=off", None),
        ] {
            let Ok(Request::Compile(options)) = parse_str(args) else {
                panic!()
            };
            assert_eq!(options.split_above, limit);
        }
    }

    #[test]
    fn unknown_options_and_values_are_refused() {
        assert_eq!(
            refusal("--fmaa=on").help,
            "a similar option is `--fma=on|off`"
        );
        assert_eq!(
            refusal("-prec-dvi=on").help,
            "a similar option is `--prec-div=on|off`"
        );
        assert_eq!(
            refusal("--nonsense").help,
            "`-Cllvm-args=--help` lists the options"
        );
        assert_eq!(refusal("--fma").help, "the option is `--fma=on|off`");
        assert_eq!(
            refusal("--frame-warning=BYTES").help,
            "the option is `--frame-warning=BYTES|off`"
        );
        assert_eq!(
            refusal("--fma=yes").message,
            "invalid value `yes` of the backend's option `--fma`"
        );
        assert_eq!(refusal("--dump=").help, "the option is `--dump=DIR`");
        assert_eq!(
            refusal("fma=on").message,
            "the backend has no option `fma` (in `-Cllvm-args`)"
        );
        assert_eq!(
            parse_str("--a=1 --b=2 --fma=on")
                .expect_err("two are wrong")
                .len(),
            2
        );
    }

    #[test]
    fn single_source_options_have_no_dashes() {
        let parse = |option: &str| parse(&[option.to_owned()], &HOST_SYNTAX);
        assert!(parse("fma=off").is_ok());
        let refusals = parse("--fmaa=on").expect_err("the option is wrong");
        assert_eq!(
            refusals[0].message,
            "the backend has no option `--fmaa` (in `NVVM_OPTIONS`)"
        );
        assert_eq!(refusals[0].help, "a similar option is `fma=on|off`");
    }

    #[test]
    fn help_wins() {
        assert_eq!(parse_str("--fma=off --help"), Ok(Request::Help));
        assert_eq!(parse_str("--help=markdown"), Ok(Request::MarkdownHelp));
        assert!(help().lines().all(|line| line.len() <= 100));
    }
}
