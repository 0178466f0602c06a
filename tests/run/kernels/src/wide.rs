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

/// A product of numbers with `SHIFT` bits after the point.
fn fixed_product<const SHIFT: u32>(a: i64, b: i64) -> i64 {
    ((i128::from(a) * i128::from(b)) >> SHIFT) as i64
}

/// The same without a sign.
fn unsigned_product<const SHIFT: u32>(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> SHIFT) as u64
}

/// The same with 32 bits.
fn short_product<const SHIFT: u32>(a: i32, b: i32) -> i32 {
    ((i64::from(a) * i64::from(b)) >> SHIFT) as i32
}

/// A chain of products, with constants and with narrow factors.
fn fixed_products<const SHIFT: u32>(i: u32, record: &mut crate::Record) {
    let mut x = mix(i.into()) as i64;
    let (mut y, mut z) = (x as u64, x as i32);
    let factors = [
        i64::MIN,
        -1,
        mix(7) as i64,
        i64::MAX,
        0,
        3,
        i64::from(i) << 40,
        -5 << 61,
    ];
    for (k, factor) in (0..).zip(factors) {
        let square = fixed_product::<SHIFT>(x, x);
        let scaled = fixed_product::<SHIFT>(square, -852_176).wrapping_add(factor);
        let next = fixed_product::<SHIFT>(fixed_product::<SHIFT>(scaled, factor), x);
        x = fixed_product::<SHIFT>(next, i64::from(i as i16 - 30)) ^ mix(k) as i64;
        let square = unsigned_product::<SHIFT>(y, y);
        let scaled = unsigned_product::<SHIFT>(square, u64::MAX - 99);
        y = unsigned_product::<SHIFT>(scaled, factor as u64) ^ mix(k);
        let square = short_product::<SHIFT>(z, z);
        let scaled = short_product::<SHIFT>(square, -77).wrapping_add(factor as i32);
        z = short_product::<SHIFT>(scaled, z) ^ mix(k) as i32;
        record.put((square, next, scaled));
        record.put((x, y, z));
    }
}

cases! {
    fn chains_of_fixed_point_products(i, record) {
        fixed_products::<1>(i, record);
        fixed_products::<16>(i, record);
        fixed_products::<24>(i, record);
        fixed_products::<31>(i, record);
        fixed_products::<32>(i, record);
    }
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
