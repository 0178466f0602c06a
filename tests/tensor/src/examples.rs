//! The examples of the documentation, each run, and its results compared with the CPU's.

use crate::{Needs, Session, compare, trial};
use cuda_std::half::{F16, F16x2};
use cuda_std::minifloat::E4m3;
use cuda_std::random::{Distribution, Normal, Philox};
use cust::error::CudaError;
use cust::graph::GraphBuilder;
use cust::memory::{Array, ArrayFlags, DeviceBuffer};
use cust::prelude::*;
use cust::texture::{FilterMode, TextureConfig};
use libtest_mimic::{Failed, Trial};
use std::sync::Arc;
use tensor_tests_kernels::examples::*;
use tensor_tests_kernels::values::{Value, hash};

/// Launches a kernel of this package.
macro_rules! run {
    ($session:ident, $kernel:ident, $blocks:expr, $threads:expr, $($arg:expr),* $(,)?) => {{
        let module = $session.module(Needs::Sm90a)?;
        // SAFETY: the module is built from the kernel's crate.
        let kernel = unsafe { module.kernel_unchecked::<$kernel>()? };
        #[allow(unused_unsafe)]
        // SAFETY: the memory is as large as the example says.
        kernel.launch(&$session.stream, ($blocks, $threads), unsafe { $kernel::args($($arg),*) })?;
        $session.stream.synchronize()?;
    }};
}

macro_rules! examples {
    ($($kernel:ident |$session:ident| $run:block)*) => {
        pub fn trials() -> Vec<Trial> {
            let all = Trial::test("examples: all are run", || {
                let run = [$(stringify!($kernel)),*];
                match KERNELS.iter().find(|kernel| !run.contains(kernel)) {
                    Some(kernel) => Err(format!("`{kernel}` is not run").into()),
                    None => Ok(()),
                }
            });
            let mut trials = vec![all];
            $({
                fn run($session: &Session) -> Result<(), Failed> {
                    $run;
                    Ok(())
                }
                trials.push(trial(Needs::Sm90a, concat!("example ", stringify!($kernel)), run));
            })*
            trials
        }
    };
}

fn halves(matrix: u32, rows: usize, columns: usize) -> Vec<F16> {
    (0..rows * columns)
        .map(|i| F16::by_chance(hash(matrix, i / columns, i % columns)))
        .collect()
}

/// The product of matrices that lie row after row.
fn product(a: &[F16], b: &[F16], n: usize, k: usize) -> Vec<u32> {
    let m = a.len() / k;
    let sums = (0..m * n).map(|i| {
        let products = (0..k).map(|x| a[i / n * k + x].to_f32() * b[x * n + i % n].to_f32());
        products.sum::<f32>().to_bits()
    });
    sums.collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

examples! {
    cluster_neighbors |session| {
        let to = DeviceBuffer::from_slice(&[9u32; 6])?;
        run!(session, cluster_neighbors, 3, 32, to.as_device_ptr());
        compare(&to.as_host_vec()?, &[0, 0, 0, 9, 9, 9])?;
        let module = session.module(Needs::Sm90a)?;
        // SAFETY: the module is built from the kernel's crate.
        let kernel = unsafe { module.kernel_unchecked::<cluster_neighbors>()? };
        let clusters = LaunchConfig::new(6, 32).cluster(3);
        // SAFETY: there is an element for each block.
        let arguments = || unsafe { cluster_neighbors::args(to.as_device_ptr()) };
        kernel.launch(&session.stream, clusters, arguments())?;
        session.stream.synchronize()?;
        compare(&to.as_host_vec()?, &[1, 2, 0, 1, 2, 0])?;
        // The same as the node of a graph.
        let mut graph = GraphBuilder::new()?;
        graph.launch(&kernel, LaunchConfig::new(6, 32).cluster(2), arguments())?;
        graph.instantiate()?.launch(&session.stream)?;
        session.stream.synchronize()?;
        compare(&to.as_host_vec()?, &[1, 0, 1, 0, 1, 0])?;
    }
    copy_sums |session| {
        let from: Vec<u32> = (0..5 * 256).map(|i| hash(70, i, 0) >> 8).collect();
        let memory = DeviceBuffer::from_slice(&from)?;
        let mut to = DeviceBuffer::<u32>::zeroed(256)?;
        run!(session, copy_sums, 2, 128, memory.as_device_ptr(), 5, &mut to);
        let expected: Vec<u32> = (0..256).map(|i| (0..5).map(|r| from[r * 256 + i]).sum()).collect();
        compare(&to.as_host_vec()?, &expected)?;
    }
    half_axpy |session| {
        let pairs = |seed: u32| -> Vec<F16x2> {
            let half = |i, j| F16::from_f32((hash(seed, i, j) % 2000) as f32 / 64.0);
            (0..128).map(|i| F16x2::new(half(i, 0), half(i, 1))).collect()
        };
        let (x, y) = (pairs(71), pairs(72));
        let mut out = DeviceBuffer::from_slice(&[F16x2::default(); 128])?;
        let (left, right) = (x.as_dbuf()?, y.as_dbuf()?);
        run!(session, half_axpy, 2, 64, 1.5, &left, &right, &mut out);
        let a = F16x2::splat(F16::from_f32(1.5));
        let expected: Vec<u32> = x.iter().zip(&y).map(|(x, y)| a.mul_add(*x, *y).to_bits()).collect();
        let found: Vec<u32> = out.as_host_vec()?.iter().map(|x| x.to_bits()).collect();
        compare(&found, &expected)?;
    }
    matrix_product |session| {
        let (a, b) = (halves(1, 16, 16), halves(2, 16, 8));
        let c = DeviceBuffer::<f32>::zeroed(128)?;
        let (left, right) = (a.as_dbuf()?, b.as_dbuf()?);
        run!(session, matrix_product, 1, 32, &left, &right, c.as_device_ptr());
        compare(&bits(&c.as_host_vec()?), &product(&a, &b, 8, 16))?;
    }
    matrix_wmma_product |session| {
        let (a, b) = (halves(1, 16, 16), halves(2, 16, 16));
        let (left, right) = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
        let c = DeviceBuffer::<f32>::zeroed(256)?;
        run!(session, matrix_wmma_product, 1, 32, left.as_device_ptr(), right.as_device_ptr(), c.as_device_ptr());
        compare(&bits(&c.as_host_vec()?), &product(&a, &b, 16, 16))?;
    }
    mbarrier_double |session| {
        let from: Vec<u32> = (0..128).map(|i| hash(73, i, 0) >> 1).collect();
        let memory = DeviceBuffer::from_slice(&from)?;
        let to = DeviceBuffer::<u32>::zeroed(128)?;
        run!(session, mbarrier_double, 1, 128, memory.as_device_ptr(), to.as_device_ptr());
        let expected: Vec<u32> = from.iter().map(|x| 2 * x).collect();
        compare(&to.as_host_vec()?, &expected)?;
    }
    random_noise |session| {
        let mut out = DeviceBuffer::<f32>::zeroed(256)?;
        run!(session, random_noise, 2, 128, 42, &mut out);
        let normal = Normal::<f32>::new(0.0, 1.0);
        let expected: Vec<f32> = (0..256).map(|i| normal.sample(&mut Philox::new(42, i, 0))).collect();
        compare(&bits(&out.as_host_vec()?), &bits(&expected))?;
    }
    texture_resize |session| {
        let picture: Vec<f32> = (0..64).map(|i| (hash(74, i, 0) % 100) as f32).collect();
        let array = Arc::new(Array::from_slice(&picture, (8, 8), ArrayFlags::empty())?);
        let config = TextureConfig {
            normalized_coordinates: true,
            filter: FilterMode::Linear,
            ..TextureConfig::default()
        };
        let texture = match cust::texture::Texture::new(array, &config) {
            Err(error) if !session.on_gpu() && error.code() == Some(CudaError::NotSupported) => {
                test_outcome::skip("the emulator has no textures");
                return Ok(());
            }
            texture => texture?,
        };
        let mut to = DeviceBuffer::<f32>::zeroed(64)?;
        run!(session, texture_resize, 1, 64, &texture, 8, 8, &mut to);
        // At its own size, the picture is what it was.
        compare(&bits(&to.as_host_vec()?), &bits(&picture))?;
    }
    minifloat_shrink |session| {
        let from: Vec<f32> = (0..128).map(|i| (hash(75, i, 0) % 4000) as f32 / 16.0 - 100.0).collect();
        let mut to = DeviceBuffer::from_slice(&[E4m3::default(); 128])?;
        let numbers = from.as_dbuf()?;
        run!(session, minifloat_shrink, 2, 64, &numbers, &mut to);
        let expected: Vec<u8> = from.iter().map(|x| E4m3::from_f32(*x).to_bits()).collect();
        let found: Vec<u8> = to.as_host_vec()?.iter().map(|x| x.to_bits()).collect();
        compare(&found, &expected)?;
    }
    wgmma_product |session| {
        let (a, b) = (halves(1, 64, 16), halves(2, 16, 8));
        // Pieces of eight rows (columns) of eight elements, one after the other.
        let pieces = |lines: usize, element: &dyn Fn(usize, usize) -> F16| -> Vec<F16> {
            (0..lines * 16)
                .map(|i| element(i / 128 * 8 + i % 64 / 8, i % 128 / 64 * 8 + i % 8))
                .collect()
        };
        let left = DeviceBuffer::from_slice(&pieces(64, &|row, k| a[row * 16 + k]))?;
        let right = DeviceBuffer::from_slice(&pieces(8, &|column, k| b[k * 8 + column]))?;
        let c = DeviceBuffer::<f32>::zeroed(512)?;
        run!(session, wgmma_product, 1, 128, left.as_device_ptr(), right.as_device_ptr(), c.as_device_ptr());
        compare(&bits(&c.as_host_vec()?), &product(&a, &b, 8, 16))?;
    }
}
