//! Reductions of a warp become one instruction.

use ptx::{Purpose, stack};

/// Returns whether the steps of a reduction become one instruction for an architecture.
fn is_replaced(arch: &str, steps: &str) -> bool {
    let text = format!(
        "
        .version 8.7
        .target {arch}
        .address_size 64
        .visible .entry k(.param .u64 k_param_0) {{
            .reg .pred %p;
            .reg .b32 %r<19>;
            .reg .b64 %rd<3>;
            ld.param.u64 %rd1, [k_param_0];
            cvta.to.global.u64 %rd2, %rd1;
            ld.global.u32 %r0, [%rd2];
            setp.eq.u32 %p, %r0, 3;
            {steps}
            st.global.u32 [%rd2], %r10;
            ret;
        }}"
    );
    let options = stack::Options::default();
    let purpose = Purpose::Speed(ptx::Kernels::default());
    let text = ptx::finish(&text, &[], purpose, &options).unwrap().text;
    let is_replaced = text.contains("redux.sync");
    assert_ne!(is_replaced, text.contains("shfl"), "{text}");
    is_replaced
}

const STEPS: &str = "
    shfl.sync.bfly.b32 %r1, %r0, 16, 31, -1;
    min.u32 %r2, %r0, %r1;
    shfl.sync.bfly.b32 %r3, %r2, 8, 31, -1;
    min.u32 %r4, %r3, %r2;
    shfl.sync.bfly.b32 %r5, %r4, 4, 31, -1;
    min.u32 %r6, %r4, %r5;
    shfl.sync.bfly.b32 %r7, %r6, 2, 31, -1;
    min.u32 %r8, %r6, %r7;
    shfl.sync.bfly.b32 %r9, %r8, 1, 31, -1;
    min.u32 %r10, %r8, %r9;";

#[test]
fn architecture_has_the_instruction() {
    assert!(is_replaced("sm_90", STEPS));
    assert!(is_replaced("sm_90a", STEPS));
    assert!(is_replaced("sm_80", STEPS));
    assert!(is_replaced("sm_120", STEPS));
    assert!(!is_replaced("sm_75", STEPS));
}

#[test]
fn labels_for_debuggers_do_not_matter() {
    assert!(is_replaced(
        "sm_90",
        &STEPS.replacen("min", "$here:\nmin", 1)
    ));
}

#[test]
fn other_exchanges_stay() {
    let without = |from: &str, to: &str| {
        assert!(STEPS.contains(from));
        assert!(!is_replaced("sm_90", &STEPS.replacen(from, to, 1)), "{to}");
    };
    // Another operation.
    without("min.u32 %r6", "min.s32 %r6");
    without("min.u32 %r6", "max.u32 %r6");
    without("min.u32", "sub.u32");
    // Other lanes.
    without("%r4, 4, 31", "%r4, 8, 31");
    without("%r4, 4, 31", "%r4, 4, 7199");
    without("%r8, 1, 31, -1", "%r8, 1, 31, 65535");
    without("shfl.sync.bfly", "shfl.sync.down");
    // Another value.
    without("%r5, %r4, 4", "%r5, %r0, 4");
    without("%r8, %r6, %r7", "%r8, %r4, %r7");
    // Only some lanes compute a step.
    without("min.u32 %r6", "@%p min.u32 %r6");
    // Something else reads the result of a step.
    without("min.u32 %r10", "st.global.u32 [%rd2+4], %r4;\nmin.u32 %r10");
    without("min.u32 %r10", "st.global.u32 [%rd2+4], %r5;\nmin.u32 %r10");
    // The first value changes.
    without("min.u32 %r10", "add.u32 %r0, %r0, 1;\nmin.u32 %r10");
    // Threads wait for each other, or branch.
    without("min.u32 %r6", "bar.sync 0;\nmin.u32 %r6");
    without("min.u32 %r6", "@%p bra $on;\n$on:\nmin.u32 %r6");
    // The last step is missing.
    without("min.u32 %r10, %r8, %r9", "mov.b32 %r10, %r9");
}
