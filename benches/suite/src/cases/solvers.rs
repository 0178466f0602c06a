//! Solvers of many small systems.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, download, near, uniform_f32, uniform_f64, upload, zeroed,
};
use bench_kernels::solvers::{INVERTED, Matrix, ORDER, SIDE};
use cust::error::CudaResult;

/// The number of elements of a matrix.
const ELEMENTS: usize = ORDER * ORDER;

/// Returns the lower Cholesky factor of a matrix.
fn factor(mut a: Vec<f64>) -> Vec<f64> {
    for k in 0..ORDER {
        a[k * ORDER + k] = a[k * ORDER + k].sqrt();
        for y in k + 1..ORDER {
            a[y * ORDER + k] /= a[k * ORDER + k];
            a[k * ORDER + y] = 0.0;
        }
        for y in k + 1..ORDER {
            for x in k + 1..=y {
                a[y * ORDER + x] -= a[y * ORDER + k] * a[x * ORDER + k];
            }
        }
    }
    a
}

pub fn cholesky(scale: Scale) -> CudaResult<Case> {
    let matrices = scale.pick(3, 1 << 15);
    let mut values = uniform_f64(matrices * ELEMENTS, 1);
    for matrix in values.chunks_mut(ELEMENTS) {
        for y in 0..ORDER {
            // Diagonally dominant, so positive definite.
            matrix[y * ORDER + y] += ORDER as f64;
            for x in 0..y {
                matrix[x * ORDER + y] = matrix[y * ORDER + x];
            }
        }
    }
    let from = upload(values.as_chunks::<ELEMENTS>().0)?;
    let to: Buffer<f64> = zeroed(values.len())?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("cholesky", matrices, (ORDER, ORDER))
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(16 * values.len())
        .f64_operations(matrices as f64 * (ORDER as f64).powi(3) / 3.0)
        .check(move || {
            let results = download(&to)?;
            for matrix in (0..matrices).step_by(matrices.div_ceil(100)) {
                let range = matrix * ELEMENTS..(matrix + 1) * ELEMENTS;
                let expected = factor(values[range.clone()].to_vec());
                for (i, expected) in range.zip(expected) {
                    near(i, results[i], expected, 1e-10, 1e-12)?;
                }
            }
            Ok(())
        }))
}

pub fn thomas(scale: Scale) -> CudaResult<Case> {
    let systems = scale.pick(300, 1 << 16);
    let rows = scale.pick(10, 256);
    let n = rows * systems;
    let [a, c, d] = [1, 2, 3].map(|seed| uniform_f32(n, seed));
    let b: Vec<f32> = uniform_f32(n, 4).into_iter().map(|x| x + 2.5).collect();
    let (from_a, from_b) = (upload(&a)?, upload(&b)?);
    let (from_c, from_d) = (upload(&c)?, upload(&d)?);
    let scratch: Buffer<f32> = zeroed(n)?;
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new()
        .pointer(&from_a)
        .pointer(&from_b)
        .pointer(&from_c)
        .pointer(&from_d)
        .pointer(&scratch)
        .pointer(&to);
    Ok(Case::new("thomas", systems.div_ceil(128), 128)
        .args(
            pointers.clone().value(rows as i32).value(systems as i32),
            pointers.value(rows).value(systems),
            Args::new()
                .slice(&from_a)
                .slice(&from_b)
                .slice(&from_c)
                .slice(&from_d)
                .rows(&scratch, systems)
                .rows(&to, systems),
        )
        .input(&from_a)
        .input(&from_b)
        .input(&from_c)
        .input(&from_d)
        .output(&scratch)
        .output(&to)
        .bytes(20 * n)
        .f32_operations(9.0 * n as f64)
        .check(move || {
            let results = download(&to)?;
            for system in (0..systems).step_by(systems.div_ceil(100)) {
                let number = |of: &[f32], row: usize| f64::from(of[row * systems + system]);
                let (mut factors, mut values) = (vec![0.0; rows], vec![0.0; rows]);
                let (mut factor, mut value) = (0.0, 0.0);
                for row in 0..rows {
                    let scale = 1.0 / (number(&b, row) - number(&a, row) * factor);
                    value = (number(&d, row) - number(&a, row) * value) * scale;
                    factor = number(&c, row) * scale;
                    (factors[row], values[row]) = (factor, value);
                }
                for row in (0..rows - 1).rev() {
                    values[row] -= factors[row] * values[row + 1];
                }
                for (row, expected) in values.into_iter().enumerate() {
                    let i = row * systems + system;
                    near(i, results[i], expected, 1e-4, 1e-5)?;
                }
            }
            Ok(())
        }))
}

pub fn lu8x8(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 20);
    let mut values = uniform_f32(SIDE * SIDE * n, 1);
    for i in 0..SIDE {
        for x in &mut values[i * (SIDE + 1) * n..][..n] {
            *x += SIDE as f32;
        }
    }
    let from = upload(&values)?;
    let to: Buffer<f32> = zeroed(values.len())?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("lu8x8", n.div_ceil(128), 128)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new().slice(&from).rows(&to, n),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * values.len())
        .check(move || {
            close(&to, 1e-4, 1e-5, |i| {
                let element = |row, column| values[(row * SIDE + column) * n + i % n];
                let mut matrix = Matrix::<SIDE>(core::array::from_fn(|row| {
                    core::array::from_fn(|column| element(row, column))
                }));
                matrix.factor();
                f64::from(matrix.0.as_flattened()[i / n])
            })
        }))
}

pub fn gauss_jordan(scale: Scale) -> CudaResult<Case> {
    const ELEMENTS: usize = INVERTED * INVERTED;
    let matrices = scale.pick(3, 1 << 15);
    let mut values = uniform_f32(matrices * ELEMENTS, 1);
    for (i, value) in values.iter_mut().enumerate() {
        // Diagonally dominant.
        if (i % ELEMENTS).is_multiple_of(INVERTED + 1) {
            *value += INVERTED as f32;
        }
    }
    let rows = values.as_chunks::<INVERTED>().0;
    let from = upload(rows.as_chunks::<INVERTED>().0)?;
    let to: Buffer<f32> = zeroed(values.len())?;
    let pointers = Args::new().pointer(&from).pointer(&to);
    Ok(Case::new("gauss_jordan", matrices, (32, 8))
        .args(
            pointers.clone(),
            pointers,
            Args::new().slice(&from).output(&to),
        )
        .input(&from)
        .output(&to)
        .bytes(8 * values.len())
        .f32_operations(2.0 * matrices as f64 * (INVERTED as f64).powi(3))
        .check(move || {
            let results = download(&to)?;
            for start in (0..values.len()).step_by(ELEMENTS * matrices.div_ceil(100)) {
                let (matrix, inverse) = (&values[start..], &results[start..]);
                for i in 0..ELEMENTS {
                    let (row, column) = (i / INVERTED, i % INVERTED);
                    let products = (0..INVERTED).map(|k| {
                        f64::from(matrix[row * INVERTED + k])
                            * f64::from(inverse[k * INVERTED + column])
                    });
                    let expected = if row == column { 1.0 } else { 0.0 };
                    near(start + i, products.sum::<f64>(), expected, 1e-4, 1e-5)?;
                }
            }
            Ok(())
        }))
}
