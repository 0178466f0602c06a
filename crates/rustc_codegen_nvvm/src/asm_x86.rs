//! Lowers inline assembly of x86-64 in single-source programs, instruction by instruction, for
//! crates that use it without asking for more than the baseline, such as `libm` for square roots,
//! `num-bigint` for divisions, and `cmov` and `constant_time_eq` for comparisons in constant time.
//!
//! An assembly is lowered if it consists of the instructions in [`Machine::execute`], with operands
//! of the `asm!` as their only explicit registers. Any other assembly is an error.

use nvvm_ir::{Intrinsic, Type, Value};
use rustc_abi::Align;
use rustc_ast::{InlineAsmOptions, InlineAsmTemplatePiece};
use rustc_codegen_ssa::common::IntPredicate;
use rustc_codegen_ssa::traits::*;
use rustc_target::asm::{
    InlineAsmReg, InlineAsmRegClass, InlineAsmRegOrRegClass, X86InlineAsmReg, X86InlineAsmRegClass,
};

use crate::builder::Builder;

/// A register of an assembly. Each operand without a named register has one of its own, as it has
/// in one of the allocations that an author must expect.
#[derive(Clone, Copy, PartialEq)]
enum Register {
    Named(X86InlineAsmReg),
    OfOperand(usize),
}

/// An operand of an instruction: a register, and the number of its bits that the instruction uses.
#[derive(Clone, Copy)]
struct Part {
    register: Register,
    bits: u64,
}

/// The size of a vector register in bits.
const VECTOR: u64 = 128;

/// The state of the processor between two instructions.
struct Machine<'b, 'a, 'tcx> {
    bx: &'b mut Builder<'a, 'tcx>,
    /// The values of the registers, of 64 or [`VECTOR`] bits.
    registers: Vec<(Register, Value)>,
    /// For each operand of the `asm!`, its register and the register's class.
    operands: Vec<Option<(Register, X86InlineAsmRegClass)>>,
    zero_flag: Option<Value>,
    carry_flag: Option<Value>,
}

impl<'a, 'tcx> Builder<'a, 'tcx> {
    /// Lowers an assembly of x86-64 and stores its outputs. Returns `None` if it has instructions
    /// or operands without an equivalent.
    pub(crate) fn asm_of_x86(
        &mut self,
        template: &[InlineAsmTemplatePiece],
        operands: &[InlineAsmOperandRef<'tcx, Self>],
        options: InlineAsmOptions,
    ) -> Option<()> {
        if options.intersects(InlineAsmOptions::ATT_SYNTAX | InlineAsmOptions::NORETURN) {
            return None;
        }
        let mut machine = Machine {
            bx: self,
            registers: Vec::new(),
            operands: Vec::new(),
            zero_flag: None,
            carry_flag: None,
        };
        for (index, operand) in operands.iter().enumerate() {
            let (reg, input) = match operand {
                InlineAsmOperandRef::In { reg, value } => (*reg, Some(value)),
                InlineAsmOperandRef::InOut { reg, in_value, .. } => (*reg, Some(in_value)),
                InlineAsmOperandRef::Out { reg, .. } => (*reg, None),
                InlineAsmOperandRef::Label { .. } => return None,
                _ => {
                    machine.operands.push(None);
                    continue;
                }
            };
            let register = match reg {
                InlineAsmRegOrRegClass::Reg(InlineAsmReg::X86(name)) => Register::Named(name),
                _ => Register::OfOperand(index),
            };
            let class = match reg.reg_class() {
                InlineAsmRegClass::X86(class) => class,
                _ => return None,
            };
            machine.operands.push(Some((register, class)));
            if let Some(value) = input {
                let bits = match class {
                    X86InlineAsmRegClass::xmm_reg => VECTOR,
                    _ => 64,
                };
                let value = (machine.bx).emit_to_register(value.immediate(), value.layout, bits);
                machine.registers.push((register, value));
            }
        }
        for instruction in instructions(template) {
            machine.execute(&instruction)?;
        }
        let Machine {
            registers,
            operands: of_operands,
            ..
        } = machine;
        for (operand, register) in operands.iter().zip(of_operands) {
            let place = match operand {
                InlineAsmOperandRef::Out { place, .. } => *place,
                InlineAsmOperandRef::InOut { out_place, .. } => *out_place,
                _ => None,
            };
            if let (Some(place), Some((register, _))) = (place, register) {
                let known = registers.iter().find(|(it, _)| *it == register);
                let value = match known {
                    Some((_, value)) => *value,
                    None => self.const_u64(0),
                };
                self.store_register(value, place);
            }
        }
        Some(())
    }
}

impl<'a, 'tcx> Machine<'_, 'a, 'tcx> {
    fn part(&self, operand: &Operand) -> Option<Part> {
        let (register, class) = (*self.operands.get(operand.index)?)?;
        let bits = match (class, operand.modifier) {
            (X86InlineAsmRegClass::xmm_reg, None | Some('x')) => VECTOR,
            (X86InlineAsmRegClass::reg_byte, None) => 8,
            (X86InlineAsmRegClass::reg | X86InlineAsmRegClass::reg_abcd, modifier) => {
                match modifier {
                    None | Some('r') => 64,
                    Some('e') => 32,
                    Some('x') => 16,
                    Some('l') => 8,
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(Part { register, bits })
    }

    /// Returns the part of a register with a name, if the `asm!` has an operand for it.
    fn named(&self, name: X86InlineAsmReg, bits: u64) -> Option<Part> {
        let register = Register::Named(name);
        let mut known = self.operands.iter().flatten();
        known
            .any(|(it, _)| *it == register)
            .then_some(Part { register, bits })
    }

    /// Returns a register's value. Registers that are only outputs have no specified value.
    fn whole(&mut self, register: Register, bits: u64) -> Value {
        let known = self.registers.iter().find(|(it, _)| *it == register);
        match known {
            Some((_, value)) => *value,
            None => {
                let ty = self.bx.int(bits);
                self.bx.const_null(ty)
            }
        }
    }

    fn read(&mut self, part: Part) -> Value {
        let value = self.whole(part.register, part.bits.max(64));
        let ty = self.bx.int(part.bits);
        self.bx.intcast(value, ty, false)
    }

    /// Writes a part of a register. As on the processor, a write of 32 bits clears the others of a
    /// general register, and one of 8 or 16 bits keeps them.
    fn write(&mut self, part: Part, value: Value) {
        let bits = part.bits.max(64);
        let ty = self.bx.int(bits);
        let mut value = self.bx.intcast(value, ty, false);
        if part.bits < 32 {
            let old = self.whole(part.register, bits);
            let mask = self.bx.const_uint(ty, !((1 << part.bits) - 1));
            let kept = self.bx.and(old, mask);
            value = self.bx.or(kept, value);
        }
        self.registers.retain(|(it, _)| *it != part.register);
        self.registers.push((part.register, value));
    }

    /// Returns the float in the lowest bits of a vector register.
    fn read_float(&mut self, part: Part, ty: Type) -> Value {
        let value = self.read(part);
        let int = self.int_of(ty);
        let low = self.bx.trunc(value, int);
        self.bx.bitcast(low, ty)
    }

    /// Writes a float to the lowest bits of a vector register, and those of `upper` to the others.
    fn write_float(&mut self, part: Part, float: Value, upper: Part) {
        let (ty, vector) = (self.bx.val_ty(float), self.bx.int(VECTOR));
        let int = self.int_of(ty);
        let bits = self.bx.bitcast(float, int);
        let bits = self.bx.zext(bits, vector);
        let size = match ty == self.bx.type_f64() {
            true => 64,
            false => 32,
        };
        let size = self.bx.const_uint(vector, size);
        let upper = self.read(upper);
        let upper = self.bx.lshr(upper, size);
        let upper = self.bx.shl(upper, size);
        let value = self.bx.or(upper, bits);
        self.write(part, value);
    }

    fn int_of(&mut self, float: Type) -> Type {
        match float == self.bx.type_f64() {
            true => self.bx.type_i64(),
            false => self.bx.type_i32(),
        }
    }

    /// Returns the bytes of a vector register.
    fn bytes(&mut self, part: Part) -> Vec<Value> {
        let value = self.read(part);
        let i8 = self.bx.type_i8();
        let vector = self.bx.cx.ty(|types| types.vector(i8, 16));
        let vector = self.bx.bitcast(value, vector);
        self.bx.lanes(vector)
    }

    fn set_zero_flag(&mut self, value: Value) {
        let ty = self.bx.val_ty(value);
        let zero = self.bx.const_null(ty);
        self.zero_flag = Some(self.bx.icmp(IntPredicate::IntEQ, value, zero));
    }

    /// Returns whether the condition of an instruction such as `cmovne` holds.
    fn condition(&mut self, suffix: &str) -> Option<Value> {
        let (flag, negated) = match suffix {
            "e" | "z" => (self.zero_flag?, false),
            "ne" | "nz" => (self.zero_flag?, true),
            "b" | "c" | "nae" => (self.carry_flag?, false),
            "ae" | "nc" | "nb" => (self.carry_flag?, true),
            "be" | "na" | "a" | "nbe" => {
                let (zero, carry) = (self.zero_flag?, self.carry_flag?);
                (self.bx.or(zero, carry), matches!(suffix, "a" | "nbe"))
            }
            _ => return None,
        };
        Some(match negated {
            true => self.bx.not(flag),
            false => flag,
        })
    }

    fn execute(&mut self, instruction: &Instruction) -> Option<()> {
        let parts: Option<Vec<Part>> = (instruction.operands.iter())
            .map(|operand| self.part(operand))
            .collect();
        let parts = parts?;
        if instruction
            .operands
            .iter()
            .any(|operand| operand.is_address)
        {
            return self.store_to_memory(instruction, &parts);
        }
        match parts[..] {
            _ if parts.iter().all(|part| part.bits == VECTOR) => {
                self.vector_instruction(&instruction.name, &parts)
            }
            [mask, bytes] if bytes.bits == VECTOR && matches!(mask.bits, 32 | 64) => {
                let ("pmovmskb" | "vpmovmskb") = &*instruction.name else {
                    return None;
                };
                let i32 = self.bx.type_i32();
                let mut bits = self.bx.const_u32(0);
                for (index, byte) in self.bytes(bytes).into_iter().enumerate() {
                    let seven = self.bx.const_uint(self.bx.val_ty(byte), 7);
                    let sign = self.bx.lshr(byte, seven);
                    let sign = self.bx.zext(sign, i32);
                    let index = self.bx.const_u32(index as u32);
                    let bit = self.bx.shl(sign, index);
                    bits = self.bx.or(bits, bit);
                }
                self.write(mask, bits);
                Some(())
            }
            _ if parts.iter().all(|part| part.bits == parts[0].bits) => {
                self.scalar_instruction(&instruction.name, &parts)
            }
            _ => None,
        }
    }

    /// Executes a store that bypasses the caches of the host's processor, as a plain store.
    fn store_to_memory(&mut self, instruction: &Instruction, parts: &[Part]) -> Option<()> {
        let ([to, from], &[address, value]) = (&instruction.operands[..], parts) else {
            return None;
        };
        let is_vector = value.bits == VECTOR;
        let is_stored = match &*instruction.name {
            "movnti" => matches!(value.bits, 32 | 64),
            "movntdq" | "movntpd" | "movntps" => is_vector,
            "vmovntdq" | "vmovntpd" | "vmovntps" => is_vector,
            _ => false,
        };
        if !is_stored || !to.is_address || from.is_address || address.bits != 64 {
            return None;
        }
        // An unaligned address of a vector is an exception of the processor.
        let align = match is_vector {
            true => Align::from_bits(VECTOR).expect("a power of two"),
            false => Align::ONE,
        };
        let address = self.read(address);
        let address = self.bx.inttoptr(address, self.bx.type_ptr());
        let value = self.read(value);
        self.bx.store(value, address, align);
        Some(())
    }

    fn vector_instruction(&mut self, name: &str, parts: &[Part]) -> Option<()> {
        let float = match name.as_bytes() {
            [.., b's', b's'] => self.bx.type_f32(),
            _ => self.bx.type_f64(),
        };
        match (name, parts) {
            ("sqrtss" | "sqrtsd", &[to, from]) => self.square_root(to, to, from, float),
            ("vsqrtss" | "vsqrtsd", &[to, upper, from]) => {
                self.square_root(to, upper, from, float);
            }
            ("vfmadd132ss" | "vfmadd132sd", &[a, b, c]) => self.fma(a, [a, c, b], a, float),
            ("vfmadd213ss" | "vfmadd213sd", &[a, b, c]) => self.fma(a, [b, a, c], a, float),
            ("vfmadd231ss" | "vfmadd231sd", &[a, b, c]) => self.fma(a, [b, c, a], a, float),
            ("vfmaddss" | "vfmaddsd", &[to, a, b, c]) => {
                // Unlike the instructions above, these clear the other bits.
                self.fma(to, [a, b, c], to, float);
                let int = self.int_of(float);
                let value = self.read(to);
                let low = self.bx.trunc(value, int);
                self.write(to, low);
            }
            ("pand" | "por" | "pxor" | "pcmpeqb", &[a, b]) => self.bitwise(name, a, a, b),
            ("vpand" | "vpor" | "vpxor" | "vpcmpeqb", &[to, a, b]) => {
                self.bitwise(&name[1..], to, a, b);
            }
            ("nop" | "pause", []) => {}
            _ => return None,
        }
        Some(())
    }

    fn square_root(&mut self, to: Part, upper: Part, from: Part, float: Type) {
        let value = self.read_float(from, float);
        let root = self.bx.intrinsic(Intrinsic::Sqrt, float, &[value]);
        self.write_float(to, root, upper);
    }

    /// Writes `a * b + c`, rounded once.
    fn fma(&mut self, to: Part, operands: [Part; 3], upper: Part, float: Type) {
        let values = operands.map(|part| self.read_float(part, float));
        let result = self.bx.intrinsic(Intrinsic::Fma, float, &values);
        self.write_float(to, result, upper);
    }

    fn bitwise(&mut self, name: &str, to: Part, a: Part, b: Part) {
        let value = if name == "pcmpeqb" {
            let (a, b) = (self.bytes(a), self.bytes(b));
            let i8 = self.bx.type_i8();
            let lanes: Vec<Value> = (a.into_iter().zip(b))
                .map(|(a, b)| {
                    let equal = self.bx.icmp(IntPredicate::IntEQ, a, b);
                    self.bx.sext(equal, i8)
                })
                .collect();
            let vector = self.bx.vector_of(&lanes);
            let int = self.bx.int(VECTOR);
            self.bx.bitcast(vector, int)
        } else {
            let (a, b) = (self.read(a), self.read(b));
            match name {
                "pand" => self.bx.and(a, b),
                "por" => self.bx.or(a, b),
                _ => self.bx.xor(a, b),
            }
        };
        self.write(to, value);
    }

    /// Executes an instruction whose operands have the same width.
    fn scalar_instruction(&mut self, name: &str, parts: &[Part]) -> Option<()> {
        match (name, parts) {
            ("mov", &[to, from]) => {
                let value = self.read(from);
                self.write(to, value);
            }
            ("not", &[to]) => {
                let value = self.read(to);
                let value = self.bx.not(value);
                self.write(to, value);
            }
            ("and" | "or" | "xor" | "test", &[to, from]) => {
                let (a, b) = (self.read(to), self.read(from));
                let value = match name {
                    "or" => self.bx.or(a, b),
                    "xor" => self.bx.xor(a, b),
                    _ => self.bx.and(a, b),
                };
                self.set_zero_flag(value);
                self.carry_flag = Some(self.bx.const_bool(false));
                if name != "test" {
                    self.write(to, value);
                }
            }
            ("add" | "adc" | "sub" | "sbb" | "cmp", &[to, from]) => {
                let carry = match name {
                    "adc" | "sbb" => self.carry_flag?,
                    _ => self.bx.const_bool(false),
                };
                let (a, b) = (self.read(to), self.read(from));
                let (value, carry) = match name {
                    "add" | "adc" => self.bx.with_carry(a, b, carry),
                    _ => self.bx.with_borrow(a, b, carry),
                };
                self.set_zero_flag(value);
                self.carry_flag = Some(carry);
                if name != "cmp" {
                    self.write(to, value);
                }
            }
            ("mul" | "div", &[by]) if by.bits >= 32 => {
                let low = self.named(X86InlineAsmReg::ax, by.bits)?;
                let high = self.named(X86InlineAsmReg::dx, by.bits)?;
                match name {
                    "mul" => self.multiply(high, low, by),
                    _ => self.divide(high, low, by),
                }
            }
            _ if let (Some(suffix), &[to, from]) = (name.strip_prefix("cmov"), parts)
                && to.bits >= 16 =>
            {
                let holds = self.condition(suffix)?;
                let (old, new) = (self.read(to), self.read(from));
                let value = self.bx.select(holds, new, old);
                self.write(to, value);
            }
            _ if let (Some(suffix), &[to]) = (name.strip_prefix("set"), parts)
                && to.bits == 8 =>
            {
                let holds = self.condition(suffix)?;
                let i8 = self.bx.type_i8();
                let value = self.bx.zext(holds, i8);
                self.write(to, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn multiply(&mut self, high: Part, low: Part, by: Part) {
        let bits = by.bits;
        let (wide, narrow) = (self.bx.int(2 * bits), self.bx.int(bits));
        let (a, b) = (self.read(low), self.read(by));
        let (a, b) = (self.bx.zext(a, wide), self.bx.zext(b, wide));
        let product = self.bx.mul(a, b);
        let size = self.bx.const_uint(wide, bits);
        let upper = self.bx.lshr(product, size);
        let (lower, upper) = (self.bx.trunc(product, narrow), self.bx.trunc(upper, narrow));
        self.write(low, lower);
        self.write(high, upper);
        let zero = self.bx.const_null(narrow);
        self.carry_flag = Some(self.bx.icmp(IntPredicate::IntNE, upper, zero));
        self.zero_flag = None;
    }

    /// Divides the number in two registers. If the quotient does not fit into one register, and if
    /// the divisor is zero, the processor raises an exception, so the kernel traps.
    fn divide(&mut self, high: Part, low: Part, by: Part) {
        let bits = by.bits;
        let (wide, narrow) = (self.bx.int(2 * bits), self.bx.int(bits));
        let (upper, lower, by) = (self.read(high), self.read(low), self.read(by));
        let fits = self.bx.icmp(IntPredicate::IntULT, upper, by);
        let trap = self.bx.append_sibling_block("exception");
        let next = self.bx.append_sibling_block("division");
        self.bx.cond_br(fits, next, trap);
        self.bx.switch_to_block(trap);
        self.bx.abort_immediate();
        self.bx.unreachable();
        self.bx.switch_to_block(next);
        let size = self.bx.const_uint(wide, bits);
        let upper = self.bx.zext(upper, wide);
        let upper = self.bx.shl(upper, size);
        let lower = self.bx.zext(lower, wide);
        let dividend = self.bx.or(upper, lower);
        let by = self.bx.zext(by, wide);
        let quotient = self.bx.udiv(dividend, by);
        let remainder = self.bx.urem(dividend, by);
        let quotient = self.bx.trunc(quotient, narrow);
        let remainder = self.bx.trunc(remainder, narrow);
        self.write(low, quotient);
        self.write(high, remainder);
        (self.zero_flag, self.carry_flag) = (None, None);
    }
}

impl<'a, 'tcx> Builder<'a, 'tcx> {
    /// Lowers the functions of `std::arch` for additions with carry and subtractions with borrow,
    /// such as `addcarry.64`, and returns the carry and the sum. Returns `None` for others.
    pub(crate) fn carries_of_x86(
        &mut self,
        name: &str,
        ret: Type,
        args: &[Value],
    ) -> Option<Value> {
        let &[carry, a, b] = args else {
            return None;
        };
        let zero = self.const_null(self.val_ty(carry));
        let (value, carry) = match name {
            "addcarry.32" | "addcarry.64" => {
                let carry = self.icmp(IntPredicate::IntNE, carry, zero);
                self.with_carry(a, b, carry)
            }
            "subborrow.32" | "subborrow.64" => {
                let carry = self.icmp(IntPredicate::IntNE, carry, zero);
                self.with_borrow(a, b, carry)
            }
            _ => return None,
        };
        let carry = self.zext(carry, self.type_i8());
        let pair = self.const_undef(ret);
        let pair = self.insert_value(pair, carry, 0);
        Some(self.insert_value(pair, value, 1))
    }

    /// Returns `a + b + carry`, and whether it overflows.
    fn with_carry(&mut self, a: Value, b: Value, carry: Value) -> (Value, Value) {
        let carry = self.zext(carry, self.val_ty(a));
        let sum = self.add(a, b);
        let first = self.icmp(IntPredicate::IntULT, sum, a);
        let result = self.add(sum, carry);
        let second = self.icmp(IntPredicate::IntULT, result, sum);
        (result, self.or(first, second))
    }

    /// Returns `a - b - borrow`, and whether it overflows.
    fn with_borrow(&mut self, a: Value, b: Value, borrow: Value) -> (Value, Value) {
        let borrow = self.zext(borrow, self.val_ty(a));
        let difference = self.sub(a, b);
        let first = self.icmp(IntPredicate::IntULT, a, b);
        let result = self.sub(difference, borrow);
        let second = self.icmp(IntPredicate::IntULT, difference, borrow);
        (result, self.or(first, second))
    }
}

/// An instruction of an assembly, with the operands of the `asm!` that it names.
struct Instruction {
    name: String,
    operands: Vec<Operand>,
}

struct Operand {
    index: usize,
    modifier: Option<char>,
    /// The operand is the memory at the address in the register.
    is_address: bool,
}

/// Splits a template into instructions. An instruction with an operand that is neither a placeholder
/// nor one in brackets, such as the name of a register, has a name that no instruction has.
fn instructions(template: &[InlineAsmTemplatePiece]) -> Vec<Instruction> {
    // Characters that assembly cannot have delimit the number of a placeholder.
    let mut text = String::new();
    for piece in template {
        match piece {
            InlineAsmTemplatePiece::String(piece) => text.push_str(piece),
            InlineAsmTemplatePiece::Placeholder {
                operand_idx,
                modifier,
                ..
            } => {
                text += &format!("\u{1}{operand_idx}\u{2}");
                text.extend(*modifier);
            }
        }
    }
    let lines = text
        .lines()
        .flat_map(|line| {
            let (code, _comment) = line.split_once('#').unwrap_or((line, ""));
            code.split(';')
        })
        .map(str::trim)
        .filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let operands: Option<Vec<Operand>> = match rest.trim() {
                "" => Some(Vec::new()),
                rest => rest.split(',').map(operand).collect(),
            };
            match operands {
                Some(operands) => Instruction {
                    name: name.to_ascii_lowercase(),
                    operands,
                },
                None => Instruction {
                    name: line.to_owned(),
                    operands: Vec::new(),
                },
            }
        })
        .collect()
}

fn operand(text: &str) -> Option<Operand> {
    let text = text.trim();
    let address = (text.strip_prefix('[')).and_then(|text| text.strip_suffix(']'));
    let register = address.unwrap_or(text).trim();
    let (index, modifier) = register.strip_prefix('\u{1}')?.split_once('\u{2}')?;
    let mut modifier = modifier.chars();
    let operand = Operand {
        index: index.parse().ok()?,
        modifier: modifier.next(),
        is_address: address.is_some(),
    };
    modifier.next().is_none().then_some(operand)
}
