//! Proves in the copy of a kernel's body that indices are within slices.
//!
//! A thread of a two-dimensional kernel accesses the element `y * width + x` and its neighbors,
//! where `x < width` and `y < height`. So all these indices are below `width * height`, whatever
//! `x` and `y` are. This pass represents integers as polynomials of registers, and replaces
//! registers by the bounds that follow from branches. If an index is at least 0 and below a product
//! of extents, the kernel's test demands that the product is at most the length of the slice, and
//! the comparison of each thread is removed. Indices also need only 32 bits then.
//!
//! Indices such as `4 * i + 3` are below a multiple of a product, which the test demands, too. Other
//! indices such as `(y + 1) * (width + 2) + x + 1` are below a sum of products. The test demands that
//! sum only if all threads whose place is within the extents reach the access: a launch that fails the
//! demand would panic, so no other launch loses the copy.

use crate::hash::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::counts::{Counted, minuend};
use super::flow::{End, Graph, Id};
use super::instructions::{instructions, is_parameter, is_pure, results, sources};
use super::loops::{self, Comparison, Relation, Step};
use super::names::Names;
use super::narrow::{self, Facts, Range, Region};
use super::specialize::{BOUND, Special, Test, single_definitions};
use super::version::number;
use super::{Check, Literal, check_of, ordinary, products};
use crate::dead::visit_operand;
use crate::rewrite::instruction;
use crate::{Base, Function, Guard, Instruction, Operand, Statement, Type};

/// The maximum number of terms of a polynomial.
const TERMS: usize = 16;

/// The maximum number of factors of a term.
const FACTORS: usize = 4;

/// How often a polynomial's registers are replaced by what they are computed as.
const STEPS: usize = 4;

/// The types of conversions that keep the value of an integer that fits both.
const INTEGER_CONVERSIONS: &[&[&str]] = &[&["u32", "u64"], &["u64", "u32"], &["s64", "s32"]];

/// The maximum number by which a product of extents is multiplied: several elements of an array per
/// place.
const MULTIPLE: i64 = 1 << 12;

/// The maximum number of elements of a table.
const TABLE: i64 = 1 << 16;

/// The maximum number of products and sums that are compared with lengths.
const DEMANDS: usize = 4;

/// The maximum number of comparisons of each thread that are cheaper than one of a sum without
/// products.
const FEW: usize = 3;

/// The maximum number of registers whose values may wrap around where they are computed.
const WRAPPED: usize = 128;

/// The registers that are multiplied, sorted.
type Product<'a> = Vec<&'a str>;

/// A sum of products with integer coefficients, none of which is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Polynomial<'a>(BTreeMap<Product<'a>, i64>);

impl<'a> Polynomial<'a> {
    fn constant(value: i64) -> Polynomial<'a> {
        let mut sum = Polynomial::default();
        let _ = sum.add(Product::new(), value);
        sum
    }

    fn register(name: &'a str) -> Polynomial<'a> {
        Polynomial(BTreeMap::from([(vec![name], 1)]))
    }

    /// Adds a term. Returns `None` if the polynomial becomes too large.
    fn add(&mut self, product: Product<'a>, coefficient: i64) -> Option<()> {
        let sum = self.0.remove(&product).unwrap_or(0);
        let sum = sum.checked_add(coefficient)?;
        if sum != 0 {
            self.0.insert(product, sum);
        }
        (self.0.len() <= TERMS).then_some(())
    }

    /// Returns `self + factor * other`.
    fn plus(&self, other: &Polynomial<'a>, factor: i64) -> Option<Polynomial<'a>> {
        let mut sum = self.clone();
        for (product, coefficient) in &other.0 {
            sum.add(product.clone(), coefficient.checked_mul(factor)?)?;
        }
        Some(sum)
    }

    fn times(&self, other: &Polynomial<'a>) -> Option<Polynomial<'a>> {
        let mut all = Polynomial::default();
        for (a, by_a) in &self.0 {
            for (b, by_b) in &other.0 {
                let mut product = a.clone();
                product.extend(b);
                product.sort_unstable();
                if product.len() > FACTORS {
                    return None;
                }
                all.add(product, by_a.checked_mul(*by_b)?)?;
            }
        }
        Some(all)
    }

    /// Returns the register and the number whose sum the polynomial is.
    fn as_sum(&self) -> Option<(&'a str, i64)> {
        let mut sum = (None, 0);
        for (product, &coefficient) in &self.0 {
            match (&product[..], coefficient) {
                ([], number) => sum.1 = number,
                ([register], 1) if sum.0.is_none() => sum.0 = Some(*register),
                _ => return None,
            }
        }
        Some((sum.0?, sum.1))
    }

    fn as_constant(&self) -> Option<i64> {
        let is_constant = self.registers().next().is_none();
        is_constant.then(|| self.0.values().sum())
    }

    fn registers(&self) -> impl Iterator<Item = &'a str> {
        self.0.keys().flatten().copied()
    }

    /// Returns whether the polynomial is a product of registers.
    fn is_product(&self) -> bool {
        let mut terms = self.0.iter();
        matches!((terms.next(), terms.next()), (Some((product, 1)), None) if !product.is_empty())
    }

    /// Returns whether the polynomial is a product of registers times a number that is not large, as
    /// the greatest value of a register without limits is.
    fn is_multiple(&self) -> bool {
        let mut terms = self.0.iter();
        matches!(
            (terms.next(), terms.next()),
            (Some((product, 1..=MULTIPLE)), None) if !product.is_empty()
        )
    }

    /// Returns the maximum number of factors of a term.
    fn degree(&self) -> usize {
        self.0.keys().map(Vec::len).max().unwrap_or(0)
    }

    /// Returns whether no coefficient is greater than that in `other`, so that the value is not
    /// greater either if no register and no coefficient of `other` is negative.
    fn is_within(&self, other: &Polynomial<'a>) -> bool {
        let mut terms = self.0.iter();
        terms.all(|(product, coefficient)| {
            other
                .0
                .get(product)
                .is_some_and(|other| coefficient <= other)
        })
    }
}

/// The value of a register, as an exact integer.
#[derive(Clone, Debug)]
struct Value<'a> {
    polynomial: Rc<Polynomial<'a>>,
    range: Range,
    /// The sum of products of extents that must be below [`BOUND`] for the polynomial to hold.
    hypothesis: Option<Rc<Polynomial<'a>>>,
}

impl<'a> Value<'a> {
    fn constant(value: i64) -> Value<'a> {
        Value {
            polynomial: Polynomial::constant(value).into(),
            range: (value, value),
            hypothesis: None,
        }
    }
}

/// `register <= bound - margin`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Limit<'a> {
    register: &'a str,
    bound: &'a str,
    margin: i64,
    /// Whether the register is likely to reach the limit. A quotient is at most the dividend, but
    /// mostly less. Such a limit keeps integers small, but a length need not be as large.
    is_reached: bool,
}

/// Which limits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limits {
    All,
    Reached,
}

/// `sum <= extent - margin`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SumLimit<'a> {
    sum: Polynomial<'a>,
    extent: &'a str,
    margin: i64,
}

/// The part of a buffer from an index to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part<'a> {
    /// The length of the buffer.
    extent: &'a str,
    start: Rc<Polynomial<'a>>,
    /// Whether the start may be above the extent. The part is empty then.
    may_be_outside: bool,
}

impl<'a> Part<'a> {
    fn depends_on(&self, register: &str) -> bool {
        self.extent == register || self.start.registers().any(|it| it == register)
    }
}

/// What is known at a place.
#[derive(Clone, Debug, Default)]
struct Known<'a> {
    values: HashMap<&'a str, Value<'a>>,
    /// What registers without extents are computed as, such as twice a position in the grid.
    definitions: HashMap<&'a str, Rc<Polynomial<'a>>>,
    /// The registers that have the values of polynomials if these are below 2³¹ and not negative: LLVM
    /// computes `(y - 1) * width + x` before the check `y - 1 < height`.
    wrapped: BTreeMap<&'a str, Wrapped<'a>>,
    limits: Vec<Limit<'a>>,
    /// The extents in parameters, each with the register that is loaded first.
    parameters: HashMap<(&'a str, i64), &'a str>,
    /// Positions in the grid, by the registers of the block's and the thread's, each with the register
    /// that is computed first.
    positions: HashMap<[&'a str; 2], &'a str>,
    /// The extents and numbers whose quotient a register is, rounded down.
    quotients: HashMap<&'a str, (&'a str, i64)>,
    /// The dividends and divisors of the quotients that registers are, rounded down.
    divisions: HashMap<&'a str, [Rc<Polynomial<'a>>; 2]>,
    /// The parts of buffers whose size a register is at most.
    parts: HashMap<&'a str, Part<'a>>,
    /// The extents and starts of parts that a register is the maximum of.
    ends: HashMap<&'a str, Part<'a>>,
    sum_limits: Vec<SumLimit<'a>>,
}

/// A polynomial that a register is equal to modulo a power of two, whose exponent is `bits`. A register
/// with more bits is the extension of one with as many.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wrapped<'a> {
    polynomial: Rc<Polynomial<'a>>,
    bits: u32,
}

/// A comparison whose outcome is known if a sum of products of extents is at most a length.
struct Proven<'a> {
    /// The predicate.
    register: &'a str,
    outcome: bool,
    bound: Polynomial<'a>,
    /// Whether most launches whose index is within the length meet the demand.
    is_likely: bool,
    /// Whether the thread panics if the comparison has the other outcome, and the host tests demands.
    is_check: bool,
    /// Whether the index is a number of a few bits: see [`compare_in_table`].
    is_in_table: bool,
    /// Whether the thread panics if the comparison has this outcome. No launch is meant to, so this is
    /// no reason for a demand.
    panics: bool,
    /// The length, or `None` if the sum need only be at most any length, and 0 always is.
    length: Option<&'a str>,
}

impl<'a> Proven<'a> {
    /// Returns whether a check of an index always passes if a product of extents is at most a
    /// length.
    fn proves(&self, check: Option<Check<'a>>) -> bool {
        let is_demand = self.is_likely && self.length.is_some() && self.bound.is_multiple();
        is_demand && check.is_some_and(|check| check.passes() == (self.register, self.outcome))
    }

    /// Returns whether the demand of this comparison implies that of another one.
    fn covers(&self, other: &Proven<'a>) -> bool {
        let is_same = other.length.is_none() || self.length == other.length;
        is_same && other.bound.is_within(&self.bound)
    }
}

/// How often the computation of a remainder subtracts the divisor.
#[derive(Clone, Copy, Debug)]
enum Subtractions {
    /// Never: the dividend is less than the divisor.
    None,
    /// At most once: the dividend is less than twice the divisor, as the column of a neighbor that
    /// wraps around is.
    Once,
}

/// What [`analyze`] finds.
#[derive(Default)]
struct Found<'a> {
    /// The comparisons whose outcome can be proven.
    proven: Vec<Proven<'a>>,
    /// The registers that are at most a sum of products of extents.
    small: Vec<(&'a str, Polynomial<'a>)>,
    /// Those that are below such a sum, and likely to reach the number before.
    limited: HashMap<&'a str, Polynomial<'a>>,
    /// The registers with remainders that need no division.
    remainders: HashMap<&'a str, Subtractions>,
}

/// Removes comparisons, and adds what they require to the kernel's test. Returns whether there are
/// any.
pub(super) fn prove<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &mut Special<'a>,
    ordinary_entries: bool,
    left: &mut Option<Region<'a>>,
) -> bool {
    let cold = graph.cold();
    let single = single_definitions(graph, &cold);
    let region = Region::take(left, graph, special);
    let Found {
        mut proven,
        small,
        remainders,
        ..
    } = analyze(graph, special, &region, &single, ordinary_entries);
    subtract(graph, names, special, &remainders);
    let mut counts: HashMap<(&Polynomial<'a>, &'a str), usize> = HashMap::default();
    for each in proven.iter().filter(|each| !each.panics) {
        // A sum that is within another one needs no demand of its own.
        let Some(length) = each.length else {
            continue;
        };
        let likely = (proven.iter()).filter(|other| other.is_likely && !other.panics);
        let all = likely.filter(|other| other.covers(each));
        let greatest = all.map(|other| &other.bound).reduce(|greatest, other| {
            if greatest.is_within(other) {
                other
            } else {
                greatest
            }
        });
        if let Some(greatest) = greatest {
            // The host tests a demand once for all threads.
            let weight = match each.is_check {
                true => FEW + 1,
                false => 1,
            };
            *counts.entry((greatest, length)).or_default() += weight;
        }
    }
    // Otherwise each thread may as well compare.
    counts.retain(
        |(bound, _), count| match (bound.is_product(), bound.degree()) {
            (true, 1) | (false, 2..) => *count > 1,
            (true, _) => true,
            (false, _) => *count > FEW,
        },
    );
    // Products come first.
    let mut demanded: BTreeMap<(bool, Polynomial<'a>), Vec<&'a str>> = BTreeMap::new();
    for (bound, length) in counts.into_keys() {
        let key = (!bound.is_product(), bound.clone());
        demanded.entry(key).or_default().push(length);
    }
    while demanded.len() > DEMANDS {
        demanded.pop_last();
    }
    let mut test = Test::new(graph, names, &single, &special.extents);
    demanded.retain(|(_, bound), lengths| {
        lengths.sort_unstable();
        match bound.0.first_key_value() {
            Some((product, _)) if bound.is_product() => test.demand_within(product, lengths),
            _ => test.demand_sum_within(&bound.0, lengths),
        }
        .is_some()
    });
    let extents = test.extents();
    let finished = test.finish();
    proven.retain(|each| {
        let mut demanded = demanded.iter();
        let is_demanded = demanded.any(|((_, bound), lengths)| {
            let is_same = each.length.is_none_or(|length| lengths.contains(&length));
            is_same && each.bound.is_within(bound)
        });
        is_demanded || each.length.is_none() && each.bound.0.is_empty()
    });
    let Some((body, condition)) = finished else {
        fold(graph, special, &proven);
        return false;
    };
    special.extents.extend(extents);
    if !extend_test(graph, names, special, (body, condition)) {
        return false;
    }
    let small = small.into_iter().filter(|(_, most)| {
        let mut bounds = demanded.keys();
        bounds.any(|(_, bound)| most.is_within(bound))
    });
    special.extents.extend(small.map(|(register, _)| register));
    for ((_, bound), lengths) in &demanded {
        if let Some((extent, 0..)) = bound.as_sum() {
            let parameters = lengths.iter().filter_map(|it| parameter(single.get(it)?));
            special.within.extend(parameters.map(|it| (extent, it)));
        }
    }
    fold(graph, special, &proven);
    true
}

/// Returns the parameter that an instruction loads from its start.
pub(super) fn parameter<'a>(it: &Instruction<'a>) -> Option<&'a str> {
    match it.operands[..] {
        [_, Operand::Address(Base::Name(name), 0)] if is_parameter(it) => Some(name),
        _ => None,
    }
}

/// Adds a condition to the kernel's test, unless that is not followed by the copy.
fn extend_test<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    (body, condition): (Vec<Statement<'a>>, &'a str),
) -> bool {
    let (start, before) = match graph.blocks[special.first].end {
        End::Branch(guard, _, start, _) => (start, Some(guard.register)),
        End::Jump(start, _) => (start, None),
        _ => return false,
    };
    let mut first = std::mem::take(&mut graph.blocks[special.first].body);
    first.extend(body);
    let condition = match before {
        Some(before) => graph.and(names, &mut first, [before, condition]),
        None => condition,
    };
    let block = &mut graph.blocks[special.first];
    block.body = first;
    block.end = End::Branch(Guard::new(condition), false, start, special.general);
    true
}

/// Adds a condition to the kernel's test, if the host can evaluate that then.
pub(super) fn extend_test_for_host<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    kernel: &Function<'a>,
    demands: (Vec<Statement<'a>>, &'a str),
) -> bool {
    let before = graph.blocks[special.first].clone();
    let is_longer = extend_test(graph, names, special, demands)
        && ordinary::condition(graph, special, kernel).is_some();
    if !is_longer {
        graph.blocks[special.first] = before;
    }
    is_longer
}

/// Demands that the products in indices fit 32 bits that other demands do not limit. Their factors
/// have limits that follow from comparisons, or from the sizes of the grid and from parameters. Only
/// the copy shows which that are: its grid-stride loops have one iteration. Returns whether there
/// are any.
pub(super) fn limit_products<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &mut Special<'a>,
    kernel: &Function<'a>,
) -> bool {
    let cold = graph.cold();
    let single = single_definitions(graph, &cold);
    let mut products = products::of_indices(graph, &narrow::order(graph, special, &cold), &single);
    if products.is_empty() {
        return false;
    }
    let region = Region::new(graph, special);
    let fits = |(low, high): Range| low >= 0 && high <= i32::MAX.into();
    let remove_small = &mut |facts: &Facts<'a>, statement: &Statement<'a>| {
        if let Statement::Instruction(it) = statement
            && let Some(&Operand::Name(result)) = it.operands.first()
            && facts.result_range(it).is_some_and(fits)
        {
            products.retain(|product| *product != result);
        }
    };
    region.visit(graph, special, remove_small, &mut |_, _, _| {});
    if products.is_empty() {
        return false;
    }
    let sums_of = analyze(graph, special, &region, &single, true).limited;
    let mut test = Test::new(graph, names, &single, &special.extents);
    let mut sums: BTreeMap<&Polynomial<'a>, Option<Operand<'a>>> = BTreeMap::new();
    let (limited, others): (Vec<&'a str>, Vec<&'a str>) = products.into_iter().partition(|it| {
        sums_of.get(it).is_some_and(|sum| {
            let value = sums.entry(sum).or_insert_with(|| test.sum(&sum.0));
            value.is_some()
        })
    });
    for sum in sums.into_values().flatten() {
        test.demand("lt", "u64", [sum, number(BOUND)]);
    }
    let of_others = products::Bounds::new(kernel, &single, &others, &mut test);
    for &value in of_others.demanded() {
        test.demand("lt", "u64", [Operand::Name(value), number(BOUND)]);
    }
    for value in of_others.positive() {
        test.demand("ne", "s64", [Operand::Name(value), number(0)]);
    }
    let Some(demands) = test.finish() else {
        return false;
    };
    if !extend_test_for_host(graph, names, special, kernel, demands) {
        return false;
    }
    special.extents.extend(limited);
    special.bounded.extend(of_others.ranges());
    true
}

/// Removes the branches to panics that [`prove`] left for `guarded`, and those to the code for the
/// panics of several accesses if none of these can panic.
pub(super) fn settle<'a>(graph: &mut Graph<'a>, special: &Special<'a>) {
    let single = single_definitions(graph, &graph.cold());
    let mut outcomes = special.outcomes.clone();
    let ids = special.blocks(graph);
    graph.visit(ids.iter().copied(), &mut |it| {
        if let ([Operand::Name(result), values @ ..], ["pred"], None) =
            (&it.operands[..], &it.modifiers[..], it.guard)
            && single.contains_key(result)
        {
            let of = |value: &Operand<'a>| match value {
                Operand::Name(name) => outcomes.get(name).copied(),
                _ => None,
            };
            let has = |outcome: bool| values.iter().any(|value| of(value) == Some(outcome));
            let all = |outcome: bool| values.iter().all(|value| of(value) == Some(outcome));
            let outcome = match it.opcode {
                "not" if all(true) => Some(false),
                "not" => all(false).then_some(true),
                "and" if has(false) => Some(false),
                "and" => all(true).then_some(true),
                "or" if has(true) => Some(true),
                "or" => all(false).then_some(false),
                _ => None,
            };
            outcomes.extend(outcome.map(|outcome| (*result, outcome)));
        }
    });
    for id in ids {
        graph.settle(id, &outcomes);
    }
    graph.remove_unreachable();
}

/// Replaces the proven comparisons and the branches that depend on them alone. Outside of loops,
/// branches to panics stay for `guarded`, which computes the conditions of several accesses at once.
fn fold<'a>(graph: &mut Graph<'a>, special: &mut Special<'a>, proven: &[Proven<'a>]) {
    let outcomes: HashMap<&'a str, bool> = (proven.iter())
        .map(|each| (each.register, each.outcome))
        .collect();
    let cold = graph.cold();
    let (flow, back) = loops::back_edges(graph, &cold);
    let mut repeated = BTreeSet::new();
    for (latch, header) in back {
        let mut inside = BTreeSet::from([header]);
        loops::add_body(&flow, latch, &mut inside);
        repeated.extend(inside);
    }
    for id in special.blocks(graph) {
        for statement in &mut graph.blocks[id].body {
            let Statement::Instruction(it) = statement else {
                continue;
            };
            if let ("setp", Some(&Operand::Name(register))) = (it.opcode, it.operands.first())
                && let Some(&outcome) = outcomes.get(register)
            {
                let operands = vec![Operand::Name(register), number(0), number(0)];
                let relation = if outcome { "eq" } else { "ne" };
                *statement = instruction("setp", &[relation, "s32"], operands);
            }
        }
        if repeated.contains(&id) || check_of(graph, &cold, id).is_none() {
            graph.settle(id, &outcomes);
        }
    }
    special.outcomes = outcomes;
}

/// Computes remainders without a division.
fn subtract<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    remainders: &HashMap<&'a str, Subtractions>,
) {
    if remainders.is_empty() {
        return;
    }
    for id in special.blocks(graph) {
        let mut replaced = Vec::new();
        for statement in std::mem::take(&mut graph.blocks[id].body) {
            let Some((it, result, subtractions)) = remainder(&statement, remainders) else {
                replaced.push(statement);
                continue;
            };
            let (unsigned, signed, ty) = match it.modifiers[..] {
                ["u64" | "s64"] => ("u64", "s64", Type::B64),
                _ => ("u32", "s32", Type::B32),
            };
            let dividend = it.operands[1].clone();
            let operands = it.operands[1..].iter().cloned();
            let computed = match subtractions {
                Subtractions::None => instruction("mov", &[unsigned], vec![result, dividend]),
                Subtractions::Once => {
                    // If the dividend is less than the divisor, the difference wraps around.
                    let difference =
                        graph.emit(names, &mut replaced, ty, "sub", &[signed], operands);
                    let operands = vec![result, dividend, Operand::Name(difference)];
                    instruction("min", &[unsigned], operands)
                }
            };
            replaced.push(computed);
        }
        graph.blocks[id].body = replaced;
    }
}

/// Returns the instruction of a statement and its result, if that is one of the remainders.
fn remainder<'s, 'a>(
    statement: &'s Statement<'a>,
    remainders: &HashMap<&'a str, Subtractions>,
) -> Option<(&'s Instruction<'a>, Operand<'a>, Subtractions)> {
    match statement {
        Statement::Instruction(it) if it.opcode == "rem" => match it.operands.first() {
            Some(&Operand::Name(result)) => {
                Some((it, Operand::Name(result), *remainders.get(result)?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns what can be proven in the copy of a kernel's body. `single` are the registers that one
/// instruction writes.
fn analyze<'a>(
    graph: &Graph<'a>,
    special: &Special<'a>,
    region: &Region<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
    ordinary_entries: bool,
) -> Found<'a> {
    let mut starts = region.facts(graph, special);
    let mut states: HashMap<Id, Known<'a>> =
        HashMap::from_iter([(special.first, Known::default())]);
    let mut found = Found::default();
    let cold = graph.cold();
    // The blocks that all threads reach, except those beyond the extents.
    let mut reached = HashSet::from_iter([special.first]);
    let mut certain = HashSet::default();
    // The conditions of panics.
    let mut fails = HashSet::default();
    // The outcomes of comparisons that the sum of an index and extents has.
    let mut sums: HashMap<&'a str, Proven<'a>> = HashMap::default();
    for &id in region.order() {
        let Some(mut known) = states.remove(&id) else {
            continue;
        };
        if region.is_join(id) {
            known = Known::default();
        }
        let Some(mut facts) = starts.remove(&id) else {
            continue;
        };
        let strided = known.strided(&facts, region, id);
        let end = (region.counted(id)).and_then(|it| {
            (known.end(&facts, it, region.is_entered(id)))
                .or_else(|| known.end_of_steps(single, it))
        });
        let end = end.or_else(|| known.end_of_strides(&facts, region.strided(id)?));
        for register in region.written(id) {
            known.forget(register);
        }
        known.values.extend(strided);
        if let Some(end) = end {
            known.add_limit(end);
        }
        for statement in &graph.blocks[id].body {
            if let Statement::Instruction(it) = statement {
                if let Some(&Operand::Name(register)) = it.operands.first()
                    && single.contains_key(register)
                {
                    known.unwrap(&facts, &special.extents, it);
                    let [proven, sum] = known.compare(&facts, &special.extents, it, register);
                    sums.extend(sum.map(|it| (register, it)));
                    let in_table = || compare_in_table(single, &facts, special, it, register);
                    let is_likely = proven.as_ref().is_some_and(|it| it.is_likely);
                    let certain = proven.as_ref().is_some_and(|it| it.length.is_none());
                    found.proven.extend(match is_likely || certain {
                        true => proven,
                        false => in_table().or(proven),
                    });
                    let subtractions = known.subtractions(&facts, &special.extents, it);
                    found
                        .remainders
                        .extend(subtractions.map(|it| (register, it)));
                }
                known.execute(&facts, &special.extents, it);
                if let Some(&Operand::Name(register)) = it.operands.first()
                    && single.contains_key(register)
                    && let Some(most) = known.most(&facts, &special.extents, register, Limits::All)
                {
                    found.small.push((register, most));
                    let reached = Limits::Reached;
                    if let Some(most) = known.most(&facts, &special.extents, register, reached) {
                        found.limited.insert(register, most);
                    }
                }
            } else {
                instructions(statement, &mut |it| {
                    results(it, &mut |name| known.forget(name));
                });
            }
            facts.statement(statement);
        }
        let end = &graph.blocks[id].end;
        let check = check_of(graph, &cold, id);
        let mut its_fails = HashSet::default();
        if let Some(check) = check {
            add_failing(single, check.passes(), &mut its_fails);
        }
        fails.extend(its_fails.iter().copied());
        if reached.contains(&id) {
            certain.extend(its_fails.into_iter().map(|(register, _)| register));
            let is_limit = &mut |it: &Comparison<'a>| {
                let mut sides = [&it.left, &it.right].into_iter();
                sides.all(|side| is_of_launch(graph, single, side))
                    && known.is_limit(&facts, &special.extents, it)
            };
            reached.extend(next_of_all(graph, special, &cold, &facts, id, is_limit));
        }
        for to in end.targets() {
            if !region.follows(id, to) {
                continue;
            }
            let mut on_edge = known.clone();
            if let End::Branch(guard, _, target, otherwise) = end
                && target != otherwise
                // The index has a limit that is at most the length that it is compared with. Other
                // lengths are compared with that limit, too: the slices may differ in length.
                && !(ordinary_entries && found.proven.iter().any(|each| each.proves(check)))
            {
                let condition = facts.condition(guard.register);
                let value = (to == *target) != guard.negated;
                let mut is_signed = false;
                condition.implied(value, &mut |it| is_signed |= it.signed);
                // An integer is below an extent as one with sign, and not negative.
                let after = is_signed.then(|| {
                    let mut after = facts.clone();
                    after.assume(&condition, value);
                    after
                });
                let facts = after.as_ref().unwrap_or(&facts);
                condition.implied(value, &mut |it| {
                    _ = on_edge.assume_comparison(facts, it);
                });
            }
            match states.get_mut(&to) {
                Some(state) => state.meet(&on_edge),
                None => _ = states.insert(to, on_edge),
            }
        }
    }
    // Launches that do not meet the demand must be those that panic.
    let is_certain = |each: &Proven<'a>| {
        let index = single
            .get(each.register)
            .and_then(|it| Comparison::of(it, true));
        let sides = index.map(|it| [it.left, it.right]);
        certain.contains(each.register)
            && (sides.iter().flatten()).all(|side| is_of_launch(graph, single, side))
    };
    for each in &mut found.proven {
        let fails_with = |it: &Proven<'a>| fails.contains(&(it.register, it.outcome));
        // `i + width < length` is false if `width` is at least the length, and true if the length is
        // at least `width + n`. No launch is meant to panic.
        if fails_with(each)
            && let Some(sum) = sums.remove(each.register).filter(|it| !fails_with(it))
        {
            *each = sum;
        }
        each.panics = fails_with(each);
        each.is_likely &= each.bound.is_multiple() || is_certain(each) || each.is_in_table;
        each.is_check = ordinary_entries && fails.contains(&(each.register, !each.outcome));
    }
    found
}

/// Returns the outcome of a comparison of an index with a length, if the index is a number of a few
/// bits: a slice that has an element for each of them is likely to be a table.
fn compare_in_table<'a>(
    single: &HashMap<&'a str, Instruction<'a>>,
    facts: &Facts<'a>,
    special: &Special<'a>,
    it: &Instruction<'a>,
    register: &'a str,
) -> Option<Proven<'a>> {
    let comparison = Comparison::of(it, true)?;
    let is_length =
        |it: &Operand<'a>| matches!(it, Operand::Name(it) if special.extents.contains(it));
    let comparison = match is_length(&comparison.right) {
        true => comparison,
        false => comparison.swapped(),
    };
    let &Operand::Name(length) = &comparison.right else {
        return None;
    };
    let outcome = match comparison.relation {
        Relation::Less => true,
        Relation::GreaterOrEqual => false,
        _ => return None,
    };
    let is_index = comparison.bits == 64 && !comparison.signed && is_length(&comparison.right);
    if !is_index || !is_of_few_bits(single, &comparison.left) {
        return None;
    }
    let (low, high) = facts.range(&comparison.left)?;
    let bound = high
        .checked_add(1)
        .filter(|&bound| low >= 0 && bound <= TABLE)?;
    Some(Proven {
        register,
        outcome,
        bound: Polynomial::constant(bound),
        is_likely: true,
        is_check: false,
        panics: false,
        is_in_table: true,
        length: Some(length),
    })
}

/// Returns whether an integer is a part of another one. Not if it is a byte or half in memory: a table
/// of a few elements may have such indices.
fn is_of_few_bits<'a>(single: &HashMap<&'a str, Instruction<'a>>, operand: &Operand<'a>) -> bool {
    // The greatest number of the part.
    let mut most: Option<u64> = None;
    let mut operand = operand;
    for _ in 0..STEPS {
        let Operand::Name(name) = operand else {
            break;
        };
        let Some(it) = single.get(name).filter(|it| it.guard.is_none()) else {
            break;
        };
        match (it.opcode, &it.operands[..]) {
            ("ld", _) => {
                let whole = match it.modifiers.last() {
                    Some(&"u8") => u8::MAX.into(),
                    Some(&"u16") => u16::MAX.into(),
                    _ => u64::MAX,
                };
                return most.is_some_and(|most| most < whole);
            }
            ("and" | "rem" | "shr", [_, from, Operand::Integer(number)]) => {
                let part = match it.opcode {
                    "and" => number.bits,
                    "rem" => number.bits.saturating_sub(1),
                    _ => 0,
                };
                most = Some(most.map_or(part, |most| most.min(part)));
                operand = from;
            }
            ("cvt" | "mov", [_, from]) => operand = from,
            _ => break,
        }
    }
    most.is_some()
}

/// Adds the predicates, each with a value, for which a check fails that passes if a predicate has a
/// value.
fn add_failing<'a>(
    single: &HashMap<&'a str, Instruction<'a>>,
    (register, passes): Literal<'a>,
    fails: &mut HashSet<Literal<'a>>,
) {
    if !fails.insert((register, !passes)) {
        return;
    }
    let Some(it) = single.get(register).filter(|it| it.guard.is_none()) else {
        return;
    };
    let passes = match (it.opcode, &it.modifiers[..]) {
        ("and", ["pred"]) if passes => true,
        ("or", ["pred"]) if !passes => false,
        ("not", ["pred"]) => !passes,
        _ => return,
    };
    for operand in &it.operands[1..] {
        if let &Operand::Name(operand) = operand {
            add_failing(single, (operand, passes), fails);
        }
    }
}

/// Returns the block after a block that all threads reach, if all of them reach that one, too, except
/// those beyond the extents: the other target panics, or leaves the kernel, and the condition consists
/// of comparisons for which `is_limit` holds.
fn next_of_all<'a>(
    graph: &Graph<'a>,
    special: &Special<'a>,
    cold: &[bool],
    facts: &Facts<'a>,
    id: Id,
    is_limit: &mut impl FnMut(&Comparison<'a>) -> bool,
) -> Option<Id> {
    let (guard, to, otherwise) = match graph.blocks[id].end {
        End::Jump(to, _) => return Some(to),
        End::Branch(guard, _, to, otherwise) => (guard, to, otherwise),
        _ => return None,
    };
    match [to, otherwise].map(|to| cold[to] || to == special.general) {
        [true, _] => return Some(otherwise),
        [_, true] => return Some(to),
        _ => {}
    }
    let [leaves, other_leaves] = [to, otherwise].map(|to| graph.only_leaves(to));
    let (next, value) = match (leaves, other_leaves) {
        (true, false) => (otherwise, guard.negated),
        (false, true) => (to, !guard.negated),
        _ => return None,
    };
    let condition = facts.condition(guard.register);
    condition.all(value, is_limit).then_some(next)
}

/// Returns whether an integer depends only on the parameters and on the position in the grid.
fn is_of_launch<'a>(
    graph: &Graph<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
    operand: &Operand<'a>,
) -> bool {
    let mut left = Vec::new();
    visit_operand(operand, &mut |name| left.push(name));
    let mut seen: HashSet<&'a str> = left.iter().copied().collect();
    while let Some(name) = left.pop() {
        if graph.type_of(name).is_none() {
            continue;
        }
        let Some(it) = single
            .get(name)
            .filter(|it| is_parameter(it) || is_pure(it))
        else {
            return false;
        };
        sources(it, &mut |name| {
            if seen.insert(name) {
                left.push(name);
            }
        });
    }
    true
}

impl<'a> Known<'a> {
    fn forget(&mut self, register: &'a str) {
        self.values.remove(register);
        self.definitions.remove(register);
        (self.definitions).retain(|_, definition| definition.registers().all(|it| it != register));
        (self.values).retain(|_, value| value.polynomial.registers().all(|it| it != register));
        (self.wrapped).retain(|name, it| {
            *name != register && it.polynomial.registers().all(|it| it != register)
        });
        (self.limits).retain(|limit| limit.register != register && limit.bound != register);
        (self.parameters).retain(|_, first| *first != register);
        (self.positions).retain(|from, first| *first != register && !from.contains(&register));
        (self.quotients).retain(|name, (extent, _)| *name != register && *extent != register);
        (self.divisions).retain(|name, sides| {
            let mut all = sides.iter().flat_map(|side| side.registers());
            *name != register && all.all(|it| it != register)
        });
        for parts in [&mut self.parts, &mut self.ends] {
            parts.retain(|name, part| *name != register && !part.depends_on(register));
        }
        (self.sum_limits).retain(|limit| {
            let mut all = limit.sum.registers().chain([limit.extent]);
            all.all(|it| it != register)
        });
    }

    /// Returns the values, at the start of each iteration of the loop that starts with a block, of the
    /// registers to which it adds another one or a constant: libnvvm adds `width` instead of
    /// computing `row * width` again. How often it did follows from a counter that changes by 1.
    fn strided(&self, facts: &Facts<'a>, region: &Region<'a>, id: Id) -> Vec<(&'a str, Value<'a>)> {
        let counters = region.counters(id);
        let is_kept = |polynomial: &Polynomial<'a>| {
            let mut registers = polynomial.registers();
            registers.all(|name| !region.written(id).contains(&name))
        };
        let additions = counters.iter().find_map(|counter| {
            let Step::Constant(sign @ (1 | -1)) = counter.step else {
                return None;
            };
            // Then the counter does not wrap around.
            let (low, high) = facts.range(&Operand::Name(counter.register))?;
            let fits = low >= 0 && high <= i32::MAX.into();
            let first = match self.values.get(counter.register) {
                Some(value) if value.hypothesis.is_some() => None,
                Some(value) => Some(&value.polynomial),
                None => self.definitions.get(counter.register),
            };
            let first = first.filter(|first| fits && is_kept(first))?;
            let change = Polynomial::register(counter.register).plus(first, -1)?;
            let additions = Polynomial::default().plus(&change, sign)?;
            Some((counter.register, additions, high - low))
        });
        let Some((register, additions, most)) = additions else {
            return Vec::new();
        };
        let others = counters.iter().filter(|it| it.register != register);
        let strided = others.filter_map(|counter| {
            let step = match counter.step {
                Step::Register(step) => self.value(facts, &Operand::Name(step))?,
                Step::Constant(step) => Value::constant(step),
                Step::Minus(_) => return None,
            };
            let first = self.values.get(counter.register)?;
            let is_plain = first.hypothesis.is_none() && step.hypothesis.is_none();
            let high = most.checked_mul(step.range.1)?.checked_add(first.range.1)?;
            let fits = counter.bits == 64 || first.range.0 >= 0 && high <= u32::MAX.into();
            let sum = additions.times(&step.polynomial)?;
            let value = Value {
                polynomial: sum.plus(&first.polynomial, 1)?.into(),
                range: (first.range.0, high),
                hypothesis: None,
            };
            let are_kept = is_kept(&first.polynomial) && is_kept(&step.polynomial);
            let is_known = is_plain && fits && step.range.0 >= 0 && are_kept;
            is_known.then_some((counter.register, value))
        });
        strided.collect()
    }

    /// Returns the limit, in each iteration, of the counter of a loop that has not ended before its
    /// first iteration. `is_entered` is whether that is known.
    fn end(&self, facts: &Facts<'a>, counted: &Counted<'a>, is_entered: bool) -> Option<Limit<'a>> {
        let (register, end) = counted.end()?;
        let &Operand::Name(bound) = end else {
            return None;
        };
        let is_below = |high: i64| facts.range(end).is_some_and(|(low, _)| high < low);
        let is_entered = is_entered
            || match self.values.get(register) {
                Some(value) => value.range.0 >= 0 && is_below(value.range.1),
                None => {
                    let number = self.definitions.get(register)?.as_constant()?;
                    number >= 0 && is_below(number)
                }
            };
        is_entered.then_some(Limit {
            register,
            bound,
            margin: 1,
            is_reached: counted.is_alone(),
        })
    }

    /// Returns the limit, in each iteration, of the position in `(start..end).step_by(step)`: there is
    /// another iteration if it is less than `end - step`, or 0 if `end` is less than `step`.
    fn end_of_steps(
        &self,
        single: &HashMap<&'a str, Instruction<'a>>,
        counted: &Counted<'a>,
    ) -> Option<Limit<'a>> {
        let (register, step, last) = counted.end_before_step()?;
        let bound = minuend(single, last, step)?;
        let first = match self.values.get(register) {
            Some(value) if value.hypothesis.is_some() => return None,
            Some(value) => value.polynomial.as_sum()?,
            None => (register, 0),
        };
        let is_entered = (self.limits.iter())
            .any(|limit| (limit.register, 0) == first && limit.bound == bound && limit.margin >= 1);
        is_entered.then_some(Limit {
            register,
            bound,
            margin: 1,
            is_reached: counted.is_alone(),
        })
    }

    /// Returns the limit, in each iteration, of the counter of a grid-stride loop, which is below its
    /// bound whenever the loop continues.
    fn end_of_strides(
        &self,
        facts: &Facts<'a>,
        (register, bound): (&'a str, &'a str),
    ) -> Option<Limit<'a>> {
        // Then what is below it as an unsigned number is not negative.
        facts
            .range(&Operand::Name(bound))
            .filter(|range| range.0 >= 0)?;
        let sum = |name: &'a str| match self.values.get(name) {
            Some(value) if value.hypothesis.is_some() => None,
            Some(value) => value.polynomial.as_sum(),
            None => Some((name, 0)),
        };
        let ((bound, 0), first) = (sum(bound)?, sum(register)?) else {
            return None;
        };
        let is_entered = (self.limits.iter())
            .any(|limit| (limit.register, 0) == first && limit.bound == bound && limit.margin >= 1);
        is_entered.then_some(Limit {
            register,
            bound,
            margin: 1,
            is_reached: true,
        })
    }

    /// Keeps what holds in both.
    fn meet(&mut self, other: &Known<'a>) {
        self.values.retain(|name, value| {
            let its = other.values.get(name);
            let same = its.filter(|its| {
                its.polynomial == value.polynomial && its.hypothesis == value.hypothesis
            });
            if let Some(its) = same {
                value.range = (
                    value.range.0.min(its.range.0),
                    value.range.1.max(its.range.1),
                );
            }
            same.is_some()
        });
        (self.definitions).retain(|name, its| other.definitions.get(name) == Some(its));
        (self.wrapped).retain(|name, its| other.wrapped.get(name) == Some(its));
        self.limits.retain(|limit| other.limits.contains(limit));
        (self.parameters).retain(|place, first| other.parameters.get(place) == Some(first));
        (self.positions).retain(|from, first| other.positions.get(from) == Some(first));
        (self.quotients).retain(|name, its| other.quotients.get(name) == Some(its));
        (self.divisions).retain(|name, its| other.divisions.get(name) == Some(its));
        (self.parts).retain(|name, its| other.parts.get(name) == Some(its));
        (self.ends).retain(|name, its| other.ends.get(name) == Some(its));
        (self.sum_limits).retain(|limit| other.sum_limits.contains(limit));
    }

    /// Returns the value of an operand. Integers of 64 bits have a sign.
    fn value(&self, facts: &Facts<'a>, operand: &Operand<'a>) -> Option<Value<'a>> {
        match operand {
            Operand::Integer(value) => {
                let value = value.bits as i64;
                Some(Value::constant(value))
            }
            Operand::Name(name) => {
                if let Some(value) = self.values.get(name) {
                    let mut value = value.clone();
                    if let Some((low, high)) = facts.range(operand) {
                        value.range = (value.range.0.max(low), value.range.1.min(high));
                    }
                    return Some(value);
                }
                Some(Value {
                    polynomial: Polynomial::register(name).into(),
                    range: facts.range(operand)?,
                    hypothesis: None,
                })
            }
            _ => None,
        }
    }

    /// Updates what is known for the execution of an instruction.
    fn execute(&mut self, facts: &Facts<'a>, extents: &HashSet<&'a str>, it: &Instruction<'a>) {
        let mut value = self.result(facts, extents, it);
        let least = match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("min", [ty @ ("u64" | "u32" | "s64" | "s32")], [_, a, b]) if it.guard.is_none() => {
                let values = [a, b].map(|operand| {
                    let value = self.value(facts, operand)?;
                    let is_positive = match *ty {
                        "s32" => value.range.1 <= i32::MAX.into(),
                        _ => true,
                    };
                    (value.hypothesis.is_none() && value.range.0 >= 0 && is_positive)
                        .then_some(value)
                });
                // Otherwise the result may be negative.
                let is_unsigned = ty.starts_with('u') || values.iter().all(Option::is_some);
                let sums = (values.into_iter().flatten()).filter(|_| is_unsigned);
                let sums = sums.filter_map(|value| value.polynomial.as_sum());
                sums.map(|bound| (bound, true)).collect()
            }
            ("selp", ["b64" | "u64" | "s64"], [_, if_true, if_false, Operand::Name(condition)])
                if it.guard.is_none() =>
            {
                let selected = [if_true, if_false];
                let mut bounds = self.bounds_of_selected(facts, extents, selected, condition);
                let saturated = self.saturated(facts, selected);
                bounds.extend(saturated.map(|bound| (bound, true)));
                bounds
            }
            _ => Vec::new(),
        };
        let wrapped = match value {
            None => self.wrapped(facts, it),
            Some(_) => None,
        };
        let quotient = self.dividend(facts, it).map(|bound| (bound, false));
        let exact = (value.as_ref()).filter(|(value, _)| value.hypothesis.is_none());
        let difference = exact.and_then(|(value, _)| self.remainder(&value.polynomial));
        if difference.is_some() {
            value = None;
        }
        let remainder = self.greatest_remainder(facts, it).or(difference);
        let remainder = remainder.map(|bound| (bound, true));
        let division = self.division(facts, it);
        let quotient_of = self.quotient(facts, extents, it);
        let part = self.part(facts, extents, it);
        let end = self.end_of_part(facts, extents, it);
        results(it, &mut |name| self.forget(name));
        let Some(&Operand::Name(result)) = it.operands.first() else {
            return;
        };
        if extents.contains(result) {
            self.same_parameter(it, result);
        }
        self.same_position(facts, it, result);
        let quotient_of = quotient_of.filter(|(extent, _)| *extent != result);
        self.quotients.extend(quotient_of.map(|it| (result, it)));
        let division = division.filter(|sides| {
            let mut registers = sides.iter().flat_map(|side| side.registers());
            registers.all(|name| name != result)
        });
        self.divisions.extend(division.map(|it| (result, it)));
        for (parts, part) in [(&mut self.parts, part), (&mut self.ends, end)] {
            let part = part.filter(|part| !part.depends_on(result));
            parts.extend(part.map(|it| (result, it)));
        }
        let wrapped = wrapped.filter(|it| it.polynomial.registers().all(|name| name != result));
        self.wrapped.extend(wrapped.map(|it| (result, it)));
        match value {
            Some((value, _)) if value.polynomial.registers().any(|name| name == result) => {}
            Some((value, true)) => _ = self.values.insert(result, value),
            Some((value, false)) if value.hypothesis.is_none() => {
                self.definitions.insert(result, value.polynomial);
            }
            _ => {}
        }
        for ((bound, number), is_reached) in least.into_iter().chain(quotient).chain(remainder) {
            if bound != result
                && let Some(margin) = i64::checked_neg(number)
            {
                let others = self.limits.iter().filter(|limit| limit.register == bound);
                let implied = others.filter_map(|limit| {
                    let margin = margin.checked_add(limit.margin)?;
                    Some((limit.bound, margin, is_reached && limit.is_reached))
                });
                let limits: Vec<_> = implied.chain([(bound, margin, is_reached)]).collect();
                let limits = limits.into_iter().map(|(bound, margin, is_reached)| Limit {
                    register: result,
                    bound,
                    margin,
                    is_reached,
                });
                self.limits.extend(limits);
            }
        }
    }

    /// Returns the polynomial that the result of an instruction is equal to modulo 2⁶⁴ or 2³².
    fn wrapped(&self, facts: &Facts<'a>, it: &Instruction<'a>) -> Option<Wrapped<'a>> {
        let bits = match (it.opcode, &it.modifiers[..]) {
            ("add" | "sub", ["s64" | "u64"]) | ("mul", ["lo", "s64" | "u64"]) => 64,
            ("add" | "sub", ["s32" | "u32"]) | ("mul" | "mad", ["lo", "s32" | "u32"]) => 32,
            ("cvt", ["u32", "u64"] | ["u64", "u32"] | ["s64", "s32"]) => 32,
            _ => return None,
        };
        if it.guard.is_some() || self.wrapped.len() >= WRAPPED {
            return None;
        }
        let of = |index: usize| {
            let operand = it.operands.get(index)?;
            let known = match operand {
                Operand::Name(name) => self.wrapped.get(name),
                _ => None,
            };
            if let Some(known) = known {
                return (known.bits >= bits).then(|| Rc::clone(&known.polynomial));
            }
            let value = self.value(facts, operand)?;
            value.hypothesis.is_none().then_some(value.polynomial)
        };
        let polynomial = match it.opcode {
            "add" => of(1)?.plus(&*of(2)?, 1)?,
            "sub" => of(1)?.plus(&*of(2)?, -1)?,
            "mul" => of(1)?.times(&*of(2)?)?,
            "mad" => of(1)?.times(&*of(2)?)?.plus(&*of(3)?, 1)?,
            // The extension of a register that is equal modulo 2³².
            _ => (*of(1)?).clone(),
        };
        Some(Wrapped {
            polynomial: polynomial.into(),
            bits,
        })
    }

    /// Finds out whether the operands of a comparison that may wrap around do not, because they are
    /// below a product of extents and not negative.
    fn unwrap(&mut self, facts: &Facts<'a>, extents: &HashSet<&'a str>, it: &Instruction<'a>) {
        for operand in it.operands.iter().skip(1).filter(|_| it.opcode == "setp") {
            if let Operand::Name(name) = *operand
                && let Some(Wrapped { polynomial, .. }) = self.wrapped.get(name)
                && !self.values.contains_key(name)
                && let Some((most, _)) = self.below(facts, extents, polynomial, Limits::All)
            {
                let value = Value {
                    polynomial: Rc::clone(polynomial),
                    range: (0, BOUND as i64 - 1),
                    hypothesis: Some(most.into()),
                };
                self.values.insert(name, value);
            }
        }
    }

    /// Gives an extent that is loaded again the value of the register that was loaded first.
    fn same_parameter(&mut self, it: &Instruction<'a>, result: &'a str) {
        if let [_, Operand::Address(Base::Name(base), offset)] = it.operands[..]
            && is_parameter(it)
            && it.guard.is_none()
        {
            let first = *self.parameters.entry((base, offset)).or_insert(result);
            if first != result {
                let value = Value {
                    polynomial: Polynomial::register(first).into(),
                    range: (0, BOUND as i64 - 1),
                    hypothesis: None,
                };
                self.values.insert(result, value);
            }
        }
    }

    /// Gives a position in the grid that is computed again the value of the first register, which may
    /// have limits.
    fn same_position(&mut self, facts: &Facts<'a>, it: &Instruction<'a>, result: &'a str) {
        if let ("or", ["b64"], &[_, Operand::Name(block), Operand::Name(thread)]) =
            (it.opcode, &it.modifiers[..], &it.operands[..])
            && it.guard.is_none()
            && ![block, thread].contains(&result)
        {
            let first = *(self.positions.entry([block, thread])).or_insert(result);
            if first != result
                && let Some(range) = facts.range(&Operand::Name(first))
            {
                let value = Value {
                    polynomial: Polynomial::register(first).into(),
                    range,
                    hypothesis: None,
                };
                self.values.insert(result, value);
            }
        }
    }

    /// Returns the extent and the number whose quotient an instruction computes.
    fn quotient(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        it: &Instruction<'a>,
    ) -> Option<(&'a str, i64)> {
        let &[_, ref dividend, Operand::Integer(by)] = &it.operands[..] else {
            return None;
        };
        let divisor = match (it.opcode, &it.modifiers[..]) {
            ("shr", ["u64"]) if by.bits < 32 => 1 << by.bits,
            ("div", ["u64"]) => i64::try_from(by.bits).ok().filter(|by| *by > 0)?,
            _ => return None,
        };
        let extent = self.extent(facts, extents, dividend)?;
        it.guard.is_none().then_some((extent, divisor))
    }

    /// Returns the extent that an operand has the value of.
    fn extent(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        operand: &Operand<'a>,
    ) -> Option<&'a str> {
        let value = self.value(facts, operand)?;
        match value.polynomial.as_sum()? {
            (name, 0) if extents.contains(name) && value.hypothesis.is_none() => Some(name),
            _ => None,
        }
    }

    /// Returns the part of a buffer whose size, or a number that is at most that size, an instruction
    /// computes: `(length - i * N).min(N)`, where `i` is at most `length / N`, or
    /// `length.saturating_sub(i * N)`.
    fn part(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        it: &Instruction<'a>,
    ) -> Option<Part<'a>> {
        if it.guard.is_some() {
            return None;
        }
        match (it.opcode, &it.modifiers[..], &it.operands[..]) {
            ("min", ["u64"], [_, a, b]) => [a, b].into_iter().find_map(|operand| match operand {
                Operand::Name(name) => self.parts.get(name).cloned(),
                _ => None,
            }),
            ("sub", ["s64" | "u64"], [_, length, start]) => {
                let (start, index, factor) = self.start_of_part(facts, start)?;
                if let Operand::Name(name) = length
                    && let Some(part) = self.ends.get(name).filter(|it| it.start == start)
                {
                    return Some(part.clone());
                }
                let extent = self.extent(facts, extents, length)?;
                let is_within = self.is_at_most_quotient(facts, index, extent, factor);
                is_within.then_some(Part {
                    extent,
                    start,
                    may_be_outside: false,
                })
            }
            _ => None,
        }
    }

    /// Returns the part of a buffer if an instruction computes the maximum of its start and the
    /// buffer's length.
    fn end_of_part(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        it: &Instruction<'a>,
    ) -> Option<Part<'a>> {
        let ("max", ["u64"], [_, a, b], None) =
            (it.opcode, &it.modifiers[..], &it.operands[..], it.guard)
        else {
            return None;
        };
        [[a, b], [b, a]].into_iter().find_map(|[length, start]| {
            let (start, ..) = self.start_of_part(facts, start)?;
            Some(Part {
                extent: self.extent(facts, extents, length)?,
                start,
                may_be_outside: true,
            })
        })
    }

    /// Returns the start of a part of a buffer, if an operand is the product of a register that is
    /// not negative and a positive number, with these factors.
    fn start_of_part(
        &self,
        facts: &Facts<'a>,
        operand: &Operand<'a>,
    ) -> Option<(Rc<Polynomial<'a>>, &'a str, i64)> {
        let start = (self.value(facts, operand)).filter(|it| it.hypothesis.is_none())?;
        let start = self.expanded(&start.polynomial)?;
        let mut terms = start.0.iter();
        let (Some((product, &factor)), None) = (terms.next(), terms.next()) else {
            return None;
        };
        let [index] = product[..] else {
            return None;
        };
        let (low, _) = facts.range(&Operand::Name(index))?;
        (factor > 0 && low >= 0).then(|| (start.into(), index, factor))
    }

    /// Returns whether a register is at most the quotient of an extent and a number that is at least
    /// `factor`.
    fn is_at_most_quotient(
        &self,
        facts: &Facts<'a>,
        index: &'a str,
        extent: &'a str,
        factor: i64,
    ) -> bool {
        let mut limits = self.limits.iter().filter(|limit| limit.register == index);
        limits.any(|limit| {
            let bound = Polynomial::register(limit.bound);
            let Some(bound) = self.defined(&bound) else {
                return false;
            };
            // The quotient, and a number that is at most the margin, such as 1 for a remainder.
            let mut more = -limit.margin;
            let mut quotients = 0;
            for (product, &coefficient) in &bound.0 {
                match product[..] {
                    [] => more = more.saturating_add(coefficient),
                    [name] if coefficient == 1 => match self.quotients.get(name) {
                        Some(&(of, by)) if of == extent && by >= factor => quotients += 1,
                        _ => match facts.range(&Operand::Name(name)) {
                            Some((_, high)) => more = more.saturating_add(high),
                            None => return false,
                        },
                    },
                    _ => return false,
                }
            }
            quotients == 1 && more <= 0
        })
    }

    /// Returns the register and the number whose sum an instruction divides, or computes the
    /// remainder of: the result is at most that sum.
    fn dividend(&self, facts: &Facts<'a>, it: &Instruction<'a>) -> Option<(&'a str, i64)> {
        match (it.opcode, &it.modifiers[..]) {
            ("div" | "rem" | "shr", ["u32" | "u64"]) | ("mul", ["hi", "u32" | "u64"])
                if it.guard.is_none() => {}
            _ => return None,
        }
        let value = self.value(facts, it.operands.get(1)?)?;
        let is_plain = value.hypothesis.is_none() && value.range.0 >= 0;
        value.polynomial.as_sum().filter(|_| is_plain)
    }

    /// Returns the register and the number whose sum is the greatest remainder that an instruction
    /// can compute: one less than the divisor.
    fn greatest_remainder(
        &self,
        facts: &Facts<'a>,
        it: &Instruction<'a>,
    ) -> Option<(&'a str, i64)> {
        let (register, number) = self.divisor(facts, it)?.polynomial.as_sum()?;
        Some((register, number.checked_sub(1)?))
    }

    /// Returns the dividend and the divisor of an instruction that computes a quotient, if the divisor
    /// is not 0.
    fn division(&self, facts: &Facts<'a>, it: &Instruction<'a>) -> Option<[Rc<Polynomial<'a>>; 2]> {
        let ("div", ["u32" | "u64"], None) = (it.opcode, &it.modifiers[..], it.guard) else {
            return None;
        };
        let value = |index: usize| {
            let value = self.value(facts, it.operands.get(index)?)?;
            (value.hypothesis.is_none() && value.range.0 >= 0).then_some(value)
        };
        let (dividend, divisor) = (value(1)?, value(2)?);
        (divisor.range.0 > 0).then_some([dividend.polynomial, divisor.polynomial])
    }

    /// Returns the register and the number whose sum is the greatest value of a polynomial that is a
    /// remainder: a dividend minus the product of the quotient and the divisor.
    fn remainder(&self, polynomial: &Polynomial<'a>) -> Option<(&'a str, i64)> {
        let divisor = polynomial.registers().find_map(|quotient| {
            let [dividend, divisor] = self.divisions.get(quotient)?;
            let product = Polynomial::register(quotient).times(divisor)?;
            (dividend.plus(&product, -1)? == *polynomial).then_some(divisor)
        })?;
        let (register, number) = divisor.as_sum()?;
        Some((register, number.checked_sub(1)?))
    }

    /// Returns the divisor of an instruction that computes the remainder of an unsigned division, if
    /// it is not 0.
    fn divisor(&self, facts: &Facts<'a>, it: &Instruction<'a>) -> Option<Value<'a>> {
        if it.opcode != "rem" || it.guard.is_some() {
            return None;
        }
        let value = |index: usize| self.value(facts, it.operands.get(index)?);
        let divisor = value(2)?;
        let most = match it.modifiers[..] {
            ["s32"] => i32::MAX.into(),
            ["u32" | "u64" | "s64"] => i64::MAX,
            _ => return None,
        };
        // A signed remainder has the sign of the dividend.
        let is_signed = it.modifiers[0].starts_with('s');
        let dividend = if is_signed { value(1)?.range } else { (0, 0) };
        for (low, high) in [dividend, divisor.range] {
            if low < 0 || high > most {
                return None;
            }
        }
        let least = divisor
            .polynomial
            .as_sum()
            .and_then(|(register, number)| self.least(facts, register).checked_add(number));
        let is_known = divisor.hypothesis.is_none() && least.max(Some(divisor.range.0)) > Some(0);
        is_known.then_some(divisor)
    }

    /// Returns how often an instruction that computes a remainder subtracts the divisor at most, if
    /// that is known to be at most once.
    fn subtractions(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        it: &Instruction<'a>,
    ) -> Option<Subtractions> {
        let divisor = self.divisor(facts, it)?;
        let dividend = self.value(facts, it.operands.get(1)?)?;
        if dividend.hypothesis.is_some() || dividend.range.0 < 0 {
            return None;
        }
        let is_below = |factor: i64| {
            let difference = dividend.polynomial.plus(&divisor.polynomial, -factor)?;
            let all = self.upper_bounds(facts, extents, &difference, true, Limits::All)?;
            let mut numbers = all
                .into_iter()
                .filter(|(products, _)| products.0.is_empty());
            Some(numbers.any(|(_, number)| number < 0))
        };
        match [is_below(1)?, is_below(2)?] {
            [true, _] => Some(Subtractions::None),
            [_, true] => Some(Subtractions::Once),
            _ => None,
        }
    }

    /// Returns the register that a selection between 0 and a smaller number is at most: the `x` of
    /// `x.saturating_sub(1)`.
    fn saturated(&self, facts: &Facts<'a>, selected: [&Operand<'a>; 2]) -> Option<(&'a str, i64)> {
        let [a, b] = selected.map(|operand| self.value(facts, operand));
        let (a, b) = (a?, b?);
        let difference = match (a.range, b.range) {
            ((0, 0), _) => b,
            (_, (0, 0)) => a,
            _ => return None,
        };
        let (register, number) = difference.polynomial.as_sum()?;
        let (low, _) = facts.range(&Operand::Name(register))?;
        (difference.hypothesis.is_none() && number <= 0 && low >= 0).then_some((register, 0))
    }

    /// Returns the extents, each with a number, that the result of `selp` is at most the sum of, and
    /// whether it is likely to reach that sum.
    fn bounds_of_selected(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        selected: [&Operand<'a>; 2],
        condition: &str,
    ) -> Vec<((&'a str, i64), bool)> {
        let condition = facts.condition(condition);
        let mut compares = false;
        for value in [true, false] {
            condition.implied(value, &mut |_| compares = true);
        }
        if !compares {
            return Vec::new();
        }
        let cases = [(selected[0], true), (selected[1], false)].map(|(operand, value)| {
            let mut known = self.clone();
            condition.implied(value, &mut |it| _ = known.assume_comparison(facts, it));
            (operand, known)
        });
        let at_most = |(operand, known): &(&Operand<'a>, Known<'a>), extent: &'a str| {
            let value = known.value(facts, operand)?;
            if value.hypothesis.is_some() || value.range.0 < 0 {
                return None;
            }
            if value.range.0 == value.range.1 {
                let number = value.range.0.checked_sub(known.least(facts, extent))?;
                return Some((number, true));
            }
            let (register, number) = value.polynomial.as_sum()?;
            let limits = known.limits.iter().filter(|limit| limit.bound == extent);
            let limits = limits.filter(|limit| limit.register == register && limit.is_reached);
            limits
                .filter_map(|limit| number.checked_sub(limit.margin))
                .min()
                .map(|number| (number, false))
        };
        let mut extents: Vec<&'a str> = extents.iter().copied().collect();
        extents.sort_unstable();
        let bounds = extents.into_iter().filter_map(|extent| {
            let [a, b] = [at_most(&cases[0], extent)?, at_most(&cases[1], extent)?];
            // The 0 of `if i < length { i } else { 0 }` is greater than `length - 1` only if there are
            // no elements.
            let is_reached = match (a, b) {
                ((number, true), (other, false)) | ((other, false), (number, true)) => {
                    number <= other
                }
                _ => true,
            };
            Some(((extent, a.0.max(b.0)), is_reached))
        });
        bounds.collect()
    }

    /// Returns the value of an instruction's result, if it is a polynomial of others, and whether
    /// extents are among them.
    fn result(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        it: &Instruction<'a>,
    ) -> Option<(Value<'a>, bool)> {
        if !is_pure(it) {
            return None;
        }
        let of = |index: usize| self.value(facts, it.operands.get(index)?);
        let bits = match (it.opcode, &it.modifiers[..]) {
            // Conversions to floats, whose bits are another integer, and to narrower integers.
            ("cvt", modifiers) if !INTEGER_CONVERSIONS.contains(&modifiers) => return None,
            ("cvt", ["u32", "u64"]) => 32,
            ("cvt", ["u64", "u32"]) | ("mul", ["wide", "u32"]) => 64,
            (_, [.., "u64" | "s64" | "b64"]) => 64,
            (_, [.., "u32" | "s32" | "b32"]) => 32,
            _ => return None,
        };
        // A 32-bit register has an unsigned value, which these instructions extend with its sign.
        if matches!(
            (it.opcode, &it.modifiers[..]),
            ("cvt", ["s64", "s32"]) | ("mul", ["wide", "s32"])
        ) && !(it.operands[1..].iter())
            .all(|operand| matches!(facts.range(operand), Some((0.., ..=0x7fff_ffff))))
        {
            return None;
        }
        let polynomial = match (it.opcode, &it.modifiers[..]) {
            ("mov" | "cvt", _) => (*of(1)?.polynomial).clone(),
            ("add", [_]) => of(1)?.polynomial.plus(&of(2)?.polynomial, 1)?,
            ("sub", [_]) => of(1)?.polynomial.plus(&of(2)?.polynomial, -1)?,
            ("mul", ["lo" | "wide", _]) => of(1)?.polynomial.times(&of(2)?.polynomial)?,
            ("mad", ["lo", _]) => {
                let product = of(1)?.polynomial.times(&of(2)?.polynomial)?;
                product.plus(&of(3)?.polynomial, 1)?
            }
            ("shl", [_]) => {
                let (by, _) = of(2)?.range;
                let factor = 1i64.checked_shl(by.try_into().ok()?)?;
                let known = matches!(it.operands[2], Operand::Integer(_)) && by < 62;
                let factor = Polynomial::constant(known.then_some(factor)?);
                of(1)?.polynomial.times(&factor)?
            }
            // The sum of numbers without a common bit.
            ("or", [_]) => {
                let (a, b) = (of(1)?, of(2)?);
                let zeros = |index: usize| facts.zeros_of(&it.operands[index]);
                let below =
                    |range: Range, zeros: u32| range.0 >= 0 && zeros < 63 && range.1 < 1 << zeros;
                if !(below(b.range, zeros(1)) && a.range.0 >= 0)
                    && !(below(a.range, zeros(2)) && b.range.0 >= 0)
                {
                    return None;
                }
                a.polynomial.plus(&b.polynomial, 1)?
            }
            _ => return None,
        };
        let mut hypothesis: Option<Rc<Polynomial<'a>>> = None;
        for index in 1..it.operands.len() {
            let Some(its) = of(index)?.hypothesis else {
                continue;
            };
            hypothesis = Some(match hypothesis {
                Some(known) if its.is_within(&known) => known,
                Some(known) if !known.is_within(&its) => return None,
                _ => its,
            });
        }
        // A position in the grid is one register, which may be compared with an extent.
        let is_limited = |name: &&'a str| {
            extents.contains(name) || self.limits.iter().any(|limit| limit.register == *name)
        };
        let is_of_extents = polynomial.registers().any(|name| extents.contains(name))
            || (polynomial.0.keys()).any(|term| term.len() > 1 && term.iter().all(is_limited));
        let is_value = is_of_extents || polynomial.as_sum().is_some();
        let (low, high) = match bits {
            64 => (i64::MIN, i64::MAX),
            _ => (0, u32::MAX.into()),
        };
        let computed = self.range_of(it, facts);
        let range = match computed {
            Some((least, most)) if least >= low.into() && most <= high.into() => {
                (least as i64, most as i64)
            }
            _ if !is_value => return None,
            // The sum or the product might overflow, unless the extents are those of a buffer.
            _ => {
                let (most, _) = self.below(facts, extents, &polynomial, Limits::All)?;
                hypothesis = Some(match hypothesis {
                    Some(known) if most.is_within(&known) => known,
                    Some(known) if !known.is_within(&most) => return None,
                    _ => most.into(),
                });
                (0, BOUND as i64 - 1)
            }
        };
        let value = Value {
            polynomial: polynomial.into(),
            range,
            hypothesis,
        };
        Some((value, is_value))
    }

    /// Returns the range of an instruction's exact result.
    fn range_of(&self, it: &Instruction<'a>, facts: &Facts<'a>) -> Option<(i128, i128)> {
        let of = |index: usize| {
            let (low, high) = self.value(facts, it.operands.get(index)?)?.range;
            Some((i128::from(low), i128::from(high)))
        };
        let product = |a: (i128, i128), b: (i128, i128)| {
            let all = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
            (all.into_iter().min().zip(all.into_iter().max())).unwrap_or_default()
        };
        Some(match it.opcode {
            "add" => (of(1)?.0 + of(2)?.0, of(1)?.1 + of(2)?.1),
            "sub" => (of(1)?.0 - of(2)?.1, of(1)?.1 - of(2)?.0),
            "mul" => product(of(1)?, of(2)?),
            "mad" => {
                let product = product(of(1)?, of(2)?);
                (product.0 + of(3)?.0, product.1 + of(3)?.1)
            }
            "shl" => product(of(1)?, (1 << of(2)?.0, 1 << of(2)?.1)),
            "or" => (of(1)?.0 + of(2)?.0, of(1)?.1 + of(2)?.1),
            _ => of(1)?,
        })
    }

    /// Returns a sum of products of extents that the value of a polynomial is below, or at most for
    /// [`Limits::All`], if the value is not negative either, and whether it may well be the next
    /// number.
    fn below(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        polynomial: &Polynomial<'a>,
        limits: Limits,
    ) -> Option<(Polynomial<'a>, bool)> {
        let product = self.product_of(facts, extents, polynomial, false, limits);
        product.map(|product| (product, true)).or_else(|| {
            let part = self.in_part(facts, extents, polynomial);
            part.map(|extent| (extent, true)).or_else(|| {
                let whole = self.defined(polynomial)?;
                let product = self.product_of(facts, extents, &whole, false, limits);
                let product = product.map(|product| (product, true));
                product.or_else(|| self.sum_of(facts, extents, &whole, limits))
            })
        })
    }

    /// Returns the extent that the value of a polynomial is below because it is in a part of a buffer,
    /// if the value is not negative either.
    fn in_part(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        polynomial: &Polynomial<'a>,
    ) -> Option<Polynomial<'a>> {
        if self.sum_limits.is_empty() {
            return None;
        }
        let whole = self.expanded(polynomial)?;
        let (_, least) = least_of(facts, extents, &whole)?;
        let is_sum = whole.0.values().all(|&coefficient| coefficient >= 0);
        if !is_sum || !is_not_negative(&whole, &least, &least) {
            return None;
        }
        let is_below = |limit: &&SumLimit<'a>| {
            let difference = whole.plus(&limit.sum, -1);
            difference.is_some_and(|mut it| {
                let number = it.0.remove(&Product::new()).unwrap_or(0);
                it.0.is_empty() && number < limit.margin
            })
        };
        let limit = self.sum_limits.iter().find(is_below)?;
        Some(Polynomial::register(limit.extent))
    }

    /// Replaces registers without limits repeatedly.
    fn expanded(&self, polynomial: &Polynomial<'a>) -> Option<Polynomial<'a>> {
        let mut whole = polynomial.clone();
        for _ in 0..STEPS {
            let next = self.defined(&whole)?;
            if next == whole {
                break;
            }
            whole = next;
        }
        Some(whole)
    }

    /// Replaces the registers without limits by what they are computed as.
    fn defined(&self, polynomial: &Polynomial<'a>) -> Option<Polynomial<'a>> {
        let mut values: HashMap<&'a str, Polynomial<'a>> = HashMap::default();
        for name in polynomial.registers() {
            let is_limited = self.limits.iter().any(|limit| limit.register == name);
            let definition = self.definitions.get(name).filter(|_| !is_limited);
            values.insert(
                name,
                match definition {
                    Some(definition) => (**definition).clone(),
                    None => Polynomial::register(name),
                },
            );
        }
        substituted(polynomial, &values, &values)
    }

    /// Returns a product of extents that the value of a polynomial is below. Unless `negative`, the
    /// value must be at least 0.
    fn product_of(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        polynomial: &Polynomial<'a>,
        negative: bool,
        limits: Limits,
    ) -> Option<Polynomial<'a>> {
        let all = self.upper_bounds(facts, extents, polynomial, negative, limits)?;
        let mut products = all.into_iter().filter(|(_, number)| *number < 0);
        products.find_map(|(bound, _)| bound.is_multiple().then_some(bound))
    }

    /// Returns sums of products of extents, each with a number, that the value of a polynomial is at
    /// most. Unless `negative`, the value must be at least 0.
    fn upper_bounds(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        polynomial: &Polynomial<'a>,
        negative: bool,
        limits: Limits,
    ) -> Option<Vec<(Polynomial<'a>, i64)>> {
        let (registers, least) = least_of(facts, extents, polynomial)?;
        let mut choices: Vec<Vec<Polynomial<'a>>> = Vec::new();
        for &register in &registers {
            let (_, high) = facts.range(&Operand::Name(register))?;
            let mut bounds = self.bounds(register, extents, limits);
            bounds.push(Polynomial::constant(high));
            choices.push(bounds);
        }
        // All combinations of upper bounds.
        let total: usize = choices.iter().map(Vec::len).product();
        let bounds = (0..total.min(32)).filter_map(|mut index| {
            let mut most = least.clone();
            for (register, bounds) in registers.iter().zip(&choices) {
                most.insert(register, bounds[index % bounds.len()].clone());
                index /= bounds.len();
            }
            let allowed = negative || is_not_negative(polynomial, &least, &most);
            let (products, number, _) = self.highest(facts, polynomial, &least, &most)?;
            allowed.then_some((products, number))
        });
        Some(bounds.collect())
    }

    /// Returns a sum of products of extents that the value of a polynomial is below, or at most for
    /// [`Limits::All`], and whether the value reaches the number before.
    fn sum_of(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        polynomial: &Polynomial<'a>,
        limits: Limits,
    ) -> Option<(Polynomial<'a>, bool)> {
        let (registers, least) = least_of(facts, extents, polynomial)?;
        let mut most = least.clone();
        for register in registers {
            let of = self.limits.iter().filter(|limit| {
                let is_reached = limits == Limits::All || limit.is_reached;
                limit.register == register && extents.contains(limit.bound) && is_reached
            });
            // The width of a matrix rather than its length, and that rather than those of slices, which
            // are compared later.
            let is_part = |limit: &&Limit<'a>| polynomial.registers().any(|it| it == limit.bound);
            let limit = of.clone().find(is_part).or_else(|| of.clone().next())?;
            let margin = Polynomial::constant(limit.margin);
            let bound = Polynomial::register(limit.bound).plus(&margin, -1)?;
            most.insert(register, bound);
        }
        let (mut sum, number, is_exact) = self.highest(facts, polynomial, &least, &most)?;
        let more = match limits {
            Limits::All => number,
            Limits::Reached => number.checked_add(1)?,
        };
        if sum.0.is_empty() || !is_not_negative(polynomial, &least, &most) {
            return None;
        }
        if more > 0 {
            sum.add(Product::new(), more)?;
        }
        Some((sum, is_exact && more >= 0))
    }

    /// Returns the products of extents and the number whose sum the value of a polynomial is at most,
    /// and whether the value can be equal.
    fn highest(
        &self,
        facts: &Facts<'a>,
        polynomial: &Polynomial<'a>,
        least: &HashMap<&'a str, Polynomial<'a>>,
        most: &HashMap<&'a str, Polynomial<'a>>,
    ) -> Option<(Polynomial<'a>, i64, bool)> {
        let mut highest = substituted(polynomial, most, least)?;
        let mut number = highest.0.remove(&Product::new()).unwrap_or(0);
        let (products, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (highest.0.into_iter()).partition(|(_, coefficient)| *coefficient > 0);
        let is_exact = others.is_empty();
        // What the negative terms take away at least.
        for (product, coefficient) in others {
            let mut least = coefficient;
            for extent in product {
                least = least.checked_mul(self.least(facts, extent))?;
            }
            number = number.checked_add(least)?;
        }
        Some((Polynomial(products), number, is_exact))
    }

    /// Returns a sum of products of extents that a register's value is at most, if that is the only
    /// reason why the value is small.
    fn most(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        register: &'a str,
        limits: Limits,
    ) -> Option<Polynomial<'a>> {
        let value = self.values.get(register)?;
        if extents.contains(register) || value.polynomial.as_sum().is_some() {
            return None;
        }
        let (most, _) = self.below(facts, extents, &value.polynomial, limits)?;
        let hypothesis = value.hypothesis.as_ref();
        hypothesis
            .is_none_or(|it| it.is_within(&most))
            .then_some(most)
    }

    /// Returns a lower bound of an extent.
    fn least(&self, facts: &Facts<'a>, extent: &'a str) -> i64 {
        let low = |name| facts.range(&Operand::Name(name)).map(|(low, _)| low);
        let limits = self.limits.iter().filter(|limit| limit.bound == extent);
        let implied = limits.filter_map(|limit| low(limit.register)?.checked_add(limit.margin));
        implied.chain(low(extent)).fold(0, i64::max)
    }

    /// Returns upper bounds of a register that consist of an extent and a number.
    fn bounds(
        &self,
        register: &'a str,
        extents: &HashSet<&'a str>,
        which: Limits,
    ) -> Vec<Polynomial<'a>> {
        let of = self
            .limits
            .iter()
            .filter(|limit| limit.register == register);
        let (reached, others): (Vec<_>, Vec<_>) = of.partition(|limit| limit.is_reached);
        let limits = match (which, reached.is_empty()) {
            (Limits::All, true) => others,
            _ => reached,
        };
        let limits = limits.into_iter();
        let mut found: Vec<Polynomial<'a>> = limits
            .filter(|limit| extents.contains(limit.bound))
            .filter_map(|limit| {
                let margin = Polynomial::constant(limit.margin);
                Polynomial::register(limit.bound).plus(&margin, -1)
            })
            .collect();
        found.reverse();
        found.truncate(3);
        found
    }

    /// Returns the outcome of a comparison, if it can be proven. The second one is that of an index
    /// which is a sum with extents, if the first one is another.
    fn compare(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        it: &Instruction<'a>,
        register: &'a str,
    ) -> [Option<Proven<'a>>; 2] {
        let Some(comparison) = Comparison::of(it, true) else {
            return [None, None];
        };
        let known = self.compare_known(facts, extents, &comparison, register);
        if known.is_some() {
            return [known, None];
        }
        let index = self.compare_index(facts, extents, &comparison, register);
        let (product, sum) = match index {
            Some(proven) if proven.bound.is_multiple() => (Some(proven), None),
            index => (None, index),
        };
        let range = || self.compare_range(facts, extents, &comparison, register);
        match product.or_else(range) {
            None => [sum, None],
            proven => [proven, sum],
        }
    }

    /// Returns the outcome of a comparison that follows from the limits alone: `y * width + x` is
    /// below `width * height`.
    fn compare_known(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        comparison: &Comparison<'a>,
        register: &'a str,
    ) -> Option<Proven<'a>> {
        if comparison.bits != 64 || comparison.signed {
            return None;
        }
        let left = self.value(facts, &comparison.left)?;
        let right = self.value(facts, &comparison.right)?;
        let is_negative = |side: &Value<'a>| !self.is_not_negative(facts, extents, side);
        if is_negative(&left) {
            return None;
        }
        // The end of a range with a constant length does not wrap around.
        if matches!(comparison.right, Operand::Integer(number) if (number.bits as i64) < 0) {
            let relation = comparison.relation;
            let is_ordered = !matches!(relation, Relation::Equal | Relation::NotEqual);
            return is_ordered.then(|| Proven {
                register,
                outcome: matches!(relation, Relation::Less | Relation::LessOrEqual),
                bound: left.hypothesis.map(|it| (*it).clone()).unwrap_or_default(),
                is_likely: false,
                is_check: false,
                panics: false,
                is_in_table: false,
                length: None,
            });
        }
        if is_negative(&right) {
            return None;
        }
        let bound = match (&left.hypothesis, &right.hypothesis) {
            (None, None) => Polynomial::default(),
            (Some(one), None) | (None, Some(one)) => (**one).clone(),
            (Some(left), Some(right)) if left.is_within(right) => (**right).clone(),
            (Some(left), Some(right)) if right.is_within(left) => (**left).clone(),
            _ => return None,
        };
        let most = |a: &Polynomial<'a>, b: &Polynomial<'a>| {
            let difference = a.plus(b, -1)?;
            let all = self.upper_bounds(facts, extents, &difference, true, Limits::All)?;
            let numbers = all
                .into_iter()
                .filter(|(products, _)| products.0.is_empty());
            numbers.map(|(_, number)| number).min()
        };
        let (left, right) = (left.polynomial, right.polynomial);
        // The most that either side exceeds the other by.
        let (more, less) = (most(&left, &right), most(&right, &left));
        let is_below = |most: Option<i64>, number: i64| most.is_some_and(|most| most < number);
        let (is_true, is_false) = match comparison.relation {
            Relation::Less => (is_below(more, 0), is_below(less, 1)),
            Relation::LessOrEqual => (is_below(more, 1), is_below(less, 0)),
            Relation::Greater => (is_below(less, 0), is_below(more, 1)),
            Relation::GreaterOrEqual => (is_below(less, 1), is_below(more, 0)),
            Relation::Equal | Relation::NotEqual => return None,
        };
        (is_true != is_false).then_some(Proven {
            register,
            outcome: is_true,
            bound,
            is_likely: false,
            is_check: false,
            panics: false,
            is_in_table: false,
            length: None,
        })
    }

    /// Returns whether a value is known to be at least 0.
    fn is_not_negative(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        value: &Value<'a>,
    ) -> bool {
        let bounds = || {
            let all = Limits::All;
            self.upper_bounds(facts, extents, &value.polynomial, false, all)
        };
        value.range.0 >= 0 || bounds().is_some_and(|bounds| !bounds.is_empty())
    }

    /// Returns the outcome of a comparison of an index with a length, if it can be proven.
    fn compare_index(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        comparison: &Comparison<'a>,
        register: &'a str,
    ) -> Option<Proven<'a>> {
        let is_length =
            |side: &Operand<'a>| matches!(side, Operand::Name(name) if extents.contains(name));
        let comparison = match is_length(&comparison.right) {
            true => comparison.clone(),
            false => comparison.swapped(),
        };
        let Operand::Name(length) = comparison.right else {
            return None;
        };
        if comparison.bits != 64 || !extents.contains(length) {
            return None;
        }
        // The end of a range is one more than its last index.
        let (outcome, more) = match comparison.relation {
            Relation::Less => (true, 0),
            Relation::GreaterOrEqual => (false, 0),
            Relation::LessOrEqual => (true, 1),
            Relation::Greater => (false, 1),
            Relation::Equal | Relation::NotEqual => return None,
        };
        let index = self.value(facts, &comparison.left)?;
        let polynomial = index.polynomial.plus(&Polynomial::constant(more), -1)?;
        // The length of a part of a slice is no parameter.
        if self.value(facts, &comparison.right)?.polynomial.degree() > 1 {
            return None;
        }
        let (bound, is_likely) = self.below(facts, extents, &polynomial, Limits::Reached)?;
        if index
            .hypothesis
            .is_some_and(|known| !known.is_within(&bound))
            || bound.registers().any(|extent| extent == length)
        {
            return None;
        }
        Some(Proven {
            register,
            outcome,
            is_likely: is_likely && self.is_natural(&polynomial, &bound),
            bound,
            is_check: false,
            panics: false,
            is_in_table: false,
            length: Some(length),
        })
    }

    /// Returns whether a slice with an index that is below `bound` is likely to have that length: not
    /// if fewer threads than those whose place is within the extents access it, as those with
    /// `2 * i < n` of an index `2 * i`, nor if a limited register is both multiplied by an extent and
    /// subtracted, as in `y * width - y + x`: the rows of that slice are shorter than `width`.
    fn is_natural(&self, index: &Polynomial<'a>, bound: &Polynomial<'a>) -> bool {
        let is_multiple_limited = |name: &'a str| {
            self.limits.iter().any(|limit| {
                let definition = self.definitions.get(limit.register);
                let is_multiple = definition.is_some_and(|it| {
                    let mut terms = it.0.iter().filter(|(product, _)| !product.is_empty());
                    matches!(
                        (terms.next(), terms.next()),
                        (Some((product, 2..)), None) if product[..] == [name]
                    )
                });
                let is_fraction =
                    limit.register == name && self.quotients.contains_key(limit.bound);
                is_multiple || is_fraction
            })
        };
        let is_limited = |name: &str| self.limits.iter().any(|limit| limit.register == name);
        let has_shorter_rows = index.0.iter().any(|(product, coefficient)| {
            let [name] = product[..] else {
                return false;
            };
            let is_opposite = |(other, of_other): (&Product<'a>, &i64)| {
                other.len() > 1
                    && other.contains(&name)
                    && of_other.signum() == -coefficient.signum()
            };
            is_limited(name) && index.0.iter().any(is_opposite)
        });
        if has_shorter_rows {
            return false;
        }
        let index = self.defined(index).unwrap_or_default();
        bound.is_product() || !index.registers().any(is_multiple_limited)
    }

    /// Returns the outcome of a comparison that is true or false if a range is within a slice: that
    /// its start is at most the length, or that the rest of the slice is at least as long as the
    /// range.
    fn compare_range(
        &self,
        facts: &Facts<'a>,
        extents: &HashSet<&'a str>,
        comparison: &Comparison<'a>,
        register: &'a str,
    ) -> Option<Proven<'a>> {
        if comparison.bits != 64 || comparison.signed {
            return None;
        }
        let sides = [&comparison.left, &comparison.right];
        let [left, right] = sides.map(|operand| self.value(facts, operand));
        let sides = [left?, right?];
        let difference = sides[0].polynomial.plus(&sides[1].polynomial, -1)?;
        difference.0.iter().find_map(|(term, &coefficient)| {
            let [length] = term[..] else {
                return None;
            };
            let is_factor = |term: &Product<'a>| term.len() > 1 && term.contains(&length);
            if !extents.contains(length) || difference.0.keys().any(is_factor) {
                return None;
            }
            // The relation of the other terms to the length.
            let (outcome, margin) = match (coefficient, comparison.relation) {
                (-1, Relation::Less) | (1, Relation::Greater) => (true, 0),
                (-1, Relation::LessOrEqual) | (1, Relation::GreaterOrEqual) => (true, 1),
                (-1, Relation::GreaterOrEqual) | (1, Relation::LessOrEqual) => (false, 0),
                (-1, Relation::Greater) | (1, Relation::Less) => (false, 1),
                _ => return None,
            };
            let least = |polynomial: &Polynomial<'a>, sign: i64, margin: i64| {
                let length = Polynomial::register(length);
                let scaled = Polynomial::default().plus(polynomial, sign)?;
                let rest = scaled.plus(&length, 1)?;
                let rest = rest.plus(&Polynomial::constant(margin), -1)?;
                self.product_of(facts, extents, &rest, true, Limits::Reached)
            };
            let product = least(&difference, -coefficient, margin)?;
            let holds = |side: &Value<'a>| {
                let hypothesis = side.hypothesis.as_ref();
                hypothesis.is_none_or(|known| known.is_within(&product))
            };
            if !sides.iter().all(holds) {
                return None;
            }
            // As an unsigned number, a negative one is greater than any length.
            let not_negative = |side: &Value<'a>| {
                self.is_not_negative(facts, extents, side)
                    || least(&side.polynomial, -1, 1).as_ref() == Some(&product)
            };
            sides.iter().all(not_negative).then_some(Proven {
                register,
                outcome,
                is_likely: self.is_natural(&difference, &product),
                bound: product,
                is_check: false,
                panics: false,
                is_in_table: false,
                length: Some(length),
            })
        })
    }

    /// Returns whether a comparison limits a register, or has the same result for all threads of most
    /// launches.
    fn is_limit(&self, facts: &Facts<'a>, extents: &HashSet<&'a str>, it: &Comparison<'a>) -> bool {
        let is_constant = |operand: &Operand<'a>| matches!(operand, Operand::Integer(_));
        let is_known = is_constant(&it.left) || is_constant(&it.right);
        // A limit of twice a position or of half of it is one of the position, too.
        let is_position = |operand: &Operand<'a>| {
            let Operand::Name(name) = operand else {
                return true;
            };
            let mut limits = self.limits.iter();
            !self.definitions.contains_key(name)
                && !limits.any(|limit| limit.register == *name && !limit.is_reached)
        };
        let mut known = self.clone();
        known.assume_comparison(facts, it).is_some()
            && is_position(&it.left)
            && is_position(&it.right)
            || is_known
            || (self.compare_index(facts, extents, it, ""))
                .is_some_and(|proven| proven.bound.is_product())
    }

    fn assume_comparison(&mut self, facts: &Facts<'a>, it: &Comparison<'a>) -> Option<()> {
        let it = match it.relation {
            Relation::Greater | Relation::GreaterOrEqual => &it.swapped(),
            _ => it,
        };
        self.assume_in_part(facts, it);
        let sum = |operand: &Operand<'a>| {
            let value = match self.value(facts, operand) {
                Some(value) => value,
                // Any register of 64 bits is an integer with sign.
                None if it.bits == 64 => Value {
                    polynomial: match operand {
                        Operand::Name(name) => Polynomial::register(name).into(),
                        _ => return None,
                    },
                    range: (i64::MIN, i64::MAX),
                    hypothesis: None,
                },
                None => return None,
            };
            let is_plain = value.hypothesis.is_none();
            let (register, number) = value.polynomial.as_sum().filter(|_| is_plain)?;
            Some((register, number, value.range))
        };
        let (left, right) = (sum(&it.left)?, sum(&it.right)?);
        let is_index = |range: Range| range.0 >= 0 && range.1 <= i32::MAX.into();
        let strict = match it.relation {
            Relation::Less => 1,
            Relation::LessOrEqual => 0,
            Relation::NotEqual => {
                for (left, right) in [(left, right), (right, left)] {
                    let Some(excluded) = i64::checked_sub(left.1, right.1) else {
                        continue;
                    };
                    for limit in &mut self.limits {
                        let same = (limit.register, limit.bound) == (left.0, right.0);
                        if same && limit.margin == excluded {
                            limit.margin = limit.margin.saturating_add(1);
                        }
                    }
                }
                return Some(());
            }
            _ => return None,
        };
        // An unsigned number below one without sign bit has none either.
        if !is_index(right.2) || (it.signed && !is_index(left.2)) {
            return None;
        }
        let margin = i64::checked_sub(left.1, right.1)?.checked_add(strict)?;
        self.add_limit(Limit {
            register: left.0,
            bound: right.0,
            margin,
            is_reached: true,
        });
        Some(())
    }

    /// Adds a limit, and those that follow from limits of its bound.
    fn add_limit(&mut self, limit: Limit<'a>) {
        let of_bound = self.limits.iter().filter(|it| it.register == limit.bound);
        let implied = of_bound.filter_map(|it| {
            Some(Limit {
                register: limit.register,
                bound: it.bound,
                margin: limit.margin.checked_add(it.margin)?,
                is_reached: it.is_reached,
            })
        });
        let mut limits: Vec<_> = implied.collect();
        limits.insert(0, limit);
        limits.retain(|it| it.register != it.bound && !self.limits.contains(it));
        self.limits.extend(limits);
    }

    /// Adds a limit of a sum: an index that is below the size of a part of a buffer and the part's
    /// start are below the buffer's length.
    fn assume_in_part(&mut self, facts: &Facts<'a>, it: &Comparison<'a>) -> Option<()> {
        let margin = match it.relation {
            Relation::Less => 1,
            Relation::LessOrEqual => 0,
            _ => return None,
        };
        let Operand::Name(size) = it.right else {
            return None;
        };
        let part = self.parts.get(size)?;
        let index = self.value(facts, &it.left)?;
        let is_number = !it.signed && it.bits == 64 && index.range.0 >= 0;
        // Of an empty part, no index is below the size.
        if !is_number || index.hypothesis.is_some() || (part.may_be_outside && margin == 0) {
            return None;
        }
        let sum = self.expanded(&index.polynomial)?.plus(&part.start, 1)?;
        let limit = SumLimit {
            sum,
            extent: part.extent,
            margin,
        };
        if !self.sum_limits.contains(&limit) {
            self.sum_limits.push(limit);
        }
        Some(())
    }
}

/// Returns the registers of a polynomial that are no extents, sorted, and the least values of these
/// and of the extents, if no factor of a product is negative.
fn least_of<'a>(
    facts: &Facts<'a>,
    extents: &HashSet<&'a str>,
    polynomial: &Polynomial<'a>,
) -> Option<(Vec<&'a str>, HashMap<&'a str, Polynomial<'a>>)> {
    let mut registers: Vec<&'a str> = (polynomial.registers())
        .filter(|name| !extents.contains(name))
        .collect();
    registers.sort_unstable();
    registers.dedup();
    let mut least: HashMap<&'a str, Polynomial<'a>> = HashMap::default();
    for &register in &registers {
        let (low, _) = facts.range(&Operand::Name(register))?;
        let is_factor = |product: &Product<'a>| product.len() > 1 && product.contains(&register);
        if low < 0 && polynomial.0.keys().any(is_factor) {
            return None;
        }
        least.insert(register, Polynomial::constant(low));
    }
    for &extent in extents {
        least.insert(extent, Polynomial::register(extent));
    }
    Some((registers, least))
}

/// Returns whether the value of a polynomial is at least 0.
fn is_not_negative<'a>(
    polynomial: &Polynomial<'a>,
    least: &HashMap<&'a str, Polynomial<'a>>,
    most: &HashMap<&'a str, Polynomial<'a>>,
) -> bool {
    let lowest = substituted(polynomial, least, most);
    lowest.is_some_and(|it| it.0.values().all(|&coefficient| coefficient >= 0))
}

/// Replaces the registers of terms: those with a positive coefficient by `positive`, others by
/// `negative`.
fn substituted<'a>(
    polynomial: &Polynomial<'a>,
    positive: &HashMap<&'a str, Polynomial<'a>>,
    negative: &HashMap<&'a str, Polynomial<'a>>,
) -> Option<Polynomial<'a>> {
    let mut all = Polynomial::default();
    for (product, &coefficient) in &polynomial.0 {
        let bounds = if coefficient > 0 { positive } else { negative };
        let mut term = Polynomial::constant(coefficient);
        for factor in product {
            term = term.times(bounds.get(factor)?)?;
        }
        all = all.plus(&term, 1)?;
    }
    Some(all)
}
