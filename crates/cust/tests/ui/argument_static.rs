//! On the CPU, a kernel accesses the slice in place, and could keep a reference to it.

use core::sync::atomic::AtomicU32;
use cuda_std::prelude::*;

#[kernel]
pub fn keep(_xs: &'static [u32], _counts: &'static [AtomicU32]) {}

fn main() {
    let (xs, mut counts) = (vec![1], vec![1]);
    let _ = keep::args(&xs, &mut counts);
}
