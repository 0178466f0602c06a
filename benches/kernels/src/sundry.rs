//! Kernels in many styles, half with a result per thread and half with cooperation: written by a
//! programmer who knew the documentation of `cuda_std` and nothing of the compiler.

// The kernels are as their author wrote them.
#![allow(
    clippy::chunks_exact_to_as_chunks,
    clippy::manual_is_multiple_of,
    clippy::manual_range_contains,
    clippy::precedence
)]

use core::cmp::Ordering;
use core::ops::{Add, Mul, Sub};
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::half::{F16, F16x2};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::thread::UniqueIndex;
use cuda_std::vector::U8x4;
use cuda_std::{
    AnyBits, PerBlock, PerBlockRow, PerColumn, PerRow, PerThread2d, PerThread3d, PerThreadChunk,
    PerTile, PerWarp, PerWarpRow, group,
};

/// Returns the number of steps of the Collatz sequence from `start` to 1, and its largest number.
pub fn collatz(start: u64) -> (u32, u64) {
    let next = |&n: &u64| match n {
        0 | 1 => None,
        n if n % 2 == 0 => Some(n / 2),
        n => Some(3 * n + 1),
    };
    core::iter::successors(Some(start), next)
        .fold((0, 0), |(steps, peak), n| (steps + 1, n.max(peak)))
}

/// Lengths and peaks of Collatz sequences.
#[kernel]
pub fn collatz_peak_safe(first: u64, mut steps: PerThread<u32>, mut peaks: PerThread<u64>) {
    let index = UniqueIndex::new();
    if let (Some(steps), Some(peak)) = (steps.get_mut(index), peaks.get_mut(index)) {
        (*steps, *peak) = collatz(first + index.get() as u64);
    }
}

/// As [`collatz_peak_safe`], with pointers.
#[kernel]
pub unsafe fn collatz_peak_raw(first: u64, steps: *mut u32, peaks: *mut u64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut x = first + i as u64;
    let (mut count, mut peak) = (1, x);
    while x > 1 {
        x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
        peak = peak.max(x);
        count += 1;
    }
    *steps.add(i) = count;
    *peaks.add(i) = peak;
}

/// Splits a number off the start of a text.
fn leading_number(mut text: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = None;
    while let [digit @ b'0'..=b'9', rest @ ..] = text {
        value = Some(value.unwrap_or(0) * 10 + u32::from(digit - b'0'));
        text = rest;
    }
    Some((value?, text))
}

/// Compares two versions such as `1.20.3`. Returns `None` if one of them is malformed.
pub fn compare_versions(mut a: &[u8], mut b: &[u8]) -> Option<Ordering> {
    loop {
        let (x, rest_a) = leading_number(a)?;
        let (y, rest_b) = leading_number(b)?;
        if x != y {
            return Some(x.cmp(&y));
        }
        (a, b) = match (rest_a.split_first(), rest_b.split_first()) {
            (Some((b'.', a)), Some((b'.', b))) => (a, b),
            (Some((b'.', _)), _) => return Some(Ordering::Greater),
            (_, Some((b'.', _))) => return Some(Ordering::Less),
            _ => return Some(Ordering::Equal),
        };
    }
}

/// The bytes of a version.
pub const VERSION: usize = 24;

/// Compares pairs of versions: -1, 0, 1, or 2 if one is malformed.
#[kernel]
pub fn version_order_safe(a: &[[u8; VERSION]], b: &[[u8; VERSION]], mut to: PerThread<i32>) {
    to.each_with((a, b), |_, to, (a, b)| {
        *to = compare_versions(a, b).map_or(2, |order| order as i32)
    });
}

/// As [`version_order_safe`], with pointers.
#[kernel]
pub unsafe fn version_order_raw(a: *const u8, b: *const u8, to: *mut i32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (a, b) = (a.add(i * VERSION), b.add(i * VERSION));
    let (mut p, mut q) = (0, 0);
    let result = loop {
        let (start_p, start_q) = (p, q);
        let (mut x, mut y) = (0u32, 0u32);
        while p < VERSION && (*a.add(p)).is_ascii_digit() {
            x = x * 10 + (*a.add(p) - b'0') as u32;
            p += 1;
        }
        while q < VERSION && (*b.add(q)).is_ascii_digit() {
            y = y * 10 + (*b.add(q) - b'0') as u32;
            q += 1;
        }
        if p == start_p || q == start_q {
            break 2;
        }
        if x != y {
            break if x < y { -1 } else { 1 };
        }
        let more_a = p < VERSION && *a.add(p) == b'.';
        let more_b = q < VERSION && *b.add(q) == b'.';
        if !(more_a && more_b) {
            break more_a as i32 - more_b as i32;
        }
        p += 1;
        q += 1;
    };
    *to.add(i) = result;
}

/// Points in a plane.
#[derive(Clone, Copy)]
struct Points<'a> {
    x: &'a [f32],
    y: &'a [f32],
}

/// Two points and the square of their distance.
#[derive(Clone, Copy, AnyBits)]
struct Pair {
    square: f32,
    i: u32,
    j: u32,
}

impl Pair {
    const NONE: Pair = Pair {
        square: f32::INFINITY,
        i: u32::MAX,
        j: u32::MAX,
    };

    fn nearer(self, other: Pair) -> Pair {
        let key = |pair: &Pair| (pair.i, pair.j);
        let ordering = self
            .square
            .total_cmp(&other.square)
            .then_with(|| key(&self).cmp(&key(&other)));
        if ordering.is_le() { self } else { other }
    }
}

impl Points<'_> {
    /// Returns the point of a range that is nearest to point `i`, among those after it.
    fn nearest_after(self, i: usize, start: usize, end: usize) -> Pair {
        let (x, y) = (self.x[i], self.y[i]);
        let start = start.max(i + 1).min(end);
        let others = self.x[start..end].iter().zip(&self.y[start..end]);
        others
            .enumerate()
            .map(|(k, (x2, y2))| Pair {
                square: (x2 - x) * (x2 - x) + (y2 - y) * (y2 - y),
                i: i as u32,
                j: (start + k) as u32,
            })
            .fold(Pair::NONE, |best, pair| {
                if pair.square < best.square {
                    pair
                } else {
                    best
                }
            })
    }
}

/// The number of points with which an item of work compares a point.
const PAIR_CHUNK: usize = 256;

/// The closest pair of each block: square, `i`, `j`.
#[kernel(block_size(256))]
pub fn closest_pair_safe(x: &[f32], y: &[f32], mut to: PerBlock<[u32; 3]>) {
    let points = Points { x, y };
    let n = x.len();
    let best = thread::grid_stride(n * n.div_ceil(PAIR_CHUNK))
        .map(|item| {
            let start = item / n * PAIR_CHUNK;
            points.nearest_after(item % n, start, n.min(start + PAIR_CHUNK))
        })
        .fold(Pair::NONE, Pair::nearer);
    let best = group::block().reduce(best, Pair::nearer);
    to.each(|_, to| *to = [best.square.to_bits(), best.i, best.j]);
}

/// As [`closest_pair_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn closest_pair_raw(x: *const f32, y: *const f32, to: *mut u32, n: u32) {
    unsafe fn before(a: f32, ai: u32, aj: u32, b: f32, bi: u32, bj: u32) -> bool {
        a < b || a == b && (ai < bi || ai == bi && aj < bj)
    }
    let squares = shared_array![f32; 8];
    let is = shared_array![u32; 8];
    let js = shared_array![u32; 8];
    let (mut best, mut bi, mut bj) = (f32::INFINITY, u32::MAX, u32::MAX);
    let items = n * n.div_ceil(256);
    let mut item = thread::index_1d();
    while item < items {
        let (i, start) = (item % n, item / n * 256);
        let end = n.min(start + 256);
        let (px, py) = (*x.add(i as usize), *y.add(i as usize));
        let mut j = start.max(i + 1);
        while j < end {
            let (dx, dy) = (*x.add(j as usize) - px, *y.add(j as usize) - py);
            let square = dx * dx + dy * dy;
            if before(square, i, j, best, bi, bj) {
                (best, bi, bj) = (square, i, j);
            }
            j += 1;
        }
        item += thread::grid_dim_x() * 256;
    }
    let mut d = 16;
    while d > 0 {
        let other = warp::shuffle_xor(warp::FULL, best, d);
        let oi = warp::shuffle_xor(warp::FULL, bi, d);
        let oj = warp::shuffle_xor(warp::FULL, bj, d);
        if before(other, oi, oj, best, bi, bj) {
            (best, bi, bj) = (other, oi, oj);
        }
        d /= 2;
    }
    let t = thread::thread_idx_x() as usize;
    if t % 32 == 0 {
        *squares.add(t / 32) = best;
        *is.add(t / 32) = bi;
        *js.add(t / 32) = bj;
    }
    thread::sync_threads();
    if t == 0 {
        for w in 1..8 {
            let (other, oi, oj) = (*squares.add(w), *is.add(w), *js.add(w));
            if before(other, oi, oj, best, bi, bj) {
                (best, bi, bj) = (other, oi, oj);
            }
        }
        let to = to.add(thread::block_idx_x() as usize * 3);
        *to = best.to_bits();
        *to.add(1) = bi;
        *to.add(2) = bj;
    }
}

/// Returns how a byte changes the depth.
fn depth_change(byte: u8) -> i32 {
    match byte {
        b'(' | b'[' | b'{' => 1,
        b')' | b']' | b'}' => -1,
        _ => 0,
    }
}

/// The depth of the brackets of each document, or -1 if they are unbalanced.
#[kernel(block_size(256))]
pub fn bracket_depth_safe(text: &[u8], length: usize, mut to: PerBlock<i32>) {
    let block = group::block();
    let document = &text[block.number() as usize * length..][..length];
    let (mut depth, mut lowest, mut highest) = (0, 0, 0);
    for chunk in document.chunks(256) {
        let change = chunk
            .get(block.rank() as usize)
            .map_or(0, |&byte| depth_change(byte));
        let (before, total) = block.exclusive_scan_with_total(change, 0, |a, b| a + b);
        let here = depth + before + change;
        lowest = here.min(lowest);
        highest = here.max(highest);
        depth += total;
    }
    let (lowest, highest) = block.reduce((lowest, highest), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    to.each(|_, to| {
        *to = if lowest < 0 || depth != 0 {
            -1
        } else {
            highest
        }
    });
}

/// As [`bracket_depth_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn bracket_depth_raw(text: *const u8, length: u32, to: *mut i32) {
    let sums = shared_array![i32; 8];
    let extremes = shared_array![i32; 16];
    let t = thread::thread_idx_x();
    let (lane, w) = (t % 32, t / 32);
    let text = text.add(thread::block_idx_x() as usize * length as usize);
    let (mut depth, mut lowest, mut highest) = (0, 0, 0);
    let mut start = 0;
    while start < length {
        let i = start + t;
        let change = if i < length {
            depth_change(*text.add(i as usize))
        } else {
            0
        };
        let mut sum = change;
        let mut d = 1;
        while d < 32 {
            let other = warp::shuffle_up(warp::FULL, sum, d);
            if lane >= d {
                sum += other;
            }
            d *= 2;
        }
        if lane == 31 {
            *sums.add(w as usize) = sum;
        }
        thread::sync_threads();
        let mut total = 0;
        for k in 0..8 {
            if k == w as usize {
                sum += total;
            }
            total += *sums.add(k);
        }
        lowest = lowest.min(depth + sum);
        highest = highest.max(depth + sum);
        depth += total;
        thread::sync_threads();
        start += 256;
    }
    lowest = warp::reduce_min(warp::FULL, lowest);
    highest = warp::reduce_max(warp::FULL, highest);
    if lane == 0 {
        *extremes.add(w as usize) = lowest;
        *extremes.add(8 + w as usize) = highest;
    }
    thread::sync_threads();
    if t == 0 {
        for k in 1..8 {
            lowest = lowest.min(*extremes.add(k));
            highest = highest.max(*extremes.add(8 + k));
        }
        *to.add(thread::block_idx_x() as usize) = if lowest < 0 || depth != 0 {
            -1
        } else {
            highest
        };
    }
}

/// A number with its derivative.
#[derive(Clone, Copy)]
struct Dual {
    value: f32,
    slope: f32,
}

impl Dual {
    fn ln(self) -> Dual {
        Dual {
            value: self.value.ln(),
            slope: self.slope / self.value,
        }
    }
}

impl From<f32> for Dual {
    fn from(value: f32) -> Dual {
        Dual { value, slope: 0.0 }
    }
}

impl<T: Into<Dual>> Add<T> for Dual {
    type Output = Dual;

    fn add(self, other: T) -> Dual {
        let other = other.into();
        Dual {
            value: self.value + other.value,
            slope: self.slope + other.slope,
        }
    }
}

impl<T: Into<Dual>> Mul<T> for Dual {
    type Output = Dual;

    fn mul(self, other: T) -> Dual {
        let other = other.into();
        Dual {
            value: self.value * other.value,
            slope: self.slope * other.value + self.value * other.slope,
        }
    }
}

/// Finds a zero by Newton's method.
fn newton(start: f32, f: impl Fn(Dual) -> Dual) -> Option<f32> {
    let mut x = start;
    for _ in 0..30 {
        let y = f(Dual {
            value: x,
            slope: 1.0,
        });
        let step = y.value / y.slope;
        x -= step;
        if step.abs() < 1e-5 * x.abs() {
            return Some(x);
        }
    }
    None
}

/// The flow in a pipe.
enum Flow {
    Laminar,
    Turbulent { roughness: f32 },
}

/// Returns the friction factor of a pipe.
fn friction(flow: Flow, reynolds: f32) -> Option<f32> {
    match flow {
        Flow::Laminar => Some(64.0 / reynolds),
        Flow::Turbulent { roughness } => {
            let root = newton(7.0, |x| {
                x + (x * (2.51 / reynolds) + roughness / 3.7).ln()
                    * core::f32::consts::LOG10_E
                    * 2.0
            })?;
            Some(1.0 / (root * root))
        }
    }
}

/// The segments of a pipe.
const SEGMENTS: usize = 16;

/// Returns the loss of pressure in a pipe that narrows.
pub fn pipe_loss(speed: f32, roughness: f32) -> f32 {
    let loss = |k: usize| {
        let diameter = 1.0 - 0.04 * k as f32;
        let local = speed / (diameter * diameter);
        let reynolds = 20_000.0 * local * diameter;
        let flow = match reynolds < 4000.0 {
            true => Flow::Laminar,
            false => Flow::Turbulent {
                roughness: roughness / diameter,
            },
        };
        Some(friction(flow, reynolds)? * local * local / diameter)
    };
    (0..SEGMENTS)
        .map(loss)
        .sum::<Option<f32>>()
        .unwrap_or(f32::NAN)
}

/// The loss of pressure in pipes that narrow.
#[kernel(block_size(128))]
pub fn pipe_loss_safe(speed: &[f32], roughness: &[f32], mut to: PerThread<f32>) {
    to.each_with((speed, roughness), |_, to, (&speed, &roughness)| {
        *to = pipe_loss(speed, roughness)
    });
}

/// As [`pipe_loss_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn pipe_loss_raw(speed: *const f32, roughness: *const f32, to: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (speed, roughness) = (*speed.add(i), *roughness.add(i));
    let mut sum = 0.0;
    for k in 0..SEGMENTS {
        let diameter = 1.0 - 0.04 * k as f32;
        let local = speed / (diameter * diameter);
        let reynolds = 20_000.0 * local * diameter;
        let mut factor = 64.0 / reynolds;
        if reynolds >= 4000.0 {
            let (a, b) = (2.51 / reynolds, roughness / diameter / 3.7);
            let mut x = 7.0f32;
            for round in 0.. {
                if round == 30 {
                    x = f32::NAN;
                    break;
                }
                let inner = x * a + b;
                let value = x + inner.ln() * core::f32::consts::LOG10_E * 2.0;
                let slope = 1.0 + a / inner * core::f32::consts::LOG10_E * 2.0;
                let step = value / slope;
                x -= step;
                if step.abs() < 1e-5 * x.abs() {
                    break;
                }
            }
            factor = 1.0 / (x * x);
        }
        sum += factor * local * local / diameter;
    }
    *to.add(i) = sum;
}

/// A matrix of `R` rows and `C` columns.
#[derive(Clone, Copy)]
pub struct Matrix<T, const R: usize, const C: usize>(pub [[T; C]; R]);

impl<
    T: Copy + Default + Mul<Output = T> + Add<Output = T>,
    const R: usize,
    const K: usize,
    const C: usize,
> Mul<Matrix<T, K, C>> for Matrix<T, R, K>
{
    type Output = Matrix<T, R, C>;

    fn mul(self, other: Matrix<T, K, C>) -> Matrix<T, R, C> {
        Matrix(core::array::from_fn(|r| {
            core::array::from_fn(|c| {
                (0..K).fold(T::default(), |sum, k| sum + self.0[r][k] * other.0[k][c])
            })
        }))
    }
}

impl<T: Copy + Add<Output = T>, const R: usize, const C: usize> Add for Matrix<T, R, C> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Matrix(core::array::from_fn(|r| {
            core::array::from_fn(|c| self.0[r][c] + other.0[r][c])
        }))
    }
}

impl<const R: usize, const C: usize> Mul<f64> for Matrix<f64, R, C> {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Matrix(self.0.map(|row| row.map(|x| x * factor)))
    }
}

/// An element of an optical system.
#[derive(Clone, Copy)]
enum Optic {
    Space(f32),
    Lens(f32),
    Mirror(f32),
    Plate { thickness: f32, index: f32 },
}

impl Optic {
    fn new(kind: u32, value: f32) -> Optic {
        match kind {
            0 => Optic::Space(value),
            1 => Optic::Lens(value),
            2 => Optic::Mirror(value),
            _ => Optic::Plate {
                thickness: value,
                index: 1.5,
            },
        }
    }

    /// Scales lengths and powers.
    fn scaled(self, length: f32, power: f32) -> Optic {
        match self {
            Optic::Space(d) => Optic::Space(d * length),
            Optic::Lens(f) => Optic::Lens(f / power),
            Optic::Mirror(r) => Optic::Mirror(r / power),
            plate => plate,
        }
    }

    fn matrix(self) -> Matrix<f32, 2, 2> {
        match self {
            Optic::Space(d) => Matrix([[1.0, d], [0.0, 1.0]]),
            Optic::Lens(f) => Matrix([[1.0, 0.0], [-1.0 / f, 1.0]]),
            Optic::Mirror(r) => Matrix([[1.0, 0.0], [-2.0 / r, 1.0]]),
            Optic::Plate { thickness, index } => Matrix([[1.0, thickness / index], [0.0, 1.0]]),
        }
    }
}

/// Returns the size of the beam in a resonator, or `None` if it is not stable.
pub fn beam(kinds: &[u32], values: &[f32], length: f32, power: f32) -> Option<f32> {
    let system = kinds
        .iter()
        .zip(values)
        .map(|(&kind, &value)| Optic::new(kind, value).scaled(length, power).matrix())
        .reduce(|product, next| next * product)?;
    let Matrix([[a, b], [_, d]]) = system;
    let m = (a + d) / 2.0;
    (m.abs() < 1.0).then(|| (b.abs() / (1.0 - m * m).sqrt()).sqrt())
}

/// The columns of the scan of parameters.
pub const SCAN: usize = 1024;

/// The lengths and powers of an element of the scan.
pub fn scan_point(i: usize) -> (f32, f32) {
    (
        0.5 + (i % SCAN) as f32 / SCAN as f32,
        0.5 + (i / SCAN) as f32 / SCAN as f32,
    )
}

/// The size of the beam in a resonator, for each length and power, or 0 where it is not stable.
#[kernel]
pub fn abcd_beam_safe(kinds: &[u32], values: &[f32], mut to: PerThread<f32>) {
    to.each(|i, to| {
        let (length, power) = scan_point(i);
        *to = beam(kinds, values, length, power).unwrap_or(0.0);
    });
}

/// As [`abcd_beam_safe`], with pointers.
#[kernel]
pub unsafe fn abcd_beam_raw(
    kinds: *const u32,
    values: *const f32,
    count: usize,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (length, power) = scan_point(i);
    let (mut a, mut b, mut c, mut d) = (1.0f32, 0.0f32, 0.0f32, 1.0f32);
    for k in 0..count {
        let value = *values.add(k);
        let (mut f, mut g) = (0.0, 0.0);
        match *kinds.add(k) {
            0 => f = value * length,
            1 => g = -1.0 / (value / power),
            2 => g = -2.0 / (value / power),
            _ => f = value / 1.5,
        }
        (a, b, c, d) = (a + f * c, b + f * d, g * a + c, g * b + d);
    }
    let m = (a + d) / 2.0;
    *to.add(i) = if m.abs() < 1.0 {
        (b.abs() / (1.0 - m * m).sqrt()).sqrt()
    } else {
        0.0
    };
}

impl Matrix<f64, 3, 3> {
    const IDENTITY: Self = Matrix([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);

    fn inverse(&self) -> Option<Self> {
        let m = &self.0;
        let cofactor = |r: usize, c: usize| {
            let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
            m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]
        };
        let determinant: f64 = (0..3).map(|c| m[0][c] * cofactor(0, c)).sum();
        if determinant == 0.0 {
            return None;
        }
        let adjugate = core::array::from_fn(|r| core::array::from_fn(|c| cofactor(c, r)));
        Some(Matrix(adjugate) * (1.0 / determinant))
    }

    fn distance(&self, other: &Self) -> f64 {
        let pairs = self.0.as_flattened().iter().zip(other.0.as_flattened());
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// Returns the square root, by Denman and Beavers' iteration.
    pub fn square_root(self) -> Option<Self> {
        let (mut y, mut z) = (self, Self::IDENTITY);
        for _ in 0..25 {
            let next = (y + z.inverse()?) * 0.5;
            z = (z + y.inverse()?) * 0.5;
            let change = next.distance(&y);
            y = next;
            if change < 1e-10 {
                return Some(y);
            }
        }
        None
    }
}

/// The square roots of matrices.
#[kernel(block_size(128))]
pub fn matrix_sqrt_safe(from: &[[[f64; 3]; 3]], mut to: PerThread<[[f64; 3]; 3]>) {
    to.each_with(from, |_, to, from| {
        *to = Matrix(*from)
            .square_root()
            .map_or([[f64::NAN; 3]; 3], |root| root.0);
    });
}

unsafe fn invert3(m: &[f64; 9], to: &mut [f64; 9]) {
    let c0 = m[4] * m[8] - m[5] * m[7];
    let c1 = m[5] * m[6] - m[3] * m[8];
    let c2 = m[3] * m[7] - m[4] * m[6];
    let r = 1.0 / (m[0] * c0 + m[1] * c1 + m[2] * c2);
    to[0] = c0 * r;
    to[1] = (m[2] * m[7] - m[1] * m[8]) * r;
    to[2] = (m[1] * m[5] - m[2] * m[4]) * r;
    to[3] = c1 * r;
    to[4] = (m[0] * m[8] - m[2] * m[6]) * r;
    to[5] = (m[2] * m[3] - m[0] * m[5]) * r;
    to[6] = c2 * r;
    to[7] = (m[1] * m[6] - m[0] * m[7]) * r;
    to[8] = (m[0] * m[4] - m[1] * m[3]) * r;
}

/// As [`matrix_sqrt_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn matrix_sqrt_raw(from: *const f64, to: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut y = *from.add(i * 9).cast::<[f64; 9]>();
    let mut z = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let (mut u, mut v) = ([0.0; 9], [0.0; 9]);
    for _ in 0..25 {
        invert3(&z, &mut u);
        invert3(&y, &mut v);
        let mut change = 0.0f64;
        for k in 0..9 {
            let next = (y[k] + u[k]) * 0.5;
            change = change.max((next - y[k]).abs());
            y[k] = next;
            z[k] = (z[k] + v[k]) * 0.5;
        }
        if change < 1e-10 {
            break;
        }
    }
    *to.add(i * 9).cast() = y;
}

/// The census24 transform: the bits say which of the 24 neighbors are darker.
#[kernel(block_size(32, 8))]
pub fn census24_safe(image: &[u8], mut to: PerThread2d<u32>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let at = |dx: usize, dy: usize| {
            let x = (x + dx).saturating_sub(2).min(width - 1);
            let y = (y + dy).saturating_sub(2).min(height - 1);
            image[y * width + x]
        };
        let center = at(2, 2);
        *to = (0..5)
            .flat_map(|dy| (0..5).map(move |dx| (dx, dy)))
            .filter(|&place| place != (2, 2))
            .fold(0, |bits, (dx, dy)| {
                bits << 1 | u32::from(at(dx, dy) < center)
            });
    });
}

/// As [`census24_safe`], with pointers.
#[kernel(block_size(32, 8))]
pub unsafe fn census24_raw(image: *const u8, width: i32, height: i32, to: *mut u32) {
    let at = thread::index_2d();
    let (x, y) = (at.x as i32, at.y as i32);
    if x >= width || y >= height {
        return;
    }
    let center = *image.add((y * width + x) as usize);
    let mut bits = 0;
    for dy in -2..=2 {
        for dx in -2..=2 {
            if dx != 0 || dy != 0 {
                let (x, y) = ((x + dx).clamp(0, width - 1), (y + dy).clamp(0, height - 1));
                bits = bits << 1 | (*image.add((y * width + x) as usize) < center) as u32;
            }
        }
    }
    *to.add((y * width + x) as usize) = bits;
}

/// The minimum of a ball around each voxel.
#[kernel(block_size(16, 4, 4))]
pub fn erode_ball_safe(from: &[u8], mut to: PerThread3d<u8>) {
    let (width, height, depth) = (to.width() as i32, to.height() as i32, to.depth() as i32);
    let voxel = |x: i32, y: i32, z: i32| {
        let inside = (0..width).contains(&x) && (0..height).contains(&y) && (0..depth).contains(&z);
        inside.then(|| from[((z * height + y) * width + x) as usize])
    };
    to.each(|(x, y, z), to| {
        let (x, y, z) = (x as i32, y as i32, z as i32);
        *to = (-2..=2i32)
            .flat_map(|dz| (-2..=2i32).map(move |dy| (dy, dz)))
            .flat_map(|(dy, dz)| (-2..=2i32).map(move |dx| (dx, dy, dz)))
            .filter(|(dx, dy, dz)| dx * dx + dy * dy + dz * dz <= 5)
            .filter_map(|(dx, dy, dz)| voxel(x + dx, y + dy, z + dz))
            .min()
            .unwrap_or(0);
    });
}

/// As [`erode_ball_safe`], with pointers.
#[kernel(block_size(16, 4, 4))]
pub unsafe fn erode_ball_raw(from: *const u8, width: i32, height: i32, depth: i32, to: *mut u8) {
    let at = thread::index_3d();
    let (x, y, z) = (at.x as i32, at.y as i32, at.z as i32);
    if x >= width || y >= height || z >= depth {
        return;
    }
    let mut lowest = 255u8;
    for dz in -2..=2i32 {
        for dy in -2..=2i32 {
            for dx in -2..=2i32 {
                if dx * dx + dy * dy + dz * dz > 5 {
                    continue;
                }
                let (x, y, z) = (x + dx, y + dy, z + dz);
                if x >= 0 && x < width && y >= 0 && y < height && z >= 0 && z < depth {
                    lowest = lowest.min(*from.add(((z * height + y) * width + x) as usize));
                }
            }
        }
    }
    *to.add(((z * height + y) * width + x) as usize) = lowest;
}

/// A step of coupled oscillators on a periodic lattice. The threads of a two-dimensional block own
/// columns along `z`.
#[kernel(block_size(32, 8))]
pub fn kuramoto3d_safe(
    dt: f32,
    coupling: f32,
    phase: &[f32],
    speed: &[f32],
    mut to: PerThread3d<f32>,
) {
    let size = [to.width(), to.height(), to.depth()];
    let index = |[x, y, z]: [usize; 3]| (z * size[1] + y) * size[0] + x;
    to.each(|(x, y, z), to| {
        let place = [x, y, z];
        let own = phase[index(place)];
        let pull: f32 = (0..3)
            .flat_map(|axis| {
                [1, size[axis] - 1].map(|step| {
                    let mut other = place;
                    other[axis] = (other[axis] + step) % size[axis];
                    other
                })
            })
            .map(|other| (phase[index(other)] - own).sin())
            .sum();
        *to = own + dt * (speed[index(place)] + coupling * pull);
    });
}

/// As [`kuramoto3d_safe`], with pointers.
#[kernel(block_size(32, 8))]
pub unsafe fn kuramoto3d_raw(
    dt: f32,
    coupling: f32,
    phase: *const f32,
    speed: *const f32,
    width: u32,
    height: u32,
    depth: u32,
    to: *mut f32,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    if x >= width || y >= height {
        return;
    }
    let (left, right) = ((x + width - 1) % width, (x + 1) % width);
    let (up, down) = ((y + height - 1) % height, (y + 1) % height);
    let load = |x: u32, y: u32, z: u32| *phase.add(((z * height + y) * width + x) as usize);
    let mut z = thread::block_idx_z();
    while z < depth {
        let own = load(x, y, z);
        let pull = (load(right, y, z) - own).sin()
            + (load(left, y, z) - own).sin()
            + (load(x, down, z) - own).sin()
            + (load(x, up, z) - own).sin()
            + (load(x, y, (z + 1) % depth) - own).sin()
            + (load(x, y, (z + depth - 1) % depth) - own).sin();
        let i = ((z * height + y) * width + x) as usize;
        *to.add(i) = own + dt * (*speed.add(i) + coupling * pull);
        z += thread::grid_dim_z();
    }
}

/// Where and when the sun is observed.
#[derive(Clone, Copy)]
pub struct Observer {
    /// The latitude in radians.
    pub latitude: f64,
    /// The longitude in radians.
    pub longitude: f64,
}

/// Events of the sun.
#[derive(Clone, Copy)]
pub enum SolarEvent {
    /// Sunrise.
    Rise,
    /// Sunset.
    Set,
}

impl Observer {
    /// Returns the time of an event in days, or `None` if there is none on that day.
    pub fn time_of(self, event: SolarEvent, day: f64) -> Option<f64> {
        let mut time = 0.5;
        for _ in 0..4 {
            let centuries = (day + time) / 36525.0;
            let anomaly = (357.52911 + 35999.05029 * centuries).to_radians();
            let mean = (280.46646 + 36000.76983 * centuries).to_radians();
            let center = 1.914602 * anomaly.sin()
                + 0.019993 * (2.0 * anomaly).sin()
                + 0.000289 * (3.0 * anomaly).sin();
            let longitude = mean + center.to_radians();
            let tilt = (23.439291 - 0.0130042 * centuries).to_radians();
            let declination = (tilt.sin() * longitude.sin()).asin();
            let ascension = (tilt.cos() * longitude.sin()).atan2(longitude.cos());
            let tau = core::f64::consts::TAU;
            let equation = (mean - ascension + 0.5 * tau).rem_euclid(tau) - 0.5 * tau;
            let cosine = ((-0.833f64).to_radians().sin() - self.latitude.sin() * declination.sin())
                / (self.latitude.cos() * declination.cos());
            if !(-1.0..=1.0).contains(&cosine) {
                return None;
            }
            let angle = match event {
                SolarEvent::Rise => -cosine.acos(),
                SolarEvent::Set => cosine.acos(),
            };
            time = 0.5 + (angle - self.longitude - equation) / tau;
        }
        Some(time)
    }

    /// Returns the length of a day, or `None` if the sun does not rise and set.
    pub fn day_length(self, day: f64) -> Option<f64> {
        Some(self.time_of(SolarEvent::Set, day)? - self.time_of(SolarEvent::Rise, day)?)
    }
}

/// The lengths of days, or -1 where the sun does not rise and set.
#[kernel(block_size(128))]
pub fn day_length_safe(latitude: &[f64], longitude: &[f64], mut to: PerThread<f64>) {
    to.each_with((latitude, longitude), |i, to, (&latitude, &longitude)| {
        let observer = Observer {
            latitude,
            longitude,
        };
        *to = observer.day_length((i % 365) as f64).unwrap_or(-1.0);
    });
}

unsafe fn event_time(latitude: f64, longitude: f64, sign: f64, day: f64) -> f64 {
    const DEGREE: f64 = core::f64::consts::PI / 180.0;
    const TAU: f64 = core::f64::consts::TAU;
    let mut time = 0.5;
    for _ in 0..4 {
        let t = (day + time) / 36525.0;
        let anomaly = (357.52911 + 35999.05029 * t) * DEGREE;
        let mean = (280.46646 + 36000.76983 * t) * DEGREE;
        let center = 1.914602 * anomaly.sin()
            + 0.019993 * (2.0 * anomaly).sin()
            + 0.000289 * (3.0 * anomaly).sin();
        let l = mean + center * DEGREE;
        let tilt = (23.439291 - 0.0130042 * t) * DEGREE;
        let declination = (tilt.sin() * l.sin()).asin();
        let ascension = (tilt.cos() * l.sin()).atan2(l.cos());
        let angle = mean - ascension;
        let equation = angle - TAU * (angle / TAU + 0.5).floor();
        let cosine = ((-0.833 * DEGREE).sin() - latitude.sin() * declination.sin())
            / (latitude.cos() * declination.cos());
        if !(cosine >= -1.0 && cosine <= 1.0) {
            return f64::NAN;
        }
        time = 0.5 + (sign * cosine.acos() - longitude - equation) / TAU;
    }
    time
}

/// As [`day_length_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn day_length_raw(latitude: *const f64, longitude: *const f64, to: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (latitude, longitude, day) = (*latitude.add(i), *longitude.add(i), (i % 365) as f64);
    let set = event_time(latitude, longitude, 1.0, day);
    let rise = if set.is_nan() {
        set
    } else {
        event_time(latitude, longitude, -1.0, day)
    };
    *to.add(i) = if rise.is_nan() { -1.0 } else { set - rise };
}

/// An amount of money in millionths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Money(pub i64);

impl Add for Money {
    type Output = Money;

    fn add(self, other: Money) -> Money {
        Money(self.0 + other.0)
    }
}

impl Mul<u32> for Money {
    type Output = Money;

    fn mul(self, count: u32) -> Money {
        Money(self.0 * i64::from(count))
    }
}

impl core::iter::Sum for Money {
    fn sum<I: Iterator<Item = Money>>(items: I) -> Money {
        items.fold(Money(0), Add::add)
    }
}

/// What a supplier charges.
pub trait Tariff: Sync {
    /// Returns the price of `used` units in a quarter of an hour, after `before` units.
    fn price(&self, quarter: usize, before: u32, used: u32) -> Money;
}

struct Flat(Money);

struct Blocks {
    limits: [u32; 3],
    prices: [Money; 3],
}

struct ByHour {
    prices: [Money; 24],
}

struct Peak {
    base: Money,
    limit: u32,
    penalty: Money,
}

impl Tariff for Flat {
    fn price(&self, _: usize, _: u32, used: u32) -> Money {
        self.0 * used
    }
}

impl Tariff for Blocks {
    fn price(&self, _: usize, before: u32, used: u32) -> Money {
        let mut from = before;
        let mut sum = Money(0);
        for (&limit, &price) in self.limits.iter().zip(&self.prices) {
            let to = limit.min(before + used);
            if to > from {
                sum = sum + price * (to - from);
                from = to;
            }
        }
        sum
    }
}

impl Tariff for ByHour {
    fn price(&self, quarter: usize, _: u32, used: u32) -> Money {
        self.prices[quarter / 4 % 24] * used
    }
}

impl Tariff for Peak {
    fn price(&self, _: usize, _: u32, used: u32) -> Money {
        match used.checked_sub(self.limit) {
            Some(excess) => self.base * used + self.penalty * excess,
            None => self.base * used,
        }
    }
}

const HOURLY: [i64; 24] = [
    90_011, 90_011, 80_007, 80_007, 80_007, 90_011, 120_013, 250_017, 310_019, 300_023, 240_029,
    220_031, 230_037, 210_041, 200_043, 210_047, 260_053, 330_059, 380_061, 360_067, 300_071,
    220_073, 150_079, 110_083,
];

/// The tariffs.
pub static TARIFFS: [&dyn Tariff; 4] = [
    &Flat(Money(212_345)),
    &Blocks {
        limits: [9_000, 15_000, u32::MAX],
        prices: [Money(150_001), Money(210_003), Money(333_333)],
    },
    &ByHour {
        prices: {
            let mut prices = [Money(0); 24];
            let mut hour = 0;
            while hour < 24 {
                prices[hour] = Money(HOURLY[hour]);
                hour += 1;
            }
            prices
        },
    },
    &Peak {
        base: Money(170_009),
        limit: 200,
        penalty: Money(500_021),
    },
];

/// The quarters of an hour of a day.
pub const QUARTERS: usize = 96;

/// The bills of customers, whose readings are columns of a matrix.
#[kernel]
pub fn tariff_bill_safe(tariffs: &[u8], readings: &[u16], mut to: PerThread<i64>) {
    let customers = to.len();
    to.each(|i, to| {
        let tariff = TARIFFS[usize::from(tariffs[i]) % TARIFFS.len()];
        let own = readings.iter().skip(i).step_by(customers);
        let bill: Money = own
            .enumerate()
            .scan(0, |before, (quarter, &used)| {
                let price = tariff.price(quarter, *before, u32::from(used));
                *before += u32::from(used);
                Some(price)
            })
            .sum();
        *to = bill.0;
    });
}

/// As [`tariff_bill_safe`], with pointers.
#[kernel]
pub unsafe fn tariff_bill_raw(
    tariffs: *const u8,
    readings: *const u16,
    to: *mut i64,
    customers: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= customers {
        return;
    }
    let tariff = *tariffs.add(i) % 4;
    let (mut bill, mut before) = (0i64, 0u32);
    for quarter in 0..QUARTERS {
        let used = *readings.add(quarter * customers + i) as u32;
        match tariff {
            0 => bill += 212_345 * used as i64,
            1 => {
                let after = before + used;
                let first = after.min(9_000) - before.min(9_000);
                let second = after.clamp(9_000, 15_000) - before.clamp(9_000, 15_000);
                let third = after.max(15_000) - before.max(15_000);
                bill += 150_001 * first as i64 + 210_003 * second as i64 + 333_333 * third as i64;
            }
            2 => bill += *HOURLY.as_ptr().add(quarter / 4) * used as i64,
            _ => {
                bill += 170_009 * used as i64;
                if used > 200 {
                    bill += 500_021 * (used - 200) as i64;
                }
            }
        }
        before += used;
    }
    *to.add(i) = bill;
}

/// Counts how often each pair of gray levels occurs in neighboring pixels.
#[kernel(block_size(256))]
pub fn cooccurrence_safe(
    #[shared] mut bins: Shared<Array<Atomic<u32, Block>, 256>>,
    image: &[u8],
    width: usize,
    counts: &[Atomic<u32, Device>],
) {
    bins.own().each(|_, bin| *bin.get_mut() = 0);
    bins.read(|bins| {
        for (i, &pixel) in thread::elements(image) {
            let right = if (i + 1) % width != 0 {
                image.get(i + 1)
            } else {
                None
            };
            let below = image.get(i + width);
            for &other in right.into_iter().chain(below) {
                let bin = usize::from(pixel >> 4) * 16 + usize::from(other >> 4);
                bins[bin].fetch_add(1, Relaxed);
            }
        }
    });
    bins.own().each(|i, bin| {
        counts[i].fetch_add(*bin.get_mut(), Relaxed);
    });
}

/// As [`cooccurrence_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn cooccurrence_raw(image: *const u8, width: u32, n: u32, counts: *mut u32) {
    let bins = shared_array![u32; 256];
    let t = thread::thread_idx_x() as usize;
    *bins.add(t) = 0;
    thread::sync_threads();
    let mut i = thread::index_1d();
    while i < n {
        let row = (*image.add(i as usize) >> 4) as usize * 16;
        if (i + 1) % width != 0 && i + 1 < n {
            let bin = row + (*image.add(i as usize + 1) >> 4) as usize;
            Atomic::<u32, Block>::from_ptr(bins.add(bin)).fetch_add(1, Relaxed);
        }
        if i + width < n {
            let bin = row + (*image.add((i + width) as usize) >> 4) as usize;
            Atomic::<u32, Block>::from_ptr(bins.add(bin)).fetch_add(1, Relaxed);
        }
        i += thread::grid_dim_x() * 256;
    }
    thread::sync_threads();
    Atomic::<u32, Device>::from_ptr(counts.add(t)).fetch_add(*bins.add(t), Relaxed);
}

/// Returns in how many ways a number is the sum of two squares.
pub fn sums_of_squares(number: u64) -> u32 {
    let (mut low, mut high) = (0, number.isqrt());
    let mut ways = 0;
    while low <= high {
        match (low * low + high * high).cmp(&number) {
            Ordering::Less => low += 1,
            Ordering::Greater => high -= 1,
            Ordering::Equal => {
                ways += 1;
                low += 1;
                high -= 1;
            }
        }
    }
    ways
}

/// The number of ways in which a range's numbers are sums of two squares, and the number with most
/// ways, of each block.
#[kernel(block_size(256))]
pub fn two_squares_safe(first: u64, count: usize, mut to: PerBlock<[u64; 2]>) {
    let (total, best) = thread::grid_stride(count)
        .map(|i| first + i as u64)
        .map(|number| (number, sums_of_squares(number)))
        .fold((0, (0, 0)), |(total, best), (number, ways)| {
            (total + u64::from(ways), best.max((ways, number)))
        });
    let total = group::block().reduce(total, |a, b| a + b);
    let best = group::block().reduce(best, |a, b| a.max(b));
    to.each(|_, to| *to = [total, best.1]);
}

/// As [`two_squares_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn two_squares_raw(first: u64, count: u32, to: *mut u64) {
    let totals = shared_array![u64; 8];
    let ways_of = shared_array![u32; 8];
    let numbers = shared_array![u64; 8];
    let (mut total, mut best, mut best_number) = (0u64, 0u32, 0u64);
    let mut i = thread::index_1d();
    while i < count {
        let number = first + i as u64;
        let (mut low, mut high, mut ways) = (0u64, (number as f64).sqrt() as u64, 0u32);
        while low <= high {
            let sum = low * low + high * high;
            if sum == number {
                ways += 1;
            }
            if sum <= number {
                low += 1;
            }
            if sum >= number {
                high -= 1;
            }
        }
        total += ways as u64;
        if ways > best || ways == best && number > best_number {
            (best, best_number) = (ways, number);
        }
        i += thread::grid_dim_x() * 256;
    }
    let mut d = 16;
    while d > 0 {
        total += warp::shuffle_xor(warp::FULL, total, d);
        let ways = warp::shuffle_xor(warp::FULL, best, d);
        let number = warp::shuffle_xor(warp::FULL, best_number, d);
        if ways > best || ways == best && number > best_number {
            (best, best_number) = (ways, number);
        }
        d /= 2;
    }
    let t = thread::thread_idx_x() as usize;
    if t % 32 == 0 {
        *totals.add(t / 32) = total;
        *ways_of.add(t / 32) = best;
        *numbers.add(t / 32) = best_number;
    }
    thread::sync_threads();
    if t == 0 {
        for w in 1..8 {
            total += *totals.add(w);
            let (ways, number) = (*ways_of.add(w), *numbers.add(w));
            if ways > best || ways == best && number > best_number {
                (best, best_number) = (ways, number);
            }
        }
        let to = to.add(thread::block_idx_x() as usize * 2);
        *to = total;
        *to.add(1) = best_number;
    }
}

/// The samples of a template, one for each lane.
pub const TEMPLATE: usize = 32;

/// The distance of each series to a template by dynamic time warping, a warp for each series. Lane
/// `j` computes column `j`.
#[kernel(block_size(128))]
pub fn time_warp_safe(
    series: &[f32],
    length: usize,
    templates: &[[f32; TEMPLATE]],
    mut to: PerWarp<f32>,
) {
    let warp = group::warp();
    let lane = warp.rank() as usize;
    let number = thread::index() as usize / TEMPLATE;
    if number >= to.len() {
        return;
    }
    let series = &series[number * length..][..length];
    let own = templates[number % templates.len()][lane];
    let (mut above, mut diagonal) = (f32::INFINITY, if lane == 0 { 0.0 } else { f32::INFINITY });
    for step in 0..length + TEMPLATE - 1 {
        let left = warp.shuffle_up(above, 1);
        let left = if lane == 0 { f32::INFINITY } else { left };
        if let Some(x) = step.checked_sub(lane).and_then(|row| series.get(row)) {
            above = (x - own).abs() + left.min(above).min(diagonal);
            diagonal = left;
        }
    }
    let last = warp.shuffle(above, TEMPLATE as u32 - 1);
    to.each(|_, to| *to = last);
}

/// As [`time_warp_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn time_warp_raw(
    series: *const f32,
    length: i32,
    templates: *const f32,
    count: u32,
    to: *mut f32,
    n: u32,
) {
    let number = thread::index_1d() / 32;
    let lane = thread::thread_idx_x() % 32;
    if number >= n {
        return;
    }
    let series = series.add(number as usize * length as usize);
    let own = *templates.add((number % count * 32 + lane) as usize);
    let (mut above, mut diagonal) = (f32::INFINITY, if lane == 0 { 0.0 } else { f32::INFINITY });
    for step in 0..length + 31 {
        let mut left = warp::shuffle_up(warp::FULL, above, 1);
        if lane == 0 {
            left = f32::INFINITY;
        }
        let row = step - lane as i32;
        if row >= 0 && row < length {
            above = (*series.add(row as usize) - own).abs() + left.min(above).min(diagonal);
            diagonal = left;
        }
    }
    if lane == 31 {
        *to.add(number as usize) = above;
    }
}

/// A label and its number of votes.
#[derive(Clone, Copy, AnyBits)]
struct Votes {
    count: u32,
    label: u32,
}

impl Votes {
    fn better(self, other: Votes) -> Votes {
        match self
            .count
            .cmp(&other.count)
            .then(other.label.cmp(&self.label))
        {
            Ordering::Less => other,
            _ => self,
        }
    }
}

/// The most frequent label among each vertex's neighbors, a warp for each vertex.
#[kernel(block_size(256))]
pub fn label_votes_safe(starts: &[u32], neighbors: &[u32], labels: &[u32], mut to: PerWarp<u32>) {
    let warp = group::warp();
    let vertex = thread::index() as usize / 32;
    let [start, end] = match starts.get(vertex..vertex + 2) {
        Some(&[start, end]) => [start, end],
        _ => return,
    };
    let label = neighbors[start as usize..end as usize]
        .get(warp.rank() as usize)
        .map(|&neighbor| labels[neighbor as usize]);
    // Lanes without a neighbor vote for a label of their own.
    let same = warp.match_any(label.unwrap_or(u32::MAX - warp.rank()));
    let own = match label {
        Some(label) => Votes {
            count: same.count_ones(),
            label,
        },
        None => Votes {
            count: 0,
            label: u32::MAX,
        },
    };
    let winner = warp.reduce(own, Votes::better);
    to.each(|_, to| *to = winner.label);
}

/// As [`label_votes_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn label_votes_raw(
    starts: *const u32,
    neighbors: *const u32,
    labels: *const u32,
    to: *mut u32,
    n: u32,
) {
    let vertex = (thread::index_1d() / 32) as usize;
    let lane = thread::thread_idx_x() % 32;
    if vertex >= n as usize {
        return;
    }
    let at = *starts.add(vertex) + lane;
    let present = at < *starts.add(vertex + 1);
    let mut label = u32::MAX - lane;
    if present {
        label = *labels.add(*neighbors.add(at as usize) as usize);
    }
    let mut count = warp::match_any(warp::FULL, label).count_ones();
    if !present {
        (count, label) = (0, u32::MAX);
    }
    let most = warp::reduce_max(warp::FULL, count);
    let winner = warp::reduce_min(warp::FULL, if count == most { label } else { u32::MAX });
    if lane == 0 {
        *to.add(vertex) = winner;
    }
}

/// A number modulo a prime.
#[derive(Clone, Copy, AnyBits)]
struct Residue(u32);

impl Residue {
    const MODULUS: u32 = 998_244_353;
}

impl Add for Residue {
    type Output = Residue;

    fn add(self, other: Residue) -> Residue {
        let sum = self.0 + other.0;
        Residue(if sum >= Residue::MODULUS {
            sum - Residue::MODULUS
        } else {
            sum
        })
    }
}

impl Sub for Residue {
    type Output = Residue;

    fn sub(self, other: Residue) -> Residue {
        let (difference, borrow) = self.0.overflowing_sub(other.0);
        Residue(if borrow {
            difference.wrapping_add(Residue::MODULUS)
        } else {
            difference
        })
    }
}

impl Mul for Residue {
    type Output = Residue;

    fn mul(self, other: Residue) -> Residue {
        Residue((u64::from(self.0) * u64::from(other.0) % u64::from(Residue::MODULUS)) as u32)
    }
}

/// The length of a number-theoretic transform, and its logarithm.
pub const NTT: usize = 512;
const NTT_BITS: u32 = NTT.ilog2();

/// The number-theoretic transform of each row of 512 numbers.
#[kernel(block_size(256))]
pub fn ntt_rows_safe(
    #[shared] mut values: Shared<Array<Residue, NTT>>,
    from: &[[u32; NTT]],
    roots: &[u32; NTT / 2],
    mut to: PerBlock<u32, NTT>,
) {
    let t = thread::index_in_block() as usize;
    for (row, mut piece) in from
        .iter()
        .skip(thread::block_index() as usize)
        .zip(to.pieces())
    {
        values.own().each(|i, value| {
            let reversed = (i as u32).reverse_bits() >> (32 - NTT_BITS);
            *value = Residue(row[reversed as usize]);
        });
        for stage in (0..NTT_BITS).rev() {
            let root = Residue(roots[t >> stage << stage]);
            let (even, odd) = values.read(|values| (values[2 * t], values[2 * t + 1] * root));
            values
                .own()
                .each(|i, value| *value = if i == t { even + odd } else { even - odd });
        }
        let start = piece.start();
        values.read(|values| piece.each(|i, to| *to = values[i - start].0));
    }
}

/// As [`ntt_rows_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn ntt_rows_raw(from: *const u32, roots: *const u32, to: *mut u32) {
    const MODULUS: u32 = 998_244_353;
    let values = shared_array![u32; 512];
    let t = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize * NTT;
    for i in [t, t + 256] {
        *values.add(i) = *from.add(row + ((i as u32).reverse_bits() >> 23) as usize);
    }
    thread::sync_threads();
    let mut stage = 9;
    while stage > 0 {
        stage -= 1;
        let root = *roots.add(t >> stage << stage);
        let even = *values.add(2 * t);
        let odd = (*values.add(2 * t + 1) as u64 * root as u64 % MODULUS as u64) as u32;
        thread::sync_threads();
        let sum = even + odd;
        *values.add(t) = if sum >= MODULUS { sum - MODULUS } else { sum };
        *values.add(t + 256) = if even >= odd {
            even - odd
        } else {
            even + MODULUS - odd
        };
        thread::sync_threads();
    }
    for i in [t, t + 256] {
        *to.add(row + i) = *values.add(i);
    }
}

/// The side of a tile of pixels.
pub const SIDE: usize = 32;

/// Labels the connected regions of each tile by the smallest index of their pixels, plus 1.
#[kernel(block_size(32, 8))]
pub fn regions_safe(
    #[shared] mut labels: Shared<Array<Atomic<u32, Block>, { SIDE * SIDE }>>,
    mask: &[u8],
    mut to: PerBlock<u16, { SIDE * SIDE }>,
) {
    for mut tile in to.pieces() {
        let start = tile.start();
        labels.own().each(|i, label| {
            *label.get_mut() = if mask[start + i] != 0 {
                i as u32 + 1
            } else {
                0
            };
        });
        labels.read(|labels| {
            let at = |x: usize, y: usize| {
                let inside = x < SIDE && y < SIDE;
                inside
                    .then(|| labels[y * SIDE + x].load(Relaxed))
                    .filter(|&label| label != 0)
            };
            loop {
                let mut changed = false;
                for i in thread::block_stride(SIDE * SIDE) {
                    let (x, y) = (i % SIDE, i / SIDE);
                    let Some(own) = at(x, y) else { continue };
                    let around = [
                        at(x.wrapping_sub(1), y),
                        at(x + 1, y),
                        at(x, y.wrapping_sub(1)),
                        at(x, y + 1),
                    ];
                    let lowest = around.into_iter().flatten().fold(own, u32::min);
                    if lowest < own {
                        labels[i].store(lowest, Relaxed);
                        changed = true;
                    }
                }
                if thread::sync_threads_or(changed.into()) == 0 {
                    break;
                }
            }
            tile.each(|i, to| *to = labels[i - start].load(Relaxed) as u16);
        });
    }
}

/// As [`regions_safe`], with pointers.
#[kernel(block_size(32, 8))]
pub unsafe fn regions_raw(mask: *const u8, to: *mut u16) {
    let labels = shared_array![u32; 1024];
    let start = thread::block_idx_x() as usize * 1024;
    let (x, y0) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for y in (y0..32).step_by(8) {
        let i = y * 32 + x;
        *labels.add(i) = if *mask.add(start + i) != 0 {
            i as u32 + 1
        } else {
            0
        };
    }
    thread::sync_threads();
    loop {
        let mut changed = 0;
        let mut y = y0;
        while y < 32 {
            let i = y * 32 + x;
            let own = labels.add(i).read_volatile();
            if own != 0 {
                let mut lowest = own;
                if x > 0 {
                    let other = labels.add(i - 1).read_volatile();
                    lowest = if other != 0 {
                        lowest.min(other)
                    } else {
                        lowest
                    };
                }
                if x < 31 {
                    let other = labels.add(i + 1).read_volatile();
                    lowest = if other != 0 {
                        lowest.min(other)
                    } else {
                        lowest
                    };
                }
                if y > 0 {
                    let other = labels.add(i - 32).read_volatile();
                    lowest = if other != 0 {
                        lowest.min(other)
                    } else {
                        lowest
                    };
                }
                if y < 31 {
                    let other = labels.add(i + 32).read_volatile();
                    lowest = if other != 0 {
                        lowest.min(other)
                    } else {
                        lowest
                    };
                }
                if lowest < own {
                    labels.add(i).write_volatile(lowest);
                    changed = 1;
                }
            }
            y += 8;
        }
        if thread::sync_threads_or(changed) == 0 {
            break;
        }
    }
    for y in (y0..32).step_by(8) {
        let i = y * 32 + x;
        *to.add(start + i) = *labels.add(i) as u16;
    }
}

/// The cities of a tour.
pub const CITIES: usize = 200;

/// A tour through cities, in order.
#[derive(Clone, Copy)]
struct Tour<'a> {
    x: &'a [f32; CITIES],
    y: &'a [f32; CITIES],
}

impl Tour<'_> {
    fn distance(&self, a: usize, b: usize) -> f32 {
        let (dx, dy) = (self.x[a] - self.x[b], self.y[a] - self.y[b]);
        (dx * dx + dy * dy).sqrt()
    }

    /// Returns what the tour becomes shorter by if the part after `a` up to `b` is reversed.
    fn gain(&self, a: usize, b: usize) -> f32 {
        let next = |city: usize| (city + 1) % CITIES;
        self.distance(a, next(a)) + self.distance(b, next(b))
            - self.distance(a, b)
            - self.distance(next(a), next(b))
    }
}

/// The best 2-opt move of each tour.
#[kernel(block_size(256))]
pub fn two_opt_safe(
    #[shared] mut cities: Shared<(Array<f32, CITIES>, Array<f32, CITIES>)>,
    x: &[f32],
    y: &[f32],
    mut gains: PerBlock<f32>,
    mut moves: PerBlock<u32>,
) {
    let start = thread::block_index() as usize * CITIES;
    let (own_x, own_y) = cities.own();
    own_x.each(|i, to| *to = x[start + i]);
    own_y.each(|i, to| *to = y[start + i]);
    let cities = cities.share();
    let (x, y) = cities.view();
    let tour = Tour { x, y };
    let best = thread::block_stride(CITIES * CITIES)
        .map(|pair| (pair / CITIES, pair % CITIES))
        .filter(|(a, b)| a < b)
        .map(|(a, b)| (tour.gain(a, b), (a * CITIES + b) as u32))
        .fold(
            (0.0, 0),
            |best, next| if next.0 > best.0 { next } else { best },
        );
    let (gain, pair) = group::block().reduce(best, |a, b| if b.0 > a.0 { b } else { a });
    gains.each(|_, to| *to = gain);
    moves.each(|_, to| *to = pair);
}

/// As [`two_opt_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn two_opt_raw(
    from_x: *const f32,
    from_y: *const f32,
    gains: *mut f32,
    moves: *mut u32,
) {
    const N: u32 = CITIES as u32;
    let x = shared_array![f32; CITIES];
    let y = shared_array![f32; CITIES];
    let warp_gains = shared_array![f32; 8];
    let warp_moves = shared_array![u32; 8];
    let t = thread::thread_idx_x();
    let tour = thread::block_idx_x() as usize;
    if t < N {
        *x.add(t as usize) = *from_x.add(tour * CITIES + t as usize);
        *y.add(t as usize) = *from_y.add(tour * CITIES + t as usize);
    }
    thread::sync_threads();
    let distance = |a: u32, b: u32| {
        let dx = *x.add(a as usize) - *x.add(b as usize);
        let dy = *y.add(a as usize) - *y.add(b as usize);
        (dx * dx + dy * dy).sqrt()
    };
    let (mut gain, mut pair) = (0.0f32, 0u32);
    let mut p = t;
    while p < N * N {
        let (a, b) = (p / N, p % N);
        if a < b {
            let (a1, b1) = ((a + 1) % N, (b + 1) % N);
            let g = distance(a, a1) + distance(b, b1) - distance(a, b) - distance(a1, b1);
            if g > gain {
                (gain, pair) = (g, p);
            }
        }
        p += 256;
    }
    let mut d = 16;
    while d > 0 {
        let g = warp::shuffle_down(warp::FULL, gain, d);
        let q = warp::shuffle_down(warp::FULL, pair, d);
        if g > gain {
            (gain, pair) = (g, q);
        }
        d /= 2;
    }
    if t % 32 == 0 {
        *warp_gains.add(t as usize / 32) = gain;
        *warp_moves.add(t as usize / 32) = pair;
    }
    thread::sync_threads();
    if t == 0 {
        for w in 1..8 {
            if *warp_gains.add(w) > gain {
                (gain, pair) = (*warp_gains.add(w), *warp_moves.add(w));
            }
        }
        *gains.add(tour) = gain;
        *moves.add(tour) = pair;
    }
}

/// The steps of a frame.
pub const STEPS: usize = 192;

/// A convolutional code of constraint length 7.
struct Code {
    polynomials: [u32; 2],
}

impl Code {
    const VOYAGER: Code = Code {
        polynomials: [0o171, 0o133],
    };

    /// Returns how much two soft bits support the transition with this register.
    fn support(&self, register: u32, soft: [i8; 2]) -> i32 {
        let polynomials = self.polynomials.iter();
        polynomials
            .zip(soft)
            .map(
                |(polynomial, soft)| match (register & polynomial).count_ones() % 2 {
                    0 => i32::from(soft),
                    _ => -i32::from(soft),
                },
            )
            .sum()
    }
}

/// Decodes frames of a convolutional code (Viterbi), a thread for each state.
#[kernel(block_size(64))]
pub fn viterbi_paths_safe(
    #[shared] mut metrics: Shared<Array<i32, 64>>,
    #[shared] mut history: Shared<Array<Atomic<u32, Block>, { 2 * STEPS }>>,
    frames: &[[[i8; 2]; STEPS]],
    mut to: PerBlock<[u32; STEPS / 32]>,
) {
    let state = thread::index_in_block();
    let frame = &frames[thread::block_index() as usize];
    metrics
        .own()
        .each(|i, metric| *metric = if i == 0 { 0 } else { -10_000 });
    history.read(|history| {
        for (&soft, history) in frame.iter().zip(history.chunks_exact(2)) {
            let from = |old: u32, metrics: &[i32; 64]| {
                let register = old << 1 | state & 1;
                metrics[old as usize] + Code::VOYAGER.support(register, soft)
            };
            let (zero, one) =
                metrics.read(|metrics| (from(state >> 1, metrics), from(state >> 1 | 32, metrics)));
            let choices = group::warp().ballot(one > zero);
            if group::warp().is_first() {
                history[group::warp().number() as usize].store(choices, Relaxed);
            }
            metrics.own().each(|_, metric| *metric = zero.max(one));
        }
        thread::sync_threads();
        to.each(|_, to| {
            let mut state = 0u32;
            *to = [0; STEPS / 32];
            for (step, choices) in history.chunks_exact(2).enumerate().rev() {
                to[step / 32] |= (state & 1) << (step % 32);
                let choice = choices[state as usize / 32].load(Relaxed) >> (state % 32) & 1;
                state = state >> 1 | choice << 5;
            }
        });
    });
}

/// As [`viterbi_paths_safe`], with pointers.
#[kernel(block_size(64))]
pub unsafe fn viterbi_paths_raw(frames: *const [i8; 2], to: *mut u32) {
    let metrics = shared_array![i32; 64];
    let history = shared_array![u32; 2 * STEPS];
    let state = thread::thread_idx_x();
    let frame = frames.add(thread::block_idx_x() as usize * STEPS);
    let old = state >> 1;
    let sign =
        |register: u32, polynomial: u32| 1 - 2 * ((register & polynomial).count_ones() as i32 & 1);
    let (a0, a1) = (sign(state, 0o171), sign(state, 0o133));
    let (b0, b1) = (sign(state | 64, 0o171), sign(state | 64, 0o133));
    *metrics.add(state as usize) = if state == 0 { 0 } else { -10_000 };
    thread::sync_threads();
    for step in 0..STEPS {
        let [x, y] = *frame.add(step);
        let (x, y) = (x as i32, y as i32);
        let zero = *metrics.add(old as usize) + a0 * x + a1 * y;
        let one = *metrics.add(old as usize + 32) + b0 * x + b1 * y;
        let choices = warp::ballot(warp::FULL, one > zero);
        if state % 32 == 0 {
            *history.add(2 * step + state as usize / 32) = choices;
        }
        thread::sync_threads();
        *metrics.add(state as usize) = zero.max(one);
        thread::sync_threads();
    }
    if state == 0 {
        let to = to.add(thread::block_idx_x() as usize * (STEPS / 32));
        let mut state = 0u32;
        let mut word = 0;
        for step in (0..STEPS).rev() {
            word |= (state & 1) << (step % 32);
            if step % 32 == 0 {
                *to.add(step / 32) = word;
                word = 0;
            }
            let choice = *history.add(2 * step + state as usize / 32) >> (state % 32) & 1;
            state = state >> 1 | choice << 5;
        }
    }
}

/// A radial basis function.
trait Basis {
    fn value(square: f32) -> f32;
}

enum Gaussian {}

impl Basis for Gaussian {
    fn value(square: f32) -> f32 {
        (-40.0 * square).exp()
    }
}

/// Weighted centers.
struct Centers<'a> {
    x: &'a [f32],
    y: &'a [f32],
    weights: &'a [F16],
}

impl Centers<'_> {
    fn field<B: Basis>(&self, x: f32, y: f32) -> f32 {
        let places = self.x.iter().zip(self.y);
        places
            .map(|(cx, cy)| B::value((x - cx) * (x - cx) + (y - cy) * (y - cy)))
            .zip(self.weights)
            .map(|(value, weight)| value * weight.to_f32())
            .sum()
    }
}

/// A sum of radial basis functions at each point.
#[kernel(block_size(256))]
pub fn rbf_field_safe(
    #[shared] mut tile: Shared<(Array<f32, 256>, Array<f32, 256>, Array<F16, 256>)>,
    center_x: &[f32],
    center_y: &[f32],
    weights: &[F16],
    point_x: &[f32],
    point_y: &[f32],
    mut to: PerThread<f32>,
) {
    let index = thread::index() as usize;
    let point = point_x.get(index).zip(point_y.get(index));
    let mut sum = 0.0;
    for ((center_x, center_y), weights) in center_x
        .chunks(256)
        .zip(center_y.chunks(256))
        .zip(weights.chunks(256))
    {
        let (x, y, w) = tile.own();
        x.each(|i, x| *x = center_x.get(i).copied().unwrap_or_default());
        y.each(|i, y| *y = center_y.get(i).copied().unwrap_or_default());
        w.each(|i, w| *w = weights.get(i).copied().unwrap_or_default());
        tile.read(|(x, y, weights)| {
            if let Some((px, py)) = point {
                sum += Centers { x, y, weights }.field::<Gaussian>(*px, *py);
            }
        });
    }
    to.each(|_, to| *to = sum);
}

/// As [`rbf_field_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn rbf_field_raw(
    center_x: *const f32,
    center_y: *const f32,
    weights: *const F16,
    centers: u32,
    point_x: *const f32,
    point_y: *const f32,
    to: *mut f32,
    n: u32,
) {
    let x = shared_array![f32; 256];
    let y = shared_array![f32; 256];
    let w = shared_array![F16; 256];
    let t = thread::thread_idx_x();
    let i = thread::index_1d();
    let (mut px, mut py, mut sum) = (0.0, 0.0, 0.0f32);
    if i < n {
        px = *point_x.add(i as usize);
        py = *point_y.add(i as usize);
    }
    let mut start = 0;
    while start < centers {
        let c = (start + t) as usize;
        let inside = start + t < centers;
        *x.add(t as usize) = if inside { *center_x.add(c) } else { 0.0 };
        *y.add(t as usize) = if inside { *center_y.add(c) } else { 0.0 };
        *w.add(t as usize) = if inside { *weights.add(c) } else { F16::ZERO };
        thread::sync_threads();
        if i < n {
            for k in 0..256 {
                let (dx, dy) = (px - *x.add(k), py - *y.add(k));
                sum += (-40.0 * (dx * dx + dy * dy)).exp() * (*w.add(k)).to_f32();
            }
        }
        thread::sync_threads();
        start += 256;
    }
    if i < n {
        *to.add(i as usize) = sum;
    }
}

/// The symbols of a message, and the words of its code: at most 16 bits for each symbol.
pub const SYMBOLS: usize = 2048;
/// See [`SYMBOLS`].
pub const WORDS: usize = SYMBOLS / 2;

/// Packs each message's symbols with a code of variable length, first bits lowest.
#[kernel(block_size(256))]
pub fn varbit_pack_safe(
    #[shared] mut packed: Shared<Array<Atomic<u32, Block>, WORDS>>,
    messages: &[[u8; SYMBOLS]],
    codes: &[u16; 256],
    lengths: &[u8; 256],
    mut to: PerBlock<u32, WORDS>,
    mut sizes: PerBlock<u32>,
) {
    let block = group::block();
    let message = &messages[block.number() as usize];
    packed.own().each(|_, word| *word.get_mut() = 0);
    let size = packed.read(|packed| {
        let mut start = 0;
        for part in message.chunks_exact(256) {
            let symbol = usize::from(part[block.rank() as usize]);
            let (before, total) =
                block.exclusive_scan_with_total(u32::from(lengths[symbol]), 0, |a, b| a + b);
            let place = start + before;
            let bits = u64::from(codes[symbol]) << (place % 32);
            let word = place as usize / 32;
            for (word, bits) in [(word, bits as u32), (word + 1, (bits >> 32) as u32)] {
                if bits != 0 {
                    packed[word].fetch_or(bits, Relaxed);
                }
            }
            start += total;
        }
        start
    });
    packed.read(|packed| {
        for mut piece in to.pieces() {
            let start = piece.start();
            piece.each(|i, to| *to = packed[i - start].load(Relaxed));
        }
    });
    sizes.each(|_, to| *to = size);
}

/// As [`varbit_pack_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn varbit_pack_raw(
    messages: *const u8,
    codes: *const u16,
    lengths: *const u8,
    to: *mut u32,
    sizes: *mut u32,
) {
    let packed = shared_array![u32; WORDS];
    let sums = shared_array![u32; 8];
    let t = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let (lane, w) = (t as u32 % 32, t / 32);
    for i in (t..WORDS).step_by(256) {
        *packed.add(i) = 0;
    }
    thread::sync_threads();
    let mut start = 0u32;
    for part in (0..SYMBOLS).step_by(256) {
        let symbol = *messages.add(block * SYMBOLS + part + t) as usize;
        let length = *lengths.add(symbol) as u32;
        let mut sum = length;
        let mut d = 1;
        while d < 32 {
            let other = warp::shuffle_up(warp::FULL, sum, d);
            if lane >= d {
                sum += other;
            }
            d *= 2;
        }
        if lane == 31 {
            *sums.add(w) = sum;
        }
        thread::sync_threads();
        let mut total = 0;
        for k in 0..8 {
            if k == w {
                sum += total;
            }
            total += *sums.add(k);
        }
        let place = start + sum - length;
        let bits = (*codes.add(symbol) as u64) << (place % 32);
        let word = packed.add(place as usize / 32);
        if bits as u32 != 0 {
            Atomic::<u32, Block>::from_ptr(word).fetch_or(bits as u32, Relaxed);
        }
        if bits >> 32 != 0 {
            Atomic::<u32, Block>::from_ptr(word.add(1)).fetch_or((bits >> 32) as u32, Relaxed);
        }
        start += total;
        thread::sync_threads();
    }
    for i in (t..WORDS).step_by(256) {
        *to.add(block * WORDS + i) = *packed.add(i);
    }
    if t == 0 {
        *sizes.add(block) = start;
    }
}

/// Returns the later of two values that exists.
fn latest(earlier: f32, later: f32) -> f32 {
    if later.is_nan() { earlier } else { later }
}

/// Replaces the missing values (NaN) of each row by the previous ones.
#[kernel(block_size(256))]
pub fn forward_fill_safe(from: &[f32], mut to: PerBlockRow<f32>) {
    let block = group::block();
    let width = to.width();
    for mut row in to.rows() {
        let from = &from[row.y() * width..][..width];
        let mut own = row.own();
        let mut last = f32::NAN;
        for chunk in from.chunks(256) {
            let x = chunk
                .get(block.rank() as usize)
                .copied()
                .unwrap_or(f32::NAN);
            let (before, total) = block.exclusive_scan_with_total(x, last, latest);
            if let Some((_, to)) = own.next() {
                *to = latest(before, x);
            }
            last = latest(last, total);
        }
    }
}

/// As [`forward_fill_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn forward_fill_raw(from: *const f32, width: u32, to: *mut f32) {
    let ends = shared_array![f32; 8];
    let t = thread::thread_idx_x();
    let (lane, w) = (t % 32, t as usize / 32);
    let row = thread::block_idx_x() as usize * width as usize;
    let (from, to) = (from.add(row), to.add(row));
    let mut last = f32::NAN;
    let mut start = 0;
    while start < width {
        let i = start + t;
        let mut x = if i < width {
            *from.add(i as usize)
        } else {
            f32::NAN
        };
        let mut d = 1;
        while d < 32 {
            let other = warp::shuffle_up(warp::FULL, x, d);
            if lane >= d && x.is_nan() {
                x = other;
            }
            d *= 2;
        }
        if lane == 31 {
            *ends.add(w) = x;
        }
        thread::sync_threads();
        let mut before = last;
        for k in 0..8 {
            let end = *ends.add(k);
            if k < w && !end.is_nan() {
                before = end;
            }
            if !end.is_nan() {
                last = end;
            }
        }
        if i < width {
            *to.add(i as usize) = if x.is_nan() { before } else { x };
        }
        thread::sync_threads();
        start += 256;
    }
}

/// The difference between the maximum and the minimum around each pixel.
#[kernel(block_size(32, 8))]
pub fn morph_gradient_safe(
    #[shared] mut around: Shared<Tile<u8, 34, 34, 36>>,
    image: &[u8],
    mut to: PerTile<u8, 32, 32>,
) {
    let (width, height) = (to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        around.own().each(|(x, y), pixel| {
            let x = (x0 + x).saturating_sub(1).min(width - 1);
            let y = (y0 + y).saturating_sub(1).min(height - 1);
            *pixel = image[y * width + x];
        });
        around.read(|rows| {
            tile.each(|(x, y), to| {
                let square = rows[y..y + 3].iter().flat_map(|row| &row[x..x + 3]);
                let (low, high) =
                    square.fold((u8::MAX, 0), |(low, high), &x| (x.min(low), x.max(high)));
                *to = high - low;
            });
        });
    }
}

/// As [`morph_gradient_safe`], with pointers.
#[kernel(block_size(32, 8))]
pub unsafe fn morph_gradient_raw(image: *const u8, width: i32, height: i32, to: *mut u8) {
    let around = shared_array![u8; 34 * 36];
    let (tx, ty) = (thread::thread_idx_x() as i32, thread::thread_idx_y() as i32);
    let (x0, y0) = (
        thread::block_idx_x() as i32 * 32,
        thread::block_idx_y() as i32 * 32,
    );
    let mut y = ty;
    while y < 34 {
        let mut x = tx;
        while x < 34 {
            let (sx, sy) = (
                (x0 + x - 1).clamp(0, width - 1),
                (y0 + y - 1).clamp(0, height - 1),
            );
            *around.add((y * 36 + x) as usize) = *image.add((sy * width + sx) as usize);
            x += 32;
        }
        y += 8;
    }
    thread::sync_threads();
    let mut y = ty;
    while y < 32 {
        if x0 + tx < width && y0 + y < height {
            let (mut low, mut high) = (255u8, 0u8);
            for dy in 0..3 {
                for dx in 0..3 {
                    let pixel = *around.add(((y + dy) * 36 + tx + dx) as usize);
                    low = low.min(pixel);
                    high = high.max(pixel);
                }
            }
            *to.add(((y0 + y) * width + x0 + tx) as usize) = high - low;
        }
        y += 8;
    }
}

/// A stack of constant capacity.
struct Stack<T, const N: usize> {
    items: [T; N],
    len: usize,
}

impl<T: Copy, const N: usize> Stack<T, N> {
    fn new(first: T) -> Stack<T, N> {
        Stack {
            items: [first; N],
            len: 1,
        }
    }

    fn push(&mut self, item: T) {
        self.items[self.len] = item;
        self.len += 1;
    }

    fn pop(&mut self) {
        self.len -= 1;
    }

    fn last_mut(&mut self) -> Option<&mut T> {
        self.items[..self.len].last_mut()
    }
}

/// Queens on a board, one in each row so far.
#[derive(Clone, Copy)]
struct Queens {
    size: u32,
    columns: u32,
    left: u32,
    right: u32,
    free: u32,
}

impl Queens {
    fn new(size: u32) -> Queens {
        Queens {
            size,
            columns: 0,
            left: 0,
            right: 0,
            free: (1 << size) - 1,
        }
    }

    /// Returns the board with a queen in the next row, or `None` if another queen attacks it.
    fn with(&self, bit: u32) -> Option<Queens> {
        if (self.columns | self.left | self.right) & bit != 0 {
            return None;
        }
        let columns = self.columns | bit;
        let left = (self.left | bit) << 1;
        let right = (self.right | bit) >> 1;
        let free = !(columns | left | right) & ((1 << self.size) - 1);
        Some(Queens {
            size: self.size,
            columns,
            left,
            right,
            free,
        })
    }

    fn is_complete(&self) -> bool {
        self.columns.count_ones() == self.size
    }

    fn solutions(self) -> u32 {
        let mut count = 0;
        let mut stack = Stack::<Queens, 16>::new(self);
        while let Some(board) = stack.last_mut() {
            let bit = board.free & board.free.wrapping_neg();
            board.free ^= bit;
            match board.with(bit) {
                _ if bit == 0 => stack.pop(),
                Some(next) if next.is_complete() => count += 1,
                Some(next) => stack.push(next),
                None => {}
            }
        }
        count
    }
}

/// Returns the board whose first four queens are the digits of a number.
fn opening(size: u32, mut number: u32) -> Option<Queens> {
    let mut board = Queens::new(size);
    for _ in 0..4 {
        board = board.with(1 << (number % size))?;
        number /= size;
    }
    Some(board)
}

/// Counts the placements of queens on a board, by the places of the first four.
#[kernel(block_size(128))]
pub fn queens_safe(size: u32, mut to: PerBlock<u32>) {
    let openings = size.pow(4) as usize;
    let own: u32 = thread::grid_stride(openings)
        .filter_map(|number| opening(size, number as u32))
        .map(Queens::solutions)
        .sum();
    let sum = group::block().reduce(own, |a, b| a + b);
    to.each(|_, to| *to = sum);
}

/// As [`queens_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn queens_raw(size: u32, to: *mut u32) {
    let sums = shared_array![u32; 4];
    let full = (1u32 << size) - 1;
    let mut sum = 0u32;
    let mut number = thread::index_1d();
    while number < size * size * size * size {
        let (mut columns, mut left, mut right) = (0u32, 0u32, 0u32);
        let mut rest = number;
        let mut valid = true;
        for _ in 0..4 {
            let bit = 1 << (rest % size);
            rest /= size;
            if (columns | left | right) & bit != 0 {
                valid = false;
                break;
            }
            columns |= bit;
            left = (left | bit) << 1;
            right = (right | bit) >> 1;
        }
        if valid {
            let mut stack = [[0u32; 4]; 16];
            let mut depth = 0;
            stack[0] = [columns, left, right, !(columns | left | right) & full];
            loop {
                let top = stack.as_mut_ptr().add(depth);
                let bit = (*top)[3] & (*top)[3].wrapping_neg();
                if bit == 0 {
                    if depth == 0 {
                        break;
                    }
                    depth -= 1;
                    continue;
                }
                (*top)[3] ^= bit;
                let columns = (*top)[0] | bit;
                if columns == full {
                    sum += 1;
                    continue;
                }
                let left = ((*top)[1] | bit) << 1;
                let right = ((*top)[2] | bit) >> 1;
                depth += 1;
                *top.add(1) = [columns, left, right, !(columns | left | right) & full];
            }
        }
        number += thread::grid_dim_x() * 128;
    }
    sum = warp::reduce_add(warp::FULL, sum);
    let t = thread::thread_idx_x() as usize;
    if t % 32 == 0 {
        *sums.add(t / 32) = sum;
    }
    thread::sync_threads();
    if t == 0 {
        *to.add(thread::block_idx_x() as usize) =
            *sums + *sums.add(1) + *sums.add(2) + *sums.add(3);
    }
}

/// A word of a number that the lanes of a warp hold together, the lowest in the first lane.
#[derive(Clone, Copy)]
struct Limb(u32);

impl Add for Limb {
    type Output = Limb;

    fn add(self, other: Limb) -> Limb {
        let warp = group::warp();
        let (sum, overflow) = self.0.overflowing_add(other.0);
        let generate = warp.ballot(overflow);
        let propagate = warp.ballot(sum == u32::MAX);
        let carries = (generate | propagate).wrapping_add(generate) ^ propagate;
        Limb(sum.wrapping_add(carries >> warp.rank() & 1))
    }
}

/// Fibonacci's sequences of 1024-bit numbers, a warp for each.
#[kernel(block_size(128))]
pub fn big_fibonacci_safe(steps: usize, starts: &[[[u32; 32]; 2]], mut to: PerWarp<u32, 32>) {
    for mut number in to.pieces() {
        let lane = thread::lane_id() as usize;
        let [a, b] = starts[number.start() / 32].map(|start| Limb(start[lane]));
        let (result, _) = (0..steps).fold((a, b), |(a, b), _| (b, a + b));
        number.each(|_, to| *to = result.0);
    }
}

/// As [`big_fibonacci_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn big_fibonacci_raw(steps: u32, starts: *const u32, to: *mut u32, n: u32) {
    let number = (thread::index_1d() / 32) as usize;
    let lane = thread::thread_idx_x() as usize % 32;
    if number >= n as usize {
        return;
    }
    let mut a = *starts.add(number * 64 + lane);
    let mut b = *starts.add(number * 64 + 32 + lane);
    for _ in 0..steps {
        let sum = a.wrapping_add(b);
        let generate = warp::ballot(warp::FULL, sum < a);
        let propagate = warp::ballot(warp::FULL, sum == u32::MAX);
        let carries = (generate | propagate).wrapping_add(generate) ^ propagate;
        a = b;
        b = sum.wrapping_add(carries >> lane & 1);
    }
    *to.add(number * 32 + lane) = a;
}

/// The bytes of a packed row, and of the row that it becomes.
pub const PACKED: usize = 160;
/// See [`PACKED`].
pub const UNPACKED: usize = 256;

/// Unpacks literals and repetitions. Returns the number of bytes, or `None` if the input is invalid.
fn unpack(mut input: &[u8], to: &mut [u8]) -> Option<usize> {
    let mut end = 0;
    while let Some((&token, rest)) = input.split_first() {
        let length = usize::from(token & 127);
        if length == 0 {
            break;
        }
        if token < 128 {
            let (literals, rest) = rest.split_at_checked(length)?;
            to.get_mut(end..end + length)?.copy_from_slice(literals);
            input = rest;
        } else {
            let (&distance, rest) = rest.split_first()?;
            let start = end.checked_sub(usize::from(distance))?;
            for i in 0..length {
                *to.get_mut(end + i)? = to[start + i];
            }
            input = rest;
        }
        end += length;
    }
    Some(end)
}

/// Unpacks rows of bytes. The rest of each row is zero; that of invalid input is 255.
#[kernel(block_size(128))]
pub fn lz_unpack_safe(packed: &[[u8; PACKED]], mut to: PerRow<u8>) {
    to.each(|i, row| match unpack(&packed[i], row) {
        Some(end) => row[end..].fill(0),
        None => row.fill(255),
    });
}

/// As [`lz_unpack_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn lz_unpack_raw(packed: *const u8, to: *mut u8, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (input, to) = (packed.add(i * PACKED), to.add(i * UNPACKED));
    let (mut at, mut end, mut valid) = (0, 0, true);
    while at < PACKED {
        let token = *input.add(at) as usize;
        let length = token & 127;
        at += 1;
        if length == 0 {
            break;
        }
        if end + length > UNPACKED {
            valid = false;
            break;
        }
        if token < 128 {
            if at + length > PACKED {
                valid = false;
                break;
            }
            for k in 0..length {
                *to.add(end + k) = *input.add(at + k);
            }
            at += length;
        } else {
            if at >= PACKED || *input.add(at) as usize > end {
                valid = false;
                break;
            }
            let distance = *input.add(at) as usize;
            at += 1;
            for k in 0..length {
                *to.add(end + k) = *to.add(end + k - distance);
            }
        }
        end += length;
    }
    let start = if valid { end } else { 0 };
    for k in start..UNPACKED {
        *to.add(k) = if valid { 0 } else { 255 };
    }
}

/// Counts the code points of UTF-8 text. Returns `None` if it is invalid.
fn code_points(mut text: &[u8]) -> Option<u32> {
    let mut count = 0;
    loop {
        text = match text {
            [] => return Some(count),
            [0x00..=0x7f, rest @ ..]
            | [0xc2..=0xdf, 0x80..=0xbf, rest @ ..]
            | [0xe0, 0xa0..=0xbf, 0x80..=0xbf, rest @ ..]
            | [0xed, 0x80..=0x9f, 0x80..=0xbf, rest @ ..]
            | [
                0xe1..=0xec | 0xee..=0xef,
                0x80..=0xbf,
                0x80..=0xbf,
                rest @ ..,
            ]
            | [0xf0, 0x90..=0xbf, 0x80..=0xbf, 0x80..=0xbf, rest @ ..]
            | [
                0xf1..=0xf3,
                0x80..=0xbf,
                0x80..=0xbf,
                0x80..=0xbf,
                rest @ ..,
            ]
            | [0xf4, 0x80..=0x8f, 0x80..=0xbf, 0x80..=0xbf, rest @ ..] => rest,
            _ => return None,
        };
        count += 1;
    }
}

/// Counts the code points of strings, which `ends` divides, or -1 for invalid ones.
#[kernel]
pub fn utf8_scalars_safe(text: &[u8], starts: &[u32], mut to: PerThread<i32>) {
    to.each(|i, to| {
        let text = &text[starts[i] as usize..starts[i + 1] as usize];
        *to = code_points(text).map_or(-1, |count| count as i32);
    });
}

/// As [`utf8_scalars_safe`], with pointers.
#[kernel]
pub unsafe fn utf8_scalars_raw(text: *const u8, starts: *const u32, to: *mut i32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (mut at, end) = (*starts.add(i), *starts.add(i + 1));
    let mut count = 0;
    while at < end {
        let first = *text.add(at as usize);
        let (length, low, high) = match first {
            0x00..=0x7f => (1, 0x80, 0xbf),
            0xc2..=0xdf => (2, 0x80, 0xbf),
            0xe0 => (3, 0xa0, 0xbf),
            0xed => (3, 0x80, 0x9f),
            0xe1..=0xef => (3, 0x80, 0xbf),
            0xf0 => (4, 0x90, 0xbf),
            0xf1..=0xf3 => (4, 0x80, 0xbf),
            0xf4 => (4, 0x80, 0x8f),
            _ => (0, 0, 0),
        };
        let mut valid = length > 0 && at + length <= end;
        if valid && length > 1 {
            let second = *text.add(at as usize + 1);
            valid = second >= low && second <= high;
            for k in 2..length {
                valid = valid && *text.add((at + k) as usize) & 0xc0 == 0x80;
            }
        }
        if !valid {
            count = -1;
            break;
        }
        at += length;
        count += 1;
    }
    *to.add(i) = count;
}

/// The bytes of a segment.
pub const SEGMENT: usize = 256;
/// The bits of a rolling hash that are zero where a chunk ends.
pub const CUT: u64 = 0xf << 48;

/// The number of places in each segment where content-defined chunks end, and the last one.
#[kernel]
pub fn gear_cuts_safe(data: &[u8], gear: &[u64; 256], mut to: PerThread<[u32; 2]>) {
    to.each(|i, to| {
        let segment = data.chunks_exact(SEGMENT).nth(i).unwrap_or_default();
        let (count, last) = segment
            .iter()
            .scan(0u64, |hash, &byte| {
                *hash = (*hash << 1).wrapping_add(gear[usize::from(byte)]);
                Some(*hash)
            })
            .enumerate()
            .skip(64)
            .filter(|(_, hash)| hash & CUT == 0)
            .fold((0, 0), |(count, _), (place, _)| (count + 1, place as u32));
        *to = [count, last];
    });
}

/// As [`gear_cuts_safe`], with pointers.
#[kernel]
pub unsafe fn gear_cuts_raw(data: *const u8, gear: *const u64, to: *mut [u32; 2], n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let data = data.add(i * SEGMENT);
    let (mut hash, mut count, mut last) = (0u64, 0, 0);
    for k in 0..SEGMENT {
        hash = (hash << 1).wrapping_add(*gear.add(*data.add(k) as usize));
        if k >= 64 && hash & CUT == 0 {
            count += 1;
            last = k as u32;
        }
    }
    *to.add(i) = [count, last];
}

/// The samples of a signal.
pub const SAMPLES: usize = 250;

/// How often each signal crosses its moving average of eight samples.
#[kernel]
pub fn average_crossings_safe(signals: &[i16], mut to: PerThread<u32>) {
    to.each(|i, to| {
        let signal = &signals[i * SAMPLES..][..SAMPLES];
        let (_, current) = signal.split_at(7);
        *to = signal
            .windows(8)
            .map(|window| window.iter().map(|&x| i32::from(x)).sum::<i32>())
            .zip(current)
            .map(|(sum, &x)| i32::from(x) * 8 > sum)
            .scan(None, |before: &mut Option<bool>, above| {
                Some(before.replace(above).is_some_and(|before| before != above))
            })
            .filter(|&crossed| crossed)
            .count() as u32;
    });
}

/// As [`average_crossings_safe`], with pointers.
#[kernel]
pub unsafe fn average_crossings_raw(signals: *const i16, to: *mut u32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let signal = signals.add(i * SAMPLES);
    let (mut crossings, mut before) = (0, false);
    for k in 0..SAMPLES - 7 {
        let mut sum = 0;
        for j in 0..8 {
            sum += *signal.add(k + j) as i32;
        }
        let above = *signal.add(k + 7) as i32 * 8 > sum;
        if k > 0 && above != before {
            crossings += 1;
        }
        before = above;
    }
    *to.add(i) = crossings;
}

/// The kinds of Dubins paths.
#[derive(Clone, Copy)]
enum Word {
    Lsl,
    Rsr,
    Lsr,
    Rsl,
    Rlr,
    Lrl,
}

/// A goal relative to the start: distance, and headings at both ends.
#[derive(Clone, Copy)]
pub struct Goal {
    /// The distance, in radii.
    pub distance: f32,
    /// The heading at the start, relative to the line to the goal.
    pub start: f32,
    /// The heading at the goal.
    pub end: f32,
}

/// Returns an angle from 0 to 2π.
fn turn(angle: f32) -> f32 {
    angle - core::f32::consts::TAU * (angle / core::f32::consts::TAU).floor()
}

impl Word {
    const ALL: [Word; 6] = [
        Word::Lsl,
        Word::Rsr,
        Word::Lsr,
        Word::Rsl,
        Word::Rlr,
        Word::Lrl,
    ];

    /// Returns the length of the path of this kind, if there is one.
    fn length(self, goal: Goal) -> Option<f32> {
        let Goal {
            distance: d,
            start: a,
            end: b,
        } = goal;
        let ((sa, ca), (sb, cb)) = (a.sin_cos(), b.sin_cos());
        let cab = (a - b).cos();
        let root = |square: f32| (square >= 0.0).then(|| square.sqrt());
        let arc =
            |cosine: f32| (cosine.abs() <= 1.0).then(|| core::f32::consts::TAU - cosine.acos());
        Some(match self {
            Word::Lsl => {
                let p = root(2.0 + d * d - 2.0 * cab + 2.0 * d * (sa - sb))?;
                let t = (cb - ca).atan2(d + sa - sb);
                turn(t - a) + p + turn(b - t)
            }
            Word::Rsr => {
                let p = root(2.0 + d * d - 2.0 * cab + 2.0 * d * (sb - sa))?;
                let t = (ca - cb).atan2(d - sa + sb);
                turn(a - t) + p + turn(t - b)
            }
            Word::Lsr => {
                let p = root(-2.0 + d * d + 2.0 * cab + 2.0 * d * (sa + sb))?;
                let t = (-ca - cb).atan2(d + sa + sb) - (-2.0f32).atan2(p);
                turn(t - a) + p + turn(t - b)
            }
            Word::Rsl => {
                let p = root(-2.0 + d * d + 2.0 * cab - 2.0 * d * (sa + sb))?;
                let t = (ca + cb).atan2(d - sa - sb) - 2.0f32.atan2(p);
                turn(a - t) + p + turn(b - t)
            }
            Word::Rlr => {
                let p = arc((6.0 - d * d + 2.0 * cab + 2.0 * d * (sa - sb)) / 8.0)?;
                let t = turn(a - (ca - cb).atan2(d - sa + sb) + p / 2.0);
                t + p + turn(a - b - t + p)
            }
            Word::Lrl => {
                let p = arc((6.0 - d * d + 2.0 * cab + 2.0 * d * (sb - sa)) / 8.0)?;
                let t = turn(-a - (ca - cb).atan2(d + sa - sb) + p / 2.0);
                t + p + turn(b - a - t + p)
            }
        })
    }
}

impl Goal {
    /// Returns the length of the shortest path.
    pub fn shortest(self) -> Option<f32> {
        Word::ALL
            .iter()
            .filter_map(|word| word.length(self))
            .min_by(f32::total_cmp)
    }
}

/// The lengths of the shortest Dubins paths.
#[kernel(block_size(128))]
pub fn dubins_safe(distances: &[f32], starts: &[f32], ends: &[f32], mut to: PerThread<f32>) {
    to.each_with(
        (distances, starts, ends),
        |_, to, (&distance, &start, &end)| {
            let goal = Goal {
                distance,
                start,
                end,
            };
            *to = goal.shortest().unwrap_or(f32::INFINITY);
        },
    );
}

/// As [`dubins_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn dubins_raw(
    distances: *const f32,
    starts: *const f32,
    ends: *const f32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (d, a, b) = (*distances.add(i), *starts.add(i), *ends.add(i));
    let ((sa, ca), (sb, cb)) = (a.sin_cos(), b.sin_cos());
    let cab = (a - b).cos();
    let mut best = f32::INFINITY;
    let square = 2.0 + d * d - 2.0 * cab + 2.0 * d * (sa - sb);
    if square >= 0.0 {
        let t = (cb - ca).atan2(d + sa - sb);
        best = best.min(turn(t - a) + square.sqrt() + turn(b - t));
    }
    let square = 2.0 + d * d - 2.0 * cab + 2.0 * d * (sb - sa);
    if square >= 0.0 {
        let t = (ca - cb).atan2(d - sa + sb);
        best = best.min(turn(a - t) + square.sqrt() + turn(t - b));
    }
    let square = -2.0 + d * d + 2.0 * cab + 2.0 * d * (sa + sb);
    if square >= 0.0 {
        let p = square.sqrt();
        let t = (-ca - cb).atan2(d + sa + sb) - (-2.0f32).atan2(p);
        best = best.min(turn(t - a) + p + turn(t - b));
    }
    let square = -2.0 + d * d + 2.0 * cab - 2.0 * d * (sa + sb);
    if square >= 0.0 {
        let p = square.sqrt();
        let t = (ca + cb).atan2(d - sa - sb) - 2.0f32.atan2(p);
        best = best.min(turn(a - t) + p + turn(b - t));
    }
    let cosine = (6.0 - d * d + 2.0 * cab + 2.0 * d * (sa - sb)) / 8.0;
    if cosine.abs() <= 1.0 {
        let p = core::f32::consts::TAU - cosine.acos();
        let t = turn(a - (ca - cb).atan2(d - sa + sb) + p / 2.0);
        best = best.min(t + p + turn(a - b - t + p));
    }
    let cosine = (6.0 - d * d + 2.0 * cab + 2.0 * d * (sb - sa)) / 8.0;
    if cosine.abs() <= 1.0 {
        let p = core::f32::consts::TAU - cosine.acos();
        let t = turn(-a - (ca - cb).atan2(d + sa - sb) + p / 2.0);
        best = best.min(t + p + turn(b - a - t + p));
    }
    *to.add(i) = best;
}

/// What seven cards are worth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Hand {
    /// The rank of the highest card.
    High(u32),
    /// The rank of the pair.
    Pair(u32),
    /// The ranks of the pairs.
    TwoPairs(u32, u32),
    /// The rank of three equal ones.
    Three(u32),
    /// The highest rank.
    Straight(u32),
    /// The highest rank.
    Flush(u32),
    /// The rank of three and of two equal ones.
    FullHouse(u32, u32),
    /// The rank of four equal ones.
    Four(u32),
    /// The highest rank.
    StraightFlush(u32),
}

/// Returns the highest rank of a straight. Bit `r + 1` is rank `r`; an ace also counts as the lowest.
fn straight(ranks: u32) -> Option<u32> {
    let ranks = ranks | ranks >> 13 & 1;
    let runs = (1..5).fold(ranks, |runs, k| runs & ranks << k);
    runs.checked_ilog2().map(|top| top - 1)
}

impl Hand {
    /// Evaluates cards: a card is `4 * rank + suit`.
    pub fn of(cards: &[u8; 7]) -> Hand {
        let mut counts = [0u8; 13];
        let mut suits = [0u32; 4];
        for &card in cards {
            counts[usize::from(card / 4)] += 1;
            suits[usize::from(card % 4)] |= 2 << (card / 4);
        }
        let ranks = suits.iter().fold(0, |all, suit| all | suit);
        let flush = suits.iter().find(|suit| suit.count_ones() >= 5);
        if let Some(top) = flush.and_then(|&suit| straight(suit)) {
            return Hand::StraightFlush(top);
        }
        let mut groups = [None; 5];
        let mut second_three = None;
        for (rank, &count) in counts.iter().enumerate() {
            if count == 3 {
                second_three = groups[3];
            }
            groups[usize::from(count)] = Some(rank as u32);
        }
        let [_, _, pair, three, four] = groups;
        if let Some(rank) = four {
            return Hand::Four(rank);
        }
        if let (Some(three), Some(pair)) = (three, pair.max(second_three)) {
            return Hand::FullHouse(three, pair);
        }
        if let Some(suit) = flush {
            return Hand::Flush(suit.ilog2() - 1);
        }
        if let Some(top) = straight(ranks) {
            return Hand::Straight(top);
        }
        let mut pairs = (0..13u32).rev().filter(|&rank| counts[rank as usize] == 2);
        match (three, pairs.next(), pairs.next()) {
            (Some(rank), ..) => Hand::Three(rank),
            (_, Some(high), Some(low)) => Hand::TwoPairs(high, low),
            (_, Some(pair), _) => Hand::Pair(pair),
            _ => Hand::High(ranks.ilog2() - 1),
        }
    }

    /// Returns a number in the order of hands.
    pub fn score(self) -> u32 {
        match self {
            Hand::High(rank) => rank << 4,
            Hand::Pair(rank) => 1 << 8 | rank << 4,
            Hand::TwoPairs(high, low) => 2 << 8 | high << 4 | low,
            Hand::Three(rank) => 3 << 8 | rank << 4,
            Hand::Straight(top) => 4 << 8 | top << 4,
            Hand::Flush(top) => 5 << 8 | top << 4,
            Hand::FullHouse(three, pair) => 6 << 8 | three << 4 | pair,
            Hand::Four(rank) => 7 << 8 | rank << 4,
            Hand::StraightFlush(top) => 8 << 8 | top << 4,
        }
    }
}

/// The worth of hands of cards.
#[kernel]
pub fn poker_hands_safe(cards: &[[u8; 7]], mut to: PerThread<u32>) {
    to.each_with(cards, |_, to, cards| *to = Hand::of(cards).score());
}

/// As [`poker_hands_safe`], with pointers.
#[kernel]
pub unsafe fn poker_hands_raw(cards: *const u8, to: *mut u32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut counts = [0u8; 13];
    let mut suits = [0u32; 4];
    for k in 0..7 {
        let card = *cards.add(i * 7 + k);
        *counts.as_mut_ptr().add(card as usize / 4) += 1;
        *suits.as_mut_ptr().add(card as usize % 4) |= 2 << (card / 4);
    }
    let ranks = suits[0] | suits[1] | suits[2] | suits[3];
    let mut flush = 0;
    for k in 0..4 {
        if suits[k].count_ones() >= 5 {
            flush = suits[k];
        }
    }
    let runs_of = |ranks: u32| {
        let ranks = ranks | ranks >> 13 & 1;
        ranks & ranks << 1 & ranks << 2 & ranks << 3 & ranks << 4
    };
    let top = |bits: u32| 30 - bits.leading_zeros();
    let (mut four, mut three, mut second_three, mut pair, mut second_pair) =
        (-1i32, -1i32, -1i32, -1i32, -1i32);
    for rank in 0..13 {
        match counts[rank as usize] {
            4 => four = rank,
            3 => (three, second_three) = (rank, three),
            2 => (pair, second_pair) = (rank, pair),
            _ => {}
        }
    }
    let below = pair.max(second_three);
    *to.add(i) = if flush != 0 && runs_of(flush) != 0 {
        8 << 8 | top(runs_of(flush)) << 4
    } else if four >= 0 {
        7 << 8 | (four as u32) << 4
    } else if three >= 0 && below >= 0 {
        6 << 8 | (three as u32) << 4 | below as u32
    } else if flush != 0 {
        5 << 8 | top(flush) << 4
    } else if runs_of(ranks) != 0 {
        4 << 8 | top(runs_of(ranks)) << 4
    } else if three >= 0 {
        3 << 8 | (three as u32) << 4
    } else if second_pair >= 0 {
        2 << 8 | (pair as u32) << 4 | second_pair as u32
    } else if pair >= 0 {
        1 << 8 | (pair as u32) << 4
    } else {
        top(ranks) << 4
    };
}

/// A set of a cache that replaces the line that was not used for longest.
struct CacheSet {
    lines: [Option<u16>; 8],
    ways: usize,
}

impl CacheSet {
    /// Returns whether the line was there, and makes it the newest.
    fn access(&mut self, line: u16) -> bool {
        let lines = &mut self.lines[..self.ways];
        match lines.iter().position(|&other| other == Some(line)) {
            Some(place) => {
                lines[..=place].rotate_right(1);
                true
            }
            None => {
                lines.rotate_right(1);
                lines[0] = Some(line);
                false
            }
        }
    }
}

/// The misses of sets of caches of different shapes for a trace of addresses: bits 0 to 2 of the
/// index are the ways less one, bits 3 to 5 the logarithm of the line's size, the others the set.
#[kernel]
pub fn lru_misses_safe(trace: &[u16], mut to: PerThread<u32>) {
    to.each(|i, to| {
        let (ways, shift, set) = (i % 8 + 1, i / 8 % 8, (i / 64 % 16) as u16);
        let offset = (i / 1024) as u16;
        let mut cache = CacheSet {
            lines: [None; 8],
            ways,
        };
        *to = trace
            .iter()
            .map(|address| address.wrapping_add(offset) >> shift)
            .filter(|line| line % 16 == set)
            .filter(|&line| !cache.access(line))
            .count() as u32;
    });
}

/// As [`lru_misses_safe`], with pointers.
#[kernel]
pub unsafe fn lru_misses_raw(trace: *const u16, length: u32, to: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let (ways, shift, set, offset) = (i % 8 + 1, i / 8 % 8, i / 64 % 16, i / 1024);
    let mut lines = [u32::MAX; 8];
    let lines = lines.as_mut_ptr();
    let mut misses = 0;
    for k in 0..length {
        let line = (*trace.add(k as usize) as u32 + offset & 0xffff) >> shift;
        if line % 16 != set {
            continue;
        }
        let mut place = 0;
        while place < ways && *lines.add(place as usize) != line {
            place += 1;
        }
        if place == ways {
            misses += 1;
            place = ways - 1;
        }
        while place > 0 {
            *lines.add(place as usize) = *lines.add(place as usize - 1);
            place -= 1;
        }
        *lines = line;
    }
    *to.add(i as usize) = misses;
}

/// A fraction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fraction {
    /// The numerator.
    pub numerator: i64,
    /// The denominator.
    pub denominator: i64,
}

impl Fraction {
    /// Returns the next convergent of a continued fraction, if it does not overflow.
    fn next(self, before: Fraction, term: i64) -> Option<Fraction> {
        Some(Fraction {
            numerator: self
                .numerator
                .checked_mul(term)?
                .checked_add(before.numerator)?,
            denominator: self
                .denominator
                .checked_mul(term)?
                .checked_add(before.denominator)?,
        })
    }

    /// Returns the last convergent of a number whose denominator is at most `limit`.
    pub fn nearest(number: f64, limit: i64) -> Fraction {
        let mut before = Fraction {
            numerator: 0,
            denominator: 1,
        };
        let mut best = Fraction {
            numerator: 1,
            denominator: 0,
        };
        let mut rest = number;
        while let Some(next) = best
            .next(before, rest.floor() as i64)
            .filter(|next| next.denominator <= limit)
        {
            (before, best) = (best, next);
            let fraction = rest - rest.floor();
            if fraction < 1e-9 {
                break;
            }
            rest = 1.0 / fraction;
        }
        best
    }
}

/// Fractions near numbers.
#[kernel]
pub fn fractions_safe(
    limit: u64,
    numbers: &[f64],
    mut numerators: PerThread<i64>,
    mut denominators: PerThread<i64>,
) {
    let index = UniqueIndex::new();
    let Some(&number) = numbers.get(index.get()) else {
        return;
    };
    let fraction = Fraction::nearest(number, limit as i64);
    if let Some(to) = numerators.get_mut(index) {
        *to = fraction.numerator;
    }
    if let Some(to) = denominators.get_mut(index) {
        *to = fraction.denominator;
    }
}

/// As [`fractions_safe`], with pointers.
#[kernel]
pub unsafe fn fractions_raw(
    limit: i64,
    numbers: *const f64,
    numerators: *mut i64,
    denominators: *mut i64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut rest = *numbers.add(i);
    let (mut p0, mut q0, mut p1, mut q1) = (0i64, 1i64, 1i64, 0i64);
    loop {
        let whole = rest.floor();
        let term = whole as i64;
        let (p2, q2) = (term * p1 + p0, term * q1 + q0);
        if q2 > limit {
            break;
        }
        (p0, q0, p1, q1) = (p1, q1, p2, q2);
        if rest - whole < 1e-9 {
            break;
        }
        rest = 1.0 / (rest - whole);
    }
    *numerators.add(i) = p1;
    *denominators.add(i) = q1;
}

/// A day of the Gregorian calendar.
#[derive(Clone, Copy)]
struct Day(i64);

impl Day {
    fn of_date(year: i64, month: i64, day: i64) -> Day {
        let year = if month <= 2 { year - 1 } else { year };
        let (era, in_era) = (year.div_euclid(400), year.rem_euclid(400));
        let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        Day(era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719_468)
    }

    fn year(self) -> i64 {
        let days = self.0 + 719_468;
        let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let in_year = day - (365 * year + year / 4 - year / 100);
        let month = (5 * in_year + 2) / 153;
        era * 400 + year + if month >= 10 { 1 } else { 0 }
    }

    /// Monday is 0.
    fn weekday(self) -> i64 {
        (self.0 + 3).rem_euclid(7)
    }

    /// Returns the year and the week according to ISO 8601.
    fn week(self) -> (i64, i64) {
        let thursday = Day(self.0 - self.weekday() + 3);
        let year = thursday.year();
        let first = Day::of_date(year, 1, 1);
        (year, (thursday.0 - first.0) / 7 + 1)
    }
}

/// Returns `year * 1000 + week * 10 + weekday` of a time in seconds since 1970.
pub fn iso_week(seconds: i64) -> i64 {
    let day = Day(seconds.div_euclid(86_400));
    let (year, week) = day.week();
    year * 1000 + week * 10 + day.weekday() + 1
}

/// The weeks of times in seconds since 1970.
#[kernel]
pub fn iso_week_safe(seconds: &[i64], mut to: PerThread<i64>) {
    for (i, to) in to.own() {
        *to = iso_week(seconds[i]);
    }
}

/// As [`iso_week_safe`], with pointers.
#[kernel]
pub unsafe fn iso_week_raw(seconds: *const i64, to: *mut i64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let floor_div = |a: i64, b: i64| a / b - (a % b < 0) as i64;
    let day = floor_div(*seconds.add(i), 86_400);
    let weekday = day + 3 - floor_div(day + 3, 7) * 7;
    let thursday = day - weekday + 3;
    let days = thursday + 719_468;
    let era = floor_div(days, 146_097);
    let in_era = days - era * 146_097;
    let year = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let year = era * 400 + year + (month >= 10) as i64;
    // January 1 belongs to the year that starts in March before.
    let march = year - 1;
    let march_era = floor_div(march, 400);
    let in_era = march - march_era * 400;
    let first = march_era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + 306 - 719_468;
    *to.add(i) = year * 1000 + ((thursday - first) / 7 + 1) * 10 + weekday + 1;
}

/// The rounded-down square roots of 128-bit products.
#[kernel]
pub fn wide_roots_safe(a: &[u64], b: &[u64], mut to: PerThread<u64>) {
    to.each_with((a, b), |_, to, (&a, &b)| {
        let mut rest = u128::from(a) * u128::from(b);
        let mut root = 0u128;
        for bit in (0..64).rev().map(|k| 1u128 << (2 * k)) {
            let trial = root + bit;
            root >>= 1;
            if rest >= trial {
                rest -= trial;
                root += bit;
            }
        }
        *to = root as u64;
    });
}

/// As [`wide_roots_safe`], with pointers.
#[kernel]
pub unsafe fn wide_roots_raw(a: *const u64, b: *const u64, to: *mut u64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut rest = *a.add(i) as u128 * *b.add(i) as u128;
    let mut root = 0u128;
    let mut bit = 1u128 << 126;
    while bit != 0 {
        let trial = root + bit;
        root >>= 1;
        if rest >= trial {
            rest -= trial;
            root += bit;
        }
        bit >>= 2;
    }
    *to.add(i) = root as u64;
}

/// The coefficients of each piece of a function.
pub const DEGREES: usize = 12;

/// A function in pieces, each a sum of Chebyshev polynomials.
#[derive(Clone, Copy)]
struct Pieces<'a> {
    breaks: &'a [f32],
    coefficients: &'a [f32],
}

impl Pieces<'_> {
    fn at(&self, x: f32) -> Option<f32> {
        let piece = self
            .breaks
            .partition_point(|&end| end <= x)
            .checked_sub(1)?;
        let (&[low, high], coefficients) = self
            .breaks
            .array_windows()
            .zip(self.coefficients.chunks_exact(DEGREES))
            .nth(piece)?;
        let t = (2.0 * x - low - high) / (high - low);
        let (first, others) = coefficients.split_first()?;
        let (b1, b2) = others
            .iter()
            .rev()
            .fold((0.0, 0.0), |(b1, b2), c| (2.0 * t * b1 - b2 + c, b1));
        Some(first + t * b1 - b2)
    }
}

/// Evaluates a function in pieces, 0 outside of them.
#[kernel]
pub fn chebyshev_safe(breaks: &[f32], coefficients: &[f32], x: &[f32], mut to: PerThread<f32>) {
    let function = Pieces {
        breaks,
        coefficients,
    };
    to.each_with(x, |_, to, &x| *to = function.at(x).unwrap_or_default());
}

/// As [`chebyshev_safe`], with pointers.
#[kernel]
pub unsafe fn chebyshev_raw(
    breaks: *const f32,
    pieces: u32,
    coefficients: *const f32,
    xs: *const f32,
    to: *mut f32,
    n: u32,
) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let x = *xs.add(i as usize);
    let mut value = 0.0;
    if x >= *breaks && x < *breaks.add(pieces as usize) {
        let (mut piece, mut end) = (0, pieces);
        while end - piece > 1 {
            let middle = (piece + end) / 2;
            if *breaks.add(middle as usize) <= x {
                piece = middle;
            } else {
                end = middle;
            }
        }
        let (low, high) = (*breaks.add(piece as usize), *breaks.add(piece as usize + 1));
        let coefficients = coefficients.add(piece as usize * DEGREES);
        let t = (2.0 * x - low - high) / (high - low);
        let (mut b1, mut b2) = (0.0, 0.0);
        for k in (1..DEGREES).rev() {
            (b1, b2) = (2.0 * t * b1 - b2 + *coefficients.add(k), b1);
        }
        value = *coefficients + t * b1 - b2;
    }
    *to.add(i as usize) = value;
}

/// Returns the value of a key in `key=value&key=value`.
fn query<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    text.split(|&byte| byte == b'&')
        .find_map(|pair| pair.strip_prefix(key)?.strip_prefix(b"="))
}

/// Returns the number that a text consists of.
fn decimal(text: &[u8]) -> Option<u32> {
    let first = text.first()?;
    text.iter()
        .try_fold(0u32, |number, byte| {
            byte.is_ascii_digit()
                .then(|| number.wrapping_mul(10).wrapping_add(u32::from(byte - b'0')))
        })
        .filter(|_| first.is_ascii_digit())
}

/// The numbers that belong to a key in each query, or `u32::MAX`.
#[kernel]
pub fn query_values_safe(text: &[u8], starts: &[u32], key: &[u8], mut to: PerThread<u32>) {
    to.each(|i, to| {
        let text = &text[starts[i] as usize..starts[i + 1] as usize];
        *to = query(text, key).and_then(decimal).unwrap_or(u32::MAX);
    });
}

/// As [`query_values_safe`], with pointers.
#[kernel]
pub unsafe fn query_values_raw(
    text: *const u8,
    starts: *const u32,
    key: *const u8,
    key_length: u32,
    to: *mut u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (mut at, end) = (*starts.add(i), *starts.add(i + 1));
    let mut result = u32::MAX;
    while at < end {
        let mut k = 0;
        while k < key_length && at + k < end && *text.add((at + k) as usize) == *key.add(k as usize)
        {
            k += 1;
        }
        if k == key_length && at + k < end && *text.add((at + k) as usize) == b'=' {
            at += k + 1;
            let start = at;
            let mut number = 0u32;
            while at < end && (*text.add(at as usize)).is_ascii_digit() {
                number = number
                    .wrapping_mul(10)
                    .wrapping_add((*text.add(at as usize) - b'0') as u32);
                at += 1;
            }
            if at > start && (at == end || *text.add(at as usize) == b'&') {
                result = number;
            }
            break;
        }
        while at < end && *text.add(at as usize) != b'&' {
            at += 1;
        }
        at += 1;
    }
    *to.add(i) = result;
}

/// The mean of the middle half of 16 numbers.
#[kernel]
pub fn trimmed_mean_safe(from: &[[u16; 16]], mut to: PerThread<f32>) {
    to.each_with(from, |_, to, values| {
        let mut sorted = *values;
        sorted.sort_unstable();
        let middle = &sorted[4..12];
        let sum: u32 = middle.iter().copied().map(u32::from).sum();
        *to = sum as f32 / middle.len() as f32;
    });
}

/// As [`trimmed_mean_safe`], with pointers.
#[kernel]
pub unsafe fn trimmed_mean_raw(from: *const u16, to: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut values = [0u16; 16];
    let values = values.as_mut_ptr();
    for k in 0..16 {
        let x = *from.add(i * 16 + k);
        let mut place = k;
        while place > 0 && *values.add(place - 1) > x {
            *values.add(place) = *values.add(place - 1);
            place -= 1;
        }
        *values.add(place) = x;
    }
    let mut sum = 0;
    for k in 4..12 {
        sum += *values.add(k) as u32;
    }
    *to.add(i) = sum as f32 / 8.0;
}

/// The length of the longest ascending part of each row.
#[kernel]
pub fn longest_ascent_safe(rows: &[u16], width: usize, mut to: PerThread<u32>) {
    to.each(|i, to| {
        let row = rows.chunks(width).nth(i).unwrap_or(&[]);
        let longest = row.chunk_by(|a, b| a <= b).map(<[u16]>::len).max();
        *to = longest.map_or(0, |length| length as u32);
    });
}

/// As [`longest_ascent_safe`], with pointers.
#[kernel]
pub unsafe fn longest_ascent_raw(rows: *const u16, width: u32, to: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let row = rows.add(i as usize * width as usize);
    let (mut longest, mut length, mut before) = (0, 0, 0);
    for k in 0..width {
        let x = *row.add(k as usize);
        length = if x >= before { length + 1 } else { 1 };
        longest = longest.max(length);
        before = x;
    }
    *to.add(i as usize) = longest;
}

/// Exponential smoothing with a trend.
#[derive(Clone, Copy)]
struct Holt {
    level: f32,
    trend: f32,
}

impl Holt {
    fn update(&mut self, x: f32) -> f32 {
        let forecast = self.level + self.trend;
        let level = forecast + 0.4 * (x - forecast);
        self.trend += 0.2 * (level - self.level - self.trend);
        self.level = level;
        forecast
    }
}

/// Forecasts of each column, by exponential smoothing with a trend.
#[kernel]
pub fn holt_columns_safe(from: &[f32], mut to: PerColumn<f32>) {
    let width = to.width();
    to.each(|x, mut column| {
        let mut state = Holt {
            level: from[x],
            trend: 0.0,
        };
        let values = from[x..].iter().step_by(width);
        for (to, &value) in column.iter_mut().zip(values) {
            *to = state.update(value);
        }
    });
}

/// As [`holt_columns_safe`], with pointers.
#[kernel]
pub unsafe fn holt_columns_raw(from: *const f32, to: *mut f32, width: u32, height: u32) {
    let x = thread::index_1d();
    if x >= width {
        return;
    }
    let (mut level, mut trend) = (*from.add(x as usize), 0.0);
    for y in 0..height {
        let i = (y * width + x) as usize;
        let forecast = level + trend;
        let next = forecast + 0.4 * (*from.add(i) - forecast);
        trend += 0.2 * (next - level - trend);
        level = next;
        *to.add(i) = forecast;
    }
}

/// Sums of inverse square roots, by Newton's method in half precision.
#[kernel]
pub fn newton_half_safe(from: &[F16x2], mut to: PerThread<F16x2>) {
    let half = F16x2::splat(F16::from(0.5));
    let three_halves = F16x2::splat(F16::from(1.5));
    let inverse_root = |x: F16x2| (0..5).fold(half, |y, _| y * (three_halves - half * x * y * y));
    to.each_with(from, |_, to, &x| {
        *to = (0..16u8)
            .map(|k| x + F16x2::splat(F16::from(f32::from(k) * 0.125)))
            .map(inverse_root)
            .fold(F16x2::default(), |sum, y| sum + y);
    });
}

/// As [`newton_half_safe`], with pointers.
#[kernel]
pub unsafe fn newton_half_raw(from: *const F16x2, to: *mut F16x2, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (half, three_halves) = (F16x2::splat(F16::from(0.5)), F16x2::splat(F16::from(1.5)));
    let step = F16x2::splat(F16::from(0.125));
    let mut x = *from.add(i);
    let mut sum = F16x2::default();
    for _ in 0..16 {
        let mut y = half;
        for _ in 0..5 {
            y = y * (three_halves - half * x * y * y);
        }
        sum = sum + y;
        x = x + step;
    }
    *to.add(i) = sum;
}

/// The length of rows of which a warp finds the median.
pub const MEDIAN_ROW: usize = 512;

/// The medians of rows, a warp for each, bit by bit.
#[kernel(block_size(256))]
pub fn warp_median_safe(rows: &[[u32; MEDIAN_ROW]], mut to: PerWarp<u32>) {
    let lane = thread::lane_id() as usize;
    for mut piece in to.pieces() {
        let row = &rows[piece.start()];
        let own: [u32; MEDIAN_ROW / 32] = core::array::from_fn(|k| row[32 * k + lane]);
        let median = (0..32).rev().map(|bit| 1 << bit).fold(0, |found, bit| {
            let below = own.iter().filter(|&&x| x < found | bit).count();
            let all = warp::reduce_add(warp::FULL, below as u32);
            if all < MEDIAN_ROW as u32 / 2 {
                found | bit
            } else {
                found
            }
        });
        piece.each(|_, to| *to = median);
    }
}

/// As [`warp_median_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn warp_median_raw(rows: *const u32, to: *mut u32, n: u32) {
    let number = (thread::index_1d() / 32) as usize;
    let lane = thread::thread_idx_x() as usize % 32;
    if number >= n as usize {
        return;
    }
    let mut own = [0u32; 16];
    for k in 0..16 {
        own[k] = *rows.add(number * MEDIAN_ROW + 32 * k + lane);
    }
    let mut found = 0;
    let mut bit = 1u32 << 31;
    while bit != 0 {
        let mut below = 0u32;
        for k in 0..16 {
            below += (own[k] < found | bit) as u32;
        }
        if warp::reduce_add(warp::FULL, below) < 256 {
            found |= bit;
        }
        bit >>= 1;
    }
    if lane == 0 {
        *to.add(number) = found;
    }
}

/// The weights of a channel.
pub const TAPS: usize = 25;

/// A factor as an integer and a shift.
#[derive(Clone, Copy)]
struct Scaling {
    factor: i32,
    shift: u8,
}

impl Scaling {
    /// Multiplies, rounds to the nearest number, and limits it to a byte.
    fn apply(self, x: i32) -> i8 {
        let product = i64::from(x) * i64::from(self.factor);
        let rounded = (product + (1 << (self.shift - 1))) >> self.shift;
        rounded.clamp(i8::MIN.into(), i8::MAX.into()) as i8
    }
}

/// Convolves each row of bytes with its weights, and scales the result to bytes.
#[kernel(block_size(256))]
pub fn requantize_taps_safe(
    zero: i32,
    from: &[i8],
    weights: &[[i8; TAPS]],
    factors: &[i32],
    shifts: &[u8],
    mut to: PerThread2d<i8>,
) {
    let pitch = to.width() + TAPS - 1;
    to.each(|(x, channel), to| {
        let window = &from[channel * pitch + x..][..TAPS];
        let sum = window
            .iter()
            .zip(&weights[channel])
            .map(|(&x, &weight)| (i32::from(x) - zero) * i32::from(weight))
            .sum();
        *to = Scaling {
            factor: factors[channel],
            shift: shifts[channel],
        }
        .apply(sum);
    });
}

/// As [`requantize_taps_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn requantize_taps_raw(
    zero: i32,
    from: *const i8,
    weights: *const i8,
    factors: *const i32,
    shifts: *const u8,
    width: u32,
    to: *mut i8,
) {
    let (x, channel) = (thread::index_1d(), thread::block_idx_y());
    if x >= width {
        return;
    }
    let pitch = width + TAPS as u32 - 1;
    let mut sum = 0;
    for k in 0..TAPS as u32 {
        let weight = *weights.add((channel * TAPS as u32 + k) as usize) as i32;
        sum += (*from.add((channel * pitch + x + k) as usize) as i32 - zero) * weight;
    }
    let shift = *shifts.add(channel as usize);
    let product = sum as i64 * *factors.add(channel as usize) as i64;
    let rounded = (product + (1 << (shift - 1))) >> shift;
    *to.add((channel * width + x) as usize) = rounded.clamp(-128, 127) as i8;
}

/// A cell of Wireworld.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Empty,
    Head,
    Tail,
    Wire,
}

impl From<u8> for Cell {
    fn from(code: u8) -> Cell {
        match code {
            1 => Cell::Head,
            2 => Cell::Tail,
            3 => Cell::Wire,
            _ => Cell::Empty,
        }
    }
}

impl Cell {
    fn next(self, heads: usize) -> Cell {
        match (self, heads) {
            (Cell::Empty, _) => Cell::Empty,
            (Cell::Head, _) => Cell::Tail,
            (Cell::Wire, 1 | 2) => Cell::Head,
            (Cell::Tail | Cell::Wire, _) => Cell::Wire,
        }
    }
}

/// The generations that a launch computes.
pub const GENERATIONS: usize = 24;

/// Generations of Wireworld on tiles whose edges meet.
#[kernel(block_size(32, 8))]
pub fn wireworld_safe<'k>(
    #[shared] mut now: Shared<'k, Tile<u8, 32, 32>>,
    #[shared] mut next: Shared<'k, Tile<u8, 32, 32>>,
    from: &[[[u8; 32]; 32]],
    mut to: PerBlock<u8, 1024>,
) {
    for mut piece in to.pieces() {
        let start = piece.start();
        let tile = &from[start / 1024];
        now.own().each(|(x, y), cell| *cell = tile[y][x]);
        for _ in 0..GENERATIONS {
            now.read(|cells| {
                next.own().each(|(x, y), to| {
                    let around = |middle: usize| [(middle + 31) % 32, middle, (middle + 1) % 32];
                    let heads = around(y)
                        .into_iter()
                        .flat_map(|y| around(x).map(|x| cells[y][x]))
                        .filter(|&cell| Cell::from(cell) == Cell::Head)
                        .count();
                    *to = Cell::from(cells[y][x]).next(heads) as u8;
                });
            });
            core::mem::swap(&mut now, &mut next);
        }
        now.read(|cells| piece.each(|i, to| *to = cells.as_flattened()[i - start]));
    }
}

/// As [`wireworld_safe`], with pointers.
#[kernel(block_size(32, 8))]
pub unsafe fn wireworld_raw(from: *const u8, to: *mut u8) {
    let mut now = shared_array![u8; 1024];
    let mut next = shared_array![u8; 1024];
    let start = thread::block_idx_x() as usize * 1024;
    let (x, y0) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for y in (y0..32).step_by(8) {
        *now.add(y * 32 + x) = *from.add(start + y * 32 + x);
    }
    thread::sync_threads();
    let (left, right) = ((x + 31) % 32, (x + 1) % 32);
    for _ in 0..GENERATIONS {
        let mut y = y0;
        while y < 32 {
            let cell = *now.add(y * 32 + x);
            let mut heads = 0;
            for row in [(y + 31) % 32 * 32, y * 32, (y + 1) % 32 * 32] {
                heads += (*now.add(row + left) == 1) as u32
                    + (*now.add(row + x) == 1) as u32
                    + (*now.add(row + right) == 1) as u32;
            }
            *next.add(y * 32 + x) = match cell {
                0 => 0,
                1 => 2,
                2 => 3,
                _ => {
                    if heads == 1 || heads == 2 {
                        1
                    } else {
                        3
                    }
                }
            };
            y += 8;
        }
        thread::sync_threads();
        (now, next) = (next, now);
    }
    for y in (y0..32).step_by(8) {
        *to.add(start + y * 32 + x) = *now.add(y * 32 + x);
    }
}

/// Counts the numbers that are in exactly one of two ascending lists.
fn difference(a: &[u32], b: &[u32]) -> usize {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut count = 0;
    loop {
        let order = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) => x.cmp(y),
            _ => return count + a.count() + b.count(),
        };
        if order.is_le() {
            a.next();
        }
        if order.is_ge() {
            b.next();
        }
        count += usize::from(order.is_ne());
    }
}

/// The size of the symmetric difference of pairs of ascending lists.
#[kernel]
pub fn set_difference_safe(
    a: &[u32],
    a_starts: &[u32],
    b: &[u32],
    b_starts: &[u32],
    mut to: PerThread<u32>,
) {
    let part = |i: usize, list: &[u32], starts: &[u32]| {
        starts[i] as usize..(starts[i + 1] as usize).min(list.len())
    };
    to.each(|i, to| *to = difference(&a[part(i, a, a_starts)], &b[part(i, b, b_starts)]) as u32);
}

/// As [`set_difference_safe`], with pointers.
#[kernel]
pub unsafe fn set_difference_raw(
    a: *const u32,
    a_starts: *const u32,
    b: *const u32,
    b_starts: *const u32,
    to: *mut u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (mut p, p_end) = (*a_starts.add(i), *a_starts.add(i + 1));
    let (mut q, q_end) = (*b_starts.add(i), *b_starts.add(i + 1));
    let mut count = 0;
    while p < p_end && q < q_end {
        let (x, y) = (*a.add(p as usize), *b.add(q as usize));
        p += (x <= y) as u32;
        q += (x >= y) as u32;
        count += (x != y) as u32;
    }
    *to.add(i) = count + (p_end - p) + (q_end - q);
}

/// A number modulo `M`, which is less than 2³².
#[derive(Clone, Copy, PartialEq, Eq)]
struct Modulo<const M: u64>(u64);

impl<const M: u64> Mul for Modulo<M> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Modulo(self.0 * other.0 % M)
    }
}

impl<const M: u64> Modulo<M> {
    fn power(self, mut exponent: u64) -> Self {
        let (mut base, mut result) = (self, Modulo(1));
        while exponent > 0 {
            if exponent % 2 == 1 {
                result = result * base;
            }
            base = base * base;
            exponent /= 2;
        }
        result
    }

    fn is_residue(self, degree: u64) -> bool {
        self.power((M - 1) / degree) == Modulo(1)
    }
}

/// Returns bits: whether a number is a square modulo each of two primes, and a fifth power.
pub fn residue_bits(x: u64) -> u32 {
    fn bits<const M: u64>(x: u64) -> u32 {
        let x = Modulo::<M>(x % M);
        [2, 5].into_iter().fold(0, |bits, degree| {
            bits << 1 | u32::from(x.is_residue(degree))
        })
    }
    bits::<4_294_967_291>(x) << 2 | bits::<4_294_967_231>(x)
}

/// Which numbers of a range are powers modulo primes.
#[kernel]
pub fn power_residues_safe(first: u64, mut to: PerThread<u32>) {
    to.each(|i, to| *to = residue_bits(first + i as u64));
}

unsafe fn power_modulo(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent /= 2;
    }
    result
}

/// As [`power_residues_safe`], with pointers.
#[kernel]
pub unsafe fn power_residues_raw(first: u64, to: *mut u32, n: usize) {
    const P: u64 = 4_294_967_291;
    const Q: u64 = 4_294_967_231;
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let x = first + i as u64;
    let mut bits = (power_modulo(x % P, (P - 1) / 2, P) == 1) as u32;
    bits = bits << 1 | (power_modulo(x % P, (P - 1) / 5, P) == 1) as u32;
    bits = bits << 1 | (power_modulo(x % Q, (Q - 1) / 2, Q) == 1) as u32;
    bits = bits << 1 | (power_modulo(x % Q, (Q - 1) / 5, Q) == 1) as u32;
    *to.add(i) = bits;
}

/// How far each element is below the highest element of its row so far.
#[kernel(block_size(128))]
pub fn below_peak_safe(from: &[i32], mut to: PerWarpRow<i32>) {
    let warp = group::warp();
    let width = to.width();
    for mut row in to.rows() {
        let from = &from[row.y() * width..][..width];
        let mut own = row.own();
        let mut peak = i32::MIN;
        for part in from.chunks(32) {
            let x = part.get(warp.rank() as usize).copied();
            let here = warp
                .inclusive_scan(x.unwrap_or(i32::MIN), i32::max)
                .max(peak);
            if let (Some(x), Some((_, to))) = (x, own.next()) {
                *to = here - x;
            }
            peak = warp.shuffle(here, warp.size() - 1);
        }
    }
}

/// As [`below_peak_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn below_peak_raw(from: *const i32, width: u32, to: *mut i32, rows: u32) {
    let row = thread::index_1d() / 32;
    let lane = thread::thread_idx_x() % 32;
    if row >= rows {
        return;
    }
    let (from, to) = (
        from.add((row * width) as usize),
        to.add((row * width) as usize),
    );
    let mut peak = i32::MIN;
    let mut start = 0;
    while start < width {
        let i = start + lane;
        let x = if i < width {
            *from.add(i as usize)
        } else {
            i32::MIN
        };
        let mut here = x.max(peak);
        let mut d = 1;
        while d < 32 {
            here = here.max(warp::shuffle_up(warp::FULL, here, d));
            d *= 2;
        }
        if i < width {
            *to.add(i as usize) = here - x;
        }
        peak = warp::shuffle(warp::FULL, here, 31);
        start += 32;
    }
}

/// The bytes of a number as text.
pub const FIELD: usize = 24;

/// Writes a number to the end of a field, and returns the part before it.
fn write_decimal(field: &mut [u8], number: i64) -> Option<&mut [u8]> {
    let mut rest = number.unsigned_abs();
    let mut field = field;
    loop {
        let (last, before) = field.split_last_mut()?;
        *last = b'0' + (rest % 10) as u8;
        rest /= 10;
        field = before;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        let (last, before) = field.split_last_mut()?;
        *last = b'-';
        field = before;
    }
    Some(field)
}

/// Writes numbers as text, right-aligned in fields.
#[kernel]
pub fn decimal_fields_safe(numbers: &[i64], mut to: PerRow<u8>) {
    to.each(|i, field| {
        if let Some(before) = write_decimal(field, numbers[i]) {
            before.fill(b' ');
        }
    });
}

/// As [`decimal_fields_safe`], with pointers.
#[kernel]
pub unsafe fn decimal_fields_raw(numbers: *const i64, to: *mut u8, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let number = *numbers.add(i);
    let mut rest = number.unsigned_abs();
    let to = to.add(i * FIELD);
    let mut at = FIELD;
    loop {
        at -= 1;
        *to.add(at) = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        at -= 1;
        *to.add(at) = b'-';
    }
    while at > 0 {
        at -= 1;
        *to.add(at) = b' ';
    }
}

/// The functions of evolved networks.
const FUNCTIONS: [fn(f32) -> f32; 8] = [
    |x| x,
    f32::tanh,
    |x| x.max(0.0),
    |x| 1.0 / (1.0 + (-x).exp()),
    f32::sin,
    |x| (-x * x).exp(),
    |x| x.abs(),
    |x| x / (1.0 + x.abs()),
];

/// Evaluates a chain of functions: three bits of the genome select each.
#[kernel]
pub fn gene_chain_safe(genomes: &[u32], inputs: &[f32], mut to: PerThread<f32>) {
    to.each_with((genomes, inputs), |_, to, (&genome, &input)| {
        *to = (0..10)
            .map(|k| FUNCTIONS[(genome >> (3 * k)) as usize % 8])
            .fold(input, |x, function| function(1.3 * x + 0.1));
    });
}

/// As [`gene_chain_safe`], with pointers.
#[kernel]
pub unsafe fn gene_chain_raw(genomes: *const u32, inputs: *const f32, to: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (genome, mut x) = (*genomes.add(i), *inputs.add(i));
    for k in 0..10 {
        x = 1.3 * x + 0.1;
        x = match genome >> (3 * k) & 7 {
            0 => x,
            1 => x.tanh(),
            2 => x.max(0.0),
            3 => 1.0 / (1.0 + (-x).exp()),
            4 => x.sin(),
            5 => (-x * x).exp(),
            6 => x.abs(),
            _ => x / (1.0 + x.abs()),
        };
    }
    *to.add(i) = x;
}

/// Half of the coefficients of a symmetric filter.
pub const HALF_TAPS: usize = 64;

/// A symmetric filter.
#[kernel]
pub fn symmetric_fir_safe(signal: &[f64], half: &[f64; HALF_TAPS], mut to: PerThread<f64>) {
    to.each(|i, to| {
        let (front, back) = signal[i..][..2 * HALF_TAPS].split_at(HALF_TAPS);
        let pairs = front.iter().zip(back.iter().rev());
        *to = pairs
            .zip(half)
            .map(|((a, b), factor)| factor * (a + b))
            .sum();
    });
}

/// As [`symmetric_fir_safe`], with pointers.
#[kernel]
pub unsafe fn symmetric_fir_raw(signal: *const f64, half: *const f64, to: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut sum = 0.0;
    for k in 0..HALF_TAPS {
        sum += *half.add(k) * (*signal.add(i + k) + *signal.add(i + 2 * HALF_TAPS - 1 - k));
    }
    *to.add(i) = sum;
}

/// A color with red, green and blue in linear light.
#[derive(Clone, Copy)]
struct Light([f32; 3]);

impl Light {
    fn from_pixel([r, g, b, _]: [u8; 4]) -> Light {
        Light([r, g, b].map(|x| (f32::from(x) / 255.0).powf(2.2)))
    }

    fn filmic(self) -> Light {
        Light(
            self.0
                .map(|x| x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)),
        )
    }

    fn bytes(self) -> [u8; 3] {
        self.0
            .map(|x| (x.clamp(0.0, 1.0).powf(1.0 / 2.2) * 255.0 + 0.5) as u8)
    }
}

/// A filmic curve for the colors of pixels of four bytes.
#[kernel]
pub fn filmic_pixels_safe(from: &[u8], mut to: PerThreadChunk<u8, 4>) {
    let (pixels, _) = from.as_chunks::<4>();
    for (start, to) in to.whole() {
        let pixel = pixels[start / 4];
        let [r, g, b] = Light::from_pixel(pixel).filmic().bytes();
        *to = [r, g, b, pixel[3]];
    }
}

/// As [`filmic_pixels_safe`], with pointers.
#[kernel]
pub unsafe fn filmic_pixels_raw(from: *const u8, to: *mut u8, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let pixel = *from.cast::<U8x4>().add(i);
    let mut result = pixel;
    for k in 0..3 {
        let x = (pixel.0[k] as f32 / 255.0).powf(2.2);
        let x = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14);
        result.0[k] = (x.clamp(0.0, 1.0).powf(1.0 / 2.2) * 255.0 + 0.5) as u8;
    }
    *to.cast::<U8x4>().add(i) = result;
}
