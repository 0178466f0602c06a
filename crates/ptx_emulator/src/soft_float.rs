//! Floating-point arithmetic with any rounding mode and any format, on integers. The host rounds
//! only to nearest, in 32 and 64 bits; this module implements everything else in PTX: directed
//! rounding, fp16, bfloat16, and conversions between them.

/// A rounding mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
    /// `.rna`: to nearest, ties away from zero.
    Away,
}

impl Mode {
    /// The inverse of `mode as i64`.
    pub fn from_number(number: i64) -> Mode {
        match number {
            1 => Mode::Zero,
            2 => Mode::Down,
            3 => Mode::Up,
            4 => Mode::Away,
            _ => Mode::Nearest,
        }
    }
}

/// A binary floating-point format with infinities and NaNs, as in IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// The precision in bits, including the hidden bit.
    precision: u32,
    /// The exponent of the smallest normal number; the largest exponent is `1 - min_exponent`.
    min_exponent: i32,
    /// The width of the exponent field in bits.
    exponent_bits: u32,
    /// The NaN that operations produce.
    nan: u64,
}

pub(crate) const F16: Format = Format {
    precision: 11,
    min_exponent: -14,
    exponent_bits: 5,
    nan: 0x7fff,
};
pub(crate) const BF16: Format = Format {
    precision: 8,
    min_exponent: -126,
    exponent_bits: 8,
    nan: 0x7fff,
};
pub(crate) const F32: Format = Format {
    precision: 24,
    min_exponent: -126,
    exponent_bits: 8,
    nan: 0x7fff_ffff,
};
pub(crate) const F64: Format = Format {
    precision: 53,
    min_exponent: -1022,
    exponent_bits: 11,
    nan: 0x7ff8_0000_0000_0000,
};

/// A number in any format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Nan,
    Infinity { negative: bool },
    Finite(Exact),
}

/// `±mantissa * 2^exponent`. If `sticky` is set, the magnitude is slightly larger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    negative: bool,
    mantissa: u128,
    exponent: i32,
    sticky: bool,
}

use Number::{Finite, Infinity, Nan};

impl Format {
    fn fraction_bits(self) -> u32 {
        self.precision - 1
    }

    fn max_field(self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    fn sign(self, negative: bool) -> u64 {
        u64::from(negative) << (self.fraction_bits() + self.exponent_bits)
    }

    fn infinity(self, negative: bool) -> u64 {
        self.sign(negative) | self.max_field() << self.fraction_bits()
    }

    /// Returns the number that `bits` represent in this format.
    pub fn unpack(self, bits: u64) -> Number {
        let fraction = bits & ((1 << self.fraction_bits()) - 1);
        let field = bits >> self.fraction_bits() & self.max_field();
        let negative = bits >> (self.fraction_bits() + self.exponent_bits) & 1 != 0;
        if field == self.max_field() {
            return if fraction == 0 {
                Infinity { negative }
            } else {
                Nan
            };
        }
        let hidden = u64::from(field != 0) << self.fraction_bits();
        let exponent = self.min_exponent + field.max(1) as i32 - 1 - self.fraction_bits() as i32;
        Finite(Exact {
            negative,
            mantissa: (fraction | hidden).into(),
            exponent,
            sticky: false,
        })
    }

    /// Converts a NaN of this format to another. It keeps its sign and the upper bits of its
    /// payload, and becomes quiet.
    pub fn convert_nan(self, bits: u64, to: Format) -> u64 {
        let negative = bits >> (self.fraction_bits() + self.exponent_bits) & 1 != 0;
        let payload = (bits & ((1 << self.fraction_bits()) - 1)) << (52 - self.fraction_bits());
        to.infinity(negative) | payload >> (52 - to.fraction_bits()) | 1 << (to.fraction_bits() - 1)
    }

    /// Rounds a number to this format and returns its bits.
    pub fn pack(self, number: Number, mode: Mode) -> u64 {
        let exact = match number {
            Nan => return self.nan,
            Infinity { negative } => return self.infinity(negative),
            Finite(exact) => exact,
        };
        let Exact {
            negative,
            mantissa,
            exponent,
            sticky,
        } = exact;
        if mantissa == 0 && !sticky {
            return self.sign(negative);
        }
        let top = if mantissa == 0 {
            i32::MIN / 2
        } else {
            exponent + 127 - mantissa.leading_zeros() as i32
        };
        let mut unit = top.max(self.min_exponent) - self.fraction_bits() as i32;
        let shift = unit.saturating_sub(exponent);
        // `rest` is how the discarded part compares with half a unit in the last place.
        let (mut kept, rest, exact) = if mantissa == 0 {
            (0, std::cmp::Ordering::Less, false)
        } else if shift <= 0 {
            (mantissa << -shift, std::cmp::Ordering::Less, !sticky)
        } else if shift > 128 {
            (0, std::cmp::Ordering::Less, false)
        } else {
            let kept = if shift == 128 { 0 } else { mantissa >> shift };
            let cut = if shift == 128 {
                mantissa
            } else {
                mantissa & ((1 << shift) - 1)
            };
            let rest = cut.cmp(&(1 << (shift - 1))).then(if sticky {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            });
            (kept, rest, cut == 0 && !sticky)
        };
        let up = !exact
            && match mode {
                Mode::Nearest => rest.is_gt() || rest.is_eq() && kept & 1 != 0,
                Mode::Away => rest.is_ge(),
                Mode::Zero => false,
                Mode::Down => negative,
                Mode::Up => !negative,
            };
        kept += u128::from(up);
        if kept >> self.precision != 0 {
            kept >>= 1;
            unit += 1;
        }
        if kept >> self.fraction_bits() == 0 {
            return self.sign(negative) | kept as u64;
        }
        let field = (unit + self.fraction_bits() as i32 - self.min_exponent + 1) as u64;
        if field >= self.max_field() {
            let to_infinity = match mode {
                Mode::Nearest | Mode::Away => true,
                Mode::Zero => false,
                Mode::Down => negative,
                Mode::Up => !negative,
            };
            return if to_infinity {
                self.infinity(negative)
            } else {
                self.infinity(negative) - 1
            };
        }
        let fraction = kept as u64 & ((1 << self.fraction_bits()) - 1);
        self.sign(negative) | field << self.fraction_bits() | fraction
    }
}

impl Exact {
    /// Returns the same number with its highest bit at bit 125, which leaves room for a carry.
    fn normalized(self) -> Exact {
        if self.mantissa == 0 {
            return self;
        }
        let shift = self.mantissa.leading_zeros() as i32 - 2;
        if shift >= 0 {
            return Exact {
                mantissa: self.mantissa << shift,
                exponent: self.exponent - shift,
                ..self
            };
        }
        let lost = self.mantissa & ((1 << -shift) - 1) != 0;
        Exact {
            mantissa: self.mantissa >> -shift,
            exponent: self.exponent - shift,
            sticky: self.sticky | lost,
            ..self
        }
    }
}

/// Converts an integer to a number.
pub(crate) fn integer(value: i128) -> Number {
    Finite(Exact {
        negative: value < 0,
        mantissa: value.unsigned_abs(),
        exponent: 0,
        sticky: false,
    })
}

pub(crate) fn negate(number: Number) -> Number {
    match number {
        Nan => Nan,
        Infinity { negative } => Infinity {
            negative: !negative,
        },
        Finite(exact) => Finite(Exact {
            negative: !exact.negative,
            ..exact
        }),
    }
}

/// Returns the sum. The mode determines the sign of an exact zero.
pub(crate) fn add(a: Number, b: Number, mode: Mode) -> Number {
    let (a, b) = match (a, b) {
        (Nan, _) | (_, Nan) => return Nan,
        (Infinity { negative: a }, Infinity { negative: b }) if a != b => return Nan,
        (Infinity { .. }, _) => return a,
        (_, Infinity { .. }) => return b,
        (Finite(a), Finite(b)) => (a, b),
    };
    let zero_sign = if a.negative == b.negative {
        a.negative
    } else {
        mode == Mode::Down
    };
    if a.mantissa == 0 || b.mantissa == 0 {
        let mut sum = if a.mantissa == 0 { b } else { a };
        if sum.mantissa == 0 {
            sum.negative = zero_sign;
        }
        return Finite(sum);
    }
    let (a, b) = (a.normalized(), b.normalized());
    let (large, small) = if (a.exponent, a.mantissa) >= (b.exponent, b.mantissa) {
        (a, b)
    } else {
        (b, a)
    };
    let distance = (large.exponent - small.exponent) as u32;
    let (moved, lost) = match distance {
        0 => (small.mantissa, false),
        1..128 => (
            small.mantissa >> distance,
            small.mantissa & ((1 << distance) - 1) != 0,
        ),
        _ => (0, true),
    };
    let mantissa = if a.negative == b.negative {
        large.mantissa + moved
    } else {
        // Part of the discarded bits must still be subtracted: subtracts one and sets `sticky`.
        large.mantissa - moved - u128::from(lost)
    };
    if mantissa == 0 && !lost {
        return Finite(Exact {
            negative: zero_sign,
            mantissa: 0,
            exponent: 0,
            sticky: false,
        });
    }
    Finite(Exact {
        negative: large.negative,
        mantissa,
        exponent: large.exponent,
        sticky: lost,
    })
}

/// Returns the product, which is exact for mantissas of up to 64 bits.
pub(crate) fn multiply(a: Number, b: Number) -> Number {
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinity { negative: a }, Infinity { negative: b }) => Infinity { negative: a != b },
        (Infinity { negative }, Finite(x)) | (Finite(x), Infinity { negative }) => {
            if x.mantissa == 0 {
                Nan
            } else {
                Infinity {
                    negative: negative != x.negative,
                }
            }
        }
        (Finite(a), Finite(b)) => Finite(Exact {
            negative: a.negative != b.negative,
            mantissa: a.mantissa * b.mantissa,
            exponent: a.exponent + b.exponent,
            sticky: false,
        }),
    }
}

/// Returns the quotient.
pub(crate) fn divide(a: Number, b: Number) -> Number {
    match (a, b) {
        (Nan, _) | (_, Nan) | (Infinity { .. }, Infinity { .. }) => Nan,
        (Infinity { negative }, Finite(b)) => Infinity {
            negative: negative != b.negative,
        },
        (Finite(a), Infinity { negative }) => Finite(Exact {
            negative: negative != a.negative,
            mantissa: 0,
            exponent: 0,
            sticky: false,
        }),
        (Finite(a), Finite(b)) => {
            let negative = a.negative != b.negative;
            if b.mantissa == 0 {
                return if a.mantissa == 0 {
                    Nan
                } else {
                    Infinity { negative }
                };
            }
            let a = a.normalized();
            Finite(Exact {
                negative,
                mantissa: a.mantissa / b.mantissa,
                exponent: a.exponent - b.exponent,
                sticky: a.mantissa % b.mantissa != 0,
            })
        }
    }
}

/// Returns the square root.
pub(crate) fn square_root(a: Number) -> Number {
    match a {
        Finite(a) if a.mantissa != 0 && !a.negative => {
            let mut a = a.normalized();
            if a.exponent % 2 != 0 {
                a.mantissa <<= 1;
                a.exponent -= 1;
            }
            let root = a.mantissa.isqrt();
            Finite(Exact {
                negative: false,
                mantissa: root,
                exponent: a.exponent / 2,
                sticky: root * root != a.mantissa,
            })
        }
        Finite(a) if a.mantissa == 0 => Finite(a),
        Infinity { negative: false } => a,
        _ => Nan,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let x = (*state >> 33) ^ *state;
        x ^ x << 29
    }

    /// The host rounds to nearest: the results must agree, including subnormals and overflow.
    #[test]
    fn agrees_with_the_host() {
        let mut state = 7;
        for round in 0..200_000u32 {
            let (mut a, mut b, mut c) =
                (random(&mut state), random(&mut state), random(&mut state));
            if round % 2 == 0 {
                // Similar exponents, so that sums cancel and not all products are out of range.
                let near = |x: u64| x & 0x800f_ffff_ffff_ffff | (1000 + (x >> 52 & 63)) << 52;
                (a, b, c) = (near(a), near(b), near(c));
            }
            let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
            let (p, q, r) = (F64.unpack(a), F64.unpack(b), F64.unpack(c));
            let check = |what: &str, got: Number, want: f64| {
                let got = f64::from_bits(F64.pack(got, Mode::Nearest));
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "{what} {x:e} {y:e} {z:e}: {got:e}, not {want:e}"
                );
            };
            check("add", add(p, q, Mode::Nearest), x + y);
            check("mul", multiply(p, q), x * y);
            check("div", divide(p, q), x / y);
            check("sqrt", square_root(p), x.sqrt());
            check(
                "fma",
                add(multiply(p, q), r, Mode::Nearest),
                x.mul_add(y, z),
            );
            let narrow = f32::from_bits(F32.pack(p, Mode::Nearest) as u32);
            assert!(
                narrow.to_bits() == (x as f32).to_bits() || x.is_nan(),
                "{x:e} to f32"
            );
        }
    }

    /// A directed result and its opposite bracket the exact result.
    #[test]
    fn directed_modes_bracket() {
        let mut state = 3;
        for _ in 0..100_000 {
            let (a, b) = (random(&mut state) as u32, random(&mut state) as u32);
            let (x, y) = (f32::from_bits(a), f32::from_bits(b));
            if x.is_nan() || y.is_nan() {
                continue;
            }
            let product = multiply(F32.unpack(a.into()), F32.unpack(b.into()));
            if let Nan = product {
                continue;
            }
            let to = |mode| f32::from_bits(F32.pack(product, mode) as u32);
            let exact = f64::from(x) * f64::from(y);
            let (down, up, zero) = (to(Mode::Down), to(Mode::Up), to(Mode::Zero));
            assert!(
                f64::from(down) <= exact && exact <= f64::from(up),
                "{x:e} * {y:e}"
            );
            assert!(
                down == up || down.next_up() == up || exact == 0.0,
                "{down:e} {up:e}"
            );
            assert_eq!(zero, if exact < 0.0 { up } else { down });
        }
    }
}
