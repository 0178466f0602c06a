//! There is no libnvvm.
//@ toolkit: empty-option
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run() {}
//~? ERROR libnvvm was not found
//~? HELP pip install
