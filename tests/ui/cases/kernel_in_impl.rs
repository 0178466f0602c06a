//! The host launches a kernel by its name, which is that of a function outside of types.
#![no_std]

use cuda_std::prelude::*;

pub struct Grid;

impl Grid {
    #[kernel]
    pub fn run(_factor: f32) {} //~ ERROR a kernel is a free function
}

pub trait Run {
    #[kernel]
    fn run_all() {} //~ ERROR a kernel is a free function
}
