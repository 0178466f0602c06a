//! How typed values live in a thread's registers, which are 64 bits each whatever their type. A
//! value is written with anything above its own width, and every reader takes just the width that
//! it wants.

use crate::exact::{BF16, F16, F32, F64, Format, Mode, Number};

/// A value that a register holds.
pub(crate) trait Value: Copy {
    /// From a register's bits; what is above the value's width is ignored.
    fn from_bits64(bits: u64) -> Self;
    /// Into a register.
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
// Signed values are extended to 64 bits: a load or conversion to a register wider than its type
// asks for just that.
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

/// A half's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Half(pub u16);

/// A bfloat16's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Brain(pub u16);

/// A floating-point type: its format, and what the 16-bit ones need to be computed in wider ones.
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

    /// The value, which 64 bits always hold exactly.
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from_bits(F64.pack(self.unpack(), Mode::Nearest))
    }

    /// Rounded to nearest.
    #[inline(always)]
    fn narrow(value: f64) -> Self {
        Self::pack(F64.unpack(value.to_bits()), Mode::Nearest)
    }

    /// Subnormal numbers as zeros of their sign.
    fn flush(self) -> Self;

    /// The NaN that an operation on these operands gives, the most important one first. Only
    /// doubles keep what the operands hold.
    fn not_a_number(_operands: &[Self]) -> Self {
        Self::pack(Number::Nan, Mode::Nearest)
    }
}

macro_rules! small_float {
    ($ty:ident $format:ident $exponent:literal) => {
        impl Value for $ty {
            #[inline(always)]
            fn from_bits64(bits: u64) -> Self {
                $ty(bits as u16)
            }
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                self.0.into()
            }
        }

        impl Float for $ty {
            const FORMAT: Format = $format;
            fn bits(self) -> u64 {
                self.0.into()
            }
            fn with_bits(bits: u64) -> Self {
                $ty(bits as u16)
            }
            fn flush(self) -> Self {
                if self.0 & $exponent == 0 {
                    $ty(self.0 & 0x8000)
                } else {
                    self
                }
            }
        }
    };
}
small_float!(Half F16 0x7c00);
small_float!(Brain BF16 0x7f80);

impl Float for f32 {
    const FORMAT: Format = F32;
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    #[inline(always)]
    fn with_bits(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn narrow(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn flush(self) -> Self {
        if self.is_subnormal() {
            f32::from_bits(self.to_bits() & 0x8000_0000)
        } else {
            self
        }
    }
}

impl Float for f64 {
    const FORMAT: Format = F64;
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }
    #[inline(always)]
    fn with_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn flush(self) -> Self {
        self
    }

    #[cold]
    fn not_a_number(operands: &[Self]) -> Self {
        let nan = operands.iter().find(|operand| operand.is_nan());
        let bits = nan.map_or(0xfff8_0000_0000_0000, |nan| nan.to_bits());
        f64::from_bits(bits | 1 << 51)
    }
}

/// The NaN that 32-bit operations produce on the device, whatever NaN went in.
#[inline(always)]
pub(crate) fn canonical(value: f32) -> f32 {
    if value.is_nan() {
        f32::from_bits(0x7fff_ffff)
    } else {
        value
    }
}

/// The result of an operation on doubles; see [`Float::not_a_number`].
#[inline(always)]
pub(crate) fn settle<const N: usize>(result: f64, operands: [f64; N]) -> f64 {
    if result.is_nan() {
        f64::not_a_number(&operands)
    } else {
        result
    }
}
