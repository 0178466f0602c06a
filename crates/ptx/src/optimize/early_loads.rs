//! Starts loads of slice parameters before a branch that others would wait for.
//!
//! A kernel that does little more than load an element per thread takes as long as the latencies of
//! the load and of the test at its entry, one after the other. And of `a[i[x]] * b[j[x]]`, the load
//! of `j[x]` comes after the check of `i[x]`, which waits for memory. Loads of slice parameters can
//! overlap with both: each gets a predicate of its own that its index is below the length, so it is
//! in bounds whatever the outcome of the test or of the check.

use crate::hash::{HashMap, HashSet};

use super::bounds;
use super::flow::{Block, End, Graph, Id, Shape};
use super::instructions::{is_parameter, is_pure, results, sources};
use super::loops::Comparison;
use super::names::Names;
use super::specialize::{Special, is_fast, single_definitions};
use super::version::number;
use super::{Check, check_of, literal, words};
use crate::{Base, Guard, Instruction, Operand, Slice, Statement, Type};

/// The maximum number of instructions of the copied body. Other warps hide the latencies of more.
const LARGEST: usize = 100;

/// The maximum number of different indices of the loads.
const INDICES: usize = 3;

/// The maximum number of 32-bit words of the loads.
const WORDS: usize = 8;

/// A load of an element of a slice: element `index * count` and those after it, `count` in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Element<'a> {
    /// The 32-bit register with the index.
    index: &'a str,
    /// The parameter with the length.
    length: usize,
    count: u64,
}

/// Moves loads to the entry. [`specialize::start_early`](super::specialize::start_early) has moved
/// what precedes them.
pub(super) fn start<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    slices: &[&Slice],
) {
    let cold = graph.cold();
    let Some(&entry) = graph.order.first() else {
        return;
    };
    let Some(blocks) = chain(graph, &cold, special) else {
        return;
    };
    let hot = special.blocks(graph).into_iter().filter(|&id| !cold[id]);
    let mut instructions = 0;
    graph.visit(hot, &mut |it| {
        instructions += usize::from(!matches!(it.opcode, "cvt" | "mov"))
    });
    if instructions > LARGEST {
        return;
    }
    let single = single_definitions(graph, &cold);
    let mut found: Vec<(Id, usize, Element<'a>)> = Vec::new();
    let mut inside: HashMap<&'a str, (Id, usize)> = HashMap::default();
    let mut loaded = HashSet::default();
    let mut size = 0;
    'blocks: for &id in &blocks {
        for (place, statement) in graph.blocks[id].body.iter().enumerate() {
            let it = match statement {
                Statement::Instruction(it) => it,
                Statement::Loc(_) | Statement::Label(_) => continue,
                _ => break 'blocks,
            };
            if it.opcode == "ld" && it.modifiers.starts_with(&["global"]) {
                if let Some(element) = element(it, &single, slices)
                    && can_move(it, &single, &inside, graph)
                {
                    size += words(it);
                    found.push((id, place, element));
                    results(it, &mut |name| _ = loaded.insert(name));
                    continue;
                }
                let mut read = Vec::new();
                sources(it, &mut |name| read.push(name));
                if depends_on(read, &loaded, &single) {
                    break 'blocks;
                }
                // The test delays this load anyway.
                return;
            } else if !is_pure(it) && !is_parameter(it) {
                break 'blocks;
            }
            results(it, &mut |name| _ = inside.insert(name, (id, place)));
        }
    }
    let indices: HashSet<Element<'a>> = found.iter().map(|&(.., element)| element).collect();
    if found.is_empty() || size > WORDS || indices.len() > INDICES {
        return;
    }
    let tested = tested(special, &single);
    hoist(
        graph,
        names,
        entry,
        &blocks,
        &found,
        &inside,
        slices,
        &tested,
        &HashSet::default(),
    );
}

/// Moves loads before checks that depend on other loads, in the copied body.
pub(super) fn start_before_checks<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    special: &Special<'a>,
    slices: &[&Slice],
) {
    let shape = graph.shape();
    let single = single_definitions(graph, &shape.cold);
    let tested = tested(special, &single);
    let blocks: HashSet<Id> = special.blocks(graph).into_iter().collect();
    let order: Vec<Id> = (graph.order.iter().copied())
        .filter(|id| blocks.contains(id) && !shape.cold[*id])
        .collect();
    for id in order {
        let Some(check) = check_of(graph, &shape.cold, id) else {
            continue;
        };
        if !depends_on_load(graph, &single, id, check.register) {
            continue;
        }
        // The blocks that only follow this one.
        let mut chain = Vec::new();
        let mut next = Some(check.passes);
        while let Some(to) = next
            && shape.predecessors[to].len() == 1
            && to != id
            && !chain.contains(&to)
        {
            chain.push(to);
            next = match graph.blocks[to].end {
                End::Jump(to, _) => Some(to),
                _ => check_of(graph, &shape.cold, to).map(|check| check.passes),
            };
        }
        let (mut found, mut inside) = (Vec::new(), HashMap::default());
        let mut size = 0;
        let mut indices: HashSet<Element<'a>> = HashSet::default();
        'chain: for &block in &chain {
            for (place, statement) in graph.blocks[block].body.iter().enumerate() {
                let it = match statement {
                    Statement::Instruction(it) => it,
                    Statement::Loc(_) | Statement::Label(_) => continue,
                    _ => break 'chain,
                };
                if it.opcode == "ld" && it.modifiers.starts_with(&["global"]) {
                    if let Some(element) = element(it, &single, slices)
                        && can_move(it, &single, &inside, graph)
                        && !depends_on_load(graph, &single, id, element.index)
                        && size + words(it) <= WORDS
                        && (indices.contains(&element) || indices.len() < INDICES)
                    {
                        size += words(it);
                        indices.insert(element);
                        found.push((block, place, element));
                        continue;
                    }
                } else if !is_pure(it) && !is_parameter(it) {
                    break 'chain;
                }
                results(it, &mut |name| _ = inside.insert(name, (block, place)));
            }
        }
        let limits = limits(graph, &shape.predecessors, &single, special, id);
        let is_within = |element: &Element<'a>| {
            let length = parameter_name(slices, element.length);
            let index = origin(&single, element.index, |_| false);
            element.count == 1
                && limits.iter().any(|&(below, extent)| {
                    let mut parameters = special.within.iter();
                    below == index
                        && (single.get(extent).and_then(bounds::parameter) == Some(length.as_str())
                            || parameters.any(|&it| it == (extent, length.as_str())))
                })
        };
        let within = indices.iter().copied().filter(is_within).collect();
        hoist(
            graph, names, id, &chain, &found, &inside, slices, &tested, &within,
        );
    }
}

/// Lets one branch lead to the panics of two checks that only wait for loads of the same block. ptxas
/// moves a load that only the second one needs behind the branch of the first one.
pub(super) fn combine_checks<'a>(graph: &mut Graph<'a>, names: &'a Names, special: &Special<'a>) {
    let mut shape = graph.shape();
    let mut single = single_definitions(graph, &shape.cold);
    for id in special.blocks(graph) {
        while !shape.cold[id]
            && let Some(first) = check_of(graph, &shape.cold, id)
            && depends_on_load(graph, &single, id, first.register)
            && let Some((between, second)) = next_check(graph, &shape, &single, id, first.passes)
            && depends_on_load(graph, &single, id, second.register)
        {
            let mut body = std::mem::take(&mut graph.blocks[id].body);
            for block in between {
                body.append(&mut graph.blocks[block].body);
            }
            let passes = [first, second].map(|it| literal(graph, names, &mut body, it.passes()));
            let both = graph.and(names, &mut body, passes);
            let guard = |register| Guard {
                register,
                negated: true,
            };
            let fails = graph.add(
                Block {
                    label: names.label(),
                    body: Vec::new(),
                    end: End::Branch(guard(passes[0]), false, first.fails, second.fails),
                },
                None,
            );
            graph.blocks[id].body = body;
            graph.blocks[id].end = End::Branch(guard(both), false, fails, second.passes);
            graph.remove_unreachable();
            shape = graph.shape();
            single = single_definitions(graph, &shape.cold);
        }
    }
}

/// Returns the next check after a block, if the threads that pass its own, and only they, go to `start`
/// and only compute values before it, and the blocks in which they do.
fn next_check<'a>(
    graph: &Graph<'a>,
    shape: &Shape,
    single: &HashMap<&'a str, Instruction<'a>>,
    block: Id,
    start: Id,
) -> Option<(Vec<Id>, Check<'a>)> {
    let (mut blocks, mut at) = (Vec::new(), start);
    while shape.predecessors[at].len() == 1 && at != block && !blocks.contains(&at) {
        let computes = |statement: &Statement<'a>| match statement {
            Statement::Instruction(it) => {
                let mut is_single = true;
                results(it, &mut |name| is_single &= single.contains_key(name));
                is_single && (is_pure(it) || is_parameter(it))
            }
            statement => matches!(statement, Statement::Loc(_) | Statement::Label(_)),
        };
        if !graph.blocks[at].body.iter().all(computes) {
            return None;
        }
        blocks.push(at);
        match graph.blocks[at].end {
            End::Jump(to, _) => at = to,
            _ => return Some((blocks, check_of(graph, &shape.cold, at)?)),
        }
    }
    None
}

/// Returns the pairs of an index and an extent above it of the branches before a block.
fn limits<'a>(
    graph: &Graph<'a>,
    predecessors: &[Vec<Id>],
    single: &HashMap<&'a str, Instruction<'a>>,
    special: &Special<'a>,
    block: Id,
) -> Vec<(&'a str, &'a str)> {
    let mut limits = Vec::new();
    let (mut seen, mut at) = (HashSet::from_iter([block]), block);
    while let [before] = predecessors[at][..]
        && seen.insert(before)
    {
        if let End::Branch(guard, _, then, otherwise) = &graph.blocks[before].end
            && then != otherwise
            && let Some(set) = single.get(guard.register)
            && let Some(it) = Comparison::of(set, (*then == at) != guard.negated)
            && let Some((it, true)) = it.by_less()
            && let (Operand::Name(index), Operand::Name(extent)) = (it.left, it.right)
            && !it.signed
        {
            // The lower half of an extent is the extent.
            let is_extent = |name| special.extents.contains(name);
            limits.push((
                origin(single, index, |_| false),
                origin(single, extent, is_extent),
            ));
        }
        at = before;
    }
    limits
}

/// Returns the register of which another one is a copy or a conversion that keeps the value: one of 32
/// bits, or one of 64 bits that is known to fit 32.
fn origin<'a>(
    single: &HashMap<&'a str, Instruction<'a>>,
    mut register: &'a str,
    fits: impl Fn(&'a str) -> bool,
) -> &'a str {
    while let Some(it) = single.get(register)
        && let [_, Operand::Name(from)] = it.operands[..]
        && it.guard.is_none()
        && single.contains_key(from)
        && match (it.opcode, &it.modifiers[..]) {
            ("mov", _) | ("cvt", ["u64", "u32"]) => true,
            ("cvt", ["u32", "u64"]) => fits(from),
            _ => false,
        }
    {
        register = from;
    }
    register
}

/// Returns the name of a parameter of the slices' kernel.
pub(super) fn parameter_name(slices: &[&Slice], index: usize) -> String {
    let kernel = slices.first().map_or("", |slice| &slice.kernel);
    format!("{kernel}_param_{index}")
}

/// Returns whether a register depends on a load from global memory in a block.
fn depends_on_load<'a>(
    graph: &Graph<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
    block: Id,
    register: &'a str,
) -> bool {
    let mut loaded: HashSet<&'a str> = HashSet::default();
    graph.visit([block], &mut |it| {
        if it.opcode == "ld" && it.modifiers.starts_with(&["global"]) {
            results(it, &mut |name| _ = loaded.insert(name));
        }
    });
    depends_on(vec![register], &loaded, single)
}

/// Returns whether one of the registers `pending` is, or is computed from, one of `registers`.
fn depends_on<'a>(
    mut pending: Vec<&'a str>,
    registers: &HashSet<&'a str>,
    single: &HashMap<&'a str, Instruction<'a>>,
) -> bool {
    let mut seen: HashSet<&'a str> = pending.iter().copied().collect();
    while let Some(name) = pending.pop() {
        if registers.contains(name) {
            return true;
        }
        if let Some(it) = single.get(name) {
            sources(it, &mut |name| {
                if seen.insert(name) {
                    pending.push(name);
                }
            });
        }
    }
    false
}

/// Returns the parameters whose values the kernel's test bounds.
fn tested<'a>(
    special: &Special<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
) -> HashSet<&'a str> {
    let parameter = |register: &&'a str| bounds::parameter(single.get(register)?);
    special.extents.iter().filter_map(parameter).collect()
}

/// Moves loads, and the instructions that compute their addresses, from blocks to the end of
/// another, where the elements `within` are within their slices.
#[expect(clippy::too_many_arguments)]
fn hoist<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    to: Id,
    blocks: &[Id],
    found: &[(Id, usize, Element<'a>)],
    inside: &HashMap<&'a str, (Id, usize)>,
    slices: &[&Slice],
    tested: &HashSet<&'a str>,
    within: &HashSet<Element<'a>>,
) {
    // The instructions that compute the addresses, and the loads, in order.
    let mut moved: Vec<(Id, usize)> = found.iter().map(|&(id, place, _)| (id, place)).collect();
    let mut next = 0;
    while let Some(&(id, place)) = moved.get(next) {
        next += 1;
        if let Statement::Instruction(it) = &graph.blocks[id].body[place] {
            sources(it, &mut |name| {
                if let Some(&at) = inside.get(name)
                    && !moved.contains(&at)
                {
                    moved.push(at);
                }
            });
        }
    }
    let mut body = std::mem::take(&mut graph.blocks[to].body);
    let mut predicates: HashMap<Element<'a>, &'a str> = HashMap::default();
    for &id in blocks {
        let mut stay = Vec::new();
        for (place, statement) in std::mem::take(&mut graph.blocks[id].body)
            .into_iter()
            .enumerate()
        {
            if !moved.contains(&(id, place)) {
                stay.push(statement);
                continue;
            }
            let load = found
                .iter()
                .find(|&&(block, at, _)| (block, at) == (id, place));
            match (statement, load) {
                (Statement::Instruction(mut it), Some(&(.., element)))
                    if !within.contains(&element) =>
                {
                    let predicate = *predicates.entry(element).or_insert_with(|| {
                        in_bounds(graph, names, &mut body, element, slices, tested)
                    });
                    it.guard = Some(Guard::new(predicate));
                    body.push(Statement::Instruction(it));
                }
                (statement, _) => body.push(statement),
            }
        }
        graph.blocks[id].body = stay;
    }
    graph.blocks[to].body = body;
}

/// Returns the blocks that each thread with an element passes first, in order.
fn chain(graph: &Graph<'_>, cold: &[bool], special: &Special<'_>) -> Option<Vec<Id>> {
    let &entry = graph.order.first()?;
    let End::Branch(_, _, start, general) = graph.blocks[entry].end else {
        return None;
    };
    let plain = |statement: &Statement<'_>| matches!(statement, Statement::Loc(_));
    if general != special.general || !graph.blocks[start].body.iter().all(plain) {
        return None;
    }
    let predecessors = graph.predecessors();
    let mut blocks = vec![start];
    let mut at = start;
    loop {
        let returns = |id: Id| {
            matches!(graph.blocks[id].end, End::Leave(_)) && graph.blocks[id].body.iter().all(plain)
        };
        let mut targets = graph.blocks[at].end.targets().to_vec();
        targets.retain(|&to| !cold[to] && !returns(to));
        match targets[..] {
            [to] if predecessors[to].len() == 1 && !blocks.contains(&to) => {
                blocks.push(to);
                at = to;
            }
            _ => return Some(blocks),
        }
    }
}

/// Returns the element that a load reads, if the load is in bounds exactly if the element is.
fn element<'a>(
    load: &Instruction<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
    slices: &[&Slice],
) -> Option<Element<'a>> {
    let plain = ["global", "nc", "v2", "v4"];
    let (ty, modifiers) = load.modifiers.split_last()?;
    if load.guard.is_some() || !modifiers.iter().all(|it| plain.contains(it)) {
        return None;
    }
    let Operand::Address(Base::Name(address), mut offset) = *load.operands.get(1)? else {
        return None;
    };
    let lanes = match modifiers.last() {
        Some(&"v2") => 2,
        Some(&"v4") => 4,
        _ => 1,
    };
    let bytes = lanes * i64::from(Type::from_name(ty)?.bytes());
    // The base and the scaled index.
    let mut sum = address;
    let (base, scaled) = loop {
        let it = single.get(sum).filter(|it| it.opcode == "add")?;
        match it.operands[..] {
            [_, Operand::Name(a), Operand::Name(b)] => break (a, b),
            [_, Operand::Name(a), Operand::Integer(integer)] => {
                offset = offset.checked_add(integer.bits as i64)?;
                sum = a;
            }
            _ => return None,
        }
    };
    let scaled = single.get(scaled)?;
    let ("mul", ["wide", "u32"], [_, Operand::Name(index), Operand::Integer(scale)]) =
        (scaled.opcode, &scaled.modifiers[..], &scaled.operands[..])
    else {
        return None;
    };
    let parameter = |name: &'a str, conversion: &str| {
        let mut it = single.get(name)?;
        while matches!(it.opcode, "mov") || it.opcode == conversion {
            let [_, Operand::Name(from)] = it.operands[..] else {
                return None;
            };
            it = single.get(from)?;
        }
        match it.operands[..] {
            [_, Operand::Address(Base::Name(name), 0)] if is_parameter(it) => Some(name),
            _ => None,
        }
    };
    let pointer = parameter(base, "cvta")?;
    let slice = slices
        .iter()
        .find(|slice| pointer == format!("{}_param_{}", slice.kernel, slice.pointer))?;
    let scale = i64::try_from(scale.bits).ok()?;
    let element = i64::try_from(slice.element).ok().filter(|&it| it > 0)?;
    // The load reads a part of the last element.
    let last = offset >= 0 && offset + bytes <= scale && offset + bytes > scale - element;
    let count = (scale / element) as u64;
    (last && scale % element == 0 && count.is_power_of_two()).then_some(Element {
        index,
        length: slice.length,
        count,
    })
}

/// Returns whether a load and the instructions that compute its address in the chain can be moved.
fn can_move<'a>(
    load: &Instruction<'a>,
    single: &HashMap<&'a str, Instruction<'a>>,
    inside: &HashMap<&'a str, (Id, usize)>,
    graph: &Graph<'a>,
) -> bool {
    let mut movable = true;
    results(load, &mut |name| movable &= single.contains_key(name));
    let mut pending = Vec::new();
    sources(load, &mut |name| pending.push(name));
    while let Some(name) = pending.pop() {
        let Some(&(id, place)) = inside.get(name) else {
            continue;
        };
        match &graph.blocks[id].body[place] {
            Statement::Instruction(it) if is_fast(it) && single.contains_key(name) => {
                sources(it, &mut |name| pending.push(name));
            }
            _ => return false,
        }
    }
    movable
}

/// Appends the predicate that an element is within its slice.
fn in_bounds<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    body: &mut Vec<Statement<'a>>,
    element: Element<'a>,
    slices: &[&Slice],
    tested: &HashSet<&'a str>,
) -> &'a str {
    let parameter = names.name(&parameter_name(slices, element.length));
    let address = [Operand::Address(Base::Name(parameter), 0)];
    let mut length = graph.emit(names, body, Type::B64, "ld", &["param", "u64"], address);
    let (mut index, mut ty, mut bits) = (element.index, Type::B32, "u32");
    if tested.contains(parameter) {
        // The lower half is at most the length, and in the copy the same.
        let whole = [Operand::Name(length)];
        length = graph.emit(names, body, ty, "cvt", &["u32", "u64"], whole);
    } else {
        // The length may be 2³² or more, so that each index is less.
        let low = [Operand::Name(index)];
        (ty, bits) = (Type::B64, "u64");
        index = graph.emit(names, body, ty, "cvt", &["u64", "u32"], low);
    }
    if element.count > 1 {
        let operands = [
            Operand::Name(length),
            number(element.count.trailing_zeros().into()),
        ];
        length = graph.emit(names, body, ty, "shr", &[bits], operands);
    }
    let operands = [index, length].map(Operand::Name);
    graph.emit(names, body, Type::Pred, "setp", &["lt", bits], operands)
}
