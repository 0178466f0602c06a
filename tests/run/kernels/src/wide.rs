//! 128-bit integers in ordinary programs: structs, calls, arrays, loops.

use crate::{cases, mix};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Fixed(i128);

impl core::ops::Mul for Fixed {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Fixed((self.0 >> 32) * (other.0 >> 32))
    }
}

#[inline(never)]
fn square_and_reduce(x: u128, m: u128) -> (u128, bool) {
    let (product, overflowed) = x.overflowing_mul(x);
    (product % m, overflowed)
}

#[inline(never)]
fn fibonacci(n: u32) -> u128 {
    let (mut a, mut b) = (0u128, 1u128);
    for _ in 0..n {
        (a, b) = (b, a + b);
    }
    a
}

fn wide(i: u32) -> u128 {
    (u128::from(mix(i.into())) << 64) | u128::from(mix(u64::from(i) + 99))
}

cases! {
    fn wide_calls(i, record) {
        record.put(square_and_reduce(wide(i), wide(i + 1) >> (i % 100)));
        record.put(fibonacci(80 + i));
        let f = Fixed(wide(i) as i128 >> 48) * Fixed(wide(i + 7) as i128 >> 48);
        record.put(f.0);
        record.put(f > Fixed(0));
    }

    fn wide_division(i, record) {
        for shift in [0, 1, 31, 32, 33, 63, 64, 65, 96, 120, 127] {
            let (a, b) = (wide(i), (wide(i + 50) >> shift).max(1));
            record.put((a / b, a % b));
            record.put((a as i128 / b as i128, a as i128 % b as i128));
        }
    }

    fn wide_shifts(i, record) {
        let a = wide(i);
        for by in [0, 1, 63, 64, 65, 127, i % 128] {
            record.put((a << by, a >> by, a as i128 >> by));
        }
    }

    fn wide_in_memory(i, record) {
        let mut table = [0u128; 8];
        for (k, slot) in table.iter_mut().enumerate() {
            *slot = wide(i + k as u32);
        }
        table.sort();
        record.put(table);
        record.put(table.binary_search(&wide(i + 3)).is_ok());
        record.put(table.iter().fold(0u128, |a, b| a.wrapping_add(*b)));
    }

    fn wide_floats(i, record) {
        let a = wide(i) >> (i * 2 % 128);
        record.put((a as f32, a as f64, a as i128 as f64));
        record.put((a as f64 as u128, -(a as f64) as i128, f32::MAX as u128, f64::NAN as i128));
    }

    fn wide_matches(i, record) {
        let n = match wide(i) >> 64 << 64 | u128::from(i) {
            0..=9 => 1,
            x if x as u64 % 3 == 0 => 2,
            0xffff_ffff_ffff_ffff_0000_0000_0000_0000.. => 3,
            _ => 4,
        };
        record.put(n);
        record.put(match i128::from(i) - 5 {
            i128::MIN..=-1 => -1i128,
            0 => 0,
            1 | 3 | 5 => 13,
            170141183460469231731687303715884105727 => 5,
            other => other * other,
        });
    }
}
