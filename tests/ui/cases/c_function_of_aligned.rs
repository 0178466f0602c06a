//! C functions with parameters that are aligned more strictly than any register.
#![no_std]

use cuda_std::prelude::*;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Line([u8; 64]);

#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Small(u64);

#[inline(never)]
extern "C" fn small(x: Small) -> Small {
    Small(x.0 + 1)
}

fn rust(x: Line) -> Line {
    x
}

#[inline(never)]
extern "C" fn line(x: Line) -> u8 { //~ ERROR cannot pass or return `Line` by value
    x.0[0]
}

#[kernel]
pub fn run(x: *mut u64, at: *const Line) {
    unsafe { *x = small(Small(*x)).0 + u64::from(rust(*at).0[1]) + u64::from(line(*at)) };
}
