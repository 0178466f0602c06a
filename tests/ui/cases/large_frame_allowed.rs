//! A stack frame of no more than the limit that was asked for is not warned about.
//@ check-pass
//@ no-snapshot
//@ compile-flags: -Cllvm-args=--frame-warning=40000
#![no_std]

use cuda_std::prelude::*;

#[inline(never)]
fn fill(table: &mut [u64], x: u64) {
    for (i, entry) in (0u64..).zip(table) {
        *entry = i ^ x;
    }
}

#[kernel]
pub unsafe fn large(i: u32, out: *mut u64) {
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
