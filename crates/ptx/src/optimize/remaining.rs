//! Finds the checks that loops still make in each iteration, after all passes.
//!
//! A loop that `version` copied counts once: its copy without checks executes unless a test before
//! the loop fails, so the checks of the original do not count. Neither do those of a kernel's
//! original body if it rarely executes (`specialize`); otherwise a check of both bodies counts once.

use crate::hash::{HashMap, HashSet};
use std::collections::{BTreeSet, VecDeque};

use super::flow::{End, Graph, Id};
use super::instructions::instructions;
use super::loops::{add_body, back_edges};
use super::names::{LABEL, Names};
use super::specialize::GENERAL;
use super::{check_of, no_return};
use crate::dead::visit_operand;
use crate::inline_panics::with_calls;
use crate::{Function, Loc, LocKey, Module, Operand, Statement, each_loc};

/// A check in a loop.
#[derive(Clone, Debug)]
pub struct LoopCheck<'a> {
    /// The functions that report the failure, such as `__cuda_std_panic_bounds_check`. Several if
    /// one branch tests several conditions.
    pub panics: Vec<Panic<'a>>,
    /// The line of the first instruction of the check's block, from 1.
    pub line: u32,
}

/// A call of a function that reports a failed check.
#[derive(Clone, Debug)]
pub struct Panic<'a> {
    /// The function.
    pub function: &'a str,
    /// The names of variables whose addresses the block of the call takes: one of them may be the
    /// `core::panic::Location`.
    pub variables: Vec<&'a str>,
    /// The location of the call, or else of the check.
    pub loc: Option<Loc<'a>>,
    /// The line of the call, from 1.
    pub line: u32,
}

/// Returns the checks that the loops of a function make in each iteration; `None` if the function
/// has no body, or control flow that the passes do not follow.
pub fn loop_checks<'a>(module: &Module<'a>, function: &Function<'a>) -> Option<Vec<LoopCheck<'a>>> {
    let (body, inlined) = with_calls(function.body.as_deref()?);
    let body = &body[..];
    let variables: HashSet<&str> = (module.items.iter())
        .filter_map(|item| match item {
            crate::Item::Variable(variable) => Some(variable.name),
            _ => None,
        })
        .collect();
    // The graph needs new labels, and the result names none of them.
    let names = Names::other_than(body);
    let mut no_return = no_return(module);
    no_return.extend(&inlined);
    let graph = Graph::new(body, &no_return, &names)?;
    let cold = graph.cold();
    let loops = loops(&graph, &cold);
    let slow = slow(&graph, &loops, body);
    let mut checks = Vec::new();
    for &id in &graph.order {
        let inside = |header: &Id| loops[header].contains(&id);
        let in_loop = loops.keys().any(inside);
        if !in_loop || slow.iter().any(inside) || cold[id] {
            continue;
        }
        let Some(check) = check_of(&graph, &cold, id) else {
            continue;
        };
        let own = last_loc(&graph.blocks[id].body);
        let mut panics = Vec::new();
        let mut pending = VecDeque::from([check.fails]);
        let mut seen = HashSet::from_iter([check.fails]);
        while let Some(id) = pending.pop_front() {
            let block = &graph.blocks[id];
            panics.extend(panic(&block.body, &no_return, &variables, own.as_ref()));
            let targets = block.end.targets().into_iter();
            pending.extend(targets.filter(|&to| seen.insert(to)));
        }
        if panics.is_empty() {
            continue;
        }
        let line = graph.blocks[id].body.iter().find_map(first_line);
        checks.push((line.unwrap_or(function.line), panics));
    }
    // The names in the result are those of the source.
    let mut source = Source::new(module, body);
    source.names.extend(inlined);
    let checks = checks.into_iter().map(|(line, panics)| LoopCheck {
        panics: (panics.into_iter())
            .filter_map(|panic| source.panic(&panic))
            .collect(),
        line,
    });
    let mut seen = HashSet::default();
    let once = |check: &LoopCheck<'a>| {
        let panics = check.panics.iter();
        let known = panics.map(|panic| {
            let loc = panic.loc.as_ref().map(Loc::key);
            (panic.function, panic.variables.clone(), loc)
        });
        !check.panics.is_empty() && seen.insert(known.collect::<Vec<_>>())
    };
    Some(checks.filter(once).collect())
}

/// The names and locations of the source text. Those of the graph live as long as its labels.
struct Source<'a> {
    names: HashSet<&'a str>,
    locs: HashMap<LocKey, Loc<'a>>,
}

impl<'a> Source<'a> {
    fn new(module: &Module<'a>, body: &[Statement<'a>]) -> Source<'a> {
        let names = module.items.iter().filter_map(|item| match item {
            crate::Item::Variable(variable) => Some(variable.name),
            crate::Item::Function(function) => Some(function.name),
            _ => None,
        });
        let mut locs = HashMap::default();
        each_loc(body, &mut |loc| {
            locs.insert(loc.key(), loc.clone());
        });
        Source {
            names: names.collect(),
            locs,
        }
    }

    fn panic(&self, panic: &Panic<'_>) -> Option<Panic<'a>> {
        let name = |name: &str| self.names.get(name).copied();
        Some(Panic {
            function: name(panic.function)?,
            variables: panic.variables.iter().filter_map(|it| name(it)).collect(),
            loc: panic
                .loc
                .as_ref()
                .and_then(|loc| self.locs.get(&loc.key()).cloned()),
            line: panic.line,
        })
    }
}

fn last_loc<'a>(body: &[Statement<'a>]) -> Option<Loc<'a>> {
    let mut last = None;
    each_loc(body, &mut |loc| last = Some(loc.clone()));
    last.filter(|loc| loc.line > 0)
}

fn first_line(statement: &Statement<'_>) -> Option<u32> {
    let mut line = None;
    instructions(statement, &mut |instruction| {
        line = line.or(Some(instruction.line));
    });
    line.filter(|&line| line > 0)
}

/// The call at the end of a block, if the function does not return.
fn panic<'a>(
    body: &[Statement<'a>],
    no_return: &HashSet<&str>,
    all: &HashSet<&str>,
    check: Option<&Loc<'a>>,
) -> Option<Panic<'a>> {
    let mut found = None;
    let mut variables = Vec::new();
    for statement in body {
        instructions(statement, &mut |instruction| {
            for operand in &instruction.operands {
                visit_operand(operand, &mut |name| {
                    if all.contains(name) {
                        variables.push(name);
                    }
                });
            }
            if instruction.opcode != "call" {
                return;
            }
            let callee = instruction
                .operands
                .iter()
                .find_map(|operand| match operand {
                    Operand::Name(name) if no_return.contains(name) => Some(*name),
                    _ => None,
                });
            found = callee.map(|callee| (callee, instruction.line)).or(found);
        });
    }
    let (function, line) = found?;
    Some(Panic {
        function,
        variables,
        loc: last_loc(body).or_else(|| check.cloned()),
        line,
    })
}

/// The blocks of each loop, by its header.
fn loops(graph: &Graph<'_>, cold: &[bool]) -> HashMap<Id, BTreeSet<Id>> {
    let (flow, back) = back_edges(graph, cold);
    let mut loops: HashMap<Id, BTreeSet<Id>> = HashMap::default();
    for (latch, header) in back {
        let inside = loops
            .entry(header)
            .or_insert_with(|| BTreeSet::from([header]));
        add_body(&flow, latch, inside);
    }
    loops
}

/// The headers of the loops that execute only if the copy without checks cannot.
fn slow(graph: &Graph<'_>, loops: &HashMap<Id, BTreeSet<Id>>, body: &[Statement<'_>]) -> Vec<Id> {
    let labels: HashSet<&str> = (body.iter())
        .filter_map(|statement| match statement {
            Statement::Label(label) => Some(*label),
            _ => None,
        })
        .collect();
    let is_copy = |id: Id| {
        let label = graph.blocks[id].label;
        labels.contains(label) && label.starts_with(LABEL)
    };
    // The blocks before a loop compute what all of its iterations need.
    let through = |mut id: Id| {
        for _ in 0..graph.blocks.len() {
            match graph.blocks[id].end {
                End::Jump(to, _) if !loops.contains_key(&id) => id = to,
                _ => break,
            }
        }
        id
    };
    let mut slow = Vec::new();
    // The original of a kernel that has a copy for ordinary launches.
    let mut general: HashSet<Id> = (graph.blocks.iter().enumerate())
        .filter(|(_, block)| {
            let own = block.body.iter().filter_map(|statement| match statement {
                Statement::Label(label) => Some(*label),
                _ => None,
            });
            own.chain([block.label])
                .any(|label| label.starts_with(GENERAL))
        })
        .map(|(id, _)| id)
        .collect();
    let mut pending: Vec<Id> = general.iter().copied().collect();
    while let Some(id) = pending.pop() {
        let targets = graph.blocks[id].end.targets().into_iter();
        pending.extend(targets.filter(|&to| general.insert(to)));
    }
    slow.extend(loops.keys().filter(|header| general.contains(header)));
    for (id, block) in graph.blocks.iter().enumerate() {
        let End::Branch(_, _, a, b) = block.end else {
            continue;
        };
        let (a, b) = (through(a), through(b));
        for (copy, original) in [(a, b), (b, a)] {
            let are_loops = loops.contains_key(&copy) && loops.contains_key(&original);
            let is_before =
                are_loops && !loops[&copy].contains(&id) && !loops[&original].contains(&id);
            if is_before && is_copy(copy) && !is_copy(original) {
                slow.push(original);
            }
        }
    }
    slow
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Item;

    fn checks(body: &str) -> Vec<(Vec<String>, u32)> {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n\
             .global .align 8 .u64 place[1] = {{1}};\n\
             .func bounds() .noreturn;\n.func overflow() .noreturn;\n.func other();\n\
             .file 1 \"src/lib.rs\"\n\
             .visible .entry k(.param .u64 n)\n{{\n.reg .pred %p<9>;\n.reg .b64 %r<9>;\n{body}\n}}\n"
        );
        let module = Module::parse(&text).unwrap();
        let function = module.items.iter().find_map(|item| match item {
            Item::Function(function) if function.entry => Some(function),
            _ => None,
        });
        let found = loop_checks(&module, function.unwrap()).unwrap();
        let describe = |panic: &Panic<'_>| {
            let line = panic.loc.as_ref().map_or(0, |loc| loc.line);
            format!("{} {:?} {line}", panic.function, panic.variables)
        };
        (found.iter())
            .map(|check| (check.panics.iter().map(describe).collect(), check.line))
            .collect()
    }

    const LOOP: &str = "setp.eq.s64 %p1, %r1, 0;\n@%p1 bra $L__BB0_2;\n\
                        $L__BB0_1:\nsetp.lt.u64 %p2, %r1, %r2;\n.loc 1 7 5\n@!%p2 bra $L__BB0_3;\n\
                        add.s64 %r1, %r1, 1;\nsetp.ne.s64 %p3, %r1, 9;\n@%p3 bra $L__BB0_1;\n\
                        $L__BB0_2:\nret;\n";

    #[test]
    fn a_check_in_a_loop_is_found_and_one_before_it_is_not() {
        let body = format!(
            "setp.gt.s64 %p4, %r3, 0;\n@%p4 bra $L__BB0_4;\n{LOOP}\
             $L__BB0_3:\nmov.u64 %r4, place;\n{{\ncall.uni bounds, ();\n}}\n\
             $L__BB0_4:\n{{\ncall.uni overflow, ();\n}}"
        );
        assert_eq!(
            checks(&body),
            [(vec!["bounds [\"place\"] 7".to_owned()], 18)]
        );
        // A function that returns is no panic.
        let returns = body.replace("call.uni bounds, ();\n}", "call.uni other, ();\n}\nret;");
        assert_eq!(checks(&returns), []);
    }

    #[test]
    fn one_branch_may_test_several_conditions() {
        let body = format!(
            "{LOOP}$L__BB0_3:\n@%p5 bra $L__BB0_4;\n{{\ncall.uni bounds, ();\n}}\n\
             $L__BB0_4:\n.loc 1 9 1\n{{\ncall.uni overflow, ();\n}}"
        );
        let found = checks(&body);
        assert_eq!(found.len(), 1);
        let mut panics = found[0].0.clone();
        panics.sort();
        assert_eq!(panics, ["bounds [] 7", "overflow [] 9"]);
    }

    #[test]
    fn the_original_of_a_loop_without_checks_does_not_count() {
        let fast = "mul.lo.s64 %r8, %r1, 3;\n$L__X0:\nadd.s64 %r1, %r1, 1;\nsetp.ne.s64 %p6, %r1, 9;\n@%p6 bra $L__X0;\n\
                    bra.uni $L__BB0_2;\n";
        let slow = LOOP.replace("@%p1 bra $L__BB0_2;\n", "");
        let panic = "$L__BB0_3:\n{\ncall.uni bounds, ();\n}";
        let body = format!("@%p1 bra $L__BB0_1;\n{fast}{slow}{panic}");
        assert_eq!(checks(&body), []);
        // The same with a loop that is no copy.
        let body = body.replace("$L__X0", "$L__BB0_9");
        assert_eq!(checks(&body).len(), 1);
    }
}
