//! The kernels of the guide, a module for each chapter. The chapters include the regions between
//! `ANCHOR` and `ANCHOR_END`.

#![no_std]

pub mod atomics;
pub mod debugging;
pub mod fast;
pub mod memory;
pub mod shared;
pub mod threads;
pub mod warps;
