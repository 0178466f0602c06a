//! Text and sorted sequences: base64, sketches of DNA, and merged arrays.

use cuda_std::PerThreadChunk;
use cuda_std::prelude::*;

/// Returns the letter of six bits in base64.
#[inline(always)]
pub fn letter(bits: u32) -> u8 {
    let bits = bits as u8 & 63;
    match bits {
        0..26 => b'A' + bits,
        26..52 => b'a' + (bits - 26),
        52..62 => b'0' + (bits - 52),
        62 => b'+',
        _ => b'/',
    }
}

/// Returns the four letters of three bytes, the first one in the lowest byte.
#[inline(always)]
pub fn letters([a, b, c]: [u8; 3]) -> u32 {
    let bits = u32::from_be_bytes([0, a, b, c]);
    u32::from_le_bytes([
        letter(bits >> 18),
        letter(bits >> 12),
        letter(bits >> 6),
        letter(bits),
    ])
}

/// Encodes bytes in base64, three per thread.
#[kernel(block_size(256))]
pub fn base64_encode_safe(from: &[u8], mut to: PerThread<u32>) {
    let (groups, _) = from.as_chunks::<3>();
    to.each_with(groups, |_, to, &group| *to = letters(group));
}

/// Encodes bytes in base64, three per thread.
#[kernel(block_size(256))]
pub unsafe fn base64_encode_raw(from: *const u8, to: *mut u32, n: usize) {
    let i = thread::index_1d() as usize;
    if i < n {
        let from = from.add(3 * i);
        *to.add(i) = letters([*from, *from.add(1), *from.add(2)]);
    }
}

/// The number of letters of a read.
pub const READ: usize = 128;
/// The number of letters of a k-mer.
pub const K: u32 = 15;

/// The last letters of a read, and their reverse complement, two bits per letter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kmer {
    forward: u32,
    reverse: u32,
    length: u32,
}

impl Kmer {
    /// Returns the two bits of a letter, if it is known.
    #[inline(always)]
    fn code(letter: u8) -> Option<u32> {
        Some(match letter {
            b'A' => 0,
            b'C' => 1,
            b'G' => 2,
            b'T' => 3,
            _ => return None,
        })
    }

    /// Appends a letter, and returns the hash of the last [`K`] letters, if all are known. The hash
    /// is the same for both strands.
    #[inline(always)]
    pub fn push(&mut self, letter: u8) -> Option<u32> {
        let Some(code) = Kmer::code(letter) else {
            self.length = 0;
            return None;
        };
        self.forward = (self.forward << 2 | code) & ((1 << (2 * K)) - 1);
        self.reverse = self.reverse >> 2 | (3 - code) << (2 * (K - 1));
        self.length += 1;
        (self.length >= K).then(|| mix(self.forward.min(self.reverse)))
    }
}

/// Returns a hash of a word.
#[inline(always)]
fn mix(mut x: u32) -> u32 {
    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// The least hash of the k-mers of each read: a sketch of sequences of DNA.
#[kernel(block_size(128))]
pub fn min_hash_safe(reads: &[[u8; READ]], mut to: PerThread<u32>) {
    to.each_with(reads, |_, to, read| {
        let mut kmer = Kmer::default();
        let hashes = read.iter().filter_map(|&letter| kmer.push(letter));
        *to = hashes.min().unwrap_or(u32::MAX);
    });
}

/// The least hash of the k-mers of each read: see [`min_hash_safe()`].
#[kernel(block_size(128))]
pub unsafe fn min_hash_raw(reads: *const [u8; READ], to: *mut u32, n: usize) {
    let i = thread::index_1d() as usize;
    if i >= n {
        return;
    }
    let read = reads.add(i) as *const u8;
    let mut kmer = Kmer::default();
    let mut least = u32::MAX;
    for k in 0..READ {
        if let Some(hash) = kmer.push(*read.add(k)) {
            least = least.min(hash);
        }
    }
    *to.add(i) = least;
}

/// The number of elements that a thread merges.
pub const MERGED: usize = 8;

/// Merges two sorted arrays. Each thread finds the start of its elements in both arrays (merge
/// path).
#[kernel(block_size(256))]
pub fn merge_sorted_safe(a: &[u32], b: &[u32], mut to: PerThreadChunk<u32, MERGED>) {
    for (start, chunk) in to.whole() {
        let mut low = start.saturating_sub(b.len());
        let mut high = start.min(a.len());
        while low < high {
            let middle = low.midpoint(high);
            if a[middle] <= b[start - 1 - middle] {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mut rest_a = a[low..].iter().copied().peekable();
        let mut rest_b = b[start - low..].iter().copied().peekable();
        for to in chunk {
            let from_a = match (rest_a.peek(), rest_b.peek()) {
                (Some(a), Some(b)) => a <= b,
                (a, _) => a.is_some(),
            };
            let next = if from_a { rest_a.next() } else { rest_b.next() };
            *to = next.unwrap_or_default();
        }
    }
}

/// Merges two sorted arrays: see [`merge_sorted_safe()`].
#[kernel(block_size(256))]
pub unsafe fn merge_sorted_raw(
    a: *const u32,
    a_len: usize,
    b: *const u32,
    b_len: usize,
    to: *mut u32,
) {
    let start = thread::index_1d() as usize * MERGED;
    if start >= a_len + b_len {
        return;
    }
    let mut low = start.saturating_sub(b_len);
    let mut high = start.min(a_len);
    while low < high {
        let middle = (low + high) / 2;
        if *a.add(middle) <= *b.add(start - 1 - middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let (mut i, mut j) = (low, start - low);
    for k in start..start + MERGED {
        if i < a_len && (j >= b_len || *a.add(i) <= *b.add(j)) {
            *to.add(k) = *a.add(i);
            i += 1;
        } else {
            *to.add(k) = *b.add(j);
            j += 1;
        }
    }
}
