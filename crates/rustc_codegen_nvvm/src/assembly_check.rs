//! Whether ptxas takes the program's inline assembly: its errors become errors at the user's lines.

use std::borrow::Cow;
use std::fs;
use std::process::Command;

use rustc_data_structures::fx::FxHashSet;
use rustc_session::Session;
use rustc_span::Span;

use crate::diagnostics::toolkit;
use crate::options::Options;
use crate::pipeline::find_toolkit;

/// Lets ptxas look at a program with inline assembly, which libnvvm passes on unread. Where there
/// is no ptxas the driver will say what is wrong, without the line.
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
    let output = fs::write(file.path(), only_assembly(ptx)).and_then(|()| {
        Command::new(&ptxas.path)
            // The quickest way through it: nobody wants the result.
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
        // The mark's own line is before the first; `number` counts from one.
        let distance = number.min(lines.len()) - 1 - at;
        let Some(&span) = spans.get(distance.saturating_sub(1)).or(spans.first()) else {
            continue;
        };
        toolkit::assembly(sess, span, what, lines.get(number - 1).copied());
        reported = true;
    }
    if !reported {
        sess.dcx()
            .err(format!("ptxas refused the program:\n{text}"));
    }
    None
}

/// libnvvm's PTX with the bodies of those functions alone that have inline assembly: the time that
/// ptxas takes goes into all the others, which are declared as of another module instead. What is
/// left out leaves empty lines, so that the numbers of the lines stay.
fn only_assembly(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let has_assembly = |function: &Function<'_>| {
        (lines[function.body.clone()].iter()).any(|line| line.contains(crate::asm::MARK))
    };
    let functions = functions(&lines);
    let kept: FxHashSet<&str> = (functions.iter())
        .filter(|function| has_assembly(function))
        .map(|function| function.name)
        .collect();
    let mut declared: FxHashSet<&str> = FxHashSet::default();
    let mut text: Vec<Cow<'_, str>> = lines.iter().map(|&line| Cow::Borrowed(line)).collect();
    let mut in_section = false;
    // The legalizer's, of statics that refer to each other: they may name functions that stand below.
    let circles: FxHashSet<&str> = (lines.iter())
        .filter_map(|line| line.strip_prefix(".extern ")?.strip_suffix(';'))
        .collect();
    let of_circle = |line: &str| {
        let definition = line.strip_prefix(".visible ");
        let head = definition.and_then(|rest| Some(rest.split_once(" = ")?.0));
        head.is_some_and(|head| circles.contains(head))
    };
    for line in &mut text {
        let words = line.trim();
        in_section |= words.starts_with(".section");
        let end = in_section && words == "}";
        // DWARF names labels of what is left out.
        let location = words.split_whitespace().next() == Some(".loc");
        if in_section || location || of_circle(line) {
            *line = Cow::Borrowed("");
        } else if words.starts_with(".target") {
            *line = Cow::Owned(words.split(',').next().unwrap_or_default().to_owned());
        }
        in_section &= !end;
    }
    for function in &functions {
        if kept.contains(function.name) {
            continue;
        }
        for line in &mut text[function.body.clone()] {
            *line = Cow::Borrowed("");
        }
        if function.is_entry || !declared.insert(function.name) {
            for line in &mut text[function.head.clone()] {
                *line = Cow::Borrowed("");
            }
        } else {
            let first = &mut text[function.head.start];
            let words = first.split_once(".func").map_or("", |(_, rest)| rest);
            *first = Cow::Owned(format!(".extern .func{words}"));
            if !function.body.is_empty() {
                text[function.body.start] = Cow::Borrowed(";");
            }
        }
    }
    text.join("\n") + "\n"
}

/// A function in the lines of libnvvm's PTX.
struct Function<'a> {
    name: &'a str,
    is_entry: bool,
    head: std::ops::Range<usize>,
    /// With its braces; nothing for a declaration.
    body: std::ops::Range<usize>,
}

/// The functions of libnvvm's PTX, declarations included. Those of `global_asm!` are none of them.
fn functions<'a>(lines: &[&'a str]) -> Vec<Function<'a>> {
    let mut functions = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let rest = &lines[at..];
        let find = |wanted: &str| rest.iter().position(|line| line.starts_with(wanted));
        if line.starts_with("// Start of file scope inline assembly") {
            at += find("// End of file scope inline assembly").unwrap_or(0) + 1;
            continue;
        }
        let name = [".func", ".entry"].iter().find_map(|kind| {
            let words = line
                .starts_with('.')
                .then(|| line.split_once(kind))??
                .1
                .trim_start();
            // What it returns comes first.
            let words = match words.strip_prefix('(') {
                Some(words) => words.split_once(')')?.1.trim_start(),
                None => words,
            };
            Some(words.split(['(', ' ', ';', '\t']).next().unwrap_or(words))
        });
        // Only then: debug information is long, and has no such ends.
        let head = name.and_then(|_| {
            let mut lines = rest.iter();
            lines.position(|line| line.trim_end() == "{" || line.trim_end().ends_with(';'))
        });
        let (Some(name), Some(head)) = (name, head) else {
            at += 1;
            continue;
        };
        let has_body = rest[head].trim_end() == "{";
        let end = match has_body {
            true => find("}").unwrap_or(rest.len() - 1) + 1,
            false => head + 1,
        };
        let head = if has_body { head } else { end };
        functions.push(Function {
            name,
            is_entry: line.contains(".entry"),
            head: at..at + head,
            body: at + head..at + end,
        });
        at += end;
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::only_assembly;

    #[test]
    fn only_functions_with_assembly_keep_their_bodies() {
        let ptx = "\
.version 9.0
.target sm_75, debug
.extern .global .align 8 .u64 me[2];
.visible .global .align 8 .u64 me[2] = {generic(me), plain};
.func plain(
	.param .b32 plain_param_0);
.visible .entry kernel(
	.param .u64 kernel_param_0)
{
	.loc 1 2 3
	ret;
}
.func  (.param .b32 func_retval0) with()
{
	.local .b8 depot[4];
	// asm! number 0
	call.uni plain, (p);
	ret;
}
.func plain(
	.param .b32 plain_param_0)
{
	ret;
}
	.section	.debug_abbrev
	{
.b8 1
	}";
        let expected = "\
.version 9.0
.target sm_75
.extern .global .align 8 .u64 me[2];

.extern .func plain(
	.param .b32 plain_param_0);






.func  (.param .b32 func_retval0) with()
{
	.local .b8 depot[4];
	// asm! number 0
	call.uni plain, (p);
	ret;
}









";
        assert_eq!(only_assembly(ptx), expected);
    }
}
