//! Shuffles, votes and matches: the expected results of each lane, computed from the lanes' inputs.

use crate::{Arch, per_thread, trial};
use cuda_std_tests_kernels::random;
use libtest_mimic::Trial;

/// Returns the trials.
pub fn trials() -> Vec<Trial> {
    vec![
        trial(Arch::Sm75, "warp::shuffle_types", |session, module| {
            per_thread(session, module, "shuffle_types", (2, 64), &[], types)
        }),
        trial(Arch::Sm75, "warp::shuffle_segments", |session, module| {
            per_thread(session, module, "shuffle_segments", (2, 64), &[], segments)
        }),
        trial(Arch::Sm75, "warp::votes", |session, module| {
            per_thread(session, module, "votes", (2, 64), &[], votes)
        }),
        trial(Arch::Sm75, "warp::strides", |session, module| {
            per_thread(session, module, "strides", (2, 64), &[], strides)
        }),
    ]
}

fn types(thread: u32) -> [u64; 16] {
    let (warp, lane) = (thread & !31, thread & 31);
    let of = |lane: u32| random(warp + lane % 32);
    let xor = of(lane ^ 5);
    let wide = of(31 - lane);
    let bytes = |lane: u32| of(if lane > 0 { lane - 1 } else { lane });
    let down = if lane + 2 < 32 { lane + 2 } else { lane };
    [
        (of(lane + 1) as u8).into(),
        of(lane + 2) as i16 as u64,
        (of(lane * 3) as u32).into(),
        of(lane * 5),
        !wide,
        wide,
        (of(7) as f32).to_bits().into(),
        (of(if lane < 16 { lane + 16 } else { lane }) as f64).to_bits(),
        (xor as u8).into(),
        (xor as u32).into(),
        xor & 1,
        xor,
        bytes(lane),
        bytes(down) & 0x00ff_ffff_ffff_ffff,
        (of(lane ^ 9) as u16 >> 4).into(),
        of(if lane == 31 { 0 } else { lane }),
    ]
}

fn segments(thread: u32) -> [u64; 12] {
    let (warp, lane) = (thread & !31, thread & 31);
    let of = |lane: u32| random(warp + lane);
    let (first, here) = (lane & !7, lane & 7);
    let if_inside =
        |other: u32, inside: bool| [of(if inside { other } else { lane }), inside.into()];
    let [a, b] = if_inside(first + 3, true);
    let [c, d] = if_inside(lane.wrapping_sub(3), here >= 3);
    let [e, f] = if_inside(lane + 3, here + 3 < 8);
    // Past the segment's end, `bfly` still reaches lower segments.
    let [g, h] = if_inside(lane ^ 11, (lane ^ 11) <= first + 7);
    let up = if lane % 4 >= 1 { lane - 1 } else { lane };
    let down = if lane % 16 == 0 { lane + 15 } else { lane };
    [
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        of((lane & !3) + 2),
        of(up),
        of(down),
        of(lane ^ 1),
    ]
}

fn votes(thread: u32) -> [u64; 16] {
    let (warp, lane) = (thread & !31, thread & 31);
    let odd = lane & 1 != 0;
    let mask = if odd { 0xaaaa_aaaa } else { 0x5555_5555u32 };
    let which = |f: &dyn Fn(u32) -> bool| -> u32 {
        (0..32)
            .filter(|&l| mask >> l & 1 != 0 && f(l))
            .map(|l| 1u32 << l)
            .sum()
    };
    let x = |lane: u32| random(warp + lane);
    let same = which(&|l| x(l) & 3 == x(lane) & 3);
    [
        which(&|l| x(l) & 4 != 0).into(),
        1,
        odd.into(),
        (!odd).into(),
        1,
        odd.into(),
        same.into(),
        same.into(),
        same.into(),
        1,
        odd.into(),
        which(&|l| x(l) & 1 == x(lane) & 1).into(),
        0xffff_ffff,
        if lane < 16 { 0xffff } else { 0 },
        1 << (lane + 32) | ((1u64 << lane) - 1),
        {
            let up_to = (1u64 << (lane + 1)) - 1;
            let (above, from) = (!(up_to as u32), !((1u64 << lane) - 1) as u32);
            up_to << 32 | u64::from(above ^ from.reverse_bits())
        },
    ]
}

fn strides(thread: u32) -> [u64; 10] {
    let mut expected = [0; 10];
    for (k, len) in [0, 1, 31, 33, 100].into_iter().enumerate() {
        let mine = (0..len).filter(|i| i % 32 == u64::from(thread % 32));
        expected[2 * k] = mine.clone().count() as u64;
        expected[2 * k + 1] = mine.fold(0, |all, i| all << 8 | i);
    }
    expected
}
