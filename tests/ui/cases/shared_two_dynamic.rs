//! There is one dynamic shared memory.
#![no_std]
use cuda_std::prelude::*;
use cuda_std::shared::{Dynamic, Shared};

#[kernel] //~ ERROR a kernel has one dynamic shared memory
pub fn two_dynamic(#[shared] _a: Shared<Dynamic<u32>>, #[shared] _b: Shared<Dynamic<u32>>) {}
