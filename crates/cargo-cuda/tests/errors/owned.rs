//! Parameters that own memory of the host.
//@ no-snapshot

use cuda_std::prelude::*;
use std::rc::Rc;

#[kernel]
fn owned(texts: Vec<String>, mut to: PerThread<u32>) {
    //~^ ERROR `Vec<String>` cannot be a kernel's parameter: it is not `Copy`
    to.each(|i, to| *to = texts[i].len() as u32);
}

#[kernel]
fn counted(value: Rc<u32>, mut to: PerThread<u32>) {
    //~^ ERROR `Rc<u32>` cannot be a kernel's parameter: it is not `Copy`
    to.each(|_, to| *to = *value);
}

fn main() {}
