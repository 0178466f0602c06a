//! Kernels called as C's functions and Rust's words are, each in one line: no warning of anything.
//@ check-pass
#![no_std]
#![deny(warnings)]

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn memcpy(from: *const u8, to: *mut u8, n: usize) { unsafe { to.copy_from(from, n) } }

#[kernel]
pub unsafe fn memset(to: *mut u8, n: usize) { for i in 0..n { unsafe { to.add(i).write(7) } } }

#[kernel]
pub fn r#type() {}

mod c {
    unsafe extern "C" {
        pub fn fabs(x: f64) -> f64;
    }
}

// The call is one of libdevice's function, not of the kernel.
#[kernel]
pub fn fabs(x: f64, to: *mut f64) { unsafe { to.write(c::fabs(x)) } }
