//! Floats: signs, rounding, remainders, minima and maxima.

use crate::harness::{Suite, Ty, Want, pairs, singles};
use nvvm_ir::{BinOp, Builder, Intrinsic, Value};

pub fn f32s() -> Vec<f32> {
    let mut values = vec![
        0.0,
        0.1,
        0.25,
        0.49999997,
        0.5,
        0.50000006,
        0.75,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        3.5,
        4.5,
        127.0,
        127.5,
        127.99,
        128.0,
        128.5,
        255.0,
        255.5,
        256.0,
        32767.0,
        32767.5,
        32768.0,
        65535.0,
        65535.5,
        65536.0,
        65504.0,
        65520.0,
        8388607.5,
        8388608.0,
        8388609.0,
        16777215.0,
        16777216.0,
        2147483500.0,
        2147483600.0,
        2147483648.0,
        4294967000.0,
        4294967296.0,
        9.2233715e18,
        9.223372e18,
        1.8446743e19,
        1.8446744e19,
        1.7014117e38,
        1.7014118e38,
        3.4028235e38,
        1e-45,
        1.1754944e-38,
        1e-20,
        1e20,
        1e30,
        f32::INFINITY,
        f32::NAN,
        f32::from_bits(0x7F80_0001),
        f32::from_bits(0x7FC1_2345),
        std::f32::consts::PI,
        1234.5678,
        0.33333334,
    ];
    let negative: Vec<f32> = values.iter().map(|v| -v).collect();
    values.extend(negative);
    values
}

pub fn f64s() -> Vec<f64> {
    let mut values: Vec<f64> = f32s()
        .into_iter()
        .map(f64::from)
        .filter(|v| *v >= 0.0)
        .collect();
    values.extend([
        0.49999999999999994,
        0.5000000000000001,
        2147483647.0,
        2147483647.5,
        4294967295.0,
        4294967295.5,
        4503599627370495.5,
        4503599627370496.0,
        9007199254740991.0,
        9.223372036854775e18,
        9.223372036854776e18,
        1.844674407370955e19,
        1.8446744073709552e19,
        1.7014118346046921e38,
        1.7014118346046923e38,
        3.402823669209384e38,
        3.402823669209385e38,
        1e300,
        5e-324,
        2.2250738585072014e-308,
        1e-310,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
        f64::from_bits(0x7FF0_0000_0000_0001),
        f64::from_bits(0x7FF8_1234_5678_9ABC),
    ]);
    let negative: Vec<f64> = values.iter().map(|v| -v).collect();
    values.extend(negative);
    values
}

fn one(intrinsic: Intrinsic) -> impl FnOnce(&mut Builder, &[Value]) -> Vec<Value> {
    move |b, args| {
        let ty = b.module.ty(args[0]);
        vec![b.intrinsic(intrinsic, ty, args)]
    }
}

fn a32(v: u128) -> f32 {
    f32::from_bits(v as u32)
}

fn a64(v: u128) -> f64 {
    f64::from_bits(v as u64)
}

fn bits32() -> Vec<u128> {
    f32s().iter().map(|v| v.to_bits().into()).collect()
}

fn bits64() -> Vec<u128> {
    f64s().iter().map(|v| v.to_bits().into()).collect()
}

#[test]
fn signs() {
    let mut suite = Suite::new("signs");
    for (ty, width, inputs) in [
        (
            Ty::F16,
            16,
            (0..0x1_0000).step_by(97).collect::<Vec<u128>>(),
        ),
        (Ty::F32, 32, bits32()),
        (Ty::F64, 64, bits64()),
    ] {
        let sign = 1u128 << (width - 1);
        let exact = |v| vec![Want::Bits(v)];
        let build = |b: &mut Builder, args: &[Value]| vec![b.fneg(args[0])];
        suite.case(
            &format!("neg{width}"),
            &[ty],
            &[ty],
            singles(&inputs),
            build,
            |a| exact(a[0] ^ sign),
        );
        suite.case(
            &format!("abs{width}"),
            &[ty],
            &[ty],
            singles(&inputs),
            one(Intrinsic::Fabs),
            |a| exact(a[0] & !sign),
        );
        let few: Vec<u128> = inputs.iter().copied().step_by(9).collect();
        let inputs = pairs(&inputs, &few);
        suite.case(
            &format!("copysign{width}"),
            &[ty, ty],
            &[ty],
            inputs,
            one(Intrinsic::Copysign),
            |a| exact(a[0] & !sign | a[1] & sign),
        );
    }
    suite.run();
}

#[test]
fn rounding() {
    use Intrinsic::*;
    let mut suite = Suite::new("rounding");
    for (name, intrinsic, f32_, f64_) in [
        (
            "trunc",
            Trunc,
            f32::trunc as fn(f32) -> f32,
            f64::trunc as fn(f64) -> f64,
        ),
        ("floor", Floor, f32::floor, f64::floor),
        ("ceil", Ceil, f32::ceil, f64::ceil),
        ("rint", Rint, f32::round_ties_even, f64::round_ties_even),
        (
            "roundeven",
            RoundEven,
            f32::round_ties_even,
            f64::round_ties_even,
        ),
        ("round", Round, f32::round, f64::round),
        ("sqrt", Sqrt, f32::sqrt, f64::sqrt),
    ] {
        suite.case(
            &format!("{name}32"),
            &[Ty::F32],
            &[Ty::F32],
            singles(&bits32()),
            one(intrinsic),
            |a| vec![Want::f32(f32_(a32(a[0])))],
        );
        suite.case(
            &format!("{name}64"),
            &[Ty::F64],
            &[Ty::F64],
            singles(&bits64()),
            one(intrinsic),
            |a| vec![Want::f64(f64_(a64(a[0])))],
        );
        // fp16: computed in single precision and converted back with the function below.
        let halves: Vec<u128> = (0..0x1_0000).step_by(61).collect();
        suite.case(
            &format!("{name}16"),
            &[Ty::F16],
            &[Ty::F16],
            singles(&halves),
            one(intrinsic),
            |a| vec![half_want(f32_(half(a[0])))],
        );
    }
    suite.run();
}

/// Returns the value of an fp16 number.
pub fn half(bits: u128) -> f32 {
    let (sign, exponent, fraction) = (
        bits >> 15 & 1,
        (bits >> 10 & 31) as i32,
        (bits & 1023) as f32,
    );
    let magnitude = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// Returns the fp16 number nearest to a float, ties to even.
pub fn half_want(value: f32) -> Want {
    half_nearest(value.into())
}

pub fn half_nearest(value: f64) -> Want {
    if value.is_nan() {
        return Want::Nan(16);
    }
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    // fp16 numbers are ordered like their bits: finds the neighbors.
    let (mut low, mut high) = (0u128, 0x7C00u128);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if f64::from(half(middle)) <= magnitude {
            low = middle
        } else {
            high = middle
        }
    }
    let below = f64::from(half(low));
    let above = if high == 0x7C00 {
        65536.0
    } else {
        f64::from(half(high))
    };
    let bits = match (magnitude - below).partial_cmp(&(above - magnitude)) {
        _ if magnitude >= 65536.0 => 0x7C00,
        Some(std::cmp::Ordering::Less) => low,
        Some(std::cmp::Ordering::Greater) => high,
        _ if low % 2 == 0 => low,
        _ => high,
    };
    Want::Bits(sign | bits)
}

#[test]
fn remainders() {
    let mut suite = Suite::new("remainders");
    let build = |b: &mut Builder, args: &[Value]| vec![b.bin(BinOp::FRem, args[0], args[1])];
    suite.case(
        "frem32",
        &[Ty::F32, Ty::F32],
        &[Ty::F32],
        pairs(&bits32(), &bits32()),
        build,
        |a| vec![Want::f32(a32(a[0]) % a32(a[1]))],
    );
    suite.case(
        "frem64",
        &[Ty::F64, Ty::F64],
        &[Ty::F64],
        pairs(&bits64(), &bits64()),
        build,
        |a| vec![Want::f64(a64(a[0]) % a64(a[1]))],
    );
    let halves: Vec<u128> = (0..0x1_0000).step_by(699).collect();
    suite.case(
        "frem16",
        &[Ty::F16, Ty::F16],
        &[Ty::F16],
        pairs(&halves, &halves),
        build,
        |a| vec![half_want(half(a[0]) % half(a[1]))],
    );
    suite.run();
}

fn minimum(a: f64, b: f64) -> f64 {
    match () {
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => a.min(b),
    }
}

fn maximum(a: f64, b: f64) -> f64 {
    -minimum(-a, -b)
}

#[test]
fn minima_and_maxima() {
    use Intrinsic::*;
    let mut suite = Suite::new("fminmax");
    for (name, intrinsic, f) in [
        ("minimum", Minimum, minimum as fn(f64, f64) -> f64),
        ("maximum", Maximum, maximum),
        ("minnum", MinNum, f64::min),
        ("maxnum", MaxNum, f64::max),
    ] {
        // `minnum` and `maxnum` may return either zero.
        let number = matches!(intrinsic, MinNum | MaxNum);
        let free = move |a: f64, b: f64, want| {
            if number && a == 0.0 && b == 0.0 {
                Want::Any
            } else {
                want
            }
        };
        // A signaling NaN may be treated as a quiet NaN or as a missing value.
        let quiet = |v: f64| !(v.is_nan() && v.to_bits() & 1 << 51 == 0);
        let quiet32 = |v: f32| !(v.is_nan() && v.to_bits() & 1 << 22 == 0);
        suite.case(
            &format!("{name}64"),
            &[Ty::F64, Ty::F64],
            &[Ty::F64],
            pairs(&bits64(), &bits64()),
            one(intrinsic),
            |a| {
                let (a, b) = (a64(a[0]), a64(a[1]));
                if number && !(quiet(a) && quiet(b)) {
                    return vec![Want::Any];
                }
                vec![free(a, b, Want::f64(f(a, b)))]
            },
        );
        suite.case(
            &format!("{name}32"),
            &[Ty::F32, Ty::F32],
            &[Ty::F32],
            pairs(&bits32(), &bits32()),
            one(intrinsic),
            |a| {
                let (x, y) = (a32(a[0]), a32(a[1]));
                if number && !(quiet32(x) && quiet32(y)) {
                    return vec![Want::Any];
                }
                vec![free(
                    x.into(),
                    y.into(),
                    Want::f32(f(x.into(), y.into()) as f32),
                )]
            },
        );
        let halves: Vec<u128> = (0..0x1_0000)
            .step_by(699)
            .chain([0x8000, 0x7E00, 0xFE00, 0x7C00, 0xFC00])
            .collect();
        suite.case(
            &format!("{name}16"),
            &[Ty::F16, Ty::F16],
            &[Ty::F16],
            pairs(&halves, &halves),
            one(intrinsic),
            |a| {
                let (x, y) = (half(a[0]), half(a[1]));
                if number && (x.is_nan() || y.is_nan()) {
                    return vec![Want::Any];
                }
                vec![free(
                    x.into(),
                    y.into(),
                    half_want(f(x.into(), y.into()) as f32),
                )]
            },
        );
    }
    suite.run();
}

/// Negations that only arithmetic uses are free; a negation whose bits are observed is exact.
#[test]
fn negations_in_arithmetic() {
    let mut suite = Suite::new("negations");
    let build = |b: &mut Builder, args: &[Value]| {
        let negated = b.fneg(args[0]);
        let product = b.bin(BinOp::FMul, negated, args[1]);
        let seen = b.fneg(args[1]);
        let ty = b.module.ty(args[0]);
        let magnitude = b.intrinsic(Intrinsic::Fabs, ty, &args[..1]);
        let sum = b.bin(BinOp::FAdd, magnitude, args[1]);
        vec![product, seen, sum]
    };
    suite.case(
        "product",
        &[Ty::F32, Ty::F32],
        &[Ty::F32, Ty::F32, Ty::F32],
        pairs(&bits32(), &bits32()),
        build,
        |a| {
            vec![
                Want::f32(-a32(a[0]) * a32(a[1])),
                Want::Bits(a[1] ^ 0x8000_0000),
                Want::f32(a32(a[0]).abs() + a32(a[1])),
            ]
        },
    );
    suite.case(
        "product64",
        &[Ty::F64, Ty::F64],
        &[Ty::F64, Ty::F64, Ty::F64],
        pairs(&bits64(), &bits64()),
        build,
        |a| {
            vec![
                Want::f64(-a64(a[0]) * a64(a[1])),
                Want::Bits(a[1] ^ 1 << 63),
                Want::f64(a64(a[0]).abs() + a64(a[1])),
            ]
        },
    );
    suite.run();
}
