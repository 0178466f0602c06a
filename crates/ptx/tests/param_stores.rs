//! No statement remains between the stores of one result.

use ptx::{Module, gather_param_stores};

#[test]
fn labels_of_debug_information_leave_the_parts_of_a_result_together() {
    let text = "
        .version 9.0
        .target sm_75
        .address_size 64
        .func (.param .align 1 .b8 r[3]) f() {
            .reg .pred %p<2>;
            .reg .b16 %rs<4>;
            tmp0:
            st.param.b8 [r], %rs1;
            tmp1:
            ld.u8 %rs2, [%rd1];
            tmp2:
            st.param.b8 [r+1], %rs2;
            tmp3:
            ret;
            target:
            st.param.b8 [r], %rs1;
            @%p1 bra target;
            tmp4:
            st.param.b8 [r+2], %rs3;
            ret;
            loop:
            st.param.b8 [r], %rs1;
            head:
            st.param.b8 [r+1], %rs1;
            bra head;
        }
        ";
    let mut module = Module::parse(text).unwrap();
    assert_eq!(gather_param_stores(&mut module), 3);
    let text = module.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let gathered = [
        "tmp0:",
        "tmp1:",
        "ld.u8 %rs2, [%rd1];",
        "tmp2:",
        "st.param.b8 [r], %rs1;",
        "st.param.b8 [r+1], %rs2;",
        "tmp3:",
        "ret;",
    ];
    assert!(
        lines.windows(gathered.len()).any(|w| w == gathered),
        "{text}"
    );
    // Branch targets and code after a branch are not moved.
    for untouched in [
        ["@%p1 bra target;", "tmp4:"],
        ["st.param.b8 [r], %rs1;", "head:"],
    ] {
        assert!(lines.windows(2).any(|w| w == untouched), "{text}");
    }
    assert_eq!(gather_param_stores(&mut Module::parse(&text).unwrap()), 0);
}

#[test]
fn divisions_precede_the_parts_of_a_result() {
    let text = "
        .version 9.0
        .target sm_75
        .address_size 64
        .func (.param .align 1 .b8 r[3]) f() {
            .reg .b16 %rs<6>;
            st.param.b8 [r], %rs1;
            rem.u16 %rs4, %rs2, %rs3;
            st.param.b8 [r+1], %rs4;
            div.u16 %rs5, %rs2, %rs3;
            st.param.b8 [r+2], %rs5;
            ret;
            st.param.b8 [r], %rs1;
            add.u16 %rs1, %rs2, %rs3;
            st.param.b8 [r+1], %rs1;
            ret;
        }
        ";
    let mut module = Module::parse(text).unwrap();
    assert_eq!(gather_param_stores(&mut module), 2);
    let text = module.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let gathered = [
        "rem.u16 %rs4, %rs2, %rs3;",
        "div.u16 %rs5, %rs2, %rs3;",
        "st.param.b8 [r], %rs1;",
        "st.param.b8 [r+1], %rs4;",
        "st.param.b8 [r+2], %rs5;",
        "ret;",
    ];
    assert!(
        lines.windows(gathered.len()).any(|w| w == gathered),
        "{text}"
    );
    // The first store's value differs from the later value of the register.
    let changed = ["st.param.b8 [r], %rs1;", "add.u16 %rs1, %rs2, %rs3;"];
    assert!(lines.windows(2).any(|w| w == changed), "{text}");
}

/// A call takes the parameters that were stored before it.
#[test]
fn stores_do_not_move_across_a_call() {
    let text = "
        .version 9.0
        .target sm_75
        .address_size 64
        .func g(.param .b32 p);
        .func f() {
            .reg .b32 %r<3>;
            .param .b32 a;
            .param .b32 b;
            st.param.b32 [a], %r1;
            call.uni g, (a);
            st.param.b32 [b], %r2;
            call.uni g, (b);
            ret;
        }
        ";
    let mut module = Module::parse(text).unwrap();
    assert_eq!(gather_param_stores(&mut module), 0);
    let text = module.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let kept = [
        "st.param.b32 [a], %r1;",
        "call.uni g, (a);",
        "st.param.b32 [b], %r2;",
        "call.uni g, (b);",
    ];
    assert!(lines.windows(kept.len()).any(|w| w == kept), "{text}");
}
