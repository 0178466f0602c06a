//! An entry has one name and one layout.
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn of_type<T: Copy>(x: *mut T, y: T) { //~ ERROR cannot be generic
    unsafe { *x = y };
}

#[kernel]
pub fn of_length<const N: usize>(x: [u32; N], y: *mut u32) { //~ ERROR cannot be generic
    unsafe { *y = x[0] };
}

#[kernel]
pub fn of_trait(x: impl Copy) { //~ ERROR `impl` in a parameter makes it generic
    let _ = x;
}
