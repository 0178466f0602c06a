//! Features that require `sm_80`, `sm_90` or `sm_100`.

use crate::random;
use cuda_std::intrinsics::{memory as raw, special};
use cuda_std::memory::{self, Policy};
use cuda_std::prelude::*;
use cuda_std::scope::Cluster;
use cuda_std::fence;

/// Reductions of the odd and of the even lanes.
#[kernel]
pub fn reductions(mut to: PerThread<[u64; 10]>) {
    for (i, to) in to.own() {
        let x = random(i as u32);
        let lane = warp::lane_id();
        let mask = if lane & 1 != 0 { 0xaaaa_aaaa } else { 0x5555_5555 };
        let reduce = |mask| {
            let (u, s) = (x as u32, x as i32);
            [
                warp::reduce_add(mask, u).into(),
                warp::reduce_min(mask, u).into(),
                warp::reduce_max(mask, u).into(),
                warp::reduce_and(mask, u | 0xff00).into(),
                warp::reduce_or(mask, u & 0xff00).into(),
                warp::reduce_xor(mask, u).into(),
                warp::reduce_add(mask, s) as u64,
                warp::reduce_min(mask, s) as u64,
                warp::reduce_max(mask, s) as u64,
                warp::elect(mask).into(),
            ]
        };
        *to = if lane & 1 != 0 { reduce(mask) } else { reduce(mask) };
    }
}

/// L2 eviction policies do not change values.
#[kernel]
pub fn policies(from: &[u64], mut to: PerThread<[u64; 8]>) {
    for (i, to) in to.own() {
        let x = &from[i];
        let half = unsafe { &*(&raw const *x).cast::<[u16; 3]>() };
        let word = unsafe { &*(&raw const *x).cast::<u32>() };
        let byte = unsafe { &*(&raw const *x).cast::<u8>() };
        // SAFETY: all accesses are to global memory that no thread writes.
        *to = unsafe {
            memory::prefetch_l2_to_stay(x);
            raw::prefetch_global_l2_evict_normal((&raw const *x).cast());
            raw::applypriority_evict_normal((&raw const *from).cast());
            let range = raw::createpolicy_range_evict_last((&raw const *from).cast(), 256, 512);
            let range_normal =
                raw::createpolicy_range_evict_normal((&raw const *from).cast(), 256, 512);
            [
                Policy::evict_last(0.5).load(x),
                Policy::evict_first(1.0).load(half)[2].into(),
                Policy::evict_last(1.0).load(word).into(),
                Policy::evict_last(1.0).load(byte).into(),
                raw::ld_global_policy_b64(x, range),
                raw::ld_global_policy_b64(x, range_normal),
                raw::ld_global_evict_first_b64(x),
                raw::ld_global_no_allocate_b64(x),
            ]
        };
    }
}

/// One thread sets the middle of an array in shared memory to zero: with one instruction on sm_100.
#[kernel]
pub fn zeros(mut to: PerThread<[u64; 1]>) {
    let array = shared_array![u64; 64];
    let (i, thread) = (thread::index() as u32, thread::index_in_block() as usize);
    // SAFETY: each thread accesses its own element, and the first thread 48 elements between two
    // barriers.
    unsafe {
        array.add(thread).write(random(i));
        thread::sync_threads();
        if thread == 0 {
            memory::zero_shared(array.add(8), 48);
        }
        thread::sync_threads();
        let value = array.add(thread).read();
        to.each(|_, to| *to = [value]);
    }
}

/// In a launch without clusters, each block is a cluster.
#[kernel]
pub fn clusters(mut to: PerThread<[u64; 8]>) {
    for (_, to) in to.own() {
        fence::acquire_release(Cluster);
        fence::sequentially_consistent(Cluster);
        *to = [
            special::cluster_ctarank().into(),
            special::cluster_nctarank().into(),
            special::clusterid_x().into(),
            special::nclusterid_x().into(),
            special::cluster_ctaid_x().into(),
            special::cluster_nctaid_x().into(),
            special::is_explicit_cluster().into(),
            memory::is_cluster_shared(shared_array![u32; 4]).into(),
        ];
    }
}

/// A kernel in clusters of two blocks.
#[kernel(cluster_dims(2, 1, 1), launch_bounds(64))]
pub fn in_clusters(mut to: PerThread<u64>) {
    to.each(|i, to| *to = i as u64);
}

/// A kernel in clusters of at most four blocks.
#[kernel(max_blocks_per_cluster = 4)]
pub fn in_small_clusters(mut to: PerThread<u64>) {
    to.each(|i, to| *to = i as u64);
}
