//! The writer.

mod common;

use nvvm_ir::*;

#[test]
fn dump() {
    for dialect in [Dialect::Llvm7, Dialect::Modern] {
        for debug in [false, true] {
            let text = write_module(&common::sample(debug), dialect);
            std::fs::write(format!("/tmp/w/ir/s_{dialect:?}_{debug}.ll"), text).unwrap();
        }
    }
}
