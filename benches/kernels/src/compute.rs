//! Compute-bound kernels: the Mandelbrot set and option prices.

use cuda_std::PerThread2d;
use cuda_std::prelude::*;

/// The maximum number of steps per point of the Mandelbrot set.
pub const STEPS: u32 = 256;

/// Returns the number of steps until a point of the plane escapes. Shared by host and device.
#[inline(always)]
pub fn escape(cx: f64, cy: f64) -> u32 {
    let (mut x, mut y) = (0.0, 0.0);
    let mut steps = 0;
    while steps < STEPS && x * x + y * y <= 4.0 {
        let next = x * x - y * y + cx;
        y = 2.0 * x * y + cy;
        x = next;
        steps += 1;
    }
    steps
}

/// The Mandelbrot set: the square with the corner (-2, -1.5) and `size` pixels per side.
#[kernel(block_size(16, 16))]
pub fn mandelbrot_safe(pixel: f64, mut to: PerThread2d<u32>) {
    to.each(|(x, y), to| *to = escape(x as f64 * pixel - 2.0, y as f64 * pixel - 1.5));
}

/// The Mandelbrot set.
#[kernel(block_size(16, 16))]
pub unsafe fn mandelbrot_raw(pixel: f64, to: *mut u32, width: usize, height: usize) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x < width && y < height {
        *to.add(y * width + x) = escape(x as f64 * pixel - 2.0, y as f64 * pixel - 1.5);
    }
}

/// The risk-free interest rate.
pub const RATE: f32 = 0.02;
/// The volatility.
pub const VOLATILITY: f32 = 0.30;

/// The cumulative normal distribution, by a polynomial.
#[inline(always)]
fn cumulative(d: f32) -> f32 {
    const FACTORS: [f32; 5] = [
        0.319_381_53,
        -0.356_563_78,
        1.781_477_9,
        -1.821_256,
        1.330_274_4,
    ];
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let sum = FACTORS
        .iter()
        .rev()
        .fold(0.0, |sum, factor| (sum + factor) * k);
    let tail = 0.398_942_3 * (-0.5 * d * d).exp() * sum;
    if d > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the Black–Scholes prices of call and put. Shared by host and device.
#[inline(always)]
pub fn prices(price: f32, strike: f32, years: f32) -> (f32, f32) {
    let root = years.sqrt();
    let d1 = ((price / strike).ln() + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years)
        / (VOLATILITY * root);
    let d2 = d1 - VOLATILITY * root;
    let (c1, c2) = (cumulative(d1), cumulative(d2));
    let discounted = strike * (-RATE * years).exp();
    (
        price * c1 - discounted * c2,
        discounted * (1.0 - c2) - price * (1.0 - c1),
    )
}

/// The prices of call and put of each option.
#[kernel(block_size(128))]
pub fn black_scholes_safe(
    price: &[f32],
    strike: &[f32],
    years: &[f32],
    mut call: PerThread<f32>,
    mut put: PerThread<f32>,
) {
    let index = thread::UniqueIndex::new();
    let i = index.get();
    if let (Some(call), Some(put)) = (call.get_mut(index), put.get_mut(index)) {
        (*call, *put) = prices(price[i], strike[i], years[i]);
    }
}

/// The prices of call and put of each option.
#[kernel(block_size(128))]
pub unsafe fn black_scholes_raw(
    price: *const f32,
    strike: *const f32,
    years: *const f32,
    call: *mut f32,
    put: *mut f32,
    n: usize,
) {
    let i = thread::index_1d() as usize;
    if i < n {
        (*call.add(i), *put.add(i)) = prices(*price.add(i), *strike.add(i), *years.add(i));
    }
}
