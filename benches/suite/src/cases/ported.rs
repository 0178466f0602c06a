//! Kernels after those of other suites of benchmarks: grids, statistics, samples of k-space, cells,
//! and particles.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, near, random, samples, uniform, uniform_f32, upload,
    zeroed,
};
use bench_kernels::ported::{ANGLES, Sample};
use cust::error::CudaResult;
use std::f64::consts::{PI, TAU};

pub fn hotspot3d(scale: Scale) -> CudaResult<Case> {
    // The weights of the center, of the neighbors in the same layer, and of those in others.
    let (cc, cn, ct) = (0.4f32, 0.1f32, 0.09f32);
    let ambient = 0.8f32;
    let (nx, ny, nz) = match scale.small {
        true => (70, 6, 3),
        false => (512, 512, 64),
    };
    let n = nx * ny * nz;
    let (temperatures, powers) = (uniform_f32(n, 1), uniform_f32(n, 2));
    let (temp, power) = (upload(&temperatures)?, upload(&powers)?);
    let to: Buffer<f32> = zeroed(n)?;
    let weights = || Args::new().value(cc).value(cn).value(ct).value(ambient);
    let pointers = (Args::new().pointer(&temp).pointer(&power)).and(weights());
    let pointers = pointers.pointer(&to);
    let grid = (nx.div_ceil(64), ny.div_ceil(4), nz);
    Ok(Case::new("hotspot3d", grid, (64, 4))
        .args(
            (pointers.clone().value(nx as i32).value(ny as i32)).value(nz as i32),
            pointers.value(nx).value(ny).value(nz),
            (Args::new().slice(&temp).slice(&power).and(weights())).volume(&to, nx, ny),
        )
        .input(&temp)
        .input(&power)
        .output(&to)
        .bytes(12 * n)
        .f32_operations(13.0 * n as f64)
        .check(move || {
            close(&to, 1e-5, 0.0, |i| {
                let (x, y, z) = (i % nx, i / nx % ny, i / (nx * ny));
                let at = |dx: isize, dy: isize, dz: isize| {
                    let clamp = |at: usize, d: isize, n: usize| {
                        (at as isize + d).clamp(0, n as isize - 1) as usize
                    };
                    let row = clamp(z, dz, nz) * ny + clamp(y, dy, ny);
                    f64::from(temperatures[row * nx + clamp(x, dx, nx)])
                };
                let layer = at(-1, 0, 0) + at(1, 0, 0) + at(0, -1, 0) + at(0, 1, 0);
                let others = at(0, 0, -1) + at(0, 0, 1) + f64::from(ambient);
                f64::from(cc) * at(0, 0, 0)
                    + f64::from(cn) * layer
                    + f64::from(ct) * others
                    + 0.1 * f64::from(powers[i])
            })
        }))
}

pub fn srad(scale: Scale) -> CudaResult<Case> {
    const Q0: f32 = 0.05;
    let (width, height) = match scale.small {
        true => (70, 21),
        false => (8192, 4096),
    };
    let n = width * height;
    let pixels: Vec<f32> = uniform_f32(n, 1).into_iter().map(|x| 0.5 + x).collect();
    let image = upload(&pixels)?;
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new().pointer(&image).value(Q0).pointer(&to);
    let grid = (width.div_ceil(32), height.div_ceil(8));
    Ok(Case::new("srad", grid, (32, 8))
        .args(
            pointers.clone().value(width as i32).value(height as i32),
            pointers.value(width).value(height),
            Args::new().slice(&image).value(Q0).rows(&to, width),
        )
        .input(&image)
        .output(&to)
        .bytes(8 * n)
        .f32_operations(30.0 * n as f64)
        .check(move || {
            close(&to, 1e-3, 1e-5, |i| {
                let (x, y) = (i % width, i / width);
                let at = |x: usize, y: usize| f64::from(pixels[y * width + x]);
                let center = at(x, y);
                let differences = [
                    at(x, y.saturating_sub(1)),
                    at(x, (y + 1).min(height - 1)),
                    at(x.saturating_sub(1), y),
                    at((x + 1).min(width - 1), y),
                ]
                .map(|neighbor| (neighbor - center) / center);
                let squares: f64 = differences.iter().map(|d| d * d).sum();
                let laplacian: f64 = differences.iter().sum();
                let numerator = 0.5 * squares - laplacian * laplacian / 16.0;
                let q = numerator / (1.0 + 0.25 * laplacian).powi(2);
                let q0 = f64::from(Q0);
                (1.0 / (1.0 + (q - q0) / (q0 * (1.0 + q0)))).clamp(0.0, 1.0)
            })
        }))
}

pub fn covariance(scale: Scale) -> CudaResult<Case> {
    let (rows, m) = match scale.small {
        true => (50, 70),
        false => (1024, 1024),
    };
    let values = uniform_f32(rows * m, 1);
    let averages: Vec<f32> = (0..m)
        .map(|x| {
            let column = values.iter().skip(x).step_by(m);
            (column.map(|&value| f64::from(value)).sum::<f64>() / rows as f64) as f32
        })
        .collect();
    let (data, means) = (upload(&values)?, upload(&averages)?);
    let to: Buffer<f32> = zeroed(m * m)?;
    let pointers = Args::new().pointer(&data).pointer(&means);
    let grid = (m.div_ceil(32), m.div_ceil(8));
    Ok(Case::new("covariance", grid, (32, 8))
        .args(
            (pointers.clone().value(rows as i32).pointer(&to)).value(m as i32),
            pointers.value(rows).pointer(&to).value(m),
            (Args::new().slice(&data).slice(&means).value(rows)).rows(&to, m),
        )
        .input(&data)
        .input(&means)
        .output(&to)
        .bytes(4 * (rows * m + m + m * m))
        .f32_operations(4.0 * (rows * m * m) as f64)
        .check(move || {
            close(&to, 1e-4, 1e-6, |i| {
                let (x, y) = (i % m, i / m);
                let at = |row: usize, column: usize| {
                    f64::from(values[row * m + column]) - f64::from(averages[column])
                };
                let sum: f64 = (0..rows).map(|row| at(row, x) * at(row, y)).sum();
                sum / (rows as f64 - 1.0)
            })
        }))
}

pub fn mriq(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 18);
    let count = scale.pick(50, 1024);
    let coordinates = [1, 2, 3].map(|seed| uniform_f32(n, seed));
    let values: Vec<Sample> = (uniform_f32(4 * count, 4).as_chunks::<4>().0.iter())
        .map(|&[kx, ky, kz, phi]| Sample {
            kx: 8.0 * kx - 4.0,
            ky: 8.0 * ky - 4.0,
            kz: 8.0 * kz - 4.0,
            phi,
        })
        .collect();
    let [xs, ys, zs] = [0, 1, 2].map(|k| upload(&coordinates[k]));
    let (xs, ys, zs) = (xs?, ys?, zs?);
    let k_space = upload(&values)?;
    let (real, imag): (Buffer<f32>, Buffer<f32>) = (zeroed(n)?, zeroed(n)?);
    let start = (Args::new().pointer(&xs).pointer(&ys).pointer(&zs)).pointer(&k_space);
    let end = || Args::new().pointer(&real).pointer(&imag);
    Ok(Case::new("mriq", n.div_ceil(256), 256)
        .args(
            (start.clone().value(count as i32).and(end())).value(n as i32),
            start.value(count).and(end()).value(n),
            (Args::new().slice(&xs).slice(&ys).slice(&zs).slice(&k_space))
                .output(&real)
                .output(&imag),
        )
        .input(&xs)
        .input(&ys)
        .input(&zs)
        .input(&k_space)
        .output(&real)
        .output(&imag)
        .bytes(20 * n + 16 * count)
        // Without those of sines and cosines.
        .f32_operations(10.0 * (count * n) as f64)
        .check(move || {
            let (real, imag) = (download(&real)?, download(&imag)?);
            for i in samples(n) {
                let (mut re, mut im) = (0.0, 0.0);
                for sample in &values {
                    let k = [sample.kx, sample.ky, sample.kz];
                    let terms = k.iter().zip(&coordinates);
                    let dot = terms.map(|(&k, x)| f64::from(k) * f64::from(x[i]));
                    let phase = TAU * dot.sum::<f64>();
                    re += f64::from(sample.phi) * phase.cos();
                    im += f64::from(sample.phi) * phase.sin();
                }
                near(i, real[i], re, 1e-4, 2e-3)?;
                near(i, imag[i], im, 1e-4, 2e-3)?;
            }
            Ok(())
        }))
}

/// Returns points near the unit sphere. The coordinates are multiples of 1/128, so the scalar
/// products of `f32` are exact.
fn directions(n: usize, seed: u64) -> Vec<[f32; 3]> {
    (0..n as u64)
        .map(|i| {
            let z = 2.0 * uniform((2 * i) ^ (seed << 40)) - 1.0;
            let angle = TAU * uniform((2 * i + 1) ^ (seed << 40));
            let radius = (1.0 - z * z).sqrt();
            [radius * angle.cos(), radius * angle.sin(), z]
                .map(|x| ((128.0 * x).round() / 128.0) as f32)
        })
        .collect()
}

pub fn tpacf(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 16);
    let m = scale.pick(50, 1024);
    let (from, from_others) = (directions(n, 1), directions(m, 2));
    let limits: Vec<f32> = (1..=ANGLES)
        .map(|i| (PI * i as f64 / ANGLES as f64).cos() as f32)
        .collect();
    let mut expected = vec![0u32; ANGLES];
    for p in &from {
        for q in &from_others {
            let dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
            let bin = limits.partition_point(|&limit| dot < limit);
            expected[bin.min(ANGLES - 1)] += 1;
        }
    }
    let (points, others, bounds) = (upload(&from)?, upload(&from_others)?, upload(&limits)?);
    let to: Buffer<u32> = zeroed(ANGLES)?;
    let end = || Args::new().pointer(&bounds).pointer(&to);
    let nvcc = Args::new().pointer(&points).value(n as i32);
    Ok(Case::new("tpacf", n.div_ceil(256), 256)
        .args(
            nvcc.pointer(&others).value(m as i32).and(end()),
            Args::new().slice(&points).slice(&others).and(end()),
            (Args::new().slice(&points).slice(&others))
                .pointer(&bounds)
                .slice(&to),
        )
        .input(&points)
        .input(&others)
        .input(&bounds)
        .output_from(&to, 0)
        .reset()
        .bytes(12 * (n + m))
        .f32_operations(5.0 * (n * m) as f64)
        .check(move || match download(&to)? == expected {
            true => Ok(()),
            false => Err("the counts differ".to_owned()),
        }))
}

pub fn cfd(scale: Scale) -> CudaResult<Case> {
    let cells = scale.pick(1000, 1 << 21);
    // Most neighbors are near. A few cells are at walls or at the far field.
    let ends: Vec<i32> = (0..4 * cells)
        .map(|i| match random(i as u64) {
            random if random % 16 == 0 => -1 - (random >> 32 & 1) as i32,
            random => ((i + (random >> 32) as usize % 2048) % cells) as i32,
        })
        .collect();
    let directions: Vec<f32> = uniform_f32(8 * cells, 1)
        .into_iter()
        .map(|x| 2.0 * x - 1.0)
        .collect();
    let values: Vec<f32> = uniform_f32(4 * cells, 2)
        .into_iter()
        .map(|x| 1.0 + x)
        .collect();
    let (neighbors, normals, vars) = (upload(&ends)?, upload(&directions)?, upload(&values)?);
    let to: Buffer<[f32; 2]> = zeroed(cells)?;
    let pointers = (Args::new().pointer(&neighbors).pointer(&normals)).pointer(&vars);
    Ok(Case::new("cfd", cells.div_ceil(128), 128)
        .args(
            pointers.clone().value(cells as i32).pointer(&to),
            pointers.value(cells).pointer(&to),
            (Args::new().slice(&neighbors).slice(&normals).slice(&vars))
                .value(cells)
                .output(&to),
        )
        .input(&neighbors)
        .input(&normals)
        .input(&vars)
        .output(&to)
        .bytes(72 * cells)
        .f32_operations(80.0 * cells as f64)
        .check(move || {
            let results = download(&to)?;
            let state = |i: usize| {
                let [rho, mx, my, e] = [0, 1, 2, 3].map(|k| f64::from(values[k * cells + i]));
                let pressure = 0.4 * (e - 0.5 * (mx * mx + my * my) / rho);
                (rho, mx, my, pressure)
            };
            for i in samples(cells) {
                let (rho, mx, my, pressure) = state(i);
                let mut flux = [0.0, 0.0];
                for k in 0..4 {
                    let normal = |d: usize| f64::from(directions[(2 * k + d) * cells + i]);
                    let (nx, ny) = (normal(0), normal(1));
                    match ends[k * cells + i] {
                        -2 => flux[0] += nx * mx + ny * my,
                        -1 => flux[1] += nx * pressure,
                        j => {
                            let (rho_j, mx_j, my_j, pressure_j) = state(j as usize);
                            flux[0] += nx * (mx + mx_j) + ny * (my + my_j) - 0.2 * (rho - rho_j);
                            flux[1] += (nx + ny) * (pressure + pressure_j);
                        }
                    }
                }
                for (result, expected) in results[i].into_iter().zip(flux) {
                    near(i, result, expected, 1e-5, 1e-5)?;
                }
            }
            Ok(())
        }))
}

pub fn resample(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 16);
    let count = scale.pick(100, 4096);
    let weights = uniform_f32(count, 1);
    // The last sum is less than 1, so a few numbers are larger than all sums.
    let total = 1.01 * weights.iter().map(|&x| f64::from(x)).sum::<f64>();
    let mut sum = 0.0;
    let sums: Vec<f32> = weights
        .iter()
        .map(|&weight| {
            sum += f64::from(weight);
            (sum / total) as f32
        })
        .collect();
    let numbers = uniform_f32(n, 2);
    let positions = [uniform_f32(count, 3), uniform_f32(count, 4)];
    let (cdf, u) = (upload(&sums)?, upload(&numbers)?);
    let (xs, ys) = (upload(&positions[0])?, upload(&positions[1])?);
    let to: Buffer<[f32; 2]> = zeroed(n)?;
    let end = || (Args::new().pointer(&u).pointer(&xs).pointer(&ys)).pointer(&to);
    Ok(Case::new("resample", n.div_ceil(128), 128)
        .args(
            (Args::new().pointer(&cdf).value(count as i32).and(end())).value(n as i32),
            Args::new().pointer(&cdf).value(count).and(end()).value(n),
            (Args::new().slice(&cdf).slice(&u).slice(&xs).slice(&ys)).output(&to),
        )
        .input(&cdf)
        .input(&u)
        .input(&xs)
        .input(&ys)
        .output(&to)
        .bytes(12 * (n + count))
        .check(move || {
            let results = download(&to)?;
            for i in samples(n) {
                let index = sums.partition_point(|&sum| sum < numbers[i]);
                let index = index.min(count - 1);
                for (result, positions) in results[i].into_iter().zip(&positions) {
                    near(i, result, f64::from(positions[index]), 0.0, 0.0)?;
                }
            }
            Ok(())
        }))
}

pub fn cluster(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 20);
    let dims = scale.pick(10, 64);
    let values = uniform_f32(dims * n, 1);
    let factors: Vec<f32> = uniform_f32(n, 2).into_iter().map(|x| 0.5 + x).collect();
    let middle = uniform_f32(dims, 3);
    // The mean distance is dims / 6, so about half of the points gain.
    let own: Vec<f32> = uniform_f32(n, 4)
        .into_iter()
        .map(|x| dims as f32 / 3.0 * x)
        .collect();
    let (coords, weights) = (upload(&values)?, upload(&factors)?);
    let (center, costs) = (upload(&middle)?, upload(&own)?);
    let to: Buffer<f32> = zeroed(n)?;
    let start = (Args::new().pointer(&coords).pointer(&weights)).pointer(&center);
    let end = || Args::new().pointer(&costs).pointer(&to);
    Ok(Case::new("cluster", n.div_ceil(256), 256)
        .args(
            (start.clone().value(dims as i32).and(end())).value(n as i32),
            start.value(dims).and(end()).value(n),
            (Args::new().slice(&coords).slice(&weights).slice(&center))
                .slice(&costs)
                .output(&to),
        )
        .input(&coords)
        .input(&weights)
        .input(&center)
        .input(&costs)
        .output(&to)
        .bytes(4 * (dims * n + 3 * n + dims))
        .f32_operations(3.0 * (dims * n) as f64)
        .check(move || {
            close(&to, 1e-5, 2e-4, |i| {
                let squares = (0..dims).map(|d| {
                    let difference = f64::from(values[d * n + i]) - f64::from(middle[d]);
                    difference * difference
                });
                let cost = squares.sum::<f64>() * f64::from(factors[i]);
                (cost - f64::from(own[i])).min(0.0)
            })
        }))
}
