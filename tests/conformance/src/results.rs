//! Judges the tests' results, stores them as data, and generates the page from the data.
//!
//! The data is one file per device and level in `results/`, with one line per test: suite, test,
//! verdict, and the reason. Lines that start with `#` describe the run.

use crate::compile::Level;
use crate::listed::Listed;
use crate::pool::Ran;
use crate::sources::SUITES;
use crate::worker::{End, Test};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The verdict on a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It did what it should.
    Passed,
    /// It did not.
    Failed,
    /// It cannot apply, and is listed so; or the suite itself ignores it on such a target.
    NotApplicable,
    /// It is listed, but passes.
    ListedButPasses,
}

impl Verdict {
    const ALL: [(Verdict, &'static str); 4] = [
        (Verdict::Passed, "passed"),
        (Verdict::Failed, "failed"),
        (Verdict::NotApplicable, "not applicable"),
        (Verdict::ListedButPasses, "listed but passes"),
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        Verdict::ALL[self as usize].1
    }

    /// Whether all is well.
    pub fn is_green(self) -> bool {
        matches!(self, Verdict::Passed | Verdict::NotApplicable)
    }
}

/// A verdict and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it failed or does not apply.
    pub why: String,
}

/// Judges a test.
pub fn judge(suite: &str, level: Level, ran: &Ran, listed: &Listed) -> Judged {
    let test = &ran.test;
    if let Some(message) = &test.ignored {
        let why = match &message[..] {
            "" => "ignored by the suite",
            message => message,
        };
        return Judged {
            verdict: Verdict::NotApplicable,
            why: why.to_owned(),
        };
    }
    let failure = failure(test, ran.end.as_ref());
    let (verdict, why) = match (listed.reason(suite, level, &test.name), failure) {
        (None, None) => (Verdict::Passed, String::new()),
        (None, Some(failure)) => (Verdict::Failed, failure),
        (Some(reason), Some(_)) => (Verdict::NotApplicable, reason.to_owned()),
        (Some(reason), None) => (Verdict::ListedButPasses, reason.to_owned()),
    };
    Judged { verdict, why }
}

/// The reason why a test's outcome is wrong.
fn failure(test: &Test, end: Option<&End>) -> Option<String> {
    let panicked = |message: &str, place: &str| {
        // Where the sources lie differs.
        let place = place
            .rsplit_once("library/")
            .map_or(place, |(_, rest)| rest);
        format!("{place}: {message}")
    };
    match (&test.should_panic, end) {
        (None, Some(End::Returned)) => None,
        (None, Some(End::Panicked(message, place))) => Some(panicked(message, place)),
        (Some(expected), Some(End::Panicked(message, place))) => (!message.contains(expected))
            .then(|| {
                format!(
                    "should panic with {expected:?}: {}",
                    panicked(message, place)
                )
            }),
        (Some(_), Some(End::Returned)) => Some("should panic, and returned".to_owned()),
        (_, Some(End::Fault(text))) => Some(text.clone()),
        (_, None) => Some("was not run".to_owned()),
    }
}

/// All verdicts of a device and a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// The description of the run: names and values.
    pub about: Vec<(String, String)>,
    /// By suite and test.
    pub tests: BTreeMap<(String, String), (String, String)>,
}

impl Results {
    /// Adds what another run saw.
    pub fn merge(&mut self, other: Results) {
        let seconds = |about: &[(String, String)]| -> u64 {
            let time = about.iter().find(|(name, _)| name == "time");
            let number = time.and_then(|(_, time)| time.split(' ').next()?.parse().ok());
            number.unwrap_or(0)
        };
        let time = seconds(&self.about) + seconds(&other.about);
        self.about = other.about;
        for (name, value) in &mut self.about {
            if name == "time" {
                *value = format!("{time} s");
            }
        }
        self.tests.extend(other.tests);
    }

    /// Adds a test.
    pub fn add(&mut self, suite: &str, test: &str, judged: &Judged) {
        let why: String = judged.why.split_whitespace().collect::<Vec<_>>().join(" ");
        let why = why.chars().take(300).collect();
        let key = (suite.to_owned(), test.to_owned());
        self.tests
            .insert(key, (judged.verdict.name().to_owned(), why));
    }

    /// As the file's text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.about {
            text += &format!("# {name}: {value}\n");
        }
        for ((suite, test), (verdict, why)) in &self.tests {
            let line = format!("{suite}\t{test}\t{verdict}\t{why}");
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// From the file's text.
    pub fn parse(text: &str) -> Result<Results> {
        let mut results = Results::default();
        for line in text.lines() {
            if let Some((name, value)) = line
                .strip_prefix("# ")
                .and_then(|line| line.split_once(": "))
            {
                results.about.push((name.to_owned(), value.to_owned()));
                continue;
            }
            let mut fields = line.splitn(4, '\t').map(str::to_owned);
            let mut next = || fields.next();
            let key = next().zip(next()).context("a line without a test")?;
            let verdict = next().context("a line without a verdict")?;
            results
                .tests
                .insert(key, (verdict, next().unwrap_or_default()));
        }
        Ok(results)
    }

    fn count(&self, suite: &str, verdict: Verdict) -> usize {
        self.tests
            .iter()
            .filter(|((of, _), (word, _))| of == suite && word == verdict.name())
            .count()
    }
}

/// The page of the documentation.
pub fn page(results: &[(String, Results)], listed: &Listed) -> String {
    let mut text = String::from(
        "# The standard library's own tests\n\n\
         Generated by `./x conformance --write` from `tests/conformance/results`; do not edit.\n\n\
         `coretests` and `alloctests` of the pinned toolchain, compiled for the device; each \
         `#[test]` is a launch of one thread. O0 builds have debug assertions and overflow checks. \
         Tests that do not apply are listed below with the reason.\n\n\
         | device, level | suite | applicable | passed | failed | not applicable |\n\
         |---|---|---|---|---|---|\n",
    );
    for (name, results) in results {
        for suite in SUITES {
            let of = |verdict| results.count(suite.name, verdict);
            let (passed, failed) = (of(Verdict::Passed), of(Verdict::Failed));
            let apply = passed + failed;
            text += &format!(
                "| {name} | {} ({}) | {apply} | {passed} ({:.2} %) | {failed} | {} |\n",
                suite.name,
                suite.what,
                passed as f64 * 100.0 / apply.max(1) as f64,
                of(Verdict::NotApplicable)
            );
        }
    }
    text += "\n## Runs\n\n";
    for (name, results) in results {
        let about: Vec<String> = results
            .about
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        text += &format!("- {name}: {}\n", about.join(", "));
    }
    text += "\n## Failures\n\n";
    let mut failing: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    let mut why: BTreeMap<(String, String), &str> = BTreeMap::new();
    for (name, results) in results {
        for (key, (verdict, text)) in &results.tests {
            if verdict == Verdict::Failed.name() {
                failing.entry(key.clone()).or_default().push(name);
                why.insert(key.clone(), text);
            }
        }
    }
    if failing.is_empty() {
        text += "None.\n";
    }
    for (key, names) in &failing {
        let (suite, test) = key;
        let why = why.get(key).copied().unwrap_or_default().replace('`', "'");
        text += &format!("- {suite} `{test}` ({}): {why}\n", names.join(", "));
    }
    text += "\n## Not applicable\n";
    let mut reasons: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, results) in results {
        for ((suite, test), (verdict, why)) in &results.tests {
            if verdict == Verdict::NotApplicable.name() {
                let tests = reasons.entry(why.clone()).or_default();
                tests.insert(format!("{suite} `{test}`"));
            }
        }
    }
    for cut in &listed.cuts {
        let tests = reasons.entry(cut.reason.clone()).or_default();
        let item = cut.item.trim_end_matches('(');
        tests.insert(match &cut.instead {
            None => format!("{} `{item}` (not compiled)", cut.file),
            Some(instead) => format!("{} `{item}` (here `{instead}`)", cut.file),
        });
    }
    for (reason, tests) in reasons {
        let tests: Vec<String> = tests.into_iter().collect();
        text += &format!("\n{reason}: {}\n\n- {}\n", tests.len(), tests.join("\n- "));
    }
    text
}

/// Reads all files of results of a directory.
pub fn read_all(directory: &Path) -> Result<Vec<(String, Results)>> {
    let mut all = Vec::new();
    if directory.is_dir() {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "tsv") {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let results = Results::parse(&std::fs::read_to_string(&path)?)
                    .with_context(|| format!("in {}", path.display()))?;
                all.push((stem.replace('-', ", "), results));
            }
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(should_panic: Option<&str>, end: End) -> Ran {
        Ran {
            test: Test {
                name: "a".to_owned(),
                should_panic: should_panic.map(str::to_owned),
                ..Test::default()
            },
            end: Some(end),
            time: 0,
        }
    }

    #[test]
    fn a_test_is_judged_by_its_panic_and_by_the_list() {
        let none = Listed::default();
        let listed = Listed::parse("= no threads\ns a").expect("a list");
        let panicked = || End::Panicked("index 3 is out".to_owned(), "f.rs:1:1".to_owned());
        for (should_panic, end, verdict, verdict_if_listed) in [
            (
                None,
                End::Returned,
                Verdict::Passed,
                Verdict::ListedButPasses,
            ),
            (None, panicked(), Verdict::Failed, Verdict::NotApplicable),
            (
                Some(""),
                panicked(),
                Verdict::Passed,
                Verdict::ListedButPasses,
            ),
            (
                Some("index 3"),
                panicked(),
                Verdict::Passed,
                Verdict::ListedButPasses,
            ),
            (
                Some("index 4"),
                panicked(),
                Verdict::Failed,
                Verdict::NotApplicable,
            ),
            (
                Some(""),
                End::Returned,
                Verdict::Failed,
                Verdict::NotApplicable,
            ),
            (
                Some(""),
                End::Fault(String::new()),
                Verdict::Failed,
                Verdict::NotApplicable,
            ),
        ] {
            let ran = ran(should_panic, end);
            assert_eq!(
                judge("s", Level::O3, &ran, &none).verdict,
                verdict,
                "{ran:?}"
            );
            assert_eq!(
                judge("s", Level::O3, &ran, &listed).verdict,
                verdict_if_listed,
                "{ran:?}"
            );
        }
    }

    #[test]
    fn data_is_read_as_it_was_written() {
        let mut results = Results::default();
        results.about.push(("date".to_owned(), "today".to_owned()));
        let judged = |verdict, why: &str| Judged {
            verdict,
            why: why.to_owned(),
        };
        results.add("s", "a::b", &judged(Verdict::Passed, ""));
        results.add("s", "c", &judged(Verdict::Failed, "left\n  right\t1"));
        assert_eq!(Results::parse(&results.to_text()).expect("data"), results);
    }

    #[test]
    fn the_page_is_that_of_the_data() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let results = read_all(&here.join("results")).expect("the data");
        let listed = Listed::parse(include_str!("../not-applicable.txt")).expect("the list");
        let file = std::fs::read_to_string(here.join("../../docs/conformance.md"));
        assert_eq!(file.expect("the page"), page(&results, &listed));
    }
}
