//! How far the work of a stream has progressed: the sequence numbers of its work.

use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of a stream.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Unlike the driver's handle, never reused.
    id: u64,
    /// The sequence number of the last enqueued work.
    issued: AtomicU64,
    /// All work up to this sequence number is known to be complete.
    completed: AtomicU64,
}

impl Progress {
    /// Creates the progress of a new stream.
    pub(crate) fn new() -> Progress {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Progress {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            issued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
        }
    }

    /// Returns the stream's ID, which is not 0 and unique in the process.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the sequence number of the last enqueued work. All work with this number or a lower
    /// one has been enqueued when this function returns.
    pub(crate) fn issued(&self) -> u64 {
        self.issued.load(Ordering::SeqCst)
    }

    /// Returns the next sequence number, for work that was just enqueued.
    pub(crate) fn next_number(&self) -> u64 {
        self.issued.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Returns whether all work up to `number` is known to be complete.
    #[inline]
    pub(crate) fn is_complete(&self, number: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= number
    }

    /// Records that all work up to `number` is complete.
    pub(crate) fn mark_complete(&self, number: u64) {
        self.completed.fetch_max(number, Ordering::AcqRel);
    }
}
