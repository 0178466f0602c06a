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
    join_with(parts, visible, "")
}

fn join_with(parts: &[&str], visible: &[&str], assembly: &str) -> String {
    let visible: HashSet<String> = visible.iter().map(|&name| name.to_owned()).collect();
    let text: String = parts.iter().map(|part| format!("{HEADER}{part}")).collect();
    ptx::join(&text, &visible, assembly).expect("PTX as libnvvm writes it")
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

/// The legalizer writes variables that refer to each other as module-level assembly, which libnvvm
/// copies to each part.
#[test]
fn assembly_is_written_once() {
    let assembly = ".extern .global .u64 a;\n\
                    .visible .global .u64 b = a;\n\
                    .visible .global .u64 a = b;\n\
                    .global .u64 own[2] = {0, f};\n\
                    .visible .func h()\n{\n$L__own:\n\tbra $L__own;\n}";
    let with = |part: &str| format!("\n{assembly}\n.extern .global .u64 b;\n{part}");
    let parts = [with(CALLER), with(CALLEE)];
    let joined = join_with(&[&parts[0], &parts[1]], &[], assembly);
    assert_eq!(joined.matches(assembly).count(), 1);
    for once in ["own[2]", ".extern .global .u64 a;", ".func h"] {
        assert_eq!(joined.matches(once).count(), 1, "{once}");
    }
    assert!(!joined.contains(".extern .global .u64 b;"));
    // A prototype precedes it.
    assert!(joined.find(" f(") < joined.find("own"));
    // Unknown assembly is not taken for variables.
    let text = format!("{HEADER}{}{HEADER}{}", parts[0], parts[1]);
    ptx::join(&text, &HashSet::new(), "").expect_err("two definitions");
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

/// A part's references to the start of a section refer to its own contribution.
#[test]
fn sections_refer_to_the_contributions_of_their_part() {
    let part = |function: &str| {
        format!(
            ".visible .func {function}()\n{{\n\tret;\n}}\n\
             .section .debug_abbrev\n{{\n.b8 1\n}}\n\
             .section .debug_info\n{{\n.b32 .debug_abbrev\n.b32 .debug_line\n}}\n"
        )
    };
    let joined = join(&[&part("f"), &part("g")], &[]);
    let abbreviations = ".section .debug_abbrev\n{\n.b8 1\n$L1__debug_abbrev:\n.b8 1\n}\n";
    assert!(joined.contains(abbreviations), "{joined}");
    let first = ".b32 .debug_abbrev\n.b32 .debug_line\n";
    let second = "$L1__debug_info:\n.b32 $L1__debug_abbrev\n.b32 .debug_line\n";
    assert!(
        joined.contains(&format!("{{\n{first}{second}}}")),
        "{joined}"
    );
}

#[test]
fn new_names_are_unused() {
    let other = ".func g()\n{\n\ttrap;\n}\n.visible .func h()\n{\n\tcall.uni g, ();\n\tret;\n}\n\
                 .visible .global .u32 g_1;\n";
    let joined = join(&[CALLER, other], &[]);
    assert_eq!(joined.matches("g_1_()").count(), 2, "{joined}");
    assert!(joined.contains("call.uni g, ();"));
    assert!(joined.contains(", g_1_};"));
    assert!(joined.contains(".global .u32 g_1;"));
}

/// An internal function is renamed even if the part of the visible one follows.
#[test]
fn visible_functions_keep_their_names() {
    let internal =
        ".func f()\n{\n\ttrap;\n}\n.visible .func a()\n{\n\tcall.uni f, ();\n\tret;\n}\n";
    let joined = join(&[internal, CALLEE], &["f"]);
    assert!(joined.contains(".visible .func (.param .b32 r) f("));
    assert!(joined.contains("\ncall.uni f_0, ();") || joined.contains("\tcall.uni f_0, ();"));
}

#[test]
fn shared_variables_of_one_function_are_local_to_it() {
    let shared = |names: [&str; 2]| {
        let [own, common] = names;
        format!(
            ".weak .shared .align 4 .b8 {own}[4];\n.weak .shared .align 4 .b8 {common}[4];\n\
             .visible .entry k_{own}()\n{{\n\t.reg .b32 %r<3>;\n\tmov.u32 %r1, {own};\n\t\
             mov.u32 %r2, {common};\n\tret;\n}}\n"
        )
    };
    let parts = [shared(["a", "both"]), shared(["b", "both"])];
    let joined = join(&[&parts[0], &parts[1]], &[]);
    let local = "{\n\t.shared .align 4 .b8 a[4];\n\t.reg .b32 %r<3>;";
    assert!(joined.contains(local), "{joined}");
    assert!(joined.contains("{\n\t.shared .align 4 .b8 b[4];\n"));
    assert_eq!(joined.matches(".shared .align 4 .b8 both[4];").count(), 1);
    assert!(joined.contains("\n.shared .align 4 .b8 both[4];"));
    let visible = join(&[&parts[0], &parts[1]], &["a"]);
    assert!(visible.contains("\n.weak .shared .align 4 .b8 a[4];"));
}

#[test]
fn aliases_follow_functions() {
    let alias = ".visible .func h();\n.alias h, f;\n";
    let joined = join(&[CALLER, &format!("{alias}{CALLEE}{alias}")], &[]);
    assert_eq!(joined.matches(".alias h, f;").count(), 1);
    assert!(joined.find(".alias") > joined.find(" f(\n\t.param .b32 f_param_0\n)\n{"));
}

#[test]
fn different_definitions_are_an_error() {
    let function = |name: &str| format!(".visible .func {name}()\n{{\n\tret;\n}}\n");
    let (f, g) = (function("f"), function("g"));
    let error = |first: &str, second: &str| {
        let text = format!("{HEADER}{f}{first}\n{HEADER}{g}{second}\n");
        let error = ptx::join(&text, &HashSet::new(), "").expect_err("different definitions");
        (error.line, error.message)
    };
    let different = |line, name| {
        let message = format!("the parts have different definitions of `{name}`");
        (line, message)
    };
    let weak = |value| format!(".weak .global .u32 x = {value};");
    assert_eq!(error(&weak(1), &weak(2)), different(16, "x"));
    // Copies of a variable that is not constant.
    let variable = ".global .u32 x;";
    assert_eq!(error(variable, variable), different(16, "x"));
    let visible = ".visible .global .u32 x = 1;";
    assert_eq!(error(visible, visible), different(16, "x"));
    // Which of them a third part calls is unknown.
    let called = format!("{f}\n{HEADER}.extern .func f()\n;\n");
    assert_eq!(error("", &called), different(16, "f"));
}

/// Parts that were compiled one by one have copies of what they share.
#[test]
fn equal_copies_are_written_once() {
    let part = |kernel: &str, constant: u32, shift: u32| {
        format!(
            ".visible .entry {kernel}()\n{{\n\tcall.uni f, ();\n\tcall.uni h, ();\n\tret;\n}}\n\
             .global .align 4 .u32 c[1] = {{7}};\n\
             .global .align 4 .u32 d[1] = {{{constant}}};\n\
             .visible .func f()\n{{\n\t.loc\t1 {constant} 3\n$L__BB{shift}_1:\n\
             \tld.global.u32 %r1, [c];\n\tcall.uni g, ();\n\tbra.uni $L__BB{shift}_1;\n}}\n\
             .func g()\n{{\n\t.local .align 8 .b8 __local_depot{shift}[8];\n\
             \tcall.uni f, ();\n\tret;\n}}\n\
             .func h()\n{{\nprototype_{shift} : .callprototype ()_ ();\n\
             \tcall %rd1, (), prototype_{shift};\n\tcall.uni i, ();\n\tret;\n}}\n\
             .func i()\n{{\n\tld.global.u32 %r1, [d];\n\tret;\n}}\n.file\t1 \"{kernel}.rs\"\n"
        )
    };
    let functions = |joined: &str| {
        let module = ptx::Module::parse(joined).expect("PTX");
        let functions = module.items.iter().filter_map(|item| match item {
            ptx::Item::Function(it) if it.body.is_some() => Some(it.name.to_owned()),
            _ => None,
        });
        let mut names: Vec<String> = functions.collect();
        names.sort_unstable();
        names
    };
    let joined = join(&[&part("k", 1, 2), &part("l", 1, 3)], &[]);
    assert_eq!(functions(&joined), ["f", "g", "h", "i", "k", "l"]);
    assert_eq!(joined.matches(".global .align").count(), 2);
    assert!(!joined.contains(".visible .func"));
    // `h` and `i` use different constants, though their texts are equal.
    let joined = join(&[&part("k", 1, 2), &part("l", 2, 3)], &[]);
    assert_eq!(
        functions(&joined),
        ["f", "g", "h", "h_1", "i", "i_1", "k", "l"]
    );
    assert_eq!(joined.matches(".global .align").count(), 3);
    let second = &joined[joined.find(".entry l").unwrap()..];
    assert!(second[..second.find('}').unwrap()].contains("call.uni f, ();\n\tcall.uni h_1, ();"));
}

#[test]
fn text_that_is_not_ptx_is_an_error() {
    let visible = HashSet::new();
    let error = ptx::join(&format!("{HEADER}.func f()\n{{\n"), &visible, "").expect_err("no end");
    assert_eq!(error.message, "the file ends within a body");
    let text = format!("{HEADER}{HEADER}what");
    let error = ptx::join(&text, &visible, "").expect_err("no directive");
    assert_eq!((error.line, &*error.message), (7, "unknown directive"));
    let error = ptx::join("", &visible, "").expect_err("no module");
    assert_eq!((error.line, &*error.message), (1, "expected `.version`"));
}

/// The result of a join is a part of another one: labels that were renamed stay distinct.
#[test]
fn parts_are_joined_again() {
    let line = |name: &str| {
        format!(
            "{HEADER}.visible .entry {name}()\n{{\n$L__BB0_1:\n\t.loc\t1 7 3, function_name \
             $L__info_string0, inlined_at 1 9 1\n\tbra.uni $L__BB0_1;\n}}\n\t.file\t1 \"k.rs\"\n\
             \t.section\t.debug_str\n\t{{\n$L__info_string0:\n.b8 102\n.b8 0\n\t}}\n"
        )
    };
    let mut joined = line("a");
    for kernel in ["b", "c", "d"] {
        joined = ptx::join(&(joined + &line(kernel)), &HashSet::new(), "").unwrap();
        joined = ptx::without_kernels(&joined, |_| false, &[]).unwrap();
    }
    let labels_of = |joined: &str| -> Vec<String> {
        let lines = joined.lines().filter(|line| line.ends_with(':'));
        let labels = lines.filter(|line| line.trim_start().starts_with("$L"));
        labels.map(str::to_owned).collect()
    };
    // Both parts have been joined before.
    let both = [line("e"), line("f")].concat() + &line("g");
    let both = ptx::join(&both, &HashSet::new(), "").unwrap();
    let twice = ptx::join(&format!("{joined}\n{both}"), &HashSet::new(), "").unwrap();
    let all = labels_of(&twice);
    assert_eq!(
        all.iter().collect::<HashSet<_>>().len(),
        all.len(),
        "{all:?}"
    );
    assert_eq!(all.len(), 3 * 7 - 1);
    let mut labels = labels_of(&joined);
    // For each kernel a block and a string, and for each but one the start of the section.
    assert_eq!(labels.len(), 11, "{joined}");
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), 11, "{joined}");
    assert_eq!(joined.matches(".file").count(), 1);
}

#[test]
fn variables_of_the_host_may_be_in_several_parts() {
    let part = |kernel: &str, value: u32| {
        format!(
            "{HEADER}.visible .global .u32 x = {value};\n.visible .entry {kernel}() {{ ret; }}\n"
        )
    };
    let visible = HashSet::from(["x".to_owned()]);
    let joined = ptx::join(&(part("a", 1) + &part("b", 1)), &visible, "").unwrap();
    assert_eq!(joined.matches(".visible .global .u32 x = 1;").count(), 1);
    assert!(ptx::join(&(part("a", 1) + &part("b", 2)), &visible, "").is_err());
}
