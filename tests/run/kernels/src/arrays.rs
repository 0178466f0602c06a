//! Arrays: nested, large, by value, in structs, indexed at run time.

use crate::{cases, mix};

#[derive(Clone, Copy)]
struct Board([[i8; 8]; 8]);

impl Board {
    fn new(seed: u64) -> Self {
        Self(core::array::from_fn(|y| {
            core::array::from_fn(|x| (mix(seed + (y * 8 + x) as u64) % 2) as i8)
        }))
    }

    fn step(&self) -> Self {
        let mut next = *self;
        for y in 0..8 {
            for x in 0..8 {
                let mut neighbors = 0;
                for dy in [7, 0, 1] {
                    for dx in [7, 0, 1] {
                        if (dx, dy) != (0, 0) {
                            neighbors += self.0[(y + dy) % 8][(x + dx) % 8];
                        }
                    }
                }
                next.0[y][x] = matches!((self.0[y][x], neighbors), (1, 2) | (_, 3)) as i8;
            }
        }
        next
    }

    fn bits(&self) -> u64 {
        self.0
            .iter()
            .flatten()
            .fold(0, |bits, cell| bits << 1 | *cell as u64)
    }
}

#[inline(never)]
fn by_value(mut array: [u32; 32], i: u32) -> [u32; 32] {
    for k in 0..32 {
        array[k] = array[(k + i as usize) % 32] ^ k as u32;
    }
    array
}

struct Axis {
    at: u32,
    step: u32,
}

impl Axis {
    fn advance(&mut self) -> u32 {
        let before = self.at;
        self.at += self.step;
        before
    }
}

cases! {
    fn array_life(i, record) {
        let mut board = Board::new(i.into());
        for _ in 0..5 {
            board = board.step();
            record.put(board.bits());
        }
    }

    fn array_by_value(i, record) {
        let array = by_value([i; 32], i);
        record.put(by_value(array, 3));
    }

    fn array_methods(i, record) {
        let a = [i, 2, 3].map(|x| u64::from(x) * 3);
        record.put(a);
        record.put((a.len(), a.contains(&6), a.iter().rev().copied().next()));
        record.put([a, a].concat().len());
        record.put([[1, 2], [3, i]].as_flattened());
        let mut boxed = alloc::vec![[0u16; 3]; 4];
        boxed[i as usize % 4][2] = 5;
        record.put(boxed.as_flattened());
        let [x, y, z] = a;
        record.put(x + y * z);
        record.put(a.each_ref().map(|x| *x + 1));
    }

    fn array_tables(i, record) {
        const SQUARES: [u32; 20] = {
            let mut table = [0; 20];
            let mut k = 0;
            while k < 20 {
                table[k] = (k * k) as u32;
                k += 1;
            }
            table
        };
        record.put(SQUARES[i as usize % 20]);
        record.put(crc(&i.to_le_bytes()));
        let mut sieve = [true; 120];
        for n in 2..11 {
            if sieve[n] {
                (n * n..120).step_by(n).for_each(|m| sieve[m] = false);
            }
        }
        record.put(sieve.iter().skip(2).filter(|prime| **prime).count());
    }

    fn array_empty(i, record) {
        let none: [u64; 0] = [];
        record.put((none.len(), none.iter().max().copied(), none == []));
        let units = [(); 5];
        record.put(units.iter().enumerate().map(|(k, ())| k as u32 * i).sum::<u32>());
    }

    // References to several variables meet, and what they refer to changes.
    fn array_element_chosen(i, record) {
        let mut axes = [Axis { at: i, step: 3 }, Axis { at: i / 2, step: 5 }, Axis { at: 40, step: 7 }];
        let mut others = (0u64, [i, 1]);
        for round in 0..20 {
            let [x, y, z] = &mut axes;
            let nearest = if x.at <= y.at && x.at <= z.at {
                x
            } else if y.at <= z.at {
                y
            } else {
                z
            };
            record.put(nearest.advance());
            let which = mix(u64::from(i) ^ round) % 3;
            let word = match which {
                0 => &mut others.1[0],
                1 => &mut others.1[1],
                _ => &mut axes[1].at,
            };
            *word = word.wrapping_add(2);
            others.0 += u64::from(*word) << which;
        }
        record.put(others.0);
        record.put(&others.1[..]);
        axes.iter().for_each(|axis| record.put(axis.at));
    }

    // The loops end after a number of iterations known only at run time, at most one per element.
    fn array_visited_in_part(i, record) {
        let len = core::hint::black_box(i as usize % 11);
        let mut values: [u32; 8] = core::array::from_fn(|k| mix(i as u64 + k as u64) as u32);
        let mut to = [0; 12];
        let mut slots = core::hint::black_box(&mut to[..]).iter_mut();
        for (to, &value) in slots.by_ref().take(len).zip(&values) {
            *to = value;
        }
        record.put(slots.len() as u64);
        record.put(&to[..]);
        let limit = core::hint::black_box(u32::MAX / 4 * 3);
        let first = values.iter().position(|&value| value > limit);
        record.put(first.map(|k| k as u64));
        let mut k = 0;
        while k < 8 && k < len {
            values[k] = values[k].rotate_left(k as u32) ^ to[(k * 5) % 12];
            k += 1;
        }
        record.put(k as u64);
        let mut k = 7;
        while k > 0 && values[k - 1] > values[k] {
            values.swap(k - 1, k);
            k -= 1;
        }
        record.put(k as u64);
        record.put(&values[..]);
    }
}

/// CRC-32 with a table computed when compiling.
fn crc(bytes: &[u8]) -> u32 {
    static TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let mut value = i as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    0xedb8_8320 ^ value >> 1
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, byte| {
        TABLE[(crc as u8 ^ byte) as usize] ^ crc >> 8
    })
}
