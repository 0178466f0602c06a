//! Loaded 16-bit parts are joined by shifts, which ptxas compiles correctly.

use ptx::{Module, replace_bfi};

#[test]
fn loaded_halves_are_shifted() {
    let text = "
        .version 9.0
        .target sm_75
        .address_size 64
        .visible .entry k() {
            .reg .pred %p<2>;
            .reg .b64 %rd<20>;
            ld.local.u16 %rd1, [%rd9+22];
            ld.local.u16 %rd2, [%rd9+24];
            bfi.b64 %rd3, %rd2, %rd1, 16, 16;
            @%p1 bfi.b64 %rd3, %rd1, %rd2, 16, 16;
            bfi.b64 %rd4, %rd3, %rd1, 16, 16;
            bfi.b64 %rd5, %rd3, %rd3, 32, 32;
            bfi.b64 %rd6, %rd2, %rd1, 16, 32;
            ld.local.u16 %rd7, [%rd9];
            add.s64 %rd7, %rd7, 1;
            bfi.b64 %rd8, %rd7, %rd1, 16, 16;
            ld.local.s16 %rd10, [%rd9];
            bfi.b64 %rd11, %rd1, %rd10, 16, 16;
            ret;
        }
        ";
    let mut module = Module::parse(text).unwrap();
    assert_eq!(replace_bfi(&mut module), 2);
    let text = module.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let joined = [
        "{",
        ".reg .b64 %shifted;",
        "@%p1 shl.b64 %shifted, %rd1, 16;",
        "@%p1 or.b64 %rd3, %shifted, %rd2;",
        "}",
    ];
    assert!(lines.windows(joined.len()).any(|w| w == joined), "{text}");
    for kept in [
        "bfi.b64 %rd4, %rd3, %rd1, 16, 16;",
        "bfi.b64 %rd5, %rd3, %rd3, 32, 32;",
        "bfi.b64 %rd6, %rd2, %rd1, 16, 32;",
        "bfi.b64 %rd8, %rd7, %rd1, 16, 16;",
        "bfi.b64 %rd11, %rd1, %rd10, 16, 16;",
    ] {
        assert!(lines.contains(&kept), "{text}");
    }
    // The pass is idempotent, also after printing and parsing.
    assert_eq!(replace_bfi(&mut Module::parse(&text).unwrap()), 0);
}
