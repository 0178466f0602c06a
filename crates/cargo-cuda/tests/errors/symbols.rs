//! Two kernels of one symbol.
//@ no-snapshot

use cuda_std::prelude::*;

#[unsafe(no_mangle)]
#[kernel]
pub fn same(mut to: PerThread<u32>) {
    to.each(|_, to| *to = 1);
}

pub mod inner {
    use cuda_std::prelude::*;

    #[unsafe(no_mangle)]
    #[kernel]
    pub fn same(mut to: PerThread<u32>) {
        //~^ ERROR symbol `same` is already defined
        to.each(|_, to| *to = 2);
    }
}

fn main() {}
