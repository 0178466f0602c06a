//! Runs the standard library's own tests as device code: `./x conformance`.
//!
//! `sources` lays the suites out for the compiler, `parts` says how they are divided, `compile`
//! makes PTX of a part, `pack` takes it elsewhere; `pool` and `worker` run its tests, `listed` knows those that cannot apply,
//! and `results` judges, keeps and shows what came out.

mod compile;
mod listed;
mod pack;
mod parts;
mod pool;
mod results;
mod sources;
mod worker;

use anyhow::{Context, Result, bail};
use compile::{Compiler, Level};
use listed::Listed;
use results::{Judged, Results, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

const USAGE: &str = "\
Usage: ./x conformance [OPTIONS] [PART ...]

Runs the tests of the parts or suites given, or all: coretests and alloctests of the pinned
toolchain, compiled for the device.

  --level O0|O3    this optimization level alone
  --filter TEXT    tests whose name contains TEXT
  --gpu            on the GPU; otherwise on the emulator
  --jobs N         so many tests at once, of each level; 1
  --timeout S      seconds that a test may take; 900
  --build-only     compile, and say where the PTX is
  --pack DIR       compile, and put this program, the PTX and a script that runs them into that
                   directory, for a machine with GPUs and no Rust
  --prebuilt DIR   run the PTX (or cubins) of that directory; nothing is compiled
  --write          keep the results as data, and make docs/conformance.md of them
  --save DIR       keep the results of the parts that ran in that directory
  --collect DIR    run nothing: keep what was saved there as --write does
  --flag FLAG      a further flag for the compiler
  --verbose        say each test and its time
";

/// The command line's options.
struct Arguments {
    levels: Vec<Level>,
    names: Vec<String>,
    options: pool::Options,
    build_only: bool,
    pack: Option<PathBuf>,
    prebuilt: Option<PathBuf>,
    write: bool,
    save: Option<PathBuf>,
    collect: Option<PathBuf>,
    flags: Vec<String>,
    verbose: bool,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let result = match (arguments.next(), arguments.next()) {
        (Some(first), Some(ptx)) if first == "--worker" => {
            worker::work(Path::new(&ptx)).map(|()| true)
        }
        _ => Arguments::parse().and_then(|arguments| match arguments {
            Some(arguments) => arguments.run(),
            None => Ok(true),
        }),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    fn parse() -> Result<Option<Arguments>> {
        use lexopt::prelude::*;
        let mut arguments = Arguments {
            levels: Level::ALL.to_vec(),
            names: Vec::new(),
            options: pool::Options {
                jobs: 1,
                timeout: Duration::from_secs(900),
                listed: BTreeSet::new(),
                filter: String::new(),
                device: "emulator",
            },
            build_only: false,
            pack: None,
            prebuilt: None,
            write: false,
            save: None,
            collect: None,
            flags: Vec::new(),
            verbose: false,
        };
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Long("level") => {
                    let name = parser.value()?.string()?;
                    let level = Level::parse(&name);
                    arguments.levels =
                        vec![level.with_context(|| format!("there is no level `{name}`"))?];
                }
                Long("filter") => arguments.options.filter = parser.value()?.string()?,
                Long("gpu") => arguments.options.device = "gpu",
                Long("jobs") => arguments.options.jobs = parser.value()?.parse()?,
                Long("timeout") => {
                    arguments.options.timeout = Duration::from_secs(parser.value()?.parse()?);
                }
                Long("build-only") => arguments.build_only = true,
                Long("pack") => {
                    arguments.build_only = true;
                    arguments.pack = Some(parser.value()?.into());
                }
                Long("prebuilt") => arguments.prebuilt = Some(parser.value()?.into()),
                Long("write") => arguments.write = true,
                Long("save") => arguments.save = Some(parser.value()?.into()),
                Long("collect") => arguments.collect = Some(parser.value()?.into()),
                Long("flag") => arguments.flags.push(parser.value()?.string()?),
                Long("verbose") => arguments.verbose = true,
                Long("help") | Short('h') => {
                    print!("{USAGE}");
                    return Ok(None);
                }
                Value(name) => arguments.names.push(name.string()?),
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(Some(arguments))
    }

    /// All that was asked for; whether it is green.
    fn run(&self) -> Result<bool> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let listed = Listed::parse(include_str!("../not-applicable.txt"))?;
        if let Some(directory) = &self.collect {
            collect(directory, here)?;
            write_page(here, &listed)?;
            return Ok(true);
        }
        if let Some(directory) = &self.pack {
            pack::begin(directory)?;
        }
        let whole = self.names.is_empty() && self.options.filter.is_empty() && !self.build_only;
        if self.write && !whole {
            bail!("only the results of a whole run can be kept");
        }
        let compiler = match &self.prebuilt {
            Some(_) => None,
            None => Some(self.compiler(&listed)?),
        };
        // The levels at once: each is compiled by one thread most of the time.
        let run_level = |level: Level| {
            let mut green = true;
            let results = self.run_level(level, compiler.as_ref(), &listed, &mut green)?;
            anyhow::Ok((level, results, green))
        };
        let run_level = &run_level;
        let ran: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (self.levels.iter())
                .map(|&level| scope.spawn(move || run_level(level)))
                .collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        let mut green = true;
        for ran in ran {
            let Ok(ran) = ran else {
                bail!("a thread that ran a level panicked");
            };
            let (level, results, level_green) = ran?;
            green &= level_green;
            if whole {
                green &= check_list(&results, level, &listed);
            }
            let name = format!("{}-{}", self.options.device, level.name());
            if self.write {
                keep(&here.join("results"), &name, &results)?;
            }
            if let Some(directory) = &self.save {
                let part = self.names.first().map_or("all", String::as_str);
                keep(directory, &format!("{name}-{part}"), &results)?;
            }
        }
        if self.write {
            write_page(here, &listed)?;
        }
        Ok(green)
    }

    fn compiler(&self, listed: &Listed) -> Result<Compiler> {
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(directory) => PathBuf::from(directory),
            None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        };
        let target = std::path::absolute(target.join("conformance"))?;
        std::fs::create_dir_all(&target)?;
        let output = Command::new("rustc").arg("--print=sysroot").output()?;
        let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let library = sysroot.join("lib/rustlib/src/rust/library");
        let backend = std::env::var_os("RUSTC_CODEGEN_NVVM")
            .context("RUSTC_CODEGEN_NVVM has to name the backend; ./x conformance does that")?;
        Ok(Compiler {
            manifest: sources::lay_out(&target.join("package"), &library, &listed.cuts)?,
            backend: backend.into(),
            target,
            sysroot,
            arch: cuda_builder::CudaBuilder::DEFAULT_ARCH,
            flags: self.flags.clone(),
        })
    }

    /// Compiles and runs the parts at a level.
    fn run_level(
        &self,
        level: Level,
        compiler: Option<&Compiler>,
        listed: &Listed,
        green: &mut bool,
    ) -> Result<Results> {
        let start = Instant::now();
        let mut results = Results::default();
        let mut device = String::new();
        let mut of_all = Tally::default();
        for part in parts::select(&self.names)? {
            let name = format!("{}-{}", part.name, level.name());
            let before = Instant::now();
            let ptx = match (compiler, &self.prebuilt) {
                (Some(compiler), _) => compiler.compile(part, level),
                (None, Some(directory)) => Ok(directory.join(format!("{name}.ptx"))),
                (None, None) => bail!("nothing to run"),
            };
            let ptx = match ptx {
                Ok(ptx) => ptx,
                Err(error) => {
                    println!("{name}: {error:#}");
                    *green = false;
                    continue;
                }
            };
            let compiled = before.elapsed().as_secs_f64();
            if self.build_only {
                let place = match &self.pack {
                    Some(directory) => pack::add(directory, &ptx)?,
                    None => ptx,
                };
                println!("{name}: {} ({compiled:.0} s)", place.display());
                continue;
            }
            let before = Instant::now();
            let progress = |ran: &pool::Ran| {
                let judged = results::judge(part.suite, level, ran, listed);
                if self.verbose || !judged.verdict.is_green() {
                    say(part.suite, ran, &judged);
                }
            };
            let mut options = self.options.clone();
            options.listed = listed
                .at(level)
                .filter(|(suite, _)| *suite == part.suite)
                .map(|(_, test)| test.to_owned())
                .collect();
            let ran = match pool::run(&ptx, &options, &progress) {
                Ok(ran) => ran,
                Err(error) => {
                    println!("{name}: {error:#}");
                    *green = false;
                    continue;
                }
            };
            device = ran.device;
            let mut tally = Tally::default();
            for ran in &ran.tests {
                let is_selected = ran.end.is_some() || ran.test.ignored.is_some();
                if ran.test.is_benchmark || !is_selected {
                    continue;
                }
                let judged = results::judge(part.suite, level, ran, listed);
                *green &= judged.verdict.is_green();
                tally.add(judged.verdict);
                results.add(part.suite, &ran.test.name, &judged);
            }
            println!(
                "{name}: {tally} (compiled in {compiled:.0} s, run in {:.0} s)",
                before.elapsed().as_secs_f64()
            );
            of_all.merge(tally);
        }
        let seconds = start.elapsed().as_secs();
        println!("{}: {of_all} in {seconds} s", level.name());
        // As libtest says it, for those who add up.
        let [passed, failed, not_applicable, listed] = of_all.0;
        println!(
            "test result: {}. {passed} passed; {} failed; {not_applicable} ignored",
            if failed + listed == 0 { "ok" } else { "FAILED" },
            failed + listed
        );
        results.about = vec![
            ("toolchain".to_owned(), cuda_builder::TOOLCHAIN.to_owned()),
            ("device".to_owned(), device),
            ("time".to_owned(), format!("{seconds} s")),
        ];
        Ok(results)
    }
}

/// Keeps results as a file of a directory.
fn keep(directory: &Path, name: &str, results: &Results) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    let path = directory.join(format!("{name}.tsv"));
    std::fs::write(&path, results.to_text())
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// Puts results that were saved part by part together, for each device and level.
fn collect(directory: &Path, here: &Path) -> Result<()> {
    let mut whole: BTreeMap<String, Results> = BTreeMap::new();
    for (name, results) in results::read_all(directory)? {
        let mut parts = name.split(", ");
        let (device, level) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        whole
            .entry(format!("{device}-{level}"))
            .or_default()
            .merge(results);
    }
    if whole.is_empty() {
        bail!("nothing was saved in {}", directory.display());
    }
    for (name, results) in whole {
        keep(&here.join("results"), &name, &results)?;
    }
    Ok(())
}

/// Makes `docs/conformance.md` of all results that are kept.
fn write_page(here: &Path, listed: &Listed) -> Result<()> {
    let all = results::read_all(&here.join("results"))?;
    let page = results::page(&all, listed);
    Ok(std::fs::write(
        here.join("../../docs/conformance.md"),
        page,
    )?)
}

/// Says how a test ended.
fn say(suite: &str, ran: &pool::Ran, judged: &Judged) {
    println!(
        "{suite} {} ... {} {} ({} ms)",
        ran.test.name,
        judged.verdict.name(),
        judged.why.trim_end(),
        ran.time
    );
}

/// Whether all tests that are listed exist.
fn check_list(results: &Results, level: Level, listed: &Listed) -> bool {
    let known: BTreeSet<(&str, &str)> = results
        .tests
        .keys()
        .map(|(suite, test)| (&suite[..], &test[..]))
        .collect();
    let mut green = true;
    for (suite, test) in listed.at(level).filter(|key| !known.contains(key)) {
        println!("{suite} {test} is listed, but there is no such test");
        green = false;
    }
    green
}

/// How many tests got which verdict.
#[derive(Clone, Copy, Debug, Default)]
struct Tally([usize; 4]);

impl Tally {
    fn add(&mut self, verdict: Verdict) {
        self.0[verdict as usize] += 1;
    }

    fn merge(&mut self, other: Tally) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [passed, failed, not_applicable, listed] = self.0;
        write!(
            to,
            "{passed} passed, {failed} failed, {not_applicable} do not apply"
        )?;
        if listed > 0 {
            write!(to, ", {listed} are listed but pass")?;
        }
        Ok(())
    }
}
