//! The pass `step_zips`.

use std::collections::{HashMap, HashSet};

use super::count_iterations::{element, end_by};
use super::prune::prune;
use super::subtract_steps::is_zero;
use super::unroll_array_loops::number;
use super::unroll_divergent_loops::users;
use crate::flow::Flow;
use crate::inst::{BinOp, Callee, Flags, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// Lets iterators over zipped slices skip elements without a loop.
///
/// ```text
/// for (x, y) in a.iter().zip(b).skip(thread).step_by(256)
/// ```
///
/// `nth` of such an iterator skips `count` elements or those that are left, `min(len - start, count)`,
/// and then skips the rest of `count` one by one, until the slices end. Nothing is left of `count` if the
/// slices have another element: `max(start, start + min(len - start, count)) < len` is false if `min`
/// returns `len - start`, since the sum is `len` then. LLVM does not find that, so each step has a loop.
///
/// The pass replaces the comparison with `start < len && count < len - start`, the index of the element
/// with `start + count`, and what is left of `count` with 0. A loop that counts down a number that is 0
/// when the loop begins ends in its first iteration.
pub fn step_zips(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let users = users(module, func);
        let edges: Vec<Edge> = (module.func(func).blocks.iter())
            .flat_map(|&block| Edge::of(module, &users, block))
            .collect();
        if edges.is_empty() {
            continue;
        }
        let steps: Vec<Step> = (edges.into_iter())
            .filter_map(|edge| edge.apply(module, func, &users))
            .collect();
        fold_equal(module, func);
        end_counts(module, func);
        prune(module, func);
        for step in &steps {
            step.continue_from_element(module, func, &steps);
        }
    }
}

/// A way on which the smaller one of two numbers is known.
struct Edge {
    /// The block that the way leaves, the block it leads to, and the other target of the branch.
    from: Block,
    to: Block,
    other: Block,
    /// The minimum, and the number that it is.
    min: Value,
    count: Value,
    sum: Option<Sum>,
}

/// The index of an element behind skipped ones: `max(start, start + min(len - start, count))`.
#[derive(Copy, Clone)]
struct Sum {
    start: Value,
    len: Value,
    /// `len - start`.
    rest: Value,
    sum: Value,
    max: Value,
}

/// A branch that tests whether slices have an element behind skipped ones.
struct Step {
    from: Block,
    to: Block,
    start: Value,
    len: Value,
    count: Value,
    /// Whether more than `count` elements are left, if `start` is not behind the end.
    enough: Value,
    /// The index of the element.
    next: Value,
}

fn kind(module: &Module, value: Value) -> Option<&InstKind> {
    module.inst(value).map(|data| &data.kind)
}

fn binary(module: &Module, value: Value, wanted: BinOp) -> Option<(Value, Value)> {
    match *kind(module, value)? {
        InstKind::Bin { op, lhs, rhs, .. } if op == wanted => Some((lhs, rhs)),
        _ => None,
    }
}

/// Returns the arguments of a call of an intrinsic, in both orders.
fn arguments(module: &Module, value: Value, wanted: Intrinsic) -> Option<[(Value, Value); 2]> {
    match kind(module, value)? {
        InstKind::Call(call) if call.callee == Callee::Intrinsic(wanted) => match call.args[..] {
            [a, b] => Some([(a, b), (b, a)]),
            _ => None,
        },
        _ => None,
    }
}

/// Replaces the uses of a value that `is_meant` accepts: the user, and the block from which a phi takes
/// the value.
fn replace(
    module: &mut Module,
    users: &[Value],
    (old, new): (Value, Value),
    is_meant: impl Fn(&Module, Value, Option<Block>) -> bool,
) {
    for &user in users {
        let Some(mut kind) = kind(module, user).cloned() else {
            continue;
        };
        match &mut kind {
            InstKind::Phi(incoming) => (incoming.iter_mut())
                .filter(|(value, from)| *value == old && is_meant(module, user, Some(*from)))
                .for_each(|(value, _)| *value = new),
            kind if is_meant(module, user, None) => kind.for_each_operand_mut(|operand| {
                if *operand == old {
                    *operand = new;
                }
            }),
            _ => continue,
        }
        if let Some(data) = module.inst_mut(user) {
            data.kind = kind;
        }
    }
}

impl Edge {
    /// Returns the ways that leave a block.
    fn of(module: &Module, users: &HashMap<Value, Vec<Value>>, from: Block) -> Option<Edge> {
        let (less, more, to, other) = less_on_edge(module, from)?;
        let edge = |min, count, sum| Edge {
            from,
            to,
            other,
            min,
            count,
            sum,
        };
        if let Some((sum, min, count)) = Sum::of(module, less, more) {
            return Some(edge(min, count, Some(sum)));
        }
        let is_min = |&&user: &&Value| {
            let pairs = arguments(module, user, Intrinsic::UMin);
            pairs.is_some_and(|pairs| pairs.contains(&(less, more)))
        };
        let min = users.get(&less)?.iter().find(is_min)?;
        Some(edge(*min, less, None))
    }

    /// Uses what is known on the way.
    fn apply(
        self,
        module: &mut Module,
        func: Func,
        users: &HashMap<Value, Vec<Value>>,
    ) -> Option<Step> {
        let blocks = &module.func(func).blocks;
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let Edge {
            from,
            to,
            min,
            count,
            ..
        } = self;
        let is_only = flow.predecessors(index[&to]) == [index[&from] as u32];
        let is_behind = |module: &Module, user: Value, place: Option<Block>| {
            let block = module.inst(user).map(|data| data.block);
            let is_edge = place == Some(from) && block == Some(to);
            is_edge
                || is_only
                    && (place.or(block)).is_some_and(|block| {
                        flow.is_reachable(index[&block])
                            && flow.dominates(index[&to], index[&block])
                    })
        };
        let users_of = |value: Value| users.get(&value).map_or(&[][..], Vec::as_slice);
        let none = module.const_int(module.ty(min), 0);
        for &left in users_of(min) {
            let is_left = binary(module, left, BinOp::Sub) == Some((count, min))
                || [(min, count), (count, min)].map(Some).contains(&binary(
                    module,
                    left,
                    BinOp::Xor,
                ));
            if is_left {
                replace(module, users_of(left), (left, none), is_behind);
            }
        }
        replace(module, users_of(min), (min, count), is_behind);
        let sum = self.sum?;
        let ty = module.ty(count);
        let truth = module.types.int(1);
        let compared = |pred, lhs, rhs| InstKind::ICmp { pred, lhs, rhs };
        let inside = compared(IntPred::Ult, sum.start, sum.len);
        let inside = module.insert_at_end(from, truth, inside);
        let enough = compared(IntPred::Ugt, sum.rest, count);
        let enough = module.insert_at_end(from, truth, enough);
        let bin = |op, lhs, rhs| InstKind::Bin {
            op,
            lhs,
            rhs,
            flags: Flags::default(),
        };
        let both = module.insert_at_end(from, truth, bin(BinOp::And, inside, enough));
        let next = module.insert_at_end(from, ty, bin(BinOp::Add, sum.start, count));
        replace(module, users_of(sum.sum), (sum.sum, next), is_behind);
        replace(module, users_of(sum.max), (sum.max, next), is_behind);
        branch_if(module, from, both, to, self.other);
        Some(Step {
            from,
            to,
            start: sum.start,
            len: sum.len,
            count,
            enough,
            next,
        })
    }
}

/// Lets a block branch to `to` if a condition holds, and otherwise to `other`.
fn branch_if(module: &mut Module, block: Block, cond: Value, to: Block, other: Block) {
    if let Some(data) = (module.terminator(block)).and_then(|end| module.inst_mut(end)) {
        data.kind = InstKind::CondBr {
            cond,
            then: to,
            otherwise: other,
        };
    }
}

impl Sum {
    /// Matches the index behind skipped elements of slices with a length. Returns the number of skipped
    /// elements and the number of those to skip, too.
    fn of(module: &Module, max: Value, len: Value) -> Option<(Sum, Value, Value)> {
        let sums = match arguments(module, max, Intrinsic::UMax) {
            Some(pairs) => pairs.map(|(start, sum)| (Some(start), sum)).to_vec(),
            // The sum that does not wrap around is the maximum.
            None if adds_without_wrap(module, max) => vec![(None, max)],
            None => return None,
        };
        let summands = sums.into_iter().flat_map(|(start, sum)| {
            let (a, b) = binary(module, sum, BinOp::Add).unzip();
            let pairs = a.zip(b).into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
            pairs
                .filter(move |&(from, _)| start.is_none_or(|start| start == from))
                .map(move |(from, min)| (from, sum, min))
        });
        summands.into_iter().find_map(|(start, sum, min)| {
            let pairs = arguments(module, min, Intrinsic::UMin)?;
            pairs.into_iter().find_map(|(rest, count)| {
                (binary(module, rest, BinOp::Sub)? == (len, start)).then_some(())?;
                let sum = Sum {
                    start,
                    len,
                    rest,
                    sum,
                    max,
                };
                Some((sum, min, count))
            })
        })
    }
}

fn adds_without_wrap(module: &Module, sum: Value) -> bool {
    let flags = match kind(module, sum) {
        Some(InstKind::Bin {
            op: BinOp::Add,
            flags,
            ..
        }) => flags,
        _ => return false,
    };
    flags.nuw
}

/// Replaces phis whose values are all the same constant, differences of equal numbers, and sums and
/// comparisons with 0.
fn fold_equal(module: &mut Module, func: Func) {
    loop {
        let mut folded = None;
        let blocks = module.func(func).blocks.iter();
        for inst in blocks.flat_map(|&block| module.block(block).insts.iter().copied()) {
            let value = match kind(module, inst) {
                Some(InstKind::Phi(incoming)) => {
                    let first = incoming.first().map(|&(value, _)| value);
                    let is_same = incoming.iter().all(|&(value, _)| Some(value) == first);
                    first.filter(|&value| is_same && number(module, value).is_some())
                }
                Some(&InstKind::Bin {
                    op: BinOp::Add,
                    lhs,
                    rhs,
                    ..
                }) if is_zero(module, lhs) => Some(rhs),
                Some(
                    &InstKind::ICmp {
                        pred: IntPred::Ugt,
                        lhs: zero,
                        ..
                    }
                    | &InstKind::ICmp {
                        pred: IntPred::Ult,
                        rhs: zero,
                        ..
                    },
                ) if is_zero(module, zero) => {
                    folded = Some((inst, None));
                    break;
                }
                Some(&InstKind::Bin {
                    op: BinOp::Sub | BinOp::Xor,
                    lhs,
                    rhs,
                    ..
                }) if is_equal(module, lhs, rhs)
                    && module.types.int_bits(module.ty(inst)).is_some() =>
                {
                    folded = Some((inst, None));
                    break;
                }
                _ => None,
            };
            if value.is_some() {
                folded = Some((inst, value));
                break;
            }
        }
        let Some((inst, value)) = folded else {
            return;
        };
        let value = value.unwrap_or_else(|| module.const_int(module.ty(inst), 0));
        let users = users(module, func);
        let of_inst = users.get(&inst).cloned().unwrap_or_default();
        replace(module, &of_inst, (inst, value), |_, _, _| true);
        if let Some(block) = module.inst(inst).map(|data| data.block) {
            module.block_mut(block).insts.retain(|&each| each != inst);
        }
    }
}

/// Returns whether two values are the same, or phis of the same values.
fn is_equal(module: &Module, a: Value, b: Value) -> bool {
    let incoming = |value: Value| match module.inst(value) {
        Some(data) => match &data.kind {
            InstKind::Phi(incoming) => Some((data.block, incoming)),
            _ => None,
        },
        None => None,
    };
    a == b || incoming(a).is_some() && incoming(a) == incoming(b)
}

/// Decides branches on a number that is 0 whenever the block of the branch is entered: from outside, and
/// only the other way leads back.
fn end_counts(module: &mut Module, func: Func) {
    let blocks = module.func(func).blocks.clone();
    let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| index[&block]);
    for &header in &blocks {
        let Some(end) = module.terminator(header) else {
            continue;
        };
        let Some(&InstKind::CondBr {
            cond,
            then,
            otherwise,
        }) = kind(module, end)
        else {
            continue;
        };
        let (is_zero_then, counter) = match kind(module, cond) {
            Some(&InstKind::ICmp { pred, lhs, rhs }) if is_zero(module, rhs) => match pred {
                IntPred::Eq => (true, lhs),
                IntPred::Ne => (false, lhs),
                _ => continue,
            },
            _ => continue,
        };
        let on = if is_zero_then { otherwise } else { then };
        let Some(data) = module.inst(counter).filter(|data| data.block == header) else {
            continue;
        };
        let InstKind::Phi(incoming) = &data.kind else {
            continue;
        };
        let goes_on = |from: Block| {
            let from = index[&from];
            flow.is_reachable(from) && flow.dominates(index[&on], from)
        };
        let is_private = on != header
            && then != otherwise
            && flow.predecessors(index[&on]) == [index[&header] as u32];
        let is_back = |&&(_, from): &&(Value, Block)| goes_on(from);
        let is_zero = incoming
            .iter()
            .all(|&(value, from)| goes_on(from) || is_zero(module, value));
        if is_private && is_zero && incoming.iter().any(|each| is_back(&each)) {
            let decided = module.const_bool(is_zero_then);
            if let Some(data) = module.inst_mut(end) {
                data.kind = InstKind::CondBr {
                    cond: decided,
                    then,
                    otherwise,
                };
            }
        }
    }
}

impl Step {
    /// Compares with the index of the element before, if this step begins behind an element of the same
    /// slices.
    fn continue_from_element(&self, module: &mut Module, func: Func, steps: &[Step]) {
        let Some((mut element, one)) = binary(module, self.start, BinOp::Add) else {
            return;
        };
        if number(module, one) != Some(1) {
            return;
        }
        let accessed = element;
        let mut seen = HashSet::new();
        let incoming = loop {
            let Some(InstKind::Phi(incoming)) = kind(module, element) else {
                return;
            };
            match incoming[..] {
                [(value, _)] if seen.insert(element) && module.as_const(value).is_none() => {
                    if matches!(kind(module, value), Some(InstKind::Phi(_))) {
                        element = value;
                        continue;
                    }
                    break incoming.clone();
                }
                _ => break incoming.clone(),
            }
        };
        let Some(block) = module.inst(element).map(|data| data.block) else {
            return;
        };
        let is_element = |&(value, from): &(Value, Block)| {
            let mut steps = steps.iter();
            steps.any(|step| {
                step.next == value && step.from == from && step.to == block && step.len == self.len
            }) || less_on_edge(module, from)
                .is_some_and(|(less, more, to, _)| to == block && (less, more) == (value, self.len))
        };
        let end = module.terminator(self.from);
        let Some(&InstKind::CondBr {
            then, otherwise, ..
        }) = end.and_then(|end| kind(module, end))
        else {
            return;
        };
        let is_step = |&(value, _): &(Value, Block)| steps.iter().any(|it| it.next == value);
        if !incoming.iter().all(is_element) || !incoming.iter().any(is_step) {
            return;
        }
        let bits = module.types.int_bits(module.ty(self.count));
        let count = number(module, self.count).filter(|&count| count < 1 << 31);
        let cond = match count {
            Some(count) if bits.is_some_and(|bits| bits >= 32) => {
                let ty = module.ty(self.count);
                let truth = module.types.int(1);
                let step = module.const_int(ty, count + 1);
                let bin = |op, lhs, rhs| InstKind::Bin {
                    op,
                    lhs,
                    rhs,
                    flags: Flags::default(),
                };
                if selects_access(module, func, accessed, self.from) {
                    if let Some(data) = module.inst_mut(self.next) {
                        data.kind = InstKind::Bin {
                            op: BinOp::Add,
                            lhs: element,
                            rhs: step,
                            flags: Flags {
                                nuw: true,
                                ..Flags::default()
                            },
                        };
                    }
                    end_by(module, self.from, IntPred::Ult, self.next, self.len);
                    return;
                }
                // The element is before the end, so the difference is at least 1.
                let rest = bin(BinOp::Sub, self.len, element);
                let rest = module.insert_at_end(self.from, ty, rest);
                let enough = InstKind::ICmp {
                    pred: IntPred::Ugt,
                    lhs: rest,
                    rhs: step,
                };
                let enough = module.insert_at_end(self.from, truth, enough);
                if let Some(data) = module.inst_mut(self.next) {
                    data.kind = bin(BinOp::Add, element, step);
                }
                enough
            }
            _ => self.enough,
        };
        branch_if(module, self.from, cond, then, otherwise);
    }
}

/// Returns two numbers of which the first is less than the second if a block branches to the first
/// target, and both targets.
fn less_on_edge(module: &Module, from: Block) -> Option<(Value, Value, Block, Block)> {
    let &InstKind::CondBr {
        cond,
        then,
        otherwise,
    } = kind(module, module.terminator(from)?)?
    else {
        return None;
    };
    let &InstKind::ICmp { pred, lhs, rhs } = kind(module, cond)? else {
        return None;
    };
    let found = match pred {
        IntPred::Ult => (lhs, rhs, then, otherwise),
        IntPred::Ugt => (rhs, lhs, then, otherwise),
        IntPred::Uge => (lhs, rhs, otherwise, then),
        IntPred::Ule => (rhs, lhs, otherwise, then),
        _ => return None,
    };
    (then != otherwise).then_some(found)
}

/// Returns whether an access whose address is that of the element with an index always happens before a
/// block. The index is less than 2^63 then, because the element has a size.
fn selects_access(module: &Module, func: Func, index: Value, before: Block) -> bool {
    let blocks = &module.func(func).blocks;
    let place: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
    let flow = Flow::new(module, func, |block| place[&block]);
    let users = users(module, func);
    let users_of = |value: Value| users.get(&value).into_iter().flatten().copied();
    let is_access = |address: Value| {
        users_of(address).any(|user| {
            let Some(data) = module.inst(user) else {
                return false;
            };
            let accesses = match data.kind {
                InstKind::Load { ptr, .. } | InstKind::Store { ptr, .. } => ptr == address,
                _ => false,
            };
            accesses && flow.dominates(place[&data.block], place[&before])
        })
    };
    users_of(index).any(|user| {
        element(module, user).is_some_and(|(_, size, selected)| size > 0 && selected == index)
            && is_access(user)
    })
}
