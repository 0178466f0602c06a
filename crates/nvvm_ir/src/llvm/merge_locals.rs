//! Merges local variables that a copy connects, in LLVM's text.
//!
//! The text is changed instead of a module, because a module lacks metadata of LLVM's.

use std::collections::{HashMap, HashSet};

use super::nest_loops::{Body, with_bodies, with_names};
use super::unroll_swaps::without_aliases;
use crate::inst::InstKind;
use crate::module::Module;
use crate::passes::{Copied, copied_locals};
use crate::read::{ReadError, read_module};
use crate::value::{Func, Value};

/// The calls that start and end the lifetime of a variable.
const MARKERS: [&str; 2] = [
    "call void @llvm.lifetime.start.p0(",
    "call void @llvm.lifetime.end.p0(",
];

/// Merges local variables that are live at the same time only because one is copied to the other.
///
/// A constructor writes its value to a variable of its own, and its result is copied to the caller's.
/// LLVM merges the two only if no loop leads back from the copy to the constructor. A kernel with a
/// grid-stride loop has such a loop. Arrays in both variables would be in local memory twice.
///
/// LLVM removes the copy, which is then one of a variable to itself.
pub(super) fn merge_locals(text: &str) -> Result<String, ReadError> {
    // Without a marker, a variable of a loop is live in the whole loop.
    let read = read_module(&with_sizes(text))?;
    let mut merged: HashMap<&str, Vec<Vec<Merged>>> = HashMap::new();
    for func in read.funcs() {
        let found = merged_in(&read, func);
        if !found.is_empty() {
            merged.insert(read.func(func).name.as_str(), vec![found]);
        }
    }
    Ok(with_bodies(text, &merged, |body, merged, _| {
        body.merge(merged)
    }))
}

/// Returns a text whose lifetime markers have a size, which [`read_module`] expects.
fn with_sizes(text: &str) -> String {
    MARKERS.iter().fold(text.to_owned(), |text, marker| {
        text.replace(&format!("{marker}ptr"), &format!("{marker}i64 -1, ptr"))
    })
}

/// A local variable that becomes a part of another one. Variables are given by their index among those
/// of the function.
struct Merged {
    part: usize,
    whole: usize,
    offset: u64,
}

fn merged_in(module: &Module, func: Func) -> Vec<Merged> {
    let blocks = module.func(func).blocks.iter();
    let insts = blocks.flat_map(|&block| module.block(block).insts.iter().copied());
    let locals: Vec<Value> = insts
        .filter(|&inst| {
            let kind = module.inst(inst).map(|data| &data.kind);
            matches!(kind, Some(InstKind::Alloca { .. }))
        })
        .collect();
    if locals.len() < 2 {
        return Vec::new();
    }
    let index = |value: Value| locals.iter().position(|&it| it == value);
    let merged = |copied: Copied| {
        Some(Merged {
            part: index(copied.value)?,
            whole: index(copied.whole)?,
            offset: copied.offset,
        })
    };
    let copied = copied_locals(module, func).into_iter();
    copied.filter_map(merged).collect()
}

impl<'a> Body<'a> {
    fn merge(mut self, merged: &[Merged]) -> Option<Vec<String>> {
        let lines = self.lines;
        let first = self.blocks.first()?.first;
        let is_local = |line: &str| line.contains(" = alloca ");
        let name = |line: &'a str| Some(line.trim().split_once(" = ")?.0);
        let locals: Vec<&str> = (lines.iter())
            .filter(|line| is_local(line))
            .map(|line| name(line))
            .collect::<Option<_>>()?;
        // The addresses of parts follow the variables at the start.
        let behind = (first..)
            .zip(&lines[first..])
            .find(|(_, it)| !is_local(it))?
            .0;
        let at_start: HashSet<&str> = (lines[first..behind].iter())
            .filter_map(|line| name(line))
            .collect();
        let mut new: HashMap<&str, String> = HashMap::new();
        let mut addresses: HashSet<&str> = HashSet::new();
        for &Merged {
            part,
            whole,
            offset,
        } in merged
        {
            let (part, whole) = (*locals.get(part)?, *locals.get(whole)?);
            if !at_start.contains(part) || !at_start.contains(whole) {
                return None;
            }
            let address = format!("%merged.{}", new.len());
            self.add(
                behind,
                format!("  {address} = getelementptr inbounds i8, ptr {whole}, i64 {offset}"),
            );
            new.insert(part, address);
            addresses.extend([part, whole]);
        }
        let variables = addresses.clone();
        let uses = |line: &str, names: &HashSet<&str>| {
            let mut uses = false;
            with_names(line, |name| {
                uses |= names.contains(name);
                None
            });
            uses
        };
        // Addresses in the variables. A phi may precede its operands.
        loop {
            let before = addresses.len();
            for line in &lines[first..] {
                if let Some((name, value)) = line.trim().split_once(" = ")
                    && [
                        "getelementptr",
                        "phi ptr",
                        "select",
                        "freeze",
                        "bitcast",
                        "addrspacecast",
                    ]
                    .iter()
                    .any(|op| value.starts_with(op))
                    && uses(value, &addresses)
                {
                    addresses.insert(name);
                }
            }
            if addresses.len() == before {
                break;
            }
        }
        for (at, line) in (behind..).zip(&lines[behind..]) {
            if !uses(line, &addresses) {
                continue;
            }
            let is_marker = MARKERS.iter().any(|marker| line.contains(marker));
            let changed = match is_marker && uses(line, &variables) {
                true => String::new(),
                // The scopes say that the variables are apart.
                false => with_names(&without_aliases(line), |name| new.get(name).cloned()),
            };
            self.changed.insert(at, changed);
        }
        Some(self.finish())
    }
}
