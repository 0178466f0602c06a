//! Replaces tests of chosen addresses by tests of the choice, in LLVM's text.
//!
//! The text is changed instead of a module, because a module lacks metadata of LLVM's.

use std::collections::{BTreeMap, HashMap};

use super::Reader;
use super::nest_loops::{Body, with_bodies};
use super::split_phases::{DEPTH, Fact, Facts, Node, Numbers, States, for_each_loop};
use crate::inst::{InstKind, IntPred};
use crate::module::Module;
use crate::read::ReadError;
use crate::value::{Const, Value};

/// Replaces tests whether an address that a loop selects is null, if the loop selects only among null and
/// addresses that are not null: the conditions of the selects tell whether it is null.
///
/// The next element of a `Peekable` is `if consumed { if at_end { null } else { next } } else { peeked }`. The
/// loop ends if it is null. LLVM does not find out that neither `next` nor `peeked` is null, as both are phis
/// of the loop.
pub(super) fn test_choices(text: &str, reader: &mut Reader) -> Result<String, ReadError> {
    let read = reader.read(text)?;
    let mut tests: HashMap<&str, Vec<Vec<Test>>> = HashMap::new();
    for func in read.funcs() {
        let mut found = Vec::new();
        for_each_loop(read, func, Numbers::None, |states, flow| {
            if let Some((nodes, _)) = states.explore(flow) {
                found.extend(tests_of(states, &nodes));
            }
        });
        if !found.is_empty() {
            tests.insert(read.func(func).name.as_str(), vec![found]);
        }
    }
    Ok(with_bodies(text, &tests, |body, tests, _| {
        body.test_choices(tests)
    }))
}

/// A comparison of a chosen address with null.
struct Test {
    /// The block, by its index in the function.
    block: usize,
    /// The comparison's number among those of its block.
    number: usize,
    is_null: Choice,
    /// Whether the comparison is true if the address is null.
    equal: bool,
}

/// Whether an address is null.
enum Choice {
    Known(bool),
    /// Depends on the condition of a select.
    Select(Box<[Choice; 2]>),
}

fn tests_of(states: &States<'_>, nodes: &[Node]) -> Vec<Test> {
    let module = states.module;
    let mut facts_of: BTreeMap<usize, Vec<Facts>> = BTreeMap::new();
    for node in nodes {
        facts_of
            .entry(node.0)
            .or_default()
            .push(states.facts_in(node));
    }
    let mut tests = Vec::new();
    for (&block, values) in &states.tracked {
        let Some(facts) = facts_of.get(&block) else {
            continue;
        };
        for &value in values {
            let Some(data) = module.inst(value) else {
                continue;
            };
            let InstKind::ICmp {
                pred: pred @ (IntPred::Eq | IntPred::Ne),
                lhs,
                rhs,
            } = data.kind
            else {
                continue;
            };
            let is_null = matches!(module.as_const(rhs), Some(Const::Zero));
            let is_select =
                is_select(states, lhs) && facts.iter().all(|it| !it.contains_key(&value));
            if let Some(choice) = choice(states, facts, lhs).filter(|_| is_null && is_select) {
                tests.push(Test {
                    block,
                    number: number_of(module, value),
                    is_null: choice,
                    equal: pred == IntPred::Eq,
                });
            }
        }
    }
    tests
}

/// Returns the number of a comparison among those of its block.
fn number_of(module: &Module, value: Value) -> usize {
    let block = module.inst(value).map(|data| data.block);
    let insts = block
        .map(|block| &module.block(block).insts[..])
        .unwrap_or_default();
    let before = insts.iter().take_while(|&&inst| inst != value);
    let is_test = |inst: &&Value| {
        let kind = module.inst(**inst).map(|data| &data.kind);
        matches!(kind, Some(InstKind::ICmp { .. }))
    };
    before.filter(is_test).count()
}

fn is_select(states: &States<'_>, value: Value) -> bool {
    let kind = states.module.inst(value).map(|data| &data.kind);
    states.is_inside(value) && matches!(kind, Some(InstKind::Select { .. }))
}

/// Returns whether an address is null, according to what is known in all copies of a block.
fn choice(states: &States<'_>, facts: &[Facts], value: Value) -> Option<Choice> {
    let mut known = facts.iter().map(|facts| states.fact(facts, value, DEPTH));
    let first = known.next()?;
    if known.all(|fact| fact == first)
        && let Some(fact) = first
    {
        return Some(Choice::Known(fact == Fact::Int(0)));
    }
    match states.module.inst(value)?.kind {
        InstKind::Select {
            then, otherwise, ..
        } if is_select(states, value) => {
            let arms = [
                choice(states, facts, then)?,
                choice(states, facts, otherwise)?,
            ];
            Some(Choice::Select(Box::new(arms)))
        }
        _ => None,
    }
}

impl Body<'_> {
    fn test_choices(mut self, tests: &[Test]) -> Option<Vec<String>> {
        for (number, test) in tests.iter().enumerate() {
            self.test_choice(test, number);
        }
        Some(self.finish())
    }

    fn test_choice(&mut self, test: &Test, number: usize) -> Option<()> {
        let block = self.blocks[test.block].clone();
        let at = (block.first..block.end)
            .filter(|&at| self.lines[at].contains(" = icmp "))
            .nth(test.number)?;
        let line = &self.lines[at];
        let (name, compared) = line.trim().split_once(" = icmp ")?;
        let (_, compared) = compared.split_once(" ptr ")?;
        let address = compared.split_once(", null")?.0;
        let (mut added, mut count) = (Vec::new(), 0);
        let mut new = |select: String| {
            count += 1;
            added.push(format!("  %choice.{number}.{count} = {select}"));
            format!("%choice.{number}.{count}")
        };
        let value = self.chosen(&test.is_null, address, test.equal, &mut new)?;
        added.into_iter().for_each(|line| self.add(at, line));
        self.changed
            .insert(at, format!("  {name} = or i1 {value}, false"));
        Some(())
    }

    /// Returns whether an address is null (or not, if `equal` is false).
    fn chosen(
        &self,
        choice: &Choice,
        address: &str,
        equal: bool,
        new: &mut impl FnMut(String) -> String,
    ) -> Option<String> {
        let arms = match choice {
            Choice::Known(is_null) => return Some((*is_null == equal).to_string()),
            Choice::Select(arms) => arms,
        };
        let definition = format!("  {address} = select i1 ");
        let mut lines = self.lines.iter();
        let (cond, values) = lines
            .find_map(|line| line.strip_prefix(&definition))?
            .split_once(", ptr ")?;
        let (then, otherwise) = values.split_once(", ptr ")?;
        let otherwise = otherwise.split(',').next()?;
        let then = self.chosen(&arms[0], then, equal, new)?;
        let otherwise = self.chosen(&arms[1], otherwise, equal, new)?;
        Some(new(format!("select i1 {cond}, i1 {then}, i1 {otherwise}")))
    }
}
