//! The host finds a static by its symbol, so two statics cannot have one.
#![no_std]

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

#[address_space(global, unsafe(name = "BOTH"))]
pub static ONE: AtomicU32 = AtomicU32::new(0);

pub mod other {
    #[cuda_std::address_space(global, unsafe(name = "BOTH"))]
    pub static TWO: [core::sync::atomic::AtomicU64; 2] = [const { core::sync::atomic::AtomicU64::new(0) }; 2]; //~ ERROR the symbol `BOTH` is already defined
}

#[kernel]
pub fn run() {
    ONE.store(1, Ordering::Relaxed);
    other::TWO[1].store(2, Ordering::Relaxed);
}
