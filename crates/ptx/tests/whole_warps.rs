//! Loops with ballots get copies for whole warps.

use ptx::{Purpose, stack};

/// Returns a kernel after the passes for speed.
fn optimized(first: &str, step: &str) -> String {
    optimized_text(&kernel(first, step))
}

/// Returns a kernel with a loop. `first` and `step` are the start and the end of its body.
fn kernel(first: &str, step: &str) -> String {
    format!(
        "
        .version 8.7
        .target sm_90
        .address_size 64
        .func other(.param .b64 index) {{
            ret;
        }}
        .func panic(.param .b64 index) .noreturn {{
            exit;
        }}
        .visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1) {{
            .reg .pred %p<9>;
            .reg .b32 %r<19>;
            .reg .b64 %rd<9>;
            ld.param.u64 %rd1, [k_param_0];
            ld.param.u32 %r1, [k_param_1];
            cvta.to.global.u64 %rd2, %rd1;
            mov.u32 %r2, %tid.x;
            mul.wide.u32 %rd3, %r2, 4;
            add.s64 %rd4, %rd2, %rd3;
            mov.u32 %r3, -1;
            mov.u32 %r4, 1;
            mov.u32 %r5, 0;
            mov.u32 %r6, %r2;
            $loop:
            {first}
            {{
            .reg .pred %q;
            setp.ne.b32 %q, %r4, 0;
            vote.sync.ballot.b32 %r7, %q, %r3;
            }}
            setp.eq.s32 %p1, %r7, -1;
            @%p1 bra $whole;
            popc.b32 %r8, %r7;
            add.s32 %r6, %r6, %r8;
            bra $join;
            $whole:
            shfl.sync.bfly.b32 %r9, %r6, 1, 31, -1;
            add.s32 %r6, %r6, %r9;
            $join:
            {step}
            add.s32 %r5, %r5, 1;
            setp.lt.u32 %p2, %r5, %r1;
            @%p2 bra $loop;
            st.global.u32 [%rd4], %r6;
            ret;
        }}"
    )
}

fn optimized_text(text: &str) -> String {
    let options = stack::Options::default();
    let purpose = Purpose::Speed(ptx::Kernels::default());
    ptx::finish(text, &[], purpose, &options).unwrap().text
}

/// Returns whether a ballot precedes the loop.
fn is_copied(text: &str) -> bool {
    match text.matches("vote.sync.ballot").count() {
        1 => false,
        2 => true,
        count => panic!("{count} ballots in\n{text}"),
    }
}

#[test]
fn a_ballot_before_the_loop_chooses_the_copy() {
    let text = optimized("", "");
    assert!(is_copied(&text), "{text}");
    // The copy for whole warps has no ballot and counts no lanes.
    assert_eq!(text.matches("popc").count(), 1, "{text}");
    assert_eq!(text.matches("shfl").count(), 2, "{text}");
    let copy = &text[text.find("shfl").unwrap()..];
    let copy = &copy[..copy.find("bra").unwrap()];
    assert!(!copy.contains("vote"), "{text}");
}

#[test]
fn loops_that_some_threads_leave_earlier_stay() {
    let exit = "setp.eq.s32 %p3, %r6, 9; @!%p3 bra $next; ret; $next:";
    assert!(!is_copied(&optimized("", exit)));
    let panic = "setp.eq.s32 %p3, %r6, 9; @!%p3 bra $next;
        { .param .b64 param0; st.param.b64 [param0], %rd1; call panic, (param0); } $next:";
    assert!(!is_copied(&optimized("", panic)));
    let skip = "setp.eq.s32 %p3, %r6, 9; @%p3 bra $next; add.s32 %r5, %r5, 1; $next:";
    assert!(!is_copied(&optimized("", skip)));
    let own = "@%p1 add.s32 %r1, %r1, 1;";
    assert!(!is_copied(&optimized("", own)));
}

#[test]
fn loops_that_may_not_reach_the_ballot_stay() {
    let skip = "setp.ne.s32 %p3, %r5, 1; @%p3 bra $join;";
    assert!(!is_copied(&optimized(skip, "")));
    let store = "st.global.u32 [%rd4], %r6;";
    assert!(!is_copied(&optimized(store, "")));
    assert!(is_copied(&optimized("", store)));
}

#[test]
fn loops_with_barriers_calls_and_jump_tables_stay() {
    assert!(!is_copied(&optimized("", "barrier.sync 0;")));
    let call = "{ .param .b64 param0; st.param.b64 [param0], %rd1; call other, (param0); }";
    assert!(!is_copied(&optimized("", call)));
    let table = "$targets: .branchtargets $first, $second;
        and.b32 %r10, %r6, 1;
        brx.idx %r10, $targets;
        $first: add.s32 %r6, %r6, 1;
        $second:";
    assert!(!is_copied(&optimized("", table)));
}

#[test]
fn parameters_of_functions_differ_between_threads() {
    let function = kernel("", "").replace(".visible .entry", ".func");
    let caller = "
        .visible .entry caller(.param .u64 caller_param_0) {
            .reg .b32 %r<2>;
            .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [caller_param_0];
            mov.u32 %r1, %tid.x;
            {
            .param .b64 param0;
            .param .b32 param1;
            st.param.b64 [param0], %rd1;
            st.param.b32 [param1], %r1;
            call k, (param0, param1);
            }
            ret;
        }";
    assert!(!is_copied(&optimized_text(&format!("{function}{caller}"))));
}
