//! Removes moves of a value to a register that already has it.
//!
//! Before each branch of a loop to the block after it, libnvvm writes the registers that the block
//! reads, also those that the previous branch has written. ptxas combines two branches to the same
//! target only if nothing but the second condition is computed between them: `match byte { b',' |
//! b'\n' => break, … }` otherwise diverges twice.

use crate::hash::HashMap;

use super::flow::{Graph, Id};
use super::instructions::{instructions, results};
use crate::{Instruction, Operand, Statement};

/// For each register that was moved, the register that has the same value.
type Moved<'a> = HashMap<&'a str, &'a str>;

/// Removes the moves of a function. Returns their number.
pub(super) fn remove(graph: &mut Graph<'_>) -> usize {
    let predecessors = graph.predecessors();
    let mut ends: HashMap<Id, Moved<'_>> = HashMap::default();
    let mut count = 0;
    for (place, &id) in graph.order.iter().enumerate() {
        let mut moved = match predecessors[id][..] {
            [from] if place > 0 => ends.get(&from).cloned().unwrap_or_default(),
            _ => Moved::default(),
        };
        let body = &graph.blocks[id].body;
        let repeats: Vec<bool> = (body.iter())
            .map(|statement| {
                let new = move_of(graph, statement);
                let repeats = new.is_some_and(|(to, from)| moved.get(to) == Some(&from));
                if !repeats {
                    instructions(statement, &mut |it| {
                        results(it, &mut |name| {
                            moved.retain(|to, from| *to != name && *from != name);
                        });
                    });
                    moved.extend(new);
                }
                repeats
            })
            .collect();
        ends.insert(id, moved);
        let mut repeats = repeats.into_iter();
        let body = &mut graph.blocks[id].body;
        let before = body.len();
        body.retain(|_| repeats.next() != Some(true));
        count += before - body.len();
    }
    count
}

/// Returns the registers that a statement moves to and from, if it does nothing else.
fn move_of<'a>(graph: &Graph<'a>, statement: &Statement<'a>) -> Option<(&'a str, &'a str)> {
    match statement {
        Statement::Instruction(Instruction {
            guard: None,
            opcode: "mov",
            operands,
            ..
        }) => match operands[..] {
            [Operand::Name(to), Operand::Name(from)] if to != from => {
                graph.type_of(from).map(|_| (to, from))
            }
            _ => None,
        },
        _ => None,
    }
}
