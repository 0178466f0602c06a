//! Features that require `sm_80`, `sm_90` or `sm_100`: the expected output of the kernels.

use crate::{Arch, per_thread, trial};
use cuda_std_tests_kernels::random;
use cust::prelude::*;
use libtest_mimic::Trial;

/// Returns the trials.
pub fn trials() -> Vec<Trial> {
    vec![
        trial(Arch::Sm90, "newer::reductions", |session, module| {
            per_thread(session, module, "reductions", (2, 64), &[], reductions)
        }),
        trial(Arch::Sm90, "newer::policies", |session, module| {
            let words: Vec<u64> = (0..128).map(random).collect();
            per_thread(
                session,
                module,
                "policies",
                (2, 64),
                &[&words.as_dbuf()?],
                |i| {
                    let x = random(i);
                    [x, x >> 32 & 0xffff, x & 0xffff_ffff, x & 0xff, x, x, x, x]
                },
            )
        }),
        trial(Arch::Sm90, "newer::zeros", |session, module| {
            per_thread(session, module, "zeros", (2, 64), &[], |i| {
                [u64::from(i % 64 < 8 || i % 64 >= 56) * random(i)]
            })
        }),
        trial(Arch::Sm90, "newer::in_clusters", |session, module| {
            per_thread(session, module, "in_clusters", (4, 64), &[], |i| [i.into()])?;
            per_thread(session, module, "in_small_clusters", (4, 64), &[], |i| {
                [i.into()]
            })
        }),
        trial(Arch::Sm90, "newer::clusters", |session, module| {
            per_thread(session, module, "clusters", (3, 32), &[], |i| {
                [0, 1, (i / 32).into(), 3, 0, 1, 0, 1]
            })
        }),
    ]
}

fn reductions(thread: u32) -> [u64; 10] {
    let warp = thread & !31;
    let lanes = (0..32).filter(|lane| lane & 1 == thread & 1);
    let values: Vec<u32> = lanes.map(|lane| random(warp + lane) as u32).collect();
    let all = |start: u32, f: &dyn Fn(u32, u32) -> u32| {
        u64::from(values.iter().fold(start, |a, &b| f(a, b)))
    };
    let signed = values.iter().map(|&x| x as i32);
    [
        all(0, &u32::wrapping_add),
        all(u32::MAX, &Ord::min),
        all(0, &Ord::max),
        all(u32::MAX, &|a, b| a & (b | 0xff00)),
        all(0, &|a, b| a | b & 0xff00),
        all(0, &|a, b| a ^ b),
        signed.clone().fold(0, i32::wrapping_add) as u64,
        signed.clone().min().unwrap_or(0) as u64,
        signed.max().unwrap_or(0) as u64,
        (thread % 32 < 2).into(),
    ]
}
