//! Integers: counting and swapping bits, minima and maxima, overflow, saturation, division.

use crate::harness::{Suite, Ty, Want, edges, mask, pairs, signed, singles};
use nvvm_ir::{BinOp, Builder, CastOp, IntPred, Intrinsic, Value};

fn bits(value: u128) -> Vec<Want> {
    vec![Want::Bits(value)]
}

#[test]
fn counting_and_swapping() {
    let mut suite = Suite::new("bits");
    for width in [8, 16, 32, 64, 128] {
        let ty = [Ty::I(width)];
        let inputs = || singles(&edges(width));
        let one = |intrinsic, flag| {
            move |b: &mut Builder, args: &[Value]| {
                let ty = b.module.ty(args[0]);
                let no = b.module.const_bool(false);
                let args = if flag {
                    vec![args[0], no]
                } else {
                    args.to_vec()
                };
                vec![b.intrinsic(intrinsic, ty, &args)]
            }
        };
        let w = u128::from(width);
        suite.case(
            &format!("ctpop{width}"),
            &ty,
            &ty,
            inputs(),
            one(Intrinsic::Ctpop, false),
            |a| bits(a[0].count_ones().into()),
        );
        suite.case(
            &format!("ctlz{width}"),
            &ty,
            &ty,
            inputs(),
            one(Intrinsic::Ctlz, true),
            |a| bits(u128::from(a[0].leading_zeros()) - (128 - w)),
        );
        suite.case(
            &format!("cttz{width}"),
            &ty,
            &ty,
            inputs(),
            one(Intrinsic::Cttz, true),
            |a| bits(u128::from(a[0].trailing_zeros()).min(w)),
        );
        suite.case(
            &format!("bswap{width}"),
            &ty,
            &ty,
            inputs(),
            one(Intrinsic::Bswap, false),
            |a| bits(a[0].swap_bytes() >> (128 - w)),
        );
        suite.case(
            &format!("rev{width}"),
            &ty,
            &ty,
            inputs(),
            one(Intrinsic::Bitreverse, false),
            |a| bits(a[0].reverse_bits() >> (128 - w)),
        );
    }
    suite.run();
}

#[test]
fn minima_maxima_and_magnitudes() {
    let mut suite = Suite::new("minmax");
    for width in [8, 16, 32, 64, 128] {
        let ty = [Ty::I(width)];
        let s = move |v| signed(v, width);
        for (name, intrinsic) in [
            ("smax", Intrinsic::SMax),
            ("smin", Intrinsic::SMin),
            ("umax", Intrinsic::UMax),
            ("umin", Intrinsic::UMin),
        ] {
            let inputs = pairs(&edges(width), &edges(width));
            let build = move |b: &mut Builder, args: &[Value]| {
                let ty = b.module.ty(args[0]);
                vec![b.intrinsic(intrinsic, ty, args)]
            };
            suite.case(
                &format!("{name}{width}"),
                &[ty[0], ty[0]],
                &ty,
                inputs,
                build,
                |a| {
                    let (x, y) = (a[0], a[1]);
                    bits(match intrinsic {
                        Intrinsic::SMax => s(x).max(s(y)) as u128 & mask(width),
                        Intrinsic::SMin => s(x).min(s(y)) as u128 & mask(width),
                        Intrinsic::UMax => x.max(y),
                        _ => x.min(y),
                    })
                },
            );
        }
        let build = |b: &mut Builder, args: &[Value]| {
            let ty = b.module.ty(args[0]);
            let no = b.module.const_bool(false);
            vec![b.intrinsic(Intrinsic::Abs, ty, &[args[0], no])]
        };
        suite.case(
            &format!("abs{width}"),
            &ty,
            &ty,
            singles(&edges(width)),
            build,
            |a| bits(s(a[0]).wrapping_abs() as u128 & mask(width)),
        );
    }
    suite.run();
}

/// Returns the exact result of an operation of a width, if it fits into an `i128`.
fn exact(op: BinOp, is_signed: bool, width: u32, x: u128, y: u128) -> (u128, bool) {
    if is_signed {
        let (x, y) = (signed(x, width), signed(y, width));
        let (r, over) = match op {
            BinOp::Add => x.overflowing_add(y),
            BinOp::Sub => x.overflowing_sub(y),
            _ => x.overflowing_mul(y),
        };
        let low = r as u128 & mask(width);
        (low, over || signed(low, width) != r)
    } else {
        let (r, over) = match op {
            BinOp::Add => x.overflowing_add(y),
            BinOp::Sub => x.overflowing_sub(y),
            _ => x.overflowing_mul(y),
        };
        (r & mask(width), over || r > mask(width))
    }
}

#[test]
fn overflow() {
    use Intrinsic::*;
    let mut suite = Suite::new("overflow");
    for width in [8, 16, 32, 64, 128, 24, 33, 48, 72] {
        for (name, intrinsic, op, is_signed) in [
            ("uadd", UAddOverflow, BinOp::Add, false),
            ("sadd", SAddOverflow, BinOp::Add, true),
            ("usub", USubOverflow, BinOp::Sub, false),
            ("ssub", SSubOverflow, BinOp::Sub, true),
            ("umul", UMulOverflow, BinOp::Mul, false),
            ("smul", SMulOverflow, BinOp::Mul, true),
        ] {
            let ty = Ty::I(width);
            let inputs = pairs(&edges(width), &edges(width));
            let build = move |b: &mut Builder, args: &[Value]| {
                let (ty, i1) = (b.module.ty(args[0]), b.module.types.int(1));
                let pair = b.module.types.structure(&[ty, i1], false);
                let result = b.intrinsic(intrinsic, pair, args);
                vec![b.extract_value(result, 0), b.extract_value(result, 1)]
            };
            suite.case(
                &format!("{name}{width}"),
                &[ty, ty],
                &[ty, Ty::I(1)],
                inputs,
                build,
                |a| {
                    let (low, over) = exact(op, is_signed, width, a[0], a[1]);
                    vec![Want::Bits(low), Want::Bits(over.into())]
                },
            );
        }
    }
    suite.run();
}

/// Products of two numbers of 64 bits around 2³² and 2⁶³, and products with constants.
#[test]
fn signed_products() {
    let mut suite = Suite::new("signed_products");
    let ty = Ty::I(64);
    let mut numbers = edges(64);
    for around in [1 << 31, 3_037_000_500, 1 << 32] {
        let near = [around - 1, around, around + 1];
        numbers.extend(near.iter().map(|&it: &u64| u128::from(it)));
        numbers.extend(near.iter().map(|it| u128::from(it.wrapping_neg())));
    }
    let multiply = |b: &mut Builder, x: Value, y: Value| {
        let (ty, i1) = (b.module.ty(x), b.module.types.int(1));
        let pair = b.module.types.structure(&[ty, i1], false);
        let result = b.intrinsic(Intrinsic::SMulOverflow, pair, &[x, y]);
        vec![b.extract_value(result, 0), b.extract_value(result, 1)]
    };
    let want = |x: u128, y: u128| {
        let (low, over) = exact(BinOp::Mul, true, 64, x, y);
        vec![Want::Bits(low), Want::Bits(over.into())]
    };
    suite.case(
        "variables",
        &[ty, ty],
        &[ty, Ty::I(1)],
        pairs(&numbers, &numbers),
        move |b, args| multiply(b, args[0], args[1]),
        |a| want(a[0], a[1]),
    );
    let factors = [0, 1, -1, 2, -2, 3, -3, 10, 1 << 32, i64::MAX, i64::MIN];
    for (index, factor) in (0..).zip(factors.map(|factor| u128::from(factor as u64))) {
        // The numbers at which products begin to overflow.
        let factor_of = factor as i64;
        let mut inputs = numbers.clone();
        if !matches!(factor_of, 0 | -1) {
            for bound in [i64::MAX / factor_of, i64::MIN / factor_of] {
                let near = [bound.wrapping_sub(1), bound, bound.wrapping_add(1)];
                inputs.extend(near.map(|it| u128::from(it as u64)));
            }
        }
        for constant_first in [false, true] {
            suite.case(
                &format!("factor{index}_{constant_first}"),
                &[ty],
                &[ty, Ty::I(1)],
                singles(&inputs),
                move |b, args| {
                    let ty = b.module.ty(args[0]);
                    let constant = b.module.const_int(ty, factor);
                    match constant_first {
                        true => multiply(b, constant, args[0]),
                        false => multiply(b, args[0], constant),
                    }
                },
                |a| want(a[0], factor),
            );
        }
    }
    suite.run();
}

#[test]
fn saturation() {
    use Intrinsic::*;
    let mut suite = Suite::new("saturation");
    for width in [8, 16, 32, 64, 128, 24, 48] {
        for (name, intrinsic, op, is_signed) in [
            ("uadd", UAddSat, BinOp::Add, false),
            ("sadd", SAddSat, BinOp::Add, true),
            ("usub", USubSat, BinOp::Sub, false),
            ("ssub", SSubSat, BinOp::Sub, true),
        ] {
            let ty = Ty::I(width);
            let inputs = pairs(&edges(width), &edges(width));
            let build = move |b: &mut Builder, args: &[Value]| {
                let ty = b.module.ty(args[0]);
                vec![b.intrinsic(intrinsic, ty, args)]
            };
            suite.case(
                &format!("{name}_sat{width}"),
                &[ty, ty],
                &[ty],
                inputs,
                build,
                |a| {
                    let (low, over) = exact(op, is_signed, width, a[0], a[1]);
                    let max = mask(width) >> 1;
                    bits(match (over, is_signed, op) {
                        (false, ..) => low,
                        (true, true, _) if signed(a[0], width) < 0 => max + 1,
                        (true, true, _) => max,
                        (true, false, BinOp::Add) => mask(width),
                        (true, false, _) => 0,
                    })
                },
            );
        }
    }
    suite.run();
}

#[test]
fn funnel_shifts() {
    let mut suite = Suite::new("funnel");
    for width in [8u32, 16, 32, 64, 128, 24] {
        let ty = Ty::I(width);
        let w = u128::from(width);
        let amounts: Vec<u128> = [0, 1, 3, w / 2, w - 1, w, w + 1, 2 * w - 1].to_vec();
        let amounts: Vec<u128> = amounts.into_iter().filter(|&a| a <= mask(width)).collect();
        let values = edges(width);
        let mut inputs = Vec::new();
        for (i, &a) in values.iter().enumerate() {
            let b = values[(i * 7 + 3) % values.len()];
            inputs.extend(amounts.iter().map(|&s| vec![a, b, s]));
        }
        for (name, intrinsic) in [("fshl", Intrinsic::Fshl), ("fshr", Intrinsic::Fshr)] {
            let build = move |b: &mut Builder, args: &[Value]| {
                let ty = b.module.ty(args[0]);
                vec![b.intrinsic(intrinsic, ty, args)]
            };
            suite.case(
                &format!("{name}{width}"),
                &[ty, ty, ty],
                &[ty],
                inputs.clone(),
                build,
                |a| {
                    let s = (a[2] % w) as u32;
                    let (high, low, whole) = (a[0], a[1], width);
                    let take = |left: u32| {
                        if left == 0 {
                            high
                        } else {
                            (high << left | low >> (whole - left)) & mask(width)
                        }
                    };
                    bits(match intrinsic {
                        Intrinsic::Fshl => take(s),
                        _ if s == 0 => low,
                        _ => take(whole - s),
                    })
                },
            );
        }
    }
    suite.run();
}

#[test]
fn arithmetic() {
    let mut suite = Suite::new("arithmetic");
    for width in [8u32, 16, 32, 64, 128, 24, 48, 56, 72, 3] {
        let ty = Ty::I(width);
        for op in [
            BinOp::Add,
            BinOp::Sub,
            BinOp::Mul,
            BinOp::And,
            BinOp::Or,
            BinOp::Xor,
        ] {
            let inputs = pairs(&edges(width), &edges(width));
            let build = move |b: &mut Builder, args: &[Value]| vec![b.bin(op, args[0], args[1])];
            suite.case(
                &format!("{op:?}{width}"),
                &[ty, ty],
                &[ty],
                inputs,
                build,
                |a| {
                    bits(
                        match op {
                            BinOp::Add => a[0].wrapping_add(a[1]),
                            BinOp::Sub => a[0].wrapping_sub(a[1]),
                            BinOp::Mul => a[0].wrapping_mul(a[1]),
                            BinOp::And => a[0] & a[1],
                            BinOp::Or => a[0] | a[1],
                            _ => a[0] ^ a[1],
                        } & mask(width),
                    )
                },
            );
        }
        for op in [BinOp::UDiv, BinOp::SDiv, BinOp::URem, BinOp::SRem] {
            let mut inputs = pairs(&edges(width), &edges(width));
            let min = 1 << (width - 1);
            inputs.retain(|a| a[1] != 0 && !(a[0] == min && a[1] == mask(width)));
            let build = move |b: &mut Builder, args: &[Value]| vec![b.bin(op, args[0], args[1])];
            suite.case(
                &format!("{op:?}{width}"),
                &[ty, ty],
                &[ty],
                inputs,
                build,
                |a| {
                    let (x, y) = (signed(a[0], width), signed(a[1], width));
                    bits(
                        match op {
                            BinOp::UDiv => a[0] / a[1],
                            BinOp::URem => a[0] % a[1],
                            BinOp::SDiv => (x / y) as u128,
                            _ => (x % y) as u128,
                        } & mask(width),
                    )
                },
            );
        }
        for op in [BinOp::Shl, BinOp::LShr, BinOp::AShr] {
            let amounts: Vec<u128> = (0..u128::from(width)).collect();
            let inputs = pairs(&edges(width)[..8], &amounts);
            let build = move |b: &mut Builder, args: &[Value]| vec![b.bin(op, args[0], args[1])];
            suite.case(
                &format!("{op:?}{width}"),
                &[ty, ty],
                &[ty],
                inputs,
                build,
                |a| {
                    bits(
                        match op {
                            BinOp::Shl => a[0] << a[1],
                            BinOp::LShr => a[0] >> a[1],
                            _ => (signed(a[0], width) >> a[1]) as u128,
                        } & mask(width),
                    )
                },
            );
        }
        for (pred, test) in [
            (
                IntPred::Slt,
                (|x, y, _, _| x < y) as fn(i128, i128, u128, u128) -> bool,
            ),
            (IntPred::Sge, |x, y, _, _| x >= y),
            (IntPred::Ult, |_, _, x, y| x < y),
            (IntPred::Eq, |_, _, x, y| x == y),
        ] {
            let inputs = pairs(&edges(width), &edges(width));
            let build = move |b: &mut Builder, args: &[Value]| vec![b.icmp(pred, args[0], args[1])];
            suite.case(
                &format!("{pred:?}{width}"),
                &[ty, ty],
                &[Ty::I(1)],
                inputs,
                build,
                |a| bits(test(signed(a[0], width), signed(a[1], width), a[0], a[1]).into()),
            );
        }
    }
    suite.run();
}

/// Returns operands of divisions of 128 bits: pairs of boundary values, numbers of every pair of
/// widths, and dividends next to multiples of the divisor.
fn dividends_and_divisors() -> Vec<Vec<u128>> {
    let mut edges = edges(128);
    for shift in [1, 31, 32, 33, 62, 63, 64, 65, 95, 96, 126, 127] {
        let power = 1u128 << shift;
        edges.extend([power - 1, power, power + 1, !power, power.wrapping_neg()]);
        edges.extend([power | (1 << 64), (1 << 64) - 1 + power]);
    }
    edges.sort_unstable();
    edges.dedup();
    let mut inputs = pairs(&edges, &edges);
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        u128::from(random)
    };
    for lhs in 0..128 {
        for rhs in (lhs % 3..128).step_by(3) {
            let dividend = ((next() << 64) | next()) >> lhs;
            let divisor = ((next() << 64) | next()) >> rhs;
            inputs.push(vec![dividend, divisor]);
            if let Some(quotient) = dividend.checked_div(divisor) {
                let multiple = quotient * divisor;
                inputs.push(vec![multiple, divisor]);
                inputs.push(vec![multiple.wrapping_sub(1), divisor]);
            }
        }
    }
    inputs
}

fn divided(op: BinOp, lhs: u128, rhs: u128) -> u128 {
    match op {
        BinOp::UDiv => lhs / rhs,
        BinOp::URem => lhs % rhs,
        BinOp::SDiv => (lhs as i128).wrapping_div(rhs as i128) as u128,
        _ => (lhs as i128).wrapping_rem(rhs as i128) as u128,
    }
}

#[test]
fn wide_division() {
    let mut suite = Suite::new("wide_division");
    let ty = Ty::I(128);
    for op in [BinOp::UDiv, BinOp::SDiv, BinOp::URem, BinOp::SRem] {
        let mut inputs = dividends_and_divisors();
        let min = 1 << 127;
        inputs.retain(|a| a[1] != 0 && !(a[0] == min && a[1] == u128::MAX));
        suite.case(
            &format!("{op:?}"),
            &[ty, ty],
            &[ty],
            inputs,
            move |b, args| vec![b.bin(op, args[0], args[1])],
            |a| bits(divided(op, a[0], a[1])),
        );
        // A dividend and a divisor that fit 64 bits, by their types.
        let mut inputs = pairs(&edges(64), &edges(128));
        inputs.retain(|a| a[1] != 0);
        suite.case(
            &format!("{op:?}_of_64"),
            &[Ty::I(64), ty],
            &[ty],
            inputs,
            move |b, args| {
                let wide = b.module.types.int(128);
                let dividend = b.cast(CastOp::ZExt, args[0], wide);
                vec![b.bin(op, dividend, args[1])]
            },
            |a| bits(divided(op, a[0], a[1])),
        );
        let mut inputs = pairs(&edges(128), &edges(64));
        inputs.retain(|a| a[1] != 0);
        suite.case(
            &format!("{op:?}_by_64"),
            &[ty, Ty::I(64)],
            &[ty],
            inputs,
            move |b, args| {
                let wide = b.module.types.int(128);
                let divisor = b.cast(CastOp::ZExt, args[1], wide);
                vec![b.bin(op, args[0], divisor)]
            },
            |a| bits(divided(op, a[0], a[1])),
        );
        let by = [
            1,
            2,
            10,
            10_u128.pow(19),
            u64::MAX.into(),
            1 << 64,
            (1 << 64) + 1,
            1 << 127,
        ];
        for (index, by) in by
            .into_iter()
            .chain([10_u128.pow(38), u128::MAX])
            .enumerate()
        {
            let mut inputs = singles(&edges(128));
            inputs.retain(|a| !(a[0] == min && by == u128::MAX));
            suite.case(
                &format!("{op:?}_by_constant_{index}"),
                &[ty],
                &[ty],
                inputs,
                move |b, args| {
                    let wide = b.module.types.int(128);
                    let divisor = b.module.const_int(wide, by);
                    vec![b.bin(op, args[0], divisor)]
                },
                |a| bits(divided(op, a[0], by)),
            );
        }
    }
    // Signed and unsigned quotients and remainders of the same operands, in both orders of operands.
    let mut inputs = dividends_and_divisors();
    let overflows = |x: u128, y: u128| x == 1 << 127 && y == u128::MAX;
    inputs.retain(|a| a[0] != 0 && a[1] != 0);
    inputs.retain(|a| !overflows(a[0], a[1]) && !overflows(a[1], a[0]));
    const ALL: [BinOp; 4] = [BinOp::URem, BinOp::UDiv, BinOp::SDiv, BinOp::SRem];
    suite.case(
        "all",
        &[ty, ty],
        &[ty; 8],
        inputs,
        |b, args| {
            let [x, y] = [args[0], args[1]];
            let both = ALL.map(|op| [b.bin(op, x, y), b.bin(op, y, x)]);
            both.into_iter().flatten().collect()
        },
        |a| {
            let both = ALL.map(|op| [divided(op, a[0], a[1]), divided(op, a[1], a[0])]);
            both.into_iter().flatten().map(Want::Bits).collect()
        },
    );
    // Products of remainders, as in modular exponentiation, with a divisor that does not change.
    let inputs: Vec<Vec<u128>> = edges(64)
        .into_iter()
        .filter(|&modulus| modulus != 0)
        .flat_map(|modulus| edges(64).into_iter().map(move |x| vec![x, modulus]))
        .collect();
    suite.case(
        "powers",
        &[Ty::I(64), Ty::I(64)],
        &[Ty::I(64)],
        inputs,
        |b, args| {
            let (narrow, wide) = (b.module.types.int(64), b.module.types.int(128));
            let modulus = b.cast(CastOp::ZExt, args[1], wide);
            let mut x = args[0];
            for _ in 0..4 {
                let factor = b.cast(CastOp::ZExt, x, wide);
                let square = b.bin(BinOp::Mul, factor, factor);
                let rest = b.bin(BinOp::URem, square, modulus);
                x = b.cast(CastOp::Trunc, rest, narrow);
            }
            vec![x]
        },
        |a| bits((0..4).fold(a[0], |x, _| x * x % a[1])),
    );
    suite.run();
}
