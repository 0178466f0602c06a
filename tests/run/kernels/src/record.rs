//! The results of a case: a list of numbers that host and device can compare, and that shows at
//! which step they part.

use core::cmp::Ordering;

/// The capacity of a record, in numbers; further numbers are folded into a checksum.
pub const CAPACITY: usize = 96;

/// How a number of a record is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Bit by bit.
    #[default]
    Exact,
    /// As an `f32` that the device may compute a little differently.
    Near32,
    /// As an `f64` that the device may compute a little differently.
    Near64,
}

/// The results of one run of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Record {
    len: u64,
    checksum: u64,
    words: [u64; CAPACITY],
    kinds: [Kind; CAPACITY],
}

impl Default for Record {
    fn default() -> Self {
        Self {
            len: 0,
            checksum: 0,
            words: [0; CAPACITY],
            kinds: [Kind::Exact; CAPACITY],
        }
    }
}

impl Record {
    /// Adds a result.
    #[inline(never)]
    pub fn word(&mut self, word: u64, kind: Kind) {
        let i = self.len as usize;
        if i < CAPACITY {
            self.words[i] = word;
            self.kinds[i] = kind;
        } else {
            self.checksum = mix(self.checksum ^ word);
        }
        self.len += 1;
    }

    /// Adds a result of any type that has an order of words.
    pub fn put(&mut self, value: impl Put) {
        value.put(self);
    }

    /// Adds a float that need not be exact.
    pub fn near32(&mut self, value: f32) {
        self.word(value.to_bits().into(), Kind::Near32);
    }

    /// Adds a float that need not be exact.
    pub fn near64(&mut self, value: f64) {
        self.word(value.to_bits(), Kind::Near64);
    }

    /// How many results were added.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The checksum of the results that are not kept.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The results that are kept.
    pub fn words(&self) -> impl Iterator<Item = (u64, Kind)> + '_ {
        let len = CAPACITY.min(self.len as usize);
        self.words[..len]
            .iter()
            .copied()
            .zip(self.kinds[..len].iter().copied())
    }
}

/// Text written to a record becomes words of up to eight bytes.
impl core::fmt::Write for Record {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        self.put(s);
        Ok(())
    }
}

/// A number that looks random and differs for each `seed` (splitmix64).
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A value that can be recorded.
pub trait Put {
    /// Adds the value to a record.
    fn put(self, record: &mut Record);
}

macro_rules! put_integers {
    ($($ty:ty)*) => {$(
        impl Put for $ty {
            fn put(self, record: &mut Record) {
                record.word(self as u64, Kind::Exact);
            }
        }
    )*};
}
put_integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize bool char);

impl Put for u128 {
    fn put(self, record: &mut Record) {
        record.put(self as u64);
        record.put((self >> 64) as u64);
    }
}

impl Put for i128 {
    fn put(self, record: &mut Record) {
        record.put(self as u128);
    }
}

/// Bit by bit, but every NaN is the same: Rust leaves its payload open.
impl Put for f32 {
    fn put(self, record: &mut Record) {
        record.put(if self.is_nan() {
            u32::MAX
        } else {
            self.to_bits()
        });
    }
}

/// Bit by bit, but every NaN is the same: Rust leaves its payload open.
impl Put for f64 {
    fn put(self, record: &mut Record) {
        record.put(if self.is_nan() {
            u64::MAX
        } else {
            self.to_bits()
        });
    }
}

impl Put for &str {
    fn put(self, record: &mut Record) {
        record.put(self.len());
        for part in self.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            record.put(u64::from_le_bytes(word));
        }
    }
}

impl Put for Ordering {
    fn put(self, record: &mut Record) {
        record.put(self as i8);
    }
}

impl Put for () {
    fn put(self, _: &mut Record) {}
}

impl<T: Put> Put for Option<T> {
    fn put(self, record: &mut Record) {
        match self {
            Some(value) => {
                record.put(1u8);
                record.put(value);
            }
            None => record.put(0u8),
        }
    }
}

impl<T: Put, E: Put> Put for Result<T, E> {
    fn put(self, record: &mut Record) {
        match self {
            Ok(value) => {
                record.put(0u8);
                record.put(value);
            }
            Err(error) => {
                record.put(1u8);
                record.put(error);
            }
        }
    }
}

impl<T: Put + Copy> Put for &[T] {
    fn put(self, record: &mut Record) {
        record.put(self.len());
        for &value in self {
            record.put(value);
        }
    }
}

impl<T: Put + Copy, const N: usize> Put for [T; N] {
    fn put(self, record: &mut Record) {
        for value in self {
            record.put(value);
        }
    }
}

macro_rules! put_tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: Put),*> Put for ($($name,)*) {
            #[allow(non_snake_case)]
            fn put(self, record: &mut Record) {
                let ($($name,)*) = self;
                $(record.put($name);)*
            }
        }
    )*};
}
put_tuples!((A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F));
