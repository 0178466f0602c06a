//! Windows of neighboring elements in an array of constant size, with one bounds check for all of
//! them: for stencils.
//!
//! ```
//! use cuda_std::Window;
//! use cuda_std::prelude::*;
//! use cuda_std::shared::{Array, Shared};
//!
//! /// The sum of each element of a chunk and the two after it.
//! #[kernel(block_size(64))]
//! pub fn sums(
//!     #[shared] mut shared: Shared<Array<u32, 66>>,
//!     from: &[u32],
//!     mut to: cuda_std::PerBlock<u32, 64>,
//! ) {
//!     for mut piece in to.pieces() {
//!         let start = piece.start();
//!         shared.own().each(|i, to| *to = from.get(start + i).copied().unwrap_or(0));
//!         shared.read(|all| {
//!             piece.each(|i, to| {
//!                 let [a, b, c] = all.window(i - start);
//!                 *to = a + b + c;
//!             });
//!         });
//!     }
//! }
//! # fn main() {}
//! ```

/// Arrays that give access to neighboring elements.
pub trait Window<T> {
    /// Returns the `W` elements starting at `start`.
    ///
    /// The whole window has one bounds check, and none if the compiler knows a bound of the index.
    /// For example, in a kernel with `block_size(N)`, the windows of a thread's own elements of a
    /// chunk of `N` need no check if the array has `N + W - 1` elements.
    ///
    /// # Panics
    /// Panics if the window extends past the end of the array.
    fn window<const W: usize>(&self, start: usize) -> &[T; W];
}

impl<T, const N: usize> Window<T> for [T; N] {
    #[inline(always)]
    #[track_caller]
    fn window<const W: usize>(&self, start: usize) -> &[T; W] {
        const {
            assert!(
                0 < W && W <= N,
                "a window must be a non-empty part of the array"
            )
        };
        if start > const { N - W } {
            // Panics with the last index of the window.
            let _ = &self[start.saturating_add(W - 1)];
        }
        // SAFETY: `start + W <= N`.
        unsafe { &*self.as_ptr().add(start).cast() }
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn neighbors() {
        let all = [1, 2, 3, 4];
        assert_eq!(all.window(0), &[1, 2, 3]);
        assert_eq!(all.window(1), &[2, 3, 4]);
        assert_eq!(all.window(0), &all);
    }

    #[test]
    #[should_panic(expected = "the len is 4 but the index is 4")]
    fn one_too_far() {
        let [_, _] = [1, 2, 3, 4].window(3);
    }

    #[test]
    #[should_panic(expected = "the len is 4 but the index is 18446744073709551615")]
    fn an_index_that_would_wrap() {
        let [_, _] = [1, 2, 3, 4].window(usize::MAX);
    }
}
