//! Molecular dynamics, finance, and a solver.

use cuda_std::prelude::*;
use cuda_std::vector::F32x4;
use cuda_std::{AnyBits, PerBlock, group, warp};

/// The number of neighbors of an atom.
pub const NEIGHBORS: usize = 64;
/// The squared distance beyond which there is no force.
pub const CUTOFF: f32 = 9.0;

/// The Lennard-Jones force on each atom by its neighbors. `neighbors` is a matrix whose columns are
/// the lists of atoms.
#[kernel(block_size(256))]
pub fn lennard_jones_safe(positions: &[F32x4], neighbors: &[u32], mut forces: PerThread<F32x4>) {
    let atoms = forces.len();
    forces.each(|i, force| {
        let mine = positions[i];
        let mut sum = [0.0; 3];
        for k in 0..NEIGHBORS {
            let other = positions[neighbors[k * atoms + i] as usize];
            let (dx, dy, dz) = (mine[0] - other[0], mine[1] - other[1], mine[2] - other[2]);
            let squared = dx * dx + dy * dy + dz * dz;
            if squared < CUTOFF {
                let inverse = 1.0 / squared;
                let sixth = inverse * inverse * inverse;
                let factor = sixth * (48.0 * sixth - 24.0) * inverse;
                sum[0] += dx * factor;
                sum[1] += dy * factor;
                sum[2] += dz * factor;
            }
        }
        *force = F32x4::new(sum[0], sum[1], sum[2], 0.0);
    });
}

/// The Lennard-Jones force on each atom by its neighbors.
#[kernel(block_size(256))]
pub unsafe fn lennard_jones_raw(
    positions: *const F32x4,
    neighbors: *const u32,
    forces: *mut F32x4,
    atoms: usize,
) {
    let i = thread::index_1d() as usize;
    if i >= atoms {
        return;
    }
    let mine = *positions.add(i);
    let mut sum = [0.0; 3];
    for k in 0..NEIGHBORS {
        let other = *positions.add(*neighbors.add(k * atoms + i) as usize);
        let (dx, dy, dz) = (mine[0] - other[0], mine[1] - other[1], mine[2] - other[2]);
        let squared = dx * dx + dy * dy + dz * dz;
        if squared < CUTOFF {
            let inverse = 1.0 / squared;
            let sixth = inverse * inverse * inverse;
            let factor = sixth * (48.0 * sixth - 24.0) * inverse;
            sum[0] += dx * factor;
            sum[1] += dy * factor;
            sum[2] += dz * factor;
        }
    }
    *forces.add(i) = F32x4::new(sum[0], sum[1], sum[2], 0.0);
}

/// The number of steps of a path, two per pair of random numbers.
pub const STEPS: usize = 16;
/// The price at the start and the strike.
pub const PRICE: f32 = 100.0;
/// The drift per step.
pub const DRIFT: f32 = 0.0005;
/// The volatility per step.
pub const VOLATILITY: f32 = 0.02;

/// A generator of random numbers (xorshift).
#[derive(Clone, Copy)]
pub struct Xorshift(u32);

impl Xorshift {
    /// Creates the generator of a thread.
    #[inline(always)]
    pub fn new(thread: u32) -> Xorshift {
        Xorshift(thread.wrapping_mul(2_654_435_761) ^ 0x9e37_79b9 | 1)
    }

    /// Returns the next number.
    #[inline(always)]
    pub fn next_u32(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// Returns a number from 0, exclusive, to 1.
    #[inline(always)]
    pub fn uniform(&mut self) -> f32 {
        ((self.next_u32() >> 8) as f32 + 0.5) * (1.0 / 16_777_216.0)
    }

    /// Returns two normally distributed numbers.
    #[inline(always)]
    pub fn normals(&mut self) -> (f32, f32) {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (core::f32::consts::TAU * self.uniform()).sin_cos();
        (radius * cos, radius * sin)
    }
}

/// Returns the payoff of an Asian call on a random path. Shared by host and device.
#[inline(always)]
pub fn payoff(random: &mut Xorshift) -> f32 {
    let (mut price, mut sum) = (PRICE, 0.0);
    for _ in 0..STEPS / 2 {
        let (first, second) = random.normals();
        price *= (DRIFT + VOLATILITY * first).exp();
        sum += price;
        price *= (DRIFT + VOLATILITY * second).exp();
        sum += price;
    }
    (sum / STEPS as f32 - PRICE).max(0.0)
}

/// The sum of the payoffs of `paths` paths per thread, for each block.
#[kernel(block_size(256))]
pub fn asian_option_safe(paths: u32, mut to: PerBlock<f32>) {
    let mut random = Xorshift::new(thread::index() as u32);
    let sum = (0..paths).map(|_| payoff(&mut random)).sum();
    let sum = group::block().reduce(sum, |a: f32, b| a + b);
    to.each(|_, to| *to = sum);
}

/// The sum of the payoffs of `paths` paths per thread, for each block.
#[kernel(block_size(256))]
pub unsafe fn asian_option_raw(paths: u32, to: *mut f32) {
    let mut random = Xorshift::new(thread::index_1d());
    let mut sum = 0.0;
    for _ in 0..paths {
        sum += payoff(&mut random);
    }
    let shared = shared_array![f32; 8];
    sum = sum_of_block(sum, shared);
    if thread::thread_idx_x() == 0 {
        *to.add(thread::block_idx_x() as usize) = sum;
    }
}

/// The sum of the values of the 256 threads of a block, in the first thread.
#[inline(always)]
unsafe fn sum_of_block<T: AnyBits + Copy + core::ops::Add<Output = T>>(
    mut sum: T,
    shared: *mut T,
) -> T {
    let thread = thread::thread_idx_x() as usize;
    for distance in [16, 8, 4, 2, 1] {
        sum = sum + warp::shuffle_down(warp::FULL, sum, distance);
    }
    if thread % 32 == 0 {
        *shared.add(thread / 32) = sum;
    }
    thread::sync_threads();
    if thread == 0 {
        for i in 1..8 {
            sum = sum + *shared.add(i);
        }
    }
    sum
}

/// The second half of a step of conjugate gradients: updates the solution and the residual, and
/// returns the residual's squared length as one partial sum per block.
#[kernel(block_size(256))]
pub fn cg_update_safe(
    alpha: f64,
    p: &[f64],
    q: &[f64],
    mut x: PerThread<f64>,
    mut r: PerThread<f64>,
    mut sums: PerBlock<f64>,
) {
    let mut sum = 0.0;
    for ((i, x), (_, r)) in x.own().zip(r.own()) {
        *x += alpha * p[i];
        *r -= alpha * q[i];
        sum += *r * *r;
    }
    let sum = group::block().reduce(sum, |a, b| a + b);
    sums.each(|_, to| *to = sum);
}

/// The second half of a step of conjugate gradients: see [`cg_update_safe()`].
#[kernel(block_size(256))]
pub unsafe fn cg_update_raw(
    alpha: f64,
    p: *const f64,
    q: *const f64,
    x: *mut f64,
    r: *mut f64,
    sums: *mut f64,
    n: usize,
) {
    let step = thread::grid_size_1d() as usize;
    let mut i = thread::index_1d() as usize;
    let mut sum = 0.0;
    while i < n {
        *x.add(i) += alpha * *p.add(i);
        let residual = *r.add(i) - alpha * *q.add(i);
        *r.add(i) = residual;
        sum += residual * residual;
        i += step;
    }
    let shared = shared_array![f64; 8];
    sum = sum_of_block(sum, shared);
    if thread::thread_idx_x() == 0 {
        *sums.add(thread::block_idx_x() as usize) = sum;
    }
}
