//! `./x mutants`: plants the mutations of `tests/mutants` one at a time in a copy of the tree, and
//! runs the tests that should detect them.
//!
//! `tests/mutants/CRATE.toml` lists a crate's mutations. Each replaces a string that occurs exactly
//! once in a file, so that a stale entry is an error instead of a mutation that is never planted.
//! The results go to `docs/measured/mutants.tsv`, one line per mutation; a later run replaces the
//! lines of the mutations that it plants.
//!
//! The copy is `target/mutants`, with a target directory of its own. A mutation that an interrupted
//! run left behind is reverted by the next run.

use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The time limit of a command; a mutation that makes the tests hang counts as detected.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// The mutations of a crate, as listed in its file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// Builds what the tests do not build themselves. It must succeed with the mutation, as must
    /// `cargo test --no-run` for each test: a mutation that does not compile tests nothing.
    check: Option<String>,
    /// The commands of which one must fail, unless a mutation has its own.
    tests: Vec<String>,
    fault: Vec<Fault>,
}

/// A mutation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    name: String,
    file: PathBuf,
    from: String,
    to: String,
    tests: Option<Vec<String>>,
}

/// The verdict of the tests on a mutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Caught,
    Survived,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Caught => "caught",
            Verdict::Survived => "survived",
        }
    }
}

/// Runs the command.
pub fn mutants(mut parser: lexopt::Parser) -> Result<ExitCode> {
    use lexopt::prelude::*;
    let (mut only, mut filter, mut score) = (None, String::new(), false);
    while let Some(argument) = parser.next()? {
        match argument {
            Value(name) if only.is_none() => only = Some(name.string()?),
            Value(name) if filter.is_empty() => filter = name.string()?,
            Long("score") => score = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let mut results = Results::read()?;
    if !score {
        let lists = lists()?;
        if let Some(name) = &only {
            ensure!(
                lists.contains_key(name),
                "no mutations are listed for `{name}`"
            );
        }
        let tree = copy_tree()?;
        for (name, list) in &lists {
            if only.as_ref().is_none_or(|only| only == name) {
                measure(&tree, name, list, &filter, &mut results)?;
            }
        }
    }
    print!("{}", results.scores());
    Ok(ExitCode::SUCCESS)
}

/// Plants the mutations of a list whose names contain `filter`.
fn measure(
    tree: &Path,
    krate: &str,
    list: &List,
    filter: &str,
    results: &mut Results,
) -> Result<()> {
    let faults: Vec<&Fault> = (list.fault.iter())
        .filter(|fault| fault.name.contains(filter))
        .collect();
    let of = |fault: &Fault| fault.tests.clone().unwrap_or_else(|| list.tests.clone());
    let commands: BTreeSet<String> = faults.iter().flat_map(|fault| of(fault)).collect();
    for command in list.check.iter().chain(&commands) {
        println!("{krate}: {command}");
        ensure!(
            succeeds(tree, command)?,
            "`{command}` fails without a mutation; see {}",
            log(tree).display()
        );
    }
    for fault in faults {
        let path = tree.join(&fault.file);
        let good = fs::read_to_string(&path)?;
        fs::write(&path, plant(fault, &good)?)?;
        let verdict = (|| {
            let builds: Vec<String> = of(fault).iter().map(|test| build(test)).collect();
            for check in list.check.iter().chain(&builds) {
                if !succeeds(tree, check)? {
                    bail!("{krate}: {} does not compile", fault.name);
                }
            }
            for command in of(fault) {
                if !succeeds(tree, &command)? {
                    return Ok(Verdict::Caught);
                }
            }
            Ok(Verdict::Survived)
        })();
        fs::write(&path, good)?;
        let verdict = verdict?;
        println!("{krate}: {} ... {}", fault.name, verdict.name());
        results.set(krate, &fault.name, verdict)?;
    }
    Ok(())
}

/// Returns the command that compiles the tests of `command`.
fn build(command: &str) -> String {
    command.replacen("cargo test", "cargo test --no-run", 1)
}

/// Returns the contents of a file with a mutation.
fn plant(fault: &Fault, text: &str) -> Result<String> {
    let count = text.matches(&fault.from).count();
    let (name, file) = (&fault.name, fault.file.display());
    ensure!(
        count == 1,
        "{name}: {file} contains {count} times, expected once:\n{}",
        fault.from
    );
    ensure!(fault.from != fault.to, "{name}: `from` and `to` are equal");
    Ok(text.replacen(&fault.from, &fault.to, 1))
}

/// Reads all lists, by crate.
fn lists() -> Result<BTreeMap<String, List>> {
    let directory = workspace::root().join("tests/mutants");
    let mut lists = BTreeMap::new();
    for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else {
            continue;
        };
        let text = fs::read_to_string(&path)?;
        let list: List = toml::from_str(&text).with_context(|| path.display().to_string())?;
        let mut names = BTreeSet::new();
        for fault in &list.fault {
            ensure!(
                names.insert(&fault.name),
                "{name}: two mutations `{}`",
                fault.name
            );
        }
        lists.insert(name.to_owned(), list);
    }
    Ok(lists)
}

/// Copies all files that git tracks or would track. Skips equal files, so that cargo rebuilds only
/// what changed.
fn copy_tree() -> Result<PathBuf> {
    let (root, tree) = (workspace::root(), workspace::target().join("mutants"));
    let mut list = Command::new("git");
    list.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let output = list
        .current_dir(root)
        .output()
        .context("git cannot be started")?;
    ensure!(output.status.success(), "git ls-files: {}", output.status);
    let names = String::from_utf8(output.stdout)?;
    let names: BTreeSet<&Path> = names.split_terminator('\0').map(Path::new).collect();
    for name in &names {
        let (from, to) = (root.join(name), tree.join(name));
        let Ok(bytes) = fs::read(&from) else { continue };
        if fs::read(&to).is_ok_and(|old| old == bytes) {
            continue;
        }
        fs::create_dir_all(to.parent().unwrap_or(&tree))?;
        fs::copy(&from, &to).with_context(|| to.display().to_string())?;
    }
    remove_others(&tree, &tree, &|name| {
        names.contains(name) && root.join(name).exists()
    })?;
    // Links NVIDIA's libraries where the tests search for them.
    let (cuda, target) = (workspace::target().join("cuda"), tree.join("target"));
    fs::create_dir_all(&target)?;
    #[cfg(unix)]
    if cuda.exists() && !target.join("cuda").exists() {
        std::os::unix::fs::symlink(cuda, target.join("cuda"))?;
    }
    Ok(tree)
}

/// Removes files that the repository no longer has.
fn remove_others(tree: &Path, directory: &Path, keep: &dyn Fn(&Path) -> bool) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.strip_prefix(tree)?;
        if name == Path::new("target") || name == Path::new(LOG) {
            continue;
        }
        if path.is_dir() {
            remove_others(tree, &path, keep)?;
        } else if !keep(name) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// The file in the copy that receives the output of commands.
const LOG: &str = "mutants.log";

fn log(tree: &Path) -> PathBuf {
    tree.join(LOG)
}

/// Returns whether a command succeeds within the time limit.
fn succeeds(tree: &Path, command: &str) -> Result<bool> {
    // As in a shell, assignments of variables come first.
    let mut words = command.split_whitespace().peekable();
    let mut variables = Vec::new();
    while let Some(word) = words.next_if(|word| word.contains('=')) {
        variables.extend(word.split_once('='));
    }
    let program = words.next().context("an empty command")?;
    let mut command = match program {
        "cargo" => workspace::cargo(),
        program => Command::new(tree.join(program)),
    };
    let out = File::create(log(tree))?;
    command
        .args(words)
        .envs(variables)
        .current_dir(tree)
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::null())
        .stderr(out.try_clone()?)
        .stdout(out);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().with_context(|| program.to_owned())?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if start.elapsed() > LIMIT {
            // Kills the process group, which includes the tests that cargo started.
            let group = format!("-{}", child.id());
            Command::new("kill").args(["-9", "--", &group]).status()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The results: crate and name of each mutation, with the rest of its line.
struct Results {
    lines: BTreeMap<(String, String), [String; 3]>,
    date: String,
    commit: String,
}

impl Results {
    fn path() -> PathBuf {
        workspace::root().join("docs/measured/mutants.tsv")
    }

    fn read() -> Result<Results> {
        let text = fs::read_to_string(Results::path()).unwrap_or_default();
        let mut lines = BTreeMap::new();
        for line in text.lines().skip(1) {
            if let [krate, name, verdict, date, commit] = line.split('\t').collect::<Vec<_>>()[..] {
                let rest = [verdict, date, commit].map(str::to_owned);
                lines.insert((krate.to_owned(), name.to_owned()), rest);
            }
        }
        let output = |program: &str, arguments: &[&str]| {
            workspace::output_of(program, arguments).with_context(|| format!("{program} failed"))
        };
        let root = workspace::root().display().to_string();
        Ok(Results {
            lines,
            date: output("date", &["-u", "+%F"])?,
            commit: output("git", &["-C", &root, "rev-parse", "--short", "HEAD"])?,
        })
    }

    /// Records a result and writes the file, because a run may be interrupted.
    fn set(&mut self, krate: &str, name: &str, verdict: Verdict) -> Result<()> {
        let rest = [verdict.name(), &self.date, &self.commit].map(str::to_owned);
        self.lines.insert((krate.to_owned(), name.to_owned()), rest);
        let mut text = "crate\tfault\tresult\tdate\tcommit\n".to_owned();
        for ((krate, name), [verdict, date, commit]) in &self.lines {
            text += &format!("{krate}\t{name}\t{verdict}\t{date}\t{commit}\n");
        }
        fs::write(Results::path(), text).context("docs/measured/mutants.tsv")
    }

    /// Formats a line for each crate, and a total.
    fn scores(&self) -> String {
        let mut crates: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for ((krate, _), [verdict, ..]) in &self.lines {
            let caught = usize::from(verdict == Verdict::Caught.name());
            for name in [krate.as_str(), "~"] {
                let [good, all] = crates.entry(name).or_default();
                *good += caught;
                *all += 1;
            }
        }
        let line = |(name, [good, all]): (&str, [usize; 2])| {
            let name = if name == "~" { "all" } else { name };
            format!(
                "{name:20} {good:3} of {all:3} caught, {} %\n",
                good * 100 / all
            )
        };
        crates.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Detects an entry that no longer applies in the change that made it stale.
    #[test]
    fn every_fault_can_be_planted() {
        let mut count = 0;
        for (krate, list) in lists().unwrap() {
            assert!(!list.tests.is_empty(), "{krate}");
            for fault in &list.fault {
                for test in fault.tests.as_ref().unwrap_or(&list.tests) {
                    assert_ne!(&build(test), test, "it cannot be compiled alone");
                }
                let path = workspace::root().join(&fault.file);
                let text = fs::read_to_string(&path);
                let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                if let Err(error) = plant(fault, &text) {
                    panic!("{krate}: {error}");
                }
                count += 1;
            }
        }
        assert!(count >= 100, "{count}");
    }

    #[test]
    fn a_text_that_is_there_twice_is_refused() {
        let fault = Fault {
            name: "name".to_owned(),
            file: "file".into(),
            from: "a".to_owned(),
            to: "b".to_owned(),
            tests: None,
        };
        assert_eq!(plant(&fault, "xax").unwrap(), "xbx");
        assert!(plant(&fault, "aa").is_err());
        assert!(plant(&fault, "x").is_err());
    }
}
