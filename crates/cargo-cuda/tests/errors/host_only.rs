//! Calls of host-only functions in kernels: each call of `std` is one error, at the call.
//@ no-snapshot

use cuda_std::prelude::*;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Mutex;

fn length(path: &str) -> u32 {
    let mut text = String::new();
    let mut file = std::fs::File::open(path).unwrap();
    //~^ ERROR `std::fs::File::open::<&str>` works only on the host
    //~| NOTE it needs the foreign function `open64`, which a GPU does not have
    //~| HELP call it on the host, and pass the result to the kernel as an argument
    file.read_to_string(&mut text).unwrap();
    //~^ ERROR `<std::fs::File as std::io::Read>::read_to_string` works only on the host
    text.len() as u32
} //~ ERROR the drop glue of `std::fs::File` works only on the host

#[kernel]
pub fn lengths(mut to: PerThread<u32>) {
    to.each(|_, to| *to = length("/etc/hostname"));
    //~^ NOTE the kernel `lengths` calls
}

#[kernel]
pub fn threads(mut to: PerThread<u32>) {
    to.each(|_, to| *to = std::thread::spawn(|| 3).join().unwrap());
    //~^ ERROR `std::thread::JoinHandle::<u32>::join` works only on the host
    //~| ERROR works only on the host
    //~| HELP the threads of a launch run the kernel in parallel: launch more of them
}

#[kernel]
pub fn timed(mut to: PerThread<u32>) {
    let start = std::time::Instant::now();
    //~^ ERROR `std::time::Instant::now` works only on the host
    //~| HELP read the device's clock with `cuda_std::time::global_timer`
    to.each(|_, to| *to = 1);
    let _ = start;
}

#[kernel]
pub fn locked(mutex: &Mutex<u32>, mut to: PerThread<u32>) {
    to.each(|_, to| *to = *mutex.lock().unwrap());
    //~^ ERROR `std::sync::Mutex::<u32>::lock` works only on the host
    //~| HELP the threads of a launch share data through atomics
}

/// Without a function that replaces it.
#[kernel]
pub fn flushed(mut to: PerThread<u32>) {
    to.each(|_, to| *to = u32::from(std::io::stdout().flush().is_ok()));
    //~^ ERROR `<std::io::Stdout as std::io::Write>::flush` works only on the host
    //~| HELP put host-only code behind `if !cuda_std::is_device()`
}

/// Recursion does not hide the call.
fn down(n: usize) -> u32 {
    match n {
        0 => std::process::id(),
        //~^ ERROR `std::process::id` works only on the host
        _ => down(n - 1),
    }
}

#[kernel]
pub fn recursive(mut to: PerThread<u32>) {
    to.each(|i, to| *to = down(i));
}

/// The default hasher of maps.
#[kernel]
pub fn hashed(mut to: PerThread<usize>) {
    to.each(|i, to| *to = HashMap::from([(i, 1), (3, 1)]).len());
    //~^ ERROR works only on the host
    //~| HELP its hasher has random keys from the host
}

/// An instance of a generic kernel whose closure needs the host.
#[kernel]
fn map(f: impl Fn(u32) -> u32 + Copy, mut to: PerThread<u32>) {
    to.each(|_, to| *to = f(*to));
}

fn main() {
    let mut to = vec![0u32; 10];
    cust::launch((1, 32), lengths::args(&mut to)).unwrap();
    cust::launch((1, 32), threads::args(&mut to)).unwrap();
    let count = |x| x + std::env::args_os().len() as u32;
    //~^ ERROR `std::env::args_os` works only on the host
    cust::launch((1, 32), map::args(count, &mut to)).unwrap();
}
