//! Kernels in the style of Rust-CUDA's guide, without the attributes that are obsolete here.

// In this style, a kernel is an unsafe function whose body is one unsafe block.
#![allow(unsafe_op_in_unsafe_fn, clippy::missing_safety_doc)]

use core::mem::MaybeUninit;
use cuda_std::prelude::*;

/// A vector sum.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn guide_vecadd(a: &[f32], b: &[f32], c: *mut f32) {
    let index = thread::index_1d() as usize;
    if index < a.len() {
        let element = &mut *c.add(index);
        *element = a[index] + b[index];
    }
}

/// Reverses a block's elements in shared memory.
#[kernel]
pub unsafe fn guide_reverse(data: *mut i32, n: usize) {
    #[address_space(shared)]
    static mut SHARED: [MaybeUninit<i32>; 64] = [const { MaybeUninit::uninit() }; 64];

    let this = thread::thread_idx_x() as usize;
    let other = n - this - 1;
    SHARED[this] = MaybeUninit::new(*data.add(this));
    thread::sync_threads();
    *data.add(this) = SHARED[other].assume_init();
}

/// A struct that is passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Options {
    /// The factor.
    pub factor: f32,
    /// The number of elements.
    pub count: u32,
    /// The summands, selected by the index's lowest bit.
    pub offsets: [f32; 2],
}

/// Takes a struct.
#[kernel]
pub unsafe fn guide_struct(options: Options, data: *mut f32) {
    let index = thread::index_1d();
    if index < options.count {
        let element = &mut *data.add(index as usize);
        *element = *element * options.factor + options.offsets[index as usize % 2];
    }
}
