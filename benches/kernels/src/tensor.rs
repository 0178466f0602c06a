//! Products of `bf16` matrices on tensor cores, with `mma.sync`.

use cuda_std::AnyBits;
use cuda_std::atomic::{Atomic, Ordering::Relaxed};
use cuda_std::half::Bf16;
use cuda_std::matrix::{A, Accumulator, B, Mma, Multiply};
use cuda_std::prelude::*;
use cuda_std::scope::Device;
use cuda_std::shared::{Shared, Tile};
use cust_core::DeviceCopy;

/// The number of rows and columns of a block's part of the result.
pub const BLOCK: usize = 64;
/// The number of columns of `a` per step.
pub const STEP: usize = 32;

/// Eight numbers, which are loaded with one instruction.
#[derive(Clone, Copy, Default, DeviceCopy, AnyBits)]
#[repr(C, align(16))]
pub struct Eight(pub [Bf16; 8]);

/// Returns the nearest `bf16` number: for the host, which needs no other function of `cuda_std`.
pub fn bf16(value: f32) -> Bf16 {
    Bf16::from_f32(value)
}

/// The product that the tensor cores compute at once.
type Product = Mma<16, 8, 16, Bf16, Bf16, f32>;

/// `c = a * b` of square matrices whose sides are multiples of [`BLOCK`]. Each of four warps
/// computes a quarter of a block's part of the result.
#[kernel(block_size(4, 32))]
pub fn gemm_bf16_safe(
    #[shared] mut tiles: Shared<(Tile<Eight, 4, BLOCK, 5>, Tile<Eight, 8, STEP, 9>)>,
    a: &[Eight],
    b: &[Eight],
    c: &[Atomic<f32, Device>],
    n: usize,
) {
    let warp = thread::index_in_block() as usize / 32;
    let (warp_x, warp_y) = (warp % 2 * 32, warp / 2 * 32);
    let x0 = thread::block_idx_x() as usize * BLOCK;
    let y0 = thread::block_idx_y() as usize * BLOCK;
    let mut sums = [[Accumulator::<Product>::zero(); 4]; 2];
    for k0 in (0..n).step_by(STEP) {
        let (own_a, own_b) = tiles.own();
        own_a.each(|(x, y), e| *e = a[((y0 + y) * n + k0) / 8 + x]);
        own_b.each(|(x, y), e| *e = b[((k0 + y) * n + x0) / 8 + x]);
        tiles.read(|(a, b)| {
            for k in [0, 16] {
                let right: [B<Product>; 4] = core::array::from_fn(|j| {
                    B::from_fn(|row, column| {
                        let column = warp_x + 8 * j + column;
                        b[k + row][column / 8].0[column % 8]
                    })
                });
                for (i, sums) in sums.iter_mut().enumerate() {
                    let left = A::<Product>::from_fn(|row, column| {
                        let column = k + column;
                        a[warp_y + 16 * i + row][column / 8].0[column % 8]
                    });
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum = Product::multiply(left, right, *sum);
                    }
                }
            }
        });
    }
    for (i, sums) in sums.into_iter().enumerate() {
        for (j, sum) in sums.into_iter().enumerate() {
            let (y, x) = (y0 + warp_y + 16 * i, x0 + warp_x + 8 * j);
            sum.for_each(|row, column, value| {
                c[(y + row) * n + x + column].store(value, Relaxed);
            });
        }
    }
}

/// `c = a * b` of square matrices: see [`gemm_bf16_safe()`].
#[kernel(block_size(4, 32))]
pub unsafe fn gemm_bf16_raw(a: *const Eight, b: *const Eight, c: *mut f32, n: usize) {
    let tile_a = shared_array![Eight; BLOCK * 5];
    let tile_b = shared_array![Eight; STEP * 9];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let warp = (ty * 4 + tx) / 32;
    let (warp_x, warp_y) = (warp % 2 * 32, warp / 2 * 32);
    let x0 = thread::block_idx_x() as usize * BLOCK;
    let y0 = thread::block_idx_y() as usize * BLOCK;
    let mut sums = [[Accumulator::<Product>::zero(); 4]; 2];
    for k0 in (0..n).step_by(STEP) {
        for half in 0..2 {
            let y = ty + 32 * half;
            *tile_a.add(y * 5 + tx) = *a.add(((y0 + y) * n + k0) / 8 + tx);
            let x = tx + 4 * half;
            *tile_b.add(ty * 9 + x) = *b.add(((k0 + ty) * n + x0) / 8 + x);
        }
        thread::sync_threads();
        let (from_a, from_b) = (tile_a.cast::<Bf16>(), tile_b.cast::<Bf16>());
        for k in [0, 16] {
            let mut right = [B::<Product>::zero(); 4];
            for j in 0..4 {
                right[j] =
                    B::from_fn(|row, column| *from_b.add((k + row) * 72 + warp_x + 8 * j + column));
            }
            for i in 0..2 {
                let left = A::<Product>::from_fn(|row, column| {
                    *from_a.add((warp_y + 16 * i + row) * 40 + k + column)
                });
                for j in 0..4 {
                    sums[i][j] = Product::multiply(left, right[j], sums[i][j]);
                }
            }
        }
        thread::sync_threads();
    }
    for i in 0..2 {
        for j in 0..4 {
            let c = c.add((y0 + warp_y + 16 * i) * n + x0 + warp_x + 8 * j);
            sums[i][j].for_each(|row, column, value| *c.add(row * n + column) = value);
        }
    }
}
