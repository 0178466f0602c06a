//! `cargo cuda report`: the resources of kernels, and what costs time in them.

use crate::artifacts::Project;
use crate::command::Session;
use crate::device_code::{self, Kernel, demangle};
use crate::images::{self, Image};
use crate::inspect;
use crate::occupancy::{Limit, Occupancy};
use crate::options::{self, Argument, Selection};
use crate::ptxas::{self, Usage};
use crate::source::{self, Colors, Sources};
use anyhow::{Context, Result, bail};
use lexopt::ValueExt;
use ptx::{Function, Location, Module, Survey};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command's help.
pub const HELP: &str = "\
Report the registers, spills, memory and occupancy of kernels, and the checks left in their loops

Usage: cargo cuda report [KERNEL…]

Each KERNEL is a part of a kernel's path; without one, the command reports on all kernels. It builds
the release profile, with line tables; `--dev` selects the dev profile.

  --block THREADS  The block size for the occupancy of kernels without one; otherwise 256
  --arch sm_90     Select an architecture if the program has several; otherwise the newest
  --file FILE      Read a program, library or PTX instead of building
  --json           Print JSON
";

/// The block size for kernels that do not require one.
const BLOCK: u64 = 256;

/// The most threads of a block.
const MAX_BLOCK: u64 = 1024;

/// A kernel's report.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Report {
    kernel: Kernel,
    arch: String,
    usage: Usage,
    threads: u64,
    occupancy: Option<Occupancy>,
    /// `None` if a function has control flow that cannot be followed.
    checks: Option<Vec<Check>>,
    local: Vec<Local>,
    /// The bytes of shared memory that hold local arrays.
    moved: u64,
}

/// A check that a loop makes in each iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Check {
    kind: Failure,
    location: Option<Location>,
    /// The number of conditions that one branch tests together with this one.
    together: usize,
    function: String,
}

/// A local array that is accessed at an address that is computed at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Local {
    location: Option<Location>,
    loads: usize,
    stores: usize,
    function: String,
}

/// Why a check fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Failure {
    Index,
    Range,
    Overflow,
    Division,
    Unwrap,
    Assertion,
    Other,
}

impl Failure {
    /// The kind of failure that a function reports.
    fn of(function: &str) -> Failure {
        let path = demangle(function);
        let has = |part: &str| path.contains(part);
        if has("panic_bounds_check") {
            Failure::Index
        } else if has("slice") && (has("index") || has("fail") || has("len_mismatch")) {
            Failure::Range
        } else if has("div_by_zero") || has("rem_by_zero") || has("div_overflow") {
            Failure::Division
        } else if has("overflow") {
            Failure::Overflow
        } else if has("unwrap_failed") || has("expect_failed") {
            Failure::Unwrap
        } else if has("misaligned") || has("null_reference") || has("nounwind") {
            Failure::Assertion
        } else {
            Failure::Other
        }
    }

    fn name(self) -> &'static str {
        match self {
            Failure::Index => "index out of bounds",
            Failure::Range => "range out of bounds",
            Failure::Overflow => "arithmetic overflow",
            Failure::Division => "division by zero or overflow",
            Failure::Unwrap => "unwrap of `None` or `Err`",
            Failure::Assertion => "assertion about unsafe code",
            Failure::Other => "panic",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Failure::Index => {
                "iterate over the slice, or shorten it before the loop: `let a = &a[..n];`"
            }
            Failure::Range => "use `chunks_exact`, `split_at` or `get` outside of the loop",
            Failure::Overflow => "use `wrapping_*` operations; release builds do not check",
            Failure::Division => "divide by a `NonZero` type, or test the divisor before the loop",
            Failure::Unwrap => "handle the case before the loop",
            Failure::Assertion => "only debug builds check this",
            Failure::Other => "move the condition in front of the loop",
        }
    }
}

/// Runs the command.
///
/// # Errors
///
/// Returns an error for wrong arguments, if the build fails, or if no kernel matches.
pub fn report(session: &Session, arguments: Vec<OsString>) -> Result<ExitCode> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut selection = Selection::default();
    let (mut names, mut arch, mut file) = (Vec::new(), None, None);
    let (mut json, mut block) = (false, BLOCK);
    while let Some(argument) = options::next(&mut parser)? {
        match &argument {
            Argument::Option(option) => {
                match option.as_str() {
                    "--json" => json = true,
                    "--arch" => arch = Some(parser.value()?.string()?),
                    "--file" => file = Some(PathBuf::from(parser.value()?)),
                    "--block" => {
                        let value = parser.value()?.string()?;
                        block = value
                        .parse()
                        .ok()
                        .filter(|threads| (1..=MAX_BLOCK).contains(threads))
                        .with_context(|| {
                            format!("invalid block size `{value}`: expected 1 to {MAX_BLOCK} threads")
                        })?;
                    }
                    _ if selection.take(&argument, &mut parser)? => {}
                    _ => return options::unexpected("report", &argument),
                }
            }
            Argument::Value(name) => names.push(name.to_string_lossy().into_owned()),
        }
    }
    let (code, project) = match &file {
        Some(file) => (vec![(file.clone(), images::read(file)?)], None),
        None => {
            let project = Project::find(session, &selection)?;
            let built = inspect::build(session, &project, &selection, &[], &[])?;
            (built.device_code(true)?, Some(project))
        }
    };
    let modules = inspect::modules(code, arch.as_deref())?;
    let ptxas = ptxas::find(None)?;
    let mut reports: Vec<Report> = Vec::new();
    for text in &modules {
        let description = device_code::describe(&Image::Ptx(text.clone()))?;
        let mut kernels = description.kernels;
        kernels.retain(|kernel| {
            let is_wanted = |name: &String| kernel.name.contains(name) || kernel.symbol == *name;
            names.is_empty() || names.iter().any(is_wanted)
        });
        if kernels.is_empty() {
            continue;
        }
        let directory = tempfile::tempdir().context("cannot create a temporary directory")?;
        let usages = ptxas::assemble(&ptxas, text, &directory.path().join("cubin"))?;
        let module = Module::parse(text).context("cannot parse PTX")?;
        for kernel in kernels {
            reports.push(examine(&module, kernel, &description.arch, &usages, block));
        }
    }
    if reports.is_empty() {
        match names.is_empty() {
            true => bail!("the program has no kernels"),
            false => bail!(
                "no kernel has the name `{}`\nhelp: `cargo cuda list` lists the kernels",
                names.join("`, `")
            ),
        }
    }
    reports.sort_by(|a, b| a.kernel.name.cmp(&b.kernel.name));
    match json {
        true => {
            let all: Vec<Value> = reports.iter().map(Report::to_json).collect();
            println!("{:#}", Value::from(all));
        }
        false => {
            let mut sources = Sources::new(inspect::directories(session, project.as_ref()));
            let colors = Colors::of_stdout();
            let texts: Vec<String> = (reports.iter())
                .map(|report| report.text(&mut sources, colors))
                .collect();
            print!("{}", texts.join("\n"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds the facts about a kernel of a module.
fn examine<'a>(
    module: &Module<'a>,
    kernel: Kernel,
    arch: &str,
    usages: &BTreeMap<String, Usage>,
    block: u64,
) -> Report {
    let survey = Survey::new(module);
    let entries = survey.entries(&kernel.symbol);
    let symbol = entries.first().map_or(&*kernel.symbol, |entry| entry.name);
    let usage = usages.get(symbol).cloned().unwrap_or_default();
    let threads = kernel.bounds.threads().unwrap_or(block);
    let registers = usage.registers.unwrap_or(1);
    let shared = usage.shared.max(kernel.shared);
    let mut checks = Some(Vec::new());
    let mut local = Vec::new();
    let reached = entries
        .iter()
        .flat_map(|entry| survey.reached(entry, matters));
    for function in reached {
        match ptx::loop_checks(module, function) {
            None => checks = None,
            Some(found) => {
                for check in found {
                    for panic in &check.panics {
                        let location = location_of(&survey, function, panic);
                        let new = Check {
                            kind: Failure::of(panic.function),
                            location,
                            together: check.panics.len(),
                            function: name_of(function),
                        };
                        add_check(checks.as_mut(), new);
                    }
                }
            }
        }
        for access in survey.local_accesses(function) {
            let location = source::own(&access.locations).cloned();
            let same =
                |it: &&mut Local| it.location == location && it.function == name_of(function);
            let entry = match local.iter_mut().find(same) {
                Some(entry) => entry,
                None => {
                    local.push(Local {
                        location: location.clone(),
                        loads: 0,
                        stores: 0,
                        function: name_of(function),
                    });
                    local.last_mut().expect("one was just added")
                }
            };
            match access.store {
                true => entry.stores += 1,
                false => entry.loads += 1,
            }
        }
    }
    let moved = entries
        .first()
        .map_or(0, |entry| survey.local_arrays_in_shared_memory(entry));
    Report {
        moved,
        arch: arch.to_owned(),
        threads,
        occupancy: usage
            .registers
            .and_then(|_| Occupancy::new(arch, threads, registers, shared)),
        usage,
        checks,
        local,
        kernel,
    }
}

/// The path of a function. Both entries of a kernel have the kernel's.
fn name_of(function: &Function<'_>) -> String {
    let name = function.name;
    demangle(ptx::kernel_of_entry(name).map_or(name, |(kernel, _)| kernel))
}

/// Whether a function that a kernel reaches can take time: not what only reports a panic.
fn matters(function: &Function<'_>) -> bool {
    let path = name_of(function);
    !function.never_returns() && !path.contains("core::fmt") && !path.contains("cuda_std::panic")
}

fn add_check(checks: Option<&mut Vec<Check>>, new: Check) {
    let Some(checks) = checks else { return };
    let same = |it: &&mut Check| it.kind == new.kind && it.location == new.location;
    match checks.iter_mut().find(same) {
        // A copy of the loop may test it alone.
        Some(known) => known.together = known.together.min(new.together),
        None => checks.push(new),
    }
}

/// The location that a panic reports, or else that of its line table.
fn location_of<'a>(
    survey: &Survey<'_, 'a>,
    function: &Function<'a>,
    panic: &ptx::Panic<'a>,
) -> Option<Location> {
    survey.recorded(panic).or_else(|| {
        let locations = survey.locations(function, panic.loc.as_ref()?);
        source::own(&locations).cloned()
    })
}

impl Report {
    fn text(&self, sources: &mut Sources, colors: Colors) -> String {
        let usage = &self.usage;
        let mut text = format!("{} ({})\n", colors.name(&self.kernel.name), self.arch);
        let mut line = |indent: usize, line: &str| {
            text.push_str(&" ".repeat(indent));
            text.push_str(line);
            text.push('\n');
        };
        match usage.registers {
            Some(registers) => line(2, &format!("registers       {registers} per thread")),
            None => line(2, "registers       unknown: ptxas reports none"),
        }
        line(
            2,
            &format!("local memory    {} bytes of stack", usage.stack),
        );
        match (usage.spill_stores, usage.spill_loads) {
            (0, 0) => line(2, "spills          none"),
            (stores, loads) => {
                line(
                    2,
                    &format!("spills          {stores} bytes stored, {loads} bytes loaded"),
                );
                line(
                    4,
                    "help: lower the register pressure, or allow more registers: smaller tiles, \
                         fewer threads in `launch_bounds`",
                );
            }
        }
        let dynamic = match self.kernel.dynamic_shared {
            true => " static, and dynamic",
            false => "",
        };
        let shared = usage.shared.max(self.kernel.shared);
        let arrays = match self.moved {
            0 => String::new(),
            moved => format!(", {moved} of them for local arrays"),
        };
        line(
            2,
            &format!("shared memory   {shared} bytes{dynamic}{arrays}"),
        );
        match &self.occupancy {
            Some(occupancy) => {
                line(
                    2,
                    &format!(
                        "occupancy       {}% with blocks of {} threads: {} blocks, {} of {} warps, \
                     limited by {}",
                        occupancy.percent(),
                        self.threads,
                        occupancy.blocks,
                        occupancy.warps,
                        occupancy.max_warps,
                        occupancy.limit
                    ),
                );
                let advice = match occupancy.limit {
                    _ if occupancy.percent() >= 50 => None,
                    Limit::Registers => Some("bound the registers with `launch_bounds`"),
                    Limit::SharedMemory => Some("use less shared memory per block"),
                    Limit::Blocks => Some("use larger blocks"),
                    Limit::Threads => Some("use a block size that divides the limit"),
                };
                if let Some(advice) = advice {
                    line(4, &format!("help: {advice}"));
                }
            }
            None => line(
                2,
                "occupancy       unknown: the limits of the architecture are not known",
            ),
        }
        let shown = |location: &Option<Location>, function: &str| match location {
            Some(location) if location.column > 0 => {
                format!("{}:{}", source::show(location), location.column)
            }
            Some(location) => source::show(location),
            None => format!("in {function}"),
        };
        let mut code = |location: &Option<Location>| {
            let line = location
                .as_ref()
                .and_then(|location| sources.line(location));
            line.map(|line| colors.source(line))
        };
        match &self.checks {
            None => line(
                2,
                "checks in loops unknown: a function has control flow that is not followed",
            ),
            Some(checks) if checks.is_empty() => line(2, "checks in loops none"),
            Some(checks) => {
                line(2, &format!("checks in loops {}", checks.len()));
                for check in checks {
                    let together = match check.together {
                        0 | 1 => String::new(),
                        several => format!(", one branch with {} others", several - 1),
                    };
                    let at = shown(&check.location, &check.function);
                    line(4, &format!("{at}: {}{together}", check.kind.name()));
                    if let Some(code) = code(&check.location) {
                        line(6, &code);
                    }
                    line(6, &format!("help: {}", check.kind.advice()));
                }
            }
        }
        if self.local.is_empty() {
            line(2, "local arrays    none indexed at run time");
        } else {
            line(
                2,
                &format!(
                    "local arrays    indexed at run time at {} lines",
                    self.local.len()
                ),
            );
            for local in &self.local {
                let at = shown(&local.location, &local.function);
                line(
                    4,
                    &format!("{at}: {} loads, {} stores", local.loads, local.stores),
                );
                if let Some(code) = code(&local.location) {
                    line(6, &code);
                }
                line(
                    6,
                    "help: index by constants in unrolled loops, or use shared memory, to which \
                         small arrays of a kernel with a `block_size` move: stores to local memory \
                         are as slow as to global memory",
                );
            }
        }
        text
    }

    fn to_json(&self) -> Value {
        let location = |location: &Option<Location>| match location {
            Some(location) => json!({
                "file": location.file, "line": location.line, "column": location.column,
            }),
            None => Value::Null,
        };
        let checks = self.checks.as_ref().map(|checks| {
            (checks.iter())
                .map(|check| {
                    json!({
                        "failure": check.kind.name(),
                        "location": location(&check.location),
                        "conditions_in_branch": check.together,
                        "function": check.function,
                        "help": check.kind.advice(),
                    })
                })
                .collect::<Vec<_>>()
        });
        let local: Vec<Value> = (self.local.iter())
            .map(|local| {
                json!({
                    "location": location(&local.location),
                    "loads": local.loads,
                    "stores": local.stores,
                    "function": local.function,
                })
            })
            .collect();
        let occupancy = self.occupancy.as_ref().map(|it| {
            json!({
                "percent": it.percent(),
                "blocks": it.blocks,
                "warps": it.warps,
                "max_warps": it.max_warps,
                "limited_by": it.limit.to_string(),
            })
        });
        json!({
            "kernel": self.kernel.name,
            "symbol": self.kernel.symbol,
            "arch": self.arch,
            "registers": self.usage.registers,
            "stack_bytes": self.usage.stack,
            "spill_store_bytes": self.usage.spill_stores,
            "spill_load_bytes": self.usage.spill_loads,
            "static_shared_bytes": self.usage.shared.max(self.kernel.shared),
            "shared_bytes_of_local_arrays": self.moved,
            "dynamic_shared": self.kernel.dynamic_shared,
            "block_threads": self.threads,
            "occupancy": occupancy,
            "checks_in_loops": checks,
            "dynamic_local_accesses": local,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_by_the_panicking_function() {
        for (function, failure) in [
            ("__cuda_std_panic_bounds_check", Failure::Index),
            (
                "_RNvNtNtCs2XDfgZUAJQf_4core9panicking11panic_const24panic_const_mul_overflow",
                Failure::Overflow,
            ),
            (
                "_RNvNtNtCs2XDfgZUAJQf_4core9panicking11panic_const23panic_const_div_by_zero",
                Failure::Division,
            ),
            (
                "_RNvNtCs2XDfgZUAJQf_4core9panicking36panic_misaligned_pointer_dereference",
                Failure::Assertion,
            ),
            (
                "_RNvNtNtCs2XDfgZUAJQf_4core5slice5index16slice_index_fail",
                Failure::Range,
            ),
            ("__cuda_std_panic_fmt", Failure::Other),
        ] {
            assert_eq!(Failure::of(function), failure, "{function}");
        }
    }

    /// A kernel with a check in a loop, at line 9 of a file, and an array in local memory.
    const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .global .align 1 .b8 file[5] = {97, 46, 114, 115};\n\
        .global .align 8 .u64 place[3] = {generic(file), 4, 21474836489};\n\
        .func __cuda_std_panic_bounds_check()\n{\nexit;\n}\n\
        .file 1 \"b.rs\"\n\
        .visible .entry k(.param .u64 n)\n{\n.reg .pred %p<9>;\n.reg .b64 %r<9>;\n\
        .local .align 8 .b8 depot[64];\n.shared .align 16 .b8 $local1_k[1024];\n\
        $L__BB0_1:\nsetp.lt.u64 %p2, %r1, %r2;\n@!%p2 bra $L__BB0_3;\n\
        .loc 1 7 1\nshl.b64 %r5, %r1, 2;\nmov.u64 %r6, depot;\nadd.s64 %r7, %r6, %r5;\n\
        st.local.u64 [%r7], %r1;\nadd.s64 %r1, %r1, 1;\nsetp.ne.s64 %p3, %r1, 9;\n\
        @%p3 bra $L__BB0_1;\nret;\n\
        $L__BB0_3:\nmov.u64 %r4, place;\n{\ncall.uni __cuda_std_panic_bounds_check, ();\nexit;\n}\n}\n";

    fn example() -> Report {
        let module = Module::parse(PTX).unwrap();
        let description = device_code::describe(&Image::Ptx(PTX.to_owned())).unwrap();
        let usage = Usage {
            registers: Some(64),
            spill_stores: 4,
            ..Usage::default()
        };
        let usages = BTreeMap::from([("k".to_owned(), usage)]);
        let kernel = description.kernels[0].clone();
        examine(&module, kernel, "sm_80", &usages, 128)
    }

    #[test]
    fn a_kernel_is_examined() {
        let report = example();
        let location = |file: &str, line, column| {
            Some(Location {
                file: file.to_owned(),
                line,
                column,
            })
        };
        let checks = report.checks.clone().unwrap();
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].kind, Failure::Index);
        assert_eq!(checks[0].location, location("a.rs", 9, 5));
        assert_eq!(report.local.len(), 1);
        assert_eq!(report.local[0].location, location("b.rs", 7, 1));
        assert_eq!((report.local[0].loads, report.local[0].stores), (0, 1));
        assert_eq!(report.occupancy.unwrap().percent(), 50);
    }

    #[test]
    fn a_report_as_text_and_json() {
        let report = example();
        let text = report.text(&mut Sources::default(), Colors::NONE);
        for line in [
            "k (sm_80)\n",
            "  registers       64 per thread\n",
            "  spills          4 bytes stored, 0 bytes loaded\n    help: ",
            "  shared memory   1024 bytes, 1024 of them for local arrays\n",
            "    a.rs:9:5: index out of bounds\n      help: iterate",
            "    b.rs:7:1: 0 loads, 1 stores\n",
            "50% with blocks of 128 threads: 8 blocks, 32 of 64 warps, limited by registers",
        ] {
            assert!(text.contains(line), "`{line}` is not in {text}");
        }
        let json = report.to_json();
        assert_eq!(json["registers"], 64);
        assert_eq!(json["shared_bytes_of_local_arrays"], 1024);
        assert_eq!(json["checks_in_loops"][0]["location"]["line"], 9);
        assert_eq!(json["occupancy"]["blocks"], 8);
    }
}
