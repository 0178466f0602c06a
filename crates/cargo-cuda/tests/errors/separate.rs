//! Statics of which each side has its own copy: a warning at the first use in device code.
//@ no-snapshot
//@ check-pass

use cuda_std::prelude::*;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);
//~^ NOTE changes of `COUNT` on one side are not seen on the other
static mut LAST: u32 = 0;
static OF_HOST: AtomicU32 = AtomicU32::new(0);
static NEVER_CHANGED: [u32; 2] = [1, 2];
static MADE_ONCE: LazyLock<u32> = LazyLock::new(|| 3);

#[address_space(global)]
pub static MARKED: AtomicU32 = AtomicU32::new(0);

fn add_one() {
    COUNT.fetch_add(1, Ordering::Relaxed);
    //~^ WARN device code uses a copy of the static `COUNT`, apart from the host's
    //~| HELP pass the value as a parameter
    //~| HELP a static of the device is `#[address_space(global)] pub static COUNT`
}

#[kernel]
fn count(mut to: PerThread<u32>) {
    to.each(|i, to| {
        add_one();
        unsafe { LAST = i as u32 }; //~ WARN device code uses a copy of the static `LAST`
        MARKED.fetch_add(NEVER_CHANGED[i % 2], Ordering::Relaxed);
        if !cuda_std::is_device() {
            OF_HOST.fetch_add(*MADE_ONCE, Ordering::Relaxed);
        }
        *to = 1;
    });
}

fn main() {}
