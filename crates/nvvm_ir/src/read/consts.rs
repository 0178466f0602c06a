//! Constants and operands.

use super::lexer::{Tok, unescape};
use super::{Local, Reader, Result};
use crate::inst::{BinOp, CastOp, InstKind};
use crate::types::{Type, TypeKind};
use crate::value::{Const, Value, ValueKind};
use crate::write::words::Word;

impl<'t> Reader<'t> {
    /// `type value`
    pub(super) fn typed(&mut self) -> Result<Value> {
        let ty = self.ty()?.ty;
        self.value(ty)
    }

    /// A value of a type.
    pub(super) fn value(&mut self, ty: Type) -> Result<Value> {
        self.enter()?;
        let value = self.whole_value(ty)?;
        self.depth -= 1;
        Ok(value)
    }

    fn whole_value(&mut self, ty: Type) -> Result<Value> {
        let start = self.at;
        let constant = match self.next() {
            Tok::Local(name) => return self.local(name, ty, start),
            Tok::Global(name) => {
                let Some(symbol) = self.m.named(name) else {
                    return self.error_at(start, format!("there is no `@{name}`"));
                };
                if self.m.ty(symbol) != ty {
                    return self.error_at(start, format!("`@{name}` is in another address space"));
                }
                return Ok(match self.m.value(symbol).kind {
                    ValueKind::Global(_) => self.m.constant(
                        ty,
                        Const::Addr {
                            base: symbol,
                            offset: 0,
                        },
                    ),
                    _ => symbol,
                });
            }
            Tok::Number(text) => return self.number(ty, text, start),
            Tok::Word("splat") => {
                self.punct('(')?;
                let element = self.typed()?;
                self.punct(')')?;
                let TypeKind::Vector(_, len) = *self.m.types.kind(ty) else {
                    return self.error_at(start, "only a vector is a `splat`");
                };
                Const::Aggregate(vec![element; len as usize])
            }
            Tok::Bytes(raw) => Const::Bytes(unescape(raw)),
            Tok::Word("true" | "false") if self.m.types.int_bits(ty) != Some(1) => {
                return self.error_at(start, "`true` and `false` are of type `i1`");
            }
            Tok::Word("true") => Const::Int(1),
            Tok::Word("false") => Const::Int(0),
            Tok::Word("null" | "zeroinitializer") => return Ok(self.m.const_zero(ty)),
            Tok::Word("undef") => Const::Undef,
            Tok::Word("poison") => Const::Poison,
            Tok::Word(
                word @ ("getelementptr" | "addrspacecast" | "bitcast" | "ptrtoint" | "inttoptr"),
            ) => {
                return self.constant_expression(word, ty, start);
            }
            Tok::Word(word @ ("add" | "sub" | "mul" | "xor" | "shl" | "trunc")) => {
                return self.computed(word, ty, start);
            }
            Tok::Punct('{') => Const::Aggregate(self.elements('}')?),
            Tok::Punct('[') => Const::Aggregate(self.elements(']')?),
            Tok::Punct('<') if self.eat(Tok::Punct('{')) => {
                let fields = self.elements('}')?;
                self.punct('>')?;
                Const::Aggregate(fields)
            }
            Tok::Punct('<') => Const::Aggregate(self.elements('>')?),
            _ => {
                self.at = start;
                return self.expected("a value");
            }
        };
        Ok(self.m.constant(ty, constant))
    }

    fn elements(&mut self, close: char) -> Result<Vec<Value>> {
        let mut elements = Vec::new();
        while !self.eat(Tok::Punct(close)) {
            if !elements.is_empty() {
                self.punct(',')?;
            }
            elements.push(self.typed()?);
        }
        Ok(elements)
    }

    fn number(&mut self, ty: Type, text: &str, start: usize) -> Result<Value> {
        if let Some(bits) = self.m.types.int_bits(ty) {
            return match parse_int(text, bits) {
                Some(int) => Ok(self.m.const_int(ty, int)),
                None => self.error_at(start, format!("`{text}` is no integer of {bits} bits")),
            };
        }
        let kind = self.m.types.kind(ty).clone();
        let bits = match text.strip_prefix(['+', '-']).unwrap_or(text) {
            name @ ("inf" | "qnan" | "nan" | "snan") => {
                // The bits of the fraction, in parentheses.
                let payload = if self.eat(Tok::Punct('(')) {
                    let Tok::Number(digits) = self.next() else {
                        return self.expected("the payload of a NaN");
                    };
                    self.punct(')')?;
                    let digits = digits.strip_prefix("0x").unwrap_or(digits);
                    u128::from_str_radix(digits, 16).ok()
                } else {
                    Some(0)
                };
                payload
                    .and_then(|payload| special_float(&kind, text.starts_with('-'), name, payload))
            }
            _ => parse_float(&kind, text),
        };
        match bits {
            Some(bits) => Ok(self.m.const_float_bits(ty, bits)),
            None => self.error_at(start, format!("`{text}` is not of that type")),
        }
    }

    /// An integer on its own, such as a switch's case.
    pub(super) fn int(&mut self, ty: Type) -> Result<u128> {
        let start = self.at;
        let value = self.value(ty)?;
        match self.m.as_const(value) {
            Some(Const::Int(int)) => Ok(*int),
            _ => self.error_at(start, "an integer is expected here"),
        }
    }

    /// The global or function whose address a constant is.
    pub(super) fn symbol_of(&self, value: Value) -> Option<Value> {
        match &self.m.value(value).kind {
            ValueKind::Func(_) | ValueKind::Global(_) => Some(value),
            ValueKind::Const(Const::Addr { base, .. }) => Some(*base),
            _ => None,
        }
    }

    fn constant_expression(&mut self, word: &str, ty: Type, start: usize) -> Result<Value> {
        while self.eat_word("inbounds") || self.eat_word("nuw") || self.eat_word("nusw") {}
        self.punct('(')?;
        if word == "getelementptr" {
            let element = self.ty()?.ty;
            self.punct(',')?;
            let base = self.typed()?;
            self.punct(',')?;
            let at = self.at;
            let index_ty = self.ty()?.ty;
            let index_at = self.at;
            let computed = self.value(index_ty)?;
            self.punct(')')?;
            if self.m.types.int_bits(element) != Some(8)
                || self.m.types.int_bits(index_ty) != Some(64)
            {
                return self.error_at(at, "a constant address counts bytes, as an `i64`");
            }
            let index = match self.m.as_const(computed) {
                Some(Const::Int(index)) => *index,
                _ if self.in_body => {
                    let kind = InstKind::Gep {
                        element,
                        base,
                        indices: vec![computed],
                        inbounds: false,
                    };
                    return self.at_entry(ty, kind, start);
                }
                _ => return self.error_at(index_at, "an integer is expected here"),
            };
            if let Some(Const::IntToPtr(address)) = self.m.as_const(base) {
                let address = address.wrapping_add(index as u64);
                return Ok(self.m.constant(ty, Const::IntToPtr(address)));
            }
            let offset = match self.m.as_const(base) {
                Some(Const::Addr { offset, .. }) => *offset,
                _ => 0,
            };
            return match self.symbol_of(base) {
                Some(base) => {
                    let offset = offset.wrapping_add(index as u64 as i64);
                    Ok(self.m.constant(ty, Const::Addr { base, offset }))
                }
                None => self.error_at(start, "the base is no address of a global or function"),
            };
        }
        let value = self.typed()?;
        self.expect(Tok::Word("to"))?;
        let to = self.ty()?.ty;
        self.punct(')')?;
        if to != ty {
            return self.error_at(start, "the constant is of another type");
        }
        let types = &self.m.types;
        let (from_ptr, to_ptr) = (types.is_ptr(self.m.ty(value)), types.is_ptr(to));
        match (word, self.m.as_const(value).cloned()) {
            ("bitcast", _) if from_ptr && to_ptr => Ok(value),
            ("bitcast", Some(Const::Int(bits))) if types.is_float(to) => {
                Ok(self.m.const_float_bits(to, bits))
            }
            ("addrspacecast", Some(Const::Addr { base, offset })) if to_ptr => {
                Ok(self.m.constant(to, Const::Addr { base, offset }))
            }
            // Of another width it is no constant to the legalizer.
            ("ptrtoint", _) if from_ptr && self.in_body && types.int_bits(to) != Some(64) => {
                let op = match types.int_bits(to) {
                    Some(0..64) => CastOp::Trunc,
                    _ => CastOp::ZExt,
                };
                let word = self.m.types.int(64);
                let value = self.m.constant(word, Const::PtrToInt(value));
                self.at_entry(to, InstKind::Cast { op, value }, start)
            }
            ("ptrtoint", _) if from_ptr => Ok(self.m.constant(to, Const::PtrToInt(value))),
            ("inttoptr", Some(Const::Int(int))) if to_ptr && u64::try_from(int).is_ok() => {
                Ok(self.m.constant(to, Const::IntToPtr(int as u64)))
            }
            // Not a constant of `nvvm_ir`.
            _ => match CastOp::from_name(word) {
                Some(op) => self.at_entry(ty, InstKind::Cast { op, value }, start),
                None => self.error_at(start, format!("no such `{word}` of a constant")),
            },
        }
    }

    /// An operation on constants, which `nvvm_ir` has as an instruction only.
    fn computed(&mut self, word: &str, ty: Type, start: usize) -> Result<Value> {
        let flags = self.flags();
        self.punct('(')?;
        let lhs = self.typed()?;
        if word == "trunc" {
            self.expect(Tok::Word("to"))?;
            self.ty()?;
            self.punct(')')?;
            let op = CastOp::Trunc;
            return self.at_entry(ty, InstKind::Cast { op, value: lhs }, start);
        }
        self.punct(',')?;
        let rhs = self.typed()?;
        self.punct(')')?;
        // The length of something between two addresses in it.
        let place = |value| match *self.m.as_const(value)? {
            Const::PtrToInt(ptr) => match *self.m.as_const(ptr)? {
                Const::Addr { base, offset } => Some((base, offset)),
                _ => None,
            },
            _ => None,
        };
        if let (Some((base, end)), Some((other, start))) = (place(lhs), place(rhs))
            && (word, base) == ("sub", other)
        {
            return Ok(self.m.const_int(ty, end.wrapping_sub(start) as u64 as u128));
        }
        match BinOp::from_name(word) {
            Some(op) => {
                let kind = InstKind::Bin {
                    op,
                    lhs,
                    rhs,
                    flags,
                };
                self.at_entry(ty, kind, start)
            }
            None => self.error_at(start, format!("no such `{word}` of constants")),
        }
    }

    /// An instruction whose operands are constants, at the begin of the function: its result may be
    /// used everywhere, in a phi too.
    fn at_entry(&mut self, ty: Type, kind: InstKind, start: usize) -> Result<Value> {
        let entry = self.m.func(self.func).blocks.first().copied();
        let Some(block) = entry.filter(|_| self.in_body) else {
            return self.error_at(start, "a static's contents cannot be computed");
        };
        let value = self.m.push_inst(block, ty, kind, None);
        let insts = &mut self.m.block_mut(block).insts;
        insts.pop();
        insts.insert(self.constants, value);
        self.constants += 1;
        Ok(value)
    }

    /// The value of a local name, which need not be defined yet.
    fn local(&mut self, name: &'t str, ty: Type, start: usize) -> Result<Value> {
        let local = Local::new(name);
        if let Some(&value) = self.locals.get(&local) {
            if self.m.ty(value) != ty {
                return self.error_at(start, format!("`%{name}` is of another type"));
            }
            return Ok(value);
        }
        let value = self.placeholder(ty);
        self.locals.insert(local, value);
        self.placeholders.insert(local, start);
        Ok(value)
    }
}

/// The bits of an integer, if it fits as a signed or as an unsigned one.
fn parse_int(text: &str, bits: u32) -> Option<u128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let magnitude: u128 = digits.parse().ok()?;
    let limit = if bits >= 128 {
        u128::MAX
    } else {
        (1 << bits) - 1
    };
    if negative {
        (magnitude <= limit / 2 + 1).then(|| magnitude.wrapping_neg() & limit)
    } else {
        (magnitude <= limit).then_some(magnitude)
    }
}

/// Returns the widths in bits of a float's fraction and of the whole float.
pub(super) fn float_bits(kind: &TypeKind) -> Option<(u32, u32)> {
    Some(match kind {
        TypeKind::Half => (10, 16),
        TypeKind::BFloat => (7, 16),
        TypeKind::Float => (23, 32),
        TypeKind::Double => (52, 64),
        TypeKind::Fp128 => (112, 128),
        _ => return None,
    })
}

/// The bits of the binary128 float that is nearest to a decimal such as `3.700000e-01`; none if it is
/// subnormal or too large.
fn quadruple(text: &str) -> Option<u128> {
    const FRACTION: u32 = 112;
    const BIAS: i64 = 16383;
    let (negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let sign = u128::from(negative) << 127;
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mut number: u128 = format!("{whole}{part}").parse().ok()?;
    let exponent: i64 = exponent.trim_start_matches('+').parse().ok()?;
    let mut power = exponent - part.len() as i64;
    if number == 0 {
        return Some(sign);
    }
    if !(-5000..5000).contains(&power) {
        return None;
    }
    while number % 10 == 0 {
        number /= 10;
        power += 1;
    }
    // The number times ten to the power is `limbs` times two to the `binary`; the least limb comes first.
    let mut limbs: Vec<u32> = (0..4).map(|at| (number >> (32 * at)) as u32).collect();
    let mut binary = 0;
    let mut inexact = false;
    for _ in 0..power.max(0) {
        let mut carry = 0;
        for limb in &mut limbs {
            carry += u64::from(*limb) * 10;
            *limb = carry as u32;
            carry >>= 32;
        }
        limbs.push(carry as u32);
    }
    if power < 0 {
        // More than three bits for each digit, and those of the result.
        let more = power.unsigned_abs() as usize / 8 + 8;
        limbs.splice(0..0, std::iter::repeat_n(0, more));
        binary = -32 * more as i64;
        for _ in 0..-power {
            let mut rest = 0;
            for limb in limbs.iter_mut().rev() {
                rest = rest << 32 | u64::from(*limb);
                *limb = (rest / 10) as u32;
                rest %= 10;
            }
            inexact |= rest != 0;
        }
    }
    let bit = |at: i64| at >= 0 && limbs[at as usize / 32] >> (at % 32) & 1 == 1;
    let top = (0..32 * limbs.len() as i64).rev().find(|&at| bit(at))?;
    let lowest = top - i64::from(FRACTION);
    let mut bits = (0..=FRACTION).fold(0, |bits, at| {
        bits | u128::from(bit(lowest + i64::from(at))) << at
    });
    let below = inexact || (0..lowest - 1).any(bit);
    if bit(lowest - 1) && (below || bits & 1 == 1) {
        bits += 1;
    }
    let exponent = top + binary + BIAS;
    if !(1..2 * BIAS).contains(&exponent) {
        return None;
    }
    // The leading bit, and a carry into it, count as one of the exponent.
    Some(sign | ((((exponent - 1) as u128) << FRACTION) + bits))
}

/// The bits of the nearest float in a narrower format.
fn narrowed(float: f64, kind: &TypeKind) -> Option<u128> {
    let (fraction, width) = float_bits(kind)?;
    let negative = u128::from(float.is_sign_negative()) << (width - 1);
    let magnitude = float.abs();
    let bias = (1i32 << (width - 2 - fraction)) - 1;
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    // In units of the last place.
    let scaled = magnitude / 2f64.powi(exponent - fraction as i32);
    let rounded = scaled.round_ties_even() as u128;
    let normal = rounded >> fraction != 0;
    let exponent = if normal { (exponent + bias) as u128 } else { 0 };
    // A carry out of the fraction is one of the exponent.
    let bits = (exponent << fraction) + rounded - (u128::from(normal) << fraction);
    (bits >> (width - 1) == 0).then_some(negative | bits)
}

/// The bits of an infinity or a NaN; `payload` is the fraction without its quiet bit.
fn special_float(kind: &TypeKind, negative: bool, name: &str, payload: u128) -> Option<u128> {
    let (fraction, width) = float_bits(kind)?;
    let exponent = ((1 << (width - 1 - fraction)) - 1) << fraction;
    let quiet = 1 << (fraction - 1);
    let fraction = match name {
        "inf" => 0,
        "snan" => payload,
        _ => quiet | payload,
    };
    (payload < quiet).then_some(u128::from(negative) << (width - 1) | exponent | fraction)
}

fn parse_float(kind: &TypeKind, text: &str) -> Option<u128> {
    let hex = |digits: &str| u128::from_str_radix(digits, 16).ok();
    // LLVM 23: the bits of the float's own format.
    if let Some(digits) = text.strip_prefix("f0x") {
        let (_, width) = float_bits(kind)?;
        return hex(digits).filter(|bits| width == 128 || bits >> width == 0);
    }
    let Some(digits) = text.strip_prefix("0x") else {
        let float: f64 = text.parse().ok()?;
        return match kind {
            TypeKind::Float => Some(u128::from((float as f32).to_bits())),
            TypeKind::Double => Some(u128::from(float.to_bits())),
            TypeKind::Fp128 => quadruple(text),
            TypeKind::Half | TypeKind::BFloat => narrowed(float, kind),
            _ => None,
        };
    };
    match kind {
        TypeKind::Half => hex(digits.strip_prefix('H')?),
        TypeKind::BFloat => hex(digits.strip_prefix('R')?),
        TypeKind::Double => hex(digits).filter(|bits| bits >> 64 == 0),
        TypeKind::Fp128 => {
            let digits = digits
                .strip_prefix('L')
                .filter(|digits| digits.len() == 32)?;
            Some(hex(digits.get(16..)?)? << 64 | hex(digits.get(..16)?)?)
        }
        TypeKind::Float => {
            let bits = u64::try_from(hex(digits)?).ok()?;
            let float = f64::from_bits(bits);
            if float.is_nan() {
                let sign = (bits >> 63 << 31) as u32;
                let payload = (bits >> 29) as u32 & 0x007F_FFFF;
                return Some(u128::from(sign | 0x7F80_0000 | payload));
            }
            let single = float as f32;
            (f64::from(single).to_bits() == bits).then(|| u128::from(single.to_bits()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_other_formats() {
        let quad = |text| parse_float(&TypeKind::Fp128, text);
        assert_eq!(quad("2.000000e+00"), Some(0x4000 << 112));
        assert_eq!(quad("-0.000000e+00"), Some(1 << 127));
        // As rustc and LLVM have them.
        assert_eq!(
            quad("1.000000e-01"),
            Some(0x3FFB_9999_9999_9999_9999_9999_9999_999A)
        );
        assert_eq!(
            quad("3.700000e-01"),
            Some(0x3FFD_7AE1_47AE_147A_E147_AE14_7AE1_47AE)
        );
        assert_eq!(
            quad("1.000000e+30"),
            Some(0x4062_93E5_939A_08CE_9DBD_4800_0000_0000)
        );
        assert_eq!(quad("1.000000e+5000"), None);
        let half = |text| parse_float(&TypeKind::Half, text);
        for (text, bits) in [
            ("1.000980e+00", 0x3C01),
            ("6.550400e+04", 0x7BFF),
            ("5.960460e-08", 1),
            ("6.103520e-05", 0x400),
            ("-2.500000e-01", 0xB400),
        ] {
            assert_eq!(half(text), Some(bits), "{text}");
        }
        assert_eq!(parse_float(&TypeKind::BFloat, "3.140620e+00"), Some(0x4049));
        assert_eq!(
            special_float(&TypeKind::Float, true, "nan", 1),
            Some(0xFFC0_0001)
        );
        assert_eq!(
            special_float(&TypeKind::Double, false, "inf", 0),
            Some(0x7FF << 52)
        );
        assert_eq!(
            parse_float(&TypeKind::Float, "f0x3727C5AC"),
            Some(0x3727_C5AC)
        );
    }
}
