//! The documentation of the public API of `cust` and `cust_core`: every public module has an
//! example, and every function has the sections that its signature calls for.

use std::path::{Path, PathBuf};

/// Returns the files of a directory and its subdirectories.
fn files(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, into),
            false => into.push(path),
        }
    }
}

fn source(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next();
    code.unwrap_or_default().to_owned()
}

/// Returns the names of the public modules at the top of a crate, without hidden ones.
fn public_modules(root: &Path) -> Vec<String> {
    let text = source(&root.join("lib.rs"));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let name = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    let is_hidden = |at: usize| at > 0 && lines[at - 1] == "#[doc(hidden)]";
    let all = lines.iter().enumerate();
    all.filter(|(at, _)| !is_hidden(*at))
        .filter_map(|(_, line)| name(line))
        .collect()
}

/// Returns the errors of the functions in a file: each with its line.
fn missing_sections(path: &Path) -> Vec<String> {
    let text = source(path);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut missing = Vec::new();
    let (mut doc, mut hidden) = (String::new(), false);
    for (at, &line) in lines.iter().enumerate() {
        if let Some(text) = line.strip_prefix("///") {
            doc += text;
            doc += "\n";
            continue;
        }
        if line.starts_with("#[") {
            hidden |= line == "#[doc(hidden)]";
            continue;
        }
        let is_function = line.starts_with("pub fn ")
            || line.starts_with("pub unsafe fn ")
            || line.starts_with("pub const fn ");
        if is_function && !hidden {
            let signature = lines[at..].join(" ");
            let signature = signature.split('{').next().unwrap_or_default();
            let mut require = |section: &str| {
                if !doc.contains(section) {
                    missing.push(format!("{}:{}: {section}", path.display(), at + 1));
                }
            };
            if signature.contains("-> CudaResult<") {
                require("# Errors");
            }
            if signature.contains("unsafe fn ") {
                require("# Safety");
            }
        }
        doc.clear();
        hidden = false;
    }
    missing
}

fn roots() -> [PathBuf; 2] {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    [own.join("src"), own.join("../cust_core/src")]
}

#[test]
fn public_modules_have_examples() {
    for root in roots() {
        let modules = public_modules(&root);
        assert!(modules.len() > 2, "{modules:?}");
        for module in modules {
            let file = root.join(format!("{module}.rs"));
            let file = match file.exists() {
                true => file,
                false => root.join(&module).join("mod.rs"),
            };
            let text = source(&file);
            let doc = text.lines().filter(|line| line.starts_with("//!"));
            let example = |line: &str| matches!(line, "//! ```" | "//! ```no_run");
            assert!(
                doc.into_iter().any(example),
                "{} has no example",
                file.display()
            );
        }
    }
}

#[test]
fn functions_say_when_they_fail_and_what_they_require() {
    for root in roots() {
        let mut all = Vec::new();
        files(&root, &mut all);
        let missing: Vec<String> = all.iter().flat_map(|file| missing_sections(file)).collect();
        assert!(
            missing.is_empty(),
            "missing sections:\n{}",
            missing.join("\n")
        );
    }
}
