//! The `.loc` directives of a body.

use crate::{Loc, Statement};

/// File, line and column of a `.loc`, and those of the call that was inlined there.
pub type LocKey = (u32, u32, u32, Option<(u32, u32, u32)>);

impl Loc<'_> {
    /// Returns the numbers that distinguish the directive from those of other locations.
    pub fn key(&self) -> LocKey {
        let at = self.inlined.map(|inlined| inlined.at);
        (self.file, self.line, self.column, at)
    }
}

/// Visits the `.loc` directives of a body, those of its blocks included.
pub fn each_loc<'s, 'a>(body: &'s [Statement<'a>], visit: &mut impl FnMut(&'s Loc<'a>)) {
    for statement in body {
        match statement {
            Statement::Loc(loc) => visit(loc),
            Statement::Block(inner) => each_loc(inner, visit),
            _ => {}
        }
    }
}
