//! Runs functions of one parameter type, `i64`, that call `@seen`.

use std::collections::HashMap;

use nvvm_ir::{BinOp, Block, CastOp, Const, Func, InstKind, IntPred, Module, Value, read_module};

/// Runs `@f` and returns the arguments of its calls, up to `limit`.
pub fn trace(text: &str, args: [u64; 2], limit: usize) -> Vec<u64> {
    let module = read_module(text).unwrap();
    let func: Func = module.as_func(module.named("f").unwrap()).unwrap();
    let data = module.func(func);
    let mut values: HashMap<Value, u64> = data.params.iter().copied().zip(args).collect();
    let mut memory: Vec<u64> = Vec::new();
    let (mut from, mut block): (Option<Block>, Block) = (None, data.blocks[0]);
    let mut seen = Vec::new();
    loop {
        let phis: Vec<(Value, u64)> = (module.block(block).insts.iter())
            .filter_map(|&inst| match &module.inst(inst)?.kind {
                InstKind::Phi(incoming) => {
                    let (value, _) = incoming.iter().find(|(_, it)| Some(*it) == from)?;
                    Some((inst, of(&module, &values, *value)))
                }
                _ => None,
            })
            .collect();
        values.extend(phis);
        let mut next = None;
        for &inst in &module.block(block).insts {
            let get = |value: Value| of(&module, &values, value);
            let result = match &module.inst(inst).unwrap().kind {
                InstKind::Phi(_) => continue,
                InstKind::Br(to) => {
                    next = Some(*to);
                    continue;
                }
                &InstKind::CondBr {
                    cond,
                    then,
                    otherwise,
                } => {
                    next = Some(if get(cond) & 1 != 0 { then } else { otherwise });
                    continue;
                }
                InstKind::Switch {
                    value,
                    default,
                    cases,
                } => {
                    let value = u128::from(get(*value));
                    let case = cases.iter().find(|(case, _)| *case == value);
                    next = Some(case.map_or(*default, |&(_, to)| to));
                    continue;
                }
                InstKind::Ret(_) => return seen,
                InstKind::Alloca { .. } => {
                    memory.push(0);
                    memory.len() as u64 - 1
                }
                &InstKind::Load { ptr, .. } => memory[get(ptr) as usize],
                &InstKind::Store { value, ptr, .. } => {
                    memory[get(ptr) as usize] = get(value);
                    continue;
                }
                &InstKind::Bin { op, lhs, rhs, .. } => {
                    let (a, b) = (get(lhs), get(rhs));
                    match op {
                        BinOp::Add => a.wrapping_add(b),
                        BinOp::Mul => a.wrapping_mul(b),
                        BinOp::Xor => a ^ b,
                        BinOp::And => a & b,
                        BinOp::Or => a | b,
                        _ => panic!("{op:?}"),
                    }
                }
                &InstKind::ICmp { pred, lhs, rhs } => {
                    let (a, b) = (get(lhs), get(rhs));
                    u64::from(match pred {
                        IntPred::Eq => a == b,
                        IntPred::Ne => a != b,
                        IntPred::Ult => a < b,
                        _ => panic!("{pred:?}"),
                    })
                }
                &InstKind::Select {
                    cond,
                    then,
                    otherwise,
                } => get(if get(cond) & 1 != 0 { then } else { otherwise }),
                &InstKind::Cast { op, value } => match op {
                    CastOp::ZExt | CastOp::IntToPtr | CastOp::PtrToInt => get(value),
                    _ => panic!("{op:?}"),
                },
                InstKind::Gep { base, indices, .. } => {
                    // Of bytes.
                    get(*base).wrapping_add(get(indices[0]))
                }
                InstKind::Call(call) => {
                    seen.push(get(call.args[0]));
                    if seen.len() == limit {
                        return seen;
                    }
                    continue;
                }
                kind => panic!("{kind:?}"),
            };
            values.insert(inst, result);
        }
        from = Some(block);
        block = next.unwrap();
    }
}

fn of(module: &Module, values: &HashMap<Value, u64>, value: Value) -> u64 {
    match module.as_const(value) {
        Some(Const::Int(number)) => *number as u64,
        Some(Const::IntToPtr(address)) => *address,
        Some(_) => 0,
        None => values[&value],
    }
}

/// Random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }
}
