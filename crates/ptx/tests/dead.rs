//! The dead-function pass: what it removes, what it keeps, and how it changes DWARF.

use ptx::{Module, keep_entries, remove_dead};

const DEBUG: &str = include_str!("data/debug.ptx");

#[test]
fn keeps_functions_in_reachable_tables() {
    let mut module = Module::parse(DEBUG).unwrap();
    let removed = remove_dead(&mut module, &[]);
    // `dead`, `dead_string`, and `packed`, which are unused.
    assert_eq!(
        (removed.functions, removed.variables, removed.declarations),
        (1, 2, 0)
    );
    let text = module.to_string();
    assert!(!text.contains("dead"), "{text}");
    for name in [
        "used_by_table",
        "pointee",
        "table",
        ".entry kernel",
        ".loc 1 9 5, function_name",
    ] {
        assert!(text.contains(name), "{name} is missing in\n{text}");
    }
}

#[test]
fn keeps_the_given_symbols() {
    let text = ptx::finish(
        DEBUG,
        &["packed", "dead"],
        ptx::Purpose::Speed(ptx::Kernels::default()),
        &ptx::stack::Options::default(),
    )
    .unwrap()
    .text;
    for name in ["packed", "dead_string", "$L__func_begin0"] {
        assert!(text.contains(name), "{name} is missing in\n{text}");
    }
}

#[test]
fn dwarf_of_dropped_code_is_marked() {
    let text = ptx::finish(
        DEBUG,
        &[],
        ptx::Purpose::Speed(ptx::Kernels::default()),
        &ptx::stack::Options::default(),
    )
    .unwrap()
    .text;
    let ranges = &text[text.find(".debug_ranges").unwrap()..];
    assert!(
        ranges.contains(
            "{\n.b64 1\n.b64 1\n.b64 $L__func_begin1\n.b64 $L__func_end1\n.b64 0\n.b64 0\n}"
        ),
        "{ranges}"
    );
    let info = &text[text.find(".debug_info").unwrap()..];
    assert!(
        info.contains(
            ".b32 $L__func_end2-$L__func_begin2\n.b64 0\n.b64 0\n.b64 pointee\n.b32 .debug_str"
        ),
        "{info}"
    );
}

#[test]
fn recursion_does_not_keep_itself_alive() {
    let text = "
        .version 8.0
        .target sm_70
        .extern .func e();
        .alias other, f;
        .func f() {
            call g;
            ret;
        }
        .func g() {
            call f;
            call e;
            ret;
        }
        .entry k() {
            ret;
        }
        ";
    let stripped = ptx::finish(
        text,
        &[],
        ptx::Purpose::Speed(ptx::Kernels::default()),
        &ptx::stack::Options::default(),
    )
    .unwrap()
    .text;
    assert_eq!(stripped.matches(".func").count(), 0, "{stripped}");
    assert!(!stripped.contains(".alias"));
    let kept = ptx::finish(
        text,
        &["other"],
        ptx::Purpose::Speed(ptx::Kernels::default()),
        &ptx::stack::Options::default(),
    )
    .unwrap()
    .text;
    for function in ["e", "f", "g"] {
        assert!(kept.contains(&format!(".func {function}")), "{kept}");
    }
}

#[test]
fn keeps_some_entries_and_what_they_reach() {
    let text = "\
.version 7.0
.target sm_75
.address_size 64
.visible .global .u64 __cuda_std_stack_of_one = 1024;
.visible .global .u64 __cuda_std_stack_of_two = 2048;
.func shared_by_both()
{
	ret;
}
.func of_one()
{
	ret;
}
.visible .entry one()
{
	call.uni shared_by_both, ();
	call.uni of_one, ();
	ret;
}
.visible .entry two()
{
	call.uni shared_by_both, ();
	ret;
}
";
    let mut module = Module::parse(text).unwrap();
    keep_entries(&mut module, |entry| entry == "two");
    let text = module.to_string();
    assert!(text.contains(".entry two") && text.contains(".func shared_by_both"));
    assert!(!text.contains(".entry one") && !text.contains("of_one"));
    assert!(text.contains("__cuda_std_stack_of_two"));
}

/// Items that a live kernel or variable refers to other than by a call.
#[test]
fn keeps_items_referenced_other_than_by_calls() {
    let text = "\
.version 7.1
.target sm_75
.address_size 64
.func possible() { ret; }
.func masked() { ret; }
.func behind() { ret; }
.func in_a_list() { ret; }
.func addressed() { ret; }
.func nested() { ret; }
.func unused() { ret; }
.global .u8 bytes[2] = {0xFF(masked), 0xFF00(masked)};
.global .u64 next = behind+8;
.global .u64 table[3] = {0, generic(in_a_list), bytes};
.visible .entry k(.param .u64 k_param_0)
{
	.reg .b64 %rd<9>;
	ld.global.u64 %rd1, [table];
	ld.global.u64 %rd2, [next];
	mov.u64 %rd3, addressed+4;
	Fs: .calltargets possible;
	call %rd1, Fs;
	{ { call nested; } }
	ret;
}";
    let mut module = Module::parse(text).unwrap();
    let removed = remove_dead(&mut module, &[]);
    assert_eq!((removed.functions, removed.variables), (1, 0));
    let text = module.to_string();
    for name in [
        "possible",
        "masked",
        "behind",
        "in_a_list",
        "addressed",
        "nested",
    ] {
        assert!(
            text.contains(&format!(".func {name}(")),
            "{name} is gone:\n{text}"
        );
    }
    assert!(!text.contains("unused"), "{text}");
}
