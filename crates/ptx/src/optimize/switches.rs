//! Replaces trees of comparisons with jump tables.
//!
//! libnvvm lowers a `switch`, such as a `match` on an enum, to a binary tree whose leaves compare the
//! value with one constant after the other. ptxas creates tables of such chains only if they compare
//! 32-bit registers, and the discriminants of enums are narrower. This pass replaces the whole tree
//! with one table: the number of branches no longer depends on the value.

use crate::hash::{HashMap, HashSet};

use super::flow::{End, Graph, Id};
use super::liveness::read;
use super::loops::Relation;
use super::names::Names;
use crate::rewrite::instruction;
use crate::{Integer, Operand, Statement, Type};

/// The minimum number of branches of a tree: a table takes as long as about three.
const BRANCHES: usize = 6;

/// The maximum number of entries of a table.
const ENTRIES: i64 = 64;

/// A branch that compares a register with a constant.
#[derive(Clone, Copy)]
struct Decision<'a> {
    register: &'a str,
    ty: Type,
    /// The order, or `None` for a test of equality.
    signed: Option<bool>,
    relation: Relation,
    constant: i64,
    /// The predicate.
    predicate: &'a str,
    /// The target if the relation holds, and the target otherwise.
    targets: [Id; 2],
}

/// Replaces trees of comparisons, except in cold blocks. Returns how many.
pub(super) fn replace<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    // How often predicates are read.
    let mut reads: HashMap<&'a str, u32> = HashMap::default();
    for &id in &graph.order {
        graph.visit([id], &mut |it| {
            read(it, &mut |name| *reads.entry(name).or_default() += 1);
        });
        if let End::Branch(guard, ..) = graph.blocks[id].end {
            *reads.entry(guard.register).or_default() += 1;
        }
    }
    let decisions: HashMap<Id, Decision<'a>> = (graph.order.iter())
        .filter(|&&id| !cold[id])
        .filter_map(|&id| Some((id, decision(graph, id)?)))
        .filter(|(_, decision)| reads.get(decision.predicate) == Some(&1))
        .collect();
    let mut count = 0;
    let mut inside: HashSet<Id> = HashSet::default();
    for root in graph.order.clone() {
        let Some(&first) = decisions.get(&root).filter(|_| !inside.contains(&root)) else {
            continue;
        };
        // The blocks of the tree that only compare.
        let mut tree = HashMap::from_iter([(root, first)]);
        let mut pending = first.targets.to_vec();
        while let Some(id) = pending.pop() {
            let only_compares = |id: Id| {
                let instructions = |statement: &&Statement<'_>| {
                    !matches!(statement, Statement::Loc(_) | Statement::Label(_))
                };
                graph.blocks[id].body.iter().filter(instructions).count() == 1
            };
            if let Some(&next) = decisions.get(&id)
                && next.register == first.register
                && only_compares(id)
                && tree.insert(id, next).is_none()
            {
                pending.extend(next.targets);
            }
        }
        if tree.len() >= BRANCHES && to_table(graph, names, root, &tree).is_some() {
            inside.extend(tree.into_keys());
            count += 1;
        }
    }
    count
}

/// Returns the comparison of a block's last instruction, if its branch depends on it.
fn decision<'a>(graph: &Graph<'a>, id: Id) -> Option<Decision<'a>> {
    let End::Branch(guard, _, to, otherwise) = graph.blocks[id].end else {
        return None;
    };
    let Some(Statement::Instruction(it)) = graph.blocks[id].body.last() else {
        return None;
    };
    let (
        [relation, ty],
        [
            Operand::Name(predicate),
            Operand::Name(register),
            Operand::Integer(by),
        ],
    ) = (&it.modifiers[..], &it.operands[..])
    else {
        return None;
    };
    if it.opcode != "setp" || it.guard.is_some() || *predicate != guard.register {
        return None;
    }
    let relation = Relation::from_name(relation)?;
    let (signed, constant) = match *ty {
        "s16" => (true, i64::from(by.bits as i16)),
        "s32" => (true, i64::from(by.bits as i32)),
        "u16" | "b16" => (false, i64::from(by.bits as u16)),
        "u32" | "b32" => (false, i64::from(by.bits as u32)),
        _ => return None,
    };
    let is_equality = matches!(relation, Relation::Equal | Relation::NotEqual);
    Some(Decision {
        register,
        ty: graph.type_of(register)?,
        signed: (!is_equality).then_some(signed),
        relation,
        constant,
        predicate,
        targets: match guard.negated {
            true => [otherwise, to],
            false => [to, otherwise],
        },
    })
}

/// Replaces the end of a tree's root with a jump table, if the values in the table are close to each
/// other and all others have the same target.
fn to_table<'a>(
    graph: &mut Graph<'a>,
    names: &'a Names,
    root: Id,
    tree: &HashMap<Id, Decision<'a>>,
) -> Option<()> {
    let first = tree.get(&root)?;
    let mut orders = tree.values().filter_map(|decision| decision.signed);
    let signed = orders.next().unwrap_or(false);
    if orders.any(|other| other != signed) {
        return None;
    }
    let extended = |constant: i64| match (first.ty, signed) {
        (Type::B16, true) => i64::from(constant as i16),
        (Type::B16, false) => i64::from(constant as u16),
        (_, true) => i64::from(constant as i32),
        (_, false) => i64::from(constant as u32),
    };
    let (least, greatest) = match (first.ty, signed) {
        (Type::B16, true) => (i64::from(i16::MIN), i64::from(i16::MAX)),
        (Type::B16, false) => (0, i64::from(u16::MAX)),
        (Type::B32, true) => (i64::from(i32::MIN), i64::from(i32::MAX)),
        (Type::B32, false) => (0, i64::from(u32::MAX)),
        _ => return None,
    };
    let leaf = |value: i64| {
        let mut id = root;
        // Comparisons of the same value may form a loop.
        for _ in 0..tree.len() {
            let Some(decision) = tree.get(&id) else {
                break;
            };
            let holds = decision.relation.holds(value, extended(decision.constant));
            id = decision.targets[usize::from(!holds)];
        }
        id
    };
    let constants = || tree.values().map(|decision| extended(decision.constant));
    // An order changes after or before the constant.
    let mut low = constants().min()?.saturating_sub(1).max(least);
    let mut high = constants().max()?.saturating_add(1).min(greatest);
    if high - low >= ENTRIES {
        return None;
    }
    // What is outside goes where both ends go.
    let default = leaf(high);
    if low > least && leaf(low) != default {
        return None;
    }
    while low < high && low > least && leaf(low) == default {
        low += 1;
    }
    while low < high && leaf(high) == default {
        high -= 1;
    }
    // Saves a subtraction.
    if low > 0 && high < ENTRIES {
        low = 0;
    }
    let mut targets: Vec<Id> = (low..=high).map(leaf).collect();
    targets.push(default);
    if targets.iter().any(|target| tree.contains_key(target)) {
        return None;
    }

    let mut body = std::mem::take(&mut graph.blocks[root].body);
    // The comparison.
    body.pop();
    let mut value = first.register;
    if first.ty == Type::B16 {
        // As unsigned numbers, negative ones are above the table. Loads extend with zeros.
        let modifiers = if low < 0 {
            ["s32", "s16"]
        } else {
            ["u32", "u16"]
        };
        let operands = [Operand::Name(value)];
        value = graph.emit(names, &mut body, Type::B32, "cvt", &modifiers, operands);
    }
    if low != 0 {
        let by = Operand::Integer(Integer::signed(low.wrapping_neg()));
        let operands = [Operand::Name(value), by];
        value = graph.emit(names, &mut body, Type::B32, "add", &["s32"], operands);
    }
    let last = Operand::Integer(Integer::unsigned(high.abs_diff(low) + 1));
    let operands = [Operand::Name(value), last];
    let index = graph.emit(names, &mut body, Type::B32, "min", &["u32"], operands);
    graph.blocks[root].body = body;
    let table = names.label();
    let operands = [index, table].map(Operand::Name).to_vec();
    let Statement::Instruction(branch) = instruction("brx", &["idx"], operands) else {
        return None;
    };
    graph.switch(root, branch, table, targets);
    Some(())
}
