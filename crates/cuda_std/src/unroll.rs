//! Loops that are written out: what `#pragma unroll` does in C++.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::unroll::unroll;
//!
//! /// The value of a polynomial of degree 11 at each place.
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
//! An array of the thread's own is in registers only where all of its indices are known when compiling: a
//! matrix of sums, say, that is gone through by `unroll::<4>(|i| unroll::<4>(|j| …))`, or by loops over
//! indices. An iterator over it, `for x in [a, b, c]` too, mostly leaves it in local memory.
//!
//! libnvvm unrolls short loops of constant length by itself, and there is no hint that it would take
//! for others. [`unroll`] does not depend on it.

/// Calls a function with the numbers from 0 to `N`, one call after the other in the code; more than 32 in
/// pieces of 32.
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
