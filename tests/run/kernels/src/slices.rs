//! Slices and arrays: sorting, searching, copying, splitting, comparing.

use crate::{cases, mix};
use alloc::vec::Vec;

fn numbers(i: u32, n: usize) -> Vec<u32> {
    (0..n as u64)
        .map(|k| (mix(u64::from(i) << 20 | k) % 50) as u32)
        .collect()
}

cases! {
    fn slice_sort(i, record) {
        for n in [0, 1, 2, 5, 20, 70] {
            let mut v = numbers(i, n);
            v.sort_unstable();
            record.put(v.is_sorted());
            record.put(v.iter().fold(0u64, |a, b| a.wrapping_mul(31) + u64::from(*b)));
        }
        let mut pairs: Vec<(u32, usize)> = numbers(i, 40).into_iter().zip(0..).collect();
        pairs.sort_by_key(|pair| core::cmp::Reverse(pair.0));
        for (a, b) in &pairs[..20] {
            record.put((*a, *b));
        }
    }

    fn slice_sort_floats(i, record) {
        let mut v: Vec<f32> = numbers(i, 30).iter().map(|x| *x as f32 * 0.7 - 12.0).collect();
        v[3] = f32::NAN;
        v[4] = -0.0;
        v.sort_by(f32::total_cmp);
        record.put(&v[..]);
    }

    fn slice_search(i, record) {
        let mut v = numbers(i, 40);
        v.sort();
        v.dedup();
        record.put(&v[..]);
        for x in [0, 7, 25, 49, 100] {
            record.put(v.binary_search(&x));
            record.put(v.partition_point(|y| *y < x));
        }
        record.put((v.contains(&3), v.starts_with(&[0]), v.first().copied(), v.last().copied()));
    }

    fn slice_rearrange(i, record) {
        let mut v = numbers(i, 12);
        v.reverse();
        v.swap(2, 9);
        record.put(&v[..]);
        v.copy_within(1..5, 6);
        v[..3].fill(99);
        v[3..6].fill_with(|| i);
        record.put(&v[..]);
        let (left, right) = v.split_at_mut(6);
        left.swap_with_slice(right);
        left[0] = right[5];
        record.put(&v[..]);
    }

    fn slice_rotate(i, record) {
        let mut v = numbers(i, 12);
        v.rotate_left(i as usize % 12);
        record.put(&v[..]);
    }

    fn slice_select(i, record) {
        let mut v = numbers(i, 12);
        v.select_nth_unstable(5);
        record.put(v[5]);
    }

    fn slice_split(i, record) {
        let v = numbers(i, 15);
        let (a, b) = v.split_at(i as usize % 15);
        record.put((a.len(), b.first().copied()));
        record.put(v.split_first().map(|(x, rest)| x + rest.len() as u32));
        record.put(v.get(2..5).map(|s| s.iter().sum::<u32>()));
        record.put(v.get(10..20).is_none());
        record.put((&v[3..=4], &v[13..]));
        for part in v.chunk_by(|a, b| a <= b) {
            record.put(part.len());
        }
        record.put(v.concat_with(&v).len());
    }

    fn slice_compare(i, record) {
        let (a, b) = (numbers(i, 6), numbers(i + 1, 6));
        record.put((a == b, a < b, a[..3] <= a[..4], a.cmp(&b)));
        record.put(a.iter().copied().eq(b.iter().copied().rev()));
        record.put(([1u8, 2, 3] < [1, 2, 4], b"abc" == b"abd", b"abc".cmp(b"abd")));
    }

    fn slice_bytes(i, record) {
        let words = [mix(i.into()), mix(u64::from(i) + 1)];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
        record.put(&bytes[..]);
        let again = u32::from_le_bytes(bytes[3..7].try_into().unwrap());
        record.put(again);
        let (head, middle, tail) = unsafe { bytes[1..].align_to::<u8>() };
        record.put((head.len(), middle.len(), tail.len()));
        let mut copy = [0; 16];
        copy.copy_from_slice(&bytes);
        copy[4..8].clone_from_slice(&bytes[..4]);
        record.put(copy);
    }

    /// A loop's counter is compared with where it began: libnvvm once took that for the loop's end.
    fn slice_counters(i, record) {
        let values: [u64; 5] = core::array::from_fn(|k| mix(u64::from(i) + k as u64));
        let mut sum = 0u64;
        for start in 0..values.len() {
            for end in start..values.len() {
                let part = &values[start..end];
                record.put(part.is_empty());
                sum = part.iter().fold(sum, |sum, x| sum.rotate_left(1) ^ x);
            }
        }
        record.put(sum);
    }
}

trait ConcatWith {
    fn concat_with(&self, other: &[u32]) -> Vec<u32>;
}

impl ConcatWith for Vec<u32> {
    fn concat_with(&self, other: &[u32]) -> Vec<u32> {
        [&self[..], other].concat()
    }
}
