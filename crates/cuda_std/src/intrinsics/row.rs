//! Descriptions of the table's rows for the host: sufficient to document and to assemble them.

#![cfg(not(target_arch = "nvptx64"))]

/// The effects of an instruction besides its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None: calls with equal operands may be merged, and calls whose result is unused removed.
    Pure,
    /// Reads memory.
    Reads,
    /// Has effects, but not on memory.
    Volatile,
    /// Reads and writes memory, or orders memory accesses.
    Memory,
}

/// A register operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// The name in the row's PTX.
    pub name: &'static str,
    /// The size in bits: 16, 32 or 64.
    pub bits: u8,
    /// Whether the instruction writes it.
    pub output: bool,
}

/// A row of the table: an instruction.
#[derive(Debug)]
pub struct Row {
    /// The name of the function.
    pub name: &'static str,
    /// The path of its module.
    pub module: &'static str,
    /// The signature of the function, without `pub`.
    pub signature: &'static str,
    /// The description.
    pub doc: &'static str,
    /// The PTX as the table has it, or the name of the NVVM intrinsic.
    pub source: &'static str,
    /// The PTX with the names of registers and immediates in braces, and PTX's own braces doubled;
    /// `None` for an NVVM intrinsic.
    pub ptx: Option<&'static str>,
    /// The registers in `ptx`.
    pub registers: &'static [Register],
    /// The immediates in `ptx`, with their minimum and maximum.
    pub immediates: &'static [(&'static str, i64, i64)],
    /// The architectures of which one is required; empty if all have it.
    pub requires: &'static [&'static str],
    /// The effects besides the results.
    pub effect: Effect,
    /// Whether the threads of a warp execute it together.
    pub convergent: bool,
}

impl Row {
    /// Returns the PTX with the given names of registers and values of immediates, or `None` for an
    /// NVVM intrinsic.
    #[must_use]
    pub fn instantiate(
        &self,
        register: impl Fn(&str) -> std::string::String,
        immediate: impl Fn(&(&'static str, i64, i64)) -> i64,
    ) -> Option<std::string::String> {
        let mut text = std::string::String::new();
        let mut rest = self.ptx?;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let from = &rest[at..];
            if from.starts_with("{{") || from.starts_with("}}") {
                text.push_str(&from[..1]);
                rest = &from[2..];
                continue;
            }
            let (name, after) = from[1..].split_once('}')?;
            match self.immediates.iter().find(|(known, ..)| *known == name) {
                Some(known) => text.push_str(&std::format!("{}", immediate(known))),
                None => text.push_str(&register(name)),
            }
            rest = after;
        }
        text.push_str(rest);
        Some(text)
    }
}
