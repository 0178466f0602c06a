//! Kernels that run for a long time: a note on stderr that names the kernel, and a time limit.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The environment variable with the time limit of a launch in seconds. By default there is no
/// limit, as on a GPU without a display.
const VARIABLE: &str = "PTX_EMULATOR_TIME_LIMIT";
/// The time after which a note names the running kernel.
const NOTE_AFTER: Duration = Duration::from_secs(20);

/// The start of a launch and its time limit.
pub(crate) struct Time {
    began: Instant,
    noted: AtomicBool,
}

fn limit() -> Option<Duration> {
    static LIMIT: OnceLock<Option<Duration>> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let value = std::env::var(VARIABLE)
            .ok()
            .filter(|value| !value.is_empty())?;
        let seconds = value.parse::<f64>().ok();
        let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if limit.is_none() {
            eprintln!(
                "warning: {VARIABLE} is `{value}`, expected a number of seconds; no limit is set"
            );
        }
        limit
    })
}

impl Time {
    pub(crate) fn new() -> Time {
        Time {
            began: Instant::now(),
            noted: AtomicBool::new(false),
        }
    }

    /// Prints a note on stderr, once, if the kernel runs for a long time. Returns a message if the
    /// time limit is exceeded. Called once per time slice of each thread.
    pub(crate) fn check(&self, kernel: impl FnOnce() -> String) -> Option<String> {
        let elapsed = self.began.elapsed();
        if let Some(limit) = limit().filter(|&limit| elapsed > limit) {
            let seconds = limit.as_secs_f64();
            return Some(format!(
                "the kernel has run for more than {seconds} s, the limit set by {VARIABLE}"
            ));
        }
        if elapsed > NOTE_AFTER && !self.noted.swap(true, Ordering::Relaxed) {
            let (kernel, seconds) = (kernel(), NOTE_AFTER.as_secs());
            eprintln!(
                "note: the kernel `{kernel}` has been running on the PTX emulator for {seconds} s; \
                 `{VARIABLE}=SECONDS` sets a limit"
            );
        }
        None
    }
}
