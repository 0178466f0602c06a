//! The pass `contract_halves`.

use std::collections::HashMap;

use crate::inst::{Call, Callee, InlineAsm, InstKind};
use crate::module::Module;
use crate::value::{Block, Func, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    Sub,
    Mul,
}

/// The types of the instructions.
const TYPES: [&str; 4] = ["f16", "f16x2", "bf16", "bf16x2"];

/// A sum, difference or product without a rounding mode.
#[derive(Clone, Copy, Debug)]
struct Halved {
    op: Op,
    ty: &'static str,
    lhs: Value,
    rhs: Value,
}

/// Chooses the instructions for sums and products of 16-bit floats that have no rounding mode, such as
/// `mul.f16x2`: the PTX ISA permits fusing these (9.7.4, half precision instructions).
///
/// A product that only one sum or difference of its block uses is fused with it, if `fuse`. Afterwards,
/// all have a rounding mode: ptxas would also fuse some, but the emulator could not know which.
pub fn contract_halves(module: &mut Module, fuse: bool) {
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
            choose(module, block, fuse, &found, &uses);
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
    let ty = *TYPES.iter().find(|&&known| known == ty)?;
    Some(Halved { op, ty, lhs, rhs })
}

/// Chooses the instructions of a block. `found` are the sums and products of the function, and `uses`
/// the numbers of uses of its values.
fn choose(
    module: &mut Module,
    block: Block,
    fuse: bool,
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
            (fuse && own && product.op == Op::Mul && product.ty == it.ty)
                .then_some((*value, *product))
        };
        let (left, right) = match it.op {
            Op::Mul => (None, None),
            Op::Add | Op::Sub => (product(&it.lhs), product(&it.rhs)),
        };
        let negated = |module: &mut Module, value: Value| {
            let kind = compute(module, "neg", it.ty, &[value]);
            let ty = module.ty(value);
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
            (None, None) => {
                let name = match it.op {
                    Op::Add => "add.rn",
                    Op::Sub => "sub.rn",
                    Op::Mul => "mul.rn",
                };
                (name, vec![it.lhs, it.rhs])
            }
        };
        let kind = compute(module, name, it.ty, &args);
        if let Some(data) = module.inst_mut(inst) {
            data.kind = kind;
        }
        module.block_mut(block).insts.push(inst);
    }
    (module.block_mut(block).insts).retain(|inst| !fused.contains(inst));
}

/// Returns a call of an instruction whose operands and result have one type.
fn compute(module: &mut Module, name: &str, ty: &str, args: &[Value]) -> InstKind {
    let value = module.ty(args[0]);
    let class = if ty.ends_with("x2") { "r" } else { "h" };
    let operands: Vec<String> = (1..=args.len()).map(|index| format!("${index}")).collect();
    let asm = InlineAsm::pure(
        format!("{name}.{ty} $0, {};", operands.join(", ")),
        format!("={class}{}", format!(",{class}").repeat(args.len())),
    );
    let sig = module.signature(value, args);
    let callee = Callee::Asm(Box::new(asm));
    InstKind::Call(Box::new(Call::new(callee, sig, args.to_vec())))
}
