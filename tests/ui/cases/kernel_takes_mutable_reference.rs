//! All threads would have the same `&mut`.
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn one(x: &mut f32) { //~ ERROR a kernel cannot take a `&mut`
    *x = 1.0;
}

#[kernel]
pub fn many(x: &mut [f32]) { //~ ERROR Take a `PerThread<f32>`
    x[0] = 1.0;
}

type Slice<'a> = &'a mut [f32];

#[kernel]
pub fn hidden(x: Slice) { //~ ERROR `&mut [f32]` cannot be a kernel's parameter
    x[0] = 1.0;
}
