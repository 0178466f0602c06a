//! Kernels in many styles.

// The cases are as their author wrote them.
#![allow(
    clippy::approx_constant,
    clippy::chunks_exact_to_as_chunks,
    clippy::excessive_precision,
    clippy::manual_is_multiple_of,
    clippy::manual_try_fold,
    clippy::needless_range_loop,
    clippy::precedence
)]

use super::Scale;
use crate::case::{
    Args, Case, Number, close, download, equal, near, random, same, samples, uniform, uniform_f32,
    upload, zeroed,
};
use cust::error::CudaResult;

/// Concatenates the results of `make` for 0 to `n`, and returns where each one starts.
fn concat<T>(n: usize, mut make: impl FnMut(u64, &mut Vec<T>)) -> (Vec<T>, Vec<u32>) {
    let mut all = Vec::new();
    let mut starts = vec![0];
    for i in 0..n {
        make(i as u64, &mut all);
        starts.push(all.len() as u32);
    }
    (all, starts)
}

/// A pseudorandom sequence.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 += 1;
        random(self.0)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n
    }
}

fn expression(rng: &mut Rng, depth: u32, text: &mut Vec<u8>) {
    let terms = 1 + rng.below(4);
    for term in 0..terms {
        if term > 0 {
            text.push(b"+-*/%+-*"[rng.below(8) as usize]);
            if rng.below(3) == 0 {
                text.push(b' ');
            }
        }
        if depth < 4 && rng.below(10) < 3 {
            text.push(b'(');
            expression(rng, depth + 1, text);
            text.push(b')');
        } else {
            text.extend(rng.below(1000).to_string().bytes());
        }
    }
    if rng.below(200) == 0 {
        text.push(b"?)(+"[rng.below(4) as usize]);
    }
}

fn evaluate(text: &[u8]) -> Option<i64> {
    fn apply(op: u8, values: &mut Vec<i64>) -> Option<()> {
        let (b, a) = (values.pop()?, values.pop()?);
        values.push(match op {
            b'+' => a.wrapping_add(b),
            b'-' => a.wrapping_sub(b),
            b'*' => a.wrapping_mul(b),
            b'/' => a.checked_div(b)?,
            b'%' => a.checked_rem(b)?,
            _ => return None,
        });
        Some(())
    }
    let rank = |op| match op {
        b'+' | b'-' => 1,
        b'(' => 0,
        _ => 2,
    };
    let (mut values, mut ops) = (Vec::new(), Vec::new());
    let mut i = 0;
    while i < text.len() {
        match text[i] {
            b' ' => {}
            b'0'..=b'9' => {
                let end = text[i..].iter().position(|c| !c.is_ascii_digit());
                let end = end.map_or(text.len(), |len| i + len);
                values.push(std::str::from_utf8(&text[i..end]).ok()?.parse().ok()?);
                i = end - 1;
            }
            b'(' => ops.push(b'('),
            b')' => loop {
                match ops.pop()? {
                    b'(' => break,
                    op => apply(op, &mut values)?,
                }
            },
            op if b"+-*/%".contains(&op) => {
                while ops.last().is_some_and(|&top| rank(top) >= rank(op)) {
                    apply(ops.pop()?, &mut values)?;
                }
                ops.push(op);
            }
            _ => return None,
        }
        assert!(ops.len() <= 16 && values.len() <= 16);
        i += 1;
    }
    while let Some(op) = ops.pop() {
        apply(op, &mut values)?;
    }
    values.pop()
}

pub fn infix_calc(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 18);
    let (text, starts) = concat(n, |i, text| expression(&mut Rng(i << 20), 0, text));
    let (a, b) = (upload(&text)?, upload(&starts)?);
    let to = zeroed::<i64>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("infix_calc", n.div_ceil(256), 256)
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
                let text = &text[starts[i] as usize..starts[i + 1] as usize];
                evaluate(text).unwrap_or(i64::MIN)
            })
        }))
}

const NEIGHBORS: [(f64, f64); 16] = [
    (-7.9, -22.2),
    (-8.4, -22.4),
    (-7.8, -21.0),
    (-7.2, -20.4),
    (-8.5, -22.7),
    (-8.0, -19.9),
    (-10.6, -27.2),
    (-7.8, -21.0),
    (-8.2, -22.2),
    (-9.8, -24.4),
    (-8.0, -19.9),
    (-8.4, -22.4),
    (-7.2, -21.3),
    (-8.2, -22.2),
    (-8.5, -22.7),
    (-7.9, -22.2),
];

fn melt(p: &[u8], log_concentration: f64) -> f64 {
    let base = |c: u8| b"ACGT".iter().position(|&b| b == c);
    let (mut h, mut s) = (0.2, -5.7);
    for k in 1..p.len() {
        match (base(p[k - 1]), base(p[k])) {
            (Some(a), Some(b)) => {
                h += NEIGHBORS[4 * a + b].0;
                s += NEIGHBORS[4 * a + b].1;
            }
            _ => return -1.0,
        }
    }
    for end in [p[0], p[p.len() - 1]] {
        if b"AT".contains(&end) {
            h += 2.2;
            s += 6.9;
        }
    }
    let (mut run, mut longest) = (1, 1);
    for k in 1..p.len() {
        run = if p[k] == p[k - 1] { run + 1 } else { 1 };
        longest = run.max(longest);
    }
    let mut folds = 0;
    for gap in 3..p.len() / 2 {
        let mut k = 0;
        while k < p.len() - gap
            && base(p[k]).unwrap() + base(p[p.len() - 1 - gap - k]).unwrap() == 3
        {
            k += 1;
        }
        folds = folds.max(k);
    }
    let melting = 1000.0 * h / (s + 1.987 * log_concentration) - 273.15;
    melting - 0.5 * (longest as f64 - 3.0).max(0.0) - 0.75 * folds as f64
}

pub fn primer_melt(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 20);
    let (bases, starts) = concat(n, |i, to| {
        let mut rng = Rng(i << 20);
        for _ in 0..18 + rng.below(14) {
            let letter = if rng.below(500) == 0 {
                b'N'
            } else {
                b"ACGT"[rng.below(4) as usize]
            };
            let repeat = if rng.below(6) == 0 { 3 } else { 1 };
            to.extend(std::iter::repeat_n(letter, repeat));
        }
    });
    let (a, b) = (upload(&bases)?, upload(&starts)?);
    let to = zeroed::<f32>(n)?;
    let t = to.clone();
    let log = (0.25e-6f32 / 4.0).ln();
    let raw = Args::new().pointer(&a).pointer(&b).value(log).pointer(&to);
    Ok(Case::new("primer_melt", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).slice(&b).value(log).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            close(&t, 1e-4, 1e-2, |i| {
                melt(
                    &bases[starts[i] as usize..starts[i + 1] as usize],
                    log.into(),
                )
            })
        }))
}

pub fn codon_counts(scale: Scale) -> CudaResult<Case> {
    let genes = scale.pick(1500, 700_000);
    let (bases, starts) = concat(genes, |i, to| {
        let mut rng = Rng(i << 20);
        for _ in 0..rng.below(60) {
            let mut bits = rng.next();
            let letter = |bits: u64| b"ACGT"[(bits >> 62) as usize];
            if bits % 97 == 0 {
                to.extend(*b"ANT");
            } else {
                for _ in 0..3 {
                    to.push(letter(bits));
                    bits <<= 2;
                }
            }
        }
        to.extend(&b"AC"[..rng.below(3) as usize]);
    });
    let (a, b) = (upload(&bases)?, upload(&starts)?);
    let to = zeroed::<u32>(64)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    let mut counts = [0u32; 64];
    for i in 0..genes {
        for codon in bases[starts[i] as usize..starts[i + 1] as usize].chunks_exact(3) {
            let digits = codon.iter().map(|c| b"TCAG".iter().position(|d| d == c));
            let Some(index) = digits.fold(Some(0), |sum, digit| Some(4 * sum? + digit?)) else {
                break;
            };
            if [10, 11, 14].contains(&index) {
                break;
            }
            counts[index] += 1;
        }
    }
    Ok(Case::new("codon_counts", scale.blocks(8), 256)
        .args(
            raw.clone().value(genes as i32),
            raw.value(genes),
            Args::new().slice(&a).slice(&b).slice(&to),
        )
        .input(&a)
        .input(&b)
        .output_from(&to, 0)
        .reset()
        .check(move || equal(&t, |i| counts[i])))
}

pub fn arc_resample(scale: Scale) -> CudaResult<Case> {
    let lines = scale.pick(5, 8000);
    let (points, starts) = concat(lines, |i, to: &mut Vec<[f32; 2]>| {
        let mut rng = Rng(i << 20);
        let (mut x, mut y, mut angle) = (0.0f32, 0.0f32, 0.0f32);
        for _ in 0..2 + rng.below(1023) {
            to.push([x, y]);
            angle += (rng.below(1000) as f32 - 500.0) / 800.0;
            let step = rng.below(1000) as f32 / 1000.0;
            x += step * angle.cos();
            y += step * angle.sin();
        }
    });
    let x: Vec<f32> = points.iter().map(|p| p[0]).collect();
    let y: Vec<f32> = points.iter().map(|p| p[1]).collect();
    let (a, b, c) = (upload(&x)?, upload(&y)?, upload(&starts)?);
    let to = zeroed::<[f32; 2]>(lines * 256)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&c).pointer(&to);
    Ok(Case::new("arc_resample", lines, 256)
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
            let results = download(&t)?;
            for line in samples(lines).step_by(1 + lines / 100) {
                let p = &points[starts[line] as usize..starts[line + 1] as usize];
                let mut along = vec![0.0f64];
                for k in 1..p.len() {
                    let [dx, dy] = [0, 1].map(|c| f64::from(p[k][c]) - f64::from(p[k - 1][c]));
                    along.push(along[k - 1] + dx.hypot(dy));
                }
                let length = along[p.len() - 1];
                for k in 0..256 {
                    let goal = length * k as f64 / 255.0;
                    let i = along.partition_point(|&at| at < goal).clamp(1, p.len() - 1);
                    let part = (goal - along[i - 1]) / (along[i] - along[i - 1]).max(1e-12);
                    for c in 0..2 {
                        let [from, to] = [i - 1, i].map(|i| f64::from(p[i][c]));
                        let expected = from + part.clamp(0.0, 1.0) * (to - from);
                        near(
                            line * 256 + k,
                            results[line * 256 + k][c],
                            expected,
                            1e-4,
                            4e-3,
                        )?;
                    }
                }
            }
            Ok(())
        }))
}

const BLAKE_IV: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];
const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

fn blake(record: &[u64]) -> [u64; 4] {
    let mut h = BLAKE_IV;
    h[0] ^= 0x0101_0020;
    for part in 0..2 {
        let m: Vec<u64> = (16 * part..16 * part + 16)
            .map(|i| record.get(i).copied().unwrap_or(0))
            .collect();
        let mut v: Vec<u64> = h.iter().chain(&BLAKE_IV).copied().collect();
        v[12] ^= [128, 192][part];
        if part == 1 {
            v[14] ^= u64::MAX;
        }
        for round in 0..12 {
            for k in 0..8 {
                let turn = |row: usize| 4 * row + (k + if k < 4 { 0 } else { row }) % 4;
                let [a, b, c, d] = [0, 1, 2, 3].map(turn);
                for (half, turns) in [[32, 24], [16, 63]].into_iter().enumerate() {
                    let word = m[SIGMA[round % 10][2 * k + half]];
                    v[a] = v[a].wrapping_add(v[b]).wrapping_add(word);
                    v[d] = (v[d] ^ v[a]).rotate_right(turns[0]);
                    v[c] = v[c].wrapping_add(v[d]);
                    v[b] = (v[b] ^ v[c]).rotate_right(turns[1]);
                }
            }
        }
        for k in 0..8 {
            h[k] ^= v[k] ^ v[k + 8];
        }
    }
    [h[0], h[1], h[2], h[3]]
}

pub fn blake2b(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let words: Vec<u64> = (0..n as u64 * 24).map(random).collect();
    let a = upload(&words)?;
    let to = zeroed::<[u64; 4]>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to);
    Ok(Case::new("blake2b", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).output(&to),
        )
        .input(&a)
        .output(&to)
        .check(move || equal(&t, |i| blake(&words[i * 24..i * 24 + 24]))))
}

pub fn qoi_strips(scale: Scale) -> CudaResult<Case> {
    let strips = scale.pick(300, 1 << 15);
    let pixels = scale.pick(100, 256);
    let mut image = vec![0u32; strips * pixels];
    let (bytes, starts) = concat(strips, |strip, to| {
        let mut rng = Rng(strip << 20);
        let mut seen = [[0u8; 4]; 64];
        let mut last = [0u8, 0, 0, 255];
        let mut run = 0;
        let mut palette = [[10u8, 20, 30, 255]; 4];
        for k in 0..pixels {
            let mut pixel = last;
            match rng.below(10) {
                0..4 => {}
                4..6 => pixel = palette[rng.below(4) as usize],
                6..7 => (0..3).for_each(|c| pixel[c] = pixel[c].wrapping_add(rng.below(4) as u8)),
                7..8 => (0..3).for_each(|c| pixel[c] = pixel[c].wrapping_sub(rng.below(16) as u8)),
                _ => {
                    (0..3).for_each(|c| pixel[c] = rng.below(256) as u8);
                    if rng.below(4) == 0 {
                        pixel[3] = rng.below(256) as u8;
                    }
                    palette[rng.below(4) as usize] = pixel;
                }
            }
            image[k * strips + strip as usize] = u32::from_le_bytes(pixel);
            if pixel == last {
                run += 1;
                if run == 62 || k == pixels - 1 {
                    to.push(0xc0 | (run - 1));
                    run = 0;
                }
                // The decoder stores pixels of runs, too.
                let [r, g, b, a] = pixel.map(usize::from);
                seen[(3 * r + 5 * g + 7 * b + 11 * a) % 64] = pixel;
                continue;
            }
            if run > 0 {
                to.push(0xc0 | (run - 1));
                run = 0;
            }
            let [r, g, b, a] = pixel.map(usize::from);
            let slot = (3 * r + 5 * g + 7 * b + 11 * a) % 64;
            let [dr, dg, db] = [0, 1, 2].map(|c| pixel[c].wrapping_sub(last[c]) as i8);
            let [er, eb] = [dr.wrapping_sub(dg), db.wrapping_sub(dg)];
            if seen[slot] == pixel {
                to.push(slot as u8);
            } else if pixel[3] != last[3] {
                to.push(0xff);
                to.extend(pixel);
            } else if [dr, dg, db].iter().all(|d| (-2..2).contains(d)) {
                to.push(0x40 | ((dr + 2) << 4 | (dg + 2) << 2 | (db + 2)) as u8);
            } else if (-32..32).contains(&dg) && [er, eb].iter().all(|d| (-8..8).contains(d)) {
                to.push(0x80 | (dg + 32) as u8);
                to.push(((er + 8) << 4) as u8 | (eb + 8) as u8);
            } else {
                to.push(0xfe);
                to.extend(&pixel[..3]);
            }
            seen[slot] = pixel;
            last = pixel;
        }
    });
    let (a, b) = (upload(&bytes)?, upload(&starts)?);
    let to = zeroed::<u32>(strips * pixels)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("qoi_strips", strips.div_ceil(128), 128)
        .args(
            raw.clone().value(strips as i32).value(pixels as i32),
            raw.value(strips).value(pixels),
            Args::new().slice(&a).slice(&b).rows(&to, strips),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || equal(&t, |i| image[i])))
}

pub fn order_book(scale: Scale) -> CudaResult<Case> {
    let stocks = scale.pick(300, 1 << 15);
    let orders = scale.pick(40, 100);
    let mut kinds = Vec::new();
    let mut prices = Vec::new();
    let mut sizes = Vec::new();
    for i in 0..stocks * orders {
        let mut rng = Rng((i as u64) << 20);
        let kind = [0u8, 0, 0, 0, 1, 1, 1, 1, 2, 3, 4, 4][rng.below(12) as usize];
        kinds.push(kind);
        let side = if kind == 0 { 0 } else { 4 };
        prices.push(1000 + (side + rng.below(16)) as u16);
        sizes.push(1 + rng.below(500) as u32);
    }
    let (a, b, c) = (upload(&kinds)?, upload(&prices)?, upload(&sizes)?);
    let to = zeroed::<[u32; 4]>(stocks)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&c).pointer(&to);
    Ok(Case::new("order_book", stocks.div_ceil(128), 128)
        .args(
            raw.clone().value(stocks as i32).value(orders as i32),
            raw.value(stocks).value(orders),
            Args::new().slice(&a).slice(&b).slice(&c).output(&to),
        )
        .input(&a)
        .input(&b)
        .input(&c)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                // Buyers, and sellers with negative prices: the highest is the best.
                let mut book = [Vec::<(i32, u32)>::new(), Vec::new()];
                let (mut volume, mut value) = (0, 0u32);
                for k in 0..orders {
                    let at = k * stocks + i;
                    let price = i32::from(prices[at]);
                    let mut size = sizes[at];
                    let kind = kinds[at];
                    if kind == 4 {
                        for (side, sign) in [(0, 1), (1, -1)] {
                            if let Some(p) = book[side].iter().position(|l| l.0 == sign * price) {
                                book[side].remove(p);
                            }
                        }
                        continue;
                    }
                    let own = kind as usize % 2;
                    let sign = if own == 0 { 1 } else { -1 };
                    let other = &mut book[1 - own];
                    while size > 0 && !other.is_empty() {
                        if kind < 2 && -other[0].0 > price * sign {
                            break;
                        }
                        let traded = size.min(other[0].1);
                        volume += traded;
                        value = value.wrapping_add(traded * other[0].0.unsigned_abs());
                        size -= traded;
                        other[0].1 -= traded;
                        if other[0].1 == 0 {
                            other.remove(0);
                        }
                    }
                    if kind < 2 && size > 0 {
                        let side = &mut book[own];
                        match side.iter().position(|l| l.0 <= sign * price) {
                            Some(p) if side[p].0 == sign * price => side[p].1 += size,
                            p => side.insert(p.unwrap_or(side.len()), (sign * price, size)),
                        }
                        side.truncate(8);
                    }
                }
                let best = |side: &[(i32, u32)]| side.first().map_or(0, |l| l.0.unsigned_abs());
                [volume, value, best(&book[0]), best(&book[1])]
            })
        }))
}

pub fn geomag_field(scale: Scale) -> CudaResult<Case> {
    const DEGREE: usize = 10;
    let n = scale.pick(300, 1 << 19);
    let places: Vec<[f64; 3]> = (0..n as u64)
        .map(|i| {
            let [a, b, c] = [0, 1, 2].map(|k| uniform(3 * i + k));
            [0.05 + 3.0 * a, 6.28 * b, 1.0 + 0.2 * c]
        })
        .collect();
    let mut coefficients = Vec::new();
    for m in 0..=DEGREE {
        for n in m..=DEGREE {
            let [g, h] = [1, 2].map(|k| uniform((900 * k + 30 * m + n) as u64) - 0.5);
            let (n, m) = (n as f64, m as f64);
            let factor = (n * n - m * m) / ((2.0 * n + 1.0) * (2.0 * n - 1.0));
            coefficients.push([g * 100.0, h * 100.0, factor]);
        }
    }
    let (a, b) = (upload(&places)?, upload(&coefficients)?);
    let to = zeroed::<[f64; 3]>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("geomag_field", n.div_ceil(256), 256)
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
                let [theta, phi, r] = places[i];
                let (s, c) = theta.sin_cos();
                let mut p = [[0.0f64; DEGREE + 2]; DEGREE + 2];
                let mut dp = p;
                p[0][0] = 1.0;
                let mut sums = [0.0; 3];
                let mut k = 0;
                for m in 0..=DEGREE {
                    if m > 0 {
                        p[m][m] = s * p[m - 1][m - 1];
                        dp[m][m] = s * dp[m - 1][m - 1] + c * p[m - 1][m - 1];
                    }
                    for n in m..=DEGREE {
                        if n > m {
                            let factor = coefficients[k - 1][2];
                            let [p0, dp0] = match n - m {
                                1 => [0.0; 2],
                                _ => [p[n - 2][m], dp[n - 2][m]],
                            };
                            p[n][m] = c * p[n - 1][m] - factor * p0;
                            dp[n][m] = c * dp[n - 1][m] - s * p[n - 1][m] - factor * dp0;
                        }
                        let [g, h, _] = coefficients[k];
                        k += 1;
                        let (sm, cm) = (m as f64 * phi).sin_cos();
                        let power = r.powi(-(n as i32) - 2);
                        sums[0] += power * (g * cm + h * sm) * dp[n][m];
                        sums[1] += power * m as f64 * (g * sm - h * cm) * p[n][m] / s;
                        sums[2] -= power * (n + 1) as f64 * (g * cm + h * sm) * p[n][m];
                    }
                }
                for k in 0..3 {
                    near(i, results[i][k], sums[k], 1e-9, 1e-7)?;
                }
            }
            Ok(())
        }))
}

pub fn weighted_quantile(scale: Scale) -> CudaResult<Case> {
    let rows = scale.pick(7, 4000);
    let (values, starts) = concat(rows, |i, to: &mut Vec<f32>| {
        let mut rng = Rng(i << 20);
        let mut value = -10.0;
        for _ in 0..1 + rng.below(3000) {
            value += rng.below(1000) as f32 / 50000.0;
            to.push(value);
        }
    });
    let mut weights: Vec<u32> = (0..values.len() as u64)
        .map(|i| {
            if random(i) % 5 == 0 {
                0
            } else {
                1 + (random(i) >> 40) as u32 % 1000
            }
        })
        .collect();
    for &start in &starts[..rows] {
        weights[start as usize] = 3; // so that the sum is not zero
    }
    let (a, b, c) = (upload(&values)?, upload(&weights)?, upload(&starts)?);
    let to = zeroed::<f32>(rows * 3)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&c).pointer(&to);
    Ok(Case::new("weighted_quantile", rows, 256)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).slice(&b).slice(&c).slice(&to),
        )
        .input(&a)
        .input(&b)
        .input(&c)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let (row, k) = (i / 3, i % 3);
                let range = starts[row] as usize..starts[row + 1] as usize;
                let total: u64 = weights[range.clone()].iter().map(|&w| u64::from(w)).sum();
                let goal = total * [25, 50, 90][k] / 100;
                let mut sum = 0;
                for i in range {
                    sum += u64::from(weights[i]);
                    if sum > goal {
                        return values[i];
                    }
                }
                f32::NAN
            })
        }))
}

pub fn traffic_ring(scale: Scale) -> CudaResult<Case> {
    const CARS: usize = 128;
    let roads = scale.pick(3, 4000);
    let steps = scale.pick(12, 100) as u32;
    // Distinct cells in rising order.
    let first: Vec<u32> = (0..roads * CARS)
        .map(|i| (i % CARS) as u32 * 5 + random(i as u64) as u32 % 5)
        .collect();
    let a = upload(&first)?;
    let to = zeroed::<u32>(roads * CARS)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).value(steps).pointer(&to);
    let noise = |seed: u32| {
        let x = (seed ^ 61 ^ (seed >> 16)).wrapping_mul(9);
        let x = (x ^ (x >> 4)).wrapping_mul(0x27d4_eb2d);
        x ^ (x >> 15)
    };
    Ok(Case::new("traffic_ring", roads, CARS)
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).value(steps).output(&to),
        )
        .input(&a)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for road in samples(roads).step_by(1 + roads / 40) {
                let base = road * CARS;
                let mut cells = first[base..base + CARS].to_vec();
                let (mut speeds, mut driven) = ([0; CARS], [0; CARS]);
                for step in 0..steps {
                    let old = cells.clone();
                    for car in 0..CARS {
                        let gap = (old[(car + 1) % CARS] + 700 - old[car]) % 700 - 1;
                        let mut speed = (speeds[car] + 1).min(5).min(gap);
                        if noise(((base + car) as u32).wrapping_mul(1024).wrapping_add(step)) % 4
                            == 0
                        {
                            speed = u32::saturating_sub(speed, 1);
                        }
                        speeds[car] = speed;
                        driven[car] += speed;
                        cells[car] = (old[car] + speed) % 700;
                    }
                }
                for car in 0..CARS {
                    same(base + car, results[base + car], driven[car])?;
                }
            }
            Ok(())
        }))
}

pub fn canny_edges(scale: Scale) -> CudaResult<Case> {
    let (width, height) = (scale.pick(75, 4000), scale.pick(29, 3000));
    let (low, high) = (60, 160);
    let image: Vec<u8> = (0..width * height)
        .map(|i| {
            let (x, y) = ((i % width) as f64, (i / width) as f64);
            let shape = (0.1 * x).sin() + (0.13 * y).sin() + (0.02 * (x + y)).cos();
            let bright = if shape > 0.3 {
                150.0
            } else {
                60.0 + 20.0 * shape
            };
            (bright + 25.0 * uniform(i as u64)) as u8
        })
        .collect();
    let a = upload(&image)?;
    let to = zeroed::<u8>(width * height)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).value(low).value(high).pointer(&to);
    Ok(Case::new(
        "canny_edges",
        (width.div_ceil(32), height.div_ceil(8)),
        (32, 8),
    )
    .args(
        raw.clone().value(width as i32).value(height as i32),
        raw.value(width as i32).value(height as i32),
        Args::new()
            .slice(&a)
            .value(low)
            .value(high)
            .rows(&to, width),
    )
    .input(&a)
    .output(&to)
    .check(move || {
        let at = |x: isize, y: isize| {
            let x = x.clamp(0, width as isize - 1) as usize;
            let y = y.clamp(0, height as isize - 1) as usize;
            i32::from(image[y * width + x])
        };
        // The kernel clamps pixels, not gradients.
        let gradient = |x: isize, y: isize| {
            let p = |dx, dy| at(x + dx, y + dy);
            (
                p(1, -1) + 2 * p(1, 0) + p(1, 1) - p(-1, -1) - 2 * p(-1, 0) - p(-1, 1),
                p(-1, 1) + 2 * p(0, 1) + p(1, 1) - p(-1, -1) - 2 * p(0, -1) - p(1, -1),
            )
        };
        let strength = |x, y| {
            let (gx, gy) = gradient(x, y);
            gx.abs() + gy.abs()
        };
        equal(&t, |i| {
            let (x, y) = ((i % width) as isize, (i / width) as isize);
            let (gx, gy) = gradient(x, y);
            let (dx, dy) = match (5 * gy.abs() < 2 * gx.abs(), 5 * gx.abs() < 2 * gy.abs()) {
                (true, _) => (1, 0),
                (_, true) => (0, 1),
                _ if (gx < 0) == (gy < 0) => (1, 1),
                _ => (-1, 1),
            };
            let own = strength(x, y);
            if own <= strength(x - dx, y - dy) || own < strength(x + dx, y + dy) || own < low {
                0
            } else if own >= high {
                255
            } else {
                128
            }
        })
    }))
}
const SHAPES: [[[u16; 4]; 4]; 7] = [
    [[15, 0, 0, 0], [1, 1, 1, 1], [15, 0, 0, 0], [1, 1, 1, 1]],
    [[3, 3, 0, 0], [3, 3, 0, 0], [3, 3, 0, 0], [3, 3, 0, 0]],
    [[7, 2, 0, 0], [1, 3, 1, 0], [2, 7, 0, 0], [2, 3, 2, 0]],
    [[3, 6, 0, 0], [2, 3, 1, 0], [3, 6, 0, 0], [2, 3, 1, 0]],
    [[6, 3, 0, 0], [1, 3, 2, 0], [6, 3, 0, 0], [1, 3, 2, 0]],
    [[7, 1, 0, 0], [1, 1, 3, 0], [4, 7, 0, 0], [3, 2, 2, 0]],
    [[7, 4, 0, 0], [3, 1, 1, 0], [1, 7, 0, 0], [2, 2, 3, 0]],
];

pub fn tetris_place(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 17);
    let boards: Vec<[u16; 20]> = (0..n as u64)
        .map(|i| {
            let mut rng = Rng(i << 20);
            let height = rng.below(17) as usize;
            let gap = rng.below(10);
            std::array::from_fn(|y| match y < height {
                true if rng.below(3) == 0 => 0x3ff & !(1 << gap),
                true => 0x3ff & (rng.next() | rng.next()) as u16 & !(1 << rng.below(10)),
                false => 0,
            })
        })
        .collect();
    let kinds: Vec<u8> = (0..n as u64).map(|i| (random(i ^ 77) % 7) as u8).collect();
    let (a, b) = (upload(&boards)?, upload(&kinds)?);
    let to = zeroed::<[i32; 2]>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("tetris_place", n.div_ceil(128), 128)
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
                let mut best = [-1, i32::MIN];
                for rotation in 0..4 {
                    let shape = SHAPES[kinds[i] as usize][rotation];
                    let width = 16 - shape.iter().fold(0, |a, b| a | b).leading_zeros();
                    for column in 0..=10 - width {
                        let mut rows = boards[i].to_vec();
                        rows.extend([0; 4]);
                        let cells = shape.map(|row| row << column);
                        let fits = |y: usize| (0..4).all(|k| rows[y + k] & cells[k] == 0);
                        let mut y = 20;
                        while y > 0 && fits(y - 1) {
                            y -= 1;
                        }
                        (0..4).for_each(|k| rows[y + k] |= cells[k]);
                        if rows[20..] != [0; 4] {
                            continue;
                        }
                        let before = rows.len();
                        rows.retain(|&row| row != 0x3ff);
                        let mut score = 76 * (before - rows.len()) as i32;
                        let height = |x: u32| {
                            rows.iter()
                                .rposition(|row| row >> x & 1 == 1)
                                .map_or(0, |y| y + 1)
                        };
                        for x in 0..10 {
                            let filled = rows.iter().filter(|&row| row >> x & 1 == 1).count();
                            score -= 51 * height(x) as i32 + 36 * (height(x) - filled) as i32;
                            if x > 0 {
                                score -= 18 * height(x).abs_diff(height(x - 1)) as i32;
                            }
                        }
                        if score >= best[1] {
                            best = [16 * rotation as i32 + column as i32, score];
                        }
                    }
                }
                best
            })
        }))
}

pub fn ip6_country(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 400_000);
    let ranges = scale.pick(50, 5000);
    let mut bounds: Vec<u128> = (0..2 * ranges as u64)
        .map(|i| {
            u128::from(0x2000 + random(i) % 0x2000) << 112 | u128::from(random(i + 1_000_000)) << 40
        })
        .collect();
    bounds.sort_unstable();
    let first: Vec<u128> = bounds.iter().copied().step_by(2).collect();
    let last: Vec<u128> = bounds.iter().copied().skip(1).step_by(2).collect();
    let country: Vec<u16> = (0..ranges as u64)
        .map(|i| 1 + (random(i) % 250) as u16)
        .collect();
    let (text, starts) = concat(n, |i, to: &mut Vec<u8>| {
        let mut rng = Rng(i << 20);
        let gap = rng.below(12) as usize;
        for k in 0..8 {
            let group = match k {
                0 => 0x2000 + rng.below(0x2000),
                _ => {
                    let limit = [3, 20, 300, 65536][rng.below(4) as usize];
                    rng.below(limit)
                }
            };
            if k == gap && k > 0 && k < 7 {
                to.push(b':');
                continue;
            }
            if k == gap + 1 && gap > 0 && gap < 6 {
                continue;
            }
            if k > 0 && !(k == 7 && gap == 6 && rng.below(2) == 0) {
                to.push(b':');
            }
            to.extend(format!("{group:x}").bytes());
        }
        if rng.below(30) == 0 {
            let place = to.len() - 1 - rng.below(5) as usize;
            to[place] = b"g:.f"[rng.below(4) as usize];
        }
    });
    let (a, b) = (upload(&text)?, upload(&starts)?);
    let (c, d, e) = (upload(&first)?, upload(&last)?, upload(&country)?);
    let to = zeroed::<u16>(n)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&c)
        .pointer(&d)
        .pointer(&e);
    Ok(Case::new("ip6_country", n.div_ceil(256), 256)
        .args(
            raw.clone()
                .value(ranges as i32)
                .pointer(&to)
                .value(n as i32),
            raw.value(ranges).pointer(&to).value(n),
            Args::new()
                .slice(&a)
                .slice(&b)
                .slice(&c)
                .slice(&d)
                .slice(&e)
                .output(&to),
        )
        .input(&a)
        .input(&b)
        .input(&c)
        .input(&d)
        .input(&e)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                let text = &text[starts[i] as usize..starts[i + 1] as usize];
                let text = std::str::from_utf8(text).unwrap();
                match text.parse::<std::net::Ipv6Addr>() {
                    Ok(address) if !text.contains('.') => {
                        let address = u128::from(address);
                        let place = first.iter().zip(&last);
                        let place = place
                            .into_iter()
                            .position(|(&a, &b)| a <= address && address <= b);
                        place.map_or(0, |place| country[place])
                    }
                    _ => 0xffff,
                }
            })
        }))
}

impl Number for [f32; 3] {
    fn bytes(self) -> Vec<u8> {
        self.into_iter().flat_map(f32::to_ne_bytes).collect()
    }
}

type Mat = [[f64; 3]; 3];

fn times(a: Mat, b: Mat) -> Mat {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

fn cross_matrix([x, y, z]: [f64; 3]) -> Mat {
    [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
}

pub fn imu_preint(scale: Scale) -> CudaResult<Case> {
    let windows = scale.pick(300, 1 << 16);
    let steps = scale.pick(12, 50);
    let bias = [0.01f32, -0.02, 0.015];
    let dt = 0.005f32;
    let make = |seed: u64, size: f32| -> Vec<[f32; 3]> {
        uniform_f32(3 * windows * steps, seed)
            .chunks(3)
            .map(|v| [0, 1, 2].map(|k| size * (v[k] - 0.5)))
            .collect()
    };
    let (gyro, acceleration) = (make(1, 12.0), make(2, 30.0));
    let (a, b) = (upload(&gyro)?, upload(&acceleration)?);
    let to = zeroed::<[f32; 8]>(windows)?;
    let t = to.clone();
    let cuda = Args::new().pointer(&a).pointer(&b);
    let raw = cuda.clone().value(bias).value(dt).pointer(&to);
    let cuda = bias
        .into_iter()
        .fold(cuda, Args::value)
        .value(dt)
        .pointer(&to);
    Ok(Case::new("imu_preint", windows.div_ceil(128), 128)
        .args(
            cuda.value(windows as i32).value(steps as i32),
            raw.value(windows).value(steps),
            Args::new()
                .slice(&a)
                .slice(&b)
                .value(bias)
                .value(dt)
                .output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            let dt = f64::from(dt);
            for i in samples(windows) {
                let one = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
                let (mut r, mut jr, mut jv): (Mat, Mat, Mat) = (one, [[0.0; 3]; 3], [[0.0; 3]; 3]);
                let (mut v, mut p) = ([0.0; 3], [0.0; 3]);
                for k in 0..steps {
                    let [g, f] = [&gyro, &acceleration].map(|x| x[k * windows + i].map(f64::from));
                    let turn: [f64; 3] = std::array::from_fn(|c| (g[c] - f64::from(bias[c])) * dt);
                    let angle = turn.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let w = cross_matrix(turn);
                    let ww = times(w, w);
                    let series = |[a, b]: [f64; 2]| -> Mat {
                        std::array::from_fn(|i| {
                            std::array::from_fn(|j| one[i][j] + a * w[i][j] + b * ww[i][j])
                        })
                    };
                    let step = series([angle.sin() / angle, (1.0 - angle.cos()) / angle.powi(2)]);
                    let right = series([
                        -(1.0 - angle.cos()) / angle.powi(2),
                        (angle - angle.sin()) / angle.powi(3),
                    ]);
                    let slope = times(times(r, cross_matrix(f)), jr);
                    for c in 0..3 {
                        let force: f64 = (0..3).map(|d| r[c][d] * f[d]).sum();
                        p[c] += v[c] * dt + 0.5 * force * dt * dt;
                        v[c] += force * dt;
                    }
                    let turned = std::array::from_fn(|i| std::array::from_fn(|j| step[j][i]));
                    let next = times(turned, jr);
                    for c in 0..3 {
                        for d in 0..3 {
                            jv[c][d] -= slope[c][d] * dt;
                            jr[c][d] = next[c][d] - right[c][d] * dt;
                        }
                    }
                    r = times(r, step);
                }
                let trace = |m: Mat| m[0][0] + m[1][1] + m[2][2];
                let expected = [p[0], p[1], p[2], v[0], v[1], v[2], trace(r), trace(jv)];
                for c in 0..8 {
                    near(i, results[i][c], expected[c], 1e-3, 3e-4)?;
                }
            }
            Ok(())
        }))
}

pub fn best_split(scale: Scale) -> CudaResult<Case> {
    let count = scale.pick(5, 6000);
    let size = scale.pick(1000, 4000);
    let labels: Vec<u8> = (0..size as u64)
        .map(|i| u8::from(random(i) % 3 == 0))
        .collect();
    let features: Vec<u8> = (0..count * size)
        .map(|i| {
            let label = u64::from(labels[i % size]);
            let limit = 50 + random((i / size) as u64 + 99) % 150;
            (random(i as u64 ^ 1 << 40) % 200 * limit / 200 + label * (limit / 8)) as u8
        })
        .collect();
    let (a, b) = (upload(&features)?, upload(&labels)?);
    let to = zeroed::<[f32; 2]>(count)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("best_split", scale.blocks(8), 256)
        .args(
            raw.clone().value(count as i32).value(size as i32),
            raw.value(count).value(size),
            Args::new().slice(&a).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(count) {
                let mut counts = [[0.0f64; 2]; 256];
                for k in 0..size {
                    counts[features[i * size + k] as usize][labels[k] as usize] += 1.0;
                }
                let impurity = |[a, b]: [f64; 2]| {
                    if a + b == 0.0 {
                        0.0
                    } else {
                        2.0 * a * b / (a + b)
                    }
                };
                let all = [0, 1].map(|c| counts.iter().map(|n| n[c]).sum::<f64>());
                let mut left = [0.0; 2];
                let gains = counts.map(|n| {
                    left = [left[0] + n[0], left[1] + n[1]];
                    impurity(all) - impurity(left) - impurity([all[0] - left[0], all[1] - left[1]])
                });
                let best = gains.into_iter().fold(0.0, f64::max);
                let [gain, bin] = results[i];
                near(i, gain, best, 1e-4, 1e-2)?;
                near(i, gain, gains[bin as usize], 1e-4, 1e-2)?;
            }
            Ok(())
        }))
}

pub fn jp_color(scale: Scale) -> CudaResult<Case> {
    let nodes = scale.pick(100, 500_000);
    let (neighbors, starts) = concat(nodes, |i, to: &mut Vec<u32>| {
        let mut rng = Rng(i << 20);
        for _ in 0..rng.below(if i % 20 == 0 { 200 } else { 40 }) {
            to.push(rng.below(nodes as u64) as u32);
        }
    });
    let colors: Vec<u8> = (0..nodes as u64)
        .map(|i| match random(i ^ 5) % 10 {
            0..9 if i % 7 != 0 => 1 + (random(i) % 30) as u8,
            _ => 0,
        })
        .collect();
    let (a, b, c) = (upload(&starts)?, upload(&neighbors)?, upload(&colors)?);
    let to = zeroed::<u8>(nodes)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&c).pointer(&to);
    let noise = |seed: u32| {
        let x = (seed ^ 61 ^ (seed >> 16)).wrapping_mul(9);
        let x = (x ^ (x >> 4)).wrapping_mul(0x27d4_eb2d);
        x ^ (x >> 15)
    };
    Ok(Case::new("jp_color", nodes.div_ceil(8), 256)
        .args(
            raw.clone().value(nodes as i32),
            raw.value(nodes),
            Args::new().slice(&a).slice(&b).slice(&c).output(&to),
        )
        .input(&a)
        .input(&b)
        .input(&c)
        .output(&to)
        .check(move || {
            equal(&t, |i| {
                if colors[i] != 0 {
                    return colors[i];
                }
                let around = &neighbors[starts[i] as usize..starts[i + 1] as usize];
                let rank = |i: u32| (noise(i), i);
                let wins = |&n: &u32| colors[n as usize] != 0 || rank(n) <= rank(i as u32);
                if !around.iter().all(wins) {
                    return 0;
                }
                let used = |color: &u8| around.iter().any(|&n| colors[n as usize] == *color);
                (1..64).find(|color| !used(color)).unwrap()
            })
        }))
}

impl Number for [f32; 8] {
    fn bytes(self) -> Vec<u8> {
        self.into_iter().flat_map(f32::to_ne_bytes).collect()
    }
}

impl Number for [u32; 8] {
    fn bytes(self) -> Vec<u8> {
        self.into_iter().flat_map(u32::to_ne_bytes).collect()
    }
}

pub fn scan_pose(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 16);
    let matches = scale.pick(30, 90);
    let truth = [0.4, -0.3, 0.2f64];
    let mut scan = [const { Vec::<f64>::new() }; 6];
    for k in 0..matches as u64 {
        let [u, v] = [1, 2].map(|c| uniform(9 * k + c));
        // A point on a wall of a rectangular room, and another one on the same wall.
        let (wall, point, normal) = match k % 4 {
            0 => ([5.0, 8.0 * u - 4.0], [5.0, 8.0 * v - 4.0], [-1.0, 0.0]),
            1 => ([-5.0, 8.0 * u - 4.0], [-5.0, 8.0 * v - 4.0], [1.0, 0.0]),
            2 => ([10.0 * u - 5.0, 4.0], [10.0 * v - 5.0, 4.0], [0.0, -1.0]),
            _ => ([10.0 * u - 5.0, -4.0], [10.0 * v - 5.0, -4.0], [0.0, 1.0]),
        };
        let (sin, cos) = truth[2].sin_cos();
        let [dx, dy] = [point[0] - truth[0], point[1] - truth[1]];
        let values = [
            cos * dx + sin * dy,
            cos * dy - sin * dx,
            wall[0],
            wall[1],
            normal[0],
            normal[1],
        ];
        for (to, value) in scan.iter_mut().zip(values) {
            to.push(value);
        }
    }
    let guesses: Vec<[f64; 3]> = (0..n as u64)
        .map(|i| {
            let size = if i % 3 == 0 { 0.02 } else { 0.6 };
            std::array::from_fn(|c| truth[c] + size * (uniform(3 * i + c as u64 + 77) - 0.5))
        })
        .collect();
    let buffers: Vec<_> = scan.iter().map(|s| upload(s)).collect::<CudaResult<_>>()?;
    let b = upload(&guesses)?;
    let to = zeroed::<[f64; 3]>(n)?;
    let t = to.clone();
    let raw = buffers.iter().fold(Args::new(), |args, b| args.pointer(b));
    let safe = buffers.iter().fold(Args::new(), |args, b| args.slice(b));
    let case = Case::new("scan_pose", n.div_ceil(128), 128).args(
        raw.clone()
            .value(matches as i32)
            .pointer(&b)
            .pointer(&to)
            .value(n as i32),
        raw.value(matches).pointer(&b).pointer(&to).value(n),
        safe.slice(&b).output(&to),
    );
    Ok(buffers
        .iter()
        .fold(case, |case, b| case.input(b))
        .input(&b)
        .output(&to)
        .check(move || {
            // The error of the linearization is of second order, so six steps converge to the truth.
            let results = download(&t)?;
            for i in samples(n) {
                for c in 0..3 {
                    near(i, results[i][c], truth[c], 0.0, 1e-7)?;
                }
            }
            Ok(())
        }))
}

pub fn nfa_warp(scale: Scale) -> CudaResult<Case> {
    let texts = scale.pick(20, 1 << 14);
    let length = scale.pick(100, 300);
    let mut pattern_letters = [0u8; 1024];
    let (mut first, mut last) = ([0u32; 32], [0u32; 32]);
    let mut masks = [[0u32; 32]; 4];
    let mut patterns = Vec::new();
    let mut at = 0;
    while at < 1024 {
        let len = (3 + random(at as u64) as usize % 12).min(1024 - at);
        first[at / 32] |= 1 << (at % 32);
        last[(at + len - 1) / 32] |= 1 << ((at + len - 1) % 32);
        for k in at..at + len {
            // A set of letters.
            let set = [1, 2, 4, 8, 3, 12, 15, 8][random(k as u64 + 5000) as usize % 8];
            pattern_letters[k] = set;
            for code in 0..4 {
                masks[code][k / 32] |= u32::from(set >> code & 1) << (k % 32);
            }
        }
        patterns.push(at..at + len);
        at += len;
    }
    let text: Vec<u8> = (0..texts * length)
        .map(|i| match random(i as u64 ^ 1 << 41) {
            x if x % 101 == 0 => b'N',
            x => b"ACGT"[(x >> 60) as usize % 4],
        })
        .collect();
    let (a, b, c, d) = (
        upload(&text)?,
        upload(&masks)?,
        upload(&first)?,
        upload(&last)?,
    );
    let to = zeroed::<u32>(texts)?;
    let t = to.clone();
    let tables = Args::new().pointer(&b).pointer(&c).pointer(&d);
    let raw = Args::new().pointer(&a);
    let end = tables.clone().pointer(&to);
    Ok(Case::new("nfa_warp", texts.div_ceil(8), 256)
        .args(
            raw.clone()
                .value(length as i32)
                .and(end.clone())
                .value(texts as i32),
            raw.value(length).and(end).value(texts),
            Args::new().slice(&a).value(length).and(tables).output(&to),
        )
        .input(&a)
        .input(&b)
        .input(&c)
        .input(&d)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(texts).step_by(1 + texts / 100) {
                let text = &text[i * length..(i + 1) * length];
                let fits = |set: u8, letter: u8| match b"ACGT".iter().position(|&l| l == letter) {
                    Some(code) => set >> code & 1 == 1,
                    None => false,
                };
                let mut count = 0;
                for pattern in &patterns {
                    let sets = &pattern_letters[pattern.clone()];
                    for part in text.windows(sets.len()) {
                        count += u32::from(sets.iter().zip(part).all(|(&s, &l)| fits(s, l)));
                    }
                }
                same(i, results[i], count)?;
            }
            Ok(())
        }))
}

pub fn silhouette(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 8000);
    let clusters: Vec<u8> = (0..n as u64)
        .map(|i| [0, 1, 2, 3, 4, 6, 7, 7][random(i) as usize % 8])
        .collect();
    let points: Vec<[f32; 3]> = (0..n)
        .map(|i| {
            let k = u64::from(clusters[i]);
            std::array::from_fn(|c| {
                let center = 4.0 * uniform(3 * k + c as u64);
                (center + 2.0 * uniform((3 * i + c) as u64 ^ 1 << 42)) as f32
            })
        })
        .collect();
    let mut sizes = [0u32; 8];
    clusters.iter().for_each(|&k| sizes[k as usize] += 1);
    let (a, b) = (upload(&points)?, upload(&clusters)?);
    let to = zeroed::<f32>(n)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .value(sizes)
        .pointer(&to);
    Ok(Case::new("silhouette", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).slice(&b).value(sizes).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(n).step_by(1 + n / 500) {
                let mut sums = [0.0f64; 8];
                for j in 0..n {
                    let square = |c: usize| f64::from(points[i][c] - points[j][c]).powi(2);
                    sums[clusters[j] as usize] += (square(0) + square(1) + square(2)).sqrt();
                }
                let own = clusters[i] as usize;
                let inner = sums[own] / f64::from(sizes[own] - 1);
                let outer = (0..8)
                    .filter(|&k| k != own && sizes[k] > 0)
                    .map(|k| sums[k] / f64::from(sizes[k]))
                    .fold(f64::INFINITY, f64::min);
                near(
                    i,
                    results[i],
                    (outer - inner) / outer.max(inner),
                    1e-3,
                    1e-3,
                )?;
            }
            Ok(())
        }))
}

pub fn csg_field3d(scale: Scale) -> CudaResult<Case> {
    let (width, height, depth) = (scale.pick(37, 200), scale.pick(10, 200), scale.pick(5, 200));
    let size = 4.0f32;
    let program: Vec<(u32, [f32; 7])> = vec![
        (0, [1.0, 1.0, 1.0, 0.8, 0.0, 0.0, 0.0]),
        (1, [1.8, 1.2, 1.5, 0.6, 0.5, 0.9, 0.1]),
        (6, [0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        (2, [2.0, 1.0, 2.0, 0.9, 0.25, 0.0, 0.0]),
        (3, [0.0; 7]),
        (0, [2.2, 0.5, 0.7, 0.4, 0.0, 0.0, 0.0]),
        (5, [0.0; 7]),
        (1, [2.0, 2.0, 2.0, 1.9, 1.8, 1.7, 0.05]),
        (0, [2.0, 2.0, 2.0, 2.1, 0.0, 0.0, 0.0]),
        (4, [0.0; 7]),
        (4, [0.0; 7]),
        (2, [3.0, 3.0, 1.0, 0.5, 0.2, 0.0, 0.0]),
        (6, [0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    let nodes: Vec<[u32; 8]> = program
        .iter()
        .map(|(kind, values)| {
            std::array::from_fn(|k| {
                if k == 0 {
                    *kind
                } else {
                    values[k - 1].to_bits()
                }
            })
        })
        .collect();
    let a = upload(&nodes)?;
    let to = zeroed::<f32>(width * height * depth)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a);
    Ok(Case::new(
        "csg_field3d",
        (width.div_ceil(32), height.div_ceil(4), depth),
        (32, 4),
    )
    .args(
        [width, height, depth].into_iter().fold(
            raw.clone()
                .value(nodes.len() as i32)
                .value(size)
                .pointer(&to),
            |args, n| args.value(n as i32),
        ),
        [width, height, depth].into_iter().fold(
            raw.value(nodes.len()).value(size).pointer(&to),
            |args, n| args.value(n),
        ),
        Args::new().slice(&a).value(size).volume(&to, width, height),
    )
    .input(&a)
    .output(&to)
    .check(move || {
        close(&t, 1e-4, 1e-4, |i| {
            let place = [i % width, i / width % height, i / width / height];
            let p = place.map(|k| (k as f64 + 0.5) * f64::from(size) / width as f64);
            let mut stack = Vec::new();
            for (kind, values) in &program {
                let v = values.map(f64::from);
                let d = [p[0] - v[0], p[1] - v[1], p[2] - v[2]];
                let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
                let value = match kind {
                    0 => length(&d) - v[3],
                    1 => {
                        let q: Vec<f64> = (0..3).map(|k| d[k].abs() - v[3 + k]).collect();
                        let outside: Vec<f64> = q.iter().map(|q| q.max(0.0)).collect();
                        length(&outside) + q[0].max(q[1]).max(q[2]).min(0.0) - v[6]
                    }
                    2 => length(&[length(&[d[0], d[2]]) - v[3], d[1]]) - v[4],
                    _ => {
                        let b: f64 = stack.pop().unwrap();
                        let a: f64 = stack.pop().unwrap();
                        let h = (0.5 + 0.5 * (b - a) / v[0]).clamp(0.0, 1.0);
                        match kind {
                            3 => a.min(b),
                            4 => a.max(b),
                            5 => a.max(-b),
                            _ => b + (a - b) * h - v[0] * h * (1.0 - h),
                        }
                    }
                };
                stack.push(value);
            }
            stack[0]
        })
    }))
}

pub fn vessel3d(scale: Scale) -> CudaResult<Case> {
    let (width, height, depth) = (scale.pick(21, 250), scale.pick(13, 250), scale.pick(7, 200));
    let volume: Vec<f32> = (0..width * height * depth)
        .map(|i| {
            let [x, y, z] = [i % width, i / width % height, i / width / height].map(|k| k as f32);
            let tube = (0.5 * x).sin() * (0.4 * y + 0.1 * z).sin();
            100.0 * tube + 10.0 * uniform(i as u64) as f32
        })
        .collect();
    let a = upload(&volume)?;
    let to = zeroed::<f32>(volume.len())?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to);
    let raw = [width, height, depth]
        .into_iter()
        .fold(raw, |args, n| args.value(n as i32));
    let grid = (width.div_ceil(32), height.div_ceil(4), depth.div_ceil(2));
    Ok(Case::new("vessel3d", grid, (32, 4, 2))
        .args(
            raw.clone(),
            raw,
            Args::new().slice(&a).volume(&to, width, height),
        )
        .input(&a)
        .output(&to)
        .check(move || {
            close(&t, 2e-3, 1e-3, |i| {
                let place = [i % width, i / width % height, i / width / height];
                let at = |offset: [isize; 3]| {
                    let size = [width, height, depth];
                    let [x, y, z] = [0, 1, 2].map(|c| {
                        (place[c] as isize + offset[c]).clamp(0, size[c] as isize - 1) as usize
                    });
                    f64::from(volume[(z * height + y) * width + x])
                };
                let second = |a: usize, b: usize| {
                    let mut sum = 0.0;
                    let mut add = |p: isize, q: isize, factor: f64| {
                        let mut offset = [0; 3];
                        offset[a] += p;
                        offset[b] += q;
                        sum += factor * at(offset);
                    };
                    if a == b {
                        add(1, 0, 1.0);
                        add(0, 0, -2.0);
                        add(-1, 0, 1.0);
                    } else {
                        add(1, 1, 0.25);
                        add(-1, -1, 0.25);
                        add(1, -1, -0.25);
                        add(-1, 1, -0.25);
                    }
                    sum
                };
                let [xx, yy, zz] = [0, 1, 2].map(|c| second(c, c));
                let [xy, xz, yz] = [(0, 1), (0, 2), (1, 2)].map(|(a, b)| second(a, b));
                let trace = xx + yy + zz;
                let minors = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz;
                let determinant =
                    xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
                if trace < 0.0 && minors > 0.0 {
                    let blob = determinant.abs() / (trace.abs() * minors);
                    4.0 * minors / (trace * trace) * (-4.0 * blob).exp()
                } else {
                    0.0
                }
            })
        }))
}

pub fn rate_laws(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let steps = scale.pick(5, 12) as u32;
    let dt = 0.05f32;
    let start: Vec<[f32; 4]> = (0..n as u64)
        .map(|i| std::array::from_fn(|c| 0.1 + uniform(4 * i + c as u64) as f32))
        .collect();
    let temperatures: Vec<f32> = (0..n as u64)
        .map(|i| 280.0 + 60.0 * uniform(i + 9) as f32)
        .collect();
    let parameters = [4e3f32, 2.2e4, 0.8, 0.4, 1.2, 0.6, 2.5, 30.0];
    let (a, b) = (upload(&start)?, upload(&temperatures)?);
    let to = zeroed::<[f32; 4]>(n)?;
    let t = to.clone();
    let inputs = |args: Args| args.value(parameters).value(steps).value(dt);
    let raw = inputs(Args::new().pointer(&a).pointer(&b)).pointer(&to);
    Ok(Case::new("rate_laws", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            inputs(Args::new().slice(&a).slice(&b)).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            let p = parameters.map(f64::from);
            let dt = f64::from(dt);
            for i in samples(n) {
                let temperature = f64::from(temperatures[i]);
                let change = |a: [f64; 4]| {
                    let r0 = p[0] * (-p[1] / (8.314 * temperature)).exp() * a[0];
                    let r1 = p[2] * a[1] / (p[3] + a[1]);
                    let x = (a[2] / p[5]).powf(p[6]);
                    let r2 = p[4] * x / (1.0 + x);
                    let r3 = p[7] * (-0.5 * p[1] / (8.314 * temperature)).exp() * a[3];
                    [r3 - r0, r0 - r1, r1 - r2, r2 - r3]
                };
                let moved = |a: [f64; 4], b: [f64; 4], f: f64| -> [f64; 4] {
                    std::array::from_fn(|k| a[k] + f * b[k])
                };
                let mut x = start[i].map(f64::from);
                for _ in 0..steps {
                    let a = change(x);
                    let b = change(moved(x, a, 0.5 * dt));
                    let c = change(moved(x, b, 0.5 * dt));
                    let d = change(moved(x, c, dt));
                    for k in 0..4 {
                        x[k] += dt / 6.0 * (a[k] + 2.0 * b[k] + 2.0 * c[k] + d[k]);
                    }
                }
                for k in 0..4 {
                    near(i, results[i][k], x[k], 1e-4, 1e-5)?;
                }
            }
            Ok(())
        }))
}

pub fn triplet_mine(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(70, 1500);
    // Multiples of 1/64 below 2 are fp16 numbers: 1 + k/64 has the bits 0x3c00 + 16 k.
    let bits: Vec<u16> = (0..n as u64 * 64)
        .map(|i| 0x3c00 + 16 * (random(i) % 64) as u16)
        .collect();
    let value = |bits: u16| 1.0 + f64::from(bits - 0x3c00) / 1024.0;
    let classes: Vec<u32> = (0..n as u64).map(|i| (random(i + 5) % 10) as u32).collect();
    let (a, b) = (upload(&bits)?, upload(&classes)?);
    let to = zeroed::<[f32; 2]>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("triplet_mine", scale.blocks(8), 128)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().pointer(&a).value(n).slice(&b).output(&to),
        )
        .input(&a)
        .input(&b)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(n).step_by(1 + n / 300) {
                let mut hardest = [-1.0f64, f64::INFINITY];
                for j in (0..n).filter(|&j| j != i) {
                    let square =
                        |k: usize| (value(bits[64 * i + k]) - value(bits[64 * j + k])).powi(2);
                    let distance: f64 = (0..64).map(square).sum();
                    match classes[i] == classes[j] {
                        true => hardest[0] = hardest[0].max(distance),
                        false => hardest[1] = hardest[1].min(distance),
                    }
                }
                for c in 0..2 {
                    near(i, results[i][c], hardest[c], 1e-4, 1e-4)?;
                }
            }
            Ok(())
        }))
}

pub fn error_diffuse(scale: Scale) -> CudaResult<Case> {
    let images = scale.pick(2, 2500);
    let width = scale.pick(37, 256);
    let image: Vec<u8> = (0..images * 64 * width)
        .map(|i| {
            let (x, y) = ((i % width) as f32, (i / width) as f32);
            (127.0 + 90.0 * (0.05 * x).sin() * (0.03 * y).cos() + 30.0 * uniform(i as u64) as f32)
                as u8
        })
        .collect();
    let a = upload(&image)?;
    let to = zeroed::<u8>(image.len())?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to);
    Ok(Case::new("error_diffuse", images, 64)
        .args(
            raw.clone().value(width as i32),
            raw.value(width),
            Args::new().slice(&a).rows(&to, width),
        )
        .input(&a)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for number in samples(images).step_by(1 + images / 60) {
                let base = number * 64 * width;
                let mut errors = vec![0i32; 65 * (width + 2)];
                for y in 0..64 {
                    let mut right = 0;
                    for x in 0..width {
                        let sum = right + errors[y * (width + 2) + x + 1];
                        let i = base + y * width + x;
                        let value = i32::from(image[i]) + (sum >> 4);
                        let pixel = if value > 127 { 255 } else { 0 };
                        same(i, results[i], pixel)?;
                        let error = value - i32::from(pixel);
                        right = 7 * error;
                        for (k, factor) in [3, 5, 1].into_iter().enumerate() {
                            errors[(y + 1) * (width + 2) + x + k] += factor * error;
                        }
                    }
                }
            }
            Ok(())
        }))
}

const RESIDUES: [f32; 26] = [
    71.037_11, 0.0, 103.009_19, 115.026_94, 129.042_59, 147.068_41, 57.021_46, 137.058_91,
    113.084_06, 0.0, 128.094_96, 113.084_06, 131.040_49, 114.042_93, 0.0, 97.052_76, 128.058_58,
    156.101_11, 87.032_03, 101.047_68, 0.0, 99.068_41, 186.079_31, 0.0, 163.063_33, 0.0,
];

fn fragments(peptide: &[u8]) -> Vec<f32> {
    let mut masses = Vec::new();
    let mut sum = 1.007_28f32;
    for &residue in &peptide[..11] {
        sum += RESIDUES[usize::from(residue - b'A')];
        masses.push(sum);
    }
    sum = 19.017_84;
    for &residue in peptide[1..].iter().rev() {
        sum += RESIDUES[usize::from(residue - b'A')];
        masses.push(sum);
    }
    masses
}

pub fn spectrum_match(scale: Scale) -> CudaResult<Case> {
    let spectra = scale.pick(3, 4000);
    let peptides: Vec<[u8; 12]> = (0..spectra as u64 * 128)
        .map(|i| {
            let mut rng = Rng(i << 20);
            std::array::from_fn(|_| b"ACDEFGHIKLMNPQRSTVWY"[rng.below(20) as usize])
        })
        .collect();
    let (peaks, starts) = concat(spectra, |i, to: &mut Vec<f32>| {
        let mut rng = Rng(i << 21);
        let hidden = peptides[i as usize * 128 + rng.below(128) as usize];
        let begin = to.len();
        for mass in fragments(&hidden) {
            if rng.below(4) > 0 {
                to.push(mass + (rng.below(100) as f32 - 50.0) / 3000.0);
            }
        }
        for _ in 0..rng.below(400) {
            to.push(50.0 + rng.below(1_500_000) as f32 / 1000.0);
        }
        to[begin..].sort_by(f32::total_cmp);
    });
    let intensities = uniform_f32(peaks.len(), 3);
    let (a, b, c, d) = (
        upload(&peaks)?,
        upload(&intensities)?,
        upload(&starts)?,
        upload(&peptides)?,
    );
    let to = zeroed::<[f32; 2]>(spectra)?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .pointer(&b)
        .pointer(&c)
        .pointer(&d)
        .pointer(&to);
    Ok(Case::new("spectrum_match", spectra, 128)
        .args(
            raw.clone(),
            raw,
            Args::new()
                .slice(&a)
                .slice(&b)
                .slice(&c)
                .slice(&d)
                .output(&to),
        )
        .input(&a)
        .input(&b)
        .input(&c)
        .input(&d)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(spectra).step_by(1 + spectra / 500) {
                let range = starts[i] as usize..starts[i + 1] as usize;
                let (peaks, intensities) = (&peaks[range.clone()], &intensities[range]);
                let scores: Vec<f64> = (0..128)
                    .map(|k| {
                        let mut score = 0.0;
                        for mass in fragments(&peptides[i * 128 + k]) {
                            let place = peaks.partition_point(|&peak| peak < mass - 0.02);
                            if peaks.get(place).is_some_and(|&peak| peak <= mass + 0.02) {
                                score += f64::from(intensities[place]);
                            }
                        }
                        score
                    })
                    .collect();
                let best = scores.iter().copied().fold(0.0, f64::max);
                near(i, results[i][0], best, 1e-5, 1e-5)?;
                near(i, results[i][0], scores[results[i][1] as usize], 1e-5, 1e-5)?;
            }
            Ok(())
        }))
}

pub fn compressor_q15(scale: Scale) -> CudaResult<Case> {
    const GAINS: [i64; 17] = [
        32767, 32767, 32767, 32767, 30000, 27500, 25300, 23400, 21700, 20200, 18900, 17700, 16600,
        15700, 14900, 14200, 13600,
    ];
    let channels = scale.pick(300, 1 << 16);
    let count = scale.pick(40, 250);
    let signal: Vec<i16> = (0..channels * count)
        .map(|i| {
            let loud = (random((i % channels) as u64) % 40000) as f64;
            let swell = if (i / channels) % 70 < 30 { 1.0 } else { 0.2 };
            (swell * loud * 2.0 * (uniform(i as u64) - 0.5)) as i16
        })
        .collect();
    let (attack, release) = (9000i32, 1200i32);
    let a = upload(&signal)?;
    let to = zeroed::<i16>(signal.len())?;
    let t = to.clone();
    let raw = Args::new()
        .pointer(&a)
        .value(attack)
        .value(release)
        .pointer(&to);
    Ok(Case::new("compressor_q15", channels.div_ceil(128), 128)
        .args(
            raw.clone().value(channels as i32).value(count as i32),
            raw.value(channels).value(count),
            Args::new()
                .slice(&a)
                .value(attack)
                .value(release)
                .rows(&to, channels),
        )
        .input(&a)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            let limit = |x: i64| x.clamp(-32768, 32767);
            for channel in samples(channels) {
                let mut level = 0;
                for k in 0..count {
                    let i = k * channels + channel;
                    let sample = i64::from(signal[i]);
                    let change = limit(limit(sample.abs()) - level);
                    let speed = i64::from(if change > 0 { attack } else { release });
                    level = limit(level + limit((change * speed + 0x4000) >> 15));
                    let place = level.max(0);
                    let [low, high] = [0, 1].map(|k| GAINS[(place >> 11) as usize + k]);
                    let part = (place & 0x7ff) << 4;
                    let gain = limit(low + limit(((high - low) * part + 0x4000) >> 15));
                    same(
                        i,
                        i64::from(results[i]),
                        limit((sample * gain + 0x4000) >> 15),
                    )?;
                }
            }
            Ok(())
        }))
}

pub fn timestamps(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 20);
    let mut expected = Vec::new();
    let (text, starts) = concat(n, |i, to: &mut Vec<u8>| {
        let mut rng = Rng(i << 20);
        let days = rng.below(40000) as i64 - 8000;
        let seconds = rng.below(86400) as i64;
        // The Gregorian calendar, by counting.
        let (mut year, mut rest) = (1948, days + 8035);
        let leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
        while rest >= 365 + i64::from(leap(year)) {
            rest -= 365 + i64::from(leap(year));
            year += 1;
        }
        let mut month = 1;
        for len in [
            31,
            28 + i64::from(leap(year)),
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ] {
            if rest < len {
                break;
            }
            rest -= len;
            month += 1;
        }
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let begin = to.len();
        to.extend(format!("{year:04}-{month:02}-{:02}T{h:02}:{m:02}:{s:02}", rest + 1).bytes());
        let mut millis = 0;
        let digits = rng.below(4) as u32;
        if digits > 0 {
            let fraction = rng.below(10u64.pow(digits)) as i64;
            millis = fraction * 10i64.pow(3 - digits);
            to.extend(format!(".{fraction:0w$}", w = digits as usize).bytes());
        }
        let mut offset = 0;
        match rng.below(3) {
            0 => to.push(b'Z'),
            k => {
                offset = (15 * rng.below(48)) as i64;
                let sign = if k == 1 { '+' } else { '-' };
                to.extend(format!("{sign}{:02}:{:02}", offset / 60, offset % 60).bytes());
                offset *= if k == 1 { 1 } else { -1 };
            }
        }
        // 1948-01-01 is day -8036.
        let mut value = (((days - 1) * 86400) + seconds - offset * 60) * 1000 + millis;
        if rng.below(50) == 0 {
            let place = begin + rng.below((to.len() - begin) as u64) as usize;
            to[place] = b'x';
            value = i64::MIN;
        }
        expected.push(value);
    });
    let (a, b) = (upload(&text)?, upload(&starts)?);
    let to = zeroed::<i64>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&b).pointer(&to);
    Ok(Case::new("timestamps", n.div_ceil(256), 256)
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

pub fn biweight(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(700, 1 << 20);
    let signal: Vec<f32> = (0..n as u64 + 14)
        .map(|i| {
            let spike = if random(i) % 9 == 0 { 5.0 } else { 0.2 };
            (0.01 * i as f64).sin() as f32 + spike * uniform(i + 7) as f32
        })
        .collect();
    let a = upload(&signal)?;
    let to = zeroed::<f32>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to);
    Ok(Case::new("biweight", n.div_ceil(256), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).output(&to),
        )
        .input(&a)
        .output(&to)
        .check(move || {
            close(&t, 1e-4, 1e-4, |i| {
                let values: Vec<f64> = signal[i..i + 15].iter().map(|&x| x.into()).collect();
                let median = |mut values: Vec<f64>| {
                    values.sort_by(f64::total_cmp);
                    values[7]
                };
                let center = median(values.clone());
                let deviation = median(values.iter().map(|x| (x - center).abs()).collect());
                let weight = |x: f64| {
                    let distance = (x - center) / (6.0 * deviation.max(1e-6));
                    (1.0 - distance * distance).max(0.0).powi(2)
                };
                let sum: f64 = values.iter().map(|&x| weight(x) * x).sum();
                sum / values.iter().map(|&x| weight(x)).sum::<f64>()
            })
        }))
}

pub fn circle_fit(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(70, 1 << 17);
    let points: Vec<[f32; 2]> = (0..n * 64)
        .map(|i| {
            let arc = (i / 64) as u64;
            let [x, y, r, start, length] = [0, 1, 2, 3, 4].map(|c| uniform(5 * arc + c));
            let angle = 6.3 * start + (1.0 + 4.0 * length) * (i % 64) as f64 / 64.0;
            let radius = 0.5 + r + 0.02 * uniform(i as u64 ^ 1 << 43);
            [
                (10.0 * x + radius * angle.cos()) as f32,
                (10.0 * y + radius * angle.sin()) as f32,
            ]
        })
        .collect();
    let a = upload(&points)?;
    let to = zeroed::<[f32; 3]>(n)?;
    let t = to.clone();
    let raw = Args::new().pointer(&a).pointer(&to);
    Ok(Case::new("circle_fit", n.div_ceil(32), 256)
        .args(
            raw.clone().value(n as i32),
            raw.value(n),
            Args::new().slice(&a).output(&to),
        )
        .input(&a)
        .output(&to)
        .check(move || {
            let results = download(&t)?;
            for i in samples(n) {
                let arc = &points[i * 64..][..64];
                let mut s = [0.0f64; 8];
                for p in arc {
                    let [x, y] = [0, 1].map(|c| f64::from(p[c]) - f64::from(arc[0][c]));
                    let z = x * x + y * y;
                    let terms = [x, y, x * x, x * y, y * y, x * z, y * z, z];
                    (0..8).for_each(|k| s[k] += terms[k]);
                }
                let [xx, xy, yy] = [
                    s[2] - s[0] * s[0] / 64.0,
                    s[3] - s[0] * s[1] / 64.0,
                    s[4] - s[1] * s[1] / 64.0,
                ];
                let [xz, yz] = [s[5] - s[0] * s[7] / 64.0, s[6] - s[1] * s[7] / 64.0];
                let determinant = xx * yy - xy * xy;
                let x = 0.5 * (xz * yy - yz * xy) / determinant;
                let y = 0.5 * (yz * xx - xz * xy) / determinant;
                let radius = ((s[7] - 2.0 * (x * s[0] + y * s[1])) / 64.0 + x * x + y * y).sqrt();
                let expected = [x + f64::from(arc[0][0]), y + f64::from(arc[0][1]), radius];
                for c in 0..3 {
                    near(i, results[i][c], expected[c], 2e-3, 2e-3)?;
                }
            }
            Ok(())
        }))
}
