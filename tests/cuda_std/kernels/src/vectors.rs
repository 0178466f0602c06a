//! Vector types: operators, views of slices, exchanges.

use crate::random;
use cuda_std::prelude::*;
use cuda_std::shared::{Array, Shared};
use cuda_std::vector::{
    F32x2, F32x4, F64x2, I8x4, I16x2, I16x4, I32x2, I32x4, I64x2, U8x4, U16x2, U16x4, U32x2, U32x4,
    U64x2,
};

/// Defines a function that returns a hash of a thread's results with each type.
macro_rules! operations {
    ($($name:ident $T:ident)*) => {
        /// Returns a hash of the results of the operators for each type.
        #[inline(always)]
        pub fn operations(thread: u32) -> [u64; 15] {
            let bytes = random(thread).to_le_bytes();
            [$({
                // In the range of `i8`, and no difference is negative.
                let mut b = $name::splat(1 as $T);
                for (b, byte) in b.iter_mut().zip(bytes) {
                    *b += (byte % 5) as $T;
                }
                let mut a = $name::default();
                for (a, byte) in a.iter_mut().zip(bytes) {
                    *a = (byte >> 4) as $T + 5 as $T;
                }
                let mut c = a;
                c += b;
                c -= $name::splat(2 as $T);
                c = c * (3 as $T) / b;
                let all = [a + b, a - b, a * b, a / b, c, a.map(|x| x / (2 as $T)).into()];
                all.as_scalars().iter().fold(7u64, |hash, &x| {
                    hash.wrapping_mul(31).wrapping_add((x as f64).to_bits()).rotate_left(7)
                })
            }),*]
        }
    };
}
operations! {
    F32x2 f32 F32x4 f32 F64x2 f64 I8x4 i8 I16x2 i16 I16x4 i16 I32x2 i32 I32x4 i32 I64x2 i64
    U8x4 u8 U16x2 u16 U16x4 u16 U32x2 u32 U32x4 u32 U64x2 u64
}

/// The results of the operators.
#[kernel]
pub fn vector_operations(mut to: PerThread<[u64; 15]>) {
    for (i, to) in to.own() {
        *to = operations(i as u32);
    }
}

/// A thread's vector of a slice of numbers; views that do not exist; a vector from another lane and
/// one from another thread's shared memory. `from` has two numbers per thread.
#[kernel(block_size(64))]
pub fn vector_views(
    #[shared] mut shared: Shared<Array<F32x4, 64>>,
    from: &[u64],
    mut to: PerThread<[u64; 5]>,
) {
    let (i, thread) = (thread::index() as usize, thread::index_in_block() as usize);
    let own = from
        .as_vectors::<U64x2>()
        .map_or(U64x2::splat(0), |all| all[i]);
    let inner = &from[1..from.len() - 1];
    let none = [
        inner.as_vectors::<U64x2>().is_none(),
        from[1..].as_vectors::<U64x2>().is_none(),
        from[2..2].as_vectors::<U64x2>().is_some(),
        inner[..0].as_vectors::<U64x2>().is_some(),
    ];
    let other = warp::shuffle_xor(warp::FULL, U32x4::new(i as u32, 1, 2, 3), 5);
    shared.own().each(|k, to| *to = F32x4::splat(k as f32));
    let next = shared.read(|all| all[(thread + 1) % 64]);
    to.each(|_, to| {
        *to = [
            own.x(),
            own[1],
            none.iter().filter(|&&x| x).count() as u64,
            (other.x() + other.y() + other.z() + other.w()).into(),
            (next.x() + next.w()) as u64,
        ];
    });
}
