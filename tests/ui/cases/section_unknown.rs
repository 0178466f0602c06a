//! Sections with the prefix of the backend and an unknown name.
#![no_std]

use cuda_std::prelude::*;

#[unsafe(link_section = "nvvm.texture")]
static mut TABLE: [u32; 4] = [1, 2, 3, 4]; //~ ERROR `nvvm.texture`

fn first() -> u32 {
    unsafe { TABLE[0] }
}

#[unsafe(link_section = "nvvm.kernal")]
#[unsafe(no_mangle)]
pub fn misspelled() {} //~ ERROR `nvvm.kernal`

#[kernel]
pub fn run(x: *mut u32) {
    unsafe { *x = first() };
}
