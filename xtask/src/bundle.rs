//! `./x bundle`: packs device tests and examples, with their PTX and cubins, into a directory that
//! runs on any Linux machine with a driver and without Rust. Its `run.sh` unpacks them and starts
//! the program of the package `bundle-runner`, which runs them on the GPU and on the emulator and
//! compares the results.
//!
//! The programs embed their PTX. The files next to them are for inspection, and show that ptxas
//! accepts the PTX for every current architecture.

use crate::test::{self, WORKSPACE};
use crate::{backend, no_more_arguments, toolkit, workspace};
use anyhow::{Context, Result, bail};
use cargo_cuda::images::{self, Image};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The packages whose tests run on a device.
const TESTED: [&str; 8] = [
    "cust",
    "soundness-tests",
    "samples",
    "interop-tests",
    "device-tests",
    "cuda-std-tests",
    "tensor-tests",
    "dynamic-tests",
];

/// Test programs that are left out, because they need a compiler or the repository, or are for
/// Miri.
const LEFT_OUT: [&str; 3] = ["cust-ui", "cust-miri", "cust-driver_api"];

/// The package of the program that runs the others.
const RUNNER: &str = "bundle-runner";

/// The prefix of the names of programs that `cargo cuda` builds.
const BESIDE: &str = "single-source-";

/// The package of the tests whose modules are assembled in parts.
const DEVICE_TESTS: &str = "device-tests";

/// The prefix of the entries of these modules that run a group of cases.
const GROUP: &str = "run_case_";

/// The architectures of the examples' cubins.
const CUBINS: [nvvm::Arch; 4] = [
    nvvm::Arch::SM_75,
    nvvm::Arch::SM_80,
    nvvm::Arch::SM_90,
    nvvm::Arch::SM_120,
];

/// The architectures of the device tests' cubins, which are large. On others, the driver assembles
/// their PTX, which takes minutes.
const TEST_CUBINS: [nvvm::Arch; 1] = [nvvm::Arch::SM_90A];

/// The maximum size of an archive in bytes.
const LIMIT: u64 = 64 << 20;

/// The programs that are packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Examples,
    Tests,
}

/// The result of a build.
#[derive(Default)]
pub(crate) struct Built {
    pub(crate) programs: Vec<Program>,
    /// The output directories of build scripts, each with its package's name.
    out_dirs: BTreeSet<(String, PathBuf)>,
}

/// A program that cargo built.
pub(crate) struct Program {
    /// Unique among the programs of the workspace: `cust-launch`.
    pub(crate) name: String,
    package: String,
    pub(crate) path: PathBuf,
    /// The directory of its package, in which cargo runs tests.
    pub(crate) directory: PathBuf,
}

/// The parts of a bundle, each an archive that `run.sh` unpacks if it is there: the name, and the
/// directories in it. All have the runner.
const PARTS: [(&str, [&str; 2]); 2] = [
    ("examples", ["examples", "ptx/examples"]),
    ("tests", ["tests", "ptx/tests"]),
];

/// Runs the command.
pub fn bundle(mut parser: lexopt::Parser) -> Result<ExitCode> {
    no_more_arguments(&mut parser)?;
    let ptxas = toolkit::ensure()?
        .ptxas
        .context("ptxas was not found")?
        .path;
    let directory = workspace::root().join("bundle");
    if directory.exists() {
        fs::remove_dir_all(&directory)
            .with_context(|| format!("{} cannot be removed", directory.display()))?;
    }

    let mut command = cargo(&["build", "--release"])?;
    for example in workspace::examples()? {
        command.arg("--package").arg(format!("example-{example}"));
    }
    let examples = build(command, What::Examples)?;
    let runner = build(
        cargo(&["build", "--release", "--package", RUNNER])?,
        What::Examples,
    )?;
    // As `./x test` builds them, with the same features, so that nothing is compiled twice.
    let mut command = cargo(&["test", "--no-run"])?;
    command.args(WORKSPACE);
    let mut tests = build(command, What::Tests)?;
    let is_tested = |package: &str| TESTED.contains(&package);
    tests.out_dirs.retain(|(package, _)| is_tested(package));
    tests
        .programs
        .retain(|program| is_tested(&program.package) && !LEFT_OUT.contains(&&*program.name));
    // NVIDIA's libraries on buffers of `cust`. Not part of `./x test`, because `cudarc` takes long
    // to compile.
    let mut command = cargo(&["test", "--no-run", "--package", "cust"])?;
    command.args(["--features", "cudarc-libraries", "--test", "libraries"]);
    tests.programs.extend(build(command, What::Tests)?.programs);
    let beside = single_source()?;

    let strip = find_strip();
    pack_programs(&runner, &directory, strip.as_deref())?;
    pack_programs(&examples, &directory.join("examples"), strip.as_deref())?;
    pack_programs(&tests, &directory.join("tests"), strip.as_deref())?;
    pack_programs(
        &beside.examples,
        &directory.join("examples"),
        strip.as_deref(),
    )?;
    pack_programs(&beside.tests, &directory.join("tests"), strip.as_deref())?;
    pack_ptx(
        &examples,
        &directory.join("ptx/examples"),
        &ptxas,
        What::Examples,
    )?;
    pack_ptx(&tests, &directory.join("ptx/tests"), &ptxas, What::Tests)?;
    pack_own_ptx(&beside.tests, &directory.join("ptx/tests"), &ptxas)?;
    let sizes = compress(&directory)?;
    let script = directory.join("run.sh");
    fs::write(&script, include_str!("run.sh"))?;
    make_executable(&script)?;

    println!(
        "{}: {} test programs, {} examples, {:.1} MiB. Copy it, or run.sh and one archive, to a machine with \
         a GPU and run run.sh there.",
        directory.display(),
        tests.programs.len() + beside.tests.programs.len(),
        examples.programs.len() + beside.examples.programs.len(),
        sizes.iter().sum::<u64>() as f64 / f64::from(1 << 20),
    );
    if sizes.iter().any(|&size| size > LIMIT) {
        bail!("an archive is larger than {} MiB", LIMIT >> 20);
    }
    Ok(ExitCode::SUCCESS)
}

/// Programs with kernels beside host code.
struct Beside {
    tests: Built,
    examples: Built,
}

/// Builds the tests that `./x test single-source-tests` runs, and the programs that need no test
/// harness.
fn single_source() -> Result<Beside> {
    const FORMAT: &str = "--message-format=json-render-diagnostics";
    let mut tests = Built::default();
    for mut command in test::single_source_tests()? {
        command.args(["--no-run", FORMAT]);
        tests.programs.extend(build(command, What::Tests)?.programs);
    }
    // It starts programs by the paths that they have here.
    tests
        .programs
        .retain(|program| program.name != "single-source-tests-programs");
    let mut command = test::single_source("build", Path::new(test::SINGLE_SOURCE_PROGRAMS))?;
    command.args(["--bins", FORMAT]);
    let mut examples = build(command, What::Examples)?;
    for program in tests.programs.iter_mut().chain(&mut examples.programs) {
        if !program.name.starts_with(BESIDE) {
            program.name.insert_str(0, BESIDE);
        }
    }
    Ok(Beside { tests, examples })
}

fn cargo(arguments: &[&str]) -> Result<Command> {
    let mut command = backend::cargo_with_backend()?;
    command
        .args(arguments)
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--message-format=json-render-diagnostics");
    Ok(command)
}

/// Returns the PTX files of build scripts, each with its package's name.
pub(crate) fn ptx_of(built: &Built) -> Result<BTreeSet<(String, PathBuf)>> {
    let mut files = BTreeSet::new();
    for (package, out_dir) in &built.out_dirs {
        let entries = fs::read_dir(out_dir)
            .with_context(|| format!("{} cannot be read", out_dir.display()))?;
        for file in entries.flatten().map(|entry| entry.path()) {
            if file.extension().is_some_and(|extension| extension == "ptx") {
                files.insert((package.clone(), file));
            }
        }
    }
    Ok(files)
}

pub(crate) fn build(mut command: Command, what: What) -> Result<Built> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("the build failed; see above");
    }
    let mut built = Built::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let package = package_name(message["package_id"].as_str().unwrap_or_default());
        // A package's tests come with its programs, which are not packed.
        let wanted = message["profile"]["test"].as_bool() == Some(what == What::Tests);
        if let Some(program) = message["executable"].as_str().filter(|_| wanted) {
            let target = message["target"]["name"].as_str().unwrap_or_default();
            // A package's library may have the package's name, and so may a test.
            let name = if target == package && message["target"]["kind"][0] != "test" {
                package.clone()
            } else {
                format!("{package}-{target}")
            };
            let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
            built.programs.push(Program {
                name,
                package: package.clone(),
                path: PathBuf::from(program),
                directory: manifest.parent().unwrap_or(manifest).to_owned(),
            });
        }
        if let Some(out_dir) = message["out_dir"].as_str() {
            built.out_dirs.insert((package, PathBuf::from(out_dir)));
        }
    }
    Ok(built)
}

/// Returns the name in `path+file:///repository/crates/cust#0.1.0` or
/// `…/tests/run#device-tests@0.1.0`.
fn package_name(id: &str) -> String {
    let (path, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => path.rsplit('/').next().unwrap_or_default().to_owned(),
    }
}

fn pack_programs(built: &Built, directory: &Path, strip: Option<&Path>) -> Result<()> {
    fs::create_dir_all(directory)?;
    for Program { name, path, .. } in &built.programs {
        let to = directory.join(name);
        fs::copy(path, &to).with_context(|| format!("{} cannot be copied", path.display()))?;
        if let Some(strip) = strip {
            workspace::must_succeed(Command::new(strip).arg(&to), "strip")?;
        }
    }
    Ok(())
}

/// Assembles the PTX of build scripts to cubins, and copies the PTX of the examples.
fn pack_ptx(built: &Built, directory: &Path, ptxas: &Path, what: What) -> Result<()> {
    for (package, ptx) in ptx_of(built)? {
        let stem = ptx
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        fs::create_dir_all(directory)?;
        // The tests' PTX is large, and only cubins save work for the driver.
        if what == What::Examples {
            fs::copy(&ptx, directory.join(format!("{package}-{stem}.ptx")))?;
        }
        pack_cubins(&format!("{package}-{stem}"), &ptx, directory, ptxas, what)?;
    }
    Ok(())
}

/// Assembles the PTX of the device tests that programs carry to cubins.
fn pack_own_ptx(built: &Built, directory: &Path, ptxas: &Path) -> Result<()> {
    let programs = built.programs.iter();
    for program in programs.filter(|program| program.package == DEVICE_TESTS) {
        for image in images::read(&program.path)? {
            let Image::Ptx(text) = image else {
                continue;
            };
            if !text.contains(GROUP) {
                continue;
            }
            fs::create_dir_all(directory)?;
            // The name of the build, as the tests choose it.
            let name = format!("{BESIDE}{DEVICE_TESTS}-debug");
            let ptx = directory.join(format!("{name}.ptx"));
            fs::write(&ptx, text)?;
            pack_cubins(&name, &ptx, directory, ptxas, What::Tests)?;
            fs::remove_file(ptx)?;
        }
    }
    Ok(())
}

/// Assembles a file of PTX to cubins `NAME.PART.sm_XY.cubin`.
fn pack_cubins(name: &str, ptx: &Path, directory: &Path, ptxas: &Path, what: What) -> Result<()> {
    let cubins = match what {
        What::Examples => &CUBINS[..],
        What::Tests => &TEST_CUBINS,
    };
    let text = fs::read_to_string(ptx)?;
    let own = target_of(&text)
        .with_context(|| format!("{} does not name its architecture", ptx.display()))?;
    // The host program links these with the toolkit's `libcudadevrt`.
    let incomplete = text.contains(" __cudaCDP2LaunchDeviceV2");
    let archs = cubins.iter().filter(|arch| arch.has(own) && !incomplete);
    for (part, text) in parts(&text)? {
        let name = format!("{name}{part}");
        let part = directory.join(format!("{name}.part"));
        let ptx = match &text {
            None => ptx,
            Some(text) => {
                fs::write(&part, text)?;
                &part
            }
        };
        for &arch in archs.clone() {
            // The tests request the image for their device's capability.
            let device = arch.to_string();
            let device = device.trim_end_matches('a');
            let cubin = directory.join(format!("{name}.{device}.cubin"));
            assemble(ptxas, arch, ptx, &cubin, what)?;
        }
        if text.is_some() {
            fs::remove_file(part)?;
        }
    }
    Ok(())
}

/// Returns the parts of a module that become cubins, each with a suffix of the name. The cases of
/// the device tests are divided into groups, because ptxas crashes on all of them together; see
/// `Session::cases` there.
fn parts(text: &str) -> Result<Vec<(String, Option<String>)>> {
    let module = ptx::Module::parse(text)?;
    let groups: Vec<&str> = (module.items.iter())
        .filter_map(|item| match item {
            ptx::Item::Function(function) if function.entry => function.name.strip_prefix(GROUP),
            _ => None,
        })
        .collect();
    if groups.is_empty() {
        return Ok(vec![(String::new(), None)]);
    }
    let of = |keep: &dyn Fn(&str) -> bool| {
        let mut part = module.clone();
        ptx::keep_entries(&mut part, keep);
        Some(part.to_string())
    };
    let cases = groups.iter().map(|&group| {
        let part = of(&|entry| entry.strip_prefix(GROUP) == Some(group));
        (format!(".cases{group}"), part)
    });
    let rest = of(&|entry| !entry.starts_with(GROUP));
    Ok(cases.chain([(".rest".to_owned(), rest)]).collect())
}

/// Assembles a cubin: an example in one step, as the driver does; tests by separate assembly and
/// linking, because whole-program compilation of the device tests takes ptxas many minutes. Omits
/// the debug information of unoptimized code, which is more than half of a cubin.
fn assemble(ptxas: &Path, arch: nvvm::Arch, ptx: &Path, cubin: &Path, what: What) -> Result<()> {
    let object = cubin.with_extension("o");
    let arch = format!("-arch={}", arch.sm());
    let mut command = Command::new(ptxas);
    command.arg(&arch).arg(ptx);
    if what == What::Examples {
        return workspace::must_succeed(command.arg("-o").arg(cubin), "ptxas");
    }
    command
        .args(["-c", "--suppress-debug-info", "-o"])
        .arg(&object);
    workspace::must_succeed(&mut command, "ptxas")?;
    let mut command = Command::new(ptxas.with_file_name("nvlink"));
    command.arg(&arch).arg(&object).arg("-o").arg(cubin);
    workspace::must_succeed(&mut command, "nvlink")?;
    fs::remove_file(&object)?;
    Ok(())
}

/// Replaces the contents of a directory with archives, and returns their sizes. Several test programs of a
/// package embed the same PTX, hence the large dictionary.
fn compress(directory: &Path) -> Result<Vec<u64>> {
    let mut sizes = Vec::new();
    for (name, directories) in PARTS {
        let archive = directory.join(format!("{name}.tar.xz"));
        let mut command = Command::new("tar");
        command
            .env("XZ_OPT", "--threads=1 --lzma2=preset=3,dict=512MiB")
            .arg("--create")
            .arg("--xz")
            .arg("--file")
            .arg(&archive)
            .arg("--directory")
            .arg(directory)
            .arg(RUNNER)
            .args(directories);
        workspace::must_succeed(&mut command, "tar with xz")?;
        sizes.push(fs::metadata(&archive)?.len());
    }
    for name in ["examples", "ptx", "tests"] {
        fs::remove_dir_all(directory.join(name))?;
    }
    fs::remove_file(directory.join(RUNNER))?;
    Ok(sizes)
}

/// Returns the target architecture of a PTX module.
pub(crate) fn target_of(ptx: &str) -> Option<nvvm::Arch> {
    ptx::header(ptx).target.first()?.parse().ok()
}

/// Returns the toolchain's LLVM `strip`, or the system's. Without one, the programs are larger.
pub(crate) fn find_strip() -> Option<PathBuf> {
    let sysroot = workspace::sysroot()?;
    let host = workspace::output_of("rustc", &["--print=host-tuple"])?;
    let own = sysroot
        .join("lib/rustlib")
        .join(host)
        .join("bin/llvm-strip");
    let candidates = [own, PathBuf::from("strip")];
    candidates
        .into_iter()
        .find(|strip| workspace::output_of(strip, &["--version"]).is_some())
}

pub(crate) fn size_of(directory: &Path) -> Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        size += if metadata.is_dir() {
            size_of(&entry.path())?
        } else {
            metadata.len()
        };
    }
    Ok(size)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(
        path,
        fs::Permissions::from_mode(0o755),
    )?)
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_ids_of_both_forms() {
        assert_eq!(package_name("path+file:///r/crates/cust#0.1.0"), "cust");
        assert_eq!(
            package_name("path+file:///r/tests/run#device-tests@0.1.0"),
            "device-tests"
        );
    }

    #[test]
    fn the_target_of_ptx() {
        let ptx = "//\n.version 9.0\n.target sm_90a, debug\n.address_size 64\n";
        assert_eq!(target_of(ptx), Some(nvvm::Arch::SM_90A));
        assert_eq!(target_of("nothing"), None);
    }
}
