//! The writer.

mod common;

use nvvm_ir::*;

#[test]
fn dump() {
    for dialect in [Dialect::Llvm7, Dialect::Modern] {
        for debug in [false, true] {
            let module = common::sample(debug);
            verify(&module).unwrap_or_else(|e| panic!("{}", e[0]));
            let text = write_module(&module, dialect);
            std::fs::write(format!("/tmp/w/ir/s_{dialect:?}_{debug}.ll"), text).unwrap();
        }
    }
}
