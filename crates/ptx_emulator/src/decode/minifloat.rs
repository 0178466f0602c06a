//! Decodes `cvt` from and to floats of 8, 6 and 4 bits and powers of two, always as pairs.

use ptx::Type;

use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::value::{Float, Half};
use crate::exec::{Handler, float, general};
use crate::launch::element::{E2M1, E2M3, E3M2, E4M3, E5M2, Minifloat};
use crate::soft_float::{BF16, F16, F32, F64, Mode};

/// The formats, in the order of their numbers in `imm`.
const FORMATS: [Minifloat; 5] = [E4M3, E5M2, E3M2, E2M3, E2M1];
const NAMES: [(&str, i64); 6] = [
    ("e4m3x2", 0),
    ("e5m2x2", 1),
    ("e3m2x2", 2),
    ("e2m3x2", 3),
    ("e2m1x2", 4),
    ("ue8m0x2", 5),
];
const SCALE: i64 = 5;

/// Flags in `imm`, above the format's number.
const RELU: i64 = 1 << 8;
const FROM_PAIR: i64 = 1 << 9;
const UP: i64 = 1 << 10;

/// Returns the distance in bits between the two codes.
fn step(format: i64) -> u32 {
    if format == 4 { 4 } else { 8 }
}

fn single(bits: u32) -> f64 {
    f64::from_bits(F64.pack(F32.unpack(bits.into()), Mode::Nearest))
}

fn half(bits: u32) -> f64 {
    f64::from_bits(F64.pack(F16.unpack(bits.into()), Mode::Nearest))
}

/// Returns the code of the nearest power of two that is not above the magnitude or, if `up` is set,
/// not below it.
fn scale(value: f64, up: bool) -> u64 {
    if value.is_nan() {
        return 255;
    }
    let mut code = 0;
    let power = |code: i32| f64::from(code - 127).exp2();
    while code < 254
        && (if up {
            power(code) < value.abs()
        } else {
            power(code + 1) <= value.abs()
        })
    {
        code += 1;
    }
    code as u64
}

fn narrow() -> Handler {
    general(|i, r, _| {
        let format = i.imm & 0xff;
        let (low, high) = if i.imm & FROM_PAIR != 0 {
            let pair: u32 = r.get(i.a);
            if format == SCALE {
                (single(pair << 16), single(pair & 0xffff_0000))
            } else {
                (half(pair & 0xffff), half(pair >> 16))
            }
        } else {
            (single(r.get(i.b)), single(r.get(i.a)))
        };
        let code = |value: f64| {
            if format == SCALE {
                return scale(value, i.imm & UP != 0);
            }
            let value = if i.imm & RELU != 0 && value <= 0.0 {
                0.0
            } else {
                value
            };
            FORMATS[format as usize].code(value)
        };
        r.set_raw(i.d, code(low) | code(high) << step(format));
    })
}

fn widen() -> Handler {
    general(|i, r, _| {
        let format = i.imm & 0xff;
        let codes: u32 = r.get(i.a);
        let value = |code: u32| -> u32 {
            if format == SCALE {
                let value = match code & 0xff {
                    255 => f64::NAN,
                    code => f64::from(code as i32 - 127).exp2(),
                };
                return BF16.pack(F64.unpack(value.to_bits()), Mode::Nearest) as u32;
            }
            let half = Half::narrow(FORMATS[format as usize].value(code.into()));
            let half = if i.imm & RELU != 0 {
                float::relu(half)
            } else {
                half
            };
            half.0.into()
        };
        let step = step(format);
        r.set_raw(i.d, (value(codes) | value(codes >> step) << 16).into());
    })
}

impl<'a> Decoder<'_, 'a> {
    /// Decodes a conversion of small floats. Returns false for any other instruction.
    pub(super) fn convert_small(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        let mut list = words.instruction.modifiers.iter();
        let Some(&name) = list.find(|word| NAMES.iter().any(|(name, _)| name == *word)) else {
            return Ok(false);
        };
        if words.has("rs") {
            return unsupported_form("stochastic rounding");
        }
        let up = words.has("rp");
        words.ignore(|word| matches!(word, "rn" | "rz" | "satfinite"));
        let relu = words.has("relu");
        let Some(to) = words.next() else {
            return invalid("`cvt` without types");
        };
        let Some(from) = words.next() else {
            return invalid("`cvt` without types");
        };
        self.may_be_wider = false;
        let format = words_number(name);
        let mut imm = format | if relu { RELU } else { 0 } | if up { UP } else { 0 };
        let packed = if format == 4 { Type::B8 } else { Type::E4m3x2 };
        match (to == name, from) {
            (true, "f32") => {
                self.op2(words, narrow(), packed, Type::F32, Type::F32)?;
            }
            (true, "f16x2" | "bf16x2") => {
                imm |= FROM_PAIR;
                self.op1(words, narrow(), packed, Type::B32)?;
            }
            (false, _) if matches!(to, "f16x2" | "bf16x2") => {
                self.op1(words, widen(), Type::F16x2, packed)?;
            }
            _ => return unsupported_form(format!("`cvt.{to}.{from}`")),
        }
        self.last_imm(imm);
        Ok(true)
    }
}

fn words_number(name: &str) -> i64 {
    let found = NAMES.iter().find(|(known, _)| *known == name);
    found.map_or(0, |&(_, number)| number)
}
