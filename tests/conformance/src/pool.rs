//! Runs a part's tests on several workers, each with its own device.

use crate::worker::{End, Reply, Test};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How tests are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many workers there are.
    pub jobs: usize,
    /// How long a test may take.
    pub timeout: Duration,
    /// Tests that are expected to fail, perhaps by not ending: they get [`Options::SHORT`].
    pub listed: BTreeSet<String>,
    /// Only tests whose name contains this.
    pub filter: String,
    /// The value of `CUST_DEVICE` for the workers.
    pub device: &'static str,
}

impl Options {
    /// How long a listed test may take.
    const SHORT: Duration = Duration::from_secs(10);

    fn timeout_of(&self, test: &Test) -> Duration {
        if self.listed.contains(&test.name) {
            self.timeout.min(Options::SHORT)
        } else {
            self.timeout
        }
    }
}

/// A test and how it ended.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The test.
    pub test: Test,
    /// How it ended; nothing if it was not run.
    pub end: Option<End>,
    /// For how many milliseconds it ran.
    pub time: u64,
}

/// The outcomes of a part's tests, and the device.
#[derive(Clone, Debug, Default)]
pub struct PartRan {
    /// The device, as it calls itself.
    pub device: String,
    /// The tests.
    pub tests: Vec<Ran>,
}

/// Runs the tests of a part. `progress` is told of each that ended.
pub fn run(ptx: &Path, options: &Options, progress: &(dyn Fn(&Ran) + Sync)) -> Result<PartRan> {
    let mut first = Worker::start(ptx, options)?;
    let tests = std::mem::take(&mut first.tests);
    let device = first.device.clone();
    let selected = |test: &Test| {
        test.name.contains(&options.filter) && !test.is_benchmark && test.ignored.is_none()
    };
    let queue: VecDeque<usize> = (0..tests.len()).filter(|&i| selected(&tests[i])).collect();
    let jobs = options.jobs.clamp(1, queue.len().max(1));
    let queue = Mutex::new(queue);
    let ends: Mutex<Vec<Option<(u64, End)>>> = Mutex::new(vec![None; tests.len()]);
    let first = Mutex::new(Some(first));
    std::thread::scope(|scope| {
        let one = || -> Result<()> {
            let mut worker = lock(&first).take();
            loop {
                let next = lock(&queue).pop_front();
                let Some(index) = next else { break };
                let mut current = match worker.take() {
                    Some(worker) => worker,
                    None => Worker::start(ptx, options)?,
                };
                let (time, end) = current.run(index, options.timeout_of(&tests[index]));
                progress(&Ran {
                    test: tests[index].clone(),
                    end: Some(end.clone()),
                    time,
                });
                if !matches!(end, End::Fault(_)) {
                    worker = Some(current);
                }
                lock(&ends)[index] = Some((time, end));
            }
            Ok(())
        };
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(one)).collect();
        for thread in threads {
            match thread.join() {
                Ok(result) => result?,
                Err(_) => bail!("a thread that ran tests panicked"),
            }
        }
        Ok(())
    })?;
    let ends = ends.into_inner().unwrap_or_else(PoisonError::into_inner);
    let tests = tests
        .into_iter()
        .zip(ends)
        .map(|(test, end)| Ran {
            test,
            time: end.as_ref().map_or(0, |(time, _)| *time),
            end: end.map(|(_, end)| end),
        })
        .collect();
    Ok(PartRan { device, tests })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker's process, which ends with this.
struct Worker {
    child: Child,
    input: ChildStdin,
    replies: Receiver<Reply>,
    device: String,
    tests: Vec<Test>,
}

impl Worker {
    /// Starts it and has it describe the tests.
    fn start(ptx: &Path, options: &Options) -> Result<Worker> {
        /// For loading: on a GPU the driver compiles the PTX.
        const PATIENCE: Duration = Duration::from_secs(600);
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--worker")
            .arg(ptx)
            .env(cust::DEVICE_VARIABLE, options.device)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("a worker cannot be started")?;
        let input = child.stdin.take().context("a worker without input")?;
        let output = child.stdout.take().context("a worker without output")?;
        let (sender, replies) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                // Anything else is what a test printed.
                if let Some(reply) = Reply::parse(&String::from_utf8_lossy(&line))
                    && sender.send(reply).is_err()
                {
                    break;
                }
            }
        });
        let mut worker = Worker {
            child,
            input,
            replies,
            device: String::new(),
            tests: Vec::new(),
        };
        loop {
            match worker.replies.recv_timeout(PATIENCE) {
                Ok(Reply::Device(name)) => worker.device = name,
                Ok(Reply::Test(test)) => worker.tests.push(test),
                Ok(Reply::Ready) => return Ok(worker),
                Ok(Reply::Ran(..)) | Err(_) => {
                    bail!("{} cannot be loaded; see above", ptx.display())
                }
            }
        }
    }

    /// Runs a test. After a fault the worker is of no use.
    fn run(&mut self, index: usize, timeout: Duration) -> (u64, End) {
        let fault = |text: &str| End::Fault(text.to_owned());
        if writeln!(self.input, "{index}").is_err() {
            return (0, fault("the worker ended before the test"));
        }
        match self.replies.recv_timeout(timeout) {
            Ok(Reply::Ran(time, end)) => (time, end),
            Ok(_) => (0, fault("the worker said something else")),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = timeout.as_secs();
                (
                    timeout.as_millis() as u64,
                    fault(&format!("timed out after {seconds} s")),
                )
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait();
                let status = status.map_or(String::new(), |status| status.to_string());
                (0, fault(&format!("the worker crashed: {status}")))
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
