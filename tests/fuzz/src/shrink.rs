//! Shrinks a program while its results still differ. Many smaller programs are tried at once, as
//! one batch.

use crate::batch::{Builder, Difference};
use crate::node::{Node, Piece};
use crate::program::Program;
use anyhow::Result;

/// How many are tried at once.
const AT_ONCE: usize = 48;

/// The smallest program found, and how it differs.
pub fn shrink(
    builder: &Builder,
    program: &Program,
    difference: &Difference,
) -> Result<(Program, Difference)> {
    let (mut best, mut how) = (program.clone(), difference.clone());
    best.remove_unused();
    if !tried(builder, std::slice::from_ref(&best), &how).is_empty() {
        eprintln!("shrinking: {} bytes", best.size());
    } else {
        best = program.clone();
    }
    let mut skip = 0;
    loop {
        let mut all = smaller(&best);
        all.sort_by_key(Program::size);
        let part: Vec<Program> = all.into_iter().skip(skip).take(AT_ONCE).collect();
        if part.is_empty() {
            return Ok((best, how));
        }
        let found = tried(builder, &part, &how);
        match found.into_iter().min_by_key(|(i, _)| part[*i].size()) {
            Some((i, difference)) => {
                best = part[i].clone();
                how = difference;
                eprintln!("shrinking: {} bytes", best.size());
                // Earlier replacements did not help, and mostly will not now.
                skip = skip.saturating_sub(AT_ONCE);
            }
            None => skip += part.len(),
        }
    }
}

/// Those that still differ in the same way.
fn tried(builder: &Builder, programs: &[Program], how: &Difference) -> Vec<(usize, Difference)> {
    match builder.differences(programs, &[how.level], None) {
        Ok(differences) => (differences.into_iter())
            .filter(|(_, difference)| difference.compiling == how.compiling)
            .collect(),
        // rustc refuses one of them, or it panics on the host.
        Err(_) if programs.len() > 1 => {
            let (a, b) = programs.split_at(programs.len() / 2);
            let mut all = tried(builder, a, how);
            all.extend((tried(builder, b, how).into_iter()).map(|(i, d)| (i + a.len(), d)));
            all
        }
        Err(_) => vec![],
    }
}

/// All programs with one node replaced.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = vec![];
    for i in 0..program.items.len() {
        for number in 0..program.items[i].node.count() {
            let mut at = number;
            let mut item = program.items[i].node.clone();
            let Some(node) = item.find_mut(&mut at) else {
                continue;
            };
            for replacement in node.replacements(&program.types) {
                let mut smaller = program.clone();
                let mut at = number;
                if let Some(node) = smaller.items[i].node.find_mut(&mut at) {
                    let role = node.role.clone();
                    *node = Node {
                        role,
                        pieces: vec![Piece::Node(replacement)],
                    };
                }
                smaller.remove_unused();
                if smaller.size() < program.size() {
                    all.push(smaller);
                }
            }
        }
    }
    all
}
