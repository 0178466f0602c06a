//! Atomic operations: the final values of cells, which do not depend on the order of threads.

use crate::{Arch, Session, expect, per_thread_argument, trial};
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};

/// The number of threads of all launches here: two blocks of 64, or one of 128 for shared memory.
const THREADS: u64 = 128;

/// Returns the trials.
pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial(Arch::Sm75, "atomics::block_integers", |session, module| {
            shared_integers(session, module, "atomic_cta_integers")
        }),
        trial(Arch::Sm75, "atomics::block_floats", |session, module| {
            shared_floats(session, module, "atomic_cta_floats")
        }),
        trial(
            Arch::Sm90,
            "atomics::cluster_integers",
            |session, module| shared_integers(session, module, "atomic_cluster_integers"),
        ),
        trial(Arch::Sm90, "atomics::cluster_floats", |session, module| {
            shared_floats(session, module, "atomic_cluster_floats")
        }),
        trial(Arch::Sm90, "atomics::wide", wide),
    ];
    for (scope, name) in [("gpu", "atomics::device"), ("sys", "atomics::system")] {
        trials.push(trial(Arch::Sm75, name, move |session, module| {
            all(session, module, scope)
        }));
    }
    trials
}

/// The type of the cells, on the host.
trait Number: DeviceCopy + PartialEq + std::fmt::Debug {
    fn start(bits: u32) -> Self;
    /// Returns the ten cells of one ordering after all threads have completed.
    fn after(cells: &[Self], threads: u64) -> Vec<Self>;
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            fn start(bits: u32) -> $ty {
                bits as $ty
            }

            fn after(cells: &[$ty], threads: u64) -> Vec<$ty> {
                let all = 0..threads;
                let mut sum: $ty = cells[7].wrapping_add(cells[8]);
                for i in all.clone() {
                    sum = sum.wrapping_add(i as $ty);
                }
                vec![
                    all.clone().fold(cells[0], |x, i| x.wrapping_add(i as $ty)),
                    all.clone().fold(cells[1], |x, i| x.wrapping_sub((i as $ty).wrapping_mul(3))),
                    all.clone().fold(cells[2], |x, i| x & !(1 << (i % 30))),
                    all.clone().fold(cells[3], |x, i| x | 1 << (i % 30)),
                    all.clone().fold(cells[4], |x, i| x ^ (i as $ty).wrapping_mul(0x1357)),
                    all.clone().fold(cells[5], |x, i| x.min((i as $ty).wrapping_sub(40))),
                    all.clone().fold(cells[6], |x, i| x.max((i as $ty).wrapping_sub(40))),
                    // The last thread's value remains.
                    0,
                    sum,
                    all.fold(cells[9], |x, i| x.wrapping_mul((i as $ty).wrapping_mul(2) | 1)),
                ]
            }
        }
    )*};
}
numbers!(u32 i32 u64 i64);

/// Returns the initial values of the cells.
fn start(k: usize) -> u32 {
    (k as u32 + 1).wrapping_mul(0x9e37_79b9) & 0x3fff_ffff
}

/// Compares fifty cells. In the eighth of each ten, one value is still in transit.
fn check<T: Number + Copy>(
    found: &[T],
    add: fn(T, T) -> T,
    zero: T,
    what: &str,
) -> Result<(), Failed> {
    let cells: Vec<T> = (0..50).map(|k| T::start(start(k))).collect();
    for (found, cells) in found.chunks(10).zip(cells.chunks(10)) {
        let mut found = found.to_vec();
        found[8] = add(found[8], found[7]);
        found[7] = zero;
        expect(found, T::after(cells, THREADS), what)?;
    }
    Ok(())
}

fn all(session: &Session, module: &Module, scope: &str) -> Result<(), Failed> {
    let stream = &session.stream;
    macro_rules! integers {
        ($ty:ty, $name:literal) => {{
            let cells: Vec<$ty> = (0..50).map(|k| start(k) as $ty).collect();
            let cells = cells.as_dbuf()?;
            let kernel = module.get_function(format!("atomic_{scope}_{}", $name))?;
            let counters = DeviceBuffer::<u32>::zeroed(4)?;
            // SAFETY: the kernel's parameters are fifty cells; that of `u32` also has four
            // counters.
            unsafe {
                if $name == "u32" {
                    launch!(kernel<<<2, 64, 0, stream>>>(
                        cells.as_device_ptr(), 50usize, counters.as_device_ptr(), 4usize
                    ))?;
                } else {
                    launch!(kernel<<<2, 64, 0, stream>>>(cells.as_device_ptr(), 50usize))?;
                }
            }
            stream.synchronize()?;
            check(&cells.as_host_vec()?, <$ty>::wrapping_add, 0, concat!("cells of ", $name))?;
            if $name == "u32" {
                let expected = counted();
                expect(counters.as_host_vec()?, expected.to_vec(), "the counters")?;
            }
        }};
    }
    integers!(u32, "u32");
    integers!(i32, "i32");
    integers!(u64, "u64");
    integers!(i64, "i64");
    macro_rules! floats {
        ($ty:ty, $name:literal) => {{
            let cells = DeviceBuffer::<$ty>::zeroed(30)?;
            let kernel = module.get_function(format!("atomic_{scope}_{}", $name))?;
            // SAFETY: the kernel's parameters are thirty cells.
            unsafe { launch!(kernel<<<2, 64, 0, stream>>>(cells.as_device_ptr(), 30usize))? };
            stream.synchronize()?;
            let cells: Vec<f64> = cells.as_host_vec()?.into_iter().map(|x| x as f64).collect();
            check_floats(&cells)?;
        }};
    }
    floats!(f32, "f32");
    floats!(f64, "f64");
    let words = DeviceBuffer::<u16>::zeroed(1)?;
    let bytes = DeviceBuffer::<u8>::zeroed(128)?;
    let half = DeviceBuffer::<u16>::zeroed(1)?;
    let halves = DeviceBuffer::<u32>::zeroed(1)?;
    let kernel = module.get_function(format!("atomic_{scope}_small"))?;
    // SAFETY: these are the kernel's parameters.
    unsafe {
        launch!(kernel<<<2, 64, 0, stream>>>(
            words.as_device_ptr(), 1usize, bytes.as_device_ptr(), 128usize,
            half.as_device_ptr(), 1usize, halves.as_device_ptr(), 1usize
        ))?;
    }
    stream.synchronize()?;
    expect(
        words.as_host_vec()?,
        vec![(0..128).sum::<u16>()],
        "the sum of 16 bits",
    )?;
    let expected: Vec<u8> = (0..128).map(|i: u8| (i ^ 0x55).wrapping_add(1)).collect();
    expect(bytes.as_host_vec()?, expected, "the bytes")?;
    // The bits of 128.0; and of 128.0 and 256.0.
    expect(half.as_host_vec()?, vec![0x5800], "the sum of halves")?;
    expect(
        halves.as_host_vec()?,
        vec![0x5c00_5800],
        "the sums of halves",
    )
}

/// Returns the counters: up from 0 to 6 cyclically, and down from 6 cyclically.
fn counted() -> [u32; 4] {
    let up = (0..THREADS).fold(0, |x, _| if x >= 6 { 0 } else { x + 1 });
    let down = (0..THREADS).fold(0, |x, _| if x == 0 { 6 } else { x - 1 });
    [up, down, 7, 1]
}

fn check_floats(found: &[f64]) -> Result<(), Failed> {
    let sum: f64 = (0..THREADS).map(|i| i as f64).sum();
    for found in found.chunks(6) {
        let found = [found[0], found[1], found[2], found[3], found[4] + found[5]];
        expect(
            found,
            [sum / 2.0, -sum, -40.0, 254.0, sum],
            "the cells of floats",
        )?;
    }
    Ok(())
}

fn shared_integers(session: &Session, module: &Module, name: &str) -> Result<(), Failed> {
    let stream = &session.stream;
    let cells: Vec<u32> = (0..50).map(start).collect();
    let cells = cells.as_dbuf()?;
    let to = DeviceBuffer::<u64>::zeroed(204)?;
    let kernel = module.get_function(name)?;
    // SAFETY: the kernel's parameters are fifty initial values and an output.
    unsafe {
        launch!(kernel<<<1, 128, 0, stream>>>(
            cells.as_device_ptr(), 50usize, per_thread_argument(&to, 204)
        ))?;
    }
    stream.synchronize()?;
    let found = to.as_host_vec()?;
    let narrow: Vec<u32> = found[..50].iter().map(|&x| x as u32).collect();
    check(&narrow, u32::wrapping_add, 0, "cells of u32")?;
    let signed: Vec<i32> = found[50..100].iter().map(|&x| x as i32).collect();
    check(&signed, i32::wrapping_add, 0, "cells of i32")?;
    check(&found[100..150], u64::wrapping_add, 0, "cells of u64")?;
    let signed: Vec<i64> = found[150..200].iter().map(|&x| x as i64).collect();
    check(&signed, i64::wrapping_add, 0, "cells of i64")?;
    expect(&found[200..], &counted().map(u64::from)[..], "the counters")
}

fn shared_floats(session: &Session, module: &Module, name: &str) -> Result<(), Failed> {
    let stream = &session.stream;
    let to = DeviceBuffer::<f64>::zeroed(60)?;
    let kernel = module.get_function(name)?;
    // SAFETY: the kernel's parameters are an output.
    unsafe { launch!(kernel<<<1, 128, 0, stream>>>(per_thread_argument(&to, 60)))? };
    stream.synchronize()?;
    check_floats(&to.as_host_vec()?)
}

fn wide(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    // Pairs of 64-bit words, aligned as allocations are.
    let cells = DeviceBuffer::<[u64; 2]>::from_slice(&[[0; 2]; 15])?;
    let half = DeviceBuffer::<u16>::zeroed(1)?;
    let halves = DeviceBuffer::<u32>::zeroed(1)?;
    // SAFETY: the kernel's parameters are fifteen 128-bit cells and the sums of halves.
    unsafe {
        launch!(module.atomic_wide<<<2, 64, 0, stream>>>(
            cells.as_device_ptr(), 15usize, half.as_device_ptr(), 1usize,
            halves.as_device_ptr(), 1usize
        ))?;
    }
    stream.synchronize()?;
    let cells: Vec<u128> = (cells.as_host_vec()?.into_iter())
        .map(|[low, high]| u128::from(low) | u128::from(high) << 64)
        .collect();
    let all = 0..u128::from(THREADS);
    let sum: u128 = all.clone().map(|i| i << 60 | 1).fold(0, u128::wrapping_add);
    let swapped: u128 = all.map(|i| i << 64 | i).sum();
    for cells in cells.chunks(3) {
        expect(
            [cells[0], cells[1] + cells[2]],
            [sum, swapped],
            "the cells of 128 bits",
        )?;
    }
    expect(half.as_host_vec()?, vec![0x4300], "the sum of bf16")?;
    expect(halves.as_host_vec()?, vec![0x4380_4300], "the sums of bf16")
}
