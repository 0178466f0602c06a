//! Checks the program's inline assembly with ptxas and reports ptxas's errors at the user's lines.

use std::fs;
use std::process::Command;

use rustc_session::Session;
use rustc_span::Span;

use crate::diagnostics::toolkit;
use crate::options::Options;
use crate::pipeline::find_toolkit;

/// Runs ptxas on a program with inline assembly, which libnvvm does not check. Without ptxas, the
/// driver reports errors when it loads the module, without the source line.
pub(crate) fn check_assembly(
    sess: &Session,
    arch: nvvm::Arch,
    options: &Options,
    ptx: &str,
    spans: &[Vec<Span>],
) -> Option<()> {
    let Some(ptxas) = find_toolkit(options).ptxas else {
        return Some(());
    };
    let file = match tempfile::Builder::new().suffix(".ptx").tempfile() {
        Ok(file) => file,
        Err(err) => {
            sess.dcx()
                .err(format!("cannot write a temporary file: {err}"));
            return None;
        }
    };
    // Almost all of ptxas's time goes to functions without inline assembly, so their bodies are
    // removed.
    let program = ptx::keep_bodies(ptx, |body| body.contains(crate::asm::MARK));
    let output = fs::write(file.path(), program).and_then(|()| {
        Command::new(&ptxas.path)
            // The fastest settings: the output is discarded.
            .args(["-c", "-O0", "-o", "/dev/null"])
            .arg(format!("-arch={}", arch.sm()))
            .arg(file.path())
            .output()
    });
    let output = match output {
        Ok(output) if output.status.success() => return Some(()),
        Ok(output) => output,
        Err(err) => {
            sess.dcx()
                .err(format!("cannot run `{}`: {err}", ptxas.path.display()));
            return None;
        }
    };
    let messages = String::from_utf8_lossy(&output.stderr);
    if !report(sess, ptx, spans, &messages) {
        sess.dcx()
            .err(format!("ptxas rejected the program:\n{messages}"));
    }
    None
}

/// Reports ptxas's messages about lines of inline assembly. Returns whether any message was about
/// such a line.
fn report(sess: &Session, ptx: &str, spans: &[Vec<Span>], messages: &str) -> bool {
    let lines: Vec<&str> = ptx.lines().collect();
    let mark_of = |line: &str| {
        let number = line.trim().strip_prefix(crate::asm::MARK)?;
        number.trim().parse::<usize>().ok()
    };
    let marks = (lines.iter().enumerate()).filter_map(|(at, line)| Some((at, mark_of(line)?)));
    let marks: Vec<(usize, usize)> = marks.collect();
    // Returns the source line of a line of PTX; lines are one-based.
    let source = |number: usize| {
        let before = marks.partition_point(|&(at, _)| at < number);
        let &(at, mark) = marks.get(before.checked_sub(1)?)?;
        let spans = spans.get(mark)?;
        // The mark's own line precedes the first line of the assembly.
        let distance = number.min(lines.len()) - 1 - at;
        let span = spans.get(distance.saturating_sub(1)).or(spans.first());
        span.copied()
    };
    let mut reported = false;
    for (number, message) in messages.lines().filter_map(parse_message) {
        if let Some(span) = source(number) {
            let line = number.checked_sub(1).and_then(|at| lines.get(at));
            toolkit::assembly(sess, span, message, line.copied());
            reported = true;
        }
    }
    reported
}

/// Parses a message such as `ptxas FILE, line N; error   : MESSAGE`.
fn parse_message(line: &str) -> Option<(usize, &str)> {
    let (number, message) = line.split_once(", line ")?.1.split_once(';')?;
    let message = message.split_once(':').map_or(message, |(_, rest)| rest);
    Some((number.trim().parse().ok()?, message.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_line_and_a_text() {
        let error = "ptxas /tmp/a.ptx, line 12; error   : Unknown symbol 'x': y";
        assert_eq!(parse_message(error), Some((12, "Unknown symbol 'x': y")));
        assert_eq!(
            parse_message("ptxas /tmp/a.ptx, line 3; odd"),
            Some((3, "odd"))
        );
        assert_eq!(parse_message("ptxas fatal   : aborted"), None);
        assert_eq!(parse_message("ptxas a, line x; error : y"), None);
    }
}
