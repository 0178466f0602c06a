//! What only the host has, in kernels: each call of `std` is one error, at the call.

use cuda_std::prelude::*;
use cust::prelude::*;
use std::io::Read;

fn length(path: &str) -> u32 {
    let mut text = String::new();
    let mut file = std::fs::File::open(path).unwrap();
    file.read_to_string(&mut text).unwrap();
    text.len() as u32
}

#[kernel]
pub fn lengths(mut to: PerThread<u32>) {
    to.each(|_, to| *to = length("/etc/hostname"));
}

#[kernel]
pub fn threads(mut to: PerThread<u32>) {
    to.each(|_, to| *to = std::thread::spawn(|| 3).join().unwrap());
}

fn main() {
    let mut to = vec![0u32; 10];
    cust::launch((1, 32), lengths::args(&mut to)).unwrap();
    cust::launch((1, 32), threads::args(&mut to)).unwrap();
}
