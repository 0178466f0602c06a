//! A type that is not `()` by name may still be, and one that is no value too.
#![no_std]

use cuda_std::prelude::*;

type Nothing = ();
type Something = u32;

#[kernel]
pub fn nothing() -> Nothing {} //~ ERROR a kernel cannot return a value

#[unsafe(no_mangle)]
#[unsafe(link_section = "nvvm.kernel")]
pub fn unit() -> Nothing {}

#[unsafe(no_mangle)]
#[unsafe(link_section = "nvvm.kernel")]
pub fn number() -> Something { //~ ERROR a kernel cannot return a value
    1
}
