//! Runs kernels before and after `ptx::finish` optimizes them, with values at the limits of what a
//! pass assumes.

mod common;

use common::{Device, Params, before_and_after};

/// Returns a kernel with parameters of 64 bits, before and after the passes for speed. `slices` are
/// the first parameters and the sizes of elements, and `sizes` other parameters that are extents.
fn finished(count: usize, slices: &[(usize, u64)], sizes: &[usize], body: &str) -> [String; 2] {
    let params: Vec<String> = (0..count)
        .map(|index| format!(".param .u64 k_param_{index}"))
        .collect();
    let text = format!(
        "
            .version 8.7
            .target sm_90
            .address_size 64
            .func panic(.param .b64 place) .noreturn {{
                trap;
            }}
            .visible .entry k({}) {{
                .reg .pred %p<40>;
                .reg .b16 %rs<40>;
                .reg .b32 %r<40>;
                .reg .b64 %rd<40>;
                {body}
            }}
            ",
        params.join(", ")
    );
    before_and_after(&text, slices, sizes)
}

/// Runs both versions of a kernel whose first parameter is the address of the 64 words of its
/// output, and compares the outputs.
fn compare(texts: &[String; 2], threads: u32, numbers: &[u64]) {
    let [expected, found] = texts.each_ref().map(|text| {
        let device = Device::new(text);
        let out = device.upload(&[0u64; 64]);
        let params = numbers
            .iter()
            .fold(Params::new().u64(out), |it, &number| it.u64(number));
        let fault = device.launch("k", 1, threads, params).err();
        (
            device.download::<u64>(out, 64),
            fault.map(|fault| format!("{:?}", fault.kind)),
        )
    });
    assert_eq!(found, expected, "{numbers:?}\n{}", texts[1]);
}

#[test]
fn the_step_of_a_loop_whose_latch_ends_an_inner_loop_stays() {
    let texts = finished(
        1,
        &[],
        &[],
        "
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd1, %rd1;
        mov.u32 %r1, 0;
        mov.u32 %r2, 0;
        mov.u32 %r4, 0;
    $outer:
        add.s32 %r1, %r1, 1;
        add.s32 %r2, %r2, 100;
    $inner:
        add.s32 %r2, %r2, 1;
        setp.gt.u32 %p1, %r2, 500;
        @%p1 bra $end;
        add.s32 %r4, %r4, %r1;
        and.b32 %r3, %r2, 3;
        setp.ne.s32 %p2, %r3, 0;
        @%p2 bra $inner;
        bra.uni $outer;
    $end:
        st.global.u32 [%rd1], %r4;
        ret;
        ",
    );
    compare(&texts, 1, &[]);
}

#[test]
fn a_branch_stays_if_it_guards_what_another_removed_branch_follows_from() {
    let texts = finished(
        3,
        &[],
        &[],
        "
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd1, %rd1;
        ld.param.u64 %rd2, [k_param_1];
        and.b64 %rd2, %rd2, 255;
        ld.param.u64 %rd3, [k_param_2];
        and.b64 %rd3, %rd3, 255;
        mov.u32 %r1, %tid.x;
        cvt.u64.u32 %rd4, %r1;
        setp.lt.u64 %p1, %rd4, 5;
        @%p1 bra $none;
        add.s64 %rd5, %rd4, -5;
        setp.ge.u64 %p2, %rd5, %rd2;
        @%p2 bra $none;
        sub.s64 %rd6, %rd2, %rd5;
        add.s64 %rd7, %rd6, -1;
        setp.ge.u64 %p3, %rd7, %rd3;
        @%p3 bra $none;
        shl.b64 %rd8, %rd4, 3;
        add.s64 %rd9, %rd1, %rd8;
        add.s64 %rd10, %rd7, 1000;
        st.global.u64 [%rd9], %rd10;
    $none:
        ret;
        ",
    );
    compare(&texts, 32, &[10, 200]);
}

#[test]
fn the_last_index_of_32_bits_is_within_a_longer_slice() {
    let texts = finished(
        5,
        &[(1, 2)],
        &[3],
        "
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd1, %rd1;
        ld.param.u64 %rd20, [k_param_1];
        cvta.to.global.u64 %rd2, %rd20;
        ld.param.u64 %rd3, [k_param_3];
        ld.param.u32 %r2, [k_param_4];
        mov.u32 %r1, %tid.x;
        cvt.u64.u32 %rd4, %r1;
        setp.ge.u64 %p1, %rd4, %rd3;
        @%p1 bra $end;
        add.s64 %rd5, %rd4, 1;
        setp.gt.u64 %p2, %rd5, %rd3;
        @%p2 bra $end;
        add.s64 %rd6, %rd5, 1;
        add.s64 %rd7, %rd6, %rd3;
        add.s64 %rd8, %rd7, %rd3;
        add.s64 %rd9, %rd8, %rd3;
        add.s64 %rd10, %rd9, %rd3;
        setp.gt.u64 %p5, %rd10, 1000000;
        @%p5 bra $end;
        ld.global.u32 %r3, [%rd1];
        setp.gt.u32 %p3, %r3, 7;
        @%p3 bra $panic;
        mul.wide.u32 %rd11, %r2, 2;
        add.s64 %rd12, %rd2, %rd11;
        ld.global.u16 %rs1, [%rd12];
        st.global.u16 [%rd1+8], %rs1;
        st.global.u64 [%rd1+16], %rd10;
    $end:
        ret;
    $panic:
        {
            .param .b64 a;
            st.param.b64 [a], 1;
            call.uni panic, (a);
        }
        ",
    );
    let element: Box<u16> = Box::new(7);
    let last = u64::from(u32::MAX);
    let base = (&raw const *element as u64).wrapping_sub(2 * last);
    compare(&texts, 1, &[base, 1 << 32, 4, last]);
}

#[test]
fn a_predicate_with_several_definitions_has_no_known_value() {
    let texts = finished(
        4,
        &[],
        &[1],
        "
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd1, %rd1;
        ld.param.u64 %rd2, [k_param_1];
        ld.param.u64 %rd3, [k_param_2];
        mov.u32 %r1, %tid.x;
        cvt.u64.u32 %rd4, %r1;
        mov.u32 %r2, %nctaid.x;
        cvt.u64.u32 %rd5, %r2;
        add.s64 %rd6, %rd4, %rd2;
        add.s64 %rd7, %rd6, %rd2;
        add.s64 %rd8, %rd7, %rd2;
        add.s64 %rd9, %rd8, %rd2;
        add.s64 %rd10, %rd9, %rd2;
        // The grid has at least as many blocks as there are elements.
        setp.lt.u64 %p1, %rd5, %rd2;
        setp.gt.u64 %p2, %rd10, 3;
        setp.gt.u64 %p3, %rd3, 5;
        @%p3 bra $other;
        and.pred %p5, %p1, %p2;
        bra.uni $joined;
    $other:
        setp.lt.u64 %p5, %rd4, 8;
    $joined:
        shl.b64 %rd11, %rd4, 3;
        add.s64 %rd12, %rd1, %rd11;
        @%p5 bra $end;
        st.global.u64 [%rd12], %rd10;
    $end:
        ret;
        ",
    );
    for number in [0, 9] {
        compare(&texts, 32, &[1, number, 0]);
    }
}

/// Returns whether a kernel has a second body, after a test or as an entry of its own.
fn has_second_body(text: &str) -> bool {
    text.contains("setp.lt.u64") || text.contains("k$ordinary")
}

#[test]
fn a_selection_reads_the_register_that_it_writes() {
    let texts = finished(
        2,
        &[],
        &[1],
        "
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd1, %rd1;
        ld.param.u64 %rd2, [k_param_1];
        mov.u32 %r1, %tid.x;
        cvt.u64.u32 %rd4, %r1;
        add.s64 %rd5, %rd4, %rd2;
        add.s64 %rd6, %rd5, %rd2;
        add.s64 %rd7, %rd6, %rd2;
        add.s64 %rd8, %rd7, %rd2;
        add.s64 %rd9, %rd8, %rd4;
        and.b64 %rd10, %rd9, 1023;
        mov.u64 %rd11, %rd10;
        setp.gt.u64 %p1, %rd4, 3;
        // The range has a sign, so the selection stays one of 64 bits.
        selp.b64 %rd11, %rd11, -1, %p1;
        setp.lt.s64 %p2, %rd11, %rd2;
        add.s64 %rd12, %rd11, 1;
        selp.b64 %rd13, %rd12, %rd11, %p2;
        shl.b64 %rd14, %rd4, 4;
        add.s64 %rd15, %rd1, %rd14;
        st.global.u64 [%rd15], %rd11;
        st.global.u64 [%rd15+8], %rd13;
        ret;
        ",
    );
    assert!(has_second_body(&texts[1]), "{}", texts[1]);
    compare(&texts, 8, &[10]);
}

#[test]
fn a_loop_with_two_entries_knows_what_holds_at_both() {
    let texts = finished(
        2,
        &[],
        &[1],
        "
        ld.param.u64 %rd1, [k_param_0];
        cvta.to.global.u64 %rd1, %rd1;
        ld.param.u64 %rd2, [k_param_1];
        mov.u32 %r1, %tid.x;
        cvt.u64.u32 %rd4, %r1;
        mov.u64 %rd11, 0;
        mov.u32 %r2, 0;
        setp.gt.u64 %p1, %rd4, 0;
        @%p1 bra $second;
    $first:
        // Here, the index need not be 0, although it is if the loop is entered here.
        add.s64 %rd5, %rd4, %rd2;
        add.s64 %rd6, %rd5, %rd2;
        add.s64 %rd7, %rd6, %rd4;
        and.b64 %rd8, %rd4, 2;
        add.s64 %rd9, %rd8, %rd7;
        add.s64 %rd11, %rd11, %rd9;
    $second:
        add.s64 %rd11, %rd11, %rd2;
        add.s32 %r2, %r2, 1;
        setp.lt.u32 %p2, %r2, 3;
        @%p2 bra $first;
        shl.b64 %rd14, %rd4, 3;
        add.s64 %rd15, %rd1, %rd14;
        st.global.u64 [%rd15], %rd11;
        ret;
        ",
    );
    assert!(has_second_body(&texts[1]), "{}", texts[1]);
    compare(&texts, 8, &[10]);
}
