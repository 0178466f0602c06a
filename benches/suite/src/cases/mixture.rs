//! Kernels in many styles.

// The cases are as their author wrote them.
#![allow(
    clippy::approx_constant,
    clippy::chunks_exact_to_as_chunks,
    clippy::excessive_precision,
    clippy::manual_is_multiple_of,
    clippy::needless_range_loop,
    clippy::precedence,
    clippy::while_let_loop
)]

use super::Scale;
use crate::case::{
    Args, Case, close, download, equal, near, random, same, samples, uniform, uniform_f32,
    uniform_f64, upload, zeroed,
};
use bench_kernels::mixture::*;
use cust::error::CudaResult;

/// A random set of bits from `from` to `to`, each with a probability.
fn bits(seed: u64, from: u32, to: u32, probability: f64) -> u64 {
    let mut set = 0;
    for bit in from..=to {
        if uniform(seed * 64 + u64::from(bit)) < probability {
            set |= 1 << bit;
        }
    }
    if set == 0 {
        1 << (from + (seed % u64::from(to - from + 1)) as u32)
    } else {
        set
    }
}

pub fn cron_next(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let schedules: Vec<Schedule> = (0..n as u64)
        .map(|i| Schedule {
            minutes: bits(i, 0, 59, 0.1),
            hours: bits(i + (1 << 40), 0, 23, 0.2) as u32,
            days: bits(i + (2 << 40), 1, 31, if i % 3 == 0 { 1.0 } else { 0.1 }) as u32,
            months: bits(i + (3 << 40), 1, 12, if i % 2 == 0 { 1.0 } else { 0.2 }) as u16,
            weekdays: bits(i + (4 << 40), 0, 6, if i % 5 < 2 { 1.0 } else { 0.3 }) as u16,
        })
        .collect();
    let starts: Vec<i64> = (0..n as u64)
        .map(|i| (uniform(i + (5 << 40)) * 4e7) as i64 - 2_000_000)
        .collect();
    let (a, b, to) = (upload(&schedules)?, upload(&starts)?, zeroed::<i64>(n)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("cron_next", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n as u32),
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || equal(&t, |i| schedules[i].next(starts[i]).unwrap_or(-1))))
}

pub fn png_filter(scale: Scale) -> CudaResult<Case> {
    let (pixels, height) = (scale.pick(37, 1024), scale.pick(21, 8192));
    let stride = 3 * pixels;
    let image: Vec<u8> = (0..stride * height)
        .map(|i| {
            let (x, y) = (i % stride / 3, i / stride);
            let noise = random(i as u64) % (1 + (y as u64 / 7) % 30);
            match (y / 5) % 4 {
                0 => (3 * x) as u8,
                1 => ((x * x) / 50 + y) as u8,
                2 => random((x / 4) as u64) as u8,
                _ => ((x + y) / 2 * (1 + i % 3)) as u8,
            }
            .wrapping_add(noise as u8)
        })
        .collect();
    let (a, to) = (upload(&image)?, zeroed::<u8>((stride + 1) * height)?);
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&to)
        .value(stride as i32)
        .value(height as i32);
    Ok(Case::new("png_filter", height.div_ceil(8), 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).rows(&to, stride + 1),
        )
        .input(&a)
        .output(&to)
        .check(move || {
            let at = |x: i64, y: i64| {
                if x < 0 || y < 0 {
                    0
                } else {
                    i64::from(image[y as usize * stride + x as usize])
                }
            };
            let residual = |k: usize, x: i64, y: i64| {
                let (a, b, c) = (at(x - 3, y), at(x, y - 1), at(x - 3, y - 1));
                let p = a + b - c;
                let paeth = *[a, b, c].iter().min_by_key(|&&v| (p - v).abs()).unwrap();
                (at(x, y) - [0, a, b, (a + b) / 2, paeth][k]) as u8
            };
            let mut chosen = vec![None; height];
            for (y, chosen) in chosen.iter_mut().enumerate() {
                if y % (height / 20) == 0 {
                    let cost = |&k: &usize| -> u32 {
                        let row = (0..stride as i64).map(|x| residual(k, x, y as i64) as i8);
                        row.map(|r| u32::from(r.unsigned_abs())).sum()
                    };
                    *chosen = (0..5).min_by_key(cost);
                }
            }
            let results = download(&t)?;
            for (y, row) in results.chunks(stride + 1).enumerate() {
                let Some(k) = chosen[y] else { continue };
                same(y * (stride + 1), row[0], k as u8)?;
                for x in 0..stride {
                    same(
                        y * (stride + 1) + 1 + x,
                        row[1 + x],
                        residual(k, x as i64, y as i64),
                    )?;
                }
            }
            Ok(())
        }))
}

pub fn stick_breaking(scale: Scale) -> CudaResult<Case> {
    let (len, rows) = (scale.pick(700, 2048), scale.pick(5, 4096));
    let sticks: Vec<f32> = uniform_f32(len * rows, 3)
        .into_iter()
        .enumerate()
        .map(|(i, u)| {
            let alpha = 10.0 + 25.0 * (i / len % 17) as f32;
            1.0 - (1.0 - u).max(1e-6).powf(1.0 / alpha)
        })
        .collect();
    let (a, to) = (upload(&sticks)?, zeroed::<f32>(len * rows)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to).value(len as i32);
    Ok(Case::new("stick_breaking", rows, 256)
        .args(raw.clone(), raw, Args::new().slice(&a).rows(&to, len))
        .input(&a)
        .output(&to)
        .check(move || {
            let mut expected = vec![0f64; len * rows];
            for (row, out) in sticks.chunks(len).zip(expected.chunks_mut(len)) {
                let mut rest = 1f64;
                for (chunk, out) in row.chunks(256).zip(out.chunks_mut(256)) {
                    for (&v, out) in chunk.iter().zip(out) {
                        *out = rest * f64::from(v);
                        rest *= 1.0 - f64::from(v);
                    }
                    if rest < 1e-6 {
                        break;
                    }
                }
            }
            close(&t, 1e-3, 1e-6, |i| expected[i])
        }))
}

/// Numbers from -1 to 1 in fp16, and their values.
fn halves(n: usize, seed: u64) -> (Vec<F16>, Vec<f32>) {
    let h: Vec<F16> = uniform_f32(n, seed)
        .into_iter()
        .map(|u| F16::from_f32(2.0 * u - 1.0))
        .collect();
    let values = h.iter().map(|h| h.to_f32()).collect();
    (h, values)
}

pub fn winograd_f16(scale: Scale) -> CudaResult<Case> {
    let (tiles_x, tiles_y) = (scale.pick(35, 128), scale.pick(6, 128));
    let (channels, outputs) = (scale.pick(3, 32), scale.pick(3, 32));
    let (width, height) = (2 * tiles_x + 2, 2 * tiles_y + 2);
    let (image, values) = halves(channels * width * height, 4);
    let (filters, weights) = halves(channels * outputs * 16, 5);
    let (a, b) = (upload(&image)?, upload(&filters)?);
    let to = zeroed::<[f32; 4]>(tiles_x * tiles_y * outputs)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    let sizes = |args: Args| {
        args.value(tiles_x as u32)
            .value(tiles_y as u32)
            .value(outputs as u32)
    };
    let head = Args::new().value(channels as u32);
    let safe = Args::new().value(channels).slice(&a);
    let safe = safe
        .pointer(&b)
        .value(channels * outputs)
        .volume(&to, tiles_x, tiles_y);
    let raw = sizes(head.and(raw));
    let grid = (
        tiles_x.div_ceil(32),
        tiles_y.div_ceil(4),
        outputs.div_ceil(2),
    );
    Ok(Case::new("winograd_f16", grid, (32, 4, 2))
        .args(raw.clone(), raw, safe)
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(results.len()) {
                let (tx, ty, k) = (i % tiles_x, i / tiles_x % tiles_y, i / tiles_x / tiles_y);
                let mut sum = [[0f64; 4]; 4];
                for c in 0..channels {
                    let at = |y: usize, x: usize| {
                        f64::from(values[(c * height + 2 * ty + y) * width + 2 * tx + x])
                    };
                    const B: [[f64; 4]; 4] = [
                        [1., 0., -1., 0.],
                        [0., 1., 1., 0.],
                        [0., -1., 1., 0.],
                        [0., 1., 0., -1.],
                    ];
                    for y in 0..4 {
                        for x in 0..4 {
                            let mut v = 0.0;
                            for p in 0..4 {
                                for q in 0..4 {
                                    v += B[y][p] * at(p, q) * B[x][q];
                                }
                            }
                            let w = weights[((k * channels + c) * 4 + y) * 4 + x];
                            sum[y][x] += v * f64::from(w);
                        }
                    }
                }
                const A: [[f64; 4]; 2] = [[1., 1., 1., 0.], [0., 1., -1., -1.]];
                for y in 0..2 {
                    for x in 0..2 {
                        let mut v = 0.0;
                        for p in 0..4 {
                            for q in 0..4 {
                                v += A[y][p] * sum[p][q] * A[x][q];
                            }
                        }
                        near(i, results[i][2 * y + x], v, 1e-4, 1e-3)?;
                    }
                }
            }
            Ok(())
        }))
}

impl crate::case::Number for [u32; 3] {
    fn bytes(self) -> Vec<u8> {
        self.into_iter().flat_map(u32::to_ne_bytes).collect()
    }
}

pub fn svg_bounds(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let mut text = Vec::new();
    let mut ends = Vec::new();
    for i in 0..n as u64 {
        let mut r = (0..).map(|k| random(i * 256 + k));
        let mut next = |m: u64| r.next().unwrap() % m;
        let number = |text: &mut Vec<u8>, next: &mut dyn FnMut(u64) -> u64| {
            let digits = 1 + next(4) as u32;
            let value = next(10u64.pow(digits)) as i64;
            let value = if next(3) == 0 { -value } else { value };
            if value >= 0 {
                text.push(b" ,"[next(2) as usize]);
            }
            text.extend(value.to_string().bytes());
        };
        text.push(b'M');
        number(&mut text, &mut next);
        number(&mut text, &mut next);
        for _ in 0..3 + next(9) {
            let command = b"LlHhVvZzLlmM"[next(12) as usize];
            text.push(command);
            let pairs = 1 + next(3);
            match command.to_ascii_uppercase() {
                b'Z' => {}
                b'H' | b'V' => number(&mut text, &mut next),
                _ => (0..2 * pairs).for_each(|_| number(&mut text, &mut next)),
            }
        }
        if next(40) == 0 {
            text.push(b'x');
        }
        ends.push(text.len() as u32);
    }
    let (a, b, to) = (upload(&text)?, upload(&ends)?, zeroed::<[i32; 4]>(n)?);
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("svg_bounds", n.div_ceil(128), 128)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let start = if i == 0 { 0 } else { ends[i - 1] as usize };
                let bounds = path_bounds(&text[start..ends[i] as usize]);
                bounds.map_or([0; 4], |bounds| bounds.to_array())
            })
        }))
}

pub fn hilbert3d(scale: Scale) -> CudaResult<Case> {
    let (nx, ny, nz) = (scale.pick(13, 256), scale.pick(10, 256), scale.pick(6, 64));
    let to = zeroed::<u64>(nx * ny * nz)?;
    let t = to.clone();
    let origin = [12_345u32, 40_000, 777];
    let head = Args::new()
        .value(origin[0])
        .value(origin[1])
        .value(origin[2]);
    let raw = head
        .pointer(&to)
        .value(nx as u32)
        .value(ny as u32)
        .value(nz as u32);
    let grid = (nx.div_ceil(8), ny.div_ceil(8), nz.div_ceil(4));
    Ok(Case::new("hilbert3d", grid, (8, 8, 4))
        .args(
            raw.clone(),
            raw,
            Args::new().value(origin).volume(&to, nx, ny),
        )
        .output(&to)
        .check(move || {
            let at = |i: usize| {
                let (x, y, z) = ((i % nx) as u32, (i / nx % ny) as u32, (i / nx / ny) as u32);
                hilbert_index([origin[0] + x, origin[1] + y, origin[2] + z])
            };
            equal(&t, at)
        }))
}

pub fn surface_nets3d(scale: Scale) -> CudaResult<Case> {
    let (nx, ny, nz) = (scale.pick(37, 192), scale.pick(10, 192), scale.pick(3, 96));
    let (width, height, depth) = (nx + 1, ny + 1, nz + 1);
    let wave = |i: usize| ((i as f32) * 0.5).sin_cos();
    let waves: Vec<_> = (0..width.max(height).max(depth)).map(wave).collect();
    let field: Vec<f32> = (0..width * height * depth)
        .map(|i| {
            let [x, y, z] = [i % width, i / width % height, i / width / height].map(|k| waves[k]);
            x.0 * y.1 + y.0 * z.1 + z.0 * x.1 + 0.3 * (random(i as u64) % 1000) as f32 / 1000.0
        })
        .collect();
    let (a, to) = (upload(&field)?, zeroed::<[f32; 4]>(nx * ny * nz)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to);
    let raw = raw.value(nx as u32).value(ny as u32).value(nz as u32);
    Ok(Case::new(
        "surface_nets3d",
        (nx.div_ceil(32), ny.div_ceil(8), nz),
        (32, 8),
    )
    .args(raw.clone(), raw, Args::new().slice(&a).volume(&to, nx, ny))
    .input(&a)
    .output(&to)
    .check(move || {
        let results = download(&t)?;
        for i in samples(results.len()) {
            let (x, y, z) = (i % nx, i / nx % ny, i / nx / ny);
            let mut sum = [0f64; 4];
            for a in 0..8usize {
                for axis in 0..3 {
                    let b = a | 1 << axis;
                    if a == b {
                        continue;
                    }
                    let [p, q] = [a, b].map(|c| {
                        let (x, y, z) = (x + (c & 1), y + (c >> 1 & 1), z + (c >> 2));
                        f64::from(field[(z * height + y) * width + x])
                    });
                    if (p < 0.0) != (q < 0.0) {
                        for k in 0..3 {
                            let t = p / (p - q);
                            sum[k] += if k == axis { t } else { (a >> k & 1) as f64 };
                        }
                        sum[3] += 1.0;
                    }
                }
            }
            if sum[3] > 0.0 {
                for (sum, corner) in sum.iter_mut().zip([x, y, z]) {
                    *sum = corner as f64 + *sum / f64::from(results[i][3]);
                }
            }
            for k in 0..4 {
                near(i, results[i][k], sum[k], 1e-5, 1e-4)?;
            }
        }
        Ok(())
    }))
}

pub fn cds_bootstrap(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 16);
    let u: Vec<Vec<f64>> = (0..7).map(|k| uniform_f64(n, 10 + k)).collect();
    let mut inputs: Vec<Vec<f64>> = vec![u[0].iter().map(|u| 0.002 + 0.03 * u * u).collect()];
    for k in 1..5 {
        let rise = inputs[k - 1]
            .iter()
            .zip(&u[k])
            .map(|(s, u)| s * (1.0 + 0.12 * u));
        let rise = rise.collect();
        inputs.push(rise);
    }
    inputs.push(u[5].iter().map(|u| 0.01 + 0.05 * u).collect());
    inputs.push(u[6].iter().map(|u| 0.2 + 0.4 * u).collect());
    let buffers = inputs
        .iter()
        .map(|v| upload(v))
        .collect::<CudaResult<Vec<_>>>()?;
    let to = zeroed::<[f64; 5]>(n)?;
    let t = to.clone();
    let raw = buffers
        .iter()
        .fold(Args::new(), |args, b| args.pointer(b))
        .pointer(&to);
    let safe = buffers
        .iter()
        .fold(Args::new(), |args, b| args.slice(b))
        .output(&to);
    let raw = raw.value(n as u32);
    let mut case = Case::new("cds_bootstrap", n.div_ceil(128), 128).args(raw.clone(), raw, safe);
    for b in &buffers {
        case = case.input(b);
    }
    Ok(case.output(&to).check(move || {
        let results = download(&t)?;
        for i in samples(n) {
            let step = (-0.25 * inputs[5][i]).exp();
            let (mut discount, mut survival, mut annuity, mut protection) = (1.0, 1.0, 0.0, 0.0);
            let mut quarter = 0;
            for k in 0..5 {
                let h = results[i][k];
                while quarter < TENORS[k] {
                    discount *= step;
                    let next = survival * (-0.25 * h).exp();
                    annuity += 0.25 * discount * next;
                    protection += discount * (survival - next);
                    survival = next;
                    quarter += 1;
                }
                // The intensity reprices the swap.
                near(
                    i,
                    protection * (1.0 - inputs[6][i]),
                    annuity * inputs[k][i],
                    1e-7,
                    1e-9,
                )?;
            }
        }
        Ok(())
    }))
}

pub fn chess_mobility(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let positions: Vec<[u16; 16]> = (0..n as u64)
        .map(|i| {
            std::array::from_fn(|k| {
                let r = random(i * 16 + k as u64);
                // The first squares of a permutation: square = (a k + b) mod 64 with odd a.
                let a = random(i) | 1;
                let square = a.wrapping_mul(k as u64).wrapping_add(random(i + 7) >> 32) % 64;
                let kind = [1, 1, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 1, 1, 0][r as usize % 16];
                (square | kind << 6 | (r >> 20 & 1) << 9) as u16
            })
        })
        .collect();
    let (a, to) = (upload(&positions)?, zeroed::<i32>(n)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to).value(n as u32);
    Ok(Case::new("chess_mobility", n.div_ceil(256), 256)
        .args(raw.clone(), raw, Args::new().slice(&a).output(&to))
        .input(&a)
        .output(&to)
        .check(move || equal(&t, |i| mobility(&positions[i]))))
}

pub fn hyperloglog(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(5000, 1 << 24);
    let keys: Vec<u64> = (0..n as u64)
        .map(|i| random(i) >> (random(i) % 2 * 40))
        .collect();
    let (a, to) = (upload(&keys)?, zeroed::<u32>(REGISTERS)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to).value(n as u32);
    Ok(Case::new("hyperloglog", scale.blocks(8), 256)
        .args(raw.clone(), raw, Args::new().slice(&a).slice(&to))
        .input(&a)
        .output_from(&to, 0)
        .reset()
        .check(move || {
            let mut expected = vec![0; REGISTERS];
            for &key in &keys {
                let (register, rank) = rank_of(key);
                expected[register] = rank.max(expected[register]);
            }
            equal(&t, |i| expected[i])
        }))
}

pub fn systematic_resample(scale: Scale) -> CudaResult<Case> {
    let (count, rows) = (scale.pick(700, 4096), scale.pick(4, 2048));
    let weights: Vec<u32> = (0..count * rows)
        .map(|i| {
            let r = random(i as u64);
            (r as u32 & 0xfffff) >> (r >> 40 & 15)
        })
        .collect();
    let first: Vec<u64> = (0..rows as u64).map(|i| random(i + 99)).collect();
    let (a, b, to) = (
        upload(&weights)?,
        upload(&first)?,
        zeroed::<u32>(count * rows)?,
    );
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&to)
        .value(count as u32);
    Ok(Case::new("systematic_resample", rows, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).slice(&b).rows(&to, count),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let mut expected = vec![0u32; count * rows];
            for y in 0..rows {
                let weights = &weights[y * count..][..count];
                let total: u64 = weights.iter().map(|&w| u64::from(w)).sum();
                let mut sample = first[y] % total;
                let mut cumulative = 0;
                for (&w, out) in weights.iter().zip(&mut expected[y * count..]) {
                    cumulative += u64::from(w) * count as u64;
                    while sample < cumulative {
                        *out += 1;
                        sample += total;
                    }
                }
            }
            equal(&t, |i| expected[i])
        }))
}

pub fn ciede_nearest(scale: Scale) -> CudaResult<Case> {
    let (n, colors) = (scale.pick(300, 1 << 18), scale.pick(7, 24));
    let pixels: Vec<[u8; 3]> = (0..n as u64)
        .map(|i| random(i).to_le_bytes()[..3].try_into().unwrap())
        .collect();
    let palette: Vec<Lab> = (0..colors as u64)
        .map(|i| {
            let [l, a, b] = [0, 1, 2].map(|k| uniform(i * 3 + k + (9 << 40)) as f32);
            Lab {
                l: 100.0 * l,
                a: 120.0 * a - 60.0,
                b: 120.0 * b - 60.0,
            }
        })
        .collect();
    let (a, b, to) = (upload(&pixels)?, upload(&palette)?, zeroed::<u8>(n)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    let raw = raw.value(colors as u32).value(n as u32);
    Ok(Case::new("ciede_nearest", n.div_ceil(256), 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(n) {
                let color = Lab::from(pixels[i]);
                let differences: Vec<f32> = palette.iter().map(|&p| color.difference(p)).collect();
                let least = differences.iter().copied().fold(f32::INFINITY, f32::min);
                // Another color may be as near.
                near(
                    i,
                    differences[usize::from(results[i])],
                    least.into(),
                    0.0,
                    1e-3,
                )?;
            }
            Ok(())
        }))
}

pub fn homography(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 19);
    let quads = |seed: u64, spread: f32| -> Vec<Quad> {
        let u = uniform_f32(8 * n, seed);
        u.chunks(8)
            .map(|u| {
                let corners = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0f32]];
                std::array::from_fn(|k| {
                    [0, 1].map(|d| corners[k][d] + spread * (u[2 * k + d] - 0.5))
                })
            })
            .collect()
    };
    let (from, onto) = (quads(30, 0.3), quads(31, 0.6));
    let (a, b) = (upload(&from)?, upload(&onto)?);
    let (maps, counts) = (zeroed::<[f32; 9]>(n)?, zeroed::<u32>(n)?);
    let (m, c) = (maps.clone(), counts.clone());
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&maps)
        .pointer(&counts);
    let raw = raw.value(n as u32);
    let safe = Args::new()
        .slice(&a)
        .slice(&b)
        .output(&maps)
        .output(&counts);
    Ok(Case::new("homography", n.div_ceil(128), 128)
        .args(raw.clone(), raw, safe)
        .input(&a)
        .input(&b)
        .output(&maps)
        .output(&counts)
        .check(move || {
            let (maps, counts) = (download(&m)?, download(&c)?);
            for i in samples(n) {
                let h = maps[i].map(f64::from);
                for (p, q) in from[i].iter().zip(onto[i]) {
                    let p = p.map(f64::from);
                    let w = h[6] * p[0] + h[7] * p[1] + h[8];
                    for k in 0..2 {
                        let v = (h[3 * k] * p[0] + h[3 * k + 1] * p[1] + h[3 * k + 2]) / w;
                        near(i, v, q[k].into(), 0.0, 1e-3)?;
                    }
                }
                // A point may be on the edge.
                let expected = visible(&homography_of(&from[i], &onto[i]));
                near(i, counts[i], expected.into(), 0.0, 1.0)?;
            }
            Ok(())
        }))
}

/// Gives a task to a person, recursively.
fn augment(
    person: usize,
    can_do: &[u16; 16],
    seen: &mut u16,
    of: &mut [Option<usize>; 16],
) -> bool {
    for task in 0..16 {
        if can_do[person] >> task & 1 == 1 && *seen >> task & 1 == 0 {
            *seen |= 1 << task;
            if of[task].is_none_or(|other| augment(other, can_do, seen, of)) {
                of[task] = Some(person);
                return true;
            }
        }
    }
    false
}

pub fn kuhn_matching(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 17);
    let graphs: Vec<[u16; 16]> = (0..n as u64)
        .map(|i| {
            std::array::from_fn(|k| {
                let r = random(i * 16 + k as u64);
                let row = r as u16 & (r >> 16) as u16 & (r >> 32) as u16;
                if r >> 62 == 0 { row & 0x1f } else { row }
            })
        })
        .collect();
    let (a, to) = (upload(&graphs)?, zeroed::<u32>(n)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to).value(n as u32);
    Ok(Case::new("kuhn_matching", n.div_ceil(128), 128)
        .args(raw.clone(), raw, Args::new().slice(&a).output(&to))
        .input(&a)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let mut of = [None; 16];
                (0..16)
                    .filter(|&p| augment(p, &graphs[i], &mut 0, &mut of))
                    .count() as u32
            })
        }))
}

pub fn tryptic_digest(scale: Scale) -> CudaResult<Case> {
    let (n, count) = (scale.pick(200, 1 << 16), scale.pick(500, 8192));
    let mut proteins = Vec::new();
    let mut ends = Vec::new();
    for i in 0..n as u64 {
        let length = 50 + random(i + (1 << 50)) % 300;
        let letters = b"ACDEFGHIKLMNPQRSTVWYLLAAGGVVSSEEKR";
        let residues = (0..length).map(|k| letters[random(i * 512 + k) as usize % letters.len()]);
        proteins.extend(residues);
        ends.push(proteins.len() as u32);
    }
    let mut masses: Vec<u32> = (0..count as u64)
        .map(|i| 400_000 + random(i + (1 << 51)) as u32 % 2_500_000)
        .collect();
    masses.sort_unstable();
    let (a, b, c) = (upload(&proteins)?, upload(&ends)?, upload(&masses)?);
    let to = zeroed::<u32>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&c);
    let raw = raw.value(count as u32).pointer(&to).value(n as u32);
    Ok(Case::new("tryptic_digest", n.div_ceil(128), 128)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).slice(&b).slice(&c).output(&to),
        )
        .input(&a)
        .input(&b)
        .input(&c)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let protein =
                    &proteins[i.checked_sub(1).map_or(0, |i| ends[i] as usize)..ends[i] as usize];
                let mut peptides = vec![vec![]];
                for (k, &r) in protein.iter().enumerate() {
                    peptides.last_mut().unwrap().push(r);
                    if b"KR".contains(&r) && protein.get(k + 1) != Some(&b'P') {
                        peptides.push(vec![]);
                    }
                }
                let long = peptides.iter().filter(|p| p.len() >= 5 && p.len() <= 40);
                long.map(|p| {
                    let mass = peptide_mass(p);
                    let fits = |&&m: &&u32| m.abs_diff(mass) <= mass / 50_000;
                    masses.iter().filter(fits).count() as u32
                })
                .sum()
            })
        }))
}

pub fn ring_stats(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 17);
    let samples_: Vec<f32> = uniform_f32(n * RING, 40)
        .into_iter()
        .enumerate()
        .map(|(i, u)| u + 0.5 * (i as f32 * 0.1).sin())
        .collect();
    let heads: Vec<u32> = (0..n as u64)
        .map(|i| random(i) as u32 % RING as u32)
        .collect();
    let (a, b, to) = (
        upload(&samples_)?,
        upload(&heads)?,
        upload(&vec![RingStats::default(); n])?,
    );
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("ring_stats", n.div_ceil(128), 128)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(n) {
                let mut ring = samples_[i * RING..][..RING].to_vec();
                ring.rotate_left(heads[i] as usize);
                let smoothed = ring
                    .iter()
                    .fold(0.0, |s, &x| s + 0.125 * (f64::from(x) - s));
                let steps: Vec<f32> = ring.windows(2).map(|w| w[1] - w[0]).collect();
                let jump = steps.iter().fold(0f32, |a, s| a.max(s.abs()));
                let turns = steps.windows(2).filter(|w| w[0] * w[1] < 0.0).count();
                near(i, results[i].smoothed, smoothed, 1e-4, 1e-5)?;
                same(i, results[i].largest_jump, jump)?;
                same(i, results[i].turns, turns as u32)?;
                let limit = 0.25 * results[i].smoothed;
                let above = ring.iter().rev().take_while(|&&x| x > limit).count();
                same(i, results[i].above, above as u32)?;
            }
            Ok(())
        }))
}

pub fn cusum_alarm(scale: Scale) -> CudaResult<Case> {
    let (series, times) = (scale.pick(300, 32_768), scale.pick(100, 512));
    let data = uniform_f32(series * times, 41);
    let drift = 0.52f32;
    let limits: Vec<f32> = uniform_f32(series, 42)
        .into_iter()
        .map(|u| 0.5 + 8.0 * u)
        .collect();
    let (a, b, to) = (upload(&data)?, upload(&limits)?, zeroed::<u32>(series)?);
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .value(drift)
        .pointer(&b)
        .pointer(&to);
    let raw = raw.value(series as u32).value(times as u32);
    Ok(Case::new("cusum_alarm", series.div_ceil(256), 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).value(drift).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let mut sum = 0f32;
                for time in 0..times {
                    sum = (sum + data[time * series + i] - drift).max(0.0);
                    if sum > limits[i] {
                        return time as u32;
                    }
                }
                u32::MAX
            })
        }))
}

pub fn sqrt_period(scale: Scale) -> CudaResult<Case> {
    let (start, count) = (scale.pick(2, 100_000) as u64, scale.pick(700, 300_000));
    let to = zeroed::<u32>(count)?;
    let t = to.clone();
    let raw = Args::new().value(start).pointer(&to).value(count as u32);
    Ok(Case::new("sqrt_period", scale.blocks(8), 256)
        .args(raw.clone(), raw, Args::new().value(start).output(&to))
        .output(&to)
        .check(move || equal(&t, |i| sqrt_period_of(start + i as u64))))
}

pub fn logistic_grad(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1500, 1 << 20);
    let u = uniform_f32(n * FEATURES, 50);
    let data: Vec<[f32; FEATURES]> = u
        .chunks(FEATURES)
        .map(|u| std::array::from_fn(|k| 2.0 * u[k] - 0.8))
        .collect();
    let weights: [f32; FEATURES] = [1.5, -2.0, 0.7, 3.0, -0.4, 1.1, -2.5, 0.2];
    let labels: Vec<u8> = data
        .iter()
        .enumerate()
        .map(|(i, x)| u8::from(x[0] + x[3] - x[6] + uniform(i as u64) as f32 > 1.0))
        .collect();
    let (a, b, c) = (upload(&data)?, upload(&labels)?, upload(&weights)?);
    let blocks = scale.blocks(8);
    let (gradients, losses) = (zeroed::<f32>(FEATURES * blocks)?, zeroed::<f32>(blocks)?);
    let (g, l) = (gradients.clone(), losses.clone());
    let outputs = Args::new()
        .pointer(&gradients)
        .pointer(&losses)
        .value(n as u32);
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&c).and(outputs);
    let safe = Args::new()
        .slice(&a)
        .slice(&b)
        .pointer(&c)
        .output(&gradients)
        .output(&losses);
    Ok(Case::new("logistic_grad", blocks, 256)
        .args(raw.clone(), raw, safe)
        .input(&a)
        .input(&b)
        .input(&c)
        .output(&gradients)
        .output(&losses)
        .check(move || {
            let mut expected = [0f64; FEATURES + 1];
            for (x, &label) in data.iter().zip(&labels) {
                let score: f64 = x.iter().zip(weights).map(|(x, w)| f64::from(x * w)).sum();
                let slope = 1.0 / (1.0 + (-score).exp()) - f64::from(label);
                for k in 0..FEATURES {
                    expected[k] += slope * f64::from(x[k]);
                }
                expected[FEATURES] += (1.0 + score.exp()).ln() - score * f64::from(label);
            }
            let (g, l) = (download(&g)?, download(&l)?);
            for k in 0..FEATURES {
                let sum: f64 = g
                    .iter()
                    .skip(k)
                    .step_by(FEATURES)
                    .map(|&x| f64::from(x))
                    .sum();
                near(k, sum, expected[k], 1e-3, 1e-3)?;
            }
            near(
                8,
                l.iter().map(|&x| f64::from(x)).sum::<f64>(),
                expected[FEATURES],
                1e-3,
                1e-3,
            )
        }))
}

pub fn ctc_alpha(scale: Scale) -> CudaResult<Case> {
    let (utterances, times) = (scale.pick(3, 1024), scale.pick(70, 400));
    let log_probs: Vec<f32> = uniform_f32(utterances * times * SYMBOLS, 51)
        .into_iter()
        .map(|u| -1.0 - 5.0 * u)
        .collect();
    let labels: Vec<[u8; 31]> = (0..utterances as u64)
        .map(|i| std::array::from_fn(|k| 1 + (random(i * 31 + k as u64) % 5) as u8 * 6))
        .collect();
    let lengths: Vec<u32> = (0..utterances as u64)
        .map(|i| 8 + random(i) as u32 % 24)
        .collect();
    let (a, b, c) = (upload(&log_probs)?, upload(&labels)?, upload(&lengths)?);
    let to = zeroed::<f32>(utterances)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .value(times as u32)
        .pointer(&b)
        .pointer(&c)
        .pointer(&to);
    let safe = Args::new()
        .pointer(&a)
        .value(utterances * times)
        .value(times);
    Ok(Case::new("ctc_alpha", utterances, 64)
        .args(raw.clone(), raw, safe.slice(&b).slice(&c).output(&to))
        .input(&a)
        .input(&b)
        .input(&c)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in (0..utterances).step_by(utterances.div_ceil(64)) {
                let steps = &log_probs[i * times * SYMBOLS..][..times * SYMBOLS];
                let length = lengths[i] as usize;
                let symbol = |s: usize| {
                    if s % 2 == 1 {
                        labels[i][s / 2] as usize
                    } else {
                        0
                    }
                };
                let states = 2 * length + 1;
                // Probabilities, and a common factor's logarithm.
                let mut p: Vec<f64> = vec![0.0; states];
                p[0] = f64::from(steps[0]).exp();
                p[1] = f64::from(steps[symbol(1)]).exp();
                let mut log = 0.0;
                for step in steps.chunks(SYMBOLS).skip(1) {
                    p = (0..states)
                        .map(|s| {
                            let mut sum = p[s];
                            if s >= 1 {
                                sum += p[s - 1];
                            }
                            if s >= 2 && symbol(s) != 0 && symbol(s) != symbol(s - 2) {
                                sum += p[s - 2];
                            }
                            sum * f64::from(step[symbol(s)]).exp()
                        })
                        .collect();
                    let most = p.iter().copied().fold(0.0, f64::max);
                    p.iter_mut().for_each(|p| *p /= most);
                    log += most.ln();
                }
                near(
                    i,
                    results[i],
                    -(log + (p[states - 1] + p[states - 2]).ln()),
                    1e-4,
                    1e-3,
                )?;
            }
            Ok(())
        }))
}

pub fn crossing_segments(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 8192);
    let parts = scale.pick(2, 8);
    let coordinates: Vec<Vec<i32>> = (0..4u64)
        .map(|k| {
            (0..n as u64)
                .map(|i| {
                    let center = uniform(i * 2 + (k & 1)) * 1e8;
                    let reach = if i % 7 == 0 { 6e7 } else { 8e6 };
                    (center + (uniform(i * 4 + k + (1 << 42)) - 0.5) * reach) as i32
                })
                .collect()
        })
        .collect();
    let buffers = coordinates
        .iter()
        .map(|v| upload(v))
        .collect::<CudaResult<Vec<_>>>()?;
    let to = zeroed::<u32>(n)?;
    let t = to.clone();
    let raw = buffers.iter().fold(Args::new(), |args, b| args.pointer(b));
    let raw = raw.pointer(&to).value(n as u32);
    let safe = buffers
        .iter()
        .fold(Args::new(), |args, b| args.slice(b))
        .slice(&to);
    let mut case =
        Case::new("crossing_segments", (n.div_ceil(128), parts), 128).args(raw.clone(), raw, safe);
    for b in &buffers {
        case = case.input(b);
    }
    Ok(case.output_from(&to, 0).reset().check(move || {
        let at = |i: usize| [0, 1, 2, 3].map(|k| i128::from(coordinates[k][i]));
        let splits = |[x0, y0, x1, y1]: [i128; 4], [a, b, c, d]: [i128; 4]| {
            let area = |x, y| (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0);
            (area(a, b) > 0) != (area(c, d) > 0)
        };
        let results = download(&t)?;
        for i in (0..n).step_by(n / 100) {
            let s = at(i);
            let count = (0..n)
                .filter(|&k| splits(s, at(k)) && splits(at(k), s))
                .count();
            same(i, results[i], count as u32)?;
        }
        Ok(())
    }))
}

pub fn star_centroids(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(150, 2048), scale.pick(100, 2048));
    let n = scale.pick(5, 8192);
    let corners: Vec<[u32; 2]> = (0..n as u64)
        .map(|i| {
            let [x, y] = [random(2 * i), random(2 * i + 1)];
            [
                (x % (width - STAMP) as u64) as u32,
                (y % (height - STAMP) as u64) as u32,
            ]
        })
        .collect();
    let mut light: Vec<f32> = (0..width * height)
        .map(|i| 300.0 + (random(i as u64) % 40) as f32)
        .collect();
    for (i, [x0, y0]) in corners.iter().enumerate().filter(|(i, _)| i % 5 != 4) {
        let u = |k: u64| uniform(i as u64 * 8 + k + (1 << 43)) as f32;
        let (cx, cy, size) = (13.0 + 6.0 * u(0), 13.0 + 6.0 * u(1), 1.2 + 2.0 * u(2));
        let peak = 2000.0 + 20_000.0 * u(3);
        for y in 5..27 {
            for x in 5..27 {
                let r2 = (x as f32 - cx).powi(2) + (y as f32 - cy).powi(2);
                light[(*y0 as usize + y) * width + *x0 as usize + x] +=
                    peak * (-0.5 * r2 / size / size).exp();
            }
        }
    }
    let image: Vec<u16> = light.into_iter().map(|v| v.min(65_535.0) as u16).collect();
    let (a, b, to) = (upload(&image)?, upload(&corners)?, zeroed::<[f32; 4]>(n)?);
    let t = to.clone();
    let tail = Args::new().pointer(&b).pointer(&to);
    let raw = Args::new().pointer(&a).value(width as u32).and(tail);
    Ok(Case::new("star_centroids", n, (32, 8))
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).value(width).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in (0..n).step_by(n.div_ceil(200)) {
                let [x0, y0] = corners[i].map(|c| c as usize);
                let at = |x: usize, y: usize| f64::from(image[(y0 + y) * width + x0 + x]);
                let all = || (0..STAMP * STAMP).map(|k| (k % STAMP, k / STAMP));
                let border = all().filter(|&(x, y)| x % 31 == 0 || y % 31 == 0);
                let (sum, count) =
                    border.fold((0.0, 0.0), |(s, c), (x, y)| (s + at(x, y), c + 1.0));
                let sky = sum / count;
                let (mut sx, mut sy, mut flux, mut radius) = (15.5, 15.5, 0.0, 6f64);
                for _ in 0..5 {
                    let mut m = [0f64; 4];
                    for (x, y) in all() {
                        let (dx, dy) = (x as f64 - sx, y as f64 - sy);
                        let r2 = dx * dx + dy * dy;
                        let w = (-0.5 * r2 / (radius * radius)).exp() * (at(x, y) - sky).max(0.0);
                        for (m, v) in m.iter_mut().zip([w, w * dx, w * dy, w * r2]) {
                            *m += v;
                        }
                    }
                    if m[0] < 1.0 {
                        break;
                    }
                    sx += 2.0 * m[1] / m[0];
                    sy += 2.0 * m[2] / m[0];
                    radius = (m[3] / m[0]).sqrt().clamp(1.0, 8.0);
                    flux = m[0];
                }
                for (k, v) in [sx, sy, flux, radius].into_iter().enumerate() {
                    near(i, results[i][k], v, 1e-3, 1e-2)?;
                }
            }
            Ok(())
        }))
}

pub fn lomb_scargle(scale: Scale) -> CudaResult<Case> {
    let (n, frequencies) = (scale.pick(300, 2048), scale.pick(5, 4096));
    let mut times = uniform_f64(n, 55);
    times.iter_mut().for_each(|t| *t *= 100.0);
    times.sort_unstable_by(f64::total_cmp);
    let noise = uniform_f64(n, 56);
    let values: Vec<f64> = times
        .iter()
        .zip(noise)
        .map(|(t, u)| (1.7 * t).sin() + 0.4 * (5.1 * t).cos() + u - 0.5)
        .collect();
    let (first, step) = (0.05f64, 0.003f64);
    let (a, b, to) = (
        upload(&times)?,
        upload(&values)?,
        zeroed::<f64>(frequencies)?,
    );
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .value(first)
        .value(step)
        .pointer(&to);
    let raw = raw.value(n as u32);
    let safe = Args::new()
        .slice(&a)
        .slice(&b)
        .value(first)
        .value(step)
        .output(&to);
    Ok(Case::new("lomb_scargle", frequencies, 128)
        .args(raw.clone(), raw, safe)
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in (0..frequencies).step_by(frequencies.div_ceil(100)) {
                let omega = first + step * i as f64;
                let s: f64 = times.iter().map(|t| (2.0 * omega * t).sin()).sum();
                let c: f64 = times.iter().map(|t| (2.0 * omega * t).cos()).sum();
                let offset = s.atan2(c) / (2.0 * omega);
                let (mut yc, mut cc, mut ys, mut ss) = (0.0, 0.0, 0.0, 0.0);
                for (t, y) in times.iter().zip(&values) {
                    let (s, c) = (omega * (t - offset)).sin_cos();
                    yc += y * c;
                    cc += c * c;
                    ys += y * s;
                    ss += s * s;
                }
                near(
                    i,
                    results[i],
                    0.5 * (yc * yc / cc + ys * ys / ss),
                    1e-9,
                    1e-9,
                )?;
            }
            Ok(())
        }))
}

pub fn lz_match(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 18);
    let mut text: Vec<u8> = Vec::new();
    let mut k = 0;
    while text.len() < n {
        let word = random(k + (1 << 44)) % (1 + random(k) % 200);
        let letters = 1 + random(word) % 8;
        text.extend((0..letters).map(|j| b'a' + (random(word * 16 + j) % 17) as u8));
        text.push(b' ');
        k += 1;
    }
    text.truncate(n);
    let (a, to) = (upload(&text)?, zeroed::<u32>(n)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to).value(n as u32);
    Ok(Case::new("lz_match", n.div_ceil(256), 256)
        .args(raw.clone(), raw, Args::new().slice(&a).output(&to))
        .input(&a)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let mut best = (2, 0);
                for distance in 1..=WINDOW.min(i) {
                    let mut length = 0;
                    while length < LONGEST
                        && i + length < n
                        && text[i + length] == text[i + length - distance]
                    {
                        length += 1;
                    }
                    if length > best.0 {
                        best = (length, distance);
                    }
                }
                if best.1 == 0 {
                    0
                } else {
                    (best.0 << 16 | best.1) as u32
                }
            })
        }))
}

pub fn pagerank_pull(scale: Scale) -> CudaResult<Case> {
    let pages = scale.pick(203, 1 << 18);
    let mut starts = vec![0u32];
    let mut sources = Vec::new();
    for page in 0..pages as u64 {
        let degree = match random(page) % 64 {
            0 => 100 + random(page + 1) % 100,
            k => k % 23,
        };
        sources.extend((0..degree).map(|k| (random(page * 256 + k) % pages as u64) as u32));
        starts.push(sources.len() as u32);
    }
    let shares: Vec<f32> = uniform_f32(pages, 57)
        .into_iter()
        .map(|u| u / pages as f32)
        .collect();
    let damping = 0.85f32;
    let (a, b, c) = (upload(&starts)?, upload(&sources)?, upload(&shares)?);
    let to = zeroed::<f32>(pages)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&c)
        .value(damping)
        .pointer(&to);
    let raw = raw.value(pages as u32);
    let safe = Args::new()
        .slice(&a)
        .slice(&b)
        .slice(&c)
        .value(damping)
        .output(&to);
    Ok(Case::new("pagerank_pull", (8 * pages).div_ceil(256), 256)
        .args(raw.clone(), raw, safe)
        .input(&a)
        .input(&b)
        .input(&c)
        .output(&to)
        .check(move || {
            close(&t, 1e-4, 1e-12, |i| {
                let links = &sources[starts[i] as usize..starts[i + 1] as usize];
                let sum: f64 = links.iter().map(|&s| f64::from(shares[s as usize])).sum();
                (1.0 - f64::from(damping)) / pages as f64 + f64::from(damping) * sum
            })
        }))
}

pub fn fuzzy_control(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 19);
    let [errors, rates] = [60, 61].map(|seed| {
        uniform_f32(n, seed)
            .into_iter()
            .map(|u| 2.0 * u - 1.0)
            .collect::<Vec<_>>()
    });
    let (a, b, to) = (upload(&errors)?, upload(&rates)?, zeroed::<f32>(n)?);
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("fuzzy_control", n.div_ceil(256), 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || close(&t, 1e-4, 1e-4, |i| fuzzy_answer(errors[i], rates[i]).into())))
}

pub fn dwell_times(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 16);
    let traces: Vec<[u8; TRACE]> = (0..n as u64)
        .map(|i| {
            let stay = 3 + random(i) % 25;
            let mut state = random(i + 1) as u8 & 3;
            std::array::from_fn(|k| {
                let r = random(i * 256 + k as u64 + (1 << 45));
                if r % stay == 0 {
                    state = (r >> 32) as u8 & 3;
                }
                state
            })
        })
        .collect();
    let (a, to) = (upload(&traces)?, upload(&vec![[Visits::default(); 4]; n])?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to).value(n as u32);
    Ok(Case::new("dwell_times", n.div_ceil(128), 128)
        .args(raw.clone(), raw, Args::new().slice(&a).output(&to))
        .input(&a)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let trace = &traces[i];
                let mut visits = [Visits::default(); 4];
                let mut k = 0;
                while k < TRACE {
                    let end = (k..TRACE).find(|&j| trace[j] != trace[k]).unwrap_or(TRACE);
                    if k > 0 {
                        let v = &mut visits[trace[k] as usize];
                        v.count += 1;
                        v.longest = v.longest.max((end - k) as u16);
                    }
                    k = end;
                }
                visits
            })
        }))
}

pub fn g711_mix(scale: Scale) -> CudaResult<Case> {
    let (n, channels) = (scale.pick(700, 1 << 22), scale.pick(5, 8));
    let samples_: Vec<u8> = (0..n * channels).map(|i| random(i as u64) as u8).collect();
    let codecs: Vec<u8> = (0..channels).map(|c| [0, 8, 8, 0, 3][c % 5]).collect();
    let gains: Vec<i16> = (0..channels).map(|c| 9000 + 2500 * c as i16).collect();
    let (a, b, c) = (upload(&samples_)?, upload(&codecs)?, upload(&gains)?);
    let to = zeroed::<u8>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&c).pointer(&to);
    let raw = raw.value(channels as u32).value(n as u32);
    Ok(Case::new("g711_mix", n.div_ceil(256), 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).slice(&b).slice(&c).output(&to),
        )
        .input(&a)
        .input(&b)
        .input(&c)
        .output(&to)
        .check(move || {
            let decode = |codec: u8, byte: u8| -> i32 {
                let byte = i32::from(byte);
                if codec == 0 {
                    let u = 255 - byte;
                    let t = ((2 * (u % 16) + 33) << (u / 16 % 8)) - 33;
                    4 * if u >= 128 { -t } else { t }
                } else {
                    let a = byte ^ 0x55;
                    let (e, m) = (a / 16 % 8, a % 16);
                    let t = if e == 0 {
                        2 * m + 1
                    } else {
                        (2 * m + 33) << (e - 1)
                    };
                    8 * if a >= 128 { t } else { -t }
                }
            };
            equal(&t, |i| {
                let mut sum = 0i32;
                for c in 0..channels {
                    if codecs[c] != 3 {
                        let v = decode(codecs[c], samples_[c * n + i]);
                        sum = (sum + (v * i32::from(gains[c])).div_euclid(1 << 15))
                            .clamp(-32_768, 32_767);
                    }
                }
                let m = sum.abs().min(32_635) + 132;
                let e = (0..8).rev().find(|e| m >= 128 << e).unwrap();
                let code = (if sum < 0 { 128 } else { 0 }) + 16 * e + (m >> (e + 3)) % 16;
                (255 - code) as u8
            })
        }))
}

pub fn hull_areas(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 18);
    let sets: Vec<[[f32; 2]; HULL]> = (0..n as u64)
        .map(|i| {
            let stretch = 0.2 + uniform(i + (1 << 46)) as f32;
            std::array::from_fn(|k| {
                let [u, v] = [0, 1].map(|d| uniform(i * 32 + 2 * k as u64 + d) as f32 - 0.5);
                [u + 0.3 * v, stretch * v]
            })
        })
        .collect();
    let (a, to) = (upload(&sets)?, zeroed::<f32>(n)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to).value(n as u32);
    Ok(Case::new("hull_areas", n.div_ceil(128), 128)
        .args(raw.clone(), raw, Args::new().slice(&a).output(&to))
        .input(&a)
        .output(&to)
        .check(move || {
            close(&t, 1e-4, 1e-5, |i| {
                // Gift wrapping: an edge has no points to its right.
                let p = sets[i].map(|p| p.map(f64::from));
                let mut area = 0.0;
                for (j, a) in p.iter().enumerate() {
                    for (k, b) in p.iter().enumerate() {
                        let left = |c: &[f64; 2]| {
                            (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) >= -1e-12
                        };
                        if j != k && p.iter().all(left) {
                            area += 0.5 * (a[0] * b[1] - a[1] * b[0]);
                        }
                    }
                }
                area
            })
        }))
}

pub fn critical_path(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 17);
    let projects: Vec<Project> = (0..n as u64)
        .map(|i| {
            // The order of the tasks: multiplication by a unit modulo 24.
            let a = [1, 5, 7, 11, 13, 17, 19, 23][random(i) as usize % 8];
            let place = |k: usize| k * a % TASKS;
            let mut followers = [0u32; TASKS];
            for k in 0..TASKS {
                for l in k + 1..TASKS {
                    if random(i * 1024 + (k * 32 + l) as u64) % 8 == 0 {
                        followers[place(k)] |= 1 << place(l);
                    }
                }
            }
            if random(i + 5) % 8 == 0 {
                followers[place(20)] |= 1 << place(3);
            }
            let durations = std::array::from_fn(|k| random(i * 32 + k as u64 + (1 << 47)) as u8);
            Project {
                followers,
                durations,
            }
        })
        .collect();
    let (a, to) = (upload(&projects)?, zeroed::<u32>(n)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to).value(n as u32);
    Ok(Case::new("critical_path", n.div_ceil(128), 128)
        .args(raw.clone(), raw, Args::new().slice(&a).output(&to))
        .input(&a)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let project = &projects[i];
                let mut ends = project.durations.map(u32::from);
                // Longest paths by relaxation; a cycle never ends.
                for round in 0..=TASKS {
                    let before = ends;
                    for k in 0..TASKS {
                        for l in (0..TASKS).filter(|l| project.followers[k] >> l & 1 == 1) {
                            ends[l] = ends[l].max(ends[k] + u32::from(project.durations[l]));
                        }
                    }
                    if ends == before {
                        break;
                    }
                    if round == TASKS {
                        return u32::MAX;
                    }
                }
                ends.into_iter().max().unwrap()
            })
        }))
}

pub fn simplex_lp(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(5, 8192);
    let programs: Vec<[[f32; LP_COLUMNS]; LP_ROWS]> = (0..n as u64)
        .map(|i| {
            let u = |k: usize| uniform(i * 1024 + k as u64 + (1 << 48)) as f32;
            let mut rows = [[0f32; LP_COLUMNS]; LP_ROWS];
            for y in 0..LP_ROWS - 1 {
                for x in 0..16 {
                    rows[y][x] = (u(32 * y + x) * 1.4 - 0.3).max(0.0) + 0.01;
                }
                rows[y][16 + y] = 1.0;
                rows[y][LP_COLUMNS - 1] = 2.0 + 5.0 * u(32 * y + 31);
            }
            for x in 0..16 {
                rows[LP_ROWS - 1][x] = -0.5 - u(512 + x);
            }
            rows
        })
        .collect();
    let (a, to) = (upload(&programs)?, zeroed::<f32>(n)?);
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to);
    Ok(Case::new("simplex_lp", n, (32, 16))
        .args(raw.clone(), raw, Args::new().slice(&a).output(&to))
        .input(&a)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(n) {
                let mut rows = programs[i].map(|row| row.map(f64::from));
                loop {
                    // Bland's rule, unlike the kernels.
                    let Some(enters) = (0..31).find(|&x| rows[15][x] < -1e-9) else {
                        break;
                    };
                    let limits = (0..15).filter(|&y| rows[y][enters] > 1e-9);
                    let ratio = |y: &usize| rows[*y][31] / rows[*y][enters];
                    let leaves = limits.min_by(|a, b| ratio(a).total_cmp(&ratio(b))).unwrap();
                    let pivot = rows[leaves][enters];
                    rows[leaves].iter_mut().for_each(|v| *v /= pivot);
                    let row = rows[leaves];
                    for y in (0..16).filter(|&y| y != leaves) {
                        let factor = rows[y][enters];
                        rows[y]
                            .iter_mut()
                            .zip(row)
                            .for_each(|(v, r)| *v -= factor * r);
                    }
                }
                near(i, results[i], rows[15][31], 1e-3, 1e-3)?;
            }
            Ok(())
        }))
}

pub fn motif_scan(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 22);
    let genome: Vec<u8> = (0..n as u64).map(|i| (random(i) >> 20) as u8 & 3).collect();
    let weights: Vec<[[[f32; 4]; SITE]; MOTIFS]> = vec![std::array::from_fn(|k| {
        std::array::from_fn(|j| {
            std::array::from_fn(|b| {
                3.0 * uniform((k * 64 + j * 4 + b) as u64 + (1 << 49)) as f32 - 2.0
            })
        })
    })];
    let blocks = n.div_ceil(256);
    let (a, b) = (upload(&genome)?, upload(&weights)?);
    let to = upload(&vec![Site::default(); blocks])?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&to)
        .value(n as u32);
    Ok(Case::new("motif_scan", blocks, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).pointer(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in (0..blocks).step_by(blocks.div_ceil(200)) {
                let mut best = f64::NEG_INFINITY;
                let mut own = f64::NEG_INFINITY;
                for at in 256 * i..(256 * i + 256).min(n - SITE + 1) {
                    for (k, motif) in weights[0].iter().enumerate() {
                        let (mut a, mut b) = (0f64, 0f64);
                        for j in 0..SITE {
                            let base = genome[at + j] as usize;
                            a += f64::from(motif[j][base]);
                            b += f64::from(motif[SITE - 1 - j][3 - base]);
                        }
                        best = best.max(a).max(b);
                        if (at, k) == (results[i].at as usize, results[i].motif as usize) {
                            own = a.max(b);
                        }
                    }
                }
                near(i, results[i].score, best, 1e-5, 1e-4)?;
                // Another site may be as good.
                near(i, own, best, 1e-5, 1e-4)?;
            }
            Ok(())
        }))
}

pub fn flow_sinks(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(75, 4096), scale.pick(40, 4096));
    let terrain: Vec<f32> = (0..width * height)
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let hill = ((x % 97) as f32 - 40.0).abs() + ((y % 61) as f32 - 25.0).abs();
            hill + 3.0 * (random(i as u64) % 1024) as f32 / 1024.0
        })
        .collect();
    let (a, to) = (upload(&terrain)?, zeroed::<u16>(width * height)?);
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&to)
        .value(width as u32)
        .value(height as u32);
    Ok(Case::new(
        "flow_sinks",
        (width.div_ceil(32), height.div_ceil(32)),
        (32, 8),
    )
    .args(raw.clone(), raw, Args::new().slice(&a).rows(&to, width))
    .input(&a)
    .output(&to)
    .check(move || {
        equal(&t, |i| {
            let (mut x, mut y) = (i % width, i / width);
            let (x0, y0) = (x / BASIN * BASIN, y / BASIN * BASIN);
            let (x1, y1) = ((x0 + BASIN).min(width), (y0 + BASIN).min(height));
            loop {
                let mut low = (x, y);
                for v in y.saturating_sub(1).max(y0)..(y + 2).min(y1) {
                    for u in x.saturating_sub(1).max(x0)..(x + 2).min(x1) {
                        if terrain[v * width + u] < terrain[low.1 * width + low.0] {
                            low = (u, v);
                        }
                    }
                }
                if low == (x, y) {
                    return ((y - y0) * BASIN + x - x0) as u16;
                }
                (x, y) = low;
            }
        })
    }))
}

pub fn delay_and_sum(scale: Scale) -> CudaResult<Case> {
    let frames = scale.pick(3, 4096);
    let length = frames * FRAME + scale.pick(20, 64);
    let tone: Vec<f32> = (0..1024)
        .map(|i| 6000.0 * (i as f32 * 0.05).sin())
        .collect();
    let samples_: Vec<i16> = (0..MICROPHONES * length)
        .map(|i| {
            let (m, t) = (i / length, i % length);
            (tone[(t + 5 * m) % 1024] + (random(i as u64) % 2000) as f32) as i16 - 1000
        })
        .collect();
    let delays: Vec<[[f32; MICROPHONES]; BEAMS]> = vec![std::array::from_fn(|beam| {
        std::array::from_fn(|m| {
            30.0 + (m as f32 - 3.5) * 8.0 * (beam as f32 / BEAMS as f32 * 3.0).cos()
        })
    })];
    let (a, b, to) = (
        upload(&samples_)?,
        upload(&delays)?,
        zeroed::<f32>(frames * BEAMS)?,
    );
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&to)
        .value(length as u32);
    Ok(Case::new("delay_and_sum", frames, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).pointer(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            close(&t, 1e-3, 1.0, |i| {
                let (frame, beam) = (i / BEAMS, i % BEAMS);
                let at = |m: usize, k: usize| {
                    let inside = k < length && k < frame * FRAME + FRAME + DELAYS;
                    if inside {
                        f64::from(samples_[m * length + k])
                    } else {
                        0.0
                    }
                };
                (frame * FRAME..(frame + 1) * FRAME)
                    .map(|t| {
                        let heard = (0..MICROPHONES).map(|m| {
                            let delay = delays[0][beam][m];
                            let (a, b) = (at(m, t + delay as usize), at(m, t + delay as usize + 1));
                            a + f64::from(delay.fract()) * (b - a)
                        });
                        heard.sum::<f64>().powi(2)
                    })
                    .sum()
            })
        }))
}

pub fn selective_scan(scale: Scale) -> CudaResult<Case> {
    let (channels, times) = (scale.pick(11, 4096), scale.pick(77, 512));
    let signed =
        |n, seed| -> Vec<f32> { uniform_f32(n, seed).iter().map(|u| 2.0 * u - 1.0).collect() };
    let inputs = signed(channels * times, 70);
    let steps: Vec<f32> = uniform_f32(channels * times, 71)
        .into_iter()
        .map(|u| 0.01 + 0.3 * u * u)
        .collect();
    let decay: Vec<f32> = uniform_f32(channels * STATES, 72)
        .into_iter()
        .map(|u| -0.2 - 4.0 * u)
        .collect();
    let (b, c) = (signed(times * STATES, 73), signed(times * STATES, 74));
    let buffers = [&inputs, &steps, &decay, &b, &c].map(|v| upload(v));
    let [i0, s0, d0, b0, c0] = buffers;
    let (i0, s0, d0, b0, c0) = (i0?, s0?, d0?, b0?, c0?);
    let to = zeroed::<f32>(channels * times)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&i0)
        .pointer(&s0)
        .pointer(&d0)
        .pointer(&b0)
        .pointer(&c0);
    let raw = raw.pointer(&to).value(times as u32).value(channels as u32);
    let safe = Args::new()
        .slice(&i0)
        .slice(&s0)
        .pointer(&d0)
        .value(channels);
    let safe = safe
        .pointer(&b0)
        .value(times)
        .pointer(&c0)
        .value(times)
        .rows(&to, times);
    Ok(Case::new("selective_scan", channels.div_ceil(8), 256)
        .args(raw.clone(), raw, safe)
        .input(&i0)
        .input(&s0)
        .input(&d0)
        .input(&b0)
        .input(&c0)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for channel in (0..channels).step_by(channels.div_ceil(50)) {
                let mut state = [0f64; STATES];
                for time in 0..times {
                    let at = channel * times + time;
                    let (step, input) = (f64::from(steps[at]), f64::from(inputs[at]));
                    let mut sum = 0.0;
                    for (k, state) in state.iter_mut().enumerate() {
                        let a = f64::from(decay[channel * STATES + k]);
                        *state = (step * a).exp() * *state
                            + step * f64::from(b[time * STATES + k]) * input;
                        sum += f64::from(c[time * STATES + k]) * *state;
                    }
                    near(at, results[at], sum, 1e-4, 1e-4)?;
                }
            }
            Ok(())
        }))
}

pub fn itemset_support(scale: Scale) -> CudaResult<Case> {
    let (items, words, count) = (
        scale.pick(20, 256),
        scale.pick(150, 1024),
        scale.pick(9, 16_384),
    );
    let bitmaps: Vec<u64> = (0..items * words)
        .map(|i| {
            random(i as u64)
                | if i / words % 3 == 0 {
                    0
                } else {
                    random(i as u64 + (1 << 52))
                }
        })
        .collect();
    let sets: Vec<[u16; 4]> = (0..count as u64)
        .map(|i| {
            let size = 1 + random(i) as usize % 4;
            std::array::from_fn(|k| {
                if k < size {
                    (random(4 * i + k as u64) % items as u64) as u16
                } else {
                    NO_ITEM
                }
            })
        })
        .collect();
    let (a, b, to) = (upload(&bitmaps)?, upload(&sets)?, zeroed::<u32>(count)?);
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .value(words as u32)
        .pointer(&b)
        .pointer(&to);
    Ok(Case::new("itemset_support", count, 128)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).value(words).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let set: Vec<usize> = sets[i]
                    .iter()
                    .filter(|&&k| k != NO_ITEM)
                    .map(|&k| usize::from(k))
                    .collect();
                (0..words)
                    .map(|w| {
                        let all = set.iter().fold(!0, |word, k| word & bitmaps[k * words + w]);
                        all.count_ones()
                    })
                    .sum()
            })
        }))
}

pub fn daily_interest(scale: Scale) -> CudaResult<Case> {
    let (n, currencies, year) = (scale.pick(300, 1 << 18), 8, 365);
    let rates: Vec<[u64; 4]> = (0..currencies * year)
        .map(|i| {
            let yearly = 0.01 + 0.02 * uniform(i as u64 / 50);
            [1.0, 1.2, 1.5, 1.9].map(|f| (yearly * f / 365.0 * 2f64.powi(64)) as u64)
        })
        .collect();
    let accounts: Vec<Account> = (0..n as u64)
        .map(|i| Account {
            balance: 10f64.powf(6.5 + 4.5 * uniform(i)) as u64,
            monthly_fee: 500_000 + random(i) as u32 % 2_000_000,
            opened: (random(i + 1) % 300) as u16 * (random(i + 2) % 2) as u16,
            currency: (random(i + 3) % currencies as u64) as u16,
        })
        .collect();
    let (a, b, to) = (upload(&accounts)?, upload(&rates)?, zeroed::<u64>(n)?);
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .value(year as u32)
        .pointer(&to);
    let raw = raw.value(n as u32);
    let safe = Args::new().slice(&a).slice(&b).output(&to);
    Ok(Case::new("daily_interest", n.div_ceil(256), 256)
        .args(raw.clone(), raw, safe)
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let account = &accounts[i];
                let rates = &rates[usize::from(account.currency) * year..][..year];
                account.after_year(rates).unwrap_or(0)
            })
        }))
}
