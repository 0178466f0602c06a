//! The error codes of faults on every device: `synchronize` and later calls return the same code,
//! and the process then exits normally. Each fault runs in a child process.

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{FAULTS, init, stream};
use cust::prelude::*;

/// Set in child processes: the fault.
const CHILD: &str = "CUST_TEST_FAULT";

/// The time limit of a child process.
const LIMIT: Duration = Duration::from_secs(50);

#[test]
#[ignore = "runs in the processes that the other tests start"]
fn in_a_child() {
    let Ok(kind) = std::env::var(CHILD) else {
        test_outcome::skip("runs in the processes that the other tests start");
        return;
    };
    let context = init();
    let module = Module::from_ptx(FAULTS, &[]).unwrap();
    let buffer = DeviceBuffer::<u32>::zeroed(4).unwrap();
    let stream = stream();
    let inside = buffer.as_device_ptr().as_raw();
    // SAFETY: the kernels fault on purpose; the last one writes to the first element.
    unsafe {
        match &*kind {
            "illegal" => launch!(module.store<<<1, 1, 0, stream>>>(16u64)),
            "misaligned" => launch!(module.store<<<1, 1, 0, stream>>>(inside + 2)),
            "trap" => launch!(module.stop<<<1, 1, 0, stream>>>()),
            _ => launch!(module.store<<<1, 1, 0, stream>>>(inside)),
        }
    }
    .unwrap();
    let code = |result: CudaResult<()>| match result {
        Ok(()) => "no error".to_owned(),
        Err(error) => format!("{:?}", error.code()),
    };
    let first = code(stream.synchronize());
    let later = code(buffer.as_host_vec().map(drop));
    let of_context = code(context.synchronize());
    println!("\nRESULT {first}; {later}; {of_context}");
}

/// Runs a fault in a child process, and returns the error codes that it printed.
fn codes(kind: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "in_a_child", "--nocapture", "--include-ignored"])
        .env(CHILD, kind)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("the process does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.strip_prefix("RESULT "));
    let codes = line.expect("the child prints its result").to_owned();
    test_outcome::observe("codes", &codes);
    codes
}

fn three_times(code: &str) -> String {
    let code = format!("Some({code})");
    [&*code; 3].join("; ")
}

#[test]
fn no_fault() {
    assert_eq!(codes("none"), "no error; no error; no error");
}

#[test]
fn an_illegal_address() {
    assert_eq!(codes("illegal"), three_times("IllegalAddress"));
}

#[test]
fn a_misaligned_address() {
    assert_eq!(codes("misaligned"), three_times("MisalignedAddress"));
}

#[test]
fn a_trap() {
    assert_eq!(codes("trap"), three_times("LaunchFailed"));
}
