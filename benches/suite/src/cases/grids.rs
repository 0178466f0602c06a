//! Regular grids: stencils, a lattice Boltzmann method, shortest paths, and a Gauss-Seidel sweep.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, uniform_f32, upload, zeroed};
use bench_kernels::grids::{COURANT, DIRECTIONS, FAR, RADIUS, TILE, WEIGHTS, collide};
use cust::error::CudaResult;

pub fn jacobi5_f32(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 20),
        false => (16384, 16384),
    };
    let n = width * height;
    let values = uniform_f32(n, 1);
    let from = upload(&values)?;
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("jacobi5_f32", grid, (32, 8))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            Args::new().slice(&from).rows(&to, width),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * n)
        .f32_operations(5.0 * n as f64)
        .check(move || {
            close(&to, 1e-5, 0.0, |i| {
                let (x, y) = (i % width, i / width);
                let at = |i: usize| f64::from(values[i]);
                if x == 0 || x + 1 == width || y == 0 || y + 1 == height {
                    return at(i);
                }
                0.2 * (at(i) + at(i - 1) + at(i + 1) + at(i - width) + at(i + width))
            })
        }))
}

pub fn wave25(scale: Scale) -> CudaResult<Case> {
    let [nx, ny, nz] = match scale.small {
        true => [40, 11, 10],
        false => [512, 512, 512],
    };
    let n = nx * ny * nz;
    let values = uniform_f32(n, 1);
    let current = upload(&values)?;
    let previous: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new().pointer(&current).pointer(&previous);
    let grid = (nx.div_ceil(32), ny.div_ceil(8), nz);
    Ok(Case::new("wave25", grid, (32, 8))
        .args(
            pointers
                .clone()
                .value(nx as i32)
                .value(ny as i32)
                .value(nz as i32),
            pointers.value(nx).value(ny).value(nz),
            Args::new().slice(&current).volume(&previous, nx, ny),
        )
        .input(&current)
        .output_from(&previous, 0)
        .bytes(12 * n)
        .f32_operations(34.0 * n as f64)
        .check(move || {
            close(&previous, 1e-4, 1e-5, |i| {
                let (x, y, z) = (i % nx, i / nx % ny, i / (nx * ny));
                let inside = |at: usize, n: usize| at >= RADIUS && at + RADIUS < n;
                if !(inside(x, nx) && inside(y, ny) && inside(z, nz)) {
                    return 0.0;
                }
                let at = |i: usize| f64::from(values[i]);
                let mut laplacian = 3.0 * f64::from(WEIGHTS[0]) * at(i);
                for step in [1, nx, nx * ny] {
                    for (d, &weight) in WEIGHTS.iter().enumerate().skip(1) {
                        let both = at(i - d * step) + at(i + d * step);
                        laplacian += f64::from(weight) * both;
                    }
                }
                2.0 * at(i) + f64::from(COURANT) * laplacian
            })
        }))
}

pub fn lbm_d2q9(scale: Scale) -> CudaResult<Case> {
    let (width, height) = match scale.small {
        true => (70, 9),
        false => (4096, 4096),
    };
    let cells = width * height;
    let values: Vec<f32> = uniform_f32(DIRECTIONS * cells, 1)
        .into_iter()
        .map(|x| 0.1 + 0.02 * x)
        .collect();
    let from = upload(&values)?;
    let to: Buffer<f32> = zeroed(DIRECTIONS * cells)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("lbm_d2q9", cells.div_ceil(256), 256)
        .args(
            Args::new()
                .value(width as i32)
                .value(height as i32)
                .and(pointers.clone()),
            Args::new().value(width).value(height).and(pointers),
            Args::new()
                .value(width)
                .value(height)
                .slice(&from)
                .rows(&to, cells),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * DIRECTIONS * cells)
        .f32_operations(120.0 * cells as f64)
        .check(move || {
            const DX: [isize; DIRECTIONS] = [0, 1, 0, -1, 0, 1, -1, -1, 1];
            const DY: [isize; DIRECTIONS] = [0, 0, 1, 0, -1, 1, 1, -1, -1];
            close(&to, 1e-4, 1e-6, |i| {
                let (q, cell) = (i / cells, i % cells);
                let (x, y) = (cell % width, cell / width);
                let f = std::array::from_fn(|q| {
                    let x = (x + width).wrapping_add_signed(-DX[q]) % width;
                    let y = (y + height).wrapping_add_signed(-DY[q]) % height;
                    values[q * cells + y * width + x]
                });
                f64::from(collide(f)[q])
            })
        }))
}

fn distances(n: usize, seed: u64) -> Vec<u32> {
    (0..(n * n) as u64)
        .map(|i| (random(i ^ (seed << 40)) % 10_000) as u32)
        .collect()
}

pub fn floyd_warshall(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(70, 8192);
    let k = n / 3;
    let values = distances(n, 1);
    let from = upload(&values)?;
    let to: Buffer<u32> = zeroed(n * n)?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    let grid = (n.div_ceil(32), n.div_ceil(8));
    Ok(Case::new("floyd_warshall", grid, (32, 8))
        .args(
            Args::new()
                .value(k as i32)
                .and(pointers.clone())
                .value(n as i32),
            Args::new().value(k).and(pointers).value(n),
            Args::new().value(k).slice(&from).rows(&to, n),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * n * n)
        .check(move || {
            close(&to, 0.0, 0.0, |at| {
                let (i, j) = (at / n, at % n);
                let through = values[i * n + k] + values[k * n + j];
                f64::from(values[at].min(through))
            })
        }))
}

pub fn min_plus(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(40, 2048);
    let (left, right) = (distances(n, 1), distances(n, 2));
    let (a, b) = (upload(&left)?, upload(&right)?);
    let c: Buffer<u32> = zeroed(n * n)?;
    let pointers = Args::new().pointer(&a).pointer(&b).pointer(&c);
    let blocks = n.div_ceil(TILE);
    Ok(Case::new("min_plus", (blocks, blocks), (TILE, TILE))
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&a).slice(&b).rows(&c, n),
        )
        .input(&a)
        .input(&b)
        .output(&c)
        .bytes(12 * n * n)
        .check(move || {
            close(&c, 0.0, 0.0, |at| {
                let (i, j) = (at / n, at % n);
                let least = (0..n).map(|k| left[i * n + k] + right[k * n + j]).min();
                f64::from(least.unwrap_or(FAR))
            })
        }))
}

pub fn red_black(scale: Scale) -> CudaResult<Case> {
    const OMEGA: f32 = 1.6;
    let (width, height) = match scale.small {
        true => (50, 21),
        false => (4096, 8192),
    };
    let n = width * height;
    let (cells, terms) = (uniform_f32(n, 1), uniform_f32(n, 2));
    let (black, sources) = (upload(&cells)?, upload(&terms)?);
    let red: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&black)
        .pointer(&sources)
        .value(OMEGA)
        .pointer(&red);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("red_black", grid, (32, 8))
        .args(
            (pointers.clone().value(width as i32)).value(height as i32),
            pointers.value(width).value(height),
            (Args::new().slice(&black).slice(&sources).value(OMEGA)).rows(&red, width),
        )
        .input(&black)
        .input(&sources)
        .output_from(&red, 0)
        .reset()
        .bytes(16 * n)
        .check(move || {
            let at = |x: usize, y: usize| match x < width && y < height {
                true => f64::from(cells[y * width + x]),
                false => 0.0,
            };
            close(&red, 1e-5, 0.0, |i| {
                let (x, y) = (i % width, i / width);
                let left = if y % 2 == 0 { x.wrapping_sub(1) } else { x };
                let sum = at(x, y.wrapping_sub(1)) + at(x, y + 1);
                let sum = sum + at(left, y) + at(left.wrapping_add(1), y);
                f64::from(OMEGA) * 0.25 * (sum + f64::from(terms[i]))
            })
        }))
}
