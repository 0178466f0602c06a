//! The kernels of the example `reduce`: each block reduces its part of the input to one value.
//!
//! A thread first combines elements in a grid-stride loop, so any number of blocks suits any
//! length.
//! The block's threads then combine their values as a tree in shared memory, with a barrier between
//! levels. A second launch with a single block reduces the blocks' results.

#![no_std]

use cuda_std::prelude::*;

/// The number of threads in a block: a power of two, because the tree halves it at each level.
pub const BLOCK: usize = 256;

/// Combines one value of each thread of the block; only the block's first thread gets the result.
///
/// # Safety
/// `shared` points to shared memory for [`BLOCK`] values, the block has as many threads, and all
/// of them call this.
unsafe fn reduce_block<T: Copy>(shared: *mut T, value: T, combine: impl Fn(T, T) -> T) -> T {
    let i = thread::thread_idx_x() as usize;
    unsafe { *shared.add(i) = value };
    thread::sync_threads();
    let mut half = BLOCK / 2;
    while half > 0 {
        if i < half {
            unsafe { *shared.add(i) = combine(*shared.add(i), *shared.add(i + half)) };
        }
        thread::sync_threads();
        half /= 2;
    }
    unsafe { *shared }
}

/// Combines the elements that are this thread's in a grid-stride loop.
fn reduce_thread<T: Copy>(input: &[T], start: T, combine: impl Fn(T, T) -> T) -> T {
    let (first, stride) = (thread::index_1d() as usize, thread::grid_size_1d() as usize);
    input
        .iter()
        .skip(first)
        .step_by(stride)
        .fold(start, |so_far, &x| combine(so_far, x))
}

/// The sum of each block's part of the input, wrapping.
///
/// # Safety
/// `sums` has an element for each block, and blocks have [`BLOCK`] threads.
#[kernel]
pub unsafe fn sum_blocks(input: &[u64], sums: *mut u64) {
    let mine = reduce_thread(input, 0, u64::wrapping_add);
    let total = unsafe { reduce_block(shared_array![u64; BLOCK], mine, u64::wrapping_add) };
    if thread::thread_idx_x() == 0 {
        unsafe { *sums.add(thread::block_idx_x() as usize) = total };
    }
}

/// The largest number in each block's part of the input.
///
/// # Safety
/// `largest` has an element for each block, and blocks have [`BLOCK`] threads.
#[kernel]
pub unsafe fn max_blocks(input: &[f32], largest: *mut f32) {
    let mine = reduce_thread(input, f32::NEG_INFINITY, f32::max);
    let total = unsafe { reduce_block(shared_array![f32; BLOCK], mine, f32::max) };
    if thread::thread_idx_x() == 0 {
        unsafe { *largest.add(thread::block_idx_x() as usize) = total };
    }
}
