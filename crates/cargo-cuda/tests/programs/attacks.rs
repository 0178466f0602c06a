//! Attacks on launches in safe code, of which each ends in a typed error, a panic, or the right
//! result.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;
use cust::prelude::*;
use std::any::TypeId;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[kernel]
fn add(by: &[u32], mut to: PerThread<u32>) {
    for (i, to) in to.own() {
        *to += by[i];
    }
}

/// Without an output, so that the host can call it.
#[kernel]
fn count(counter: &AtomicU32) {
    counter.fetch_add(1 + thread::index_1d(), Relaxed);
}

#[kernel]
fn map<T: Copy>(f: impl Fn(T) -> T + Copy, mut to: PerThread<T>) {
    to.each(|_, to| *to = f(*to));
}

/// A static of both sides: each side has its own.
static SHARED: AtomicU32 = AtomicU32::new(5);

#[kernel]
fn shared(mut to: PerThread<u32>) {
    to.each(|_, to| *to = SHARED.fetch_add(1, Relaxed));
}

/// Whether the types are the same, and their hash, which is the host's.
#[kernel]
fn types<T: 'static + Copy>(_value: T, mut to: PerThread<bool>) {
    let of = |i| match i {
        0 => TypeId::of::<T>(),
        1 => TypeId::of::<u32>(),
        _ => TypeId::of::<fn(&T)>(),
    };
    to.each(|i, to| *to = of(i) == TypeId::of::<u32>());
}

/// Launches a kernel on the CPU from one that runs there.
#[kernel]
fn nested(mut to: PerThread<u32>) {
    to.each(|i, to| {
        *to = i as u32;
        if !cuda_std::is_device() {
            let mut inner = [1u32; 40];
            cust::launch_cpu((2, 32), add::args(&[i as u32; 40], &mut inner)).unwrap();
            *to = inner.iter().sum();
        }
    });
    thread::sync_threads();
}

/// Uses the device's functions on a thread that is not the kernel's.
#[kernel]
fn other_thread(mut to: PerThread<u32>) {
    to.each(|_, to| {
        if !cuda_std::is_device() {
            let index = std::thread::scope(|scope| scope.spawn(thread::index_1d).join());
            *to = u32::from(index.is_err());
        }
    });
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _device = cust::init_auto()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    // Arguments that are forgotten, and exchanged with others.
    let (mut a, mut b) = ([0u32; 4], [0u32; 4]);
    mem::forget(add::args(&[9; 4], &mut a));
    let mut to_a = add::args(&[1; 4], &mut a);
    let mut to_b = add::args(&[2; 4], &mut b);
    mem::swap(&mut to_a, &mut to_b);
    stream.launch((1, 32), to_a)?;
    drop(to_b);
    assert_eq!((a, b), ([0; 4], [2; 4]));

    // Buffers whose launch is not waited for, and another thread that drops them.
    for _ in 0..10 {
        let by = [3u32; 64].as_dbuf()?;
        let mut to = [1u32; 64].as_dbuf()?;
        stream.launch((1, 64), add::args(&by, &mut to))?;
        std::thread::spawn(move || drop(by));
        drop(to);
    }
    stream.synchronize()?;

    // Kernels as functions of the host: those of a thread need a launch.
    let counter = AtomicU32::new(0);
    let called = catch_unwind(AssertUnwindSafe(|| count(&counter)));
    assert!(called.is_err() && counter.into_inner() == 0);

    // Statics.
    SHARED.store(100, Relaxed);
    let mut seen = [0u32; 3];
    cust::launch((1, 1), shared::args(&mut seen))?;
    seen.sort();
    assert_eq!((seen, SHARED.load(Relaxed)), ([5, 6, 7], 100));
    cust::launch_cpu((1, 1), shared::args(&mut seen))?;
    assert_eq!((seen, SHARED.load(Relaxed)), ([100, 101, 102], 103));

    // Types.
    let mut same = [false; 3];
    cust::launch((1, 32), types::args(1u32, &mut same))?;
    assert_eq!(same, [true, true, false]);
    cust::launch((1, 32), types::args(1i32, &mut same))?;
    assert_eq!(same, [false, true, false]);

    // Closures with captured addresses can pass them on, but not dereference them in safe code.
    let address = &raw const SHARED as usize;
    let mut to = [0usize; 2];
    cust::launch((1, 32), map::args(move |x| x + address, &mut to))?;
    assert_eq!(to, [address; 2]);

    // Launches inside launches.
    let mut to = [0u32; 3];
    cust::launch_cpu((1, 32), nested::args(&mut to))?;
    assert_eq!(to, [40, 80, 120]);
    cust::launch_cpu((1, 32), other_thread::args(&mut to))?;
    assert_eq!(to, [1; 3]);
    println!("the attacks failed");
    Ok(())
}
