//! Philox4x32-10, a counter-based generator (Salmon et al., "Parallel random numbers: as easy as 1,
//! 2, 3"): a keyed permutation of 128-bit counters, so every position of every sequence is equally
//! cheap to reach.

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// Returns four random words for a counter and a key. The result depends only on the two arguments,
/// on every machine.
///
/// This is the complete generator. Without any state, `philox4x32([step, cell, 0, 0], [seed, 0])`
/// is a random number for each step and cell of a simulation.
///
/// ```
/// use cuda_std::random::philox4x32;
///
/// let (step, cell, seed) = (3, 5, 42);
/// let words = philox4x32([step, cell, 0, 0], [seed, 0]);
/// assert_eq!(words, philox4x32([step, cell, 0, 0], [seed, 0]));
/// assert_ne!(words, philox4x32([step + 1, cell, 0, 0], [seed, 0]));
/// ```
#[inline]
#[must_use]
pub const fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut a, mut b, mut c, mut d] = counter;
    let [mut k, mut l] = key;
    let mut round = 0;
    loop {
        let first = MULTIPLIERS[0] as u64 * a as u64;
        let second = MULTIPLIERS[1] as u64 * c as u64;
        a = (second >> 32) as u32 ^ b ^ k;
        b = second as u32;
        c = (first >> 32) as u32 ^ d ^ l;
        d = first as u32;
        round += 1;
        if round == 10 {
            return [a, b, c, d];
        }
        k = k.wrapping_add(WEYL[0]);
        l = l.wrapping_add(WEYL[1]);
    }
}

/// A generator based on [`philox4x32`], with the same sequences as cuRAND's
/// `curandStatePhilox4_32_10_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Philox {
    counter: u128,
    key: [u32; 2],
    block: [u32; 4],
    /// The number of words of the current block that have been returned.
    used: u32,
}

impl Philox {
    /// Creates the generator of a subsequence, positioned after `offset` numbers. Threads use their
    /// index as subsequence; launches that continue earlier ones use an offset. Subsequences have
    /// 2⁶⁶ numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// use cuda_std::random::Philox;
    ///
    /// // A launch that continues where an earlier one stopped after 4 numbers per thread.
    /// let (thread, drawn) = (17, 4);
    /// let mut earlier = Philox::new(7, thread, 0);
    /// let mut later = Philox::new(7, thread, drawn);
    /// earlier.next4();
    /// assert_eq!(earlier.next_u32(), later.next_u32());
    /// ```
    #[inline]
    #[must_use]
    pub const fn new(seed: u64, subsequence: u64, offset: u64) -> Philox {
        let key = [seed as u32, (seed >> 32) as u32];
        let counter = ((subsequence as u128) << 64).wrapping_add((offset / 4) as u128);
        Philox {
            counter,
            key,
            block: block(counter, key),
            used: (offset % 4) as u32,
        }
    }

    /// Skips `numbers` numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// use cuda_std::random::Philox;
    ///
    /// let (mut a, mut b) = (Philox::new(7, 0, 0), Philox::new(7, 0, 0));
    /// a.skip(3);
    /// for _ in 0..3 {
    ///     b.next_u32();
    /// }
    /// assert_eq!(a.next_u32(), b.next_u32());
    /// ```
    #[inline]
    pub const fn skip(&mut self, numbers: u64) {
        let used = self.used as u64 + numbers % 4;
        let blocks = (numbers / 4) as u128 + (used / 4) as u128;
        self.counter = self.counter.wrapping_add(blocks);
        self.used = (used % 4) as u32;
        self.block = block(self.counter, self.key);
    }

    /// Returns the next four numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// use cuda_std::random::Philox;
    ///
    /// let (mut a, mut b) = (Philox::new(7, 0, 0), Philox::new(7, 0, 0));
    /// assert_eq!(a.next4(), [(); 4].map(|()| b.next_u32()));
    /// ```
    #[inline]
    pub const fn next4(&mut self) -> [u32; 4] {
        let old = self.block;
        self.counter = self.counter.wrapping_add(1);
        let new = block(self.counter, self.key);
        self.block = new;
        match self.used {
            0 => old,
            1 => [old[1], old[2], old[3], new[0]],
            2 => [old[2], old[3], new[0], new[1]],
            _ => [old[3], new[0], new[1], new[2]],
        }
    }
}

const fn block(counter: u128, key: [u32; 2]) -> [u32; 4] {
    let low = counter as u64;
    let high = (counter >> 64) as u64;
    philox4x32(
        [
            low as u32,
            (low >> 32) as u32,
            high as u32,
            (high >> 32) as u32,
        ],
        key,
    )
}

impl Philox {
    /// Returns the next number.
    #[inline]
    pub const fn next_u32(&mut self) -> u32 {
        // An index would force the block into local memory.
        let number = match self.used {
            0 => self.block[0],
            1 => self.block[1],
            2 => self.block[2],
            _ => self.block[3],
        };
        self.used += 1;
        if self.used == 4 {
            self.used = 0;
            self.counter = self.counter.wrapping_add(1);
            self.block = block(self.counter, self.key);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors that the generator's authors published.
    #[test]
    fn known_answers() {
        assert_eq!(
            philox4x32([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox4x32([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    /// The results of cuRAND 10.4's headers for the same seed, subsequence and offset.
    #[test]
    fn sequences_are_those_of_curand() {
        let cases = [
            (
                [1234, 0, 0],
                [
                    546_353_992,
                    3_665_621_163,
                    1_140_953_199,
                    3_419_031_310,
                    2_666_454_581,
                ],
            ),
            (
                [1234, 1, 0],
                [
                    3_507_855_656,
                    1_392_278_645,
                    3_354_607_383,
                    253_049_307,
                    118_660_703,
                ],
            ),
            (
                [0x0123_4567_89ab_cdef, 5, 17],
                [
                    1_685_808_115,
                    1_191_969_604,
                    2_905_875_421,
                    2_115_591_755,
                    1_904_442_813,
                ],
            ),
            (
                [7, 3, 12_345_678_901],
                [
                    1_527_827_338,
                    4_211_475_118,
                    2_018_452_778,
                    957_246_588,
                    4_276_169_627,
                ],
            ),
        ];
        for ([seed, subsequence, offset], expected) in cases {
            let mut generator = Philox::new(seed, subsequence, offset);
            let numbers: [u32; 5] = core::array::from_fn(|_| generator.next_u32());
            assert_eq!(numbers, expected);
        }
    }

    #[test]
    fn offsets_and_skips_are_places_of_one_sequence() {
        let mut all = Philox::new(5, 3, 0);
        let numbers: [u32; 64] = core::array::from_fn(|_| all.next_u32());
        for start in 0..20 {
            let mut from = Philox::new(5, 3, start);
            assert_eq!(from.next_u32(), numbers[start as usize]);
            from.skip(7);
            assert_eq!(from.next_u32(), numbers[start as usize + 8]);
            let four = from.next4();
            assert_eq!(four, numbers[start as usize + 9..start as usize + 13]);
            assert_eq!(from.next_u32(), numbers[start as usize + 13]);
        }
    }
}
