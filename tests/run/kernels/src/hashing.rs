//! Hashes: `core::hash` with derived `Hash`, the SipHash of `core`, and hand-written ones.

use crate::{cases, mix};
use alloc::string::String;
use alloc::vec::Vec;
use core::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

#[derive(Hash)]
struct Key {
    id: u32,
    name: String,
    tags: Vec<u8>,
    kind: Kind,
    pair: (i64, Option<char>),
}

#[derive(Hash)]
#[allow(dead_code)]
enum Kind {
    Plain,
    Numbered(u16),
    Named { name: &'static str },
}

#[derive(Default)]
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn key(i: u32) -> Key {
    Key {
        id: i,
        name: alloc::format!("key {i}"),
        tags: alloc::vec![1, 2, i as u8],
        kind: match i % 3 {
            0 => Kind::Plain,
            1 => Kind::Numbered(i as u16),
            _ => Kind::Named { name: "n" },
        },
        pair: (-i64::from(i), char::from_u32(i + 65)),
    }
}

/// A table with open addressing, as one would write without `std`.
struct Table<V> {
    slots: Vec<Option<(u64, V)>>,
}

impl<V: Copy> Table<V> {
    fn slot(&self, key: u64) -> usize {
        let mut at = BuildHasherDefault::<Fnv>::default().hash_one(key) as usize % self.slots.len();
        while self.slots[at].is_some_and(|(other, _)| other != key) {
            at = (at + 1) % self.slots.len();
        }
        at
    }

    fn insert(&mut self, key: u64, value: V) -> Option<V> {
        let at = self.slot(key);
        self.slots[at].replace((key, value)).map(|(_, old)| old)
    }

    fn get(&self, key: u64) -> Option<V> {
        self.slots[self.slot(key)].map(|(_, value)| value)
    }
}

#[allow(deprecated)]
fn sip(value: impl Hash) -> u64 {
    let mut hasher = core::hash::SipHasher::new_with_keys(7, 9);
    value.hash(&mut hasher);
    hasher.finish()
}

cases! {
    fn hash_sip(i, record) {
        record.put(sip(i));
        record.put(sip(key(i)));
        record.put(sip("some text that is longer than one block"));
        record.put(sip((u128::MAX - u128::from(i), true, [1u8, 2])));
    }

    fn hash_own(i, record) {
        let mut hasher = Fnv::default();
        key(i).hash(&mut hasher);
        hasher.write_u32(i);
        record.put(hasher.finish());
    }

    fn hash_table(i, record) {
        let mut table = Table { slots: alloc::vec![None; 64] };
        for k in 0..40 {
            record.put(table.insert(mix(u64::from(i)) % 100 + k % 30, k));
        }
        for k in 0..10 {
            record.put(table.get(mix(u64::from(i)) % 100 + k * 5));
        }
    }

    fn hash_adler(i, record) {
        let (mut a, mut b) = (1u32, 0u32);
        for byte in b"Wikipedia and more".iter().cycle().take(i as usize * 10) {
            a = (a + u32::from(*byte)) % 65_521;
            b = (b + a) % 65_521;
        }
        record.put(b << 16 | a);
    }
}
