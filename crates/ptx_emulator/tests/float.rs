//! Floating-point instructions, one by one.

mod common;

use common::{Case, case, check};

fn f32_bits(x: f32) -> u64 {
    x.to_bits().into()
}

fn hex32(x: f32) -> String {
    format!("0f{:08X}", x.to_bits())
}

fn hex64(x: f64) -> String {
    format!("0d{:016X}", x.to_bits())
}

const NAN32: u64 = 0x7fff_ffff;
const SUBNORMAL: f32 = f32::from_bits(1234);

#[test]
fn rounds_to_nearest_as_rust_does() {
    let values = [
        0.0f32,
        -0.0,
        1.0,
        0.1,
        -3.7e10,
        1e-40,
        f32::MAX,
        f32::INFINITY,
        f32::MIN_POSITIVE,
        1.0000001,
    ];
    let mut cases: Vec<Case> = Vec::new();
    let expect = |x: f32| if x.is_nan() { NAN32 } else { f32_bits(x) };
    for a in values {
        for b in values {
            let (x, y) = (hex32(a), hex32(b));
            cases.push(case(
                format!("add.f32 %f0, {x}, {y};"),
                "%f0",
                expect(a + b),
            ));
            cases.push(case(
                format!("sub.rn.f32 %f0, {x}, {y};"),
                "%f0",
                expect(a - b),
            ));
            cases.push(case(
                format!("mul.rn.f32 %f0, {x}, {y};"),
                "%f0",
                expect(a * b),
            ));
            cases.push(case(
                format!("div.rn.f32 %f0, {x}, {y};"),
                "%f0",
                expect(a / b),
            ));
            cases.push(case(
                format!("fma.rn.f32 %f0, {x}, {y}, {x};"),
                "%f0",
                expect(a.mul_add(b, a)),
            ));
            let (p, q) = (f64::from(a) * 1.1, f64::from(b) / 3.0);
            if !(p * q + p).is_nan() && !(p + q).is_nan() {
                cases.push(case(
                    format!("add.f64 %fd0, {}, {};", hex64(p), hex64(q)),
                    "%fd0",
                    (p + q).to_bits(),
                ));
                cases.push(case(
                    format!("fma.rn.f64 %fd0, {}, {}, {};", hex64(p), hex64(q), hex64(p)),
                    "%fd0",
                    p.mul_add(q, p).to_bits(),
                ));
            }
        }
        cases.push(case(
            format!("sqrt.rn.f32 %f0, {};", hex32(a)),
            "%f0",
            expect(a.sqrt()),
        ));
        cases.push(case(
            format!("rcp.rn.f32 %f0, {};", hex32(a)),
            "%f0",
            expect(1.0 / a),
        ));
    }
    check(&cases);
}

#[test]
fn directed_rounding() {
    let one = hex32(1.0);
    let third = 1.0f64 / 3.0;
    let up = |x: f32| f32_bits(x.next_up());
    let tiny = hex32(1e-20);
    let mut cases = vec![
        case(
            format!("add.rz.f32 %f0, {one}, {tiny};"),
            "%f0",
            f32_bits(1.0),
        ),
        case(format!("add.rp.f32 %f0, {one}, {tiny};"), "%f0", up(1.0)),
        case(
            format!("add.rm.f32 %f0, {one}, {tiny};"),
            "%f0",
            f32_bits(1.0),
        ),
        case(
            format!("sub.rm.f32 %f0, {one}, {tiny};"),
            "%f0",
            f32_bits(1.0f32.next_down()),
        ),
        case(
            format!("sub.rz.f32 %f0, {one}, {tiny};"),
            "%f0",
            f32_bits(1.0f32.next_down()),
        ),
        case(
            format!("sub.rm.f32 %f0, {one}, {one};"),
            "%f0",
            f32_bits(-0.0),
        ),
        case(
            format!("sub.rp.f32 %f0, {one}, {one};"),
            "%f0",
            f32_bits(0.0),
        ),
        case(
            format!("div.rz.f32 %f0, {one}, {};", hex32(3.0)),
            "%f0",
            f32_bits((third as f32).next_down()),
        ),
        case(
            format!("div.rp.f32 %f0, {one}, {};", hex32(3.0)),
            "%f0",
            f32_bits(third as f32),
        ),
        case(
            format!("rcp.rm.f32 %f0, {};", hex32(3.0)),
            "%f0",
            f32_bits((third as f32).next_down()),
        ),
        case(
            format!("mul.rp.f32 %f0, {}, {};", hex32(f32::MAX), hex32(2.0)),
            "%f0",
            f32_bits(f32::INFINITY),
        ),
        case(
            format!("mul.rz.f32 %f0, {}, {};", hex32(f32::MAX), hex32(2.0)),
            "%f0",
            f32_bits(f32::MAX),
        ),
        case(
            format!("mul.rp.f32 %f0, {}, {};", hex32(1e-30), hex32(1e-30)),
            "%f0",
            1,
        ),
        case(
            format!("sqrt.rm.f64 %fd0, {};", hex64(2.0)),
            "%fd0",
            2f64.sqrt().next_down().to_bits(),
        ),
        case(
            format!("sqrt.rp.f64 %fd0, {};", hex64(2.0)),
            "%fd0",
            2f64.sqrt().to_bits(),
        ),
        case(
            format!("div.rm.f64 %fd0, {}, {};", hex64(1.0), hex64(3.0)),
            "%fd0",
            third.to_bits(),
        ),
        case(
            format!("div.rp.f64 %fd0, {}, {};", hex64(1.0), hex64(3.0)),
            "%fd0",
            third.next_up().to_bits(),
        ),
        case(
            format!(
                "fma.rz.f64 %fd0, {}, {}, {};",
                hex64(1.0),
                hex64(1.0),
                hex64(-1e-300)
            ),
            "%fd0",
            1f64.next_down().to_bits(),
        ),
    ];
    cases.push(case(
        format!("add.sat.f32 %f0, {one}, {one};"),
        "%f0",
        f32_bits(1.0),
    ));
    cases.push(case(format!("sub.sat.f32 %f0, {tiny}, {one};"), "%f0", 0));
    cases.push(case("mul.sat.f32 %f0, 0f7F800000, 0f00000000;", "%f0", 0));
    check(&cases);
}

#[test]
fn flushes_subnormals() {
    let small = hex32(SUBNORMAL);
    check(&[
        case(
            format!("add.ftz.f32 %f0, {small}, {};", hex32(0.0)),
            "%f0",
            0,
        ),
        case(
            format!("add.f32 %f0, {small}, {};", hex32(0.0)),
            "%f0",
            f32_bits(SUBNORMAL),
        ),
        case(
            format!(
                "mul.ftz.f32 %f0, {}, {};",
                hex32(-f32::MIN_POSITIVE),
                hex32(0.5)
            ),
            "%f0",
            f32_bits(-0.0),
        ),
        case(format!("neg.ftz.f32 %f0, {small};"), "%f0", f32_bits(-0.0)),
        case(
            format!("setp.gt.ftz.f32 %p1, {small}, {};", hex32(0.0)),
            "%p1",
            0,
        ),
        case(
            format!("setp.gt.f32 %p1, {small}, {};", hex32(0.0)),
            "%p1",
            1,
        ),
        case(format!("cvt.ftz.f64.f32 %fd0, {small};"), "%fd0", 0),
        case(
            format!("fma.rn.ftz.f32 %f0, {small}, {}, {small};", hex32(1e10)),
            "%f0",
            0,
        ),
    ]);
}

#[test]
fn minimum_and_maximum() {
    let (nan, one, zero, minus) = ("0f7FC00000", hex32(1.0), hex32(0.0), hex32(-0.0));
    check(&[
        case(format!("min.f32 %f0, {nan}, {one};"), "%f0", f32_bits(1.0)),
        case(format!("max.f32 %f0, {one}, {nan};"), "%f0", f32_bits(1.0)),
        case(format!("max.f32 %f0, {nan}, {nan};"), "%f0", NAN32),
        case(format!("min.NaN.f32 %f0, {one}, {nan};"), "%f0", NAN32),
        case(
            format!("min.f32 %f0, {zero}, {minus};"),
            "%f0",
            f32_bits(-0.0),
        ),
        case(
            format!("min.f32 %f0, {minus}, {zero};"),
            "%f0",
            f32_bits(-0.0),
        ),
        case(format!("max.f32 %f0, {minus}, {zero};"), "%f0", 0),
        case(
            format!("max.xorsign.abs.f32 %f0, {}, {};", hex32(-3.0), hex32(2.0)),
            "%f0",
            f32_bits(-3.0),
        ),
        case(
            format!("min.f64 %fd0, {}, {};", hex64(2.5), hex64(-1.5)),
            "%fd0",
            (-1.5f64).to_bits(),
        ),
        case(
            format!("abs.f32 %f0, {};", hex32(-2.5)),
            "%f0",
            f32_bits(2.5),
        ),
        case(
            format!("neg.f64 %fd0, {};", hex64(2.5)),
            "%fd0",
            (-2.5f64).to_bits(),
        ),
        case(
            format!("copysign.f32 %f0, {}, {};", hex32(-1.0), hex32(2.0)),
            "%f0",
            f32_bits(-2.0),
        ),
        case(format!("testp.notanumber.f32 %p1, {nan};"), "%p1", 1),
        case(
            format!("testp.subnormal.f32 %p1, {};", hex32(SUBNORMAL)),
            "%p1",
            1,
        ),
        case(format!("testp.normal.f64 %p1, {};", hex64(1.0)), "%p1", 1),
        case("testp.finite.f32 %p1, 0f7F800000;", "%p1", 0),
    ]);
}

#[test]
fn comparisons() {
    let mut cases = Vec::new();
    let values = [1.0f32, 2.0, f32::NAN];
    for a in values {
        for b in values {
            let unordered = a.is_nan() || b.is_nan();
            let table = [
                ("eq", a == b),
                ("ne", !unordered && a != b),
                ("lt", a < b),
                ("le", a <= b),
                ("gt", a > b),
                ("ge", a >= b),
                ("equ", unordered || a == b),
                ("neu", a != b),
                ("ltu", unordered || a < b),
                ("leu", unordered || a <= b),
                ("gtu", unordered || a > b),
                ("geu", unordered || a >= b),
                ("num", !unordered),
                ("nan", unordered),
            ];
            for (name, expected) in table {
                cases.push(case(
                    format!("setp.{name}.f32 %p1, {}, {};", hex32(a), hex32(b)),
                    "%p1",
                    expected.into(),
                ));
                let (x, y) = (hex64(a.into()), hex64(b.into()));
                cases.push(case(
                    format!("setp.{name}.f64 %p1, {x}, {y};"),
                    "%p1",
                    expected.into(),
                ));
            }
        }
    }
    check(&cases);
}

#[test]
fn approximations() {
    let close = |text: String, expected: f32| {
        // The device's error bound is larger than the tolerance.
        let body = format!(
            "{text} sub.f32 %f1, %f0, {}; abs.f32 %f1, %f1; setp.le.f32 %p1, %f1, {};",
            hex32(expected),
            hex32(expected.abs() * 1e-6)
        );
        case(body, "%p1", 1)
    };
    let x = 0.7f32;
    let h = hex32(x);
    check(&[
        close(format!("sin.approx.f32 %f0, {h};"), x.sin()),
        close(format!("cos.approx.ftz.f32 %f0, {h};"), x.cos()),
        close(format!("ex2.approx.ftz.f32 %f0, {h};"), x.exp2()),
        close(format!("lg2.approx.f32 %f0, {h};"), x.log2()),
        close(format!("tanh.approx.f32 %f0, {h};"), x.tanh()),
        close(format!("rsqrt.approx.f32 %f0, {h};"), 1.0 / x.sqrt()),
        close(format!("sqrt.approx.f32 %f0, {h};"), x.sqrt()),
        close(format!("rcp.approx.ftz.f32 %f0, {h};"), 1.0 / x),
        close(format!("div.full.f32 %f0, {h}, {};", hex32(3.0)), x / 3.0),
        case(
            format!("rcp.approx.ftz.f64 %fd0, {};", hex64(3.0)),
            "%fd0",
            (1.0f64 / 3.0).to_bits() & !0xffff_ffff,
        ),
        case(
            format!("rsqrt.approx.f64 %fd0, {};", hex64(4.0)),
            "%fd0",
            0.5f64.to_bits(),
        ),
        case(
            "lg2.approx.f32 %f0, 0f00000000;",
            "%f0",
            f32_bits(f32::NEG_INFINITY),
        ),
        case("rsqrt.approx.f32 %f0, 0fBF800000;", "%f0", NAN32),
    ]);
}

/// fp16: 0x3c00 is 1, 0x3800 is 0.5, 0x4000 is 2, 0x7bff the largest, 0x0001 the smallest.
#[test]
fn halves() {
    let two = |op: &str, a: u16, b: u16| {
        format!("mov.b16 %rs1, {a}; mov.b16 %rs2, {b}; {op} %rs0, %rs1, %rs2;")
    };
    check(&[
        case(two("add.f16", 0x3c00, 0x3800), "%rs0", 0x3e00),
        case(two("sub.f16", 0x3c00, 0x4000), "%rs0", 0xbc00),
        case(two("mul.f16", 0x7bff, 0x4000), "%rs0", 0x7c00),
        case(two("mul.f16", 0x0001, 0x3800), "%rs0", 0),
        case(two("mul.ftz.f16", 0x0001, 0x4000), "%rs0", 0),
        case(two("add.sat.f16", 0x3c00, 0x3c00), "%rs0", 0x3c00),
        case(two("min.f16", 0x3c00, 0x7e00), "%rs0", 0x3c00),
        case(two("max.NaN.f16", 0x3c00, 0x7e00), "%rs0", 0x7fff),
        case(
            "mov.b16 %rs1, 0x3c00; mov.b16 %rs2, 0x4000; fma.rn.f16 %rs0, %rs2, %rs2, %rs1;",
            "%rs0",
            0x4500,
        ),
        case(
            "mov.b16 %rs1, 0xc000; mov.b16 %rs2, 0x3c00; fma.rn.relu.f16 %rs0, %rs1, %rs2, %rs2;",
            "%rs0",
            0,
        ),
        case(
            "mov.b32 %r1, 0x3c004000; mov.b32 %r2, 0x3c003c00; add.f16x2 %r0, %r1, %r2;",
            "%r0",
            0x4000_4200,
        ),
        case(
            "mov.b32 %r1, 0x3c004000; mov.b32 %r2, 0x40004000; mov.b32 %r3, 0x3c003c00; fma.rn.f16x2 %r0, %r1, %r2, %r3;",
            "%r0",
            0x4200_4500,
        ),
        case(
            "mov.b32 %r1, 0x3c004000; neg.f16x2 %r0, %r1;",
            "%r0",
            0xbc00_c000,
        ),
        case(
            "mov.b32 %r1, 0x3c004000; mov.b32 %r2, 0x40003c00; setp.lt.f16x2 %p1|%p2, %r1, %r2;",
            "%p1",
            0,
        ),
        case(
            "mov.b32 %r1, 0x3c004000; mov.b32 %r2, 0x40003c00; setp.lt.f16x2 %p1|%p2, %r1, %r2;",
            "%p2",
            1,
        ),
        case(
            two("fma.rn.bf16", 0x3f80, 0x4000).replace("%rs2;", "%rs2, %rs1;"),
            "%rs0",
            0x4040,
        ),
        case(
            "mov.b32 %r1, 0x3f804000; mov.b32 %r2, 0x40004000; mov.b32 %r3, 0x3f803f80; fma.rn.bf16x2 %r0, %r1, %r2, %r3;",
            "%r0",
            0x4040_40a0,
        ),
        case(
            "mov.b16 %rs1, 0x3c00; ex2.approx.f16 %rs0, %rs1;",
            "%rs0",
            0x4000,
        ),
    ]);
}

#[test]
fn conversions() {
    let from32 = |op: &str, d: &str, x: f32| format!("{op} {d}, {};", hex32(x));
    let from64 = |op: &str, d: &str, x: f64| format!("{op} {d}, {};", hex64(x));
    let i = |x: i32| x as u32 as u64;
    check(&[
        case(from32("cvt.rzi.s32.f32", "%r0", -2.7), "%r0", i(-2)),
        case(from32("cvt.rni.s32.f32", "%r0", 2.5), "%r0", 2),
        case(from32("cvt.rni.s32.f32", "%r0", 3.5), "%r0", 4),
        case(from32("cvt.rmi.s32.f32", "%r0", -2.1), "%r0", i(-3)),
        case(from32("cvt.rpi.s32.f32", "%r0", -2.9), "%r0", i(-2)),
        case(from32("cvt.rzi.s32.f32", "%r0", 1e20), "%r0", 0x7fff_ffff),
        case(from32("cvt.rzi.u32.f32", "%r0", -1.0), "%r0", 0),
        case(from32("cvt.rzi.s32.f32", "%r0", f32::NAN), "%r0", 0),
        case(from32("cvt.rzi.u32.f32", "%r0", f32::NAN), "%r0", 0),
        case(from32("cvt.rzi.s64.f32", "%rd0", f32::NAN), "%rd0", 1 << 63),
        case(from32("cvt.rzi.u64.f32", "%rd0", f32::NAN), "%rd0", 1 << 63),
        case(from64("cvt.rzi.s32.f64", "%r0", f64::NAN), "%r0", 1 << 31),
        case(from64("cvt.rzi.u16.f64", "%rs0", 1e9), "%rs0", 0xffff),
        case(from64("cvt.rzi.s64.f64", "%rd0", -1e300), "%rd0", 1 << 63),
        case(from32("cvt.rzi.sat.s8.f32", "%rs0", -300.0), "%rs0", 0xff80),
        case(from32("cvt.rni.f32.f32", "%f0", 2.5), "%f0", f32_bits(2.0)),
        case(
            from32("cvt.rmi.f32.f32", "%f0", -2.5),
            "%f0",
            f32_bits(-3.0),
        ),
        case(
            from32("cvt.rzi.f32.f32", "%f0", -0.5),
            "%f0",
            f32_bits(-0.0),
        ),
        case(
            from64("cvt.rpi.f64.f64", "%fd0", 2.1),
            "%fd0",
            3f64.to_bits(),
        ),
        case(from32("cvt.sat.f32.f32", "%f0", 7.0), "%f0", f32_bits(1.0)),
        case(from64("cvt.rn.f32.f64", "%f0", 0.1), "%f0", f32_bits(0.1)),
        case(
            from64("cvt.rz.f32.f64", "%f0", 0.1),
            "%f0",
            f32_bits(0.1f32.next_down()),
        ),
        case(from64("cvt.rp.f32.f64", "%f0", 1e-60), "%f0", 1),
        case(
            from32("cvt.f64.f32", "%fd0", 0.1),
            "%fd0",
            f64::from(0.1f32).to_bits(),
        ),
        case(
            "mov.b32 %r1, 0x7fffffff; cvt.rn.f32.s32 %f0, %r1;",
            "%f0",
            f32_bits(0x7fff_ffff as f32),
        ),
        case(
            "mov.b32 %r1, 0x7fffffff; cvt.rz.f32.s32 %f0, %r1;",
            "%f0",
            f32_bits((0x7fff_ffff as f32).next_down()),
        ),
        case(
            "mov.b64 %rd1, -1; cvt.rn.f64.u64 %fd0, %rd1;",
            "%fd0",
            (u64::MAX as f64).to_bits(),
        ),
        case(
            "mov.b64 %rd1, -1; cvt.rn.f32.s64 %f0, %rd1;",
            "%f0",
            f32_bits(-1.0),
        ),
        case(
            "mov.b32 %r1, 0x12345680; cvt.s32.s8 %r0, %r1;",
            "%r0",
            0xffff_ff80,
        ),
        case("mov.b32 %r1, 0x12345680; cvt.u32.u8 %r0, %r1;", "%r0", 0x80),
        case(
            "mov.b32 %r1, -5; cvt.s64.s32 %rd0, %r1;",
            "%rd0",
            -5i64 as u64,
        ),
        case(
            "mov.b32 %r1, -5; cvt.u64.u32 %rd0, %r1;",
            "%rd0",
            0xffff_fffb,
        ),
        case("mov.b32 %r1, -5; cvt.s8.s32 %rs0, %r1;", "%rs0", 0xfffb),
        case("mov.b32 %r1, 300; cvt.sat.u8.s32 %rs0, %r1;", "%rs0", 255),
        case(
            "mov.b32 %r1, -300; cvt.sat.s8.s32 %rs0, %r1;",
            "%rs0",
            0xff80,
        ),
        case("mov.b32 %r1, -300; cvt.sat.u16.s32 %rs0, %r1;", "%rs0", 0),
        case(from32("cvt.rn.f16.f32", "%rs0", 65519.0), "%rs0", 0x7bff),
        case(from32("cvt.rn.f16.f32", "%rs0", 65520.0), "%rs0", 0x7c00),
        case(from32("cvt.rz.f16.f32", "%rs0", 1e9), "%rs0", 0x7bff),
        case(from32("cvt.rn.f16.f32", "%rs0", 5.9e-8), "%rs0", 1),
        case(
            "mov.b16 %rs1, 0x3555; cvt.f32.f16 %f0, %rs1;",
            "%f0",
            f32_bits(0.33325195),
        ),
        case(
            "mov.b16 %rs1, 0x0001; cvt.f64.f16 %fd0, %rs1;",
            "%fd0",
            (2f64.powi(-24)).to_bits(),
        ),
        case(
            "mov.b16 %rs1, 0xc100; cvt.rzi.s32.f16 %r0, %rs1;",
            "%r0",
            i(-2),
        ),
        case(
            "mov.b32 %r1, 2049; cvt.rn.f16.s32 %rs0, %r1;",
            "%rs0",
            0x6800,
        ),
        case(
            from32("cvt.rn.bf16.f32", "%rs0", 1.0 + 1.0 / 256.0),
            "%rs0",
            0x3f80,
        ),
        case(
            from32("cvt.rn.bf16.f32", "%rs0", 1.0 + 3.0 / 256.0),
            "%rs0",
            0x3f82,
        ),
        case(
            "mov.b16 %rs1, 0x3f82; cvt.f32.bf16 %f0, %rs1;",
            "%f0",
            f32_bits(1.015625),
        ),
        case(
            format!("cvt.rn.f16x2.f32 %r0, {}, {};", hex32(1.0), hex32(2.0)),
            "%r0",
            0x3c00_4000,
        ),
        case(
            format!("cvt.rn.bf16x2.f32 %r0, {}, {};", hex32(1.0), hex32(2.0)),
            "%r0",
            0x3f80_4000,
        ),
        case(
            format!(
                "cvt.rn.relu.f16x2.f32 %r0, {}, {};",
                hex32(-1.0),
                hex32(2.0)
            ),
            "%r0",
            0x0000_4000,
        ),
        case(
            from32("cvt.rna.tf32.f32", "%r0", f32::from_bits(0x3f80_1000)),
            "%r0",
            0x3f80_2000,
        ),
        case("cvt.pack.sat.s16.s32 %r0, 100000, -5;", "%r0", 0x7fff_fffb),
        case(
            "cvt.pack.sat.u8.s32.b32 %r0, 300, -5, 0x1234;",
            "%r0",
            0x1234_ff00,
        ),
    ]);
}
