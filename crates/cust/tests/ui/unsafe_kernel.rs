//! Kernels that are unsafe, or take raw pointers, and arguments for them in safe code.

use cuda_std::prelude::*;
use cust::prelude::*;

/// # Safety
/// `n` is even.
#[kernel]
pub unsafe fn halve(_n: u32) {}

#[kernel]
pub fn fill(_to: *mut u32) {}

fn launch(to: &DeviceBuffer<u32>) {
    let _ = halve::args(2);
    let _ = fill::args(to.as_device_ptr());
}

fn main() {}
