//! The text of the instructions whose syntax is regular, generated from the table in `inst`.

use super::Writer;
use super::words::Word;
use crate::inst::{Flags, InstKind, Scope, instructions};
use crate::value::Value;

/// Prints the parts of one instruction.
struct Text<'w, 'm> {
    writer: &'w mut Writer<'m>,
    inst: Value,
    /// Where the instruction begins in the output.
    start: usize,
    /// Whether an operand precedes, so that a comma follows.
    operand: bool,
}

macro_rules! write_texts {
    ($(
        $(#[$doc:meta])*
        $name:ident
        $( ( $($tuple:tt)* ) )?
        $( { $($fields:tt)* } )?
        $( = [
            $shape:tt:
            $($keyword:literal)? $(<$word:ident>)? $({$skip:ident})?
            $( $part:ident($field:ident $(: $arg:ident)?) )*
            -> $result:ident($($of:ident)?)
        ] )?;
    )*) => {
        impl Writer<'_> {
            /// Prints an instruction whose text is regular.
            pub(super) fn regular(&mut self, inst: Value, kind: &InstKind) {
                match *kind {
                    $($(
                        InstKind::$name $shape => {
                            let mut text = Text::new(self, inst);
                            $( text.writer.s($keyword); )?
                            $( text.writer.s($word.name()); )?
                            $( text.$part($field $(, $arg)?); )*
                            text.$result($($of)?);
                        }
                    )?)*
                    _ => self.s("  <an instruction without text>"),
                }
            }
        }
    };
}

instructions!(write_texts);

impl<'w, 'm> Text<'w, 'm> {
    fn new(writer: &'w mut Writer<'m>, inst: Value) -> Self {
        let start = writer.out.len();
        writer.define(inst);
        Text {
            writer,
            inst,
            start,
            operand: false,
        }
    }

    fn separator(&mut self) {
        let comma = std::mem::replace(&mut self.operand, true);
        self.writer.s(if comma { ", " } else { " " });
    }

    fn typed(&mut self, value: Value) {
        self.separator();
        self.writer.typed(value);
    }

    fn untyped(&mut self, value: Value) {
        self.separator();
        self.writer.val(value);
    }

    /// Prints the address of a value. In the LLVM 7 dialect, its cast precedes the instruction.
    fn address(&mut self, ptr: Value, value: Value) {
        let pointee = self.writer.m.ty(value);
        let printed = self.writer.out.split_off(self.start);
        let cast = self.writer.cast_ptr(ptr, pointee);
        self.start = self.writer.out.len();
        self.writer.out.push_str(&printed);
        self.separator();
        self.writer.ptr_operand(ptr, pointee, cast);
    }

    fn word(&mut self, word: impl Word) {
        self.writer.s(" ");
        self.writer.s(word.name());
    }

    fn flags(&mut self, flags: Flags) {
        self.writer.flags(flags);
    }

    fn scope(&mut self, scope: Scope) {
        self.writer.scope(scope);
    }

    // Types of results: only the type of a conversion is printed.

    fn none(&mut self) {}

    fn same(&mut self, _operand: Value) {}

    fn truth(&mut self, _operand: Value) {}

    fn element(&mut self, _vector: Value) {}

    fn exchange(&mut self, _new: Value) {}

    fn to(&mut self) {
        self.writer.s(" to ");
        self.writer.ty(self.writer.m.ty(self.inst));
    }
}
