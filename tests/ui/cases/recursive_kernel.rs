//! A kernel whose stack has no bound gets a note that names the cycle of calls.
//@ check-pass
//@ no-snapshot
#![no_std]
//~? NOTE the stack of kernels is not bounded: they may call functions that call themselves
//~? NOTE `recursive_kernel::nodes` calls `recursive_kernel::nodes`
//~? HELP bytes of stack are reserved for that

use cuda_std::prelude::*;

#[inline(never)]
fn nodes(depth: u32, x: u64) -> u64 {
    match depth {
        0 => x,
        _ => nodes(depth - 1, x ^ 5).wrapping_mul(nodes(depth - 1, x.rotate_left(7))),
    }
}

#[kernel]
pub unsafe fn recursive(i: u32, out: *mut u64) {
    unsafe { *out = nodes(i, 1) };
}
