//! Kernels that run on the CPU: barriers, shared memory, warps, atomics, panics and errors.

use cuda_std::atomic::{Atomic, Ordering};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Dynamic, Shared};
use cuda_std::{PerBlock, group, warp};
use cust::error::{CpuFault, CpuLaunch, Error};
use cust::kernel::LaunchConfig;
use cust::launch_cpu;

#[kernel]
fn vecadd(a: &[f32], b: &[f32], mut c: PerThread<f32>) {
    for (i, c) in c.own() {
        *c = a[i] + b[i];
    }
}

#[test]
fn threads_have_their_elements() {
    let a: Vec<f32> = (0..100_000u32).map(|i| i as f32).collect();
    let mut c = vec![0.0; a.len()];
    for config in [(1, 1), (3, 64), (391, 256)] {
        c.fill(0.0);
        launch_cpu(config, vecadd::args(&a, &a, &mut c)).unwrap();
        assert!(a.iter().zip(&c).all(|(a, c)| a + a == *c));
    }
}

#[kernel]
fn places(mut to: PerThread<[u32; 6]>) {
    for (_, to) in to.own() {
        let (block, thread) = (thread::block_idx(), thread::thread_idx());
        *to = [block.x, block.y, block.z, thread.x, thread.y, thread.z];
    }
}

#[test]
fn three_dimensions_are_counted_as_on_a_device() {
    let mut to = vec![[0; 6]; 2 * 3 * 4 * 5 * 2 * 3];
    launch_cpu(((2, 3, 4), (5, 2, 3)), places::args(&mut to)).unwrap();
    for (i, place) in to.iter().enumerate() {
        let i = i as u32;
        let (block, thread) = (i / 30, i % 30);
        let expected = [
            block % 2,
            block / 2 % 3,
            block / 6,
            thread % 5,
            thread / 5 % 2,
            thread / 10,
        ];
        assert_eq!(*place, expected);
    }
}

#[kernel]
fn reverse(
    #[shared] mut tile: Shared<Array<u32, 64>>,
    #[shared] mut more: Shared<Dynamic<u32>>,
    from: &[u32],
    mut to: PerThread<u32>,
) {
    let base = thread::block_index() as usize * 64;
    for _ in 0..3 {
        tile.own().each(|i, element| *element = from[base + i]);
        more.own().each(|i, element| *element = i as u32);
        let (tile, numbers) = (&mut tile, &mut more);
        tile.read(|tile| {
            numbers.read(|numbers| {
                for (i, to) in to.own() {
                    *to = tile[63 - i % 64] + numbers[i % 64];
                }
            });
        });
    }
}

#[test]
fn shared_memory_is_of_the_block() {
    let from: Vec<u32> = (0..6400).map(|i| i * 7).collect();
    let mut to = vec![0; 6400];
    launch_cpu((100, 64, 256), reverse::args(&from, &mut to)).unwrap();
    for (i, to) in to.iter().enumerate() {
        assert_eq!(*to, from[i / 64 * 64 + 63 - i % 64] + (i % 64) as u32);
    }
}

#[kernel]
fn sums(from: &[f32], mut blocks: PerBlock<f32>, mut ranks: PerThread<u32>) {
    let mine = thread::elements(from).fold(0.0, |sum, (_, x)| sum + x);
    let sum = group::block().reduce(mine, |a, b| a + b);
    blocks.each(|_, to| *to = sum);
    let rank = group::block().exclusive_scan(1u32, 0, |a, b| a + b);
    let lane = warp::shuffle_xor(warp::FULL, thread::lane_id(), 5);
    let odd = warp::ballot(warp::FULL, thread::lane_id() % 2 == 1);
    ranks.each(|_, to| *to = rank * 1000 + lane + u32::from(odd == 0xAAAA_AAAA) * 500);
}

#[test]
fn blocks_and_warps_reduce_and_scan() {
    let from = vec![1.0; 10_000];
    let (mut blocks, mut ranks) = (vec![0.0; 10], vec![0; 1280]);
    launch_cpu((10, 128), sums::args(&from, &mut blocks, &mut ranks)).unwrap();
    assert_eq!(blocks.iter().sum::<f32>(), 10_000.0);
    for (i, rank) in ranks.iter().enumerate() {
        let i = i as u32 % 128;
        assert_eq!(*rank, i * 1000 + ((i % 32) ^ 5) + 500);
    }
}

#[kernel]
fn histogram(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, 256>>,
    from: &[u8],
    to: &[Atomic<u32, Device>],
) {
    counts.own().each(|_, count| *count.get_mut() = 0);
    counts.read(|counts| {
        for (_, &byte) in thread::elements(from) {
            counts[usize::from(byte)].fetch_add(1, Ordering::Relaxed);
        }
    });
    counts.own().each(|i, count| {
        to[i].fetch_add(*count.get_mut(), Ordering::Relaxed);
    });
}

#[test]
fn atomics_count_over_all_workers() {
    let from: Vec<u8> = (0..100_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
    let mut expected = [0; 256];
    for &byte in &from {
        expected[usize::from(byte)] += 1;
    }
    let mut counts = [0; 256];
    launch_cpu((50, 96), histogram::args(&from, &mut counts)).unwrap();
    assert_eq!(counts, expected);
}

/// Each thread signals the previous thread, which started earlier.
#[kernel]
fn hand_on(flag: &[Atomic<u32, Device>]) {
    let i = thread::index() as usize;
    if i + 1 < flag.len() {
        while flag[i + 1].load(Ordering::Acquire) == 0 {}
    }
    flag[i].store(1, Ordering::Release);
}

#[test]
fn threads_that_wait_in_a_loop_let_others_run() {
    let mut flags = vec![0; 64];
    launch_cpu((1, 64), hand_on::args(&mut flags)).unwrap();
    assert_eq!(flags, [1; 64]);
}

#[kernel]
fn fails(how: u32, xs: &[u32], mut ys: PerThread<u32>) {
    let i = thread::index() as usize;
    match how {
        0 => ys.each(|_, y| *y = xs[i]),
        1 if i == 70 => panic!("thread {i} gives up"),
        2 if i % 32 < 5 => thread::exit(),
        // A lane never arrives at the warp operation, because it waits elsewhere.
        3 if i == 3 => thread::sync_threads(),
        3 => warp::sync(warp::FULL),
        4 => warp::sync(0),
        5 => drop(group::cluster().rank()),
        6 => cuda_std::barrier::Barrier::<1>.sync(33),
        _ => {}
    }
    thread::sync_threads();
    ys.each(|_, y| *y += 1);
}

fn fault(how: u32) -> CpuFault {
    let mut ys = [0; 128];
    match launch_cpu((1, 64), fails::args(how, &[], &mut ys)) {
        Err(Error::CpuLaunch(error)) => {
            let CpuLaunch { kernel, reason, .. } = *error;
            assert_eq!(kernel, "fails");
            reason
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn panics_are_errors_and_the_others_go_on() {
    let mut ys = [0; 128];
    let error = launch_cpu((2, 64), fails::args(1, &[], &mut ys)).unwrap_err();
    let panic = error.panic().unwrap();
    assert_eq!(panic.message, "thread 70 gives up");
    assert_eq!((panic.block, panic.thread), ([1, 0, 0], [6, 0, 0]));
    assert_eq!(panic.kernel(), Some("fails"));
    assert!(panic.file.ends_with("cpu.rs") && panic.line > 0);
    assert_eq!(ys.iter().sum::<u32>(), 127);
    assert_eq!(ys[70], 0);
    // If several threads panic, the panic of the first thread is returned.
    let error = launch_cpu((2, 64), fails::args(0, &[1; 5], &mut ys)).unwrap_err();
    let panic = error.panic().unwrap();
    assert_eq!(
        panic.message,
        "index out of bounds: the len is 5 but the index is 5"
    );
    assert_eq!(panic.thread, [5, 0, 0]);
}

#[test]
fn exited_threads_are_not_waited_for() {
    let mut ys = [0; 128];
    launch_cpu((2, 64), fails::args(2, &[], &mut ys)).unwrap();
    assert_eq!(ys.iter().sum::<u32>(), 128 - 20);
}

#[test]
fn what_cannot_go_on_is_an_error() {
    assert_eq!(
        fault(3).to_string(),
        "deadlock in block (0, 0, 0): 33 threads wait at barrier 0, 31 lanes of warp 0 wait at \
         `bar.warp` with mask 0xffffffff, and no thread is left that could arrive"
    );
    assert!(matches!(fault(4), CpuFault::Invalid(text) if text.contains("own lane 0")));
    let CpuFault::Unsupported(what) = fault(5) else {
        panic!();
    };
    assert_eq!(what, "`cluster_ctarank`");
    assert!(matches!(fault(6), CpuFault::Invalid(text) if text.contains("33 threads")));
}

#[test]
fn sizes_are_those_of_devices() {
    let (a, mut c) = ([1.0], [0.0]);
    for config in [(0, 1), (1, 1025), (1, 0)] {
        let error = launch_cpu(config, vecadd::args(&a, &a, &mut c)).unwrap_err();
        assert!(matches!(error, Error::LaunchSize(_)), "{error}");
    }
    let config = LaunchConfig::new(1, 1).cooperative();
    let error = launch_cpu(config, vecadd::args(&a, &a, &mut c)).unwrap_err();
    assert!(
        error.to_string().contains("cooperative launches"),
        "{error}"
    );
}
