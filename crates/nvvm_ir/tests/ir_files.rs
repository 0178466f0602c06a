//! Runs `nvvm-ir` on the files of `tests/ir` and compares the output with the expectations in their
//! comments:
//!
//! - `; RUN: opt --passes=dead_functions`: the arguments; the file is appended. One or more. With
//!   `--check-prefix=NAME`, which `nvvm-ir` does not see, `NAME` replaces `CHECK` below.
//! - `; CHECK: text`: after the match of the previous check, the output contains this text.
//! - `; CHECK-NEXT: text`: the line after the match of the previous check is this text, apart from
//!   indentation. Empty lines do not count.
//! - `; CHECK-LABEL: text`: the same as `CHECK`, for the line that begins a function.
//! - `; CHECK-NOT: text`: the output does not contain this text before the next match.
//! - `; ERROR: text`: the run fails with this message. On a line with code, at this line.
//!
//! A readable file is also written in both dialects, read and written again; the text must be the
//! same.
//!
//! The files of `tests/ir/passes` and `tests/ir/legalize` have the names of the source files that
//! they test. With `BLESS=1`, the checks after a function that begin with `; CHECK-LABEL:` are
//! replaced by the function in the output.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nvvm_ir::{Dialect, read_module, write_module};

/// Source files without a pass or legalization of their own.
const HELPERS: &[&str] = &[
    "legalize/emit.rs",
    "legalize/error.rs",
    "legalize/mod.rs",
    "legalize/rewriter.rs",
    "passes/reachable.rs",
    "passes/select_elements/choices.rs",
    "passes/share_slots/access.rs",
    "passes/share_slots/live.rs",
    "passes/share_slots/place.rs",
    "passes/terms.rs",
    "passes/unroll_array_loops/known.rs",
    "passes/unroll_array_loops/whole_warps.rs",
];

/// Source files whose pass takes functions or calls that the backend chooses; their unit tests cover
/// them.
const NO_COMMAND: &[&str] = &[
    "passes/call_directly.rs",
    "passes/call_pointers.rs",
    "passes/parameters.rs",
];

fn tests_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir")
}

/// Returns the files with an extension in a directory and its subdirectories, sorted, with paths
/// relative to the directory.
fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        let entries = std::fs::read_dir(&dir).unwrap_or_else(|err| panic!("{dir:?}: {err}"));
        for path in entries.map(|entry| entry.expect("the directory is readable").path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    let relative = |path: &PathBuf| path.strip_prefix(dir).expect("inside").to_owned();
    let mut files: Vec<PathBuf> = files.iter().map(relative).collect();
    files.sort();
    files
}

#[test]
fn ir_files() {
    let dir = tests_dir();
    let files = files(&dir, "ll");
    assert!(!files.is_empty(), "no files in {}", dir.display());
    let errors: Vec<String> = files
        .iter()
        .map(|file| dir.join(file))
        .filter_map(|file| Some(format!("{}: {}", file.display(), check(&file).err()?)))
        .collect();
    assert!(
        errors.is_empty(),
        "{} of {} failed\n{}",
        errors.len(),
        files.len(),
        errors.join("\n")
    );
}

/// Every pass and legalization has a file, and every such file a pass or legalization.
#[test]
fn each_pass_has_a_file() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for group in ["passes", "legalize"] {
        let sources = files(&src.join(group), "rs");
        let tests = files(&tests_dir().join(group), "ll");
        let in_group = |file: PathBuf| Path::new(group).join(file);
        let sources: Vec<PathBuf> = sources.into_iter().map(in_group).collect();
        let tests: Vec<PathBuf> = tests.into_iter().map(in_group).collect();
        assert!(sources.len() > 5, "{group} has its sources");
        for source in &sources {
            let exempt = [HELPERS, NO_COMMAND].concat();
            let exempt = exempt.iter().any(|file| source == Path::new(file));
            let tested = tests.contains(&source.with_extension("ll"));
            assert!(
                exempt != tested,
                "{source:?}: expected a test {:?}, or an entry in `HELPERS`",
                source.with_extension("ll")
            );
        }
        for test in &tests {
            assert!(
                sources.contains(&test.with_extension("rs")),
                "{test:?} has the name of no source file"
            );
        }
    }
}

/// A check of the output.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Check<'t> {
    Contains(&'t str),
    Next(&'t str),
    Not(&'t str),
}

/// A line `; RUN:`.
struct Run<'t> {
    text: &'t str,
    args: Vec<&'t str>,
    prefix: &'t str,
}

impl<'t> Run<'t> {
    fn new(text: &'t str) -> Run<'t> {
        let mut run = Run {
            text,
            args: Vec::new(),
            prefix: "CHECK",
        };
        for arg in text.split_whitespace() {
            match arg.strip_prefix("--check-prefix=") {
                Some(prefix) => run.prefix = prefix,
                None => run.args.push(arg),
            }
        }
        run
    }

    fn output(&self, file: &Path) -> Result<std::process::Output, String> {
        Command::new(env!("CARGO_BIN_EXE_nvvm-ir"))
            .args(&self.args)
            .arg(file)
            .output()
            .map_err(|err| err.to_string())
    }

    /// Returns the checks of the output in a file.
    fn checks(&self, text: &'t str) -> Vec<Check<'t>> {
        text.lines().filter_map(|line| self.check(line)).collect()
    }

    fn check(&self, line: &'t str) -> Option<Check<'t>> {
        let start = line.find(&format!("; {}", self.prefix))?;
        let (kind, expected) = line[start + 2 + self.prefix.len()..].split_once(':')?;
        let expected = expected.trim();
        match kind {
            "" | "-LABEL" => Some(Check::Contains(expected)),
            "-NEXT" => Some(Check::Next(expected)),
            "-NOT" => Some(Check::Not(expected)),
            _ => None,
        }
    }
}

fn check(file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|err| err.to_string())?;
    let directives = |name: &'static str| {
        text.lines().enumerate().filter_map(move |(n, line)| {
            let (code, expected) = line.split_once(&format!("; {name}: "))?;
            Some((n + 1, !code.trim().is_empty(), expected.trim()))
        })
    };
    let runs: Vec<Run> = (directives("RUN"))
        .map(|(_, _, run)| Run::new(run))
        .collect();
    if runs.is_empty() {
        return Err("no `; RUN:`".into());
    }
    if std::env::var_os("BLESS").is_some() {
        let blessed = bless(file, &text, &runs)?;
        if blessed != text {
            std::fs::write(file, blessed).map_err(|err| err.to_string())?;
            return check(file);
        }
    }
    let errors: Vec<_> = directives("ERROR").collect();
    for run in &runs {
        let name = run.text;
        let output = run.output(file)?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.success() != errors.is_empty() {
            return Err(format!("`{name}` exited with {}\n{stderr}", output.status));
        }
        for &(line, in_line, expected) in &errors {
            let location = if in_line {
                format!("{}:{line}:", file.display())
            } else {
                String::new()
            };
            if !stderr
                .lines()
                .any(|l| l.contains(expected) && l.contains(&location))
            {
                return Err(format!(
                    "`{name}` does not report `{location}… {expected}` but\n{stderr}"
                ));
            }
        }
        let checks = run.checks(&text);
        // A pass or legalization that does nothing must not go unnoticed.
        let transforms = run.args.iter().any(|arg| arg.starts_with("--passes="));
        if transforms && errors.is_empty() && checks.is_empty() {
            return Err(format!("no `; {}:` for `{name}`", run.prefix));
        }
        check_output(&checks, &stdout).map_err(|err| format!("`{name}`: {err}\n{stdout}"))?;
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

fn check_output(checks: &[Check], output: &str) -> Result<(), String> {
    let mut rest = output;
    let mut not: Vec<&str> = Vec::new();
    let absent = |not: &[&str], part: &str| match not.iter().find(|text| part.contains(**text)) {
        Some(text) => Err(format!("`{text}` is there")),
        None => Ok(()),
    };
    for check in checks {
        match *check {
            Check::Not(text) => not.push(text),
            Check::Contains(text) => {
                let Some(at) = rest.find(text) else {
                    return Err(format!("`{text}` is missing"));
                };
                absent(&not, &rest[..at])?;
                not.clear();
                rest = &rest[at + text.len()..];
            }
            Check::Next(text) => {
                let next = rest.split_once('\n').map_or("", |(_, next)| next);
                let next = next.trim_start_matches('\n');
                let line = next.lines().next().unwrap_or_default();
                if line.trim() != text {
                    return Err(format!("expected the line `{text}`, found `{line}`"));
                }
                rest = &next[line.len()..];
            }
        }
    }
    absent(&not, rest)
}

/// Returns the name of the function that a line defines.
fn defined(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("define ")?;
    let (_, rest) = rest.split_once(" @")?;
    Some(rest.split_once('(')?.0)
}

/// Replaces the checks after each function with the function in the output, for the prefixes that
/// have a `-LABEL` there.
fn bless(file: &Path, text: &str, runs: &[Run]) -> Result<String, String> {
    let mut blessed = String::new();
    let mut lines = text.lines().peekable();
    let mut name = None;
    while let Some(line) = lines.next() {
        name = defined(line).or(name);
        let labels = |run: &&Run| line.starts_with(&format!("; {}-LABEL:", run.prefix));
        let (Some(name), Some(run)) = (name, runs.iter().find(labels)) else {
            let _ = writeln!(blessed, "{line}");
            continue;
        };
        let next = format!("; {}-NEXT:", run.prefix);
        while lines.next_if(|line| line.starts_with(&next)).is_some() {}
        let output = run.output(file)?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let output = String::from_utf8_lossy(&output.stdout);
        let function = (output.lines())
            .skip_while(|line| defined(line) != Some(name))
            .take_while(|line| *line != "}")
            .filter(|line| !line.is_empty());
        for (i, line) in function.chain(["}"]).enumerate() {
            let kind = if i == 0 { "LABEL" } else { "NEXT" };
            let _ = writeln!(blessed, "; {}-{kind}: {line}", run.prefix);
        }
    }
    Ok(blessed)
}
