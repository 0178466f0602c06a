//! Integers of fixed width and of any, decimals, and the fields and groups of proofs.

use crate::{Input, cases};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ark_bn254::{Fr, G1Affine, G1Projective};
use ark_ec::{CurveGroup, PrimeGroup};
use ark_ff::{BigInteger, Field, PrimeField};
use bigdecimal::BigDecimal;
use crypto_bigint::{NonZero, U256 as C256};
use dashu_int::{IBig, UBig};
use ff::Field as _;
use group::{Curve, Group};
use primitive_types::{U256 as P256, U512};

/// Up to 76 digits.
fn digits(input: &mut Input) -> String {
    let parts = (0..=input.below(4)).map(|_| format!("{:019}", input.integer() >> 2));
    let text: String = parts.collect();
    let text = text.trim_start_matches('0');
    if text.is_empty() { "0" } else { text }.to_string()
}

fn limbs(input: &mut Input) -> [u64; 4] {
    core::array::from_fn(|_| input.integer())
}

/// Uniform bytes.
fn wide(input: &mut Input) -> [u8; 64] {
    let mut bytes = [0; 64];
    input.fill(&mut bytes);
    bytes
}

cases! {
    "ark-bn254", 50;
    fn bn254_all(mut input, record) {
        let a = Fr::from_le_bytes_mod_order(&input.array::<32>());
        let b = Fr::from_le_bytes_mod_order(&input.array::<32>());
        for x in [a + b, a * b - a, a.square(), a.pow([input.integer()]), a.inverse().unwrap_or(b)] {
            record.put(&x.into_bigint().to_bytes_le()[..]);
        }
        record.put(&a.to_string()[..]);
        let point = G1Projective::generator() * a;
        let sum: G1Affine = (point + G1Projective::generator() * b).into_affine();
        record.put((sum.is_on_curve(), sum.infinity));
        record.put(&sum.x.into_bigint().to_bytes_le()[..]);
    }

    "bigdecimal", 200;
    fn bigdecimal_all(mut input, record) {
        let mut next = || {
            let exponent = input.below(40) as i64 - 20;
            format!("-{}e{exponent}", digits(&mut input)).parse().unwrap_or_else(|_| BigDecimal::from(1))
        };
        let (a, b): (BigDecimal, BigDecimal) = (next(), next() - 1);
        for x in [&a + &b, &a * &b, (&a / &b).with_prec(30), a.with_scale(5)] {
            record.put(&x.to_string()[..]);
        }
        record.put((a.cmp(&b) as i8, a.digits(), a.abs().sqrt().map(|root| root.with_prec(20).digits())));
    }

    "bls12_381", 16;
    fn bls12_all(mut input, record) {
        let scalar = bls12_381::Scalar::from_bytes_wide(&wide(&mut input));
        record.put(scalar.square().to_bytes());
        record.put(Option::from(scalar.invert()).map(|inverse: bls12_381::Scalar| inverse.to_bytes()));
        let point = (bls12_381::G1Projective::generator() * scalar).to_affine();
        let packed = point.to_compressed();
        record.put(packed);
        record.put(bool::from(bls12_381::G1Affine::from_compressed(&packed).is_some()));
        record.put((bls12_381::G2Projective::generator() * scalar).to_affine().to_compressed());
    }

    "bnum", 200;
    fn bnum_all(mut input, record) {
        let text = digits(&mut input);
        let a = bnum::types::U256::from_str_radix(&text, 10).unwrap_or_default();
        let b = bnum::types::U256::from_str_radix(&input.integer().to_string(), 10).unwrap_or_default() | bnum::types::U256::from(true);
        for x in [a / b, a % b, a.wrapping_mul(a), a.wrapping_pow(3), a.isqrt(), a.rotate_left(99)] {
            record.put(&format!("{x} {x:x}")[..]);
        }
        record.put((a.checked_add(a).is_some(), a.count_ones(), a.leading_zeros()));
    }

    "crypto-bigint", 200;
    fn crypto_bigint_all(mut input, record) {
        let (a, b) = (C256::from_words(limbs(&mut input)), C256::from_words(limbs(&mut input)));
        let odd = NonZero::new(b | C256::ONE).expect("it is odd");
        let (quotient, rest) = a.div_rem(&odd);
        for x in [quotient, rest, a.wrapping_mul(&b), a.wrapping_add(&b), a.bitxor(&b), a.shl(77)] {
            record.put(x.to_words());
        }
        record.put((a.bits(), bool::from(a.bit(100)), a.cmp(&b) as i8));
    }

    "dashu-int", 200;
    fn dashu_all(mut input, record) {
        let mut next = || UBig::from_str_radix(&digits(&mut input), 10).unwrap_or_default();
        let (a, b) = (next(), next() + 1u8);
        for x in [&a + &b, &a * &b, &a / &b, &a % &b, a.pow(3), &a >> 65] {
            record.put(&x.to_string()[..]);
        }
        record.put(&format!("{:#x}", IBig::from(a) - IBig::from(b))[..]);
    }

    "ethnum", 200;
    fn ethnum_all(mut input, record) {
        let a = ethnum::U256::from_words(input.wide(), input.wide());
        let b = ethnum::U256::from_words(input.wide() >> 70, input.wide()) | 1;
        for x in [a / b, a % b, a.wrapping_mul(b), a.wrapping_pow(5), a.rotate_left(70)] {
            record.put(&format!("{x} {x:#x}")[..]);
        }
        let signed = a.as_i256();
        record.put(&format!("{} {}", signed / b.as_i256(), signed >> 9)[..]);
        record.put((a.checked_mul(b).is_some(), a.leading_zeros(), a.as_f64()));
    }

    "pasta_curves", 50;
    fn pasta_all(mut input, record) {
        use ff::{FromUniformBytes, PrimeField as _};
        let a = pasta_curves::pallas::Scalar::from_uniform_bytes(&wide(&mut input));
        record.put((a.square() + a).to_repr());
        let (square, root) = pasta_curves::pallas::Scalar::sqrt_ratio(&a, &a.square());
        record.put((bool::from(square), root.to_repr()));
        let point = pasta_curves::pallas::Point::generator() * a;
        record.put(group::GroupEncoding::to_bytes(&point));
    }

    "primitive-types", 200;
    fn primitive_types_all(mut input, record) {
        let (a, b) = (P256(limbs(&mut input)), P256(limbs(&mut input)));
        let product: U512 = a.full_mul(b);
        record.put(product.0);
        for x in [a / (b | P256::one()), a % (b | P256::one()), a.integer_sqrt(), a << 77] {
            record.put(x.0);
        }
        record.put(&format!("{a} {b:?}")[..]);
        record.put((a.overflowing_add(b).1, a.bits() as u64, P256::from_dec_str(&a.to_string()) == Ok(a)));
        let words: Vec<u8> = a.to_big_endian().to_vec();
        record.put(P256::from_big_endian(&words[..20]).low_u64());
    }
}
