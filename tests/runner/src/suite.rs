//! The tests of a program, each of which gets a result of its own.
//!
//! A program runs as a whole first. If a fault lost the context, only the results of the tests that
//! passed count: the first test that failed runs alone, in a new process, and the others run again
//! without it, until all tests have a result. If the process died or hung, and after [`ROUNDS`]
//! faults, each test without a result runs alone.

use crate::process::{self, End, Run};
use crate::{Device, Job, Outcome, Settings, Status, lock};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use test_outcome::Line;

/// How often the tests of a program run together.
const ROUNDS: usize = 5;

/// How many tests run at once when each runs alone.
const ALONE_AT_ONCE: usize = 4;

/// The name of the entry for a failure of the whole process.
const PROCESS: &str = "(process)";

/// Part of the message of a test if the context is lost, by this test or by one before it.
const LOST: [&str; 22] = [
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "IllegalAddress",
    "IllegalInstruction",
    "LaunchFailed",
    "LaunchTimeout",
    "MisalignedAddress",
    "InvalidAddressSpace",
    "InvalidPC",
    "HardwareStackError",
    "ContextIsDestroyed",
    "stack overflow",
    "context is lost",
];

/// The results of a program's tests in one run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    /// The tests with a result, in the order in which they ended.
    results: Vec<(String, Status)>,
    /// The messages of those that failed.
    messages: BTreeMap<String, String>,
    /// The numbers of tests that passed, failed and were ignored, of the last line.
    total: Option<[usize; 3]>,
}

/// The names of a program's tests.
pub fn list(program: &Path, log: &Path) -> Result<Vec<String>, String> {
    let output = std::process::Command::new(program)
        .arg("--list")
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let _ = std::fs::write(log.with_extension("list"), &output.stderr);
        return Err(format!("{} --list: {}", program.display(), output.status));
    }
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

/// Runs a job until each of its tests has a result.
pub fn run(settings: &Settings, job: &Job<'_>, here: &Path) -> BTreeMap<String, Outcome> {
    let mut found = BTreeMap::new();
    let Some((part, tests)) = &job.part else {
        let log = log(settings, job, "");
        let run = process::run(settings, job.device, (&job.program.path, &[]), here, &log);
        let outcome = match &run.end {
            End::Exited { good: true, .. } => Outcome {
                status: Status::Passed,
                text: String::new(),
                values: Vec::new(),
            },
            end => Outcome::failed(format!("{}\n{}{}", says(end), run.out, run.err)),
        };
        found.insert("(example)".to_owned(), outcome);
        return found;
    };
    let all = job.program.tests.as_deref().unwrap_or_default();
    let mut open = tests.clone();
    for round in 0..ROUNDS {
        if open.is_empty() {
            return found;
        }
        if settings.time_is_over() {
            break;
        }
        let alone = open.len() == 1;
        let run = start(settings, job, here, all, &open, &format!("{part}.{round}"));
        let said = read(&run.out, &open, alone.then_some(&run));
        let at_fault = settle(&run, said, &open, alone, &mut found);
        open.retain(|test| !found.contains_key(test));
        // Without one the process died or hung, in one of several tests that ran at once.
        let Some(test) = at_fault else { break };
        let log = format!("{part}.{round}-alone");
        run_alone(settings, job, here, &test, &log, &mut found);
        open.retain(|other| *other != test);
    }
    let found = Mutex::new(found);
    let rest = Mutex::new(open.into_iter().enumerate());
    std::thread::scope(|scope| {
        for _ in 0..ALONE_AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((number, test)) = lock(&rest).next() else {
                        return;
                    };
                    let mut own = BTreeMap::new();
                    run_alone(
                        settings,
                        job,
                        here,
                        &test,
                        &format!("{part}.alone-{number}"),
                        &mut own,
                    );
                    lock(&found).extend(own);
                }
            });
        }
    });
    found
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs one test in a process of its own, which settles it.
fn run_alone(
    settings: &Settings,
    job: &Job<'_>,
    here: &Path,
    test: &String,
    log: &str,
    found: &mut BTreeMap<String, Outcome>,
) {
    let only = std::slice::from_ref(test);
    if settings.time_is_over() {
        found.insert(test.clone(), Outcome::failed(says(&End::OutOfTime)));
        return;
    }
    let all = job.program.tests.as_deref().unwrap_or_default();
    let run = start(settings, job, here, all, only, log);
    let said = read(&run.out, only, Some(&run));
    settle(&run, said, only, true, found);
}

fn log(settings: &Settings, job: &Job<'_>, suffix: &str) -> std::path::PathBuf {
    let name = format!("{}-{}{suffix}", job.device.name(), job.program.name);
    settings.out.join(name)
}

/// Runs some of a program's tests together.
fn start(
    settings: &Settings,
    job: &Job<'_>,
    here: &Path,
    all: &[String],
    only: &[String],
    suffix: &str,
) -> Run {
    let mut arguments = Vec::new();
    if only.len() < all.len() {
        arguments.push("--exact".to_owned());
        // libtest-mimic takes one filter alone, but any number of tests to leave out.
        if let [test] = only {
            arguments.push(test.clone());
        } else {
            for test in all.iter().filter(|test| !only.contains(test)) {
                arguments.extend(["--skip".to_owned(), test.clone()]);
            }
        }
    }
    // In the main thread: where another that used the driver is just ending, the driver's exit
    // handler waits for ever once a kernel has failed (driver 580.159.04).
    if only.len() == 1 {
        arguments.push("--test-threads=1".to_owned());
    }
    // These are ignored where there is no GPU.
    if job.device == Device::Gpu && job.program.name.starts_with("tests-interop-") {
        arguments.push("--include-ignored".to_owned());
    }
    let log = log(settings, job, &format!("-{suffix}"));
    let program = (&*job.program.path, &*arguments);
    process::run(settings, job.device, program, here, &log)
}

/// Takes over the results that count. Returns the first test that failed because the context was
/// lost, to or before it.
fn settle(
    run: &Run,
    said: Said,
    open: &[String],
    alone: bool,
    found: &mut BTreeMap<String, Outcome>,
) -> Option<String> {
    let message = |test: &String| said.messages.get(test).cloned().unwrap_or_default();
    let lost = |(test, status): &&(String, Status)| {
        *status == Status::Failed && {
            let message = message(test);
            LOST.iter().any(|lost| message.contains(lost))
        }
    };
    let first_lost = said.results.iter().find(lost).map(|(test, _)| test.clone());
    for (test, status) in &said.results {
        if *status == Status::Failed && first_lost.is_some() && !alone {
            continue;
        }
        let mut outcome = Outcome {
            status: *status,
            text: message(test),
            values: Vec::new(),
        };
        for line in &run.lines {
            match line {
                Line::Skip {
                    test: of, reason, ..
                } if alone || of == test => {
                    if outcome.status == Status::Passed {
                        outcome.status = Status::Skipped;
                        outcome.text = reason.clone();
                    }
                }
                Line::Value {
                    test: of,
                    key,
                    value,
                    ..
                } if alone || of == test => {
                    outcome.values.push((key.clone(), value.clone()));
                }
                _ => {}
            }
        }
        found.insert(test.clone(), outcome);
    }
    let unsettled = open.iter().find(|test| !found.contains_key(*test));
    if alone && let Some(test) = unsettled {
        let text = format!("{}\n{}{}", says(&run.end), run.out, run.err);
        found.insert(test.clone(), Outcome::failed(text));
        return None;
    }
    // The results are there, but the process did not end as it should.
    let failed = said
        .results
        .iter()
        .any(|(_, status)| *status == Status::Failed);
    let wrong = match &run.end {
        End::Exited { good, .. } => said.total.is_some() && !good && !failed,
        End::AfterResults => true,
        _ => false,
    };
    if wrong {
        let name = match open {
            [test] if alone => format!("{PROCESS} of {test}"),
            _ => PROCESS.to_owned(),
        };
        let text = format!("{} after its results\n{}", says(&run.end), run.err);
        found.insert(name, Outcome::failed(text));
    }
    if alone { None } else { first_lost }
}

/// The reason why an exit is a failure.
fn says(end: &End) -> String {
    match end {
        End::Exited { how, .. } => format!("the process ended with {how}"),
        End::Silent(limit) => format!("the process was silent for {limit:?}"),
        End::AfterResults => "the process did not exit".to_owned(),
        End::OutOfTime => "not run to its end: the time is over".to_owned(),
        End::Unknown(error) => error.clone(),
    }
}

/// Reads what libtest or libtest-mimic printed. For a test that ran alone its totals count where its
/// line was torn apart, as by a kernel that prints.
fn read(out: &str, open: &[String], alone: Option<&Run>) -> Said {
    let mut said = Said::default();
    let mut section: Option<&str> = None;
    for line in out.lines() {
        if let Some(numbers) = line.strip_prefix("test result: ") {
            said.total = Some(["passed", "failed", "ignored"].map(|what| count(numbers, what)));
            section = None;
            continue;
        }
        let title = line
            .strip_prefix("---- ")
            .and_then(|line| line.strip_suffix(" ----"));
        if let Some(title) = title {
            section = Some(title.strip_suffix(" stdout").unwrap_or(title));
            continue;
        }
        // The list of names after the messages.
        if line == "failures:" {
            section = None;
        }
        if let Some(test) = section {
            let message = said.messages.entry(test.to_owned()).or_default();
            message.push_str(line);
            message.push('\n');
            continue;
        }
        let Some(result) = result(line) else { continue };
        if open.contains(&result.0) && said.results.iter().all(|(test, _)| *test != result.0) {
            said.results.push(result);
        }
    }
    if let (Some(run), Some(total), [test], true) =
        (alone, said.total, open, said.results.is_empty())
        && matches!(run.end, End::Exited { .. } | End::AfterResults)
    {
        let status = match total {
            [1, 0, 0] => Some(Status::Passed),
            [0, 1, 0] => Some(Status::Failed),
            [0, 0, 1] => Some(Status::Skipped),
            _ => None,
        };
        said.results
            .extend(status.map(|status| (test.clone(), status)));
    }
    said
}

/// The test and the result of a line such as `test a::b ... ok`.
fn result(line: &str) -> Option<(String, Status)> {
    // A kernel's output may precede it.
    let (head, result) = line[line.find("test ")? + 5..].rsplit_once(" ... ")?;
    let name = head.trim_end();
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let status = match result.split([',', ' ']).next()? {
        "ok" => Status::Passed,
        "FAILED" => Status::Failed,
        "ignored" => Status::Skipped,
        _ => return None,
    };
    Some((name.to_owned(), status))
}

/// The number before a word in `ok. 3 passed; 0 failed; …`.
fn count(text: &str, what: &str) -> usize {
    let before = text
        .split([';', '.'])
        .find_map(|part| part.trim().strip_suffix(what));
    before
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::time::Duration;

    /// Prints what libtest prints for the tests `first`, `fault`, `other` and `skipped`. `at_fault` is
    /// what `fault` does, `at_end` what happens after the results.
    fn program(name: &str, at_fault: &str, at_end: &str) -> (Settings, Program) {
        let out: PathBuf =
            std::env::temp_dir().join(format!("runner-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&out).unwrap();
        let path = out.join("program.sh");
        let text = format!(
            r#"#!/bin/sh
if [ "$1" = --list ]; then
    for test in first fault other skipped; do echo "$test: test"; done
    exit
fi
tests="first fault other skipped"
passed=0
failed=0
if [ "$1" = --exact ]; then
    shift
    if [ "$1" = --skip ]; then
        while [ "$1" = --skip ]; do
            tests=$(echo "$tests" | sed "s/\b$2\b//")
            shift 2
        done
    else
        tests=$1
    fi
fi
lost=
for test in $tests; do
    if [ $test = fault ]; then
        {at_fault}
    fi
    if [ $test = skipped ]; then
        printf 'skip\tprogram\tskipped\tno reason\n' >>"$TEST_OUTCOMES"
    fi
    if [ -n "$lost" ]; then
        echo "test $test ... FAILED"
        failed=$((failed + 1))
        messages="$messages---- $test stdout ----
CUDA_ERROR_ILLEGAL_ADDRESS
"
    else
        printf 'value\tprogram\t%s\tname\t%s\n' $test $test >>"$TEST_OUTCOMES"
        echo "test $test ... ok"
        passed=$((passed + 1))
    fi
done
printf '%s' "$messages"
echo "
test result: which. $passed passed; $failed failed; 0 ignored; 0 measured; 0 filtered out"
{at_end}
[ $failed -eq 0 ]
"#
        );
        // Another process writes the file: a process that another test starts would inherit its
        // descriptor, and a file that is open for writing cannot be executed.
        let source = path.with_extension("txt");
        std::fs::write(&source, text).unwrap();
        let copied = std::process::Command::new("cp")
            .args([&source, &path])
            .status();
        assert!(copied.unwrap().success());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let settings = Settings {
            out,
            deadline: None,
            patience: Duration::from_millis(1500),
            after_results: Duration::from_millis(500),
        };
        let tests = Some(list(&path, Path::new("unused")).unwrap());
        let program = Program {
            name: name.to_owned(),
            path,
            tests,
        };
        (settings, program)
    }

    fn outcomes(name: &str, at_fault: &str, at_end: &str) -> BTreeMap<String, Outcome> {
        let (settings, program) = program(name, at_fault, at_end);
        let job = Job {
            device: Device::Gpu,
            program: &program,
            part: Some((0, program.tests.clone().unwrap())),
        };
        let found = run(&settings, &job, Path::new("."));
        std::fs::remove_dir_all(&settings.out).unwrap();
        found
    }

    fn statuses(found: &BTreeMap<String, Outcome>) -> Vec<(&str, Status)> {
        found
            .iter()
            .map(|(test, outcome)| (&**test, outcome.status))
            .collect()
    }

    const USUAL: [(&str, Status); 4] = [
        ("fault", Status::Failed),
        ("first", Status::Passed),
        ("other", Status::Passed),
        ("skipped", Status::Skipped),
    ];

    #[test]
    fn a_fault_costs_one_test() {
        let found = outcomes("lost", "lost=yes", "");
        assert_eq!(statuses(&found), USUAL);
        assert!(found["fault"].text.contains("ILLEGAL_ADDRESS"));
        assert_eq!(found["skipped"].text, "no reason");
        assert_eq!(
            found["other"].values,
            [("name".to_owned(), "other".to_owned())]
        );
    }

    #[test]
    fn a_process_that_dies_costs_one_test() {
        let found = outcomes("dies", "kill -9 $$", "");
        assert_eq!(statuses(&found), USUAL);
        assert!(found["fault"].text.contains("signal: 9"), "{found:?}");
    }

    #[test]
    fn a_test_that_hangs_costs_one_test() {
        let found = outcomes("hangs", "sleep 60", "");
        assert_eq!(statuses(&found), USUAL);
        assert!(found["fault"].text.contains("silent"), "{found:?}");
    }

    #[test]
    fn a_process_that_does_not_exit_is_a_failure_of_its_own() {
        let found = outcomes("exit", ":", "sleep 60");
        let failed = |(_, outcome): &(&String, &Outcome)| outcome.status == Status::Failed;
        let names: Vec<_> = found.iter().filter(failed).map(|(test, _)| test).collect();
        assert_eq!(names, [PROCESS]);
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn a_status_without_a_failed_test_is_a_failure_of_its_own() {
        let found = outcomes("status", ":", "exit 3");
        assert_eq!(found[PROCESS].status, Status::Failed);
        assert_eq!(found["other"].status, Status::Passed);
    }

    #[test]
    fn lines_of_both_harnesses() {
        let is = result;
        let of = |test: &str, status| Some((test.to_owned(), status));
        assert_eq!(is("test a::b ... ok"), of("a::b", Status::Passed));
        assert_eq!(is("printed test a b     ... ok"), of("a b", Status::Passed));
        assert_eq!(
            is("test a - should panic ... FAILED"),
            of("a", Status::Failed)
        );
        assert_eq!(
            is("test a ... ignored, needs a GPU"),
            of("a", Status::Skipped)
        );
        assert_eq!(is("test a ... printed"), None);
        assert_eq!(is("running 3 tests"), None);
    }
}
