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
    let lines: Vec<&str> = ptx.lines().collect();
    let mark_of = |line: &str| {
        let number = line.trim().strip_prefix(crate::asm::MARK)?;
        number.trim().parse::<usize>().ok()
    };
    let marks = (lines.iter().enumerate()).filter_map(|(at, line)| Some((at, mark_of(line)?)));
    let marks: Vec<(usize, usize)> = marks.collect();
    let text = String::from_utf8_lossy(&output.stderr);
    let mut reported = false;
    for message in text.lines().filter_map(|line| line.split_once(", line ")) {
        // `ptxas FILE, line N; error : …`
        let Some((number, what)) = message.1.split_once(';') else {
            continue;
        };
        let Ok(number) = number.trim().parse::<usize>() else {
            continue;
        };
        let what = what.trim();
        let what = what.split_once(':').map_or(what, |(_, what)| what.trim());
        let before = marks.partition_point(|&(at, _)| at < number);
        let Some(&(at, mark)) = before.checked_sub(1).and_then(|i| marks.get(i)) else {
            continue;
        };
        let Some(spans) = spans.get(mark) else {
            continue;
        };
        // The mark's own line precedes the first line of the assembly; `number` is one-based.
        let distance = number.min(lines.len()) - 1 - at;
        let Some(&span) = spans.get(distance.saturating_sub(1)).or(spans.first()) else {
            continue;
        };
        toolkit::assembly(sess, span, what, lines.get(number - 1).copied());
        reported = true;
    }
    if !reported {
        sess.dcx()
            .err(format!("ptxas rejected the program:\n{text}"));
    }
    None
}
