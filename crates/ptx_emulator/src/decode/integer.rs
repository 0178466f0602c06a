//! Decodes integer arithmetic. Logic, shifts and bit fields are in `bits`.

use ptx::Type;

use super::modifiers::Modifiers;
use super::{Decoder, Result, invalid, unsupported_form};
use crate::exec::{Handler, Inst, binary, general, integer, ternary, unary};

/// Evaluates an expression for the integer type of a PTX type, or `None` if it is not an integer of
/// 8 to 64 bits.
macro_rules! for_integer {
    ($ty:expr, $T:ident => $e:expr) => {
        for_integer!(@ $ty, $T => $e;
            U8 B8 => u8; U16 B16 => u16; U32 B32 => u32; U64 B64 => u64; S8 => i8; S16 => i16; S32 => i32; S64 => i64)
    };
    (@ $ty:expr, $T:ident => $e:expr; $($($name:ident)+ => $rust:ty);+) => {
        match $ty {
            $($(Type::$name)|+ => {
                #[allow(dead_code)]
                type $T = $rust;
                Some($e)
            })+
            _ => None,
        }
    };
}
pub(super) use for_integer;

/// Applies a function to two 16-bit lanes.
#[inline(always)]
fn lanes(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// The operations of `carry_handler`.
const CARRY_ADD: i64 = 0;
const CARRY_SUB: i64 = 1;
const CARRY_MAD_LOW: i64 = 2;
const CARRY_MAD_HIGH: i64 = 3;
const CARRY_READ: i64 = 4;
const CARRY_WRITE: i64 = 8;

/// Returns the handler of `add`, `sub` and `mad` with the carry flag, which is in slot `e`. `imm`
/// contains the operation, and whether the flag is read and written.
fn carry_handler(ty: Type) -> Option<Handler> {
    macro_rules! handler {
        ($U:ty, $S:ty, $wide:ty, $bits:literal) => {
            general(|i, r, _| {
                let (a, b): ($S, $S) = (r.get(i.a), r.get(i.b));
                let carry = if i.imm & CARRY_READ != 0 {
                    r.get(i.e)
                } else {
                    false
                };
                let operation = i.imm & 3;
                let (x, y) = match operation {
                    CARRY_MAD_LOW => (a.wrapping_mul(b) as $U, r.get::<$U>(i.c)),
                    CARRY_MAD_HIGH => {
                        (((a as $wide * b as $wide) >> $bits) as $U, r.get::<$U>(i.c))
                    }
                    _ => (a as $U, b as $U),
                };
                // A subtraction adds the complement, and its carry is set if there is no borrow, as
                // on an H100. libnvvm's 128-bit division reads that carry by `addc`.
                let (y, carry) = if operation == CARRY_SUB {
                    (!y, carry || i.imm & CARRY_READ == 0)
                } else {
                    (y, carry)
                };
                let (partial, first) = x.overflowing_add(y);
                let (result, second) = partial.overflowing_add(carry.into());
                let out = first | second;
                r.set(i.d, result);
                if i.imm & CARRY_WRITE != 0 {
                    r.set(i.e, out);
                }
            })
        };
    }
    Some(match ty {
        Type::U32 | Type::B32 => handler!(u32, u32, u64, 32),
        Type::S32 => handler!(u32, i32, i64, 32),
        Type::U64 | Type::B64 => handler!(u64, u64, u128, 64),
        Type::S64 => handler!(u64, i64, i128, 64),
        _ => return None,
    })
}

impl<'a> Decoder<'_, 'a> {
    /// Emits `d = f(a)`.
    pub(super) fn op1(
        &mut self,
        words: &Modifiers<'_, 'a>,
        run: Handler,
        to: Type,
        a: Type,
    ) -> Result<()> {
        let [d, x] = words.exactly()?;
        let x = self.source(x, a)?;
        let d = self.target(d, to)?;
        self.emit(run, |inst| (inst.d, inst.a) = (d, x));
        Ok(())
    }

    /// Emits `d = f(a, b)` with an immediate for the handler.
    pub(super) fn op2(
        &mut self,
        words: &Modifiers<'_, 'a>,
        run: Handler,
        to: Type,
        a: Type,
        b: Type,
    ) -> Result<()> {
        let [d, x, y] = words.exactly()?;
        let (x, y) = (self.source(x, a)?, self.source(y, b)?);
        let d = self.target(d, to)?;
        self.emit(run, |inst| (inst.d, inst.a, inst.b) = (d, x, y));
        Ok(())
    }

    /// Emits `d = f(a, b, c)` with an immediate for the handler.
    pub(super) fn op3(
        &mut self,
        words: &Modifiers<'_, 'a>,
        run: Handler,
        to: Type,
        types: [Type; 3],
        imm: i64,
    ) -> Result<()> {
        let [d, x, y, z] = words.exactly()?;
        let (x, y, z) = (
            self.source(x, types[0])?,
            self.source(y, types[1])?,
            self.source(z, types[2])?,
        );
        let d = self.target(d, to)?;
        self.emit(run, |inst| {
            (inst.d, inst.a, inst.b, inst.c) = (d, x, y, z);
            inst.imm = imm;
        });
        Ok(())
    }

    /// Returns the slot of the carry flag.
    fn carry_slot(&mut self) -> u32 {
        match self.carry {
            Some(slot) => slot,
            None => {
                let slot = self.slots(1);
                self.carry = Some(slot);
                slot
            }
        }
    }

    fn carry(&mut self, words: &mut Modifiers<'_, 'a>, operation: i64) -> Result<()> {
        let mut flags = operation;
        if words.opcode.ends_with('c') {
            flags |= CARRY_READ;
        }
        if words.has("cc") {
            flags |= CARRY_WRITE;
        }
        let ty = words.ty()?;
        let Some(run) = carry_handler(ty) else {
            return unsupported_form("the carry flag with this type");
        };
        let carry = self.carry_slot();
        match operation {
            CARRY_ADD | CARRY_SUB => self.op2(words, run, ty, ty, ty)?,
            _ => self.op3(words, run, ty, [ty; 3], 0)?,
        }
        let inst: Option<&mut Inst> = self.function.code.last_mut();
        if let Some(inst) = inst {
            inst.imm = flags;
            inst.e = carry;
        }
        Ok(())
    }

    /// Decodes the instruction if it is one of this module's.
    pub(super) fn integer(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        if words.last_type().is_some_and(Type::is_float) {
            return Ok(false);
        }
        match words.opcode {
            "add" if words.sees("cc") => self.carry(words, CARRY_ADD)?,
            "sub" if words.sees("cc") => self.carry(words, CARRY_SUB)?,
            "addc" => self.carry(words, CARRY_ADD)?,
            "subc" => self.carry(words, CARRY_SUB)?,
            "mad" if words.sees("cc") => {
                let high = self.half(words)?;
                self.carry(words, if high { CARRY_MAD_HIGH } else { CARRY_MAD_LOW })?;
            }
            "madc" => {
                let high = self.half(words)?;
                self.carry(words, if high { CARRY_MAD_HIGH } else { CARRY_MAD_LOW })?;
            }
            "add" | "sub" | "min" | "max" => self.simple(words)?,
            "mul" | "mad" => self.multiply(words)?,
            "mul24" | "mad24" => self.multiply_24(words)?,
            "div" | "rem" => self.divide(words)?,
            "sad" => {
                let ty = words.ty()?;
                let run = for_integer!(ty, T => ternary(|a: T, b: T, c: T| c.wrapping_add(a.abs_diff(b) as T)));
                self.op3(words, supported(run, "sad")?, ty, [ty; 3], 0)?;
            }
            "abs" | "neg" => {
                let ty = words.ty()?;
                let abs = words.opcode == "abs";
                let run = match ty {
                    _ if !abs => for_integer!(ty, T => unary(|a: T| a.wrapping_neg())),
                    Type::S16 => Some(unary(i16::wrapping_abs)),
                    Type::S32 => Some(unary(i32::wrapping_abs)),
                    Type::S64 => Some(unary(i64::wrapping_abs)),
                    _ => None,
                };
                self.op1(words, supported(run, words.opcode)?, ty, ty)?;
            }
            "and" | "or" | "xor" | "not" | "cnot" => self.logic(words)?,
            "lop3" => self.logic3(words)?,
            "shl" | "shr" => self.shift(words)?,
            "shf" => self.funnel_shift(words)?,
            "bfe" | "bfi" | "bfind" | "brev" | "clz" | "popc" => self.bits(words)?,
            "prmt" => self.permute(words)?,
            "dp4a" | "dp2a" => {
                let mut modes = if words.opcode == "dp2a" { 4 } else { 0 };
                if modes != 0 && self.half(words)? {
                    modes |= 8;
                }
                let (a, b) = (words.ty()?, words.ty()?);
                modes |= i64::from(a.is_signed()) | i64::from(b.is_signed()) << 1;
                let run = general(|i, r, _| {
                    r.set(
                        i.d,
                        integer::dot_product(r.get(i.a), r.get(i.b), r.get(i.c), i.imm),
                    )
                });
                self.op3(words, run, Type::U32, [Type::U32; 3], modes)?;
            }
            "szext" | "bmsk" => self.masks(words)?,
            "fns" => {
                let _ = words.ty()?;
                let run = ternary(integer::find_nth_set);
                self.op3(words, run, Type::B32, [Type::B32; 3], 0)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes `.hi` or `.lo`.
    fn half(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<bool> {
        match words.one_of(&[("hi", true), ("lo", false)]) {
            Some(high) => Ok(high),
            None => invalid(format!("`{}` without `.lo` or `.hi`", words.opcode)),
        }
    }

    fn simple(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let (saturate, relu) = (words.has("sat"), words.has("relu"));
        let ty = words.ty()?;
        let run = match (words.opcode, ty) {
            ("add", Type::S32) if saturate => Some(binary(i32::saturating_add)),
            ("sub", Type::S32) if saturate => Some(binary(i32::saturating_sub)),
            _ if saturate => None,
            ("min", Type::S32) if relu => Some(binary(|a: i32, b: i32| a.min(b).max(0))),
            ("max", Type::S32) if relu => Some(binary(|a: i32, b: i32| a.max(b).max(0))),
            ("min", Type::S16x2) if relu => Some(binary(|a, b| {
                lanes(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16)
            })),
            ("max", Type::S16x2) if relu => Some(binary(|a, b| {
                lanes(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16)
            })),
            _ if relu => None,
            ("add", Type::U16x2 | Type::S16x2) => {
                Some(binary(|a, b| lanes(a, b, u16::wrapping_add)))
            }
            ("sub", Type::U16x2 | Type::S16x2) => {
                Some(binary(|a, b| lanes(a, b, u16::wrapping_sub)))
            }
            ("min", Type::U16x2) => Some(binary(|a, b| lanes(a, b, u16::min))),
            ("max", Type::U16x2) => Some(binary(|a, b| lanes(a, b, u16::max))),
            ("min", Type::S16x2) => Some(binary(|a, b| {
                lanes(a, b, |a, b| (a as i16).min(b as i16) as u16)
            })),
            ("max", Type::S16x2) => Some(binary(|a, b| {
                lanes(a, b, |a, b| (a as i16).max(b as i16) as u16)
            })),
            ("add", _) => for_integer!(ty, T => binary(|a: T, b: T| a.wrapping_add(b))),
            ("sub", _) => for_integer!(ty, T => binary(|a: T, b: T| a.wrapping_sub(b))),
            ("min", _) => for_integer!(ty, T => binary(|a: T, b: T| a.min(b))),
            _ => for_integer!(ty, T => binary(|a: T, b: T| a.max(b))),
        };
        self.op2(words, supported(run, words.opcode)?, ty, ty, ty)
    }

    fn multiply(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let Some(part) = words.one_of(&[("lo", 0), ("hi", 1), ("wide", 2)]) else {
            return invalid(format!(
                "`{}` without `.lo`, `.hi` or `.wide`",
                words.opcode
            ));
        };
        let saturate = words.has("sat");
        let ty = words.ty()?;
        let add = words.opcode == "mad";
        macro_rules! wide {
            ($($name:ident $T:ty, $W:ty;)*) => {
                match (ty, part) {
                    $((Type::$name, 2) if add => Some(ternary(|a: $T, b: $T, c: $W| (a as $W * b as $W).wrapping_add(c))),
                    (Type::$name, 2) => Some(binary(|a: $T, b: $T| a as $W * b as $W)),)*
                    _ => None,
                }
            };
        }
        macro_rules! high {
            ($($name:ident $T:ty, $W:ty, $bits:literal;)*) => {
                match ty {
                    $(Type::$name if add => {
                        Some(ternary(|a: $T, b: $T, c: $T| (((a as $W * b as $W) >> $bits) as $T).wrapping_add(c)))
                    }
                    Type::$name => Some(binary(|a: $T, b: $T| ((a as $W * b as $W) >> $bits) as $T)),)*
                    _ => None,
                }
            };
        }
        let run = match part {
            1 if saturate && add && ty == Type::S32 => Some(ternary(|a: i32, b: i32, c: i32| {
                (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)
            })),
            _ if saturate => None,
            0 if add => {
                for_integer!(ty, T => ternary(|a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)))
            }
            0 => for_integer!(ty, T => binary(|a: T, b: T| a.wrapping_mul(b))),
            1 => high! {
                U16 u16, u32, 16; S16 i16, i32, 16; U32 u32, u64, 32; S32 i32, i64, 32; U64 u64, u128, 64;
                S64 i64, i128, 64;
            },
            _ => wide! { U16 u16, u32; S16 i16, i32; U32 u32, u64; S32 i32, i64; },
        };
        let run = supported(run, words.opcode)?;
        let to = match (part, ty) {
            (2, Type::U16) => Type::U32,
            (2, Type::S16) => Type::S32,
            (2, Type::U32) => Type::U64,
            (2, Type::S32) => Type::S64,
            _ => ty,
        };
        if add {
            self.op3(words, run, to, [ty, ty, to], 0)
        } else {
            self.op2(words, run, to, ty, ty)
        }
    }

    fn multiply_24(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let high = self.half(words)?;
        let saturate = words.has("sat");
        let ty = words.ty()?;
        let signed = match ty {
            Type::S32 => true,
            Type::U32 => false,
            _ => return unsupported_form(format!("`{}` of this type", words.opcode)),
        };
        let run = general(|i, r, _| {
            let (a, b): (u32, u32) = (r.get(i.a), r.get(i.b));
            let product = if i.imm & 2 != 0 {
                let extend = |x: u32| i64::from((x << 8) as i32 >> 8);
                (extend(a) * extend(b)) as u64
            } else {
                u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
            };
            let part = (if i.imm & 1 != 0 {
                product >> 16
            } else {
                product
            }) as u32;
            let sum: u32 = if i.imm & 4 != 0 { r.get(i.c) } else { 0 };
            r.set(
                i.d,
                if i.imm & 8 != 0 {
                    (part as i32).saturating_add(sum as i32) as u32
                } else {
                    part.wrapping_add(sum)
                },
            );
        });
        let mode = i64::from(high) | i64::from(signed) << 1 | i64::from(saturate) << 3;
        if words.opcode == "mad24" {
            return self.op3(words, run, Type::U32, [ty; 3], mode | 4);
        }
        self.op2(words, run, Type::U32, ty, ty)?;
        if let Some(inst) = self.function.code.last_mut() {
            inst.imm = mode;
        }
        Ok(())
    }

    /// Decodes a division. Division by zero returns all ones, as on hardware.
    fn divide(&mut self, words: &mut Modifiers<'_, 'a>) -> Result<()> {
        let ty = words.ty()?;
        let run = if words.opcode == "div" {
            for_integer!(ty, T => binary(|a: T, b: T| if b == 0 { !0 } else { a.wrapping_div(b) }))
        } else {
            for_integer!(ty, T => binary(|a: T, b: T| if b == 0 { !0 } else { a.wrapping_rem(b) }))
        };
        self.op2(words, supported(run, words.opcode)?, ty, ty, ty)
    }
}

/// Returns the handler, or the error that the type is not supported.
pub(super) fn supported(run: Option<Handler>, opcode: &str) -> Result<Handler> {
    match run {
        Some(run) => Ok(run),
        None => unsupported_form(format!("this type or form of `{opcode}`")),
    }
}
