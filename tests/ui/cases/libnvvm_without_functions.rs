//! What is in libnvvm's place is another library.
//@ toolkit: no-functions
//@ no-snapshot
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run() {}
//~? ERROR cannot be used
//~? HELP CUDA_HOME
