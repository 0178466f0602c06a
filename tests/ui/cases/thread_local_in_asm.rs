//! A symbol that inline assembly cannot have.
#![no_std]
#![feature(asm_experimental_arch, thread_local)]

use core::arch::asm;
use cuda_std::prelude::*;

#[thread_local]
static mut X: u32 = 0;

fn address() {
    unsafe { asm!("// {}", sym X) }; //~ ERROR a thread-local static cannot be compiled for a GPU
}

#[kernel]
pub fn run() {
    address();
}
