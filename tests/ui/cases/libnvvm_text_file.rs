//! The file in place of libnvvm is not a library.
//@ toolkit: text-file
//@ no-snapshot
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run() {}
//~? ERROR cannot be used
//~? HELP CUDA_HOME
