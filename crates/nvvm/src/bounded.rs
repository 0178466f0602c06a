//! Compiles in a child process, so that a compilation that does not terminate can be stopped.
//!
//! libnvvm cannot be interrupted, and a thread of it cannot be killed. A forked child can: the
//! parent measures the child's CPU time and kills it when it exceeds a bound. To identify the slow
//! function, libnvvm prints each pass and function before it runs the pass
//! (`-debug-pass=Executions` of LLVM's legacy pass manager). The output goes to an in-memory file,
//! whose end the parent reads periodically.

use crate::outcome::{Bound, Outcome, Slow};
use crate::{Error, Options, Program, Status, parse_log};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

/// The time after which a sleeping child counts as blocked: another thread may have held a lock
/// when the process was forked.
const BLOCKED: Duration = Duration::from_secs(60);

/// The interval at which a child's time is read.
const TICK: Duration = Duration::from_millis(100);

impl Program {
    /// Compiles like [`Program::compile`], with a limit on the CPU time.
    ///
    /// If a child process cannot be created, the limit does not apply.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Program::compile`].
    pub fn compile_within(&mut self, options: &Options, bound: Bound) -> Result<Outcome, Error> {
        match self.in_child(options, bound) {
            Ok(outcome) => outcome,
            // Without a child process, the bound does not apply.
            Err(_) => self.compile(options).map(Outcome::Compiled),
        }
    }

    fn in_child(&mut self, options: &Options, bound: Bound) -> io::Result<Result<Outcome, Error>> {
        let traced = matches!(bound, Bound::Function { .. });
        let mut result = memory_file()?;
        let trace = memory_file()?;
        let (ended, alive) = pipe()?;
        // SAFETY: the child calls libnvvm, whose state no other thread uses, and the allocator,
        // which C libraries keep usable in a forked child.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => return Err(io::Error::last_os_error()),
            0 => self.be_child(options, &mut result, traced.then_some(&trace)),
            _ => {}
        }
        drop(alive);
        let child = Child(pid);
        let found = child.watch(&ended, bound, Trace::new(trace))?;
        if let Some(outcome) = found {
            return Ok(Ok(outcome));
        }
        let status = child.wait();
        if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
            if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == crate::crash::STATUS {
                // The child has reported the crash.
                std::process::exit(crate::crash::STATUS);
            }
            return Err(io::Error::other("libnvvm's process was killed"));
        }
        result.seek(SeekFrom::Start(0))?;
        let mut code = [0; 4];
        result.read_exact(&mut code)?;
        let mut text = Vec::new();
        result.read_to_end(&mut text)?;
        Ok(match Status::from_result(i32::from_ne_bytes(code)) {
            Ok(()) => Ok(Outcome::Compiled(text)),
            Err(status) => Err(self.compile_failure(
                options,
                status,
                parse_log(&String::from_utf8_lossy(&text), &self.modules),
            )),
        })
    }

    /// Compiles, writes the result to the in-memory file `result`, and exits the process.
    fn be_child(&mut self, options: &Options, result: &mut File, trace: Option<&File>) -> ! {
        // SAFETY: plain system calls. The child must not outlive a parent that is killed.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if let Some(trace) = trace {
                crate::crash::keep_stderr();
                libc::dup2(trace.as_raw_fd(), libc::STDERR_FILENO);
            }
        }
        let (code, text) = self.compile_raw(options, trace.is_some());
        let written = result
            .write_all(&code.to_ne_bytes())
            .and_then(|()| result.write_all(&text));
        // SAFETY: exits without running the parent's destructors and handlers.
        unsafe { libc::_exit(i32::from(written.is_err())) }
    }
}

/// Runs `work` in a child process and returns its result, or `None` if the child exceeds `limit` of
/// CPU time or crashes. The child's standard error is discarded.
///
/// # Errors
///
/// Returns an error if the child process cannot be created or is blocked.
pub fn in_child(
    limit: Duration,
    work: impl FnOnce() -> Option<Vec<u8>>,
) -> io::Result<Option<Vec<u8>>> {
    let task = Task::start(work)?;
    let trace = Trace::new(memory_file()?);
    let found = task.child.watch(&task.ended, Bound::Total(limit), trace)?;
    if found.is_some() {
        return Ok(None);
    }
    task.finish()
}

/// Calls `work` for each number below `count`, each in a child process, and returns the results in
/// order. At most `at_once` of the processes run at once. A result is `None` if `work` returns `None`,
/// or if the child crashes, is blocked or cannot be created. The children's standard error is
/// discarded.
///
/// A child may itself use [`in_child`] and [`Program::compile_within`], which limit the time. There is
/// no other limit.
pub fn in_children(
    count: usize,
    at_once: usize,
    work: impl Fn(usize) -> Option<Vec<u8>>,
) -> Vec<Option<Vec<u8>>> {
    let mut results = vec![None; count];
    let mut running: Vec<(usize, Task, Progress)> = Vec::new();
    let mut next = 0;
    while next < count || !running.is_empty() {
        while next < count && running.len() < at_once.max(1) {
            if let Ok(task) = Task::start(|| work(next)) {
                running.push((next, task, Progress::new()));
            }
            next += 1;
        }
        let ends: Vec<&OwnedFd> = running.iter().map(|(_, task, _)| &task.ended).collect();
        let Ok(mut ended) = wait_for_ends(&ends, TICK).map(Vec::into_iter) else {
            return results;
        };
        for (number, task, mut progress) in std::mem::take(&mut running) {
            if ended.next() == Some(true) {
                results[number] = task.finish().ok().flatten();
            } else if let Ok(time) = task.child.cpu_time()
                && !progress.is_blocked(time)
            {
                running.push((number, task, progress));
            }
        }
    }
    results
}

/// A function that runs in a child process. The process is killed when this value is dropped.
struct Task {
    child: Child,
    /// An end of a pipe whose other end is closed when the child exits.
    ended: OwnedFd,
    /// What the function returned.
    result: File,
}

impl Task {
    fn start(work: impl FnOnce() -> Option<Vec<u8>>) -> io::Result<Task> {
        let mut result = memory_file()?;
        let (ended, alive) = pipe()?;
        // SAFETY: the child runs a copy of this thread only. It may block on a lock that another
        // thread held, which the parent detects. The allocator is usable in a forked child.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: plain system calls. The child must not outlive a parent that is killed,
                // and exits without running the parent's destructors and handlers.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
                    libc::dup2(nowhere, libc::STDERR_FILENO);
                    // A panic must not return to the parent's code.
                    let bytes = std::panic::catch_unwind(AssertUnwindSafe(work));
                    let written =
                        matches!(bytes, Ok(Some(bytes)) if result.write_all(&bytes).is_ok());
                    libc::_exit(i32::from(!written));
                }
            }
            _ => {}
        }
        // Children that start later must not hold this end.
        drop(alive);
        Ok(Task {
            child: Child(pid),
            ended,
            result,
        })
    }

    /// Returns the result, after the child has ended.
    fn finish(self) -> io::Result<Option<Vec<u8>>> {
        let Task {
            child, mut result, ..
        } = self;
        let status = child.wait();
        if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
            return Ok(None);
        }
        result.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        result.read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}

/// The CPU time of a child, which tells whether it is blocked.
struct Progress {
    last: Duration,
    since: Instant,
}

impl Progress {
    fn new() -> Progress {
        Progress {
            last: Duration::ZERO,
            since: Instant::now(),
        }
    }

    /// Returns whether a child whose CPU time is now `time` has done nothing for [`BLOCKED`].
    fn is_blocked(&mut self, time: Duration) -> bool {
        if time > self.last {
            *self = Progress {
                last: time,
                since: Instant::now(),
            };
        }
        self.since.elapsed() > BLOCKED
    }
}

/// A child process, which is killed when this value is dropped.
struct Child(libc::pid_t);

impl Child {
    /// Waits until the child exits or exceeds a bound.
    fn watch(
        &self,
        ended: &OwnedFd,
        bound: Bound,
        mut trace: Trace,
    ) -> io::Result<Option<Outcome>> {
        let mut progress = Progress::new();
        loop {
            if wait_for_end(ended, TICK)? {
                return Ok(None);
            }
            let now = self.cpu_time()?;
            let last = progress.last;
            if progress.is_blocked(now) {
                return Err(io::Error::other("libnvvm's process is blocked"));
            }
            match bound {
                Bound::Total(limit) if now > limit => return Ok(Some(Outcome::TookLong)),
                Bound::Total(_) => {}
                Bound::Function { pass, all, total } => {
                    if let Some(mut slow) = trace.sample(now - last, pass, all)? {
                        slow.total = now;
                        return Ok(Some(Outcome::Slow(slow)));
                    }
                    if now > total {
                        return Ok(Some(Outcome::TookLong));
                    }
                }
            }
        }
    }

    fn cpu_time(&self) -> io::Result<Duration> {
        let mut clock = 0;
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: both pointers are valid for the calls.
        let failed = unsafe {
            libc::clock_getcpuclockid(self.0, &mut clock) != 0
                || libc::clock_gettime(clock, &mut time) != 0
        };
        if failed {
            return Err(io::Error::last_os_error());
        }
        Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    fn wait(self) -> libc::c_int {
        let status = self.reap();
        std::mem::forget(self);
        status
    }

    fn reap(&self) -> libc::c_int {
        let mut status = 0;
        // SAFETY: the pointer is valid for the call. A signal may interrupt it.
        while unsafe { libc::waitpid(self.0, &mut status, 0) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        status
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the child has not been waited for.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        self.reap();
    }
}

/// The trace of passes and functions that libnvvm writes.
struct Trace {
    file: File,
    read: u64,
    current: Current,
    /// The time spent on each function.
    functions: HashMap<String, Duration>,
    /// The time spent in the current pass on the current function.
    in_pass: Duration,
}

/// The pass and function that libnvvm is executing.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Current {
    pass: String,
    function: Option<String>,
    /// Counts executions.
    number: u64,
}

/// A trace longer than this number of bytes is truncated to zero.
const LONGEST_TRACE: u64 = 64 << 20;
/// The number of bytes at its end that are parsed.
const LOOKED_AT: u64 = 1 << 20;

impl Trace {
    fn new(file: File) -> Trace {
        Trace {
            file,
            read: 0,
            current: Current::default(),
            functions: HashMap::new(),
            in_pass: Duration::ZERO,
        }
    }

    /// Reads what libnvvm is executing, and attributes `time` to it. Returns the function that
    /// exceeded a limit.
    fn sample(
        &mut self,
        time: Duration,
        pass: Duration,
        all: Duration,
    ) -> io::Result<Option<Slow>> {
        let length = self.file.metadata()?.len();
        let before = self.current.number;
        if length != self.read {
            let from = self.read.max(length.saturating_sub(LOOKED_AT));
            let mut text = vec![0; (length - from.min(length)) as usize];
            // The child shares the open file, so its position must not change.
            std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut text, from)?;
            self.current.advance(&String::from_utf8_lossy(&text));
            self.read = length;
            if length > LONGEST_TRACE {
                self.file.set_len(0)?;
                self.read = 0;
            }
        }
        if self.current.number != before {
            self.in_pass = Duration::ZERO;
        }
        self.in_pass += time;
        let function = self.current.function.clone().unwrap_or_default();
        let total = self.functions.entry(function).or_default();
        *total += time;
        let slow = self.in_pass > pass || (*total > all && self.current.function.is_some());
        Ok(slow.then(|| Slow {
            function: self.current.function.clone(),
            pass: self.current.pass.clone(),
            time: *total,
            total: Duration::ZERO,
        }))
    }
}

impl Current {
    /// Reads lines such as `[…] 0x…  Executing Pass 'Dead Store Elimination' on Function 'f'...`.
    fn advance(&mut self, text: &str) {
        for line in text.lines() {
            let Some((_, rest)) = line.split_once(" Executing Pass '") else {
                continue;
            };
            let Some((pass, on)) = rest.split_once("' on ") else {
                continue;
            };
            let Some((kind, name)) = on.split_once(" '") else {
                continue;
            };
            let Some(name) = name.strip_suffix("'...") else {
                continue;
            };
            self.number += 1;
            pass.clone_into(&mut self.pass);
            match kind {
                "Function" => self.function = Some(name.to_owned()),
                // Several names: a strongly connected component of the call graph.
                "Call Graph Nodes" => {
                    let first = name.split(", ").next().unwrap_or(name);
                    self.function = Some(first.to_owned());
                }
                "Module" => self.function = None,
                // A loop of the last function.
                _ => {}
            }
        }
    }
}

fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a C string, and the returned descriptor is owned by nobody else.
    unsafe {
        let fd = libc::memfd_create(c"libnvvm".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // Makes writes after a truncation go to the new end.
        libc::fcntl(fd, libc::F_SETFL, libc::O_APPEND);
        Ok(File::from_raw_fd(fd))
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the pointer is valid for the call, and the descriptors are owned by nobody else.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Returns whether the other end of a pipe was closed within a time.
fn wait_for_end(end: &OwnedFd, time: Duration) -> io::Result<bool> {
    Ok(wait_for_ends(&[end], time)?.contains(&true))
}

/// Waits until the other end of one of some pipes is closed, or for a time. Returns of which pipes the
/// other end is closed.
fn wait_for_ends(ends: &[&OwnedFd], time: Duration) -> io::Result<Vec<bool>> {
    let poll = |end: &&OwnedFd| libc::pollfd {
        fd: end.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut polls: Vec<libc::pollfd> = ends.iter().map(poll).collect();
    let (count, time) = (polls.len() as libc::nfds_t, time.as_millis() as libc::c_int);
    // SAFETY: the pointer is valid for `count` elements.
    let ready = unsafe { libc::poll(polls.as_mut_ptr(), count, time) };
    if ready == -1 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::Interrupted => Ok(vec![false; ends.len()]),
            _ => Err(error),
        };
    }
    Ok(polls.iter().map(|poll| poll.revents != 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[t] 0x1 Executing Pass 'Loop Pass Manager' on Function 'f'...\n\
                        [t] 0x1  Executing Pass 'Unroll loops' on Loop 'bb1'...\n";

    #[test]
    fn children_run_at_once_and_return_in_order() {
        let start = Instant::now();
        let results = in_children(6, 3, |number| {
            match number {
                // The first one ends last.
                0 => std::thread::sleep(Duration::from_millis(400)),
                2 => panic!("a child"),
                3 => return None,
                // SAFETY: ends this process.
                4 => unsafe { libc::abort() },
                _ => std::thread::sleep(Duration::from_millis(100)),
            }
            Some(vec![number as u8; number + 1])
        });
        let lens: Vec<Option<usize>> = (results.iter())
            .map(|result| result.as_ref().map(Vec::len))
            .collect();
        assert_eq!(lens, [Some(1), Some(2), None, None, None, Some(6)]);
        assert_eq!(results[5], Some(vec![5; 6]));
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(in_children(0, 2, |_| None).is_empty());
        // At least one process runs.
        assert_eq!(in_children(1, 0, |_| Some(vec![1])), [Some(vec![1])]);
    }

    #[test]
    fn passes_and_functions_are_read() {
        let mut current = Current::default();
        current.advance(TEXT);
        let expected = Current {
            pass: "Unroll loops".to_owned(),
            function: Some("f".to_owned()),
            number: 2,
        };
        assert_eq!(current, expected);
        current.advance("[t] 0x1 Executing Pass 'Inlining' on Call Graph Nodes 'g, h'...\nother\n");
        assert_eq!(
            (current.function.as_deref(), current.number),
            (Some("g"), 3)
        );
        current.advance("[t] 0x1 Executing Pass 'Global Variable Optimizer' on Module 'm'...\n");
        assert_eq!(current.function, None);
    }

    #[test]
    fn time_is_counted_for_passes_and_functions() {
        let second = Duration::from_secs(1);
        let mut file = memory_file().unwrap();
        let mut trace = Trace::new(file.try_clone().unwrap());
        file.write_all(TEXT.as_bytes()).unwrap();
        assert_eq!(trace.sample(second, second * 2, second * 9).unwrap(), None);
        assert_eq!(trace.sample(second, second * 2, second * 9).unwrap(), None);
        let slow = trace.sample(second, second * 2, second * 9).unwrap();
        let slow = slow.expect("three seconds in a pass that may take two");
        assert_eq!(slow.function.as_deref(), Some("f"));
        assert_eq!(
            (slow.pass.as_str(), slow.time),
            ("Unroll loops", second * 3)
        );
        // Another pass, on the same function.
        file.write_all(TEXT.as_bytes()).unwrap();
        assert_eq!(trace.sample(second, second * 2, second * 4).unwrap(), None);
        assert!(
            trace
                .sample(second, second * 2, second * 4)
                .unwrap()
                .is_some()
        );
    }
}
