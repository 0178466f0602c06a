//! The list of tests that cannot apply, `not-applicable.txt`, and the code cut out of a suite's
//! source because it cannot even compile.
//!
//! A line that starts with `=` is a reason; the lines below it are what it is the reason of:
//!
//! ```text
//! = device code cannot spawn threads
//! alloctests arc::manually_share_arc
//! cut alloctests/tests/foo.rs fn bar(
//! change alloctests/tests/foo.rs LENGTH: usize = 1_000_000 => LENGTH: usize = 1_000
//! ```
//!
//! `alloctests@O0` lists a test for that level alone. A cut names a file of rust-src and the text
//! with which an item starts in it; a change, a piece of its text and what stands there instead.

use crate::compile::Level;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;

/// The list.
#[derive(Debug, Default)]
pub struct Listed {
    /// The reasons, by suite and test.
    pub tests: BTreeMap<(String, String), String>,
    /// The code to cut.
    pub cuts: Vec<Cut>,
}

/// An item that does not compile, or a piece of text that is replaced.
#[derive(Debug, Clone)]
pub struct Cut {
    /// The file, in rust-src's directory `library`.
    pub file: String,
    /// How the item starts, or the piece of text.
    pub item: String,
    /// The replacement.
    pub instead: Option<String>,
    /// Why it is cut.
    pub reason: String,
}

impl Listed {
    /// Reads the list.
    pub fn parse(text: &str) -> Result<Listed> {
        let mut listed = Listed::default();
        let mut reason = None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(text) = line.strip_prefix('=') {
                reason = Some(text.trim().to_owned());
                continue;
            }
            let at = || format!("not-applicable.txt, line {}", number + 1);
            let reason = reason.clone().with_context(at)?;
            let (first, rest) = line.split_once(' ').with_context(at)?;
            if first == "cut" || first == "change" {
                let (file, item) = rest.split_once(' ').with_context(at)?;
                let (item, instead) = match item.split_once(" => ") {
                    Some((item, instead)) if first == "change" => (item, Some(instead.to_owned())),
                    _ if first == "change" => bail!("{}: a change has a ` => `", at()),
                    _ => (item, None),
                };
                listed.cuts.push(Cut {
                    file: file.to_owned(),
                    item: item.to_owned(),
                    instead,
                    reason,
                });
            } else {
                let key = (first.to_owned(), rest.trim().to_owned());
                if listed.tests.insert(key, reason).is_some() {
                    bail!("{}: listed twice", at());
                }
            }
        }
        Ok(listed)
    }

    /// Why a test cannot apply at a level.
    pub fn reason(&self, suite: &str, level: Level, test: &str) -> Option<&str> {
        let of = |suite: String| self.tests.get(&(suite, test.to_owned()));
        of(suite.to_owned())
            .or_else(|| of(format!("{suite}@{}", level.name())))
            .map(String::as_str)
    }

    /// The suites and tests that are listed for a level.
    pub fn at(&self, level: Level) -> impl Iterator<Item = (&str, &str)> {
        self.tests.keys().filter_map(move |(suite, test)| {
            let (suite, of) = suite.split_once('@').unwrap_or((suite, level.name()));
            (of == level.name()).then_some((suite, &test[..]))
        })
    }
}

impl Cut {
    /// Takes the item out of a file's text, or changes it. Lines stay where they are.
    pub fn apply(&self, text: &str) -> Result<String> {
        let mut parts = text.match_indices(&self.item).map(|(at, _)| at);
        let (Some(at), None) = (parts.next(), parts.next()) else {
            bail!(
                "{} is to be cut out of {}, and is not there just once",
                self.item,
                self.file
            );
        };
        Ok(match &self.instead {
            None => format!("{}#[cfg(false)] {}", &text[..at], &text[at..]),
            Some(instead) => text.replacen(&self.item, instead, 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_hold_for_what_is_below_them() {
        let listed =
            Listed::parse("# a\n= no threads\ncore a::b\ncut x/y.rs fn c(\n= two\ncore@O0 d")
                .expect("a list");
        assert_eq!(listed.reason("core", Level::O3, "a::b"), Some("no threads"));
        assert_eq!(listed.reason("core", Level::O0, "d"), Some("two"));
        assert_eq!(listed.reason("core", Level::O3, "d"), None);
        assert_eq!(listed.reason("alloc", Level::O0, "d"), None);
        let tests = |level| listed.at(level).collect::<Vec<_>>();
        assert_eq!(tests(Level::O0), [("core", "a::b"), ("core", "d")]);
        assert_eq!(tests(Level::O3), [("core", "a::b")]);
        assert_eq!(listed.cuts[0].file, "x/y.rs");
        assert!(Listed::parse("core a").is_err());
        assert!(Listed::parse("= r\ncore a\ncore a").is_err());
    }

    #[test]
    fn a_cut_takes_one_item_and_keeps_the_lines() {
        let cut = Cut {
            file: String::new(),
            item: "fn b()".to_owned(),
            instead: None,
            reason: String::new(),
        };
        let text = "#[test]\nfn a() {}\n#[test]\nfn b() {}\n";
        let after = cut.apply(text).expect("there is one");
        assert_eq!(
            after,
            "#[test]\nfn a() {}\n#[test]\n#[cfg(false)] fn b() {}\n"
        );
        assert!(cut.apply("").is_err());
        assert!(cut.apply("fn b() fn b()").is_err());
    }

    #[test]
    fn a_change_replaces_a_piece_of_text() {
        let list = "= long\nchange x/y.rs N: u32 = 1_000; => N: u32 = 10;";
        let listed = Listed::parse(list).expect("it is a list");
        let after = listed.cuts[0].apply("const N: u32 = 1_000;\n");
        assert_eq!(after.expect("there is one"), "const N: u32 = 10;\n");
        assert!(Listed::parse("= long\nchange x/y.rs N: u32").is_err());
    }
}
