//! AES-128 in counter mode.

use super::Scale;
use crate::case::{Args, Buffer, Case, close, random, upload, zeroed};
use bench_kernels::ciphers::ROUNDS;
use cust::error::CudaResult;
use cust::vector::U32x4;

/// Returns a byte times two in AES's field.
fn double(x: u8) -> u8 {
    x << 1 ^ if x & 0x80 != 0 { 0x1b } else { 0 }
}

/// Returns the product of two bytes in AES's field.
fn product(a: u8, b: u8) -> u8 {
    (0..8).rev().fold(0, |sum, bit| {
        double(sum) ^ if b >> bit & 1 == 1 { a } else { 0 }
    })
}

/// Returns the substitution of bytes: an affine map of the inverse.
fn substitution() -> [u8; 256] {
    std::array::from_fn(|i| {
        let inverse = (1..=255).find(|&x| product(i as u8, x) == 1).unwrap_or(0);
        (0..5).fold(0x63, |sum, bits| sum ^ inverse.rotate_left(bits))
    })
}

/// Returns the keys of all rounds, as big-endian words.
fn expand(key: [u8; 16], substitutes: &[u8; 256]) -> [[u32; 4]; ROUNDS + 1] {
    let mut words: Vec<u32> = (key.as_chunks::<4>().0.iter())
        .map(|bytes| u32::from_be_bytes(*bytes))
        .collect();
    let mut constant = 1u8;
    for i in 4..4 * (ROUNDS + 1) {
        let mut word = words[i - 1];
        if i % 4 == 0 {
            let bytes = word.rotate_left(8).to_be_bytes();
            word = u32::from_be_bytes(bytes.map(|byte| substitutes[usize::from(byte)]));
            word ^= u32::from(constant) << 24;
            constant = double(constant);
        }
        words.push(words[i - 4] ^ word);
    }
    std::array::from_fn(|round| std::array::from_fn(|j| words[4 * round + j]))
}

/// Encrypts a block byte by byte.
fn encrypt(
    mut block: [u8; 16],
    keys: &[[u32; 4]; ROUNDS + 1],
    substitutes: &[u8; 256],
) -> [u8; 16] {
    for (round, key) in keys.iter().enumerate() {
        if round > 0 {
            let old = block.map(|byte| substitutes[usize::from(byte)]);
            for (i, byte) in block.iter_mut().enumerate() {
                *byte = old[(i + 4 * (i % 4)) % 16];
            }
        }
        if round > 0 && round < ROUNDS {
            for column in block.as_chunks_mut::<4>().0 {
                let all = column.iter().fold(0, |all, byte| all ^ byte);
                let old = *column;
                for (i, byte) in column.iter_mut().enumerate() {
                    *byte ^= all ^ double(old[i] ^ old[(i + 1) % 4]);
                }
            }
        }
        let key = key.iter().flat_map(|word| word.to_be_bytes());
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
    }
    block
}

pub fn aes_ctr(scale: Scale) -> CudaResult<Case> {
    let n = scale.pick(300, 1 << 23);
    let values: Vec<u32> = (0..4 * n as u64).map(|i| random(i) as u32).collect();
    let substitutes = substitution();
    let table: [u32; 256] = std::array::from_fn(|i| {
        let byte = substitutes[i];
        u32::from_be_bytes([double(byte), byte, byte, double(byte) ^ byte])
    });
    let keys = expand(
        std::array::from_fn(|i| random(i as u64) as u8),
        &substitutes,
    );
    let nonce: [u32; 3] = std::array::from_fn(|i| random(i as u64) as u32);
    let (from_table, from_substitutes) = (upload(&table)?, upload(&substitutes)?);
    let (from_keys, from_nonce) = (upload(&keys)?, upload(&nonce)?);
    let from = upload(&values)?;
    let to: Buffer<u32> = zeroed(4 * n)?;
    let tables = Args::new()
        .pointer(&from_table)
        .pointer(&from_substitutes)
        .pointer(&from_keys)
        .pointer(&from_nonce);
    let pointers = tables.clone().pointer(&from).pointer(&to);
    Ok(Case::new("aes_ctr", n.div_ceil(256), 256)
        .args(
            pointers.clone().value(n as i32),
            pointers.value(n),
            tables.vectors::<U32x4>(&from).output_vectors::<U32x4>(&to),
        )
        .input(&from_table)
        .input(&from_substitutes)
        .input(&from_keys)
        .input(&from_nonce)
        .input(&from)
        .output(&to)
        .bytes(32 * n)
        .check(move || {
            close(&to, 0.0, 0.0, |i| {
                let counter = [nonce[0], nonce[1], nonce[2], (i / 4) as u32];
                let mut block = [0; 16];
                for (bytes, word) in block.as_chunks_mut::<4>().0.iter_mut().zip(counter) {
                    *bytes = word.to_be_bytes();
                }
                let stream = encrypt(block, &keys, &substitutes);
                let word = u32::from_le_bytes(stream.as_chunks::<4>().0[i % 4]);
                f64::from(values[i] ^ word)
            })
        }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of FIPS 197, appendix B.
    #[test]
    fn encryption_is_the_standards() {
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let plain = 0x3243_f6a8_885a_308d_3131_98a2_e037_0734_u128.to_be_bytes();
        let substitutes = substitution();
        let encrypted = encrypt(plain, &expand(key, &substitutes), &substitutes);
        assert_eq!(
            u128::from_be_bytes(encrypted),
            0x3925_841d_02dc_09fb_dc11_8597_196a_0b32
        );
    }
}
