// A kernel declares 48 KiB at most.

#![no_std]

use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};

#[kernel]
pub fn large(#[shared] mut x: Shared<Array<f32, 12289>>) {
    x.own().each(|i, x| *x = i as f32);
}

//~? ERROR use `Dynamic` for more
