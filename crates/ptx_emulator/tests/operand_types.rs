//! The types of registers that instructions accept, compared with ptxas 13.0.

use ptx_emulator::{Memory, Program};

/// Instructions with the registers that ptxas accepts for each operand: `<i32>` stands for the set
/// of types of that name.
const INSTRUCTIONS: &str = include_str!("ptx/operand_types.txt");

/// The sets of types: `i` is integers, `f` floats, `b` all, `o` untyped bits alone; `+` adds wider
/// registers.
const SETS: [(&str, &str); 22] = [
    ("pred", "pred"),
    ("i16", "b16 u16 s16"),
    ("f16", "b16 f16"),
    ("b16", "b16 u16 s16 f16"),
    ("o16", "b16"),
    ("i32", "b32 u32 s32"),
    ("f32", "b32 f32"),
    ("b32", "b32 u32 s32 f32"),
    ("o32", "b32"),
    ("i64", "b64 u64 s64"),
    ("f64", "b64 f64"),
    ("b64", "b64 u64 s64 f64"),
    ("i8+", "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64"),
    (
        "b8+",
        "b8 u8 s8 b16 u16 s16 f16 b32 u32 s32 f32 b64 u64 s64 f64",
    ),
    ("i16+", "b16 u16 s16 b32 u32 s32 b64 u64 s64"),
    ("f16+", "b16 f16 b32 b64"),
    ("b16+", "b16 u16 s16 f16 b32 u32 s32 f32 b64 u64 s64 f64"),
    ("i32+", "b32 u32 s32 b64 u64 s64"),
    ("f32+", "b32 f32 b64"),
    ("b32+", "b32 u32 s32 f32 b64 u64 s64 f64"),
    ("o32+", "b32 b64"),
    (
        "all",
        "b8 u8 s8 b16 u16 s16 f16 b32 u32 s32 f32 b64 u64 s64 f64 pred",
    ),
];

/// Returns the types of a set.
fn set(name: &str) -> Vec<&'static str> {
    let (_, types) = SETS
        .iter()
        .find(|(set, _)| *set == name)
        .unwrap_or_else(|| panic!("no set {name}"));
    types.split(' ').collect()
}

/// Returns whether the emulator loads a kernel with an instruction.
fn loads(instruction: &str) -> bool {
    let registers: String = set("all")
        .iter()
        .map(|ty| format!(".reg .{ty} %{ty}_<16>;\n"))
        .collect();
    let text = format!(
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .align 8 .b8 p[64]) {{\n\
         {registers}.reg .b64 %addr;\n{instruction};\nret;\n}}\n"
    );
    Program::load(&text, &Memory::new()).is_ok()
}

#[test]
fn registers_of_types_that_ptxas_accepts_only() {
    let mut wrong = Vec::new();
    for line in INSTRUCTIONS.lines() {
        // The text before, between and after the operands, and the operands' sets.
        let (mut texts, mut sets) = (Vec::new(), Vec::new());
        let mut rest = line;
        while let Some((text, after)) = rest.split_once('<') {
            let (name, after) = after.split_once('>').expect("the end of a set's name");
            texts.push(text);
            sets.push(set(name));
            rest = after;
        }
        let instruction = |changed: Option<(usize, &str)>| {
            let mut result = String::new();
            for (at, (text, types)) in texts.iter().zip(&sets).enumerate() {
                let ty = match changed {
                    Some((operand, ty)) if operand == at => ty,
                    _ => types[0],
                };
                result.push_str(&format!("{text}%{ty}_{at}"));
            }
            result + rest
        };
        assert!(loads(&instruction(None)), "{line}");
        for (operand, types) in sets.iter().enumerate() {
            for ty in set("all") {
                let text = instruction(Some((operand, ty)));
                if loads(&text) != types.contains(&ty) {
                    wrong.push(text);
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
