//! Measures launches of kernels beside host code against direct calls of the driver: with a scalar
//! and three buffers of the device, and with slices of the host, whose copies the direct calls make
//! as well.
//!
//! ```sh
//! cd tests/single_source
//! CUST_DEVICE=gpu cargo cuda run --release --bin launch_costs
//! ```
//!
//! Each round measures all kinds of launches, one after the other, each round in another order. The
//! program prints the best and the median time of each kind, and the median of its ratios to
//! `cuLaunchKernel` in the same round.

use cuda_std::prelude::*;
use cust::prelude::*;
use cust::raw::{CUresult, Driver};
use std::error::Error;
use std::ffi::c_void;
use std::time::Instant;

#[kernel]
fn add(factor: f32, a: &[f32], b: &[f32], mut c: PerThread<f32>) {
    for (i, c) in c.own() {
        *c = factor * a[i] + b[i];
    }
}

/// Small enough that the driver's queue does not fill up.
const LAUNCHES: usize = 500;
/// The kinds of launches; the first is the one that the others are compared with.
const KINDS: [&str; 5] = [
    "cuLaunchKernel",
    "launch!",
    "Kernel::launch",
    "Stream::launch",
    "cust::launch",
];

fn main() -> Result<(), Box<dyn Error>> {
    let device = cust::init_auto()?;
    let host = match cfg!(debug_assertions) {
        true => "unoptimized host code, whose times say little",
        false => "optimized host code",
    };
    println!("on {device}, {host}");
    let on_gpu = device.backend() == Backend::Gpu;
    let driver = device.context().driver()?;
    let kernel = Kernel::<add>::own()?;
    let rounds = if on_gpu { 101 } else { 2 };
    let times = with_buffers(device.context(), &kernel, driver, rounds)?;
    println!("a scalar and three buffers of the device, ns per launch: best, median, ratio");
    for (kind, of_kind) in KINDS.iter().zip(&times) {
        let ratios = of_kind.iter().zip(&times[0]).map(|(ns, raw)| ns / raw);
        let best = of_kind.iter().copied().fold(f64::MAX, f64::min);
        println!(
            "  {kind:16} {best:10.1} {:10.1} {:6.3}",
            median(of_kind.clone()),
            median(ratios.collect())
        );
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

/// Returns the nanoseconds per launch with buffers: for each of `KINDS`, those of all rounds.
fn with_buffers(
    context: &Context,
    kernel: &Kernel<'_, add>,
    driver: &Driver,
    rounds: usize,
) -> CudaResult<[Vec<f64>; KINDS.len()]> {
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let function = (**kernel).clone();
    let a = DeviceBuffer::from_slice(&[1.0f32; 32])?;
    let b = DeviceBuffer::from_slice(&[2.0f32; 32])?;
    let mut c = DeviceBuffer::<f32>::zeroed(32)?;
    let factor = 0.5f32;
    let words = [&a, &b].map(|buffer| [buffer.as_device_ptr().as_raw(), 32]);
    let output = [c.as_device_ptr().as_raw(), 32];
    let mut pointers: [*mut c_void; 6] = [
        (&raw const factor).cast_mut().cast(),
        (&raw const words[0][0]).cast_mut().cast(),
        (&raw const words[0][1]).cast_mut().cast(),
        (&raw const words[1][0]).cast_mut().cast(),
        (&raw const words[1][1]).cast_mut().cast(),
        (&raw const output).cast_mut().cast(),
    ];
    let mut times = [const { Vec::new() }; KINDS.len()];
    for round in 0..rounds {
        for turn in 0..KINDS.len() {
            let kind = (round + turn) % KINDS.len();
            let ns = match kind {
                0 => time(context, || {
                    // SAFETY: the parameters have the kernel's types, and the buffers live to the
                    // end.
                    let result = unsafe {
                        let (function, stream) = (kernel.to_raw(), stream.as_inner());
                        let (list, none) = (pointers.as_mut_ptr(), std::ptr::null_mut());
                        driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, list, none)
                    };
                    assert_eq!(result, CUresult::CUDA_SUCCESS);
                    Ok(())
                }),
                1 => time(context, || {
                    // SAFETY: as above.
                    unsafe {
                        launch!(function<<<1, 32, 0, stream>>>(
                            factor, a.as_device_ptr(), a.len(), b.as_device_ptr(), b.len(), output
                        ))
                    }
                }),
                2 => time(context, || {
                    kernel.launch(&stream, (1, 32), add::args(factor, &a, &b, &mut c))
                }),
                3 => time(context, || {
                    stream.launch((1, 32), add::args(factor, &a, &b, &mut c))
                }),
                _ => time(context, || {
                    cust::launch((1, 32), add::args(factor, &a, &b, &mut c))
                }),
            };
            times[kind].push(ns?);
        }
    }
    assert_eq!(c.as_host_vec()?, [2.5; 32]);
    Ok(times)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
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
        kernel.launch(&stream, config, add::args(1.0, &to_a, &to_b, &mut to_c))?;
        // SAFETY: as above.
        let result = unsafe {
            let (to, from) = (c.as_mut_ptr().cast(), to_c.as_device_ptr().as_raw());
            driver.cuMemcpyDtoHAsync_v2(to, from, bytes, stream.as_inner())
        };
        assert_eq!(result, CUresult::CUDA_SUCCESS);
        stream.synchronize()?;
        best[0] = best[0].min(start.elapsed().as_nanos() as f64);
        let start = Instant::now();
        cust::launch(config, add::args(1.0, &a, &b, &mut c))?;
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
