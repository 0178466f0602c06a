//! An architecture that rustc no longer supports.
//@ compile-flags: -Ctarget-cpu=sm_60
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run() {}
//~? ERROR rustc no longer compiles for the GPU architecture `sm_60`
