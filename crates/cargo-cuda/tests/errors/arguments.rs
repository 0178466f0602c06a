//! Arguments that do not fit: each is an error at the argument.
//@ no-snapshot

use cuda_std::prelude::*;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[kernel]
fn scale(xs: &[f32], factor: f32, mut to: PerThread<f32>) {
    to.each(|i, to| *to = xs[i] * factor);
}

#[kernel]
fn count(counter: &AtomicU32) {
    counter.fetch_add(1, Relaxed);
}

#[kernel]
fn lengths(texts: &[String], mut to: PerThread<u32>) {
    to.each(|i, to| *to = texts[i].len() as u32);
}

#[kernel]
fn of_vec(xs: &Vec<f32>, mut to: PerThread<f32>) {
    to.each(|i, to| *to = xs[i]);
}

#[kernel]
fn length(text: &str, mut to: PerThread<u32>) {
    to.each(|_, to| *to = text.len() as u32);
}

#[kernel]
fn counted(value: &Rc<u32>, mut to: PerThread<u32>) {
    to.each(|_, to| *to = **value);
}

#[kernel]
fn optional(value: Option<&u32>, mut to: PerThread<u32>) {
    to.each(|_, to| *to = value.copied().unwrap_or(0));
}

#[kernel]
fn dynamic(f: &dyn Fn(u32) -> u32, mut to: PerThread<u32>) {
    to.each(|_, to| *to = f(*to));
}

#[kernel]
fn map<T: Copy>(f: impl Fn(T) -> T + Copy, mut to: PerThread<T>) {
    to.each(|_, to| *to = f(*to));
}

fn main() {
    let (mut xs, mut ys, mut ns) = (vec![0.0; 4], vec![0.0f32; 4], vec![0u32; 4]);

    // Number.
    let _ = scale::args(&xs, 1.0);
    //~^ ERROR this function takes 3 arguments but 2 arguments were supplied
    //~| HELP provide the argument
    let _ = scale::args(&xs, 1.0, &mut ys, 1);
    //~^ ERROR this function takes 3 arguments but 4 arguments were supplied

    // Types.
    let _ = scale::args(&xs, 1u32, &mut ys);
    //~^ ERROR `u32` cannot be passed to a kernel's parameter `f32`
    let _ = scale::args(&[1u32], 1.0, &mut ys);
    //~^ ERROR `&[u32; 1]` cannot be passed to a kernel's parameter `&[f32]`
    let _ = scale::args(&xs, 1.0, &mut ns);
    //~^ ERROR type mismatch resolving
    //~| ERROR type mismatch resolving
    //~| NOTE expected `u32`, found `f32`
    let _ = length::args(b"text", &mut ns);
    //~^ ERROR `&[u8; 4]` cannot be passed to a kernel's parameter `&str`
    let _ = lengths::args(&[String::new()], &mut ns);
    //~^ ERROR `String` cannot be copied to a device: it is not `DeviceCopy`
    let _ = of_vec::args(&xs, &mut ys);
    //~^ ERROR `Vec<f32>` cannot be copied to a device: it is not `DeviceCopy`
    //~| NOTE a kernel takes a `Vec<T>` as `&[T]`, and a `String` as `&str`
    let _ = counted::args(&Rc::new(1), &mut ns);
    //~^ ERROR `Rc<u32>` cannot be copied to a device: it is not `DeviceCopy`
    let _ = optional::args(Some(&1), &mut ns);
    //~^ ERROR `Option<&{integer}>` cannot be passed to a kernel's parameter `Option<&u32>`
    let _ = dynamic::args(&|x| x, &mut ns);
    //~^ ERROR cannot be passed to a kernel's parameter `&dyn Fn(u32) -> u32`

    // Mutability.
    let _ = scale::args(&xs, 1.0, &ys);
    //~^ ERROR `&Vec<f32>` cannot be passed to a kernel's parameter
    //~| HELP consider changing this borrow's mutability
    let _ = count::args(&1u32);
    //~^ ERROR `&u32` cannot be passed to a kernel's parameter
    //~| HELP consider changing this borrow's mutability

    let _ = scale::args(&mut xs, 1.0, &mut ys);
    //~^ ERROR a `&mut` of `f32` cannot be passed to a kernel's parameter that is a shared reference
    //~| NOTE pass `&` for a parameter that the kernel only reads

    // Closures.
    let _ = map::args(|x: f32| x, &mut ns);
    //~^ ERROR expected `Fn(u32)` signature
    let _ = map::<u32, _>::args(|x, y| x + y, &mut ns);
    //~^ ERROR closure is expected to take 1 argument, but it takes 2 arguments

    // The function in the place of its arguments.
    let _ = cust::launch((1, 32), scale);
    //~^ ERROR mismatched types
    //~| NOTE expected `Args<_, _>`, found fn item
}
