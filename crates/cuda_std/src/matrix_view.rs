//! A view of a slice as the rows of a matrix: for kernels that read elements past an edge, with one
//! bounds check for each access.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::{PerThread2d, MatrixView};
//!
//! /// The mean of each element and its neighbors to the left and to the right.
//! #[kernel]
//! pub fn smooth(from: &[f32], mut to: PerThread2d<f32>) {
//!     let from = MatrixView::new(from, to.width(), to.height());
//!     to.each(|(x, y), to| {
//!         let at = |x: usize| from.get(x, y).unwrap_or(0.0);
//!         *to = (at(x.wrapping_sub(1)) + at(x) + at(x + 1)) / 3.0;
//!     });
//! }
//! # fn main() {}
//! ```

/// A row-major matrix in a slice.
#[derive(Clone, Copy, Debug)]
pub struct MatrixView<'a, T> {
    slice: &'a [T],
    width: usize,
    height: usize,
}

impl<'a, T> MatrixView<'a, T> {
    /// Creates a view of the first `height` rows of `width` elements of `slice`.
    ///
    /// # Panics
    /// Panics if `slice` has fewer than `width * height` elements.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn new(slice: &'a [T], width: usize, height: usize) -> MatrixView<'a, T> {
        // A message that formats the numbers would double the kernel's registers and need a stack
        // whose size is unknown.
        let count = width
            .checked_mul(height)
            .expect("there are fewer than 2⁶⁴ elements");
        MatrixView {
            slice: &slice[..count],
            width,
            height,
        }
    }

    /// Returns the number of columns.
    #[inline(always)]
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of rows.
    #[inline(always)]
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the element in column `x` of row `y`, or `None` if `x` or `y` is out of bounds.
    #[inline(always)]
    #[must_use]
    // By value: an `Option<&T>` loses the state space of the memory that it points to.
    ///
    /// # Examples
    ///
    /// ```
    /// use cuda_std::MatrixView;
    ///
    /// let view = MatrixView::new(&[1, 2, 3, 4, 5, 6], 3, 2); // 2 rows of 3 elements
    /// assert_eq!(view.get(2, 1), Some(6));
    /// assert_eq!(view.get(3, 0), None);
    /// assert_eq!(view.get(0usize.wrapping_sub(1), 0), None);
    /// ```
    pub fn get(&self, x: usize, y: usize) -> Option<T>
    where
        T: Copy,
    {
        if x < self.width && y < self.height {
            // SAFETY: `new` checked that all rows are within the slice.
            Some(unsafe { *self.slice.get_unchecked(y * self.width + x) })
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MatrixView;

    #[test]
    fn columns_and_rows() {
        let rows = MatrixView::new(&[0, 1, 2, 3, 4, 5, 6], 3, 2);
        assert_eq!((rows.width(), rows.height()), (3, 2));
        assert_eq!(rows.get(2, 1), Some(5));
        assert_eq!(rows.get(3, 0), None);
        assert_eq!(rows.get(0, 2), None);
    }

    #[test]
    #[should_panic(expected = "range end index 8 out of range for slice of length 7")]
    fn too_few_elements() {
        let _ = MatrixView::new(&[0; 7], 4, 2);
    }

    #[test]
    #[should_panic(expected = "there are fewer than")]
    fn far_too_few_elements() {
        let _ = MatrixView::new(&[0; 7], 1 << 63, 2);
    }
}
