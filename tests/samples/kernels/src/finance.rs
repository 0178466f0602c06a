//! Option pricing, and random or quasi-random numbers.

use cuda_std::atomic::{Atomic, Ordering::*};
use cuda_std::group::{self, Group};
use cuda_std::prelude::*;
use cuda_std::random::{Distribution, HalfOpen, Normal, Philox, Rng, Xorwow};
use cuda_std::scope::Device;
use cuda_std::shared::{Array, Shared};
use cust_core::DeviceCopy;

/// An option: what host and device both know.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Contract {
    /// The share's price.
    pub price: f32,
    /// The price agreed on.
    pub strike: f32,
    /// How long, in years.
    pub years: f32,
}

/// Of the market.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Market {
    /// Interest without risk.
    pub rate: f32,
    /// How much the price moves.
    pub volatility: f32,
}

impl Contract {
    /// The prices of call and put after Black and Scholes. Host and device share it.
    pub fn black_scholes(&self, market: Market) -> [f32; 2] {
        let Contract {
            price,
            strike,
            years,
        } = *self;
        let spread = market.volatility * years.sqrt();
        let d1 = ((price / strike).ln()
            + (market.rate + 0.5 * market.volatility * market.volatility) * years)
            / spread;
        let d2 = d1 - spread;
        let discount = (-market.rate * years).exp();
        let call = price * cumulative(d1) - strike * discount * cumulative(d2);
        let put = strike * discount * cumulative(-d2) - price * cumulative(-d1);
        [call, put]
    }
}

/// The normal distribution's integral, by a polynomial.
fn cumulative(x: f32) -> f32 {
    const FACTORS: [f32; 5] = [
        0.319_381_53,
        -0.356_563_78,
        1.781_477_9,
        -1.821_256,
        1.330_274_4,
    ];
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let sum = FACTORS
        .iter()
        .rev()
        .fold(0.0, |sum, factor| (sum + factor) * k);
    let tail = 0.398_942_3 * (-0.5 * x * x).exp() * sum;
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// Call and put of each contract, in two arrays.
#[kernel]
pub fn black_scholes(
    contracts: &[Contract],
    market: Market,
    mut call: PerThread<f32>,
    mut put: PerThread<f32>,
) {
    let index = thread::UniqueIndex::new();
    if let (Some(call), Some(put)) = (call.get_mut(index), put.get_mut(index)) {
        [*call, *put] = contracts[index.get()].black_scholes(market);
    }
}

/// Steps of the binomial tree.
pub const STEPS: usize = 127;

/// The price of a call by a binomial tree: a block for each contract, a thread for each node.
#[kernel(block_size(128))]
pub fn binomial(
    #[shared] mut nodes: Shared<Array<f32, 128>>,
    contracts: &[Contract],
    market: Market,
    mut to: cuda_std::PerBlock<f32>,
) {
    let Contract {
        price,
        strike,
        years,
    } = contracts[thread::block_index() as usize];
    let dt = years / STEPS as f32;
    let spread = market.volatility * dt.sqrt();
    let growth = (market.rate * dt).exp();
    let (up, down) = (spread.exp(), (-spread).exp());
    let chance = (growth - down) / (up - down);
    let (rising, falling) = (chance / growth, (1.0 - chance) / growth);
    let i = thread::index_in_block() as usize;
    let mut value = (price * (spread * (2.0 * i as f32 - STEPS as f32)).exp() - strike).max(0.0);
    for step in (0..STEPS).rev() {
        nodes.own().each(|_, node| *node = value);
        nodes.read(|nodes| {
            if i <= step {
                value = rising * nodes[i + 1] + falling * nodes[i];
            }
        });
    }
    to.each(|_, to| *to = value);
}

/// How many of `count` points for each thread are in the quarter of a circle.
fn hits(mut random: impl Rng, count: u32) -> u32 {
    let mut hits = 0;
    for _ in 0..count {
        let x: f32 = HalfOpen.sample(&mut random);
        let y: f32 = HalfOpen.sample(&mut random);
        hits += u32::from(x * x + y * y < 1.0);
    }
    hits
}

/// Points in a circle, by a generator of the caller's choice. A number of the host's says which.
#[kernel]
pub fn monte_carlo_pi(generator: u32, seed: u64, count: u32, inside: &Atomic<u32, Device>) {
    let sequence = thread::index();
    let mine = match generator {
        0 => hits(Philox::new(seed, sequence, 0), count),
        _ => hits(Xorwow::new(seed, sequence, 0), count),
    };
    let sum = group::block().reduce(mine, |a, b| a + b);
    if group::block().is_first() {
        inside.fetch_add(sum, Relaxed);
    }
}

/// The price of a call by paths that end at random.
#[kernel]
pub fn monte_carlo_call(contract: Contract, market: Market, paths: u32, mut to: PerThread<f32>) {
    let mut random = Philox::new(7, thread::index(), 0);
    let Contract {
        price,
        strike,
        years,
    } = contract;
    let drift = (market.rate - 0.5 * market.volatility * market.volatility) * years;
    let normal = Normal::new(drift, market.volatility * years.sqrt());
    let mut sum = 0.0;
    for _ in 0..paths {
        sum += (price * normal.sample(&mut random).exp() - strike).max(0.0);
    }
    to.each(|_, to| *to = sum / paths as f32 * (-market.rate * years).exp());
}

/// Sobol's direction numbers, which the host puts there: 31 bits for each of 3 dimensions.
#[constant]
pub static DIRECTIONS: [[u32; 31]; 3] = [[0; 31]; 3];

/// Sobol's sequence: numbers that fill the cube evenly. Dimension by dimension, as the grid's `y` says.
#[kernel]
pub fn sobol(mut to: cuda_std::PerThread2d<f32>) {
    to.each(|(x, y), to| {
        let gray = x ^ (x >> 1);
        let mut bits = 0;
        for (bit, direction) in DIRECTIONS[y].iter().enumerate() {
            if gray >> bit & 1 == 1 {
                bits ^= direction;
            }
        }
        *to = bits as f32 / (1u64 << 32) as f32;
    });
}
