//! Barriers that live in shared memory: they count arrivals of threads and bytes of copies, so that
//! threads can go on working between arriving and waiting, and wait for data alone.
//!
//! ```
//! use cuda_std::copy;
//! use cuda_std::mbarrier::Mbarrier;
//! use cuda_std::prelude::*;
//!
//! /// Doubles a block's 128 numbers, which a bulk copy brings.
//! #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
//! #[kernel]
//! pub unsafe fn double(from: *const u32, to: *mut u32) {
//!     let tile = shared_array![u128; 32].cast::<u32>();
//!     let barrier = shared_array![Mbarrier; 1];
//!     let thread = thread::thread_idx_x() as usize;
//!     unsafe {
//!         if thread == 0 {
//!             Mbarrier::init(barrier, 1);
//!             Mbarrier::fence_init();
//!         }
//!         thread::sync_threads();
//!         let barrier = &*barrier;
//!         if thread == 0 {
//!             barrier.arrive_expect(512);
//!             copy::bulk_in(tile, from, 512, barrier);
//!         }
//!         barrier.wait_parity(false);
//!         *to.add(thread) = 2 * *tile.add(thread);
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! A barrier goes through phases. Each ends when as many threads have arrived as it was made for, and
//! as many bytes have come as were expected; then the next begins, of the other parity. They need
//! compute capability 8.0, and 9.0 where bytes are counted.

use core::cell::UnsafeCell;

use crate::intrinsics::transfer as rows;
use crate::session::on_newer;

/// A barrier, in shared memory.
#[repr(transparent)]
pub struct Mbarrier(UnsafeCell<u64>);

// SAFETY: it is there to be used by many threads; every access is one of the hardware's.
unsafe impl Sync for Mbarrier {}

/// The phase that an arrival was in.
#[derive(Clone, Copy, Debug)]
pub struct Phase(u64);

impl Phase {
    /// How many arrivals the phase awaited still, after this one.
    #[inline(always)]
    #[must_use]
    pub fn pending(self) -> u32 {
        rows::mbarrier_pending_count(self.0)
    }
}

impl Mbarrier {
    /// The most arrivals, and the most bytes, that a barrier counts to.
    pub const MAX: u32 = (1 << 20) - 1;

    #[inline(always)]
    fn word(&self) -> *mut u64 {
        self.0.get()
    }

    /// Makes a barrier of which each phase awaits so many arrivals, from 1 to [`Mbarrier::MAX`].
    /// Others may use it after a barrier of the block.
    ///
    /// # Safety
    /// It is in shared memory, and nobody else uses it now.
    #[inline(always)]
    pub unsafe fn init(this: *mut Mbarrier, count: u32) {
        // SAFETY: the caller's promise.
        unsafe { rows::mbarrier_init(this.cast(), count) }
    }

    /// Ends a barrier. Its memory may be used for something else then.
    ///
    /// # Safety
    /// It was made, and nobody else uses it any more.
    #[inline(always)]
    pub unsafe fn invalidate(this: *mut Mbarrier) {
        // SAFETY: the caller's promise.
        unsafe { rows::mbarrier_inval(this.cast()) }
    }

    /// Arrives. What this thread wrote before is visible to those who have waited for the phase.
    #[inline(always)]
    pub fn arrive(&self) -> Phase {
        // SAFETY: a reference is to a barrier that was made.
        Phase(unsafe { rows::mbarrier_arrive(self.word()) })
    }

    /// Arrives, and no later phase awaits this thread.
    #[inline(always)]
    pub fn arrive_and_drop(&self) -> Phase {
        // SAFETY: as above.
        Phase(unsafe { rows::mbarrier_arrive_drop(self.word()) })
    }

    /// Whether the phase is over.
    #[inline(always)]
    #[must_use]
    pub fn is_over(&self, phase: Phase) -> bool {
        // SAFETY: as above.
        unsafe { rows::mbarrier_test_wait(self.word(), phase.0) }
    }

    /// Whether the phase of this parity is over; the first phase's is `false`.
    #[inline(always)]
    #[must_use]
    pub fn is_parity_over(&self, odd: bool) -> bool {
        // SAFETY: as above.
        unsafe { rows::mbarrier_test_wait_parity(self.word(), odd.into()) }
    }

    /// Waits for the end of a phase.
    #[inline(always)]
    pub fn wait(&self, phase: Phase) {
        on_newer!(
            "sm_90",
            // SAFETY: as above.
            while !unsafe { rows::mbarrier_try_wait_cta(self.word(), phase.0) } {},
            while !self.is_over(phase) {}
        );
    }

    /// Waits for the end of the phase of this parity; the first phase's is `false`.
    #[inline(always)]
    pub fn wait_parity(&self, odd: bool) {
        on_newer!(
            "sm_90",
            // SAFETY: as above.
            while !unsafe { rows::mbarrier_try_wait_parity_cta(self.word(), odd.into()) } {},
            while !self.is_parity_over(odd) {}
        );
    }

    /// Waits for the end of the phase of this parity, to which other blocks of the cluster have
    /// arrived.
    #[inline(always)]
    pub fn wait_parity_cluster(&self, odd: bool) {
        // SAFETY: as above.
        while !unsafe { rows::mbarrier_try_wait_parity_cluster(self.word(), odd.into()) } {}
    }

    /// Arrives and waits.
    #[inline(always)]
    pub fn sync(&self) {
        self.wait(self.arrive());
    }

    /// The phase awaits so many bytes more.
    #[inline(always)]
    pub fn expect(&self, bytes: u32) {
        // SAFETY: as above.
        unsafe { rows::mbarrier_expect_tx(self.word(), bytes) }
    }

    /// Arrives, and the phase awaits so many bytes more.
    #[inline(always)]
    pub fn arrive_expect(&self, bytes: u32) -> Phase {
        // SAFETY: as above.
        Phase(unsafe { rows::mbarrier_arrive_expect_tx(self.word(), bytes) })
    }

    /// Arrives when the copies are there that this thread began before with
    /// [`copy::begin`](crate::copy::begin). It counts as one of the phase's arrivals.
    #[inline(always)]
    pub fn arrive_after_copies(&self) {
        // SAFETY: as above.
        unsafe { rows::cp_async_mbarrier_arrive_noinc(self.word()) }
    }

    /// Arrives at the same barrier of another block of the cluster.
    ///
    /// # Safety
    /// There is a barrier at that place of that block, and the block has not ended.
    #[inline(always)]
    pub unsafe fn arrive_at(&self, block: u32) {
        let there = rows::mapa(self.word().cast(), block);
        // SAFETY: the caller's promise.
        unsafe { rows::mbarrier_arrive_release_cluster_remote(there.cast(), 1) }
    }

    /// Has the making of barriers be seen by copies and other blocks of the cluster.
    #[inline(always)]
    pub fn fence_init() {
        rows::fence_mbarrier_init();
        rows::fence_proxy_async();
    }

    /// The barrier's word, as the intrinsics take it.
    #[inline(always)]
    #[must_use]
    pub fn as_ptr(&self) -> *mut u64 {
        self.word()
    }
}
