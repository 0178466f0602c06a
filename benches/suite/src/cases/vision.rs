//! Vision: histograms of oriented gradients, and optical flow.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, download, near, random, samples, uniform_f32, upload, zeroed,
};
use bench_kernels::vision::{BINS, CELL, Gradient, MARGIN, RADIUS};
use cust::error::CudaResult;
use cust::vector::F32x2;

pub fn hog_cells(scale: Scale) -> CudaResult<Case> {
    let (columns, rows) = match scale.small {
        true => (40, 6),
        false => (960, 540),
    };
    let (width, height) = (columns * CELL, rows * CELL);
    let pixels: Vec<u8> = (0..width * height)
        .map(|i| random(i as u64) as u8)
        .collect();
    let image = upload(&pixels)?;
    let cells: Buffer<[f32; BINS]> = zeroed(columns * rows)?;
    let pointers = Args::new().pointer(&image).pointer(&cells);
    let grid = (columns.div_ceil(32), rows.div_ceil(4));
    Ok(Case::new("hog_cells", grid, (32, 4))
        .args(
            (pointers.clone().value(columns as i32)).value(rows as i32),
            pointers.value(columns).value(rows),
            Args::new().slice(&image).rows(&cells, columns),
        )
        .input(&image)
        .output(&cells)
        .bytes(width * height + 4 * BINS * columns * rows)
        .check(move || {
            let at = |x: usize, y: usize| match x < width && y < height {
                true => f32::from(pixels[y * width + x]),
                false => 0.0,
            };
            let results = download(&cells)?;
            for i in samples(results.len()) {
                let mut bins = [0.0; BINS];
                for k in 0..CELL * CELL {
                    let x = i % columns * CELL + k % CELL;
                    let y = i / columns * CELL + k / CELL;
                    let gradient = Gradient {
                        x: at(x + 1, y) - at(x.wrapping_sub(1), y),
                        y: at(x, y + 1) - at(x, y.wrapping_sub(1)),
                    };
                    bins[gradient.bin()] += f64::from(gradient.length());
                }
                for (result, expected) in results[i].into_iter().zip(bins) {
                    near(i, result, expected, 1e-5, 0.0)?;
                }
            }
            Ok(())
        }))
}

pub fn optical_flow(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (45, 21),
        false => (3840, 2160),
    };
    let n = width * height;
    let first = uniform_f32(n, 1);
    let noise = uniform_f32(n, 2);
    let second: Vec<f32> = (first.iter().zip(&noise))
        .map(|(pixel, noise)| 0.9 * pixel + 0.1 * noise)
        .collect();
    let (before, after) = (upload(&first)?, upload(&second)?);
    let flow: Buffer<F32x2> = zeroed(n)?;
    let pointers = Args::new().pointer(&before).pointer(&after).pointer(&flow);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("optical_flow", grid, (32, 8))
        .args(
            (pointers.clone().value(width as i32)).value(height as i32),
            pointers.value(width).value(height),
            (Args::new().slice(&before).slice(&after)).rows(&flow, width),
        )
        .input(&before)
        .input(&after)
        .output(&flow)
        .bytes(16 * n)
        .check(move || {
            let at = |x: usize, y: usize| f64::from(first[y * width + x]);
            let results = download(&flow)?;
            for i in samples(n) {
                let (x, y) = (i % width, i / width);
                let inner =
                    (MARGIN..width - MARGIN).contains(&x) && (MARGIN..height - MARGIN).contains(&y);
                let mut sums = [0.0; 5];
                let side = 2 * RADIUS + 1;
                for k in 0..if inner { side * side } else { 0 } {
                    let (x, y) = (x + k % side - RADIUS, y + k / side - RADIUS);
                    let dx = 0.5 * (at(x + 1, y) - at(x - 1, y));
                    let dy = 0.5 * (at(x, y + 1) - at(x, y - 1));
                    let dt = f64::from(second[y * width + x]) - at(x, y);
                    let products = [dx * dx, dx * dy, dy * dy, dx * dt, dy * dt];
                    sums = std::array::from_fn(|k| sums[k] + products[k]);
                }
                let [xx, xy, yy, xt, yt] = sums;
                let determinant = xx * yy - xy * xy;
                let expected = match inner {
                    true => [xy * yt - yy * xt, xy * xt - xx * yt].map(|x| x / determinant),
                    false => [0.0; 2],
                };
                for (result, expected) in results[i].0.into_iter().zip(expected) {
                    near(i, result, expected, 1e-4, 1e-4)?;
                }
            }
            Ok(())
        }))
}
