//! Built-in functions of CUDA C++ are no symbols: the help names their equivalent.
#![no_std]

use cuda_std::prelude::*;

unsafe extern "C" {
    fn __syncthreads(); //~ NOTE it is declared here
    fn atomicAdd(address: *mut i32, value: i32) -> i32; //~ NOTE it is declared here
}

#[kernel]
pub unsafe fn run(x: *mut i32) {
    unsafe {
        __syncthreads(); //~ ERROR the foreign function `__syncthreads` does not exist on a GPU
        //~^ HELP the equivalent of CUDA C++'s `__syncthreads` is `cuda_std::thread::sync_threads`
        atomicAdd(x, 1); //~ ERROR the foreign function `atomicAdd` does not exist on a GPU
        //~^ HELP the equivalent of CUDA C++'s `atomicAdd` is `cuda_std::atomic::Atomic`
    }
}
