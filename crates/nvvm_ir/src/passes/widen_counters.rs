//! The pass `widen_counters`.

use std::collections::HashMap;

use super::keep_searches::panics;
use super::unroll_divergent_loops::users;
use crate::flow::{Flow, Loop};
use crate::inst::{BinOp, CastOp, Flags, InstKind, IntPred};
use crate::module::Module;
use crate::value::{Block, Const, Func, Value};

/// The maximum number of operations from a counter to the address that it selects.
const DEPTH: u32 = 3;

/// The maximum number of instructions of a loop. libnvvm unrolls longer ones little or not at all.
const LONGEST: usize = 48;

/// Counts in 64 bits where an innermost loop with one exit computes addresses from a counter of 32
/// bits.
///
/// libnvvm unrolls such a loop, and forgets that the counter does not wrap around, so it extends the
/// counter of each copy and multiplies it by the size of an element. An address that grows by a
/// constant takes one addition for all copies.
///
/// LLVM would widen the counters of all loops, since it has no costs of the target. In long loops and
/// in loops with several exits, which libnvvm does not unroll, a counter of 64 bits costs two
/// instructions per addition and per comparison, and two registers, and so does each address.
pub fn widen_counters(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let index: HashMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let flow = Flow::new(module, func, |block| index[&block]);
        let loops = flow.loops();
        let is_innermost = |each: &&Loop| {
            let headers = loops.iter().map(|other| other.header);
            headers.filter(|header| each.body.contains(header)).count() == 1
        };
        let is_short = |each: &&Loop| {
            let sizes = each
                .body
                .iter()
                .map(|&at| module.block(blocks[at]).insts.len());
            sizes.sum::<usize>() <= LONGEST
        };
        let known: Vec<(&Loop, Ends)> = (loops.iter())
            .filter(|each| is_innermost(each) && is_short(each))
            .filter_map(|each| Some((each, Ends::of(module, &blocks, &index, &flow, each)?)))
            .collect();
        if known.is_empty() {
            continue;
        }
        let users = users(module, func);
        let users = |value: Value| users.get(&value).map_or(&[][..], Vec::as_slice);
        let mut replaced = HashMap::new();
        for (each, ends) in known {
            let is_inside = |value: Value| {
                let block = module.inst(value).map(|data| index[&data.block]);
                block.is_some_and(|block| each.body.contains(&block))
            };
            let phis = module.block(ends.header).insts.iter().copied();
            let counters =
                phis.filter_map(|phi| Counter::of(module, &ends, phi, &users, is_inside));
            for counter in counters.collect::<Vec<Counter>>() {
                counter.widen(module, &ends, &mut replaced);
            }
        }
        replace(module, &blocks, &replaced);
    }
}

/// The ends of a loop that only its latch leaves, apart from panics.
pub(super) struct Ends {
    pub header: Block,
    pub latch: Block,
    /// The only block before the loop.
    pub before: Block,
}

impl Ends {
    pub fn of(
        module: &Module,
        blocks: &[Block],
        index: &HashMap<Block, usize>,
        flow: &Flow,
        each: &Loop,
    ) -> Option<Ends> {
        let &[latch] = &each.latches[..] else {
            return None;
        };
        let from = flow.predecessors(each.header).iter();
        let mut outside = from
            .map(|&from| from as usize)
            .filter(|from| !each.body.contains(from));
        let before = outside.next()?;
        if outside.next().is_some() || !flow.is_reachable(before) {
            return None;
        }
        let leaves = |&block: &usize| {
            let terminator = module.terminator(blocks[block]);
            let to = terminator.and_then(|inst| module.inst(inst));
            to.is_none_or(|data| {
                data.kind
                    .successors()
                    .iter()
                    .any(|&to| !each.body.contains(&index[&to]) && !panics(module, to))
            })
        };
        let mut exiting = each.body.iter().filter(|&block| leaves(block));
        (exiting.next() == Some(&latch) && exiting.next().is_none()).then(|| Ends {
            header: blocks[each.header],
            latch: blocks[latch],
            before: blocks[before],
        })
    }
}

/// A counter of 32 bits that does not wrap around.
struct Counter {
    phi: Value,
    start: Value,
    next: Value,
    step: u64,
    /// `ZExt` or `SExt`.
    extend: CastOp,
    /// The extensions of the counter, of the next number, and of sums with a constant.
    extensions: Vec<(Value, Extension)>,
    /// The comparison at the end of the loop, if nothing else uses the counter.
    end: Option<(IntPred, Value, Value)>,
}

enum Extension {
    Counter,
    Next,
    Sum(u64),
}

impl Counter {
    fn of<'a>(
        module: &Module,
        ends: &Ends,
        phi: Value,
        users: &impl Fn(Value) -> &'a [Value],
        is_inside: impl Fn(Value) -> bool,
    ) -> Option<Counter> {
        let kind = |value: Value| module.inst(value).map(|data| &data.kind);
        let InstKind::Phi(incoming) = kind(phi)? else {
            return None;
        };
        (module.types.int_bits(module.ty(phi)) == Some(32) && incoming.len() == 2).then_some(())?;
        let start = module.incoming(phi, ends.before)?;
        let next = module.incoming(phi, ends.latch)?;
        let (flags, step) = sum(module, next, phi)?;
        [CastOp::ZExt, CastOp::SExt].into_iter().find_map(|extend| {
            let holds = |flags: Flags| match extend {
                CastOp::ZExt => flags.nuw,
                _ => flags.nsw,
            };
            let widened = |number: u32| match extend {
                CastOp::ZExt => u64::from(number),
                _ => number as i32 as u64,
            };
            holds(flags).then_some(())?;
            let mut extensions = Vec::new();
            let mut others = Vec::new();
            for &user in users(phi) {
                match sum(module, user, phi) {
                    _ if user == next => {}
                    Some((flags, number)) if holds(flags) => {
                        for &it in users(user) {
                            match extends(module, it, extend) {
                                true => extensions.push((it, Extension::Sum(widened(number)))),
                                false => others.push(it),
                            }
                        }
                    }
                    _ if extends(module, user, extend) => {
                        extensions.push((user, Extension::Counter));
                    }
                    _ => others.push(user),
                }
            }
            for &user in users(next).iter().filter(|&&user| user != phi) {
                match extends(module, user, extend) {
                    true => extensions.push((user, Extension::Next)),
                    false => others.push(user),
                }
            }
            let selects = |&(it, _): &(Value, Extension)| {
                is_inside(it) && selects_address(module, users, it, 0)
            };
            extensions.iter().any(selects).then_some(())?;
            let end = match others[..] {
                [end] => is_end(module, ends, end, [phi, next], extend, &is_inside),
                _ => None,
            };
            Some(Counter {
                phi,
                start,
                next,
                step: widened(step),
                extend,
                extensions,
                end,
            })
        })
    }

    fn widen(self, module: &mut Module, ends: &Ends, replaced: &mut HashMap<Value, Value>) {
        let long = module.types.int(64);
        let extend = self.extend;
        let start = extended(module, ends.before, self.start, extend);
        let flags = Flags {
            nuw: extend == CastOp::ZExt,
            nsw: true,
            ..Flags::default()
        };
        let add = |lhs: Value, rhs: Value| InstKind::Bin {
            op: BinOp::Add,
            lhs,
            rhs,
            flags,
        };
        let insert = |module: &mut Module, at: usize, kind: InstKind| {
            let inst = module.push_inst(ends.header, long, kind, None);
            module.block_mut(ends.header).insts[at..].rotate_right(1);
            inst
        };
        let wide = insert(module, 0, InstKind::Phi(Vec::new()));
        let insts = &module.block(ends.header).insts;
        let phis = insts
            .iter()
            .take_while(|&&inst| module.is_phi(inst))
            .count();
        let step = module.const_int(long, self.step.into());
        let next = insert(module, phis, add(wide, step));
        if let Some(data) = module.inst_mut(wide) {
            data.kind = InstKind::Phi(vec![(start, ends.before), (next, ends.latch)]);
        }
        for (extension, of) in self.extensions {
            match of {
                Extension::Counter => {
                    replaced.insert(extension, wide);
                }
                Extension::Next => {
                    replaced.insert(extension, next);
                }
                Extension::Sum(number) => {
                    let number = module.const_int(long, number.into());
                    if let Some(data) = module.inst_mut(extension) {
                        data.kind = add(wide, number);
                    }
                }
            }
        }
        if let Some((pred, lhs, rhs)) = self.end {
            let mut operand = |value: Value| match value {
                _ if value == self.phi => wide,
                _ if value == self.next => next,
                _ => extended(module, ends.before, value, extend),
            };
            let (lhs, rhs) = (operand(lhs), operand(rhs));
            super::count_iterations::end_by(module, ends.latch, pred, lhs, rhs);
        }
    }
}

/// Returns the flags and the constant of a sum of a value and a constant.
fn sum(module: &Module, sum: Value, of: Value) -> Option<(Flags, u32)> {
    let InstKind::Bin {
        op: BinOp::Add,
        lhs,
        rhs,
        flags,
    } = module.inst(sum)?.kind
    else {
        return None;
    };
    match module.as_const(rhs) {
        Some(&Const::Int(number)) if lhs == of => Some((flags, number as u32)),
        _ => None,
    }
}

/// Returns whether a value extends another one to 64 bits.
fn extends(module: &Module, value: Value, extend: CastOp) -> bool {
    let kind = module.inst(value).map(|data| &data.kind);
    matches!(kind, Some(&InstKind::Cast { op, .. }) if op == extend)
        && module.types.int_bits(module.ty(value)) == Some(64)
}

/// Returns whether an address is computed from a value by few operations.
fn selects_address<'a>(
    module: &Module,
    users: &impl Fn(Value) -> &'a [Value],
    value: Value,
    depth: u32,
) -> bool {
    users(value)
        .iter()
        .any(|&user| match module.inst(user).map(|data| &data.kind) {
            Some(InstKind::Gep { indices, .. }) => indices.contains(&value),
            Some(InstKind::Bin { .. }) if depth < DEPTH => {
                selects_address(module, users, user, depth + 1)
            }
            _ => false,
        })
}

/// Returns the comparison of a counter at the end of a loop if it can compare extended numbers.
fn is_end(
    module: &Module,
    ends: &Ends,
    value: Value,
    counter: [Value; 2],
    extend: CastOp,
    is_inside: &impl Fn(Value) -> bool,
) -> Option<(IntPred, Value, Value)> {
    let terminator = module
        .terminator(ends.latch)
        .and_then(|inst| module.inst(inst));
    let &InstKind::CondBr { cond, .. } = &terminator?.kind else {
        return None;
    };
    let &InstKind::ICmp { pred, lhs, rhs } = &module.inst(value)?.kind else {
        return None;
    };
    let is_signed = matches!(
        pred,
        IntPred::Sgt | IntPred::Sge | IntPred::Slt | IntPred::Sle
    );
    let counts = |value| counter.contains(&value);
    let is_known = |value| counts(value) || !is_inside(value);
    (cond == value
        && (extend == CastOp::SExt || !is_signed)
        && counts(lhs) != counts(rhs)
        && is_known(lhs)
        && is_known(rhs))
    .then_some((pred, lhs, rhs))
}

/// Returns the extension of a value that is known at the end of a block.
fn extended(module: &mut Module, block: Block, value: Value, extend: CastOp) -> Value {
    let long = module.types.int(64);
    let number = match module.as_const(value) {
        Some(&Const::Int(number)) => Some(number as u32),
        Some(Const::Zero) => Some(0),
        _ => None,
    };
    match (number, extend) {
        (Some(number), CastOp::ZExt) => module.const_int(long, number.into()),
        (Some(number), _) => module.const_int(long, (number as i32 as u64).into()),
        (None, op) => module.insert_at_end(block, long, InstKind::Cast { op, value }),
    }
}

/// Replaces uses of values.
pub(super) fn replace(module: &mut Module, blocks: &[Block], replaced: &HashMap<Value, Value>) {
    for &block in blocks {
        for inst in module.block(block).insts.clone() {
            if let Some(data) = module.inst_mut(inst) {
                data.kind.for_each_operand_mut(|operand| {
                    if let Some(&new) = replaced.get(operand) {
                        *operand = new;
                    }
                });
            }
        }
    }
}
