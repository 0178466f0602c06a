//! The pass `scan_extremes`.

use crate::inst::{BinOp, Callee, Flags, InstKind, IntPred, ParamAttrs};
use crate::intrinsic::Intrinsic;
use crate::module::Module;
use crate::value::{Const, Func, Value};

/// The inline PTX of a shuffle that also returns whether the other lane exists, behind its mode.
const SHUFFLE: &str = ".b32 $0|%p_ret_1, $2, $3, $4, $5;\n\tselp.b32 $1, 1, 0, %p_ret_1;\n\t}";
const MODES: [&str; 4] = ["up", "down", "bfly", "idx"];

/// Combines a lane's number with that of another lane in any case, if that does not change the number
/// where there is no other lane.
///
/// A scan of maxima keeps a lane's number if there is no lower lane at the distance of a step. The
/// shuffle then returns the lane's own number (PTX ISA, "shfl.sync"), and the maximum of a number and
/// itself is the number. So are a minimum, and the bitwise `and` and `or`. libnvvm compares the numbers
/// before it selects, and a GPU has an instruction for a maximum.
pub fn scan_extremes(module: &mut Module) {
    let funcs: Vec<Func> = module.funcs().collect();
    for func in funcs {
        for block in module.func(func).blocks.clone() {
            for inst in module.block(block).insts.clone() {
                let Some(combined) = combined(module, inst) else {
                    continue;
                };
                let Some(mut kind) = module.inst(combined).map(|data| data.kind.clone()) else {
                    continue;
                };
                match &mut kind {
                    // `or disjoint` of equal numbers is poison.
                    InstKind::Bin { flags, .. } => *flags = Flags::default(),
                    InstKind::Call(call) => {
                        call.ret_attrs = ParamAttrs::default();
                        call.arg_attrs = Vec::new();
                    }
                    _ => continue,
                }
                if let Some(data) = module.inst_mut(inst) {
                    data.kind = kind;
                }
            }
        }
    }
}

/// Returns the combination of the numbers of two lanes that an instruction selects if the other lane
/// exists, and otherwise selects the own number.
fn combined(module: &Module, inst: Value) -> Option<Value> {
    let InstKind::Select {
        cond,
        then,
        otherwise,
    } = module.inst(inst)?.kind
    else {
        return None;
    };
    let InstKind::ICmp { pred, lhs, rhs } = module.inst(cond)?.kind else {
        return None;
    };
    let is_zero = match module.as_const(rhs)? {
        Const::Int(number) => *number == 0,
        Const::Zero => true,
        _ => false,
    };
    let (combined, kept) = match pred {
        IntPred::Eq => (otherwise, then),
        IntPred::Ne => (then, otherwise),
        _ => return None,
    };
    let shuffle = part(module, lhs, 1).filter(|_| is_zero)?;
    let own = own_number(module, shuffle)?;
    let [a, b] = operands(module, combined)?;
    let is_other = |value: Value| part(module, value, 0) == Some(shuffle);
    let combines = a == own && is_other(b) || b == own && is_other(a);
    (kept == own && combines).then_some(combined)
}

/// Returns the pair of which a value is a part.
fn part(module: &Module, value: Value, part: u32) -> Option<Value> {
    match module.inst(value)?.kind {
        InstKind::ExtractValue { aggregate, index } => (index == part).then_some(aggregate),
        _ => None,
    }
}

/// Returns the number that a lane passes to a shuffle.
fn own_number(module: &Module, shuffle: Value) -> Option<Value> {
    let InstKind::Call(call) = &module.inst(shuffle)?.kind else {
        return None;
    };
    let Callee::Asm(asm) = &call.callee else {
        return None;
    };
    let shuffles = |mode: &&str| {
        let start = format!("{{\n\t.reg .pred %p_ret_1;\n\tshfl.sync.{mode}");
        asm.template.strip_prefix(&start) == Some(SHUFFLE)
    };
    call.args
        .first()
        .copied()
        .filter(|_| MODES.iter().any(shuffles))
}

/// Returns the operands of an operation that combines a number with itself to that number.
fn operands(module: &Module, value: Value) -> Option<[Value; 2]> {
    match &module.inst(value)?.kind {
        InstKind::Call(call) => match (&call.callee, &call.args[..]) {
            (
                Callee::Intrinsic(
                    Intrinsic::SMax | Intrinsic::SMin | Intrinsic::UMax | Intrinsic::UMin,
                ),
                &[a, b],
            ) => Some([a, b]),
            _ => None,
        },
        &InstKind::Bin {
            op: BinOp::And | BinOp::Or,
            lhs,
            rhs,
            ..
        } => Some([lhs, rhs]),
        _ => None,
    }
}
