//! Clusters, for an architecture that has none.
#![no_std]
use cuda_std::prelude::*;

#[kernel(cluster_dims(2))]
pub fn run() {} //~ ERROR clusters require the architecture `sm_90`
