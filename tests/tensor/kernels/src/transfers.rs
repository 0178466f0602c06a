//! Asynchronous copies, barriers in shared memory, bulk and tensor copies, clusters.

use crate::kernel;
use cuda_std::intrinsics::transfer as raw;
use cuda_std::mbarrier::Mbarrier;
use cuda_std::prelude::*;
use cuda_std::{cluster, copy};

/// Threads of each kernel here.
pub const THREADS: usize = 128;

kernel! {
    // Each thread's words, tripled, by way of shared memory; the input has 7 words for each thread.
    copy_async(input, output) {
        let (words, pairs, quads) = (
            shared_array![u32; 128], shared_array![u64; 128], shared_array![u128; 128],
        );
        let thread = thread::thread_idx_x() as usize;
        // SAFETY: each thread has its own places.
        unsafe {
            copy::begin(words.add(thread), input.add(thread));
            copy::commit();
            copy::begin(pairs.add(thread), input.add(128).cast::<u64>().add(thread));
            copy::begin(quads.add(thread), input.add(384).cast::<u128>().add(thread));
            copy::commit();
            copy::wait::<1>();
            let first = *words.add(thread);
            copy::wait_all();
            let (pair, quad) = (*pairs.add(thread), *quads.add(thread));
            *output.add(thread) = first.wrapping_mul(3);
            *output.add(128).cast::<u64>().add(thread) = pair.wrapping_mul(3);
            *output.add(384).cast::<u128>().add(thread) = quad.wrapping_mul(3);
        }
    }
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
kernel! {
    // Copies that are filled with zeros, and a barrier that awaits copies; four words each.
    copy_filled(input, output) {
        let quads = shared_array![u128; 256];
        let barrier = shared_array![Mbarrier; 1];
        let thread = thread::thread_idx_x() as usize;
        // SAFETY: each thread has its own places.
        unsafe {
            if thread == 0 {
                Mbarrier::init(barrier, THREADS as u32);
            }
            thread::sync_threads();
            let from = input.cast::<u8>().add(16 * thread);
            let to = quads.add(thread).cast::<u8>();
            raw::cp_async_ca_16_zero_fill(to, from, thread as u32 % 17);
            raw::cp_async_cg_16_prefetch_128(to.add(16 * THREADS), from);
            (*barrier).arrive_after_copies();
            (*barrier).wait_parity(false);
            // Somebody else's copies are there, too.
            let other = (thread + 5) % THREADS;
            *output.cast::<u128>().add(2 * thread) = *quads.add(other);
            *output.cast::<u128>().add(2 * thread + 1) = *quads.add(THREADS + other);
        }
    }
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
kernel! {
    // Rounds in which each warp hands the next one a number; eight words for each thread.
    mbarrier_rounds(input, output) {
        let numbers = shared_array![u32; 128];
        let barriers = shared_array![Mbarrier; 2];
        let thread = thread::thread_idx_x() as usize;
        // SAFETY: the barriers keep readers and writers apart.
        unsafe {
            if thread == 0 {
                Mbarrier::init(barriers, THREADS as u32);
                Mbarrier::init(barriers.add(1), THREADS as u32);
                Mbarrier::fence_init();
            }
            thread::sync_threads();
            let (written, read) = (&*barriers, &*barriers.add(1));
            let output = output.add(8 * thread);
            for round in 0..6u32 {
                *numbers.add(thread) = *input.add(thread) + round;
                let phase = written.arrive();
                while !written.is_over(phase) {}
                *output.add(round as usize) = *numbers.add((thread + 32) % THREADS);
                let phase = read.arrive();
                read.wait(phase);
                if !read.is_parity_over(round % 2 != 0) || written.is_parity_over(round % 2 == 0) {
                    *output.add(round as usize) = 0xbad;
                }
            }
            // The last thread leaves; the others need not wait for it.
            if thread == THREADS - 1 {
                written.arrive_and_drop();
                *output.add(6) = 1;
            } else {
                written.sync();
                written.sync();
                *output.add(6) = 1;
            }
            thread::sync_threads();
            // Bytes count like arrivals.
            if thread == 0 {
                read.expect(48);
                raw::mbarrier_complete_tx(read.as_ptr(), 40);
            }
            let phase = read.arrive();
            let early = read.is_over(phase);
            thread::sync_threads();
            let late = read.is_over(phase);
            thread::sync_threads();
            if thread == 0 {
                raw::mbarrier_complete_tx(read.as_ptr(), 8);
            }
            read.wait(phase);
            *output.add(7) = if early || late { 0xbad } else { 1 };
        }
    }
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
kernel! {
    // 512 words in, each tripled, and out; then 128 of them added to what is behind.
    bulk(input, output) {
        let tile = shared_array![u128; 128].cast::<u32>();
        let barrier = shared_array![Mbarrier; 1];
        let thread = thread::thread_idx_x() as usize;
        // SAFETY: the barrier and the fences order the copies.
        unsafe {
            if thread == 0 {
                Mbarrier::init(barrier, 1);
                Mbarrier::fence_init();
            }
            thread::sync_threads();
            let barrier = &*barrier;
            if thread == 0 {
                barrier.arrive_expect(2048);
                copy::bulk_in(tile, input, 1024, barrier);
                copy::bulk_in(tile.add(256), input.add(256), 1024, barrier);
            }
            barrier.wait_parity(false);
            for word in 0..4 {
                *tile.add(thread + 128 * word) *= 3;
            }
            copy::fence();
            thread::sync_threads();
            if thread == 0 {
                copy::bulk_out(output, tile, 2048);
                copy::commit_bulk();
                copy::wait_bulk::<0>();
                raw::cp_reduce_async_bulk_global_shared_add_u32(output.add(256).cast(), tile.cast(), 512);
                raw::cp_reduce_async_bulk_global_shared_max_s32(output.cast(), tile.add(128).cast(), 512);
                copy::commit_bulk();
                copy::wait_bulk::<0>();
            }
        }
    }
}

/// Words of a tensor test's input: the map, coordinates, how many words a box has.
pub const MAP: usize = 32;

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
kernel! {
    // A box in, as it lies in shared memory, then out again to other coordinates.
    tensor(input, output) {
        #[address_space(shared)]
        static mut TILE: Aligned = Aligned([0; 2048]);
        #[repr(align(1024))]
        struct Aligned([u32; 2048]);
        let tile = (&raw mut TILE).cast::<u32>();
        let barrier = shared_array![Mbarrier; 1];
        let thread = thread::thread_idx_x() as usize;
        // SAFETY: the host's map and coordinates; the barrier and the fences order the copies.
        unsafe {
            if thread == 0 {
                Mbarrier::init(barrier, 1);
                Mbarrier::fence_init();
            }
            thread::sync_threads();
            let barrier = &*barrier;
            let map = &*input.cast::<copy::TensorMap>();
            let at = |i: usize| *input.add(MAP + i) as i32;
            let to = |i: usize| *input.add(MAP + 5 + i) as i32;
            let (rank, words, add) = (*input.add(MAP + 10), *input.add(MAP + 11) as usize, *input.add(MAP + 12));
            if thread == 0 {
                map.prefetch();
                barrier.arrive_expect(words as u32 * 4);
                match rank {
                    1 => map.load(tile, [at(0)], barrier),
                    2 => map.load(tile, [at(0), at(1)], barrier),
                    3 => map.load(tile, [at(0), at(1), at(2)], barrier),
                    4 => map.load(tile, [at(0), at(1), at(2), at(3)], barrier),
                    _ => map.load(tile, [at(0), at(1), at(2), at(3), at(4)], barrier),
                }
            }
            barrier.wait_parity(false);
            for word in (thread..words).step_by(THREADS) {
                *output.add(word) = *tile.add(word);
            }
            copy::fence();
            thread::sync_threads();
            if thread == 0 {
                match (rank, add) {
                    (1, 0) => map.store([to(0)], tile),
                    (2, 0) => map.store([to(0), to(1)], tile),
                    (3, 0) => map.store([to(0), to(1), to(2)], tile),
                    (4, 0) => map.store([to(0), to(1), to(2), to(3)], tile),
                    (5, 0) => map.store([to(0), to(1), to(2), to(3), to(4)], tile),
                    (2, _) => map.add([to(0), to(1)], tile),
                    _ => {}
                }
                copy::commit_bulk();
                copy::wait_bulk::<0>();
            }
        }
    }
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
kernel! {
    // Pixels of images in, as they lie in shared memory, then out again by another map from another
    // pixel on. The input is as that of `tensor`, but with two maps, and offsets in place of `add`.
    pixels(input, output) {
        #[address_space(shared)]
        static mut TILE: Aligned = Aligned([0; 2048]);
        #[repr(align(1024))]
        struct Aligned([u32; 2048]);
        let tile = (&raw mut TILE).cast::<u32>();
        let barrier = shared_array![Mbarrier; 1];
        let thread = thread::thread_idx_x() as usize;
        // SAFETY: the host's map and coordinates; the barrier and the fences order the copies.
        unsafe {
            if thread == 0 {
                Mbarrier::init(barrier, 1);
                Mbarrier::fence_init();
            }
            thread::sync_threads();
            let barrier = &*barrier;
            let [map, out] = &*input.cast::<[copy::TensorMap; 2]>();
            let input = input.add(2 * MAP);
            let at = |i: usize| *input.add(i) as i32;
            let to = |i: usize| *input.add(5 + i) as i32;
            let (rank, words) = (*input.add(10), *input.add(11) as usize);
            let by = |i: usize| *input.add(12 + i) as u16;
            if thread == 0 {
                barrier.arrive_expect(words as u32 * 4);
                match rank {
                    3 => map.load_pixels(tile, [at(0), at(1), at(2)], [by(0)], barrier),
                    4 => map.load_pixels(tile, [at(0), at(1), at(2), at(3)], [by(0), by(1)], barrier),
                    _ => {
                        let at = [at(0), at(1), at(2), at(3), at(4)];
                        map.load_pixels(tile, at, [by(0), by(1), by(2)], barrier);
                    }
                }
            }
            barrier.wait_parity(false);
            for word in (thread..words).step_by(THREADS) {
                *output.add(word) = *tile.add(word);
            }
            copy::fence();
            thread::sync_threads();
            if thread == 0 {
                match rank {
                    3 => out.store_pixels([to(0), to(1), to(2)], tile),
                    4 => out.store_pixels([to(0), to(1), to(2), to(3)], tile),
                    _ => out.store_pixels([to(0), to(1), to(2), to(3), to(4)], tile),
                }
                copy::commit_bulk();
                copy::wait_bulk::<0>();
            }
        }
    }
}

/// The first box of 32 by 8 words of a tensor whose map is a parameter of the launch.
///
/// # Safety
/// The map is of such a tensor, and there is room for a box.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
#[cuda_std::kernel]
pub unsafe fn tensor_of_parameter(#[grid_constant] map: &copy::TensorMap, output: *mut u32) {
    #[cuda_std::address_space(shared)]
    static mut TILE: Aligned = Aligned([0; 256]);
    #[repr(align(128))]
    struct Aligned([u32; 256]);
    let tile = (&raw mut TILE).cast::<u32>();
    let barrier = shared_array![Mbarrier; 1];
    let thread = thread::thread_idx_x() as usize;
    // SAFETY: the host's map; the barrier orders the copy.
    unsafe {
        if thread == 0 {
            Mbarrier::init(barrier, 1);
            Mbarrier::fence_init();
            map.prefetch();
            (*barrier).arrive_expect(4 * 256);
            map.load(tile, [0, 0], &*barrier);
        }
        thread::sync_threads();
        (*barrier).wait_parity(false);
        for word in (thread..256).step_by(THREADS) {
            *output.add(word) = *tile.add(word);
        }
    }
}

/// Words that each block of a test of clusters writes.
pub const CLUSTER_WORDS: usize = 4;

/// One number in shared memory, with a barrier of one arrival.
macro_rules! cluster_kernel {
    ($(#[$doc:meta])* $name:ident($input:ident, $output:ident, $mine:ident, $barrier:ident, $next:ident) $body:block) => {
        #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
        kernel! {
            $(#[$doc])*
            $name($input, output) {
                let $mine = shared_array![u32; 4];
                let $barrier = shared_array![Mbarrier; 1];
                let $next = (cluster::block_rank() + 1) % cluster::blocks();
                // SAFETY: the cluster's barriers keep readers and writers apart.
                unsafe {
                    let $output = output.add(CLUSTER_WORDS * thread::block_idx_x() as usize);
                    if thread::thread_idx_x() == 0 {
                        *$mine = 100 + cluster::block_rank();
                        *$mine.add(1) = 0;
                        Mbarrier::init($barrier, 1);
                        Mbarrier::fence_init();
                    }
                    cluster::sync();
                    $body
                }
                // Nobody ends while others reach its memory.
                cluster::sync();
            }
        }
    };
}

cluster_kernel! {
    // The block's number, the cluster's size, and the words before and after the barrier.
    cluster_numbers(_input, output, mine, barrier, next) {
        if thread::thread_idx_x() == 31 {
            *output = cluster::block_rank();
            *output.add(1) = cluster::blocks();
            *output.add(2) = *mine;
            *output.add(3) = next + (*barrier).is_parity_over(true) as u32;
        }
    }
}

cluster_kernel! {
    // The next block's number, by a pointer like any other.
    cluster_pointers(_input, output, mine, _barrier, next) {
        let there = cluster::map_shared(mine, next);
        if thread::thread_idx_x() == 0 {
            *output = *there;
            *there.add(2) = 50 + cluster::block_rank();
        }
        cluster::sync();
        if thread::thread_idx_x() == 0 {
            *output.add(1) = *mine.add(2);
            *output.add(2) = 0;
            *output.add(3) = 0;
        }
    }
}

cluster_kernel! {
    // The same by instructions that know that it is a cluster's memory, and whose it is.
    cluster_accesses(_input, output, mine, _barrier, next) {
        let there = cluster::map_shared(mine, next);
        if thread::thread_idx_x() == 0 {
            *output = raw::ld_cluster_b32(there);
            raw::st_cluster_b32(there.add(2), 50 + cluster::block_rank());
        }
        cluster::sync();
        if thread::thread_idx_x() == 0 {
            *output.add(1) = *mine.add(2);
            *output.add(2) = cluster::rank_of(there);
            *output.add(3) = cluster::rank_of(mine);
        }
    }
}

cluster_kernel! {
    // An arrival at the next block's barrier.
    cluster_arrivals(_input, output, _mine, barrier, next) {
        if thread::thread_idx_x() == 0 {
            let other = cluster::map_shared(barrier, next).cast::<u64>();
            raw::mbarrier_arrive_release_cluster_remote(other, 1);
            (*barrier).wait_parity_cluster(false);
            *output = 1;
            *output.add(1) = 0;
            *output.add(2) = 0;
            *output.add(3) = 0;
        }
    }
}

cluster_kernel! {
    // A store that tells the next block's barrier of its four bytes.
    cluster_stores(_input, output, mine, barrier, next) {
        if thread::thread_idx_x() == 0 {
            (*barrier).arrive_expect(4);
        }
        cluster::sync();
        if thread::thread_idx_x() == 0 {
            let other = cluster::map_shared(barrier, next).cast::<u64>();
            let there = cluster::map_shared(mine, next);
            raw::st_async_b32(there.add(1), 7 + cluster::block_rank(), other);
            (*barrier).wait_parity_cluster(false);
            *output = *mine.add(1);
            *output.add(1) = 0;
            *output.add(2) = 0;
            *output.add(3) = 0;
        }
    }
}

cluster_kernel! {
    // The input's words by one copy to all blocks, which the first block begins.
    cluster_multicast(input, output, _mine, barrier, _next) {
        let words = shared_array![u128; 1].cast::<u32>();
        if thread::thread_idx_x() == 0 {
            (*barrier).arrive_expect(16);
        }
        cluster::sync();
        if thread::thread_idx_x() == 0 {
            if cluster::block_rank() == 0 {
                let all = ((1u32 << cluster::blocks()) - 1) as u16;
                let barrier = (*barrier).as_ptr();
                raw::cp_async_bulk_shared_global_multicast(
                    words.cast(), input.cast(), 16, barrier, all,
                );
            }
            (*barrier).wait_parity_cluster(false);
            for i in 0..CLUSTER_WORDS {
                *output.add(i) = *words.add(i) + cluster::block_rank();
            }
        }
    }
}

cluster_kernel! {
    // The first words of each block, copied into the next block's memory.
    cluster_copies(_input, output, _mine, barrier, next) {
        let from = shared_array![u128; 1].cast::<u32>();
        let to = shared_array![u128; 1].cast::<u32>();
        if thread::thread_idx_x() == 0 {
            (*barrier).arrive_expect(16);
            for i in 0..CLUSTER_WORDS {
                *from.add(i) = 10 * cluster::block_rank() + i as u32;
            }
            copy::fence();
        }
        cluster::sync();
        if thread::thread_idx_x() == 0 {
            let other = cluster::map_shared(barrier, next).cast::<u64>();
            let there = cluster::map_shared(to, next);
            raw::cp_async_bulk_cluster_shared(there.cast(), from.cast(), 16, other);
            (*barrier).wait_parity_cluster(false);
            for i in 0..CLUSTER_WORDS {
                *output.add(i) = *to.add(i);
            }
        }
    }
}
