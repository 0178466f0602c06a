//! Operands of instructions.

use super::{MAX_DEPTH, Parser, Result};
use crate::lexer::Kind;
use crate::{Base, Operand};

/// The special registers with dimensions (PTX ISA, "Special Registers").
const HAVE_DIMENSIONS: [&str; 8] = [
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
];

impl<'a> Parser<'a> {
    pub(super) fn operand(&mut self, depth: u32) -> Result<Operand<'a>> {
        if depth >= MAX_DEPTH {
            return self.error("this operand nests too deeply");
        }
        let first = self.single(depth)?;
        if self.at(b'|') && matches!(first, Operand::Name(_)) {
            self.bump()?;
            let second = self.single(depth + 1)?;
            return Ok(Operand::Pair(Box::new((first, second))));
        }
        Ok(first)
    }

    fn single(&mut self, depth: u32) -> Result<Operand<'a>> {
        match self.token.kind {
            Kind::Ident if self.text() != "WARP_SZ" => {
                let (start, mut end) = (self.token.start, self.token.end);
                let mut name = self.lexer.text(start, end);
                self.bump()?;
                // A dimension or part, such as `%tid.x` or `%v.w`, follows without white space.
                if self.token.kind == Kind::Dotted && self.token.start == end {
                    end = self.token.end;
                    if !HAVE_DIMENSIONS.contains(&name) {
                        let part = self.lexer.text(self.token.start + 1, end);
                        self.bump()?;
                        return Ok(Operand::Part(name, part));
                    }
                    name = self.lexer.text(start, end);
                    self.bump()?;
                }
                if self.at(b'+') || self.at(b'-') {
                    return Ok(Operand::NameOffset(name, self.offset()?));
                }
                Ok(Operand::Name(name))
            }
            Kind::F32(bits) => {
                self.bump()?;
                Ok(Operand::F32(bits))
            }
            Kind::F64(bits) => {
                self.bump()?;
                Ok(Operand::F64(bits))
            }
            Kind::Punct(b'{') => match self.list(b'}', depth)? {
                elements if elements.is_empty() => self.error("a vector cannot be empty"),
                elements => Ok(Operand::Vector(elements)),
            },
            Kind::Punct(b'(') => Ok(Operand::List(self.list(b')', depth)?)),
            Kind::Punct(b'[') => self.address(depth),
            Kind::Punct(sign @ (b'!' | b'-')) => {
                let mut ahead = self.lexer.clone();
                let next = ahead.next()?;
                match next.kind {
                    Kind::Ident if sign == b'!' => {
                        self.bump()?;
                        let inner = self.single(depth + 1)?;
                        Ok(Operand::Not(Box::new(inner)))
                    }
                    Kind::F32(bits) if sign == b'-' => {
                        self.bump()?;
                        self.bump()?;
                        Ok(Operand::F32(bits ^ 1 << 31))
                    }
                    Kind::F64(bits) if sign == b'-' => {
                        self.bump()?;
                        self.bump()?;
                        Ok(Operand::F64(bits ^ 1 << 63))
                    }
                    _ => Ok(Operand::Integer(self.constant()?)),
                }
            }
            Kind::Int(_) | Kind::Punct(b'~' | b'+') | Kind::Ident => {
                Ok(Operand::Integer(self.constant()?))
            }
            _ => self.expected("an operand"),
        }
    }

    /// Parses the operands between the current bracket and `close`.
    fn list(&mut self, close: u8, depth: u32) -> Result<Vec<Operand<'a>>> {
        self.bump()?;
        let mut operands = Vec::new();
        while !self.at(close) {
            operands.push(self.operand(depth + 1)?);
            if !self.take(b',')? {
                break;
            }
        }
        self.expect(close)?;
        Ok(operands)
    }

    fn address(&mut self, depth: u32) -> Result<Operand<'a>> {
        let mut parts = self.list(b']', depth)?;
        match (parts.len(), parts.pop()) {
            (1, Some(Operand::Name(name))) => Ok(Operand::Address(Base::Name(name), 0)),
            (1, Some(Operand::NameOffset(name, offset))) => {
                Ok(Operand::Address(Base::Name(name), offset))
            }
            (1, Some(Operand::Integer(value))) => {
                Ok(Operand::Address(Base::Absolute, value.bits as i64))
            }
            (1, Some(Operand::Part(..))) => self.error("an address cannot be a part of a register"),
            (_, Some(last)) => {
                parts.push(last);
                Ok(Operand::Compound(parts))
            }
            (_, None) => self.error("an address cannot be empty"),
        }
    }
}
