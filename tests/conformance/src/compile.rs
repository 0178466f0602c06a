//! Compiles the suites for the device with cargo, one part and optimization level at a time.

use crate::{parts::Part, sources::FLOATS};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Some tests are one function of thousands of calls, for which libnvvm takes many minutes if it
/// is to optimize it. What these functions call is optimized still.
const UNOPTIMIZED: &str = "-Cllvm-args=--optimize-up-to=800";

/// How a suite is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Not optimized, with debug assertions and overflow checks.
    O0,
    /// Optimized.
    O3,
}

impl Level {
    /// Both.
    pub const ALL: [Level; 2] = [Level::O0, Level::O3];

    /// The name in options, file names and tables.
    pub fn name(self) -> &'static str {
        match self {
            Level::O0 => "O0",
            Level::O3 => "O3",
        }
    }

    /// The level of a name.
    pub fn parse(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// The inputs that all suites share.
pub struct Compiler {
    /// The generated package's manifest.
    pub manifest: PathBuf,
    /// The backend.
    pub backend: PathBuf,
    /// The target directory.
    pub target: PathBuf,
    /// The toolchain's directory.
    pub sysroot: PathBuf,
    /// The architecture.
    pub arch: cuda_builder::Arch,
    /// Further flags for the compiler.
    pub flags: Vec<String>,
}

impl Compiler {
    /// Compiles a part and returns its PTX. What rustc says goes into a file of the target
    /// directory.
    pub fn compile(&self, part: Part, level: Level) -> Result<PathBuf> {
        let flags = cuda_builder::device_rustflags(&self.backend, self.arch);
        let log_path = self
            .target
            .join(format!("{}-{}.log", part.name, level.name()));
        let log = File::create(&log_path)
            .with_context(|| format!("{} cannot be written", log_path.display()))?;
        let mut command = Command::new(self.sysroot.join("bin/cargo"));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                command.env_remove(name);
            }
        }
        command
            .args(["rustc", "--test", part.suite])
            .arg("--message-format=json-render-diagnostics")
            .arg("--target=nvptx64-nvidia-cuda")
            .args(["-Zbuild-std=core,alloc", "-Zbuild-std-features="])
            .arg("-Zbinary-dep-depinfo")
            .arg("--manifest-path")
            .arg(&self.manifest)
            .arg("--target-dir")
            .arg(self.target.join("build"))
            .args((level == Level::O3).then_some("--release"))
            .args([
                "--",
                "-Cllvm-args=--fma=off",
                UNOPTIMIZED,
                "--cap-lints=allow",
            ])
            .arg(format!("--cfg=conformance_part={:?}", part.name))
            .args(&self.flags)
            .env("RUSTC", self.sysroot.join("bin/rustc"))
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .env("CARGO_INCREMENTAL", "0")
            .env("CONFORMANCE_FLOATS", self.manifest.with_file_name(FLOATS))
            .env_remove("CARGO")
            .env_remove("RUSTFLAGS")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        let output = command.output().context("cargo cannot be started")?;
        if !output.status.success() {
            bail!(
                "{} does not compile at {}: see {}",
                part.name,
                level.name(),
                log_path.display()
            );
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        let made = executable(&messages).context("cargo names no output")?;
        let directory = self.target.join("ptx");
        std::fs::create_dir_all(&directory)?;
        let path = directory.join(format!("{}-{}.ptx", part.name, level.name()));
        std::fs::copy(&made, &path)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(path)
    }
}

/// The program that cargo's messages name.
fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().rev().find_map(|line| {
        let rest = line.split_once(r#""executable":""#)?.1;
        Some(Path::new(rest.split_once('"')?.0).to_path_buf())
    })
}
