//! Products of fragments that only the hardware knows.

use crate::{Needs, compare, trial};
use libtest_mimic::Trial;
use tensor_tests_kernels::wmma::{CASES_75, CASES_90, Case, PART};

/// Puts a matrix into memory, row after row or column after column.
fn lay(to: &mut [u8], matrix: &[u64], columns: usize, bytes: usize, rows: bool) {
    let height = matrix.len() / columns;
    for (index, value) in matrix.iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let place = if rows { index } else { column * height + row };
        to[place * bytes..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

fn input(number: usize, case: &Case, matrices: &[Vec<u64>; 4]) -> Vec<u32> {
    let [_, n, k] = case.sides;
    let mut bytes = vec![0u8; 128 + 3 * PART];
    bytes[0] = number as u8;
    let (a, rest) = bytes[128..].split_at_mut(PART);
    let (b, c) = rest.split_at_mut(PART);
    lay(a, &matrices[0], k, case.bytes[0], case.rows[0]);
    lay(b, &matrices[1], n, case.bytes[0], case.rows[1]);
    lay(c, &matrices[2], n, case.bytes[1], true);
    bytes
        .chunks(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

pub fn trials() -> Vec<Trial> {
    let both = [
        (Needs::Sm75, "wmma_75", CASES_75),
        (Needs::Sm90a, "wmma_90", CASES_90),
    ];
    let mut trials = Vec::new();
    for (needs, kernel, cases) in both {
        for (number, case) in cases.iter().enumerate() {
            trials.push(trial(
                needs,
                format!("wmma {}", case.name),
                move |session| {
                    let matrices = (case.matrices)(case.sides);
                    let input = input(number, case, &matrices);
                    let bytes = case.bytes[1];
                    let words = matrices[3].len() * bytes / 4;
                    let words = session.run(needs, kernel, (1, 32, 0), &input, words)?;
                    let found: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                    let found: Vec<u64> = found
                        .chunks(bytes)
                        .map(|part| {
                            let mut value = [0; 8];
                            value[..bytes].copy_from_slice(part);
                            u64::from_le_bytes(value)
                        })
                        .collect();
                    compare(&found, &matrices[3])
                },
            ));
        }
    }
    trials
}
