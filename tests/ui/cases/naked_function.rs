//! A function of assembly alone.
#![no_std]
#![feature(asm_experimental_arch)]

use cuda_std::prelude::*;

#[unsafe(naked)]
extern "C" fn bare() { //~ ERROR a naked function cannot be compiled for a GPU
    core::arch::naked_asm!("ret;")
}

#[kernel]
pub fn run() {
    bare();
}
