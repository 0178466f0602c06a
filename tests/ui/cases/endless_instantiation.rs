//! Each instance needs a further one.
#![no_std]

use cuda_std::prelude::*;

struct Next<T>(T);

fn descend<T>(x: T, n: u32) -> u32 {
    if n == 0 {
        return 0;
    }
    descend(Next(x), n - 1) + 1 //~ ERROR reached the recursion limit while instantiating `descend`
}

#[kernel]
pub fn run(x: *mut u32) {
    unsafe { *x = descend((), *x) };
}
