//! Counts flags among the lanes of a warp with a ballot.
//!
//! `group::block().exclusive_scan(u32::from(flag), 0, |a, b| a + b)`, with which kernels compact
//! their input, adds the numbers of the lower lanes in five steps, each of a shuffle, a selection
//! and an addition. If each number is 0 or 1, a ballot has them all: the sum of a lane is the number
//! of its bits up to the lane's own.

use crate::hash::{HashMap, HashSet};

use super::definitions;
use super::flow::{End, Graph, Id};
use super::instructions::{instructions, results};
use super::liveness::read;
use super::names::Names;
use super::ordered::constant;
use super::specialize::single_definitions;
use super::version::number;
use crate::rewrite::instruction;
use crate::{Instruction, Operand, Statement, Type};

/// The distances of the steps of a scan.
const DISTANCES: [u64; 5] = [1, 2, 4, 8, 16];

/// A scan of all lanes of a warp.
struct Scan<'a> {
    /// The number of the lane.
    flag: &'a str,
    /// The register with the result.
    sum: &'a str,
    /// The places of its statements in the block, in order.
    places: Vec<usize>,
    /// The block with the last addition and its target, if a branch leads past it.
    rest: Option<(Id, Id)>,
}

/// Replaces the scans of a function. Returns the number of replacements.
pub(super) fn replace<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let mut has_shuffle = false;
    for statement in graph.blocks.iter().flat_map(|block| &block.body) {
        if let Statement::Block(_) = statement {
            instructions(statement, &mut |it| has_shuffle |= it.opcode == "shfl");
        }
    }
    if !has_shuffle {
        return 0;
    }
    let cold = vec![false; graph.blocks.len()];
    let single = single_definitions(graph, &cold);
    let mut count = 0;
    for id in graph.order.clone() {
        let body = &graph.blocks[id].body;
        let found = (0..body.len()).find_map(|place| {
            let scan = find(graph, id, place, &single)?;
            (is_private(graph, id, &scan) && is_flag(graph, scan.flag)).then_some(scan)
        });
        if let Some(scan) = found {
            replace_one(graph, names, id, &scan);
            count += 1;
        }
    }
    count
}

/// A shuffle that reads the value of a lower lane.
struct Shuffle<'a> {
    /// The register with the other lane's value.
    other: &'a str,
    /// The register that is 1 if there is such a lane, and 0 otherwise.
    exists: &'a str,
    /// The register that is exchanged.
    value: &'a str,
    distance: u64,
}

impl<'a> Shuffle<'a> {
    /// Reads the block of a shuffle among all lanes of a warp.
    fn of(
        statement: &Statement<'a>,
        single: &HashMap<&'a str, Instruction<'a>>,
    ) -> Option<Shuffle<'a>> {
        let Statement::Block(inner) = statement else {
            return None;
        };
        let mut own = inner.iter().filter_map(|statement| match statement {
            Statement::Instruction(it) if it.guard.is_none() => Some(it),
            _ => None,
        });
        let (Some(shuffle), Some(select), None) = (own.next(), own.next(), own.next()) else {
            return None;
        };
        let [
            Operand::Pair(pair),
            Operand::Name(value),
            distance,
            segments,
            mask,
        ] = &shuffle.operands[..]
        else {
            return None;
        };
        let (Operand::Name(other), Operand::Name(valid)) = &**pair else {
            return None;
        };
        let [
            Operand::Name(exists),
            Operand::Integer(one),
            Operand::Integer(zero),
            Operand::Name(on),
        ] = &select.operands[..]
        else {
            return None;
        };
        let is_shuffle = (shuffle.opcode, &shuffle.modifiers[..])
            == ("shfl", &["sync", "up", "b32"])
            && constant(segments, single)? == 0
            && constant(mask, single)? == u64::from(u32::MAX);
        let is_select = (select.opcode, &select.modifiers[..]) == ("selp", &["b32"])
            && (one.bits, zero.bits) == (1, 0)
            && on == valid;
        (is_shuffle && is_select).then_some(Shuffle {
            other,
            exists,
            value,
            distance: constant(distance, single)?,
        })
    }
}

/// Returns the scan that begins at a place of a block.
fn find<'a>(
    graph: &Graph<'a>,
    id: Id,
    place: usize,
    single: &HashMap<&'a str, Instruction<'a>>,
) -> Option<Scan<'a>> {
    let block = &graph.blocks[id];
    let flag = Shuffle::of(&block.body[place], single)?.value;
    let mut reader = Reader {
        body: &block.body,
        next: place,
        places: Vec::new(),
        kept: vec![flag],
    };
    let mut sum = flag;
    for distance in DISTANCES {
        let shuffle = reader.take(|statement| {
            let it = Shuffle::of(statement, single)?;
            (it.value == sum && it.distance == distance).then_some(it)
        })?;
        reader.kept.extend([sum, shuffle.other, shuffle.exists]);
        let absent = reader.take_instruction(|it| match (it.opcode, &it.modifiers[..]) {
            ("setp", ["eq", "s32" | "b32" | "u32"]) => match it.operands[..] {
                [
                    Operand::Name(absent),
                    Operand::Name(exists),
                    Operand::Integer(zero),
                ] if exists == shuffle.exists && zero.bits == 0 => Some(absent),
                _ => None,
            },
            _ => None,
        })?;
        reader.kept.push(absent);
        let selected = reader.take_instruction(|it| match (it.opcode, &it.modifiers[..]) {
            ("selp", ["b32" | "s32" | "u32"]) => match it.operands[..] {
                [
                    Operand::Name(selected),
                    Operand::Integer(zero),
                    Operand::Name(other),
                    Operand::Name(on),
                ] if zero.bits == 0 && other == shuffle.other && on == absent => Some(selected),
                _ => None,
            },
            _ => None,
        });
        let Some(selected) = selected else {
            // The last step may be a branch.
            let is_last = distance == DISTANCES[DISTANCES.len() - 1];
            let rest = last_addition(graph, id, [sum, shuffle.other, absent])?;
            reader.is_quiet_to_end()?;
            return is_last.then_some(Scan {
                flag,
                sum,
                places: reader.places,
                rest: Some(rest),
            });
        };
        reader.kept.push(selected);
        sum = reader.take_instruction(|it| added(it, sum, selected))?;
    }
    Some(Scan {
        flag,
        sum,
        places: reader.places,
        rest: None,
    })
}

/// Returns the result of the addition of two registers.
fn added<'a>(it: &Instruction<'a>, a: &str, b: &str) -> Option<&'a str> {
    match (it.opcode, &it.modifiers[..], &it.operands[..]) {
        (
            "add",
            ["s32" | "u32"],
            &[
                Operand::Name(sum),
                Operand::Name(left),
                Operand::Name(right),
            ],
        ) if [left, right] == [a, b] || [left, right] == [b, a] => Some(sum),
        _ => None,
    }
}

/// Returns the block that adds the other lane's sum to the lane's own if the branch at the end of a
/// block does not lead past it, and its target.
fn last_addition<'a>(
    graph: &Graph<'a>,
    id: Id,
    [sum, other, absent]: [&'a str; 3],
) -> Option<(Id, Id)> {
    let End::Branch(guard, _, to, otherwise) = graph.blocks[id].end else {
        return None;
    };
    let rest = &graph.blocks[otherwise];
    let mut own = rest.body.iter().filter_map(|statement| match statement {
        Statement::Loc(_) | Statement::Label(_) => None,
        other => Some(other),
    });
    let (Some(Statement::Instruction(it)), None) = (own.next(), own.next()) else {
        return None;
    };
    let End::Jump(after, _) = rest.end else {
        return None;
    };
    let is_addition = it.guard.is_none() && added(it, sum, other) == Some(sum);
    let is_only_way = graph.predecessors_of_one(otherwise).eq([id]);
    let is_past = guard.register == absent && !guard.negated && after == to;
    (is_addition && is_only_way && is_past).then_some((otherwise, to))
}

/// Reads the statements of a scan, among which others may be.
struct Reader<'g, 'a> {
    body: &'g [Statement<'a>],
    /// The place of the next statement.
    next: usize,
    places: Vec<usize>,
    /// The registers that other statements must not write.
    kept: Vec<&'a str>,
}

impl<'a> Reader<'_, 'a> {
    /// Finds the next statement that `read` accepts.
    fn take<T>(&mut self, mut read: impl FnMut(&Statement<'a>) -> Option<T>) -> Option<T> {
        for place in self.next..self.body.len() {
            let statement = &self.body[place];
            if let Some(value) = read(statement) {
                self.places.push(place);
                self.next = place + 1;
                return Some(value);
            }
            self.is_quiet(statement)?;
        }
        None
    }

    fn take_instruction<T>(
        &mut self,
        mut read: impl FnMut(&Instruction<'a>) -> Option<T>,
    ) -> Option<T> {
        self.take(|statement| match statement {
            Statement::Instruction(it) if it.guard.is_none() => read(it),
            _ => None,
        })
    }

    /// Checks that a statement does not change the scan.
    fn is_quiet(&self, statement: &Statement<'a>) -> Option<()> {
        let mut quiet = true;
        instructions(statement, &mut |it| {
            results(it, &mut |name| quiet &= !self.kept.contains(&name));
        });
        quiet.then_some(())
    }

    fn is_quiet_to_end(&self) -> Option<()> {
        let mut rest = self.body[self.next..].iter();
        rest.try_for_each(|statement| self.is_quiet(statement))
    }
}

/// Returns whether only the scan reads its intermediate results.
fn is_private<'a>(graph: &Graph<'a>, id: Id, scan: &Scan<'a>) -> bool {
    let mut inner: HashSet<&'a str> = HashSet::default();
    for &place in &scan.places {
        instructions(&graph.blocks[id].body[place], &mut |it| {
            results(it, &mut |name| _ = inner.insert(name));
        });
    }
    inner.remove(scan.sum);
    let cold = vec![false; graph.blocks.len()];
    let definitions = definitions(graph, &cold);
    // The predicates of shuffles are local to their blocks, and may have the same name.
    let is_outer = |name: &str| graph.type_of(name).is_some();
    if (inner.iter()).any(|name| is_outer(name) && definitions.get(name) != Some(&1)) {
        return false;
    }
    let mut private = true;
    for (block, its) in graph.blocks.iter().enumerate() {
        if scan.rest.is_some_and(|(rest, _)| rest == block) {
            continue;
        }
        for (place, statement) in its.body.iter().enumerate() {
            if block == id && scan.places.contains(&place) {
                continue;
            }
            // If a branch leads past the last addition, the result first holds an intermediate one.
            let is_amid = block == id && scan.rest.is_some() && scan.places.first() < Some(&place);
            instructions(statement, &mut |it| {
                read(it, &mut |name| {
                    private &= !inner.contains(name) || !is_outer(name);
                    private &= !is_amid || name != scan.sum;
                });
            });
        }
        if block != id || scan.rest.is_none() {
            its.end
                .sources(&mut |name| private &= !inner.contains(name));
        }
    }
    private
}

/// Returns whether a register is always 0 or 1.
fn is_flag(graph: &Graph<'_>, register: &str) -> bool {
    let mut known = true;
    let mut found = false;
    for block in &graph.blocks {
        for (place, statement) in block.body.iter().enumerate() {
            if writes(statement, register) {
                found = true;
                known &= matches!(statement, Statement::Instruction(it) if
                    it.guard.is_none() && is_bit(it, &block.body[..place]));
            }
        }
    }
    found && known
}

/// Returns whether the result of an instruction behind others is 0 or 1.
fn is_bit(it: &Instruction<'_>, before: &[Statement<'_>]) -> bool {
    let is_constant = |operand: &Operand<'_>| match operand {
        Operand::Integer(value) => value.bits <= 1,
        Operand::Name(name) => is_bit_before(name, before),
        _ => false,
    };
    match (it.opcode, &it.modifiers[..], &it.operands[..]) {
        ("mov", ["b32" | "s32" | "u32"], [_, from]) => is_constant(from),
        ("selp", ["b32" | "s32" | "u32"], [_, a, b, _]) => is_constant(a) && is_constant(b),
        ("and", ["b32"], [_, _, Operand::Integer(mask)]) => mask.bits == 1,
        _ => false,
    }
}

/// Returns whether the last of some statements that writes a register writes 0 or 1.
fn is_bit_before(register: &str, before: &[Statement<'_>]) -> bool {
    let last = before
        .iter()
        .rposition(|statement| writes(statement, register));
    last.is_some_and(|place| {
        matches!(&before[place], Statement::Instruction(it) if
            it.guard.is_none() && is_bit(it, &before[..place]))
    })
}

fn writes(statement: &Statement<'_>, register: &str) -> bool {
    let mut writes = false;
    instructions(statement, &mut |it| {
        results(it, &mut |name| writes |= name == register);
    });
    writes
}

/// Replaces a scan.
fn replace_one<'a>(graph: &mut Graph<'a>, names: &'a Names, id: Id, scan: &Scan<'a>) {
    let mut made = Vec::new();
    let [flag, sum] = [scan.flag, scan.sum].map(Operand::Name);
    let is_set = graph.emit(
        names,
        &mut made,
        Type::Pred,
        "setp",
        &["ne", "s32"],
        [flag, number(0)],
    );
    let sources = [Operand::Name(is_set), number(u32::MAX.into())];
    let flags = graph.emit(
        names,
        &mut made,
        Type::B32,
        "vote",
        &["sync", "ballot", "b32"],
        sources,
    );
    let lanes = [Operand::Name("%lanemask_le")];
    let lanes = graph.emit(names, &mut made, Type::B32, "mov", &["u32"], lanes);
    let sources = [flags, lanes].map(Operand::Name);
    let own = graph.emit(names, &mut made, Type::B32, "and", &["b32"], sources);
    made.push(instruction("popc", &["b32"], vec![sum, Operand::Name(own)]));
    let body = std::mem::take(&mut graph.blocks[id].body);
    for (place, statement) in body.into_iter().enumerate() {
        if !scan.places.contains(&place) {
            graph.blocks[id].body.push(statement);
        } else if scan.places.last() == Some(&place) {
            graph.blocks[id].body.append(&mut made);
        }
    }
    if let Some((_, after)) = scan.rest {
        graph.blocks[id].end = End::Jump(after, false);
        graph.remove_unreachable();
    }
}
