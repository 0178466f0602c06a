//! Six kernels, of which the test changes some. The numbers of lines stay the same.

use cuda_std::group::{self, Group};
use cuda_std::prelude::*;
use cust::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The host has no handle to it, so the kernels that use it are compiled together.
static HITS: AtomicU32 = AtomicU32::new(0);

const NAMES: [&str; 3] = ["zero", "one", "two"];

#[inline(never)]
fn shared(x: u32, names: &[&str; 3]) -> u32 {
    names[x as usize % 3].len() as u32 + x
}

#[kernel]
fn scaled(mut ys: PerThread<u32>) {
    ys.each(|i, y| *y = shared(i as u32, &NAMES) * 2);
}

#[kernel]
fn shifted(xs: &[u32], mut ys: PerThread<u32>) {
    ys.each(|i, y| *y = shared(xs[i], &NAMES) + 1);
}

#[kernel(block_size(64))]
fn total(xs: &[u32], mut ys: PerThread<u32>) {
    let x = xs.get(thread::index_1d() as usize).copied().unwrap_or(0);
    let sum = group::block().reduce(x, |a, b| a + b);
    ys.each(|_, y| *y = sum + 5);
}

#[kernel(block_size(64))]
fn largest(xs: &[u32], mut ys: PerThread<u32>) {
    let x = xs.get(thread::index_1d() as usize).copied().unwrap_or(0);
    let max = group::block().reduce(x, u32::max);
    ys.each(|_, y| *y = max);
}

#[kernel]
fn hit(mut ys: PerThread<u32>) {
    ys.each(|_, _| {
        HITS.fetch_add(1, Relaxed);
    });
}

#[kernel]
fn hits(mut ys: PerThread<u32>) {
    ys.each(|_, y| *y = HITS.load(Relaxed));
}

fn main() -> CudaResult<()> {
    let _context = cust::init_auto()?;
    let mut all = Vec::new();
    let xs: Vec<u32> = (0..4).collect();
    let mut ys = vec![0; 4];
    cust::launch((1, 4), scaled::args(&mut ys))?;
    all.append(&mut ys.clone());
    cust::launch((1, 4), shifted::args(&xs, &mut ys))?;
    all.append(&mut ys.clone());
    cust::launch((1, 64), total::args(&xs, &mut ys))?;
    all.push(ys[3]);
    cust::launch((1, 64), largest::args(&xs, &mut ys))?;
    all.push(ys[3]);
    cust::launch((1, 4), hit::args(&mut ys))?;
    cust::launch((1, 4), hits::args(&mut ys))?;
    all.push(ys[3]);
    let error = cust::launch((1, 4), shifted::args(&xs[..2], &mut ys)).unwrap_err();
    println!("{all:?} {error}");
    Ok(())
}
