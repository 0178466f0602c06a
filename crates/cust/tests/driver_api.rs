//! Generates `docs/driver-api.md`, the table of `cust`'s wrapper of each function of `cuda.h`, and
//! checks that it is complete and up to date.
//!
//! The functions come from the bindings, their wrappers from searching the source of `cust` for
//! calls, and the reasons why others are not wrapped from `driver-api.txt`. To generate the page:
//!
//! ```sh
//! BLESS=1 cargo test -p cust --test driver_api
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cust::raw::Driver;

/// A rule of `driver-api.txt`.
struct Rule {
    pattern: String,
    raw: bool,
    why: String,
    used: std::cell::Cell<bool>,
}

impl Rule {
    /// Returns whether the name matches the pattern, in which `*` matches any string.
    fn fits(&self, name: &str) -> bool {
        let mut parts = self.pattern.split('*');
        let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
            return false;
        };
        for part in parts {
            // A trailing `*` matches the rest.
            rest = match rest.find(part) {
                Some(_) if part.is_empty() => "",
                Some(at) => &rest[at + part.len()..],
                None => return false,
            };
        }
        rest.is_empty()
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rules() -> Vec<Rule> {
    let text = fs::read_to_string(root().join("driver-api.txt")).unwrap();
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let parts: Vec<&str> = line.splitn(3, " : ").collect();
            let [pattern, kind, why] = parts[..] else {
                panic!("not a rule: {line}");
            };
            assert!(
                matches!(kind, "raw" | "none"),
                "neither raw nor none: {line}"
            );
            Rule {
                pattern: pattern.to_owned(),
                raw: kind == "raw",
                why: why.to_owned(),
                used: Default::default(),
            }
        })
        .collect()
}

fn files(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Returns the items of `cust` that call each function.
fn callers() -> BTreeMap<String, BTreeSet<String>> {
    let mut paths = Vec::new();
    files(&root().join("src"), &mut paths);
    paths.sort();
    let mut callers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let module = module_of(&path);
        let (mut owner, mut function) = (String::new(), String::new());
        for line in text.lines() {
            if line.starts_with("impl") {
                owner = type_of_impl(line);
                function.clear();
            } else if line.starts_with('}') {
                owner.clear();
                function.clear();
            }
            if let Some(name) = name_of_function(line) {
                function = name;
            }
            if line.trim_start().starts_with("//") {
                continue;
            }
            for called in names_in(line) {
                let place = [&module, &owner, &function];
                let place: Vec<&str> = (place.into_iter().map(String::as_str))
                    .filter(|part| !part.is_empty())
                    .collect();
                callers.entry(called).or_default().insert(place.join("::"));
            }
        }
    }
    callers
}

/// Returns the public module of a file: `memory` for `src/memory/pool.rs`, because directories
/// re-export the items of their files.
fn module_of(path: &Path) -> String {
    let relative = path.strip_prefix(root().join("src")).unwrap();
    let first = relative.components().next().unwrap();
    let first = first.as_os_str().to_string_lossy();
    let module = first.trim_end_matches(".rs");
    match module {
        "lib" => String::new(),
        module => module.to_owned(),
    }
}

/// Returns the type of an `impl` line: `DeviceBuffer` for
/// `impl<T: DeviceCopy> Drop for DeviceBuffer<T> {`.
fn type_of_impl(line: &str) -> String {
    let rest = line.strip_prefix("impl").unwrap().trim_start();
    let mut depth = 0;
    let mut start = 0;
    if rest.starts_with('<') {
        for (i, c) in rest.char_indices() {
            depth += i32::from(c == '<') - i32::from(c == '>');
            if depth == 0 {
                start = i + 1;
                break;
            }
        }
    }
    let rest = rest[start..].trim_start();
    let rest = rest.split_once(" for ").map_or(rest, |(_, ty)| ty);
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    rest[..end.unwrap_or(rest.len())].to_owned()
}

fn name_of_function(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    // Skip nested functions, which are indented deeper than methods.
    if line.starts_with("        ") || !line.contains("fn ") || line.trim_start().starts_with("//")
    {
        return None;
    }
    words.find(|word| *word == "fn")?;
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(name[..end.unwrap_or(name.len())].to_owned())
}

/// Returns the driver functions that a line calls or names.
fn names_in(line: &str) -> Vec<String> {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    words
        .filter(|word| Driver::FUNCTIONS.contains(word))
        .map(str::to_owned)
        .collect()
}

fn page() -> String {
    let (rules, callers) = (rules(), callers());
    let mut counts = [0; 3];
    let mut table = String::new();
    let mut missing = Vec::new();
    for name in Driver::FUNCTIONS {
        let (kind, text) = match callers.get(*name) {
            Some(callers) => {
                counts[0] += 1;
                let callers = callers.iter().map(|caller| format!("`{caller}`"));
                ("safe", callers.collect::<Vec<_>>().join(", "))
            }
            None => {
                let Some(rule) = rules.iter().find(|rule| rule.fits(name)) else {
                    missing.push(*name);
                    continue;
                };
                rule.used.set(true);
                counts[if rule.raw { 1 } else { 2 }] += 1;
                (if rule.raw { "raw" } else { "none" }, rule.why.clone())
            }
        };
        writeln!(table, "| `{name}` | {kind} | {text} |").unwrap();
    }
    assert!(
        missing.is_empty(),
        "no rule in driver-api.txt for {missing:?}"
    );
    let [safe, raw, none] = counts;
    format!(
        "# Driver API coverage\n\n\
         Coverage of the functions of CUDA 13.0's `cuda.h`, and the two of `cudaProfiler.h`, by `cust`:\n\n\
         - **safe** ({safe}): the items of `cust` that call the function. If an item is `unsafe`, its\n\
         \x20 documentation has the requirements.\n\
         - **raw** ({raw}): called through `Context::driver()`, which has every function; the last column\n\
         \x20 says why the function has no wrapper.\n\
         - **none** ({none}): not needed; the last column says what replaces the function.\n\n\
         `BLESS=1 cargo test -p cust --test driver_api` generates this page from the bindings, the source\n\
         of `cust` and `crates/cust/driver-api.txt`.\n\n\
         | function | coverage | items of `cust`, or reason |\n|---|---|---|\n{table}"
    )
}

#[test]
fn every_function_has_a_row_and_the_page_is_up_to_date() {
    let path = root().join("../../docs/driver-api.md");
    let page = page();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/driver-api.md is out of date: BLESS=1 cargo test -p cust --test driver_api"
    );
}

#[test]
fn patterns_fit_what_they_say() {
    let fits = |pattern: &str, name| {
        let rule = Rule {
            pattern: pattern.to_owned(),
            raw: true,
            why: String::new(),
            used: Default::default(),
        };
        rule.fits(name)
    };
    assert!(fits("cuLaunch", "cuLaunch"));
    assert!(!fits("cuLaunch", "cuLaunchGrid"));
    assert!(fits("cuTexRef*", "cuTexRefCreate"));
    assert!(fits("cuMem*Batch*", "cuMemPrefetchBatchAsync"));
    assert!(!fits("cuMem*Batch*", "cuMemcpy"));
    assert!(fits("cuOccupancy*WithFlags", "cuOccupancyFooWithFlags"));
    assert!(!fits("cuOccupancy*WithFlags", "cuOccupancyFooWithFlagsToo"));
}

#[test]
fn every_rule_is_needed() {
    let (rules, callers) = (rules(), callers());
    for name in Driver::FUNCTIONS {
        if !callers.contains_key(*name)
            && let Some(rule) = rules.iter().find(|rule| rule.fits(name))
        {
            rule.used.set(true);
        }
    }
    let unused = rules.iter().filter(|rule| !rule.used.get());
    let unused: Vec<&str> = unused.map(|rule| &*rule.pattern).collect();
    assert!(
        unused.is_empty(),
        "rules that no function needs: {unused:?}"
    );
}
