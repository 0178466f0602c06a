//! Layers of neural networks.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, near, samples, uniform, uniform_f32, upload, zeroed,
};
use bench_kernels::layers::{
    AREA, BISECTIONS, CHOOSERS, EPSILON, FILTER, GROUP, GROUPS, MEMBERS, NORMALIZERS, PAIRS,
    PIXELS, pair,
};
use cust::error::CudaResult;

/// Returns a pixel of a plane, or zero outside. Coordinates are one too large.
fn pixel(plane: &[f32], width: usize, height: usize, x: usize, y: usize) -> f64 {
    if (1..=width).contains(&x) && (1..=height).contains(&y) {
        plane[(y - 1) * width + x - 1].into()
    } else {
        0.0
    }
}

pub fn depthwise3x3(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (40, 19),
        false => (224, 224),
    };
    let channels = scale.pick(3, 64);
    let planes = scale.pick(2, 16) * channels;
    let n = planes * width * height;
    let values = uniform_f32(n, 1);
    let filters: Vec<[f32; AREA]> = (uniform_f32(channels * AREA, 2).as_chunks().0.iter())
        .map(|filter: &[f32; AREA]| filter.map(|x| 2.0 * x - 1.0))
        .collect();
    let biases = uniform_f32(channels, 3);
    let (from, from_filters, from_biases) = (upload(&values)?, upload(&filters)?, upload(&biases)?);
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&from)
        .pointer(&from_filters)
        .pointer(&from_biases)
        .pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8), planes);
    Ok(Case::new("depthwise3x3", grid, (32, 8))
        .args(
            (pointers.clone().value(width as i32))
                .value(height as i32)
                .value(channels as i32),
            pointers.value(width).value(height).value(channels),
            Args::new()
                .slice(&from)
                .slice(&from_filters)
                .slice(&from_biases)
                .volume(&to, width, height),
        )
        .input(&from)
        .input(&from_filters)
        .input(&from_biases)
        .output(&to)
        .bytes(8 * n)
        .f32_operations(18.0 * n as f64)
        .check(move || {
            close(&to, 1e-5, 1e-5, |i| {
                let (x, y) = (i % width, i / width % height);
                let plane = i / (width * height);
                let channel = plane % channels;
                let values = &values[plane * width * height..];
                let products = (filters[channel].iter().enumerate()).map(|(k, &weight)| {
                    let (dx, dy) = (k % FILTER, k / FILTER);
                    f64::from(weight) * pixel(values, width, height, x + dx, y + dy)
                });
                f64::from(biases[channel]) + products.sum::<f64>()
            })
        }))
}

pub fn im2col(scale: Scale) -> CudaResult<Case> {
    const PADDING: usize = 1;
    const STRIDE: usize = 1;
    let (width, height) = match scale.small {
        true => (23, 15),
        false => (112, 112),
    };
    let (channels, images) = (scale.pick(3, 64), scale.pick(2, 16));
    let size = |n: usize| (n + 2 * PADDING - FILTER) / STRIDE + 1;
    let (to_width, to_height) = (size(width), size(height));
    let (rows, pixels) = (channels * AREA, to_width * to_height);
    let values = uniform_f32(images * channels * width * height, 1);
    let from = upload(&values)?;
    let to: Buffer<f32> = zeroed(images * rows * pixels)?;
    let start = Args::new().pointer(&from);
    Ok(
        Case::new("im2col", (pixels.div_ceil(256), rows, images), 256)
            .args(
                (start.clone().value(channels as i32))
                    .value(width as i32)
                    .value(height as i32)
                    .value(to_width as i32)
                    .value(to_height as i32)
                    .value(STRIDE as i32)
                    .value(PADDING as i32)
                    .pointer(&to),
                (start.value(channels).value(width).value(height))
                    .value(to_width)
                    .value(to_height)
                    .value(STRIDE)
                    .value(PADDING)
                    .pointer(&to),
                (Args::new().slice(&from).value(channels))
                    .value(width)
                    .value(height)
                    .value(to_width)
                    .value(STRIDE)
                    .value(PADDING)
                    .volume(&to, pixels, rows),
            )
            .input(&from)
            .output(&to)
            .bytes(4 * values.len() + 4 * images * rows * pixels)
            .check(move || {
                close(&to, 0.0, 0.0, |i| {
                    let (at, row, image) = (i % pixels, i / pixels % rows, i / (pixels * rows));
                    let (dx, dy) = (row % AREA % FILTER, row % AREA / FILTER);
                    let (x, y) = (at % to_width * STRIDE + dx, at / to_width * STRIDE + dy);
                    let plane = &values[(image * channels + row / AREA) * width * height..];
                    pixel(plane, width, height, x + 1 - PADDING, y + 1 - PADDING)
                })
            }),
    )
}

pub fn group_norm(scale: Scale) -> CudaResult<Case> {
    let groups = scale.pick(3, 32 * GROUPS);
    let values = uniform_f32(groups * GROUP, 1);
    let (gammas, betas) = (
        uniform_f32(GROUPS * MEMBERS, 2),
        uniform_f32(GROUPS * MEMBERS, 3),
    );
    let (from, gamma, beta) = (upload(&values)?, upload(&gammas)?, upload(&betas)?);
    let to: Buffer<f32> = zeroed(groups * GROUP)?;
    let pointers = Args::new()
        .pointer(&from)
        .pointer(&gamma)
        .pointer(&beta)
        .pointer(&to);
    Ok(Case::new("group_norm", groups, NORMALIZERS)
        .args(
            pointers.clone(),
            pointers,
            Args::new()
                .slice(&from)
                .slice(&gamma)
                .slice(&beta)
                .output(&to),
        )
        .input(&from)
        .input(&gamma)
        .input(&beta)
        .output(&to)
        .bytes(8 * groups * GROUP)
        .f32_operations(7.0 * (groups * GROUP) as f64)
        .check(move || {
            let results = download(&to)?;
            for group in (0..groups).step_by(groups.div_ceil(40)) {
                let numbers = &values[group * GROUP..][..GROUP];
                let mean = numbers.iter().map(|&x| f64::from(x)).sum::<f64>() / GROUP as f64;
                let squares = numbers.iter().map(|&x| (f64::from(x) - mean).powi(2));
                let variance = squares.sum::<f64>() / GROUP as f64;
                let scale = 1.0 / (variance + f64::from(EPSILON)).sqrt();
                for i in samples(GROUP) {
                    let channel = group % GROUPS * MEMBERS + i / PIXELS;
                    let normal = (f64::from(numbers[i]) - mean) * scale;
                    let expected = normal * f64::from(gammas[channel]) + f64::from(betas[channel]);
                    let i = group * GROUP + i;
                    near(i, results[i], expected, 1e-4, 1e-4)?;
                }
            }
            Ok(())
        }))
}

pub fn rope(scale: Scale) -> CudaResult<Case> {
    let heads = scale.pick(3, 32);
    let tokens = scale.pick(5, 1 << 14);
    let width = heads * PAIRS;
    let base = 10000f64.powf(-1.0 / PAIRS as f64) as f32;
    let number = |i: usize| 2.0 * uniform(i as u64) as f32 - 1.0;
    let values: Vec<_> = (0..tokens * width)
        .map(|i| pair(number(2 * i), number(2 * i + 1)))
        .collect();
    let places: Vec<i32> = (0..tokens as i32).map(|i| i % 4096).collect();
    let (from, positions) = (upload(&values)?, upload(&places)?);
    let to = upload(&vec![pair(0.0, 0.0); tokens * width])?;
    let start = Args::new().pointer(&from).pointer(&positions).value(base);
    Ok(Case::new("rope", (width.div_ceil(256), tokens), 256)
        .args(
            start.clone().pointer(&to).value(width as i32),
            start.pointer(&to).value(width),
            Args::new()
                .slice(&from)
                .slice(&positions)
                .value(base)
                .rows(&to, width),
        )
        .input(&from)
        .input(&positions)
        .output(&to)
        .bytes(8 * tokens * width + 4 * tokens)
        .check(move || {
            let results = download(&to)?;
            for i in samples(tokens * width) {
                let power = f64::from(base).powi((i % width % PAIRS) as i32);
                let (sin, cos) = (f64::from(places[i / width]) * power).sin_cos();
                let [x, y] = [values[i].low(), values[i].high()].map(|x| f64::from(x.to_f32()));
                // Angles of up to 4096 have an error in `f32`.
                near(i, results[i].low().to_f32(), x * cos - y * sin, 1e-3, 2e-3)?;
                near(i, results[i].high().to_f32(), x * sin + y * cos, 1e-3, 2e-3)?;
            }
            Ok(())
        }))
}

pub fn top_p(scale: Scale) -> CudaResult<Case> {
    const P: f32 = 0.9;
    let rows = scale.pick(5, 1024);
    let vocabulary = scale.pick(1000, 32000);
    let values: Vec<f32> = (uniform_f32(rows * vocabulary, 1).into_iter())
        .map(|x| 12.0 * x)
        .collect();
    let numbers = uniform_f32(rows, 2);
    let (logits, draws) = (upload(&values)?, upload(&numbers)?);
    let tokens: Buffer<u32> = zeroed(rows)?;
    let start = Args::new().pointer(&logits);
    Ok(Case::new("top_p", rows, CHOOSERS)
        .args(
            (start.clone().value(vocabulary as i32))
                .pointer(&draws)
                .value(P)
                .pointer(&tokens),
            (start.value(vocabulary).pointer(&draws))
                .value(P)
                .pointer(&tokens),
            (Args::new().slice(&logits).value(vocabulary))
                .slice(&draws)
                .value(P)
                .output(&tokens),
        )
        .input(&logits)
        .input(&draws)
        .output(&tokens)
        .bytes(4 * rows * vocabulary)
        .check(move || {
            let results = download(&tokens)?;
            let (mut different, mut count) = (0, 0);
            for row in (0..rows).step_by(rows.div_ceil(200)) {
                let logits = &values[row * vocabulary..][..vocabulary];
                let largest = logits.iter().copied().fold(f32::MIN, f32::max);
                let weights: Vec<f64> = (logits.iter())
                    .map(|logit| f64::from(logit - largest).exp())
                    .collect();
                let sum: f64 = weights.iter().sum();
                let (mut low, mut high, mut mass) = (0.0, 1.0, sum);
                for _ in 0..BISECTIONS {
                    let middle = 0.5 * (low + high);
                    let kept: f64 = weights.iter().filter(|&&weight| weight >= middle).sum();
                    if kept >= f64::from(P) * sum {
                        (low, mass) = (middle, kept);
                    } else {
                        high = middle;
                    }
                }
                let target = f64::from(numbers[row]) * mass;
                let mut before = 0.0;
                let expected = weights.iter().position(|&weight| {
                    before += if weight >= low { weight } else { 0.0 };
                    before > target
                });
                different += u32::from(expected != Some(results[row] as usize));
                count += 1;
            }
            // Sums round differently, and a draw may be near the border of two tokens.
            match 20 * different <= count {
                true => Ok(()),
                false => Err(format!("{different} of {count} tokens differ")),
            }
        }))
}
