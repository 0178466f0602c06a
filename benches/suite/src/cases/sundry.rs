//! Kernels in many styles.

// The cases are as their author wrote them.
#![allow(
    clippy::approx_constant,
    clippy::chunks_exact_to_as_chunks,
    clippy::manual_is_multiple_of,
    clippy::needless_range_loop,
    clippy::precedence
)]

use super::Scale;
use crate::case::{
    Args, Case, close, download, equal, near, random, same, samples, uniform, uniform_f32,
    uniform_f64, upload, zeroed,
};
use bench_kernels::sundry as device;
use cust::error::CudaResult;

pub fn collatz_peak(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 20);
    let first = scale.pick(1, 1 << 40) as u64;
    let (steps, peaks) = (zeroed::<u32>(n)?, zeroed::<u64>(n)?);
    let (s, p) = (steps.clone(), peaks.clone());
    let raw = Args::new().value(first).pointer(&steps).pointer(&peaks);
    Ok(Case::new("collatz_peak", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().value(first).output(&steps).output(&peaks),
        )
        .output(&steps)
        .output(&peaks)
        .check(move || {
            equal(&s, |i| device::collatz(first + i as u64).0)?;
            equal(&p, |i| device::collatz(first + i as u64).1)
        }))
}

pub fn version_order(scale: Scale) -> CudaResult<Case> {
    const N: usize = device::VERSION;
    let n = scale.pick(1000, 1 << 20);
    let text = |i: usize, seed: u64| {
        let mut text = [0u8; N];
        // The second version often repeats the first's leading numbers.
        let of = |part: u64| {
            let r = random(((i as u64) << 8) | part);
            let own = random(((i as u64) << 8) | part | (seed << 50));
            if r % 4 != 0 { r / 4 % 300 } else { own % 300 }
        };
        let words = match random(i as u64 ^ (seed << 45)) % 16 {
            0 => "1..2".to_owned(),
            1..=5 => format!("{}.{}", of(0), of(1)),
            6..=10 => format!("{}.{}.{}-rc", of(0), of(1), of(2)),
            _ => format!("{}.{}.{}.{}", of(0), of(1), of(2), of(3)),
        };
        text[..words.len()].copy_from_slice(words.as_bytes());
        text
    };
    let a: Vec<[u8; N]> = (0..n).map(|i| text(i, 0)).collect();
    let b: Vec<[u8; N]> = (0..n).map(|i| text(i, 1)).collect();
    let (da, db) = (upload(&a)?, upload(&b)?);
    let to = zeroed::<i32>(n)?;
    let raw = Args::new().pointer(&da).pointer(&db).pointer(&to);
    Ok(Case::new("version_order", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&da).slice(&db).output(&to),
        )
        .input(&da)
        .input(&db)
        .output(&to)
        .check(move || {
            let parse = |text: &[u8]| -> Option<Vec<u32>> {
                let end = text.iter().position(|c| *c == 0 || *c == b'-').unwrap_or(N);
                let text = std::str::from_utf8(&text[..end]).unwrap();
                text.split('.').map(|part| part.parse().ok()).collect()
            };
            equal(&to, |i| match (parse(&a[i]), parse(&b[i])) {
                (Some(a), Some(b)) => a.cmp(&b) as i32,
                // An earlier difference decides before the malformed part is reached.
                _ => device::compare_versions(&a[i], &b[i]).map_or(2, |order| order as i32),
            })
        }))
}

pub fn closest_pair(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(600, 20_000);
    let grid = scale.blocks(8);
    let side = scale.pick(500, 1 << 14) as f64;
    let place = |seed: u64| -> Vec<f32> {
        (0..n as u64)
            .map(|i| (uniform(i ^ (seed << 40)) * side).floor() as f32)
            .collect()
    };
    let (x, y) = (place(1), place(2));
    let (dx, dy) = (upload(&x)?, upload(&y)?);
    let to = zeroed::<[u32; 3]>(grid)?;
    let raw = Args::new().pointer(&dx).pointer(&dy).pointer(&to);
    Ok(Case::new("closest_pair", grid, 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n as u32),
            Args::new().slice(&dx).slice(&dy).output(&to),
        )
        .input(&dx)
        .input(&dy)
        .output(&to)
        .check(move || {
            let mut best = [u32::MAX; 3];
            for i in 0..n {
                let near = (i + 1..n)
                    .map(|j| ((x[j] - x[i]).powi(2) + (y[j] - y[i]).powi(2), j))
                    .fold((f32::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a });
                best = best.min([near.0.to_bits(), i as u32, near.1 as u32]);
            }
            let result = download(&to)?.into_iter().min().unwrap();
            same(0, result, best)
        }))
}

pub fn bracket_depth(scale: Scale) -> CudaResult<Case> {
    let (n, length) = (scale.pick(7, 4096), scale.pick(700, 8000));
    let mut text = vec![b' '; n * length];
    for (d, text) in text.chunks_mut(length).enumerate() {
        let mut open = Vec::new();
        for i in 0..length {
            let r = random((d * length + i) as u64);
            let left = length - i;
            text[i] = if open.len() + 1 >= left {
                open.pop().unwrap_or(b'.')
            } else {
                match r % 8 {
                    0 | 1 => {
                        open.push(b")]}"[(r >> 8) as usize % 3]);
                        b"([{"[(r >> 8) as usize % 3]
                    }
                    2 | 3 => open.pop().unwrap_or(b','),
                    _ => b'a' + (r >> 16) as u8 % 26,
                }
            };
        }
        if d % 4 == 1 {
            let at = random(d as u64) as usize % length;
            text[at] = b')';
        }
    }
    let dt = upload(&text)?;
    let to = zeroed::<i32>(n)?;
    Ok(Case::new("bracket_depth", n, 256)
        .args(
            Args::new().pointer(&dt).value(length as i32).pointer(&to),
            Args::new().pointer(&dt).value(length as u32).pointer(&to),
            Args::new().slice(&dt).value(length).output(&to),
        )
        .input(&dt)
        .output(&to)
        .check(move || {
            equal(&to, |d| {
                let (mut depth, mut highest) = (0, 0);
                for byte in &text[d * length..][..length] {
                    match byte {
                        b'(' | b'[' | b'{' => depth += 1,
                        b')' | b']' | b'}' => depth -= 1,
                        _ => {}
                    }
                    if depth < 0 {
                        return -1;
                    }
                    highest = highest.max(depth);
                }
                if depth == 0 { highest } else { -1 }
            })
        }))
}

pub fn pipe_loss(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 20);
    let speed: Vec<f32> = uniform_f32(n, 1)
        .into_iter()
        .map(|x| 0.05 + x * x)
        .collect();
    let rough: Vec<f32> = uniform_f32(n, 2)
        .into_iter()
        .map(|x| 1e-4 + 0.02 * x)
        .collect();
    let (s, r) = (upload(&speed)?, upload(&rough)?);
    let to = zeroed::<f32>(n)?;
    let raw = Args::new().pointer(&s).pointer(&r).pointer(&to);
    Ok(Case::new("pipe_loss", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&s).slice(&r).output(&to),
        )
        .input(&s)
        .input(&r)
        .output(&to)
        .check(move || {
            close(&to, 1e-3, 1e-6, |i| {
                device::pipe_loss(speed[i], rough[i]).into()
            })
        }))
}

pub fn abcd_beam(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3000, device::SCAN * device::SCAN);
    let count = scale.pick(16, 96);
    let kinds: Vec<u32> = (0..count as u64)
        .map(|k| {
            if k % 2 == 0 {
                0
            } else {
                (random(k) % 4) as u32
            }
        })
        .collect();
    let values: Vec<f32> = kinds
        .iter()
        .enumerate()
        .map(|(k, kind)| {
            let x = uniform(k as u64 + 77) as f32;
            match kind {
                0 => 0.1 + 0.2 * x,
                1 => 3.0 + 8.0 * x,
                2 => 6.0 + 12.0 * x,
                _ => 0.01 + 0.05 * x,
            }
        })
        .collect();
    let (k, v) = (upload(&kinds)?, upload(&values)?);
    let to = zeroed::<f32>(n)?;
    Ok(Case::new("abcd_beam", n.div_ceil(256), 256)
        .args(
            Args::new()
                .pointer(&k)
                .pointer(&v)
                .value(count as i32)
                .pointer(&to)
                .value(n as i32),
            Args::new()
                .pointer(&k)
                .pointer(&v)
                .value(count)
                .pointer(&to)
                .value(n),
            Args::new().slice(&k).slice(&v).output(&to),
        )
        .input(&k)
        .input(&v)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let (length, power) = device::scan_point(i);
                let (mut a, mut b, mut c, mut d) = (1.0f64, 0.0f64, 0.0f64, 1.0f64);
                for (kind, value) in kinds.iter().zip(&values) {
                    let value = f64::from(*value);
                    let (f, g) = match kind {
                        0 => (value * f64::from(length), 0.0),
                        1 => (0.0, -f64::from(power) / value),
                        2 => (0.0, -2.0 * f64::from(power) / value),
                        _ => (value / 1.5, 0.0),
                    };
                    (a, b, c, d) = (a + f * c, b + f * d, g * a + c, g * b + d);
                }
                let m = (a + d) / 2.0;
                // Near the limit of stability and where `b` changes its sign, `f32` is not accurate.
                if (m.abs() - 1.0).abs() < 0.02 || b.abs() < 0.05 {
                    continue;
                }
                let expected = if m.abs() < 1.0 {
                    (b.abs() / (1.0 - m * m).sqrt()).sqrt()
                } else {
                    0.0
                };
                near(i, results[i], expected, 2e-2, 1e-4)?;
            }
            Ok(())
        }))
}

pub fn matrix_sqrt(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(500, 400_000);
    let from: Vec<[[f64; 3]; 3]> = (0..n as u64)
        .map(|i| {
            let a: [[f64; 3]; 3] = std::array::from_fn(|r| {
                std::array::from_fn(|c| uniform(i * 9 + (r * 3 + c) as u64) - 0.3)
            });
            // `AᵀA + εI` is positive definite.
            std::array::from_fn(|r| {
                std::array::from_fn(|c| {
                    let product: f64 = (0..3).map(|k| a[k][r] * a[k][c]).sum();
                    product * (1.0 + (i % 50) as f64) + if r == c { 0.05 } else { 0.0 }
                })
            })
        })
        .collect();
    let f = upload(&from)?;
    let to = zeroed::<[[f64; 3]; 3]>(n)?;
    let raw = Args::new().pointer(&f).pointer(&to);
    Ok(Case::new("matrix_sqrt", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&f).output(&to),
        )
        .input(&f)
        .output(&to)
        .check(move || {
            let roots = download(&to)?;
            for i in samples(n) {
                for r in 0..3 {
                    for c in 0..3 {
                        let product: f64 = (0..3).map(|k| roots[i][r][k] * roots[i][k][c]).sum();
                        near(i, product, from[i][r][c], 1e-6, 1e-6)?;
                    }
                }
            }
            Ok(())
        }))
}

pub fn census24(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(75, 4000), scale.pick(29, 2000));
    let image: Vec<u8> = (0..width * height)
        .map(|i| {
            ((i % width) as f64 / 9.0).sin().mul_add(40.0, 100.0) as u8
                + (random(i as u64) % 90) as u8
        })
        .collect();
    let from = upload(&image)?;
    let to = zeroed::<u32>(width * height)?;
    let raw = Args::new()
        .pointer(&from)
        .value(width as i32)
        .value(height as i32)
        .pointer(&to);
    Ok(Case::new(
        "census24",
        (width.div_ceil(32), height.div_ceil(8)),
        (32, 8),
    )
    .args(raw.clone(), raw, Args::new().slice(&from).rows(&to, width))
    .input(&from)
    .output(&to)
    .check(move || {
        equal(&to, |i| {
            let (x, y) = ((i % width) as i64, (i / width) as i64);
            let mut bits = 0;
            for dy in -2..=2 {
                for dx in -2..=2 {
                    if (dx, dy) != (0, 0) {
                        let x = (x + dx).clamp(0, width as i64 - 1) as usize;
                        let y = (y + dy).clamp(0, height as i64 - 1) as usize;
                        bits = bits * 2 + u32::from(image[y * width + x] < image[i]);
                    }
                }
            }
            bits
        })
    }))
}

pub fn erode_ball(scale: Scale) -> CudaResult<Case> {
    let (width, height, depth) = (scale.pick(21, 250), scale.pick(11, 250), scale.pick(9, 100));
    let from: Vec<u8> = (0..width * height * depth)
        .map(|i| 255 - (random(i as u64 / 3) % 160) as u8 - (i % 50) as u8)
        .collect();
    let f = upload(&from)?;
    let to = zeroed::<u8>(from.len())?;
    let raw = Args::new()
        .pointer(&f)
        .value(width as i32)
        .value(height as i32)
        .value(depth as i32)
        .pointer(&to);
    let grid = (width.div_ceil(16), height.div_ceil(4), depth.div_ceil(4));
    Ok(Case::new("erode_ball", grid, (16, 4, 4))
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&f).volume(&to, width, height),
        )
        .input(&f)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let (x, y, z) = (i % width, i / width % height, i / width / height);
                let mut lowest = 255;
                for zz in z.saturating_sub(2)..depth.min(z + 3) {
                    for yy in y.saturating_sub(2)..height.min(y + 3) {
                        for xx in x.saturating_sub(2)..width.min(x + 3) {
                            let square = |a: usize, b: usize| a.abs_diff(b).pow(2);
                            if square(x, xx) + square(y, yy) + square(z, zz) <= 5 {
                                lowest = lowest.min(from[(zz * height + yy) * width + xx]);
                            }
                        }
                    }
                }
                lowest
            })
        }))
}

pub fn kuramoto3d(scale: Scale) -> CudaResult<Case> {
    let (width, height, depth) = (scale.pick(40, 256), scale.pick(11, 256), scale.pick(9, 100));
    let n = width * height * depth;
    let phase: Vec<f32> = uniform_f32(n, 1).into_iter().map(|x| x * 6.28).collect();
    let speed = uniform_f32(n, 2);
    let (p, s) = (upload(&phase)?, upload(&speed)?);
    let to = zeroed::<f32>(n)?;
    let start = Args::new().value(0.05f32).value(0.7f32);
    let raw = start
        .clone()
        .pointer(&p)
        .pointer(&s)
        .value(width as u32)
        .value(height as u32)
        .value(depth as u32)
        .pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8), scale.pick(2, 10));
    Ok(Case::new("kuramoto3d", grid, (32, 8))
        .args(
            raw.clone(),
            raw,
            start.slice(&p).slice(&s).volume(&to, width, height),
        )
        .input(&p)
        .input(&s)
        .output(&to)
        .check(move || {
            close(&to, 1e-5, 1e-5, |i| {
                let (x, y, z) = (i % width, i / width % height, i / width / height);
                let at = |x: usize, y: usize, z: usize| {
                    f64::from(phase[(z % depth * height + y % height) * width + x % width])
                };
                let own = at(x, y, z);
                let others = [
                    at(x + 1, y, z),
                    at(x + width - 1, y, z),
                    at(x, y + 1, z),
                    at(x, y + height - 1, z),
                    at(x, y, z + 1),
                    at(x, y, z + depth - 1),
                ];
                let pull: f64 = others.iter().map(|other| (other - own).sin()).sum();
                own + 0.05 * (f64::from(speed[i]) + 0.7 * pull)
            })
        }))
}

pub fn day_length(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(500, 1 << 18);
    let latitude: Vec<f64> = uniform_f64(n, 1)
        .into_iter()
        .map(|x| (x - 0.5) * 2.6)
        .collect();
    let longitude: Vec<f64> = uniform_f64(n, 2)
        .into_iter()
        .map(|x| (x - 0.5) * 6.0)
        .collect();
    let (a, o) = (upload(&latitude)?, upload(&longitude)?);
    let to = zeroed::<f64>(n)?;
    let raw = Args::new().pointer(&a).pointer(&o).pointer(&to);
    Ok(Case::new("day_length", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).slice(&o).output(&to),
        )
        .input(&a)
        .input(&o)
        .output(&to)
        .check(move || {
            close(&to, 1e-9, 1e-9, |i| {
                let observer = device::Observer {
                    latitude: latitude[i],
                    longitude: longitude[i],
                };
                observer.day_length((i % 365) as f64).unwrap_or(-1.0)
            })
        }))
}

pub fn tariff_bill(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 200_000);
    // Neighbors often have the same tariff.
    let tariffs: Vec<u8> = (0..n as u64)
        .map(|i| {
            (if random(i) % 8 == 0 {
                random(i + 1)
            } else {
                random(i / 64)
            }) as u8
        })
        .collect();
    let readings: Vec<u16> = (0..(n * device::QUARTERS) as u64)
        .map(|i| (random(i) % 400) as u16)
        .collect();
    let (t, r) = (upload(&tariffs)?, upload(&readings)?);
    let to = zeroed::<i64>(n)?;
    let raw = Args::new().pointer(&t).pointer(&r).pointer(&to);
    Ok(Case::new("tariff_bill", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&t).slice(&r).output(&to),
        )
        .input(&t)
        .input(&r)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let (mut before, mut bill) = (0, 0);
                for quarter in 0..device::QUARTERS {
                    let used = u32::from(readings[quarter * n + i]);
                    bill += device::TARIFFS[tariffs[i] as usize % 4]
                        .price(quarter, before, used)
                        .0;
                    before += used;
                }
                bill
            })
        }))
}

pub fn cooccurrence(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(61, 4000), scale.pick(37, 3000));
    let image: Vec<u8> = (0..width * height)
        .map(|i| {
            let (x, y) = ((i % width) as f32, (i / width) as f32);
            ((x * 0.02).sin() * (y * 0.03).cos() * 80.0 + 110.0) as u8
                + (random(i as u64) % 60) as u8
        })
        .collect();
    let from = upload(&image)?;
    let to = zeroed::<u32>(256)?;
    let raw = Args::new()
        .pointer(&from)
        .value(width as u32)
        .value(image.len() as u32)
        .pointer(&to);
    Ok(Case::new("cooccurrence", scale.blocks(8), 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&from).value(width).slice(&to),
        )
        .input(&from)
        .output_from(&to, 0)
        .reset()
        .check(move || {
            let mut counts = vec![0u32; 256];
            let mut count =
                |a: u8, b: u8| counts[usize::from(a >> 4) * 16 + usize::from(b >> 4)] += 1;
            for y in 0..height {
                let row = &image[y * width..][..width];
                row.windows(2).for_each(|pair| count(pair[0], pair[1]));
                if let Some(next) = image.get((y + 1) * width..(y + 2) * width) {
                    row.iter().zip(next).for_each(|(a, b)| count(*a, *b));
                }
            }
            equal(&to, |i| counts[i])
        }))
}

pub fn two_squares(scale: Scale) -> CudaResult<Case> {
    let (first, count) = (scale.pick(100, 100_000) as u64, scale.pick(1500, 400_000));
    let grid = scale.blocks(8);
    let to = zeroed::<[u64; 2]>(grid)?;
    Ok(Case::new("two_squares", grid, 256)
        .args(
            Args::new().value(first).value(count as i32).pointer(&to),
            Args::new().value(first).value(count as u32).pointer(&to),
            Args::new().value(first).value(count).output(&to),
        )
        .output(&to)
        .check(move || {
            // Counts all sums at once.
            let last = first + count as u64;
            let mut ways = vec![0u64; count];
            for a in 0..=last.isqrt() {
                for b in a..=last.isqrt() {
                    if let Some(ways) = (a * a + b * b)
                        .checked_sub(first)
                        .and_then(|i| ways.get_mut(i as usize))
                    {
                        *ways += 1;
                    }
                }
            }
            let results = download(&to)?;
            same(
                0,
                results.iter().map(|result| result[0]).sum(),
                ways.iter().sum::<u64>(),
            )?;
            let best = (0..count).max_by_key(|&i| (ways[i], i)).unwrap() as u64 + first;
            same(1, results.iter().any(|result| result[1] == best), true)
        }))
}

pub fn time_warp(scale: Scale) -> CudaResult<Case> {
    let (n, length, count) = (
        scale.pick(21, 20_000),
        scale.pick(50, 250),
        scale.pick(3, 40),
    );
    let series = uniform_f32(n * length, 1);
    let templates: Vec<[f32; 32]> = uniform_f32(count * 32, 2).as_chunks::<32>().0.to_vec();
    let (s, t) = (upload(&series)?, upload(&templates)?);
    let to = zeroed::<f32>(n)?;
    Ok(Case::new("time_warp", n.div_ceil(4), 128)
        .args(
            Args::new()
                .pointer(&s)
                .value(length as i32)
                .pointer(&t)
                .value(count as i32)
                .pointer(&to)
                .value(n as i32),
            Args::new()
                .pointer(&s)
                .value(length as i32)
                .pointer(&t)
                .value(count as u32)
                .pointer(&to)
                .value(n as u32),
            Args::new().slice(&s).value(length).slice(&t).output(&to),
        )
        .input(&s)
        .input(&t)
        .output(&to)
        .check(move || {
            close(&to, 1e-4, 1e-4, |i| {
                let template = &templates[i % count];
                let mut row = [f64::INFINITY; 33];
                row[0] = 0.0;
                for x in &series[i * length..][..length] {
                    let mut next = [f64::INFINITY; 33];
                    for j in 0..32 {
                        let cost = f64::from((x - template[j]).abs());
                        next[j + 1] = cost + row[j].min(row[j + 1]).min(next[j]);
                    }
                    row = next;
                }
                row[32]
            })
        }))
}

pub fn label_votes(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(101, 200_000);
    let mut starts = vec![0u32];
    let mut neighbors = Vec::new();
    for i in 0..n as u64 {
        for k in 0..random(i) % 33 {
            let r = random((i << 6) | k);
            let near = (i + r / 16 % 64) % n as u64;
            neighbors.push(if r % 16 == 0 {
                (r / 16 % n as u64) as u32
            } else {
                near as u32
            });
        }
        starts.push(neighbors.len() as u32);
    }
    let labels: Vec<u32> = (0..n as u64)
        .map(|i| (i / 8 * 16 + random(i) % 4) as u32)
        .collect();
    let (s, b, l) = (upload(&starts)?, upload(&neighbors)?, upload(&labels)?);
    let to = zeroed::<u32>(n)?;
    let raw = Args::new()
        .pointer(&s)
        .pointer(&b)
        .pointer(&l)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("label_votes", n.div_ceil(8), 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&s).slice(&b).slice(&l).output(&to),
        )
        .input(&s)
        .input(&b)
        .input(&l)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let mut votes = std::collections::BTreeMap::<u32, u32>::new();
                for &other in &neighbors[starts[i] as usize..starts[i + 1] as usize] {
                    *votes.entry(labels[other as usize]).or_default() += 1;
                }
                let winner = votes
                    .into_iter()
                    .max_by_key(|&(label, count)| (count, !label));
                winner.map_or(u32::MAX, |(label, _)| label)
            })
        }))
}

pub fn ntt_rows(scale: Scale) -> CudaResult<Case> {
    const P: u64 = 998_244_353;
    const N: usize = device::NTT;
    let n = scale.pick(3, 16_384);
    let power = |mut base: u64, mut exponent: u64| {
        let mut result = 1;
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result * base % P;
            }
            base = base * base % P;
            exponent >>= 1;
        }
        result
    };
    let root = power(3, (P - 1) / N as u64);
    let roots: Vec<u32> = (0..N as u64 / 2).map(|k| power(root, k) as u32).collect();
    let from: Vec<[u32; N]> = (0..n)
        .map(|row| std::array::from_fn(|i| (random((row * N + i) as u64) % P) as u32))
        .collect();
    let (f, r) = (upload(&from)?, upload(&roots)?);
    let to = zeroed::<u32>(n * N)?;
    let raw = Args::new().pointer(&f).pointer(&r).pointer(&to);
    Ok(Case::new("ntt_rows", n, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&f).pointer(&r).output(&to),
        )
        .input(&f)
        .input(&r)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let w = power(root, (i % N) as u64);
                from[i / N]
                    .iter()
                    .rev()
                    .fold(0, |sum, &x| (sum * w + u64::from(x)) % P) as u32
            })
        }))
}

pub fn regions(scale: Scale) -> CudaResult<Case> {
    const N: usize = device::SIDE;
    let n = scale.pick(3, 8192);
    let mask: Vec<u8> = (0..n * N * N)
        .map(|i| {
            let (x, y) = (i % N, i / N % N);
            let wave =
                ((x as f32 * 0.9).sin() + (y as f32 * 0.7 + (i / N / N) as f32).cos()) * 20.0;
            u8::from((random(i as u64) % 100) as f32 + wave < 60.0)
        })
        .collect();
    let from = upload(&mask)?;
    let to = zeroed::<u16>(n * N * N)?;
    let raw = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("regions", n, (32, 8))
        .args(raw.clone(), raw, Args::new().slice(&from).output(&to))
        .input(&from)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for tile in (0..n).step_by(n / 200 + 1) {
                let mask = &mask[tile * N * N..][..N * N];
                let mut labels = vec![0u16; N * N];
                for start in 0..N * N {
                    if mask[start] == 0 || labels[start] != 0 {
                        continue;
                    }
                    let mut stack = vec![start];
                    while let Some(i) = stack.pop() {
                        if mask[i] == 0 || labels[i] != 0 {
                            continue;
                        }
                        labels[i] = start as u16 + 1;
                        let (x, y) = (i % N, i / N);
                        stack.extend((x > 0).then(|| i - 1));
                        stack.extend((x + 1 < N).then(|| i + 1));
                        stack.extend((y > 0).then(|| i - N));
                        stack.extend((y + 1 < N).then(|| i + N));
                    }
                }
                for i in 0..N * N {
                    same(tile * N * N + i, results[tile * N * N + i], labels[i])?;
                }
            }
            Ok(())
        }))
}

pub fn two_opt(scale: Scale) -> CudaResult<Case> {
    const N: usize = device::CITIES;
    let n = scale.pick(2, 2048);
    // Tours along a noisy spiral.
    let place = |i: usize, f: fn(f32) -> f32, seed: u64| {
        let t = (i % N) as f32 / N as f32;
        f(t * 20.0) * t + (uniform(i as u64 ^ (seed << 40)) as f32 - 0.5) * 0.2
    };
    let x: Vec<f32> = (0..n * N).map(|i| place(i, f32::cos, 1)).collect();
    let y: Vec<f32> = (0..n * N).map(|i| place(i, f32::sin, 2)).collect();
    let (dx, dy) = (upload(&x)?, upload(&y)?);
    let (gains, moves) = (zeroed::<f32>(n)?, zeroed::<u32>(n)?);
    let (g, m) = (gains.clone(), moves.clone());
    let raw = Args::new()
        .pointer(&dx)
        .pointer(&dy)
        .pointer(&gains)
        .pointer(&moves);
    Ok(Case::new("two_opt", n, 256)
        .args(
            raw.clone(),
            raw,
            Args::new()
                .slice(&dx)
                .slice(&dy)
                .output(&gains)
                .output(&moves),
        )
        .input(&dx)
        .input(&dy)
        .output(&gains)
        .output(&moves)
        .check(move || {
            let (gains, moves) = (download(&g)?, download(&m)?);
            for tour in (0..n).step_by(n / 100 + 1) {
                let city = |i: usize| {
                    let i = tour * N + i % N;
                    (f64::from(x[i]), f64::from(y[i]))
                };
                let distance =
                    |a: usize, b: usize| (city(a).0 - city(b).0).hypot(city(a).1 - city(b).1);
                let gain = |a: usize, b: usize| {
                    distance(a, a + 1) + distance(b, b + 1)
                        - distance(a, b)
                        - distance(a + 1, b + 1)
                };
                let best = (0..N)
                    .flat_map(|a| (a + 1..N).map(move |b| (a, b)))
                    .map(|(a, b)| gain(a, b));
                let best = best.fold(0.0, f64::max);
                near(tour, gains[tour], best, 1e-4, 1e-5)?;
                let pair = moves[tour] as usize;
                near(tour, gain(pair / N, pair % N), best, 1e-4, 1e-5)?;
            }
            Ok(())
        }))
}

pub fn viterbi_paths(scale: Scale) -> CudaResult<Case> {
    const STEPS: usize = device::STEPS;
    let n = scale.pick(2, 8192);
    let bit = |frame: usize, step: usize| {
        // The last six bits return to state 0.
        if step >= STEPS - 6 {
            0
        } else {
            (random((frame * STEPS + step) as u64) >> 7) as u32 & 1
        }
    };
    let frames: Vec<[[i8; 2]; STEPS]> = (0..n)
        .map(|frame| {
            let mut register = 0u32;
            std::array::from_fn(|step| {
                register = (register << 1 | bit(frame, step)) & 127;
                std::array::from_fn(|k| {
                    let sent = if (register & [0o171, 0o133][k]).count_ones() % 2 == 0 {
                        40.0
                    } else {
                        -40.0
                    };
                    let noise = uniform(((frame * STEPS + step) * 2 + k) as u64 | 1 << 50) - 0.5;
                    (sent + noise * 110.0) as i8
                })
            })
        })
        .collect();
    let from = upload(&frames)?;
    let to = zeroed::<[u32; STEPS / 32]>(n)?;
    let raw = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("viterbi_paths", n, 64)
        .args(raw.clone(), raw, Args::new().slice(&from).output(&to))
        .input(&from)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for frame in (0..n).step_by(n / 100 + 1) {
                let mut metrics = [-10_000i32; 64];
                metrics[0] = 0;
                let mut paths = vec![[0u8; 64]; STEPS];
                for step in 0..STEPS {
                    let mut next = [0; 64];
                    for state in 0..64u32 {
                        let options = [state >> 1, state >> 1 | 32].map(|old| {
                            let register = old << 1 | state & 1;
                            let support = |k: usize| {
                                let soft = i32::from(frames[frame][step][k]);
                                if (register & [0o171, 0o133][k]).count_ones() % 2 == 0 {
                                    soft
                                } else {
                                    -soft
                                }
                            };
                            metrics[old as usize] + support(0) + support(1)
                        });
                        paths[step][state as usize] = u8::from(options[1] > options[0]);
                        next[state as usize] = options[0].max(options[1]);
                    }
                    metrics = next;
                }
                let mut expected = [0u32; STEPS / 32];
                let (mut state, mut wrong) = (0usize, 0);
                for step in (0..STEPS).rev() {
                    expected[step / 32] |= (state as u32 & 1) << (step % 32);
                    wrong += usize::from(bit(frame, step) != state as u32 & 1);
                    state = state >> 1 | usize::from(paths[step][state]) << 5;
                }
                same(frame, results[frame], expected)?;
                same(frame, wrong < STEPS / 8, true)?;
            }
            Ok(())
        }))
}

pub fn rbf_field(scale: Scale) -> CudaResult<Case> {
    let (n, centers) = (scale.pick(600, 150_000), scale.pick(300, 2000));
    let (cx, cy) = (uniform_f32(centers, 1), uniform_f32(centers, 2));
    // Exact as `f16`: multiples of 1/64 up to 1.
    let weight = |i: usize| (random(i as u64) % 128) as i32 - 64;
    let half = |x: i32| -> u16 {
        let bits = (x as f32 / 64.0).to_bits();
        match x {
            0 => 0,
            _ => {
                (bits >> 16 & 0x8000) as u16
                    | ((((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 1023)) as u16
            }
        }
    };
    let weights: Vec<u16> = (0..centers).map(|i| half(weight(i))).collect();
    let (px, py) = (uniform_f32(n, 3), uniform_f32(n, 4));
    let (dcx, dcy, dw, dpx, dpy) = (
        upload(&cx)?,
        upload(&cy)?,
        upload(&weights)?,
        upload(&px)?,
        upload(&py)?,
    );
    let to = zeroed::<f32>(n)?;
    let raw = Args::new()
        .pointer(&dcx)
        .pointer(&dcy)
        .pointer(&dw)
        .value(centers as u32)
        .pointer(&dpx)
        .pointer(&dpy)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("rbf_field", n.div_ceil(256), 256)
        .args(
            raw.clone(),
            raw,
            Args::new()
                .slice(&dcx)
                .slice(&dcy)
                .slice(&dw)
                .slice(&dpx)
                .slice(&dpy)
                .output(&to),
        )
        .input(&dcx)
        .input(&dcy)
        .input(&dw)
        .input(&dpx)
        .input(&dpy)
        .output(&to)
        .check(move || {
            close(&to, 1e-3, 1e-3, |i| {
                (0..centers)
                    .map(|c| {
                        let (dx, dy) = (f64::from(px[i] - cx[c]), f64::from(py[i] - cy[c]));
                        (-40.0 * (dx * dx + dy * dy)).exp() * f64::from(weight(c)) / 64.0
                    })
                    .sum()
            })
        }))
}

pub fn varbit_pack(scale: Scale) -> CudaResult<Case> {
    const N: usize = device::SYMBOLS;
    let n = scale.pick(2, 6000);
    let messages: Vec<[u8; N]> = (0..n)
        .map(|m| {
            std::array::from_fn(|i| {
                let r = random((m * N + i) as u64);
                (r & 255 & (r >> 8) & (if r >> 60 == 0 { 255 } else { r >> 16 })) as u8
            })
        })
        .collect();
    let lengths: Vec<u8> = (0..256u64)
        .map(|s| (2 + (64 - (s + 1).leading_zeros()) as u64 + random(s) % 6) as u8)
        .collect();
    let codes: Vec<u16> = (0..256)
        .map(|s| (random(s as u64 + 999) & ((1 << lengths[s]) - 1)) as u16)
        .collect();
    let (m, c, l) = (upload(&messages)?, upload(&codes)?, upload(&lengths)?);
    let (to, sizes) = (zeroed::<u32>(n * device::WORDS)?, zeroed::<u32>(n)?);
    let (t, s) = (to.clone(), sizes.clone());
    let raw = Args::new()
        .pointer(&m)
        .pointer(&c)
        .pointer(&l)
        .pointer(&to)
        .pointer(&sizes);
    Ok(Case::new("varbit_pack", n, 256)
        .args(
            raw.clone(),
            raw,
            Args::new()
                .slice(&m)
                .pointer(&c)
                .pointer(&l)
                .output(&to)
                .output(&sizes),
        )
        .input(&m)
        .input(&c)
        .input(&l)
        .output(&to)
        .output(&sizes)
        .check(move || {
            let (words, sizes) = (download(&t)?, download(&s)?);
            for m in (0..n).step_by(n / 100 + 1) {
                let mut expected = vec![0u32; device::WORDS];
                let mut place = 0;
                for &symbol in &messages[m] {
                    for bit in 0..lengths[symbol as usize] {
                        expected[place / 32] |=
                            u32::from(codes[symbol as usize] >> bit & 1) << (place % 32);
                        place += 1;
                    }
                }
                same(m, sizes[m], place as u32)?;
                for (i, word) in expected.into_iter().enumerate() {
                    same(m * device::WORDS + i, words[m * device::WORDS + i], word)?;
                }
            }
            Ok(())
        }))
}

pub fn forward_fill(scale: Scale) -> CudaResult<Case> {
    let (n, width) = (scale.pick(3, 3000), scale.pick(700, 5000));
    let from: Vec<f32> = (0..n * width)
        .map(|i| {
            let gap = random(i as u64 / 37) % 4 == 0;
            if gap || random(i as u64) % 3 == 0 {
                f32::NAN
            } else {
                uniform(i as u64) as f32
            }
        })
        .collect();
    let f = upload(&from)?;
    let to = zeroed::<f32>(n * width)?;
    let raw = Args::new().pointer(&f).value(width as u32).pointer(&to);
    Ok(Case::new("forward_fill", n, 256)
        .args(raw.clone(), raw, Args::new().slice(&f).rows(&to, width))
        .input(&f)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n * width) {
                let row = &from[i / width * width..=i];
                let expected = row.iter().rev().find(|x| !x.is_nan()).copied();
                same(i, Some(results[i]).filter(|x| !x.is_nan()), expected)?;
            }
            Ok(())
        }))
}

pub fn morph_gradient(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(75, 6000), scale.pick(45, 4000));
    let image: Vec<u8> = (0..width * height)
        .map(|i| ((i % width / 13 + i / width / 17) % 5 * 40) as u8 + (random(i as u64) % 50) as u8)
        .collect();
    let from = upload(&image)?;
    let to = zeroed::<u8>(width * height)?;
    let raw = Args::new()
        .pointer(&from)
        .value(width as i32)
        .value(height as i32)
        .pointer(&to);
    Ok(Case::new(
        "morph_gradient",
        (width.div_ceil(32), height.div_ceil(32)),
        (32, 8),
    )
    .args(raw.clone(), raw, Args::new().slice(&from).rows(&to, width))
    .input(&from)
    .output(&to)
    .check(move || {
        equal(&to, |i| {
            let (x, y) = (i % width, i / width);
            let (mut low, mut high) = (255, 0);
            for y in y.saturating_sub(1)..height.min(y + 2) {
                for x in x.saturating_sub(1)..width.min(x + 2) {
                    low = low.min(image[y * width + x]);
                    high = high.max(image[y * width + x]);
                }
            }
            high - low
        })
    }))
}

pub fn queens(scale: Scale) -> CudaResult<Case> {
    let size = scale.pick(7, 14) as u32;
    let solutions = if scale.small { 40u32 } else { 365_596 };
    let grid = scale.blocks(8);
    let to = zeroed::<u32>(grid)?;
    let raw = Args::new().value(size).pointer(&to);
    Ok(Case::new("queens", grid, 128)
        .args(raw.clone(), raw, Args::new().value(size).output(&to))
        .output(&to)
        .check(move || same(0, download(&to)?.into_iter().sum::<u32>(), solutions)))
}

pub fn big_fibonacci(scale: Scale) -> CudaResult<Case> {
    let (n, steps) = (scale.pick(21, 16_384), scale.pick(60, 600));
    let starts: Vec<[[u32; 32]; 2]> = (0..n)
        .map(|i| {
            std::array::from_fn(|k| {
                std::array::from_fn(
                    |limb| match random((i * 2 + k) as u64 ^ (limb as u64) << 40) {
                        // Long carries.
                        r if r % 3 == 0 => u32::MAX,
                        r => (r >> 20) as u32,
                    },
                )
            })
        })
        .collect();
    let from = upload(&starts)?;
    let to = zeroed::<u32>(n * 32)?;
    let raw = Args::new()
        .value(steps as u32)
        .pointer(&from)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("big_fibonacci", n.div_ceil(4), 128)
        .args(
            raw.clone(),
            raw,
            Args::new().value(steps).slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let [mut a, mut b] = starts[i / 32];
                for _ in 0..steps {
                    let mut carry = 0u64;
                    let sum = std::array::from_fn(|k| {
                        let sum = u64::from(a[k]) + u64::from(b[k]) + carry;
                        carry = sum >> 32;
                        sum as u32
                    });
                    (a, b) = (b, sum);
                }
                a[i % 32]
            })
        }))
}

pub fn lz_unpack(scale: Scale) -> CudaResult<Case> {
    const FROM: usize = device::PACKED;
    const TO: usize = device::UNPACKED;
    let n = scale.pick(300, 60_000);
    let mut packed = vec![[0u8; FROM]; n];
    let mut expected = Vec::new();
    for (i, packed) in packed.iter_mut().enumerate() {
        let mut draw = (0u64..).map(|k| random((i as u64) << 20 | k));
        let mut next = || draw.next().unwrap() >> 7;
        let mut row: Vec<u8> = Vec::new();
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let literal = row.is_empty() || next() % 2 == 0;
            let length = (if literal {
                1 + next() % 8
            } else {
                3 + next() % 14
            }) as usize;
            if row.len() + length > TO || bytes.len() + length + 2 > FROM {
                break;
            }
            if literal {
                bytes.push(length as u8);
                for _ in 0..length {
                    bytes.push(b'a' + (next() % 20) as u8);
                    row.push(*bytes.last().unwrap());
                }
            } else {
                let distance = 1 + next() as usize % row.len().min(255);
                bytes.extend([128 | length as u8, distance as u8]);
                for _ in 0..length {
                    row.push(row[row.len() - distance]);
                }
            }
        }
        row.resize(TO, 0);
        if next() % 32 == 0 {
            // A repetition of what is before the start.
            bytes[..2].copy_from_slice(&[130, 5]);
            row.fill(255);
        }
        packed[..bytes.len()].copy_from_slice(&bytes);
        expected.extend(row);
    }
    let from = upload(&packed)?;
    let to = zeroed::<u8>(n * TO)?;
    let raw = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("lz_unpack", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&from).rows(&to, TO),
        )
        .input(&from)
        .output(&to)
        .check(move || equal(&to, |i| expected[i])))
}

pub fn utf8_scalars(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 200_000);
    let mut text: Vec<u8> = Vec::new();
    let mut starts = vec![0u32];
    for i in 0..n as u64 {
        for k in 0..10 + random(i) % 40 {
            let r = random(i << 8 | k) >> 5;
            let code = match r % 8 {
                0..=4 => 32 + (r >> 8) % 90,
                5 => 0xa0 + (r >> 8) % 0x700,
                6 => 0x800 + (r >> 8) % 0xf000,
                _ => 0x1_0000 + (r >> 8) % 0x10_0000,
            };
            let mut buffer = [0; 4];
            let character = char::from_u32(code as u32).unwrap_or('?');
            text.extend(character.encode_utf8(&mut buffer).as_bytes());
        }
        if random(i) >> 8 & 15 == 0 {
            let start = starts[i as usize] as usize;
            let place = start + random(i + 5) as usize % (text.len() - start);
            text[place] = (random(i + 6) >> 9) as u8;
        }
        starts.push(text.len() as u32);
    }
    let (t, s) = (upload(&text)?, upload(&starts)?);
    let to = zeroed::<i32>(n)?;
    let raw = Args::new().pointer(&t).pointer(&s).pointer(&to);
    Ok(Case::new("utf8_scalars", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&t).slice(&s).output(&to),
        )
        .input(&t)
        .input(&s)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let text = &text[starts[i] as usize..starts[i + 1] as usize];
                std::str::from_utf8(text).map_or(-1, |text| text.chars().count() as i32)
            })
        }))
}

pub fn gear_cuts(scale: Scale) -> CudaResult<Case> {
    const N: usize = device::SEGMENT;
    let n = scale.pick(300, 100_000);
    let words: Vec<u64> = (0..(n * N / 8) as u64)
        .map(|i| random(i / 3 * 3 + random(i) % 2))
        .collect();
    let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let gear: Vec<u64> = (0..256).map(|i| random(i + 12345)).collect();
    let (d, g) = (upload(&data)?, upload(&gear)?);
    let to = zeroed::<[u32; 2]>(n)?;
    let raw = Args::new().pointer(&d).pointer(&g).pointer(&to);
    Ok(Case::new("gear_cuts", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&d).pointer(&g).output(&to),
        )
        .input(&d)
        .input(&g)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let (mut hash, mut result) = (0u64, [0, 0]);
                for (k, &byte) in data[i * N..][..N].iter().enumerate() {
                    hash = (hash << 1).wrapping_add(gear[byte as usize]);
                    if k >= 64 && hash & device::CUT == 0 {
                        result = [result[0] + 1, k as u32];
                    }
                }
                result
            })
        }))
}

pub fn average_crossings(scale: Scale) -> CudaResult<Case> {
    const N: usize = device::SAMPLES;
    let n = scale.pick(300, 80_000);
    let signals: Vec<i16> = (0..n * N)
        .map(|i| {
            let wave = ((i % N) as f32 * (0.05 + (i / N % 7) as f32 * 0.03)).sin() * 4000.0;
            wave as i16 + (random(i as u64) % 3000) as i16
        })
        .collect();
    let from = upload(&signals)?;
    let to = zeroed::<u32>(n)?;
    let raw = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("average_crossings", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let signal = &signals[i * N..][..N];
                let side = |k: usize| {
                    let sum: i32 = signal[k - 7..=k].iter().map(|&x| i32::from(x)).sum();
                    i32::from(signal[k]) * 8 > sum
                };
                (8..N).filter(|&k| side(k) != side(k - 1)).count() as u32
            })
        }))
}

pub fn dubins(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 21);
    let distances: Vec<f32> = uniform_f32(n, 1)
        .into_iter()
        .map(|x| 0.2 + 7.0 * x)
        .collect();
    let starts: Vec<f32> = uniform_f32(n, 2).into_iter().map(|x| 6.28 * x).collect();
    let ends: Vec<f32> = uniform_f32(n, 3).into_iter().map(|x| 6.28 * x).collect();
    let (d, s, e) = (upload(&distances)?, upload(&starts)?, upload(&ends)?);
    let to = zeroed::<f32>(n)?;
    let raw = Args::new().pointer(&d).pointer(&s).pointer(&e).pointer(&to);
    Ok(Case::new("dubins", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&d).slice(&s).slice(&e).output(&to),
        )
        .input(&d)
        .input(&s)
        .input(&e)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            let (mut count, mut wrong) = (0, 0);
            for i in samples(n) {
                let goal = device::Goal {
                    distance: distances[i],
                    start: starts[i],
                    end: ends[i],
                };
                let expected = goal.shortest().map_or(f64::INFINITY, f64::from);
                count += 1;
                // An angle near 0 may be near 2π instead.
                wrong += usize::from(near(i, results[i], expected, 1e-4, 1e-4).is_err());
            }
            same(0, wrong * 200 <= count, true)
        }))
}

pub fn poker_hands(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 21);
    let cards: Vec<[u8; 7]> = (0..n as u64)
        .map(|i| {
            let mut taken = 0u64;
            let mut draw = (0u64..).map(|k| {
                let r = random(i << 8 | k) >> 3;
                // Some decks are small, for more hands of high value.
                (if i % 3 == 0 { r % 20 + 30 } else { r % 52 }) as u8
            });
            std::array::from_fn(|_| {
                let card = draw.find(|card| taken >> card & 1 == 0).unwrap();
                taken |= 1 << card;
                card
            })
        })
        .collect();
    let from = upload(&cards)?;
    let to = zeroed::<u32>(n)?;
    let raw = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("poker_hands", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                // The best of all hands of five cards.
                let five = |cards: [u8; 5]| {
                    let mut ranks = cards.map(|card| u32::from(card) / 4);
                    ranks.sort_unstable();
                    let flush = cards.iter().all(|card| card % 4 == cards[0] % 4);
                    let run = ranks.windows(2).all(|pair| pair[1] == pair[0] + 1);
                    let wheel = ranks == [0, 1, 2, 3, 12];
                    let top = if wheel { 3 } else { ranks[4] };
                    let mut groups: Vec<(usize, u32)> = (0..13)
                        .map(|rank| (ranks.iter().filter(|r| **r == rank).count(), rank))
                        .filter(|group| group.0 > 0)
                        .collect();
                    groups.sort_unstable_by(|a, b| b.cmp(a));
                    let (first, second) = (groups[0], groups[1]);
                    match (first.0, second.0) {
                        _ if flush && (run || wheel) => 8 << 8 | top << 4,
                        (4, _) => 7 << 8 | first.1 << 4,
                        (3, 2) => 6 << 8 | first.1 << 4 | second.1,
                        _ if flush => 5 << 8 | top << 4,
                        _ if run || wheel => 4 << 8 | top << 4,
                        (3, _) => 3 << 8 | first.1 << 4,
                        (2, 2) => 2 << 8 | first.1 << 4 | second.1,
                        (2, _) => 1 << 8 | first.1 << 4,
                        _ => ranks[4] << 4,
                    }
                };
                let pairs = (0..7).flat_map(|a| (a + 1..7).map(move |b| (a, b)));
                let hands = pairs.map(|(a, b)| {
                    let mut rest = (0..7).filter(|k| *k != a && *k != b).map(|k| cards[i][k]);
                    five(std::array::from_fn(|_| rest.next().unwrap()))
                });
                hands.max().unwrap()
            })
        }))
}

pub fn lru_misses(scale: Scale) -> CudaResult<Case> {
    let (n, length) = (scale.pick(1500, 1 << 17), scale.pick(200, 1500));
    let trace: Vec<u16> = (0..length as u64)
        .map(|i| match random(i) % 4 {
            0 => (random(i + 1) >> 7) as u16,
            1 => (i * 8) as u16,
            _ => (random(i + 1) >> 7) as u16 % 3000,
        })
        .collect();
    let from = upload(&trace)?;
    let to = zeroed::<u32>(n)?;
    let raw = Args::new()
        .pointer(&from)
        .value(length as u32)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("lru_misses", n.div_ceil(256), 256)
        .args(raw.clone(), raw, Args::new().slice(&from).output(&to))
        .input(&from)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let (ways, shift, set, offset) = (i % 8 + 1, i / 8 % 8, i / 64 % 16, i / 1024);
                let mut lines = std::collections::VecDeque::new();
                let mut misses = 0;
                for address in &trace {
                    let line = (usize::from(*address) + offset & 0xffff) >> shift;
                    if line % 16 != set {
                        continue;
                    }
                    match lines.iter().position(|other| *other == line) {
                        Some(place) => drop(lines.remove(place)),
                        None => misses += 1,
                    }
                    lines.push_front(line);
                    lines.truncate(ways);
                }
                misses
            })
        }))
}

pub fn fractions(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 20);
    let limit = 1u64 << 24;
    let numbers: Vec<f64> = (0..n as u64)
        .map(|i| match random(i) % 4 {
            0 => (random(i + 1) % 1000) as f64 / (1 + random(i + 2) % 1000) as f64,
            _ => uniform(i) * 20.0,
        })
        .collect();
    let from = upload(&numbers)?;
    let (p, q) = (zeroed::<i64>(n)?, zeroed::<i64>(n)?);
    let (rp, rq) = (p.clone(), q.clone());
    let raw = Args::new()
        .value(limit)
        .pointer(&from)
        .pointer(&p)
        .pointer(&q);
    Ok(Case::new("fractions", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().value(limit).slice(&from).output(&p).output(&q),
        )
        .input(&from)
        .output(&p)
        .output(&q)
        .check(move || {
            equal(&rp, |i| {
                device::Fraction::nearest(numbers[i], limit as i64).numerator
            })?;
            equal(&rq, |i| {
                device::Fraction::nearest(numbers[i], limit as i64).denominator
            })?;
            let (p, q) = (download(&rp)?, download(&rq)?);
            for i in samples(n) {
                near(i, p[i] as f64 / q[i] as f64, numbers[i], 0.0, 1e-7)?;
            }
            Ok(())
        }))
}

pub fn iso_week(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 22);
    let seconds: Vec<i64> = (0..n as u64)
        .map(|i| (random(i) % 10_000_000_000) as i64 - 4_000_000_000)
        .collect();
    let from = upload(&seconds)?;
    let to = zeroed::<i64>(n)?;
    let raw = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("iso_week", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            // 2024-12-30 is Monday of week 1 of 2025; 2021-01-03 is Sunday of week 53 of 2020.
            same(0, device::iso_week(1_735_516_800), 2_025_011)?;
            same(0, device::iso_week(1_609_632_000 + 86_399), 2_020_537)?;
            equal(&to, |i| device::iso_week(seconds[i]))
        }))
}

pub fn wide_roots(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(500, 1 << 20);
    let a: Vec<u64> = (0..n as u64)
        .map(|i| random(i) >> (random(i + 3) % 40))
        .collect();
    let b: Vec<u64> = (0..n as u64)
        .map(|i| {
            if i % 5 == 0 {
                a[i as usize]
            } else {
                random(i + 7)
            }
        })
        .collect();
    let (da, db) = (upload(&a)?, upload(&b)?);
    let to = zeroed::<u64>(n)?;
    let raw = Args::new().pointer(&da).pointer(&db).pointer(&to);
    Ok(Case::new("wide_roots", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&da).slice(&db).output(&to),
        )
        .input(&da)
        .input(&db)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                (u128::from(a[i]) * u128::from(b[i])).isqrt() as u64
            })
        }))
}

pub fn chebyshev(scale: Scale) -> CudaResult<Case> {
    const N: usize = device::DEGREES;
    let (n, pieces) = (scale.pick(1000, 1 << 22), scale.pick(9, 500));
    let mut breaks = vec![0.0f32];
    for i in 0..pieces {
        breaks.push(breaks[i] + 0.1 + uniform(i as u64) as f32);
    }
    let coefficients: Vec<f32> = (0..pieces * N)
        .map(|i| (uniform(i as u64 + 99) as f32 - 0.5) / (1 + i % N) as f32)
        .collect();
    let end = breaks[pieces];
    let x: Vec<f32> = uniform_f32(n, 1)
        .into_iter()
        .map(|x| (x * 1.1 - 0.05) * end)
        .collect();
    let (db, dc, dx) = (upload(&breaks)?, upload(&coefficients)?, upload(&x)?);
    let to = zeroed::<f32>(n)?;
    let raw = Args::new()
        .pointer(&db)
        .value(pieces as u32)
        .pointer(&dc)
        .pointer(&dx)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("chebyshev", n.div_ceil(256), 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&db).slice(&dc).slice(&dx).output(&to),
        )
        .input(&db)
        .input(&dc)
        .input(&dx)
        .output(&to)
        .check(move || {
            close(&to, 1e-2, 2e-2, |i| {
                let Some(piece) = (0..pieces).find(|&p| breaks[p] <= x[i] && x[i] < breaks[p + 1])
                else {
                    return 0.0;
                };
                let (low, high) = (f64::from(breaks[piece]), f64::from(breaks[piece + 1]));
                let t = ((2.0 * f64::from(x[i]) - low - high) / (high - low)).clamp(-1.0, 1.0);
                let terms = coefficients[piece * N..][..N].iter().enumerate();
                terms
                    .map(|(k, c)| f64::from(*c) * (k as f64 * t.acos()).cos())
                    .sum()
            })
        }))
}

pub fn query_values(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 200_000);
    let keys = ["id", "i", "idx", "page", "q", "ref"];
    let mut text: Vec<u8> = Vec::new();
    let mut starts = vec![0u32];
    for i in 0..n as u64 {
        for k in 0..1 + random(i) % 8 {
            let r = random(i << 8 | k) >> 5;
            if k > 0 {
                text.push(b'&');
            }
            text.extend(keys[r as usize % 6].as_bytes());
            text.push(b'=');
            let value = r >> 8 & 0xf_ffff;
            text.extend(value.to_string().as_bytes());
            if r >> 40 & 7 == 0 {
                text.push(b'x');
            }
        }
        starts.push(text.len() as u32);
    }
    let key = b"id";
    let (t, s, k) = (upload(&text)?, upload(&starts)?, upload(key)?);
    let to = zeroed::<u32>(n)?;
    let raw = Args::new()
        .pointer(&t)
        .pointer(&s)
        .pointer(&k)
        .value(key.len() as u32)
        .pointer(&to);
    Ok(Case::new("query_values", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&t).slice(&s).slice(&k).output(&to),
        )
        .input(&t)
        .input(&s)
        .input(&k)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let text =
                    std::str::from_utf8(&text[starts[i] as usize..starts[i + 1] as usize]).unwrap();
                let value = text
                    .split('&')
                    .find_map(|pair| pair.split_once('=').filter(|pair| pair.0 == "id"));
                value
                    .and_then(|pair| pair.1.parse().ok())
                    .unwrap_or(u32::MAX)
            })
        }))
}

pub fn trimmed_mean(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 20);
    let from: Vec<[u16; 16]> = (0..n as u64)
        .map(|i| {
            std::array::from_fn(|k| (random(i << 4 | k as u64) >> (random(i) % 5 + 48)) as u16)
        })
        .collect();
    let f = upload(&from)?;
    let to = zeroed::<f32>(n)?;
    let raw = Args::new().pointer(&f).pointer(&to);
    Ok(Case::new("trimmed_mean", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&f).output(&to),
        )
        .input(&f)
        .output(&to)
        .check(move || {
            close(&to, 1e-6, 0.0, |i| {
                let mut values = from[i].to_vec();
                values.sort();
                values[4..12].iter().map(|x| f64::from(*x)).sum::<f64>() / 8.0
            })
        }))
}

pub fn longest_ascent(scale: Scale) -> CudaResult<Case> {
    let (n, width) = (scale.pick(300, 80_000), scale.pick(70, 250));
    let rows: Vec<u16> = (0..n * width)
        .map(|i| ((i % width) * (i / width % 200)) as u16 + (random(i as u64) % 3000) as u16)
        .collect();
    let from = upload(&rows)?;
    let to = zeroed::<u32>(n)?;
    let raw = Args::new()
        .pointer(&from)
        .value(width as u32)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("longest_ascent", n.div_ceil(256), 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&from).value(width).output(&to),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let row = &rows[i * width..][..width];
                let (mut longest, mut start) = (0, 0);
                for k in 0..width {
                    if k > 0 && row[k] < row[k - 1] {
                        start = k;
                    }
                    longest = longest.max(k + 1 - start);
                }
                longest as u32
            })
        }))
}

pub fn holt_columns(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(300, 60_000), scale.pick(20, 100));
    let from: Vec<f32> = (0..width * height)
        .map(|i| (i / width) as f32 * 0.1 + uniform(i as u64) as f32)
        .collect();
    let f = upload(&from)?;
    let to = zeroed::<f32>(width * height)?;
    let raw = Args::new()
        .pointer(&f)
        .pointer(&to)
        .value(width as u32)
        .value(height as u32);
    Ok(Case::new("holt_columns", width.div_ceil(256), 256)
        .args(raw.clone(), raw, Args::new().slice(&f).rows(&to, width))
        .input(&f)
        .output(&to)
        .check(move || {
            close(&to, 1e-4, 1e-4, |i| {
                let x = i % width;
                let (mut level, mut trend) = (f64::from(from[x]), 0.0);
                let mut forecast = level;
                for y in 0..=i / width {
                    forecast = level + trend;
                    let next = forecast + 0.4 * (f64::from(from[y * width + x]) - forecast);
                    trend += 0.2 * (next - level - trend);
                    level = next;
                }
                forecast
            })
        }))
}

pub fn newton_half(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 21);
    // Halves of 1 to 4: exponents 0 and 1.
    let from: Vec<u32> = (0..n as u64)
        .map(|i| {
            let half = |r: u64| (0x3c00 + r % 0x800) as u32;
            half(random(i) >> 4) | half(random(i) >> 30) << 16
        })
        .collect();
    let value = |bits: u32| {
        2f64.powi((bits >> 10 & 31) as i32 - 15) * (1.0 + f64::from(bits & 1023) / 1024.0)
    };
    let f = upload(&from)?;
    let to = zeroed::<u32>(n)?;
    let raw = Args::new().pointer(&f).pointer(&to);
    Ok(Case::new("newton_half", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&f).output(&to),
        )
        .input(&f)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                for shift in [0, 16] {
                    let x = value(from[i] >> shift & 0xffff);
                    let expected: f64 = (0..16)
                        .map(|k| (x + f64::from(k) * 0.125).sqrt().recip())
                        .sum();
                    near(i, value(results[i] >> shift & 0xffff), expected, 2e-2, 0.0)?;
                }
            }
            Ok(())
        }))
}

pub fn warp_median(scale: Scale) -> CudaResult<Case> {
    const N: usize = device::MEDIAN_ROW;
    let n = scale.pick(19, 32_768);
    let rows: Vec<[u32; N]> = (0..n as u64)
        .map(|row| {
            std::array::from_fn(|i| (random(row * N as u64 + i as u64) >> (32 + row % 20)) as u32)
        })
        .collect();
    let from = upload(&rows)?;
    let to = zeroed::<u32>(n)?;
    let raw = Args::new().pointer(&from).pointer(&to).value(n as u32);
    Ok(Case::new("warp_median", n.div_ceil(8), 256)
        .args(raw.clone(), raw, Args::new().slice(&from).output(&to))
        .input(&from)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                // The largest number that fewer than half of the elements are below.
                let mut row = rows[i];
                row.sort();
                row[N / 2 - 1]
            })
        }))
}

pub fn requantize_taps(scale: Scale) -> CudaResult<Case> {
    const TAPS: usize = device::TAPS;
    let (width, channels) = (scale.pick(300, 100_000), scale.pick(3, 96));
    let pitch = width + TAPS - 1;
    let from: Vec<i8> = (0..channels * pitch)
        .map(|i| (random(i as u64) >> 9) as i8)
        .collect();
    let weights: Vec<[i8; TAPS]> = (0..channels)
        .map(|c| std::array::from_fn(|k| (random((c * TAPS + k) as u64 + 5555) >> 11) as i8))
        .collect();
    let factors: Vec<i32> = (0..channels as u64)
        .map(|c| 1_100_000_000 + (random(c) % 1_000_000_000) as i32)
        .collect();
    let shifts: Vec<u8> = (0..channels as u64)
        .map(|c| 38 + (random(c + 9) % 4) as u8)
        .collect();
    let (f, w, m, s) = (
        upload(&from)?,
        upload(&weights)?,
        upload(&factors)?,
        upload(&shifts)?,
    );
    let to = zeroed::<i8>(width * channels)?;
    let zero = -3i32;
    let raw = Args::new()
        .value(zero)
        .pointer(&f)
        .pointer(&w)
        .pointer(&m)
        .pointer(&s)
        .value(width as u32)
        .pointer(&to);
    Ok(
        Case::new("requantize_taps", (width.div_ceil(256), channels), 256)
            .args(
                raw.clone(),
                raw,
                Args::new()
                    .value(zero)
                    .slice(&f)
                    .slice(&w)
                    .slice(&m)
                    .slice(&s)
                    .rows(&to, width),
            )
            .input(&f)
            .input(&w)
            .input(&m)
            .input(&s)
            .output(&to)
            .check(move || {
                equal(&to, |i| {
                    let (x, channel) = (i % width, i / width);
                    let sum: i64 = (0..TAPS)
                        .map(|k| {
                            (i64::from(from[channel * pitch + x + k]) + 3)
                                * i64::from(weights[channel][k])
                        })
                        .sum();
                    let scaled = sum as i128 * i128::from(factors[channel]);
                    let rounded =
                        (scaled + (1 << (shifts[channel] - 1))).div_euclid(1 << shifts[channel]);
                    rounded.clamp(-128, 127) as i8
                })
            }),
    )
}

pub fn wireworld(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3, 4096);
    let from: Vec<[[u8; 32]; 32]> = (0..n as u64)
        .map(|tile| {
            std::array::from_fn(|y| {
                std::array::from_fn(|x| {
                    let r = random(tile << 10 | (y * 32 + x) as u64) >> 6;
                    let wire = y % 4 == (tile % 4) as usize || x as u64 % 5 == tile % 5;
                    match r % 16 {
                        _ if !wire => u8::from(r % 9 == 0) * 3,
                        0 => 1,
                        1 => 2,
                        _ => 3,
                    }
                })
            })
        })
        .collect();
    let f = upload(&from)?;
    let to = zeroed::<u8>(n * 1024)?;
    let raw = Args::new().pointer(&f).pointer(&to);
    Ok(Case::new("wireworld", n, (32, 8))
        .args(raw.clone(), raw, Args::new().slice(&f).output(&to))
        .input(&f)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for tile in (0..n).step_by(n / 50 + 1) {
                let mut cells = from[tile];
                for _ in 0..device::GENERATIONS {
                    cells = std::array::from_fn(|y| {
                        std::array::from_fn(|x| {
                            let around =
                                (0..9).map(|k| cells[(y + 31 + k / 3) % 32][(x + 31 + k % 3) % 32]);
                            let heads = around.filter(|cell| *cell == 1).count();
                            match cells[y][x] {
                                0 => 0,
                                1 => 2,
                                3 if heads == 1 || heads == 2 => 1,
                                _ => 3,
                            }
                        })
                    });
                }
                for i in 0..1024 {
                    same(
                        tile * 1024 + i,
                        results[tile * 1024 + i],
                        cells[i / 32][i % 32],
                    )?;
                }
            }
            Ok(())
        }))
}

pub fn set_difference(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 150_000);
    let lists = |seed: u64| {
        let (mut list, mut starts) = (Vec::new(), vec![0u32]);
        for i in 0..n as u64 {
            let mut x = 0;
            for k in 0..random(i ^ (seed << 40)) % 60 {
                // Half of the steps are the same in both lists.
                let common = random(i << 8 | k);
                x += 1 + if common % 2 == 0 {
                    common / 2 % 3
                } else {
                    random(i << 8 | k | (seed << 50)) % 3
                };
                list.push(x as u32);
            }
            starts.push(list.len() as u32);
        }
        (list, starts)
    };
    let ((a, a_starts), (b, b_starts)) = (lists(1), lists(2));
    let (da, das, db, dbs) = (
        upload(&a)?,
        upload(&a_starts)?,
        upload(&b)?,
        upload(&b_starts)?,
    );
    let to = zeroed::<u32>(n)?;
    let raw = Args::new()
        .pointer(&da)
        .pointer(&das)
        .pointer(&db)
        .pointer(&dbs)
        .pointer(&to);
    Ok(Case::new("set_difference", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new()
                .slice(&da)
                .slice(&das)
                .slice(&db)
                .slice(&dbs)
                .output(&to),
        )
        .input(&da)
        .input(&das)
        .input(&db)
        .input(&dbs)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let set = |list: &[u32], starts: &[u32]| -> std::collections::HashSet<u32> {
                    list[starts[i] as usize..starts[i + 1] as usize]
                        .iter()
                        .copied()
                        .collect()
                };
                set(&a, &a_starts)
                    .symmetric_difference(&set(&b, &b_starts))
                    .count() as u32
            })
        }))
}

pub fn power_residues(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(500, 400_000);
    let first = 4_294_900_000u64;
    let to = zeroed::<u32>(n)?;
    let raw = Args::new().value(first).pointer(&to);
    Ok(Case::new("power_residues", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().value(first).output(&to),
        )
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let x = u128::from(first) + i as u128;
                let power = |exponent: u128, modulus: u128| {
                    (0..32).rev().fold(1, |y: u128, bit| {
                        let y = y * y % modulus;
                        if exponent >> bit & 1 == 1 {
                            y * (x % modulus) % modulus
                        } else {
                            y
                        }
                    })
                };
                let mut bits = 0;
                for modulus in [4_294_967_291, 4_294_967_231] {
                    for degree in [2, 5] {
                        bits = bits * 2 + u32::from(power((modulus - 1) / degree, modulus) == 1);
                    }
                }
                bits
            })
        }))
}

pub fn below_peak(scale: Scale) -> CudaResult<Case> {
    let (n, width) = (scale.pick(7, 16_000), scale.pick(75, 1000));
    let from: Vec<i32> = (0..n * width)
        .map(|i| (i % width * 10) as i32 + (random(i as u64) % 2000) as i32 - 1000)
        .collect();
    let f = upload(&from)?;
    let to = zeroed::<i32>(n * width)?;
    let raw = Args::new()
        .pointer(&f)
        .value(width as u32)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("below_peak", n.div_ceil(4), 128)
        .args(raw.clone(), raw, Args::new().slice(&f).rows(&to, width))
        .input(&f)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                from[i / width * width..=i].iter().max().unwrap() - from[i]
            })
        }))
}

pub fn decimal_fields(scale: Scale) -> CudaResult<Case> {
    const N: usize = device::FIELD;
    let n = scale.pick(700, 400_000);
    let numbers: Vec<i64> = (0..n as u64)
        .map(|i| match i % 1000 {
            0 => 0,
            1 => i64::MIN,
            _ => random(i) as i64 >> (random(i + 1) % 60),
        })
        .collect();
    let from = upload(&numbers)?;
    let to = zeroed::<u8>(n * N)?;
    let raw = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("decimal_fields", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&from).rows(&to, N),
        )
        .input(&from)
        .output(&to)
        .check(move || equal(&to, |i| format!("{:>24}", numbers[i / N]).as_bytes()[i % N])))
}

pub fn gene_chain(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 19);
    let genomes: Vec<u32> = (0..n as u64).map(|i| random(i / 4) as u32).collect();
    let inputs: Vec<f32> = uniform_f32(n, 1)
        .into_iter()
        .map(|x| 4.0 * x - 2.0)
        .collect();
    let (g, x) = (upload(&genomes)?, upload(&inputs)?);
    let to = zeroed::<f32>(n)?;
    let raw = Args::new().pointer(&g).pointer(&x).pointer(&to);
    Ok(Case::new("gene_chain", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&g).slice(&x).output(&to),
        )
        .input(&g)
        .input(&x)
        .output(&to)
        .check(move || {
            close(&to, 1e-3, 1e-4, |i| {
                (0..10).fold(f64::from(inputs[i]), |x, k| {
                    let x = 1.3 * x + 0.1;
                    match genomes[i] >> (3 * k) & 7 {
                        0 => x,
                        1 => x.tanh(),
                        2 => x.max(0.0),
                        3 => 1.0 / (1.0 + (-x).exp()),
                        4 => x.sin(),
                        5 => (-x * x).exp(),
                        6 => x.abs(),
                        _ => x / (1.0 + x.abs()),
                    }
                })
            })
        }))
}

pub fn symmetric_fir(scale: Scale) -> CudaResult<Case> {
    const HALF: usize = device::HALF_TAPS;
    let n = scale.pick(700, 1 << 20);
    let signal = uniform_f64(n + 2 * HALF, 1);
    let half: [f64; HALF] = uniform_f64(HALF, 2).try_into().unwrap();
    let (s, h) = (upload(&signal)?, upload(&half)?);
    let to = zeroed::<f64>(n)?;
    let raw = Args::new().pointer(&s).pointer(&h).pointer(&to);
    Ok(Case::new("symmetric_fir", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&s).pointer(&h).output(&to),
        )
        .input(&s)
        .input(&h)
        .output(&to)
        .check(move || {
            close(&to, 1e-12, 0.0, |i| {
                (0..2 * HALF)
                    .map(|k| half[k.min(2 * HALF - 1 - k)] * signal[i + k])
                    .sum()
            })
        }))
}

pub fn filmic_pixels(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 21);
    let from: Vec<u8> = (0..4 * n as u64).map(|i| (random(i) >> 8) as u8).collect();
    let f = upload(&from)?;
    let to = zeroed::<u8>(4 * n)?;
    let raw = Args::new().pointer(&f).pointer(&to);
    Ok(Case::new("filmic_pixels", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&f).output(&to),
        )
        .input(&f)
        .output(&to)
        .check(move || {
            // Rounding may differ by one.
            close(&to, 0.0, 1.0, |i| {
                if i % 4 == 3 {
                    return f64::from(from[i]);
                }
                let x = (f64::from(from[i]) / 255.0).powf(2.2);
                let x = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14);
                (x.clamp(0.0, 1.0).powf(1.0 / 2.2) * 255.0 + 0.5).floor()
            })
        }))
}
