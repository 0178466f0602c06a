//! A GPU program is one file of PTX.
//@ compile-flags: --crate-type=staticlib
//@ check-pass
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn run() {}
//~? WARNING dropping unsupported crate type `staticlib`
//~? HELP `cdylib`
