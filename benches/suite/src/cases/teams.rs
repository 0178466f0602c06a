//! Threads that work together.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, Number, close, download, near, random, same, samples, uniform, uniform_f32,
    upload, zeroed,
};
use bench_kernels::teams::{Complex, Lamb, Water};
use cust::error::CudaResult;
use cust::vector::F32x4;

/// Returns numbers from -1 to 1.
fn signed(n: usize, seed: u64) -> Vec<f32> {
    uniform_f32(n, seed)
        .into_iter()
        .map(|x| 2.0 * x - 1.0)
        .collect()
}

pub fn walsh_hadamard(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(3, 16384);
    let from = signed(1024 * rows, 1);
    let from_device = upload(&from)?;
    let to: Buffer<f32> = zeroed(from.len())?;
    let raw = Args::new().pointer(&from_device).pointer(&to);
    Ok(Case::new("walsh_hadamard", rows, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&from_device).output(&to),
        )
        .input(&from_device)
        .output(&to)
        .bytes(8 * from.len())
        .check(move || {
            close(&to, 1e-4, 1e-4, |i| {
                let row = &from[i / 1024 * 1024..][..1024];
                let terms = row.iter().enumerate().map(|(k, &x)| {
                    let sign = (k & (i % 1024)).count_ones() % 2 == 1;
                    f64::from(if sign { -x } else { x })
                });
                terms.sum::<f64>() / 32.0
            })
        }))
}

impl Number for Lamb {
    fn bytes(self) -> Vec<u8> {
        let fields = [
            self.rate,
            self.beta1,
            self.beta2,
            self.epsilon,
            self.decay,
            self.correction1,
            self.correction2,
        ];
        fields.map(f32::to_ne_bytes).concat()
    }
}

pub fn lamb_rows(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(3, 8192);
    let n = 1024 * rows;
    let weights = signed(n, 1);
    let gradients: Vec<f32> = signed(n, 2).into_iter().map(|x| 0.1 * x).collect();
    let first: Vec<f32> = signed(n, 3).into_iter().map(|x| 0.05 * x).collect();
    let second: Vec<f32> = uniform_f32(n, 4).into_iter().map(|x| 0.01 * x).collect();
    let lamb = Lamb {
        rate: 0.01,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-6,
        decay: 0.01,
        correction1: 1.5,
        correction2: 10.0,
    };
    let weights_device = upload(&weights)?;
    let gradients_device = upload(&gradients)?;
    let first_device = upload(&first)?;
    let second_device = upload(&second)?;
    let weights_to: Buffer<f32> = zeroed(n)?;
    let first_to: Buffer<f32> = zeroed(n)?;
    let second_to: Buffer<f32> = zeroed(n)?;
    let raw = Args::new()
        .value(lamb)
        .pointer(&weights_device)
        .pointer(&gradients_device)
        .pointer(&first_device)
        .pointer(&second_device)
        .pointer(&weights_to)
        .pointer(&first_to)
        .pointer(&second_to);
    let safe = Args::new()
        .value(lamb)
        .vectors::<F32x4>(&weights_device)
        .vectors::<F32x4>(&gradients_device)
        .vectors::<F32x4>(&first_device)
        .vectors::<F32x4>(&second_device)
        .output_vectors::<F32x4>(&weights_to)
        .output_vectors::<F32x4>(&first_to)
        .output_vectors::<F32x4>(&second_to);
    Ok(Case::new("lamb_rows", rows, 256)
        .args(raw.clone(), raw, safe)
        .input(&weights_device)
        .input(&gradients_device)
        .input(&first_device)
        .input(&second_device)
        .output(&weights_to)
        .output(&first_to)
        .output(&second_to)
        .bytes(28 * n)
        .check(move || {
            let moments = |i: usize| {
                let (g, b1, b2) = (gradients[i], lamb.beta1, lamb.beta2);
                (
                    b1 * first[i] + (1.0 - b1) * g,
                    b2 * second[i] + (1.0 - b2) * g * g,
                )
            };
            let update = |i: usize| {
                let (m, v) = moments(i);
                let step = m * lamb.correction1 / ((v * lamb.correction2).sqrt() + lamb.epsilon);
                f64::from(step + lamb.decay * weights[i])
            };
            close(&first_to, 1e-5, 1e-7, |i| moments(i).0.into())?;
            close(&second_to, 1e-5, 1e-7, |i| moments(i).1.into())?;
            close(&weights_to, 1e-4, 1e-5, |i| {
                let row = i / 1024 * 1024..(i / 1024 + 1) * 1024;
                let weight: f64 = row.clone().map(|k| f64::from(weights[k]).powi(2)).sum();
                let updates: f64 = row.map(|k| update(k).powi(2)).sum();
                let ratio = (weight / updates).sqrt();
                f64::from(weights[i]) - f64::from(lamb.rate) * ratio * update(i)
            })
        }))
}

pub fn pack_int4(scale: Scale) -> CudaResult<Case> {
    let groups = scale.pick(19, 1 << 18);
    let n = 128 * groups;
    let from: Vec<f32> = (0..n)
        .map(|i| (2.0 * uniform(i as u64) - 1.0) as f32 * (1 + i / 128 % 7) as f32)
        .collect();
    let from_device = upload(&from)?;
    let to: Buffer<u16> = zeroed(n / 4)?;
    let scales: Buffer<u16> = zeroed(groups)?;
    let zeros: Buffer<u8> = zeroed(groups)?;
    let raw = Args::new()
        .pointer(&from_device)
        .pointer(&to)
        .pointer(&scales)
        .pointer(&zeros)
        .value((n / 4) as i32);
    let safe = Args::new()
        .vectors::<F32x4>(&from_device)
        .output(&to)
        .output(&scales)
        .output(&zeros);
    Ok(Case::new("pack_int4", (n / 4).div_ceil(256), 256)
        .args(raw.clone(), raw, safe)
        .input(&from_device)
        .output(&to)
        .output(&scales)
        .output(&zeros)
        .bytes(4 * n + n / 2)
        .check(move || {
            let (to, zeros) = (download(&to)?, download(&zeros)?);
            let scales = download(&scales)?;
            for i in samples(n) {
                let group = &from[i / 128 * 128..][..128];
                let min = group.iter().fold(0.0f32, |a, &b| a.min(b));
                let max = group.iter().fold(0.0f32, |a, &b| a.max(b));
                let scale = (max - min) / 15.0;
                let zero = (-min / scale).round_ties_even();
                near(i, zeros[i / 128], zero.into(), 0.0, 0.0)?;
                let half = cuda_std_half(scales[i / 128]);
                near(i, half, scale.into(), 1e-3, 0.0)?;
                let q = to[i / 4] >> (4 * (i % 4)) & 15;
                let expected = ((from[i] / scale).round_ties_even() + zero).clamp(0.0, 15.0);
                near(i, q, expected.into(), 0.0, 0.0)?;
            }
            Ok(())
        }))
}

/// Converts a positive, normal fp16 number.
fn cuda_std_half(bits: u16) -> f64 {
    let fraction = 1.0 + f64::from(bits & 0x3ff) / 1024.0;
    fraction * 2f64.powi(i32::from(bits >> 10) - 15)
}

pub fn bit_planes(scale: Scale) -> CudaResult<Case> {
    let blocks = scale.pick(3, 1 << 17);
    let n = 256 * blocks;
    let from: Vec<u32> = (0..n as u64).map(|i| random(i) as u32).collect();
    let from_device = upload(&from)?;
    let to: Buffer<u32> = zeroed(n)?;
    let raw = Args::new().pointer(&from_device).pointer(&to);
    Ok(Case::new("bit_planes", blocks, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&from_device).output(&to),
        )
        .input(&from_device)
        .output(&to)
        .bytes(8 * n)
        .check(move || {
            let to = download(&to)?;
            for i in samples(n) {
                let (block, plane, word) = (i / 256, i % 256 / 8, i % 8);
                let words = &from[256 * block + 32 * word..][..32];
                let bits = words
                    .iter()
                    .rev()
                    .fold(0, |all, x| all << 1 | x >> plane & 1);
                same(i, to[i], bits)?;
            }
            Ok(())
        }))
}

pub fn kth_largest(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(3, 4096);
    let k = 64;
    let n = 4096 * rows;
    let from: Vec<f32> = (0..n as u64)
        .map(|i| (uniform(i) + uniform(i ^ 1 << 40) - 1.0) as f32)
        .collect();
    let from_device = upload(&from)?;
    let to: Buffer<f32> = zeroed(rows)?;
    let raw = Args::new()
        .pointer(&from_device)
        .value(k as u32)
        .pointer(&to);
    Ok(Case::new("kth_largest", rows, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&from_device).value(k as u32).output(&to),
        )
        .input(&from_device)
        .output(&to)
        .bytes(4 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let mut row = from[4096 * i..][..4096].to_vec();
                let (_, &mut x, _) = row.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
                x.into()
            })
        }))
}

pub fn star_join(scale: Scale) -> CudaResult<Case> {
    let facts = scale.pick(3001, 1 << 24);
    let dimension = |i: u64| (random(i ^ 7 << 50) as u32) / 4;
    let keys: Vec<u32> = (0..1000).map(dimension).collect();
    let groups: Vec<u8> = (0..1000)
        .map(|i| (random(i ^ 9 << 50) % 64) as u8)
        .collect();
    let picks: Vec<u64> = (0..facts as u64).map(|i| random(i) % 1400).collect();
    // Some facts refer to no row of the dimension.
    let fact_keys: Vec<u32> = picks.iter().map(|&i| dimension(i)).collect();
    let amounts: Vec<u32> = (0..facts as u64)
        .map(|i| (random(i ^ 1 << 40) % 100_000) as u32)
        .collect();
    let mut expected = vec![0u64; 64];
    for (&pick, &amount) in picks.iter().zip(&amounts) {
        if pick < 1000 {
            expected[usize::from(groups[pick as usize])] += u64::from(amount);
        }
    }
    let keys = upload(&keys)?;
    let groups = upload(&groups)?;
    let fact_keys = upload(&fact_keys)?;
    let amounts = upload(&amounts)?;
    let totals: Buffer<u64> = zeroed(64)?;
    let raw = Args::new()
        .pointer(&keys)
        .pointer(&groups)
        .value(1000i32)
        .pointer(&fact_keys)
        .pointer(&amounts)
        .value(facts as i32)
        .pointer(&totals);
    let safe = Args::new()
        .slice(&keys)
        .slice(&groups)
        .slice(&fact_keys)
        .slice(&amounts)
        .slice(&totals);
    Ok(Case::new("star_join", scale.blocks(8), 256)
        .args(raw.clone(), raw, safe)
        .input(&keys)
        .input(&groups)
        .input(&fact_keys)
        .input(&amounts)
        .output_from(&totals, 0)
        .reset()
        .bytes(8 * facts)
        .check(move || {
            let totals = download(&totals)?;
            (0..64).try_for_each(|i| same(i, totals[i], expected[i]))
        }))
}

pub fn wiener5(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(71, 4096), scale.pick(21, 4096));
    let noise = 0.08f32;
    let from: Vec<f32> = (0..width * height)
        .map(|i| {
            let edge = if (i % width / 23 + i / width / 11) % 2 == 0 {
                1.0
            } else {
                0.0
            };
            (edge + uniform(i as u64)) as f32
        })
        .collect();
    let from_device = upload(&from)?;
    let to: Buffer<f32> = zeroed(from.len())?;
    let raw = Args::new()
        .value(noise)
        .pointer(&from_device)
        .pointer(&to)
        .value(width as i32)
        .value(height as i32);
    Ok(
        Case::new("wiener5", (width.div_ceil(32), height.div_ceil(8)), (32, 8))
            .args(
                raw.clone(),
                raw,
                Args::new()
                    .value(noise)
                    .slice(&from_device)
                    .rows(&to, width),
            )
            .input(&from_device)
            .output(&to)
            .bytes(8 * from.len())
            .check(move || {
                close(&to, 1e-4, 1e-4, |i| {
                    let at = |dx: usize, dy: usize| {
                        let x = (i % width + dx).saturating_sub(2).min(width - 1);
                        let y = (i / width + dy).saturating_sub(2).min(height - 1);
                        f64::from(from[y * width + x])
                    };
                    let window = || (0..25).map(|k| at(k % 5, k / 5));
                    let mean = window().sum::<f64>() / 25.0;
                    let variance = window().map(|x| x * x).sum::<f64>() / 25.0 - mean * mean;
                    let noise = f64::from(noise);
                    let gain = (variance - noise).max(0.0) / variance.max(noise);
                    mean + gain * (at(2, 2) - mean)
                })
            }),
    )
}

pub fn shallow_water(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(45, 3072), scale.pick(19, 3072));
    let n = width * height;
    let ratio = 0.01f32;
    let from: Vec<Water> = (0..n as u64)
        .map(|i| Water {
            h: (1.0 + uniform(i)) as f32,
            hu: (uniform(i ^ 1 << 40) - 0.5) as f32,
            hv: (uniform(i ^ 2 << 40) - 0.5) as f32,
        })
        .collect();
    let from_device = upload(&from)?;
    let to = upload(&vec![
        Water {
            h: 0.0,
            hu: 0.0,
            hv: 0.0
        };
        n
    ])?;
    let raw = Args::new()
        .value(ratio)
        .pointer(&from_device)
        .pointer(&to)
        .value(width as i32)
        .value(height as i32);
    Ok(Case::new(
        "shallow_water",
        (width.div_ceil(32), height.div_ceil(8)),
        (32, 8),
    )
    .args(
        raw.clone(),
        raw,
        Args::new()
            .value(ratio)
            .slice(&from_device)
            .rows(&to, width),
    )
    .input(&from_device)
    .output(&to)
    .bytes(24 * n)
    .check(move || {
        let to = download(&to)?;
        for i in samples(n) {
            let (x, y) = (i % width, i / width);
            let at = |x: usize, y: usize| {
                let x = x.saturating_sub(1).min(width - 1);
                let y = y.saturating_sub(1).min(height - 1);
                let w = from[y * width + x];
                [w.h, w.hu, w.hv].map(f64::from)
            };
            let flux_x = |[h, hu, hv]: [f64; 3]| [hu, hu * hu / h + 4.905 * h * h, hu * hv / h];
            let flux_y = |[h, hu, hv]: [f64; 3]| [hv, hu * hv / h, hv * hv / h + 4.905 * h * h];
            let (w, e) = (at(x, y + 1), at(x + 2, y + 1));
            let (n, s) = (at(x + 1, y), at(x + 1, y + 2));
            let results = [to[i].h, to[i].hu, to[i].hv];
            for k in 0..3 {
                let mean = (w[k] + e[k] + n[k] + s[k]) / 4.0;
                let change = flux_x(e)[k] - flux_x(w)[k] + flux_y(s)[k] - flux_y(n)[k];
                near(i, results[k], mean - f64::from(ratio) * change, 1e-5, 1e-5)?;
            }
        }
        Ok(())
    }))
}

pub fn sample_classify(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(5000, 1 << 25);
    let blocks = n.div_ceil(2048);
    let key = |i: u64| (random(i) as u32 >> 8).wrapping_add(random(i ^ 1 << 40) as u32 >> 6);
    let keys: Vec<u32> = (0..n as u64).map(key).collect();
    let mut splitters: Vec<u32> = (0..255).map(|i| key(i ^ 5 << 45)).collect();
    splitters.sort_unstable();
    // The nodes of a complete search tree, level by level.
    let mut tree = vec![0u32; 256];
    for node in 1..256usize {
        let level = node.ilog2();
        let step = 256 >> level;
        tree[node] = splitters[(node - (1 << level)) * step + step / 2 - 1];
    }
    let tree = upload(&tree)?;
    let keys_device = upload(&keys)?;
    let buckets: Buffer<u8> = zeroed(n)?;
    let counts: Buffer<u32> = zeroed(256 * blocks)?;
    let raw = Args::new()
        .pointer(&tree)
        .pointer(&keys_device)
        .pointer(&buckets)
        .pointer(&counts)
        .value(n as i32);
    let safe = Args::new()
        .pointer(&tree)
        .slice(&keys_device)
        .output(&buckets)
        .output(&counts);
    Ok(Case::new("sample_classify", blocks, 256)
        .args(raw.clone(), raw, safe)
        .input(&tree)
        .input(&keys_device)
        .output(&buckets)
        .output(&counts)
        .bytes(5 * n)
        .check(move || {
            let (buckets, counts) = (download(&buckets)?, download(&counts)?);
            let bucket = |i: usize| splitters.partition_point(|&s| s < keys[i]);
            for i in samples(n) {
                same(i, usize::from(buckets[i]), bucket(i))?;
            }
            for block in samples(blocks).take(200) {
                let mut expected = [0u32; 256];
                for i in 2048 * block..n.min(2048 * block + 2048) {
                    expected[bucket(i)] += 1;
                }
                for i in 0..256 {
                    same(256 * block + i, counts[256 * block + i], expected[i])?;
                }
            }
            Ok(())
        }))
}

pub fn trsm32(scale: Scale) -> CudaResult<Case> {
    let systems = scale.pick(3, 8192);
    let matrices: Vec<f32> = signed(1024 * systems, 1)
        .into_iter()
        .enumerate()
        .map(|(i, x)| if i / 32 % 32 == i % 32 { 4.0 + x } else { x })
        .collect();
    let n = 32 * 128 * systems;
    let sides = signed(n, 2);
    let matrices_device = upload(&matrices)?;
    let sides_device = upload(&sides)?;
    let to: Buffer<f32> = zeroed(n)?;
    let raw = Args::new()
        .pointer(&matrices_device)
        .pointer(&sides_device)
        .pointer(&to);
    let safe = Args::new()
        .slice(&matrices_device)
        .slice(&sides_device)
        .output(&to);
    Ok(Case::new("trsm32", systems, 128)
        .args(raw.clone(), raw, safe)
        .input(&matrices_device)
        .input(&sides_device)
        .output(&to)
        .bytes(8 * n + 4096 * systems)
        .f32_operations(1024.0 * 128.0 * systems as f64)
        .check(move || {
            close(&to, 1e-4, 1e-4, |i| {
                let (system, row, column) = (i / 4096, i / 128 % 32, i % 128);
                let lower = &matrices[1024 * system..][..1024];
                let mut x = [0.0f64; 32];
                for r in 0..=row {
                    let known: f64 = (0..r).map(|k| f64::from(lower[32 * r + k]) * x[k]).sum();
                    let side = f64::from(sides[4096 * system + 128 * r + column]);
                    x[r] = (side - known) / f64::from(lower[33 * r]);
                }
                x[row]
            })
        }))
}

pub fn cgemm(scale: Scale) -> CudaResult<Case> {
    let (width, height, depth) = (
        scale.pick(45, 768),
        scale.pick(35, 768),
        scale.pick(41, 768),
    );
    let a: Vec<Complex> = (0..(height * depth) as u64)
        .map(|i| Complex {
            re: uniform(i) as f32,
            im: uniform(i ^ 1 << 40) as f32 - 0.5,
        })
        .collect();
    let b: Vec<Complex> = (0..(width * depth) as u64)
        .map(|i| Complex {
            re: uniform(i ^ 2 << 40) as f32,
            im: uniform(i ^ 3 << 40) as f32 - 0.5,
        })
        .collect();
    let a_device = upload(&a)?;
    let b_device = upload(&b)?;
    let to = upload(&vec![Complex::default(); width * height])?;
    let raw = Args::new()
        .pointer(&a_device)
        .pointer(&b_device)
        .pointer(&to)
        .value(width as i32)
        .value(height as i32)
        .value(depth as i32);
    let safe = Args::new()
        .slice(&a_device)
        .slice(&b_device)
        .value(depth)
        .rows(&to, width);
    Ok(
        Case::new("cgemm", (width.div_ceil(32), height.div_ceil(32)), (32, 8))
            .args(raw.clone(), raw, safe)
            .input(&a_device)
            .input(&b_device)
            .output(&to)
            .bytes(8 * (width * depth + height * depth + width * height))
            .f32_operations(8.0 * (width * height * depth) as f64)
            .check(move || {
                let to = download(&to)?;
                for i in samples(to.len()) {
                    let (mut re, mut im) = (0.0, 0.0);
                    for k in 0..depth {
                        let p = a[i / width * depth + k];
                        let q = b[k * width + i % width];
                        re += f64::from(p.re) * f64::from(q.re) - f64::from(p.im) * f64::from(q.im);
                        im += f64::from(p.re) * f64::from(q.im) + f64::from(p.im) * f64::from(q.re);
                    }
                    near(i, to[i].re, re, 1e-4, 1e-3)?;
                    near(i, to[i].im, im, 1e-4, 1e-3)?;
                }
                Ok(())
            }),
    )
}

pub fn chi2_matrix(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(21, 2048), scale.pick(35, 2048));
    // Some bins are empty.
    let bin = |i: u64| ((random(i) % 4000) as u16).saturating_sub(1500);
    let rows: Vec<u16> = (0..64 * height as u64).map(bin).collect();
    let columns: Vec<u16> = (0..64 * width as u64).map(|i| bin(i ^ 1 << 40)).collect();
    let rows_device = upload(&rows)?;
    let columns_device = upload(&columns)?;
    let to: Buffer<f32> = zeroed(width * height)?;
    let raw = Args::new()
        .pointer(&rows_device)
        .pointer(&columns_device)
        .pointer(&to)
        .value(width as i32)
        .value(height as i32);
    let safe = Args::new()
        .slice(&rows_device)
        .slice(&columns_device)
        .rows(&to, width);
    Ok(Case::new(
        "chi2_matrix",
        (width.div_ceil(16), height.div_ceil(16)),
        (16, 16),
    )
    .args(raw.clone(), raw, safe)
    .input(&rows_device)
    .input(&columns_device)
    .output(&to)
    .bytes(4 * width * height)
    .check(move || {
        close(&to, 1e-4, 1e-3, |i| {
            let (a, b) = (
                &rows[64 * (i / width)..][..64],
                &columns[64 * (i % width)..][..64],
            );
            let pairs = a.iter().zip(b).filter(|(a, b)| **a + **b > 0);
            pairs
                .map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2) / f64::from(a + b))
                .sum()
        })
    }))
}

pub fn bn_stats(scale: Scale) -> CudaResult<Case> {
    let (channels, batch, plane) = (
        scale.pick(3, 512),
        scale.pick(2, 16),
        scale.pick(1200, 3136),
    );
    let n = channels * batch * plane;
    let images: Vec<f32> = (0..n)
        .map(|i| uniform(i as u64) as f32 * (1 + i / plane % 5) as f32 + (i / plane % 3) as f32)
        .collect();
    let images_device = upload(&images)?;
    let means: Buffer<f32> = zeroed(channels)?;
    let deviations: Buffer<f32> = zeroed(channels)?;
    let raw = Args::new()
        .pointer(&images_device)
        .value(batch as i32)
        .value((plane / 4) as i32)
        .value(channels as i32)
        .pointer(&means)
        .pointer(&deviations);
    let safe = Args::new()
        .vectors::<F32x4>(&images_device)
        .value(batch)
        .value(plane / 4)
        .output(&means)
        .output(&deviations);
    Ok(Case::new("bn_stats", channels, 256)
        .args(raw.clone(), raw, safe)
        .input(&images_device)
        .output(&means)
        .output(&deviations)
        .bytes(4 * n)
        .check(move || {
            let (means, deviations) = (download(&means)?, download(&deviations)?);
            for c in (0..channels).step_by(channels.div_ceil(16)) {
                let values =
                    || (0..batch).flat_map(|n| &images[(n * channels + c) * plane..][..plane]);
                let count = (batch * plane) as f64;
                let mean = values().map(|&x| f64::from(x)).sum::<f64>() / count;
                let squares = values()
                    .map(|&x| (f64::from(x) - mean).powi(2))
                    .sum::<f64>();
                near(c, means[c], mean, 1e-4, 1e-5)?;
                near(
                    c,
                    deviations[c],
                    1.0 / (squares / count + 1e-5).sqrt(),
                    1e-4,
                    0.0,
                )?;
            }
            Ok(())
        }))
}

pub fn retention(scale: Scale) -> CudaResult<Case> {
    let heads = scale.pick(3, 2048);
    let n = heads * 128 * 64;
    let decays: Vec<f32> = (0..heads)
        .map(|i| 0.9 + 0.09 * uniform(i as u64) as f32)
        .collect();
    let queries = signed(n, 1);
    let keys = signed(n, 2);
    let values = signed(n, 3);
    let decays_device = upload(&decays)?;
    let queries_device = upload(&queries)?;
    let keys_device = upload(&keys)?;
    let values_device = upload(&values)?;
    let to: Buffer<f32> = zeroed(n)?;
    let raw = Args::new()
        .pointer(&decays_device)
        .pointer(&queries_device)
        .pointer(&keys_device)
        .pointer(&values_device)
        .pointer(&to);
    let safe = Args::new()
        .slice(&decays_device)
        .slice(&queries_device)
        .slice(&keys_device)
        .slice(&values_device)
        .output(&to);
    Ok(Case::new("retention", heads, 64)
        .args(raw.clone(), raw, safe)
        .input(&decays_device)
        .input(&queries_device)
        .input(&keys_device)
        .input(&values_device)
        .output(&to)
        .bytes(16 * n)
        .f32_operations(5.0 * 64.0 * n as f64)
        .check(move || {
            close(&to, 1e-3, 1e-3, |i| {
                let (head, token, column) = (i / 8192, i / 64 % 128, i % 64);
                let row = |all: &[f32], t: usize| all[8192 * head + 64 * t..][..64].to_vec();
                let query = row(&queries, token);
                (0..=token)
                    .map(|t| {
                        let key = row(&keys, t);
                        let dot: f64 = query.iter().zip(&key).map(|(a, b)| f64::from(a * b)).sum();
                        let decay = f64::from(decays[head]).powi((token - t) as i32);
                        decay * dot * f64::from(values[8192 * head + 64 * t + column])
                    })
                    .sum()
            })
        }))
}

pub fn expert_dispatch(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(2500, 1 << 23);
    let capacity = n / 40;
    // Frequent experts exceed the capacity.
    let experts: Vec<u8> = (0..n as u64)
        .map(|i| (uniform(i).powf(1.5) * 64.0) as u8)
        .collect();
    let experts_device = upload(&experts)?;
    let lists: Buffer<u32> = zeroed(64 * capacity)?;
    let totals: Buffer<u32> = zeroed(64)?;
    let value = capacity as u32;
    let raw = Args::new()
        .value(value)
        .pointer(&experts_device)
        .pointer(&lists)
        .pointer(&totals)
        .value(n as i32);
    let safe = Args::new()
        .value(value)
        .slice(&experts_device)
        .slice(&lists)
        .slice(&totals);
    Ok(Case::new("expert_dispatch", n.div_ceil(1024), 256)
        .args(raw.clone(), raw, safe)
        .input(&experts_device)
        .output_from(&lists, 0)
        .output_from(&totals, 0)
        .reset()
        .bytes(5 * n)
        .check(move || {
            let (lists, totals) = (download(&lists)?, download(&totals)?);
            let mut counts = [0u32; 64];
            experts.iter().for_each(|&e| counts[usize::from(e)] += 1);
            let mut seen = vec![false; n];
            for e in 0..64 {
                same(e, totals[e], counts[e])?;
                for &token in &lists[e * capacity..][..capacity.min(counts[e] as usize)] {
                    let token = token as usize;
                    same(token, usize::from(experts[token]), e)?;
                    same(token, std::mem::replace(&mut seen[token], true), false)?;
                }
            }
            Ok(())
        }))
}

pub fn adaptive_simpson(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3, 4096);
    let tolerance = 1e-7f64;
    let parameters: Vec<f64> = (0..n as u64).map(|i| 1.0 + 20.0 * uniform(i)).collect();
    let parameters_device = upload(&parameters)?;
    let to: Buffer<f64> = zeroed(n)?;
    let raw = Args::new()
        .value(tolerance)
        .pointer(&parameters_device)
        .pointer(&to);
    let safe = Args::new()
        .value(tolerance)
        .slice(&parameters_device)
        .output(&to);
    Ok(Case::new("adaptive_simpson", n, 128)
        .args(raw.clone(), raw, safe)
        .input(&parameters_device)
        .output(&to)
        .check(move || {
            let to = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(32)) {
                let f = |x: f64| (parameters[i] / (x + 0.1)).sin() * (-x).exp();
                let steps = 1 << 16;
                let h = 1.0 / steps as f64;
                let inner: f64 = (1..steps)
                    .map(|k| f(h * k as f64) * if k % 2 == 1 { 4.0 } else { 2.0 })
                    .sum();
                near(i, to[i], h / 3.0 * (f(0.0) + inner + f(1.0)), 0.0, 1e-7)?;
            }
            Ok(())
        }))
}

pub fn rle_encode(scale: Scale) -> CudaResult<Case> {
    let blocks = scale.pick(3, 1 << 16);
    let n = 1024 * blocks;
    let mut bytes = vec![0u8; n];
    let mut value = 0;
    for (i, byte) in bytes.iter_mut().enumerate() {
        let bits = random(i as u64);
        // The runs of some blocks are longer.
        if bits.is_multiple_of(2 + (i / 1024 % 9) as u64) {
            value = (bits >> 32) as u8;
        }
        *byte = value;
    }
    let device = upload(&bytes)?;
    let values: Buffer<u8> = zeroed(n)?;
    let lengths: Buffer<u16> = zeroed(n)?;
    let counts: Buffer<u32> = zeroed(blocks)?;
    let raw = Args::new()
        .pointer(&device)
        .pointer(&values)
        .pointer(&lengths)
        .pointer(&counts);
    let safe = Args::new()
        .pointer(&device)
        .value(n / 4)
        .output(&values)
        .output(&lengths)
        .output(&counts);
    Ok(Case::new("rle_encode", blocks, 256)
        .args(raw.clone(), raw, safe)
        .input(&device)
        .output_from(&values, 0)
        .output_from(&lengths, 0)
        .output(&counts)
        .bytes(2 * n)
        .check(move || {
            let (values, lengths) = (download(&values)?, download(&lengths)?);
            let counts = download(&counts)?;
            for block in samples(blocks) {
                let runs: Vec<&[u8]> = bytes[1024 * block..][..1024]
                    .chunk_by(|a, b| a == b)
                    .collect();
                same(block, counts[block] as usize, runs.len())?;
                for (k, run) in runs.iter().enumerate() {
                    let i = 1024 * block + k;
                    same(i, (values[i], usize::from(lengths[i])), (run[0], run.len()))?;
                }
            }
            Ok(())
        }))
}

pub fn clahe_tables(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(192, 8192), scale.pick(128, 8192));
    let tiles = width / 64 * (height / 64);
    let image: Vec<u8> = (0..width * height)
        .map(|i| {
            let bits = random(i as u64);
            let noise = (bits & 63) + (bits >> 8 & 31);
            (noise + (i % width / 50 * 7 % 128) as u64) as u8
        })
        .collect();
    let limit = 40u32;
    let image_device = upload(&image)?;
    let tables: Buffer<u8> = zeroed(256 * tiles)?;
    let raw = Args::new()
        .value(limit)
        .pointer(&image_device)
        .value(width as i32)
        .pointer(&tables);
    let safe = Args::new()
        .value(limit)
        .slice(&image_device)
        .value(width)
        .output(&tables);
    Ok(Case::new("clahe_tables", tiles, 256)
        .args(raw.clone(), raw, safe)
        .input(&image_device)
        .output(&tables)
        .bytes(width * height)
        .check(move || {
            let tables = download(&tables)?;
            for tile in (0..tiles).step_by(tiles.div_ceil(500)) {
                let (x0, y0) = (tile % (width / 64) * 64, tile / (width / 64) * 64);
                let mut counts = [0u32; 256];
                for y in y0..y0 + 64 {
                    for &pixel in &image[y * width + x0..][..64] {
                        counts[usize::from(pixel)] += 1;
                    }
                }
                let excess: u32 = counts.iter().map(|c| c.saturating_sub(limit)).sum();
                let mut sum = 0;
                for i in 0..256 {
                    sum += counts[i].min(limit) + excess / 256;
                    sum += u32::from((i as u32) < excess % 256);
                    let expected = (sum as f32 * (255.0 / 4096.0)).min(255.0) as u8;
                    same(256 * tile + i, tables[256 * tile + i], expected)?;
                }
            }
            Ok(())
        }))
}

/// Returns the offsets and the columns of a sparse matrix with `least` to `most` elements in a row,
/// near the diagonal.
fn sparse(rows: usize, least: u64, most: u64, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let (mut offsets, mut columns) = (vec![0], Vec::new());
    for row in 0..rows as u64 {
        let bits = random(row ^ seed << 40);
        let count = least + bits % (most - least + 1);
        for k in 0..count {
            let distance = random(row << 8 | k ^ seed << 45) % 300;
            columns.push(((row + distance) % rows as u64) as u32);
        }
        offsets.push(columns.len() as u32);
    }
    (offsets, columns)
}

pub fn spgemm_symbolic(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(301, 1 << 17);
    let (a_offsets, a_columns) = sparse(rows, 0, 12, 1);
    let (b_offsets, b_columns) = sparse(rows, 2, 28, 2);
    let a_offsets_device = upload(&a_offsets)?;
    let a_columns_device = upload(&a_columns)?;
    let b_offsets_device = upload(&b_offsets)?;
    let b_columns_device = upload(&b_columns)?;
    let to: Buffer<u32> = zeroed(rows)?;
    let raw = Args::new()
        .pointer(&a_offsets_device)
        .pointer(&a_columns_device)
        .pointer(&b_offsets_device)
        .pointer(&b_columns_device)
        .pointer(&to)
        .value(rows as i32);
    let safe = Args::new()
        .slice(&a_offsets_device)
        .slice(&a_columns_device)
        .slice(&b_offsets_device)
        .slice(&b_columns_device)
        .output(&to);
    Ok(Case::new("spgemm_symbolic", rows.div_ceil(4), 128)
        .args(raw.clone(), raw, safe)
        .input(&a_offsets_device)
        .input(&a_columns_device)
        .input(&b_offsets_device)
        .input(&b_columns_device)
        .output(&to)
        .check(move || {
            let to = download(&to)?;
            let row = |offsets: &[u32], columns: &[u32], i: usize| {
                columns[offsets[i] as usize..offsets[i + 1] as usize].to_vec()
            };
            for i in samples(rows) {
                let mut all: Vec<u32> = row(&a_offsets, &a_columns, i)
                    .into_iter()
                    .flat_map(|k| row(&b_offsets, &b_columns, k as usize))
                    .collect();
                all.sort_unstable();
                all.dedup();
                same(i, to[i] as usize, all.len())?;
            }
            Ok(())
        }))
}

pub fn dot_twofold(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3001, 1 << 25);
    // The terms nearly cancel.
    let a: Vec<f32> = (0..n as u64).map(|i| uniform(i / 2) as f32).collect();
    let b: Vec<f32> = (0..n as u64)
        .map(|i| {
            let x = uniform((i / 2) ^ (1 << 40));
            (if i % 2 == 0 {
                x
            } else {
                -x + 1e-6 * uniform(i)
            }) as f32
        })
        .collect();
    let expected: f64 = a
        .iter()
        .zip(&b)
        .map(|(&a, &b)| f64::from(a) * f64::from(b))
        .sum();
    let a = upload(&a)?;
    let b = upload(&b)?;
    let blocks = scale.blocks(8);
    let to: Buffer<f64> = zeroed(blocks)?;
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .value(n as i32)
        .pointer(&to);
    Ok(Case::new("dot_twofold", blocks, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .bytes(8 * n)
        .check(move || super::total(&to, expected, 1e-6)))
}

pub fn recurrence_scan(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(3, 4096);
    let n = 4096 * rows;
    let a: Vec<f32> = uniform_f32(n, 1)
        .into_iter()
        .map(|x| 0.5 + 0.49 * x)
        .collect();
    let b = signed(n, 2);
    let a_device = upload(&a)?;
    let b_device = upload(&b)?;
    let to: Buffer<f32> = zeroed(n)?;
    let raw = Args::new()
        .pointer(&a_device)
        .pointer(&b_device)
        .pointer(&to);
    let safe = Args::new()
        .vectors::<F32x4>(&a_device)
        .vectors::<F32x4>(&b_device)
        .output_vectors::<F32x4>(&to);
    Ok(Case::new("recurrence_scan", rows, 256)
        .args(raw.clone(), raw, safe)
        .input(&a_device)
        .input(&b_device)
        .output(&to)
        .bytes(12 * n)
        .check(move || {
            let to = download(&to)?;
            for row in (0..rows).step_by(rows.div_ceil(100)) {
                let mut x = 0.0;
                for i in 4096 * row..4096 * (row + 1) {
                    x = f64::from(a[i]) * x + f64::from(b[i]);
                    near(i, to[i], x, 1e-4, 1e-4)?;
                }
            }
            Ok(())
        }))
}

pub fn sandpile(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(45, 4096), scale.pick(50, 4096));
    let from: Vec<u16> = (0..(width * height) as u64)
        .map(|i| (random(i) % 3001) as u16)
        .collect();
    let from_device = upload(&from)?;
    let to: Buffer<u16> = zeroed(from.len())?;
    let raw = Args::new()
        .pointer(&from_device)
        .pointer(&to)
        .value(width as i32)
        .value(height as i32);
    let safe = Args::new().slice(&from_device).rows(&to, width);
    Ok(Case::new(
        "sandpile",
        (width.div_ceil(32), height.div_ceil(32)),
        (32, 8),
    )
    .args(raw.clone(), raw, safe)
    .input(&from_device)
    .output(&to)
    .bytes(4 * from.len())
    .check(move || {
        let to = download(&to)?;
        // The grains after some steps.
        fn grains(from: &[u16], size: (usize, usize), x: usize, y: usize, step: u32) -> u16 {
            let (width, height) = size;
            if x >= width || y >= height {
                return 0;
            }
            if step == 0 {
                return from[y * width + x];
            }
            let at = |x, y| grains(from, size, x, y, step - 1);
            at(x, y) % 4
                + at(x.wrapping_sub(1), y) / 4
                + at(x + 1, y) / 4
                + at(x, y.wrapping_sub(1)) / 4
                + at(x, y + 1) / 4
        }
        for i in samples(to.len()) {
            let expected = grains(&from, (width, height), i % width, i / width, 4);
            same(i, to[i], expected)?;
        }
        Ok(())
    }))
}

pub fn bloom_join(scale: Scale) -> CudaResult<Case> {
    let blocks = scale.pick(3, 4096);
    let build: Vec<u64> = (0..1024 * blocks as u64).map(random).collect();
    // A quarter of the keys is in the filter.
    let probe: Vec<u64> = (0..4096 * blocks as u64)
        .map(|i| {
            let bits = random(i ^ 1 << 40);
            if bits % 4 == 0 {
                build[(i / 4096 * 1024 + (bits >> 8) % 1024) as usize]
            } else {
                bits
            }
        })
        .collect();
    let build_device = upload(&build)?;
    let probe_device = upload(&probe)?;
    let to: Buffer<u32> = zeroed(128 * blocks)?;
    let raw = Args::new()
        .pointer(&build_device)
        .pointer(&probe_device)
        .pointer(&to);
    let safe = Args::new()
        .slice(&build_device)
        .slice(&probe_device)
        .output(&to);
    Ok(Case::new("bloom_join", blocks, 256)
        .args(raw.clone(), raw, safe)
        .input(&build_device)
        .input(&probe_device)
        .output(&to)
        .bytes(8 * (build.len() + probe.len()))
        .check(move || {
            let to = download(&to)?;
            let bits = |key: u64| {
                let mut state = key;
                [(); 3].map(|()| {
                    state = (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    (state >> 40) as usize % 16384
                })
            };
            for block in (0..blocks).step_by(blocks.div_ceil(100)) {
                let mut filter = vec![false; 16384];
                for &key in &build[1024 * block..][..1024] {
                    bits(key).into_iter().for_each(|bit| filter[bit] = true);
                }
                for i in 4096 * block..4096 * (block + 1) {
                    let expected = bits(probe[i]).into_iter().all(|bit| filter[bit]);
                    same(i, to[i / 32] >> (i % 32) & 1 == 1, expected)?;
                }
            }
            Ok(())
        }))
}

pub fn color_round(scale: Scale) -> CudaResult<Case> {
    let nodes = scale.pick(301, 1 << 20);
    let (mut offsets, mut neighbors) = (vec![0u32], Vec::new());
    for node in 0..nodes as u64 {
        let degree = (4.0 / (0.03 + uniform(node))) as u64;
        for k in 0..degree {
            neighbors.push((random(node << 8 | k ^ 1 << 40) % nodes as u64) as u32);
        }
        offsets.push(neighbors.len() as u32);
    }
    let colors: Vec<u8> = (0..nodes as u64)
        .map(|i| match random(i ^ 2 << 40) % 100 {
            bits @ 0..60 => (bits * bits / 200) as u8,
            _ => 255,
        })
        .collect();
    let offsets_device = upload(&offsets)?;
    let neighbors_device = upload(&neighbors)?;
    let colors_device = upload(&colors)?;
    let to: Buffer<u32> = zeroed(nodes)?;
    let raw = Args::new()
        .pointer(&offsets_device)
        .pointer(&neighbors_device)
        .pointer(&colors_device)
        .pointer(&to)
        .value(nodes as i32);
    let safe = Args::new()
        .slice(&offsets_device)
        .slice(&neighbors_device)
        .slice(&colors_device)
        .slice(&to);
    Ok(Case::new("color_round", nodes.div_ceil(32), 256)
        .args(raw.clone(), raw, safe)
        .input(&offsets_device)
        .input(&neighbors_device)
        .input(&colors_device)
        .output(&to)
        .bytes(4 * (neighbors.len() + nodes))
        .check(move || {
            let to = download(&to)?;
            let priority = |i: u32| (i ^ i >> 15).wrapping_mul(0x2c1b_3c6d);
            for i in samples(nodes) {
                let others = &neighbors[offsets[i] as usize..offsets[i + 1] as usize];
                let waits =
                    |&k: &u32| colors[k as usize] == 255 && priority(k) > priority(i as u32);
                let mut expected = u32::from(colors[i]);
                if expected == 255 && !others.iter().any(waits) {
                    let used = |color: &u32| {
                        others
                            .iter()
                            .any(|&k| u32::from(colors[k as usize]) == *color)
                    };
                    expected = (0..).find(|color| !used(color)).unwrap();
                }
                same(i, to[i], expected)?;
            }
            Ok(())
        }))
}

pub fn prefix_hash(scale: Scale) -> CudaResult<Case> {
    let texts = scale.pick(3, 1 << 14);
    let n = 1024 * texts;
    let text: Vec<u8> = (0..n as u64)
        .map(|i| b"etaoin shrdlu"[(random(i) % 13) as usize])
        .collect();
    let text_device = upload(&text)?;
    let to = upload(&vec![[0u64; 4]; n / 4])?;
    let raw = Args::new().pointer(&text_device).pointer(&to);
    let safe = Args::new().pointer(&text_device).value(n / 4).output(&to);
    Ok(Case::new("prefix_hash", texts, 256)
        .args(raw.clone(), raw, safe)
        .input(&text_device)
        .output(&to)
        .bytes(9 * n)
        .check(move || {
            let to = download(&to)?;
            let prime = (1u128 << 61) - 1;
            for block in (0..texts).step_by(texts.div_ceil(500)) {
                let mut hash = 0u128;
                for i in 1024 * block..1024 * (block + 1) {
                    hash = (hash * 0x0f1e_2d3c_4b5a_6978 + u128::from(text[i]) + 1) % prime;
                    same(i, u128::from(to[i / 4][i % 4]), hash)?;
                }
            }
            Ok(())
        }))
}

/// Converts a number to fp16, truncated.
fn half_bits(x: f32) -> u16 {
    let bits = x.to_bits();
    let exponent = (bits >> 23 & 255) as i32 - 112;
    match exponent {
        ..=0 => 0,
        _ => (bits >> 16 & 0x8000) as u16 | (exponent as u16) << 10 | (bits >> 13 & 0x3ff) as u16,
    }
}

pub fn kl_rows(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(7, 1 << 15);
    let n = 1024 * rows;
    let teacher: Vec<u16> = signed(n, 1)
        .into_iter()
        .map(|x| half_bits(6.0 * x * x * x))
        .collect();
    let student: Vec<u16> = (0..n)
        .map(|i| {
            if uniform(i as u64 ^ 5 << 40) < 0.2 {
                0x3c00
            } else {
                teacher[i] ^ 0x10
            }
        })
        .collect();
    let teacher_device = upload(&teacher)?;
    let student_device = upload(&student)?;
    let to: Buffer<f32> = zeroed(rows)?;
    let raw = Args::new()
        .pointer(&teacher_device)
        .pointer(&student_device)
        .pointer(&to)
        .value(rows as i32);
    let safe = Args::new()
        .pointer(&teacher_device)
        .value(n / 2)
        .pointer(&student_device)
        .value(n / 2)
        .output(&to);
    Ok(Case::new("kl_rows", rows.div_ceil(4), 128)
        .args(raw.clone(), raw, safe)
        .input(&teacher_device)
        .input(&student_device)
        .output(&to)
        .bytes(4 * n)
        .check(move || {
            let value = |bits: u16| {
                let magnitude = if bits & 0x7fff == 0 {
                    0.0
                } else {
                    cuda_std_half(bits & 0x7fff)
                };
                if bits >> 15 == 1 {
                    -magnitude
                } else {
                    magnitude
                }
            };
            let to = download(&to)?;
            for row in (0..rows).step_by(rows.div_ceil(1000)) {
                let load = |from: &[u16]| -> Vec<f64> {
                    from[1024 * row..][..1024]
                        .iter()
                        .map(|&x| value(x))
                        .collect()
                };
                let (p, q) = (load(&teacher), load(&student));
                let log_sum = |x: &[f64]| x.iter().map(|x| x.exp()).sum::<f64>().ln();
                let (p_sum, q_sum) = (log_sum(&p), log_sum(&q));
                let terms = p
                    .iter()
                    .zip(&q)
                    .map(|(p, q)| (p - p_sum).exp() * ((p - p_sum) - (q - q_sum)));
                near(row, to[row], terms.sum(), 1e-3, 1e-4)?;
            }
            Ok(())
        }))
}

pub fn wave_march(scale: Scale) -> CudaResult<Case> {
    let (width, height, depth) = (scale.pick(45, 512), scale.pick(19, 512), scale.pick(7, 96));
    let n = width * height * depth;
    let current = signed(n, 1);
    let previous = signed(n, 2);
    let speed = 0.1f32;
    let current_device = upload(&current)?;
    let previous_device = upload(&previous)?;
    let to: Buffer<f32> = zeroed(n)?;
    let raw = Args::new()
        .value(speed)
        .pointer(&current_device)
        .pointer(&previous_device)
        .pointer(&to)
        .value(width as i32)
        .value(height as i32)
        .value(depth as i32);
    let safe = Args::new()
        .value(speed)
        .slice(&current_device)
        .slice(&previous_device)
        .volume(&to, width, height);
    Ok(Case::new(
        "wave_march",
        (width.div_ceil(32), height.div_ceil(8)),
        (32, 8),
    )
    .args(raw.clone(), raw, safe)
    .input(&current_device)
    .input(&previous_device)
    .output(&to)
    .bytes(12 * n)
    .check(move || {
        close(&to, 1e-4, 1e-5, |i| {
            let size = [width, height, depth];
            let place = [i % width, i / width % height, i / width / height];
            let mut laplacian = 0.0;
            for axis in 0..3 {
                for (offset, weight) in [
                    (-2, -1.0 / 12.0),
                    (-1, 4.0 / 3.0),
                    (0, -2.5),
                    (1, 4.0 / 3.0),
                    (2, -1.0 / 12.0),
                ] {
                    let mut at = place;
                    at[axis] = at[axis].wrapping_add_signed(offset);
                    if at[axis] < size[axis] {
                        let [x, y, z] = at;
                        laplacian += weight * f64::from(current[(z * height + y) * width + x]);
                    }
                }
            }
            2.0 * f64::from(current[i]) - f64::from(previous[i]) + f64::from(speed) * laplacian
        })
    }))
}

pub fn aggregate_groups(scale: Scale) -> CudaResult<Case> {
    let (rows, columns) = (scale.pick(1000, 1 << 21), 8);
    let functions: Vec<[i64; 2]> = (0..columns).map(|c| [c % 5, 300 * c]).collect();
    let mut offsets = vec![0u32];
    let mut end = 0;
    while end < rows {
        // Some groups are empty.
        end += (random(offsets.len() as u64) % 150) as usize;
        offsets.push(end.min(rows) as u32);
    }
    let groups = offsets.len() - 1;
    let values: Vec<i64> = (0..(rows * columns as usize) as u64)
        .map(|i| match random(i) {
            bits if bits % 9 == 0 => i64::MIN,
            bits => (bits >> 20) as i64 % 5000 - 1000,
        })
        .collect();
    let functions_device = upload(&functions)?;
    let offsets_device = upload(&offsets)?;
    let values_device = upload(&values)?;
    let to = upload(&vec![0i64; groups * columns as usize])?;
    let raw = Args::new()
        .pointer(&functions_device)
        .value(columns as i32)
        .pointer(&offsets_device)
        .value(groups as i32)
        .pointer(&values_device)
        .value(rows as i32)
        .pointer(&to);
    let safe = Args::new()
        .slice(&functions_device)
        .slice(&offsets_device)
        .slice(&values_device)
        .value(rows)
        .output(&to);
    Ok(Case::new(
        "aggregate_groups",
        (groups * columns as usize).div_ceil(8),
        256,
    )
    .args(raw.clone(), raw, safe)
    .input(&functions_device)
    .input(&offsets_device)
    .input(&values_device)
    .output(&to)
    .bytes(8 * values.len())
    .check(move || {
        let to = download(&to)?;
        for i in samples(to.len()) {
            let (column, group) = (i / groups, i % groups);
            let range = offsets[group] as usize..offsets[group + 1] as usize;
            let present = || {
                let column = &values[rows * column..][..rows];
                column[range.clone()]
                    .iter()
                    .copied()
                    .filter(|&x| x != i64::MIN)
            };
            let [code, argument] = functions[column];
            let expected = match code {
                _ if present().next().is_none() => None,
                0 => Some(present().count() as i64),
                1 => Some(present().sum()),
                2 => present().min(),
                3 => present().max(),
                _ => Some(present().filter(|&x| x > argument).count() as i64),
            };
            same(i, to[i], expected.unwrap_or(i64::MIN))?;
        }
        Ok(())
    }))
}

pub fn gram_schmidt(scale: Scale) -> CudaResult<Case> {
    let matrices = scale.pick(7, 1 << 16);
    let n = 512 * matrices;
    let from = signed(n, 1);
    let from_device = upload(&from)?;
    let to: Buffer<f32> = zeroed(n)?;
    let raw = Args::new()
        .pointer(&from_device)
        .pointer(&to)
        .value(matrices as i32);
    Ok(Case::new("gram_schmidt", matrices.div_ceil(4), 128)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&from_device).output(&to),
        )
        .input(&from_device)
        .output(&to)
        .bytes(8 * n)
        .check(move || {
            let to = download(&to)?;
            for matrix in (0..matrices).step_by(matrices.div_ceil(500)) {
                let start = 512 * matrix;
                let mut q = [[0.0f64; 32]; 16];
                for k in 0..16 {
                    let mut x: [f64; 32] =
                        std::array::from_fn(|row| f64::from(from[start + 32 * k + row]));
                    for unit in &q[..k] {
                        let dot: f64 = x.iter().zip(unit).map(|(a, b)| a * b).sum();
                        x.iter_mut()
                            .zip(unit)
                            .for_each(|(x, unit)| *x -= dot * unit);
                    }
                    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                    q[k] = x.map(|x| x / norm);
                    for (row, &expected) in q[k].iter().enumerate() {
                        let i = start + 32 * k + row;
                        near(i, to[i], expected, 1e-3, 1e-4)?;
                    }
                }
            }
            Ok(())
        }))
}
