//! The same kernels on a device and on the CPU, natively.

use cuda_std::atomic::{Atomic, Ordering};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared};
use cuda_std::thread::UniqueIndex;
use cuda_std::{PerBlock, group, warp};
use cust::error::Error;
use cust::prelude::*;
use std::cell::Cell;

/// In units of 1/1024: the device contracts floats' multiply-adds, and the CPU does not.
#[kernel]
fn mandelbrot(width: i32, side: i32, mut to: PerThread<u32>) {
    for (i, to) in to.own() {
        let (x, y) = (i as i32 % width, i as i32 / width);
        let (a, b) = (x * side - 2048, y * side - 1024);
        let (mut re, mut im) = (0, 0);
        *to = 0;
        while *to < 200 && re * re + im * im < 4 << 20 {
            (re, im) = (((re * re - im * im) >> 10) + a, ((re * im) >> 9) + b);
            *to += 1;
        }
    }
}

#[kernel]
fn sums(#[shared] mut tile: Shared<Array<u32, 128>>, from: &[u32], mut to: PerBlock<[u32; 2]>) {
    tile.own().each(|i, element| {
        *element = from[thread::block_index() as usize * 128 + i];
    });
    let mut reversed = 0;
    tile.read(|tile| reversed = tile[127 - thread::index_in_block() as usize]);
    let weighted = reversed * thread::index_in_block();
    let sum = group::block().reduce(reversed, u32::wrapping_add);
    let weighted = group::block().reduce(weighted, u32::wrapping_add);
    to.each(|_, to| *to = [sum, weighted]);
}

#[kernel]
fn histogram(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, 16>>,
    from: &[u32],
    to: &[Atomic<u32, Device>],
) {
    counts.own().each(|_, count| *count.get_mut() = 0);
    counts.read(|counts| {
        for (_, &value) in thread::elements(from) {
            counts[value as usize % 16].fetch_add(1, Ordering::Relaxed);
        }
    });
    counts.own().each(|i, count| {
        to[i].fetch_add(*count.get_mut(), Ordering::Relaxed);
    });
}

#[kernel]
fn lanes(from: &[u32], mut to: PerThread<u32>) {
    let lane = thread::lane_id();
    to.each(|i, to| {
        let mut sum = from[i];
        for distance in [1, 2, 4, 8, 16] {
            let below = warp::shuffle_up(warp::FULL, sum, distance);
            sum = sum.wrapping_add(if lane >= distance { below } else { 0 });
        }
        let same = warp::match_any(warp::FULL, from[i] % 3).count_ones();
        *to = sum ^ warp::ballot(warp::FULL, from[i] % 2 == 0) ^ same;
    });
}

#[kernel]
fn map<T: Copy + cuda_std::AnyBits + Send + Sync, const N: usize>(
    #[shared] mut tile: Shared<Array<T, N>>,
    #[grid_constant] table: &[T; 4],
    f: impl Fn(T, T) -> T + Copy,
    from: &[T],
    mut to: PerThread<T>,
) {
    tile.own()
        .each(|i, element| *element = f(from[i], table[i % 4]));
    tile.read(|tile| to.each(|i, to| *to = tile[N - 1 - i % N]));
}

#[kernel]
fn fails(from: &[u32], mut to: PerThread<u32>) {
    to.each(|i, to| {
        let name = format!("{i}");
        assert!(
            from[i] != 77 * 3,
            "no room for thread {name} ({})",
            thread::block_idx_x()
        );
        *to = from[i] + u32::from(cuda_std::is_device());
    });
}

thread_local! {
    static INDEX: Cell<Option<UniqueIndex>> = const { Cell::new(None) };
}

/// Code for the host passes an index on to the next thread.
#[kernel]
fn takes_an_index(mut to: PerThread<u32>) {
    let mut index = UniqueIndex::new();
    if !cuda_std::is_device() {
        index = INDEX.replace(Some(index)).unwrap_or(index);
    }
    if let Some(to) = to.get_mut(index) {
        *to = 1;
    }
}

/// The outputs of a launch on the device and of one on the CPU.
macro_rules! both {
    ($size:expr, $to:ident: $empty:expr, $args:expr) => {{
        let mut $to = $empty;
        cust::launch($size, $args)?;
        let on_device = $to;
        let mut $to = $empty;
        cust::launch_cpu($size, $args)?;
        assert_eq!(on_device, $to, "{}", stringify!($args));
    }};
}

fn main() -> CudaResult<()> {
    cust::init_auto()?;
    let from: Vec<u32> = (0..1280).map(|i| i * 3).collect();
    both!((3, 64), to: vec![0; 900], mandelbrot::args(30, 100, &mut to));
    both!((10, 128), to: [[0; 2]; 10], sums::args(&from, &mut to));
    both!((5, 96), to: [0; 16], histogram::args(&from, &mut to));
    both!((10, 128), to: vec![0; 1280], lanes::args(&from, &mut to));
    let factor = 3;
    both!((1, 64), to: vec![0; 64],
        map::<u32, 64, _>::args([1, 2, 3, 4], move |x, y| x * factor + y, &from, &mut to));

    let mut to = vec![0; 1280];
    let of_device = cust::launch((10, 128), fails::args(&from, &mut to)).unwrap_err();
    assert_eq!(to[5], from[5] + 1);
    let of_cpu = cust::launch_cpu((10, 128), fails::args(&from, &mut to)).unwrap_err();
    assert_eq!(to[5], from[5]);
    assert_eq!(of_device.to_string(), of_cpu.to_string());
    println!("both: {of_cpu}");

    cust::launch((1, 32), takes_an_index::args(&mut to))?;
    let error = cust::launch_cpu((1, 32), takes_an_index::args(&mut to))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("a `UniqueIndex` was used by a thread other than its own"),
        "{error}"
    );

    let buffer = DeviceBuffer::from_slice(&from)?;
    let error = cust::launch_cpu((10, 128), lanes::args(&buffer, &mut to)).unwrap_err();
    assert!(matches!(error, Error::CpuLaunch(_)), "{error}");
    println!("the CPU gave what the device gives");
    Ok(())
}
