//! The reduction with which the compiler replaces `Iterator::reduce` of iterators that skip elements.

/// Reduces the elements of an iterator to one, or returns `None` if it has none.
///
/// `core` takes the first element with `next`, and then the others with `fold`. If the iterator skips
/// elements, each thread leaves the loop of `next` in another iteration, and the loop of `fold` begins
/// at another element in each thread: a warp takes up to twice as many iterations, its loads are not
/// coalesced, and a shuffle in the closure of `filter` waits for threads in both loops. This function
/// has one loop. `min`, `max`, `min_by_key` and the like call `reduce`.
#[doc(hidden)]
#[inline]
pub fn reduce<I: Iterator>(
    iterator: I,
    mut f: impl FnMut(I::Item, I::Item) -> I::Item,
) -> Option<I::Item> {
    iterator.fold(None, |reduced, element| {
        Some(match reduced {
            None => element,
            Some(reduced) => f(reduced, element),
        })
    })
}
