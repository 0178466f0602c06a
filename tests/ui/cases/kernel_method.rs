//! The host launches functions.
#![no_std]

use cuda_std::prelude::*;

struct Grid(u32);

impl Grid {
    #[kernel]
    pub fn run(&self) { //~ ERROR a kernel cannot be a method
        let _ = self.0;
    }
}

trait Run {
    #[kernel]
    fn run(); //~^ ERROR `#[kernel]` can only be applied to a function with a body
}
