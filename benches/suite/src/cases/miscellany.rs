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
    Args, Buffer, Case, close, download, equal, near, random, samples, uniform, uniform_f32,
    upload, zeroed,
};
use cust::error::CudaResult;

pub fn cordic_sincos(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3000, 1 << 23);
    let one = f64::from(1 << 30);
    let angles: Vec<i32> = (0..n as u64)
        .map(|i| ((uniform(i) - 0.5) * std::f64::consts::PI * one) as i32)
        .collect();
    let (from, to): (_, Buffer<[i32; 2]>) = (upload(&angles)?, zeroed(n)?);
    Ok(Case::new("cordic_sincos", n.div_ceil(256), 256)
        .args(
            Args::new().pointer(&to).pointer(&from).value(n as i32),
            Args::new().pointer(&to).pointer(&from).value(n),
            Args::new().output(&to).slice(&from),
        )
        .input(&from)
        .output(&to)
        .bytes(12 * n)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let angle = f64::from(angles[i]) / one;
                let [cos, sin] = results[i].map(|x| f64::from(x) / one);
                near(2 * i, cos, angle.cos(), 0.0, 1e-7)?;
                near(2 * i + 1, sin, angle.sin(), 0.0, 1e-7)?;
            }
            Ok(())
        }))
}

/// Returns words of letters, and where each starts.
fn words(n: usize, shortest: u64, longest: u64, letter: impl Fn(u64) -> u8) -> (Vec<u8>, Vec<u32>) {
    let mut text = Vec::new();
    let mut offsets = vec![0];
    for i in 0..n as u64 {
        let mut bits = random(i);
        let len = shortest + bits % (longest - shortest + 1);
        for _ in 0..len {
            bits = bits
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            text.push(letter(bits >> 33));
        }
        offsets.push(text.len() as u32);
    }
    (text, offsets)
}

pub fn soundex(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 22);
    let (text, offsets) = words(n, 2, 14, |x| {
        let case = if x % 8 == 0 { b'A' } else { b'a' };
        case + (x / 8 % 26) as u8
    });
    let (from, at, to): (_, _, Buffer<[u8; 4]>) = (upload(&text)?, upload(&offsets)?, zeroed(n)?);
    Ok(Case::new("soundex", n.div_ceil(256), 256)
        .args(
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&at)
                .value(n as i32),
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&at)
                .value(n),
            Args::new().output(&to).slice(&from).slice(&at),
        )
        .input(&from)
        .input(&at)
        .output(&to)
        .bytes(8 * n + text.len())
        .check(move || {
            equal(&to, |i| {
                let word = text[offsets[i] as usize..offsets[i + 1] as usize].to_ascii_uppercase();
                let digit = |c: u8| b"01230127022455012623017202"[usize::from(c - b'A')];
                let heard: Vec<u8> = word
                    .iter()
                    .map(|&c| digit(c))
                    .filter(|&d| d != b'7')
                    .collect();
                // The first letter counts as heard.
                let heard = if digit(word[0]) == b'7' {
                    [&b"7"[..], &heard].concat()
                } else {
                    heard
                };
                let mut code = vec![word[0]];
                for pair in heard.windows(2) {
                    if pair[0] != pair[1] && pair[1] != b'0' {
                        code.push(pair[1]);
                    }
                }
                code.resize(4, b'0');
                code.try_into().unwrap()
            })
        }))
}

pub fn max_drawdown(scale: Scale) -> CudaResult<Case> {
    let (series, days) = (scale.pick(5, 1024), scale.pick(1000, 16000));
    let mut price = 0.0;
    let prices: Vec<f32> = (0..series * days)
        .map(|i| {
            price = if i % days == 0 {
                100.0
            } else {
                price * (0.99 + 0.02 * uniform(i as u64))
            };
            price as f32
        })
        .collect();
    let (from, to): (_, Buffer<f32>) = (upload(&prices)?, zeroed(series)?);
    Ok(Case::new("max_drawdown", series, 256)
        .args(
            Args::new().pointer(&to).pointer(&from).value(days as i32),
            Args::new().pointer(&to).pointer(&from).value(days),
            Args::new().output(&to).slice(&from).value(days),
        )
        .input(&from)
        .output(&to)
        .bytes(4 * series * days)
        .check(move || {
            close(&to, 1e-5, 1e-6, |i| {
                let mut peak = 0f32;
                let mut worst = 0f32;
                for &price in &prices[i * days..][..days] {
                    peak = peak.max(price);
                    worst = worst.max(1.0 - price / peak);
                }
                f64::from(worst)
            })
        }))
}

pub fn gf2_rank(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(50, 1 << 17);
    let mut rows: Vec<u64> = (0..32 * n as u64).map(random).collect();
    for (i, matrix) in rows.chunks_mut(32).enumerate() {
        // Some rows depend on others.
        for k in 0..random(i as u64) as usize % 16 {
            matrix[2 * k] = matrix[2 * k + 1] ^ matrix[(5 * k + 3) % 32];
        }
    }
    let (from, to): (_, Buffer<u32>) = (upload(&rows)?, zeroed(n)?);
    Ok(Case::new("gf2_rank", n.div_ceil(8), 256)
        .args(
            Args::new().pointer(&to).pointer(&from).value(n as i32),
            Args::new().pointer(&to).pointer(&from).value(n),
            Args::new().output(&to).slice(&from),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * rows.len())
        .check(move || {
            equal(&to, |i| {
                let mut basis: Vec<u64> = Vec::new();
                for &row in &rows[32 * i..][..32] {
                    let rest = basis.iter().fold(row, |row, &b| row.min(row ^ b));
                    if rest != 0 {
                        basis.push(rest);
                    }
                }
                basis.len() as u32
            })
        }))
}

pub fn natural_order(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 20);
    let (mut text, mut offsets) = (Vec::new(), vec![0u32]);
    for i in 0..n as u64 {
        let r = random(i);
        let len = 10 + (r % 30) as usize;
        let start = text.len();
        for k in 0..len as u64 {
            text.push(b"abc_0012345"[(random(i << 8 | k) % 11) as usize]);
        }
        offsets.push(text.len() as u32);
        text.extend_from_within(start..);
        // A different character, or a different length, or equal names.
        let place = text.len() - 1 - (r >> 8) as usize % len;
        match r >> 32 & 3 {
            0 => {}
            1 => text.truncate(place),
            _ => text[place] = b"0123abc"[(r >> 40) as usize % 7],
        }
        offsets.push(text.len() as u32);
    }
    let (from, at, to): (_, _, Buffer<i32>) = (upload(&text)?, upload(&offsets)?, zeroed(n)?);
    Ok(Case::new("natural_order", n.div_ceil(128), 128)
        .args(
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&at)
                .value(n as i32),
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&at)
                .value(n),
            Args::new().output(&to).slice(&from).slice(&at),
        )
        .input(&from)
        .input(&at)
        .output(&to)
        .bytes(12 * n + text.len())
        .check(move || {
            // Sorts as the list of characters and numbers. All letters are above digits.
            let key = |i: usize| {
                let name = &text[offsets[i] as usize..offsets[i + 1] as usize];
                let mut parts: Vec<(u8, usize, String)> = Vec::new();
                let mut number: Option<String> = None;
                for &c in name {
                    if c.is_ascii_digit() {
                        number.get_or_insert_default().push(c as char);
                    } else {
                        parts.extend(number.take().map(|s| {
                            let s = s.trim_start_matches('0').to_owned();
                            (0, s.len(), s)
                        }));
                        parts.push((c, 0, String::new()));
                    }
                }
                parts.extend(number.map(|s| {
                    let s = s.trim_start_matches('0').to_owned();
                    (0, s.len(), s)
                }));
                parts
            };
            equal(&to, |i| key(2 * i).cmp(&key(2 * i + 1)) as i32)
        }))
}

pub fn lcs_bits(scale: Scale) -> CudaResult<Case> {
    let (n, bases) = (scale.pick(300, 1 << 18), scale.pick(100, 600));
    let base = |i: u64| (random(i) >> 20 & 3) as u8;
    let reads: Vec<u8> = (0..64 * n as u64).map(base).collect();
    // Mostly one base, so that the results differ.
    let genome: Vec<u8> = (0..bases as u64)
        .map(|i| {
            if random(i) % 12 < 11 && bases > 200 {
                0
            } else {
                base(i | 1 << 40)
            }
        })
        .collect();
    let (from, with, to): (_, _, Buffer<u32>) = (upload(&reads)?, upload(&genome)?, zeroed(n)?);
    Ok(Case::new("lcs_bits", n.div_ceil(128), 128)
        .args(
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&with)
                .value(bases as i32)
                .value(n as i32),
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&with)
                .value(bases)
                .value(n),
            Args::new().output(&to).slice(&from).slice(&with),
        )
        .input(&from)
        .input(&with)
        .output(&to)
        .bytes(68 * n)
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(100)) {
                let read = &reads[64 * i..][..64];
                let mut row = vec![0u32; 65];
                for &base in &genome {
                    let mut diagonal = 0;
                    for k in 0..64 {
                        let above = row[k + 1];
                        row[k + 1] = if read[k] == base {
                            diagonal + 1
                        } else {
                            above.max(row[k])
                        };
                        diagonal = above;
                    }
                }
                near(i, results[i], f64::from(row[64]), 0.0, 0.0)?;
            }
            Ok(())
        }))
}

pub fn curl3d(scale: Scale) -> CudaResult<Case> {
    let [width, height, depth] = [(45, 256), (11, 256), (5, 128)].map(|(a, b)| scale.pick(a, b));
    let n = width * height * depth;
    let values = [1, 2, 3].map(|seed| uniform_f32(n, seed));
    let [u, v, w] = [
        upload(&values[0])?,
        upload(&values[1])?,
        upload(&values[2])?,
    ];
    let to: Buffer<[f32; 3]> = zeroed(n)?;
    let pointers = Args::new().pointer(&to).pointer(&u).pointer(&v).pointer(&w);
    let sizes = Args::new()
        .value(width as i32)
        .value(height as i32)
        .value(depth as i32);
    let grid = (width.div_ceil(32), height.div_ceil(4), depth.div_ceil(2));
    Ok(Case::new("curl3d", grid, (32, 4, 2))
        .args(
            pointers.clone().and(sizes.clone()),
            pointers.and(sizes),
            Args::new()
                .volume(&to, width, height)
                .slice(&u)
                .slice(&v)
                .slice(&w),
        )
        .input(&u)
        .input(&v)
        .input(&w)
        .output(&to)
        .bytes(24 * n)
        .check(move || {
            let results = download(&to)?;
            let size = [width, height, depth];
            for i in samples(n) {
                let place = [i % width, i / width % height, i / (width * height)];
                let d = |component: usize, axis: usize| {
                    let at = |step: i64| {
                        let mut p = place;
                        p[axis] = (p[axis] as i64 + step).clamp(0, size[axis] as i64 - 1) as usize;
                        f64::from(values[component][(p[2] * height + p[1]) * width + p[0]])
                    };
                    0.5 * (at(1) - at(-1))
                };
                let expected = [d(2, 1) - d(1, 2), d(0, 2) - d(2, 0), d(1, 0) - d(0, 1)];
                for k in 0..3 {
                    near(3 * i + k, results[i][k], expected[k], 1e-5, 1e-5)?;
                }
            }
            Ok(())
        }))
}

pub fn durand_kerner(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 18);
    let values: Vec<[f64; 5]> = (0..n as u64)
        .map(|i| [0, 1, 2, 3, 4].map(|k| 4.0 * uniform(5 * i + k) - 2.0))
        .collect();
    let from = upload(&values)?;
    let (radii, counts): (Buffer<f64>, Buffer<u32>) = (zeroed(n)?, zeroed(n)?);
    let pointers = Args::new().pointer(&radii).pointer(&counts).pointer(&from);
    Ok(Case::new("durand_kerner", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().output(&radii).output(&counts).slice(&from),
        )
        .input(&from)
        .output(&radii)
        .output(&counts)
        .bytes(52 * n)
        .check(move || {
            let counts = download(&counts)?;
            if let Some(i) = counts.iter().position(|n| !(4..=60).contains(n)) {
                return Err(format!("{} iterations of polynomial {i}", counts[i]));
            }
            let mul =
                |a: [f64; 2], b: [f64; 2]| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
            close(&radii, 1e-6, 1e-6, |i| {
                let c = values[i];
                let mut roots = [[1.0, 0.0]; 5];
                for k in 1..5 {
                    roots[k] = mul(roots[k - 1], [0.4, 0.9]);
                }
                for _ in 0..80 {
                    for k in 0..5 {
                        let root = roots[k];
                        let mut value = [1.0, 0.0];
                        for c in c.iter().rev() {
                            value = mul(value, root);
                            value[0] += c;
                        }
                        let mut product = [1.0, 0.0];
                        for (j, other) in roots.iter().enumerate() {
                            if j != k {
                                product = mul(product, [root[0] - other[0], root[1] - other[1]]);
                            }
                        }
                        let scale = product[0] * product[0] + product[1] * product[1];
                        if scale == 0.0 {
                            continue;
                        }
                        let step = mul(value, [product[0] / scale, -product[1] / scale]);
                        roots[k] = [root[0] - step[0], root[1] - step[1]];
                    }
                }
                roots.iter().map(|r| r[0].hypot(r[1])).fold(0.0, f64::max)
            })
        }))
}

pub fn unsharp_u16(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(75, 4096), scale.pick(41, 4096));
    let n = width * height;
    let pixels: Vec<u16> = (0..n)
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let base = if (x / 7 + y / 5) % 3 == 0 {
                50000
            } else {
                9000
            };
            base + (random(i as u64) & 0x1fff) as u16
        })
        .collect();
    let (from, to): (_, Buffer<u16>) = (upload(&pixels)?, zeroed(n)?);
    let pointers = Args::new().pointer(&to).pointer(&from);
    let sizes = Args::new()
        .value(width as i32)
        .value(height as i32)
        .value(200);
    Ok(Case::new(
        "unsharp_u16",
        (width.div_ceil(32), height.div_ceil(32)),
        (32, 8),
    )
    .args(
        pointers.clone().and(sizes.clone()),
        pointers.and(sizes),
        Args::new().rows(&to, width).slice(&from).value(200),
    )
    .input(&from)
    .output(&to)
    .bytes(4 * n)
    .check(move || {
        equal(&to, |i| {
            let at = |dx: i64, dy: i64| {
                let x = ((i % width) as i64 + dx).clamp(0, width as i64 - 1) as usize;
                let y = ((i / width) as i64 + dy).clamp(0, height as i64 - 1) as usize;
                i64::from(pixels[y * width + x])
            };
            let weight = |d: i64| [6, 4, 1][d.unsigned_abs() as usize];
            let mut sum = 0;
            for dy in -2..=2 {
                for dx in -2..=2 {
                    sum += weight(dx) * weight(dy) * at(dx, dy);
                }
            }
            let center = at(0, 0);
            (center + ((center - (sum >> 8)) * 200 >> 8)).clamp(0, 65535) as u16
        })
    }))
}

pub fn totient_sum(scale: Scale) -> CudaResult<Case> {
    let limit = scale.pick(5000, 1 << 20);
    let mut totients: Vec<u64> = (0..=limit as u64).collect();
    let mut primes = Vec::new();
    for p in 2..=limit {
        if totients[p] == p as u64 {
            if p < 1500 {
                primes.push(p as u32);
            }
            for k in (p..=limit).step_by(p) {
                totients[k] -= totients[k] / p as u64;
            }
        }
    }
    let (from, to): (_, Buffer<u64>) = (upload(&primes)?, zeroed(1)?);
    let count = primes.len();
    Ok(Case::new("totient_sum", scale.blocks(8), 256)
        .args(
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .value(count as i32)
                .value(limit as u32),
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .value(count as u32)
                .value(limit as u32),
            Args::new().pointer(&to).slice(&from).value(limit),
        )
        .input(&from)
        .output_from(&to, 0)
        .reset()
        .check(move || equal(&to, |_| totients.iter().sum())))
}

pub fn knapsack(scale: Scale) -> CudaResult<Case> {
    use bench_kernels::miscellany::{CAPACITIES, Thing};
    let (n, count) = (scale.pick(3, 1056), scale.pick(20, 100));
    let things: Vec<Thing> = (0..(n * count) as u64)
        .map(|i| Thing {
            weight: 20 + (random(i) % 300) as u32,
            value: 10 + (random(i) >> 32 & 1023) as u32,
        })
        .collect();
    let (from, to): (_, Buffer<u32>) = (upload(&things)?, zeroed(n)?);
    Ok(Case::new("knapsack", n, 256)
        .args(
            Args::new().pointer(&to).pointer(&from).value(count as i32),
            Args::new().pointer(&to).pointer(&from).value(count),
            Args::new().output(&to).slice(&from).value(count),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * n * count)
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(100)) {
                let mut best = vec![0u32; CAPACITIES];
                for thing in &things[i * count..][..count] {
                    for c in (thing.weight as usize..CAPACITIES).rev() {
                        best[c] = best[c].max(best[c - thing.weight as usize] + thing.value);
                    }
                }
                near(i, results[i], f64::from(best[CAPACITIES - 1]), 0.0, 0.0)?;
            }
            Ok(())
        }))
}

pub fn turtle_bounds(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 17);
    let (text, offsets) = words(n, 60, scale.pick(100, 240) as u64, |x| {
        b"FFFFFFF+--+|1359[[]]FF"[x as usize % 22]
    });
    let (from, at, to): (_, _, Buffer<[i32; 4]>) = (upload(&text)?, upload(&offsets)?, zeroed(n)?);
    Ok(Case::new("turtle_bounds", n.div_ceil(128), 128)
        .args(
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&at)
                .value(n as i32),
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&at)
                .value(n),
            Args::new().output(&to).slice(&from).slice(&at),
        )
        .input(&from)
        .input(&at)
        .output(&to)
        .bytes(20 * n + text.len())
        .check(move || {
            equal(&to, |i| {
                let mut now = [0, 0, 0, 1];
                let mut stack = Vec::new();
                let mut bounds = [0; 4];
                for &c in &text[offsets[i] as usize..offsets[i + 1] as usize] {
                    match c {
                        b'F' => {
                            let d = now[2] & 7;
                            let dx = [1, 1, 0, -1, -1, -1, 0, 1];
                            now[0] += now[3] * dx[d as usize];
                            now[1] += now[3] * dx[(d as usize + 6) % 8];
                            for k in 0..2 {
                                bounds[k] = now[k].min(bounds[k]);
                                bounds[k + 2] = now[k].max(bounds[k + 2]);
                            }
                        }
                        b'[' if stack.len() < 8 => stack.push(now),
                        b'[' => {}
                        b']' => now = stack.pop().unwrap_or(now),
                        b'+' => now[2] += 1,
                        b'-' => now[2] -= 1,
                        b'|' => now[2] += 4,
                        _ => now[3] = i32::from(c - b'0'),
                    }
                }
                bounds
            })
        }))
}

pub fn synth_dyn(scale: Scale) -> CudaResult<Case> {
    use bench_kernels::miscellany::Voice;
    let (n, count) = (scale.pick(500, 1 << 20), scale.pick(9, 64));
    let voices: Vec<Voice> = (0..count as u64)
        .map(|i| Voice {
            increment: (random(i) >> 38) as u32,
            start: random(i) as u32,
            gain: uniform(i) as f32,
            waveform: (random(i) >> 20 & 3) as u32,
        })
        .collect();
    let (from, to): (_, Buffer<f32>) = (upload(&voices)?, zeroed(n)?);
    let arguments = Args::new()
        .pointer(&to)
        .pointer(&from)
        .value(count as u32)
        .value(n as u32);
    Ok(Case::new("synth_dyn", n.div_ceil(256), 256)
        .args(
            arguments.clone(),
            arguments,
            Args::new().output(&to).slice(&from),
        )
        .input(&from)
        .output(&to)
        .bytes(4 * n)
        .check(move || {
            close(&to, 1e-4, 1e-3, |i| {
                let value = |voice: &Voice| {
                    let phase = voice
                        .increment
                        .wrapping_mul(i as u32)
                        .wrapping_add(voice.start);
                    let phase = f64::from(phase >> 8) / f64::from(1 << 24);
                    let x = 2.0 * phase - 1.0;
                    let cos = |k: f64| (k * phase * std::f64::consts::TAU).cos() / k.exp2();
                    f64::from(voice.gain)
                        * match voice.waveform {
                            0 => 4.0 * x * (x.abs() - 1.0),
                            1 if (phase as f32) < 0.3 => 1.0,
                            1 => -1.0,
                            2 => x,
                            _ => cos(1.0) + cos(2.0) + cos(3.0) + cos(4.0),
                        }
                };
                voices.iter().map(value).sum()
            })
        }))
}

pub fn mat_exp4(scale: Scale) -> CudaResult<Case> {
    use bench_kernels::miscellany::Matrix;
    let n = scale.pick(300, 1 << 20);
    let values: Vec<Matrix<4, 4>> = (0..n as u64)
        .map(|i| {
            let size = 4.0 * uniform(i | 1 << 50);
            let entry = |k: u64| (size * (uniform(16 * i + k) - 0.5)) as f32;
            Matrix([0, 4, 8, 12].map(|k| [entry(k), entry(k + 1), entry(k + 2), entry(k + 3)]))
        })
        .collect();
    let (from, to): (_, Buffer<Matrix<4, 4>>) = (upload(&values)?, upload(&values)?);
    Ok(Case::new("mat_exp4", n.div_ceil(128), 128)
        .args(
            Args::new().pointer(&to).pointer(&from).value(n as i32),
            Args::new().pointer(&to).pointer(&from).value(n),
            Args::new().output(&to).slice(&from),
        )
        .input(&from)
        .output(&to)
        .bytes(128 * n)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let a = values[i].0.map(|row| row.map(f64::from));
                // The plain series.
                let mut term = [0, 1, 2, 3].map(|i| [0, 1, 2, 3].map(|j| f64::from(i == j)));
                let mut sum = term;
                for k in 1..60 {
                    let mut next = [[0.0; 4]; 4];
                    for (i, row) in next.iter_mut().enumerate() {
                        for (j, x) in row.iter_mut().enumerate() {
                            *x = (0..4).map(|l| term[i][l] * a[l][j]).sum::<f64>() / f64::from(k);
                            sum[i][j] += *x;
                        }
                    }
                    term = next;
                }
                let size = sum
                    .as_flattened()
                    .iter()
                    .fold(0f64, |size, x| size.max(x.abs()));
                for (k, &x) in results[i].0.as_flattened().iter().enumerate() {
                    near(16 * i + k, x, sum.as_flattened()[k], 0.0, 1e-4 * size)?;
                }
            }
            Ok(())
        }))
}

pub fn inversions(scale: Scale) -> CudaResult<Case> {
    use bench_kernels::miscellany::RANKED;
    let n = scale.pick(200, 1 << 17);
    let ranks: Vec<i16> = (0..n * RANKED)
        .map(|i| (10 * (i % RANKED)) as i16 + (random(i as u64) % 1000) as i16 - 500)
        .collect();
    let (from, to): (_, Buffer<u32>) = (upload(&ranks)?, zeroed(n)?);
    Ok(Case::new("inversions", n.div_ceil(128), 128)
        .args(
            Args::new().pointer(&to).pointer(&from).value(n as i32),
            Args::new().pointer(&to).pointer(&from).value(n),
            Args::new().output(&to).slice(&from),
        )
        .input(&from)
        .output(&to)
        .bytes(n * (4 + 2 * RANKED))
        .check(move || {
            equal(&to, |i| {
                let row = &ranks[i * RANKED..][..RANKED];
                let mut count = 0;
                for l in 0..RANKED {
                    count += row[..l].iter().filter(|&&x| x > row[l]).count() as u32;
                }
                count
            })
        }))
}

pub fn dfa_scan(scale: Scale) -> CudaResult<Case> {
    let (n, len) = (scale.pick(3, 1056), scale.pick(5000, 32000));
    let text: Vec<u8> = (0..(n * len) as u64)
        .map(|i| b"abcdefghij 0123,,\"\nxyz"[random(i) as usize % 22])
        .collect();
    let (from, to): (_, Buffer<u32>) = (upload(&text)?, zeroed(n)?);
    Ok(Case::new("dfa_scan", n, 256)
        .args(
            Args::new().pointer(&to).pointer(&from).value(len as i32),
            Args::new().pointer(&to).pointer(&from).value(len),
            Args::new().output(&to).slice(&from).value(len),
        )
        .input(&from)
        .output(&to)
        .bytes(text.len())
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(100)) {
                let (mut quoted, mut start, mut after_quote, mut fields) = (false, true, false, 0);
                for &c in &text[i * len..][..len] {
                    if quoted {
                        (quoted, after_quote) = (c != b'"', c == b'"');
                    } else if c == b',' || c == b'\n' {
                        fields += 1;
                        (start, after_quote) = (true, false);
                    } else {
                        quoted = c == b'"' && (start || after_quote);
                        (start, after_quote) = (false, false);
                    }
                }
                near(i, results[i], f64::from(fields), 0.0, 0.0)?;
            }
            Ok(())
        }))
}

pub fn otsu_tiles(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(192, 8192), scale.pick(128, 8192));
    let n = width / 64 * (height / 64);
    let image: Vec<u8> = (0..width * height)
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let noise = random(i as u64);
            let base = if (x / 11 + y / 23) % 2 == 0 {
                150 + x / 64 % 40
            } else {
                30 + y / 64 % 60
            };
            base as u8 + (noise & 31) as u8 + (noise >> 8 & 31) as u8
        })
        .collect();
    let (from, to): (_, Buffer<u8>) = (upload(&image)?, zeroed(n)?);
    Ok(Case::new("otsu_tiles", n, 256)
        .args(
            Args::new().pointer(&to).pointer(&from).value(width as i32),
            Args::new().pointer(&to).pointer(&from).value(width),
            Args::new().output(&to).slice(&from).value(width),
        )
        .input(&from)
        .output(&to)
        .bytes(width * height)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let corner = i / (width / 64) * 64 * width + i % (width / 64) * 64;
                let mut bins = [0f64; 256];
                for y in 0..64 {
                    image[corner + y * width..][..64]
                        .iter()
                        .for_each(|&p| bins[usize::from(p)] += 1.0);
                }
                let variance = |threshold: usize| {
                    let of = |bins: &[f64], start: usize| {
                        let count: f64 = bins.iter().sum();
                        let sum: f64 = bins
                            .iter()
                            .enumerate()
                            .map(|(k, n)| (start + k) as f64 * n)
                            .sum();
                        (count, sum)
                    };
                    let (dark, dark_sum) = of(&bins[..=threshold], 0);
                    let (bright, bright_sum) = of(&bins[threshold + 1..], threshold + 1);
                    if dark == 0.0 || bright == 0.0 {
                        return 0.0;
                    }
                    dark * bright * (dark_sum / dark - bright_sum / bright).powi(2)
                };
                let best = (0..256).map(variance).fold(0.0, f64::max);
                // Other thresholds may be as good, apart from rounding.
                near(i, variance(usize::from(results[i])), best, 1e-5, 0.0)?;
            }
            Ok(())
        }))
}

pub fn aho_corasick(scale: Scale) -> CudaResult<Case> {
    use bench_kernels::miscellany::{LONGEST_PATTERN, PATTERNS};
    let n = scale.pick(40000, 1 << 26);
    let patterns: [&[u8]; PATTERNS] = [
        b"tea",
        b"ten",
        b"eat",
        b"a",
        b"neat",
        b"tent",
        b"seat",
        b"test",
        b"tests",
        b"attest",
        b"estate",
        b"statesan",
        b"nest",
        b"sane",
        b"in",
        b"an ate",
    ];
    assert!(patterns.iter().all(|p| p.len() <= LONGEST_PATTERN));
    let text: Vec<u8> = (0..n as u64)
        .map(|i| b"aeetttsn etaseniosxnctea"[random(i) as usize % 24])
        .collect();
    // A trie, then the edges to the longest suffix in the trie, in the order of depth.
    let mut edges: Vec<[Option<u16>; 32]> = vec![[None; 32]];
    let mut found = vec![0u32];
    for (number, pattern) in patterns.iter().enumerate() {
        let mut state = 0;
        for &c in *pattern {
            let class = usize::from(c & 31);
            let new = edges.len() as u16;
            let next = *edges[state][class].get_or_insert(new);
            if next == new {
                edges.push([None; 32]);
                found.push(0);
            }
            state = usize::from(next);
        }
        found[state] |= 1 << number;
    }
    let mut next = vec![[0u16; 32]; edges.len()];
    let mut suffix = vec![0usize; edges.len()];
    let mut queue = std::collections::VecDeque::from([0usize]);
    while let Some(state) = queue.pop_front() {
        for class in 0..32 {
            let fallback = if state == 0 {
                0
            } else {
                next[suffix[state]][class]
            };
            next[state][class] = edges[state][class].unwrap_or(fallback);
            if let Some(child) = edges[state][class].map(usize::from) {
                suffix[child] = usize::from(fallback);
                found[child] |= found[suffix[child]];
                queue.push_back(child);
            }
        }
    }
    let next = next.concat();
    let (from, table, sets, to): (_, _, _, Buffer<u32>) = (
        upload(&text)?,
        upload(&next)?,
        upload(&found)?,
        zeroed(PATTERNS)?,
    );
    Ok(Case::new("aho_corasick", scale.blocks(8), 256)
        .args(
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .value(n as i32)
                .pointer(&table)
                .pointer(&sets),
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .value(n)
                .pointer(&table)
                .pointer(&sets),
            Args::new()
                .slice(&to)
                .slice(&from)
                .slice(&table)
                .slice(&sets),
        )
        .input(&from)
        .input(&table)
        .input(&sets)
        .output_from(&to, 0)
        .reset()
        .bytes(n)
        .check(move || {
            // The last eight bytes at each place, compared with each pattern.
            let pack = |bytes: &[u8]| bytes.iter().fold(0u64, |key, &c| key << 8 | u64::from(c));
            let keys = patterns.map(|p| (pack(p), u64::MAX >> (64 - 8 * p.len())));
            let mut counts = [0u32; PATTERNS];
            let mut last = 0;
            for &c in &text {
                last = last << 8 | u64::from(c);
                for (count, (key, mask)) in counts.iter_mut().zip(keys) {
                    *count += u32::from(last & mask == key);
                }
            }
            equal(&to, |i| counts[i])
        }))
}

pub fn pcg64_jump(scale: Scale) -> CudaResult<Case> {
    let (n, seed) = (scale.pick(300, 1 << 20), 0x853c_49e6_748f_ea9bu64);
    let to: Buffer<u64> = zeroed(n)?;
    Ok(Case::new("pcg64_jump", n.div_ceil(256), 256)
        .args(
            Args::new().pointer(&to).value(seed).value(n as i32),
            Args::new().pointer(&to).value(seed).value(n),
            Args::new().output(&to).value(seed),
        )
        .output(&to)
        .bytes(8 * n)
        .check(move || {
            let results = download(&to)?;
            let mut state = u128::from(seed);
            for (i, &result) in results.iter().take(5000).enumerate() {
                let mut minimum = u64::MAX;
                for _ in 0..64 {
                    state = state
                        .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
                        .wrapping_add(0x5851_f42d_4c95_7f2d_1405_7b7e_f767_814f);
                    let folded = (state >> 64) as u64 ^ state as u64;
                    minimum = minimum.min(folded.rotate_right((state >> 122) as u32));
                }
                if result != minimum {
                    return Err(format!("element {i} is {result}, but should be {minimum}"));
                }
            }
            Ok(())
        }))
}

pub fn url_decode(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 20);
    let (mut text, mut offsets) = (Vec::new(), vec![0u32]);
    for i in 0..n as u64 {
        let r = random(i);
        for k in 0..8 + r % 24 {
            let x = random(i << 8 | k);
            match x % 8 {
                0 => text.extend_from_slice(format!("%{:02x}", x >> 56).as_bytes()),
                1 => text.extend([
                    b'%',
                    b"0123456789ABCDEF"[x as usize >> 8 & 15],
                    b'0' + (x >> 16 & 7) as u8,
                ]),
                2 => text.push(b'+'),
                _ => text.push(b'a' + (x >> 32) as u8 % 26),
            }
        }
        match r >> 32 & 15 {
            0 => text.push(b'%'),
            1 => text.extend(b"%g1x"),
            2 => text.extend([b'z'; 20]),
            _ => {}
        }
        offsets.push(text.len() as u32);
    }
    let (from, at, to): (_, _, Buffer<u8>) = (upload(&text)?, upload(&offsets)?, zeroed(32 * n)?);
    Ok(Case::new("url_decode", n.div_ceil(128), 128)
        .args(
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&at)
                .value(n as i32),
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&at)
                .value(n),
            Args::new().output(&to).slice(&from).slice(&at),
        )
        .input(&from)
        .input(&at)
        .output(&to)
        .bytes(36 * n + text.len())
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let encoded = &text[offsets[i] as usize..offsets[i + 1] as usize];
                let mut decoded = Vec::new();
                let mut k = 0;
                while k < encoded.len() {
                    match encoded[k] {
                        b'%' => {
                            let digits = encoded
                                .get(k + 1..k + 3)
                                .and_then(|d| std::str::from_utf8(d).ok());
                            match digits.and_then(|d| u8::from_str_radix(d, 16).ok()) {
                                Some(byte) => decoded.push(byte),
                                None => decoded = vec![0; 100],
                            }
                            k += 3;
                        }
                        byte => {
                            decoded.push(if byte == b'+' { b' ' } else { byte });
                            k += 1;
                        }
                    }
                }
                let field = if decoded.len() > 32 {
                    [b'?'; 32]
                } else {
                    decoded.resize(32, 0);
                    decoded.try_into().unwrap()
                };
                if results[32 * i..][..32] != field {
                    return Err(format!(
                        "field {i} is {:?}, not {field:?}",
                        &results[32 * i..][..32]
                    ));
                }
            }
            Ok(())
        }))
}

pub fn jump_flood3d(scale: Scale) -> CudaResult<Case> {
    let [width, height, depth] = [(45, 256), (19, 256), (5, 128)].map(|(a, b)| scale.pick(a, b));
    let (n, step) = (width * height * depth, scale.pick(2, 4) as i64);
    // Some cells know a place near them.
    let known: Vec<u32> = (0..n)
        .map(|i| {
            let r = random(i as u64);
            if r % 5 == 0 {
                return u32::MAX;
            }
            let size = [width, height, depth];
            let near = |k: usize, at: usize| {
                let d = (r >> (10 * k + 8)) as usize % 16;
                (at + d).saturating_sub(8).min(size[k] - 1) as u32
            };
            near(0, i % width)
                | near(1, i / width % height) << 10
                | near(2, i / (width * height)) << 20
        })
        .collect();
    let (from, to): (_, Buffer<u32>) = (upload(&known)?, zeroed(n)?);
    let sizes = Args::new()
        .value(width as i32)
        .value(height as i32)
        .value(depth as i32)
        .value(step as i32);
    let arguments = Args::new().pointer(&to).pointer(&from).and(sizes);
    Ok(Case::new(
        "jump_flood3d",
        (width.div_ceil(32), height.div_ceil(8), depth),
        (32, 8),
    )
    .args(
        arguments.clone(),
        arguments,
        Args::new()
            .volume(&to, width, height)
            .slice(&from)
            .value(step as i32),
    )
    .input(&from)
    .output(&to)
    .bytes(8 * n)
    .check(move || {
        equal(&to, |i| {
            let place = [i % width, i / width % height, i / (width * height)].map(|x| x as i64);
            let mut best = (i64::MAX, u32::MAX);
            for k in 0..27 {
                let at = [k % 3, k / 3 % 3, k / 9].map(|d| (d - 1) * step);
                let [x, y, z] = [0, 1, 2].map(|k| place[k] + at[k]);
                let inside = |x: i64, n: usize| x >= 0 && x < n as i64;
                if inside(x, width) && inside(y, height) && inside(z, depth) {
                    let seed = known[(z as usize * height + y as usize) * width + x as usize];
                    if seed != u32::MAX {
                        let d = |k: usize| place[k] - i64::from(seed >> (10 * k) & 1023);
                        let distance = d(0).pow(2) + d(1).pow(2) + d(2).pow(2);
                        if distance < best.0 {
                            best = (distance, seed);
                        }
                    }
                }
            }
            best.1
        })
    }))
}

pub fn mesh_normals(scale: Scale) -> CudaResult<Case> {
    let side = scale.pick(19, 1024);
    let n = side * side;
    let positions: Vec<[f32; 3]> = (0..n)
        .map(|i| {
            [
                (i % side) as f32,
                (i / side) as f32,
                2.0 * uniform(i as u64) as f32,
            ]
        })
        .collect();
    let mut faces = Vec::new();
    let mut faces_of = vec![Vec::new(); n];
    for y in 0..side - 1 {
        for x in 0..side - 1 {
            let [a, b, c, d] = [0, 1, side, side + 1].map(|k| (y * side + x + k) as u32);
            let pair = if random(u64::from(a)) % 2 == 0 {
                [[a, b, d], [a, d, c]]
            } else {
                [[a, b, c], [b, d, c]]
            };
            for face in pair {
                face.iter()
                    .for_each(|&v| faces_of[v as usize].push(faces.len() as u32));
                faces.push(face);
            }
        }
    }
    let mut starts = vec![0u32];
    let mut around = Vec::new();
    for list in &faces_of {
        around.extend_from_slice(list);
        starts.push(around.len() as u32);
    }
    let (p, f, s, a) = (
        upload(&positions)?,
        upload(&faces)?,
        upload(&starts)?,
        upload(&around)?,
    );
    let to: Buffer<[f32; 3]> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&to)
        .pointer(&p)
        .pointer(&f)
        .pointer(&s)
        .pointer(&a);
    Ok(Case::new("mesh_normals", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new()
                .output(&to)
                .slice(&p)
                .slice(&f)
                .slice(&s)
                .slice(&a),
        )
        .input(&p)
        .input(&f)
        .input(&s)
        .input(&a)
        .output(&to)
        .bytes(28 * n + 16 * faces.len() + 4 * around.len())
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let mut sum = [0f64; 3];
                for &face in &faces_of[i] {
                    let [a, b, c] =
                        faces[face as usize].map(|v| positions[v as usize].map(f64::from));
                    let [u, v] = [b, c].map(|p| [p[0] - a[0], p[1] - a[1], p[2] - a[2]]);
                    for k in 0..3 {
                        let (l, m) = ((k + 1) % 3, (k + 2) % 3);
                        sum[k] += u[l] * v[m] - u[m] * v[l];
                    }
                }
                let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
                for k in 0..3 {
                    near(3 * i + k, results[i][k], sum[k] / length, 1e-4, 1e-5)?;
                }
            }
            Ok(())
        }))
}

pub fn riccati(scale: Scale) -> CudaResult<Case> {
    use bench_kernels::miscellany::{LinearSystem, Matrix};
    let (n, effort) = (scale.pick(200, 1 << 18), 0.5f32);
    let systems: Vec<LinearSystem> = (0..n as u64)
        .map(|i| {
            let entry = |k: u64| (uniform(16 * i + k) - 0.5) as f32;
            let mut a = [0, 3, 6].map(|k| [1.2 * entry(k), 1.2 * entry(k + 1), 1.2 * entry(k + 2)]);
            (0..3).for_each(|k| a[k][k] += 0.6);
            let b = [9, 11, 13].map(|k| [2.0 * entry(k), 2.0 * entry(k + 1)]);
            LinearSystem {
                a: Matrix(a),
                b: Matrix(b),
            }
        })
        .collect();
    let from = upload(&systems)?;
    let to: Buffer<Matrix<2, 3>> = upload(&vec![Matrix([[0.0; 3]; 2]); n])?;
    Ok(Case::new("riccati", n.div_ceil(128), 128)
        .args(
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .value(effort)
                .value(n as i32),
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .value(effort)
                .value(n),
            Args::new().output(&to).slice(&from).value(effort),
        )
        .input(&from)
        .output(&to)
        .bytes(84 * n)
        .check(move || {
            fn mul<const R: usize, const C: usize, const D: usize>(
                a: [[f64; C]; R],
                b: [[f64; D]; C],
            ) -> [[f64; D]; R] {
                let mut c = [[0.0; D]; R];
                for i in 0..R {
                    for j in 0..D {
                        c[i][j] = (0..C).map(|k| a[i][k] * b[k][j]).sum();
                    }
                }
                c
            }
            let results = download(&to)?;
            for i in samples(n) {
                let a = systems[i].a.0.map(|row| row.map(f64::from));
                let b = systems[i].b.0.map(|row| row.map(f64::from));
                let at = [0, 1, 2].map(|i| [0, 1, 2].map(|j| a[j][i]));
                let bt = [0, 1].map(|i| [0, 1, 2].map(|j| b[j][i]));
                let mut p = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
                let mut gain = [[0.0; 3]; 2];
                for _ in 0..50 {
                    let mut s = mul(mul(bt, p), b);
                    s[0][0] += f64::from(effort);
                    s[1][1] += f64::from(effort);
                    let det = s[0][0] * s[1][1] - s[0][1] * s[1][0];
                    let inverse = [
                        [s[1][1] / det, -s[0][1] / det],
                        [-s[1][0] / det, s[0][0] / det],
                    ];
                    gain = mul(inverse, mul(mul(bt, p), a));
                    let bk = mul(b, gain);
                    let closed = [0, 1, 2].map(|i| [0, 1, 2].map(|j| a[i][j] - bk[i][j]));
                    let mut next = mul(mul(at, p), closed);
                    (0..3).for_each(|k| next[k][k] += 1.0);
                    let norm = |m: [[f64; 3]; 3]| {
                        m.map(|r| r.map(f64::abs).iter().sum())
                            .iter()
                            .fold(0f64, |a, &b| a.max(b))
                    };
                    let change = norm([0, 1, 2].map(|i| [0, 1, 2].map(|j| next[i][j] - p[i][j])));
                    p = next;
                    if change < 1e-4 * norm(p) {
                        break;
                    }
                }
                for k in 0..6 {
                    near(
                        6 * i + k,
                        results[i].0[k / 3][k % 3],
                        gain[k / 3][k % 3],
                        5e-3,
                        5e-3,
                    )?;
                }
            }
            Ok(())
        }))
}

pub fn ring_convolve(scale: Scale) -> CudaResult<Case> {
    let (n, taps) = (scale.pick(300, 1 << 18), scale.pick(24, 96));
    // Multiples of 2^-8 from 1 to 2, as fp16.
    let fraction = |i: usize| random(i as u64) as u16 & 255;
    let samples: Vec<u16> = (0..n * taps).map(|i| 15 << 10 | fraction(i) << 2).collect();
    let starts: Vec<u16> = (0..n as u64)
        .map(|i| (random(i ^ 1 << 41) % taps as u64) as u16)
        .collect();
    let filter: Vec<f32> = uniform_f32(taps, 2).iter().map(|x| x - 0.4).collect();
    let (from, at, with, to): (_, _, _, Buffer<f32>) = (
        upload(&samples)?,
        upload(&starts)?,
        upload(&filter)?,
        zeroed(n)?,
    );
    let arguments = Args::new()
        .pointer(&to)
        .pointer(&from)
        .pointer(&at)
        .pointer(&with)
        .value(taps as u32)
        .value(n as u32);
    Ok(Case::new("ring_convolve", n.div_ceil(128), 128)
        .args(
            arguments.clone(),
            arguments,
            Args::new().output(&to).slice(&from).slice(&at).slice(&with),
        )
        .input(&from)
        .input(&at)
        .input(&with)
        .output(&to)
        .bytes(n * (6 + 2 * taps))
        .check(move || {
            close(&to, 1e-4, 1e-4, |i| {
                let sample = |k: usize| {
                    let place = (usize::from(starts[i]) + k) % taps;
                    1.0 + f64::from(fraction(i * taps + place)) / 256.0
                };
                (0..taps).map(|k| sample(k) * f64::from(filter[k])).sum()
            })
        }))
}

pub fn line_starts(scale: Scale) -> CudaResult<Case> {
    use bench_kernels::miscellany::LINES;
    let (n, len) = (scale.pick(3, 1056), scale.pick(5000, 24000));
    let text: Vec<u8> = (0..(n * len) as u64)
        .map(|i| {
            let r = random(i);
            // Some documents have more lines than fit.
            if r % (20 + (i / len as u64) % 17) == 0 {
                b'\n'
            } else {
                b' ' + (r >> 32) as u8 % 90
            }
        })
        .collect();
    let from = upload(&text)?;
    let (counts, starts): (Buffer<u32>, Buffer<u32>) = (zeroed(n)?, zeroed(n * LINES)?);
    let pointers = Args::new().pointer(&counts).pointer(&starts).pointer(&from);
    Ok(Case::new("line_starts", n, 256)
        .args(
            pointers.clone().value(len as i32),
            pointers.value(len),
            Args::new()
                .output(&counts)
                .slice(&starts)
                .slice(&from)
                .value(len),
        )
        .input(&from)
        .output(&counts)
        .output_from(&starts, 0xa5)
        .bytes(text.len())
        .check(move || {
            let (counts, starts) = (download(&counts)?, download(&starts)?);
            for i in (0..n).step_by(n.div_ceil(200)) {
                let document = &text[i * len..][..len];
                let expected: Vec<u32> = (1..)
                    .zip(document)
                    .filter(|&(_, &c)| c == b'\n')
                    .map(|(k, _)| k)
                    .collect();
                near(i, counts[i], expected.len() as f64, 0.0, 0.0)?;
                let stored = expected.len().min(LINES);
                if starts[i * LINES..][..stored] != expected[..stored] {
                    return Err(format!("the lines of document {i} differ"));
                }
            }
            Ok(())
        }))
}

pub fn pair_counts(scale: Scale) -> CudaResult<Case> {
    use bench_kernels::miscellany::DISTANCES;
    let (n, range) = (scale.pick(600, 16384), 0.25f32);
    // Multiples of 2^-10, so that squares are exact.
    let values = [1, 2, 3].map(|seed| {
        (0..n as u64)
            .map(|i| (random(i ^ seed << 40) % 1024) as f32 / 1024.0)
            .collect::<Vec<f32>>()
    });
    let [x, y, z] = [
        upload(&values[0])?,
        upload(&values[1])?,
        upload(&values[2])?,
    ];
    let expected = std::cell::OnceCell::new();
    let to: Buffer<u32> = zeroed(DISTANCES)?;
    let pointers = Args::new().pointer(&to).pointer(&x).pointer(&y).pointer(&z);
    Ok(Case::new("pair_counts", scale.blocks(8), 256)
        .args(
            pointers.clone().value(n as i32).value(range),
            pointers.value(n as u32).value(range),
            Args::new()
                .slice(&to)
                .slice(&x)
                .slice(&y)
                .slice(&z)
                .value(range),
        )
        .input(&x)
        .input(&y)
        .input(&z)
        .output_from(&to, 0)
        .reset()
        .check(move || {
            let bins = expected.get_or_init(|| {
                let mut bins = [0u32; DISTANCES];
                let limit = range * range;
                for i in 0..n {
                    for k in 0..i {
                        let mut square = 0.0;
                        for axis in &values {
                            let d = (axis[i] - axis[k]).abs();
                            let d = d.min(1.0 - d);
                            square += d * d;
                        }
                        if square < limit {
                            bins[(square.sqrt() * (DISTANCES as f32 / range)) as usize] += 2;
                        }
                    }
                }
                bins
            });
            equal(&to, |i| bins[i])
        }))
}

pub fn sinkhorn(scale: Scale) -> CudaResult<Case> {
    let (n, iterations, sharpness) = (scale.pick(3, 2112), scale.pick(4, 30), 8f32);
    let costs: Vec<[[f32; 32]; 32]> = (0..n as u64)
        .map(|i| {
            let place = |k: u64| uniform(i << 8 | k) as f32;
            std::array::from_fn(|y| {
                std::array::from_fn(|x| (place(y as u64) - place(64 + x as u64)).abs())
            })
        })
        .collect();
    let (from, to): (_, Buffer<f32>) = (upload(&costs)?, zeroed(n)?);
    let arguments = Args::new()
        .pointer(&to)
        .pointer(&from)
        .value(sharpness)
        .value(iterations as u32);
    Ok(Case::new("sinkhorn", n, (32, 8))
        .args(
            arguments.clone(),
            arguments,
            Args::new()
                .output(&to)
                .slice(&from)
                .value(sharpness)
                .value(iterations as u32),
        )
        .input(&from)
        .output(&to)
        .bytes(4 * 1024 * n)
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(200)) {
                let cost = costs[i].map(|row| row.map(f64::from));
                let kernel = cost.map(|row| row.map(|c| (-f64::from(sharpness) * c).exp()));
                let (mut u, mut v) = ([0.0; 32], [1.0; 32]);
                for _ in 0..iterations {
                    for k in 0..32 {
                        u[k] = 1.0 / (32.0 * (0..32).map(|j| kernel[k][j] * v[j]).sum::<f64>());
                    }
                    for k in 0..32 {
                        v[k] = 1.0 / (32.0 * (0..32).map(|j| kernel[j][k] * u[j]).sum::<f64>());
                    }
                }
                let mut total = 0.0;
                for y in 0..32 {
                    for x in 0..32 {
                        total += u[y] * kernel[y][x] * v[x] * cost[y][x];
                    }
                }
                near(i, results[i], total, 1e-3, 1e-5)?;
            }
            Ok(())
        }))
}

pub fn simplex_project(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3, 4224);
    let values: Vec<f64> = (0..1024 * n as u64)
        .map(|i| uniform(i).powi(8) * uniform(i / 1024 | 1 << 50))
        .collect();
    let (from, to): (_, Buffer<f64>) = (upload(&values)?, zeroed(1024 * n)?);
    let arguments = Args::new().pointer(&to).pointer(&from);
    Ok(Case::new("simplex_project", n, 256)
        .args(
            arguments.clone(),
            arguments,
            Args::new().output(&to).slice(&from),
        )
        .input(&from)
        .output(&to)
        .bytes(16 * 1024 * n)
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(100)) {
                let vector = &values[1024 * i..][..1024];
                let mut sorted = vector.to_vec();
                sorted.sort_by(|a, b| b.total_cmp(a));
                let (mut sum, mut level) = (0.0, 0.0);
                for (k, x) in sorted.iter().enumerate() {
                    sum += x;
                    let next = (sum - 1.0) / (k + 1) as f64;
                    if x - next <= 0.0 {
                        break;
                    }
                    level = next;
                }
                for k in 0..1024 {
                    near(
                        1024 * i + k,
                        results[1024 * i + k],
                        (vector[k] - level).max(0.0),
                        0.0,
                        1e-8,
                    )?;
                }
            }
            Ok(())
        }))
}

pub fn legendre_sum(scale: Scale) -> CudaResult<Case> {
    let (n, degree) = (scale.pick(300, 1 << 19), scale.pick(7, 20));
    let points: Vec<[f64; 2]> = (0..n as u64)
        .map(|i| [2.0 * uniform(2 * i) - 1.0, 6.28 * uniform(2 * i + 1)])
        .collect();
    let (mut recurrence, mut weights) = (Vec::new(), Vec::new());
    for m in 0..=degree {
        for l in m..=degree {
            // From degrees l - 1 and l to l + 1, as multiples of the sectoral function.
            let next = (l + 1 - m) as f64;
            recurrence.push([(2 * l + 1) as f64 / next, (l + m) as f64 / next]);
            let k = weights.len() as u64;
            let size = 0.5f64.powi(l as i32);
            weights.push([
                size * (uniform(2 * k) - 0.5),
                size * (uniform(2 * k + 1) - 0.5),
            ]);
        }
    }
    let (from, r, w, to): (_, _, _, Buffer<f64>) = (
        upload(&points)?,
        upload(&recurrence)?,
        upload(&weights)?,
        zeroed(n)?,
    );
    let arguments = Args::new()
        .pointer(&to)
        .pointer(&from)
        .pointer(&r)
        .pointer(&w)
        .value(degree as u32)
        .value(n as u32);
    Ok(Case::new("legendre_sum", n.div_ceil(128), 128)
        .args(
            arguments.clone(),
            arguments,
            Args::new()
                .output(&to)
                .slice(&from)
                .slice(&r)
                .slice(&w)
                .value(degree),
        )
        .input(&from)
        .input(&r)
        .input(&w)
        .output(&to)
        .bytes(24 * n)
        .check(move || {
            close(&to, 1e-9, 1e-9, |i| {
                let [x, longitude] = points[i];
                let mut sum = 0.0;
                let mut place = 0;
                for m in 0..=degree {
                    let sectoral = (1.0 - x * x).sqrt().powi(m as i32);
                    let mut values = vec![0.0, sectoral];
                    for _ in m..=degree {
                        let [a, b] = recurrence[place];
                        let [cosine, sine] = weights[place];
                        let [before, last] = values[values.len() - 2..] else {
                            unreachable!()
                        };
                        let (s, c) = (m as f64 * longitude).sin_cos();
                        sum += last * (cosine * c + sine * s);
                        values.push(a * x * last - b * before);
                        place += 1;
                    }
                }
                sum
            })
        }))
}

pub fn path_budget(scale: Scale) -> CudaResult<Case> {
    use bench_kernels::miscellany::PATH;
    let n = scale.pick(300, 1 << 18);
    let points: Vec<[i16; 2]> = (0..(n * PATH) as u64)
        .map(|i| {
            let along = (i % PATH as u64) as i16 * 20;
            [
                along + (random(i) & 63) as i16,
                along / 2 - (random(i) >> 32 & 127) as i16,
            ]
        })
        .collect();
    let budgets: Vec<f32> = (0..n as u64)
        .map(|i| 6500.0 * uniform(i ^ 1 << 44) as f32)
        .collect();
    let (from, with, to): (_, _, Buffer<u32>) = (upload(&points)?, upload(&budgets)?, zeroed(n)?);
    Ok(Case::new("path_budget", n.div_ceil(128), 128)
        .args(
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&with)
                .value(n as i32),
            Args::new()
                .pointer(&to)
                .pointer(&from)
                .pointer(&with)
                .value(n),
            Args::new().output(&to).slice(&from).slice(&with),
        )
        .input(&from)
        .input(&with)
        .output(&to)
        .bytes(n * (8 + 4 * PATH))
        .check(move || {
            equal(&to, |i| {
                let path = &points[i * PATH..][..PATH];
                let mut lengths: Vec<f32> = (1..PATH)
                    .map(|k| {
                        let [dx, dy] =
                            [0, 1].map(|a| i32::from(path[k][a]) - i32::from(path[k - 1][a]));
                        ((dx * dx + dy * dy) as f32).sqrt()
                    })
                    .collect();
                lengths.extend(lengths.clone().iter().rev());
                let mut sum = 0.0;
                let mut count = 0;
                for length in lengths {
                    sum += length;
                    if sum > budgets[i] {
                        break;
                    }
                    count += 1;
                }
                count
            })
        }))
}

pub fn palindrome(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let (text, offsets) = words(n, 20, 90, |x| b"aab"[x as usize / 16 % 3]);
    let (from, at) = (upload(&text)?, upload(&offsets)?);
    let (starts, lengths): (Buffer<u16>, Buffer<u16>) = (zeroed(n)?, zeroed(n)?);
    let pointers = Args::new()
        .pointer(&starts)
        .pointer(&lengths)
        .pointer(&from)
        .pointer(&at);
    Ok(Case::new("palindrome", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new()
                .output(&starts)
                .output(&lengths)
                .slice(&from)
                .slice(&at),
        )
        .input(&from)
        .input(&at)
        .output(&starts)
        .output(&lengths)
        .bytes(8 * n + text.len())
        .check(move || {
            let expected = |i: usize| {
                let text = &text[offsets[i] as usize..offsets[i + 1] as usize];
                for len in (1..=text.len()).rev() {
                    let same = |part: &[u8]| part.iter().eq(part.iter().rev());
                    if let Some(start) = text.windows(len).position(same) {
                        return [start as u16, len as u16];
                    }
                }
                [0, 0]
            };
            equal(&starts, |i| expected(i)[0])?;
            equal(&lengths, |i| expected(i)[1])
        }))
}

pub fn fov_lights(scale: Scale) -> CudaResult<Case> {
    let (width, height, count) = (scale.pick(45, 1024), scale.pick(37, 512), scale.pick(5, 8));
    let n = width * height;
    let lights: Vec<[i32; 2]> = (0..count as u64)
        .map(|i| {
            [
                random(i) as usize % width,
                random(i + 100) as usize % height,
            ]
            .map(|x| x as i32)
        })
        .collect();
    let mut map: Vec<u8> = (0..n as u64)
        .map(|i| u8::from(random(i) % 120 == 0))
        .collect();
    lights
        .iter()
        .for_each(|&[x, y]| map[y as usize * width + x as usize] = 0);
    let (from, with, to): (_, _, Buffer<u8>) = (upload(&map)?, upload(&lights)?, zeroed(n)?);
    let arguments = Args::new()
        .pointer(&to)
        .pointer(&from)
        .pointer(&with)
        .value(count as i32)
        .value(width as i32)
        .value(height as i32);
    Ok(Case::new(
        "fov_lights",
        (width.div_ceil(32), height.div_ceil(8)),
        (32, 8),
    )
    .args(
        arguments.clone(),
        arguments,
        Args::new().rows(&to, width).slice(&from).slice(&with),
    )
    .input(&from)
    .input(&with)
    .output(&to)
    .bytes(2 * n)
    .check(move || {
        equal(&to, |i| {
            let to = [i % width, i / width].map(|x| x as i64);
            let mut visible = 0;
            for light in &lights {
                let mut at = light.map(i64::from);
                let d = [0, 1].map(|k| (to[k] - at[k]).abs());
                let s = [0, 1].map(|k| (to[k] - at[k]).signum());
                let mut error = d[0] - d[1];
                while at != to && map[at[1] as usize * width + at[0] as usize] == 0 {
                    let twice = 2 * error;
                    if twice >= -d[1] {
                        error -= d[1];
                        at[0] += s[0];
                    }
                    if twice <= d[0] {
                        error += d[0];
                        at[1] += s[1];
                    }
                }
                visible += u8::from(at == to);
            }
            visible
        })
    }))
}

pub fn nussinov(scale: Scale) -> CudaResult<Case> {
    use bench_kernels::miscellany::BASES;
    let n = scale.pick(2, 2112);
    let sequences: Vec<[u8; BASES]> = (0..n as u64)
        .map(|i| std::array::from_fn(|k| (random(i << 8 | k as u64) >> 30 & 3) as u8))
        .collect();
    let (from, to): (_, Buffer<u32>) = (upload(&sequences)?, zeroed(n)?);
    let arguments = Args::new().pointer(&to).pointer(&from);
    Ok(Case::new("nussinov", n, 64)
        .args(
            arguments.clone(),
            arguments,
            Args::new().output(&to).slice(&from),
        )
        .input(&from)
        .output(&to)
        .bytes(68 * n)
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(100)) {
                // From each start, the last base alone or in a pair.
                let sequence = &sequences[i];
                let pairs = |a: u8, b: u8| matches!((a.min(b), a.max(b)), (0, 3) | (1, 2) | (2, 3));
                let mut table = vec![[0; BASES + 1]; BASES + 2];
                for start in (0..BASES).rev() {
                    for end in start + 1..=BASES {
                        let last = end - 1;
                        let mut best = table[start][last];
                        for k in start..last.saturating_sub(3) {
                            if pairs(sequence[k], sequence[last]) {
                                best = best.max(table[start][k] + table[k + 1][last] + 1);
                            }
                        }
                        table[start][end] = best;
                    }
                }
                near(i, results[i], f64::from(table[0][BASES]), 0.0, 0.0)?;
            }
            Ok(())
        }))
}

pub fn rule_automaton(scale: Scale) -> CudaResult<Case> {
    let (n, steps, rule) = (scale.pick(2, 1056), scale.pick(40, 300), 110u32);
    let words: Vec<u32> = (0..256 * n as u64).map(|i| random(i) as u32).collect();
    let (from, to): (_, Buffer<u32>) = (upload(&words)?, zeroed(256 * n)?);
    let values = Args::new().value(rule).value(steps as u32);
    let arguments = Args::new().pointer(&to).pointer(&from).and(values.clone());
    Ok(Case::new("rule_automaton", n, 256)
        .args(
            arguments.clone(),
            arguments,
            Args::new().output(&to).slice(&from).and(values),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * words.len())
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(10)) {
                let bit = |words: &[u32], k: usize| words[k / 32] >> (k % 32) & 1;
                let mut cells: Vec<u32> = (0..8192).map(|k| bit(&words[256 * i..], k)).collect();
                for _ in 0..steps {
                    cells = (0..8192)
                        .map(|k| {
                            let pattern = cells[(k + 8191) % 8192] << 2
                                | cells[k] << 1
                                | cells[(k + 1) % 8192];
                            rule >> pattern & 1
                        })
                        .collect();
                }
                if let Some(k) = (0..8192).find(|&k| bit(&results[256 * i..], k) != cells[k]) {
                    return Err(format!("cell {k} of ring {i} should be {}", cells[k]));
                }
            }
            Ok(())
        }))
}

pub fn power_iteration(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(2, 4224);
    let matrices: Vec<f32> = (0..64 * 64 * n)
        .map(|i| {
            let (matrix, y, x) = (i / 4096, i / 64 % 64, i % 64);
            let place = (matrix << 12 | x.min(y) << 6 | x.max(y)) as u64;
            let shift = 0.3 * uniform(matrix as u64 | 1 << 50);
            (uniform(place) - shift) as f32
        })
        .collect();
    let (from, to): (_, Buffer<f32>) = (upload(&matrices)?, zeroed(n)?);
    let arguments = Args::new().pointer(&to).pointer(&from);
    Ok(Case::new("power_iteration", n, 64)
        .args(
            arguments.clone(),
            arguments,
            Args::new().output(&to).slice(&from),
        )
        .input(&from)
        .output(&to)
        .bytes(4 * matrices.len())
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(200)) {
                let matrix = &matrices[4096 * i..][..4096];
                let mut vector = vec![1.0f64; 64];
                let mut eigenvalue = 0.0;
                for _ in 0..200 {
                    let product: Vec<f64> = matrix
                        .chunks_exact(64)
                        .map(|row| {
                            row.iter()
                                .zip(&vector)
                                .map(|(&a, x)| f64::from(a) * x)
                                .sum()
                        })
                        .collect();
                    eigenvalue = product.iter().map(|x| x * x).sum::<f64>().sqrt();
                    vector = product.iter().map(|x| x / eigenvalue).collect();
                }
                near(i, results[i], eigenvalue, 1e-3, 0.0)?;
            }
            Ok(())
        }))
}

pub fn stable_match(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(5, 1 << 14);
    // Random permutations.
    let permutations = |seed: u64| -> Vec<[u8; 32]> {
        (0..32 * n as u64)
            .map(|i| {
                let mut list: [u8; 32] = std::array::from_fn(|k| k as u8);
                for k in (1..32).rev() {
                    list.swap(k, random(seed << 40 | i << 5 | k as u64) as usize % (k + 1));
                }
                list
            })
            .collect()
    };
    let (lists, ranks) = (permutations(1), permutations(2));
    let (from, with, to): (_, _, Buffer<u8>) = (upload(&lists)?, upload(&ranks)?, zeroed(32 * n)?);
    let pointers = Args::new().pointer(&to).pointer(&from).pointer(&with);
    Ok(Case::new("stable_match", n.div_ceil(4), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().output(&to).slice(&from).slice(&with),
        )
        .input(&from)
        .input(&with)
        .output(&to)
        .bytes(65 * 32 * n)
        .check(move || {
            let results = download(&to)?;
            for i in (0..n).step_by(n.div_ceil(500)) {
                let (lists, ranks) = (&lists[32 * i..][..32], &ranks[32 * i..][..32]);
                let mut next = [0; 32];
                let mut taken: [Option<usize>; 32] = [None; 32];
                let mut free: Vec<usize> = (0..32).collect();
                while let Some(applicant) = free.pop() {
                    let school = usize::from(lists[applicant][next[applicant]]);
                    next[applicant] += 1;
                    match taken[school] {
                        Some(other) if ranks[school][other] < ranks[school][applicant] => {
                            free.push(applicant)
                        }
                        other => {
                            free.extend(other);
                            taken[school] = Some(applicant);
                        }
                    }
                }
                for k in 0..32 {
                    near(
                        32 * i + k,
                        results[32 * i + k],
                        taken[k].unwrap() as f64,
                        0.0,
                        0.0,
                    )?;
                }
            }
            Ok(())
        }))
}
