//! Checks that every intrinsic of the pinned toolchain without a body is handled somewhere: in this
//! backend, in `rustc_codegen_ssa`, in the pass that lowers intrinsics in MIR, or in the constant
//! interpreter. The list is core's, read from `rust-src`; the handlers are read from the sources in
//! `rustc-dev`. Device tests check their behavior.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Prefixes and names of intrinsics without a body that are not supported, with the reason.
const NOT_FOR_A_GPU: &[(&str, &str)] = &[
    ("autodiff", "needs LLVM's Enzyme"),
    ("offload", "belongs to LLVM's offloading from host programs"),
    ("sve_", "belongs to Arm's scalable vectors"),
    ("rustc_peek", "belongs to rustc's own tests"),
];

/// Intrinsics that the compiler handles outside the searched files.
const KNOWN_ELSEWHERE: &[(&str, &str)] = &[
    (
        "const_eval_select",
        "is replaced when instances are resolved",
    ),
    ("write_via_move", "is replaced when MIR is built"),
];

#[test]
fn no_intrinsic_is_missing() {
    let sysroot = sysroot();
    let rustlib = Path::new(&sysroot).join("lib/rustlib");
    let core = rustlib.join("src/rust/library/core/src/intrinsics");
    let compiler = rustlib.join("rustc-src/rust/compiler");
    if !core.is_dir() || !compiler.is_dir() {
        panic!("rustup's components `rust-src` and `rustc-dev` are needed");
    }

    let mut names = Vec::new();
    for text in sources(&core) {
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let code: Vec<&str> = text.lines().filter(is_code).collect();
        without_body(&code.join("\n"), &mut names);
    }
    assert!(names.len() > 150, "only {} were found", names.len());

    let ours = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).concat();
    let theirs = [
        "rustc_codegen_ssa/src/mir",
        "rustc_mir_transform/src",
        "rustc_const_eval/src",
    ]
    .map(|directory| sources(&compiler.join(directory)).concat())
    .concat();
    let is_listed =
        |rows: &[(&str, &str)], name: &str| rows.iter().any(|(prefix, _)| name.starts_with(prefix));
    let missing: Vec<&String> = names
        .iter()
        .filter(|name| !is_listed(NOT_FOR_A_GPU, name) && !is_listed(KNOWN_ELSEWHERE, name))
        .filter(|name| !mentions(&ours, name) && !mentions(&theirs, name))
        .collect();
    assert!(
        missing.is_empty(),
        "neither the backend nor rustc lowers {missing:?}"
    );
}

/// Returns whether a source mentions an intrinsic, as a symbol or as a string. Intrinsics on
/// vectors may lack their common prefix.
fn mentions(source: &str, name: &str) -> bool {
    let texts = [
        Some(name),
        name.strip_prefix("simd_"),
        name.strip_prefix("simd_reduce_"),
        // The functions on floats have a name for each width.
        name.strip_suffix("f16")
            .or(name.strip_suffix("f32"))
            .or(name.strip_suffix("f64"))
            .or(name.strip_suffix("f128")),
    ];
    let symbol = format!("sym::{name}");
    let is_symbol = source.match_indices(&symbol).any(|(at, _)| {
        !source[at + symbol.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
    });
    is_symbol || (texts.into_iter().flatten()).any(|text| source.contains(&format!("\"{text}\"")))
}

/// Adds the names of the intrinsics in a source that have no body.
fn without_body(source: &str, names: &mut Vec<String>) {
    for (at, attribute) in source.match_indices("#[rustc_intrinsic]") {
        let rest = &source[at + attribute.len()..];
        let Some((_, rest)) = rest.split_once(" fn ") else {
            continue;
        };
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        let mut depth = 0;
        let last = rest.chars().find(|&c| {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                _ => {}
            }
            depth == 0 && (c == ';' || c == '{')
        });
        // In a macro definition the name is a variable; each invocation supplies it.
        if last == Some(';') && !name.is_empty() {
            names.push(name.to_owned());
        }
    }
}

/// Returns the contents of all Rust files in a directory, recursively.
fn sources(directory: &Path) -> Vec<String> {
    let mut directories = vec![directory.to_owned()];
    let mut texts = Vec::new();
    while let Some(directory) = directories.pop() {
        let entries = std::fs::read_dir(&directory)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", directory.display()));
        for entry in entries {
            let path: PathBuf = entry.expect("a readable directory").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                texts.push(std::fs::read_to_string(&path).expect("a readable file"));
            }
        }
    }
    texts
}

fn sysroot() -> String {
    let output = Command::new("rustc")
        .arg("--print=sysroot")
        .output()
        .expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
