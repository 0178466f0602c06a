//! Parameters that own memory of the host, or may do so.
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

#[kernel]
fn iterated(values: impl Iterator<Item = u32>, mut to: PerThread<u32>) {
    //~^ ERROR `impl Iterator<Item = u32>` cannot be a kernel's parameter: it is not `Copy`
    to.own().zip(values).for_each(|((_, to), value)| *to = value);
}

#[kernel]
fn map<F: Fn(u32) -> u32>(f: F, mut to: PerThread<u32>) {
    //~^ ERROR the trait bound `F: Copy` is not satisfied
    //~| HELP consider further restricting type parameter `F` with trait `Copy`
    to.each(|_, to| *to = f(*to));
}

struct Filter;

impl Filter {
    #[kernel(associated)]
    fn apply(f: impl Fn(u32) -> u32, mut to: PerThread<u32>) {
        //~^ ERROR the trait bound `Impl0: Copy` is not satisfied
        //~| HELP consider further restricting type parameter `Impl0` with trait `Copy`
        to.each(|_, to| *to = f(*to));
    }
}

fn main() {}
