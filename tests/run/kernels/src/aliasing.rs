//! Writes through several mutable references at once, and in loops: optimizers rely on
//! their not aliasing, and libnvvm did so wrongly (see `SWITCHED_OFF` of the crate `nvvm`).

use crate::{cases, mix};
use alloc::vec::Vec;

/// A generator as rand_pcg's: its output is made of parts of a buffer.
#[derive(Clone)]
struct Source {
    state: u64,
}

impl Source {
    fn next(&mut self) -> u32 {
        self.state = self
            .state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.state >> 33) ^ self.state) as u32
    }

    fn fill(&mut self, mut to: &mut [u8]) {
        while to.len() >= 4 {
            let (head, tail) = { to }.split_at_mut(4);
            to = tail;
            head.copy_from_slice(&self.next().to_le_bytes());
        }
        let rest = to.len();
        to.copy_from_slice(&self.next().to_le_bytes()[..rest]);
    }
}

/// As a hash function's compression: a state and a block behind references.
#[inline(never)]
fn compress(state: &mut [u32; 8], block: &[u32; 16]) {
    for round in 0..4 {
        for (i, word) in block.iter().enumerate() {
            let (low, high) = state.split_at_mut(4);
            for (a, b) in low.iter_mut().zip(high.iter_mut()) {
                *a = a
                    .wrapping_add(*b)
                    .wrapping_add(*word)
                    .rotate_left(7 + round);
                *b ^= a.rotate_right(i as u32);
            }
            state.swap(i % 8, (i + 3) % 8);
        }
    }
}

fn quarter(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(16);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(12);
}

fn add_into(to: &mut [u64], from: &[u64], carry: &mut u64) {
    for (a, b) in to.iter_mut().zip(from) {
        let sum = u128::from(*a) + u128::from(*b) + u128::from(*carry);
        *a = sum as u64;
        *carry = (sum >> 64) as u64;
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Digits {
    used: usize,
    base: [u8; 3],
}

impl Digits {
    fn new(x: u8) -> Digits {
        Digits {
            used: 1,
            base: [x, 0, 0],
        }
    }

    /// As `Big8x3::add_small`: it returns what it was given.
    #[inline(never)]
    fn add(&mut self, by: u8) -> &mut Digits {
        let (sum, mut carry) = self.base[0].overflowing_add(by);
        self.base[0] = sum;
        let mut i = 1;
        while carry {
            let (sum, over) = self.base[i].overflowing_add(1);
            self.base[i] = sum;
            carry = over;
            i += 1;
        }
        self.used = self.used.max(i);
        self
    }
}

fn halves<'a>(x: &'a mut [i16], first: &mut usize) -> Option<(&'a mut i16, &'a mut [i16])> {
    *first += x.len();
    x.split_first_mut()
}

cases! {
    fn alias_filled_by_parts(i, record) {
        let mut source = Source { state: mix(i.into()) };
        let mut buffer = [0u8; 61];
        for len in [0, 1, 3, 4, 5, 16, 31, 61] {
            source.fill(&mut buffer[..len]);
            for part in buffer.chunks(8) {
                let mut word = [0; 8];
                word[..part.len()].copy_from_slice(part);
                record.put(u64::from_le_bytes(word));
            }
        }
        record.put(source.next());
    }

    fn alias_compression(i, record) {
        let mut state = [1u32, 2, 3, 4, 5, 6, 7, i];
        let mut block = [0u32; 16];
        for k in 0..3 {
            for (at, word) in block.iter_mut().enumerate() {
                *word = mix(u64::from(i) * 64 + at as u64 + k) as u32;
            }
            compress(&mut state, &block);
        }
        record.put(state);
    }

    fn alias_rounds(i, record) {
        let mut x: [u32; 16] = core::array::from_fn(|k| mix(u64::from(i) ^ k as u64) as u32);
        let start = x;
        for _ in 0..5 {
            for k in 0..4 {
                quarter(&mut x, k, 4 + k, 8 + k, 12 + k);
            }
            for k in 0..4 {
                quarter(&mut x, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4);
            }
        }
        for (a, b) in x.iter_mut().zip(&start) {
            *a = a.wrapping_add(*b);
        }
        record.put(x);
    }

    fn alias_carry(i, record) {
        let mut to: Vec<u64> = (0..9).map(|k| mix(u64::from(i) + k)).collect();
        let from = to.clone();
        let mut carry = 0;
        for shift in 0..4 {
            let (_, upper) = to.split_at_mut(shift);
            add_into(upper, &from[..from.len() - shift], &mut carry);
            record.put(carry);
        }
        for word in to {
            record.put(word);
        }
    }

    fn alias_returned_argument(i, record) {
        let i = i as u8;
        let add = |a: u8, b: u8| *Digits::new(a).add(b);
        let all = [
            add(i, 4), add(3, i), add(0, 3), add(7, 250), add(i, 255), add(200, 100), add(255, 1),
        ];
        for digits in all {
            record.put((digits.used, digits.base));
        }
        let mut chained = Digits::new(i);
        chained.add(100).add(100).add(100).add(i);
        record.put((chained.used, chained.base));
        assert_eq!(*Digits::new(3).add(4), Digits { used: 1, base: [7, 0, 0] });
        assert_eq!(*Digits::new(200).add(100), Digits { used: 2, base: [44, 1, 0] });
    }

    fn alias_captured(i, record) {
        let (mut sum, mut last, mut seen) = (0i64, 0i8, Vec::new());
        {
            let mut take = |x: i8| {
                sum += i64::from(x) * i64::from(last);
                last = x.wrapping_sub(last);
                seen.push((x, last));
                last
            };
            for k in 0..7 {
                take((i as i8).wrapping_mul(k).wrapping_add(3));
            }
            let by_reference: &mut dyn FnMut(i8) -> i8 = &mut take;
            by_reference(5);
            by_reference(-128);
        }
        record.put((sum, last));
        for (a, b) in seen {
            record.put((a, b));
        }
    }

    fn alias_peeled(i, record) {
        let mut x: [i16; 9] = core::array::from_fn(|k| mix(u64::from(i) + k as u64) as i16);
        let mut rest = &mut x[..];
        let mut lengths = 0;
        while let Some((first, others)) = halves(rest, &mut lengths) {
            for other in others.iter_mut() {
                *other = other.wrapping_add(*first);
                *first ^= *other;
            }
            rest = others;
        }
        record.put(lengths);
        record.put(x);
    }

    fn alias_swapped_and_rotated(i, record) {
        let mut rows: [[u16; 5]; 4] = core::array::from_fn(|r| {
            core::array::from_fn(|c| mix(u64::from(i) * 20 + (r * 5 + c) as u64) as u16)
        });
        let (top, bottom) = rows.split_at_mut(2);
        for (a, b) in top.iter_mut().zip(bottom) {
            core::mem::swap(&mut a[1], &mut b[3]);
            a.rotate_left(2);
            for (x, y) in a.iter_mut().zip(b.iter_mut().rev()) {
                (*x, *y) = (y.wrapping_sub(*x), *x);
            }
        }
        for [a, .., b] in &mut rows {
            core::mem::swap(a, b);
        }
        for row in rows {
            record.put(row);
        }
    }
}
