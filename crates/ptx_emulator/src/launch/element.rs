//! The element types of matrices: their width in a register, and the meaning of their bits.

use crate::exec::value::{Float, Half, Single};
use crate::soft_float::{BF16, F16, F64, Mode};

/// The element type of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    S32,
    S8,
    U8,
    S4,
    U4,
    B1,
    E4m3,
    E5m2,
    E3m2,
    E2m3,
    E2m1,
}

/// A float of at most 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Minifloat {
    pub exponent: u32,
    pub fraction: u32,
    pub bias: i32,
    pub specials: Specials,
}

/// Which codes of a small float are not finite numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Specials {
    /// None.
    Nothing,
    /// The code with all bits set, except the sign, is a NaN.
    OneNan,
    /// As in IEEE 754: the largest exponent encodes infinity and NaNs.
    Ieee,
}

pub(crate) const E4M3: Minifloat = minifloat(4, 3, 7, Specials::OneNan);
pub(crate) const E5M2: Minifloat = minifloat(5, 2, 15, Specials::Ieee);
pub(crate) const E3M2: Minifloat = minifloat(3, 2, 3, Specials::Nothing);
pub(crate) const E2M3: Minifloat = minifloat(2, 3, 1, Specials::Nothing);
pub(crate) const E2M1: Minifloat = minifloat(2, 1, 1, Specials::Nothing);

const fn minifloat(exponent: u32, fraction: u32, bias: i32, specials: Specials) -> Minifloat {
    Minifloat {
        exponent,
        fraction,
        bias,
        specials,
    }
}

impl Minifloat {
    /// Returns the number of codes without the sign.
    fn magnitudes(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    /// Returns the value of a code; bits above the format are ignored.
    pub fn value(self, code: u64) -> f64 {
        let magnitude = code & (self.magnitudes() - 1);
        let negative = code & self.magnitudes() != 0;
        let fraction = magnitude & ((1 << self.fraction) - 1);
        let exponent = (magnitude >> self.fraction) as i32;
        let value = match self.specials {
            Specials::OneNan if magnitude == self.magnitudes() - 1 => f64::NAN,
            Specials::Ieee if exponent == (1 << self.exponent) - 1 => {
                if fraction == 0 {
                    f64::INFINITY
                } else {
                    f64::NAN
                }
            }
            _ => {
                let (whole, power) = if exponent == 0 {
                    (fraction, 1 - self.bias)
                } else {
                    (fraction | 1 << self.fraction, exponent - self.bias)
                };
                whole as f64 * f64::from(power - self.fraction as i32).exp2()
            }
        };
        if negative { -value } else { value }
    }

    /// Returns the nearest code, ties to even. Values out of range saturate to the largest number.
    /// A NaN becomes the format's NaN, or the largest number if it has none.
    pub fn code(self, value: f64) -> u64 {
        let nan = match self.specials {
            Specials::OneNan | Specials::Ieee => self.magnitudes() - 1,
            Specials::Nothing => self.magnitudes() - 1,
        };
        if value.is_nan() {
            return nan;
        }
        let largest = match self.specials {
            Specials::Nothing => self.magnitudes() - 1,
            Specials::OneNan => self.magnitudes() - 2,
            Specials::Ieee => self.magnitudes() - 1 - (1 << self.fraction),
        };
        let sign = if value.is_sign_negative() {
            self.magnitudes()
        } else {
            0
        };
        let magnitude = value.abs();
        // Codes are in the order of their values: the nearest code is adjacent to the exact
        // position.
        let (mut low, mut high) = (0, largest);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.value(middle) <= magnitude {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        if low < largest {
            let (below, above) = (magnitude - self.value(low), self.value(low + 1) - magnitude);
            if above < below || above == below && low & 1 != 0 {
                low += 1;
            }
        }
        sign | low
    }
}

impl Element {
    pub fn from_name(name: &str) -> Option<Element> {
        Some(match name {
            "f16" => Element::F16,
            "bf16" => Element::Bf16,
            "tf32" => Element::Tf32,
            "f32" => Element::F32,
            "f64" => Element::F64,
            "s32" => Element::S32,
            "s8" => Element::S8,
            "u8" => Element::U8,
            "s4" => Element::S4,
            "u4" => Element::U4,
            "b1" => Element::B1,
            "e4m3" => Element::E4m3,
            "e5m2" => Element::E5m2,
            "e3m2" => Element::E3m2,
            "e2m3" => Element::E2m3,
            "e2m1" => Element::E2m1,
            _ => return None,
        })
    }

    /// Returns the width in bits of a single element; small floats occupy a byte.
    pub fn bits(self) -> u32 {
        match self {
            Element::F64 => 64,
            Element::Tf32 | Element::F32 | Element::S32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::S4 | Element::U4 => 4,
            Element::B1 => 1,
            _ => 8,
        }
    }

    pub fn is_integer(self) -> bool {
        use Element::*;
        matches!(self, S32 | S8 | U8 | S4 | U4 | B1)
    }

    fn minifloat(self) -> Option<Minifloat> {
        Some(match self {
            Element::E4m3 => E4M3,
            Element::E5m2 => E5M2,
            Element::E3m2 => E3M2,
            Element::E2m3 => E2M3,
            Element::E2m1 => E2M1,
            _ => return None,
        })
    }

    /// Returns the value of bits as a float.
    pub fn float(self, bits: u64) -> f64 {
        let of = |format: crate::soft_float::Format, bits| {
            f64::from_bits(F64.pack(format.unpack(bits), Mode::Nearest))
        };
        match self {
            Element::F64 => f64::from_bits(bits),
            Element::F32 => f32::from_bits(bits as u32).into(),
            // The product uses only 19 bits.
            Element::Tf32 => f32::from_bits(bits as u32 & !0x1fff).into(),
            Element::F16 => of(F16, bits & 0xffff),
            Element::Bf16 => of(BF16, bits & 0xffff),
            _ => self.minifloat().map_or(0.0, |format| format.value(bits)),
        }
    }

    /// Returns the value of bits as an integer.
    pub fn integer(self, bits: u64) -> i64 {
        match self {
            Element::S32 => (bits as i32).into(),
            Element::S8 => (bits as i8).into(),
            Element::U8 => (bits as u8).into(),
            Element::S4 => ((bits << 4) as i8 >> 4).into(),
            Element::U4 => (bits & 15) as i64,
            _ => (bits & 1) as i64,
        }
    }

    /// Rounds a value to the type of an accumulator and returns its bits.
    pub fn round(self, value: f64) -> u64 {
        match self {
            Element::F64 => value.to_bits(),
            Element::F16 => Half::narrow(value).0.into(),
            _ => Single::narrow(value).0.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_values_are_inverses() {
        for format in [E4M3, E5M2, E3M2, E2M3, E2M1] {
            for code in 0..2 * format.magnitudes() {
                let value = format.value(code);
                if value.is_finite() {
                    assert_eq!(format.code(value), code, "{format:?}: {value}");
                }
            }
        }
        assert_eq!(E4M3.value(0x7e), 448.0);
        assert_eq!(E5M2.value(0x7b), 57344.0);
        assert_eq!(E2M1.value(7), 6.0);
        assert_eq!(E2M3.value(0x1f), 7.5);
        assert_eq!(E3M2.value(0x1f), 28.0);
        assert_eq!((E4M3.code(1e9), E4M3.code(-1e9)), (0x7e, 0xfe));
        assert_eq!(E2M1.code(2.5), E2M1.code(2.0));
        assert_eq!(E2M1.code(3.5), E2M1.code(4.0));
    }
}
