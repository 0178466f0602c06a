//! Kernels in many styles: written by a programmer who knew the documentation of `cuda_std` and nothing of
//! the compiler.

// The kernels are as their author wrote them.
#![allow(
    missing_docs,
    clippy::chunks_exact_to_as_chunks,
    clippy::excessive_precision,
    clippy::manual_clamp,
    clippy::manual_div_ceil,
    clippy::manual_is_multiple_of,
    clippy::manual_memcpy,
    clippy::manual_range_contains,
    clippy::manual_swap,
    clippy::mut_range_bound,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::precedence
)]

use core::array;
use core::ops::{Add, AddAssign, Mul};
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
pub use cuda_std::half::F16;
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::thread::UniqueIndex;
use cuda_std::{
    AnyBits, MatrixView, PerBlock, PerBlockRow, PerThread3d, PerTile, PerWarp, PerWarpRow, group,
};
use cust_core::DeviceCopy;

// ---------------------------------------------------------------------------------------------
// cron_next: the next minute at which a schedule fires.

/// The fields of a line of a crontab, as sets of bits.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Schedule {
    pub minutes: u64,
    pub hours: u32,
    pub days: u32,
    pub months: u16,
    pub weekdays: u16,
}

/// The first bit of `set` that is not below `from`.
fn next_bit(set: u64, from: u32) -> Option<u32> {
    let rest = set.checked_shr(from)?;
    (rest != 0).then(|| from + rest.trailing_zeros())
}

/// Month (1 to 12) and day (1 to 31) of a day since 1970-01-01.
fn month_and_day(day: i64) -> (u32, u32) {
    let z = day + 719_468;
    let doe = z.rem_euclid(146_097) as u32;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let d = doy - (153 * mp + 2) / 5 + 1;
    (if mp < 10 { mp + 3 } else { mp - 9 }, d)
}

impl Schedule {
    fn fires_on(&self, day: i64) -> bool {
        let (month, d) = month_and_day(day);
        let weekday = (day + 4).rem_euclid(7);
        self.months >> month & 1 == 1
            && self.days >> d & 1 == 1
            && self.weekdays >> weekday & 1 == 1
    }

    /// The first minute of a day, not before `from`.
    fn minute_of_day(&self, from: u32) -> Option<u32> {
        let (hour, minute) = (from / 60, from % 60);
        if self.hours >> hour & 1 == 1
            && let Some(minute) = next_bit(self.minutes, minute)
        {
            return Some(hour * 60 + minute);
        }
        let hour = next_bit(self.hours.into(), hour + 1)?;
        Some(hour * 60 + next_bit(self.minutes, 0)?)
    }

    /// The first minute since 1970 that is not before `start`, within five years.
    pub fn next(&self, start: i64) -> Option<i64> {
        let today = start.div_euclid(1440);
        (today..today + 1827)
            .filter(|&day| self.fires_on(day))
            .find_map(|day| {
                let from = if day == today {
                    start.rem_euclid(1440) as u32
                } else {
                    0
                };
                Some(day * 1440 + i64::from(self.minute_of_day(from)?))
            })
    }
}

#[kernel(block_size(256))]
pub fn cron_next_safe(schedules: &[Schedule], start: &[i64], mut to: PerThread<i64>) {
    to.each_with((schedules, start), |_, to, (schedule, &start)| {
        *to = schedule.next(start).unwrap_or(-1);
    });
}

#[kernel(block_size(256))]
pub unsafe fn cron_next_raw(schedules: *const Schedule, start: *const i64, to: *mut i64, n: u32) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let s = *schedules.add(i as usize);
    let start = *start.add(i as usize);
    let mut today = start / 1440;
    if start % 1440 < 0 {
        today -= 1;
    }
    let mut from = (start - today * 1440) as u32;
    let mut result = -1i64;
    let mut day = today;
    while day < today + 1827 {
        let z = day + 719_468;
        let mut doe = (z % 146_097) as i32;
        if doe < 0 {
            doe += 146_097;
        }
        let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let d = doy - (153 * mp + 2) / 5 + 1;
        let month = if mp < 10 { mp + 3 } else { mp - 9 };
        let mut weekday = ((day + 4) % 7) as i32;
        if weekday < 0 {
            weekday += 7;
        }
        if s.months >> month & 1 == 1 && s.days >> d & 1 == 1 && s.weekdays >> weekday & 1 == 1 {
            let hour = from / 60;
            let rest = s.minutes >> (from % 60);
            if s.hours >> hour & 1 == 1 && rest != 0 {
                result = day * 1440 + i64::from(from + rest.trailing_zeros());
                break;
            }
            let rest = u64::from(s.hours) >> (hour + 1);
            if rest != 0 && s.minutes != 0 {
                let hour = hour + 1 + rest.trailing_zeros();
                result = day * 1440 + i64::from(hour * 60 + s.minutes.trailing_zeros());
                break;
            }
        }
        from = 0;
        day += 1;
    }
    *to.add(i as usize) = result;
}

// ---------------------------------------------------------------------------------------------
// png_filter: chooses PNG's filter for each row of an RGB image, and applies it.

/// The filters of PNG.
#[derive(Clone, Copy)]
enum Filter {
    None,
    Sub,
    Up,
    Average,
    Paeth,
}

/// The bytes that predict a byte.
#[derive(Clone, Copy)]
struct Neighbors {
    left: u8,
    up: u8,
    corner: u8,
}

impl Neighbors {
    fn paeth(self) -> u8 {
        let (a, b, c) = (
            i32::from(self.left),
            i32::from(self.up),
            i32::from(self.corner),
        );
        let p = a + b - c;
        let (pa, pb, pc) = (p.abs_diff(a), p.abs_diff(b), p.abs_diff(c));
        if pa <= pb && pa <= pc {
            self.left
        } else if pb <= pc {
            self.up
        } else {
            self.corner
        }
    }
}

impl Filter {
    const ALL: [Filter; 5] = [
        Filter::None,
        Filter::Sub,
        Filter::Up,
        Filter::Average,
        Filter::Paeth,
    ];

    fn apply(self, byte: u8, n: Neighbors) -> u8 {
        byte.wrapping_sub(match self {
            Filter::None => 0,
            Filter::Sub => n.left,
            Filter::Up => n.up,
            Filter::Average => n.left.midpoint(n.up),
            Filter::Paeth => n.paeth(),
        })
    }
}

const PIXEL: usize = 3;

#[kernel(block_size(256))]
pub fn png_filter_safe(image: &[u8], mut to: PerWarpRow<u8>) {
    let stride = to.width() - 1;
    for mut out in to.rows() {
        let y = out.y();
        let row = &image[y * stride..][..stride];
        let above = y.checked_sub(1).map(|y| &image[y * stride..][..stride]);
        let neighbors = |x: usize| Neighbors {
            left: if x >= PIXEL { row[x - PIXEL] } else { 0 },
            up: above.map_or(0, |above| above[x]),
            corner: match above {
                Some(above) if x >= PIXEL => above[x - PIXEL],
                _ => 0,
            },
        };
        let mut costs = [0u32; 5];
        for x in thread::warp_stride(stride) {
            let n = neighbors(x);
            for (cost, filter) in costs.iter_mut().zip(Filter::ALL) {
                *cost += u32::from((filter.apply(row[x], n) as i8).unsigned_abs());
            }
        }
        let costs = costs.map(|cost| group::warp().reduce(cost, |a, b| a + b));
        let (code, filter) = (0..)
            .zip(Filter::ALL)
            .min_by_key(|&(i, _)| costs[i])
            .unwrap();
        out.each(|x, to| {
            *to = match x.checked_sub(1) {
                None => code as u8,
                Some(x) => filter.apply(row[x], neighbors(x)),
            }
        });
    }
}

unsafe fn png_residuals(row: *const u8, stride: i32, first: bool, x: i32) -> [u8; 5] {
    let v = i32::from(*row.offset(x as isize));
    let mut a = 0;
    let mut b = 0;
    let mut c = 0;
    if x >= 3 {
        a = i32::from(*row.offset((x - 3) as isize));
    }
    if !first {
        b = i32::from(*row.offset((x - stride) as isize));
        if x >= 3 {
            c = i32::from(*row.offset((x - stride - 3) as isize));
        }
    }
    let p = a + b - c;
    let (pa, pb, pc) = ((p - a).abs(), (p - b).abs(), (p - c).abs());
    let paeth = if pa <= pb && pa <= pc {
        a
    } else if pb <= pc {
        b
    } else {
        c
    };
    [
        v as u8,
        (v - a) as u8,
        (v - b) as u8,
        (v - (a + b) / 2) as u8,
        (v - paeth) as u8,
    ]
}

#[kernel(block_size(256))]
pub unsafe fn png_filter_raw(image: *const u8, to: *mut u8, stride: i32, height: i32) {
    let y = (thread::index_1d() / 32) as i32;
    if y >= height {
        return;
    }
    let row = image.add(y as usize * stride as usize);
    let out = to.add(y as usize * (stride + 1) as usize);
    let lane = thread::lane_id() as i32;
    let mut costs = [0u32; 5];
    let mut x = lane;
    while x < stride {
        let r = png_residuals(row, stride, y == 0, x);
        for k in 0..5 {
            costs[k] += (r[k] as i8 as i32).unsigned_abs();
        }
        x += 32;
    }
    let mut best = 0;
    let mut least = u32::MAX;
    for k in 0..5 {
        let cost = warp::reduce_add(warp::FULL, costs[k]);
        if cost < least {
            least = cost;
            best = k;
        }
    }
    if lane == 0 {
        *out = best as u8;
    }
    let mut x = lane;
    while x < stride {
        let r = png_residuals(row, stride, y == 0, x);
        let value = match best {
            0 => r[0],
            1 => r[1],
            2 => r[2],
            3 => r[3],
            _ => r[4],
        };
        *out.add(1 + x as usize) = value;
        x += 32;
    }
}

// ---------------------------------------------------------------------------------------------
// stick_breaking: the weights of a Dirichlet process from its sticks, by scans of products.

/// What may be left of the stick at the end.
const CRUMB: f32 = 1e-6;

#[kernel(block_size(256))]
pub fn stick_breaking_safe(sticks: &[f32], mut weights: PerBlockRow<f32>) {
    let len = weights.width();
    for mut row in weights.rows() {
        let sticks = &sticks[row.y() * len..][..len];
        let mut own = row.own();
        let mut rest = 1.0;
        for chunk in sticks.chunks(256) {
            let v = chunk
                .get(thread::index_in_block() as usize)
                .copied()
                .unwrap_or(0.0);
            let (before, all) =
                group::block().exclusive_scan_with_total(1.0 - v, 1.0, |a, b| a * b);
            if let Some((_, weight)) = own.next() {
                *weight = rest * before * v;
            }
            rest *= all;
            if rest < CRUMB {
                break;
            }
        }
        own.for_each(|(_, weight)| *weight = 0.0);
    }
}

#[kernel(block_size(256))]
pub unsafe fn stick_breaking_raw(sticks: *const f32, weights: *mut f32, len: i32) {
    let totals = shared_array![f32; 8];
    let tid = thread::thread_idx_x() as i32;
    let lane = thread::lane_id();
    let warp_id = (tid / 32) as usize;
    let base = thread::block_idx_x() as usize * len as usize;
    let mut rest = 1.0f32;
    let mut start = 0;
    while start < len {
        let x = start + tid;
        let v = if x < len {
            *sticks.add(base + x as usize)
        } else {
            0.0
        };
        let mut scan = 1.0 - v;
        let mut d = 1;
        while d < 32 {
            let other = warp::shuffle_up(warp::FULL, scan, d);
            if lane >= d {
                scan *= other;
            }
            d *= 2;
        }
        let mut before = warp::shuffle_up(warp::FULL, scan, 1);
        if lane == 0 {
            before = 1.0;
        }
        thread::sync_threads();
        if lane == 31 {
            *totals.add(warp_id) = scan;
        }
        thread::sync_threads();
        let mut all = 1.0;
        for w in 0..8 {
            if w == warp_id {
                before *= all;
            }
            all *= *totals.add(w);
        }
        if x < len {
            *weights.add(base + x as usize) = rest * before * v;
        }
        rest *= all;
        start += 256;
        if rest < CRUMB {
            break;
        }
    }
    let mut x = start + tid;
    while x < len {
        *weights.add(base + x as usize) = 0.0;
        x += 256;
    }
}

// ---------------------------------------------------------------------------------------------
// winograd_f16: a 3 x 3 convolution of fp16 by Winograd's F(2 x 2, 3 x 3).

/// A small matrix.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Matrix<T, const R: usize, const C: usize>(pub [[T; C]; R]);

impl<T: Copy + Default, const R: usize, const C: usize> Matrix<T, R, C> {
    fn from_fn(f: impl Fn(usize, usize) -> T) -> Self {
        Matrix(array::from_fn(|y| array::from_fn(|x| f(y, x))))
    }

    fn transposed(self) -> Matrix<T, C, R> {
        Matrix::from_fn(|y, x| self.0[x][y])
    }

    fn map_rows<const N: usize>(self, f: impl Fn([T; C]) -> [T; N]) -> Matrix<T, R, N>
    where
        T: Copy,
    {
        Matrix(self.0.map(f))
    }
}

impl<T: AddAssign, const R: usize, const C: usize> AddAssign for Matrix<T, R, C> {
    fn add_assign(&mut self, other: Self) {
        for (row, other) in self.0.iter_mut().zip(other.0) {
            for (x, other) in row.iter_mut().zip(other) {
                *x += other;
            }
        }
    }
}

/// The product of matrices.
impl<T, const R: usize, const K: usize, const C: usize> Mul<Matrix<T, K, C>> for Matrix<T, R, K>
where
    T: Copy + Default + Mul<Output = T> + Add<Output = T>,
{
    type Output = Matrix<T, R, C>;

    fn mul(self, other: Matrix<T, K, C>) -> Matrix<T, R, C> {
        Matrix::from_fn(|y, x| {
            (0..K).fold(T::default(), |sum, k| sum + self.0[y][k] * other.0[k][x])
        })
    }
}

impl<T: Copy + Default + Mul<Output = T>, const R: usize, const C: usize> Matrix<T, R, C> {
    /// The product element by element.
    fn hadamard(self, other: Self) -> Self {
        Matrix::from_fn(|y, x| self.0[y][x] * other.0[y][x])
    }
}

fn winograd_input([a, b, c, d]: [f32; 4]) -> [f32; 4] {
    [a - c, b + c, c - b, b - d]
}

fn winograd_output([a, b, c, d]: [f32; 4]) -> [f32; 2] {
    [a + b + c, b - c - d]
}

/// The elements of the transformed filter of an input and output channel.
type Filter4 = Matrix<F16, 4, 4>;

#[kernel(block_size(32, 4, 2))]
pub fn winograd_f16_safe(
    channels: usize,
    image: &[F16],
    filters: &[Filter4],
    mut to: PerThread3d<Matrix<f32, 2, 2>>,
) {
    let (width, height) = (2 * to.width() + 2, 2 * to.height() + 2);
    for ((tx, ty, k), to) in to.own() {
        let mut sum = Matrix([[0.0; 4]; 4]);
        let filters = &filters[k * channels..][..channels];
        for (plane, filter) in image.chunks_exact(width * height).zip(filters) {
            let tile = Matrix::from_fn(|y, x| plane[(2 * ty + y) * width + 2 * tx + x].to_f32());
            let tile = tile
                .map_rows(winograd_input)
                .transposed()
                .map_rows(winograd_input)
                .transposed();
            sum += tile.hadamard(Matrix(filter.0.map(|row| row.map(F16::to_f32))));
        }
        *to = sum
            .map_rows(winograd_output)
            .transposed()
            .map_rows(winograd_output)
            .transposed();
    }
}

#[kernel(block_size(32, 4, 2))]
pub unsafe fn winograd_f16_raw(
    channels: u32,
    image: *const F16,
    filters: *const F16,
    to: *mut f32,
    tiles_x: u32,
    tiles_y: u32,
    outputs: u32,
) {
    let i = thread::index_3d();
    let (tx, ty, k) = (i.x, i.y, i.z);
    if tx >= tiles_x || ty >= tiles_y || k >= outputs {
        return;
    }
    let (width, height) = (2 * tiles_x + 2, 2 * tiles_y + 2);
    let mut sum = [[0f32; 4]; 4];
    for c in 0..channels {
        let plane = image.add((c * width * height + 2 * ty * width + 2 * tx) as usize);
        let filter = filters.add(((k * channels + c) * 16) as usize);
        let mut t = [[0f32; 4]; 4];
        for y in 0..4 {
            let row = plane.add(y * width as usize);
            let a = (*row).to_f32();
            let b = (*row.add(1)).to_f32();
            let c = (*row.add(2)).to_f32();
            let d = (*row.add(3)).to_f32();
            t[y] = [a - c, b + c, c - b, b - d];
        }
        for x in 0..4 {
            let (a, b, c, d) = (t[0][x], t[1][x], t[2][x], t[3][x]);
            sum[0][x] += (a - c) * (*filter.add(x)).to_f32();
            sum[1][x] += (b + c) * (*filter.add(4 + x)).to_f32();
            sum[2][x] += (c - b) * (*filter.add(8 + x)).to_f32();
            sum[3][x] += (b - d) * (*filter.add(12 + x)).to_f32();
        }
    }
    let mut t = [[0f32; 2]; 4];
    for y in 0..4 {
        let [a, b, c, d] = sum[y];
        t[y] = [a + b + c, b - c - d];
    }
    let out = to.add(((k * tiles_y + ty) * tiles_x + tx) as usize * 4);
    for x in 0..2 {
        *out.add(x) = t[0][x] + t[1][x] + t[2][x];
        *out.add(2 + x) = t[1][x] - t[2][x] - t[3][x];
    }
}

// ---------------------------------------------------------------------------------------------
// svg_bounds: the bounding boxes of paths in the syntax of SVG, with integers.

/// A box with integer coordinates; empty at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    min: (i32, i32),
    max: (i32, i32),
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            min: (i32::MAX, i32::MAX),
            max: (i32::MIN, i32::MIN),
        }
    }
}

impl Bounds {
    fn include(&mut self, (x, y): (i32, i32)) {
        self.min = (self.min.0.min(x), self.min.1.min(y));
        self.max = (self.max.0.max(x), self.max.1.max(y));
    }

    pub fn to_array(self) -> [i32; 4] {
        [self.min.0, self.min.1, self.max.0, self.max.1]
    }
}

/// A text from which tokens are taken.
struct Scanner<'a>(&'a [u8]);

impl Scanner<'_> {
    fn skip_separators(&mut self) {
        while let [b' ' | b',', rest @ ..] = self.0 {
            self.0 = rest;
        }
    }

    fn letter(&mut self) -> Option<u8> {
        match self.0 {
            [letter, rest @ ..] if letter.is_ascii_alphabetic() => {
                self.0 = rest;
                Some(*letter)
            }
            _ => None,
        }
    }

    fn number(&mut self) -> Option<i32> {
        self.skip_separators();
        let negative = match self.0 {
            [b'-', rest @ ..] => {
                self.0 = rest;
                true
            }
            _ => false,
        };
        let mut value = None;
        while let [digit @ b'0'..=b'9', rest @ ..] = self.0 {
            value = Some(value.unwrap_or(0) * 10 + i32::from(digit - b'0'));
            self.0 = rest;
        }
        if negative {
            value.map(|value| -value)
        } else {
            value
        }
    }
}

/// The bounding box of a path, or `None` if it is malformed.
pub fn path_bounds(path: &[u8]) -> Option<Bounds> {
    let mut text = Scanner(path);
    let mut bounds = Bounds::default();
    let (mut at, mut start) = ((0, 0), (0, 0));
    let mut command = b'M';
    loop {
        text.skip_separators();
        if text.0.is_empty() {
            return Some(bounds);
        }
        if let Some(letter) = text.letter() {
            command = letter;
        }
        let origin = if command.is_ascii_lowercase() {
            at
        } else {
            (0, 0)
        };
        match command.to_ascii_uppercase() {
            b'M' | b'L' => at = (origin.0 + text.number()?, origin.1 + text.number()?),
            b'H' => at.0 = origin.0 + text.number()?,
            b'V' => at.1 = origin.1 + text.number()?,
            b'Z' => at = start,
            _ => return None,
        }
        // The pairs after those of a move are lines.
        match command {
            b'M' => (start, command) = (at, b'L'),
            b'm' => (start, command) = (at, b'l'),
            _ => {}
        }
        bounds.include(at);
    }
}

#[kernel(block_size(128))]
pub fn svg_bounds_safe(text: &[u8], ends: &[u32], mut to: PerThread<[i32; 4]>) {
    for (i, to) in to.own() {
        let start = if i == 0 { 0 } else { ends[i - 1] as usize };
        *to = match path_bounds(&text[start..ends[i] as usize]) {
            Some(bounds) => bounds.to_array(),
            None => [0; 4],
        };
    }
}

#[kernel(block_size(128))]
pub unsafe fn svg_bounds_raw(text: *const u8, ends: *const u32, to: *mut i32, n: u32) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let mut p = if i == 0 { 0 } else { *ends.add(i as usize - 1) };
    let end = *ends.add(i as usize);
    let (mut x, mut y, mut sx, mut sy) = (0, 0, 0, 0);
    let (mut x0, mut y0, mut x1, mut y1) = (i32::MAX, i32::MAX, i32::MIN, i32::MIN);
    let mut command = b'M';
    let mut fine = true;
    'path: loop {
        while p < end && (*text.add(p as usize) == b' ' || *text.add(p as usize) == b',') {
            p += 1;
        }
        if p >= end {
            break;
        }
        let letter = *text.add(p as usize);
        if letter | 32 >= b'a' && letter | 32 <= b'z' {
            command = letter;
            p += 1;
        }
        let upper = command & !32;
        let count = match upper {
            b'M' | b'L' => 2,
            b'H' | b'V' => 1,
            b'Z' => 0,
            _ => {
                fine = false;
                break;
            }
        };
        let mut number = [0, 0];
        for k in 0..2 {
            if k < count {
                while p < end && (*text.add(p as usize) == b' ' || *text.add(p as usize) == b',') {
                    p += 1;
                }
                let negative = p < end && *text.add(p as usize) == b'-';
                if negative {
                    p += 1;
                }
                let first = p;
                let mut value = 0;
                while p < end && (*text.add(p as usize)).wrapping_sub(b'0') < 10 {
                    value = value * 10 + i32::from(*text.add(p as usize) - b'0');
                    p += 1;
                }
                if p == first {
                    fine = false;
                    break 'path;
                }
                number[k] = if negative { -value } else { value };
            }
        }
        let (ox, oy) = if command & 32 != 0 { (x, y) } else { (0, 0) };
        if upper == b'Z' {
            x = sx;
            y = sy;
        } else if upper == b'H' {
            x = ox + number[0];
        } else if upper == b'V' {
            y = oy + number[0];
        } else {
            x = ox + number[0];
            y = oy + number[1];
        }
        if upper == b'M' {
            sx = x;
            sy = y;
            command = b'L' | command & 32;
        }
        x0 = x0.min(x);
        y0 = y0.min(y);
        x1 = x1.max(x);
        y1 = y1.max(y);
    }
    let to = to.add(4 * i as usize);
    *to = if fine { x0 } else { 0 };
    *to.add(1) = if fine { y0 } else { 0 };
    *to.add(2) = if fine { x1 } else { 0 };
    *to.add(3) = if fine { y1 } else { 0 };
}

// ---------------------------------------------------------------------------------------------
// hilbert3d: the position of each cell along a Hilbert curve in three dimensions.

/// The bits of a coordinate.
const HILBERT_BITS: u32 = 16;

/// The position of a point along the Hilbert curve through `N` dimensions.
pub fn hilbert_index<const N: usize>(mut point: [u32; N]) -> u64 {
    for bit in (1..HILBERT_BITS).rev() {
        let low = (1 << bit) - 1;
        for i in 0..N {
            if point[i] >> bit & 1 == 1 {
                point[0] ^= low;
            } else {
                let difference = (point[0] ^ point[i]) & low;
                point[0] ^= difference;
                point[i] ^= difference;
            }
        }
    }
    for i in 1..N {
        point[i] ^= point[i - 1];
    }
    let last = point[N - 1];
    let flips = (1..HILBERT_BITS)
        .filter(|bit| last >> bit & 1 == 1)
        .fold(0, |flips, bit| flips ^ ((1 << bit) - 1));
    let point = point.map(|x| x ^ flips);
    (0..HILBERT_BITS)
        .rev()
        .flat_map(|bit| point.map(|x| x >> bit & 1))
        .fold(0, |index, bit| index << 1 | u64::from(bit))
}

#[kernel(block_size(8, 8, 4))]
pub fn hilbert3d_safe(origin: [u32; 3], mut to: PerThread3d<u64>) {
    to.each(|(x, y, z), to| {
        let [x0, y0, z0] = origin;
        *to = hilbert_index([x0 + x as u32, y0 + y as u32, z0 + z as u32]);
    });
}

#[kernel(block_size(8, 8, 4))]
pub unsafe fn hilbert3d_raw(x0: u32, y0: u32, z0: u32, to: *mut u64, nx: u32, ny: u32, nz: u32) {
    let i = thread::index_3d();
    if i.x >= nx || i.y >= ny || i.z >= nz {
        return;
    }
    let mut p = [x0 + i.x, y0 + i.y, z0 + i.z];
    let mut q = 1u32 << (HILBERT_BITS - 1);
    while q > 1 {
        let low = q - 1;
        for k in 0..3 {
            if p[k] & q != 0 {
                p[0] ^= low;
            } else {
                let t = (p[0] ^ p[k]) & low;
                p[0] ^= t;
                p[k] ^= t;
            }
        }
        q >>= 1;
    }
    p[1] ^= p[0];
    p[2] ^= p[1];
    let mut t = 0;
    let mut q = 1u32 << (HILBERT_BITS - 1);
    while q > 1 {
        if p[2] & q != 0 {
            t ^= q - 1;
        }
        q >>= 1;
    }
    let mut index = 0u64;
    let mut bit = HILBERT_BITS;
    while bit > 0 {
        bit -= 1;
        for k in 0..3 {
            index = index << 1 | u64::from((p[k] ^ t) >> bit & 1);
        }
    }
    *to.add(((i.z * ny + i.y) * nx + i.x) as usize) = index;
}

// ---------------------------------------------------------------------------------------------
// surface_nets3d: the vertex of each cell that a surface crosses.

/// The mean of the points at which a surface crosses a cell's edges, and their number.
#[derive(Clone, Copy, Debug, Default, DeviceCopy)]
#[repr(C, align(16))]
pub struct NetVertex {
    pub position: [f32; 3],
    pub crossings: f32,
}

/// The corners at the ends of a cell's edges. Bit `k` of a corner is its coordinate in dimension `k`.
fn cell_edges() -> impl Iterator<Item = (usize, usize)> {
    (0..3usize).flat_map(|axis| {
        (0..8usize)
            .filter(move |corner| corner >> axis & 1 == 0)
            .map(move |c| (c, c | 1 << axis))
    })
}

#[kernel(block_size(32, 8))]
pub fn surface_nets3d_safe(field: &[f32], mut to: PerThread3d<NetVertex>) {
    let (width, height) = (to.width() + 1, to.height() + 1);
    let at = |x: usize, y: usize, z: usize| field[(z * height + y) * width + x];
    for ((x, y, z), to) in to.own() {
        let corners: [f32; 8] = array::from_fn(|k| at(x + (k & 1), y + (k >> 1 & 1), z + (k >> 2)));
        let mut vertex = NetVertex::default();
        if corners.iter().any(|&d| d < 0.0) && corners.iter().any(|&d| d >= 0.0) {
            let crossed = cell_edges().filter(|&(a, b)| (corners[a] < 0.0) != (corners[b] < 0.0));
            for (a, b) in crossed {
                let t = corners[a] / (corners[a] - corners[b]);
                for (axis, sum) in vertex.position.iter_mut().enumerate() {
                    let [from, end] = [a, b].map(|corner| (corner >> axis & 1) as f32);
                    *sum += from + t * (end - from);
                }
                vertex.crossings += 1.0;
            }
            for (sum, corner) in vertex.position.iter_mut().zip([x, y, z]) {
                *sum = corner as f32 + *sum / vertex.crossings;
            }
        }
        *to = vertex;
    }
}

#[kernel(block_size(32, 8))]
pub unsafe fn surface_nets3d_raw(field: *const f32, to: *mut NetVertex, nx: u32, ny: u32, nz: u32) {
    let i = thread::index_3d();
    if i.x >= nx || i.y >= ny || i.z >= nz {
        return;
    }
    let (width, height) = (nx + 1, ny + 1);
    let mut d = [0f32; 8];
    for k in 0..8u32 {
        let (x, y, z) = (i.x + (k & 1), i.y + (k >> 1 & 1), i.z + (k >> 2));
        d[k as usize] = *field.add(((z * height + y) * width + x) as usize);
    }
    let mut inside = 0;
    for k in 0..8 {
        if d[k] < 0.0 {
            inside += 1;
        }
    }
    let mut sum = [0f32; 3];
    let mut count = 0f32;
    if inside != 0 && inside != 8 {
        for axis in 0..3 {
            for a in 0..8 {
                if a >> axis & 1 == 0 {
                    let b = a | 1 << axis;
                    if (d[a] < 0.0) != (d[b] < 0.0) {
                        let t = d[a] / (d[a] - d[b]);
                        for k in 0..3 {
                            sum[k] += if k == axis { t } else { (a >> k & 1) as f32 };
                        }
                        count += 1.0;
                    }
                }
            }
        }
        sum[0] = i.x as f32 + sum[0] / count;
        sum[1] = i.y as f32 + sum[1] / count;
        sum[2] = i.z as f32 + sum[2] / count;
    }
    *to.add(((i.z * ny + i.y) * nx + i.x) as usize) = NetVertex {
        position: sum,
        crossings: count,
    };
}

// ---------------------------------------------------------------------------------------------
// cds_bootstrap: piecewise constant default intensities from the spreads of credit default swaps.

/// The quarters at which the swaps end.
pub const TENORS: [usize; 5] = [4, 12, 20, 28, 40];

/// The quotes of many issuers: a slice for each tenor.
struct Quotes<'a> {
    spreads: [&'a [f64]; 5],
    rate: &'a [f64],
    recovery: &'a [f64],
}

/// What is known at the end of a quarter.
#[derive(Clone, Copy)]
struct Legs {
    discount: f64,
    survival: f64,
    annuity: f64,
    protection: f64,
}

impl Legs {
    /// Continues by some quarters with a constant intensity.
    fn extended(self, quarters: usize, step_discount: f64, intensity: f64) -> Legs {
        let stay = (-0.25 * intensity).exp();
        (0..quarters).fold(self, |legs, _| {
            let discount = legs.discount * step_discount;
            let survival = legs.survival * stay;
            Legs {
                discount,
                survival,
                annuity: legs.annuity + 0.25 * discount * survival,
                protection: legs.protection + discount * (legs.survival - survival),
            }
        })
    }
}

/// The zero of an increasing function.
fn bisect(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64, tolerance: f64) -> f64 {
    while high - low > tolerance {
        let middle = 0.5 * (low + high);
        if f(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

impl Quotes<'_> {
    fn intensities(&self, issuer: usize) -> [f64; 5] {
        let step = (-0.25 * self.rate[issuer]).exp();
        let loss = 1.0 - self.recovery[issuer];
        let mut legs = Legs {
            discount: 1.0,
            survival: 1.0,
            annuity: 0.0,
            protection: 0.0,
        };
        let mut done = 0;
        let mut result = [0.0; 5];
        for (k, (&tenor, spreads)) in TENORS.iter().zip(self.spreads).enumerate() {
            let spread = spreads[issuer];
            let quarters = tenor - done;
            let excess = |intensity| {
                let end = legs.extended(quarters, step, intensity);
                loss * end.protection - spread * end.annuity
            };
            result[k] = bisect(excess, 0.0, 2.0, 1e-10);
            legs = legs.extended(quarters, step, result[k]);
            done = tenor;
        }
        result
    }
}

#[kernel(block_size(128))]
pub fn cds_bootstrap_safe(
    spreads1: &[f64],
    spreads3: &[f64],
    spreads5: &[f64],
    spreads7: &[f64],
    spreads10: &[f64],
    rate: &[f64],
    recovery: &[f64],
    mut to: PerThread<[f64; 5]>,
) {
    let spreads = [spreads1, spreads3, spreads5, spreads7, spreads10];
    let quotes = Quotes {
        spreads,
        rate,
        recovery,
    };
    to.each(|issuer, to| *to = quotes.intensities(issuer));
}

#[kernel(block_size(128))]
pub unsafe fn cds_bootstrap_raw(
    spreads1: *const f64,
    spreads3: *const f64,
    spreads5: *const f64,
    spreads7: *const f64,
    spreads10: *const f64,
    rate: *const f64,
    recovery: *const f64,
    to: *mut f64,
    n: u32,
) {
    let i = thread::index_1d() as usize;
    if i >= n as usize {
        return;
    }
    let step = (-0.25 * *rate.add(i)).exp();
    let loss = 1.0 - *recovery.add(i);
    let spreads = [
        *spreads1.add(i),
        *spreads3.add(i),
        *spreads5.add(i),
        *spreads7.add(i),
        *spreads10.add(i),
    ];
    let (mut d0, mut s0, mut a0, mut p0) = (1f64, 1f64, 0f64, 0f64);
    let mut from = 0;
    for k in 0..5 {
        let quarters = TENORS[k] - from;
        let (mut low, mut high) = (0f64, 2f64);
        while high - low > 1e-10 {
            let middle = 0.5 * (low + high);
            let stay = (-0.25 * middle).exp();
            let (mut d, mut s, mut a, mut p) = (d0, s0, a0, p0);
            for _ in 0..quarters {
                d *= step;
                let next = s * stay;
                a += 0.25 * d * next;
                p += d * (s - next);
                s = next;
            }
            if loss * p - spreads[k] * a < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let h = 0.5 * (low + high);
        let stay = (-0.25 * h).exp();
        for _ in 0..quarters {
            d0 *= step;
            let next = s0 * stay;
            a0 += 0.25 * d0 * next;
            p0 += d0 * (s0 - next);
            s0 = next;
        }
        from = TENORS[k];
        *to.add(5 * i + k) = h;
    }
}

// ---------------------------------------------------------------------------------------------
// chess_mobility: the squares that white's pieces reach, less those of black's.

/// A set of squares.
type Squares = u64;

const FILE_A: Squares = 0x0101_0101_0101_0101;
const FILE_H: Squares = FILE_A << 7;

/// A direction on the board.
#[derive(Clone, Copy)]
enum Direction {
    North,
    South,
    East,
    West,
    NorthEast,
    NorthWest,
    SouthEast,
    SouthWest,
}

use Direction::*;

const STRAIGHT: &[Direction] = &[North, South, East, West];
const DIAGONAL: &[Direction] = &[NorthEast, NorthWest, SouthEast, SouthWest];

impl Direction {
    fn step(self, from: Squares) -> Squares {
        match self {
            North => from << 8,
            South => from >> 8,
            East => (from & !FILE_H) << 1,
            West => (from & !FILE_A) >> 1,
            NorthEast => (from & !FILE_H) << 9,
            NorthWest => (from & !FILE_A) << 7,
            SouthEast => (from & !FILE_H) >> 7,
            SouthWest => (from & !FILE_A) >> 9,
        }
    }
}

/// The kinds of pieces.
#[derive(Clone, Copy)]
enum Kind {
    Pawn,
    Knight,
    Bishop,
    Rook,
    Queen,
    King,
}

/// A piece on a square.
#[derive(Clone, Copy)]
struct Piece {
    kind: Kind,
    white: bool,
    at: Squares,
}

impl Piece {
    /// Bits 0 to 5 are the square, 6 to 8 the kind, 9 is set for white.
    fn decode(code: u16) -> Option<Piece> {
        let kind = match code >> 6 & 7 {
            1 => Kind::Pawn,
            2 => Kind::Knight,
            3 => Kind::Bishop,
            4 => Kind::Rook,
            5 => Kind::Queen,
            6 => Kind::King,
            _ => return None,
        };
        Some(Piece {
            kind,
            white: code >> 9 & 1 == 1,
            at: 1 << (code & 63),
        })
    }

    fn slides(self, directions: &[Direction], occupied: Squares) -> Squares {
        let mut reached = 0;
        for direction in directions {
            let mut square = direction.step(self.at);
            while square != 0 {
                reached |= square;
                if square & occupied != 0 {
                    break;
                }
                square = direction.step(square);
            }
        }
        reached
    }

    fn reaches(self, occupied: Squares) -> Squares {
        let steps = |ways: &[Direction]| ways.iter().fold(0, |set, way| set | way.step(self.at));
        match self.kind {
            Kind::Pawn if self.white => steps(&[NorthEast, NorthWest]),
            Kind::Pawn => steps(&[SouthEast, SouthWest]),
            Kind::Knight => [(North, East), (North, West), (South, East), (South, West)]
                .into_iter()
                .map(|(a, b)| {
                    let corner = b.step(a.step(self.at));
                    a.step(corner) | b.step(corner)
                })
                .fold(0, |a, b| a | b),
            Kind::Bishop => self.slides(DIAGONAL, occupied),
            Kind::Rook => self.slides(STRAIGHT, occupied),
            Kind::Queen => self.slides(STRAIGHT, occupied) | self.slides(DIAGONAL, occupied),
            Kind::King => steps(STRAIGHT) | steps(DIAGONAL),
        }
    }
}

/// The mobility of white less that of black.
pub fn mobility(codes: &[u16; 16]) -> i32 {
    let pieces = || codes.iter().filter_map(|&code| Piece::decode(code));
    let (mut white, mut black) = (0, 0);
    for piece in pieces() {
        *if piece.white { &mut white } else { &mut black } |= piece.at;
    }
    pieces()
        .map(|piece| {
            let reached = piece.reaches(white | black);
            if piece.white {
                (reached & !white).count_ones() as i32
            } else {
                -((reached & !black).count_ones() as i32)
            }
        })
        .sum()
}

#[kernel(block_size(256))]
pub fn chess_mobility_safe(positions: &[[u16; 16]], mut to: PerThread<i32>) {
    to.each_with(positions, |_, to, position| *to = mobility(position));
}

unsafe fn chess_step(direction: u32, b: u64) -> u64 {
    match direction {
        0 => b << 8,
        1 => b >> 8,
        2 => (b & !FILE_H) << 1,
        3 => (b & !FILE_A) >> 1,
        4 => (b & !FILE_H) << 9,
        5 => (b & !FILE_A) << 7,
        6 => (b & !FILE_H) >> 7,
        _ => (b & !FILE_A) >> 9,
    }
}

#[kernel(block_size(256))]
pub unsafe fn chess_mobility_raw(positions: *const u16, to: *mut i32, n: u32) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let p = positions.add(16 * i as usize);
    let (mut white, mut black) = (0u64, 0u64);
    for k in 0..16 {
        let code = *p.add(k);
        let kind = code >> 6 & 7;
        if kind >= 1 && kind <= 6 {
            let bit = 1u64 << (code & 63);
            if code >> 9 & 1 != 0 {
                white |= bit;
            } else {
                black |= bit;
            }
        }
    }
    let occupied = white | black;
    let mut sum = 0;
    for k in 0..16 {
        let code = *p.add(k);
        let kind = code >> 6 & 7;
        if kind < 1 || kind > 6 {
            continue;
        }
        let is_white = code >> 9 & 1 != 0;
        let b = 1u64 << (code & 63);
        let mut reached = 0u64;
        if kind == 1 {
            let first = if is_white { 4 } else { 6 };
            reached = chess_step(first, b) | chess_step(first + 1, b);
        } else if kind == 2 {
            for v in 0..2 {
                for h in 2..4 {
                    let corner = chess_step(h, chess_step(v, b));
                    reached |= chess_step(v, corner) | chess_step(h, corner);
                }
            }
        } else {
            let first = if kind == 3 { 4 } else { 0 };
            let end = if kind == 4 { 4 } else { 8 };
            for d in first..end {
                let mut square = chess_step(d, b);
                while square != 0 {
                    reached |= square;
                    if kind == 6 || square & occupied != 0 {
                        break;
                    }
                    square = chess_step(d, square);
                }
            }
        }
        sum += if is_white {
            (reached & !white).count_ones() as i32
        } else {
            -((reached & !black).count_ones() as i32)
        };
    }
    *to.add(i as usize) = sum;
}

// ---------------------------------------------------------------------------------------------
// hyperloglog: the registers that estimate the number of distinct keys.

/// The number of registers.
pub const REGISTERS: usize = 1024;

/// The register of a key, and the rank that the key proposes.
pub fn rank_of(key: u64) -> (usize, u32) {
    let mut hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^= hash >> 32;
    let (register, rest) = (
        hash as usize % REGISTERS,
        hash >> REGISTERS.trailing_zeros(),
    );
    (
        register,
        rest.leading_zeros() - REGISTERS.trailing_zeros() + 1,
    )
}

#[kernel(block_size(256))]
pub fn hyperloglog_safe(
    #[shared] mut ranks: Shared<Array<Atomic<u32, Block>, REGISTERS>>,
    keys: &[u64],
    to: &[Atomic<u32, Device>],
) {
    ranks.own().each(|_, rank| *rank.get_mut() = 0);
    ranks.read(|ranks| {
        for (_, &key) in thread::elements(keys) {
            let (register, rank) = rank_of(key);
            if ranks[register].load(Relaxed) < rank {
                ranks[register].fetch_max(rank, Relaxed);
            }
        }
    });
    ranks.own().each(|i, rank| match *rank.get_mut() {
        0 => {}
        rank => _ = to[i].fetch_max(rank, Relaxed),
    });
}

#[kernel(block_size(256))]
pub unsafe fn hyperloglog_raw(keys: *const u64, to: *mut u32, n: u32) {
    let ranks = shared_array![u32; 1024];
    let mut i = thread::thread_idx_x();
    while i < 1024 {
        *ranks.add(i as usize) = 0;
        i += 256;
    }
    thread::sync_threads();
    let mut i = thread::index_1d();
    while i < n {
        let (register, rank) = rank_of(*keys.add(i as usize));
        let cell = ranks.add(register);
        if cell.read_volatile() < rank {
            Atomic::<u32, Block>::from_ptr(cell).fetch_max(rank, Relaxed);
        }
        i += thread::grid_size_1d();
    }
    thread::sync_threads();
    let mut i = thread::thread_idx_x();
    while i < 1024 {
        let rank = *ranks.add(i as usize);
        if rank != 0 {
            Atomic::<u32, Device>::from_ptr(to.add(i as usize)).fetch_max(rank, Relaxed);
        }
        i += 256;
    }
}

// ---------------------------------------------------------------------------------------------
// systematic_resample: how many children each particle of a filter gets.

/// The number of samples, of `count` equidistant ones with the first at `first / count`, that lie below
/// a cumulative weight.
fn samples_below(cumulative: u64, total: u64, first: u64, count: u64) -> u64 {
    (count * cumulative).saturating_sub(first).div_ceil(total)
}

#[kernel(block_size(256))]
pub fn systematic_resample_safe(weights: &[u32], first: &[u64], mut to: PerBlockRow<u32>) {
    let count = to.width();
    let block = group::block();
    for mut row in to.rows() {
        let weights = &weights[row.y() * count..][..count];
        let mine = thread::block_stride(count)
            .map(|i| u64::from(weights[i]))
            .sum();
        let total = block.reduce(mine, |a: u64, b| a + b);
        let first = first[row.y()] % total;
        let below = |cumulative| samples_below(cumulative, total, first, count as u64);
        let mut own = row.own();
        let mut before = 0;
        for chunk in weights.chunks(256) {
            let weight = chunk
                .get(thread::index_in_block() as usize)
                .map_or(0, |&w| u64::from(w));
            let (start, sum) = block.exclusive_scan_with_total(weight, before, |a, b| a + b);
            if let Some((_, children)) = own.next() {
                *children = (below(start + weight) - below(start)) as u32;
            }
            before += sum;
        }
    }
}

unsafe fn block_scan_u64(totals: *mut u64, value: u64) -> (u64, u64) {
    let lane = thread::lane_id();
    let warp_id = thread::thread_idx_x() as usize / 32;
    let mut scan = value;
    let mut d = 1;
    while d < 32 {
        let other = warp::shuffle_up(warp::FULL, scan, d);
        if lane >= d {
            scan += other;
        }
        d *= 2;
    }
    thread::sync_threads();
    if lane == 31 {
        *totals.add(warp_id) = scan;
    }
    thread::sync_threads();
    let mut before = 0;
    let mut all = 0;
    for w in 0..8 {
        if w == warp_id {
            before = all;
        }
        all += *totals.add(w);
    }
    (before + scan - value, all)
}

#[kernel(block_size(256))]
pub unsafe fn systematic_resample_raw(
    weights: *const u32,
    first: *const u64,
    to: *mut u32,
    count: u32,
) {
    let totals = shared_array![u64; 8];
    let tid = thread::thread_idx_x();
    let row = thread::block_idx_x() as usize;
    let weights = weights.add(row * count as usize);
    let to = to.add(row * count as usize);
    let mut mine = 0u64;
    let mut i = tid;
    while i < count {
        mine += u64::from(*weights.add(i as usize));
        i += 256;
    }
    let (_, total) = block_scan_u64(totals, mine);
    let first = *first.add(row) % total;
    let mut carry = 0;
    let mut start = 0;
    while start < count {
        let i = start + tid;
        let weight = if i < count {
            u64::from(*weights.add(i as usize))
        } else {
            0
        };
        let (before, all) = block_scan_u64(totals, weight);
        if i < count {
            let low = u64::from(count) * (carry + before);
            let high = u64::from(count) * (carry + before + weight);
            let a = if low > first {
                (low - first + total - 1) / total
            } else {
                0
            };
            let b = if high > first {
                (high - first + total - 1) / total
            } else {
                0
            };
            *to.add(i as usize) = (b - a) as u32;
        }
        carry += all;
        start += 256;
    }
}

// ---------------------------------------------------------------------------------------------
// ciede_nearest: the palette's color that is nearest to each pixel by CIEDE2000.

/// A color in CIE L*a*b*.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Lab {
    pub l: f32,
    pub a: f32,
    pub b: f32,
}

impl From<[u8; 3]> for Lab {
    fn from(rgb: [u8; 3]) -> Lab {
        let [r, g, b] = rgb.map(|c| {
            let c = f32::from(c) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        });
        let f = |t: f32| {
            if t > 0.008856 {
                t.cbrt()
            } else {
                7.787 * t + 16.0 / 116.0
            }
        };
        let x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
        let y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
        let z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
        Lab {
            l: 116.0 * y - 16.0,
            a: 500.0 * (x - y),
            b: 200.0 * (y - z),
        }
    }
}

impl Lab {
    /// The difference of two colors by CIEDE2000.
    pub fn difference(self, other: Lab) -> f32 {
        let chroma = |c: Lab| c.a.hypot(c.b);
        let seventh = |x: f32| {
            let x7 = x.powi(7);
            (x7 / (x7 + 6_103_515_625.0)).sqrt()
        };
        let g = 0.5 * (1.0 - seventh(0.5 * (chroma(self) + chroma(other))));
        let [(c1, h1), (c2, h2)] = [self, other].map(|color| {
            let a = (1.0 + g) * color.a;
            let hue = color.b.atan2(a).to_degrees();
            (a.hypot(color.b), if hue < 0.0 { hue + 360.0 } else { hue })
        });
        let (dl, dc) = (other.l - self.l, c2 - c1);
        let dh = match h2 - h1 {
            d if d > 180.0 => d - 360.0,
            d if d < -180.0 => d + 360.0,
            d => d,
        };
        let dh = 2.0 * (c1 * c2).sqrt() * (0.5 * dh).to_radians().sin();
        let (l, c) = (0.5 * (self.l + other.l), 0.5 * (c1 + c2));
        let h = match 0.5 * (h1 + h2) {
            h if (h1 - h2).abs() <= 180.0 => h,
            h if h < 180.0 => h + 180.0,
            h => h - 180.0,
        };
        let t = 1.0 - 0.17 * (h - 30.0).to_radians().cos()
            + 0.24 * (2.0 * h).to_radians().cos()
            + 0.32 * (3.0 * h + 6.0).to_radians().cos()
            - 0.20 * (4.0 * h - 63.0).to_radians().cos();
        let turn = 30.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
        let l50 = (l - 50.0).powi(2);
        let sl = 1.0 + 0.015 * l50 / (20.0 + l50).sqrt();
        let sc = 1.0 + 0.045 * c;
        let sh = 1.0 + 0.015 * c * t;
        let rt = -2.0 * seventh(c) * (2.0 * turn).to_radians().sin();
        let (x, y, z) = (dl / sl, dc / sc, dh / sh);
        (x * x + y * y + z * z + rt * y * z).max(0.0).sqrt()
    }
}

#[kernel(block_size(256))]
pub fn ciede_nearest_safe(pixels: &[[u8; 3]], palette: &[Lab], mut to: PerThread<u8>) {
    to.each_with(pixels, |_, to, &pixel| {
        let color = Lab::from(pixel);
        let nearest = palette
            .iter()
            .map(|&entry| color.difference(entry))
            .enumerate()
            .min_by(|(_, a), (_, b)| a.total_cmp(b));
        *to = nearest.map_or(0, |(i, _)| i as u8);
    });
}

#[kernel(block_size(256))]
pub unsafe fn ciede_nearest_raw(
    pixels: *const u8,
    palette: *const Lab,
    to: *mut u8,
    colors: u32,
    n: u32,
) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let p = pixels.add(3 * i as usize);
    let color = Lab::from([*p, *p.add(1), *p.add(2)]);
    let mut best = 0;
    let mut least = f32::INFINITY;
    for k in 0..colors {
        let d = color.difference(*palette.add(k as usize));
        if d < least {
            least = d;
            best = k;
        }
    }
    *to.add(i as usize) = best as u8;
}

// ---------------------------------------------------------------------------------------------
// homography: the perspective maps between quadrilaterals, and how much of a page stays visible.

/// A 3 x 3 matrix.
pub type M3 = Matrix<f32, 3, 3>;

/// A column of three numbers.
type Column3 = Matrix<f32, 3, 1>;

/// The corners of a quadrilateral.
pub type Quad = [[f32; 2]; 4];

impl M3 {
    fn adjugate(&self) -> M3 {
        Matrix::from_fn(|y, x| {
            let at = |dx: usize, dy: usize| self.0[(x + dx) % 3][(y + dy) % 3];
            at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)
        })
    }

    /// The map of the projective basis to the corners of a quadrilateral.
    fn basis(quad: &Quad) -> M3 {
        let points = quad.map(|[x, y]| [x, y, 1.0]);
        let m = M3::from_fn(|y, x| points[x][y]);
        let scale = m.adjugate() * Column3::from_fn(|y, _| points[3][y]);
        m * M3::from_fn(|y, x| if x == y { scale.0[x][0] } else { 0.0 })
    }

    fn map(&self, [x, y]: [f32; 2]) -> Option<[f32; 2]> {
        let Matrix([[u], [v], [w]]) = *self * Matrix([[x], [y], [1.0]]);
        (w > 0.0).then(|| [u / w, v / w])
    }
}

impl Mul<f32> for M3 {
    type Output = M3;

    fn mul(self, factor: f32) -> M3 {
        M3::from_fn(|y, x| self.0[y][x] * factor)
    }
}

/// The perspective map from one quadrilateral to another.
pub fn homography_of(from: &Quad, to: &Quad) -> M3 {
    let m = M3::basis(to) * M3::basis(from).adjugate();
    m * (1.0 / m.0[2][2])
}

/// How many points of a grid of 10 x 10 a map leaves in the unit square.
pub fn visible(map: &M3) -> u32 {
    let ticks = || (0..10).map(|k| (k as f32 + 0.5) / 10.0);
    ticks()
        .flat_map(|y| ticks().map(move |x| [x, y]))
        .filter_map(|point| map.map(point))
        .filter(|point| point.iter().all(|c| (0.0..1.0).contains(c)))
        .count() as u32
}

#[kernel(block_size(128))]
pub fn homography_safe(
    from: &[Quad],
    onto: &[Quad],
    mut maps: PerThread<M3>,
    mut counts: PerThread<u32>,
) {
    let index = UniqueIndex::new();
    let (Some(map), Some(count)) = (maps.get_mut(index), counts.get_mut(index)) else {
        return;
    };
    *map = homography_of(&from[index.get()], &onto[index.get()]);
    *count = visible(map);
}

fn adjugate_raw(m: &[[f32; 3]; 3]) -> [[f32; 3]; 3] {
    let [[a, b, c], [d, e, f], [g, h, i]] = *m;
    [
        [e * i - f * h, c * h - b * i, b * f - c * e],
        [f * g - d * i, a * i - c * g, c * d - a * f],
        [d * h - e * g, b * g - a * h, a * e - b * d],
    ]
}

unsafe fn basis_raw(q: *const f32) -> [[f32; 3]; 3] {
    let mut m = [[0f32; 3]; 3];
    for k in 0..3 {
        m[0][k] = *q.add(2 * k);
        m[1][k] = *q.add(2 * k + 1);
        m[2][k] = 1.0;
    }
    let adj = adjugate_raw(&m);
    let (x, y) = (*q.add(6), *q.add(7));
    for k in 0..3 {
        let s = adj[k][0] * x + adj[k][1] * y + adj[k][2];
        for r in 0..3 {
            m[r][k] *= s;
        }
    }
    m
}

#[kernel(block_size(128))]
pub unsafe fn homography_raw(
    from: *const f32,
    onto: *const f32,
    maps: *mut f32,
    counts: *mut u32,
    n: u32,
) {
    let i = thread::index_1d() as usize;
    if i >= n as usize {
        return;
    }
    let a = basis_raw(onto.add(8 * i));
    let b = adjugate_raw(&basis_raw(from.add(8 * i)));
    let mut h = [[0f32; 3]; 3];
    for y in 0..3 {
        for x in 0..3 {
            h[y][x] = a[y][0] * b[0][x] + a[y][1] * b[1][x] + a[y][2] * b[2][x];
        }
    }
    let scale = 1.0 / h[2][2];
    for y in 0..3 {
        for x in 0..3 {
            h[y][x] *= scale;
            *maps.add(9 * i + 3 * y + x) = h[y][x];
        }
    }
    let mut count = 0;
    for ky in 0..10 {
        let y = (ky as f32 + 0.5) / 10.0;
        for kx in 0..10 {
            let x = (kx as f32 + 0.5) / 10.0;
            let w = h[2][0] * x + h[2][1] * y + h[2][2];
            if w > 0.0 {
                let u = (h[0][0] * x + h[0][1] * y + h[0][2]) / w;
                let v = (h[1][0] * x + h[1][1] * y + h[1][2]) / w;
                if u >= 0.0 && u < 1.0 && v >= 0.0 && v < 1.0 {
                    count += 1;
                }
            }
        }
    }
    *counts.add(i) = count;
}

// ---------------------------------------------------------------------------------------------
// kuhn_matching: the sizes of maximum matchings of small bipartite graphs.

/// A stack with a fixed capacity.
struct Stack<T, const N: usize> {
    items: [T; N],
    len: usize,
}

impl<T: Copy + Default, const N: usize> Stack<T, N> {
    fn new() -> Self {
        Stack {
            items: [T::default(); N],
            len: 0,
        }
    }

    fn push(&mut self, item: T) {
        self.items[self.len] = item;
        self.len += 1;
    }

    fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        Some(self.items[self.len])
    }
}

/// A partial matching of 16 persons and 16 tasks.
#[derive(Default)]
struct Matching {
    task_of: [Option<u8>; 16],
    person_of: [Option<u8>; 16],
}

impl Matching {
    /// Gives `person` a task, if the others can be moved to tasks that they can do.
    fn augment(&mut self, person: u8, can_do: &[u16; 16]) -> bool {
        let mut open = Stack::<u8, 16>::new();
        let mut asked_by = [0u8; 16];
        let mut seen = 0u16;
        open.push(person);
        while let Some(person) = open.pop() {
            let mut tasks = can_do[usize::from(person)] & !seen;
            seen |= tasks;
            while tasks != 0 {
                let task = tasks.trailing_zeros() as u8;
                tasks &= tasks - 1;
                asked_by[usize::from(task)] = person;
                match self.person_of[usize::from(task)] {
                    Some(other) => open.push(other),
                    None => {
                        self.reassign(task, &asked_by);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Gives a free task to the person who asked for it, that person's task to who asked for that, and
    /// so on.
    fn reassign(&mut self, task: u8, asked_by: &[u8; 16]) {
        let mut free = Some(task);
        while let Some(task) = free {
            let person = asked_by[usize::from(task)];
            free = self.task_of[usize::from(person)].replace(task);
            self.person_of[usize::from(task)] = Some(person);
        }
    }
}

#[kernel(block_size(128))]
pub fn kuhn_matching_safe(graphs: &[[u16; 16]], mut to: PerThread<u32>) {
    to.each_with(graphs, |_, to, can_do| {
        let mut matching = Matching::default();
        *to = (0..16)
            .filter(|&person| matching.augment(person, can_do))
            .count() as u32;
    });
}

#[kernel(block_size(128))]
pub unsafe fn kuhn_matching_raw(graphs: *const u16, to: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let can_do = graphs.add(16 * i as usize);
    let mut task_of = [-1i8; 16];
    let mut person_of = [-1i8; 16];
    let mut count = 0;
    for start in 0..16 {
        let mut open = [0i8; 16];
        let mut asked_by = [0i8; 16];
        let mut len = 1;
        let mut seen = 0u32;
        open[0] = start;
        'search: while len > 0 {
            len -= 1;
            let person = open[len];
            let mut tasks = u32::from(*can_do.add(person as usize)) & !seen;
            seen |= tasks;
            while tasks != 0 {
                let mut task = tasks.trailing_zeros() as i8;
                tasks &= tasks - 1;
                asked_by[task as usize] = person;
                let other = person_of[task as usize];
                if other < 0 {
                    while task >= 0 {
                        let person = asked_by[task as usize];
                        let next = task_of[person as usize];
                        task_of[person as usize] = task;
                        person_of[task as usize] = person;
                        task = next;
                    }
                    count += 1;
                    break 'search;
                }
                open[len] = other;
                len += 1;
            }
        }
    }
    *to.add(i as usize) = count;
}

// ---------------------------------------------------------------------------------------------
// tryptic_digest: cuts proteins as trypsin does, and counts the measured masses that fit peptides.

/// The masses of the residues A to Z in thousandths of a dalton.
const RESIDUES: [u32; 26] = [
    71_037, 0, 103_009, 115_027, 129_043, 147_068, 57_021, 137_059, 113_084, 0, 128_095, 113_084,
    131_040, 114_043, 0, 97_053, 128_059, 156_101, 87_032, 101_048, 0, 99_068, 186_079, 0, 163_063,
    0,
];

/// The mass of a peptide: its residues and one water.
pub fn peptide_mass(peptide: &[u8]) -> u32 {
    18_011
        + peptide
            .iter()
            .map(|&residue| RESIDUES[usize::from(residue - b'A')])
            .sum::<u32>()
}

/// Splits a protein after its first peptide: after K or R, but not before P.
fn split_peptide(protein: &[u8]) -> (&[u8], &[u8]) {
    let cut = protein
        .windows(2)
        .position(|pair| matches!(pair, [b'K' | b'R', next] if *next != b'P'))
        .map_or(protein.len(), |i| i + 1);
    protein.split_at(cut)
}

/// The number of sorted masses that differ by at most 20 millionths.
fn fitting(masses: &[u32], mass: u32) -> usize {
    let tolerance = mass / 50_000;
    let start = masses.partition_point(|&m| m < mass - tolerance);
    masses[start..]
        .iter()
        .take_while(|&&m| m <= mass + tolerance)
        .count()
}

#[kernel(block_size(128))]
pub fn tryptic_digest_safe(proteins: &[u8], ends: &[u32], masses: &[u32], mut to: PerThread<u32>) {
    to.each(|i, to| {
        let start = i.checked_sub(1).map_or(0, |i| ends[i]);
        let mut rest = &proteins[start as usize..ends[i] as usize];
        let mut hits = 0;
        while !rest.is_empty() {
            let (peptide, after) = split_peptide(rest);
            if (5..=40).contains(&peptide.len()) {
                hits += fitting(masses, peptide_mass(peptide));
            }
            rest = after;
        }
        *to = hits as u32;
    });
}

#[kernel(block_size(128))]
pub unsafe fn tryptic_digest_raw(
    proteins: *const u8,
    ends: *const u32,
    masses: *const u32,
    count: u32,
    to: *mut u32,
    n: u32,
) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let mut p = if i == 0 { 0 } else { *ends.add(i as usize - 1) };
    let end = *ends.add(i as usize);
    let mut hits = 0;
    while p < end {
        let first = p;
        let mut mass = 18_011;
        loop {
            let residue = *proteins.add(p as usize);
            mass += RESIDUES[(residue - b'A') as usize];
            p += 1;
            if p == end || (residue == b'K' || residue == b'R') && *proteins.add(p as usize) != b'P'
            {
                break;
            }
        }
        let length = p - first;
        if length < 5 || length > 40 {
            continue;
        }
        let tolerance = mass / 50_000;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = (low + high) / 2;
            if *masses.add(middle as usize) < mass - tolerance {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        while low < count && *masses.add(low as usize) <= mass + tolerance {
            hits += 1;
            low += 1;
        }
    }
    *to.add(i as usize) = hits;
}

// ---------------------------------------------------------------------------------------------
// ring_stats: statistics of the samples in ring buffers, in the order of time.

/// The samples of a ring buffer.
pub const RING: usize = 64;

/// What is known about the samples of a ring buffer.
#[derive(Clone, Copy, Debug, Default, DeviceCopy)]
#[repr(C)]
pub struct RingStats {
    pub smoothed: f32,
    pub largest_jump: f32,
    pub turns: u32,
    pub above: u32,
}

#[kernel(block_size(128))]
pub fn ring_stats_safe(samples: &[f32], heads: &[u32], mut to: PerThread<RingStats>) {
    for (i, to) in to.own() {
        let ring = &samples[i * RING..][..RING];
        let (newer, older) = ring.split_at(heads[i] as usize);
        let in_order = older.iter().chain(newer);
        let smoothed = in_order
            .clone()
            .fold(0.0, |mean, x| mean + 0.125 * (x - mean));
        let steps = in_order
            .clone()
            .zip(in_order.clone().skip(1))
            .map(|(a, b)| b - a);
        let largest_jump = steps.clone().map(f32::abs).fold(0.0, f32::max);
        let turns = steps
            .clone()
            .zip(steps.skip(1))
            .filter(|(a, b)| a * b < 0.0)
            .count();
        let above = in_order.rev().take_while(|&&x| x > 0.25 * smoothed).count();
        *to = RingStats {
            smoothed,
            largest_jump,
            turns: turns as u32,
            above: above as u32,
        };
    }
}

#[kernel(block_size(128))]
pub unsafe fn ring_stats_raw(samples: *const f32, heads: *const u32, to: *mut RingStats, n: u32) {
    let i = thread::index_1d() as usize;
    if i >= n as usize {
        return;
    }
    let ring = samples.add(i * RING);
    let head = *heads.add(i) as usize;
    let (mut smoothed, mut largest_jump, mut turns) = (0f32, 0f32, 0);
    let (mut last, mut last_step) = (0f32, 0f32);
    for k in 0..RING {
        let x = *ring.add((head + k) % RING);
        smoothed += 0.125 * (x - smoothed);
        if k > 0 {
            let step = x - last;
            largest_jump = largest_jump.max(step.abs());
            if k > 1 && step * last_step < 0.0 {
                turns += 1;
            }
            last_step = step;
        }
        last = x;
    }
    let mut above = 0;
    while above < RING && *ring.add((head + RING - 1 - above) % RING) > 0.25 * smoothed {
        above += 1;
    }
    *to.add(i) = RingStats {
        smoothed,
        largest_jump,
        turns,
        above: above as u32,
    };
}

// ---------------------------------------------------------------------------------------------
// cusum_alarm: when the cumulative sum of each series raises an alarm.

#[kernel(block_size(256))]
pub fn cusum_alarm_safe(samples: &[f32], drift: f32, limits: &[f32], mut to: PerThread<u32>) {
    let series = to.len();
    to.each_with(limits, |i, to, &limit| {
        let alarm = samples
            .iter()
            .skip(i)
            .step_by(series)
            .scan(0.0f32, |sum, x| {
                *sum = (*sum + x - drift).max(0.0);
                Some(*sum)
            })
            .position(|sum| sum > limit);
        *to = alarm.map_or(u32::MAX, |time| time as u32);
    });
}

#[kernel(block_size(256))]
pub unsafe fn cusum_alarm_raw(
    samples: *const f32,
    drift: f32,
    limits: *const f32,
    to: *mut u32,
    series: u32,
    times: u32,
) {
    let i = thread::index_1d();
    if i >= series {
        return;
    }
    let limit = *limits.add(i as usize);
    let mut sum = 0f32;
    let mut alarm = u32::MAX;
    for time in 0..times {
        sum = (sum + *samples.add((time * series + i) as usize) - drift).max(0.0);
        if sum > limit {
            alarm = time;
            break;
        }
    }
    *to.add(i as usize) = alarm;
}

// ---------------------------------------------------------------------------------------------
// sqrt_period: the lengths of the periods of the continued fractions of square roots.

/// A step of the expansion of `(sqrt(n) + m) / d`.
#[derive(Clone, Copy)]
struct Expansion {
    m: u64,
    d: u64,
    term: u64,
}

impl Expansion {
    fn next(self, n: u64, root: u64) -> Expansion {
        let m = self.d * self.term - self.m;
        let d = (n - m * m) / self.d;
        Expansion {
            m,
            d,
            term: (root + m) / d,
        }
    }
}

/// The length of the period of the continued fraction of the square root of `n`; 0 for squares.
pub fn sqrt_period_of(n: u64) -> u32 {
    let root = n.isqrt();
    if root * root == n {
        return 0;
    }
    let first = Expansion {
        m: 0,
        d: 1,
        term: root,
    };
    let terms = core::iter::successors(Some(first), |e| Some(e.next(n, root)));
    terms.skip(1).take_while(|e| e.term != 2 * root).count() as u32 + 1
}

#[kernel(block_size(256))]
pub fn sqrt_period_safe(start: u64, mut to: PerThread<u32>) {
    for (i, to) in to.own() {
        *to = sqrt_period_of(start + i as u64);
    }
}

#[kernel(block_size(256))]
pub unsafe fn sqrt_period_raw(start: u64, to: *mut u32, count: u32) {
    let mut i = thread::index_1d();
    while i < count {
        let n = start + u64::from(i);
        let mut root = (n as f64).sqrt() as u64;
        while root * root > n {
            root -= 1;
        }
        while (root + 1) * (root + 1) <= n {
            root += 1;
        }
        let mut period = 0;
        if root * root != n {
            let (mut m, mut d, mut a) = (0u64, 1u64, root);
            loop {
                m = d * a - m;
                d = (n - m * m) / d;
                a = (root + m) / d;
                period += 1;
                if a == 2 * root {
                    break;
                }
            }
        }
        *to.add(i as usize) = period;
        i += thread::grid_size_1d();
    }
}

// ---------------------------------------------------------------------------------------------
// logistic_grad: the gradient of a logistic regression, summed by each block.

/// The number of features.
pub const FEATURES: usize = 8;

/// The loss of a sample, and its derivative by the score.
fn logistic(score: f32, label: u8) -> (f32, f32) {
    let target = f32::from(label);
    let p = 1.0 / (1.0 + (-score).exp());
    let loss = score.max(0.0) - score * target + (-score.abs()).exp().ln_1p();
    (loss, p - target)
}

fn sum_arrays(mut a: [f32; FEATURES], b: [f32; FEATURES]) -> [f32; FEATURES] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

#[kernel(block_size(256))]
pub fn logistic_grad_safe(
    samples: &[[f32; FEATURES]],
    labels: &[u8],
    weights: &[f32; FEATURES],
    mut gradients: PerBlock<f32, FEATURES>,
    mut losses: PerBlock<f32>,
) {
    let mut gradient = [0.0; FEATURES];
    let mut loss = 0.0;
    for (i, sample) in thread::elements(samples) {
        let score = sample.iter().zip(weights).map(|(x, w)| x * w).sum();
        let (l, slope) = logistic(score, labels[i]);
        loss += l;
        gradient = sum_arrays(gradient, sample.map(|x| slope * x));
    }
    let gradient = group::block().reduce(gradient, sum_arrays);
    let loss = group::block().reduce(loss, |a, b| a + b);
    gradients.each(|i, to| *to = gradient[i % FEATURES]);
    losses.each(|_, to| *to = loss);
}

#[kernel(block_size(256))]
pub unsafe fn logistic_grad_raw(
    samples: *const f32,
    labels: *const u8,
    weights: *const f32,
    gradients: *mut f32,
    losses: *mut f32,
    n: u32,
) {
    let sums = shared_array![f32; 72];
    let mut w = [0f32; 8];
    for k in 0..8 {
        w[k] = *weights.add(k);
    }
    let mut own = [0f32; 9];
    let mut i = thread::index_1d();
    while i < n {
        let mut x = [0f32; 8];
        let mut score = 0.0;
        for k in 0..8 {
            x[k] = *samples.add(8 * i as usize + k);
            score += x[k] * w[k];
        }
        let target = f32::from(*labels.add(i as usize));
        let p = 1.0 / (1.0 + (-score).exp());
        own[8] += score.max(0.0) - score * target + (-score.abs()).exp().ln_1p();
        for k in 0..8 {
            own[k] += (p - target) * x[k];
        }
        i += thread::grid_size_1d();
    }
    let warp_id = thread::thread_idx_x() as usize / 32;
    for k in 0..9 {
        let mut d = 16;
        while d > 0 {
            own[k] += warp::shuffle_xor(warp::FULL, own[k], d);
            d /= 2;
        }
        if thread::lane_id() == 0 {
            *sums.add(9 * warp_id + k) = own[k];
        }
    }
    thread::sync_threads();
    let t = thread::thread_idx_x() as usize;
    if t < 9 {
        let mut sum = 0.0;
        for v in 0..8 {
            sum += *sums.add(9 * v + t);
        }
        let block = thread::block_idx_x() as usize;
        if t < 8 {
            *gradients.add(8 * block + t) = sum;
        } else {
            *losses.add(block) = sum;
        }
    }
}

// ---------------------------------------------------------------------------------------------
// ctc_alpha: the loss of connectionist temporal classification, a block for each utterance.

/// The symbols, of which 0 is the blank.
pub const SYMBOLS: usize = 32;
/// The logarithm of an impossible path's probability.
pub const IMPOSSIBLE: f32 = -1e30;

/// The logarithm of a sum of numbers whose logarithms are given.
fn log_sum<const N: usize>(terms: [f32; N]) -> f32 {
    let most = terms.into_iter().fold(IMPOSSIBLE, f32::max);
    most + terms
        .map(|term| (term - most).exp())
        .iter()
        .sum::<f32>()
        .ln()
}

#[kernel(block_size(64))]
pub fn ctc_alpha_safe(
    #[shared] mut alpha: Shared<Array<f32, 64>>,
    log_probs: &[[f32; SYMBOLS]],
    times: usize,
    labels: &[[u8; 31]],
    lengths: &[u32],
    mut losses: PerBlock<f32>,
) {
    for mut piece in losses.pieces() {
        let utterance = piece.start();
        let steps = &log_probs[utterance * times..][..times];
        let (labels, length) = (&labels[utterance], lengths[utterance] as usize);
        let state = thread::index_in_block() as usize;
        // Between, before and after the labels are blanks.
        let symbol_of = |state: usize| match state % 2 {
            1 if state / 2 < length => usize::from(labels[state / 2]),
            _ => 0,
        };
        let symbol = symbol_of(state);
        let skips = state >= 2 && symbol != 0 && symbol != symbol_of(state - 2);
        alpha.own().each(|state, alpha| {
            *alpha = if state < 2 {
                steps[0][symbol]
            } else {
                IMPOSSIBLE
            };
        });
        for step in &steps[1..] {
            let next = alpha.read(|alpha| {
                let before = |d: usize| state.checked_sub(d).map_or(IMPOSSIBLE, |s| alpha[s]);
                let skipped = if skips { before(2) } else { IMPOSSIBLE };
                log_sum([before(0), before(1), skipped]) + step[symbol]
            });
            alpha.own().each(|_, alpha| *alpha = next);
        }
        alpha.read(|alpha| {
            piece.each(|_, loss| *loss = -log_sum([alpha[2 * length], alpha[2 * length - 1]]));
        });
    }
}

#[kernel(block_size(64))]
pub unsafe fn ctc_alpha_raw(
    log_probs: *const f32,
    times: u32,
    labels: *const u8,
    lengths: *const u32,
    losses: *mut f32,
) {
    let alpha = shared_array![f32; 64];
    let s = thread::thread_idx_x() as usize;
    let utterance = thread::block_idx_x() as usize;
    let steps = log_probs.add(utterance * times as usize * SYMBOLS);
    let labels = labels.add(31 * utterance);
    let length = *lengths.add(utterance) as usize;
    let mut symbol = 0;
    let mut skips = false;
    if s % 2 == 1 && s / 2 < length {
        symbol = usize::from(*labels.add(s / 2));
        skips = s >= 2 && symbol != usize::from(*labels.add(s / 2 - 1));
    }
    *alpha.add(s) = if s < 2 {
        *steps.add(symbol)
    } else {
        IMPOSSIBLE
    };
    for time in 1..times as usize {
        thread::sync_threads();
        let a = *alpha.add(s);
        let b = if s >= 1 {
            *alpha.add(s - 1)
        } else {
            IMPOSSIBLE
        };
        let c = if skips { *alpha.add(s - 2) } else { IMPOSSIBLE };
        let m = a.max(b).max(c);
        let sum = (a - m).exp() + (b - m).exp() + (c - m).exp();
        let next = m + sum.ln() + *steps.add(time * SYMBOLS + symbol);
        thread::sync_threads();
        *alpha.add(s) = next;
    }
    thread::sync_threads();
    if s == 0 {
        let (a, b) = (*alpha.add(2 * length), *alpha.add(2 * length - 1));
        let m = a.max(b);
        *losses.add(utterance) = -(m + ((a - m).exp() + (b - m).exp()).ln());
    }
}

// ---------------------------------------------------------------------------------------------
// crossing_segments: how many segments cross each segment, in exact arithmetic.

/// A point with integer coordinates.
#[derive(Clone, Copy, AnyBits)]
struct Point {
    x: i32,
    y: i32,
}

/// A segment.
#[derive(Clone, Copy, AnyBits)]
struct Segment {
    from: Point,
    to: Point,
}

impl Segment {
    /// Twice the area of the triangle with a point: positive if the point is to the left.
    fn area(&self, p: Point) -> i64 {
        let [ux, uy] = [self.to.x - self.from.x, self.to.y - self.from.y].map(i64::from);
        let [vx, vy] = [p.x - self.from.x, p.y - self.from.y].map(i64::from);
        ux * vy - uy * vx
    }

    fn separates(&self, other: &Segment) -> bool {
        (self.area(other.from) > 0) != (self.area(other.to) > 0)
    }

    fn near(&self, other: &Segment) -> bool {
        let overlap = |get: fn(&Point) -> i32| {
            let (a, b) = (get(&self.from), get(&self.to));
            let (c, d) = (get(&other.from), get(&other.to));
            a.min(b) <= c.max(d) && c.min(d) <= a.max(b)
        };
        overlap(|p| p.x) && overlap(|p| p.y)
    }

    fn crosses(&self, other: &Segment) -> bool {
        self.near(other) && self.separates(other) && other.separates(self)
    }
}

/// Segments, as a slice for each coordinate.
struct Segments<'a> {
    x0: &'a [i32],
    y0: &'a [i32],
    x1: &'a [i32],
    y1: &'a [i32],
}

impl Segments<'_> {
    fn get(&self, i: usize) -> Option<Segment> {
        Some(Segment {
            from: Point {
                x: *self.x0.get(i)?,
                y: *self.y0.get(i)?,
            },
            to: Point {
                x: *self.x1.get(i)?,
                y: *self.y1.get(i)?,
            },
        })
    }
}

#[kernel(block_size(128))]
pub fn crossing_segments_safe(
    #[shared] mut tile: Shared<Array<Segment, 128>>,
    x0: &[i32],
    y0: &[i32],
    x1: &[i32],
    y1: &[i32],
    counts: &[Atomic<u32, Device>],
) {
    let segments = Segments { x0, y0, x1, y1 };
    let i = thread::index_1d() as usize;
    let mine = segments.get(i);
    let (part, parts) = (
        thread::block_idx_y() as usize,
        thread::grid_dim_y() as usize,
    );
    let mut count = 0;
    for start in (0..x0.len()).step_by(128).skip(part).step_by(parts) {
        // Past the end are points, which cross nothing.
        let nowhere = Point {
            x: i32::MAX,
            y: i32::MAX,
        };
        tile.own().each(|k, to| {
            *to = segments.get(start + k).unwrap_or(Segment {
                from: nowhere,
                to: nowhere,
            });
        });
        tile.read(|tile| {
            if let Some(mine) = &mine {
                count += tile.iter().filter(|other| mine.crosses(other)).count();
            }
        });
    }
    if let Some(total) = counts.get(i) {
        total.fetch_add(count as u32, Relaxed);
    }
}

#[kernel(block_size(128))]
pub unsafe fn crossing_segments_raw(
    x0: *const i32,
    y0: *const i32,
    x1: *const i32,
    y1: *const i32,
    counts: *mut u32,
    n: u32,
) {
    let tile = shared_array![[i32; 4]; 128];
    let t = thread::thread_idx_x();
    let i = thread::index_1d();
    let mut s = [0i32; 4];
    if i < n {
        let i = i as usize;
        s = [*x0.add(i), *y0.add(i), *x1.add(i), *y1.add(i)];
    }
    let mut count = 0;
    let mut start = 128 * thread::block_idx_y();
    while start < n {
        let k = (start + t) as usize;
        *tile.add(t as usize) = if k < n as usize {
            [*x0.add(k), *y0.add(k), *x1.add(k), *y1.add(k)]
        } else {
            [i32::MAX; 4]
        };
        thread::sync_threads();
        for k in 0..128 {
            let o = *tile.add(k);
            if s[0].min(s[2]) <= o[0].max(o[2])
                && o[0].min(o[2]) <= s[0].max(s[2])
                && s[1].min(s[3]) <= o[1].max(o[3])
                && o[1].min(o[3]) <= s[1].max(s[3])
            {
                let (ux, uy) = (i64::from(s[2] - s[0]), i64::from(s[3] - s[1]));
                let a = ux * i64::from(o[1] - s[1]) - uy * i64::from(o[0] - s[0]);
                let b = ux * i64::from(o[3] - s[1]) - uy * i64::from(o[2] - s[0]);
                if (a > 0) != (b > 0) {
                    let (ux, uy) = (i64::from(o[2] - o[0]), i64::from(o[3] - o[1]));
                    let a = ux * i64::from(s[1] - o[1]) - uy * i64::from(s[0] - o[0]);
                    let b = ux * i64::from(s[3] - o[1]) - uy * i64::from(s[2] - o[0]);
                    if (a > 0) != (b > 0) {
                        count += 1;
                    }
                }
            }
        }
        thread::sync_threads();
        start += 128 * thread::grid_dim_y();
    }
    if i < n {
        Atomic::<u32, Device>::from_ptr(counts.add(i as usize)).fetch_add(count, Relaxed);
    }
}

// ---------------------------------------------------------------------------------------------
// star_centroids: the position, brightness and size of stars in the stamps of an image.

/// The width and height of a stamp.
pub const STAMP: usize = 32;

/// A star that was measured.
#[derive(Clone, Copy, Debug, Default, DeviceCopy)]
#[repr(C)]
pub struct Star {
    pub x: f32,
    pub y: f32,
    pub flux: f32,
    pub radius: f32,
}

/// Weighted sums over pixels.
#[derive(Clone, Copy, Default, AnyBits)]
struct Moments {
    weight: f32,
    x: f32,
    y: f32,
    r2: f32,
}

impl Add for Moments {
    type Output = Moments;

    fn add(self, other: Moments) -> Moments {
        Moments {
            weight: self.weight + other.weight,
            x: self.x + other.x,
            y: self.y + other.y,
            r2: self.r2 + other.r2,
        }
    }
}

/// A pixel of a stamp.
#[derive(Clone, Copy)]
struct StampPixel {
    x: f32,
    y: f32,
    value: f32,
}

impl StampPixel {
    fn is_border(&self) -> bool {
        [self.x, self.y]
            .iter()
            .any(|c| *c == 0.0 || *c == (STAMP - 1) as f32)
    }
}

#[kernel(block_size(32, 8))]
pub fn star_centroids_safe(
    image: &[u16],
    width: usize,
    corners: &[[u32; 2]],
    mut stars: PerBlock<Star>,
) {
    let block = group::block();
    for mut piece in stars.pieces() {
        let [x0, y0] = corners[piece.start()].map(|c| c as usize);
        let (tx, ty) = (
            thread::thread_idx_x() as usize,
            thread::thread_idx_y() as usize,
        );
        let pixels: [StampPixel; STAMP / 8] = array::from_fn(|k| {
            let y = ty + 8 * k;
            let value = f32::from(image[(y0 + y) * width + x0 + tx]);
            StampPixel {
                x: tx as f32,
                y: y as f32,
                value,
            }
        });
        let sum = |f: &dyn Fn(&StampPixel) -> Moments| {
            block.reduce(
                pixels.iter().map(f).fold(Moments::default(), Add::add),
                Add::add,
            )
        };
        let border = sum(&|p| {
            let weight = f32::from(u8::from(p.is_border()));
            Moments {
                weight,
                x: weight * p.value,
                ..Moments::default()
            }
        });
        let sky = border.x / border.weight;
        let center = (STAMP - 1) as f32 / 2.0;
        let mut star = Star {
            x: center,
            y: center,
            flux: 0.0,
            radius: 6.0,
        };
        for _ in 0..5 {
            let m = sum(&|p| {
                let (dx, dy) = (p.x - star.x, p.y - star.y);
                let r2 = dx * dx + dy * dy;
                let window = (-0.5 * r2 / (star.radius * star.radius)).exp();
                let weight = window * (p.value - sky).max(0.0);
                Moments {
                    weight,
                    x: weight * dx,
                    y: weight * dy,
                    r2: weight * r2,
                }
            });
            if m.weight < 1.0 {
                break;
            }
            star.x += 2.0 * m.x / m.weight;
            star.y += 2.0 * m.y / m.weight;
            star.radius = (m.r2 / m.weight).sqrt().clamp(1.0, 8.0);
            star.flux = m.weight;
        }
        piece.each(|_, to| *to = star);
    }
}

unsafe fn block_sum4(shared: *mut [f32; 4], mut v: [f32; 4]) -> [f32; 4] {
    for k in 0..4 {
        let mut d = 16;
        while d > 0 {
            v[k] += warp::shuffle_xor(warp::FULL, v[k], d);
            d /= 2;
        }
    }
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        *shared.add(thread::thread_idx_y() as usize) = v;
    }
    thread::sync_threads();
    let mut sum = [0f32; 4];
    for w in 0..8 {
        let other = *shared.add(w);
        for k in 0..4 {
            sum[k] += other[k];
        }
    }
    sum
}

#[kernel(block_size(32, 8))]
pub unsafe fn star_centroids_raw(
    image: *const u16,
    width: u32,
    corners: *const u32,
    stars: *mut f32,
) {
    let shared = shared_array![[f32; 4]; 8];
    let block = thread::block_idx_x() as usize;
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (x0, y0) = (*corners.add(2 * block), *corners.add(2 * block + 1));
    let mut value = [0f32; 4];
    let mut border = [0f32; 4];
    for k in 0..4 {
        let y = ty + 8 * k as u32;
        value[k] = f32::from(*image.add(((y0 + y) * width + x0 + tx) as usize));
        if tx == 0 || tx == 31 || y == 0 || y == 31 {
            border[0] += 1.0;
            border[1] += value[k];
        }
    }
    let border = block_sum4(shared, border);
    let sky = border[1] / border[0];
    let (mut sx, mut sy, mut flux, mut radius) = (15.5f32, 15.5f32, 0f32, 6f32);
    for _ in 0..5 {
        let mut m = [0f32; 4];
        for k in 0..4 {
            let (dx, dy) = (tx as f32 - sx, (ty + 8 * k as u32) as f32 - sy);
            let r2 = dx * dx + dy * dy;
            let w = (-0.5 * r2 / (radius * radius)).exp() * (value[k] - sky).max(0.0);
            m[0] += w;
            m[1] += w * dx;
            m[2] += w * dy;
            m[3] += w * r2;
        }
        let m = block_sum4(shared, m);
        if m[0] < 1.0 {
            break;
        }
        sx += 2.0 * m[1] / m[0];
        sy += 2.0 * m[2] / m[0];
        radius = (m[3] / m[0]).sqrt().max(1.0).min(8.0);
        flux = m[0];
    }
    if tx == 0 && ty == 0 {
        let to = stars.add(4 * block);
        *to = sx;
        *to.add(1) = sy;
        *to.add(2) = flux;
        *to.add(3) = radius;
    }
}

// ---------------------------------------------------------------------------------------------
// lomb_scargle: the power of an irregularly sampled signal at each frequency.

#[kernel(block_size(128))]
pub fn lomb_scargle_safe(
    times: &[f64],
    values: &[f64],
    first: f64,
    step: f64,
    mut powers: PerBlock<f64>,
) {
    let block = group::block();
    let own = || thread::block_stride(times.len()).map(|i| (times[i], values[i]));
    for mut piece in powers.pieces() {
        let omega = first + step * piece.start() as f64;
        let double = own().fold([0.0; 2], |[s, c], (t, _)| {
            let (sin, cos) = (2.0 * omega * t).sin_cos();
            [s + sin, c + cos]
        });
        let [s, c] = block.reduce(double, |a: [f64; 2], b| [a[0] + b[0], a[1] + b[1]]);
        let offset = s.atan2(c) / (2.0 * omega);
        let sums = own().fold([0.0; 4], |[yc, cc, ys, ss], (t, y)| {
            let (sin, cos) = (omega * (t - offset)).sin_cos();
            [yc + y * cos, cc + cos * cos, ys + y * sin, ss + sin * sin]
        });
        let [yc, cc, ys, ss] = block.reduce(sums, |a: [f64; 4], b| array::from_fn(|k| a[k] + b[k]));
        piece.each(|_, power| *power = 0.5 * (yc * yc / cc + ys * ys / ss));
    }
}

unsafe fn block_sum_f64<const N: usize>(shared: *mut f64, mut v: [f64; N]) -> [f64; N] {
    let warp_id = thread::thread_idx_x() as usize / 32;
    thread::sync_threads();
    for k in 0..N {
        let mut d = 16;
        while d > 0 {
            v[k] += warp::shuffle_xor(warp::FULL, v[k], d);
            d /= 2;
        }
        if thread::lane_id() == 0 {
            *shared.add(warp_id * N + k) = v[k];
        }
    }
    thread::sync_threads();
    for k in 0..N {
        v[k] = 0.0;
        for w in 0..4 {
            v[k] += *shared.add(w * N + k);
        }
    }
    v
}

#[kernel(block_size(128))]
pub unsafe fn lomb_scargle_raw(
    times: *const f64,
    values: *const f64,
    first: f64,
    step: f64,
    powers: *mut f64,
    n: u32,
) {
    let shared = shared_array![f64; 16];
    let omega = first + step * f64::from(thread::block_idx_x());
    let mut sums = [0f64; 2];
    let mut i = thread::thread_idx_x();
    while i < n {
        let (sin, cos) = (2.0 * omega * *times.add(i as usize)).sin_cos();
        sums[0] += sin;
        sums[1] += cos;
        i += 128;
    }
    let sums = block_sum_f64(shared, sums);
    let offset = sums[0].atan2(sums[1]) / (2.0 * omega);
    let mut sums = [0f64; 4];
    let mut i = thread::thread_idx_x();
    while i < n {
        let (sin, cos) = (omega * (*times.add(i as usize) - offset)).sin_cos();
        let y = *values.add(i as usize);
        sums[0] += y * cos;
        sums[1] += cos * cos;
        sums[2] += y * sin;
        sums[3] += sin * sin;
        i += 128;
    }
    let [yc, cc, ys, ss] = block_sum_f64(shared, sums);
    if thread::thread_idx_x() == 0 {
        *powers.add(thread::block_idx_x() as usize) = 0.5 * (yc * yc / cc + ys * ys / ss);
    }
}

// ---------------------------------------------------------------------------------------------
// lz_match: the longest earlier match of each position of a text, for a compressor.

/// The largest distance of a match.
pub const WINDOW: usize = 512;
/// The largest length of a match.
pub const LONGEST: usize = 18;
/// The positions of a block.
const POSITIONS: usize = 256;

/// The number of bytes at the start that two texts have in common.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[kernel(block_size(256))]
pub fn lz_match_safe(
    #[shared] mut window: Shared<Array<u8, { WINDOW + POSITIONS + LONGEST }>>,
    text: &[u8],
    mut to: PerBlock<u32, POSITIONS>,
) {
    for mut piece in to.pieces() {
        let start = piece.start();
        window.own().each(|i, byte| {
            let at = (start + i).checked_sub(WINDOW);
            *byte = at.and_then(|at| text.get(at)).copied().unwrap_or(0);
        });
        window.read(|window| {
            piece.each(|i, to| {
                let at = i - start + WINDOW;
                let rest = &window[at..][..LONGEST.min(text.len() - i)];
                let best = (1..=WINDOW.min(i))
                    .map(|distance| (common_prefix(rest, &window[at - distance..]), distance))
                    .filter(|&(length, _)| length >= 3)
                    .max_by_key(|&(length, distance)| (length, core::cmp::Reverse(distance)));
                *to = best.map_or(0, |(length, distance)| (length << 16 | distance) as u32);
            });
        });
    }
}

#[kernel(block_size(256))]
pub unsafe fn lz_match_raw(text: *const u8, to: *mut u32, n: u32) {
    let window = shared_array![u8; 786];
    let start = 256 * thread::block_idx_x();
    let t = thread::thread_idx_x();
    let mut i = t;
    while i < 786 {
        let at = start + i;
        *window.add(i as usize) = if at >= 512 && at - 512 < n {
            *text.add((at - 512) as usize)
        } else {
            0
        };
        i += 256;
    }
    thread::sync_threads();
    let i = start + t;
    if i >= n {
        return;
    }
    let longest = (n - i).min(18);
    let farthest = i.min(512);
    let here = window.add(512 + t as usize);
    let mut best = 2;
    let mut result = 0;
    for distance in 1..=farthest {
        let there = here.sub(distance as usize);
        let mut length = 0;
        while length < longest && *here.add(length as usize) == *there.add(length as usize) {
            length += 1;
        }
        if length > best {
            best = length;
            result = length << 16 | distance;
        }
    }
    *to.add(i as usize) = result;
}

// ---------------------------------------------------------------------------------------------
// pagerank_pull: a step of PageRank, eight lanes for each page.

/// The links to each page.
struct Links<'a> {
    starts: &'a [u32],
    sources: &'a [u32],
}

impl<'a> Links<'a> {
    fn to(&self, page: usize) -> &'a [u32] {
        &self.sources[self.starts[page] as usize..self.starts[page + 1] as usize]
    }
}

#[kernel(block_size(256))]
pub fn pagerank_pull_safe(
    starts: &[u32],
    sources: &[u32],
    shares: &[f32],
    damping: f32,
    mut ranks: PerWarp<f32, 4>,
) {
    let links = Links { starts, sources };
    let pages = ranks.len();
    let base = (1.0 - damping) / pages as f32;
    let tile = group::tile::<8>();
    for mut piece in ranks.pieces() {
        let page = piece.start() + tile.number() as usize % 4;
        let sources = if page < pages { links.to(page) } else { &[] };
        let mine = sources.iter().skip(tile.rank() as usize).step_by(8);
        let mine: f32 = mine.map(|&source| shares[source as usize]).sum();
        let sum = tile.reduce(mine, |a, b| a + b);
        // The lane that owns a page's rank is not in the page's tile.
        let sum = warp::shuffle(warp::FULL, sum, thread::lane_id() * 8);
        piece.each(|_, rank| *rank = base + damping * sum);
    }
}

#[kernel(block_size(256))]
pub unsafe fn pagerank_pull_raw(
    starts: *const u32,
    sources: *const u32,
    shares: *const f32,
    damping: f32,
    ranks: *mut f32,
    pages: u32,
) {
    let page = thread::index_1d() / 8;
    let rank = thread::thread_idx_x() % 8;
    let mut sum = 0f32;
    if page < pages {
        let mut k = *starts.add(page as usize) + rank;
        let end = *starts.add(page as usize + 1);
        while k < end {
            sum += *shares.add(*sources.add(k as usize) as usize);
            k += 8;
        }
    }
    sum += warp::shuffle_xor(warp::FULL, sum, 4);
    sum += warp::shuffle_xor(warp::FULL, sum, 2);
    sum += warp::shuffle_xor(warp::FULL, sum, 1);
    if page < pages && rank == 0 {
        *ranks.add(page as usize) = (1.0 - damping) / pages as f32 + damping * sum;
    }
}

// ---------------------------------------------------------------------------------------------
// fuzzy_control: a fuzzy controller with two inputs, five sets for each, and a centroid.

/// A fuzzy set of numbers.
trait Membership {
    /// How far a number belongs to the set, from 0 to 1.
    fn degree(&self, x: f32) -> f32;
}

struct Triangle(f32, f32, f32);
struct Trapezoid(f32, f32, f32, f32);
struct Gaussian {
    center: f32,
    width: f32,
}
struct Sigmoid {
    center: f32,
    slope: f32,
}

impl Membership for Triangle {
    fn degree(&self, x: f32) -> f32 {
        let Triangle(a, b, c) = *self;
        ((x - a) / (b - a)).min((c - x) / (c - b)).max(0.0)
    }
}

impl Membership for Trapezoid {
    fn degree(&self, x: f32) -> f32 {
        let Trapezoid(a, b, c, d) = *self;
        ((x - a) / (b - a)).min((d - x) / (d - c)).clamp(0.0, 1.0)
    }
}

impl Membership for Gaussian {
    fn degree(&self, x: f32) -> f32 {
        (-0.5 * ((x - self.center) / self.width).powi(2)).exp()
    }
}

impl Membership for Sigmoid {
    fn degree(&self, x: f32) -> f32 {
        1.0 / (1.0 + (-self.slope * (x - self.center)).exp())
    }
}

type Sets = [&'static (dyn Membership + Sync); 5];

static INPUT_SETS: Sets = [
    &Sigmoid {
        center: -0.6,
        slope: -12.0,
    },
    &Triangle(-0.8, -0.35, 0.1),
    &Gaussian {
        center: 0.0,
        width: 0.2,
    },
    &Triangle(-0.1, 0.35, 0.8),
    &Sigmoid {
        center: 0.6,
        slope: 12.0,
    },
];

static OUTPUT_SETS: Sets = [
    &Trapezoid(-1.5, -1.2, -0.8, -0.5),
    &Triangle(-0.8, -0.4, 0.0),
    &Triangle(-0.2, 0.0, 0.2),
    &Triangle(0.0, 0.4, 0.8),
    &Trapezoid(0.5, 0.8, 1.2, 1.5),
];

/// The points at which the output is sampled.
const LEVELS: usize = 32;

/// The controller's answer to an error and its rate.
pub fn fuzzy_answer(error: f32, rate: f32) -> f32 {
    let errors = INPUT_SETS.map(|set| set.degree(error));
    let rates = INPUT_SETS.map(|set| set.degree(rate));
    let mut strengths = [0f32; 5];
    for (i, e) in errors.iter().enumerate() {
        for (j, r) in rates.iter().enumerate() {
            let strength = &mut strengths[(i + j).clamp(2, 6) - 2];
            *strength = strength.max(e.min(*r));
        }
    }
    let (mass, moment) = (0..LEVELS)
        .map(|k| -1.2 + 2.4 * k as f32 / (LEVELS - 1) as f32)
        .map(|y| {
            let degree = OUTPUT_SETS
                .iter()
                .zip(strengths)
                .map(|(set, strength)| set.degree(y).min(strength))
                .fold(0.0, f32::max);
            (degree, degree * y)
        })
        .fold((0.0, 0.0), |(mass, moment), (m, y)| (mass + m, moment + y));
    if mass > 0.0 { moment / mass } else { 0.0 }
}

#[kernel(block_size(256))]
pub fn fuzzy_control_safe(errors: &[f32], rates: &[f32], mut to: PerThread<f32>) {
    to.each_with((errors, rates), |_, to, (&error, &rate)| {
        *to = fuzzy_answer(error, rate)
    });
}

fn triangle_raw(x: f32, a: f32, b: f32, c: f32) -> f32 {
    ((x - a) / (b - a)).min((c - x) / (c - b)).max(0.0)
}

fn trapezoid_raw(x: f32, a: f32, b: f32, c: f32, d: f32) -> f32 {
    ((x - a) / (b - a)).min((d - x) / (d - c)).min(1.0).max(0.0)
}

fn input_raw(k: u32, x: f32) -> f32 {
    match k {
        0 => 1.0 / (1.0 + (12.0 * (x + 0.6)).exp()),
        1 => triangle_raw(x, -0.8, -0.35, 0.1),
        2 => (-0.5 * (x / 0.2) * (x / 0.2)).exp(),
        3 => triangle_raw(x, -0.1, 0.35, 0.8),
        _ => 1.0 / (1.0 + (-12.0 * (x - 0.6)).exp()),
    }
}

fn output_raw(k: u32, x: f32) -> f32 {
    match k {
        0 => trapezoid_raw(x, -1.5, -1.2, -0.8, -0.5),
        1 => triangle_raw(x, -0.8, -0.4, 0.0),
        2 => triangle_raw(x, -0.2, 0.0, 0.2),
        3 => triangle_raw(x, 0.0, 0.4, 0.8),
        _ => trapezoid_raw(x, 0.5, 0.8, 1.2, 1.5),
    }
}

#[kernel(block_size(256))]
pub unsafe fn fuzzy_control_raw(errors: *const f32, rates: *const f32, to: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let (error, rate) = (*errors.add(i as usize), *rates.add(i as usize));
    let (mut e, mut r) = ([0f32; 5], [0f32; 5]);
    for k in 0..5 {
        e[k] = input_raw(k as u32, error);
        r[k] = input_raw(k as u32, rate);
    }
    let mut strengths = [0f32; 5];
    for i in 0..5usize {
        for j in 0..5usize {
            let k = if i + j < 2 {
                0
            } else if i + j > 6 {
                4
            } else {
                i + j - 2
            };
            strengths[k] = strengths[k].max(e[i].min(r[j]));
        }
    }
    let (mut mass, mut moment) = (0f32, 0f32);
    for k in 0..LEVELS {
        let y = -1.2 + 2.4 * k as f32 / (LEVELS - 1) as f32;
        let mut degree = 0f32;
        for s in 0..5 {
            degree = degree.max(output_raw(s as u32, y).min(strengths[s]));
        }
        mass += degree;
        moment += degree * y;
    }
    *to.add(i as usize) = if mass > 0.0 { moment / mass } else { 0.0 };
}

// ---------------------------------------------------------------------------------------------
// dwell_times: how long a molecule stays in each of four states.

/// The samples of a trace.
pub const TRACE: usize = 256;

/// The visits of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Visits {
    pub count: u16,
    pub longest: u16,
}

#[kernel(block_size(128))]
pub fn dwell_times_safe(traces: &[[u8; TRACE]], mut to: PerThread<[Visits; 4]>) {
    to.each_with(traces, |_, to, trace| {
        let mut visits = [Visits::default(); 4];
        // When the first visit began is not known.
        for run in trace.chunk_by(|a, b| a == b).skip(1) {
            let state = &mut visits[usize::from(run[0] & 3)];
            state.count += 1;
            state.longest = state.longest.max(run.len() as u16);
        }
        *to = visits;
    });
}

#[kernel(block_size(128))]
pub unsafe fn dwell_times_raw(traces: *const u8, to: *mut u16, n: u32) {
    let i = thread::index_1d() as usize;
    if i >= n as usize {
        return;
    }
    let trace = traces.add(TRACE * i);
    let mut count = [0u16; 4];
    let mut longest = [0u16; 4];
    let mut state = *trace;
    let mut start = 0;
    for k in 1..=TRACE {
        if k == TRACE || *trace.add(k) != state {
            if start > 0 {
                let s = (state & 3) as usize;
                count[s] += 1;
                longest[s] = longest[s].max((k - start) as u16);
            }
            if k < TRACE {
                state = *trace.add(k);
                start = k;
            }
        }
    }
    for s in 0..4 {
        *to.add(8 * i + 2 * s) = count[s];
        *to.add(8 * i + 2 * s + 1) = longest[s];
    }
}

// ---------------------------------------------------------------------------------------------
// g711_mix: mixes the channels of a telephone conference, in mu-law and A-law.

/// A fixed-point fraction with 15 bits.
#[derive(Clone, Copy)]
struct Q15(i16);

impl Mul<i16> for Q15 {
    type Output = i16;

    fn mul(self, sample: i16) -> i16 {
        ((i32::from(self.0) * i32::from(sample)) >> 15) as i16
    }
}

/// How a channel is encoded.
#[derive(Clone, Copy)]
enum Codec {
    MuLaw,
    ALaw,
}

impl Codec {
    fn from_code(code: u8) -> Option<Codec> {
        match code {
            0 => Some(Codec::MuLaw),
            8 => Some(Codec::ALaw),
            _ => None,
        }
    }

    fn decode(self, byte: u8) -> i16 {
        match self {
            Codec::MuLaw => {
                let u = !byte;
                let magnitude = ((i16::from(u & 15) << 3) + 132 << (u >> 4 & 7)) - 132;
                if u & 128 != 0 { -magnitude } else { magnitude }
            }
            Codec::ALaw => {
                let a = byte ^ 0x55;
                let mantissa = i16::from(a & 15) << 4;
                let magnitude = match a >> 4 & 7 {
                    0 => mantissa + 8,
                    exponent => mantissa + 264 << (exponent - 1),
                };
                if a & 128 != 0 { magnitude } else { -magnitude }
            }
        }
    }
}

fn encode_mu_law(sample: i16) -> u8 {
    let magnitude = sample.unsigned_abs().min(32_635) + 132;
    let exponent = magnitude.ilog2() - 7;
    let mantissa = magnitude >> (exponent + 3) & 15;
    let sign = if sample < 0 { 128 } else { 0 };
    !(sign | (exponent as u8) << 4 | mantissa as u8)
}

/// A channel of a conference.
struct Channel<'a> {
    codec: Codec,
    gain: Q15,
    samples: &'a [u8],
}

impl Channel<'_> {
    fn sample(&self, i: usize) -> i16 {
        self.gain * self.codec.decode(self.samples[i])
    }
}

#[kernel(block_size(256))]
pub fn g711_mix_safe(samples: &[u8], codecs: &[u8], gains: &[i16], mut to: PerThread<u8>) {
    let length = to.len();
    for (i, to) in to.own() {
        let channels = samples
            .chunks_exact(length)
            .zip(codecs.iter().zip(gains))
            .filter_map(|(samples, (&code, &gain))| {
                Some(Channel {
                    codec: Codec::from_code(code)?,
                    gain: Q15(gain),
                    samples,
                })
            });
        let mixed = channels
            .map(|channel| channel.sample(i))
            .fold(0, i16::saturating_add);
        *to = encode_mu_law(mixed);
    }
}

#[kernel(block_size(256))]
pub unsafe fn g711_mix_raw(
    samples: *const u8,
    codecs: *const u8,
    gains: *const i16,
    to: *mut u8,
    channels: u32,
    n: u32,
) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let mut sum = 0i32;
    for c in 0..channels {
        let byte = i32::from(*samples.add((c * n + i) as usize));
        let value = match *codecs.add(c as usize) {
            0 => {
                let u = !byte & 255;
                let m = (((u & 15) << 3) + 132 << (u >> 4 & 7)) - 132;
                if u & 128 != 0 { -m } else { m }
            }
            8 => {
                let a = byte ^ 0x55;
                let e = a >> 4 & 7;
                let m = (a & 15) << 4;
                let m = if e == 0 { m + 8 } else { m + 264 << (e - 1) };
                if a & 128 != 0 { m } else { -m }
            }
            _ => continue,
        };
        sum += value * i32::from(*gains.add(c as usize)) >> 15;
        sum = sum.max(-32_768).min(32_767);
    }
    let magnitude = sum.abs().min(32_635) + 132;
    let exponent = 24 - magnitude.leading_zeros() as i32;
    let mantissa = magnitude >> (exponent + 3) & 15;
    let sign = if sum < 0 { 128 } else { 0 };
    *to.add(i as usize) = !(sign | exponent << 4 | mantissa) as u8;
}

// ---------------------------------------------------------------------------------------------
// hull_areas: the areas of the convex hulls of small sets of points.

/// The points of a set.
pub const HULL: usize = 12;

/// A point of the plane.
type Point2 = [f32; 2];

/// Twice the area of a triangle: positive if it turns left.
fn turn(a: Point2, b: Point2, c: Point2) -> f32 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Adds the points to a chain that only turns left.
fn chain(points: impl Iterator<Item = Point2>) -> Stack<Point2, HULL> {
    let mut chain = Stack::new();
    for point in points {
        while let [.., a, b] = chain.items[..chain.len]
            && turn(a, b, point) <= 0.0
        {
            chain.pop();
        }
        chain.push(point);
    }
    chain
}

/// The area of the convex hull of points.
pub fn hull_area(mut points: [Point2; HULL]) -> f32 {
    points.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let lower = chain(points.iter().copied());
    let upper = chain(points.iter().rev().copied());
    [lower, upper]
        .iter()
        .flat_map(|chain| chain.items[..chain.len].windows(2))
        .map(|edge| 0.5 * (edge[0][0] * edge[1][1] - edge[0][1] * edge[1][0]))
        .sum()
}

#[kernel(block_size(128))]
pub fn hull_areas_safe(sets: &[[Point2; HULL]], mut to: PerThread<f32>) {
    to.each_with(sets, |_, to, points| *to = hull_area(*points));
}

#[kernel(block_size(128))]
pub unsafe fn hull_areas_raw(sets: *const f32, to: *mut f32, n: u32) {
    let i = thread::index_1d() as usize;
    if i >= n as usize {
        return;
    }
    let from = sets.add(2 * HULL * i);
    let mut p = [[0f32; 2]; HULL];
    for k in 0..HULL {
        let q = [*from.add(2 * k), *from.add(2 * k + 1)];
        let mut j = k;
        while j > 0 && (p[j - 1][0] > q[0] || p[j - 1][0] == q[0] && p[j - 1][1] > q[1]) {
            p[j] = p[j - 1];
            j -= 1;
        }
        p[j] = q;
    }
    let mut area = 0f32;
    for side in 0..2 {
        let mut hull = [[0f32; 2]; HULL];
        let mut len = 0;
        for k in 0..HULL {
            let c = p[if side == 0 { k } else { HULL - 1 - k }];
            while len >= 2 && turn(hull[len - 2], hull[len - 1], c) <= 0.0 {
                len -= 1;
            }
            hull[len] = c;
            len += 1;
        }
        for k in 1..len {
            let (a, b) = (hull[k - 1], hull[k]);
            area += 0.5 * (a[0] * b[1] - a[1] * b[0]);
        }
    }
    *to.add(i) = area;
}

// ---------------------------------------------------------------------------------------------
// critical_path: how long small projects take, by a topological order of their tasks.

/// The tasks of a project.
pub const TASKS: usize = 24;

/// A queue with a fixed capacity.
struct Queue<T, const N: usize> {
    items: [Option<T>; N],
    head: usize,
    len: usize,
}

impl<T: Copy, const N: usize> Queue<T, N> {
    fn new() -> Self {
        Queue {
            items: [None; N],
            head: 0,
            len: 0,
        }
    }

    fn push_back(&mut self, item: T) {
        self.items[(self.head + self.len) % N] = Some(item);
        self.len += 1;
    }

    fn pop_front(&mut self) -> Option<T> {
        let item = self.items[self.head].take()?;
        self.head = (self.head + 1) % N;
        self.len -= 1;
        Some(item)
    }
}

/// The tasks of a project: how long each takes, and which ones wait for it.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
pub struct Project {
    pub followers: [u32; TASKS],
    pub durations: [u8; TASKS],
}

/// The elements of a set.
fn members(mut set: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}

impl Project {
    /// When the last task ends, or `None` if tasks wait for each other.
    pub fn length(&self) -> Option<u32> {
        let mut waiting = [0u8; TASKS];
        for follower in self.followers.iter().flat_map(|&set| members(set)) {
            waiting[follower] += 1;
        }
        let mut starts = [0u32; TASKS];
        let mut ready = Queue::<u8, TASKS>::new();
        (0..TASKS)
            .filter(|&t| waiting[t] == 0)
            .for_each(|t| ready.push_back(t as u8));
        let (mut done, mut length) = (0, 0);
        while let Some(task) = ready.pop_front() {
            let task = usize::from(task);
            let end = starts[task] + u32::from(self.durations[task]);
            for follower in members(self.followers[task]) {
                starts[follower] = starts[follower].max(end);
                waiting[follower] -= 1;
                if waiting[follower] == 0 {
                    ready.push_back(follower as u8);
                }
            }
            length = length.max(end);
            done += 1;
        }
        (done == TASKS).then_some(length)
    }
}

#[kernel(block_size(128))]
pub fn critical_path_safe(projects: &[Project], mut to: PerThread<u32>) {
    to.each_with(projects, |_, to, project| {
        *to = project.length().unwrap_or(u32::MAX)
    });
}

#[kernel(block_size(128))]
pub unsafe fn critical_path_raw(projects: *const Project, to: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let project = projects.add(i as usize);
    let mut waiting = [0u8; TASKS];
    let mut starts = [0u32; TASKS];
    let mut ready = [0u8; TASKS];
    for t in 0..TASKS {
        let mut set = (*project).followers[t];
        while set != 0 {
            waiting[set.trailing_zeros() as usize] += 1;
            set &= set - 1;
        }
    }
    let (mut head, mut tail) = (0, 0);
    for t in 0..TASKS {
        if waiting[t] == 0 {
            ready[tail] = t as u8;
            tail += 1;
        }
    }
    let mut length = 0;
    while head < tail {
        let task = ready[head] as usize;
        head += 1;
        let end = starts[task] + u32::from((*project).durations[task]);
        let mut set = (*project).followers[task];
        while set != 0 {
            let follower = set.trailing_zeros() as usize;
            set &= set - 1;
            starts[follower] = starts[follower].max(end);
            waiting[follower] -= 1;
            if waiting[follower] == 0 {
                ready[tail] = follower as u8;
                tail += 1;
            }
        }
        length = length.max(end);
    }
    *to.add(i as usize) = if tail == TASKS { length } else { u32::MAX };
}

// ---------------------------------------------------------------------------------------------
// simplex_lp: linear programs by the simplex algorithm, a block for each tableau.

/// The rows of a tableau; the last is the objective.
pub const LP_ROWS: usize = 16;
/// The columns of a tableau; the last is the right side.
pub const LP_COLUMNS: usize = 32;

/// The smallest value of the warp, and its lane.
fn warp_min(value: f32) -> (f32, u32) {
    group::warp().reduce((value, thread::lane_id()), |a, b| {
        if b.0 < a.0 || b.0 == a.0 && b.1 < a.1 {
            b
        } else {
            a
        }
    })
}

#[kernel(block_size(32, 16))]
pub fn simplex_lp_safe(
    #[shared] mut tableau: Shared<Tile<f32, LP_COLUMNS, LP_ROWS>>,
    programs: &[[[f32; LP_COLUMNS]; LP_ROWS]],
    mut optima: PerBlock<f32>,
) {
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for mut piece in optima.pieces() {
        let program = &programs[piece.start()];
        tableau.own().each(|(x, y), cell| *cell = program[y][x]);
        for _ in 0..64 {
            let next = tableau.read(|rows| {
                let (gain, enters) = warp_min(rows[LP_ROWS - 1][x]);
                if gain >= -1e-5 {
                    return None;
                }
                let enters = enters as usize;
                // A lane for each row; those without a limit have an infinite ratio.
                let ratio = match rows.get(x) {
                    Some(row) if x < LP_ROWS - 1 && row[enters] > 1e-6 => {
                        row[LP_COLUMNS - 1] / row[enters]
                    }
                    _ => f32::INFINITY,
                };
                let (ratio, leaves) = warp_min(ratio);
                if ratio == f32::INFINITY {
                    return None;
                }
                let leaving = &rows[leaves as usize];
                let pivoted = leaving[x] / leaving[enters];
                Some(if y == leaves as usize {
                    pivoted
                } else {
                    rows[y][x] - rows[y][enters] * pivoted
                })
            });
            let Some(next) = next else { break };
            tableau.own().each(|_, cell| *cell = next);
        }
        tableau.read(|rows| piece.each(|_, to| *to = rows[LP_ROWS - 1][LP_COLUMNS - 1]));
    }
}

unsafe fn warp_min_raw(mut value: f32, lane: &mut u32) -> f32 {
    let mut d = 16;
    while d > 0 {
        let other = warp::shuffle_xor(warp::FULL, value, d);
        let other_lane = warp::shuffle_xor(warp::FULL, *lane, d);
        if other < value || other == value && other_lane < *lane {
            value = other;
            *lane = other_lane;
        }
        d /= 2;
    }
    value
}

#[kernel(block_size(32, 16))]
pub unsafe fn simplex_lp_raw(programs: *const f32, optima: *mut f32) {
    let tableau = shared_array![f32; 512];
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let block = thread::block_idx_x() as usize;
    let own = tableau.add((32 * y + x) as usize);
    *own = *programs.add(512 * block + (32 * y + x) as usize);
    thread::sync_threads();
    for _ in 0..64 {
        let mut enters = x;
        if warp_min_raw(*tableau.add((32 * 15 + x) as usize), &mut enters) >= -1e-5 {
            break;
        }
        let mut ratio = f32::INFINITY;
        if x < 15 {
            let a = *tableau.add((32 * x + enters) as usize);
            if a > 1e-6 {
                ratio = *tableau.add((32 * x + 31) as usize) / a;
            }
        }
        let mut leaves = x;
        if warp_min_raw(ratio, &mut leaves) == f32::INFINITY {
            break;
        }
        let pivoted = *tableau.add((32 * leaves + x) as usize)
            / *tableau.add((32 * leaves + enters) as usize);
        let next = if y == leaves {
            pivoted
        } else {
            *own - *tableau.add((32 * y + enters) as usize) * pivoted
        };
        thread::sync_threads();
        *own = next;
        thread::sync_threads();
    }
    if x == 0 && y == 0 {
        *optima.add(block) = *tableau.add(511);
    }
}

// ---------------------------------------------------------------------------------------------
// motif_scan: the best binding site of each piece of a genome, by position weights.

/// The bases of a site.
pub const SITE: usize = 16;
/// The number of motifs.
pub const MOTIFS: usize = 8;

/// The scores of the four bases at each position of a site.
type Motif = [[f32; 4]; SITE];

/// A site, and how well it fits a motif.
#[derive(Clone, Copy, Debug, Default, AnyBits, DeviceCopy)]
#[repr(C)]
pub struct Site {
    pub score: f32,
    pub at: u32,
    pub motif: u32,
}

impl Site {
    fn or_better(self, other: Site) -> Site {
        if other.score > self.score || other.score == self.score && other.at < self.at {
            other
        } else {
            self
        }
    }
}

/// The score of the site at the start of bases, on one strand.
fn site_score(motif: &Motif, bases: &[u8]) -> f32 {
    motif
        .iter()
        .zip(bases)
        .map(|(scores, &base)| scores[usize::from(base)])
        .sum()
}

/// The same for the other strand, whose bases pair with these.
fn reverse_score(motif: &Motif, bases: &[u8]) -> f32 {
    motif
        .iter()
        .rev()
        .zip(bases)
        .map(|(scores, &base)| scores[usize::from(3 - base)])
        .sum()
}

#[kernel(block_size(256))]
pub fn motif_scan_safe(
    #[shared] mut shared: Shared<(Array<u8, { 256 + SITE - 1 }>, Array<Motif, MOTIFS>)>,
    genome: &[u8],
    motifs: &[Motif; MOTIFS],
    mut sites: PerBlock<Site>,
) {
    for mut piece in sites.pieces() {
        let start = 256 * piece.start();
        let (bases, weights) = shared.own();
        bases.each(|i, base| *base = genome.get(start + i).map_or(0, |base| base & 3));
        weights.each(|i, motif| *motif = motifs[i]);
        let best = shared.read(|(bases, motifs)| {
            let i = thread::index_in_block() as usize;
            let mut best = Site {
                score: f32::NEG_INFINITY,
                at: u32::MAX,
                motif: 0,
            };
            if let Some(bases) = bases.windows(SITE).nth(i)
                && start + i + SITE <= genome.len()
            {
                for (k, motif) in motifs.iter().enumerate() {
                    let score = site_score(motif, bases).max(reverse_score(motif, bases));
                    if score > best.score {
                        best = Site {
                            score,
                            at: (start + i) as u32,
                            motif: k as u32,
                        };
                    }
                }
            }
            group::block().reduce(best, Site::or_better)
        });
        piece.each(|_, site| *site = best);
    }
}

#[kernel(block_size(256))]
pub unsafe fn motif_scan_raw(genome: *const u8, motifs: *const f32, sites: *mut Site, n: u32) {
    let bases = shared_array![u8; 271];
    let weights = shared_array![f32; 512];
    let scores = shared_array![f32; 8];
    let places = shared_array![u32; 8];
    let numbers = shared_array![u32; 8];
    let t = thread::thread_idx_x();
    let start = 256 * thread::block_idx_x();
    let mut i = t;
    while i < 271 {
        *bases.add(i as usize) = if start + i < n {
            *genome.add((start + i) as usize) & 3
        } else {
            0
        };
        i += 256;
    }
    let mut i = t;
    while i < 512 {
        *weights.add(i as usize) = *motifs.add(i as usize);
        i += 256;
    }
    thread::sync_threads();
    let (mut best, mut at, mut number) = (f32::NEG_INFINITY, u32::MAX, 0u32);
    if start + t + 16 <= n {
        for k in 0..MOTIFS {
            let motif = weights.add(64 * k);
            let (mut a, mut b) = (0f32, 0f32);
            for j in 0..SITE {
                let base = usize::from(*bases.add(t as usize + j));
                a += *motif.add(4 * j + base);
                b += *motif.add(4 * (15 - j) + 3 - base);
            }
            let score = a.max(b);
            if score > best {
                best = score;
                at = start + t;
                number = k as u32;
            }
        }
    }
    let mut d = 16;
    while d > 0 {
        let other = warp::shuffle_xor(warp::FULL, best, d);
        let other_at = warp::shuffle_xor(warp::FULL, at, d);
        let other_number = warp::shuffle_xor(warp::FULL, number, d);
        if other > best || other == best && other_at < at {
            best = other;
            at = other_at;
            number = other_number;
        }
        d /= 2;
    }
    let warp_id = (t / 32) as usize;
    if t % 32 == 0 {
        *scores.add(warp_id) = best;
        *places.add(warp_id) = at;
        *numbers.add(warp_id) = number;
    }
    thread::sync_threads();
    if t == 0 {
        for w in 1..8 {
            let other = *scores.add(w);
            if other > best || other == best && *places.add(w) < at {
                best = other;
                at = *places.add(w);
                number = *numbers.add(w);
            }
        }
        *sites.add(thread::block_idx_x() as usize) = Site {
            score: best,
            at,
            motif: number,
        };
    }
}

// ---------------------------------------------------------------------------------------------
// flow_sinks: where the water of each cell of a terrain collects, within tiles.

/// The width and height of a tile.
pub const BASIN: usize = 32;

#[kernel(block_size(32, 8))]
pub fn flow_sinks_safe(
    #[shared] mut heights: Shared<Tile<f32, BASIN, BASIN>>,
    #[shared] mut targets: Shared<Array<u16, { BASIN * BASIN }>>,
    terrain: &[f32],
    mut sinks: PerTile<u16, BASIN, BASIN>,
) {
    let (width, height) = (sinks.width(), sinks.height());
    let terrain = MatrixView::new(terrain, width, height);
    for mut tile in sinks.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        heights.own().each(|(x, y), cell| {
            *cell = terrain.get(x0 + x, y0 + y).unwrap_or(f32::INFINITY);
        });
        heights.read(|heights| {
            targets.own().each(|i, target| {
                let (x, y) = (i % BASIN, i / BASIN);
                let columns = x.saturating_sub(1)..=(x + 1).min(BASIN - 1);
                let lowest = (y.saturating_sub(1)..=(y + 1).min(BASIN - 1))
                    .flat_map(|y| columns.clone().map(move |x| (x, y)))
                    .fold((x, y), |low, at| {
                        if heights[at.1][at.0] < heights[low.1][low.0] {
                            at
                        } else {
                            low
                        }
                    });
                *target = (lowest.1 * BASIN + lowest.0) as u16;
            });
        });
        loop {
            // Each thread owns four targets.
            let first = thread::index_in_block() as usize;
            let (next, changed) = targets.read(|targets| {
                let now: [u16; 4] = array::from_fn(|k| targets[first + 256 * k]);
                let next = now.map(|target| targets[usize::from(target)]);
                (next, next != now)
            });
            if thread::sync_threads_or(changed.into()) == 0 {
                break;
            }
            targets.own().each(|i, target| *target = next[i / 256]);
        }
        targets.read(|targets| tile.each(|(x, y), sink| *sink = targets[y * BASIN + x]));
    }
}

#[kernel(block_size(32, 8))]
pub unsafe fn flow_sinks_raw(terrain: *const f32, sinks: *mut u16, width: u32, height: u32) {
    let heights = shared_array![f32; 1024];
    let targets = shared_array![u16; 1024];
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (x0, y0) = (32 * thread::block_idx_x(), 32 * thread::block_idx_y());
    for k in 0..4 {
        let y = ty + 8 * k;
        *heights.add((32 * y + tx) as usize) = if x0 + tx < width && y0 + y < height {
            *terrain.add(((y0 + y) * width + x0 + tx) as usize)
        } else {
            f32::INFINITY
        };
    }
    thread::sync_threads();
    let mut now = [0u16; 4];
    for k in 0..4 {
        let y = ty + 8 * k;
        let mut low = 32 * y + tx;
        let mut least = *heights.add(low as usize);
        let last = (y + 1).min(31);
        let mut v = y.max(1) - 1;
        while v <= last {
            let mut u = tx.max(1) - 1;
            while u <= (tx + 1).min(31) {
                let h = *heights.add((32 * v + u) as usize);
                if h < least {
                    least = h;
                    low = 32 * v + u;
                }
                u += 1;
            }
            v += 1;
        }
        now[k as usize] = low as u16;
        *targets.add((32 * y + tx) as usize) = low as u16;
    }
    loop {
        thread::sync_threads();
        let mut next = [0u16; 4];
        let mut changed = 0;
        for k in 0..4 {
            next[k] = *targets.add(now[k] as usize);
            if next[k] != now[k] {
                changed = 1;
            }
        }
        if thread::sync_threads_or(changed) == 0 {
            break;
        }
        for k in 0..4 {
            now[k] = next[k];
            *targets.add((32 * (ty + 8 * k as u32) + tx) as usize) = next[k];
        }
    }
    for k in 0..4 {
        let y = ty + 8 * k;
        if x0 + tx < width && y0 + y < height {
            *sinks.add(((y0 + y) * width + x0 + tx) as usize) = now[k as usize];
        }
    }
}

// ---------------------------------------------------------------------------------------------
// delay_and_sum: the energy that an array of microphones hears from each direction.

/// The microphones.
pub const MICROPHONES: usize = 8;
/// The directions.
pub const BEAMS: usize = 32;
/// The samples of a frame.
pub const FRAME: usize = 256;
/// A delay is less than this.
pub const DELAYS: usize = 64;

#[kernel(block_size(256))]
pub fn delay_and_sum_safe(
    #[shared] mut signals: Shared<Tile<i16, { FRAME + DELAYS }, MICROPHONES>>,
    #[shared] mut of_warps: Shared<Array<f32, 256>>,
    samples: &[i16],
    delays: &[[f32; MICROPHONES]; BEAMS],
    mut energies: PerBlock<f32, BEAMS>,
) {
    let length = samples.len() / MICROPHONES;
    let t = thread::index_in_block() as usize;
    for mut frame in energies.pieces() {
        let start = frame.start() / BEAMS * FRAME;
        signals.own().each(|(x, microphone), to| {
            let signal = &samples[microphone * length..][..length];
            *to = signal.get(start + x).copied().unwrap_or(0);
        });
        // Lane `k` keeps what its warp hears from beam `k`.
        let energy = signals.read(|signals| {
            let mut mine = 0.0;
            for (beam, delays) in delays.iter().enumerate() {
                let sum: f32 = signals
                    .iter()
                    .zip(delays)
                    .map(|(signal, &delay)| {
                        let at = t + delay as usize;
                        let [a, b] = [signal[at], signal[at + 1]].map(f32::from);
                        a + delay.fract() * (b - a)
                    })
                    .sum();
                let energy = group::warp().reduce(sum * sum, |a, b| a + b);
                if beam == t % 32 {
                    mine = energy;
                }
            }
            mine
        });
        of_warps.own().each(|_, to| *to = energy);
        of_warps.read(|of_warps| {
            frame.each(|i, to| {
                *to = of_warps
                    .chunks_exact(BEAMS)
                    .map(|warp| warp[i % BEAMS])
                    .sum()
            });
        });
    }
}

#[kernel(block_size(256))]
pub unsafe fn delay_and_sum_raw(
    samples: *const i16,
    delays: *const f32,
    energies: *mut f32,
    length: u32,
) {
    let signals = shared_array![i16; 2560];
    let sums = shared_array![f32; 256];
    let t = thread::thread_idx_x();
    let (lane, warp_id) = (t % 32, t / 32);
    let frame = thread::block_idx_x();
    for m in 0..MICROPHONES as u32 {
        let mut x = t;
        while x < 320 {
            let at = 256 * frame + x;
            *signals.add((320 * m + x) as usize) = if at < length {
                *samples.add((m * length + at) as usize)
            } else {
                0
            };
            x += 256;
        }
    }
    thread::sync_threads();
    for beam in 0..BEAMS as u32 {
        let mut sum = 0f32;
        for m in 0..MICROPHONES as u32 {
            let delay = *delays.add((8 * beam + m) as usize);
            let whole = delay as u32;
            let signal = signals.add((320 * m + t + whole) as usize);
            let (a, b) = (f32::from(*signal), f32::from(*signal.add(1)));
            sum += a + (delay - whole as f32) * (b - a);
        }
        let mut energy = sum * sum;
        let mut d = 16;
        while d > 0 {
            energy += warp::shuffle_xor(warp::FULL, energy, d);
            d /= 2;
        }
        if lane == 0 {
            *sums.add((32 * warp_id + beam) as usize) = energy;
        }
    }
    thread::sync_threads();
    if t < 32 {
        let mut energy = 0f32;
        for w in 0..8 {
            energy += *sums.add((32 * w + t) as usize);
        }
        *energies.add((32 * frame + t) as usize) = energy;
    }
}

// ---------------------------------------------------------------------------------------------
// selective_scan: the state space layer of Mamba, a warp for each channel and a lane for each state.

/// The states of a channel.
pub const STATES: usize = 32;

#[kernel(block_size(256))]
pub fn selective_scan_safe(
    inputs: &[f32],
    steps: &[f32],
    decay: &[[f32; STATES]],
    b: &[[f32; STATES]],
    c: &[[f32; STATES]],
    mut outputs: PerWarpRow<f32>,
) {
    let times = outputs.width();
    let lane = thread::lane_id() as usize;
    for mut row in outputs.rows() {
        let channel = row.y();
        let inputs = inputs[channel * times..][..times].chunks(32);
        let steps = steps[channel * times..][..times].chunks(32);
        let decay = decay[channel][lane];
        let mut state = 0.0;
        let mut own = row.own();
        for ((inputs, steps), (b, c)) in inputs.zip(steps).zip(b.chunks(32).zip(c.chunks(32))) {
            let mut output = 0.0;
            let terms = inputs.iter().zip(steps).zip(b.iter().zip(c));
            for (time, ((input, step), (b, c))) in terms.enumerate() {
                state = (step * decay).exp() * state + step * b[lane] * input;
                let sum = group::warp().reduce(c[lane] * state, |a, b| a + b);
                if time == lane {
                    output = sum;
                }
            }
            if let Some((_, to)) = own.next() {
                *to = output;
            }
        }
    }
}

#[kernel(block_size(256))]
pub unsafe fn selective_scan_raw(
    inputs: *const f32,
    steps: *const f32,
    decay: *const f32,
    b: *const f32,
    c: *const f32,
    outputs: *mut f32,
    times: u32,
    channels: u32,
) {
    let channel = thread::index_1d() / 32;
    let lane = thread::lane_id();
    if channel >= channels {
        return;
    }
    let first = channel as usize * times as usize;
    let decay = *decay.add((32 * channel + lane) as usize);
    let mut state = 0f32;
    let mut output = 0f32;
    for time in 0..times {
        let step = *steps.add(first + time as usize);
        let input = *inputs.add(first + time as usize);
        let at = (32 * time + lane) as usize;
        state = (step * decay).exp() * state + step * *b.add(at) * input;
        let mut sum = *c.add(at) * state;
        let mut d = 16;
        while d > 0 {
            sum += warp::shuffle_xor(warp::FULL, sum, d);
            d /= 2;
        }
        if time % 32 == lane {
            output = sum;
        }
        if time % 32 == 31 {
            *outputs.add(first + (time - 31 + lane) as usize) = output;
        }
    }
    if lane < times % 32 {
        *outputs.add(first + (times - times % 32 + lane) as usize) = output;
    }
}

// ---------------------------------------------------------------------------------------------
// itemset_support: in how many transactions each set of items occurs, from bitmaps.

/// The end of a set of fewer than four items.
pub const NO_ITEM: u16 = u16::MAX;

#[kernel(block_size(128))]
pub fn itemset_support_safe(
    bitmaps: &[u64],
    words: usize,
    sets: &[[u16; 4]],
    mut support: PerBlock<u32>,
) {
    for mut piece in support.pieces() {
        let set = &sets[piece.start()];
        let columns = set
            .iter()
            .take_while(|&&item| item != NO_ITEM)
            .map(|&item| &bitmaps[usize::from(item) * words..][..words]);
        let mine: u32 = thread::block_stride(words)
            .map(|i| {
                columns
                    .clone()
                    .map(|column| column[i])
                    .fold(u64::MAX, |a, b| a & b)
            })
            .map(u64::count_ones)
            .sum();
        let total = group::block().reduce(mine, |a, b| a + b);
        piece.each(|_, to| *to = total);
    }
}

#[kernel(block_size(128))]
pub unsafe fn itemset_support_raw(
    bitmaps: *const u64,
    words: u32,
    sets: *const u16,
    support: *mut u32,
) {
    let totals = shared_array![u32; 4];
    let block = thread::block_idx_x() as usize;
    let t = thread::thread_idx_x();
    let mut items = 0;
    let mut columns = [bitmaps; 4];
    while items < 4 && *sets.add(4 * block + items) != NO_ITEM {
        columns[items] = bitmaps.add(usize::from(*sets.add(4 * block + items)) * words as usize);
        items += 1;
    }
    let mut count = 0;
    let mut i = t;
    while i < words {
        let mut word = u64::MAX;
        for k in 0..4 {
            if k < items {
                word &= *columns[k].add(i as usize);
            }
        }
        count += word.count_ones();
        i += 128;
    }
    let count = warp::reduce_add(warp::FULL, count);
    if t % 32 == 0 {
        *totals.add(t as usize / 32) = count;
    }
    thread::sync_threads();
    if t == 0 {
        *support.add(block) = *totals + *totals.add(1) + *totals.add(2) + *totals.add(3);
    }
}

// ---------------------------------------------------------------------------------------------
// daily_interest: a year's interest and fees of savings accounts, rounded each day.

/// An amount in millionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Money(u64);

/// A fraction with 64 bits.
#[derive(Clone, Copy)]
struct DailyRate(u64);

impl Mul<DailyRate> for Money {
    type Output = Money;

    /// The product, rounded to the nearest amount, and to an even one in between.
    fn mul(self, rate: DailyRate) -> Money {
        let product = u128::from(self.0) * u128::from(rate.0);
        let (whole, rest) = ((product >> 64) as u64, product as u64);
        let up = match rest.cmp(&(1 << 63)) {
            core::cmp::Ordering::Less => false,
            core::cmp::Ordering::Equal => whole % 2 == 1,
            core::cmp::Ordering::Greater => true,
        };
        Money(whole + u64::from(up))
    }
}

impl Add for Money {
    type Output = Money;

    fn add(self, other: Money) -> Money {
        Money(self.0 + other.0)
    }
}

/// A savings account.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
pub struct Account {
    pub balance: u64,
    pub monthly_fee: u32,
    pub opened: u16,
    pub currency: u16,
}

/// The balances from which the higher rates apply.
const TIERS: [Money; 3] = [
    Money(1_000_000_000),
    Money(10_000_000_000),
    Money(50_000_000_000),
];

impl Account {
    /// The balance after the year, or `None` if a fee was more than the balance.
    pub fn after_year(&self, rates: &[[u64; 4]]) -> Option<u64> {
        let mut balance = Money(self.balance);
        for (day, rates) in rates.iter().enumerate().skip(self.opened.into()) {
            let tier = TIERS.partition_point(|&limit| limit <= balance);
            balance = balance + balance * DailyRate(rates[tier]);
            if day % 30 == 29 && tier == 0 {
                balance = Money(balance.0.checked_sub(self.monthly_fee.into())?);
            }
        }
        Some(balance.0)
    }
}

#[kernel(block_size(256))]
pub fn daily_interest_safe(accounts: &[Account], rates: &[[u64; 4]], mut to: PerThread<u64>) {
    let year = 365;
    for (i, to) in to.own() {
        let account = &accounts[i];
        let rates = &rates[usize::from(account.currency) * year..][..year];
        *to = account.after_year(rates).unwrap_or(0);
    }
}

#[kernel(block_size(256))]
pub unsafe fn daily_interest_raw(
    accounts: *const Account,
    rates: *const u64,
    year: u32,
    to: *mut u64,
    n: u32,
) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    let account = *accounts.add(i as usize);
    let rates = rates.add((u32::from(account.currency) * year * 4) as usize);
    let mut balance = account.balance;
    let mut day = u32::from(account.opened);
    while day < year {
        let mut tier = 0;
        if balance >= 1_000_000_000 {
            tier += 1;
        }
        if balance >= 10_000_000_000 {
            tier += 1;
        }
        if balance >= 50_000_000_000 {
            tier += 1;
        }
        let product = u128::from(balance) * u128::from(*rates.add((4 * day + tier) as usize));
        let (whole, rest) = ((product >> 64) as u64, product as u64);
        let half = 1u64 << 63;
        balance += whole + u64::from(rest > half || rest == half && whole % 2 == 1);
        if day % 30 == 29 && tier == 0 {
            if balance < u64::from(account.monthly_fee) {
                balance = 0;
                break;
            }
            balance -= u64::from(account.monthly_fee);
        }
        day += 1;
    }
    *to.add(i as usize) = balance;
}
