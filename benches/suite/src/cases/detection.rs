//! Detection: pooled maxima, overlapping boxes, and the motion of blocks.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, random, samples, uniform_f32, upload, zeroed,
};
use bench_kernels::detection::{BLOCK, GROUP, Motion, RANGE, Rectangle};
use cust::error::CudaResult;

pub fn max_pool(scale: Scale) -> CudaResult<Case> {
    let (width, height, planes): (usize, usize, usize) = match scale.small {
        true => (41, 22, 3),
        false => (112, 112, 8192),
    };
    let (pooled_width, pooled_height) = (width.div_ceil(2), height.div_ceil(2));
    let n = pooled_width * pooled_height * planes;
    let numbers = uniform_f32(width * height * planes, 1);
    let from = upload(&numbers)?;
    let values: Buffer<f32> = zeroed(n)?;
    let indices: Buffer<u32> = zeroed(n)?;
    let grid = (pooled_width.div_ceil(32), pooled_height.div_ceil(8), planes);
    let pointers = |args: Args| args.pointer(&values).pointer(&indices);
    Ok(Case::new("max_pool", grid, (32, 8))
        .args(
            pointers(
                (Args::new().pointer(&from))
                    .value(width as i32)
                    .value(height as i32),
            )
            .value(pooled_width as i32)
            .value(pooled_height as i32),
            pointers(Args::new().pointer(&from).value(width).value(height))
                .value(pooled_width)
                .value(pooled_height),
            (Args::new().slice(&from).value(width).value(height))
                .volume(&values, pooled_width, pooled_height)
                .volume(&indices, pooled_width, pooled_height),
        )
        .input(&from)
        .output(&values)
        .output(&indices)
        .bytes(4 * numbers.len() + 8 * n)
        .check(move || {
            let most = |i: usize| {
                let (x, y) = (i % pooled_width, i / pooled_width % pooled_height);
                let plane = &numbers[i / (pooled_width * pooled_height) * width * height..];
                let mut best = (f32::NEG_INFINITY, 0);
                for row in (2 * y).max(1) - 1..(2 * y + 2).min(height) {
                    for column in (2 * x).max(1) - 1..(2 * x + 2).min(width) {
                        let at = row * width + column;
                        if plane[at] > best.0 {
                            best = (plane[at], at);
                        }
                    }
                }
                best
            };
            close(&values, 0.0, 0.0, |i| most(i).0.into())?;
            close(&indices, 0.0, 0.0, |i| most(i).1 as f64)
        }))
}

pub fn nms_masks(scale: Scale) -> CudaResult<Case> {
    const THRESHOLD: f32 = 0.5;
    let n = scale.pick(200, 16384);
    let groups = n.div_ceil(GROUP);
    let numbers = uniform_f32(4 * n, 1);
    let rectangles: Vec<Rectangle> = (numbers.as_chunks::<4>().0.iter())
        .map(|&[x, y, width, height]| Rectangle {
            left: x,
            top: y,
            right: x + 0.1 + 0.3 * width,
            bottom: y + 0.1 + 0.3 * height,
        })
        .collect();
    let boxes = upload(&rectangles)?;
    let masks: Buffer<u64> = zeroed(n * groups)?;
    let pointers = Args::new().pointer(&boxes).value(THRESHOLD).pointer(&masks);
    Ok(Case::new("nms_masks", (groups, groups), GROUP)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            (Args::new().slice(&boxes).value(THRESHOLD)).rows(&masks, n),
        )
        .input(&boxes)
        .output(&masks)
        .bytes(16 * n + 8 * n * groups)
        .check(move || {
            let results = download(&masks)?;
            let mut different = 0;
            for at in samples(results.len()) {
                let (i, start) = (at % n, at / n * GROUP);
                let others = (start..(start + GROUP).min(n))
                    .filter(|&j| j > i && rectangles[i].overlap(&rectangles[j]) > THRESHOLD);
                let mask = others.map(|j| 1u64 << (j - start)).sum::<u64>();
                different += (mask ^ results[at]).count_ones();
            }
            // Overlaps that are close to the threshold are on either side of it.
            match different <= 2 {
                true => Ok(()),
                false => Err(format!("{different} bits differ")),
            }
        }))
}

pub fn block_match(scale: Scale) -> CudaResult<Case> {
    let (columns, rows) = match scale.small {
        true => (40, 6),
        false => (960, 540),
    };
    let (width, height) = (columns * BLOCK, rows * BLOCK);
    let padded = width + 2 * RANGE;
    let first: Vec<u8> = (0..padded * (height + 2 * RANGE))
        .map(|i| random(i as u64) as u8)
        .collect();
    // Blocks move by up to `RANGE` pixels in each direction, and have noise.
    let steps = 2 * RANGE + 1;
    let place = move |x: usize, y: usize| {
        let random = random((y * columns + x) as u64 | 1 << 40) as usize;
        (random % steps, random / steps % steps)
    };
    let second: Vec<u8> = (0..width * height)
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let (dx, dy) = place(x / BLOCK, y / BLOCK);
            first[(y + dy) * padded + x + dx] ^ (random(i as u64 | 1 << 41) % 8) as u8
        })
        .collect();
    let (before, after) = (upload(&first)?, upload(&second)?);
    let motions = upload(&vec![Motion::default(); columns * rows])?;
    let pointers = Args::new()
        .pointer(&before)
        .pointer(&after)
        .pointer(&motions);
    let grid = (columns.div_ceil(32), rows.div_ceil(4));
    Ok(Case::new("block_match", grid, (32, 4))
        .args(
            (pointers.clone().value(columns as i32)).value(rows as i32),
            pointers.value(columns).value(rows),
            (Args::new().slice(&before).slice(&after)).rows(&motions, columns),
        )
        .input(&before)
        .input(&after)
        .output(&motions)
        .bytes(first.len() + second.len() + 4 * columns * rows)
        .check(move || {
            let results = download(&motions)?;
            for (i, result) in results.into_iter().enumerate() {
                let (dx, dy) = place(i % columns, i / columns);
                let expected = Motion {
                    x: RANGE as i16 - dx as i16,
                    y: RANGE as i16 - dy as i16,
                };
                if result != expected {
                    return Err(format!(
                        "block {i} moved by {result:?}, not by {expected:?}"
                    ));
                }
            }
            Ok(())
        }))
}
