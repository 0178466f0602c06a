//! An intrinsic that a crate names itself, of an LLVM that libnvvm is not made of.
#![no_std]
#![feature(link_llvm_intrinsics)]
#![expect(internal_features)]

use cuda_std::prelude::*;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.of.tomorrow"]
    fn of_tomorrow(x: u32) -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    fn lane() -> u32;
}

#[kernel]
pub unsafe fn f(x: *mut u32) {
    unsafe { *x = of_tomorrow(lane()) } //~ ERROR libnvvm does not know the intrinsic `llvm.nvvm.of.tomorrow`
}
