//! Barriers, fences, clocks, special registers and memory: the expected output of the kernels.

use crate::{Arch, Session, expect, per_thread, per_thread_argument, trial};
use cuda_std_tests_kernels::random;
use cust::prelude::*;
use libtest_mimic::{Failed, Trial};

/// Returns the trials.
pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            Arch::Sm75,
            "synchronization::barriers",
            |session, module| per_thread(session, module, "barriers", (2, 128), &[], barriers),
        ),
        trial(Arch::Sm75, "synchronization::produce", produce),
        trial(
            Arch::Sm75,
            "synchronization::time_and_fences",
            |session, module| {
                let expected = |_| [1, 1, 1, 1, 0, 0];
                per_thread(session, module, "time_and_fences", (1, 64), &[], expected)
            },
        ),
        trial(Arch::Sm75, "memory::spaces", |session, module| {
            let words: Vec<u64> = (0..64)
                .map(|i: u32| u64::from(2 * i) | u64::from(2 * i + 1) << 32)
                .collect();
            let from = words.as_dbuf()?;
            per_thread(session, module, "spaces", (2, 64), &[&from], |i| {
                let own = u64::from(i);
                [1, 2, 4, 1, 1, own + 7, own % 64, own + 1, 18, 1, 0, 0]
            })
        }),
        trial(Arch::Sm75, "memory::hints", |session, module| {
            let words: Vec<u64> = (0..256).map(random).collect();
            per_thread(
                session,
                module,
                "hints",
                (2, 64),
                &[&words.as_dbuf()?],
                hints,
            )
        }),
        trial(Arch::Sm75, "memory::two_statics", |session, module| {
            per_thread(session, module, "shared_two_statics", (2, 64), &[], |i| {
                let x = random(i / 64 * 64 + 63 - i % 64) as u32;
                [u64::from(if x & 1 != 0 { x } else { 1 }) << 32 | 2]
            })
        }),
        trial(Arch::Sm75, "options::bounded", |session, module| {
            per_thread(session, module, "bounded", (2, 128), &[], |i| [i.into()])?;
            match per_thread(session, module, "bounded", (2, 160), &[], |i| [i.into()]) {
                Err(_) => Ok(()),
                Ok(()) => Err("a block of more threads than the bound was launched".into()),
            }
        }),
        trial(Arch::Sm75, "special::registers", |session, module| {
            per_thread(session, module, "registers", (2, 64), &[], registers)
        }),
    ]
}

fn barriers(thread: u32) -> [u64; 12] {
    let (block, here) = (thread / 128 * 128, thread % 128);
    let odd = |t: u32| random(block + t) & 1 != 0;
    let count = |mut of: std::ops::Range<u32>| of.by_ref().filter(|&t| odd(t)).count() as u64;
    let all = count(0..128);
    let (first, half) = (here < 64, if here < 64 { 0..64 } else { 64..128 });
    [
        all,
        (all == 128).into(),
        (all > 0).into(),
        count(half),
        first.into(),
        first.into(),
        all,
        1,
        1,
        (all == 128).into(),
        0,
        0,
    ]
}

fn produce(session: &Session, module: &Module) -> Result<(), Failed> {
    let data = DeviceBuffer::<u32>::zeroed(32)?;
    let output = DeviceBuffer::<u32>::zeroed(64)?;
    let stream = &session.stream;
    // SAFETY: the kernel's parameters are a pointer to 32 words, and a word for each thread.
    unsafe {
        launch!(module.produce<<<1, 64, 0, stream>>>(
            data.as_device_ptr(),
            per_thread_argument(&output, 64)
        ))?;
    }
    stream.synchronize()?;
    let expected: Vec<u32> = (0..64)
        .map(|t| {
            if t < 32 {
                0
            } else {
                (0..4).map(|round| (63 - t) * 10 + round).sum()
            }
        })
        .collect();
    expect(output.as_host_vec()?, expected, "what the second warp read")
}

fn hints(thread: u32) -> [u64; 12] {
    let (low, high) = (random(2 * thread), random(2 * thread + 1));
    let words = [
        low as u32,
        (low >> 32) as u32,
        high as u32,
        (high >> 32) as u32,
    ];
    let sum = words
        .iter()
        .fold(0u64, |sum, &x| sum.wrapping_mul(31).wrapping_add(x.into()));
    let byte = |k: u32| u64::from((low >> (8 * k)) as u8);
    let bytes = byte(0) * 3 + byte(1) * 5 + byte(2);
    let (half, word) = (u64::from((low >> 16) as u16), u64::from(words[1]));
    [
        sum,
        sum,
        sum,
        sum,
        sum,
        sum,
        word + half,
        low.wrapping_add(bytes),
        half + bytes,
        sum,
        bytes + half + word,
        0,
    ]
}

fn registers(thread: u32) -> [u64; 10] {
    let here = thread % 64;
    [
        1,
        1,
        0,
        1,
        (here % 32).into(),
        32,
        thread.into(),
        (here / 32).into(),
        0,
        0,
    ]
}
