//! Output without `unsafe`: each element belongs to one thread, in launches of every shape, and
//! kernels in the style of users return the CPU's results.

use crate::{Arch, Session, expect, per_thread_argument, trial};
use cuda_std_tests_kernels::random;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};

/// The numbers of blocks and threads in three dimensions.
type Shape = ((u32, u32, u32), (u32, u32, u32));

/// Launch shapes.
const SHAPES: [Shape; 7] = [
    ((1, 1, 1), (1, 1, 1)),
    ((3, 1, 1), (32, 1, 1)),
    ((2, 3, 1), (8, 4, 1)),
    ((1, 2, 3), (4, 3, 2)),
    ((2, 2, 2), (3, 3, 3)),
    ((1, 1, 5), (1, 1, 7)),
    ((4, 1, 2), (64, 1, 2)),
];

/// Returns the trials.
pub fn trials() -> Vec<Trial> {
    vec![
        trial(Arch::Sm75, "output::per_thread", linear),
        trial(Arch::Sm75, "output::each_with", each_with),
        trial(Arch::Sm75, "output::per_block", per_block),
        trial(Arch::Sm75, "output::per_warp", per_warp),
        trial(Arch::Sm75, "output::per_row", rows_and_columns),
        trial(Arch::Sm75, "output::team_rows", team_rows),
        trial(Arch::Sm75, "output::per_thread_2d", matrices),
        trial(Arch::Sm75, "output::per_thread_3d", volumes),
        trial(Arch::Sm75, "output::per_thread_3d_zipped", zipped_volumes),
        trial(Arch::Sm75, "output::vecadd", vecadd),
        trial(Arch::Sm75, "output::transpose", transpose),
        trial(Arch::Sm75, "output::stencil", stencil),
        trial(Arch::Sm75, "output::reduction", reduction),
        trial(Arch::Sm75, "output::matmul", matmul),
        trial(Arch::Sm75, "output::histogram", histogram),
    ]
}

fn count((blocks, threads): Shape) -> (u64, u64) {
    let product = |(x, y, z)| u64::from(x) * u64::from(y) * u64::from(z);
    (product(blocks), product(threads))
}

fn linear(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    for shape in SHAPES {
        let (blocks, threads) = shape;
        let (all_blocks, all_threads) = count(shape);
        let all = all_blocks * all_threads;
        for len in [0, 1, 100, 1000] {
            let buffer = DeviceBuffer::<u64>::zeroed(len)?;
            let also = DeviceBuffer::<u64>::zeroed(len)?;
            let chunks = DeviceBuffer::<u64>::zeroed(len)?;
            // SAFETY: the kernels' parameters are outputs of as many elements.
            unsafe {
                launch!(module.out_per_thread<<<blocks, threads, 0, stream>>>(
                    per_thread_argument(&buffer, len), per_thread_argument(&also, len)
                ))?;
                launch!(module.out_per_thread_chunk<<<blocks, threads, 0, stream>>>(
                    per_thread_argument(&chunks, len)
                ))?;
            }
            stream.synchronize()?;
            let len = len as u64;
            let expected: Vec<u64> = (0..len).map(|i| (i << 32) | (i % all)).collect();
            expect(buffer.as_host_vec()?, expected, "each thread's elements")?;
            let expected: Vec<u64> = (0..len).map(|i| if i < all { i + 1 } else { 0 }).collect();
            expect(also.as_host_vec()?, expected, "each thread's first element")?;
            let whole = len / 3 * 3;
            let expected: Vec<u64> = (0..len)
                .map(|i| i << 32 | if i < whole { i / 3 % all } else { 0xffff })
                .collect();
            expect(chunks.as_host_vec()?, expected, "each thread's pieces")?;
        }
    }
    Ok(())
}

fn each_with(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    for shape in SHAPES {
        let (blocks, threads) = shape;
        let (all_blocks, all_threads) = count(shape);
        let all = (all_blocks * all_threads) as usize;
        for (of_a, of_b) in [(0, 9), (9, 5), (200, 100)] {
            let a = DeviceBuffer::from_slice(&vec![1u64; of_a])?;
            let b = DeviceBuffer::from_slice(&vec![2u64; of_b])?;
            let to = DeviceBuffer::<u64>::zeroed(150)?;
            let first = DeviceBuffer::<u64>::zeroed(all)?;
            // SAFETY: the kernel's parameters are slices and outputs of as many elements.
            unsafe {
                launch!(module.out_each_with<<<blocks, threads, 0, stream>>>(
                    a.as_device_ptr(), a.len(), b.as_device_ptr(), b.len(),
                    per_thread_argument(&to, 150), per_thread_argument(&first, all)
                ))?;
            }
            stream.synchronize()?;
            let expected = |i| if i < of_a.min(of_b) { 3 } else { 0 };
            let expected: Vec<u64> = (0..150).map(expected).collect();
            expect(to.as_host_vec()?, expected, "the elements with inputs")?;
            let expected: Vec<u64> = (0..all).map(|i| u64::from(i == 0)).collect();
            expect(first.as_host_vec()?, expected, "the first thread")?;
        }
    }
    Ok(())
}

fn per_block(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    for shape in SHAPES {
        let (blocks, threads) = shape;
        let (all_blocks, all_threads) = count(shape);
        for len in [0, 1, 64, 205] {
            let buffer = DeviceBuffer::<u64>::zeroed(len)?;
            let pieces = DeviceBuffer::<u64>::zeroed(len)?;
            // SAFETY: the kernel's parameters are outputs of as many elements.
            unsafe {
                launch!(module.out_per_block<<<blocks, threads, 0, stream>>>(
                    per_thread_argument(&buffer, len), per_thread_argument(&pieces, len)
                ))?;
            }
            stream.synchronize()?;
            let len = len as u64;
            let expected: Vec<u64> = (0..len).map(|i| i << 32 | (i % all_blocks) << 16).collect();
            expect(buffer.as_host_vec()?, expected, "each block's element")?;
            let expected: Vec<u64> = (0..len)
                .map(|i| {
                    let start = i / 10 * 10;
                    let size = 10.min(len - start);
                    i << 32 | start << 16 | size << 8 | ((i - start) % all_threads)
                })
                .collect();
            expect(pieces.as_host_vec()?, expected, "each block's pieces")?;
        }
    }
    Ok(())
}

/// Returns an output with rows as a kernel argument.
fn rows<T: DeviceCopy>(buffer: &DeviceBuffer<T>, width: usize) -> [u64; 4] {
    [
        buffer.as_device_ptr().as_raw(),
        buffer.len() as u64,
        width as u64,
        buffer.len().div_ceil(width.max(1)) as u64,
    ]
}

fn per_warp(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    for shape in SHAPES {
        let (blocks, threads) = shape;
        let (all_blocks, in_block) = count(shape);
        let in_warps = in_block.div_ceil(32);
        for len in [0, 1, 64, 205] {
            let buffer = DeviceBuffer::<u64>::zeroed(len)?;
            let pieces = DeviceBuffer::<u64>::zeroed(len)?;
            let all = DeviceBuffer::<u64>::zeroed(len)?;
            // SAFETY: the kernel's parameters are outputs of as many elements.
            unsafe {
                launch!(module.out_per_warp<<<blocks, threads, 0, stream>>>(
                    per_thread_argument(&buffer, len),
                    per_thread_argument(&pieces, len),
                    per_thread_argument(&all, len)
                ))?;
            }
            stream.synchronize()?;
            // Returns, for the `place`-th element of the `piece`-th chunk, its warp and its thread
            // in the block.
            let owner = |piece: u64, place: u64| {
                let warp = piece % (all_blocks * in_warps);
                let first = warp % in_warps * 32;
                warp << 16 | (first + place % (in_block - first).min(32))
            };
            let len = len as u64;
            let expected: Vec<u64> = (0..len).map(|i| i << 32 | owner(i, 0)).collect();
            expect(buffer.as_host_vec()?, expected, "each warp's element")?;
            let expected: Vec<u64> = (0..len).map(|i| i << 32 | owner(i / 40, i % 40)).collect();
            expect(
                pieces.as_host_vec()?,
                expected.clone(),
                "each warp's pieces",
            )?;
            let twice = expected.iter().map(|owner| owner | 1 << 63).collect();
            expect(all.as_host_vec()?, twice, "each warp's pieces, twice")?;
        }
    }
    Ok(())
}

fn rows_and_columns(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    for shape in SHAPES {
        let (blocks, threads) = shape;
        let (all_blocks, all_threads) = count(shape);
        let all = all_blocks * all_threads;
        for (len, width) in [(0, 4), (1, 1), (7 * 9, 9), (100, 11), (3, 64), (10, 0)] {
            let of_rows = DeviceBuffer::<u64>::zeroed(len)?;
            let of_columns = DeviceBuffer::<u64>::zeroed(len)?;
            // SAFETY: the kernel's parameters are outputs of as many elements.
            unsafe {
                launch!(module.out_rows_columns<<<blocks, threads, 0, stream>>>(
                    rows(&of_rows, width), rows(&of_columns, width)
                ))?;
            }
            stream.synchronize()?;
            let mut expected = vec![[0, 0]; len];
            if width > 0 {
                for (i, to) in expected.iter_mut().enumerate() {
                    let (x, y) = ((i % width) as u64, (i / width) as u64);
                    *to = [y, x].map(|line| x << 48 | y << 32 | (line % all));
                }
                for x in 0..width.min(len) {
                    let column = || (x..len).step_by(width);
                    let sum: u64 = column().map(|i| expected[i][1]).sum();
                    let (first, last) = (expected[x][1], column().next_back());
                    expected[last.expect("there is one")][1] += sum ^ first;
                }
            }
            let (in_rows, in_columns) = expected.iter().map(|&[row, column]| (row, column)).unzip();
            expect(of_rows.as_host_vec()?, in_rows, "each thread's rows")?;
            expect(
                of_columns.as_host_vec()?,
                in_columns,
                "each thread's columns",
            )?;
        }
    }
    Ok(())
}

fn team_rows(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    for shape in SHAPES {
        let (blocks, threads) = shape;
        let (all_blocks, in_block) = count(shape);
        let in_warps = in_block.div_ceil(32);
        for (len, width) in [
            (0, 4),
            (1, 1),
            (7 * 9, 9),
            (205, 100),
            (3, 64),
            (70, 5),
            (10, 0),
        ] {
            let buffers = [(); 4].map(|()| DeviceBuffer::<u64>::zeroed(len));
            let [of_blocks, of_warps, by_each, warps_by_each] = buffers;
            let (of_blocks, of_warps) = (of_blocks?, of_warps?);
            let (by_each, warps_by_each) = (by_each?, warps_by_each?);
            // SAFETY: the kernel's parameters are outputs of as many elements.
            unsafe {
                launch!(module.out_team_rows<<<blocks, threads, 0, stream>>>(
                    rows(&of_blocks, width), rows(&of_warps, width),
                    rows(&by_each, width), rows(&warps_by_each, width)
                ))?;
            }
            stream.synchronize()?;
            // The column, the row, the row's length, and the owners of each element.
            let elements = (0..len).map(|i| match width {
                0 => [0; 4],
                _ => {
                    let (x, y) = (i % width, i / width);
                    let length = width.min(len - y * width) as u64;
                    let (x, y) = (x as u64, y as u64);
                    let warp = y % (all_blocks * in_warps);
                    let first = warp % in_warps * 32;
                    let lane = first + x % (in_block - first).min(32);
                    let owners = [((y % all_blocks) << 16) | (x % in_block), warp << 16 | lane];
                    [x << 56 | y << 48, length << 32, owners[0], owners[1]]
                }
            });
            let elements: Vec<_> = elements.collect();
            for (buffer, length, owner, what) in [
                (of_blocks, true, 2, "each block's rows"),
                (of_warps, true, 3, "each warp's rows"),
                (by_each, false, 2, "each block's rows by `each`"),
                (warps_by_each, false, 3, "each warp's rows by `each`"),
            ] {
                let expected = (elements.iter())
                    .map(|e| e[0] | e[owner] | if length { e[1] } else { 0 })
                    .collect();
                expect(buffer.as_host_vec()?, expected, what)?;
            }
        }
    }
    Ok(())
}

fn volumes(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    for shape in SHAPES {
        let ((bx, by, bz), (tx, ty, tz)) = shape;
        for (len, width, height) in [
            (0, 4, 2),
            (1, 1, 1),
            (5 * 4 * 3, 5, 4),
            (100, 7, 3),
            (40, 64, 2),
            (10, 0, 3),
            (10, 3, 0),
        ] {
            let buffers = [(); 3].map(|()| DeviceBuffer::<u64>::zeroed(len));
            let [to, also, first] = buffers;
            let (to, also, first) = (to?, also?, first?);
            let argument = |buffer: &DeviceBuffer<u64>| {
                [
                    buffer.as_device_ptr().as_raw(),
                    len as u64,
                    width as u64,
                    height as u64,
                    len.div_ceil((width * height).max(1)) as u64,
                ]
            };
            // SAFETY: the kernel's parameters are outputs of as many elements.
            unsafe {
                launch!(module.out_3d<<<shape.0, shape.1, 0, stream>>>(
                    argument(&to), argument(&also), argument(&first)
                ))?;
            }
            stream.synchronize()?;
            let size = width * height;
            let place = |i: usize| {
                (size > 0)
                    .then(|| [i % width, i / width % height, i / size].map(|place| place as u64))
            };
            let threads = [bx * tx, by * ty, bz * tz].map(u64::from);
            let owner = |[x, y, z]: [u64; 3]| {
                let along = |place, blocks, threads| {
                    let place = place % (u64::from(blocks) * u64::from(threads));
                    (place / u64::from(threads), place % u64::from(threads))
                };
                let ((ax, cx), (ay, cy), (az, cz)) =
                    (along(x, bx, tx), along(y, by, ty), along(z, bz, tz));
                let block = (az * u64::from(by) + ay) * u64::from(bx) + ax;
                let thread = (cz * u64::from(ty) + cy) * u64::from(tx) + cx;
                x << 48 | y << 40 | z << 32 | (block * u64::from(tx * ty * tz) + thread)
            };
            let values = |only_first: bool| -> Vec<u64> {
                let is_first = |place: &[u64; 3]| {
                    !only_first || place.iter().zip(threads).all(|(&place, n)| place < n)
                };
                (0..len)
                    .map(|i| place(i).filter(is_first).map_or(0, owner))
                    .collect()
            };
            expect(
                to.as_host_vec()?,
                values(false),
                "each thread's elements of the volume",
            )?;
            expect(also.as_host_vec()?, values(false), "the same by `each`")?;
            expect(
                first.as_host_vec()?,
                values(true),
                "each thread's first element",
            )?;
        }
    }
    Ok(())
}

/// Launches with a thread for each element take a path of their own if all shapes are equal.
fn zipped_volumes(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    let usual = (60, 5, 4);
    for other in [
        usual,
        (59, 5, 4),
        (61, 5, 4),
        (60, 4, 5),
        (60, 5, 3),
        (60, 6, 4),
        (0, 5, 4),
    ] {
        for place in 0..3 {
            let mut shapes = [usual; 3];
            shapes[place] = other;
            let buffer = |(len, ..): (usize, usize, usize)| DeviceBuffer::<u64>::zeroed(len);
            let buffers = [buffer(shapes[0])?, buffer(shapes[1])?, buffer(shapes[2])?];
            let argument = |index: usize| {
                let (len, width, height) = shapes[index];
                let depth = len.div_ceil(width * height);
                let address = buffers[index].as_device_ptr().as_raw();
                [
                    address,
                    len as u64,
                    width as u64,
                    height as u64,
                    depth as u64,
                ]
            };
            // SAFETY: the kernel's parameters are outputs of as many elements.
            unsafe {
                launch!(module.out_3d_zipped<<<(2, 3, 2), (4, 2, 2), 0, stream>>>(
                    argument(0), argument(1), argument(2)
                ))?;
            }
            stream.synchronize()?;
            for (index, (buffer, (len, width, height))) in buffers.iter().zip(shapes).enumerate() {
                let value = |i: usize| {
                    let (x, y, z) = (i % width, i / width % height, i / (width * height));
                    let is_inside = |&(len, width, height): &(usize, usize, usize)| {
                        x < width && y < height && (z * height + y) * width + x < len
                    };
                    let value = (x << 48 | y << 40 | z << 32) as u64 | (index as u64 + 1);
                    if shapes.iter().all(is_inside) {
                        value
                    } else {
                        0
                    }
                };
                expect(
                    buffer.as_host_vec()?,
                    (0..len).map(value).collect(),
                    "places that are in all volumes",
                )?;
            }
        }
    }
    Ok(())
}

fn matrices(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    for shape in SHAPES {
        let (blocks, threads) = shape;
        for (len, width) in [(0, 4), (1, 1), (7 * 9, 9), (100, 11), (40, 64), (10, 0)] {
            let buffer = DeviceBuffer::<u64>::zeroed(len)?;
            let tiles = DeviceBuffer::<u64>::zeroed(len)?;
            // SAFETY: the kernel's parameters are outputs of as many elements.
            unsafe {
                launch!(module.out_2d<<<blocks, threads, 0, stream>>>(
                    rows(&buffer, width), rows(&tiles, width)
                ))?;
            }
            stream.synchronize()?;
            let place = |i: usize| match width {
                0 => (0, 0),
                _ => ((i % width) as u64, (i / width) as u64),
            };
            let ((bx, by, bz), (tx, ty, tz)) = (
                (
                    u64::from(blocks.0),
                    u64::from(blocks.1),
                    u64::from(blocks.2),
                ),
                (
                    u64::from(threads.0),
                    u64::from(threads.1),
                    u64::from(threads.2),
                ),
            );
            let block_of = |x: u64, y: u64| (y % (by * bz)) * bx + x % bx;
            let expected: Vec<u64> = (0..len)
                .map(|i| {
                    let (x, y) = place(i);
                    if width == 0 {
                        return 0;
                    }
                    let (column, row) = (x % (bx * tx), y % (by * bz * ty * tz));
                    let block = block_of(column / tx, row / (ty * tz));
                    let thread = row % (ty * tz) * tx + column % tx;
                    x << 48 | y << 32 | (block * tx * ty * tz + thread)
                })
                .collect();
            expect(
                buffer.as_host_vec()?,
                expected,
                "each thread's elements of the matrix",
            )?;
            let expected: Vec<u64> = (0..len)
                .map(|i| {
                    let (x, y) = place(i);
                    if width == 0 {
                        0
                    } else {
                        x << 48 | y << 32 | block_of(x / 5, y / 3)
                    }
                })
                .collect();
            expect(tiles.as_host_vec()?, expected, "each block's tiles")?;
        }
    }
    Ok(())
}

fn floats(n: usize) -> Vec<f32> {
    (0..n as u32)
        .map(|i| (random(i) % 1000) as f32 / 8.0)
        .collect()
}

fn vecadd(session: &Session, module: &Module) -> Result<(), Failed> {
    let (a, stream) = (floats(1000), &session.stream);
    let b: Vec<f32> = a.iter().rev().copied().collect();
    let (device_a, device_b) = (a.as_dbuf()?, b.as_dbuf()?);
    let sum = DeviceBuffer::<f32>::zeroed(1000)?;
    // SAFETY: the kernel's parameters are slices and an output of as many elements.
    unsafe {
        launch!(module.safe_vecadd<<<3, 64, 0, stream>>>(
            device_a.as_device_ptr(), device_a.len(), device_b.as_device_ptr(), device_b.len(),
            per_thread_argument(&sum, 1000)
        ))?;
    }
    stream.synchronize()?;
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    expect(sum.as_host_vec()?, expected, "the sums")
}

fn transpose(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    // Width and height of the result; the kernel's tiles have 16 by 16 elements.
    for (width, height) in [(16, 16), (64, 48), (37, 21)] {
        let from: Vec<u32> = (0..width * height).map(|i| random(i) as u32).collect();
        let device = from.as_dbuf()?;
        let to = DeviceBuffer::<u32>::zeroed(from.len())?;
        // SAFETY: the kernel's parameters are a slice and an output of as many elements.
        unsafe {
            launch!(module.safe_transpose<<<(2, 2), (16, 4), 0, stream>>>(
                device.as_device_ptr(), device.len(), rows(&to, width as usize)
            ))?;
        }
        stream.synchronize()?;
        let expected: Vec<u32> = (0..width * height)
            .map(|i| from[(i % width * height + i / width) as usize])
            .collect();
        expect(to.as_host_vec()?, expected, "the transpose")?;
    }
    Ok(())
}

fn stencil(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    for n in [1, 64, 1000] {
        let from = floats(n);
        let device = from.as_dbuf()?;
        let to = DeviceBuffer::<f32>::zeroed(n)?;
        // SAFETY: the kernel's parameters are a slice and an output of as many elements.
        unsafe {
            launch!(module.safe_stencil<<<3, 32, 0, stream>>>(
                device.as_device_ptr(), n, per_thread_argument(&to, n)
            ))?;
        }
        stream.synchronize()?;
        let at = |i: usize| from[i.min(n - 1)];
        let expected: Vec<f32> = (0..n)
            .map(|i| (at(i.saturating_sub(1)) + at(i) + at(i + 1)) / 3.0)
            .collect();
        expect(to.as_host_vec()?, expected, "the means")?;
    }
    Ok(())
}

fn reduction(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    let from: Vec<u64> = (0..1000).map(random).collect();
    let device = from.as_dbuf()?;
    for threads in [1u32, 32, 50, 128] {
        let to = DeviceBuffer::<u64>::zeroed(3)?;
        // SAFETY: the kernel's parameters are a slice and an output with one element per block.
        unsafe {
            launch!(module.safe_reduction<<<3, threads, threads * 8, stream>>>(
                device.as_device_ptr(), device.len(), per_thread_argument(&to, 3)
            ))?;
        }
        stream.synchronize()?;
        let expected: Vec<u64> = (0..3)
            .map(|block| {
                let of_block = |i: &usize| *i / threads as usize % 3 == block;
                (0..1000)
                    .filter(of_block)
                    .fold(0u64, |sum, i| sum.wrapping_add(from[i]))
            })
            .collect();
        expect(to.as_host_vec()?, expected, "the blocks' sums")?;
    }
    Ok(())
}

fn matmul(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    for n in [8, 24, 19] {
        let a = floats(n * n);
        let b: Vec<f32> = a.iter().rev().copied().collect();
        let (device_a, device_b) = (a.as_dbuf()?, b.as_dbuf()?);
        let to = DeviceBuffer::<f32>::zeroed(n * n)?;
        // SAFETY: the kernel's parameters are slices and an output of as many elements.
        unsafe {
            launch!(module.safe_matmul<<<(2, 2), (8, 8), 0, stream>>>(
                device_a.as_device_ptr(), n * n, device_b.as_device_ptr(), n * n, rows(&to, n)
            ))?;
        }
        stream.synchronize()?;
        let expected: Vec<f32> = (0..n * n)
            .map(|i| (0..n).fold(0.0, |sum, k| sum + a[i / n * n + k] * b[k * n + i % n]))
            .collect();
        expect(to.as_host_vec()?, expected, "the product")?;
    }
    Ok(())
}

fn histogram(session: &Session, module: &Module) -> Result<(), Failed> {
    let stream = &session.stream;
    let from: Vec<u32> = (0..1000).map(|i| random(i) as u32).collect();
    let device = from.as_dbuf()?;
    let counts = DeviceBuffer::<u32>::zeroed(16)?;
    // SAFETY: the kernel's parameters are a slice and sixteen counts.
    unsafe {
        launch!(module.safe_histogram<<<3, 48, 0, stream>>>(
            device.as_device_ptr(), device.len(), counts.as_device_ptr(), counts.len()
        ))?;
    }
    stream.synchronize()?;
    let mut expected = vec![0u32; 16];
    from.iter().for_each(|x| expected[(x % 16) as usize] += 1);
    expect(counts.as_host_vec()?, expected, "the counts")
}
