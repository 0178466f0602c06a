//! A kernel that launches another one.

#![no_std]

use cuda_std::dynamic;
use cuda_std::prelude::*;

/// Writes the sum of numbers that are parameters of several sizes.
///
/// # Safety
/// There is room for a number of each thread.
#[kernel(device_launch)]
pub unsafe fn child(small: u8, from: &[u32], large: [u64; 3], to: *mut u64) {
    let i = thread::index_1d() as usize;
    let sum = u64::from(small) + u64::from(from[i]) + large[i % 3];
    // SAFETY: the caller's promise.
    unsafe { *to.add(i) = sum };
}

/// One thread launches as many blocks as memory says.
///
/// # Safety
/// There is room for a number for each thread of the launch that it makes.
#[kernel]
pub unsafe fn parent(blocks: &u32, from: &[u32], to: *mut u64) {
    if thread::first() {
        let shape = dynamic::Shape::new(*blocks, 32);
        let parameters = child::parameters(7, from, [1000, 2000, 3000], to);
        // SAFETY: the caller's promise.
        let launched = unsafe { dynamic::launch::<child, _>(shape, parameters) };
        assert!(launched.is_ok());
    }
}
