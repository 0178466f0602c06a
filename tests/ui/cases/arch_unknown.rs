//! An architecture that nobody knows.
//@ compile-flags: -Ctarget-cpu=sm_12345
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run() {}
//~? ERROR unknown GPU architecture `sm_12345`
//~? HELP sm_90
