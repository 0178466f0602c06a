//! Reports a crash inside libnvvm before the process exits.
//!
//! libnvvm runs in the compiler's process, so an invalid access, a stack overflow or an `abort` in
//! it ends the compiler. The state after a crash cannot be trusted: the signal handler only writes
//! a message and exits.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signals of a crash.
const SIGNALS: [libc::c_int; 5] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
];

/// rustc's exit status after an internal compiler error.
pub(crate) const STATUS: libc::c_int = 101;

/// The file descriptor for the message.
static STDERR: AtomicI32 = AtomicI32::new(libc::STDERR_FILENO);

/// Directs the message of a crash to the current standard error, even if it is redirected later.
pub(crate) fn keep_stderr() {
    // SAFETY: a plain system call.
    let copy = unsafe { libc::dup(libc::STDERR_FILENO) };
    if copy >= 0 {
        STDERR.store(copy, Ordering::Relaxed);
    }
}

/// The previous signal actions, in the order of `SIGNALS`.
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

thread_local! {
    /// The message to write if this thread crashes: address and length.
    static TEXT: Cell<(*const u8, usize)> = const { Cell::new((std::ptr::null(), 0)) };
}

/// Runs `run` on this thread. If it crashes, writes `text` to standard error and exits.
pub(crate) fn with_crash_message<T>(text: &str, run: impl FnOnce() -> T) -> T {
    BEFORE.get_or_init(|| SIGNALS.map(install));
    TEXT.set((text.as_ptr(), text.len()));
    let result = run();
    TEXT.set((std::ptr::null(), 0));
    result
}

/// Installs the handler for a signal, and returns the previous action.
fn install(signal: libc::c_int) -> libc::sigaction {
    // SAFETY: zeros are valid for the structure, and the handler calls only async-signal-safe
    // functions. The standard library gives threads an alternate signal stack.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, &mut before);
        before
    }
}

extern "C" fn handle(signal: libc::c_int) {
    let (text, length) = TEXT.get();
    if !text.is_null() {
        // SAFETY: the message lives while the thread executes `run`.
        unsafe {
            libc::write(STDERR.load(Ordering::Relaxed), text.cast(), length);
            libc::_exit(STATUS);
        }
    }
    // A crash of another thread. Returning re-executes the faulting instruction.
    let at = SIGNALS.iter().position(|&other| other == signal);
    if let (Some(before), Some(at)) = (BEFORE.get(), at) {
        // SAFETY: the system returned this action.
        unsafe { libc::sigaction(signal, &before[at], std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const CRASH: &str = "NVVM_TEST_CRASH";

    #[allow(unconditional_recursion)]
    fn without_end(depth: u64) -> u64 {
        let here = std::hint::black_box([depth; 64]);
        without_end(depth + 1) + here[depth as usize % 64]
    }

    /// The child processes of the test below.
    fn crash(how: &str) {
        let run = || match how {
            "access" => {
                // SAFETY: none; this is the crash.
                unsafe { libc::raise(libc::SIGSEGV) };
            }
            "stack" => assert_ne!(without_end(0), 1),
            "abort" => std::process::abort(),
            _ => {}
        };
        with_crash_message("it crashed\n", run);
        if how == "later" {
            std::process::abort();
        }
    }

    #[test]
    fn crashes_are_reported() {
        if let Ok(how) = std::env::var(CRASH) {
            std::thread::spawn(move || crash(&how)).join().unwrap();
            return;
        }
        let run = |how: &str| {
            let output = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "crash::tests::crashes_are_reported",
                    "--nocapture",
                ])
                .env(CRASH, how)
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&output.stderr).contains("it crashed\n");
            (told, output.status.code())
        };
        for how in ["access", "stack", "abort"] {
            assert_eq!(run(how), (true, Some(STATUS)), "{how}");
        }
        assert_eq!(run("nothing"), (false, Some(0)));
        // A crash outside libnvvm.
        assert_eq!(run("later"), (false, None));
    }
}
