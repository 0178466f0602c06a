//! Iterators: adapters, chains, `dyn` and hand-written ones.

use crate::{Record, cases, mix};
use alloc::boxed::Box;
use alloc::vec::Vec;

fn numbers(i: u32) -> [i32; 16] {
    core::array::from_fn(|k| (mix(u64::from(i) * 31 + k as u64) % 201) as i32 - 100)
}

struct Collatz(u64);

struct Hash(u32);

impl Hash {
    fn add(&mut self, x: i32) {
        self.0 = (self.0 ^ x as u32).wrapping_mul(0x0100_0193).rotate_left(5);
    }
}

impl Iterator for Collatz {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.0 == 1 {
            return None;
        }
        self.0 = if self.0 % 2 == 0 {
            self.0 / 2
        } else {
            3 * self.0 + 1
        };
        Some(self.0)
    }
}

fn primes() -> impl Iterator<Item = u32> {
    (2..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0))
}

fn chosen(kind: u32, numbers: &[i32]) -> Box<dyn Iterator<Item = i32> + '_> {
    match kind % 3 {
        0 => Box::new(numbers.iter().copied()),
        1 => Box::new(numbers.iter().rev().map(|x| x * 2)),
        _ => Box::new(numbers.chunks(3).flat_map(|c| c.iter().copied().take(2))),
    }
}

cases! {
    fn iterator_adapters(i, record) {
        let n = numbers(i);
        for x in n.iter().zip(&n[3..]).map(|(a, b)| a * b) {
            record.put(x);
        }
        for x in n.iter().step_by(3).chain(n.iter().rev().skip(12)) {
            record.put(*x);
        }
        for (k, x) in n.iter().enumerate().filter(|(_, x)| **x > 0) {
            record.put((k, *x));
        }
        for x in n.iter().filter_map(|x| (x % 2 == 0).then_some(x / 2)) {
            record.put(x);
        }
    }

    fn iterator_consumers(i, record) {
        let n = numbers(i);
        record.put((n.iter().sum::<i32>(), n.iter().take(8).map(|x| i64::from(*x) | 1).product::<i64>()));
        record.put((n.iter().min().copied(), n.iter().max_by_key(|x| x.abs()).copied()));
        record.put((n.iter().any(|x| *x == 7), n.iter().all(|x| *x > -101)));
        record.put((n.iter().position(|x| *x < 0), n.iter().rposition(|x| *x < 0)));
        record.put((n.iter().count(), n.iter().last().copied(), n.iter().nth(5).copied()));
        record.put(n.iter().copied().reduce(|a, b| a.wrapping_mul(31).wrapping_add(b)));
        record.put(n.iter().find(|x| **x % 5 == 0).copied());
        record.put(n.iter().try_fold(0i8, |a, x| a.checked_add(*x as i8)));
        record.put(n.iter().cmp(n.iter().rev()));
        record.put((n.is_sorted(), n.iter().eq(n.iter())));
        let (even, odd): (Vec<i32>, Vec<i32>) = n.iter().partition(|x| **x % 2 == 0);
        record.put((&even[..], &odd[..]));
    }

    fn iterator_filtered_reductions(i, record) {
        let n = numbers(i);
        let some = |x: &&i32| **x % 3 == i as i32 % 3;
        record.put((n.iter().filter(some).min().copied(), n.iter().filter(some).max().copied()));
        record.put(n.iter().filter(some).min_by_key(|x| x.abs()).copied());
        record.put(n.iter().enumerate().filter(|(_, x)| **x > 90).max_by_key(|(_, x)| **x % 4).map(|it| it.0));
        // The elements are combined in order; the closure of the filter sees each element once.
        let mut seen = 0u32;
        let combined = (n.iter().copied())
            .filter(|x| {
                seen = seen.wrapping_mul(31).wrapping_add(*x as u32);
                x % 2 == 0
            })
            .chain(Some(7))
            .reduce(|a, b| a.wrapping_mul(31).wrapping_sub(b));
        record.put((combined, seen));
        record.put(n.iter().filter_map(|x| x.checked_rem(i as i32 % 5)).rev().reduce(|a, b| a.wrapping_mul(3).wrapping_sub(b)));
        record.put(n.iter().filter(|x| **x > 1000).reduce(|a, b| if a < b { a } else { b }).copied());
        // The rest remains after a short iterator.
        let mut rest = n.iter();
        record.put(rest.by_ref().take(4).filter(some).reduce(|a, b| if a < b { b } else { a }).copied());
        record.put(rest.next().copied());
        // Elements that are dropped.
        let boxes = n.iter().map(|x| alloc::boxed::Box::new(*x)).filter(|x| **x > 0);
        record.put(boxes.reduce(|a, b| alloc::boxed::Box::new(a.wrapping_mul(3) ^ *b)).map(|it| *it));
    }

    fn iterator_windows(i, record) {
        let n = numbers(i);
        for w in n.windows(4) {
            record.put(w.iter().sum::<i32>());
        }
        for c in n.chunks(5) {
            record.put(c);
        }
        for c in n.chunks_exact(3) {
            record.put(c[0] - c[2]);
        }
        for c in n.rchunks(6) {
            record.put(c[0]);
        }
        for part in n.split(|x| *x < -50) {
            record.put(part.len());
        }
    }

    fn iterator_nested(i, record) {
        let total: u32 = (0..i % 7 + 2)
            .flat_map(|a| (0..a).map(move |b| a * b + i))
            .scan(0, |sum, x| {
                *sum += x;
                (*sum < 5000).then_some(*sum)
            })
            .sum();
        record.put(total);
        let nested = [[1, 2, 3], [4, 5, 6], [7, 8, i]];
        for x in nested.iter().flatten().skip_while(|x| **x < 4).map_while(|x| x.checked_sub(4)) {
            record.put(x);
        }
    }

    fn iterator_peekable(i, record) {
        let n = numbers(i);
        let mut rest = n.iter().copied().peekable();
        while let Some(x) = rest.next() {
            if let Some(next) = rest.next_if(|next| (next ^ x) & 1 == 0) {
                record.put((x, next));
            } else if let Some(next) = rest.peek_mut() {
                *next += 1;
                record.put(*next);
            }
        }
        let mut rest = (0..10).into_iter();
        record.put((rest.by_ref().take(3).sum::<u32>(), rest.next(), rest.len()));
    }

    fn iterator_own(i, record) {
        record.put(Collatz(u64::from(i) + 2).count());
        record.put(Collatz(u64::from(i) + 27).max());
        for p in primes().skip(i as usize % 10).take(10) {
            record.put(p);
        }
        let mut state = mix(i.into());
        let generated = core::iter::from_fn(|| {
            state = mix(state);
            Some(state % 1000)
        });
        record.put(generated.take(20).fold(0, |a, b| a * 3 % 100_003 + b));
        let powers = core::iter::successors(Some(1u32), |x| x.checked_mul(i % 5 + 2));
        record.put(powers.count());
        record.put(core::iter::repeat_n(i, 3).chain(core::iter::once(7)).sum::<u32>());
    }

    fn iterator_dyn(i, record) {
        let n = numbers(i);
        for kind in 0..3 {
            for x in chosen(kind + i, &n).filter(|x| x % 3 != 0) {
                record.put(x);
            }
        }
        let mut numbers = n.iter();
        let by_dyn: &mut dyn Iterator<Item = &i32> = &mut numbers;
        record.put((by_dyn.next().copied(), by_dyn.nth(2).copied(), by_dyn.size_hint().0));
    }

    fn iterator_ranges(i, record) {
        let mut total = 0u64;
        for a in 0..i {
            for b in (a..=i).rev() {
                total += u64::from(a ^ b);
            }
        }
        record.put(total);
        record.put((i..i + 9).rev().step_by(4).fold(0u32, |a, b| a * 7 + b));
        record.put((b'a'..=b'z').map(u64::from).sum::<u64>());
        record.put(('a'..='e').rev().map(|c| c as u32).sum::<u32>());
        record.put((250u8..=255).count());
        record.put((-3i128..4).map(|x| x * x).sum::<i128>());
        record.put(((0..i).contains(&5), (..=i).contains(&i), (5..3).is_empty()));
    }

    fn iterator_strided_ranges(i, record) {
        macro_rules! strided {
            ($($ty:ty)*) => {$(
                let ends = [0, 1, 7, 100, <$ty>::MAX / 2, <$ty>::MAX - 1, <$ty>::MAX];
                let far = <$ty>::MAX / 9;
                for end in ends {
                    for start in [0, 3, <$ty>::MAX - 20, end.saturating_sub(30), end] {
                        let start = start.wrapping_add(i as $ty);
                        let least = end.saturating_sub(start) / 40;
                        for step in [1, 2, 29, 64, 100, far, <$ty>::MAX - 3, <$ty>::MAX] {
                            let step = step.max(least).max(1) as usize;
                            let (mut sum, mut count, mut inside) = (0, 0u32, true);
                            for x in (start..end).step_by(step) {
                                sum = x.wrapping_add(sum).rotate_left(1);
                                inside &= x < end;
                                count += 1;
                            }
                            let folded = (start..end).step_by(step).fold(0u64, |a, x| a ^ x as u64);
                            record.put((sum, count, inside, folded));
                        }
                    }
                }
            )*};
        }
        strided!(u8 u16 u32 u64 usize);
    }

    // Every eighth, thirty-second … element, with checks: the compiler counts the iterations, and runs
    // four of them at once.
    fn iterator_strided_slices(i, record) {
        let table: [i32; 64] = core::array::from_fn(|k| k as i32 * 7 % 61);
        let many: [u8; 200] = core::array::from_fn(|k| (k * 13 % 64) as u8);
        for length in [0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 129, 199, 200 - i as usize % 7] {
            let part = &many[..length];
            let wide: [u64; 40] = core::array::from_fn(|k| u64::from(many[k] % 32));
            let wide = &wide[..length.min(40)];
            for first in [0, 1, 3, 8, 31, i as usize % 40] {
                let (mut sum, mut other, mut zipped, mut counted) = (0, 0i32, 0, 0);
                for &x in part.iter().skip(first).step_by(8) {
                    sum += table[x as usize];
                }
                for &x in wide.iter().skip(first).step_by(4) {
                    other = other.wrapping_mul(3) + table[x as usize];
                }
                for (&x, &y) in part.iter().zip(&many[1..]).skip(first).step_by(32) {
                    zipped += table[x as usize] * i32::from(y);
                }
                for (k, &x) in part.iter().enumerate().skip(first).step_by(16) {
                    counted += table[x as usize] * k as i32;
                }
                let pairs = part.iter().zip(wide).skip(first).step_by(8);
                let mapped: i32 = pairs.map(|(&x, &y)| table[x as usize] ^ y as i32).sum();
                let units = [(); 100];
                let nothing = units.iter().zip(&units[..length.min(100)]).skip(first).step_by(8);
                record.put((sum, other, zipped, counted, mapped, nothing.count()));
                if first < length {
                    let behind = part[first..].iter().step_by(64).map(|&x| table[x as usize]);
                    record.put(behind.max());
                }
            }
        }
    }

    // The best index so far has no value before the loop.
    fn iterator_best(i, record) {
        let n = numbers(i);
        let at = n.iter().enumerate().max_by_key(|&(_, x)| x % 10).map(|(k, _)| k);
        let least = n.iter().enumerate().filter(|&(_, x)| *x > 90 - i as i32).min_by_key(|&(_, x)| *x);
        record.put((at, least.map(|(k, x)| (k, *x))));
        let mut last = None;
        for (k, x) in n.iter().enumerate() {
            if *x % 4 == 1 {
                last = Some(k * 3);
            }
        }
        record.put((last, last.map(|k| n.get(k).copied())));
        // What is left behind chunks.
        let (mut rest, mut sums) = (&n[..], 0i32);
        while !rest.is_empty() {
            let (chunk, behind) = rest.split_at(rest.len().min(3 + i as usize % 4));
            sums = sums.wrapping_mul(5) + chunk[chunk.len() - 1];
            rest = behind;
        }
        record.put(sums);
    }

    fn iterator_take(i, record) {
        let n = &numbers(i)[..i as usize % 17];
        let marked = |limited: &mut dyn Iterator<Item = (usize, &i32)>| {
            limited.fold(0u64, |marks, (k, x)| marks | u64::from(*x > 0) << (k % 64))
        };
        for count in [0, 1, 5, n.len().wrapping_sub(1), n.len(), usize::MAX, i as usize] {
            let mut marks = 0u64;
            for (k, x) in n.iter().enumerate().take(count) {
                if x % 3 != 0 {
                    marks |= 1 << (k % 64);
                }
            }
            record.put(marks);
            record.put(marked(&mut n.iter().enumerate().take(count)));
            record.put(marked(&mut n.iter().take(count).enumerate()));
            let least = n.iter().take(count).enumerate().min_by_key(|(_, x)| **x);
            record.put(least.map(|(k, _)| k));
        }
    }

    fn iterator_flattened(i, record) {
        let n = numbers(i);
        let (width, height) = (i as usize % 4, i as usize / 4 % 5);
        let mut hash = Hash(1);
        for (x, y) in (0..3usize).flat_map(|y| (0..3).map(move |x| (x, y))) {
            hash.add(n[5 * y + x] * (x as i32 + 1));
        }
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            hash.add(n[3 * y + x]);
        }
        for (x, y) in (0..=height).flat_map(|y| (y..=width).map(move |x| (x, y))) {
            hash.add((x * 8 + y) as i32);
        }
        record.put(hash.0);
        // The number of elements of the inner iterators differs, and may be zero.
        for x in n.iter().flat_map(|x| 0..x % 3) {
            hash.add(x);
        }
        let (rows, _) = n.as_chunks::<3>();
        for x in rows[..height].iter().flatten() {
            hash.add(*x);
        }
        for (x, y) in rows.iter().flatten().zip(n.iter().skip(width)) {
            hash.add(x * y);
        }
        for x in n.chunks_exact(4).skip(1).take(height).flat_map(|row| &row[..width]) {
            hash.add(*x);
        }
        record.put(hash.0);
        for (x, y, z) in (0..width)
            .flat_map(|x| (0..height).flat_map(move |y| (y..3).map(move |z| (x, y, z))))
        {
            hash.add((x * 25 + y * 5 + z) as i32);
        }
        // The last inner iterator, and an end in the middle of one.
        let mut last = None;
        for x in (0..height).flat_map(|y| rows[y]) {
            if x == 50 {
                break;
            }
            last = Some(x);
        }
        record.put((hash.0, last));
        let of = |k: usize| (0..=k).flat_map(move |y| (0..y).map(move |x| x * 7 + y));
        let swapped: (usize, usize) = of(height).fold((0, 1), |(a, b), x| (b, a + b * x % 1000));
        record.put((swapped, of(width).count(), of(width).max(), of(width).nth(height)));
        // The values before an element, of two iterators each.
        let (mut before, mut count) = ((0, 0), 0);
        for x in (0..width).flat_map(|x| rows[x]) {
            before = (before.1, x);
            count += before.0;
        }
        record.put((before, count));
    }

    fn iterator_collect(i, record) {
        let n = numbers(i);
        let doubled: Vec<i64> = n.iter().map(|x| i64::from(*x) * 2).collect();
        record.put(&doubled[..]);
        let checked: Option<Vec<u8>> = n.iter().map(|x| u8::try_from(x + 100).ok()).collect();
        record.put(checked.map(|v| v.len()));
        let failed: Result<Vec<u8>, i32> =
            n.iter().map(|x| u8::try_from(*x).map_err(|_| *x)).collect();
        record.put(failed.map(|v| v.len()));
        let (a, b): (Vec<i32>, Vec<bool>) = n.iter().map(|x| (x / 2, *x > 0)).unzip();
        record.put((a.len(), b.iter().filter(|x| **x).count()));
        sums_of_pairs(&n, record);
    }
}

fn sums_of_pairs(n: &[i32], record: &mut Record) {
    for [a, b] in n.as_chunks::<2>().0 {
        record.put(a + b);
    }
}
