//! Products of four warps.

use crate::{Needs, compare, trial};
use cuda_std::half::F16;
use libtest_mimic::Trial;
use tensor_tests_kernels::values::hash;
use tensor_tests_kernels::wgmma::{CASES, Case};

fn expected(case: &Case) -> Vec<u32> {
    let element = |row: usize, column: usize| -> u32 {
        let sum: i64 = (0..case.k)
            .map(|k| {
                (case.elements[0])(hash(1, row, k)).1 * (case.elements[1])(hash(2, column, k)).1
            })
            .sum();
        // The product is added twice.
        let sum = if case.negated { -2 * sum } else { 2 * sum };
        match (case.integer, case.half) {
            (true, _) => sum as u32,
            (false, true) => F16::from_f32(sum as f32).to_bits().into(),
            (false, false) => (sum as f32).to_bits(),
        }
    };
    let mut words = Vec::new();
    for thread in 0..128 {
        let place = |index| cuda_std::wgmma::position(thread, index);
        let count = case.n / 2;
        if case.half {
            for pair in 0..count / 2 {
                let [low, high] = [2 * pair, 2 * pair + 1].map(|index| {
                    let (row, column) = place(index);
                    element(row, column)
                });
                words.push(low | high << 16);
            }
        } else {
            words.extend((0..count).map(|index| {
                let (row, column) = place(index);
                element(row, column)
            }));
        }
    }
    words
}

pub fn trials() -> Vec<Trial> {
    let trials = CASES.iter().enumerate().map(|(number, case)| {
        trial(Needs::Sm90a, case.name, move |session| {
            let expected = expected(case);
            let input = [number as u32];
            let shape = (1, 128, 0);
            let found = session.run(
                Needs::Sm90a,
                "group_products",
                shape,
                &input,
                expected.len(),
            )?;
            compare(&found, &expected)
        })
    });
    trials.collect()
}
