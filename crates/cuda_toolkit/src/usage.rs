//! The resources of each function, which ptxas reports with `-v`.

use crate::Arch;
use crate::assemble::{AssembleError, io, parallel};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What ptxas reports about a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// The registers per thread, those of called functions included; known for kernels.
    pub registers: Option<u64>,
    /// The bytes of the stack frame in local memory.
    pub stack: u64,
    /// The bytes of spilled registers that are stored.
    pub spill_stores: u64,
    /// The bytes of spilled registers that are loaded.
    pub spill_loads: u64,
    /// The bytes of static shared memory.
    pub shared: u64,
    /// The bytes of constant memory, parameters included.
    pub constant: u64,
    /// The number of barriers.
    pub barriers: u64,
}

/// Assembles a PTX file to `cubin`, and returns what ptxas reports about its functions. `linked`
/// selects separate compilation of functions; modules that ptxas refuses to compile so, because of
/// the kernels' launch bounds, are compiled as whole programs, as [`assemble`](crate::assemble)
/// compiles them.
///
/// # Errors
///
/// Returns an error if ptxas cannot be run or fails.
pub fn assemble(
    ptxas: &Path,
    arch: Arch,
    ptx: &Path,
    linked: bool,
    cubin: &Path,
) -> Result<BTreeMap<String, Usage>, AssembleError> {
    let run = |options: &[&str]| {
        let output = Command::new(ptxas)
            .args(["-v", "-lineinfo"])
            .args(parallel(ptxas))
            .arg(format!("-arch={}", arch.sm()))
            .args(options)
            .arg(ptx)
            .arg("-o")
            .arg(cubin)
            .output()
            .map_err(io(format!("run `{}`", ptxas.display())))?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        match output.status.success() {
            true => Ok(parse(&text)),
            false => Err(AssembleError::Failed {
                program: ptxas.to_owned(),
                output: text,
            }),
        }
    };
    if linked {
        match run(&["-c"]) {
            Err(AssembleError::Failed { .. }) => {}
            result => return result,
        }
    }
    run(&[])
}

/// Reads the output of `ptxas -v`.
pub fn parse(text: &str) -> BTreeMap<String, Usage> {
    let mut all: BTreeMap<String, Usage> = BTreeMap::new();
    // The function of the next lines: properties follow their function, and the registers follow
    // the properties.
    let mut properties = None;
    let mut compiled: Option<String> = None;
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            compiled = rest.split('\'').next().map(str::to_owned);
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            let name = name.trim().trim_matches('\'').to_owned();
            properties = Some(name);
        } else if line.contains("bytes stack frame") {
            let Some(name) = properties.take() else {
                continue;
            };
            let usage = all.entry(name).or_default();
            usage.stack = number(line, "bytes stack frame").unwrap_or(0);
            usage.spill_stores = number(line, "bytes spill stores").unwrap_or(0);
            usage.spill_loads = number(line, "bytes spill loads").unwrap_or(0);
        } else if line.contains(": Used ") {
            let Some(name) = compiled.take() else {
                continue;
            };
            let usage = all.entry(name).or_default();
            usage.registers = line
                .split_once(": Used ")
                .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
            usage.barriers = number(line, "barriers").unwrap_or(0);
            usage.shared = number(line, "bytes smem").unwrap_or(0);
            usage.constant = (line.split(','))
                .filter(|part| part.contains("bytes cmem"))
                .filter_map(|part| number(part, "bytes cmem"))
                .sum();
        }
    }
    all
}

/// The number before some words.
fn number(line: &str, words: &str) -> Option<u64> {
    let (before, _) = line.split_once(words)?;
    before.trim_end().rsplit([' ', ',']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_ptxas() {
        let text = "\
ptxas info    : 528 bytes gmem, 16 bytes cmem[4]
ptxas info    : Compiling entry function 'a' for 'sm_75'
ptxas info    : Function properties for a
    48 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 48 registers, used 1 barriers, 48 bytes cumulative stack size, 1024 bytes smem, 400 bytes cmem[0], 16 bytes cmem[4]
ptxas info    : Compile time = 9.521 ms
ptxas info    : Function properties for helper
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'b' for 'sm_75'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, 352 bytes cmem[0]
";
        let found = parse(text);
        let a = Usage {
            registers: Some(48),
            stack: 48,
            spill_stores: 8,
            spill_loads: 12,
            shared: 1024,
            constant: 416,
            barriers: 1,
        };
        assert_eq!(found["a"], a);
        assert_eq!(found["b"].registers, Some(255));
        assert_eq!((found["b"].barriers, found["b"].constant), (0, 352));
        assert_eq!(found.len(), 3);
    }
}
