//! Decodes logic, shifts, bit fields and byte permutations.

use ptx::Type;

use super::integer::{for_integer, supported};
use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::{binary, general, integer, ternary, unary};

impl<'a> Decoder<'_, 'a> {
    pub(super) fn logic(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let ty = words.ty()?;
        let predicate = ty == Type::Pred;
        let run = match words.opcode {
            "and" if predicate => Some(binary(|a: bool, b: bool| a & b)),
            "or" if predicate => Some(binary(|a: bool, b: bool| a | b)),
            "xor" if predicate => Some(binary(|a: bool, b: bool| a ^ b)),
            "not" if predicate => Some(unary(|a: bool| !a)),
            "and" => for_integer!(ty, T => binary(|a: T, b: T| a & b)),
            "or" => for_integer!(ty, T => binary(|a: T, b: T| a | b)),
            "xor" => for_integer!(ty, T => binary(|a: T, b: T| a ^ b)),
            "not" => for_integer!(ty, T => unary(|a: T| !a)),
            _ => for_integer!(ty, T => unary(|a: T| T::from(a == 0))),
        };
        let run = supported(run, words.opcode)?;
        match words.opcode {
            "not" | "cnot" => self.op1(words, run, ty, ty),
            _ => self.op2(words, run, ty, ty, ty),
        }
    }

    pub(super) fn logic3(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let combine = words.one_of(&[("or", 1i64), ("and", 2)]);
        let _ = words.ty()?;
        let operands = words.operands();
        let wanted = if combine.is_some() { 6 } else { 5 };
        if operands.len() != wanted {
            return invalid(format!(
                "`lop3` with {} operands instead of {wanted}",
                operands.len()
            ));
        }
        let ptx::Operand::Integer(table) = &operands[4] else {
            return invalid("`lop3` without a constant table");
        };
        let table = (table.bits & 0xff) as i64;
        let b32 = Type::B32;
        let (a, b, c) = (
            self.source(&operands[1], b32)?,
            self.source(&operands[2], b32)?,
            self.source(&operands[3], b32)?,
        );
        let (d, predicate) = self.target_pair(&operands[0], b32, Type::Pred)?;
        // The most frequent tables have their own handlers.
        let run = match table {
            0x96 => ternary(|a: u32, b: u32, c: u32| a ^ b ^ c),
            0xca => ternary(|a: u32, b: u32, c: u32| a & b | !a & c),
            0xe8 => ternary(|a: u32, b: u32, c: u32| a & b | a & c | b & c),
            0x80 => ternary(|a: u32, b: u32, c: u32| a & b & c),
            0xfe => ternary(|a: u32, b: u32, c: u32| a | b | c),
            _ => general(|i, r, _| {
                r.set(
                    i.d,
                    integer::logic3(r.get(i.a), r.get(i.b), r.get(i.c), i.imm as u32),
                )
            }),
        };
        self.emit(run, |inst| {
            (inst.d, inst.a, inst.b, inst.c) = (d, a, b, c);
            inst.imm = table;
        });
        if let (Some(combine), Some(predicate)) = (combine, predicate) {
            let with = self.source(&operands[5], Type::Pred)?;
            let run = if combine == 1 {
                binary(|a: u32, b: bool| (a != 0) | b)
            } else {
                binary(|a: u32, b: bool| (a != 0) & b)
            };
            self.emit(run, |inst| (inst.d, inst.a, inst.b) = (predicate, d, with));
        }
        Ok(())
    }

    pub(super) fn shift(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let ty = words.ty()?;
        // A distance of at least the width shifts all bits out.
        let run = if words.opcode == "shl" {
            for_integer!(ty, T => binary(|a: T, n: u32| a.checked_shl(n).unwrap_or(0)))
        } else {
            for_integer!(ty, T => binary(|a: T, n: u32| if n < T::BITS { a >> n } else { a >> (T::BITS - 1) >> 1 }))
        };
        self.op2(words, supported(run, words.opcode)?, ty, ty, Type::U32)
    }

    pub(super) fn funnel_shift(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let (Some(left), Some(wrap)) = (
            words.one_of(&[("l", true), ("r", false)]),
            words.one_of(&[("wrap", true), ("clamp", false)]),
        ) else {
            return invalid("`shf` without a direction, or without `.wrap` or `.clamp`");
        };
        let _ = words.ty()?;
        let run = match (left, wrap) {
            (true, true) => {
                ternary(|a: u32, b: u32, n: u32| ((join(a, b) << (n & 31)) >> 32) as u32)
            }
            (true, false) => {
                ternary(|a: u32, b: u32, n: u32| ((join(a, b) << n.min(32)) >> 32) as u32)
            }
            (false, true) => ternary(|a: u32, b: u32, n: u32| (join(a, b) >> (n & 31)) as u32),
            (false, false) => ternary(|a: u32, b: u32, n: u32| (join(a, b) >> n.min(32)) as u32),
        };
        self.op3(words, run, Type::B32, [Type::B32, Type::B32, Type::U32], 0)
    }

    pub(super) fn bits(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let shift_amount = words.has("shiftamt");
        let ty = words.ty()?;
        let wide = match ty.bits() {
            32 => false,
            64 => true,
            _ => return unsupported_form(format!("`{}` of this type", words.opcode)),
        };
        match words.opcode {
            "bfe" => {
                let run = general(|i, r, _| {
                    let width = if i.imm & 2 != 0 { 64 } else { 32 };
                    r.set(
                        i.d,
                        integer::bit_field_extract(
                            r.raw(i.a),
                            r.get(i.b),
                            r.get(i.c),
                            width,
                            i.imm & 1 != 0,
                        ),
                    );
                });
                let mode = i64::from(ty.is_signed()) | i64::from(wide) << 1;
                self.op3(words, run, ty, [ty, Type::U32, Type::U32], mode)
            }
            "bfi" => {
                let [d, a, b, start, length] = words.exactly()?;
                let (a, b) = (self.source(a, ty)?, self.source(b, ty)?);
                let (start, length) = (
                    self.source(start, Type::U32)?,
                    self.source(length, Type::U32)?,
                );
                let d = self.target(d, ty)?;
                let run = general(|i, r, _| {
                    let width = i.imm as u32;
                    r.set(
                        i.d,
                        integer::bit_field_insert(
                            r.raw(i.a),
                            r.raw(i.b),
                            r.get(i.c),
                            r.get(i.e),
                            width,
                        ),
                    );
                });
                self.emit(run, |inst| {
                    (inst.d, inst.a, inst.b, inst.c, inst.e) = (d, a, b, start, length);
                    inst.imm = ty.bits().into();
                });
                Ok(())
            }
            "bfind" => {
                let run = general(|i, r, _| {
                    let width = if i.imm & 2 != 0 { 64 } else { 32 };
                    r.set(
                        i.d,
                        integer::find_leading(r.raw(i.a), width, i.imm & 1 != 0, i.imm & 4 != 0),
                    );
                });
                self.op1(words, run, Type::U32, ty)?;
                if let Some(inst) = self.function.code.last_mut() {
                    inst.imm = i64::from(ty.is_signed())
                        | i64::from(wide) << 1
                        | i64::from(shift_amount) << 2;
                }
                Ok(())
            }
            "brev" if wide => self.op1(words, unary(u64::reverse_bits), Type::B64, ty),
            "brev" => self.op1(words, unary(u32::reverse_bits), Type::B32, ty),
            "clz" if wide => self.op1(words, unary(u64::leading_zeros), Type::U32, ty),
            "clz" => self.op1(words, unary(u32::leading_zeros), Type::U32, ty),
            _ if wide => self.op1(words, unary(u64::count_ones), Type::U32, ty),
            _ => self.op1(words, unary(u32::count_ones), Type::U32, ty),
        }
    }

    pub(super) fn permute(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let _ = words.ty()?;
        let modes = [
            ("f4e", 1),
            ("b4e", 2),
            ("rc8", 3),
            ("ecl", 4),
            ("ecr", 5),
            ("rc16", 6),
        ];
        match words.one_of(&modes) {
            None => self.op3(
                words,
                ternary(integer::permute),
                Type::B32,
                [Type::B32; 3],
                0,
            ),
            Some(mode) => {
                let run = general(|i, r, _| {
                    let selector = integer::permute_selector(i.imm, r.get(i.c));
                    r.set(i.d, integer::permute(r.get(i.a), r.get(i.b), selector));
                });
                self.op3(words, run, Type::B32, [Type::B32; 3], mode)
            }
        }
    }

    /// Decodes `szext` and `bmsk`, whose lengths wrap or are clamped.
    pub(super) fn masks(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let Some(wrap) = words.one_of(&[("wrap", true), ("clamp", false)]) else {
            return invalid(format!("`{}` without `.wrap` or `.clamp`", words.opcode));
        };
        let ty = words.ty()?;
        let run = match (words.opcode, wrap, ty.is_signed()) {
            ("szext", true, true) => binary(|a: u32, n: u32| extend(a, n & 31, true)),
            ("szext", true, false) => binary(|a: u32, n: u32| extend(a, n & 31, false)),
            ("szext", false, true) => binary(|a: u32, n: u32| extend(a, n.min(32), true)),
            ("szext", false, false) => binary(|a: u32, n: u32| extend(a, n.min(32), false)),
            (_, true, _) => binary(|start: u32, n: u32| low_mask(n & 31) << (start & 31)),
            _ => binary(|start: u32, n: u32| low_mask(n.min(32)).checked_shl(start).unwrap_or(0)),
        };
        self.op2(words, run, Type::U32, Type::U32, Type::U32)
    }
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn low_mask(bits: u32) -> u32 {
    1u32.checked_shl(bits).unwrap_or(0).wrapping_sub(1)
}

/// Keeps the lower `bits` bits, and extends them with the sign or with zeros.
fn extend(value: u32, bits: u32, signed: bool) -> u32 {
    let kept = value & low_mask(bits);
    if signed && bits > 0 && kept >> (bits - 1) & 1 != 0 {
        kept | !low_mask(bits)
    } else {
        kept
    }
}
