//! Removes comparisons that others of the same conjunction imply.
//!
//! LLVM unrolls `for (i, x) in array.iter().enumerate() { … table[i * WIDTH + column] … }`, and
//! `combine` branches once on the conjunction of the checks: `index < length`,
//! `index + WIDTH < length`, and so on. If no sum wraps around, the last check implies all others.
//! LLVM cannot know that; the ranges of the copy of a kernel's body show it.

use crate::hash::{HashMap, HashSet};

use super::flow::{End, Graph, Id};
use super::instructions::{instructions, is_pure, rename_operand, results, sources};
use super::loops::{Comparison, Relation};
use super::narrow::{Condition, Facts, Region};
use super::specialize::Special;
use super::sums::{Sum, Sums};
use crate::{Operand, Statement};

/// The maximum number of comparisons of a conjunction: each is compared with all others.
const CONDITIONS: usize = 16;

/// Comparisons that are not needed.
#[derive(Debug, Default)]
pub(super) struct Weaker<'a> {
    /// The conjunctions of which one side is not needed, by their registers, with the other side.
    conjunctions: HashMap<&'a str, &'a str>,
    /// The conjunctions and their other sides, with the block that computes the conjunction.
    predicates: Vec<(Id, &'a str)>,
}

/// Finds conjunctions in the region of `special` of which one side is implied by another comparison
/// that the same branch tests. Leaves the region.
pub(super) fn find<'a>(
    graph: &Graph<'a>,
    special: &Special<'a>,
    left: &mut Option<Region<'a>>,
) -> Weaker<'a> {
    let region = Region::take(left, graph, special);
    let weaker = find_in(graph, special, &region);
    *left = Some(region);
    weaker
}

/// A branch that tests several comparisons.
struct Test<'a> {
    block: Id,
    register: &'a str,
    conjunctions: Conjunctions<'a>,
    parts: Vec<&'a str>,
}

fn find_in<'a>(graph: &Graph<'a>, special: &Special<'a>, region: &Region<'a>) -> Weaker<'a> {
    let reads = reads(graph);
    let mut weaker = Weaker::default();
    let test = |&block: &Id| {
        let End::Branch(guard, ..) = graph.blocks[block].end else {
            return None;
        };
        let conjunctions = conjunctions(graph, block, &reads);
        let mut parts = Vec::new();
        leaves(&conjunctions, guard.register, &mut parts);
        (2..=CONDITIONS).contains(&parts.len()).then_some(Test {
            block,
            register: guard.register,
            conjunctions,
            parts,
        })
    };
    let tests: Vec<Test<'a>> = region.order().iter().filter_map(test).collect();
    if tests.is_empty() {
        return weaker;
    }
    let mut known = region.facts(graph, special);
    let mut sums = Sums::starts(graph, special, region);
    for Test {
        block: id,
        register,
        conjunctions,
        parts,
    } in tests
    {
        let (Some(mut sums), Some(mut facts)) = (sums.remove(&id), known.remove(&id)) else {
            continue;
        };
        for statement in &graph.blocks[id].body {
            sums.statement(statement);
            facts.statement(statement);
        }
        let mut removed: HashSet<&'a str> = HashSet::default();
        for &part in &parts {
            let is_implied = parts.iter().any(|&other| {
                other != part && !removed.contains(other) && implies(&facts, &sums, other, part)
            });
            if is_implied {
                removed.insert(part);
            }
        }
        if !removed.is_empty() {
            needed(&conjunctions, &removed, id, register, &mut weaker);
        }
    }
    weaker
}

/// Returns the number of operands that are each register.
fn reads<'a>(graph: &Graph<'a>) -> HashMap<&'a str, u32> {
    let mut reads: HashMap<&'a str, u32> = HashMap::default();
    graph.visit(graph.order.iter().copied(), &mut |it| {
        sources(it, &mut |name| *reads.entry(name).or_default() += 1);
    });
    for &id in &graph.order {
        (graph.blocks[id].end).sources(&mut |name| *reads.entry(name).or_default() += 1);
    }
    reads
}

/// Removes the comparisons, and what only they need. Returns the number of changed conjunctions.
pub(super) fn remove<'a>(graph: &mut Graph<'a>, weaker: &Weaker<'a>) -> usize {
    if weaker.conjunctions.is_empty() {
        return 0;
    }
    let mut needed = |mut name: &'a str| {
        while let Some(&side) = weaker.conjunctions.get(name) {
            name = side;
        }
        name
    };
    for block in &mut graph.blocks {
        for statement in &mut block.body {
            if let Statement::Instruction(it) = statement
                && it.opcode == "and"
            {
                it.operands[1..]
                    .iter_mut()
                    .for_each(|operand| rename_operand(operand, &mut needed));
            }
        }
        if let End::Branch(guard, ..) = &mut block.end {
            guard.register = needed(guard.register);
        }
    }
    let mut reads = reads(graph);
    let mut pending = weaker.predicates.clone();
    while let Some((id, name)) = pending.pop() {
        if reads.get(name).is_some_and(|&count| count > 0) {
            continue;
        }
        graph.blocks[id].body.retain(|statement| {
            let Statement::Instruction(it) = statement else {
                return true;
            };
            if !is_pure(it) || !matches!(it.operands[0], Operand::Name(result) if result == name) {
                return true;
            }
            sources(it, &mut |source| {
                *reads.entry(source).or_insert(1) -= 1;
                pending.push((id, source));
            });
            false
        });
    }
    weaker.conjunctions.len()
}

/// Conjunctions of predicates that a block computes, by their registers.
type Conjunctions<'a> = HashMap<&'a str, [&'a str; 2]>;

/// Returns the conjunctions that a block computes and that are read once.
fn conjunctions<'a>(graph: &Graph<'a>, id: Id, reads: &HashMap<&'a str, u32>) -> Conjunctions<'a> {
    let mut all: HashMap<&'a str, Option<[&'a str; 2]>> = HashMap::default();
    for statement in &graph.blocks[id].body {
        let is_plain = matches!(statement, Statement::Instruction(_));
        instructions(statement, &mut |it| {
            let conjunction = match (it.opcode, it.guard, &it.modifiers[..], &it.operands[..]) {
                ("and", None, ["pred"], &[_, Operand::Name(a), Operand::Name(b)]) if is_plain => {
                    Some([a, b])
                }
                _ => None,
            };
            results(it, &mut |result| {
                // A later write of a side hides the value that the conjunction is of.
                for sides in all.values_mut() {
                    sides.take_if(|sides| sides.contains(&result));
                }
                let is_again = all.insert(result, conjunction).is_some();
                if is_again {
                    all.insert(result, None);
                }
            });
        });
    }
    all.into_iter()
        .filter(|(result, _)| reads.get(result) == Some(&1))
        .filter_map(|(result, sides)| Some((result, sides?)))
        .collect()
}

/// Appends the predicates whose conjunction a register is.
fn leaves<'a>(conjunctions: &Conjunctions<'a>, register: &'a str, to: &mut Vec<&'a str>) {
    let mut pending = vec![register];
    while let Some(name) = pending.pop() {
        match conjunctions.get(name) {
            Some(&[a, b]) if to.len() <= CONDITIONS => pending.extend([b, a]),
            _ => to.push(name),
        }
    }
}

/// Records the conjunctions without the predicates of `removed`. Returns whether one of the others
/// is part of the register.
fn needed<'a>(
    conjunctions: &Conjunctions<'a>,
    removed: &HashSet<&'a str>,
    id: Id,
    register: &'a str,
    weaker: &mut Weaker<'a>,
) -> bool {
    let Some(&[a, b]) = conjunctions.get(register) else {
        return !removed.contains(register);
    };
    let [is_a, is_b] = [a, b].map(|side| needed(conjunctions, removed, id, side, weaker));
    for (is_needed, is_other, other, side) in [(is_a, is_b, b, a), (is_b, is_a, a, b)] {
        if is_needed && !is_other {
            weaker.conjunctions.insert(register, side);
            weaker.predicates.extend([(id, register), (id, other)]);
        }
    }
    is_a || is_b
}

/// Returns whether the comparison of a predicate holds whenever that of another one does: both are
/// unsigned and have the same limit, and the first compares a number that is not greater.
fn implies<'a>(facts: &Facts<'a>, sums: &Sums<'a>, stronger: &str, weaker: &str) -> bool {
    let limited = |predicate: &str| -> Option<(Comparison<'a>, bool)> {
        let (compared, value) = match facts.condition(predicate) {
            Condition::Compare(compared) => (compared, true),
            Condition::Not(inner) => match *inner {
                Condition::Compare(compared) => (compared, false),
                _ => return None,
            },
            _ => return None,
        };
        let compared = match value {
            true => compared,
            false => compared.inverted(),
        };
        let compared = match compared.relation {
            Relation::Greater | Relation::GreaterOrEqual => compared.swapped(),
            _ => compared,
        };
        match compared.relation {
            Relation::Less if !compared.signed => Some((compared, true)),
            Relation::LessOrEqual if !compared.signed => Some((compared, false)),
            _ => None,
        }
    };
    let (Some((stronger, strict)), Some((weaker, weaker_is_strict))) =
        (limited(stronger), limited(weaker))
    else {
        return false;
    };
    let bits = stronger.bits;
    if bits != weaker.bits || strict != weaker_is_strict {
        return false;
    }
    let sum = |operand: &Operand<'a>| sums.of(operand, bits);
    let (Some(left), Some(right)) = (sum(&stronger.left), sum(&stronger.right)) else {
        return false;
    };
    if sum(&weaker.right) != Some(right) {
        return false;
    }
    let difference = sum(&weaker.left).and_then(|weaker| left.plus(&weaker, -1));
    let Some((0.., most)) = difference.and_then(|difference| range(facts, &difference)) else {
        return false;
    };
    // The number plus the difference does not wrap around.
    let greatest = i128::from(u64::MAX >> (64 - bits));
    let weakest = facts.range(&weaker.left);
    weakest.is_some_and(|(low, high)| low >= 0 && i128::from(high) + most <= greatest)
}

/// Returns the range of a sum, before it is reduced to its width.
fn range<'a>(facts: &Facts<'a>, sum: &Sum<'a>) -> Option<(i128, i128)> {
    let mut range = (i128::from(sum.number), i128::from(sum.number));
    for &(name, factor) in &sum.terms {
        let (low, high) = facts.range(&Operand::Name(name))?;
        let factor = i128::from(factor);
        let ends = [i128::from(low) * factor, i128::from(high) * factor];
        range = (
            range.0 + ends[0].min(ends[1]),
            range.1 + ends[0].max(ends[1]),
        );
    }
    Some(range)
}
