//! Recurrences: tridiagonal systems by parallel cyclic reduction, recursive filters, and options
//! priced by binomial trees.

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::{PerBlock, PerColumn};
use cust_core::DeviceCopy;

/// The number of equations of a system of [`cyclic_reduction_safe()`].
pub const EQUATIONS: usize = 256;

/// A diagonal or the right-hand side of a system in shared memory.
type Column = Array<f32, EQUATIONS>;

/// The solutions of tridiagonal systems by parallel cyclic reduction, one system per block and one
/// equation per thread. `a`, `b` and `c` are the diagonals below, on and above the main diagonal,
/// and `d` is the right-hand side. The first `a` and the last `c` of each system are zero.
#[kernel(block_size(256))]
pub fn cyclic_reduction_safe(
    #[shared] mut shared: Shared<(Column, Column, Column, Column)>,
    a: &[f32],
    b: &[f32],
    c: &[f32],
    d: &[f32],
    mut to: PerBlock<f32, EQUATIONS>,
) {
    let row = thread::index_in_block() as usize;
    for mut system in to.pieces() {
        let i = system.start() + row;
        let (mut a, mut b, mut c, mut d) = (a[i], b[i], c[i], d[i]);
        let mut stride = 1;
        while stride < EQUATIONS {
            let (own_a, own_b, own_c, own_d) = shared.own();
            own_a.each(|_, to| *to = a);
            own_b.each(|_, to| *to = b);
            own_c.each(|_, to| *to = c);
            own_d.each(|_, to| *to = d);
            shared.read(|(all_a, all_b, all_c, all_d)| {
                let left = row.saturating_sub(stride);
                let right = (row + stride).min(EQUATIONS - 1);
                let (alpha, gamma) = (-a / all_b[left], -c / all_b[right]);
                b += alpha * all_c[left] + gamma * all_a[right];
                d += alpha * all_d[left] + gamma * all_d[right];
                a = alpha * all_a[left];
                c = gamma * all_c[right];
            });
            stride *= 2;
        }
        system.each(|_, to| *to = d / b);
    }
}

/// The solutions of tridiagonal systems: see [`cyclic_reduction_safe()`].
#[kernel(block_size(256))]
pub unsafe fn cyclic_reduction_raw(
    a: *const f32,
    b: *const f32,
    c: *const f32,
    d: *const f32,
    to: *mut f32,
) {
    let all_a = shared_array![f32; EQUATIONS];
    let all_b = shared_array![f32; EQUATIONS];
    let all_c = shared_array![f32; EQUATIONS];
    let all_d = shared_array![f32; EQUATIONS];
    let row = thread::thread_idx_x() as usize;
    let i = thread::block_idx_x() as usize * EQUATIONS + row;
    let (mut a, mut b, mut c, mut d) = (*a.add(i), *b.add(i), *c.add(i), *d.add(i));
    let mut stride = 1;
    while stride < EQUATIONS {
        *all_a.add(row) = a;
        *all_b.add(row) = b;
        *all_c.add(row) = c;
        *all_d.add(row) = d;
        thread::sync_threads();
        let left = row.saturating_sub(stride);
        let right = (row + stride).min(EQUATIONS - 1);
        let (alpha, gamma) = (-a / *all_b.add(left), -c / *all_b.add(right));
        b += alpha * *all_c.add(left) + gamma * *all_a.add(right);
        d += alpha * *all_d.add(left) + gamma * *all_d.add(right);
        a = alpha * *all_a.add(left);
        c = gamma * *all_c.add(right);
        thread::sync_threads();
        stride *= 2;
    }
    *to.add(i) = d / b;
}

/// The number of sections of a filter of [`biquad_safe()`].
pub const SECTIONS: usize = 4;

/// The coefficients of a recursive filter of second order.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Biquad {
    /// The factor of the sample.
    pub b0: f32,
    /// The factor of the previous sample.
    pub b1: f32,
    /// The factor of the sample before the previous one.
    pub b2: f32,
    /// The factor of the previous result.
    pub a1: f32,
    /// The factor of the result before the previous one.
    pub a2: f32,
}

impl Biquad {
    /// Returns the result for a sample, and updates the filter's state (transposed direct form II).
    #[inline(always)]
    fn filter(&self, sample: f32, state: &mut [f32; 2]) -> f32 {
        let result = self.b0 * sample + state[0];
        state[0] = self.b1 * sample - self.a1 * result + state[1];
        state[1] = self.b2 * sample - self.a2 * result;
        result
    }
}

/// A bank of recursive filters, one channel per thread. Each channel is a column of samples and has
/// its own filter of [`SECTIONS`] sections in a row.
#[kernel(block_size(128))]
pub fn biquad_safe(filters: &[[Biquad; SECTIONS]], from: &[f32], mut to: PerColumn<f32>) {
    let channels = to.width();
    to.each(|channel, mut results| {
        let sections = filters[channel];
        let mut states = [[0.0; 2]; SECTIONS];
        for frame in 0..results.len() {
            let mut sample = from[frame * channels + channel];
            for (section, state) in sections.iter().zip(&mut states) {
                sample = section.filter(sample, state);
            }
            results[frame] = sample;
        }
    });
}

/// A bank of recursive filters: see [`biquad_safe()`].
#[kernel(block_size(128))]
pub unsafe fn biquad_raw(
    filters: *const Biquad,
    from: *const f32,
    to: *mut f32,
    frames: usize,
    channels: usize,
) {
    let channel = thread::index_1d() as usize;
    if channel >= channels {
        return;
    }
    let sections = *filters.cast::<[Biquad; SECTIONS]>().add(channel);
    let mut states = [[0.0; 2]; SECTIONS];
    for frame in 0..frames {
        let mut sample = *from.add(frame * channels + channel);
        for k in 0..SECTIONS {
            sample = sections[k].filter(sample, &mut states[k]);
        }
        *to.add(frame * channels + channel) = sample;
    }
}

/// The number of steps of the tree of [`binomial_safe()`].
pub const STEPS: usize = 255;

/// An American put option.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Contract {
    /// The price of the stock today.
    pub price: f32,
    /// The price at which the owner may sell.
    pub strike: f32,
    /// The time until the option expires.
    pub years: f32,
}

/// The prices of American put options by binomial trees with early exercise, one option per block
/// and one node per thread.
#[kernel(block_size(256))]
pub fn binomial_safe(
    #[shared] mut values: Shared<Array<f32, { STEPS + 1 }>>,
    contracts: &[Contract],
    rate: f32,
    volatility: f32,
    mut to: PerBlock<f32>,
) {
    let node = thread::index_in_block() as usize;
    let contract = contracts[thread::block_index() as usize];
    let dt = contract.years / STEPS as f32;
    let spread = volatility * dt.sqrt();
    let (up, down) = (spread.exp(), (-spread).exp());
    let growth = (rate * dt).exp();
    let chance = (growth - down) / (up - down);
    let (rising, falling) = (chance / growth, (1.0 - chance) / growth);
    let mut spot = contract.price * (spread * (2.0 * node as f32 - STEPS as f32)).exp();
    let mut value = (contract.strike - spot).max(0.0);
    for step in (0..STEPS).rev() {
        values.own().each(|_, to| *to = value);
        values.read(|values| {
            if node <= step {
                spot *= up;
                let kept = rising * values[node + 1] + falling * value;
                value = kept.max(contract.strike - spot);
            }
        });
    }
    to.each(|_, to| *to = value);
}

/// The prices of American put options: see [`binomial_safe()`].
#[kernel(block_size(256))]
pub unsafe fn binomial_raw(contracts: *const Contract, rate: f32, volatility: f32, to: *mut f32) {
    let values = shared_array![f32; STEPS + 1];
    let node = thread::thread_idx_x() as usize;
    let option = thread::block_idx_x() as usize;
    let contract = *contracts.add(option);
    let dt = contract.years / STEPS as f32;
    let spread = volatility * dt.sqrt();
    let (up, down) = (spread.exp(), (-spread).exp());
    let growth = (rate * dt).exp();
    let chance = (growth - down) / (up - down);
    let (rising, falling) = (chance / growth, (1.0 - chance) / growth);
    let mut spot = contract.price * (spread * (2.0 * node as f32 - STEPS as f32)).exp();
    let mut value = (contract.strike - spot).max(0.0);
    for step in (0..STEPS).rev() {
        *values.add(node) = value;
        thread::sync_threads();
        if node <= step {
            spot *= up;
            let kept = rising * *values.add(node + 1) + falling * value;
            value = kept.max(contract.strike - spot);
        }
        thread::sync_threads();
    }
    if node == 0 {
        *to.add(option) = value;
    }
}
