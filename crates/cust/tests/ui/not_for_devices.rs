//! Values that cannot be passed to a device: host references, and structs without `DeviceCopy`.

use cuda_std::prelude::*;

#[derive(Clone, Copy)]
pub struct Plain {
    pub number: u32,
}

#[kernel]
pub fn take(_value: Plain) {}

#[kernel]
pub fn read(_value: &Plain) {}

fn launch(value: Plain) {
    let _ = take::args(value);
    let _ = read::args(&value);
}

fn main() {}
