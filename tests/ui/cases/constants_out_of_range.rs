//! Constants that no instruction takes: of a shuffle's width, a barrier, a profiler's event.
#![no_std]
use cuda_std::barrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::{debug, group};

#[kernel]
pub fn width(x: *mut u32) {
    unsafe { *x = warp::shuffle_in::<12, u32>(warp::FULL, *x, 0) }; //~? ERROR a warp is divided into segments
}

#[kernel]
pub fn barrier() {
    Barrier::<7>.sync(32); //~? ERROR barriers are numbered from 0 to 6
}

#[kernel]
pub fn event() {
    debug::profiler_event::<16>(); //~? ERROR `EVENT` of `pmevent` must be from 0 to 15
}

#[kernel]
pub fn tile() {
    let _ = group::tile::<3>(); //~? ERROR a warp is divided into tiles
}
