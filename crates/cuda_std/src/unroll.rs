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
//! matrix of sums that `unroll::<4>(|i| unroll::<4>(|j| …))` or loops over indices access. Loops over
//! an array itself and its slices are unrolled, too; `flatten`, `flat_map` and `chain` mostly are not.
//! If the kernel has a `block_size`, the compiler moves such an array to shared memory where it fits,
//! unless it has bytes or indices of other memory, or a reference leaves the kernel's own code.
//!
//! libnvvm unrolls short loops with a constant trip count by itself, and accepts no hint for
//! others. [`unroll`] does not depend on libnvvm.

/// Calls `f` with the numbers from 0 to `N - 1`, unrolled. If `N` is 256 or more, the code is a
/// loop over groups of 128 calls.
#[inline(always)]
pub fn unroll<const N: usize>(mut f: impl FnMut(usize)) {
    const GROUP: usize = 128;
    let mut start = 0;
    if const { N >= 2 * GROUP } {
        while start < const { N / GROUP * GROUP } {
            many(start, &mut f);
            start += GROUP;
        }
    } else if const { N >= GROUP } {
        many(0, &mut f);
    }
    let start = const { N / GROUP * GROUP };
    if const { N & 64 != 0 } {
        sixty_four(start, &mut f);
    }
    let start = start + (N & 64);
    if const { N & 32 != 0 } {
        thirty_two(start, &mut f);
    }
    let start = start + (N & 32);
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
fn many(start: usize, f: &mut impl FnMut(usize)) {
    sixty_four(start, f);
    sixty_four(start + 64, f);
}

#[inline(always)]
fn sixty_four(start: usize, f: &mut impl FnMut(usize)) {
    thirty_two(start, f);
    thirty_two(start + 32, f);
}

#[inline(always)]
fn thirty_two(start: usize, f: &mut impl FnMut(usize)) {
    sixteen(start, f);
    sixteen(start + 16, f);
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
        calls::<128>();
        calls::<255>();
        calls::<256>();
        calls::<300>();
    }
}
