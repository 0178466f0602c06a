//! The nearest cities, similar vertices, strings, reactions, signals, particles, powers of
//! matrices, and compressed images.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, near, random, samples, uniform_f32, upload, zeroed,
};
use bench_kernels::assorted::{Complex, Particle, Place};
use cust::error::CudaResult;
use std::f32::consts::PI;

/// Returns places all over the earth.
fn places_on_earth(n: usize, seed: u64) -> Vec<Place> {
    (uniform_f32(2 * n, seed).as_chunks::<2>().0.iter())
        .map(|&[lat, lon]| Place {
            lat: PI * (lat - 0.5),
            lon: 2.0 * PI * (lon - 0.5),
        })
        .collect()
}

pub fn haversine(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let count = scale.pick(50, 512);
    let (own, centers) = (places_on_earth(n, 1), places_on_earth(count, 2));
    let (places, cities) = (upload(&own)?, upload(&centers)?);
    let to: Buffer<u32> = zeroed(n)?;
    let pointers = Args::new().pointer(&places).pointer(&cities);
    Ok(Case::new("haversine", n.div_ceil(256), 256)
        .args(
            (pointers.clone().value(count as i32).pointer(&to)).value(n as i32),
            pointers.value(count).pointer(&to).value(n),
            Args::new().slice(&places).slice(&cities).output(&to),
        )
        .input(&places)
        .input(&cities)
        .output(&to)
        .bytes(12 * n + 8 * count)
        // Without those of sines and cosines.
        .f32_operations(9.0 * (count * n) as f64)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let distance = |city: &Place| {
                    let [a, b] = [own[i], *city].map(|place| f64::from(place.lat));
                    let lon = f64::from(city.lon) - f64::from(own[i].lon);
                    let (s, t) = (((b - a) * 0.5).sin(), (lon * 0.5).sin());
                    s * s + a.cos() * b.cos() * t * t
                };
                let nearest = centers.iter().map(distance).fold(f64::INFINITY, f64::min);
                let Some(found) = centers.get(results[i] as usize) else {
                    return Err(format!("place {i} has no nearest city"));
                };
                // Cities at nearly the same distance may be found instead of each other.
                near(i, distance(found), nearest, 1e-5, 1e-6)?;
            }
            Ok(())
        }))
}

pub fn jaccard(scale: Scale) -> CudaResult<Case> {
    let vertices = scale.pick(300, 1 << 16);
    let n = scale.pick(1000, 1 << 20);
    // The neighbors of a vertex are near each other.
    let lists: Vec<Vec<u32>> = (0..vertices as u64)
        .map(|vertex| {
            let degree = 1 + random(vertex) % 64;
            let mut list: Vec<u32> = (0..degree)
                .map(|i| (vertex + random(vertex << 8 ^ i ^ 1 << 40) % 256) % vertices as u64)
                .map(|neighbor| neighbor as u32)
                .collect();
            list.sort_unstable();
            list.dedup();
            list
        })
        .collect();
    let ends: Vec<[u32; 2]> = (0..n as u64)
        .map(|i| {
            let random = random(i ^ 1 << 41);
            let vertex = random as u32 % vertices as u32;
            let list = &lists[vertex as usize];
            [vertex, list[(random >> 32) as usize % list.len()]]
        })
        .collect();
    let mut offsets = vec![0];
    for list in &lists {
        offsets.push(offsets[offsets.len() - 1] + list.len() as u32);
    }
    let (starts, neighbors) = (upload(&offsets)?, upload(&lists.concat())?);
    let edges = upload(&ends)?;
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = (Args::new().pointer(&starts).pointer(&neighbors)).pointer(&edges);
    let pointers = pointers.pointer(&to);
    Ok(Case::new("jaccard", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            (Args::new().slice(&starts).slice(&neighbors).slice(&edges)).output(&to),
        )
        .input(&starts)
        .input(&neighbors)
        .input(&edges)
        .output(&to)
        .bytes(12 * n + 4 * (starts.len() + neighbors.len()))
        .check(move || {
            close(&to, 1e-6, 0.0, |i| {
                let [a, b] = ends[i].map(|vertex| &lists[vertex as usize]);
                let common = a.iter().filter(|vertex| b.contains(vertex)).count();
                common as f64 / (a.len() + b.len() - common) as f64
            })
        }))
}

pub fn search(scale: Scale) -> CudaResult<Case> {
    const COUNT: usize = 8;
    let n = scale.pick(3000, 1 << 27);
    // A text of few letters, so parts of the pattern occur often.
    let letters: Vec<u8> = (0..n as u64)
        .map(|i| b"ACGT"[random(i) as usize % 4])
        .collect();
    let (text, pattern) = (upload(&letters)?, upload(&letters[n / 2..n / 2 + COUNT])?);
    let to: Buffer<u8> = zeroed(n)?;
    Ok(Case::new("search", n.div_ceil(256), 256)
        .args(
            (Args::new().pointer(&text).value(n as i32).pointer(&pattern))
                .value(COUNT as i32)
                .pointer(&to)
                .value(n as i32),
            (Args::new().slice(&text).slice(&pattern).pointer(&to)).value(n),
            Args::new().slice(&text).slice(&pattern).output(&to),
        )
        .input(&text)
        .input(&pattern)
        .output(&to)
        .bytes(2 * n)
        .check(move || {
            let results = download(&to)?;
            let pattern = &letters[n / 2..n / 2 + COUNT];
            let differs = |&i: &usize| {
                let occurs = letters[i..].starts_with(pattern);
                results[i] != u8::from(occurs)
            };
            match (0..n).find(differs) {
                None => Ok(()),
                Some(i) => Err(format!("element {i} is {}", results[i])),
            }
        }))
}

pub fn grayscott(scale: Scale) -> CudaResult<Case> {
    let (feed, kill) = (0.055f32, 0.062f32);
    let (width, height) = match scale.small {
        true => (70, 21),
        false => (4096, 4096),
    };
    let n = width * height;
    let values = [uniform_f32(n, 1), uniform_f32(n, 2)];
    let (u, v) = (upload(&values[0])?, upload(&values[1])?);
    let (next_u, next_v): (Buffer<f32>, Buffer<f32>) = (zeroed(n)?, zeroed(n)?);
    let rates = || Args::new().value(feed).value(kill);
    let pointers = (Args::new().pointer(&u).pointer(&v).and(rates()))
        .pointer(&next_u)
        .pointer(&next_v);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("grayscott", grid, (32, 8))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            (Args::new().slice(&u).slice(&v).and(rates()))
                .rows(&next_u, width)
                .rows(&next_v, width),
        )
        .input(&u)
        .input(&v)
        .output(&next_u)
        .output(&next_v)
        .bytes(16 * n)
        .f32_operations(26.0 * n as f64)
        .check(move || {
            let laplacian = |field: usize, i: usize| {
                let (x, y) = (i % width, i / width);
                let at =
                    |x: usize, y: usize| f64::from(values[field][y % height * width + x % width]);
                let row = at(x + width - 1, y) + at(x + 1, y);
                row + at(x, y + height - 1) + at(x, y + 1) - 4.0 * at(x, y)
            };
            let (feed, kill) = (f64::from(feed), f64::from(kill));
            let state = |i: usize| (f64::from(values[0][i]), f64::from(values[1][i]));
            close(&next_u, 1e-5, 1e-6, |i| {
                let (a, b) = state(i);
                a + 0.16 * laplacian(0, i) - a * b * b + feed * (1.0 - a)
            })?;
            close(&next_v, 1e-5, 1e-6, |i| {
                let (a, b) = state(i);
                b + 0.08 * laplacian(1, i) + a * b * b - (feed + kill) * b
            })
        }))
}

/// Returns complex numbers whose parts are from -1 to 1.
fn complex_numbers(n: usize, seed: u64) -> Vec<Complex> {
    (uniform_f32(2 * n, seed).as_chunks::<2>().0.iter())
        .map(|&[re, im]| Complex {
            re: 2.0 * re - 1.0,
            im: 2.0 * im - 1.0,
        })
        .collect()
}

pub fn cfir(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 22);
    let count = scale.pick(9, 64);
    let (signal, weights) = (complex_numbers(n + count, 1), complex_numbers(count, 2));
    let (from, taps) = (upload(&signal)?, upload(&weights)?);
    let to = upload(&vec![Complex::default(); n])?;
    let pointers = Args::new().pointer(&from).pointer(&taps);
    Ok(Case::new("cfir", n.div_ceil(256), 256)
        .args(
            (pointers.clone().value(count as i32).pointer(&to)).value(n as i32),
            pointers.value(count).pointer(&to).value(n),
            Args::new().slice(&from).slice(&taps).output(&to),
        )
        .input(&from)
        .input(&taps)
        .output(&to)
        .bytes(8 * (2 * n + 2 * count))
        .f32_operations(8.0 * (count * n) as f64)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let (mut re, mut im) = (0.0, 0.0);
                for (s, t) in signal[i..].iter().zip(&weights) {
                    let [a, b, c, d] = [s.re, s.im, t.re, t.im].map(f64::from);
                    re += a * c - b * d;
                    im += a * d + b * c;
                }
                near(i, results[i].re, re, 1e-5, 1e-5)?;
                near(i, results[i].im, im, 1e-5, 1e-5)?;
            }
            Ok(())
        }))
}

pub fn particles(scale: Scale) -> CudaResult<Case> {
    const DT: f32 = 0.5;
    const SIZE: f32 = 1.0;
    /// Each byte of the particles before the step. As a number, it is about 0.75.
    const START: u8 = 0x3f;
    let n = scale.pick(1000, 1 << 22);
    let values: Vec<[f32; 3]> = (uniform_f32(3 * n, 1).as_chunks::<3>().0.iter())
        .map(|force| force.map(|x| 8.0 * x - 4.0))
        .collect();
    let forces = upload(&values)?;
    let to = upload(&vec![Particle::default(); n])?;
    let start = || Args::new().value(DT).value(SIZE);
    let pointers = Args::new().pointer(&forces).and(start()).pointer(&to);
    Ok(Case::new("particles", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&forces).and(start()).output(&to),
        )
        .input(&forces)
        .output_from(&to, START)
        .reset()
        // The charge is not read.
        .bytes((12 + 28 + 24) * n)
        .f32_operations(15.0 * n as f64)
        .check(move || {
            let results = download(&to)?;
            let start = f64::from(f32::from_ne_bytes([START; 4]));
            let (dt, size) = (f64::from(DT), f64::from(SIZE));
            for i in samples(n) {
                for d in 0..3 {
                    let mut velocity = start + f64::from(values[i][d]) / start * dt;
                    let mut position = start + velocity * dt;
                    if position < 0.0 {
                        (position, velocity) = (-position, -velocity);
                    } else if position > size {
                        (position, velocity) = (2.0 * size - position, -velocity);
                    }
                    // The velocity of a particle at a wall has either sign.
                    let at_wall = position.abs().min((size - position).abs()) < 1e-5;
                    let sign = match at_wall {
                        true => f64::from(results[i].velocity[d]).signum() * velocity.signum(),
                        false => 1.0,
                    };
                    near(i, results[i].position[d], position, 1e-5, 1e-5)?;
                    near(i, results[i].velocity[d], sign * velocity, 1e-5, 1e-5)?;
                }
            }
            Ok(())
        }))
}

pub fn matpower(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 21);
    let steps = scale.pick(3, 8) as u32;
    // The sum of each row is 1, so the powers neither grow nor vanish.
    let values: Vec<[[f32; 4]; 4]> = (uniform_f32(16 * n, 1).as_chunks::<16>().0.iter())
        .map(|numbers| {
            std::array::from_fn(|i| {
                let sum: f32 = numbers[4 * i..][..4].iter().sum();
                std::array::from_fn(|j| (numbers[4 * i + j] + 0.01) / (sum + 0.04))
            })
        })
        .collect();
    let from = upload(&values)?;
    let to = upload(&vec![[[0.0f32; 4]; 4]; n])?;
    let pointers = Args::new().pointer(&from).value(steps).pointer(&to);
    Ok(Case::new("matpower", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).value(steps).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(128 * n)
        .f32_operations(128.0 * f64::from(steps) * n as f64)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let mut power = values[i].map(|row| row.map(f64::from));
                for _ in 0..steps {
                    let square =
                        |i: usize, j: usize| (0..4).map(|k| power[i][k] * power[k][j]).sum();
                    power = std::array::from_fn(|i| std::array::from_fn(|j| square(i, j)));
                }
                let results = results[i].into_iter().flatten();
                for (result, expected) in results.zip(power.into_iter().flatten()) {
                    near(i, result, expected, 2e-4, 0.0)?;
                }
            }
            Ok(())
        }))
}

/// Returns the two colors and the bits of a block.
fn compressed(block: [[u8; 4]; 16]) -> [u32; 2] {
    let channel = |c: usize| block.iter().map(move |pixel| i32::from(pixel[c]));
    let low = [0, 1, 2].map(|c| channel(c).min().unwrap_or(0));
    let high = [0, 1, 2].map(|c| channel(c).max().unwrap_or(0));
    let packed = |[r, g, b]: [i32; 3]| ((r / 8) << 11 | (g / 4) << 5 | (b / 8)) as u32;
    let axis = [0, 1, 2].map(|c| high[c] - low[c]);
    let squared = axis.iter().map(|a| a * a).sum::<i32>().max(1);
    let mut bits = 0;
    for (k, pixel) in block.into_iter().enumerate() {
        let terms = (0..3).map(|c| (i32::from(pixel[c]) - low[c]) * axis[c]);
        let third = (3 * terms.sum::<i32>() + squared / 2) / squared;
        bits |= [1, 3, 2, 0][third as usize] << (2 * k);
    }
    [packed(high) | packed(low) << 16, bits]
}

pub fn dxt(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (68, 20),
        false => (8192, 8192),
    };
    let n = width * height / 16;
    // Each block of 4 x 4 pixels has a base color, from which its pixels differ a little.
    let image: Vec<[u8; 4]> = (0..width * height)
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let base = random((y / 4 * width + x / 4) as u64 ^ 1 << 40).to_le_bytes();
            let own = random(i as u64).to_le_bytes();
            std::array::from_fn(|c| base[c] / 2 + own[c] % (1 + base[4 + c] / 2))
        })
        .collect();
    let pixels = upload(&image)?;
    let to: Buffer<[u32; 2]> = zeroed(n)?;
    let start = Args::new().pointer(&pixels);
    Ok(Case::new("dxt", n.div_ceil(64), 64)
        .args(
            (start.clone().value(width as i32).pointer(&to)).value(n as i32),
            start.value(width).pointer(&to).value(n),
            Args::new().slice(&pixels).value(width).output(&to),
        )
        .input(&pixels)
        .output(&to)
        .bytes(4 * width * height + 8 * n)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let (x, y) = (i % (width / 4) * 4, i / (width / 4) * 4);
                let block = std::array::from_fn(|k| image[(y + k / 4) * width + x + k % 4]);
                if results[i] != compressed(block) {
                    return Err(format!("block {i} differs"));
                }
            }
            Ok(())
        }))
}
