//! Names of new labels and registers. A module borrows its names, so this arena outlives it.

use std::cell::Cell;

use typed_arena::Arena;

/// Creates names and owns them.
#[derive(Default)]
pub struct Names {
    arena: Arena<u8>,
    count: Cell<u32>,
}

impl Names {
    /// Returns a new label.
    pub(super) fn label(&self) -> &str {
        self.new_name("$L__X")
    }

    /// Returns a new register name.
    pub(super) fn register(&self) -> &str {
        self.new_name("%x")
    }

    /// Stores a name.
    pub(super) fn name(&self, name: &str) -> &str {
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
