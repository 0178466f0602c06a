//! A stack frame of more than 16 KiB is warned about, with the function's name.
//@ check-pass
//@ no-snapshot
#![no_std]

use cuda_std::prelude::*;

#[inline(never)]
fn fill(table: &mut [u64], x: u64) {
    for (i, entry) in (0u64..).zip(table) {
        *entry = i ^ x;
    }
}

#[kernel]
pub unsafe fn large(i: u32, out: *mut u64) { //~ WARNING the stack frame of `large` has 40000 bytes
    let mut table = [0; 5000];
    fill(&mut table, i.into());
    unsafe { *out = table.iter().fold(0, |sum, x| sum ^ x) };
}

#[kernel]
pub unsafe fn small(i: u32, out: *mut u64) {
    let mut table = [0; 2000];
    fill(&mut table, i.into());
    unsafe { *out = table.iter().fold(0, |sum, x| sum ^ x) };
}
