//! Runs `nvvm-ir` on the files of `tests/ir` and compares the output with the expectations in their
//! comments:
//!
//! - `; RUN: opt --passes=dead_functions`: the arguments; the file is appended. One or more.
//! - `; CHECK: text` and `; CHECK-NOT: text`: after the match of the previous check, the output of
//!   the last run contains this text, or does not contain it before the next match.
//! - `; ERROR: text`: the run fails with this message. On a line with code, at this line.
//!
//! A readable file is also written in both dialects, read and written again; the text must be the
//! same.

use std::path::{Path, PathBuf};
use std::process::Command;

use nvvm_ir::{Dialect, read_module, write_module};

#[test]
fn ir_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir");
    let entries = std::fs::read_dir(&folder).expect("tests/ir is there");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it is listed").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ll"));
    files.sort();
    assert!(!files.is_empty(), "no files in {}", folder.display());
    let errors: Vec<String> = files
        .iter()
        .filter_map(|file| Some(format!("{}: {}", file.display(), check(file).err()?)))
        .collect();
    assert!(
        errors.is_empty(),
        "{} of {} failed\n{}",
        errors.len(),
        files.len(),
        errors.join("\n")
    );
}

fn check(file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|err| err.to_string())?;
    let directives = |name: &'static str| {
        text.lines().enumerate().filter_map(move |(n, line)| {
            let (code, expected) = line.split_once(&format!("; {name}: "))?;
            Some((n + 1, !code.trim().is_empty(), expected.trim()))
        })
    };
    let runs: Vec<&str> = directives("RUN").map(|(_, _, run)| run).collect();
    if runs.is_empty() {
        return Err("no `; RUN:`".into());
    }
    let errors: Vec<_> = directives("ERROR").collect();
    for run in runs {
        let output = Command::new(env!("CARGO_BIN_EXE_nvvm-ir"))
            .args(run.split_whitespace())
            .arg(file)
            .output()
            .map_err(|err| err.to_string())?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.success() != errors.is_empty() {
            return Err(format!("`{run}` ended with {}\n{stderr}", output.status));
        }
        for &(line, in_line, expected) in &errors {
            let place = if in_line {
                format!("{}:{line}:", file.display())
            } else {
                String::new()
            };
            if !stderr
                .lines()
                .any(|l| l.contains(expected) && l.contains(&place))
            {
                return Err(format!(
                    "`{run}` does not say `{place}… {expected}` but\n{stderr}"
                ));
            }
        }
        check_output(&text, &stdout).map_err(|err| format!("`{run}`: {err}\n{stdout}"))?;
    }
    for dialect in [Dialect::Llvm7, Dialect::Modern] {
        let Ok(module) = read_module(&text) else {
            continue;
        };
        let once = write_module(&module, dialect);
        let again =
            read_module(&once).map_err(|err| format!("{dialect:?}, read again: {err}\n{once}"))?;
        let twice = write_module(&again, dialect);
        if once != twice {
            return Err(format!(
                "{dialect:?}: written again it is another text:\n{once}\n{twice}"
            ));
        }
    }
    Ok(())
}

fn check_output(text: &str, output: &str) -> Result<(), String> {
    let mut rest = output;
    let mut not: Vec<&str> = Vec::new();
    let absent = |not: &[&str], part: &str| match not.iter().find(|text| part.contains(**text)) {
        Some(text) => Err(format!("`{text}` is there")),
        None => Ok(()),
    };
    for line in text.lines() {
        if let Some((_, expected)) = line.split_once("; CHECK-NOT: ") {
            not.push(expected.trim());
        } else if let Some((_, expected)) = line.split_once("; CHECK: ") {
            let expected = expected.trim();
            let Some(at) = rest.find(expected) else {
                return Err(format!("`{expected}` is missing"));
            };
            absent(&not, &rest[..at])?;
            not.clear();
            rest = &rest[at + expected.len()..];
        }
    }
    absent(&not, rest)
}
