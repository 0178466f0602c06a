//! A process that is started, monitored and, if necessary, killed.

use crate::{Device, Settings};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use test_outcome::Line;

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It exited or died, as the string says, successfully or not.
    Exited { good: bool, how: String },
    /// It printed nothing for too long.
    Silent(Duration),
    /// It printed its results and did not exit.
    AfterResults,
    /// The time of the whole run is over.
    OutOfTime,
    /// It could not be started or watched.
    Unknown(String),
}

/// A process that ended.
#[derive(Debug)]
pub struct Run {
    pub end: End,
    pub out: String,
    pub err: String,
    /// The records of its tests.
    pub lines: Vec<Line>,
}

/// Runs a program with arguments; `log` is the path of its logs without their extensions.
pub fn run(
    settings: &Settings,
    device: Device,
    (program, arguments): (&Path, &[String]),
    here: &Path,
    log: &Path,
) -> Run {
    let [out, err, values] = ["out", "err", "values"].map(|extension| {
        let mut name = log.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        std::path::PathBuf::from(name)
    });
    // A run before may have left one, and lines are appended.
    let _ = std::fs::remove_file(&values);
    let end = (|| {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(&settings.out)
            .env("CUST_DEVICE", device.name())
            // A lost context may cost hundreds of tests, each of which would look for symbols.
            .env("RUST_BACKTRACE", "0")
            .env("DEVICE_TESTS_CUBINS", here.join("ptx/tests"))
            .env(test_outcome::VARIABLE, &values)
            .stdin(Stdio::null())
            // Files, not pipes: a grandchild that goes on would keep a pipe open.
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?)
            .process_group(0)
            .spawn()?;
        watch(settings, &mut child, &out)
    })();
    let read = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Run {
        end: end.unwrap_or_else(|error| End::Unknown(error.to_string())),
        out: read(&out),
        err: read(&err),
        lines: read(&values).lines().filter_map(Line::parse).collect(),
    }
}

fn watch(settings: &Settings, child: &mut Child, out: &Path) -> std::io::Result<End> {
    let (mut size, mut heard, mut results) = (0, Instant::now(), false);
    let mut pause = Duration::from_millis(2);
    let end = loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exited {
                good: status.success(),
                how: status.to_string(),
            });
        }
        let now = std::fs::metadata(out)?.len();
        if now != size {
            (size, heard) = (now, Instant::now());
            let text = std::fs::read(out)?;
            results = String::from_utf8_lossy(&text).contains("\ntest result: ");
        }
        let limit = if results {
            settings.after_results
        } else {
            settings.patience
        };
        if settings.time_is_over() {
            break End::OutOfTime;
        }
        if heard.elapsed() > limit {
            break if results {
                End::AfterResults
            } else {
                End::Silent(limit)
            };
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    };
    // With the processes that it started, which are of its group.
    let group = format!("-{}", child.id());
    let killed = Command::new("kill").args(["-9", "--", &group]).status();
    if !killed.is_ok_and(|status| status.success()) {
        child.kill()?;
    }
    // A process that hangs in the driver may stay for a while, even killed.
    let start = Instant::now();
    while child.try_wait()?.is_none() && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(end)
}
