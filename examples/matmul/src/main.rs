//! Example `matmul`: an fp16 matrix product on tensor cores, compared with the CPU.

use cuda_std::half::F16;
use cust::prelude::*;
use matmul_kernels::{STEP, THREADS, TILE};
use std::error::Error;
use std::time::Instant;

/// The module that `build.rs` compiled from the crate `kernels`.
static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

const HELP: &str = "\
Multiplies matrices of halves on tensor cores and checks the product.

usage: example-matmul [SIZE]

SIZE is the matrices' side, a multiple of 128: by default 4096 on a GPU and 256 on the emulator.
It needs compute capability 8.0.";

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
    run(size.map(|size| (size, size, size)))
}

/// A small whole number by chance, of which all sums here are exact.
fn element(matrix: usize, row: usize, column: usize) -> f32 {
    let x = (row * 31 + column * 17 + matrix * 7) ^ (row * column);
    (x % 9) as f32 - 4.0
}

fn run(sides: Option<(usize, usize, usize)>) -> Result<(), Box<dyn Error>> {
    let device = cust::init_auto()?;
    println!("running on {device}");
    let on_gpu = device.backend() == Backend::Gpu;
    let (m, n, k) = sides.unwrap_or(if on_gpu {
        (4096, 4096, 4096)
    } else {
        (256, 256, 256)
    });
    if m == 0 || n == 0 || m % TILE != 0 || n % TILE != 0 || k % STEP != 0 {
        return Err(
            format!("{m}, {n} and {k} are no multiples of {TILE}, {TILE} and {STEP}").into(),
        );
    }
    let matrix = |which, rows: usize, columns: usize| -> Vec<F16> {
        (0..rows * columns)
            .map(|i| F16::from_f32(element(which, i / columns, i % columns)))
            .collect()
    };
    let module = Module::from_ptx(PTX, &[])?;
    let kernel = module.get_function("matmul")?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let a = DeviceBuffer::from_slice(&matrix(0, m, k))?;
    let b = DeviceBuffer::from_slice(&matrix(1, k, n))?;
    let c = DeviceBuffer::from_slice(&vec![f32::NAN; m * n])?;
    let (grid, block) = (((n / TILE) as u32, (m / TILE) as u32), THREADS as u32);
    // The first launch loads the code.
    let launches = if on_gpu { 11 } else { 1 };
    let mut start = Instant::now();
    for launch in 0..launches {
        if launch == 1 {
            stream.synchronize()?;
            start = Instant::now();
        }
        // SAFETY: the sides are multiples, and the buffers are as large as the kernel asks for.
        unsafe {
            launch!(kernel<<<grid, block, 0, stream>>>(
                a.as_device_ptr(),
                b.as_device_ptr(),
                c.as_device_ptr(),
                n,
                k
            ))?;
        }
    }
    stream.synchronize()?;
    let time = start.elapsed() / (launches - 1).max(1);
    let product = c.as_host_vec()?;

    // All elements of a small product, and a few thousand of a large one.
    let stride = (m * n / 5000).max(1) | 1;
    for i in (0..m * n).step_by(stride) {
        let (row, column) = (i / n, i % n);
        let expected: f32 = (0..k)
            .map(|x| element(0, row, x) * element(1, x, column))
            .sum();
        if product[i] != expected {
            let found = product[i];
            return Err(format!("{row}, {column} is {found}, but should be {expected}").into());
        }
    }
    let rate = 2.0 * (m * n * k) as f64 / time.as_secs_f64() / 1e12;
    println!("{m}×{k} by {k}×{n} took {time:.3?}, {rate:.3} TFLOP/s, and is right");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn sides_that_differ() -> Result<(), Box<dyn std::error::Error>> {
        for sides in [(128, 128, 32), (128, 256, 96), (256, 128, 64)] {
            super::run(Some(sides))?;
        }
        Ok(())
    }
}
