//! Functions that are reached not by a call but as values: in a table, in a vtable, in a closure,
//! and by the drop of a value.
#![no_std]

use cuda_std::prelude::*;

unsafe extern "C" {
    fn in_table() -> i32;
    fn in_vtable() -> i32;
    fn in_closure() -> i32;
    fn in_drop();
}

static TABLE: [fn() -> i32; 1] = [entry];

fn entry() -> i32 {
    unsafe { in_table() } //~ ERROR the foreign function `in_table` does not exist on a GPU
}

trait Count {
    fn count(&self) -> i32;
}

struct One;

impl Count for One {
    fn count(&self) -> i32 {
        unsafe { in_vtable() } //~ ERROR the foreign function `in_vtable` does not exist on a GPU
    }
}

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        unsafe { in_drop() } //~ ERROR the foreign function `in_drop` does not exist on a GPU
    }
}

#[inline(never)]
fn apply(f: impl Fn(i32) -> i32) -> i32 {
    f(1)
}

#[kernel]
pub fn run(i: u32, x: *mut i32) {
    let _guard = Guard;
    let counter: &dyn Count = core::hint::black_box(&One);
    let sum = apply(|n| n + unsafe { in_closure() }); //~ ERROR the foreign function `in_closure` does not exist
    unsafe { *x = TABLE[i as usize]() + counter.count() + sum };
}
