//! More kernels in many styles.

// The cases are as their author wrote them.
#![allow(clippy::manual_is_multiple_of, clippy::needless_range_loop)]

use super::Scale;
use crate::case::{
    Args, Buffer, Case, Number, close, download, equal, near, random, same, samples, uniform,
    uniform_f32, uniform_f64, upload, zeroed,
};
use bench_kernels::variety;
use cust::error::CudaResult;
use cust::memory::DeviceCopy;

/// More arguments.
trait Parts {
    /// Adds a `PerThread` of structures or arrays, of which the buffer has `n`.
    fn parts<T: DeviceCopy>(self, buffer: &Buffer<T>, n: usize) -> Args;
}

impl Parts for Args {
    fn parts<T: DeviceCopy>(self, buffer: &Buffer<T>, n: usize) -> Args {
        self.and(Args::new().value(Output(buffer.as_device_ptr().as_raw(), n as u64)))
    }
}

/// The address and the length of a `PerThread`, which are one parameter.
struct Output(u64, u64);

impl Number for Output {
    fn bytes(self) -> Vec<u8> {
        [self.0.to_ne_bytes(), self.1.to_ne_bytes()].concat()
    }
}

pub fn fuzzy_score(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 20);
    let alphabet = b"aabcdeeefgiilmnooprrsstt_/-.BCMRST";
    let mut text = Vec::new();
    let mut offsets = vec![0u32];
    for i in 0..n as u64 {
        let len = 8 + random(i) % 40;
        for k in 0..len {
            let r = random((i << 8) + k + 77);
            text.push(alphabet[r as usize % alphabet.len()]);
        }
        offsets.push(text.len() as u32);
    }
    let pattern = b"sRcmo".to_vec();
    let (p, t, o) = (upload(&pattern)?, upload(&text)?, upload(&offsets)?);
    let to = zeroed::<i32>(n)?;
    let tail = || Args::new().pointer(&t).pointer(&o).pointer(&to);
    let case = Case::new("fuzzy_score", n.div_ceil(128), 128)
        .args(
            Args::new()
                .pointer(&p)
                .value(pattern.len() as i32)
                .and(tail())
                .value(n as i32),
            Args::new()
                .pointer(&p)
                .value(pattern.len())
                .and(tail())
                .value(n),
            Args::new().slice(&p).slice(&t).slice(&o).output(&to),
        )
        .input(&p)
        .input(&t)
        .input(&o)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let mut wanted = pattern.iter().peekable();
                let candidate = &text[offsets[i] as usize..offsets[i + 1] as usize];
                let (mut score, mut run, mut previous) = (0, 0, b'/');
                for (k, &c) in candidate.iter().enumerate() {
                    let Some(&&w) = wanted.peek() else {
                        return score - (candidate.len() - k) as i32 / 4;
                    };
                    if w.eq_ignore_ascii_case(&c) {
                        run += 1;
                        score += 16 + 4 * run + if b"/_-. ".contains(&previous) { 10 } else { 0 };
                        wanted.next();
                    } else {
                        score -= 1;
                        run = 0;
                    }
                    previous = c;
                }
                if wanted.peek().is_some() {
                    -1000
                } else {
                    score
                }
            })
        });
    Ok(case)
}

pub fn thin_film(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 20);
    let layers = 16;
    let indices: Vec<f32> = (0..layers)
        .map(|l| {
            if l % 2 == 0 {
                2.3
            } else {
                1.38 + 0.01 * l as f32
            }
        })
        .collect();
    let thicknesses: Vec<f32> = indices.iter().map(|n| 550.0 / 4.0 / n * 1.05).collect();
    let wavelengths: Vec<f32> = (0..n)
        .map(|i| 380.0 + 400.0 * i as f32 / n as f32)
        .collect();
    let (a, b, w) = (
        upload(&indices)?,
        upload(&thicknesses)?,
        upload(&wavelengths)?,
    );
    let to = zeroed::<f32>(n)?;
    let substrate = 1.52f32;
    let case = Case::new("thin_film", n.div_ceil(256), 256)
        .args(
            Args::new()
                .pointer(&a)
                .pointer(&b)
                .value(layers)
                .pointer(&w)
                .value(substrate)
                .pointer(&to)
                .value(n as i32),
            Args::new()
                .pointer(&a)
                .pointer(&b)
                .value(layers as usize)
                .pointer(&w)
                .value(substrate)
                .pointer(&to)
                .value(n),
            Args::new()
                .slice(&a)
                .slice(&b)
                .slice(&w)
                .value(substrate)
                .output(&to),
        )
        .input(&a)
        .input(&b)
        .input(&w)
        .output(&to)
        .check(move || {
            close(&to, 1e-3, 1e-5, |i| {
                let mut m = [[(1.0f64, 0.0f64), (0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0)]];
                let mul =
                    |a: (f64, f64), b: (f64, f64)| (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0);
                let add = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
                for (n, d) in indices.iter().zip(&thicknesses) {
                    let (n, d) = (f64::from(*n), f64::from(*d));
                    let (s, c) =
                        (std::f64::consts::TAU * n * d / f64::from(wavelengths[i])).sin_cos();
                    let t = [[(c, 0.0), (0.0, s / n)], [(0.0, s * n), (c, 0.0)]];
                    let mut p = [[(0.0, 0.0); 2]; 2];
                    for r in 0..2 {
                        for k in 0..2 {
                            p[r][k] = add(mul(m[r][0], t[0][k]), mul(m[r][1], t[1][k]));
                        }
                    }
                    m = p;
                }
                let s = (f64::from(substrate), 0.0);
                let (f, c) = (add(m[0][0], mul(m[0][1], s)), add(m[1][0], mul(m[1][1], s)));
                let norm = |a: f64, b: f64| a * a + b * b;
                norm(f.0 - c.0, f.1 - c.1) / norm(f.0 + c.0, f.1 + c.1)
            })
        });
    Ok(case)
}

pub fn queue_waits(scale: Scale) -> CudaResult<Case> {
    let (rows, width) = (scale.pick(3, 2048), scale.pick(700, 4096));
    let loads: Vec<f32> = uniform_f32(rows * width, 3)
        .iter()
        .map(|x| x - 0.52)
        .collect();
    let from = upload(&loads)?;
    let to = zeroed::<f32>(rows * width)?;
    let both = || Args::new().pointer(&from).pointer(&to);
    let case = Case::new("queue_waits", rows, 256)
        .args(
            both().value(width as i32),
            both().value(width),
            Args::new().slice(&from).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for (row, results) in loads.chunks(width).zip(results.chunks(width)) {
                let mut wait = 0.0;
                for (i, (x, result)) in row.iter().zip(results).enumerate() {
                    wait = f64::max(0.0, wait + f64::from(*x));
                    near(i, *result, wait, 1e-4, 1e-3)?;
                }
            }
            Ok(())
        });
    Ok(case)
}

pub fn quadrupole(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3000, 1 << 23);
    let blocks = scale.blocks(8);
    let axes: Vec<Vec<f32>> = (0..4).map(|k| uniform_f32(n, 10 + k)).collect();
    let [x, y, z, m] = [
        upload(&axes[0])?,
        upload(&axes[1])?,
        upload(&axes[2])?,
        upload(&axes[3])?,
    ];
    let to = zeroed::<[f32; 10]>(blocks)?;
    let four = || Args::new().pointer(&x).pointer(&y).pointer(&z).pointer(&m);
    let case = Case::new("quadrupole", blocks, 256)
        .args(
            four().value(n as i32).pointer(&to),
            four().value(n).pointer(&to),
            Args::new()
                .slice(&x)
                .slice(&y)
                .slice(&z)
                .slice(&m)
                .output(&to),
        )
        .input(&x)
        .input(&y)
        .input(&z)
        .input(&m)
        .output(&to)
        .check(move || {
            let mut expected = [0.0f64; 10];
            for i in 0..n {
                let [x, y, z, m] = [0, 1, 2, 3].map(|k| f64::from(axes[k][i]));
                let terms = [1.0, x, y, z, x * x, y * y, z * z, x * y, x * z, y * z];
                for (sum, term) in expected.iter_mut().zip(terms) {
                    *sum += m * term;
                }
            }
            let results = download(&to)?;
            for k in 0..10 {
                let sum: f64 = results.iter().map(|block| f64::from(block[k])).sum();
                near(k, sum, expected[k], 1e-5, 0.0)?;
            }
            Ok(())
        });
    Ok(case)
}

pub fn iban_check(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 21);
    let mut records = vec![b' '; n * variety::IBAN];
    for (i, record) in records.chunks_mut(variety::IBAN).enumerate() {
        let i = i as u64;
        let len = 15 + (random(i) % 18) as usize;
        for (k, c) in record[..len].iter_mut().enumerate() {
            let r = random((i << 8) + k as u64 + 1);
            *c = match k {
                0 | 1 => b'A' + (r % 26) as u8,
                2..8 => b'0' + (r % 10) as u8,
                _ if r % 1000 == 7 => b'?',
                _ if r % 10 < 2 => b'A' + (r % 26) as u8,
                _ => b'0' + ((r >> 8) % 10) as u8,
            };
        }
        // Half of them are valid.
        if random(i + 99) % 2 == 0 {
            record[2..4].copy_from_slice(b"00");
            if let Some(remainder) = variety::iban_remainder(record) {
                let check = 98 - remainder as u8;
                record[2] = b'0' + check / 10;
                record[3] = b'0' + check % 10;
            }
        }
    }
    let from = upload(&records)?;
    let to = zeroed::<u8>(n)?;
    let both = || Args::new().pointer(&from).pointer(&to);
    let case = Case::new("iban_check", n.div_ceil(256), 256)
        .args(
            both().value(n as i32),
            both().value(n),
            Args::new().pointer(&from).value(n).output(&to),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let record = &records[i * variety::IBAN..][..variety::IBAN];
                let text = std::str::from_utf8(record).unwrap().trim_end();
                let rotated = text[4..].chars().chain(text[..4].chars());
                let digits: Option<String> = rotated
                    .map(|c| {
                        c.to_digit(36)
                            .filter(|_| !c.is_lowercase())
                            .map(|d| d.to_string())
                    })
                    .collect();
                match digits {
                    None => 0,
                    Some(digits) => {
                        let rest = digits
                            .bytes()
                            .fold(0u128, |rest, d| (rest * 10 + u128::from(d - 48)) % 97);
                        if rest == 1 { 2 } else { 1 }
                    }
                }
            })
        });
    Ok(case)
}

pub fn fixed_pendulum(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 19);
    let steps = scale.pick(5, 64) as i32;
    let fixed = |x: f64| (x * (1u64 << 32) as f64) as i64;
    let angles: Vec<i64> = (0..n as u64)
        .map(|i| fixed(2.4 * uniform(i) - 1.2))
        .collect();
    let gravities: Vec<i64> = (0..n as u64)
        .map(|i| fixed(1.0 + 9.0 * uniform(i + 3333)))
        .collect();
    let dt = fixed(0.02);
    let (a, g) = (upload(&angles)?, upload(&gravities)?);
    let to = zeroed::<i64>(n)?;
    let head = || {
        Args::new()
            .pointer(&a)
            .pointer(&g)
            .value(dt as u64)
            .value(steps)
            .pointer(&to)
    };
    let case = Case::new("fixed_pendulum", n.div_ceil(256), 256)
        .args(
            head().value(n as i32),
            head().value(n),
            Args::new()
                .slice(&a)
                .slice(&g)
                .value(dt as u64)
                .value(steps)
                .output(&to),
        )
        .input(&a)
        .input(&g)
        .output(&to)
        .check(move || {
            let mul = |a: i64, b: i64| ((i128::from(a) * i128::from(b)) >> 32) as i64;
            equal(&to, |i| {
                let (mut angle, mut speed) = (angles[i], 0);
                let one = 1i64 << 32;
                for _ in 0..steps {
                    let square = mul(angle, angle);
                    let sum = [one / 120, -one / 6, one]
                        .iter()
                        .fold(-one / 5040, |s, f| mul(s, square) + f);
                    speed -= mul(mul(gravities[i], mul(angle, sum)), dt);
                    angle += mul(speed, dt);
                }
                angle
            })
        });
    Ok(case)
}

pub fn levinson(scale: Scale) -> CudaResult<Case> {
    const P: usize = variety::ORDER;
    let n = scale.pick(700, 1 << 19);
    let mut correlations = vec![0.0f64; n * (P + 1)];
    for (i, r) in correlations.chunks_mut(P + 1).enumerate() {
        let i = i as u64;
        let (w, v) = (3.0 * uniform(3 * i), 3.0 * uniform(3 * i + 1));
        let weight = uniform(3 * i + 2);
        // Few frames are silent.
        let energy = if random(i) % 50 == 0 {
            0.0
        } else {
            1.0 + weight
        };
        for (k, r) in r.iter_mut().enumerate() {
            let k = k as f64;
            let noise = if k == 0.0 { 0.05 } else { 0.0 };
            *r = energy * (weight * (w * k).cos() + (1.0 - weight) * (v * k).cos() + noise);
        }
    }
    let from = upload(&correlations)?;
    let to = zeroed::<f64>(n * P)?;
    let both = || Args::new().pointer(&from).pointer(&to);
    let case = Case::new("levinson", n.div_ceil(128), 128)
        .args(
            both().value(n as i32),
            both().value(n),
            Args::new().pointer(&from).value(n).parts(&to, n),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                // The coefficients solve the normal equations.
                let r = &correlations[i * (P + 1)..][..P + 1];
                let a = &results[i * P..][..P];
                for row in 0..P {
                    let sum: f64 = (0..P).map(|k| a[k] * r[row.abs_diff(k)]).sum();
                    near(i * P + row, sum, -r[row + 1], 1e-6, 1e-7)?;
                }
                if r[0] == 0.0 {
                    for a in a {
                        same(i, *a, 0.0)?;
                    }
                }
            }
            Ok(())
        });
    Ok(case)
}

pub fn vincenty(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 19);
    let pairs = |range: f64, seed: u64| -> Vec<f64> {
        uniform_f64(2 * n, seed)
            .iter()
            .map(|x| range * (x - 0.5))
            .collect()
    };
    let latitudes = pairs(2.6, 5);
    let mut longitudes = pairs(2.0, 6);
    let mut latitudes = latitudes;
    for i in (0..n).step_by(97) {
        // The same place twice.
        latitudes[2 * i + 1] = latitudes[2 * i];
        longitudes[2 * i + 1] = longitudes[2 * i];
    }
    let (a, b) = (upload(&latitudes)?, upload(&longitudes)?);
    let to = zeroed::<f64>(n)?;
    let three = || Args::new().pointer(&a).pointer(&b).pointer(&to);
    let case = Case::new("vincenty", n.div_ceil(128), 128)
        .args(
            three().value(n as i32),
            three().value(n),
            Args::new()
                .pointer(&a)
                .value(n)
                .pointer(&b)
                .value(n)
                .output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            close(&to, 1e-9, 1e-3, |i| {
                let (equatorial, f) = (6378137.0, 1.0 / 298.257223563);
                let polar = equatorial * (1.0 - f);
                let u1 = f64::atan((1.0 - f) * latitudes[2 * i].tan());
                let u2 = f64::atan((1.0 - f) * latitudes[2 * i + 1].tan());
                let l = longitudes[2 * i + 1] - longitudes[2 * i];
                let mut lambda = l;
                let (mut s, mut ss, mut cs, mut c2a, mut c2m) = (0.0, 0.0, 0.0, 0.0, 0.0);
                for _ in 0..60 {
                    let x = u2.cos() * lambda.sin();
                    let y = u1.cos() * u2.sin() - u1.sin() * u2.cos() * lambda.cos();
                    ss = f64::sqrt(x * x + y * y);
                    if ss == 0.0 {
                        return 0.0;
                    }
                    cs = u1.sin() * u2.sin() + u1.cos() * u2.cos() * lambda.cos();
                    s = f64::atan2(ss, cs);
                    let sa = u1.cos() * u2.cos() * lambda.sin() / ss;
                    c2a = 1.0 - sa * sa;
                    c2m = if c2a == 0.0 {
                        0.0
                    } else {
                        cs - 2.0 * u1.sin() * u2.sin() / c2a
                    };
                    let c = f / 16.0 * c2a * (4.0 + f * (4.0 - 3.0 * c2a));
                    lambda = l
                        + (1.0 - c)
                            * f
                            * sa
                            * (s + c * ss * (c2m + c * cs * (2.0 * c2m * c2m - 1.0)));
                }
                let u = c2a * (equatorial * equatorial - polar * polar) / (polar * polar);
                let a = 1.0 + u / 16384.0 * (4096.0 + u * (-768.0 + u * (320.0 - 175.0 * u)));
                let b = u / 1024.0 * (256.0 + u * (-128.0 + u * (74.0 - 47.0 * u)));
                let d = b
                    * ss
                    * (c2m
                        + b / 4.0
                            * (cs * (2.0 * c2m * c2m - 1.0)
                                - b / 6.0 * c2m * (4.0 * ss * ss - 3.0) * (4.0 * c2m * c2m - 3.0)));
                polar * a * (s - d)
            })
        });
    Ok(case)
}

pub fn polar_rotation(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 20);
    let mut values: Vec<f32> = uniform_f32(9 * n, 8);
    for (i, m) in values.chunks_mut(9).enumerate() {
        let amount = 0.2 + 1.2 * uniform(i as u64) as f32;
        for (k, x) in m.iter_mut().enumerate() {
            *x = amount * (*x - 0.5) + if k % 4 == 0 { 1.0 } else { 0.0 };
        }
        if random(i as u64) % 64 == 0 {
            m.fill(0.0);
        }
    }
    let from = upload(&values)?;
    let to = zeroed::<f32>(9 * n)?;
    let both = || Args::new().pointer(&from).pointer(&to);
    let case = Case::new("polar_rotation", n.div_ceil(256), 256)
        .args(
            both().value(n as i32),
            both().value(n),
            Args::new().pointer(&from).value(n).parts(&to, n),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let mut x: Vec<f64> = values[9 * i..][..9].iter().map(|x| f64::from(*x)).collect();
                let mut worst: f64 = 0.0;
                for _ in 0..25 {
                    let c: Vec<f64> = (0..9)
                        .map(|k| {
                            let (r, c) = (k / 3, k % 3);
                            let at = |dr: usize, dc: usize| x[(r + dr) % 3 * 3 + (c + dc) % 3];
                            at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)
                        })
                        .collect();
                    let d = x[0] * c[0] + x[1] * c[1] + x[2] * c[2];
                    if d == 0.0 {
                        x.fill(0.0);
                        break;
                    }
                    worst = worst.max(1.0 / d.abs());
                    x.iter_mut()
                        .zip(&c)
                        .for_each(|(x, c)| *x = 0.5 * (*x + c / d));
                }
                for k in 0..9 {
                    // Nearly singular deformations have no stable rotation.
                    near(
                        9 * i + k,
                        results[9 * i + k],
                        x[k],
                        1e-3,
                        1e-3 + 1e-5 * worst,
                    )?;
                }
            }
            Ok(())
        });
    Ok(case)
}

pub fn dyn_quantile(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 18);
    let strata = scale.pick(7, 64) as i32;
    let kinds: Vec<u8> = (0..n as u64).map(|i| (random(i + 5) % 4) as u8).collect();
    let parameters: Vec<f32> = uniform_f32(2 * n, 4)
        .iter()
        .map(|x| 0.5 + 2.0 * x)
        .collect();
    let (k, p) = (upload(&kinds)?, upload(&parameters)?);
    let to = zeroed::<f32>(n)?;
    let head = || {
        Args::new()
            .pointer(&k)
            .pointer(&p)
            .value(strata)
            .pointer(&to)
    };
    let case = Case::new("dyn_quantile", n.div_ceil(256), 256)
        .args(
            head().value(n as i32),
            head().value(n),
            Args::new()
                .slice(&k)
                .pointer(&p)
                .value(n)
                .value(strata)
                .output(&to),
        )
        .input(&k)
        .input(&p)
        .output(&to)
        .check(move || {
            close(&to, 1e-3, 1e-4, |i| {
                let [a, b] = [
                    f64::from(parameters[2 * i]),
                    f64::from(parameters[2 * i + 1]),
                ];
                let sum: f64 = (0..strata)
                    .map(|k| {
                        let p = (f64::from(k) + 0.5) / f64::from(strata);
                        match kinds[i] {
                            0 => -(1.0 - p).ln() / a,
                            1 => a + b * (p / (1.0 - p)).ln(),
                            2 => b * (-(1.0 - p).ln()).powf(1.0 / a),
                            _ => {
                                let t = (-2.0 * p.min(1.0 - p).ln()).sqrt();
                                let z = t
                                    - (2.515517 + 0.802853 * t + 0.010328 * t * t)
                                        / (1.0
                                            + 1.432788 * t
                                            + 0.189269 * t * t
                                            + 0.001308 * t * t * t);
                                a + b * if p < 0.5 { -z } else { z }
                            }
                        }
                    })
                    .sum();
                sum / f64::from(strata)
            })
        });
    Ok(case)
}

pub fn blend_layers(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(45, 2560), scale.pick(21, 1440));
    let n = width * height;
    let blends = [0u8, 3, 1, 7, 4, 2, 5, 3];
    let opacities = [255u8, 120, 200, 255, 40, 90, 230, 180];
    let layers: Vec<u32> = (0..(n * blends.len()) as u64)
        .map(|i| random(i) as u32)
        .collect();
    let (l, b, o) = (upload(&layers)?, upload(&blends)?, upload(&opacities)?);
    let to = zeroed::<u32>(n)?;
    let three = || Args::new().pointer(&l).pointer(&b).pointer(&o);
    let case = Case::new(
        "blend_layers",
        (width.div_ceil(32), height.div_ceil(8)),
        (32, 8),
    )
    .args(
        three()
            .value(blends.len() as i32)
            .pointer(&to)
            .value(width as i32)
            .value(height as i32),
        three()
            .value(blends.len())
            .pointer(&to)
            .value(width)
            .value(height),
        Args::new().slice(&l).slice(&b).slice(&o).rows(&to, width),
    )
    .input(&l)
    .input(&b)
    .input(&o)
    .output(&to)
    .check(move || {
        equal(&to, |i| {
            let mul = |a: i32, b: i32| (a * b + 127) / 255;
            let mut pixel = [255i32; 4];
            for (layer, (blend, opacity)) in blends.iter().zip(opacities).enumerate() {
                let above = layers[layer * n + i].to_le_bytes().map(i32::from);
                let alpha = mul(above[3], i32::from(opacity));
                for c in 0..3 {
                    let (x, y) = (pixel[c], above[c]);
                    let mixed = match blend {
                        0 => y,
                        1 => mul(x, y),
                        2 => 255 - mul(255 - x, 255 - y),
                        3 if x < 128 => mul(2 * x, y),
                        3 => 255 - mul(2 * (255 - x), 255 - y),
                        4 => (x - y).abs(),
                        5 => x.max(y),
                        _ => continue,
                    };
                    pixel[c] = (mul(x, 255 - alpha) + mul(mixed, alpha)).min(255);
                }
            }
            u32::from_le_bytes(pixel.map(|x| x as u8))
        })
    });
    Ok(case)
}

pub fn local_peaks3d(scale: Scale) -> CudaResult<Case> {
    let [nx, ny, nz] = if scale.small {
        [19, 11, 7]
    } else {
        [256, 256, 256]
    };
    let n = nx * ny * nz;
    let place = move |i: usize| [i % nx, i / nx % ny, i / nx / ny];
    let wave = |x: usize, f: f64| (x as f64 * f).sin();
    let waves: [Vec<f64>; 3] = [0.71, 0.57, 0.83].map(|f| (0..256).map(|x| wave(x, f)).collect());
    let volume: Vec<f32> = (0..n)
        .map(|i| {
            let [x, y, z] = place(i);
            (waves[0][x] + waves[1][y] + waves[2][z] + 0.6 * uniform(i as u64)) as f32
        })
        .collect();
    let from = upload(&volume)?;
    let to = zeroed::<u8>(n)?;
    let unsafe_args = || {
        Args::new()
            .pointer(&from)
            .value(1.0f32)
            .pointer(&to)
            .value(nx as i32)
            .value(ny as i32)
            .value(nz as i32)
    };
    let grid = (nx.div_ceil(8), ny.div_ceil(8), nz.div_ceil(4));
    let case = Case::new("local_peaks3d", grid, (8, 8, 4))
        .args(
            unsafe_args(),
            unsafe_args(),
            Args::new().slice(&from).value(1.0f32).volume(&to, nx, ny),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let [x, y, z] = place(i);
                let mut peak = volume[i] > 1.0;
                for z in z.saturating_sub(1)..(z + 2).min(nz) {
                    for y in y.saturating_sub(1)..(y + 2).min(ny) {
                        for x in x.saturating_sub(1)..(x + 2).min(nx) {
                            let k = (z * ny + y) * nx + x;
                            peak &= k == i || volume[k] < volume[i];
                        }
                    }
                }
                u8::from(peak)
            })
        });
    Ok(case)
}

pub fn allen_cahn3d(scale: Scale) -> CudaResult<Case> {
    let [nx, ny, nz] = if scale.small {
        [37, 11, 5]
    } else {
        [256, 256, 96]
    };
    let n = nx * ny * nz;
    let phase: Vec<f32> = uniform_f32(n, 9).iter().map(|x| 2.0 * x - 1.0).collect();
    let from = upload(&phase)?;
    let to = zeroed::<f32>(n)?;
    let (dt, width) = (0.1f32, 0.7f32);
    let head = || {
        Args::new()
            .pointer(&from)
            .value(dt)
            .value(width)
            .pointer(&to)
    };
    let unsafe_args = || head().value(nx as i32).value(ny as i32).value(nz as i32);
    let case = Case::new("allen_cahn3d", (nx.div_ceil(32), ny.div_ceil(8)), (32, 8))
        .args(
            unsafe_args(),
            unsafe_args(),
            Args::new()
                .slice(&from)
                .value(dt)
                .value(width)
                .volume(&to, nx, ny),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            close(&to, 1e-5, 1e-5, |i| {
                let (x, y, z) = (i % nx, i / nx % ny, i / nx / ny);
                let mut sum = 0.0;
                for k in 0..27 {
                    let d = [k % 3, k / 3 % 3, k / 9];
                    let weight = match d.iter().filter(|d| **d != 1).count() {
                        0 => -4.0,
                        1 => 1.0 / 3.0,
                        2 => 1.0 / 6.0,
                        _ => 0.0,
                    };
                    let x = (x + d[0] + nx - 1) % nx;
                    let y = (y + d[1] + ny - 1) % ny;
                    let z = (z + d[2] + nz - 1) % nz;
                    sum += weight * f64::from(phase[(z * ny + y) * nx + x]);
                }
                let u = f64::from(phase[i]);
                u + f64::from(dt) * (f64::from(width) * sum + u - u * u * u)
            })
        });
    Ok(case)
}

pub fn image_charges(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 17);
    let count = scale.pick(9, 64);
    let (cell, cutoff) = (4.0f32, 5.0f32);
    let mut charges: Vec<f32> = uniform_f32(4 * count, 21)
        .iter()
        .map(|x| cell * x)
        .collect();
    for (k, c) in charges.chunks_mut(4).enumerate() {
        c[3] = if k % 2 == 0 { 1.0 } else { -0.8 };
    }
    let points: Vec<f32> = uniform_f32(3 * n, 22).iter().map(|x| cell * x).collect();
    let (c, p) = (upload(&charges)?, upload(&points)?);
    let to = zeroed::<f32>(n)?;
    let tail = || Args::new().value(cell).value(cutoff).pointer(&p);
    let case = Case::new("image_charges", n.div_ceil(128), 128)
        .args(
            Args::new()
                .pointer(&c)
                .value(count as i32)
                .and(tail())
                .pointer(&to)
                .value(n as i32),
            Args::new()
                .pointer(&c)
                .value(count)
                .and(tail())
                .pointer(&to)
                .value(n),
            Args::new()
                .pointer(&c)
                .value(count)
                .and(tail())
                .value(n)
                .output(&to),
        )
        .input(&c)
        .input(&p)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n).step_by(4) {
                let (mut sum, mut size) = (0.0, 0.0);
                for shift in 0..27 {
                    for c in charges.chunks(4) {
                        let d: f64 = (0..3)
                            .map(|k| {
                                let s = f64::from(shift / [1, 3, 9][k] % 3 - 1) * f64::from(cell);
                                (f64::from(c[k]) + s - f64::from(points[3 * i + k])).powi(2)
                            })
                            .sum();
                        if d < f64::from(cutoff * cutoff) {
                            sum += f64::from(c[3])
                                * (1.0 / (d + 1e-4).sqrt() - 1.0 / f64::from(cutoff));
                            size += 1.0 / (d + 1e-4).sqrt();
                        }
                    }
                }
                near(i, results[i], sum, 0.0, 1e-4 * size)?;
            }
            Ok(())
        });
    Ok(case)
}

pub fn kummer(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 19);
    let a: Vec<f64> = uniform_f64(n, 31).iter().map(|x| 0.2 + 3.0 * x).collect();
    let b: Vec<f64> = uniform_f64(n, 32).iter().map(|x| 0.5 + 4.0 * x).collect();
    let x: Vec<f64> = uniform_f64(n, 33).iter().map(|x| 8.0 * x - 2.0).collect();
    let (da, db, dx) = (upload(&a)?, upload(&b)?, upload(&x)?);
    let to = zeroed::<f64>(n)?;
    let four = || {
        Args::new()
            .pointer(&da)
            .pointer(&db)
            .pointer(&dx)
            .pointer(&to)
    };
    let case = Case::new("kummer", n.div_ceil(128), 128)
        .args(
            four().value(n as i32),
            four().value(n),
            Args::new().slice(&da).slice(&db).slice(&dx).output(&to),
        )
        .input(&da)
        .input(&db)
        .input(&dx)
        .output(&to)
        .check(move || {
            close(&to, 1e-11, 1e-12, |i| {
                let mut sum = 0.0;
                let mut term = 1.0f64;
                let mut k = 0.0;
                while term.abs() > 1e-15 && k < 1000.0 {
                    sum += term;
                    term *= (a[i] + k) * x[i] / ((b[i] + k) * (k + 1.0));
                    k += 1.0;
                }
                sum
            })
        });
    Ok(case)
}

pub fn ordinal_patterns(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 17);
    let len = scale.pick(37, 256);
    let samples: Vec<u16> = (0..n * len)
        .map(|k| {
            let (i, t) = (k / len, k % len);
            let wave = 20 * (t % (5 + i % 23));
            1000 + (wave + random(k as u64) as usize % (2 + i % 200)) as u16
        })
        .collect();
    let from = upload(&samples)?;
    let to = zeroed::<f32>(n)?;
    let case = Case::new("ordinal_patterns", n.div_ceil(128), 128)
        .args(
            Args::new()
                .pointer(&from)
                .value(len as i32)
                .pointer(&to)
                .value(n as i32),
            Args::new().pointer(&from).value(len).pointer(&to).value(n),
            Args::new().slice(&from).value(len).output(&to),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            close(&to, 1e-4, 1e-5, |i| {
                let mut counts = std::collections::BTreeMap::new();
                for w in samples[i * len..][..len].windows(4) {
                    let mut order = [0, 1, 2, 3];
                    order.sort_by_key(|k| w[*k]);
                    *counts.entry(order).or_insert(0.0) += 1.0f64;
                }
                counts
                    .values()
                    .map(|c| c / (len - 3) as f64)
                    .map(|p| -p * p.ln())
                    .sum()
            })
        });
    Ok(case)
}

pub fn interval_overlap(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 17);
    let persons = scale.pick(50, 1 << 16);
    let (mut starts, mut ends, mut offsets) = (Vec::new(), Vec::new(), vec![0u32]);
    for p in 0..persons as u64 {
        let mut time = 1_700_000_000_000i64 + (random(p) % 100_000) as i64;
        for k in 0..4 + random(p + 7) % 28 {
            let r = random((p << 8) + k);
            time += (r % 50_000) as i64;
            starts.push(time);
            time += 1 + (r >> 32) as i64 % 40_000;
            ends.push(time);
        }
        offsets.push(starts.len() as u32);
    }
    let pairs: Vec<u32> = (0..2 * n as u64)
        .map(|i| (random(i + 5) % persons as u64) as u32)
        .collect();
    let (s, e, o, p) = (
        upload(&starts)?,
        upload(&ends)?,
        upload(&offsets)?,
        upload(&pairs)?,
    );
    let to = zeroed::<i64>(n)?;
    let five = || {
        Args::new()
            .pointer(&s)
            .pointer(&e)
            .pointer(&o)
            .pointer(&p)
            .pointer(&to)
    };
    let case = Case::new("interval_overlap", n.div_ceil(128), 128)
        .args(
            five().value(n as i32),
            five().value(n),
            Args::new()
                .slice(&s)
                .slice(&e)
                .slice(&o)
                .pointer(&p)
                .value(n)
                .output(&to),
        )
        .input(&s)
        .input(&e)
        .input(&o)
        .input(&p)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let list = |k: usize| {
                    let p = pairs[2 * i + k] as usize;
                    let range = offsets[p] as usize..offsets[p + 1] as usize;
                    range.map(|k| (starts[k], ends[k])).collect::<Vec<_>>()
                };
                let (a, b) = (list(0), list(1));
                let all = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
                all.map(|(a, b)| (a.1.min(b.1) - a.0.max(b.0)).max(0)).sum()
            })
        });
    Ok(case)
}

pub fn aliquot(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1500, 600_000);
    let first = 1u32;
    let to = zeroed::<u32>(n)?;
    let unsafe_args = || Args::new().value(first).pointer(&to).value(n as i32);
    let case = Case::new("aliquot", scale.blocks(8), 256)
        .args(
            unsafe_args(),
            unsafe_args(),
            Args::new().value(first).output(&to),
        )
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let n = first + i as u32;
                let small = (1..=n.isqrt()).filter(|d| n % d == 0);
                small
                    .map(|d| if d * d == n { d } else { d + n / d })
                    .sum::<u32>()
                    - n
            })
        });
    Ok(case)
}

pub fn sessionize(scale: Scale) -> CudaResult<Case> {
    let (rows, width) = (scale.pick(3, 4096), scale.pick(700, 3000));
    let mut times = Vec::with_capacity(rows * width);
    for row in 0..rows as u64 {
        let mut time = 1_700_000_000_000i64 + row as i64;
        for k in 0..width as u64 {
            let r = random((row << 20) + k);
            time += (r % 60_000) as i64 * if (r >> 32) % 12 == 0 { 100 } else { 1 };
            times.push(time);
        }
    }
    let limit = 1_800_000u64;
    let from = upload(&times)?;
    let to = zeroed::<u32>(rows * width)?;
    let head = || Args::new().pointer(&from).value(limit).pointer(&to);
    let case = Case::new("sessionize", rows, 256)
        .args(
            head().value(width as i32),
            head().value(width),
            Args::new().slice(&from).value(limit).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for (times, results) in times.chunks(width).zip(results.chunks(width)) {
                let mut session = 0;
                for i in 0..width {
                    session += u32::from(i > 0 && times[i] > times[i - 1] + limit as i64);
                    same(i, results[i], session)?;
                }
            }
            Ok(())
        });
    Ok(case)
}

pub fn ransac_line(scale: Scale) -> CudaResult<Case> {
    const SET: usize = variety::SET;
    let sets = scale.pick(3, 4096);
    let mut points = uniform_f32(2 * SET * sets, 41);
    for (set, points) in points.chunks_mut(2 * SET).enumerate() {
        let (slope, height) = (
            uniform(set as u64) - 0.5,
            0.3 + 0.4 * uniform(set as u64 + 999),
        );
        let share = 3 + set % 5;
        for (k, p) in points.chunks_mut(2).enumerate() {
            if k % 10 < share {
                p[1] = (height + slope * (f64::from(p[0]) - 0.5)) as f32 + 0.02 * (p[1] - 0.5);
            }
        }
    }
    let tolerance = 0.01f32;
    let from = upload(&points)?;
    let to = zeroed::<f32>(4 * sets)?;
    let head = || Args::new().pointer(&from).value(tolerance).pointer(&to);
    let case = Case::new("ransac_line", sets, 256)
        .args(
            head(),
            head(),
            Args::new()
                .pointer(&from)
                .value(SET * sets)
                .value(tolerance)
                .parts(&to, sets),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for set in (0..sets).step_by(sets.div_ceil(40)) {
                let points: Vec<[f64; 2]> = points[2 * SET * set..][..2 * SET]
                    .chunks(2)
                    .map(|p| [f64::from(p[0]), f64::from(p[1])])
                    .collect();
                let count = |a: f64, b: f64, c: f64| {
                    points
                        .iter()
                        .filter(|p| (a * p[0] + b * p[1] + c).abs() < f64::from(tolerance))
                        .count() as f64
                };
                let pick = |draw: u32| {
                    let mut x =
                        (set as u32).wrapping_mul(0x9e37_79b9) ^ draw.wrapping_mul(0x85eb_ca6b);
                    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
                    points[(x ^ (x >> 15)) as usize % SET]
                };
                let best = (0..256)
                    .map(|t| {
                        let (p, q) = (pick(2 * t), pick(2 * t + 1));
                        let (dx, dy) = (q[0] - p[0], q[1] - p[1]);
                        let length = dx.hypot(dy);
                        if length < 1e-6 {
                            return 0.0;
                        }
                        count(-dy / length, dx / length, (dy * p[0] - dx * p[1]) / length)
                    })
                    .fold(0.0, f64::max);
                let result: Vec<f64> = results[4 * set..][..4]
                    .iter()
                    .map(|x| f64::from(*x))
                    .collect();
                near(set, result[3], best, 0.0, 2.0)?;
                near(
                    set,
                    result[3],
                    count(result[0], result[1], result[2]),
                    0.0,
                    2.0,
                )?;
                near(set, result[0].hypot(result[1]), 1.0, 1e-5, 0.0)?;
            }
            Ok(())
        });
    Ok(case)
}

pub fn hausdorff(scale: Scale) -> CudaResult<Case> {
    let pairs = scale.pick(3, 2048);
    let (from_len, to_len) = (scale.pick(200, 256), scale.pick(300, 1000));
    let from_points = uniform_f32(3 * pairs * from_len, 51);
    let mut to_points = uniform_f32(3 * pairs * to_len, 52);
    for (k, x) in to_points.iter_mut().enumerate() {
        *x *= 0.5 + 0.5 * ((k / (3 * to_len)) % 7) as f32 / 6.0;
    }
    let (a, b) = (upload(&from_points)?, upload(&to_points)?);
    let to = zeroed::<f32>(pairs)?;
    let case = Case::new("hausdorff", pairs, 256)
        .args(
            Args::new()
                .pointer(&a)
                .value(from_len as i32)
                .pointer(&b)
                .value(to_len as i32)
                .pointer(&to),
            Args::new()
                .pointer(&a)
                .value(from_len)
                .pointer(&b)
                .value(to_len)
                .pointer(&to),
            Args::new()
                .pointer(&a)
                .value(pairs * from_len)
                .value(from_len)
                .pointer(&b)
                .value(pairs * to_len)
                .value(to_len)
                .output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for pair in (0..pairs).step_by(pairs.div_ceil(40)) {
                let set = |all: &[f32], len: usize| -> Vec<[f64; 3]> {
                    let own = &all[3 * pair * len..][..3 * len];
                    own.chunks(3)
                        .map(|p| [0, 1, 2].map(|k| f64::from(p[k])))
                        .collect()
                };
                let other = set(&to_points, to_len);
                let distance =
                    |p: &[f64; 3], q: &[f64; 3]| (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>();
                let farthest = set(&from_points, from_len)
                    .iter()
                    .map(|p| {
                        other
                            .iter()
                            .map(|q| distance(p, q))
                            .fold(f64::INFINITY, f64::min)
                    })
                    .fold(0.0, f64::max);
                near(pair, results[pair], farthest.sqrt(), 1e-5, 0.0)?;
            }
            Ok(())
        });
    Ok(case)
}

pub fn ssim_blocks(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(72, 4096), scale.pick(40, 8192));
    let n = width * height / 64;
    let first: Vec<u8> = (0..width * height)
        .map(|i| ((i % width) / 3 + (i / width) * 2 + random(i as u64) as usize % 40) as u8)
        .collect();
    let second: Vec<u8> = first
        .iter()
        .enumerate()
        .map(|(i, x)| {
            let noise = 1 + i / 64 % 90;
            x.saturating_add((random(i as u64 + 12345) % noise as u64) as u8)
        })
        .collect();
    let (a, b) = (upload(&first)?, upload(&second)?);
    let to = zeroed::<f32>(n)?;
    let case = Case::new("ssim_blocks", n.div_ceil(16), 256)
        .args(
            Args::new()
                .pointer(&a)
                .pointer(&b)
                .value(width as i32)
                .pointer(&to)
                .value(n as i32),
            Args::new()
                .pointer(&a)
                .pointer(&b)
                .value(width)
                .pointer(&to)
                .value(n),
            Args::new()
                .pointer(&a)
                .value(width * height / 4)
                .pointer(&b)
                .value(width * height / 4)
                .value(width)
                .output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            close(&to, 1e-3, 1e-4, |i| {
                let (x, y) = (i % (width / 8) * 8, i / (width / 8) * 8);
                let at = |image: &[u8]| -> Vec<f64> {
                    (0..64)
                        .map(|k| f64::from(image[(y + k / 8) * width + x + k % 8]))
                        .collect()
                };
                let (p, q) = (at(&first), at(&second));
                let mean =
                    |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>() / 64.0;
                let one = [1.0; 64];
                let (a, b) = (mean(&p, &one), mean(&q, &one));
                let variances = mean(&p, &p) - a * a + mean(&q, &q) - b * b;
                let covariance = mean(&p, &q) - a * b;
                (2.0 * a * b + 6.5025) * (2.0 * covariance + 58.5225)
                    / ((a * a + b * b + 6.5025) * (variances + 58.5225))
            })
        });
    Ok(case)
}

pub fn benford(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(3000, 1 << 23);
    let numbers: Vec<u64> = (0..n as u64)
        .map(|i| random(i) >> (random(i + 77) % 60))
        .collect();
    let from = upload(&numbers)?;
    let to = zeroed::<u32>(10)?;
    let case = Case::new("benford", scale.blocks(8), 256)
        .args(
            Args::new().pointer(&from).value(n as i32).pointer(&to),
            Args::new().pointer(&from).value(n).pointer(&to),
            Args::new().slice(&from).slice(&to),
        )
        .input(&from)
        .output_from(&to, 0)
        .reset()
        .check(move || {
            let mut counts = [0u32; 10];
            for &number in &numbers {
                let digits = number.checked_ilog10().unwrap_or(0);
                counts[(number / 10u64.pow(digits)) as usize] += 1;
            }
            equal(&to, |i| counts[i])
        });
    Ok(case)
}

pub fn nl_means(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(37, 1920), scale.pick(21, 1080));
    let pixels: Vec<u8> = (0..width * height)
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let shape = if (x / 13 + y / 9) % 2 == 0 { 70 } else { 150 };
            (shape + x % 32 + (random(i as u64) % 41) as usize) as u8
        })
        .collect();
    let from = upload(&pixels)?;
    let to = zeroed::<u8>(width * height)?;
    let strength = 0.0003f32;
    let unsafe_args = || {
        Args::new()
            .pointer(&from)
            .value(strength)
            .pointer(&to)
            .value(width as i32)
            .value(height as i32)
    };
    let case = Case::new(
        "nl_means",
        (width.div_ceil(16), height.div_ceil(16)),
        (16, 16),
    )
    .args(
        unsafe_args(),
        unsafe_args(),
        Args::new().slice(&from).value(strength).rows(&to, width),
    )
    .input(&from)
    .output(&to)
    .check(move || {
        close(&to, 0.0, 1.0, |i| {
            let (x, y) = ((i % width) as i32, (i / width) as i32);
            let at = |x: i32, y: i32| {
                let (x, y) = (x.clamp(0, width as i32 - 1), y.clamp(0, height as i32 - 1));
                f64::from(pixels[y as usize * width + x as usize])
            };
            let (mut sum, mut weights) = (0.0, 0.0);
            for dy in -2..=2 {
                for dx in -2..=2 {
                    let difference: f64 = (0..9)
                        .map(|k| (k % 3 - 1, k / 3 - 1))
                        .map(|(px, py)| (at(x + px, y + py) - at(x + dx + px, y + dy + py)).powi(2))
                        .sum();
                    let weight = (-f64::from(strength) * difference).exp();
                    weights += weight;
                    sum += weight * at(x + dx, y + dy);
                }
            }
            (sum / weights).round()
        })
    });
    Ok(case)
}

pub fn rank_transform(scale: Scale) -> CudaResult<Case> {
    const GROUP: usize = variety::GROUP;
    let n = scale.pick(1300, 2048 * GROUP - 100);
    let keys: Vec<f32> = (0..n as u64)
        .map(|i| (random(i) % (100 + i / 512 % 5000)) as f32 / 16.0)
        .collect();
    let from = upload(&keys)?;
    let to = zeroed::<f32>(n)?;
    let both = || Args::new().pointer(&from).pointer(&to);
    let case = Case::new("rank_transform", n.div_ceil(GROUP), 256)
        .args(
            both().value(n as i32),
            both().value(n),
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let start = i / GROUP * GROUP;
                let group = &keys[start..(start + GROUP).min(n)];
                let less = group.iter().filter(|x| **x < keys[i]).count();
                let equal = group.iter().filter(|x| **x == keys[i]).count();
                less as f64 + (equal as f64 + 1.0) / 2.0
            })
        });
    Ok(case)
}

pub fn simhash(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(21, 1 << 15);
    let (mut words, mut offsets) = (Vec::new(), vec![0u32]);
    for document in 0..n as u64 {
        let len = 20 + random(document) % 250;
        let theme = random(document + 5) % 1000;
        words.extend((0..len).map(|k| {
            let r = random((document << 10) + k);
            (if r % 3 == 0 {
                r >> 40
            } else {
                theme + (r >> 20) % 300
            }) as u32
        }));
        offsets.push(words.len() as u32);
    }
    let (w, o) = (upload(&words)?, upload(&offsets)?);
    let to = zeroed::<u64>(n)?;
    let three = || Args::new().pointer(&w).pointer(&o).pointer(&to);
    let case = Case::new("simhash", n.div_ceil(8), 256)
        .args(
            three().value(n as i32),
            three().value(n),
            Args::new().slice(&w).slice(&o).output(&to),
        )
        .input(&w)
        .input(&o)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let document = &words[offsets[i] as usize..offsets[i + 1] as usize];
                (0..64)
                    .filter(|bit| {
                        let ones = document
                            .iter()
                            .filter(|w| random(u64::from(**w)) >> bit & 1 == 1)
                            .count();
                        2 * ones > document.len()
                    })
                    .fold(0, |hash, bit| hash | 1u64 << bit)
            })
        });
    Ok(case)
}

pub fn ldpc_minsum(scale: Scale) -> CudaResult<Case> {
    const BITS: usize = variety::BITS;
    const DEGREE: usize = variety::DEGREE;
    let words = scale.pick(3, 4096);
    let rounds = scale.pick(4, 10);
    // A random graph: each bit is at three edges.
    let mut bits_of_check: Vec<u16> = (0..3 * BITS).map(|edge| (edge / 3) as u16).collect();
    for k in (1..bits_of_check.len()).rev() {
        bits_of_check.swap(k, (random(k as u64) % (k as u64 + 1)) as usize);
    }
    let mut edges: Vec<Vec<u16>> = vec![Vec::new(); BITS];
    for (edge, bit) in bits_of_check.iter().enumerate() {
        edges[usize::from(*bit)].push(edge as u16);
    }
    let edges_of_bit = edges.concat();
    let received: Vec<f32> = (0..(words * BITS) as u64)
        .map(|i| {
            let noise: f64 = (0..4).map(|k| uniform(4 * i + k) - 0.5).sum();
            (2.0 * (1.0 + 1.3 * noise)) as f32
        })
        .collect();
    let (r, b, e) = (
        upload(&received)?,
        upload(&bits_of_check)?,
        upload(&edges_of_bit)?,
    );
    let to = zeroed::<u8>(words * BITS)?;
    let head = || {
        Args::new()
            .pointer(&r)
            .pointer(&b)
            .pointer(&e)
            .value(rounds as i32)
            .pointer(&to)
    };
    let case = Case::new("ldpc_minsum", words, 256)
        .args(
            head(),
            head(),
            Args::new()
                .slice(&r)
                .pointer(&b)
                .pointer(&e)
                .value(rounds as i32)
                .output(&to),
        )
        .input(&r)
        .input(&b)
        .input(&e)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for word in (0..words).step_by(words.div_ceil(50)) {
                let received = &received[word * BITS..][..BITS];
                let mut beliefs = received.to_vec();
                let mut messages = vec![0.0f32; 3 * BITS];
                for _ in 0..rounds {
                    for check in 0..variety::CHECKS {
                        let edges = check * DEGREE..(check + 1) * DEGREE;
                        let opinions: Vec<f32> = edges
                            .clone()
                            .map(|e| beliefs[usize::from(bits_of_check[e])] - messages[e])
                            .collect();
                        for (k, e) in edges.enumerate() {
                            let others = || {
                                opinions
                                    .iter()
                                    .enumerate()
                                    .filter(|(o, _)| *o != k)
                                    .map(|(_, x)| *x)
                            };
                            let least = others().map(f32::abs).fold(f32::INFINITY, f32::min);
                            let odd = others().filter(|x| *x < 0.0).count() % 2 == 1;
                            messages[e] = if odd { -0.75 * least } else { 0.75 * least };
                        }
                    }
                    for bit in 0..BITS {
                        let told = edges_of_bit[3 * bit..][..3]
                            .iter()
                            .map(|e| messages[usize::from(*e)]);
                        beliefs[bit] = told.fold(received[bit], |sum, x| sum + x);
                    }
                }
                for bit in 0..BITS {
                    same(
                        bit,
                        results[word * BITS + bit],
                        u8::from(beliefs[bit] < 0.0),
                    )?;
                }
            }
            Ok(())
        });
    Ok(case)
}

pub fn amdf_pitch(scale: Scale) -> CudaResult<Case> {
    use variety::{COMPARED, FIRST_LAG, FRAME, HOP};
    let frames = scale.pick(5, 8192);
    let signal: Vec<i16> = (0..frames * HOP + FRAME)
        .map(|i| {
            let period = 40.0 + 90.0 * uniform((i / 5000) as u64);
            let phase = (i % 5000) as f64 / period;
            (9000.0 * (phase * std::f64::consts::TAU).sin() + 3000.0 * uniform(i as u64)) as i16
        })
        .collect();
    let from = upload(&signal)?;
    let to = zeroed::<u16>(frames)?;
    let both = || Args::new().pointer(&from).pointer(&to);
    let case = Case::new("amdf_pitch", frames, 128)
        .args(both(), both(), Args::new().slice(&from).output(&to))
        .input(&from)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for frame in (0..frames).step_by(frames.div_ceil(500)) {
                let signal = &signal[frame * HOP..];
                let difference = |lag: usize| -> i64 {
                    (0..COMPARED)
                        .map(|i| (i64::from(signal[i]) - i64::from(signal[i + lag])).abs())
                        .sum()
                };
                let best = (FIRST_LAG..FIRST_LAG + 128).min_by_key(|lag| difference(*lag));
                same(frame, Some(usize::from(results[frame])), best)?;
            }
            Ok(())
        });
    Ok(case)
}

/// Returns the `f16` with the value of an `f32`, which must be representable.
fn half_bits(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 31 << 15) as u16;
    match x {
        0.0 => sign,
        _ => sign | (((bits >> 23 & 255) - 112) << 10) as u16 | (bits >> 13 & 1023) as u16,
    }
}

/// Returns the value of an `f16` that is not subnormal.
fn half_value(bits: u16) -> f64 {
    let magnitude = match bits & 0x7fff {
        0 => 0.0,
        rest => f32::from_bits((u32::from(rest) + (112 << 10)) << 13),
    };
    f64::from(if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    })
}

pub fn hashgrid_f16(scale: Scale) -> CudaResult<Case> {
    use variety::{FEATURES, LEVELS};
    let n = scale.pick(300, 1 << 19);
    let table: Vec<u32> = (0..(FEATURES * LEVELS) as u64)
        .map(|i| {
            let r = random(i);
            let half = |r: u64| u32::from(half_bits((r % 257) as f32 / 128.0 - 1.0));
            half(r) | half(r >> 32) << 16
        })
        .collect();
    let points = uniform_f32(3 * n, 61);
    let growth = 1.38f32;
    let (t, p) = (upload(&table)?, upload(&points)?);
    let to = zeroed::<u32>(n * LEVELS)?;
    let head = || {
        Args::new()
            .pointer(&t)
            .pointer(&p)
            .value(growth)
            .pointer(&to)
    };
    let case = Case::new("hashgrid_f16", n.div_ceil(256), 256)
        .args(
            head().value(n as i32),
            head().value(n),
            Args::new()
                .slice(&t)
                .pointer(&p)
                .value(n)
                .value(growth)
                .parts(&to, n),
        )
        .input(&t)
        .input(&p)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let mut resolution = 16.0f32;
                for level in 0..LEVELS {
                    let at: Vec<f32> = (0..3).map(|k| points[3 * i + k] * resolution).collect();
                    let mut sums = [0.0; 2];
                    for corner in 0..8u32 {
                        let mut weight = 1.0;
                        let mut hash = 0;
                        for (axis, prime) in [1, 2_654_435_761, 805_459_861].into_iter().enumerate()
                        {
                            let upper = corner >> axis & 1;
                            let fraction = f64::from(at[axis].fract());
                            weight *= if upper == 1 { fraction } else { 1.0 - fraction };
                            hash ^= (at[axis] as u32 + upper).wrapping_mul(prime);
                        }
                        let feature = table[level * FEATURES + hash as usize % FEATURES];
                        sums[0] += weight * half_value(feature as u16);
                        sums[1] += weight * half_value((feature >> 16) as u16);
                    }
                    let result = results[i * LEVELS + level];
                    near(i, half_value(result as u16), sums[0], 1e-2, 5e-3)?;
                    near(i, half_value((result >> 16) as u16), sums[1], 1e-2, 5e-3)?;
                    resolution *= growth;
                }
            }
            Ok(())
        });
    Ok(case)
}

pub fn roman_sum(scale: Scale) -> CudaResult<Case> {
    const NUMERALS: [(&str, i32); 13] = [
        ("M", 1000),
        ("CM", 900),
        ("D", 500),
        ("CD", 400),
        ("C", 100),
        ("XC", 90),
        ("L", 50),
        ("XL", 40),
        ("X", 10),
        ("IX", 9),
        ("V", 5),
        ("IV", 4),
        ("I", 1),
    ];
    let n = scale.pick(700, 1 << 22);
    let mut records = vec![b' '; 16 * n];
    let mut values = Vec::with_capacity(n);
    for (i, record) in records.chunks_mut(16).enumerate() {
        let r = random(i as u64);
        let value = 1 + (r % 3999) as i32;
        let (mut left, mut at) = (value, 0);
        for (text, value) in NUMERALS {
            while left >= value {
                record[at..at + text.len()].copy_from_slice(text.as_bytes());
                at += text.len();
                left -= value;
            }
        }
        let wrong = (r >> 32) % 20 == 0;
        if wrong {
            record[(r >> 40) as usize % at] = b'Q';
        }
        values.push(if wrong { -1 } else { value });
    }
    let from = upload(&records)?;
    let to = zeroed::<i32>(n)?;
    let both = || Args::new().pointer(&from).pointer(&to);
    let case = Case::new("roman_sum", n.div_ceil(256), 256)
        .args(
            both().value(n as i32),
            both().value(n),
            Args::new().pointer(&from).value(n).output(&to),
        )
        .input(&from)
        .output(&to)
        .check(move || equal(&to, |i| values[i]));
    Ok(case)
}

pub fn mod_inverse(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let moduli: Vec<i64> = (0..n as u64)
        .map(|i| 2 + (random(i) >> (2 + random(i + 3) % 30)) as i64)
        .collect();
    let numbers: Vec<i64> = moduli
        .iter()
        .zip(1u64..)
        .map(|(m, i)| 1 + (random(i + 99) >> 2) as i64 % (m - 1))
        .collect();
    let (a, m) = (upload(&numbers)?, upload(&moduli)?);
    let to = zeroed::<i64>(n)?;
    let three = || Args::new().pointer(&a).pointer(&m).pointer(&to);
    let case = Case::new("mod_inverse", n.div_ceil(256), 256)
        .args(
            three().value(n as i32),
            three().value(n),
            Args::new().slice(&a).slice(&m).output(&to),
        )
        .input(&a)
        .input(&m)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let (mut p, mut q) = (numbers[i], moduli[i]);
                while q != 0 {
                    (p, q) = (q, p % q);
                }
                let product =
                    i128::from(results[i]) * i128::from(numbers[i]) % i128::from(moduli[i]);
                same(i, product, i128::from(p == 1))?;
                same(
                    i,
                    results[i] >= 0 && results[i] < moduli[i] && (p == 1) == (results[i] != 0),
                    true,
                )?;
            }
            Ok(())
        });
    Ok(case)
}

pub fn sir_paths(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(300, 1 << 17), scale.pick(7, 100));
    let steps = 4i32;
    let contacts: Vec<f32> = uniform_f32(width, 71)
        .iter()
        .map(|x| 0.1 + 0.6 * x)
        .collect();
    let recoveries: Vec<f32> = uniform_f32(width, 72)
        .iter()
        .map(|x| 0.05 + 0.2 * x)
        .collect();
    let (c, r) = (upload(&contacts)?, upload(&recoveries)?);
    let to = zeroed::<f32>(width * height)?;
    let head = || {
        Args::new()
            .pointer(&c)
            .pointer(&r)
            .value(steps)
            .pointer(&to)
    };
    let case = Case::new("sir_paths", width.div_ceil(256), 256)
        .args(
            head().value(width as i32).value(height as i32),
            head().value(width).value(height),
            Args::new()
                .slice(&c)
                .slice(&r)
                .value(steps)
                .rows(&to, width),
        )
        .input(&c)
        .input(&r)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for x in samples(width) {
                let (contact, recovery) = (f64::from(contacts[x]), f64::from(recoveries[x]));
                let dt = 1.0 / f64::from(steps);
                let (mut s, mut i) = (0.999, 0.001);
                for y in 0..height {
                    for _ in 0..steps {
                        let (sm, im) = (
                            s - dt / 2.0 * contact * s * i,
                            i + dt / 2.0 * (contact * s - recovery) * i,
                        );
                        (s, i) = (
                            s - dt * contact * sm * im,
                            i + dt * (contact * sm - recovery) * im,
                        );
                    }
                    near(y * width + x, results[y * width + x], i, 2e-3, 1e-5)?;
                }
            }
            Ok(())
        });
    Ok(case)
}

pub fn underwater(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(75, 500), scale.pick(13, 1 << 14));
    let mut prices = Vec::with_capacity(width * height);
    for y in 0..height as u64 {
        let mut price = 50.0 + 100.0 * uniform(y);
        for x in 0..width as u64 {
            price *= 0.9805 + 0.04 * uniform((y << 20) + x);
            prices.push(price as f32);
        }
    }
    let from = upload(&prices)?;
    let to = zeroed::<f32>(width * height)?;
    let both = || Args::new().pointer(&from).pointer(&to);
    let case = Case::new("underwater", height.div_ceil(8), 256)
        .args(
            both().value(width as i32).value(height as i32),
            both().value(width).value(height),
            Args::new().slice(&from).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .check(move || {
            close(&to, 1e-5, 1e-6, |i| {
                let start = i / width * width;
                let highest = prices[start..=i].iter().copied().fold(0.0, f32::max);
                f64::from(prices[i]) / f64::from(highest) - 1.0
            })
        });
    Ok(case)
}
