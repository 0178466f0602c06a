//! Programs that `cargo check` rejects: among others, attacks on launches on the CPU, in which code
//! for the host keeps a kernel's outputs or shared memory for other threads, or for after the
//! launch.
//@ no-snapshot
#![forbid(unsafe_code)]

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use std::cell::Cell;
use std::sync::Mutex;

static ELEMENTS: Mutex<Vec<&'static mut u32>> = Mutex::new(Vec::new());

thread_local! {
    static OUTPUT: Cell<Option<PerThread<'static, u32>>> = const { Cell::new(None) };
}

#[kernel]
fn leaked(to: PerThread<u32>) {
    if !cuda_std::is_device() {
        for (_, element) in Box::leak(Box::new(to)).own() {
            ELEMENTS.lock().unwrap().push(element); //~ ERROR borrowed data escapes outside of function
        }
    }
}

#[kernel]
fn passed_on(to: PerThread<u32>) {
    if !cuda_std::is_device() {
        OUTPUT.set(Some(to)); //~ ERROR borrowed data escapes outside of function
    }
}

#[kernel]
fn held(#[shared] block: Shared<Array<u32, 32>>) {
    let elements: &'static [u32; 32] = Box::leak(Box::new(block.share())).view();
    //~^ ERROR lifetime may not live long enough
    std::hint::black_box(elements);
}

#[kernel]
fn lengths(texts: &[u8], mut to: PerThread<u32>) {
    to.each(|i, to| *to = u32::from(texts[i]));
}

#[kernel]
fn map(f: impl Fn(u32) -> u32 + Copy, mut to: PerThread<u32>) {
    to.each(|_, to| *to = f(*to));
}

fn captures_a_reference() {
    let table = vec![1, 2];
    let _ = map::args(|i| table[i as usize], &mut [0; 2]); //~ ERROR closure may outlive the current function, but it borrows `table`
}

fn main() {
    captures_a_reference();
    let texts = vec![String::new()];
    let _ = lengths::args(&texts, &mut [0]);
    //~^ ERROR `&Vec<String>` cannot be passed to a kernel's parameter `&[u8]`
    let _ = lengths::args(&[1], &mut [0u32], 3);
    //~^ ERROR this function takes 2 arguments but 3 arguments were supplied
    let mut numbers = [1; 32];
    cust::launch_cpu((1, 32), leaked::args(&mut numbers)).unwrap();
    cust::launch_cpu((1, 32), passed_on::args(&mut numbers)).unwrap();
    cust::launch_cpu((1, 32), held::args()).unwrap();
}
