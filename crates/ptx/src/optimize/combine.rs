//! Combines several checks into one branch.
//!
//! A check (for example a bounds check) is a branch to a panic, so each one begins a new block, and
//! ptxas reorders loads only within a block. For a sequence of checks, this pass computes the
//! conditions at the first check, as far as they do not depend on loads in between, and branches
//! once if any check fails: to a copy of the original code, which runs up to the failing check.
//!
//! There may be shuffles between the checks, if all lanes of a warp reach the first check together:
//! then they are executed before it, also by lanes whose check fails.

use crate::hash::{HashMap, HashSet};

use super::arrivals::{are_together, has_whole_rows, is_shuffle};
use super::flow::{Block, End, Graph, Id, Shape};
use super::instructions::{can_be_copied, has_effect, instructions, is_pure, results, sources};
use super::loops::{Comparison, Relation};
use super::names::Names;
use super::{Check, Literal, check_of, definitions, literal, take_writers, writes};
use crate::dead::visit_operand;
use crate::rewrite::instruction;
use crate::{Function, Guard, Instruction, Integer, Operand, Statement, Type};

/// The maximum number of checks that one branch combines. Their indices are in registers at the
/// same time. All comparisons of one register with constants count as one check.
const CHECKS: usize = 8;

/// The maximum number of checks that one branch combines, with those that do not count.
const LONGEST: usize = 64;

/// Combines the checks of a function, except in the blocks of `slow`, which rarely run. Returns the
/// number of removed branches. `kernel` is the function, if it is a kernel.
pub(super) fn combine<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    kernel: Option<&Function<'a>>,
    slow: &HashSet<Id>,
) -> usize {
    let mut count = 0;
    let mut blocks = graph.order.clone();
    blocks.retain(|id| !slow.contains(id));
    let mut shape = graph.shape();
    for id in blocks {
        // Once for each group of conditions that can be computed together.
        let combined = combine_from(graph, names, kernel, &shape, id);
        if combined > 0 {
            count += combined;
            shape = graph.shape();
        }
    }
    count
}

/// Combines the checks from a block on. If it returns 0, the graph is unchanged.
fn combine_from<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    kernel: Option<&Function<'a>>,
    shape: &Shape,
    start: Id,
) -> usize {
    let cold = &shape.cold;
    let find = |shuffles| {
        let row = row_of_checks(graph, shuffles, shape, start)?;
        let early = early(graph, cold, &row);
        Some((row, early))
    };
    let mut found = find(kernel.is_some());
    if let (Some(kernel), Some((row, early))) = (kernel, &found)
        && !early.shuffled.is_empty()
    {
        let blocks: Vec<Id> = row.iter().map(|&(id, _)| id).collect();
        let in_row = has_whole_rows(kernel) == Some(true);
        if !are_together(graph, cold, in_row, &blocks, &[]) {
            found = find(false);
        }
    }
    let Some((row, early)) = found else {
        return 0;
    };
    let chosen = &early.chosen;
    let Some(&last) = chosen.last() else {
        return 0;
    };
    let row = &row[..=last];
    let first = row[0].1;
    let checks = chosen.iter().map(|&index| row[index].1);
    let mut conditions: Vec<Literal<'a>> = [first]
        .into_iter()
        .chain(checks)
        .map(|it| it.passes())
        .collect();
    remove_implied(&mut conditions, &limits(graph, cold, row));
    let moved = early.needed(&conditions);
    let copies = copy(graph, names, cold, row, &moved);

    // The instructions that compute the conditions, moved before the first branch.
    let later = row[1..].iter().map(|&(id, _)| id);
    let mut computed = take_writers(graph, later, &moved);
    let mut all = None;
    for condition in conditions {
        let next = literal(graph, names, &mut computed, condition);
        all = Some(match all {
            Some(all) => graph.and(names, &mut computed, [all, next]),
            None => next,
        });
    }
    for &index in chosen {
        let (id, check) = row[index];
        graph.blocks[id].end = End::Jump(check.passes, false);
    }
    let block = &mut graph.blocks[row[0].0];
    block.body.extend(computed);
    let guard = Guard {
        negated: true,
        // There is at least one condition.
        register: all.unwrap_or(first.register),
    };
    block.end = End::Branch(guard, false, copies, first.passes);
    chosen.len()
}

/// Returns the consecutive blocks from `start` that end in a check, if there are at least two.
/// `shuffles` says whether they may have shuffles, except the first one, which always may.
fn row_of_checks<'a>(
    graph: &Graph<'a>,
    shuffles: bool,
    Shape { cold, predecessors }: &Shape,
    start: Id,
) -> Option<Vec<(Id, Check<'a>)>> {
    let mut row = vec![(start, check_of(graph, cold, start)?)];
    // The registers that are compared with constants, by predicates.
    let mut compared: HashMap<&str, &str> = HashMap::default();
    let mut counted: HashSet<&str> = HashSet::default();
    loop {
        let &(id, check) = row.last()?;
        visit_limits(graph, id, &mut |limit| {
            compared.insert(limit.predicate, limit.register);
        });
        counted.insert(compared.get(check.register).unwrap_or(&check.register));
        if counted.len() >= CHECKS || row.len() >= LONGEST {
            break;
        }
        let next = row.last()?.1.passes;
        let mut plain = predecessors[next].len() == 1 && next != start;
        for statement in &graph.blocks[next].body {
            instructions(statement, &mut |it| {
                plain &= can_be_copied(it) || shuffles && is_shuffle(it);
            });
        }
        match check_of(graph, cold, next).filter(|_| plain) {
            Some(check) => row.push((next, check)),
            None => break,
        }
    }
    (row.len() > 1).then_some(row)
}

/// A comparison of a register with a constant.
struct Limit<'a> {
    predicate: &'a str,
    register: &'a str,
    /// If the predicate is true. The register is on the left.
    comparison: Comparison<'a>,
    constant: u64,
}

/// What a [`Limit`] demands of a register.
enum Demand {
    AtLeast(u64),
    Not(u64),
}

impl Limit<'_> {
    /// Returns what it means that the predicate has a value.
    fn demand(&self, value: bool) -> Option<Demand> {
        let comparison = match value {
            true => self.comparison.clone(),
            false => self.comparison.inverted(),
        };
        match comparison.relation {
            Relation::NotEqual => Some(Demand::Not(self.constant)),
            Relation::GreaterOrEqual => Some(Demand::AtLeast(self.constant)),
            Relation::Greater => Some(Demand::AtLeast(self.constant.checked_add(1)?)),
            _ => None,
        }
    }
}

/// Calls `f` with the comparisons of unsigned registers with constants in a block.
fn visit_limits<'a>(graph: &Graph<'a>, id: Id, f: &mut impl FnMut(Limit<'a>)) {
    for statement in &graph.blocks[id].body {
        if let Statement::Instruction(it) = statement
            && let Some(&Operand::Name(predicate)) = it.operands.first()
            && let Some(comparison) = Comparison::of(it, true).filter(|it| !it.signed)
        {
            let comparison = match comparison.left {
                Operand::Integer(_) => comparison.swapped(),
                _ => comparison,
            };
            if let (&Operand::Name(register), &Operand::Integer(constant)) =
                (&comparison.left, &comparison.right)
            {
                f(Limit {
                    predicate,
                    register,
                    constant: constant.bits & u64::MAX >> (64 - comparison.bits),
                    comparison,
                });
            }
        }
    }
}

/// Returns the comparisons with constants in a row, by predicate. All comparisons of one register
/// have the same value of the register.
fn limits<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    row: &[(Id, Check<'a>)],
) -> HashMap<&'a str, Limit<'a>> {
    let definitions = definitions(graph, cold);
    let mut found: HashMap<&str, Limit<'a>> = HashMap::default();
    for &(id, _) in row {
        visit_limits(graph, id, &mut |limit| {
            if definitions.get(limit.predicate) == Some(&1) {
                found.insert(limit.predicate, limit);
            }
        });
    }
    let mut compared: HashSet<&str> = HashSet::default();
    let mut changed: HashSet<&str> = HashSet::default();
    for statement in row.iter().flat_map(|&(id, _)| &graph.blocks[id].body) {
        instructions(statement, &mut |it| {
            results(it, &mut |name| {
                if compared.contains(name) {
                    changed.insert(name);
                }
                if let Some(limit) = found.get(name) {
                    compared.insert(limit.register);
                }
            });
        });
    }
    found.retain(|_, limit| !changed.contains(limit.register));
    found
}

/// Removes conditions that follow from another one: `n > 3`, `n != 4` and `n > 5` from `n > 7`.
fn remove_implied<'a>(conditions: &mut Vec<Literal<'a>>, limits: &HashMap<&'a str, Limit<'a>>) {
    let demand = |&(predicate, value): &Literal<'a>| {
        let limit = limits.get(predicate)?;
        Some((limit.register, limit.demand(value)?))
    };
    let mut least: HashMap<&str, (u64, &str)> = HashMap::default();
    for condition in conditions.iter() {
        if let Some((register, Demand::AtLeast(number))) = demand(condition) {
            let strongest = least.entry(register).or_insert((number, condition.0));
            if number > strongest.0 {
                *strongest = (number, condition.0);
            }
        }
    }
    conditions.retain(|condition| {
        let Some((register, demand)) = demand(condition) else {
            return true;
        };
        match (demand, least.get(register)) {
            (Demand::AtLeast(_), Some(&(_, strongest))) => strongest == condition.0,
            (Demand::Not(number), Some(&(least, _))) => number >= least,
            (_, None) => true,
        }
    });
}

/// What can be computed at the first check of a row.
struct Early<'a> {
    /// The registers, and how they are computed.
    registers: HashSet<&'a str>,
    computations: Vec<Instruction<'a>>,
    /// The indices of the checks whose conditions can be computed.
    chosen: Vec<usize>,
    /// The results of the shuffles up to the last of these checks.
    shuffled: HashSet<&'a str>,
}

impl<'a> Early<'a> {
    /// Returns the registers that conditions need, and those of the shuffles.
    fn needed(&self, conditions: &[Literal<'a>]) -> HashSet<&'a str> {
        let mut needed: HashSet<&str> = conditions.iter().map(|&(name, _)| name).collect();
        needed.extend(&self.shuffled);
        for it in self.computations.iter().rev() {
            let mut is_needed = false;
            results(it, &mut |name| is_needed |= needed.contains(name));
            if is_needed {
                sources(it, &mut |name| _ = needed.insert(name));
            }
        }
        needed.retain(|name| self.registers.contains(name));
        needed
    }
}

/// Returns what can be computed at the first check of a row.
fn early<'a>(graph: &Graph<'a>, cold: &[bool], row: &[(Id, Check<'a>)]) -> Early<'a> {
    let definitions = definitions(graph, cold);
    let mut early = HashSet::default();
    let mut late = HashSet::default();
    let mut computations: Vec<Instruction<'a>> = Vec::new();
    let mut chosen = Vec::new();
    let (mut shuffled, mut passed) = (HashSet::default(), Vec::new());
    for (index, &(id, check)) in row.iter().enumerate().skip(1) {
        let mut all_early = true;
        for statement in &graph.blocks[id].body {
            let single = matches!(statement, Statement::Instruction(_));
            instructions(statement, &mut |it| {
                let shuffle = is_shuffle(it);
                let mut possible = single && (is_pure(it) || shuffle);
                sources(it, &mut |name| possible &= !late.contains(name));
                results(it, &mut |name| {
                    possible &= definitions.get(name) == Some(&1)
                });
                results(it, &mut |name| {
                    match possible {
                        true => early.insert(name),
                        false => late.insert(name),
                    };
                });
                if possible {
                    computations.push(it.clone());
                }
                if shuffle {
                    results(it, &mut |name| passed.push(name));
                    all_early &= possible;
                }
            });
        }
        if !all_early {
            break;
        }
        if !late.contains(check.register) {
            chosen.push(index);
            shuffled.extend(passed.drain(..));
        }
    }
    Early {
        registers: early,
        computations,
        chosen,
        shuffled,
    }
}

/// Copies the code from the first check to the last one, which is known to fail if no other check
/// fails. Returns the first block of the copy.
fn copy<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    cold: &[bool],
    row: &[(Id, Check<'a>)],
    moved: &HashSet<&'a str>,
) -> Id {
    let comparisons = comparisons(graph, cold, row, moved);
    let mut used = HashSet::default();
    let mut next = None;
    for &(id, check) in row.iter().rev() {
        used_from(graph, check.fails, &mut used);
        let mut tail = Vec::new();
        let mut register = check.register;
        if next.is_some()
            && let Some(comparison) = comparisons.get(register)
        {
            register = compare_again(graph, names, comparison, &mut tail);
            for operand in [&comparison.left, &comparison.right] {
                visit_operand(operand, &mut |name| _ = used.insert(name));
            }
        } else {
            used.insert(register);
        }
        let mut body = Vec::new();
        if next.is_some() || id != row[0].0 {
            // Backwards, so that code used only by omitted code is omitted too.
            for statement in graph.blocks[id].body.iter().rev() {
                let (mut keep, mut labels) = (false, false);
                instructions(statement, &mut |it| {
                    keep |= has_effect(it);
                    results(it, &mut |name| keep |= used.contains(name));
                    labels |= writes(it, moved);
                });
                keep &= !labels;
                keep |= matches!(statement, Statement::Loc(_));
                if keep {
                    instructions(statement, &mut |it| {
                        sources(it, &mut |name| _ = used.insert(name))
                    });
                    body.push(statement.clone());
                }
            }
            body.reverse();
        }
        if id == row[0].0 {
            // The code before the first check has already run.
            body.clear();
        }
        let end = match next {
            None => End::Jump(check.fails, false),
            Some(next) => {
                let guard = Guard {
                    negated: !check.negated,
                    register,
                };
                End::Branch(guard, false, check.fails, next)
            }
        };
        body.extend(tail);
        let label = names.label();
        next = Some(graph.add(Block { label, body, end }, None));
    }
    // The blocks were created in reverse order.
    let first = graph.order.len() - row.len();
    graph.order[first..].reverse();
    // There are at least two blocks.
    next.unwrap_or_default()
}

/// Returns the comparisons of unsigned numbers that the copy can repeat, by their predicates.
fn comparisons<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    row: &[(Id, Check<'a>)],
    moved: &HashSet<&'a str>,
) -> HashMap<&'a str, Comparison<'a>> {
    let definitions = definitions(graph, cold);
    let single = |name: &str| definitions.get(name) == Some(&1);
    let statements = || row.iter().flat_map(|&(id, _)| &graph.blocks[id].body);
    let mut written = HashSet::default();
    for statement in statements() {
        instructions(statement, &mut |it| {
            results(it, &mut |name| _ = written.insert(name));
        });
    }
    let constant = |operand: &Operand<'a>| match operand {
        Operand::Name(name) => !written.contains(name) || single(name) || moved.contains(name),
        Operand::Integer(_) => true,
        _ => false,
    };
    let mut found = HashMap::default();
    for statement in statements() {
        if let Statement::Instruction(it) = statement
            && let Some(comparison) = Comparison::of(it, true)
            && let Some(&Operand::Name(predicate)) = it.operands.first()
            && single(predicate)
            && !comparison.signed
            && !matches!(comparison.relation, Relation::Equal | Relation::NotEqual)
            && constant(&comparison.left)
            && constant(&comparison.right)
        {
            found.insert(predicate, comparison);
        }
    }
    found
}

/// Computes a comparison once more, as the borrow of a subtraction. If the copy read the predicate
/// of the original, or compared the same operands, ptxas would compute the predicate in the hot
/// path, separately from the combined condition.
fn compare_again<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    comparison: &Comparison<'a>,
    to: &mut Vec<Statement<'a>>,
) -> &'a str {
    let integer = |value| Operand::Integer(Integer::unsigned(value));
    let wide = comparison.bits == 64;
    // As `a < b` or its opposite.
    let (operands, inverted) = match comparison.relation {
        Relation::Less => ([&comparison.left, &comparison.right], false),
        Relation::GreaterOrEqual => ([&comparison.left, &comparison.right], true),
        Relation::Greater => ([&comparison.right, &comparison.left], false),
        _ => ([&comparison.right, &comparison.left], true),
    };
    let difference = graph.register(Type::B32, names);
    let mut words: [Vec<Operand<'a>>; 2] = [Vec::new(), Vec::new()];
    for (operand, words) in operands.into_iter().zip(&mut words) {
        match operand {
            Operand::Integer(value) if wide => {
                words.push(integer(value.bits & u64::from(u32::MAX)));
                words.push(integer(value.bits >> 32));
            }
            _ if wide => {
                let parts: [&str; 2] = std::array::from_fn(|_| graph.register(Type::B32, names));
                let parts = parts.map(Operand::Name).to_vec();
                let operands = vec![Operand::Vector(parts.clone()), operand.clone()];
                to.push(instruction("mov", &["b64"], operands));
                words.extend(parts);
            }
            _ => words.push(operand.clone()),
        }
    }
    let [a, b] = words;
    for (index, (a, b)) in a.into_iter().zip(b).enumerate() {
        let opcode = if index == 0 { "sub" } else { "subc" };
        let operands = vec![Operand::Name(difference), a, b];
        to.push(instruction(opcode, &["cc", "u32"], operands));
    }
    let operands = vec![Operand::Name(difference), integer(0), integer(0)];
    to.push(instruction("subc", &["u32"], operands));
    let predicate = graph.register(Type::Pred, names);
    let relation = if inverted { "eq" } else { "ne" };
    let operands = vec![
        Operand::Name(predicate),
        Operand::Name(difference),
        integer(0),
    ];
    to.push(instruction("setp", &[relation, "s32"], operands));
    predicate
}

/// Adds the registers that a cold block and its successors read.
fn used_from<'a>(graph: &Graph<'a>, from: Id, used: &mut HashSet<&'a str>) {
    let mut seen = HashSet::from_iter([from]);
    let mut left = vec![from];
    while let Some(id) = left.pop() {
        let block = &graph.blocks[id];
        for statement in &block.body {
            instructions(statement, &mut |it| {
                sources(it, &mut |name| _ = used.insert(name))
            });
        }
        if let End::Branch(guard, ..) = block.end {
            used.insert(guard.register);
        }
        left.extend(
            block
                .end
                .targets()
                .into_iter()
                .filter(|&to| seen.insert(to)),
        );
    }
}
