//! Regular grids: stencils, a lattice Boltzmann method, shortest paths, and a Gauss-Seidel sweep.

use cuda_std::prelude::*;
use cuda_std::shared::{Shared, Tile};
use cuda_std::{MatrixView, PerColumn, PerThread2d, PerThread3d, PerTile};

/// A step of Jacobi's method with five points. The edge is copied.
#[kernel(block_size(32, 8))]
pub fn jacobi5_f32_safe(from: &[f32], mut to: PerThread2d<f32>) {
    let (width, height) = (to.width(), to.height());
    to.each(|(x, y), to| {
        let i = y * width + x;
        *to = if x == 0 || y == 0 || x == width - 1 || y == height - 1 {
            from[i]
        } else {
            0.2 * (from[i] + from[i - 1] + from[i + 1] + from[i - width] + from[i + width])
        };
    });
}

/// A step of Jacobi's method with five points. The edge is copied.
#[kernel(block_size(32, 8))]
pub unsafe fn jacobi5_f32_raw(from: *const f32, to: *mut f32, width: usize, height: usize) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let i = y * width + x;
    let center = from.add(i);
    *to.add(i) = if x == 0 || y == 0 || x == width - 1 || y == height - 1 {
        *center
    } else {
        0.2 * (*center + *center.sub(1) + *center.add(1) + *center.sub(width) + *center.add(width))
    };
}

/// The radius of the stencil of the wave equation.
pub const RADIUS: usize = 4;
/// The weights of the second derivative, by distance.
pub const WEIGHTS: [f32; RADIUS + 1] = [-2.847_222_3, 1.6, -0.2, 0.025_396_825, -0.001_785_714_3];
/// The squared Courant number.
pub const COURANT: f32 = 0.1;

/// A step of the wave equation with 25 points: `previous` becomes the next state.
#[kernel(block_size(32, 8))]
pub fn wave25_safe(current: &[f32], mut previous: PerThread3d<f32>) {
    let (nx, ny, nz) = (previous.width(), previous.height(), previous.depth());
    previous.each(|(x, y, z), state| {
        let inside = x >= RADIUS
            && x + RADIUS < nx
            && y >= RADIUS
            && y + RADIUS < ny
            && z >= RADIUS
            && z + RADIUS < nz;
        if inside {
            let i = (z * ny + y) * nx + x;
            let mut laplacian = 3.0 * WEIGHTS[0] * current[i];
            for d in 1..=RADIUS {
                laplacian += WEIGHTS[d]
                    * (current[i - d]
                        + current[i + d]
                        + current[i - d * nx]
                        + current[i + d * nx]
                        + current[i - d * nx * ny]
                        + current[i + d * nx * ny]);
            }
            *state = 2.0 * current[i] - *state + COURANT * laplacian;
        }
    });
}

/// A step of the wave equation with 25 points: `previous` becomes the next state.
#[kernel(block_size(32, 8))]
pub unsafe fn wave25_raw(current: *const f32, previous: *mut f32, nx: usize, ny: usize, nz: usize) {
    let at = thread::index_3d();
    let (x, y, z) = (at.x as usize, at.y as usize, at.z as usize);
    let inside = x >= RADIUS
        && x + RADIUS < nx
        && y >= RADIUS
        && y + RADIUS < ny
        && z >= RADIUS
        && z + RADIUS < nz;
    if inside {
        let i = (z * ny + y) * nx + x;
        let center = current.add(i);
        let mut laplacian = 3.0 * WEIGHTS[0] * *center;
        for d in 1..=RADIUS {
            laplacian += WEIGHTS[d]
                * (*center.sub(d)
                    + *center.add(d)
                    + *center.sub(d * nx)
                    + *center.add(d * nx)
                    + *center.sub(d * nx * ny)
                    + *center.add(d * nx * ny));
        }
        let state = previous.add(i);
        *state = 2.0 * *center - *state + COURANT * laplacian;
    }
}

/// The number of directions of the lattice.
pub const DIRECTIONS: usize = 9;
/// The directions along `x`.
pub const EX: [f32; DIRECTIONS] = [0.0, 1.0, 0.0, -1.0, 0.0, 1.0, -1.0, -1.0, 1.0];
/// The directions along `y`.
pub const EY: [f32; DIRECTIONS] = [0.0, 0.0, 1.0, 0.0, -1.0, 1.0, 1.0, -1.0, -1.0];
/// The weight of each direction.
pub const LATTICE: [f32; DIRECTIONS] = [
    4.0 / 9.0,
    1.0 / 9.0,
    1.0 / 9.0,
    1.0 / 9.0,
    1.0 / 9.0,
    1.0 / 36.0,
    1.0 / 36.0,
    1.0 / 36.0,
    1.0 / 36.0,
];
/// The inverse of the relaxation time.
pub const OMEGA: f32 = 1.2;

/// Returns the populations of a cell after the collision.
#[inline(always)]
pub fn collide(f: [f32; DIRECTIONS]) -> [f32; DIRECTIONS] {
    let density: f32 = f.iter().sum();
    let ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / density;
    let uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / density;
    let squared = 1.5 * (ux * ux + uy * uy);
    core::array::from_fn(|q| {
        let along = 3.0 * (EX[q] * ux + EY[q] * uy);
        let equilibrium = LATTICE[q] * density * (1.0 + along + 0.5 * along * along - squared);
        f[q] + OMEGA * (equilibrium - f[q])
    })
}

/// A step of a lattice Boltzmann method in two dimensions: each cell collects the populations of its
/// neighbors, and they collide. Rows of `to` are directions, columns are cells.
#[kernel(block_size(256))]
pub fn lbm_d2q9_safe(width: usize, height: usize, from: &[f32], mut to: PerColumn<f32>) {
    let cells = width * height;
    to.each(|cell, mut column| {
        let (x, y) = (cell % width, cell / width);
        let left = if x == 0 { width - 1 } else { x - 1 };
        let right = if x + 1 == width { 0 } else { x + 1 };
        let down = if y == 0 { height - 1 } else { y - 1 };
        let up = if y + 1 == height { 0 } else { y + 1 };
        let at = |q: usize, x: usize, y: usize| from[q * cells + y * width + x];
        let f = [
            at(0, x, y),
            at(1, left, y),
            at(2, x, down),
            at(3, right, y),
            at(4, x, up),
            at(5, left, down),
            at(6, right, down),
            at(7, right, up),
            at(8, left, up),
        ];
        for (to, f) in column.iter_mut().zip(collide(f)) {
            *to = f;
        }
    });
}

/// A step of a lattice Boltzmann method: see [`lbm_d2q9_safe()`].
#[kernel(block_size(256))]
pub unsafe fn lbm_d2q9_raw(width: usize, height: usize, from: *const f32, to: *mut f32) {
    let cells = width * height;
    let cell = thread::index_1d() as usize;
    if cell >= cells {
        return;
    }
    let (x, y) = (cell % width, cell / width);
    let left = if x == 0 { width - 1 } else { x - 1 };
    let right = if x + 1 == width { 0 } else { x + 1 };
    let down = if y == 0 { height - 1 } else { y - 1 };
    let up = if y + 1 == height { 0 } else { y + 1 };
    let at = |q: usize, x: usize, y: usize| *from.add(q * cells + y * width + x);
    let f = collide([
        at(0, x, y),
        at(1, left, y),
        at(2, x, down),
        at(3, right, y),
        at(4, x, up),
        at(5, left, down),
        at(6, right, down),
        at(7, right, up),
        at(8, left, up),
    ]);
    for q in 0..DIRECTIONS {
        *to.add(q * cells + cell) = f[q];
    }
}

/// A step of Floyd and Warshall's algorithm: paths through the vertex `k`.
#[kernel(block_size(32, 8))]
pub fn floyd_warshall_safe(k: usize, from: &[u32], mut to: PerThread2d<u32>) {
    let n = to.width();
    to.each(|(j, i), to| {
        let through = from[i * n + k] + from[k * n + j];
        *to = from[i * n + j].min(through);
    });
}

/// A step of Floyd and Warshall's algorithm: paths through the vertex `k`.
#[kernel(block_size(32, 8))]
pub unsafe fn floyd_warshall_raw(k: usize, from: *const u32, to: *mut u32, n: usize) {
    let at = thread::index_2d();
    let (j, i) = (at.x as usize, at.y as usize);
    if i < n && j < n {
        let through = *from.add(i * n + k) + *from.add(k * n + j);
        *to.add(i * n + j) = (*from.add(i * n + j)).min(through);
    }
}

/// The number of rows and columns of the tiles of [`min_plus_safe()`].
pub const TILE: usize = 32;
/// The distance of vertices without a path.
pub const FAR: u32 = u32::MAX / 4;

/// The product of square matrices with minimum and addition: all paths of at most twice the length.
#[kernel(block_size(32, 32))]
pub fn min_plus_safe(
    #[shared] mut tiles: Shared<(Tile<u32, TILE, TILE>, Tile<u32, TILE, TILE>)>,
    a: &[u32],
    b: &[u32],
    mut c: PerTile<u32, TILE, TILE>,
) {
    let n = c.width();
    let (a, b) = (MatrixView::new(a, n, n), MatrixView::new(b, n, n));
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for mut tile in c.tiles() {
        let (x0, y0) = (tile.x(), tile.y());
        let mut least = FAR;
        for k0 in (0..n).step_by(TILE) {
            let (own_a, own_b) = tiles.own();
            own_a.each(|(x, y), e| *e = a.get(k0 + x, y0 + y).unwrap_or(FAR));
            own_b.each(|(x, y), e| *e = b.get(x0 + x, k0 + y).unwrap_or(FAR));
            tiles.read(|(a, b)| {
                for k in 0..TILE {
                    least = least.min(a[ty][k] + b[k][tx]);
                }
            });
        }
        tile.each(|_, to| *to = least);
    }
}

/// The product of square matrices with minimum and addition.
#[kernel(block_size(32, 32))]
pub unsafe fn min_plus_raw(a: *const u32, b: *const u32, c: *mut u32, n: usize) {
    let tile_a = shared_array![u32; TILE * TILE];
    let tile_b = shared_array![u32; TILE * TILE];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let column = thread::block_idx_x() as usize * TILE + tx;
    let row = thread::block_idx_y() as usize * TILE + ty;
    let mut least = FAR;
    for k0 in (0..n).step_by(TILE) {
        let inside_a = row < n && k0 + tx < n;
        let inside_b = k0 + ty < n && column < n;
        *tile_a.add(ty * TILE + tx) = if inside_a {
            *a.add(row * n + k0 + tx)
        } else {
            FAR
        };
        *tile_b.add(ty * TILE + tx) = if inside_b {
            *b.add((k0 + ty) * n + column)
        } else {
            FAR
        };
        thread::sync_threads();
        for k in 0..TILE {
            least = least.min(*tile_a.add(ty * TILE + k) + *tile_b.add(k * TILE + tx));
        }
        thread::sync_threads();
    }
    if row < n && column < n {
        *c.add(row * n + column) = least;
    }
}

/// Returns the columns of the neighbors to the left and to the right of a red cell in a row of
/// black cells.
#[inline(always)]
fn beside(x: usize, y: usize) -> (usize, usize) {
    if y % 2 == 0 {
        (x.wrapping_sub(1), x)
    } else {
        (x, x + 1)
    }
}

/// The red half of a sweep of the Gauss-Seidel method with overrelaxation. The colors are those of
/// a chessboard, and each has its own matrix, whose rows are half as long as the grid's. Cells
/// outside of the grid are zero.
#[kernel(block_size(32, 8))]
pub fn red_black_safe(black: &[f32], sources: &[f32], omega: f32, mut red: PerThread2d<f32>) {
    let (width, height) = (red.width(), red.height());
    let black = MatrixView::new(black, width, height);
    red.each(|(x, y), cell| {
        let at = |x: usize, y: usize| black.get(x, y).unwrap_or(0.0);
        let (left, right) = beside(x, y);
        let sum = at(x, y.wrapping_sub(1)) + at(x, y + 1) + at(left, y) + at(right, y);
        *cell += omega * (0.25 * (sum + sources[y * width + x]) - *cell);
    });
}

/// The red half of a sweep of the Gauss-Seidel method: see [`red_black_safe()`].
#[kernel(block_size(32, 8))]
pub unsafe fn red_black_raw(
    black: *const f32,
    sources: *const f32,
    omega: f32,
    red: *mut f32,
    width: usize,
    height: usize,
) {
    let at = thread::index_2d();
    let (x, y) = (at.x as usize, at.y as usize);
    if x >= width || y >= height {
        return;
    }
    let at = |x: usize, y: usize| {
        if x < width && y < height {
            *black.add(y * width + x)
        } else {
            0.0
        }
    };
    let (left, right) = beside(x, y);
    let sum = at(x, y.wrapping_sub(1)) + at(x, y + 1) + at(left, y) + at(right, y);
    let i = y * width + x;
    let cell = red.add(i);
    *cell += omega * (0.25 * (sum + *sources.add(i)) - *cell);
}
