//! Fields in physics.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, near, samples, uniform, uniform_f32, upload, zeroed,
};
use bench_kernels::fields::{
    COLORS, CURL, Complex, DECAY, DIMENSIONS, Particle, neighbors, shares,
};
use cust::error::CudaResult;

/// Returns complex numbers with parts from -0.5 to 0.5.
fn complex(n: usize, seed: u64) -> Vec<Complex> {
    let numbers = uniform_f32(2 * n, seed);
    let pairs = numbers.as_chunks::<2>().0.iter();
    let pairs = pairs.map(|&[re, im]| Complex {
        re: re - 0.5,
        im: im - 0.5,
    });
    pairs.collect()
}

pub fn dslash(scale: Scale) -> CudaResult<Case> {
    let sizes: [usize; DIMENSIONS] = match scale.small {
        true => [6, 4, 5, 3],
        false => [32, 32, 32, 32],
    };
    let volume: usize = sizes.iter().product();
    let links = complex(DIMENSIONS * COLORS * COLORS * volume, 1);
    let quarks = complex(COLORS * volume, 2);
    let from_links = upload(&links)?;
    let from = upload(&quarks)?;
    let to = upload(&vec![Complex::default(); COLORS * volume])?;
    let mut nvcc = Args::new().pointer(&from_links).pointer(&from);
    let mut raw = nvcc.clone();
    let mut safe = Args::new().slice(&from_links).slice(&from);
    for size in sizes {
        nvcc = nvcc.value(size as i32);
        raw = raw.value(size);
        safe = safe.value(size);
    }
    Ok(Case::new("dslash", volume.div_ceil(128), 128)
        .args(nvcc.pointer(&to), raw.pointer(&to), safe.rows(&to, volume))
        .input(&from_links)
        .input(&from)
        .output(&to)
        .bytes(8 * (links.len() + 2 * quarks.len()))
        .f32_operations(576.0 * volume as f64)
        .check(move || {
            let results = download(&to)?;
            for i in samples(results.len()) {
                let (row, site) = (i / volume, i % volume);
                let mut sum = [0.0; 2];
                let mut add = |link: Complex, quark: Complex, sign: f64| {
                    let [a, b, c, d] = [link.re, link.im, quark.re, quark.im].map(f64::from);
                    sum[0] += sign * (a * c - b * d);
                    sum[1] += sign * (a * d + b * c);
                };
                let mut stride = 1;
                for (dimension, size) in sizes.into_iter().enumerate() {
                    let (after, before) = neighbors(site, site / stride % size, size, stride);
                    stride *= size;
                    let link = |row: usize, color: usize, site: usize| {
                        links[((dimension * COLORS + row) * COLORS + color) * volume + site]
                    };
                    for color in 0..COLORS {
                        let quark = |site: usize| quarks[color * volume + site];
                        add(link(row, color, site), quark(after), 1.0);
                        let backward = link(color, row, before).conjugate();
                        add(backward, quark(before), -1.0);
                    }
                }
                near(i, results[i].re, sum[0], 1e-5, 1e-6)?;
                near(i, results[i].im, sum[1], 1e-5, 1e-6)?;
            }
            Ok(())
        }))
}

pub fn charge_deposit(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 22);
    let side = scale.pick(6, 128);
    let particles: Vec<Particle> = (0..n as u64)
        .map(|i| {
            // Below `side`, also when rounded.
            let at = |k: u64| (uniform(4 * i + k) * (side as f64 - 0.01)) as f32;
            Particle {
                place: [at(0), at(1), at(2)],
                charge: uniform(4 * i + 3) as f32 - 0.5,
            }
        })
        .collect();
    let from = upload(&particles)?;
    let density: Buffer<f32> = zeroed(side * side * side)?;
    Ok(Case::new("charge_deposit", n.div_ceil(256), 256)
        .args(
            Args::new()
                .pointer(&from)
                .value(side as i32)
                .pointer(&density)
                .value(n as i32),
            Args::new()
                .pointer(&from)
                .value(side)
                .pointer(&density)
                .value(n),
            Args::new().slice(&from).value(side).slice(&density),
        )
        .input(&from)
        .output_from(&density, 0)
        .reset()
        .bytes(16 * n + 8 * side * side * side)
        .f32_operations(26.0 * n as f64)
        .check(move || {
            let mut expected = vec![0.0; side * side * side];
            for particle in &particles {
                let [xs, ys, zs] = particle.place.map(|at| shares(at, side));
                for (z, wz) in zs {
                    for (y, wy) in ys {
                        for (x, wx) in xs {
                            let weights = [wx, wy, wz].map(f64::from);
                            expected[(z * side + y) * side + x] +=
                                f64::from(particle.charge) * weights.iter().product::<f64>();
                        }
                    }
                }
            }
            let results = download(&density)?;
            for i in samples(expected.len()) {
                near(i, results[i], expected[i], 1e-4, 1e-4)?;
            }
            Ok(())
        }))
}

pub fn fdtd3d(scale: Scale) -> CudaResult<Case> {
    let [nx, ny, nz] = match scale.small {
        true => [40, 11, 5],
        false => [512, 256, 256],
    };
    /// The byte of which the initial electric field consists.
    const FILL: u8 = 0x3f;
    let initial = f32::from_ne_bytes([FILL; 4]);
    let n = nx * ny * nz;
    let values = [1, 2, 3].map(|seed| uniform_f32(n, seed));
    let (mut pointers, mut safe) = (Args::new(), Args::new());
    let grid = (nx.div_ceil(32), ny.div_ceil(8), nz);
    let mut case = Case::new("fdtd3d", grid, (32, 8));
    for values in &values {
        let magnetic = upload(values)?;
        pointers = pointers.pointer(&magnetic);
        safe = safe.slice(&magnetic);
        case = case.input(&magnetic);
    }
    let mut fields = Vec::new();
    for _ in 0..3 {
        let electric: Buffer<f32> = zeroed(n)?;
        pointers = pointers.pointer(&electric);
        safe = safe.volume(&electric, nx, ny);
        case = case.output_from(&electric, FILL);
        fields.push(electric);
    }
    let (mut nvcc, mut raw) = (pointers.clone(), pointers);
    for size in [nx, ny, nz] {
        nvcc = nvcc.value(size as i32);
        raw = raw.value(size);
    }
    Ok(case
        .args(nvcc, raw, safe)
        .reset()
        .bytes(36 * n)
        .f32_operations(18.0 * n as f64)
        .check(move || {
            let steps = [1, nx, nx * ny];
            for (axis, field) in fields.iter().enumerate() {
                // The next axes, in a cycle.
                let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
                close(field, 1e-5, 1e-5, |i| {
                    if i % nx == 0 || i / nx % ny == 0 || i / (nx * ny) == 0 {
                        return initial.into();
                    }
                    let difference = |component: usize, along: usize| {
                        let values = &values[component];
                        f64::from(values[i]) - f64::from(values[i - steps[along]])
                    };
                    let curl = difference(c, b) - difference(b, c);
                    f64::from(DECAY) * f64::from(initial) + f64::from(CURL) * curl
                })?;
            }
            Ok(())
        }))
}
