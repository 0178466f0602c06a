//! Resolves operands: registers to slots, constants to slots that hold them, and special registers
//! and addresses to instructions that write them to slots.

use ptx::{Base, Operand, Space, Type};

use super::{Decoder, Local, Register, Result, invalid, unsupported_form};
use crate::exec::call::{Builtin, frame_address, function_address};
use crate::exec::{PARAM_WINDOW, special, unary};

/// A resolved address: a slot with a register's value, and an offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub slot: u32,
    pub offset: i64,
    /// The position of a parameter or frame variable that is given by name.
    pub direct: Option<Direct>,
}

/// A position that is known when decoding.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direct {
    /// An offset in the frame.
    Frame {
        offset: i64,
        left: i64,
        space: Space,
    },
    /// An offset in the kernel's parameter buffer.
    KernelParam { offset: i64, left: i64 },
}

/// Returns whether a register can be an operand of an instruction's type (PTX ISA, "Operand Type
/// Checking"): the sizes are the same, or the register is wider where that is allowed; untyped bits
/// fit all types, integers fit integers regardless of the sign, and floats only the same type.
/// ptxas takes registers of type `.f16x2` for integers, too.
fn fits(register: Type, ty: Type, may_be_wider: bool) -> bool {
    use Type::*;
    let untyped = |ty| matches!(ty, B8 | B16 | B32 | B64 | B128);
    let integer = |ty: Type| !ty.is_float() && !matches!(ty, Pred);
    let same_class = match ty {
        Pred => register == Pred,
        // No registers have these types.
        Bf16 | Bf16x2 | Tf32 | F32x2 | E4m3x2 => untyped(register),
        _ if untyped(ty) => register != Pred,
        _ if ty.is_float() => untyped(register) || register == ty,
        _ => integer(register) || register == F16x2,
    };
    let (has, wanted) = (register.bits(), ty.bits());
    let wider = may_be_wider && wanted < has && has <= 64;
    same_class && (has == wanted || wider)
}

impl<'a> Decoder<'_, 'a> {
    /// Returns the meaning of a name in the function.
    pub(super) fn local(&self, name: &str) -> Option<Local> {
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(digits);
        for scope in self.scopes.iter().rev() {
            if let Some(&local) = scope.names.get(name) {
                return Some(local);
            }
            if number.is_empty() || number.len() > 1 && number.starts_with('0') {
                continue;
            }
            if let (Some(&(register, count)), Ok(number)) =
                (scope.families.get(prefix), number.parse::<u32>())
                && number < count
            {
                let each =
                    register.vector.unwrap_or(1) * if register.ty == Type::B128 { 2 } else { 1 };
                return Some(Local::Register(Register {
                    slot: register.slot + number * each,
                    ..register
                }));
            }
        }
        None
    }

    /// Returns the register with a name.
    fn register(&self, name: &str) -> Option<Register> {
        match self.local(name) {
            Some(Local::Register(register)) => Some(register),
            _ => None,
        }
    }

    /// Returns the register with a name, or the error that there is none.
    fn declared(&self, name: &str) -> Result<Register> {
        match self.register(name) {
            Some(register) => Ok(register),
            None => invalid(format!("the register `{name}` is not declared")),
        }
    }

    /// Returns an element of a vector register.
    fn element(&self, name: &str, element: &str) -> Result<Register> {
        let index = match element {
            "x" | "r" => Some(0),
            "y" | "g" => Some(1),
            "z" | "b" => Some(2),
            "w" | "a" => Some(3),
            _ => None,
        };
        let register = self.declared(name)?;
        match (index, register.vector) {
            (Some(index), Some(length)) if index < length => Ok(Register {
                slot: register.slot + index,
                vector: None,
                ..register
            }),
            _ => invalid(format!("the register `{name}` has no element `{element}`")),
        }
    }

    pub(super) fn predicate_register(&mut self, name: &str) -> Result<u32> {
        match self.declared(name)? {
            Register {
                slot,
                ty: Type::Pred,
                ..
            } => Ok(slot),
            _ => invalid(format!("`{name}` is not a predicate register")),
        }
    }

    /// Checks a register's type against the type that an instruction has for an operand.
    fn check_type(&self, register: Register, name: &str, ty: Type) -> Result<()> {
        if register.vector.is_some() {
            return invalid(format!(
                "the vector register `{name}` where a scalar is expected"
            ));
        }
        match fits(register.ty, ty, self.may_be_wider) {
            true => Ok(()),
            false => invalid(format!(
                "the register `{name}` of type `.{}` where `.{}` is expected",
                register.ty.name(),
                ty.name()
            )),
        }
    }

    /// Returns the slot of a destination register; `_` is a slot that is never read.
    pub(super) fn target(&mut self, operand: &Operand<'a>, ty: Type) -> Result<u32> {
        let (name, register) = match operand {
            Operand::Name("_") => return Ok(self.temporary()),
            Operand::Name(name) => (name, self.declared(name)?),
            Operand::Part(name, element) => (name, self.element(name, element)?),
            _ => return invalid("a destination that is not a register"),
        };
        self.check_type(register, name, ty)?;
        Ok(register.slot)
    }

    /// Returns the width of the register that an operand is.
    pub(super) fn register_bits(&self, operand: &Operand<'a>) -> Option<u32> {
        let register = match operand {
            Operand::Name(name) => self.register(name),
            Operand::Part(name, element) => self.element(name, element).ok(),
            _ => None,
        };
        register.map(|register| register.ty.bits())
    }

    /// Returns a slot that holds the value of a source operand of type `ty`.
    pub(super) fn source(&mut self, operand: &Operand<'a>, ty: Type) -> Result<u32> {
        match operand {
            Operand::Name(name) => self.source_name(name, 0, ty),
            Operand::Part(name, element) => {
                let register = self.element(name, element)?;
                self.check_type(register, name, ty)?;
                Ok(register.slot)
            }
            Operand::NameOffset(name, offset) => self.source_name(name, *offset, ty),
            Operand::Integer(value) => Ok(match ty {
                // An integer constant in a floating-point instruction is a number, not a bit
                // pattern.
                Type::F32 => self.constant(
                    (value.to_string().parse::<f32>().unwrap_or(0.0))
                        .to_bits()
                        .into(),
                ),
                Type::F64 => {
                    self.constant((value.to_string().parse::<f64>().unwrap_or(0.0)).to_bits())
                }
                Type::Pred => self.constant(u64::from(value.bits != 0)),
                Type::B128 => {
                    let slot = self.slots(2);
                    self.function.template[slot as usize] = value.bits;
                    self.function.template[slot as usize + 1] =
                        if value.negative { u64::MAX } else { 0 };
                    slot
                }
                _ => self.constant(value.bits),
            }),
            Operand::F32(bits) => Ok(match ty {
                Type::F64 => self.constant(f64::from(f32::from_bits(*bits)).to_bits()),
                _ => self.constant((*bits).into()),
            }),
            Operand::F64(bits) => Ok(match ty {
                Type::F32 => self.constant((f64::from_bits(*bits) as f32).to_bits().into()),
                _ => self.constant(*bits),
            }),
            Operand::Not(inner) if ty == Type::Pred => {
                let slot = self.source(inner, ty)?;
                let result = self.temporary();
                self.emit(unary(|a: bool| !a), |inst| {
                    (inst.d, inst.a) = (result, slot)
                });
                Ok(result)
            }
            _ => invalid("an operand of the wrong kind"),
        }
    }

    fn source_name(&mut self, name: &'a str, offset: i64, ty: Type) -> Result<u32> {
        if let Some(register) = self.register(name) {
            if offset != 0 {
                return invalid(format!(
                    "a sum with the register `{name}` outside of an address"
                ));
            }
            self.check_type(register, name, ty)?;
            return Ok(register.slot);
        }
        if let Some((handler, bits)) = special::handler(name) {
            // Reading a wider type zero-extends; a narrower one is an error as for any register.
            if bits < ty.bits() && ty.bits() > 64 || ty == Type::Pred && bits != 1 {
                return invalid(format!("`{name}` does not fit here"));
            }
            let slot = self.temporary();
            self.emit(handler, |inst| inst.d = slot);
            return Ok(slot);
        }
        if ty.bits() < 32 {
            return invalid(format!("`{name}` is not declared, or does not fit here"));
        }
        self.address_of(name, offset, false)
    }

    /// Returns a slot that holds the address of a variable or function, in its own state space or
    /// as a generic address.
    pub(super) fn address_of(&mut self, name: &'a str, offset: i64, generic: bool) -> Result<u32> {
        use crate::exec::SHARED_WINDOW;
        let shared = if generic { SHARED_WINDOW } else { 0 };
        match self.local(name) {
            Some(Local::Frame {
                offset: base,
                space,
                ..
            }) => {
                let slot = self.temporary();
                // Parameters have no state space of their own in the emulator: their address is
                // generic.
                let generic = generic || space == Space::Param;
                self.emit(frame_address, |inst| {
                    inst.d = slot;
                    inst.imm = i64::from(base).wrapping_add(offset);
                    inst.e = generic.into();
                });
                return Ok(slot);
            }
            Some(Local::KernelParam { offset: base, .. }) => {
                return Ok(
                    self.constant((PARAM_WINDOW + u64::from(base)).wrapping_add(offset as u64))
                );
            }
            Some(Local::Shared { offset: base, size }) => {
                self.function.shared.push((base, size));
                return Ok(self.constant((shared + u64::from(base)).wrapping_add(offset as u64)));
            }
            Some(Local::Register(_)) => {
                return invalid(format!("`{name}` is a register, not a variable"));
            }
            None => {}
        }
        if let Some(&(base, size)) = self.symbols.shared.get(name) {
            self.function.shared.push((base, size));
            return Ok(self.constant((shared + u64::from(base)).wrapping_add(offset as u64)));
        }
        if let Some(&(address, _)) = self.symbols.globals.get(name) {
            return Ok(self.constant(address.wrapping_add(offset as u64)));
        }
        if let Some(&index) = self.symbols.functions.get(name) {
            if !self.symbols.params[index as usize].defined && Builtin::from_name(name).is_some() {
                return unsupported_form(format!("taking the address of `{name}`"));
            }
            self.function.takes.push(index);
            return Ok(self.constant(function_address(index).wrapping_add(offset as u64)));
        }
        invalid(format!("`{name}` is not declared"))
    }

    /// Resolves the address in brackets.
    pub(super) fn address(&mut self, operand: &Operand<'a>) -> Result<Address> {
        let Operand::Address(base, offset) = operand else {
            return invalid("an operand that is not an address");
        };
        let offset = *offset;
        let name = match base {
            Base::Absolute => {
                let slot = self.constant(offset as u64);
                return Ok(Address {
                    slot,
                    offset: 0,
                    direct: None,
                });
            }
            Base::Name(name) => *name,
        };
        if let Some(register) = self.register(name) {
            let slot = match register.ty {
                Type::B64 | Type::U64 | Type::S64 => register.slot,
                Type::B32 | Type::U32 | Type::S32 => {
                    // The bits above a register's own width are unspecified.
                    let slot = self.temporary();
                    self.emit(unary(|a: u32| u64::from(a)), |inst| {
                        (inst.d, inst.a) = (slot, register.slot)
                    });
                    slot
                }
                _ => return invalid(format!("the register `{name}` cannot hold an address")),
            };
            return Ok(Address {
                slot,
                offset,
                direct: None,
            });
        }
        let direct = match self.local(name) {
            Some(Local::Frame {
                offset: base,
                size,
                space,
            }) => Some(Direct::Frame {
                offset: i64::from(base).wrapping_add(offset),
                left: i64::from(size).wrapping_sub(offset),
                space,
            }),
            Some(Local::KernelParam { offset: base, size }) => Some(Direct::KernelParam {
                offset: i64::from(base).wrapping_add(offset),
                left: i64::from(size).wrapping_sub(offset),
            }),
            _ => None,
        };
        if direct.is_some() && offset < 0 {
            return invalid(format!("an address before the start of `{name}`"));
        }
        if direct.is_some() {
            return Ok(Address {
                slot: 0,
                offset,
                direct,
            });
        }
        let slot = self.address_of(name, 0, false)?;
        Ok(Address {
            slot,
            offset,
            direct: None,
        })
    }

    /// Returns the elements of a vector operand: those in braces, or those of a vector register.
    pub(super) fn vector_targets(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Vec<u32>> {
        match operand {
            Operand::Vector(parts) => {
                self.check_elements(parts)?;
                parts.iter().map(|part| self.target(part, ty)).collect()
            }
            Operand::Name(name) => self.vector_register(name),
            _ => invalid("an operand that is not a vector"),
        }
    }

    pub(super) fn vector_sources(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Vec<u32>> {
        match operand {
            Operand::Vector(parts) => {
                self.check_elements(parts)?;
                parts.iter().map(|part| self.source(part, ty)).collect()
            }
            Operand::Name(name) => self.vector_register(name),
            _ => invalid("an operand that is not a vector"),
        }
    }

    /// The registers of a vector may be wider than its elements, but all have one width, as ptxas
    /// requires.
    fn check_elements(&self, parts: &[Operand<'a>]) -> Result<()> {
        let mut widths = parts.iter().filter_map(|part| self.register_bits(part));
        let first = widths.next();
        match widths.find(|&bits| Some(bits) != first) {
            Some(_) => invalid("a vector of registers of different widths"),
            None => Ok(()),
        }
    }

    fn vector_register(&self, name: &str) -> Result<Vec<u32>> {
        match self.local(name) {
            Some(Local::Register(Register {
                slot,
                vector: Some(count),
                ..
            })) => Ok((slot..slot + count).collect()),
            _ => invalid(format!("`{name}` is not a vector register")),
        }
    }

    /// Returns whether an operand is the name of a vector register.
    pub(super) fn is_vector_register(&self, operand: &Operand<'a>) -> bool {
        matches!(operand, Operand::Name(name)
            if matches!(self.local(name), Some(Local::Register(Register { vector: Some(_), .. }))))
    }

    /// Returns the slots of `p|q` or of a single target; a missing second target is a slot that is
    /// never read.
    pub(super) fn target_pair(
        &mut self,
        operand: &Operand<'a>,
        first: Type,
        second: Type,
    ) -> Result<(u32, Option<u32>)> {
        match operand {
            Operand::Pair(pair) => Ok((
                self.target(&pair.0, first)?,
                Some(self.target(&pair.1, second)?),
            )),
            _ => Ok((self.target(operand, first)?, None)),
        }
    }
}
