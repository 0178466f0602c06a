//! The cluster as a group.

use super::Group;
use crate::{cluster, thread};

/// The threads of all blocks of this cluster.
#[derive(Clone, Copy, Debug)]
pub struct Cluster(());

/// The group of this thread's cluster. What it knows and does needs compute capability 9.0; what its blocks
/// do with each other's shared memory is in [`crate::cluster`].
#[inline(always)]
#[must_use]
pub fn cluster() -> Cluster {
    Cluster(())
}

impl Group for Cluster {
    #[inline(always)]
    fn size(&self) -> u32 {
        cluster::blocks() * thread::threads_in_block()
    }

    /// The thread's number: those of the cluster's first block come first.
    #[inline(always)]
    fn rank(&self) -> u32 {
        cluster::block_rank() * thread::threads_in_block() + thread::index_in_block()
    }

    #[inline(always)]
    fn sync(&self) {
        cluster::sync();
    }
}
