//! The kernels of the example `gallery`, one module for each program, and the functions that the
//! programs also call on the CPU to compare.

#![no_std]
#![forbid(unsafe_code)]

pub mod equalize;
pub mod filter;
pub mod kmeans;
pub mod life;
pub mod nbody;
pub mod network;
pub mod options;
pub mod raytracer;
pub mod spectrogram;
pub mod wave;

use cuda_std::random::philox4x32;

/// Returns four random numbers in `0.0..1.0` for an index and a seed, the same on device and host.
#[must_use]
pub fn uniform4(index: u32, seed: u32) -> [f32; 4] {
    // 24 bits, the precision of `f32`.
    philox4x32([index, 0, 0, 0], [seed, 0]).map(|word| (word >> 8) as f32 / (1 << 24) as f32)
}
