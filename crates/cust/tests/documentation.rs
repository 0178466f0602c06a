//! The documentation of the public API of `cust`, `cust_core` and `cuda_std`: every public module
//! has an example, and every function has the sections that its signature and its body call for.

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

/// Returns the text of a function: from its first line to the end of its body or declaration.
fn function(lines: &[&str]) -> String {
    let mut text = String::new();
    let (mut depth, mut body) = (0usize, false);
    for line in lines {
        let code = line.split("//").next().unwrap_or_default();
        depth += code.matches('{').count();
        depth = depth.saturating_sub(code.matches('}').count());
        body |= code.contains('{');
        text += code;
        text.push('\n');
        if depth == 0 && (body || code.ends_with(';')) {
            break;
        }
    }
    text
}

/// Returns whether a body has a statement that panics on wrong arguments or results. Assertions
/// in `const` blocks fail at compile time, and those with `debug_` are for the crate's own bugs.
fn panics(body: &str) -> bool {
    let mut text = body.replace("debug_assert", "");
    while let Some((before, after)) = text.split_once("const {") {
        let end = after.find("};").unwrap_or(after.len());
        text = format!("{before}{}", &after[end..]);
    }
    let statements = [
        "assert!(",
        "assert_eq!(",
        "panic!(",
        ".unwrap()",
        ".expect(",
    ];
    statements.iter().any(|statement| text.contains(statement))
}

/// Returns the sections that functions in a file lack: each with the function's line.
fn missing_sections(path: &Path) -> Vec<String> {
    let text = source(path);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let indents: Vec<usize> = text
        .lines()
        .map(|line| line.len() - line.trim_start().len())
        .collect();
    let mut missing = Vec::new();
    let (mut doc, mut hidden) = (String::new(), false);
    // The indentation of the public trait around the line.
    let mut in_trait = None;
    for (at, &line) in lines.iter().enumerate() {
        if (line.starts_with("pub trait ") || line.starts_with("pub unsafe trait "))
            && !hidden
            && !line.ends_with('}')
        {
            in_trait = Some(indents[at]);
        } else if in_trait == Some(indents[at]) && line.starts_with('}') {
            in_trait = None;
        }
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
            || line.starts_with("pub const fn ")
            || line.starts_with("pub const unsafe fn ")
            || in_trait.is_some() && (line.starts_with("fn ") || line.starts_with("unsafe fn "));
        if is_function && !hidden {
            let text = function(&lines[at..]);
            let (signature, body) = text.split_once('{').unwrap_or((&text, ""));
            let mut require = |section: &str| {
                if !doc.contains(section) {
                    missing.push(format!("{}:{}: {section}", path.display(), at + 1));
                }
            };
            if signature.contains("-> CudaResult<") || signature.contains("-> Result<") {
                require("# Errors");
            }
            if panics(body) {
                require("# Panics");
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

fn roots() -> [PathBuf; 3] {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["src", "../cust_core/src", "../cuda_std/src"].map(|root| own.join(root))
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
            let example = |line: &str| line.starts_with("//! ```") && line != "//! ```text";
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
    let mut all = Vec::new();
    for root in roots() {
        files(&root, &mut all);
    }
    let missing: Vec<String> = all.iter().flat_map(|file| missing_sections(file)).collect();
    assert!(
        missing.is_empty(),
        "missing sections:\n{}",
        missing.join("\n")
    );
}
