//! The context that this crate last made current in the driver, for each thread.
//!
//! A launch in the same context need not make it current again.

use std::cell::Cell;

thread_local! {
    /// The context's address, or 0.
    static BOUND: Cell<usize> = const { Cell::new(0) };
}

/// Returns the address of the context that this crate last made current on this thread, or 0.
#[inline]
pub(crate) fn get() -> usize {
    // The access fails on a thread that is exiting.
    BOUND.try_with(Cell::get).unwrap_or(0)
}

/// Records that this crate made the context at this address current.
pub(crate) fn set(address: usize) {
    let _ = BOUND.try_with(|bound| bound.set(address));
}

/// Forgets which context this crate made current, before the thread runs another host function: the
/// function may begin with a launch, which must release the stream that the function blocks.
pub(crate) fn forget() {
    set(0);
}
