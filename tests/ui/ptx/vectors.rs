//! Accesses to elements with the types of `cuda_std::vector`; `tests/ptx.rs` has the size of each.
//@ check-pass
#![no_std]
use cuda_std::PerThreadChunk;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::vector::{F32x2, F32x4, F64x2, I16x4, U8x4, U32x4, U64x2};

macro_rules! scales {
    ($($name:ident $V:ident $T:ident;)*) => {
        $(
            #[kernel]
            pub fn $name(factor: $T, from: &[$V], mut to: PerThread<$V>) {
                to.each_with(from, |_, to, from| *to = *from * factor);
            }
        )*
    };
}
scales! {
    scale_f32x2 F32x2 f32;
    scale_f32x4 F32x4 f32;
    scale_f64x2 F64x2 f64;
    scale_i16x4 I16x4 i16;
    scale_u8x4 U8x4 u8;
    scale_u32x4 U32x4 u32;
    scale_u64x2 U64x2 u64;
}

#[kernel]
pub fn copy_f32x4(from: &[F32x4], mut to: PerThread<F32x4>) {
    to.each_with(from, |_, to, from| *to = *from);
}

#[kernel]
pub fn copy_u64x2(from: &[U64x2], mut to: PerThread<U64x2>) {
    to.each_with(from, |_, to, from| *to = *from);
}

#[kernel]
pub fn in_place(factor: f32, mut data: PerThread<F32x4>) {
    data.each(|_, x| *x *= factor);
}

#[kernel]
pub fn mapped(mut data: PerThread<F32x4>) {
    data.each(|_, x| *x = x.map(|x| x * x).into());
}

#[kernel]
pub fn by_element(mut data: PerThread<F32x4>) {
    data.each(|_, to| {
        let mut x = *to;
        for x in x.iter_mut() {
            *x *= *x;
        }
        *to = x;
    });
}

#[kernel]
pub fn chunks(from: &[U32x4], mut to: PerThreadChunk<U32x4, 2>) {
    to.each(
        |start, to| {
            let Some(mut all) = from.as_chunks::<2>().0.get(start / 2).copied() else { return };
            let mut sum = 0u32;
            for x in all.as_scalars_mut() {
                sum = sum.wrapping_add(core::mem::replace(x, sum));
            }
            *to = all;
        },
        |_, _| {},
    );
}

/// The slice of scalars has one check.
#[kernel]
pub fn viewed(from: &[f32], mut to: PerThread<F32x4>) {
    let Some(from) = from.as_vectors::<F32x4>() else { return };
    to.each_with(from, |_, to, from| *to = -*from);
}

#[kernel(block_size(64))]
pub fn in_shared(
    #[shared] mut shared: Shared<Array<F32x4, 64>>,
    from: &[F32x4],
    mut to: PerThread<F32x4>,
) {
    shared.own().each(|i, to| *to = from.get(i).copied().unwrap_or_default());
    shared.read(|all| to.each(|i, to| *to = all[(i ^ 1) % 64] * 2.0));
}

#[kernel]
pub unsafe fn raw(from: *const F32x4, to: *mut F32x4) {
    let i = thread::index_1d() as usize;
    unsafe { *to.add(i) = *from.add(i) + *to.add(i) };
}

/// Loads and stores are vectorized beside a shuffle, too.
#[kernel]
pub fn shuffled(mut data: PerThread<F32x4>) {
    data.each(|_, to| {
        let x = *to;
        *to = x * warp::shuffle_xor(warp::FULL, x.x(), 1);
    });
}
