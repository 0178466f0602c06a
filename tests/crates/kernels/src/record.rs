//! The results of a case: the first numbers as they are, so that a difference can be shown, and a
//! checksum of all.

/// How many numbers a record keeps.
pub const KEPT: usize = 24;

/// The results of one run of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Record {
    len: u64,
    checksum: u64,
    words: [u64; KEPT],
}

impl Record {
    /// Adds a result.
    #[inline(never)]
    pub fn word(&mut self, word: u64) {
        if let Some(kept) = self.words.get_mut(self.len as usize) {
            *kept = word;
        }
        self.checksum = mix(self.checksum ^ word);
        self.len += 1;
    }

    /// Adds a value.
    pub fn put(&mut self, value: impl Put) {
        value.put(self);
    }

    /// How many results there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The results that are kept.
    pub fn words(&self) -> &[u64] {
        &self.words[..KEPT.min(self.len as usize)]
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
                record.word(self as u64);
            }
        }
    )*};
}
put_integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize bool char);

impl Put for u128 {
    fn put(self, record: &mut Record) {
        record.word(self as u64);
        record.word((self >> 64) as u64);
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

/// Eight bytes to a number, after their count.
impl Put for &[u8] {
    fn put(self, record: &mut Record) {
        record.put(self.len());
        for part in self.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            record.word(u64::from_le_bytes(word));
        }
    }
}

impl Put for &str {
    fn put(self, record: &mut Record) {
        record.put(self.as_bytes());
    }
}

impl<T: Put> Put for Option<T> {
    fn put(self, record: &mut Record) {
        record.put(self.is_some());
        if let Some(value) = self {
            record.put(value);
        }
    }
}

impl<T: Put, const N: usize> Put for [T; N] {
    fn put(self, record: &mut Record) {
        self.into_iter().for_each(|value| record.put(value));
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
put_tuples!((A B)(A B C)(A B C D)(A B C D E));
