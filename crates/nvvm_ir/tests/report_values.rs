//! `Exchange::report_values`: the panics whose values it reports, and those that it leaves alone.

use std::collections::HashMap;

use nvvm_ir::llvm::{Exchange, Formatted, Formatter, Messages};
use nvvm_ir::{read_module, verify};

const HEAD: &str = r#"
@message = internal addrspace(1) constant [17 x i8] c"\08element \C0\05 is 0\00", align 1
@two = internal addrspace(1) constant [9 x i8] c"\01a\C0\01b\C0\01c\00", align 1
@order = internal addrspace(1) constant [9 x i8] c"\C8\01\00\01-\C8\00\00\00", align 1
@four = internal addrspace(1) constant [5 x i8] c"\C0\C0\C0\C0\00", align 1
@options = internal addrspace(1) constant [8 x i8] c"\C2\04\00\C0\01x\00\00", align 1
@marked = internal addrspace(1) constant [5 x i8] c"\02$m\C0\00", align 1
@long = internal addrspace(1) constant [7 x i8] c"\80\02\00xy\C0\00", align 1
@cut = internal addrspace(1) constant [4 x i8] c"\08abc", align 1
@variable = internal addrspace(1) global [17 x i8] c"\08element \C0\05 is 0\00", align 1
@name = internal addrspace(1) constant [3 x i8] c"a\22\C3", align 1
@vtable = internal addrspace(1) constant { [24 x i8], ptr } { [24 x i8] c"\00\00\00\00\00\00\00\00\04\00\00\00\00\00\00\00\04\00\00\00\00\00\00\00", ptr @u32 }, align 8
@location = internal addrspace(1) constant [24 x i8] zeroinitializer, align 8

declare i1 @u32(ptr, ptr)
declare i1 @u64(ptr, ptr)
declare i1 @f64(ptr, ptr)
declare i1 @u128(ptr, ptr)
declare i1 @reference(ptr, ptr)
declare i1 @unit(ptr, ptr)
declare i1 @str(ptr, ptr)
declare i1 @arguments(ptr, ptr)
declare i1 @object(ptr, ptr)
declare i1 @unknown(ptr, ptr)
declare void @other(ptr)
declare void @llvm.lifetime.start.p0(i64, ptr)

define internal fastcc void @__cuda_std_panic_with_arguments(ptr %0, ptr %1, ptr %2) {
  unreachable
}

define void @__cuda_std_report_failure(i32 %0, i64 %1, i64 %2, i64 %3, ptr %4, i64 %5, ptr %6) {
  unreachable
}
"#;

fn messages() -> Messages {
    let value = |references, text: &str, bytes| Formatter {
        references,
        what: Formatted::Value {
            text: text.to_owned(),
            bytes,
        },
    };
    let what = |what| Formatter {
        references: 0,
        what,
    };
    let formatters = [
        ("u32", value(0, "$m", 4)),
        ("u64", value(0, "$y", 8)),
        ("f64", value(0, "$d", 8)),
        ("u128", value(0, "$o", 16)),
        ("reference", value(2, "$m", 4)),
        ("unit", value(0, "()", 0)),
        ("str", what(Formatted::Str)),
        ("arguments", what(Formatted::Arguments)),
        ("object", what(Formatted::Object)),
    ];
    Messages {
        kind: 6,
        mark: '$',
        formatters: (formatters.into_iter())
            .map(|(name, formatter)| (name.to_owned(), formatter))
            .collect::<HashMap<_, _>>(),
    }
}

/// Returns the function with this body before and after the pass, with the texts of messages behind it.
fn changed(head: &str, body: &str) -> (String, String) {
    let text = format!(
        "{head}\ndefine void @f(ptr %a, ptr %b, i1 %c) {{\nstart:\n{body}}}\n\n!1 = !{{}}\n"
    );
    let new = Exchange::report_values(&text, &messages()).unwrap();
    let module = read_module(&new).unwrap_or_else(|error| panic!("{error}\n{new}"));
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{new}"));
    let function = |text: &str| text[text.find("define void @f(").unwrap()..].to_owned();
    (function(&text), function(&new))
}

fn assert_kept(body: &str) {
    let (before, after) = changed(HEAD, body);
    assert_eq!(before, after);
}

/// Returns the function's new lines.
fn report(body: &str) -> String {
    let (before, after) = changed(HEAD, body);
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().filter(|line| !old.contains(line)).collect();
    new.join("\n")
}

fn global(name: &str) -> String {
    format!("addrspacecast (ptr addrspace(1) @{name} to ptr)")
}

/// Returns the stores of arguments, given by their addresses and functions, and the call.
fn call(template: &str, arguments: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (at, (address, function)) in arguments.iter().enumerate() {
        text += &format!(
            "  %i{at} = ptrtoint ptr {address} to i64
  %p{at} = getelementptr inbounds nuw i8, ptr %args, i64 {}
  %q{at} = getelementptr inbounds nuw i8, ptr %args, i64 {}
  store i64 %i{at}, ptr %p{at}, align 8
  store i64 ptrtoint (ptr @{function} to i64), ptr %q{at}, align 8\n",
            16 * at,
            16 * at + 8
        );
    }
    text + &end(template)
}

fn end(template: &str) -> String {
    format!(
        "  call fastcc void @__cuda_std_panic_with_arguments(ptr nonnull {}, ptr nonnull %args, \
         ptr noalias align 8 {})
  unreachable\n",
        global(template),
        global("location")
    )
}

const ARGS: &str = "  %args = alloca { [8 x i64] }, align 8\n";

#[test]
fn values_are_loaded_before_the_report() {
    let body = format!(
        "{ARGS}  call void @llvm.lifetime.start.p0(i64 -1, ptr %args)\n{}",
        call("message", &[("%a", "u64")])
    );
    let new = report(&body);
    let lines: Vec<&str> = new.lines().map(str::trim).collect();
    let [load, report, text] = lines[..] else {
        panic!("{new}");
    };
    assert!(load.ends_with("= load i64, ptr %a, align 8"), "{load}");
    let (value, _) = load.split_once(" = ").unwrap();
    assert_eq!(
        report,
        format!(
            "call void @__cuda_std_report_failure(i32 6, i64 {value}, i64 0, i64 0, ptr {}, i64 15, \
             ptr noalias align 8 {})",
            global("report_values_0"),
            global("location")
        )
    );
    assert!(
        text.ends_with(r#"constant [15 x i8] c"element $y is 0", align 1"#),
        "{text}"
    );
}

/// Builds with debug information have metadata and records of variables.
#[test]
fn metadata_changes_nothing() {
    let plain = report(&(ARGS.to_owned() + &call("message", &[("%a", "u64")])));
    let body = ARGS.to_owned() + &call("message", &[("%a", "u64")]);
    let body: String = (body.lines())
        .map(|line| format!("{line}, !noalias !1, !prof !1\n"))
        .collect();
    let body = body.replace("unreachable,", "unreachable ;");
    let text = format!(
        "{HEAD}\ndefine void @f(ptr %a, ptr %b, i1 %c) {{\nstart:\n{body}}}\n\n!1 = !{{}}\n"
    );
    let new = Exchange::report_values(&text, &messages()).unwrap();
    let call = new
        .lines()
        .find(|line| line.contains("@__cuda_std_report_failure(i32 6"));
    let expected = plain.lines().nth(1).unwrap();
    assert_eq!(call.unwrap(), format!("{expected}, !noalias !1, !prof !1"));
}

#[test]
fn values_share_numbers() {
    let arguments = [("%a", "u32"), ("%b", "u32")];
    let new = report(&(ARGS.to_owned() + &call("two", &arguments)));
    assert!(new.contains("shl i64") && new.contains(", 32"), "{new}");
    assert!(new.contains(r#"c"a$mb$mc""#), "{new}");
    assert!(new.contains("i64 0, i64 0, ptr"), "{new}");
    // A gap before the second one, and no place for a fifth number.
    let new = report(&(ARGS.to_owned() + &call("two", &[("%a", "u32"), ("%b", "u128")])));
    assert!(
        !new.contains("i64 0, i64 0, ptr") && !new.contains("shl"),
        "{new}"
    );
    let three = [("%a", "u64"), ("%a", "u64"), ("%b", "u64")];
    for (last, fits) in [("unit", true), ("u32", false)] {
        let four: Vec<_> = three.into_iter().chain([("%b", last)]).collect();
        let new = report(&(ARGS.to_owned() + &call("four", &four)));
        assert_eq!(!new.is_empty(), fits, "{last}: {new}");
    }
}

#[test]
fn arguments_have_an_order() {
    let new = report(&(ARGS.to_owned() + &call("order", &[("%a", "u32"), ("%b", "f64")])));
    assert!(new.contains(r#"c"$d-$m""#), "{new}");
}

#[test]
fn references_are_followed() {
    let new = report(&(ARGS.to_owned() + &call("message", &[("%a", "reference")])));
    assert_eq!(new.matches("load ptr").count(), 2, "{new}");
    assert!(new.contains("load i32"), "{new}");
}

/// Returns a local variable with two pointers or a pointer and a length.
fn pair(name: &str, first: &str, second: &str) -> String {
    format!(
        "  %{name} = alloca {{ [2 x i64] }}, align 8
  store {first}, ptr %{name}, align 8
  %{name}.1 = getelementptr inbounds nuw i8, ptr %{name}, i64 8
  store {second}, ptr %{name}.1, align 8\n"
    )
}

#[test]
fn constant_strings_are_part_of_the_text() {
    let pointer = format!("ptr {}", global("name"));
    let body =
        ARGS.to_owned() + &pair("string", &pointer, "i64 2") + &call("long", &[("%string", "str")]);
    assert!(
        report(&body).contains(r#"[4 x i8] c"xya\22""#),
        "{}",
        report(&body)
    );
    // Not UTF-8, too long, and not constant.
    for length in ["i64 3", "i64 4", "i64 %n"] {
        let body = format!(
            "  %n = load i64, ptr %a, align 8\n{ARGS}{}{}",
            pair("string", &pointer, length),
            call("long", &[("%string", "str")])
        );
        assert_kept(&body);
    }
}

#[test]
fn messages_contain_messages() {
    let inner = "  %inner = alloca { [2 x i64] }, align 8
  %j = ptrtoint ptr %b to i64
  store i64 %j, ptr %inner, align 8
  %k = getelementptr inbounds nuw i8, ptr %inner, i64 8
  store i64 ptrtoint (ptr @u32 to i64), ptr %k, align 8\n";
    let template = format!("ptr {}", global("message"));
    let body = ARGS.to_owned()
        + inner
        + &pair("message", &template, "ptr %inner")
        + &call("two", &[("%a", "u64"), ("%message", "arguments")]);
    assert!(
        report(&body).contains(r#"c"a$ybelement $m is 0c""#),
        "{}",
        report(&body)
    );
    let text = format!("ptr {}", global("name"));
    for (odd, length) in [(5, 2), (3, 1)] {
        let body = ARGS.to_owned()
            + &pair(
                "message",
                &text,
                &format!("ptr inttoptr (i64 {odd} to ptr)"),
            )
            + &call("long", &[("%message", "arguments")]);
        let new = report(&body);
        assert!(
            new.contains(&["xya", "xya\\22"][length - 1].to_owned()),
            "{new}"
        );
    }
}

#[test]
fn objects_have_known_functions() {
    let vtable = format!("ptr {}", global("vtable"));
    let object = pair("object", "ptr %a", &vtable) + &call("message", &[("%object", "object")]);
    let new = report(&(ARGS.to_owned() + &object));
    assert!(
        new.contains("load i32, ptr %a") && new.contains("element $m"),
        "{new}"
    );
    let object = pair("object", "ptr %a", "ptr %b") + &call("message", &[("%object", "object")]);
    assert_kept(&(ARGS.to_owned() + &object));
}

#[test]
fn other_messages_are_kept() {
    for (template, function) in [
        ("message", "unknown"),
        ("options", "u32"),
        ("marked", "u32"),
        ("cut", "u32"),
        ("variable", "u32"),
        // An argument that the array does not have.
        ("two", "u32"),
    ] {
        assert_kept(&(ARGS.to_owned() + &call(template, &[("%a", function)])));
    }
}

/// The arguments may be others than those that the function stores.
#[test]
fn variables_that_others_see_are_kept() {
    let seen = [
        "  call void @other(ptr %args)\n",
        "  store ptr %args, ptr %a, align 8\n",
        "  %seen = ptrtoint ptr %args to i64\n  store i64 %seen, ptr %a, align 8\n",
        "  %seen = ptrtoint ptr %args to i64\n  %sum = add i64 %seen, 8\n",
        "  %seen = load i64, ptr %args, align 8\n",
        "  %seen = getelementptr inbounds nuw i8, ptr %args, i64 8\n  call void @other(ptr %seen)\n",
        "  %seen = select i1 %c, ptr %args, ptr %a\n  store i64 0, ptr %seen, align 8\n",
        "  store volatile i64 0, ptr %args, align 8\n",
    ];
    for seen in seen {
        let stores = call("message", &[("%a", "u64")]);
        let (stores, end) = stores.split_at(stores.find("  call fastcc").unwrap());
        assert_kept(&format!("{ARGS}{stores}{seen}{end}"));
        if !seen.contains("volatile") {
            assert_kept(&format!("{ARGS}{seen}{stores}{end}"));
        }
    }
}

#[test]
fn arguments_are_the_last_ones_stored() {
    let stores = call("message", &[("%a", "u64")]);
    let (stores, end) = stores.split_at(stores.find("  call fastcc").unwrap());
    // A part of the address, another address, and another function.
    let part =
        "  %h = getelementptr inbounds nuw i8, ptr %args, i64 4\n  store i32 0, ptr %h, align 4\n";
    assert_kept(&format!("{ARGS}{stores}{part}{end}"));
    let other = "  store ptr %b, ptr %args, align 8\n";
    let new = report(&format!("{ARGS}{stores}{other}{end}"));
    assert!(new.contains("load i64, ptr %b"), "{new}");
    let unknown = "  store i64 ptrtoint (ptr @unknown to i64), ptr %q0, align 8\n";
    assert_kept(&format!("{ARGS}{stores}{unknown}{end}"));
    // On one of two ways.
    let branch = format!("  br i1 %c, label %x, label %y\nx:\n{other}  br label %y\ny:\n{end}");
    assert_kept(&format!("{ARGS}{stores}{branch}"));
    let branch = format!("  br i1 %c, label %x, label %y\nx:\n{other}{end}y:\n  ret void\n");
    let new = report(&format!("{ARGS}{stores}{branch}"));
    assert!(new.contains("load i64, ptr %b"), "{new}");
    // A loop without another block.
    let turn = format!("  br label %x\nx:\n  br i1 %c, label %x, label %y\ny:\n{end}");
    assert_kept(&format!("{ARGS}{stores}{turn}"));
}

#[test]
fn modules_without_reports_are_kept() {
    let body = ARGS.to_owned() + &call("message", &[("%a", "u64")]);
    for head in [
        HEAD.replace(
            "define void @__cuda_std_report_failure(i32",
            "define void @other_failure(i32",
        ),
        HEAD.replace("ptr %4, i64 %5, ptr %6)", "ptr %4, i64 %5)"),
    ] {
        let (before, after) = changed(&head, &body);
        assert_eq!(before, after);
    }
}
