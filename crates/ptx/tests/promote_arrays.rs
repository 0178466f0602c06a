//! Local arrays move to shared memory where that is possible and worthwhile.

use ptx::{Kernels, Purpose, stack};

/// A stack that grows and shrinks.
const STACK: &str = "
    mov.u64 %rd1, depot;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.local.u32 [%rd3], %r1;
    ld.local.u32 %r2, [%rd3+-4];
    st.global.u32 [%rd9], %r2;
";

/// Returns a module after the passes for speed.
fn finished(before: &str, directive: &str, bytes: u32, body: &str) -> String {
    let text = format!(
        ".version 8.7\n.target sm_90\n.address_size 64\n{before}\n\
         .visible .entry k(.param .u64 k_param_0) {directive} {{\n\
         .local .align 16 .b8 depot[{bytes}];\n.reg .pred %p<9>;\n.reg .b16 %rs<9>;\n\
         .reg .b32 %r<9>;\n.reg .b64 %rd<19>;\n\
         ld.param.u64 %rd9, [k_param_0];\nmov.u32 %r1, %ctaid.x;\n{body}\nret;\n}}\n"
    );
    let options = stack::Options::default();
    let purpose = Purpose::Speed(Kernels::default());
    ptx::finish(&text, &[], purpose, &options).unwrap().text
}

#[track_caller]
fn assert_moved(text: &str) {
    assert!(!text.contains(".local"), "{text}");
    assert!(text.contains(".shared .align 16 .b8 $local"), "{text}");
}

#[track_caller]
fn assert_stays(text: &str) {
    assert!(text.contains(".local .align 16 .b8 depot["), "{text}");
    assert!(!text.contains(".shared .align 16 .b8 $local"), "{text}");
}

#[test]
fn a_stack_moves_to_shared_memory() {
    let text = finished("", ".reqntid 32, 8, 1", 64, STACK);
    assert_moved(&text);
    // 64 bytes for each of 256 threads.
    assert!(text.contains("_k[16384];"), "{text}");
    // Element `i` of thread `t` is word `256 * i + t`, and so is 1,024 bytes behind the one before.
    assert!(
        text.contains(", 256, ") && text.contains("+-1024]"),
        "{text}"
    );
}

#[test]
fn a_bound_of_the_block_size_suffices() {
    assert_moved(&finished("", ".maxntid 256", 64, STACK));
    assert_stays(&finished("", "", 64, STACK));
    assert_stays(&finished("", ".minnctapersm 2", 64, STACK));
}

#[test]
fn numbers_of_eight_bytes_are_not_split_alone() {
    let body = STACK
        .replace("4;", "8;")
        .replace(".local.u32", ".local.b64");
    let body = body
        .replace("[%rd3], %r1", "[%rd3], %rd2")
        .replace("%r2, [", "%rd4, [");
    let body = body.replace("[%rd9], %r2", "[%rd9], %r1");
    let text = finished("", ".reqntid 64", 64, &body);
    assert_moved(&text);
    assert!(text.contains("st.shared.b64"), "{text}");
    let text = finished("", ".reqntid 64", 64, &format!("{body}{STACK}"));
    assert_moved(&text);
    assert!(!text.contains("st.shared.b64"), "{text}");
}

#[test]
fn an_address_that_is_used_otherwise_keeps_the_array() {
    let other = [
        // Stored, as a number, in a call.
        "st.global.u64 [%rd9], %rd3;",
        "cvt.u32.u64 %r3, %rd3;\nst.global.u32 [%rd9], %r3;",
        "and.b64 %rd4, %rd3, 7;\nst.global.u64 [%rd9], %rd4;",
        "{ .param .b64 a; st.param.b64 [a], %rd3; call.uni other, (a); }",
        // Compared with another address, or where it is not known which it is.
        "setp.eq.s64 %p1, %rd3, %rd9;\n@%p1 st.global.u32 [%rd9], %r1;",
        "setp.eq.s32 %p1, %r1, 3;\nselp.b64 %rd4, %rd3, %rd9, %p1;\nst.global.u32 [%rd4], %r1;",
        "mov.u64 %rd3, %rd9;\nst.local.u32 [%rd3], %r1;",
        "mov.u64 %rd3, 0;",
        "neg.s64 %rd4, %rd3;\nst.global.u64 [%rd9], %rd4;",
        "sub.s64 %rd4, %rd9, %rd3;\nst.global.u64 [%rd9], %rd4;",
        "add.s64 %rd4, %rd3, %rd3;\nst.global.u64 [%rd9], %rd4;",
        "mul.wide.u32 %rd4, %r1, 4;\nmad.lo.s64 %rd5, %rd3, %rd4, %rd9;\nst.global.u64 [%rd9], %rd5;",
        // Accesses of another form.
        "st.volatile.local.u32 [%rd3], %r1;",
        "prefetch.local.L1 [%rd3];",
        "atom.local.add.u32 %r3, [%rd3], %r1;",
    ];
    let function = ".func other(.param .b64 a) {\n.reg .b64 %x;\nld.param.b64 %x, [a];\n\
                    st.u32 [%x], 1;\nret;\n}";
    for other in other {
        assert_stays(&finished(
            function,
            ".reqntid 256",
            64,
            &format!("{STACK}{other}"),
        ));
    }
    // The same with what does not matter.
    for other in [
        "cvta.local.u64 %rd4, %rd3;\nst.u32 [%rd4], %r1;",
        "setp.eq.s64 %p1, %rd3, %rd1;\n@%p1 st.global.u32 [%rd9], %r1;",
        "sub.s64 %rd4, %rd3, %rd1;\nst.global.u64 [%rd9], %rd4;",
        "cvta.local.u64 %rd4, %rd3;\ncvta.to.local.u64 %rd5, %rd4;\nst.local.u32 [%rd5], %r1;",
        "setp.eq.s32 %p1, %r1, 3;\nselp.b64 %rd4, %rd3, %rd1, %p1;\nst.local.u32 [%rd4], %r1;",
    ] {
        assert_moved(&finished(
            function,
            ".reqntid 256",
            64,
            &format!("{STACK}{other}"),
        ));
    }
}

#[test]
fn shared_memory_suffices_for_half_of_the_threads() {
    // sm_90 has 228 KiB for 2,048 threads, and at most 48 KiB for a block.
    assert_moved(&finished("", ".reqntid 128", 208, STACK));
    assert_stays(&finished("", ".reqntid 128", 256, STACK));
    assert_moved(&finished("", ".reqntid 1024", 48, STACK));
    assert_stays(&finished("", ".reqntid 1024", 64, STACK));
    // Six blocks of 33 KiB, and no more.
    assert_moved(&finished("", ".reqntid 256\n.minnctapersm 6", 128, STACK));
    assert_stays(&finished("", ".reqntid 256\n.minnctapersm 7", 128, STACK));
    let used = ".shared .align 4 .b8 tile[40960];";
    let body = format!("{STACK}st.shared.u32 [tile], %r1;");
    assert_stays(&finished(used, ".reqntid 256", 64, &body));
    assert_moved(&finished(used, ".reqntid 256", 64, STACK));
}

#[test]
fn dynamic_shared_memory_keeps_the_array() {
    let dynamic = ".extern .shared .align 16 .b8 dynamic[];";
    let body = format!("{STACK}st.shared.u32 [dynamic], %r1;");
    assert_stays(&finished(dynamic, ".reqntid 256", 64, &body));
}

#[test]
fn an_array_of_places_in_global_memory_stays() {
    let load = "mul.wide.u32 %rd4, %r2, 16;\nadd.s64 %rd5, %rd9, %rd4;\n";
    for (load, stays) in [
        ("ld.global.u32 %r4, [%rd5];", true),
        ("ld.global.nc.v4.u32 {%r4, %r5, %r6, %r7}, [%rd5];", true),
        ("ld.u32 %r4, [%rd5];", true),
        // Of these, only the loads need the cache.
        ("st.global.u32 [%rd5], %r4;", false),
        ("red.global.add.u32 [%rd5], %r4;", false),
    ]
    .map(|(access, stays)| (format!("{STACK}{load}{access}"), stays))
    {
        let text = finished("", ".reqntid 256", 64, &load);
        match stays {
            true => assert_stays(&text),
            false => assert_moved(&text),
        }
    }
}

#[test]
fn arrays_of_bytes_stay() {
    let body = format!("{STACK}st.local.u8 [%rd1], 1;");
    assert_stays(&finished("", ".reqntid 256", 64, &body));
    let body = format!("{STACK}st.local.u16 [%rd1], 1;");
    assert_moved(&finished("", ".reqntid 256", 64, &body));
}

#[test]
fn arrays_with_constant_indices_stay() {
    let body = "mov.u64 %rd1, depot;\nst.local.u32 [%rd1+4], %r1;\nld.local.u32 %r2, [depot+8];";
    assert_stays(&finished("", ".reqntid 256", 64, body));
}

#[test]
fn arrays_of_libdevice_stay() {
    // Parts of a module have copies with numbers.
    for (table, is_libdevice) in [
        ("__cudart_i2opi_f", true),
        ("__cudart_i2opi_f_12", true),
        ("__cudart_i2opi_f_table", false),
    ] {
        let variable = format!(".global .align 4 .b8 {table}[24];");
        let body = format!("{STACK}mov.u64 %rd7, {table};\nld.global.u32 %r4, [%rd7];");
        let finished = |bytes| finished(&variable, ".reqntid 256", bytes, &body);
        match is_libdevice {
            true => assert_stays(&finished(28)),
            false => assert_moved(&finished(28)),
        }
        assert_moved(&finished(92));
    }
}

#[test]
fn arrays_that_debug_information_describes_stay() {
    let text = ".section .debug_info\n{\n.b64 depot\n}\n";
    let text = finished(text, ".reqntid 256", 64, STACK);
    assert_stays(&text);
}
