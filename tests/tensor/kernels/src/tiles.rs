//! `ldmatrix`, `stmatrix` and `movmatrix`, `mma.m8n8k4` and sparse products, by their rows of the
//! table: each lane writes its registers, and the host knows which elements they are.

use crate::kernel;
use cuda_std::intrinsics::matrix;
use cuda_std::prelude::*;

/// Words that the fragments of a kernel take in the output, for each lane.
pub const LOADED: usize = 14;

kernel! {
    load_matrices(input, output) {
        let tile = shared_array![u128; 32].cast::<u16>();
        let lane = thread::lane_id() as usize;
        // SAFETY: a warp, whose 32 rows of 8 elements are there.
        unsafe {
            for column in 0..8 {
                *tile.add(lane * 8 + column) = (lane * 8 + column) as u16;
            }
            thread::sync_threads();
            let row = tile.add(lane * 8);
            let output = output.add(lane * LOADED);
            let all = (
                matrix::ldmatrix_x_1(row), matrix::ldmatrix_x_2(row), matrix::ldmatrix_x_4(row),
                matrix::ldmatrix_trans_x_1(row), matrix::ldmatrix_trans_x_2(row), matrix::ldmatrix_trans_x_4(row),
            );
            output.cast::<[u32; 1]>().write(all.0);
            output.add(1).cast::<[u32; 2]>().write(all.1);
            output.add(3).cast::<[u32; 4]>().write(all.2);
            output.add(7).cast::<[u32; 1]>().write(all.3);
            output.add(8).cast::<[u32; 2]>().write(all.4);
            output.add(10).cast::<[u32; 4]>().write(all.5);
        }
    }
}

/// The elements of the tile's matrix in a lane's register.
pub fn loaded(matrix: usize, lane: usize, transposed: bool) -> u32 {
    let element = |row: usize, column: usize| (matrix * 64 + row * 8 + column) as u32;
    let (row, column) = (lane / 4, lane % 4 * 2);
    if transposed {
        element(column, row) | element(column + 1, row) << 16
    } else {
        element(row, column) | element(row, column + 1) << 16
    }
}

kernel! {
    move_matrix(input, output) {
        let lane = thread::lane_id() as usize;
        let moved = matrix::movmatrix_trans(loaded(0, lane, false));
        // SAFETY: a word for each lane.
        unsafe { output.add(lane).write(moved) };
    }
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
kernel! {
    store_matrices(input, output) {
        let tile = shared_array![u128; 32].cast::<u16>();
        let lane = thread::lane_id() as usize;
        let transposed = unsafe { *input != 0 };
        let fragment = core::array::from_fn(|matrix| loaded(matrix, lane, transposed));
        // SAFETY: a warp, whose 32 rows of 8 elements are there.
        unsafe {
            let row = tile.add(lane * 8);
            if transposed {
                matrix::stmatrix_trans_x_4(row, fragment);
            } else {
                matrix::stmatrix_x_4(row, fragment);
            }
            thread::sync_threads();
            for column in 0..8 {
                *output.add(lane * 8 + column) = (*row.add(column)).into();
            }
        }
    }
}

kernel! {
    // Fragments from the input, two registers of each factor and eight of the sum.
    quad_pairs(input, output) {
        let lane = thread::lane_id() as usize;
        // SAFETY: twelve words for each lane, and after 384 one for the case; eight in the output.
        unsafe {
            let from = input.add(lane * 12);
            let (a, b) = (from.cast::<[u32; 2]>().read(), from.add(2).cast::<[u32; 2]>().read());
            let c = from.add(4).cast::<[f32; 8]>().read();
            let d = match *input.add(384) {
                0 => matrix::mma_m8n8k4_row_row_f32_f16_f16_f32(a, b, c),
                1 => matrix::mma_m8n8k4_row_col_f32_f16_f16_f32(a, b, c),
                2 => matrix::mma_m8n8k4_col_row_f32_f16_f16_f32(a, b, c),
                _ => matrix::mma_m8n8k4_col_col_f32_f16_f16_f32(a, b, c),
            };
            output.add(lane * 8).cast::<[f32; 8]>().write(d);
        }
    }
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
kernel! {
    // Fragments from the input: four registers of each factor, the metadata. The sum begins at 0.
    sparse(input, output) {
        let lane = thread::lane_id() as usize;
        // SAFETY: nine words for each lane, and after 288 one for the case; four in the output.
        unsafe {
            let from = input.add(lane * 9);
            let (a, b) = (from.cast::<[u32; 4]>().read(), from.add(4).cast::<[u32; 4]>().read());
            let (a2, b2) = ([a[0], a[1]], [b[0], b[1]]);
            let e = from.add(8).read();
            let (f, i) = ([0.0f32; 4], [0i32; 4]);
            let bits = |d: [f32; 4]| d.map(f32::to_bits);
            let whole = |d: [i32; 4]| d.map(|x| x as u32);
            let d = match *input.add(288) {
                0 => bits(matrix::mma_sp_ordered_m16n8k16_f32_f16_f16_f32::<0>(a2, b2, f, e)),
                1 => bits(matrix::mma_sp_ordered_m16n8k16_f32_f16_f16_f32::<3>(a2, b2, f, e)),
                2 => bits(matrix::mma_sp_ordered_m16n8k32_f32_bf16_bf16_f32::<0>(a, b, f, e)),
                3 => bits(matrix::mma_sp_ordered_m16n8k32_f32_bf16_bf16_f32::<1>(a, b, f, e)),
                4 => bits(matrix::mma_sp_ordered_m16n8k8_f32_tf32_tf32_f32::<2>(a2, b2, f, e)),
                5 => bits(matrix::mma_sp_ordered_m16n8k16_f32_tf32_tf32_f32::<1>(a, b, f, e)),
                6 => whole(matrix::mma_sp_ordered_m16n8k32_s32_s8_s8_s32_wrapping::<1>(a2, b2, i, e)),
                7 => whole(matrix::mma_sp_ordered_m16n8k64_s32_s8_s8_s32_wrapping::<0>(a, b, i, e)),
                8 => bits(matrix::mma_sp_ordered_m16n8k64_f32_e4m3_e4m3_f32::<0>(a, b, f, e)),
                9 => whole(matrix::mma_sp_ordered_m16n8k64_s32_s4_s4_s32_wrapping::<0>(a2, b2, i, e)),
                _ => whole(matrix::mma_sp_ordered_m16n8k128_s32_s4_s4_s32_wrapping::<0>(a, b, i, e)),
            };
            output.add(lane * 4).cast::<[u32; 4]>().write(d);
        }
    }
}
