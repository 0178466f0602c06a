//! The cluster as a group.

use super::Group;
use crate::{cluster, thread};

/// The group of the threads of all blocks of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Cluster(());

/// Returns the group of this thread's cluster. Its methods require compute capability 9.0. See
/// [`crate::cluster`] for access to the shared memory of the cluster's blocks.
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

    /// Returns this thread's rank. Threads are ordered by the rank of their block in the cluster.
    #[inline(always)]
    fn rank(&self) -> u32 {
        cluster::block_rank() * thread::threads_in_block() + thread::index_in_block()
    }

    #[inline(always)]
    fn sync(&self) {
        cluster::sync();
    }
}
