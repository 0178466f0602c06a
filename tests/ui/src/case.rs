//! Parses a case: its directives, and the expected diagnostics by line.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// How bad a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "rustc's names")]
pub enum Kind {
    Error,
    Warning,
    Note,
    Help,
}

impl Kind {
    /// Reads a kind as it is written in a case.
    fn parse(name: &str) -> Option<Kind> {
        Some(match name {
            "ERROR" => Kind::Error,
            "WARNING" | "WARN" => Kind::Warning,
            "NOTE" => Kind::Note,
            "HELP" => Kind::Help,
            _ => return None,
        })
    }
}

/// A message that has to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The line it is about; none if it is about no line of the case.
    pub line: Option<usize>,
    /// How bad it is.
    pub kind: Kind,
    /// A substring of its text.
    pub text: String,
}

/// The parts of the CUDA toolkit that the compiler finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolkit {
    /// All of it.
    Whole,
    /// Nothing: the variables name an empty directory.
    None,
    /// The directory that `--cuda` names is empty, and there is no other.
    EmptyOption,
    /// A libnvvm that is a text file.
    TextFile,
    /// A libnvvm without its functions.
    NoFunctions,
    /// libnvvm without libdevice.
    NoLibdevice,
}

impl Toolkit {
    fn parse(name: &str) -> Option<Toolkit> {
        Some(match name {
            "none" => Toolkit::None,
            "empty-option" => Toolkit::EmptyOption,
            "text-file" => Toolkit::TextFile,
            "no-functions" => Toolkit::NoFunctions,
            "no-libdevice" => Toolkit::NoLibdevice,
            _ => return None,
        })
    }

    /// Whether the test has no meaning where a toolkit is installed in the system's directory.
    pub fn needs_bare_system(self) -> bool {
        matches!(
            self,
            Toolkit::None | Toolkit::EmptyOption | Toolkit::NoLibdevice
        )
    }
}

/// A case, as its file says.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file's name without the extension.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Further arguments for rustc.
    pub flags: Vec<String>,
    /// Libraries to compile first.
    pub libraries: Vec<PathBuf>,
    /// The available parts of the CUDA toolkit.
    pub toolkit: Toolkit,
    /// Whether it compiles.
    pub passes: bool,
    /// Whether the whole text is kept.
    pub snapshot: bool,
    /// The messages that have to come.
    pub expected: Vec<Expected>,
}

impl Case {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Case> {
        let name = path.file_stem().and_then(|name| name.to_str());
        let mut case = Case {
            name: name.context("the file has no name")?.to_owned(),
            path: path.to_owned(),
            flags: Vec::new(),
            libraries: Vec::new(),
            toolkit: Toolkit::Whole,
            passes: false,
            snapshot: true,
            expected: Vec::new(),
        };
        let text = fs::read_to_string(path)?;
        case.read_text(&text)
            .with_context(|| format!("in {}", path.display()))?;
        Ok(case)
    }

    /// The file of the whole text that rustc prints.
    pub fn snapshot_path(&self) -> PathBuf {
        self.path.with_extension("stderr")
    }

    fn read_text(&mut self, text: &str) -> Result<()> {
        let mut previous = None;
        for (line, number) in text.lines().zip(1..) {
            if let Some(directive) = line.trim_start().strip_prefix("//@ ") {
                self.read_directive(directive)?;
            } else if let Some((_, annotation)) = line.split_once("//~") {
                let expected =
                    read_annotation(annotation, number, previous).with_context(|| {
                        format!("line {number}: `//~{annotation}` is no annotation")
                    })?;
                previous = Some(expected.line);
                self.expected.push(expected);
            }
        }
        if self.passes == self.expected.iter().any(|e| e.kind == Kind::Error) {
            bail!("it has to expect an error, or else to be `//@ check-pass`");
        }
        Ok(())
    }

    fn read_directive(&mut self, directive: &str) -> Result<()> {
        let (name, value) = directive.split_once(':').unwrap_or((directive, ""));
        let value = value.trim();
        match name.trim() {
            "compile-flags" => self
                .flags
                .extend(value.split_whitespace().map(str::to_owned)),
            "aux-build" => {
                let directory = self.path.with_file_name("auxiliary");
                self.libraries.push(directory.join(value));
            }
            "toolkit" => {
                let toolkit = Toolkit::parse(value);
                self.toolkit = toolkit.with_context(|| format!("no toolkit `{value}`"))?;
            }
            "check-pass" => self.passes = true,
            "no-snapshot" => self.snapshot = false,
            _ => bail!("`//@ {directive}` is no directive"),
        }
        Ok(())
    }
}

/// Reads what stands behind `//~`. `previous` is the line of the annotation before it.
fn read_annotation(text: &str, number: usize, previous: Option<Option<usize>>) -> Option<Expected> {
    let end = text.find(' ')?;
    let (place, rest) = text.split_at(end);
    let line = match place {
        "" => Some(number),
        "?" => None,
        "|" => previous?,
        "v" => Some(number + 1),
        _ if place.bytes().all(|byte| byte == b'^') => Some(number.checked_sub(place.len())?),
        _ => return None,
    };
    let (kind, text) = rest.trim_start().split_once(' ')?;
    Some(Expected {
        line,
        kind: Kind::parse(kind)?,
        text: text.trim().to_owned(),
    })
}

/// The flags that a library of a case is compiled with.
pub fn flags_of_library(path: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("the library {} cannot be read", path.display()))?;
    Ok(text
        .lines()
        .filter_map(|line| line.strip_prefix("//@ compile-flags:"))
        .flat_map(|flags| flags.split_whitespace().map(str::to_owned))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotation(text: &str) -> Option<Expected> {
        read_annotation(text, 10, Some(Some(7)))
    }

    #[test]
    fn annotations_know_their_line() {
        let line = |text| annotation(text).expect("an annotation").line;
        assert_eq!(line(" ERROR a b"), Some(10));
        assert_eq!(line("^ ERROR a"), Some(9));
        assert_eq!(line("^^^ NOTE a"), Some(7));
        assert_eq!(line("v HELP a"), Some(11));
        assert_eq!(line("| NOTE a"), Some(7));
        assert_eq!(line("? ERROR a"), None);
    }

    #[test]
    fn mistakes_in_annotations_are_found() {
        for text in ["", " error a", "^v ERROR a", " ERROR", "! ERROR a"] {
            assert_eq!(annotation(text), None, "{text}");
        }
    }
}
