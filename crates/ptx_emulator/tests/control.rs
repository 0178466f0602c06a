//! Branches, calls, recursion, function pointers, and the external functions.

mod common;

use common::{Device, Params};
use ptx_emulator::{FaultKind, Memory, Program};

const FUNCTIONS: &str = "
    .extern .func (.param .b32 rv) vprintf (.param .b64 format, .param .b64 args);
    .extern .func (.param .b64 rv) malloc (.param .b64 size);
    .extern .func free (.param .b64 pointer);
    .extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
    .global .align 1 .b8 format[] = {37, 100, 32, 37, 115, 32, 37, 46, 50, 102, 10, 0};
    .global .align 1 .b8 word[4] = {111, 110, 101, 0};
    .func (.param .b32 rv) fib (.param .b32 n);
    .func (.param .b32 rv) square (.param .b32 n);
    .global .align 8 .u64 table[2] = {fib, square};
    .func (.param .b32 rv) fib (.param .b32 n) {
        .reg .pred %p<2>; .reg .b32 %r<6>;
        ld.param.u32 %r1, [n];
        setp.lt.u32 %p1, %r1, 2;
        @!%p1 bra $deeper;
        st.param.b32 [rv], %r1;
        ret;
    $deeper:
        sub.u32 %r2, %r1, 1;
        { .param .b32 param0; st.param.b32 [param0+0], %r2; .param .b32 retval0; call.uni (retval0), fib, (param0); ld.param.b32 %r3, [retval0+0]; }
        sub.u32 %r2, %r1, 2;
        { .param .b32 param0; st.param.b32 [param0+0], %r2; .param .b32 retval0; call.uni (retval0), fib, (param0); ld.param.b32 %r4, [retval0+0]; }
        add.u32 %r5, %r3, %r4;
        st.param.b32 [rv+0], %r5;
        ret;
    }
    .func (.param .b32 rv) square (.param .b32 n) {
        .reg .b32 %r<3>;
        ld.param.u32 %r1, [n]; mul.lo.u32 %r2, %r1, %r1; st.param.b32 [rv], %r2; ret;
    }
    .func (.reg .b32 rv) twice (.reg .b32 a) { add.u32 rv, a, a; ret; }
    .func (.param .align 8 .b8 rv[24]) swap (.param .align 8 .b8 s[24]) {
        .reg .b64 %rd<4>; .reg .b32 %r<2>; .local .align 8 .b8 depot[8];
        ld.param.u64 %rd1, [s]; ld.param.v2.b32 {%r0, %r1}, [s+8]; ld.param.u64 %rd2, [s+16];
        st.local.u64 [depot], %rd1; ld.local.u64 %rd3, [depot];
        st.param.b64 [rv], %rd2; st.param.v2.b32 [rv+8], {%r1, %r0}; st.param.b64 [rv+16], %rd3; ret;
    }
    .func endless () { .reg .b32 %r<2>; call endless; ret; }
";

fn device(body: &str) -> Device {
    Device::kernel(
        FUNCTIONS,
        ".param .u64 out, .param .u32 n",
        &format!("ld.param.u64 %rd39, [out]; ld.param.u32 %r39, [n];\n{body}\nret;"),
    )
}

fn run(body: &str, n: u32) -> u64 {
    let device = device(body);
    let out = device.upload(&[0u64]);
    device
        .launch("k", 1, 1, Params::new().u64(out).u32(n))
        .unwrap_or_else(|fault| panic!("{fault}"));
    device.download::<u64>(out, 1)[0]
}

#[test]
fn recursion() {
    let call = "{ .param .b32 a; st.param.b32 [a], %r39; .param .b32 b; call.uni (b), fib, (a); ld.param.b32 %r1, [b]; }
        st.global.u32 [%rd39], %r1;";
    assert_eq!(run(call, 15), 610);
}

#[test]
fn indirect_calls() {
    let call = "setp.ne.u32 %p1, %r39, 0; selp.u64 %rd1, 8, 0, %p1; mov.u64 %rd2, table; add.u64 %rd2, %rd2, %rd1;
        ld.global.u64 %rd3, [%rd2];
        { .param .b32 a; st.param.b32 [a], 10; .param .b32 b;
          proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %rd3, (a), proto; ld.param.b32 %r1, [b]; }
        st.global.u32 [%rd39], %r1;";
    assert_eq!((run(call, 0), run(call, 1)), (55, 100));
    let taken = "mov.u64 %rd3, square;
        { .param .b32 a; st.param.b32 [a], 9; .param .b32 b;
          proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %rd3, (a), proto; ld.param.b32 %r1, [b]; }
        st.global.u32 [%rd39], %r1;";
    assert_eq!(run(taken, 0), 81);
}

#[test]
fn parameters_in_registers_and_structs() {
    assert_eq!(
        run(
            "call (%r1), twice, (%r39); call (%r2), twice, (21); mov.b64 %rd1, {%r1, %r2}; st.global.u64 [%rd39], %rd1;",
            4
        ),
        42 << 32 | 8
    );
    let swap = "{ .param .align 8 .b8 a[24]; .param .align 8 .b8 b[24]; st.param.b64 [a], 1; st.param.v2.b32 [a+8], {2, 3}; st.param.b64 [a+16], 4;
        call.uni (b), swap, (a); ld.param.b64 %rd1, [b]; ld.param.b32 %r1, [b+8]; ld.param.b64 %rd2, [b+16]; }
        mul.lo.u64 %rd1, %rd1, 100; cvt.u64.u32 %rd3, %r1; mad.lo.u64 %rd1, %rd3, 10, %rd1; add.u64 %rd1, %rd1, %rd2; st.global.u64 [%rd39], %rd1;";
    assert_eq!(run(swap, 0), 431);
}

#[test]
fn jump_tables() {
    let body = "brx.idx %r39, targets; targets: .branchtargets A, B, C;
        A: mov.u32 %r1, 10; bra.uni done; B: mov.u32 %r1, 20; bra.uni done; C: mov.u32 %r1, 30;
        done: st.global.u32 [%rd39], %r1;";
    assert_eq!([0, 1, 2].map(|n| run(body, n)), [10, 20, 30]);
    let fault = device(body)
        .launch("k", 1, 1, Params::new().u64(0).u32(3))
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidInstruction);
}

/// Labels of a block `{ }` are local to it, which inline assembly relies on.
#[test]
fn labels_are_scoped() {
    let part = "{ .reg .pred p; setp.lt.u32 p, %r39, 5; @p bra L; add.u32 %r1, %r1, 100; L: add.u32 %r1, %r1, 1; }";
    assert_eq!(
        run(
            &format!("mov.u32 %r1, 0; {part} {part} st.global.u32 [%rd39], %r1;"),
            7
        ),
        202
    );
}

#[test]
fn predicated_instructions() {
    let body = "setp.eq.u32 %p1, %r39, 3; mov.u32 %r1, 1; @%p1 add.u32 %r1, %r1, 10; @!%p1 add.u32 %r1, %r1, 20;
        st.global.u32 [%rd39], %r1; @%p1 exit; st.global.u32 [%rd39], 0;";
    assert_eq!((run(body, 3), run(body, 4)), (11, 0));
}

#[test]
fn endless_recursion_is_a_fault() {
    let fault = device("call endless;")
        .launch("k", 1, 1, Params::new().u64(0).u32(0))
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::StackOverflow);
    assert_eq!(fault.function, "endless");
    assert!(fault.message.contains("`endless`"), "{fault}");
}

#[test]
fn printing() {
    let body = ".local .align 8 .b8 args[24]; mov.u64 %rd1, args; st.local.u32 [%rd1], %r39;
        mov.u64 %rd2, word; st.local.u64 [%rd1+8], %rd2; mov.f64 %fd1, 0d3FF4000000000000; st.local.f64 [%rd1+16], %fd1;
        cvta.local.u64 %rd1, %rd1; mov.u64 %rd3, format;
        { .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd3; st.param.b64 [b], %rd1; call.uni (c), vprintf, (a, b); ld.param.b32 %r1, [c]; }
        st.global.u32 [%rd39], %r1;";
    let device = device(body);
    let out = device.upload(&[0u64]);
    device
        .launch("k", 1, 1, Params::new().u64(out).u32(-5i32 as u32))
        .unwrap();
    assert_eq!(device.text(), "-5 one 1.25\n");
    assert_eq!(device.download::<u32>(out, 1), [3]);
}

const ALLOCATE: &str = "cvt.u64.u32 %rd1, %r39;
    { .param .b64 a; .param .b64 b; st.param.b64 [a], %rd1; call.uni (b), malloc, (a); ld.param.b64 %rd2, [b]; }
    st.global.u64 [%rd39], %rd2;";

#[test]
fn heap() {
    let released = format!(
        "{ALLOCATE} st.u64 [%rd2+8], %rd1; ld.u64 %rd3, [%rd2+8]; st.global.u64 [%rd39], %rd3;
        {{ .param .b64 a; st.param.b64 [a], %rd2; call.uni free, (a); }}"
    );
    assert_eq!(run(&released, 16), 16);
    assert_eq!(run(ALLOCATE, 1 << 30), 0);
    // Many blocks, which allocate more in total than the heap holds.
    let device = device(&released);
    let out = device.upload(&[0u64]);
    device
        .launch("k", 200, 64, Params::new().u64(out).u32(4096))
        .unwrap();
    // Blocks that are not freed add up.
    assert_ne!(run(ALLOCATE, 4 << 20), 0);
    assert_eq!(run(&ALLOCATE.repeat(3), 4 << 20), 0);
    // Beyond the end of a block, even if another follows, and after the block is freed.
    let between = format!("mov.u64 %rd4, %rd2; {ALLOCATE} ld.u64 %rd3, [%rd4+16];");
    for access in [
        "ld.u64 %rd3, [%rd2+16];",
        &between,
        "{ .param .b64 a; st.param.b64 [a], %rd2; call.uni free, (a); } ld.u64 %rd3, [%rd2];",
    ] {
        let device = self::device(&format!("{ALLOCATE} {access}"));
        let out = device.upload(&[0u64]);
        let fault = device
            .launch("k", 1, 1, Params::new().u64(out).u32(16))
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::IllegalAddress, "{access}");
    }
}

#[test]
fn assertions() {
    let body = "mov.u64 %rd1, word;
        { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c; st.param.b64 [m], %rd1; st.param.b64 [f], %rd1;
          st.param.b32 [l], 7; st.param.b64 [n], %rd1; st.param.b64 [c], 1; call.uni __assertfail, (m, f, l, n, c); }";
    let device = device(body);
    let fault = device
        .launch("k", 1, 1, Params::new().u64(0).u32(0))
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Assert);
    assert_eq!(
        device.text(),
        "one:7: one: block: [0,0,0], thread: [0,0,0] Assertion `one` failed.\n"
    );
}

#[test]
fn kernels_are_described() {
    let text = common::module(
        ".shared .align 8 .b8 used[24]; .shared .align 4 .b8 other[400]; .func f() { .reg .b64 %r<2>; mov.u64 %r1, used; ret; }",
        ".param .u8 a, .param .align 16 .b8 b[20], .param .u64 c",
        "call f; ret;",
    )
    .replace(".param .u64 c)", ".param .u64 c) .maxntid 64, 2, 1");
    let program = Program::load(&text, &Memory::new()).unwrap();
    let info = program.kernel_info(program.kernel("k").unwrap());
    let layout: Vec<_> = info
        .params
        .iter()
        .map(|param| (param.offset, param.size, param.align))
        .collect();
    assert_eq!(layout, [(0, 1, 1), (16, 20, 16), (40, 8, 8)]);
    assert_eq!(
        (info.params_size, info.static_shared, info.max_threads),
        (48, 24, Some(128))
    );
    assert_eq!(program.kernel_names().collect::<Vec<_>>(), ["k"]);
}
