//! The binary search with which the compiler replaces that of `slice::partition_point`.

use core::cmp::Ordering;

/// The largest number of elements that are all compared.
#[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
const FEW: usize = 8;

/// Returns the number of elements before the first one that is not less, as an error.
///
/// Each step of the search in `core` halves the rest independently of the comparison. The distances
/// between the elements that the threads of a warp read in one step are multiples of a power of two, so
/// the elements are in one bank of the cache, and a warp waits for 32 reads in turn. This search
/// excludes the element that it compared, so the distances differ. If the elements that are less do not precede the others, the
/// result may be another one than that of `core`, which is unspecified.
///
/// Of a few elements whose number is known when compiling, all are compared. Then no read waits for
/// another one, and a local array stays in registers.
#[doc(hidden)]
#[inline]
pub fn binary_search_by<'a, T>(
    slice: &'a [T],
    mut compare: impl FnMut(&'a T) -> Ordering,
) -> Result<usize, usize> {
    let len = slice.len();
    #[cfg(any(target_arch = "nvptx64", nvvm_single_source))]
    if len <= FEW && core::intrinsics::is_val_statically_known(len) {
        let less = |element| compare(element) == Ordering::Less;
        return Err(slice.iter().map(less).map(usize::from).sum());
    }
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        // SAFETY: `middle` is less than `high`, which is at most the length.
        match compare(unsafe { slice.get_unchecked(middle) }) {
            Ordering::Less => low = middle + 1,
            _ => high = middle,
        }
    }
    Err(low)
}
