//! Runs functions of one parameter type, `i64`, that call `@seen`.

use std::collections::HashMap;

use nvvm_ir::{
    BinOp, Block, Callee, CastOp, Const, Func, InstKind, IntPred, Intrinsic, Module, Value,
    read_module,
};

/// What is in a variable before the first store, and what is computed from that.
pub const UNDEF: u64 = 0xfeed_feed_feed_feed;

/// What a run that ends at a wrong assumption records last.
pub const WRONG: u64 = 0xbad0_bad0_bad0_bad0;

/// A local variable: words of eight bytes.
struct Local {
    words: Vec<u64>,
    /// Whether it may be accessed. One with lifetime markers may be between them.
    lives: bool,
}

/// Runs `@f` and returns the arguments of its calls, up to `limit`. An access to a variable outside its
/// lifetime or its bounds, or a branch on [`UNDEF`], ends the run.
pub fn trace(text: &str, args: [u64; 2], limit: usize) -> Vec<u64> {
    let module = read_module(text).unwrap();
    let func: Func = module.as_func(module.named("f").unwrap()).unwrap();
    let data = module.func(func);
    let mut values: HashMap<Value, u64> = data.params.iter().copied().zip(args).collect();
    let mut locals: Vec<Local> = Vec::new();
    let marked = marked(&module, func);
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
                    if get(cond) == UNDEF {
                        return seen;
                    }
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
                &InstKind::Alloca { ty, .. } => {
                    locals.push(Local {
                        words: vec![UNDEF; module.types.size(ty).div_ceil(8) as usize],
                        lives: !marked.contains(&inst),
                    });
                    (locals.len() as u64 - 1) << 32
                }
                &InstKind::Load { ptr, .. } => match word(&mut locals, get(ptr)) {
                    Some(word) => *word,
                    None => return seen,
                },
                &InstKind::Store { value, ptr, .. } => {
                    let value = get(value);
                    match word(&mut locals, get(ptr)) {
                        Some(word) => *word = value,
                        None => return seen,
                    }
                    continue;
                }
                InstKind::Gep {
                    element,
                    base,
                    indices,
                    ..
                } => {
                    let by = get(indices[0]).wrapping_mul(module.types.size(*element));
                    get(*base).wrapping_add(by)
                }
                &InstKind::Bin { op, lhs, rhs, .. } => {
                    let (a, b) = (get(lhs), get(rhs));
                    let bits = module.types.int_bits(module.ty(inst)).unwrap();
                    u64::MAX >> (64 - bits)
                        & match op {
                            _ if a == UNDEF || b == UNDEF => UNDEF,
                            BinOp::Add => a.wrapping_add(b),
                            BinOp::Sub => a.wrapping_sub(b),
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
                        _ if a == UNDEF || b == UNDEF => return seen,
                        IntPred::Eq => a == b,
                        IntPred::Ne => a != b,
                        IntPred::Ult => a < b,
                        IntPred::Ule => a <= b,
                        IntPred::Ugt => a > b,
                        IntPred::Uge => a >= b,
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
                    CastOp::Trunc => {
                        let bits = module.types.int_bits(module.ty(inst)).unwrap();
                        u64::MAX >> (64 - bits) & get(value)
                    }
                    _ => panic!("{op:?}"),
                },
                InstKind::Call(call) if let Callee::Intrinsic(Intrinsic::Assume) = call.callee => {
                    if get(call.args[0]) & 1 == 0 {
                        seen.push(WRONG);
                        return seen;
                    }
                    continue;
                }
                InstKind::Call(call) if let Callee::Intrinsic(intrinsic) = call.callee => {
                    match intrinsic {
                        Intrinsic::Memcpy => {
                            for at in (0..get(call.args[2])).step_by(8) {
                                let Some(&mut from) = word(&mut locals, get(call.args[1]) + at)
                                else {
                                    return seen;
                                };
                                let Some(to) = word(&mut locals, get(call.args[0]) + at) else {
                                    return seen;
                                };
                                *to = from;
                            }
                        }
                        Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd => {
                            let local = &mut locals[(get(call.args[1]) >> 32) as usize];
                            local.lives = matches!(intrinsic, Intrinsic::LifetimeStart);
                            local.words.fill(UNDEF);
                        }
                        _ => panic!("{intrinsic:?}"),
                    }
                    continue;
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

/// Returns the variables with lifetime markers.
fn marked(module: &Module, func: Func) -> Vec<Value> {
    let blocks = module.func(func).blocks.iter();
    let insts = blocks.flat_map(|&block| &module.block(block).insts);
    insts
        .filter_map(|&inst| match &module.inst(inst)?.kind {
            InstKind::Call(call) => match call.callee {
                Callee::Intrinsic(Intrinsic::LifetimeStart) => Some(call.args[1]),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

/// Returns the word at an address, if its variable lives and has it.
fn word(locals: &mut [Local], address: u64) -> Option<&mut u64> {
    let local = locals.get_mut((address >> 32) as usize)?;
    let at = (address & 0xffff_ffff) as usize;
    assert!(at.is_multiple_of(8));
    let words = local.lives.then_some(&mut local.words)?;
    words.get_mut(at / 8)
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
