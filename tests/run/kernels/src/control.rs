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

cases! {
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
}
