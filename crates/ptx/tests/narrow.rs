//! 16-bit negations and minima become 32-bit ones, which ptxas compiles correctly.

use ptx::{Module, widen_narrow};

#[test]
fn sixteen_bit_negations_are_widened() {
    let text = "
        .version 9.0
        .target sm_75
        .address_size 64
        .visible .entry k() {
            .reg .pred %p<2>;
            .reg .b16 %rs<4>;
            .reg .b32 %r<2>;
            neg.s16 %rs1, %rs2;
            @%p1 abs.s16 %rs3, %rs3;
            neg.s32 %r1, %r1;
            neg.f16 %rs1, %rs1;
            ret;
        }
        ";
    let mut module = Module::parse(text).unwrap();
    assert_eq!(widen_narrow(&mut module), 2);
    let text = module.to_string();
    assert!(
        !text.contains("neg.s16") && !text.contains("abs.s16"),
        "{text}"
    );
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let widened = [
        "{",
        ".reg .b32 %widened;",
        "@%p1 cvt.s32.s16 %widened, %rs3;",
        "@%p1 abs.s32 %widened, %widened;",
        "@%p1 cvt.u16.u32 %rs3, %widened;",
        "}",
    ];
    assert!(lines.windows(widened.len()).any(|w| w == widened), "{text}");
    assert!(lines.contains(&"neg.s32 %r1, %r1;"));
    assert!(lines.contains(&"neg.f16 %rs1, %rs1;"));
    // The pass is idempotent, also after printing and parsing.
    assert_eq!(widen_narrow(&mut Module::parse(&text).unwrap()), 0);
}

#[test]
fn sixteen_bit_minima_are_widened() {
    let text = "
        .version 9.0
        .target sm_90
        .address_size 64
        .visible .entry k() {
            .reg .pred %p<2>;
            .reg .b16 %rs<4>;
            .reg .b32 %r<3>;
            @!%p1 min.u16 %rs1, %rs2, 127;
            max.s16 %rs1, %rs2, %rs3;
            min.u32 %r1, %r1, %r2;
            min.u16x2 %r1, %r1, %r2;
            min.f16 %rs1, %rs1, %rs2;
            ret;
        }
        ";
    let mut module = Module::parse(text).unwrap();
    assert_eq!(widen_narrow(&mut module), 2);
    let text = module.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let widened = [
        "{",
        ".reg .b32 %widened, %widened2;",
        "@!%p1 cvt.u32.u16 %widened, %rs2;",
        "@!%p1 cvt.u32.u16 %widened2, 127;",
        "@!%p1 min.u32 %widened, %widened, %widened2;",
        "@!%p1 cvt.u16.u32 %rs1, %widened;",
        "}",
    ];
    assert!(lines.windows(widened.len()).any(|w| w == widened), "{text}");
    for kept in [
        "max.s32 %widened, %widened, %widened2;",
        "min.u32 %r1, %r1, %r2;",
        "min.u16x2 %r1, %r1, %r2;",
        "min.f16 %rs1, %rs1, %rs2;",
    ] {
        assert!(lines.contains(&kept), "{text}");
    }
}
