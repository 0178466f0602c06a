//! No text makes the reader panic, and no module that the verifier accepts makes the writer or a
//! pass panic.

mod common;

use nvvm_ir::*;

/// A small random number generator with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

fn try_out(text: &str) -> bool {
    let Ok(mut module) = read_module(text) else {
        return false;
    };
    if verify(&module).is_err() {
        return false;
    }
    for dialect in [Dialect::Llvm7, Dialect::Modern] {
        write_module(&module, dialect);
    }
    for pass in passes::PASSES {
        (pass.run)(&mut module);
        if let Err(errors) = verify(&module) {
            panic!("after {}: {}\n{text}", pass.name, errors[0]);
        }
    }
    write_module(&module, Dialect::Modern);
    true
}

#[test]
fn truncated_text() {
    let text = write_module(&common::sample(true), Dialect::Llvm7);
    for at in (0..text.len()).step_by(7) {
        try_out(&text[..at]);
    }
}

#[test]
fn shuffled_words() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut accepted = 0;
    for dialect in [Dialect::Llvm7, Dialect::Modern] {
        let text = write_module(&common::sample(true), dialect);
        let words: Vec<&str> = text.split_inclusive([' ', '\n', ',', '(', ')']).collect();
        for _ in 0..1500 {
            let mut mixed = words.clone();
            for _ in 0..1 + random.below(2) {
                let (at, from) = (random.below(words.len()), random.below(words.len()));
                match random.below(3) {
                    0 => drop(mixed.remove(at.min(mixed.len() - 1))),
                    1 => mixed[at.min(words.len() - 3)] = words[from],
                    _ => mixed.insert(at.min(mixed.len()), words[from]),
                }
            }
            accepted += usize::from(try_out(&mixed.concat()));
        }
    }
    assert!(
        accepted > 10,
        "the test tests nothing: {accepted} texts were accepted"
    );
}

#[test]
fn deep_nesting() {
    assert!(
        read_module(&format!(
            "@g = global {}i8{} zeroinitializer",
            "{".repeat(100_000),
            "}".repeat(100_000)
        ))
        .is_err()
    );
    assert!(read_module(&format!("@g = global i8 {}", "[i8 ".repeat(100_000))).is_err());
}
