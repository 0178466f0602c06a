//! Inline assembly cannot jump to Rust.
#![no_std]
#![feature(asm_experimental_arch)]

use core::arch::asm;
use cuda_std::prelude::*;

#[kernel]
pub fn run(x: *mut u32) {
    unsafe {
        asm!("bra {};", label { unsafe { *x = 1 } }); //~ ERROR an inline assembly that jumps to a label
    }
}
