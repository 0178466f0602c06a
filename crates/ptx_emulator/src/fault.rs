//! Faults, which stop a kernel, and errors of loading a module.

use std::fmt;

/// An error of loading PTX text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}: {message}")]
pub struct LoadError {
    /// The line in the PTX text, from 1, or 0 if the error concerns no particular line.
    pub line: u32,
    /// The description of the error.
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

/// The kind of a [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An access outside all allocations.
    IllegalAddress,
    /// An access at an address that is not a multiple of its size.
    Misaligned,
    /// `trap` was executed.
    Trap,
    /// `brkpt` was executed.
    Breakpoint,
    /// A device-side `assert` failed.
    Assert,
    /// The calls exceed the stack limit.
    StackOverflow,
    /// Threads wait for each other, and none can continue.
    Deadlock,
    /// The kernel ran longer than `PTX_EMULATOR_TIME_LIMIT` allows.
    TimeLimit,
    /// An instruction that is not supported, or used incorrectly.
    InvalidInstruction,
    /// An indirect call through a value that is not the address of a function.
    InvalidCall,
    /// The launch is invalid: its dimensions or parameters.
    InvalidLaunch,
}

/// A location in the source that the PTX was compiled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file, as the compiler wrote it.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column, or 0 if unknown.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A fault: what stopped a kernel, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The description of the fault.
    pub message: String,
    /// The name of the kernel.
    pub kernel: String,
    /// The function that the thread was executing, possibly the kernel itself.
    pub function: String,
    /// The index of the block.
    pub block: [u32; 3],
    /// The index of the thread in its block.
    pub thread: [u32; 3],
    /// The line of the PTX text, from 1, or 0 if unknown.
    pub ptx_line: u32,
    /// The source location, if the PTX contains it.
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
