//! Values with padding, and coordinates far out of bounds.

use core::mem::MaybeUninit;

use cuda_std::prelude::*;
use cuda_std::texture::Surface;
use cuda_std::{AnyBits, group, memory};

/// Padding is not an integer, but shuffles and stores move integers.
#[derive(Clone, Copy, PartialEq, AnyBits)]
pub struct Padded(u8, u32, u16);

#[kernel]
pub fn padding(mut to: PerThread<[u32; 5]>) {
    let lane = thread::lane_id();
    let value = Padded(lane as u8, 1000 * lane, lane as u16);
    let other = warp::shuffle_xor(warp::FULL, value, 1);
    let pair = warp::shuffle_xor(warp::FULL, (lane as u8, lane), 2);
    let sum = group::block().reduce((1u8, lane), |a, b| (a.0 + b.0, a.1 + b.1));
    let _: MaybeUninit<u32> = warp::shuffle_xor(warp::FULL, MaybeUninit::uninit(), 1);
    let _ = warp::match_any(warp::FULL, value);
    let mut stored = Padded(0, 0, 0);
    memory::store_l2(&mut stored, value);
    let same = u32::from(stored == value);
    to.each(|_, to| {
        *to = [
            other.0.into(),
            other.1 + u32::from(other.2),
            pair.1,
            sum.1,
            same,
        ]
    });
}

/// Coordinates whose offset in bytes would wrap to an offset in bounds.
#[kernel]
pub fn far_outside(surface: Surface<u32, 1>, wide: Surface<[f32; 4], 2>, mut to: PerThread<u32>) {
    let mut found = 0;
    for x in [1 << 30, -(1 << 30), i32::MIN, i32::MAX, -1, 8] {
        surface.write([x], 99);
        found += surface.read([x]);
        wide.write([x.wrapping_add(1 << 28), 0], [9.0; 4]);
        wide.write([0, x], [9.0; 4]);
    }
    to.each(|_, to| *to = found);
}
