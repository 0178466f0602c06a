//! Atomic operations with every type, scope and ordering. All threads modify the same few cells,
//! and the result does not depend on the order of threads.

use cuda_std::atomic::{Atomic, Half, Halves, Ordering};
use cuda_std::prelude::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
use cuda_std::scope::Cluster;
#[cfg(feature = "base")]
use cuda_std::scope::{Block, Device, System};
use cuda_std::shared::{Array, Shared};

/// The orderings of a read-modify-write operation.
const ORDERS: [Ordering; 5] = [
    Ordering::Relaxed,
    Ordering::Acquire,
    Ordering::Release,
    Ordering::AcqRel,
    Ordering::SeqCst,
];

/// Operations on integers: ten cells per ordering.
macro_rules! integers {
    ($cells:expr, $i:expr, $ty:ty) => {{
        for (k, order) in ORDERS.into_iter().enumerate() {
            let cell = |n: usize| &$cells[10 * k + n];
            let x = $i as $ty;
            cell(0).fetch_add(x, order);
            cell(1).fetch_sub(x.wrapping_mul(3), order);
            cell(2).fetch_and(!(1 << ($i % 30)), order);
            cell(3).fetch_or(1 << ($i % 30), order);
            cell(4).fetch_xor(x.wrapping_mul(0x1357), order);
            cell(5).fetch_min(x.wrapping_sub(40), order);
            cell(6).fetch_max(x.wrapping_sub(40), order);
            // Passes the previous value on, so that no value is lost.
            let old = cell(7).swap(x, order);
            cell(8).fetch_add(old, Ordering::Relaxed);
            cell(9).fetch_map(order, |y| y.wrapping_mul(x.wrapping_mul(2) | 1));
        }
    }};
}

/// Operations on floats: six cells per ordering.
macro_rules! floats {
    ($cells:expr, $i:expr, $ty:ty) => {{
        for (k, order) in ORDERS.into_iter().enumerate() {
            let cell = |n: usize| &$cells[6 * k + n];
            let x = $i as $ty;
            cell(0).fetch_add(x * 0.5, order);
            cell(1).fetch_sub(x, order);
            cell(2).fetch_min(x - 40.0, order);
            cell(3).fetch_max(x * 2.0, order);
            let old = cell(4).swap(x, order);
            cell(5).fetch_add(old, Ordering::Relaxed);
        }
    }};
}

/// Counters up and down to a limit, loads and stores: four cells.
macro_rules! counters {
    ($cells:expr, $i:expr) => {{
        $cells[0].fetch_inc(6);
        $cells[1].fetch_dec(6);
        // One thread passes a value to the others.
        if $i == 0 {
            $cells[2].store(7, Ordering::Relaxed);
            $cells[3].store(1, Ordering::Release);
            $cells[3].store(1, Ordering::SeqCst);
        }
        while $cells[3].load(Ordering::Acquire) == 0 {
            cuda_std::time::nanosleep(100);
        }
        if $cells[2].load(Ordering::Relaxed) != 7 || $cells[2].load(Ordering::SeqCst) != 7 {
            panic!("a store before a release is not there after the acquire");
        }
    }};
}

#[cfg(feature = "base")]
macro_rules! kernels {
    ($($scope:ident $u32:ident $i32:ident $u64:ident $i64:ident $f32:ident $f64:ident $small:ident;)*) => {$(
        /// All operations on `u32`.
        #[kernel]
        pub fn $u32(cells: &[Atomic<u32, $scope>], counters: &[Atomic<u32, $scope>]) {
            let i = thread::index() as u32;
            integers!(cells, i, u32);
            counters!(counters, i);
        }
        /// All operations on `i32`.
        #[kernel]
        pub fn $i32(cells: &[Atomic<i32, $scope>]) {
            integers!(cells, thread::index(), i32);
        }
        /// All operations on `u64`.
        #[kernel]
        pub fn $u64(cells: &[Atomic<u64, $scope>]) {
            integers!(cells, thread::index(), u64);
        }
        /// All operations on `i64`.
        #[kernel]
        pub fn $i64(cells: &[Atomic<i64, $scope>]) {
            integers!(cells, thread::index(), i64);
        }
        /// All operations on `f32`.
        #[kernel]
        pub fn $f32(cells: &[Atomic<f32, $scope>]) {
            floats!(cells, thread::index(), f32);
        }
        /// All operations on `f64`.
        #[kernel]
        pub fn $f64(cells: &[Atomic<f64, $scope>]) {
            floats!(cells, thread::index(), f64);
        }
        /// Small types: a 16-bit sum by compare-and-exchange, byte loads and stores, fp16.
        #[kernel]
        pub fn $small(
            words: &[Atomic<u16, $scope>],
            bytes: &[Atomic<u8, $scope>],
            half: &[Half<$scope>],
            halves: &[Halves<$scope>],
        ) {
            let i = thread::index() as usize;
            words[0].fetch_map(Ordering::AcqRel, |x| x.wrapping_add(i as u16));
            bytes[i].store(i as u8 ^ 0x55, Ordering::Release);
            bytes[i].store(bytes[i].load(Ordering::Acquire).wrapping_add(1), Ordering::Relaxed);
            // The bits of 1.0; and of 1.0 and 2.0.
            half[0].fetch_add_f16(0x3c00);
            halves[0].fetch_add_f16(0x4000_3c00);
        }
    )*};
}

#[cfg(feature = "base")]
kernels! {
    Device atomic_gpu_u32 atomic_gpu_i32 atomic_gpu_u64 atomic_gpu_i64 atomic_gpu_f32 atomic_gpu_f64 atomic_gpu_small;
    System atomic_sys_u32 atomic_sys_i32 atomic_sys_u64 atomic_sys_i64 atomic_sys_f32 atomic_sys_f64 atomic_sys_small;
}

/// Block and cluster scopes, in shared memory.
macro_rules! shared_kernels {
    ($($scope:ident $integers:ident $floats:ident;)*) => {$(
        /// Integers in shared memory.
        #[kernel]
        pub fn $integers(
            #[shared] mut narrow: Shared<Array<Atomic<u32, $scope>, 50>>,
            #[shared] mut signed: Shared<Array<Atomic<i32, $scope>, 50>>,
            #[shared] mut wide: Shared<Array<Atomic<u64, $scope>, 50>>,
            #[shared] mut signed_wide: Shared<Array<Atomic<i64, $scope>, 50>>,
            #[shared] mut counters: Shared<Array<Atomic<u32, $scope>, 4>>,
            start: &[u32],
            mut to: PerThread<u64>,
        ) {
            let i = thread::index_in_block();
            narrow.own().each(|k, cell| *cell.get_mut() = start[k]);
            signed.own().each(|k, cell| *cell.get_mut() = start[k] as i32);
            wide.own().each(|k, cell| *cell.get_mut() = start[k].into());
            signed_wide.own().each(|k, cell| *cell.get_mut() = start[k] as i64);
            counters.own().each(|_, cell| *cell.get_mut() = 0);
            narrow.read(|cells| integers!(cells, i, u32));
            signed.read(|cells| integers!(cells, i, i32));
            wide.read(|cells| integers!(cells, i, u64));
            signed_wide.read(|cells| integers!(cells, i, i64));
            counters.read(|cells| counters!(cells, i));
            let (narrow, signed) = (narrow.share(), signed.share());
            let (wide, signed_wide, counters) = (wide.share(), signed_wide.share(), counters.share());
            to.each(|k, to| {
                *to = match (k / 50, k % 50) {
                    (0, k) => narrow[k].load(Ordering::Relaxed).into(),
                    (1, k) => signed[k].load(Ordering::Relaxed) as u64,
                    (2, k) => wide[k].load(Ordering::Relaxed),
                    (3, k) => signed_wide[k].load(Ordering::Relaxed) as u64,
                    (_, k) => counters[k].load(Ordering::Relaxed).into(),
                };
            });
        }
        /// Floats in shared memory.
        #[kernel]
        pub fn $floats(
            #[shared] mut narrow: Shared<Array<Atomic<f32, $scope>, 30>>,
            #[shared] mut wide: Shared<Array<Atomic<f64, $scope>, 30>>,
            mut to: PerThread<f64>,
        ) {
            let i = thread::index_in_block();
            narrow.own().each(|_, cell| *cell.get_mut() = 0.0);
            wide.own().each(|_, cell| *cell.get_mut() = 0.0);
            narrow.read(|cells| floats!(cells, i, f32));
            wide.read(|cells| floats!(cells, i, f64));
            let (narrow, wide) = (narrow.share(), wide.share());
            to.each(|k, to| {
                *to = match (k / 30, k % 30) {
                    (0, k) => narrow[k].load(Ordering::Relaxed).into(),
                    (_, k) => wide[k].load(Ordering::Relaxed),
                };
            });
        }
    )*};
}

#[cfg(feature = "base")]
shared_kernels! {
    Block atomic_cta_integers atomic_cta_floats;
}
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
shared_kernels! {
    Cluster atomic_cluster_integers atomic_cluster_floats;
}

/// 128-bit values, and `bf16`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
#[kernel]
pub fn atomic_wide(
    cells: &[Atomic<u128, cuda_std::scope::Device>],
    half: &[Half<cuda_std::scope::Device>],
    halves: &[Halves<cuda_std::scope::System>],
) {
    let i = thread::index();
    for (k, order) in ORDERS.into_iter().enumerate() {
        let cell = |n: usize| &cells[3 * k + n];
        cell(0).fetch_map(order, |x| x.wrapping_add(u128::from(i) << 60 | 1));
        let old = cell(1).swap(u128::from(i) << 64 | u128::from(i), order);
        cell(2).fetch_map(Ordering::Relaxed, |x| x.wrapping_add(old));
    }
    half[0].fetch_add_bf16(0x3f80);
    halves[0].fetch_add_bf16(0x4000_3f80);
}
