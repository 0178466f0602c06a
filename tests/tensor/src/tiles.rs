//! Matrices between registers and shared memory, and products whose fragments the test lays out
//! itself: those of eight threads, and sparse ones.

use crate::{Needs, Session, compare, trial};
use libtest_mimic::{Failed, Trial};
use tensor_tests_kernels::tiles::{LOADED, loaded};
use tensor_tests_kernels::values::{Value, hash};

use cuda_std::half::{Bf16, F16};
use cuda_std::matrix::I4;
use cuda_std::minifloat::E4m3;

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial(Needs::Sm75, "ldmatrix", load),
        trial(Needs::Sm75, "movmatrix", transpose),
        trial(Needs::Sm90a, "stmatrix", |session| store(session, false)),
        trial(Needs::Sm90a, "stmatrix transposed", |session| {
            store(session, true)
        }),
    ];
    for case in 0..4 {
        let name = format!("mma m8n8k4 {case}");
        trials.push(trial(Needs::Sm75, name, move |session| {
            quad_pairs(session, case)
        }));
    }
    for (number, sparse) in SPARSE.iter().enumerate() {
        trials.push(trial(
            Needs::Sm90a,
            format!("mma.sp {}", sparse.name),
            move |session| sparse.check(session, number as u32),
        ));
    }
    trials
}

fn load(session: &Session) -> Result<(), Failed> {
    let found = session.run(Needs::Sm75, "load_matrices", (1, 32, 0), &[], 32 * LOADED)?;
    let mut expected = Vec::new();
    for lane in 0..32 {
        for transposed in [false, true] {
            for count in [1, 2, 4] {
                expected.extend((0..count).map(|matrix| loaded(matrix, lane, transposed)));
            }
        }
    }
    compare(&found, &expected)
}

fn transpose(session: &Session) -> Result<(), Failed> {
    let found = session.run(Needs::Sm75, "move_matrix", (1, 32, 0), &[], 32)?;
    let expected: Vec<u32> = (0..32).map(|lane| loaded(0, lane, true)).collect();
    compare(&found, &expected)
}

fn store(session: &Session, transposed: bool) -> Result<(), Failed> {
    let input = [u32::from(transposed)];
    let found = session.run(Needs::Sm90a, "store_matrices", (1, 32, 0), &input, 256)?;
    compare(&found, &(0..256).collect::<Vec<u32>>())
}

/// Four products of 8×4 by 4×8 halves.
fn quad_pairs(session: &Session, case: u32) -> Result<(), Failed> {
    let (a_column, b_row) = (case >= 2, case % 2 == 0);
    let a = |product: usize, row, k| F16::by_chance(hash(product as u32, row, k));
    let b = |product: usize, k, column| F16::by_chance(hash(product as u32 + 8, k, column));
    let c = |product: usize, row, column| f32::by_chance(hash(product as u32 + 16, row, column));
    let place = |lane: usize, i: usize| {
        let row = (lane & 1) + (i & 2) + lane / 16 * 4;
        (row, (i & 4) + (lane & 2) + (i & 1))
    };
    let (mut input, mut expected) = (Vec::new(), Vec::new());
    for lane in 0..32usize {
        let (product, inner, high) = (lane >> 2 & 3, lane % 4, lane / 16 * 4);
        let pack = |element: &dyn Fn(usize) -> F16| {
            let pair =
                |i| u32::from(element(i).to_bits()) | u32::from(element(i + 1).to_bits()) << 16;
            [pair(0), pair(2)]
        };
        input.extend(pack(&|i| {
            if a_column {
                a(product, i + high, inner)
            } else {
                a(product, inner + high, i)
            }
        }));
        input.extend(pack(&|i| {
            if b_row {
                b(product, inner, i + high)
            } else {
                b(product, i, inner + high)
            }
        }));
        for i in 0..8 {
            let (row, column) = place(lane, i);
            input.push(c(product, row, column).to_bits());
            let sum: f32 = (0..4)
                .map(|k| a(product, row, k).to_f32() * b(product, k, column).to_f32())
                .sum();
            expected.push((sum + c(product, row, column)).to_bits());
        }
    }
    input.push(case);
    let found = session.run(Needs::Sm75, "quad_pairs", (1, 32, 0), &input, 256)?;
    compare(&found, &expected)
}

/// A sparse product: its `k`, the bits of an element, and which threads have the metadata.
struct Sparse {
    name: &'static str,
    k: usize,
    bits: usize,
    selector: usize,
    integer: bool,
    element: fn(u32) -> (u64, i64),
}

fn of<T: Value>(hash: u32) -> (u64, i64) {
    let x = T::by_chance(hash);
    let whole = x.whole();
    (x.bits(), whole)
}

/// A signed byte or half of one: its number, and the bits that hold it.
fn byte(hash: u32) -> (u64, i64) {
    (u64::from(hash as u8), i64::from(hash as i8))
}

fn nibble(hash: u32) -> (u64, i64) {
    (u64::from(hash & 15), i64::from(I4::new(hash as i8).get()))
}

#[rustfmt::skip]
const SPARSE: &[Sparse] = &[
    Sparse { name: "f16 k16 0", k: 16, bits: 16, selector: 0, integer: false, element: of::<F16> },
    Sparse { name: "f16 k16 3", k: 16, bits: 16, selector: 3, integer: false, element: of::<F16> },
    Sparse { name: "bf16 k32 0", k: 32, bits: 16, selector: 0, integer: false, element: of::<Bf16> },
    Sparse { name: "bf16 k32 1", k: 32, bits: 16, selector: 1, integer: false, element: of::<Bf16> },
    Sparse { name: "tf32 k8 2", k: 8, bits: 32, selector: 2, integer: false, element: of::<f32> },
    Sparse { name: "tf32 k16 1", k: 16, bits: 32, selector: 1, integer: false, element: of::<f32> },
    Sparse { name: "s8 k32 1", k: 32, bits: 8, selector: 1, integer: true, element: byte },
    Sparse { name: "s8 k64", k: 64, bits: 8, selector: 0, integer: true, element: byte },
    Sparse { name: "e4m3 k64", k: 64, bits: 8, selector: 0, integer: false, element: of::<E4m3> },
    Sparse { name: "s4 k64 0", k: 64, bits: 4, selector: 0, integer: true, element: nibble },
    Sparse { name: "s4 k128", k: 128, bits: 4, selector: 0, integer: true, element: nibble },
];

impl Sparse {
    /// Units that an index counts: an element, two of 4 bits, or half of one of 32 bits.
    fn units(&self) -> usize {
        match self.bits {
            4 => self.k / 4,
            32 => self.k,
            _ => self.k / 2,
        }
    }

    /// The index of a stored unit among its four, ascending in each pair.
    fn index(&self, row: usize, unit: usize) -> usize {
        if self.bits == 32 {
            // The halves of an element go together.
            let upper = hash(31, row, unit / 2) as usize & 1;
            return upper * 2 + unit % 2;
        }
        const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
        PAIRS[hash(32, row, unit / 2) as usize % 6][unit % 2]
    }

    /// The column of a stored element.
    fn column(&self, row: usize, stored: usize) -> usize {
        match self.bits {
            4 => stored / 4 * 8 + self.index(row, stored / 2) * 2 + stored % 2,
            32 => stored * 2 + self.index(row, stored * 2) / 2,
            _ => stored / 2 * 4 + self.index(row, stored),
        }
    }

    fn metadata(&self, lane: usize) -> u32 {
        let (quad, inner) = (lane / 4, lane % 4);
        let indices = |row: usize, first: usize, count: usize| {
            (0..count).fold(0u32, |word, i| {
                word | (self.index(row, first + i) as u32) << (2 * i)
            })
        };
        if self.bits >= 16 {
            // 16 bits for each of two rows; as many threads of four as that takes.
            let threads = self.units() / 8;
            let first = self.selector * threads;
            if !(first..first + threads).contains(&inner) {
                return 0x4444_4444;
            }
            let first = (inner - first) * 8;
            indices(quad, first, 8) | indices(quad + 8, first, 8) << 16
        } else {
            // 32 bits for one row, and the next thread has those of the other.
            let threads = self.units() / 8;
            let first = self.selector * threads;
            if !(first..first + threads).contains(&inner) {
                return 0x4444_4444;
            }
            let place = inner - first;
            indices(quad + place % 2 * 8, place / 2 * 16, 16)
        }
    }

    fn check(&self, session: &Session, case: u32) -> Result<(), Failed> {
        let each = (32 / self.bits).max(1);
        let a = |row, stored| (self.element)(hash(33, row, stored));
        let b = |k, column| (self.element)(hash(34, k, column));
        let mut input = Vec::new();
        for lane in 0..32 {
            let (quad, inner) = (lane / 4, lane % 4);
            let mut fragment = [0u32; 8];
            for register in 0..4 {
                for part in 0..each {
                    let (row, stored) = (
                        quad + register % 2 * 8,
                        (register / 2 * 4 + inner) * each + part,
                    );
                    if stored < self.k / 2 {
                        fragment[register] |= (a(row, stored).0 as u32) << (part * self.bits);
                    }
                    let k = (register * 4 + inner) * each + part;
                    if k < self.k {
                        fragment[4 + register] |= (b(k, quad).0 as u32) << (part * self.bits);
                    }
                }
            }
            input.extend(fragment);
            input.push(self.metadata(lane));
        }
        input.push(case);
        let found = session.run(Needs::Sm90a, "sparse", (1, 32, 0), &input, 128)?;
        let mut expected = Vec::new();
        for lane in 0..32 {
            for i in 0..4 {
                let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
                let sum: i64 = (0..self.k / 2)
                    .map(|stored| a(row, stored).1 * b(self.column(row, stored), column).1)
                    .sum();
                expected.push(if self.integer {
                    sum as u32
                } else {
                    (sum as f32).to_bits()
                });
            }
        }
        compare(&found, &expected)
    }
}
