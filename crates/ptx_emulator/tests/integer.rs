//! Integer instructions, one by one, compared with Rust's results.

mod common;

use common::{Case, case, check};

const VALUES: [u64; 8] = [
    0,
    1,
    5,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX - 6,
];

/// Returns code that loads both operands into registers of a width, and then executes `op d, a, b`.
fn two(op: &str, bits: u32, a: u64, b: u64) -> (String, &'static str) {
    match bits {
        16 => (
            format!(
                "mov.b16 %rs1, {}; mov.b16 %rs2, {}; {op} %rs0, %rs1, %rs2;",
                a as u16, b as u16
            ),
            "%rs0",
        ),
        32 => (
            format!(
                "mov.b32 %r1, {}; mov.b32 %r2, {}; {op} %r0, %r1, %r2;",
                a as u32, b as u32
            ),
            "%r0",
        ),
        _ => (
            format!("mov.b64 %rd1, {a}; mov.b64 %rd2, {b}; {op} %rd0, %rd1, %rd2;"),
            "%rd0",
        ),
    }
}

macro_rules! all_pairs {
    ($cases:ident, $op:literal, $bits:literal, $T:ty, |$a:ident, $b:ident| $result:expr) => {
        for x in VALUES {
            for y in VALUES {
                let ($a, $b) = (x as $T, y as $T);
                let (text, register) = two($op, $bits, x, y);
                let expected: u64 = { $result } as u64 & (u64::MAX >> (64 - $bits));
                $cases.push(case(text, register, expected));
            }
        }
    };
}

#[test]
fn arithmetic() {
    let mut cases: Vec<Case> = Vec::new();
    all_pairs!(cases, "add.u16", 16, u16, |a, b| a.wrapping_add(b));
    all_pairs!(cases, "add.s32", 32, i32, |a, b| a.wrapping_add(b));
    all_pairs!(cases, "add.u64", 64, u64, |a, b| a.wrapping_add(b));
    all_pairs!(cases, "add.sat.s32", 32, i32, |a, b| a.saturating_add(b));
    all_pairs!(cases, "sub.sat.s32", 32, i32, |a, b| a.saturating_sub(b));
    all_pairs!(cases, "sub.s64", 64, i64, |a, b| a.wrapping_sub(b));
    all_pairs!(cases, "mul.lo.s32", 32, i32, |a, b| a.wrapping_mul(b));
    all_pairs!(cases, "mul.hi.s32", 32, i32, |a, b| (i64::from(a)
        * i64::from(b))
        >> 32);
    all_pairs!(cases, "mul.hi.u32", 32, u32, |a, b| (u64::from(a)
        * u64::from(b))
        >> 32);
    all_pairs!(cases, "mul.hi.s64", 64, i64, |a, b| (i128::from(a)
        * i128::from(b))
        >> 64);
    all_pairs!(cases, "mul.hi.u64", 64, u64, |a, b| (u128::from(a)
        * u128::from(b))
        >> 64);
    all_pairs!(cases, "min.s32", 32, i32, |a, b| a.min(b));
    all_pairs!(cases, "max.u64", 64, u64, |a, b| a.max(b));
    all_pairs!(cases, "min.s16", 16, i16, |a, b| a.min(b));
    all_pairs!(cases, "div.u32", 32, u32, |a, b| a
        .checked_div(b)
        .unwrap_or(u32::MAX));
    all_pairs!(cases, "div.s32", 32, i32, |a, b| if b == 0 {
        -1
    } else {
        a.wrapping_div(b)
    });
    all_pairs!(cases, "rem.s64", 64, i64, |a, b| if b == 0 {
        -1
    } else {
        a.wrapping_rem(b)
    });
    all_pairs!(cases, "rem.u16", 16, u16, |a, b| a
        .checked_rem(b)
        .unwrap_or(u16::MAX));
    all_pairs!(cases, "xor.b32", 32, u32, |a, b| a ^ b);
    all_pairs!(cases, "and.b64", 64, u64, |a, b| a & b);
    all_pairs!(cases, "or.b16", 16, u16, |a, b| a | b);
    check(&cases);
}

#[test]
fn shifts() {
    let mut cases = Vec::new();
    for value in VALUES {
        for amount in [0u32, 1, 15, 16, 31, 32, 33, 63, 64, 65, 1000] {
            let a = value as u32;
            let shifted = |text: &str| {
                format!("mov.b32 %r1, {a}; mov.b32 %r2, {amount}; {text} %r0, %r1, %r2;")
            };
            cases.push(case(
                shifted("shl.b32"),
                "%r0",
                a.checked_shl(amount).unwrap_or(0).into(),
            ));
            cases.push(case(
                shifted("shr.u32"),
                "%r0",
                a.checked_shr(amount).unwrap_or(0).into(),
            ));
            cases.push(case(
                shifted("shr.s32"),
                "%r0",
                ((a as i32) >> amount.min(31)) as u32 as u64,
            ));
            let wide = |text: &str| {
                format!("mov.b64 %rd1, {value}; mov.b32 %r2, {amount}; {text} %rd0, %rd1, %r2;")
            };
            cases.push(case(
                wide("shl.b64"),
                "%rd0",
                value.checked_shl(amount).unwrap_or(0),
            ));
            cases.push(case(
                wide("shr.u64"),
                "%rd0",
                value.checked_shr(amount).unwrap_or(0),
            ));
            cases.push(case(
                wide("shr.s64"),
                "%rd0",
                ((value as i64) >> amount.min(63)) as u64,
            ));
            let narrow = |text: &str| {
                format!(
                    "mov.b16 %rs1, {}; mov.b32 %r2, {amount}; {text} %rs0, %rs1, %r2;",
                    value as u16
                )
            };
            cases.push(case(
                narrow("shr.s16"),
                "%rs0",
                ((value as i16) >> amount.min(15)) as u16 as u64,
            ));
            cases.push(case(
                narrow("shl.b16"),
                "%rs0",
                (value as u16).checked_shl(amount).unwrap_or(0).into(),
            ));
            let (low, high) = (value as u32, 0x1234_5678u32);
            let joined = u64::from(high) << 32 | u64::from(low);
            let funnel = |text: &str| format!("shf.{text}.b32 %r0, {low}, {high}, {amount};");
            cases.push(case(
                funnel("l.wrap"),
                "%r0",
                (joined << (amount & 31)) >> 32,
            ));
            cases.push(case(
                funnel("l.clamp"),
                "%r0",
                (joined << amount.min(32)) >> 32,
            ));
            cases.push(case(
                funnel("r.wrap"),
                "%r0",
                (joined >> (amount & 31)) & 0xffff_ffff,
            ));
            cases.push(case(
                funnel("r.clamp"),
                "%r0",
                (joined >> amount.min(32)) & 0xffff_ffff,
            ));
        }
    }
    check(&cases);
}

#[test]
fn multiply_and_add() {
    let big = 0xffff_fff0u32;
    check(&[
        case(
            format!("mad.lo.u32 %r0, {big}, 3, 7;"),
            "%r0",
            big.wrapping_mul(3).wrapping_add(7).into(),
        ),
        case(
            "mad.hi.s32 %r0, 0x7fffffff, 0x7fffffff, 5;",
            "%r0",
            0x3fff_ffff + 5,
        ),
        case(
            "mad.hi.sat.s32 %r0, 0x7fffffff, 0x7fffffff, 0x7fffffff;",
            "%r0",
            0x7fff_ffff,
        ),
        case("mad.wide.s32 %rd0, -5, 7, 100;", "%rd0", 65),
        case(
            "mad.wide.u32 %rd0, 0xffffffff, 0xffffffff, 1;",
            "%rd0",
            0xffff_fffe_0000_0002,
        ),
        case("mad.wide.s16 %r0, -5, 7, 100;", "%r0", 65),
        case("mul.wide.u16 %r0, 0xffff, 0xffff;", "%r0", 0xfffe_0001),
        case("mul.wide.s32 %rd0, -5, 7;", "%rd0", -35i64 as u64),
        case("mul24.lo.u32 %r0, 0x1ffffff, 2;", "%r0", 0x1ff_fffe),
        case(
            "mul24.hi.u32 %r0, 0xffffff, 0xffffff;",
            "%r0",
            (0xff_ffffu64 * 0xff_ffff) >> 16,
        ),
        case("mad24.lo.s32 %r0, 0xffffff, 3, 10;", "%r0", 7),
        case("sad.s32 %r0, -5, 7, 100;", "%r0", 112),
        case("sad.u32 %r0, 5, 7, 100;", "%r0", 102),
        case("abs.s32 %r0, -5;", "%r0", 5),
        case("abs.s64 %rd0, 0x8000000000000000;", "%rd0", 1 << 63),
        case("neg.s32 %r0, 5;", "%r0", 0xffff_fffb),
        case("neg.s16 %rs0, 5;", "%rs0", 0xfffb),
        case("not.b64 %rd0, 5;", "%rd0", !5),
        case("cnot.b32 %r0, 0;", "%r0", 1),
        case("cnot.b32 %r0, 77;", "%r0", 0),
        case("dp4a.s32.s32 %r0, 0xff020304, 0x01010101, 10;", "%r0", 18),
        case("dp4a.u32.u32 %r0, 0xff020304, 0x01010101, 10;", "%r0", 274),
        case(
            "dp2a.lo.s32.s32 %r0, 0xffff0002, 0x04030201, 10;",
            "%r0",
            10,
        ),
        case(
            "dp2a.hi.u32.u32 %r0, 0x00010002, 0x04030201, 10;",
            "%r0",
            20,
        ),
        case(
            "mov.b32 %r1, 0xffff0005; mov.b32 %r2, 0x00010003; min.s16x2 %r0, %r1, %r2;",
            "%r0",
            0xffff_0003,
        ),
        case(
            "mov.b32 %r1, 0xffff0005; mov.b32 %r2, 0x00010003; max.u16x2 %r0, %r1, %r2;",
            "%r0",
            0xffff_0005,
        ),
        case(
            "mov.b32 %r1, 0xffff0005; mov.b32 %r2, 0x00010003; add.u16x2 %r0, %r1, %r2;",
            "%r0",
            0x0000_0008,
        ),
        case("min.relu.s32 %r0, -3, 5;", "%r0", 0),
    ]);
}

#[test]
fn carry_chains() {
    let (a, b) = (
        0xffff_ffff_8000_0001_ffff_ffff_ffff_ffffu128,
        0x0123_4567_89ab_cdef_0000_0000_0000_0001u128,
    );
    let (sum, difference) = (a.wrapping_add(b), b.wrapping_sub(a));
    let words = |x: u128| -> [u32; 4] { std::array::from_fn(|i| (x >> (i * 32)) as u32) };
    let (wa, wb) = (words(a), words(b));
    let chain = |op: &str, x: [u32; 4], y: [u32; 4]| {
        format!(
            "{op}.cc.u32 %r1, {}, {}; {op}c.cc.u32 %r2, {}, {}; {op}c.cc.u32 %r3, {}, {}; {op}c.u32 %r4, {}, {};",
            x[0], y[0], x[1], y[1], x[2], y[2], x[3], y[3]
        )
    };
    let mut cases = Vec::new();
    for (index, register) in ["%r1", "%r2", "%r3", "%r4"].into_iter().enumerate() {
        cases.push(case(
            chain("add", wa, wb),
            register,
            words(sum)[index].into(),
        ));
        cases.push(case(
            chain("sub", wb, wa),
            register,
            words(difference)[index].into(),
        ));
    }
    let (x, y) = (0xfedc_ba98_7654_3210u64, 0x0fed_cba9_8765_4321u64);
    let product = u128::from(x) * u128::from(y);
    let (xl, xh, yl, yh) = (x as u32, x >> 32, y as u32, y >> 32);
    let multiply = format!(
        "mul.lo.u32 %r1, {xl}, {yl}; mul.hi.u32 %r2, {xl}, {yl};
         mad.lo.cc.u32 %r2, {xh}, {yl}, %r2; madc.hi.u32 %r3, {xh}, {yl}, 0;
         mad.lo.cc.u32 %r2, {xl}, {yh}, %r2; madc.hi.cc.u32 %r3, {xl}, {yh}, %r3; addc.u32 %r4, 0, 0;
         mad.lo.cc.u32 %r3, {xh}, {yh}, %r3; madc.hi.u32 %r4, {xh}, {yh}, %r4;"
    );
    for (index, register) in ["%r1", "%r2", "%r3", "%r4"].into_iter().enumerate() {
        cases.push(case(
            multiply.clone(),
            register,
            words(product)[index].into(),
        ));
    }
    cases.push(case(
        "add.cc.u64 %rd1, -1, 1; addc.u64 %rd0, 5, 6;",
        "%rd0",
        12,
    ));
    cases.push(case(
        "sub.cc.s64 %rd1, 0, 1; subc.s64 %rd0, 5, 6;",
        "%rd0",
        -2i64 as u64,
    ));
    check(&cases);
}

#[test]
fn bits() {
    check(&[
        case("bfe.u32 %r0, 0xabcd1234, 8, 8;", "%r0", 0x12),
        case("bfe.s32 %r0, 0x8000, 12, 4;", "%r0", 0xffff_fff8),
        case(
            "bfe.s64 %rd0, 0x8000000000000000, 60, 10;",
            "%rd0",
            -8i64 as u64,
        ),
        case("bfe.u64 %rd0, -1, 3, 64;", "%rd0", u64::MAX >> 3),
        case("bfi.b32 %r0, 0xab, 0x11111111, 8, 8;", "%r0", 0x1111_ab11),
        case("bfi.b64 %rd0, -1, 0, 60, 64;", "%rd0", 0xf << 60),
        case("bfind.u32 %r0, 0x00f00000;", "%r0", 23),
        case("bfind.s32 %r0, -2;", "%r0", 0),
        case("bfind.u64 %r0, 0;", "%r0", 0xffff_ffff),
        case("bfind.shiftamt.u32 %r0, 1;", "%r0", 31),
        case("brev.b32 %r0, 1;", "%r0", 1 << 31),
        case("brev.b64 %rd0, 2;", "%rd0", 1 << 62),
        case("clz.b32 %r0, 1;", "%r0", 31),
        case("clz.b64 %r0, 0;", "%r0", 64),
        case("popc.b32 %r0, 0xff0f;", "%r0", 12),
        case("popc.b64 %r0, -1;", "%r0", 64),
        case(
            "prmt.b32 %r0, 0x33221100, 0x77665544, 0x7531;",
            "%r0",
            0x7755_3311,
        ),
        case(
            "prmt.b32.rc16 %r0, 0x33221100, 0x77665544, 1;",
            "%r0",
            0x3322_3322,
        ),
        case(
            "lop3.b32 %r0, 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x96;",
            "%r0",
            0xf0f0_f0f0 ^ 0xcccc_cccc ^ 0xaaaa_aaaa,
        ),
        case(
            "lop3.b32 %r0, 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x1b;",
            "%r0",
            0x1b1b_1b1b,
        ),
        case("fns.b32 %r0, 0xb4, 0, 2;", "%r0", 4),
        case("szext.wrap.s32 %r0, 0x1ff, 8;", "%r0", 0xffff_ffff),
        case("szext.clamp.u32 %r0, 0x1ff, 8;", "%r0", 0xff),
        case("bmsk.clamp.b32 %r0, 4, 8;", "%r0", 0xff0),
        case("bmsk.wrap.b32 %r0, 36, 8;", "%r0", 0xff0),
    ]);
}

#[test]
fn comparisons_and_selections() {
    let mut cases = vec![
        case("setp.lt.s32 %p1, -1, 1;", "%p1", 1),
        case("setp.lt.u32 %p1, -1, 1;", "%p1", 0),
        case("setp.lo.u32 %p1, 1, 2;", "%p1", 1),
        case("setp.hs.u64 %p1, -1, 2;", "%p1", 1),
        case("setp.eq.b16 %p1, 3, 3;", "%p1", 1),
        case("setp.ne.s64 %p1, 3, 3;", "%p1", 0),
        case("set.lt.u32.s32 %r0, -1, 1;", "%r0", 0xffff_ffff),
        case("set.gt.f32.s32 %f0, 3, 1;", "%f0", 1f32.to_bits().into()),
        case(
            "setp.eq.u32 %p2, 1, 1; selp.b64 %rd0, 5, 6, %p2;",
            "%rd0",
            5,
        ),
        case(
            "setp.eq.u32 %p2, 1, 2; selp.u16 %rs0, 5, 6, %p2;",
            "%rs0",
            6,
        ),
        case("slct.u32.s32 %r0, 5, 6, -1;", "%r0", 6),
        case("slct.u64.f32 %rd0, 5, 6, 0f00000000;", "%rd0", 5),
        case("setp.eq.u32 %p1, 1, 1; not.pred %p1, %p1;", "%p1", 0),
        case(
            "setp.eq.u32 %p1, 1, 1; mov.pred %p2, %p1; xor.pred %p3, %p1, %p2;",
            "%p3",
            0,
        ),
    ];
    for (p, q, c, and) in [("%p1", "%p2", 1, 1), ("%p1", "%p2", 0, 0)] {
        let text = format!("setp.ne.u32 %p3, {c}, 0; setp.lt.and.s32 {p}|{q}, 1, 2, %p3;");
        cases.push(case(text.clone(), p, and));
        cases.push(case(text, q, 0));
    }
    // The combining predicate may be one of the targets.
    cases.push(case(
        "setp.eq.u32 %p1, 1, 1; setp.lt.xor.s32 %p1|%p2, 1, 2, %p1;",
        "%p1",
        0,
    ));
    cases.push(case(
        "setp.eq.u32 %p1, 1, 1; setp.lt.xor.s32 %p1|%p2, 1, 2, %p1;",
        "%p2",
        1,
    ));
    cases.push(case(
        "setp.eq.u32 %p1, 1, 1; setp.lt.or.s32 %p2, 3, 2, !%p1;",
        "%p2",
        0,
    ));
    check(&cases);
}
