//! Conversions between floats and integers, mainly saturating ones.

use crate::floats::{f32s, f64s, half, half_nearest, half_want};
use crate::harness::{Suite, Ty, Want, edges, mask, signed, singles};
use nvvm_ir::{Builder, CastOp, Intrinsic, Value};

/// Converts a float to an integer of a width, as `as` does.
fn saturated(value: f64, width: u32, is_signed: bool) -> u128 {
    if is_signed {
        let max = (mask(width) >> 1) as i128;
        // The bounds are powers of two, or one less, so saturating to 128 bits first is correct for
        // all widths.
        (value as i128).clamp(-max - 1, max) as u128 & mask(width)
    } else {
        (value as u128).min(mask(width))
    }
}

#[test]
fn saturating() {
    let mut suite = Suite::new("satcasts");
    let f32_bits: Vec<u128> = f32s().iter().map(|v| v.to_bits().into()).collect();
    let f64_bits: Vec<u128> = f64s().iter().map(|v| v.to_bits().into()).collect();
    let f16_bits: Vec<u128> = (0..0x1_0000)
        .step_by(37)
        .chain([0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x7C01, 0x7BFF, 0xFBFF])
        .collect();
    for width in [8, 16, 32, 64, 128, 24, 48, 72] {
        for is_signed in [true, false] {
            let intrinsic = if is_signed {
                Intrinsic::FpToSiSat
            } else {
                Intrinsic::FpToUiSat
            };
            let build = move |b: &mut Builder, args: &[Value]| {
                let ty = b.module.types.int(width);
                vec![b.intrinsic(intrinsic, ty, args)]
            };
            let sign = if is_signed { 's' } else { 'u' };
            let to = [Ty::I(width)];
            suite.case(
                &format!("f16_{sign}{width}"),
                &[Ty::F16],
                &to,
                singles(&f16_bits),
                build,
                |a| vec![Want::Bits(saturated(half(a[0]).into(), width, is_signed))],
            );
            suite.case(
                &format!("f32_{sign}{width}"),
                &[Ty::F32],
                &to,
                singles(&f32_bits),
                build,
                |a| {
                    vec![Want::Bits(saturated(
                        f32::from_bits(a[0] as u32).into(),
                        width,
                        is_signed,
                    ))]
                },
            );
            suite.case(
                &format!("f64_{sign}{width}"),
                &[Ty::F64],
                &to,
                singles(&f64_bits),
                build,
                |a| {
                    vec![Want::Bits(saturated(
                        f64::from_bits(a[0] as u64),
                        width,
                        is_signed,
                    ))]
                },
            );
        }
    }
    suite.run();
}

#[test]
fn from_integers() {
    let mut suite = Suite::new("fromints");
    for width in [8, 16, 32, 64, 128, 24, 48, 72] {
        let mut inputs = edges(width);
        // Halfway between neighbors, and close to it.
        for shift in [23, 24, 25, 53, 54, 55, 60] {
            for base in [
                1u128 << shift,
                3 << shift,
                (1 << shift) + (1 << (shift / 2)),
            ] {
                for top in [25u32, 54, 64, 100, 127] {
                    let value = if top > shift {
                        base << (top - shift)
                    } else {
                        base
                    };
                    inputs
                        .extend([value, value + 1, value.wrapping_sub(1)].map(|v| v & mask(width)));
                }
            }
        }
        inputs.sort_unstable();
        inputs.dedup();
        for is_signed in [true, false] {
            let op = if is_signed {
                CastOp::SiToFp
            } else {
                CastOp::UiToFp
            };
            let sign = if is_signed { 's' } else { 'u' };
            let from = [Ty::I(width)];
            let build = |ty: Ty| {
                move |b: &mut Builder, args: &[Value]| {
                    let ty = ty.of(b.module);
                    vec![b.cast(op, args[0], ty)]
                }
            };
            let single = move |v: u128| {
                if is_signed {
                    signed(v, width) as f32
                } else {
                    v as f32
                }
            };
            let double = move |v: u128| {
                if is_signed {
                    signed(v, width) as f64
                } else {
                    v as f64
                }
            };
            suite.case(
                &format!("{sign}{width}_f16"),
                &from,
                &[Ty::F16],
                singles(&inputs),
                build(Ty::F16),
                |a| {
                    // Beyond 2^24 it is infinite in any case.
                    vec![half_want(single(a[0]))]
                },
            );
            suite.case(
                &format!("{sign}{width}_f32"),
                &from,
                &[Ty::F32],
                singles(&inputs),
                build(Ty::F32),
                |a| vec![Want::f32(single(a[0]))],
            );
            suite.case(
                &format!("{sign}{width}_f64"),
                &from,
                &[Ty::F64],
                singles(&inputs),
                build(Ty::F64),
                |a| vec![Want::f64(double(a[0]))],
            );
        }
    }
    suite.run();
}

/// Conversions between floats, rounded once.
#[test]
fn between_floats() {
    let mut suite = Suite::new("betweenfloats");
    let cast = |op, ty: Ty| {
        move |b: &mut Builder, args: &[Value]| {
            let ty = ty.of(b.module);
            vec![b.cast(op, args[0], ty)]
        }
    };
    let mut doubles = f64s();
    // Next to the midpoint between two fp16 values, by less than single precision resolves.
    for bits in [0x3C00u128, 0x3C01, 0x0001, 0x0400, 0x7BFE, 0x5000] {
        let middle = (f64::from(half(bits)) + f64::from(half(bits + 1))) / 2.0;
        doubles.extend([middle, middle * (1.0 + 1e-12), middle * (1.0 - 1e-12)]);
    }
    let doubles: Vec<u128> = doubles.iter().map(|v| v.to_bits().into()).collect();
    let singles_: Vec<u128> = f32s().iter().map(|v| v.to_bits().into()).collect();
    let halves: Vec<u128> = (0..0x1_0000).step_by(31).collect();
    suite.case(
        "f64_f16",
        &[Ty::F64],
        &[Ty::F16],
        singles(&doubles),
        cast(CastOp::FpTrunc, Ty::F16),
        |a| vec![half_nearest(f64::from_bits(a[0] as u64))],
    );
    suite.case(
        "f64_f32",
        &[Ty::F64],
        &[Ty::F32],
        singles(&doubles),
        cast(CastOp::FpTrunc, Ty::F32),
        |a| vec![Want::f32(f64::from_bits(a[0] as u64) as f32)],
    );
    suite.case(
        "f32_f16",
        &[Ty::F32],
        &[Ty::F16],
        singles(&singles_),
        cast(CastOp::FpTrunc, Ty::F16),
        |a| vec![half_want(f32::from_bits(a[0] as u32))],
    );
    suite.case(
        "f16_f32",
        &[Ty::F16],
        &[Ty::F32],
        singles(&halves),
        cast(CastOp::FpExt, Ty::F32),
        |a| vec![Want::f32(half(a[0]))],
    );
    suite.case(
        "f16_f64",
        &[Ty::F16],
        &[Ty::F64],
        singles(&halves),
        cast(CastOp::FpExt, Ty::F64),
        |a| vec![Want::f64(half(a[0]).into())],
    );
    suite.run();
}
