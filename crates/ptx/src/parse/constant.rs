//! Constant expressions: C's integer operators on 64-bit numbers, evaluated during parsing.

use super::{MAX_DEPTH, Parser, Result};
use crate::Integer;
use crate::lexer::Kind;

/// An intermediate value, wide enough that no operator's result is truncated before the end.
type Value = i128;

fn narrow(value: Value) -> Integer {
    Integer {
        bits: value as u64,
        negative: value < 0,
    }
}

/// The binary operators and their precedences.
const OPERATORS: &[(&str, u32)] = &[
    ("||", 1),
    ("&&", 2),
    ("==", 6),
    ("!=", 6),
    ("<=", 7),
    (">=", 7),
    ("<<", 8),
    (">>", 8),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("<", 7),
    (">", 7),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

impl Parser<'_> {
    /// Parses a constant expression.
    pub(super) fn constant(&mut self) -> Result<Integer> {
        Ok(narrow(self.conditional(0)?))
    }

    /// Parses a number with unary operators and parentheses, but without binary operators: what may
    /// follow the `+` of an address.
    pub(super) fn constant_operand(&mut self) -> Result<Integer> {
        Ok(narrow(self.unary(0)?))
    }

    fn conditional(&mut self, depth: u32) -> Result<Value> {
        let condition = self.binary(depth, 1)?;
        if !self.take(b'?')? {
            return Ok(condition);
        }
        if depth >= MAX_DEPTH {
            return self.error("this expression nests too deeply");
        }
        let yes = self.conditional(depth + 1)?;
        self.expect(b':')?;
        let no = self.conditional(depth + 1)?;
        Ok(if condition != 0 { yes } else { no })
    }

    /// Returns the operator at the current token.
    fn operator(&self) -> Option<(&'static str, u32)> {
        let Kind::Punct(_) = self.token.kind else {
            return None;
        };
        let two = self
            .lexer
            .byte_at(self.token.end)
            .map(|next| [self.text().as_bytes()[0], next]);
        OPERATORS
            .iter()
            .copied()
            .find(|(text, _)| match text.as_bytes() {
                [one] => self.at(*one),
                both => two.is_some_and(|two| two == both),
            })
    }

    fn binary(&mut self, depth: u32, least: u32) -> Result<Value> {
        let mut left = self.unary(depth)?;
        while let Some((operator, strength)) = self.operator() {
            if strength < least {
                break;
            }
            if depth >= MAX_DEPTH {
                return self.error("this expression nests too deeply");
            }
            for _ in 0..operator.len() {
                self.bump()?;
            }
            let right = self.binary(depth + 1, strength + 1)?;
            let shift = (right & 63) as u32;
            left = match operator {
                "||" => (left != 0 || right != 0).into(),
                "&&" => (left != 0 && right != 0).into(),
                "==" => (left == right).into(),
                "!=" => (left != right).into(),
                "<=" => (left <= right).into(),
                ">=" => (left >= right).into(),
                "<" => (left < right).into(),
                ">" => (left > right).into(),
                "<<" => ((left as u64) << shift).into(),
                ">>" => left >> shift,
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "*" => left.wrapping_mul(right),
                "/" | "%" if right == 0 => return self.error("division by zero in a constant"),
                "/" => left.wrapping_div(right),
                _ => left.wrapping_rem(right),
            };
            // Reduces the value to 64 bits and a sign, so that repeated products do not overflow.
            if left > Value::from(u64::MAX) || left < Value::from(i64::MIN) {
                left = (left as u64).into();
            }
        }
        Ok(left)
    }

    fn unary(&mut self, depth: u32) -> Result<Value> {
        if depth >= MAX_DEPTH {
            return self.error("this expression nests too deeply");
        }
        match self.token.kind {
            Kind::Int(value) => {
                self.bump()?;
                Ok(value.into())
            }
            Kind::Punct(operator @ (b'-' | b'+' | b'~' | b'!')) => {
                self.bump()?;
                let value = self.unary(depth + 1)?;
                Ok(match operator {
                    b'-' => value.wrapping_neg(),
                    b'~' => !value,
                    b'!' => (value == 0).into(),
                    _ => value,
                })
            }
            Kind::Punct(b'(') => {
                self.bump()?;
                if let Some(cast) = self.dotted() {
                    self.bump()?;
                    self.expect(b')')?;
                    let value = self.unary(depth + 1)?;
                    return Ok(if cast == "s64" {
                        (value as i64).into()
                    } else {
                        (value as u64).into()
                    });
                }
                let value = self.conditional(depth + 1)?;
                self.expect(b')')?;
                Ok(value)
            }
            Kind::Ident if self.text() == "WARP_SZ" => {
                self.bump()?;
                Ok(32)
            }
            _ => self.expected("a number"),
        }
    }
}
