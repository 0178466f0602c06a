//! Random programs: `fuzz --seed N --count M` generates the programs of the seeds from N on,
//! compiles them for the CPU and for the device at two optimization levels, runs them, and compares
//! all results. A seed determines its program. A program whose results differ is shrunk and
//! printed.
//!
//! `random` is the source of random choices; `types`, `expr`, `stmt`, `memory`, `iterators` and
//! `program` generate a program as a tree of `node`s; `batch` compiles and runs many in one crate;
//! `shrink` makes one smaller.

mod batch;
mod expr;
mod iterators;
mod memory;
mod node;
mod program;
mod random;
mod shrink;
mod stmt;
mod types;

use anyhow::{Result, bail};
use batch::{Builder, Level};
use program::Program;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const HELP: &str = "\
Usage: fuzz [--seed N] [--count M] [--batch B] [--level L] [--limit S] [--packed]
            [--no-shrink] [--print] [--save DIR] [--replay DIR]

  --seed N      the first program's seed (1)
  --count M     how many programs (100)
  --batch B     how many are compiled at once (100)
  --level L     O0 or O3 alone; without it both
  --limit S     how many seconds the compiler has for a batch (600)
  --packed      programs all of whose structs are packed; others than without it
  --no-shrink   report differences without making the programs smaller
  --print       print the programs instead of running them
  --save DIR    keep the device code and the results, to run them elsewhere
  --replay DIR  run what was kept; this needs no Rust. Cubins beside the PTX are taken instead
";

struct Options {
    seed: u64,
    count: u64,
    batch: u64,
    levels: Vec<Level>,
    limit: Duration,
    packed: bool,
    shrink: bool,
    print: bool,
    save: Option<PathBuf>,
    replay: Option<PathBuf>,
    /// Only what a batch's compiler does: see [`batch::compile`].
    compile: Option<(Level, PathBuf)>,
}

fn options() -> Result<Option<Options>> {
    use lexopt::prelude::*;
    let mut options = Options {
        seed: 1,
        count: 100,
        batch: 100,
        levels: Level::ALL.to_vec(),
        limit: Duration::from_secs(600),
        packed: false,
        shrink: true,
        print: false,
        save: None,
        replay: None,
        compile: None,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("count") => options.count = parser.value()?.parse()?,
            Long("batch") => options.batch = parser.value()?.parse::<u64>()?.max(1),
            Long("level") => options.levels = vec![Level::of(&parser.value()?.string()?)?],
            Long("limit") => options.limit = Duration::from_secs(parser.value()?.parse()?),
            Long("packed") => options.packed = true,
            Long("no-shrink") => options.shrink = false,
            Long("print") => options.print = true,
            Long("save") => options.save = Some(parser.value()?.into()),
            Long("replay") => options.replay = Some(parser.value()?.into()),
            Long("compile") => {
                let level = Level::of(&parser.value()?.string()?)?;
                options.compile = Some((level, parser.value()?.into()));
            }
            Long("help") | Short('h') => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some(options))
}

fn main() -> ExitCode {
    let result = match options() {
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Ok(Some(options)) => match (&options.replay, &options.compile) {
            (Some(directory), _) => replay(directory),
            (None, Some((level, krate))) => batch::compile(krate, *level).map(|()| 0),
            (None, None) => fuzz(&options),
        },
        Err(error) => Err(error),
    };
    match result {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the programs; returns how many differ.
fn fuzz(options: &Options) -> Result<usize> {
    let end = options.seed + options.count;
    let program = |seed| Program::random(seed, options.packed);
    if options.print {
        for seed in options.seed..end {
            println!("// Seed {seed}\n{}", program(seed).text());
        }
        return Ok(0);
    }
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(target, PathBuf::from);
    let builder = Builder::new(&target.join("fuzz"), options.limit)?;
    let started = Instant::now();
    let mut differing = 0;
    let mut first = options.seed;
    while first < end {
        let last = end.min(first + options.batch);
        let programs: Vec<Program> = (first..last).map(program).collect();
        let save = (options.save.as_ref()).map(|directory| directory.join(format!("{first}")));
        let differences = builder.differences(&programs, &options.levels, save.as_deref())?;
        if !differences.is_empty() {
            builder.check_host(&programs)?;
        }
        let mut reported = None;
        for (i, difference) in differences {
            // Once for both levels.
            if reported.replace(i) == Some(i) {
                continue;
            }
            differing += 1;
            let program = &programs[i];
            println!(
                "seed {} at {}: {}",
                program.seed,
                difference.level.name(),
                difference.what
            );
            if options.shrink {
                let (small, how) = shrink::shrink(&builder, program, &difference)?;
                println!("{}\n// {}: {}", small.text(), how.level.name(), how.what);
            }
        }
        let times = builder.times.get();
        println!(
            "seeds {}..{last}: {differing} differ ({:.0} s: host {:.0}, compiler {:.0}, device {:.0})",
            options.seed,
            started.elapsed().as_secs_f64(),
            times.host,
            times.device,
            times.run,
        );
        first = last;
    }
    println!("{} programs, {differing} differ", options.count);
    Ok(differing)
}

/// Runs the programs kept in a directory; returns the number of differences.
fn replay(directory: &Path) -> Result<usize> {
    let (mut programs, mut differing) = (0, 0);
    for entry in std::fs::read_dir(directory)? {
        let (count, differences) = batch::replay(&entry?.path())?;
        programs += count;
        differing += differences.len();
        for (seed, difference) in differences {
            println!(
                "seed {seed} at {}: {}",
                difference.level.name(),
                difference.what
            );
        }
    }
    if programs == 0 {
        bail!("there are no programs in {}", directory.display());
    }
    println!("{programs} programs, {differing} differ");
    Ok(differing)
}
