//! Signatures that a kernel cannot have.
//@ no-snapshot

use cuda_std::prelude::*;

#[kernel]
fn exclusive(to: &mut [u32]) {
    //~^ ERROR a kernel cannot take a `&mut`
    to[0] = 1;
}

#[kernel]
fn list(to: &mut Vec<u32>) {
    //~^ ERROR Take a `PerThread<u32>`, which partitions its elements among the threads
    to.push(1);
}

#[kernel]
fn returns(x: u32) -> u32 {
    //~^ ERROR a kernel cannot return a value
    x
}

struct Scale(u32);

impl Scale {
    #[kernel]
    fn method(&self, mut to: PerThread<u32>) {
        //~^ ERROR a kernel cannot be a method
        to.each(|_, to| *to *= self.0);
    }
}

fn main() {}
