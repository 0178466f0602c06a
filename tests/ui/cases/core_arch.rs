//! rustc's own way to write kernels: its ABI, its functions and a handler of panics. What
//! `core::arch` calls in LLVM is not what libnvvm calls so.
//@ check-pass
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]

use core::arch::nvptx::*;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { trap() }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn scale(from: *const f32, to: *mut f32, n: u32) {
    unsafe {
        let i = _block_idx_x() * _block_dim_x() + _thread_idx_x();
        _syncthreads();
        if i < n {
            *to.add(i as usize) = *from.add(i as usize) * 2.0;
        } else {
            vprintf(c"%d is too much\n".as_ptr().cast(), (&raw const i).cast());
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn halves(a: *const f16x2, to: *mut f16x2) {
    unsafe { *to = f16x2_max_nan(f16x2_min_nan(*a, *to), f16x2_fma(*a, *a, f16x2_neg(*to))) }
}
