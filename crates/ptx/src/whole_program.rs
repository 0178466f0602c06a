//! Decides how ptxas, or the driver, should compile a module: as a whole program, which is its
//! default, or its functions one at a time, to be linked (`ptxas -c`, `cuLinkAddData`).
//!
//! As a whole program, ptxas 13.0 (at `-O1` to `-O3`, sm_75 to sm_120) miscompiles functions of large
//! modules: of a register that is set to 0, and to 1 behind a branch, it keeps the 1 alone and drops
//! the branch. The same function is right if the module has fewer or smaller functions beside it,
//! and always right with `-c`. In a module of 230 functions, 10 of 87 device tests failed on an H100;
//! linked, all passed, and loading took 7 s instead of 21 s.
//!
//! Linking costs small modules registers: a kernel then gets as many as the functions that report
//! its panics need (45 instead of 32 for a vector addition), while for a whole program ptxas
//! compiles these functions for the kernel's number. So only modules with much code in functions
//! are linked; formatting and panics alone come to about 2,800 statements.

use crate::outline::statements_in_functions;

/// The number of statements in functions from which on they are compiled one at a time.
const MANY: usize = 4096;

/// Whether a module's functions should be compiled one at a time and linked.
pub fn is_to_be_linked(ptx: &str) -> bool {
    statements_in_functions(ptx) >= MANY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(directive: &str, statements: usize) -> String {
        let body = "\tadd.s32 %r1, %r1, 1;\n".repeat(statements);
        format!(
            ".version 9.0\n.target sm_75\n.address_size 64\n\
             {directive} f()\n{{\n\t.reg .b32 %r<2>;\n{body}\tret;\n}}\n"
        )
    }

    #[test]
    fn large_functions_are_linked() {
        assert!(is_to_be_linked(&module(".func", MANY)));
        assert!(is_to_be_linked(&module(
            ".visible .func (.param .b32 r)",
            MANY
        )));
        let two = module(".func", MANY / 2);
        let two = two.clone() + two.split_once("64\n").unwrap().1;
        assert!(is_to_be_linked(&two));
    }

    #[test]
    fn small_functions_and_kernels_are_a_whole_program() {
        assert!(!is_to_be_linked(&module(".func", MANY / 2)));
        assert!(!is_to_be_linked(&module(".visible .entry", MANY)));
        assert!(!is_to_be_linked("no PTX"));
        assert!(!is_to_be_linked(".func f() {"));
    }
}
