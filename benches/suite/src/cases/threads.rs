//! One result per thread.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, Check, close, download, equal, near, random, samples, uniform, upload,
    zeroed,
};
use bench_kernels::threads as k;
use cust::error::CudaResult;

/// A number from `low` to `high`.
fn between(i: usize, seed: u64, low: f64, high: f64) -> f64 {
    low + (high - low) * uniform(i as u64 ^ (seed << 40))
}

/// An integer below `n`.
fn below(i: usize, seed: u64, n: u64) -> u64 {
    random(i as u64 ^ (seed << 40)) % n
}

pub fn siphash(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 21);
    let mut end = 0;
    let ends: Vec<u32> = (0..n)
        .map(|i| {
            end += below(i, 1, 80) as u32;
            end
        })
        .collect();
    let bytes: Vec<u8> = (0..end as usize).map(|i| random(i as u64) as u8).collect();
    let bytes_device = upload(&bytes)?;
    let ends_device = upload(&ends)?;
    let to: Buffer<u64> = zeroed(n)?;
    let key = Args::new().value(7u64).value(0x1234_5678_9abc_def0u64);
    let raw = key
        .clone()
        .pointer(&bytes_device)
        .pointer(&ends_device)
        .pointer(&to);
    Ok(Case::new("siphash", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            key.slice(&bytes_device).slice(&ends_device).output(&to),
        )
        .input(&bytes_device)
        .input(&ends_device)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let start = if i == 0 { 0 } else { ends[i - 1] };
                let message = &bytes[start as usize..ends[i] as usize];
                k::siphash24([7, 0x1234_5678_9abc_def0], message)
            })
        }))
}

pub fn kepler(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 21);
    let orbits: Vec<k::Orbit> = (0..n)
        .map(|i| k::Orbit {
            axis: between(i, 1, 0.3, 40.0),
            eccentricity: between(i, 2, 0.0, 0.95),
            anomaly: between(i, 3, -3.0, 3.0),
            motion: between(i, 4, 0.01, 2.0),
        })
        .collect();
    let orbits_device = upload(&orbits)?;
    let to: Buffer<[f64; 2]> = zeroed(n)?;
    let raw = Args::new()
        .value(12.5f64)
        .pointer(&orbits_device)
        .pointer(&to);
    Ok(Case::new("kepler", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().value(12.5f64).slice(&orbits_device).output(&to),
        )
        .input(&orbits_device)
        .output(&to)
        .check(move || {
            let to = download(&to)?;
            for i in samples(n) {
                let position = orbits[i].position(12.5);
                match position {
                    Some(p) => (0..2).try_for_each(|j| near(i, to[i][j], p[j], 1e-9, 1e-9))?,
                    None if to[i][0].is_nan() => (),
                    None => return Err(format!("{i} converged")),
                }
            }
            Ok(())
        }))
}

/// A gray image with edges, gradients and noise.
fn gray(width: usize, height: usize) -> Vec<u8> {
    (0..width * height)
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let block = (x / 23 + y / 17) % 3 * 70;
            (block + x % 31 + below(i, 9, 24) as usize) as u8
        })
        .collect()
}

pub fn kuwahara(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(50, 1920), scale.pick(37, 1080));
    let image = gray(width, height);
    let image_device = upload(&image)?;
    let to: Buffer<f32> = zeroed(width * height)?;
    let raw = Args::new().pointer(&image_device).pointer(&to);
    let raw = raw.value(width as i32).value(height as i32);
    Ok(Case::new(
        "kuwahara",
        (width.div_ceil(32), height.div_ceil(8)),
        (32, 8),
    )
    .args(
        raw.clone(),
        raw,
        Args::new().slice(&image_device).rows(&to, width),
    )
    .input(&image_device)
    .output(&to)
    .check(move || {
        close(&to, 1e-5, 0.0, |i| {
            k::kuwahara_at(&image, width, height, i % width, i / width).into()
        })
    }))
}

pub fn forest_vote(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let (trees, depth) = (scale.pick(5, 32), scale.pick(4, 9));
    let mut nodes = Vec::new();
    let mut roots = Vec::new();
    // Some splits above the last level are leaves.
    fn grow(nodes: &mut Vec<k::Node>, depth: usize) -> u32 {
        let at = nodes.len();
        if depth == 0 || below(at, 1, 12) == 0 {
            nodes.push(k::Node::Leaf(below(at, 2, k::CLASSES as u64) as u32));
        } else {
            nodes.push(k::Node::Leaf(0));
            let left = grow(nodes, depth - 1);
            let right = grow(nodes, depth - 1);
            nodes[at] = k::Node::Split {
                feature: below(at, 3, k::FEATURES as u64) as u32,
                threshold: between(at, 4, 0.2, 0.8) as f32,
                left,
                right,
            };
        }
        at as u32
    }
    for _ in 0..trees {
        roots.push(grow(&mut nodes, depth));
    }
    let inputs: Vec<[f32; k::FEATURES]> = (0..n)
        .map(|i| std::array::from_fn(|j| uniform((i * k::FEATURES + j) as u64) as f32))
        .collect();
    let nodes_device = upload(&nodes)?;
    let roots_device = upload(&roots)?;
    let inputs_device = upload(&inputs)?;
    let to: Buffer<u32> = zeroed(n)?;
    let raw = Args::new()
        .pointer(&nodes_device)
        .pointer(&roots_device)
        .value(trees as u32);
    let raw = raw.pointer(&inputs_device).pointer(&to);
    let safe = Args::new().slice(&nodes_device).slice(&roots_device);
    Ok(Case::new("forest_vote", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            safe.slice(&inputs_device).output(&to),
        )
        .input(&nodes_device)
        .input(&roots_device)
        .input(&inputs_device)
        .output(&to)
        .check(move || equal(&to, |i| k::forest_class(&nodes, &roots, &inputs[i]))))
}

fn capsules(n: usize, seed: u64, size: f64) -> Vec<k::Capsule> {
    let point = |i: usize, seed: u64, low: f64, high: f64| k::Vec3 {
        x: between(3 * i, seed, low, high) as f32,
        y: between(3 * i + 1, seed, low, high) as f32,
        z: between(3 * i + 2, seed, low, high) as f32,
    };
    (0..n)
        .map(|i| {
            let from = point(i, seed, 0.0, 10.0);
            k::Capsule {
                from,
                to: from + point(i, seed + 1, -size, size),
                radius: between(i, seed + 2, 0.01, 0.2) as f32,
            }
        })
        .collect()
}

pub fn capsule_clearance(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 16);
    let links = capsules(n, 1, 0.5);
    let obstacles = capsules(scale.pick(33, 512), 5, 2.0);
    let links_device = upload(&links)?;
    let obstacles_device = upload(&obstacles)?;
    let to: Buffer<f32> = zeroed(n)?;
    let raw = Args::new()
        .pointer(&links_device)
        .pointer(&obstacles_device);
    let raw = raw.value(obstacles.len() as u32).pointer(&to);
    let safe = Args::new()
        .slice(&links_device)
        .slice(&obstacles_device)
        .output(&to);
    Ok(Case::new("capsule_clearance", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), safe)
        .input(&links_device)
        .input(&obstacles_device)
        .output(&to)
        .check(move || {
            close(&to, 1e-3, 1e-3, |i| {
                let distances = obstacles.iter().map(|o| links[i].distance(o));
                distances.fold(f32::INFINITY, f32::min).into()
            })
        }))
}

pub fn longest_orf(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 19);
    let length = scale.pick(61, 150);
    let reads: Vec<u8> = (0..n * length)
        .map(|i| b"ACGT"[below(i, 1, 4) as usize])
        .collect();
    let reads_device = upload(&reads)?;
    let to: Buffer<[u16; 2]> = zeroed(n)?;
    let raw = Args::new().pointer(&reads_device);
    Ok(Case::new("longest_orf", n.div_ceil(128), 128)
        .args(
            raw.clone()
                .value(length as i32)
                .pointer(&to)
                .value(n as i32),
            raw.value(length).pointer(&to).value(n),
            Args::new().slice(&reads_device).value(length).output(&to),
        )
        .input(&reads_device)
        .output(&to)
        .check(move || equal(&to, |i| k::longest_orf(&reads[i * length..][..length]))))
}

pub fn sudoku(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 17);
    let puzzles: Vec<[u8; 81]> = (0..n)
        .map(|i| {
            let given = 24 + below(i, 1, 14);
            let shift = below(i, 2, 9) as usize;
            let band = below(i, 3, 3) as usize;
            std::array::from_fn(|at| {
                let (row, column) = ((at / 9 + 3 * band) % 9, at % 9);
                let digit = (row * 3 + row / 3 + column + shift) % 9 + 1;
                let keep = below(i * 81 + at, 4, 81) < given;
                // Some puzzles have an error.
                let wrong = below(i * 81 + at, 5, 500) == 0;
                let digit = if wrong { digit % 9 + 1 } else { digit };
                if keep { digit as u8 } else { 0 }
            })
        })
        .collect();
    let puzzles_device = upload(&puzzles)?;
    let to: Buffer<u8> = zeroed(n)?;
    let raw = Args::new().pointer(&puzzles_device).pointer(&to);
    let safe = Args::new().slice(&puzzles_device).output(&to);
    Ok(Case::new("sudoku", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), safe)
        .input(&puzzles_device)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                k::Sudoku::new(&puzzles[i]).fill_singles().unwrap_or(255)
            })
        }))
}

pub fn burning_ship(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(50, 2048), scale.pick(37, 1536));
    let limit = scale.pick(40, 256) as u32;
    // All sums are exact.
    let (left, top, pixel) = match scale.small {
        true => (-2.5f32, -2.0f32, 0.0625f32),
        false => (-2.0, -1.25, 0.000_976_562_5),
    };
    let to: Buffer<u16> = zeroed(width * height)?;
    let view = Args::new().value(left).value(top).value(pixel).value(limit);
    let raw = view
        .clone()
        .pointer(&to)
        .value(width as u32)
        .value(height as u32);
    Ok(Case::new(
        "burning_ship",
        (width.div_ceil(16), height.div_ceil(16)),
        (16, 16),
    )
    .args(raw.clone(), raw, view.rows(&to, width))
    .output(&to)
    .check(move || {
        equal(&to, |i| {
            let cx = k::Fixed::new(left + (i % width) as f32 * pixel);
            let cy = k::Fixed::new(top + (i / width) as f32 * pixel);
            k::ship_steps(cx, cy, limit as u16)
        })
    }))
}

pub fn miller_rabin(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(150, 1 << 15);
    let primes = [1_000_000_007u64, 999_999_999_989, 99_999_999_977];
    let numbers: Vec<u64> = (0..n)
        .map(|i| match below(i, 1, 8) {
            0 => primes[i % 3],
            1 => below(i, 2, 1000),
            _ => below(i, 3, 1_000_000_000_000) | 1,
        })
        .collect();
    let numbers_device = upload(&numbers)?;
    let to: Buffer<u8> = zeroed(n)?;
    let raw = Args::new().pointer(&numbers_device).pointer(&to);
    let safe = Args::new().slice(&numbers_device).output(&to);
    Ok(Case::new("miller_rabin", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), safe)
        .input(&numbers_device)
        .output(&to)
        .check(move || equal(&to, |i| u8::from(k::is_prime(numbers[i])))))
}

pub fn reed_solomon(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 16);
    let words: Vec<u8> = (0..n * k::CODE_WORD)
        .map(|i| random(i as u64) as u8)
        .collect();
    let words_device = upload(&words)?;
    let to: Buffer<[u8; k::SYNDROMES]> = zeroed(n)?;
    let raw = Args::new().pointer(&words_device).pointer(&to);
    let safe = Args::new().slice(&words_device).output(&to);
    Ok(Case::new("reed_solomon", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), safe)
        .input(&words_device)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                // Multiplication bit by bit.
                let mul = |mut a: u32, mut b: u32| {
                    let mut product = 0;
                    while b > 0 {
                        product ^= if b & 1 == 1 { a } else { 0 };
                        a <<= 1;
                        a ^= if a > 255 { 0x11d } else { 0 };
                        b >>= 1;
                    }
                    product
                };
                std::array::from_fn(|j| {
                    let word = &words[i * k::CODE_WORD..][..k::CODE_WORD];
                    word.iter()
                        .fold(0, |s, &byte| mul(s, 1 << j) ^ u32::from(byte))
                        as u8
                })
            })
        }))
}

pub fn base58(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let keys: Vec<[u8; 32]> = (0..n)
        .map(|i| {
            let zeros = below(i, 1, 6) as usize;
            std::array::from_fn(|j| {
                if j < zeros {
                    0
                } else {
                    random((i * 32 + j) as u64) as u8
                }
            })
        })
        .collect();
    let keys_device = upload(&keys)?;
    let to: Buffer<[u8; k::DIGITS]> = upload(&vec![[0; k::DIGITS]; n])?;
    let raw = Args::new().pointer(&keys_device).pointer(&to);
    let safe = Args::new().slice(&keys_device).output(&to);
    Ok(Case::new("base58", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), safe)
        .input(&keys_device)
        .output(&to)
        .check(move || equal(&to, |i| k::base58(&keys[i]))))
}

pub fn kalman_track(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 16);
    let steps = scale.pick(9, 48);
    let (dt, noise) = (0.1f32, 0.5f32);
    let measurements: Vec<[f32; 2]> = (0..n * steps)
        .map(|j| {
            let (t, i) = (j / n, j % n);
            let time = f64::from(dt) * t as f64;
            let x = between(i, 1, -5.0, 5.0) + between(i, 2, -2.0, 2.0) * time;
            let y = between(i, 3, -5.0, 5.0) + between(i, 4, -2.0, 2.0) * time;
            [
                (x + between(j, 5, -0.7, 0.7)) as f32,
                (y + between(j, 6, -0.7, 0.7)) as f32,
            ]
        })
        .collect();
    let measurements_device = upload(&measurements)?;
    let to: Buffer<[f32; 4]> = zeroed(n)?;
    let first = Args::new().value(dt).value(noise);
    let raw = first
        .clone()
        .pointer(&measurements_device)
        .value(steps as u32)
        .pointer(&to);
    let safe = first.slice(&measurements_device).output(&to);
    Ok(Case::new("kalman_track", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), safe)
        .input(&measurements_device)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let mut filter = k::Kalman::new(measurements[i]);
                for t in 1..steps {
                    filter.step(dt, noise, measurements[t * n + i]);
                }
                let expected = filter.state();
                for j in 0..4 {
                    near(i, results[i][j], expected[j].into(), 1e-3, 1e-3)?;
                }
            }
            Ok(())
        }))
}

pub fn bond_yield(scale: Scale) -> CudaResult<Case> {
    use k::Frequency::{Annual, Monthly, Quarterly, SemiAnnual};
    let n = scale.pick(300, 1 << 19);
    let prices: Vec<f64> = (0..n)
        .map(|i| {
            if below(i, 5, 50) == 0 {
                1e9
            } else {
                between(i, 1, 70.0, 130.0)
            }
        })
        .collect();
    let coupons: Vec<f64> = (0..n).map(|i| between(i, 2, 1.0, 9.0)).collect();
    let years: Vec<u8> = (0..n).map(|i| 1 + below(i, 3, 30) as u8).collect();
    let frequencies: Vec<k::Frequency> = (0..n)
        .map(|i| [Annual, SemiAnnual, Quarterly, Monthly][below(i, 4, 4) as usize])
        .collect();
    let prices_device = upload(&prices)?;
    let coupons_device = upload(&coupons)?;
    let years_device = upload(&years)?;
    let frequencies_device = upload(&frequencies)?;
    let to: Buffer<[f64; 2]> = zeroed(n)?;
    let raw = Args::new().pointer(&prices_device).pointer(&coupons_device);
    let raw = raw
        .pointer(&years_device)
        .pointer(&frequencies_device)
        .pointer(&to);
    let safe = Args::new().slice(&prices_device).slice(&coupons_device);
    let safe = safe
        .slice(&years_device)
        .slice(&frequencies_device)
        .output(&to);
    Ok(Case::new("bond_yield", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), safe)
        .input(&prices_device)
        .input(&coupons_device)
        .input(&years_device)
        .input(&frequencies_device)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            let bonds = k::Bonds {
                prices: &prices,
                coupons: &coupons,
                years: &years,
                frequencies: &frequencies,
            };
            for i in samples(n) {
                let expected = bonds.get(i).and_then(|bond| bond.duration());
                let expected = expected.unwrap_or([-1.0; 2]);
                near(i, results[i][0], expected[0], 1e-7, 1e-9)?;
                near(i, results[i][1], expected[1], 1e-7, 1e-9)?;
            }
            Ok(())
        }))
}

pub fn poly1305(scale: Scale) -> CudaResult<Case> {
    // The example of RFC 8439.
    let r = [
        u64::from_le_bytes([0x85, 0xd6, 0xbe, 0x78, 0x57, 0x55, 0x6d, 0x33]),
        u64::from_le_bytes([0x7f, 0x44, 0x52, 0xfe, 0x42, 0xd5, 0x06, 0xa8]),
    ];
    let s = u128::from_le_bytes([
        0x01, 0x03, 0x80, 0x8a, 0xfb, 0x0d, 0xb2, 0xfd, 0x4a, 0xbf, 0xf6, 0xaf, 0x41, 0x49, 0xf5,
        0x1b,
    ]);
    let tag = u128::from_le_bytes([
        0xa8, 0x06, 0x1d, 0xc1, 0x30, 0x51, 0x36, 0xc6, 0xc2, 0x2b, 0x8b, 0xaf, 0x0c, 0x01, 0x27,
        0xa9,
    ]);
    assert_eq!(
        k::poly1305(r, s, b"Cryptographic Forum Research Group"),
        tag
    );

    let n = scale.pick(300, 1 << 19);
    let length = scale.pick(41, 200);
    let messages: Vec<u8> = (0..n * length).map(|i| random(i as u64) as u8).collect();
    let nonces: Vec<u128> = (0..n as u64)
        .map(|i| u128::from(random(i)) << 64 | u128::from(random(i ^ 1 << 40)))
        .collect();
    let messages_device = upload(&messages)?;
    let nonces_device = upload(&nonces)?;
    let to: Buffer<u128> = zeroed(n)?;
    let key = Args::new().value(r[0]).value(r[1]);
    let raw = Args::new()
        .pointer(&messages_device)
        .pointer(&nonces_device)
        .pointer(&to);
    Ok(Case::new("poly1305", n.div_ceil(128), 128)
        .args(
            key.clone()
                .value(length as i32)
                .and(raw.clone())
                .value(n as i32),
            key.clone().value(length).and(raw).value(n),
            key.value(length)
                .slice(&messages_device)
                .slice(&nonces_device)
                .output(&to),
        )
        .input(&messages_device)
        .input(&nonces_device)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                k::poly1305(r, nonces[i], &messages[i * length..][..length])
            })
        }))
}

pub fn glob_match(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 20);
    let mut end = 0;
    let ends: Vec<u32> = (0..n)
        .map(|i| {
            end += below(i, 1, 100) as u32;
            end
        })
        .collect();
    let text: Vec<u8> = (0..end as usize)
        .map(|i| b"aaabbcde"[below(i, 2, 8) as usize])
        .collect();
    let pattern = b"*ab?*ba*ca*?b*";
    let pattern_device = upload(pattern)?;
    let text_device = upload(&text)?;
    let ends_device = upload(&ends)?;
    let to: Buffer<bool> = upload(&vec![false; n])?;
    let raw = Args::new()
        .pointer(&pattern_device)
        .value(pattern.len() as u32);
    let raw = raw.pointer(&text_device).pointer(&ends_device).pointer(&to);
    let safe = Args::new()
        .slice(&pattern_device)
        .slice(&text_device)
        .slice(&ends_device);
    Ok(Case::new("glob_match", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), safe.output(&to))
        .input(&pattern_device)
        .input(&text_device)
        .input(&ends_device)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let start = if i == 0 { 0 } else { ends[i - 1] };
                k::glob_matches(pattern, &text[start as usize..ends[i] as usize])
            })
        }))
}

pub fn jaro_winkler(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 19);
    let searched = b"bernadette rosenthal";
    let lengths: Vec<u8> = (0..n)
        .map(|i| below(i, 1, k::NAME as u64 + 1) as u8)
        .collect();
    let names: Vec<[u8; k::NAME]> = (0..n)
        .map(|i| {
            std::array::from_fn(|j| {
                // Similar to the searched name, with changes.
                let change = below(i * k::NAME + j, 2, 3) == 0;
                match searched.get(j) {
                    Some(&c) if !change => c,
                    _ => b"abdehlnorst "[below(i * k::NAME + j, 3, 12) as usize],
                }
            })
        })
        .collect();
    let searched_device = upload(searched)?;
    let names_device = upload(&names)?;
    let lengths_device = upload(&lengths)?;
    let to: Buffer<f32> = zeroed(n)?;
    let raw = Args::new()
        .pointer(&searched_device)
        .value(searched.len() as u32);
    let raw = raw
        .pointer(&names_device)
        .pointer(&lengths_device)
        .pointer(&to);
    let safe = Args::new()
        .slice(&searched_device)
        .slice(&names_device)
        .slice(&lengths_device);
    Ok(Case::new("jaro_winkler", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), safe.output(&to))
        .input(&searched_device)
        .input(&names_device)
        .input(&lengths_device)
        .output(&to)
        .check(move || {
            close(&to, 1e-5, 1e-6, |i| {
                k::jaro_winkler(searched, &names[i][..usize::from(lengths[i])]).into()
            })
        }))
}

pub fn adpcm(scale: Scale) -> CudaResult<Case> {
    let channels = scale.pick(300, 1 << 16);
    let length = scale.pick(21, 200);
    let bytes: Vec<u8> = (0..channels * length)
        .map(|i| random(i as u64) as u8)
        .collect();
    let bytes_device = upload(&bytes)?;
    let to: Buffer<i16> = zeroed(channels * length * 2)?;
    let raw = Args::new().pointer(&bytes_device).pointer(&to);
    Ok(Case::new("adpcm", channels.div_ceil(128), 128)
        .args(
            raw.clone().value(channels as i32).value(2 * length as i32),
            raw.value(channels).value(2 * length as u32),
            Args::new().slice(&bytes_device).rows(&to, channels),
        )
        .input(&bytes_device)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for x in samples(channels) {
                let mut decoder = k::Adpcm::default();
                for t in 0..length {
                    let byte = bytes[t * channels + x];
                    for (half, nibble) in [byte & 15, byte >> 4].into_iter().enumerate() {
                        let expected = decoder.decode(nibble);
                        let result = results[(2 * t + half) * channels + x];
                        if result != expected {
                            return Err(format!("{t} of {x}: {result}, not {expected}"));
                        }
                    }
                }
            }
            Ok(())
        }))
}

pub fn connect_four(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 16);
    let games = scale.pick(2, 16) as u32;
    let to: Buffer<i32> = zeroed(n)?;
    let raw = Args::new().value(games).pointer(&to);
    Ok(Case::new("connect_four", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().value(games).output(&to),
        )
        .output(&to)
        .check(move || equal(&to, |i| k::connect_four_score(i as u64, games))))
}

/// Compares vectors.
fn close_vectors(
    results: &Buffer<k::Vec3>,
    tolerance: f64,
    expected: impl Fn(usize) -> k::Vec3,
) -> Check {
    let results = download(results)?;
    for i in samples(results.len()) {
        let (result, expected) = (results[i], expected(i));
        near(i, result.x, expected.x.into(), tolerance, tolerance)?;
        near(i, result.y, expected.y.into(), tolerance, tolerance)?;
        near(i, result.z, expected.z.into(), tolerance, tolerance)?;
    }
    Ok(())
}

pub fn cloth_forces(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(50, 1500), scale.pick(37, 1000));
    let spacing = 0.1f32;
    let masses: Vec<k::Mass> = (0..width * height)
        .map(|i| {
            let (x, y) = ((i % width) as f32, (i / width) as f32);
            let noise = |seed| between(i, seed, -0.03, 0.03) as f32;
            k::Mass {
                position: k::Vec3 {
                    x: x * spacing + noise(1),
                    y: noise(2),
                    z: y * spacing + noise(3),
                },
                velocity: k::Vec3 {
                    x: 9.0 * noise(4),
                    y: 9.0 * noise(5),
                    z: 9.0 * noise(6),
                },
            }
        })
        .collect();
    let masses_device = upload(&masses)?;
    let to: Buffer<k::Vec3> = upload(&vec![k::Vec3::ZERO; width * height])?;
    let first = Args::new().value(spacing);
    let raw = first.clone().pointer(&masses_device).pointer(&to);
    let raw = raw.value(width as i32).value(height as i32);
    Ok(Case::new(
        "cloth_forces",
        (width.div_ceil(32), height.div_ceil(8)),
        (32, 8),
    )
    .args(
        raw.clone(),
        raw,
        first.slice(&masses_device).rows(&to, width),
    )
    .input(&masses_device)
    .output(&to)
    .check(move || {
        close_vectors(&to, 1e-3, |i| {
            k::cloth_force(&masses, width, height, (i % width, i / width), spacing)
        })
    }))
}

pub fn clip_area(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 21);
    let triangles: Vec<[[f32; 2]; 3]> = (0..n)
        .map(|i| {
            let center = [between(i, 1, -0.3, 1.3), between(i, 2, -0.3, 1.3)];
            std::array::from_fn(|c| {
                std::array::from_fn(|d| {
                    (center[d] + between(6 * i + 2 * c + d, 3, -0.7, 0.7)) as f32
                })
            })
        })
        .collect();
    let triangles_device = upload(&triangles)?;
    let to: Buffer<f32> = zeroed(n)?;
    let raw = Args::new().pointer(&triangles_device).pointer(&to);
    let safe = Args::new().slice(&triangles_device).output(&to);
    Ok(Case::new("clip_area", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), safe)
        .input(&triangles_device)
        .output(&to)
        .check(move || close(&to, 1e-4, 1e-5, |i| k::clipped_area(&triangles[i]).into())))
}

pub fn dormand_prince(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(150, 1 << 16);
    let (end, tolerance) = (scale.pick(2, 8) as f64, 1e-7);
    let mus: Vec<f64> = (0..n).map(|i| between(i, 1, 0.1, 4.0)).collect();
    let mus_device = upload(&mus)?;
    // The buffer is reset to zero bytes, from which the oscillator would not move.
    let start = f64::from_ne_bytes([0x3f; 8]);
    let states: Buffer<[f64; 2]> = zeroed(n)?;
    let first = Args::new().value(end).value(tolerance);
    let raw = first.clone().pointer(&mus_device).pointer(&states);
    let mut case = Case::new("dormand_prince", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            first.slice(&mus_device).output(&states),
        )
        .input(&mus_device)
        .output_from(&states, 0x3f)
        .reset();
    case = case.check(move || {
        let results = download(&states)?;
        for i in samples(n) {
            let system = k::VanDerPol { mu: mus[i] };
            let expected = k::dormand_prince(&system, [start; 2], end, tolerance);
            near(i, results[i][0], expected[0], 1e-4, 1e-4)?;
            near(i, results[i][1], expected[1], 1e-4, 1e-4)?;
        }
        Ok(())
    });
    Ok(case)
}

pub fn torsion_energy(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 21);
    let count = scale.pick(80, 1 << 17);
    let atoms: Vec<k::Vec3> = (0..count)
        .map(|i| k::Vec3 {
            x: 1.2 * (i % 64) as f32 + between(i, 1, -0.5, 0.5) as f32,
            y: 1.2 * (i / 64 % 64) as f32 + between(i, 2, -0.5, 0.5) as f32,
            z: 1.2 * (i / 4096) as f32 + between(i, 3, -0.5, 0.5) as f32,
        })
        .collect();
    let torsions: Vec<k::Torsion> = (0..n)
        .map(|i| {
            let first = below(i, 1, count as u64 - 16) as u32;
            let next = |seed| 1 + below(i, seed, 5) as u32;
            let second = first + next(2);
            let third = second + next(3);
            k::Torsion {
                atoms: [first, second, third, third + next(4)],
                factor: between(i, 5, 0.5, 4.0) as f32,
                phase: between(i, 6, 0.0, 3.0) as f32,
                multiplicity: 1 + below(i, 7, 4) as u32,
            }
        })
        .collect();
    let atoms_device = upload(&atoms)?;
    let torsions_device = upload(&torsions)?;
    let to: Buffer<f32> = zeroed(n)?;
    let raw = Args::new()
        .pointer(&atoms_device)
        .pointer(&torsions_device)
        .pointer(&to);
    let safe = Args::new()
        .slice(&atoms_device)
        .slice(&torsions_device)
        .output(&to);
    Ok(Case::new("torsion_energy", n.div_ceil(256), 256)
        .args(raw.clone().value(n as i32), raw.value(n), safe)
        .input(&atoms_device)
        .input(&torsions_device)
        .output(&to)
        .check(move || {
            close(&to, 1e-3, 1e-3, |i| {
                k::torsion_energy(&torsions[i], &atoms).into()
            })
        }))
}

pub fn row_moments(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(37, 1 << 15);
    let width = scale.pick(75, 700);
    let matrix: Vec<f32> = (0..rows * width)
        .map(|i| ((i / width % 7) as f64 + between(i, 1, -3.0, 3.0)) as f32)
        .collect();
    let matrix_device = upload(&matrix)?;
    let to: Buffer<k::Moments> = upload(&vec![k::Moments::NONE; rows])?;
    let raw = Args::new().pointer(&matrix_device).pointer(&to);
    Ok(Case::new("row_moments", rows.div_ceil(8), 256)
        .args(
            Args::new()
                .value(width as i32)
                .and(raw.clone())
                .value(rows as i32),
            Args::new().value(width).and(raw).value(rows),
            Args::new().value(width).slice(&matrix_device).output(&to),
        )
        .input(&matrix_device)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for y in samples(rows) {
                let row = &matrix[y * width..][..width];
                let all = row.iter().fold(k::Moments::NONE, |all, &x| all.with(x));
                let result = results[y];
                near(y, result.count, all.count.into(), 0.0, 0.0)?;
                near(y, result.mean, all.mean.into(), 1e-4, 1e-4)?;
                near(y, result.squares, all.squares.into(), 1e-3, 1e-3)?;
                near(y, result.low, all.low.into(), 0.0, 0.0)?;
                near(y, result.high, all.high.into(), 0.0, 0.0)?;
            }
            Ok(())
        }))
}

pub fn harris(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(50, 3840), scale.pick(37, 2160));
    let image = gray(width, height);
    let image_device = upload(&image)?;
    let to: Buffer<f32> = zeroed(width * height)?;
    let raw = Args::new().pointer(&image_device).pointer(&to);
    let raw = raw.value(width as i32).value(height as i32);
    Ok(
        Case::new("harris", (width.div_ceil(32), height.div_ceil(8)), (32, 8))
            .args(
                raw.clone(),
                raw,
                Args::new().slice(&image_device).rows(&to, width),
            )
            .input(&image_device)
            .output(&to)
            .check(move || {
                close(&to, 1e-4, 1e5, |i| {
                    let (cx, cy) = ((i % width) as i64, (i / width) as i64);
                    let at = |x: i64, y: i64| {
                        let x = x.clamp(0, width as i64 - 1) as usize;
                        f64::from(image[y.clamp(0, height as i64 - 1) as usize * width + x])
                    };
                    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
                    for y in cy - 1..=cy + 1 {
                        for x in cx - 1..=cx + 1 {
                            let dx = at(x + 1, y) - at(x - 1, y);
                            let dy = at(x, y + 1) - at(x, y - 1);
                            xx += dx * dx;
                            xy += dx * dy;
                            yy += dy * dy;
                        }
                    }
                    xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy)
                })
            }),
    )
}

pub fn tone_map(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(50, 3840), scale.pick(37, 2160));
    let light: Vec<[k::F16; 4]> = (0..width * height)
        .map(|i| {
            let bright = between(i, 9, 0.0, 1.0);
            std::array::from_fn(|c| {
                let high = if c < 3 { 4.0 * bright * bright } else { 1.0 };
                k::F16::from_f32(between(i, c as u64, 0.0, high) as f32)
            })
        })
        .collect();
    let bits: Vec<[u16; 4]> = light
        .iter()
        .map(|pixel| pixel.map(k::F16::to_bits))
        .collect();
    let bits_device = upload(&bits)?;
    let to: Buffer<[u8; 4]> = zeroed(width * height)?;
    let first = Args::new().value(0.8f32);
    let raw = first.clone().pointer(&bits_device).pointer(&to);
    let raw = raw.value(width as u32).value(height as u32);
    Ok(Case::new(
        "tone_map",
        (width.div_ceil(32), height.div_ceil(8)),
        (32, 8),
    )
    .args(raw.clone(), raw, first.slice(&bits_device).rows(&to, width))
    .input(&bits_device)
    .output(&to)
    .check(move || {
        let results = download(&to)?;
        for i in samples(results.len()) {
            let expected = k::tone_mapped(light[i], 0.8, i % width, i / width);
            for c in 0..4 {
                near(i, results[i][c], expected[c].into(), 0.0, 1.0)?;
            }
        }
        Ok(())
    }))
}

pub fn curvature3d(scale: Scale) -> CudaResult<Case> {
    let (width, height, depth) = (scale.pick(41, 256), scale.pick(9, 200), scale.pick(5, 180));
    let volume: Vec<f32> = (0..width * height * depth)
        .map(|i| {
            let (x, y, z) = (i % width, i / width % height, i / width / height);
            let wave = (0.11 * x as f64).sin() + (0.17 * y as f64).cos() + (0.13 * z as f64).sin();
            (3.0 * wave + between(i, 1, -0.3, 0.3)) as f32
        })
        .collect();
    let volume_device = upload(&volume)?;
    let to: Buffer<f32> = zeroed(volume.len())?;
    let first = Args::new().value(0.1f32);
    let raw = first.clone().pointer(&volume_device).pointer(&to);
    let raw = raw
        .value(width as i32)
        .value(height as i32)
        .value(depth as i32);
    let grid = (width.div_ceil(32), height.div_ceil(4), depth.div_ceil(2));
    Ok(Case::new("curvature3d", grid, (32, 4, 2))
        .args(
            raw.clone(),
            raw,
            first.slice(&volume_device).volume(&to, width, height),
        )
        .input(&volume_device)
        .output(&to)
        .check(move || {
            close(&to, 1e-4, 1e-4, |i| {
                let at = (i % width, i / width % height, i / width / height);
                k::curvature_step(&volume, (width, height, depth), at, 0.1).into()
            })
        }))
}

impl crate::case::Number for k::Medium {
    fn bytes(self) -> Vec<u8> {
        [
            self.absorption,
            self.scattering,
            self.anisotropy,
            self.thickness,
        ]
        .map(f32::to_ne_bytes)
        .concat()
    }
}

pub fn photon_slab(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 16);
    let photons = scale.pick(5, 24) as u32;
    let medium = k::Medium {
        absorption: 0.5,
        scattering: 8.0,
        anisotropy: 0.7,
        thickness: 1.0,
    };
    let to: Buffer<[u32; 3]> = zeroed(n)?;
    let first = Args::new().value(medium).value(photons);
    let raw = first.clone().pointer(&to);
    Ok(Case::new("photon_slab", n.div_ceil(128), 128)
        .args(raw.clone().value(n as i32), raw.value(n), first.output(&to))
        .output(&to)
        .check(move || {
            // Rounding may change the fate of a few photons.
            let results = download(&to)?;
            let (mut all, mut different) = (0, 0);
            for i in samples(n) {
                let expected = medium.count(i, photons);
                all += photons;
                for (result, expected) in results[i].into_iter().zip(expected) {
                    different += result.abs_diff(expected);
                }
            }
            match different * 200 <= all {
                true => Ok(()),
                false => Err(format!("{different} of {all} photons differ")),
            }
        }))
}

pub fn probe_energy(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 17);
    let count = scale.pick(300, 1500);
    let spacing = scale.pick(8, 3) as f32 / 10.0;
    let charges: Vec<k::Charge> = (0..count)
        .map(|i| k::Charge {
            position: std::array::from_fn(|d| between(3 * i + d, 1, 0.0, 16.0) as f32),
            charge: between(i, 2, -1.0, 1.0) as f32,
        })
        .collect();
    let charges_device = upload(&charges)?;
    let to: Buffer<f32> = zeroed(n)?;
    let first = Args::new().value(spacing);
    let raw = first.clone().pointer(&charges_device);
    Ok(Case::new("probe_energy", n.div_ceil(256), 256)
        .args(
            raw.clone().value(count as i32).pointer(&to).value(n as i32),
            raw.value(count).pointer(&to).value(n),
            first.slice(&charges_device).output(&to),
        )
        .input(&charges_device)
        .output(&to)
        .check(move || {
            close(&to, 1e-3, 1e-3, |i| {
                let point = k::grid_point(i, spacing);
                charges
                    .iter()
                    .map(|charge| f64::from(charge.energy(point)))
                    .sum()
            })
        }))
}

pub fn ik_arm(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 16);
    let limit = scale.pick(12, 24) as u32;
    let lengths = [1.0f32, 0.9, 0.8, 0.6, 0.4, 0.3];
    let targets: Vec<[f32; 2]> = (0..n)
        .map(|i| {
            // Some targets are too far away.
            let distance = between(i, 1, 0.5, 4.3);
            let angle = between(i, 2, -3.0, 3.0);
            [
                (distance * angle.cos()) as f32,
                (distance * angle.sin()) as f32,
            ]
        })
        .collect();
    let lengths_device = upload(&lengths)?;
    let targets_device = upload(&targets)?;
    let none = k::Pose {
        angles: [0.0; k::JOINTS],
        error: 0.0,
        steps: 0,
    };
    let to: Buffer<k::Pose> = upload(&vec![none; n])?;
    let first = Args::new().pointer(&lengths_device).value(limit);
    let raw = first.clone().pointer(&targets_device).pointer(&to);
    Ok(Case::new("ik_arm", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            first.slice(&targets_device).output(&to),
        )
        .input(&lengths_device)
        .input(&targets_device)
        .output(&to)
        .check(move || {
            // An iteration is a contraction in most but not in all poses, so a few may differ.
            let results = download(&to)?;
            let (mut all, mut different) = (0, 0);
            for i in samples(n) {
                let expected = k::reach(&lengths, targets[i], limit);
                let same = results[i].steps == expected.steps
                    && (results[i].error - expected.error).abs() < 1e-2;
                all += 1;
                different += usize::from(!same);
            }
            match different * 50 <= all {
                true => Ok(()),
                false => Err(format!("{different} of {all} poses differ")),
            }
        }))
}

pub fn amortize(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(150, 1 << 17);
    let principals: Vec<i64> = (0..n)
        .map(|i| 100_000 + below(i, 1, 40_000_000) as i64)
        .collect();
    let rates: Vec<u32> = (0..n).map(|i| below(i, 2, 120_000) as u32).collect();
    let months: Vec<u16> = (0..n).map(|i| 6 + below(i, 3, 115) as u16).collect();
    let principals_device = upload(&principals)?;
    let rates_device = upload(&rates)?;
    let months_device = upload(&months)?;
    let to: Buffer<[i64; 2]> = zeroed(n)?;
    let raw = Args::new()
        .pointer(&principals_device)
        .pointer(&rates_device);
    let raw = raw.pointer(&months_device).pointer(&to);
    let safe = Args::new().slice(&principals_device).slice(&rates_device);
    Ok(Case::new("amortize", n.div_ceil(128), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            safe.slice(&months_device).output(&to),
        )
        .input(&principals_device)
        .input(&rates_device)
        .input(&months_device)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let rate = k::Rate(rates[i].into());
                k::amortize(k::Money(principals[i]), rate, months[i].into()).map(|money| money.0)
            })
        }))
}

pub fn quality_trim(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let length = scale.pick(61, 151);
    let errors: [f32; k::SCORES] = std::array::from_fn(|q| 10f32.powf(-(q as f32) / 10.0));
    let qualities: Vec<u8> = (0..n * length)
        .map(|j| {
            let (i, at) = (j / length, j % length);
            let (low, high) = (below(i, 1, 30) as usize, length - below(i, 2, 40) as usize);
            let best = if at < low || at >= high { 22 } else { 42 };
            let bad = below(i, 3, 40) == 0;
            b'!' + below(j, 4, if bad { 24 } else { best }) as u8
        })
        .collect();
    let errors_device = upload(&errors)?;
    let qualities_device = upload(&qualities)?;
    let to: Buffer<k::Trimmed> = upload(&vec![k::Trimmed::default(); n])?;
    let first = Args::new().pointer(&errors_device);
    let raw = first.clone().pointer(&qualities_device);
    Ok(Case::new("quality_trim", n.div_ceil(128), 128)
        .args(
            raw.clone()
                .value(length as i32)
                .pointer(&to)
                .value(n as i32),
            raw.value(length).pointer(&to).value(n),
            first.slice(&qualities_device).value(length).output(&to),
        )
        .input(&errors_device)
        .input(&qualities_device)
        .output(&to)
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let quality = &qualities[i * length..][..length];
                let expected = k::trim(quality, &errors).unwrap_or_default();
                near(i, results[i].start, expected.start.into(), 0.0, 0.0)?;
                near(i, results[i].end, expected.end.into(), 0.0, 0.0)?;
                near(i, results[i].first, expected.first.into(), 1e-4, 1e-5)?;
                near(i, results[i].second, expected.second.into(), 1e-4, 1e-5)?;
            }
            Ok(())
        }))
}

pub fn dictionary(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    // The last part is shorter.
    let length = n * k::PART - 57;
    // Words of common letters, which occur in the text.
    let letter = |j: usize, seed| b"eeettaaoinshrdlu"[below(j, seed, 16) as usize];
    let dictionary: Vec<Vec<u8>> = (0..scale.pick(30, 400))
        .map(|w| {
            let len = 2 + below(w, 1, 7) as usize;
            (0..len).map(|j| letter(16 * w + j, 2)).collect()
        })
        .collect();
    let mut next = vec![[0u16; 27]];
    let mut words = vec![0u8];
    for word in &dictionary {
        let mut state = 0usize;
        for &byte in word {
            let class = usize::from(byte - b'a');
            if next[state][class] == 0 {
                next[state][class] = next.len() as u16;
                next.push([0; 27]);
                words.push(0);
            }
            state = next[state][class].into();
        }
        words[state] += 1;
    }
    let mut fail = vec![0usize; next.len()];
    let mut queue: std::collections::VecDeque<usize> = next[0]
        .iter()
        .filter(|&&to| to != 0)
        .map(|&to| to.into())
        .collect();
    while let Some(state) = queue.pop_front() {
        words[state] += words[fail[state]];
        for class in 0..27 {
            let fallback = next[fail[state]][class];
            match usize::from(next[state][class]) {
                0 => next[state][class] = fallback,
                to => {
                    fail[to] = fallback.into();
                    queue.push_back(to);
                }
            }
        }
    }
    let text: Vec<u8> = (0..length)
        .map(|j| match below(j, 3, 12) {
            0 => b' ',
            1 => letter(j, 4).to_ascii_uppercase(),
            _ => letter(j, 5),
        })
        .collect();
    let next_device = upload(&next.concat())?;
    let words_device = upload(&words)?;
    let text_device = upload(&text)?;
    let to: Buffer<u32> = zeroed(n)?;
    let raw = Args::new()
        .pointer(&next_device)
        .pointer(&words_device)
        .pointer(&text_device);
    let safe = Args::new().pointer(&next_device).value(next.len());
    Ok(Case::new("dictionary", n.div_ceil(128), 128)
        .args(
            raw.clone()
                .value(length as i32)
                .pointer(&to)
                .value(n as i32),
            raw.value(length).pointer(&to).value(n),
            safe.slice(&words_device).slice(&text_device).output(&to),
        )
        .input(&next_device)
        .input(&words_device)
        .input(&text_device)
        .output(&to)
        .check(move || {
            equal(&to, |i| {
                let mut count = 0;
                let end = ((i + 1) * k::PART).min(length);
                for at in i * k::PART..end {
                    for word in &dictionary {
                        let from = (at + 1).checked_sub(word.len());
                        let found = from.map(|from| text[from..=at].eq_ignore_ascii_case(word));
                        count += u32::from(found == Some(true));
                    }
                }
                count
            })
        }))
}
