//! Joins the parts into which libnvvm splits a module.

use std::collections::HashSet;

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A part with a kernel, which calls a function of the other part.
const CALLER: &str = r#"
.extern .func (.param .b32 r) f
(
	.param .b32 f_param_0
)
;
.extern .global .align 8 .b8 state[8];
.weak .global .align 8 .u64 table[2] = {generic(text), g};
.weak .global .align 1 .b8 text[2] = {104, 105};
.func g()
{
	ret;
}
.visible .entry k()
{
$L__BB1_1:
	.loc	1 7 3, function_name $L__info_string0, inlined_at 2 9 1
	// begin inline asm
	nanosleep.u32 1;
	// end inline asm
	bra.uni $L__BB1_1;
}
	.file	1 "a.rs"
	.file	2 "k.rs"
	.section	.debug_str
	{
$L__info_string0:
.b8 102
.b8 0
	}
"#;

const CALLEE: &str = r#"
.weak .global .align 1 .b8 text[2] = {104, 105};
.visible .global .align 8 .b8 state[8];
.func g()
{
	trap;
}
.visible .func (.param .b32 r) f(
	.param .b32 f_param_0
)
{
	.loc	1 3 1, function_name $L__info_string0, inlined_at 1 4 1
	call.uni g, ();
	ret;
}
	.file	1 "k.rs"
	.section	.debug_str
	{
$L__info_string0:
.b8 103
.b8 0
	}
"#;

fn join(parts: &[&str], visible: &[&str]) -> String {
    let visible: HashSet<String> = visible.iter().map(|&name| name.to_owned()).collect();
    let text: String = parts.iter().map(|part| format!("{HEADER}{part}")).collect();
    ptx::join(&text, &visible).expect("PTX as libnvvm writes it")
}

#[test]
fn the_order_of_parts_is_irrelevant() {
    let joined = join(&[CALLER, CALLEE], &[]);
    assert_eq!(joined, join(&[CALLEE, CALLER], &[]));
    ptx::Module::parse(&joined).expect("PTX");
}

#[test]
fn symbols_are_defined_once() {
    let joined = join(&[CALLER, CALLEE], &[]);
    let count = |text: &str| joined.matches(text).count();
    assert_eq!(count(".version"), 1);
    assert_eq!(count("text[2] ="), 1);
    assert_eq!(count(".extern"), 0);
    assert_eq!(count(".weak"), 0);
    assert_eq!(count(".visible"), 1);
    // A prototype and the definition.
    assert_eq!(count(".func (.param .b32 r) f"), 2);
    assert_eq!(count("state[8];"), 1);
    // An initializer follows what it refers to.
    assert!(joined.find("text[2]") < joined.find("table[2]"));
    let visible = join(&[CALLER, CALLEE], &["state", "f"]);
    assert!(visible.contains(".visible .global .align 8 .b8 state[8];"));
    assert!(visible.contains(".visible .func (.param .b32 r) f("));
}

/// Each part has a copy of the functions of libdevice that it calls.
#[test]
fn internal_functions_of_a_name_are_kept_apart() {
    let joined = join(&[CALLER, CALLEE], &[]);
    let module = ptx::Module::parse(&joined).expect("PTX");
    let functions = module.items.iter().filter_map(|item| match item {
        ptx::Item::Function(function) if function.body.is_some() => Some(function.name),
        _ => None,
    });
    let mut functions: Vec<&str> = functions.collect();
    functions.sort_unstable();
    assert_eq!(functions, ["f", "g", "g_1", "k"]);
    // Also in a prototype and an initializer.
    assert_eq!(joined.matches("g_1").count(), 3);
}

/// The legalizer writes variables that refer to each other as module-level assembly.
#[test]
fn assembly_is_copied() {
    let assembly = "// Start of file scope inline assembly\n\
                    .extern .global .u64 a;\n\
                    .visible .global .u64 b = a;\n\
                    .visible .global .u64 a = b;\n\
                    .global .u64 own[2] = {0, f};\n\
                    // End of file scope inline assembly\n";
    let with = |part: &str| format!("{assembly}{part}");
    for parts in [[&*with(CALLER), CALLEE], [&*with(CALLER), &*with(CALLEE)]] {
        let joined = join(&parts, &[]);
        assert_eq!(joined.matches(assembly).count(), 1);
        assert_eq!(joined.matches("own").count(), 1);
        // A prototype precedes it.
        assert!(joined.find(" f(") < joined.find("own"));
    }
}

#[test]
fn files_and_labels_of_debug_information_are_renumbered() {
    let joined = join(&[CALLER, CALLEE], &[]);
    assert!(joined.contains(".file 1 \"k.rs\"\n.file 2 \"a.rs\"\n"));
    assert!(joined.contains(".loc\t1 3 1, function_name $L__info_string0, inlined_at 1 4 1"));
    assert!(joined.contains(".loc\t2 7 3, function_name $L1__info_string0, inlined_at 1 9 1"));
    assert_eq!(joined.matches(".section").count(), 1);
    assert!(joined.contains("$L1__info_string0:"));
    assert!(joined.contains("// begin inline asm\n\tnanosleep.u32 1;\n\t// end inline asm"));
}

#[test]
fn text_that_is_not_ptx_is_an_error() {
    let visible = HashSet::new();
    let error = ptx::join(&format!("{HEADER}.func f()\n{{\n"), &visible).expect_err("no end");
    assert_eq!(error.message, "the file ends within a body");
    let error = ptx::join(&format!("{HEADER}what"), &visible).expect_err("no directive");
    assert_eq!((error.line, &*error.message), (4, "unknown directive"));
}
