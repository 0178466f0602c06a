//! Shared code of the kernel packages' build scripts: extracts the examples of `cuda_std`'s
//! documentation, as modules to compile for the device.
//!
//! Each fenced block with a kernel becomes a module. The kernels of a program need unique names, so
//! a kernel's name is prefixed with its file's name: `transpose` of `shared/mod.rs` is
//! `shared_transpose`.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

/// Writes `examples.rs` with the examples of these files, and the list `KERNELS` of their kernels.
pub fn write(files: &[&str]) -> Result<(), Box<dyn Error>> {
    let sources =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../../crates/cuda_std/src");
    let mut modules = String::new();
    let mut kernels = Vec::new();
    for file in files {
        let path = sources.join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = std::fs::read_to_string(&path)?;
        let stem = file.trim_end_matches(".rs").trim_end_matches("/mod");
        let stem = stem.replace('/', "_");
        let before = kernels.len();
        for (number, example) in examples(&text).into_iter().enumerate() {
            let Some(name) = kernel_of(&example) else {
                continue;
            };
            let full = format!("{stem}_{name}");
            let example = example.replace(&format!("fn {name}("), &format!("fn {full}("));
            writeln!(
                modules,
                "#[allow(missing_docs, unused_imports)]\npub mod {stem}_{number} {{\n{example}\n}}\n\
                 #[allow(unused_imports)]\npub use {stem}_{number}::*;"
            )?;
            kernels.push(full);
        }
        if kernels.len() == before {
            return Err(format!("{file} has no example with a kernel").into());
        }
    }
    writeln!(
        modules,
        "/// The kernels of all examples.\npub const KERNELS: &[&str] = &{kernels:?};"
    )?;
    let out = std::env::var("OUT_DIR")?;
    std::fs::write(Path::new(&out).join("examples.rs"), modules)?;
    Ok(())
}

/// Returns the fenced Rust blocks in documentation comments, without their hidden lines, which are
/// only for running them on the host.
fn examples(text: &str) -> Vec<String> {
    let mut examples = Vec::new();
    let mut current: Option<String> = None;
    let mut other = false;
    for line in text.lines() {
        let line = line.trim_start();
        let Some(line) = line
            .strip_prefix("//!")
            .or_else(|| line.strip_prefix("///"))
        else {
            (current, other) = (None, false);
            continue;
        };
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.starts_with("```") {
            match current.take() {
                Some(example) => examples.push(example),
                None if other => other = false,
                None if line == "```" => current = Some(String::new()),
                None => other = true,
            }
        } else if let Some(example) = &mut current
            && !line.starts_with("# ")
        {
            example.push_str(line);
            example.push('\n');
        }
    }
    examples
}

/// Returns the name of an example's kernel.
fn kernel_of(example: &str) -> Option<String> {
    let (_, rest) = example.split_once("#[kernel")?;
    let (_, rest) = rest.split_once("fn ")?;
    Some(rest.split('(').next()?.to_owned())
}
