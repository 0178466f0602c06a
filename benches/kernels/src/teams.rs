//! Threads that work together: shared memory, warps, scans, atomics and queues, written by a
//! programmer who knew the documentation of `cuda_std` and nothing of the compiler.

// The kernels are as their authors wrote them.
#![allow(
    clippy::chunks_exact_to_as_chunks,
    clippy::manual_clamp,
    clippy::type_complexity
)]

use core::array;
use core::iter;
use core::ops::{Add, AddAssign, Mul, Sub};
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::half::{F16, F16x2};
use cuda_std::intrinsics::float::mul_rn_f32;
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Shared, Tile};
use cuda_std::unroll::unroll;
use cuda_std::vector::F32x4;
use cuda_std::{AnyBits, MatrixView, PerBlock, PerThread3d, PerTile, PerWarp, Window, group};
use cust_core::DeviceCopy;

// ---- Walsh-Hadamard transform ----

/// Elements of a row that is transformed.
const WALSH: usize = 1024;

/// Replaces `x` by the sum or the difference of it and its partner.
fn butterfly(x: f32, partner: f32, is_upper: bool) -> f32 {
    if is_upper { partner - x } else { x + partner }
}

/// The Walsh-Hadamard transform of rows of 1024 elements: four elements in each thread.
#[kernel(block_size(256))]
pub fn walsh_hadamard_safe(
    #[shared] mut tile: Shared<Array<f32, WALSH>>,
    from: &[f32],
    mut to: PerBlock<f32, WALSH>,
) {
    let thread = thread::index_in_block() as usize;
    for mut row in to.pieces() {
        let start = row.start();
        let input = &from[start..][..WALSH];
        let [a, b, c, d] = array::from_fn(|k| input[256 * k + thread]);
        let (a, b, c, d) = (a + b, a - b, c + d, c - d);
        let mut x = [a + c, b + d, a - c, b - d];
        for bit in 0..5 {
            let distance = 1 << bit;
            let is_upper = thread & distance != 0;
            x = x.map(|x| {
                let partner = warp::shuffle_xor(warp::FULL, x, distance as u32);
                butterfly(x, partner, is_upper)
            });
        }
        for distance in [32, 64, 128] {
            tile.own().each(|i, element| *element = x[i / 256]);
            x = tile.read(|all| {
                array::from_fn(|k| {
                    let i = 256 * k + thread;
                    butterfly(x[k], all[i ^ distance], i & distance != 0)
                })
            });
        }
        row.each(|i, to| *to = x[(i - start) / 256] / 32.0);
    }
}

/// The Walsh-Hadamard transform of rows of 1024 elements: four elements in each thread.
#[kernel(block_size(256))]
pub unsafe fn walsh_hadamard_raw(from: *const f32, to: *mut f32) {
    let tile = shared_array![f32; WALSH];
    let thread = thread::thread_idx_x();
    let start = thread::block_idx_x() as usize * WALSH;
    let mut x = [0.0f32; 4];
    for k in 0..4 {
        x[k] = *from.add(start + 256 * k + thread as usize);
    }
    for distance in [1, 2] {
        for k in 0..4 {
            if k & distance == 0 {
                let (a, b) = (x[k], x[k | distance]);
                x[k] = a + b;
                x[k | distance] = a - b;
            }
        }
    }
    let mut distance = 1;
    while distance < 32 {
        for k in 0..4 {
            let partner = warp::shuffle_xor(warp::FULL, x[k], distance);
            x[k] = if thread & distance != 0 {
                partner - x[k]
            } else {
                x[k] + partner
            };
        }
        distance *= 2;
    }
    while distance < 256 {
        for k in 0..4 {
            *tile.add(256 * k + thread as usize) = x[k];
        }
        thread::sync_threads();
        for k in 0..4 {
            let partner = *tile.add(256 * k + (thread ^ distance) as usize);
            x[k] = if thread & distance != 0 {
                partner - x[k]
            } else {
                x[k] + partner
            };
        }
        thread::sync_threads();
        distance *= 2;
    }
    for k in 0..4 {
        *to.add(start + 256 * k + thread as usize) = x[k] * (1.0 / 32.0);
    }
}

// ---- LAMB optimizer ----

/// The parameters of the LAMB optimizer.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Lamb {
    /// The learning rate.
    pub rate: f32,
    /// The decay of the first moment.
    pub beta1: f32,
    /// The decay of the second moment.
    pub beta2: f32,
    /// The term that avoids a division by zero.
    pub epsilon: f32,
    /// The weight decay.
    pub decay: f32,
    /// `1 / (1 - beta1^t)`
    pub correction1: f32,
    /// `1 / (1 - beta2^t)`
    pub correction2: f32,
}

impl Lamb {
    /// Returns the direction of the update, before it is scaled, and the new moments.
    #[inline]
    fn direction(&self, weight: f32, gradient: f32, m: f32, v: f32) -> (f32, f32, f32) {
        let m = self.beta1 * m + (1.0 - self.beta1) * gradient;
        let v = self.beta2 * v + (1.0 - self.beta2) * gradient * gradient;
        let step = m * self.correction1 / ((v * self.correction2).sqrt() + self.epsilon);
        (step + self.decay * weight, m, v)
    }
}

/// Squared norms of a row.
#[derive(Clone, Copy, AnyBits)]
struct Norms {
    weights: f32,
    update: f32,
}

/// A step of LAMB for rows of 1024 weights, each with its own trust ratio: a block for each row.
#[kernel(block_size(256))]
pub fn lamb_rows_safe(
    lamb: Lamb,
    weights: &[F32x4],
    gradients: &[F32x4],
    first: &[F32x4],
    second: &[F32x4],
    mut weights_to: PerThread<F32x4>,
    mut first_to: PerThread<F32x4>,
    mut second_to: PerThread<F32x4>,
) {
    let (Some((i, weight_to)), Some((_, m_to)), Some((_, v_to))) =
        (weights_to.first(), first_to.first(), second_to.first())
    else {
        return;
    };
    let (weight, gradient, m, v) = (weights[i], gradients[i], first[i], second[i]);
    let mut update = F32x4::splat(0.0);
    let (mut new_m, mut new_v) = (m, v);
    for k in 0..4 {
        (update[k], new_m[k], new_v[k]) = lamb.direction(weight[k], gradient[k], m[k], v[k]);
    }
    *m_to = new_m;
    *v_to = new_v;
    let own = Norms {
        weights: weight.iter().map(|x| x * x).sum(),
        update: update.iter().map(|x| x * x).sum(),
    };
    let norms = group::block().reduce(own, |a, b| Norms {
        weights: a.weights + b.weights,
        update: a.update + b.update,
    });
    let ratio = match norms {
        Norms { weights, update } if weights > 0.0 && update > 0.0 => (weights / update).sqrt(),
        _ => 1.0,
    };
    *weight_to = weight - update * (lamb.rate * ratio);
}

/// A step of LAMB for rows of 1024 weights, each with its own trust ratio: a block for each row.
#[kernel(block_size(256))]
pub unsafe fn lamb_rows_raw(
    lamb: Lamb,
    weights: *const F32x4,
    gradients: *const F32x4,
    first: *const F32x4,
    second: *const F32x4,
    weights_to: *mut F32x4,
    first_to: *mut F32x4,
    second_to: *mut F32x4,
) {
    let partial = shared_array![f32; 16];
    let i = thread::index_1d() as usize;
    let weight = *weights.add(i);
    let gradient = *gradients.add(i);
    let mut m = *first.add(i);
    let mut v = *second.add(i);
    let mut update = F32x4::splat(0.0);
    let mut weight_norm = 0.0;
    let mut update_norm = 0.0;
    for k in 0..4 {
        m[k] = lamb.beta1 * m[k] + (1.0 - lamb.beta1) * gradient[k];
        v[k] = lamb.beta2 * v[k] + (1.0 - lamb.beta2) * gradient[k] * gradient[k];
        let step = m[k] * lamb.correction1 / ((v[k] * lamb.correction2).sqrt() + lamb.epsilon);
        update[k] = step + lamb.decay * weight[k];
        weight_norm += weight[k] * weight[k];
        update_norm += update[k] * update[k];
    }
    *first_to.add(i) = m;
    *second_to.add(i) = v;
    let mut distance = 16;
    while distance > 0 {
        weight_norm += warp::shuffle_xor(warp::FULL, weight_norm, distance);
        update_norm += warp::shuffle_xor(warp::FULL, update_norm, distance);
        distance /= 2;
    }
    let warp = thread::thread_idx_x() as usize / 32;
    if thread::lane_id() == 0 {
        *partial.add(warp) = weight_norm;
        *partial.add(8 + warp) = update_norm;
    }
    thread::sync_threads();
    weight_norm = 0.0;
    update_norm = 0.0;
    for k in 0..8 {
        weight_norm += *partial.add(k);
        update_norm += *partial.add(8 + k);
    }
    let ratio = if weight_norm > 0.0 && update_norm > 0.0 {
        (weight_norm / update_norm).sqrt()
    } else {
        1.0
    };
    let mut result = weight;
    for k in 0..4 {
        result[k] = weight[k] - lamb.rate * ratio * update[k];
    }
    *weights_to.add(i) = result;
}

// ---- Quantization to 4 bits, in groups ----

/// The smallest and the largest of some numbers.
#[derive(Clone, Copy, AnyBits)]
struct Range {
    min: f32,
    max: f32,
}

impl Range {
    fn of(values: &[f32]) -> Range {
        let empty = Range {
            min: f32::INFINITY,
            max: f32::NEG_INFINITY,
        };
        values
            .iter()
            .fold(empty, |range, &x| range.union(Range { min: x, max: x }))
    }

    fn union(self, other: Range) -> Range {
        Range {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// An affine map to integers from 0 to 15.
struct Quantizer {
    scale: f32,
    zero: f32,
}

impl Quantizer {
    fn new(range: Range) -> Quantizer {
        // The range includes 0.
        let min = range.min.min(0.0);
        let max = range.max.max(0.0);
        let scale = ((max - min) / 15.0).max(1e-8);
        Quantizer {
            scale,
            zero: (-min / scale).round_ties_even(),
        }
    }

    fn quantize(&self, x: f32) -> u16 {
        ((x / self.scale).round_ties_even() + self.zero).clamp(0.0, 15.0) as u16
    }
}

/// Quantizes groups of 128 numbers to 4 bits, with a scale and a zero point: a warp for each group.
#[kernel(block_size(256))]
pub fn pack_int4_safe(
    from: &[F32x4],
    mut to: PerThread<u16>,
    mut scales: PerWarp<F16>,
    mut zeros: PerWarp<u8>,
) {
    let i = thread::index() as usize;
    let Some(&x) = from.get(i) else { return };
    let range = group::warp().reduce(Range::of(&*x), Range::union);
    let quantizer = Quantizer::new(range);
    to.each(|_, to| {
        *to = x
            .iter()
            .rev()
            .fold(0, |packed, &x| packed << 4 | quantizer.quantize(x));
    });
    scales.each(|_, to| *to = F16::from_f32(quantizer.scale));
    zeros.each(|_, to| *to = quantizer.zero as u8);
}

/// Quantizes groups of 128 numbers to 4 bits, with a scale and a zero point: a warp for each group.
#[kernel(block_size(256))]
pub unsafe fn pack_int4_raw(
    from: *const F32x4,
    to: *mut u16,
    scales: *mut F16,
    zeros: *mut u8,
    n: i32,
) {
    let i = thread::index_1d() as i32;
    if i >= n {
        return;
    }
    let x = *from.add(i as usize);
    let mut min = x[0].min(x[1]).min(x[2].min(x[3]));
    let mut max = x[0].max(x[1]).max(x[2].max(x[3]));
    let mut distance = 16;
    while distance > 0 {
        min = min.min(warp::shuffle_xor(warp::FULL, min, distance));
        max = max.max(warp::shuffle_xor(warp::FULL, max, distance));
        distance /= 2;
    }
    min = min.min(0.0);
    max = max.max(0.0);
    let scale = ((max - min) / 15.0).max(1e-8);
    let zero = (-min / scale).round_ties_even();
    let mut packed = 0;
    for k in 0..4 {
        let q = ((x[k] / scale).round_ties_even() + zero).max(0.0).min(15.0) as u32;
        packed |= q << (4 * k);
    }
    *to.add(i as usize) = packed as u16;
    if thread::lane_id() == 0 {
        *scales.add(i as usize / 32) = F16::from_f32(scale);
        *zeros.add(i as usize / 32) = zero as u8;
    }
}

// ---- Bit planes ----

/// One step of the transpose of a matrix of 32 x 32 bits, a row in each lane.
fn exchange_bits(x: u32, lane: u32, (mask, distance): (u32, u32)) -> u32 {
    let y = warp::shuffle_xor(warp::FULL, x, distance);
    if lane & distance == 0 {
        x & mask | (y & mask) << distance
    } else {
        x & !mask | (y & !mask) >> distance
    }
}

/// Splits blocks of 256 words into 32 planes of bits, each of 8 words.
#[kernel(block_size(256))]
pub fn bit_planes_safe(
    #[shared] mut tile: Shared<Array<u32, 256>>,
    from: &[u32],
    mut to: PerBlock<u32, 256>,
) {
    const STEPS: [(u32, u32); 5] = [
        (0x0000_ffff, 16),
        (0x00ff_00ff, 8),
        (0x0f0f_0f0f, 4),
        (0x3333_3333, 2),
        (0x5555_5555, 1),
    ];
    for mut block in to.pieces() {
        let start = block.start();
        let lane = thread::lane_id();
        tile.own().each(|i, element| {
            let word = from.get(start + i).copied().unwrap_or_default();
            *element = STEPS
                .iter()
                .fold(word, |word, &step| exchange_bits(word, lane, step));
        });
        tile.read(|tile| {
            block.each(|i, to| {
                let (plane, word) = ((i - start) / 8, (i - start) % 8);
                *to = tile[32 * word + plane];
            });
        });
    }
}

/// Splits blocks of 256 words into 32 planes of bits, each of 8 words.
#[kernel(block_size(256))]
pub unsafe fn bit_planes_raw(from: *const u32, to: *mut u32) {
    let tile = shared_array![u32; 256];
    let i = thread::index_1d() as usize;
    let thread = thread::thread_idx_x();
    let lane = thread % 32;
    let mut x = *from.add(i);
    let mut mask = 0x0000_ffff;
    let mut distance = 16;
    while distance > 0 {
        let y = warp::shuffle_xor(warp::FULL, x, distance);
        x = if lane & distance == 0 {
            (x & mask) | ((y & mask) << distance)
        } else {
            (x & !mask) | ((y & !mask) >> distance)
        };
        distance /= 2;
        mask ^= mask << distance;
    }
    *tile.add(thread as usize) = x;
    thread::sync_threads();
    *to.add(i) = *tile.add((thread % 8 * 32 + thread / 8) as usize);
}

// ---- Selection by digits ----

/// Elements of a row of which one is selected.
const SELECT: usize = 4096;

/// A number as an integer with the same order.
#[derive(Clone, Copy)]
struct Ordered(u32);

impl From<f32> for Ordered {
    fn from(x: f32) -> Ordered {
        let bits = x.to_bits();
        Ordered(if bits >> 31 == 1 {
            !bits
        } else {
            bits | 1 << 31
        })
    }
}

impl From<Ordered> for f32 {
    fn from(Ordered(bits): Ordered) -> f32 {
        f32::from_bits(if bits >> 31 == 1 {
            bits & !(1 << 31)
        } else {
            !bits
        })
    }
}

impl Ordered {
    fn digit(self, shift: u32) -> usize {
        (self.0 >> shift & 0xff) as usize
    }
}

/// The `k`-th largest element of each row of 4096, by a radix select in a block.
#[kernel(block_size(256))]
pub fn kth_largest_safe(
    #[shared] mut shared: Shared<(Array<Atomic<u32, Block>, 256>, Array<Atomic<u32, Block>, 2>)>,
    from: &[f32],
    k: u32,
    mut to: PerBlock<f32>,
) {
    let thread = thread::index_in_block() as usize;
    for mut piece in to.pieces() {
        let row = &from[piece.start() * SELECT..][..SELECT];
        let keys: [Ordered; SELECT / 256] = array::from_fn(|i| row[256 * i + thread].into());
        let mut prefix = 0;
        let mut known = 0;
        let mut rest = k;
        for shift in [24, 16, 8, 0] {
            shared.own().0.each(|_, bin| *bin.get_mut() = 0);
            shared.read(|(bins, found)| {
                for key in keys.iter().filter(|key| key.0 & known == prefix) {
                    bins[key.digit(shift)].fetch_add(1, Relaxed);
                }
                thread::sync_threads();
                // The bins in descending order.
                let digit = 255 - thread;
                let count = bins[digit].load(Relaxed);
                let above = group::block().exclusive_scan(count, 0, |a, b| a + b);
                if above < rest && rest <= above + count {
                    found[0].store(digit as u32, Relaxed);
                    found[1].store(rest - above, Relaxed);
                }
                thread::sync_threads();
                prefix |= found[0].load(Relaxed) << shift;
                rest = found[1].load(Relaxed);
            });
            known |= 0xff << shift;
        }
        piece.each(|_, to| *to = Ordered(prefix).into());
    }
}

/// Returns the sum of the values of all lower threads of a block of 256.
unsafe fn exclusive_sum_256(value: u32) -> u32 {
    let sums = shared_array![u32; 8];
    let lane = thread::lane_id();
    let warp = thread::thread_idx_x() / 32;
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
        *sums.add(warp as usize) = sum;
    }
    thread::sync_threads();
    let mut before = 0;
    for k in 0..8 {
        if k < warp {
            before += *sums.add(k as usize);
        }
    }
    before + sum - value
}

/// The `k`-th largest element of each row of 4096, by a radix select in a block.
#[kernel(block_size(256))]
pub unsafe fn kth_largest_raw(from: *const f32, k: u32, to: *mut f32) {
    let bins = shared_array![u32; 256];
    let found = shared_array![u32; 2];
    let thread = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let mut keys = [0u32; 16];
    for i in 0..16 {
        let bits = (*from.add(block * SELECT + 256 * i + thread)).to_bits();
        keys[i] = if bits >> 31 != 0 {
            !bits
        } else {
            bits | 0x8000_0000
        };
    }
    let mut prefix = 0;
    let mut known = 0;
    let mut rest = k;
    let mut shift = 24i32;
    while shift >= 0 {
        *bins.add(thread) = 0;
        thread::sync_threads();
        for i in 0..16 {
            if keys[i] & known == prefix {
                let bin = bins.add((keys[i] >> shift & 255) as usize);
                Atomic::<u32, Block>::from_ptr(bin).fetch_add(1, Relaxed);
            }
        }
        thread::sync_threads();
        let digit = 255 - thread;
        let count = *bins.add(digit);
        let above = exclusive_sum_256(count);
        if above < rest && rest <= above + count {
            *found = digit as u32;
            *found.add(1) = rest - above;
        }
        thread::sync_threads();
        prefix |= *found << shift;
        rest = *found.add(1);
        known |= 255 << shift;
        shift -= 8;
    }
    if thread == 0 {
        let bits = if prefix >> 31 != 0 {
            prefix & 0x7fff_ffff
        } else {
            !prefix
        };
        *to.add(block) = f32::from_bits(bits);
    }
}

// ---- Star join ----

/// Slots of the hash table of a join.
const SLOTS: usize = 2048;
/// Groups of the result of a join.
const GROUPS: usize = 64;
/// The value of an empty slot.
const EMPTY: u64 = u64::MAX;

/// Returns the slots in which a key may be, in the order of the search.
fn probes(key: u32) -> impl Iterator<Item = usize> {
    let start = (key.wrapping_mul(0x9e37_79b1) >> 21) as usize;
    (0..SLOTS).map(move |k| (start + k) % SLOTS)
}

/// A hash table in shared memory: the key in the upper half of a slot, the value in the lower one.
#[derive(Clone, Copy)]
struct Dimension<'a> {
    slots: &'a [Atomic<u64, Block>; SLOTS],
}

impl Dimension<'_> {
    fn insert(self, key: u32, value: u32) {
        let entry = u64::from(key) << 32 | u64::from(value);
        for slot in probes(key) {
            if self.slots[slot]
                .compare_exchange(EMPTY, entry, Relaxed, Relaxed)
                .is_ok()
            {
                return;
            }
        }
    }

    fn find(self, key: u32) -> Option<u32> {
        probes(key)
            .map(|slot| self.slots[slot].load(Relaxed))
            .take_while(|&entry| entry != EMPTY)
            .find(|entry| (entry >> 32) as u32 == key)
            .map(|entry| entry as u32)
    }
}

/// Joins facts with a dimension table and sums the amounts of each group. A block has the
/// dimension's hash table and the sums in shared memory.
#[kernel(block_size(256))]
pub fn star_join_safe(
    #[shared] mut shared: Shared<(
        Array<Atomic<u64, Block>, SLOTS>,
        Array<Atomic<u64, Block>, GROUPS>,
    )>,
    keys: &[u32],
    groups: &[u8],
    fact_keys: &[u32],
    amounts: &[u32],
    totals: &[Atomic<u64, Device>],
) {
    let (slots, sums) = shared.own();
    slots.each(|_, slot| *slot.get_mut() = EMPTY);
    sums.each(|_, sum| *sum.get_mut() = 0);
    shared.read(|(slots, sums)| {
        let dimension = Dimension { slots };
        for i in thread::block_stride(keys.len()) {
            dimension.insert(keys[i], groups[i].into());
        }
        thread::sync_threads();
        for (i, &key) in thread::elements(fact_keys) {
            if let Some(group) = dimension.find(key) {
                sums[group as usize].fetch_add(amounts[i].into(), Relaxed);
            }
        }
    });
    shared.own().1.each(|i, sum| {
        totals[i].fetch_add(*sum.get_mut(), Relaxed);
    });
}

/// Joins facts with a dimension table and sums the amounts of each group. A block has the
/// dimension's hash table and the sums in shared memory.
#[kernel(block_size(256))]
pub unsafe fn star_join_raw(
    keys: *const u32,
    groups: *const u8,
    dimensions: i32,
    fact_keys: *const u32,
    amounts: *const u32,
    facts: i32,
    totals: *mut u64,
) {
    let slots = shared_array![u64; SLOTS];
    let sums = shared_array![u64; GROUPS];
    let thread = thread::thread_idx_x() as usize;
    for i in (thread..SLOTS).step_by(256) {
        *slots.add(i) = EMPTY;
    }
    if thread < GROUPS {
        *sums.add(thread) = 0;
    }
    thread::sync_threads();
    let mut i = thread;
    while i < dimensions as usize {
        let key = *keys.add(i);
        let entry = u64::from(key) << 32 | u64::from(*groups.add(i));
        let mut slot = (key.wrapping_mul(0x9e37_79b1) >> 21) as usize;
        loop {
            let atomic = Atomic::<u64, Block>::from_ptr(slots.add(slot));
            if atomic
                .compare_exchange(EMPTY, entry, Relaxed, Relaxed)
                .is_ok()
            {
                break;
            }
            slot = (slot + 1) % SLOTS;
        }
        i += 256;
    }
    thread::sync_threads();
    let mut i = thread::index_1d() as i32;
    let stride = thread::grid_size_1d() as i32;
    while i < facts {
        let key = *fact_keys.add(i as usize);
        let mut slot = (key.wrapping_mul(0x9e37_79b1) >> 21) as usize;
        loop {
            let entry = *slots.add(slot);
            if entry == EMPTY {
                break;
            }
            if (entry >> 32) as u32 == key {
                let sum = Atomic::<u64, Block>::from_ptr(sums.add(entry as u32 as usize));
                sum.fetch_add(u64::from(*amounts.add(i as usize)), Relaxed);
                break;
            }
            slot = (slot + 1) % SLOTS;
        }
        i += stride;
    }
    thread::sync_threads();
    if thread < GROUPS {
        let total = Atomic::<u64, Device>::from_ptr(totals.add(thread));
        total.fetch_add(*sums.add(thread), Relaxed);
    }
}

// ---- Wiener filter ----

/// An adaptive filter that smooths where the variance of 5 x 5 pixels is near that of the noise.
#[kernel(block_size(32, 8))]
pub fn wiener5_safe(
    #[shared] mut shared: Shared<Tile<f32, 36, 12>>,
    noise: f32,
    from: &[f32],
    mut to: PerTile<f32, 32, 8>,
) {
    let (width, height) = (to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        shared.own().each(|(x, y), pixel| {
            let x = (x0 + x).saturating_sub(2).min(width - 1);
            let y = (y0 + y).saturating_sub(2).min(height - 1);
            *pixel = from[y * width + x];
        });
        shared.read(|rows| {
            tile.each(|(x, y), to| {
                let window = rows
                    .window::<5>(y)
                    .iter()
                    .flat_map(|row| row.window::<5>(x));
                let (sum, squares) = window.fold((0.0, 0.0), |(sum, squares), pixel| {
                    (sum + pixel, squares + pixel * pixel)
                });
                let mean = sum / 25.0;
                let variance = squares / 25.0 - mean * mean;
                let gain = (variance - noise).max(0.0) / variance.max(noise);
                *to = mean + gain * (rows[y + 2][x + 2] - mean);
            });
        });
    }
}

/// An adaptive filter that smooths where the variance of 5 x 5 pixels is near that of the noise.
#[kernel(block_size(32, 8))]
pub unsafe fn wiener5_raw(noise: f32, from: *const f32, to: *mut f32, width: i32, height: i32) {
    let tile = shared_array![f32; 36 * 12];
    let (tx, ty) = (thread::thread_idx_x() as i32, thread::thread_idx_y() as i32);
    let x0 = thread::block_idx_x() as i32 * 32;
    let y0 = thread::block_idx_y() as i32 * 8;
    let mut y = ty;
    while y < 12 {
        let mut x = tx;
        while x < 36 {
            let from_x = (x0 + x - 2).max(0).min(width - 1);
            let from_y = (y0 + y - 2).max(0).min(height - 1);
            *tile.add((y * 36 + x) as usize) = *from.add((from_y * width + from_x) as usize);
            x += 32;
        }
        y += 8;
    }
    thread::sync_threads();
    if x0 + tx >= width || y0 + ty >= height {
        return;
    }
    let mut sum = 0.0;
    let mut squares = 0.0;
    for dy in 0..5 {
        for dx in 0..5 {
            let pixel = *tile.add(((ty + dy) * 36 + tx + dx) as usize);
            sum += pixel;
            squares += pixel * pixel;
        }
    }
    let mean = sum / 25.0;
    let variance = squares / 25.0 - mean * mean;
    let gain = (variance - noise).max(0.0) / variance.max(noise);
    let center = *tile.add(((ty + 2) * 36 + tx + 2) as usize);
    *to.add(((y0 + ty) * width + x0 + tx) as usize) = mean + gain * (center - mean);
}

// ---- Shallow water ----

/// The state of a cell of shallow water: height and momentum.
#[derive(Clone, Copy, Debug, AnyBits, DeviceCopy)]
#[repr(C)]
pub struct Water {
    /// The height.
    pub h: f32,
    /// The momentum along x.
    pub hu: f32,
    /// The momentum along y.
    pub hv: f32,
}

impl Add for Water {
    type Output = Water;
    fn add(self, b: Water) -> Water {
        Water {
            h: self.h + b.h,
            hu: self.hu + b.hu,
            hv: self.hv + b.hv,
        }
    }
}

impl Sub for Water {
    type Output = Water;
    fn sub(self, b: Water) -> Water {
        Water {
            h: self.h - b.h,
            hu: self.hu - b.hu,
            hv: self.hv - b.hv,
        }
    }
}

impl Mul<f32> for Water {
    type Output = Water;
    fn mul(self, b: f32) -> Water {
        Water {
            h: self.h * b,
            hu: self.hu * b,
            hv: self.hv * b,
        }
    }
}

/// A direction of flow.
#[derive(Clone, Copy)]
enum Axis {
    X,
    Y,
}

impl Water {
    /// Returns the flux along an axis.
    fn flux(self, axis: Axis) -> Water {
        let Water { h, hu, hv } = self;
        let pressure = 0.5 * 9.81 * h * h;
        let (u, v) = (hu / h, hv / h);
        match axis {
            Axis::X => Water {
                h: hu,
                hu: hu * u + pressure,
                hv: hu * v,
            },
            Axis::Y => Water {
                h: hv,
                hu: hv * u,
                hv: hv * v + pressure,
            },
        }
    }
}

/// A step of the Lax-Friedrichs scheme for shallow water.
#[kernel(block_size(32, 8))]
pub fn shallow_water_safe(
    #[shared] mut shared: Shared<Tile<Water, 34, 10>>,
    ratio: f32,
    from: &[Water],
    mut to: PerTile<Water, 32, 8>,
) {
    let (width, height) = (to.width(), to.height());
    let clamped = |x: usize, end: usize| x.saturating_sub(1).min(end - 1);
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        shared.own().each(|(x, y), cell| {
            *cell = from[clamped(y0 + y, height) * width + clamped(x0 + x, width)];
        });
        shared.read(|cells| {
            for ((x, y), to) in tile.own() {
                let (west, east) = (cells[y + 1][x], cells[y + 1][x + 2]);
                let (north, south) = (cells[y][x + 1], cells[y + 2][x + 1]);
                let mean = (west + east + north + south) * 0.25;
                let along_x = east.flux(Axis::X) - west.flux(Axis::X);
                let along_y = south.flux(Axis::Y) - north.flux(Axis::Y);
                *to = mean - (along_x + along_y) * ratio;
            }
        });
    }
}

/// A step of the Lax-Friedrichs scheme for shallow water.
#[kernel(block_size(32, 8))]
pub unsafe fn shallow_water_raw(
    ratio: f32,
    from: *const Water,
    to: *mut Water,
    width: i32,
    height: i32,
) {
    let cells = shared_array![Water; 340];
    let (tx, ty) = (thread::thread_idx_x() as i32, thread::thread_idx_y() as i32);
    let x0 = thread::block_idx_x() as i32 * 32;
    let y0 = thread::block_idx_y() as i32 * 8;
    let mut y = ty;
    while y < 10 {
        let mut x = tx;
        while x < 34 {
            let from_x = (x0 + x - 1).max(0).min(width - 1);
            let from_y = (y0 + y - 1).max(0).min(height - 1);
            *cells.add((y * 34 + x) as usize) = *from.add((from_y * width + from_x) as usize);
            x += 32;
        }
        y += 8;
    }
    thread::sync_threads();
    if x0 + tx >= width || y0 + ty >= height {
        return;
    }
    let here = cells.add(((ty + 1) * 34 + tx + 1) as usize);
    let (west, east) = (*here.sub(1), *here.add(1));
    let (north, south) = (*here.sub(34), *here.add(34));
    let mean = (west + east + north + south) * 0.25;
    let along_x = east.flux(Axis::X) - west.flux(Axis::X);
    let along_y = south.flux(Axis::Y) - north.flux(Axis::Y);
    *to.add(((y0 + ty) * width + x0 + tx) as usize) = mean - (along_x + along_y) * ratio;
}

// ---- Classification of a sample sort ----

/// Keys that a block classifies.
const CLASSIFIED: usize = 2048;

/// Finds the bucket of each key in a search tree of 255 splitters, and counts the keys of each
/// bucket in chunks of 2048.
#[kernel(block_size(256))]
pub fn sample_classify_safe(
    #[shared] mut shared: Shared<(Array<u32, 256>, Array<Atomic<u32, Block>, 256>)>,
    tree: &[u32; 256],
    keys: &[u32],
    mut buckets: PerBlock<u8, CLASSIFIED>,
    mut counts: PerBlock<u32, 256>,
) {
    for (mut buckets, mut counts) in buckets.pieces().zip(counts.pieces()) {
        let (nodes, bins) = shared.own();
        nodes.each(|i, node| *node = tree[i]);
        bins.each(|_, bin| *bin.get_mut() = 0);
        shared.read(|(nodes, bins)| {
            buckets.each(|i, to| {
                let key = keys[i];
                let mut node = 1;
                while let Some(&splitter) = nodes.get(node) {
                    node = 2 * node + usize::from(key > splitter);
                }
                let bucket = node - 256;
                bins[bucket].fetch_add(1, Relaxed);
                *to = bucket as u8;
            });
            thread::sync_threads();
            counts.each(|i, to| *to = bins[i % 256].load(Relaxed));
        });
    }
}

/// Finds the bucket of each key in a search tree of 255 splitters, and counts the keys of each
/// bucket in chunks of 2048.
#[kernel(block_size(256))]
pub unsafe fn sample_classify_raw(
    tree: *const u32,
    keys: *const u32,
    buckets: *mut u8,
    counts: *mut u32,
    n: i32,
) {
    let nodes = shared_array![u32; 256];
    let bins = shared_array![u32; 256];
    let thread = thread::thread_idx_x() as i32;
    let block = thread::block_idx_x() as i32;
    *nodes.add(thread as usize) = *tree.add(thread as usize);
    *bins.add(thread as usize) = 0;
    thread::sync_threads();
    for k in 0..8 {
        let i = block * CLASSIFIED as i32 + 256 * k + thread;
        if i < n {
            let key = *keys.add(i as usize);
            let mut node = 1;
            for _ in 0..8 {
                node = 2 * node + (key > *nodes.add(node as usize)) as i32;
            }
            let bucket = node - 256;
            Atomic::<u32, Block>::from_ptr(bins.add(bucket as usize)).fetch_add(1, Relaxed);
            *buckets.add(i as usize) = bucket as u8;
        }
    }
    thread::sync_threads();
    *counts.add((256 * block + thread) as usize) = *bins.add(thread as usize);
}

// ---- Triangular solve ----

/// Solves `L X = B` for lower triangular matrices of 32 rows and right-hand sides of 128 columns: a
/// block for each system, a thread for each column.
#[kernel(block_size(128))]
pub fn trsm32_safe(
    #[shared] mut lower: Shared<Array<f32, 1024>>,
    matrices: &[f32],
    sides: &[f32],
    mut to: PerBlock<f32, { 32 * 128 }>,
) {
    let column = thread::index_in_block() as usize;
    for (system, mut piece) in to.pieces().enumerate() {
        let start = piece.start();
        let system = system * thread::blocks_in_grid() as usize + thread::block_index() as usize;
        let matrix = &matrices[system * 1024..][..1024];
        let side = &sides[start..][..32 * 128];
        lower.own().each(|i, element| *element = matrix[i]);
        lower.read(|lower| {
            let mut x = [0.0; 32];
            for row in 0..32 {
                let mut sum = side[row * 128 + column];
                for k in 0..row {
                    sum -= lower[row * 32 + k] * x[k];
                }
                x[row] = sum / lower[row * 32 + row];
            }
            piece.each(|i, to| *to = x[(i - start) / 128]);
        });
    }
}

/// Solves `L X = B` for lower triangular matrices of 32 rows and right-hand sides of 128 columns: a
/// block for each system, a thread for each column.
#[kernel(block_size(128))]
pub unsafe fn trsm32_raw(matrices: *const f32, sides: *const f32, to: *mut f32) {
    let lower = shared_array![f32; 1024];
    let column = thread::thread_idx_x() as usize;
    let system = thread::block_idx_x() as usize;
    let matrix = matrices.add(system * 1024);
    let start = system * 32 * 128 + column;
    for k in 0..8 {
        *lower.add(k * 128 + column) = *matrix.add(k * 128 + column);
    }
    thread::sync_threads();
    let mut x = [0.0f32; 32];
    unroll::<32>(|row| {
        let mut sum = *sides.add(start + row * 128);
        for k in 0..row {
            sum -= *lower.add(row * 32 + k) * x[k];
        }
        x[row] = sum / *lower.add(row * 32 + row);
        *to.add(start + row * 128) = x[row];
    });
}

// ---- Complex matrix product ----

/// A complex number.
#[derive(Clone, Copy, Debug, Default, AnyBits, DeviceCopy)]
#[repr(C)]
pub struct Complex {
    /// The real part.
    pub re: f32,
    /// The imaginary part.
    pub im: f32,
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, b: Complex) -> Complex {
        Complex {
            re: self.re * b.re - self.im * b.im,
            im: self.re * b.im + self.im * b.re,
        }
    }
}

impl AddAssign for Complex {
    fn add_assign(&mut self, b: Complex) {
        self.re += b.re;
        self.im += b.im;
    }
}

/// The product of complex matrices, in tiles of 32 x 32: four elements in each thread.
#[kernel(block_size(32, 8))]
pub fn cgemm_safe(
    #[shared] mut shared: Shared<(Tile<Complex, 32, 32>, Tile<Complex, 32, 32>)>,
    a: &[Complex],
    b: &[Complex],
    depth: usize,
    mut to: PerTile<Complex, 32, 32>,
) {
    let a = MatrixView::new(a, depth, to.height());
    let b = MatrixView::new(b, to.width(), depth);
    let (column, first_row) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        let mut sums = [Complex::default(); 4];
        for k0 in (0..depth).step_by(32) {
            let (a_tile, b_tile) = shared.own();
            a_tile.each(|(x, y), to| *to = a.get(k0 + x, y0 + y).unwrap_or_default());
            b_tile.each(|(x, y), to| *to = b.get(x0 + x, k0 + y).unwrap_or_default());
            shared.read(|(a, b)| {
                for k in 0..32 {
                    let b = b[k][column];
                    for j in 0..4 {
                        sums[j] += a[first_row + 8 * j][k] * b;
                    }
                }
            });
        }
        tile.each(|(_, y), to| *to = sums[y / 8]);
    }
}

/// The product of complex matrices, in tiles of 32 x 32: four elements in each thread.
#[kernel(block_size(32, 8))]
pub unsafe fn cgemm_raw(
    a: *const Complex,
    b: *const Complex,
    to: *mut Complex,
    width: i32,
    height: i32,
    depth: i32,
) {
    let a_tile = shared_array![Complex; 1024];
    let b_tile = shared_array![Complex; 1024];
    let (tx, ty) = (thread::thread_idx_x() as i32, thread::thread_idx_y() as i32);
    let x = thread::block_idx_x() as i32 * 32 + tx;
    let y0 = thread::block_idx_y() as i32 * 32;
    let mut sums = [Complex::default(); 4];
    let mut k0 = 0;
    while k0 < depth {
        for j in 0..4 {
            let row = ty + 8 * j;
            let at = (row * 32 + tx) as usize;
            *a_tile.add(at) = if y0 + row < height && k0 + tx < depth {
                *a.add(((y0 + row) * depth + k0 + tx) as usize)
            } else {
                Complex::default()
            };
            *b_tile.add(at) = if k0 + row < depth && x < width {
                *b.add(((k0 + row) * width + x) as usize)
            } else {
                Complex::default()
            };
        }
        thread::sync_threads();
        for k in 0..32 {
            let b = *b_tile.add((k * 32 + tx) as usize);
            for j in 0..4 {
                sums[j] += *a_tile.add(((ty + 8 * j as i32) * 32 + k) as usize) * b;
            }
        }
        thread::sync_threads();
        k0 += 32;
    }
    for j in 0..4 {
        let y = y0 + ty + 8 * j as i32;
        if x < width && y < height {
            *to.add((y * width + x) as usize) = sums[j];
        }
    }
}

// ---- Distances of histograms ----

/// Bins of a histogram.
const BINS: usize = 64;

/// Returns a term of the chi-squared distance, unless both bins are empty.
fn chi2_term(a: u16, b: u16) -> Option<f32> {
    let sum = u32::from(a) + u32::from(b);
    if sum == 0 {
        return None;
    }
    let difference = f32::from(a) - f32::from(b);
    Some(difference * difference / sum as f32)
}

/// The chi-squared distances between histograms of 64 bins, in tiles of 16 x 16.
#[kernel(block_size(16, 16))]
pub fn chi2_matrix_safe(
    #[shared] mut shared: Shared<(Tile<u16, BINS, 16, 66>, Tile<u16, BINS, 16, 66>)>,
    rows: &[u16],
    columns: &[u16],
    mut to: PerTile<f32, 16, 16>,
) {
    let bin = |all: &[u16], histogram: usize, bin: usize| {
        all.chunks_exact(BINS)
            .nth(histogram)
            .map_or(0, |histogram| histogram[bin])
    };
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        let (own_rows, own_columns) = shared.own();
        own_rows.each(|(x, y), to| *to = bin(rows, y0 + y, x));
        own_columns.each(|(x, y), to| *to = bin(columns, x0 + y, x));
        shared.read(|(rows, columns)| {
            tile.each(|(x, y), to| {
                let pairs = rows[y][..BINS].iter().zip(&columns[x][..BINS]);
                *to = pairs.filter_map(|(&a, &b)| chi2_term(a, b)).sum();
            });
        });
    }
}

/// The chi-squared distances between histograms of 64 bins, in tiles of 16 x 16.
#[kernel(block_size(16, 16))]
pub unsafe fn chi2_matrix_raw(
    rows: *const u16,
    columns: *const u16,
    to: *mut f32,
    width: i32,
    height: i32,
) {
    let row_tile = shared_array![u16; 16 * 66];
    let column_tile = shared_array![u16; 16 * 66];
    let (tx, ty) = (thread::thread_idx_x() as i32, thread::thread_idx_y() as i32);
    let x0 = thread::block_idx_x() as i32 * 16;
    let y0 = thread::block_idx_y() as i32 * 16;
    let mut bin = tx;
    while bin < 64 {
        let at = (ty * 66 + bin) as usize;
        *row_tile.add(at) = 0;
        *column_tile.add(at) = 0;
        if y0 + ty < height {
            *row_tile.add(at) = *rows.add(((y0 + ty) * 64 + bin) as usize);
        }
        if x0 + ty < width {
            *column_tile.add(at) = *columns.add(((x0 + ty) * 64 + bin) as usize);
        }
        bin += 16;
    }
    thread::sync_threads();
    let (x, y) = (x0 + tx, y0 + ty);
    if x >= width || y >= height {
        return;
    }
    let mut distance = 0.0;
    for bin in 0..64 {
        let a = u32::from(*row_tile.add((ty * 66 + bin) as usize));
        let b = u32::from(*column_tile.add((tx * 66 + bin) as usize));
        if a + b != 0 {
            let difference = a as f32 - b as f32;
            distance += difference * difference / (a + b) as f32;
        }
    }
    *to.add((y * width + x) as usize) = distance;
}

// ---- Statistics of batch normalization ----

/// The number, the mean and the sum of squared deviations of some values.
#[derive(Clone, Copy, Default, AnyBits)]
struct Moments {
    count: f32,
    mean: f32,
    m2: f32,
}

impl Moments {
    /// Adds a value (Welford).
    fn with(self, x: f32) -> Moments {
        let count = self.count + 1.0;
        let delta = x - self.mean;
        let mean = self.mean + delta / count;
        Moments {
            count,
            mean,
            m2: self.m2 + delta * (x - mean),
        }
    }
}

impl Add for Moments {
    type Output = Moments;
    fn add(self, b: Moments) -> Moments {
        let count = self.count + b.count;
        if count == 0.0 {
            return self;
        }
        let delta = b.mean - self.mean;
        let part = b.count / count;
        Moments {
            count,
            mean: self.mean + delta * part,
            m2: self.m2 + b.m2 + delta * delta * self.count * part,
        }
    }
}

/// The mean and the reciprocal standard deviation of each channel of a batch of images: a block for
/// each channel.
#[kernel(block_size(256))]
pub fn bn_stats_safe(
    images: &[F32x4],
    batch: usize,
    plane: usize,
    mut means: PerBlock<f32>,
    mut deviations: PerBlock<f32>,
) {
    let channels = means.len();
    let block = group::block();
    let channel = block.number() as usize;
    let own = (0..batch)
        .flat_map(|n| {
            let plane = &images[(n * channels + channel) * plane..][..plane];
            thread::block_stride(plane.len()).map(move |i| plane[i])
        })
        .fold(Moments::default(), |moments, vector| {
            vector.iter().fold(moments, |moments, &x| moments.with(x))
        });
    let Moments { count, mean, m2 } = block.reduce(own, Add::add);
    means.each(|_, to| *to = mean);
    deviations.each(|_, to| *to = (m2 / count + 1e-5).rsqrt());
}

/// The mean and the reciprocal standard deviation of each channel of a batch of images: a block for
/// each channel.
#[kernel(block_size(256))]
pub unsafe fn bn_stats_raw(
    images: *const F32x4,
    batch: i32,
    plane: i32,
    channels: i32,
    means: *mut f32,
    deviations: *mut f32,
) {
    let partial = shared_array![Moments; 8];
    let channel = thread::block_idx_x() as i32;
    let thread = thread::thread_idx_x() as i32;
    let mut own = Moments {
        count: 0.0,
        mean: 0.0,
        m2: 0.0,
    };
    for n in 0..batch {
        let start = (n * channels + channel) * plane;
        let mut i = thread;
        while i < plane {
            let v = *images.add((start + i) as usize);
            for k in 0..4 {
                own = own.with(v[k]);
            }
            i += 256;
        }
    }
    let mut distance = 16;
    while distance > 0 {
        own = own + warp::shuffle_xor(warp::FULL, own, distance);
        distance /= 2;
    }
    if thread % 32 == 0 {
        *partial.add(thread as usize / 32) = own;
    }
    thread::sync_threads();
    if thread == 0 {
        for k in 1..8 {
            own = own + *partial.add(k);
        }
        *means.add(channel as usize) = own.mean;
        *deviations.add(channel as usize) = (own.m2 / own.count + 1e-5).rsqrt();
    }
}

// ---- Linear attention with decay ----

/// Tokens of a sequence.
const TOKENS: usize = 128;
/// The dimension of a head.
const HEAD: usize = 64;

/// Linear attention with decay (retention): a block for each head, a column of the state in each
/// thread.
#[kernel(block_size(64))]
pub fn retention_safe(
    #[shared] mut shared: Shared<(Tile<f32, HEAD, 16>, Tile<f32, HEAD, 16>)>,
    decays: &[f32],
    queries: &[f32],
    keys: &[f32],
    values: &[f32],
    mut to: PerBlock<f32, { TOKENS * HEAD }>,
) {
    let column = thread::index_in_block() as usize;
    for mut head in to.pieces() {
        let start = head.start();
        let decay = decays[start / (TOKENS * HEAD)];
        let mut outputs = head.own();
        let mut state = [0.0; HEAD];
        for chunk in (start..start + TOKENS * HEAD).step_by(16 * HEAD) {
            let (own_queries, own_keys) = shared.own();
            own_queries.each(|(x, y), to| *to = queries[chunk + y * HEAD + x]);
            own_keys.each(|(x, y), to| *to = keys[chunk + y * HEAD + x]);
            shared.read(|(queries, keys)| {
                for (token, (query, key)) in queries.iter().zip(keys).enumerate() {
                    let value = values[chunk + token * HEAD + column];
                    let mut sum = 0.0;
                    for i in 0..HEAD {
                        state[i] = decay * state[i] + key[i] * value;
                        sum += query[i] * state[i];
                    }
                    if let Some((_, to)) = outputs.next() {
                        *to = sum;
                    }
                }
            });
        }
    }
}

/// Linear attention with decay (retention): a block for each head, a column of the state in each
/// thread.
#[kernel(block_size(64))]
pub unsafe fn retention_raw(
    decays: *const f32,
    queries: *const f32,
    keys: *const f32,
    values: *const f32,
    to: *mut f32,
) {
    let query_tile = shared_array![f32; 16 * HEAD];
    let key_tile = shared_array![f32; 16 * HEAD];
    let column = thread::thread_idx_x() as usize;
    let head = thread::block_idx_x() as usize;
    let start = head * TOKENS * HEAD;
    let decay = *decays.add(head);
    let mut state = [0.0f32; HEAD];
    for chunk in 0..TOKENS / 16 {
        let chunk = start + chunk * 16 * HEAD;
        for token in 0..16 {
            let at = token * HEAD + column;
            *query_tile.add(at) = *queries.add(chunk + at);
            *key_tile.add(at) = *keys.add(chunk + at);
        }
        thread::sync_threads();
        for token in 0..16 {
            let value = *values.add(chunk + token * HEAD + column);
            let mut sum = 0.0;
            unroll::<HEAD>(|i| {
                state[i] = decay * state[i] + *key_tile.add(token * HEAD + i) * value;
                sum += *query_tile.add(token * HEAD + i) * state[i];
            });
            *to.add(chunk + token * HEAD + column) = sum;
        }
        thread::sync_threads();
    }
}

// ---- Dispatch to experts ----

/// Experts of a layer.
const EXPERTS: usize = 64;

/// Appends each token to the list of its expert, up to the capacity of a list. A block reserves the
/// places of 1024 tokens.
#[kernel(block_size(256))]
pub fn expert_dispatch_safe(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, EXPERTS>>,
    capacity: u32,
    experts: &[u8],
    lists: &[Atomic<u32, Device>],
    totals: &[Atomic<u32, Device>],
) {
    let first = thread::block_index() as usize * 1024 + thread::index_in_block() as usize;
    let tokens: [usize; 4] = array::from_fn(|k| first + 256 * k);
    counts.own().each(|_, count| *count.get_mut() = 0);
    let places = counts.read(|counts| {
        tokens.map(|token| {
            let expert = experts.get(token).copied();
            let peers = warp::match_any(warp::FULL, expert.map_or(u32::MAX, u32::from));
            let leader = peers.trailing_zeros();
            let mut start = 0;
            if let Some(expert) = expert
                && thread::lane_id() == leader
            {
                start = counts[usize::from(expert)].fetch_add(peers.count_ones(), Relaxed);
            }
            let start = warp::shuffle(warp::FULL, start, leader);
            start + (peers & warp::lanes_below()).count_ones()
        })
    });
    counts.own().each(|expert, count| {
        let count = count.get_mut();
        *count = totals[expert].fetch_add(*count, Relaxed);
    });
    counts.read(|starts| {
        for (&token, &place) in tokens.iter().zip(&places) {
            let Some(&expert) = experts.get(token) else {
                break;
            };
            let expert = usize::from(expert);
            let place = starts[expert].load(Relaxed) + place;
            if place < capacity {
                lists[expert * capacity as usize + place as usize].store(token as u32, Relaxed);
            }
        }
    });
}

/// Appends each token to the list of its expert, up to the capacity of a list. A block reserves the
/// places of 1024 tokens.
#[kernel(block_size(256))]
pub unsafe fn expert_dispatch_raw(
    capacity: u32,
    experts: *const u8,
    lists: *mut u32,
    totals: *mut u32,
    n: i32,
) {
    let counts = shared_array![u32; EXPERTS];
    let thread = thread::thread_idx_x();
    let lane = thread % 32;
    let first = (thread::block_idx_x() * 1024 + thread) as i32;
    if thread < 64 {
        *counts.add(thread as usize) = 0;
    }
    thread::sync_threads();
    let mut places = [0u32; 4];
    let mut chosen = [u32::MAX; 4];
    for k in 0..4 {
        let token = first + 256 * k as i32;
        if token < n {
            chosen[k] = u32::from(*experts.add(token as usize));
        }
        let peers = warp::match_any(warp::FULL, chosen[k]);
        let leader = peers.trailing_zeros();
        let mut start = 0;
        if chosen[k] != u32::MAX && lane == leader {
            let count = Atomic::<u32, Block>::from_ptr(counts.add(chosen[k] as usize));
            start = count.fetch_add(peers.count_ones(), Relaxed);
        }
        start = warp::shuffle(warp::FULL, start, leader);
        places[k] = start + (peers & warp::lanes_below()).count_ones();
    }
    thread::sync_threads();
    if thread < 64 {
        let count = counts.add(thread as usize);
        let total = Atomic::<u32, Device>::from_ptr(totals.add(thread as usize));
        *count = total.fetch_add(*count, Relaxed);
    }
    thread::sync_threads();
    for k in 0..4 {
        if chosen[k] != u32::MAX {
            let place = *counts.add(chosen[k] as usize) + places[k];
            if place < capacity {
                *lists.add((chosen[k] * capacity + place) as usize) =
                    (first + 256 * k as i32) as u32;
            }
        }
    }
}

// ---- Adaptive integration ----

/// The largest number of intervals that wait.
const WAITING: usize = 1024;
/// The depth at which intervals are no longer split.
const DEEPEST: u32 = 14;

/// What becomes of an interval.
enum Refined {
    /// The integral is accurate enough.
    Done(f64),
    /// The halves are to be integrated.
    Split,
}

/// Integrates `f` over an interval by Simpson's rule.
fn refine(f: impl Fn(f64) -> f64, depth: u32, number: u32, tolerance: f64) -> Refined {
    let width = 1.0 / f64::from(1u32 << depth);
    let start = f64::from(number) * width;
    let y: [f64; 5] = array::from_fn(|k| f(start + width * 0.25 * k as f64));
    let coarse = width / 6.0 * (y[0] + 4.0 * y[2] + y[4]);
    let fine = width / 12.0 * (y[0] + 4.0 * y[1] + 2.0 * y[2] + 4.0 * y[3] + y[4]);
    let error = (fine - coarse) / 15.0;
    if error.abs() <= tolerance * width || depth == DEEPEST {
        Refined::Done(fine + error)
    } else {
        Refined::Split
    }
}

/// A function that oscillates near 0.
fn chirp(parameter: f64, x: f64) -> f64 {
    (parameter / (x + 0.1)).sin() * (-x).exp()
}

/// Integrates functions from 0 to 1 by adaptive bisection: a block for each function, with the
/// waiting intervals in shared memory.
#[kernel(block_size(128))]
pub fn adaptive_simpson_safe(
    #[shared] mut shared: Shared<(
        Array<Atomic<u32, Block>, WAITING>,
        Array<Atomic<u32, Block>, WAITING>,
    )>,
    tolerance: f64,
    parameters: &[f64],
    mut to: PerBlock<f64>,
) {
    let block = group::block();
    let rank = block.rank() as usize;
    for mut integral in to.pieces() {
        let parameter = parameters[integral.start()];
        let sum = shared.read(|(a, b)| {
            let (mut current, mut next) = (a, b);
            let mut depth = 4;
            let mut waiting = 1 << depth;
            if rank < waiting {
                current[rank].store(rank as u32, Relaxed);
            }
            block.sync();
            let mut sum = 0.0;
            while waiting > 0 {
                let mut pushed = 0;
                for first in (0..waiting).step_by(128) {
                    let number = current[..waiting]
                        .get(first + rank)
                        .map(|x| x.load(Relaxed));
                    let refined =
                        number.map(|x| refine(|x| chirp(parameter, x), depth, x, tolerance));
                    let to_split = match (number, refined) {
                        (Some(number), Some(Refined::Split)) => Some(number),
                        (_, Some(Refined::Done(part))) => {
                            sum += part;
                            None
                        }
                        _ => None,
                    };
                    let (place, count) = block.exclusive_count(to_split.is_some());
                    if let Some(number) = to_split {
                        let place = pushed + 2 * place as usize;
                        next[place].store(2 * number, Relaxed);
                        next[place + 1].store(2 * number + 1, Relaxed);
                    }
                    pushed += 2 * count as usize;
                }
                block.sync();
                (current, next) = (next, current);
                waiting = pushed;
                depth += 1;
            }
            sum
        });
        let total = block.reduce(sum, |a, b| a + b);
        integral.each(|_, to| *to = total);
    }
}

/// Integrates functions from 0 to 1 by adaptive bisection: a block for each function, with the
/// waiting intervals in shared memory.
#[kernel(block_size(128))]
pub unsafe fn adaptive_simpson_raw(tolerance: f64, parameters: *const f64, to: *mut f64) {
    let queues = shared_array![u32; 2 * WAITING];
    let counts = shared_array![u32; 4];
    let sums = shared_array![f64; 4];
    let thread = thread::thread_idx_x();
    let warp = thread / 32;
    let block = thread::block_idx_x() as usize;
    let parameter = *parameters.add(block);
    let mut depth = 4;
    let mut waiting = 16;
    let mut side = 0;
    if thread < waiting {
        *queues.add(thread as usize) = thread;
    }
    thread::sync_threads();
    let mut sum = 0.0f64;
    while waiting > 0 {
        let mut pushed = 0;
        let mut first = 0;
        while first < waiting {
            let mut splits = false;
            let mut number = 0;
            if first + thread < waiting {
                number = *queues.add(side * WAITING + (first + thread) as usize);
                let width = 1.0 / f64::from(1u32 << depth);
                let start = f64::from(number) * width;
                let mut y = [0.0; 5];
                for k in 0..5 {
                    y[k] = chirp(parameter, start + width * 0.25 * k as f64);
                }
                let coarse = width / 6.0 * (y[0] + 4.0 * y[2] + y[4]);
                let fine = width / 12.0 * (y[0] + 4.0 * y[1] + 2.0 * y[2] + 4.0 * y[3] + y[4]);
                let error = (fine - coarse) / 15.0;
                if error.abs() <= tolerance * width || depth == DEEPEST {
                    sum += fine + error;
                } else {
                    splits = true;
                }
            }
            let votes = warp::ballot(warp::FULL, splits);
            if thread % 32 == 0 {
                *counts.add(warp as usize) = votes.count_ones();
            }
            thread::sync_threads();
            let mut place = (votes & warp::lanes_below()).count_ones();
            let mut count = 0;
            for k in 0..4 {
                if k == warp {
                    place += count;
                }
                count += *counts.add(k as usize);
            }
            if splits {
                let at = queues.add((side ^ 1) * WAITING + (pushed + 2 * place) as usize);
                *at = 2 * number;
                *at.add(1) = 2 * number + 1;
            }
            pushed += 2 * count;
            thread::sync_threads();
            first += 128;
        }
        side ^= 1;
        waiting = pushed;
        depth += 1;
    }
    let mut distance = 16;
    while distance > 0 {
        sum += warp::shuffle_xor(warp::FULL, sum, distance);
        distance /= 2;
    }
    if thread % 32 == 0 {
        *sums.add(warp as usize) = sum;
    }
    thread::sync_threads();
    if thread == 0 {
        *to.add(block) = *sums + *sums.add(1) + *sums.add(2) + *sums.add(3);
    }
}

// ---- Run-length encoding ----

/// Bytes that a block encodes.
const ENCODED: usize = 1024;

/// Encodes blocks of 1024 bytes as runs: the value and the length of each run, and their number.
#[kernel(block_size(256))]
pub fn rle_encode_safe(
    #[shared] mut starts: Shared<Array<Atomic<u32, Block>, ENCODED>>,
    bytes: &[[u8; 4]],
    mut values: PerBlock<u8, ENCODED>,
    mut lengths: PerBlock<u16, ENCODED>,
    mut counts: PerBlock<u32>,
) {
    let block = group::block();
    let rank = block.rank() as usize;
    for ((mut values, mut lengths), mut count) in
        values.pieces().zip(lengths.pieces()).zip(counts.pieces())
    {
        let start = values.start();
        let chunk = &bytes[start / 4..][..ENCODED / 4];
        let own = chunk[rank];
        let previous = rank.checked_sub(1).map(|i| chunk[i][3]);
        let before = [previous, Some(own[0]), Some(own[1]), Some(own[2])];
        let is_start: [bool; 4] = array::from_fn(|k| before[k] != Some(own[k]));
        let own_starts = is_start.iter().filter(|&&x| x).count() as u32;
        let (mut place, runs) = block.exclusive_scan_with_total(own_starts, 0, |a, b| a + b);
        starts.read(|starts| {
            for (k, _) in is_start
                .iter()
                .enumerate()
                .filter(|(_, is_start)| **is_start)
            {
                starts[place as usize].store((4 * rank + k) as u32, Relaxed);
                place += 1;
            }
            block.sync();
            let starts = &starts[..runs as usize];
            let own_runs = values
                .own()
                .zip(lengths.own())
                .take_while(|((i, _), _)| i - start < starts.len());
            for ((i, value), (_, length)) in own_runs {
                let run = i - start;
                let from = starts[run].load(Relaxed);
                let to = starts
                    .get(run + 1)
                    .map_or(ENCODED as u32, |next| next.load(Relaxed));
                *value = chunk.as_flattened()[from as usize];
                *length = (to - from) as u16;
            }
        });
        count.each(|_, to| *to = runs);
    }
}

/// Encodes blocks of 1024 bytes as runs: the value and the length of each run, and their number.
#[kernel(block_size(256))]
pub unsafe fn rle_encode_raw(
    bytes: *const u8,
    values: *mut u8,
    lengths: *mut u16,
    counts: *mut u32,
) {
    let starts = shared_array![u32; ENCODED + 1];
    let total = shared_array![u32; 1];
    let thread = thread::thread_idx_x();
    let block = thread::block_idx_x() as usize;
    let chunk = bytes.add(block * ENCODED);
    let word = *chunk.cast::<u32>().add(thread as usize);
    let mut heads = [false; 4];
    heads[0] = thread == 0 || *chunk.add(4 * thread as usize - 1) != word as u8;
    for k in 1..4 {
        heads[k] = (word >> (8 * k)) as u8 != (word >> (8 * (k - 1))) as u8;
    }
    let own = heads[0] as u32 + heads[1] as u32 + heads[2] as u32 + heads[3] as u32;
    let mut place = exclusive_sum_256(own);
    for k in 0..4 {
        if heads[k] {
            *starts.add(place as usize) = 4 * thread + k as u32;
            place += 1;
        }
    }
    if thread == 255 {
        *starts.add(place as usize) = ENCODED as u32;
        *total = place;
    }
    thread::sync_threads();
    let runs = *total;
    let mut run = thread;
    while run < runs {
        let from = *starts.add(run as usize);
        let to = *starts.add(run as usize + 1);
        *values.add(block * ENCODED + run as usize) = *chunk.add(from as usize);
        *lengths.add(block * ENCODED + run as usize) = (to - from) as u16;
        run += 256;
    }
    if thread == 0 {
        *counts.add(block) = runs;
    }
}

// ---- Tables of adaptive histogram equalization ----

/// The width and the height of an image's tiles.
const CONTRAST: usize = 64;

/// The tables of contrast-limited histogram equalization: 256 brightnesses for each tile of 64 x 64
/// pixels.
#[kernel(block_size(256))]
pub fn clahe_tables_safe(
    #[shared] mut bins: Shared<Array<Atomic<u32, Block>, 256>>,
    limit: u32,
    image: &[u8],
    width: usize,
    mut tables: PerBlock<u8, 256>,
) {
    let block = group::block();
    let (x, y) = (
        block.rank() as usize % CONTRAST,
        block.rank() as usize / CONTRAST,
    );
    for mut table in tables.pieces() {
        let tile = table.start() / 256;
        let tiles = width / CONTRAST;
        let (x0, y0) = (tile % tiles * CONTRAST, tile / tiles * CONTRAST);
        bins.own().each(|_, bin| *bin.get_mut() = 0);
        bins.read(|bins| {
            let rows = image.chunks_exact(width).skip(y0).take(CONTRAST);
            for row in rows.skip(y).step_by(4) {
                bins[usize::from(row[x0 + x])].fetch_add(1, Relaxed);
            }
        });
        let mut count = 0;
        bins.own().each(|_, bin| count = *bin.get_mut());
        let clipped = count.min(limit);
        let excess = block.reduce(count - clipped, |a, b| a + b);
        let remainder = excess % 256;
        let share = excess / 256 + u32::from(block.rank() < remainder);
        let sum = block.inclusive_scan(clipped + share, |a, b| a + b);
        let scale = 255.0 / (CONTRAST * CONTRAST) as f32;
        table.each(|_, to| *to = (sum as f32 * scale).min(255.0) as u8);
    }
}

/// The tables of contrast-limited histogram equalization: 256 brightnesses for each tile of 64 x 64
/// pixels.
#[kernel(block_size(256))]
pub unsafe fn clahe_tables_raw(limit: u32, image: *const u8, width: i32, tables: *mut u8) {
    let bins = shared_array![u32; 256];
    let excess = shared_array![u32; 1];
    let thread = thread::thread_idx_x() as i32;
    let tiles = width / 64;
    let tile = thread::block_idx_x() as i32;
    let x = tile % tiles * 64 + thread % 64;
    let y = tile / tiles * 64 + thread / 64;
    *bins.add(thread as usize) = 0;
    if thread == 0 {
        *excess = 0;
    }
    thread::sync_threads();
    for k in 0..16 {
        let pixel = *image.add(((y + 4 * k) * width + x) as usize);
        Atomic::<u32, Block>::from_ptr(bins.add(pixel as usize)).fetch_add(1, Relaxed);
    }
    thread::sync_threads();
    let count = *bins.add(thread as usize);
    let clipped = count.min(limit);
    let above = warp::reduce_add(warp::FULL, count - clipped);
    if thread % 32 == 0 {
        Atomic::<u32, Block>::from_ptr(excess).fetch_add(above, Relaxed);
    }
    thread::sync_threads();
    let share = *excess / 256 + ((thread as u32) < *excess % 256) as u32;
    let sum = exclusive_sum_256(clipped + share) + clipped + share;
    let brightness = (sum as f32 * (255.0 / 4096.0)).min(255.0);
    *tables.add((256 * tile + thread) as usize) = brightness as u8;
}

// ---- Sizes of a sparse matrix product ----

/// Slots of a warp's set of columns.
const SET: usize = 512;

/// The positions of the nonzero elements of a sparse matrix.
#[derive(Clone, Copy)]
struct Pattern<'a> {
    offsets: &'a [u32],
    columns: &'a [u32],
}

impl<'a> Pattern<'a> {
    fn row(self, row: usize) -> Option<&'a [u32]> {
        let start = *self.offsets.get(row)? as usize;
        let end = *self.offsets.get(row + 1)? as usize;
        self.columns.get(start..end)
    }
}

/// A set of columns in shared memory that the lanes of a warp fill.
struct ColumnSet<'a>(&'a [Atomic<u32, Block>]);

impl ColumnSet<'_> {
    /// Inserts a column, and returns whether it is new.
    fn insert(&self, column: u32) -> bool {
        let mut slot = column.wrapping_mul(0x9e37_79b1) as usize % SET;
        loop {
            match self.0[slot].compare_exchange(u32::MAX, column, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(other) if other == column => return false,
                Err(_) => slot = (slot + 1) % SET,
            }
        }
    }
}

/// The number of nonzero elements in each row of the product of two sparse matrices: a warp for each
/// row.
#[kernel(block_size(128))]
pub fn spgemm_symbolic_safe(
    #[shared] mut sets: Shared<Array<Atomic<u32, Block>, { 4 * SET }>>,
    a_offsets: &[u32],
    a_columns: &[u32],
    b_offsets: &[u32],
    b_columns: &[u32],
    mut to: PerWarp<u32>,
) {
    let a = Pattern {
        offsets: a_offsets,
        columns: a_columns,
    };
    let b = Pattern {
        offsets: b_offsets,
        columns: b_columns,
    };
    let row = thread::index() as usize / 32;
    sets.own().each(|_, slot| *slot.get_mut() = u32::MAX);
    let sets = sets.share();
    let Some(row) = a.row(row) else { return };
    let start = thread::warp_id() as usize * SET;
    let set = ColumnSet(&sets.view()[start..start + SET]);
    let mut count = 0u32;
    for &middle in row {
        let Some(columns) = b.row(middle as usize) else {
            continue;
        };
        for i in thread::warp_stride(columns.len()) {
            if set.insert(columns[i]) {
                count += 1;
            }
        }
    }
    let total = warp::reduce_add(warp::FULL, count);
    to.each(|_, to| *to = total);
}

/// The number of nonzero elements in each row of the product of two sparse matrices: a warp for each
/// row.
#[kernel(block_size(128))]
pub unsafe fn spgemm_symbolic_raw(
    a_offsets: *const u32,
    a_columns: *const u32,
    b_offsets: *const u32,
    b_columns: *const u32,
    to: *mut u32,
    rows: i32,
) {
    let sets = shared_array![u32; 4 * SET];
    let thread = thread::thread_idx_x();
    let row = thread::index_1d() as i32 / 32;
    let lane = thread % 32;
    let set = sets.add((thread / 32) as usize * SET);
    let mut i = lane;
    while i < SET as u32 {
        *set.add(i as usize) = u32::MAX;
        i += 32;
    }
    warp::sync(warp::FULL);
    if row >= rows {
        return;
    }
    let mut count = 0u32;
    let end = *a_offsets.add(row as usize + 1);
    let mut j = *a_offsets.add(row as usize);
    while j < end {
        let middle = *a_columns.add(j as usize) as usize;
        let b_end = *b_offsets.add(middle + 1);
        let mut i = *b_offsets.add(middle) + lane;
        while i < b_end {
            let column = *b_columns.add(i as usize);
            let mut slot = column.wrapping_mul(0x9e37_79b1) % SET as u32;
            loop {
                let atomic = Atomic::<u32, Block>::from_ptr(set.add(slot as usize));
                match atomic.compare_exchange(u32::MAX, column, Relaxed, Relaxed) {
                    Ok(_) => {
                        count += 1;
                        break;
                    }
                    Err(other) if other == column => break,
                    Err(_) => slot = (slot + 1) % SET as u32,
                }
            }
            i += 32;
        }
        j += 1;
    }
    let total = warp::reduce_add(warp::FULL, count);
    if lane == 0 {
        *to.add(row as usize) = total;
    }
}

// ---- Compensated dot product ----

/// An unevaluated sum of two numbers, the second of which is the rounding error of the first.
#[derive(Clone, Copy, Default, AnyBits)]
struct Twofold {
    value: f32,
    error: f32,
}

impl Twofold {
    fn product(a: f32, b: f32) -> Twofold {
        // Not contracted with the additions that follow.
        let value = mul_rn_f32(a, b);
        Twofold {
            value,
            error: a.mul_add(b, -value),
        }
    }
}

impl Add for Twofold {
    type Output = Twofold;
    fn add(self, b: Twofold) -> Twofold {
        let value = self.value + b.value;
        let part = value - self.value;
        let error = (self.value - (value - part)) + (b.value - part);
        Twofold {
            value,
            error: self.error + b.error + error,
        }
    }
}

impl iter::Sum for Twofold {
    fn sum<I: Iterator<Item = Twofold>>(iterator: I) -> Twofold {
        iterator.fold(Twofold::default(), Add::add)
    }
}

/// The dot product of vectors whose terms cancel, with twice the precision of `f32`: a part for each
/// block.
#[kernel(block_size(256))]
pub fn dot_twofold_safe(a: &[f32], b: &[f32], mut to: PerBlock<f64>) {
    let own: Twofold = thread::elements(a)
        .map(|(i, &a)| Twofold::product(a, b[i]))
        .sum();
    let Twofold { value, error } = group::block().reduce(own, Add::add);
    to.each(|_, to| *to = f64::from(value) + f64::from(error));
}

/// The dot product of vectors whose terms cancel, with twice the precision of `f32`: a part for each
/// block.
#[kernel(block_size(256))]
pub unsafe fn dot_twofold_raw(a: *const f32, b: *const f32, n: i32, to: *mut f64) {
    let partial = shared_array![Twofold; 8];
    let thread = thread::thread_idx_x() as usize;
    let mut sum = Twofold {
        value: 0.0,
        error: 0.0,
    };
    let mut i = thread::index_1d() as i32;
    while i < n {
        sum = sum + Twofold::product(*a.add(i as usize), *b.add(i as usize));
        i += thread::grid_size_1d() as i32;
    }
    let mut distance = 16;
    while distance > 0 {
        sum = sum + warp::shuffle_xor(warp::FULL, sum, distance);
        distance /= 2;
    }
    if thread % 32 == 0 {
        *partial.add(thread / 32) = sum;
    }
    thread::sync_threads();
    if thread == 0 {
        for k in 1..8 {
            sum = sum + *partial.add(k);
        }
        *to.add(thread::block_idx_x() as usize) = f64::from(sum.value) + f64::from(sum.error);
    }
}

// ---- Linear recurrence ----

/// The map `x -> factor * x + offset`.
#[derive(Clone, Copy, AnyBits)]
struct Affine {
    factor: f32,
    offset: f32,
}

impl Affine {
    const IDENTITY: Affine = Affine {
        factor: 1.0,
        offset: 0.0,
    };

    fn apply(self, x: f32) -> f32 {
        self.factor * x + self.offset
    }

    /// Returns the map that applies `self`, then `next`.
    fn then(self, next: Affine) -> Affine {
        Affine {
            factor: self.factor * next.factor,
            offset: next.apply(self.offset),
        }
    }
}

/// The recurrence `x[i] = a[i] * x[i - 1] + b[i]` in rows of 4096 elements, by scans of 1024.
#[kernel(block_size(256))]
pub fn recurrence_scan_safe(a: &[F32x4], b: &[F32x4], mut to: PerBlock<F32x4, 1024>) {
    let block = group::block();
    for mut row in to.pieces() {
        let mut x = 0.0;
        for (i, to) in row.own() {
            let (a, b) = (a[i], b[i]);
            let maps: [Affine; 4] = array::from_fn(|k| Affine {
                factor: a[k],
                offset: b[k],
            });
            let own = maps
                .into_iter()
                .reduce(Affine::then)
                .unwrap_or(Affine::IDENTITY);
            let (before, all) =
                block.exclusive_scan_with_total(own, Affine::IDENTITY, Affine::then);
            let mut value = before.apply(x);
            *to = F32x4(maps.map(|map| {
                value = map.apply(value);
                value
            }));
            x = all.apply(x);
        }
    }
}

/// The recurrence `x[i] = a[i] * x[i - 1] + b[i]` in rows of 4096 elements, by scans of 1024.
#[kernel(block_size(256))]
pub unsafe fn recurrence_scan_raw(a: *const F32x4, b: *const F32x4, to: *mut F32x4) {
    let warps = shared_array![Affine; 8];
    let thread = thread::thread_idx_x() as usize;
    let (warp, lane) = (thread / 32, thread as u32 % 32);
    let mut x = 0.0;
    for chunk in 0..4 {
        let i = thread::block_idx_x() as usize * 1024 + 256 * chunk + thread;
        let (a, b) = (*a.add(i), *b.add(i));
        let mut own = Affine {
            factor: a[0],
            offset: b[0],
        };
        for k in 1..4 {
            own = own.then(Affine {
                factor: a[k],
                offset: b[k],
            });
        }
        let mut up_to = own;
        let mut distance = 1;
        while distance < 32 {
            let other = warp::shuffle_up(warp::FULL, up_to, distance);
            if lane >= distance {
                up_to = other.then(up_to);
            }
            distance *= 2;
        }
        if lane == 31 {
            *warps.add(warp) = up_to;
        }
        let mut before = warp::shuffle_up(warp::FULL, up_to, 1);
        if lane == 0 {
            before = Affine::IDENTITY;
        }
        thread::sync_threads();
        let mut start = x;
        for k in 0..8 {
            if k == warp {
                start = x;
            }
            x = (*warps.add(k)).apply(x);
        }
        let mut value = before.apply(start);
        let mut result = F32x4::splat(0.0);
        for k in 0..4 {
            value = a[k] * value + b[k];
            result[k] = value;
        }
        *to.add(i) = result;
        thread::sync_threads();
    }
}

// ---- Sandpile ----

/// The width and the height of a tile with its halo of 4 cells.
const PILES: usize = 40;

/// Four topplings of a sandpile: each cell gives a quarter of its grains to each neighbor. Grains
/// that leave the grid are lost.
#[kernel(block_size(32, 8))]
pub fn sandpile_safe(
    #[shared] mut even: Shared<Tile<u16, PILES, PILES>>,
    #[shared] mut odd: Shared<Tile<u16, PILES, PILES>>,
    from: &[u16],
    mut to: PerTile<u16, 32, 32>,
) {
    let from = MatrixView::new(from, to.width(), to.height());
    for mut tile in to.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        // Positions wrap if they are left of or above the grid.
        let position = |x: usize, y: usize| ((x0 + x).wrapping_sub(4), (y0 + y).wrapping_sub(4));
        let is_inside = |x: usize, y: usize| {
            let (x, y) = position(x, y);
            x < from.width() && y < from.height()
        };
        let topple = |cells: &[[u16; PILES]; PILES], x: usize, y: usize| {
            if !is_inside(x, y) {
                return 0;
            }
            let given = |x: usize, y: usize| {
                cells
                    .get(y)
                    .and_then(|row| row.get(x))
                    .map_or(0, |grains| grains / 4)
            };
            cells[y][x] % 4
                + given(x.wrapping_sub(1), y)
                + given(x + 1, y)
                + given(x, y.wrapping_sub(1))
                + given(x, y + 1)
        };
        even.own().each(|(x, y), to| {
            let (x, y) = position(x, y);
            *to = from.get(x, y).unwrap_or(0);
        });
        even.read(|cells| odd.own().each(|(x, y), to| *to = topple(cells, x, y)));
        odd.read(|cells| even.own().each(|(x, y), to| *to = topple(cells, x, y)));
        even.read(|cells| odd.own().each(|(x, y), to| *to = topple(cells, x, y)));
        odd.read(|cells| tile.each(|(x, y), to| *to = topple(cells, x + 4, y + 4)));
    }
}

/// Four topplings of a sandpile: each cell gives a quarter of its grains to each neighbor. Grains
/// that leave the grid are lost.
#[kernel(block_size(32, 8))]
pub unsafe fn sandpile_raw(from: *const u16, to: *mut u16, width: i32, height: i32) {
    let cells = shared_array![u16; 2 * 40 * 40];
    let (tx, ty) = (thread::thread_idx_x() as i32, thread::thread_idx_y() as i32);
    let x0 = thread::block_idx_x() as i32 * 32 - 4;
    let y0 = thread::block_idx_y() as i32 * 32 - 4;
    let mut y = ty;
    while y < 40 {
        let mut x = tx;
        while x < 40 {
            let inside = x0 + x >= 0 && x0 + x < width && y0 + y >= 0 && y0 + y < height;
            *cells.add((y * 40 + x) as usize) = if inside {
                *from.add(((y0 + y) * width + x0 + x) as usize)
            } else {
                0
            };
            x += 32;
        }
        y += 8;
    }
    thread::sync_threads();
    for step in 0..4 {
        let current = cells.add(step % 2 * 1600);
        let next = cells.add((step + 1) % 2 * 1600);
        let mut y = ty;
        while y < 40 {
            let mut x = tx;
            while x < 40 {
                let inside = x0 + x >= 0 && x0 + x < width && y0 + y >= 0 && y0 + y < height;
                let at = (y * 40 + x) as usize;
                let mut grains = 0;
                if inside {
                    grains = *current.add(at) % 4;
                    if x > 0 {
                        grains += *current.add(at - 1) / 4;
                    }
                    if x < 39 {
                        grains += *current.add(at + 1) / 4;
                    }
                    if y > 0 {
                        grains += *current.add(at - 40) / 4;
                    }
                    if y < 39 {
                        grains += *current.add(at + 40) / 4;
                    }
                }
                *next.add(at) = grains;
                x += 32;
            }
            y += 8;
        }
        thread::sync_threads();
    }
    let mut y = 4 + ty;
    while y < 36 {
        let x = 4 + tx;
        if x0 + x < width && y0 + y < height {
            *to.add(((y0 + y) * width + x0 + x) as usize) = *cells.add((y * 40 + x) as usize);
        }
        y += 8;
    }
}

// ---- Join with a Bloom filter ----

/// Words of a Bloom filter.
const FILTER: usize = 512;
/// Keys from which a filter is built.
const BUILT: usize = 1024;
/// Keys that are looked up in a filter.
const PROBED: usize = 4096;

/// A set of words in which keys have bits.
trait Words {
    fn word(&self, i: usize) -> u32;
}

impl<const N: usize> Words for [Atomic<u32, Block>; N] {
    fn word(&self, i: usize) -> u32 {
        self[i].load(Relaxed)
    }
}

/// The `K` bits of a key in a filter: the word and the mask of each.
fn bits_of<const K: usize>(key: u64) -> [(usize, u32); K] {
    let mut state = key;
    array::from_fn(|_| {
        state = (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bit = (state >> 40) as usize % (32 * FILTER);
        (bit / 32, 1 << (bit % 32))
    })
}

/// Returns whether a filter may contain a key.
fn may_contain<const K: usize>(filter: &impl Words, key: u64) -> bool {
    bits_of::<K>(key)
        .iter()
        .all(|&(word, mask)| filter.word(word) & mask != 0)
}

/// Builds a Bloom filter of 1024 keys of each partition in a block, and returns one bit for each of
/// 4096 other keys: whether the filter may contain it.
#[kernel(block_size(256))]
pub fn bloom_join_safe(
    #[shared] mut filter: Shared<Array<Atomic<u32, Block>, FILTER>>,
    build: &[u64],
    probe: &[u64],
    mut to: PerWarp<u32, 16>,
) {
    let partition = thread::block_index() as usize;
    let build = &build[partition * BUILT..][..BUILT];
    let probe = &probe[partition * PROBED..][..PROBED];
    filter.own().each(|_, word| *word.get_mut() = 0);
    filter.read(|filter| {
        for i in thread::block_stride(BUILT) {
            for (word, mask) in bits_of::<3>(build[i]) {
                filter[word].fetch_or(mask, Relaxed);
            }
        }
        thread::sync_threads();
        let warp = group::warp();
        let own = probe.chunks_exact(PROBED / 8).nth(warp.number() as usize);
        let mut votes = 0;
        for (k, keys) in own
            .into_iter()
            .flat_map(|own| own.chunks_exact(32))
            .enumerate()
        {
            let vote = warp.ballot(may_contain::<3>(filter, keys[warp.rank() as usize]));
            if k == warp.rank() as usize {
                votes = vote;
            }
        }
        to.each(|_, to| *to = votes);
    });
}

/// Builds a Bloom filter of 1024 keys of each partition in a block, and returns one bit for each of
/// 4096 other keys: whether the filter may contain it.
#[kernel(block_size(256))]
pub unsafe fn bloom_join_raw(build: *const u64, probe: *const u64, to: *mut u32) {
    let filter = shared_array![u32; FILTER];
    let thread = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let (warp, lane) = (thread / 32, thread % 32);
    *filter.add(thread) = 0;
    *filter.add(256 + thread) = 0;
    thread::sync_threads();
    for k in 0..4 {
        let mut state = *build.add(block * BUILT + 256 * k + thread);
        for _ in 0..3 {
            state = (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let bit = (state >> 40) as u32 % (32 * FILTER as u32);
            let word = Atomic::<u32, Block>::from_ptr(filter.add(bit as usize / 32));
            word.fetch_or(1 << (bit % 32), Relaxed);
        }
    }
    thread::sync_threads();
    let mut votes = 0;
    for k in 0..16 {
        let mut state = *probe.add(block * PROBED + 512 * warp + 32 * k + lane);
        let mut contained = true;
        for _ in 0..3 {
            state = (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let bit = (state >> 40) as u32 % (32 * FILTER as u32);
            contained &= *filter.add(bit as usize / 32) >> (bit % 32) & 1 != 0;
        }
        let vote = warp::ballot(warp::FULL, contained);
        if lane == k {
            votes = vote;
        }
    }
    if lane < 16 {
        *to.add(block * 128 + 16 * warp + lane) = votes;
    }
}

// ---- Graph coloring ----

/// The color of a node that has none.
const UNCOLORED: u8 = u8::MAX;

/// Returns the priority of a node.
fn priority(node: u32) -> u32 {
    (node ^ node >> 15).wrapping_mul(0x2c1b_3c6d)
}

/// A round of graph coloring (Jones-Plassmann): each node without a color whose neighbors without
/// colors have lower priorities gets the lowest color that no neighbor has. Eight lanes for each
/// node.
#[kernel(block_size(256))]
pub fn color_round_safe(
    offsets: &[u32],
    neighbors: &[u32],
    colors: &[u8],
    to: &[Atomic<u32, Device>],
) {
    let tile = group::tile::<8>();
    let node = thread::index() as usize / 8;
    let Some(&[start, end]) = offsets.get(node..).and_then(|rest| rest.first_chunk::<2>()) else {
        return;
    };
    let mut color = colors[node];
    if color == UNCOLORED {
        let own = neighbors[start as usize..end as usize]
            .iter()
            .skip(tile.rank() as usize)
            .step_by(8)
            .try_fold(0u64, |used, &neighbor| match colors[neighbor as usize] {
                UNCOLORED if priority(neighbor) > priority(node as u32) => None,
                UNCOLORED => Some(used),
                color => Some(used | 1 << (color & 63)),
            });
        if tile.all(own.is_some()) {
            let used = tile.reduce(own.unwrap_or_default(), |a, b| a | b);
            color = used.trailing_ones() as u8;
        }
    }
    if tile.is_first() {
        to[node].store(color.into(), Relaxed);
    }
}

/// A round of graph coloring (Jones-Plassmann): each node without a color whose neighbors without
/// colors have lower priorities gets the lowest color that no neighbor has. Eight lanes for each
/// node.
#[kernel(block_size(256))]
pub unsafe fn color_round_raw(
    offsets: *const u32,
    neighbors: *const u32,
    colors: *const u8,
    to: *mut u32,
    n: i32,
) {
    let thread = thread::index_1d();
    let (node, lane) = (thread / 8, thread % 8);
    if node as i32 >= n {
        return;
    }
    let mask = 0xff << (thread % 32 - lane);
    let mut color = u32::from(*colors.add(node as usize));
    if color == 255 {
        let mut used = 0u64;
        let mut waits = false;
        let end = *offsets.add(node as usize + 1);
        let mut i = *offsets.add(node as usize) + lane;
        while i < end {
            let neighbor = *neighbors.add(i as usize);
            let other = *colors.add(neighbor as usize);
            if other != UNCOLORED {
                used |= 1 << (other & 63);
            } else if priority(neighbor) > priority(node) {
                waits = true;
                break;
            }
            i += 8;
        }
        if !warp::any(mask, waits) {
            let mut distance = 4;
            while distance > 0 {
                used |= warp::shuffle_xor(mask, used, distance);
                distance /= 2;
            }
            color = used.trailing_ones();
        }
    }
    if lane == 0 {
        *to.add(node as usize) = color;
    }
}

// ---- Prefix hashes ----

/// A number modulo the prime `2^61 - 1`.
#[derive(Clone, Copy, PartialEq, AnyBits)]
struct Mod61(u64);

impl Mod61 {
    const PRIME: u64 = (1 << 61) - 1;

    fn reduced(x: u64) -> Mod61 {
        Mod61(if x >= Mod61::PRIME {
            x - Mod61::PRIME
        } else {
            x
        })
    }
}

impl Add for Mod61 {
    type Output = Mod61;
    fn add(self, b: Mod61) -> Mod61 {
        Mod61::reduced(self.0 + b.0)
    }
}

impl Mul for Mod61 {
    type Output = Mod61;
    fn mul(self, b: Mod61) -> Mod61 {
        let product = u128::from(self.0) * u128::from(b.0);
        Mod61::reduced((product as u64 & Mod61::PRIME) + (product >> 61) as u64)
    }
}

/// The polynomial hash of some bytes, and the power of the base by which a hash of bytes before them
/// is multiplied.
#[derive(Clone, Copy, AnyBits)]
struct Hash {
    power: Mod61,
    hash: Mod61,
}

impl Hash {
    const EMPTY: Hash = Hash {
        power: Mod61(1),
        hash: Mod61(0),
    };
    const BASE: Mod61 = Mod61(0x0f1e_2d3c_4b5a_6978);

    fn of(byte: u8) -> Hash {
        Hash {
            power: Hash::BASE,
            hash: Mod61(u64::from(byte) + 1),
        }
    }

    fn concat(self, next: Hash) -> Hash {
        Hash {
            power: self.power * next.power,
            hash: self.hash * next.power + next.hash,
        }
    }
}

/// The polynomial hashes of all prefixes of texts of 1024 bytes, of which each thread has four.
#[kernel(block_size(256))]
pub fn prefix_hash_safe(text: &[[u8; 4]], mut to: PerThread<[u64; 4]>) {
    let Some((i, to)) = to.first() else { return };
    let hashes = text[i].map(Hash::of);
    let own = hashes
        .iter()
        .fold(Hash::EMPTY, |all, &hash| all.concat(hash));
    let mut prefix = group::block().exclusive_scan(own, Hash::EMPTY, Hash::concat);
    for (to, hash) in to.iter_mut().zip(hashes) {
        prefix = prefix.concat(hash);
        *to = prefix.hash.0;
    }
}

/// The polynomial hashes of all prefixes of texts of 1024 bytes, of which each thread has four.
#[kernel(block_size(256))]
pub unsafe fn prefix_hash_raw(text: *const u32, to: *mut u64) {
    let warps = shared_array![Hash; 8];
    let i = thread::index_1d() as usize;
    let thread = thread::thread_idx_x();
    let (warp, lane) = (thread / 32, thread % 32);
    let word = *text.add(i);
    let mut own = Hash::of(word as u8);
    for k in 1..4 {
        own = own.concat(Hash::of((word >> (8 * k)) as u8));
    }
    let mut up_to = own;
    let mut distance = 1;
    while distance < 32 {
        let other = warp::shuffle_up(warp::FULL, up_to, distance);
        if lane >= distance {
            up_to = other.concat(up_to);
        }
        distance *= 2;
    }
    if lane == 31 {
        *warps.add(warp as usize) = up_to;
    }
    let mut before = warp::shuffle_up(warp::FULL, up_to, 1);
    if lane == 0 {
        before = Hash::EMPTY;
    }
    thread::sync_threads();
    let mut prefix = Hash::EMPTY;
    for k in 0..warp {
        prefix = prefix.concat(*warps.add(k as usize));
    }
    prefix = prefix.concat(before);
    for k in 0..4 {
        prefix = prefix.concat(Hash::of((word >> (8 * k)) as u8));
        *to.add(4 * i + k as usize) = prefix.hash.0;
    }
}

// ---- Kullback-Leibler divergence ----

/// Numbers of a row.
const LOGITS: usize = 1024;

/// The largest number and the sum of the exponentials relative to it.
#[derive(Clone, Copy, AnyBits)]
struct LogSum {
    max: f32,
    sum: f32,
}

impl LogSum {
    fn of(x: f32) -> LogSum {
        LogSum { max: x, sum: 1.0 }
    }

    fn merge(self, b: LogSum) -> LogSum {
        let max = self.max.max(b.max);
        LogSum {
            max,
            sum: self.sum * (self.max - max).exp() + b.sum * (b.max - max).exp(),
        }
    }

    fn value(self) -> f32 {
        self.max + self.sum.ln()
    }
}

/// The divergence of the student's distribution from the teacher's, of rows of 1024 logits in fp16:
/// a warp for each row.
#[kernel(block_size(128))]
pub fn kl_rows_safe(teacher: &[F16x2], student: &[F16x2], mut to: PerWarp<f32>) {
    let warp = group::warp();
    let row = thread::index() as usize / 32;
    if row >= to.len() {
        return;
    }
    let unpack = |pair: F16x2| [pair.low().to_f32(), pair.high().to_f32()];
    let load = |from: &[F16x2]| -> [[f32; 2]; LOGITS / 64] {
        let row = &from[row * LOGITS / 2..][..LOGITS / 2];
        array::from_fn(|k| unpack(row[32 * k + warp.rank() as usize]))
    };
    let normalizer = |logits: &[[f32; 2]]| {
        let own = logits
            .iter()
            .flatten()
            .map(|&x| LogSum::of(x))
            .reduce(LogSum::merge);
        warp.reduce(
            own.unwrap_or(LogSum {
                max: f32::NEG_INFINITY,
                sum: 0.0,
            }),
            LogSum::merge,
        )
        .value()
    };
    let (p, q) = (load(teacher), load(student));
    let (p_sum, q_sum) = (normalizer(&p), normalizer(&q));
    let own: f32 = p
        .iter()
        .flatten()
        .zip(q.iter().flatten())
        .map(|(p, q)| (p - p_sum, q - q_sum))
        .map(|(p, q)| p.exp() * (p - q))
        .sum();
    let divergence = warp.reduce(own, |a, b| a + b);
    to.each(|_, to| *to = divergence);
}

/// The divergence of the student's distribution from the teacher's, of rows of 1024 logits in fp16:
/// a warp for each row.
#[kernel(block_size(128))]
pub unsafe fn kl_rows_raw(teacher: *const F16x2, student: *const F16x2, to: *mut f32, rows: i32) {
    let row = thread::index_1d() as i32 / 32;
    let lane = thread::lane_id() as usize;
    if row >= rows {
        return;
    }
    let start = row as usize * LOGITS / 2 + lane;
    let mut logits = [[0.0f32; 32]; 2];
    let mut sums = [0.0f32; 2];
    for (side, from) in [(0, teacher), (1, student)] {
        for k in 0..16 {
            let pair = *from.add(start + 32 * k);
            logits[side][2 * k] = pair.low().to_f32();
            logits[side][2 * k + 1] = pair.high().to_f32();
        }
        let mut own = LogSum::of(logits[side][0]);
        for k in 1..32 {
            own = own.merge(LogSum::of(logits[side][k]));
        }
        let mut distance = 16;
        while distance > 0 {
            own = own.merge(warp::shuffle_xor(warp::FULL, own, distance));
            distance /= 2;
        }
        sums[side] = own.value();
    }
    let mut divergence = 0.0;
    for k in 0..32 {
        let p = logits[0][k] - sums[0];
        let q = logits[1][k] - sums[1];
        divergence += p.exp() * (p - q);
    }
    let mut distance = 16;
    while distance > 0 {
        divergence += warp::shuffle_xor(warp::FULL, divergence, distance);
        distance /= 2;
    }
    if lane == 0 {
        *to.add(row as usize) = divergence;
    }
}

// ---- Wave equation ----

/// A volume, row by row and layer by layer. There is nothing outside.
#[derive(Clone, Copy)]
struct Volume<'a> {
    data: &'a [f32],
    size: [usize; 3],
}

impl Volume<'_> {
    fn get(self, x: usize, y: usize, z: usize) -> Option<f32> {
        let [width, height, depth] = self.size;
        if x >= width || y >= height || z >= depth {
            return None;
        }
        self.data.get((z * height + y) * width + x).copied()
    }
}

/// Weights of the second derivative of fourth order.
const WEIGHTS: [f32; 3] = [-2.5, 4.0 / 3.0, -1.0 / 12.0];

/// A step of the wave equation: blocks march through the layers, of which one is in shared memory.
#[kernel(block_size(32, 8))]
pub fn wave_march_safe(
    #[shared] mut layer: Shared<Tile<f32, 36, 12>>,
    speed: f32,
    current: &[f32],
    previous: &[f32],
    mut to: PerThread3d<f32>,
) {
    let size = [to.width(), to.height(), to.depth()];
    let volume = Volume {
        data: current,
        size,
    };
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let x0 = thread::block_idx_x() as usize * 32;
    let y0 = thread::block_idx_y() as usize * 8;
    let cell = |z: usize| volume.get(x0 + tx, y0 + ty, z).unwrap_or(0.0);
    let mut column = [0.0, 0.0, cell(0), cell(1), cell(2)];
    let mut own = to.own();
    for z in 0..size[2] {
        layer.own().each(|(i, j), to| {
            let (x, y) = ((x0 + i).wrapping_sub(2), (y0 + j).wrapping_sub(2));
            *to = volume.get(x, y, z).unwrap_or(0.0);
        });
        layer.read(|rows| {
            if let Some(((x, y, z), to)) = own.next() {
                let [center, near, far] = WEIGHTS;
                let row = rows[ty + 2].window::<5>(tx);
                let up_down = rows.window::<5>(ty).each_ref().map(|row| row[tx + 2]);
                let laplacian: f32 = [row, &up_down, &column]
                    .iter()
                    .map(|line| {
                        let [a, b, c, d, e] = **line;
                        far * (a + e) + near * (b + d) + center * c
                    })
                    .sum();
                let at = (z * size[1] + y) * size[0] + x;
                *to = 2.0 * column[2] - previous[at] + speed * laplacian;
            }
        });
        column.rotate_left(1);
        column[4] = cell(z + 3);
    }
}

/// A step of the wave equation: blocks march through the layers, of which one is in shared memory.
#[kernel(block_size(32, 8))]
pub unsafe fn wave_march_raw(
    speed: f32,
    current: *const f32,
    previous: *const f32,
    to: *mut f32,
    width: i32,
    height: i32,
    depth: i32,
) {
    let layer = shared_array![f32; 36 * 12];
    let (tx, ty) = (thread::thread_idx_x() as i32, thread::thread_idx_y() as i32);
    let x0 = thread::block_idx_x() as i32 * 32;
    let y0 = thread::block_idx_y() as i32 * 8;
    let (x, y) = (x0 + tx, y0 + ty);
    let inside = x < width && y < height;
    let mut column = [0.0f32; 5];
    for k in 0..3 {
        if inside && (k as i32) < depth {
            column[k + 2] = *current.add(((k as i32 * height + y) * width + x) as usize);
        }
    }
    for z in 0..depth {
        let mut j = ty;
        while j < 12 {
            let mut i = tx;
            while i < 36 {
                let (from_x, from_y) = (x0 + i - 2, y0 + j - 2);
                let exists = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height;
                *layer.add((j * 36 + i) as usize) = if exists {
                    *current.add(((z * height + from_y) * width + from_x) as usize)
                } else {
                    0.0
                };
                i += 32;
            }
            j += 8;
        }
        thread::sync_threads();
        if inside {
            let here = layer.add(((ty + 2) * 36 + tx + 2) as usize);
            let far = *here.sub(2) + *here.add(2) + *here.sub(72) + *here.add(72);
            let near = *here.sub(1) + *here.add(1) + *here.sub(36) + *here.add(36);
            let laplacian = WEIGHTS[2] * (far + column[0] + column[4])
                + WEIGHTS[1] * (near + column[1] + column[3])
                + 3.0 * WEIGHTS[0] * column[2];
            let at = ((z * height + y) * width + x) as usize;
            *to.add(at) = 2.0 * column[2] - *previous.add(at) + speed * laplacian;
        }
        for k in 0..4 {
            column[k] = column[k + 1];
        }
        column[4] = 0.0;
        if inside && z + 3 < depth {
            column[4] = *current.add((((z + 3) * height + y) * width + x) as usize);
        }
        thread::sync_threads();
    }
}

// ---- Aggregates of groups ----

/// The value that stands for no value.
const NULL: i64 = i64::MIN;

/// What is computed of a column.
#[derive(Clone, Copy)]
enum Aggregate {
    Count,
    Sum,
    Min,
    Max,
    CountAbove(i64),
}

impl Aggregate {
    fn parse([code, argument]: [i64; 2]) -> Option<Aggregate> {
        Some(match code {
            0 => Aggregate::Count,
            1 => Aggregate::Sum,
            2 => Aggregate::Min,
            3 => Aggregate::Max,
            4 => Aggregate::CountAbove(argument),
            _ => return None,
        })
    }

    /// Returns what a value contributes.
    fn of(self, x: i64) -> i64 {
        match self {
            Aggregate::Count => 1,
            Aggregate::CountAbove(limit) => i64::from(x > limit),
            Aggregate::Sum | Aggregate::Min | Aggregate::Max => x,
        }
    }

    /// Combines contributions, of which there may be none.
    fn combine(self, a: Option<i64>, b: Option<i64>) -> Option<i64> {
        let (Some(x), Some(y)) = (a, b) else {
            return a.or(b);
        };
        Some(match self {
            Aggregate::Count | Aggregate::CountAbove(_) | Aggregate::Sum => x.wrapping_add(y),
            Aggregate::Min => x.min(y),
            Aggregate::Max => x.max(y),
        })
    }
}

/// Aggregates of consecutive groups of rows in several columns, each with its own function: a warp
/// for each group in each column.
#[kernel(block_size(256))]
pub fn aggregate_groups_safe(
    functions: &[[i64; 2]],
    offsets: &[u32],
    values: &[i64],
    rows: usize,
    mut to: PerWarp<i64>,
) {
    let groups = offsets.len() - 1;
    let warp = thread::index() as usize / 32;
    let (column, group) = (warp / groups, warp % groups);
    let Some(function) = functions
        .get(column)
        .and_then(|&code| Aggregate::parse(code))
    else {
        return;
    };
    let column = &values[column * rows..][..rows];
    let group = &column[offsets[group] as usize..offsets[group + 1] as usize];
    let own = thread::warp_stride(group.len())
        .map(|i| group[i])
        .filter(|&x| x != NULL)
        .map(|x| Some(function.of(x)))
        .fold(None, |a, b| function.combine(a, b));
    // An `Option` has invalid bit patterns.
    let encode = |x: Option<i64>| x.unwrap_or(NULL);
    let decode = |x: i64| (x != NULL).then_some(x);
    let result = group::warp().reduce(encode(own), |a, b| {
        encode(function.combine(decode(a), decode(b)))
    });
    to.each(|_, to| *to = result);
}

/// Combines two contributions for the function with a code.
fn combine_raw(code: i64, a: i64, b: i64) -> i64 {
    if a == NULL {
        return b;
    }
    if b == NULL {
        return a;
    }
    match code {
        2 => a.min(b),
        3 => a.max(b),
        _ => a.wrapping_add(b),
    }
}

/// Aggregates of consecutive groups of rows in several columns, each with its own function: a warp
/// for each group in each column.
#[kernel(block_size(256))]
pub unsafe fn aggregate_groups_raw(
    functions: *const i64,
    columns: i32,
    offsets: *const u32,
    groups: i32,
    values: *const i64,
    rows: i32,
    to: *mut i64,
) {
    let warp = thread::index_1d() as i32 / 32;
    let lane = thread::lane_id();
    let (column, group) = (warp / groups, warp % groups);
    if column >= columns {
        return;
    }
    let code = *functions.add(2 * column as usize);
    let argument = *functions.add(2 * column as usize + 1);
    let start = values.add((column * rows) as usize);
    let end = *offsets.add(group as usize + 1);
    let mut own = NULL;
    let mut i = *offsets.add(group as usize) + lane;
    while i < end {
        let x = *start.add(i as usize);
        if x != NULL {
            let x = match code {
                0 => 1,
                4 => i64::from(x > argument),
                _ => x,
            };
            own = combine_raw(code, own, x);
        }
        i += 32;
    }
    let mut distance = 16;
    while distance > 0 {
        own = combine_raw(code, own, warp::shuffle_xor(warp::FULL, own, distance));
        distance /= 2;
    }
    if lane == 0 {
        *to.add(warp as usize) = own;
    }
}

// ---- Gram-Schmidt ----

/// Orthonormalizes the 16 columns of matrices of 32 rows (modified Gram-Schmidt): a warp for each
/// matrix, a lane for each row.
#[kernel(block_size(128))]
pub fn gram_schmidt_safe(from: &[f32], mut to: PerWarp<f32, 512>) {
    let warp = group::warp();
    let matrix = thread::index() as usize / 32;
    let Some(from) = from.chunks_exact(512).nth(matrix) else {
        return;
    };
    let mut row: [f32; 16] = array::from_fn(|k| from[32 * k + warp.rank() as usize]);
    let dot = |a: f32, b: f32| warp.reduce(a * b, |a, b| a + b);
    for column in 0..16 {
        let (done, rest) = row.split_at_mut(column + 1);
        let unit = &mut done[column];
        *unit *= dot(*unit, *unit).rsqrt();
        for x in rest {
            *x -= dot(*unit, *x) * *unit;
        }
    }
    for ((_, to), x) in to.own().zip(row) {
        *to = x;
    }
}

/// Returns the sum of a warp's values.
fn warp_sum(mut x: f32) -> f32 {
    let mut distance = 16;
    while distance > 0 {
        x += warp::shuffle_xor(warp::FULL, x, distance);
        distance /= 2;
    }
    x
}

/// Orthonormalizes the 16 columns of matrices of 32 rows (modified Gram-Schmidt): a warp for each
/// matrix, a lane for each row.
#[kernel(block_size(128))]
pub unsafe fn gram_schmidt_raw(from: *const f32, to: *mut f32, matrices: i32) {
    let matrix = thread::index_1d() as i32 / 32;
    if matrix >= matrices {
        return;
    }
    let start = matrix as usize * 512 + thread::lane_id() as usize;
    let mut row = [0.0f32; 16];
    for k in 0..16 {
        row[k] = *from.add(start + 32 * k);
    }
    for column in 0..16 {
        row[column] *= warp_sum(row[column] * row[column]).rsqrt();
        for k in column + 1..16 {
            row[k] -= warp_sum(row[column] * row[k]) * row[column];
        }
    }
    for k in 0..16 {
        *to.add(start + 32 * k) = row[k];
    }
}
