//! Rows of the table by themselves.

use crate::{Needs, trial, wide};
use libtest_mimic::Trial;
use tensor_tests_kernels::intrinsics_table::{self as rows, THREADS};

type Reference = fn(usize) -> Vec<u64>;

pub fn trials() -> Vec<Trial> {
    use Needs::{Sm75, Sm90a};
    let integers = (rows::INTEGER_NAMES, rows::integers as Reference);
    let videos = (rows::VIDEO_NAMES, rows::videos as Reference);
    let floats = (rows::FLOAT_NAMES, rows::floats as Reference);
    let lanes = (rows::LANE_NAMES, rows::lanes_of as Reference);
    let roundings = (rows::ROUNDING_NAMES, rows::roundings as Reference);
    let newer = (rows::NEWER_NAMES, rows::newer as Reference);
    [
        (Sm75, "rows_integer", integers),
        (Sm90a, "rows_integer", integers),
        (Sm75, "rows_video", videos),
        (Sm90a, "rows_video", videos),
        (Sm75, "rows_float", floats),
        (Sm90a, "rows_float", floats),
        (Sm75, "rows_lanes", lanes),
        (Sm90a, "rows_lanes", lanes),
        (Sm75, "rows_rounding", roundings),
        (Sm90a, "rows_rounding", roundings),
        (Sm90a, "rows_newer", newer),
    ]
    .into_iter()
    .map(|(needs, kernel, (names, reference))| {
        trial(needs, format!("{kernel} {needs:?}"), move |session| {
            let size = THREADS * names.len() * 2;
            let shape = ((THREADS / 64) as u32, 64, 0);
            let found = wide(&session.run(needs, kernel, shape, &[], size)?);
            let mut wrong: Vec<(&str, usize, u64, u64)> = Vec::new();
            for thread in 0..THREADS {
                let expected = reference(thread);
                let found = &found[thread * names.len()..];
                for (case, name) in names.iter().enumerate() {
                    if found[case] != expected[case]
                        && !wrong.iter().any(|(known, ..)| known == name)
                    {
                        wrong.push((*name, thread, found[case], expected[case]));
                    }
                }
            }
            if wrong.is_empty() {
                return Ok(());
            }
            let lines = wrong.iter().map(|(name, thread, found, expected)| {
                format!("{name}, thread {thread}: {found:#x}, not {expected:#x}")
            });
            Err(lines.collect::<Vec<_>>().join("\n").into())
        })
    })
    .collect()
}
