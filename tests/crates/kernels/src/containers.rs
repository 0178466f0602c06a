//! Containers, and views of bytes.

use crate::{Input, cases};
use alloc::string::String;
use alloc::vec::Vec;
use arrayvec::{ArrayString, ArrayVec};
use bitvec::prelude::*;
use bytemuck::{Pod, Zeroable};
use core::hash::{BuildHasherDefault, Hasher};
use hashbrown::{HashMap, HashSet};
use indexmap::{IndexMap, IndexSet};
use smallvec::{SmallVec, smallvec};
use zerocopy::byteorder::{BigEndian, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// The crates' own hashers take their seeds from the process, which differs from host to device.
#[derive(Default)]
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

type State = BuildHasherDefault<Fnv>;

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Vertex {
    position: [f32; 3],
    color: u32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    kind: u8,
    length: U16<BigEndian>,
    address: U32<BigEndian>,
}

#[derive(TryFromBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(u8)]
#[expect(dead_code, reason = "made of bytes only")]
enum Level {
    Low = 3,
    Middle = 5,
    High = 250,
}

/// A handful of keys, so that some come twice.
fn key(input: &mut Input) -> u64 {
    let key = input.integer();
    if input.below(2) == 0 { key % 40 } else { key }
}

cases! {
    "hashbrown", 300;
    fn hashbrown_map(mut input, record) {
        let mut map: HashMap<u64, u32, State> = HashMap::default();
        for n in 0..120 {
            match input.below(5) {
                0 => record.put(map.remove(&key(&mut input))),
                1 => record.put(map.get(&key(&mut input)).copied()),
                2 => *map.entry(key(&mut input)).or_insert(7) += n,
                _ => record.put(map.insert(key(&mut input), n)),
            }
        }
        map.retain(|key, _| key % 3 != 0);
        record.put(map.len());
        // The order is that of the search, which is wider on a CPU with vectors.
        let mut all: Vec<(u64, u32)> = map.into_iter().collect();
        all.sort_unstable();
        all.iter().for_each(|pair| record.put(*pair));
    }

    "hashbrown", 200;
    fn hashbrown_set(mut input, record) {
        let mut words = |n: usize| -> HashSet<String, State> {
            (0..n).map(|_| alloc::format!("word {}", key(&mut input) % 60)).collect()
        };
        let (a, b) = (words(30), words(25));
        for set in [&a | &b, &a & &b, &a - &b, &a ^ &b] {
            let mut set: Vec<_> = set.into_iter().collect();
            set.sort();
            record.put(&set.concat()[..]);
        }
        record.put((a.is_subset(&b), a.contains("word 7")));
    }

    "indexmap", 300;
    fn indexmap_map(mut input, record) {
        let mut map: IndexMap<u64, u32, State> = IndexMap::default();
        for n in 0..80 {
            match input.below(6) {
                0 => record.put(map.swap_remove(&key(&mut input))),
                1 => record.put(map.shift_remove(&key(&mut input))),
                2 => record.put(map.get_index_of(&key(&mut input))),
                3 => *map.entry(key(&mut input)).or_default() += n,
                _ => record.put(map.insert_full(key(&mut input), n)),
            }
        }
        if input.number % 2 == 0 {
            map.sort_keys();
        }
        map.iter().for_each(|(key, value)| record.put((*key, *value)));
        record.put(map.pop());
        map.reverse();
        record.put(map.first().map(|(key, value)| (*key, *value)));
        let set: IndexSet<u32, State> = map.values().copied().collect();
        set.iter().for_each(|value| record.put(*value));
    }

    "smallvec", 300;
    fn smallvec_all(mut input, record) {
        let mut small: SmallVec<[u64; 8]> = smallvec![1, 2, 3];
        for _ in 0..input.below(30) {
            match input.below(6) {
                0 => record.put(small.pop()),
                1 => small.insert(input.below(small.len() as u64 + 1) as usize, input.integer()),
                2 if !small.is_empty() => record.put(small.swap_remove(0)),
                3 => small.extend([4, 5, 6]),
                4 => small.truncate(10),
                _ => small.push(input.integer()),
            }
        }
        small.sort_unstable();
        small.dedup();
        record.put((small.len(), small.spilled()));
        small.iter().for_each(|value| record.put(*value));
        small.retain(|value| *value % 2 == 0);
        let strings: SmallVec<[String; 2]> =
            small.iter().map(|value| alloc::format!("{value}")).collect();
        strings.into_iter().for_each(|text| record.put(&text[..]));
    }

    "arrayvec", 300;
    fn arrayvec_all(mut input, record) {
        let mut vec = ArrayVec::<u32, 12>::new();
        for _ in 0..input.below(40) {
            match input.below(5) {
                0 => record.put(vec.pop()),
                1 => record.put(vec.pop_at(input.below(12) as usize)),
                2 => record.put(vec.try_insert(vec.len() / 2, 9).is_ok()),
                _ => record.put(vec.try_push(input.integer() as u32).is_ok()),
            }
        }
        let drained: ArrayVec<u32, 4> = vec.drain(..vec.len().min(3)).collect();
        drained.iter().chain(&vec).for_each(|value| record.put(*value));
        let mut text = ArrayString::<16>::new();
        for value in &vec {
            use core::fmt::Write;
            record.put(write!(text, "{value:x}é").is_ok());
        }
        record.put(text.as_str());
        let full: Result<[u32; 12], _> = vec.into_inner();
        record.put(full.ok());
    }

    "bitvec", 300;
    fn bitvec_all(mut input, record) {
        let mut bits: BitVec<u8, Msb0> = BitVec::from_vec(input.bytes(40));
        record.put((bits.count_ones(), bits.leading_zeros(), bits.last_one()));
        for _ in 0..20 {
            let value = input.below(2) == 0;
            bits.push(value);
        }
        let at = input.below(bits.len() as u64) as usize;
        bits.set(at, true);
        let by = (bits.len() - at / 2) / 3;
        bits[at / 2..].rotate_left(by);
        bits[..at].reverse();
        record.put(bits.iter_ones().take(10).map(|i| i as u64).sum::<u64>());
        record.put(bits.chunks(7).map(|chunk| chunk.load_be::<u8>()).fold(0u64, |sum, chunk| {
            sum.wrapping_mul(31).wrapping_add(u64::from(chunk))
        }));
        record.put(&bits.into_vec()[..]);
        let mut words = [input.bits(), input.bits()];
        let view = words.view_bits_mut::<Lsb0>();
        view[5..69].store_le(input.bits());
        view[60..90].copy_within(0..20, 3);
        record.put((view[3..61].load_be::<u64>(), view.not_any(), words));
    }

    "bytemuck", 300;
    fn bytemuck_all(mut input, record) {
        let vertices: [Vertex; 3] = core::array::from_fn(|_| Vertex {
            position: core::array::from_fn(|_| input.ordinary() as f32),
            color: input.bits() as u32,
        });
        let bytes: &[u8] = bytemuck::cast_slice(&vertices);
        record.put(bytes);
        let words: &[u32] = bytemuck::cast_slice(bytes);
        words.iter().for_each(|word| record.put(*word));
        let from = input.below(48) as usize;
        let part = bytemuck::try_from_bytes::<Vertex>(&bytes[from..(from + 16).min(48)]);
        record.put(part.map(|vertex| vertex.color).ok());
        record.put(bytemuck::pod_read_unaligned::<u64>(&bytes[from.min(40)..from.min(40) + 8]));
        record.put(bytemuck::cast::<[f32; 2], u64>([vertices[0].position[0], 1.0]));
        let (before, middle, after) = bytemuck::pod_align_to::<u8, u64>(&bytes[from..]);
        record.put(before.len() + middle.len() * 8 + after.len());
        record.put(Vertex::zeroed().position);
    }

    "zerocopy", 300;
    fn zerocopy_all(mut input, record) {
        let mut bytes = input.bytes(60);
        if let Ok((header, rest)) = Header::mut_from_prefix(&mut bytes) {
            record.put((header.kind, header.length.get(), header.address.get(), rest.len()));
            header.length.set(header.length.get().wrapping_add(1));
            header.address ^= U32::new(5);
            record.put(header.as_bytes());
            rest.iter_mut().for_each(|byte| *byte |= 1);
        }
        record.put(&bytes[..]);
        match <[Header]>::ref_from_prefix_with_elems(&bytes, 3) {
            Ok((headers, _)) => headers.iter().for_each(|h| record.put(h.address.get())),
            Err(_) => record.put("too short"),
        }
        let levels = [3, 5, 250, input.below(8) as u8];
        for byte in &levels {
            let level = Level::try_ref_from_bytes(core::slice::from_ref(byte));
            record.put(level.map(|level| *level as u8).ok());
        }
        let levels = <[Level]>::try_ref_from_bytes(&levels);
        record.put(levels.map(<[_]>::len).ok());
    }
}
