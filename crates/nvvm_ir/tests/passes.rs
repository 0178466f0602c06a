//! The linker; the passes over one module have their tests in `tests/ir`.

mod common;

use nvvm_ir::passes::{LinkError, link};
use nvvm_ir::*;

fn read(text: &str) -> Module {
    read_module(text).unwrap_or_else(|err| panic!("{err}\n{text}"))
}

fn linked(a: &str, b: &str) -> Result<String, LinkError> {
    let mut module = read(a);
    link(&mut module, &read(b))?;
    if let Err(errors) = verify(&module) {
        panic!("{}\n{}", errors[0], write_module(&module, Dialect::Modern));
    }
    let text = write_module(&module, Dialect::Modern);
    let body = text.split_once("\n\n").map_or("", |(_, body)| body);
    Ok(body
        .split("\n\n!nvvmir")
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned())
}

fn f(linkage: &str, value: u32) -> String {
    format!("define {linkage}i32 @f() {{\nstart:\n  ret i32 {value}\n}}")
}

#[test]
fn linking_into_an_empty_module_copies() {
    for debug in [false, true] {
        let sample = common::sample(debug);
        let mut module = Module::new("empty");
        // Types and nodes get other numbers, which the text does not show.
        module.types.int(7);
        link(&mut module, &sample).unwrap();
        verify(&module).unwrap_or_else(|errors| panic!("{}", errors[0]));
        for dialect in [Dialect::Llvm7, Dialect::Modern] {
            assert_eq!(
                write_module(&module, dialect),
                write_module(&sample, dialect)
            );
        }
    }
}

#[test]
fn a_definition_replaces_a_declaration() {
    let user = "define i32 @g() {\nstart:\n  %0 = call i32 @f()\n  ret i32 %0\n}";
    let text = linked(&format!("declare i32 @f()\n{user}"), &f("", 1)).unwrap();
    assert_eq!(text, format!("{}\n\n{user}", f("", 1)));
    let text = linked(&f("", 1), &format!("declare i32 @f()\n{user}")).unwrap();
    assert_eq!(text, format!("{}\n\n{user}", f("", 1)));
    let text = linked(
        "@g = external addrspace(1) global i32, align 4\n",
        "@g = addrspace(1) global i32 3, align 8\n",
    );
    assert_eq!(text.unwrap(), "@g = addrspace(1) global i32 3, align 8");
}

#[test]
fn weak_definitions_give_way() {
    assert_eq!(linked(&f("weak ", 1), &f("", 2)).unwrap(), f("", 2));
    assert_eq!(linked(&f("", 1), &f("weak ", 2)).unwrap(), f("", 1));
    assert_eq!(
        linked(&f("linkonce_odr ", 1), &f("linkonce_odr ", 1)).unwrap(),
        f("linkonce_odr ", 1)
    );
    assert_eq!(
        linked(&f("", 1), &f("", 2)),
        Err(LinkError::Duplicate("f".into()))
    );
}

#[test]
fn internal_symbols_of_one_name_are_two() {
    let user = |name: &str| {
        format!("define i32 @{name}() {{\nstart:\n  %0 = call i32 @f()\n  ret i32 %0\n}}")
    };
    let a = format!("{}\n{}", f("internal ", 1), user("a"));
    let b = format!("{}\n{}", f("internal ", 2), user("b"));
    let text = linked(&a, &b).unwrap();
    let renamed = format!("{}\n\n{}", f("internal ", 2), user("b")).replace("@f()", "@f_1()");
    assert_eq!(
        text,
        format!("{}\n\n{}\n\n{renamed}", f("internal ", 1), user("a"))
    );
    // The visible one keeps the name.
    let text = linked(&a, &f("", 2)).unwrap();
    let renamed = format!("{}\n\n{}", f("internal ", 1), user("a")).replace("@f()", "@f_1()");
    assert_eq!(text, format!("{renamed}\n\n{}", f("", 2)));
}

#[test]
fn symbols_of_two_kinds_do_not_link() {
    let global = "@f = addrspace(1) global i32 0, align 4\n";
    assert_eq!(linked(global, &f("", 1)), Err(LinkError::Kind("f".into())));
    assert_eq!(linked(&f("", 1), global), Err(LinkError::Kind("f".into())));
    let shared = "@f = external addrspace(3) global i32, align 4\n";
    assert_eq!(
        linked(global, shared),
        Err(LinkError::AddressSpace("f".into()))
    );
}
