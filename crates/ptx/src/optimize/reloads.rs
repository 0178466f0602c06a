//! Removes loads of what a vector load before has loaded.
//!
//! Of `if distance(particle) < radius { sum += particle.w }`, where `particle` is a reference to four
//! floats, LLVM loads the last one behind the branch, and libnvvm makes one load of four elements of
//! the three others. nvcc's `float4` is loaded as a whole, without a second wait for memory.

use crate::hash::HashMap;

use super::flow::{Graph, Id};
use super::instructions::{has_effect, is_pure, results};
use crate::{Base, Instruction, Operand, Statement, Type};

/// What a plain load reads: the state space, the register with the address and the distance from it.
type Place<'a> = (&'a str, &'a str, i64);

/// The registers with what vector loads have loaded.
type Loaded<'a> = HashMap<Place<'a>, &'a str>;

/// Replaces the loads of a function. Returns their number.
pub(super) fn remove(graph: &mut Graph<'_>) -> usize {
    let predecessors = graph.predecessors();
    let mut ends: HashMap<Id, Loaded<'_>> = HashMap::default();
    let mut count = 0;
    for (place, id) in graph.order.clone().into_iter().enumerate() {
        let mut loaded = match predecessors[id][..] {
            [from] if place > 0 => ends.get(&from).cloned().unwrap_or_default(),
            _ => Loaded::default(),
        };
        let mut body = std::mem::take(&mut graph.blocks[id].body);
        for statement in &mut body {
            if let Statement::Instruction(it) = statement
                && let Some((place, size)) = load(it)
                && let Operand::Name(result) = it.operands[0]
                && let Some(&from) = loaded.get(&place)
                && let [Some(to), Some(from_type)] = [result, from].map(|name| graph.type_of(name))
                && to.bits() == size
                && from_type.bits() == size
            {
                it.opcode = "mov";
                it.modifiers = vec![if size == 64 { "b64" } else { "b32" }];
                it.operands = vec![Operand::Name(result), Operand::Name(from)];
                count += 1;
            }
            follow(statement, &mut loaded);
        }
        graph.blocks[id].body = body;
        ends.insert(id, loaded);
    }
    count
}

/// Returns the place and the size in bits of the elements that a plain load reads, if it has 32 or 64.
fn load<'a>(it: &Instruction<'a>) -> Option<(Place<'a>, u32)> {
    let [space, between @ .., ty] = &it.modifiers[..] else {
        return None;
    };
    let is_plain = between.iter().all(|it| ["nc", "v2", "v4"].contains(it));
    let (true, "ld", [_, Operand::Address(Base::Name(base), offset)]) =
        (is_plain, it.opcode, &it.operands[..])
    else {
        return None;
    };
    let size = Type::from_name(ty)?.bits();
    matches!(size, 32 | 64).then_some(((*space, *base, *offset), size))
}

/// Updates what is known to be loaded by a statement.
fn follow<'a>(statement: &Statement<'a>, loaded: &mut Loaded<'a>) {
    let it = match statement {
        Statement::Instruction(it) => it,
        Statement::Loc(_) | Statement::Label(_) => return,
        _ => return loaded.clear(),
    };
    if !is_pure(it) && (it.opcode != "ld" || has_effect(it)) {
        loaded.clear();
    }
    let mut written = Vec::new();
    results(it, &mut |name| written.push(name));
    loaded.retain(|(_, base, _), lane| !written.contains(base) && !written.contains(lane));
    if let Some(((space, base, offset), size)) = load(it)
        && let Some(Operand::Vector(lanes)) = it.operands.first()
        && it.guard.is_none()
        && !written.contains(&base)
    {
        for (place, lane) in lanes.iter().enumerate() {
            if let Operand::Name(lane) = lane
                && *lane != "_"
            {
                let distance = i64::from(size / 8) * place as i64;
                loaded.insert((space, base, offset + distance), lane);
            }
        }
    }
}
