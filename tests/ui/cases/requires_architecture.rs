//! A function that the architecture lacks is an error where the user's code calls it.
#![no_std]

use cuda_std::intrinsics::special;
use cuda_std::prelude::*;

fn rank() -> u32 {
    special::cluster_ctarank() //~ ERROR `cluster_ctarank` requires the architecture `sm_90`, but the program is compiled for `sm_75`
}

/// Code that is not reached is not checked.
fn newer() -> u32 {
    if cfg!(target_feature = "compute_90") {
        special::cluster_nctarank()
    } else {
        1
    }
}

#[kernel]
pub fn run(x: *mut u32) {
    unsafe { *x = rank() + newer() };
}
