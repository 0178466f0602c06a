//! `life`: Conway's Game of Life on a torus.
//!
//! A thread computes each cell from its eight neighbors. Look at `PerThread2d`, which partitions
//! the new generation by columns and rows, and at the two buffers: a kernel cannot read the
//! elements of other threads that it writes. The rule is John Conway's, from Martin Gardner,
//! "Mathematical games", *Scientific American* 223 (October 1970).

use cuda_std::prelude::*;
use cuda_std::{MatrixView, PerThread2d};

/// The generations after which a cell's age no longer grows.
pub const OLDEST: u8 = 5;

/// Returns a cell's next age: 0 for a dead cell, otherwise the number of generations that it has
/// lived. `age` returns the age of the cell in a column and a row.
pub fn next_age(
    (x, y): (usize, usize),
    (width, height): (usize, usize),
    age: impl Fn(usize, usize) -> u8,
) -> u8 {
    // Without a remainder, which is slow.
    let before = |i: usize, n: usize| if i == 0 { n - 1 } else { i - 1 };
    let after = |i: usize, n: usize| if i + 1 == n { 0 } else { i + 1 };
    let mut neighbors = 0;
    for row in [before(y, height), y, after(y, height)] {
        for column in [before(x, width), x, after(x, width)] {
            neighbors += u32::from(age(column, row) > 0);
        }
    }
    let own = age(x, y);
    // `neighbors` counts the cell itself, too.
    match (own > 0, neighbors) {
        (true, 3 | 4) => (own + 1).min(OLDEST),
        (false, 3) => 1,
        _ => 0,
    }
}

/// Computes the next generation.
#[kernel]
pub fn life_step(from: &[u8], mut to: PerThread2d<u8>) {
    let size = (to.width(), to.height());
    let from = MatrixView::new(from, size.0, size.1);
    to.each(|at, cell| *cell = next_age(at, size, |x, y| from.get(x, y).unwrap_or(0)));
}
