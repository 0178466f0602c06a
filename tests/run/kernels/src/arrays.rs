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

    fn array_stepped_zips(i, record) {
        let a: [u32; 70] = core::array::from_fn(|k| k as u32 * i + 1);
        let b: [u16; 64] = core::array::from_fn(|k| (k as u32 ^ i) as u16);
        let len = i as usize % 65;
        for skip in [0, 1, 5, len / 2, len, len + 3] {
            let pairs = || a[..len + 1].iter().zip(&b[..len]);
            let product = |(&a, &b): (&u32, &u16)| a.wrapping_mul(b.into());
            record.put(pairs().skip(skip).step_by(8).map(product).fold(0, u32::wrapping_add));
            record.put(pairs().skip(skip).step_by(1).map(product).fold(0, u32::wrapping_add));
            record.put(pairs().skip(skip).step_by(len.max(1)).map(product).fold(0, u32::wrapping_add));
            record.put(a[..len].iter().skip(skip).step_by(4).fold(skip as u32, |x, y| x.rotate_left(3) ^ y));
        }
        let mut pairs = a.iter().zip(&b[..len]);
        let mut nth = |n| pairs.nth(n).map(|(&a, &b)| (a, b));
        record.put((nth(len / 3), nth(0), nth(usize::MAX - 1), nth(1)));
    }

    fn array_in_the_order_of_a_table(i, record) {
        const ORDER: [[u8; 6]; 3] = [[0, 1, 2, 3, 4, 5], [3, 5, 1, 0, 2, 4], [5, 5, 0, 1, 4, 2]];
        let words: [u32; 6] = core::array::from_fn(|k| i.rotate_left(k as u32 * 5) ^ k as u32);
        let mut state = [i, !i];
        for round in 0..7 {
            for pair in ORDER[round % 3].chunks_exact(2) {
                state[0] = state[0].rotate_left(7).wrapping_add(words[pair[0] as usize]);
                state[1] ^= state[0].wrapping_mul(words[pair[1] as usize] | 1);
            }
        }
        record.put((state[0], state[1]));
    }

    fn array_of_sets(i, record) {
        let rows: [u16; 24] = core::array::from_fn(|k| (0x3ff_u32 ^ (i * 7 + k as u32 * (i & 3)) << (k % 5)) as u16);
        let (mut covered, mut full, mut bad, mut product) = (0u16, 0u16, 0u32, 1u16);
        for &row in rows.iter().rev() {
            if row & 0x3ff == 0x3ff {
                full += 1;
                continue;
            }
            let holes = covered & !row;
            covered |= row << (i & 7);
            product = product.wrapping_mul(row | 1).wrapping_sub(covered);
            let steps = (covered ^ covered >> 1) & 0x1ff;
            bad += 51 * covered.count_ones() + 36 * holes.count_ones() + 18 * steps.count_ones();
            if (product as i16) < 0 && covered == product >> 3 {
                break;
            }
        }
        record.put((covered, full, bad));
        record.put((product, i32::from(product as i16), covered > product, (covered as i16) < (product as i16)));
    }

    fn array_searched_and_parsed(i, record) {
        let bytes: [u8; 40] = core::array::from_fn(|k| match (k as u32 * 37 + i * 11) % 19 {
            0 => b':',
            digit => b'0' + (digit % 10) as u8,
        });
        let bytes = &bytes[..i as usize % 40];
        let mut end = bytes.len();
        let mut k = 0;
        while k + 1 < bytes.len() {
            if bytes[k] == b':' && bytes[k + 1] != b'3' {
                end = k;
                break;
            }
            k += 1;
        }
        let (mut value, mut valid) = (u64::from(i), true);
        if end > 0 {
            for &byte in &bytes[..end] {
                if byte == b':' {
                    valid = false;
                    break;
                }
                value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                value ^= value.rotate_left(i % 13);
                value = value.wrapping_mul(0x9e37_79b9).rotate_right(9) ^ u64::from(byte);
                value = value.wrapping_add(value >> 7).wrapping_mul(5) ^ value << 3;
            }
        }
        record.put((end, value, valid));
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
