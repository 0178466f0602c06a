//! Kernels called as C's functions are, in one line, and no warnings of it; names that PTX does not have.
#![no_std]
#![deny(warnings)]

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn memcpy(from: *const u8, to: *mut u8, n: usize) { unsafe { to.copy_from(from, n) } }

#[kernel]
pub unsafe fn memset(to: *mut u8, n: usize) { for i in 0..n { unsafe { to.add(i).write(7) } } }

#[kernel]
pub fn r#type() {}

#[kernel]
pub fn größe() {} //~ ERROR a kernel's name has to be ASCII
