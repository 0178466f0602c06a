//! Computes conditions without branches.
//!
//! The right operand of `||` and `&&` often is a comparison and a logical operation, as in
//! `a < b || (a == b && i < j)`, so libnvvm keeps the branch around it. GPUs compute the operand for
//! all threads in less time than those of a warp need to diverge and reconverge.

use crate::hash::HashMap;

use super::flow::{End, Graph, Id};
use super::instructions::{rename, rename_operand, results};
use super::literal;
use super::liveness::Liveness;
use super::names::Names;
use super::specialize::is_fast;
use crate::{Guard, Instruction, Operand, Statement, Type};

/// The maximum number of instructions of both arms.
const SMALL: usize = 4;

/// Replaces the branches of a function. Returns the number of replaced ones.
pub(super) fn combine<'a>(graph: &mut Graph<'a>, names: &'a Names) -> usize {
    let cold = graph.cold();
    let mut count = 0;
    let mut live: Option<Liveness<'a>> = None;
    let predecessors = graph.predecessors();
    for root in graph.order.clone() {
        if cold[root] {
            continue;
        }
        if let Some(found) = Condition::at(graph, &cold, &predecessors, root, &mut live) {
            found.apply(graph, names, root);
            // The block may be an arm of another branch.
            live = None;
            count += 1;
        }
    }
    if count > 0 {
        graph.remove_unreachable();
        graph.tidy();
    }
    count
}

/// A branch whose arms only compute a predicate.
struct Condition<'a> {
    guard: Guard<'a>,
    /// The instructions of the arms, first those if the guard holds.
    arms: [Vec<Instruction<'a>>; 2],
    /// The predicate that the arms compute.
    result: &'a str,
    join: Id,
}

impl<'a> Condition<'a> {
    /// Returns the condition that the branch at the end of a block computes.
    fn at(
        graph: &Graph<'a>,
        cold: &[bool],
        predecessors: &[Vec<Id>],
        root: Id,
        live: &mut Option<Liveness<'a>>,
    ) -> Option<Condition<'a>> {
        let End::Branch(guard, _, to, otherwise) = graph.blocks[root].end else {
            return None;
        };
        let arm = |id: Id| match graph.blocks[id].end {
            End::Jump(next, _) if predecessors[id][..] == [root] => Some(next),
            _ => None,
        };
        let join = match (arm(to), arm(otherwise)) {
            (Some(a), Some(b)) if a == b => a,
            (Some(a), _) if a == otherwise => a,
            (_, Some(b)) if b == to => b,
            _ => return None,
        };
        if join == root || cold[join] || predecessors[join].len() != 2 {
            return None;
        }
        let mut arms = [Vec::new(), Vec::new()];
        for (arm, id) in arms.iter_mut().zip([to, otherwise]) {
            if id == join {
                continue;
            }
            for statement in &graph.blocks[id].body {
                match statement {
                    Statement::Instruction(it) if is_fast(it) && has_one_result(it) => {
                        arm.push(it.clone());
                    }
                    Statement::Loc(_) | Statement::Label(_) => {}
                    _ => return None,
                }
            }
        }
        if arms.iter().map(Vec::len).sum::<usize>() > SMALL {
            return None;
        }
        let live = live.get_or_insert_with(|| Liveness::new(graph, &graph.order.clone()));
        let mut needed: Vec<&'a str> = Vec::new();
        for it in arms.iter().flatten() {
            results(it, &mut |name| {
                if live.contains(join, name) && !needed.contains(&name) {
                    needed.push(name);
                }
            });
        }
        let [result] = needed[..] else {
            return None;
        };
        // Where the predicate selects a value, ptxas predicates the comparisons of the arms.
        if !matches!(graph.blocks[join].end, End::Branch(..)) {
            return None;
        }
        // Only the join reads the predicate, so the join can read another register.
        let targets = graph.blocks[join].end.targets();
        let stays = targets.iter().any(|&to| live.contains(to, result));
        let mut is_simple = true;
        for statement in &graph.blocks[join].body {
            match statement {
                Statement::Instruction(it) => {
                    is_simple &= is_fast(it);
                    results(it, &mut |name| is_simple &= name != result);
                }
                Statement::Loc(_) | Statement::Label(_) => {}
                _ => is_simple = false,
            }
        }
        (graph.type_of(result) == Some(Type::Pred) && !stays && is_simple).then_some(Condition {
            guard,
            arms,
            result,
            join,
        })
    }

    fn apply(self, graph: &mut Graph<'a>, names: &'a Names, root: Id) {
        let mut body = std::mem::take(&mut graph.blocks[root].body);
        let mut parts = Vec::new();
        for (arm, holds) in self.arms.into_iter().zip([true, false]) {
            let mut renamed: HashMap<&'a str, &'a str> = HashMap::default();
            for mut it in arm {
                let written = it.operands.remove(0);
                rename(&mut it, &mut |name| *renamed.get(name).unwrap_or(&name));
                it.operands.insert(0, written);
                let mut new = None;
                results(&it, &mut |name| {
                    new = graph.type_of(name).map(|ty| (name, ty));
                });
                if let Some((name, ty)) = new {
                    let register = graph.register(ty, names);
                    renamed.insert(name, register);
                    rename_operand(&mut it.operands[0], &mut |_| register);
                }
                body.push(Statement::Instruction(it));
            }
            let value = renamed.get(self.result).copied().unwrap_or(self.result);
            let guard = (self.guard.register, holds != self.guard.negated);
            let guard = literal(graph, names, &mut body, guard);
            parts.push(Operand::Name(graph.and(names, &mut body, [guard, value])));
        }
        let value = graph.emit(names, &mut body, Type::Pred, "or", &["pred"], parts);
        graph.blocks[root].body = body;
        graph.blocks[root].end = End::Jump(self.join, false);
        let mut new = |name| if name == self.result { value } else { name };
        let join = &mut graph.blocks[self.join];
        for statement in &mut join.body {
            if let Statement::Instruction(it) = statement {
                rename(it, &mut new);
            }
        }
        join.end.rename(&mut new);
    }
}

/// Returns whether the result of an instruction is one register.
fn has_one_result(it: &Instruction<'_>) -> bool {
    matches!(it.operands.first(), Some(Operand::Name(_)))
}
