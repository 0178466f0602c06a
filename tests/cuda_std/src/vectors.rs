//! Vector types: each thread's results equal the host's.

use crate::{Arch, per_thread, trial};
use cuda_std_tests_kernels::random;
use cuda_std_tests_kernels::vectors::operations;
use cust::prelude::*;
use libtest_mimic::Trial;

/// Returns the trials.
pub fn trials() -> Vec<Trial> {
    vec![
        trial(Arch::Sm75, "vectors::operations", |session, module| {
            per_thread(
                session,
                module,
                "vector_operations",
                (2, 64),
                &[],
                operations,
            )
        }),
        trial(Arch::Sm75, "vectors::views", |session, module| {
            let from: Vec<u64> = (0..256).map(random).collect();
            let from = from.as_dbuf()?;
            per_thread(session, module, "vector_views", (2, 64), &[&from], views)
        }),
    ]
}

fn views(thread: u32) -> [u64; 5] {
    let next = (thread + 1) % 64;
    [
        random(2 * thread),
        random(2 * thread + 1),
        4,
        u64::from((thread ^ 5) + 6),
        (2 * next).into(),
    ]
}
