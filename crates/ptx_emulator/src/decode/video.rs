//! Decodes video instructions, which operate on a byte or half of a register, or on all of them at
//! once. `imm` encodes the operation: see [`Video`].

use ptx::{Operand, Type};

use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::general;

/// A video instruction, which fits into an immediate.
#[derive(Clone, Copy, Default)]
struct Video {
    operation: u8,
    compare: u8,
    signed: [bool; 3],
    saturate: bool,
    /// The second operation: 0 for none, then add, min, max.
    second: u8,
    /// The operand parts: 0 for the whole register, 1 to 4 for a byte, 5 and 6 for a half.
    parts: [u8; 2],
    wrap: bool,
    /// 0 for a scalar, otherwise the number of lanes in the register.
    lanes: u8,
    shift: u8,
}

const OPERATIONS: [&str; 10] = [
    "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg", "vshl", "vshr", "vmad", "vset",
];
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

impl Video {
    fn pack(self) -> i64 {
        let flag = |flag: bool, at: u32| i64::from(flag) << at;
        i64::from(self.operation)
            | i64::from(self.compare) << 4
            | flag(self.signed[0], 8)
            | flag(self.signed[1], 9)
            | flag(self.signed[2], 10)
            | flag(self.saturate, 11)
            | i64::from(self.second) << 12
            | i64::from(self.parts[0]) << 16
            | i64::from(self.parts[1]) << 20
            | flag(self.wrap, 24)
            | i64::from(self.lanes) << 28
            | i64::from(self.shift) << 32
    }

    fn unpack(bits: i64) -> Video {
        let field = |at: u32| (bits >> at & 15) as u8;
        let flag = |at: u32| bits >> at & 1 != 0;
        Video {
            operation: field(0),
            compare: field(4),
            signed: [flag(8), flag(9), flag(10)],
            saturate: flag(11),
            second: field(12),
            parts: [field(16), field(20)],
            wrap: flag(24),
            lanes: field(28),
            shift: (bits >> 32 & 31) as u8,
        }
    }

    /// Computes one value. Operands and result may have any width that fits.
    fn compute(self, a: i64, b: i64, c: i64) -> i64 {
        match self.operation {
            0 => a + b,
            1 => a - b,
            2 => (a - b).abs(),
            3 => a.min(b),
            4 => a.max(b),
            5 => {
                let sum = a + b;
                (sum + i64::from(sum >= 0)) >> 1
            }
            6 | 7 => {
                let count = if self.wrap { b & 31 } else { b.clamp(0, 32) };
                if self.operation == 6 {
                    a << count
                } else {
                    a >> count
                }
            }
            8 => (a * b + c) >> self.shift,
            _ => i64::from(match self.compare {
                0 => a == b,
                1 => a != b,
                2 => a < b,
                3 => a <= b,
                4 => a > b,
                _ => a >= b,
            }),
        }
    }

    /// Limits a value to the bits of the result's type.
    fn limit(self, value: i64, bits: u32) -> i64 {
        if !self.saturate {
            return value;
        }
        let signed = self.signed[2];
        let (low, high) = if signed {
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            (0, (1 << bits) - 1)
        };
        value.clamp(low, high)
    }

    fn run(self, a: u32, b: u32, c: u32) -> u32 {
        if self.lanes > 0 {
            return self.run_lanes(a, b, c);
        }
        let whole = |value: u32, signed: bool| {
            if signed {
                i64::from(value as i32)
            } else {
                i64::from(value)
            }
        };
        let part = |value: u32, which: u8, signed: bool| match which {
            0 => whole(value, signed),
            1..=4 => extend(value >> (8 * (which - 1)), 8, signed),
            _ => extend(value >> (16 * (which - 5)), 16, signed),
        };
        let (a, b) = (
            part(a, self.parts[0], self.signed[0]),
            part(b, self.parts[1], self.signed[1]),
        );
        let third = whole(c, self.signed[2]);
        let result = self.limit(self.compute(a, b, third), 32);
        let result = whole(result as u32, self.signed[2]);
        (match self.second {
            1 => result + third,
            2 => result.min(third),
            3 => result.max(third),
            _ => result,
        }) as u32
    }

    fn run_lanes(self, a: u32, b: u32, c: u32) -> u32 {
        let bits = 32 / u32::from(self.lanes);
        let (mut packed, mut sum) = (0, i64::from(c));
        for lane in 0..u32::from(self.lanes) {
            let at = lane * bits;
            let (x, y) = (
                extend(a >> at, bits, self.signed[0]),
                extend(b >> at, bits, self.signed[1]),
            );
            let result = self.limit(self.compute(x, y, 0), bits);
            sum += result;
            packed |= (result as u32 & (u32::MAX >> (32 - bits))) << at;
        }
        if self.second == 1 { sum as u32 } else { packed }
    }
}

/// Extends the lowest bits.
fn extend(value: u32, bits: u32, signed: bool) -> i64 {
    let value = u64::from(value) << (64 - bits);
    if signed {
        value as i64 >> (64 - bits)
    } else {
        (value >> (64 - bits)) as i64
    }
}

impl<'a> Decoder<'_, 'a> {
    pub(super) fn video(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        let name = words.opcode.trim_end_matches(['2', '4']);
        let Some(operation) = OPERATIONS.iter().position(|known| *known == name) else {
            return Ok(false);
        };
        let mut video = Video {
            operation: operation as u8,
            lanes: match &words.opcode[name.len()..] {
                "2" => 2,
                "4" => 4,
                _ => 0,
            },
            ..Video::default()
        };
        let mut types = Vec::new();
        while let Some(word) = words.next() {
            match word {
                "u32" | "s32" => types.push(word == "s32"),
                "sat" => video.saturate = true,
                "wrap" => video.wrap = true,
                "clamp" => {}
                "add" => video.second = 1,
                "min" => video.second = 2,
                "max" => video.second = 3,
                "shr7" => video.shift = 7,
                "shr15" => video.shift = 15,
                _ => match COMPARISONS.iter().position(|known| *known == word) {
                    Some(compare) => video.compare = compare as u8,
                    None => return unsupported_form(format!("`.{word}` in `{}`", words.opcode)),
                },
            }
        }
        video.signed = match types[..] {
            // The result of a comparison is unsigned.
            [a, b] if name == "vset" => [a, b, false],
            [d, a, b] => [a, b, d],
            _ => return invalid(format!("`{}` with these types", words.opcode)),
        };
        let (d, a, b, c) = match words.operands() {
            [d, a, b] => (d, a, b, None),
            [d, a, b, c] => (d, a, b, Some(c)),
            _ => return invalid(format!("`{}` with these operands", words.opcode)),
        };
        let (a, first) = self.part(a)?;
        let (b, second) = self.part(b)?;
        video.parts = [first, second];
        let c = match c {
            Some(c) => self.source(c, Type::U32)?,
            None => self.constant(0),
        };
        let d = self.target(d, Type::U32)?;
        let run = general(|i, r, _| {
            let result = Video::unpack(i.imm).run(r.get(i.a), r.get(i.b), r.get(i.c));
            r.set(i.d, result);
        });
        self.emit(run, |inst| {
            (inst.d, inst.a, inst.b, inst.c, inst.imm) = (d, a, b, c, video.pack())
        });
        Ok(true)
    }

    /// Resolves an operand, which may name a part of a register.
    fn part(&mut self, operand: &Operand<'a>) -> Result<(u32, u8)> {
        const PARTS: [&str; 6] = ["b0", "b1", "b2", "b3", "h0", "h1"];
        if let Operand::Part(register, part) = *operand
            && let Some(index) = PARTS.iter().position(|it| *it == part)
        {
            let slot = self.source(&Operand::Name(register), Type::U32)?;
            return Ok((slot, index as u8 + 1));
        }
        Ok((self.source(operand, Type::U32)?, 0))
    }
}
