//! Checks of the PTX and the IR that the compiler makes: for properties that results on one device
//! do not show. The sources are in `ptx/`.

use ptx::{Function, Instruction, Item, Module, Operand, Statement};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use ui_tests::toolchain::{Made, Toolchain};

fn toolchain() -> &'static Toolchain {
    static TOOLCHAIN: OnceLock<Toolchain> = OnceLock::new();
    TOOLCHAIN.get_or_init(|| Toolchain::prepare().unwrap_or_else(|error| panic!("{error:#}")))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx")
}

fn compile(source: &Path, arch: &str, opt_level: u32) -> Made {
    let made = toolchain().compile_for(source, arch, opt_level);
    made.unwrap_or_else(|error| panic!("{error:#}"))
}

fn functions<'m, 'a>(module: &'m Module<'a>) -> impl Iterator<Item = &'m Function<'a>> {
    module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    })
}

fn instructions<'m, 'a>(function: &'m Function<'a>) -> Vec<&'m Instruction<'a>> {
    fn add<'m, 'a>(statements: &'m [Statement<'a>], to: &mut Vec<&'m Instruction<'a>>) {
        for statement in statements {
            match statement {
                Statement::Instruction(instruction) => to.push(instruction),
                Statement::Block(statements) => add(statements, to),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    add(function.body.as_deref().unwrap_or_default(), &mut found);
    found
}

/// The opcode with its modifiers.
fn full_name(instruction: &Instruction) -> String {
    let mut name = instruction.opcode.to_owned();
    for modifier in &instruction.modifiers {
        name.push('.');
        name.push_str(modifier);
    }
    name
}

fn names(function: &Function) -> Vec<String> {
    instructions(function).into_iter().map(full_name).collect()
}

/// How many instructions of a function start like this.
fn count(function: &Function, start: &str) -> usize {
    let names = names(function);
    names.iter().filter(|name| name.starts_with(start)).count()
}

/// How many calls there are of functions with this in their names, or through pointers (`%`).
fn calls(function: &Function, callee: &str) -> usize {
    let called = |instruction: &&Instruction| {
        instruction.opcode == "call"
            && instruction.operands.iter().any(|operand| match operand {
                Operand::Name(name) if callee == "%" => name.starts_with('%'),
                Operand::Name(name) => name.contains(callee),
                _ => false,
            })
    };
    instructions(function)
        .into_iter()
        .filter(|i| called(i))
        .count()
}

/// What a kernel of `convergence.rs` has, and how often: in its loop, libnvvm 13.0 makes five of one,
/// four by unrolling and one for the rest. Without convergence, it makes seven or more.
const CONVERGENT: &[(&str, &str, usize)] = &[
    ("a2_inlined", "bar.sync", 5),
    ("a2_noinline", "call 7barrier", 5),
    ("a2_deep", "call 4deep", 5),
    ("a2_shuffle", "call 7shuffle", 5),
    ("a2_vote", "call 4vote", 5),
    ("a2_recursive", "call 9recursive", 5),
    ("a2_mutual", "call 4even", 5),
    ("a2_generic", "call 7generic", 5),
    ("a2_pointer", "call %", 5),
    ("a2_parameter", "call %", 5),
    ("a2_dyn", "call %", 5),
    ("a2_closure", "call %", 5),
    ("a2_inlined_shuffle", "shfl.sync", 5),
    ("a2_inlined_vote", "vote.sync", 5),
    ("a2_asm", "bar.warp.sync", 5),
    ("arms_barrier", "bar.sync", 2),
    ("arms_shuffle", "shfl.sync", 2),
    ("arms_vote", "vote.sync", 2),
    ("arms_noinline", "call 4vote", 2),
    ("sink", "vote.sync", 1),
    ("sink", "call 7shuffle", 1),
    ("thread_jump", "call 7barrier", 1),
    ("thread_jump", "bar.sync", 1),
    ("tail", "call 7barrier", 1),
    ("tail", "vote.sync", 1),
    ("rotate", "call 7barrier", 1),
    ("rotate", "vote.sync", 1),
];

#[test]
fn convergent_operations_are_not_duplicated() {
    let mut wrong = String::new();
    for arch in ["sm_75", "sm_90", "sm_100", "sm_120"] {
        for opt_level in [3, 0] {
            let made = compile(&folder().join("convergence.rs"), arch, opt_level);
            let module = Module::parse(&made.ptx).expect("it is PTX");
            for &(kernel, operation, times) in CONVERGENT {
                // The kernel's body is a function of its own where nothing is inlined.
                let body = functions(&module).filter(|function| {
                    function.name == kernel || function.name == format!("{kernel}__body")
                });
                let found: usize = body
                    .map(|function| match operation.strip_prefix("call ") {
                        Some(callee) => calls(function, callee),
                        None => count(function, operation),
                    })
                    .sum();
                // Unoptimized, nothing is unrolled, and what would be inlined stays a call.
                let expected = match (opt_level, operation.starts_with("call ")) {
                    (3, _) => times,
                    (_, true) => times.min(2) - usize::from(times == 5),
                    _ => continue,
                };
                if found != expected {
                    let _ = writeln!(
                        wrong,
                        "{arch}, opt-level {opt_level}: {kernel} has {found} times `{operation}`, not {expected}"
                    );
                }
            }
            if opt_level == 3 {
                // What reaches no convergent operation is not marked: that would cost speed.
                let marked = |name: &str| {
                    let lines = made.ir.lines().filter(|line| line.starts_with("define "));
                    let mut lines = lines.filter(|line| line.contains(name));
                    lines.next().map(|line| line.contains(" convergent"))
                };
                assert_eq!(marked("@a2_generic_none("), Some(false), "{arch}");
                assert_eq!(marked("@a2_generic("), Some(true), "{arch}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
