//! XORWOW (Marsaglia, "Xorshift RNGs"): five words of a linear recurrence and a counter, with the
//! seeding and the subsequences of cuRAND's `curandStateXORWOW_t`.
//!
//! Skipping `n` numbers applies the `n`-th power of the recurrence's matrix. The matrix satisfies
//! its own characteristic polynomial, so the power is a polynomial of degree less than 160: the
//! remainder of xⁿ. Applying it takes 160 steps of the generator; no tables of matrices are needed.

/// The increment of the counter.
const STEP: u32 = 362_437;

/// The base 2 logarithm of the length of a subsequence.
const SUBSEQUENCE: u32 = 67;

/// A generator with a state of 24 bytes and a period of 2¹⁹² - 2³².
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Xorwow {
    words: [u32; 5],
    counter: u32,
}

impl Xorwow {
    /// Marsaglia's seed.
    pub const MARSAGLIA: Xorwow = Xorwow {
        words: [123_456_789, 362_436_069, 521_288_629, 88_675_123, 5_783_321],
        counter: 6_615_241,
    };

    /// Creates the generator of a subsequence, positioned after `offset` numbers. Subsequences have
    /// 2⁶⁷ numbers. A subsequence other than 0 costs about as much as ten thousand numbers: if many
    /// threads need separate subsequences, consider [`Philox`](super::Philox).
    #[inline]
    #[must_use]
    pub const fn new(seed: u64, subsequence: u64, offset: u64) -> Xorwow {
        let low = (seed as u32 ^ 0xaad2_6b49).wrapping_mul(1_099_087_573);
        let high = ((seed >> 32) as u32 ^ 0xf7dc_efdd).wrapping_mul(2_591_861_531);
        let mut generator = Xorwow {
            words: [
                123_456_789u32.wrapping_add(low),
                362_436_069 ^ low,
                521_288_629u32.wrapping_add(high),
                88_675_123 ^ high,
                5_783_321u32.wrapping_add(low),
            ],
            counter: 6_615_241u32.wrapping_add(high).wrapping_add(low),
        };
        if subsequence > 0 {
            // The length of a subsequence is a multiple of the counter's period.
            generator.jump(JUMP.power(subsequence));
        }
        generator.skip(offset);
        generator
    }

    /// Skips `numbers` numbers.
    #[inline]
    pub const fn skip(&mut self, numbers: u64) {
        if numbers > 0 {
            self.jump(Polynomial::X.power(numbers));
            self.counter = self.counter.wrapping_add(STEP.wrapping_mul(numbers as u32));
        }
    }

    /// Applies a polynomial of the recurrence's matrix to the words.
    const fn jump(&mut self, polynomial: Polynomial) {
        let mut sum = [0; 5];
        let mut power = self.words;
        let mut degree = 0;
        while degree < 160 {
            if polynomial.0[degree / 32] >> (degree % 32) & 1 != 0 {
                let mut word = 0;
                while word < 5 {
                    sum[word] ^= power[word];
                    word += 1;
                }
            }
            power = advance(power);
            degree += 1;
        }
        self.words = sum;
    }
}

/// One step of the recurrence.
#[inline(always)]
const fn advance([a, b, c, d, e]: [u32; 5]) -> [u32; 5] {
    let t = a ^ (a >> 2);
    [b, c, d, e, (e ^ (e << 4)) ^ (t ^ (t << 1))]
}

impl Xorwow {
    /// Returns the next number.
    #[inline]
    pub const fn next_u32(&mut self) -> u32 {
        self.words = advance(self.words);
        self.counter = self.counter.wrapping_add(STEP);
        self.words[4].wrapping_add(self.counter)
    }
}

/// A polynomial over GF(2) of degree less than 160: bit `i` is the coefficient of xⁱ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Polynomial([u32; 5]);

/// The characteristic polynomial, without its leading x¹⁶⁰.
const MODULUS: Polynomial = characteristic();

/// x raised to the length of a subsequence, modulo [`MODULUS`].
const JUMP: Polynomial = {
    let mut power = Polynomial::X;
    let mut squarings = 0;
    while squarings < SUBSEQUENCE {
        power = power.times(power);
        squarings += 1;
    }
    power
};

impl Polynomial {
    const ONE: Polynomial = Polynomial([1, 0, 0, 0, 0]);
    const X: Polynomial = Polynomial([2, 0, 0, 0, 0]);

    /// Returns the product with x, modulo [`MODULUS`].
    const fn shifted(self) -> Polynomial {
        let [a, b, c, d, e] = self.0;
        let mut words = [
            a << 1,
            b << 1 | a >> 31,
            c << 1 | b >> 31,
            d << 1 | c >> 31,
            e << 1 | d >> 31,
        ];
        if e >> 31 != 0 {
            let mut word = 0;
            while word < 5 {
                words[word] ^= MODULUS.0[word];
                word += 1;
            }
        }
        Polynomial(words)
    }

    const fn times(self, other: Polynomial) -> Polynomial {
        let mut product = [0; 5];
        let mut degree = 160;
        while degree > 0 {
            degree -= 1;
            product = Polynomial(product).shifted().0;
            if other.0[degree / 32] >> (degree % 32) & 1 != 0 {
                let mut word = 0;
                while word < 5 {
                    product[word] ^= self.0[word];
                    word += 1;
                }
            }
        }
        Polynomial(product)
    }

    const fn power(self, exponent: u64) -> Polynomial {
        let mut power = Polynomial::ONE;
        let mut bits = u64::BITS - exponent.leading_zeros();
        while bits > 0 {
            bits -= 1;
            power = power.times(power);
            if exponent >> bits & 1 != 0 {
                power = power.times(self);
            }
        }
        power
    }
}

/// Finds the shortest recurrence of one bit of the state over time, by the Berlekamp–Massey
/// algorithm. Because the period is 2¹⁶⁰ - 1, all bits have the same recurrence, which is the
/// characteristic polynomial.
const fn characteristic() -> Polynomial {
    const LENGTH: usize = 320;
    let mut bits = [false; LENGTH];
    let mut words = Xorwow::MARSAGLIA.words;
    let mut time = 0;
    while time < LENGTH {
        bits[time] = words[0] & 1 != 0;
        words = advance(words);
        time += 1;
    }
    // Connection polynomials: bit `i` is the coefficient of the value `i` steps earlier.
    let (mut current, mut previous) = ([false; LENGTH + 1], [false; LENGTH + 1]);
    (current[0], previous[0]) = (true, true);
    let (mut degree, mut gap) = (0, 1);
    time = 0;
    while time < LENGTH {
        let mut wrong = bits[time];
        let mut back = 1;
        while back <= degree {
            wrong ^= current[back] & bits[time - back];
            back += 1;
        }
        if wrong {
            let before = current;
            let mut index = 0;
            while index + gap <= LENGTH {
                current[index + gap] ^= previous[index];
                index += 1;
            }
            if 2 * degree <= time {
                degree = time + 1 - degree;
                previous = before;
                gap = 0;
            }
        }
        gap += 1;
        time += 1;
    }
    assert!(degree == 160, "the recurrence has 160 bits");
    // The coefficient of the value `i` steps earlier is that of x^(160 - i).
    let mut words = [0; 5];
    let mut back = 1;
    while back <= 160 {
        if current[back] {
            words[(160 - back) / 32] |= 1 << ((160 - back) % 32);
        }
        back += 1;
    }
    Polynomial(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers<const N: usize>(mut generator: Xorwow) -> [u32; N] {
        core::array::from_fn(|_| generator.next_u32())
    }

    #[test]
    fn known_answers() {
        assert_eq!(
            numbers(Xorwow::MARSAGLIA),
            [
                246_875_399,
                3_690_007_200,
                1_264_581_005,
                3_906_711_041,
                1_866_187_943
            ]
        );
    }

    /// The results of cuRAND 10.4's headers for the same seed, subsequence and offset.
    #[test]
    fn sequences_are_those_of_curand() {
        let cases = [
            (
                [0, 0, 0],
                [3_179_217_846, 1_883_133_293, 2_220_552_389, 674_260_989],
            ),
            (
                [1234, 1, 0],
                [3_522_650_202, 3_978_931_785, 2_198_015_705, 2_308_946_676],
            ),
            (
                [0x0123_4567_89ab_cdef, 5, 17],
                [369_473_021, 216_801_019, 4_180_085_668, 1_778_838_902],
            ),
            (
                [42, 1_000_000, 3],
                [726_573_162, 872_963_912, 108_109_603, 1_977_533_210],
            ),
            (
                [7, 3, 12_345_678_901],
                [2_239_301_292, 52_231_179, 2_493_374_224, 148_268_964],
            ),
        ];
        for ([seed, subsequence, offset], expected) in cases {
            assert_eq!(numbers(Xorwow::new(seed, subsequence, offset)), expected);
        }
    }

    #[test]
    fn skipping_is_stepping() {
        let all: [u32; 1000] = numbers(Xorwow::new(77, 0, 0));
        for skip in [0, 1, 2, 31, 160, 161, 999] {
            let mut generator = Xorwow::new(77, 0, skip);
            assert_eq!(generator.next_u32(), all[skip as usize]);
        }
        let mut generator = Xorwow::new(77, 0, 100);
        generator.next_u32();
        generator.skip(50);
        assert_eq!(generator.next_u32(), all[151]);
    }

    /// Skipping two subsequences skips 2⁶⁸ numbers, which is sixteen times 2⁶⁴.
    #[test]
    fn subsequences_are_skips() {
        let mut generator = Xorwow::new(1, 0, 0);
        let rest = generator.counter;
        for _ in 0..16 {
            generator.skip(u64::MAX);
            generator.skip(1);
        }
        assert_eq!(generator.counter, rest);
        assert_eq!(generator, Xorwow::new(1, 2, 0));
        assert_ne!(generator, Xorwow::new(1, 1, 0));
    }
}
