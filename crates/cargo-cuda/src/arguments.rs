//! Classifies the arguments of a rustc call.

use crate::dependencies::Dependencies;
use crate::flags;
use std::ffi::{OsStr, OsString};

/// The kind of a rustc invocation, which determines the flags that the wrapper adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `rustc -vV`, whose output cargo uses to detect a changed compiler.
    Version,
    /// A query that compiles nothing, such as `--print=cfg`.
    Query,
    /// A build script or a procedural macro, or a library of one, if cargo marks it: no kernel can
    /// reach it.
    BuildTime,
    /// A type check without code generation, by `cargo check` or clippy.
    Check,
    /// A compilation with code generation.
    Codegen,
}

/// The arguments that the flags depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The kind of the call.
    pub kind: Kind,
    /// Whether cargo marks the crate as one that runs when others are built.
    pub is_marked: bool,
    /// The value of `--target`.
    pub target: Option<OsString>,
    /// Whether the call has a `--sysroot` of its own.
    pub has_sysroot: bool,
    /// The crate's direct dependencies.
    pub dependencies: Dependencies,
}

impl Call {
    /// Classifies `arguments`, without the name of the program.
    pub fn new(arguments: &[OsString]) -> Call {
        let arguments = expand(arguments);
        let mut target = None;
        let mut has_sysroot = false;
        let mut is_marked = false;
        let mut version = false;
        let mut verbose = false;
        let mut print = false;
        let mut emit_code = false;
        let mut has_emit = false;
        let mut crate_name = OsString::new();
        let mut crate_types = Vec::new();
        let mut dependencies = Dependencies::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some(text) = argument.to_str() else {
                continue;
            };
            match text {
                "-vV" | "-Vv" => (version, verbose) = (true, true),
                "-V" | "--version" => version = true,
                "-v" | "--verbose" => verbose = true,
                _ => {}
            }
            let mut value = |name: &str| match text.strip_prefix(name)? {
                "" => rest.next().cloned(),
                joined => joined.strip_prefix('=').map(OsString::from),
            };
            if let Some(given) = value("--target") {
                target = Some(given);
            } else if value("--sysroot").is_some() {
                has_sysroot = true;
            } else if value("--print").is_some() {
                print = true;
            } else if let Some(name) = value("--crate-name") {
                crate_name = name;
            } else if let Some(kinds) = value("--crate-type") {
                crate_types.push(kinds);
            } else if let Some(kinds) = value("--emit") {
                has_emit = true;
                emit_code |= kinds.to_string_lossy().split(',').any(emits_code);
            } else if let Some(cfg) = value("--cfg") {
                is_marked |= cfg == flags::BUILD_TIME;
            } else if let Some(library) = value("--extern") {
                dependencies.add_extern(&library);
            } else if let Some(directory) = text.strip_prefix("-L") {
                let separate = directory.is_empty().then(|| rest.next().cloned());
                let directory = separate.unwrap_or_else(|| Some(directory.into()));
                dependencies.add_search_path(&directory.unwrap_or_default());
            }
        }
        let build_script = crate_types.iter().any(|kind| kind == "bin")
            && (crate_name.to_string_lossy()).starts_with("build_script_");
        let kind = if version && verbose {
            Kind::Version
        } else if version || print {
            Kind::Query
        } else if is_marked || build_script || crate_types.iter().any(|kind| kind == "proc-macro") {
            Kind::BuildTime
        } else if has_emit && !emit_code {
            Kind::Check
        } else {
            Kind::Codegen
        };
        dependencies.of_crate(crate_name);
        Call {
            kind,
            is_marked,
            target,
            has_sysroot,
            dependencies,
        }
    }
}

/// Whether a kind of `--emit` needs code generation.
fn emits_code(kind: &str) -> bool {
    let kind = kind.split('=').next().unwrap_or_default();
    !matches!(kind, "dep-info" | "metadata" | "mir")
}

/// Replaces `@FILE` with the lines of the file: cargo passes arguments in a file if they are too
/// long for a command line.
fn expand(arguments: &[OsString]) -> Vec<OsString> {
    let lines = |argument: &OsString| {
        let file = argument.to_str()?.strip_prefix('@')?;
        let text = std::fs::read_to_string(file).ok()?;
        Some(text.lines().map(OsString::from).collect())
    };
    (arguments.iter())
        .flat_map(|argument| lines(argument).unwrap_or_else(|| vec![argument.clone()]))
        .collect()
}

/// The number of arguments before rustc's own: cargo calls a wrapper as `WRAPPER RUSTC …`, and for
/// clippy as `WRAPPER CLIPPY-DRIVER RUSTC …`.
pub fn programs(arguments: &[OsString]) -> usize {
    let is_rustc = |argument: &OsString| {
        let path = std::path::Path::new(argument);
        path.file_stem() == Some(OsStr::new("rustc"))
    };
    match arguments {
        [first, second, ..] if !is_rustc(first) && is_rustc(second) => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Call {
        Call::new(&words(text))
    }

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn kinds() {
        for (text, kind) in [
            ("-vV", Kind::Version),
            ("--version --verbose", Kind::Version),
            ("--version", Kind::Query),
            ("- --crate-name ___ --print=cfg -Wwarnings", Kind::Query),
            ("--print sysroot", Kind::Query),
            (
                "--crate-name build_script_build build.rs --crate-type bin --emit=dep-info,link",
                Kind::BuildTime,
            ),
            (
                "--crate-name m src/lib.rs --crate-type proc-macro --emit=dep-info,link",
                Kind::BuildTime,
            ),
            (
                "--crate-name build_script_tools src/lib.rs --crate-type lib",
                Kind::Codegen,
            ),
            (
                "--crate-type lib --emit=dep-info,metadata,link --cfg=nvvm_build_time a.rs",
                Kind::BuildTime,
            ),
            ("--print=cfg --cfg nvvm_build_time", Kind::Query),
            (
                "--crate-type lib --emit=dep-info,metadata a.rs",
                Kind::Check,
            ),
            (
                "--crate-type lib --emit=dep-info,metadata,link a.rs",
                Kind::Codegen,
            ),
            ("--crate-type lib --emit asm=a.s a.rs", Kind::Codegen),
            ("a.rs", Kind::Codegen),
            ("--test a.rs --emit=dep-info,link", Kind::Codegen),
        ] {
            assert_eq!(call(text).kind, kind, "{text}");
        }
    }

    #[test]
    fn targets_and_sysroots() {
        assert_eq!(call("a.rs --target t").target, Some("t".into()));
        assert_eq!(call("a.rs --target=t").target, Some("t".into()));
        assert_eq!(call("a.rs --targets=t").target, None);
        assert!(call("--sysroot /s a.rs").has_sysroot);
        assert!(call("--sysroot=/s a.rs").has_sysroot);
        assert!(!call("a.rs").has_sysroot);
    }

    #[test]
    fn dependencies() {
        let may_have_device_library = |text| call(text).dependencies.may_have_device_library();
        for text in [
            "--crate-name a a.rs --extern b",
            "--crate-name a a.rs --extern=noprelude:b=/nonexistent/libb.rlib",
            "--crate-name a a.rs --extern cuda_std=/t/libcuda_std-0.rmeta",
            "--crate-name cuda_std a.rs",
            "--crate-name a a.rs -L lib",
            "--crate-name a a.rs -Llib",
        ] {
            assert!(may_have_device_library(text), "{text}");
        }
        for text in [
            "--crate-name a a.rs",
            "--crate-name a a.rs -L dependency=deps -Lnative=lib -C lto",
        ] {
            assert!(!may_have_device_library(text), "{text}");
        }
    }

    #[test]
    fn arguments_in_a_file() {
        let file = std::env::temp_dir().join(format!("cargo-cuda-args-{}", std::process::id()));
        std::fs::write(&file, "--crate-type\nproc-macro\n--emit=link\n").unwrap();
        let argument = OsString::from(format!("@{}", file.display()));
        assert_eq!(Call::new(&[argument]).kind, Kind::BuildTime);
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn wrapped_programs() {
        assert_eq!(programs(&words("/t/bin/rustc -vV")), 1);
        assert_eq!(programs(&words("rustc a.rs")), 1);
        assert_eq!(
            programs(&words("/t/bin/clippy-driver /t/bin/rustc a.rs")),
            2
        );
        assert_eq!(programs(&words("rustc")), 1);
    }
}
