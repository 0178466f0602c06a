//! The words of an opcode: each must be taken by whoever decodes the instruction, so that a word
//! that nobody understood is an error instead of being ignored.

use ptx::{Instruction, Operand, Type};

use super::{Result, invalid, unsupported_form};

/// An instruction whose words are being read.
pub(super) struct Modifiers<'i, 'a> {
    pub instruction: &'i Instruction<'a>,
    pub opcode: &'a str,
    /// Which words have been taken.
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

    /// The operands, if they are `N`.
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

    /// Takes a word if it is there.
    pub fn has(&mut self, word: &str) -> bool {
        let found = self.remaining().find(|&(_, other)| other == word);
        found.inspect(|&(index, _)| self.take_at(index)).is_some()
    }

    /// Whether a word is there, without taking it.
    pub fn sees(&self, word: &str) -> bool {
        self.remaining().any(|(_, other)| other == word)
    }

    /// Takes the first word that a table knows.
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

    /// Takes every word that satisfies a condition: words without effect here.
    pub fn ignore(&mut self, condition: impl Fn(&str) -> bool) {
        let found: Vec<usize> = self
            .remaining()
            .filter(|&(_, word)| condition(word))
            .map(|(index, _)| index)
            .collect();
        found.into_iter().for_each(|index| self.take_at(index));
    }

    /// Takes the next word, whatever it is.
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

    /// The last type, without taking it: for instructions whose family depends on it.
    pub fn last_type(&self) -> Option<Type> {
        self.remaining()
            .filter_map(|(_, word)| Type::from_name(word))
            .last()
    }

    /// That all words have been understood.
    pub fn finish(&self) -> Result<()> {
        match self.remaining().next() {
            None => Ok(()),
            Some((_, word)) => {
                unsupported_form(format!("`.{word}` in this form of `{}`", self.opcode))
            }
        }
    }
}
