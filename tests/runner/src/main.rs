//! Runs the programs of a directory created by `./x bundle`: each test program and example on the
//! GPU and on the emulator. It prints failures and disagreements between the devices, and ends with
//! `N passed, N failed, N skipped`.
//!
//! - A fault costs one test: after a kernel's fault has lost the context, the tests without a
//!   result of their own run again in new processes (see `suite`).
//! - A test fails if its process prints nothing for [`Settings::patience`]; a program that does not
//!   exit after its results is a separate failure.
//! - The GPU runs one program at a time; the emulator's programs share the remaining CPU cores.
//!
//! `CUST_DEVICE=gpu` or `CUST_DEVICE=emulator` excludes the other device. `OUT` is the directory
//! for logs (`./out` by default); `LIMIT` is the number of seconds after which every program that
//! has not run fails.

mod process;
mod report;
mod suite;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The devices that run kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Device {
    Gpu,
    Emulator,
}

impl Device {
    /// The value of `CUST_DEVICE`.
    fn name(self) -> &'static str {
        match self {
            Device::Gpu => "gpu",
            Device::Emulator => "emulator",
        }
    }
}

/// A program of the bundle.
#[derive(Debug, Clone)]
struct Program {
    name: String,
    path: PathBuf,
    /// The names of its tests; none for an example.
    tests: Option<Vec<String>>,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Passed,
    Failed,
    Skipped,
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome {
    status: Status,
    /// Why it failed or was skipped.
    text: String,
    /// Its observations: keys and values.
    values: Vec<(String, String)>,
}

impl Outcome {
    fn failed(text: impl Into<String>) -> Outcome {
        Outcome {
            status: Status::Failed,
            text: text.into(),
            values: Vec::new(),
        }
    }
}

/// All tests' outcomes, by device, program and test.
type Outcomes = BTreeMap<(String, String), BTreeMap<Device, Outcome>>;

/// The state that all runs share.
struct Settings {
    /// Where logs go.
    out: PathBuf,
    /// When the whole run has to be over.
    deadline: Option<Instant>,
    /// How long a program may be silent. The driver compiles the largest modules for a minute.
    patience: Duration,
    /// How long a program may take to exit after its results.
    after_results: Duration,
}

impl Settings {
    fn time_is_over(&self) -> bool {
        self.deadline.is_some_and(|end| Instant::now() >= end)
    }
}

/// A part of a program's tests on a device.
struct Job<'a> {
    device: Device,
    program: &'a Program,
    /// Which of its tests, and a number for the names of logs.
    part: Option<(usize, Vec<String>)>,
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let here = here.parent().unwrap_or(Path::new("."));
    let out = std::env::var_os("OUT").map_or("out".into(), PathBuf::from);
    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let out = std::path::absolute(&out).map_err(|error| error.to_string())?;
    let limit = match std::env::var("LIMIT") {
        Ok(text) => Some(
            text.parse()
                .map_err(|_| format!("LIMIT is `{text}`, not a number of seconds"))?,
        ),
        Err(_) => None,
    };
    let settings = Settings {
        out,
        deadline: limit.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        patience: Duration::from_secs(180),
        after_results: Duration::from_secs(20),
    };
    let devices = match std::env::var("CUST_DEVICE").as_deref() {
        Err(_) => vec![Device::Gpu, Device::Emulator],
        Ok("gpu") => vec![Device::Gpu],
        Ok("emulator") => vec![Device::Emulator],
        Ok(other) => return Err(format!("CUST_DEVICE is `{other}`, not `gpu` or `emulator`")),
    };
    let programs = programs(here, &settings)?;
    let outcomes = run_all(&settings, &devices, &programs, here);
    let summary = report::Summary::new(&outcomes, &devices);
    let text = summary.to_string();
    println!("{text}");
    let write = |name: &str, text: &str| {
        let path = settings.out.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write("summary.txt", &format!("{text}\n"))?;
    write("outcomes.tsv", &report::table(&outcomes))?;
    Ok(if summary.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The programs in the directories `tests` and `examples`.
fn programs(here: &Path, settings: &Settings) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for directory in ["tests", "examples"] {
        let directory_path = here.join(directory);
        let entries = match std::fs::read_dir(&directory_path) {
            Ok(entries) => entries,
            // Only one part of a bundle is here.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("{}: {error}", directory_path.display())),
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let stem = path.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{directory}-{stem}");
            let tests = match directory {
                "tests" => Some(suite::list(&path, &settings.out.join(&name))?),
                _ => None,
            };
            programs.push(Program { name, path, tests });
        }
    }
    Ok(programs)
}

/// Splits the tests for the emulator, most of whose programs run one test at a time.
fn parts(tests: &[String]) -> Vec<Vec<String>> {
    const EACH: usize = 24;
    let count = tests.len().div_ceil(EACH).clamp(1, 16);
    // Neighbors have similar names and take similar time.
    let mut parts = vec![Vec::new(); count];
    for (place, test) in tests.iter().enumerate() {
        parts[place % count].push(test.clone());
    }
    parts
}

fn run_all(settings: &Settings, devices: &[Device], programs: &[Program], here: &Path) -> Outcomes {
    let (mut gpu, mut emulator) = (Vec::new(), Vec::new());
    for program in programs {
        if devices.contains(&Device::Gpu) {
            gpu.push(Job {
                device: Device::Gpu,
                program,
                part: program.tests.clone().map(|tests| (0, tests)),
            });
        }
        if devices.contains(&Device::Emulator) {
            let split: Vec<_> = match &program.tests {
                Some(tests) => parts(tests).into_iter().enumerate().map(Some).collect(),
                None => vec![None],
            };
            emulator.extend(split.into_iter().map(|part| Job {
                device: Device::Emulator,
                program,
                part,
            }));
        }
    }
    // The programs of many parts take longest.
    emulator.sort_by_key(|job| {
        let tests = job.program.tests.as_ref().map_or(0, Vec::len);
        std::cmp::Reverse(tests)
    });
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let workers = cores.saturating_sub(gpu.len().min(2)).max(1);
    let outcomes = Mutex::new(Outcomes::new());
    let (gpu, emulator) = (
        Mutex::new(gpu.into_iter()),
        Mutex::new(emulator.into_iter()),
    );
    let work = |jobs: &Mutex<std::vec::IntoIter<Job<'_>>>| {
        loop {
            let Some(job) = lock(jobs).next() else { return };
            let start = Instant::now();
            let found = suite::run(settings, &job, here);
            let count = |status| found.values().filter(|one| one.status == status).count();
            println!(
                "{} {}{}: {} passed, {} failed, {} skipped, {:.1} s",
                job.device.name(),
                job.program.name,
                match &job.part {
                    Some((number, _)) if *number > 0 => format!(" ({number})"),
                    _ => String::new(),
                },
                count(Status::Passed),
                count(Status::Failed),
                count(Status::Skipped),
                start.elapsed().as_secs_f32(),
            );
            let mut outcomes = lock(&outcomes);
            for (test, outcome) in found {
                let of_test = outcomes
                    .entry((job.program.name.clone(), test))
                    .or_default();
                of_test.insert(job.device, outcome);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| work(&gpu));
        for _ in 0..workers {
            scope.spawn(|| work(&emulator));
        }
    });
    outcomes
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
