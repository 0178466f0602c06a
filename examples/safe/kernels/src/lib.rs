//! The kernels of the example `safe`: each has a version without `unsafe` and an unchecked version.
//! Both compute the same values in the same steps.

#![no_std]

pub mod checked;
pub mod unchecked;

/// Rows and columns of a tile of the transpose.
pub const TILE: usize = 32;
/// Threads along the rows of such a tile; each has several elements of a column.
pub const ROWS: usize = 8;
/// Rows and columns of a tile of the matrix product, and of its blocks.
pub const PRODUCT: usize = 16;
/// Elements that a block of the stencil writes, and its threads.
pub const STENCIL: usize = 256;
/// Threads of a block of the reduction.
pub const REDUCTION: usize = 256;
