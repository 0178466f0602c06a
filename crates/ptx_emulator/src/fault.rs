//! What stops a kernel, and what keeps a module from being loaded.

use std::fmt;

/// Why a PTX text cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}: {message}")]
pub struct LoadError {
    /// The line in the PTX text, from 1; 0 where no line is to blame.
    pub line: u32,
    /// What is wrong there.
    pub message: String,
}

impl From<ptx::Error> for LoadError {
    fn from(error: ptx::Error) -> Self {
        LoadError {
            line: error.line,
            message: error.message,
        }
    }
}

/// The sort of a [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An access outside of every allocation.
    IllegalAddress,
    /// An access at an address that is no multiple of its size.
    Misaligned,
    /// `trap` was executed.
    Trap,
    /// `brkpt` was executed.
    Breakpoint,
    /// A device-side `assert` failed.
    Assert,
    /// Calls nest deeper than the stack limit allows.
    StackOverflow,
    /// Threads wait for each other, and none can go on.
    Deadlock,
    /// The kernel runs longer than `PTX_EMULATOR_TIME_LIMIT` allows.
    TimeLimit,
    /// An instruction that is not supported, or used against its rules.
    InvalidInstruction,
    /// A call through something that is no function's address.
    InvalidCall,
    /// The launch itself is wrong: dimensions, parameters.
    InvalidLaunch,
}

/// A place in the source that the PTX was compiled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file, as the compiler wrote it.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column, or 0.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What stopped a kernel, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its sort.
    pub kind: FaultKind,
    /// What happened, for people.
    pub message: String,
    /// The kernel.
    pub kernel: String,
    /// The function that the thread was in; the kernel itself if it was in no other.
    pub function: String,
    /// The block.
    pub block: [u32; 3],
    /// The thread in its block.
    pub thread: [u32; 3],
    /// The line of the PTX text, from 1; 0 where there is none.
    pub ptx_line: u32,
    /// Where in the source, if the PTX says so.
    pub source_location: Option<SourceLocation>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault {
            message,
            kernel,
            function,
            block: [bx, by, bz],
            thread: [tx, ty, tz],
            ..
        } = self;
        write!(f, "{message} (kernel `{kernel}`")?;
        if function != kernel {
            write!(f, ", in function `{}`", ptx::stack::demangle(function))?;
        }
        write!(f, ", block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})")?;
        if let Some(location) = &self.source_location {
            write!(f, ", at {location}")?;
        }
        if self.ptx_line > 0 {
            write!(f, ", PTX line {}", self.ptx_line)?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_demangled() {
        let fault = Fault {
            kind: FaultKind::Trap,
            message: "trap".to_owned(),
            kernel: "run".to_owned(),
            function: "_RNvNtCs1234_7kernels5outer5inner".to_owned(),
            block: [0; 3],
            thread: [0; 3],
            ptx_line: 7,
            source_location: None,
        };
        let text = fault.to_string();
        assert!(
            text.contains("in function `kernels::outer::inner`,"),
            "{text}"
        );
    }
}
