//! Products of the faces that know their fragments.

use crate::{Needs, compare, trial, wide};
use libtest_mimic::Trial;
use tensor_tests_kernels::products::{CASES_75, CASES_90};

pub fn trials() -> Vec<Trial> {
    let both = [
        (Needs::Sm75, "products_75", CASES_75),
        (Needs::Sm90a, "products_90", CASES_90),
    ];
    let mut trials = Vec::new();
    for (needs, kernel, cases) in both {
        for (number, &(name, expected)) in cases.iter().enumerate() {
            trials.push(trial(needs, format!("mma {name}"), move |session| {
                let expected = expected();
                let input = [number as u32];
                let words = session.run(needs, kernel, (1, 32, 0), &input, expected.len() * 2)?;
                compare(&wide(&words), &expected)
            }));
        }
    }
    trials
}
