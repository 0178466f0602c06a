//! Registers of another architecture.
#![no_std]
#![feature(asm_experimental_arch)]

use core::arch::asm;
use cuda_std::prelude::*;

#[kernel]
pub fn run(x: *mut u64) {
    let y: u64;
    unsafe {
        asm!("mov {}, rax", out(reg) y); //~ ERROR invalid register class `reg`
        asm!("nop", out("rax") _); //~ ERROR invalid register `rax`
        *x = y;
    }
}
