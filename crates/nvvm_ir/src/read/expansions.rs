//! Intrinsics of LLVM 23 that its passes introduce and that no dialect of libnvvm has, as other
//! instructions.

use super::consts::float_bits;
use super::{Reader, Result};
use crate::inst::*;
use crate::types::Type;
use crate::value::{Block, Const, Value};

/// Appends instructions to a block, and returns the last one with its type.
pub(super) type Expand = fn(&mut Reader, Block, Type, &[Value]) -> Result<(Type, InstKind)>;

/// How the intrinsic of a name, such as `llvm.ucmp.i8.i32`, is expanded.
pub(super) fn named(name: &str) -> Option<Expand> {
    let name = name.strip_prefix("llvm.")?;
    let is = |base: &str| {
        name.strip_prefix(base)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    Some(match () {
        () if is("ucmp") => {
            |r, block, ty, args| compare(r, block, ty, args, IntPred::Ult, IntPred::Ugt)
        }
        () if is("scmp") => {
            |r, block, ty, args| compare(r, block, ty, args, IntPred::Slt, IntPred::Sgt)
        }
        () if is("is.fpclass") => float_class,
        () if is("fmuladd") => multiply_add,
        () => return None,
    })
}

impl Reader<'_> {
    fn push(&mut self, block: Block, ty: Type, kind: InstKind) -> Value {
        self.m.push_inst(block, ty, kind, None)
    }
}

/// -1, 0 or 1: whether the second is greater, minus whether it is less.
fn compare(
    r: &mut Reader,
    block: Block,
    ty: Type,
    args: &[Value],
    less: IntPred,
    greater: IntPred,
) -> Result<(Type, InstKind)> {
    let &[lhs, rhs] = args else {
        return r.expected("two arguments");
    };
    let bool_ty = r.bool_like(lhs);
    let mut widened = |pred| {
        let value = r.push(block, bool_ty, InstKind::ICmp { pred, lhs, rhs });
        let op = CastOp::ZExt;
        r.push(block, ty, InstKind::Cast { op, value })
    };
    let (less, greater) = (widened(less), widened(greater));
    Ok((ty, bin(BinOp::Sub, greater, less)))
}

/// `llvm.fmuladd`: one rounding or two.
fn multiply_add(
    r: &mut Reader,
    block: Block,
    ty: Type,
    args: &[Value],
) -> Result<(Type, InstKind)> {
    let &[a, b, c] = args else {
        return r.expected("three arguments");
    };
    let product = r.push(block, ty, bin(BinOp::FMul, a, b));
    Ok((ty, bin(BinOp::FAdd, product, c)))
}

/// `llvm.is.fpclass`, by the float's bits (LangRef, "llvm.is.fpclass").
fn float_class(r: &mut Reader, block: Block, ty: Type, args: &[Value]) -> Result<(Type, InstKind)> {
    let &[value, classes] = args else {
        return r.expected("two arguments");
    };
    let Some(&Const::Int(classes)) = r.m.as_const(classes) else {
        return r.expected("a constant set of classes");
    };
    let Some((fraction, width)) = float_bits(r.m.types.kind(r.m.ty(value))) else {
        return r.expected("a float");
    };
    let int = r.m.types.int(width);
    let op = CastOp::Bitcast;
    let bits = r.push(block, int, InstKind::Cast { op, value });
    let sign = 1u128 << (width - 1);
    let infinity = ((1u128 << (width - 1 - fraction)) - 1) << fraction;
    let quiet = 1u128 << (fraction - 1);
    let normal = 1u128 << fraction;
    // Of the bits without the sign: each class is an interval.
    let (snan, qnan) = (
        (infinity + 1, infinity + quiet - 1),
        (infinity + quiet, sign - 1),
    );
    let positive = [
        (0x40, (0, 0)),
        (0x80, (1, normal - 1)),
        (0x100, (normal, infinity - 1)),
        (0x200, (infinity, infinity)),
    ];
    let negative = [(0x20, 0), (0x10, 1), (0x8, 2), (0x4, 3)].map(|(bit, index): (u128, usize)| {
        let (_, (from, to)) = positive[index];
        (bit, (from | sign, to | sign))
    });
    let nans = [
        (0x1, snan),
        (0x1, (snan.0 | sign, snan.1 | sign)),
        (0x2, qnan),
        (0x2, (qnan.0 | sign, qnan.1 | sign)),
    ];
    let all = positive.into_iter().chain(negative).chain(nans);
    let mut last = None;
    for (_, (from, to)) in all.filter(|(bit, _)| classes & bit != 0) {
        // `bits - from <= to - from`, unsigned.
        let (from_value, range) = (r.m.const_int(int, from), r.m.const_int(int, to - from));
        let distance = bin(BinOp::Sub, bits, from_value);
        let within = InstKind::ICmp {
            pred: IntPred::Ule,
            lhs: r.push(block, int, distance),
            rhs: range,
        };
        last = Some(match last {
            None => within,
            Some(before) => {
                let before = r.push(block, ty, before);
                let within = r.push(block, ty, within);
                bin(BinOp::Or, before, within)
            }
        });
    }
    let no = r.m.const_int(ty, 0);
    Ok((ty, last.unwrap_or_else(|| bin(BinOp::And, no, no))))
}

fn bin(op: BinOp, lhs: Value, rhs: Value) -> InstKind {
    let flags = Flags::default();
    InstKind::Bin {
        op,
        lhs,
        rhs,
        flags,
    }
}
