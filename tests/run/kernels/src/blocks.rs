//! Kernels whose threads work together: shared memory, barriers, atomics, indices.

use cuda_std::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use cuda_std::prelude::*;

/// The threads in a block of these kernels, where the launch does not say otherwise.
pub const BLOCK: usize = 64;

/// The sum of each block's elements, as a tree in shared memory.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn block_sum(input: &[u32], sums: *mut u32) {
    #[address_space(shared)]
    static mut TREE: [u32; BLOCK] = [0; BLOCK];

    let i = thread::thread_idx_x() as usize;
    let tree = (&raw mut TREE).cast::<u32>();
    unsafe {
        *tree.add(i) = input.get(thread::index_1d() as usize).copied().unwrap_or(0);
        thread::sync_threads();
        let mut half = BLOCK / 2;
        while half > 0 {
            if i < half {
                *tree.add(i) += *tree.add(i + half);
            }
            thread::sync_threads();
            half /= 2;
        }
        if i == 0 {
            *sums.add(thread::block_idx_x() as usize) = *tree;
        }
    }
}

/// Reverses each block's elements through shared memory whose size the launch gives.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn block_reverse(data: *mut u64) {
    let tile = shared::dynamic_shared_mem::<u64>();
    let (i, n) = (
        thread::thread_idx_x() as usize,
        thread::block_dim_x() as usize,
    );
    let at = thread::index_1d() as usize;
    unsafe {
        *tile.add(i) = *data.add(at);
        thread::sync_threads();
        *data.add(at) = *tile.add(n - 1 - i);
    }
}

/// The results of the barriers with a vote.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn block_votes(input: &[u32], votes: *mut [u32; 3]) {
    let i = thread::index_1d() as usize;
    let value = input[i];
    let count = thread::sync_threads_count(value);
    let all = thread::sync_threads_and(value);
    let any = thread::sync_threads_or(value);
    unsafe { *votes.add(i) = [count, all, any] };
}

/// Where each thread is, in a launch of three dimensions.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn block_indices(places: *mut [u32; 20]) {
    let (t, b) = (thread::thread_idx(), thread::block_idx());
    let (threads, blocks) = (thread::block_dim(), thread::grid_dim());
    let (two, three) = (thread::index_2d(), thread::index_3d());
    let place = [
        t.x,
        t.y,
        t.z,
        b.x,
        b.y,
        b.z,
        threads.x,
        threads.y,
        threads.z,
        blocks.x,
        blocks.y,
        blocks.z,
        two.x,
        two.y,
        three.z,
        thread::index_1d(),
        thread::index_in_block(),
        thread::lane_id(),
        thread::warp_id(),
        u32::from(thread::first()),
    ];
    unsafe { *places.add(thread::index() as usize) = place };
}

/// Counts bytes by their value, first in shared memory and then in global memory.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn block_histogram(input: &[u8], counts: *mut u32) {
    let shared = shared_array![u32; 16];
    let i = thread::thread_idx_x() as usize;
    let count = |counts: *mut u32, bin: usize, n: u32| {
        let count = unsafe { AtomicU32::from_ptr(counts.add(bin)) };
        count.fetch_add(n, Ordering::Relaxed);
    };
    if i < 16 {
        unsafe { shared.add(i).write(0) };
    }
    thread::sync_threads();
    let (first, stride) = (thread::index_1d() as usize, thread::grid_size_1d() as usize);
    for byte in input.iter().skip(first).step_by(stride) {
        count(shared, usize::from(byte % 16), 1);
    }
    thread::sync_threads();
    if i < 16 {
        count(counts, i, unsafe { shared.add(i).read() });
    }
}

/// Data that all threads of the grid modify concurrently.
#[repr(C)]
pub struct Contended {
    pub sum: AtomicU32,
    pub largest: AtomicU64,
    pub bits: AtomicU16,
    pub turns: AtomicU8,
    pub product: AtomicU64,
}

/// Atomics of all widths, each changed by all threads. The result does not depend on their order.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn block_contention(shared: *const Contended) {
    let i = thread::index_1d();
    let all = unsafe { &*shared };
    all.sum.fetch_add(i, Ordering::Relaxed);
    all.largest.fetch_max(u64::from(i) << 33, Ordering::AcqRel);
    all.bits.fetch_xor(i as u16, Ordering::SeqCst);
    all.turns.fetch_add(3, Ordering::Relaxed);
    let mut old = all.product.load(Ordering::Acquire);
    let odd = u64::from(i) * 2 + 1;
    while let Err(now) = all.product.compare_exchange_weak(
        old,
        old.wrapping_mul(odd),
        Ordering::AcqRel,
        Ordering::Acquire,
    ) {
        old = now;
    }
}

/// Two shared statics alike, of which one is written in a branch that depends on the data.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn block_two_statics(input: &[u32], output: *mut [u32; 2]) {
    #[address_space(shared)]
    static mut FIRST: [u32; BLOCK] = [0; BLOCK];
    #[address_space(shared)]
    static mut SECOND: [u32; BLOCK] = [0; BLOCK];

    let (i, at) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let (first, second) = (
        (&raw mut FIRST).cast::<u32>(),
        (&raw mut SECOND).cast::<u32>(),
    );
    unsafe {
        *first.add(i) = 1000;
        *second.add(i) = 2000;
        thread::sync_threads();
        let chosen = if input[at] % 2 == 0 { first } else { second };
        *chosen.add(BLOCK - 1 - i) += input[at];
        thread::sync_threads();
        *output.add(at) = [*first.add(i), *second.add(i)];
    }
}

/// Odd threads end before the barrier, which the others pass all the same.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn block_exit(output: *mut u32) {
    let i = thread::index_1d() as usize;
    if i % 2 == 1 {
        thread::exit();
    }
    thread::sync_threads();
    unsafe { *output.add(i) = 1 };
}

/// In constant memory; the host overwrites it by its type.
#[address_space(constant)]
pub static mut FACTORS: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

/// In global memory; the host reads it by its name.
#[address_space(global, unsafe(name = "LAUNCHES"))]
static mut LAUNCHES: [u32; 3] = [100, 0, 7];

/// Scales by a factor in constant memory, and leaves a trace in global memory.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn block_constants(data: *mut f32) {
    let i = thread::index_1d() as usize;
    unsafe {
        *data.add(i) *= (*(&raw const FACTORS))[i % 4];
        if i == 0 {
            let launches = (&raw mut LAUNCHES).cast::<u32>();
            *launches += 1;
            *launches.add(1) = thread::grid_dim_x();
        }
    }
}

/// A struct with a pointer in it, as kernels often take.
#[derive(Clone, Copy, cust_core::DeviceCopy)]
#[repr(C)]
pub struct Image {
    pub pixels: *mut u8,
    pub width: u32,
    pub height: u32,
}

/// Draws a gradient; a launch of two dimensions.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub unsafe fn block_image(image: Image) {
    let at = thread::index_2d();
    if at.x < image.width && at.y < image.height {
        let i = (at.y * image.width + at.x) as usize;
        unsafe { *image.pixels.add(i) = (at.x * 3 + at.y * 5) as u8 };
    }
}

/// Prints a line, and a long one.
#[cfg_attr(nvvm_single_source, unsafe(no_mangle))]
#[kernel]
pub fn block_print(long: u32) {
    let i = thread::index_1d();
    println!(
        "thread {i}: {:?} {:>6.2} {}%",
        Some("text"),
        f64::from(i) / 4.0,
        i * 10
    );
    if i == 1 {
        println!("{:-^1$}", " long ", long as usize);
        // In one call: between two, another thread's line may come.
        print!("no {}", "line break\n");
        println!("{{}} %s %d \0and a NUL");
    }
}
