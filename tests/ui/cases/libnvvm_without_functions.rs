//! The file in place of libnvvm is another library.
//@ toolkit: no-functions
//@ no-snapshot
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run() {}
//~? ERROR cannot be used
//~? HELP CUDA_HOME
