//! Functions call themselves through a pointer.

use ptx::{Module, hide_recursion};

#[test]
fn recursive_calls_go_through_a_pointer() {
    let text = "
        .version 9.0
        .target sm_75
        .address_size 64
        .func other(.param .b32 n) {
            ret;
        }
        .func (.param .b32 r) sum(.param .b32 n, .param .align 8 .b8 s[16]) {
            .reg .b32 %r<3>;
            {
                .param .b32 p0;
                .param .align 8 .b8 p1[16];
                .param .b32 r0;
                call.uni (r0), sum, (p0, p1);
                ld.param.b32 %r1, [r0];
            }
            {
                .param .b32 p0;
                call.uni other, (p0);
            }
            ret;
        }
        .visible .entry k() {
            ret;
        }
        ";
    let mut module = Module::parse(text).unwrap();
    assert_eq!(hide_recursion(&mut module), 1);
    let text = module.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for line in [
        ".reg .b64 %itself;",
        "mov.u64 %itself, sum;",
        "call (r0), %itself, (p0, p1), itself_type;",
        "call.uni other, (p0);",
    ] {
        assert!(lines.contains(&line), "{line} is not in\n{text}");
    }
    let prototype = lines
        .iter()
        .find(|line| line.contains(".callprototype"))
        .unwrap();
    assert!(
        prototype.contains("(.param .b32 _) _ (.param .b32 _,.param .align 8 .b8 _[16])"),
        "{prototype}"
    );
    assert_eq!(hide_recursion(&mut Module::parse(&text).unwrap()), 0);
}
