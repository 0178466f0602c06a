//! Floats: Rust's rules for casts, NaN, signed zeros, comparison, rounding, text.

use crate::{cases, mix};
use core::fmt::Write;
use cuda_std::prelude::*;

/// Floats of interest, and one that looks random.
fn samples32(i: u32) -> [f32; 12] {
    let random = f32::from_bits(mix(i.into()) as u32);
    [
        random,
        0.0,
        -0.0,
        1.5,
        -2.5,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MIN_POSITIVE / 8.0,
        f32::MAX,
        i as f32 * 0.37 - 5.0,
        16_777_217.0 + i as f32,
    ]
}

fn samples64(i: u32) -> [f64; 12] {
    let random = f64::from_bits(mix(i.into()));
    [
        random,
        0.0,
        -0.0,
        0.5,
        -3.5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE / 1024.0,
        f64::MAX,
        f64::from(i) * 0.37 - 5.0,
        1e19 + f64::from(i) * 1e4,
    ]
}

macro_rules! arithmetic {
    ($samples:expr, $record:expr) => {
        for a in $samples {
            for b in $samples {
                $record.put((a + b, a - b, a * b, a / b, a % b));
            }
        }
    };
}

macro_rules! comparison {
    ($samples:expr, $record:expr) => {
        for a in $samples {
            for b in $samples {
                $record.put((a < b, a <= b, a == b, a != b, a >= b, a > b));
                $record.put(a.partial_cmp(&b));
                // A NaN's sign is open after arithmetic, but these come from bits.
                $record.put(a.total_cmp(&b));
                $record.put((a.min(b) == a, a.max(b) == a, a.min(b).is_nan()));
                if a != b {
                    $record.put((a.min(b), a.max(b)));
                }
                $record.put((a.minimum_of(b), a.maximum_of(b)));
            }
        }
    };
}

macro_rules! casts {
    ($samples:expr, $record:expr) => {
        for a in $samples {
            $record.put((a as u8, a as i8, a as u16, a as i16));
            $record.put((a as u32, a as i32, a as u64, a as i64));
            $record.put((a as usize, a as u128, a as i128));
            $record.put((a as f32, a as f64));
        }
    };
}

macro_rules! rounding {
    ($samples:expr, $record:expr) => {
        for a in $samples {
            $record.put((
                a.floor(),
                a.ceil(),
                a.trunc(),
                a.round(),
                a.round_ties_even(),
            ));
            $record.put(a.abs());
            if a.is_finite() {
                $record.put(a.fract());
            }
        }
    };
}

macro_rules! classes {
    ($samples:expr, $record:expr) => {
        for a in $samples {
            $record.put((a.is_nan(), a.is_infinite(), a.is_finite(), a.is_normal()));
            $record.put(a.classify() as u8);
            if !a.is_nan() {
                $record.put((a.is_sign_negative(), a.signum(), a.next_up(), a.next_down()));
                $record.put(a.to_bits());
                $record.put((-a, a.copysign(-1.0), a.clamp(-1.0, 1.0), a.recip()));
            }
        }
    };
}

/// The IEEE minimum and maximum, which order zeros and keep NaN.
trait Ieee: Sized {
    fn minimum_of(self, other: Self) -> Self;
    fn maximum_of(self, other: Self) -> Self;
}

macro_rules! ieee {
    ($($ty:ty)*) => {$(
        impl Ieee for $ty {
            fn minimum_of(self, other: Self) -> Self {
                if self.is_nan() || other.is_nan() {
                    <$ty>::NAN
                } else if self.total_cmp(&other).is_lt() {
                    self
                } else {
                    other
                }
            }

            fn maximum_of(self, other: Self) -> Self {
                -(-self).minimum_of(-other)
            }
        }
    )*};
}
ieee!(f32 f64);

cases! {
    // A result that the compiler folds is a NaN then, too.
    fn float_nan_of_constants(i, record) {
        fn differ<T: PartialEq>(value: T) -> (bool, bool) {
            (value == value, value != value)
        }
        record.put((f64::NAN.maximum(9.0).is_nan(), f32::NAN.minimum(-9.0).is_nan()));
        record.put(differ(f64::INFINITY - f64::INFINITY));
        record.put(differ(f32::INFINITY * 0.0));
        record.put(differ(0.0f64 / 0.0));
        record.put(differ(f64::MAX * 2.0));
        record.put(i);
    }

    // Half floats as arguments and results, alone and in pairs.
    fn f16_calls(i, record) {
        // Which NaN arithmetic makes is not defined.
        fn bits(x: f16) -> u16 {
            if x.is_nan() { 0x7E00 } else { x.to_bits() }
        }
        #[inline(never)]
        fn sum(a: f16, b: f16) -> f16 {
            a + b
        }
        #[inline(never)]
        fn checked(a: f16, i: u32) -> Option<f16> {
            (i % 3 != 0).then_some(sum(a, i as f16))
        }
        #[inline(never)]
        fn pair(a: f16, b: f16) -> (f16, f16) {
            (b, a)
        }
        let through: [fn(f16, f16) -> f16; 2] = [sum, |a, b| a - b];
        let of = [1.5, f16::INFINITY, -0.0, f16::NAN, f16::from_bits(i as u16)][i as usize % 5];
        record.put(checked(of, i).map(bits));
        record.put(bits(through[i as usize % 2](of, 0.25)));
        let (a, b) = pair(of, 2.0);
        record.put((bits(a), bits(b)));
    }

    fn f32_arithmetic(i, record) {
        arithmetic!(samples32(i), record);
    }

    fn f64_arithmetic(i, record) {
        arithmetic!(samples64(i), record);
    }

    fn f32_comparison(i, record) {
        comparison!(samples32(i), record);
    }

    fn f64_comparison(i, record) {
        comparison!(samples64(i), record);
    }

    fn f32_casts(i, record) {
        casts!(samples32(i), record);
    }

    fn f64_casts(i, record) {
        casts!(samples64(i), record);
    }

    fn f32_rounding(i, record) {
        rounding!(samples32(i), record);
    }

    fn f64_rounding(i, record) {
        rounding!(samples64(i), record);
    }

    fn f32_classes(i, record) {
        classes!(samples32(i), record);
    }

    fn f64_classes(i, record) {
        classes!(samples64(i), record);
    }

    fn float_display(i, record) {
        for x in samples64(i) {
            let _ = write!(record, "{x}");
            let _ = write!(record, "{x:?}|{x:.3}|{x:10.2}|{x:e}|{x:+}");
        }
        for x in samples32(i) {
            let _ = write!(record, "{x} {x:?} {x:08.1} {x:.0}");
        }
    }

    fn float_parse(i, record) {
        for text in ["1", "-0.5", "1e10", "3.141592653589793", "inf", "NaN", "1e-320", "x", ".", "5."] {
            record.put(text.parse::<f64>().ok());
            record.put(text.parse::<f32>().ok());
        }
        let mut text = alloc::string::String::new();
        let _ = write!(text, "{}", f64::from(i) / 7.0);
        record.put(text.parse::<f64>() == Ok(f64::from(i) / 7.0));
    }

    fn float_sums(i, record) {
        // Many roundings in a fixed order: one difference anywhere shows in the end.
        let (mut sum32, mut sum64, mut product) = (0.0f32, 0.0f64, 1.0f64);
        for k in 1..200 {
            sum32 += 1.0 / (k + i) as f32;
            sum64 += 1.0 / f64::from(k * k + i);
            product *= 1.0 + sum64 / f64::from(k) * 0.01;
        }
        record.put((sum32, sum64, product));
        let dot: f32 = (0..50).map(|k| (k as f32 * 0.3 + i as f32) * (k as f32 - 7.7)).sum();
        record.put(dot);
        record.put([1.5f64, 2.25, i.into()].iter().product::<f64>());
    }

    fn float_from_integers(i, record) {
        let n = mix(i.into());
        record.put((n as f32, n as f64, n as i64 as f32, n as i64 as f64));
        record.put((n as u8 as f32, n as i16 as f64, n as u32 as f32, n as i32 as f32));
        record.put((f32::from(n as u16), f64::from(n as u32), f32::from(n as i8)));
        record.put((f64::from(n as u32 as f32), (n as f64) as f32));
        record.put((f64::from(true), f32::from(n & 1 == 1)));
    }
}
