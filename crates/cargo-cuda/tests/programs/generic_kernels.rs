//! A library with a generic kernel, which it launches itself, and which others launch.

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
pub fn map<T: Copy, U>(f: impl Fn(T) -> U + Copy, xs: &[T], mut ys: PerThread<U>) {
    for (i, y) in ys.own() {
        *y = f(xs[i]);
    }
}

/// One instance, which is in this library's module.
pub fn halved(stream: &Stream, xs: &[f32]) -> CudaResult<Vec<f32>> {
    mapped(stream, xs, |x| x * 0.5)
}

/// Instances of whoever calls it.
pub fn mapped<T, U, F>(stream: &Stream, xs: &[T], f: F) -> CudaResult<Vec<U>>
where
    T: DeviceCopy + 'static,
    U: DeviceCopy + Default + 'static,
    F: Fn(T) -> U + Copy + 'static,
{
    let mut ys = vec![U::default(); xs.len()];
    stream.launch(
        LaunchConfig::for_elements(xs.len(), 128),
        map::args(f, xs, &mut ys),
    )?;
    Ok(ys)
}
