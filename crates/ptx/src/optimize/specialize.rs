//! Gives a kernel a second body, for the launches that most launches are.
//!
//! In safe code, lengths and indices have 64 bits, a grid may have three dimensions, and a thread
//! may have several elements. GPUs have 32-bit registers, so all of this takes instructions, which
//! most launches do not need. This pass copies the body of a kernel. The kernel starts with a test
//! of values that are the same in the whole grid:
//!
//! - All lengths and extents among the parameters are below [`BOUND`].
//! - The products of such numbers and of the thread's coordinates, in indices, are too (see
//!   [`products`]).
//! - The parameters with sign that are added to coordinates are between -[`BOUND`] and [`BOUND`].
//! - The grid has one dimension, if the kernel only uses the flattened index of the block; likewise
//!   the block.
//! - The grid has a thread for each element: no grid-stride loop has a second iteration. Another
//!   copy, for strided launches, keeps the loops over the last dimension of the grid: launches of
//!   volumes often have a thread for each column, and launches of slices as many blocks as the device
//!   runs at once.
//!
//! If the test passes, the copy runs. It has no grid-stride loops, and `narrow` computes its
//! integers in 32 bits. Otherwise, the original runs. All threads of the grid take the same branch,
//! so barriers and other operations among threads keep their meaning.

use crate::hash::{HashMap, HashSet, with_capacity};
use std::collections::{BTreeMap, BTreeSet};

use super::flow::{Block, End, Graph, Id};
use super::instructions::{
    has_result, instructions, is_parameter, is_pure, rename, results, sources,
};
use super::loops::{self, Comparison, Loop, Relation};
use super::names::Names;
use super::narrow::{self, Range};
use super::version::number;
use super::{Check, check_of, definitions, liveness, products, threading};
use crate::condition::{Launches, SIZES};
use crate::dead::visit_operand;
use crate::rewrite::instruction;
use crate::{Base, Function, Guard, Instruction, Kernels, Operand, Statement, Type};

/// The exclusive bound of lengths and extents.
pub(super) const BOUND: u64 = 1 << 30;

/// The maximum number of instructions of a kernel that is copied.
const LARGEST: usize = 6000;

/// The minimum number of 64-bit operations for which a copy pays.
const WORTHWHILE: usize = 8;

/// The same for a kernel with a grid-stride loop, which the copy does not have.
const WORTHWHILE_WITH_LOOP: usize = 6;

/// The same for a kernel that combines the dimensions of the grid, whose copy has one.
const WORTHWHILE_IF_FLATTENED: usize = 4;

/// The number of dimensions of a grid.
const DIMENSIONS: usize = 3;

/// The maximum number of instructions between a stride and the size of the grid that it is computed
/// from.
const STEPS: usize = 16;

/// The maximum number of different extents of a sum that the test computes. A product of two
/// numbers below 2³¹ and 2³⁰, for each of them, does not overflow 64 bits.
const FACTORS: usize = 4;

/// The maximum number of instructions of the test, if the threads execute it.
const TEST: usize = 64;

/// The same if the host evaluates it.
const TEST_OF_HOST: usize = 128;

/// The minimum number of extents that are expected to be equal to others: those of three volumes.
const EQUAL: usize = 8;

/// A label of the original body starts with this if its launches are so large that its loops need
/// not be fast.
pub(super) const GENERAL: &str = "$L__general";

/// A grid-stride loop whose stride is at least its bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covered<'a> {
    /// The counter.
    pub counter: &'a str,
    /// The register of the test with the stride.
    pub stride: &'a str,
}

/// The copy of a kernel's body.
#[derive(Debug)]
pub(super) struct Special<'a> {
    /// The block after the test of the extents and of the grid, where `extents` and `ranges` hold.
    pub first: Id,
    /// The first block of the original.
    pub general: Id,
    /// Whether the original need not be fast.
    pub general_is_slow: bool,
    /// The registers of the copy with lengths and extents, which are below [`BOUND`].
    pub extents: HashSet<&'a str>,
    /// The `extents` that are not zero.
    pub positive: HashSet<&'a str>,
    /// The ranges of the results of instructions of the copy, which follow from the sizes of the
    /// grid, from parameters and from constant tables.
    pub bounded: HashMap<&'a str, Range>,
    /// The ranges of special registers, and of the registers of the test.
    pub ranges: Vec<(&'a str, Range)>,
    /// The predicates whose value is known.
    pub outcomes: HashMap<&'a str, bool>,
    /// Extents, each with a parameter whose value is at least the extent.
    pub within: HashSet<(&'a str, &'a str)>,
}

impl<'a> Special<'a> {
    /// Adds ranges of the results of instructions.
    pub fn add_ranges(&mut self, ranges: Vec<(&'a str, Range)>) {
        self.bounded.extend(ranges);
    }

    /// Returns the blocks of the copy, with its panics.
    pub fn blocks(&self, graph: &Graph<'_>) -> Vec<Id> {
        let mut seen = HashSet::from_iter([self.first, self.general]);
        let mut left = vec![self.first];
        let mut blocks = Vec::new();
        while let Some(id) = left.pop() {
            blocks.push(id);
            let targets = graph.blocks[id].end.targets().into_iter();
            left.extend(targets.filter(|&to| seen.insert(to)));
        }
        blocks
    }
}

/// Special registers that are combined into one index: two indices, and the sizes of the three
/// dimensions.
const FLATTENED: [[&str; 5]; 2] = [
    [
        "%ctaid.y",
        "%ctaid.z",
        "%nctaid.x",
        "%nctaid.y",
        "%nctaid.z",
    ],
    ["%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z"],
];

/// The dimensions that an index combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flattened {
    /// The second and the third.
    Two,
    /// All three.
    Three,
}

/// Copies the body of a kernel for `launches` if that pays. A copy for strided launches pays if it
/// differs from that for ordinary launches. The blocks of an original that need not be fast are added
/// to `slow`.
pub(super) fn specialize<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    kernel: &Function<'a>,
    launches: Launches,
    known: Kernels<'_>,
    slow: &mut HashSet<Id>,
) -> Option<Special<'a>> {
    let cold = graph.cold();
    let mut size = 0;
    graph.visit(hot(graph, &cold), &mut |_| size += 1);
    if size > LARGEST || graph.has_switch() {
        return None;
    }
    let single = single_definitions(graph, &cold);
    let (extents, operations) = extents(graph, &cold, &single, kernel.name, known);
    let is_flattened = FLATTENED.iter().any(|&[y, z, size_x, size_y, _]| {
        flattened(graph, &cold, [y, z], [size_x, size_y]).is_some()
    });
    let least = match is_flattened {
        true => WORTHWHILE_IF_FLATTENED,
        false => WORTHWHILE_WITH_LOOP,
    };
    // The host evaluates conditions of any length fast; all threads would take their time.
    let is_trusted_extent = |name: &&'a str| is_trusted(&single, name, kernel.name, known);
    let are_trusted = !extents.is_empty() && extents.iter().all(is_trusted_extent);
    let products = match known.ordinary_entries && !are_trusted {
        true => products::of_indices(graph, &hot(graph, &cold).collect::<Vec<_>>(), &single),
        false => Vec::new(),
    };
    let operations = operations + products.len();
    if (extents.is_empty() && products.is_empty()) || operations < least {
        return None;
    }

    // The test of the extents and of the grid.
    let equal = equal_extents(graph, kernel, known);
    let mut test = Test::new(graph, names, &single, &extents);
    test.demand_equal(&equal)?;
    // Code may use the extents of another output alone, so the first ones need not be in `extents`.
    let first_of = |name: &'a str| {
        let pair = equal.iter().find(|(other, _)| *other == name);
        pair.map_or(name, |&(_, first)| first)
    };
    let mut sorted: Vec<&'a str> = extents.iter().map(|&name| first_of(name)).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut all: Option<&'a str> = None;
    for extent in sorted {
        let value = test.value(extent)?;
        all = Some(match all {
            None => value,
            Some(all) => test.emit(Type::B64, "or", &["b64"], [all, value].map(Operand::Name)),
        });
    }
    let of_products = products::Bounds::new(kernel, &single, &products, &mut test);
    for &value in of_products.demanded() {
        all = Some(match all {
            None => value,
            Some(all) => test.emit(Type::B64, "or", &["b64"], [all, value].map(Operand::Name)),
        });
    }
    let mut ranges: Vec<(&'a str, Range)> = Vec::new();
    let all = all?;
    test.demand("lt", "u64", [Operand::Name(all), number(BOUND)]);
    for value in of_products.positive() {
        test.demand("ne", "s64", [Operand::Name(value), number(0)]);
    }
    if ["%ctaid.x", "%nctaid.x"]
        .iter()
        .any(|it| reads(test.graph, &cold, it))
    {
        // Indices of threads are below the bound, too.
        let threads = block_width(kernel).unwrap_or(1024).max(1);
        let blocks = Operand::Name(test.special("%nctaid.x"));
        let most = (BOUND - 1) / threads;
        test.demand("le", "u32", [blocks, number(most)]);
        let most = most as i64;
        ranges.extend([("%ctaid.x", (0, most - 1)), ("%nctaid.x", (1, most))]);
    }
    for [y, z, size_x, size_y, size_z] in FLATTENED {
        let Some(dimensions) = flattened(test.graph, &cold, [y, z], [size_x, size_y]) else {
            continue;
        };
        let mut sizes = test.special(size_z);
        ranges.extend([(z, (0, 0)), (size_z, (1, 1))]);
        if dimensions == Flattened::Three {
            let operands = [test.special(size_y), sizes].map(Operand::Name);
            sizes = test.emit(Type::B32, "or", &["b32"], operands);
            ranges.extend([(y, (0, 0)), (size_y, (1, 1))]);
        }
        test.demand("eq", "s32", [Operand::Name(sizes), number(1)]);
    }
    // The last index of a slice is a number of 32 bits, too.
    let mut positive = limits(test.graph, &cold, &extents);
    if known.ordinary_entries {
        positive.extend(divisors(test.graph, &cold, &single, &extents));
        positive.sort_unstable();
        positive.dedup();
    }
    for extent in &positive {
        // If the upper half is not 0, the extent is above the bound.
        let value = [Operand::Name(test.value(extent)?)];
        let low = test.emit(Type::B32, "cvt", &["u32", "u64"], value);
        test.demand("ne", "s32", [Operand::Name(low), number(0)]);
    }
    let steps = match known.ordinary_entries {
        true => steps(test.graph, &cold, &single, &extents),
        false => BTreeMap::new(),
    };
    let mut of_steps: Vec<(&'a str, Range)> = Vec::new();
    for (step, extended) in steps {
        let operands = [Operand::Name(test.value(step)?), number(BOUND)];
        let sum = test.emit(Type::B32, "add", &["s32"], operands);
        test.demand("lt", "u32", [Operand::Name(sum), number(2 * BOUND)]);
        let range = (-(BOUND as i64), BOUND as i64 - 1);
        of_steps.extend(extended.into_iter().map(|it| (it, range)));
    }
    let range_of = |(&name, &value): (&&'a str, &&'a str)| match extents.contains(name) {
        true => Some((value, (0, BOUND as i64 - 1))),
        false => (ranges.iter().find(|(it, _)| *it == name)).map(|&(_, range)| (value, range)),
    };
    let of_values: Vec<_> = test.values.iter().filter_map(range_of).collect();
    ranges.extend(of_values);
    let values = test.values.clone();
    let (first_test, first_condition) = test.finish()?;

    // The test of the strides.
    let found = loops::single_latch(graph, &cold);
    let mut test = Test::new(graph, names, &single, &extents);
    test.values = values;
    let last = match launches {
        Launches::Ordinary => DIMENSIONS,
        Launches::Strided => test.last_dimension(&cold, &found)?,
    };
    let covered: Vec<(&Loop<'a>, Covered<'a>)> = (found.iter())
        .filter_map(|each| Some((each, test.covers(each, last)?)))
        .collect();
    let sizes = test.sizes(&cold, last);
    let has_loop = !covered.is_empty() || !sizes.is_empty();
    if operations < WORTHWHILE && !has_loop && !is_flattened {
        return None;
    }
    let (second_test, second_condition) = match has_loop {
        false => (Vec::new(), None),
        true => {
            let (body, condition) = test.finish()?;
            (body, Some(condition))
        }
    };
    let most = match known.ordinary_entries {
        true => TEST_OF_HOST,
        false => TEST,
    };
    if first_test.len() + second_test.len() > most {
        return None;
    }
    let is_nested = |(each, _): &(&Loop<'a>, Covered<'a>)| {
        let mut others = covered.iter().filter(|(it, _)| it.header != each.header);
        others.any(|(it, _)| it.contains(each.header))
    };
    let is_ordinary = launches == Launches::Ordinary;
    let is_slow = is_ordinary && (!has_loop || covered.iter().any(is_nested)) && are_trusted;

    let originals = graph.order.clone();
    let general = *originals.first()?;
    let (ids, renamed) = copy(graph, names, &equal);
    if is_slow {
        graph.blocks[general].label = names.numbered(GENERAL, "");
        slow.extend(&originals);
    }

    let guard = |register| Guard::new(register);
    let start = ids[&general];
    let first = graph.add(
        Block {
            label: names.label(),
            end: match second_condition {
                Some(condition) => End::Branch(guard(condition), false, start, general),
                None => End::Jump(start, false),
            },
            body: second_test,
        },
        None,
    );
    let entry = graph.add(
        Block {
            label: names.label(),
            body: first_test,
            end: End::Branch(guard(first_condition), false, first, general),
        },
        None,
    );
    // The copy precedes the original; panics stay at the end.
    let is_cold = |id: &&Id| cold[**id];
    let mut order = vec![entry, first];
    order.extend(originals.iter().filter(|id| !is_cold(id)).map(|id| ids[id]));
    order.extend(originals.iter().filter(|id| !is_cold(id)));
    order.extend(originals.iter().filter(is_cold).map(|id| ids[id]));
    order.extend(originals.iter().filter(is_cold));
    graph.order = order;
    let in_copy = |name: &'a str| renamed.get(name).copied().unwrap_or(name);
    let special = Special {
        first,
        general,
        general_is_slow: is_slow,
        extents: extents.into_iter().map(in_copy).collect(),
        positive: positive.into_iter().map(in_copy).collect(),
        bounded: (of_products.ranges().chain(of_steps))
            .map(|(name, range)| (in_copy(name), range))
            .collect(),
        ranges,
        outcomes: HashMap::default(),
        within: HashSet::default(),
    };
    // A loop has no second iteration unless its counter wraps around.
    let counters: Vec<(Id, Covered<'a>)> = (covered.iter())
        .map(|(each, it)| {
            let counter = in_copy(it.counter);
            (ids[&each.header], Covered { counter, ..*it })
        })
        .collect();
    let small = narrow::start_small(graph, &special, &counters);
    for ((each, _), _) in covered.iter().zip(small).filter(|(_, small)| *small) {
        let (latch, header) = (ids[&each.latch], ids[&each.header]);
        let targets = graph.blocks[latch].end.targets();
        if let Some(&exit) = targets.iter().find(|&&to| to != header) {
            graph.blocks[latch].end = End::Jump(exit, false);
            let body = &mut graph.blocks[header].body;
            body.retain(|statement| !matches!(statement, Statement::Pragma(_)));
        }
    }
    let copies: Vec<Id> = originals.iter().map(|id| ids[id]).collect();
    let outcomes = (sizes.into_iter()).map(|(name, outcome)| (in_copy(name), outcome));
    settle(graph, &copies, outcomes.collect());
    threading::thread(graph, &copies);
    liveness::remove_dead(graph, &copies);
    Some(special)
}

/// Removes the body of the original, to which no block of the copy returns. The test still branches
/// to its first block.
pub(super) fn remove_original(graph: &mut Graph<'_>, special: &Special<'_>) {
    if let Statement::Instruction(leave) = instruction("ret", &[], Vec::new()) {
        let original = &mut graph.blocks[special.general];
        original.body.clear();
        original.end = End::Leave(leave);
        graph.remove_unreachable();
    }
}

/// Opcodes of instructions that are as fast as a branch.
const FAST: &[&str] = &[
    "add", "and", "cvt", "cvta", "ld", "mad", "max", "min", "mov", "mul", "neg", "not", "or",
    "selp", "setp", "shl", "shr", "sub", "xor",
];

/// Moves the start of the copy before the test, and tests all conditions at once: the latencies of
/// special registers, of parameters and of the test then overlap. If the test fails, what has been
/// computed is not used.
pub(super) fn start_early<'a>(graph: &mut Graph<'a>, names: &'a Names, special: &Special<'a>) {
    let Some(&entry) = graph.order.first() else {
        return;
    };
    let first = std::mem::take(&mut graph.blocks[special.first].body);
    graph.blocks[entry].body.extend(first);
    let start = match (&graph.blocks[entry].end, &graph.blocks[special.first].end) {
        (End::Branch(passes, ..), &End::Branch(second, _, start, _)) => {
            let predicates = [passes.register, second.register];
            let mut body = std::mem::take(&mut graph.blocks[entry].body);
            let both = graph.and(names, &mut body, predicates);
            graph.blocks[entry].body = body;
            let guard = Guard::new(both);
            graph.blocks[entry].end = End::Branch(guard, false, start, special.general);
            start
        }
        (_, &End::Jump(start, _)) => start,
        _ => return,
    };
    if graph.predecessors()[start]
        .iter()
        .any(|&from| from != entry && from != special.first)
    {
        return;
    }
    // The registers that the instructions that stay access.
    let (mut written, mut read) = (HashSet::default(), HashSet::default());
    let (mut moved, mut stay) = (Vec::new(), Vec::new());
    for statement in std::mem::take(&mut graph.blocks[start].body) {
        if let Statement::Instruction(it) = &statement
            && is_fast(it)
        {
            let mut free = true;
            sources(it, &mut |name| free &= !written.contains(name));
            results(it, &mut |name| {
                free &= !written.contains(name) && !read.contains(name)
            });
            if free {
                moved.push(statement);
                continue;
            }
        }
        instructions(&statement, &mut |it| {
            sources(it, &mut |name| _ = read.insert(name));
            results(it, &mut |name| _ = written.insert(name));
            if !has_result(it) {
                it.operands.iter().for_each(|operand| {
                    visit_operand(operand, &mut |name| _ = read.insert(name));
                });
            }
        });
        stay.push(statement);
    }
    graph.blocks[start].body = stay;
    graph.blocks[entry].body.extend(moved);
}

/// Returns whether an instruction can run where its result is not needed, as fast as a branch.
pub(super) fn is_fast(it: &Instruction<'_>) -> bool {
    FAST.contains(&it.opcode) && (is_pure(it) || is_parameter(it) && it.guard.is_none())
}

/// Returns the blocks that are not cold.
fn hot(graph: &Graph<'_>, cold: &[bool]) -> impl Iterator<Item = Id> {
    graph.order.iter().copied().filter(|&id| !cold[id])
}

/// Returns the instructions that are the only ones to write their result.
pub(super) fn single_definitions<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
) -> HashMap<&'a str, Instruction<'a>> {
    let mut is_written = vec![false; graph.blocks.len()];
    graph.order.iter().for_each(|&id| is_written[id] = true);
    // The only definition, if a statement of a block that is written is it.
    let mut definitions: HashMap<&'a str, Option<&Instruction<'a>>> = with_capacity(graph.len());
    for (id, block) in graph.blocks.iter().enumerate() {
        if cold[id] {
            continue;
        }
        for statement in &block.body {
            let is_plain = is_written[id] && matches!(statement, Statement::Instruction(_));
            instructions(statement, &mut |it| {
                results(it, &mut |name| {
                    let definition = is_plain.then_some(it);
                    (definitions.entry(name))
                        .and_modify(|known| *known = None)
                        .or_insert(definition);
                });
            });
        }
    }
    let single = definitions.into_iter();
    single
        .filter_map(|(name, it)| Some((name, it?.clone())))
        .collect()
}

/// Returns the registers with lengths and extents, and the number of 64-bit operations: lengths of
/// slices, integers of partitions, other numbers that are computed with, and products of such.
fn extents<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    single: &HashMap<&'a str, Instruction<'a>>,
    kernel: &str,
    known: Kernels<'_>,
) -> (HashSet<&'a str>, usize) {
    let mut addresses = HashSet::default();
    let (mut used, mut counted) = (HashSet::default(), HashSet::default());
    let mut operations = 0;
    graph.visit(hot(graph, cold), &mut |it| {
        let wide = matches!(it.modifiers.last(), Some(&("u64" | "s64" | "b64")));
        if wide && matches!(it.opcode, "setp" | "add" | "sub") {
            operations += 1;
        }
        let counts = [
            "add", "div", "mad", "max", "min", "mul", "rem", "setp", "sub",
        ];
        if wide && counts.contains(&it.opcode) {
            sources(it, &mut |name| _ = counted.insert(name));
        }
        // `x < width as i32`, as most CUDA C++ compares.
        if let ("setp", [_, "s32" | "u32"]) = (it.opcode, &it.modifiers[..]) {
            sources(it, &mut |name| {
                if let Some(it) = single.get(name)
                    && (it.opcode, &it.modifiers[..]) == ("cvt", &["u32", "u64"])
                {
                    sources(it, &mut |name| _ = counted.insert(name));
                }
            });
        }
        sources(it, &mut |name| _ = used.insert(name));
        if it.opcode == "cvta" {
            sources(it, &mut |name| _ = addresses.insert(name));
        }
        for operand in &it.operands {
            if let Operand::Address(Base::Name(name), _) = operand {
                addresses.insert(*name);
            }
        }
    });
    let is_extent = |name: &str, it: &Instruction<'a>| {
        let is_load = it.opcode == "ld" && it.modifiers == ["param", "u64"] && it.guard.is_none();
        is_load
            && match origin(single, it, kernel, known) {
                Some(Origin::Extent) => used.contains(name),
                Some(Origin::Size) => counted.contains(name),
                None => false,
            }
    };
    let mut extents: HashSet<&'a str> = (single.iter())
        .filter(|(name, it)| is_extent(name, it) && !addresses.contains(*name))
        .map(|(&name, _)| name)
        .collect();
    let products: Vec<&'a str> = (single.iter())
        .filter(
            |(_, it)| match (it.opcode, &it.modifiers[..], &it.operands[..]) {
                ("mul", ["lo", "s64" | "u64"], [_, a, b]) => [a, b]
                    .iter()
                    .all(|it| matches!(it, Operand::Name(name) if extents.contains(name))),
                _ => false,
            },
        )
        .map(|(&name, _)| name)
        .collect();
    extents.extend(products);
    (extents, operations)
}

/// Returns pairs of extents, of which the second is read first: those of the outputs of a kernel with
/// many, such as the components of a field, which have the same shape in most launches. Otherwise,
/// the conditions of each output would be tested and computed separately.
fn equal_extents<'a>(
    graph: &Graph<'a>,
    kernel: &Function<'a>,
    known: Kernels<'_>,
) -> Vec<(&'a str, &'a str)> {
    let size_of = |param: &str| {
        let index = param.strip_prefix(kernel.name)?.strip_prefix("_param_")?;
        let index = index.parse().ok()?;
        let is_partition = |it: &crate::Parameter| it.kernel == kernel.name && it.index == index;
        let size = kernel.params.get(index)?.extents.first().copied()?;
        // An output with one dimension has an address and a length.
        size.filter(|&size| size > 16 && known.partitions.iter().any(is_partition))
    };
    let mut seen: HashMap<(u64, i64), &'a str> = HashMap::default();
    let mut pairs = Vec::new();
    let Some(&entry) = graph.order.first() else {
        return pairs;
    };
    let definitions = definitions(graph, &vec![false; graph.blocks.len()]);
    graph.visit([entry], &mut |it| {
        if let [
            Operand::Name(name),
            Operand::Address(Base::Name(param), offset),
        ] = it.operands[..]
            && is_parameter(it)
            && it.modifiers == ["param", "u64"]
            && it.guard.is_none()
            && definitions.get(name) == Some(&1)
            && offset > 0
            && let Some(size) = size_of(param)
        {
            match seen.get(&(size, offset)) {
                Some(&first) => pairs.push((name, first)),
                None => _ = seen.insert((size, offset), name),
            }
        }
    });
    if pairs.len() < EQUAL {
        pairs.clear();
    }
    pairs
}

/// Returns the extents that checks compare with 0, as those of divisors do. A launch with such an
/// extent panics, so no other launch loses the copy.
fn divisors<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    single: &HashMap<&'a str, Instruction<'a>>,
    extents: &HashSet<&'a str>,
) -> Vec<&'a str> {
    let checks = graph.order.iter().filter(|&&id| !cold[id]);
    let checks = checks.filter_map(|&id| check_of(graph, cold, id));
    let divisor = |check: Check<'a>| {
        let compared = Comparison::of(single.get(check.register)?, !check.negated)?;
        match (compared.relation, compared.left, compared.right) {
            (Relation::NotEqual, Operand::Name(name), Operand::Integer(zero))
                if zero.bits == 0 && extents.contains(name) =>
            {
                Some(name)
            }
            _ => None,
        }
    };
    checks.filter_map(divisor).collect()
}

/// Returns the parameters of 32 bits with sign that are added to or subtracted from numbers that are
/// compared with extents, such as the distance of a neighbor, each with the registers of 64 bits that
/// have its value.
fn steps<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    single: &HashMap<&'a str, Instruction<'a>>,
    extents: &HashSet<&'a str>,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut extended: BTreeMap<&'a str, BTreeSet<&'a str>> = BTreeMap::new();
    for (&result, it) in single {
        if let ("cvt", ["s64", "s32"], None, &[_, Operand::Name(from)]) =
            (it.opcode, &it.modifiers[..], it.guard, &it.operands[..])
            && let Some(load) = single.get(from)
            && is_parameter(load)
            && load.guard.is_none()
            && matches!(load.modifiers[..], ["param", "u32" | "s32" | "b32"])
        {
            extended.entry(from).or_default().insert(result);
        }
    }
    // The parameters in sums.
    let mut sums: HashMap<&'a str, &'a str> = HashMap::default();
    for (&result, it) in single {
        if let ("add" | "sub", ["s64" | "u64"]) = (it.opcode, &it.modifiers[..]) {
            sources(it, &mut |name| {
                let step = extended.iter().find(|(_, all)| all.contains(name));
                sums.extend(step.map(|(&step, _)| (result, step)));
            });
        }
    }
    let mut compared = HashSet::default();
    graph.visit(hot(graph, cold), &mut |it| {
        if let ("setp", [_, "u64" | "s64"], [_, Operand::Name(a), Operand::Name(b)]) =
            (it.opcode, &it.modifiers[..], &it.operands[..])
        {
            for (sum, extent) in [(a, b), (b, a)] {
                compared.extend(sums.get(sum).filter(|_| extents.contains(extent)).copied());
            }
        }
    });
    extended.retain(|step, _| compared.contains(step));
    extended
}

/// Returns the extents whose predecessor limits other numbers, as in `i.min(len - 1)`, in a fixed
/// order.
fn limits<'a>(graph: &Graph<'a>, cold: &[bool], extents: &HashSet<&'a str>) -> Vec<&'a str> {
    let mut predecessors: HashMap<&'a str, &'a str> = HashMap::default();
    graph.visit(hot(graph, cold), &mut |it| {
        if let (
            "add",
            ["s64" | "u64"],
            None,
            &[
                Operand::Name(result),
                Operand::Name(extent),
                Operand::Integer(one),
            ],
        ) = (it.opcode, &it.modifiers[..], it.guard, &it.operands[..])
            && one.bits as i64 == -1
            && extents.contains(extent)
        {
            predecessors.insert(result, extent);
        }
    });
    let mut found = Vec::new();
    graph.visit(hot(graph, cold), &mut |it| {
        if it.opcode == "min" {
            sources(it, &mut |name| found.extend(predecessors.get(name)));
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}

/// The origin of a number among the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The length of a slice, or an integer of a partition.
    Extent,
    /// A number that the host may choose freely.
    Size,
}

/// Returns the origin of a load of a parameter, if the parameter may be a length or an extent.
fn origin(
    single: &HashMap<&str, Instruction<'_>>,
    load: &Instruction<'_>,
    kernel: &str,
    known: Kernels<'_>,
) -> Option<Origin> {
    let [_, Operand::Address(Base::Name(name), _)] = &load.operands[..] else {
        return None;
    };
    // The address of a parameter of bytes may be in a register.
    let param = match single.get(name).map(|it| &it.operands[..]) {
        Some([_, Operand::Name(param)]) => param,
        _ => name,
    };
    let is = |of: &str, index: usize| of == kernel && *param == format!("{of}_param_{index}");
    let is_one_of = |list: &[crate::Parameter]| list.iter().any(|it| is(&it.kernel, it.index));
    let mut slices = known.slices.iter();
    if slices.any(|it| is(&it.kernel, it.length)) || is_one_of(known.partitions) {
        return Some(Origin::Extent);
    }
    is_one_of(known.sizes).then_some(Origin::Size)
}

/// Returns whether an extent is a number that the host does not choose freely.
fn is_trusted(
    single: &HashMap<&str, Instruction<'_>>,
    extent: &str,
    kernel: &str,
    known: Kernels<'_>,
) -> bool {
    let Some(it) = single.get(extent) else {
        return false;
    };
    match &it.operands[..] {
        // A product.
        [_, Operand::Name(a), Operand::Name(b)] => {
            is_trusted(single, a, kernel, known) && is_trusted(single, b, kernel, known)
        }
        _ => origin(single, it, kernel, known) == Some(Origin::Extent),
    }
}

/// Returns the size of the block in the first dimension, if it is known.
pub(super) fn block_width(kernel: &Function<'_>) -> Option<u64> {
    let size = |name| kernel.directives.iter().find(|it| it.name == name);
    size("reqntid")?.values.first().copied()
}

/// Returns whether hot code reads a special register.
fn reads(graph: &Graph<'_>, cold: &[bool], special: &str) -> bool {
    let mut found = false;
    graph.visit(hot(graph, cold), &mut |it| {
        sources(it, &mut |name| found |= name == special);
    });
    found
}

/// Returns which dimensions are only used as part of one index: `z * size_y + y`, or
/// `(z * size_y + y) * size_x + x`.
fn flattened<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    [y, z]: [&'a str; 2],
    [size_x, size_y]: [&'a str; 2],
) -> Option<Flattened> {
    // The index in the second and third dimension.
    const ROW: &str = "row";
    // What registers hold: special registers, and the index.
    let mut holds: HashMap<&'a str, &'a str> = HashMap::default();
    let result = |it: &Instruction<'a>| match it.operands.first() {
        Some(&Operand::Name(name)) => name,
        _ => "",
    };
    let read = |it: &Instruction<'a>, holds: &HashMap<&'a str, &'a str>| -> Vec<&'a str> {
        let names = it.operands.iter().skip(1).map(|operand| match operand {
            Operand::Name(name) => holds.get(name).copied().unwrap_or(name),
            _ => "",
        });
        names.collect()
    };
    graph.visit(hot(graph, cold), &mut |it| {
        if let ("mov", [Operand::Name(to), Operand::Name(from)]) = (it.opcode, &it.operands[..])
            && [y, z, size_x, size_y].contains(from)
        {
            holds.insert(to, from);
        }
    });
    let mut rows: Vec<&'a str> = Vec::new();
    graph.visit(hot(graph, cold), &mut |it| {
        let read = read(it, &holds);
        if it.opcode == "mad" && (read == [size_y, z, y] || read == [z, size_y, y]) {
            rows.push(result(it));
        }
    });
    holds.extend(rows.iter().map(|&to| (to, ROW)));
    let (mut other, mut only_by_x) = (false, true);
    graph.visit(hot(graph, cold), &mut |it| {
        let read = read(it, &holds);
        if it.opcode != "mov" && holds.get(result(it)) != Some(&ROW) {
            other |= read.contains(&y) || read.contains(&z);
        }
        if read.contains(&ROW) {
            let product = matches!(it.opcode, "mul" | "mad") && read.contains(&size_x);
            only_by_x &= product;
        }
    });
    match (rows.is_empty() || other, only_by_x) {
        (true, _) => None,
        (false, true) => Some(Flattened::Three),
        (false, false) => Some(Flattened::Two),
    }
}

/// The instructions of a test before the kernel's body.
pub(super) struct Test<'g, 'a> {
    graph: &'g mut Graph<'a>,
    names: &'a Names,
    single: &'g HashMap<&'a str, Instruction<'a>>,
    extents: &'g HashSet<&'a str>,
    body: Vec<Statement<'a>>,
    /// The registers that hold values of the kernel's body.
    values: HashMap<&'a str, &'a str>,
    condition: Option<&'a str>,
}

impl<'g, 'a> Test<'g, 'a> {
    pub fn new(
        graph: &'g mut Graph<'a>,
        names: &'a Names,
        single: &'g HashMap<&'a str, Instruction<'a>>,
        extents: &'g HashSet<&'a str>,
    ) -> Test<'g, 'a> {
        Test {
            graph,
            names,
            single,
            extents,
            body: Vec::new(),
            values: HashMap::default(),
            condition: None,
        }
    }

    /// Returns the number of instructions.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Returns what [`Test::restore()`] needs to remove what is added after this.
    pub fn save(&self) -> (usize, HashMap<&'a str, &'a str>) {
        (self.body.len(), self.values.clone())
    }

    /// Removes the instructions that were added since the test was saved.
    pub fn restore(&mut self, (length, values): (usize, HashMap<&'a str, &'a str>)) {
        self.body.truncate(length);
        self.values = values;
    }

    /// Returns whether a register of the kernel holds a length or an extent.
    pub fn is_extent(&self, name: &str) -> bool {
        self.extents.contains(name)
    }

    pub fn emit(
        &mut self,
        ty: Type,
        opcode: &'a str,
        modifiers: &[&'a str],
        sources: impl IntoIterator<Item = Operand<'a>>,
    ) -> &'a str {
        let body = &mut self.body;
        (self.graph).emit(self.names, body, ty, opcode, modifiers, sources)
    }

    /// Returns a register with the value of a special register.
    pub fn special(&mut self, name: &'static str) -> &'a str {
        if let Some(&known) = self.values.get(name) {
            return known;
        }
        let value = self.emit(Type::B32, "mov", &["u32"], [Operand::Name(name)]);
        self.values.insert(name, value);
        value
    }

    /// Adds a condition.
    pub fn demand(&mut self, relation: &'a str, ty: &'a str, operands: [Operand<'a>; 2]) {
        let passes = self.emit(Type::Pred, "setp", &[relation, ty], operands);
        self.condition = Some(match self.condition {
            None => passes,
            Some(all) => (self.graph).and(self.names, &mut self.body, [all, passes]),
        });
    }

    /// Returns a register with a value that the body computes from parameters and the sizes of the
    /// grid and the block, or `None` if it depends on anything else.
    pub fn value(&mut self, name: &'a str) -> Option<&'a str> {
        if let Some(&known) = self.values.get(name) {
            return Some(known);
        }
        let it = self.single.get(name)?;
        if !(is_parameter(it) || is_pure(it))
            || it.guard.is_some()
            || self.body.len() > TEST_OF_HOST
        {
            return None;
        }
        let [Operand::Name(_), rest @ ..] = &it.operands[..] else {
            return None;
        };
        if let ("mov", [Operand::Name(from)]) = (it.opcode, rest)
            && let Some(special) = SIZES.iter().find(|it| *it == from)
        {
            return Some(self.special(special));
        }
        let mut known = true;
        let mut read = Vec::new();
        for operand in rest {
            visit_operand(operand, &mut |name| read.push(name));
        }
        let mut values = HashMap::default();
        for name in read {
            if self.graph.type_of(name).is_some() {
                values.insert(name, self.value(name)?);
            } else {
                known &= !name.starts_with('%') || SIZES.contains(&name);
            }
        }
        if !known {
            return None;
        }
        let ty = self.graph.type_of(name)?;
        if let ("mul", ["lo", "s64" | "u64"], [_, Operand::Name(a), Operand::Name(b)]) =
            (it.opcode, &it.modifiers[..], &it.operands[..])
            && self.extents.contains(a)
            && self.extents.contains(b)
        {
            // The test fails if the factors do not fit 32 bits.
            let factors = [values[a], values[b]];
            let [a, b] = factors.map(|factor| {
                let whole = [Operand::Name(factor)];
                Operand::Name(self.emit(Type::B32, "cvt", &["u32", "u64"], whole))
            });
            let value = self.emit(Type::B64, "mul", &["wide", "u32"], [a, b]);
            self.values.insert(name, value);
            return Some(value);
        }
        let mut copy = it.clone();
        rename(&mut copy, &mut |name| {
            values.get(name).copied().unwrap_or(name)
        });
        // The same of equal extents.
        let known = self.body.iter().find_map(|statement| match statement {
            Statement::Instruction(it) if computes_same(it, &copy) => match it.operands[0] {
                Operand::Name(known) => Some(known),
                _ => None,
            },
            _ => None,
        });
        if let Some(known) = known {
            self.values.insert(name, known);
            return Some(known);
        }
        let value = self.graph.register(ty, self.names);
        copy.operands[0] = Operand::Name(value);
        self.body.push(Statement::Instruction(copy));
        self.values.insert(name, value);
        Some(value)
    }

    /// Adds the condition that the values of registers are equal, in pairs. The test then has one
    /// register for both.
    fn demand_equal(&mut self, pairs: &[(&'a str, &'a str)]) -> Option<()> {
        let mut differences: Option<&'a str> = None;
        for &(other, first) in pairs {
            let values = [self.value(first)?, self.value(other)?];
            let difference = self.emit(Type::B64, "xor", &["b64"], values.map(Operand::Name));
            differences = Some(match differences {
                None => difference,
                Some(all) => {
                    let operands = [all, difference].map(Operand::Name);
                    self.emit(Type::B64, "or", &["b64"], operands)
                }
            });
            self.values.insert(other, values[0]);
        }
        if let Some(differences) = differences {
            self.demand("eq", "s64", [Operand::Name(differences), number(0)]);
        }
        Some(())
    }

    /// Adds the condition that a product of extents is at most each of the lengths.
    pub fn demand_within(&mut self, product: &[&'a str], lengths: &[&'a str]) -> Option<()> {
        let mut least: Option<&'a str> = None;
        for length in lengths {
            let length = self.value(length)?;
            least = Some(match least {
                None => length,
                Some(least) => {
                    let operands = [least, length].map(Operand::Name);
                    self.emit(Type::B64, "min", &["u64"], operands)
                }
            });
        }
        let mut factors = product;
        // The test already demands that some products are below the bound.
        let known = match product {
            [a, b, _, ..] => self.extent_of([*a, *b]),
            _ => None,
        };
        let mut all = match known {
            Some(known) => {
                factors = &factors[2..];
                self.value(known)?
            }
            None => {
                factors = product.get(1..)?;
                self.value(product[0])?
            }
        };
        for (index, factor) in factors.iter().enumerate() {
            let factor = self.value(factor)?;
            if index > 0 {
                // The product so far must fit 32 bits.
                self.demand("lt", "u64", [Operand::Name(all), number(BOUND)]);
            }
            let [a, b] = [all, factor].map(|factor| {
                let whole = [Operand::Name(factor)];
                Operand::Name(self.emit(Type::B32, "cvt", &["u32", "u64"], whole))
            });
            all = self.emit(Type::B64, "mul", &["wide", "u32"], [a, b]);
        }
        self.demand("le", "u64", [all, least?].map(Operand::Name));
        Some(())
    }

    /// Returns the extent that is the product of two others.
    fn extent_of(&self, factors: [&'a str; 2]) -> Option<&'a str> {
        let is_product = |name: &&&'a str| {
            let Some(it) = self.single.get(**name) else {
                return false;
            };
            match (it.opcode, &it.modifiers[..], &it.operands[..]) {
                ("mul", ["lo", "s64" | "u64"], [_, Operand::Name(a), Operand::Name(b)]) => {
                    [*a, *b] == factors || [*b, *a] == factors
                }
                _ => false,
            }
        };
        let mut found: Vec<&'a str> = self.extents.iter().filter(is_product).copied().collect();
        found.sort_unstable();
        found.first().copied()
    }

    /// Adds the condition that a sum of products of extents is at most each of the lengths. The
    /// coefficients must be positive.
    pub fn demand_sum_within(
        &mut self,
        sum: &BTreeMap<Vec<&'a str>, i64>,
        lengths: &[&'a str],
    ) -> Option<()> {
        let lengths: Option<Vec<&'a str>> = lengths.iter().map(|it| self.value(it)).collect();
        let sum = self.sum(sum)?;
        for length in lengths? {
            self.demand("le", "u64", [sum.clone(), Operand::Name(length)]);
        }
        Some(())
    }

    /// Returns a sum of products of extents, which is exact if the demands are met.
    pub fn sum(&mut self, sum: &BTreeMap<Vec<&'a str>, i64>) -> Option<Operand<'a>> {
        let mut counts: BTreeMap<&'a str, usize> = BTreeMap::new();
        for product in sum.keys() {
            let factors: BTreeSet<&'a str> = product.iter().copied().collect();
            for factor in factors {
                *counts.entry(factor).or_default() += 1;
            }
        }
        if counts.len() > FACTORS {
            return None;
        }
        // The first of those that most products have.
        let most = counts.values().copied().max();
        let common = counts.into_iter().find(|&(_, count)| Some(count) == most);
        let Some((common, _)) = common else {
            let number_of = sum.get(&Vec::new()).copied().unwrap_or(0);
            let fits = u64::try_from(number_of).ok().filter(|&it| it < BOUND);
            return fits.map(number);
        };
        // The sum is `common * quotient + rest`.
        let (mut quotient, mut rest) = (BTreeMap::new(), BTreeMap::new());
        for (product, &coefficient) in sum {
            let mut product = product.clone();
            match product.iter().position(|it| *it == common) {
                Some(place) => {
                    product.remove(place);
                    quotient.insert(product, coefficient);
                }
                None => _ = rest.insert(product, coefficient),
            }
        }
        let mut factor = Operand::Name(self.value(common)?);
        if quotient == rest {
            let operands = [factor, number(1)];
            factor = Operand::Name(self.emit(Type::B64, "add", &["s64"], operands));
            rest.clear();
        }
        let mut all = self.sum(&quotient)?;
        if let Operand::Integer(one) = &all
            && one.bits == 1
        {
            all = factor;
        } else {
            // Few extents fit 32 bits in any case.
            let most = quotient
                .iter()
                .try_fold(0u64, |most, (product, &coefficient)| {
                    let coefficient = u64::try_from(coefficient).ok()?;
                    let factor = match product[..] {
                        [] => 1,
                        [_] => BOUND,
                        _ => return None,
                    };
                    most.checked_add(coefficient.checked_mul(factor)?)
                });
            if most.is_none_or(|most| most > 2 * BOUND) {
                let whole = match all {
                    Operand::Name(_) => all.clone(),
                    _ => return None,
                };
                self.demand("lt", "u64", [whole, number(BOUND)]);
            }
            let factors = [all, factor].map(|factor| match factor {
                Operand::Name(_) => {
                    Operand::Name(self.emit(Type::B32, "cvt", &["u32", "u64"], [factor]))
                }
                other => other,
            });
            all = Operand::Name(self.emit(
                Type::B64,
                "mul",
                &["wide", "u32"],
                factors.into_iter().rev(),
            ));
        }
        if !rest.is_empty() {
            let rest = self.sum(&rest)?;
            all = Operand::Name(self.emit(Type::B64, "add", &["s64"], [all, rest]));
        }
        Some(all)
    }

    /// Returns the registers with the values of extents.
    pub fn extents(&self) -> Vec<&'a str> {
        let extents = self
            .values
            .iter()
            .filter(|(name, _)| self.extents.contains(*name));
        extents.map(|(_, &value)| value).collect()
    }

    /// Returns the last dimension of the grid of which the test can compare the number of threads or
    /// blocks with a number of elements.
    fn last_dimension(&mut self, cold: &[bool], loops: &[Loop<'a>]) -> Option<usize> {
        let strides = loops.iter().filter_map(|each| {
            let (_, stride, bound) = strided(self.graph, each)?;
            Some((stride, bound))
        });
        let sizes = compared_sizes(self.graph, cold, self.single).into_iter();
        let pairs: Vec<_> = strides
            .chain(sizes.map(|(_, size, bound, _)| (size, bound)))
            .collect();
        let mut last = None;
        for (size, bound) in pairs {
            let before = self.save();
            if self.value(size).is_some() && self.value(bound).is_some() {
                last = last.max(dimension_of(self.single, size));
            }
            self.restore(before);
        }
        last
    }

    /// Adds the condition under which a grid-stride loop has no second iteration, unless its counter
    /// wraps around. The stride must be computed from dimensions of the grid before `end`.
    fn covers(&mut self, each: &Loop<'a>, end: usize) -> Option<Covered<'a>> {
        let (counter, stride, bound) = strided(self.graph, each)?;
        if dimension_of(self.single, stride)? >= end {
            return None;
        }
        let before = self.save();
        let (Some(stride), Some(bound)) = (self.value(stride), self.value(bound)) else {
            self.restore(before);
            return None;
        };
        self.demand("ge", "u64", [stride, bound].map(Operand::Name));
        Some(Covered { counter, stride })
    }

    /// Demands that the grid has at least as many threads or blocks as there are elements wherever
    /// the kernel compares these, in the dimensions of the grid before `end`. Returns the results of
    /// the comparisons, and whether each is true.
    fn sizes(&mut self, cold: &[bool], end: usize) -> Vec<(&'a str, bool)> {
        let mut demanded = HashSet::default();
        let mut outcomes = Vec::new();
        for (result, size, bound, outcome) in compared_sizes(self.graph, cold, self.single) {
            if dimension_of(self.single, size).is_none_or(|dimension| dimension >= end) {
                continue;
            }
            let before = self.save();
            let (Some(size), Some(bound)) = (self.value(size), self.value(bound)) else {
                self.restore(before);
                continue;
            };
            if demanded.insert((size, bound)) {
                self.demand("ge", "u64", [size, bound].map(Operand::Name));
            }
            outcomes.push((result, outcome));
        }
        outcomes
    }

    /// Returns the instructions and the register with the condition.
    pub fn finish(self) -> Option<(Vec<Statement<'a>>, &'a str)> {
        Some((self.body, self.condition?))
    }
}

/// Returns whether two instructions without guards have the same sources.
fn computes_same(a: &Instruction<'_>, b: &Instruction<'_>) -> bool {
    let same = |pair: (&Operand<'_>, &Operand<'_>)| match pair {
        (Operand::Name(a), Operand::Name(b)) => a == b,
        (Operand::Integer(a), Operand::Integer(b)) => a == b,
        (Operand::Address(a, to), Operand::Address(b, at)) => (a, to) == (b, at),
        _ => false,
    };
    (a.opcode, &a.modifiers, a.operands.len()) == (b.opcode, &b.modifiers, b.operands.len())
        && a.operands.iter().zip(&b.operands).skip(1).all(same)
}

/// Replaces branches that depend on predicates with known values, and removes the blocks that are
/// not reached any more.
fn settle<'a>(graph: &mut Graph<'a>, blocks: &[Id], mut outcomes: HashMap<&'a str, bool>) {
    if outcomes.is_empty() {
        return;
    }
    let definitions = definitions(graph, &graph.cold());
    // Predicates that depend on them, and are not set elsewhere.
    loop {
        let before = outcomes.len();
        graph.visit(blocks.iter().copied(), &mut |it| {
            let known = |operand: &Operand<'a>| match operand {
                Operand::Name(name) => outcomes.get(name).copied(),
                _ => None,
            };
            let value = match (it.opcode, it.guard, &it.operands[..]) {
                ("and", None, [_, a, b]) => match (known(a), known(b)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (a, b) => a.and(b),
                },
                ("or", None, [_, a, b]) => match (known(a), known(b)) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (a, b) => a.and(b),
                },
                ("not", None, [_, a]) => known(a).map(|value| !value),
                _ => None,
            };
            if let (Some(value), Some(&Operand::Name(result))) = (value, it.operands.first())
                && definitions.get(result) == Some(&1)
            {
                outcomes.insert(result, value);
            }
        });
        if outcomes.len() == before {
            break;
        }
    }
    for &id in blocks {
        graph.settle(id, &outcomes);
    }
    graph.remove_unreachable();
}

/// Returns the counter, the step and the bound of a loop that continues while the counter is below
/// the bound after the step: three 64-bit registers. The step and the bound may be computed in each
/// iteration.
pub(super) fn strided<'a>(
    graph: &Graph<'a>,
    each: &Loop<'a>,
) -> Option<(&'a str, &'a str, &'a str)> {
    let End::Branch(guard, _, to, _) = graph.blocks[each.latch].end else {
        return None;
    };
    let (set, block, place) = each.definition(graph, guard.register)?;
    let below = Comparison::of(set, (to == each.header) != guard.negated)?;
    let below = match below.relation {
        Relation::Greater => below.swapped(),
        _ => below,
    };
    let (Operand::Name(next), Operand::Name(bound)) = (&below.left, &below.right) else {
        return None;
    };
    let (next, bound) = (*next, *bound);
    if below.relation != Relation::Less
        || (below.signed, below.bits) != (false, 64)
        || block != each.latch
    {
        return None;
    }
    // The sum is the counter itself, or is copied to it at the end of the iteration.
    let &(1, adds_in, adds_at) = each.written.get(next)? else {
        return None;
    };
    if !(adds_in == each.header || adds_in == each.latch) || (adds_in == block && adds_at > place) {
        return None;
    }
    let Statement::Instruction(sum) = &graph.blocks[adds_in].body[adds_at] else {
        return None;
    };
    let ("add", ["s64" | "u64"], None, [_, Operand::Name(a), Operand::Name(b)]) =
        (sum.opcode, &sum.modifiers[..], sum.guard, &sum.operands[..])
    else {
        return None;
    };
    let is_copy = |it: &Instruction<'_>| {
        matches!(
            (it.opcode, it.guard, &it.operands[..]),
            ("mov", None, [_, Operand::Name(from)]) if *from == next
        )
    };
    // Whether the register has the counter's value at the start of the iteration.
    let copies = |copy: &str| match each.definition(graph, copy) {
        Some((it, block, place)) if block == adds_in => is_copy(it) && place < adds_at,
        Some((it, block, _)) => is_copy(it) && block == each.header,
        None => false,
    };
    let moved_at_end = |counter: &str| match each.written.get(counter) {
        Some(&(1, block, place)) if block == each.latch => {
            let is_move = matches!(
                &graph.blocks[block].body[place],
                Statement::Instruction(it) if is_copy(it)
            );
            is_move && (block != adds_in || place > adds_at)
        }
        _ => false,
    };
    [(*a, *b), (*b, *a)].into_iter().find_map(|(from, stride)| {
        let counter = if from == next || copies(from) {
            next
        } else if moved_at_end(from) {
            from
        } else {
            return None;
        };
        Some((counter, stride, bound))
    })
}

/// Returns the comparisons of a number of threads or blocks of the grid with a number of elements:
/// the result, the two numbers, and the result if the first one is at least the second one.
fn compared_sizes<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    single: &HashMap<&'a str, Instruction<'a>>,
) -> Vec<(&'a str, &'a str, &'a str, bool)> {
    let mut compared = Vec::new();
    graph.visit(hot(graph, cold), &mut |it| {
        let Some(&Operand::Name(result)) = it.operands.first() else {
            return;
        };
        let comparison = Comparison::of(it, true);
        let Some((comparison, is_less)) = comparison.and_then(|it| it.by_less()) else {
            return;
        };
        if let (Operand::Name(size), Operand::Name(bound)) = (comparison.left, comparison.right)
            && (comparison.signed, comparison.bits) == (false, 64)
            && single.contains_key(result)
            && dimension_of(single, size).is_some()
            && dimension_of(single, bound).is_none()
        {
            compared.push((result, size, bound, !is_less));
        }
    });
    compared
}

/// Returns the last dimension of the grid whose number of blocks a register is computed from, by at
/// most [`STEPS`] instructions.
fn dimension_of(single: &HashMap<&str, Instruction<'_>>, register: &str) -> Option<usize> {
    // Each register once: the number of paths to it grows exponentially.
    let mut seen = HashSet::from_iter([register]);
    let mut level = vec![register];
    let mut last = None;
    for _ in 0..=STEPS {
        for name in &level {
            let dimension = SIZES[SIZES.len() - DIMENSIONS..]
                .iter()
                .position(|it| it == name);
            last = last.max(dimension);
        }
        let mut next = Vec::new();
        for it in level.into_iter().filter_map(|name| single.get(name)) {
            for operand in it.operands.iter().skip(1) {
                visit_operand(operand, &mut |name| {
                    if seen.insert(name) {
                        next.push(name);
                    }
                });
            }
        }
        level = next;
    }
    last
}

/// Copies all blocks, with new registers; pairs of `equal` registers are one register in the copy.
/// Returns the copy of each block and of each register.
fn copy<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    equal: &[(&'a str, &'a str)],
) -> (HashMap<Id, Id>, HashMap<&'a str, &'a str>) {
    let originals = graph.order.clone();
    let first = graph.blocks.len();
    let ids: HashMap<Id, Id> = (originals.iter().enumerate())
        .map(|(index, &id)| (id, first + index))
        .collect();
    let mut renamed: HashMap<&'a str, &'a str> = HashMap::default();
    for &(other, first) in equal {
        let first = new(graph, names, &mut renamed, first);
        renamed.insert(other, first);
    }
    for id in originals {
        let Block { body, mut end, .. } = graph.blocks[id].clone();
        let mut copied = Vec::with_capacity(body.len());
        for mut statement in body {
            let is_equal = |name: &str| equal.iter().any(|(other, _)| *other == name);
            match &statement {
                Statement::Label(_) => continue,
                Statement::Instruction(it) if matches!(it.operands[..], [Operand::Name(name), _] if is_equal(name)) =>
                {
                    continue;
                }
                _ => {}
            }
            rename_all(
                graph,
                names,
                &mut statement,
                &mut renamed,
                &HashSet::default(),
            );
            copied.push(statement);
        }
        match &mut end {
            End::Branch(guard, ..) => {
                guard.register = new(graph, names, &mut renamed, guard.register)
            }
            End::Leave(it) | End::Switch(it, _) => {
                rename(it, &mut |name| new(graph, names, &mut renamed, name));
            }
            End::Jump(..) | End::Never => {}
        }
        end.retarget(&|to| ids[&to]);
        let label = names.label();
        let body = copied;
        graph.add(Block { label, body, end }, None);
    }
    (ids, renamed)
}

/// Returns the register of the copy for a register, and other names unchanged.
fn new<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    renamed: &mut HashMap<&'a str, &'a str>,
    name: &'a str,
) -> &'a str {
    if let Some(&known) = renamed.get(name) {
        return known;
    }
    let Some(ty) = graph.type_of(name) else {
        return name;
    };
    let register = graph.register(ty, names);
    renamed.insert(name, register);
    register
}

/// Renames the registers of a statement. `own` are those that a nested block declares.
fn rename_all<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    statement: &mut Statement<'a>,
    renamed: &mut HashMap<&'a str, &'a str>,
    own: &HashSet<&'a str>,
) {
    match statement {
        Statement::Instruction(it) => rename(it, &mut |name| {
            let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
            match own.contains(name) || own.contains(prefix) {
                true => name,
                false => new(graph, names, renamed, name),
            }
        }),
        Statement::Block(inner) => {
            let mut own = own.clone();
            for statement in inner.iter() {
                if let Statement::Registers(registers) = statement {
                    own.extend(registers.names.iter().map(|&(name, _)| name));
                }
            }
            for statement in inner {
                rename_all(graph, names, statement, renamed, &own);
            }
        }
        _ => {}
    }
}
