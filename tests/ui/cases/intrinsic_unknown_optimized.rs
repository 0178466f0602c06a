//! LLVM crashes on an intrinsic that it does not know either. The intrinsic is the only error.
//@ compile-flags: -Copt-level=3
#![no_std]
#![feature(link_llvm_intrinsics)]
#![expect(internal_features)]

use cuda_std::prelude::*;

unsafe extern "C" {
    #[link_name = "llvm.of.tomorrow"]
    fn of_tomorrow(x: u32) -> u32;
}

#[kernel]
pub unsafe fn f(x: *mut u32) {
    unsafe { *x = of_tomorrow(*x) } //~ ERROR libnvvm does not know the intrinsic `llvm.of.tomorrow`
}
