//! The type behind an alias, which only the backend sees.
#![no_std]
#![no_main]

use cuda_std as _;

type Nothing = ();
type Something = u32;

#[unsafe(no_mangle)]
#[unsafe(link_section = "nvvm.kernel")]
pub fn nothing() -> Nothing {}

#[unsafe(no_mangle)]
#[unsafe(link_section = "nvvm.kernel")]
pub fn something() -> Something { //~ ERROR a kernel cannot return a value
    1
}
