//! Shared memory, partitions of output, groups and panics.

#![forbid(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use cust::error::Error;
use cust::kernel::LaunchConfig;
use cust::prelude::*;
use soundness_tests::KERNELS;
use soundness_tests_kernels::groups;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The device. Tests hold it one at a time, because a wait for several streams also returns panics
/// of other tests' kernels.
type Turn = (MutexGuard<'static, ()>, cust::ChosenDevice);

fn start() -> Result<(Turn, Module, Stream), Box<dyn std::error::Error>> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let device = cust::init_auto()?;
    let module = KERNELS.load()?;
    Ok((
        (turn, device),
        module,
        Stream::new(StreamFlags::NON_BLOCKING, None)?,
    ))
}

/// Returns the message of the panic that a wait reports.
fn panic_of(result: CudaResult<()>) -> String {
    match result {
        Err(Error::KernelPanic(panic)) => panic.message.clone(),
        other => panic!("no panic but {other:?}"),
    }
}

#[test]
fn what_an_entry_assumes_of_its_blocks_is_not_assumed_in_calls() -> Outcome {
    let (_device, module, stream) = start()?;
    let mut to = DeviceBuffer::from_slice(&[7u32; 64])?;
    let kernel = module.kernel::<groups::calls_narrow>()?;
    kernel.launch(&stream, (1, 64), groups::calls_narrow::args(&mut to))?;
    let message = panic_of(stream.synchronize());
    assert!(
        message.contains("the len is 32 but the index is"),
        "{message}"
    );
    let kernel = module.kernel::<groups::narrow>()?;
    kernel.launch(&stream, (2, 32), groups::narrow::args(&mut to))?;
    stream.synchronize()?;
    let expected: Vec<u32> = (0..64).map(|i| (i % 32) * (i % 32)).collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn handles_of_shared_memory_are_passed_on_and_swapped() -> Outcome {
    let (_device, module, stream) = start()?;
    let mut to = DeviceBuffer::from_slice(&[7u32; 64])?;
    let kernel = module.kernel::<groups::recursive>()?;
    kernel.launch(&stream, (1, 64), groups::recursive::args(3, &mut to))?;
    stream.synchronize()?;
    assert_eq!(to.as_host_vec()?, [2016; 64]);
    let kernel = module.kernel::<groups::swapped>()?;
    kernel.launch(&stream, (1, 64), groups::swapped::args(&mut to))?;
    stream.synchronize()?;
    let expected: Vec<u32> = (0..64).map(|i| if i % 2 == 0 { 2 } else { 1 }).collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn no_element_is_visited_twice_for_any_width() -> Outcome {
    let (_device, module, stream) = start()?;
    let shape = ((2, 2), (4, 4));
    for width in [1, 3, 11, 1 << 31, 1 << 32, 1 << 62, 1 << 63, usize::MAX] {
        let mut to = DeviceBuffer::from_slice(&[0u32; 11])?;
        let kernel = module.kernel::<groups::visit_tiles>()?;
        kernel.launch(
            &stream,
            shape,
            groups::visit_tiles::args(to.rows_mut(width)),
        )?;
        stream.synchronize()?;
        assert_eq!(to.as_host_vec()?, [0x101; 11], "tiles of width {width}");
        let mut to = DeviceBuffer::from_slice(&[0u32; 11])?;
        let kernel = module.kernel::<groups::visit_2d>()?;
        kernel.launch(&stream, shape, groups::visit_2d::args(to.rows_mut(width)))?;
        stream.synchronize()?;
        assert_eq!(to.as_host_vec()?, [0x101; 11], "rows of width {width}");
        for height in [1, 2, 1 << 33, 1 << 63, usize::MAX] {
            let mut to = DeviceBuffer::from_slice(&[0u32; 11])?;
            let kernel = module.kernel::<groups::visit_3d>()?;
            let arguments = groups::visit_3d::args(to.volume_mut(width, height));
            kernel.launch(&stream, ((2, 2, 1), (4, 2, 2)), arguments)?;
            stream.synchronize()?;
            assert_eq!(to.as_host_vec()?, [0x101; 11], "volume {width} by {height}");
        }
    }
    for len in [0, 1, 3, 4, 5, 127, 128, 129] {
        let mut to = DeviceBuffer::from_slice(&vec![0u32; len])?;
        let kernel = module.kernel::<groups::visit_chunks>()?;
        kernel.launch(&stream, (2, 8), groups::visit_chunks::args(&mut to))?;
        stream.synchronize()?;
        assert_eq!(to.as_host_vec()?, vec![1; len], "chunks of {len}");
    }
    Ok(())
}

fn join(a: [u16; 4], b: [u16; 4]) -> [u16; 4] {
    [a[0], b[1], a[2] + b[2], a[3].max(b[3])]
}

#[test]
fn reductions_are_of_the_threads_that_are_left() -> Outcome {
    let (_device, module, stream) = start()?;
    let kernel = module.kernel::<groups::reduce>()?;
    let gone: [[u32; 4]; 7] = [
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [u32::MAX, 0, 0, 0],
        [0x5555_5555, 0xaaaa_aaaa, 0xffff_0000, 0x0000_ffff],
        [0x7fff_ffff, u32::MAX, 0x8000_0000, 0x1248_1248],
        [0, u32::MAX, u32::MAX, 0],
        [u32::MAX, u32::MAX, u32::MAX, 0x3fff_ffff],
    ];
    for threads in [128u32, 100, 33, 32, 20] {
        for gone in &gone {
            let exit = DeviceBuffer::from_slice(gone)?;
            let mut to = DeviceBuffer::from_slice(&vec![[[9u16; 4]; 6]; threads as usize])?;
            kernel.launch(&stream, (1, threads), groups::reduce::args(&exit, &mut to))?;
            stream.synchronize()?;
            let left: Vec<u16> = (0..threads as u16)
                .filter(|&t| gone[usize::from(t) / 32] >> (t % 32) & 1 == 0)
                .collect();
            let of =
                |threads: &mut dyn Iterator<Item = u16>| threads.map(|t| [t, t, 1, t]).reduce(join);
            let start = [1000, 1000, 0, 0];
            let after = |before: Option<[u16; 4]>| before.map_or(start, |x| join(start, x));
            let found = to.as_host_vec()?;
            for &t in &left {
                let mut all = left.iter().copied();
                let mut up_to = left.iter().copied().filter(|&x| x <= t);
                let mut before = left.iter().copied().filter(|&x| x < t);
                let mut warp = left.iter().copied().filter(|&x| x / 32 == t / 32);
                let mut tile = left.iter().copied().filter(|&x| x < t && x / 8 == t / 8);
                let mut lanes = (left.iter().copied()).filter(|&x| x <= t && x / 32 == t / 32);
                let expected = [
                    of(&mut all).unwrap(),
                    of(&mut up_to).unwrap(),
                    after(of(&mut before)),
                    of(&mut warp).unwrap(),
                    after(of(&mut tile)),
                    of(&mut lanes).unwrap(),
                ];
                assert_eq!(
                    found[usize::from(t)],
                    expected,
                    "thread {t} of {threads}, without {gone:x?}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn threads_that_return_in_two_ways_are_not_reduced() -> Outcome {
    let (_device, module, stream) = start()?;
    let kernel = module.kernel::<groups::return_in_two_ways>()?;
    let from: Vec<u32> = (0..128).map(|i| i * i % 13).collect();
    let gone = |thread: usize| from[thread] > 7;
    let left = |threads: std::ops::Range<usize>| threads.filter(|&it| !gone(it)).count() as u32;
    let device = DeviceBuffer::from_slice(&from)?;
    for limit in [3, 4] {
        let mut to = DeviceBuffer::from_slice(&[[9u32; 2]; 128])?;
        let arguments = groups::return_in_two_ways::args(limit, &device, &mut to);
        kernel.launch(&stream, (1, 128), arguments)?;
        stream.synchronize()?;
        let expected: Vec<[u32; 2]> = (0..128)
            .map(|thread| match (gone(thread), limit) {
                (true, 3) => [9, 9],
                (true, _) => [limit, 0],
                (false, _) => {
                    let warp = thread / 32 * 32;
                    [left(0..128), left(warp..warp + 32)]
                }
            })
            .collect();
        assert_eq!(to.as_host_vec()?, expected, "limit {limit}");
    }
    Ok(())
}

#[test]
fn warps_may_count_in_turns() -> Outcome {
    let (_device, module, stream) = start()?;
    let kernel = module.kernel::<groups::count_in_turns>()?;
    let mut to = DeviceBuffer::from_slice(&[9u32; 64])?;
    kernel.launch(&stream, (1, 64), groups::count_in_turns::args(&mut to))?;
    stream.synchronize()?;
    assert_eq!(to.as_host_vec()?, [32; 64]);
    Ok(())
}

#[test]
fn reductions_of_different_sizes_may_meet() -> Outcome {
    let (_device, module, stream) = start()?;
    let kernel = module.kernel::<groups::reduce_different_sizes>()?;
    let mut to = DeviceBuffer::from_slice(&[7u64; 256])?;
    kernel.launch(
        &stream,
        (1, 256),
        groups::reduce_different_sizes::args(&mut to),
    )?;
    stream.synchronize()?;
    let found = to.as_host_vec()?;
    assert!(found.iter().all(|&bits| bits <= 4), "{found:?}");
    Ok(())
}

#[test]
fn reductions_may_be_within_reductions() -> Outcome {
    let (_device, module, stream) = start()?;
    let kernel = module.kernel::<groups::reduce_in_reduce>()?;
    let mut to = DeviceBuffer::from_slice(&[7u32; 64])?;
    kernel.launch(&stream, (1, 64), groups::reduce_in_reduce::args(&mut to))?;
    stream.synchronize()?;
    // With two warps, no thread reads after the inner reduction has written.
    assert_eq!(to.as_host_vec()?, [64; 64]);
    let mut to = DeviceBuffer::from_slice(&[7u32; 256])?;
    kernel.launch(&stream, (1, 256), groups::reduce_in_reduce::args(&mut to))?;
    stream.synchronize()?;
    Ok(())
}

#[test]
fn a_block_that_returns_keeps_the_grids_barrier_closed() -> Outcome {
    let (_device, module, stream) = start()?;
    if module.context().backend() == Backend::Gpu {
        test_outcome::skip("on a GPU the other blocks wait forever");
        return Ok(());
    }
    let kernel = module.kernel::<groups::return_before_grid_sync>()?;
    let mut to = DeviceBuffer::from_slice(&[7u32; 320])?;
    for blocks in [1, 2, 5] {
        let shape = LaunchConfig::new(blocks, 64).cooperative();
        // Twice, because the first launch leaves its counts in the barrier.
        for block in (0..blocks).chain(0..blocks) {
            let args = groups::return_before_grid_sync::args(block, &mut to);
            kernel.launch(&stream, shape, args)?;
            match blocks {
                1 => stream.synchronize()?,
                _ => {
                    let message = panic_of(stream.synchronize());
                    assert!(message.contains("barrier cannot open"), "{message}");
                }
            }
        }
        let args = groups::return_before_grid_sync::args(blocks, &mut to);
        kernel.launch(&stream, shape, args)?;
        stream.synchronize()?;
    }
    assert_eq!(to.as_host_vec()?, (0..320).collect::<Vec<u32>>());
    Ok(())
}

#[test]
fn blocks_may_return_once_they_have_arrived() -> Outcome {
    let (_device, module, stream) = start()?;
    let kernel = module.kernel::<groups::return_after_arrival>()?;
    let mut to = DeviceBuffer::from_slice(&[7u32; 256])?;
    for _ in 0..20 {
        let shape = LaunchConfig::new(8, 32).cooperative();
        kernel.launch(&stream, shape, groups::return_after_arrival::args(&mut to))?;
        stream.synchronize()?;
    }
    let expected: Vec<u32> = (0..256).map(|i| if i < 32 { i } else { 7 }).collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn a_panic_before_the_grids_barrier_ends_the_launch() -> Outcome {
    let (_device, module, stream) = start()?;
    let kernel = module.kernel::<groups::grid_sync>()?;
    let shape = LaunchConfig::new(3, 64).cooperative();
    let mut to = DeviceBuffer::from_slice(&[7u32; 192])?;
    // The first thread of a block, another thread, and none.
    for panics in [0, 64, 191] {
        kernel.launch(&stream, shape, groups::grid_sync::args(panics, &mut to))?;
        assert_eq!(panic_of(stream.synchronize()), "before the barrier");
    }
    kernel.launch(&stream, shape, groups::grid_sync::args(192, &mut to))?;
    stream.synchronize()?;
    assert_eq!(to.as_host_vec()?, (0..192).collect::<Vec<u32>>());
    Ok(())
}

#[test]
fn a_thread_panics_before_the_reductions_of_its_block() -> Outcome {
    let (_device, module, stream) = start()?;
    let kernel = module.kernel::<groups::reduce_after_checks>()?;
    let xs: Vec<u32> = (0..200u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let of = DeviceBuffer::from_slice(&xs)?;
    let mut to = DeviceBuffer::from_slice(&[7u32; 128])?;
    let right: Vec<u32> = (0..128).map(|i| i * 7 % 200).collect();
    let one = |thread: usize| thread..thread + 1;
    // A thread, a warp, and all threads.
    for wrong in [one(0), one(37), one(127), 32..64, 0..128] {
        let mut indices = right.clone();
        indices[wrong].fill(200);
        let from = DeviceBuffer::from_slice(&indices)?;
        let args = groups::reduce_after_checks::args(&from, &of, &mut to);
        kernel.launch(&stream, (1, 128), args)?;
        let message = panic_of(stream.synchronize());
        assert!(
            message.contains("the len is 200 but the index is"),
            "{message}"
        );
    }
    let from = DeviceBuffer::from_slice(&right)?;
    let args = groups::reduce_after_checks::args(&from, &of, &mut to);
    kernel.launch(&stream, (1, 128), args)?;
    stream.synchronize()?;
    let x = |thread: usize| xs[right[thread] as usize];
    let sum = (0..128).map(x).fold(0, u32::wrapping_add);
    let expected = (0..128).map(|thread| {
        let lanes = (thread / 32 * 32..=thread)
            .map(x)
            .fold(0, u32::wrapping_add);
        sum.wrapping_add(lanes).wrapping_add(xs[thread])
    });
    assert_eq!(to.as_host_vec()?, expected.collect::<Vec<u32>>());
    Ok(())
}

#[test]
fn a_lane_panics_between_exchanges_of_its_warp() -> Outcome {
    let (_device, module, stream) = start()?;
    let kernel = module.kernel::<groups::exchange_indices>()?;
    let xs: Vec<u32> = (0..96u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let mut to = DeviceBuffer::from_slice(&[7u32; 64])?;
    for wrong in [None, Some(0), Some(6), Some(7), Some(12), Some(41)] {
        let mut indices: Vec<u32> = (0..64).map(|i| i * 7 % 64).collect();
        if let Some(lane) = wrong {
            // Of the last lanes, each has an index outside.
            indices[lane] = 70;
        }
        let (from, of) = (
            DeviceBuffer::from_slice(&indices)?,
            DeviceBuffer::from_slice(&xs)?,
        );
        for count in [0, 1, 3, 4, 11, 32] {
            for shape in [(2, 32), (1, 64)] {
                let args = groups::exchange_indices::args(count, &from, &of, &mut to);
                kernel.launch(&stream, shape, args)?;
                let done = stream.synchronize();
                let is_read =
                    |lane: usize| lane % 32 < count as usize || (8..13).contains(&(lane % 32));
                if wrong.is_some_and(is_read) {
                    let message = panic_of(done);
                    let index = message.rsplit(' ').next().and_then(|it| it.parse().ok());
                    let index: u32 = index.ok_or(format!("no index: {message}"))?;
                    assert!(
                        message.contains("the len is 96 but the index is"),
                        "{message}"
                    );
                    assert!((96..102).contains(&index), "{message}");
                    continue;
                }
                done?;
                let expected = (0..64).map(|i| {
                    let (first, lane) = (i / 32 * 32, i as u32 % 32);
                    let sum = |factor: u32| {
                        let (indices, xs) = (&indices, &xs);
                        move |sum: u32, k: usize| {
                            let x = xs[(indices[first + k] + lane) as usize];
                            sum.wrapping_mul(factor).wrapping_add(x)
                        }
                    };
                    let loaded = (0..count as usize).fold(0, sum(31));
                    (8..13).fold(loaded, sum(17))
                });
                assert_eq!(to.as_host_vec()?, expected.collect::<Vec<u32>>());
            }
        }
    }
    Ok(())
}

#[test]
fn a_forgotten_arrival_is_not_another_launchs() -> Outcome {
    let (_device, module, stream) = start()?;
    let forget = module.kernel::<groups::forget_arrival>()?;
    let shape = LaunchConfig::new(3, 32).cooperative();
    // Each launch leaves a barrier that has not completed; there are 1024.
    for _ in 0..1025 {
        forget.launch(&stream, shape, groups::forget_arrival::args())?;
    }
    stream.synchronize()?;
    let kernel = module.kernel::<groups::grid_sync>()?;
    let mut to = DeviceBuffer::from_slice(&[7u32; 96])?;
    kernel.launch(&stream, shape, groups::grid_sync::args(96, &mut to))?;
    stream.synchronize()?;
    assert_eq!(to.as_host_vec()?, (0..96).collect::<Vec<u32>>());
    Ok(())
}

#[test]
fn messages_that_do_not_come_to_an_end_are_reported() -> Outcome {
    let (_device, module, stream) = start()?;
    let kernel = module.kernel::<groups::odd_message>()?;
    let expected = [
        "half a message [the thread exited while it formatted this message]",
        "half a message",
        "half a message, and more",
        "half a message",
    ];
    for (kind, expected) in expected.into_iter().enumerate() {
        kernel.launch(&stream, (2, 32), groups::odd_message::args(kind as u32))?;
        assert_eq!(panic_of(stream.synchronize()), expected);
        // The next launch sees nothing of it.
        stream.synchronize()?;
    }
    Ok(())
}
