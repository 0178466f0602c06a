//! `cfg(target_feature)` is true for the architecture and for all before it, and has no warnings.
//@ check-pass
#![no_std]
#![deny(warnings)]

use cuda_std::prelude::*;

const _: () = {
    assert!(cfg!(target_feature = "compute_70"));
    assert!(cfg!(target_feature = "compute_75"));
    assert!(!cfg!(target_feature = "compute_80"));
    assert!(!cfg!(target_feature = "compute_90a"));
    assert!(cfg!(target_feature = "sm_70"));
    assert!(cfg!(target_feature = "sm_75"));
    assert!(!cfg!(target_feature = "sm_80"));
};

#[cfg(not(target_feature = "compute_75"))]
compile_error!("the default architecture");

#[kernel]
pub fn run() {}
