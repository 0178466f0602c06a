//! Kernels of fields that programs are ported from.

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
    Args, Case, close, download, equal, near, random, samples, uniform, uniform_f32, uniform_f64,
    upload, zeroed,
};
use cust::error::CudaResult;
use cust::vector::U8x4;

pub fn utm_project(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 20);
    let lat: Vec<f64> = uniform_f64(n, 1).iter().map(|x| x * 160.0 - 80.0).collect();
    let lon: Vec<f64> = uniform_f64(n, 2)
        .iter()
        .map(|x| x * 360.0 - 180.0)
        .collect();
    let (a, b) = (upload(&lat)?, upload(&lon)?);
    let to = zeroed::<[f64; 2]>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("utm_project", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(n) {
                let e: f64 = 0.08181919084262149;
                let zone = ((lon[i] + 180.0) / 6.0).floor().min(59.0);
                let s = lat[i].to_radians().sin();
                let t = (s.atanh() - e * (e * s).atanh()).sinh();
                let (s, c) = (lon[i] - (zone * 6.0 - 177.0)).to_radians().sin_cos();
                let (xi, eta) = (t.atan2(c), (s / t.hypot(c)).asinh());
                let alpha: [f64; 6] = [
                    8.377318206244698e-4,
                    7.608527773572307e-7,
                    1.197645503329453e-9,
                    2.429170607201359e-12,
                    5.711757677865804e-15,
                    1.4911177312583895e-17,
                ];
                let (mut x, mut y) = (eta, xi);
                for j in 0..6 {
                    let m = 2.0 * (j + 1) as f64;
                    x += alpha[j] * (m * xi).cos() * (m * eta).sinh();
                    y += alpha[j] * (m * xi).sin() * (m * eta).cosh();
                }
                let k = 0.9996 * 6367449.145823415;
                let south = if lat[i] < 0.0 { 1e7 } else { 0.0 };
                near(i, results[i][0], 5e5 + k * x, 1e-9, 1e-6)?;
                near(i, results[i][1], south + k * y, 1e-9, 1e-6)?;
            }
            Ok(())
        }))
}

pub fn reversi_moves(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 19);
    let boards: Vec<(u64, u64)> = (0..n as u64)
        .map(|i| {
            let occupied = match i % 3 {
                0 => random(3 * i) & random(3 * i + 1),
                1 => random(3 * i) | random(3 * i + 1),
                _ => random(3 * i),
            };
            let owner = random(3 * i + 2);
            (occupied & owner, occupied & !owner)
        })
        .collect();
    let a = upload(&boards.iter().map(|b| b.0).collect::<Vec<_>>())?;
    let b = upload(&boards.iter().map(|b| b.1).collect::<Vec<_>>())?;
    let to = zeroed::<u32>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("reversi_moves", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let (mine, theirs) = boards[i];
                let is = |set: u64, x: i32, y: i32| {
                    (0..8).contains(&x) && (0..8).contains(&y) && set >> (y * 8 + x) & 1 == 1
                };
                let mut best = 0;
                for square in 0..64 {
                    if (mine | theirs) >> square & 1 == 1 {
                        continue;
                    }
                    let mut flips = 0;
                    for d in (0..9).filter(|d| *d != 4) {
                        let (dx, dy) = (d % 3 - 1, d / 3 - 1);
                        let (mut x, mut y, mut k) = (square % 8 + dx, square / 8 + dy, 0);
                        while is(theirs, x, y) {
                            (x, y, k) = (x + dx, y + dy, k + 1);
                        }
                        if is(mine, x, y) {
                            flips += k;
                        }
                    }
                    if flips > 0 {
                        best = best.max(flips * 64 + square as u32);
                    }
                }
                best
            })
        }))
}

pub fn dense_dijkstra(scale: Scale) -> CudaResult<Case> {
    let n = 128;
    let graphs = scale.pick(2, 2112);
    let weights: Vec<u16> = (0..graphs * n * n)
        .map(|i| {
            let r = random(i as u64);
            if r % 8 == 0 {
                (r >> 8) as u16 % 5000
            } else {
                0
            }
        })
        .collect();
    let w = upload(&weights)?;
    let to = zeroed::<u32>(graphs * n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&w).pointer(&to);
    Ok(Case::new("dense_dijkstra", graphs, 128)
        .args(raw.clone(), raw, Args::new().slice(&w).output(&to))
        .input(&w)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for g in (0..graphs).step_by(37) {
                let w = &weights[g * n * n..][..n * n];
                let far = u32::MAX >> 8;
                let mut d = vec![far; n];
                d[0] = 0;
                loop {
                    let before = d.clone();
                    for u in 0..n {
                        for v in 0..n {
                            if w[u * n + v] != 0 && d[u] < far {
                                d[v] = d[v].min(d[u] + u32::from(w[u * n + v]));
                            }
                        }
                    }
                    if before == d {
                        break;
                    }
                }
                for v in 0..n {
                    crate::case::same(g * n + v, results[g * n + v], d[v])?;
                }
            }
            Ok(())
        }))
}

pub fn window_entropy(scale: Scale) -> CudaResult<Case> {
    let windows = scale.pick(45, 65_536);
    let data: Vec<u8> = (0..windows * 1024)
        .map(|i| {
            let r = random(i as u64);
            let spread = 1 + (i / 1024) as u64 * 7 % 256;
            (r % spread).min((r >> 32) % spread) as u8
        })
        .collect();
    let d = upload(&data)?;
    let to = zeroed::<f32>(windows)?;
    let t = to.clone();
    let raw = Args::new().pointer(&d).pointer(&to);
    Ok(Case::new("window_entropy", scale.blocks(8), 256)
        .args(
            raw.clone().value(windows as i32),
            raw.value(windows),
            Args::new().vectors::<U8x4>(&d).output(&to),
        )
        .input(&d)
        .output(&to)
        .check(move || {
            close(&t, 1e-5, 1e-5, |w| {
                let mut bins = [0; 256];
                data[w * 1024..][..1024]
                    .iter()
                    .for_each(|&b| bins[usize::from(b)] += 1);
                let p = bins
                    .iter()
                    .filter(|n| **n > 0)
                    .map(|&n| f64::from(n) / 1024.0);
                p.map(|p| -p * p.log2()).sum()
            })
        }))
}

/// The concatenation of texts, and where each starts.
fn concatenate(all: impl IntoIterator<Item = Vec<u8>>) -> (Vec<u8>, Vec<u32>) {
    let (mut text, mut starts) = (Vec::new(), vec![0]);
    for one in all {
        text.extend(one);
        starts.push(text.len() as u32);
    }
    (text, starts)
}

pub fn nmea_fix(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 19);
    let mut expected = Vec::new();
    let (text, starts) = concatenate((0..n as u64).map(|i| {
        let r = random(i);
        let (lat, lat_m) = (r % 90, (r >> 8) % 600_000);
        let (lon, lon_m) = ((r >> 28) % 180, random(i + (1 << 40)) % 600_000);
        let (ns, ew) = ((r >> 60) & 1, (r >> 61) & 1);
        let body = format!(
            "{},{:06}.00,{lat:02}{:02}.{:04},{},{lon:03}{:02}.{:04},{},1,{:02},0.9,{}.4,M,46.9,M,,",
            if r >> 57 & 7 == 0 { "GPRMC" } else { "GPGGA" },
            r % 235_959,
            lat_m / 10_000,
            lat_m % 10_000,
            ["N", "S"][ns as usize],
            lon_m / 10_000,
            lon_m % 10_000,
            ["E", "W"][ew as usize],
            r % 12,
            r % 1000,
        );
        let broken = random(i + (2 << 40)) % 10 == 0;
        let sum = body.bytes().fold(u8::from(broken), |sum, b| sum ^ b);
        let sign = |s: u64, x: u64| if s == 1 { -(x as i32) } else { x as i32 };
        expected.push(if broken || r >> 57 & 7 == 0 {
            [i32::MIN; 2]
        } else {
            [
                sign(ns, lat * 600_000 + lat_m),
                sign(ew, lon * 600_000 + lon_m),
            ]
        });
        format!("${body}*{sum:02X}").into_bytes()
    }));
    let (a, b) = (upload(&text)?, upload(&starts)?);
    let to = zeroed::<[i32; 2]>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("nmea_fix", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || equal(&t, |i| expected[i])))
}

pub fn cigar_spans(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 19);
    let mut expected = Vec::new();
    let (text, starts) = concatenate((0..n as u64).map(|i| {
        let mut text = String::new();
        let mut all = [0u32; 4];
        let operations = 1 + random(i) % 14;
        let mut valid = true;
        for k in 0..operations {
            let r = random(i * 16 + k + (1 << 40));
            let n = 1 + (r >> 8) as u32 % [5, 150, 30][(r >> 40) as usize % 3];
            let letter = b"MIDMSM=XNHMP"[(r >> 16) as usize % 12] as char;
            let letter = if (r >> 24) % 200 == 0 { '?' } else { letter };
            valid &= letter != '?';
            text += &format!("{n}{letter}");
            all[0] += if "MDN=X".contains(letter) { n } else { 0 };
            all[1] += if "MIS=X".contains(letter) { n } else { 0 };
            all[2] += u32::from("IDN".contains(letter));
            all[3] += if letter == 'S' { n } else { 0 };
        }
        if random(i) % 50 == 3 {
            text += "17";
            valid = false;
        }
        expected.push(if valid { all } else { [0; 4] });
        text.into_bytes()
    }));
    let (a, b) = (upload(&text)?, upload(&starts)?);
    let to = zeroed::<[u32; 4]>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("cigar_spans", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || equal(&t, |i| expected[i])))
}

pub fn one_edit(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 20);
    let words: Vec<(Vec<u8>, Vec<u8>)> = (0..n as u64)
        .map(|i| {
            let r = random(i);
            let length = 2 + r % 20;
            let a: Vec<u8> = (0..length)
                .map(|k| b'a' + (random(i * 32 + k) % 26) as u8)
                .collect();
            let mut b = a.clone();
            let at = (r >> 8) as usize % b.len();
            match (r >> 32) % 7 {
                0 => {}
                1 => b[at] = b'e',
                2 => b.insert(at, b's'),
                3 => drop(b.remove(at)),
                4 if at > 0 => b.swap(at, at - 1),
                _ => {
                    b[at] = b'x';
                    b.insert(0, b'q');
                }
            }
            (a, b)
        })
        .collect();
    let (text_a, starts_a) = concatenate(words.iter().map(|w| w.0.clone()));
    let (text_b, starts_b) = concatenate(words.iter().map(|w| w.1.clone()));
    let (a, sa) = (upload(&text_a)?, upload(&starts_a)?);
    let (b, sb) = (upload(&text_b)?, upload(&starts_b)?);
    let to = zeroed::<u32>(n)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&sa)
        .pointer(&b)
        .pointer(&sb)
        .pointer(&to);
    Ok(Case::new("one_edit", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new()
                .slice(&a)
                .slice(&sa)
                .slice(&b)
                .slice(&sb)
                .output(&to),
        )
        .input(&a)
        .input(&sa)
        .input(&b)
        .input(&sb)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let (a, b) = &words[i];
                let differences = || a.iter().zip(b).filter(|(x, y)| x != y).count();
                let without = |long: &Vec<u8>, short: &Vec<u8>| {
                    (0..long.len()).any(|k| {
                        let mut rest = long.clone();
                        rest.remove(k);
                        rest == *short
                    })
                };
                if a == b {
                    return 0;
                }
                if a.len() + 1 == b.len() && without(b, a) {
                    return 2;
                }
                if b.len() + 1 == a.len() && without(a, b) {
                    return 3;
                }
                if a.len() == b.len() {
                    if differences() == 1 {
                        return 1;
                    }
                    for k in 1..a.len() {
                        let mut c = a.clone();
                        c.swap(k, k - 1);
                        if c == *b {
                            return 4;
                        }
                    }
                }
                5
            })
        }))
}

/// SHA3-256 of 32 bytes, by the definition.
fn sha3(message: [u64; 4]) -> [u64; 4] {
    let mut a = [[0u64; 5]; 5]; // [y][x]
    a[0][..4].copy_from_slice(&message);
    a[0][4] = 6;
    a[3][1] = 1 << 63;
    let mut lfsr = 1u8;
    for _ in 0..24 {
        let c: Vec<u64> = (0..5).map(|x| (0..5).fold(0, |p, y| p ^ a[y][x])).collect();
        for y in 0..5 {
            for x in 0..5 {
                a[y][x] ^= c[(x + 4) % 5] ^ c[(x + 1) % 5].rotate_left(1);
            }
        }
        let mut b = [[0u64; 5]; 5];
        let (mut x, mut y) = (1, 0);
        b[0][0] = a[0][0];
        for t in 0..24u32 {
            b[(2 * x + 3 * y) % 5][y] = a[y][x].rotate_left((t + 1) * (t + 2) / 2 % 64);
            (x, y) = (y, (2 * x + 3 * y) % 5);
        }
        for y in 0..5 {
            for x in 0..5 {
                a[y][x] = b[y][x] ^ (!b[y][(x + 1) % 5] & b[y][(x + 2) % 5]);
            }
        }
        for j in 0..7 {
            if lfsr & 1 == 1 {
                a[0][0] ^= 1 << ((1u32 << j) - 1);
            }
            lfsr = (lfsr << 1) ^ if lfsr & 0x80 != 0 { 0x71 } else { 0 };
        }
    }
    [a[0][0], a[0][1], a[0][2], a[0][3]]
}

pub fn keccak_chain(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 18);
    let length = 2u32;
    let seeds: Vec<[u64; 4]> = (0..n as u64)
        .map(|i| [0, 1, 2, 3].map(|k| random(4 * i + k)))
        .collect();
    let d = upload(&seeds)?;
    let to = zeroed::<[u64; 4]>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&d).value(length).pointer(&to);
    Ok(Case::new("keccak_chain", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&d).value(length).output(&to),
        )
        .input(&d)
        .output(&to)
        .check(move || equal(&t, |i| sha3(sha3(seeds[i])))))
}

pub fn mueller_chain(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 19);
    let elements = 24;
    let kinds: Vec<u32> = (0..elements).map(|i| [1, 0, 1, 2, 1, 3][i % 6]).collect();
    let values: Vec<f32> = (0..elements)
        .map(|i| {
            let u = uniform(i as u64) as f32;
            [0.8 + 0.2 * u, 5.0 * u, 0.1 * u, 0.0][kinds[i] as usize]
        })
        .collect();
    let angles: Vec<f32> = (0..elements)
        .map(|i| uniform(i as u64 + 99) as f32 * 3.0)
        .collect();
    let lengths: Vec<f32> = uniform_f32(n, 3).iter().map(|x| 0.4 + 0.4 * x).collect();
    let light: Vec<[f32; 4]> = (0..n as u64)
        .map(|i| {
            let [x, y, z] = [1, 2, 3].map(|k| uniform(4 * i + k) as f32 - 0.5);
            [1.0, x, y, z]
        })
        .collect();
    let (k, v, a) = (upload(&kinds)?, upload(&values)?, upload(&angles)?);
    let (w, l) = (upload(&lengths)?, upload(&light)?);
    let to = zeroed::<[f32; 4]>(n)?;
    let t = to.clone();
    let first = Args::new().pointer(&k).pointer(&v).pointer(&a);
    let last = Args::new().pointer(&w).pointer(&l).pointer(&to);
    Ok(Case::new("mueller_chain", n.div_ceil(256), 256)
        .args(
            first
                .clone()
                .value(elements as i32)
                .and(last.clone())
                .value(n as i32),
            first.value(elements).and(last).value(n),
            Args::new()
                .slice(&k)
                .slice(&v)
                .slice(&a)
                .slice(&w)
                .slice(&l)
                .output(&to),
        )
        .input(&k)
        .input(&v)
        .input(&a)
        .input(&w)
        .input(&l)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(n) {
                let mut s = light[i].map(f64::from);
                let turn = |s: [f64; 4], angle: f64| {
                    let (y, x) = (2.0 * angle).sin_cos();
                    [s[0], x * s[1] + y * s[2], x * s[2] - y * s[1], s[3]]
                };
                for e in 0..elements {
                    let v = f64::from(values[e]);
                    s = turn(s, f64::from(angles[e]));
                    s = match kinds[e] {
                        0 => [
                            0.5 * ((1.0 + v) * s[0] + (1.0 - v) * s[1]),
                            0.5 * ((1.0 + v) * s[1] + (1.0 - v) * s[0]),
                            v.sqrt() * s[2],
                            v.sqrt() * s[3],
                        ],
                        1 => {
                            let (y, x) = f64::from(values[e] / lengths[i]).sin_cos();
                            [s[0], s[1], x * s[2] + y * s[3], x * s[3] - y * s[2]]
                        }
                        2 => [s[0], s[1] * (1.0 - v), s[2] * (1.0 - v), s[3] * (1.0 - v)],
                        _ => [s[0], s[1], -s[2], -s[3]],
                    };
                    s = turn(s, -f64::from(angles[e]));
                }
                for k in 0..4 {
                    near(4 * i + k, results[i][k], s[k], 1e-4, 1e-4)?;
                }
            }
            Ok(())
        }))
}

/// The distribution function of the normal distribution.
fn normal(x: f64) -> f64 {
    // Marsaglia's series.
    if x.abs() > 8.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut sum, mut term, mut k) = (x, x, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        k += 2.0;
        term *= x * x / k;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

pub fn implied_vol(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 19);
    let mut vols = Vec::new();
    let (mut puts, mut terms, mut prices) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n as u64 {
        let u = |k| uniform(8 * i + k);
        let (forward, years, vol): (f64, f64, f64) =
            (50.0 + 100.0 * u(0), 0.1 + 2.0 * u(1), 0.1 + 0.7 * u(2));
        let deviation = vol * years.sqrt();
        let strike = forward * ((u(3) - 0.5) * 3.0 * deviation).exp();
        let put = random(8 * i + 4) % 2;
        let d1 = (forward / strike).ln() / deviation + 0.5 * deviation;
        let d2 = d1 - deviation;
        let price = match put {
            0 => forward * normal(d1) - strike * normal(d2),
            _ => strike * normal(-d2) - forward * normal(-d1),
        };
        let bad = random(8 * i + 5) % 20 == 0;
        puts.push(put as u8);
        terms.push([forward, strike, years]);
        prices.push(if bad { -1.0 } else { price });
        vols.push(if bad { f64::NAN } else { vol });
    }
    let (p, s, d) = (upload(&puts)?, upload(&terms)?, upload(&prices)?);
    let to = zeroed::<f64>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&p).pointer(&s).pointer(&d).pointer(&to);
    Ok(Case::new("implied_vol", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&p).slice(&s).slice(&d).output(&to),
        )
        .input(&p)
        .input(&s)
        .input(&d)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(n) {
                match vols[i].is_nan() {
                    true => crate::case::same(i, results[i].is_nan(), true)?,
                    false => near(i, results[i], vols[i], 1e-5, 0.0)?,
                }
            }
            Ok(())
        }))
}

pub fn keyframes(scale: Scale) -> CudaResult<Case> {
    let (tracks, frames) = (scale.pick(37, 2048), scale.pick(11, 1024));
    let kinds: Vec<u8> = (0..tracks as u64).map(|i| (random(i) % 5) as u8).collect();
    let (mut starts, mut times) = (vec![0u32], Vec::new());
    for track in 0..tracks as u64 {
        let keys = 2 + random(track + 5000) % 60;
        let mut time = 0.0f32;
        for k in 0..keys {
            times.push(time);
            time += (0.1 + uniform(track * 64 + k)) as f32 * 60.0 / keys as f32;
        }
        starts.push(times.len() as u32);
    }
    let values = uniform_f32(times.len(), 4);
    let slopes: Vec<f32> = uniform_f32(times.len(), 5)
        .iter()
        .map(|x| x - 0.5)
        .collect();
    let step = 40.0 / frames as f32;
    let n = tracks * frames;
    let (s, x, v) = (upload(&starts)?, upload(&times)?, upload(&values)?);
    let (m, k) = (upload(&slopes)?, upload(&kinds)?);
    let to = zeroed::<f32>(n)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&s)
        .pointer(&x)
        .pointer(&v)
        .pointer(&m)
        .pointer(&k)
        .value(tracks as u32)
        .value(step)
        .pointer(&to);
    Ok(Case::new("keyframes", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new()
                .slice(&s)
                .slice(&x)
                .slice(&v)
                .slice(&m)
                .slice(&k)
                .value(step)
                .output(&to),
        )
        .input(&s)
        .input(&x)
        .input(&v)
        .input(&m)
        .input(&k)
        .output(&to)
        .check(move || {
            close(&t, 1e-3, 1e-3, |i| {
                let (frame, track) = (i / tracks, i % tracks);
                let time = frame as f32 * step;
                let range = starts[track] as usize..starts[track + 1] as usize;
                let next = range
                    .clone()
                    .find(|&k| times[k] > time)
                    .unwrap_or(range.end);
                let next = next.clamp(range.start + 1, range.end - 1);
                let length = f64::from(times[next] - times[next - 1]);
                let at = (f64::from(time - times[next - 1]) / length).clamp(0.0, 1.0);
                let (a, b) = (f64::from(values[next - 1]), f64::from(values[next]));
                let (p, q) = (f64::from(slopes[next - 1]), f64::from(slopes[next]));
                let hermite = |s: f64| {
                    let (s2, s3) = (s * s, s * s * s);
                    (2.0 * s3 - 3.0 * s2 + 1.0) * a
                        + (s3 - 2.0 * s2 + s) * p * length
                        + (3.0 * s2 - 2.0 * s3) * b
                        + (s3 - s2) * q * length
                };
                let bezier = |x1: f64, x2: f64| {
                    let (mut low, mut high) = (0.0, 1.0);
                    for _ in 0..40 {
                        let s: f64 = 0.5 * (low + high);
                        let r = 1.0 - s;
                        let x = 3.0 * r * s * (r * x1 + s * x2) + s * s * s;
                        if x < at { low = s } else { high = s }
                    }
                    hermite(low)
                };
                match kinds[track] {
                    0 => a,
                    1 => a + (b - a) * at,
                    2 => hermite(at),
                    3 => bezier(0.42, 0.58),
                    _ => bezier(0.1, 0.25),
                }
            })
        }))
}

pub fn rank7_3d(scale: Scale) -> CudaResult<Case> {
    let (w, h, d) = (scale.pick(37, 512), scale.pick(11, 256), scale.pick(7, 128));
    let from: Vec<u16> = (0..w * h * d).map(|i| random(i as u64) as u16).collect();
    let f = upload(&from)?;
    let to = zeroed::<u16>(w * h * d)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&f)
        .pointer(&to)
        .value(w as u32)
        .value(h as u32)
        .value(d as u32);
    Ok(Case::new(
        "rank7_3d",
        (w.div_ceil(32), h.div_ceil(4), d.div_ceil(2)),
        (32, 4, 2),
    )
    .args(raw.clone(), raw, Args::new().slice(&f).volume(&to, w, h))
    .input(&f)
    .output(&to)
    .check(move || {
        equal(&t, |i| {
            let (x, y, z) = (i % w, i / w % h, i / w / h);
            let at = |x: usize, y: usize, z: usize| from[(z * h + y) * w + x];
            let mut v = [
                at(x, y, z),
                at(x.saturating_sub(1), y, z),
                at((x + 1).min(w - 1), y, z),
                at(x, y.saturating_sub(1), z),
                at(x, (y + 1).min(h - 1), z),
                at(x, y, z.saturating_sub(1)),
                at(x, y, (z + 1).min(d - 1)),
            ];
            v.sort();
            v[3]
        })
    }))
}

pub fn darcy3d(scale: Scale) -> CudaResult<Case> {
    let (w, h, d) = (scale.pick(37, 512), scale.pick(11, 256), scale.pick(7, 64));
    let p = uniform_f32(w * h * d, 1);
    let k: Vec<f32> = uniform_f32(w * h * d, 2)
        .iter()
        .map(|x| 0.01 + x * x)
        .collect();
    let (a, b) = (upload(&p)?, upload(&k)?);
    let to = zeroed::<f32>(w * h * d)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&to)
        .value(w as u32)
        .value(h as u32)
        .value(d as u32);
    Ok(
        Case::new("darcy3d", (w.div_ceil(32), h.div_ceil(8)), (32, 8))
            .args(
                raw.clone(),
                raw,
                Args::new().slice(&a).slice(&b).volume(&to, w, h),
            )
            .input(&a)
            .input(&b)
            .output(&to)
            .check(move || {
                close(&t, 1e-4, 1e-4, |i| {
                    let (x, y, z) = (i % w, i / w % h, i / w / h);
                    let flow = |inside: bool, j: usize| {
                        if !inside {
                            return 0.0;
                        }
                        let (a, b) = (f64::from(k[i]), f64::from(k[j]));
                        2.0 * a * b / (a + b) * (f64::from(p[j]) - f64::from(p[i]))
                    };
                    flow(x > 0, i.wrapping_sub(1))
                        + flow(x + 1 < w, i + 1)
                        + flow(y > 0, i.wrapping_sub(w))
                        + flow(y + 1 < h, i + w)
                        + flow(z > 0, i.wrapping_sub(w * h))
                        + flow(z + 1 < d, i + w * h)
                })
            }),
    )
}

pub fn color_cube(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 23);
    let pixels: Vec<u8> = (0..n as u64)
        .flat_map(|i| {
            let (r, smooth) = (random(i).to_le_bytes(), (i / 64).to_le_bytes());
            [0, 1, 2, 3].map(|k| {
                if i % 7 == 3 {
                    255
                } else {
                    smooth[k % 3].wrapping_add(r[k] / 8)
                }
            })
        })
        .collect();
    let cube: Vec<u8> = (0..17 * 17 * 17 * 4)
        .map(|i| random(i + (1 << 40)) as u8)
        .collect();
    let (p, c) = (upload(&pixels)?, upload(&cube)?);
    let to = zeroed::<u8>(4 * n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&p).pointer(&c).pointer(&to);
    Ok(Case::new("color_cube", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new()
                .vectors::<U8x4>(&p)
                .pointer(&c)
                .output_vectors::<U8x4>(&to),
        )
        .input(&p)
        .input(&c)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let (pixel, channel) = (&pixels[i / 4 * 4..][..4], i % 4);
                if channel == 3 {
                    return pixel[3];
                }
                let mut corner = 0;
                let mut axes: Vec<(u32, usize)> = (0..3)
                    .map(|k| {
                        let scaled = u32::from(pixel[k]) * 16;
                        let cell = (scaled / 255).min(15);
                        corner += cell as usize * 17usize.pow(k as u32);
                        (scaled - cell * 255, 17usize.pow(k as u32))
                    })
                    .collect();
                axes.sort_by_key(|a| std::cmp::Reverse(a.0));
                let mut sum = 127;
                let mut last = 255;
                for (place, step) in axes {
                    sum += (last - place) * u32::from(cube[4 * corner + channel]);
                    (corner, last) = (corner + step, place);
                }
                ((sum + last * u32::from(cube[4 * corner + channel])) / 255) as u8
            })
        }))
}

pub fn polygon_moments(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let (mut points, mut starts) = (Vec::new(), vec![0u32]);
    for i in 0..n as u64 {
        for k in 0..random(i) % 25 {
            let r = random(i * 32 + k + (1 << 40));
            points.push([(r % 200_001) as i32 - 100_000, (r >> 32) as i32 % 100_000]);
        }
        starts.push(points.len() as u32);
    }
    let (p, s) = (upload(&points)?, upload(&starts)?);
    let [a, x, y] = [zeroed::<i64>(n)?, zeroed::<i64>(n)?, zeroed::<i64>(n)?];
    let [ta, tx, ty] = [a.clone(), x.clone(), y.clone()];
    let raw = Args::new()
        .pointer(&p)
        .pointer(&s)
        .pointer(&a)
        .pointer(&x)
        .pointer(&y);
    Ok(Case::new("polygon_moments", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new()
                .slice(&p)
                .slice(&s)
                .output(&a)
                .output(&x)
                .output(&y),
        )
        .input(&p)
        .input(&s)
        .output(&a)
        .output(&x)
        .output(&y)
        .check(move || {
            let sum = |i: usize, f: fn(i64, i64, i64) -> i64| {
                let ring = &points[starts[i] as usize..starts[i + 1] as usize];
                let mut sum = 0;
                for k in 0..ring.len() {
                    let [p, q] = [ring[k], ring[(k + 1) % ring.len()]].map(|p| p.map(i64::from));
                    sum += f(p[0] * q[1] - q[0] * p[1], p[0] + q[0], p[1] + q[1]);
                }
                sum
            };
            equal(&ta, |i| sum(i, |cross, _, _| cross))?;
            equal(&tx, |i| sum(i, |cross, x, _| cross * x))?;
            equal(&ty, |i| sum(i, |cross, _, y| cross * y))
        }))
}

pub fn arm_dexterity(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 19);
    let angles: Vec<[f32; 6]> = (0..n as u64)
        .map(|i| [0, 1, 2, 3, 4, 5].map(|k| (uniform(8 * i + k) * 6.28 - 3.14) as f32))
        .collect();
    let q = upload(&angles)?;
    let to = zeroed::<f32>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&q).pointer(&to);
    Ok(Case::new("arm_dexterity", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&q).output(&to),
        )
        .input(&q)
        .output(&to)
        .check(move || {
            // The closed form for this kind of arm (UR5e).
            close(&t, 1e-3, 2e-5, |i| {
                let q = angles[i].map(f64::from);
                let (a2, a3, d5) = (-0.425, -0.3922, 0.0997);
                let tilt = (q[1] + q[2] + q[3]).sin();
                let reach = a2 * q[1].cos() + a3 * (q[1] + q[2]).cos() + d5 * tilt;
                (a2 * a3 * q[2].sin() * q[4].sin() * reach).abs()
            })
        }))
}

pub fn kendall_windows(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 20);
    let w = 24;
    let xs = uniform_f32(n + w - 1, 1);
    let noise = uniform_f32(n + w - 1, 2);
    let ys: Vec<f32> = xs
        .iter()
        .zip(&noise)
        .map(|(x, e)| ((x + e) * 64.0).floor())
        .collect();
    let (a, b) = (upload(&xs)?, upload(&ys)?);
    let to = zeroed::<i32>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("kendall_windows", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let mut sum = 0;
                for a in i..i + w {
                    for b in i..a {
                        let product = (xs[a] - xs[b]) * (ys[a] - ys[b]);
                        sum += i32::from(product > 0.0) - i32::from(product < 0.0);
                    }
                }
                sum
            })
        }))
}

pub fn bwt_blocks(scale: Scale) -> CudaResult<Case> {
    let blocks = scale.pick(2, 1056);
    let words = [
        "the ",
        "then ",
        "of ",
        "and ",
        "banana ",
        "compress ",
        "to ",
        "in ",
        "mississippi ",
    ];
    let mut text = Vec::new();
    let mut i = 0;
    while text.len() < blocks * 256 {
        text.extend(words[random(i) as usize % words.len()].bytes());
        i += 1;
    }
    text.truncate(blocks * 256);
    if scale.small {
        // A periodic block, too.
        text[..256].copy_from_slice(&b"abaaabab".repeat(32));
    }
    let d = upload(&text)?;
    let to = zeroed::<u8>(blocks * 256)?;
    let t = to.clone();
    let raw = Args::new().pointer(&d).pointer(&to);
    Ok(Case::new("bwt_blocks", blocks, 256)
        .args(raw.clone(), raw, Args::new().slice(&d).slice(&to))
        .input(&d)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for b in (0..blocks).step_by(31) {
                let block = &text[b * 256..][..256];
                let twice = [block, block].concat();
                let mut order: Vec<usize> = (0..256).collect();
                order.sort_by_key(|&i| &twice[i..i + 256]);
                for k in 0..256 {
                    let last = block[(order[k] + 255) % 256];
                    crate::case::same(b * 256 + k, results[b * 256 + k], last)?;
                }
            }
            Ok(())
        }))
}

pub fn bootstrap_means(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1100, 1 << 19);
    let draws = scale.pick(50, 400) as u32;
    let sample: Vec<f32> = uniform_f32(512, 1)
        .iter()
        .map(|x| -(x + 1e-3).ln())
        .collect();
    let s = upload(&sample)?;
    let to = zeroed::<f32>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&s).value(draws).pointer(&to);
    Ok(Case::new("bootstrap_means", scale.blocks(8), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().pointer(&s).value(draws).output(&to),
        )
        .input(&s)
        .output(&to)
        .check(move || {
            close(&t, 1e-4, 1e-5, |i| {
                let step = |x: u64| {
                    x.wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407)
                };
                let mut state = step((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let mut sum = 0.0;
                for _ in 0..draws {
                    let mixed = ((state >> 18 ^ state) >> 27) as u32;
                    let r = mixed.rotate_right((state >> 59) as u32);
                    sum += f64::from(sample[r as usize % 512]);
                    state = step(state);
                }
                sum / f64::from(draws)
            })
        }))
}

pub fn triangles(scale: Scale) -> CudaResult<Case> {
    let nodes = scale.pick(120, 1 << 15);
    let (mut starts, mut sources, mut targets) = (vec![0u32], Vec::new(), Vec::new());
    for u in 0..nodes as u64 {
        // Close nodes, and more of them for some nodes.
        let degree = if u % 37 == 0 { 90 } else { 8 + random(u) % 24 };
        let mut list: Vec<u32> = (0..degree)
            .map(|k| random(u * 128 + k))
            .map(|r| {
                u + 1
                    + if r % 4 == 0 {
                        (r >> 8) % 2000
                    } else {
                        (r >> 8) % 60
                    }
            })
            .filter(|&v| v < nodes as u64)
            .map(|v| v as u32)
            .collect();
        list.sort_unstable();
        list.dedup();
        sources.extend(list.iter().map(|_| u as u32));
        targets.extend(list);
        starts.push(targets.len() as u32);
    }
    let blocks = scale.blocks(8);
    let (a, b, c) = (upload(&starts)?, upload(&sources)?, upload(&targets)?);
    let to = zeroed::<u32>(blocks)?;
    let t = to.clone();
    let edges = targets.len();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&c).pointer(&to);
    Ok(Case::new("triangles", blocks, 256)
        .args(
            raw.clone().value(edges as i32),
            raw.value(edges),
            Args::new().slice(&a).slice(&b).slice(&c).output(&to),
        )
        .input(&a)
        .input(&b)
        .input(&c)
        .output(&to)
        .check(move || {
            let mut mark = vec![u32::MAX; nodes];
            let mut count = 0u64;
            let list = |u: usize| &targets[starts[u] as usize..starts[u + 1] as usize];
            for u in 0..nodes {
                list(u).iter().for_each(|&v| mark[v as usize] = u as u32);
                for &v in list(u) {
                    let both = list(v as usize)
                        .iter()
                        .filter(|&&w| mark[w as usize] == u as u32);
                    count += both.count() as u64;
                }
            }
            super::total(&t, count as f64, 0.0)
        }))
}

pub fn csv_fields(scale: Scale) -> CudaResult<Case> {
    let documents = scale.pick(5, 2112);
    let (text, starts) = concatenate((0..documents as u64).map(|i| {
        let size = 500 + random(i) as usize % 8000;
        let mut text = Vec::new();
        let mut k = 0;
        while text.len() < size {
            let r = random(i * 65_536 + k + (1 << 40));
            let body = &b"lorem, ipsum dolor\nsit amet, \"\"consectetur\"\", adipiscing"[..];
            let part = &body[(r % 8) as usize..][..(r >> 8) as usize % 48];
            if (r >> 20) % 3 == 0 {
                text.push(b'"');
                text.extend(part);
                text.push(b'"');
            } else {
                text.extend(part.iter().filter(|b| b.is_ascii_alphabetic()));
            }
            text.push(if (r >> 30) % 8 == 0 { b'\n' } else { b',' });
            k += 1;
        }
        text
    }));
    let (a, s) = (upload(&text)?, upload(&starts)?);
    let ends = zeroed::<u32>(text.len())?;
    let counts = zeroed::<u32>(documents)?;
    let (te, tc) = (ends.clone(), counts.clone());
    let raw = Args::new()
        .pointer(&a)
        .pointer(&s)
        .pointer(&ends)
        .pointer(&counts);
    Ok(Case::new("csv_fields", documents, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).slice(&s).slice(&ends).output(&counts),
        )
        .input(&a)
        .input(&s)
        .output_from(&ends, 0xff)
        .output(&counts)
        .check(move || {
            let (ends, counts) = (download(&te)?, download(&tc)?);
            for d in 0..documents {
                let first = starts[d] as usize;
                let document = &text[first..starts[d + 1] as usize];
                let (mut quoted, mut fields) = (false, 0);
                for (at, byte) in document.iter().enumerate() {
                    match byte {
                        b'"' => quoted = !quoted,
                        b',' | b'\n' if !quoted => {
                            crate::case::same(first + fields, ends[first + fields], at as u32)?;
                            fields += 1;
                        }
                        _ => {}
                    }
                }
                crate::case::same(d, counts[d], fields as u32)?;
            }
            Ok(())
        }))
}

pub fn kaplan_meier(scale: Scale) -> CudaResult<Case> {
    let (cohorts, length) = (scale.pick(3, 2112), scale.pick(600, 2500));
    let events: Vec<u8> = (0..cohorts * length)
        .map(|i| (random(i as u64) % 3 == 0) as u8)
        .collect();
    let weights: Vec<f64> = uniform_f64(cohorts * length, 7)
        .iter()
        .map(|x| 0.5 + 0.4 * x)
        .collect();
    let (e, w) = (upload(&events)?, upload(&weights)?);
    let to = zeroed::<f64>(cohorts * length)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&e)
        .pointer(&w)
        .pointer(&to)
        .value(length as u32);
    Ok(Case::new("kaplan_meier", cohorts, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&e).slice(&w).rows(&to, length),
        )
        .input(&e)
        .input(&w)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for c in (0..cohorts).step_by(23) {
                let mut survival = 1.0;
                for k in 0..length {
                    let i = c * length + k;
                    if events[i] != 0 {
                        survival *= 1.0 - weights[i] / (length - k) as f64;
                    }
                    near(i, results[i], survival, 1e-9, 1e-300)?;
                }
            }
            Ok(())
        }))
}

/// The half of a number that has one.
fn half(x: f32) -> u16 {
    if x == 0.0 {
        return 0;
    }
    let bits = x.to_bits();
    let exponent = (bits >> 23 & 255) as i32 - 112;
    ((bits >> 16 & 0x8000) | (exponent as u32) << 10 | (bits >> 13 & 0x3ff)) as u16
}

/// The number of a half that is normal or zero.
fn from_half(x: u16) -> f64 {
    let magnitude = match x >> 10 & 31 {
        0 => f64::from(x & 0x3ff) / 16_777_216.0,
        e => (1.0 + f64::from(x & 0x3ff) / 1024.0) * 2f64.powi(i32::from(e) - 15),
    };
    if x >> 15 == 1 { -magnitude } else { magnitude }
}

pub fn squeeze_excite(scale: Scale) -> CudaResult<Case> {
    let images = scale.pick(3, 1056);
    let (c, p, s) = (64, 196, 16);
    let data: Vec<f32> = (0..images * c * p)
        .map(|i| ((random(i as u64) % 256) as f32 - 100.0 + (i / p % 64) as f32) / 64.0)
        .collect();
    let halves: Vec<u16> = data.iter().map(|&x| half(x)).collect();
    let squeeze: Vec<f32> = uniform_f32(s * c, 1)
        .iter()
        .map(|x| (x - 0.4) * 0.5)
        .collect();
    let excite: Vec<f32> = uniform_f32(s * c, 2).iter().map(|x| x - 0.5).collect();
    let (d, a, b) = (upload(&halves)?, upload(&squeeze)?, upload(&excite)?);
    let to = zeroed::<u16>(images * c * p)?;
    let t = to.clone();
    let raw = Args::new().pointer(&d).pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("squeeze_excite", images, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&d).pointer(&a).pointer(&b).output(&to),
        )
        .input(&d)
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for n in (0..images).step_by(53) {
                let image = &data[n * c * p..][..c * p];
                let means: Vec<f64> = image
                    .chunks(p)
                    .map(|plane| plane.iter().map(|&x| f64::from(x)).sum::<f64>() / p as f64)
                    .collect();
                let dot = |w: &[f32], x: &[f64]| {
                    w.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum::<f64>()
                };
                let hidden: Vec<f64> = squeeze.chunks(c).map(|w| dot(w, &means).max(0.0)).collect();
                for i in 0..c * p {
                    let gate = 1.0 / (1.0 + (-dot(&excite[i / p * s..][..s], &hidden)).exp());
                    let at = n * c * p + i;
                    near(
                        at,
                        from_half(results[at]),
                        f64::from(image[i]) * gate,
                        2e-3,
                        1e-5,
                    )?;
                }
            }
            Ok(())
        }))
}

pub fn gated_dilated(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 23);
    let audio: Vec<f32> = uniform_f32(n, 1).iter().map(|x| 2.0 * x - 1.0).collect();
    let filter: Vec<f32> = uniform_f32(32, 2).iter().map(|x| x - 0.5).collect();
    let gate: Vec<f32> = uniform_f32(32, 3).iter().map(|x| x - 0.5).collect();
    let (a, f, g) = (upload(&audio)?, upload(&filter)?, upload(&gate)?);
    let to = zeroed::<f32>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&f).pointer(&g).pointer(&to);
    Ok(Case::new("gated_dilated", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).pointer(&f).pointer(&g).output(&to),
        )
        .input(&a)
        .input(&f)
        .input(&g)
        .output(&to)
        .check(move || {
            close(&t, 1e-4, 1e-5, |i| {
                let sum = |w: &[f32]| {
                    (0..32)
                        .filter(|k| i + 4 * k >= 124)
                        .map(|k| f64::from(w[k]) * f64::from(audio[i + 4 * k - 124]))
                        .sum::<f64>()
                };
                sum(&filter).tanh() / (1.0 + (-sum(&gate)).exp())
            })
        }))
}

pub fn seam_costs(scale: Scale) -> CudaResult<Case> {
    let (images, height) = (scale.pick(2, 1056), scale.pick(19, 200));
    let energies: Vec<u16> = (0..images * height * 256)
        .map(|i| (random(i as u64) % 3000) as u16)
        .collect();
    let e = upload(&energies)?;
    let to = zeroed::<u32>(images * 256)?;
    let t = to.clone();
    let raw = Args::new().pointer(&e).value(height);
    Ok(Case::new("seam_costs", images, 256)
        .args(
            raw.clone().pointer(&to),
            raw.pointer(&to),
            Args::new().slice(&e).value(height).output(&to),
        )
        .input(&e)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for n in (0..images).step_by(17) {
                let mut costs = vec![0u32; 256];
                for row in energies[n * height * 256..][..height * 256].chunks(256) {
                    costs = (0..256)
                        .map(|x: usize| {
                            let near = &costs[x.saturating_sub(1)..(x + 2).min(256)];
                            near.iter().min().unwrap() + u32::from(row[x])
                        })
                        .collect();
                }
                for x in 0..256 {
                    crate::case::same(n * 256 + x, results[n * 256 + x], costs[x])?;
                }
            }
            Ok(())
        }))
}

pub fn curve_ladder(scale: Scale) -> CudaResult<Case> {
    const P: u64 = (1 << 61) - 1;
    let n = scale.pick(300, 1 << 18);
    let xs: Vec<u64> = (0..n as u64).map(|i| 2 + random(i) % (P - 2)).collect();
    let scalars: Vec<u64> = (0..n as u64)
        .map(|i| random(i + (1 << 40)) >> (i % 8))
        .collect();
    let (a, b) = (upload(&xs)?, upload(&scalars)?);
    let to = zeroed::<u64>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("curve_ladder", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(P)) as u64;
                let add = |a: u64, b: u64| (a + b) % P;
                let sub = |a: u64, b: u64| (a + P - b) % P;
                let sq = |a: u64| mul(a, a);
                let x = xs[i];
                // (X, Z) of the point's double, and of a sum with the difference `x`.
                let double = |(x, z): (u64, u64)| {
                    let (a, b) = (sq(add(x, z)), sq(sub(x, z)));
                    let e = sub(a, b);
                    (mul(a, b), mul(e, add(a, mul(307, e))))
                };
                let sum = |p: (u64, u64), q: (u64, u64)| {
                    let (u, v) = (
                        mul(sub(q.0, q.1), add(p.0, p.1)),
                        mul(add(q.0, q.1), sub(p.0, p.1)),
                    );
                    (sq(add(u, v)), mul(x, sq(sub(u, v))))
                };
                let (mut p, mut q) = ((1, 0), (x, 1));
                for bit in (0..64).rev() {
                    (p, q) = match scalars[i] >> bit & 1 {
                        0 => (double(p), sum(p, q)),
                        _ => (sum(q, p), double(q)),
                    };
                }
                let (mut inverse, mut base, mut e) = (1, p.1, P - 2);
                while e > 0 {
                    inverse = if e & 1 == 1 {
                        mul(inverse, base)
                    } else {
                        inverse
                    };
                    (base, e) = (sq(base), e >> 1);
                }
                mul(p.0, inverse)
            })
        }))
}

pub fn swiss_lookup(scale: Scale) -> CudaResult<Case> {
    let groups = scale.pick(16, 1 << 15);
    let n = scale.pick(333, 1 << 20);
    let mut control = vec![0x80u8; groups * 16];
    let mut keys = vec![0u64; groups * 16];
    let mut values = vec![0u32; groups * 16];
    let mix = |key: u64| {
        let x = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ x >> 29
    };
    let entries = groups * 13;
    for i in 0..entries {
        let key = random(i as u64);
        let hash = mix(key);
        let mut slot = (hash >> 7) as usize % groups * 16;
        while control[slot] != 0x80 {
            slot = (slot + 1) % control.len();
        }
        control[slot] = (hash & 0x7f) as u8;
        keys[slot] = key;
        values[slot] = i as u32;
    }
    // Three of four keys are in the table.
    let wanted: Vec<u64> = (0..n as u64)
        .map(|i| random(i + 99) % (entries as u64 * 4 / 3))
        .collect();
    let queries: Vec<u64> = wanted.iter().map(|&i| random(i)).collect();
    let (c, k, v) = (upload(&control)?, upload(&keys)?, upload(&values)?);
    let q = upload(&queries)?;
    let to = zeroed::<u32>(n)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&c)
        .pointer(&k)
        .pointer(&v)
        .value(groups as u32)
        .pointer(&q)
        .pointer(&to);
    Ok(Case::new("swiss_lookup", (n * 16).div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new()
                .slice(&c)
                .slice(&k)
                .slice(&v)
                .slice(&q)
                .slice(&to),
        )
        .input(&c)
        .input(&k)
        .input(&v)
        .input(&q)
        .output(&to)
        .check(move || {
            equal(&t, |i| match wanted[i] < entries as u64 {
                true => wanted[i] as u32,
                false => u32::MAX,
            })
        }))
}

pub fn auction(scale: Scale) -> CudaResult<Case> {
    let problems = scale.pick(2, 2112);
    let (n, step) = (64, 8u32);
    let benefits: Vec<u16> = (0..problems * n * n)
        .map(|i| {
            let object = i / n;
            ((random(i as u64) % 1000 + random(object as u64 + (1 << 40)) % 300) / 2) as u16
        })
        .collect();
    let b = upload(&benefits)?;
    let to = zeroed::<u32>(problems * n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&b).value(step).pointer(&to);
    Ok(Case::new("auction", problems, 64)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&b).value(step).output(&to),
        )
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for problem in (0..problems).step_by(53) {
                let benefits = &benefits[problem * n * n..][..n * n];
                let mut prices = vec![0i64; n];
                let mut owners = vec![usize::MAX; n];
                while owners.contains(&usize::MAX) {
                    let mut bids = vec![None; n];
                    for me in (0..n).filter(|me| !owners.contains(me)) {
                        let worth = |j: usize| i64::from(benefits[j * n + me]) - prices[j];
                        let mut order: Vec<usize> = (0..n).collect();
                        order.sort_by_key(|&j| std::cmp::Reverse(worth(j)));
                        let (best, second) = (order[0], worth(order[1]));
                        let bid = prices[best] + worth(best) - second + i64::from(step);
                        bids[best] = bids[best].max(Some((bid, me)));
                    }
                    for j in 0..n {
                        if let Some((bid, me)) = bids[j] {
                            (prices[j], owners[j]) = (bid, me);
                        }
                    }
                }
                for j in 0..n {
                    let i = problem * n + owners[j];
                    crate::case::same(i, results[i], j as u32)?;
                }
            }
            Ok(())
        }))
}

pub fn felsenstein(scale: Scale) -> CudaResult<Case> {
    let sites = scale.pick(300, 1 << 19);
    let (leaves, rates) = (12, 4);
    // A tree of three clades of four leaves, children first.
    let mut visits: Vec<u32> = Vec::new();
    for clade in 0..3 {
        let join = u32::MAX;
        visits.extend([
            4 * clade,
            4 * clade + 1,
            join,
            4 * clade + 2,
            4 * clade + 3,
            join,
            join,
        ]);
        if clade > 0 {
            visits.push(join);
        }
    }
    let count = visits.len();
    let matrices: Vec<[f32; 16]> = (0..rates * count)
        .map(|i| {
            let length =
                [0.1, 0.5, 1.0, 2.4][i / count] * (0.05 + 0.3 * uniform((i % count) as u64));
            let decay = (-4.0 / 3.0 * length).exp();
            let mut m = [(0.25 - 0.25 * decay) as f32; 16];
            (0..4).for_each(|k| m[5 * k] = (0.25 + 0.75 * decay) as f32);
            m
        })
        .collect();
    let letters: Vec<u8> = (0..leaves * sites)
        .map(|i| {
            let (r, site) = (random(i as u64), i % sites);
            match r % 20 {
                0 => 4,
                1..5 => (r >> 8) as u8 % 4,
                _ => random(site as u64 + (1 << 40)) as u8 % 4,
            }
        })
        .collect();
    let (v, m, l) = (upload(&visits)?, upload(&matrices)?, upload(&letters)?);
    let to = zeroed::<f32>(sites)?;
    let t = to.clone();
    let list = |count: fn(usize) -> Args| {
        Args::new()
            .pointer(&v)
            .and(count(visits.len()))
            .pointer(&m)
            .and(count(4))
            .pointer(&l)
            .pointer(&to)
            .and(count(sites))
    };
    let integers = |n: usize| Args::new().value(n as i32);
    let sizes = |n: usize| Args::new().value(n);
    Ok(Case::new("felsenstein", sites.div_ceil(256), 256)
        .args(
            list(integers),
            list(sizes),
            Args::new().slice(&v).slice(&m).slice(&l).output(&to),
        )
        .input(&v)
        .input(&m)
        .input(&l)
        .output(&to)
        .check(move || {
            close(&t, 1e-4, 1e-4, |site| {
                let mut all = 0.0;
                for matrices in matrices.chunks(count) {
                    let mut stack: Vec<[f64; 4]> = Vec::new();
                    for (&visit, m) in visits.iter().zip(matrices) {
                        let states: Vec<f64> = match visit {
                            u32::MAX => {
                                let (a, b) = (stack.pop().unwrap(), stack.pop().unwrap());
                                a.iter().zip(b).map(|(a, b)| a * b).collect()
                            }
                            leaf => {
                                let letter = letters[leaf as usize * sites + site];
                                let is = |k: u8| letter == 4 || letter == k;
                                (0..4).map(|k| f64::from(u8::from(is(k)))).collect()
                            }
                        };
                        stack.push([0, 1, 2, 3].map(|s| {
                            (0..4)
                                .map(|k| f64::from(m[4 * s + k]) * states[k])
                                .sum::<f64>()
                        }));
                    }
                    assert_eq!(stack.len(), 1);
                    all += stack[0].iter().sum::<f64>() * 0.25;
                }
                (all / rates as f64).ln()
            })
        }))
}

pub fn worley_tiles(scale: Scale) -> CudaResult<Case> {
    let (w, h) = (scale.pick(37, 1024), scale.pick(21, 768));
    let count = scale.pick(300, 700);
    let sites: Vec<[f32; 2]> = (0..count as u64)
        .map(|i| {
            [
                (uniform(2 * i) * w as f64) as f32,
                (uniform(2 * i + 1) * h as f64) as f32,
            ]
        })
        .collect();
    let s = upload(&sites)?;
    let to = zeroed::<f32>(w * h)?;
    let t = to.clone();
    let raw = |c: Args| {
        Args::new()
            .pointer(&s)
            .and(c)
            .pointer(&to)
            .value(w as u32)
            .value(h as u32)
    };
    let (nvcc, raw) = (
        raw(Args::new().value(count as i32)),
        raw(Args::new().value(count as u32)),
    );
    Ok(
        Case::new("worley_tiles", (w.div_ceil(16), h.div_ceil(16)), (16, 16))
            .args(nvcc, raw, Args::new().slice(&s).rows(&to, w))
            .input(&s)
            .output(&to)
            .check(move || {
                close(&t, 1e-3, 1e-3, |i| {
                    let (x, y) = ((i % w) as f64, (i / w) as f64);
                    let mut distances: Vec<f64> = sites
                        .iter()
                        .map(|s| (f64::from(s[0]) - x).hypot(f64::from(s[1]) - y))
                        .collect();
                    distances.select_nth_unstable_by(1, f64::total_cmp);
                    distances[1] - distances[0]
                })
            }),
    )
}

pub fn maze_flood(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(45, 1 << 17);
    let rows: Vec<u32> = (0..32 * n as u64)
        .map(|i| {
            // Two of three cells, or more, are open.
            let r = random(2 * i) as u32 | random(2 * i + 1) as u32;
            let r = if i / 32 % 3 == 0 {
                r | (random(2 * i) >> 32) as u32
            } else {
                r
            };
            match i % 32 {
                0 => r | 1,
                31 => r | 1 << 31,
                _ => r,
            }
        })
        .collect();
    let d = upload(&rows)?;
    let to = zeroed::<u32>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&d).pointer(&to);
    Ok(Case::new("maze_flood", (32 * n).div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&d).output(&to),
        )
        .input(&d)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let maze = &rows[32 * i..][..32];
                let mut distances = [[u32::MAX; 32]; 32];
                let mut queue = std::collections::VecDeque::from([(0, 0)]);
                distances[0][0] = 0;
                while let Some((x, y)) = queue.pop_front() {
                    let near: [(i32, i32); 4] = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
                    for (a, b) in near {
                        if (0..32).contains(&a)
                            && (0..32).contains(&b)
                            && maze[b as usize] >> a & 1 == 1
                            && distances[b as usize][a as usize] == u32::MAX
                        {
                            distances[b as usize][a as usize] =
                                distances[y as usize][x as usize] + 1;
                            queue.push_back((a, b));
                        }
                    }
                }
                distances[31][31]
            })
        }))
}

pub fn huffman_streams(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 17);
    let width = 64;
    // Canonical codes: the lengths satisfy Kraft's inequality with equality.
    let lengths: Vec<u32> = [(2, 1), (3, 2), (4, 4), (5, 4), (6, 4), (8, 8), (9, 16)]
        .iter()
        .flat_map(|&(length, count)| vec![length; count])
        .collect();
    let mut table = Vec::new();
    let mut codes = Vec::new();
    for (symbol, &length) in lengths.iter().enumerate() {
        codes.push((table.len() as u32 >> (9 - length), length));
        table.extend(vec![[b'!' + symbol as u8, length as u8]; 1 << (9 - length)]);
    }
    assert_eq!(table.len(), 512);
    let symbols: Vec<u8> = (0..n * width)
        .map(|i| table[random(i as u64) as usize % 512][0])
        .collect();
    let (bytes, starts) = concatenate(symbols.chunks(width).map(|symbols| {
        let (mut bytes, mut buffer, mut count) = (Vec::new(), 0u64, 0);
        for &symbol in symbols {
            let (code, length) = codes[usize::from(symbol - b'!')];
            buffer = buffer << length | u64::from(code);
            count += length;
            while count >= 8 {
                count -= 8;
                bytes.push((buffer >> count) as u8);
            }
        }
        if count > 0 {
            bytes.push((buffer << (8 - count)) as u8);
        }
        bytes
    }));
    let (b, s, c) = (upload(&bytes)?, upload(&starts)?, upload(&table)?);
    let to = zeroed::<u8>(n * width)?;
    let t = to.clone();
    let raw = Args::new().pointer(&b).pointer(&s).pointer(&c).pointer(&to);
    Ok(Case::new("huffman_streams", n.div_ceil(128), 128)
        .args(
            raw.clone().value(width as i32).value(n as i32),
            raw.value(width as u32).value(n),
            Args::new().slice(&b).slice(&s).pointer(&c).rows(&to, width),
        )
        .input(&b)
        .input(&s)
        .input(&c)
        .output(&to)
        .check(move || equal(&t, |i| symbols[i])))
}

pub fn sat_overlap(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 20);
    let hexagons = |seed: u64| -> Vec<[[f32; 2]; 6]> {
        (0..n as u64)
            .map(|i| {
                let u = |k: u64| uniform((8 * i + k) ^ seed << 40);
                let (x, y, radius, turn) = (3.0 * u(0), 2.0 * u(1), 0.6 + 0.8 * u(2), u(3));
                [0, 1, 2, 3, 4, 5].map(|k| {
                    let angle = f64::from(k) * 1.047197551 + turn;
                    [
                        (x + radius * angle.cos()) as f32,
                        (y + radius * angle.sin()) as f32,
                    ]
                })
            })
            .collect()
    };
    let (first, second) = (hexagons(1), hexagons(2));
    let (a, b) = (upload(&first)?, upload(&second)?);
    let to = zeroed::<f32>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("sat_overlap", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            close(&t, 1e-3, 1e-4, |i| {
                let both = [first[i], second[i]].map(|p| p.map(|c| c.map(f64::from)));
                let mut least = f64::INFINITY;
                for polygon in both {
                    for k in 0..6 {
                        let (p, q) = (polygon[k], polygon[(k + 1) % 6]);
                        let angle = (q[1] - p[1]).atan2(q[0] - p[0]);
                        let shadow = both.map(|p| {
                            let at = p.map(|c| c[0] * angle.sin() - c[1] * angle.cos());
                            let low = at.into_iter().fold(f64::INFINITY, f64::min);
                            (low, at.into_iter().fold(f64::NEG_INFINITY, f64::max))
                        });
                        let depth = shadow[0].1.min(shadow[1].1) - shadow[0].0.max(shadow[1].0);
                        least = least.min(depth.max(0.0));
                    }
                }
                least
            })
        }))
}
