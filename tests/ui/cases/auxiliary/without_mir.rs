//! A library whose metadata lacks the code of functions that are not generic.
//@ compile-flags: -Zalways-encode-mir=no
#![no_std]

#[inline(never)]
pub fn double(x: u32) -> u32 {
    x * 2
}
