//! Runs several iterations at once of a loop whose checks depend on loaded values.
//!
//! In `for k in a..b { sum += x[indices[k]] }` the index of one iteration must be loaded and
//! checked before the next iteration can begin, so only one load is in flight at a time. This pass
//! puts the loads and checks of four iterations first. If a check fails, no effect has happened
//! yet, and the loop continues one iteration at a time. In a loop that writes memory, as one that counts
//! in a histogram, these loads must be of memory that no instruction of the kernel writes.
//!
//! A load that is moved before a check may run only if it cannot fault. Code before the loop tests
//! this: the addresses of the load in all iterations must be within a slice that is a parameter of
//! the kernel.
//!
//! A loop may exchange values among the lanes of a warp, if all lanes run the same iterations. Then
//! they also continue in the same loop: a vote decides, because lanes that run iterations again wait
//! for the others at the exchange.

use crate::hash::{HashMap, HashSet};

use super::arrivals::{are_together, has_whole_rows, is_shuffle};
use super::divisions::is_constant;
use super::flow::{Block, End, Graph, Id};
use super::instructions::{has_effect, instructions, is_pure, rename, results, sources};
use super::loops::{Relation, Step, Which};
use super::version::{Ahead, number};
use super::{Check, bytes_of, check_of};
use crate::rewrite::instruction;
use crate::{Base, Function, Guard, Instruction, Operand, Slice, Statement, Type};

/// The number of iterations that run at once.
const ITERATIONS: usize = 4;

/// The maximum number of instructions of a loop that writes memory.
const LARGEST: usize = 64;

/// The maximum step of the counter.
const LONGEST: i64 = 1 << 20;

/// The instructions of the unrolled loop and their order.
pub(super) struct Plan<'a> {
    /// The loop's blocks, in execution order.
    row: Vec<Id>,
    /// The instructions that the checks need, and others that do not depend on the checks.
    early: Places,
    /// Whether there are others.
    starts_others: bool,
    /// The checks.
    checks: Vec<(Id, Check<'a>)>,
    /// Whether all lanes of a warp must continue together, because they exchange values.
    together: bool,
    /// Whether they only do if the rows of the block consist of whole warps.
    in_row: bool,
    counter: &'a str,
    bits: u32,
    /// The absolute value of the step.
    step: u64,
    /// Whether the counter counts down.
    down: bool,
    bound: Operand<'a>,
}

impl<'a> Plan<'a> {
    /// Returns the operands of the subtraction whose result is the distance to the bound.
    fn distance(&self) -> [Operand<'a>; 2] {
        let (bound, counter) = (self.bound.clone(), Operand::Name(self.counter));
        match self.down {
            true => [counter, bound],
            false => [bound, counter],
        }
    }
}

/// Determines whether the loop can be unrolled, and adds the conditions for it. `removed` are the
/// checks that are known to pass. `kernel` is given if the loop has shuffles.
pub(super) fn plan<'a>(
    ahead: &mut Ahead<'_, 'a>,
    cold: &[bool],
    removed: &HashMap<Id, Id>,
    slices: &[&Slice],
    kernel: Option<&Function<'a>>,
) -> Option<Plan<'a>> {
    let each = ahead.each;
    let (counter, which, compared) = each.condition(ahead.graph, ahead.counters)?;
    let trip = ahead.trip.clone()?;
    let (step, down, bound) = match (counter.step, compared.relation) {
        (Step::Constant(step @ 1..=LONGEST), Relation::Less | Relation::NotEqual) => {
            (step, false, trip.bound?)
        }
        (Step::Constant(-1), Relation::Greater | Relation::NotEqual) => (1, true, compared.right),
        _ => return None,
    };
    if which != Which::Next {
        return None;
    }
    // The blocks must form a straight line.
    let mut row = vec![each.header];
    let mut checks = Vec::new();
    while let Some(&last) = row.last().filter(|&&last| last != each.latch) {
        let check = check_of(ahead.graph, cold, last);
        let next = match (&ahead.graph.blocks[last].end, check) {
            (End::Jump(next, _), _) => *next,
            (_, Some(check)) => {
                if !removed.contains_key(&last) {
                    checks.push((last, check));
                }
                check.passes
            }
            _ => return None,
        };
        if row.contains(&next) || !each.contains(next) {
            return None;
        }
        row.push(next);
    }
    if row.len() != each.blocks.len() || checks.is_empty() {
        return None;
    }
    let (mut size, mut writes) = (0, false);
    for &id in &row {
        for statement in &ahead.graph.blocks[id].body {
            match statement {
                Statement::Instruction(it) if it.guard.is_none() => {
                    size += 1;
                    writes |= has_effect(it);
                }
                Statement::Loc(_) | Statement::Label(_) => {}
                _ => return None,
            }
        }
    }
    if writes && (size > LARGEST || kernel.is_some()) {
        return None;
    }
    let known = kernel.and_then(has_whole_rows);
    if kernel.is_some() {
        // The number of iterations that remain.
        let registers = [counter.register, name(&bound)];
        if !are_together(ahead.graph, cold, known.unwrap_or(true), &row, &registers) {
            return None;
        }
    }
    let mut registers: Vec<&str> = checks.iter().map(|(_, check)| check.register).collect();
    // The counters of the next iterations.
    registers.extend(ahead.counters.iter().map(|counter| counter.register));
    let (mut early, loads) = needed(ahead, registers)?;
    if writes && (loads.is_empty() || !read_constants(ahead, &early)) {
        return None;
    }
    for load in loads {
        demand_in_slice(ahead, cold, load, slices)?;
    }
    let starts_others = start_others(ahead, cold, &row, writes, &mut early, slices);
    Some(Plan {
        row,
        early,
        starts_others,
        checks,
        together: kernel.is_some(),
        in_row: kernel.is_some() && known.is_none(),
        counter: counter.register,
        bits: counter.bits,
        step: step as u64,
        down,
        bound,
    })
}

/// A load: the register with the address, the offset, and the size in bytes.
type Load<'a> = (&'a str, i64, u64);

/// Instructions, by block and position.
type Places = HashSet<(Id, usize)>;

/// Starts other loads of the iterations together with those that the checks need, so that they do not
/// wait for these: loads of elements of other parts of slices with the same index. Returns whether
/// there are any. If the loop `writes`, they must be of memory that no instruction writes.
fn start_others<'a>(
    ahead: &mut Ahead<'_, 'a>,
    cold: &[bool],
    row: &[Id],
    writes: bool,
    early: &mut Places,
    slices: &[&Slice],
) -> bool {
    let mut loaded = Vec::new();
    for &id in row {
        for (place, statement) in ahead.graph.blocks[id].body.iter().enumerate() {
            if let Statement::Instruction(it) = statement
                && let ("ld", Some(&Operand::Name(result))) = (it.opcode, it.operands.first())
                && !early.contains(&(id, place))
            {
                loaded.push(result);
            }
        }
    }
    let mut found = false;
    for result in loaded {
        let Some((places, loads)) = needed(ahead, vec![result]) else {
            continue;
        };
        if let [load] = loads[..]
            && (!writes || read_constants(ahead, &places))
            && ahead
                .attempt(|ahead| demand_in_part(ahead, cold, load, slices))
                .is_some()
        {
            early.extend(places);
            found = true;
        }
    }
    found
}

/// Returns whether all loads among instructions are of memory that no instruction of the kernel writes.
fn read_constants(ahead: &Ahead<'_, '_>, places: &Places) -> bool {
    places
        .iter()
        .all(|&(id, place)| match &ahead.graph.blocks[id].body[place] {
            Statement::Instruction(it) => it.opcode != "ld" || is_constant(it),
            _ => true,
        })
}

/// Returns the instructions that compute registers, and the loads among them.
fn needed<'a>(ahead: &Ahead<'_, 'a>, mut left: Vec<&'a str>) -> Option<(Places, Vec<Load<'a>>)> {
    let each = ahead.each;
    let mut early = HashSet::default();
    let mut loads = Vec::new();
    while let Some(name) = left.pop() {
        let Some(&(times, block, place)) = each.written.get(name) else {
            continue;
        };
        if times != 1 || !early.insert((block, place)) {
            if times != 1 {
                return None;
            }
            continue;
        }
        let Statement::Instruction(it) = &ahead.graph.blocks[block].body[place] else {
            return None;
        };
        let is_counter = ahead.counters.iter().any(|c| c.register == name);
        if !is_counter && !each.is_defined_once(it) {
            return None;
        }
        if it.opcode == "ld" {
            if !ahead.is_current(it, name) {
                return None;
            }
            let [_, Operand::Address(Base::Name(address), offset)] = it.operands[..] else {
                return None;
            };
            Type::from_name(it.modifiers.last()?)?;
            let known = ["global", "nc", "L1", "L2", "v2", "v4"];
            let plain = |modifier: &&str| known.contains(modifier);
            if !it.modifiers[..it.modifiers.len() - 1].iter().all(plain) {
                return None;
            }
            loads.push((address, offset, bytes_of(it) as u64));
        } else if !is_pure(it) && !is_shuffle(it) {
            return None;
        }
        sources(it, &mut |name| left.push(name));
    }
    Some((early, loads))
}

/// Adds the condition that the addresses of a load are within a slice parameter.
fn demand_in_slice<'a>(
    ahead: &mut Ahead<'_, 'a>,
    cold: &[bool],
    load: Load<'a>,
    slices: &[&Slice],
) -> Option<()> {
    for demand in [demand_in_part, demand_from_start] {
        if let Some(()) = ahead.attempt(|ahead| demand(ahead, cold, load, slices)) {
            return Some(());
        }
    }
    let (address, offset, bytes) = load;
    let (pointer, length, slice) = slice_of(ahead, cold, address, slices)?;
    let offset = u64::try_from(offset)
        .ok()
        .filter(|&offset| offset < 1 << 20)?;
    let range = ahead.range(address, 64)?;
    let base = parameter(ahead, pointer);
    let base = ahead.emit(Type::B64, "cvta", &["to", "global", "u64"], [base]);
    let length = parameter(ahead, length);
    let size = ahead.emit64("mul", &["lo", "s64"], &length, &number(slice.element));
    let end = ahead.emit64("add", &["s64"], &base, &size);
    ahead.demand("ge", "u64", &range.lowest, &base);
    ahead.demand("le", "u64", &range.highest, &end);
    let last = ahead.emit64("add", &["s64"], &range.highest, &number(offset + bytes));
    ahead.demand("le", "u64", &last, &end);
    Some(())
}

/// Adds the condition that a load is one of elements of a part of a slice parameter, whose index in
/// the part is the loop's counter.
fn demand_in_part<'a>(
    ahead: &mut Ahead<'_, 'a>,
    cold: &[bool],
    load: Load<'a>,
    slices: &[&Slice],
) -> Option<()> {
    let (pointer, length, element) = elements_of(ahead, cold, load, slices)?;
    let (start, bound) = part(ahead, cold, load.0, element, pointer)?;
    // Element `start + i` of the slice, for all `i` below the bound.
    let length = parameter(ahead, length);
    ahead.demand("le", "u64", &start, &length);
    let rest = ahead.emit64("sub", &["s64"], &length, &start);
    ahead.demand("le", "u64", &bound, &rest);
    Some(())
}

/// Adds the condition that a load is one of consecutive elements of a slice parameter, as an iterator
/// over a part of a slice visits them.
fn demand_from_start<'a>(
    ahead: &mut Ahead<'_, 'a>,
    cold: &[bool],
    load: Load<'a>,
    slices: &[&Slice],
) -> Option<()> {
    let (pointer, length, element) = elements_of(ahead, cold, load, slices)?;
    let mut register = load.0;
    let counter = loop {
        if let Some(counter) = ahead.counters.iter().find(|it| it.register == register) {
            break counter;
        }
        let (it, ..) = ahead.each.definition(ahead.graph, register)?;
        match (it.opcode, it.guard, &it.operands[..]) {
            ("mov", None, &[_, Operand::Name(from)]) if ahead.is_current(it, register) => {
                register = from;
            }
            _ => return None,
        }
    };
    match counter.step {
        Step::Constant(step) if step as u64 == element && counter.bits == 64 => {}
        _ => return None,
    }
    let first = first_value(ahead, cold, counter.register)?;
    let start = start_of_result(ahead.graph, cold, first, element, pointer)?;
    // The register has the value from which the address was computed.
    if let Some((Operand::Name(name), _)) = start {
        only_definition(ahead.graph, cold, name)?;
    }
    let start = widened_start(ahead, start);
    let times = ahead.trip.clone()?.times?;
    // Elements `start` to `start + times`.
    let length = parameter(ahead, length);
    ahead.demand("le", "u64", &start, &length);
    let rest = ahead.emit64("sub", &["s64"], &length, &start);
    ahead.demand("lt", "u64", &times, &rest);
    Some(())
}

/// Returns the names of the parameters with the address and the length of the slice that a load reads,
/// and the size of its elements, if the load reads no more than an element from its address on.
fn elements_of<'a>(
    ahead: &Ahead<'_, 'a>,
    cold: &[bool],
    (address, offset, bytes): Load<'a>,
    slices: &[&Slice],
) -> Option<(&'a str, &'a str, u64)> {
    let (pointer, length, slice) = slice_of(ahead, cold, address, slices)?;
    let end = u64::try_from(offset).ok()?.checked_add(bytes)?;
    (end <= slice.element).then_some((pointer, length, slice.element))
}

/// Returns the instruction that computes the value that a counter has whenever the loop is entered.
fn first_value<'g, 'a>(
    ahead: &'g Ahead<'_, 'a>,
    cold: &[bool],
    counter: &str,
) -> Option<&'g Instruction<'a>> {
    let (graph, each) = (&*ahead.graph, ahead.each);
    let is_outside = |id: &Id| !cold[*id] && !each.contains(*id);
    let outside = (0..graph.blocks.len()).filter(is_outside);
    let (writer, first) = definition_in(graph, outside, counter)?;
    // In an outer loop, the counter may continue where it has ended.
    let mut seen = HashSet::from_iter([writer]);
    let mut pending: Vec<Id> = graph.order.first().copied().into_iter().collect();
    for &id in &each.blocks {
        let targets = graph.blocks[id].end.targets().into_iter();
        pending.extend(targets.filter(is_outside));
    }
    while let Some(id) = pending.pop() {
        if id == each.header {
            return None;
        }
        if seen.insert(id) {
            pending.extend(graph.blocks[id].end.targets());
        }
    }
    Some(first)
}

/// Returns the slice parameter that an address is derived from, and the names of the parameters with
/// its address and length.
fn slice_of<'a, 's>(
    ahead: &Ahead<'_, 'a>,
    cold: &[bool],
    address: &'a str,
    slices: &[&'s Slice],
) -> Option<(&'a str, &'a str, &'s Slice)> {
    if slices.is_empty() {
        return None;
    }
    let pointer = origin(ahead.graph, cold, address)?;
    slices.iter().find_map(|slice| {
        let kernel = pointer.strip_suffix(&format!("_param_{}", slice.pointer))?;
        (kernel == slice.kernel).then(|| {
            let length = format!("{kernel}_param_{}", slice.length);
            (pointer, ahead.names.name(&length), *slice)
        })
    })
}

/// Returns the value of a parameter.
fn parameter<'a>(ahead: &mut Ahead<'_, 'a>, name: &'a str) -> Operand<'a> {
    let at = Operand::Address(Base::Name(name), 0);
    ahead.emit(Type::B64, "ld", &["param", "u64"], [at])
}

/// If an address in a loop is that of element `i` of a part of a slice, where `i` is the loop's
/// counter, returns the index in the slice at which the part begins, and an exclusive upper bound of
/// the counter's values.
fn part<'a>(
    ahead: &mut Ahead<'_, 'a>,
    cold: &[bool],
    address: &'a str,
    element: u64,
    pointer: &'a str,
) -> Option<(Operand<'a>, Operand<'a>)> {
    let (sum, ..) = ahead.each.definition(ahead.graph, address)?;
    let (base, distance) = match (sum.opcode, &sum.modifiers[..], &sum.operands[1..]) {
        ("add", ["s64" | "u64"], [a, b]) if ahead.each.is_invariant(a) => (a, b),
        ("add", ["s64" | "u64"], [a, b]) if ahead.each.is_invariant(b) => (b, a),
        _ => return None,
    };
    let (&Operand::Name(base), &Operand::Name(distance)) = (base, distance) else {
        return None;
    };
    let index = if element == 1 {
        Operand::Name(distance)
    } else {
        let (scaled, ..) = ahead.each.definition(ahead.graph, distance)?;
        scaled_by(scaled, element)?
    };
    let &Operand::Name(index) = &index else {
        return None;
    };
    let start = start_of(ahead.graph, cold, base, element, pointer)?;
    let bound = ahead.bound_of(index)?;
    Some((widened_start(ahead, start), bound))
}

/// Returns the index that [`start_of`] found, with 64 bits.
fn widened_start<'a>(ahead: &mut Ahead<'_, 'a>, start: Option<(Operand<'a>, u32)>) -> Operand<'a> {
    match start {
        Some((start, 32)) => ahead.emit(Type::B64, "cvt", &["u64", "u32"], [start]),
        Some((start, _)) => start,
        None => number(0),
    }
}

/// Returns the factor of a product with the size of an element.
fn scaled_by<'a>(it: &Instruction<'a>, element: u64) -> Option<Operand<'a>> {
    let (factor, by) = match (it.opcode, &it.modifiers[..], &it.operands[1..]) {
        ("shl", ["b64"], [factor, Operand::Integer(by)]) if by.bits < 64 => (factor, 1 << by.bits),
        ("mul", ["lo", "s64" | "u64"] | ["wide", "u32"], [factor, Operand::Integer(by)]) => {
            (factor, by.bits)
        }
        _ => return None,
    };
    (by == element).then(|| factor.clone())
}

/// If a register is the address of an element of a slice, returns the index and its width, or
/// `Some(None)` for the first element. `pointer` is the parameter with the slice's address.
fn start_of<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    register: &'a str,
    element: u64,
    pointer: &'a str,
) -> Option<Option<(Operand<'a>, u32)>> {
    let it = only_definition(graph, cold, register)?;
    start_of_result(graph, cold, it, element, pointer)
}

/// The same as [`start_of`] for the register that an instruction writes.
fn start_of_result<'a>(
    graph: &Graph<'a>,
    cold: &[bool],
    it: &Instruction<'a>,
    element: u64,
    pointer: &'a str,
) -> Option<Option<(Operand<'a>, u32)>> {
    match (it.opcode, &it.modifiers[..], &it.operands[1..]) {
        ("ld", ["param", _], [Operand::Address(Base::Name(name), 0)]) => {
            (*name == pointer).then_some(None)
        }
        ("mov" | "cvta", _, &[Operand::Name(from)]) => {
            start_of(graph, cold, from, element, pointer)
        }
        ("add", ["s64" | "u64"], &[Operand::Name(a), Operand::Name(b)]) => {
            [(a, b), (b, a)].into_iter().find_map(|(base, distance)| {
                if start_of(graph, cold, base, element, pointer)?.is_some() {
                    return None;
                }
                if element == 1 {
                    return Some(Some((Operand::Name(distance), 64)));
                }
                let scaled = only_definition(graph, cold, distance)?;
                let start = scaled_by(scaled, element)?;
                let bits = if scaled.modifiers[0] == "wide" {
                    32
                } else {
                    64
                };
                Some(Some((start, bits)))
            })
        }
        _ => None,
    }
}

/// Returns the instruction that writes a register, if it is the only one.
fn only_definition<'g, 'a>(
    graph: &'g Graph<'a>,
    cold: &[bool],
    register: &str,
) -> Option<&'g Instruction<'a>> {
    let hot = (0..graph.blocks.len()).filter(|&id| !cold[id]);
    definition_in(graph, hot, register).map(|(_, it)| it)
}

/// Returns the instruction in blocks that writes a register, if it is the only one there and always
/// runs with its block, which is returned, too.
fn definition_in<'g, 'a>(
    graph: &'g Graph<'a>,
    blocks: impl Iterator<Item = Id>,
    register: &str,
) -> Option<(Id, &'g Instruction<'a>)> {
    let mut found = None;
    let statements = blocks.flat_map(|id| graph.blocks[id].body.iter().map(move |it| (id, it)));
    for (id, statement) in statements {
        let mut writes = 0;
        instructions(statement, &mut |it| {
            results(it, &mut |name| writes += usize::from(name == register));
        });
        match statement {
            _ if writes == 0 => {}
            Statement::Instruction(it) if found.is_none() && it.guard.is_none() => {
                found = Some((id, it));
            }
            _ => return None,
        }
    }
    found
}

/// Returns the kernel parameter that an address is derived from by additions, copies and
/// conversions.
fn origin<'a>(graph: &Graph<'a>, cold: &[bool], address: &'a str) -> Option<&'a str> {
    let mut parameters: HashMap<&str, &str> = HashMap::default();
    let mut sources: HashMap<&str, Vec<&str>> = HashMap::default();
    for (id, block) in graph.blocks.iter().enumerate() {
        if cold[id] {
            continue;
        }
        for statement in &block.body {
            let Statement::Instruction(it) = statement else {
                continue;
            };
            let Some((&Operand::Name(result), operands)) = it.operands.split_first() else {
                continue;
            };
            match (it.opcode, it.modifiers.first(), operands) {
                ("ld", Some(&"param"), &[Operand::Address(Base::Name(name), 0)]) => {
                    parameters.entry(result).or_insert(name);
                }
                ("add" | "mov" | "cvta", _, operands) => {
                    let names = operands.iter().filter_map(|operand| match operand {
                        &Operand::Name(name) => Some(name),
                        _ => None,
                    });
                    sources.entry(result).or_default().extend(names);
                }
                _ => {}
            }
        }
    }
    // Each register once: the number of paths to it grows exponentially.
    let mut seen = HashSet::from_iter([address]);
    let mut pending = vec![address];
    while let Some(register) = pending.pop() {
        if let Some(&parameter) = parameters.get(register) {
            return Some(parameter);
        }
        let from = sources.get(register).into_iter().flatten().rev();
        pending.extend(from.copied().filter(|&name| seen.insert(name)));
    }
    None
}

/// Returns instructions that determine whether the loop has several iterations and its lanes are
/// together, and the predicate.
pub(super) fn several<'a>(
    ahead: &mut Ahead<'_, 'a>,
    plan: &Plan<'a>,
) -> (Vec<Statement<'a>>, &'a str) {
    let (ty, sub, unsigned) = types(plan);
    let mut body = Vec::new();
    let (graph, names) = (&mut *ahead.graph, ahead.names);
    let mut emit = |ty, opcode, modifiers: &[&'a str], sources: &[Operand<'a>]| {
        graph.emit(names, &mut body, ty, opcode, modifiers, sources.to_vec())
    };
    let left = emit(ty, "sub", &[sub], &plan.distance());
    let sources = [Operand::Name(left), number(plan.step)];
    let mut several = emit(Type::Pred, "setp", &["gt", unsigned], &sources);
    if plan.in_row {
        let width = emit(Type::B32, "mov", &["u32"], &[Operand::Name("%ntid.x")]);
        let sources = [Operand::Name(width), number(31)];
        let rest = emit(Type::B32, "and", &["b32"], &sources);
        let sources = [Operand::Name(rest), number(0)];
        let whole = emit(Type::Pred, "setp", &["eq", "s32"], &sources);
        let sources = [several, whole].map(Operand::Name);
        several = emit(Type::Pred, "and", &["pred"], &sources);
    }
    (body, several)
}

/// Returns the type of the counter, and the types of its subtraction and comparison.
fn types(plan: &Plan<'_>) -> (Type, &'static str, &'static str) {
    match plan.bits {
        32 => (Type::B32, "s32", "u32"),
        _ => (Type::B64, "s64", "u64"),
    }
}

/// Creates the unrolled loop and returns its blocks, the entry first. A last group of fewer
/// iterations runs at once, too: what belongs to missing iterations is predicated. If a check fails,
/// or a single iteration remains, execution continues at `rolled`. `live` are the registers that must hold their values at the end.
pub(super) fn unroll<'a>(
    ahead: &mut Ahead<'_, 'a>,
    plan: &Plan<'a>,
    rolled: Id,
    live: &[&'a str],
) -> Vec<Id> {
    let (ty, sub, unsigned) = types(plan);
    let taken = std::mem::take(&mut ahead.body);

    // Whether enough iterations remain.
    let left = ahead.emit(ty, "sub", &[sub], plan.distance());
    let others = |ahead: &mut Ahead<'_, 'a>, count: usize| {
        let others = number(plan.step * count as u64);
        let set = ahead.emit(
            Type::Pred,
            "setp",
            &["gt", unsigned],
            [left.clone(), others],
        );
        name(&set)
    };
    let enough = others(ahead, ITERATIONS - 1);
    let head = std::mem::take(&mut ahead.body);
    let whole = group(ahead, plan, live, &[None; ITERATIONS]);
    let header = ahead.each.header;
    let latch = ahead.graph.blocks[ahead.each.latch].end.clone();
    let exit = latch.targets().into_iter().find(|&to| to != header);
    let partial = exit
        .filter(|_| can_be_partial(ahead, plan, live))
        .map(|exit| {
            let mut active = vec![None];
            active.extend((1..ITERATIONS - 1).map(|count| Some(others(ahead, count))));
            let tests = std::mem::take(&mut ahead.body);
            let several = active[1].unwrap_or_default();
            (group(ahead, plan, live, &active), tests, several, exit)
        });
    ahead.body = taken;

    let id = ahead.graph.blocks.len();
    let branch = |register, to, otherwise| {
        let guard = Guard::new(register);
        End::Branch(guard, false, to, otherwise)
    };
    let mut last = latch;
    if let End::Branch(guard, ..) = &mut last {
        guard.register = whole
            .now
            .get(guard.register)
            .copied()
            .unwrap_or(guard.register);
    }
    last.retarget(&|to| if to == header { id } else { to });
    let fewer = if partial.is_some() { id + 3 } else { rolled };
    let (mut body, mut then) = (whole.first, whole.then);
    if plan.starts_others {
        body.extend(guarded(ahead, std::mem::take(&mut then), whole.passes));
    }
    then.extend(whole.end);
    let mut blocks = vec![
        (head, branch(enough, id + 1, fewer)),
        (body, branch(whole.passes, id + 2, rolled)),
        (then, last),
    ];
    if let Some((mut group, tests, several, exit)) = partial {
        // A single iteration does not wait for others.
        blocks.push((tests, branch(several, id + 4, rolled)));
        blocks.push((group.first, branch(group.passes, id + 5, rolled)));
        group.then.append(&mut group.end);
        blocks.push((group.then, End::Jump(exit, false)));
    }
    let ids = (id..id + blocks.len()).collect();
    for (body, end) in blocks {
        let label = ahead.names.label();
        ahead.graph.add(Block { label, body, end }, None);
    }
    ids
}

fn name<'a>(operand: &Operand<'a>) -> &'a str {
    match operand {
        Operand::Name(name) => name,
        _ => "",
    }
}

/// Several iterations that run at once.
struct Group<'a> {
    /// The instructions that the checks need, and the combination of the checks.
    first: Vec<Statement<'a>>,
    /// The predicate that all checks pass.
    passes: &'a str,
    /// The other instructions.
    then: Vec<Statement<'a>>,
    /// The instructions that write the loop's registers.
    end: Vec<Statement<'a>>,
    /// The registers with the values of the loop's registers at the end.
    now: HashMap<&'a str, &'a str>,
}

/// Returns whether iterations can be predicated.
fn can_be_partial<'a>(ahead: &Ahead<'_, 'a>, plan: &Plan<'a>, live: &[&'a str]) -> bool {
    let selectable = |name: &&str| {
        let types = [Type::B16, Type::B32, Type::B64, Type::F32, Type::F64];
        (ahead.graph.type_of(name)).is_some_and(|ty| types.contains(&ty))
    };
    let mut simple = live.iter().all(selectable);
    for &id in &plan.row {
        for statement in &ahead.graph.blocks[id].body {
            if let Statement::Instruction(it) = statement
                && !is_pure(it)
            {
                simple &= match it.operands.first() {
                    Some(Operand::Name(_) | Operand::Vector(_)) => {
                        let mut simple = true;
                        results(it, &mut |result| simple &= selectable(&result));
                        simple
                    }
                    Some(Operand::Address(..)) => matches!(it.opcode, "red" | "st"),
                    _ => false,
                };
            }
        }
    }
    simple
}

/// Creates the code of iterations. Each has the predicate that it exists, if that is not certain.
fn group<'a>(
    ahead: &mut Ahead<'_, 'a>,
    plan: &Plan<'a>,
    live: &[&'a str],
    active: &[Option<&'a str>],
) -> Group<'a> {
    let mut now: HashMap<&'a str, &'a str> = HashMap::default();
    let (mut first, mut then) = (Vec::new(), Vec::new());
    let mut passes = Vec::new();
    for &exists in active {
        let before = now.clone();
        for &id in &plan.row {
            let mut line = None;
            for (place, statement) in ahead.graph.blocks[id].body.clone().iter().enumerate() {
                let it = match statement {
                    Statement::Loc(_) => {
                        line = Some(statement.clone());
                        continue;
                    }
                    Statement::Instruction(it) => it,
                    _ => continue,
                };
                let is_early = plan.early.contains(&(id, place));
                let list = if is_early { &mut first } else { &mut then };
                list.extend(line.take());
                let mut copy = copied(ahead, it, &mut now);
                if let Some(register) = exists
                    && !is_pure(it)
                {
                    copy.guard = Some(Guard::new(register));
                    list.extend(initialized(ahead, &copy));
                }
                list.push(Statement::Instruction(copy));
            }
            if let Some((_, check)) = plan.checks.iter().find(|(block, _)| *block == id) {
                let register = now.get(check.register).copied().unwrap_or(check.register);
                passes.push((register, check.negated, exists));
            }
        }
        // An iteration that does not exist changes nothing.
        for &register in live {
            let Some(exists) = exists else {
                continue;
            };
            let old = before.get(register).copied().unwrap_or(register);
            let (Some(&new), Some(ty)) = (now.get(register), ahead.graph.type_of(register)) else {
                continue;
            };
            if new == old {
                continue;
            }
            let is_early = ahead
                .each
                .written
                .get(register)
                .is_some_and(|&(_, id, place)| plan.early.contains(&(id, place)));
            let list = if is_early { &mut first } else { &mut then };
            let operands = [new, old, exists].map(Operand::Name);
            let (graph, names) = (&mut *ahead.graph, ahead.names);
            let selected = graph.emit(names, list, ty, "selp", &[ty.name()], operands);
            now.insert(register, selected);
        }
    }
    ahead.body = first;
    let mut all: Option<Operand<'a>> = None;
    for (register, negated, exists) in passes {
        let mut pass = Operand::Name(register);
        if negated {
            pass = ahead.emit(Type::Pred, "not", &["pred"], [pass]);
        }
        if let Some(exists) = exists {
            let absent = ahead.emit(Type::Pred, "not", &["pred"], [Operand::Name(exists)]);
            pass = ahead.emit(Type::Pred, "or", &["pred"], [pass, absent]);
        }
        all = Some(match all {
            None => pass,
            Some(all) => ahead.emit(Type::Pred, "and", &["pred"], [all, pass]),
        });
    }
    // There is at least one check.
    let mut passes = all.as_ref().map_or("", name);
    if plan.together {
        passes = ahead.in_all_lanes(passes);
    }
    let first = std::mem::take(&mut ahead.body);
    let mut end = Vec::new();
    for &register in live {
        if let Some(value) = now.get(register)
            && let Some(ty) = ahead.graph.type_of(register)
        {
            let operands = [register, value].map(Operand::Name).to_vec();
            end.push(instruction("mov", &[ty.name()], operands));
        }
    }
    Group {
        first,
        passes,
        then,
        end,
        now,
    }
}

/// Predicates the loads of a group by its checks, instead of a branch past them: ptxas would move
/// loads that need no check behind the branch, too, where they wait for those before it.
fn guarded<'a>(
    ahead: &Ahead<'_, 'a>,
    then: Vec<Statement<'a>>,
    passes: &'a str,
) -> Vec<Statement<'a>> {
    let mut made = Vec::with_capacity(then.len());
    for mut statement in then {
        if let Statement::Instruction(it) = &mut statement
            && !is_pure(it)
        {
            made.extend(initialized(ahead, it));
            it.guard = Some(Guard::new(passes));
        }
        made.push(statement);
    }
    made
}

/// Returns instructions that initialize the results of a predicated one.
fn initialized<'a>(ahead: &Ahead<'_, 'a>, it: &Instruction<'a>) -> Vec<Statement<'a>> {
    let mut made = Vec::new();
    results(it, &mut |result| {
        if let Some(ty) = ahead.graph.type_of(result) {
            let zero = match ty {
                Type::F32 => Operand::F32(0),
                Type::F64 => Operand::F64(0),
                _ => number(0),
            };
            let operands = vec![Operand::Name(result), zero];
            made.push(instruction("mov", &[ty.name()], operands));
        }
    });
    made
}

/// Copies an instruction, with new registers for its results.
fn copied<'a>(
    ahead: &mut Ahead<'_, 'a>,
    it: &Instruction<'a>,
    now: &mut HashMap<&'a str, &'a str>,
) -> Instruction<'a> {
    let mut written = Vec::new();
    results(it, &mut |name| written.push(name));
    let mut copy = it.clone();
    let mut operands = copy.operands.split_off(usize::from(!written.is_empty()));
    let mut old = Instruction {
        operands: std::mem::take(&mut operands),
        ..copy.clone()
    };
    rename(&mut old, &mut |name| now.get(name).copied().unwrap_or(name));
    for name in written {
        if let Some(ty) = ahead.graph.type_of(name) {
            let new = ahead.graph.register(ty, ahead.names);
            now.insert(name, new);
        }
    }
    rename(&mut copy, &mut |name| {
        now.get(name).copied().unwrap_or(name)
    });
    copy.operands.extend(old.operands);
    copy
}
