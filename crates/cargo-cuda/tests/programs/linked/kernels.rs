//! Kernels of a dependency.

use cuda_std::prelude::*;

/// Doubles numbers.
#[kernel]
pub fn double(mut values: PerThread<u32>) {
    for (_, value) in values.own() {
        *value *= 2;
    }
}

/// Instantiated by whoever launches it.
#[kernel]
pub fn map<T: Copy>(f: impl Fn(T) -> T + Copy, mut values: PerThread<T>) {
    for (_, value) in values.own() {
        *value = f(*value);
    }
}
