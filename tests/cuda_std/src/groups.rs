//! Cooperative groups: the expected results of each thread, computed from the threads in its group.

use crate::{Arch, Session, expect, per_thread, trial};
use cuda_std_tests_kernels::groups::{Linear, compose, group_grid, group_grid_alone, linear, row};
use cuda_std_tests_kernels::random;
use cust::error::Error;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};

/// The number of threads in a block: one of full warps, one with a partial warp.
const BLOCKS: [u32; 3] = [64, 50, 7];

/// Returns the trials.
pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial(Arch::Sm75, "groups::coalesced", |session, module| {
            lanes(session, module, "group_coalesced", |i| i % 32 % 3 == 0)
        }),
        trial(Arch::Sm75, "groups::partition", partition),
        trial(Arch::Sm75, "groups::block", block),
        trial(Arch::Sm75, "groups::columns", columns),
        trial(Arch::Sm75, "groups::count", count),
        trial(Arch::Sm75, "groups::grid", grid),
        trial(Arch::Sm75, "groups::grid_alone", grid_alone),
    ];
    for (name, n) in [
        ("groups::tile_1", 1),
        ("groups::tile_2", 2),
        ("groups::tile_4", 4),
        ("groups::tile_8", 8),
        ("groups::tile_16", 16),
        ("groups::tile_32", 32),
    ] {
        trials.push(trial(Arch::Sm75, name, move |session, module| {
            lanes(session, module, &format!("group_tile_{n}"), move |i| {
                i % 32 / n
            })
        }));
    }
    trials
}

fn bits(f: Linear) -> u64 {
    u64::from(f[0]) << 32 | u64::from(f[1])
}

/// Returns the results of a thread in a group within a warp that consists of these threads.
fn of_lanes(members: &[u32], i: u32) -> [u64; 16] {
    let rank = members
        .iter()
        .position(|&member| member == i)
        .expect("it is in its group");
    let size = members.len();
    let all = |range: std::ops::Range<usize>, start: Option<Linear>| {
        let start = start.into_iter();
        start
            .chain(members[range].iter().map(|&member| linear(member)))
            .reduce(compose)
            .unwrap_or_default()
    };
    let of = |rank: usize| random(members[rank]);
    let mask = |f: &dyn Fn(usize) -> bool| (0..size).filter(|&r| f(r)).map(|r| 1u64 << r).sum();
    [
        size as u64,
        rank as u64,
        (rank == 0).into(),
        bits(all(0..size, None)),
        bits(all(0..rank + 1, None)),
        bits(all(0..rank, Some([3, 5]))),
        of(0),
        of(size - 1 - rank),
        of(if rank >= 2 { rank - 2 } else { rank }),
        of(if rank + 3 < size { rank + 3 } else { rank }),
        of(if rank ^ 1 < size { rank ^ 1 } else { rank }),
        1,
        (size > 1).into(),
        mask(&|r| r != 1),
        mask(&|r| r % 3 == rank % 3),
        (size == 1).into(),
    ]
}

/// Tests a kernel whose groups are the threads of a warp with the same label.
fn lanes<L: PartialEq>(
    session: &Session,
    module: &Module,
    kernel: &str,
    label: impl Fn(u32) -> L,
) -> Result<(), Failed> {
    for threads in BLOCKS {
        per_thread(session, module, kernel, (2, threads), &[], |i| {
            let block = i / threads * threads;
            let (here, warp) = (i - block, (i - block) / 32);
            let members: Vec<u32> = (0..threads)
                .filter(|&t| t / 32 == warp && label(t) == label(here))
                .map(|t| block + t)
                .collect();
            of_lanes(&members, i)
        })?;
    }
    Ok(())
}

fn partition(session: &Session, module: &Module) -> Result<(), Failed> {
    for threads in BLOCKS {
        per_thread(session, module, "group_partition", (2, threads), &[], |i| {
            let block = i / threads * threads;
            let warp = (i - block) / 32;
            let members: Vec<u32> = (0..threads)
                .filter(|&t| t / 32 == warp)
                .map(|t| block + t)
                .filter(|&t| random(t) % 4 == random(i) % 4)
                .collect();
            of_lanes(&members, i)
        })?;
    }
    Ok(())
}

fn block(session: &Session, module: &Module) -> Result<(), Failed> {
    for threads in [1, 32, 50, 96, 256] {
        per_thread(session, module, "group_block", (3, threads), &[], |i| {
            let number = i / threads;
            let first = number * threads;
            let members = first..first + threads;
            let functions = |range: std::ops::Range<u32>| range.map(linear);
            let all = functions(members.clone())
                .reduce(compose)
                .unwrap_or_default();
            let up_to = functions(first..i + 1).reduce(compose).unwrap_or_default();
            let before = functions(first..i).fold([3, 5], compose);
            let wide = |range: std::ops::Range<u32>| {
                range
                    .map(|t| u128::from(random(t)) << 50)
                    .fold(0, u128::wrapping_add)
            };
            [
                threads.into(),
                (i - first).into(),
                number.into(),
                bits(all),
                bits(up_to),
                bits(before),
                members
                    .clone()
                    .map(|t| random(t) as u8)
                    .max()
                    .unwrap_or(0)
                    .into(),
                wide(members.clone()) as u64,
                (wide(first..i + 1) >> 50) as u64,
                f64::from(first + 1).to_bits(),
                1,
                7,
                ((i - first) / 8).into(),
                threads.div_ceil(8).into(),
                ((i - first) / 32).into(),
                threads.div_ceil(32).into(),
            ]
        })?;
    }
    Ok(())
}

/// Reductions of arrays in nested loops, by whole warps and by warps of which lanes have exited.
fn columns(session: &Session, module: &Module) -> Result<(), Failed> {
    let threads = 64;
    for exits in [32, 0, 5, 31] {
        let argument = DeviceBuffer::from_slice(&[u64::from(exits)])?;
        let rows: Vec<[u32; 16]> = (0..2)
            .flat_map(|block| combined(block, threads, exits))
            .collect();
        let arguments = [&argument];
        per_thread(
            session,
            module,
            "group_columns",
            (2, threads),
            &arguments,
            |i| rows[i as usize].map(u64::from),
        )?;
    }
    Ok(())
}

/// Returns the rows of the threads of a block with combined columns; zeros for those that have exited.
fn combined(block: u32, threads: u32, exits: u32) -> Vec<[u32; 16]> {
    let indices: Vec<u32> = (block * threads..(block + 1) * threads).collect();
    let mut rows = vec![[0; 16]; indices.len()];
    for (indices, rows) in indices.chunks(32).zip(rows.chunks_mut(32)) {
        let lanes: Vec<usize> = (0..indices.len())
            .filter(|&lane| indices[lane] % 32 != exits)
            .collect();
        lanes
            .iter()
            .for_each(|&lane| rows[lane] = row(indices[lane]));
        for column in 0..16 {
            let all = lanes.iter().map(|&lane| rows[lane][column]);
            let sum = all.fold(0, u32::wrapping_add);
            lanes.iter().for_each(|&lane| rows[lane][column] ^= sum);
            for k in column + 1..16 {
                let products = lanes
                    .iter()
                    .map(|&lane| rows[lane][column].wrapping_mul(rows[lane][k]));
                let sum = products.fold(0, u32::wrapping_add);
                for &lane in &lanes {
                    rows[lane][k] = rows[lane][k].wrapping_sub(sum);
                }
            }
        }
    }
    rows
}

fn count(session: &Session, module: &Module) -> Result<(), Failed> {
    for threads in [1, 32, 50, 256, 992] {
        for kernel in ["group_count".to_owned(), format!("group_count_{threads}")] {
            per_thread(session, module, &kernel, (3, threads), &[], |i| {
                let first = i / threads * threads;
                let count = |range: std::ops::Range<u32>| {
                    range.filter(|&t| random(t) % 3 == 0).count() as u32
                };
                let sum = |range: std::ops::Range<u32>| {
                    range.map(|t| random(t) as u32).fold(0, u32::wrapping_add)
                };
                [
                    count(first..i),
                    count(first..first + threads),
                    sum(first..i).wrapping_add(7),
                    sum(first..first + threads),
                ]
                .map(u64::from)
            })?;
        }
    }
    Ok(())
}

fn grid(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    let (blocks, threads) = (4u32, 96u32);
    let n = (blocks * threads) as usize;
    let mut values: Vec<u32> = (0..n as u32).map(|i| random(i) as u32).collect();
    for _ in 0..3 {
        let mut both = values.clone();
        both.resize(2 * n, 0);
        let data = both.as_dbuf()?;
        let mut to = DeviceBuffer::from_slice(&vec![[0u64; 2]; n])?;
        // SAFETY: the module is built from the kernel's crate.
        let kernel = unsafe { module.kernel_unchecked::<group_grid>()? };
        // SAFETY: the pointer is to two numbers for each thread.
        let arguments = unsafe { group_grid::args(data.as_device_ptr(), &mut to) };
        let config = LaunchConfig::new(blocks, threads).cooperative();
        kernel.launch(stream, config, arguments)?;
        stream.synchronize()?;
        for _ in 0..5 {
            values = (0..n)
                .map(|i| {
                    values[(i + n - 77) % n]
                        .wrapping_mul(3)
                        .wrapping_add(i as u32)
                })
                .collect();
        }
        let expected: Vec<[u64; 2]> = (0..n)
            .map(|i| [values[i].into(), (i as u64) << 32 | n as u64])
            .collect();
        expect(to.as_host_vec()?, expected, "what the rounds came to")?;
    }
    Ok(())
}

/// Tests the grid barrier in a launch that is not cooperative, then in a cooperative one.
fn grid_alone(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    let mut valid = DeviceBuffer::<u32>::zeroed(64)?;
    // SAFETY: the module is built from the kernel's crate.
    let kernel = unsafe { module.kernel_unchecked::<group_grid_alone>()? };
    let config = LaunchConfig::new(2, 32);
    kernel.launch(stream, config, group_grid_alone::args(&mut valid))?;
    let result = stream.synchronize();
    let valid_in = valid.as_host_vec()?;
    match result {
        Err(Error::KernelPanic(panic)) => {
            expect(valid_in, vec![1; 64], "of an ordinary launch")?;
            expect(
                panic.message.clone(),
                "the grid's barrier needs a cooperative launch".to_owned(),
                "what the panic says",
            )?;
        }
        // On a GPU on which an earlier launch was cooperative.
        Ok(()) if session.context.backend() == Backend::Gpu => {
            expect(valid_in, vec![2; 64], "of an ordinary launch")?
        }
        other => return Err(format!("no panic, but {other:?}").into()),
    }
    let args = group_grid_alone::args(&mut valid);
    kernel.launch(stream, config.cooperative(), args)?;
    expect(valid.as_host_vec()?, vec![2; 64], "of a cooperative launch")?;
    Ok(())
}
