//! ptxas, which alone reads inline assembly, refuses it.
//@ no-snapshot
#![no_std]
#![feature(asm_experimental_arch)]

use core::arch::asm;
use cuda_std::prelude::*;

fn frobnicate(x: u32) -> u32 {
    let y: u32;
    unsafe {
        asm!("frobnicate.u32 {}, {};", out(reg32) y, in(reg32) x); //~ ERROR ptxas rejects this
    }
    y
}

#[kernel]
pub fn run(x: *mut u32) {
    let mut y = 0u32;
    unsafe {
        asm!("mov.u32 {}, %tid.x;", out(reg32) y);
        *x = frobnicate(y);
    }
}
