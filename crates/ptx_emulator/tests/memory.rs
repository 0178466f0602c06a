//! Loads, stores, address spaces, atomics, moves and the stack.

mod common;

use common::{Device, Params, case, check};

const GLOBALS: &str = "
    .global .align 8 .b8 bytes[16] = {1, 2, 3, 4, 5, 6, 7, 0x88, 9, 10, 11, 12, 13, 14, 15, 0xff};
    .global .align 8 .u64 pointer = generic(bytes)+8;
    .global .align 1 .b8 packed[9] = {7, 0xFF(generic(bytes)), 0xFF00(generic(bytes)), 0xFF0000(generic(bytes)),
        0xFF000000(generic(bytes)), 0xFF00000000(generic(bytes)), 0xFF0000000000(generic(bytes)),
        0xFF000000000000(generic(bytes)), 0xFF00000000000000(generic(bytes))};
    .const .align 4 .f32 floats[2][2] = {{1.0, 2.0}, {3.0}};
    .const .f64 double = 0d4004000000000000;
    .visible .global .s16 negative = -2;
    .shared .align 8 .b8 fixed[32];
    .extern .shared .align 16 .b8 dynamic[];
";

/// Runs a body over `GLOBALS` that stores 64-bit results at `%rd39`.
fn run(body: &str, results: usize) -> Vec<u64> {
    let body = format!("ld.param.u64 %rd39, [out];\n{body}\nret;");
    let mut device = Device::kernel(GLOBALS, ".param .u64 out", &body);
    device.config.shared_bytes = 64;
    let out = device.upload(&vec![0u64; results]);
    device
        .launch("k", 1, 1, Params::new().u64(out))
        .unwrap_or_else(|fault| panic!("{fault}"));
    device.download(out, results)
}

#[test]
fn loads_extend() {
    let results = run(
        "mov.u64 %rd1, bytes;
         ld.global.u8 %r1, [%rd1+7]; cvt.u64.u32 %rd2, %r1; st.global.u64 [%rd39], %rd2;
         ld.global.s8 %r1, [%rd1+7]; cvt.s64.s32 %rd2, %r1; st.global.u64 [%rd39+8], %rd2;
         ld.global.s16 %rd2, [%rd1+6]; st.global.u64 [%rd39+16], %rd2;
         ld.global.v4.u8 {%rs1, %rs2, %rs3, _}, [%rd1+4]; cvt.u64.u16 %rd2, %rs2; st.global.u64 [%rd39+24], %rd2;
         ld.global.v2.u32 {%r1, %r2}, [bytes+8]; mov.b64 %rd2, {%r2, %r1}; st.global.u64 [%rd39+32], %rd2;
         ld.global.u64 %rd3, [pointer]; ld.u32 %r3, [%rd3]; cvt.u64.u32 %rd2, %r3; st.global.u64 [%rd39+40], %rd2;
         ld.const.f32 %f1, [floats+8]; cvt.f64.f32 %fd1, %f1; st.global.f64 [%rd39+48], %fd1;
         ld.const.f64 %fd1, [double]; st.global.f64 [%rd39+56], %fd1;
         ld.global.s16 %rd2, [negative]; st.global.u64 [%rd39+64], %rd2;
         ld.global.relaxed.gpu.u32 %r1, [bytes]; cvt.u64.u32 %rd2, %r1; st.global.u64 [%rd39+72], %rd2;
         ld.acquire.sys.global.u64 %rd2, [bytes]; st.release.sys.global.u64 [%rd39+80], %rd2;
         ld.volatile.global.u8 %rs1, [bytes+2]; cvt.u64.u16 %rd2, %rs1; st.global.u64 [%rd39+88], %rd2;
         ld.global.nc.L1::no_allocate.L2::128B.u64 %rd2, [bytes]; st.global.u64 [%rd39+96], %rd2;
         ld.global.u8 %rs1, [packed+1]; mov.u64 %rd4, bytes; cvt.u8.u64 %rs2, %rd4; sub.u16 %rs3, %rs1, %rs2;
         cvt.u64.u16 %rd2, %rs3; st.global.u64 [%rd39+104], %rd2;",
        14,
    );
    let low = 0x8807_0605_0403_0201u64;
    assert_eq!(
        results,
        [
            0x88,
            0x88u8 as i8 as u64,
            0x8807u16 as i16 as u64,
            6,
            0x0c0b_0a09_ff0f_0e0d,
            0x0c0b_0a09,
            3f64.to_bits(),
            2.5f64.to_bits(),
            -2i64 as u64,
            0x0403_0201,
            low,
            3,
            low,
            0,
        ]
    );
}

#[test]
fn shared_variables_follow_the_reserved_memory() {
    let results = run(
        "mov.u64 %rd1, fixed; st.global.u64 [%rd39], %rd1;
         mov.u64 %rd1, dynamic; st.global.u64 [%rd39+8], %rd1;
         mov.u32 %r1, %reserved_smem_offset_end; cvt.u64.u32 %rd1, %r1; st.global.u64 [%rd39+16], %rd1;",
        3,
    );
    assert_eq!(results, [1024, 1056, 1024]);
}

#[test]
fn address_spaces() {
    let results = run(
        ".local .align 16 .b8 depot[32];
         mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1; mov.u64 %rd3, 0x1122334455667788;
         st.u64 [%rd2+8], %rd3; ld.local.u64 %rd4, [%rd1+8]; st.global.u64 [%rd39], %rd4;
         ld.local.u16 %rs1, [depot+10]; cvt.u64.u16 %rd4, %rs1; st.global.u64 [%rd39+8], %rd4;
         mov.u32 %r1, fixed; cvt.u64.u32 %rd5, %r1; cvta.shared.u64 %rd6, %rd5; st.shared.u32 [%r1+4], 77;
         ld.u32 %r2, [%rd6+4]; cvt.u64.u32 %rd4, %r2; st.global.u64 [%rd39+16], %rd4;
         cvta.to.shared.u64 %rd7, %rd6; sub.u64 %rd4, %rd7, %rd5; st.global.u64 [%rd39+24], %rd4;
         mov.u64 %rd8, dynamic; st.shared.u64 [%rd8+56], %rd3; ld.shared.u64 %rd4, [dynamic+56]; st.global.u64 [%rd39+32], %rd4;
         isspacep.shared %p1, %rd6; isspacep.local %p2, %rd2; isspacep.global %p3, %rd39; isspacep.global %p4, %rd6;
         selp.u64 %rd9, 1, 0, %p1; @%p2 add.u64 %rd9, %rd9, 2; @%p3 add.u64 %rd9, %rd9, 4; @%p4 add.u64 %rd9, %rd9, 8;
         st.global.u64 [%rd39+40], %rd9;
         mov.b64 %rd10, out; cvta.param.u64 %rd11, %rd10; ld.param.u64 %rd12, [%rd10]; ld.u64 %rd13, [%rd11];
         sub.u64 %rd4, %rd12, %rd13; st.global.u64 [%rd39+48], %rd4;
         mov.u32 %r5, %dynamic_smem_size; cvt.u64.u32 %rd4, %r5; st.global.u64 [%rd39+56], %rd4;
         mov.u32 %r5, %total_smem_size; cvt.u64.u32 %rd4, %r5; st.global.u64 [%rd39+64], %rd4;",
        9,
    );
    assert_eq!(
        results,
        [
            0x1122_3344_5566_7788,
            0x5566,
            77,
            0,
            0x1122_3344_5566_7788,
            7,
            0,
            64,
            96
        ]
    );
}

#[test]
fn moves_pack_and_unpack() {
    check(&[
        case("mov.b64 %rd0, {1, 2};", "%rd0", 0x2_0000_0001),
        case(
            "mov.b64 %rd1, 0x1122334455667788; mov.b64 {%r1, %r0}, %rd1;",
            "%r0",
            0x1122_3344,
        ),
        case(
            "mov.b64 %rd1, 0x1122334455667788; mov.b64 {%rs1, _, %rs0, %rs2}, %rd1;",
            "%rs0",
            0x3344,
        ),
        case(
            "mov.b32 %r1, 0x11223344; mov.b32 {%rs1, %rs0}, %r1;",
            "%rs0",
            0x1122,
        ),
        case(
            "mov.b16 %rs1, 0x1122; mov.b16 %rs2, 0x3344; mov.b32 %r0, {%rs1, %rs2};",
            "%r0",
            0x3344_1122,
        ),
        case(
            "mov.b64 %rd1, 5; mov.b64 %rd2, 6; mov.b128 %rq1, {%rd1, %rd2}; mov.b128 {%rd3, %rd0}, %rq1;",
            "%rd0",
            6,
        ),
        case("mov.f32 %f0, 1.5;", "%f0", 1.5f32.to_bits().into()),
        case(
            "mov.f64 %fd0, 0d3FF8000000000000;",
            "%fd0",
            1.5f64.to_bits(),
        ),
        case("mov.u32 %r0, WARP_SZ;", "%r0", 32),
        case("mov.u32 %r0, %ntid.x;", "%r0", 1),
        case("mov.u32 %r0, %laneid;", "%r0", 0),
        case("mov.u32 %r0, %lanemask_ge;", "%r0", 0xffff_ffff),
        case("mov.u32 %r0, %nctaid.y;", "%r0", 1),
        case("cvt.u64.u32 %rd0, %nwarpid;", "%rd0", 1),
        case(
            "{ .reg .b32 %r0; mov.u32 %r0, 1; } mov.u32 %r1, 5; { .reg .b32 t; add.u32 t, %r1, 1; mov.u32 %r0, t; }",
            "%r0",
            6,
        ),
        case(
            ".reg .v2 .f32 v; mov.f32 v.x, 0f3F800000; mov.f32 v.y, 0f40000000; add.f32 %f0, v.x, v.y;",
            "%f0",
            3f32.to_bits().into(),
        ),
    ]);
}

#[test]
fn wide_accesses() {
    let results = run(
        "mov.b64 %rd1, 0x1111; mov.b64 %rd2, 0x2222; mov.b128 %rq1, {%rd1, %rd2};
         st.global.b128 [%rd39], %rq1; ld.global.b128 %rq2, [%rd39]; mov.b128 {%rd3, %rd4}, %rq2;
         st.global.v2.u64 [%rd39+16], {%rd4, %rd3};
         mov.b64 %rd5, 7; mov.b64 %rd6, 8; mov.b128 %rq3, {%rd5, %rd6};
         atom.global.cas.b128 %rq0, [%rd39], %rq1, %rq3; mov.b128 {%rd7, %rd8}, %rq0; st.global.u64 [%rd39+32], %rd8;
         atom.global.cas.b128 %rq0, [%rd39], %rq1, %rq1; mov.b128 {%rd7, %rd8}, %rq0; st.global.u64 [%rd39+40], %rd7;
         atom.exch.global.b128 %rq0, [%rd39+48], %rq3; ld.relaxed.gpu.global.b128 %rq2, [%rd39+48];
         st.relaxed.gpu.global.b128 [%rd39+64], %rq2;
         mov.f32 %f1, 0f3F800000; st.global.v4.f32 [%rd39+80], {%f1, %f1, %f1, %f1};"
            .replace("atom.exch.global", "atom.global.exch")
            .as_str(),
        12,
    );
    let ones = 0x3f80_0000_3f80_0000;
    assert_eq!(
        results,
        [7, 8, 0x2222, 0x1111, 0x2222, 7, 7, 8, 7, 8, ones, ones]
    );
}

#[test]
fn atomics() {
    let one = |op: &str, ty: &str, before: u64, value: &str| -> u64 {
        let bits = if ty.ends_with("64") { 64 } else { 32 };
        let register = if bits == 64 { "%rd3" } else { "%r3" };
        let body = format!(
            "mov.b64 %rd1, {before}; st.global.u64 [%rd39], %rd1; mov.b{bits} {register}, {value};
             atom.global.{op}.{ty} {}, [%rd39], {register};",
            if bits == 64 { "%rd4" } else { "%r4" }
        )
        .replace("f32 %r4", "f32 %f4")
        .replace(
            "[%rd39], %r3;",
            if ty == "f32" {
                "[%rd39], %f3;"
            } else {
                "[%rd39], %r3;"
            },
        )
        .replace(
            "mov.b32 %r3",
            if ty == "f32" {
                "mov.b32 %f3"
            } else {
                "mov.b32 %r3"
            },
        )
        .replace("f64 %rd4", "f64 %fd4")
        .replace(
            "[%rd39], %rd3;",
            if ty == "f64" {
                "[%rd39], %fd3;"
            } else {
                "[%rd39], %rd3;"
            },
        )
        .replace(
            "mov.b64 %rd3",
            if ty == "f64" {
                "mov.b64 %fd3"
            } else {
                "mov.b64 %rd3"
            },
        );
        run(&body, 1)[0]
    };
    assert_eq!(one("add", "u32", 5, "7"), 12);
    assert_eq!(one("add", "u64", u64::MAX, "2"), 1);
    assert_eq!(
        one("add", "f32", 1f32.to_bits().into(), "0f40000000"),
        3f32.to_bits().into()
    );
    assert_eq!(
        one("add", "f64", 1f64.to_bits(), "0d4000000000000000"),
        3f64.to_bits()
    );
    assert_eq!(one("min", "s32", 5, "-7"), 0xffff_fff9);
    assert_eq!(one("min", "u32", 5, "-7"), 5);
    assert_eq!(one("max", "s64", 5, "-7"), 5);
    assert_eq!(one("max", "u64", 5, "-7"), -7i64 as u64);
    assert_eq!(one("inc", "u32", 5, "5"), 0);
    assert_eq!(one("inc", "u32", 4, "5"), 5);
    assert_eq!(one("dec", "u32", 0, "9"), 9);
    assert_eq!(one("dec", "u32", 10, "9"), 9);
    assert_eq!(one("dec", "u32", 9, "9"), 8);
    assert_eq!(one("and", "b32", 0b1100, "0b1010"), 0b1000);
    assert_eq!(one("or", "b64", 0b1100, "0b1010"), 0b1110);
    assert_eq!(one("xor", "b32", 0b1100, "0b1010"), 0b0110);
    assert_eq!(one("exch", "b64", 3, "4"), 4);
    let results = run(
        "mov.b64 %rd1, 5; st.global.u64 [%rd39], %rd1;
         atom.acq_rel.gpu.global.cas.b32 %r1, [%rd39], 5, 6; atom.cas.b32 %r2, [%rd39], 5, 7;
         mov.b16 %rs1, 0; mov.b16 %rs2, 9; atom.global.cas.b16 %rs3, [%rd39+2], %rs1, %rs2;
         mov.b64 %rd2, {%r1, %r2}; st.global.u64 [%rd39+8], %rd2;
         red.relaxed.sys.global.add.u64 [%rd39+16], 40; red.global.add.u64 [%rd39+16], 2;
         st.shared.u32 [fixed], 3; atom.shared.add.u32 %r3, [fixed], 4; ld.shared.u32 %r4, [fixed];
         mov.b64 %rd3, {%r3, %r4}; st.global.u64 [%rd39+24], %rd3;
         mov.b32 %r5, 0x3c003c00; st.global.u32 [%rd39+32], %r5; atom.global.add.noftz.f16x2 %r6, [%rd39+32], %r5;
         fence.acq_rel.gpu; fence.sc.sys; membar.cta;",
        5,
    );
    assert_eq!(
        results,
        [9 << 16 | 6, 6 << 32 | 5, 42, 7 << 32 | 3, 0x4000_4000]
    );
}

/// Threads of many blocks add to the same addresses: no update is lost.
#[test]
fn atomics_of_many_blocks() {
    let body = "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3; mul.wide.u32 %rd2, %r2, 8;
        add.u64 %rd3, %rd1, %rd2; mov.u32 %r3, 0;
     L: atom.global.add.u32 %r4, [%rd3], 1; mov.f32 %f1, 0f3F800000; red.global.add.f32 [%rd3+4], %f1;
        add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 10; @%p1 bra L; ret;";
    let device = Device::kernel("", ".param .u64 out", body);
    let out = device.upload(&[0u64; 4]);
    device.launch("k", 64, 128, Params::new().u64(out)).unwrap();
    let each = 64 * 128 / 4 * 10;
    let expected = u64::from((each as f32).to_bits()) << 32 | each;
    assert_eq!(device.download::<u64>(out, 4), [expected; 4]);
}

#[test]
fn stack_allocation() {
    let results = run(
        "stacksave.u64 %rd1; mov.u64 %rd2, 100; alloca.u64 %rd3, %rd2, 32; alloca.u64 %rd4, %rd2;
         and.b64 %rd5, %rd3, 31; st.global.u64 [%rd39], %rd5;
         mov.u64 %rd6, 5; st.local.u64 [%rd3+88], %rd6; mov.u64 %rd6, 6; st.local.u64 [%rd4], %rd6;
         ld.local.u64 %rd7, [%rd3+88]; st.global.u64 [%rd39+8], %rd7;
         stackrestore.u64 %rd1; stacksave.u64 %rd8; sub.u64 %rd8, %rd8, %rd1; st.global.u64 [%rd39+16], %rd8;",
        3,
    );
    assert_eq!(results, [0, 5, 0]);
}

#[test]
fn asynchronous_copies() {
    let results = run(
        "cp.async.ca.shared.global [fixed], [bytes], 8; cp.async.cg.shared.global.L2::128B [dynamic], [bytes], 16;
         mov.u32 %r1, 4; cp.async.ca.shared.global [fixed+8], [bytes+8], 8, %r1;
         cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all;
         ld.shared.u64 %rd1, [fixed]; st.global.u64 [%rd39], %rd1; ld.shared.u64 %rd1, [dynamic+8]; st.global.u64 [%rd39+8], %rd1;
         ld.shared.u64 %rd1, [fixed+8]; st.global.u64 [%rd39+16], %rd1;",
        3,
    );
    assert_eq!(
        results,
        [0x8807_0605_0403_0201, 0xff0f_0e0d_0c0b_0a09, 0x0c0b_0a09]
    );
}

#[test]
fn bulk_stores_of_zeros() {
    let results = run(
        "mov.u64 %rd1, -1; mov.u32 %r1, fixed;
         st.shared.v2.u64 [fixed], {%rd1, %rd1}; st.shared.v2.u64 [fixed+16], {%rd1, %rd1};
         mov.u64 %rd3, 8; st.bulk.weak.shared::cta [%r1+8], %rd3, 0;
         mov.u64 %rd4, fixed; cvta.shared.u64 %rd4, %rd4; st.bulk [%rd4+24], 8, 0;
         mov.u64 %rd3, 0; st.bulk.shared::cta [fixed], %rd3, 0;
         ld.shared.v2.u64 {%rd5, %rd6}, [fixed]; st.global.v2.u64 [%rd39], {%rd5, %rd6};
         ld.shared.v2.u64 {%rd5, %rd6}, [fixed+16]; st.global.v2.u64 [%rd39+16], {%rd5, %rd6};",
        4,
    );
    assert_eq!(results, [u64::MAX, 0, u64::MAX, 0]);
}

#[test]
fn globals_are_found_and_freed() {
    let device = Device::kernel(GLOBALS, "", "ret;");
    let (address, size) = device.program.global("bytes").unwrap();
    assert_eq!(size, 16);
    assert_eq!(device.download::<u8>(address, 4), [1, 2, 3, 4]);
    assert_eq!(device.program.global("floats").unwrap().1, 16);
    assert!(device.program.global("fixed").is_none());
    assert_eq!(device.memory.range_of(address + 3), Some((address, 16)));
    let Device {
        memory, program, ..
    } = device;
    drop(program);
    assert_eq!(memory.range_of(address), None);
}
