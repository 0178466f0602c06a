//! Chooses between calls of the same panic by their arguments.
//!
//! Code that finds out which of several combined checks fails branches to a call for each of them.
//! ptxas places a panic that has several predecessors before the hot code, which then jumps over it.
//! With one call whose arguments are selected, the panic is behind the hot code, and smaller.

use crate::hash::HashSet;
use crate::inline_panics::call_of;
use crate::{Base, Instruction, Operand, Statement, Type};

use super::flow::{End, Graph, Id};
use super::instructions::{instructions, is_pure, results, sources};
use super::names::Names;

/// The maximum number of instructions before a call, if there is another way to them.
const COPIED: usize = 12;

/// The maximum number of instructions before a call.
const LARGEST: usize = 200;

/// Merges calls of panics. Returns the number of removed branches.
pub(super) fn merge<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let predecessors = graph.predecessors();
    let mut count = 0;
    // The last branches first: then those before them may lead to one call.
    loop {
        let before = count;
        for id in graph.order.clone().into_iter().rev().filter(|&id| cold[id]) {
            count += usize::from(merge_at(graph, names, &predecessors, id).is_some());
        }
        if count == before {
            break;
        }
    }
    if count > 0 {
        graph.remove_unreachable();
    }
    count
}

/// Merges the calls to which a block branches.
fn merge_at<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    predecessors: &[Vec<Id>],
    id: Id,
) -> Option<()> {
    let End::Branch(guard, _, to, otherwise) = graph.blocks[id].end else {
        return None;
    };
    let [yes, no] = match guard.negated {
        false => [to, otherwise],
        true => [otherwise, to],
    };
    let [of_yes, of_no] = [yes, no].map(|id| Panic::of(graph, id));
    let (of_yes, mut of_no) = (of_yes?, of_no?);
    for (id, panic) in [(yes, &of_yes), (no, &of_no)] {
        let most = match predecessors[id].len() {
            0 | 1 => LARGEST,
            _ => COPIED,
        };
        if panic.before.len() > most {
            return None;
        }
    }
    let is_same = of_yes.function == of_no.function
        && of_yes.arguments.len() == of_no.arguments.len()
        && (of_yes.arguments.iter().zip(&of_no.arguments)).all(|(a, b)| a.1 == b.1);
    if !is_same {
        return None;
    }
    let shared = of_no.remove_shared(&of_yes);
    let written = |panic: &Panic<'a>| &panic.written() - &shared;
    let (written_by_yes, written_by_no) = (written(&of_yes), written(&of_no));
    let is_apart = of_no.is_apart(&written_by_yes)
        && of_yes.is_apart(&written_by_no)
        && [&written_by_yes, &written_by_no, &shared]
            .into_iter()
            .all(|written| !written.contains(guard.register));
    if !is_apart {
        return None;
    }
    let mut body = [of_yes.before.clone(), of_no.before.clone()].concat();
    let mut selected = Vec::new();
    for ((yes, ty), (no, _)) in of_yes.arguments.iter().zip(&of_no.arguments) {
        if yes == no {
            selected.push(yes.clone());
            continue;
        }
        let bits = Type::from_name(ty)?.bits();
        let (ty, name) = match bits {
            32 => (Type::B32, "b32"),
            64 => (Type::B64, "b64"),
            _ => return None,
        };
        let operands = [yes.clone(), no.clone(), Operand::Name(guard.register)];
        selected.push(Operand::Name(graph.emit(
            names,
            &mut body,
            ty,
            "selp",
            &[name],
            operands,
        )));
    }
    body.push(of_yes.call(selected));
    let block = &mut graph.blocks[id];
    block.body.extend(body);
    block.end = End::Never;
    Some(())
}

/// What a block leads to, if it only panics.
struct Panic<'a> {
    /// What computes the arguments.
    before: Vec<Statement<'a>>,
    /// The statement with the call.
    statement: Vec<Statement<'a>>,
    function: &'a str,
    /// The arguments, with their types.
    arguments: Vec<(Operand<'a>, &'a str)>,
}

impl<'a> Panic<'a> {
    fn of(graph: &Graph<'a>, id: Id) -> Option<Panic<'a>> {
        let is_code = |it: &&Statement<'a>| !matches!(it, Statement::Loc(_) | Statement::Label(_));
        let mut body: Vec<Statement<'a>> = Vec::new();
        let mut end = id;
        for _ in 0..graph.order.len() {
            body.extend(graph.blocks[end].body.iter().filter(is_code).cloned());
            match graph.blocks[end].end {
                End::Jump(to, _) => end = to,
                End::Never => break,
                _ => return None,
            }
        }
        let statement = body.pop()?;
        let function = call_of(&statement)?.function;
        let Statement::Block(statement) = statement else {
            return None;
        };
        let computes = |it: &Statement<'a>| match it {
            // A carry is used in the block that computes it.
            Statement::Instruction(it) => {
                is_pure(it) || ["add", "addc", "sub", "subc"].contains(&it.opcode)
            }
            _ => false,
        };
        if !body.iter().all(computes) {
            return None;
        }
        let parameters = parameters(&statement)?;
        let arguments = parameters.into_iter().map(|parameter| {
            let mut stores = statement.iter().filter_map(|it| stored(it, parameter));
            stores.next()
        });
        Some(Panic {
            before: body,
            function,
            arguments: arguments.collect::<Option<_>>()?,
            statement,
        })
    }

    /// Removes the instructions that another block has, too, and returns what they compute.
    fn remove_shared(&mut self, other: &Panic<'a>) -> HashSet<&'a str> {
        // A carry must follow its sum.
        let text = |it: &Statement<'a>| match it {
            Statement::Instruction(it) if is_pure(it) => Some(it.to_string()),
            _ => None,
        };
        let others: HashSet<String> = other.before.iter().filter_map(text).collect();
        let mut shared = HashSet::default();
        self.before.retain(|it| {
            let is_shared = text(it).is_some_and(|it| others.contains(&it));
            if is_shared {
                instructions(it, &mut |it| {
                    results(it, &mut |name| _ = shared.insert(name))
                });
            }
            !is_shared
        });
        shared
    }

    /// Returns the registers that the block writes.
    fn written(&self) -> HashSet<&'a str> {
        let mut written = HashSet::default();
        for it in &self.before {
            instructions(it, &mut |it| {
                results(it, &mut |name| _ = written.insert(name))
            });
        }
        written
    }

    /// Returns whether the block neither writes nor reads one of these registers.
    fn is_apart(&self, registers: &HashSet<&'a str>) -> bool {
        let mut is_apart = self.written().is_disjoint(registers);
        for it in &self.before {
            instructions(it, &mut |it| {
                sources(it, &mut |name| is_apart &= !registers.contains(name));
            });
        }
        let is_one =
            |it: &Operand<'a>| matches!(it, Operand::Name(name) if registers.contains(name));
        is_apart && !self.arguments.iter().any(|(it, _)| is_one(it))
    }

    /// Returns the call with other arguments.
    fn call(&self, arguments: Vec<Operand<'a>>) -> Statement<'a> {
        let mut statement = self.statement.clone();
        let parameters = parameters(&statement).unwrap_or_default();
        for (parameter, argument) in parameters.into_iter().zip(arguments) {
            for it in &mut statement {
                if stored(it, parameter).is_some()
                    && let Statement::Instruction(it) = it
                {
                    it.operands[1] = argument.clone();
                }
            }
        }
        Statement::Block(statement)
    }
}

/// Returns the parameters that a block with a call passes.
fn parameters<'a>(statement: &[Statement<'a>]) -> Option<Vec<&'a str>> {
    let call = statement.iter().find_map(|it| match it {
        Statement::Instruction(it) if it.opcode == "call" => Some(it),
        _ => None,
    });
    match call?.operands.get(1) {
        None => Some(Vec::new()),
        Some(Operand::List(list)) => (list.iter())
            .map(|it| match it {
                &Operand::Name(name) => Some(name),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// Returns the value that a statement stores to a parameter, with its type.
fn stored<'a>(statement: &Statement<'a>, parameter: &str) -> Option<(Operand<'a>, &'a str)> {
    let Statement::Instruction(Instruction {
        opcode: "st",
        modifiers,
        operands,
        ..
    }) = statement
    else {
        return None;
    };
    match (&modifiers[..], &operands[..]) {
        (&["param", ty], [Operand::Address(Base::Name(name), 0), value]) if *name == parameter => {
            Some((value.clone(), ty))
        }
        _ => None,
    }
}
