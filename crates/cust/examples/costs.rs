//! Measures the overhead of the safe API over direct driver calls: launches, launches with host
//! slices, and copies from pinned memory, alternating between the two.
//!
//! ```sh
//! CUST_DEVICE=gpu cargo run --release -p cust --example costs
//! ```
//!
//! The measurements use one stream, which needs no synchronization. The results are nanoseconds per
//! launch and gigabytes per second, the best of several rounds.

#[path = "../tests/common/typed.rs"]
mod kernels;

use std::ffi::c_void;
use std::time::Instant;

use cust::prelude::*;
use kernels::{KERNELS, add};

/// The number of launches per round: small enough that the driver's queue does not fill up.
const LAUNCHES: usize = 500;
const ROUNDS: usize = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = cust::init_auto()?;
    println!("on {device}");
    let module = KERNELS.load()?;
    let kernel = module.kernel::<add>()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let a = DeviceBuffer::from_slice(&[1.0f32; 32])?;
    let b = DeviceBuffer::from_slice(&[2.0f32; 32])?;
    let mut c = DeviceBuffer::<f32>::zeroed(32)?;
    let driver = device.context().driver()?;

    let (mut raw, mut by_macro, mut safe) = (f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let words: [u64; 4] = [
            a.as_device_ptr().as_raw(),
            32,
            b.as_device_ptr().as_raw(),
            32,
        ];
        let output = [c.as_device_ptr().as_raw(), 32];
        let mut pointers = [
            (&raw const words[0]).cast_mut().cast::<c_void>(),
            (&raw const words[1]).cast_mut().cast(),
            (&raw const words[2]).cast_mut().cast(),
            (&raw const words[3]).cast_mut().cast(),
            (&raw const output).cast_mut().cast(),
        ];
        raw = raw.min(time(&stream, || {
            // SAFETY: the parameters have the kernel's types, and the buffers live to the end.
            let result = unsafe {
                let (function, stream) = (kernel.to_raw(), stream.as_inner());
                let (list, none) = (pointers.as_mut_ptr(), std::ptr::null_mut());
                driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, list, none)
            };
            assert_eq!(result, cust::raw::CUresult::CUDA_SUCCESS);
            Ok(())
        })?);
        let function = module.get_function("add")?;
        by_macro = by_macro.min(time(&stream, || {
            // SAFETY: as above.
            unsafe {
                launch!(function<<<1, 32, 0, stream>>>(
                    a.as_device_ptr(), a.len(), b.as_device_ptr(), b.len(),
                    [c.as_device_ptr().as_raw(), 32]
                ))
            }
        })?);
        safe = safe.min(time(&stream, || {
            kernel.launch(&stream, (1, 32), add::args(&a, &b, &mut c))
        })?);
    }
    let bind = time(&stream, || {
        // SAFETY: the context is alive.
        let result = unsafe { driver.cuCtxSetCurrent(device.context().as_raw()) };
        assert_eq!(result, cust::raw::CUresult::CUDA_SUCCESS);
        Ok(())
    })?;
    println!("cuCtxSetCurrent:        {bind:8.1} ns");
    println!("launch, cuLaunchKernel: {raw:8.1} ns");
    println!(
        "launch, launch!:        {by_macro:8.1} ns ({:.3})",
        by_macro / raw
    );
    println!("launch, safe:           {safe:8.1} ns ({:.3})", safe / raw);

    println!("launch with three host slices, of which one is copied back:");
    for len in [32, 16 << 10, 1 << 20] {
        let (by_hand, slices) = host_slices(&kernel, &stream, driver, len)?;
        println!(
            "{len:8} floats: driver calls {by_hand:10.1} ns, slices {slices:10.1} ns (+{:.1})",
            slices - by_hand
        );
    }

    let bytes = match device.backend() {
        Backend::Gpu => 256 << 20,
        Backend::Emulator => 1 << 20,
    };
    let pinned = LockedBuffer::<u8>::zeroed(bytes)?;
    let mut memory = DeviceBuffer::<u8>::zeroed(bytes)?;
    let (mut raw, mut safe) = (f64::MAX, f64::MAX);
    for _ in 0..10 {
        let start = Instant::now();
        // SAFETY: both have `bytes` bytes, and live until the stream is done.
        let result = unsafe {
            let (to, from) = (memory.as_device_ptr().as_raw(), pinned.as_slice().as_ptr());
            driver.cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, stream.as_inner())
        };
        assert_eq!(result, cust::raw::CUresult::CUDA_SUCCESS);
        stream.synchronize()?;
        raw = raw.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        stream.upload(&pinned, &mut memory)?;
        stream.synchronize()?;
        safe = safe.min(start.elapsed().as_secs_f64());
    }
    let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
    println!("upload, cuMemcpyHtoDAsync: {:7.2} GB/s", rate(raw));
    println!("upload, safe:              {:7.2} GB/s", rate(safe));
    Ok(())
}

/// Returns the nanoseconds per launch with copies of slices: with driver calls that copy into
/// existing buffers, and with the slices as arguments.
fn host_slices(
    kernel: &Kernel<'_, add>,
    stream: &Stream,
    driver: &cust::raw::Driver,
    len: usize,
) -> CudaResult<(f64, f64)> {
    let (a, b, mut c) = (vec![1.0f32; len], vec![2.0f32; len], vec![0.0f32; len]);
    let (to_a, to_b) = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
    let mut to_c = DeviceBuffer::from_slice(&c)?;
    let config = LaunchConfig::for_elements(len, 256);
    let bytes = len * size_of::<f32>();
    let (mut by_hand, mut slices) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let copies = [(&to_a, &a), (&to_b, &b), (&to_c, &c)];
        for (to, from) in copies {
            let to = to.as_device_ptr().as_raw();
            // SAFETY: both have `bytes` bytes, and live until the stream is done.
            let result = unsafe {
                driver.cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), bytes, stream.as_inner())
            };
            assert_eq!(result, cust::raw::CUresult::CUDA_SUCCESS);
        }
        kernel.launch(stream, config, add::args(&to_a, &to_b, &mut to_c))?;
        // SAFETY: as above.
        let result = unsafe {
            let (to, from) = (c.as_mut_ptr().cast(), to_c.as_device_ptr().as_raw());
            driver.cuMemcpyDtoHAsync_v2(to, from, bytes, stream.as_inner())
        };
        assert_eq!(result, cust::raw::CUresult::CUDA_SUCCESS);
        stream.synchronize()?;
        by_hand = by_hand.min(start.elapsed().as_nanos() as f64);
        let start = Instant::now();
        kernel.launch(stream, config, add::args(&a, &b, &mut c))?;
        slices = slices.min(start.elapsed().as_nanos() as f64);
        assert_eq!(c[len - 1], 3.0);
    }
    Ok((by_hand, slices))
}

/// Returns the nanoseconds per launch.
fn time(stream: &Stream, mut launch: impl FnMut() -> CudaResult<()>) -> CudaResult<f64> {
    stream.synchronize()?;
    let start = Instant::now();
    for _ in 0..LAUNCHES {
        launch()?;
    }
    let elapsed = start.elapsed();
    stream.synchronize()?;
    Ok(elapsed.as_nanos() as f64 / LAUNCHES as f64)
}
