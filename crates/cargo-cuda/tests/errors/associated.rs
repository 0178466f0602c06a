//! `#[kernel]` in an `impl`, without `associated`: one error for each kernel, at its attribute.
//@ no-snapshot

use cuda_std::prelude::*;

struct Filter;

impl Filter {
    #[kernel] //~ ERROR a kernel in an `impl` or a trait needs `#[kernel(associated)]`
    fn scale(factor: f32, mut to: PerThread<f32>) {
        //~^ ERROR cannot find type `scale` in this scope
        //~| ERROR cannot find function `scale` in this scope
        to.each(|_, to| *to *= factor);
    }
}

trait Fill: Copy {
    #[kernel] //~ ERROR a kernel in an `impl` or a trait needs `#[kernel(associated)]`
    fn fill(value: u32, mut to: PerThread<u32>) {
        //~^ ERROR cannot find type `fill` in this scope
        //~| ERROR cannot find type `fill` in this scope
        //~| ERROR cannot find function `fill` in this scope
        to.each(|_, to| *to = value);
    }
}

fn main() {}
