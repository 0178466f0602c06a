//! `./x test`: runs all tests, and prints the number of passed, failed and skipped tests.
//!
//! One run of cargo compiles the workspace with the pinned toolchain. Then the following run
//! concurrently, one per core:
//!
//! 1. the workspace's test programs and the documentation's examples;
//! 2. the device tests again on the emulator as sm_100, the samples as sm_120, too;
//! 3. a part of the tests of published crates and of the standard library's own tests;
//! 4. the backend's own tests, in the directory and profile of its build;
//! 5. ptxas, which must accept the PTX of the examples and device tests for the oldest and the
//!    newest architecture;
//! 6. stable Rust, if it is installed (always in CI): it checks the host packages for other
//!    platforms, and builds the README's program for this one.

use crate::bundle::{Built, Program};
use crate::{backend, bundle, toolkit, workspace};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use test_outcome::Line;

/// The parts of `./x conformance` that are quick enough for every run.
const CONFORMANCE: [&str; 2] = ["core_basics", "core_mem"];

/// The number of tests that passed, failed and were skipped.
#[derive(Debug, Default, PartialEq, Eq)]
struct Total {
    passed: u64,
    failed: u64,
    skipped: u64,
    /// The output of each command about failed tests.
    failures: Vec<String>,
}

/// The tests to run.
struct Selection {
    package: Option<String>,
    /// Arguments of the test programs: a filter and flags.
    arguments: Vec<OsString>,
}

/// Runs the command.
pub fn test(mut parser: lexopt::Parser) -> Result<ExitCode> {
    let selection = Selection::parse(&mut parser)?;
    let mut total = Total::default();
    let outcomes = Outcomes::new()?;
    let tested = selection.run(&mut total, &outcomes);
    if tested.is_err() {
        // A build or a program that cannot be started counts as a failure.
        total.failed += 1;
    }
    if let Err(error) = tested {
        eprintln!("error: {error:#}");
    }
    outcomes.take(&mut total)?;
    // Repeated at the end, where readers of a long log look.
    if !total.failures.is_empty() {
        heading("Failed");
    }
    for failure in &total.failures {
        println!("{failure}");
    }
    println!(
        "\n{} passed, {} failed, {} skipped",
        total.passed, total.failed, total.skipped
    );
    Ok(if total.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Selection {
    fn parse(parser: &mut lexopt::Parser) -> Result<Selection> {
        use lexopt::prelude::*;
        let mut selection = Selection {
            package: None,
            arguments: Vec::new(),
        };
        while let Some(argument) = parser.next()? {
            match argument {
                Value(value) => {
                    let name = value.to_str().unwrap_or_default();
                    if selection.package.is_none()
                        && selection.arguments.is_empty()
                        && (name == SINGLE_SOURCE || is_package(name))
                    {
                        selection.package = Some(name.to_owned());
                    } else {
                        selection.arguments.push(value);
                        selection.arguments.extend(crate::remaining(parser)?);
                    }
                }
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(selection)
    }

    fn run(&self, total: &mut Total, outcomes: &Outcomes) -> Result<()> {
        if self.package.is_none() && self.arguments.is_empty() {
            return run_all(total, outcomes);
        }
        if self.package.as_deref() == Some(SINGLE_SOURCE) {
            heading("Kernels beside host code");
            for command in single_source_tests()? {
                self.count(command, total, outcomes)?;
            }
            return Ok(());
        }
        if self.package.as_deref() != Some(BACKEND) {
            heading("The workspace");
            let mut command = cargo_test()?;
            match &self.package {
                Some(package) => command.arg("--package").arg(package),
                None => command.args(WORKSPACE),
            };
            self.count(command, total, outcomes)?;
        }
        // Separately, see `run_all`.
        if self.package.is_none() {
            heading("Published crates, a part");
            self.count(crate_tests()?, total, outcomes)?;
        }
        if self.package.as_deref().is_none_or(|name| name == BACKEND) {
            heading("The backend");
            self.count(backend_tests()?, total, outcomes)?;
        }
        Ok(())
    }

    /// Runs `cargo test`, forwards its output and adds up its results.
    fn count(&self, mut command: Command, total: &mut Total, outcomes: &Outcomes) -> Result<()> {
        command.arg("--").args(&self.arguments);
        command.env(test_outcome::VARIABLE, outcomes.next());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cargo cannot be started")?;
        let stdout = child
            .stdout
            .take()
            .context("cargo's output cannot be read")?;
        let mut output = String::new();
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line?;
            let mut out = std::io::stdout().lock();
            out.write_all(&line)?;
            out.write_all(b"\n")?;
            output += &String::from_utf8_lossy(&line);
            output.push('\n');
        }
        total.add_output("cargo test", child.wait()?, &output);
        Ok(())
    }
}

const BACKEND: &str = "rustc_codegen_nvvm";
const CRATE_TESTS: &str = "crate-tests";
/// Not a package: tests of other packages, in a single-source session.
const SINGLE_SOURCE: &str = "single-source-tests";
/// The arguments that select the packages of the workspace's run.
pub(crate) const WORKSPACE: [&str; 7] = [
    "--workspace",
    "--exclude",
    BACKEND,
    "--exclude",
    CRATE_TESTS,
    "--exclude",
    "crate-tests-kernels",
];

/// Returns a `cargo test` command for the workspace.
fn cargo_test() -> Result<Command> {
    let mut command = backend::cargo_with_backend()?;
    command
        .arg("test")
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--no-fail-fast");
    Ok(command)
}

/// Returns the tests of those published crates that compile quickly for the device.
/// `./x test crate-tests` runs all of them, also unoptimized.
fn crate_tests() -> Result<Command> {
    /// Selects the crates.
    const CRATES: &str = "CRATE_TESTS";
    let mut command = cargo_test()?;
    command.args(["--package", CRATE_TESTS]);
    if std::env::var_os(CRATES).is_none() {
        command.env(CRATES, "quick");
    }
    Ok(command)
}

/// Returns the commands of the tests in single source: samples and device tests, whose kernels are
/// compiled for the architecture that all samples run on, and the tests of programs. Without
/// contraction, the device tests' floats are those of the CPU.
pub(crate) fn single_source_tests() -> Result<[Command; 2]> {
    let mut suites = single_source("test", Path::new("Cargo.toml"))?;
    suites
        .env("NVVM_OPTIONS", "arch=sm_90,fma=off")
        .args(["--no-fail-fast", "--package", "samples"])
        .args(["--package", "device-tests"]);
    let mut programs = single_source("test", Path::new(SINGLE_SOURCE_PROGRAMS))?;
    programs.args([
        "--no-fail-fast",
        "--bin",
        "mandelbrot",
        "--test",
        "programs",
    ]);
    Ok([suites, programs])
}

/// The manifest of the programs with kernels beside host code.
pub(crate) const SINGLE_SOURCE_PROGRAMS: &str = "tests/single_source/Cargo.toml";

/// Returns a command of `cargo cuda` for a manifest of the repository. All share a target
/// directory.
pub(crate) fn single_source(subcommand: &str, manifest: &Path) -> Result<Command> {
    let mut command = backend::cargo_with_backend()?;
    command
        .args([
            "run",
            "--quiet",
            "--package",
            "cargo-cuda",
            "--bin",
            "cargo-cuda",
        ])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .args(["--", "cuda", "--yes", subcommand])
        .arg("--manifest-path")
        .arg(workspace::root().join(manifest))
        .arg("--target-dir")
        .arg(workspace::target().join("single-source"));
    Ok(command)
}

/// Returns the backend's own tests, in the directory and profile of its build.
fn backend_tests() -> Result<Command> {
    let mut command = backend::command("test");
    command
        .arg("--no-fail-fast")
        .env("RUSTC_CODEGEN_NVVM", backend::ensure()?);
    Ok(command)
}

/// A command of a run of all tests.
struct Job {
    name: String,
    command: Command,
    /// Whether the exit status is the result of one test. Otherwise the output has the results, in
    /// the format of `cargo test`.
    is_one_test: bool,
}

impl Job {
    fn new(name: impl Into<String>, command: Command) -> Job {
        Job {
            name: name.into(),
            command,
            is_one_test: false,
        }
    }
}

/// Compiles everything, then runs the test programs and other commands concurrently, one per core:
/// most use a single core, as do cargo and ptxas in their last steps.
fn run_all(total: &mut Total, outcomes: &Outcomes) -> Result<()> {
    heading("Compiling the workspace");
    let began = Instant::now();
    let mut command = cargo_test()?;
    command
        .args(WORKSPACE)
        .args(["--no-run", "--message-format=json-render-diagnostics"]);
    let built = bundle::build(command, bundle::What::Tests)?;
    println!("{:.1} s", began.elapsed().as_secs_f64());

    // Commands that compile in separate directories come first, because they take longest.
    let mut jobs = Vec::new();
    let has_stable = ensure_stable()?;
    let stable = || has_stable.then(|| workspace::cargo_of(STABLE)).flatten();
    let has_platforms = has_stable && ensure_platforms()?;
    if let Some(mut command) = stable().filter(|_| has_platforms) {
        command
            .args(["check", "--quiet", "--manifest-path"])
            .arg(workspace::root().join("Cargo.toml"))
            .arg("--target-dir")
            .arg(workspace::target().join(STABLE));
        // In one run, which compiles procedural macros once.
        for platform in PLATFORMS {
            command.arg("--target").arg(platform);
        }
        for package in workspace::HOST_PACKAGES {
            command.arg("--package").arg(package);
        }
        jobs.push(Job {
            name: "check of the host packages on stable Rust, for other platforms".to_owned(),
            command,
            is_one_test: true,
        });
    }
    // Separately, so that the crates have the same features on host and device, without those that
    // other members of the workspace request.
    jobs.push(Job::new("published crates, a part", crate_tests()?));
    jobs.push(Job::new("the backend", backend_tests()?));
    let mut command = backend::cargo_with_backend()?;
    command
        .args(["run", "--quiet", "--package", "conformance"])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .args(["--", "--level", "O3"])
        .args(CONFORMANCE);
    let name = "the standard library's own tests, a part";
    jobs.push(Job::new(name, command));
    let mut command = cargo_test()?;
    command.args(WORKSPACE).arg("--doc");
    jobs.push(Job::new("the documentation's examples", command));
    let backend = backend::ensure()?;
    let libraries = workspace::output_of("rustc", &["--print=target-libdir"])
        .context("rustc did not report its library directory")?;
    // Returns a command that runs a test program as cargo does.
    let command_of = |program: &Program| {
        let mut command = Command::new(&program.path);
        let mut cargo = workspace::cargo();
        if program.name == ON_STABLE
            && let Some(stable) = stable()
        {
            cargo = stable;
            for (name, value) in cargo.get_envs() {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
        }
        command
            .current_dir(&program.directory)
            .env("CARGO", cargo.get_program())
            .env("CARGO_MANIFEST_DIR", &program.directory)
            .env("RUSTC_CODEGEN_NVVM", &backend)
            // Tests of procedural macros are linked to the toolchain's standard library.
            .env("LD_LIBRARY_PATH", &libraries);
        command
    };
    let long = |program: &&Program| LONG.contains(&&*program.name);
    let (first, others): (Vec<_>, Vec<_>) = built.programs.iter().partition(long);
    for program in first.into_iter().chain(others) {
        jobs.push(Job::new(&*program.name, command_of(program)));
    }
    for (name, filter, arch) in MODERN {
        let program = built.programs.iter().find(|program| program.name == name);
        let program = program.with_context(|| format!("cargo did not build {name}"))?;
        let mut command = command_of(program);
        command
            .arg(filter)
            .env("CUST_DEVICE", "emulator")
            .env("PTX_EMULATOR_ARCH", arch);
        jobs.push(Job::new(format!("{name} on {arch}"), command));
    }
    jobs.extend(assemblies(&built)?);
    run_jobs(jobs, total, outcomes)
}

/// The test programs that run again on an architecture with libnvvm's modern dialect, with a filter
/// of their tests. All except the samples have one module for it, by default for sm_100.
const MODERN: [(&str, &str, &str); 5] = [
    ("device-tests-device", "release::", "sm_100"),
    ("cuda-std-tests-device", "", "sm_100"),
    ("tensor-tests-tensor", "", "sm_100"),
    ("samples-samples", "", "sm_100"),
    ("samples-samples", "", "sm_120"),
];

const STABLE: &str = "stable";

/// The platforms that the host packages are checked for, besides this one.
const PLATFORMS: [&str; 2] = ["aarch64-unknown-linux-gnu", "x86_64-pc-windows-msvc"];

/// The test program that builds the README's project, with stable Rust if it is installed.
const ON_STABLE: &str = "cuda_builder-readme";

/// The test programs that run cargo or ptxas.
const LONG: [&str; 6] = [
    "cargo-cuda-programs",
    "cust-ui",
    "cuda_builder-readme",
    "cuda_builder-build",
    "ui-tests-ui",
    "cuda_std-table",
];

/// Runs commands concurrently, one per core. Prints the output of each when it exits, and finally
/// the slowest commands.
fn run_jobs(jobs: Vec<Job>, total: &mut Total, outcomes: &Outcomes) -> Result<()> {
    const LONGEST: usize = 20;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let left = Mutex::new(VecDeque::from(jobs));
    let done = Mutex::new((std::mem::take(total), Vec::new()));
    let lock = || left.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || -> Result<()> {
        loop {
            let Some(mut job) = lock().pop_front() else {
                return Ok(());
            };
            let began = Instant::now();
            let (mut reader, writer) = std::io::pipe()?;
            job.command
                .env(test_outcome::VARIABLE, outcomes.next())
                .stdin(Stdio::null())
                .stdout(writer.try_clone()?)
                .stderr(writer);
            let spawned = job.command.spawn();
            let mut child = spawned.with_context(|| format!("{} cannot be started", job.name))?;
            // Closes the command's write end of the pipe, so that reading terminates.
            drop(job.command);
            let mut output = Vec::new();
            reader.read_to_end(&mut output)?;
            let status = child.wait()?;
            let time = began.elapsed().as_secs_f64();

            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            let (total, times) = &mut *done;
            times.push((time, job.name.clone()));
            if job.is_one_test && status.success() {
                println!("test {} ... ok", job.name);
                total.passed += 1;
                continue;
            }
            println!("\n== {} ({time:.1} s) ==", job.name);
            std::io::stdout().write_all(&output)?;
            total.add_output(&job.name, status, &String::from_utf8_lossy(&output));
        }
    };
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<_>| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().map(join).collect()
    });
    let (sum, mut times) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    *total = sum;
    heading("What took longest");
    times.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    for (time, name) in times.iter().take(LONGEST) {
        println!("{time:7.1} s  {name}");
    }
    results.into_iter().collect()
}

/// Returns commands that assemble the PTX of the examples and device tests: for its target
/// architecture and, if that is older than sm_100, also for the newest.
fn assemblies(built: &Built) -> Result<Vec<Job>> {
    const NEWEST: nvvm::Arch = nvvm::Arch::SM_121;
    // ptxas needs minutes for unoptimized programs with many functions.
    const LARGEST: u64 = 16 << 20;
    const LARGE: u64 = 1 << 20;
    const PACKAGES: [&str; 4] = ["device-tests", "cuda-std-tests", "tensor-tests", "samples"];
    let ptxas = toolkit::ensure()?
        .ptxas
        .context("ptxas was not found")?
        .path;
    let mut jobs = Vec::new();
    for (package, file) in bundle::ptx_of(built)? {
        let size = std::fs::metadata(&file)?.len();
        let wanted = PACKAGES.contains(&&*package) || package.starts_with("example-");
        if !wanted || size > LARGEST {
            continue;
        }
        let text = std::fs::read_to_string(&file)?;
        let own = bundle::target_of(&text)
            .with_context(|| format!("{} does not name its architecture", file.display()))?;
        let newest = (own.number() < 100 && NEWEST.has(own)).then_some(NEWEST);
        for arch in [own].into_iter().chain(newest) {
            let mut command = Command::new(&ptxas);
            command
                // Large modules are assembled for linking, which is faster; small ones as by the
                // driver, so that functions respect the register limits of the kernels that call
                // them.
                .args((size > LARGE).then_some("-c"))
                .args(["-arch", &arch.sm(), "-o", "/dev/null"])
                .arg(&file);
            let name = file.file_name().unwrap_or_default().display();
            jobs.push(Job {
                name: format!("ptxas {package} {name} for {arch}"),
                command,
                is_one_test: true,
            });
        }
    }
    Ok(jobs)
}

impl Total {
    /// Moves tests from passed to skipped.
    fn skip(&mut self, tests: u64) {
        self.passed = self.passed.saturating_sub(tests);
        self.skipped += tests;
    }

    /// Adds the results in a command's output, in the format of `cargo test`.
    fn add_output(&mut self, name: &str, status: ExitStatus, output: &str) {
        let before = self.failed;
        output.lines().for_each(|line| self.add(line));
        if !status.success() && self.failed == before {
            // The build failed, or a test program crashed.
            self.failed += 1;
        }
        if self.failed > before {
            let excerpt = failures(output);
            self.failures
                .push(format!("-- {name} ({status}) --\n{excerpt}"));
        }
    }

    /// Adds a line such as `test result: ok. 3 passed; 0 failed; …`.
    fn add(&mut self, line: &str) {
        let Some((_, numbers)) = line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for part in numbers.split("; ") {
            match part.split_once(' ') {
                Some((n, "passed")) => self.passed += n.parse::<u64>().unwrap_or(0),
                Some((n, "failed")) => self.failed += n.parse::<u64>().unwrap_or(0),
                Some((n, "ignored")) => self.skipped += n.parse::<u64>().unwrap_or(0),
                _ => {}
            }
        }
    }
}

/// Returns the output about failed tests; without any, the end of the output.
fn failures(output: &str) -> String {
    const LONGEST: usize = 100;
    let mut in_failures = false;
    let mut lines: Vec<&str> = (output.lines())
        .filter(|line| {
            let result = line.starts_with("test result: ");
            in_failures = (in_failures || *line == "failures:") && !result;
            in_failures || (result && !line.contains("; 0 failed;"))
        })
        .collect();
    if lines.is_empty() {
        lines = output.lines().collect();
    }
    lines[lines.len().saturating_sub(LONGEST)..].join("\n")
}

/// The files in which tests record skips, one per command; removed at the end.
struct Outcomes {
    directory: PathBuf,
    count: AtomicUsize,
}

impl Outcomes {
    fn new() -> Result<Outcomes> {
        let directory = workspace::target().join(format!("outcomes-{}", std::process::id()));
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("{} cannot be created", directory.display()))?;
        Ok(Outcomes {
            directory,
            count: AtomicUsize::new(0),
        })
    }

    /// Returns the path of a new file.
    fn next(&self) -> PathBuf {
        let number = self.count.fetch_add(1, Relaxed);
        self.directory.join(number.to_string())
    }

    /// Counts the tests that skipped themselves, which test programs count as passed, and prints
    /// the reasons.
    fn take(self, total: &mut Total) -> Result<()> {
        let mut reasons = BTreeMap::new();
        for file in std::fs::read_dir(&self.directory)? {
            let skipped = skipped(&std::fs::read_to_string(file?.path())?);
            total.skip(skipped.len() as u64);
            for reason in skipped.into_values() {
                *reasons.entry(reason).or_insert(0) += 1;
            }
        }
        if !reasons.is_empty() {
            heading("Skipped");
        }
        for (reason, count) in reasons {
            println!("{count}: {reason}");
        }
        Ok(())
    }
}

impl Drop for Outcomes {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Returns the skipped tests in a file of outcomes, by program and name, with the reason. A test
/// may record a skip more than once.
fn skipped(text: &str) -> BTreeMap<(String, String), String> {
    let skips = text.lines().filter_map(|line| match Line::parse(line)? {
        Line::Skip {
            program,
            test,
            reason,
        } => Some(((program, test), reason)),
        Line::Value { .. } => None,
    });
    skips.collect()
}

fn heading(text: &str) {
    println!("\n== {text} ==");
}

fn is_package(name: &str) -> bool {
    let mut command = workspace::cargo();
    command
        .arg("pkgid")
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"));
    let output = command
        .arg("--package")
        .arg(name)
        .stderr(Stdio::null())
        .output();
    // Packages from a registry match as well, but cannot be tested.
    output.is_ok_and(|output| output.status.success() && output.stdout.starts_with(b"path+"))
}

/// Returns whether stable Rust is installed. In CI it is installed if missing.
fn ensure_stable() -> Result<bool> {
    if workspace::cargo_of(STABLE).is_some() {
        return Ok(true);
    }
    if !workspace::in_ci() {
        println!("\nSkipped: the host packages on stable Rust, which is not installed.");
        return Ok(false);
    }
    let mut command = Command::new("rustup");
    command.args([
        "toolchain",
        "install",
        STABLE,
        "--profile",
        "minimal",
        "--no-self-update",
    ]);
    workspace::must_succeed(&mut command, "the installation of stable Rust")?;
    Ok(true)
}

/// Returns whether stable Rust has the standard library for the [`PLATFORMS`]. In CI it is installed
/// if missing.
fn ensure_platforms() -> Result<bool> {
    let arguments = ["target", "list", "--installed", "--toolchain", STABLE];
    let installed = workspace::output_of("rustup", &arguments).unwrap_or_default();
    let missing = |platform: &&&str| !installed.lines().any(|line| line == **platform);
    let missing: Vec<&str> = PLATFORMS.iter().filter(missing).copied().collect();
    if missing.is_empty() {
        return Ok(true);
    }
    let mut command = Command::new("rustup");
    command
        .args(["target", "add", "--toolchain", STABLE])
        .args(&missing);
    if !workspace::in_ci() {
        let missing = missing.join(" ");
        println!(
            "\nSkipped: the host packages for {missing}, whose standard library is not installed; run \
             rustup target add --toolchain {STABLE} {missing}"
        );
        return Ok(false);
    }
    workspace::must_succeed(&mut command, "the installation of targets")?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up() {
        let mut total = Total::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished",
            "test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 7 filtered out",
            "test result_is_good ... ok",
        ] {
            total.add(line);
        }
        assert_eq!(
            total,
            Total {
                passed: 5,
                failed: 4,
                skipped: 1,
                failures: Vec::new(),
            }
        );
    }

    #[test]
    fn failures_are_found_in_the_output() {
        let output = "test a ... FAILED\ntest b ... ok\n\nfailures:\n\n---- a stdout ----\n\
                      assertion failed\n\nfailures:\n    a\n\n\
                      test result: FAILED. 1 passed; 1 failed; 0 ignored\nmore\n\
                      test result: ok. 2 passed; 0 failed; 0 ignored\n";
        let found = failures(output);
        assert!(found.contains("assertion failed"), "{found}");
        assert!(found.ends_with("1 failed; 0 ignored"), "{found}");
        assert!(!found.contains("more"), "{found}");
        assert_eq!(failures("error: no such file"), "error: no such file");
    }

    #[test]
    fn skipped_tests_have_not_passed() {
        let text = "skip\ta\tone\tno GPU\nvalue\ta\ttwo\tkey\t1\nskip\ta\tone\tno GPU\n\
                    skip\tb\tone\tno ptxas\nskip\tb\t";
        let skipped = skipped(text);
        assert_eq!(skipped.len(), 2);
        let mut total = Total {
            passed: 5,
            failed: 1,
            skipped: 1,
            failures: Vec::new(),
        };
        total.skip(skipped.len() as u64);
        assert_eq!(
            total,
            Total {
                passed: 3,
                failed: 1,
                skipped: 3,
                failures: Vec::new(),
            }
        );
    }
}
