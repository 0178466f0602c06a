//! A kernel is called as its function is, and as PTX allows.
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn größe() {} //~ ERROR a kernel's name must be ASCII

#[kernel]
#[unsafe(export_name = "other")] //~ ERROR the host launches a kernel by its function's name
pub fn one() {}

#[kernel]
#[track_caller] //~ ERROR a kernel cannot be `#[track_caller]`
pub fn two() {}

#[kernel]
#[cfg_attr(all(), track_caller)] //~ ERROR a kernel cannot be `#[track_caller]`
pub fn three() {}
