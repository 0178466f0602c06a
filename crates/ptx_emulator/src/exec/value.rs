//! The representation of typed values in a thread's registers, which all have 64 bits. The bits
//! above a value's width are unspecified when it is written, and each reader uses only the width
//! that it needs.

use crate::soft_float::{BF16, F16, F32, F64, Format, Mode, Number};

/// A value that a register can hold.
pub(crate) trait Value: Copy {
    /// Converts from a register's bits; the bits above the value's width are ignored.
    fn from_bits64(bits: u64) -> Self;
    /// Converts to a register's bits.
    fn to_bits64(self) -> u64;
}

macro_rules! integer_values {
    ($($ty:ty)*) => {$(
        impl Value for $ty {
            #[inline(always)]
            fn from_bits64(bits: u64) -> Self { bits as $ty }
            #[inline(always)]
            fn to_bits64(self) -> u64 { self as u64 }
        }
    )*};
}
// Signed values are sign-extended to 64 bits: a load or conversion to a register wider than its
// type requires that.
integer_values!(u8 u16 u32 u64 i8 i16 i32 i64);

impl Value for bool {
    #[inline(always)]
    fn from_bits64(bits: u64) -> Self {
        bits & 1 != 0
    }
    #[inline(always)]
    fn to_bits64(self) -> u64 {
        self as u64
    }
}

impl Value for f32 {
    #[inline(always)]
    fn from_bits64(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    #[inline(always)]
    fn to_bits64(self) -> u64 {
        self.to_bits().into()
    }
}

impl Value for f64 {
    #[inline(always)]
    fn from_bits64(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn to_bits64(self) -> u64 {
        self.to_bits()
    }
}

/// The bits of an fp16 number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Half(pub u16);

/// The bits of a bfloat16 number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Brain(pub u16);

/// The bits of a 32-bit float. Used instead of `f32` wherever the result may be a NaN: the compiler
/// may replace one NaN with another, and PTX does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Single(pub u32);

/// The bits of a 64-bit float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Double(pub u64);

/// A floating-point type: its format, and conversions to and from wider types for computing.
pub(crate) trait Float: Value {
    const FORMAT: Format;
    fn bits(self) -> u64;
    fn with_bits(bits: u64) -> Self;

    fn unpack(self) -> Number {
        Self::FORMAT.unpack(self.bits())
    }

    fn pack(number: Number, mode: Mode) -> Self {
        Self::with_bits(Self::FORMAT.pack(number, mode))
    }

    /// Returns the value as `f64`, which is always exact.
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from_bits(F64.pack(self.unpack(), Mode::Nearest))
    }

    /// Rounds to nearest.
    #[inline(always)]
    fn narrow(value: f64) -> Self {
        Self::pack(F64.unpack(value.to_bits()), Mode::Nearest)
    }

    /// Flushes subnormal numbers to zeros of the same sign.
    fn flush(self) -> Self;

    /// Returns the NaN that an operation on these operands produces; the first operands take
    /// precedence. Only doubles keep the payload of an operand.
    fn not_a_number(_operands: &[Self]) -> Self {
        Self::pack(Number::Nan, Mode::Nearest)
    }
}

macro_rules! float {
    ($ty:ident, $bits:ident, $format:ident, { $($special:item)* }) => {
        impl Value for $ty {
            #[inline(always)]
            fn from_bits64(bits: u64) -> Self {
                $ty(bits as $bits)
            }
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                self.0.into()
            }
        }

        impl Float for $ty {
            const FORMAT: Format = $format;
            #[inline(always)]
            fn bits(self) -> u64 {
                self.0.into()
            }
            #[inline(always)]
            fn with_bits(bits: u64) -> Self {
                $ty(bits as $bits)
            }
            $($special)*
        }
    };
}

float!(Half, u16, F16, {
    fn flush(self) -> Self {
        if self.0 & 0x7c00 == 0 {
            Half(self.0 & 0x8000)
        } else {
            self
        }
    }
});

float!(Brain, u16, BF16, {
    fn flush(self) -> Self {
        if self.0 & 0x7f80 == 0 {
            Brain(self.0 & 0x8000)
        } else {
            self
        }
    }
});

float!(Single, u32, F32, {
    #[inline(always)]
    fn wide(self) -> f64 {
        f32::from_bits(self.0).into()
    }
    #[inline(always)]
    fn narrow(value: f64) -> Self {
        Single(canonical(value as f32))
    }
    #[inline(always)]
    fn flush(self) -> Self {
        if self.0 & 0x7f80_0000 == 0 {
            Single(self.0 & 0x8000_0000)
        } else {
            self
        }
    }
});

float!(Double, u64, F64, {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from_bits(self.0)
    }
    #[inline(always)]
    fn narrow(value: f64) -> Self {
        Double(value.to_bits())
    }
    // Doubles are never flushed.
    #[inline(always)]
    fn flush(self) -> Self {
        self
    }
    #[cold]
    fn not_a_number(operands: &[Self]) -> Self {
        let nan = operands.iter().find(|operand| operand.wide().is_nan());
        Double(nan.map_or(0xfff8_0000_0000_0000, |nan| nan.0) | 1 << 51)
    }
});

/// Flushes a subnormal number to a zero of the same sign.
#[inline(always)]
pub(crate) fn flush(value: f32) -> f32 {
    if value.is_subnormal() {
        0f32.copysign(value)
    } else {
        value
    }
}

/// Returns the bits of a result, with the canonical NaN that 32-bit operations produce for any NaN.
#[inline(always)]
pub(crate) fn canonical(value: f32) -> u32 {
    if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits()
    }
}

/// Returns the bits of the result of an operation on doubles; see [`Float::not_a_number`].
#[inline(always)]
pub(crate) fn settle<const N: usize>(result: f64, operands: [f64; N]) -> u64 {
    if result.is_nan() {
        Double::not_a_number(&operands.map(|operand| Double(operand.to_bits()))).0
    } else {
        result.to_bits()
    }
}
