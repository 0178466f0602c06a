//! Arguments of generic kernels that cannot be on the device. Each is a separate error.
//@ no-snapshot

use cuda_std::prelude::*;
use cust::prelude::*;

#[kernel]
pub fn map<F: Fn(u32) -> u32 + Copy>(f: F, xs: &[u32], mut ys: PerThread<u32>) {
    //~^ ERROR the address of a function of the host cannot be passed to the kernel `map`
    for (i, y) in ys.own() {
        *y = f(xs[i]);
    }
}

#[kernel]
pub fn fill<T: Copy + Into<u32>>(#[grid_constant] value: &T, mut ys: PerThread<u32>) {
    //~^ ERROR a value that is not `DeviceCopy` cannot be passed to the kernel `fill`
    ys.each(|_, y| *y = (*value).into());
}

/// An instance could keep the slice in a static.
pub trait Keep {
    type Slice: Copy;
}

#[kernel]
pub fn keep<K: Keep>(slice: K::Slice) { //~ ERROR a kernel's parameter cannot be an associated type that may be a `'static` reference
    let _ = slice;
}

#[kernel]
pub fn keep_constant<K: Keep>(#[grid_constant] slice: &K::Slice) { //~ ERROR a kernel's parameter cannot be an associated type that may be a `'static` reference
    let _ = slice;
}

#[derive(Clone, Copy)]
struct Plain(u32, u32);

fn main() {
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let (xs, mut ys) = (vec![1u32; 10], vec![1u32; 10]);
    static TABLE: [u32; 2] = [1, 2];
    let table: &'static [u32] = &TABLE;
    let _ = stream.launch((1, 32), map::args(move |x| x + table[0], &xs, &mut ys));
    //~^ ERROR a closure that captures a reference to memory of the host cannot be passed to the kernel `map`
    //~| NOTE it captures `table`, a `&[u32]`
    let function: fn(u32) -> u32 = |x| x;
    let _ = stream.launch((1, 32), map::args(function, &xs, &mut ys));
    let _ = stream.launch((1, 32), map::args(move |x| function(x), &xs, &mut ys));
    //~^ ERROR a closure that captures the address of a function of the host cannot be passed to the kernel `map`
    //~| NOTE it captures `function`, a `fn(u32) -> u32`
    let plain = Plain(1, 2);
    let sum = move |p: Plain| p.0 + p.1;
    let _ = stream.launch((1, 32), map::args(move |x| x + sum(plain), &xs, &mut ys));
    //~^ ERROR a closure that captures a value that is not `DeviceCopy` cannot be passed to the kernel `map`
    //~| NOTE it captures `plain`, a `Plain`
    let _ = stream.launch((1, 32), fill::args(plain, &mut ys));
}

impl From<Plain> for u32 {
    fn from(plain: Plain) -> u32 {
        plain.0
    }
}
