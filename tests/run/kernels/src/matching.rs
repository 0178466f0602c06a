//! `match` and patterns: ranges, slices, guards, bindings, tuples, strings, `let else`.

use crate::{cases, mix};
use core::cmp::Ordering;

fn grade(points: u32) -> char {
    match points {
        0 => 'F',
        1..=9 => 'E',
        10..20 => 'D',
        20 | 30 | 40 | 50 => 'r',
        x if x % 7 == 0 => 's',
        21..=59 => 'C',
        60..=u32::MAX => 'A',
    }
}

/// How a letter sounds, with constants of different sizes.
#[derive(Clone, Copy, PartialEq)]
enum Sound {
    Consonant(u8, u64),
    Vowel,
    Silent,
}

impl Sound {
    fn of(letter: u8) -> Sound {
        match letter {
            b'b' | b'f' | b'p' | b'v' => Sound::Consonant(b'1', u64::MAX),
            b'c' | b'g' | b'j' | b'k' | b'q' | b's' | b'x' | b'z' => Sound::Consonant(b'2', 3),
            b'd' | b't' => Sound::Consonant(b'3', 1 << 40),
            b'l' => Sound::Consonant(b'4', 5),
            b'm' | b'n' => Sound::Consonant(b'5', 6),
            b'r' => Sound::Consonant(b'6', 7),
            b'h' | b'w' => Sound::Silent,
            _ => Sound::Vowel,
        }
    }
}

fn describe(slice: &[u8]) -> u32 {
    match slice {
        [] => 0,
        [x] => 10 + u32::from(*x),
        [first, .., last] if first == last => 20 + u32::from(*first),
        [0, rest @ ..] => 1000 + describe(rest),
        [a, b] => 30 + u32::from(a ^ b),
        [a, .., b] => 100 + u32::from(*a).abs_diff(u32::from(*b)),
    }
}

fn keyword(text: &str) -> Option<u8> {
    Some(match text {
        "if" => 1,
        "else" => 2,
        "while" => 3,
        "" => 4,
        other if other.starts_with('x') => 5,
        _ => return None,
    })
}

fn dense(x: u8) -> i32 {
    match x {
        0 => 7,
        1 => -2,
        2 => 88,
        3 => 41,
        4 => 0,
        5 => 17,
        6 => -100,
        7 => 3,
        8 => 55,
        9 => 1 << 30,
        _ => -1,
    }
}

struct Point {
    x: i32,
    y: i32,
    z: i32,
}

cases! {
    fn match_ranges(i, record) {
        for k in 0..12 {
            record.put(grade(i + k * 7));
        }
        record.put(grade(u32::MAX));
    }

    fn match_slices(i, record) {
        let bytes = [i as u8 % 3, 0, 3, 0, 5, i as u8];
        for end in 0..=bytes.len() {
            record.put(describe(&bytes[..end]));
            record.put(describe(&bytes[end..]));
        }
        if let [a, b, ..] = bytes {
            record.put((a, b));
        }
        let [first, middle @ .., last] = bytes;
        record.put((first, middle, last));
    }

    fn match_strings(i, record) {
        for text in ["if", "else", "while", "", "xyz", "unknown", "i", "iff"] {
            record.put(keyword(&text[..text.len() - (i as usize % 2).min(text.len())]));
        }
    }

    fn match_dense(i, record) {
        for k in 0..16 {
            record.put(dense((i as u8).wrapping_add(k) % 12));
        }
    }

    fn match_orderings(i, record) {
        for k in 0..10u32 {
            let word = match i.cmp(&(k * 5)) {
                Ordering::Less => "less",
                Ordering::Equal => "equal",
                Ordering::Greater => "greater",
            };
            record.put(word);
            record.put(i.cmp(&k).then(k.cmp(&3)).reverse());
        }
        record.put((1, "b", 2.0).partial_cmp(&(1, "a", f64::NAN)));
    }

    fn match_tuples(i, record) {
        for k in 0..9 {
            let n = match (k % 3, (i + k) % 3, i % 2 == 0) {
                (0, 0, _) => 1,
                (0, y @ 1..=2, true) => 10 + y,
                (x, y, false) if x == y => 20 + x,
                (x, _, true) => 30 + x,
                (_, y, _) => 40 + y,
            };
            record.put(n);
        }
    }

    fn match_structs(i, record) {
        for k in 0..6 {
            let point = Point { x: (i % 3) as i32, y: k - 2, z: (i as i32 + k) % 4 };
            let n = match point {
                Point { x: 0, y: 0, .. } => 1,
                Point { x: 0, y, z: 1 | 3 } => 100 + y,
                Point { x, y: 1.., z } => x * 10 + z,
                Point { z, .. } if z > 1 => z,
                Point { x, y, z } => x + y * 2 + z * 3,
            };
            record.put(n);
        }
    }

    fn match_references(i, record) {
        let pairs = [(1, Some(i)), (2, None), (i, Some(3))];
        for (a, b) in &pairs {
            match b {
                Some(x) if x == a => record.put(*x),
                Some(x @ 2..=4) => record.put(x + 100),
                &Some(x) => record.put(x),
                None => record.put(*a),
            }
        }
        let mut pair = (i, [1, 2]);
        let (ref mut a, [_, b]) = pair;
        *a += b;
        record.put(pair.0);
    }

    fn match_let_else(i, record) {
        fn middle(text: &str) -> Option<u32> {
            let Some((_, rest)) = text.split_once('<') else {
                return None;
            };
            let (number, _) = rest.split_once('>')?;
            number.parse().ok()
        }
        record.put((middle("a<12>b"), middle("<x>"), middle("12>"), middle("a<7")));
        let n = if let 3..=8 = i && let Some(x) = i.checked_sub(5) { x } else { 99 };
        record.put(n);
        let mut stack = alloc::vec![i, 3, 0, 5];
        while let Some(top) = stack.pop() && top != 0 {
            record.put(top);
        }
        record.put(stack.len());
    }

    fn match_tables(i, record) {
        let text = [mix(i.into()), mix(!u64::from(i)), 0x7877_6a69_6867_6261].map(u64::to_le_bytes);
        let (mut last, mut sum) = (Sound::Vowel, 0u64);
        for &byte in text.as_flattened() {
            for byte in [byte, byte % 27 + b'`', b'z' - byte % 30] {
                let sound = Sound::of(byte);
                match sound {
                    Sound::Consonant(digit, weight) if last != sound => {
                        sum = sum.wrapping_mul(weight).wrapping_add(digit.into());
                        last = sound;
                    }
                    Sound::Consonant(..) => sum = sum.rotate_left(3),
                    Sound::Vowel => last = sound,
                    Sound::Silent => {}
                }
            }
        }
        record.put(sum);
        for code in [i32::MIN, -4, -3, -2, -1, 0, 1, 2, 59, 60, 61, i as i32 % 70 - 4] {
            record.put(match code {
                -3 => 7i16,
                -2 => -9,
                -1 => 1000,
                0 | 59 => 7,
                1 => i as i16,
                _ => -32_768,
            });
            record.put(match code {
                0 | 3 => 7u8,
                1 | 4 => 9,
                2 | 59 => 1,
                5 => 255,
                _ => code as u8,
            });
        }
    }

    fn match_consts(i, record) {
        const LOW: u64 = 1 << 40;
        const HIGH: u64 = u64::MAX - 3;
        for n in [mix(i.into()), LOW, HIGH, LOW + 1] {
            record.put(match n {
                LOW => 1,
                HIGH.. => 2,
                LOW..HIGH => 3,
                _ => 4,
            });
        }
        record.put(matches!('a'.wrapping(i), 'a'..='m' | 'x'));
    }
}

trait Wrapping {
    fn wrapping(self, by: u32) -> char;
}

impl Wrapping for char {
    fn wrapping(self, by: u32) -> char {
        char::from(b'a' + ((self as u32 - 97 + by) % 26) as u8)
    }
}
