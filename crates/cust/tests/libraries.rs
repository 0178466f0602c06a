//! NVIDIA's libraries on this crate's buffers, through `cudarc`: cuBLAS, cuBLASLt, cuFFT, cuRAND,
//! cuSOLVER and cuSPARSE, each compared with the CPU.
//!
//! ```sh
//! CUST_DEVICE=gpu cargo test -p cust --features cudarc-libraries --test libraries
//! ```
//!
//! The libraries are loaded at run time, so the tests build anywhere. Without a GPU, or without a
//! library, a test is skipped.

mod common;

use std::sync::Arc;

use common::{backend, init};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr};
use cust::prelude::*;

/// Returns the context of both crates and a stream of `cudarc`, or `None` if the GPU or the library
/// is missing. `present` returns whether the library is present.
fn start(library: &str, present: unsafe fn() -> bool) -> Option<(Context, Arc<CudaStream>)> {
    if backend() != Backend::Gpu {
        test_outcome::skip(format_args!("{library} needs a GPU"));
        return None;
    }
    // SAFETY: the call only loads the library.
    if !unsafe { present() } {
        test_outcome::skip(format_args!("{library} is not installed"));
        return None;
    }
    let context = init();
    let theirs = CudaContext::new(0).expect("cudarc finds the device");
    assert_eq!(
        theirs.cu_ctx().cast(),
        context.as_raw(),
        "not the same context"
    );
    let stream = theirs.new_stream().expect("cudarc makes a stream");
    Some((context, stream))
}

/// Creates a `cudarc` slice with the elements.
fn lend<T: DeviceCopy + DeviceRepr>(values: &[T], stream: &Arc<CudaStream>) -> CudaSlice<T> {
    let buffer = DeviceBuffer::from_slice(values).unwrap();
    // SAFETY: the stream belongs to the same device.
    unsafe { buffer.into_cudarc(stream) }
}

/// Takes ownership of a `cudarc` slice, and reads its elements.
fn take<T: DeviceCopy + DeviceRepr>(slice: CudaSlice<T>) -> Vec<T> {
    // SAFETY: the slice was created from a buffer of this context, and holds numbers.
    let buffer = unsafe { DeviceBuffer::from_cudarc(slice).unwrap() };
    buffer.as_host_vec().unwrap()
}

fn close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!(
            (a - b).abs() <= 1e-4 * b.abs().max(1.0),
            "at {i}: {a} is not {b}"
        );
    }
}

/// Column-major matrices: `a` of `m` by `k`, `b` of `k` by `n`, and their product.
fn product(m: usize, n: usize, k: usize) -> [Vec<f32>; 3] {
    let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 * 0.5).collect();
    let mut c = vec![0.0; m * n];
    for (column, c) in c.chunks_mut(m).enumerate() {
        for (row, c) in c.iter_mut().enumerate() {
            *c = (0..k).map(|i| a[i * m + row] * b[column * k + i]).sum();
        }
    }
    [a, b, c]
}

#[test]
fn cublas_multiplies_matrices() {
    use cudarc::cublas::{CudaBlas, Gemm, GemmConfig, sys};
    let Some((_context, stream)) = start("cuBLAS", sys::is_culib_present) else {
        return;
    };
    let (m, n, k) = (33, 17, 29);
    let [a, b, expected] = product(m, n, k);
    let (a, b) = (lend(&a, &stream), lend(&b, &stream));
    let mut c = lend(&vec![0.0f32; m * n], &stream);
    let blas = CudaBlas::new(Arc::clone(&stream)).unwrap();
    let config = GemmConfig {
        transa: sys::cublasOperation_t::CUBLAS_OP_N,
        transb: sys::cublasOperation_t::CUBLAS_OP_N,
        m: m as i32,
        n: n as i32,
        k: k as i32,
        alpha: 1.0f32,
        lda: m as i32,
        ldb: k as i32,
        beta: 0.0,
        ldc: m as i32,
    };
    // SAFETY: the matrices have these sizes.
    unsafe { blas.gemm(config, &a, &b, &mut c).unwrap() };
    close(&take(c), &expected);
}

#[test]
fn cublaslt_multiplies_matrices() {
    use cudarc::cublaslt::{CudaBlasLT, Matmul, MatmulConfig, sys};
    let Some((_context, stream)) = start("cuBLASLt", sys::is_culib_present) else {
        return;
    };
    let (m, n, k) = (32, 16, 64);
    let [a, b, expected] = product(m, n, k);
    let (a, b) = (lend(&a, &stream), lend(&b, &stream));
    let mut c = lend(&vec![0.0f32; m * n], &stream);
    let blas = CudaBlasLT::new(Arc::clone(&stream)).unwrap();
    let config = MatmulConfig {
        transa: false,
        transb: false,
        transc: false,
        m: m as u64,
        n: n as u64,
        k: k as u64,
        alpha: 1.0,
        lda: m as i64,
        ldb: k as i64,
        beta: 0.0,
        ldc: m as i64,
        stride_a: None,
        stride_b: None,
        stride_c: None,
        stride_bias: None,
        batch_size: None,
    };
    // SAFETY: the matrices have these sizes.
    unsafe { blas.matmul(config, &a, &b, &mut c, None, None).unwrap() };
    // cuBLASLt may round the factors to TF32, which represents these small numbers exactly.
    close(&take(c), &expected);
}

#[test]
fn cufft_transforms() {
    use cudarc::cufft::{CudaFft, result, sys};
    let Some((_context, stream)) = start("cuFFT", sys::is_culib_present) else {
        return;
    };
    const LEN: usize = 64;
    let signal: Vec<f32> = (0..2 * LEN).map(|i| ((i * i) % 11) as f32 - 5.0).collect();
    let mut data = lend(&signal, &stream);
    let kind = sys::cufftType::CUFFT_C2C;
    let plan = CudaFft::plan_1d(LEN as i32, kind, 1, Arc::clone(&stream)).unwrap();
    {
        let (address, _recorded) = data.device_ptr_mut(&stream);
        let data = address as *mut sys::float2;
        // SAFETY: the buffer has this number of complex numbers, transformed in place; -1 is
        // forward.
        unsafe { result::exec_c2c(plan.handle(), data, data, -1).unwrap() };
    }
    let mut expected = Vec::new();
    for k in 0..LEN {
        let (mut re, mut im) = (0.0f64, 0.0f64);
        for (i, pair) in signal.chunks(2).enumerate() {
            let angle = -2.0 * std::f64::consts::PI * (i * k % LEN) as f64 / LEN as f64;
            let (sin, cos) = angle.sin_cos();
            let (x, y) = (f64::from(pair[0]), f64::from(pair[1]));
            re += x * cos - y * sin;
            im += x * sin + y * cos;
        }
        expected.extend([re as f32, im as f32]);
    }
    let found = take(data);
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-2, "{a} is not {b}");
    }
}

#[test]
fn curand_fills() {
    use cudarc::curand::{CudaRng, sys};
    let Some((_context, stream)) = start("cuRAND", sys::is_culib_present) else {
        return;
    };
    const LEN: usize = 100_000;
    let fill = |seed| {
        let mut numbers = lend(&vec![-1.0f32; LEN], &stream);
        let random = CudaRng::new(seed, Arc::clone(&stream)).unwrap();
        random.fill_with_uniform(&mut numbers).unwrap();
        take(numbers)
    };
    let (first, again, other) = (fill(1), fill(1), fill(2));
    assert!(first.iter().all(|x| (0.0..=1.0).contains(x)));
    let mean = first.iter().map(|x| f64::from(*x)).sum::<f64>() / LEN as f64;
    assert!((mean - 0.5).abs() < 0.01, "{mean}");
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn cusolver_solves() {
    use cudarc::cusolver::{DnHandle, sys};
    let Some((_context, stream)) = start("cuSOLVER", sys::is_culib_present) else {
        return;
    };
    // A x = b with a symmetric, diagonally dominant matrix.
    const N: usize = 8;
    let a: Vec<f32> = (0..N * N)
        .map(|i| {
            if i / N == i % N {
                20.0
            } else {
                (i / N + i % N) as f32 / 8.0
            }
        })
        .collect();
    let x: Vec<f32> = (0..N).map(|i| i as f32 - 2.5).collect();
    let b: Vec<f32> = (0..N)
        .map(|row| (0..N).map(|i| a[i * N + row] * x[i]).sum())
        .collect();
    let (mut a, mut b) = (lend(&a, &stream), lend(&b, &stream));
    let mut info = lend(&[-1i32, -1], &stream);
    let solver = DnHandle::new(Arc::clone(&stream)).unwrap();
    let lower = sys::cublasFillMode_t::CUBLAS_FILL_MODE_LOWER;
    let n = N as i32;
    // SAFETY: the matrix, the vector and the workspace have the passed sizes.
    unsafe {
        let (handle, mut size) = (solver.cu(), 0);
        let (matrix, _a) = a.device_ptr_mut(&stream);
        let matrix = matrix as *mut f32;
        let result = sys::cusolverDnSpotrf_bufferSize(handle, lower, n, matrix, n, &mut size);
        result.result().unwrap();
        let mut work = lend(&vec![0.0f32; size.max(1) as usize], &stream);
        let (work, _work) = work.device_ptr_mut(&stream);
        let (vector, _b) = b.device_ptr_mut(&stream);
        let (info, _info) = info.device_ptr_mut(&stream);
        let info = info as *mut i32;
        let work = work as *mut f32;
        let result = sys::cusolverDnSpotrf(handle, lower, n, matrix, n, work, size, info);
        result.result().unwrap();
        let vector = vector as *mut f32;
        let result = sys::cusolverDnSpotrs(handle, lower, n, 1, matrix, n, vector, n, info.add(1));
        result.result().unwrap();
        stream.synchronize().unwrap();
    }
    assert_eq!(take(info), [0, 0]);
    close(&take(b), &x);
}

#[test]
fn cusparse_multiplies() {
    use cudarc::cusparse::{result, sys};
    let Some((_context, stream)) = start("cuSPARSE", sys::is_culib_present) else {
        return;
    };
    // [1 0 2 0; 0 0 0 3; 0 4 0 0] in CSR format.
    let rows = lend(&[0i32, 2, 3, 4], &stream);
    let columns = lend(&[0i32, 2, 3, 1], &stream);
    let values = lend(&[1.0f32, 2.0, 3.0, 4.0], &stream);
    let x = lend(&[1.0f32, 10.0, 100.0, 1000.0], &stream);
    let mut y = lend(&[0.0f32; 3], &stream);
    // SAFETY: the arrays have the passed sizes, and live until the stream is done.
    unsafe {
        use sys::cudaDataType_t::CUDA_R_32F as FLOAT;
        use sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO as ZERO;
        use sys::cusparseIndexType_t::CUSPARSE_INDEX_32I as INDEX;
        use sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE as PLAIN;
        use sys::cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT as ANY;
        let handle = result::create().unwrap();
        let result = sys::cusparseSetStream(handle, stream.cu_stream() as _);
        result.result().unwrap();
        let (rows, _rows) = rows.device_ptr(&stream);
        let (columns, _columns) = columns.device_ptr(&stream);
        let (values, _values) = values.device_ptr(&stream);
        let (x, _x) = x.device_ptr(&stream);
        let (y, _y) = y.device_ptr_mut(&stream);
        let [mut from, mut to] = [std::ptr::null_mut(); 2];
        let mut matrix = std::ptr::null_mut();
        let (r, c, v) = (rows as *mut _, columns as *mut _, values as *mut _);
        let made = sys::cusparseCreateCsr(&mut matrix, 3, 4, 4, r, c, v, INDEX, INDEX, ZERO, FLOAT);
        made.result().unwrap();
        sys::cusparseCreateDnVec(&mut from, 4, x as *mut _, FLOAT)
            .result()
            .unwrap();
        sys::cusparseCreateDnVec(&mut to, 3, y as *mut _, FLOAT)
            .result()
            .unwrap();
        let (one, none) = (1.0f32, 0.0f32);
        let (one, none) = ((&raw const one).cast(), (&raw const none).cast());
        let (matrix_, from_) = (matrix as _, from as _);
        let mut size = 0;
        let asked = sys::cusparseSpMV_bufferSize(
            handle, PLAIN, one, matrix_, from_, none, to, FLOAT, ANY, &mut size,
        );
        asked.result().unwrap();
        let mut work = lend(&vec![0u8; size.max(1)], &stream);
        let (work, _work) = work.device_ptr_mut(&stream);
        let multiplied = sys::cusparseSpMV(
            handle,
            PLAIN,
            one,
            matrix_,
            from_,
            none,
            to,
            FLOAT,
            ANY,
            work as *mut _,
        );
        multiplied.result().unwrap();
        stream.synchronize().unwrap();
        sys::cusparseDestroySpMat(matrix as _).result().unwrap();
        sys::cusparseDestroyDnVec(from as _).result().unwrap();
        sys::cusparseDestroyDnVec(to as _).result().unwrap();
        result::destroy(handle).unwrap();
    }
    close(&take(y), &[201.0, 3000.0, 40.0]);
}
