//! Control flow: loops with labels, early returns, recursion, shadowing, blocks as values.

use crate::{cases, mix};

fn is_even(n: u32) -> bool {
    n == 0 || is_odd(n - 1)
}

fn is_odd(n: u32) -> bool {
    n != 0 && is_even(n - 1)
}

fn ackermann(m: u32, n: u32) -> u32 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

fn hanoi(n: u32, from: usize, to: usize, via: usize, moves: &mut [u32; 9]) {
    if n > 0 {
        hanoi(n - 1, from, via, to, moves);
        moves[from * 3 + to] += 1;
        hanoi(n - 1, via, to, from, moves);
    }
}

fn permutations(items: &mut [u8], k: usize, visit: &mut dyn FnMut(&[u8])) {
    if k == items.len() {
        return visit(items);
    }
    for i in k..items.len() {
        items.swap(k, i);
        permutations(items, k + 1, visit);
        items.swap(k, i);
    }
}

fn queens(row: u32, columns: u32, left: u32, right: u32) -> u32 {
    if row == 6 {
        return 1;
    }
    let mut count = 0;
    let mut free = !(columns | left | right) & 0b111111;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        count += queens(
            row + 1,
            columns | bit,
            (left | bit) << 1,
            (right | bit) >> 1,
        );
    }
    count
}

/// Sums that differ from thread to thread in how long their loops run and how deep they call.
fn sums(numbers: &mut [u32; 24], mut from: usize, depth: u32) -> u32 {
    let mut total = 0;
    while from < numbers.len() {
        let end = (from + 3 + numbers[from] as usize % 5).min(numbers.len());
        for k in from..end {
            let mut rest = numbers[k] % 11;
            while rest > 0 {
                total = mix(u64::from(total ^ rest)) as u32;
                numbers[k] = numbers[k].rotate_left(rest);
                rest /= 2;
            }
        }
        if total % 3 == 0 && depth > 0 {
            total ^= sums(numbers, from + 1, depth - 1);
        }
        from = end;
    }
    total
}

/// A machine of three states, each of which says which comes next.
#[derive(Clone, Copy)]
enum State {
    Counting(u32),
    Waiting { left: u32 },
    Done,
}

fn next_state(state: State, word: u32) -> State {
    match state {
        State::Counting(n) if n > 9 => State::Done,
        State::Counting(n) if word % 3 == 0 => State::Waiting { left: n + 1 },
        State::Counting(n) => State::Counting(n + word % 4),
        State::Waiting { left: 0 } => State::Counting(word % 7),
        State::Waiting { left } => State::Waiting { left: left - 1 },
        State::Done => State::Done,
    }
}

fn checked(word: u32) -> Result<u32, Option<u8>> {
    match word % 5 {
        0 => Err(None),
        1 => Err(Some(word as u8)),
        n => Ok(n),
    }
}

fn all_checked(words: &[u32]) -> Result<u32, Option<u8>> {
    let mut total = 0;
    for &word in words {
        total += checked(word)?;
    }
    Ok(total)
}

cases! {
    fn control_recursion_in_lanes(i, record) {
        let mut numbers = core::array::from_fn(|k| mix(u64::from(i) << 8 | k as u64) as u32);
        record.put(sums(&mut numbers, 0, 6));
        record.put(&numbers[..]);
    }

    fn control_variants(i, record) {
        let words: [u32; 12] = core::array::from_fn(|k| mix(u64::from(i) << 8 | k as u64) as u32);
        let mut state = State::Counting(i % 4);
        let mut steps = 0u32;
        for k in 0.. {
            state = next_state(state, words[k % 12]);
            match state {
                State::Counting(n) => steps = steps.wrapping_mul(3) ^ n,
                State::Waiting { left } => steps = (steps ^ left).rotate_left(3),
                State::Done => break,
            }
            if k > 60 {
                break;
            }
        }
        record.put(steps);
        record.put(all_checked(&words[..i as usize % 12]));
        record.put(all_checked(&words[11..]));
        let mut pairs = words.iter().zip(words[3..].iter().rev()).skip(i as usize % 5);
        while let Some((a, b)) = pairs.next() {
            if let (Some(c), None) = (a.checked_sub(*b), pairs.len().checked_sub(7)) {
                record.put(c);
            }
        }
        let mut found = None;
        for (k, word) in words.iter().enumerate() {
            found = match (found, word % 4) {
                (None, 0) => Some((k, true)),
                (Some((k, true)), 1) => Some((k + 1, false)),
                (Some((_, false)), 2) => None,
                (other, _) => other,
            };
        }
        record.put(found);
        let small = [words[0] as u8, words[1] as u8, words[2] as u8];
        for checked in [small[0].checked_add(small[1]), small[1].checked_sub(small[2]), None] {
            record.put(checked);
        }
    }

    fn control_labels(i, record) {
        let mut found = None;
        'outer: for a in 1..30u32 {
            for b in a.. {
                if a * a + b * b > 900 + i * i {
                    continue 'outer;
                }
                if a * a + b * b == (i + 5) * (i + 5) {
                    found = Some((a, b));
                    break 'outer;
                }
            }
        }
        record.put(found);
        let value = 'block: {
            if i % 3 == 0 {
                break 'block 1;
            }
            if i % 3 == 1 {
                break 'block 2;
            }
            3
        };
        record.put(value);
        let mut n = i + 1;
        let steps = loop {
            n = n * 5 % 97;
            if n % 7 == 3 || n == 0 {
                break n * 2;
            }
        };
        record.put(steps);
    }

    fn control_loops(i, record) {
        let (mut a, mut b) = (i + 12, 18);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        record.put(a);
        let mut total = 0;
        for k in 0.. {
            if k % 2 == 0 {
                continue;
            }
            if k > i + 10 {
                break;
            }
            total += k;
        }
        record.put(total);
        let mut bits = mix(i.into());
        let mut runs = 0;
        while bits != 0 {
            let ones = bits.trailing_ones();
            runs += u32::from(ones > 1);
            bits = bits.checked_shr(ones.max(bits.trailing_zeros())).unwrap_or(0);
        }
        record.put(runs);
    }

    fn control_recursion(i, record) {
        record.put((is_even(i), is_odd(i + 20)));
        record.put(ackermann(2, i % 8));
        let mut moves = [0; 9];
        hanoi(i % 7 + 1, 0, 2, 1, &mut moves);
        record.put(moves);
        record.put(queens(0, 0, 0, 0));
    }

    fn control_backtracking(i, record) {
        let mut items = [1, 2, i as u8 % 9, 4];
        let mut checksum = 0u64;
        let mut count = 0;
        permutations(&mut items, 0, &mut |order| {
            count += 1;
            checksum = order.iter().fold(mix(checksum), |sum, x| sum.rotate_left(7) ^ u64::from(*x));
        });
        record.put((count, checksum));
    }

    fn control_shadowing(i, record) {
        let x = i;
        let x = x + 1;
        let y = {
            let x = x * 2;
            let x = (x, "inner");
            x.0 + x.1.len() as u32
        };
        let x = alloc::format!("{x}");
        record.put((&x[..], y));
        let i = i as u64;
        record.put(i);
    }

    fn control_expressions(i, record) {
        let n = if i > 10 { i } else if i > 5 { i * 2 } else { 100 };
        let m = match n { 0..20 => n + { let a = n; a * a }, _ => { let b = n; b - 1 } };
        record.put((n, m));
        let flag = i % 2 == 0 && { record.put(1); i % 3 == 0 } || { record.put(2); i == 5 };
        record.put(flag);
        let mut x = i;
        let unit = x += 1;
        record.put((unit, x));
        record.put((i..).find(|k| k % 17 == 0).map_or(0, |k| if k > 40 { return k } else { k }));
    }

    fn control_early_return(i, record) {
        fn first_divisor(n: u32) -> Option<u32> {
            if n < 2 {
                return None;
            }
            for d in 2..n {
                if n % d == 0 {
                    return Some(d);
                }
            }
            Some(n)
        }
        for k in 0..8 {
            record.put(first_divisor(i + k));
        }
    }

    fn control_short_counters(i, record) {
        let values: [u16; 64] = core::array::from_fn(|k| mix(k as u64 + u64::from(i)) as u16);
        let values = core::hint::black_box(&values[..]);
        let at = |k: usize| values.get(k).map_or(0, |&value| u64::from(value));
        let fold = |sum: u64, value: u64| mix(sum ^ value);
        // Up and down, signed and unsigned, with neighbors, from the ends of the types.
        let (from, to) = core::hint::black_box((i % 7, 40 + i % 19));
        let mut sums = [0; 6];
        for k in from..to {
            sums[0] = fold(sums[0], at(k as usize) + at((k + 1) as usize));
        }
        for k in (from as i32..to as i32).rev() {
            sums[1] = fold(sums[1], at(k as usize) + at((k - 1) as usize));
        }
        let near = core::hint::black_box(u32::MAX - i % 5);
        for k in near..=u32::MAX {
            sums[2] = fold(sums[2], at((u32::MAX - k) as usize) + at(k as usize));
        }
        let mut k = near;
        for _ in 0..to {
            sums[3] = fold(sums[3], at(k as usize) + u64::from(k));
            k = k.wrapping_add(1);
        }
        let mut k = core::hint::black_box(i32::MAX - 3);
        while k != i32::MIN + 3 {
            sums[4] = fold(sums[4], at((k as u32 & 63) as usize) + k as u64);
            k = k.wrapping_add(1);
        }
        let mut k = to as i32;
        while k >= -(from as i32) {
            sums[5] = fold(sums[5], at(k as usize) + at((k + from as i32) as usize));
            k -= 3;
        }
        record.put(sums);
    }

    fn control_windows(i, record) {
        let values: [u32; 24] = core::array::from_fn(|k| mix(k as u64 * 31 + u64::from(i)) as u32);
        let length = core::hint::black_box(1 + i as usize % 24);
        let row = &core::hint::black_box(&values[..])[..length];
        let fold = |sum: u64, value: u64| mix(sum ^ value);
        let mut sums = [0; 6];
        for x in 0..length {
            for &value in &row[x.saturating_sub(1)..(x + 2).min(length)] {
                sums[0] = fold(sums[0], value.into());
            }
            for k in x.saturating_sub(2)..=(x + 2).min(length - 1) {
                sums[1] = fold(sums[1], row[k].into());
            }
            let center = x as i32;
            for k in (center - 3).max(0)..(center + 4).min(length as i32) {
                if row[k as usize] % 7 == 0 {
                    break;
                }
                sums[2] = fold(sums[2], row[k as usize].into());
            }
            let least = row[x.saturating_sub(1)..=(x + 1).min(length - 1)].iter().min();
            sums[3] = fold(sums[3], least.map_or(0, |&least| least.into()));
        }
        // Around the ends of the type, also past them.
        let start = core::hint::black_box(u64::MAX - u64::from(i) % 9);
        let end = start.wrapping_add(4);
        let mut k = start;
        while k != end {
            sums[4] = fold(sums[4], k);
            k = k.wrapping_add(1);
        }
        let end = start.saturating_add(3);
        let mut k = start - 2;
        while k < end {
            sums[4] = fold(sums[4], k);
            k += 1;
        }
        // Tests that a thread could skip after the one before.
        let x = core::hint::black_box(i % 32);
        let mut kept = u64::from(x);
        if x > 0 {
            kept = fold(kept, u64::from(values[(x as usize - 1) % 24]));
        }
        if x < 31 {
            kept = fold(kept, u64::from(values[(x as usize + 1) % 24]));
        }
        let signed = x as i32 - 16;
        if signed >= -3 {
            kept = fold(kept, u64::from(values[(signed + 3) as usize % 24]));
        }
        if signed < 5 {
            kept = fold(kept, 5);
        }
        sums[5] = kept;
        record.put(sums);
    }
}
