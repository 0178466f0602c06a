//! Many small Fourier transforms.

use cuda_std::PerBlock;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::vector::F32x2;

/// The number of points of a transform.
pub const POINTS: usize = 256;
/// The number of stages of a transform.
const STAGES: u32 = POINTS.ilog2();

/// A butterfly: returns the sum and the difference of a number and a rotated one.
#[inline(always)]
fn butterfly(a: F32x2, b: F32x2, turn: F32x2) -> (F32x2, F32x2) {
    let b = F32x2::new(
        b[0] * turn[0] - b[1] * turn[1],
        b[0] * turn[1] + b[1] * turn[0],
    );
    (a + b, a - b)
}

/// Returns the index with its bits in reverse order.
#[inline(always)]
fn reversed(i: usize) -> usize {
    ((i as u32).reverse_bits() >> (32 - STAGES)) as usize
}

/// The Fourier transform of each group of [`POINTS`] complex numbers, by a block of half as many
/// threads. In each stage, thread `i` combines the numbers `2 * i` and `2 * i + 1`, and its results
/// are the numbers `i` and `i + POINTS / 2`. `turns` are the first half of the roots of unity.
#[kernel(block_size(128))]
pub fn fft_safe(
    #[shared] mut numbers: Shared<Array<F32x2, POINTS>>,
    from: &[F32x2],
    turns: &[F32x2],
    mut to: PerBlock<F32x2, POINTS>,
) {
    let thread = thread::index_in_block() as usize;
    for mut piece in to.pieces() {
        let start = piece.start();
        let from = &from[start..][..POINTS];
        numbers.own().each(|i, to| *to = from[reversed(i)]);
        for stage in 0..STAGES {
            let turn = turns[thread >> (STAGES - 1 - stage) << (STAGES - 1 - stage)];
            let (sum, difference) = numbers
                .read(|numbers| butterfly(numbers[2 * thread], numbers[2 * thread + 1], turn));
            numbers.own().each(|i, to| {
                *to = if i < POINTS / 2 { sum } else { difference };
            });
        }
        numbers.read(|numbers| piece.each(|i, to| *to = numbers[i - start]));
    }
}

/// The Fourier transform of each group of [`POINTS`] complex numbers: see [`fft_safe()`].
#[kernel(block_size(128))]
pub unsafe fn fft_raw(from: *const F32x2, turns: *const F32x2, to: *mut F32x2) {
    let numbers = shared_array![F32x2; POINTS];
    let thread = thread::thread_idx_x() as usize;
    let start = thread::block_idx_x() as usize * POINTS;
    let (from, to) = (from.add(start), to.add(start));
    *numbers.add(thread) = *from.add(reversed(thread));
    *numbers.add(thread + POINTS / 2) = *from.add(reversed(thread + POINTS / 2));
    for stage in 0..STAGES {
        let turn = *turns.add(thread >> (STAGES - 1 - stage) << (STAGES - 1 - stage));
        thread::sync_threads();
        let (sum, difference) =
            butterfly(*numbers.add(2 * thread), *numbers.add(2 * thread + 1), turn);
        thread::sync_threads();
        *numbers.add(thread) = sum;
        *numbers.add(thread + POINTS / 2) = difference;
    }
    thread::sync_threads();
    *to.add(thread) = *numbers.add(thread);
    *to.add(thread + POINTS / 2) = *numbers.add(thread + POINTS / 2);
}
