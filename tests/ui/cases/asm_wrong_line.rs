//! The line in an assembly of several.
//@ no-snapshot
#![no_std]
#![feature(asm_experimental_arch)]

use core::arch::asm;
use cuda_std::prelude::*;

#[kernel]
pub fn run(x: *mut u32) {
    let mut y: u32;
    unsafe {
        asm!(
            "mov.u32 {0}, %tid.x;",
            "add.u32 {0}, {0}, %nothing;", //~ ERROR Arguments mismatch
            //~^ ERROR Unknown symbol '%nothing'
            "add.u32 {0}, {0}, 1;",
            out(reg32) y,
        );
        *x = y;
    }
}
