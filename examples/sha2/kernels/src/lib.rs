//! The kernel of the example `sha2`: the crate `sha2`, as published, on the device.

#![no_std]

use cuda_std::prelude::*;
use sha2::{Digest, Sha256};

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// Hashes one input in each thread: input `i` is `bytes[ends[i - 1]..ends[i]]`.
///
/// # Safety
/// `hashes` has as many writable elements as `ends`.
#[kernel]
pub unsafe fn sha256(bytes: &[u8], ends: &[u32], hashes: *mut Hash) {
    let i = thread::index_1d() as usize;
    if i < ends.len() {
        let start = if i == 0 { 0 } else { ends[i - 1] as usize };
        let hash = Sha256::digest(&bytes[start..ends[i] as usize]);
        unsafe { *hashes.add(i) = hash.into() };
    }
}
