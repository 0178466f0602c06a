//! Text, automata, games, numerics, images and sequences: kernels in many styles, written by a
//! programmer who knew the documentation of `cuda_std` and nothing of the compiler.

// The kernels are as their author wrote them.
#![allow(
    clippy::chunks_exact_to_as_chunks,
    clippy::collapsible_match,
    clippy::manual_is_multiple_of,
    clippy::type_complexity
)]

use core::ops::{Add, AddAssign, Div, Mul, Neg, Shr, Sub};
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::{
    AnyBits, PerBlock, PerThread2d, PerThread3d, PerThreadChunk, PerTile, PerWarp, group,
};

// cordic_sincos

/// A number with 30 fractional bits, from -2 to 2.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Q30(i32);

impl Q30 {
    const ZERO: Q30 = Q30(0);
}

impl Add for Q30 {
    type Output = Q30;

    fn add(self, other: Q30) -> Q30 {
        Q30(self.0 + other.0)
    }
}

impl Sub for Q30 {
    type Output = Q30;

    fn sub(self, other: Q30) -> Q30 {
        Q30(self.0 - other.0)
    }
}

impl Neg for Q30 {
    type Output = Q30;

    fn neg(self) -> Q30 {
        Q30(-self.0)
    }
}

impl Shr<usize> for Q30 {
    type Output = Q30;

    fn shr(self, bits: usize) -> Q30 {
        Q30(self.0 >> bits)
    }
}

/// The product of the cosines of all angles.
const CORDIC_GAIN: Q30 = Q30(652032874);

/// The arc tangents of the powers of two, in units of 2^-30.
static CORDIC_ANGLES: [i32; 30] = [
    843314857, 497837829, 263043837, 133525159, 67021687, 33543516, 16775851, 8388437, 4194283,
    2097149, 1048576, 524288, 262144, 131072, 65536, 32768, 16384, 8192, 4096, 2048, 1024, 512,
    256, 128, 64, 32, 16, 8, 4, 2,
];

/// Rotates the x axis by an angle between -pi/2 and pi/2.
fn cordic(angle: Q30) -> (Q30, Q30) {
    CORDIC_ANGLES
        .iter()
        .enumerate()
        .fold(
            ((CORDIC_GAIN, Q30::ZERO), angle),
            |((x, y), rest), (i, &step)| {
                let step = Q30(step);
                if rest < Q30::ZERO {
                    ((x + (y >> i), y - (x >> i)), rest + step)
                } else {
                    ((x - (y >> i), y + (x >> i)), rest - step)
                }
            },
        )
        .0
}

/// Cosine and sine of fixed-point angles.
#[kernel(block_size(256))]
pub fn cordic_sincos_safe(mut to: PerThread<[i32; 2]>, angles: &[i32]) {
    to.each_with(angles, |_, to, &angle| {
        let (cos, sin) = cordic(Q30(angle));
        *to = [cos.0, sin.0];
    });
}

/// Cosine and sine of fixed-point angles.
#[kernel(block_size(256))]
pub unsafe fn cordic_sincos_raw(to: *mut [i32; 2], angles: *const i32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut rest = *angles.add(i);
    let mut x = CORDIC_GAIN.0;
    let mut y = 0;
    for k in 0..30 {
        let (dx, dy) = (y >> k, x >> k);
        if rest < 0 {
            x += dx;
            y -= dy;
            rest += CORDIC_ANGLES[k];
        } else {
            x -= dx;
            y += dy;
            rest -= CORDIC_ANGLES[k];
        }
    }
    *to.add(i) = [x, y];
}

// soundex

/// How a letter sounds.
#[derive(Clone, Copy)]
enum Sound {
    Consonant(u8),
    Vowel,
    Silent,
}

impl Sound {
    fn of(letter: u8) -> Sound {
        match letter.to_ascii_lowercase() {
            b'b' | b'f' | b'p' | b'v' => Sound::Consonant(b'1'),
            b'c' | b'g' | b'j' | b'k' | b'q' | b's' | b'x' | b'z' => Sound::Consonant(b'2'),
            b'd' | b't' => Sound::Consonant(b'3'),
            b'l' => Sound::Consonant(b'4'),
            b'm' | b'n' => Sound::Consonant(b'5'),
            b'r' => Sound::Consonant(b'6'),
            b'h' | b'w' => Sound::Silent,
            _ => Sound::Vowel,
        }
    }

    fn digit(self) -> Option<u8> {
        match self {
            Sound::Consonant(digit) => Some(digit),
            Sound::Vowel | Sound::Silent => None,
        }
    }
}

fn soundex(word: &[u8]) -> [u8; 4] {
    let mut code = *b"0000";
    let [first, rest @ ..] = word else {
        return code;
    };
    code[0] = first.to_ascii_uppercase();
    let mut len = 1;
    let mut last = Sound::of(*first).digit();
    let mut rest = rest;
    while let [letter, tail @ ..] = rest {
        rest = tail;
        match Sound::of(*letter) {
            Sound::Consonant(digit) => {
                if last != Some(digit) {
                    code[len] = digit;
                    len += 1;
                    if len == code.len() {
                        break;
                    }
                }
                last = Some(digit);
            }
            Sound::Vowel => last = None,
            Sound::Silent => {}
        }
    }
    code
}

/// The Soundex code of each word; word `i` is between the offsets `i` and `i + 1`.
#[kernel(block_size(256))]
pub fn soundex_safe(mut codes: PerThread<[u8; 4]>, text: &[u8], offsets: &[u32]) {
    for (i, code) in codes.own() {
        let (start, end) = (offsets[i] as usize, offsets[i + 1] as usize);
        *code = soundex(&text[start..end]);
    }
}

/// The Soundex code of each word; word `i` is between the offsets `i` and `i + 1`.
#[kernel(block_size(256))]
pub unsafe fn soundex_raw(codes: *mut [u8; 4], text: *const u8, offsets: *const u32, n: usize) {
    // The digits of 'a' to 'z': 0 for vowels, 7 for h and w.
    static DIGITS: [u8; 26] = *b"01230127022455012623017202";
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let start = *offsets.add(i);
    let end = *offsets.add(i + 1);
    let mut code = [b'0'; 4];
    if start < end {
        let first = *text.add(start as usize);
        code[0] = first & 0xdf;
        let mut last = DIGITS[((first | 0x20) - b'a') as usize];
        let mut len = 1;
        for k in start + 1..end {
            let digit = DIGITS[((*text.add(k as usize) | 0x20) - b'a') as usize];
            if digit == b'7' {
                continue;
            }
            if digit != b'0' && digit != last {
                code[len] = digit;
                len += 1;
                if len == 4 {
                    break;
                }
            }
            last = digit;
        }
    }
    *codes.add(i) = code;
}

// max_drawdown

/// The largest relative loss from a peak of each series of prices; a block for each series.
#[kernel(block_size(256))]
pub fn max_drawdown_safe(mut drawdowns: PerBlock<f32>, prices: &[f32], days: usize) {
    let block = group::block();
    for mut piece in drawdowns.pieces() {
        let series = &prices[piece.start() * days..][..days];
        let mut peak = 0f32;
        let mut worst = 0f32;
        for chunk in series.chunks(256) {
            let price = chunk.get(block.rank() as usize).copied();
            let highest = block
                .inclusive_scan(price.unwrap_or(0.0), f32::max)
                .max(peak);
            if let Some(price) = price {
                worst = worst.max(1.0 - price / highest);
            }
            peak = block.reduce(highest, f32::max);
        }
        let worst = block.reduce(worst, f32::max);
        piece.each(|_, drawdown| *drawdown = worst);
    }
}

/// The inclusive scan of maxima over 256 threads.
#[inline(always)]
unsafe fn scan_max(mut x: f32, warps: *mut f32) -> f32 {
    let lane = thread::lane_id();
    let warp_id = thread::warp_id() as usize;
    let mut distance = 1;
    while distance < 32 {
        let other = warp::shuffle_up(warp::FULL, x, distance);
        if lane >= distance {
            x = x.max(other);
        }
        distance *= 2;
    }
    if lane == 31 {
        *warps.add(warp_id) = x;
    }
    thread::sync_threads();
    for w in 0..warp_id {
        x = x.max(*warps.add(w));
    }
    x
}

/// The largest relative loss from a peak of each series of prices; a block for each series.
#[kernel(block_size(256))]
pub unsafe fn max_drawdown_raw(drawdowns: *mut f32, prices: *const f32, days: usize) {
    let warps = shared_array![f32; 8];
    let last = shared_array![f32; 1];
    let t = thread::thread_idx_x() as usize;
    let series = prices.add(thread::block_idx_x() as usize * days);
    let mut peak = 0f32;
    let mut worst = 0f32;
    let mut base = 0;
    while base < days {
        let i = base + t;
        let price = if i < days { *series.add(i) } else { 0.0 };
        let highest = scan_max(price, warps).max(peak);
        if i < days {
            worst = worst.max(1.0 - price / highest);
        }
        if t == 255 {
            *last = highest;
        }
        thread::sync_threads();
        peak = *last;
        base += 256;
    }
    worst = scan_max(worst, warps);
    if t == 255 {
        *drawdowns.add(thread::block_idx_x() as usize) = worst;
    }
}

// gf2_rank

/// The rank of each 32 x 64 matrix of bits; a warp for each matrix, a row for each lane.
#[kernel(block_size(256))]
pub fn gf2_rank_safe(mut ranks: PerWarp<u32>, rows: &[u64]) {
    let lanes = group::warp();
    let Some(&row) = rows.get(thread::index() as usize) else {
        return;
    };
    let mut row = row;
    let mut rank = 0;
    let mut used = false;
    for column in 0..64 {
        let has_bit = row >> column & 1 == 1;
        let candidates = lanes.ballot(has_bit && !used);
        if candidates == 0 {
            continue;
        }
        let pivot = candidates.trailing_zeros();
        let pivot_row = lanes.shuffle(row, pivot);
        if lanes.rank() == pivot {
            used = true;
        } else if has_bit {
            row ^= pivot_row;
        }
        rank += 1;
    }
    ranks.each(|_, to| *to = rank);
}

/// The rank of each 32 x 64 matrix of bits; a warp for each matrix, a row for each lane.
#[kernel(block_size(256))]
pub unsafe fn gf2_rank_raw(ranks: *mut u32, rows: *const u64, n: usize) {
    let i = thread::index_1d() as usize;
    if i / 32 >= n {
        return;
    }
    let lane = thread::lane_id();
    let mut row = *rows.add(i);
    let mut rank = 0;
    let mut used = false;
    for column in 0..64 {
        let has_bit = row >> column & 1 != 0;
        let candidates = warp::ballot(warp::FULL, has_bit && !used);
        if candidates != 0 {
            let pivot = candidates.trailing_zeros();
            let pivot_row = warp::shuffle(warp::FULL, row, pivot);
            if lane == pivot {
                used = true;
            } else if has_bit {
                row ^= pivot_row;
            }
            rank += 1;
        }
    }
    if lane == 0 {
        *ranks.add(i / 32) = rank;
    }
}

// natural_order

/// Splits a text after its leading digits. The digits are without leading zeros.
fn split_number(text: &[u8]) -> (&[u8], &[u8]) {
    let len = text.iter().take_while(|c| c.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(len);
    let zeros = digits
        .iter()
        .position(|&digit| digit != b'0')
        .unwrap_or(len);
    (&digits[zeros..], rest)
}

/// Compares as people sort file names: "part9" comes before "part10".
fn natural_cmp(mut a: &[u8], mut b: &[u8]) -> core::cmp::Ordering {
    loop {
        match (a.split_first(), b.split_first()) {
            (Some((x, rest_a)), Some((y, rest_b))) => {
                if x.is_ascii_digit() && y.is_ascii_digit() {
                    let (m, tail_a) = split_number(a);
                    let (n, tail_b) = split_number(b);
                    let order = m.len().cmp(&n.len()).then_with(|| m.cmp(n));
                    if order.is_ne() {
                        return order;
                    }
                    (a, b) = (tail_a, tail_b);
                } else if x != y {
                    return x.cmp(y);
                } else {
                    (a, b) = (rest_a, rest_b);
                }
            }
            (x, y) => return x.is_some().cmp(&y.is_some()),
        }
    }
}

/// The order of each pair of names: -1, 0 or 1. Name `i` is between the offsets `i` and `i + 1`.
#[kernel(block_size(128))]
pub fn natural_order_safe(mut orders: PerThread<i32>, text: &[u8], offsets: &[u32]) {
    orders.each(|i, order| {
        let [first, second, end] = [0, 1, 2].map(|k| offsets[2 * i + k] as usize);
        *order = natural_cmp(&text[first..second], &text[second..end]) as i32;
    });
}

/// The order of each pair of names: -1, 0 or 1. Name `i` is between the offsets `i` and `i + 1`.
#[kernel(block_size(128))]
pub unsafe fn natural_order_raw(orders: *mut i32, text: *const u8, offsets: *const u32, n: usize) {
    let pair = thread::index_1d() as usize;
    if pair >= n {
        return;
    }
    let byte = |i: u32| *text.add(i as usize);
    let digit = |c: u8| c.wrapping_sub(b'0') < 10;
    let mut i = *offsets.add(2 * pair);
    let i_end = *offsets.add(2 * pair + 1);
    let mut j = i_end;
    let j_end = *offsets.add(2 * pair + 2);
    let mut order = 0;
    while i < i_end && j < j_end {
        let (x, y) = (byte(i), byte(j));
        if digit(x) && digit(y) {
            while i < i_end && byte(i) == b'0' {
                i += 1;
            }
            while j < j_end && byte(j) == b'0' {
                j += 1;
            }
            // The first different digit decides if the numbers have the same length.
            let mut first = 0;
            let (mut more_x, mut more_y);
            loop {
                more_x = i < i_end && digit(byte(i));
                more_y = j < j_end && digit(byte(j));
                if !more_x || !more_y {
                    break;
                }
                if first == 0 {
                    first = byte(i) as i32 - byte(j) as i32;
                }
                i += 1;
                j += 1;
            }
            order = if more_x == more_y {
                first.signum()
            } else {
                more_x as i32 - more_y as i32
            };
            if order != 0 {
                break;
            }
        } else if x != y {
            order = if x < y { -1 } else { 1 };
            break;
        } else {
            i += 1;
            j += 1;
        }
    }
    if order == 0 {
        order = (i < i_end) as i32 - (j < j_end) as i32;
    }
    *orders.add(pair) = order;
}

// lcs_bits

/// The length of the longest common subsequence of each read of 64 bases and a genome, with a bit
/// for each base of the read.
#[kernel(block_size(128))]
pub fn lcs_bits_safe(mut lengths: PerThread<u32>, reads: &[u8], genome: &[u8]) {
    for (i, length) in lengths.own() {
        let mut places = [0u64; 4];
        for (bit, &base) in reads[64 * i..][..64].iter().enumerate() {
            places[usize::from(base)] |= 1 << bit;
        }
        let row = genome.iter().fold(u64::MAX, |row, &base| {
            let matches = row & places[usize::from(base)];
            row.wrapping_add(matches) | (row - matches)
        });
        *length = row.count_zeros();
    }
}

/// The length of the longest common subsequence of each read of 64 bases and a genome, with a bit
/// for each base of the read.
#[kernel(block_size(128))]
pub unsafe fn lcs_bits_raw(
    lengths: *mut u32,
    reads: *const u8,
    genome: *const u8,
    bases: usize,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut places = [0u64; 4];
    for bit in 0..64 {
        places[*reads.add(64 * i + bit) as usize] |= 1 << bit;
    }
    let mut row = u64::MAX;
    for k in 0..bases {
        let matches = row & places[*genome.add(k) as usize];
        row = row.wrapping_add(matches) | (row - matches);
    }
    *lengths.add(i) = row.count_zeros();
}

// curl3d

/// The three components of a vector field on a grid.
struct VectorField<'a> {
    components: [&'a [f32]; 3],
    size: (usize, usize, usize),
}

impl VectorField<'_> {
    /// The central difference of a component along an axis. The border repeats the last cell.
    fn derivative(&self, component: usize, axis: usize, (x, y, z): (usize, usize, usize)) -> f32 {
        let (width, height, depth) = self.size;
        let at =
            |x: usize, y: usize, z: usize| self.components[component][(z * height + y) * width + x];
        let before = |i: usize| i.saturating_sub(1);
        let after = |i: usize, n: usize| (i + 1).min(n - 1);
        let (a, b) = match axis {
            0 => (at(before(x), y, z), at(after(x, width), y, z)),
            1 => (at(x, before(y), z), at(x, after(y, height), z)),
            _ => (at(x, y, before(z)), at(x, y, after(z, depth))),
        };
        0.5 * (b - a)
    }
}

/// The curl of a vector field.
#[kernel(block_size(32, 4, 2))]
pub fn curl3d_safe(mut curl: PerThread3d<[f32; 3]>, u: &[f32], v: &[f32], w: &[f32]) {
    let field = VectorField {
        components: [u, v, w],
        size: (curl.width(), curl.height(), curl.depth()),
    };
    curl.each(|place, curl| {
        let d = |component, axis| field.derivative(component, axis, place);
        *curl = [d(2, 1) - d(1, 2), d(0, 2) - d(2, 0), d(1, 0) - d(0, 1)];
    });
}

/// The curl of a vector field.
#[kernel(block_size(32, 4, 2))]
pub unsafe fn curl3d_raw(
    curl: *mut [f32; 3],
    u: *const f32,
    v: *const f32,
    w: *const f32,
    width: u32,
    height: u32,
    depth: u32,
) {
    let p = thread::index_3d();
    let (x, y, z) = (p.x, p.y, p.z);
    if x >= width || y >= height || z >= depth {
        return;
    }
    let at = |x: u32, y: u32, z: u32| ((z * height + y) * width + x) as usize;
    let (x0, x1) = (
        at(x.saturating_sub(1), y, z),
        at((x + 1).min(width - 1), y, z),
    );
    let (y0, y1) = (
        at(x, y.saturating_sub(1), z),
        at(x, (y + 1).min(height - 1), z),
    );
    let (z0, z1) = (
        at(x, y, z.saturating_sub(1)),
        at(x, y, (z + 1).min(depth - 1)),
    );
    let d = |f: *const f32, a: usize, b: usize| 0.5 * (*f.add(b) - *f.add(a));
    *curl.add(at(x, y, z)) = [
        d(w, y0, y1) - d(v, z0, z1),
        d(u, z0, z1) - d(w, x0, x1),
        d(v, x0, x1) - d(u, y0, y1),
    ];
}

// durand_kerner

/// A complex number.
#[derive(Clone, Copy)]
struct Complex64 {
    re: f64,
    im: f64,
}

impl Complex64 {
    const ONE: Complex64 = Complex64 { re: 1.0, im: 0.0 };

    fn norm_sqr(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
}

impl From<f64> for Complex64 {
    fn from(re: f64) -> Complex64 {
        Complex64 { re, im: 0.0 }
    }
}

impl Add for Complex64 {
    type Output = Complex64;

    fn add(self, other: Complex64) -> Complex64 {
        Complex64 {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl Sub for Complex64 {
    type Output = Complex64;

    fn sub(self, other: Complex64) -> Complex64 {
        Complex64 {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
}

impl Mul for Complex64 {
    type Output = Complex64;

    fn mul(self, other: Complex64) -> Complex64 {
        Complex64 {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl Div for Complex64 {
    type Output = Complex64;

    fn div(self, other: Complex64) -> Complex64 {
        let scale = 1.0 / other.norm_sqr();
        Complex64 {
            re: (self.re * other.re + self.im * other.im) * scale,
            im: (self.im * other.re - self.re * other.im) * scale,
        }
    }
}

/// A monic polynomial without the leading coefficient, the constant first.
struct Monic<'a, const N: usize>(&'a [f64; N]);

impl<const N: usize> Monic<'_, N> {
    fn evaluate(&self, x: Complex64) -> Complex64 {
        self.0
            .iter()
            .rev()
            .fold(Complex64::ONE, |sum, &c| sum * x + c.into())
    }

    /// All roots, and the number of iterations.
    fn roots(&self) -> ([Complex64; N], u32) {
        let seed = Complex64 { re: 0.4, im: 0.9 };
        let mut power = Complex64::ONE;
        let mut roots = [Complex64::ONE; N];
        for root in &mut roots {
            *root = power;
            power = power * seed;
        }
        for iteration in 1..=60 {
            let mut moved = 0f64;
            for i in 0..N {
                let root = roots[i];
                let others = roots.iter().enumerate().filter(|&(k, _)| k != i);
                let product = others.fold(Complex64::ONE, |product, (_, &other)| {
                    product * (root - other)
                });
                let step = self.evaluate(root) / product;
                roots[i] = root - step;
                moved = moved.max(step.norm_sqr());
            }
            if moved < 1e-20 {
                return (roots, iteration);
            }
        }
        (roots, 60)
    }
}

/// The largest absolute value of a root of each polynomial, and the iterations to find them.
#[kernel(block_size(128))]
pub fn durand_kerner_safe(
    mut radii: PerThread<f64>,
    mut iterations: PerThread<u32>,
    polynomials: &[[f64; 5]],
) {
    let index = thread::UniqueIndex::new();
    if let (Some(radius), Some(iterations)) = (radii.get_mut(index), iterations.get_mut(index)) {
        let (roots, count) = Monic(&polynomials[index.get()]).roots();
        *radius = roots
            .iter()
            .map(|root| root.norm_sqr())
            .fold(0.0, f64::max)
            .sqrt();
        *iterations = count;
    }
}

/// The largest absolute value of a root of each polynomial, and the iterations to find them.
#[kernel(block_size(128))]
pub unsafe fn durand_kerner_raw(
    radii: *mut f64,
    iterations: *mut u32,
    polynomials: *const [f64; 5],
    n: usize,
) {
    let index = thread::index_1d() as usize;
    if index >= n {
        return;
    }
    let c = *polynomials.add(index);
    let mut re = [0f64; 5];
    let mut im = [0f64; 5];
    re[0] = 1.0;
    for i in 1..5 {
        re[i] = 0.4 * re[i - 1] - 0.9 * im[i - 1];
        im[i] = 0.9 * re[i - 1] + 0.4 * im[i - 1];
    }
    let mut count = 60;
    for iteration in 1..=60 {
        let mut moved = 0f64;
        for i in 0..5 {
            let (x, y) = (re[i], im[i]);
            let (mut a, mut b) = (1.0, 0.0);
            for k in 0..5 {
                (a, b) = (a * x - b * y + c[4 - k], a * y + b * x);
            }
            let (mut p, mut q) = (1.0, 0.0);
            for k in 0..5 {
                if k != i {
                    let (dx, dy) = (x - re[k], y - im[k]);
                    (p, q) = (p * dx - q * dy, p * dy + q * dx);
                }
            }
            let scale = 1.0 / (p * p + q * q);
            let sx = (a * p + b * q) * scale;
            let sy = (b * p - a * q) * scale;
            re[i] = x - sx;
            im[i] = y - sy;
            moved = moved.max(sx * sx + sy * sy);
        }
        if moved < 1e-20 {
            count = iteration;
            break;
        }
    }
    let mut radius = 0f64;
    for i in 0..5 {
        radius = radius.max(re[i] * re[i] + im[i] * im[i]);
    }
    *radii.add(index) = radius.sqrt();
    *iterations.add(index) = count;
}

// unsharp_u16

const BINOMIAL: [i32; 5] = [1, 4, 6, 4, 1];

/// Sharpens an image of 16-bit pixels: adds `amount` 256ths of the difference to a 5 x 5 blur.
#[kernel(block_size(32, 8))]
pub fn unsharp_u16_safe(
    #[shared] mut shared: Shared<Tile<u16, 36, 36>>,
    mut to: PerTile<u16, 32, 32>,
    from: &[u16],
    amount: i32,
) {
    let (width, height) = (to.width(), to.height());
    for mut tile in to.tiles() {
        let (left, top) = (tile.x(), tile.y());
        shared.own().each(|(x, y), pixel| {
            let x = (left + x).saturating_sub(2).min(width - 1);
            let y = (top + y).saturating_sub(2).min(height - 1);
            *pixel = from[y * width + x];
        });
        shared.read(|rows| {
            tile.each(|(x, y), to| {
                let blurred: i32 = rows[y..y + 5]
                    .iter()
                    .zip(BINOMIAL)
                    .map(|(row, weight)| {
                        let pixels = row[x..x + 5].iter();
                        weight
                            * pixels
                                .zip(BINOMIAL)
                                .map(|(&pixel, w)| w * i32::from(pixel))
                                .sum::<i32>()
                    })
                    .sum();
                let center = i32::from(rows[y + 2][x + 2]);
                let difference = center - (blurred >> 8);
                let sharp = center + ((difference * amount) >> 8);
                *to = sharp.clamp(0, i32::from(u16::MAX)) as u16;
            });
        });
    }
}

/// Sharpens an image of 16-bit pixels: adds `amount` 256ths of the difference to a 5 x 5 blur.
#[kernel(block_size(32, 8))]
pub unsafe fn unsharp_u16_raw(
    to: *mut u16,
    from: *const u16,
    width: i32,
    height: i32,
    amount: i32,
) {
    let tile = shared_array![u16; 36 * 36];
    let (tx, ty) = (thread::thread_idx_x() as i32, thread::thread_idx_y() as i32);
    let left = thread::block_idx_x() as i32 * 32;
    let top = thread::block_idx_y() as i32 * 32;
    let mut y = ty;
    while y < 36 {
        let mut x = tx;
        while x < 36 {
            let column = (left + x - 2).clamp(0, width - 1);
            let row = (top + y - 2).clamp(0, height - 1);
            *tile.add((y * 36 + x) as usize) = *from.add((row * width + column) as usize);
            x += 32;
        }
        y += 8;
    }
    thread::sync_threads();
    let x = left + tx;
    for k in 0..4 {
        let row = ty + 8 * k;
        let y = top + row;
        if x < width && y < height {
            let corner = tile.add((row * 36 + tx) as usize);
            let mut blurred = 0;
            for j in 0..5 {
                let mut sum = 0;
                for i in 0..5 {
                    sum += BINOMIAL[i] * *corner.add(j * 36 + i) as i32;
                }
                blurred += BINOMIAL[j] * sum;
            }
            let center = *corner.add(2 * 36 + 2) as i32;
            let difference = center - (blurred >> 8);
            let sharp = center + ((difference * amount) >> 8);
            *to.add((y * width + x) as usize) = sharp.clamp(0, 65535) as u16;
        }
    }
}

// totient_sum

/// The number of integers up to `n` that have no common factor with it. `primes` are those up to
/// the square root of `n`, or more.
fn totient(n: u32, primes: &[u32]) -> u32 {
    let mut rest = n;
    let mut count = n;
    for &prime in primes {
        if prime * prime > rest {
            break;
        }
        if rest % prime == 0 {
            count -= count / prime;
            while rest % prime == 0 {
                rest /= prime;
            }
        }
    }
    if rest > 1 {
        count - count / rest
    } else {
        count
    }
}

/// The sum of Euler's function of the numbers from 1 to `limit`.
#[kernel(block_size(256))]
pub fn totient_sum_safe(total: &Atomic<u64, Device>, primes: &[u32], limit: usize) {
    let own = thread::grid_stride(limit)
        .map(|i| u64::from(totient(i as u32 + 1, primes)))
        .sum::<u64>();
    let block = group::block();
    let sum = block.reduce(own, |a, b| a + b);
    if block.is_first() {
        total.fetch_add(sum, Relaxed);
    }
}

/// The sum of Euler's function of the numbers from 1 to `limit`.
#[kernel(block_size(256))]
pub unsafe fn totient_sum_raw(total: *mut u64, primes: *const u32, count: u32, limit: u32) {
    let warps = shared_array![u64; 8];
    let mut sum = 0u64;
    let mut i = thread::index_1d();
    while i < limit {
        let n = i + 1;
        let mut rest = n;
        let mut phi = n;
        for k in 0..count {
            let prime = *primes.add(k as usize);
            if prime * prime > rest {
                break;
            }
            if rest % prime == 0 {
                phi -= phi / prime;
                while rest % prime == 0 {
                    rest /= prime;
                }
            }
        }
        if rest > 1 {
            phi -= phi / rest;
        }
        sum += phi as u64;
        i += thread::grid_size_1d();
    }
    let mut distance = 16;
    while distance > 0 {
        sum += warp::shuffle_xor(warp::FULL, sum, distance);
        distance /= 2;
    }
    if thread::lane_id() == 0 {
        *warps.add(thread::warp_id() as usize) = sum;
    }
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let mut all = 0;
        for w in 0..8 {
            all += *warps.add(w);
        }
        Atomic::<u64, Device>::from_ptr(total).fetch_add(all, Relaxed);
    }
}

// knapsack

/// What a thing weighs, and what it is worth.
#[derive(Clone, Copy, cust_core::DeviceCopy)]
#[repr(C)]
pub struct Thing {
    /// The weight.
    pub weight: u32,
    /// The value.
    pub value: u32,
}

/// The number of capacities: the bag holds one less.
pub const CAPACITIES: usize = 2048;

/// The highest value of things that fit a bag; a block for each bag, with `count` things to choose
/// from.
#[kernel(block_size(256))]
pub fn knapsack_safe<'k>(
    #[shared] mut even: Shared<'k, Array<u32, CAPACITIES>>,
    #[shared] mut odd: Shared<'k, Array<u32, CAPACITIES>>,
    mut best: PerBlock<u32>,
    things: &[Thing],
    count: usize,
) {
    for mut piece in best.pieces() {
        let things = things.chunks_exact(count).nth(piece.start()).unwrap();
        let (mut before, mut after) = (&mut even, &mut odd);
        before.own().each(|_, value| *value = 0);
        for &Thing { weight, value } in things {
            before.read(|before| {
                after.own().each(|capacity, best| {
                    let without = before[capacity];
                    *best = match capacity.checked_sub(weight as usize) {
                        Some(rest) => without.max(before[rest] + value),
                        None => without,
                    };
                });
            });
            core::mem::swap(&mut before, &mut after);
        }
        before.read(|before| piece.each(|_, best| *best = before[CAPACITIES - 1]));
    }
}

/// The highest value of things that fit a bag; a block for each bag, with `count` things to choose
/// from.
#[kernel(block_size(256))]
pub unsafe fn knapsack_raw(best: *mut u32, things: *const Thing, count: usize) {
    let mut before = shared_array![u32; CAPACITIES];
    let mut after = shared_array![u32; CAPACITIES];
    let t = thread::thread_idx_x();
    let block = thread::block_idx_x() as usize;
    let mut c = t;
    while c < CAPACITIES as u32 {
        *before.add(c as usize) = 0;
        c += 256;
    }
    thread::sync_threads();
    for k in 0..count {
        let thing = *things.add(block * count + k);
        let mut c = t;
        while c < CAPACITIES as u32 {
            let mut value = *before.add(c as usize);
            if c >= thing.weight {
                value = value.max(*before.add((c - thing.weight) as usize) + thing.value);
            }
            *after.add(c as usize) = value;
            c += 256;
        }
        thread::sync_threads();
        core::mem::swap(&mut before, &mut after);
    }
    if t == 0 {
        *best.add(block) = *before.add(CAPACITIES - 1);
    }
}

// turtle_bounds

/// A command of a turtle's program.
enum Command {
    Forward,
    Turn(i32),
    Stride(i32),
    Save,
    Restore,
    Nothing,
}

impl From<u8> for Command {
    fn from(byte: u8) -> Command {
        match byte {
            b'F' => Command::Forward,
            b'+' => Command::Turn(1),
            b'-' => Command::Turn(-1),
            b'|' => Command::Turn(4),
            b'1'..=b'9' => Command::Stride(i32::from(byte - b'0')),
            b'[' => Command::Save,
            b']' => Command::Restore,
            _ => Command::Nothing,
        }
    }
}

/// A turtle, which walks in eight directions.
#[derive(Clone, Copy, Default)]
struct Turtle {
    x: i32,
    y: i32,
    direction: i32,
    stride: i32,
}

impl Turtle {
    fn walk(&mut self) {
        let (dx, dy) = match self.direction & 7 {
            0 => (1, 0),
            1 => (1, 1),
            2 => (0, 1),
            3 => (-1, 1),
            4 => (-1, 0),
            5 => (-1, -1),
            6 => (0, -1),
            _ => (1, -1),
        };
        self.x += dx * self.stride;
        self.y += dy * self.stride;
    }
}

/// A stack of at most `N` values.
struct Stack<T, const N: usize> {
    values: [T; N],
    len: usize,
}

impl<T: Copy + Default, const N: usize> Stack<T, N> {
    fn new() -> Stack<T, N> {
        Stack {
            values: [T::default(); N],
            len: 0,
        }
    }

    /// Ignores values that do not fit.
    fn push(&mut self, value: T) {
        if let Some(place) = self.values.get_mut(self.len) {
            *place = value;
            self.len += 1;
        }
    }

    fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        Some(self.values[self.len])
    }
}

/// The smallest and largest coordinates that a program reaches.
fn bounds(program: &[u8]) -> [i32; 4] {
    let mut turtle = Turtle {
        stride: 1,
        ..Turtle::default()
    };
    let mut saved = Stack::<Turtle, 8>::new();
    let mut bounds = [0; 4];
    for &byte in program {
        match Command::from(byte) {
            Command::Forward => {
                turtle.walk();
                let [x0, y0, x1, y1] = bounds;
                bounds = [
                    x0.min(turtle.x),
                    y0.min(turtle.y),
                    x1.max(turtle.x),
                    y1.max(turtle.y),
                ];
            }
            Command::Turn(by) => turtle.direction += by,
            Command::Stride(stride) => turtle.stride = stride,
            Command::Save => saved.push(turtle),
            Command::Restore => turtle = saved.pop().unwrap_or(turtle),
            Command::Nothing => {}
        }
    }
    bounds
}

/// The bounding box of each turtle program; program `i` is between the offsets `i` and `i + 1`.
#[kernel(block_size(128))]
pub fn turtle_bounds_safe(mut boxes: PerThread<[i32; 4]>, programs: &[u8], offsets: &[u32]) {
    let Some((i, to)) = boxes.first() else { return };
    let &[start, end] = offsets
        .windows(2)
        .nth(i)
        .and_then(|w| w.try_into().ok())
        .unwrap_or(&[0, 0]);
    *to = bounds(&programs[start as usize..end as usize]);
}

/// The bounding box of each turtle program; program `i` is between the offsets `i` and `i + 1`.
#[kernel(block_size(128))]
pub unsafe fn turtle_bounds_raw(
    boxes: *mut [i32; 4],
    programs: *const u8,
    offsets: *const u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut turtle = Turtle {
        x: 0,
        y: 0,
        direction: 0,
        stride: 1,
    };
    let mut stack = [Turtle {
        x: 0,
        y: 0,
        direction: 0,
        stride: 1,
    }; 8];
    let mut depth = 0;
    let [mut x0, mut y0, mut x1, mut y1] = [0; 4];
    for k in *offsets.add(i)..*offsets.add(i + 1) {
        match *programs.add(k as usize) {
            b'F' => {
                let (dx, dy) = match turtle.direction & 7 {
                    0 => (1, 0),
                    1 => (1, 1),
                    2 => (0, 1),
                    3 => (-1, 1),
                    4 => (-1, 0),
                    5 => (-1, -1),
                    6 => (0, -1),
                    _ => (1, -1),
                };
                turtle.x += dx * turtle.stride;
                turtle.y += dy * turtle.stride;
                x0 = x0.min(turtle.x);
                y0 = y0.min(turtle.y);
                x1 = x1.max(turtle.x);
                y1 = y1.max(turtle.y);
            }
            b'+' => turtle.direction += 1,
            b'-' => turtle.direction -= 1,
            b'|' => turtle.direction += 4,
            c @ b'1'..=b'9' => turtle.stride = (c - b'0') as i32,
            b'[' => {
                if depth < 8 {
                    *stack.as_mut_ptr().add(depth) = turtle;
                    depth += 1;
                }
            }
            b']' => {
                if depth > 0 {
                    depth -= 1;
                    turtle = *stack.as_ptr().add(depth);
                }
            }
            _ => {}
        }
    }
    *boxes.add(i) = [x0, y0, x1, y1];
}

// synth_dyn

/// A voice of a synthesizer.
#[derive(Clone, Copy, cust_core::DeviceCopy)]
#[repr(C)]
pub struct Voice {
    /// The part of a period, in units of 2^-32, from one sample to the next.
    pub increment: u32,
    /// The phase at the start.
    pub start: u32,
    /// The amplitude.
    pub gain: f32,
    /// The index of the waveform.
    pub waveform: u32,
}

/// A periodic function.
trait Waveform {
    /// The value at a phase from 0 to 1.
    fn at(&self, phase: f32) -> f32;
}

struct Parabola;

impl Waveform for Parabola {
    fn at(&self, phase: f32) -> f32 {
        let x = 2.0 * phase - 1.0;
        4.0 * x * (x.abs() - 1.0)
    }
}

struct Pulse {
    duty: f32,
}

impl Waveform for Pulse {
    fn at(&self, phase: f32) -> f32 {
        if phase < self.duty { 1.0 } else { -1.0 }
    }
}

struct Saw;

impl Waveform for Saw {
    fn at(&self, phase: f32) -> f32 {
        2.0 * phase - 1.0
    }
}

struct Overtones<const N: usize>([f32; N]);

impl<const N: usize> Waveform for Overtones<N> {
    fn at(&self, phase: f32) -> f32 {
        // Chebyshev polynomials of the cosine are the cosines of the multiples.
        let c = (core::f32::consts::TAU * phase).cos();
        let (mut sum, mut last, mut this) = (0.0, 1.0, c);
        for amplitude in self.0 {
            sum += amplitude * this;
            (last, this) = (this, 2.0 * c * this - last);
        }
        sum
    }
}

/// Mixes the voices of a synthesizer.
#[kernel(block_size(256))]
pub fn synth_dyn_safe(mut samples: PerThread<f32>, voices: &[Voice]) {
    let waveforms: [&dyn Waveform; 4] = [
        &Parabola,
        &Pulse { duty: 0.3 },
        &Saw,
        &Overtones([0.5, 0.25, 0.125, 0.0625]),
    ];
    for (i, sample) in samples.own() {
        *sample = voices
            .iter()
            .map(|voice| {
                let phase = voice
                    .increment
                    .wrapping_mul(i as u32)
                    .wrapping_add(voice.start);
                let phase = (phase >> 8) as f32 / (1 << 24) as f32;
                voice.gain * waveforms[voice.waveform as usize].at(phase)
            })
            .sum();
    }
}

/// Mixes the voices of a synthesizer.
#[kernel(block_size(256))]
pub unsafe fn synth_dyn_raw(samples: *mut f32, voices: *const Voice, count: u32, n: u32) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let mut sum = 0.0;
    for v in 0..count {
        let voice = *voices.add(v as usize);
        let phase = voice.increment.wrapping_mul(i).wrapping_add(voice.start);
        let phase = (phase >> 8) as f32 * (1.0 / 16777216.0);
        let value = match voice.waveform {
            0 => {
                let x = 2.0 * phase - 1.0;
                4.0 * x * (x.abs() - 1.0)
            }
            1 => {
                if phase < 0.3 {
                    1.0
                } else {
                    -1.0
                }
            }
            2 => 2.0 * phase - 1.0,
            _ => {
                let c = (core::f32::consts::TAU * phase).cos();
                let (mut sum, mut last, mut this) = (0.0, 1.0, c);
                let mut amplitude = 0.5;
                for _ in 0..4 {
                    sum += amplitude * this;
                    let next = 2.0 * c * this - last;
                    last = this;
                    this = next;
                    amplitude *= 0.5;
                }
                sum
            }
        };
        sum += voice.gain * value;
    }
    *samples.add(i as usize) = sum;
}

// mat_exp4

/// A matrix of `R` rows and `C` columns.
#[derive(Clone, Copy, cust_core::DeviceCopy)]
#[repr(C)]
pub struct Matrix<const R: usize, const C: usize>(pub [[f32; C]; R]);

impl<const R: usize, const C: usize> Matrix<R, C> {
    fn from_fn(mut f: impl FnMut(usize, usize) -> f32) -> Self {
        Matrix(core::array::from_fn(|i| core::array::from_fn(|j| f(i, j))))
    }

    fn transposed(&self) -> Matrix<C, R> {
        Matrix::from_fn(|i, j| self.0[j][i])
    }

    /// The largest sum of the absolute values of a row.
    fn norm(&self) -> f32 {
        self.0
            .iter()
            .map(|row| row.iter().map(|x| x.abs()).sum())
            .fold(0.0, f32::max)
    }
}

impl<const N: usize> Matrix<N, N> {
    fn identity() -> Self {
        Matrix::from_fn(|i, j| if i == j { 1.0 } else { 0.0 })
    }

    /// The exponential, by its series of a small part of the matrix, which is then squared.
    fn exp(self) -> Self {
        let mut small = self;
        let mut squarings = 0;
        while small.norm() > 0.5 {
            small = small * 0.5;
            squarings += 1;
        }
        let mut sum = Self::identity();
        for k in (1..=8).rev() {
            sum = Self::identity() + small * sum * (1.0 / k as f32);
        }
        for _ in 0..squarings {
            sum = sum * sum;
        }
        sum
    }
}

impl<const R: usize, const C: usize> Add for Matrix<R, C> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Matrix::from_fn(|i, j| self.0[i][j] + other.0[i][j])
    }
}

impl<const R: usize, const C: usize> Sub for Matrix<R, C> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Matrix::from_fn(|i, j| self.0[i][j] - other.0[i][j])
    }
}

impl<const R: usize, const C: usize> Mul<f32> for Matrix<R, C> {
    type Output = Self;

    fn mul(self, factor: f32) -> Self {
        Matrix(self.0.map(|row| row.map(|x| x * factor)))
    }
}

impl<const R: usize, const C: usize, const D: usize> Mul<Matrix<C, D>> for Matrix<R, C> {
    type Output = Matrix<R, D>;

    fn mul(self, other: Matrix<C, D>) -> Matrix<R, D> {
        Matrix::from_fn(|i, j| (0..C).map(|k| self.0[i][k] * other.0[k][j]).sum())
    }
}

/// The exponential of each matrix.
#[kernel(block_size(128))]
pub fn mat_exp4_safe(mut to: PerThread<Matrix<4, 4>>, from: &[Matrix<4, 4>]) {
    to.each_with(from, |_, to, matrix| *to = matrix.exp());
}

/// The product of two 4 x 4 matrices.
#[inline(always)]
fn product4(a: &[f32; 16], b: &[f32; 16]) -> [f32; 16] {
    let mut c = [0.0; 16];
    for i in 0..4 {
        for j in 0..4 {
            let mut sum = 0.0;
            for k in 0..4 {
                sum += a[4 * i + k] * b[4 * k + j];
            }
            c[4 * i + j] = sum;
        }
    }
    c
}

/// The exponential of each matrix.
#[kernel(block_size(128))]
pub unsafe fn mat_exp4_raw(to: *mut [f32; 16], from: *const [f32; 16], n: usize) {
    let index = thread::index_1d() as usize;
    if index >= n {
        return;
    }
    let mut small = *from.add(index);
    let mut squarings = 0;
    loop {
        let mut norm = 0f32;
        for i in 0..4 {
            let mut sum = 0f32;
            for j in 0..4 {
                sum += small[4 * i + j].abs();
            }
            norm = norm.max(sum);
        }
        if norm <= 0.5 {
            break;
        }
        for k in 0..16 {
            small[k] *= 0.5;
        }
        squarings += 1;
    }
    let mut sum = [0f32; 16];
    for i in 0..4 {
        sum[5 * i] = 1.0;
    }
    let mut k = 8;
    while k > 0 {
        sum = product4(&small, &sum);
        let factor = 1.0 / k as f32;
        for i in 0..16 {
            sum[i] = sum[i] * factor + if i % 5 == 0 { 1.0 } else { 0.0 };
        }
        k -= 1;
    }
    for _ in 0..squarings {
        sum = product4(&sum, &sum);
    }
    *to.add(index) = sum;
}

// inversions

/// The length of the rankings.
pub const RANKED: usize = 96;

/// How many pairs of each ranking are in the wrong order.
#[kernel(block_size(128))]
pub fn inversions_safe(mut counts: PerThread<u32>, rankings: &[i16]) {
    counts.each(|i, count| {
        let ranking = &rankings[i * RANKED..(i + 1) * RANKED];
        *count = ranking
            .iter()
            .enumerate()
            .map(|(k, rank)| {
                ranking
                    .iter()
                    .skip(k + 1)
                    .filter(|&later| later < rank)
                    .count() as u32
            })
            .sum();
    });
}

/// How many pairs of each ranking are in the wrong order.
#[kernel(block_size(128))]
pub unsafe fn inversions_raw(counts: *mut u32, rankings: *const i16, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let ranking = rankings.add(i * RANKED);
    let mut count = 0;
    for k in 0..RANKED {
        let rank = *ranking.add(k);
        for l in k + 1..RANKED {
            count += (*ranking.add(l) < rank) as u32;
        }
    }
    *counts.add(i) = count;
}

// dfa_scan

/// Where a parser of comma-separated values is.
#[derive(Clone, Copy)]
enum CsvState {
    FieldStart,
    Plain,
    Quoted,
    QuoteInQuoted,
}

impl CsvState {
    const ALL: [CsvState; 4] = [
        CsvState::FieldStart,
        CsvState::Plain,
        CsvState::Quoted,
        CsvState::QuoteInQuoted,
    ];

    fn after(self, byte: u8) -> CsvState {
        match (self, byte) {
            (CsvState::Quoted, b'"') => CsvState::QuoteInQuoted,
            (CsvState::Quoted, _) => CsvState::Quoted,
            (_, b',' | b'\n') => CsvState::FieldStart,
            (CsvState::FieldStart | CsvState::QuoteInQuoted, b'"') => CsvState::Quoted,
            _ => CsvState::Plain,
        }
    }
}

/// A function of states: two bits for each.
#[derive(Clone, Copy, AnyBits)]
struct Transition(u32);

impl Transition {
    fn new(f: impl Fn(CsvState) -> CsvState) -> Transition {
        let bits = CsvState::ALL
            .iter()
            .map(|&state| (f(state) as u32) << (2 * state as u32));
        Transition(bits.sum())
    }

    fn identity() -> Transition {
        Transition::new(|state| state)
    }

    fn apply(self, state: CsvState) -> CsvState {
        CsvState::ALL[(self.0 >> (2 * state as u32) & 3) as usize]
    }

    fn then(self, next: Transition) -> Transition {
        Transition::new(|state| next.apply(self.apply(state)))
    }
}

/// The number of fields of each document of `len` bytes; a block for each document.
#[kernel(block_size(256))]
pub fn dfa_scan_safe(mut fields: PerBlock<u32>, text: &[u8], len: usize) {
    let block = group::block();
    for mut piece in fields.pieces() {
        let document = &text[piece.start() * len..][..len];
        let mut state = CsvState::FieldStart;
        let mut ends = 0;
        for tile in document.chunks(256 * 16) {
            let own = tile.chunks(16).nth(block.rank() as usize).unwrap_or(&[]);
            let all = own.iter().fold(Transition::identity(), |t, &byte| {
                t.then(Transition::new(|s| s.after(byte)))
            });
            let (before, total) =
                block.exclusive_scan_with_total(all, Transition::identity(), Transition::then);
            let mut own_state = before.apply(state);
            for &byte in own {
                if !matches!(own_state, CsvState::Quoted) && matches!(byte, b',' | b'\n') {
                    ends += 1;
                }
                own_state = own_state.after(byte);
            }
            state = total.apply(state);
        }
        let sum = block.reduce(ends, |a, b| a + b);
        piece.each(|_, fields| *fields = sum);
    }
}

/// The state after a byte: 0 field start, 1 plain, 2 quoted, 3 quote in quoted.
#[inline(always)]
fn csv_next(state: u32, byte: u8) -> u32 {
    if state == 2 {
        if byte == b'"' { 3 } else { 2 }
    } else if byte == b',' || byte == b'\n' {
        0
    } else if byte == b'"' && state != 1 {
        2
    } else {
        1
    }
}

/// The function that applies `a`, then `b`.
#[inline(always)]
fn csv_compose(a: u32, b: u32) -> u32 {
    let mut c = 0;
    for s in 0..4 {
        let middle = a >> (2 * s) & 3;
        c |= (b >> (2 * middle) & 3) << (2 * s);
    }
    c
}

/// The number of fields of each document of `len` bytes; a block for each document.
#[kernel(block_size(256))]
pub unsafe fn dfa_scan_raw(fields: *mut u32, text: *const u8, len: usize) {
    let warps = shared_array![u32; 8];
    let t = thread::thread_idx_x() as usize;
    let (lane, warp_id) = (t & 31, t / 32);
    let document = text.add(thread::block_idx_x() as usize * len);
    let mut state = 0;
    let mut ends = 0;
    let mut tile = 0;
    while tile < len {
        let start = (tile + 16 * t).min(len);
        let end = (start + 16).min(len);
        let mut all = 0b11_10_01_00;
        for k in start..end {
            let byte = *document.add(k);
            let mut step = 0;
            for s in 0..4 {
                step |= csv_next(s, byte) << (2 * s);
            }
            all = csv_compose(all, step);
        }
        // Inclusive scan of the warp, then of the warps.
        let mut scan = all;
        let mut distance = 1;
        while distance < 32 {
            let other = warp::shuffle_up(warp::FULL, scan, distance);
            if lane >= distance as usize {
                scan = csv_compose(other, scan);
            }
            distance *= 2;
        }
        if lane == 31 {
            *warps.add(warp_id) = scan;
        }
        let mut before = warp::shuffle_up(warp::FULL, scan, 1);
        if lane == 0 {
            before = 0b11_10_01_00;
        }
        thread::sync_threads();
        let mut own = state;
        for w in 0..8 {
            if w == warp_id {
                own = state;
            }
            state = *warps.add(w) >> (2 * state) & 3;
        }
        own = before >> (2 * own) & 3;
        for k in start..end {
            let byte = *document.add(k);
            if own != 2 && (byte == b',' || byte == b'\n') {
                ends += 1;
            }
            own = csv_next(own, byte);
        }
        thread::sync_threads();
        tile += 256 * 16;
    }
    ends = warp::reduce_add(warp::FULL, ends);
    if lane == 0 {
        *warps.add(warp_id) = ends;
    }
    thread::sync_threads();
    if t == 0 {
        let mut sum = 0;
        for w in 0..8 {
            sum += *warps.add(w);
        }
        *fields.add(thread::block_idx_x() as usize) = sum;
    }
}

// otsu_tiles

/// A threshold between dark and bright, and the variance between the two.
#[derive(Clone, Copy, AnyBits)]
struct Split {
    variance: f32,
    threshold: u32,
}

impl Split {
    fn better(self, other: Split) -> Split {
        if other.variance > self.variance {
            other
        } else {
            self
        }
    }
}

/// The best threshold between dark and bright pixels (Otsu) of each 64 x 64 tile of an image.
#[kernel(block_size(256))]
pub fn otsu_tiles_safe(
    #[shared] mut bins: Shared<Array<Atomic<u32, Block>, 256>>,
    mut thresholds: PerBlock<u8>,
    image: &[u8],
    width: usize,
) {
    const PIXELS: f32 = 64.0 * 64.0;
    let block = group::block();
    let level = block.rank();
    for mut piece in thresholds.pieces() {
        let (tile_x, tile_y) = (piece.start() % (width / 64), piece.start() / (width / 64));
        bins.own().each(|_, bin| *bin.get_mut() = 0);
        let count = bins.read(|bins| {
            let rows = image.chunks_exact(width).skip(64 * tile_y).take(64);
            for row in rows.skip(level as usize / 64).step_by(4) {
                let pixel = row[64 * tile_x + level as usize % 64];
                bins[usize::from(pixel)].fetch_add(1, Relaxed);
            }
            thread::sync_threads();
            bins[level as usize].load(Relaxed)
        });
        let [dark, dark_sum] =
            block.inclusive_scan([count, count * level], |a, b| [a[0] + b[0], a[1] + b[1]]);
        let sum = block.reduce(dark_sum, u32::max) as f32;
        let (dark, dark_sum) = (dark as f32, dark_sum as f32);
        let bright = PIXELS - dark;
        let variance = if dark > 0.0 && bright > 0.0 {
            let difference = dark_sum / dark - (sum - dark_sum) / bright;
            dark * bright * difference * difference
        } else {
            0.0
        };
        let best = block.reduce(
            Split {
                variance,
                threshold: level,
            },
            Split::better,
        );
        piece.each(|_, threshold| *threshold = best.threshold as u8);
    }
}

/// The best threshold between dark and bright pixels (Otsu) of each 64 x 64 tile of an image.
#[kernel(block_size(256))]
pub unsafe fn otsu_tiles_raw(thresholds: *mut u8, image: *const u8, width: usize) {
    let bins = shared_array![u32; 256];
    let warps = shared_array![[u32; 2]; 8];
    let best_variance = shared_array![f32; 8];
    let best_level = shared_array![u32; 8];
    let t = thread::thread_idx_x() as usize;
    let (lane, warp_id) = (t & 31, t / 32);
    let tile = thread::block_idx_x() as usize;
    let (tile_x, tile_y) = (tile % (width / 64), tile / (width / 64));
    *bins.add(t) = 0;
    thread::sync_threads();
    let first = image.add((64 * tile_y + t / 64) * width + 64 * tile_x + t % 64);
    for k in 0..16 {
        let pixel = *first.add(4 * k * width);
        Atomic::<u32, Block>::from_ptr(bins.add(pixel as usize)).fetch_add(1, Relaxed);
    }
    thread::sync_threads();
    let mut count = *bins.add(t);
    let mut sum = count * t as u32;
    let mut distance = 1;
    while distance < 32 {
        let other_count = warp::shuffle_up(warp::FULL, count, distance);
        let other_sum = warp::shuffle_up(warp::FULL, sum, distance);
        if lane >= distance as usize {
            count += other_count;
            sum += other_sum;
        }
        distance *= 2;
    }
    if lane == 31 {
        *warps.add(warp_id) = [count, sum];
    }
    thread::sync_threads();
    let mut total = 0;
    for w in 0..8 {
        let [c, s] = *warps.add(w);
        if w < warp_id {
            count += c;
            sum += s;
        }
        total += s;
    }
    let dark = count as f32;
    let bright = 4096.0 - dark;
    let mut variance = 0f32;
    if dark > 0.0 && bright > 0.0 {
        let difference = sum as f32 / dark - (total as f32 - sum as f32) / bright;
        variance = dark * bright * difference * difference;
    }
    let mut level = t as u32;
    let mut distance = 16;
    while distance > 0 {
        let other = warp::shuffle_down(warp::FULL, variance, distance);
        let other_level = warp::shuffle_down(warp::FULL, level, distance);
        if other > variance {
            variance = other;
            level = other_level;
        }
        distance /= 2;
    }
    if lane == 0 {
        *best_variance.add(warp_id) = variance;
        *best_level.add(warp_id) = level;
    }
    thread::sync_threads();
    if t == 0 {
        for w in 1..8 {
            if *best_variance.add(w) > variance {
                variance = *best_variance.add(w);
                level = *best_level.add(w);
            }
        }
        *thresholds.add(tile) = level as u8;
    }
}

// aho_corasick

/// An automaton that finds patterns of lowercase letters and spaces.
#[derive(Clone, Copy)]
struct Automaton<'a> {
    /// The next state for each state and each of 32 classes of bytes.
    next: &'a [u16],
    /// The set of patterns that end in each state.
    found: &'a [u32],
}

impl<'a> Automaton<'a> {
    /// The sets of patterns that end at each byte of a text.
    fn run(self, text: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        text.iter().scan(0, move |state, &byte| {
            *state = usize::from(self.next[*state * 32 + usize::from(byte & 31)]);
            Some(self.found[*state])
        })
    }
}

/// The numbers of set bits.
fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

/// The length of the longest pattern.
pub const LONGEST_PATTERN: usize = 8;

/// The number of patterns.
pub const PATTERNS: usize = 16;

/// The bytes that a thread searches at a time.
pub const SEARCHED: usize = 64;

/// How often each pattern occurs in a text. Each thread also reads the end of the preceding part.
#[kernel(block_size(256))]
pub fn aho_corasick_safe(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, PATTERNS>>,
    total: &[Atomic<u32, Device>],
    text: &[u8],
    next: &[u16],
    found: &[u32],
) {
    let automaton = Automaton { next, found };
    counts.own().each(|_, count| *count.get_mut() = 0);
    counts.read(|counts| {
        for part in thread::grid_stride(text.len().div_ceil(SEARCHED)) {
            let start = part * SEARCHED;
            let end = text.len().min(start + SEARCHED);
            let from = start.saturating_sub(LONGEST_PATTERN - 1);
            for set in automaton.run(&text[from..end]).skip(start - from) {
                for pattern in bits(set) {
                    counts[pattern].fetch_add(1, Relaxed);
                }
            }
        }
    });
    counts.own().each(|i, count| {
        total[i].fetch_add(*count.get_mut(), Relaxed);
    });
}

/// How often each pattern occurs in a text. Each thread also reads the end of the preceding part.
#[kernel(block_size(256))]
pub unsafe fn aho_corasick_raw(
    total: *mut u32,
    text: *const u8,
    len: usize,
    next: *const u16,
    found: *const u32,
) {
    let counts = shared_array![u32; PATTERNS];
    let t = thread::thread_idx_x() as usize;
    if t < PATTERNS {
        *counts.add(t) = 0;
    }
    thread::sync_threads();
    let mut start = thread::index_1d() as usize * SEARCHED;
    while start < len {
        let end = len.min(start + SEARCHED);
        let from = start.saturating_sub(LONGEST_PATTERN - 1);
        let mut state = 0;
        for k in from..end {
            let byte = *text.add(k);
            state = *next.add(state as usize * 32 + (byte & 31) as usize);
            if k >= start {
                let mut set = *found.add(state as usize);
                while set != 0 {
                    let pattern = counts.add(set.trailing_zeros() as usize);
                    Atomic::<u32, Block>::from_ptr(pattern).fetch_add(1, Relaxed);
                    set &= set - 1;
                }
            }
        }
        start += thread::grid_size_1d() as usize * SEARCHED;
    }
    thread::sync_threads();
    if t < PATTERNS {
        Atomic::<u32, Device>::from_ptr(total.add(t)).fetch_add(*counts.add(t), Relaxed);
    }
}

// pcg64_jump

/// A permuted congruential generator (PCG XSL RR 128/64).
#[derive(Clone, Copy)]
struct Pcg64 {
    state: u128,
}

impl Pcg64 {
    const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
    const INCREMENT: u128 = 0x5851_f42d_4c95_7f2d_1405_7b7e_f767_814f;

    /// The generator after `steps` steps, in time proportional to the number of bits of `steps`.
    fn after(self, mut steps: u64) -> Pcg64 {
        let (mut factor, mut summand) = (1u128, 0u128);
        let (mut a, mut c) = (Self::MULTIPLIER, Self::INCREMENT);
        while steps > 0 {
            if steps % 2 == 1 {
                factor = factor.wrapping_mul(a);
                summand = summand.wrapping_mul(a).wrapping_add(c);
            }
            c = a.wrapping_add(1).wrapping_mul(c);
            a = a.wrapping_mul(a);
            steps /= 2;
        }
        Pcg64 {
            state: self.state.wrapping_mul(factor).wrapping_add(summand),
        }
    }
}

impl Iterator for Pcg64 {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.state = self
            .state
            .wrapping_mul(Self::MULTIPLIER)
            .wrapping_add(Self::INCREMENT);
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        Some(folded.rotate_right((self.state >> 122) as u32))
    }
}

/// The smallest of each 64 consecutive numbers of one generator.
#[kernel(block_size(256))]
pub fn pcg64_jump_safe(mut minima: PerThread<u64>, seed: u64) {
    let generator = Pcg64 {
        state: u128::from(seed),
    };
    minima.each(|i, minimum| {
        *minimum = generator
            .after(64 * i as u64)
            .take(64)
            .min()
            .unwrap_or_default();
    });
}

/// The smallest of each 64 consecutive numbers of one generator.
#[kernel(block_size(256))]
pub unsafe fn pcg64_jump_raw(minima: *mut u64, seed: u64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (mut factor, mut summand) = (1u128, 0u128);
    let (mut a, mut c) = (Pcg64::MULTIPLIER, Pcg64::INCREMENT);
    let mut steps = 64 * i as u64;
    while steps > 0 {
        if steps & 1 != 0 {
            factor = factor.wrapping_mul(a);
            summand = summand.wrapping_mul(a).wrapping_add(c);
        }
        c = a.wrapping_add(1).wrapping_mul(c);
        a = a.wrapping_mul(a);
        steps >>= 1;
    }
    let mut state = (seed as u128).wrapping_mul(factor).wrapping_add(summand);
    let mut minimum = u64::MAX;
    for _ in 0..64 {
        state = state
            .wrapping_mul(Pcg64::MULTIPLIER)
            .wrapping_add(Pcg64::INCREMENT);
        let folded = (state >> 64) as u64 ^ state as u64;
        minimum = minimum.min(folded.rotate_right((state >> 122) as u32));
    }
    *minima.add(i) = minimum;
}

// url_decode

/// The value of a hexadecimal digit.
fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// The first character of an encoded text, and the text after it.
fn decode_one(text: &[u8]) -> Option<(u8, &[u8])> {
    match text {
        [b'%', high, low, rest @ ..] => Some((hex_digit(*high)? << 4 | hex_digit(*low)?, rest)),
        [b'%', ..] | [] => None,
        [b'+', rest @ ..] => Some((b' ', rest)),
        [byte, rest @ ..] => Some((*byte, rest)),
    }
}

/// Decodes a text, and fills the rest with zeros. Returns `None` if the text is invalid or too long.
fn decode_url(mut text: &[u8], to: &mut [u8]) -> Option<()> {
    let mut places = to.iter_mut();
    while !text.is_empty() {
        let (byte, rest) = decode_one(text)?;
        *places.next()? = byte;
        text = rest;
    }
    places.for_each(|place| *place = 0);
    Some(())
}

/// Decodes percent-encoded texts to fields of 32 bytes. Invalid texts become question marks. Text
/// `i` is between the offsets `i` and `i + 1`.
#[kernel(block_size(128))]
pub fn url_decode_safe(mut fields: PerThreadChunk<u8, 32>, text: &[u8], offsets: &[u32]) {
    for (start, field) in fields.whole() {
        let i = start / 32;
        let encoded = &text[offsets[i] as usize..offsets[i + 1] as usize];
        if decode_url(encoded, field).is_none() {
            field.fill(b'?');
        }
    }
}

/// The value of a hexadecimal digit, or -1.
#[inline(always)]
fn hex_value(byte: u8) -> i32 {
    if byte.wrapping_sub(b'0') < 10 {
        return (byte - b'0') as i32;
    }
    let letter = (byte | 0x20).wrapping_sub(b'a');
    if letter < 6 { letter as i32 + 10 } else { -1 }
}

/// Decodes percent-encoded texts to fields of 32 bytes. Invalid texts become question marks. Text
/// `i` is between the offsets `i` and `i + 1`.
#[kernel(block_size(128))]
pub unsafe fn url_decode_raw(fields: *mut u8, text: *const u8, offsets: *const u32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let field = fields.add(32 * i);
    let mut k = *offsets.add(i);
    let end = *offsets.add(i + 1);
    let mut len = 0;
    let mut valid = true;
    while k < end {
        let mut byte = *text.add(k as usize);
        if byte == b'%' {
            if k + 2 >= end {
                valid = false;
                break;
            }
            let high = hex_value(*text.add(k as usize + 1));
            let low = hex_value(*text.add(k as usize + 2));
            if high < 0 || low < 0 {
                valid = false;
                break;
            }
            byte = (high << 4 | low) as u8;
            k += 3;
        } else {
            if byte == b'+' {
                byte = b' ';
            }
            k += 1;
        }
        if len == 32 {
            valid = false;
            break;
        }
        *field.add(len) = byte;
        len += 1;
    }
    if !valid {
        for j in 0..32 {
            *field.add(j) = b'?';
        }
    } else {
        while len < 32 {
            *field.add(len) = 0;
            len += 1;
        }
    }
}

// jump_flood3d

/// The place of a seed, with 10 bits for each coordinate.
#[derive(Clone, Copy)]
struct Seed([usize; 3]);

impl Seed {
    /// Unpacks a place, or nothing.
    fn unpack(bits: u32) -> Option<Seed> {
        (bits != u32::MAX).then(|| Seed([bits, bits >> 10, bits >> 20].map(|c| c as usize & 1023)))
    }

    fn pack(self) -> u32 {
        self.0
            .iter()
            .rev()
            .fold(0, |bits, &c| bits << 10 | c as u32)
    }

    /// The square of the distance.
    fn distance(self, to: [usize; 3]) -> usize {
        self.0
            .iter()
            .zip(to)
            .map(|(&a, b)| a.abs_diff(b))
            .map(|d| d * d)
            .sum()
    }
}

/// One step of the jump flooding algorithm: the nearest of the seeds that the cells at a distance
/// of `step` know.
#[kernel(block_size(32, 8))]
pub fn jump_flood3d_safe(mut to: PerThread3d<u32>, from: &[u32], step: i32) {
    let (width, height, depth) = (to.width(), to.height(), to.depth());
    let step = step as isize;
    let steps = move || [-step, 0, step].into_iter();
    to.each(|(x, y, z), to| {
        let at = |dx: isize, dy: isize, dz: isize| {
            let x = x.checked_add_signed(dx).filter(|&x| x < width)?;
            let y = y.checked_add_signed(dy).filter(|&y| y < height)?;
            let z = z.checked_add_signed(dz).filter(|&z| z < depth)?;
            Seed::unpack(from[(z * height + y) * width + x])
        };
        let nearest = steps()
            .flat_map(|dz| steps().flat_map(move |dy| steps().map(move |dx| (dx, dy, dz))))
            .filter_map(|(dx, dy, dz)| at(dx, dy, dz))
            .min_by_key(|seed| seed.distance([x, y, z]));
        *to = nearest.map_or(u32::MAX, Seed::pack);
    });
}

/// One step of the jump flooding algorithm: the nearest of the seeds that the cells at a distance
/// of `step` know.
#[kernel(block_size(32, 8))]
pub unsafe fn jump_flood3d_raw(
    to: *mut u32,
    from: *const u32,
    width: i32,
    height: i32,
    depth: i32,
    step: i32,
) {
    let p = thread::index_3d();
    let (x, y, z) = (p.x as i32, p.y as i32, p.z as i32);
    if x >= width || y >= height {
        return;
    }
    let mut nearest = u32::MAX;
    let mut best = i32::MAX;
    for k in -1..=1 {
        for j in -1..=1 {
            for i in -1..=1 {
                let (nx, ny, nz) = (x + i * step, y + j * step, z + k * step);
                if nx < 0 || nx >= width || ny < 0 || ny >= height || nz < 0 || nz >= depth {
                    continue;
                }
                let seed = *from.add(((nz * height + ny) * width + nx) as usize);
                if seed == u32::MAX {
                    continue;
                }
                let dx = x - (seed & 1023) as i32;
                let dy = y - (seed >> 10 & 1023) as i32;
                let dz = z - (seed >> 20 & 1023) as i32;
                let distance = dx * dx + dy * dy + dz * dz;
                if distance < best {
                    best = distance;
                    nearest = seed;
                }
            }
        }
    }
    *to.add(((z * height + y) * width + x) as usize) = nearest;
}

// mesh_normals

/// A vector in space.
#[derive(Clone, Copy, Default)]
struct Vec3([f32; 3]);

impl Vec3 {
    fn dot(self, other: Vec3) -> f32 {
        self.0.iter().zip(other.0).map(|(a, b)| a * b).sum()
    }

    fn cross(self, other: Vec3) -> Vec3 {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Vec3([b * z - c * y, c * x - a * z, a * y - b * x])
    }

    fn normalized(self) -> Option<Vec3> {
        let length = self.dot(self).sqrt();
        (length > 0.0).then(|| Vec3(self.0.map(|x| x / length)))
    }
}

impl Sub for Vec3 {
    type Output = Vec3;

    fn sub(self, other: Vec3) -> Vec3 {
        Vec3([
            self.0[0] - other.0[0],
            self.0[1] - other.0[1],
            self.0[2] - other.0[2],
        ])
    }
}

impl AddAssign for Vec3 {
    fn add_assign(&mut self, other: Vec3) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
}

impl core::iter::Sum for Vec3 {
    fn sum<I: Iterator<Item = Vec3>>(vectors: I) -> Vec3 {
        vectors.fold(Vec3::default(), |mut sum, vector| {
            sum += vector;
            sum
        })
    }
}

/// A mesh of triangles. The faces around vertex `i` are between the starts `i` and `i + 1`.
struct Mesh<'a> {
    positions: &'a [[f32; 3]],
    faces: &'a [[u32; 3]],
    starts: &'a [u32],
    around: &'a [u32],
}

impl<'a> Mesh<'a> {
    fn faces_around(&self, vertex: usize) -> impl Iterator<Item = &'a [u32; 3]> {
        let range = self.starts[vertex] as usize..self.starts[vertex + 1] as usize;
        let faces = self.faces;
        self.around[range]
            .iter()
            .map(move |&face| &faces[face as usize])
    }

    /// The normal of a face, whose length is twice the face's area.
    fn normal(&self, face: &[u32; 3]) -> Vec3 {
        let [a, b, c] = face.map(|vertex| Vec3(self.positions[vertex as usize]));
        (b - a).cross(c - a)
    }
}

/// The normal of each vertex of a mesh.
#[kernel(block_size(256))]
pub fn mesh_normals_safe(
    mut normals: PerThread<[f32; 3]>,
    positions: &[[f32; 3]],
    faces: &[[u32; 3]],
    starts: &[u32],
    around: &[u32],
) {
    let mesh = Mesh {
        positions,
        faces,
        starts,
        around,
    };
    normals.each(|vertex, normal| {
        let sum: Vec3 = mesh
            .faces_around(vertex)
            .map(|face| mesh.normal(face))
            .sum();
        *normal = sum.normalized().unwrap_or(Vec3([0.0, 0.0, 1.0])).0;
    });
}

/// The normal of each vertex of a mesh.
#[kernel(block_size(256))]
pub unsafe fn mesh_normals_raw(
    normals: *mut [f32; 3],
    positions: *const [f32; 3],
    faces: *const [u32; 3],
    starts: *const u32,
    around: *const u32,
    n: usize,
) {
    let vertex = thread::index_1d() as usize;
    if vertex >= n {
        return;
    }
    let (mut x, mut y, mut z) = (0f32, 0f32, 0f32);
    for k in *starts.add(vertex)..*starts.add(vertex + 1) {
        let face = *faces.add(*around.add(k as usize) as usize);
        let a = *positions.add(face[0] as usize);
        let b = *positions.add(face[1] as usize);
        let c = *positions.add(face[2] as usize);
        let (ux, uy, uz) = (b[0] - a[0], b[1] - a[1], b[2] - a[2]);
        let (vx, vy, vz) = (c[0] - a[0], c[1] - a[1], c[2] - a[2]);
        x += uy * vz - uz * vy;
        y += uz * vx - ux * vz;
        z += ux * vy - uy * vx;
    }
    let length = (x * x + y * y + z * z).sqrt();
    *normals.add(vertex) = if length > 0.0 {
        [x / length, y / length, z / length]
    } else {
        [0.0, 0.0, 1.0]
    };
}

// riccati

impl Matrix<2, 2> {
    fn inverse(self) -> Option<Matrix<2, 2>> {
        let Matrix([[a, b], [c, d]]) = self;
        let determinant = a * d - b * c;
        if determinant == 0.0 {
            return None;
        }
        Some(Matrix([[d, -b], [-c, a]]) * (1.0 / determinant))
    }
}

/// A linear system with three states and two controls.
#[derive(Clone, Copy, cust_core::DeviceCopy)]
#[repr(C)]
pub struct LinearSystem {
    /// How the state goes on.
    pub a: Matrix<3, 3>,
    /// What the controls do.
    pub b: Matrix<3, 2>,
}

impl LinearSystem {
    /// The gain of the optimal controller, if the iteration does not fail.
    fn gain(&self, effort: f32) -> Option<Matrix<2, 3>> {
        let LinearSystem { a, b } = *self;
        let (at, bt) = (a.transposed(), b.transposed());
        let mut p = Matrix::identity();
        let mut gain = Matrix([[0.0; 3]; 2]);
        for _ in 0..50 {
            let inverse = (Matrix::identity() * effort + bt * p * b).inverse()?;
            gain = inverse * (bt * p * a);
            let next = Matrix::identity() + at * p * (a - b * gain);
            let change = (next - p).norm();
            p = next;
            if change < 1e-4 * p.norm() {
                break;
            }
        }
        Some(gain)
    }
}

/// The gains of the linear-quadratic regulators of many systems.
#[kernel(block_size(128))]
pub fn riccati_safe(mut gains: PerThread<Matrix<2, 3>>, systems: &[LinearSystem], effort: f32) {
    gains.each_with(systems, |_, gain, system| {
        *gain = system.gain(effort).unwrap_or(Matrix([[f32::NAN; 3]; 2]));
    });
}

/// The gains of the linear-quadratic regulators of many systems.
#[kernel(block_size(128))]
pub unsafe fn riccati_raw(gains: *mut [[f32; 3]; 2], systems: *const f32, effort: f32, n: usize) {
    let index = thread::index_1d() as usize;
    if index >= n {
        return;
    }
    let mut a = [[0f32; 3]; 3];
    let mut b = [[0f32; 2]; 3];
    for i in 0..3 {
        for j in 0..3 {
            a[i][j] = *systems.add(15 * index + 3 * i + j);
        }
        for j in 0..2 {
            b[i][j] = *systems.add(15 * index + 9 + 2 * i + j);
        }
    }
    let mut p = [[1f32, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut gain = [[0f32; 3]; 2];
    for _ in 0..50 {
        let mut btp = [[0f32; 3]; 2];
        let mut atp = [[0f32; 3]; 3];
        for j in 0..3 {
            for k in 0..3 {
                for i in 0..2 {
                    btp[i][j] += b[k][i] * p[k][j];
                }
                for i in 0..3 {
                    atp[i][j] += a[k][i] * p[k][j];
                }
            }
        }
        let mut s = [[effort, 0.0], [0.0, effort]];
        let mut t = [[0f32; 3]; 2];
        for i in 0..2 {
            for k in 0..3 {
                for j in 0..2 {
                    s[i][j] += btp[i][k] * b[k][j];
                }
                for j in 0..3 {
                    t[i][j] += btp[i][k] * a[k][j];
                }
            }
        }
        let determinant = s[0][0] * s[1][1] - s[0][1] * s[1][0];
        if determinant == 0.0 {
            gain = [[f32::NAN; 3]; 2];
            break;
        }
        let scale = 1.0 / determinant;
        for j in 0..3 {
            gain[0][j] = (s[1][1] * t[0][j] - s[0][1] * t[1][j]) * scale;
            gain[1][j] = (s[0][0] * t[1][j] - s[1][0] * t[0][j]) * scale;
        }
        let mut closed = a;
        for i in 0..3 {
            for j in 0..3 {
                closed[i][j] -= b[i][0] * gain[0][j] + b[i][1] * gain[1][j];
            }
        }
        let mut change = 0f32;
        let mut size = 0f32;
        for i in 0..3 {
            let mut row_change = 0f32;
            let mut row_size = 0f32;
            for j in 0..3 {
                let mut x = if i == j { 1.0 } else { 0.0 };
                for k in 0..3 {
                    x += atp[i][k] * closed[k][j];
                }
                row_change += (x - p[i][j]).abs();
                row_size += x.abs();
                p[i][j] = x;
            }
            change = change.max(row_change);
            size = size.max(row_size);
        }
        if change < 1e-4 * size {
            break;
        }
    }
    *gains.add(index) = gain;
}

// ring_convolve

/// Samples that are overwritten one after the other: the oldest one is at `start`.
struct Ring<'a, T> {
    samples: &'a [T],
    start: usize,
}

impl<'a, T> Ring<'a, T> {
    /// The samples from the oldest to the newest.
    fn iter(&self) -> impl Iterator<Item = &'a T> {
        let (new, old) = self.samples.split_at(self.start);
        old.iter().chain(new)
    }
}

/// Filters the newest samples of each channel, which are in a ring of as many elements as the
/// filter has.
#[kernel(block_size(128))]
pub fn ring_convolve_safe(
    mut filtered: PerThread<f32>,
    samples: &[cuda_std::half::F16],
    starts: &[u16],
    filter: &[f32],
) {
    filtered.each_with(starts, |channel, filtered, &start| {
        let samples = &samples[channel * filter.len()..][..filter.len()];
        let ring = Ring {
            samples,
            start: usize::from(start),
        };
        *filtered = ring
            .iter()
            .zip(filter)
            .map(|(sample, weight)| sample.to_f32() * weight)
            .sum();
    });
}

/// Filters the newest samples of each channel, which are in a ring of as many elements as the
/// filter has.
#[kernel(block_size(128))]
pub unsafe fn ring_convolve_raw(
    filtered: *mut f32,
    samples: *const cuda_std::half::F16,
    starts: *const u16,
    filter: *const f32,
    taps: u32,
    n: u32,
) {
    let channel = thread::index_1d();
    if channel >= n {
        return;
    }
    let ring = samples.add(channel as usize * taps as usize);
    let start = *starts.add(channel as usize) as u32;
    let mut k = 0;
    let mut sum = 0.0;
    for i in start..taps {
        sum += (*ring.add(i as usize)).to_f32() * *filter.add(k);
        k += 1;
    }
    for i in 0..start {
        sum += (*ring.add(i as usize)).to_f32() * *filter.add(k);
        k += 1;
    }
    *filtered.add(channel as usize) = sum;
}

// line_starts

/// The number of lines whose starts are stored.
pub const LINES: usize = 1024;

/// Where the lines of each document of `len` bytes start, in order, and their number; a block for
/// each document.
#[kernel(block_size(256))]
pub fn line_starts_safe(
    mut counts: PerBlock<u32>,
    starts: &[Atomic<u32, Device>],
    text: &[u8],
    len: usize,
) {
    let block = group::block();
    for mut piece in counts.pieces() {
        let document = &text[piece.start() * len..][..len];
        let starts = &starts[piece.start() * LINES..][..LINES];
        let mut lines = 0;
        for (tile, bytes) in document.chunks(256).enumerate() {
            let place = block.rank() as usize;
            let ends_line = bytes.get(place) == Some(&b'\n');
            let (before, all) = block.exclusive_count(ends_line);
            if ends_line && let Some(start) = starts.get((lines + before) as usize) {
                start.store((tile * 256 + place + 1) as u32, Relaxed);
            }
            lines += all;
        }
        piece.each(|_, count| *count = lines);
    }
}

/// Where the lines of each document of `len` bytes start, in order, and their number; a block for
/// each document.
#[kernel(block_size(256))]
pub unsafe fn line_starts_raw(counts: *mut u32, starts: *mut u32, text: *const u8, len: usize) {
    let warps = shared_array![u32; 8];
    let t = thread::thread_idx_x() as usize;
    let warp_id = t / 32;
    let block = thread::block_idx_x() as usize;
    let document = text.add(block * len);
    let starts = starts.add(block * LINES);
    let mut lines = 0;
    let mut tile = 0;
    while tile < len {
        let i = tile + t;
        let ends_line = i < len && *document.add(i) == b'\n';
        let votes = warp::ballot(warp::FULL, ends_line);
        if t & 31 == 0 {
            *warps.add(warp_id) = votes.count_ones();
        }
        thread::sync_threads();
        let mut place = lines + (votes & warp::lanes_below()).count_ones();
        for w in 0..8 {
            let count = *warps.add(w);
            if w < warp_id {
                place += count;
            }
            lines += count;
        }
        if ends_line && place < LINES as u32 {
            *starts.add(place as usize) = i as u32 + 1;
        }
        thread::sync_threads();
        tile += 256;
    }
    if t == 0 {
        *counts.add(block) = lines;
    }
}

// pair_counts

/// The number of distances that `pair_counts` distinguishes.
pub const DISTANCES: usize = 64;

/// Points in a cube of side 1 that repeats in all directions.
#[derive(Clone, Copy)]
struct Points<'a> {
    x: &'a [f32],
    y: &'a [f32],
    z: &'a [f32],
}

impl Points<'_> {
    fn get(&self, i: usize) -> Option<[f32; 3]> {
        Some([*self.x.get(i)?, *self.y.get(i)?, *self.z.get(i)?])
    }
}

/// The distance to the nearest copy of a point, along each axis.
fn periodic_distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let square: f32 = a
        .iter()
        .zip(b)
        .map(|(a, b)| {
            let d = (a - b).abs();
            d.min(1.0 - d)
        })
        .map(|d| d * d)
        .sum();
    square.sqrt()
}

/// How many pairs of points have each distance below `range`, in any order. A block counts the pairs
/// of two tiles of points at a time.
#[kernel(block_size(256))]
pub fn pair_counts_safe(
    #[shared] mut tile: Shared<Array<[f32; 3], 256>>,
    #[shared] mut bins: Shared<Array<Atomic<u32, Block>, DISTANCES>>,
    counts: &[Atomic<u32, Device>],
    x: &[f32],
    y: &[f32],
    z: &[f32],
    range: f32,
) {
    let points = Points { x, y, z };
    let scale = DISTANCES as f32 / range;
    let tiles = x.len().div_ceil(256);
    bins.own().each(|_, bin| *bin.get_mut() = 0);
    let bins = bins.share();
    let first = thread::block_index() as usize;
    for pair in (first..tiles * tiles).step_by(thread::blocks_in_grid() as usize) {
        let (from, to) = (pair / tiles * 256, pair % tiles * 256);
        tile.own()
            .each(|i, point| *point = points.get(to + i).unwrap_or([f32::INFINITY; 3]));
        let own = from + thread::index_in_block() as usize;
        tile.read(|tile| {
            let Some(point) = points.get(own) else { return };
            for (i, &other) in tile.iter().enumerate() {
                let bin = (periodic_distance(point, other) * scale) as usize;
                if bin < DISTANCES && own != to + i {
                    bins[bin].fetch_add(1, Relaxed);
                }
            }
        });
    }
    bins.reclaim().own().each(|i, bin| {
        counts[i].fetch_add(*bin.get_mut(), Relaxed);
    });
}

/// How many pairs of points have each distance below `range`, in any order. A block counts the pairs
/// of two tiles of points at a time.
#[kernel(block_size(256))]
pub unsafe fn pair_counts_raw(
    counts: *mut u32,
    x: *const f32,
    y: *const f32,
    z: *const f32,
    n: u32,
    range: f32,
) {
    let tile = shared_array![[f32; 3]; 256];
    let bins = shared_array![u32; DISTANCES];
    let t = thread::thread_idx_x();
    let scale = DISTANCES as f32 / range;
    if t < DISTANCES as u32 {
        *bins.add(t as usize) = 0;
    }
    let tiles = n.div_ceil(256);
    let mut pair = thread::block_idx_x();
    while pair < tiles * tiles {
        let from = pair / tiles * 256;
        let to = pair % tiles * 256;
        thread::sync_threads();
        let other = (to + t) as usize;
        if to + t < n {
            *tile.add(t as usize) = [*x.add(other), *y.add(other), *z.add(other)];
        }
        thread::sync_threads();
        let own = from + t;
        if own < n {
            let i = own as usize;
            let (px, py, pz) = (*x.add(i), *y.add(i), *z.add(i));
            for k in 0..256.min(n - to) {
                let [qx, qy, qz] = *tile.add(k as usize);
                let (dx, dy, dz) = ((px - qx).abs(), (py - qy).abs(), (pz - qz).abs());
                let (dx, dy, dz) = (dx.min(1.0 - dx), dy.min(1.0 - dy), dz.min(1.0 - dz));
                let bin = ((dx * dx + dy * dy + dz * dz).sqrt() * scale) as u32;
                if bin < DISTANCES as u32 && own != to + k {
                    Atomic::<u32, Block>::from_ptr(bins.add(bin as usize)).fetch_add(1, Relaxed);
                }
            }
        }
        pair += thread::grid_dim_x();
    }
    thread::sync_threads();
    if t < DISTANCES as u32 {
        Atomic::<u32, Device>::from_ptr(counts.add(t as usize))
            .fetch_add(*bins.add(t as usize), Relaxed);
    }
}

// sinkhorn

/// The costs of transporting one uniform distribution over 32 places to another one, with entropic
/// regularization (Sinkhorn); a block for each matrix of costs.
#[kernel(block_size(32, 8))]
pub fn sinkhorn_safe(
    #[shared] mut kernel: Shared<Tile<f32, 32, 32, 33>>,
    #[shared] mut factors: Shared<(Array<Atomic<f32, Block>, 32>, Array<Atomic<f32, Block>, 32>)>,
    mut totals: PerBlock<f32>,
    costs: &[[[f32; 32]; 32]],
    sharpness: f32,
    iterations: u32,
) {
    let lanes = group::warp();
    let lane = lanes.rank() as usize;
    for mut piece in totals.pieces() {
        let costs = &costs[piece.start()];
        kernel
            .own()
            .each(|(x, y), k| *k = (-sharpness * costs[y][x]).exp());
        let (u, v) = factors.own();
        u.each(|_, u| *u.get_mut() = 1.0);
        v.each(|_, v| *v.get_mut() = 1.0);
        let own = kernel.read(|kernel| {
            factors.read(|(u, v)| {
                let places = || (thread::warp_id() as usize..32).step_by(8);
                for _ in 0..iterations {
                    let factor = v[lane].load(Relaxed);
                    for row in places() {
                        let sum = lanes.reduce(kernel[row][lane] * factor, |a, b| a + b);
                        u[row].store(1.0 / (32.0 * sum), Relaxed);
                    }
                    thread::sync_threads();
                    let factor = u[lane].load(Relaxed);
                    for column in places() {
                        let sum = lanes.reduce(kernel[lane][column] * factor, |a, b| a + b);
                        v[column].store(1.0 / (32.0 * sum), Relaxed);
                    }
                    thread::sync_threads();
                }
                let row_cost =
                    |row: usize| u[row].load(Relaxed) * kernel[row][lane] * costs[row][lane];
                places().map(row_cost).sum::<f32>() * v[lane].load(Relaxed)
            })
        });
        let total = group::block().reduce(own, |a, b| a + b);
        piece.each(|_, to| *to = total);
    }
}

/// The sum of the values of all lanes.
#[inline(always)]
fn warp_sum(mut x: f32) -> f32 {
    let mut distance = 16;
    while distance > 0 {
        x += warp::shuffle_xor(warp::FULL, x, distance);
        distance /= 2;
    }
    x
}

/// The costs of transporting one uniform distribution over 32 places to another one, with entropic
/// regularization (Sinkhorn); a block for each matrix of costs.
#[kernel(block_size(32, 8))]
pub unsafe fn sinkhorn_raw(totals: *mut f32, costs: *const f32, sharpness: f32, iterations: u32) {
    let kernel = shared_array![f32; 32 * 33];
    let u = shared_array![f32; 32];
    let v = shared_array![f32; 32];
    let sums = shared_array![f32; 8];
    let (lane, w) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let block = thread::block_idx_x() as usize;
    let costs = costs.add(1024 * block);
    for k in 0..4 {
        let row = w + 8 * k;
        *kernel.add(33 * row + lane) = (-sharpness * *costs.add(32 * row + lane)).exp();
    }
    if w == 0 {
        *v.add(lane) = 1.0;
    }
    thread::sync_threads();
    for _ in 0..iterations {
        let factor = *v.add(lane);
        for k in 0..4 {
            let row = w + 8 * k;
            let sum = warp_sum(*kernel.add(33 * row + lane) * factor);
            if lane == 0 {
                *u.add(row) = 1.0 / (32.0 * sum);
            }
        }
        thread::sync_threads();
        let factor = *u.add(lane);
        for k in 0..4 {
            let column = w + 8 * k;
            let sum = warp_sum(*kernel.add(33 * lane + column) * factor);
            if lane == 0 {
                *v.add(column) = 1.0 / (32.0 * sum);
            }
        }
        thread::sync_threads();
    }
    let mut sum = 0.0;
    for k in 0..4 {
        let row = w + 8 * k;
        sum += *u.add(row) * *kernel.add(33 * row + lane) * *costs.add(32 * row + lane);
    }
    sum = warp_sum(sum * *v.add(lane));
    if lane == 0 {
        *sums.add(w) = sum;
    }
    thread::sync_threads();
    if lane == 0 && w == 0 {
        let mut total = 0.0;
        for k in 0..8 {
            total += *sums.add(k);
        }
        *totals.add(block) = total;
    }
}

// simplex_project

/// The nearest point to each vector of 1024 numbers whose coordinates are not negative and have the
/// sum 1; a block for each vector.
#[kernel(block_size(256))]
pub fn simplex_project_safe(mut to: PerBlock<f64, 1024>, from: &[f64]) {
    let block = group::block();
    for mut piece in to.pieces() {
        let vector = &from[piece.start()..][..1024];
        let mut own = [0.0; 4];
        for (x, i) in own.iter_mut().zip(thread::block_stride(1024)) {
            *x = vector[i];
        }
        let largest = block.reduce(
            own.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            f64::max,
        );
        // The sum of what is above a level decreases from 1 or more to 0.
        let (mut low, mut high) = (largest - 1.0, largest);
        while high - low > 1e-9 {
            let level = 0.5 * (low + high);
            let above = own.iter().map(|x| (x - level).max(0.0)).sum::<f64>();
            if block.reduce(above, |a, b| a + b) > 1.0 {
                low = level;
            } else {
                high = level;
            }
        }
        piece
            .own()
            .zip(own)
            .for_each(|((_, to), x)| *to = (x - high).max(0.0));
    }
}

/// The nearest point to each vector of 1024 numbers whose coordinates are not negative and have the
/// sum 1; a block for each vector.
#[kernel(block_size(256))]
pub unsafe fn simplex_project_raw(to: *mut f64, from: *const f64) {
    let warps = shared_array![f64; 16];
    let t = thread::thread_idx_x() as usize;
    let (lane, warp_id) = (t & 31, t / 32);
    let start = 1024 * thread::block_idx_x() as usize + t;
    let mut own = [0f64; 4];
    let mut largest = f64::NEG_INFINITY;
    for k in 0..4 {
        own[k] = *from.add(start + 256 * k);
        largest = largest.max(own[k]);
    }
    let mut distance = 16;
    while distance > 0 {
        largest = largest.max(warp::shuffle_xor(warp::FULL, largest, distance));
        distance /= 2;
    }
    if lane == 0 {
        *warps.add(8 + warp_id) = largest;
    }
    thread::sync_threads();
    for w in 0..8 {
        largest = largest.max(*warps.add(8 + w));
    }
    let mut low = largest - 1.0;
    let mut high = largest;
    let mut half = 0;
    while high - low > 1e-9 {
        let level = 0.5 * (low + high);
        let mut above = 0f64;
        for k in 0..4 {
            above += (own[k] - level).max(0.0);
        }
        let mut distance = 16;
        while distance > 0 {
            above += warp::shuffle_xor(warp::FULL, above, distance);
            distance /= 2;
        }
        if lane == 0 {
            *warps.add(half + warp_id) = above;
        }
        thread::sync_threads();
        let mut sum = 0.0;
        for w in 0..8 {
            sum += *warps.add(half + w);
        }
        half ^= 8;
        // The other half was read before the last barrier.
        if sum > 1.0 {
            low = level;
        } else {
            high = level;
        }
    }
    for k in 0..4 {
        *to.add(start + 256 * k) = (own[k] - high).max(0.0);
    }
}

// legendre_sum

/// Coefficients of the recurrence of the associated Legendre functions of order `order`, for the
/// next degrees: the value is `x` times the first one times the last value, minus the second one
/// times the one before.
struct Order<'a> {
    recurrence: &'a [[f64; 2]],
    weights: &'a [[f64; 2]],
}

/// Splits triangular tables into the rows of each order.
fn orders<'a>(
    mut recurrence: &'a [[f64; 2]],
    mut weights: &'a [[f64; 2]],
    degree: usize,
) -> impl Iterator<Item = Order<'a>> {
    (0..=degree).map(move |order| {
        let len = degree + 1 - order;
        let (first, rest) = recurrence.split_at(len);
        let (own, others) = weights.split_at(len);
        (recurrence, weights) = (rest, others);
        Order {
            recurrence: first,
            weights: own,
        }
    })
}

/// The value of a sum of spherical harmonics at each point, given by the cosine of its angle to the
/// axis, and its longitude.
#[kernel(block_size(128))]
pub fn legendre_sum_safe(
    mut values: PerThread<f64>,
    points: &[[f64; 2]],
    recurrence: &[[f64; 2]],
    weights: &[[f64; 2]],
    degree: usize,
) {
    values.each_with(points, |_, value, &[x, longitude]| {
        let radius = (1.0 - x * x).sqrt();
        let (sin, cos) = longitude.sin_cos();
        let (mut s, mut c) = (0.0, 1.0);
        let mut sectoral = 1.0;
        let mut sum = 0.0;
        for order in orders(recurrence, weights, degree) {
            let (mut before, mut last) = (0.0, sectoral);
            for (&[a, b], &[cosine, sine]) in order.recurrence.iter().zip(order.weights) {
                sum += last * (cosine * c + sine * s);
                (before, last) = (last, a * x * last - b * before);
            }
            sectoral *= radius;
            (s, c) = (s * cos + c * sin, c * cos - s * sin);
        }
        *value = sum;
    });
}

/// The value of a sum of spherical harmonics at each point, given by the cosine of its angle to the
/// axis, and its longitude.
#[kernel(block_size(128))]
pub unsafe fn legendre_sum_raw(
    values: *mut f64,
    points: *const [f64; 2],
    recurrence: *const [f64; 2],
    weights: *const [f64; 2],
    degree: u32,
    n: u32,
) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let [x, longitude] = *points.add(i as usize);
    let radius = (1.0 - x * x).sqrt();
    let (sin, cos) = longitude.sin_cos();
    let (mut s, mut c) = (0.0, 1.0);
    let mut sectoral = 1.0;
    let mut sum = 0.0;
    let mut place = 0;
    for order in 0..degree + 1 {
        let (mut before, mut last) = (0.0, sectoral);
        for _ in order..degree + 1 {
            let [a, b] = *recurrence.add(place);
            let [cosine, sine] = *weights.add(place);
            sum += last * (cosine * c + sine * s);
            let next = a * x * last - b * before;
            before = last;
            last = next;
            place += 1;
        }
        sectoral *= radius;
        let next = s * cos + c * sin;
        c = c * cos - s * sin;
        s = next;
    }
    *values.add(i as usize) = sum;
}

// path_budget

/// The number of points of a path.
pub const PATH: usize = 64;

/// How many steps of each path, and then back along it, fit a budget of length.
#[kernel(block_size(128))]
pub fn path_budget_safe(mut steps: PerThread<u32>, points: &[[i16; 2]], budgets: &[f32]) {
    let paths = points.as_chunks::<PATH>().0;
    steps.each_with((paths, budgets), |_, steps, (path, &budget)| {
        let lengths = path.windows(2).map(|pair| {
            let [dx, dy] = [0, 1].map(|k| i32::from(pair[1][k]) - i32::from(pair[0][k]));
            ((dx * dx + dy * dy) as f32).sqrt()
        });
        *steps = lengths
            .clone()
            .chain(lengths.rev())
            .scan(0.0, |sum, length| {
                *sum += length;
                Some(*sum)
            })
            .take_while(|&sum| sum <= budget)
            .count() as u32;
    });
}

/// How many steps of each path, and then back along it, fit a budget of length.
#[kernel(block_size(128))]
pub unsafe fn path_budget_raw(
    steps: *mut u32,
    points: *const [i16; 2],
    budgets: *const f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let path = points.add(PATH * i);
    let budget = *budgets.add(i);
    let mut sum = 0.0;
    let mut count = 0;
    for step in 0..2 * (PATH - 1) {
        let k = if step < PATH - 1 {
            step
        } else {
            2 * (PATH - 1) - 1 - step
        };
        let [ax, ay] = *path.add(k);
        let [bx, by] = *path.add(k + 1);
        let (dx, dy) = (bx as i32 - ax as i32, by as i32 - ay as i32);
        sum += ((dx * dx + dy * dy) as f32).sqrt();
        if sum > budget {
            break;
        }
        count += 1;
    }
    *steps.add(i) = count;
}

// palindrome

/// The longest palindrome of a text: its start and its length. The first one of several.
fn longest_palindrome(text: &[u8]) -> (usize, usize) {
    let mut best = (0, 0);
    for center in 0..text.len() {
        for middle in [1, 0] {
            let (before, rest) = text.split_at(center);
            let after = rest.get(middle..).unwrap_or_default();
            let arm = before
                .iter()
                .rev()
                .zip(after)
                .take_while(|(a, b)| a == b)
                .count();
            let len = 2 * arm + middle;
            if len > best.1 {
                best = (center - arm, len);
            }
        }
    }
    best
}

/// Start and length of the longest palindrome of each text, which is between the offsets `i` and
/// `i + 1`.
#[kernel(block_size(128))]
pub fn palindrome_safe(
    mut starts: PerThread<u16>,
    mut lengths: PerThread<u16>,
    text: &[u8],
    offsets: &[u32],
) {
    let index = thread::UniqueIndex::new();
    let i = index.get();
    let (Some(start), Some(length)) = (starts.get_mut(index), lengths.get_mut(index)) else {
        return;
    };
    let found = longest_palindrome(&text[offsets[i] as usize..offsets[i + 1] as usize]);
    (*start, *length) = (found.0 as u16, found.1 as u16);
}

/// Start and length of the longest palindrome of each text, which is between the offsets `i` and
/// `i + 1`.
#[kernel(block_size(128))]
pub unsafe fn palindrome_raw(
    starts: *mut u16,
    lengths: *mut u16,
    text: *const u8,
    offsets: *const u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let text = text.add(*offsets.add(i) as usize);
    let len = (*offsets.add(i + 1) - *offsets.add(i)) as i32;
    let (mut start, mut length) = (0, 0);
    for center in 0..len {
        for middle in [1, 0] {
            let mut low = center - 1;
            let mut high = center + middle;
            while low >= 0 && high < len && *text.add(low as usize) == *text.add(high as usize) {
                low -= 1;
                high += 1;
            }
            if high - low - 1 > length {
                start = low + 1;
                length = high - low - 1;
            }
        }
    }
    *starts.add(i) = start as u16;
    *lengths.add(i) = length as u16;
}

// fov_lights

/// The cells of a line (Bresenham), without an end.
struct Line {
    x: i32,
    y: i32,
    dx: i32,
    dy: i32,
    error: i32,
}

impl Line {
    fn new((x, y): (i32, i32), (to_x, to_y): (i32, i32)) -> Line {
        let (dx, dy) = (to_x - x, to_y - y);
        Line {
            x,
            y,
            dx,
            dy,
            error: dx.abs() - dy.abs(),
        }
    }
}

impl Iterator for Line {
    type Item = (i32, i32);

    fn next(&mut self) -> Option<(i32, i32)> {
        let place = (self.x, self.y);
        let twice = 2 * self.error;
        if twice >= -self.dy.abs() {
            self.error -= self.dy.abs();
            self.x += self.dx.signum();
        }
        if twice <= self.dx.abs() {
            self.error += self.dx.abs();
            self.y += self.dy.signum();
        }
        Some(place)
    }
}

/// The number of lights that each cell of a map sees. Cells that are not 0 are walls.
#[kernel(block_size(32, 8))]
pub fn fov_lights_safe(mut seen: PerThread2d<u8>, map: &[u8], lights: &[[i32; 2]]) {
    let width = seen.width();
    let is_wall = |(x, y): (i32, i32)| map[y as usize * width + x as usize] != 0;
    seen.each(|(x, y), seen| {
        let cell = (x as i32, y as i32);
        let visible = lights.iter().map(|&[x, y]| (x, y)).filter(|&light| {
            !Line::new(light, cell)
                .take_while(|&place| place != cell)
                .any(is_wall)
        });
        *seen = visible.count() as u8;
    });
}

/// The number of lights that each cell of a map sees. Cells that are not 0 are walls.
#[kernel(block_size(32, 8))]
pub unsafe fn fov_lights_raw(
    seen: *mut u8,
    map: *const u8,
    lights: *const [i32; 2],
    count: i32,
    width: i32,
    height: i32,
) {
    let place = thread::index_2d();
    let (to_x, to_y) = (place.x as i32, place.y as i32);
    if to_x >= width || to_y >= height {
        return;
    }
    let mut visible = 0;
    for k in 0..count {
        let [mut x, mut y] = *lights.add(k as usize);
        let (dx, dy) = ((to_x - x).abs(), (to_y - y).abs());
        let sx = if x < to_x { 1 } else { -1 };
        let sy = if y < to_y { 1 } else { -1 };
        let mut error = dx - dy;
        loop {
            if x == to_x && y == to_y {
                visible += 1;
                break;
            }
            if *map.add((y * width + x) as usize) != 0 {
                break;
            }
            let twice = 2 * error;
            if twice >= -dy {
                error -= dy;
                x += sx;
            }
            if twice <= dx {
                error += dx;
                y += sy;
            }
        }
    }
    *seen.add((to_y * width + to_x) as usize) = visible;
}

// nussinov

/// The length of a sequence.
pub const BASES: usize = 64;

/// A base of RNA.
#[derive(Clone, Copy, PartialEq)]
enum Base {
    A,
    C,
    G,
    U,
}

impl Base {
    fn new(code: u8) -> Base {
        match code {
            0 => Base::A,
            1 => Base::C,
            2 => Base::G,
            _ => Base::U,
        }
    }

    fn pairs_with(self, other: Base) -> bool {
        matches!(
            (self, other),
            (Base::A, Base::U)
                | (Base::U, Base::A)
                | (Base::C, Base::G)
                | (Base::G, Base::C)
                | (Base::G, Base::U)
                | (Base::U, Base::G)
        )
    }
}

/// The largest number of pairs of bases in a fold of each sequence (Nussinov), with at least three
/// bases between the bases of a pair; a block for each sequence.
#[kernel(block_size(64))]
pub fn nussinov_safe(
    #[shared] mut table: Shared<Array<Atomic<u32, Block>, { BASES * BASES }>>,
    mut pairs: PerBlock<u32>,
    sequences: &[[u8; BASES]],
) {
    for mut piece in pairs.pieces() {
        let sequence = &sequences[piece.start()];
        table.own().each(|_, cell| *cell.get_mut() = 0);
        table.read(|table| {
            let at = |i: usize, j: usize| table[i * BASES + j].load(Relaxed);
            let i = thread::index_in_block() as usize;
            for length in 1..BASES {
                let j = i + length;
                if j < BASES {
                    let mut best = (i..j).map(|k| at(i, k) + at(k + 1, j)).max().unwrap_or(0);
                    if length > 3 && Base::new(sequence[i]).pairs_with(Base::new(sequence[j])) {
                        best = best.max(at(i + 1, j - 1) + 1);
                    }
                    table[i * BASES + j].store(best, Relaxed);
                }
                thread::sync_threads();
            }
            piece.each(|_, pairs| *pairs = at(0, BASES - 1));
        });
    }
}

/// The largest number of pairs of bases in a fold of each sequence (Nussinov), with at least three
/// bases between the bases of a pair; a block for each sequence.
#[kernel(block_size(64))]
pub unsafe fn nussinov_raw(pairs: *mut u32, sequences: *const u8) {
    let table = shared_array![u32; BASES * BASES];
    let i = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let sequence = sequences.add(block * BASES);
    let mut k = i;
    while k < BASES * BASES {
        *table.add(k) = 0;
        k += 64;
    }
    thread::sync_threads();
    for length in 1..BASES {
        let j = i + length;
        if j < BASES {
            let mut best = 0;
            for k in i..j {
                best = best.max(*table.add(i * BASES + k) + *table.add((k + 1) * BASES + j));
            }
            if length > 3 {
                // Bit `4 * a + b` is set if `a` pairs with `b`.
                let both = 4 * *sequence.add(i) + *sequence.add(j);
                if 0b0101_1010_0100_1000 >> both & 1 != 0 {
                    best = best.max(*table.add((i + 1) * BASES + j - 1) + 1);
                }
            }
            *table.add(i * BASES + j) = best;
        }
        thread::sync_threads();
    }
    if i == 0 {
        *pairs.add(block) = *table.add(BASES - 1);
    }
}

// rule_automaton

/// The rule of an elementary cellular automaton.
#[derive(Clone, Copy)]
struct Rule(u32);

impl Rule {
    /// The next states of 32 cells, given those of their left and right neighbors.
    fn apply(self, left: u32, center: u32, right: u32) -> u32 {
        (0..8)
            .filter(|&pattern| self.0 >> pattern & 1 == 1)
            .map(|pattern| {
                let same = |cells: u32, bit: u32| {
                    if pattern >> bit & 1 == 1 {
                        cells
                    } else {
                        !cells
                    }
                };
                same(left, 2) & same(center, 1) & same(right, 0)
            })
            .fold(0, |next, cells| next | cells)
    }
}

/// Runs a cellular automaton on a ring of 8192 cells for each block: 32 cells for each thread, the
/// leftmost one in the lowest bit.
#[kernel(block_size(256))]
pub fn rule_automaton_safe(
    #[shared] mut words: Shared<Array<u32, 256>>,
    mut to: PerBlock<u32, 256>,
    from: &[u32],
    rule: u32,
    steps: u32,
) {
    let rule = Rule(rule);
    let own = thread::index_in_block() as usize;
    for mut piece in to.pieces() {
        let mut center = from[piece.start() + own];
        for _ in 0..steps {
            words.own().each(|_, word| *word = center);
            let (before, after) =
                words.read(|words| (words[(own + 255) % 256], words[(own + 1) % 256]));
            let left = center << 1 | before >> 31;
            let right = center >> 1 | after << 31;
            center = rule.apply(left, center, right);
        }
        piece.each(|_, word| *word = center);
    }
}

/// Runs a cellular automaton on a ring of 8192 cells for each block: 32 cells for each thread, the
/// leftmost one in the lowest bit.
#[kernel(block_size(256))]
pub unsafe fn rule_automaton_raw(to: *mut u32, from: *const u32, rule: u32, steps: u32) {
    let words = shared_array![u32; 256];
    let t = thread::thread_idx_x();
    let i = thread::index_1d() as usize;
    let mut center = *from.add(i);
    for _ in 0..steps {
        *words.add(t as usize) = center;
        thread::sync_threads();
        let left = center << 1 | *words.add((t + 255) as usize % 256) >> 31;
        let right = center >> 1 | *words.add((t + 1) as usize % 256) << 31;
        let mut next = 0;
        for pattern in 0..8 {
            if rule >> pattern & 1 != 0 {
                let a = if pattern & 4 != 0 { left } else { !left };
                let b = if pattern & 2 != 0 { center } else { !center };
                let c = if pattern & 1 != 0 { right } else { !right };
                next |= a & b & c;
            }
        }
        center = next;
        thread::sync_threads();
    }
    *to.add(i) = center;
}

// power_iteration

/// The largest eigenvalue of each symmetric matrix; a block for each matrix, a row for each thread.
#[kernel(block_size(64))]
pub fn power_iteration_safe(
    #[shared] mut vector: Shared<Array<f32, 64>>,
    mut eigenvalues: PerBlock<f32>,
    matrices: &[f32],
) {
    let block = group::block();
    let column = block.rank() as usize;
    for mut piece in eigenvalues.pieces() {
        let matrix = &matrices[64 * 64 * piece.start()..][..64 * 64];
        let mut eigenvalue = 0f32;
        let mut own = 0.125;
        for _ in 0..100 {
            vector.own().each(|_, x| *x = own);
            let product: f32 = vector.read(|vector| {
                matrix
                    .chunks_exact(64)
                    .zip(vector)
                    .map(|(row, x)| row[column] * x)
                    .sum()
            });
            let [square, along] = block.reduce([product * product, product * own], |a, b| {
                [a[0] + b[0], a[1] + b[1]]
            });
            own = product / square.sqrt();
            let change = (along - eigenvalue).abs();
            eigenvalue = along;
            if change <= 1e-5 * eigenvalue.abs() {
                break;
            }
        }
        piece.each(|_, to| *to = eigenvalue);
    }
}

/// The largest eigenvalue of each symmetric matrix; a block for each matrix, a row for each thread.
#[kernel(block_size(64))]
pub unsafe fn power_iteration_raw(eigenvalues: *mut f32, matrices: *const f32) {
    let vector = shared_array![f32; 64];
    let sums = shared_array![[f32; 2]; 2];
    let t = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let matrix = matrices.add(64 * 64 * block);
    let mut eigenvalue = 0f32;
    let mut own = 0.125f32;
    for _ in 0..100 {
        *vector.add(t) = own;
        thread::sync_threads();
        let mut product = 0.0;
        for k in 0..64 {
            product += *matrix.add(64 * k + t) * *vector.add(k);
        }
        let mut square = product * product;
        let mut along = product * own;
        let mut distance = 16;
        while distance > 0 {
            square += warp::shuffle_xor(warp::FULL, square, distance);
            along += warp::shuffle_xor(warp::FULL, along, distance);
            distance /= 2;
        }
        if t % 32 == 0 {
            *sums.add(t / 32) = [square, along];
        }
        thread::sync_threads();
        let [[s0, a0], [s1, a1]] = [*sums, *sums.add(1)];
        square = s0 + s1;
        along = a0 + a1;
        own = product / square.sqrt();
        let change = (along - eigenvalue).abs();
        eigenvalue = along;
        if change <= 1e-5 * eigenvalue.abs() {
            break;
        }
    }
    if t == 0 {
        *eigenvalues.add(block) = eigenvalue;
    }
}

// stable_match

/// A stable matching (Gale–Shapley) of each 32 applicants and 32 schools: the applicant of each
/// school. Each applicant has a list of schools, the best one first; each school has the rank of
/// each applicant. A warp for each matching: a lane is an applicant and a school.
#[kernel(block_size(128))]
pub fn stable_match_safe(mut matches: PerWarp<u8, 32>, lists: &[[u8; 32]], ranks: &[[u8; 32]]) {
    let lanes = group::warp();
    let index = thread::index() as usize;
    let (Some(list), Some(ranks)) = (lists.get(index), ranks.get(index)) else {
        return;
    };
    let mut choices = list.iter();
    let mut choice = choices.next().copied();
    let mut accepted: Option<u8> = None;
    loop {
        // The school takes the best applicant.
        let applied = choice.unwrap_or(u8::MAX);
        accepted = (0..32u8)
            .filter(|&applicant| {
                u32::from(lanes.shuffle(applied, u32::from(applicant))) == lanes.rank()
            })
            .chain(accepted)
            .min_by_key(|&applicant| ranks[usize::from(applicant)]);
        // The others try the next school on their lists.
        let taken = lanes.shuffle(accepted.unwrap_or(u8::MAX), u32::from(applied));
        let rejected = u32::from(taken) != lanes.rank();
        if rejected {
            choice = choices.next().copied();
        }
        if !lanes.any(rejected) {
            break;
        }
    }
    matches.each(|_, to| *to = accepted.unwrap_or(u8::MAX));
}

/// A stable matching (Gale–Shapley) of each 32 applicants and 32 schools: the applicant of each
/// school. Each applicant has a list of schools, the best one first; each school has the rank of
/// each applicant. A warp for each matching: a lane is an applicant and a school.
#[kernel(block_size(128))]
pub unsafe fn stable_match_raw(matches: *mut u8, lists: *const u8, ranks: *const u8, n: usize) {
    let index = thread::index_1d() as usize;
    if index / 32 >= n {
        return;
    }
    let lane = thread::lane_id();
    let list = lists.add(32 * index);
    let ranks = ranks.add(32 * index);
    let mut next = 0;
    let mut accepted = 255;
    let mut best = 255;
    loop {
        let choice = *list.add(next) as u32;
        for applicant in 0..32 {
            if warp::shuffle(warp::FULL, choice, applicant) == lane {
                let rank = *ranks.add(applicant as usize);
                if rank < best {
                    best = rank;
                    accepted = applicant;
                }
            }
        }
        let rejected = warp::shuffle(warp::FULL, accepted, choice) != lane;
        if rejected {
            next += 1;
        }
        if !warp::any(warp::FULL, rejected) {
            break;
        }
    }
    *matches.add(index) = accepted as u8;
}
