//! Types that libnvvm lacks: illegal-width integers in all positions, `f128`, `bf16`; and vectors.

use crate::harness::{Suite, Tools, Ty, Want, edges, mask, pairs, signed, singles};
use nvvm::OptLevel;
use nvvm_ir::legalize::{Target, legalize};
use nvvm_ir::*;

fn bits(value: u128) -> Vec<Want> {
    vec![Want::Bits(value)]
}

#[test]
fn conversions() {
    let mut suite = Suite::new("oddcasts");
    let widths = [3, 8, 24, 33, 48, 64, 72, 128];
    for from in widths {
        for to in widths {
            let ty = ([Ty::I(from)], [Ty::I(to)]);
            let inputs = || singles(&edges(from));
            let cast = |op| {
                move |b: &mut Builder, args: &[Value]| {
                    let ty = b.module.types.int(to);
                    vec![b.cast(op, args[0], ty)]
                }
            };
            if from > to {
                suite.case(
                    &format!("trunc{from}_{to}"),
                    &ty.0,
                    &ty.1,
                    inputs(),
                    cast(CastOp::Trunc),
                    |a| bits(a[0] & mask(to)),
                );
            } else if from < to {
                suite.case(
                    &format!("zext{from}_{to}"),
                    &ty.0,
                    &ty.1,
                    inputs(),
                    cast(CastOp::ZExt),
                    |a| bits(a[0]),
                );
                suite.case(
                    &format!("sext{from}_{to}"),
                    &ty.0,
                    &ty.1,
                    inputs(),
                    cast(CastOp::SExt),
                    |a| bits(signed(a[0], from) as u128 & mask(to)),
                );
            }
        }
    }
    suite.run();
}

#[test]
fn intrinsics() {
    let mut suite = Suite::new("oddintrinsics");
    for width in [24u32, 40, 48, 56, 72, 96] {
        let ty = [Ty::I(width)];
        let w = u128::from(width);
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
        use Intrinsic::*;
        let s = move |v| signed(v, width);
        suite.case(
            &format!("pop{width}"),
            &ty,
            &ty,
            inputs(),
            one(Ctpop, false),
            |a| bits(a[0].count_ones().into()),
        );
        suite.case(
            &format!("lz{width}"),
            &ty,
            &ty,
            inputs(),
            one(Ctlz, true),
            |a| bits(u128::from(a[0].leading_zeros()) - (128 - w)),
        );
        suite.case(
            &format!("tz{width}"),
            &ty,
            &ty,
            inputs(),
            one(Cttz, true),
            |a| bits(u128::from(a[0].trailing_zeros()).min(w)),
        );
        suite.case(
            &format!("rev{width}"),
            &ty,
            &ty,
            inputs(),
            one(Bitreverse, false),
            |a| bits(a[0].reverse_bits() >> (128 - w)),
        );
        if width % 16 == 0 {
            suite.case(
                &format!("swap{width}"),
                &ty,
                &ty,
                inputs(),
                one(Bswap, false),
                |a| bits(a[0].swap_bytes() >> (128 - w)),
            );
        }
        suite.case(
            &format!("abs{width}"),
            &ty,
            &ty,
            inputs(),
            one(Abs, true),
            |a| bits(s(a[0]).wrapping_abs() as u128 & mask(width)),
        );
        let two = [ty[0], ty[0]];
        let both = || pairs(&edges(width), &edges(width));
        suite.case(
            &format!("smax{width}"),
            &two,
            &ty,
            both(),
            one(SMax, false),
            |a| bits(s(a[0]).max(s(a[1])) as u128 & mask(width)),
        );
        suite.case(
            &format!("umin{width}"),
            &two,
            &ty,
            both(),
            one(UMin, false),
            |a| bits(a[0].min(a[1])),
        );
    }
    suite.run();
}

fn access(align: u64) -> MemAccess {
    MemAccess {
        align,
        ..MemAccess::default()
    }
}

/// Illegal-width integers in structs, phis, calls, switches, statics, vectors and as indices.
#[test]
fn in_all_positions() {
    let mut suite = Suite::new("oddplaces");
    let m = &mut suite.module;
    let (i1, i8, i24, i48) = (
        m.types.int(1),
        m.types.int(8),
        m.types.int(24),
        m.types.int(48),
    );
    let record = m.types.structure(&[i24, i8, i48], false);

    // `f(a, b) = switch a { 0xFFFFFF => b, 5 => a * b, _ => a - b }`, called directly and through a
    // pointer.
    let sig = m.types.func(i24, &[i24, i24], false);
    let func = m.add_func("helper", sig).unwrap();
    m.func_mut(func).attrs.no_inline = true;
    m.func_mut(func).linkage = Linkage::Internal;
    let (x, y) = (m.func(func).params[0], m.func(func).params[1]);
    let names = ["entry", "ones", "five", "other", "end"];
    let blocks: Vec<Block> = names.iter().map(|name| m.add_block(func, name)).collect();
    let mut b = Builder::new(m, blocks[0]);
    b.switch(x, blocks[3], vec![(0xFF_FFFF, blocks[1]), (5, blocks[2])]);
    b.switch_to(blocks[1]);
    b.br(blocks[4]);
    b.switch_to(blocks[2]);
    let product = b.bin(BinOp::Mul, x, y);
    b.br(blocks[4]);
    b.switch_to(blocks[3]);
    let difference = b.bin(BinOp::Sub, x, y);
    b.br(blocks[4]);
    b.switch_to(blocks[4]);
    let result = b.phi(
        i24,
        vec![
            (y, blocks[1]),
            (product, blocks[2]),
            (difference, blocks[3]),
        ],
    );
    b.ret(Some(result));
    let helper = m.func(func).value;

    let first = m.const_int(i24, 0xABCDEF);
    let second = m.const_int(i8, 0x12);
    let third = m.const_int(i48, 0x3456_789A_BCDE);
    let init = m.const_struct(&[first, second, third], false);
    let global = m.add_global("record", record, AddrSpace::Global).unwrap();
    m.global_mut(global).init = Some(init);
    let static_record = m.global(global).value;

    let t24 = Ty::I(24);
    let helped = |a: &[u128]| {
        let result = match a[0] {
            0xFF_FFFF => a[1],
            5 => a[0] * a[1],
            _ => a[0].wrapping_sub(a[1]),
        };
        bits(result & mask(24))
    };
    let inputs = || pairs(&edges(24), &edges(24));
    suite.case(
        "call",
        &[t24, t24],
        &[t24],
        inputs(),
        |b, args| vec![b.call(sig, helper, args)],
        helped,
    );
    suite.case(
        "select",
        &[t24, t24],
        &[t24],
        inputs(),
        |b, args| {
            let less = b.icmp(IntPred::Slt, args[0], args[1]);
            let minus_one = b.module.const_int(i24, u128::MAX);
            vec![b.select(less, args[0], minus_one)]
        },
        |a| {
            bits(if signed(a[0], 24) < signed(a[1], 24) {
                a[0]
            } else {
                mask(24)
            })
        },
    );
    // Through a struct in memory, as a whole and field by field.
    suite.case(
        "record",
        &[t24, Ty::I(8), Ty::I(48)],
        &[Ty::I(48), t24, Ty::I(128)],
        pairs(&edges(24), &edges(48))
            .into_iter()
            .map(|v| vec![v[0], v[1] & 255, v[1]])
            .collect(),
        |b, args| {
            let i128 = b.module.types.int(128);
            let slot = b.alloca(i128, 16);
            let ones = b.module.const_int(i128, u128::MAX);
            b.store(ones, slot, access(16));
            let mut value = b.module.const_undef(record);
            for (i, &arg) in args.iter().enumerate() {
                value = b.insert_value(value, arg, i as u32);
            }
            b.store(value, slot, access(8));
            let all = b.load(
                i128,
                slot,
                MemAccess {
                    volatile: true,
                    ..access(16)
                },
            );
            let back = b.load(record, slot, access(8));
            vec![b.extract_value(back, 2), b.extract_value(back, 0), all]
        },
        |a| {
            // i24 at 0, i8 at 4, i48 at 8; the padding is not written.
            let all = !(mask(24) | 0xFF << 32 | mask(48) << 64);
            vec![
                Want::Bits(a[2]),
                Want::Bits(a[0]),
                Want::Bits(all | a[0] | a[1] << 32 | a[2] << 64),
            ]
        },
    );
    suite.case(
        "static",
        &[t24],
        &[t24, Ty::I(48)],
        singles(&edges(24)),
        |b, args| {
            let base = b.addr_of(static_record);
            let whole = b.load(record, base, access(8));
            let first = b.extract_value(whole, 0);
            let sum = b.bin(BinOp::Add, first, args[0]);
            vec![sum, b.extract_value(whole, 2)]
        },
        |a| {
            vec![
                Want::Bits((0xABCDEF + a[0]) & mask(24)),
                Want::Bits(0x3456_789A_BCDE),
            ]
        },
    );
    // As a signed index.
    suite.case(
        "index",
        &[Ty::I(24), Ty::I(64)],
        &[Ty::I(8)],
        vec![
            vec![2, 0x8877_6655_4433_2211],
            vec![0xFF_FFFF, 0x8877_6655_4433_2211],
        ],
        |b, args| {
            let (i8, i64) = (b.module.types.int(8), b.module.types.int(64));
            let slot = b.alloca(i64, 8);
            b.store(args[1], slot, access(8));
            let four = b.module.const_i64(4);
            let middle = b.gep(i8, slot, &[four], true);
            let at = b.gep(i8, middle, &[args[0]], true);
            vec![b.load(i8, at, access(1))]
        },
        |a| bits(a[1] >> (8 * (4 + signed(a[0], 24))) & 255),
    );
    // As the elements of a vector, in both directions.
    suite.case(
        "digits",
        &[t24],
        &[t24, Ty::I(8)],
        singles(&edges(24)),
        |b, args| {
            let bytes = b.module.types.vector(i8, 3);
            let vector = b.cast(CastOp::Bitcast, args[0], bytes);
            let reversed = b.shuffle(vector, vector, vec![Some(2), Some(1), Some(0)]);
            let back = b.cast(CastOp::Bitcast, reversed, i24);
            let index = b.module.const_i32(1);
            vec![back, b.extract_element(vector, index)]
        },
        |a| {
            let reversed = (a[0] & 0xFF) << 16 | a[0] & 0xFF00 | a[0] >> 16;
            vec![Want::Bits(reversed), Want::Bits(a[0] >> 8 & 255)]
        },
    );
    suite.case(
        "lanemask",
        &[Ty::I(32), Ty::I(32), Ty::I(32)],
        &[Ty::I(8)],
        vec![vec![1, 0, 5], vec![0, 0, 0], vec![0, 7, 0], vec![9, 9, 9]],
        |b, args| {
            let (i3, i32) = (b.module.types.int(3), b.module.types.int(32));
            let ty = b.module.types.vector(i32, 3);
            let mut vector = b.module.const_undef(ty);
            for (i, &arg) in (0..).zip(args) {
                let index = b.module.const_i32(i);
                vector = b.insert_element(vector, arg, index);
            }
            let zero = b.module.const_zero(ty);
            let set = b.icmp(IntPred::Ne, vector, zero);
            let packed = b.cast(CastOp::Bitcast, set, i3);
            vec![b.cast(CastOp::ZExt, packed, i8)]
        },
        |a| bits((0..3).map(|i| u128::from(a[i] != 0) << i).sum()),
    );
    // Frozen and undefined values have some value.
    suite.case(
        "frozen",
        &[t24],
        &[t24, Ty::I(1)],
        singles(&edges(24)),
        |b, args| {
            let poison = b.module.const_poison(i24);
            let any = b.freeze(poison);
            let zero = b.module.const_zero(i24);
            let nothing = b.bin(BinOp::And, any, zero);
            let sum = b.bin(BinOp::Or, nothing, args[0]);
            let poison = b.module.const_poison(i1);
            let any = b.freeze(poison);
            let no = b.module.const_bool(false);
            vec![sum, b.bin(BinOp::And, any, no)]
        },
        |a| vec![Want::Bits(a[0]), Want::Bits(0)],
    );
    suite.run();
}

/// An operation on vectors of four equals the operation on each element.
#[test]
fn vectors() {
    use Intrinsic::*;
    let mut suite = Suite::new("vectors");
    let f = |v: f32| u128::from(v.to_bits());
    let numbers: Vec<u128> = [
        0.0,
        -0.0,
        1.5,
        -2.5,
        0.5,
        1e30,
        -1e30,
        300.7,
        f32::INFINITY,
        7.25,
        -0.3,
    ]
    .iter()
    .map(|&v| f(v))
    .collect();
    let quads = |ty: Ty, values: &[u128]| -> Vec<Vec<u128>> {
        let n = values.len();
        let all = (0..n).map(|i| {
            (0..8)
                .map(|j| values[(i * 5 + j * 3) % n] & mask(ty.bytes() as u32 * 8))
                .collect()
        });
        all.collect()
    };
    type Make = fn(&mut Builder, Type, Type, &[Value]) -> Value;
    type Model = fn(u128, u128) -> u128;
    let cases: Vec<(&str, Ty, Ty, Make, Model)> = vec![
        (
            "fneg",
            Ty::F32,
            Ty::F32,
            |b, _, _, v| b.fneg(v[0]),
            |x, _| x ^ 0x8000_0000,
        ),
        (
            "fabs",
            Ty::F32,
            Ty::F32,
            |b, _, t, v| b.intrinsic(Fabs, t, &v[..1]),
            |x, _| x & 0x7FFF_FFFF,
        ),
        (
            "copysign",
            Ty::F32,
            Ty::F32,
            |b, _, t, v| b.intrinsic(Copysign, t, v),
            |x, y| x & 0x7FFF_FFFF | y & 0x8000_0000,
        ),
        (
            "round",
            Ty::F32,
            Ty::F32,
            |b, _, t, v| b.intrinsic(Round, t, &v[..1]),
            |x, _| f32::from_bits(x as u32).round().to_bits().into(),
        ),
        (
            "rint",
            Ty::F32,
            Ty::F32,
            |b, _, t, v| b.intrinsic(Rint, t, &v[..1]),
            |x, _| f32::from_bits(x as u32).round_ties_even().to_bits().into(),
        ),
        (
            "sqrt",
            Ty::F32,
            Ty::F32,
            |b, _, t, v| {
                let v = b.intrinsic(Fabs, t, &v[..1]);
                b.intrinsic(Sqrt, t, &[v])
            },
            |x, _| f32::from_bits(x as u32).abs().sqrt().to_bits().into(),
        ),
        (
            "maximum",
            Ty::F32,
            Ty::F32,
            |b, _, t, v| b.intrinsic(Maximum, t, v),
            |x, y| {
                let (a, b) = (f32::from_bits(x as u32), f32::from_bits(y as u32));
                u128::from(if a == b {
                    (x & y) as u32
                } else {
                    a.max(b).to_bits()
                })
            },
        ),
        (
            "sat8",
            Ty::F32,
            Ty::I(8),
            |b, _, t, v| b.intrinsic(FpToSiSat, t, &v[..1]),
            |x, _| (f32::from_bits(x as u32) as i8 as u8).into(),
        ),
        (
            "sat128",
            Ty::F32,
            Ty::I(128),
            |b, _, t, v| b.intrinsic(FpToUiSat, t, &v[..1]),
            |x, _| f32::from_bits(x as u32) as u128,
        ),
        (
            "smin",
            Ty::I(16),
            Ty::I(16),
            |b, _, t, v| b.intrinsic(SMin, t, v),
            |x, y| (x as i16).min(y as i16) as u16 as u128,
        ),
        (
            "uaddsat",
            Ty::I(8),
            Ty::I(8),
            |b, _, t, v| b.intrinsic(UAddSat, t, v),
            |x, y| (x as u8).saturating_add(y as u8).into(),
        ),
        (
            "ssubsat",
            Ty::I(32),
            Ty::I(32),
            |b, _, t, v| b.intrinsic(SSubSat, t, v),
            |x, y| (x as i32).saturating_sub(y as i32) as u32 as u128,
        ),
        (
            "abs",
            Ty::I(64),
            Ty::I(64),
            |b, _, t, v| {
                let no = b.module.const_bool(false);
                b.intrinsic(Abs, t, &[v[0], no])
            },
            |x, _| (x as i64).wrapping_abs() as u64 as u128,
        ),
        (
            "bswap",
            Ty::I(32),
            Ty::I(32),
            |b, _, t, v| b.intrinsic(Bswap, t, &v[..1]),
            |x, _| (x as u32).swap_bytes().into(),
        ),
        (
            "fshl",
            Ty::I(64),
            Ty::I(64),
            |b, _, t, v| b.intrinsic(Fshl, t, &[v[0], v[1], v[1]]),
            |x, y| {
                let s = (y % 64) as u32;
                if s == 0 {
                    x
                } else {
                    (x << s | y >> (64 - s)) & mask(64)
                }
            },
        ),
        (
            "ctlz128",
            Ty::I(128),
            Ty::I(128),
            |b, _, t, v| {
                let no = b.module.const_bool(false);
                b.intrinsic(Ctlz, t, &[v[0], no])
            },
            |x, _| x.leading_zeros().into(),
        ),
        (
            "udiv128",
            Ty::I(128),
            Ty::I(128),
            |b, _, t, v| {
                let one = b.module.const_int(b.module.types.scalar(t), 1);
                let ones = b.module.const_vector(&[one; 4]);
                let by = b.bin(BinOp::Or, v[1], ones);
                b.bin(BinOp::UDiv, v[0], by)
            },
            |x, y| x / (y | 1),
        ),
    ];
    for (name, from, to, make, model) in cases {
        let inputs = match from {
            Ty::F32 => quads(from, &numbers),
            Ty::I(bits) => quads(from, &edges(bits)),
            _ => unreachable!(),
        };
        suite.case(
            name,
            &[from; 8],
            &[to; 4],
            inputs,
            |b, args| {
                let (from, to) = (from.of(b.module), to.of(b.module));
                let (from, to) = (b.module.types.vector(from, 4), b.module.types.vector(to, 4));
                let vector = |b: &mut Builder, args: &[Value]| {
                    let mut vector = b.module.const_undef(from);
                    for (i, &arg) in (0..).zip(args) {
                        let index = b.module.const_i32(i);
                        vector = b.insert_element(vector, arg, index);
                    }
                    vector
                };
                let operands = [vector(b, &args[..4]), vector(b, &args[4..])];
                let result = make(b, from, to, &operands);
                let element = |i| {
                    let index = b.module.const_i32(i);
                    b.extract_element(result, index)
                };
                (0..4).map(element).collect()
            },
            |a| (0..4).map(|i| Want::Bits(model(a[i], a[i + 4]))).collect(),
        );
    }
    suite.run();
}

/// Returns the bits of the `bf16` nearest to a float.
fn brain(value: f32) -> Want {
    if value.is_nan() {
        return Want::Any;
    }
    let bits = value.to_bits();
    let tie_to_even = 0x7FFF + (bits >> 16 & 1);
    Want::Bits(u128::from((bits + tie_to_even) >> 16))
}

#[test]
fn bf16() {
    let mut suite = Suite::new("bf16");
    let values: Vec<u128> = [
        0, 0x8000, 0x3F80, 0xBF80, 0x3F81, 0x4049, 0x7F7F, 0xFF7F, 1, 0x7F, 0x7F80, 0x7FC0, 0x4300,
        0x3EAB,
    ]
    .to_vec();
    let float = |v: u128| f32::from_bits((v as u32) << 16);
    let b16 = Ty::BF16;
    for (op, f) in [
        (BinOp::FAdd, (|x, y| x + y) as fn(f32, f32) -> f32),
        (BinOp::FSub, |x, y| x - y),
        (BinOp::FMul, |x, y| x * y),
        (BinOp::FDiv, |x, y| x / y),
    ] {
        let build = move |b: &mut Builder, args: &[Value]| vec![b.bin(op, args[0], args[1])];
        suite.case(
            &format!("{op:?}"),
            &[b16, b16],
            &[b16],
            pairs(&values, &values),
            build,
            |a| vec![brain(f(float(a[0]), float(a[1])))],
        );
    }
    suite.case(
        "less",
        &[b16, b16],
        &[Ty::I(1)],
        pairs(&values, &values),
        |b, args| vec![b.fcmp(FloatPred::Olt, args[0], args[1])],
        |a| bits((float(a[0]) < float(a[1])).into()),
    );
    suite.case(
        "neg",
        &[b16],
        &[b16],
        singles(&values),
        |b, args| vec![b.fneg(args[0])],
        |a| bits(a[0] ^ 0x8000),
    );
    suite.case(
        "ext",
        &[b16],
        &[Ty::F64],
        singles(&values),
        |b, args| {
            let double = b.module.types.intern(TypeKind::Double);
            vec![b.cast(CastOp::FpExt, args[0], double)]
        },
        |a| vec![Want::f64(float(a[0]).into())],
    );
    let doubles = [
        1.0,
        1.00390625,
        1.003906250000001,
        f64::from_bits(0x3FF0_2FFF_FFFF_FFFF),
        -1.01171875,
        3.0e38,
        1e-40,
        0.1,
        1e300,
    ];
    let doubles: Vec<u128> = doubles.iter().map(|v: &f64| v.to_bits().into()).collect();
    suite.case(
        "trunc",
        &[Ty::F64],
        &[b16],
        singles(&doubles),
        |b, args| {
            let brain = b.module.types.intern(TypeKind::BFloat);
            vec![b.cast(CastOp::FpTrunc, args[0], brain)]
        },
        |a| {
            let value = f64::from_bits(a[0] as u64);
            // Finds the nearest value among the neighbors of the truncated one.
            let cut = (value as f32).to_bits() >> 16;
            let nearest = (cut.saturating_sub(1)..=cut + 1).min_by(|&x, &y| {
                let far = |v: u32| {
                    let v = if v & 0x7FFF == 0x7F80 {
                        2f64.powi(128)
                    } else {
                        f64::from(f32::from_bits(v << 16)).abs()
                    };
                    if value.abs() > 2f64.powi(128) {
                        1.0 / v
                    } else {
                        (v - value.abs()).abs()
                    }
                };
                far(x).total_cmp(&far(y)).then((x & 1).cmp(&(y & 1)))
            });
            bits(nearest.unwrap().into())
        },
    );
    suite.case(
        "from_int",
        &[Ty::I(32)],
        &[b16],
        singles(&[0, 1, 255, 256, 257, 0xFFFF_FFFF, 0x7FFF_FFFF, 65408, 65409]),
        |b, args| {
            let brain = b.module.types.intern(TypeKind::BFloat);
            vec![b.cast(CastOp::UiToFp, args[0], brain)]
        },
        |a| {
            // With ten bits the float is exact, or rounds to the same value.
            vec![brain(a[0] as f32)]
        },
    );
    suite.run();
}

/// `f128` becomes calls of soft-float functions on `i128`; no `f128` remains in the text.
#[test]
fn f128() {
    let mut m = Module::new("quad");
    let quad = m.types.intern(TypeKind::Fp128);
    let double = m.types.intern(TypeKind::Double);
    let (i32, ptr) = (m.types.int(32), m.types.ptr());
    let sig = m.types.func(quad, &[quad, quad, double, i32, ptr], false);
    let func = m.add_func("f", sig).unwrap();
    let p = m.func(func).params.clone();
    let one = m.const_float_bits(quad, 0x3FFF << 112);
    let global = m.add_global("one", quad, AddrSpace::Global).unwrap();
    m.global_mut(global).init = Some(one);
    let entry = m.add_block(func, "entry");
    let mut b = Builder::new(&mut m, entry);
    let mut x = p[0];
    for op in [
        BinOp::FAdd,
        BinOp::FSub,
        BinOp::FMul,
        BinOp::FDiv,
        BinOp::FRem,
    ] {
        x = b.bin(op, x, p[1]);
    }
    let y = b.cast(CastOp::FpExt, p[2], quad);
    let z = b.cast(CastOp::SiToFp, p[3], quad);
    x = b.bin(BinOp::FAdd, x, y);
    x = b.bin(BinOp::FAdd, x, z);
    x = b.bin(BinOp::FMul, x, one);
    x = b.fneg(x);
    for intrinsic in [
        Intrinsic::Sqrt,
        Intrinsic::Fabs,
        Intrinsic::Floor,
        Intrinsic::RoundEven,
    ] {
        x = b.intrinsic(intrinsic, quad, &[x]);
    }
    x = b.intrinsic(Intrinsic::Copysign, quad, &[x, p[1]]);
    x = b.intrinsic(Intrinsic::Fma, quad, &[x, y, z]);
    let less = b.fcmp(FloatPred::Ult, x, p[0]);
    let one_of = b.fcmp(FloatPred::One, x, p[1]);
    let both = b.bin(BinOp::And, less, one_of);
    let narrow = b.cast(CastOp::FpTrunc, x, double);
    b.store(narrow, p[4], access(8));
    let int = b.intrinsic(Intrinsic::FpToSiSat, i32, &[x]);
    b.store(int, p[4], access(4));
    x = b.select(both, x, y);
    let pair = b.module.types.vector(quad, 2);
    let undef = b.module.const_undef(pair);
    let zero = b.module.const_i32(0);
    let vector = b.insert_element(undef, x, zero);
    let sum = b.bin(BinOp::FAdd, vector, vector);
    x = b.extract_element(sum, zero);
    b.store(x, p[4], access(16));
    b.ret(Some(x));
    for sm in [75, 120] {
        let mut m = m.clone();
        let target = Target::new(sm);
        legalize(&mut m, &target).unwrap();
        let text = write_module(&m, target.dialect);
        assert!(!text.contains("fp128"), "{text}");
        for name in [
            "__addtf3",
            "__subtf3",
            "__multf3",
            "__divtf3",
            "fmodf128",
            "__extenddftf2",
            "__floatsitf",
            "sqrtf128",
            "floorf128",
            "roundevenf128",
            "fmaf128",
            "__getf2",
            "__eqtf2",
            "__unordtf2",
            "__trunctfdf2",
            "__fixtfsi",
        ] {
            assert!(
                text.contains(&format!("@{name}(")),
                "{name} is missing:\n{text}"
            );
        }
        let Some(tools) = Tools::find() else { continue };
        let ptx = tools.compile("quad", &text, sm, OptLevel::O3);
        assert!(ptx.contains("__multf3"), "{ptx}");
    }
}
