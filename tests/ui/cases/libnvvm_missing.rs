//! There is no libnvvm.
//@ toolkit: none
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run() {}
//~? ERROR libnvvm was not found
//~? HELP pip install
