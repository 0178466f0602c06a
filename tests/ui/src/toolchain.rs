//! Compiles the backend if it is missing, then `core`, `alloc` and `cuda_std` with one run of
//! cargo, then each case with one run of rustc, which takes a fraction of a second.

use crate::case::{Case, Toolkit, flags_of_library};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

const TARGET: &str = "nvptx64-nvidia-cuda";

/// The architecture of all cases that do not ask for another.
const ARCH: cuda_builder::Arch = cuda_builder::Arch::SM_75;

/// Everything that the cases share.
pub struct Toolchain {
    rustc: PathBuf,
    backend: PathBuf,
    /// The directory of all outputs.
    out: PathBuf,
    /// The arguments with which rustc finds the crates compiled before.
    externs: Vec<OsString>,
    /// The directory with the real libnvvm.
    cuda: PathBuf,
    /// For toolkits that are not whole. It lies outside the repository, where no `target/cuda`
    /// stands above it.
    bare: tempfile::TempDir,
    making: Mutex<()>,
}

/// The compiler's output for a source file.
pub struct Made {
    /// The PTX.
    pub ptx: String,
    /// The NVVM IR, in the architecture's dialect.
    pub ir: String,
}

/// The repository's root.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root)
}

fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => std::path::absolute(&directory).unwrap_or(directory.into()),
        None => root().join("target"),
    }
}

impl Toolchain {
    /// Compiles what all cases need.
    pub fn prepare() -> Result<Toolchain> {
        let cargo = PathBuf::from(std::env::var_os("CARGO").context("cargo has to run this")?);
        let backend = find_backend(&cargo)?;
        let toolkit = cuda_toolkit::find(&[root().join("target/cuda"), target().join("cuda")]);
        let libnvvm = (toolkit.libnvvm).context("there is no libnvvm; `./x doctor` says more")?;
        let toolchain = Toolchain {
            rustc: cargo.with_file_name(format!("rustc{}", std::env::consts::EXE_SUFFIX)),
            externs: build_libraries(&cargo, &backend)?,
            backend,
            out: target().join("ui/cases"),
            cuda: libnvvm.root,
            bare: tempfile::tempdir()?,
            making: Mutex::new(()),
        };
        Ok(toolchain)
    }

    /// Compiles a case. Its messages are the output's standard error, as JSON.
    pub fn compile(&self, case: &Case) -> Result<Output> {
        let out = self.out.join(&case.name);
        // A library that the case no longer has must not be found.
        let _ = fs::remove_dir_all(&out);
        fs::create_dir_all(&out)?;
        for library in &case.libraries {
            let mut command = self.rustc(library, &flags_of_library(library)?, Toolkit::Whole)?;
            command.args(["--crate-type=rlib", "--out-dir"]).arg(&out);
            let output = command.output()?;
            if !output.status.success() {
                bail!(
                    "{}:\n{}",
                    library.display(),
                    String::from_utf8_lossy(&output.stderr)
                );
            }
        }
        let mut command = self.rustc(&case.path, &case.flags, case.toolkit)?;
        command.arg("--out-dir").arg(&out).arg("-L").arg(&out);
        if !case
            .flags
            .iter()
            .any(|flag| flag.starts_with("--crate-type"))
        {
            command.arg("--crate-type=cdylib");
        }
        Ok(command.output()?)
    }

    /// Compiles a source file for an architecture, and returns the PTX, and the IR that libnvvm got
    /// for it. The libraries are compiled for [`ARCH`]: all code is made with the last crate. `options`
    /// are the backend's, besides `--dump`.
    pub fn compile_for(
        &self,
        source: &Path,
        arch: &str,
        opt_level: u32,
        options: &str,
    ) -> Result<Made> {
        let name = source.file_stem().and_then(|name| name.to_str());
        let name = name.context("the file has no name")?;
        let out = self.out.join(format!("{name}.{arch}.{opt_level}"));
        let _ = fs::remove_dir_all(&out);
        fs::create_dir_all(&out)?;
        let flags = [
            format!("-Ctarget-cpu={arch}"),
            "-Cunsafe-allow-abi-mismatch=target-cpu".to_owned(),
            format!("-Copt-level={opt_level}"),
            "-Cdebug-assertions=off".to_owned(),
            // The stages of the whole module, not of its parts.
            format!("-Cllvm-args=--parts=off --dump={} {options}", out.display()),
            "--crate-type=cdylib".to_owned(),
        ];
        let mut command = self.rustc(source, &flags, Toolkit::Whole)?;
        let output = command.arg("--out-dir").arg(&out).output()?;
        if !output.status.success() {
            bail!(
                "{} for {arch}:\n{}",
                source.display(),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(Made {
            ptx: fs::read_to_string(out.join(format!("{name}.ptx")))?,
            ir: fs::read_to_string(out.join(format!("{name}.written.ll")))?,
        })
    }

    /// A directory for generated sources.
    pub fn sources(&self) -> Result<PathBuf> {
        let directory = self.out.join("sources");
        fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    fn rustc(&self, source: &Path, flags: &[String], toolkit: Toolkit) -> Result<Command> {
        let mut command = Command::new(&self.rustc);
        let backend = self.set_toolkit(&mut command, toolkit)?;
        let own_cpu = flags.iter().any(|flag| flag.starts_with("-Ctarget-cpu"));
        command
            .arg(source)
            .args([
                &format!("--target={TARGET}"),
                "--edition=2024",
                "-Copt-level=3",
                "-Cdebug-assertions=on",
                "-Cpanic=abort",
                "-Zunstable-options",
            ])
            .args([
                "--error-format=json",
                "-Zui-testing",
                "--diagnostic-width=140",
            ])
            .args(
                cuda_builder::device_rustflags(&backend, ARCH)
                    .iter()
                    .filter(|flag| !(own_cpu && flag.starts_with("-Ctarget-cpu"))),
            )
            .args(&self.externs)
            .args(flags)
            // The expected output does not depend on who runs the tests.
            .env("RUST_BACKTRACE", "0")
            .env("RUSTC_ICE", "0")
            .env("LC_ALL", "C")
            .current_dir(root());
        Ok(command)
    }

    /// Makes the compiler find this toolkit. Returns the backend to use.
    fn set_toolkit(&self, command: &mut Command, toolkit: Toolkit) -> Result<PathBuf> {
        for name in cuda_toolkit::ENVIRONMENT {
            command.env_remove(name);
        }
        let home = match toolkit {
            Toolkit::Whole => self.cuda.clone(),
            _ => self.toolkit_directory(toolkit)?,
        };
        if toolkit == Toolkit::EmptyOption {
            command.arg(format!("-Cllvm-args=--cuda={}", home.display()));
        } else {
            command.env(cuda_toolkit::ENVIRONMENT[0], home);
        }
        if toolkit == Toolkit::Whole {
            Ok(self.backend.clone())
        } else {
            self.hidden_backend()
        }
    }

    /// A copy of the backend, which has no `cuda` in a directory above it.
    fn hidden_backend(&self) -> Result<PathBuf> {
        let _making = self.making.lock().unwrap_or_else(|e| e.into_inner());
        let name = self
            .backend
            .file_name()
            .context("the backend has no name")?;
        let path = self.bare.path().join(name);
        if !path.exists() {
            fs::copy(&self.backend, &path)?;
        }
        Ok(path)
    }

    fn toolkit_directory(&self, toolkit: Toolkit) -> Result<PathBuf> {
        let _making = self.making.lock().unwrap_or_else(|e| e.into_inner());
        let directory = self.bare.path().join(format!("{toolkit:?}"));
        let libraries = directory.join("nvvm/lib64");
        if libraries.exists() {
            return Ok(directory);
        }
        fs::create_dir_all(&libraries)?;
        let libnvvm = libraries.join("libnvvm.so");
        match toolkit {
            Toolkit::Whole | Toolkit::None | Toolkit::EmptyOption => {}
            Toolkit::TextFile => fs::write(&libnvvm, "this is not a library\n")?,
            Toolkit::NoFunctions => {
                let source = directory.join("empty.rs");
                fs::write(&source, "")?;
                let mut command = Command::new(&self.rustc);
                command.arg("--crate-type=cdylib").arg(&source);
                let output = command.arg("-o").arg(&libnvvm).output()?;
                if !output.status.success() {
                    bail!("{}", String::from_utf8_lossy(&output.stderr));
                }
            }
            Toolkit::NoLibdevice => {
                let found =
                    cuda_toolkit::find_in(&[(self.cuda.clone(), cuda_toolkit::Origin::Caller)]);
                let real = found.libnvvm.context("libnvvm is gone")?.path;
                std::os::unix::fs::symlink(real.canonicalize()?, &libnvvm)?;
            }
        }
        Ok(directory)
    }

    /// Replaces what differs from one machine to the next.
    pub fn normalize(&self, text: &str) -> String {
        let sysroot = self.rustc.parent().and_then(Path::parent);
        let sources = sysroot
            .unwrap_or(Path::new("/"))
            .join("lib/rustlib/src/rust");
        let places = [
            (sources, "$RUST"),
            (self.bare.path().to_owned(), "$TOOLKITS"),
            (root().join("tests/ui/cases"), "$DIR"),
            (PathBuf::from("tests/ui/cases"), "$DIR"),
            (self.out.clone(), "$OUT"),
            (root(), "$ROOT"),
        ];
        let mut text = text.to_owned();
        for (path, name) in places {
            text = text.replace(&path.display().to_string(), name);
        }
        text.lines()
            .map(|line| without_place(line) + "\n")
            .collect()
    }
}

/// Takes the numbers off a place in a file that does not belong to the tests.
fn without_place(line: &str) -> String {
    let foreign = ["$RUST/", "$ROOT/", " crates/"]
        .iter()
        .any(|name| line.contains(name));
    if !(foreign && (line.contains("--> ") || line.contains("::: "))) {
        return line.to_owned();
    }
    let mut parts = line.rsplitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(_), Some(file)) => format!("{file}:LL:CC"),
        _ => line.to_owned(),
    }
}

/// The file that a variable names, if it is set.
fn file_of(variable: &str) -> Option<Result<PathBuf>> {
    let given = PathBuf::from(std::env::var_os(variable).filter(|path| !path.is_empty())?);
    let path = given.canonicalize();
    Some(path.with_context(|| format!("{variable} names {}", given.display())))
}

fn find_backend(cargo: &Path) -> Result<PathBuf> {
    if let Some(given) = file_of("RUSTC_CODEGEN_NVVM") {
        return given;
    }
    let mut command = Command::new(cargo);
    command
        .args(["build", "--release", "--package=rustc_codegen_nvvm"])
        .arg("--target-dir")
        .arg(target().join("backend"))
        .current_dir(root());
    let artifacts = artifacts(&mut command)?;
    let name = format!(
        "{}rustc_codegen_nvvm{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let backend = artifacts.into_iter().find(|file| file.ends_with(&name));
    backend.context("cargo built no backend")
}

/// Builds `core`, `alloc` and `cuda_std` for the device, and returns the arguments that let rustc
/// find them. They have no machine code, so `./x mutants` spares their build with each backend by
/// naming one for all in `UI_TESTS_LIBRARIES_BACKEND`.
fn build_libraries(cargo: &Path, backend: &Path) -> Result<Vec<OsString>> {
    let own = file_of("UI_TESTS_LIBRARIES_BACKEND").transpose()?;
    let backend = own.as_deref().unwrap_or(backend);
    let mut command = Command::new(cargo);
    command
        .args(["build", "--release", "--package=cuda_std"])
        .args(["-Zbuild-std=core,alloc", "-Zbuild-std-features="])
        .args(["-Zbinary-dep-depinfo", &format!("--target={TARGET}")])
        .arg("--target-dir")
        .arg(target().join("ui"))
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            cuda_builder::device_rustflags(backend, ARCH).join("\x1f"),
        )
        .env("CARGO_INCREMENTAL", "0")
        .current_dir(root());
    let mut arguments = Vec::new();
    for file in artifacts(&mut command)? {
        let directory = file.parent().unwrap_or(Path::new("."));
        let mut search = OsString::from("-Ldependency=");
        search.push(directory);
        if !arguments.contains(&search) {
            arguments.push(search);
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        for (krate, prefix) in [
            ("core", "noprelude:"),
            ("alloc", "noprelude:"),
            ("compiler_builtins", "noprelude:"),
            ("cuda_std", ""),
        ] {
            // Cargo leaves the metadata out of the `.rlib`, and rustc takes it from the `.rmeta`.
            let is_library = name.ends_with(".rlib") || name.ends_with(".rmeta");
            if name.starts_with(&format!("lib{krate}-")) && is_library {
                let mut given = OsString::from(format!("--extern={prefix}{krate}="));
                given.push(&file);
                arguments.push(given);
            }
        }
    }
    Ok(arguments)
}

/// Runs cargo, with its progress on standard error, and returns the files it made.
fn artifacts(command: &mut Command) -> Result<Vec<PathBuf>> {
    // The variables that `cargo test` sets are not meant for this process.
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        if !command.get_envs().any(|(set, _)| set == name) {
            command.env_remove(name);
        }
    }
    command.arg("--message-format=json-render-diagnostics");
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("{command:?} failed");
    }
    let mut files = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if message["reason"] == "compiler-artifact" {
            let names = message["filenames"].as_array().into_iter().flatten();
            files.extend(names.filter_map(Value::as_str).map(PathBuf::from));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::without_place;

    #[test]
    fn places_in_foreign_files_have_no_numbers() {
        assert_eq!(
            without_place("  --> $RUST/library/core/src/x.rs:12:5"),
            "  --> $RUST/library/core/src/x.rs:LL:CC"
        );
        assert_eq!(without_place("  --> $DIR/a.rs:1:2"), "  --> $DIR/a.rs:1:2");
    }
}
