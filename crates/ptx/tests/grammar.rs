//! Parsing and printing: the accepted grammar, that a round trip changes nothing, and that invalid
//! input is an error with a line, never a panic.

use ptx::{Base, Init, Item, Module, Operand, Statement};

const GRAMMAR: &str = include_str!("data/grammar.ptx");
const DEBUG: &str = include_str!("data/debug.ptx");

#[test]
fn printing_is_stable() {
    for text in [GRAMMAR, DEBUG] {
        let once = Module::parse(text).expect("reads").to_string();
        let twice = Module::parse(&once)
            .expect("reads its own output")
            .to_string();
        assert_eq!(once, twice);
    }
}

/// Compares the printed text with a file, since a round trip cannot detect what the writer loses:
/// the second parse lacks it, too. `WRITE_PTX=1` updates the file after a change of the writer.
#[test]
fn the_text_is_complete() {
    let text = Module::parse(GRAMMAR).expect("reads").to_string();
    if std::env::var_os("WRITE_PTX").is_some() {
        std::fs::write("tests/data/grammar.written.ptx", &text).expect("the file is written");
    }
    let expected = include_str!("data/grammar.written.ptx");
    for (number, (found, expected)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", number + 1);
    }
    assert_eq!(text.lines().count(), expected.lines().count());
}

/// Collects the instructions of a body, including nested blocks.
fn instructions<'m, 'a>(statements: &'m [Statement<'a>], into: &mut Vec<&'m ptx::Instruction<'a>>) {
    for statement in statements {
        match statement {
            Statement::Instruction(instruction) => into.push(instruction),
            Statement::Block(inner) => instructions(inner, into),
            _ => {}
        }
    }
}

#[test]
fn instructions_are_structured() {
    let module = Module::parse(GRAMMAR).unwrap();
    let kernel = module
        .items
        .iter()
        .find_map(|item| match item {
            Item::Function(function) if function.entry => Some(function),
            _ => None,
        })
        .unwrap();
    assert_eq!(kernel.name, "k");
    assert_eq!(kernel.directives[0].values, [128, 1, 1]);
    assert_eq!(kernel.params[0].pointer.unwrap().align, Some(4));
    let mut list = Vec::new();
    instructions(kernel.body.as_ref().unwrap(), &mut list);
    let setp = list.iter().find(|i| i.opcode == "setp").unwrap();
    assert_eq!(setp.modifiers, ["lt", "and", "s32"]);
    assert!(matches!(setp.operands[0], Operand::Pair(_)));
    assert!(
        matches!(setp.operands[2], Operand::Integer(value) if value.bits as i64 == -5 && value.negative)
    );
    assert!(matches!(setp.operands[3], Operand::Not(_)));
    let load = list
        .iter()
        .find(|i| i.opcode == "ld" && i.modifiers == ["global", "u32"])
        .unwrap();
    assert!(matches!(
        load.operands[1],
        Operand::Address(Base::Name("%rd1"), -4)
    ));
    let branch = list.iter().find(|i| i.opcode == "bra").unwrap();
    assert!(branch.guard.unwrap().negated);
    let constants: Vec<u64> = list
        .iter()
        .filter(|i| i.opcode == "mov" && i.modifiers == ["u32"])
        .filter_map(|i| match &i.operands[1] {
            Operand::Integer(value) => Some(value.bits),
            _ => None,
        })
        .collect();
    assert_eq!(constants, [32, 13, -7i64 as u64, 5, !0, 15]);
}

#[test]
fn initializers_keep_masks_and_offsets() {
    let module = Module::parse(DEBUG).unwrap();
    let packed = module
        .items
        .iter()
        .find_map(|item| match item {
            Item::Variable(variable) if variable.name == "packed" => Some(variable),
            _ => None,
        })
        .unwrap();
    assert_eq!(packed.size(), Some(5));
    let Some(Init::List(values)) = &packed.init else {
        panic!("a list")
    };
    assert!(
        matches!(&values[1], Init::Symbol(s) if s.generic && s.mask == Some(0xff) && s.offset == 1)
    );
    assert!(
        matches!(&values[2], Init::Symbol(s) if !s.generic && s.mask == Some(0xff00) && s.name == "used_by_table")
    );
    // libnvvm masks plain numbers too.
    assert!(
        matches!(&values[3..], [Init::Integer(low), Init::Integer(high)] if low.bits == 1 && high.bits == 2)
    );
}

#[test]
fn errors_name_line_and_cause() {
    let cases = [
        ("", 1, "`.version`"),
        ("int main() {}", 1, "`.version`"),
        (
            ".version 8.0\n.target sm_70\n.func f() {\n add.u32 %r1 %r2; }",
            4,
            "`,` or `;`",
        ),
        (
            ".version 8.0\n.target sm_70\n.func f() {\n",
            4,
            "the file ends here",
        ),
        (
            ".version 8.0\n.target sm_70\n.global .b32 x = 1/0;",
            3,
            "division by zero",
        ),
        (
            ".version 8.0\n.target sm_70\n.global .align 3 .b32 x;",
            3,
            "not a power of two",
        ),
        (
            ".version 8.0\n.target sm_70\n.global .b32 x = 0f12;",
            3,
            "8 hexadecimal digits",
        ),
        (
            ".version 8.0\n.target sm_70\n.frobnicate;",
            3,
            "`.frobnicate`",
        ),
        (
            ".version 8.0 /* one\ntwo\n*/ .target sm_70\n.frobnicate;",
            4,
            "`.frobnicate`",
        ),
        (
            ".version 8.0\n.target sm_70\n\u{e9}",
            3,
            "unexpected character",
        ),
        (".version 8.0\n", 2, "missing `.target`"),
        (
            ".version 8.0\n.target sm_70\n.func f() {\n mov.b32 %r1, {}; }",
            4,
            "a vector cannot be empty",
        ),
    ];
    for (text, line, part) in cases {
        let error = Module::parse(text).expect_err(text);
        assert!(
            error.line == line && error.message.contains(part),
            "{text:?} gave {error}"
        );
    }
}

#[test]
fn deep_nesting_is_an_error() {
    for (open, close) in [
        ("{", "}"),
        ("mov.u32 a, (", ")"),
        ("mov.u32 a, -", ""),
        ("mov.u32 a, [", "]"),
    ] {
        let text = format!(
            ".version 8.0\n.target sm_70\n.func f() {{ {}{} }}",
            open.repeat(100_000),
            close.repeat(100_000)
        );
        Module::parse(&text).expect_err("too deep");
    }
    let text = format!(
        ".version 8.0\n.target sm_70\n.global .b32 x[] = {}",
        "{".repeat(100_000)
    );
    Module::parse(&text).expect_err("too deep");
}

/// A small pseudo-random number generator with a fixed seed, so that the test needs no dependency
/// and is reproducible.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn no_input_panics() {
    let mut random = Random(1);
    for text in [GRAMMAR, DEBUG] {
        for end in (0..text.len()).step_by(3) {
            let _ = ptx::finish(
                &text[..end],
                &[],
                ptx::Purpose::Speed(ptx::Kernels::default()),
                &ptx::stack::Options::default(),
            );
        }
        let pieces = [
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            ";",
            ",",
            "-",
            "0x",
            "0f",
            "9999999999999999999999",
            "\"",
            "/*",
            "\0",
            ".",
            "é",
            "<<",
            "?",
        ];
        for _ in 0..6000 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => drop(bytes.drain(at..(at + 1 + random.below(20)).min(bytes.len()))),
                    2 => {
                        let piece = pieces[random.below(pieces.len())];
                        bytes.splice(at..at, piece.bytes());
                    }
                    _ => {
                        let other = random.below(bytes.len());
                        bytes.swap(at, other);
                    }
                }
            }
            let _ = ptx::finish(
                &String::from_utf8_lossy(&bytes),
                &[],
                ptx::Purpose::Speed(ptx::Kernels::default()),
                &ptx::stack::Options::default(),
            );
        }
    }
}
