//! The checks of a kernel accept valid code: private types, lifetimes, patterns, attributes.
//@ check-pass
#![no_std]
#![deny(warnings)]

use cuda_std::prelude::*;

mod inner {
    use cuda_std::prelude::*;

    #[derive(Clone, Copy)]
    struct Pair(u32, u32);

    #[kernel]
    #[allow(private_interfaces)]
    pub fn pair<'a>(Pair(a, b): Pair, from: &'a [u32; 2], #[allow(unused)] rest: (), to: *mut u32) {
        unsafe { *to = a + b + from[0] };
    }
}

#[kernel]
pub fn never(_: u32) -> ! {
    panic!("no value")
}
