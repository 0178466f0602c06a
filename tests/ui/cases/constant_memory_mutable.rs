//! Kernels cannot write constant memory, not even through interior mutability.
#![no_std]

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

#[address_space(constant)]
static COUNTER: AtomicU32 = AtomicU32::new(0); //~ ERROR constant memory cannot hold `core::sync::atomic::Atomic<u32>`

pub struct Nested {
    pub plain: u32,
    pub counters: [AtomicU32; 2],
}

#[address_space(constant)]
pub static NESTED: Nested = Nested { //~ ERROR constant memory cannot hold `Nested`
    plain: 0,
    counters: [const { AtomicU32::new(0) }; 2],
};

#[constant]
pub static SET_BY_THE_HOST: [u32; 2] = [1, 2];

#[address_space(constant)]
static NEVER_CHANGED: [u32; 2] = [1, 2];

#[address_space(global)]
static COUNTED: AtomicU32 = AtomicU32::new(0);

#[kernel]
pub fn run(i: usize) {
    COUNTER.store(1, Ordering::Relaxed);
    NESTED.counters[1].store(NESTED.plain, Ordering::Relaxed);
    COUNTED.store(SET_BY_THE_HOST[i] + NEVER_CHANGED[i], Ordering::Relaxed);
}
