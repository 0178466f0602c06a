//! Example `reduce`: the sum and the maximum of many numbers, in two launches each.

use cust::memory::Zeroable;
use cust::prelude::*;
use reduce_kernels::BLOCK;
use std::error::Error;
use std::time::Instant;

/// The module that `build.rs` compiled from the crate `kernels`.
static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

const HELP: &str = "\
Computes the sum and the largest of many numbers on the device and checks the results.

usage: example-reduce [SIZE]

SIZE is how many numbers: by default 33554432 on a GPU and 100000 on the emulator.";

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = pico_args::Arguments::from_env();
    if args.contains(["-h", "--help"]) {
        println!("{HELP}");
        return Ok(());
    }
    let size = args.opt_free_from_str()?;
    if let Some(unknown) = args.finish().first() {
        return Err(format!("unknown argument {unknown:?}\n\n{HELP}").into());
    }
    run(size)
}

fn run(size: Option<usize>) -> Result<(), Box<dyn Error>> {
    let device = cust::init_auto()?;
    println!("running on {device}");
    let size = size.unwrap_or(match device.backend() {
        Backend::Gpu => 1 << 25,
        Backend::Emulator => 100_000,
    });
    let module = Module::from_ptx(PTX, &[])?;

    let integers: Vec<u64> = (0..size as u64).map(random).collect();
    let start = Instant::now();
    let sum = reduce(&module.get_function("sum_blocks")?, &integers)?;
    let time = start.elapsed();
    let expected = integers.iter().fold(0u64, |sum, x| sum.wrapping_add(*x));
    if sum != expected {
        return Err(format!("the sum is {sum}, but should be {expected}").into());
    }
    println!("the sum of {size} integers, {sum}, took {time:.3?} with the copy, and is right");

    let floats: Vec<f32> = (0..size as u64)
        .map(|i| random(i) as i32 as f32 * 1e-3)
        .collect();
    let start = Instant::now();
    let largest = reduce(&module.get_function("max_blocks")?, &floats)?;
    let time = start.elapsed();
    let expected = floats.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if largest != expected {
        return Err(format!("the largest is {largest}, but should be {expected}").into());
    }
    println!(
        "the largest of {size} floats, {largest}, took {time:.3?} with the copy, and is right"
    );
    Ok(())
}

/// Reduces the input to one value for each block, and these to one with a single block.
fn reduce<T: DeviceCopy + Zeroable>(kernel: &Function<'_>, input: &[T]) -> CudaResult<T> {
    /// Enough to fill a GPU; each of its threads takes many elements.
    const MOST_BLOCKS: usize = 512;

    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let block = BLOCK as u32;
    let grid = input.len().div_ceil(BLOCK).clamp(1, MOST_BLOCKS);
    let input = DeviceBuffer::from_slice(input)?;
    let parts = DeviceBuffer::<T>::zeroed(grid)?;
    let result = DeviceBuffer::<T>::zeroed(1)?;
    // SAFETY: each launch writes one element for each of its blocks, which have the number of
    // threads that the kernel asks for, and the buffers live until the stream is synchronized.
    unsafe {
        launch!(kernel<<<grid as u32, block, 0, stream>>>(
            input.as_device_ptr(),
            input.len(),
            parts.as_device_ptr()
        ))?;
        launch!(kernel<<<1, block, 0, stream>>>(
            parts.as_device_ptr(),
            parts.len(),
            result.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    Ok(result.as_host_vec()?[0])
}

/// A number that looks random (splitmix64).
fn random(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_around_a_block() -> Result<(), Box<dyn std::error::Error>> {
        for size in [0, 1, 255, 256, 257, 3000] {
            super::run(Some(size))?;
        }
        Ok(())
    }
}
