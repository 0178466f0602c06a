//! Kernels in many styles: written by a programmer who knew the documentation of `cuda_std` and nothing of
//! the compiler.

// The kernels are as their author wrote them.
#![allow(
    clippy::chunks_exact_to_as_chunks,
    clippy::excessive_precision,
    clippy::manual_clamp,
    clippy::manual_is_multiple_of,
    clippy::manual_memcpy,
    clippy::manual_range_contains,
    clippy::manual_swap,
    clippy::mut_range_bound,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::precedence
)]

use core::ops::{Add, Index, IndexMut, Mul, Neg, Sub};
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::half::F16x2;
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::{AnyBits, PerBlock, PerThread3d, PerTile, PerWarp, group};

/// The inclusive scan of a block of 256 threads, and the total, as in CUDA.
#[inline(always)]
unsafe fn block_scan_raw(value: f32, slots: *mut f32) -> (f32, f32) {
    let lane = thread::lane_id();
    let warp_index = thread::thread_idx_x() as usize / 32;
    let mut sum = value;
    let mut distance = 1;
    while distance < 32 {
        let other = warp::shuffle_up(warp::FULL, sum, distance);
        if lane >= distance {
            sum += other;
        }
        distance *= 2;
    }
    if lane == 31 {
        *slots.add(warp_index) = sum;
    }
    thread::sync_threads();
    let mut total = 0.0;
    let mut before = 0.0;
    for i in 0..8 {
        if i == warp_index {
            before = total;
        }
        total += *slots.add(i);
    }
    thread::sync_threads();
    (before + sum, total)
}

// ---------------------------------------------------------------------------------------------
// infix_calc

/// A stack of bounded depth.
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

    fn push(&mut self, item: T) -> Option<()> {
        *self.items.get_mut(self.len)? = item;
        self.len += 1;
        Some(())
    }

    fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        Some(self.items[self.len])
    }

    fn top(&self) -> Option<T> {
        self.items[..self.len].last().copied()
    }
}

fn precedence(op: u8) -> u32 {
    match op {
        b'+' | b'-' => 1,
        b'*' | b'/' | b'%' => 2,
        _ => 0,
    }
}

fn apply(op: u8, values: &mut Stack<i64, 16>) -> Option<()> {
    let b = values.pop()?;
    let a = values.pop()?;
    values.push(match op {
        b'+' => a.wrapping_add(b),
        b'-' => a.wrapping_sub(b),
        b'*' => a.wrapping_mul(b),
        b'/' => a.checked_div(b)?,
        b'%' => a.checked_rem(b)?,
        _ => return None,
    })
}

/// Evaluates an arithmetic expression, by the shunting-yard algorithm.
fn evaluate(mut text: &[u8]) -> Option<i64> {
    let mut values = Stack::<i64, 16>::new();
    let mut ops = Stack::<u8, 16>::new();
    while let [first, rest @ ..] = text {
        text = rest;
        match *first {
            b' ' => {}
            digit @ b'0'..=b'9' => {
                let mut value = i64::from(digit - b'0');
                while let [digit @ b'0'..=b'9', rest @ ..] = text {
                    value = value * 10 + i64::from(digit - b'0');
                    text = rest;
                }
                values.push(value)?;
            }
            b'(' => ops.push(b'(')?,
            b')' => loop {
                match ops.pop()? {
                    b'(' => break,
                    op => apply(op, &mut values)?,
                }
            },
            op @ (b'+' | b'-' | b'*' | b'/' | b'%') => {
                while let Some(top) = ops.top()
                    && precedence(top) >= precedence(op)
                {
                    ops.pop();
                    apply(top, &mut values)?;
                }
                ops.push(op)?;
            }
            _ => return None,
        }
    }
    while let Some(op) = ops.pop() {
        apply(op, &mut values)?;
    }
    values.pop()
}

/// Evaluates an expression in each thread. The result of an invalid one is `i64::MIN`.
#[kernel]
pub fn infix_calc_safe(text: &[u8], starts: &[u32], mut to: PerThread<i64>) {
    to.each(|i, to| {
        let expression = &text[starts[i] as usize..starts[i + 1] as usize];
        *to = evaluate(expression).unwrap_or(i64::MIN);
    });
}

/// Applies an operator to the two topmost values.
#[inline(always)]
unsafe fn apply_raw(op: u8, values: *mut i64, len: &mut usize) -> bool {
    if *len < 2 {
        return false;
    }
    let b = *values.add(*len - 1);
    let a = *values.add(*len - 2);
    let value = match op {
        b'+' => a.wrapping_add(b),
        b'-' => a.wrapping_sub(b),
        b'*' => a.wrapping_mul(b),
        b'/' if b != 0 => a.wrapping_div(b),
        b'%' if b != 0 => a.wrapping_rem(b),
        _ => return false,
    };
    *len -= 1;
    *values.add(*len - 1) = value;
    true
}

/// As [`infix_calc_safe`], with pointers.
#[kernel]
pub unsafe fn infix_calc_raw(text: *const u8, starts: *const u32, to: *mut i64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut values = [0i64; 16];
    let mut ops = [0u8; 16];
    let values = values.as_mut_ptr();
    let ops = ops.as_mut_ptr();
    let (mut depth, mut pending) = (0, 0);
    let mut at = *starts.add(i) as usize;
    let end = *starts.add(i + 1) as usize;
    let mut valid = true;
    while valid && at < end {
        let c = *text.add(at);
        at += 1;
        if c == b' ' {
            continue;
        }
        if c >= b'0' && c <= b'9' {
            let mut value = i64::from(c - b'0');
            while at < end && *text.add(at) >= b'0' && *text.add(at) <= b'9' {
                value = value * 10 + i64::from(*text.add(at) - b'0');
                at += 1;
            }
            valid = depth < 16;
            if valid {
                *values.add(depth) = value;
                depth += 1;
            }
        } else if c == b'(' {
            valid = pending < 16;
            if valid {
                *ops.add(pending) = c;
                pending += 1;
            }
        } else if c == b')' {
            loop {
                if pending == 0 {
                    valid = false;
                    break;
                }
                pending -= 1;
                let op = *ops.add(pending);
                if op == b'(' {
                    break;
                }
                if !apply_raw(op, values, &mut depth) {
                    valid = false;
                    break;
                }
            }
        } else if precedence(c) > 0 {
            while valid && pending > 0 && precedence(*ops.add(pending - 1)) >= precedence(c) {
                pending -= 1;
                valid = apply_raw(*ops.add(pending), values, &mut depth);
            }
            valid = valid && pending < 16;
            if valid {
                *ops.add(pending) = c;
                pending += 1;
            }
        } else {
            valid = false;
        }
    }
    while valid && pending > 0 {
        pending -= 1;
        valid = apply_raw(*ops.add(pending), values, &mut depth);
    }
    *to.add(i) = if valid && depth > 0 {
        *values.add(depth - 1)
    } else {
        i64::MIN
    };
}

// ---------------------------------------------------------------------------------------------
// primer_melt

/// The enthalpy and entropy of a pair of neighboring bases, in kcal/mol and cal/(mol K).
const NEIGHBORS: [(f32, f32); 16] = [
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

/// A DNA base.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    A,
    C,
    G,
    T,
}

impl Base {
    fn parse(letter: u8) -> Option<Base> {
        Some(match letter {
            b'A' => Base::A,
            b'C' => Base::C,
            b'G' => Base::G,
            b'T' => Base::T,
            _ => return None,
        })
    }

    fn pairs_with(self, other: Base) -> bool {
        self as u8 + other as u8 == 3
    }
}

/// The sums over all pairs of neighbors, or `None` if a base is unknown.
fn nearest_neighbors(primer: &[u8]) -> Option<(f32, f32)> {
    let mut sums = (0.2, -5.7);
    for pair in primer.windows(2) {
        let [a, b] = [Base::parse(pair[0])?, Base::parse(pair[1])?];
        let (enthalpy, entropy) = NEIGHBORS[a as usize * 4 + b as usize];
        sums = (sums.0 + enthalpy, sums.1 + entropy);
    }
    let ends = primer.first().into_iter().chain(primer.last());
    let weak = ends.filter(|&&end| end == b'A' || end == b'T').count() as f32;
    Some((sums.0 + 2.2 * weak, sums.1 + 6.9 * weak))
}

/// Rates primers: the melting temperature, minus penalties for runs of equal bases and for ends that
/// fold onto each other. Unknown bases give -1.
#[kernel]
pub fn primer_melt_safe(
    bases: &[u8],
    starts: &[u32],
    log_concentration: f32,
    mut to: PerThread<f32>,
) {
    let starts = &starts[..=to.len()];
    for (i, to) in to.own() {
        let primer = &bases[starts[i] as usize..starts[i + 1] as usize];
        let Some((enthalpy, entropy)) = nearest_neighbors(primer) else {
            *to = -1.0;
            continue;
        };
        let melting = 1000.0 * enthalpy / (entropy + 1.987 * log_concentration) - 273.15;
        let run = primer
            .chunk_by(|a, b| a == b)
            .map(<[u8]>::len)
            .max()
            .unwrap_or(0);
        let folds = (3..primer.len() / 2)
            .map(|gap| {
                let stem = primer.iter().zip(primer.iter().rev().skip(gap));
                stem.take_while(|&(&a, &b)| match (Base::parse(a), Base::parse(b)) {
                    (Some(a), Some(b)) => a.pairs_with(b),
                    _ => false,
                })
                .count()
            })
            .max()
            .unwrap_or(0);
        *to = melting - 0.5 * run.saturating_sub(3) as f32 - 0.75 * folds as f32;
    }
}

#[inline(always)]
fn base_raw(letter: u8) -> i32 {
    match letter {
        b'A' => 0,
        b'C' => 1,
        b'G' => 2,
        b'T' => 3,
        _ => -1,
    }
}

/// As [`primer_melt_safe`], with pointers.
#[kernel]
pub unsafe fn primer_melt_raw(
    bases: *const u8,
    starts: *const u32,
    log_concentration: f32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let primer = bases.add(*starts.add(i) as usize);
    let len = (*starts.add(i + 1) - *starts.add(i)) as i32;
    let mut enthalpy = 0.2f32;
    let mut entropy = -5.7f32;
    let mut last = base_raw(*primer);
    for k in 1..len {
        let base = base_raw(*primer.add(k as usize));
        if base < 0 || last < 0 {
            *to.add(i) = -1.0;
            return;
        }
        let (h, s) = NEIGHBORS[(last * 4 + base) as usize];
        enthalpy += h;
        entropy += s;
        last = base;
    }
    let mut weak = 0.0;
    let (front, back) = (*primer, *primer.add(len as usize - 1));
    if front == b'A' || front == b'T' {
        weak += 1.0;
    }
    if back == b'A' || back == b'T' {
        weak += 1.0;
    }
    enthalpy += 2.2 * weak;
    entropy += 6.9 * weak;
    let melting = 1000.0 * enthalpy / (entropy + 1.987 * log_concentration) - 273.15;
    let mut longest = 1;
    let mut run = 1;
    for k in 1..len as usize {
        run = if *primer.add(k) == *primer.add(k - 1) {
            run + 1
        } else {
            1
        };
        longest = longest.max(run);
    }
    let mut folds = 0;
    for gap in 3..len / 2 {
        let mut count = 0;
        while count < len - gap {
            let a = base_raw(*primer.add(count as usize));
            let b = base_raw(*primer.add((len - 1 - gap - count) as usize));
            if a + b != 3 {
                break;
            }
            count += 1;
        }
        folds = folds.max(count);
    }
    *to.add(i) = melting - 0.5 * (longest - 3).max(0) as f32 - 0.75 * folds as f32;
}

// ---------------------------------------------------------------------------------------------
// codon_counts

/// Returns the index of a codon, in the order TCAG.
fn codon_index(codon: &[u8]) -> Option<usize> {
    codon.iter().try_fold(0, |index, base| {
        let digit = b"TCAG".iter().position(|letter| letter == base)?;
        Some(4 * index + digit)
    })
}

fn is_stop(codon: usize) -> bool {
    matches!(codon, 10 | 11 | 14)
}

/// Counts the codons of all genes: from the beginning of each gene to its first stop codon or
/// unknown base.
#[kernel(block_size(256))]
pub fn codon_counts_safe(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, 64>>,
    bases: &[u8],
    starts: &[u32],
    total: &[Atomic<u32, Device>],
) {
    counts.own().each(|_, count| *count.get_mut() = 0);
    counts.read(|counts| {
        for i in thread::grid_stride(starts.len() - 1) {
            let gene = &bases[starts[i] as usize..starts[i + 1] as usize];
            gene.chunks_exact(3)
                .map_while(codon_index)
                .take_while(|&codon| !is_stop(codon))
                .for_each(|codon| {
                    counts[codon].fetch_add(1, Relaxed);
                });
        }
    });
    counts.own().each(|i, count| {
        total[i].fetch_add(*count.get_mut(), Relaxed);
    });
}

#[inline(always)]
fn digit_raw(base: u8) -> i32 {
    match base {
        b'T' => 0,
        b'C' => 1,
        b'A' => 2,
        b'G' => 3,
        _ => -1,
    }
}

/// As [`codon_counts_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn codon_counts_raw(
    bases: *const u8,
    starts: *const u32,
    total: *mut u32,
    genes: usize,
) {
    let counts = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    if t < 64 {
        *counts.add(t) = 0;
    }
    thread::sync_threads();
    let mut i = thread::index_1d() as usize;
    while i < genes {
        let end = *starts.add(i + 1) as usize;
        let mut at = *starts.add(i) as usize;
        while at + 3 <= end {
            let a = digit_raw(*bases.add(at));
            let b = digit_raw(*bases.add(at + 1));
            let c = digit_raw(*bases.add(at + 2));
            if a < 0 || b < 0 || c < 0 {
                break;
            }
            let codon = (a * 16 + b * 4 + c) as usize;
            if is_stop(codon) {
                break;
            }
            Atomic::<u32, Block>::from_ptr(counts.add(codon)).fetch_add(1, Relaxed);
            at += 3;
        }
        i += thread::grid_size_1d() as usize;
    }
    thread::sync_threads();
    if t < 64 {
        Atomic::<u32, Device>::from_ptr(total.add(t)).fetch_add(*counts.add(t), Relaxed);
    }
}

// ---------------------------------------------------------------------------------------------
// arc_resample

/// A polyline: a slice for each coordinate.
#[derive(Clone, Copy)]
struct Polyline<'a> {
    x: &'a [f32],
    y: &'a [f32],
}

impl<'a> Polyline<'a> {
    fn part(self, from: usize, to: usize) -> Polyline<'a> {
        Polyline {
            x: &self.x[from..to],
            y: &self.y[from..to],
        }
    }

    fn len(&self) -> usize {
        self.x.len()
    }

    /// The length of the segment that ends at point `i`.
    fn segment(&self, i: usize) -> f32 {
        if i == 0 || i >= self.len() {
            return 0.0;
        }
        (self.x[i] - self.x[i - 1]).hypot(self.y[i] - self.y[i - 1])
    }

    fn interpolate(&self, i: usize, t: f32) -> [f32; 2] {
        let mix = |values: &[f32]| values[i - 1] + t * (values[i] - values[i - 1]);
        [mix(self.x), mix(self.y)]
    }
}

/// Resamples polylines of at most 1024 points at 256 points of equal distance along the line.
#[kernel(block_size(256))]
pub fn arc_resample_safe(
    #[shared] mut along: Shared<Array<f32, 1024>>,
    x: &[f32],
    y: &[f32],
    starts: &[u32],
    mut to: PerBlock<[f32; 2], 256>,
) {
    let all = Polyline { x, y };
    for mut piece in to.pieces() {
        let number = piece.start() / 256;
        let line = all.part(starts[number] as usize, starts[number + 1] as usize);
        let mut length = 0.0;
        along.own().each(|i, along| {
            let segment = line.segment(i);
            let (before, sum) =
                group::block().exclusive_scan_with_total(segment, length, |a, b| a + b);
            *along = before + segment;
            length += sum;
        });
        along.read(|along| {
            let along = &along[..line.len()];
            piece.each(|k, to| {
                let goal = length * (k % 256) as f32 / 255.0;
                let i = along
                    .partition_point(|&at| at < goal)
                    .clamp(1, line.len() - 1);
                let t = (goal - along[i - 1]) / (along[i] - along[i - 1]).max(1e-12);
                *to = line.interpolate(i, t.clamp(0.0, 1.0));
            });
        });
    }
}

/// As [`arc_resample_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn arc_resample_raw(
    x: *const f32,
    y: *const f32,
    starts: *const u32,
    to: *mut [f32; 2],
) {
    let along = shared_array![f32; 1024];
    let slots = shared_array![f32; 8];
    let t = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let start = *starts.add(block) as usize;
    let n = *starts.add(block + 1) as usize - start;
    let (x, y) = (x.add(start), y.add(start));
    let mut length = 0.0;
    let mut base = 0;
    while base < n {
        let i = base + t;
        let mut segment = 0.0;
        if i > 0 && i < n {
            let dx = *x.add(i) - *x.add(i - 1);
            let dy = *y.add(i) - *y.add(i - 1);
            segment = dx.hypot(dy);
        }
        let (sum, total) = block_scan_raw(segment, slots);
        *along.add(i) = length + sum;
        length += total;
        base += 256;
    }
    thread::sync_threads();
    let goal = length * t as f32 / 255.0;
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = (low + high) / 2;
        if *along.add(middle) < goal {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let i = low.max(1).min(n - 1);
    let before = *along.add(i - 1);
    let part = ((goal - before) / (*along.add(i) - before).max(1e-12))
        .max(0.0)
        .min(1.0);
    *to.add(block * 256 + t) = [
        *x.add(i - 1) + part * (*x.add(i) - *x.add(i - 1)),
        *y.add(i - 1) + part * (*y.add(i) - *y.add(i - 1)),
    ];
}

// ---------------------------------------------------------------------------------------------
// blake2b

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

const SIGMA: [[u8; 16]; 10] = [
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

/// The columns and diagonals that a round mixes.
const LANES: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// The state of BLAKE2b.
struct Blake2b {
    state: [u64; 8],
    bytes: u64,
}

impl Blake2b {
    fn new(digest_bytes: u64) -> Blake2b {
        let mut state = BLAKE_IV;
        state[0] ^= 0x0101_0000 ^ digest_bytes;
        Blake2b { state, bytes: 0 }
    }

    fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
        v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
        v[d] = (v[d] ^ v[a]).rotate_right(32);
        v[c] = v[c].wrapping_add(v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(24);
        v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
        v[d] = (v[d] ^ v[a]).rotate_right(16);
        v[c] = v[c].wrapping_add(v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(63);
    }

    fn compress(&mut self, block: &[u64; 16], last: bool) {
        let mut v = [0; 16];
        v[..8].copy_from_slice(&self.state);
        v[8..].copy_from_slice(&BLAKE_IV);
        v[12] ^= self.bytes;
        if last {
            v[14] = !v[14];
        }
        for round in 0..12 {
            let order = &SIGMA[round % 10];
            for (lanes, pair) in LANES.into_iter().zip(order.chunks_exact(2)) {
                Self::mix(
                    &mut v,
                    lanes,
                    block[pair[0] as usize],
                    block[pair[1] as usize],
                );
            }
        }
        for (state, (a, b)) in self.state.iter_mut().zip(v[..8].iter().zip(&v[8..])) {
            *state ^= a ^ b;
        }
    }
}

/// The BLAKE2b-256 digest of each record of 24 words.
#[kernel]
pub fn blake2b_safe(words: &[u64], mut to: PerThread<[u64; 4]>) {
    to.each(|i, to| {
        let record = &words[i * 24..][..24];
        let mut hash = Blake2b::new(32);
        let mut blocks = record.chunks(16).peekable();
        while let Some(part) = blocks.next() {
            let mut block = [0; 16];
            block[..part.len()].copy_from_slice(part);
            hash.bytes += 8 * part.len() as u64;
            hash.compress(&block, blocks.peek().is_none());
        }
        to.copy_from_slice(&hash.state[..4]);
    });
}

#[inline(always)]
unsafe fn blake_mix_raw(v: *mut u64, a: usize, b: usize, c: usize, d: usize, x: u64, y: u64) {
    *v.add(a) = (*v.add(a)).wrapping_add(*v.add(b)).wrapping_add(x);
    *v.add(d) = (*v.add(d) ^ *v.add(a)).rotate_right(32);
    *v.add(c) = (*v.add(c)).wrapping_add(*v.add(d));
    *v.add(b) = (*v.add(b) ^ *v.add(c)).rotate_right(24);
    *v.add(a) = (*v.add(a)).wrapping_add(*v.add(b)).wrapping_add(y);
    *v.add(d) = (*v.add(d) ^ *v.add(a)).rotate_right(16);
    *v.add(c) = (*v.add(c)).wrapping_add(*v.add(d));
    *v.add(b) = (*v.add(b) ^ *v.add(c)).rotate_right(63);
}

/// As [`blake2b_safe`], with pointers.
#[kernel]
pub unsafe fn blake2b_raw(words: *const u64, to: *mut u64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let words = words.add(i * 24);
    let mut h = BLAKE_IV;
    h[0] ^= 0x0101_0000 ^ 32;
    for part in 0..2 {
        let mut m = [0u64; 16];
        for k in 0..16 {
            m[k] = if part * 16 + k < 24 {
                *words.add(part * 16 + k)
            } else {
                0
            };
        }
        let mut v = [0u64; 16];
        for k in 0..8 {
            v[k] = h[k];
            v[k + 8] = BLAKE_IV[k];
        }
        v[12] ^= if part == 0 { 128 } else { 192 };
        if part == 1 {
            v[14] = !v[14];
        }
        let v = v.as_mut_ptr();
        cuda_std::unroll::unroll::<12>(|round| {
            let s = &SIGMA[round % 10];
            let word = |k: usize| m[s[k] as usize];
            blake_mix_raw(v, 0, 4, 8, 12, word(0), word(1));
            blake_mix_raw(v, 1, 5, 9, 13, word(2), word(3));
            blake_mix_raw(v, 2, 6, 10, 14, word(4), word(5));
            blake_mix_raw(v, 3, 7, 11, 15, word(6), word(7));
            blake_mix_raw(v, 0, 5, 10, 15, word(8), word(9));
            blake_mix_raw(v, 1, 6, 11, 12, word(10), word(11));
            blake_mix_raw(v, 2, 7, 8, 13, word(12), word(13));
            blake_mix_raw(v, 3, 4, 9, 14, word(14), word(15));
        });
        for k in 0..8 {
            h[k] ^= *v.add(k) ^ *v.add(k + 8);
        }
    }
    for k in 0..4 {
        *to.add(i * 4 + k) = h[k];
    }
}

// ---------------------------------------------------------------------------------------------
// qoi_strips

/// A pixel.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Rgba {
    r: u8,
    g: u8,
    b: u8,
    a: u8,
}

impl Rgba {
    fn slot(self) -> usize {
        let [r, g, b, a] = [self.r, self.g, self.b, self.a].map(usize::from);
        (3 * r + 5 * g + 7 * b + 11 * a) % 64
    }

    fn moved(self, r: u8, g: u8, b: u8) -> Rgba {
        Rgba {
            r: self.r.wrapping_add(r),
            g: self.g.wrapping_add(g),
            b: self.b.wrapping_add(b),
            a: self.a,
        }
    }

    fn packed(self) -> u32 {
        u32::from_le_bytes([self.r, self.g, self.b, self.a])
    }
}

/// Decodes the next instruction of a QOI stream: returns a pixel, how often it occurs, and the rest.
fn decode<'a>(bytes: &'a [u8], last: Rgba, seen: &[Rgba; 64]) -> Option<(Rgba, usize, &'a [u8])> {
    Some(match *bytes {
        [0xfe, r, g, b, ref rest @ ..] => (Rgba { r, g, b, a: last.a }, 1, rest),
        [0xff, r, g, b, a, ref rest @ ..] => (Rgba { r, g, b, a }, 1, rest),
        [slot @ 0..=0x3f, ref rest @ ..] => (seen[slot as usize], 1, rest),
        [tag @ 0x40..=0x7f, ref rest @ ..] => {
            let delta = |shift: u32| ((tag >> shift) & 3).wrapping_sub(2);
            (last.moved(delta(4), delta(2), delta(0)), 1, rest)
        }
        [tag @ 0x80..=0xbf, second, ref rest @ ..] => {
            let green = (tag & 0x3f).wrapping_sub(32);
            let red = green.wrapping_add(second >> 4).wrapping_sub(8);
            let blue = green.wrapping_add(second & 15).wrapping_sub(8);
            (last.moved(red, green, blue), 1, rest)
        }
        [tag @ 0xc0..=0xfd, ref rest @ ..] => (last, (tag & 0x3f) as usize + 1, rest),
        _ => return None,
    })
}

/// Decodes strips of an image, each one into a column.
#[kernel]
pub fn qoi_strips_safe(bytes: &[u8], starts: &[u32], mut to: cuda_std::PerColumn<u32>) {
    to.each(|strip, mut column| {
        let mut bytes = &bytes[starts[strip] as usize..starts[strip + 1] as usize];
        let mut seen = [Rgba::default(); 64];
        let mut pixel = Rgba {
            a: 255,
            ..Rgba::default()
        };
        let mut pixels = column.iter_mut();
        while let Some((next, count, rest)) = decode(bytes, pixel, &seen) {
            bytes = rest;
            pixel = next;
            seen[pixel.slot()] = pixel;
            pixels
                .by_ref()
                .take(count)
                .for_each(|to| *to = pixel.packed());
        }
        pixels.for_each(|to| *to = 0);
    });
}

/// As [`qoi_strips_safe`], with pointers.
#[kernel]
pub unsafe fn qoi_strips_raw(
    bytes: *const u8,
    starts: *const u32,
    to: *mut u32,
    strips: usize,
    pixels: usize,
) {
    let strip = thread::index_1d() as usize;
    if strip >= strips {
        return;
    }
    let mut at = *starts.add(strip) as usize;
    let end = *starts.add(strip + 1) as usize;
    let mut seen = [0u32; 64];
    let seen = seen.as_mut_ptr();
    let (mut r, mut g, mut b, mut a) = (0u32, 0u32, 0u32, 255u32);
    let mut done = 0;
    while at < end && done < pixels {
        let tag = u32::from(*bytes.add(at));
        at += 1;
        let mut run = 1;
        if tag == 0xfe || tag == 0xff {
            r = u32::from(*bytes.add(at));
            g = u32::from(*bytes.add(at + 1));
            b = u32::from(*bytes.add(at + 2));
            at += 3;
            if tag == 0xff {
                a = u32::from(*bytes.add(at));
                at += 1;
            }
        } else if tag < 0x40 {
            let pixel = *seen.add(tag as usize);
            r = pixel & 255;
            g = pixel >> 8 & 255;
            b = pixel >> 16 & 255;
            a = pixel >> 24;
        } else if tag < 0x80 {
            r = r.wrapping_add((tag >> 4 & 3).wrapping_sub(2)) & 255;
            g = g.wrapping_add((tag >> 2 & 3).wrapping_sub(2)) & 255;
            b = b.wrapping_add((tag & 3).wrapping_sub(2)) & 255;
        } else if tag < 0xc0 {
            let second = u32::from(*bytes.add(at));
            at += 1;
            let green = (tag & 0x3f).wrapping_sub(32);
            r = r.wrapping_add(green.wrapping_add(second >> 4).wrapping_sub(8)) & 255;
            g = g.wrapping_add(green) & 255;
            b = b.wrapping_add(green.wrapping_add(second & 15).wrapping_sub(8)) & 255;
        } else {
            run = (tag & 0x3f) as usize + 1;
        }
        let pixel = r | g << 8 | b << 16 | a << 24;
        *seen.add(((3 * r + 5 * g + 7 * b + 11 * a) % 64) as usize) = pixel;
        while run > 0 && done < pixels {
            *to.add(done * strips + strip) = pixel;
            done += 1;
            run -= 1;
        }
    }
    while done < pixels {
        *to.add(done * strips + strip) = 0;
        done += 1;
    }
}

// ---------------------------------------------------------------------------------------------
// order_book

/// An order of a trader.
#[derive(Clone, Copy)]
enum Order {
    Buy { price: u16, size: u32 },
    Sell { price: u16, size: u32 },
    MarketBuy(u32),
    MarketSell(u32),
    Cancel(u16),
}

impl Order {
    fn new(kind: u8, price: u16, size: u32) -> Option<Order> {
        Some(match kind {
            0 => Order::Buy { price, size },
            1 => Order::Sell { price, size },
            2 => Order::MarketBuy(size),
            3 => Order::MarketSell(size),
            4 => Order::Cancel(price),
            _ => return None,
        })
    }
}

/// A price level of the book.
#[derive(Clone, Copy, Default)]
struct Level {
    price: u16,
    size: u32,
}

/// The best eight price levels of one side, best first.
struct Side<const BUYERS: bool> {
    levels: [Level; 8],
    len: usize,
}

impl<const BUYERS: bool> Side<BUYERS> {
    fn new() -> Self {
        Side {
            levels: [Level::default(); 8],
            len: 0,
        }
    }

    fn is_better(a: u16, b: u16) -> bool {
        if BUYERS { a > b } else { a < b }
    }

    fn add(&mut self, price: u16, size: u32) {
        let levels = &self.levels[..self.len];
        let place = levels
            .iter()
            .position(|level| !Self::is_better(level.price, price));
        let place = place.unwrap_or(self.len);
        if place < self.len && self.levels[place].price == price {
            self.levels[place].size += size;
            return;
        }
        if place == self.levels.len() {
            return;
        }
        self.len = (self.len + 1).min(self.levels.len());
        self.levels.copy_within(place..self.len - 1, place + 1);
        self.levels[place] = Level { price, size };
    }

    fn remove(&mut self, place: usize) {
        self.levels.copy_within(place + 1..self.len, place);
        self.len -= 1;
    }

    fn cancel(&mut self, price: u16) {
        if let Some(place) = self.levels[..self.len]
            .iter()
            .position(|level| level.price == price)
        {
            self.remove(place);
        }
    }

    /// Trades up to `size` at prices that are not worse than `limit`. Returns what is left.
    fn take(&mut self, mut size: u32, limit: Option<u16>, total: &mut Turnover) -> u32 {
        while let Some(best) = self.levels[..self.len].first_mut() {
            if size == 0 || limit.is_some_and(|limit| Self::is_better(limit, best.price)) {
                break;
            }
            let traded = size.min(best.size);
            total.add(traded, best.price);
            size -= traded;
            best.size -= traded;
            if best.size == 0 {
                self.remove(0);
            }
        }
        size
    }
}

/// What was traded.
#[derive(Default)]
struct Turnover {
    volume: u32,
    value: u32,
}

impl Turnover {
    fn add(&mut self, size: u32, price: u16) {
        self.volume += size;
        self.value = self.value.wrapping_add(size * u32::from(price));
    }
}

/// Matches the orders for each stock. Order `k` for stock `i` has the index `k * stocks + i`.
#[kernel]
pub fn order_book_safe(kinds: &[u8], prices: &[u16], sizes: &[u32], mut to: PerThread<[u32; 4]>) {
    let stocks = to.len();
    to.each(|i, to| {
        let mut buyers = Side::<true>::new();
        let mut sellers = Side::<false>::new();
        let mut total = Turnover::default();
        let orders = kinds.iter().zip(prices).zip(sizes).skip(i).step_by(stocks);
        orders.for_each(
            |((&kind, &price), &size)| match Order::new(kind, price, size) {
                Some(Order::Buy { price, size }) => {
                    let rest = sellers.take(size, Some(price), &mut total);
                    if rest > 0 {
                        buyers.add(price, rest);
                    }
                }
                Some(Order::Sell { price, size }) => {
                    let rest = buyers.take(size, Some(price), &mut total);
                    if rest > 0 {
                        sellers.add(price, rest);
                    }
                }
                Some(Order::MarketBuy(size)) => _ = sellers.take(size, None, &mut total),
                Some(Order::MarketSell(size)) => _ = buyers.take(size, None, &mut total),
                Some(Order::Cancel(price)) => {
                    buyers.cancel(price);
                    sellers.cancel(price);
                }
                None => {}
            },
        );
        let best = |levels: &[Level]| levels.first().map_or(0, |level| u32::from(level.price));
        let bid = best(&buyers.levels[..buyers.len]);
        let ask = best(&sellers.levels[..sellers.len]);
        *to = [total.volume, total.value, bid, ask];
    });
}

#[inline(always)]
unsafe fn book_remove_raw(prices: *mut u32, sizes: *mut u32, len: &mut usize, place: usize) {
    *len -= 1;
    for k in place..*len {
        *prices.add(k) = *prices.add(k + 1);
        *sizes.add(k) = *sizes.add(k + 1);
    }
}

#[inline(always)]
unsafe fn book_add_raw(
    prices: *mut u32,
    sizes: *mut u32,
    len: &mut usize,
    buyers: bool,
    price: u32,
    size: u32,
) {
    let mut place = 0;
    while place < *len
        && (if buyers {
            *prices.add(place) > price
        } else {
            *prices.add(place) < price
        })
    {
        place += 1;
    }
    if place < *len && *prices.add(place) == price {
        *sizes.add(place) += size;
        return;
    }
    if place == 8 {
        return;
    }
    *len = (*len + 1).min(8);
    let mut k = *len - 1;
    while k > place {
        *prices.add(k) = *prices.add(k - 1);
        *sizes.add(k) = *sizes.add(k - 1);
        k -= 1;
    }
    *prices.add(place) = price;
    *sizes.add(place) = size;
}

#[inline(always)]
unsafe fn book_take_raw(
    prices: *mut u32,
    sizes: *mut u32,
    len: &mut usize,
    buyers: bool,
    mut size: u32,
    limit: u32,
    volume: &mut u32,
    value: &mut u32,
) -> u32 {
    while *len > 0 && size > 0 {
        let price = *prices;
        if if buyers { limit > price } else { limit < price } {
            break;
        }
        let traded = size.min(*sizes);
        *volume += traded;
        *value = value.wrapping_add(traded * price);
        size -= traded;
        *sizes -= traded;
        if *sizes == 0 {
            book_remove_raw(prices, sizes, len, 0);
        }
    }
    size
}

/// As [`order_book_safe`], with pointers.
#[kernel]
pub unsafe fn order_book_raw(
    kinds: *const u8,
    prices: *const u16,
    sizes: *const u32,
    to: *mut [u32; 4],
    stocks: usize,
    orders: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= stocks {
        return;
    }
    let (mut buy_prices, mut buy_sizes) = ([0u32; 8], [0u32; 8]);
    let (mut sell_prices, mut sell_sizes) = ([0u32; 8], [0u32; 8]);
    let (bp, bs) = (buy_prices.as_mut_ptr(), buy_sizes.as_mut_ptr());
    let (sp, ss) = (sell_prices.as_mut_ptr(), sell_sizes.as_mut_ptr());
    let (mut buyers, mut sellers) = (0, 0);
    let (mut volume, mut value) = (0, 0);
    for k in 0..orders {
        let at = k * stocks + i;
        let price = u32::from(*prices.add(at));
        let size = *sizes.add(at);
        match *kinds.add(at) {
            0 => {
                let rest = book_take_raw(
                    sp,
                    ss,
                    &mut sellers,
                    false,
                    size,
                    price,
                    &mut volume,
                    &mut value,
                );
                if rest > 0 {
                    book_add_raw(bp, bs, &mut buyers, true, price, rest);
                }
            }
            1 => {
                let rest = book_take_raw(
                    bp,
                    bs,
                    &mut buyers,
                    true,
                    size,
                    price,
                    &mut volume,
                    &mut value,
                );
                if rest > 0 {
                    book_add_raw(sp, ss, &mut sellers, false, price, rest);
                }
            }
            2 => {
                book_take_raw(
                    sp,
                    ss,
                    &mut sellers,
                    false,
                    size,
                    u32::MAX,
                    &mut volume,
                    &mut value,
                );
            }
            3 => {
                book_take_raw(bp, bs, &mut buyers, true, size, 0, &mut volume, &mut value);
            }
            4 => {
                for place in 0..buyers {
                    if *bp.add(place) == price {
                        book_remove_raw(bp, bs, &mut buyers, place);
                        break;
                    }
                }
                for place in 0..sellers {
                    if *sp.add(place) == price {
                        book_remove_raw(sp, ss, &mut sellers, place);
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    *to.add(i) = [
        volume,
        value,
        if buyers > 0 { *bp } else { 0 },
        if sellers > 0 { *sp } else { 0 },
    ];
}

// ---------------------------------------------------------------------------------------------
// geomag_field

const DEGREE: usize = 10;

/// The Gauss-normalized Legendre functions of one order and their derivatives, for rising degrees.
struct Legendre {
    cos: f64,
    sin: f64,
    now: (f64, f64),
    before: (f64, f64),
}

impl Legendre {
    fn next(&mut self, factor: f64) -> (f64, f64) {
        let now = self.now;
        self.now = (
            self.cos * now.0 - factor * self.before.0,
            self.cos * now.1 - self.sin * now.0 - factor * self.before.1,
        );
        self.before = now;
        now
    }
}

/// A coefficient of the field.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Coefficient {
    g: f64,
    h: f64,
    factor: f64,
}

/// The magnetic field of a planet at places of (colatitude, longitude, radius): north, east, down.
/// Coefficients are sorted by order, then by degree.
#[kernel]
pub fn geomag_field_safe(
    places: &[[f64; 3]],
    coefficients: &[Coefficient],
    mut field: PerThread<[f64; 3]>,
) {
    field.each_with(places, |_, field, &[colatitude, longitude, radius]| {
        let (sin, cos) = colatitude.sin_cos();
        let ratio = 1.0 / radius;
        let mut powers = [ratio * ratio; DEGREE + 1];
        for n in 1..=DEGREE {
            powers[n] = powers[n - 1] * ratio;
        }
        let (step_sin, step_cos) = longitude.sin_cos();
        let (mut sin_m, mut cos_m) = (0.0, 1.0);
        let mut diagonal = (1.0, 0.0);
        let mut rest = coefficients;
        let [mut north, mut east, mut down] = [0.0; 3];
        for m in 0..=DEGREE {
            let (column, others) = rest.split_at(DEGREE + 1 - m);
            rest = others;
            let mut legendre = Legendre {
                cos,
                sin,
                now: diagonal,
                before: (0.0, 0.0),
            };
            for ((n, c), power) in (m..).zip(column).zip(&powers[m..]) {
                let (p, dp) = legendre.next(c.factor);
                let wave = c.g * cos_m + c.h * sin_m;
                north += power * wave * dp;
                east += power * m as f64 * (c.g * sin_m - c.h * cos_m) * p;
                down -= power * (n + 1) as f64 * wave * p;
            }
            diagonal = (sin * diagonal.0, sin * diagonal.1 + cos * diagonal.0);
            (sin_m, cos_m) = (
                sin_m * step_cos + cos_m * step_sin,
                cos_m * step_cos - sin_m * step_sin,
            );
        }
        *field = [north, east / sin, down];
    });
}

/// As [`geomag_field_safe`], with pointers.
#[kernel]
pub unsafe fn geomag_field_raw(
    places: *const f64,
    coefficients: *const Coefficient,
    field: *mut f64,
    count: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= count {
        return;
    }
    let (sin, cos) = (*places.add(3 * i)).sin_cos();
    let (step_sin, step_cos) = (*places.add(3 * i + 1)).sin_cos();
    let ratio = 1.0 / *places.add(3 * i + 2);
    let mut powers = [0.0; DEGREE + 1];
    powers[0] = ratio * ratio;
    for n in 1..=DEGREE {
        powers[n] = powers[n - 1] * ratio;
    }
    let (mut sin_m, mut cos_m) = (0.0, 1.0);
    let (mut diagonal, mut slope) = (1.0, 0.0);
    let (mut north, mut east, mut down) = (0.0, 0.0, 0.0);
    let mut k = 0;
    for m in 0..=DEGREE {
        let (mut p, mut dp) = (diagonal, slope);
        let (mut p1, mut dp1) = (0.0, 0.0);
        for n in m..=DEGREE {
            let c = *coefficients.add(k);
            k += 1;
            let wave = c.g * cos_m + c.h * sin_m;
            north += powers[n] * wave * dp;
            east += powers[n] * m as f64 * (c.g * sin_m - c.h * cos_m) * p;
            down -= powers[n] * (n + 1) as f64 * wave * p;
            let p2 = cos * p - c.factor * p1;
            let dp2 = cos * dp - sin * p - c.factor * dp1;
            p1 = p;
            dp1 = dp;
            p = p2;
            dp = dp2;
        }
        slope = sin * slope + cos * diagonal;
        diagonal *= sin;
        let next = sin_m * step_cos + cos_m * step_sin;
        cos_m = cos_m * step_cos - sin_m * step_sin;
        sin_m = next;
    }
    *field.add(3 * i) = north;
    *field.add(3 * i + 1) = east / sin;
    *field.add(3 * i + 2) = down;
}

// ---------------------------------------------------------------------------------------------
// weighted_quantile

/// The percentages at which quantiles are computed.
const LEVELS: [u64; 3] = [25, 50, 90];

/// Weighted quantiles of sorted rows of different lengths.
#[kernel(block_size(256))]
pub fn weighted_quantile_safe(
    values: &[f32],
    weights: &[u32],
    starts: &[u32],
    to: &[Atomic<f32, Device>],
) {
    let block = group::block();
    let row = thread::block_index() as usize;
    let range = starts[row] as usize..starts[row + 1] as usize;
    let (values, weights) = (&values[range.clone()], &weights[range]);
    let to = &to[row * 3..][..3];
    let own = thread::block_stride(weights.len())
        .map(|i| weights[i])
        .sum();
    let total = block.reduce(own, |a: u32, b| a + b);
    let goals = LEVELS.map(|percent| (u64::from(total) * percent / 100) as u32);
    let t = thread::index_in_block() as usize;
    let mut carry = 0;
    for (weights, values) in weights.chunks(256).zip(values.chunks(256)) {
        let weight = weights.get(t).copied().unwrap_or(0);
        let (before, sum) = block.exclusive_scan_with_total(weight, carry, |a, b| a + b);
        for (goal, to) in goals.iter().zip(to) {
            if (before..before + weight).contains(goal) {
                to.store(values[t], Relaxed);
            }
        }
        carry += sum;
        if goals.iter().all(|&goal| goal < carry) {
            break;
        }
    }
}

/// As [`weighted_quantile_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn weighted_quantile_raw(
    values: *const f32,
    weights: *const u32,
    starts: *const u32,
    to: *mut f32,
) {
    let slots = shared_array![u32; 8];
    let t = thread::thread_idx_x() as usize;
    let lane = thread::lane_id();
    let warp_index = t / 32;
    let row = thread::block_idx_x() as usize;
    let start = *starts.add(row) as usize;
    let n = *starts.add(row + 1) as usize - start;
    let (values, weights) = (values.add(start), weights.add(start));
    let mut own = 0u32;
    let mut i = t;
    while i < n {
        own += *weights.add(i);
        i += 256;
    }
    let own = warp::reduce_add(warp::FULL, own);
    if lane == 0 {
        *slots.add(warp_index) = own;
    }
    thread::sync_threads();
    let mut total = 0;
    for k in 0..8 {
        total += *slots.add(k);
    }
    thread::sync_threads();
    let mut goals = [0u32; 3];
    for k in 0..3 {
        goals[k] = (u64::from(total) * LEVELS[k] / 100) as u32;
    }
    let mut carry = 0;
    let mut base = 0;
    while base < n {
        let i = base + t;
        let weight = if i < n { *weights.add(i) } else { 0 };
        let mut sum = weight;
        let mut distance = 1;
        while distance < 32 {
            let other = warp::shuffle_up(warp::FULL, sum, distance);
            if lane >= distance {
                sum += other;
            }
            distance *= 2;
        }
        if lane == 31 {
            *slots.add(warp_index) = sum;
        }
        thread::sync_threads();
        let mut all = 0;
        let mut lower = 0;
        for k in 0..8 {
            if k == warp_index {
                lower = all;
            }
            all += *slots.add(k);
        }
        thread::sync_threads();
        let before = carry + lower + sum - weight;
        for k in 0..3 {
            if goals[k] >= before && goals[k] < before + weight {
                *to.add(row * 3 + k) = *values.add(i);
            }
        }
        carry += all;
        if goals[2] < carry {
            break;
        }
        base += 256;
    }
}

// ---------------------------------------------------------------------------------------------
// traffic_ring

/// The number of cars on a ring road, and its number of cells.
const CARS: usize = 128;
const CELLS: u32 = 700;

fn noise(seed: u32) -> u32 {
    let x = (seed ^ 61 ^ (seed >> 16)).wrapping_mul(9);
    let x = (x ^ (x >> 4)).wrapping_mul(0x27d4_eb2d);
    x ^ (x >> 15)
}

/// A car of the model of Nagel and Schreckenberg.
struct Car {
    cell: u32,
    speed: u32,
    driven: u32,
}

impl Car {
    fn drive(&mut self, gap: u32, dawdles: bool) {
        self.speed = (self.speed + 1).min(5).min(gap);
        if dawdles {
            self.speed = self.speed.saturating_sub(1);
        }
        self.driven += self.speed;
        self.cell = (self.cell + self.speed) % CELLS;
    }
}

/// Simulates a ring road in each block. The result is how far each car drives.
#[kernel(block_size(128))]
pub fn traffic_ring_safe(
    #[shared] mut cells: Shared<Array<u32, CARS>>,
    first: &[u32],
    steps: u32,
    mut to: PerBlock<u32, CARS>,
) {
    for mut road in to.pieces() {
        let start = road.start();
        road.each(|i, to| {
            let mut car = Car {
                cell: first[i],
                speed: 0,
                driven: 0,
            };
            let ahead = (i - start + 1) % CARS;
            for step in 0..steps {
                cells.own().each(|_, cell| *cell = car.cell);
                let next = cells.read(|cells| cells[ahead]);
                let gap = (next + CELLS - car.cell) % CELLS - 1;
                car.drive(gap, noise(i as u32 * 1024 + step) % 4 == 0);
            }
            *to = car.driven;
        });
    }
}

/// As [`traffic_ring_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn traffic_ring_raw(first: *const u32, steps: u32, to: *mut u32) {
    let cells = shared_array![u32; 128];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d();
    let mut cell = *first.add(i as usize);
    let mut speed = 0u32;
    let mut driven = 0;
    for step in 0..steps {
        *cells.add(t) = cell;
        thread::sync_threads();
        let next = *cells.add((t + 1) % CARS);
        thread::sync_threads();
        let gap = (next + CELLS - cell) % CELLS - 1;
        speed = (speed + 1).min(5).min(gap);
        if noise(i.wrapping_mul(1024).wrapping_add(step)) % 4 == 0 && speed > 0 {
            speed -= 1;
        }
        driven += speed;
        cell = (cell + speed) % CELLS;
    }
    *to.add(i as usize) = driven;
}

// ---------------------------------------------------------------------------------------------
// canny_edges

/// A gradient of brightness.
#[derive(Clone, Copy, AnyBits)]
struct Gradient {
    x: i16,
    y: i16,
}

impl Gradient {
    fn strength(self) -> i32 {
        i32::from(self.x).abs() + i32::from(self.y).abs()
    }

    /// The step to the neighbor in the direction of the gradient.
    fn direction(self) -> (isize, isize) {
        let (x, y) = (i32::from(self.x), i32::from(self.y));
        if 5 * y.abs() < 2 * x.abs() {
            (1, 0)
        } else if 5 * x.abs() < 2 * y.abs() {
            (0, 1)
        } else if (x < 0) == (y < 0) {
            (1, 1)
        } else {
            (-1, 1)
        }
    }
}

/// Whether a pixel is on an edge.
enum Edge {
    None,
    Weak,
    Strong,
}

impl Edge {
    fn new(strength: i32, limits: (i32, i32)) -> Edge {
        match strength {
            s if s >= limits.1 => Edge::Strong,
            s if s >= limits.0 => Edge::Weak,
            _ => Edge::None,
        }
    }

    fn brightness(self) -> u8 {
        match self {
            Edge::None => 0,
            Edge::Weak => 128,
            Edge::Strong => 255,
        }
    }
}

/// Marks strong and weak edges: pixels whose gradient is a maximum along its direction.
#[kernel(block_size(32, 8))]
pub fn canny_edges_safe(
    #[shared] mut pixels: Shared<Tile<u8, 36, 12>>,
    #[shared] mut gradients: Shared<Tile<Gradient, 34, 10>>,
    image: &[u8],
    low: i32,
    high: i32,
    mut to: PerTile<u8, 32, 8>,
) {
    let (width, height) = (to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        pixels.own().each(|(x, y), pixel| {
            let x = (x0 + x).saturating_sub(2).min(width - 1);
            let y = (y0 + y).saturating_sub(2).min(height - 1);
            *pixel = image[y * width + x];
        });
        pixels.read(|pixels| {
            gradients.own().each(|(x, y), gradient| {
                let at = |dx: usize, dy: usize| i16::from(pixels[y + dy][x + dx]);
                *gradient = Gradient {
                    x: at(2, 0) + 2 * at(2, 1) + at(2, 2) - at(0, 0) - 2 * at(0, 1) - at(0, 2),
                    y: at(0, 2) + 2 * at(1, 2) + at(2, 2) - at(0, 0) - 2 * at(1, 0) - at(2, 0),
                };
            });
        });
        gradients.read(|gradients| {
            tile.each(|(x, y), to| {
                let (x, y) = (x + 1, y + 1);
                let own = gradients[y][x];
                let (dx, dy) = own.direction();
                let along = |sign: isize| {
                    let row = &gradients[y.wrapping_add_signed(sign * dy)];
                    row[x.wrapping_add_signed(sign * dx)].strength()
                };
                let is_maximum = own.strength() > along(-1) && own.strength() >= along(1);
                let edge = match is_maximum {
                    true => Edge::new(own.strength(), (low, high)),
                    false => Edge::None,
                };
                *to = edge.brightness();
            });
        });
    }
}

/// As [`canny_edges_safe`], with pointers.
#[kernel(block_size(32, 8))]
pub unsafe fn canny_edges_raw(
    image: *const u8,
    low: i32,
    high: i32,
    to: *mut u8,
    width: i32,
    height: i32,
) {
    let pixels = shared_array![u8; 432];
    let gradients = shared_array![[i16; 2]; 340];
    let t = (thread::thread_idx_y() * 32 + thread::thread_idx_x()) as i32;
    let x0 = thread::block_idx_x() as i32 * 32;
    let y0 = thread::block_idx_y() as i32 * 8;
    let mut k = t;
    while k < 432 {
        let x = (x0 + k % 36 - 2).max(0).min(width - 1);
        let y = (y0 + k / 36 - 2).max(0).min(height - 1);
        *pixels.add(k as usize) = *image.add((y * width + x) as usize);
        k += 256;
    }
    thread::sync_threads();
    let mut k = t;
    while k < 340 {
        let p = pixels.add((k / 34 * 36 + k % 34) as usize);
        let at = |dx: usize, dy: usize| i16::from(*p.add(dy * 36 + dx));
        *gradients.add(k as usize) = [
            at(2, 0) + 2 * at(2, 1) + at(2, 2) - at(0, 0) - 2 * at(0, 1) - at(0, 2),
            at(0, 2) + 2 * at(1, 2) + at(2, 2) - at(0, 0) - 2 * at(1, 0) - at(2, 0),
        ];
        k += 256;
    }
    thread::sync_threads();
    let tx = thread::thread_idx_x() as i32;
    let ty = thread::thread_idx_y() as i32;
    let (x, y) = (x0 + tx, y0 + ty);
    if x >= width || y >= height {
        return;
    }
    let strength = |tx: i32, ty: i32| {
        let [gx, gy] = *gradients.add(((ty + 1) * 34 + tx + 1) as usize);
        i32::from(gx).abs() + i32::from(gy).abs()
    };
    let [gx, gy] = *gradients.add(((ty + 1) * 34 + tx + 1) as usize);
    let (gx, gy) = (i32::from(gx), i32::from(gy));
    let (dx, dy) = if 5 * gy.abs() < 2 * gx.abs() {
        (1, 0)
    } else if 5 * gx.abs() < 2 * gy.abs() {
        (0, 1)
    } else if (gx < 0) == (gy < 0) {
        (1, 1)
    } else {
        (-1, 1)
    };
    let own = gx.abs() + gy.abs();
    let mut result = 0;
    if own > strength(tx - dx, ty - dy) && own >= strength(tx + dx, ty + dy) {
        result = if own >= high {
            255
        } else if own >= low {
            128
        } else {
            0
        };
    }
    *to.add((y * width + x) as usize) = result;
}

// ---------------------------------------------------------------------------------------------
// tetris_place

/// A piece: four rows of up to four cells, in the lower left corner.
#[derive(Clone, Copy)]
struct Shape([u16; 4]);

impl Shape {
    /// Reads the rows from the bits of a number, 4 bits each, and moves the cells to the corner.
    const fn new(bits: u16) -> Shape {
        let mut rows = [bits & 15, bits >> 4 & 15, bits >> 8 & 15, bits >> 12];
        while rows[0] == 0 {
            rows = [rows[1], rows[2], rows[3], 0];
        }
        while (rows[0] | rows[1] | rows[2] | rows[3]) & 1 == 0 {
            rows = [rows[0] >> 1, rows[1] >> 1, rows[2] >> 1, rows[3] >> 1];
        }
        Shape(rows)
    }

    const fn turned(self) -> Shape {
        let mut bits = 0;
        let mut place = 0;
        while place < 16 {
            let (x, y) = (place % 4, place / 4);
            bits |= (self.0[y] >> x & 1) << ((3 - x) * 4 + y);
            place += 1;
        }
        Shape::new(bits)
    }

    fn width(self) -> u32 {
        let all = self.0.iter().fold(0, |all, row| all | row);
        u16::BITS - all.leading_zeros()
    }
}

/// The seven pieces in four rotations.
static SHAPES: [[Shape; 4]; 7] = {
    let bits = [0x000f, 0x0033, 0x0027, 0x0063, 0x0036, 0x0017, 0x0047];
    let mut shapes = [[Shape::new(1); 4]; 7];
    let mut kind = 0;
    while kind < 7 {
        shapes[kind][0] = Shape::new(bits[kind]);
        let mut rotation = 1;
        while rotation < 4 {
            shapes[kind][rotation] = shapes[kind][rotation - 1].turned();
            rotation += 1;
        }
        kind += 1;
    }
    shapes
};

const FULL_ROW: u16 = 0x3ff;

/// A board of 20 rows of 10 cells, and room above it.
#[derive(Clone, Copy)]
struct Board {
    rows: [u16; 24],
}

impl Board {
    /// Drops a piece. Returns `None` if it does not fit.
    fn with_dropped(&self, shape: Shape, column: u32) -> Option<Board> {
        let cells = shape.0.map(|row| row << column);
        let fits = |y: &usize| {
            self.rows[*y..]
                .iter()
                .zip(&cells)
                .all(|(row, cells)| row & cells == 0)
        };
        let y = (0..=20).rev().take_while(fits).last()?;
        let mut board = *self;
        for (row, cells) in board.rows[y..].iter_mut().zip(cells) {
            *row |= cells;
        }
        board.rows[20..]
            .iter()
            .all(|&row| row == 0)
            .then_some(board)
    }

    /// Rates the board: full rows are good; height, holes and a rough surface are bad.
    fn score(&self) -> i32 {
        let full = self.rows.iter().filter(|&&row| row == FULL_ROW).count() as i32;
        let mut covered = 0;
        let mut bad = 0;
        for &row in self.rows.iter().rev().filter(|&&row| row != FULL_ROW) {
            let holes = covered & !row;
            covered |= row;
            let steps = (covered ^ covered >> 1) & (FULL_ROW >> 1);
            bad += 51 * covered.count_ones() + 36 * holes.count_ones() + 18 * steps.count_ones();
        }
        76 * full - bad as i32
    }
}

/// Finds the best rotation and column for a piece on each board: `16 * rotation + column`, or
/// `u32::MAX`, and the score.
#[kernel]
pub fn tetris_place_safe(boards: &[[u16; 20]], kinds: &[u8], mut to: PerThread<[i32; 2]>) {
    to.each_with((boards, kinds), |_, to, (filled, &kind)| {
        let mut board = Board { rows: [0; 24] };
        board.rows[..20].copy_from_slice(filled);
        let best = SHAPES[kind as usize]
            .iter()
            .enumerate()
            .flat_map(|(rotation, shape)| {
                (0..=10 - shape.width()).map(move |column| (rotation, shape, column))
            })
            .filter_map(|(rotation, shape, column)| {
                let score = board.with_dropped(*shape, column)?.score();
                Some((score, 16 * rotation as i32 + column as i32))
            })
            .max_by_key(|&(score, _)| score);
        *to = best.map_or([-1, i32::MIN], |(score, place)| [place, score]);
    });
}

/// As [`tetris_place_safe`], with pointers.
#[kernel]
pub unsafe fn tetris_place_raw(boards: *const u16, kinds: *const u8, to: *mut i32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut board = [0u16; 24];
    let board = board.as_mut_ptr();
    for y in 0..20 {
        *board.add(y) = *boards.add(i * 20 + y);
    }
    let mut best = i32::MIN;
    let mut place = -1;
    let kind = *kinds.add(i) as usize;
    for rotation in 0..4 {
        let shape = SHAPES[kind][rotation].0;
        let all = shape[0] | shape[1] | shape[2] | shape[3];
        let width = 16 - all.leading_zeros();
        for column in 0..=10 - width {
            let [a, b, c, d] = [
                shape[0] << column,
                shape[1] << column,
                shape[2] << column,
                shape[3] << column,
            ];
            let mut y = 21;
            while y > 0 {
                let p = board.add(y - 1);
                if (*p & a | *p.add(1) & b | *p.add(2) & c | *p.add(3) & d) != 0 {
                    break;
                }
                y -= 1;
            }
            if y > 20 {
                continue;
            }
            if b != 0 && y + 1 >= 20 || c != 0 && y + 2 >= 20 || d != 0 && y + 3 >= 20 || y >= 20 {
                continue;
            }
            let mut full = 0;
            let mut covered = 0u16;
            let mut bad = 0;
            let mut k = 20;
            while k > 0 {
                k -= 1;
                let mut row = *board.add(k);
                if k >= y && k < y + 4 {
                    row |= if k == y {
                        a
                    } else if k == y + 1 {
                        b
                    } else if k == y + 2 {
                        c
                    } else {
                        d
                    };
                }
                if row == FULL_ROW {
                    full += 1;
                    continue;
                }
                let holes = covered & !row;
                covered |= row;
                let steps = (covered ^ covered >> 1) & (FULL_ROW >> 1);
                bad +=
                    51 * covered.count_ones() + 36 * holes.count_ones() + 18 * steps.count_ones();
            }
            let score = 76 * full - bad as i32;
            if score >= best {
                best = score;
                place = 16 * rotation as i32 + column as i32;
            }
        }
    }
    *to.add(2 * i) = place;
    *to.add(2 * i + 1) = best;
}

// ---------------------------------------------------------------------------------------------
// ip6_country

/// Ranges of addresses and what they are assigned to, sorted.
struct Ranges<'a> {
    first: &'a [u128],
    last: &'a [u128],
    country: &'a [u16],
}

impl Ranges<'_> {
    fn find(&self, address: u128) -> Option<u16> {
        let place = self
            .first
            .partition_point(|&first| first <= address)
            .checked_sub(1)?;
        (address <= self.last[place]).then(|| self.country[place])
    }
}

fn hex_group(digits: &[u8]) -> Option<u128> {
    if digits.is_empty() || digits.len() > 4 {
        return None;
    }
    digits.iter().try_fold(0, |value, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(value << 4 | u128::from(digit))
    })
}

/// Parses groups that colons separate: returns the number and the count of groups.
fn hex_groups(text: &[u8]) -> Option<(u128, u32)> {
    if text.is_empty() {
        return Some((0, 0));
    }
    text.split(|&c| c == b':')
        .try_fold((0, 0), |(value, count), group| {
            Some((value << 16 | hex_group(group)?, count + 1))
        })
}

fn parse_ip6(text: &[u8]) -> Option<u128> {
    let Some(gap) = text.windows(2).position(|pair| pair == b"::") else {
        let (value, count) = hex_groups(text)?;
        return (count == 8).then_some(value);
    };
    let (head, tail) = text.split_at(gap);
    let (high, before) = hex_groups(head)?;
    let (low, after) = hex_groups(&tail[2..])?;
    if before + after > 7 {
        return None;
    }
    Some(high.checked_shl(16 * (8 - before)).unwrap_or(0) | low)
}

/// Finds the country of addresses in text. It is 0 for unassigned and 0xffff for invalid addresses.
#[kernel]
pub fn ip6_country_safe(
    text: &[u8],
    starts: &[u32],
    first: &[u128],
    last: &[u128],
    country: &[u16],
    mut to: PerThread<u16>,
) {
    let ranges = Ranges {
        first,
        last,
        country,
    };
    to.each(|i, to| {
        let text = &text[starts[i] as usize..starts[i + 1] as usize];
        *to = match parse_ip6(text) {
            Some(address) => ranges.find(address).unwrap_or(0),
            None => 0xffff,
        };
    });
}

/// Parses the groups from `at` to `end`.
#[inline(always)]
unsafe fn hex_groups_raw(
    text: *const u8,
    at: usize,
    end: usize,
    value: &mut u128,
    count: &mut u32,
) -> bool {
    *value = 0;
    *count = 0;
    if at == end {
        return true;
    }
    let mut digits = 0;
    let mut group = 0u32;
    for k in at..=end {
        let c = if k < end { *text.add(k) } else { b':' };
        if c == b':' {
            if digits == 0 || digits > 4 {
                return false;
            }
            *value = *value << 16 | u128::from(group);
            *count += 1;
            digits = 0;
            group = 0;
            continue;
        }
        let digit = match c {
            b'0'..=b'9' => c - b'0',
            b'a'..=b'f' => c - b'a' + 10,
            b'A'..=b'F' => c - b'A' + 10,
            _ => return false,
        };
        group = group << 4 | u32::from(digit);
        digits += 1;
    }
    true
}

/// As [`ip6_country_safe`], with pointers.
#[kernel]
pub unsafe fn ip6_country_raw(
    text: *const u8,
    starts: *const u32,
    first: *const u128,
    last: *const u128,
    country: *const u16,
    ranges: usize,
    to: *mut u16,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let text = text.add(*starts.add(i) as usize);
    let len = (*starts.add(i + 1) - *starts.add(i)) as usize;
    let mut gap = len;
    let mut k = 0;
    while k + 1 < len {
        if *text.add(k) == b':' && *text.add(k + 1) == b':' {
            gap = k;
            break;
        }
        k += 1;
    }
    let (mut high, mut before) = (0, 0);
    let mut valid = hex_groups_raw(text, 0, gap, &mut high, &mut before);
    let mut address = high;
    if gap == len {
        valid = valid && before == 8;
    } else if valid {
        let (mut low, mut after) = (0, 0);
        valid = hex_groups_raw(text, gap + 2, len, &mut low, &mut after) && before + after <= 7;
        if valid {
            address = if before > 0 {
                high << (16 * (8 - before))
            } else {
                0
            } | low;
        }
    }
    if !valid {
        *to.add(i) = 0xffff;
        return;
    }
    let (mut a, mut b) = (0, ranges);
    while a < b {
        let middle = (a + b) / 2;
        if *first.add(middle) <= address {
            a = middle + 1;
        } else {
            b = middle;
        }
    }
    *to.add(i) = if a > 0 && address <= *last.add(a - 1) {
        *country.add(a - 1)
    } else {
        0
    };
}

// ---------------------------------------------------------------------------------------------
// imu_preint, scan_pose

/// A number of which matrices consist.
trait Real: Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {}
impl Real for f32 {}
impl Real for f64 {}

/// A matrix with `R` rows.
#[derive(Clone, Copy)]
struct Matrix<T, const R: usize, const C: usize>([[T; C]; R]);

type Vector<T, const N: usize> = Matrix<T, N, 1>;

impl<T: Real, const R: usize, const C: usize> Matrix<T, R, C> {
    fn zero() -> Self {
        Matrix([[T::default(); C]; R])
    }

    fn from_fn(f: impl Fn(usize, usize) -> T) -> Self {
        Matrix(core::array::from_fn(|i| core::array::from_fn(|j| f(i, j))))
    }

    fn transposed(self) -> Matrix<T, C, R> {
        Matrix::from_fn(|i, j| self[(j, i)])
    }

    fn scaled(self, factor: T) -> Self {
        Matrix(self.0.map(|row| row.map(|x| x * factor)))
    }
}

impl<T: Real, const N: usize> Matrix<T, N, N> {
    fn diagonal(value: T) -> Self {
        Matrix::from_fn(|i, j| if i == j { value } else { T::default() })
    }

    fn trace(self) -> T {
        (0..N).fold(T::default(), |sum, i| sum + self[(i, i)])
    }
}

impl<T, const R: usize, const C: usize> Index<(usize, usize)> for Matrix<T, R, C> {
    type Output = T;

    fn index(&self, (i, j): (usize, usize)) -> &T {
        &self.0[i][j]
    }
}

impl<T, const R: usize, const C: usize> IndexMut<(usize, usize)> for Matrix<T, R, C> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        &mut self.0[i][j]
    }
}

impl<T: Real, const R: usize, const K: usize, const C: usize> Mul<Matrix<T, K, C>>
    for Matrix<T, R, K>
{
    type Output = Matrix<T, R, C>;

    fn mul(self, other: Matrix<T, K, C>) -> Matrix<T, R, C> {
        Matrix::from_fn(|i, j| {
            (0..K).fold(T::default(), |sum, k| sum + self[(i, k)] * other[(k, j)])
        })
    }
}

impl<T: Real, const R: usize, const C: usize> Add for Matrix<T, R, C> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Matrix::from_fn(|i, j| self[(i, j)] + other[(i, j)])
    }
}

impl<T: Real, const R: usize, const C: usize> Sub for Matrix<T, R, C> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Matrix::from_fn(|i, j| self[(i, j)] - other[(i, j)])
    }
}

impl<T: Real + Neg<Output = T>, const R: usize, const C: usize> Neg for Matrix<T, R, C> {
    type Output = Self;

    fn neg(self) -> Self {
        Matrix(self.0.map(|row| row.map(|x| -x)))
    }
}

fn skew(v: Vector<f32, 3>) -> Matrix<f32, 3, 3> {
    let [[x], [y], [z]] = v.0;
    Matrix([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
}

/// The factors of the exponential map for a rotation by the root of `square`: sin θ / θ,
/// (1 - cos θ) / θ², (θ - sin θ) / θ³.
fn rotation_factors(square: f32) -> [f32; 3] {
    if square < 1e-4 {
        return [
            1.0 - square / 6.0,
            0.5 - square / 24.0,
            1.0 / 6.0 - square / 120.0,
        ];
    }
    let angle = square.sqrt();
    let (sin, cos) = angle.sin_cos();
    [
        sin / angle,
        (1.0 - cos) / square,
        (angle - sin) / (square * angle),
    ]
}

/// What an inertial sensor has measured since the start of a window.
struct Preintegrated {
    rotation: Matrix<f32, 3, 3>,
    velocity: Vector<f32, 3>,
    position: Vector<f32, 3>,
    /// The derivatives of rotation and velocity by the gyroscope's bias.
    rotation_by_bias: Matrix<f32, 3, 3>,
    velocity_by_bias: Matrix<f32, 3, 3>,
}

impl Preintegrated {
    fn new() -> Self {
        Preintegrated {
            rotation: Matrix::diagonal(1.0),
            velocity: Matrix::zero(),
            position: Matrix::zero(),
            rotation_by_bias: Matrix::zero(),
            velocity_by_bias: Matrix::zero(),
        }
    }

    fn add(&mut self, gyro: Vector<f32, 3>, acceleration: Vector<f32, 3>, dt: f32) {
        let turn = gyro.scaled(dt);
        let square = (turn.transposed() * turn)[(0, 0)];
        let [a, b, c] = rotation_factors(square);
        let w = skew(turn);
        let ww = w * w;
        let step = Matrix::diagonal(1.0) + w.scaled(a) + ww.scaled(b);
        let right = Matrix::diagonal(1.0) - w.scaled(b) + ww.scaled(c);

        let force = self.rotation * acceleration;
        self.position = self.position + self.velocity.scaled(dt) + force.scaled(0.5 * dt * dt);
        self.velocity = self.velocity + force.scaled(dt);
        let slope = -(self.rotation * skew(acceleration) * self.rotation_by_bias);
        self.velocity_by_bias = self.velocity_by_bias + slope.scaled(dt);
        self.rotation_by_bias = step.transposed() * self.rotation_by_bias - right.scaled(dt);
        self.rotation = self.rotation * step;
    }
}

/// Preintegrates a window of measurements in each thread. Measurement `k` of window `i` has the
/// index `k * windows + i`. Returns position, velocity, and the traces of the rotation and of the
/// derivative of the velocity.
#[kernel]
pub fn imu_preint_safe(
    gyro: &[[f32; 3]],
    acceleration: &[[f32; 3]],
    bias: [f32; 3],
    dt: f32,
    mut to: PerThread<[f32; 8]>,
) {
    let windows = to.len();
    let column = |[x, y, z]: [f32; 3]| Matrix([[x], [y], [z]]);
    to.each(|i, to| {
        let mut sum = Preintegrated::new();
        let mut k = i;
        while k < gyro.len() {
            sum.add(column(gyro[k]) - column(bias), column(acceleration[k]), dt);
            k += windows;
        }
        let [[px], [py], [pz]] = sum.position.0;
        let [[vx], [vy], [vz]] = sum.velocity.0;
        *to = [
            px,
            py,
            pz,
            vx,
            vy,
            vz,
            sum.rotation.trace(),
            sum.velocity_by_bias.trace(),
        ];
    });
}

#[inline(always)]
fn product_raw(a: &[f32; 9], b: &[f32; 9]) -> [f32; 9] {
    let mut c = [0.0; 9];
    for i in 0..3 {
        for j in 0..3 {
            c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
        }
    }
    c
}

/// As [`imu_preint_safe`], with pointers.
#[kernel]
pub unsafe fn imu_preint_raw(
    gyro: *const f32,
    acceleration: *const f32,
    bias: [f32; 3],
    dt: f32,
    to: *mut f32,
    windows: usize,
    steps: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= windows {
        return;
    }
    let mut r = [1.0f32, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let mut jr = [0.0f32; 9];
    let mut jv = [0.0f32; 9];
    let mut v = [0.0f32; 3];
    let mut p = [0.0f32; 3];
    for k in 0..steps {
        let at = 3 * (k * windows + i);
        let x = (*gyro.add(at) - bias[0]) * dt;
        let y = (*gyro.add(at + 1) - bias[1]) * dt;
        let z = (*gyro.add(at + 2) - bias[2]) * dt;
        let [ax, ay, az] = [
            *acceleration.add(at),
            *acceleration.add(at + 1),
            *acceleration.add(at + 2),
        ];
        let [a, b, c] = rotation_factors(x * x + y * y + z * z);
        let w = [0.0, -z, y, z, 0.0, -x, -y, x, 0.0];
        let ww = product_raw(&w, &w);
        let mut step = [0.0f32; 9];
        let mut right = [0.0f32; 9];
        for q in 0..9 {
            let one = if q % 4 == 0 { 1.0 } else { 0.0 };
            step[q] = one + a * w[q] + b * ww[q];
            right[q] = one - b * w[q] + c * ww[q];
        }
        for q in 0..3 {
            let force = r[3 * q] * ax + r[3 * q + 1] * ay + r[3 * q + 2] * az;
            p[q] += v[q] * dt + 0.5 * force * dt * dt;
            v[q] += force * dt;
        }
        let skewed = [0.0, -az, ay, az, 0.0, -ax, -ay, ax, 0.0];
        let slope = product_raw(&product_raw(&r, &skewed), &jr);
        for q in 0..9 {
            jv[q] -= slope[q] * dt;
        }
        let turned = [
            step[0], step[3], step[6], step[1], step[4], step[7], step[2], step[5], step[8],
        ];
        let next = product_raw(&turned, &jr);
        for q in 0..9 {
            jr[q] = next[q] - right[q] * dt;
        }
        r = product_raw(&r, &step);
    }
    let to = to.add(8 * i);
    for q in 0..3 {
        *to.add(q) = p[q];
        *to.add(3 + q) = v[q];
    }
    *to.add(6) = r[0] + r[4] + r[8];
    *to.add(7) = jv[0] + jv[4] + jv[8];
}

// ---------------------------------------------------------------------------------------------
// best_split

/// A split of the samples between two bins.
#[derive(Clone, Copy, AnyBits)]
struct Split {
    gain: f32,
    bin: u32,
}

impl Split {
    fn better(self, other: Split) -> Split {
        match other.gain > self.gain || (other.gain == self.gain && other.bin < self.bin) {
            true => other,
            false => self,
        }
    }
}

/// The samples times their Gini impurity.
fn impurity([negative, positive]: [u32; 2]) -> f32 {
    let (a, b) = (negative as f32, positive as f32);
    if a + b == 0.0 {
        0.0
    } else {
        2.0 * a * b / (a + b)
    }
}

/// Finds the best threshold for each feature. Features are rows of one byte for each sample.
#[kernel(block_size(256))]
pub fn best_split_safe(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, 512>>,
    features: &[u8],
    labels: &[u8],
    mut to: PerBlock<[f32; 2]>,
) {
    let block = group::block();
    for mut piece in to.pieces() {
        let samples = features[piece.start() * labels.len()..][..labels.len()]
            .iter()
            .zip(labels);
        counts.own().each(|_, count| *count.get_mut() = 0);
        let best = counts.read(|counts| {
            let threads = thread::threads_in_block() as usize;
            let mine = samples
                .skip(thread::index_in_block() as usize)
                .step_by(threads);
            mine.for_each(|(&bin, &label)| {
                let place = 2 * usize::from(bin) + usize::from(label & 1);
                counts[place].fetch_add(1, Relaxed);
            });
            block.sync();
            let t = thread::index_in_block();
            let own = [0, 1].map(|class| counts[2 * t as usize + class].load(Relaxed));
            let (before, all) = block.exclusive_scan_with_total(own, [0, 0], |a: [u32; 2], b| {
                [a[0] + b[0], a[1] + b[1]]
            });
            let left = [before[0] + own[0], before[1] + own[1]];
            let right = [all[0] - left[0], all[1] - left[1]];
            let gain = impurity(all) - impurity(left) - impurity(right);
            block.reduce(Split { gain, bin: t }, Split::better)
        });
        piece.each(|_, to| *to = [best.gain, best.bin as f32]);
    }
}

/// As [`best_split_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn best_split_raw(
    features: *const u8,
    labels: *const u8,
    to: *mut [f32; 2],
    count: usize,
    samples: usize,
) {
    let counts = shared_array![u32; 512];
    let slots = shared_array![[u32; 2]; 8];
    let splits = shared_array![Split; 8];
    let t = thread::thread_idx_x() as usize;
    let lane = thread::lane_id();
    let warp_index = t / 32;
    let mut feature = thread::block_idx_x() as usize;
    while feature < count {
        *counts.add(t) = 0;
        *counts.add(t + 256) = 0;
        thread::sync_threads();
        let row = features.add(feature * samples);
        let mut i = t;
        while i < samples {
            let place = 2 * *row.add(i) as usize + (*labels.add(i) & 1) as usize;
            Atomic::<u32, Block>::from_ptr(counts.add(place)).fetch_add(1, Relaxed);
            i += 256;
        }
        thread::sync_threads();
        let mut left = [*counts.add(2 * t), *counts.add(2 * t + 1)];
        let mut distance = 1;
        while distance < 32 {
            let a = warp::shuffle_up(warp::FULL, left[0], distance);
            let b = warp::shuffle_up(warp::FULL, left[1], distance);
            if lane >= distance {
                left[0] += a;
                left[1] += b;
            }
            distance *= 2;
        }
        if lane == 31 {
            *slots.add(warp_index) = left;
        }
        thread::sync_threads();
        let mut all = [0, 0];
        for k in 0..8 {
            let [a, b] = *slots.add(k);
            if k < warp_index {
                left[0] += a;
                left[1] += b;
            }
            all[0] += a;
            all[1] += b;
        }
        let right = [all[0] - left[0], all[1] - left[1]];
        let gain = impurity(all) - impurity(left) - impurity(right);
        let mut best = Split {
            gain,
            bin: t as u32,
        };
        let mut distance = 16;
        while distance > 0 {
            let gain = warp::shuffle_xor(warp::FULL, best.gain, distance);
            let bin = warp::shuffle_xor(warp::FULL, best.bin, distance);
            best = best.better(Split { gain, bin });
            distance /= 2;
        }
        if lane == 0 {
            *splits.add(warp_index) = best;
        }
        thread::sync_threads();
        if t == 0 {
            for k in 1..8 {
                best = best.better(*splits.add(k));
            }
            *to.add(feature) = [best.gain, best.bin as f32];
        }
        feature += thread::grid_dim_x() as usize;
    }
}

// ---------------------------------------------------------------------------------------------
// jp_color

/// A graph: the neighbors of each node are consecutive.
#[derive(Clone, Copy)]
struct Graph<'a> {
    starts: &'a [u32],
    neighbors: &'a [u32],
}

impl<'a> Graph<'a> {
    fn around(self, node: usize) -> &'a [u32] {
        &self.neighbors[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

/// One step of the coloring by Jones and Plassmann, with a warp for each node: a node without color
/// (0) whose priority is higher than that of all neighbors without color gets the lowest color that
/// no neighbor has.
#[kernel(block_size(256))]
pub fn jp_color_safe(starts: &[u32], neighbors: &[u32], colors: &[u8], mut to: PerWarp<u8>) {
    let graph = Graph { starts, neighbors };
    let warp = group::warp();
    for mut piece in to.pieces() {
        let node = piece.start();
        let mut color = colors[node];
        if color == 0 {
            let around = graph.around(node);
            let own = (noise(node as u32), node as u32);
            let (mut used, mut wins) = (1u64, true);
            for k in thread::warp_stride(around.len()) {
                let other = around[k];
                match colors[other as usize] {
                    0 if (noise(other), other) > own => wins = false,
                    other_color => used |= 1 << (other_color & 63),
                }
            }
            if warp.all(wins) {
                color = warp.reduce(used, |a, b| a | b).trailing_ones() as u8;
            }
        }
        piece.each(|_, to| *to = color);
    }
}

/// As [`jp_color_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn jp_color_raw(
    starts: *const u32,
    neighbors: *const u32,
    colors: *const u8,
    to: *mut u8,
    nodes: usize,
) {
    let node = thread::index_1d() as usize / 32;
    if node >= nodes {
        return;
    }
    let lane = thread::lane_id();
    let mut color = *colors.add(node);
    if color == 0 {
        let end = *starts.add(node + 1);
        let priority = noise(node as u32);
        let mut used = 1u64;
        let mut wins = true;
        let mut k = *starts.add(node) + lane;
        while k < end {
            let other = *neighbors.add(k as usize);
            let other_color = *colors.add(other as usize);
            let rival = noise(other);
            if other_color == 0 && (rival > priority || rival == priority && other > node as u32) {
                wins = false;
            }
            used |= 1 << (other_color & 63);
            k += 32;
        }
        if warp::all(warp::FULL, wins) {
            let low = warp::reduce_or(warp::FULL, used as u32);
            let high = warp::reduce_or(warp::FULL, (used >> 32) as u32);
            color = (u64::from(high) << 32 | u64::from(low)).trailing_ones() as u8;
        }
    }
    if lane == 0 {
        *to.add(node) = color;
    }
}

/// Measured points, and the places and normals of the walls next to them.
#[derive(Clone, Copy)]
struct Scan<'a> {
    points: (&'a [f64], &'a [f64]),
    walls: (&'a [f64], &'a [f64]),
    normals: (&'a [f64], &'a [f64]),
}

impl<'a> Scan<'a> {
    fn matches(self) -> impl Iterator<Item = [Vector<f64, 2>; 3]> + 'a {
        let pairs = |(x, y): (&'a [f64], &'a [f64])| x.iter().zip(y);
        let vector = |(x, y): (&f64, &f64)| Matrix([[*x], [*y]]);
        pairs(self.points)
            .zip(pairs(self.walls))
            .zip(pairs(self.normals))
            .map(move |((point, wall), normal)| [vector(point), vector(wall), vector(normal)])
    }
}

/// Returns the inverse by the adjugate, or `None` for a singular matrix.
fn inverse(m: Matrix<f64, 3, 3>) -> Option<Matrix<f64, 3, 3>> {
    let minor = |i: usize, j: usize| {
        let [a, b] = [(i + 1) % 3, (i + 2) % 3];
        let [c, d] = [(j + 1) % 3, (j + 2) % 3];
        m[(a, c)] * m[(b, d)] - m[(a, d)] * m[(b, c)]
    };
    let determinant = (0..3).map(|j| m[(0, j)] * minor(0, j)).sum::<f64>();
    (determinant.abs() > 1e-12).then(|| Matrix::from_fn(|i, j| minor(j, i) / determinant))
}

/// One step of Gauss and Newton: returns the change of the pose.
fn refine(scan: Scan, [x, y, angle]: [f64; 3]) -> Option<Vector<f64, 3>> {
    let (sin, cos) = angle.sin_cos();
    let rotation = Matrix([[cos, -sin], [sin, cos]]);
    let slope = Matrix([[-sin, -cos], [cos, -sin]]);
    let shift = Matrix([[x], [y]]);
    let mut normal_matrix = Matrix::<f64, 3, 3>::zero();
    let mut right = Vector::<f64, 3>::zero();
    for [point, wall, normal] in scan.matches() {
        let normal = normal.transposed();
        let error = (normal * (rotation * point + shift - wall))[(0, 0)];
        let by_angle = (normal * (slope * point))[(0, 0)];
        let row = Matrix([[normal[(0, 0)], normal[(0, 1)], by_angle]]);
        normal_matrix = normal_matrix + row.transposed() * row;
        right = right + row.transposed().scaled(error);
    }
    Some(-(inverse(normal_matrix)? * right))
}

/// Aligns a scan with walls, starting at another pose in each thread.
#[kernel]
pub fn scan_pose_safe(
    px: &[f64],
    py: &[f64],
    wx: &[f64],
    wy: &[f64],
    nx: &[f64],
    ny: &[f64],
    guesses: &[[f64; 3]],
    mut poses: PerThread<[f64; 3]>,
) {
    let scan = Scan {
        points: (px, py),
        walls: (wx, wy),
        normals: (nx, ny),
    };
    poses.each_with(guesses, |_, pose, guess| {
        *pose = *guess;
        for _ in 0..6 {
            let Some(step) = refine(scan, *pose) else {
                break;
            };
            let [[dx], [dy], [turn]] = step.0;
            pose[0] += dx;
            pose[1] += dy;
            pose[2] += turn;
            if dx.abs() + dy.abs() + turn.abs() < 1e-9 {
                break;
            }
        }
    });
}

/// As [`scan_pose_safe`], with pointers.
#[kernel]
pub unsafe fn scan_pose_raw(
    px: *const f64,
    py: *const f64,
    wx: *const f64,
    wy: *const f64,
    nx: *const f64,
    ny: *const f64,
    matches: usize,
    guesses: *const f64,
    poses: *mut f64,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut x = *guesses.add(3 * i);
    let mut y = *guesses.add(3 * i + 1);
    let mut angle = *guesses.add(3 * i + 2);
    for _ in 0..6 {
        let (s, c) = angle.sin_cos();
        let mut h = [0.0f64; 9];
        let mut g = [0.0f64; 3];
        for k in 0..matches {
            let (a, b) = (*px.add(k), *py.add(k));
            let (u, v) = (*nx.add(k), *ny.add(k));
            let ex = c * a - s * b + x - *wx.add(k);
            let ey = s * a + c * b + y - *wy.add(k);
            let error = u * ex + v * ey;
            let row = [u, v, u * (-s * a - c * b) + v * (c * a - s * b)];
            for p in 0..3 {
                for q in 0..3 {
                    h[3 * p + q] += row[p] * row[q];
                }
                g[p] += row[p] * error;
            }
        }
        let minors = [
            h[4] * h[8] - h[5] * h[7],
            h[5] * h[6] - h[3] * h[8],
            h[3] * h[7] - h[4] * h[6],
            h[7] * h[2] - h[8] * h[1],
            h[8] * h[0] - h[6] * h[2],
            h[6] * h[1] - h[7] * h[0],
            h[1] * h[5] - h[2] * h[4],
            h[2] * h[3] - h[0] * h[5],
            h[0] * h[4] - h[1] * h[3],
        ];
        let determinant = h[0] * minors[0] + h[1] * minors[1] + h[2] * minors[2];
        if determinant.abs() <= 1e-12 {
            break;
        }
        let mut step = [0.0f64; 3];
        for p in 0..3 {
            step[p] =
                -(minors[p] * g[0] + minors[3 + p] * g[1] + minors[6 + p] * g[2]) / determinant;
        }
        x += step[0];
        y += step[1];
        angle += step[2];
        if step[0].abs() + step[1].abs() + step[2].abs() < 1e-9 {
            break;
        }
    }
    *poses.add(3 * i) = x;
    *poses.add(3 * i + 1) = y;
    *poses.add(3 * i + 2) = angle;
}

// ---------------------------------------------------------------------------------------------
// nfa_warp

/// Counts the matches of patterns with together 1024 letters in each text, by the algorithm
/// shift-and. Each lane has 32 states.
#[kernel(block_size(256))]
pub fn nfa_warp_safe(
    texts: &[u8],
    length: usize,
    masks: &[[u32; 32]; 4],
    first: &[u32; 32],
    last: &[u32; 32],
    mut to: PerWarp<u32>,
) {
    let warp = group::warp();
    let lane = warp.rank() as usize % 32;
    for mut piece in to.pieces() {
        let text = texts.chunks_exact(length).nth(piece.start()).unwrap_or(&[]);
        let mut states = 0u32;
        let mut matches = 0;
        for &letter in text {
            let Some(code) = b"ACGT".iter().position(|&known| known == letter) else {
                states = 0;
                continue;
            };
            let lower = warp.shuffle_up(states, 1);
            let carry = if lane == 0 { 0 } else { lower >> 31 };
            states = (states << 1 | carry | first[lane]) & masks[code][lane];
            matches += (states & last[lane]).count_ones();
        }
        let sum = warp.reduce(matches, |a, b| a + b);
        piece.each(|_, to| *to = sum);
    }
}

/// As [`nfa_warp_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn nfa_warp_raw(
    texts: *const u8,
    length: usize,
    masks: *const u32,
    first: *const u32,
    last: *const u32,
    to: *mut u32,
    n: usize,
) {
    let i = thread::index_1d() as usize / 32;
    if i >= n {
        return;
    }
    let lane = thread::lane_id() as usize;
    let text = texts.add(i * length);
    let first = *first.add(lane);
    let last = *last.add(lane);
    let mut states = 0u32;
    let mut matches = 0;
    for k in 0..length {
        let code = match *text.add(k) {
            b'A' => 0,
            b'C' => 1,
            b'G' => 2,
            b'T' => 3,
            _ => {
                states = 0;
                continue;
            }
        };
        let mut carry = warp::shuffle_up(warp::FULL, states, 1) >> 31;
        if lane == 0 {
            carry = 0;
        }
        states = (states << 1 | carry | first) & *masks.add(code * 32 + lane);
        matches += (states & last).count_ones();
    }
    let sum = warp::reduce_add(warp::FULL, matches);
    if lane == 0 {
        *to.add(i) = sum;
    }
}

// ---------------------------------------------------------------------------------------------
// silhouette

/// The number of clusters.
const CLUSTERS: usize = 8;

/// A point and its cluster.
#[derive(Clone, Copy, AnyBits)]
struct Member {
    at: [f32; 3],
    cluster: u32,
}

impl Member {
    fn distance(&self, other: &Member) -> f32 {
        let square = |(a, b): (&f32, &f32)| (a - b) * (a - b);
        self.at
            .iter()
            .zip(&other.at)
            .map(square)
            .sum::<f32>()
            .sqrt()
    }
}

/// The silhouette of each point: how much closer it is to its own cluster than to the next one.
#[kernel(block_size(256))]
pub fn silhouette_safe(
    #[shared] mut tile: Shared<Array<Member, 256>>,
    points: &[[f32; 3]],
    clusters: &[u8],
    sizes: [u32; CLUSTERS],
    mut to: PerBlock<f32, 256>,
) {
    let member = |i: usize| {
        let i = i.min(points.len() - 1);
        Member {
            at: points[i],
            cluster: clusters[i].into(),
        }
    };
    for mut piece in to.pieces() {
        let own = member(piece.start() + thread::index_in_block() as usize);
        let mut sums = [0.0f32; CLUSTERS];
        for start in (0..points.len()).step_by(256) {
            tile.own().each(|i, to| *to = member(start + i));
            tile.read(|tile| {
                for other in tile.iter().take(points.len() - start) {
                    sums[other.cluster as usize % CLUSTERS] += own.distance(other);
                }
            });
        }
        piece.each(|_, to| {
            let inner =
                sums[own.cluster as usize] / (sizes[own.cluster as usize] - 1).max(1) as f32;
            let outer = sums
                .iter()
                .zip(sizes)
                .enumerate()
                .filter(|&(cluster, (_, size))| cluster != own.cluster as usize && size > 0)
                .map(|(_, (sum, size))| sum / size as f32)
                .min_by(f32::total_cmp);
            *to = outer.map_or(0.0, |outer| (outer - inner) / outer.max(inner));
        });
    }
}

/// As [`silhouette_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn silhouette_raw(
    points: *const f32,
    clusters: *const u8,
    sizes: [u32; CLUSTERS],
    to: *mut f32,
    n: usize,
) {
    let tile = shared_array![[f32; 3]; 256];
    let labels = shared_array![u32; 256];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let own = i.min(n - 1);
    let at = [
        *points.add(3 * own),
        *points.add(3 * own + 1),
        *points.add(3 * own + 2),
    ];
    let cluster = *clusters.add(own) as usize;
    let mut sums = [0.0f32; CLUSTERS];
    let mut start = 0;
    while start < n {
        if start + t < n {
            let p = points.add(3 * (start + t));
            *tile.add(t) = [*p, *p.add(1), *p.add(2)];
            *labels.add(t) = u32::from(*clusters.add(start + t));
        }
        thread::sync_threads();
        let count = (n - start).min(256);
        for k in 0..count {
            let [x, y, z] = *tile.add(k);
            let (dx, dy, dz) = (x - at[0], y - at[1], z - at[2]);
            *sums.as_mut_ptr().add(*labels.add(k) as usize) += (dx * dx + dy * dy + dz * dz).sqrt();
        }
        thread::sync_threads();
        start += 256;
    }
    if i >= n {
        return;
    }
    let mut inner = 0.0;
    let mut outer = f32::INFINITY;
    for k in 0..CLUSTERS {
        if k == cluster {
            inner = sums[k] / (sizes[k] - 1).max(1) as f32;
        } else if sizes[k] > 0 {
            outer = outer.min(sums[k] / sizes[k] as f32);
        }
    }
    *to.add(i) = if outer < f32::INFINITY {
        (outer - inner) / outer.max(inner)
    } else {
        0.0
    };
}

// ---------------------------------------------------------------------------------------------
// csg_field3d

/// An instruction of a solid, as the host passes it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Node {
    kind: u32,
    values: [f32; 7],
}

/// An instruction of a solid.
enum Solid {
    Sphere {
        center: [f32; 3],
        radius: f32,
    },
    Cuboid {
        center: [f32; 3],
        half: [f32; 3],
        rounding: f32,
    },
    Torus {
        center: [f32; 3],
        radius: f32,
        thickness: f32,
    },
    Union,
    Intersection,
    Difference,
    SmoothUnion(f32),
}

impl From<&Node> for Solid {
    fn from(node: &Node) -> Solid {
        let [x, y, z, a, b, c, d] = node.values;
        let center = [x, y, z];
        match node.kind {
            0 => Solid::Sphere { center, radius: a },
            1 => Solid::Cuboid {
                center,
                half: [a, b, c],
                rounding: d,
            },
            2 => Solid::Torus {
                center,
                radius: a,
                thickness: b,
            },
            3 => Solid::Union,
            4 => Solid::Intersection,
            5 => Solid::Difference,
            _ => Solid::SmoothUnion(x),
        }
    }
}

fn length(v: &[f32]) -> f32 {
    v.iter().map(|x| x * x).sum::<f32>().sqrt()
}

fn from_center(p: [f32; 3], center: [f32; 3]) -> [f32; 3] {
    [p[0] - center[0], p[1] - center[1], p[2] - center[2]]
}

/// The distance of a point from a solid, given in reverse Polish notation.
fn signed_distance(program: &[Node], p: [f32; 3]) -> Option<f32> {
    let mut stack = Stack::<f32, 8>::new();
    for node in program {
        let distance = match Solid::from(node) {
            Solid::Sphere { center, radius } => length(&from_center(p, center)) - radius,
            Solid::Cuboid {
                center,
                half,
                rounding,
            } => {
                let [x, y, z] = from_center(p, center).map(f32::abs);
                let q = [x - half[0], y - half[1], z - half[2]];
                let inside = q[0].max(q[1]).max(q[2]).min(0.0);
                length(&q.map(|q| q.max(0.0))) + inside - rounding
            }
            Solid::Torus {
                center,
                radius,
                thickness,
            } => {
                let [x, y, z] = from_center(p, center);
                length(&[length(&[x, z]) - radius, y]) - thickness
            }
            operation => {
                let b = stack.pop()?;
                let a = stack.pop()?;
                match operation {
                    Solid::Union => a.min(b),
                    Solid::Intersection => a.max(b),
                    Solid::Difference => a.max(-b),
                    Solid::SmoothUnion(k) => {
                        let h = (0.5 + 0.5 * (b - a) / k).clamp(0.0, 1.0);
                        b + (a - b) * h - k * h * (1.0 - h)
                    }
                    _ => return None,
                }
            }
        };
        stack.push(distance)?;
    }
    stack.pop()
}

/// The distance of each voxel from a solid.
#[kernel]
pub fn csg_field3d_safe(program: &[Node], size: f32, mut to: PerThread3d<f32>) {
    let step = size / to.width() as f32;
    to.each(|(x, y, z), to| {
        let p = [x, y, z].map(|i| (i as f32 + 0.5) * step);
        *to = signed_distance(program, p).unwrap_or(f32::INFINITY);
    });
}

/// As [`csg_field3d_safe`], with pointers.
#[kernel]
pub unsafe fn csg_field3d_raw(
    program: *const Node,
    count: usize,
    size: f32,
    to: *mut f32,
    width: usize,
    height: usize,
    depth: usize,
) {
    let at = thread::index_3d();
    let (i, j, k) = (at.x as usize, at.y as usize, at.z as usize);
    if i >= width || j >= height || k >= depth {
        return;
    }
    let step = size / width as f32;
    let x = (i as f32 + 0.5) * step;
    let y = (j as f32 + 0.5) * step;
    let z = (k as f32 + 0.5) * step;
    let mut stack = [0.0f32; 8];
    let stack = stack.as_mut_ptr();
    let mut depth_now = 0usize;
    for n in 0..count {
        let kind = (*program.add(n)).kind;
        let v = (*program.add(n)).values;
        if kind < 3 {
            let (dx, dy, dz) = (x - v[0], y - v[1], z - v[2]);
            let distance = if kind == 0 {
                (dx * dx + dy * dy + dz * dz).sqrt() - v[3]
            } else if kind == 1 {
                let (qx, qy, qz) = (dx.abs() - v[3], dy.abs() - v[4], dz.abs() - v[5]);
                let inside = qx.max(qy).max(qz).min(0.0);
                let (ox, oy, oz) = (qx.max(0.0), qy.max(0.0), qz.max(0.0));
                (ox * ox + oy * oy + oz * oz).sqrt() + inside - v[6]
            } else {
                let q = (dx * dx + dz * dz).sqrt() - v[3];
                (q * q + dy * dy).sqrt() - v[4]
            };
            *stack.add(depth_now) = distance;
            depth_now += 1;
        } else {
            depth_now -= 1;
            let b = *stack.add(depth_now);
            let a = *stack.add(depth_now - 1);
            *stack.add(depth_now - 1) = match kind {
                3 => a.min(b),
                4 => a.max(b),
                5 => a.max(-b),
                _ => {
                    let h = (0.5 + 0.5 * (b - a) / v[0]).max(0.0).min(1.0);
                    b + (a - b) * h - v[0] * h * (1.0 - h)
                }
            };
        }
    }
    *to.add((k * height + j) * width + i) = *stack.add(depth_now - 1);
}

// ---------------------------------------------------------------------------------------------
// vessel3d

/// Rates how tubular the surroundings of each voxel are, by the second derivatives.
#[kernel]
pub fn vessel3d_safe(volume: &[f32], mut to: PerThread3d<f32>) {
    let size = [to.width(), to.height(), to.depth()];
    let [width, height, _] = size;
    to.each(|(x, y, z), to| {
        let at = |offset: [isize; 3]| {
            let [x, y, z] = [0, 1, 2].map(|axis| {
                let place = [x, y, z][axis].saturating_add_signed(offset[axis]);
                place.min(size[axis] - 1)
            });
            volume[(z * height + y) * width + x]
        };
        let along = |axis: usize, sign: isize| {
            let mut offset = [0; 3];
            offset[axis] = sign;
            offset
        };
        let center = at([0; 3]);
        let [xx, yy, zz] =
            [0, 1, 2].map(|axis| at(along(axis, 1)) - 2.0 * center + at(along(axis, -1)));
        let [xy, xz, yz] = [(0, 1), (0, 2), (1, 2)].map(|(a, b)| {
            let corner = |p: isize, q: isize| {
                let mut offset = along(a, p);
                offset[b] = q;
                at(offset)
            };
            0.25 * (corner(1, 1) + corner(-1, -1) - corner(1, -1) - corner(-1, 1))
        });
        let trace = xx + yy + zz;
        let minors = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz;
        let determinant =
            xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
        *to = match trace < 0.0 && minors > 0.0 {
            true => {
                let tube = minors / (trace * trace);
                let blob = determinant.abs() / (trace.abs() * minors);
                4.0 * tube * (-4.0 * blob).exp()
            }
            false => 0.0,
        };
    });
}

/// As [`vessel3d_safe`], with pointers.
#[kernel]
pub unsafe fn vessel3d_raw(volume: *const f32, to: *mut f32, width: i32, height: i32, depth: i32) {
    let index = thread::index_3d();
    let (x, y, z) = (index.x as i32, index.y as i32, index.z as i32);
    if x >= width || y >= height || z >= depth {
        return;
    }
    let at = |dx: i32, dy: i32, dz: i32| {
        let x = (x + dx).max(0).min(width - 1);
        let y = (y + dy).max(0).min(height - 1);
        let z = (z + dz).max(0).min(depth - 1);
        *volume.add(((z * height + y) * width + x) as usize)
    };
    let center = at(0, 0, 0);
    let xx = at(1, 0, 0) - 2.0 * center + at(-1, 0, 0);
    let yy = at(0, 1, 0) - 2.0 * center + at(0, -1, 0);
    let zz = at(0, 0, 1) - 2.0 * center + at(0, 0, -1);
    let xy = 0.25 * (at(1, 1, 0) + at(-1, -1, 0) - at(1, -1, 0) - at(-1, 1, 0));
    let xz = 0.25 * (at(1, 0, 1) + at(-1, 0, -1) - at(1, 0, -1) - at(-1, 0, 1));
    let yz = 0.25 * (at(0, 1, 1) + at(0, -1, -1) - at(0, 1, -1) - at(0, -1, 1));
    let trace = xx + yy + zz;
    let minors = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz;
    let determinant =
        xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    let mut result = 0.0;
    if trace < 0.0 && minors > 0.0 {
        let tube = minors / (trace * trace);
        let blob = determinant.abs() / (trace.abs() * minors);
        result = 4.0 * tube * (-4.0 * blob).exp();
    }
    *to.add(((z * height + y) * width + x) as usize) = result;
}

// ---------------------------------------------------------------------------------------------
// rate_laws

/// How fast a substance reacts.
trait RateLaw {
    fn rate(&self, amount: f32, temperature: f32) -> f32;
}

/// Proportional to the amount, and rising with the temperature.
struct Arrhenius {
    factor: f32,
    energy: f32,
}

impl RateLaw for Arrhenius {
    fn rate(&self, amount: f32, temperature: f32) -> f32 {
        self.factor * (-self.energy / (8.314 * temperature)).exp() * amount
    }
}

/// Limited by an enzyme.
struct MichaelisMenten {
    maximum: f32,
    half: f32,
}

impl RateLaw for MichaelisMenten {
    fn rate(&self, amount: f32, _temperature: f32) -> f32 {
        self.maximum * amount / (self.half + amount)
    }
}

/// Cooperative.
struct Hill {
    maximum: f32,
    half: f32,
    power: f32,
}

impl RateLaw for Hill {
    fn rate(&self, amount: f32, _temperature: f32) -> f32 {
        let x = (amount / self.half).powf(self.power);
        self.maximum * x / (1.0 + x)
    }
}

/// The change of four substances, each of which reacts to the next one.
fn change(laws: &[&dyn RateLaw; 4], amounts: [f32; 4], temperature: f32) -> [f32; 4] {
    let mut change = [0.0; 4];
    for (i, (law, amount)) in laws.iter().zip(amounts).enumerate() {
        let rate = law.rate(amount, temperature);
        change[i] -= rate;
        change[(i + 1) % 4] += rate;
    }
    change
}

/// Simulates a cycle of reactions with the method of Runge and Kutta.
#[kernel]
pub fn rate_laws_safe(
    start: &[[f32; 4]],
    temperatures: &[f32],
    parameters: [f32; 8],
    steps: u32,
    dt: f32,
    mut to: PerThread<[f32; 4]>,
) {
    let [f, e, m, h, hm, hh, hp, slow] = parameters;
    let laws: [&dyn RateLaw; 4] = [
        &Arrhenius {
            factor: f,
            energy: e,
        },
        &MichaelisMenten {
            maximum: m,
            half: h,
        },
        &Hill {
            maximum: hm,
            half: hh,
            power: hp,
        },
        &Arrhenius {
            factor: slow,
            energy: 0.5 * e,
        },
    ];
    to.each_with(
        (start, temperatures),
        |_, amounts, (start, &temperature)| {
            *amounts = *start;
            let moved = |from: [f32; 4], by: [f32; 4], factor: f32| -> [f32; 4] {
                core::array::from_fn(|i| from[i] + factor * by[i])
            };
            for _ in 0..steps {
                let a = change(&laws, *amounts, temperature);
                let b = change(&laws, moved(*amounts, a, 0.5 * dt), temperature);
                let c = change(&laws, moved(*amounts, b, 0.5 * dt), temperature);
                let d = change(&laws, moved(*amounts, c, dt), temperature);
                for (i, amount) in amounts.iter_mut().enumerate() {
                    *amount += dt / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]);
                }
            }
        },
    );
}

#[inline(always)]
fn change_raw(p: &[f32; 8], a: &[f32; 4], temperature: f32) -> [f32; 4] {
    let r0 = p[0] * (-p[1] / (8.314 * temperature)).exp() * a[0];
    let r1 = p[2] * a[1] / (p[3] + a[1]);
    let x = (a[2] / p[5]).powf(p[6]);
    let r2 = p[4] * x / (1.0 + x);
    let r3 = p[7] * (-0.5 * p[1] / (8.314 * temperature)).exp() * a[3];
    [r3 - r0, r0 - r1, r1 - r2, r2 - r3]
}

/// As [`rate_laws_safe`], with pointers.
#[kernel]
pub unsafe fn rate_laws_raw(
    start: *const f32,
    temperatures: *const f32,
    parameters: [f32; 8],
    steps: u32,
    dt: f32,
    to: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let temperature = *temperatures.add(i);
    let start = start.add(4 * i);
    let mut x = [*start, *start.add(1), *start.add(2), *start.add(3)];
    let mut y = [0.0f32; 4];
    for _ in 0..steps {
        let a = change_raw(&parameters, &x, temperature);
        for q in 0..4 {
            y[q] = x[q] + 0.5 * dt * a[q];
        }
        let b = change_raw(&parameters, &y, temperature);
        for q in 0..4 {
            y[q] = x[q] + 0.5 * dt * b[q];
        }
        let c = change_raw(&parameters, &y, temperature);
        for q in 0..4 {
            y[q] = x[q] + dt * c[q];
        }
        let d = change_raw(&parameters, &y, temperature);
        for q in 0..4 {
            x[q] += dt / 6.0 * (a[q] + 2.0 * b[q] + 2.0 * c[q] + d[q]);
        }
    }
    for q in 0..4 {
        *to.add(4 * i + q) = x[q];
    }
}

// ---------------------------------------------------------------------------------------------
// triplet_mine

/// The distances of the farthest element of the same class, and of the closest one of another.
#[derive(Clone, Copy, AnyBits)]
struct Hardest {
    positive: f32,
    negative: f32,
}

impl Hardest {
    fn merge(self, other: Hardest) -> Hardest {
        Hardest {
            positive: self.positive.max(other.positive),
            negative: self.negative.min(other.negative),
        }
    }
}

fn pair_values(pair: F16x2) -> [f32; 2] {
    [pair.low().to_f32(), pair.high().to_f32()]
}

/// Finds the hardest triplet for each embedding of 64 numbers: squared distances.
#[kernel(block_size(128))]
pub fn triplet_mine_safe(
    #[shared] mut anchor: Shared<Array<[f32; 2], 32>>,
    embeddings: &[[F16x2; 32]],
    classes: &[u32],
    mut to: PerBlock<[f32; 2]>,
) {
    for mut piece in to.pieces() {
        let own = piece.start();
        anchor
            .own()
            .each(|i, to| *to = pair_values(embeddings[own][i]));
        let hardest = anchor.read(|anchor| {
            let mut hardest = Hardest {
                positive: -1.0,
                negative: f32::INFINITY,
            };
            for j in thread::block_stride(embeddings.len()).filter(|&j| j != own) {
                let squares = embeddings[j].iter().zip(anchor).map(|(&pair, a)| {
                    let [x, y] = pair_values(pair);
                    (x - a[0]) * (x - a[0]) + (y - a[1]) * (y - a[1])
                });
                let distance = squares.sum();
                if classes[j] == classes[own] {
                    hardest.positive = hardest.positive.max(distance);
                } else {
                    hardest.negative = hardest.negative.min(distance);
                }
            }
            group::block().reduce(hardest, Hardest::merge)
        });
        piece.each(|_, to| *to = [hardest.positive, hardest.negative]);
    }
}

/// As [`triplet_mine_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn triplet_mine_raw(
    embeddings: *const F16x2,
    classes: *const u32,
    to: *mut [f32; 2],
    n: usize,
) {
    let anchor = shared_array![[f32; 2]; 32];
    let slots = shared_array![[f32; 2]; 4];
    let t = thread::thread_idx_x() as usize;
    let mut own = thread::block_idx_x() as usize;
    while own < n {
        if t < 32 {
            let pair = *embeddings.add(own * 32 + t);
            *anchor.add(t) = [pair.low().to_f32(), pair.high().to_f32()];
        }
        thread::sync_threads();
        let class = *classes.add(own);
        let mut positive = -1.0f32;
        let mut negative = f32::INFINITY;
        let mut j = t;
        while j < n {
            if j != own {
                let row = embeddings.add(j * 32);
                let mut distance = 0.0;
                for k in 0..32 {
                    let pair = *row.add(k);
                    let [a, b] = *anchor.add(k);
                    let x = pair.low().to_f32() - a;
                    let y = pair.high().to_f32() - b;
                    distance += x * x + y * y;
                }
                if *classes.add(j) == class {
                    positive = positive.max(distance);
                } else {
                    negative = negative.min(distance);
                }
            }
            j += 128;
        }
        let mut step = 16;
        while step > 0 {
            positive = positive.max(warp::shuffle_xor(warp::FULL, positive, step));
            negative = negative.min(warp::shuffle_xor(warp::FULL, negative, step));
            step /= 2;
        }
        if thread::lane_id() == 0 {
            *slots.add(t / 32) = [positive, negative];
        }
        thread::sync_threads();
        if t == 0 {
            for k in 1..4 {
                let [p, q] = *slots.add(k);
                positive = positive.max(p);
                negative = negative.min(q);
            }
            *to.add(own) = [positive, negative];
        }
        own += thread::grid_dim_x() as usize;
    }
}

// ---------------------------------------------------------------------------------------------
// error_diffuse

/// The number of rows of an image.
const ROWS: usize = 64;

/// The errors that a row hands on, in sixteenths.
#[derive(Default)]
struct Errors {
    right: i32,
    below: [i32; 3],
}

impl Errors {
    /// Sets a pixel to black or white. Returns it, and the sum of the errors for the pixel to the
    /// lower left, which is complete.
    fn spread(&mut self, brightness: u8, above: i32) -> (u8, i32) {
        let value = i32::from(brightness) + ((self.right + above) >> 4);
        let pixel = if value > 127 { 255 } else { 0 };
        let error = value - i32::from(pixel);
        self.right = 7 * error;
        let [a, b, c] = self.below;
        self.below = [b + 5 * error, c + error, 0];
        (pixel, a + 3 * error)
    }
}

/// Floyd–Steinberg dithering of images of 64 rows, one in each block. A thread has a row, two pixels
/// behind the thread of the row above.
#[kernel(block_size(64))]
pub fn error_diffuse_safe(
    #[shared] mut handed: Shared<Array<i32, ROWS>>,
    image: &[u8],
    mut to: cuda_std::PerRow<u8>,
) {
    let row = thread::index_in_block() as usize;
    for (y, pixels) in to.own() {
        let width = pixels.len();
        let image = &image[y * width..][..width];
        let mut errors = Errors::default();
        let mut above = 0;
        for step in 0..width + 2 * ROWS {
            let mut complete = 0;
            if let Some(x) = step.checked_sub(2 * row) {
                match (pixels.get_mut(x), image.get(x)) {
                    (Some(pixel), Some(&brightness)) => {
                        (*pixel, complete) = errors.spread(brightness, above);
                    }
                    _ => complete = errors.below[0],
                }
            }
            handed.own().each(|_, to| *to = complete);
            above = handed.read(|handed| row.checked_sub(1).map_or(0, |upper| handed[upper]));
        }
    }
}

/// As [`error_diffuse_safe`], with pointers.
#[kernel(block_size(64))]
pub unsafe fn error_diffuse_raw(image: *const u8, to: *mut u8, width: usize) {
    let handed = shared_array![i32; 64];
    let row = thread::thread_idx_x() as usize;
    let y = thread::index_1d() as usize;
    let image = image.add(y * width);
    let to = to.add(y * width);
    let (mut right, mut a, mut b, mut c) = (0, 0, 0, 0);
    let mut above = 0;
    for step in 0..width + 2 * ROWS {
        let mut complete = 0;
        if step >= 2 * row {
            let x = step - 2 * row;
            complete = a;
            if x < width {
                let value = i32::from(*image.add(x)) + ((right + above) >> 4);
                let pixel = if value > 127 { 255 } else { 0 };
                let error = value - i32::from(pixel);
                *to.add(x) = pixel;
                right = 7 * error;
                complete = a + 3 * error;
                a = b + 5 * error;
                b = c + error;
                c = 0;
            }
        }
        *handed.add(row) = complete;
        thread::sync_threads();
        above = if row > 0 { *handed.add(row - 1) } else { 0 };
        thread::sync_threads();
    }
}

// ---------------------------------------------------------------------------------------------
// spectrum_match

/// The masses of the amino acids, by their letter.
static RESIDUES: [f32; 26] = [
    71.037_11, 0.0, 103.009_19, 115.026_94, 129.042_59, 147.068_41, 57.021_46, 137.058_91,
    113.084_06, 0.0, 128.094_96, 113.084_06, 131.040_49, 114.042_93, 0.0, 97.052_76, 128.058_58,
    156.101_11, 87.032_03, 101.047_68, 0.0, 99.068_41, 186.079_31, 0.0, 163.063_33, 0.0,
];

const TOLERANCE: f32 = 0.02;

/// The masses of the fragments of a peptide: prefixes, then suffixes.
fn fragments(peptide: &[u8; 12]) -> impl Iterator<Item = f32> + '_ {
    let ladder = |mass: &mut f32, residue: &u8| {
        *mass += RESIDUES[usize::from(residue - b'A')];
        Some(*mass)
    };
    let prefixes = peptide[..11].iter().scan(1.007_28, ladder);
    let suffixes = peptide[1..].iter().rev().scan(19.017_84, ladder);
    prefixes.chain(suffixes)
}

/// A candidate and how well it explains a spectrum.
#[derive(Clone, Copy, AnyBits)]
struct Candidate {
    score: f32,
    number: u32,
}

/// Finds the peptide that explains each spectrum best, of 128 candidates.
#[kernel(block_size(128))]
pub fn spectrum_match_safe(
    #[shared] mut masses: Shared<Array<f32, 512>>,
    peaks: &[f32],
    intensities: &[f32],
    starts: &[u32],
    peptides: &[[u8; 12]],
    mut to: PerBlock<[f32; 2]>,
) {
    for mut piece in to.pieces() {
        let number = piece.start();
        let range = starts[number] as usize..starts[number + 1] as usize;
        let (peaks, intensities) = (&peaks[range.clone()], &intensities[range]);
        masses
            .own()
            .each(|i, mass| *mass = peaks.get(i).copied().unwrap_or(f32::INFINITY));
        let best = masses.read(|masses| {
            let masses = &masses[..peaks.len()];
            let number_in_block = thread::index_in_block();
            let peptide = &peptides[number * 128 + number_in_block as usize];
            let score = fragments(peptide)
                .filter_map(|mass| {
                    let place = masses.partition_point(|&peak| peak < mass - TOLERANCE);
                    let peak = masses.get(place)?;
                    (*peak <= mass + TOLERANCE).then(|| intensities[place])
                })
                .sum();
            let own = Candidate {
                score,
                number: number_in_block,
            };
            group::block().reduce(own, |a, b| if b.score > a.score { b } else { a })
        });
        piece.each(|_, to| *to = [best.score, best.number as f32]);
    }
}

/// Returns the intensity of the peak at this mass, or 0.
#[inline(always)]
unsafe fn peak_raw(masses: *const f32, intensities: *const f32, n: usize, mass: f32) -> f32 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = (low + high) / 2;
        if *masses.add(middle) < mass - TOLERANCE {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if low < n && *masses.add(low) <= mass + TOLERANCE {
        *intensities.add(low)
    } else {
        0.0
    }
}

/// As [`spectrum_match_safe`], with pointers.
#[kernel(block_size(128))]
pub unsafe fn spectrum_match_raw(
    peaks: *const f32,
    intensities: *const f32,
    starts: *const u32,
    peptides: *const u8,
    to: *mut [f32; 2],
) {
    let masses = shared_array![f32; 512];
    let slots = shared_array![[f32; 2]; 4];
    let t = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let start = *starts.add(block) as usize;
    let n = *starts.add(block + 1) as usize - start;
    let intensities = intensities.add(start);
    let mut i = t;
    while i < n {
        *masses.add(i) = *peaks.add(start + i);
        i += 128;
    }
    thread::sync_threads();
    let peptide = peptides.add((block * 128 + t) * 12);
    let mut score = 0.0;
    let mut mass = 1.007_28;
    for k in 0..11 {
        mass += RESIDUES[usize::from(*peptide.add(k) - b'A')];
        score += peak_raw(masses, intensities, n, mass);
    }
    mass = 19.017_84;
    let mut k = 11;
    while k > 0 {
        mass += RESIDUES[usize::from(*peptide.add(k) - b'A')];
        score += peak_raw(masses, intensities, n, mass);
        k -= 1;
    }
    let mut number = t as f32;
    let mut distance = 16;
    while distance > 0 {
        let other = warp::shuffle_down(warp::FULL, score, distance);
        let other_number = warp::shuffle_down(warp::FULL, number, distance);
        if other > score {
            score = other;
            number = other_number;
        }
        distance /= 2;
    }
    if thread::lane_id() == 0 {
        *slots.add(t / 32) = [score, number];
    }
    thread::sync_threads();
    if t == 0 {
        for k in 1..4 {
            let [other, other_number] = *slots.add(k);
            if other > score {
                score = other;
                number = other_number;
            }
        }
        *to.add(block) = [score, number];
    }
}

// ---------------------------------------------------------------------------------------------
// compressor_q15

/// A fixed-point number from -1 to 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Q15(i16);

impl Q15 {
    const ZERO: Q15 = Q15(0);

    fn abs(self) -> Q15 {
        Q15(self.0.saturating_abs())
    }
}

impl Add for Q15 {
    type Output = Q15;

    fn add(self, other: Q15) -> Q15 {
        Q15(self.0.saturating_add(other.0))
    }
}

impl Sub for Q15 {
    type Output = Q15;

    fn sub(self, other: Q15) -> Q15 {
        Q15(self.0.saturating_sub(other.0))
    }
}

impl Mul for Q15 {
    type Output = Q15;

    fn mul(self, other: Q15) -> Q15 {
        let product = (i32::from(self.0) * i32::from(other.0) + 0x4000) >> 15;
        Q15(product.clamp(i16::MIN.into(), i16::MAX.into()) as i16)
    }
}

/// The gain for each level, in steps of 1/16.
static GAINS: [i16; 17] = [
    32767, 32767, 32767, 32767, 30000, 27500, 25300, 23400, 21700, 20200, 18900, 17700, 16600,
    15700, 14900, 14200, 13600,
];

/// The gain for a level, interpolated.
fn gain(level: Q15) -> Q15 {
    let level = level.0.max(0) as u16;
    let step = usize::from(level >> 11);
    let part = Q15(((level & 0x7ff) << 4) as i16);
    let [low, high] = [Q15(GAINS[step]), Q15(GAINS[step + 1])];
    low + (high - low) * part
}

/// Follows the level of a signal.
struct Follower {
    level: Q15,
    attack: Q15,
    release: Q15,
}

impl Follower {
    fn follow(&mut self, sample: Q15) -> Q15 {
        let change = sample.abs() - self.level;
        let speed = if change > Q15::ZERO {
            self.attack
        } else {
            self.release
        };
        self.level = self.level + change * speed;
        self.level
    }
}

/// Compresses the loudness of signals of 16-bit samples, one in each column.
#[kernel]
pub fn compressor_q15_safe(
    samples: &[i16],
    attack: i32,
    release: i32,
    mut to: cuda_std::PerColumn<i16>,
) {
    let channels = to.width();
    to.each(|channel, mut column| {
        let [attack, release] = [attack, release].map(|speed| Q15(speed as i16));
        let mut follower = Follower {
            level: Q15::ZERO,
            attack,
            release,
        };
        let samples = samples[channel..].iter().step_by(channels);
        for (to, &sample) in column.iter_mut().zip(samples) {
            let sample = Q15(sample);
            *to = (sample * gain(follower.follow(sample))).0;
        }
    });
}

#[inline(always)]
fn saturated_raw(value: i32) -> i32 {
    value.max(-32768).min(32767)
}

/// As [`compressor_q15_safe`], with pointers.
#[kernel]
pub unsafe fn compressor_q15_raw(
    samples: *const i16,
    attack: i32,
    release: i32,
    to: *mut i16,
    channels: usize,
    count: usize,
) {
    let channel = thread::index_1d() as usize;
    if channel >= channels {
        return;
    }
    let mut level = 0;
    for k in 0..count {
        let sample = i32::from(*samples.add(k * channels + channel));
        let change = saturated_raw(sample.abs().min(32767) - level);
        let speed = if change > 0 { attack } else { release };
        level = saturated_raw(level + saturated_raw((change * speed + 0x4000) >> 15));
        let positive = level.max(0);
        let step = (positive >> 11) as usize;
        let part = (positive & 0x7ff) << 4;
        let low = i32::from(GAINS[step]);
        let high = i32::from(GAINS[step + 1]);
        let gain = saturated_raw(low + (((high - low) * part + 0x4000) >> 15));
        *to.add(k * channels + channel) = saturated_raw((sample * gain + 0x4000) >> 15) as i16;
    }
}

// ---------------------------------------------------------------------------------------------
// timestamps

fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Parses fields that `separator` divides.
fn fields<const N: usize>(text: &str, separator: char) -> Option<[i64; N]> {
    let mut fields = [0; N];
    let mut parts = text.split(separator);
    for field in &mut fields {
        *field = parts.next()?.parse().ok()?;
    }
    parts.next().is_none().then_some(fields)
}

/// Parses a time such as `2026-11-30T11:39:08.25+01:00`. Returns the milliseconds since 1970.
fn parse_timestamp(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let [year, month, day] = fields(date, '-')?;
    let zone = time.find(['Z', '+', '-'])?;
    let (time, zone) = time.split_at(zone);
    let offset = match zone.strip_prefix('Z') {
        Some(rest) => rest.is_empty().then_some(0)?,
        None => {
            let (sign, zone) = zone.split_at(1);
            let [hours, minutes] = fields(zone, ':')?;
            (hours * 60 + minutes) * if sign == "-" { -1 } else { 1 }
        }
    };
    let (time, millis) = match time.split_once('.') {
        Some((time, fraction)) => {
            let scale = *[100, 10, 1].get(fraction.len().checked_sub(1)?)?;
            (time, fraction.parse::<i64>().ok()? * scale)
        }
        None => (time, 0),
    };
    let [hours, minutes, seconds] = fields(time, ':')?;
    let days = days_from_civil(year, month, day)?;
    Some((((days * 24 + hours) * 60 + minutes - offset) * 60 + seconds) * 1000 + millis)
}

/// Parses times. The result for an invalid one is `i64::MIN`.
#[kernel]
pub fn timestamps_safe(text: &[u8], starts: &[u32], mut to: PerThread<i64>) {
    for (i, to) in to.own() {
        let text = &text[starts[i] as usize..starts[i + 1] as usize];
        let time = core::str::from_utf8(text).ok().and_then(parse_timestamp);
        *to = time.unwrap_or(i64::MIN);
    }
}

/// Parses digits up to another character.
#[inline(always)]
unsafe fn number_raw(text: *const u8, at: &mut usize, end: usize, valid: &mut bool) -> i64 {
    let start = *at;
    let mut value = 0;
    while *at < end {
        let digit = (*text.add(*at)).wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value * 10 + i64::from(digit);
        *at += 1;
    }
    if *at == start {
        *valid = false;
    }
    value
}

#[inline(always)]
unsafe fn expect_raw(text: *const u8, at: &mut usize, end: usize, valid: &mut bool, c: u8) {
    if *at >= end || *text.add(*at) != c {
        *valid = false;
    }
    *at += 1;
}

/// As [`timestamps_safe`], with pointers.
#[kernel]
pub unsafe fn timestamps_raw(text: *const u8, starts: *const u32, to: *mut i64, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let mut at = *starts.add(i) as usize;
    let end = *starts.add(i + 1) as usize;
    let mut valid = true;
    let mut year = number_raw(text, &mut at, end, &mut valid);
    expect_raw(text, &mut at, end, &mut valid, b'-');
    let month = number_raw(text, &mut at, end, &mut valid);
    expect_raw(text, &mut at, end, &mut valid, b'-');
    let day = number_raw(text, &mut at, end, &mut valid);
    expect_raw(text, &mut at, end, &mut valid, b'T');
    let hours = number_raw(text, &mut at, end, &mut valid);
    expect_raw(text, &mut at, end, &mut valid, b':');
    let minutes = number_raw(text, &mut at, end, &mut valid);
    expect_raw(text, &mut at, end, &mut valid, b':');
    let seconds = number_raw(text, &mut at, end, &mut valid);
    let mut millis = 0;
    if at < end && *text.add(at) == b'.' {
        at += 1;
        let start = at;
        millis = number_raw(text, &mut at, end, &mut valid);
        match at - start {
            1 => millis *= 100,
            2 => millis *= 10,
            3 => {}
            _ => valid = false,
        }
    }
    let mut offset = 0;
    if at < end && (*text.add(at) == b'+' || *text.add(at) == b'-') {
        let negative = *text.add(at) == b'-';
        at += 1;
        offset = 60 * number_raw(text, &mut at, end, &mut valid);
        expect_raw(text, &mut at, end, &mut valid, b':');
        offset += number_raw(text, &mut at, end, &mut valid);
        if negative {
            offset = -offset;
        }
    } else {
        expect_raw(text, &mut at, end, &mut valid, b'Z');
    }
    if !valid || at != end || month < 1 || month > 12 || day < 1 || day > 31 {
        *to.add(i) = i64::MIN;
        return;
    }
    if month <= 2 {
        year -= 1;
    }
    let era = year / 400;
    let of_era = year % 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    *to.add(i) = (((days * 24 + hours) * 60 + minutes - offset) * 60 + seconds) * 1000 + millis;
}

// ---------------------------------------------------------------------------------------------
// biweight

/// The median of an odd number of values.
fn median<const N: usize>(mut values: [f32; N]) -> f32 {
    values.sort_unstable_by(f32::total_cmp);
    values[N / 2]
}

/// Tukey's biweight mean of values: those far from the median do not count.
fn biweight<const N: usize>(values: [f32; N]) -> f32 {
    let center = median(values);
    let deviation = median(values.map(|x| (x - center).abs())).max(1e-6);
    let (mut sum, mut weights) = (0.0, 0.0);
    for x in values {
        let distance = (x - center) / (6.0 * deviation);
        if distance.abs() >= 1.0 {
            continue;
        }
        let weight = (1.0 - distance * distance) * (1.0 - distance * distance);
        sum += weight * x;
        weights += weight;
    }
    sum / weights
}

/// Smooths a signal robustly: the biweight mean of 15 samples around each one.
#[kernel]
pub fn biweight_safe(signal: &[f32], mut to: PerThread<f32>) {
    to.each(|i, to| {
        if let Some(window) = signal[i..].first_chunk::<15>() {
            *to = biweight(*window);
        }
    });
}

#[inline(always)]
unsafe fn sort_raw(values: *mut f32) {
    for i in 1..15 {
        let x = *values.add(i);
        let mut k = i;
        while k > 0 && *values.add(k - 1) > x {
            *values.add(k) = *values.add(k - 1);
            k -= 1;
        }
        *values.add(k) = x;
    }
}

/// As [`biweight_safe`], with pointers.
#[kernel]
pub unsafe fn biweight_raw(signal: *const f32, to: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let window = signal.add(i);
    let mut sorted = [0.0f32; 15];
    let sorted = sorted.as_mut_ptr();
    for k in 0..15 {
        *sorted.add(k) = *window.add(k);
    }
    sort_raw(sorted);
    let center = *sorted.add(7);
    for k in 0..15 {
        *sorted.add(k) = (*window.add(k) - center).abs();
    }
    sort_raw(sorted);
    let deviation = (*sorted.add(7)).max(1e-6);
    let mut sum = 0.0;
    let mut weights = 0.0;
    for k in 0..15 {
        let x = *window.add(k);
        let distance = (x - center) / (6.0 * deviation);
        if distance.abs() < 1.0 {
            let weight = (1.0 - distance * distance) * (1.0 - distance * distance);
            sum += weight * x;
            weights += weight;
        }
    }
    *to.add(i) = sum / weights;
}

// ---------------------------------------------------------------------------------------------
// circle_fit

/// Sums over points, relative to an origin.
#[derive(Clone, Copy, Default, AnyBits)]
struct Moments {
    x: f32,
    y: f32,
    xx: f32,
    xy: f32,
    yy: f32,
    xz: f32,
    yz: f32,
    z: f32,
}

impl Moments {
    fn of([x, y]: [f32; 2]) -> Moments {
        let z = x * x + y * y;
        Moments {
            x,
            y,
            xx: x * x,
            xy: x * y,
            yy: y * y,
            xz: x * z,
            yz: y * z,
            z,
        }
    }
}

impl Add for Moments {
    type Output = Moments;

    fn add(self, other: Moments) -> Moments {
        Moments {
            x: self.x + other.x,
            y: self.y + other.y,
            xx: self.xx + other.xx,
            xy: self.xy + other.xy,
            yy: self.yy + other.yy,
            xz: self.xz + other.xz,
            yz: self.yz + other.yz,
            z: self.z + other.z,
        }
    }
}

impl core::iter::Sum for Moments {
    fn sum<I: Iterator<Item = Moments>>(items: I) -> Moments {
        items.fold(Moments::default(), Add::add)
    }
}

/// The circle that fits best by Kåsa's method: center, relative to the origin, and radius.
fn fit(m: Moments, n: f32) -> Option<[f32; 3]> {
    let [xx, xy, yy] = [
        m.xx - m.x * m.x / n,
        m.xy - m.x * m.y / n,
        m.yy - m.y * m.y / n,
    ];
    let [xz, yz] = [m.xz - m.x * m.z / n, m.yz - m.y * m.z / n];
    let determinant = xx * yy - xy * xy;
    if determinant.abs() < 1e-9 {
        return None;
    }
    let x = 0.5 * (xz * yy - yz * xy) / determinant;
    let y = 0.5 * (yz * xx - xz * xy) / determinant;
    let square = (m.z - 2.0 * (x * m.x + y * m.y)) / n + x * x + y * y;
    Some([x, y, square.max(0.0).sqrt()])
}

/// Fits circles to arcs of 64 points. Eight lanes share an arc.
#[kernel(block_size(256))]
pub fn circle_fit_safe(points: &[[f32; 2]], mut to: PerWarp<[f32; 3], 4>) {
    let tile = group::tile::<8>();
    let warp = group::warp();
    for mut piece in to.pieces() {
        let number = piece.start() + tile.number() as usize % 4;
        let arc = points.chunks_exact(64).nth(number).unwrap_or(&[]);
        let origin = arc.first().copied().unwrap_or_default();
        let mine = arc.iter().skip(tile.rank() as usize).step_by(8);
        let own: Moments = mine
            .map(|[x, y]| Moments::of([x - origin[0], y - origin[1]]))
            .sum();
        let moments = tile.reduce(own, Add::add);
        let [x, y, radius] = fit(moments, 64.0).unwrap_or([f32::INFINITY; 3]);
        let circle = [origin[0] + x, origin[1] + y, radius];
        let circle = warp.shuffle(circle, 8 * (warp.rank() % 4));
        piece.each(|_, to| *to = circle);
    }
}

/// As [`circle_fit_safe`], with pointers.
#[kernel(block_size(256))]
pub unsafe fn circle_fit_raw(points: *const [f32; 2], to: *mut [f32; 3], n: usize) {
    let number = thread::index_1d() as usize / 8;
    let lane = thread::index_1d() as usize % 8;
    let mut sums = [0.0f32; 8];
    let mut origin = [0.0, 0.0];
    if number < n {
        let arc = points.add(number * 64);
        origin = *arc;
        let mut k = lane;
        while k < 64 {
            let [x, y] = *arc.add(k);
            let (x, y) = (x - origin[0], y - origin[1]);
            let z = x * x + y * y;
            let terms = [x, y, x * x, x * y, y * y, x * z, y * z, z];
            for q in 0..8 {
                sums[q] += terms[q];
            }
            k += 8;
        }
    }
    for q in 0..8 {
        let mut distance = 4;
        while distance > 0 {
            sums[q] += warp::shuffle_xor(warp::FULL, sums[q], distance);
            distance /= 2;
        }
    }
    if number >= n || lane > 0 {
        return;
    }
    let [sx, sy, sxx, sxy, syy, sxz, syz, sz] = sums;
    let (xx, xy, yy) = (
        sxx - sx * sx / 64.0,
        sxy - sx * sy / 64.0,
        syy - sy * sy / 64.0,
    );
    let (xz, yz) = (sxz - sx * sz / 64.0, syz - sy * sz / 64.0);
    let determinant = xx * yy - xy * xy;
    let mut circle = [f32::INFINITY; 3];
    if determinant.abs() >= 1e-9 {
        let x = 0.5 * (xz * yy - yz * xy) / determinant;
        let y = 0.5 * (yz * xx - xz * xy) / determinant;
        let square = (sz - 2.0 * (x * sx + y * sy)) / 64.0 + x * x + y * y;
        circle = [origin[0] + x, origin[1] + y, square.max(0.0).sqrt()];
    }
    *to.add(number) = circle;
}
