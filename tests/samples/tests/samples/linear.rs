use crate::{Outcome, close, floats, hash, start};
use cuda_std::half::{F16, F16x2};
use cust::prelude::*;
use cust::vector::F32x4;
use num_complex::Complex;
use samples_kernels::linear::*;

fn product(a: &[f32], b: &[f32], k: usize, width: usize) -> Vec<f32> {
    let rows = a.chunks(k);
    rows.flat_map(|row| {
        (0..width).map(move |x| {
            row.iter()
                .enumerate()
                .map(|(k, a)| a * b[k * width + x])
                .sum()
        })
    })
    .collect()
}

#[test]
fn matrix_product() -> Outcome {
    let (module, stream) = start();
    let (height, k, width) = (40, 50, 37);
    let (a, b) = (floats(height * k), floats(k * width));
    let mut c = DeviceBuffer::<f32>::zeroed(height * width)?;
    let tiles = (width.div_ceil(TILE) as u32, height.div_ceil(TILE) as u32);
    let (da, db) = (a.as_dbuf()?, b.as_dbuf()?);
    let args = matmul::args(&da, &db, k, c.rows_mut(width));
    module.launch(&stream, (tiles, (16, 16)), args)?;
    close(&c.as_host_vec()?, &product(&a, &b, k, width), 1e-5);
    Ok(())
}

#[test]
fn matrix_product_in_dynamic_shared_memory() -> Outcome {
    let (module, stream) = start();
    let n = 48;
    let (a, b) = (floats(n * n), floats(n * n + 5)[5..].to_vec());
    let (da, db) = (a.as_dbuf()?, b.as_dbuf()?);
    let expected = product(&a, &b, n, n);
    for side in [8u32, 16] {
        let mut c = DeviceBuffer::<f32>::zeroed(n * n)?;
        let blocks = n as u32 / side;
        let bytes = 2 * side * side * 4;
        let args = matmul_dynamic::args(n, &da, &db, c.rows_mut(n));
        module.launch(&stream, ((blocks, blocks), (side, side), bytes), args)?;
        close(&c.as_host_vec()?, &expected, 1e-5);
    }
    Ok(())
}

#[test]
fn transposition() -> Outcome {
    let (module, stream) = start();
    let (width, height) = (70, 45);
    let from = floats(width * height);
    let mut to = DeviceBuffer::<f32>::zeroed(from.len())?;
    let blocks = (height.div_ceil(32) as u32, width.div_ceil(32) as u32);
    let device = from.as_dbuf()?;
    module.launch(
        &stream,
        (blocks, (32, 8)),
        transpose::args(&device, to.rows_mut(height)),
    )?;
    let expected: Vec<f32> = (0..from.len())
        .map(|i| from[i % height * width + i / height])
        .collect();
    assert_eq!(to.as_host_vec()?, expected);
    Ok(())
}

/// A symmetric, positive definite matrix: rows, columns, values.
fn sparse(n: usize) -> (Vec<u32>, Vec<u32>, Vec<f32>) {
    let (mut rows, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n {
        for distance in [-7, -1, 0, 1, 7] {
            let column = row as i64 + distance;
            if (0..n as i64).contains(&column) {
                columns.push(column as u32);
                values.push(if distance == 0 { 5.0 } else { -1.0 });
            }
        }
        rows.push(columns.len() as u32);
    }
    (rows, columns, values)
}

fn sparse_product((rows, columns, values): &(Vec<u32>, Vec<u32>, Vec<f32>), x: &[f32]) -> Vec<f32> {
    let range = |row: &[u32]| row[0] as usize..row[1] as usize;
    rows.windows(2)
        .map(|row| range(row).map(|i| values[i] * x[columns[i] as usize]).sum())
        .collect()
}

#[test]
fn sparse_matrix_times_vector() -> Outcome {
    let (module, stream) = start();
    let matrix = sparse(500);
    let x = floats(500);
    let expected = sparse_product(&matrix, &x);
    let (rows, columns, values) = (
        matrix.0.as_dbuf()?,
        matrix.1.as_dbuf()?,
        matrix.2.as_dbuf()?,
    );
    let x = x.as_dbuf()?;
    let mut y = DeviceBuffer::<f32>::zeroed(500)?;
    module.launch(
        &stream,
        (4, 128),
        spmv::args(&rows, &columns, &values, &x, &mut y),
    )?;
    close(&y.as_host_vec()?, &expected, 1e-6);
    y.set_zero()?;
    let config = LaunchConfig::for_elements(500 * 32, 128);
    module.launch(
        &stream,
        config,
        spmv_warps::args(&rows, &columns, &values, &x, &mut y),
    )?;
    close(&y.as_host_vec()?, &expected, 1e-6);
    Ok(())
}

#[test]
fn conjugate_gradients() -> Outcome {
    let (module, stream) = start();
    const N: usize = 250;
    const STEPS: usize = 12;
    let matrix = sparse(N);
    let wanted = floats(N);
    let right = sparse_product(&matrix, &wanted);
    let (rows, columns, values) = (
        matrix.0.as_dbuf()?,
        matrix.1.as_dbuf()?,
        matrix.2.as_dbuf()?,
    );
    let mut x = DeviceBuffer::<f32>::zeroed(N)?;
    let (mut r, mut p) = (right.as_dbuf()?, right.as_dbuf()?);
    let mut product = DeviceBuffer::<f32>::zeroed(N)?;
    let mut dots = DeviceBuffer::<f32>::zeroed(2 * STEPS + 1)?;
    let args = conjugate_gradient::args(
        &rows,
        &columns,
        &values,
        &mut x,
        &mut r,
        &mut p,
        &mut product,
        &mut dots,
        STEPS,
    );
    module.launch(&stream, LaunchConfig::new(4, 64).cooperative(), args)?;
    close(&x.as_host_vec()?, &wanted, 1e-3);
    Ok(())
}

#[test]
fn tensor_cores() -> Outcome {
    let (module, stream) = start();
    const N: usize = 32;
    // Small integers: all sums are exact.
    let small =
        |offset: usize| -> Vec<f32> { (0..N * N).map(|i| (hash(i + offset) % 8) as f32).collect() };
    let (a, b) = (small(0), small(5000));
    let halves = |from: &[f32]| {
        from.iter()
            .map(|&x| F16::from_f32(x))
            .collect::<Vec<_>>()
            .as_dbuf()
    };
    let (da, db) = (halves(&a)?, halves(&b)?);
    let expected = product(&a, &b, N, N);
    let mut c = DeviceBuffer::<f32>::zeroed(N * N)?;
    module.launch(&stream, ((4, 2), 32), gemm_mma::args(N, &da, &db, &mut c))?;
    assert_eq!(c.as_host_vec()?, expected);
    let c = DeviceBuffer::<f32>::zeroed(N * N)?;
    // SAFETY: the matrices have these sizes.
    let args = unsafe { gemm_wmma::args(N as u32, &da, &db, c.as_device_ptr()) };
    module.launch(&stream, ((2, 2), 32), args)?;
    stream.synchronize()?;
    assert_eq!(c.as_host_vec()?, expected);
    Ok(())
}

#[test]
fn asynchronous_copies() -> Outcome {
    let (module, stream) = start();
    const THREADS: usize = 3 * 64;
    let from = floats(10 * THREADS);
    let device = from.as_dbuf()?;
    let mut sums = DeviceBuffer::<f32>::zeroed(THREADS)?;
    // SAFETY: there are ten numbers for each thread.
    let args = unsafe { pipeline::args(device.as_device_ptr(), 10, &mut sums) };
    module.launch(&stream, (3, 64), args)?;
    let expected: Vec<f32> = (0..THREADS)
        .map(|i| from[i..].iter().step_by(THREADS).sum())
        .collect();
    close(&sums.as_host_vec()?, &expected, 1e-6);
    Ok(())
}

#[test]
fn vectors_of_four() -> Outcome {
    let (module, stream) = start();
    let (x, y) = (floats(1003), floats(2003)[1000..].to_vec());
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.5 * x + y).collect();
    let mut device = y.as_dbuf()?;
    module.launch(
        &stream,
        (2, 128),
        saxpy_chunks::args(2.5, &x.as_dbuf()?, &mut device),
    )?;
    close(&device.as_host_vec()?, &expected, 1e-6);

    let x = x.as_dbuf()?;
    let mut device = y.as_dbuf()?;
    let mut elements = device.as_mut_slice();
    let mut whole = elements.index_mut(..1000)?;
    module.launch(
        &stream,
        (2, 128),
        saxpy4::args(
            2.5,
            x.index(..1000)?.as_vectors::<F32x4>()?,
            whole.as_vectors_mut::<F32x4>()?,
        ),
    )?;
    close(&device.as_host_vec()?[..1000], &expected[..1000], 1e-6);
    Ok(())
}

#[test]
fn halves() -> Outcome {
    let (module, stream) = start();
    let pairs = |offset: usize| -> Vec<F16x2> {
        let half = |i: usize| F16::from_f32((hash(i + offset) % 5) as f32);
        (0..400)
            .map(|i| F16x2::new(half(2 * i), half(2 * i + 1)))
            .collect()
    };
    let (a, b) = (pairs(0), pairs(1000));
    let mut sum = DeviceBuffer::<f32>::zeroed(1)?;
    module.launch(
        &stream,
        (1, 128),
        dot_halves::args(&a.as_dbuf()?, &b.as_dbuf()?, &mut sum),
    )?;
    let product = |(a, b): (&F16x2, &F16x2)| {
        a.low().to_f32() * b.low().to_f32() + a.high().to_f32() * b.high().to_f32()
    };
    assert_eq!(
        sum.as_host_vec()?,
        [a.iter().zip(&b).map(product).sum::<f32>()]
    );
    Ok(())
}

#[test]
fn complex_numbers() -> Outcome {
    let (module, stream) = start();
    let numbers = floats(2000);
    let numbers: Vec<Complex<f32>> = numbers
        .chunks(2)
        .map(|pair| Complex::new(pair[0], pair[1]))
        .collect();
    let (a, b) = numbers.split_at(500);
    let mut products = DeviceBuffer::<Complex<f32>>::zeroed(500)?;
    let mut norm = DeviceBox::new(&0.0f32)?;
    let (da, db) = (a.as_dbuf()?, b.as_dbuf()?);
    let args = complex_products::args(&da, &db, &mut products, &mut norm);
    module.launch(&stream, (2, 128), args)?;
    let expected: Vec<Complex<f32>> = a.iter().zip(b).map(|(a, b)| a * b.conj()).collect();
    let parts = |from: &[Complex<f32>]| from.iter().flat_map(|c| [c.re, c.im]).collect::<Vec<_>>();
    close(&parts(&products.as_host_vec()?), &parts(&expected), 1e-6);
    let sum = expected.iter().map(|c| c.norm_sqr()).sum();
    close(&[norm.as_host_value()?], &[sum], 1e-5);
    Ok(())
}

#[test]
fn bisection() -> Outcome {
    let (module, stream) = start();
    const N: usize = 32;
    let (diagonal, off) = (vec![2.0f32; N], vec![-1.0f32; N - 1]);
    let mut values = DeviceBuffer::<f32>::zeroed(N)?;
    let (diagonal, off) = (diagonal.as_dbuf()?, off.as_dbuf()?);
    let args = eigenvalues::args(&diagonal, &off, 0.0, 4.0, &mut values);
    module.launch(&stream, (1, 32), args)?;
    let expected: Vec<f32> = (1..=N)
        .map(|k| 2.0 - 2.0 * (k as f32 * std::f32::consts::PI / (N + 1) as f32).cos())
        .collect();
    close(&values.as_host_vec()?, &expected, 1e-5);
    Ok(())
}

#[test]
fn inverses_of_small_matrices() -> Outcome {
    let (module, stream) = start();
    let from: Vec<[[f32; 4]; 4]> = floats(50 * 16)
        .chunks(16)
        .map(|x| {
            std::array::from_fn(|row| {
                std::array::from_fn(|k| x[4 * row + k] + if row == k { 2.0 } else { 0.0 })
            })
        })
        .collect();
    let mut to = DeviceBuffer::<[[f32; 4]; 4]>::zeroed(from.len())?;
    module.launch(&stream, (1, 64), inverses::args(&from.as_dbuf()?, &mut to))?;
    for (from, inverse) in from.iter().zip(to.as_host_vec()?) {
        let unit = product(from.as_flattened(), inverse.as_flattened(), 4, 4);
        let expected: Vec<f32> = (0..16)
            .map(|i| if i % 5 == 0 { 1.0 } else { 0.0 })
            .collect();
        close(&unit, &expected, 1e-4);
    }
    Ok(())
}

#[test]
fn matrix_product_in_registers() -> Outcome {
    let (module, stream) = start();
    const N: usize = 64;
    let (a, b) = (floats(N * N), floats(N * N + 9)[9..].to_vec());
    let (da, db) = (a.as_dbuf()?, b.as_dbuf()?);
    let mut c = DeviceBuffer::<f32>::zeroed(N * N)?;
    module.launch(
        &stream,
        ((2, 2), (8, 8)),
        matmul_registers::args(N, &da, &db, &mut c),
    )?;
    close(&c.as_host_vec()?, &product(&a, &b, N, N), 1e-5);
    Ok(())
}

#[test]
fn products_of_bytes() -> Outcome {
    let (module, stream) = start();
    let a: Vec<u8> = (0..400).map(|i| hash(i) as u8).collect();
    let b: Vec<i8> = (0..400).map(|i| hash(i + 1000) as i8).collect();
    let words_a: Vec<u32> = a
        .as_chunks()
        .0
        .iter()
        .map(|&word| u32::from_le_bytes(word))
        .collect();
    let bytes_b: Vec<u8> = b.iter().map(|&x| x as u8).collect();
    let words_b: Vec<i32> = bytes_b
        .as_chunks()
        .0
        .iter()
        .map(|&word| i32::from_le_bytes(word))
        .collect();
    let mut sum = DeviceBox::new(&0)?;
    module.launch(
        &stream,
        (1, 64),
        dot_bytes::args(&words_a.as_dbuf()?, &words_b.as_dbuf()?, &mut sum),
    )?;
    let expected: i32 = a
        .iter()
        .zip(&b)
        .map(|(&a, &b)| i32::from(a) * i32::from(b))
        .sum();
    assert_eq!(sum.as_host_value()?, expected);

    const N: usize = 32;
    let a: Vec<i8> = (0..N * N).map(|i| hash(i) as i8).collect();
    let b: Vec<i8> = (0..N * N).map(|i| hash(i + 5000) as i8).collect();
    let mut c = DeviceBuffer::<i32>::zeroed(N * N)?;
    module.launch(
        &stream,
        ((4, 4), 32),
        gemm_bytes::args(N, &a.as_dbuf()?, &b.as_dbuf()?, &mut c),
    )?;
    let element = |i: usize| {
        (0..N)
            .map(|k| i32::from(a[i / N * N + k]) * i32::from(b[k * N + i % N]))
            .sum::<i32>()
    };
    assert_eq!(
        c.as_host_vec()?,
        (0..N * N).map(element).collect::<Vec<_>>()
    );
    Ok(())
}

#[test]
fn triangular_factors() -> Outcome {
    let (module, stream) = start();
    const N: usize = 24;
    let mut from = floats(N * N);
    (0..N).for_each(|i| from[i * N + i] += 8.0);
    let mut matrix = from.as_dbuf()?;
    for column in 0..N - 1 {
        module.launch(&stream, (1, 32), eliminate::args(N, column, &mut matrix))?;
    }
    let both = matrix.as_host_vec()?;
    let part = |keep: fn(usize, usize) -> bool, unit: bool| -> Vec<f32> {
        let element = |(i, &x): (usize, &f32)| match (i / N, i % N) {
            (y, x) if y == x && unit => 1.0,
            (row, column) if keep(row, column) => x,
            _ => 0.0,
        };
        both.iter().enumerate().map(element).collect()
    };
    let (lower, upper) = (part(|y, x| y > x, true), part(|y, x| y <= x, false));
    close(&product(&lower, &upper, N, N), &from, 1e-4);
    Ok(())
}
