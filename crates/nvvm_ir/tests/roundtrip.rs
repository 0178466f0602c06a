//! Writing, reading and writing again yields the same text, in both dialects.

mod common;

use nvvm_ir::*;

#[test]
fn write_read_write() {
    for dialect in [Dialect::Llvm7, Dialect::Modern] {
        for debug in [false, true] {
            let module = common::sample(debug);
            verify(&module).unwrap_or_else(|errors| panic!("{}", errors[0]));
            let text = write_module(&module, dialect);
            let again = read_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            verify(&again).unwrap_or_else(|errors| panic!("{}", errors[0]));
            assert_same(&text, &write_module(&again, dialect));
            // A module read from one dialect is written in the other.
            let other = match dialect {
                Dialect::Llvm7 => Dialect::Modern,
                Dialect::Modern => Dialect::Llvm7,
            };
            if dialect == Dialect::Modern {
                assert_same(
                    &write_module(&module, other).replace("undef", "poison"),
                    &write_module(&again, other).replace("undef", "poison"),
                );
            }
        }
    }
}

fn assert_same(a: &str, b: &str) {
    for (n, (a, b)) in a.lines().zip(b.lines()).enumerate() {
        assert_eq!(a, b, "line {}", n + 1);
    }
    assert_eq!(a.lines().count(), b.lines().count());
}
