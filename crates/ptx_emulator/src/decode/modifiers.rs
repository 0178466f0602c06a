//! The modifiers of an opcode. The code that decodes an instruction must take each modifier; a
//! modifier that was not taken is an error.

use ptx::{Instruction, Operand, Type};

use super::{Result, invalid, unsupported_form};

/// An instruction whose modifiers are being read.
pub(super) struct Modifiers<'i, 'a> {
    pub instruction: &'i Instruction<'a>,
    pub opcode: &'a str,
    /// The modifiers that have been taken, as a bit mask.
    taken: u64,
}

impl<'i, 'a> Modifiers<'i, 'a> {
    pub fn new(instruction: &'i Instruction<'a>) -> Self {
        Modifiers {
            instruction,
            opcode: instruction.opcode,
            taken: 0,
        }
    }

    pub fn operands(&self) -> &'i [Operand<'a>] {
        &self.instruction.operands
    }

    /// Returns the operands if there are exactly `N`.
    pub fn exactly<const N: usize>(&self) -> Result<&'i [Operand<'a>; N]> {
        match self.instruction.operands.as_slice().try_into() {
            Ok(operands) => Ok(operands),
            Err(_) => {
                let count = self.instruction.operands.len();
                invalid(format!(
                    "`{}` with {count} operands instead of {N}",
                    self.opcode
                ))
            }
        }
    }

    fn remaining(&self) -> impl Iterator<Item = (usize, &'a str)> + '_ {
        let words = self.instruction.modifiers.iter().copied().enumerate();
        words.filter(|&(index, _)| index >= 64 || self.taken >> index & 1 == 0)
    }

    fn take_at(&mut self, index: usize) {
        if index < 64 {
            self.taken |= 1 << index;
        }
    }

    /// Takes a modifier if it is present.
    pub fn has(&mut self, word: &str) -> bool {
        let found = self.remaining().find(|&(_, other)| other == word);
        found.inspect(|&(index, _)| self.take_at(index)).is_some()
    }

    /// Returns whether a modifier is present, without taking it.
    pub fn sees(&self, word: &str) -> bool {
        self.remaining().any(|(_, other)| other == word)
    }

    /// Takes the first modifier that is in a table.
    pub fn one_of<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        let found = self.remaining().find_map(|(index, word)| {
            table
                .iter()
                .find(|(name, _)| *name == word)
                .map(|&(_, value)| (index, value))
        });
        found.map(|(index, value)| {
            self.take_at(index);
            value
        })
    }

    /// Takes all modifiers that satisfy a condition and have no effect in the emulator.
    pub fn ignore(&mut self, condition: impl Fn(&str) -> bool) {
        let found: Vec<usize> = self
            .remaining()
            .filter(|&(_, word)| condition(word))
            .map(|(index, _)| index)
            .collect();
        found.into_iter().for_each(|index| self.take_at(index));
    }

    /// Takes the next modifier.
    pub fn next(&mut self) -> Option<&'a str> {
        let found = self.remaining().next();
        found.map(|(index, word)| {
            self.take_at(index);
            word
        })
    }

    /// Takes the first type.
    pub fn ty(&mut self) -> Result<Type> {
        let found = self
            .remaining()
            .find_map(|(index, word)| Type::from_name(word).map(|ty| (index, ty)));
        match found {
            Some((index, ty)) => {
                self.take_at(index);
                Ok(ty)
            }
            None => invalid(format!("`{}` without a type", self.opcode)),
        }
    }

    /// Returns the last type without taking it, for instructions whose family depends on it.
    pub fn last_type(&self) -> Option<Type> {
        self.remaining()
            .filter_map(|(_, word)| Type::from_name(word))
            .last()
    }

    /// Checks that all modifiers have been taken.
    pub fn finish(&self) -> Result<()> {
        match self.remaining().next() {
            None => Ok(()),
            Some((_, word)) => {
                unsupported_form(format!("`.{word}` in this form of `{}`", self.opcode))
            }
        }
    }
}
