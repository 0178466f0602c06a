use crate::{Outcome, close, floats, start};
use cust::prelude::*;
use num_complex::Complex;
use samples_kernels::signals::*;

#[test]
fn fourier_transform() -> Outcome {
    let (module, stream) = start();
    let numbers = floats(4 * POINTS);
    let from: Vec<Complex<f32>> = numbers
        .chunks(2)
        .map(|x| Complex::new(x[0], x[1] - 0.5))
        .collect();
    let mut to = DeviceBuffer::<Complex<f32>>::zeroed(from.len())?;
    module.launch(
        &stream,
        (2, POINTS as u32),
        fft::args(&from.as_dbuf()?, &mut to),
    )?;
    for (from, found) in from.chunks(POINTS).zip(to.as_host_vec()?.chunks(POINTS)) {
        for (k, found) in found.iter().enumerate() {
            let expected: Complex<f64> = from
                .iter()
                .enumerate()
                .map(|(i, x)| {
                    let angle = -std::f64::consts::TAU * (i * k % POINTS) as f64 / POINTS as f64;
                    Complex::new(f64::from(x.re), f64::from(x.im)) * Complex::cis(angle)
                })
                .sum();
            let found = Complex::new(f64::from(found.re), f64::from(found.im));
            assert!((found - expected).norm() < 1e-3, "{k}: {found}, {expected}");
        }
    }
    Ok(())
}

#[test]
fn walsh_transform() -> Outcome {
    let (module, stream) = start();
    const N: usize = 512;
    let from = floats(N);
    let (mut a, mut b) = (from.as_dbuf()?, DeviceBuffer::<f32>::zeroed(N)?);
    let mut distance = 1;
    while distance < N {
        module.launch(&stream, (2, 256), walsh_step::args(distance, &a, &mut b))?;
        std::mem::swap(&mut a, &mut b);
        distance *= 2;
    }
    let sign = |i: usize, k: usize| {
        if (i & k).count_ones() % 2 == 0 {
            1.0
        } else {
            -1.0
        }
    };
    let expected: Vec<f32> = (0..N)
        .map(|k| from.iter().enumerate().map(|(i, x)| sign(i, k) * x).sum())
        .collect();
    close(&a.as_host_vec()?, &expected, 1e-4);
    Ok(())
}

#[test]
fn haar_wavelets() -> Outcome {
    let (module, stream) = start();
    let from = floats(256);
    let mut to = DeviceBuffer::<f32>::zeroed(256)?;
    module.launch(&stream, (2, 128), haar::args(&from.as_dbuf()?, &mut to))?;
    let mut expected = from;
    for block in expected.chunks_mut(128) {
        let mut len = 128;
        while len > 1 {
            let step: Vec<f32> = block[..len].to_vec();
            for (i, pair) in step.chunks(2).enumerate() {
                block[i] = (pair[0] + pair[1]) * std::f32::consts::FRAC_1_SQRT_2;
                block[len / 2 + i] = (pair[0] - pair[1]) * std::f32::consts::FRAC_1_SQRT_2;
            }
            len /= 2;
        }
    }
    close(&to.as_host_vec()?, &expected, 1e-5);
    Ok(())
}

#[test]
fn separable_convolution() -> Outcome {
    let (mut module, stream) = start();
    let coefficients: [f32; 2 * RADIUS + 1] = std::array::from_fn(|i| 0.1 + i as f32 * 0.02);
    module.global_mut::<COEFFICIENTS>()?.set(&coefficients)?;
    let (width, height) = (70, 30);
    let from = floats(width * height);
    let device = from.as_dbuf()?;
    let mut rows = DeviceBuffer::<f32>::zeroed(from.len())?;
    let mut both = DeviceBuffer::<f32>::zeroed(from.len())?;
    let blocks = (width.div_ceil(32) as u32, height.div_ceil(8) as u32);
    let args = convolve_rows::args(&device, rows.rows_mut(width));
    module.launch(&stream, (blocks, (32, 8)), args)?;
    let args = convolve_columns::args(&rows, both.rows_mut(width));
    module.launch(&stream, (blocks, (32, 8)), args)?;
    let at = |from: &[f32], x: i64, y: i64| {
        let inside = (0..width as i64).contains(&x) && (0..height as i64).contains(&y);
        if inside {
            from[y as usize * width + x as usize]
        } else {
            0.0
        }
    };
    let pass = |from: &[f32], dx: i64, dy: i64| -> Vec<f32> {
        let sum = |i: usize| {
            let (x, y) = ((i % width) as i64, (i / width) as i64);
            let near = |k: usize| k as i64 - RADIUS as i64;
            (0..=2 * RADIUS)
                .map(|k| coefficients[k] * at(from, x + dx * near(k), y + dy * near(k)))
                .sum()
        };
        (0..from.len()).map(sum).collect()
    };
    let of_rows = pass(&from, 1, 0);
    close(&rows.as_host_vec()?, &of_rows, 1e-5);
    close(&both.as_host_vec()?, &pass(&of_rows, 0, 1), 1e-5);
    Ok(())
}

#[test]
fn cosine_transform() -> Outcome {
    let (module, stream) = start();
    let (width, height) = (24, 16);
    let from = floats(width * height);
    let device = from.as_dbuf()?;
    let mut to = DeviceBuffer::<f32>::zeroed(from.len())?;
    module.launch(
        &stream,
        ((3, 2), (8, 8)),
        dct::args(&device, to.rows_mut(width)),
    )?;
    let expected: Vec<f32> = (0..from.len())
        .map(|i| {
            let (x, y) = (i % width, i / width);
            let (u, v, x0, y0) = (x % 8, y % 8, x / 8 * 8, y / 8 * 8);
            let places = (0..8).flat_map(|y| (0..8).map(move |x| (x, y)));
            places
                .map(|(x, y)| basis(u, x) * basis(v, y) * from[(y0 + y) * width + x0 + x])
                .sum()
        })
        .collect();
    close(&to.as_host_vec()?, &expected, 1e-4);
    Ok(())
}

#[test]
fn recursive_filter() -> Outcome {
    let (module, stream) = start();
    let (width, height) = (40, 30);
    let from = floats(width * height);
    let mut to = DeviceBuffer::<f32>::zeroed(from.len())?;
    module.launch(
        &stream,
        (1, 64),
        recursive_columns::args(0.3, width, &from.as_dbuf()?, &mut to),
    )?;
    let mut expected = from.clone();
    for x in 0..width {
        let mut y = from[x];
        for i in (0..height).map(|row| row * width + x) {
            y = 0.3 * from[i] + 0.7 * y;
            expected[i] = y;
        }
        for i in (0..height).rev().map(|row| row * width + x) {
            y = 0.3 * expected[i] + 0.7 * y;
            expected[i] = y;
        }
    }
    close(&to.as_host_vec()?, &expected, 1e-5);
    Ok(())
}
