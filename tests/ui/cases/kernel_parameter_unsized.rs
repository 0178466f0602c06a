//! A parameter is passed by value.
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn slice(x: [f32]) { //~ ERROR the size for values of type `[f32]` cannot be known
    //~^ ERROR `[f32]` cannot be a kernel's parameter
    //~| ERROR the size for values of type `[f32]` cannot be known
    let _ = x;
}
