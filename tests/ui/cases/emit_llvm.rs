//! A GPU program has no LLVM IR of rustc's.
//@ compile-flags: --emit=llvm-ir
#![no_std]
//~? ERROR `--emit=llvm-ir` is not possible for a GPU
//~? HELP --dump=DIR
