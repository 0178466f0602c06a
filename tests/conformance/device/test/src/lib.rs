//! A libtest for device code: what `rustc --test` expects of a crate `test`, and two functions
//! that the kernels of a suite call: one describes a test to the host, one runs it.
//!
//! The harness that rustc generates can only be called as its `main`, which hands all tests to
//! [`test_main_env_args`]. So a kernel says first what is to be done ([`request`]), then calls it.
//! A launch has one thread, so the request can be a plain static.

#![no_std]

pub use core::hint::black_box;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

/// The result of the harness's `main`. Without `std` rustc lets it return nothing else.
pub type ExitCode = ();

/// Whether a test has to panic, and with which text in its message.
#[derive(Clone, Copy, Debug)]
pub enum ShouldPanic {
    No,
    Yes,
    YesWithMessage(&'static str),
}

/// Where a test comes from.
#[derive(Clone, Copy, Debug)]
pub enum TestType {
    UnitTest,
    IntegrationTest,
    Unknown,
}

/// The test's path in its crate.
#[derive(Clone, Copy, Debug)]
pub struct StaticTestName(pub &'static str);

/// The attributes of a test.
#[derive(Clone, Copy, Debug)]
pub struct TestDesc {
    pub name: StaticTestName,
    pub ignore: bool,
    pub ignore_message: Option<&'static str>,
    pub source_file: &'static str,
    pub start_line: usize,
    pub start_col: usize,
    pub end_line: usize,
    pub end_col: usize,
    pub should_panic: ShouldPanic,
    pub compile_fail: bool,
    pub no_run: bool,
    pub test_type: TestType,
}

/// The argument of a benchmark. Nothing is measured here: benchmarks are never called.
#[derive(Debug)]
pub struct Bencher(());

impl Bencher {
    pub fn iter<T>(&mut self, mut body: impl FnMut() -> T) {
        black_box(body());
    }
}

/// A test's function.
pub enum TestFn {
    StaticTestFn(fn() -> Result<(), ()>),
    StaticBenchFn(fn(&mut Bencher) -> Result<(), ()>),
}
pub use TestFn::{StaticBenchFn, StaticTestFn};

/// A test.
pub struct TestDescAndFn {
    pub desc: TestDesc,
    pub testfn: TestFn,
}

/// The result of a test.
pub trait Termination {
    fn succeeded(self) -> bool;
}

impl Termination for () {
    fn succeeded(self) -> bool {
        true
    }
}

impl<T: Termination, E: core::fmt::Debug> Termination for Result<T, E> {
    fn succeeded(self) -> bool {
        match self {
            Ok(value) => value.succeeded(),
            Err(error) => panic!("the test returned the error {error:?}"),
        }
    }
}

pub fn assert_test_result(result: impl Termination) -> Result<(), ()> {
    if result.succeeded() { Ok(()) } else { Err(()) }
}

/// The test that is to be described or run.
static INDEX: AtomicU32 = AtomicU32::new(0);
/// Where its description goes; null if the test is to be run.
static DESCRIPTION: AtomicPtr<Description> = AtomicPtr::new(core::ptr::null_mut());

/// The record of a test that the host reads. The host's definition has the same layout.
#[repr(C)]
pub struct Description {
    /// How many tests there are.
    pub count: u32,
    /// 1: ignored; 2: has to panic; 4: a benchmark.
    pub flags: u32,
    /// The lengths of the three strings.
    pub lengths: [u32; 3],
    /// The name, the reason why it is ignored, and what its panic has to say.
    pub text: [u8; 1004],
}

/// Selects the action of the harness's next call: run test `number`, or describe it.
pub fn request(index: u32, description: *mut Description) {
    INDEX.store(index, Relaxed);
    DESCRIPTION.store(description, Relaxed);
}

pub fn test_main_env_args(tests: &[&TestDescAndFn]) -> ExitCode {
    let index = INDEX.load(Relaxed) as usize;
    let description = DESCRIPTION.load(Relaxed);
    if description.is_null() {
        match &tests[index].testfn {
            StaticTestFn(run) => {
                if run().is_err() {
                    panic!("the test returned an error");
                }
            }
            StaticBenchFn(_) => panic!("a benchmark is no test"),
        }
    } else {
        // SAFETY: the kernel's caller gave room for one description.
        unsafe { describe(&mut *description, tests, index) };
    }
}

pub use test_main_env_args as test_main_env_args_abort;

fn describe(to: &mut Description, tests: &[&TestDescAndFn], index: usize) {
    to.count = tests.len() as u32;
    let Some(test) = tests.get(index) else {
        return;
    };
    let (panics, message) = match test.desc.should_panic {
        ShouldPanic::No => (false, ""),
        ShouldPanic::Yes => (true, ""),
        ShouldPanic::YesWithMessage(message) => (true, message),
    };
    let bench = matches!(test.testfn, StaticBenchFn(_));
    to.flags = u32::from(test.desc.ignore) | u32::from(panics) << 1 | u32::from(bench) << 2;
    let texts = [
        test.desc.name.0,
        test.desc.ignore_message.unwrap_or_default(),
        message,
    ];
    let mut at = 0;
    for (text, length) in texts.into_iter().zip(&mut to.lengths) {
        let room = text.len().min(to.text.len() - at);
        to.text[at..at + room].copy_from_slice(&text.as_bytes()[..room]);
        *length = room as u32;
        at += room;
    }
}
