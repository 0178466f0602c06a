//! Limits on the CPU time of compilations, and their results.

use std::time::Duration;

/// A limit on the CPU time of a compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// For the whole compilation, which runs at full speed without reporting where the time goes.
    Total(Duration),
    /// For each function, in one pass and in all passes. Makes libnvvm about an eighth slower.
    Function {
        /// In one pass.
        pass: Duration,
        /// In all passes.
        all: Duration,
        /// For the whole program.
        total: Duration,
    },
}

/// The result of a bounded compilation.
#[derive(Debug)]
pub enum Outcome {
    /// The PTX.
    Compiled(Vec<u8>),
    /// The program exceeded its limit.
    TookLong,
    /// A function exceeded its limit in [`Bound::Function`].
    Slow(Slow),
}

/// A function on which libnvvm exceeded a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slow {
    /// The function's symbol; `None` if libnvvm was not processing a function.
    pub function: Option<String>,
    /// libnvvm's name of the pass that ran when the limit was exceeded.
    pub pass: String,
    /// The CPU time spent on the function.
    pub time: Duration,
    /// The CPU time spent on the program.
    pub total: Duration,
}
