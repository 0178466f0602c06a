//! Qualifiers that a kernel cannot have, all reported at once.
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub async fn polled() {} //~ ERROR a kernel cannot be `async`

#[kernel]
pub const fn early() {} //~ ERROR a kernel cannot be `const`

#[kernel]
pub extern "C" fn foreign() {} //~ ERROR remove `extern`

#[kernel]
pub unsafe extern "C" fn variadic(_: u32, _: ...) {} //~ ERROR a kernel cannot be variadic
//~^ ERROR remove `extern`

#[kernel(fast)] //~ ERROR unknown option `fast`
pub fn attribute() {}

#[kernel] //~ ERROR `#[kernel]` can only be applied to a function
pub struct Struct;

#[kernel]
pub async fn all<T>(_: &mut T) -> u32 { //~ ERROR a kernel cannot be `async`
    //~^ ERROR cannot be generic
    //~| ERROR a kernel cannot take a `&mut`
    //~| ERROR a kernel cannot return a value
    1
}
