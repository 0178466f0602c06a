//! Tests of the expansion of rows, as text.

use super::expand;
use proc_macro2::TokenStream;
use quote::quote;

fn text(rows: TokenStream) -> String {
    expand(rows).to_string()
}

fn has(rows: TokenStream, parts: &[&str]) {
    let text = text(rows);
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn operands_are_put_in() {
    has(
        quote! {
            /// Adds.
            #[pure]
            fn add(a: u32, b: f32) -> u32 = "add.u32 {ret}, {a}, {b};";
        },
        &[
            r#""//@ tested\nadd.u32 {ret}, {a}, {b};""#,
            "a = in (reg32) a",
            "ret = out (reg32) ret",
            "options (pure , nomem , nostack)",
            r#"signature : "fn add(a: u32, b: f32) -> u32""#,
        ],
    );
}

#[test]
fn arrays_are_vectors() {
    has(
        quote! {
            /// Multiplies.
            #[convergent]
            #[requires(sm_80)]
            unsafe fn mma(a: [u32; 2], c: &mut [f32; 2]) -> [f32; 1] = "mma {ret}, {a}, {c.1};";
        },
        &[
            r#""//@ tested\nmma {{{ret_0}}}, {{{a_0}, {a_1}}}, {c_1};""#,
            "c_0 = inout (reg32) c [0usize]",
            "[ret_0]",
            "__cuda_std_requires_sm_80",
            "pub unsafe fn mma",
        ],
    );
}

#[test]
fn predicates_and_wide_integers_are_made_and_taken_apart() {
    has(
        quote! {
            /// Votes.
            fn vote(p: bool, q: u128) -> (bool, u128) = "{ .reg .b32 t; vote {ret.0}, {p}, {q}, {ret.1}; }";
        },
        &[
            "setp.ne.b32 %p_p, {p}, 0;",
            "selp.b32 {ret_0}, 1, 0, %p_ret_0;",
            "{{ .reg .b32 t; vote %p_ret_0, %p_p, %q_q, %q_ret_1; }}",
            "mov.b128 %q_q, {{{q_low}, {q_high}}};",
            "mov.b128 {{{ret_1_low}, {ret_1_high}}}, %q_ret_1;",
            "//@ tested divergent",
        ],
    );
}

#[test]
fn pointers_become_addresses_of_a_space() {
    has(
        quote! {
            /// Loads.
            #[reads]
            unsafe fn load(p: *const u32) -> u32 = "ld.shared.u32 {ret}, [{p:shared}];";
        },
        &[
            "cvta.to.shared.u64 %a_p_shared, {p};",
            "ld.shared.u32 {ret}, [%a_p_shared];",
        ],
    );
}

#[test]
fn immediates_are_constants_in_a_range() {
    has(
        quote! {
            /// Waits.
            fn bar<const ID: u32 in 0..=15>() = "bar.sync {ID};";
        },
        &[
            "ID = const ID",
            "assert ! (ID >= 0 && ID <= 15",
            "fn bar < const ID : u32 >",
        ],
    );
}

#[test]
fn rows_are_repeated() {
    has(
        quote! {
            for OP in [add, min] {
                for (TY, RUST) in [(u32, u32), (s32, i32)] {
                    /// The <OP> of <TY>.
                    #[pure]
                    fn op_OP_TY(a: RUST) -> RUST = "op.<OP>.<TY> {ret}, {a};";
                }
            }
        },
        &[
            "fn op_add_u32",
            "fn op_min_s32 (a : i32) -> i32",
            "op.min.s32 {ret}, {a};",
            "The min of s32.",
        ],
    );
}

#[test]
fn mistakes_are_explained() {
    let error = |rows, message| {
        let text = text(rows);
        assert!(
            text.contains("compile_error") && text.contains(message),
            "{text}"
        );
    };
    error(
        quote! {
            /// F.
            fn f(a: u32) = "f {b};";
        },
        "unknown operand `b`",
    );
    error(quote! { fn f() = "f;"; }, "a row must have a doc comment");
    error(
        quote! {
            /// F.
            fn f(a: String) = "f;";
        },
        "no operand of an instruction",
    );
    error(
        quote! {
            /// F.
            #[pure]
            #[convergent]
            fn f() -> u32 = "f {ret};";
        },
        "cannot be `pure`",
    );
}
