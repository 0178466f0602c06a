//! There are no thread-local statics.
#![no_std]
#![feature(thread_local)]

use core::cell::Cell;
use cuda_std::prelude::*;

#[thread_local]
static COUNT: Cell<u32> = Cell::new(0); //~ ERROR a thread-local static cannot be compiled for a GPU

fn count() -> u32 {
    COUNT.set(COUNT.get() + 1); //~ NOTE `count` uses the static `COUNT` here
    COUNT.get()
}

#[kernel]
pub fn run(x: *mut u32) {
    unsafe { *x = count() };
}
