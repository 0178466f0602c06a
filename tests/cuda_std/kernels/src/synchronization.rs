//! Barriers, fences, clocks, exiting threads, special registers, memory.

use crate::random;
use cuda_std::barrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device, System};
use cuda_std::{debug, fence, memory, time};

/// All kinds of barriers, in blocks of 128 threads, and their results.
#[kernel]
pub fn barriers(mut to: PerThread<[u64; 12]>) {
    for (i, to) in to.own() {
        let x = random(i as u32);
        let thread = thread::thread_idx_x();
        let odd = x & 1 != 0;
        let first = thread < 64;
        // The halves of the block at separate barriers.
        let half = if first {
            let here = Barrier::<2>;
            [
                here.count(64, odd).into(),
                here.all(64, thread < 64).into(),
                here.any(64, thread == 63).into(),
            ]
        } else {
            let here = Barrier::<6>;
            [
                here.count(64, odd).into(),
                here.all(64, thread != 70).into(),
                here.any(64, thread == 63).into(),
            ]
        };
        let [a, b, c]: [u64; 3] = half;
        *to = [
            thread::sync_threads_count(x as u32 & 1).into(),
            thread::sync_threads_and(x as u32 & 1).into(),
            thread::sync_threads_or(x as u32 & 1).into(),
            a,
            b,
            c,
            Barrier::<1>.count_block(odd).into(),
            Barrier::<1>.all_block(thread < 128).into(),
            Barrier::<3>.any_block(thread == 77).into(),
            Barrier::<3>.all_block(odd).into(),
            0,
            0,
        ];
        Barrier::<4>.sync_block();
    }
}

/// The first warp produces values that the second one consumes, through barriers and fences.
#[kernel]
pub unsafe fn produce(data: *mut u32, mut to: PerThread<u32>) {
    let thread = thread::thread_idx_x();
    let (full, empty) = (Barrier::<5>, Barrier::<4>);
    let mut sum = 0u32;
    for round in 0..4 {
        if thread < 32 {
            if round > 0 {
                empty.sync(64);
            }
            // SAFETY: each of 32 threads has a word, and barriers order the accesses.
            unsafe { *data.add(thread as usize) = thread * 10 + round };
            full.arrive(64);
        } else {
            full.sync(64);
            // SAFETY: as above.
            sum += unsafe { *data.add(63 - thread as usize) };
            if round < 3 {
                empty.arrive(64);
            }
        }
    }
    for (_, to) in to.own() {
        *to = sum;
    }
}

/// Fences, clocks and delays: checks that they order accesses and advance.
#[kernel]
pub fn time_and_fences(mut to: PerThread<[u64; 6]>) {
    for (_, to) in to.own() {
        let (start, start64, nanoseconds) = (time::clock(), time::clock64(), time::global_timer());
        fence::acquire_release(Block);
        fence::acquire_release(Device);
        fence::acquire_release(System);
        fence::sequentially_consistent(Block);
        fence::sequentially_consistent(Device);
        fence::sequentially_consistent(System);
        thread::block_fence();
        thread::device_fence();
        thread::system_fence();
        debug::profiler_event::<0>();
        debug::profiler_event::<15>();
        while time::global_timer() < nanoseconds + 5000 {
            time::nanosleep(500);
        }
        *to = [
            (time::clock().wrapping_sub(start) > 0).into(),
            (time::clock64() > start64).into(),
            (time::global_timer() >= nanoseconds + 5000).into(),
            // Both counters are the same.
            ((time::clock64() as u32).wrapping_sub(time::clock()) as i32 <= 0).into(),
            0,
            0,
        ];
    }
}

static IN_GLOBAL: u32 = 17;
#[address_space(constant)]
static IN_CONSTANT: u32 = 18;

/// The state spaces of pointers, and conversions to addresses and back.
#[kernel]
pub fn spaces(from: &[u32], mut to: PerThread<[u64; 12]>) {
    for (i, to) in to.own() {
        let mut own = [i as u32; 4];
        let own_pointer = core::hint::black_box(&raw mut own).cast::<u32>();
        let shared = shared_array![u32; 64];
        let global: *const u32 = &raw const from[i % 64];
        let kinds = |pointer: *const u32| {
            u64::from(memory::is_global(pointer))
                | u64::from(memory::is_shared(pointer)) << 1
                | u64::from(memory::is_local(pointer)) << 2
                | u64::from(memory::is_constant(pointer)) << 3
                | u64::from(memory::is_parameter(pointer)) << 4
        };
        let shared_at = shared.wrapping_add(i % 64);
        // SAFETY: each thread has an element in each memory.
        let values = unsafe {
            *shared_at = i as u32 + 7;
            let back = memory::from_shared_address::<u32>(memory::shared_address(shared_at));
            let global = memory::from_global_address::<u32>(memory::global_address(global));
            let own = memory::from_local_address::<u32>(memory::local_address(own_pointer));
            let constant = memory::constant_address(&raw const IN_CONSTANT);
            let constant = memory::from_constant_address::<u32>(constant);
            *own += 1;
            [*back, *global, *own_pointer, *constant]
        };
        *to = [
            kinds(global),
            kinds(shared_at),
            kinds(own_pointer),
            // Constant memory is global memory on the emulator.
            matches!(kinds(core::hint::black_box(&raw const IN_CONSTANT)), 1 | 8).into(),
            kinds(core::hint::black_box(&raw const IN_GLOBAL)),
            values[0].into(),
            values[1].into(),
            values[2].into(),
            values[3].into(),
            // Shared memory has at most a few hundred KiB: the address is an offset.
            (memory::shared_address(shared_at) < 1 << 20).into(),
            0,
            0,
        ];
    }
}

/// Sixteen bytes, aligned.
#[derive(Clone, Copy, cuda_std::AnyBits)]
#[repr(C, align(16))]
pub struct Quad(pub [u32; 4]);

/// Loads and stores of all kinds and widths: copies the values.
#[kernel]
pub fn hints(from: &[Quad], mut to: PerThread<[u64; 12]>) {
    for (i, to) in to.own() {
        let quad = &from[i];
        let word = &quad.0[1];
        memory::prefetch_l1(quad);
        memory::prefetch_l2(quad);
        // SAFETY: no thread writes to it.
        let (bytes, half, long) = unsafe {
            let pointer = (&raw const *quad).cast::<u8>();
            (
                &*pointer.cast::<[u8; 3]>(),
                &*pointer.add(2).cast::<u16>(),
                &*pointer.cast::<u64>(),
            )
        };
        let sum = |quad: Quad| quad.0.iter().fold(0u64, |sum, &x| sum * 31 + u64::from(x));
        let of_bytes = |bytes: [u8; 3]| {
            u64::from(bytes[0]) * 3 + u64::from(bytes[1]) * 5 + u64::from(bytes[2])
        };
        let mut values = [0u64; 12];
        memory::store_cached(&mut values[0], sum(memory::load_cached(quad)));
        memory::store_l2(&mut values[1], sum(memory::load_l2(quad)));
        memory::store_streaming(&mut values[2], sum(memory::load_streaming(quad)));
        memory::store_through(&mut values[3], sum(memory::load_last_use(quad)));
        values[4] = sum(memory::load_volatile(quad));
        // SAFETY: no thread writes to it.
        values[5] = sum(unsafe { memory::load_read_only(quad) });
        values[6] = u64::from(memory::load_cached(word)) + u64::from(memory::load_l2(half));
        values[7] =
            memory::load_streaming(long).wrapping_add(of_bytes(memory::load_volatile(bytes)));
        // SAFETY: no thread writes to it.
        values[8] = unsafe {
            u64::from(memory::load_read_only(half)) + of_bytes(memory::load_read_only(bytes))
        };
        let mut copy = Quad([0; 4]);
        memory::store_streaming(&mut copy, *quad);
        values[9] = sum(copy);
        let mut bytes_copy = [0u8; 3];
        memory::store_l2(&mut bytes_copy, *bytes);
        let mut half_copy = 0u16;
        memory::store_through(&mut half_copy, *half);
        let mut word_copy = 0u32;
        memory::store_cached(&mut word_copy, *word);
        values[10] = of_bytes(bytes_copy) + u64::from(half_copy) + u64::from(word_copy);
        *to = values;
    }
}

/// Special registers whose values the host can check.
#[kernel]
pub fn registers(mut to: PerThread<[u64; 10]>) {
    use cuda_std::intrinsics::special;
    for (_, to) in to.own() {
        *to = [
            (special::smid() < special::nsmid()).into(),
            (special::warpid() < special::nwarpid()).into(),
            special::dynamic_smem_size().into(),
            (special::total_smem_size() >= special::dynamic_smem_size()).into(),
            u64::from(special::laneid()),
            u64::from(special::warpsize()),
            thread::index(),
            thread::warp_id().into(),
            0,
            0,
        ];
    }
}

/// Two shared statics of one type, one of which is written in a data-dependent branch. Each thread
/// adds to one of them, and reads its neighbor's elements of both.
#[kernel]
pub fn shared_two_statics(mut to: PerThread<u64>) {
    for (i, to) in to.own() {
        let (one, other) = (shared_array![u32; 64], shared_array![u32; 64]);
        let thread = thread::index_in_block() as usize;
        let x = random(i as u32) as u32;
        // SAFETY: blocks have 64 threads, each of which writes its own elements.
        unsafe {
            *one.add(thread) = 1;
            *other.add(thread) = 2;
            if x & 1 != 0 {
                *one.add(thread) = x;
            }
            thread::sync_threads();
            *to = u64::from(*one.add(63 - thread)) << 32 | u64::from(*other.add(63 - thread));
            thread::sync_threads();
        }
    }
}

/// A kernel with bounds that ptxas receives.
#[kernel(launch_bounds(128, 4))]
pub fn bounded(mut to: PerThread<u64>) {
    to.each(|i, to| *to = i as u64);
}

/// A kernel with a size that the launch must have, and few registers.
#[kernel(block_size(8, 4), max_registers = 40)]
pub fn sized(mut to: PerThread<u64>) {
    to.each(|i, to| *to = i as u64);
}
