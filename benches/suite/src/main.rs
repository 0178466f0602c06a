//! Times the benchmarks' kernels in safe Rust, raw Rust and CUDA C++ on one GPU in one process, and
//! prints one table. `benches/README.md` explains it.

mod case;
mod cases;
mod cub;
mod measure;
mod page;
mod report;

use cases::Scale;
use cust::prelude::*;
use measure::{Bench, Limits};
use report::{Row, Setting};
use std::error::Error;
use std::path::{Path, PathBuf};

const HELP: &str = "\
Times each benchmark's kernels in safe Rust, raw Rust and CUDA C++, and compares their results with
the CPU's.

usage: bench-suite [OPTIONS]

  --filter NAME   only the benchmarks whose name contains NAME, or one of several: the option may be
                  repeated
  --kernels DIR   the directory of the modules that `./x bench` makes; by default `kernels` beside
                  this program. Without it there are no kernels of nvcc.
  --out FILE      writes the results as JSON
  --page FILE     writes no times but a page and a plot of FILE, which `--out` wrote, beside it
  --rounds N      times each kernel N times (20)
  --small         checks the results of small sizes and times nothing, as is done on the emulator";

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = pico_args::Arguments::from_env();
    if args.contains(["-h", "--help"]) {
        println!("{HELP}");
        return Ok(());
    }
    let filters: Vec<String> = args.values_from_str("--filter")?;
    let out: Option<PathBuf> = args.opt_value_from_str("--out")?;
    let rounds = args.opt_value_from_str("--rounds")?.unwrap_or(20);
    let kernels: Option<PathBuf> = args.opt_value_from_str("--kernels")?;
    let page: Option<PathBuf> = args.opt_value_from_str("--page")?;
    let small = args.contains("--small");
    if let Some(unknown) = args.finish().first() {
        return Err(format!("unknown argument {unknown:?}\n\n{HELP}").into());
    }
    if let Some(file) = page {
        return page::write(&file);
    }
    let chosen = cust::init_auto()?;
    println!("running on {chosen}");
    let device = chosen.name().to_owned();
    let context = chosen.into_context();
    let kernels = kernels.or_else(beside_this_program);
    let multiprocessors = (context.device())
        .get_attribute(DeviceAttribute::MultiprocessorCount)?
        .max(1) as usize;
    let scale = Scale {
        small: small || context.backend() != Backend::Gpu,
        multiprocessors,
    };
    let bench = Bench::new(context, kernels.as_deref(), rounds)?;
    let is_wanted = |name: &str| filters.is_empty() || filters.iter().any(|it| name.contains(it));
    let wanted = cases::ALL.iter().filter(|(name, _)| is_wanted(name));
    if scale.small {
        for (name, make) in wanted {
            bench.check(&make(scale)?)?;
            println!("{name}: right");
        }
        return Ok(());
    }

    let limits = Limits::measure(&bench, multiprocessors)?;
    println!(
        "copy {:.0} GB/s, f32 {:.1} TFLOP/s, f64 {:.1} TFLOP/s\n\n{}",
        limits.bytes / 1e9,
        limits.f32_operations / 1e12,
        limits.f64_operations / 1e12,
        report::head()
    );
    let mut rows = Vec::new();
    let mut failures = 0;
    for (name, make) in wanted {
        let case = make(scale)?;
        if let Err(error) = bench.check(&case) {
            println!("{error}");
            failures += 1;
            continue;
        }
        let mut attributes = [None; 3];
        for form in case::Form::ALL {
            attributes[form as usize] = bench.attributes(form, name)?;
        }
        let row = Row {
            name: (*name).to_owned(),
            times: bench.time(&case)?,
            attributes,
            least: limits.least(&case),
            cub: bench.time_cub(&case)?,
        };
        println!("{}", report::line(&row));
        rows.push(row);
    }
    println!();
    for form in [case::Form::Raw, case::Form::Safe] {
        if let Some((mean, worst, name)) = report::mean_and_worst(&rows, form) {
            let form = form.name();
            println!("{form}: geometric mean {mean:.3}, worst {worst:.3} ({name})");
        }
    }
    if let Some(out) = out {
        let (major, minor) = bench.context.driver_version()?;
        let setting = Setting {
            device,
            driver: format!("{major}.{minor}"),
            date: today(),
            build: build_of(kernels.as_deref())?,
        };
        let json = report::to_json(&setting, &limits, &rows);
        std::fs::write(&out, format!("{json:#}\n"))?;
    }
    match failures {
        0 => Ok(()),
        n => Err(format!("{n} benchmarks have wrong results").into()),
    }
}

/// Returns the directory `kernels` next to this program, if it exists.
fn beside_this_program() -> Option<PathBuf> {
    let directory = std::env::current_exe().ok()?.with_file_name("kernels");
    directory.is_dir().then_some(directory)
}

/// Returns the versions and flags of the compilers, which `./x bench` wrote.
fn build_of(kernels: Option<&Path>) -> Result<serde_json::Value, Box<dyn Error>> {
    let Some(file) = kernels.map(|kernels| kernels.join("build.json")) else {
        return Ok(serde_json::Value::Null);
    };
    if !file.exists() {
        return Ok(serde_json::Value::Null);
    }
    Ok(serde_json::from_str(&std::fs::read_to_string(file)?)?)
}

/// Returns the date in UTC.
fn today() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut days = now.map_or(0, |now| now.as_secs() / 86400);
    let mut year = 1970;
    let leap = |year: u64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}
