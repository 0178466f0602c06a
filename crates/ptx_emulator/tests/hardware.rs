//! Compares every arithmetic instruction, over thousands of operands, with the results of an NVIDIA
//! GPU.
//!
//! `ptx/h100.txt` contains, for each instruction, a hash of the results of an H100. To update it,
//! run this test with `PTX_HARDWARE_DIR=DIR`: it writes `hardware.ptx` and `inputs.bin` to that
//! directory. On a machine with a GPU, `ptx/record.py` runs these and writes `results.bin`. The
//! next run of the test with that variable writes the hashes, and lists the operands on which GPU
//! and emulator differ.

mod common;

use std::fmt::Write;
use std::path::Path;

use ptx_emulator::{LaunchConfig, launch};

/// The number of threads in a block and of blocks in the grid.
const BLOCK: u32 = 128;
const GRID: u32 = 40;
const THREADS: usize = (BLOCK * GRID) as usize;

/// One or more instructions: their text, and the register with the result. Operands are in
/// registers 1 to 3 of each kind, `%r4` is the lane, and registers from 10 on are free.
struct Operation {
    text: String,
    register: &'static str,
}

/// Operands that often cause errors: bounds of integers, and floats of 16, 32 and 64 bits.
const SPECIAL: [u64; 44] = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    64,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x3c00,
    0x7bff,
    0x7c00,
    0x7e00,
    0x7fff,
    0x8000,
    0xffff,
    0x0001_0001,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0x4b00_0001,
    0x7f7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0x0000_0001_0080_0000,
    0x007f_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff8_0000_4048_f5c3,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_cf00_0000,
    0x0010_0000_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Three operands for each thread.
fn inputs() -> Vec<u64> {
    let mut state = 0x1234_5678_9abc_def0u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let n = SPECIAL.len();
    let mut values = Vec::new();
    for index in 0..THREADS {
        if index < n * n {
            values.extend([
                SPECIAL[index % n],
                SPECIAL[index / n],
                SPECIAL[(index / 7 + index) % n],
            ]);
            continue;
        }
        // Floats with similar exponents, for sums that cancel; small numbers, for shifts; and
        // arbitrary bits.
        let mut value = || match index % 4 {
            0 => {
                random() & 0x80ff_ffff_80ff_ffff
                    | (0x3f00_0000_3f00_0000 + (random() & 0x0080_0000_0080_0000))
            }
            1 => random() >> (random() % 64),
            2 => (random() & 0x7ff) << 20 | random() & 0x7ff,
            _ => random(),
        };
        values.extend([value(), value(), value()]);
    }
    values
}

fn operations() -> Vec<Operation> {
    let mut list = Vec::new();
    let mut add = |text: String, register: &'static str| list.push(Operation { text, register });
    // The registers of a type: destination, and three sources.
    let kinds = |ty: &str| -> (&'static str, [&'static str; 3]) {
        match ty {
            "u16" | "s16" | "b16" | "f16" | "bf16" => ("%rs10", ["%rs1", "%rs2", "%rs3"]),
            "f32" => ("%f10", ["%f1", "%f2", "%f3"]),
            "f64" => ("%fd10", ["%fd1", "%fd2", "%fd3"]),
            "u64" | "s64" | "b64" => ("%rd10", ["%rd1", "%rd2", "%rd3"]),
            "pred" => ("%p10", ["%p1", "%p2", "%p3"]),
            _ => ("%r10", ["%r1", "%r2", "%r3"]),
        }
    };
    let mut simple = |op: &str, ty: &str, count: usize| {
        let (d, sources) = kinds(ty);
        add(
            format!("{op}.{ty} {d}, {};", sources[..count].join(", ")),
            d,
        );
    };
    for ty in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        for op in ["add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"] {
            simple(op, ty, 2);
        }
        for op in ["mad.lo", "mad.hi", "sad"] {
            simple(op, ty, 3);
        }
    }
    for ty in ["s16", "s32", "s64"] {
        simple("abs", ty, 1);
        simple("neg", ty, 1);
    }
    for ty in ["b16", "b32", "b64", "pred"] {
        for op in ["and", "or", "xor"] {
            simple(op, ty, 2);
        }
        simple("not", ty, 1);
    }
    for (op, ty) in [
        ("cnot", "b16"),
        ("cnot", "b32"),
        ("cnot", "b64"),
        ("brev", "b32"),
        ("brev", "b64"),
    ] {
        simple(op, ty, 1);
    }
    for op in [
        "add.sat", "sub.sat", "min.relu", "max.relu", "mul24.lo", "mul24.hi",
    ] {
        simple(op, "s32", 2);
    }
    for op in ["mul24.lo", "mul24.hi"] {
        simple(op, "u32", 2);
    }
    for op in ["mad24.lo", "mad24.hi", "mad24.hi.sat", "mad.hi.sat"] {
        simple(op, "s32", 3);
    }
    for ty in ["s16x2", "u16x2"] {
        for op in ["add", "min", "max"] {
            simple(op, ty, 2);
        }
    }
    for op in ["dp4a.s32", "dp4a.u32", "dp2a.lo.s32", "dp2a.hi.u32"] {
        simple(op, "s32", 3);
        simple(op, "u32", 3);
    }
    for op in [
        "shf.l.wrap",
        "shf.l.clamp",
        "shf.r.wrap",
        "shf.r.clamp",
        "prmt",
    ] {
        simple(op, "b32", 3);
    }
    // Floats.
    for ty in ["f32", "f64"] {
        for mode in ["rn", "rz", "rm", "rp"] {
            for op in ["add", "sub", "mul", "div"] {
                simple(&format!("{op}.{mode}"), ty, 2);
            }
            simple(&format!("fma.{mode}"), ty, 3);
            simple(&format!("sqrt.{mode}"), ty, 1);
            simple(&format!("rcp.{mode}"), ty, 1);
        }
        for op in ["min", "max"] {
            simple(op, ty, 2);
        }
        simple("abs", ty, 1);
        simple("neg", ty, 1);
        simple("copysign", ty, 2);
    }
    for op in [
        "add.ftz",
        "sub.rn.ftz",
        "mul.ftz",
        "mul.rz.ftz",
        "div.rn.ftz",
        "add.sat",
        "mul.sat",
        "add.ftz.sat",
        "min.NaN",
        "max.NaN",
        "min.ftz",
        "max.ftz.NaN",
        "min.xorsign.abs",
        "max.NaN.xorsign.abs",
    ] {
        simple(op, "f32", 2);
    }
    for op in ["fma.rn.ftz", "fma.rn.sat", "fma.rp.ftz.sat"] {
        simple(op, "f32", 3);
    }
    for op in ["sqrt.rn.ftz", "rcp.rn.ftz", "abs.ftz", "neg.ftz"] {
        simple(op, "f32", 1);
    }
    for ty in ["f16", "bf16", "f16x2", "bf16x2"] {
        for op in [
            "add.rn", "sub.rn", "mul.rn", "min", "max", "min.NaN", "max.NaN",
        ] {
            simple(op, ty, 2);
        }
        simple("fma.rn", ty, 3);
        simple("fma.rn.relu", ty, 3);
        simple("abs", ty, 1);
        simple("neg", ty, 1);
    }
    for ty in ["f16", "f16x2"] {
        for op in [
            "add.ftz",
            "mul.ftz",
            "add.sat",
            "mul.ftz.sat",
            "min.ftz",
            "max.xorsign.abs",
        ] {
            simple(op, ty, 2);
        }
        simple("fma.rn.ftz", ty, 3);
        simple("fma.rn.sat", ty, 3);
    }
    // Instructions with special operands.
    let mut add = |text: String, register: &'static str| list.push(Operation { text, register });
    for (ty, wide) in [
        ("u16", "%r10"),
        ("s16", "%r10"),
        ("u32", "%rd10"),
        ("s32", "%rd10"),
    ] {
        let (_, [a, b, _]) = kinds(ty);
        let c = if wide == "%r10" { "%r3" } else { "%rd3" };
        add(format!("mul.wide.{ty} {wide}, {a}, {b};"), wide);
        add(format!("mad.wide.{ty} {wide}, {a}, {b}, {c};"), wide);
    }
    for ty in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        let (d, [a, ..]) = kinds(ty);
        add(format!("shr.{ty} {d}, {a}, %r2;"), d);
        add(format!("shl.b{} {d}, {a}, %r2;", &ty[1..]), d);
    }
    for ty in ["u32", "s32", "u64", "s64"] {
        let (d, [a, ..]) = kinds(ty);
        add(format!("bfe.{ty} {d}, {a}, %r2, %r3;"), d);
        add(format!("bfind.{ty} %r10, {a};"), "%r10");
        add(format!("bfind.shiftamt.{ty} %r10, {a};"), "%r10");
    }
    add("bfi.b32 %r10, %r1, %r2, %r3, %r5;".into(), "%r10");
    add("bfi.b64 %rd10, %rd1, %rd2, %r3, %r5;".into(), "%rd10");
    for op in [
        "clz.b32 %r10, %r1;",
        "clz.b64 %r10, %rd1;",
        "popc.b32 %r10, %r1;",
        "popc.b64 %r10, %rd1;",
        "fns.b32 %r10, %r1, %r2, %r3;",
    ] {
        add(op.into(), "%r10");
    }
    for mode in ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"] {
        add(format!("prmt.b32.{mode} %r10, %r1, %r2, %r3;"), "%r10");
    }
    for table in [0x96, 0xca, 0xe8, 0x80, 0xfe, 0x1b, 0x6d] {
        add(format!("lop3.b32 %r10, %r1, %r2, %r3, {table};"), "%r10");
    }
    for mode in ["wrap", "clamp"] {
        add(format!("szext.{mode}.s32 %r10, %r1, %r2;"), "%r10");
        add(format!("szext.{mode}.u32 %r10, %r1, %r2;"), "%r10");
        add(format!("bmsk.{mode}.b32 %r10, %r1, %r2;"), "%r10");
    }
    for (size, a, b, c) in [("32", "%r1", "%r2", "%r3"), ("64", "%rd1", "%rd2", "%rd3")] {
        let (x, d) = if size == "32" {
            ("%r11", "%r10")
        } else {
            ("%rd11", "%rd10")
        };
        add(
            format!("add.cc.u{size} {x}, {a}, {b}; addc.u{size} {d}, {a}, {c};"),
            d,
        );
        add(
            format!("sub.cc.u{size} {x}, {a}, {b}; subc.u{size} {d}, {a}, {c};"),
            d,
        );
        add(
            format!(
                "sub.cc.s{size} {x}, {a}, {b}; subc.cc.s{size} {x}, {b}, {c}; subc.s{size} {d}, 0, 0;"
            ),
            d,
        );
        add(
            format!("mad.lo.cc.u{size} {x}, {a}, {b}, {c}; madc.hi.u{size} {d}, {a}, {b}, {c};"),
            d,
        );
        add(
            format!(
                "mad.hi.cc.s{size} {x}, {a}, {b}, {c}; madc.lo.cc.s{size} {x}, {a}, {b}, {c}; addc.u{size} {d}, 0, 0;"
            ),
            d,
        );
    }
    // Comparisons.
    for (types, tests) in [
        (
            &["u16", "u32", "u64"][..],
            &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"][..],
        ),
        (
            &["s16", "s32", "s64"],
            &["eq", "ne", "lt", "le", "gt", "ge"],
        ),
        (
            &["f16", "bf16", "f32", "f64"],
            &[
                "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu",
                "num", "nan",
            ],
        ),
    ] {
        for ty in types {
            let (_, [a, b, _]) = kinds(ty);
            for test in tests {
                add(format!("setp.{test}.{ty} %p10, {a}, {b};"), "%p10");
            }
            if ty.ends_with("f16") {
                continue;
            }
            add(
                format!("setp.{}.and.{ty} %p11|%p10, {a}, {b}, %p3;", tests[2]),
                "%p10",
            );
            add(
                format!("setp.{}.xor.{ty} %p10|%p11, {a}, {b}, !%p3;", tests[3]),
                "%p10",
            );
        }
    }
    add("setp.lt.f16x2 %p11|%p10, %r1, %r2;".into(), "%p10");
    add("setp.geu.f16x2 %p10|%p11, %r1, %r2;".into(), "%p10");
    add("setp.lt.ftz.f32 %p10, %f1, %f2;".into(), "%p10");
    add("set.lt.u32.f32 %r10, %f1, %f2;".into(), "%r10");
    add("set.gt.f32.s32 %f10, %r1, %r2;".into(), "%f10");
    add("set.le.and.f32.f32 %f10, %f1, %f2, %p3;".into(), "%f10");
    add("set.le.u32.f64 %r10, %fd1, %fd2;".into(), "%r10");
    add("set.lt.f16x2.f16x2 %r10, %r1, %r2;".into(), "%r10");
    add("set.lt.u32.f16x2 %r10, %r1, %r2;".into(), "%r10");
    add("selp.b64 %rd10, %rd1, %rd2, %p3;".into(), "%rd10");
    add("slct.u32.s32 %r10, %r1, %r2, %r3;".into(), "%r10");
    add("slct.u64.f32 %rd10, %rd1, %rd2, %f3;".into(), "%rd10");
    add("slct.ftz.f32.f32 %f10, %f1, %f2, %f3;".into(), "%f10");
    for test in [
        "finite",
        "infinite",
        "number",
        "notanumber",
        "normal",
        "subnormal",
    ] {
        add(format!("testp.{test}.f32 %p10, %f1;"), "%p10");
        add(format!("testp.{test}.f64 %p10, %fd1;"), "%p10");
    }
    // Conversions. A result narrower than its register is extended.
    let integers = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
    let register = |ty: &str| match ty {
        "u8" | "s8" | "u16" | "s16" | "f16" | "bf16" => ("%rs10", "%rs1"),
        "u64" | "s64" => ("%rd10", "%rd1"),
        "f32" => ("%f10", "%f1"),
        "f64" => ("%fd10", "%fd1"),
        _ => ("%r10", "%r1"),
    };
    for to in integers {
        let (d, _) = register(to);
        for from in integers {
            let (_, a) = register(from);
            add(format!("cvt.{to}.{from} {d}, {a};"), d);
            // Only if the target cannot represent all values of the source.
            let bits = |ty: &str| ty[1..].parse::<u32>().unwrap_or(0);
            let fits = match (&to[..1], &from[..1]) {
                ("s", "u") => bits(to) > bits(from),
                ("u", "s") => false,
                _ => bits(to) >= bits(from),
            };
            if !fits {
                add(format!("cvt.sat.{to}.{from} {d}, {a};"), d);
            }
        }
        for from in ["f16", "f32", "f64"] {
            let (_, a) = register(from);
            for mode in ["rni", "rzi", "rmi", "rpi"] {
                add(format!("cvt.{mode}.{to}.{from} {d}, {a};"), d);
            }
            let (f, _) = register(from);
            let (_, i) = register(to);
            for mode in ["rn", "rz", "rm", "rp"] {
                add(format!("cvt.{mode}.{from}.{to} {f}, {i};"), f);
            }
        }
        add(format!("cvt.rzi.ftz.{to}.f32 {d}, %f1;"), d);
    }
    for mode in ["rn", "rz", "rm", "rp"] {
        add(format!("cvt.{mode}.f32.f64 %f10, %fd1;"), "%f10");
    }
    for mode in ["rn", "rz"] {
        add(format!("cvt.{mode}.f16.f32 %rs10, %f1;"), "%rs10");
        add(format!("cvt.{mode}.bf16.f32 %rs10, %f1;"), "%rs10");
        add(format!("cvt.{mode}.relu.f16.f32 %rs10, %f1;"), "%rs10");
        add(format!("cvt.{mode}.f16x2.f32 %r10, %f1, %f2;"), "%r10");
        add(
            format!("cvt.{mode}.relu.bf16x2.f32 %r10, %f1, %f2;"),
            "%r10",
        );
    }
    for mode in ["rni", "rzi", "rmi", "rpi"] {
        add(format!("cvt.{mode}.f32.f32 %f10, %f1;"), "%f10");
        add(format!("cvt.{mode}.f64.f64 %fd10, %fd1;"), "%fd10");
        add(format!("cvt.{mode}.f16.f16 %rs10, %rs1;"), "%rs10");
    }
    for text in [
        "cvt.f64.f32 %fd10, %f1;",
        "cvt.ftz.f64.f32 %fd10, %f1;",
        "cvt.f64.f16 %fd10, %rs1;",
    ] {
        add(text.into(), "%fd10");
    }
    for text in [
        "cvt.rn.f16.f64 %rs10, %fd1;",
        "cvt.rn.sat.f16.f32 %rs10, %f1;",
    ] {
        add(text.into(), "%rs10");
    }
    for text in [
        "cvt.f32.f16 %f10, %rs1;",
        "cvt.f32.bf16 %f10, %rs1;",
        "cvt.sat.f32.f32 %f10, %f1;",
        "cvt.ftz.f32.f32 %f10, %f1;",
        "cvt.rn.ftz.f32.f64 %f10, %fd1;",
        "cvt.rn.sat.f32.f64 %f10, %fd1;",
        "cvt.ftz.f32.f16 %f10, %rs1;",
    ] {
        add(text.into(), "%f10");
    }
    add("cvt.rna.tf32.f32 %r10, %f1;".into(), "%r10");
    for text in [
        "cvt.pack.sat.s16.s32 %r10, %r1, %r2;",
        "cvt.pack.sat.u16.s32 %r10, %r1, %r2;",
        "cvt.pack.sat.u8.s32.b32 %r10, %r1, %r2, %r3;",
        "cvt.pack.sat.s8.s32.b32 %r10, %r1, %r2, %r3;",
    ] {
        add(text.into(), "%r10");
    }
    // Operations of a warp; every lane participates.
    for mode in ["up", "down", "bfly", "idx"] {
        for clamp in ["0", "31", "0x181f", "0x1c00", "0x1003"] {
            add(
                format!("shfl.sync.{mode}.b32 %r10|%p10, %r1, %r2, {clamp}, -1;"),
                "%r10",
            );
            add(
                format!("shfl.sync.{mode}.b32 %r11|%p10, %r1, %r2, {clamp}, -1;"),
                "%p10",
            );
        }
    }
    for text in [
        "vote.sync.ballot.b32 %r10, %p1, -1;",
        "match.any.sync.b32 %r10, %r2, -1;",
        "match.any.sync.b64 %r10, %rd2, -1;",
        "redux.sync.add.u32 %r10, %r1, -1;",
        "redux.sync.add.s32 %r10, %r1, -1;",
        "redux.sync.min.s32 %r10, %r1, -1;",
        "redux.sync.max.s32 %r10, %r1, -1;",
        "redux.sync.min.u32 %r10, %r1, -1;",
        "redux.sync.max.u32 %r10, %r1, -1;",
        "redux.sync.and.b32 %r10, %r1, -1;",
        "redux.sync.or.b32 %r10, %r1, -1;",
        "redux.sync.xor.b32 %r10, %r1, -1;",
        "bar.red.popc.u32 %r10, 0, %p1;",
        "match.all.sync.b32 %r10|%p10, %r2, -1;",
        "mov.u32 %r10, %lanemask_lt;",
        "mov.u32 %r10, %lanemask_ge;",
        "mov.u32 %r10, %lanemask_eq;",
        "mov.u32 %r10, %lanemask_le;",
        "mov.u32 %r10, %lanemask_gt;",
        "activemask.b32 %r10;",
    ] {
        add(text.into(), "%r10");
    }
    for text in [
        "vote.sync.all.pred %p10, %p1, -1;",
        "vote.sync.any.pred %p10, !%p1, -1;",
        "vote.sync.uni.pred %p10, %p1, -1;",
        "bar.red.and.pred %p10, 0, %p1;",
        "bar.red.or.pred %p10, 0, !%p1;",
        "elect.sync %r11|%p10, -1;",
        "match.all.sync.b64 %r11|%p10, %rd2, -1;",
    ] {
        add(text.into(), "%p10");
    }
    list
}

/// Returns the module with a kernel `op_N` for each operation, from `in` to `out`.
fn text(operations: &[Operation]) -> String {
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    for (
        index,
        Operation {
            text: operation,
            register,
        },
    ) in operations.iter().enumerate()
    {
        let widen = match register.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "%p" => format!("selp.u64 %rd30, 1, 0, {register};"),
            "%rs" => format!("cvt.u64.u16 %rd30, {register};"),
            "%f" => format!(
                "
                mov.b32 %r30, {register};
                cvt.u64.u32 %rd30, %r30;
                "
            ),
            "%fd" => format!("mov.b64 %rd30, {register};"),
            "%rd" => format!("mov.b64 %rd30, {register};"),
            _ => format!("cvt.u64.u32 %rd30, {register};"),
        };
        writeln!(
            text,
            "
                .visible .entry op_{index}(.param .u64 in, .param .u64 out) {{
                    .reg .pred %p<12>;
                    .reg .b16 %rs<12>;
                    .reg .b32 %r<40>;
                    .reg .b64 %rd<40>;
                    .reg .f32 %f<12>;
                    .reg .f64 %fd<12>;
                    ld.param.u64 %rd20, [in];
                    ld.param.u64 %rd21, [out];
                    mov.u32 %r20, %tid.x;
                    mov.u32 %r21, %ctaid.x;
                    mad.lo.u32 %r22, %r21, {BLOCK}, %r20;
                    mul.wide.u32 %rd22, %r22, 24;
                    add.u64 %rd20, %rd20, %rd22;
                    mul.wide.u32 %rd22, %r22, 8;
                    add.u64 %rd21, %rd21, %rd22;
                    mov.u32 %r4, %laneid;
                    ld.global.u64 %rd1, [%rd20];
                    ld.global.u64 %rd2, [%rd20+8];
                    ld.global.u64 %rd3, [%rd20+16];
                    cvt.u32.u64 %r1, %rd1;
                    cvt.u32.u64 %r2, %rd2;
                    cvt.u32.u64 %r3, %rd3;
                    shr.u32 %r5, %r3, 8;
                    cvt.u16.u64 %rs1, %rd1;
                    cvt.u16.u64 %rs2, %rd2;
                    cvt.u16.u64 %rs3, %rd3;
                    mov.b32 %f1, %r1;
                    mov.b32 %f2, %r2;
                    mov.b32 %f3, %r3;
                    mov.b64 %fd1, %rd1;
                    mov.b64 %fd2, %rd2;
                    mov.b64 %fd3, %rd3;
                    and.b32 %r23, %r1, 1;
                    setp.ne.u32 %p1, %r23, 0;
                    and.b32 %r23, %r2, 1;
                    setp.ne.u32 %p2, %r23, 0;
                    and.b32 %r23, %r3, 1;
                    setp.ne.u32 %p3, %r23, 0;
                    {operation}
                    {widen}
                    st.global.u64 [%rd21], %rd30;
                    ret;
                }}
                "
        )
        .unwrap();
    }
    text
}

fn hash(values: &[u64]) -> u64 {
    values.iter().fold(0xcbf2_9ce4_8422_2325, |hash, value| {
        value.to_le_bytes().iter().fold(hash, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    })
}

#[test]
fn agrees_with_a_gpu() {
    let operations = operations();
    let inputs = inputs();
    let device = common::Device::new(&text(&operations));
    assert_eq!(device.program.unsupported().collect::<Vec<_>>(), []);
    let (source, target) = (device.upload(&inputs), device.upload(&[0u64; THREADS]));
    let params = [source.to_le_bytes(), target.to_le_bytes()].concat();
    let config = LaunchConfig {
        grid: [GRID, 1, 1],
        block: [BLOCK, 1, 1],
        params,
        ..LaunchConfig::default()
    };
    let mut results: Vec<Vec<u64>> = Vec::new();
    for index in 0..operations.len() {
        let kernel = device.program.kernel(&format!("op_{index}")).unwrap();
        launch(&device.program, kernel, &config).unwrap_or_else(|fault| panic!("{fault}"));
        results.push(device.download(target, THREADS));
    }
    if let Ok(directory) = std::env::var("PTX_HARDWARE_DIR") {
        record(Path::new(&directory), &operations, &inputs, &results);
        return;
    }
    let mut wrong = Vec::new();
    let mut known = include_str!("ptx/h100.txt")
        .lines()
        .filter_map(|line| line.split_once(' '));
    for (operation, result) in operations.iter().zip(&results) {
        let expected = known
            .next()
            .filter(|(_, text)| *text == operation.text)
            .map(|(hash, _)| hash);
        if expected != Some(format!("{:016x}", hash(result)).as_str()) {
            wrong.push(operation.text.as_str());
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ from the GPU: {wrong:#?}",
        wrong.len()
    );
}

/// Writes the files for the GPU, or reads the GPU's results.
fn record(directory: &Path, operations: &[Operation], inputs: &[u64], results: &[Vec<u64>]) {
    let bytes = |values: &[u64]| {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    std::fs::write(directory.join("hardware.ptx"), text(operations)).unwrap();
    std::fs::write(directory.join("inputs.bin"), bytes(inputs)).unwrap();
    let Ok(given) = std::fs::read(directory.join("results.bin")) else {
        return;
    };
    let given: Vec<u64> = given
        .as_chunks::<8>()
        .0
        .iter()
        .map(|chunk| u64::from_le_bytes(*chunk))
        .collect();
    let mut hashes = String::new();
    for (index, (operation, result)) in operations.iter().zip(results).enumerate() {
        let gpu = &given[index * THREADS..(index + 1) * THREADS];
        let different: Vec<usize> = (0..THREADS)
            .filter(|&thread| gpu[thread] != result[thread])
            .collect();
        if !different.is_empty() {
            println!(
                "{} differs in {} of {THREADS}",
                operation.text,
                different.len()
            );
            for &thread in different.iter().take(4) {
                let operands = &inputs[thread * 3..thread * 3 + 3];
                println!(
                    "    {operands:x?}: GPU {:x}, emulator {:x}",
                    gpu[thread], result[thread]
                );
            }
        }
        writeln!(hashes, "{:016x} {}", hash(gpu), operation.text).unwrap();
    }
    std::fs::write(directory.join("h100.txt"), hashes).unwrap();
}
