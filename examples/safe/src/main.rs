//! Example `safe`: kernels without `unsafe`, timed against their unchecked versions. Both must
//! compute the same numbers as the CPU.

use cust::prelude::*;
use safe_kernels::{PRODUCT, REDUCTION, ROWS, STENCIL, TILE};
use std::cell::RefCell;
use std::error::Error;

/// The module that `build.rs` compiled from the crate `kernels`.
static KERNELS: Embedded = cust::include_module!("kernels");

const HELP: &str = "\
Runs kernels that are written without `unsafe`, and twins of them that check nothing, and compares
their results and times.

usage: example-safe [ROUNDS]

ROUNDS is how often each kernel is timed: by default 100 on a GPU and once on the emulator.";

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = pico_args::Arguments::from_env();
    if args.contains(["-h", "--help"]) {
        println!("{HELP}");
        return Ok(());
    }
    let rounds = args.opt_free_from_str()?;
    if let Some(unknown) = args.finish().first() {
        return Err(format!("unknown argument {unknown:?}\n\n{HELP}").into());
    }
    let device = cust::init_auto()?;
    println!("running on {device}");
    let gpu = device.backend() == Backend::Gpu;
    let bench = Bench {
        module: KERNELS.load()?,
        stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
        rounds: rounds.unwrap_or(if gpu { 100 } else { 1 }),
        other: match gpu {
            true => Some(RefCell::new(DeviceBuffer::zeroed(256 << 20)?)),
            false => None,
        },
    };
    println!(
        "{:<10} {:>12} {:>12} {:>8}",
        "kernel", "safe", "unchecked", "ratio"
    );
    let large = if gpu { 1 << 26 } else { 5000 };
    bench.vecadd(large)?;
    let side = if gpu { 8192 } else { 70 };
    bench.transpose(side, side / 2)?;
    bench.stencil(large)?;
    bench.reduction(large)?;
    bench.product(if gpu { 2048 } else { 40 })?;
    Ok(())
}

struct Bench {
    module: Module,
    stream: Stream,
    rounds: usize,
    /// Something else for caches to hold, where there are some.
    other: Option<RefCell<DeviceBuffer<u8>>>,
}

type Outcome = Result<(), Box<dyn Error>>;

/// Numbers that look random, and whose sums are exact.
fn numbers(n: usize) -> Vec<f32> {
    (0..n as u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61) as f32)
        .collect()
}

impl Bench {
    /// Times both in turns, sometimes the one first and sometimes the other, and takes the median of
    /// each. Before each launch all caches are filled with something else: what the last one left there
    /// would be worth more than the difference.
    fn time(
        &self,
        name: &str,
        mut safe: impl FnMut() -> CudaResult<()>,
        mut unchecked: impl FnMut() -> CudaResult<()>,
    ) -> Outcome {
        let mut times = [Vec::new(), Vec::new()];
        let mut one = |which: usize, launch: &mut dyn FnMut() -> CudaResult<()>| {
            if let Some(other) = &self.other {
                self.stream.set_zero(&mut *other.borrow_mut())?;
            }
            let start = Event::new(EventFlags::DEFAULT)?;
            let stop = Event::new(EventFlags::DEFAULT)?;
            start.record(&self.stream)?;
            launch()?;
            stop.record(&self.stream)?;
            stop.synchronize()?;
            times[which].push(stop.elapsed(&start)?);
            CudaResult::Ok(())
        };
        for round in 0..self.rounds {
            if round % 2 == 0 {
                one(0, &mut safe)?;
                one(1, &mut unchecked)?;
            } else {
                one(1, &mut unchecked)?;
                one(0, &mut safe)?;
            }
        }
        self.stream.synchronize()?;
        let [safe, unchecked] = times.map(|mut times| {
            times.sort();
            times.get(times.len() / 2).copied().unwrap_or_default()
        });
        let ratio = safe.as_secs_f64() / unchecked.as_secs_f64();
        println!("{name:<10} {safe:>12.3?} {unchecked:>12.3?} {ratio:>8.4}");
        Ok(())
    }

    /// Both results are the expected ones.
    fn check(
        &self,
        name: &str,
        [safe, unchecked]: [&DeviceBuffer<f32>; 2],
        expected: impl Fn(usize) -> f32,
    ) -> Outcome {
        let (safe, unchecked) = (safe.as_host_vec()?, unchecked.as_host_vec()?);
        // All of a large result would take the CPU long: some of it, the ends included.
        let step = (safe.len() / 100_000).max(1);
        for i in (0..safe.len()).step_by(step).chain([safe.len() - 1]) {
            let expected = expected(i);
            if safe[i] != expected || unchecked[i] != expected {
                let (safe, unchecked) = (safe[i], unchecked[i]);
                let message = format!(
                    "{name}: element {i} is {safe} and {unchecked}, but should be {expected}"
                );
                return Err(message.into());
            }
        }
        if safe != unchecked {
            return Err(format!("{name}: the two results differ").into());
        }
        Ok(())
    }

    fn vecadd(&self, n: usize) -> Outcome {
        let a = numbers(n);
        let device = a.as_dbuf()?;
        let (safe, unchecked) = (DeviceBuffer::zeroed(n)?, DeviceBuffer::zeroed(n)?);
        // Eight elements for each thread, as in the example vecadd.
        let blocks = n.div_ceil(8 * 256) as u32;
        let (module, stream) = (&self.module, &self.stream);
        // SAFETY: the kernels take slices and room for as many sums.
        let (run_safe, run_unchecked) = unsafe {
            (
                || {
                    launch!(module.vecadd<<<blocks, 256, 0, stream>>>(
                        device.as_device_ptr(), n, device.as_device_ptr(), n, output(&safe)
                    ))
                },
                || {
                    launch!(module.vecadd_unchecked<<<blocks, 256, 0, stream>>>(
                        device.as_device_ptr(), n, device.as_device_ptr(), n,
                        unchecked.as_device_ptr(), n
                    ))
                },
            )
        };
        self.time("vecadd", run_safe, run_unchecked)?;
        self.check("vecadd", [&safe, &unchecked], |i| a[i] + a[i])
    }

    fn transpose(&self, width: usize, height: usize) -> Outcome {
        let from = numbers(width * height);
        let n = from.len();
        let device = from.as_dbuf()?;
        let (safe, unchecked) = (DeviceBuffer::zeroed(n)?, DeviceBuffer::zeroed(n)?);
        let blocks = (width.div_ceil(TILE) as u32, height.div_ceil(TILE) as u32);
        let threads = (TILE as u32, ROWS as u32);
        let (module, stream) = (&self.module, &self.stream);
        // SAFETY: the kernels take a slice and a matrix of as many elements.
        let (run_safe, run_unchecked) = unsafe {
            (
                || {
                    launch!(module.transpose<<<blocks, threads, 0, stream>>>(
                        device.as_device_ptr(), n, rows(&safe, width)
                    ))
                },
                || {
                    launch!(module.transpose_unchecked<<<blocks, threads, 0, stream>>>(
                        device.as_device_ptr(), n, unchecked.as_device_ptr(), width, height
                    ))
                },
            )
        };
        self.time("transpose", run_safe, run_unchecked)?;
        self.check("transpose", [&safe, &unchecked], |i| {
            from[i % width * height + i / width]
        })
    }

    fn stencil(&self, n: usize) -> Outcome {
        let from = numbers(n);
        let device = from.as_dbuf()?;
        let (safe, unchecked) = (DeviceBuffer::zeroed(n)?, DeviceBuffer::zeroed(n)?);
        let blocks = n.div_ceil(STENCIL) as u32;
        let threads = STENCIL as u32;
        let (module, stream) = (&self.module, &self.stream);
        // SAFETY: the kernels take a slice and room for as many elements.
        let (run_safe, run_unchecked) = unsafe {
            (
                || {
                    launch!(module.stencil<<<blocks, threads, 0, stream>>>(
                        device.as_device_ptr(), n, output(&safe)
                    ))
                },
                || {
                    launch!(module.stencil_unchecked<<<blocks, threads, 0, stream>>>(
                        device.as_device_ptr(), n, unchecked.as_device_ptr()
                    ))
                },
            )
        };
        self.time("stencil", run_safe, run_unchecked)?;
        self.check("stencil", [&safe, &unchecked], |i| {
            (from[i.saturating_sub(1)] + from[i] + from[(i + 1).min(n - 1)]) / 3.0
        })
    }

    fn reduction(&self, n: usize) -> Outcome {
        /// Enough to fill a GPU; each of its threads takes many elements.
        const MOST_BLOCKS: usize = 2048;

        let from = numbers(n);
        let device = from.as_dbuf()?;
        let blocks = n.div_ceil(REDUCTION).min(MOST_BLOCKS);
        let (safe, unchecked) = (DeviceBuffer::zeroed(blocks)?, DeviceBuffer::zeroed(blocks)?);
        let (grid, threads) = (blocks as u32, REDUCTION as u32);
        let (module, stream) = (&self.module, &self.stream);
        // SAFETY: the kernels take a slice and room for a sum for each block.
        let (run_safe, run_unchecked) = unsafe {
            (
                || {
                    launch!(module.reduction<<<grid, threads, 0, stream>>>(
                        device.as_device_ptr(), n, output(&safe)
                    ))
                },
                || {
                    launch!(module.reduction_unchecked<<<grid, threads, 0, stream>>>(
                        device.as_device_ptr(), n, unchecked.as_device_ptr()
                    ))
                },
            )
        };
        self.time("reduction", run_safe, run_unchecked)?;
        self.check("reduction", [&safe, &unchecked], |block| {
            let of_block = from[block * REDUCTION..].chunks(blocks * REDUCTION);
            of_block
                .flat_map(|chunk| chunk.iter().take(REDUCTION))
                .sum()
        })
    }

    fn product(&self, side: usize) -> Outcome {
        let a = numbers(side * side);
        let b: Vec<f32> = a.iter().rev().copied().collect();
        let (device_a, device_b) = (a.as_dbuf()?, b.as_dbuf()?);
        let n = a.len();
        let (safe, unchecked) = (DeviceBuffer::zeroed(n)?, DeviceBuffer::zeroed(n)?);
        let tiles = side.div_ceil(PRODUCT) as u32;
        let threads = PRODUCT as u32;
        let (module, stream) = (&self.module, &self.stream);
        // SAFETY: the kernels take slices and a matrix of as many elements.
        let (run_safe, run_unchecked) = unsafe {
            (
                || {
                    launch!(module.product<<<(tiles, tiles), (threads, threads), 0, stream>>>(
                        device_a.as_device_ptr(), n, device_b.as_device_ptr(), n, rows(&safe, side)
                    ))
                },
                || {
                    launch!(module.product_unchecked<<<
                        (tiles, tiles), (threads, threads), 0, stream
                    >>>(
                        device_a.as_device_ptr(), n, device_b.as_device_ptr(), n,
                        unchecked.as_device_ptr(), side
                    ))
                },
            )
        };
        self.time("product", run_safe, run_unchecked)?;
        self.check("product", [&safe, &unchecked], |i| {
            (0..side)
                .map(|k| a[i / side * side + k] * b[k * side + i % side])
                .sum()
        })
    }
}

/// A buffer as a kernel's parameter that shares its elements out. (The launches here are by hand, so
/// that both twins are launched alike; `Module::launch` takes `&mut` buffers for such parameters.)
fn output(buffer: &DeviceBuffer<f32>) -> [u64; 2] {
    [buffer.as_device_ptr().as_raw(), buffer.len() as u64]
}

/// As [`output`], for a matrix.
fn rows(buffer: &DeviceBuffer<f32>, width: usize) -> [u64; 4] {
    [
        buffer.as_device_ptr().as_raw(),
        buffer.len() as u64,
        width as u64,
        buffer.len().div_ceil(width.max(1)) as u64,
    ]
}
