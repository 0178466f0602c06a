//! `./x test`: all tests, and at the end how many passed, failed and were skipped.
//!
//! 1. The whole workspace with the pinned toolchain, in one run of cargo: unit tests, device
//!    tests, examples, documentation's examples, most of the crates from crates.io.
//! 2. The samples and the optimized device tests once more, on the emulator as sm_100, the samples
//!    as sm_120 too.
//! 3. The backend's own unit tests, in the folder and profile that it is built in anyway.
//! 4. ptxas, which takes the PTX of the examples and device tests for the oldest and the newest
//!    architecture.
//! 5. The host packages on stable Rust, if it is installed; in CI it always is.

use crate::{backend, bundle, toolkit, workspace};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use test_outcome::Line;

/// The parts of `./x conformance` that are quick enough to be run every time.
const CONFORMANCE: [&str; 3] = ["core_atomic", "core_basics", "core_mem"];

/// How many tests passed, failed and were skipped.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Total {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// What is to be tested.
struct Selection {
    package: Option<String>,
    /// For the test programs: a filter and its flags.
    arguments: Vec<OsString>,
}

/// The command.
pub fn test(mut parser: lexopt::Parser) -> Result<ExitCode> {
    let selection = Selection::parse(&mut parser)?;
    let mut total = Total::default();
    let outcomes = Outcomes::new()?;
    let tested = selection.run(&mut total, &outcomes);
    if tested.is_err() {
        // What could not be built or started failed, too.
        total.failed += 1;
    }
    if let Err(error) = tested {
        eprintln!("error: {error:#}");
    }
    outcomes.take(&mut total)?;
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
                        && is_package(name)
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
        const BACKEND: &str = "rustc_codegen_nvvm";
        const CRATE_TESTS: &str = "crate-tests";
        const WORKSPACE: [&str; 5] = [
            "--workspace",
            "--exclude",
            BACKEND,
            "--exclude",
            CRATE_TESTS,
        ];
        /// Says which of them.
        const CRATES: &str = "CRATE_TESTS";
        let manifest = workspace::root().join("Cargo.toml");
        let cargo_test = || -> Result<Command> {
            let mut command = backend::cargo_with_backend()?;
            command
                .arg("test")
                .arg("--manifest-path")
                .arg(&manifest)
                .arg("--no-fail-fast");
            Ok(command)
        };

        if self.package.as_deref() != Some(BACKEND) {
            heading("The workspace");
            let mut command = cargo_test()?;
            match &self.package {
                Some(package) => command.arg("--package").arg(package),
                None => command.args(WORKSPACE),
            };
            self.count(command, total, outcomes)?;
        }

        if self.package.is_none() && self.arguments.is_empty() {
            heading("Device tests on the emulator as sm_100 and sm_120");
            for (test, arch, filter) in [
                ("samples", "sm_100", ""),
                ("samples", "sm_120", ""),
                ("device", "sm_100", "release::"),
            ] {
                // The whole workspace, so that nothing is compiled again with other features.
                let mut command = cargo_test()?;
                command
                    .args(WORKSPACE)
                    .args(["--test", test, "--", filter])
                    .env("CUST_DEVICE", "emulator")
                    .env("PTX_EMULATOR_ARCH", arch);
                self.count_all(command, total, outcomes)?;
            }
        }

        // On their own, as the crates then have on the host the features that they have on the
        // device, and not those that others of the workspace ask for. Not all of them: they take
        // long to compile for the device. `./x test crate-tests` runs all, unoptimised as well.
        if self.package.is_none() {
            heading("Crates from crates.io, a part");
            let mut command = cargo_test()?;
            command.args(["--package", CRATE_TESTS]);
            if std::env::var_os(CRATES).is_none() {
                command.env(CRATES, "quick");
            }
            self.count(command, total, outcomes)?;
        }

        let of_backend = self
            .package
            .as_deref()
            .is_none_or(|package| package == BACKEND);
        if of_backend && has_tests(&workspace::root().join("crates").join(BACKEND)) {
            heading("The backend");
            let mut command = backend::command("test");
            command
                .arg("--no-fail-fast")
                .env("RUSTC_CODEGEN_NVVM", backend::ensure()?);
            self.count(command, total, outcomes)?;
        }

        // A selection is to be quick.
        let selected = self.package.is_some() || !self.arguments.is_empty();
        if !selected {
            heading("The standard library's own tests, a part");
            let mut command = backend::cargo_with_backend()?;
            command
                .args(["run", "--quiet", "--release", "--package", "conformance"])
                .arg("--manifest-path")
                .arg(&manifest)
                .args(["--", "--level", "O3"])
                .args(CONFORMANCE);
            self.count_all(command, total, outcomes)?;
            heading("ptxas");
            assemble(total)?;
        }
        let stable = if selected { None } else { ensure_stable()? };
        if let Some(mut command) = stable {
            heading("The host packages on stable Rust");
            command
                .arg("test")
                .arg("--manifest-path")
                .arg(&manifest)
                .arg("--no-fail-fast");
            command
                .arg("--target-dir")
                .arg(workspace::target().join("stable"));
            command.env("RUSTC_CODEGEN_NVVM", backend::ensure()?);
            for package in workspace::HOST_PACKAGES {
                command.arg("--package").arg(package);
            }
            self.count(command, total, outcomes)?;
        }
        Ok(())
    }

    /// Runs a `cargo test`, passes its output on and adds up its results.
    fn count(&self, mut command: Command, total: &mut Total, outcomes: &Outcomes) -> Result<()> {
        command.arg("--").args(&self.arguments);
        self.count_all(command, total, outcomes)
    }

    /// Runs a command that says its results as `cargo test` does.
    fn count_all(
        &self,
        mut command: Command,
        total: &mut Total,
        outcomes: &Outcomes,
    ) -> Result<()> {
        command.env(test_outcome::VARIABLE, &outcomes.0);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cargo cannot be started")?;
        let stdout = child
            .stdout
            .take()
            .context("cargo's output cannot be read")?;
        let before = *total;
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line?;
            let mut out = std::io::stdout().lock();
            out.write_all(&line)?;
            out.write_all(b"\n")?;
            total.add(&String::from_utf8_lossy(&line));
        }
        let status = child.wait()?;
        if !status.success() && total.failed == before.failed {
            // It does not compile, or a test program crashed.
            eprintln!("error: cargo test failed ({status}) without a failed test; see above");
            total.failed += 1;
        }
        Ok(())
    }
}

/// Lets ptxas take all PTX for the oldest architecture that it is for and the newest.
fn assemble(total: &mut Total) -> Result<()> {
    const NEWEST: nvvm::Arch = nvvm::Arch::SM_121;
    // Unoptimised programs of many functions take it minutes.
    const LARGEST: u64 = 16 << 20;
    const LARGE: u64 = 1 << 20;
    let ptxas = toolkit::ensure()?.ptxas.context("there is no ptxas")?.path;
    let mut jobs = Vec::new();
    for (package, file) in bundle::device_code()? {
        if std::fs::metadata(&file)?.len() <= LARGEST {
            let text = std::fs::read_to_string(&file)?;
            let own = bundle::target_of(&text)
                .with_context(|| format!("{} does not name its architecture", file.display()))?;
            // Code in the dialect of the newest architectures needs to be assembled once.
            let archs = match own.has(nvvm::Arch::SM_100) {
                true => vec![NEWEST],
                false => vec![own, NEWEST],
            };
            let archs = archs.into_iter().filter(|arch| arch.has(own));
            jobs.extend(archs.map(|arch| (package.clone(), file.clone(), arch.sm())));
        }
    }
    let (next, passed, failed) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let work = || {
        while let Some((package, file, arch)) = jobs.get(next.fetch_add(1, Relaxed)) {
            let name = file.file_name().unwrap_or_default().display();
            let large = std::fs::metadata(file).is_ok_and(|file| file.len() > LARGE);
            let output = Command::new(&ptxas)
                // Large ones to link later, which is faster; small ones as the driver does it: then
                // functions keep to the limits of the kernels that call them.
                .args(large.then_some("-c"))
                .args(["-arch", arch, "-o", "/dev/null"])
                .arg(file)
                .output();
            let good = output.as_ref().is_ok_and(|output| output.status.success());
            println!(
                "{package} {name} for {arch} ... {}",
                if good { "ok" } else { "FAILED" }
            );
            if let (false, Ok(output)) = (good, output) {
                eprintln!("{}", String::from_utf8_lossy(&output.stderr));
            }
            if good { &passed } else { &failed }.fetch_add(1, Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    total.passed += passed.into_inner();
    total.failed += failed.into_inner();
    Ok(())
}

impl Total {
    /// Counts tests as skipped that were counted as passed.
    fn skip(&mut self, tests: u64) {
        self.passed = self.passed.saturating_sub(tests);
        self.skipped += tests;
    }

    /// Adds a line like `test result: ok. 3 passed; 0 failed; …`.
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

/// The file in which tests record that they were skipped; removed at the end.
struct Outcomes(PathBuf);

impl Outcomes {
    fn new() -> Result<Outcomes> {
        let folder = workspace::target();
        std::fs::create_dir_all(&folder)?;
        let file = folder.join(format!("outcomes-{}", std::process::id()));
        std::fs::write(&file, "")
            .with_context(|| format!("{} cannot be written", file.display()))?;
        Ok(Outcomes(file))
    }

    /// Counts the tests that skipped themselves, which the test programs count as passed, and says
    /// why.
    fn take(self, total: &mut Total) -> Result<()> {
        let text = std::fs::read_to_string(&self.0)?;
        let skipped = skipped(&text);
        let mut reasons = BTreeMap::new();
        for reason in skipped.values() {
            *reasons.entry(reason).or_insert(0) += 1;
        }
        if !reasons.is_empty() {
            heading("Skipped");
        }
        for (reason, count) in reasons {
            println!("{count}: {reason}");
        }
        total.skip(skipped.len() as u64);
        Ok(())
    }
}

impl Drop for Outcomes {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The tests that a file of outcomes says were skipped, by program and name, with the reason. A test
/// may say so more than once.
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

pub(crate) fn is_package(name: &str) -> bool {
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
    // Packages from a registry are known too, and cannot be tested.
    output.is_ok_and(|output| output.status.success() && output.stdout.starts_with(b"path+"))
}

/// Whether a package has a test: building a test program for nothing takes a while.
fn has_tests(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return has_tests(&path);
        }
        path.extension().is_some_and(|extension| extension == "rs")
            && std::fs::read_to_string(path).is_ok_and(|text| text.contains("#[test]"))
    })
}

/// Stable Rust's cargo, if it is there. CI has to have one.
fn ensure_stable() -> Result<Option<Command>> {
    if let Some(cargo) = workspace::cargo_of("stable") {
        return Ok(Some(cargo));
    }
    if !workspace::in_ci() {
        println!("\nSkipped: the host packages on stable Rust, which is not installed.");
        return Ok(None);
    }
    let mut command = Command::new("rustup");
    command.args([
        "toolchain",
        "install",
        "stable",
        "--profile",
        "minimal",
        "--no-self-update",
    ]);
    workspace::must_succeed(&mut command, "the installation of stable Rust")?;
    Ok(workspace::cargo_of("stable"))
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
                skipped: 1
            }
        );
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
        };
        total.skip(skipped.len() as u64);
        assert_eq!(
            total,
            Total {
                passed: 3,
                failed: 1,
                skipped: 3
            }
        );
    }
}
