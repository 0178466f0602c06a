//! Parses libnvvm's log, which is free-form text, into structured entries.
//!
//! The formats were collected from versions 12.9, 13.0 and 13.5:
//! `module (4, 18): parse expected value token` from the text parser,
//! `libnvvm : error: -foo=1 is an unsupported option` from the options,
//! `error: Error: : Function ...: Invalid ...` from NVIDIA's verifier, messages of LLVM's verifier
//! with the offending instruction indented below, and `module: link error: error: ...` from the
//! linker.

use std::fmt;

/// The severity of a log entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The compilation failed.
    Error,
    /// The compilation continued.
    Warning,
    /// Information, possibly about another entry.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// A message of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The severity; [`Severity::Error`] if the log has none.
    pub severity: Severity,
    /// The name of the module, as passed to `add_module`.
    pub module: Option<String>,
    /// The line in the module's text, from 1.
    pub line: Option<u32>,
    /// The column in that line, from 1.
    pub column: Option<u32>,
    /// The message without location and severity; may have several lines.
    pub message: String,
    /// The unparsed text of this entry.
    pub raw: String,
}

impl fmt::Display for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(module) = &self.module {
            write!(f, "{module}")?;
            for number in [self.line, self.column].into_iter().flatten() {
                write!(f, ":{number}")?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{}: {}", self.severity, self.message)
    }
}

/// Parses a log. `modules` are the names of the modules: a prefix of a message is a module's name
/// only if it is one of them.
pub fn parse_log(log: &str, modules: &[String]) -> Vec<LogEntry> {
    let mut entries: Vec<LogEntry> = Vec::new();
    for raw in log.lines().map(str::trim_end) {
        let mut entry = parse_line(raw.trim_start(), modules);
        // The verifier prints the offending instruction, indented, below its message.
        let continues = raw.starts_with(char::is_whitespace) && !entry.marked;
        match entries.last_mut() {
            Some(previous) if continues => {
                previous.message = format!("{}\n{raw}", previous.message);
                previous.raw = format!("{}\n{raw}", previous.raw);
            }
            _ if entry.parsed.message.is_empty() => {}
            _ => {
                entry.parsed.raw = raw.to_owned();
                entries.push(entry.parsed);
            }
        }
    }
    entries
}

struct Line {
    parsed: LogEntry,
    /// Whether the line has a severity or a location, and so starts a message.
    marked: bool,
}

fn parse_line(text: &str, modules: &[String]) -> Line {
    let mut entry = LogEntry {
        severity: Severity::Error,
        module: None,
        line: None,
        column: None,
        message: String::new(),
        raw: String::new(),
    };
    let mut rest = text;
    let mut marked = false;
    // The longest name first, because one module's name may be a prefix of another's.
    let mut names: Vec<&String> = modules.iter().filter(|name| !name.is_empty()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    for name in names {
        let Some(after) = text.strip_prefix(name.as_str()) else {
            continue;
        };
        if let Some((line, column, after)) = parse_place(after) {
            (entry.line, entry.column) = (Some(line), Some(column));
            rest = after;
        } else if let Some(after) = after.strip_prefix(": ") {
            rest = after;
        } else {
            continue;
        }
        entry.module = Some(name.clone());
        marked = true;
        break;
    }
    // Severities are often repeated ("error: Error: : ...").
    const MARKS: [(&str, Option<Severity>); 8] = [
        ("libnvvm :", None),
        ("link error:", Some(Severity::Error)),
        ("error:", Some(Severity::Error)),
        ("Error:", Some(Severity::Error)),
        ("warning:", Some(Severity::Warning)),
        ("Warning:", Some(Severity::Warning)),
        ("note:", Some(Severity::Note)),
        (":", None),
    ];
    while let Some((after, severity)) = MARKS
        .iter()
        .find_map(|(mark, severity)| Some((rest.strip_prefix(mark)?, *severity)))
    {
        entry.severity = severity.unwrap_or(entry.severity);
        rest = after.trim_start();
        marked = true;
    }
    entry.message = rest.to_owned();
    Line {
        parsed: entry,
        marked,
    }
}

/// Parses ` (4, 18): `, whose column is zero-based.
fn parse_place(text: &str) -> Option<(u32, u32, &str)> {
    let (place, rest) = text.strip_prefix(" (")?.split_once("): ")?;
    let (line, column) = place.split_once(", ")?;
    Some((
        line.parse().ok()?,
        column.parse::<u32>().ok()?.checked_add(1)?,
        rest,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(log: &str) -> Vec<LogEntry> {
        parse_log(log, &["mod".to_owned(), "mod.b".to_owned()])
    }

    #[test]
    fn parser_messages_have_a_location() {
        let log = "mod (4, 18): parse expected value token";
        let entries = parse(log);
        assert_eq!(
            entries,
            [LogEntry {
                severity: Severity::Error,
                module: Some("mod".to_owned()),
                line: Some(4),
                column: Some(19),
                message: "parse expected value token".to_owned(),
                raw: log.to_owned(),
            }]
        );
        assert_eq!(
            entries[0].to_string(),
            "mod:4:19: error: parse expected value token"
        );
    }

    #[test]
    fn repeated_severities_are_kept_once() {
        let entries = parse("error: Error: : Function `f': non-void entry function.\n\n");
        assert_eq!(entries.len(), 1);
        assert_eq!(
            entries[0].to_string(),
            "error: Function `f': non-void entry function."
        );
        assert_eq!(
            parse(" Error: unsupported operation\n")[0].message,
            "unsupported operation"
        );
        assert_eq!(
            parse("mod.b: warning: slow\n")[0].to_string(),
            "mod.b: warning: slow"
        );
        assert_eq!(
            parse("libnvvm : error: -foo=1 is an unsupported option")[0].message,
            "-foo=1 is an unsupported option"
        );
        assert_eq!(
            parse("mod.b: link error: error: Linking globals named 'f'")[0].to_string(),
            "mod.b: error: Linking globals named 'f'"
        );
    }

    #[test]
    fn an_indented_instruction_belongs_to_its_message() {
        let entries = parse("PHI entries do not match!\n  %y = phi i32 [ 0, %a ]\nNext one!\n");
        assert_eq!(entries.len(), 2);
        assert_eq!(
            entries[0].message,
            "PHI entries do not match!\n  %y = phi i32 [ 0, %a ]"
        );
        assert_eq!(entries[0].raw, entries[0].message);
        assert_eq!(entries[1].message, "Next one!");
    }

    #[test]
    fn an_empty_log_has_no_entries() {
        assert_eq!(parse(""), []);
        assert_eq!(parse("\n \nError: \n"), []);
    }

    #[test]
    fn the_longest_matching_name_is_the_module() {
        let modules = ["mod", "mod: b"].map(str::to_owned);
        let entries = parse_log("mod: b (4, 18): text", &modules);
        assert_eq!(entries[0].module.as_deref(), Some("mod: b"));
        assert_eq!(entries[0].message, "text");
    }

    #[test]
    fn a_module_name_alone_is_not_a_location() {
        let entries = parse("modern (x, 2): y");
        assert_eq!((entries[0].module.clone(), entries[0].line), (None, None));
        assert_eq!(entries[0].message, "modern (x, 2): y");
    }
}
