//! The pass `widen_bytes`.

use std::collections::{HashMap, HashSet};

use super::unroll_array_loops::number;
use crate::inst::{BinOp, Call, Callee, CastOp, Flags, InstKind, IntPred};
use crate::intrinsic::Intrinsic;
use crate::metadata::Di;
use crate::module::Module;
use crate::types::Type;
use crate::value::{Block, Const, Func, Value};

/// Keeps integers of 8 and 16 bits that the iterations of a loop compute in registers of 32 bits,
/// extended with zeros.
///
/// GPUs compute with 32 bits: each extension of a byte is an instruction that clears the upper bits.
/// In Rust, the channels of a pixel are bytes, and so are the results of functions that compute
/// them. LLVM extends a byte where it is used, also if its computation has cleared the upper bits.
/// In C++, such values are `int`.
///
/// The same for rows of a board, or for other sets of up to 16 bits: to compare two `u16`, ptxas extends
/// one first.
///
/// The pass considers phis of such integers that are extended somewhere, and the selects and operations
/// between them. Each value gets a 32-bit value that equals its extension. A truncation clears the
/// upper bits unless the range of its operand shows that they are clear. The integers are truncations
/// of the 32-bit values.
pub fn widen_bytes(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        for width in [Width(8), Width(16)] {
            let bytes = bytes(module, func, width);
            if !bytes.is_empty() {
                rewrite(module, func, width, &bytes);
            }
        }
    }
}

/// The number of bits of the integers.
#[derive(Copy, Clone)]
struct Width(u32);

impl Width {
    fn is_of(self, module: &Module, value: Value) -> bool {
        module.types.int_bits(module.ty(value)) == Some(self.0)
    }

    /// Returns the largest integer.
    fn most(self) -> u64 {
        (1 << self.0) - 1
    }
}

/// Returns the instructions that get a 32-bit value.
fn bytes(module: &Module, func: Func, width: Width) -> HashSet<Value> {
    let mut users: HashMap<Value, Vec<Value>> = HashMap::new();
    let mut phis = Vec::new();
    for &block in &module.func(func).blocks {
        for &inst in &module.block(block).insts {
            let Some(data) = module.inst(inst) else {
                continue;
            };
            if width.is_of(module, inst) && module.is_phi(inst) {
                phis.push(inst);
            }
            (data.kind).for_each_operand(|operand| users.entry(operand).or_default().push(inst));
        }
    }
    let mut bytes = HashSet::new();
    let mut seen: HashSet<Value> = HashSet::new();
    for phi in phis {
        let mut group = Vec::new();
        let (mut extensions, mut masks) = (0, 0);
        let mut pending = vec![phi];
        while let Some(value) = pending.pop() {
            let Some(operands) = operands(module, value, width) else {
                continue;
            };
            if !seen.insert(value) {
                continue;
            }
            group.push(value);
            masks += usize::from(clears_bits(module, value, width));
            pending.extend(operands);
            for &user in users.get(&value).map_or(&[][..], Vec::as_slice) {
                extensions += usize::from(is_extension(module, user, width));
                pending.push(user);
            }
        }
        let is_known = |&operand: &Value| match module.as_const(operand) {
            Some(Const::Undef | Const::Poison) => true,
            Some(_) => number(module, operand).is_some(),
            None => true,
        };
        let all_known = |&value: &Value| {
            let operands = operands(module, value, width);
            operands.is_some_and(|operands| operands.iter().all(is_known))
        };
        if extensions > masks && group.iter().all(all_known) {
            bytes.extend(group);
        }
    }
    bytes
}

/// Returns the operands of this width of an instruction that can get a 32-bit value.
fn operands(module: &Module, value: Value, width: Width) -> Option<Vec<Value>> {
    if !width.is_of(module, value) {
        return None;
    }
    match &module.inst(value)?.kind {
        InstKind::Phi(incoming) => Some(incoming.iter().map(|&(value, _)| value).collect()),
        &InstKind::Select {
            then, otherwise, ..
        } => Some(vec![then, otherwise]),
        &InstKind::Bin {
            op,
            lhs,
            rhs,
            flags,
        } => match op {
            BinOp::Add | BinOp::Sub | BinOp::And | BinOp::Or | BinOp::Xor => Some(vec![lhs, rhs]),
            BinOp::Mul if flags.nuw => Some(vec![lhs, rhs]),
            BinOp::Shl | BinOp::LShr if number(module, rhs)? < width.0.into() => Some(vec![lhs]),
            _ => None,
        },
        InstKind::Call(call) if is_count(call) => Some(vec![call.args[0]]),
        InstKind::Call(call) if is_extremum(call) => Some(call.args.clone()),
        &InstKind::Cast {
            op: CastOp::Trunc,
            value,
        } => {
            let bits = module.types.int_bits(module.ty(value))?;
            (matches!(bits, 16 | 32 | 64) && bits > width.0).then(Vec::new)
        }
        _ => None,
    }
}

/// Returns whether a call counts the ones of an integer.
fn is_count(call: &Call) -> bool {
    matches!(call.callee, Callee::Intrinsic(Intrinsic::Ctpop))
}

/// Returns whether a call computes the minimum or the maximum of unsigned integers.
fn is_extremum(call: &Call) -> bool {
    let is_one = |callee| matches!(callee, Intrinsic::UMax | Intrinsic::UMin);
    matches!(call.callee, Callee::Intrinsic(callee) if is_one(callee))
}

/// Returns whether an instruction extends an operand, itself or for ptxas: a comparison of 16 bits, which
/// ptxas extends with the sign, and a minimum or maximum, which have 32 bits.
fn is_extension(module: &Module, inst: Value, width: Width) -> bool {
    match module.inst(inst).map(|data| &data.kind) {
        Some(InstKind::Cast {
            op: CastOp::ZExt, ..
        }) => true,
        Some(InstKind::ICmp { pred, .. }) => {
            width.0 == 16 && matches!(pred, IntPred::Eq | IntPred::Ne)
        }
        Some(InstKind::Call(call)) => is_extremum(call),
        _ => false,
    }
}

/// Returns whether the 32-bit value of an instruction needs another instruction to clear the bits
/// above the integer.
fn clears_bits(module: &Module, value: Value, width: Width) -> bool {
    match module.inst(value).map(|data| &data.kind) {
        Some(InstKind::Bin {
            op: BinOp::Add | BinOp::Sub | BinOp::Shl,
            flags,
            ..
        }) => !flags.nuw,
        Some(&InstKind::Cast { value, .. }) => max(module, value, 0) > width.most(),
        _ => false,
    }
}

/// Returns a number that a value does not exceed.
fn max(module: &Module, value: Value, depth: u32) -> u64 {
    let Some(bits) = module
        .types
        .int_bits(module.ty(value))
        .filter(|&bits| bits <= 64)
    else {
        return u64::MAX;
    };
    let all = u64::MAX >> (64 - bits);
    if let Some(number) = number(module, value) {
        return u64::try_from(number).map_or(all, |number| number & all);
    }
    if depth > 12 {
        return all;
    }
    let max = |value| max(module, value, depth + 1);
    let ones = |max: u64| max.checked_ilog2().map_or(0, |bit| u64::MAX >> (63 - bit));
    let bound = match module.inst(value).map(|data| &data.kind) {
        Some(&InstKind::Cast {
            op: CastOp::ZExt,
            value,
        }) => Some(max(value)),
        Some(&InstKind::Cast {
            op: CastOp::Trunc,
            value,
        }) => Some(max(value)),
        Some(&InstKind::Bin { op, lhs, rhs, .. }) => match op {
            BinOp::Add => max(lhs).checked_add(max(rhs)),
            BinOp::Mul => max(lhs).checked_mul(max(rhs)),
            BinOp::And => Some(max(lhs).min(max(rhs))),
            BinOp::Or | BinOp::Xor => Some(ones(max(lhs) | max(rhs))),
            BinOp::UDiv => Some(max(lhs)),
            BinOp::LShr => {
                let shift = number(module, rhs).and_then(|by| u32::try_from(by).ok());
                shift.and_then(|by| max(lhs).checked_shr(by))
            }
            BinOp::Shl => {
                let shift = number(module, rhs).filter(|&by| by < 32);
                shift.and_then(|by| max(lhs).checked_mul(1 << by))
            }
            _ => None,
        },
        Some(&InstKind::Select {
            cond,
            then,
            otherwise,
        }) => {
            let mut chosen = max(then);
            if let Some(&InstKind::ICmp {
                pred: IntPred::Ult,
                lhs,
                rhs,
            }) = module.inst(cond).map(|data| &data.kind)
                && lhs == then
            {
                chosen = chosen.min(max(rhs));
            }
            Some(chosen.max(max(otherwise)))
        }
        Some(InstKind::Call(call)) if is_count(call) => Some(bits.into()),
        Some(InstKind::Call(call)) if is_extremum(call) => {
            let [a, b] = [call.args[0], call.args[1]].map(max);
            Some(match call.callee {
                Callee::Intrinsic(Intrinsic::UMin) => a.min(b),
                _ => a.max(b),
            })
        }
        _ => None,
    };
    // A sum or product above wraps around.
    bound.filter(|&bound| bound <= all).unwrap_or(all)
}

/// Computes the integers with 32 bits.
fn rewrite(module: &mut Module, func: Func, width: Width, bytes: &HashSet<Value>) {
    let blocks = module.func(func).blocks.clone();
    let word = module.types.int(32);
    let mut words: HashMap<Value, Value> = HashMap::new();
    // Values that are computed otherwise are extended where they are computed.
    let mut extended: HashMap<Value, Value> = HashMap::new();
    let mut emit = Emit {
        module,
        width,
        word,
        block: blocks[0],
        loc: None,
        insts: Vec::new(),
    };
    for &block in &blocks {
        emit.block = block;
        for inst in emit.module.block(block).insts.clone() {
            if !bytes.contains(&inst) {
                continue;
            }
            emit.loc = emit.module.inst(inst).and_then(|data| data.loc);
            for operand in operands(emit.module, inst, width).unwrap_or_default() {
                let is_other = emit.module.as_const(operand).is_none() && !bytes.contains(&operand);
                if is_other && !extended.contains_key(&operand) {
                    // A parameter is extended in the entry block.
                    let place = emit.module.inst(operand).map(|data| data.block);
                    emit.block = place.unwrap_or(blocks[0]);
                    let wide = emit.create(InstKind::Cast {
                        op: CastOp::ZExt,
                        value: operand,
                    });
                    emit.block = block;
                    extended.insert(operand, wide);
                }
            }
            let wide = match emit.clear_word(inst) {
                Some(value) => value,
                None => emit.create(InstKind::Phi(Vec::new())),
            };
            words.insert(inst, wide);
        }
    }
    words.extend(extended.iter().map(|(&value, &wide)| (value, wide)));
    let mut same: HashMap<Value, Value> = HashMap::new();
    for (index, &block) in blocks.iter().enumerate() {
        let insts = std::mem::take(&mut emit.module.block_mut(block).insts);
        emit.block = block;
        let mut after_phis = Vec::new();
        if index == 0 {
            let mut params = emit.module.func(func).params.clone();
            params.retain(|param| extended.contains_key(param));
            after_phis.extend(params.iter().map(|param| extended[param]));
        }
        for inst in insts {
            emit.loc = emit.module.inst(inst).and_then(|data| data.loc);
            if !emit.module.is_phi(inst) {
                emit.insts.append(&mut after_phis);
            }
            if bytes.contains(&inst) {
                let byte = emit.widen(inst, &words);
                match emit.module.is_phi(words[&inst]) {
                    true => after_phis.push(byte),
                    false => emit.insts.push(byte),
                }
            } else if !emit.use_word(inst, bytes, &words, &mut same) {
                emit.insts.push(inst);
            }
            if let Some(&wide) = extended.get(&inst) {
                emit.insts.push(wide);
            }
        }
        let insts = std::mem::take(&mut emit.insts);
        emit.module.block_mut(block).insts = insts;
    }
    for &block in &blocks {
        for inst in module.block(block).insts.clone() {
            if let Some(data) = module.inst_mut(inst) {
                data.kind.for_each_operand_mut(|operand| {
                    if let Some(&value) = same.get(operand) {
                        *operand = value;
                    }
                });
            }
        }
    }
}

/// Collects the instructions of a block.
struct Emit<'a> {
    module: &'a mut Module,
    width: Width,
    word: Type,
    block: Block,
    loc: Option<Di>,
    insts: Vec<Value>,
}

impl Emit<'_> {
    /// Creates a 32-bit instruction, which is in no block yet.
    fn create(&mut self, kind: InstKind) -> Value {
        let inst = self.module.push_inst(self.block, self.word, kind, self.loc);
        self.module.block_mut(self.block).insts.pop();
        inst
    }

    /// Appends a 32-bit instruction.
    fn push(&mut self, kind: InstKind) -> Value {
        let inst = self.create(kind);
        self.insts.push(inst);
        inst
    }

    /// Returns the operand of a truncation from 32 bits if its upper bits are clear.
    fn clear_word(&self, inst: Value) -> Option<Value> {
        match self.module.inst(inst)?.kind {
            InstKind::Cast { value, .. } if self.module.ty(value) == self.word => {
                (max(self.module, value, 0) <= self.width.most()).then_some(value)
            }
            _ => None,
        }
    }

    /// Returns the 32-bit value of an operand.
    fn word(&mut self, operand: Value, words: &HashMap<Value, Value>) -> Value {
        match words.get(&operand) {
            Some(&wide) => wide,
            // An undefined value may be 0.
            None => {
                let number = number(self.module, operand).unwrap_or(0);
                self.module.const_int(self.word, number)
            }
        }
    }

    /// Appends the 32-bit value of an instruction. Returns the instruction, which truncates the value
    /// now and is not appended.
    fn widen(&mut self, inst: Value, words: &HashMap<Value, Value>) -> Value {
        let wide = words[&inst];
        let Some(kind) = self.module.inst(inst).map(|data| data.kind.clone()) else {
            return inst;
        };
        let clears = clears_bits(self.module, inst, self.width);
        let flags = Flags::default();
        let kind = match kind {
            InstKind::Phi(incoming) => InstKind::Phi(
                (incoming.into_iter())
                    .map(|(value, from)| (self.word(value, words), from))
                    .collect(),
            ),
            InstKind::Select {
                cond,
                then,
                otherwise,
            } => InstKind::Select {
                cond,
                then: self.word(then, words),
                otherwise: self.word(otherwise, words),
            },
            InstKind::Bin { op, lhs, rhs, .. } => {
                let lhs = self.word(lhs, words);
                let rhs = self.word(rhs, words);
                InstKind::Bin {
                    op,
                    lhs,
                    rhs,
                    flags,
                }
            }
            InstKind::Call(call) => {
                let args = call.args.iter().map(|&arg| self.word(arg, words));
                let args: Vec<Value> = args.collect();
                let sig = self.module.signature(self.word, &args);
                InstKind::Call(Box::new(Call::new(call.callee.clone(), sig, args)))
            }
            InstKind::Cast { value, .. } if value == wide => return inst,
            InstKind::Cast { value, .. } => {
                let (lhs, bits) = (value, self.module.types.int_bits(self.module.ty(value)));
                let cast = match bits {
                    Some(64) => Some(InstKind::Cast {
                        op: CastOp::Trunc,
                        value,
                    }),
                    Some(16) => Some(InstKind::Cast {
                        op: CastOp::ZExt,
                        value,
                    }),
                    _ => None,
                };
                let mask = self.module.const_int(self.word, self.width.most().into());
                let kind = match (cast, clears) {
                    (Some(cast), false) => cast,
                    (cast, _) => {
                        let lhs = cast.map_or(lhs, |cast| self.push(cast));
                        InstKind::Bin {
                            op: BinOp::And,
                            lhs,
                            rhs: mask,
                            flags,
                        }
                    }
                };
                self.set(wide, kind);
                return inst;
            }
            _ => return inst,
        };
        if clears {
            let lhs = self.push(kind);
            let rhs = self.module.const_int(self.word, self.width.most().into());
            self.set(
                wide,
                InstKind::Bin {
                    op: BinOp::And,
                    lhs,
                    rhs,
                    flags,
                },
            );
        } else {
            self.set(wide, kind);
        }
        if let Some(data) = self.module.inst_mut(inst) {
            data.kind = InstKind::Cast {
                op: CastOp::Trunc,
                value: wide,
            };
        }
        inst
    }

    /// Appends a created instruction as an instruction of this kind.
    fn set(&mut self, inst: Value, kind: InstKind) {
        if let Some(data) = self.module.inst_mut(inst) {
            data.kind = kind;
        }
        self.insts.push(inst);
    }

    /// Lets an instruction use the 32-bit values of its operands. Returns whether it is one of them
    /// and no longer needed.
    fn use_word(
        &mut self,
        inst: Value,
        bytes: &HashSet<Value>,
        words: &HashMap<Value, Value>,
        same: &mut HashMap<Value, Value>,
    ) -> bool {
        let kind = match self.module.inst(inst).map(|data| &data.kind) {
            Some(&InstKind::Cast {
                op: CastOp::ZExt,
                value,
            }) if bytes.contains(&value) => {
                let value = words[&value];
                match self.module.types.int_bits(self.module.ty(inst)) {
                    Some(32) => {
                        same.insert(inst, value);
                        return true;
                    }
                    Some(..32) => InstKind::Cast {
                        op: CastOp::Trunc,
                        value,
                    },
                    _ => InstKind::Cast {
                        op: CastOp::ZExt,
                        value,
                    },
                }
            }
            Some(&InstKind::ICmp { pred, lhs, rhs })
                if words.contains_key(&lhs) && [lhs, rhs].iter().any(|it| bytes.contains(it)) =>
            {
                let number = number(self.module, rhs);
                let most = u128::from(self.width.most());
                let (pred, rhs) = match (pred, number) {
                    (IntPred::Sgt, Some(number)) if number == most => {
                        (IntPred::Ult, Err(most / 2 + 1))
                    }
                    (IntPred::Slt, Some(0)) => (IntPred::Ugt, Err(most / 2)),
                    (IntPred::Sgt | IntPred::Sge | IntPred::Slt | IntPred::Sle, _) => return false,
                    (_, Some(number)) => (pred, Err(number)),
                    (_, None) if words.contains_key(&rhs) => (pred, Ok(words[&rhs])),
                    _ => return false,
                };
                let rhs = rhs.unwrap_or_else(|number| self.module.const_int(self.word, number));
                InstKind::ICmp {
                    pred,
                    lhs: words[&lhs],
                    rhs,
                }
            }
            _ => return false,
        };
        if let Some(data) = self.module.inst_mut(inst) {
            data.kind = kind;
        }
        false
    }
}
