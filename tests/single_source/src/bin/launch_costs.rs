//! Measures launches of kernels beside host code against direct calls of the driver: with buffers of
//! the device, and with slices of the host, whose copies the direct calls make as well.
//!
//! ```sh
//! cd tests/single_source
//! CUST_DEVICE=gpu cargo cuda run --release --bin launch_costs
//! ```
//!
//! The results are the best of several rounds, which alternate between the two.

use cuda_std::prelude::*;
use cust::prelude::*;
use cust::raw::{CUresult, Driver};
use std::error::Error;
use std::ffi::c_void;
use std::time::Instant;

#[kernel]
fn add(a: &[f32], b: &[f32], mut c: PerThread<f32>) {
    for (i, c) in c.own() {
        *c = a[i] + b[i];
    }
}

/// Small enough that the driver's queue does not fill up.
const LAUNCHES: usize = 500;

fn main() -> Result<(), Box<dyn Error>> {
    let device = cust::init_auto()?;
    println!("on {device}");
    let on_gpu = device.backend() == Backend::Gpu;
    let rounds = if on_gpu { 40 } else { 2 };
    let driver = device.context().driver()?;
    let kernel = Kernel::<add>::own()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let a = DeviceBuffer::from_slice(&[1.0f32; 32])?;
    let b = DeviceBuffer::from_slice(&[2.0f32; 32])?;
    let mut c = DeviceBuffer::<f32>::zeroed(32)?;
    let [mut raw, mut of_kernel, mut of_stream, mut shared] = [f64::MAX; 4];
    for _ in 0..rounds {
        let words = [&a, &b].map(|buffer| [buffer.as_device_ptr().as_raw(), 32]);
        let output = [c.as_device_ptr().as_raw(), 32];
        let mut pointers: [*mut c_void; 5] = [
            (&raw const words[0][0]).cast_mut().cast(),
            (&raw const words[0][1]).cast_mut().cast(),
            (&raw const words[1][0]).cast_mut().cast(),
            (&raw const words[1][1]).cast_mut().cast(),
            (&raw const output).cast_mut().cast(),
        ];
        raw = raw.min(time(device.context(), || {
            // SAFETY: the parameters have the kernel's types, and the buffers live to the end.
            let result = unsafe {
                let (function, stream) = (kernel.to_raw(), stream.as_inner());
                let (list, none) = (pointers.as_mut_ptr(), std::ptr::null_mut());
                driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, list, none)
            };
            assert_eq!(result, CUresult::CUDA_SUCCESS);
            Ok(())
        })?);
        of_kernel = of_kernel.min(time(device.context(), || {
            kernel.launch(&stream, (1, 32), add::args(&a, &b, &mut c))
        })?);
        of_stream = of_stream.min(time(device.context(), || {
            stream.launch((1, 32), add::args(&a, &b, &mut c))
        })?);
        shared = shared.min(time(device.context(), || {
            cust::launch((1, 32), add::args(&a, &b, &mut c))
        })?);
        device.context().synchronize()?;
    }
    println!("buffers of the device, ns per launch:");
    println!("  cuLaunchKernel    {raw:9.1}");
    for (name, ns) in [
        ("Kernel::launch", of_kernel),
        ("Stream::launch", of_stream),
        ("cust::launch", shared),
    ] {
        println!("  {name:16} {ns:10.1} ({:.3})", ns / raw);
    }
    println!("three slices of the host, one of which is copied back, ns:");
    let (lens, rounds) = match on_gpu {
        true => (&[32, 1 << 10, 16 << 10, 256 << 10, 1 << 20][..], 100),
        false => (&[32, 1 << 10][..], 1),
    };
    for &len in lens {
        let [by_hand, slices] = with_slices(&kernel, driver, len, rounds)?;
        println!(
            "  {len:8} floats: driver calls {by_hand:10.1}, cust::launch {slices:10.1} ({:+.1})",
            slices - by_hand
        );
    }
    Ok(())
}

/// Returns the nanoseconds of a launch that copies slices: by driver calls with existing buffers,
/// and by `cust::launch`.
fn with_slices(
    kernel: &Kernel<'_, add>,
    driver: &Driver,
    len: usize,
    rounds: usize,
) -> CudaResult<[f64; 2]> {
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let (a, b, mut c) = (vec![1.0f32; len], vec![2.0f32; len], vec![0.0f32; len]);
    let (to_a, to_b) = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
    let mut to_c = DeviceBuffer::from_slice(&c)?;
    let config = LaunchConfig::for_elements(len, 256);
    let bytes = len * size_of::<f32>();
    let mut best = [f64::MAX; 2];
    for _ in 0..rounds {
        let start = Instant::now();
        for (to, from) in [(&to_a, &a), (&to_b, &b), (&to_c, &c)] {
            let to = to.as_device_ptr().as_raw();
            // SAFETY: both have `bytes` bytes, and live until the stream is done.
            let result = unsafe {
                driver.cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), bytes, stream.as_inner())
            };
            assert_eq!(result, CUresult::CUDA_SUCCESS);
        }
        kernel.launch(&stream, config, add::args(&to_a, &to_b, &mut to_c))?;
        // SAFETY: as above.
        let result = unsafe {
            let (to, from) = (c.as_mut_ptr().cast(), to_c.as_device_ptr().as_raw());
            driver.cuMemcpyDtoHAsync_v2(to, from, bytes, stream.as_inner())
        };
        assert_eq!(result, CUresult::CUDA_SUCCESS);
        stream.synchronize()?;
        best[0] = best[0].min(start.elapsed().as_nanos() as f64);
        let start = Instant::now();
        cust::launch(config, add::args(&a, &b, &mut c))?;
        best[1] = best[1].min(start.elapsed().as_nanos() as f64);
        assert_eq!(c[len - 1], 3.0);
    }
    Ok(best)
}

/// Returns the nanoseconds per launch.
fn time(context: &Context, mut launch: impl FnMut() -> CudaResult<()>) -> CudaResult<f64> {
    context.synchronize()?;
    let start = Instant::now();
    for _ in 0..LAUNCHES {
        launch()?;
    }
    let elapsed = start.elapsed();
    context.synchronize()?;
    Ok(elapsed.as_nanos() as f64 / LAUNCHES as f64)
}
