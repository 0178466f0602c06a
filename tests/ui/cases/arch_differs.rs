//! The crates are compiled for another architecture than their dependencies.
//@ compile-flags: -Ctarget-cpu=sm_90
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run() {}
//~? ERROR mixing `-Ctarget-cpu`
//~? ERROR mixing `-Ctarget-cpu`
//~? ERROR mixing `-Ctarget-cpu`
//~? ERROR mixing `-Ctarget-cpu`
//~? ERROR mixing `-Ctarget-cpu`
