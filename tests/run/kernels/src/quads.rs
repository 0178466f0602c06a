//! `f128`, which is soft float on the device: arithmetic, comparisons, conversions, powers and
//! rounding.

use crate::{cases, mix};

/// Numbers of interest, and some that look random.
fn samples(i: u32) -> [f128; 12] {
    let word = |n: u32| u128::from(mix(u64::from(i) * 31 + u64::from(n)));
    let any = f128::from_bits(word(1) << 64 | word(2));
    // Of a size at which sums and remainders do something.
    let near_one =
        f128::from_bits((0x3FFF - 20 + word(3) % 40) << 112 | (word(4) << 64 | word(5)) >> 16);
    [
        any,
        near_one,
        -near_one * 1.75,
        0.0,
        -0.0,
        1.0,
        f128::NAN,
        f128::INFINITY,
        f128::NEG_INFINITY,
        f128::from_bits(word(6)),
        f128::MAX,
        i as f128 * 0.37 - 5.0,
    ]
}

/// The bits, of all NaNs the same.
fn bits(value: f128) -> u128 {
    if value.is_nan() {
        1 << 127
    } else {
        value.to_bits()
    }
}

cases! {
    fn quad_arithmetic(i, record) {
        for a in samples(i) {
            for b in samples(i + 1) {
                let mut all = 0u128;
                for value in [a + b, a - b, a * b, a / b, a % b] {
                    all = all.rotate_left(7) ^ bits(value);
                }
                record.put(all);
            }
        }
    }

    fn quad_comparisons(i, record) {
        for a in samples(i) {
            for b in samples(i) {
                let flags = [a < b, a <= b, a > b, a >= b, a == b, a != b];
                let mut all = 0u32;
                for flag in flags {
                    all = all << 1 | u32::from(flag);
                }
                record.put((all, a.partial_cmp(&b).map(|o| o as i8), a.total_cmp(&b) as i8));
            }
        }
    }

    fn quad_conversions(i, record) {
        for a in samples(i) {
            record.put((a as i8, a as u16, a as i32, a as u64));
            record.put((a as i128, a as u128));
            let (half, single, double) = (a as f16, a as f32, a as f64);
            record.put((half.is_nan(), single.is_nan(), double.is_nan()));
            if !a.is_nan() {
                record.put((half.to_bits(), single.to_bits(), double.to_bits()));
                record.put((bits(half as f128), bits(single as f128), bits(double as f128)));
            }
        }
        let n = mix(i.into());
        record.put((bits(n as i8 as f128), bits(n as u32 as f128), bits(n as i64 as f128)));
        let wide = (u128::from(n) << 64 | u128::from(mix(n))) >> (i % 90);
        record.put((bits(wide as f128), bits(wide as i128 as f128)));
    }

    fn quad_powers(i, record) {
        let n = (i % 23) as i32 - 11;
        for a in samples(i) {
            record.put((bits(a.powi(n)), bits(a.powi(n / 4))));
        }
    }

    fn quad_rounding(i, record) {
        for a in samples(i) {
            for value in [-a, a.abs(), a.copysign(-1.0), a.max(1.0), a.min(2.0), a.clamp(-1.0, 1.0)] {
                record.put(bits(value));
            }
        }
    }
}
