//! Two kernels of one name in one module.
//@ no-snapshot

use cuda_std::prelude::*;

/// Kernels of one name in different modules are different kernels.
mod a {
    use cuda_std::prelude::*;

    #[kernel]
    pub fn same(mut to: PerThread<u32>) {
        to.each(|_, to| *to = 1);
    }
}

#[kernel]
fn same(mut to: PerThread<u32>) {
    to.each(|_, to| *to = 2);
}

#[kernel] //~ ERROR the name `same` is defined multiple times
fn same(mut to: PerThread<u32>) {
    //~^ ERROR the name `same` is defined multiple times
    to.each(|_, to| *to = 3);
}

fn main() {}
