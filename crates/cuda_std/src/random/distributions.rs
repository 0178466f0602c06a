//! Distributions: numbers with a given distribution, drawn from a random number generator.
//!
//! ```
//! use cuda_std::random::{Bernoulli, Distribution, Philox, Uniform};
//!
//! let mut random = Philox::new(1, 0, 0);
//! let dice = Uniform::<u32>::new(1, 6);
//! let sum = dice.sample(&mut random) + dice.sample(&mut random);
//! assert!((2..=12).contains(&sum));
//! assert!(Bernoulli::new(1.0).sample(&mut random));
//! ```

use super::Rng;
use super::math::Math;
use crate::float::GpuFloat;

/// A distribution of random numbers.
pub trait Distribution<T> {
    /// Draws a number.
    fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> T;
}

/// Uniformly distributed floats in (0, 1]: suitable as argument of a logarithm. The numbers are
/// those of cuRAND's `curand_uniform()` and `curand_uniform_double()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Positive;

/// Uniformly distributed floats in [0, 1), multiples of the spacing of floats just below 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HalfOpen;

impl Distribution<f32> for Positive {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> f32 {
        const SPACING: f32 = 1.0 / 4_294_967_296.0;
        GpuFloat::mul_add(random.next_u32() as f32, SPACING, SPACING / 2.0)
    }
}

impl Distribution<f64> for Positive {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> f64 {
        const SPACING: f64 = 1.0 / 9_007_199_254_740_992.0;
        let (low, high) = (random.next_u32(), random.next_u32());
        let bits = u64::from(low) ^ u64::from(high) << (53 - 32);
        GpuFloat::mul_add(bits as f64, SPACING, SPACING / 2.0)
    }
}

impl Distribution<f32> for HalfOpen {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> f32 {
        (random.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0)
    }
}

impl Distribution<f64> for HalfOpen {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> f64 {
        (random.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
}

/// Uniformly distributed numbers of a range. Integers include both bounds and are unbiased. Floats
/// include the lower bound and exclude the upper bound, except for rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform<T> {
    lowest: T,
    width: T,
}

macro_rules! uniform_float {
    ($($ty:ident)*) => {$(
        impl Uniform<$ty> {
            /// Creates the uniform distribution from `lowest` to `highest`.
            #[inline]
            #[must_use]
            pub const fn new(lowest: $ty, highest: $ty) -> Self {
                Uniform { lowest, width: highest - lowest }
            }
        }

        impl Distribution<$ty> for Uniform<$ty> {
            #[inline]
            fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> $ty {
                let unit: $ty = HalfOpen.sample(random);
                GpuFloat::mul_add(unit, self.width, self.lowest)
            }
        }
    )*};
}
uniform_float!(f32 f64);

macro_rules! uniform_integer {
    ($($ty:ident $unsigned:ident $word:ident $double:ident $next:ident;)*) => {$(
        impl Uniform<$ty> {
            /// Creates the uniform distribution from `lowest` to `highest`, both included. If
            /// `highest` is less than `lowest`, the range wraps around.
            #[inline]
            #[must_use]
            pub const fn new(lowest: $ty, highest: $ty) -> Self {
                Uniform { lowest, width: highest.wrapping_sub(lowest) }
            }
        }

        impl Distribution<$ty> for Uniform<$ty> {
            #[inline]
            fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> $ty {
                // The high word of the product is unbiased, except for a few values of the low
                // word, which are drawn again (Lemire, "Fast random integer generation in an
                // interval").
                let count = (self.width as $unsigned as $word).wrapping_add(1);
                if count == 0 {
                    return random.$next() as $ty;
                }
                let mut product = random.$next() as $double * count as $double;
                if (product as $word) < count {
                    let few = count.wrapping_neg() % count;
                    while (product as $word) < few {
                        product = random.$next() as $double * count as $double;
                    }
                }
                self.lowest.wrapping_add((product >> $word::BITS) as $ty)
            }
        }
    )*};
}
uniform_integer! {
    u8 u8 u32 u64 next_u32;
    i8 u8 u32 u64 next_u32;
    u16 u16 u32 u64 next_u32;
    i16 u16 u32 u64 next_u32;
    u32 u32 u32 u64 next_u32;
    i32 u32 u32 u64 next_u32;
    u64 u64 u64 u128 next_u64;
    i64 u64 u64 u128 next_u64;
    usize usize u64 u128 next_u64;
}

/// `true` with a given probability, otherwise `false`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bernoulli {
    probability: f64,
}

impl Bernoulli {
    /// Creates a distribution of `true` with this probability: always for 1 or more, never for 0,
    /// less, or NaN.
    #[inline]
    #[must_use]
    pub const fn new(probability: f64) -> Self {
        Bernoulli { probability }
    }
}

impl Distribution<bool> for Bernoulli {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> bool {
        let unit: f64 = HalfOpen.sample(random);
        unit < self.probability
    }
}

/// The normal distribution, by the Box–Muller transform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normal<T> {
    mean: T,
    deviation: T,
}

/// The log-normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal<T>(Normal<T>);

/// The exponential distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential<T> {
    mean: T,
}

impl<T: Copy> Normal<T> {
    /// Creates the normal distribution with this mean and standard deviation.
    #[inline]
    #[must_use]
    pub const fn new(mean: T, deviation: T) -> Self {
        Normal { mean, deviation }
    }
}

impl<T: Copy> LogNormal<T> {
    /// Creates the distribution of numbers whose logarithms have this mean and standard deviation.
    #[inline]
    #[must_use]
    pub const fn new(mean: T, deviation: T) -> Self {
        LogNormal(Normal::new(mean, deviation))
    }
}

impl<T: Copy> Exponential<T> {
    /// Creates the exponential distribution with this mean, the inverse of the rate.
    #[inline]
    #[must_use]
    pub const fn new(mean: T) -> Self {
        Exponential { mean }
    }
}

macro_rules! continuous {
    ($($ty:ident)*) => {$(
        impl Normal<$ty> {
            /// Draws two numbers, at the cost of one.
            #[inline]
            pub fn sample2<R: Rng + ?Sized>(&self, random: &mut R) -> [$ty; 2] {
                let length: $ty = Positive.sample(random);
                let turns: $ty = Positive.sample(random);
                let radius = GpuFloat::sqrt(-2.0 * length.logarithm());
                let (sin, cos) = turns.sin_cos_turns();
                [radius * sin, radius * cos]
                    .map(|unit| GpuFloat::mul_add(unit, self.deviation, self.mean))
            }
        }

        impl Distribution<$ty> for Normal<$ty> {
            #[inline]
            fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> $ty {
                self.sample2(random)[0]
            }
        }

        /// Uses the exponential function of the device or the host, so the numbers of device and
        /// host may differ by a few ulps.
        impl Distribution<$ty> for LogNormal<$ty> {
            #[inline]
            fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> $ty {
                GpuFloat::exp(self.0.sample(random))
            }
        }

        impl Distribution<$ty> for Exponential<$ty> {
            #[inline]
            fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> $ty {
                let unit: $ty = Positive.sample(random);
                -unit.logarithm() * self.mean
            }
        }
    )*};
}
continuous!(f32 f64);

/// The Poisson distribution: the number of independent events that occur at a mean rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson {
    mean: f64,
}

impl Poisson {
    /// Creates the Poisson distribution with this mean. The time to draw a number is proportional
    /// to the mean.
    #[inline]
    #[must_use]
    pub const fn new(mean: f64) -> Self {
        Poisson { mean }
    }
}

impl Distribution<u32> for Poisson {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, random: &mut R) -> u32 {
        // Times between events are exponentially distributed: count how many fit into the mean.
        let between = Exponential::<f64>::new(1.0);
        let (mut time, mut count) = (between.sample(random), 0);
        while time < self.mean && count < u32::MAX {
            time += between.sample(random);
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Philox, Xorwow};
    use super::*;

    /// Returns the mean and the variance of numbers.
    fn moments(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for number in numbers {
            count += 1.0;
            sum += number;
            squares += number * number;
        }
        let mean = sum / count;
        (mean, squares / count - mean * mean)
    }

    fn check<T>(distribution: impl Distribution<T>, to: fn(T) -> f64, mean: f64, variance: f64) {
        let mut philox = Philox::new(1, 2, 3);
        let mut xorwow = Xorwow::new(1, 2, 3);
        let found = [
            moments((0..100_000).map(|_| to(distribution.sample(&mut philox)))),
            moments((0..100_000).map(|_| to(distribution.sample(&mut xorwow)))),
        ];
        for (of_mean, of_variance) in found {
            let near = 5.0 * (variance / 100_000.0).sqrt();
            assert!((of_mean - mean).abs() < near, "{of_mean}, not {mean}");
            assert!(
                (of_variance / variance - 1.0).abs() < 0.1,
                "{of_variance}, not {variance}"
            );
        }
    }

    #[test]
    fn moments_are_the_distributions() {
        check::<f32>(Positive, f64::from, 0.5, 1.0 / 12.0);
        check::<f64>(HalfOpen, |x| x, 0.5, 1.0 / 12.0);
        check(Uniform::<f32>::new(-1.0, 3.0), f64::from, 1.0, 16.0 / 12.0);
        check(
            Uniform::<i8>::new(-100, 99),
            f64::from,
            -0.5,
            39_999.0 / 12.0,
        );
        check(Uniform::<u64>::new(1, 6), |x| x as f64, 3.5, 35.0 / 12.0);
        check(Normal::<f32>::new(2.0, 3.0), f64::from, 2.0, 9.0);
        check(Normal::<f64>::new(-1.0, 0.5), |x| x, -1.0, 0.25);
        check(Exponential::<f32>::new(2.0), f64::from, 2.0, 4.0);
        check(
            Bernoulli::new(0.25),
            |x| f64::from(u8::from(x)),
            0.25,
            0.1875,
        );
        check(Poisson::new(4.0), f64::from, 4.0, 4.0);
        let e = core::f64::consts::E;
        check(
            LogNormal::<f64>::new(0.0, 0.5),
            |x| x,
            e.powf(0.125),
            (e.powf(0.25) - 1.0) * e.powf(0.25),
        );
    }

    #[test]
    fn ranges_are_kept() {
        let mut random = Philox::new(9, 0, 0);
        let mut seen = [0u32; 7];
        for _ in 0..7_000 {
            let x = Uniform::<i32>::new(-3, 3).sample(&mut random);
            seen[(x + 3) as usize] += 1;
        }
        assert!(
            seen.iter().all(|count| (850..1150).contains(count)),
            "{seen:?}"
        );
        assert_eq!(Uniform::<u8>::new(5, 5).sample(&mut random), 5);
        let all = Uniform::<u32>::new(0, u32::MAX);
        let mut same = random;
        assert_eq!(all.sample(&mut random), same.next_u32());
    }
}
