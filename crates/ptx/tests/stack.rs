//! The stack that kernels need: recursion, tables of functions, vtables.

use ptx::Module;
use ptx::stack::{MAX_BYTES, Options, RECURSION_BYTES, analyze};

const HEAD: &str = ".version 7.5\n.target sm_75\n.address_size 64\n";

fn needs(text: &str, options: &Options) -> Vec<(String, u64, bool)> {
    let text = format!("{HEAD}{text}");
    let module = Module::parse(&text).unwrap();
    let needs = analyze(&module, options).needs;
    needs
        .into_iter()
        .map(|need| (need.kernel, need.bytes, need.recursive))
        .collect()
}

/// A call through a pointer of a function with one 64-bit parameter.
const CALL: &str = "
    {
        .param .b64 a;
        st.param.b64 [a], %rd1;
        prototype:
        .callprototype _ (.param .b64 _);
        call %rd2, (a), prototype;
    }
    ";

#[test]
fn stack_that_ptxas_computes_needs_no_record() {
    let text = "
        .func leaf() {
            .local .align 4 .b8 room[5000];
            ret;
        }
        .visible .entry k() {
            call leaf;
            ret;
        }
        ";
    assert_eq!(
        needs(text, &Options::default()),
        [("k".to_owned(), 0, false)]
    );
}

#[test]
fn recursion_counts_as_often_as_the_depth() {
    let text = "
        .func f() {
            .local .align 16 .b8 room[112];
            .reg .b32 %r<2>;
            call f;
            ret;
        }
        .visible .entry k() {
            call f;
            ret;
        }
        ";
    let with = |depth| {
        let options = Options {
            depth,
            ..Options::default()
        };
        needs(text, &options)[0].clone()
    };
    let (_, ten, recursive) = with(Some(10));
    let (_, eleven, _) = with(Some(11));
    let (_, default, _) = with(None);
    assert!(recursive);
    assert!(eleven - ten >= 112 && eleven - ten < 200, "{ten} {eleven}");
    assert!(
        default > 64 * 112 && default <= RECURSION_BYTES + 100,
        "{default}"
    );
}

#[test]
fn a_kernel_gets_16_kib_for_recursion() {
    let kernel = |frame: u32| {
        let text = format!(
            "
                .func f() {{
                    .local .align 16 .b8 room[400];
                    call f;
                    call g;
                    ret;
                }}
                .func g() {{
                    .local .align 16 .b8 room[400];
                    call g;
                    ret;
                }}
                .visible .entry k() {{
                    .local .align 16 .b8 room[{frame}];
                    call f;
                    ret;
                }}
                "
        );
        let depth = Options {
            depth: Some(40),
            ..Options::default()
        };
        let bytes = |options| needs(&text, options)[0].1;
        (bytes(&Options::default()), bytes(&depth))
    };
    let (default, asked) = kernel(16);
    assert_eq!(default, RECURSION_BYTES);
    assert!(asked > 2 * 40 * 400, "{asked}");
    // A large frame does not use up the stack for recursion: the limit is twice the deepest stack.
    let (default, _) = kernel(20_000);
    assert!((40_000..45_000).contains(&default), "{default}");
    // A record has 32 bits.
    assert_eq!(kernel(2_000_000_000).0, MAX_BYTES);
}

#[test]
fn kernels_with_an_explicit_stack_size_have_it() {
    let text = "
        .func f() {
            call f;
            ret;
        }
        .visible .entry k() {
            call f;
            ret;
        }
        ";
    let mut options = Options::default();
    options.kernels.insert("k".to_owned(), 4096);
    assert_eq!(needs(text, &options), [("k".to_owned(), 4096, true)]);
}

#[test]
fn a_table_reaches_only_its_functions() {
    // `other` has the same signature, but is in another table, through which nothing is called.
    let text = format!(
        "
            .func small(.param .b64 a);
            .func other(.param .b64 a);
            .global .align 8 .u64 table[2] = {{small, small}};
            .global .align 8 .u64 unused[1] = {{other}};
            .func small(.param .b64 a) {{
                .local .align 8 .b8 room[800];
                ret;
            }}
            .func other(.param .b64 a) {{
                .local .align 8 .b8 room[9000];
                ret;
            }}
            .visible .entry k(.param .u64 i) {{
                .reg .b64 %rd<5>;
                ld.param.u64 %rd1, [i];
                mov.u64 %rd3, table;
                shl.b64 %rd4, %rd1, 3;
                add.s64 %rd3, %rd3, %rd4;
                ld.global.u64 %rd2, [%rd3];
                {CALL}
                ret;
            }}
            "
    );
    let (_, bytes, recursive) = needs(&text, &Options::default())[0].clone();
    assert!((800..1400).contains(&bytes) && !recursive, "{bytes}");
}

#[test]
fn a_method_call_reaches_the_functions_at_its_vtable_offset() {
    let kernel = |offset: u32| {
        format!(
            "
                .func first(.param .b64 a);
                .func second(.param .b64 a);
                .global .align 8 .u64 vtable[5] = {{0, 8, 8, first, second}};
                .func first(.param .b64 a) {{
                    .local .align 8 .b8 room[800];
                    ret;
                }}
                .func second(.param .b64 a) {{
                    .local .align 8 .b8 room[9000];
                    ret;
                }}
                .visible .entry k(.param .u64 object, .param .u64 methods) {{
                    .reg .b64 %rd<5>;
                    ld.param.u64 %rd1, [object];
                    st.global.u64 [%rd1], vtable;
                    ld.param.u64 %rd3, [methods];
                    ld.u64 %rd2, [%rd3+{offset}];
                    {CALL}
                    ret;
                }}
                "
        )
    };
    let bytes = |offset| needs(&kernel(offset), &Options::default())[0].1;
    assert!((800..1400).contains(&bytes(24)), "{}", bytes(24));
    assert!((9000..10_000).contains(&bytes(32)), "{}", bytes(32));
}

#[test]
fn cycles_are_named_with_the_call_through_a_pointer() {
    let text = format!(
        "
            {HEAD}.func even(.param .b64 a);
            .func odd(.param .b64 a) {{
                .reg .b64 %rd<3>;
                ld.param.u64 %rd1, [a];
                ld.u64 %rd2, [%rd1+8];
                {CALL}
                ret;
            }}
            .func even(.param .b64 a) {{
                .reg .b64 %rd<3>;
                ld.param.u64 %rd1, [a];
                st.global.u64 [%rd1], even;
                {{
                    .param .b64 a;
                    st.param.b64 [a], %rd1;
                    call odd, (a);
                }}
                ret;
            }}
            .visible .entry k(.param .u64 p) {{
                .reg .b64 %rd<2>;
                ld.param.u64 %rd1, [p];
                {{
                    .param .b64 a;
                    st.param.b64 [a], %rd1;
                    call even, (a);
                }}
                ret;
            }}
            "
    );
    let module = Module::parse(&text).unwrap();
    let cycles = analyze(&module, &Options::default()).cycles;
    assert_eq!(cycles.len(), 1);
    assert_eq!(
        cycles[0].to_string(),
        "`even` calls `odd` calls `even`, through a function pointer or trait object in `odd`"
    );
}

/// Returns the cycles of functions that call themselves.
fn cycles_of(symbols: &[&str]) -> Vec<String> {
    let function = |name: &&str| {
        format!(
            "
        .func {name}() {{
            call {name};
            ret;
        }}
        "
        )
    };
    let functions: String = symbols.iter().map(function).collect();
    let call = |name: &&str| format!("call {name}; ");
    let calls: String = symbols.iter().map(call).collect();
    let text = format!("{HEAD}{functions}.visible .entry k() {{ {calls} ret; }}");
    let module = Module::parse(&text).unwrap();
    let cycles = analyze(&module, &Options::default()).cycles.into_iter();
    cycles.map(|cycle| cycle.functions[0].clone()).collect()
}

#[test]
fn cycles_in_drop_glue_are_not_reported() {
    // `core::ptr::drop_glue::<alloc::boxed::Box<user::Node>>`.
    let drop_glue =
        "_RINvNtCsi_4core3ptr9drop_glueINtNtCsj_5alloc5boxed3BoxNtCsk_4user4NodeEECsk_4user";
    // `<user::Node as core::ops::drop::Drop>::drop`, in an `impl` of `user`.
    let drop = "_RNvXCsk_4userNtB2_4NodeNtNtNtCsi_4core3ops4drop4Drop4drop";
    // `<[_]>::walk`, in an `impl` of core.
    let walk = "_RNvMNtCsi_4core5sliceSp4walk";
    assert_eq!(cycles_of(&[drop_glue]), Vec::<String>::new());
    assert_eq!(
        cycles_of(&[drop_glue, drop, walk, "plain"]),
        [
            "<user::Node as core::ops::drop::Drop>::drop",
            "<[_]>::walk",
            "plain"
        ]
    );
}

/// Returns the cycles of a ring of functions, each of which calls the next.
fn ring(symbols: &[&str]) -> Vec<String> {
    let declare = |name: &&str| format!(".func {name}();\n");
    let mut text: String = HEAD.to_owned();
    text.extend(symbols.iter().map(declare));
    for (name, next) in symbols.iter().zip(symbols.iter().cycle().skip(1)) {
        text += &format!(
            "
            .func {name}() {{
                call {next};
                ret;
            }}
            "
        );
    }
    text += &format!(
        "
        .visible .entry k() {{
            call {};
            ret;
        }}
        ",
        symbols[0]
    );
    let module = Module::parse(&text).unwrap();
    let cycles = analyze(&module, &Options::default()).cycles.into_iter();
    cycles.map(|cycle| cycle.to_string()).collect()
}

#[test]
fn formatting_is_a_cycle_only_with_functions_of_the_program() {
    // `core::fmt::write`, `<[_]>::check` in an `impl` of core, and functions of the device library.
    let write = "_RNvNtCsi_4core3fmt5write";
    let check = "_RNvMNtCsi_4core5sliceSp5check";
    let panic = "__cuda_std_panic_fmt";
    assert_eq!(ring(&[write, check, panic]), Vec::<String>::new());
    // `user::<[_] as user::Tree>::visit`: an `impl` of the program for a type of core.
    let visit = "_RNvXCsk_4userSpNtB2_4Tree5visit";
    let names = ring(&[write, visit]);
    assert_eq!(names.len(), 1);
    assert!(names[0].starts_with("`<[_] as user::Tree>::visit` calls"));
    assert_eq!(ring(&[write, "main_loop"]).len(), 1);
}

#[test]
fn records_and_checks_are_written() {
    let text = format!(
        "
            {HEAD}.func f() {{
                call f;
                ret;
            }}
            .visible .entry k() {{
                call f;
                ret;
            }}
            .visible .entry plain() {{
                ret;
            }}
            "
    );
    let finished = ptx::finish(
        &text,
        &[],
        ptx::Purpose::Speed(ptx::Kernels::default()),
        &Options::default(),
    )
    .unwrap()
    .text;
    for part in [
        "__cuda_std_stack_of_k[2]",
        "__cuda_std_stack_of_plain[2] = {0, 0}",
        "stacksave.u64",
        ".weak .global .align 8 .u64 __cuda_std_stack_floor",
        "call __cuda_std_stack_overflow",
    ] {
        assert!(finished.contains(part), "{part} is missing in\n{finished}");
    }
    // One check, since one function is recursive; no check without recursion.
    assert_eq!(finished.matches("stacksave").count(), 1);
    let plain = format!("{HEAD}.visible .entry plain() {{ ret; }}");
    let plain = ptx::finish(
        &plain,
        &[],
        ptx::Purpose::Speed(ptx::Kernels::default()),
        &Options::default(),
    )
    .unwrap()
    .text;
    assert!(!plain.contains("__cuda_std"), "{plain}");
}
