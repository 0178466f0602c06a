//! Kernels as in a kernels crate, with handwritten PTX, so that the tests do not need the compiler.

#![allow(dead_code)]

use std::sync::atomic::AtomicU32;

use cuda_std::prelude::*;
use cust::module::{Embedded, Image};
use cust::prelude::*;

/// Two numbers, of which the kernel uses the second.
#[derive(Debug, Clone, Copy, DeviceCopy)]
#[repr(C)]
pub struct Offset {
    pub unused: u32,
    pub value: f32,
}

#[kernel]
pub fn add(a: &[f32], b: &[f32], mut c: PerThread<f32>) {
    for (i, c) in c.own() {
        *c = a[i] + b[i];
    }
}

#[kernel]
pub fn affine(factor: f32, offset: Offset, from: &[f32], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = factor * from[i] + offset.value;
    }
}

#[kernel]
pub fn count(amount: u32, counter: &AtomicU32, bins: &[AtomicU32]) {
    let order = std::sync::atomic::Ordering::Relaxed;
    counter.fetch_add(amount, order);
    bins[thread::thread_idx_x() as usize].fetch_add(amount, order);
}

#[kernel]
pub fn nothing() {}

#[kernel]
pub fn limited() {}

#[kernel]
pub fn scale_first(value: &f32, mut to: PerThread<f32>) {
    if let Some((0, to)) = to.first() {
        *to *= *value;
    }
}

#[kernel]
pub fn scale_pair(values: &[f32; 2], mut to: PerThread<f32>) {
    if let Some((i @ 0..2, to)) = to.first() {
        *to *= values[i];
    }
}

/// # Safety
/// `to` must be valid for a write.
#[kernel]
pub unsafe fn poke(to: *mut u32, value: u32) {
    unsafe { to.write(value) };
}

#[kernel]
pub fn tick() {}

/// A kernel that the module does not have.
#[kernel]
pub fn missing() {}

/// A kernel that declares its block size.
pub mod sized {
    use cuda_std::prelude::*;

    #[kernel(block_size(16, 2))]
    pub fn limited() {}
}

/// A kernel whose parameters differ from those of the module's kernel.
pub mod newer {
    use cuda_std::prelude::*;

    #[kernel]
    pub fn poke(_value: u32) {}
}

/// The number of launches of `tick`, which increments it.
#[address_space(global, unsafe(name = "TICKS"))]
pub static TICKS: AtomicU32 = AtomicU32::new(5);

/// The same variable as a `static mut`.
pub mod plain {
    use cuda_std::prelude::*;

    #[address_space(global)]
    #[unsafe(export_name = "TICKS")]
    pub static mut COUNT: u32 = 5;

    /// A static whose size differs from that of the variable.
    #[address_space(global, unsafe(name = "TICKS"))]
    pub static mut WIDE: [u32; 2] = [5, 0];
}

/// A static that no kernel uses.
#[address_space(constant)]
pub static mut UNUSED: u32 = 0;

const PTX: &str = include_str!("../ptx/typed.ptx");

// SAFETY: the PTX's kernels have the parameters of the functions above, except for `newer::poke`,
// whose parameter has a different size, which is detected.
pub static KERNELS: Embedded =
    unsafe { Embedded::new(&[env!("CARGO_PKG_NAME")], &[("sm_70", Image::Ptx(PTX))]) };
