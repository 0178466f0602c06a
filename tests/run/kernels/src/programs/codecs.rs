//! Codecs and checksums: tables made by constant functions, bit streams, slices of bytes, text.

use crate::{Put, Record, cases, mix};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut k = 0;
    while k < 256 {
        let mut crc = k as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[k] = crc;
        k += 1;
    }
    table
};

fn crc32(bytes: &[u8]) -> u32 {
    !bytes
        .iter()
        .fold(!0, |crc, &b| CRC[usize::from(crc as u8 ^ b)] ^ (crc >> 8))
}

fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1u32, 0u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65521;
        (a, (b + a) % 65521)
    });
    b << 16 | a
}

/// The message digest of RFC 1321, but for the constants.
fn md5(message: &[u8]) -> [u8; 16] {
    const SHIFTS: [[u32; 4]; 4] = [
        [7, 12, 17, 22],
        [5, 9, 14, 20],
        [4, 11, 16, 23],
        [6, 10, 15, 21],
    ];
    let sines: [u32; 64] = SINES;
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend_from_slice(&(message.len() as u64 * 8).to_le_bytes());
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for chunk in padded.chunks_exact(64) {
        let mut words = [0u32; 16];
        for (word, bytes) in words.iter_mut().zip(chunk.chunks(4)) {
            *word = u32::from_le_bytes(bytes.try_into().unwrap());
        }
        let [mut a, mut b, mut c, mut d] = state;
        for k in 0..64 {
            let (f, g) = match k / 16 {
                0 => ((b & c) | (!b & d), k),
                1 => ((d & b) | (!d & c), 5 * k + 1),
                2 => (b ^ c ^ d, 3 * k + 5),
                _ => (c ^ (b | !d), 7 * k),
            };
            let sum = a
                .wrapping_add(f)
                .wrapping_add(sines[k])
                .wrapping_add(words[g % 16]);
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(SHIFTS[k / 16][k % 4]));
        }
        for (s, x) in state.iter_mut().zip([a, b, c, d]) {
            *s = s.wrapping_add(x);
        }
    }
    let mut digest = [0; 16];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

/// Numbers that take the place of the digest's table of sines: any will do, if both sides have them.
const SINES: [u32; 64] = {
    let mut table = [0u32; 64];
    let mut x = 0x9e37_79b9_7f4a_7c15u64;
    let mut k = 0;
    while k < table.len() {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        table[k] = (x >> 32) as u32;
        k += 1;
    }
    table
};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut buffer = [0; 4];
        buffer[1..=chunk.len()].copy_from_slice(chunk);
        let group = u32::from_be_bytes(buffer);
        for k in 0..4 {
            if k <= chunk.len() {
                text.push(ALPHABET[(group >> (18 - 6 * k)) as usize % 64].into());
            } else {
                text.push('=');
            }
        }
    }
    text
}

fn from_base64(text: &str) -> Result<Vec<u8>, (usize, char)> {
    let mut bytes = Vec::new();
    let (mut group, mut bits) = (0u32, 0);
    for (at, c) in text.char_indices().take_while(|(_, c)| *c != '=') {
        let value = match c {
            'A'..='Z' => c as u32 - 'A' as u32,
            'a'..='z' => c as u32 - 'a' as u32 + 26,
            '0'..='9' => c as u32 - '0' as u32 + 52,
            '+' => 62,
            '/' => 63,
            _ => return Err((at, c)),
        };
        group = group << 6 | value;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((group >> bits) as u8);
        }
    }
    Ok(bytes)
}

enum Token {
    Literal(u8),
    Copy { back: u16, length: u8 },
}

fn compress(input: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < input.len() {
        let best = (1..=at.min(64))
            .map(|back| {
                let same = input[at..].iter().zip(&input[at - back..]).take(250);
                (same.take_while(|(a, b)| a == b).count(), Reverse(back))
            })
            .max();
        match best {
            Some((length, Reverse(back))) if length >= 3 => {
                tokens.push(Token::Copy {
                    back: back as u16,
                    length: length as u8,
                });
                at += length;
            }
            _ => {
                tokens.push(Token::Literal(input[at]));
                at += 1;
            }
        }
    }
    tokens
}

fn expand(tokens: &[Token]) -> Vec<u8> {
    tokens.iter().fold(Vec::new(), |mut output, token| {
        match *token {
            Token::Literal(byte) => output.push(byte),
            Token::Copy { back, length } => {
                for _ in 0..length {
                    output.push(output[output.len() - usize::from(back)]);
                }
            }
        }
        output
    })
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Huffman {
    Leaf(u8),
    Node(Box<Huffman>, Box<Huffman>),
}

impl Huffman {
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut counts = BTreeMap::<u8, u32>::new();
        bytes
            .iter()
            .for_each(|b| *counts.entry(*b).or_insert(0) += 1);
        let mut heap: BinaryHeap<_> = counts
            .into_iter()
            .map(|(byte, count)| Reverse((count, Huffman::Leaf(byte))))
            .collect();
        loop {
            let Reverse((a, left)) = heap.pop()?;
            let Some(Reverse((b, right))) = heap.pop() else {
                break Some(left);
            };
            heap.push(Reverse((
                a + b,
                Huffman::Node(Box::new(left), Box::new(right)),
            )));
        }
    }

    fn codes(&self, code: &mut Vec<bool>, codes: &mut BTreeMap<u8, Vec<bool>>) {
        match self {
            Huffman::Leaf(byte) => drop(codes.insert(*byte, code.clone())),
            Huffman::Node(left, right) => {
                for (side, child) in [(false, left), (true, right)] {
                    code.push(side);
                    child.codes(code, codes);
                    code.pop();
                }
            }
        }
    }

    fn decode(&self, mut bits: impl Iterator<Item = bool>) -> Vec<u8> {
        let mut bytes = Vec::new();
        'symbols: loop {
            let mut node = self;
            while let Huffman::Node(left, right) = node {
                node = match bits.next() {
                    Some(false) => left,
                    Some(true) => right,
                    None => break 'symbols bytes,
                };
            }
            let Huffman::Leaf(byte) = node else {
                unreachable!()
            };
            bytes.push(*byte);
            if matches!(self, Huffman::Leaf(_)) {
                break bytes;
            }
        }
    }
}

fn leb128(mut n: u64) -> impl Iterator<Item = u8> {
    let mut done = false;
    core::iter::from_fn(move || {
        if done {
            return None;
        }
        let byte = n as u8 & 0x7f;
        n >>= 7;
        done = n == 0;
        Some(if done { byte } else { byte | 0x80 })
    })
}

fn unleb128(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        n |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

fn sample(i: u32) -> Vec<u8> {
    let words = ["the ", "cat ", "sat ", "on ", "mat. "];
    (0..i % 20 + 3)
        .flat_map(|k| words[mix(u64::from(i * 20 + k)) as usize % 5].bytes())
        .collect()
}

cases! {
    fn program_checksums(i, record) {
        let bytes = sample(i);
        record.put((crc32(&bytes), adler32(&bytes)));
        record.put(crc32(b"123456789") == 0xcbf4_3926);
        record.put(u128::from_le_bytes(md5(&bytes)));
        record.put(u128::from_be_bytes(md5(&bytes[..i as usize % 3])));
    }

    fn program_base64(i, record) {
        let bytes: Vec<u8> = (0..i % 24).map(|k| mix(u64::from(i + k)) as u8).collect();
        let text = to_base64(&bytes);
        record.put(&*text);
        record.put(from_base64(&text).as_ref() == Ok(&bytes));
        record.put(from_base64("Zm9v*mFy").err());
    }

    fn program_compression(i, record) {
        let bytes = sample(i);
        let tokens = compress(&bytes);
        record.put((bytes.len(), tokens.len()));
        for token in &tokens {
            match token {
                Token::Literal(byte) => record.put(*byte),
                Token::Copy { back, length } => record.put((*back, *length)),
            }
        }
        record.put(expand(&tokens) == bytes);
    }

    fn program_huffman(i, record) {
        let bytes = sample(i);
        let tree = Huffman::of(&bytes).unwrap();
        let mut codes = BTreeMap::new();
        tree.codes(&mut Vec::new(), &mut codes);
        for (byte, code) in &codes {
            record.put((*byte, code.iter().fold(1u32, |n, &bit| n << 1 | u32::from(bit))));
        }
        let bits: Vec<bool> = bytes.iter().flat_map(|b| codes[b].iter().copied()).collect();
        record.put(bits.len());
        record.put(tree.decode(bits.into_iter()) == bytes);
    }

    fn program_numbers_in_bytes(i, record) {
        let numbers: [u64; 6] = core::array::from_fn(|k| mix(u64::from(i) + k as u64) >> (k * 11));
        let bytes: Vec<u8> = numbers.iter().copied().flat_map(leb128).collect();
        record.put(&bytes[..]);
        let mut rest = &bytes[..];
        let back: Vec<u64> = core::iter::from_fn(|| unleb128(&mut rest)).collect();
        record.put(back == numbers);
        record.put(unleb128(&mut &[0x80u8][..]));
    }
}
