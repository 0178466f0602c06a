//! Numbers of other kinds than the language's.

use crate::cases;
use alloc::string::{String, ToString};
use core::ops::BitXor;
use core::str::FromStr;
use fixed::types::{I16F16, I32F32, U8F8, U64F64};
use half::{bf16, f16};
use num_bigint::{BigInt, BigUint, Sign};
use num_complex::{Complex32, Complex64};
use rust_decimal::{Decimal, MathematicalOps, RoundingStrategy};

fn decimal(input: &mut crate::Input) -> Decimal {
    let scale = input.below(29) as u32;
    let number = match input.below(4) {
        0 => i128::from(input.integer() as i64),
        1 => i128::from(input.below(100_000)),
        _ => (input.wide() >> 32) as i128,
    };
    let number = if input.below(2) == 0 { -number } else { number };
    Decimal::try_from_i128_with_scale(number, scale).unwrap_or(Decimal::MAX)
}

fn put_decimal(value: Decimal, record: &mut crate::Record) {
    record.put(value.serialize());
}

fn big(input: &mut crate::Input, bytes: usize) -> BigInt {
    let sign = if input.below(2) == 0 {
        Sign::Plus
    } else {
        Sign::Minus
    };
    let mut digits = input.bytes(bytes);
    if input.below(4) == 0 {
        digits.iter_mut().for_each(|digit| *digit = 0xff);
    }
    BigInt::from_bytes_le(sign, &digits)
}

cases! {
    "num-complex", 512;
    fn complex_arithmetic(mut input, record) {
        let a = Complex64::new(input.double(), input.double());
        let b = Complex64::new(input.double(), input.double());
        for c in [a + b, a - b, a * b, a / b, a.conj(), a.inv(), -a, a.scale(3.0), a.powi(3)] {
            record.put((c.re, c.im));
        }
        record.put((a.norm_sqr(), a.norm(), a.arg(), a == b));
    }

    "num-complex", 300;
    fn complex_functions(mut input, record) {
        let a = Complex64::new(input.ordinary(), input.ordinary());
        let b = Complex32::new(input.ordinary() as f32, input.ordinary() as f32);
        for c in [a.exp(), a.ln(), a.sqrt(), a.sin(), a.cosh(), a.tan(), a.atan(), a.powf(0.3)] {
            record.put((c.re, c.im));
        }
        for c in [b.exp(), b.ln(), b.sqrt(), b.cos(), b.sinh(), b.tanh(), b.acos(), b.powc(b)] {
            record.put((c.re, c.im));
        }
        let (r, theta) = a.to_polar();
        record.put((r, theta, Complex64::cis(r).re));
    }

    "num-bigint", 400;
    fn bigint_arithmetic(mut input, record) {
        let (a, b) = (big(&mut input, 100), big(&mut input, 60));
        for c in [&a + &b, &a - &b, &a * &b, &a << 77u32, &a >> 13u32, (&a).bitxor(&b), &a & &b] {
            record.put(&c.to_signed_bytes_le()[..]);
        }
        if b.sign() != Sign::NoSign {
            record.put(&(&a / &b).to_signed_bytes_le()[..]);
            record.put(&(&a % &b).to_signed_bytes_le()[..]);
        }
        record.put(a.cmp(&b) as i8);
        record.put(a.bits());
    }

    "num-bigint", 200;
    fn bigint_text(mut input, record) {
        let a = big(&mut input, 60);
        let text = a.to_string();
        record.put(&text[..]);
        record.put(BigInt::from_str(&text).is_ok_and(|b| a == b));
        record.put(&a.to_str_radix(7)[..]);
        record.put(&alloc::format!("{a:#x}")[..]);
        record.put(&a.magnitude().sqrt().to_bytes_le()[..]);
    }

    "num-bigint", 128;
    fn bigint_modular(mut input, record) {
        let base = BigUint::from_bytes_le(&input.array::<32>());
        let exponent = BigUint::from_bytes_le(&input.bytes(8));
        let modulus = BigUint::from_bytes_le(&input.array::<24>()) + 2u32;
        record.put(&base.modpow(&exponent, &modulus).to_bytes_le()[..]);
        let inverse = base.modinv(&modulus).map(|inverse| inverse.to_bytes_le());
        record.put(inverse.as_deref());
        // Long enough for Karatsuba and Toom-3.
        let mut long = alloc::vec![0; 1200 * usize::from(input.number % 8 == 0)];
        input.fill(&mut long);
        let long = BigUint::from_bytes_le(&long);
        record.put(&(&long * &long).to_bytes_le()[..]);
    }

    "half", 1024;
    fn half_arithmetic(mut input, record) {
        let (a, b) = (f16::from_bits(input.bits() as u16), f16::from_bits(input.bits() as u16));
        for c in [a + b, a - b, a * b, a / b, a % b, -a, a.max(b), a.min(b)] {
            record.put(f32::from(c));
        }
        record.put((a < b, a == b, a.is_normal(), a.is_sign_negative()));
        let (a, b) = (bf16::from_bits(input.bits() as u16), bf16::from_bits(input.bits() as u16));
        for c in [a + b, a - b, a * b, a / b, a % b, -a, a.max(b), a.min(b)] {
            record.put(f32::from(c));
        }
    }

    "half", 1024;
    fn half_conversions(mut input, record) {
        let (x, y) = (input.double(), input.float());
        // A NaN's payload is kept by the crate, but Rust leaves open what `as` makes of it.
        if !x.is_nan() && !y.is_nan() {
            record.put((f16::from_f64(x).to_bits(), f16::from_f32(y).to_bits()));
            record.put((bf16::from_f64(x).to_bits(), bf16::from_f32(y).to_bits()));
        }
        let small = (x / 1e4) as f32;
        record.put((f16::from_f32(small).to_f32(), bf16::from_f32(small).to_f64()));
        let bits = input.number as u16 * 64 + input.below(64) as u16;
        record.put((f16::from_bits(bits).to_f32(), f16::from_bits(bits).to_f64()));
        record.put(f16::from_bits(bits).total_cmp(&f16::from_bits(!bits)) as i8);
        let text = alloc::format!("{} {:?}", f16::from_bits(bits), bf16::from_bits(bits));
        record.put(&text[..]);
    }

    "rust_decimal", 400;
    fn decimal_arithmetic(mut input, record) {
        let (a, b) = (decimal(&mut input), decimal(&mut input));
        for c in [a.checked_add(b), a.checked_sub(b), a.checked_mul(b), a.checked_div(b), a.checked_rem(b)] {
            record.put(c.map(|c| c.serialize()));
        }
        record.put(a.cmp(&b) as i8);
        for c in [a.floor(), a.ceil(), a.fract(), a.normalize(), a.abs(), a.round()] {
            put_decimal(c, record);
        }
        put_decimal(a.round_dp_with_strategy(3, RoundingStrategy::AwayFromZero), record);
        put_decimal(b.round_dp(2), record);
    }

    "rust_decimal", 256;
    fn decimal_text(mut input, record) {
        let a = decimal(&mut input);
        let text = a.to_string();
        record.put(&text[..]);
        record.put(Decimal::from_str(&text).map(|a| a.serialize()).ok());
        // With more digits than a decimal has, the crate panics.
        if a.scale() >= 3 {
 record.put(&alloc::format!("{a:12.3}")[..]);
}
        record.put(Decimal::from_f64_retain(input.double()).map(|a| a.serialize()));
        record.put(Decimal::try_from(input.ordinary() as f32).map(|a| a.serialize()).ok());
        record.put(f64::try_from(a).ok());
    }

    "rust_decimal", 128;
    fn decimal_functions(mut input, record) {
        let a = Decimal::new(input.below(20_000) as i64 - 10_000, 3);
        put_decimal(a.exp(), record);
        record.put(a.sqrt().map(|a| a.serialize()));
        record.put(a.checked_ln().map(|a| a.serialize()));
        record.put(a.checked_powi(5).map(|a| a.serialize()));
        put_decimal(a.sin(), record);
    }

    "fixed", 512;
    fn fixed_arithmetic(mut input, record) {
        let (a, b) = (I16F16::from_bits(input.integer() as i32), I16F16::from_bits(input.integer() as i32));
        record.put((a.wrapping_add(b).to_bits(), a.saturating_sub(b).to_bits(), a.wrapping_mul(b).to_bits()));
        record.put(a.checked_div(b).map(|c| c.to_bits()));
        record.put(a.checked_rem(b).map(|c| c.to_bits()));
        record.put((a.wrapping_round().to_bits(), a.wrapping_ceil().to_bits(), a.to_num::<f64>()));
        record.put(a.checked_sqrt().map(|c| c.to_bits()));
        let (a, b) = (U64F64::from_bits(input.wide()), U64F64::from_bits(input.wide()));
        record.put((a.saturating_mul(b).to_bits(), a.wrapping_sub(b).to_bits()));
        record.put(a.checked_div(b).map(|c| c.to_bits()));
        record.put((a < b, a.checked_int_log2(), a.leading_zeros()));
        record.put(I32F32::saturating_from_num(input.double().max(-1e300)).to_bits());
        record.put(U8F8::overflowing_from_num(I32F32::from_bits(input.integer() as i64)).0.to_bits());
    }

    "fixed", 300;
    fn fixed_text(mut input, record) {
        let (a, b) = (I32F32::from_bits(input.integer() as i64), U8F8::from_bits(input.integer() as u16));
        let text: String = alloc::format!("{a} {a:.3} {b:x} {b:?} {:e}", I16F16::from_bits(input.integer() as i32));
        record.put(&text[..]);
        record.put(I32F32::from_str(&a.to_string()).is_ok_and(|c| c == a));
    }
}
