//! The kernel of the example `i128`: arithmetic on 128-bit integers, which CUDA C++ supports only
//! in
//! part. The host computes the same results with the same functions.

#![no_std]

use cuda_std::prelude::*;
use cust_core::DeviceCopy;

/// The operands of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeviceCopy)]
pub struct Operands {
    /// Any number.
    pub a: u128,
    /// Any number but 0.
    pub b: u128,
}

/// The results of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeviceCopy)]
pub struct Results {
    /// `a + b` and `a - b`, wrapping.
    pub sums: [u128; 2],
    /// `a * b`, wrapping.
    pub product: u128,
    /// `a / b` and `a % b`.
    pub quotient: [u128; 2],
    /// The same as signed numbers.
    pub signed_quotient: [i128; 2],
    /// `a` shifted to the left, and to the right as a signed number, by `b % 128`.
    pub shifted: (u128, i128),
    /// `a.pow(b)`, modulo the number given to the kernel.
    pub power: u128,
    /// The greatest common divisor of `a` and `b`.
    pub divisor: u128,
    /// Whether the multiplication overflows as unsigned, and as signed numbers.
    pub overflows: (bool, bool),
    /// The number of one bits, leading zeros and trailing zeros of `a`.
    pub bits: [u32; 3],
}

/// All of a thread's results.
pub fn compute(Operands { a, b }: Operands, modulus: u64) -> Results {
    let (signed_a, signed_b) = (a as i128, b as i128);
    Results {
        sums: [a.wrapping_add(b), a.wrapping_sub(b)],
        product: a.wrapping_mul(b),
        quotient: [a / b, a % b],
        signed_quotient: [
            signed_a.wrapping_div(signed_b),
            signed_a.wrapping_rem(signed_b),
        ],
        shifted: (a << (b % 128), signed_a >> (b % 128)),
        power: power(a, b, modulus),
        divisor: greatest_common_divisor(a, b),
        overflows: (
            a.checked_mul(b).is_none(),
            signed_a.checked_mul(signed_b).is_none(),
        ),
        bits: [a.count_ones(), a.leading_zeros(), a.trailing_zeros()],
    }
}

/// `base.pow(exponent) % modulus`, by squaring; the modulus is below 2⁶⁴, so that products fit.
fn power(base: u128, mut exponent: u128, modulus: u64) -> u128 {
    let modulus = u128::from(modulus);
    let mut square = base % modulus;
    let mut result = 1 % modulus;
    while exponent != 0 {
        if exponent & 1 == 1 {
            result = result * square % modulus;
        }
        square = square * square % modulus;
        exponent >>= 1;
    }
    result
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Computes for one pair of operands in each thread. The last one is a parameter by itself: a
/// struct of 128-bit integers, passed by value.
///
/// # Safety
/// `results` has one more writable element than `operands`.
#[kernel]
pub unsafe fn arithmetic(
    operands: &[Operands],
    last: Operands,
    modulus: u64,
    results: *mut Results,
) {
    let i = thread::index_1d() as usize;
    if i <= operands.len() {
        let operands = operands.get(i).copied().unwrap_or(last);
        unsafe { *results.add(i) = compute(operands, modulus) };
    }
}
