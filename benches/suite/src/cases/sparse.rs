//! Sparse matrices.

use super::Scale;
use crate::case::{
    Args, Buffer, Case, close, random, uniform, uniform_f32, uniform_f64, upload, zeroed,
};
use bench_kernels::sparse::{Block, DEPTH};
use cust::error::CudaResult;
use cust::vector::F32x4;

/// A matrix in compressed sparse row format.
struct Matrix {
    rows: Vec<u32>,
    columns: Vec<u32>,
}

impl Matrix {
    /// Creates a matrix whose rows have these columns.
    fn new<C: Iterator<Item = u32>>(n: usize, columns_of: impl Fn(usize) -> C) -> Matrix {
        let (mut rows, mut columns) = (vec![0], Vec::new());
        for row in 0..n {
            columns.extend(columns_of(row));
            rows.push(columns.len() as u32);
        }
        Matrix { rows, columns }
    }

    /// Creates the benchmark of a kernel with `threads` threads per row.
    fn case(self, name: &'static str, threads: usize) -> CudaResult<Case> {
        let Matrix { rows, columns } = self;
        let n = rows.len() - 1;
        let (values, x) = (uniform_f64(columns.len(), 1), uniform_f64(n, 2));
        let (rows_there, columns_there) = (upload(&rows)?, upload(&columns)?);
        let (values_there, x_there) = (upload(&values)?, upload(&x)?);
        let to: Buffer<f64> = zeroed(n)?;
        let pointers = Args::new()
            .pointer(&rows_there)
            .pointer(&columns_there)
            .pointer(&values_there)
            .pointer(&x_there)
            .pointer(&to);
        let slices = Args::new()
            .slice(&rows_there)
            .slice(&columns_there)
            .slice(&values_there)
            .slice(&x_there);
        Ok(Case::new(name, (n * threads).div_ceil(256), 256)
            .args(
                pointers.clone().value(n as i32),
                pointers.value(n),
                slices.output(&to),
            )
            .input(&rows_there)
            .input(&columns_there)
            .input(&values_there)
            .input(&x_there)
            .output(&to)
            .bytes(12 * columns.len() + 20 * n)
            .f64_operations(2.0 * columns.len() as f64)
            .check(move || {
                close(&to, 1e-11, 0.0, |row| {
                    (rows[row] as usize..rows[row + 1] as usize)
                        .map(|i| values[i] * x[columns[i] as usize])
                        .sum()
                })
            }))
    }
}

/// Eleven elements per row, near the diagonal.
pub fn banded(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(1000, 1 << 22);
    Matrix::new(n, |row| {
        (row.saturating_sub(5)..(row + 6).min(n)).map(|column| column as u32)
    })
    .case("spmv_banded", 1)
}

/// A power law: few rows with many elements, many with few, and some columns more frequent than
/// others.
pub fn power_law(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(200, 1 << 20);
    Matrix::new(n, |row| {
        let row = row as u64;
        let len = (8.0 * uniform(row).max(1e-9).powf(-0.6)).min(n as f64 / 4.0) as u64;
        (0..len).map(move |i| {
            let place = uniform(random(row << 24 | i));
            (n as f64 * place * place) as u32
        })
    })
    .case("spmv_power_law", 32)
}

pub fn sddmm(scale: Scale) -> CudaResult<Case> {
    let vertices = scale.pick(20, 1 << 17);
    let n = scale.pick(43, 1 << 22);
    let row_of: Vec<u32> = (0..n).map(|i| (i * vertices / n) as u32).collect();
    let column_of: Vec<u32> = (0..n as u64)
        .map(|i| (random(i) % vertices as u64) as u32)
        .collect();
    let factors = uniform_f32(n, 1);
    let [left, right] = [2, 3].map(|seed| uniform_f32(vertices * DEPTH, seed));
    let (rows, columns, values) = (upload(&row_of)?, upload(&column_of)?, upload(&factors)?);
    let a = upload(left.as_chunks::<DEPTH>().0)?;
    let b = upload(right.as_chunks::<DEPTH>().0)?;
    let to: Buffer<f32> = zeroed(n)?;
    let pointers = Args::new().pointer(&rows).pointer(&columns);
    let pointers = pointers.pointer(&values).pointer(&a).pointer(&b);
    let pointers = pointers.pointer(&to);
    Ok(Case::new("sddmm", n.div_ceil(8), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            Args::new()
                .slice(&rows)
                .slice(&columns)
                .slice(&values)
                .slice(&a)
                .slice(&b)
                .output(&to),
        )
        .input(&rows)
        .input(&columns)
        .input(&values)
        .input(&a)
        .input(&b)
        .output(&to)
        .bytes(16 * n + 2 * 4 * vertices * DEPTH)
        .f32_operations(2.0 * (n * DEPTH) as f64)
        .check(move || {
            close(&to, 1e-5, 0.0, |i| {
                let row = &left[row_of[i] as usize * DEPTH..][..DEPTH];
                let column = &right[column_of[i] as usize * DEPTH..][..DEPTH];
                let products = row.iter().zip(column);
                let sum: f64 = products.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                f64::from(factors[i]) * sum
            })
        }))
}

/// Rows of up to 15 blocks at random places.
pub fn bsr_spmv(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(60, 1 << 18);
    let matrix = Matrix::new(n, |row| {
        let row = row as u64;
        (0..random(row) % 16).map(move |k| (random(row << 24 | k | 1 << 60) % n as u64) as u32)
    });
    let count = matrix.columns.len();
    let elements = uniform_f32(16 * count, 1);
    let values: Vec<Block> = (elements.as_chunks::<16>().0.iter())
        .map(|block| std::array::from_fn(|row| F32x4(std::array::from_fn(|k| block[4 * row + k]))))
        .collect();
    let vector = uniform_f32(4 * n, 2);
    let vectors: Vec<F32x4> = (vector.as_chunks::<4>().0.iter())
        .map(|&x| F32x4(x))
        .collect();
    let (rows, columns) = (upload(&matrix.rows)?, upload(&matrix.columns)?);
    let (blocks, x) = (upload(&values)?, upload(&vectors)?);
    let y: Buffer<f32> = zeroed(4 * n)?;
    let pointers = Args::new().pointer(&rows).pointer(&columns);
    let pointers = pointers.pointer(&blocks).pointer(&x).pointer(&y);
    Ok(Case::new("bsr_spmv", (4 * n).div_ceil(256), 256)
        .args(
            pointers.clone().value(4 * n as i32),
            pointers.value(4 * n),
            Args::new()
                .slice(&rows)
                .slice(&columns)
                .slice(&blocks)
                .slice(&x)
                .output(&y),
        )
        .input(&rows)
        .input(&columns)
        .input(&blocks)
        .input(&x)
        .output(&y)
        .bytes(68 * count + 36 * n)
        .f32_operations(32.0 * count as f64)
        .check(move || {
            close(&y, 1e-5, 0.0, |i| {
                (matrix.rows[i / 4] as usize..matrix.rows[i / 4 + 1] as usize)
                    .flat_map(|block| (0..4).map(move |k| (block, k)))
                    .map(|(block, k)| {
                        let element = elements[16 * block + i % 4 * 4 + k];
                        let column = matrix.columns[block] as usize;
                        f64::from(element) * f64::from(vector[4 * column + k])
                    })
                    .sum()
            })
        }))
}
