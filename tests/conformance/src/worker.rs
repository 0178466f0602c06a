//! The process that owns the device: it loads a part's PTX, describes its tests, and runs the
//! requested tests, each as a launch of one thread.
//!
//! It is a separate process because a failing test may affect others: a fault loses the context,
//! and a test that does not terminate has to be killed. It communicates in lines with tab-separated
//! fields: see [`Reply`].

use anyhow::{Context as _, Result, bail};
use cust::module::OptLevel;
use cust::prelude::*;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

/// A test, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Test {
    /// Its path in its crate.
    pub name: String,
    /// The suite itself ignores it on this target, and why.
    pub ignored: Option<String>,
    /// It has to panic, with this in its message.
    pub should_panic: Option<String>,
    /// It measures something and tests nothing.
    pub is_benchmark: bool,
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The test returned.
    Returned,
    /// It panicked: the message, and where.
    Panicked(String, String),
    /// Something else, that a test must never do.
    Fault(String),
}

/// A message of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The device, once.
    Device(String),
    /// One of the tests, in their order.
    Test(Test),
    /// All tests were described.
    Ready,
    /// A test ran, for this number of milliseconds.
    Ran(u64, End),
}

impl Reply {
    /// As a line.
    pub fn to_line(&self) -> String {
        let flag = |text: &Option<String>| match text {
            Some(text) => format!("1{text}"),
            None => "0".to_owned(),
        };
        let fields: Vec<String> = match self {
            Reply::Device(name) => vec!["device".into(), name.clone()],
            Reply::Test(test) => vec![
                "test".into(),
                test.name.clone(),
                flag(&test.ignored),
                flag(&test.should_panic),
                u8::from(test.is_benchmark).to_string(),
            ],
            Reply::Ready => vec!["ready".into()],
            Reply::Ran(time, end) => {
                let (kind, text, place) = match end {
                    End::Returned => ("returned", "", ""),
                    End::Panicked(message, place) => ("panicked", &message[..], &place[..]),
                    End::Fault(text) => ("fault", &text[..], ""),
                };
                let time = time.to_string();
                vec!["ran".into(), time, kind.into(), text.into(), place.into()]
            }
        };
        let escaped: Vec<String> = fields.iter().map(|field| escape(field)).collect();
        escaped.join("\t")
    }

    /// From a line.
    pub fn parse(line: &str) -> Option<Reply> {
        let fields: Vec<String> = line.split('\t').map(unescape).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let flag = |text: &str| text.strip_prefix('1').map(str::to_owned);
        Some(match fields[..] {
            ["device", name] => Reply::Device(name.to_owned()),
            ["test", name, ignored, should_panic, benchmark] => Reply::Test(Test {
                name: name.to_owned(),
                ignored: flag(ignored),
                should_panic: flag(should_panic),
                is_benchmark: benchmark == "1",
            }),
            ["ready"] => Reply::Ready,
            ["ran", time, kind, text, place] => {
                let end = match kind {
                    "returned" => End::Returned,
                    "panicked" => End::Panicked(text.to_owned(), place.to_owned()),
                    "fault" => End::Fault(text.to_owned()),
                    _ => return None,
                };
                Reply::Ran(time.parse().ok()?, end)
            }
            _ => return None,
        })
    }
}

fn escape(field: &str) -> String {
    field
        .replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescape(field: &str) -> String {
    let mut text = String::new();
    let mut chars = field.chars();
    while let Some(char) = chars.next() {
        text.push(match char {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => break,
            },
            other => other,
        });
    }
    text
}

/// The output of the kernel; `device/test` has the same layout.
#[derive(Clone, Copy)]
#[repr(C)]
struct Description {
    count: u32,
    flags: u32,
    lengths: [u32; 3],
    text: [u8; 1004],
}

// SAFETY: numbers alone.
unsafe impl DeviceCopy for Description {}

/// The heap: what panicking tests had allocated is never freed.
const HEAP: usize = 1 << 30;

/// The worker's whole life: it ends when its input does, or after a fault.
pub fn work(ptx: &Path) -> Result<()> {
    let mut output = std::io::stdout();
    let mut say = |reply: Reply| -> Result<()> {
        output.write_all((reply.to_line() + "\n").as_bytes())?;
        Ok(output.flush()?)
    };
    let chosen = cust::init_auto()?;
    say(Reply::Device(chosen.to_string()))?;
    let context = chosen.into_context();
    let emulated = context.backend() == Backend::Emulator;
    context.set_resource_limit(ResourceLimit::MallocHeapSize, HEAP)?;
    let module = load(ptx, emulated)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let description = DeviceBuffer::from_slice(&[EMPTY])?;
    let describe = module.get_function("conformance_describe")?;
    let mut index = 0;
    loop {
        // SAFETY: the kernel writes one description.
        unsafe { launch!(describe<<<1, 1, 0, stream>>>(index, description.as_device_ptr()))? };
        stream.synchronize()?;
        let found = description.as_host_vec()?[0];
        if index >= found.count {
            break;
        }
        say(Reply::Test(test(&found)?))?;
        index += 1;
    }
    say(Reply::Ready)?;

    let run = module.get_function("conformance_run")?;
    for line in std::io::stdin().lock().lines() {
        let index: u32 = line?.trim().parse().context("not a test's number")?;
        let start = Instant::now();
        // SAFETY: the kernel has no pointers.
        let launched = unsafe { launch!(run<<<1, 1, 0, stream>>>(index)) };
        let end = match launched.and_then(|()| stream.synchronize()) {
            Ok(()) => End::Returned,
            Err(error) => match error.panic() {
                Some(panic) => {
                    let place = format!("{}:{}:{}", panic.file, panic.line, panic.column);
                    End::Panicked(panic.message.to_string(), place)
                }
                None => End::Fault(error.to_string()),
            },
        };
        let fault = matches!(end, End::Fault(_));
        say(Reply::Ran(start.elapsed().as_millis() as u64, end))?;
        if fault {
            bail!("the context is lost");
        }
    }
    Ok(())
}

/// Loads a part: a cubin beside the PTX, if there is one, else the PTX.
fn load(ptx: &Path, emulated: bool) -> Result<Module> {
    if !emulated {
        let cubin = ptx.with_extension("cubin");
        if cubin.is_file() {
            // SAFETY: the build made the cubin.
            return Ok(unsafe { Module::from_cubin(std::fs::read(cubin)?, &[]) }?);
        }
    }
    let text = std::fs::read_to_string(ptx)
        .with_context(|| format!("{} cannot be read", ptx.display()))?;
    // The driver's compiler is slow for this amount of code, especially when it optimizes.
    Ok(Module::from_ptx(
        text,
        &[ModuleJitOption::OptLevel(OptLevel::O0)],
    )?)
}

const EMPTY: Description = Description {
    count: 0,
    flags: 0,
    lengths: [0; 3],
    text: [0; 1004],
};

fn test(found: &Description) -> Result<Test> {
    let mut rest = &found.text[..];
    let mut texts = Vec::new();
    for length in found.lengths {
        let (text, after) = rest
            .split_at_checked(length as usize)
            .context("a description is too long")?;
        texts.push(String::from_utf8_lossy(text).into_owned());
        rest = after;
    }
    let [name, ignored, message] = <[String; 3]>::try_from(texts).unwrap_or_default();
    Ok(Test {
        name,
        ignored: (found.flags & 1 != 0).then_some(ignored),
        should_panic: (found.flags & 2 != 0).then_some(message),
        is_benchmark: found.flags & 4 != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_as_they_were_written() {
        let test = Test {
            name: "a::b".to_owned(),
            ignored: Some(String::new()),
            should_panic: Some("tab\tline\n\\n".to_owned()),
            is_benchmark: false,
        };
        for reply in [
            Reply::Device("x".to_owned()),
            Reply::Test(test),
            Reply::Ready,
            Reply::Ran(12, End::Returned),
            Reply::Ran(0, End::Panicked("a\r\nb".to_owned(), "f.rs:1:2".to_owned())),
            Reply::Ran(7, End::Fault("illegal".to_owned())),
        ] {
            let line = reply.to_line();
            assert!(!line.contains('\n'));
            assert_eq!(Reply::parse(&line), Some(reply));
        }
        assert_eq!(Reply::parse("thread panicked"), None);
    }
}
