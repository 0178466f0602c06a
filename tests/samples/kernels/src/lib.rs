//! Well-known CUDA programs as kernels. Each is written as the documentation suggests, in safe code
//! where possible.

#![no_std]
// For `asm!`.
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

pub mod cooperation;
pub mod finance;
pub mod images;
pub mod language;
pub mod linear;
pub mod physics;
pub mod reductions;
pub mod signals;
pub mod sorting;
pub mod structures;
pub mod trees;
