//! Calls of functions that do not return end with `exit`.

use ptx::{Module, exit_after_panics};

const TEXT: &str = "\
.version 9.0
.target sm_75
.address_size 64
.extern .func __assertfail(.param .b64 text) .noreturn;
.func fail(.param .b64 message) .noreturn;
.func helper(.param .b64 p) { ret; }
.visible .entry k()
{
    .reg .pred %p<3>;
    .reg .b64 %rd<2>;
    prototype: .callprototype () _ (.param .b64 _) .noreturn;
    @%p1 bra $L1;
    {
        .param .b64 p0;
        call.uni helper, (p0);
    }
    ret;
$L1:
    {
        .param .b64 p0;
        call.uni fail, (p0);
    }
    @%p2 call %rd1, (), prototype;
}
.func fail(.param .b64 message) .noreturn
{
    {
        .param .b64 p0;
        call.uni __assertfail, (p0);
    }
    trap;
$L__func_end0:
}
";

#[test]
fn calls_that_do_not_return_are_followed_by_exit() {
    let mut module = Module::parse(TEXT).unwrap();
    assert_eq!(exit_after_panics(&mut module), 2);
    let text = module.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let after = |line: &str| {
        let at = lines.iter().position(|it| *it == line);
        lines[at.unwrap_or_else(|| panic!("`{line}` is not in\n{text}")) + 1]
    };
    assert_eq!(after("call.uni fail, (p0);"), "exit;");
    assert_eq!(after("@%p2 call %rd1, (), prototype;"), "@%p2 exit;");
    assert_eq!(after("call.uni helper, (p0);"), "}");
    // The driver's function ends the launch.
    assert_eq!(after("call.uni __assertfail, (p0);"), "}");
    let no_return: Vec<_> = lines.iter().filter(|it| it.contains(".noreturn")).collect();
    assert_eq!(no_return.len(), 1, "{text}");
    assert_eq!(exit_after_panics(&mut Module::parse(&text).unwrap()), 0);
}

#[test]
fn functions_without_ret_never_return() {
    for text in [TEXT.to_owned(), {
        let mut module = Module::parse(TEXT).unwrap();
        exit_after_panics(&mut module);
        module.to_string()
    }] {
        let module = Module::parse(&text).unwrap();
        let never: Vec<&str> = (module.items.iter())
            .filter_map(|item| match item {
                ptx::Item::Function(function) => function.never_returns().then_some(function.name),
                _ => None,
            })
            .collect();
        assert_eq!(never.last(), Some(&"fail"));
        assert!(
            !never.contains(&"helper") && !never.contains(&"k"),
            "{never:?}"
        );
    }
}
