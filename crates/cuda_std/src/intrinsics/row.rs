//! What the host knows of a row of the table: enough to write it down, and to assemble it.

#![cfg(not(target_arch = "nvptx64"))]

/// What an instruction does besides computing its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: calls with the same operands may be merged, and unused ones removed.
    Pure,
    /// It reads memory.
    Reads,
    /// It does something, but not to memory.
    Volatile,
    /// It reads and writes memory, or orders accesses to it.
    Memory,
}

/// A register that an instruction takes or gives.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Its name in the row's PTX.
    pub name: &'static str,
    /// 16, 32 or 64.
    pub bits: u8,
    /// Whether the instruction writes it.
    pub output: bool,
}

/// An instruction of the table.
#[derive(Debug)]
pub struct Row {
    /// The function's name.
    pub name: &'static str,
    /// The path of its module.
    pub module: &'static str,
    /// The function's signature, without `pub`.
    pub signature: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// The row's PTX as the table has it, or the name of NVVM's intrinsic.
    pub source: &'static str,
    /// The PTX with the names of registers and immediates in braces, braces of PTX's own doubled;
    /// none for an intrinsic of NVVM.
    pub ptx: Option<&'static str>,
    /// The registers in `ptx`.
    pub registers: &'static [Register],
    /// The immediates in `ptx`, with the least and the largest value.
    pub immediates: &'static [(&'static str, i64, i64)],
    /// The architectures one of which is needed; none if all have it.
    pub requires: &'static [&'static str],
    /// What it does besides.
    pub effect: Effect,
    /// Whether the threads of a warp execute it together.
    pub convergent: bool,
}

impl Row {
    /// The PTX with these registers and immediates.
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
