//! Images.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, random, samples, uniform_f32, upload, zeroed,
};
use bench_kernels::imaging::{ROOT, around, cubic, magnitude, nearest, place, rgb, spline};
use cust::error::CudaResult;
use cust::vector::F32x2;

/// Returns `n` pseudorandom bytes.
fn bytes(n: usize, seed: u64) -> Vec<u8> {
    (0..n.div_ceil(8) as u64)
        .flat_map(|i| random(i ^ (seed << 40)).to_le_bytes())
        .take(n)
        .collect()
}

pub fn sobel(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 20),
        false => (16384, 8192),
    };
    let n = width * height;
    // Gradients of random pixels would mostly be white.
    let values: Vec<u8> = bytes(n, 1).into_iter().map(|x| x / 4).collect();
    let from = upload(&values)?;
    let to: Buffer<u8> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    let grid = (width.div_ceil(16), height.div_ceil(16));
    Ok(Case::new("sobel", grid, (16, 16))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            Args::new().slice(&from).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .bytes(2 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let (x, y) = (i % width, i / width);
                if x == 0 || y == 0 || x == width - 1 || y == height - 1 {
                    return 0.0;
                }
                let at = |dx: usize, dy: usize| i32::from(values[i + dx + dy * width - width - 1]);
                let weights = [1, 2, 1];
                let sum = |f: &dyn Fn(usize) -> i32| (0..3).map(|k| weights[k] * f(k)).sum::<i32>();
                let gx = sum(&|k| at(2, k) - at(0, k));
                let gy = sum(&|k| at(k, 2) - at(k, 0));
                magnitude(gx, gy).into()
            })
        }))
}

pub fn box_rows(scale: Scale) -> CudaResult<Case> {
    const RADIUS: usize = 16;
    let (width, height) = match scale.small {
        true => (70, 140),
        false => (2048, 1 << 15),
    };
    let n = width * height;
    let values = uniform_f32(n, 1);
    let from = upload(&values)?;
    let to: Buffer<f32> = zeroed(n)?;
    let start = Args::new().pointer(&from);
    Ok(Case::new("box_rows", height.div_ceil(128), 128)
        .args(
            (start.clone().value(RADIUS as i32).pointer(&to))
                .value(width as i32)
                .value(height as i32),
            start.value(RADIUS).pointer(&to).value(width).value(height),
            Args::new().slice(&from).value(RADIUS).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * n)
        .f32_operations(3.0 * n as f64)
        .check(move || {
            // Sums of differences along a row.
            close(&to, 0.0, 1e-4, |i| {
                let (x, row) = (i % width, &values[i / width * width..][..width]);
                let near = (x..=x + 2 * RADIUS).map(|x| {
                    let x = x.saturating_sub(RADIUS).min(width - 1);
                    f64::from(row[x])
                });
                near.sum::<f64>() / (2 * RADIUS + 1) as f64
            })
        }))
}

pub fn yuv_to_rgb(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 20),
        false => (16384, 8192),
    };
    let n = width * height;
    let [lumas, us, vs] = [(n, 1), (n / 4, 2), (n / 4, 3)].map(|(n, seed)| bytes(n, seed));
    let (luma, u, v) = (upload(&lumas)?, upload(&us)?, upload(&vs)?);
    let to: Buffer<[u8; 3]> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&luma)
        .pointer(&u)
        .pointer(&v)
        .pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("yuv_to_rgb", grid, (32, 8))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            Args::new()
                .slice(&luma)
                .slice(&u)
                .slice(&v)
                .rows(&to, width),
        )
        .input(&luma)
        .input(&u)
        .input(&v)
        .output(&to)
        .bytes(n + n / 2 + 3 * n)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let chroma = i / width / 2 * (width / 2) + i % width / 2;
                let expected = rgb(lumas[i], us[chroma], vs[chroma]);
                if results[i] != expected {
                    let result = results[i];
                    return Err(format!(
                        "pixel {i} is {result:?}, but should be {expected:?}"
                    ));
                }
            }
            Ok(())
        }))
}

pub fn resize_bicubic(scale: Scale) -> CudaResult<Case> {
    let ([width, height], [to_width, to_height]) = match scale.small {
        true => ([50, 31], [77, 43]),
        false => ([4096, 2304], [7680, 4320]),
    };
    let values = uniform_f32(width * height, 1);
    let n = to_width * to_height;
    let from = upload(&values)?;
    let to: Buffer<f32> = zeroed(n)?;
    let (scale_x, scale_y) = (
        width as f32 / to_width as f32,
        height as f32 / to_height as f32,
    );
    let start = Args::new().pointer(&from);
    let grid = (to_width.div_ceil(32), to_height.div_ceil(8));
    Ok(Case::new("resize_bicubic", grid, (32, 8))
        .args(
            (start.clone().value(width as i32).value(height as i32))
                .value(scale_x)
                .value(scale_y)
                .pointer(&to)
                .value(to_width as i32)
                .value(to_height as i32),
            (start.value(width).value(height))
                .value(scale_x)
                .value(scale_y)
                .pointer(&to)
                .value(to_width)
                .value(to_height),
            (Args::new().slice(&from).value(width).value(height))
                .value(scale_x)
                .value(scale_y)
                .rows(&to, to_width),
        )
        .input(&from)
        .output(&to)
        .bytes(4 * values.len() + 4 * n)
        .f32_operations(80.0 * n as f64)
        .check(move || {
            // Positions of up to 4096 have an error of 1/4096 in `f32`, if multiply-adds are not
            // contracted as on the device.
            close(&to, 0.0, 2e-3, |i| {
                let (left, fx) = place(i % to_width, scale_x);
                let (up, fy) = place(i / to_width, scale_y);
                let rows = (-1..).zip(cubic(fy)).map(|(dy, wy)| {
                    let row = &values[nearest(up + dy, height) * width..];
                    let pixels = (-1..)
                        .zip(cubic(fx))
                        .map(|(dx, wx)| f64::from(wx) * f64::from(row[nearest(left + dx, width)]));
                    f64::from(wy) * pixels.sum::<f64>()
                });
                rows.sum()
            })
        }))
}

pub fn warp_spline(scale: Scale) -> CudaResult<Case> {
    let (width, height): (usize, usize) = match scale.small {
        true => (70, 45),
        false => (8192, 4096),
    };
    let spacing = scale.pick(20, 32);
    // A control point before each side, and two after it.
    let (columns, rows) = (width.div_ceil(spacing) + 3, height.div_ceil(spacing) + 3);
    let values = uniform_f32(width * height, 1);
    let points: Vec<F32x2> = (uniform_f32(2 * columns * rows, 2).as_chunks().0.iter())
        .map(|&[x, y]| F32x2::new(16.0 * x - 8.0, 16.0 * y - 8.0))
        .collect();
    let (from, control) = (upload(&values)?, upload(&points)?);
    let to: Buffer<f32> = zeroed(width * height)?;
    let pointers = Args::new().pointer(&from).pointer(&control);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("warp_spline", grid, (32, 8))
        .args(
            (pointers.clone().value(columns as i32).value(spacing as i32))
                .pointer(&to)
                .value(width as i32)
                .value(height as i32),
            (pointers.value(columns).value(spacing))
                .pointer(&to)
                .value(width)
                .value(height),
            (Args::new().slice(&from).slice(&control))
                .value(columns)
                .value(spacing)
                .rows(&to, width),
        )
        .input(&from)
        .input(&control)
        .output(&to)
        .bytes(8 * width * height)
        .f32_operations(110.0 * (width * height) as f64)
        .check(move || {
            // Positions of up to 8192 have an error of 1/2048 in `f32`.
            close(&to, 0.0, 2e-3, |i| {
                let (x, y) = (i % width, i / width);
                let weights = |at: usize| spline((at % spacing) as f32 / spacing as f32);
                let (mut dx, mut dy) = (0.0, 0.0);
                for (j, wy) in weights(y).into_iter().enumerate() {
                    for (i, wx) in weights(x).into_iter().enumerate() {
                        let point = points[(y / spacing + j) * columns + x / spacing + i];
                        dx += wx * wy * point[0];
                        dy += wx * wy * point[1];
                    }
                }
                let (left, right, fx) = around(x as f32 + dx, width);
                let (up, down, fy) = around(y as f32 + dy, height);
                let [above, below] = [up, down].map(|y| {
                    let [a, b] = [left, right].map(|x| f64::from(values[y * width + x]));
                    a + (b - a) * f64::from(fx)
                });
                above + (below - above) * f64::from(fy)
            })
        }))
}

pub fn unite_pixels(scale: Scale) -> CudaResult<Case> {
    let (width, height): (usize, usize) = match scale.small {
        true => (70, 45),
        false => (4096, 4096),
    };
    // Squares of 4×4 random pixels, of which half are black.
    let squares = width.div_ceil(4);
    let values: Vec<u8> = (0..width * height)
        .map(|i| (random((i / width / 4 * squares + i % width / 4) as u64) & 1) as u8)
        .collect();
    let image = upload(&values)?;
    let parents: Buffer<u32> = zeroed(width * height)?;
    let start = Args::new().pointer(&image);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("unite_pixels", grid, (32, 8))
        .args(
            (start.clone().value(width as i32).value(height as i32)).pointer(&parents),
            start.value(width).value(height).pointer(&parents),
            (Args::new().slice(&image).value(width).value(height)).slice(&parents),
        )
        .input(&image)
        .output_from(&parents, 0xff)
        .reset()
        .bytes(5 * width * height)
        .check(move || {
            let root = |parents: &[u32], mut pixel: usize| {
                while parents[pixel] != ROOT {
                    pixel = parents[pixel] as usize;
                }
                pixel
            };
            let mut expected = vec![ROOT; width * height];
            for i in 0..width * height {
                let left = (i % width > 0).then(|| i - 1);
                for other in [left, i.checked_sub(width)].into_iter().flatten() {
                    if values[i] != 0 && values[other] != 0 {
                        let (a, b) = (root(&expected, i), root(&expected, other));
                        if a != b {
                            expected[a.max(b)] = a.min(b) as u32;
                        }
                    }
                }
            }
            let results = download(&parents)?;
            if results
                .iter()
                .enumerate()
                .any(|(i, &parent)| parent != ROOT && parent as usize >= i)
            {
                return Err("a parent is not before its pixel".to_owned());
            }
            for i in samples(width * height) {
                let (result, expected) = (root(&results, i), root(&expected, i));
                if result != expected {
                    return Err(format!(
                        "the root of pixel {i} is {result}, but should be {expected}"
                    ));
                }
            }
            Ok(())
        }))
}
