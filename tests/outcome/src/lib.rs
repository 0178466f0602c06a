//! Outcomes that a test reports beyond pass and fail: that it was skipped, and which values it
//! observed.
//!
//! libtest decides before a run which tests are ignored. A test that finds out later that it cannot
//! run calls [`skip`] and returns; `./x test` and the bundle's runner then count it as skipped, not
//! as passed. [`observe`] records a value that must be the same on a GPU and on the emulator, such
//! as an error's message; the bundle's runner compares the values of both devices.
//!
//! Both append a line to the file that the environment variable [`VARIABLE`] names. Without the
//! variable, `skip` prints the reason, and `observe` does nothing.

use std::cell::RefCell;
use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The environment variable with the path of the file that outcomes are appended to.
pub const VARIABLE: &str = "TEST_OUTCOMES";

/// One line of the file: tab-separated fields, see [`Line::parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A test was skipped.
    Skip {
        /// The test program's path.
        program: String,
        /// The test's name.
        test: String,
        /// Why it was skipped.
        reason: String,
    },
    /// A test observed a value.
    Value {
        /// The test program's path.
        program: String,
        /// The test's name.
        test: String,
        /// The kind of the value.
        key: String,
        /// The value.
        value: String,
    },
}

impl Line {
    /// Reads a line of the file; `None` for a line that is not complete.
    pub fn parse(line: &str) -> Option<Line> {
        let mut fields = line.split('\t').map(unescape);
        let kind = fields.next()?;
        let (program, test) = (fields.next()?, fields.next()?);
        let line = match &*kind {
            "skip" => Line::Skip {
                program,
                test,
                reason: fields.next()?,
            },
            "value" => Line::Value {
                program,
                test,
                key: fields.next()?,
                value: fields.next()?,
            },
            _ => return None,
        };
        fields.next().is_none().then_some(line)
    }
}

thread_local! {
    static NAME: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a test of a harness whose threads do not have the names of their tests, as libtest's do.
pub fn named<T>(test: &str, run: impl FnOnce() -> T) -> T {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            NAME.set(None);
        }
    }
    NAME.set(Some(test.to_owned()));
    let _reset = Reset;
    run()
}

/// Records that the current test is skipped. The test must return after this call.
pub fn skip(reason: impl Display) {
    if !append("skip", &[&reason.to_string()]) {
        eprintln!("skipped: {reason}");
    }
}

/// Records a value that must not depend on the device. Addresses and times do; leave them out.
pub fn observe(key: &str, value: impl Display) {
    append("value", &[key, &value.to_string()]);
}

/// Tests that must fail: [`Failure::failure`].
pub trait Failure {
    /// The error's type.
    type Error;

    /// Returns the error, and records its message as [`observe`] does: it must not depend on the
    /// device.
    ///
    /// # Panics
    /// If there is no error.
    #[track_caller]
    fn failure(self) -> Self::Error;
}

impl<T, E: Display> Failure for Result<T, E> {
    type Error = E;

    fn failure(self) -> E {
        match self {
            Ok(_) => panic!("there is no error"),
            Err(error) => {
                observe("error", &error);
                error
            }
        }
    }
}

/// Records a hash of data, as [`observe`] records a string.
pub fn observe_bytes(key: &str, bytes: &[u8]) {
    // FNV-1a: the same on every host and in every version of the standard library.
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    observe(key, format_args!("{} bytes, {hash:016x}", bytes.len()));
}

fn append(kind: &str, fields: &[&str]) -> bool {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let file = FILE.get_or_init(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let Some(file) = file else { return false };
    let program = std::env::current_exe().unwrap_or_default();
    let test = NAME
        .with_borrow(Clone::clone)
        .or_else(|| std::thread::current().name().map(str::to_owned))
        .unwrap_or_default();
    let mut line = kind.to_owned();
    for field in [&*program.to_string_lossy(), &test].iter().chain(fields) {
        line.push('\t');
        line.push_str(&escape(field));
    }
    line.push('\n');
    // One write to a file opened for appending, so lines of other processes stay whole.
    let written = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        panic!("{} cannot be written: {error}", file.display());
    }
    true
}

fn escape(field: &str) -> String {
    let field = field.replace('\\', "\\\\").replace('\t', "\\t");
    field.replace('\r', "\\r").replace('\n', "\\n")
}

fn unescape(field: &str) -> String {
    let mut text = String::new();
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('r') => '\r',
                Some('n') => '\n',
                Some(other) => other,
                None => break,
            },
            c => c,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let reason = "a\tb\\n\nc\r";
        let text = ["skip", "program", "a test", reason].map(escape).join("\t");
        assert!(!text.contains('\n'));
        let line = Line::Skip {
            program: "program".to_owned(),
            test: "a test".to_owned(),
            reason: reason.to_owned(),
        };
        assert_eq!(Line::parse(&text), Some(line));
        assert_eq!(Line::parse("value\tprogram\ttest\tkey"), None);
        assert_eq!(Line::parse("skip\tprogram\ttest\treason\tmore"), None);
        assert_eq!(Line::parse("other\tprogram\ttest\treason"), None);
    }

    #[test]
    fn names_end_with_their_test() {
        assert_eq!(
            named("inner", || NAME.with_borrow(Clone::clone)),
            Some("inner".to_owned())
        );
        assert_eq!(NAME.with_borrow(Clone::clone), None);
    }
}
