//! Assembly, instructions, functions and statics of the host.
//@ no-snapshot

use cuda_std::prelude::*;
use std::arch::x86_64::{_mm_cvtss_f32, _mm_rsqrt_ss, _mm_set_ss};
use std::arch::{asm, global_asm};
use std::cell::Cell;

fn cycles() -> u64 {
    let (low, high): (u32, u32);
    unsafe { asm!("rdtsc", out("eax") low, out("edx") high, options(nomem, nostack)) };
    //~^ ERROR inline assembly for the host cannot be compiled for a GPU
    //~| HELP put host-only code behind `if !cuda_std::is_device()`
    u64::from(high) << 32 | u64::from(low)
}

#[kernel]
fn host_assembly(to: PerThread<u64>) {
    for (_, to) in { to }.own() {
        *to = cycles(); //~ NOTE the kernel `host_assembly` calls `cycles` here
    }
}

#[kernel]
fn instruction(to: PerThread<f32>) {
    for (_, to) in { to }.own() {
        *to = unsafe { _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(4.0))) };
        //~^ ERROR _mm_rsqrt_ss` works only on the host
        //~| NOTE it needs the instruction `sse.rsqrt.ss` of x86, which a GPU does not have
    }
}

global_asm!(".globl of_assembly", "of_assembly: ret");

unsafe extern "C" {
    fn of_assembly(); //~ NOTE it is declared here
    safe static environ: u64; //~ NOTE it is declared here
}

#[kernel]
fn foreign(to: PerThread<u64>) {
    for (_, to) in { to }.own() {
        unsafe { of_assembly() };
        //~^ ERROR the foreign function `of_assembly` does not exist on a GPU
        //~| HELP put host-only code behind `if !cuda_std::is_device()`
        *to = environ;
        //~^ ERROR the foreign static `environ` does not exist on a GPU
        //~| HELP `#[address_space(global)]` defines a static that the host can access
    }
}

thread_local! { //~ ERROR a thread-local static cannot be compiled for a GPU
    static LOCAL: Cell<u64> = const { Cell::new(1) };
}

#[kernel]
fn thread_local(to: PerThread<u64>) {
    for (_, to) in { to }.own() {
        *to = LOCAL.get(); //~ NOTE the kernel `thread_local` uses
    }
}

fn main() {}
