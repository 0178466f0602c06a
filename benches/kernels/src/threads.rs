//! One result per thread: geometry, physics, finance, images, texts, codes and games, written by a
//! programmer who knew the documentation of `cuda_std` and nothing of the compiler.

// The kernels are as their authors wrote them.
#![allow(
    clippy::chunks_exact_to_as_chunks,
    clippy::manual_is_multiple_of,
    clippy::new_without_default,
    clippy::precedence
)]

use core::ops::{Add, AddAssign, Mul, Sub};
pub use cuda_std::half::F16;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::{AnyBits, PerColumn, PerThread2d, PerThread3d, PerTile, PerWarp, group};
use cust_core::DeviceCopy;

// ---------------------------------------------------------------------------------------------
// SipHash-2-4

/// The state of SipHash.
pub struct SipState {
    v0: u64,
    v1: u64,
    v2: u64,
    v3: u64,
}

impl SipState {
    /// Starts with a key.
    pub fn new(key: [u64; 2]) -> Self {
        SipState {
            v0: key[0] ^ 0x736f_6d65_7073_6575,
            v1: key[1] ^ 0x646f_7261_6e64_6f6d,
            v2: key[0] ^ 0x6c79_6765_6e65_7261,
            v3: key[1] ^ 0x7465_6462_7974_6573,
        }
    }

    fn round(&mut self) {
        self.v0 = self.v0.wrapping_add(self.v1);
        self.v1 = self.v1.rotate_left(13) ^ self.v0;
        self.v0 = self.v0.rotate_left(32);
        self.v2 = self.v2.wrapping_add(self.v3);
        self.v3 = self.v3.rotate_left(16) ^ self.v2;
        self.v0 = self.v0.wrapping_add(self.v3);
        self.v3 = self.v3.rotate_left(21) ^ self.v0;
        self.v2 = self.v2.wrapping_add(self.v1);
        self.v1 = self.v1.rotate_left(17) ^ self.v2;
        self.v2 = self.v2.rotate_left(32);
    }

    /// Adds a word of the message.
    pub fn compress(&mut self, word: u64) {
        self.v3 ^= word;
        self.round();
        self.round();
        self.v0 ^= word;
    }

    /// Returns the hash.
    pub fn finish(mut self) -> u64 {
        self.v2 ^= 0xff;
        for _ in 0..4 {
            self.round();
        }
        self.v0 ^ self.v1 ^ self.v2 ^ self.v3
    }
}

/// SipHash-2-4 of a message.
pub fn siphash24(key: [u64; 2], message: &[u8]) -> u64 {
    let mut state = SipState::new(key);
    let (words, tail) = message.as_chunks::<8>();
    for word in words {
        state.compress(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    last[7] = message.len() as u8;
    state.compress(u64::from_le_bytes(last));
    state.finish()
}

/// Hashes each of many strings, which lie one after the other.
#[kernel(block_size(128))]
pub fn siphash_safe(k0: u64, k1: u64, bytes: &[u8], ends: &[u32], mut to: PerThread<u64>) {
    for (i, to) in to.own() {
        let start = if i == 0 { 0 } else { ends[i - 1] };
        let message = &bytes[start as usize..ends[i] as usize];
        *to = siphash24([k0, k1], message);
    }
}

/// Hashes each of many strings, which lie one after the other.
#[kernel(block_size(128))]
pub unsafe fn siphash_raw(
    k0: u64,
    k1: u64,
    bytes: *const u8,
    ends: *const u32,
    to: *mut u64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let start = if i == 0 { 0 } else { *ends.add(i - 1) };
    let len = (*ends.add(i) - start) as usize;
    let message = bytes.add(start as usize);
    let mut state = SipState::new([k0, k1]);
    let words = len / 8;
    for w in 0..words {
        let mut word = 0;
        for k in 0..8 {
            word |= u64::from(*message.add(8 * w + k)) << (8 * k);
        }
        state.compress(word);
    }
    let mut last = (len as u64) << 56;
    for k in 0..len % 8 {
        last |= u64::from(*message.add(8 * words + k)) << (8 * k);
    }
    state.compress(last);
    *to.add(i) = state.finish();
}

// ---------------------------------------------------------------------------------------------
// Kepler's equation

/// A planet's or comet's orbit in its plane.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Orbit {
    /// The semi-major axis.
    pub axis: f64,
    /// The eccentricity, below 1.
    pub eccentricity: f64,
    /// The mean anomaly at time 0.
    pub anomaly: f64,
    /// The mean motion, in radians per unit of time.
    pub motion: f64,
}

impl Orbit {
    /// The eccentric anomaly at a time, by Newton's method, or `None` if that does not converge.
    pub fn eccentric_anomaly(&self, time: f64) -> Option<f64> {
        let e = self.eccentricity;
        let mean = (self.anomaly + self.motion * time).rem_euclid(core::f64::consts::TAU);
        let mut guess = if e < 0.8 { mean } else { core::f64::consts::PI };
        for _ in 0..20 {
            let (sin, cos) = guess.sin_cos();
            let step = (guess - e * sin - mean) / (1.0 - e * cos);
            guess -= step;
            if step.abs() < 1e-12 {
                return Some(guess);
            }
        }
        None
    }

    /// The position at a time.
    pub fn position(&self, time: f64) -> Option<[f64; 2]> {
        let (sin, cos) = self.eccentric_anomaly(time)?.sin_cos();
        let e = self.eccentricity;
        Some([
            self.axis * (cos - e),
            self.axis * (1.0 - e * e).sqrt() * sin,
        ])
    }
}

/// The positions of bodies at a time.
#[kernel(block_size(128))]
pub fn kepler_safe(time: f64, orbits: &[Orbit], mut to: PerThread<[f64; 2]>) {
    to.each_with(orbits, |_, to, orbit| {
        *to = orbit.position(time).unwrap_or([f64::NAN; 2]);
    });
}

/// The positions of bodies at a time.
#[kernel(block_size(128))]
pub unsafe fn kepler_raw(time: f64, orbits: *const Orbit, to: *mut f64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let orbit = *orbits.add(i);
    let e = orbit.eccentricity;
    let mut mean = (orbit.anomaly + orbit.motion * time) % core::f64::consts::TAU;
    if mean < 0.0 {
        mean += core::f64::consts::TAU;
    }
    let mut guess = if e < 0.8 { mean } else { core::f64::consts::PI };
    let mut converged = false;
    for _ in 0..20 {
        let (sin, cos) = guess.sin_cos();
        let step = (guess - e * sin - mean) / (1.0 - e * cos);
        guess -= step;
        if step.abs() < 1e-12 {
            converged = true;
            break;
        }
    }
    if converged {
        let (sin, cos) = guess.sin_cos();
        *to.add(2 * i) = orbit.axis * (cos - e);
        *to.add(2 * i + 1) = orbit.axis * (1.0 - e * e).sqrt() * sin;
    } else {
        *to.add(2 * i) = f64::NAN;
        *to.add(2 * i + 1) = f64::NAN;
    }
}

// ---------------------------------------------------------------------------------------------
// Kuwahara filter

/// The extent of the filter's quadrants.
pub const KUWAHARA: isize = 3;

/// The mean and the variance of a set of pixels.
#[derive(Clone, Copy)]
pub struct Stats {
    mean: f32,
    variance: f32,
}

impl FromIterator<u8> for Stats {
    fn from_iter<I: IntoIterator<Item = u8>>(pixels: I) -> Self {
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for pixel in pixels {
            let pixel = f32::from(pixel);
            count += 1.0;
            sum += pixel;
            squares += pixel * pixel;
        }
        let mean = sum / count;
        Stats {
            mean,
            variance: squares / count - mean * mean,
        }
    }
}

/// The Kuwahara filter at a pixel: the mean of the most uniform quadrant around it.
pub fn kuwahara_at(image: &[u8], width: usize, height: usize, x: usize, y: usize) -> f32 {
    let at = |x: isize, y: isize| {
        let x = x.clamp(0, width as isize - 1) as usize;
        let y = y.clamp(0, height as isize - 1) as usize;
        image[y * width + x]
    };
    let (x, y) = (x as isize, y as isize);
    [
        (-KUWAHARA, -KUWAHARA),
        (0, -KUWAHARA),
        (-KUWAHARA, 0),
        (0, 0),
    ]
    .into_iter()
    .map(|(left, top)| {
        (0..=KUWAHARA)
            .flat_map(|dy| (0..=KUWAHARA).map(move |dx| (dx, dy)))
            .map(|(dx, dy)| at(x + left + dx, y + top + dy))
            .collect::<Stats>()
    })
    .min_by(|a, b| a.variance.total_cmp(&b.variance))
    .map_or(0.0, |best| best.mean)
}

/// Smooths a gray image and keeps its edges.
#[kernel(block_size(32, 8))]
pub fn kuwahara_safe(image: &[u8], mut to: PerThread2d<f32>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| *to = kuwahara_at(image, width, height, x, y));
}

/// Smooths a gray image and keeps its edges.
#[kernel(block_size(32, 8))]
pub unsafe fn kuwahara_raw(image: *const u8, to: *mut f32, width: i32, height: i32) {
    let at = thread::index_2d();
    let (x, y) = (at.x as i32, at.y as i32);
    if x >= width || y >= height {
        return;
    }
    let r = KUWAHARA as i32;
    let mut best = f32::INFINITY;
    let mut result = 0.0;
    for quadrant in 0..4 {
        let left = if quadrant % 2 == 0 { x - r } else { x };
        let top = if quadrant < 2 { y - r } else { y };
        let mut sum = 0.0f32;
        let mut squares = 0.0f32;
        for dy in 0..=r {
            let row = (top + dy).clamp(0, height - 1) * width;
            for dx in 0..=r {
                let column = (left + dx).clamp(0, width - 1);
                let pixel = f32::from(*image.add((row + column) as usize));
                sum += pixel;
                squares += pixel * pixel;
            }
        }
        let count = ((r + 1) * (r + 1)) as f32;
        let mean = sum / count;
        let variance = squares / count - mean * mean;
        if variance < best {
            best = variance;
            result = mean;
        }
    }
    *to.add((y * width + x) as usize) = result;
}

// ---------------------------------------------------------------------------------------------
// Random forest

/// A node of a decision tree.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C, u32)]
pub enum Node {
    /// Goes left if the feature is below the threshold.
    Split {
        /// The feature's index.
        feature: u32,
        /// The threshold.
        threshold: f32,
        /// The node to the left.
        left: u32,
        /// The node to the right.
        right: u32,
    },
    /// Votes for a class.
    Leaf(u32),
}

/// The number of classes.
pub const CLASSES: usize = 8;

/// The number of features of a sample.
pub const FEATURES: usize = 16;

/// The class that most trees vote for.
pub fn forest_class(nodes: &[Node], roots: &[u32], sample: &[f32; FEATURES]) -> u32 {
    let mut votes = [0u32; CLASSES];
    for &root in roots {
        let mut node = &nodes[root as usize];
        let class = loop {
            match *node {
                Node::Leaf(class) => break class,
                Node::Split {
                    feature,
                    threshold,
                    left,
                    right,
                } => {
                    let next = if sample[feature as usize] < threshold {
                        left
                    } else {
                        right
                    };
                    node = &nodes[next as usize];
                }
            }
        };
        votes[class as usize] += 1;
    }
    let mut best = 0;
    for (class, &count) in votes.iter().enumerate() {
        if count > votes[best] {
            best = class;
        }
    }
    best as u32
}

/// Classifies samples by a random forest.
#[kernel(block_size(256))]
pub fn forest_vote_safe(
    nodes: &[Node],
    roots: &[u32],
    samples: &[[f32; FEATURES]],
    mut to: PerThread<u32>,
) {
    to.each_with(samples, |_, to, sample| {
        *to = forest_class(nodes, roots, sample)
    });
}

/// Classifies samples by a random forest.
#[kernel(block_size(256))]
pub unsafe fn forest_vote_raw(
    nodes: *const Node,
    roots: *const u32,
    trees: u32,
    samples: *const f32,
    to: *mut u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let sample = samples.add(i * FEATURES);
    let mut votes = [0u32; CLASSES];
    for tree in 0..trees {
        let mut node = *roots.add(tree as usize);
        loop {
            match *nodes.add(node as usize) {
                Node::Leaf(class) => {
                    votes[class as usize] += 1;
                    break;
                }
                Node::Split {
                    feature,
                    threshold,
                    left,
                    right,
                } => {
                    node = if *sample.add(feature as usize) < threshold {
                        left
                    } else {
                        right
                    };
                }
            }
        }
    }
    let mut best = 0;
    for class in 1..CLASSES {
        if votes[class] > votes[best] {
            best = class;
        }
    }
    *to.add(i) = best as u32;
}

// ---------------------------------------------------------------------------------------------
// Distances of capsules

/// A point or a vector.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Vec3 {
    /// The first coordinate.
    pub x: f32,
    /// The second coordinate.
    pub y: f32,
    /// The third coordinate.
    pub z: f32,
}

impl Vec3 {
    /// The origin.
    pub const ZERO: Vec3 = Vec3 {
        x: 0.0,
        y: 0.0,
        z: 0.0,
    };

    /// The dot product.
    pub fn dot(self, other: Vec3) -> f32 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// The cross product.
    pub fn cross(self, other: Vec3) -> Vec3 {
        Vec3 {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    /// The length.
    pub fn length(self) -> f32 {
        self.dot(self).sqrt()
    }
}

impl Add for Vec3 {
    type Output = Vec3;
    fn add(self, other: Vec3) -> Vec3 {
        Vec3 {
            x: self.x + other.x,
            y: self.y + other.y,
            z: self.z + other.z,
        }
    }
}

impl AddAssign for Vec3 {
    fn add_assign(&mut self, other: Vec3) {
        *self = *self + other;
    }
}

impl Sub for Vec3 {
    type Output = Vec3;
    fn sub(self, other: Vec3) -> Vec3 {
        Vec3 {
            x: self.x - other.x,
            y: self.y - other.y,
            z: self.z - other.z,
        }
    }
}

impl Mul<f32> for Vec3 {
    type Output = Vec3;
    fn mul(self, factor: f32) -> Vec3 {
        Vec3 {
            x: self.x * factor,
            y: self.y * factor,
            z: self.z * factor,
        }
    }
}

/// A cylinder with round ends: a robot's link or an obstacle.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Capsule {
    /// One end of the axis.
    pub from: Vec3,
    /// The other end of the axis.
    pub to: Vec3,
    /// The radius.
    pub radius: f32,
}

impl Capsule {
    /// The distance between two capsules, negative if they overlap.
    pub fn distance(&self, other: &Capsule) -> f32 {
        let d1 = self.to - self.from;
        let d2 = other.to - other.from;
        let r = self.from - other.from;
        let (a, e) = (d1.dot(d1), d2.dot(d2));
        let (b, c, f) = (d1.dot(d2), d1.dot(r), d2.dot(r));
        let determinant = a * e - b * b;
        let s = if determinant > 1e-6 {
            ((b * f - c * e) / determinant).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let t = (b * s + f) / e;
        let (s, t) = match t {
            t if t < 0.0 => ((-c / a).clamp(0.0, 1.0), 0.0),
            t if t > 1.0 => (((b - c) / a).clamp(0.0, 1.0), 1.0),
            t => (s, t),
        };
        let between = (self.from + d1 * s) - (other.from + d2 * t);
        between.length() - self.radius - other.radius
    }
}

/// The clearance of each link: its distance from the nearest obstacle.
#[kernel(block_size(128))]
pub fn capsule_clearance_safe(links: &[Capsule], obstacles: &[Capsule], mut to: PerThread<f32>) {
    to.each_with(links, |_, to, link| {
        *to = obstacles
            .iter()
            .map(|obstacle| link.distance(obstacle))
            .fold(f32::INFINITY, f32::min);
    });
}

/// The clearance of each link: its distance from the nearest obstacle.
#[kernel(block_size(128))]
pub unsafe fn capsule_clearance_raw(
    links: *const Capsule,
    obstacles: *const Capsule,
    count: u32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i < n {
        let link = *links.add(i);
        let mut clearance = f32::INFINITY;
        for o in 0..count {
            clearance = clearance.min(link.distance(&*obstacles.add(o as usize)));
        }
        *to.add(i) = clearance;
    }
}

// ---------------------------------------------------------------------------------------------
// Open reading frames

/// A part of a read that may code for a protein.
#[derive(Clone, Copy, Debug)]
pub struct Orf {
    start: usize,
    codons: usize,
}

/// The longest open reading frame in one of the three frames.
pub fn longest_in_frame(read: &[u8], frame: usize) -> Option<Orf> {
    let mut best: Option<Orf> = None;
    let mut open = None;
    for (i, codon) in read[frame..].chunks_exact(3).enumerate() {
        match (codon, open) {
            (b"ATG", None) => open = Some(i),
            (b"TAA" | b"TAG" | b"TGA", Some(start)) => {
                let codons = i - start;
                if best.is_none_or(|best| codons > best.codons) {
                    best = Some(Orf {
                        start: frame + 3 * start,
                        codons,
                    });
                }
                open = None;
            }
            _ => {}
        }
    }
    best
}

/// The start and the number of codons of the longest open reading frame of a read.
pub fn longest_orf(read: &[u8]) -> [u16; 2] {
    (0..3)
        .filter_map(|frame| longest_in_frame(read, frame))
        .max_by_key(|orf| (orf.codons, read.len() - orf.start))
        .map_or([0, 0], |orf| [orf.start as u16, orf.codons as u16])
}

/// Finds the longest open reading frame of each read.
#[kernel(block_size(128))]
pub fn longest_orf_safe(reads: &[u8], length: usize, mut to: PerThread<[u16; 2]>) {
    for (i, to) in to.own() {
        if let Some(read) = reads.chunks_exact(length).nth(i) {
            *to = longest_orf(read);
        }
    }
}

/// Finds the longest open reading frame of each read.
#[kernel(block_size(128))]
pub unsafe fn longest_orf_raw(reads: *const u8, length: usize, to: *mut u16, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let read = reads.add(i * length);
    let mut best_start = 0;
    let mut best_codons = 0;
    let mut found = false;
    for frame in 0..3 {
        let mut open = false;
        let mut start = 0;
        let mut p = frame;
        while p + 3 <= length {
            let (a, b, c) = (*read.add(p), *read.add(p + 1), *read.add(p + 2));
            if !open {
                if a == b'A' && b == b'T' && c == b'G' {
                    open = true;
                    start = p;
                }
            } else if a == b'T'
                && ((b == b'A' && (c == b'A' || c == b'G')) || (b == b'G' && c == b'A'))
            {
                let codons = (p - start) / 3;
                if !found || codons > best_codons || (codons == best_codons && start < best_start) {
                    found = true;
                    best_codons = codons;
                    best_start = start;
                }
                open = false;
            }
            p += 3;
        }
    }
    *to.add(2 * i) = best_start as u16;
    *to.add(2 * i + 1) = best_codons as u16;
}

// ---------------------------------------------------------------------------------------------
// Sudoku

/// A sudoku with the digits that rows, columns and boxes have, as bits.
pub struct Sudoku {
    cells: [u8; 81],
    rows: [u16; 9],
    columns: [u16; 9],
    boxes: [u16; 9],
}

impl Sudoku {
    /// Starts with the given digits; 0 is an empty cell.
    pub fn new(cells: &[u8; 81]) -> Self {
        let mut sudoku = Sudoku {
            cells: [0; 81],
            rows: [0; 9],
            columns: [0; 9],
            boxes: [0; 9],
        };
        for (at, &digit) in cells.iter().enumerate() {
            if digit != 0 {
                sudoku.set(at, digit);
            }
        }
        sudoku
    }

    fn set(&mut self, at: usize, digit: u8) {
        let (row, column) = (at / 9, at % 9);
        let bit = 1 << digit;
        self.cells[at] = digit;
        self.rows[row] |= bit;
        self.columns[column] |= bit;
        self.boxes[row / 3 * 3 + column / 3] |= bit;
    }

    fn candidates(&self, at: usize) -> u16 {
        let (row, column) = (at / 9, at % 9);
        let used = self.rows[row] | self.columns[column] | self.boxes[row / 3 * 3 + column / 3];
        !used & 0x3fe
    }

    /// Fills cells that can have only one digit. Returns the number of cells that stay empty, or
    /// `None` if the puzzle has a contradiction.
    pub fn fill_singles(&mut self) -> Option<u8> {
        loop {
            let mut changed = false;
            let mut empty = 0;
            for at in 0..81 {
                if self.cells[at] != 0 {
                    continue;
                }
                let candidates = self.candidates(at);
                match candidates.count_ones() {
                    0 => return None,
                    1 => {
                        self.set(at, candidates.trailing_zeros() as u8);
                        changed = true;
                    }
                    _ => empty += 1,
                }
            }
            if !changed {
                return Some(empty);
            }
        }
    }
}

/// The number of empty cells after the simple steps of each sudoku, 255 for a contradiction.
#[kernel(block_size(128))]
pub fn sudoku_safe(puzzles: &[[u8; 81]], mut to: PerThread<u8>) {
    to.each_with(puzzles, |_, to, puzzle| {
        *to = Sudoku::new(puzzle).fill_singles().unwrap_or(u8::MAX);
    });
}

/// The number of empty cells after the simple steps of each sudoku, 255 for a contradiction.
#[kernel(block_size(128))]
pub unsafe fn sudoku_raw(puzzles: *const u8, to: *mut u8, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let puzzle = puzzles.add(81 * i);
    let mut cells = [0u8; 81];
    let mut rows = [0u16; 9];
    let mut columns = [0u16; 9];
    let mut boxes = [0u16; 9];
    for at in 0..81 {
        let digit = *puzzle.add(at);
        cells[at] = digit;
        if digit != 0 {
            let (row, column) = (at / 9, at % 9);
            rows[row] |= 1 << digit;
            columns[column] |= 1 << digit;
            boxes[row / 3 * 3 + column / 3] |= 1 << digit;
        }
    }
    let mut empty = 0;
    let mut changed = true;
    let mut contradiction = false;
    while changed && !contradiction {
        changed = false;
        empty = 0;
        for at in 0..81 {
            if cells[at] != 0 {
                continue;
            }
            let (row, column) = (at / 9, at % 9);
            let square = row / 3 * 3 + column / 3;
            let candidates = !(rows[row] | columns[column] | boxes[square]) & 0x3fe;
            if candidates == 0 {
                contradiction = true;
                break;
            }
            if candidates & (candidates - 1) == 0 {
                cells[at] = candidates.trailing_zeros() as u8;
                rows[row] |= candidates;
                columns[column] |= candidates;
                boxes[square] |= candidates;
                changed = true;
            } else {
                empty += 1;
            }
        }
    }
    *to.add(i) = if contradiction { 255 } else { empty };
}

// ---------------------------------------------------------------------------------------------
// Burning ship

/// A number with 24 bits after the binary point.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub struct Fixed(i32);

impl Fixed {
    /// The number of bits after the binary point.
    pub const BITS: u32 = 24;

    /// Rounds a number.
    pub fn new(value: f32) -> Self {
        Fixed((value * (1 << Self::BITS) as f32) as i32)
    }

    /// Rounds a number at compile time.
    pub const fn integer(value: i32) -> Self {
        Fixed(value << Self::BITS)
    }

    /// The absolute value.
    pub fn abs(self) -> Self {
        Fixed(self.0.abs())
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
        Fixed((i64::from(self.0) * i64::from(other.0) >> Self::BITS) as i32)
    }
}

/// The number of steps until a point of the burning ship escapes.
pub fn ship_steps(cx: Fixed, cy: Fixed, limit: u16) -> u16 {
    let step = |&(x, y): &(Fixed, Fixed)| {
        let (x, y) = (x.abs(), y.abs());
        let (xx, yy) = (x * x, y * y);
        (xx + yy <= Fixed::integer(4)).then(|| (xx - yy + cx, x * y + x * y + cy))
    };
    core::iter::successors(Some((Fixed(0), Fixed(0))), step)
        .take(usize::from(limit))
        .count() as u16
}

/// The burning ship fractal in fixed-point arithmetic.
#[kernel(block_size(16, 16))]
pub fn burning_ship_safe(left: f32, top: f32, pixel: f32, limit: u32, mut to: PerThread2d<u16>) {
    to.each(|(x, y), to| {
        let cx = Fixed::new(left + x as f32 * pixel);
        let cy = Fixed::new(top + y as f32 * pixel);
        *to = ship_steps(cx, cy, limit as u16);
    });
}

/// The burning ship fractal in fixed-point arithmetic.
#[kernel(block_size(16, 16))]
pub unsafe fn burning_ship_raw(
    left: f32,
    top: f32,
    pixel: f32,
    limit: u32,
    to: *mut u16,
    width: u32,
    height: u32,
) {
    let at = thread::index_2d();
    if at.x >= width || at.y >= height {
        return;
    }
    let cx = ((left + at.x as f32 * pixel) * 16777216.0) as i32;
    let cy = ((top + at.y as f32 * pixel) * 16777216.0) as i32;
    let mul = |a: i32, b: i32| (a as i64 * b as i64 >> 24) as i32;
    let (mut x, mut y) = (0i32, 0i32);
    let mut steps = 0;
    // The starting point counts.
    while steps < limit {
        steps += 1;
        let (ax, ay) = (x.abs(), y.abs());
        let (xx, yy) = (mul(ax, ax), mul(ay, ay));
        if xx + yy > 4 << 24 {
            break;
        }
        let xy = mul(ax, ay);
        x = xx - yy + cx;
        y = xy + xy + cy;
    }
    *to.add((at.y * width + at.x) as usize) = steps as u16;
}

// ---------------------------------------------------------------------------------------------
// Primality

const SMALL_PRIMES: [u64; 8] = [2, 3, 5, 7, 11, 13, 17, 19];

/// They suffice for numbers below 1.12 * 10^12.
const WITNESSES: [u64; 4] = [2, 13, 23, 1_662_803];

fn mul_mod(a: u64, b: u64, modulus: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64
}

fn pow_mod(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul_mod(result, base, modulus);
        }
        base = mul_mod(base, base, modulus);
        exponent >>= 1;
    }
    result
}

/// Whether a number is prime, by the test of Miller and Rabin with witnesses that suffice.
pub fn is_prime(n: u64) -> bool {
    if n < 2 {
        return false;
    }
    for prime in SMALL_PRIMES {
        if n % prime == 0 {
            return n == prime;
        }
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    'witnesses: for witness in WITNESSES {
        let mut x = pow_mod(witness % n, odd, n);
        if x == 0 || x == 1 || x == n - 1 {
            continue;
        }
        for _ in 1..twos {
            x = mul_mod(x, x, n);
            if x == n - 1 {
                continue 'witnesses;
            }
        }
        return false;
    }
    true
}

/// Marks the primes.
#[kernel(block_size(128))]
pub fn miller_rabin_safe(numbers: &[u64], mut to: PerThread<u8>) {
    to.each_with(numbers, |_, to, &n| *to = u8::from(is_prime(n)));
}

/// Marks the primes.
#[kernel(block_size(128))]
pub unsafe fn miller_rabin_raw(numbers: *const u64, to: *mut u8, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *to.add(i) = is_prime(*numbers.add(i)) as u8;
    }
}

// ---------------------------------------------------------------------------------------------
// Reed-Solomon

/// An element of the field with 256 elements.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Gf(u8);

/// Logarithms and powers of the field.
struct Powers {
    log: [u8; 256],
    exp: [u8; 512],
}

static POWERS: Powers = {
    let mut powers = Powers {
        log: [0; 256],
        exp: [0; 512],
    };
    let mut x = 1usize;
    let mut i = 0;
    while i < 255 {
        powers.exp[i] = x as u8;
        powers.exp[i + 255] = x as u8;
        powers.log[x] = i as u8;
        x <<= 1;
        if x > 255 {
            x ^= 0x11d;
        }
        i += 1;
    }
    powers
};

impl Gf {
    /// A power of the generator.
    pub fn alpha(exponent: usize) -> Gf {
        Gf(POWERS.exp[exponent])
    }
}

impl Add for Gf {
    type Output = Gf;
    #[allow(clippy::suspicious_arithmetic_impl)]
    fn add(self, other: Gf) -> Gf {
        Gf(self.0 ^ other.0)
    }
}

impl Mul for Gf {
    type Output = Gf;
    fn mul(self, other: Gf) -> Gf {
        if self.0 == 0 || other.0 == 0 {
            return Gf(0);
        }
        let log = |x: Gf| usize::from(POWERS.log[usize::from(x.0)]);
        Gf(POWERS.exp[log(self) + log(other)])
    }
}

/// The number of syndromes.
pub const SYNDROMES: usize = 8;

/// The bytes of a code word.
pub const CODE_WORD: usize = 255;

/// The syndromes of a code word.
pub fn syndromes(word: &[u8]) -> [Gf; SYNDROMES] {
    let mut syndromes = [Gf(0); SYNDROMES];
    for &byte in word {
        for (j, syndrome) in syndromes.iter_mut().enumerate() {
            *syndrome = *syndrome * Gf::alpha(j) + Gf(byte);
        }
    }
    syndromes
}

/// Computes the syndromes of code words.
#[kernel(block_size(128))]
pub fn reed_solomon_safe(words: &[u8], mut to: PerThread<[u8; SYNDROMES]>) {
    to.each(|i, to| {
        let word = &words[i * CODE_WORD..][..CODE_WORD];
        *to = syndromes(word).map(|syndrome| syndrome.0);
    });
}

/// Computes the syndromes of code words.
#[kernel(block_size(128))]
pub unsafe fn reed_solomon_raw(words: *const u8, to: *mut u8, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut syndromes = [0u8; SYNDROMES];
    for k in 0..CODE_WORD {
        let byte = *words.add(i * CODE_WORD + k);
        for j in 0..SYNDROMES {
            let mut product = 0;
            if syndromes[j] != 0 {
                let alpha = *POWERS.exp.as_ptr().add(j);
                let log = *POWERS.log.as_ptr().add(syndromes[j] as usize) as usize
                    + *POWERS.log.as_ptr().add(alpha as usize) as usize;
                product = *POWERS.exp.as_ptr().add(log);
            }
            syndromes[j] = product ^ byte;
        }
    }
    for j in 0..SYNDROMES {
        *to.add(i * SYNDROMES + j) = syndromes[j];
    }
}

// ---------------------------------------------------------------------------------------------
// Base 58

/// The digits of Bitcoin's addresses.
pub const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// The number of digits of 32 bytes.
pub const DIGITS: usize = 44;

/// A key as text, with leading digits `1`.
pub fn base58(key: &[u8; 32]) -> [u8; DIGITS] {
    // The lowest digit is first.
    let mut digits = [0u8; DIGITS];
    let mut len = 0;
    for &byte in key {
        let mut carry = u32::from(byte);
        for digit in &mut digits[..len] {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits[len] = (carry % 58) as u8;
            len += 1;
            carry /= 58;
        }
    }
    digits.reverse();
    digits.map(|digit| BASE58[usize::from(digit)])
}

/// Writes keys as text.
#[kernel(block_size(128))]
pub fn base58_safe(keys: &[[u8; 32]], mut to: PerThread<[u8; DIGITS]>) {
    for (i, to) in to.own() {
        *to = base58(&keys[i]);
    }
}

/// Writes keys as text.
#[kernel(block_size(128))]
pub unsafe fn base58_raw(keys: *const u8, to: *mut u8, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut digits = [0u8; DIGITS];
    let mut len = 0;
    for k in 0..32 {
        let mut carry = *keys.add(32 * i + k) as u32;
        for d in 0..len {
            carry += (digits[d] as u32) << 8;
            digits[d] = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits[len] = (carry % 58) as u8;
            len += 1;
            carry /= 58;
        }
    }
    for d in 0..DIGITS {
        *to.add(DIGITS * i + d) = *BASE58.as_ptr().add(digits[DIGITS - 1 - d] as usize);
    }
}

// ---------------------------------------------------------------------------------------------
// Kalman filter

/// A matrix with `R` rows and `C` columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix<const R: usize, const C: usize>(pub [[f32; C]; R]);

impl<const R: usize, const C: usize> Matrix<R, C> {
    /// A matrix from a function of row and column.
    pub fn from_fn(f: impl Fn(usize, usize) -> f32) -> Self {
        Matrix(core::array::from_fn(|r| core::array::from_fn(|c| f(r, c))))
    }

    /// The transpose.
    pub fn transposed(&self) -> Matrix<C, R> {
        Matrix::from_fn(|r, c| self.0[c][r])
    }
}

impl<const N: usize> Matrix<N, N> {
    /// A diagonal matrix.
    pub fn diagonal(value: f32) -> Self {
        Matrix::from_fn(|r, c| if r == c { value } else { 0.0 })
    }
}

impl Matrix<2, 2> {
    /// The inverse.
    pub fn inverse(&self) -> Self {
        let [[a, b], [c, d]] = self.0;
        let f = 1.0 / (a * d - b * c);
        Matrix([[d * f, -b * f], [-c * f, a * f]])
    }
}

impl<const R: usize, const K: usize, const C: usize> Mul<Matrix<K, C>> for Matrix<R, K> {
    type Output = Matrix<R, C>;
    fn mul(self, other: Matrix<K, C>) -> Matrix<R, C> {
        Matrix::from_fn(|r, c| (0..K).map(|k| self.0[r][k] * other.0[k][c]).sum())
    }
}

impl<const R: usize, const C: usize> Add for Matrix<R, C> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Matrix::from_fn(|r, c| self.0[r][c] + other.0[r][c])
    }
}

impl<const R: usize, const C: usize> Sub for Matrix<R, C> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Matrix::from_fn(|r, c| self.0[r][c] - other.0[r][c])
    }
}

/// A Kalman filter for a position and a velocity in the plane.
pub struct Kalman {
    state: Matrix<4, 1>,
    covariance: Matrix<4, 4>,
}

impl Kalman {
    /// Starts at a position.
    pub fn new([x, y]: [f32; 2]) -> Self {
        Kalman {
            state: Matrix([[x], [y], [0.0], [0.0]]),
            covariance: Matrix::diagonal(10.0),
        }
    }

    /// Moves on, and takes a measurement into account.
    pub fn step(&mut self, dt: f32, noise: f32, [x, y]: [f32; 2]) {
        let motion = Matrix([
            [1.0, 0.0, dt, 0.0],
            [0.0, 1.0, 0.0, dt],
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]);
        let measure = Matrix([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]);
        let state = motion * self.state;
        let covariance =
            motion * self.covariance * motion.transposed() + Matrix::diagonal(0.01 * dt);

        let innovation = Matrix([[x], [y]]) - measure * state;
        let uncertainty = measure * covariance * measure.transposed() + Matrix::diagonal(noise);
        let gain = covariance * measure.transposed() * uncertainty.inverse();
        self.state = state + gain * innovation;
        self.covariance = (Matrix::diagonal(1.0) - gain * measure) * covariance;
    }

    /// The position and the velocity.
    pub fn state(&self) -> [f32; 4] {
        self.state.0.map(|[x]| x)
    }
}

/// Tracks many objects: measurement `t` of object `i` is element `t * objects + i`.
#[kernel(block_size(128))]
pub fn kalman_track_safe(
    dt: f32,
    noise: f32,
    measurements: &[[f32; 2]],
    mut to: PerThread<[f32; 4]>,
) {
    let objects = to.len();
    for (i, to) in to.own() {
        let mut own = measurements.iter().skip(i).step_by(objects);
        if let Some(&first) = own.next() {
            let mut filter = Kalman::new(first);
            for &measurement in own {
                filter.step(dt, noise, measurement);
            }
            *to = filter.state();
        }
    }
}

/// Tracks many objects: measurement `t` of object `i` is element `t * objects + i`.
#[kernel(block_size(128))]
pub unsafe fn kalman_track_raw(
    dt: f32,
    noise: f32,
    measurements: *const [f32; 2],
    steps: u32,
    to: *mut [f32; 4],
    objects: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= objects {
        return;
    }
    let mut filter = Kalman::new(*measurements.add(i));
    for t in 1..steps as usize {
        filter.step(dt, noise, *measurements.add(t * objects + i));
    }
    *to.add(i) = filter.state();
}

// ---------------------------------------------------------------------------------------------
// Bonds

/// How often a bond pays its coupon.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(u8)]
pub enum Frequency {
    /// Once a year.
    Annual,
    /// Twice a year.
    SemiAnnual,
    /// Four times a year.
    Quarterly,
    /// Twelve times a year.
    Monthly,
}

impl Frequency {
    /// The number of payments in a year.
    pub fn per_year(self) -> u32 {
        match self {
            Frequency::Annual => 1,
            Frequency::SemiAnnual => 2,
            Frequency::Quarterly => 4,
            Frequency::Monthly => 12,
        }
    }
}

/// Bonds with a face value of 100.
#[derive(Clone, Copy)]
pub struct Bonds<'a> {
    /// The market prices.
    pub prices: &'a [f64],
    /// The coupons of a year.
    pub coupons: &'a [f64],
    /// The years until maturity.
    pub years: &'a [u8],
    /// The frequencies of payments.
    pub frequencies: &'a [Frequency],
}

/// One of them.
pub struct Bond {
    price: f64,
    coupon: f64,
    payments: u32,
    frequency: f64,
}

impl Bonds<'_> {
    /// Returns a bond.
    pub fn get(&self, i: usize) -> Option<Bond> {
        let per_year = self.frequencies.get(i)?.per_year();
        Some(Bond {
            price: *self.prices.get(i)?,
            coupon: self.coupons.get(i)? / f64::from(per_year),
            payments: u32::from(*self.years.get(i)?) * per_year,
            frequency: f64::from(per_year),
        })
    }
}

impl Bond {
    /// The present value at a yield, and its derivative.
    fn value(&self, rate: f64) -> (f64, f64) {
        let discount = 1.0 / (1.0 + rate / self.frequency);
        let (factor, value, slope) =
            (1..=self.payments).fold((1.0, 0.0, 0.0), |(factor, value, slope), k| {
                let factor = factor * discount;
                let paid = self.coupon * factor;
                (factor, value + paid, slope + f64::from(k) * paid)
            });
        let slope = slope + f64::from(self.payments) * 100.0 * factor;
        (value + 100.0 * factor, -slope * discount / self.frequency)
    }

    /// The yield to maturity, by Newton's method.
    pub fn rate(&self) -> Option<f64> {
        let mut rate = self.coupon * self.frequency / self.price;
        for _ in 0..20 {
            let (value, slope) = self.value(rate);
            let step = (value - self.price) / slope;
            rate -= step;
            if rate <= -0.9 {
                return None;
            }
            if step.abs() < 1e-10 {
                return Some(rate);
            }
        }
        None
    }

    /// The yield and the modified duration.
    pub fn duration(&self) -> Option<[f64; 2]> {
        let rate = self.rate()?;
        let (value, slope) = self.value(rate);
        Some([rate, -slope / value])
    }
}

/// The yields and the durations of bonds.
#[kernel(block_size(128))]
pub fn bond_yield_safe(
    prices: &[f64],
    coupons: &[f64],
    years: &[u8],
    frequencies: &[Frequency],
    mut to: PerThread<[f64; 2]>,
) {
    let bonds = Bonds {
        prices,
        coupons,
        years,
        frequencies,
    };
    to.each(|i, to| {
        *to = bonds
            .get(i)
            .and_then(|bond| bond.duration())
            .unwrap_or([-1.0; 2]);
    });
}

/// The yields and the durations of bonds.
#[kernel(block_size(128))]
pub unsafe fn bond_yield_raw(
    prices: *const f64,
    coupons: *const f64,
    years: *const u8,
    frequencies: *const u8,
    to: *mut f64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let per_year = match *frequencies.add(i) {
        0 => 1,
        1 => 2,
        2 => 4,
        _ => 12,
    };
    let frequency = per_year as f64;
    let price = *prices.add(i);
    let coupon = *coupons.add(i) / frequency;
    let payments = *years.add(i) as u32 * per_year;
    let value_at = |rate: f64| {
        let discount = 1.0 / (1.0 + rate / frequency);
        let (mut factor, mut value, mut slope) = (1.0, 0.0, 0.0);
        let mut k = 1;
        while k <= payments {
            factor *= discount;
            let paid = coupon * factor;
            value += paid;
            slope += k as f64 * paid;
            k += 1;
        }
        slope += payments as f64 * 100.0 * factor;
        (value + 100.0 * factor, -slope * discount / frequency)
    };
    let mut rate = coupon * frequency / price;
    let mut found = false;
    for _ in 0..20 {
        let (value, slope) = value_at(rate);
        let step = (value - price) / slope;
        rate -= step;
        if rate <= -0.9 {
            break;
        }
        if step.abs() < 1e-10 {
            found = true;
            break;
        }
    }
    if found {
        let (value, slope) = value_at(rate);
        *to.add(2 * i) = rate;
        *to.add(2 * i + 1) = -slope / value;
    } else {
        *to.add(2 * i) = -1.0;
        *to.add(2 * i + 1) = -1.0;
    }
}

// ---------------------------------------------------------------------------------------------
// Poly1305

/// The state of Poly1305: a number of 130 bits.
pub struct Poly1305 {
    h: [u64; 3],
    r: [u64; 2],
}

impl Poly1305 {
    /// Starts with a key.
    pub fn new(r: [u64; 2]) -> Self {
        let r = [r[0] & 0x0fff_fffc_0fff_ffff, r[1] & 0x0fff_fffc_0fff_fffc];
        Poly1305 { h: [0; 3], r }
    }

    /// Adds a block, which is followed by a bit, and multiplies.
    pub fn block(&mut self, block: u128, above: u64) {
        let ([h0, h1, h2], [r0, r1]) = (self.h, self.r);
        let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let (low, carry) = (u128::from(h1) << 64 | u128::from(h0)).overflowing_add(block);
        let (h0, h1) = (low as u64, (low >> 64) as u64);
        let h2 = h2 + u64::from(carry) + above;

        let s1 = r1 + (r1 >> 2);
        let d0 = wide(h0, r0) + wide(h1, s1);
        let d1 = wide(h0, r1) + wide(h1, r0) + wide(h2, s1) + (d0 >> 64);
        let h2 = h2 * r0 + (d1 >> 64) as u64;

        let (h0, carry) = (d0 as u64).overflowing_add((h2 >> 2) + (h2 & !3));
        let (h1, carry) = (d1 as u64).overflowing_add(u64::from(carry));
        self.h = [h0, h1, (h2 & 3) + u64::from(carry)];
    }

    /// Returns the tag.
    pub fn finish(self, nonce: u128) -> u128 {
        let [h0, h1, h2] = self.h;
        let h = u128::from(h1) << 64 | u128::from(h0);
        // The number minus the prime, if it is not less.
        let (reduced, carry) = h.overflowing_add(5);
        let h = if h2 + u64::from(carry) >= 4 {
            reduced
        } else {
            h
        };
        h.wrapping_add(nonce)
    }
}

/// The tag of a message.
pub fn poly1305(r: [u64; 2], nonce: u128, message: &[u8]) -> u128 {
    let mut state = Poly1305::new(r);
    for chunk in message.chunks(16) {
        if let Ok(block) = <[u8; 16]>::try_from(chunk) {
            state.block(u128::from_le_bytes(block), 1);
        } else {
            let mut block = [0; 16];
            block[..chunk.len()].copy_from_slice(chunk);
            block[chunk.len()] = 1;
            state.block(u128::from_le_bytes(block), 0);
        }
    }
    state.finish(nonce)
}

/// Authenticates messages of equal length.
#[kernel(block_size(128))]
pub fn poly1305_safe(
    r0: u64,
    r1: u64,
    length: usize,
    messages: &[u8],
    nonces: &[u128],
    mut to: PerThread<u128>,
) {
    to.each_with(nonces, |i, to, &nonce| {
        *to = poly1305([r0, r1], nonce, &messages[i * length..(i + 1) * length]);
    });
}

/// Authenticates messages of equal length.
#[kernel(block_size(128))]
pub unsafe fn poly1305_raw(
    r0: u64,
    r1: u64,
    length: usize,
    messages: *const u8,
    nonces: *const u128,
    to: *mut u128,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let message = messages.add(i * length);
    let mut state = Poly1305::new([r0, r1]);
    let mut at = 0;
    while at < length {
        let len = (length - at).min(16);
        let mut block = 0;
        for k in 0..len {
            block |= (*message.add(at + k) as u128) << (8 * k);
        }
        if len == 16 {
            state.block(block, 1);
        } else {
            state.block(block | 1 << (8 * len), 0);
        }
        at += 16;
    }
    *to.add(i) = state.finish(*nonces.add(i));
}

// ---------------------------------------------------------------------------------------------
// Wildcards

/// Whether a text matches a pattern with the wildcards `*` and `?`.
pub fn glob_matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(&c) = text.get(t) {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(&expected) if expected == b'?' || expected == c => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((after, from)) = retry else {
                    return false;
                };
                retry = Some((after, from + 1));
                p = after;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

/// Marks the lines that match a pattern.
#[kernel(block_size(128))]
pub fn glob_match_safe(pattern: &[u8], text: &[u8], ends: &[u32], mut to: PerThread<bool>) {
    for (i, to) in to.own() {
        let start = i.checked_sub(1).map_or(0, |before| ends[before]);
        let line = &text[start as usize..ends[i] as usize];
        *to = glob_matches(pattern, line);
    }
}

/// Marks the lines that match a pattern.
#[kernel(block_size(128))]
pub unsafe fn glob_match_raw(
    pattern: *const u8,
    pattern_len: u32,
    text: *const u8,
    ends: *const u32,
    to: *mut bool,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut t = if i == 0 { 0 } else { *ends.add(i - 1) };
    let end = *ends.add(i);
    let mut p = 0;
    let mut star = u32::MAX;
    let mut from = 0;
    let mut matches = true;
    while t < end {
        let c = *text.add(t as usize);
        let expected = if p < pattern_len {
            *pattern.add(p as usize)
        } else {
            0
        };
        if expected == b'*' {
            star = p;
            from = t;
            p += 1;
        } else if p < pattern_len && (expected == b'?' || expected == c) {
            p += 1;
            t += 1;
        } else if star != u32::MAX {
            p = star + 1;
            from += 1;
            t = from;
        } else {
            matches = false;
            break;
        }
    }
    while matches && p < pattern_len {
        matches = *pattern.add(p as usize) == b'*';
        p += 1;
    }
    *to.add(i) = matches;
}

// ---------------------------------------------------------------------------------------------
// Similarity of names

/// The longest name.
pub const NAME: usize = 24;

/// The similarity of names by Jaro and Winkler, from 0 to 1.
pub fn jaro_winkler(a: &[u8], b: &[u8]) -> f32 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
    let (mut in_a, mut in_b) = ([false; NAME], [false; NAME]);
    let mut common = 0;
    for (i, c) in a.iter().enumerate() {
        let window = i.saturating_sub(reach)..(i + reach + 1).min(b.len());
        for j in window {
            if !in_b[j] && b[j] == *c {
                in_a[i] = true;
                in_b[j] = true;
                common += 1;
                break;
            }
        }
    }
    if common == 0 {
        return 0.0;
    }
    let left = a
        .iter()
        .zip(&in_a)
        .filter_map(|(c, &common)| common.then_some(c));
    let right = b
        .iter()
        .zip(&in_b)
        .filter_map(|(c, &common)| common.then_some(c));
    let moved = left.zip(right).filter(|(a, b)| a != b).count() / 2;
    let common = common as f32;
    let jaro =
        (common / a.len() as f32 + common / b.len() as f32 + (common - moved as f32) / common)
            / 3.0;
    let prefix = a.iter().zip(b).take(4).take_while(|(a, b)| a == b).count();
    jaro + 0.1 * prefix as f32 * (1.0 - jaro)
}

/// The similarity of each name to the one that is searched.
#[kernel(block_size(128))]
pub fn jaro_winkler_safe(
    searched: &[u8],
    names: &[[u8; NAME]],
    lengths: &[u8],
    mut to: PerThread<f32>,
) {
    to.each_with((names, lengths), |_, to, (name, &length)| {
        *to = jaro_winkler(searched, &name[..usize::from(length)]);
    });
}

/// The similarity of each name to the one that is searched.
#[kernel(block_size(128))]
pub unsafe fn jaro_winkler_raw(
    searched: *const u8,
    searched_len: u32,
    names: *const u8,
    lengths: *const u8,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (a, la) = (searched, searched_len as i32);
    let (b, lb) = (names.add(i * NAME), *lengths.add(i) as i32);
    if la == 0 || lb == 0 {
        *to.add(i) = 0.0;
        return;
    }
    let reach = (la.max(lb) / 2 - 1).max(0);
    let mut in_a = [false; NAME];
    let mut in_b = [false; NAME];
    let mut common = 0;
    for x in 0..la {
        for y in (x - reach).max(0)..(x + reach + 1).min(lb) {
            if !in_b[y as usize] && *b.add(y as usize) == *a.add(x as usize) {
                in_a[x as usize] = true;
                in_b[y as usize] = true;
                common += 1;
                break;
            }
        }
    }
    if common == 0 {
        *to.add(i) = 0.0;
        return;
    }
    let mut moved = 0;
    let mut y = 0;
    for x in 0..la as usize {
        if in_a[x] {
            while !in_b[y] {
                y += 1;
            }
            if *a.add(x) != *b.add(y) {
                moved += 1;
            }
            y += 1;
        }
    }
    let m = common as f32;
    let jaro = (m / la as f32 + m / lb as f32 + (m - (moved / 2) as f32) / m) / 3.0;
    let mut prefix = 0;
    while prefix < 4
        && prefix < la
        && prefix < lb
        && *a.add(prefix as usize) == *b.add(prefix as usize)
    {
        prefix += 1;
    }
    *to.add(i) = jaro + 0.1 * prefix as f32 * (1.0 - jaro);
}

// ---------------------------------------------------------------------------------------------
// ADPCM

const STEPS: [i16; 89] = [
    7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66,
    73, 80, 88, 97, 107, 118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449,
    494, 544, 598, 658, 724, 796, 876, 963, 1060, 1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272,
    2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894, 6484, 7132, 7845, 8630, 9493,
    10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767,
];

const CHANGES: [i8; 8] = [-1, -1, -1, -1, 2, 4, 6, 8];

/// A decoder of IMA ADPCM.
#[derive(Default)]
pub struct Adpcm {
    sample: i16,
    index: u8,
}

impl Adpcm {
    /// Decodes a sample.
    pub fn decode(&mut self, nibble: u8) -> i16 {
        let step = i32::from(STEPS[usize::from(self.index)]);
        let mut difference = step >> 3;
        for bit in 0..3 {
            if nibble & (4 >> bit) != 0 {
                difference += step >> bit;
            }
        }
        if nibble & 8 != 0 {
            difference = -difference;
        }
        let sample = i32::from(self.sample) + difference;
        self.sample = sample.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        let index = self.index as i8 + CHANGES[usize::from(nibble & 7)];
        self.index = index.clamp(0, 88) as u8;
        self.sample
    }
}

/// Decodes channels: byte `t` of channel `x` is element `t * channels + x`.
#[kernel(block_size(128))]
pub fn adpcm_safe(bytes: &[u8], mut to: PerColumn<i16>) {
    let channels = to.width();
    to.each(|x, mut column| {
        let mut decoder = Adpcm::default();
        let nibbles = bytes[x..]
            .iter()
            .step_by(channels)
            .flat_map(|byte| [byte & 15, byte >> 4]);
        for (to, nibble) in column.iter_mut().zip(nibbles) {
            *to = decoder.decode(nibble);
        }
    });
}

/// Decodes channels: byte `t` of channel `x` is element `t * channels + x`.
#[kernel(block_size(128))]
pub unsafe fn adpcm_raw(bytes: *const u8, to: *mut i16, channels: usize, samples: u32) {
    let x = thread::index_1d() as usize;
    if x >= channels {
        return;
    }
    let mut sample = 0i32;
    let mut index = 0i32;
    for t in 0..samples as usize {
        let byte = *bytes.add(t / 2 * channels + x) as i32;
        let nibble = if t % 2 == 0 { byte & 15 } else { byte >> 4 };
        let step = *STEPS.as_ptr().add(index as usize) as i32;
        let mut difference = step >> 3;
        if nibble & 4 != 0 {
            difference += step;
        }
        if nibble & 2 != 0 {
            difference += step >> 1;
        }
        if nibble & 1 != 0 {
            difference += step >> 2;
        }
        if nibble & 8 != 0 {
            difference = -difference;
        }
        sample = (sample + difference).clamp(-32768, 32767);
        index = (index + *CHANGES.as_ptr().add((nibble & 7) as usize) as i32).clamp(0, 88);
        *to.add(t * channels + x) = sample as i16;
    }
}

// ---------------------------------------------------------------------------------------------
// Connect four

/// How a game ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// A player, 0 or 1, has four in a row.
    Won(usize),
    /// The board is full.
    Draw,
}

/// A position. A column has 7 bits, of which 6 are used.
#[derive(Clone, Copy, Default)]
pub struct Position {
    stones: [u64; 2],
    moves: u32,
}

/// A generator of random numbers.
pub struct XorShift(u64);

impl XorShift {
    /// A number below `n`.
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        (high * u64::from(n) >> 32) as u32
    }
}

impl Position {
    fn has_four(stones: u64) -> bool {
        [1, 6, 7, 8].iter().any(|&shift| {
            let pairs = stones & stones >> shift;
            pairs & pairs >> (2 * shift) != 0
        })
    }

    /// The columns that are not full.
    fn legal(&self) -> impl Iterator<Item = u32> + Clone + use<> {
        let taken = self.stones[0] | self.stones[1];
        (0..7).filter(move |column| taken >> (7 * column + 5) & 1 == 0)
    }

    fn play(&mut self, column: u32) -> Option<Outcome> {
        let taken = self.stones[0] | self.stones[1];
        let player = (self.moves % 2) as usize;
        let bottom = 1 << (7 * column);
        self.stones[player] |= (taken + bottom) & (0x3f << (7 * column));
        self.moves += 1;
        if Self::has_four(self.stones[player]) {
            Some(Outcome::Won(player))
        } else if self.moves == 42 {
            Some(Outcome::Draw)
        } else {
            None
        }
    }

    /// Plays random moves until the game ends.
    fn play_out(mut self, random: &mut XorShift) -> Outcome {
        loop {
            let legal = self.legal();
            let choice = random.below(legal.clone().count() as u32);
            let column = legal.clone().nth(choice as usize).unwrap_or(0);
            if let Some(outcome) = self.play(column) {
                return outcome;
            }
        }
    }
}

/// The games won minus those lost by the first player.
pub fn connect_four_score(seed: u64, games: u32) -> i32 {
    let mut random = XorShift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..games)
        .map(|_| match Position::default().play_out(&mut random) {
            Outcome::Won(0) => 1,
            Outcome::Won(_) => -1,
            Outcome::Draw => 0,
        })
        .sum()
}

/// Plays random games of connect four.
#[kernel(block_size(128))]
pub fn connect_four_safe(games: u32, mut to: PerThread<i32>) {
    to.each(|i, to| *to = connect_four_score(i as u64, games));
}

/// Plays random games of connect four.
#[kernel(block_size(128))]
pub unsafe fn connect_four_raw(games: u32, to: *mut i32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut state = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut score = 0;
    for _ in 0..games {
        let mut own = 0u64;
        let mut other = 0u64;
        let mut sign = 1;
        for _ in 0..42 {
            let taken = own | other;
            let mut count = 0;
            for column in 0..7 {
                count += (taken >> (7 * column + 5) & 1) ^ 1;
            }
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            let high = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
            let mut choice = (high * count >> 32) as i32;
            let mut column = 0;
            loop {
                if taken >> (7 * column + 5) & 1 == 0 {
                    if choice == 0 {
                        break;
                    }
                    choice -= 1;
                }
                column += 1;
            }
            own |= (taken + (1 << (7 * column))) & (0x3f << (7 * column));
            let mut won = false;
            for shift in [1, 6, 7, 8] {
                let pairs = own & own >> shift;
                won |= pairs & pairs >> (2 * shift) != 0;
            }
            if won {
                score += sign;
                break;
            }
            core::mem::swap(&mut own, &mut other);
            sign = -sign;
        }
    }
    *to.add(i) = score;
}

// ---------------------------------------------------------------------------------------------
// Cloth

/// A particle of a cloth.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Mass {
    /// The position.
    pub position: Vec3,
    /// The velocity.
    pub velocity: Vec3,
}

/// A spring to a neighbor.
pub struct Spring {
    dx: isize,
    dy: isize,
    stiffness: f32,
}

const fn spring(dx: isize, dy: isize, stiffness: f32) -> Spring {
    Spring { dx, dy, stiffness }
}

const SPRINGS: [Spring; 12] = [
    spring(1, 0, 80.0),
    spring(-1, 0, 80.0),
    spring(0, 1, 80.0),
    spring(0, -1, 80.0),
    spring(1, 1, 40.0),
    spring(1, -1, 40.0),
    spring(-1, 1, 40.0),
    spring(-1, -1, 40.0),
    spring(2, 0, 15.0),
    spring(-2, 0, 15.0),
    spring(0, 2, 15.0),
    spring(0, -2, 15.0),
];

/// The force on a particle of a cloth.
pub fn cloth_force(
    masses: &[Mass],
    width: usize,
    height: usize,
    (x, y): (usize, usize),
    spacing: f32,
) -> Vec3 {
    let here = masses[y * width + x];
    let neighbor = |dx, dy| -> Option<&Mass> {
        let x = x.checked_add_signed(dx).filter(|&x| x < width)?;
        let y = y.checked_add_signed(dy).filter(|&y| y < height)?;
        masses.get(y * width + x)
    };
    let mut force = Vec3 {
        x: 0.0,
        y: -9.81,
        z: 0.0,
    };
    for Spring { dx, dy, stiffness } in &SPRINGS {
        let Some(there) = neighbor(*dx, *dy) else {
            continue;
        };
        let rest = spacing * ((dx * dx + dy * dy) as f32).sqrt();
        let between = there.position - here.position;
        let length = between.length();
        force += between * (stiffness * (length - rest) / length);
        force += (there.velocity - here.velocity) * 0.3;
    }
    force
}

/// The forces on the particles of a cloth.
#[kernel(block_size(32, 8))]
pub fn cloth_forces_safe(spacing: f32, masses: &[Mass], mut to: PerThread2d<Vec3>) {
    let (width, height) = (to.width(), to.height());
    to.each(|at, to| *to = cloth_force(masses, width, height, at, spacing));
}

/// The forces on the particles of a cloth.
#[kernel(block_size(32, 8))]
pub unsafe fn cloth_forces_raw(
    spacing: f32,
    masses: *const Mass,
    to: *mut Vec3,
    width: i32,
    height: i32,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as i32, at.y as i32);
    if x >= width || y >= height {
        return;
    }
    let here = *masses.add((y * width + x) as usize);
    let mut force = Vec3 {
        x: 0.0,
        y: -9.81,
        z: 0.0,
    };
    for s in 0..12 {
        let spring = &*SPRINGS.as_ptr().add(s);
        let (dx, dy) = (spring.dx as i32, spring.dy as i32);
        let (nx, ny) = (x + dx, y + dy);
        if nx < 0 || nx >= width || ny < 0 || ny >= height {
            continue;
        }
        let there = *masses.add((ny * width + nx) as usize);
        let rest = spacing * ((dx * dx + dy * dy) as f32).sqrt();
        let between = there.position - here.position;
        let length = between.length();
        force += between * (spring.stiffness * (length - rest) / length);
        force += (there.velocity - here.velocity) * 0.3;
    }
    *to.add((y * width + x) as usize) = force;
}

// ---------------------------------------------------------------------------------------------
// Clipped triangles

/// A polygon with at most `N` corners.
#[derive(Clone, Copy)]
pub struct Polygon<const N: usize> {
    corners: [[f32; 2]; N],
    len: usize,
}

/// A side of a rectangle.
#[derive(Clone, Copy)]
pub enum Side {
    /// `x` is at least this.
    Left(f32),
    /// `x` is at most this.
    Right(f32),
    /// `y` is at least this.
    Bottom(f32),
    /// `y` is at most this.
    Top(f32),
}

impl Side {
    /// The distance of a point from the side, positive inside.
    fn distance(self, [x, y]: [f32; 2]) -> f32 {
        match self {
            Side::Left(left) => x - left,
            Side::Right(right) => right - x,
            Side::Bottom(bottom) => y - bottom,
            Side::Top(top) => top - y,
        }
    }
}

impl<const N: usize> Polygon<N> {
    /// A polygon without corners.
    pub fn new() -> Self {
        Polygon {
            corners: [[0.0; 2]; N],
            len: 0,
        }
    }

    fn push(&mut self, corner: [f32; 2]) {
        self.corners[self.len] = corner;
        self.len += 1;
    }

    fn corners(&self) -> &[[f32; 2]] {
        &self.corners[..self.len]
    }

    /// Pairs of neighboring corners, starting with the last and the first.
    fn edges(&self) -> impl Iterator<Item = ([f32; 2], [f32; 2])> {
        let corners = self.corners();
        let before = corners.iter().cycle().skip(self.len.saturating_sub(1));
        before.copied().zip(corners.iter().copied())
    }

    /// The part on the inner side.
    fn clip(&self, side: Side) -> Self {
        let mut clipped = Self::new();
        for (from, to) in self.edges() {
            let (a, b) = (side.distance(from), side.distance(to));
            if (a >= 0.0) != (b >= 0.0) {
                let t = a / (a - b);
                clipped.push([
                    from[0] + t * (to[0] - from[0]),
                    from[1] + t * (to[1] - from[1]),
                ]);
            }
            if b >= 0.0 {
                clipped.push(to);
            }
        }
        clipped
    }

    fn area(&self) -> f32 {
        self.edges()
            .map(|(a, b)| a[0] * b[1] - a[1] * b[0])
            .sum::<f32>()
            / 2.0
    }
}

impl<const N: usize> Extend<[f32; 2]> for Polygon<N> {
    fn extend<I: IntoIterator<Item = [f32; 2]>>(&mut self, corners: I) {
        for corner in corners {
            self.push(corner);
        }
    }
}

/// The area of the part of a triangle in the unit square.
pub fn clipped_area(triangle: &[[f32; 2]; 3]) -> f32 {
    let mut polygon = Polygon::<8>::new();
    polygon.extend(*triangle);
    for side in [
        Side::Left(0.0),
        Side::Right(1.0),
        Side::Bottom(0.0),
        Side::Top(1.0),
    ] {
        polygon = polygon.clip(side);
        if polygon.len == 0 {
            return 0.0;
        }
    }
    polygon.area().abs()
}

/// The areas of the parts of triangles in the unit square.
#[kernel(block_size(128))]
pub fn clip_area_safe(triangles: &[[[f32; 2]; 3]], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = clipped_area(&triangles[i]);
    }
}

/// The areas of the parts of triangles in the unit square.
#[kernel(block_size(128))]
pub unsafe fn clip_area_raw(triangles: *const f32, to: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut px = [0.0f32; 8];
    let mut py = [0.0f32; 8];
    let mut len = 3;
    for c in 0..3 {
        px[c] = *triangles.add(6 * i + 2 * c);
        py[c] = *triangles.add(6 * i + 2 * c + 1);
    }
    for side in 0..4 {
        if len == 0 {
            break;
        }
        let mut qx = [0.0f32; 8];
        let mut qy = [0.0f32; 8];
        let mut count = 0;
        let distance = |x: f32, y: f32| match side {
            0 => x,
            1 => 1.0 - x,
            2 => y,
            _ => 1.0 - y,
        };
        for c in 0..len {
            let before = if c == 0 { len - 1 } else { c - 1 };
            let a = distance(px[before], py[before]);
            let b = distance(px[c], py[c]);
            if (a >= 0.0) != (b >= 0.0) {
                let t = a / (a - b);
                qx[count] = px[before] + t * (px[c] - px[before]);
                qy[count] = py[before] + t * (py[c] - py[before]);
                count += 1;
            }
            if b >= 0.0 {
                qx[count] = px[c];
                qy[count] = py[c];
                count += 1;
            }
        }
        px = qx;
        py = qy;
        len = count;
    }
    let mut area = 0.0;
    for c in 0..len {
        let before = if c == 0 { len - 1 } else { c - 1 };
        area += px[before] * py[c] - py[before] * px[c];
    }
    *to.add(i) = (area / 2.0).abs();
}

// ---------------------------------------------------------------------------------------------
// Dormand and Prince

/// A system of ordinary differential equations.
pub trait System<const D: usize> {
    /// The derivative of the state.
    fn derivative(&self, state: [f64; D]) -> [f64; D];
}

/// The oscillator of van der Pol.
pub struct VanDerPol {
    /// The nonlinearity.
    pub mu: f64,
}

impl System<2> for VanDerPol {
    fn derivative(&self, [x, v]: [f64; 2]) -> [f64; 2] {
        [v, self.mu * (1.0 - x * x) * v - x]
    }
}

/// `state + h * (sum of factors and slopes)`.
fn combine<const D: usize, const K: usize>(
    state: [f64; D],
    h: f64,
    factors: [f64; K],
    slopes: [[f64; D]; K],
) -> [f64; D] {
    core::array::from_fn(|d| {
        let sum: f64 = factors
            .iter()
            .zip(&slopes)
            .map(|(factor, slope)| factor * slope[d])
            .sum();
        state[d] + h * sum
    })
}

/// The state after a time, by the method of Dormand and Prince with adaptive steps.
pub fn dormand_prince<const D: usize, S: System<D>>(
    system: &S,
    mut state: [f64; D],
    end: f64,
    tolerance: f64,
) -> [f64; D] {
    let f = |state| system.derivative(state);
    let (mut time, mut h) = (0.0f64, 0.01f64);
    let mut k1 = f(state);
    while time < end {
        h = h.min(end - time);
        let k2 = f(combine(state, h, [0.2], [k1]));
        let k3 = f(combine(state, h, [3.0 / 40.0, 9.0 / 40.0], [k1, k2]));
        let a4 = [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0];
        let k4 = f(combine(state, h, a4, [k1, k2, k3]));
        let a5 = [
            19372.0 / 6561.0,
            -25360.0 / 2187.0,
            64448.0 / 6561.0,
            -212.0 / 729.0,
        ];
        let k5 = f(combine(state, h, a5, [k1, k2, k3, k4]));
        let a6 = [
            9017.0 / 3168.0,
            -355.0 / 33.0,
            46732.0 / 5247.0,
            49.0 / 176.0,
            -5103.0 / 18656.0,
        ];
        let k6 = f(combine(state, h, a6, [k1, k2, k3, k4, k5]));
        let b = [
            35.0 / 384.0,
            500.0 / 1113.0,
            125.0 / 192.0,
            -2187.0 / 6784.0,
            11.0 / 84.0,
        ];
        let next = combine(state, h, b, [k1, k3, k4, k5, k6]);
        let k7 = f(next);
        let e = [
            71.0 / 57600.0,
            -71.0 / 16695.0,
            71.0 / 1920.0,
            -17253.0 / 339200.0,
            22.0 / 525.0,
            -1.0 / 40.0,
        ];
        let error = combine([0.0; D], h, e, [k1, k3, k4, k5, k6, k7])
            .iter()
            .fold(0.0f64, |largest, e| largest.max(e.abs()));
        if error <= tolerance {
            time += h;
            state = next;
            k1 = k7;
        }
        let factor = 0.9 * (tolerance / error.max(1e-16)).powf(0.2);
        h *= factor.clamp(0.2, 5.0);
    }
    state
}

/// Integrates many oscillators.
#[kernel(block_size(128))]
pub fn dormand_prince_safe(end: f64, tolerance: f64, mus: &[f64], mut states: PerThread<[f64; 2]>) {
    states.each_with(mus, |_, state, &mu| {
        *state = dormand_prince(&VanDerPol { mu }, *state, end, tolerance);
    });
}

/// Integrates many oscillators.
#[kernel(block_size(128))]
pub unsafe fn dormand_prince_raw(
    end: f64,
    tolerance: f64,
    mus: *const f64,
    states: *mut f64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mu = *mus.add(i);
    let f = |y: [f64; 2]| [y[1], mu * (1.0 - y[0] * y[0]) * y[1] - y[0]];
    let mut y = [*states.add(2 * i), *states.add(2 * i + 1)];
    let (mut time, mut h) = (0.0f64, 0.01f64);
    let mut k1 = f(y);
    while time < end {
        h = h.min(end - time);
        let mut s = [0.0; 2];
        for d in 0..2 {
            s[d] = y[d] + h * (0.2 * k1[d]);
        }
        let k2 = f(s);
        for d in 0..2 {
            s[d] = y[d] + h * (3.0 / 40.0 * k1[d] + 9.0 / 40.0 * k2[d]);
        }
        let k3 = f(s);
        for d in 0..2 {
            s[d] = y[d] + h * (44.0 / 45.0 * k1[d] - 56.0 / 15.0 * k2[d] + 32.0 / 9.0 * k3[d]);
        }
        let k4 = f(s);
        for d in 0..2 {
            s[d] = y[d]
                + h * (19372.0 / 6561.0 * k1[d] - 25360.0 / 2187.0 * k2[d]
                    + 64448.0 / 6561.0 * k3[d]
                    - 212.0 / 729.0 * k4[d]);
        }
        let k5 = f(s);
        for d in 0..2 {
            s[d] = y[d]
                + h * (9017.0 / 3168.0 * k1[d] - 355.0 / 33.0 * k2[d]
                    + 46732.0 / 5247.0 * k3[d]
                    + 49.0 / 176.0 * k4[d]
                    - 5103.0 / 18656.0 * k5[d]);
        }
        let k6 = f(s);
        for d in 0..2 {
            s[d] = y[d]
                + h * (35.0 / 384.0 * k1[d] + 500.0 / 1113.0 * k3[d] + 125.0 / 192.0 * k4[d]
                    - 2187.0 / 6784.0 * k5[d]
                    + 11.0 / 84.0 * k6[d]);
        }
        let k7 = f(s);
        let mut error = 0.0f64;
        for d in 0..2 {
            let e = h
                * (71.0 / 57600.0 * k1[d] - 71.0 / 16695.0 * k3[d] + 71.0 / 1920.0 * k4[d]
                    - 17253.0 / 339200.0 * k5[d]
                    + 22.0 / 525.0 * k6[d]
                    - 1.0 / 40.0 * k7[d]);
            error = error.max(e.abs());
        }
        if error <= tolerance {
            time += h;
            y = s;
            k1 = k7;
        }
        let factor = 0.9 * (tolerance / error.max(1e-16)).powf(0.2);
        h *= factor.clamp(0.2, 5.0);
    }
    *states.add(2 * i) = y[0];
    *states.add(2 * i + 1) = y[1];
}

// ---------------------------------------------------------------------------------------------
// Torsions

/// Four atoms that are bonded in a chain.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Torsion {
    /// The indices of the atoms.
    pub atoms: [u32; 4],
    /// The energy's factor.
    pub factor: f32,
    /// The phase.
    pub phase: f32,
    /// The number of minima.
    pub multiplicity: u32,
}

/// The angle between the planes of three consecutive bonds.
fn dihedral([a, b, c, d]: [Vec3; 4]) -> f32 {
    let (first, axis, last) = (b - a, c - b, d - c);
    let (m, n) = (first.cross(axis), axis.cross(last));
    (axis.length() * first.dot(n)).atan2(m.dot(n))
}

/// The energy of a torsion.
pub fn torsion_energy(torsion: &Torsion, atoms: &[Vec3]) -> f32 {
    let angle = dihedral(torsion.atoms.map(|atom| atoms[atom as usize]));
    let turns = torsion.multiplicity as f32 * angle - torsion.phase;
    torsion.factor * (1.0 + turns.cos())
}

/// The energies of the torsions of a molecule.
#[kernel(block_size(256))]
pub fn torsion_energy_safe(atoms: &[Vec3], torsions: &[Torsion], mut to: PerThread<f32>) {
    for (i, to) in to.own() {
        *to = torsion_energy(&torsions[i], atoms);
    }
}

/// The energies of the torsions of a molecule.
#[kernel(block_size(256))]
pub unsafe fn torsion_energy_raw(
    atoms: *const Vec3,
    torsions: *const Torsion,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let torsion = *torsions.add(i);
    let atom = |k: usize| *atoms.add(torsion.atoms[k] as usize);
    let (a, b, c, d) = (atom(0), atom(1), atom(2), atom(3));
    let (first, axis, last) = (b - a, c - b, d - c);
    let m = first.cross(axis);
    let n = axis.cross(last);
    let angle = (axis.length() * first.dot(n)).atan2(m.dot(n));
    let turns = torsion.multiplicity as f32 * angle - torsion.phase;
    *to.add(i) = torsion.factor * (1.0 + turns.cos());
}

// ---------------------------------------------------------------------------------------------
// Moments of rows

/// Statistics of numbers.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy, AnyBits)]
#[repr(C)]
pub struct Moments {
    /// How many there are.
    pub count: f32,
    /// The mean.
    pub mean: f32,
    /// The sum of squared differences from the mean.
    pub squares: f32,
    /// The minimum.
    pub low: f32,
    /// The maximum.
    pub high: f32,
}

impl Moments {
    /// No numbers.
    pub const NONE: Moments = Moments {
        count: 0.0,
        mean: 0.0,
        squares: 0.0,
        low: f32::INFINITY,
        high: f32::NEG_INFINITY,
    };

    /// Adds a number.
    pub fn with(self, x: f32) -> Self {
        let count = self.count + 1.0;
        let difference = x - self.mean;
        let mean = self.mean + difference / count;
        Moments {
            count,
            mean,
            squares: self.squares + difference * (x - mean),
            low: self.low.min(x),
            high: self.high.max(x),
        }
    }

    /// Merges the statistics of different numbers.
    pub fn merge(self, other: Self) -> Self {
        let count = self.count + other.count;
        if count == 0.0 {
            return self;
        }
        let difference = other.mean - self.mean;
        let share = other.count / count;
        Moments {
            count,
            mean: self.mean + difference * share,
            squares: self.squares + other.squares + difference * difference * self.count * share,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }
}

/// The statistics of each row of a matrix, by a warp.
#[kernel(block_size(256))]
pub fn row_moments_safe(width: usize, matrix: &[f32], mut to: PerWarp<Moments>) {
    let row = thread::index() as usize / 32;
    if row < to.len() {
        let row = &matrix[row * width..][..width];
        let own = thread::warp_stride(width).fold(Moments::NONE, |own, x| own.with(row[x]));
        let all = group::warp().reduce(own, Moments::merge);
        to.each(|_, to| *to = all);
    }
}

/// The statistics of each row of a matrix, by a warp.
#[kernel(block_size(256))]
pub unsafe fn row_moments_raw(width: usize, matrix: *const f32, to: *mut Moments, rows: usize) {
    let row = thread::index_1d() as usize / 32;
    if row >= rows {
        return;
    }
    let lane = thread::lane_id() as usize;
    let mut own = Moments::NONE;
    let mut x = lane;
    while x < width {
        own = own.with(*matrix.add(row * width + x));
        x += 32;
    }
    let mut distance = 16;
    while distance > 0 {
        own = own.merge(warp::shuffle_xor(warp::FULL, own, distance));
        distance /= 2;
    }
    if lane == 0 {
        *to.add(row) = own;
    }
}

// ---------------------------------------------------------------------------------------------
// Corners

/// The response of Harris' corner detector for a window of 5 by 5 pixels.
fn harris_response(pixel: impl Fn(usize, usize) -> f32) -> f32 {
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for y in 1..4 {
        for x in 1..4 {
            let dx = pixel(x + 1, y) - pixel(x - 1, y);
            let dy = pixel(x, y + 1) - pixel(x, y - 1);
            xx += dx * dx;
            xy += dx * dy;
            yy += dy * dy;
        }
    }
    let trace = xx + yy;
    xx * yy - xy * xy - 0.04 * trace * trace
}

/// Harris' corner detector.
#[kernel(block_size(32, 8))]
pub fn harris_safe(
    #[shared] mut pixels: Shared<Tile<f32, 36, 12>>,
    image: &[u8],
    mut to: PerTile<f32, 32, 8>,
) {
    let (width, height) = (to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        pixels.own().each(|(x, y), pixel| {
            let x = (x0 + x).saturating_sub(2).min(width - 1);
            let y = (y0 + y).saturating_sub(2).min(height - 1);
            *pixel = f32::from(image[y * width + x]);
        });
        pixels.read(|rows| {
            tile.each(|(x, y), to| *to = harris_response(|dx, dy| rows[y + dy][x + dx]));
        });
    }
}

/// Harris' corner detector.
#[kernel(block_size(32, 8))]
pub unsafe fn harris_raw(image: *const u8, to: *mut f32, width: i32, height: i32) {
    let tile = shared_array![f32; 36 * 12];
    let (tx, ty) = (thread::thread_idx_x() as i32, thread::thread_idx_y() as i32);
    let x0 = thread::block_idx_x() as i32 * 32;
    let y0 = thread::block_idx_y() as i32 * 8;
    let mut y = ty;
    while y < 12 {
        let mut x = tx;
        while x < 36 {
            let ix = (x0 + x - 2).clamp(0, width - 1);
            let iy = (y0 + y - 2).clamp(0, height - 1);
            *tile.add((y * 36 + x) as usize) = *image.add((iy * width + ix) as usize) as f32;
            x += 32;
        }
        y += 8;
    }
    thread::sync_threads();
    let (x, y) = (x0 + tx, y0 + ty);
    if x < width && y < height {
        let at = |dx: usize, dy: usize| *tile.add((ty as usize + dy) * 36 + tx as usize + dx);
        *to.add((y * width + x) as usize) = harris_response(at);
    }
}

// ---------------------------------------------------------------------------------------------
// Tone mapping

const BAYER: [[u8; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];

/// The curve of ACES, which maps light of any intensity to the range from 0 to 1.
fn aces(x: f32) -> f32 {
    ((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14)).clamp(0.0, 1.0)
}

fn srgb(linear: f32) -> f32 {
    if linear <= 0.003_130_8 {
        12.92 * linear
    } else {
        1.055 * linear.powf(1.0 / 2.4) - 0.055
    }
}

/// The color of a pixel on a screen.
pub fn tone_mapped(pixel: [F16; 4], exposure: f32, x: usize, y: usize) -> [u8; 4] {
    let dither = (f32::from(BAYER[y % 4][x % 4]) + 0.5) / 16.0 - 0.5;
    let encode = |light: f32| (255.0 * srgb(aces(light * exposure)) + dither).round() as u8;
    let [r, g, b, alpha] = pixel.map(f32::from);
    [
        encode(r),
        encode(g),
        encode(b),
        (255.0 * alpha).round() as u8,
    ]
}

/// Maps an image of half-precision light to colors.
#[kernel(block_size(32, 8))]
pub fn tone_map_safe(exposure: f32, light: &[[F16; 4]], mut to: PerThread2d<[u8; 4]>) {
    let width = to.width();
    to.each(|(x, y), to| *to = tone_mapped(light[y * width + x], exposure, x, y));
}

/// A pixel in 8 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct Light([F16; 4]);

/// A pixel in 4 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(4))]
pub struct Color([u8; 4]);

/// Maps an image of half-precision light to colors.
#[kernel(block_size(32, 8))]
pub unsafe fn tone_map_raw(
    exposure: f32,
    light: *const Light,
    to: *mut Color,
    width: u32,
    height: u32,
) {
    let at = thread::index_2d();
    if at.x >= width || at.y >= height {
        return;
    }
    let i = (at.y * width + at.x) as usize;
    let Light([r, g, b, alpha]) = *light.add(i);
    let dither = (BAYER[(at.y % 4) as usize][(at.x % 4) as usize] as f32 + 0.5) / 16.0 - 0.5;
    let encode =
        |light: F16| (255.0 * srgb(aces(light.to_f32() * exposure)) + dither).round() as u8;
    let alpha = (255.0 * alpha.to_f32()).round() as u8;
    *to.add(i) = Color([encode(r), encode(g), encode(b), alpha]);
}

// ---------------------------------------------------------------------------------------------
// Curvature flow

/// A level set after a step of mean curvature flow, at a point.
pub fn curvature_step(
    volume: &[f32],
    (width, height, depth): (usize, usize, usize),
    (x, y, z): (usize, usize, usize),
    dt: f32,
) -> f32 {
    let at = |dx: isize, dy: isize, dz: isize| {
        let x = x.saturating_add_signed(dx).min(width - 1);
        let y = y.saturating_add_signed(dy).min(height - 1);
        let z = z.saturating_add_signed(dz).min(depth - 1);
        volume[(z * height + y) * width + x]
    };
    let center = at(0, 0, 0);
    let dx = (at(1, 0, 0) - at(-1, 0, 0)) / 2.0;
    let dy = (at(0, 1, 0) - at(0, -1, 0)) / 2.0;
    let dz = (at(0, 0, 1) - at(0, 0, -1)) / 2.0;
    let dxx = at(1, 0, 0) - 2.0 * center + at(-1, 0, 0);
    let dyy = at(0, 1, 0) - 2.0 * center + at(0, -1, 0);
    let dzz = at(0, 0, 1) - 2.0 * center + at(0, 0, -1);
    let dxy = (at(1, 1, 0) - at(-1, 1, 0) - at(1, -1, 0) + at(-1, -1, 0)) / 4.0;
    let dxz = (at(1, 0, 1) - at(-1, 0, 1) - at(1, 0, -1) + at(-1, 0, -1)) / 4.0;
    let dyz = (at(0, 1, 1) - at(0, -1, 1) - at(0, 1, -1) + at(0, -1, -1)) / 4.0;
    let (xx, yy, zz) = (dx * dx, dy * dy, dz * dz);
    let flow = dxx * (yy + zz) + dyy * (xx + zz) + dzz * (xx + yy)
        - 2.0 * (dx * dy * dxy + dx * dz * dxz + dy * dz * dyz);
    center + dt * flow / (xx + yy + zz + 1e-3)
}

/// A step of mean curvature flow.
#[kernel(block_size(32, 4, 2))]
pub fn curvature3d_safe(dt: f32, volume: &[f32], mut to: PerThread3d<f32>) {
    let size = (to.width(), to.height(), to.depth());
    to.each(|at, to| *to = curvature_step(volume, size, at, dt));
}

/// A step of mean curvature flow.
#[kernel(block_size(32, 4, 2))]
pub unsafe fn curvature3d_raw(
    dt: f32,
    volume: *const f32,
    to: *mut f32,
    width: i32,
    height: i32,
    depth: i32,
) {
    let index = thread::index_3d();
    let (x, y, z) = (index.x as i32, index.y as i32, index.z as i32);
    if x >= width || y >= height || z >= depth {
        return;
    }
    let (left, right) = ((x - 1).max(0), (x + 1).min(width - 1));
    let (up, down) = ((y - 1).max(0), (y + 1).min(height - 1));
    let (front, back) = ((z - 1).max(0), (z + 1).min(depth - 1));
    let at = |x: i32, y: i32, z: i32| *volume.add(((z * height + y) * width + x) as usize);
    let center = at(x, y, z);
    let dx = (at(right, y, z) - at(left, y, z)) / 2.0;
    let dy = (at(x, down, z) - at(x, up, z)) / 2.0;
    let dz = (at(x, y, back) - at(x, y, front)) / 2.0;
    let dxx = at(right, y, z) - 2.0 * center + at(left, y, z);
    let dyy = at(x, down, z) - 2.0 * center + at(x, up, z);
    let dzz = at(x, y, back) - 2.0 * center + at(x, y, front);
    let dxy = (at(right, down, z) - at(left, down, z) - at(right, up, z) + at(left, up, z)) / 4.0;
    let dxz =
        (at(right, y, back) - at(left, y, back) - at(right, y, front) + at(left, y, front)) / 4.0;
    let dyz = (at(x, down, back) - at(x, up, back) - at(x, down, front) + at(x, up, front)) / 4.0;
    let (xx, yy, zz) = (dx * dx, dy * dy, dz * dz);
    let flow = dxx * (yy + zz) + dyy * (xx + zz) + dzz * (xx + yy)
        - 2.0 * (dx * dy * dxy + dx * dz * dxz + dy * dz * dyz);
    *to.add(((z * height + y) * width + x) as usize) = center + dt * flow / (xx + yy + zz + 1e-3);
}

// ---------------------------------------------------------------------------------------------
// Photons

/// What light travels through.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Medium {
    /// The absorptions per unit of length.
    pub absorption: f32,
    /// The scatterings per unit of length.
    pub scattering: f32,
    /// The mean cosine of the scattering angle.
    pub anisotropy: f32,
    /// The thickness of the slab.
    pub thickness: f32,
}

/// What happens to a photon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// It returns.
    Reflected,
    /// It passes.
    Transmitted,
    /// It heats the medium.
    Absorbed,
}

/// A generator of random numbers.
struct Random(u32);

impl Random {
    fn new(seed: u32) -> Self {
        let x = (seed ^ 61 ^ seed >> 16).wrapping_mul(9);
        let x = (x ^ x >> 4).wrapping_mul(0x27d4_eb2d);
        Random((x ^ x >> 15) | 1)
    }
}

impl Iterator for Random {
    type Item = f32;

    /// A number above 0, at most 1.
    fn next(&mut self) -> Option<f32> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        Some(((self.0 >> 8) + 1) as f32 / 16_777_216.0)
    }
}

impl Medium {
    /// The cosine of a scattering angle, by Henyey and Greenstein.
    fn scatter(&self, random: f32) -> f32 {
        let g = self.anisotropy;
        if g == 0.0 {
            return 2.0 * random - 1.0;
        }
        let f = (1.0 - g * g) / (1.0 - g + 2.0 * g * random);
        ((1.0 + g * g - f * f) / (2.0 * g)).clamp(-1.0, 1.0)
    }

    /// Follows a photon.
    fn trace(&self, mut random: impl Iterator<Item = f32>) -> Option<Fate> {
        let extinction = self.absorption + self.scattering;
        let (mut depth, mut direction) = (0.0, 1.0f32);
        for _ in 0..1000 {
            depth += direction * -random.next()?.ln() / extinction;
            if depth < 0.0 {
                return Some(Fate::Reflected);
            } else if depth > self.thickness {
                return Some(Fate::Transmitted);
            } else if random.next()? * extinction < self.absorption {
                return Some(Fate::Absorbed);
            }
            let cosine = self.scatter(random.next()?);
            let turn = (core::f32::consts::TAU * random.next()?).cos();
            let sines = ((1.0 - cosine * cosine) * (1.0 - direction * direction))
                .max(0.0)
                .sqrt();
            direction = (direction * cosine + sines * turn).clamp(-1.0, 1.0);
        }
        None
    }

    /// Counts the fates of photons.
    pub fn count(&self, thread: usize, photons: u32) -> [u32; 3] {
        let mut counts = [0; 3];
        for photon in 0..photons {
            let random = Random::new(thread as u32 * photons + photon);
            if let Some(fate) = self.trace(random) {
                counts[fate as usize] += 1;
            }
        }
        counts
    }
}

/// Counts the fates of photons that enter a slab.
#[kernel(block_size(128))]
pub fn photon_slab_safe(medium: Medium, photons: u32, mut to: PerThread<[u32; 3]>) {
    to.each(|i, to| *to = medium.count(i, photons));
}

/// Counts the fates of photons that enter a slab.
#[kernel(block_size(128))]
pub unsafe fn photon_slab_raw(medium: Medium, photons: u32, to: *mut u32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let extinction = medium.absorption + medium.scattering;
    let g = medium.anisotropy;
    let (mut reflected, mut transmitted, mut absorbed) = (0, 0, 0);
    for photon in 0..photons {
        let seed = i as u32 * photons + photon;
        let x = (seed ^ 61 ^ seed >> 16).wrapping_mul(9);
        let x = (x ^ x >> 4).wrapping_mul(0x27d4_eb2d);
        let mut state = (x ^ x >> 15) | 1;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            ((state >> 8) + 1) as f32 / 16_777_216.0
        };
        let (mut depth, mut direction) = (0.0, 1.0f32);
        for _ in 0..1000 {
            depth += direction * -random().ln() / extinction;
            if depth < 0.0 {
                reflected += 1;
                break;
            }
            if depth > medium.thickness {
                transmitted += 1;
                break;
            }
            if random() * extinction < medium.absorption {
                absorbed += 1;
                break;
            }
            let r = random();
            let cosine = if g == 0.0 {
                2.0 * r - 1.0
            } else {
                let f = (1.0 - g * g) / (1.0 - g + 2.0 * g * r);
                ((1.0 + g * g - f * f) / (2.0 * g)).clamp(-1.0, 1.0)
            };
            let turn = (core::f32::consts::TAU * random()).cos();
            let sines = ((1.0 - cosine * cosine) * (1.0 - direction * direction))
                .max(0.0)
                .sqrt();
            direction = (direction * cosine + sines * turn).clamp(-1.0, 1.0);
        }
    }
    *to.add(3 * i) = reflected;
    *to.add(3 * i + 1) = transmitted;
    *to.add(3 * i + 2) = absorbed;
}

// ---------------------------------------------------------------------------------------------
// Energies of a probe

/// A charge in a protein.
#[derive(Clone, Copy, Debug, Default, DeviceCopy, AnyBits)]
#[repr(C)]
pub struct Charge {
    /// The position.
    pub position: [f32; 3],
    /// The charge.
    pub charge: f32,
}

impl Charge {
    /// The energy of a probe at a point.
    pub fn energy(&self, point: [f32; 3]) -> f32 {
        let squared: f32 = self
            .position
            .iter()
            .zip(point)
            .map(|(a, b)| (a - b) * (a - b))
            .sum();
        if squared > 36.0 {
            return 0.0;
        }
        let distance = squared.max(0.01).sqrt();
        let screened = self.charge * (-0.3 * distance).exp() / (4.0 * distance);
        screened - 0.5 * (-squared / 12.25).exp()
    }
}

/// The point of a grid with 64 columns and rows.
pub fn grid_point(i: usize, spacing: f32) -> [f32; 3] {
    [i % 64, i / 64 % 64, i / 4096].map(|i| i as f32 * spacing)
}

/// The energies of a probe at the points of a grid.
#[kernel(block_size(256))]
pub fn probe_energy_safe(
    #[shared] mut tile: Shared<Array<Charge, 256>>,
    spacing: f32,
    charges: &[Charge],
    mut to: PerThread<f32>,
) {
    let point = grid_point(thread::index() as usize, spacing);
    let mut energy = 0.0;
    for part in charges.chunks(256) {
        tile.own()
            .each(|i, charge| *charge = part.get(i).copied().unwrap_or_default());
        energy += tile.read(|tile| {
            tile[..part.len()]
                .iter()
                .map(|charge| charge.energy(point))
                .sum::<f32>()
        });
    }
    to.each(|_, to| *to = energy);
}

/// The energies of a probe at the points of a grid.
#[kernel(block_size(256))]
pub unsafe fn probe_energy_raw(
    spacing: f32,
    charges: *const Charge,
    count: usize,
    to: *mut f32,
    n: usize,
) {
    let tile = shared_array![Charge; 256];
    let i = thread::index_1d() as usize;
    let point = grid_point(i, spacing);
    let mut energy = 0.0;
    let mut start = 0;
    while start < count {
        let own = start + thread::thread_idx_x() as usize;
        if own < count {
            *tile.add(thread::thread_idx_x() as usize) = *charges.add(own);
        }
        thread::sync_threads();
        for k in 0..(count - start).min(256) {
            energy += (*tile.add(k)).energy(point);
        }
        thread::sync_threads();
        start += 256;
    }
    if i < n {
        *to.add(i) = energy;
    }
}

// ---------------------------------------------------------------------------------------------
// Inverse kinematics

/// The number of a robot arm's joints.
pub const JOINTS: usize = 6;

/// The pose of a robot arm in the plane.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Pose {
    /// The angle of each link to the one before.
    pub angles: [f32; JOINTS],
    /// The distance of the hand from the target.
    pub error: f32,
    /// The number of iterations.
    pub steps: u32,
}

/// The positions of the joints and of the hand.
fn joint_positions(lengths: &[f32; JOINTS], angles: &[f32; JOINTS]) -> [[f32; 2]; JOINTS + 1] {
    let mut positions = [[0.0; 2]; JOINTS + 1];
    let mut direction = 0.0f32;
    for (j, (length, angle)) in lengths.iter().zip(angles).enumerate() {
        direction += angle;
        let (sin, cos) = direction.sin_cos();
        let [x, y] = positions[j];
        positions[j + 1] = [x + length * cos, y + length * sin];
    }
    positions
}

/// Turns one joint after the other towards the target, until the hand is there.
pub fn reach(lengths: &[f32; JOINTS], [x, y]: [f32; 2], limit: u32) -> Pose {
    let mut pose = Pose {
        angles: [0.3; JOINTS],
        error: f32::INFINITY,
        steps: 0,
    };
    loop {
        for j in (0..JOINTS).rev() {
            let positions = joint_positions(lengths, &pose.angles);
            let [jx, jy] = positions[j];
            let [hx, hy] = positions[JOINTS];
            let (ax, ay) = (hx - jx, hy - jy);
            let (bx, by) = (x - jx, y - jy);
            pose.angles[j] += (ax * by - ay * bx).atan2(ax * bx + ay * by);
        }
        let [hx, hy] = joint_positions(lengths, &pose.angles)[JOINTS];
        pose.error = (hx - x).hypot(hy - y);
        pose.steps += 1;
        if pose.error < 1e-2 || pose.steps >= limit {
            return pose;
        }
    }
}

/// Poses in which the hand of a robot arm is at a target.
#[kernel(block_size(128))]
pub fn ik_arm_safe(
    lengths: &[f32; JOINTS],
    limit: u32,
    targets: &[[f32; 2]],
    mut to: PerThread<Pose>,
) {
    to.each_with(targets, |_, to, target| {
        *to = reach(lengths, *target, limit)
    });
}

/// Poses in which the hand of a robot arm is at a target.
#[kernel(block_size(128))]
pub unsafe fn ik_arm_raw(
    lengths: *const f32,
    limit: u32,
    targets: *const f32,
    to: *mut Pose,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let (x, y) = (*targets.add(2 * i), *targets.add(2 * i + 1));
    let mut angles = [0.3f32; JOINTS];
    let mut error;
    let mut steps = 0;
    loop {
        let (mut px, mut py) = ([0.0f32; JOINTS + 1], [0.0f32; JOINTS + 1]);
        for k in 0..=JOINTS {
            let mut direction = 0.0f32;
            for j in 0..JOINTS {
                direction += angles[j];
                let (sin, cos) = direction.sin_cos();
                px[j + 1] = px[j] + *lengths.add(j) * cos;
                py[j + 1] = py[j] + *lengths.add(j) * sin;
            }
            if k < JOINTS {
                let j = JOINTS - 1 - k;
                let (ax, ay) = (px[JOINTS] - px[j], py[JOINTS] - py[j]);
                let (bx, by) = (x - px[j], y - py[j]);
                angles[j] += (ax * by - ay * bx).atan2(ax * bx + ay * by);
            }
        }
        error = (px[JOINTS] - x).hypot(py[JOINTS] - y);
        steps += 1;
        if error < 1e-2 || steps >= limit {
            break;
        }
    }
    *to.add(i) = Pose {
        angles,
        error,
        steps,
    };
}

// ---------------------------------------------------------------------------------------------
// Loans

/// An amount in cents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(pub i64);

/// A yearly rate in millionths.
#[derive(Clone, Copy, Debug)]
pub struct Rate(pub i64);

impl Add for Money {
    type Output = Money;
    fn add(self, other: Money) -> Money {
        Money(self.0 + other.0)
    }
}

impl Sub for Money {
    type Output = Money;
    fn sub(self, other: Money) -> Money {
        Money(self.0 - other.0)
    }
}

impl core::iter::Sum for Money {
    fn sum<I: Iterator<Item = Money>>(amounts: I) -> Money {
        amounts.fold(Money(0), Add::add)
    }
}

impl Rate {
    /// The interest of a month, rounded to cents.
    pub fn monthly(self, balance: Money) -> Money {
        Money((balance.0 * self.0 + 6_000_000) / 12_000_000)
    }
}

/// The interest of each month of a loan.
struct Schedule {
    balance: Money,
    rate: Rate,
    payment: Money,
    months: u32,
}

impl Iterator for Schedule {
    type Item = Money;

    fn next(&mut self) -> Option<Money> {
        self.months = self.months.checked_sub(1)?;
        let interest = self.rate.monthly(self.balance);
        self.balance = (self.balance + interest - self.payment).max(Money(0));
        Some(interest)
    }
}

/// The smallest constant payment that pays a loan off in time, and all interest.
pub fn amortize(principal: Money, rate: Rate, months: u32) -> [Money; 2] {
    let schedule = |payment| Schedule {
        balance: principal,
        rate,
        payment,
        months,
    };
    let pays_off = |payment| {
        let mut schedule = schedule(payment);
        while schedule.next().is_some() {}
        schedule.balance == Money(0)
    };
    let (mut low, mut high) = (Money(0), principal + rate.monthly(principal));
    while low < high {
        let middle = Money(low.0.midpoint(high.0));
        if pays_off(middle) {
            high = middle;
        } else {
            low = middle + Money(1);
        }
    }
    [high, schedule(high).sum()]
}

/// The payments and the interest of loans.
#[kernel(block_size(128))]
pub fn amortize_safe(
    principals: &[i64],
    rates: &[u32],
    months: &[u16],
    mut to: PerThread<[i64; 2]>,
) {
    to.each_with(
        (principals, rates, months),
        |_, to, (&principal, &rate, &months)| {
            let loan = amortize(Money(principal), Rate(rate.into()), months.into());
            *to = loan.map(|money| money.0);
        },
    );
}

/// The payments and the interest of loans.
#[kernel(block_size(128))]
pub unsafe fn amortize_raw(
    principals: *const i64,
    rates: *const u32,
    months: *const u16,
    to: *mut i64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let principal = *principals.add(i);
    let rate = *rates.add(i) as i64;
    let months = *months.add(i) as u32;
    let mut low = 0;
    let mut high = principal + (principal * rate + 6_000_000) / 12_000_000;
    while low < high {
        let middle = (low + high) / 2;
        let mut balance = principal;
        for _ in 0..months {
            let interest = (balance * rate + 6_000_000) / 12_000_000;
            balance = (balance + interest - middle).max(0);
        }
        if balance == 0 {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let mut balance = principal;
    let mut sum = 0;
    for _ in 0..months {
        let interest = (balance * rate + 6_000_000) / 12_000_000;
        balance = (balance + interest - high).max(0);
        sum += interest;
    }
    *to.add(2 * i) = high;
    *to.add(2 * i + 1) = sum;
}

// ---------------------------------------------------------------------------------------------
// Trimmed reads

/// The number of quality scores.
pub const SCORES: usize = 42;

/// The part of a read that is good enough.
#[derive(Clone, Copy, Debug, Default, DeviceCopy)]
#[repr(C)]
pub struct Trimmed {
    /// The first base.
    pub start: u16,
    /// The base after the last one.
    pub end: u16,
    /// The expected number of errors in the first half.
    pub first: f32,
    /// The expected number of errors in the second half.
    pub second: f32,
}

fn is_good(window: &[u8]) -> bool {
    let sum: u32 = window.iter().map(|&score| u32::from(score - b'!')).sum();
    sum >= 20 * window.len() as u32
}

/// Trims both ends of a read.
pub fn trim(quality: &[u8], errors: &[f32; SCORES]) -> Option<Trimmed> {
    let start = quality.windows(5).position(is_good)?;
    let end = quality.len() - quality.windows(5).rev().position(is_good)?;
    let kept = quality.get(start..end)?;
    if kept.len() < 20 {
        return None;
    }
    let expected = |part: &[u8]| -> f32 {
        part.iter()
            .map(|&score| errors[usize::from(score - b'!')])
            .sum()
    };
    let (first, second) = kept.split_at(kept.len() / 2);
    Some(Trimmed {
        start: start as u16,
        end: end as u16,
        first: expected(first),
        second: expected(second),
    })
}

/// Trims reads.
#[kernel(block_size(128))]
pub fn quality_trim_safe(
    errors: &[f32; SCORES],
    qualities: &[u8],
    length: usize,
    mut to: PerThread<Trimmed>,
) {
    for (i, to) in to.own() {
        let quality = &qualities[i * length..][..length];
        *to = trim(quality, errors).unwrap_or_default();
    }
}

/// Trims reads.
#[kernel(block_size(128))]
pub unsafe fn quality_trim_raw(
    errors: *const f32,
    qualities: *const u8,
    length: usize,
    to: *mut Trimmed,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let quality = qualities.add(i * length);
    let window = |at: usize| {
        let mut sum = 0;
        for k in 0..5 {
            sum += *quality.add(at + k) as u32 - 33;
        }
        sum >= 100
    };
    let last = length - 4;
    let mut start = 0;
    while start < last && !window(start) {
        start += 1;
    }
    let mut cut = 0;
    while cut < last && !window(last - 1 - cut) {
        cut += 1;
    }
    let mut trimmed = Trimmed {
        start: 0,
        end: 0,
        first: 0.0,
        second: 0.0,
    };
    if start < last && length - cut >= start + 20 {
        let end = length - cut;
        let middle = start + (end - start) / 2;
        for k in start..middle {
            trimmed.first += *errors.add(*quality.add(k) as usize - 33);
        }
        for k in middle..end {
            trimmed.second += *errors.add(*quality.add(k) as usize - 33);
        }
        trimmed.start = start as u16;
        trimmed.end = end as u16;
    }
    *to.add(i) = trimmed;
}

// ---------------------------------------------------------------------------------------------
// Dictionary

/// The bytes of the text that a thread searches.
pub const PART: usize = 128;

/// The bytes before them that may begin a word.
pub const BEFORE: usize = 15;

/// An automaton that finds words.
#[derive(Clone, Copy)]
pub struct Automaton<'a> {
    /// The next state for each letter and other character.
    pub next: &'a [[u16; 27]],
    /// The number of words that end in a state.
    pub words: &'a [u8],
}

impl Automaton<'_> {
    fn step(&self, state: u16, byte: u8) -> u16 {
        let class = match byte {
            b'a'..=b'z' => byte - b'a',
            b'A'..=b'Z' => byte - b'A',
            _ => 26,
        };
        self.next[usize::from(state)][usize::from(class)]
    }

    /// The number of words that end in a part of the text.
    pub fn count(&self, text: &[u8], start: usize) -> u32 {
        let (before, from) = text.split_at(start);
        let before = &before[before.len().saturating_sub(BEFORE)..];
        let mut state = before.iter().fold(0, |state, &byte| self.step(state, byte));
        let mut count = 0;
        for &byte in from.iter().take(PART) {
            state = self.step(state, byte);
            count += u32::from(self.words[usize::from(state)]);
        }
        count
    }
}

/// Counts the words of a dictionary in each part of a text.
#[kernel(block_size(128))]
pub fn dictionary_safe(next: &[[u16; 27]], words: &[u8], text: &[u8], mut to: PerThread<u32>) {
    let automaton = Automaton { next, words };
    to.each(|i, to| *to = automaton.count(text, i * PART));
}

/// Counts the words of a dictionary in each part of a text.
#[kernel(block_size(128))]
pub unsafe fn dictionary_raw(
    next: *const u16,
    words: *const u8,
    text: *const u8,
    length: usize,
    to: *mut u32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let start = i * PART;
    let end = (start + PART).min(length);
    let mut state = 0;
    let mut count = 0;
    for at in start.saturating_sub(BEFORE)..end {
        let mut class = (*text.add(at) | 32).wrapping_sub(b'a');
        if class > 25 {
            class = 26;
        }
        state = *next.add(state as usize * 27 + class as usize);
        if at >= start {
            count += *words.add(state as usize) as u32;
        }
    }
    *to.add(i) = count;
}
