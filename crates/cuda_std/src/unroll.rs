//! Explicit loop unrolling: C++'s `#pragma unroll`.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::unroll::unroll;
//!
//! /// Evaluates a polynomial of degree 11 at each point.
//! #[kernel]
//! pub fn polynomial(factors: [f32; 12], at: &[f32], mut to: PerThread<f32>) {
//!     to.each(|i, to| {
//!         let mut value = 0.0;
//!         unroll::<12>(|k| value = value * at[i] + factors[k]);
//!         *to = value;
//!     });
//! }
//! # fn main() {}
//! ```
//!
//! A local array is in registers only if all its indices are compile-time constants: for example, a
//! matrix of sums that `unroll::<4>(|i| unroll::<4>(|j| …))` or loops over indices access. An
//! iterator over the array, including `for x in [a, b, c]`, usually leaves it in local memory.
//!
//! libnvvm unrolls short loops with a constant trip count by itself, and accepts no hint for
//! others. [`unroll`] does not depend on libnvvm.

/// Calls `f` with the numbers from 0 to `N - 1`, unrolled. If `N` is larger than 32, the code is a
/// loop over groups of 32 calls.
#[inline(always)]
pub fn unroll<const N: usize>(mut f: impl FnMut(usize)) {
    let mut start = 0;
    while start + 32 <= N {
        sixteen(start, &mut f);
        sixteen(start + 16, &mut f);
        start += 32;
    }
    let start = const { N / 32 * 32 };
    if const { N & 16 != 0 } {
        sixteen(start, &mut f);
    }
    let start = start + (N & 16);
    if const { N & 8 != 0 } {
        eight(start, &mut f);
    }
    let start = start + (N & 8);
    if const { N & 4 != 0 } {
        four(start, &mut f);
    }
    let start = start + (N & 4);
    if const { N & 2 != 0 } {
        f(start);
        f(start + 1);
    }
    let start = start + (N & 2);
    if const { N & 1 != 0 } {
        f(start);
    }
}

#[inline(always)]
fn sixteen(start: usize, f: &mut impl FnMut(usize)) {
    eight(start, f);
    eight(start + 8, f);
}

#[inline(always)]
fn eight(start: usize, f: &mut impl FnMut(usize)) {
    four(start, f);
    four(start + 4, f);
}

#[inline(always)]
fn four(start: usize, f: &mut impl FnMut(usize)) {
    f(start);
    f(start + 1);
    f(start + 2);
    f(start + 3);
}

#[cfg(test)]
mod tests {
    use super::unroll;
    use std::vec::Vec;

    fn calls<const N: usize>() {
        let mut calls = Vec::new();
        unroll::<N>(|i| calls.push(i));
        assert!(calls.into_iter().eq(0..N), "{N}");
    }

    #[test]
    fn every_number_comes_once_in_order() {
        calls::<0>();
        calls::<1>();
        calls::<2>();
        calls::<7>();
        calls::<16>();
        calls::<31>();
        calls::<32>();
        calls::<33>();
        calls::<100>();
    }
}
