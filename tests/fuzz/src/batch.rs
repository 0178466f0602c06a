//! Compiles many programs in one crate for the CPU and for the device, runs them, and compares.
//!
//! Both sides compile the same module of programs. The CPU's results come from a program that
//! rustc's LLVM backend compiles at two optimization levels; the device's results come from one
//! kernel, launched once per program.

use crate::program::{Program, RECURSION_DEPTH};
use anyhow::{Context as _, Result, bail};
use cuda_builder::{CudaBuilder, DebugInfo, OptLevel};
use cust::prelude::*;
use std::cell::Cell;
use std::fmt::Write;
use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How many threads run a program.
pub const THREADS: u32 = 8;
/// How many words the threads' shared memory has.
const SHARED: usize = 4;
/// Its first content: what `and8` starts with.
const SHARED_START: [u64; SHARED] = [0, 0, 0, 0xff << 32];

/// A level of optimization of the device code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    O0,
    O3,
}

impl Level {
    /// Both.
    pub const ALL: [Level; 2] = [Level::O3, Level::O0];

    /// The level of a name.
    pub fn of(name: &str) -> Result<Level> {
        let level = Level::ALL.into_iter().find(|level| level.name() == name);
        level.with_context(|| format!("there is no level `{name}`: O0 or O3"))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Level::O0 => "O0",
            Level::O3 => "O3",
        }
    }
}

/// The results of one run of a program: a number for each thread, and the shared data.
pub type Output = Vec<u64>;

/// Where batches are built.
pub struct Builder {
    directory: PathBuf,
    /// How long the compiler may take for a batch.
    limit: Duration,
    /// Seconds taken so far.
    pub times: Cell<Times>,
}

/// Where the time goes, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Compiling and running on the host.
    pub host: f64,
    /// Compiling for the device.
    pub device: f64,
    /// Running on the device.
    pub run: f64,
}

/// A difference between device and CPU.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The level of the device code.
    pub level: Level,
    /// A description of the difference.
    pub what: String,
    /// Whether it is the compiler that fails.
    pub compiling: bool,
}

/// The module of programs.
fn source(programs: &[Program]) -> String {
    let mut out = String::from("pub mod common {\n");
    out.push_str(include_str!("prelude.rs"));
    out.push_str("}\npub use common::Shared;\n");
    for (i, program) in programs.iter().enumerate() {
        let _ = writeln!(
            out,
            "/// Seed {}.\npub mod p{i} {{\nuse super::common::*;",
            program.seed
        );
        out.push_str(&program.text());
        out.push_str("}\n");
    }
    out.push_str("pub static PROGRAMS: &[fn(u32, &Shared) -> u64] = &[");
    for i in 0..programs.len() {
        let _ = write!(out, "p{i}::run, ");
    }
    out.push_str("];\n");
    out
}

const ALLOW: &str =
    "#![allow(warnings, arithmetic_overflow, unconditional_panic, overflowing_literals)]\n";

const DEVICE: &str = "\
#![no_std]
extern crate alloc;
mod programs;
use programs::{PROGRAMS, Shared};

#[cuda_std::kernel]
pub unsafe fn run(program: u32, out: *mut u64, shared: *const Shared) {
    let t = cuda_std::thread::index_1d();
    unsafe { *out.add(t as usize) = PROGRAMS[program as usize](t, &*shared) };
}
";

const HOST: &str = "\
extern crate alloc;
mod programs;

fn main() {
    for program in programs::PROGRAMS {
        let shared = [SHARED];
        let result = std::panic::catch_unwind(|| {
            let shared = unsafe { &*shared.as_ptr().cast() };
            (0..THREADS).map(|t| program(t, shared)).collect::<Vec<u64>>()
        });
        match result {
            Ok(results) => {
                let shared = core::hint::black_box(&shared);
                let read = |i: &u64| unsafe { (i as *const u64).read_volatile() };
                for x in results.into_iter().chain(shared.iter().map(read)) {
                    print!(\"{x:x} \");
                }
                println!();
            }
            Err(_) => println!(\"panic\"),
        }
    }
}
";

impl Builder {
    /// A builder in a directory, which keeps `core` and `alloc` between batches.
    pub fn new(directory: &Path, limit: Duration) -> Result<Builder> {
        let builder = Builder {
            directory: directory.to_path_buf(),
            limit,
            times: Cell::default(),
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .canonicalize()?;
        let krate = builder.krate();
        fs::create_dir_all(krate.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"programs\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             cuda_std = {{ path = {:?} }}\n",
            root.join("crates/cuda_std")
        );
        fs::write(krate.join("Cargo.toml"), manifest)?;
        // The versions that the repository has.
        fs::copy(root.join("Cargo.lock"), krate.join("Cargo.lock"))?;
        let device = format!("{ALLOW}{DEVICE}");
        fs::write(krate.join("src/lib.rs"), device)?;
        let start: Vec<String> = SHARED_START
            .iter()
            .map(|word| format!("{word}u64"))
            .collect();
        let host = format!("{ALLOW}{HOST}")
            .replace("SHARED]", &format!("{}]", start.join(", ")))
            .replace("THREADS", &THREADS.to_string());
        fs::write(krate.join("src/host.rs"), host)?;
        Ok(builder)
    }

    fn krate(&self) -> PathBuf {
        self.directory.join("programs")
    }

    /// Writes the programs' source.
    pub fn write(&self, programs: &[Program]) -> Result<()> {
        fs::write(self.krate().join("src/programs.rs"), source(programs))?;
        Ok(())
    }

    /// What the CPU makes of the programs that were written; an error if rustc refuses them, or, at
    /// `both` levels, makes two different things of them: then the generator is wrong.
    fn expected(&self, programs: &[Program], both: bool) -> Result<Vec<Output>> {
        let mut first: Option<Vec<Output>> = None;
        for level in if both { &["3", "0"][..] } else { &["0"][..] } {
            let program = self.directory.join(format!("host{level}"));
            let output = Command::new("rustc")
                .arg(self.krate().join("src/host.rs"))
                .args(["--edition=2024", "--cap-lints=allow", "-Ccodegen-units=4"])
                .arg(format!("-Copt-level={level}"))
                .arg("-o")
                .arg(&program)
                .output()
                .context("rustc cannot be started")?;
            if !output.status.success() {
                bail!(
                    "rustc refuses a program:\n{}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
            let output = Command::new(&program)
                .output()
                .context("the host program cannot be started")?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut results = vec![];
            for (line, program) in text.lines().zip(programs) {
                let parse = |word: &str| u64::from_str_radix(word, 16).ok();
                let words: Option<Output> = line.split_whitespace().map(parse).collect();
                results.push(words.with_context(|| {
                    let said = String::from_utf8_lossy(&output.stderr).into_owned();
                    format!(
                        "the program of seed {} panics on the host:\n{said}",
                        program.seed
                    )
                })?);
            }
            if results.len() != programs.len() {
                bail!("the host program ended early ({})", output.status);
            }
            if let Some(first) = &first
                && let Some(at) = (0..results.len()).find(|i| first[*i] != results[*i])
            {
                bail!(
                    "the program of seed {} is not well-defined: at O3 and O0 the host's results differ",
                    programs[at].seed
                );
            }
            first = Some(results);
        }
        first.context("no results")
    }

    /// Compiles the programs that were written, for the device: in a process of its own, which ends
    /// with all that it has started when it takes too long.
    pub fn compile(&self, level: Level) -> Result<String, String> {
        let fault = |error: std::io::Error| format!("the compiler cannot be started: {error}");
        let mut child = std::env::current_exe()
            .and_then(|program| {
                Command::new(program)
                    .args(["--compile", level.name()])
                    .arg(self.krate())
                    .stdout(Stdio::piped())
                    .process_group(0)
                    .spawn()
            })
            .map_err(fault)?;
        let (ended, wait) = mpsc::channel::<()>();
        let (group, limit) = (child.id(), self.limit);
        let watch = thread::spawn(move || {
            let late = wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if late {
                let _ = Command::new("kill")
                    .args(["-KILL", "--", &format!("-{group}")])
                    .status();
            }
            late
        });
        let mut said = String::new();
        let read = child
            .stdout
            .take()
            .map(|mut out| out.read_to_string(&mut said));
        drop(ended);
        let late = watch.join().unwrap_or(false);
        let status = child.wait().map_err(fault)?;
        match read {
            _ if late => Err(format!(
                "the compiler has not ended after {} s",
                limit.as_secs()
            )),
            Some(Ok(_)) if status.success() => {
                fs::read_to_string(said.trim_end()).map_err(|error| error.to_string())
            }
            _ => Err(said),
        }
    }
}

/// Compiles the crate in a directory and prints the path of the PTX, or the compiler's errors: the
/// other side of [`Builder::compile`].
pub fn compile(krate: &Path, level: Level) -> Result<()> {
    let debug = level == Level::O0;
    let built = CudaBuilder::new(krate)
        .fma_contraction(false)
        .debug(debug)
        .opt_level(if debug { OptLevel::O0 } else { OptLevel::O3 })
        .debug_info(DebugInfo::None)
        // The default limit of 16 KiB is too low for frames of more than 2 KiB.
        .recursion_depth(RECURSION_DEPTH)
        .target_dir(krate.with_file_name("target"))
        .build();
    match built {
        Ok(output) => {
            let ptx = output.ptx.first().context("no PTX was made")?;
            println!("{}", ptx.path.display());
            Ok(())
        }
        Err(error) => {
            println!("{error}");
            bail!("compiling at {} failed", level.name())
        }
    }
}

/// Runs programs of a module on the device; for each what it made, or what went wrong.
pub fn run(
    load: impl Fn() -> CudaResult<Module>,
    count: usize,
) -> Result<Vec<Result<Output, String>>> {
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let _context = match cust::init_auto() {
            Ok(context) => context.into_context(),
            // A GPU may be lost to the whole process.
            Err(error) if !all.is_empty() => {
                all.resize(
                    count,
                    Err(format!("not run, after the one before it: {error}")),
                );
                break;
            }
            Err(error) => return Err(error.into()),
        };
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        let module = match load() {
            Ok(module) => module,
            Err(error) => {
                return Ok(vec![
                    Err(format!("the module is not loaded: {error}"));
                    count
                ]);
            }
        };
        let kernel = module.get_function("run")?;
        while all.len() < count {
            let launch = || -> CudaResult<Output> {
                let out = DeviceBuffer::from_slice(&[0u64; THREADS as usize])?;
                let shared = DeviceBuffer::from_slice(&SHARED_START)?;
                let program = all.len() as u32;
                // SAFETY: there is a result for each thread, and the shared memory that they want.
                unsafe {
                    launch!(kernel<<<1, THREADS, 0, stream>>>(
                        program,
                        out.as_device_ptr(),
                        shared.as_device_ptr()
                    ))?;
                }
                stream.synchronize()?;
                let mut words = out.as_host_vec()?;
                words.extend(shared.as_host_vec()?);
                Ok(words)
            };
            let result = launch().map_err(|error| error.to_string());
            let failed = result.is_err();
            all.push(result);
            if failed {
                // The context may be lost.
                break;
            }
        }
    }
    Ok(all)
}

/// The first difference of a program's results, in words.
pub fn compare(found: &Result<Output, String>, expected: &Output) -> Option<String> {
    let found = match found {
        Ok(found) => found,
        Err(error) => return Some(error.clone()),
    };
    let at = (0..expected.len()).find(|i| found.get(*i) != Some(&expected[*i]))?;
    let what = match at.checked_sub(THREADS as usize) {
        None => format!("thread {at}"),
        Some(word) => format!("word {word} of the shared memory"),
    };
    Some(format!(
        "{what} has {:x?}, but on the host {:x}",
        found.get(at),
        expected[at]
    ))
}

impl Builder {
    fn timed<T>(&self, of: fn(&mut Times) -> &mut f64, make: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let made = make();
        let mut times = self.times.get();
        *of(&mut times) += started.elapsed().as_secs_f64();
        self.times.set(times);
        made
    }

    /// Whether the host makes one thing of the programs that were written, before a difference is
    /// the device's fault. Compiling for the host at a second level takes as long as all else that
    /// the host does.
    pub fn check_host(&self, programs: &[Program]) -> Result<()> {
        self.timed(|times| &mut times.host, || self.expected(programs, true))?;
        Ok(())
    }

    /// The differences of a batch, each with its program's place. `save` gets what it takes to
    /// run the batch again where there is no Rust.
    pub fn differences(
        &self,
        programs: &[Program],
        levels: &[Level],
        save: Option<&Path>,
    ) -> Result<Vec<(usize, Difference)>> {
        self.write(programs)?;
        let expected = self.timed(|times| &mut times.host, || self.expected(programs, false))?;
        if let Some(directory) = save {
            fs::create_dir_all(directory)?;
            let mut text = String::new();
            for (program, words) in programs.iter().zip(&expected) {
                let _ = write!(text, "{}", program.seed);
                words
                    .iter()
                    .for_each(|word| text.push_str(&format!(" {word:x}")));
                text.push('\n');
            }
            fs::write(directory.join("expected.txt"), text)?;
        }
        let mut differences = vec![];
        for &level in levels {
            match self.timed(|times| &mut times.device, || self.compile(level)) {
                Ok(ptx) => {
                    if let Some(directory) = save {
                        fs::write(directory.join(format!("{}.ptx", level.name())), &ptx)?;
                    }
                    let load = || Module::from_ptx(&ptx, &[]);
                    let found = self.timed(|times| &mut times.run, || run(load, programs.len()))?;
                    for (i, found) in found.iter().enumerate() {
                        if let Some(what) = compare(found, &expected[i]) {
                            differences.push((
                                i,
                                Difference {
                                    level,
                                    what,
                                    compiling: false,
                                },
                            ));
                        }
                    }
                }
                Err(error) if programs.len() == 1 => {
                    differences.push((
                        0,
                        Difference {
                            level,
                            what: error,
                            compiling: true,
                        },
                    ));
                }
                Err(_) => {
                    // One of them, or several: look in both halves.
                    let (a, b) = programs.split_at(programs.len() / 2);
                    differences.extend(self.differences(a, &[level], None)?);
                    let later = self.differences(b, &[level], None)?;
                    differences.extend(later.into_iter().map(|(i, d)| (i + a.len(), d)));
                    self.write(programs)?;
                }
            }
        }
        Ok(differences)
    }
}

/// Runs what [`Builder::differences`] saved; returns how many programs there are, and the
/// differences with their seeds. A cubin beside the PTX, which somebody has made of it, spares the
/// driver minutes.
pub fn replay(directory: &Path) -> Result<(usize, Vec<(u64, Difference)>)> {
    let text = fs::read_to_string(directory.join("expected.txt"))?;
    let mut expected = vec![];
    for line in text.lines() {
        let (seed, words) = line.split_once(' ').context("no results")?;
        let words: Result<Output, _> = words
            .split(' ')
            .map(|word| u64::from_str_radix(word, 16))
            .collect();
        expected.push((seed.parse::<u64>()?, words?));
    }
    let mut differences = vec![];
    for level in Level::ALL {
        let file = |extension| directory.join(format!("{}.{extension}", level.name()));
        let found = if let Ok(cubin) = fs::read(file("cubin")) {
            // SAFETY: the build made the cubin.
            run(
                || unsafe { Module::from_cubin(&cubin, &[]) },
                expected.len(),
            )?
        } else if let Ok(ptx) = fs::read_to_string(file("ptx")) {
            run(|| Module::from_ptx(&ptx, &[]), expected.len())?
        } else {
            continue;
        };
        for (found, (seed, expected)) in found.iter().zip(&expected) {
            if let Some(what) = compare(found, expected) {
                differences.push((
                    *seed,
                    Difference {
                        level,
                        what,
                        compiling: false,
                    },
                ));
            }
        }
    }
    Ok((expected.len(), differences))
}
