//! An architecture that rustc no longer supports.
//@ compile-flags: -Ctarget-cpu=sm_60 -Cunsafe-allow-abi-mismatch=target-cpu
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run() {}
//~? ERROR sm_60
