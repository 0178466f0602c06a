//! No kernel and no static replaces a function or a static of the compiler, libdevice or the driver.
#![no_std]

use cuda_std::prelude::*;

#[kernel]
pub fn malloc() {} //~ ERROR the name `malloc` is reserved

#[kernel(block_size(32))]
pub fn free() {} //~ ERROR the name `free` is reserved

#[kernel]
pub fn printf() {} //~ ERROR the name `printf` is reserved

#[kernel]
pub fn vprintf() {} //~ ERROR the name `vprintf` is reserved

#[kernel]
pub fn r#__assertfail() {} //~ ERROR the name `__assertfail` is reserved

#[kernel]
pub fn __nv_sinf() {} //~ ERROR the name `__nv_sinf` is reserved

#[kernel]
pub fn cudaGraphSetConditional() {} //~ ERROR the name `cudaGraphSetConditional` is reserved

#[kernel]
pub fn fmodf128() {} //~ ERROR the name `fmodf128` is reserved

#[address_space(global, unsafe(name = "__cuda_std_report"))] //~ ERROR the name `__cuda_std_report` is reserved
pub static mut REPORT: u32 = 0;

#[address_space(constant, unsafe(name = "llvm.sin.f32"))] //~ ERROR the name `llvm.sin.f32` is reserved
pub static SINE: u32 = 0;
