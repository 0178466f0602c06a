//! A case's input: random values, the same for the same number, with the types' edge values among
//! them.

use crate::record::mix;
use alloc::string::String;
use alloc::vec::Vec;

/// A source of values for one run of a case.
#[derive(Clone, Debug)]
pub struct Input {
    /// Which input this is.
    pub number: u32,
    state: u64,
}

impl Input {
    /// The input of a number.
    pub fn new(number: u32) -> Self {
        Self {
            number,
            state: mix(u64::from(number) << 20),
        }
    }

    /// Random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A random number less than `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    /// Words of a few letters, digits and signs.
    pub fn words(&mut self) -> String {
        const PARTS: [&str; 12] = [
            "a",
            "b",
            "foo",
            "bar",
            "2026-11-21",
            "17",
            "@",
            ".com",
            " ",
            "é",
            "-",
            "x_y",
        ];
        (0..self.below(25))
            .map(|_| PARTS[self.below(12) as usize])
            .collect()
    }

    /// An integer, one in four of them an edge value and one in four small.
    pub fn integer(&mut self) -> u64 {
        const EDGES: [u64; 12] = [
            0,
            1,
            2,
            0x7f,
            0xff,
            0x7fff,
            0x8000_0000,
            0xffff_ffff,
            0x7fff_ffff_ffff_ffff,
            0x8000_0000_0000_0000,
            u64::MAX - 1,
            u64::MAX,
        ];
        match self.below(4) {
            0 => EDGES[self.below(12) as usize],
            1 => self.below(1000),
            _ => self.bits(),
        }
    }

    /// A wide integer, with as many edge values.
    pub fn wide(&mut self) -> u128 {
        let high = if self.below(3) == 0 {
            0
        } else {
            self.integer()
        };
        u128::from(high) << 64 | u128::from(self.integer())
    }

    /// A double of ordinary size, an edge value, or any bits.
    pub fn double(&mut self) -> f64 {
        const EDGES: [f64; 12] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            f64::MIN_POSITIVE,
            5e-324,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            f64::EPSILON,
        ];
        match self.below(4) {
            0 => EDGES[self.below(12) as usize],
            1 => f64::from_bits(self.bits()),
            _ => self.ordinary(),
        }
    }

    /// A float of ordinary size, an edge value, or any bits.
    pub fn float(&mut self) -> f32 {
        match self.below(4) {
            0 => f32::from_bits(self.bits() as u32),
            _ => self.double() as f32,
        }
    }

    /// A double between -100 and 100.
    pub fn ordinary(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64 * 200.0 - 100.0
    }

    /// Fills a slice with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = (self.bits() >> 32) as u8;
        }
    }

    /// Random bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// At most `max` random bytes; the first inputs have each length from zero on.
    pub fn bytes(&mut self, max: usize) -> Vec<u8> {
        let len = match self.number as usize {
            number if number <= max && number < 160 => number,
            _ => self.below(max as u64 + 1) as usize,
        };
        let mut bytes = alloc::vec![0; len];
        self.fill(&mut bytes);
        bytes
    }
}
