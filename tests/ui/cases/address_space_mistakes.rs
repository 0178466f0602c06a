//! `#[address_space]` on the wrong thing, or with the wrong space.
#![no_std]

use cuda_std::{address_space, kernel};

#[address_space] //~ ERROR expected an address space
static mut NONE: u32 = 0;

#[address_space(local)] //~ ERROR unknown address space `local`
static mut LOCAL: u32 = 0;

#[address_space(shared, global)] //~ ERROR the only option is
static mut TWO: u32 = 0;

#[address_space(shared)]
static SHARED: u32 = 0; //~ ERROR shared memory must be `static mut`

#[address_space(constant)]
fn function() {} //~ ERROR `#[address_space]` can only be applied to a static

#[kernel]
pub fn run() {
    function();
}
