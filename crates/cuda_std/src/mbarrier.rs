//! Mbarriers: barriers in shared memory that count arrivals of threads and bytes of asynchronous
//! copies. Threads can work between arriving and waiting, and can wait for data only.
//!
//! ```
//! use cuda_std::copy;
//! use cuda_std::mbarrier::Mbarrier;
//! use cuda_std::prelude::*;
//!
//! /// Doubles a block's 128 numbers, which a bulk copy loads.
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
//! A barrier goes through phases. A phase completes when the number of arrivals given to
//! [`Mbarrier::init`] and all expected bytes have arrived; then the next phase, of the other
//! parity, starts. Mbarriers require compute capability 8.0, and 9.0 to count bytes.

use core::cell::UnsafeCell;

use crate::intrinsics::transfer as raw;
use crate::session::on_newer;

/// A barrier in shared memory.
#[repr(transparent)]
pub struct Mbarrier(UnsafeCell<u64>);

// SAFETY: all accesses are the hardware's atomic barrier operations.
unsafe impl Sync for Mbarrier {}

/// The phase to which an arrival belonged.
#[derive(Clone, Copy, Debug)]
pub struct Phase(u64);

impl Phase {
    /// Returns the number of arrivals that were pending in the phase after this one.
    #[inline(always)]
    #[must_use]
    pub fn pending(self) -> u32 {
        raw::mbarrier_pending_count(self.0)
    }
}

impl Mbarrier {
    /// The maximum number of arrivals, and of bytes, per phase.
    pub const MAX: u32 = (1 << 20) - 1;

    #[inline(always)]
    fn word(&self) -> *mut u64 {
        self.0.get()
    }

    /// Initializes a barrier whose phases expect `count` arrivals, from 1 to [`Mbarrier::MAX`].
    /// Other threads may use it after a barrier of the block.
    ///
    /// # Safety
    /// `this` must point to shared memory that no other thread accesses at the same time.
    #[inline(always)]
    pub unsafe fn init(this: *mut Mbarrier, count: u32) {
        // SAFETY: the caller's guarantee.
        unsafe { raw::mbarrier_init(this.cast(), count) }
    }

    /// Invalidates a barrier, so that its memory can be reused.
    ///
    /// # Safety
    /// The barrier must be initialized, and no thread may use it any more.
    #[inline(always)]
    pub unsafe fn invalidate(this: *mut Mbarrier) {
        // SAFETY: the caller's guarantee.
        unsafe { raw::mbarrier_inval(this.cast()) }
    }

    /// Arrives. This thread's earlier writes are visible to threads that have waited for the phase.
    #[inline(always)]
    pub fn arrive(&self) -> Phase {
        // SAFETY: a reference points to an initialized barrier.
        Phase(unsafe { raw::mbarrier_arrive(self.word()) })
    }

    /// Arrives, and reduces the arrivals that later phases expect by one.
    #[inline(always)]
    pub fn arrive_and_drop(&self) -> Phase {
        // SAFETY: as above.
        Phase(unsafe { raw::mbarrier_arrive_drop(self.word()) })
    }

    /// Returns whether the phase has completed.
    #[inline(always)]
    #[must_use]
    pub fn is_over(&self, phase: Phase) -> bool {
        // SAFETY: as above.
        unsafe { raw::mbarrier_test_wait(self.word(), phase.0) }
    }

    /// Returns whether the phase of this parity has completed. The parity of the first phase is
    /// `false`.
    #[inline(always)]
    #[must_use]
    pub fn is_parity_over(&self, odd: bool) -> bool {
        // SAFETY: as above.
        unsafe { raw::mbarrier_test_wait_parity(self.word(), odd.into()) }
    }

    /// Waits until a phase has completed.
    #[inline(always)]
    pub fn wait(&self, phase: Phase) {
        on_newer!(
            "sm_90",
            // SAFETY: as above.
            while !unsafe { raw::mbarrier_try_wait_cta(self.word(), phase.0) } {},
            while !self.is_over(phase) {}
        );
    }

    /// Waits until the phase of this parity has completed. The parity of the first phase is
    /// `false`.
    #[inline(always)]
    pub fn wait_parity(&self, odd: bool) {
        on_newer!(
            "sm_90",
            // SAFETY: as above.
            while !unsafe { raw::mbarrier_try_wait_parity_cta(self.word(), odd.into()) } {},
            while !self.is_parity_over(odd) {}
        );
    }

    /// Like [`Mbarrier::wait_parity`], for phases at which other blocks of the cluster arrive.
    #[inline(always)]
    pub fn wait_parity_cluster(&self, odd: bool) {
        // SAFETY: as above.
        while !unsafe { raw::mbarrier_try_wait_parity_cluster(self.word(), odd.into()) } {}
    }

    /// Arrives, and waits until the phase has completed.
    #[inline(always)]
    pub fn sync(&self) {
        self.wait(self.arrive());
    }

    /// Increases the number of bytes that the current phase expects.
    #[inline(always)]
    pub fn expect(&self, bytes: u32) {
        // SAFETY: as above.
        unsafe { raw::mbarrier_expect_tx(self.word(), bytes) }
    }

    /// Increases the number of bytes that the current phase expects, and arrives.
    #[inline(always)]
    pub fn arrive_expect(&self, bytes: u32) -> Phase {
        // SAFETY: as above.
        Phase(unsafe { raw::mbarrier_arrive_expect_tx(self.word(), bytes) })
    }

    /// Arrives when all copies that this thread has started with
    /// [`copy::begin`](crate::copy::begin) have completed. This counts as one of the phase's
    /// arrivals.
    #[inline(always)]
    pub fn arrive_after_copies(&self) {
        // SAFETY: as above.
        unsafe { raw::cp_async_mbarrier_arrive_noinc(self.word()) }
    }

    /// Arrives at the corresponding barrier of another block of the cluster.
    ///
    /// # Safety
    /// That block must have an initialized barrier at the same offset in shared memory, and must
    /// not have exited.
    #[inline(always)]
    pub unsafe fn arrive_at(&self, block: u32) {
        let there = raw::mapa(self.word().cast(), block);
        // SAFETY: the caller's guarantee.
        unsafe { raw::mbarrier_arrive_release_cluster_remote(there.cast(), 1) }
    }

    /// Makes the initialization of barriers visible to asynchronous copies and to other blocks of
    /// the cluster.
    #[inline(always)]
    pub fn fence_init() {
        raw::fence_mbarrier_init();
        raw::fence_proxy_async();
    }

    /// Returns a pointer to the barrier's 64-bit word, as raw take it.
    #[inline(always)]
    #[must_use]
    pub fn as_ptr(&self) -> *mut u64 {
        self.word()
    }
}
