//! The pass `contract_halves`.

use std::collections::HashMap;

use crate::inst::{Call, Callee, InlineAsm, InstKind, ParamAttrs};
use crate::module::Module;
use crate::value::{Block, Func, Value};

/// How sums and products of 16-bit floats are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halves {
    /// Whether a product that only one sum or difference uses is fused with it.
    pub contract: bool,
    /// The number of the architecture: 90 for `sm_90`.
    pub sm: u32,
}

/// The first architecture with sums and products of bf16. Older ones have its fused multiply-add.
const BRAIN_SUMS: u32 = 90;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    Sub,
    Mul,
}

/// A type of the instructions, with the numbers 1, -1 and -0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Float {
    name: &'static str,
    one: u32,
    minus_one: u32,
    minus_zero: u32,
}

const FLOATS: [Float; 4] = [
    Float {
        name: "f16",
        one: 0x3c00,
        minus_one: 0xbc00,
        minus_zero: 0x8000,
    },
    Float {
        name: "f16x2",
        one: 0x3c00_3c00,
        minus_one: 0xbc00_bc00,
        minus_zero: 0x8000_8000,
    },
    Float {
        name: "bf16",
        one: 0x3f80,
        minus_one: 0xbf80,
        minus_zero: 0x8000,
    },
    Float {
        name: "bf16x2",
        one: 0x3f80_3f80,
        minus_one: 0xbf80_bf80,
        minus_zero: 0x8000_8000,
    },
];

/// A sum, difference or product without a rounding mode.
#[derive(Clone, Copy, Debug)]
struct Halved {
    op: Op,
    float: Float,
    lhs: Value,
    rhs: Value,
}

/// Chooses the instructions for sums and products of 16-bit floats that have no rounding mode, such as
/// `mul.f16x2`: the PTX ISA permits fusing these (9.7.4, half precision instructions).
///
/// ptxas would choose, too, but the emulator could not know how. Afterwards, all have a rounding mode.
/// On architectures without sums of bf16, they become fused multiply-adds with 1 or -0.
pub fn contract_halves(module: &mut Module, halves: Halves) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        let blocks = module.func(func).blocks.clone();
        let insts = (blocks.iter()).flat_map(|&block| &module.block(block).insts);
        let found: HashMap<Value, Halved> = insts
            .filter_map(|&inst| Some((inst, halved(module, inst)?)))
            .collect();
        if found.is_empty() {
            continue;
        }
        let mut uses: HashMap<Value, usize> = HashMap::new();
        for &block in &blocks {
            for &inst in &module.block(block).insts {
                if let Some(data) = module.inst(inst) {
                    (data.kind).for_each_operand(|value| *uses.entry(value).or_default() += 1);
                }
            }
        }
        for block in blocks {
            choose(module, block, halves, &found, &uses);
        }
    }
}

/// Returns the sum or product that an instruction computes.
fn halved(module: &Module, inst: Value) -> Option<Halved> {
    let InstKind::Call(call) = &module.inst(inst)?.kind else {
        return None;
    };
    let (Callee::Asm(asm), &[lhs, rhs]) = (&call.callee, &call.args[..]) else {
        return None;
    };
    if asm.side_effects {
        return None;
    }
    let name = asm.template.strip_suffix(" $0, $1, $2;")?;
    let (op, ty) = name.split_once('.')?;
    let op = match op {
        "add" => Op::Add,
        "sub" => Op::Sub,
        "mul" => Op::Mul,
        _ => return None,
    };
    let float = *FLOATS.iter().find(|float| float.name == ty)?;
    Some(Halved {
        op,
        float,
        lhs,
        rhs,
    })
}

/// Chooses the instructions of a block. `found` are the sums and products of the function, and `uses`
/// the numbers of uses of its values.
fn choose(
    module: &mut Module,
    block: Block,
    halves: Halves,
    found: &HashMap<Value, Halved>,
    uses: &HashMap<Value, usize>,
) {
    let insts = std::mem::take(&mut module.block_mut(block).insts);
    let mut fused = Vec::new();
    for inst in insts {
        let (Some(&it), Some(loc)) = (found.get(&inst), module.inst(inst).map(|data| data.loc))
        else {
            module.block_mut(block).insts.push(inst);
            continue;
        };
        // A product of this block that nothing else needs.
        let product = |value: &Value| {
            let product = found.get(value)?;
            let own = module.inst(*value)?.block == block && uses.get(value) == Some(&1);
            (halves.contract && own && product.op == Op::Mul && product.float == it.float)
                .then_some((*value, *product))
        };
        let (left, right) = match it.op {
            Op::Mul => (None, None),
            Op::Add | Op::Sub => (product(&it.lhs), product(&it.rhs)),
        };
        let float = it.float;
        let negated = |module: &mut Module, value: Value| {
            let ty = module.ty(value);
            let kind = compute(module, "neg", float, &[value]);
            module.push_inst(block, ty, kind, loc)
        };
        let (name, args) = match (left, right) {
            (Some((value, product)), _) => {
                fused.push(value);
                let other = match it.op {
                    Op::Sub => negated(module, it.rhs),
                    _ => it.rhs,
                };
                ("fma.rn", vec![product.lhs, product.rhs, other])
            }
            (None, Some((value, product))) => {
                fused.push(value);
                let factor = match it.op {
                    Op::Sub => negated(module, product.lhs),
                    _ => product.lhs,
                };
                ("fma.rn", vec![factor, product.rhs, it.lhs])
            }
            (None, None) if halves.sm < BRAIN_SUMS && float.name.starts_with("bf16") => {
                let ty = module.ty(it.lhs);
                let mut number = |bits: u32| module.const_int(ty, bits.into());
                let args = match it.op {
                    Op::Mul => vec![it.lhs, it.rhs, number(float.minus_zero)],
                    Op::Add => vec![it.lhs, number(float.one), it.rhs],
                    Op::Sub => vec![it.rhs, number(float.minus_one), it.lhs],
                };
                ("fma.rn", args)
            }
            (None, None) => {
                let name = match it.op {
                    Op::Add => "add.rn",
                    Op::Sub => "sub.rn",
                    Op::Mul => "mul.rn",
                };
                (name, vec![it.lhs, it.rhs])
            }
        };
        let kind = compute(module, name, float, &args);
        if let Some(data) = module.inst_mut(inst) {
            data.kind = kind;
        }
        module.block_mut(block).insts.push(inst);
    }
    (module.block_mut(block).insts).retain(|inst| !fused.contains(inst));
}

/// Returns a call of an instruction whose operands and result have one type.
fn compute(module: &mut Module, name: &str, float: Float, args: &[Value]) -> InstKind {
    let ty = module.ty(args[0]);
    let class = if float.name.ends_with("x2") { "r" } else { "h" };
    let operands: Vec<String> = (1..=args.len()).map(|index| format!("${index}")).collect();
    let asm = InlineAsm {
        template: format!("{name}.{} $0, {};", float.name, operands.join(", ")),
        constraints: format!("={class}{}", format!(",{class}").repeat(args.len())),
        side_effects: false,
        convergent: false,
        read_none: true,
    };
    let params = vec![ty; args.len()];
    InstKind::Call(Box::new(Call {
        callee: Callee::Asm(Box::new(asm)),
        sig: module.types.func(ty, &params, false),
        args: args.to_vec(),
        arg_attrs: Vec::new(),
        ret_attrs: ParamAttrs::default(),
        noreturn: false,
        convergent: false,
        musttail: false,
    }))
}
