//! The kernel of the example `matmul`: a block computes 128×128 elements of the product, each of
//! its
//! eight warps 64×32 of them in 4×4 fragments, in steps of 32 along K. The asynchronous copies of
//! the
//! next step's tiles overlap with the tensor core operations of the current step.

#![no_std]

use cuda_std::copy;
use cuda_std::half::F16;
use cuda_std::matrix::{A, Accumulator, B, Mma, Multiply};
use cuda_std::prelude::*;
use cuda_std::unroll::unroll;

/// Rows and columns of the product that a block computes.
pub const TILE: usize = 128;
/// How far a block goes along K at once.
pub const STEP: usize = 32;
/// Threads of a block.
pub const THREADS: usize = 256;

/// Elements from one row of a tile to the next in shared memory: eight more than there are, so that
/// the rows of a fragment lie in different banks.
const STRIDE_A: usize = STEP + 8;
const STRIDE_B: usize = TILE + 8;

type Product = Mma<16, 8, 16, F16, F16, f32>;

/// Where a block's tiles come from and go to: two of each, for a step and the next one.
struct Copies {
    a: *const F16,
    b: *const F16,
    n: usize,
    k: usize,
    tiles_a: *mut F16,
    tiles_b: *mut F16,
}

impl Copies {
    /// Begins the copies of a step: each thread copies two pieces of eight elements of either tile.
    ///
    /// # Safety
    /// The step is inside the matrices, and nobody reads the tiles of its stage.
    #[inline(always)]
    unsafe fn begin(&self, step: usize) {
        let stage = step / STEP % 2;
        let thread = thread::thread_idx_x() as usize;
        unroll::<2>(|piece| {
            let piece = thread + piece * THREADS;
            // SAFETY: the caller's promise.
            unsafe {
                let (i, j) = (piece / 4, piece % 4 * 8);
                let from = self.a.add(i * self.k + step + j);
                let to = self.tiles_a.add(stage * TILE * STRIDE_A + i * STRIDE_A + j);
                copy::begin(to.cast::<u128>(), from.cast());
                let (i, j) = (piece / 16, piece % 16 * 8);
                let from = self.b.add((step + i) * self.n + j);
                let to = self.tiles_b.add(stage * STEP * STRIDE_B + i * STRIDE_B + j);
                copy::begin(to.cast::<u128>(), from.cast());
            }
        });
        copy::commit();
    }
}

/// Adds the products of 16 columns and 16 rows of a warp's part of the tiles. It has to be inlined:
/// sums that a function knows by reference are in memory. (A closure might not be, as large as it is.)
///
/// # Safety
/// The tiles are there, and nobody writes them.
#[inline(always)]
unsafe fn add_products(
    sums: &mut [Accumulator<Product>; 16],
    tile_a: *const F16,
    tile_b: *const F16,
) {
    let mut left = [A::<Product>::zero(); 4];
    let mut right = [B::<Product>::zero(); 4];
    // SAFETY: the caller's promise.
    unroll::<4>(|i| unsafe {
        left[i] = A::<Product>::load_shared(tile_a.add(16 * i * STRIDE_A), STRIDE_A);
        right[i] = B::<Product>::load_shared(tile_b.add(8 * i), STRIDE_B);
    });
    unroll::<16>(|place| {
        let (i, j) = (place / 4, place % 4);
        sums[place] = Product::multiply(left[i], right[j], sums[place]);
    });
}

/// `c = a * b`, all row after row: `m` by `k`, `k` by `n`, `m` by `n`.
///
/// # Safety
/// The sides are multiples of the tile's and the step's, the matrices are there, aligned to 16
/// bytes, and the grid has a block of [`THREADS`] threads for each tile: `n / TILE` by `m / TILE`.
// Two blocks share a multiprocessor, as far as registers go.
#[kernel(block_size(256), min_blocks = 2)]
pub unsafe fn matmul(a: *const F16, b: *const F16, c: *mut f32, n: usize, k: usize) {
    let tiles_a = shared_array![u128; 2 * TILE * STRIDE_A / 8].cast::<F16>();
    let tiles_b = shared_array![u128; 2 * STEP * STRIDE_B / 8].cast::<F16>();
    let thread = thread::thread_idx_x() as usize;
    let (row, column) = (
        thread::block_idx_y() as usize * TILE,
        thread::block_idx_x() as usize * TILE,
    );
    // The warp's part of the tile: two by four of them.
    let warp = thread / 32;
    let (warp_row, warp_column) = (warp / 4 * 64, warp % 4 * 32);

    let copies = Copies {
        // SAFETY: the block's rows and columns are inside the matrices.
        a: unsafe { a.add(row * k) },
        // SAFETY: as above.
        b: unsafe { b.add(column) },
        n,
        k,
        tiles_a,
        tiles_b,
    };

    // Loops are written out, for the sums' places must be known for them to be registers.
    let mut sums = [Accumulator::<Product>::zero(); 16];
    // SAFETY: inside the matrices, of which there is one step at least.
    unsafe { copies.begin(0) };
    let mut step = 0;
    while step < k {
        if step + STEP < k {
            // SAFETY: inside the matrices, and the tiles of that stage have been read.
            unsafe { copies.begin(step + STEP) };
            copy::wait::<1>();
        } else {
            copy::wait::<0>();
        }
        thread::sync_threads();
        let stage = step / STEP % 2;
        // SAFETY: inside the tiles, which nobody writes now.
        unsafe {
            let tile_a = tiles_a.add(stage * TILE * STRIDE_A + warp_row * STRIDE_A);
            let tile_b = tiles_b.add(stage * STEP * STRIDE_B + warp_column);
            add_products(&mut sums, tile_a, tile_b);
            add_products(&mut sums, tile_a.add(16), tile_b.add(16 * STRIDE_B));
        }
        thread::sync_threads();
        step += STEP;
    }
    unroll::<16>(|place| {
        let row = row + warp_row + 16 * (place / 4);
        let column = column + warp_column + 8 * (place % 4);
        sums[place].for_each(|y, x, value| {
            // SAFETY: inside the matrix, and nobody else's element.
            unsafe { *c.add((row + y) * n + column + x) = value };
        });
    });
}
