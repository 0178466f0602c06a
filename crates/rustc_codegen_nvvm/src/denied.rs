//! `#[kernel(deny(...))]`: costs of a kernel that are errors in optimized builds.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use cuda_toolkit::usage::{self, Usage};
use ptx::{Function, Location, Module, Survey};
use rustc_middle::ty::TyCtxt;
use rustc_span::def_id::DefId;

use crate::kernels::Kernel;
use crate::options::{self, Options};
use crate::pipeline::find_toolkit;
use crate::{context, diagnostics, markers};

/// A kernel that denies costs.
pub(crate) struct Denying {
    symbol: String,
    def_id: DefId,
    /// The names of the costs.
    costs: Vec<String>,
}

impl Denying {
    /// Returns the kernel's name if it denies spills, or local memory, where spills are.
    pub(crate) fn without_spills(&self) -> Option<&str> {
        let costs = ["local_memory", "spills"];
        let denies = self.costs.iter().any(|cost| costs.contains(&cost.as_str()));
        denies.then_some(self.symbol.as_str())
    }
}

/// Returns the kernels that deny costs. In unoptimized builds, where every kernel has all of these
/// costs, none are denied.
pub(crate) fn find<'tcx>(tcx: TyCtxt<'tcx>, kernels: &[Kernel<'tcx>]) -> Vec<Denying> {
    if !options::optimizes(tcx.sess) {
        return Vec::new();
    }
    let denying = |kernel: &Kernel<'tcx>| {
        let def_id = kernel.instance.def_id();
        let section = markers::section(tcx, def_id)?;
        let costs = markers::value(section.as_str(), markers::DENY)?;
        Some(Denying {
            symbol: context::sanitize(tcx.symbol_name(kernel.instance).name),
            def_id,
            costs: costs.split(',').map(str::to_owned).collect(),
        })
    };
    kernels.iter().filter_map(denying).collect()
}

/// Reports the denied costs that the kernels have.
pub(crate) fn check(
    tcx: TyCtxt<'_>,
    options: &Options,
    arch: nvvm::Arch,
    denying: &[Denying],
    text: &str,
) {
    if denying.is_empty() {
        return;
    }
    // `ptx::finish` wrote it.
    let Ok(module) = Module::parse(text) else {
        return;
    };
    let survey = Survey::new(&module);
    // ptxas compiles the module once for all kernels.
    let usages = LazyCell::new(|| assemble(options, arch, text));
    for kernel in denying {
        // Functions that only report a panic do not run unless the kernel fails.
        let enter = |function: &Function<'_>| !function.never_returns();
        let entries = survey.entries(&kernel.symbol);
        let reached: Vec<&Function<'_>> = (entries.iter())
            .flat_map(|entry| survey.reached(entry, enter))
            .collect();
        for cost in &kernel.costs {
            match cost.as_str() {
                "checks_in_loops" => {
                    let places = checks_in_loops(&module, &survey, &reached);
                    let help = "cut slices to a common length before the loop, or iterate over \
                                them; the guide's page on speed has examples";
                    report(tcx, kernel, "checks in its loops", places, help);
                }
                "local_memory" => {
                    let places = local_accesses(&survey, &reached);
                    let help = "index small arrays by constants, or by loops whose number of \
                                iterations is a constant";
                    report(tcx, kernel, "arrays in local memory", places, help);
                }
                _ => (entries.iter()).for_each(|entry| spills(tcx, kernel, entry.name, &usages)),
            }
        }
    }
}

fn checks_in_loops<'a>(
    module: &Module<'a>,
    survey: &Survey<'_, 'a>,
    reached: &[&Function<'a>],
) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    for function in reached {
        for check in ptx::loop_checks(module, function).into_iter().flatten() {
            for panic in &check.panics {
                let recorded = survey.recorded(panic);
                let place = recorded.or_else(|| {
                    let locations = survey.locations(function, panic.loc.as_ref()?);
                    locations.first().cloned()
                });
                places.insert(place.map_or_else(|| in_function(function), |it| show(&it)));
            }
        }
    }
    places
}

fn local_accesses(survey: &Survey<'_, '_>, reached: &[&Function<'_>]) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    for function in reached {
        for access in survey.local_accesses(function) {
            let place = access.locations.first();
            places.insert(place.map_or_else(|| in_function(function), show));
        }
    }
    places
}

fn show(location: &Location) -> String {
    let Location { file, line, column } = location;
    match column {
        0 => format!("{file}:{line}"),
        _ => format!("{file}:{line}:{column}"),
    }
}

fn in_function(function: &Function<'_>) -> String {
    let name = function.name;
    format!(
        "in `{}`",
        ptx::stack::demangle(ptx::kernel_of_entry(name).map_or(name, |(kernel, _)| kernel))
    )
}

/// Reports a cost that arises in several places.
fn report(tcx: TyCtxt<'_>, kernel: &Denying, what: &str, places: BTreeSet<String>, help: &str) {
    const SHOWN: usize = 10;
    if places.is_empty() {
        return;
    }
    let message = format!("the kernel has {what}, which its attribute denies");
    let span = diagnostics::ident_span(tcx, kernel.def_id);
    let mut diag = tcx.dcx().struct_span_err(span, message);
    for place in places.iter().take(SHOWN) {
        diag.note(place.clone());
    }
    if places.len() > SHOWN {
        diag.note(format!("… and {} further places", places.len() - SHOWN));
    }
    diag.help(help.to_owned());
    diag.emit();
}

/// Returns ptxas's report on the functions of the module.
fn assemble(
    options: &Options,
    arch: nvvm::Arch,
    text: &str,
) -> Result<BTreeMap<String, Usage>, String> {
    let ptxas = find_toolkit(options).ptxas.ok_or("ptxas was not found")?;
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let input = directory.path().join("module.ptx");
    std::fs::write(&input, text).map_err(|error| error.to_string())?;
    let (linked, cubin) = (ptx::is_to_be_linked(text), directory.path().join("cubin"));
    usage::assemble(&ptxas.path, arch, &input, linked, &cubin).map_err(|error| error.to_string())
}

/// Reports a kernel whose registers are spilled.
fn spills(
    tcx: TyCtxt<'_>,
    kernel: &Denying,
    entry: &str,
    usages: &Result<BTreeMap<String, Usage>, String>,
) {
    let span = diagnostics::ident_span(tcx, kernel.def_id);
    let found = usages.as_ref().map_err(String::clone).and_then(|usages| {
        let usage = usages.get(entry);
        usage.ok_or_else(|| format!("ptxas did not report on `{entry}`"))
    });
    match found {
        Ok(usage) if usage.spill_stores + usage.spill_loads == 0 => {}
        Ok(usage) => {
            let mut note = format!(
                "ptxas stores {} and loads {} bytes of registers per thread",
                usage.spill_stores, usage.spill_loads
            );
            if let Some(registers) = usage.registers {
                let _ = write!(note, "; the kernel has {registers} registers");
            }
            let message = "the kernel has spilled registers, which its attribute denies";
            let mut diag = tcx.dcx().struct_span_err(span, message);
            diag.note(note);
            diag.help(
                "relax `launch_bounds`, `min_blocks` or `max_registers`, or reduce the number of \
                 live values",
            );
            diag.emit();
        }
        Err(error) => {
            let message = "cannot determine whether the kernel spills registers";
            let mut diag = tcx.dcx().struct_span_err(span, message);
            diag.note(error);
            diag.emit();
        }
    }
}
