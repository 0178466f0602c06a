//! Names of new labels and registers. A module borrows its names, so this arena outlives it.

use std::cell::Cell;

use typed_arena::Arena;

use crate::Statement;

/// The first characters of new labels.
pub(super) const LABEL: &str = "$L__X";

/// Creates names and owns them.
#[derive(Default)]
pub struct Names {
    arena: Arena<u8>,
    count: Cell<u32>,
    others: Arena<Names>,
}

impl Names {
    /// Names whose labels differ from those of a body that has new labels already.
    pub(super) fn other_than(body: &[Statement<'_>]) -> Names {
        let number = |statement: &Statement<'_>| match statement {
            Statement::Label(label) => label.strip_prefix(LABEL)?.parse::<u32>().ok(),
            _ => None,
        };
        let last = body.iter().filter_map(number).max();
        Names {
            count: Cell::new(last.map_or(0, |last| last.saturating_add(1))),
            ..Names::default()
        }
    }

    /// Returns the names for another thread, which are new in a function that has none of these.
    pub(super) fn other(&self) -> &mut Names {
        self.others.alloc(Names::default())
    }

    /// The number of names so far.
    pub(super) fn count(&self) -> u32 {
        self.count.get()
    }

    /// Makes the next names differ from the first `count` ones.
    pub(super) fn skip_to(&self, count: u32) {
        self.count.set(self.count.get().max(count));
    }

    /// Returns a new label.
    pub(crate) fn label(&self) -> &str {
        self.new_name(LABEL)
    }

    /// Returns a new register name.
    pub(crate) fn register(&self) -> &str {
        self.new_name("%x")
    }

    /// Returns a new name: `prefix`, a number, `_` and `name`.
    pub(crate) fn numbered(&self, prefix: &str, name: &str) -> &str {
        let count = self.count.get();
        self.count.set(count + 1);
        self.arena.alloc_str(&format!("{prefix}{count}_{name}"))
    }

    /// Stores a name.
    pub(crate) fn name(&self, name: &str) -> &str {
        self.arena.alloc_str(name)
    }

    fn new_name(&self, prefix: &str) -> &str {
        let count = self.count.get();
        self.count.set(count + 1);
        self.arena.alloc_str(&format!("{prefix}{count}"))
    }
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").field("count", &self.count).finish()
    }
}
