//! Kernels that measure the hardware's limits, with which the other kernels' times are compared.

use cuda_std::prelude::*;

/// The number of independent chains of multiply-adds per thread.
pub const CHAINS: usize = 8;

/// Copies 16 bytes per thread.
#[kernel]
pub unsafe fn limit_copy(from: *const u128, to: *mut u128, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        *to.add(i) = *from.add(i);
    }
}

macro_rules! multiply_adds {
    ($name:ident $ty:ty) => {
        /// Executes `rounds` times 16 multiply-adds in each of [`CHAINS`] chains.
        #[kernel]
        pub unsafe fn $name(rounds: u32, a: $ty, b: $ty, to: *mut $ty) {
            let i = thread::index_1d() as usize;
            let start = i as $ty;
            let (mut c0, mut c1, mut c2, mut c3) = (start, start + 1.0, start + 2.0, start + 3.0);
            let (mut c4, mut c5, mut c6, mut c7) =
                (start + 4.0, start + 5.0, start + 6.0, start + 7.0);
            for _ in 0..rounds {
                cuda_std::unroll::unroll::<16>(|_| {
                    c0 = c0.mul_add(a, b);
                    c1 = c1.mul_add(a, b);
                    c2 = c2.mul_add(a, b);
                    c3 = c3.mul_add(a, b);
                    c4 = c4.mul_add(a, b);
                    c5 = c5.mul_add(a, b);
                    c6 = c6.mul_add(a, b);
                    c7 = c7.mul_add(a, b);
                });
            }
            *to.add(i) = ((c0 + c1) + (c2 + c3)) + ((c4 + c5) + (c6 + c7));
        }
    };
}
multiply_adds!(limit_fma_f32 f32);
multiply_adds!(limit_fma_f64 f64);
