//! The text of the instructions whose syntax is regular, generated from the table in `inst`.

use super::lexer::Tok;
use super::{Reader, Result};
use crate::inst::{Flags, InstKind, Scope, instructions};
use crate::types::Type;
use crate::value::Value;
use crate::write::words::Word;

/// Reads the parts of one instruction.
struct Text<'r, 't> {
    reader: &'r mut Reader<'t>,
    /// The operand before, which a comma follows.
    operand: Option<Value>,
}

macro_rules! read_texts {
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
        impl<'t> Reader<'t> {
            /// Reads an instruction that begins with this keyword, if its text is regular.
            pub(super) fn regular(&mut self, keyword: &str) -> Result<Option<(Type, InstKind)>> {
                let mut text = Text { reader: self, operand: None };
                $($(
                    $( if keyword == $keyword )? $( if let Some($word) = Word::from_name(keyword) )? {
                        $( text.$skip(); )?
                        $( let $field = text.$part()?; )*
                        let ty = text.$result($($of)?)?;
                        return Ok(Some((ty, InstKind::$name $shape)));
                    }
                )?)*
                Ok(None)
            }
        }
    };
}

instructions!(read_texts);

impl Text<'_, '_> {
    // Words that the writer does not print: each only allows more.

    fn skip_flags(&mut self) {
        self.reader.flags();
    }

    fn skip_samesign(&mut self) {
        self.reader.eat_word("samesign");
    }

    /// A weak exchange may fail spuriously; it need not.
    fn skip_weak(&mut self) {
        self.reader.eat_word("weak");
    }

    // Parts.

    fn typed(&mut self) -> Result<Value> {
        if self.operand.is_some() {
            self.reader.punct(',')?;
        }
        let value = self.reader.typed()?;
        self.operand = Some(value);
        Ok(value)
    }

    fn untyped(&mut self) -> Result<Value> {
        let Some(like) = self.operand else {
            return self.typed();
        };
        self.reader.punct(',')?;
        let ty = self.reader.m.ty(like);
        self.reader.value(ty)
    }

    fn address(&mut self) -> Result<Value> {
        self.typed()
    }

    fn word<W: Word>(&mut self) -> Result<W> {
        self.reader.keyword()
    }

    fn flags(&mut self) -> Result<Flags> {
        Ok(self.reader.flags())
    }

    fn scope(&mut self) -> Result<Scope> {
        self.reader.scope()
    }

    // Types of results.

    fn none(&mut self) -> Result<Type> {
        Ok(self.reader.m.types.void())
    }

    fn same(&mut self, operand: Value) -> Result<Type> {
        Ok(self.reader.m.ty(operand))
    }

    fn to(&mut self) -> Result<Type> {
        self.reader.expect(Tok::Word("to"))?;
        Ok(self.reader.ty()?.ty)
    }

    fn truth(&mut self, operand: Value) -> Result<Type> {
        Ok(self.reader.bool_like(operand))
    }

    fn element(&mut self, vector: Value) -> Result<Type> {
        let module = &self.reader.m;
        Ok(module.types.scalar(module.ty(vector)))
    }

    fn exchange(&mut self, new: Value) -> Result<Type> {
        let of = self.reader.m.ty(new);
        let types = &mut self.reader.m.types;
        let i1 = types.int(1);
        Ok(types.structure(&[of, i1], false))
    }
}
