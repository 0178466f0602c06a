//! Compute-bound kernels: the Mandelbrot set, option prices, and a sieve for prime numbers.

use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::prelude::*;
use cuda_std::scope::Block;
use cuda_std::shared::{Array, Shared};
use cuda_std::{PerBlock, PerThread2d, group, warp};

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

/// The number of odd numbers per segment of the sieve.
pub const SEGMENT: usize = 1 << 16;
/// The number of words per segment.
const WORDS: usize = SEGMENT / 32;
/// The number of primes whose multiples all threads of a block mark together.
const SMALL: usize = 64;

/// Returns the place of the first odd multiple of a prime in the segment that starts at the even
/// number `start`, or that of its square, if that is higher. Place `i` is the number
/// `start + 2 * i + 1`.
#[inline(always)]
pub fn first_multiple(prime: u32, start: u32) -> u32 {
    let multiple = start.div_ceil(prime) * prime;
    let odd = if multiple % 2 == 0 {
        multiple + prime
    } else {
        multiple
    };
    (odd.max(prime * prime) - start) / 2
}

/// Marks the places from `first` in steps of `step`.
#[inline(always)]
fn mark(composite: &[Atomic<u32, Block>; WORDS], first: u32, step: u32) {
    for place in (first..SEGMENT as u32).step_by(step as usize) {
        composite[place as usize / 32].fetch_or(1 << (place % 32), Relaxed);
    }
}

/// The number of primes per segment, by the sieve of Eratosthenes in shared memory. `primes` has the
/// odd primes up to the root of the highest number. The number 1 counts in place of 2.
#[kernel(block_size(256))]
pub fn prime_sieve_safe(
    #[shared] mut composite: Shared<Array<Atomic<u32, Block>, WORDS>>,
    primes: &[u32],
    mut to: PerBlock<u32>,
) {
    let (small, large) = primes.split_at(SMALL.min(primes.len()));
    let thread = thread::index_in_block();
    for mut piece in to.pieces() {
        let start = (piece.start() * SEGMENT * 2) as u32;
        composite.own().each(|_, word| *word.get_mut() = 0);
        composite.read(|composite| {
            for &prime in small {
                let first = first_multiple(prime, start) + thread * prime;
                mark(composite, first, thread::threads_in_block() * prime);
            }
            for i in thread::block_stride(large.len()) {
                mark(composite, first_multiple(large[i], start), large[i]);
            }
        });
        let mut count = 0;
        composite
            .own()
            .each(|_, word| count += word.get_mut().count_zeros());
        let count = group::block().reduce(count, |a, b| a + b);
        piece.each(|_, to| *to = count);
    }
}

/// The number of primes per segment: see [`prime_sieve_safe()`].
#[kernel(block_size(256))]
pub unsafe fn prime_sieve_raw(primes: *const u32, count: usize, to: *mut u32) {
    const THREADS: usize = 256;
    let composite = shared_array![u32; WORDS];
    let sums = shared_array![u32; THREADS / 32];
    let thread = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() * SEGMENT as u32 * 2;
    for i in (thread..WORDS).step_by(THREADS) {
        *composite.add(i) = 0;
    }
    thread::sync_threads();
    let mark = |first: u32, step: u32| {
        let mut place = first;
        while place < SEGMENT as u32 {
            let word = composite.add((place / 32) as usize);
            Atomic::<u32, Block>::from_ptr(word).fetch_or(1 << (place % 32), Relaxed);
            place += step;
        }
    };
    let small = SMALL.min(count);
    for i in 0..small {
        let prime = *primes.add(i);
        let first = first_multiple(prime, start) + thread as u32 * prime;
        mark(first, THREADS as u32 * prime);
    }
    for i in (small + thread..count).step_by(THREADS) {
        let prime = *primes.add(i);
        mark(first_multiple(prime, start), prime);
    }
    thread::sync_threads();
    let mut sum = 0;
    for i in (thread..WORDS).step_by(THREADS) {
        sum += (*composite.add(i)).count_zeros();
    }
    for distance in [16, 8, 4, 2, 1] {
        sum += warp::shuffle_down(warp::FULL, sum, distance);
    }
    if thread % 32 == 0 {
        *sums.add(thread / 32) = sum;
    }
    thread::sync_threads();
    if thread == 0 {
        for i in 1..THREADS / 32 {
            sum += *sums.add(i);
        }
        *to.add(thread::block_idx_x() as usize) = sum;
    }
}
