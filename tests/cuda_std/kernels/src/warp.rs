//! Shuffles, votes and matches.

use crate::random;
use core::mem::MaybeUninit;
use cuda_std::prelude::*;

/// A struct of 13 bytes, with padding.
#[derive(Clone, Copy)]
pub struct Mixed {
    /// A byte.
    pub a: u8,
    /// A word.
    pub b: u32,
    /// A field with only two valid bit patterns.
    pub c: bool,
    /// A long word.
    pub d: u64,
}

/// The results of `shuffle*` for each lane, with types of all sizes.
#[kernel]
pub fn shuffle_types(mut to: PerThread<[u64; 16]>) {
    for (i, to) in to.own() {
        let x = random(i as u32);
        let lane = warp::lane_id();
        let mixed = Mixed {
            a: x as u8,
            b: x as u32,
            c: x & 1 != 0,
            d: x,
        };
        let mixed = warp::shuffle_xor(warp::FULL, MaybeUninit::new(mixed), 5);
        // SAFETY: all lanes participate, so each receives another lane's value.
        let mixed = unsafe { mixed.assume_init() };
        let wide = u128::from(x) << 64 | u128::from(!x);
        let wide = warp::shuffle(warp::FULL, wide, 31 - lane);
        let bytes = warp::shuffle_up(warp::FULL, x.to_le_bytes(), 1);
        let seven: [u8; 7] = core::array::from_fn(|i| bytes[i]);
        let seven = warp::shuffle_down(warp::FULL, seven, 2);
        *to = [
            warp::shuffle(warp::FULL, x as u8, lane + 1).into(),
            warp::shuffle(warp::FULL, x as i16, lane + 2) as u64,
            warp::shuffle(warp::FULL, x as u32, lane * 3).into(),
            warp::shuffle(warp::FULL, x, lane * 5),
            wide as u64,
            (wide >> 64) as u64,
            warp::shuffle(warp::FULL, x as f32, 7).to_bits().into(),
            warp::shuffle_down(warp::FULL, x as f64, 16).to_bits(),
            mixed.a.into(),
            mixed.b.into(),
            mixed.c.into(),
            mixed.d,
            u64::from_le_bytes(bytes),
            seven
                .iter()
                .rev()
                .fold(0, |sum, &b| sum << 8 | u64::from(b)),
            warp::shuffle(warp::FULL, (x as u16, x as u16 >> 4), lane ^ 9)
                .1
                .into(),
            warp::shuffle_up(warp::FULL, x as i64, 31) as u64,
        ];
    }
}

/// Segments of eight lanes, and whether the source lane is in the segment.
#[kernel]
pub fn shuffle_segments(mut to: PerThread<[u64; 12]>) {
    for (i, to) in to.own() {
        let x = random(i as u32);
        let checked = |(value, inside): (u64, bool)| [value, inside.into()];
        let [a, b] = checked(warp::shuffle_checked::<8, _>(warp::FULL, x, 3));
        let [c, d] = checked(warp::shuffle_up_checked::<8, _>(warp::FULL, x, 3));
        let [e, f] = checked(warp::shuffle_down_checked::<8, _>(warp::FULL, x, 3));
        let [g, h] = checked(warp::shuffle_xor_checked::<8, _>(warp::FULL, x, 11));
        *to = [
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            warp::shuffle_in::<4, _>(warp::FULL, x, 2),
            warp::shuffle_up_in::<4, _>(warp::FULL, x, 1),
            warp::shuffle_down_in::<16, _>(warp::FULL, x, 15),
            warp::shuffle_xor_in::<2, _>(warp::FULL, x, 1),
        ];
    }
}

/// Votes and matches of the odd and of the even lanes.
#[kernel]
pub fn votes(mut to: PerThread<[u64; 16]>) {
    for (i, to) in to.own() {
        let x = random(i as u32);
        let lane = warp::lane_id();
        let odd = lane & 1 != 0;
        let mask = if odd { 0xaaaa_aaaa } else { 0x5555_5555 };
        let votes = |mask| {
            [
                warp::ballot(mask, x & 4 != 0).into(),
                warp::all(mask, odd || lane < 40).into(),
                warp::all(mask, lane != 6).into(),
                warp::any(mask, lane == 6).into(),
                warp::uniform(mask, odd).into(),
                warp::uniform(mask, lane == 6).into(),
                warp::match_any(mask, (x & 3) as u32).into(),
                warp::match_any(mask, x & 3 | 1 << 60).into(),
                warp::match_any(mask, u128::from(x & 3) << 70).into(),
                warp::match_all(mask, odd as u32).into(),
                warp::match_all(mask, u64::from(lane == 6) << 50).into(),
                warp::match_any(mask, (x & 1) as u8).into(),
            ]
        };
        let votes: [u64; 12] = if odd { votes(mask) } else { votes(mask) };
        warp::sync(warp::FULL);
        let full = warp::active_mask();
        warp::sync(warp::FULL);
        let half = if lane < 16 { warp::active_mask() } else { 0 };
        *to = core::array::from_fn(|k| match k {
            0..12 => votes[k],
            12 => full.into(),
            13 => half.into(),
            14 => u64::from(warp::lane_mask()) << 32 | u64::from(warp::lanes_below()),
            _ => {
                u64::from(warp::lanes_up_to()) << 32
                    | u64::from(warp::lanes_above() ^ warp::lanes_from().reverse_bits())
            }
        });
    }
}

/// For some lengths, the number of the lane's indices in a warp-stride loop, and the indices.
#[kernel]
pub fn strides(mut to: PerThread<[u64; 10]>) {
    for (_, to) in to.own() {
        for (k, len) in [0, 1, 31, 33, 100].into_iter().enumerate() {
            let mine = thread::warp_stride(len);
            to[2 * k] = mine.clone().count() as u64;
            to[2 * k + 1] = mine.fold(0, |all, i| all << 8 | i as u64);
        }
    }
}
