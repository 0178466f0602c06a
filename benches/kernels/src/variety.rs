//! Parsing, numerics, geometry, finance, statistics and signals: more kernels in many styles, written by
//! a programmer who knew the documentation of `cuda_std` and nothing of the compiler.

// The kernels are as their author wrote them.
#![allow(
    clippy::chunks_exact_to_as_chunks,
    clippy::manual_ignore_case_cmp,
    clippy::manual_is_multiple_of,
    clippy::neg_cmp_op_on_partial_ord
)]

use core::cmp::Ordering;
use core::ops::{Add, Div, Mul, Sub};
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::half::{F16, F16x2};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::{AnyBits, PerBlock, PerBlockRow, PerColumn, PerThread2d, PerThread3d, PerTile};
use cuda_std::{PerWarp, PerWarpRow, group};
use cust_core::DeviceCopy;

// ---------------------------------------------------------------------------------------------
// fuzzy_score

fn is_separator(c: u8) -> bool {
    matches!(c, b'/' | b'_' | b'-' | b'.' | b' ')
}

/// How well a pattern matches as a subsequence, as editors rank file names. `None` if it does not.
pub fn fuzzy_match(pattern: &[u8], candidate: &[u8]) -> Option<i32> {
    let (mut pattern, mut rest) = (pattern, candidate);
    let (mut score, mut run) = (0, 0);
    let mut previous = b'/';
    while let [wanted, others @ ..] = pattern {
        let (c, tail) = rest.split_first()?;
        if c.eq_ignore_ascii_case(wanted) {
            run += 1;
            score += 16 + 4 * run;
            if is_separator(previous) {
                score += 10;
            }
            pattern = others;
        } else {
            score -= 1;
            run = 0;
        }
        previous = *c;
        rest = tail;
    }
    Some(score - rest.len() as i32 / 4)
}

/// Scores each candidate, a piece of the text.
#[kernel]
pub fn fuzzy_score_safe(pattern: &[u8], text: &[u8], offsets: &[u32], mut to: PerThread<i32>) {
    to.each(|i, to| {
        let candidate = &text[offsets[i] as usize..offsets[i + 1] as usize];
        *to = fuzzy_match(pattern, candidate).unwrap_or(-1000);
    });
}

/// Scores each candidate, a piece of the text.
#[kernel]
pub unsafe fn fuzzy_score_raw(
    pattern: *const u8,
    pattern_len: usize,
    text: *const u8,
    offsets: *const u32,
    to: *mut i32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let end = *offsets.add(i + 1) as usize;
    let mut at = *offsets.add(i) as usize;
    let mut k = 0;
    let mut score = 0;
    let mut run = 0;
    let mut previous = b'/';
    while k < pattern_len && at < end {
        let c = *text.add(at);
        if c.to_ascii_lowercase() == (*pattern.add(k)).to_ascii_lowercase() {
            run += 1;
            score += 16 + 4 * run;
            if is_separator(previous) {
                score += 10;
            }
            k += 1;
        } else {
            score -= 1;
            run = 0;
        }
        previous = c;
        at += 1;
    }
    *to.add(i) = if k < pattern_len {
        -1000
    } else {
        score - (end - at) as i32 / 4
    };
}

// ---------------------------------------------------------------------------------------------
// thin_film

/// A complex number.
#[derive(Clone, Copy, Default)]
pub struct Complex {
    /// The real part.
    pub re: f32,
    /// The imaginary part.
    pub im: f32,
}

impl Complex {
    const fn new(re: f32, im: f32) -> Complex {
        Complex { re, im }
    }

    fn norm_squared(self) -> f32 {
        self.re * self.re + self.im * self.im
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, other: Complex) -> Complex {
        Complex::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex::new(
            self.re * other.re - self.im * other.im,
            self.re * other.im + self.im * other.re,
        )
    }
}

impl Mul<f32> for Complex {
    type Output = Complex;
    fn mul(self, factor: f32) -> Complex {
        Complex::new(self.re * factor, self.im * factor)
    }
}

/// A small matrix.
#[derive(Clone, Copy)]
pub struct Matrix<T, const R: usize, const C: usize>(pub [[T; C]; R]);

impl<
    T: Copy + Default + Add<Output = T> + Mul<Output = T>,
    const R: usize,
    const K: usize,
    const C: usize,
> Mul<Matrix<T, K, C>> for Matrix<T, R, K>
{
    type Output = Matrix<T, R, C>;
    fn mul(self, other: Matrix<T, K, C>) -> Matrix<T, R, C> {
        let mut product = [[T::default(); C]; R];
        for (to, row) in product.iter_mut().zip(self.0) {
            for (c, to) in to.iter_mut().enumerate() {
                *to = row
                    .iter()
                    .zip(other.0)
                    .fold(T::default(), |sum, (a, b)| sum + *a * b[c]);
            }
        }
        Matrix(product)
    }
}

/// A layer of glass.
#[derive(Clone, Copy)]
struct Layer {
    index: f32,
    thickness: f32,
}

impl Layer {
    /// The characteristic matrix at a wavelength.
    fn transfer(self, wavelength: f32) -> Matrix<Complex, 2, 2> {
        let phase = core::f32::consts::TAU * self.index * self.thickness / wavelength;
        let (sin, cos) = phase.sin_cos();
        Matrix([
            [Complex::new(cos, 0.0), Complex::new(0.0, sin / self.index)],
            [Complex::new(0.0, sin * self.index), Complex::new(cos, 0.0)],
        ])
    }
}

/// The reflectance of a stack of layers at each wavelength.
#[kernel]
pub fn thin_film_safe(
    indices: &[f32],
    thicknesses: &[f32],
    wavelengths: &[f32],
    substrate: f32,
    mut to: PerThread<f32>,
) {
    let one = Matrix([
        [Complex::new(1.0, 0.0), Complex::default()],
        [Complex::default(), Complex::new(1.0, 0.0)],
    ]);
    to.each_with(wavelengths, |_, to, &wavelength| {
        let stack = indices
            .iter()
            .zip(thicknesses)
            .map(|(&index, &thickness)| Layer { index, thickness }.transfer(wavelength))
            .fold(one, |stack, layer| stack * layer);
        let [[a, b], [c, d]] = stack.0;
        let (field, current) = (a + b * substrate, c + d * substrate);
        *to = (field - current).norm_squared() / (field + current).norm_squared();
    });
}

/// The reflectance of a stack of layers at each wavelength.
#[kernel]
pub unsafe fn thin_film_raw(
    indices: *const f32,
    thicknesses: *const f32,
    layers: usize,
    wavelengths: *const f32,
    substrate: f32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let wavelength = *wavelengths.add(i);
    let mut m = [
        [Complex::new(1.0, 0.0), Complex::new(0.0, 0.0)],
        [Complex::new(0.0, 0.0), Complex::new(1.0, 0.0)],
    ];
    for l in 0..layers {
        let index = *indices.add(l);
        let phase = core::f32::consts::TAU * index * *thicknesses.add(l) / wavelength;
        let (sin, cos) = phase.sin_cos();
        let t = [
            [Complex::new(cos, 0.0), Complex::new(0.0, sin / index)],
            [Complex::new(0.0, sin * index), Complex::new(cos, 0.0)],
        ];
        let mut p = [[Complex::new(0.0, 0.0); 2]; 2];
        for r in 0..2 {
            for c in 0..2 {
                for k in 0..2 {
                    p[r][c] = p[r][c] + m[r][k] * t[k][c];
                }
            }
        }
        m = p;
    }
    let field = m[0][0] + m[0][1] * substrate;
    let current = m[1][0] + m[1][1] * substrate;
    *to.add(i) = (field - current).norm_squared() / (field + current).norm_squared();
}

// ---------------------------------------------------------------------------------------------
// queue_waits

/// What some customers do to the waiting time: `max(wait + shift, floor)`.
#[derive(Clone, Copy, AnyBits)]
struct Delay {
    shift: f32,
    floor: f32,
}

impl Delay {
    const NONE: Delay = Delay {
        shift: 0.0,
        floor: 0.0,
    };

    fn then(self, next: Delay) -> Delay {
        Delay {
            shift: self.shift + next.shift,
            floor: next.floor.max(self.floor + next.shift),
        }
    }

    fn apply(self, wait: f32) -> f32 {
        self.floor.max(wait + self.shift)
    }
}

/// The waiting time after each customer of a queue: a block for each queue.
#[kernel(block_size(256))]
pub fn queue_waits_safe(loads: &[f32], mut waits: PerBlockRow<f32>) {
    let block = group::block();
    for mut row in waits.rows() {
        let loads = &loads[row.y() * row.len()..][..row.len()];
        let mut carry = 0.0;
        let mut outputs = row.own();
        for tile in loads.chunks(256) {
            let own = match tile.get(thread::index_in_block() as usize) {
                Some(&shift) => Delay { shift, floor: 0.0 },
                None => Delay::NONE,
            };
            let (before, total) = block.exclusive_scan_with_total(own, Delay::NONE, Delay::then);
            if let Some((_, to)) = outputs.next() {
                *to = before.then(own).apply(carry);
            }
            carry = total.apply(carry);
        }
    }
}

/// The waiting time after each customer of a queue: a block for each queue.
#[kernel(block_size(256))]
pub unsafe fn queue_waits_raw(loads: *const f32, waits: *mut f32, width: usize) {
    let warp_shift = shared_array![f32; 8];
    let warp_floor = shared_array![f32; 8];
    let t = thread::thread_idx_x() as usize;
    let (lane, warp) = (t % 32, t / 32);
    let row = thread::block_idx_x() as usize * width;
    let mut carry = 0.0f32;
    let mut start = 0;
    while start < width {
        let x = start + t;
        let mut shift = if x < width { *loads.add(row + x) } else { 0.0 };
        let mut floor = 0.0f32;
        let mut distance = 1;
        while distance < 32 {
            let s = warp::shuffle_up(warp::FULL, shift, distance);
            let f = warp::shuffle_up(warp::FULL, floor, distance);
            if lane >= distance as usize {
                floor = floor.max(f + shift);
                shift += s;
            }
            distance *= 2;
        }
        if lane == 31 {
            *warp_shift.add(warp) = shift;
            *warp_floor.add(warp) = floor;
        }
        thread::sync_threads();
        let mut wait = carry;
        for w in 0..8 {
            if w == warp && x < width {
                *waits.add(row + x) = floor.max(wait + shift);
            }
            wait = (*warp_floor.add(w)).max(wait + *warp_shift.add(w));
        }
        carry = wait;
        thread::sync_threads();
        start += 256;
    }
}

// ---------------------------------------------------------------------------------------------
// quadrupole

/// Masses and where they are.
#[derive(Clone, Copy)]
struct Bodies<'a> {
    x: &'a [f32],
    y: &'a [f32],
    z: &'a [f32],
    mass: &'a [f32],
}

impl Bodies<'_> {
    fn get(&self, i: usize) -> ([f32; 3], f32) {
        ([self.x[i], self.y[i], self.z[i]], self.mass[i])
    }
}

/// The moments of masses: their sum, dipole and second moments.
#[derive(Clone, Copy, Default)]
struct Moments([f32; 10]);

impl Moments {
    fn of([x, y, z]: [f32; 3], mass: f32) -> Moments {
        Moments(
            [1.0, x, y, z, x * x, y * y, z * z, x * y, x * z, y * z].map(|product| mass * product),
        )
    }
}

impl Add for Moments {
    type Output = Moments;
    fn add(self, other: Moments) -> Moments {
        Moments(core::array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

/// The moments of each block's bodies.
#[kernel(block_size(256))]
pub fn quadrupole_safe(x: &[f32], y: &[f32], z: &[f32], mass: &[f32], mut to: PerBlock<[f32; 10]>) {
    let bodies = Bodies { x, y, z, mass };
    let own = thread::grid_stride(mass.len())
        .map(|i| bodies.get(i))
        .fold(Moments::default(), |sum, (at, mass)| {
            sum + Moments::of(at, mass)
        });
    let block = group::block();
    let sum = own.0.map(|own| block.reduce(own, |a, b| a + b));
    to.each(|_, to| *to = sum);
}

/// The moments of each block's bodies.
#[kernel(block_size(256))]
pub unsafe fn quadrupole_raw(
    x: *const f32,
    y: *const f32,
    z: *const f32,
    mass: *const f32,
    n: usize,
    to: *mut f32,
) {
    let sums = shared_array![f32; 80];
    let stride = (thread::grid_dim_x() * 256) as usize;
    let mut m = [0.0f32; 10];
    let mut i = thread::index_1d() as usize;
    while i < n {
        let (px, py, pz, w) = (*x.add(i), *y.add(i), *z.add(i), *mass.add(i));
        m[0] += w;
        m[1] += w * px;
        m[2] += w * py;
        m[3] += w * pz;
        m[4] += w * (px * px);
        m[5] += w * (py * py);
        m[6] += w * (pz * pz);
        m[7] += w * (px * py);
        m[8] += w * (px * pz);
        m[9] += w * (py * pz);
        i += stride;
    }
    let t = thread::thread_idx_x() as usize;
    for k in 0..10 {
        let mut distance = 16;
        while distance > 0 {
            m[k] += warp::shuffle_xor(warp::FULL, m[k], distance);
            distance /= 2;
        }
        if t % 32 == 0 {
            *sums.add(t / 32 * 10 + k) = m[k];
        }
    }
    thread::sync_threads();
    if t < 10 {
        let mut sum = 0.0;
        for w in 0..8 {
            sum += *sums.add(w * 10 + t);
        }
        *to.add(thread::block_idx_x() as usize * 10 + t) = sum;
    }
}

// ---------------------------------------------------------------------------------------------
// iban_check

/// The result of a check of an account number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// It has other characters or is too short.
    Malformed,
    /// The digits do not fit.
    WrongChecksum,
    /// It is right.
    Valid,
}

/// Bytes of a record, padded with spaces.
pub const IBAN: usize = 34;

fn iban_digit(c: u8) -> Option<u32> {
    match c {
        b'0'..=b'9' => Some(u32::from(c - b'0')),
        b'A'..=b'Z' => Some(u32::from(c - b'A') + 10),
        _ => None,
    }
}

/// The remainder by 97 of the number that the characters stand for.
pub fn iban_remainder(record: &[u8]) -> Option<u32> {
    let record = record.trim_ascii_end();
    let (prefix, account) = record.split_at_checked(4)?;
    if account.is_empty() || !prefix[..2].iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    let mut remainder = 0;
    for &c in account.iter().chain(prefix) {
        let digit = iban_digit(c)?;
        let shift = if digit < 10 { 10 } else { 100 };
        remainder = (remainder * shift + digit) % 97;
    }
    Some(remainder)
}

/// Checks an account number.
pub fn iban_verdict(record: &[u8]) -> Verdict {
    match iban_remainder(record) {
        None => Verdict::Malformed,
        Some(1) => Verdict::Valid,
        Some(_) => Verdict::WrongChecksum,
    }
}

/// Checks account numbers.
#[kernel]
pub fn iban_check_safe(records: &[[u8; IBAN]], mut to: PerThread<u8>) {
    to.each_with(records, |_, to, record| *to = iban_verdict(record) as u8);
}

/// Checks account numbers.
#[kernel]
pub unsafe fn iban_check_raw(records: *const u8, to: *mut u8, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let record = records.add(i * IBAN);
    let mut len = IBAN;
    while len > 0 && *record.add(len - 1) == b' ' {
        len -= 1;
    }
    let mut verdict = 0u8;
    if len > 4 && (*record).is_ascii_uppercase() && (*record.add(1)).is_ascii_uppercase() {
        let mut remainder = 0u32;
        let mut valid = true;
        for k in 0..len {
            let c = *record.add(if k + 4 < len { k + 4 } else { k + 4 - len });
            if c.is_ascii_digit() {
                remainder = (remainder * 10 + (c - b'0') as u32) % 97;
            } else if c.is_ascii_uppercase() {
                remainder = (remainder * 100 + (c - b'A') as u32 + 10) % 97;
            } else {
                valid = false;
                break;
            }
        }
        if valid {
            verdict = if remainder == 1 { 2 } else { 1 };
        }
    }
    *to.add(i) = verdict;
}

// ---------------------------------------------------------------------------------------------
// fixed_pendulum

/// A number with 32 bits after the point.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub struct Fixed(pub i64);

impl Fixed {
    /// The number 1.
    pub const ONE: Fixed = Fixed(1 << 32);

    /// Returns a quotient of integers.
    pub const fn ratio(numerator: i64, denominator: i64) -> Fixed {
        Fixed((numerator << 32) / denominator)
    }
}

impl Add for Fixed {
    type Output = Fixed;
    fn add(self, other: Fixed) -> Fixed {
        Fixed(self.0 + other.0)
    }
}

impl Sub for Fixed {
    type Output = Fixed;
    fn sub(self, other: Fixed) -> Fixed {
        Fixed(self.0 - other.0)
    }
}

impl Mul for Fixed {
    type Output = Fixed;
    fn mul(self, other: Fixed) -> Fixed {
        Fixed(((i128::from(self.0) * i128::from(other.0)) >> 32) as i64)
    }
}

/// The sine of a small angle.
pub fn fixed_sin(x: Fixed) -> Fixed {
    const FACTORS: [Fixed; 4] = [
        Fixed::ratio(-1, 5040),
        Fixed::ratio(1, 120),
        Fixed::ratio(-1, 6),
        Fixed::ONE,
    ];
    let square = x * x;
    x * FACTORS
        .into_iter()
        .reduce(|sum, factor| sum * square + factor)
        .unwrap_or(Fixed::ONE)
}

/// A pendulum.
struct Pendulum {
    angle: Fixed,
    speed: Fixed,
}

impl Pendulum {
    fn step(&mut self, gravity: Fixed, dt: Fixed) {
        self.speed = self.speed - gravity * fixed_sin(self.angle) * dt;
        self.angle = self.angle + self.speed * dt;
    }
}

/// Swings each pendulum for some steps, and stores its angle.
#[kernel]
pub fn fixed_pendulum_safe(
    angles: &[i64],
    gravities: &[i64],
    dt: i64,
    steps: u32,
    mut to: PerThread<i64>,
) {
    to.each_with((angles, gravities), |_, to, (&angle, &gravity)| {
        let mut pendulum = Pendulum {
            angle: Fixed(angle),
            speed: Fixed(0),
        };
        for _ in 0..steps {
            pendulum.step(Fixed(gravity), Fixed(dt));
        }
        *to = pendulum.angle.0;
    });
}

fn mul_q32(a: i64, b: i64) -> i64 {
    ((a as i128 * b as i128) >> 32) as i64
}

/// Swings each pendulum for some steps, and stores its angle.
#[kernel]
pub unsafe fn fixed_pendulum_raw(
    angles: *const i64,
    gravities: *const i64,
    dt: i64,
    steps: u32,
    to: *mut i64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    const ONE: i64 = 1 << 32;
    let mut angle = *angles.add(i);
    let gravity = *gravities.add(i);
    let mut speed = 0;
    for _ in 0..steps {
        let square = mul_q32(angle, angle);
        let mut sum = -ONE / 5040;
        sum = mul_q32(sum, square) + ONE / 120;
        sum = mul_q32(sum, square) - ONE / 6;
        sum = mul_q32(sum, square) + ONE;
        speed -= mul_q32(mul_q32(gravity, mul_q32(angle, sum)), dt);
        angle += mul_q32(speed, dt);
    }
    *to.add(i) = angle;
}

// ---------------------------------------------------------------------------------------------
// levinson

/// Coefficients of a prediction.
pub const ORDER: usize = 10;

/// The coefficients that predict a signal with these autocorrelations best, by the recursion of
/// Levinson and Durbin. `None` if the signal has no energy left.
fn levinson<const P: usize>(correlations: &[f64]) -> Option<[f64; P]> {
    let mut coefficients = [0.0; P];
    let mut error = *correlations.first()?;
    for i in 0..P {
        if error <= 0.0 {
            return None;
        }
        let previous = coefficients;
        let known = &previous[..i];
        let sum: f64 = known
            .iter()
            .zip(correlations[1..=i].iter().rev())
            .map(|(a, r)| a * r)
            .sum();
        let reflection = -(correlations[i + 1] + sum) / error;
        for (to, mirrored) in coefficients.iter_mut().zip(known.iter().rev()) {
            *to += reflection * mirrored;
        }
        coefficients[i] = reflection;
        error *= 1.0 - reflection * reflection;
    }
    Some(coefficients)
}

/// The prediction coefficients of each frame.
#[kernel]
pub fn levinson_safe(correlations: &[[f64; ORDER + 1]], mut to: PerThread<[f64; ORDER]>) {
    to.each(|i, to| *to = levinson(&correlations[i]).unwrap_or_default());
}

/// The prediction coefficients of each frame.
#[kernel]
pub unsafe fn levinson_raw(correlations: *const f64, to: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut r = [0.0; ORDER + 1];
    for k in 0..=ORDER {
        r[k] = *correlations.add(i * (ORDER + 1) + k);
    }
    let mut a = [0.0; ORDER];
    let mut error = r[0];
    let mut valid = true;
    for k in 0..ORDER {
        if error <= 0.0 {
            valid = false;
            break;
        }
        let mut sum = r[k + 1];
        for j in 0..k {
            sum += a[j] * r[k - j];
        }
        let reflection = -sum / error;
        let previous = a;
        for j in 0..k {
            a[j] = previous[j] + reflection * previous[k - 1 - j];
        }
        a[k] = reflection;
        error *= 1.0 - reflection * reflection;
    }
    for k in 0..ORDER {
        *to.add(i * ORDER + k) = if valid { a[k] } else { 0.0 };
    }
}

// ---------------------------------------------------------------------------------------------
// vincenty

/// A place on the Earth, in radians.
#[derive(Clone, Copy)]
pub struct Place {
    /// The latitude.
    pub latitude: f64,
    /// The longitude.
    pub longitude: f64,
}

const EQUATORIAL: f64 = 6_378_137.0;
const FLATTENING: f64 = 1.0 / 298.257223563;
const POLAR: f64 = EQUATORIAL * (1.0 - FLATTENING);

/// The distance along the ellipsoid in metres. `None` if the iteration does not converge.
fn vincenty(from: Place, to: Place) -> Option<f64> {
    let reduced = |place: Place| ((1.0 - FLATTENING) * place.latitude.tan()).atan().sin_cos();
    let (sin1, cos1) = reduced(from);
    let (sin2, cos2) = reduced(to);
    let difference = to.longitude - from.longitude;
    let mut lambda = difference;
    for _ in 0..40 {
        let (sin_lambda, cos_lambda) = lambda.sin_cos();
        let sin_sigma = (cos2 * sin_lambda).hypot(cos1 * sin2 - sin1 * cos2 * cos_lambda);
        if sin_sigma == 0.0 {
            return Some(0.0);
        }
        let cos_sigma = sin1 * sin2 + cos1 * cos2 * cos_lambda;
        let sigma = sin_sigma.atan2(cos_sigma);
        let sin_alpha = cos1 * cos2 * sin_lambda / sin_sigma;
        let cos2_alpha = 1.0 - sin_alpha * sin_alpha;
        let cos_2m = match cos2_alpha {
            0.0 => 0.0,
            cos2_alpha => cos_sigma - 2.0 * sin1 * sin2 / cos2_alpha,
        };
        let c = FLATTENING / 16.0 * cos2_alpha * (4.0 + FLATTENING * (4.0 - 3.0 * cos2_alpha));
        let inner = cos_2m + c * cos_sigma * (2.0 * cos_2m * cos_2m - 1.0);
        let next =
            difference + (1.0 - c) * FLATTENING * sin_alpha * (sigma + c * sin_sigma * inner);
        let change = (next - lambda).abs();
        lambda = next;
        if change < 1e-11 {
            let u2 = cos2_alpha * (EQUATORIAL * EQUATORIAL / (POLAR * POLAR) - 1.0);
            let a = 1.0 + u2 / 16384.0 * (4096.0 + u2 * (-768.0 + u2 * (320.0 - 175.0 * u2)));
            let b = u2 / 1024.0 * (256.0 + u2 * (-128.0 + u2 * (74.0 - 47.0 * u2)));
            let square = 2.0 * cos_2m * cos_2m - 1.0;
            let last =
                b / 6.0 * cos_2m * (4.0 * sin_sigma * sin_sigma - 3.0) * (2.0 * square - 1.0);
            let delta = b * sin_sigma * (cos_2m + b / 4.0 * (cos_sigma * square - last));
            return Some(POLAR * a * (sigma - delta));
        }
    }
    None
}

/// The distances of pairs of places.
#[kernel]
pub fn vincenty_safe(latitudes: &[[f64; 2]], longitudes: &[[f64; 2]], mut to: PerThread<f64>) {
    to.each_with((latitudes, longitudes), |_, to, (latitudes, longitudes)| {
        let [from, target] = [0, 1].map(|k| Place {
            latitude: latitudes[k],
            longitude: longitudes[k],
        });
        *to = vincenty(from, target).unwrap_or(f64::NAN);
    });
}

/// The distances of pairs of places.
#[kernel]
pub unsafe fn vincenty_raw(latitudes: *const f64, longitudes: *const f64, to: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (sin1, cos1) = ((1.0 - FLATTENING) * (*latitudes.add(2 * i)).tan())
        .atan()
        .sin_cos();
    let (sin2, cos2) = ((1.0 - FLATTENING) * (*latitudes.add(2 * i + 1)).tan())
        .atan()
        .sin_cos();
    let difference = *longitudes.add(2 * i + 1) - *longitudes.add(2 * i);
    let mut lambda = difference;
    let mut distance = f64::NAN;
    for _ in 0..40 {
        let (sin_lambda, cos_lambda) = lambda.sin_cos();
        let sin_sigma = (cos2 * sin_lambda).hypot(cos1 * sin2 - sin1 * cos2 * cos_lambda);
        if sin_sigma == 0.0 {
            distance = 0.0;
            break;
        }
        let cos_sigma = sin1 * sin2 + cos1 * cos2 * cos_lambda;
        let sigma = sin_sigma.atan2(cos_sigma);
        let sin_alpha = cos1 * cos2 * sin_lambda / sin_sigma;
        let cos2_alpha = 1.0 - sin_alpha * sin_alpha;
        let cos_2m = if cos2_alpha == 0.0 {
            0.0
        } else {
            cos_sigma - 2.0 * sin1 * sin2 / cos2_alpha
        };
        let c = FLATTENING / 16.0 * cos2_alpha * (4.0 + FLATTENING * (4.0 - 3.0 * cos2_alpha));
        let square = 2.0 * cos_2m * cos_2m - 1.0;
        let inner = cos_2m + c * cos_sigma * square;
        let next =
            difference + (1.0 - c) * FLATTENING * sin_alpha * (sigma + c * sin_sigma * inner);
        let change = (next - lambda).abs();
        lambda = next;
        if change < 1e-11 {
            let u2 = cos2_alpha * (EQUATORIAL * EQUATORIAL / (POLAR * POLAR) - 1.0);
            let a = 1.0 + u2 / 16384.0 * (4096.0 + u2 * (-768.0 + u2 * (320.0 - 175.0 * u2)));
            let b = u2 / 1024.0 * (256.0 + u2 * (-128.0 + u2 * (74.0 - 47.0 * u2)));
            let last =
                b / 6.0 * cos_2m * (4.0 * sin_sigma * sin_sigma - 3.0) * (2.0 * square - 1.0);
            let delta = b * sin_sigma * (cos_2m + b / 4.0 * (cos_sigma * square - last));
            distance = POLAR * a * (sigma - delta);
            break;
        }
    }
    *to.add(i) = distance;
}

// ---------------------------------------------------------------------------------------------
// polar_rotation

impl<T: Copy + Add<Output = T>, const R: usize, const C: usize> Add for Matrix<T, R, C> {
    type Output = Self;
    fn add(mut self, other: Self) -> Self {
        for (row, other) in self.0.iter_mut().zip(other.0) {
            for (to, x) in row.iter_mut().zip(other) {
                *to = *to + x;
            }
        }
        self
    }
}

impl<const R: usize, const C: usize> Matrix<f32, R, C> {
    fn scaled(self, factor: f32) -> Self {
        Matrix(self.0.map(|row| row.map(|x| factor * x)))
    }

    fn transposed(self) -> Matrix<f32, C, R> {
        Matrix(core::array::from_fn(|c| {
            core::array::from_fn(|r| self.0[r][c])
        }))
    }

    fn norm_squared(&self) -> f32 {
        self.0.as_flattened().iter().map(|x| x * x).sum()
    }
}

impl Matrix<f32, 3, 3> {
    fn cofactors(&self) -> Self {
        let m = &self.0;
        Matrix(core::array::from_fn(|r| {
            let (r1, r2) = ((r + 1) % 3, (r + 2) % 3);
            core::array::from_fn(|c| {
                let (c1, c2) = ((c + 1) % 3, (c + 2) % 3);
                m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]
            })
        }))
    }

    /// The inverse, if there is one.
    fn inverse(&self) -> Option<Self> {
        let cofactors = self.cofactors();
        let determinant: f32 = self.0[0]
            .iter()
            .zip(cofactors.0[0])
            .map(|(a, b)| a * b)
            .sum();
        (determinant.abs() > 1e-12).then(|| cofactors.transposed().scaled(1.0 / determinant))
    }

    /// The rotation of the polar decomposition, by Newton's iteration.
    fn rotation(self) -> Option<Self> {
        let mut x = self;
        for _ in 0..20 {
            let next = (x + x.inverse()?.transposed()).scaled(0.5);
            let change = next + x.scaled(-1.0);
            x = next;
            if change.norm_squared() < 1e-9 {
                break;
            }
        }
        Some(x)
    }
}

/// The rotation in each deformation.
#[kernel]
pub fn polar_rotation_safe(deformations: &[[[f32; 3]; 3]], mut to: PerThread<[[f32; 3]; 3]>) {
    to.each_with(deformations, |_, to, &deformation| {
        *to = match Matrix(deformation).rotation() {
            Some(rotation) => rotation.0,
            None => [[0.0; 3]; 3],
        };
    });
}

/// The rotation in each deformation.
#[kernel]
pub unsafe fn polar_rotation_raw(deformations: *const f32, to: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut x = [0.0f32; 9];
    for k in 0..9 {
        x[k] = *deformations.add(9 * i + k);
    }
    for _ in 0..20 {
        let c = [
            x[4] * x[8] - x[5] * x[7],
            x[5] * x[6] - x[3] * x[8],
            x[3] * x[7] - x[4] * x[6],
            x[7] * x[2] - x[8] * x[1],
            x[8] * x[0] - x[6] * x[2],
            x[6] * x[1] - x[7] * x[0],
            x[1] * x[5] - x[2] * x[4],
            x[2] * x[3] - x[0] * x[5],
            x[0] * x[4] - x[1] * x[3],
        ];
        let determinant = x[0] * c[0] + x[1] * c[1] + x[2] * c[2];
        if !(determinant.abs() > 1e-12) {
            x = [0.0; 9];
            break;
        }
        let factor = 1.0 / determinant;
        let mut change = 0.0;
        for k in 0..9 {
            let next = 0.5 * (x[k] + factor * c[k]);
            change += (next - x[k]) * (next - x[k]);
            x[k] = next;
        }
        if change < 1e-9 {
            break;
        }
    }
    for k in 0..9 {
        *to.add(9 * i + k) = x[k];
    }
}

// ---------------------------------------------------------------------------------------------
// dyn_quantile

/// A distribution whose quantiles can be computed.
trait Quantile {
    /// The value that is not exceeded with probability `p`.
    fn quantile(&self, p: f32) -> f32;
}

struct Exponential {
    rate: f32,
}

struct Logistic {
    mean: f32,
    scale: f32,
}

struct Weibull {
    shape: f32,
    scale: f32,
}

struct Normal {
    mean: f32,
    deviation: f32,
}

impl Quantile for Exponential {
    fn quantile(&self, p: f32) -> f32 {
        -(1.0 - p).ln() / self.rate
    }
}

impl Quantile for Logistic {
    fn quantile(&self, p: f32) -> f32 {
        self.mean + self.scale * (p / (1.0 - p)).ln()
    }
}

impl Quantile for Weibull {
    fn quantile(&self, p: f32) -> f32 {
        self.scale * (-(1.0 - p).ln()).powf(1.0 / self.shape)
    }
}

fn normal_quantile(p: f32) -> f32 {
    // Abramowitz and Stegun, 26.2.23.
    let tail = p.min(1.0 - p);
    let t = (-2.0 * tail.ln()).sqrt();
    let z = t
        - ((0.010328 * t + 0.802853) * t + 2.515517)
            / (((0.001308 * t + 0.189269) * t + 1.432788) * t + 1.0);
    if p < 0.5 { -z } else { z }
}

impl Quantile for Normal {
    fn quantile(&self, p: f32) -> f32 {
        self.mean + self.deviation * normal_quantile(p)
    }
}

/// The mean of a stratified sample of each distribution.
#[kernel]
pub fn dyn_quantile_safe(
    kinds: &[u8],
    parameters: &[[f32; 2]],
    strata: u32,
    mut to: PerThread<f32>,
) {
    to.each_with((kinds, parameters), |_, to, (&kind, &[a, b])| {
        let distribution: &dyn Quantile = match kind {
            0 => &Exponential { rate: a },
            1 => &Logistic { mean: a, scale: b },
            2 => &Weibull { shape: a, scale: b },
            _ => &Normal {
                mean: a,
                deviation: b,
            },
        };
        let sum: f32 = (0..strata)
            .map(|k| (k as f32 + 0.5) / strata as f32)
            .map(|p| distribution.quantile(p))
            .sum();
        *to = sum / strata as f32;
    });
}

/// The mean of a stratified sample of each distribution.
#[kernel]
pub unsafe fn dyn_quantile_raw(
    kinds: *const u8,
    parameters: *const f32,
    strata: u32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let kind = *kinds.add(i);
    let (a, b) = (*parameters.add(2 * i), *parameters.add(2 * i + 1));
    let mut sum = 0.0;
    for k in 0..strata {
        let p = (k as f32 + 0.5) / strata as f32;
        sum += match kind {
            0 => -(1.0 - p).ln() / a,
            1 => a + b * (p / (1.0 - p)).ln(),
            2 => b * (-(1.0 - p).ln()).powf(1.0 / a),
            _ => a + b * normal_quantile(p),
        };
    }
    *to.add(i) = sum / strata as f32;
}

// ---------------------------------------------------------------------------------------------
// blend_layers

/// How a layer of an image is combined with those below.
#[derive(Clone, Copy)]
enum Blend {
    Normal,
    Multiply,
    Screen,
    Overlay,
    Difference,
    Lighten,
}

fn mul255(a: u8, b: u8) -> u8 {
    let product = u32::from(a) * u32::from(b) + 128;
    ((product + (product >> 8)) >> 8) as u8
}

impl Blend {
    fn from_code(code: u8) -> Option<Blend> {
        Some(match code {
            0 => Blend::Normal,
            1 => Blend::Multiply,
            2 => Blend::Screen,
            3 => Blend::Overlay,
            4 => Blend::Difference,
            5 => Blend::Lighten,
            _ => return None,
        })
    }

    fn channel(self, below: u8, above: u8) -> u8 {
        match self {
            Blend::Normal => above,
            Blend::Multiply => mul255(below, above),
            Blend::Screen => !mul255(!below, !above),
            Blend::Overlay if below < 128 => mul255(2 * below, above),
            Blend::Overlay => !mul255(2 * !below, !above),
            Blend::Difference => below.abs_diff(above),
            Blend::Lighten => below.max(above),
        }
    }

    /// Puts a pixel on top of another one.
    fn pixel(self, below: [u8; 4], above: [u8; 4], opacity: u8) -> [u8; 4] {
        let alpha = mul255(above[3], opacity);
        let mut mixed = below;
        for ((to, &below), &above) in mixed.iter_mut().zip(&below).zip(&above).take(3) {
            *to = mul255(below, !alpha).saturating_add(mul255(self.channel(below, above), alpha));
        }
        mixed
    }
}

/// Combines the layers of an image. Each is an image in `layers`.
#[kernel]
pub fn blend_layers_safe(
    layers: &[[u8; 4]],
    blends: &[u8],
    opacities: &[u8],
    mut to: PerThread2d<[u8; 4]>,
) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let mut pixel = [255; 4];
        let images = layers.chunks_exact(width * height);
        for ((image, &blend), &opacity) in images.zip(blends).zip(opacities) {
            let Some(blend) = Blend::from_code(blend) else {
                continue;
            };
            pixel = blend.pixel(pixel, image[y * width + x], opacity);
        }
        *to = pixel;
    });
}

/// Combines the layers of an image.
#[kernel]
pub unsafe fn blend_layers_raw(
    layers: *const u32,
    blends: *const u8,
    opacities: *const u8,
    count: usize,
    to: *mut u32,
    width: usize,
    height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let i = y * width + x;
    let mut pixel = [255u8; 4];
    for l in 0..count {
        let above = (*layers.add(l * width * height + i)).to_le_bytes();
        let blend = *blends.add(l);
        if blend > 5 {
            continue;
        }
        let alpha = mul255(above[3], *opacities.add(l));
        for c in 0..3 {
            let (below, above) = (pixel[c], above[c]);
            let mixed = match blend {
                0 => above,
                1 => mul255(below, above),
                2 => 255 - mul255(255 - below, 255 - above),
                3 if below < 128 => mul255(2 * below, above),
                3 => 255 - mul255(2 * (255 - below), 255 - above),
                4 => below.abs_diff(above),
                _ => below.max(above),
            };
            let sum = mul255(below, 255 - alpha) as u32 + mul255(mixed, alpha) as u32;
            pixel[c] = sum.min(255) as u8;
        }
    }
    *to.add(i) = u32::from_le_bytes(pixel);
}

// ---------------------------------------------------------------------------------------------
// local_peaks3d

/// Marks the voxels that are above a threshold and above all their neighbors.
#[kernel(block_size(8, 8, 4))]
pub fn local_peaks3d_safe(volume: &[f32], threshold: f32, mut to: PerThread3d<u8>) {
    let (width, height, depth) = (to.width(), to.height(), to.depth());
    let at = |x: usize, y: usize, z: usize| {
        (x < width && y < height && z < depth).then(|| volume[(z * height + y) * width + x])
    };
    let around = |i: usize| [i.wrapping_sub(1), i, i + 1].into_iter();
    to.each(|(x, y, z), to| {
        let here = volume[(z * height + y) * width + x];
        let is_peak = here > threshold
            && around(z)
                .flat_map(|z| around(y).map(move |y| (y, z)))
                .flat_map(|(y, z)| around(x).map(move |x| (x, y, z)))
                .filter(|&neighbor| neighbor != (x, y, z))
                .filter_map(|(x, y, z)| at(x, y, z))
                .all(|neighbor| neighbor < here);
        *to = u8::from(is_peak);
    });
}

/// Marks the voxels that are above a threshold and above all their neighbors.
#[kernel(block_size(8, 8, 4))]
pub unsafe fn local_peaks3d_raw(
    volume: *const f32,
    threshold: f32,
    to: *mut u8,
    width: u32,
    height: u32,
    depth: u32,
) {
    let at = thread::index_3d();
    if at.x >= width || at.y >= height || at.z >= depth {
        return;
    }
    let (width, height, depth) = (width as i32, height as i32, depth as i32);
    let (x, y, z) = (at.x as i32, at.y as i32, at.z as i32);
    let i = ((z * height + y) * width + x) as usize;
    let here = *volume.add(i);
    let mut is_peak = here > threshold;
    if is_peak {
        'search: for nz in (z - 1).max(0)..(z + 2).min(depth) {
            for ny in (y - 1).max(0)..(y + 2).min(height) {
                for nx in (x - 1).max(0)..(x + 2).min(width) {
                    if (nx != x || ny != y || nz != z)
                        && !(*volume.add(((nz * height + ny) * width + nx) as usize) < here)
                    {
                        is_peak = false;
                        break 'search;
                    }
                }
            }
        }
    }
    *to.add(i) = is_peak as u8;
}

// ---------------------------------------------------------------------------------------------
// allen_cahn3d

/// A volume whose opposite faces touch.
struct Torus<'a> {
    cells: &'a [f32],
    size: [usize; 3],
}

impl Torus<'_> {
    fn shifted(&self, axis: usize, i: usize, by: isize) -> usize {
        let n = self.size[axis];
        match by {
            -1 if i == 0 => n - 1,
            -1 => i - 1,
            1 if i + 1 == n => 0,
            1 => i + 1,
            _ => i,
        }
    }

    fn neighbor(&self, [x, y, z]: [usize; 3], [dx, dy, dz]: [isize; 3]) -> f32 {
        let (x, y, z) = (
            self.shifted(0, x, dx),
            self.shifted(1, y, dy),
            self.shifted(2, z, dz),
        );
        self.cells[(z * self.size[1] + y) * self.size[0] + x]
    }

    /// The Laplacian of 19 points.
    fn laplacian(&self, at: [usize; 3]) -> f32 {
        let mut sum = -4.0 * self.neighbor(at, [0; 3]);
        for dz in -1isize..=1 {
            for dy in -1isize..=1 {
                for dx in -1isize..=1 {
                    let weight = match dx.abs() + dy.abs() + dz.abs() {
                        1 => 1.0 / 3.0,
                        2 => 1.0 / 6.0,
                        _ => continue,
                    };
                    sum += weight * self.neighbor(at, [dx, dy, dz]);
                }
            }
        }
        sum
    }
}

/// A step of phase separation.
#[kernel(block_size(32, 8))]
pub fn allen_cahn3d_safe(phase: &[f32], dt: f32, width: f32, mut to: PerThread3d<f32>) {
    let torus = Torus {
        cells: phase,
        size: [to.width(), to.height(), to.depth()],
    };
    to.each(|(x, y, z), to| {
        let at = [x, y, z];
        let u = torus.neighbor(at, [0; 3]);
        *to = u + dt * (width * torus.laplacian(at) + u - u * u * u);
    });
}

/// A step of phase separation.
#[kernel(block_size(32, 8))]
pub unsafe fn allen_cahn3d_raw(
    phase: *const f32,
    dt: f32,
    width: f32,
    to: *mut f32,
    nx: u32,
    ny: u32,
    nz: u32,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x, at.y);
    if x >= nx || y >= ny {
        return;
    }
    let xs = [
        if x == 0 { nx - 1 } else { x - 1 },
        x,
        if x + 1 == nx { 0 } else { x + 1 },
    ];
    let ys = [
        if y == 0 { ny - 1 } else { y - 1 },
        y,
        if y + 1 == ny { 0 } else { y + 1 },
    ];
    for z in 0..nz {
        let zs = [
            if z == 0 { nz - 1 } else { z - 1 },
            z,
            if z + 1 == nz { 0 } else { z + 1 },
        ];
        let i = ((z * ny + y) * nx + x) as usize;
        let u = *phase.add(i);
        let mut sum = -4.0 * u;
        for k in 0..3 {
            for j in 0..3 {
                for i in 0..3 {
                    let distance = (i != 1) as u32 + (j != 1) as u32 + (k != 1) as u32;
                    if distance == 1 || distance == 2 {
                        let weight = if distance == 1 { 1.0 / 3.0 } else { 1.0 / 6.0 };
                        sum += weight * *phase.add(((zs[k] * ny + ys[j]) * nx + xs[i]) as usize);
                    }
                }
            }
        }
        *to.add(i) = u + dt * (width * sum + u - u * u * u);
    }
}

// ---------------------------------------------------------------------------------------------
// image_charges

/// A point charge.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
pub struct Charge {
    /// The position.
    pub at: [f32; 3],
    /// The charge.
    pub charge: f32,
}

impl Charge {
    /// The potential of this charge's image, if it is near enough.
    fn potential(&self, at: [f32; 3], shift: [f32; 3], cutoff: f32) -> Option<f32> {
        let distance: f32 = (0..3)
            .map(|k| self.at[k] + shift[k] - at[k])
            .map(|d| d * d)
            .sum();
        (distance < cutoff * cutoff)
            .then(|| self.charge * ((distance + 1e-4).rsqrt() - 1.0 / cutoff))
    }
}

/// The potential of periodic charges at each point.
#[kernel]
pub fn image_charges_safe(
    charges: &[Charge],
    cell: f32,
    cutoff: f32,
    points: &[[f32; 3]],
    mut to: PerThread<f32>,
) {
    let steps = || [-cell, 0.0, cell].into_iter();
    to.each_with(points, |_, to, &at| {
        let shifts =
            steps().flat_map(|x| steps().flat_map(move |y| steps().map(move |z| [x, y, z])));
        *to = shifts
            .map(|shift| {
                charges
                    .iter()
                    .filter_map(|c| c.potential(at, shift, cutoff))
                    .sum::<f32>()
            })
            .sum();
    });
}

/// The potential of periodic charges at each point.
#[kernel]
pub unsafe fn image_charges_raw(
    charges: *const [f32; 4],
    count: usize,
    cell: f32,
    cutoff: f32,
    points: *const f32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (px, py, pz) = (
        *points.add(3 * i),
        *points.add(3 * i + 1),
        *points.add(3 * i + 2),
    );
    let mut sum = 0.0;
    for ix in -1..2 {
        for iy in -1..2 {
            for iz in -1..2 {
                for k in 0..count {
                    let [x, y, z, charge] = *charges.add(k);
                    let dx = x + ix as f32 * cell - px;
                    let dy = y + iy as f32 * cell - py;
                    let dz = z + iz as f32 * cell - pz;
                    let distance = dx * dx + dy * dy + dz * dz;
                    if distance < cutoff * cutoff {
                        sum += charge * ((distance + 1e-4).rsqrt() - 1.0 / cutoff);
                    }
                }
            }
        }
    }
    *to.add(i) = sum;
}

// ---------------------------------------------------------------------------------------------
// kummer

/// The confluent hypergeometric function ₁F₁(a; b; x), by its series.
fn kummer(a: f64, b: f64, x: f64) -> f64 {
    (0..1000)
        .map(f64::from)
        .scan(1.0, |next, k| {
            let term = *next;
            *next *= (a + k) / (b + k) * x / (k + 1.0);
            Some(term)
        })
        .take_while(|term| term.abs() > 1e-15)
        .sum()
}

/// Kummer's function of each triple of arguments.
#[kernel]
pub fn kummer_safe(a: &[f64], b: &[f64], x: &[f64], mut to: PerThread<f64>) {
    to.each_with((a, b, x), |_, to, (&a, &b, &x)| *to = kummer(a, b, x));
}

/// Kummer's function of each triple of arguments.
#[kernel]
pub unsafe fn kummer_raw(a: *const f64, b: *const f64, x: *const f64, to: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (a, b, x) = (*a.add(i), *b.add(i), *x.add(i));
    let mut sum = 0.0;
    let mut term = 1.0f64;
    for k in 0..1000 {
        if term.abs() <= 1e-15 {
            break;
        }
        sum += term;
        let k = k as f64;
        term *= (a + k) / (b + k) * x / (k + 1.0);
    }
    *to.add(i) = sum;
}

// ---------------------------------------------------------------------------------------------
// ordinal_patterns

/// The number of the order in which a window's elements are: the Lehmer code.
fn order_of(window: &[u16]) -> usize {
    window.iter().enumerate().fold(0, |code, (k, x)| {
        let smaller = window[k + 1..].iter().filter(|y| *y < x).count();
        code * (window.len() - k) + smaller
    })
}

/// The entropy of the orders of four neighboring samples, of each series.
#[kernel(block_size(128))]
pub fn ordinal_patterns_safe(samples: &[u16], len: usize, mut to: PerThread<f32>) {
    to.each(|i, to| {
        let series = &samples[i * len..][..len];
        let mut counts = [0u32; 24];
        for window in series.windows(4) {
            counts[order_of(window)] += 1;
        }
        let total = (len - 3) as f32;
        *to = counts
            .iter()
            .filter(|&&count| count > 0)
            .map(|&count| count as f32 / total)
            .map(|p| -p * p.ln())
            .sum();
    });
}

/// The entropy of the orders of four neighboring samples, of each series.
#[kernel(block_size(128))]
pub unsafe fn ordinal_patterns_raw(samples: *const u16, len: usize, to: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let series = samples.add(i * len);
    let mut counts = [0u32; 24];
    for k in 0..len - 3 {
        let (a, b) = (*series.add(k), *series.add(k + 1));
        let (c, d) = (*series.add(k + 2), *series.add(k + 3));
        let first = (b < a) as usize + (c < a) as usize + (d < a) as usize;
        let second = (c < b) as usize + (d < b) as usize;
        counts[(first * 3 + second) * 2 + (d < c) as usize] += 1;
    }
    let mut entropy = 0.0;
    for k in 0..24 {
        if counts[k] > 0 {
            let p = counts[k] as f32 / (len - 3) as f32;
            entropy -= p * p.ln();
        }
    }
    *to.add(i) = entropy;
}

// ---------------------------------------------------------------------------------------------
// interval_overlap

/// Intervals of time in their order.
#[derive(Clone, Copy)]
struct Calendar<'a> {
    starts: &'a [i64],
    ends: &'a [i64],
}

impl<'a> Calendar<'a> {
    fn part(self, offsets: &[u32], i: usize) -> Calendar<'a> {
        let range = offsets[i] as usize..offsets[i + 1] as usize;
        Calendar {
            starts: &self.starts[range.clone()],
            ends: &self.ends[range],
        }
    }

    /// Returns the first interval and the others.
    fn split_first(self) -> Option<((i64, i64), Calendar<'a>)> {
        let (&start, starts) = self.starts.split_first()?;
        let (&end, ends) = self.ends.split_first()?;
        Some(((start, end), Calendar { starts, ends }))
    }

    /// The time that is in both calendars.
    fn overlap(self, other: Calendar<'_>) -> i64 {
        let (mut a, mut b) = (self, other);
        let mut total = 0;
        while let (Some((first, rest_a)), Some((second, rest_b))) =
            (a.split_first(), b.split_first())
        {
            total += (first.1.min(second.1) - first.0.max(second.0)).max(0);
            if first.1 <= second.1 {
                a = rest_a;
            } else {
                b = rest_b;
            }
        }
        total
    }
}

/// The time that two persons have in common, for each pair.
#[kernel]
pub fn interval_overlap_safe(
    starts: &[i64],
    ends: &[i64],
    offsets: &[u32],
    pairs: &[[u32; 2]],
    mut to: PerThread<i64>,
) {
    let all = Calendar { starts, ends };
    to.each_with(pairs, |_, to, &[a, b]| {
        *to = all
            .part(offsets, a as usize)
            .overlap(all.part(offsets, b as usize));
    });
}

/// The time that two persons have in common, for each pair.
#[kernel]
pub unsafe fn interval_overlap_raw(
    starts: *const i64,
    ends: *const i64,
    offsets: *const u32,
    pairs: *const u32,
    to: *mut i64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (p, q) = (*pairs.add(2 * i) as usize, *pairs.add(2 * i + 1) as usize);
    let (mut a, a_end) = (*offsets.add(p) as usize, *offsets.add(p + 1) as usize);
    let (mut b, b_end) = (*offsets.add(q) as usize, *offsets.add(q + 1) as usize);
    let mut total = 0;
    while a < a_end && b < b_end {
        let (first, second) = (*ends.add(a), *ends.add(b));
        let shared = first.min(second) - (*starts.add(a)).max(*starts.add(b));
        if shared > 0 {
            total += shared;
        }
        if first <= second {
            a += 1;
        } else {
            b += 1;
        }
    }
    *to.add(i) = total;
}

// ---------------------------------------------------------------------------------------------
// aliquot

/// The sum of the divisors of `n` that are less than `n`.
pub fn aliquot_sum(n: u32) -> u32 {
    if n < 2 {
        return 0;
    }
    1 + (2..)
        .take_while(|d| d * d <= n)
        .filter(|d| n.is_multiple_of(*d))
        .map(|d| match n / d {
            other if other == d => d,
            other => d + other,
        })
        .sum::<u32>()
}

/// The sums of divisors of consecutive numbers. The grid is fixed.
#[kernel(block_size(256))]
pub fn aliquot_safe(first: u32, mut to: PerThread<u32>) {
    for (i, to) in to.own() {
        *to = aliquot_sum(first + i as u32);
    }
}

/// The sums of divisors of consecutive numbers. The grid is fixed.
#[kernel(block_size(256))]
pub unsafe fn aliquot_raw(first: u32, to: *mut u32, n: u32) {
    let stride = thread::grid_dim_x() * 256;
    let mut i = thread::index_1d();
    while i < n {
        let number = first + i;
        let mut sum = (number >= 2) as u32;
        let mut d = 2;
        while d * d <= number {
            if number % d == 0 {
                sum += d;
                if number / d != d {
                    sum += number / d;
                }
            }
            d += 1;
        }
        *to.add(i as usize) = sum;
        i += stride;
    }
}

// ---------------------------------------------------------------------------------------------
// sessionize

/// Numbers the sessions of each user: a pause that is longer than the limit begins another one. A
/// block for each user.
#[kernel(block_size(256))]
pub fn sessionize_safe(times: &[i64], limit: i64, mut sessions: PerBlockRow<u32>) {
    let block = group::block();
    for mut row in sessions.rows() {
        let times = &times[row.y() * row.len()..][..row.len()];
        let begins = |i: usize| match times.get(i.wrapping_sub(1)..=i) {
            Some([before, now]) => now - before > limit,
            _ => false,
        };
        let mut so_far = 0;
        let mut outputs = row.own();
        for start in (0..times.len()).step_by(256) {
            let begins = begins(start + block.rank() as usize);
            let (earlier, all) = block.exclusive_count(begins);
            if let Some((_, session)) = outputs.next() {
                *session = so_far + earlier + u32::from(begins);
            }
            so_far += all;
        }
    }
}

/// Numbers the sessions of each user: a block for each user.
#[kernel(block_size(256))]
pub unsafe fn sessionize_raw(times: *const i64, limit: i64, sessions: *mut u32, width: usize) {
    let counts = shared_array![u32; 8];
    let t = thread::thread_idx_x() as usize;
    let row = thread::block_idx_x() as usize * width;
    let mut so_far = 0;
    let mut start = 0;
    while start < width {
        let i = start + t;
        let begins = i > 0 && i < width && *times.add(row + i) - *times.add(row + i - 1) > limit;
        let ballot = warp::ballot(warp::FULL, begins);
        if t % 32 == 0 {
            *counts.add(t / 32) = ballot.count_ones();
        }
        thread::sync_threads();
        let mut number = so_far + (ballot & warp::lanes_up_to()).count_ones();
        for w in 0..8 {
            if w < t / 32 {
                number += *counts.add(w);
            }
            so_far += *counts.add(w);
        }
        if i < width {
            *sessions.add(row + i) = number;
        }
        thread::sync_threads();
        start += 256;
    }
}

// ---------------------------------------------------------------------------------------------
// ransac_line

/// Points of a set.
pub const SET: usize = 512;

/// A line `a x + b y + c = 0`, with a normal of length one.
#[derive(Clone, Copy, Default, AnyBits)]
struct Line {
    a: f32,
    b: f32,
    c: f32,
}

impl Line {
    fn through([px, py]: [f32; 2], [qx, qy]: [f32; 2]) -> Option<Line> {
        let (dx, dy) = (qx - px, qy - py);
        let length = (dx * dx + dy * dy).sqrt();
        if length < 1e-6 {
            return None;
        }
        let (a, b) = (-dy / length, dx / length);
        Some(Line {
            a,
            b,
            c: -(a * px + b * py),
        })
    }

    fn distance(&self, [x, y]: [f32; 2]) -> f32 {
        (self.a * x + self.b * y + self.c).abs()
    }
}

/// A line and how many points are near it.
#[derive(Clone, Copy, Default, AnyBits)]
struct Fit {
    line: Line,
    inliers: u32,
}

fn pick(set: usize, draw: u32) -> usize {
    let mut x = (set as u32).wrapping_mul(0x9e37_79b9) ^ draw.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x as usize % SET
}

/// The line near which most points of each set are, among a random one of each thread.
#[kernel(block_size(256))]
pub fn ransac_line_safe(
    #[shared] mut shared: Shared<Array<[f32; 2], SET>>,
    points: &[[f32; 2]],
    tolerance: f32,
    mut to: PerBlock<[f32; 4]>,
) {
    for mut best in to.pieces() {
        let set = best.start();
        let own = &points[set * SET..][..SET];
        shared.own().each(|i, point| *point = own[i]);
        let fit = shared.read(|points| {
            let draw = 2 * thread::index_in_block();
            let line = Line::through(points[pick(set, draw)], points[pick(set, draw + 1)]);
            let fit = line.map(|line| Fit {
                line,
                inliers: points
                    .iter()
                    .filter(|point| line.distance(**point) < tolerance)
                    .count() as u32,
            });
            group::block().reduce(fit.unwrap_or_default(), |a, b| {
                if b.inliers > a.inliers { b } else { a }
            })
        });
        best.each(|_, to| *to = [fit.line.a, fit.line.b, fit.line.c, fit.inliers as f32]);
    }
}

/// The line near which most points of each set are, among a random one of each thread.
#[kernel(block_size(256))]
pub unsafe fn ransac_line_raw(points: *const [f32; 2], tolerance: f32, to: *mut f32) {
    let shared = shared_array![[f32; 2]; SET];
    let keys = shared_array![u32; 8];
    let set = thread::block_idx_x() as usize;
    let t = thread::thread_idx_x();
    for k in [t as usize, t as usize + 256] {
        *shared.add(k) = *points.add(set * SET + k);
    }
    thread::sync_threads();
    let [px, py] = *shared.add(pick(set, 2 * t));
    let [qx, qy] = *shared.add(pick(set, 2 * t + 1));
    let (dx, dy) = (qx - px, qy - py);
    let length = (dx * dx + dy * dy).sqrt();
    let (mut a, mut b, mut c) = (0.0, 0.0, 0.0);
    let mut inliers = 0;
    if length >= 1e-6 {
        a = -dy / length;
        b = dx / length;
        c = -(a * px + b * py);
        for k in 0..SET {
            let [x, y] = *shared.add(k);
            if (a * x + b * y + c).abs() < tolerance {
                inliers += 1;
            }
        }
    }
    let key = inliers << 8 | (255 - t);
    let mut best = warp::reduce_max(warp::FULL, key);
    if t % 32 == 0 {
        *keys.add(t as usize / 32) = best;
    }
    thread::sync_threads();
    for w in 0..8 {
        best = best.max(*keys.add(w));
    }
    if key == best {
        let to = to.add(4 * set);
        *to = a;
        *to.add(1) = b;
        *to.add(2) = c;
        *to.add(3) = inliers as f32;
    }
}

// ---------------------------------------------------------------------------------------------
// hausdorff

fn distance_squared(a: [f32; 3], b: [f32; 3]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// How far a point of `from` is from `to` at most, for each pair of sets: a block for each pair and
/// a thread for each point of `from`.
#[kernel(block_size(256))]
pub fn hausdorff_safe(
    #[shared] mut shared: Shared<Array<[f32; 3], 256>>,
    from: &[[f32; 3]],
    from_len: usize,
    to: &[[f32; 3]],
    to_len: usize,
    mut distances: PerBlock<f32>,
) {
    for mut distance in distances.pieces() {
        let pair = distance.start();
        let own = from
            .chunks(from_len)
            .nth(pair)
            .and_then(|set| set.get(thread::index_in_block() as usize));
        let mut nearest = f32::INFINITY;
        for tile in to[pair * to_len..][..to_len].chunks(256) {
            shared
                .own()
                .each(|i, point| *point = tile.get(i).copied().unwrap_or([f32::INFINITY; 3]));
            shared.read(|tile| {
                if let Some(own) = own {
                    nearest = tile
                        .iter()
                        .map(|&point| distance_squared(*own, point))
                        .fold(nearest, f32::min);
                }
            });
        }
        let nearest = own.map_or(0.0, |_| nearest);
        let farthest = group::block().reduce(nearest, f32::max);
        distance.each(|_, to| *to = farthest.sqrt());
    }
}

/// How far a point of `from` is from `to` at most, for each pair of sets.
#[kernel(block_size(256))]
pub unsafe fn hausdorff_raw(
    from: *const f32,
    from_len: usize,
    to: *const f32,
    to_len: usize,
    distances: *mut f32,
) {
    let tile = shared_array![[f32; 3]; 256];
    let maxima = shared_array![f32; 8];
    let t = thread::thread_idx_x() as usize;
    let pair = thread::block_idx_x() as usize;
    let (mut x, mut y, mut z) = (0.0, 0.0, 0.0);
    if t < from_len {
        let own = from.add(3 * (pair * from_len + t));
        x = *own;
        y = *own.add(1);
        z = *own.add(2);
    }
    let mut nearest = f32::INFINITY;
    let mut start = 0;
    while start < to_len {
        if start + t < to_len {
            let other = to.add(3 * (pair * to_len + start + t));
            *tile.add(t) = [*other, *other.add(1), *other.add(2)];
        } else {
            *tile.add(t) = [f32::INFINITY; 3];
        }
        thread::sync_threads();
        for k in 0..256 {
            let [ox, oy, oz] = *tile.add(k);
            let (dx, dy, dz) = (ox - x, oy - y, oz - z);
            nearest = nearest.min(dx * dx + dy * dy + dz * dz);
        }
        thread::sync_threads();
        start += 256;
    }
    if t >= from_len {
        nearest = 0.0;
    }
    let mut distance = 16;
    while distance > 0 {
        nearest = nearest.max(warp::shuffle_xor(warp::FULL, nearest, distance));
        distance /= 2;
    }
    if t % 32 == 0 {
        *maxima.add(t / 32) = nearest;
    }
    thread::sync_threads();
    if t == 0 {
        for w in 1..8 {
            nearest = nearest.max(*maxima.add(w));
        }
        *distances.add(pair) = nearest.sqrt();
    }
}

// ---------------------------------------------------------------------------------------------
// ssim_blocks

/// Sums over pairs of pixels.
#[derive(Clone, Copy, Default, AnyBits)]
struct PairSums {
    a: u32,
    b: u32,
    squares: u32,
    product: u32,
}

impl PairSums {
    fn of_pixels(a: [u8; 4], b: [u8; 4]) -> PairSums {
        a.into_iter()
            .zip(b)
            .map(|(a, b)| (u32::from(a), u32::from(b)))
            .fold(PairSums::default(), |sums, (a, b)| {
                sums + PairSums {
                    a,
                    b,
                    squares: a * a + b * b,
                    product: a * b,
                }
            })
    }

    fn similarity(self) -> f32 {
        let [a, b, squares, product] =
            [self.a, self.b, self.squares, self.product].map(|sum| sum as f32 / 64.0);
        let (c1, c2) = (6.5025, 58.5225);
        let covariance = product - a * b;
        let variances = squares - a * a - b * b;
        (2.0 * a * b + c1) * (2.0 * covariance + c2) / ((a * a + b * b + c1) * (variances + c2))
    }
}

impl Add for PairSums {
    type Output = PairSums;
    fn add(self, other: PairSums) -> PairSums {
        PairSums {
            a: self.a + other.a,
            b: self.b + other.b,
            squares: self.squares + other.squares,
            product: self.product + other.product,
        }
    }
}

/// The structural similarity of each 8 by 8 pixels of two images. 16 lanes have a block of pixels.
#[kernel(block_size(256))]
pub fn ssim_blocks_safe(
    first: &[[u8; 4]],
    second: &[[u8; 4]],
    width: usize,
    mut to: PerWarp<f32, 2>,
) {
    let per_row = width / 8;
    let pitch = width / 4;
    let half = group::tile::<16>();
    for mut pair in to.pieces() {
        let lane = thread::lane_id() as usize;
        let number = pair.start() + lane / 16;
        let sums = if number < pair.start() + pair.len() {
            let (x, y) = (number % per_row, number / per_row);
            let at = (8 * y + lane % 16 / 2) * pitch + 2 * x + lane % 2;
            PairSums::of_pixels(first[at], second[at])
        } else {
            PairSums::default()
        };
        let similarity = half.reduce(sums, PairSums::add).similarity();
        // Lanes 0 and 1 own the results.
        let similarity = group::warp().shuffle(similarity, 16 * (lane as u32 % 2));
        pair.each(|_, to| *to = similarity);
    }
}

/// The structural similarity of each 8 by 8 pixels of two images.
#[kernel(block_size(256))]
pub unsafe fn ssim_blocks_raw(
    first: *const u32,
    second: *const u32,
    width: usize,
    to: *mut f32,
    n: usize,
) {
    let number = thread::index_1d() as usize / 16;
    let lane = thread::lane_id() as usize;
    let (mut a, mut b, mut squares, mut product) = (0, 0, 0, 0);
    if number < n {
        let (x, y) = (number % (width / 8), number / (width / 8));
        let at = (8 * y + lane % 16 / 2) * (width / 4) + 2 * x + lane % 2;
        let (p, q) = (*first.add(at), *second.add(at));
        for k in 0..4 {
            let (u, v) = (p >> (8 * k) & 255, q >> (8 * k) & 255);
            a += u;
            b += v;
            squares += u * u + v * v;
            product += u * v;
        }
    }
    let mut distance = 8;
    while distance > 0 {
        a += warp::shuffle_xor(warp::FULL, a, distance);
        b += warp::shuffle_xor(warp::FULL, b, distance);
        squares += warp::shuffle_xor(warp::FULL, squares, distance);
        product += warp::shuffle_xor(warp::FULL, product, distance);
        distance /= 2;
    }
    if number < n && lane % 16 == 0 {
        *to.add(number) = PairSums {
            a,
            b,
            squares,
            product,
        }
        .similarity();
    }
}

// ---------------------------------------------------------------------------------------------
// benford

fn leading_digit(mut number: u64) -> usize {
    while number >= 10 {
        number /= 10;
    }
    number as usize
}

/// Counts the leading digits of numbers. The grid is fixed.
#[kernel(block_size(256))]
pub fn benford_safe(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, 10>>,
    numbers: &[u64],
    total: &[Atomic<u32, Device>],
) {
    counts.own().each(|_, count| *count.get_mut() = 0);
    counts.read(|counts| {
        for (_, &number) in thread::elements(numbers) {
            counts[leading_digit(number)].fetch_add(1, Relaxed);
        }
    });
    counts.own().each(|digit, count| {
        total[digit].fetch_add(*count.get_mut(), Relaxed);
    });
}

/// Counts the leading digits of numbers. The grid is fixed.
#[kernel(block_size(256))]
pub unsafe fn benford_raw(numbers: *const u64, n: usize, total: *mut u32) {
    let counts = shared_array![u32; 10];
    let t = thread::thread_idx_x() as usize;
    if t < 10 {
        *counts.add(t) = 0;
    }
    thread::sync_threads();
    let stride = (thread::grid_dim_x() * 256) as usize;
    let mut i = thread::index_1d() as usize;
    while i < n {
        let mut number = *numbers.add(i);
        while number >= 10 {
            number /= 10;
        }
        Atomic::<u32, Block>::from_ptr(counts.add(number as usize)).fetch_add(1, Relaxed);
        i += stride;
    }
    thread::sync_threads();
    if t < 10 {
        Atomic::<u32, Device>::from_ptr(total.add(t)).fetch_add(*counts.add(t), Relaxed);
    }
}

// ---------------------------------------------------------------------------------------------
// nl_means

/// Removes noise from an image: the mean of the pixels around each one, weighted by how similar
/// their neighbors are.
#[kernel(block_size(16, 16))]
pub fn nl_means_safe(
    #[shared] mut shared: Shared<Tile<u8, 22, 22>>,
    from: &[u8],
    strength: f32,
    mut to: PerTile<u8, 16, 16>,
) {
    let (width, height) = (to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        shared.own().each(|(x, y), pixel| {
            let x = (x0 + x).saturating_sub(3).min(width - 1);
            let y = (y0 + y).saturating_sub(3).min(height - 1);
            *pixel = from[y * width + x];
        });
        shared.read(|rows| {
            let patch =
                |x: usize, y: usize| rows[y..y + 3].iter().flat_map(move |row| &row[x..x + 3]);
            tile.each(|(x, y), to| {
                let (mut sum, mut weights) = (0.0, 0.0);
                for dy in 0..5 {
                    for dx in 0..5 {
                        let difference: u32 = patch(x + 2, y + 2)
                            .zip(patch(x + dx, y + dy))
                            .map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2))
                            .sum();
                        let weight = (-strength * difference as f32).exp();
                        weights += weight;
                        sum += weight * f32::from(rows[y + dy + 1][x + dx + 1]);
                    }
                }
                *to = (sum / weights + 0.5) as u8;
            });
        });
    }
}

/// Removes noise from an image.
#[kernel(block_size(16, 16))]
pub unsafe fn nl_means_raw(from: *const u8, strength: f32, to: *mut u8, width: u32, height: u32) {
    let tile = shared_array![[u8; 22]; 22];
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (x0, y0) = (thread::block_idx_x() * 16, thread::block_idx_y() * 16);
    let mut y = ty;
    while y < 22 {
        let mut x = tx;
        while x < 22 {
            let gx = (x0 as i32 + x as i32 - 3).clamp(0, width as i32 - 1) as u32;
            let gy = (y0 as i32 + y as i32 - 3).clamp(0, height as i32 - 1) as u32;
            (*tile.add(y as usize))[x as usize] = *from.add((gy * width + gx) as usize);
            x += 16;
        }
        y += 16;
    }
    thread::sync_threads();
    if x0 + tx >= width || y0 + ty >= height {
        return;
    }
    let at = |y: u32, x: u32| (*tile.add(y as usize))[x as usize] as i32;
    let (mut sum, mut weights) = (0.0, 0.0);
    for dy in 0..5 {
        for dx in 0..5 {
            let mut difference = 0;
            for py in 0..3 {
                for px in 0..3 {
                    let d = at(ty + 2 + py, tx + 2 + px) - at(ty + dy + py, tx + dx + px);
                    difference += d * d;
                }
            }
            let weight = (-strength * difference as f32).exp();
            weights += weight;
            sum += weight * at(ty + dy + 1, tx + dx + 1) as f32;
        }
    }
    *to.add(((y0 + ty) * width + x0 + tx) as usize) = (sum / weights + 0.5) as u8;
}

// ---------------------------------------------------------------------------------------------
// rank_transform

/// The keys that are ranked together.
pub const GROUP: usize = 512;

/// The rank of each key in its group. Equal keys have the same one, the mean.
#[kernel(block_size(256))]
pub fn rank_transform_safe(
    #[shared] mut shared: Shared<Array<f32, GROUP>>,
    keys: &[f32],
    mut ranks: PerBlock<f32, GROUP>,
) {
    for mut group in ranks.pieces() {
        let start = group.start();
        // Nothing is less than or equal to NaN.
        shared
            .own()
            .each(|i, key| *key = keys.get(start + i).copied().unwrap_or(f32::NAN));
        shared.read(|keys| {
            group.each(|i, rank| {
                let own = keys[i - start];
                let (mut less, mut equal) = (0, 0);
                for key in keys.iter() {
                    match key.partial_cmp(&own) {
                        Some(Ordering::Less) => less += 1,
                        Some(Ordering::Equal) => equal += 1,
                        _ => (),
                    }
                }
                *rank = less as f32 + (equal as f32 + 1.0) / 2.0;
            });
        });
    }
}

/// The rank of each key in its group.
#[kernel(block_size(256))]
pub unsafe fn rank_transform_raw(keys: *const f32, ranks: *mut f32, n: usize) {
    let shared = shared_array![f32; GROUP];
    let t = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() as usize * GROUP;
    for i in [t, t + 256] {
        *shared.add(i) = if start + i < n {
            *keys.add(start + i)
        } else {
            f32::NAN
        };
    }
    thread::sync_threads();
    for i in [t, t + 256] {
        if start + i < n {
            let own = *shared.add(i);
            let mut less = 0;
            let mut equal = 0;
            for k in 0..GROUP {
                let key = *shared.add(k);
                less += (key < own) as u32;
                equal += (key == own) as u32;
            }
            *ranks.add(start + i) = less as f32 + (equal as f32 + 1.0) / 2.0;
        }
    }
}

// ---------------------------------------------------------------------------------------------
// simhash

/// The hash of a word.
pub fn word_hash(word: u32) -> u64 {
    let mut x = u64::from(word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A fingerprint of each document: each bit is that of most of its words. A warp for each document.
#[kernel(block_size(256))]
pub fn simhash_safe(words: &[u32], offsets: &[u32], mut to: PerWarp<u64>) {
    let warp = group::warp();
    for mut fingerprint in to.pieces() {
        let document = match offsets[fingerprint.start()..] {
            [start, end, ..] => &words[start as usize..end as usize],
            _ => &[],
        };
        let bits = [warp.rank(), warp.rank() + 32];
        let mut balance = [0; 2];
        for words in document.chunks(32) {
            let own = words
                .get(warp.rank() as usize)
                .map_or(0, |word| word_hash(*word));
            for k in 0..words.len() {
                let hash = warp.shuffle(own, k as u32);
                for (balance, bit) in balance.iter_mut().zip(bits) {
                    *balance += if hash >> bit & 1 == 1 { 1 } else { -1 };
                }
            }
        }
        let [low, high] = balance.map(|balance| warp.ballot(balance > 0));
        fingerprint.each(|_, to| *to = u64::from(high) << 32 | u64::from(low));
    }
}

/// A fingerprint of each document. A warp for each document.
#[kernel(block_size(256))]
pub unsafe fn simhash_raw(words: *const u32, offsets: *const u32, to: *mut u64, n: usize) {
    let document = thread::index_1d() as usize / 32;
    if document >= n {
        return;
    }
    let lane = thread::lane_id();
    let mut start = *offsets.add(document);
    let end = *offsets.add(document + 1);
    let (mut low, mut high) = (0, 0);
    while start < end {
        let own = if start + lane < end {
            word_hash(*words.add((start + lane) as usize))
        } else {
            0
        };
        for k in 0..(end - start).min(32) {
            let hash = warp::shuffle(warp::FULL, own, k);
            low += if hash >> lane & 1 == 1 { 1 } else { -1 };
            high += if hash >> (lane + 32) & 1 == 1 { 1 } else { -1 };
        }
        start += 32;
    }
    let low = warp::ballot(warp::FULL, low > 0);
    let high = warp::ballot(warp::FULL, high > 0);
    if lane == 0 {
        *to.add(document) = (high as u64) << 32 | low as u64;
    }
}

// ---------------------------------------------------------------------------------------------
// ldpc_minsum

/// The bits of a code word.
pub const BITS: usize = 512;

/// The checks, each of `DEGREE` bits. A bit is in three checks.
pub const CHECKS: usize = 256;
/// The bits of a check.
pub const DEGREE: usize = 6;

/// What a check tells its bits: the sign that makes the parity even, and the smallest magnitude,
/// each without the bit's own opinion.
fn check_messages(opinions: [f32; DEGREE]) -> [f32; DEGREE] {
    let negative = opinions.iter().filter(|x| **x < 0.0).count() % 2 == 1;
    let (mut least, mut second) = (f32::INFINITY, f32::INFINITY);
    for magnitude in opinions.iter().map(|x| x.abs()) {
        if magnitude < least {
            (least, second) = (magnitude, least);
        } else {
            second = second.min(magnitude);
        }
    }
    opinions.map(|x| {
        let magnitude = 0.75 * if x.abs() == least { second } else { least };
        if negative != (x < 0.0) {
            -magnitude
        } else {
            magnitude
        }
    })
}

/// Decodes code words: a block for each.
#[kernel(block_size(256))]
pub fn ldpc_minsum_safe(
    #[shared] mut beliefs: Shared<Array<f32, BITS>>,
    #[shared] mut messages: Shared<Array<[f32; DEGREE], CHECKS>>,
    received: &[f32],
    bits_of_check: &[[u16; DEGREE]; CHECKS],
    edges_of_bit: &[[u16; 3]; BITS],
    rounds: u32,
    mut decoded: PerBlock<u8, BITS>,
) {
    for mut word in decoded.pieces() {
        let received = &received[word.start()..][..BITS];
        beliefs.own().each(|bit, belief| *belief = received[bit]);
        messages.own().each(|_, messages| *messages = [0.0; DEGREE]);
        for _ in 0..rounds {
            beliefs.read(|beliefs| {
                messages.own().each(|check, messages| {
                    let mut opinions = *messages;
                    for (opinion, bit) in opinions.iter_mut().zip(bits_of_check[check]) {
                        *opinion = beliefs[usize::from(bit)] - *opinion;
                    }
                    *messages = check_messages(opinions);
                });
            });
            messages.read(|messages| {
                let messages = messages.as_flattened();
                beliefs.own().each(|bit, belief| {
                    let told = edges_of_bit[bit]
                        .iter()
                        .map(|edge| messages[usize::from(*edge)]);
                    *belief = told.fold(received[bit], |sum, message| sum + message);
                });
            });
        }
        let start = word.start();
        beliefs.read(|beliefs| word.each(|i, bit| *bit = u8::from(beliefs[i - start] < 0.0)));
    }
}

/// Decodes code words: a block for each.
#[kernel(block_size(256))]
pub unsafe fn ldpc_minsum_raw(
    received: *const f32,
    bits_of_check: *const u16,
    edges_of_bit: *const u16,
    rounds: u32,
    decoded: *mut u8,
) {
    let beliefs = shared_array![f32; BITS];
    let messages = shared_array![f32; CHECKS * DEGREE];
    let t = thread::thread_idx_x() as usize;
    let word = thread::block_idx_x() as usize * BITS;
    for bit in [t, t + 256] {
        *beliefs.add(bit) = *received.add(word + bit);
    }
    for k in 0..DEGREE {
        *messages.add(t * DEGREE + k) = 0.0;
    }
    thread::sync_threads();
    for _ in 0..rounds {
        let mut opinions = [0.0f32; DEGREE];
        let (mut least, mut second) = (f32::INFINITY, f32::INFINITY);
        let mut negative = false;
        for k in 0..DEGREE {
            let bit = *bits_of_check.add(t * DEGREE + k) as usize;
            let opinion = *beliefs.add(bit) - *messages.add(t * DEGREE + k);
            opinions[k] = opinion;
            negative ^= opinion < 0.0;
            if opinion.abs() < least {
                second = least;
                least = opinion.abs();
            } else {
                second = second.min(opinion.abs());
            }
        }
        for k in 0..DEGREE {
            let magnitude = 0.75
                * if opinions[k].abs() == least {
                    second
                } else {
                    least
                };
            *messages.add(t * DEGREE + k) = if negative != (opinions[k] < 0.0) {
                -magnitude
            } else {
                magnitude
            };
        }
        thread::sync_threads();
        for bit in [t, t + 256] {
            let mut sum = *received.add(word + bit);
            for k in 0..3 {
                sum += *messages.add(*edges_of_bit.add(3 * bit + k) as usize);
            }
            *beliefs.add(bit) = sum;
        }
        thread::sync_threads();
    }
    for bit in [t, t + 256] {
        *decoded.add(word + bit) = (*beliefs.add(bit) < 0.0) as u8;
    }
}

// ---------------------------------------------------------------------------------------------
// amdf_pitch

/// Samples that are compared.
pub const COMPARED: usize = 512;
/// The smallest lag.
pub const FIRST_LAG: usize = 32;
/// The samples from one frame to the next.
pub const HOP: usize = 256;
/// Samples of a frame: a thread of 128 for each lag.
pub const FRAME: usize = COMPARED + FIRST_LAG + 128;

/// A lag and how much the signal differs from itself.
#[derive(Clone, Copy, AnyBits)]
struct Candidate {
    difference: u32,
    lag: u32,
}

impl Candidate {
    fn better(self, other: Candidate) -> Candidate {
        if (other.difference, other.lag) < (self.difference, self.lag) {
            other
        } else {
            self
        }
    }
}

/// The period of each frame of a signal: the lag at which it differs least from itself.
#[kernel(block_size(128))]
pub fn amdf_pitch_safe(
    #[shared] mut shared: Shared<Array<i16, FRAME>>,
    signal: &[i16],
    mut to: PerBlock<u16>,
) {
    for mut pitch in to.pieces() {
        let frame = &signal[pitch.start() * HOP..];
        shared.own().each(|i, sample| *sample = frame[i]);
        let best = shared.read(|frame| {
            let (now, _) = frame.split_at(COMPARED);
            let lag = FIRST_LAG + thread::index_in_block() as usize;
            let difference = now
                .iter()
                .zip(&frame[lag..])
                .map(|(a, b)| u32::from(a.abs_diff(*b)))
                .sum();
            group::block().reduce(
                Candidate {
                    difference,
                    lag: lag as u32,
                },
                Candidate::better,
            )
        });
        pitch.each(|_, to| *to = best.lag as u16);
    }
}

/// The period of each frame of a signal.
#[kernel(block_size(128))]
pub unsafe fn amdf_pitch_raw(signal: *const i16, to: *mut u16) {
    let frame = shared_array![i16; FRAME];
    let differences = shared_array![u32; 4];
    let lags = shared_array![u32; 4];
    let t = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() as usize * HOP;
    let mut i = t;
    while i < FRAME {
        *frame.add(i) = *signal.add(start + i);
        i += 128;
    }
    thread::sync_threads();
    let mut lag = (FIRST_LAG + t) as u32;
    let mut difference = 0;
    for i in 0..COMPARED {
        let d = *frame.add(i) as i32 - *frame.add(i + FIRST_LAG + t) as i32;
        difference += d.unsigned_abs();
    }
    let mut distance = 16;
    while distance > 0 {
        let other = warp::shuffle_xor(warp::FULL, difference, distance);
        let other_lag = warp::shuffle_xor(warp::FULL, lag, distance);
        if other < difference || other == difference && other_lag < lag {
            difference = other;
            lag = other_lag;
        }
        distance /= 2;
    }
    if t % 32 == 0 {
        *differences.add(t / 32) = difference;
        *lags.add(t / 32) = lag;
    }
    thread::sync_threads();
    if t == 0 {
        for w in 1..4 {
            if *differences.add(w) < difference {
                difference = *differences.add(w);
                lag = *lags.add(w);
            }
        }
        *to.add(thread::block_idx_x() as usize) = lag as u16;
    }
}

// ---------------------------------------------------------------------------------------------
// hashgrid_f16

/// Features of a level.
pub const FEATURES: usize = 1 << 15;
/// Levels of the table.
pub const LEVELS: usize = 8;

/// The integer and the fractional part of a coordinate, and of the other ones.
fn cell_of(point: [f32; 3], resolution: f32) -> ([u32; 3], [f32; 3]) {
    let scaled = point.map(|x| x * resolution);
    (scaled.map(|x| x as u32), scaled.map(|x| x - x.floor()))
}

fn spatial_hash([x, y, z]: [u32; 3]) -> usize {
    let hash = x ^ y.wrapping_mul(2_654_435_761) ^ z.wrapping_mul(805_459_861);
    hash as usize % FEATURES
}

/// Interpolates the features of the cell's corners.
fn interpolate(features: &[F16x2], cell: [u32; 3], fraction: [f32; 3]) -> F16x2 {
    (0..8u32).fold(F16x2::splat(F16::ZERO), |sum, corner| {
        let upper = [0, 1, 2].map(|axis| corner >> axis & 1);
        let mut weight = 1.0;
        let mut at = cell;
        for ((at, upper), fraction) in at.iter_mut().zip(upper).zip(fraction) {
            *at += upper;
            weight *= if upper == 1 { fraction } else { 1.0 - fraction };
        }
        F16x2::splat(F16::from_f32(weight)).mul_add(features[spatial_hash(at)], sum)
    })
}

/// The features of each point, on grids that are finer from level to level.
#[kernel]
pub fn hashgrid_f16_safe(
    table: &[F16x2],
    points: &[[f32; 3]],
    growth: f32,
    mut to: PerThread<[F16x2; LEVELS]>,
) {
    to.each_with(points, |_, to, &point| {
        let mut resolution = 16.0;
        for (to, features) in to.iter_mut().zip(table.chunks_exact(FEATURES)) {
            let (cell, fraction) = cell_of(point, resolution);
            *to = interpolate(features, cell, fraction);
            resolution *= growth;
        }
    });
}

/// The features of each point, on grids that are finer from level to level.
#[kernel]
pub unsafe fn hashgrid_f16_raw(
    table: *const F16x2,
    points: *const f32,
    growth: f32,
    to: *mut F16x2,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (px, py, pz) = (
        *points.add(3 * i),
        *points.add(3 * i + 1),
        *points.add(3 * i + 2),
    );
    let mut resolution = 16.0f32;
    for level in 0..LEVELS {
        let (x, y, z) = (px * resolution, py * resolution, pz * resolution);
        let (fx, fy, fz) = (x - x.floor(), y - y.floor(), z - z.floor());
        let (x, y, z) = (x as u32, y as u32, z as u32);
        let mut sum = F16x2::splat(F16::ZERO);
        for corner in 0..8 {
            let (ux, uy, uz) = (corner & 1, corner >> 1 & 1, corner >> 2 & 1);
            let weight = (if ux == 1 { fx } else { 1.0 - fx })
                * (if uy == 1 { fy } else { 1.0 - fy })
                * (if uz == 1 { fz } else { 1.0 - fz });
            let hash = (x + ux)
                ^ (y + uy).wrapping_mul(2_654_435_761)
                ^ (z + uz).wrapping_mul(805_459_861);
            let feature = *table.add(level * FEATURES + hash as usize % FEATURES);
            sum = F16x2::splat(F16::from_f32(weight)).mul_add(feature, sum);
        }
        *to.add(i * LEVELS + level) = sum;
        resolution *= growth;
    }
}

// ---------------------------------------------------------------------------------------------
// roman_sum

fn numeral(c: u8) -> Option<i32> {
    Some(match c {
        b'I' => 1,
        b'V' => 5,
        b'X' => 10,
        b'L' => 50,
        b'C' => 100,
        b'D' => 500,
        b'M' => 1000,
        _ => return None,
    })
}

/// The value of a Roman number.
fn roman_value(text: &[u8]) -> Option<i32> {
    let mut rest = text;
    let mut total = 0;
    while let [first, tail @ ..] = rest {
        let value = numeral(*first)?;
        let next = tail.first().and_then(|c| numeral(*c));
        total += match next {
            Some(next) if next > value => -value,
            _ => value,
        };
        rest = tail;
    }
    (total > 0).then_some(total)
}

/// The value of the first word of each record. Words that are no numbers have the value -1.
#[kernel]
pub fn roman_sum_safe(records: &[[u8; 16]], mut to: PerThread<i32>) {
    to.each_with(records, |_, to, record| {
        let word = record.split(|c| *c == b' ').next();
        *to = word.and_then(roman_value).unwrap_or(-1);
    });
}

/// The value of the first word of each record.
#[kernel]
pub unsafe fn roman_sum_raw(records: *const u8, to: *mut i32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let record = records.add(16 * i);
    let value_of = |c: u8| match c {
        b'I' => 1,
        b'V' => 5,
        b'X' => 10,
        b'L' => 50,
        b'C' => 100,
        b'D' => 500,
        b'M' => 1000,
        _ => 0,
    };
    let mut total = 0;
    let mut k = 0;
    while k < 16 && *record.add(k) != b' ' {
        let value = value_of(*record.add(k));
        if value == 0 {
            total = 0;
            break;
        }
        let next = if k + 1 < 16 {
            value_of(*record.add(k + 1))
        } else {
            0
        };
        total += if next > value { -value } else { value };
        k += 1;
    }
    *to.add(i) = if total > 0 { total } else { -1 };
}

// ---------------------------------------------------------------------------------------------
// mod_inverse

/// The greatest common divisor `g` and a number `x` with `x * a = g` modulo `b`, by Euclid.
fn extended_gcd<T>(a: T, b: T) -> (T, T)
where
    T: Copy + PartialEq + From<bool> + Sub<Output = T> + Mul<Output = T> + Div<Output = T>,
{
    let (zero, one) = (T::from(false), T::from(true));
    let (mut old, mut new) = ((a, one), (b, zero));
    while new.0 != zero {
        let quotient = old.0 / new.0;
        (old, new) = (new, (old.0 - quotient * new.0, old.1 - quotient * new.1));
    }
    old
}

/// The inverse of each number modulo another one, or 0 if there is none.
#[kernel]
pub fn mod_inverse_safe(numbers: &[i64], moduli: &[i64], mut to: PerThread<i64>) {
    to.each_with((numbers, moduli), |_, to, (&number, &modulus)| {
        *to = match extended_gcd(number, modulus) {
            (1, inverse) => inverse.rem_euclid(modulus),
            _ => 0,
        };
    });
}

/// The inverse of each number modulo another one, or 0 if there is none.
#[kernel]
pub unsafe fn mod_inverse_raw(numbers: *const i64, moduli: *const i64, to: *mut i64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let modulus = *moduli.add(i);
    let (mut a, mut b) = (*numbers.add(i), modulus);
    let (mut x, mut y) = (1, 0);
    while b != 0 {
        let quotient = a / b;
        let rest = a - quotient * b;
        a = b;
        b = rest;
        let rest = x - quotient * y;
        x = y;
        y = rest;
    }
    *to.add(i) = if a != 1 {
        0
    } else if x < 0 {
        x + modulus
    } else {
        x
    };
}

// ---------------------------------------------------------------------------------------------
// sir_paths

/// How many are susceptible and infected, as shares.
#[derive(Clone, Copy)]
struct Epidemic {
    susceptible: f32,
    infected: f32,
}

impl Epidemic {
    fn rates(self, contact: f32, recovery: f32) -> Epidemic {
        let infections = contact * self.susceptible * self.infected;
        Epidemic {
            susceptible: -infections,
            infected: infections - recovery * self.infected,
        }
    }

    fn moved(self, rates: Epidemic, dt: f32) -> Epidemic {
        Epidemic {
            susceptible: self.susceptible + dt * rates.susceptible,
            infected: self.infected + dt * rates.infected,
        }
    }
}

/// The course of an epidemic for each pair of rates: the infected of each day are a column.
#[kernel]
pub fn sir_paths_safe(
    contacts: &[f32],
    recoveries: &[f32],
    steps_per_day: u32,
    mut days: PerColumn<f32>,
) {
    let dt = 1.0 / steps_per_day as f32;
    days.each(|x, mut column| {
        let rates = |state: Epidemic| state.rates(contacts[x], recoveries[x]);
        let mut state = Epidemic {
            susceptible: 0.999,
            infected: 0.001,
        };
        for day in column.iter_mut() {
            for _ in 0..steps_per_day {
                let middle = state.moved(rates(state), dt / 2.0);
                state = state.moved(rates(middle), dt);
            }
            *day = state.infected;
        }
    });
}

/// The course of an epidemic for each pair of rates: the infected of each day are a column.
#[kernel]
pub unsafe fn sir_paths_raw(
    contacts: *const f32,
    recoveries: *const f32,
    steps_per_day: u32,
    days: *mut f32,
    width: usize,
    height: usize,
) {
    let x = thread::index_1d() as usize;
    if x >= width {
        return;
    }
    let dt = 1.0 / steps_per_day as f32;
    let (contact, recovery) = (*contacts.add(x), *recoveries.add(x));
    let (mut s, mut i) = (0.999, 0.001);
    for y in 0..height {
        for _ in 0..steps_per_day {
            let infections = contact * s * i;
            let s_middle = s - dt / 2.0 * infections;
            let i_middle = i + dt / 2.0 * (infections - recovery * i);
            let infections = contact * s_middle * i_middle;
            s -= dt * infections;
            i += dt * (infections - recovery * i_middle);
        }
        *days.add(y * width + x) = i;
    }
}

// ---------------------------------------------------------------------------------------------
// underwater

/// How far each price is below the highest so far: a warp for each series.
#[kernel(block_size(256))]
pub fn underwater_safe(prices: &[f32], mut to: PerWarpRow<f32>) {
    let warp = group::warp();
    for mut row in to.rows() {
        let prices = &prices[row.y() * row.len()..][..row.len()];
        let mut highest = f32::NEG_INFINITY;
        let mut outputs = row.own();
        for prices in prices.chunks(warp.size() as usize) {
            let own = prices.get(warp.rank() as usize).copied();
            let so_far = warp
                .inclusive_scan(own.unwrap_or(f32::NEG_INFINITY), f32::max)
                .max(highest);
            if let (Some((_, to)), Some(price)) = (outputs.next(), own) {
                *to = price / so_far - 1.0;
            }
            highest = warp.shuffle(so_far, warp.size() - 1);
        }
    }
}

/// How far each price is below the highest so far: a warp for each series.
#[kernel(block_size(256))]
pub unsafe fn underwater_raw(prices: *const f32, to: *mut f32, width: usize, height: usize) {
    let y = thread::index_1d() as usize / 32;
    if y >= height {
        return;
    }
    let lane = thread::lane_id() as usize;
    let mut highest = f32::NEG_INFINITY;
    let mut start = 0;
    while start < width {
        let x = start + lane;
        let price = if x < width {
            *prices.add(y * width + x)
        } else {
            f32::NEG_INFINITY
        };
        let mut so_far = price.max(highest);
        let mut distance = 1;
        while distance < 32 {
            let before = warp::shuffle_up(warp::FULL, so_far, distance);
            if lane >= distance as usize {
                so_far = so_far.max(before);
            }
            distance *= 2;
        }
        if x < width {
            *to.add(y * width + x) = price / so_far - 1.0;
        }
        highest = warp::shuffle(warp::FULL, so_far, 31);
        start += 32;
    }
}
