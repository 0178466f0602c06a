//! Compares the compiler's diagnostics with the expectations of a case.

use crate::case::{Case, Expected, Kind};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::process::Output;

/// A message about a line, or a note, a help or a label of one.
#[derive(Debug)]
struct Message {
    line: Option<usize>,
    kind: Kind,
    text: String,
    /// Whether it is a diagnostic and not a part of one.
    whole: bool,
}

/// All that the compiler said about a case.
#[derive(Debug, Default)]
struct Said {
    messages: Vec<Message>,
    /// As for a terminal.
    rendered: String,
    /// Lines that belong to no message: there should be none.
    stray: String,
}

/// Compares the compiler's output with the case's expected diagnostics. The error describes the
/// differences. `normalize` makes the text independent of the machine, and with `bless` the text
/// becomes the expected one.
pub fn judge(
    case: &Case,
    output: &Output,
    normalize: impl Fn(&str) -> String,
    bless: bool,
) -> Result<(), String> {
    let said = read(case, &String::from_utf8_lossy(&output.stderr));
    let mut problems = String::new();
    // 101 is a panic, and a signal gives none.
    match (output.status.code(), case.passes) {
        (Some(0), true) | (Some(1), false) => {}
        (Some(0), false) => problems.push_str("it compiles, and should not\n"),
        (Some(1), true) => problems.push_str("it does not compile, and should\n"),
        _ => _ = writeln!(problems, "the compiler crashed ({})", output.status),
    }
    if !said.stray.is_empty() {
        let _ = writeln!(problems, "lines that belong to no message:\n{}", said.stray);
    }
    compare(&case.expected, &said.messages, &mut problems);
    let text = normalize(&said.rendered);
    if problems.is_empty() {
        check_snapshot(case, &text, bless)
    } else {
        Err(format!("{problems}\nthe compiler said:\n{text}"))
    }
}

fn compare(expected: &[Expected], said: &[Message], problems: &mut String) {
    let mut used = vec![false; said.len()];
    for expected in expected {
        let fits = |message: &Message| {
            message.kind == expected.kind
                && message.line == expected.line
                && message.text.contains(&expected.text)
        };
        // One message is the answer to one annotation; if there are no more, one twice.
        let found = (0..said.len())
            .find(|&i| !used[i] && fits(&said[i]))
            .or_else(|| said.iter().position(fits));
        match found {
            Some(i) => used[i] = true,
            None => {
                let place = place(expected.line);
                let _ = writeln!(
                    problems,
                    "{place}: expected, did not come: {:?}: {}",
                    expected.kind, expected.text
                );
            }
        }
    }
    for (message, used) in said.iter().zip(used) {
        let has_to_be_expected = matches!(message.kind, Kind::Error | Kind::Warning);
        if !used && message.whole && has_to_be_expected {
            let place = place(message.line);
            let _ = writeln!(
                problems,
                "{place}: not expected: {:?}: {}",
                message.kind, message.text
            );
        }
    }
}

fn place(line: Option<usize>) -> String {
    line.map_or("no line".to_owned(), |line| format!("line {line}"))
}

fn check_snapshot(case: &Case, text: &str, bless: bool) -> Result<(), String> {
    let path = case.snapshot_path();
    let wanted = case.snapshot && !text.is_empty();
    if bless {
        let done = if wanted {
            fs::write(&path, text)
        } else if path.exists() {
            fs::remove_file(&path)
        } else {
            Ok(())
        };
        return done.map_err(|error| format!("{}: {error}", path.display()));
    }
    let known = fs::read_to_string(&path).ok();
    match known {
        None if !wanted => Ok(()),
        Some(known) if wanted && known == text => Ok(()),
        None => Err(format!("there is no snapshot yet of:\n{text}{BLESS}")),
        Some(known) => Err(format!("{}{BLESS}", difference(&known, text))),
    }
}

const BLESS: &str = "\nIf this is what it should be: BLESS=1 ./x test ui-tests\n";

/// The lines that differ, without the common lines at both ends.
fn difference(known: &str, text: &str) -> String {
    let known: Vec<&str> = known.lines().collect();
    let text: Vec<&str> = text.lines().collect();
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = known.iter().zip(&text).take_while(same).count();
    let (known, text) = (&known[head..], &text[head..]);
    let tail = known.iter().rev().zip(text.iter().rev());
    let tail = tail.take_while(same).count();
    let mut difference = format!("the text has changed, from line {}:\n", head + 1);
    for line in &known[..known.len() - tail] {
        let _ = writeln!(difference, "-{line}");
    }
    for line in &text[..text.len() - tail] {
        let _ = writeln!(difference, "+{line}");
    }
    difference
}

fn read(case: &Case, stderr: &str) -> Said {
    let mut said = Said::default();
    for line in stderr.lines() {
        let Ok(json) = serde_json::from_str::<Value>(line) else {
            said.stray.push_str(line);
            said.stray.push('\n');
            continue;
        };
        if json["$message_type"] != "diagnostic" {
            continue;
        }
        said.rendered
            .push_str(json["rendered"].as_str().unwrap_or_default());
        let text = json["message"].as_str().unwrap_or_default();
        let closing = text.starts_with("aborting due to") || text.ends_with("emitted");
        if !closing || line_of(case, &json).is_some() {
            add(case, &json, None, true, &mut said.messages);
        }
    }
    said
}

fn add(case: &Case, json: &Value, parent: Option<usize>, whole: bool, messages: &mut Vec<Message>) {
    let kind = match json["level"].as_str() {
        Some("warning") => Kind::Warning,
        Some("note") => Kind::Note,
        Some("help") => Kind::Help,
        Some(level) if level.starts_with("error") => Kind::Error,
        _ => return,
    };
    let has_place = json["spans"].as_array().is_some_and(|s| !s.is_empty());
    let line = if has_place {
        line_of(case, json)
    } else {
        parent
    };
    messages.push(Message {
        line,
        kind,
        text: json["message"].as_str().unwrap_or_default().to_owned(),
        whole,
    });
    for span in json["spans"].as_array().into_iter().flatten() {
        if let Some(label) = span["label"].as_str() {
            messages.push(Message {
                line: line_in_case(case, span),
                kind: Kind::Note,
                text: label.to_owned(),
                whole: false,
            });
        }
    }
    for child in json["children"].as_array().into_iter().flatten() {
        add(case, child, line, false, messages);
    }
}

/// The line of the case that a message is about.
fn line_of(case: &Case, json: &Value) -> Option<usize> {
    let spans = json["spans"].as_array()?;
    // rustc's span for nowhere is the empty one at the start.
    let somewhere = |span: &&Value| span["byte_end"] != 0;
    let primary = (spans.iter().filter(somewhere)).find(|span| span["is_primary"] == true);
    line_in_case(case, primary?)
}

/// The line of the case that a place is in, or that calls the macro that it is in.
fn line_in_case(case: &Case, span: &Value) -> Option<usize> {
    let mut span = span;
    while !span.is_null() {
        let file = span["file_name"].as_str()?;
        if case.path.ends_with(file) || std::path::Path::new(file) == case.path {
            return span["line_start"].as_u64().map(|line| line as usize);
        }
        span = &span["expansion"]["span"];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(line: usize, text: &str) -> Expected {
        Expected {
            line: Some(line),
            kind: Kind::Error,
            text: text.to_owned(),
        }
    }

    fn message(line: usize, text: &str) -> Message {
        Message {
            line: Some(line),
            kind: Kind::Error,
            text: text.to_owned(),
            whole: true,
        }
    }

    fn problems(expected: &[Expected], said: &[Message]) -> String {
        let mut problems = String::new();
        compare(expected, said, &mut problems);
        problems
    }

    #[test]
    fn every_error_answers_an_annotation() {
        let said = [message(3, "this is wrong"), message(3, "and that")];
        let both = [expected(3, "wrong"), expected(3, "that")];
        assert_eq!(problems(&both, &said), "");
        assert!(problems(&both[..1], &said).contains("not expected: Error: and that"));
        assert!(problems(&both, &said[..1]).contains("did not come: Error: that"));
        assert!(problems(&[expected(4, "wrong")], &said[..1]).contains("line 4"));
    }

    #[test]
    fn differences_are_shown_without_what_is_the_same() {
        let text = difference("a\nb\nc\n", "a\nx\ny\nc\n");
        assert!(text.ends_with("line 2:\n-b\n+x\n+y\n"), "{text}");
    }
}
