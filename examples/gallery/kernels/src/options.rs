//! `options`: the price of a European call option by Monte Carlo simulation.
//!
//! Each path has a subsequence of the generator of its own, so the random numbers do not depend on
//! the launch. Each thread sums the payoffs of its paths, and each block those of its threads. Look
//! at [`payoff`], which the CPU calls with the same random numbers. The model is that of Fischer
//! Black and Myron Scholes, "The pricing of options and corporate liabilities", *Journal of
//! Political Economy* 81 (1973); the method is Phelim Boyle's, "Options: a Monte Carlo approach",
//! *Journal of Financial Economics* 4 (1977).

use cuda_std::prelude::*;
use cuda_std::random::{Distribution, Normal, Philox};
use cuda_std::{PerBlock, group};
use cust_core::DeviceCopy;

/// A call option on a stock.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Call {
    /// The stock's price today.
    pub spot: f32,
    /// The price at which the option buys the stock.
    pub strike: f32,
    /// The riskless interest per year.
    pub rate: f32,
    /// The volatility per square root of a year.
    pub volatility: f32,
    /// The years to expiry.
    pub years: f32,
}

/// Returns the discounted payoff of a path.
#[must_use]
pub fn payoff(call: &Call, seed: u64, path: u64) -> f32 {
    let mut random = Philox::new(seed, path, 0);
    let normal: f32 = Normal::new(0.0f32, 1.0).sample(&mut random);
    let deviation = call.volatility * call.years.sqrt();
    let drift = (call.rate - 0.5 * call.volatility * call.volatility) * call.years;
    let price = call.spot * (drift + deviation * normal).exp();
    (price - call.strike).max(0.0) * (-call.rate * call.years).exp()
}

/// Sums the payoffs of `count` paths from `first` on, and their squares, in each block.
#[kernel]
pub fn simulate(call: Call, seed: u64, first: u64, count: u64, mut sums: PerBlock<[f64; 2]>) {
    let mut own = [0.0; 2];
    let mut path = thread::index();
    while path < count {
        let payoff = f64::from(payoff(&call, seed, first + path));
        own = [own[0] + payoff, own[1] + payoff * payoff];
        path += thread::grid_size();
    }
    let sum = group::block().reduce(own, |a, b| [a[0] + b[0], a[1] + b[1]]);
    sums.each(|_, to| *to = sum);
}
