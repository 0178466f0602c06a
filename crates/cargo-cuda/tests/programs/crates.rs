//! Crates that choose code by the host's processor, in kernels: `memchr` and `hashbrown` use SSE2,
//! `sha2` and `simdutf8` ask for newer instructions, `glam` defines vectors, and `libm`,
//! `num-bigint`, `cmov` and `constant_time_eq` have inline assembly.

use cuda_std::prelude::*;
use cust::prelude::*;
use sha2::Digest;
use std::error::Error;
use std::hash::{BuildHasherDefault, DefaultHasher};

fn found(text: &[u8]) -> [u32; 2] {
    let index = |found: Option<usize>| found.map_or(u32::MAX, |i| i as u32);
    [
        index(memchr::memchr(b'x', text)),
        index(memchr::memmem::find(text, b"needle")),
    ]
}

fn mapped(n: u32) -> [u32; 2] {
    type Hasher = BuildHasherDefault<DefaultHasher>;
    let mut of_crate: hashbrown::HashMap<u32, u32, Hasher> = (0..n).map(|i| (i * 7, i)).collect();
    of_crate.remove(&14);
    let mut of_std: std::collections::HashMap<String, u32, Hasher> = Default::default();
    for (key, value) in &of_crate {
        *of_std.entry(format!("{}", key % 5)).or_default() += value;
    }
    let sum = of_std.values().sum();
    [of_crate.get(&21).copied().unwrap_or(77), sum]
}

fn hashed(n: u32) -> u32 {
    let digest = sha2::Sha256::digest(n.to_le_bytes());
    u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
}

fn turned(x: f32) -> f32 {
    let turn = glam::Mat4::from_translation(glam::Vec3::new(1.0, 2.0, x));
    (turn * glam::Vec4::new(1.0, 2.0, 3.0, 1.0)).dot(glam::Vec4::ONE)
}

/// Inline assembly for square roots, multiply-adds, divisions, carries and comparisons.
fn assembled(i: u32) -> [u64; 5] {
    use cmov::Cmov;
    let x = f64::from(i) + 0.3;
    let big = |n: u32| num_bigint::BigUint::from(n + 7).pow(60);
    let (a, b) = (big(i), big(i / 2) + 1u32);
    let digits = (&a * 3u32 / &b) ^ ((&a + &b) % (&b - 2u32));
    let mut moved = u64::from(i);
    moved.cmovnz(&77, (i % 2) as u8);
    let equal = constant_time_eq::constant_time_eq(&[i as u8; 40], &[7; 40]);
    let mut text = [b'a'; 80];
    text[70] = 0x7c + i as u8;
    [
        (libm::sqrt(x) + f64::from(libm::sqrtf(x as f32))).to_bits(),
        libm::fma(x, x, -1.0).to_bits() ^ u64::from(libm::fmaf(0.1, i as f32, 1.0).to_bits()),
        digits
            .iter_u64_digits()
            .fold(0, |all, digit| all.rotate_left(9) ^ digit),
        moved + u64::from(equal),
        simdutf8::basic::from_utf8(&text).is_ok().into(),
    ]
}

fn all(i: usize, text: &[u8]) -> ([u32; 5], f32) {
    let [a, b] = found(&text[i..]);
    let [c, d] = mapped(i as u32 + 3);
    ([a, b, c, d, hashed(i as u32)], turned(i as f32))
}

#[kernel]
fn assemblies(mut to: PerThread<[u64; 5]>) {
    to.each(|i, to| *to = assembled(i as u32));
}

#[kernel]
pub fn run(text: &[u8], mut numbers: PerThread<[u32; 5]>, mut floats: PerThread<f32>) {
    for ((i, numbers), (_, float)) in numbers.own().zip(floats.own()) {
        (*numbers, *float) = all(i, text);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    cust::init_auto()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let text = b"there is a needle in the haystack, xylophone and more than sixteen bytes of text";
    let mut numbers = vec![[0; 5]; 32];
    let mut floats = vec![0.0; 32];
    stream.launch((1, 32), run::args(&text[..], &mut numbers, &mut floats))?;
    for i in 0..32 {
        assert_eq!((numbers[i], floats[i]), all(i, text), "{i}");
    }
    let mut results = vec![[0; 5]; 16];
    cust::launch((1, 16), assemblies::args(&mut results))?;
    for (i, result) in results.into_iter().enumerate() {
        assert_eq!(result, assembled(i as u32), "{i}");
    }
    println!("the crates gave what they give on the host");
    Ok(())
}
