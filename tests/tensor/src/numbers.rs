//! Functions that host and device have in common.

use crate::{Needs, compare, trial, wide};
use libtest_mimic::Trial;
use tensor_tests_kernels::numbers::{self, THREADS, WORDS};

type Function = fn(usize, &mut dyn FnMut(u64));

pub fn trials() -> Vec<Trial> {
    let functions: [(&str, Function); 4] = [
        ("number_f16", |thread, put| numbers::f16(thread, put)),
        ("number_bf16", |thread, put| numbers::bf16(thread, put)),
        ("number_tiny", |thread, put| numbers::tiny(thread, put)),
        ("number_random", |thread, put| numbers::random(thread, put)),
    ];
    let mut trials = Vec::new();
    for (kernel, function) in functions {
        for needs in [Needs::Sm75, Needs::Sm90a] {
            trials.push(trial(
                needs,
                format!("{kernel} {needs:?}"),
                move |session| {
                    let blocks = (THREADS / 64) as u32;
                    let words =
                        session.run(needs, kernel, (blocks, 64, 0), &[], THREADS * WORDS * 2)?;
                    let found = wide(&words);
                    for thread in 0..THREADS {
                        let mut expected = Vec::new();
                        function(thread, &mut |bits| expected.push(bits));
                        if expected.len() > WORDS {
                            return Err(format!("{} words", expected.len()).into());
                        }
                        compare(&found[thread * WORDS..][..expected.len()], &expected).map_err(
                            |error| format!("thread {thread}: {}", error.message().unwrap_or("")),
                        )?;
                    }
                    Ok(())
                },
            ));
        }
    }
    trials
}
