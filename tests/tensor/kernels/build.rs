//! Takes the examples out of the documentation of `cuda_std`'s modules that this package tests, each
//! as a module of its own. A kernel gets its file's name before its own.

use std::fmt::Write;
use std::path::Path;

const FILES: &[&str] = &[
    "cluster.rs",
    "copy.rs",
    "halves.rs",
    "matrix/mod.rs",
    "matrix/wmma.rs",
    "mbarrier.rs",
    "random/mod.rs",
    "texture.rs",
    "tiny.rs",
    "wgmma.rs",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../crates/cuda_std/src");
    let mut modules = String::new();
    let mut kernels = Vec::new();
    for file in FILES {
        let path = sources.join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = std::fs::read_to_string(&path)?;
        let stem = file.trim_end_matches(".rs").trim_end_matches("/mod");
        let stem = stem.replace('/', "_");
        let example = example(&text).ok_or_else(|| format!("{file} has no example"))?;
        let name = example
            .split_once("#[kernel")
            .and_then(|(_, rest)| rest.split_once("fn "))
            .and_then(|(_, rest)| rest.split_once('('))
            .map(|(name, _)| name.to_owned())
            .ok_or_else(|| format!("the example of {file} has no kernel"))?;
        let full = format!("{stem}_{name}");
        let example = example.replace(&format!("fn {name}("), &format!("fn {full}("));
        writeln!(
            modules,
            "#[allow(missing_docs, unused_imports)]\npub mod {stem}_example {{\n{example}\n}}\n\
             #[allow(unused_imports)]\npub use {stem}_example::*;"
        )?;
        kernels.push(full);
    }
    writeln!(
        modules,
        "/// The kernels of all examples.\npub const KERNELS: &[&str] = &{kernels:?};"
    )?;
    let out = std::env::var("OUT_DIR")?;
    std::fs::write(Path::new(&out).join("examples.rs"), modules)?;
    Ok(())
}

/// The first fenced block of a module's documentation, without the lines that are only for running
/// it as a documentation test.
fn example(text: &str) -> Option<String> {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let block: Vec<&str> = lines
        .skip_while(|line| *line != "```")
        .skip(1)
        .take_while(|line| *line != "```")
        .filter(|line| !line.starts_with("# "))
        .collect();
    (!block.is_empty()).then(|| block.join("\n"))
}
