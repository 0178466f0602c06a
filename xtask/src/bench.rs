//! `./x bench`: builds the benchmarks in all forms, and runs them or packs them into a directory
//! that needs only a driver. The program `bench-suite` in that directory runs them.
//!
//! ```text
//! DIR/bench-suite           the program
//! DIR/kernels/build.json    compilers and flags
//! DIR/kernels/ours.*        the crate benches/kernels, as PTX and as a cubin
//! DIR/kernels/nvcc/NAME.*   benches/cuda/NAME.cu
//! DIR/kernels/libcub.so     CUB's scan and reduction, if the toolkit has CUB
//! ```
//!
//! One ptxas makes all cubins, with the same flags.

use crate::{backend, bundle, remaining, workspace};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The package of the suite.
const SUITE: &str = "bench-suite";

/// The pip packages of nvcc and the headers that it needs, of the same release as libnvvm.
const PACKAGES: [&str; 5] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-runtime==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-cccl==13.0.85",
];

/// The flags of nvcc. Its defaults equal the backend's: multiply-adds are contracted, divisions and
/// square roots are correctly rounded.
const NVCC_FLAGS: [&str; 2] = ["-O3", "-std=c++17"];

/// The flags of ptxas, as nvcc passes them.
const PTXAS_FLAGS: [&str; 1] = ["-O3"];

/// The maximum size of a bundle in bytes.
const LIMIT: u64 = 256 << 20;

/// Runs the command.
pub fn bench(mut parser: lexopt::Parser) -> Result<ExitCode> {
    use lexopt::prelude::*;
    let mut directory = None;
    let mut arch = "sm_90".to_owned();
    let mut arguments: Vec<OsString> = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("bundle") => directory = Some(PathBuf::from(parser.value()?)),
            Long("arch") => arch = parser.value()?.string()?,
            // All further arguments belong to the suite.
            Value(value) => {
                arguments.push(value);
                arguments.extend(remaining(&mut parser)?);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    arch.parse::<nvvm::Arch>()?;
    let to = directory
        .clone()
        .unwrap_or_else(|| workspace::target().join("bench"));
    let program = pack(&to, &arch)?;
    if directory.is_some() {
        let size = bundle::size_of(&to)?;
        println!(
            "{}: {:.1} MiB. Copy it to a machine with a GPU and run {SUITE} there.",
            to.display(),
            size as f64 / f64::from(1 << 20),
        );
        if size > LIMIT {
            bail!("the benchmarks are larger than {} MiB", LIMIT >> 20);
        }
        return Ok(ExitCode::SUCCESS);
    }
    workspace::become_command(Command::new(program).args(arguments), SUITE)
}

/// Builds everything into a directory, and returns the program's path.
fn pack(to: &Path, arch: &str) -> Result<PathBuf> {
    let kernels = to.join("kernels");
    if kernels.exists() {
        fs::remove_dir_all(&kernels)
            .with_context(|| format!("{} cannot be removed", kernels.display()))?;
    }
    fs::create_dir_all(kernels.join("nvcc"))?;
    let nvcc = nvcc()?;
    let ptxas = nvcc.with_file_name("ptxas");

    let mut command = backend::cargo_with_backend()?;
    command
        .args(["build", "--release", "--package", SUITE, "--manifest-path"])
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--message-format=json-render-diagnostics")
        .env("BENCH_ARCH", arch);
    let built = bundle::build(command, bundle::What::Examples)?;
    let program = to.join(SUITE);
    let [suite] = &built.programs[..] else {
        bail!(
            "cargo built {} programs instead of one",
            built.programs.len()
        );
    };
    fs::copy(&suite.path, &program)?;
    if let Some(strip) = bundle::find_strip() {
        workspace::must_succeed(Command::new(strip).arg(&program), "strip")?;
    }
    let ours = kernels.join("ours.ptx");
    let ptx = bundle::ptx_of(&built)?;
    let (_, ptx) = (ptx.iter())
        .find(|(package, _)| package == SUITE)
        .context("the build produced no PTX")?;
    fs::copy(ptx, &ours)?;
    let mut command = Command::new(&ptxas);
    command.args(PTXAS_FLAGS).arg(format!("-arch={arch}"));
    command
        .arg(&ours)
        .arg("-o")
        .arg(ours.with_extension("cubin"));
    workspace::must_succeed(&mut command, "ptxas")?;

    let sources = workspace::root().join("benches/cuda");
    for entry in fs::read_dir(&sources)? {
        let source = entry?.path();
        if source.extension().is_none_or(|extension| extension != "cu") {
            continue;
        }
        let stem = kernels
            .join("nvcc")
            .join(source.file_stem().unwrap_or_default());
        for kind in ["ptx", "cubin"] {
            let mut command = Command::new(&nvcc);
            command.args(NVCC_FLAGS).arg(format!("-arch={arch}"));
            command.arg(format!("-{kind}")).arg(&source);
            command.arg("-o").arg(stem.with_extension(kind));
            workspace::must_succeed(&mut command, "nvcc")?;
        }
    }

    // CUB launches its kernels itself, so it is built as a host library.
    let root = nvcc.parent().and_then(Path::parent).unwrap_or(&nvcc);
    if root.join("include/cccl/cub").exists() || root.join("include/cub").exists() {
        let mut command = Command::new(&nvcc);
        command.args(NVCC_FLAGS).arg(format!("-arch={arch}"));
        command.args(["-shared", "-Xcompiler", "-fPIC", "-cudart", "static", "-L"]);
        command
            .arg(root.join("lib"))
            .arg(sources.join("cub/cub.cu"));
        command.arg("-o").arg(kernels.join("libcub.so"));
        workspace::must_succeed(&mut command, "nvcc")?;
    }

    let version = workspace::output_of(&nvcc, &["--version"]).unwrap_or_default();
    let commit = workspace::output_of("git", &["rev-parse", "--short=12", "HEAD"]);
    let build = json!({
        "arch": arch,
        "commit": commit,
        "nvcc": version.lines().find(|line| line.contains("release")),
        "nvcc_flags": NVCC_FLAGS.join(" "),
        "rust_flags": "release profile: opt-level 3, no overflow checks",
        "ptxas_flags": PTXAS_FLAGS.join(" "),
    });
    fs::write(kernels.join("build.json"), format!("{build:#}\n"))?;
    Ok(program)
}

/// Locates nvcc with its headers in a CUDA toolkit; otherwise fetches them with pip.
fn nvcc() -> Result<PathBuf> {
    let fetched = workspace::root().join("target/nvcc");
    let candidates = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
        .chain([
            PathBuf::from("/usr/local/cuda"),
            fetched.join("nvidia/cu13"),
        ]);
    let mut found = candidates.filter_map(|root| {
        let complete = root.join("include/cuda_runtime.h").exists();
        Some(root.join("bin/nvcc")).filter(|nvcc| complete && nvcc.exists())
    });
    if let Some(nvcc) = found.next() {
        return Ok(nvcc);
    }
    eprintln!("Fetching nvcc into {}", fetched.display());
    let mut command = Command::new("python3");
    command
        .args(["-m", "pip", "install", "--no-deps", "--no-compile"])
        .args(["--disable-pip-version-check", "--target"])
        .arg(&fetched)
        .args(PACKAGES)
        .stdout(Stdio::from(std::io::stderr()));
    workspace::must_succeed(&mut command, "pip")?;
    let nvcc = fetched.join("nvidia/cu13/bin/nvcc");
    if !nvcc.exists() {
        bail!(
            "the packages that pip fetched contain no nvcc\nhelp: set CUDA_HOME to a CUDA toolkit"
        );
    }
    Ok(nvcc)
}
