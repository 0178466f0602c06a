//! The build itself: the steps in their order, and the inner cargo's command line.

use crate::flags::{TARGET, device_rustflags, last_crate_flags};
use crate::messages::{self, Level, Progress, Report, Show};
use crate::toolchain::Toolchain;
use crate::{
    Arch, Artifact, CudaBuilder, DebugInfo, Emit, Error, OptLevel, Output, Profile, assemble,
    backend, depinfo, embed, environment, output,
};
use cuda_toolkit::{Part, Toolkit};
use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that is the same for all architectures.
struct Session<'a> {
    options: &'a CudaBuilder,
    krate: PathBuf,
    profile: Profile,
    toolchain: Toolchain,
    toolkit: Toolkit,
    backend: PathBuf,
    target: PathBuf,
    progress: Progress,
    /// The files the outer cargo is to watch.
    watch: BTreeSet<PathBuf>,
    /// The packages that are in the result.
    packages: BTreeSet<String>,
}

/// What [`CudaBuilder::build`] does.
pub(crate) fn build(options: &CudaBuilder) -> Result<Output, Error> {
    for name in [backend::VARIABLE, messages::PROGRESS_VARIABLE]
        .iter()
        .chain(&cuda_toolkit::ENVIRONMENT)
    {
        // Where the progress goes changes nothing of the output.
        if *name != messages::PROGRESS_VARIABLE {
            tell_cargo(&format!("rerun-if-env-changed={name}"));
        }
    }
    let mut archs = options
        .archs
        .iter()
        .cloned()
        .collect::<Result<Vec<Arch>, _>>()?;
    if archs.is_empty() {
        archs.push(CudaBuilder::DEFAULT_ARCH);
    }
    archs.sort();
    archs.dedup();

    let krate = options
        .krate
        .canonicalize()
        .ok()
        .filter(|krate| krate.join("Cargo.toml").is_file())
        .ok_or_else(|| Error::NoCrate(options.krate.clone()))?;
    let toolchain = Toolchain::find()?;
    let target = target_folder(options, &krate);
    let toolkit = find_toolkit(options, &target)?;
    let mut progress = Progress::from_environment();
    let backend = backend::find(&toolchain, &target, &mut progress)?;
    let mut session = Session {
        options,
        krate,
        profile: options.profile.unwrap_or_else(outer_profile),
        toolchain,
        toolkit,
        backend: backend.dylib,
        target,
        progress,
        watch: backend.watch.into_iter().collect(),
        packages: BTreeSet::new(),
    };

    let mut output = Output {
        ptx: Vec::new(),
        cubins: Vec::new(),
        fatbin: None,
        backend: session.backend.clone(),
    };
    let result = session.build_all(&archs, &mut output);
    // After a failure too, for a script that goes on without the device code.
    session.tell_cargo_what_to_watch();
    result?;
    if let Some(path) = &options.copy_to {
        output.copy_to(path)?;
    }
    if let Some(name) = &options.embed {
        embed::embed(name, &output, &session.packages)?;
    }
    Ok(output)
}

impl Session<'_> {
    fn build_all(&mut self, archs: &[Arch], output: &mut Output) -> Result<(), Error> {
        self.watch.insert(self.krate.join("Cargo.toml"));
        self.watch.insert(self.krate.join("src"));
        for &arch in archs {
            let path = self.build_one(arch)?;
            output.ptx.push(Artifact {
                arch,
                path,
                copy: None,
            });
        }
        // The dep-info names every file.
        self.watch.remove(&self.krate.join("src"));
        if let (Emit::Cubin | Emit::Fatbin, Some(ptxas)) = (self.options.emit, &self.toolkit.ptxas)
        {
            for ptx in &output.ptx {
                let path = assemble::assemble(&ptxas.path, ptx)?;
                output.cubins.push(Artifact {
                    arch: ptx.arch,
                    path,
                    copy: None,
                });
            }
            if self.options.emit == Emit::Fatbin {
                let fatbin = assemble::pack(&ptxas.path, &output.ptx, &output.cubins)?;
                output.fatbin = Some(fatbin);
            }
        }
        Ok(())
    }

    fn build_one(&mut self, arch: Arch) -> Result<PathBuf, Error> {
        let shared = device_rustflags(&self.backend, arch);
        let own = last_crate_flags(self.options)?;
        let folder = self.shared_folder(arch, &shared);
        // Until the result is copied: another build script may be about to build the same crate
        // with other flags, in the same folder.
        let _lock = lock(&folder)?;
        let command = self.command(&folder, &shared, &own);
        let report = messages::run(command, Show::All, &mut self.progress)?;
        self.watch.extend(report.manifests());
        if !report.success {
            return Err(Error::Compile {
                krate: self.krate.clone(),
                arch,
                errors: (report.diagnostics.into_iter())
                    .filter(|diagnostic| diagnostic.level == Level::Error)
                    .collect(),
                cargo_output: report.output,
            });
        }
        self.packages.extend(report.packages.iter().cloned());
        warn(&report);
        let ptx = report
            .artifacts_of(&self.krate.join("Cargo.toml"))
            .find(|file| file.extension().is_some_and(|extension| extension == "ptx"))
            .ok_or_else(|| Error::NoPtx(self.krate.clone()))?;
        self.watch.extend(depinfo::read_beside(ptx)?);
        let own = folder.join("cuda_builder").join(self.hash_of_options(&own));
        let copy = own.join(ptx.file_name().unwrap_or_default());
        output::copy_if_different(ptx, &copy)?;
        Ok(copy)
    }

    /// The inner cargo's command line.
    fn command(&self, folder: &Path, shared: &[String], own: &[String]) -> Command {
        let options = self.options;
        let mut command = Command::new(self.toolchain.cargo());
        environment::clean(&mut command);
        command
            .current_dir(&self.krate)
            .args([
                "rustc",
                "--lib",
                "--crate-type=cdylib",
                "--message-format=json",
            ])
            .arg(format!("--target={TARGET}"))
            .args(["-Zbuild-std=core,alloc", "-Zbuild-std-features="])
            // Makes cargo know that all crates depend on the backend's content.
            .arg("-Zbinary-dep-depinfo")
            .arg("--manifest-path")
            .arg(self.krate.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(folder);
        if self.profile == Profile::Release {
            command.arg("--release");
        }
        if !options.features.is_empty() {
            command.arg(format!("--features={}", options.features.join(",")));
        }
        if !options.default_features {
            command.arg("--no-default-features");
        }
        command.args(&options.cargo_args).arg("--").args(own);

        command
            .env("RUSTC", self.toolchain.rustc())
            // Encoded: a path in a flag may contain a space.
            .env("CARGO_ENCODED_RUSTFLAGS", shared.join("\x1f"))
            // Only the last crate is compiled to code, and that whole.
            .env("CARGO_INCREMENTAL", "0");
        for (name, value) in self.profile_settings() {
            command.env(name, value);
        }
        // The backend looks for libnvvm and libdevice by itself; this makes it find the same.
        for (name, part) in cuda_toolkit::ENVIRONMENT
            .iter()
            .zip([Part::Libnvvm, Part::Libdevice])
        {
            if let Some(found) = self.toolkit.get(part) {
                command.env(name, &found.root);
            }
        }
        command.envs(options.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What is changed of the user's profile, as variables that override its `Cargo.toml`.
    fn profile_settings(&self) -> Vec<(String, &'static str)> {
        let profile = match self.profile {
            Profile::Debug => "DEV",
            Profile::Release => "RELEASE",
        };
        // The backend optimises the whole program anyway, and has nothing for an LTO to read.
        let mut settings = vec![("LTO", "off"), ("CODEGEN_UNITS", "1"), ("STRIP", "none")];
        if let Some(level) = self.options.opt_level {
            let level = match level {
                OptLevel::O0 => "0",
                OptLevel::O1 => "1",
                OptLevel::O2 => "2",
                OptLevel::O3 => "3",
            };
            settings.push(("OPT_LEVEL", level));
        }
        if let Some(debug_info) = self.options.debug_info {
            let debug_info = match debug_info {
                DebugInfo::None => "none",
                DebugInfo::LineTables => "line-tables-only",
                DebugInfo::Full => "full",
            };
            settings.push(("DEBUG", debug_info));
        }
        let name = |setting| format!("CARGO_PROFILE_{profile}_{setting}");
        settings
            .into_iter()
            .map(|(setting, value)| (name(setting), value))
            .collect()
    }

    /// The target folder for one set of shared flags. GPU crates that are built alike share it,
    /// and with it the compiled core and alloc.
    fn shared_folder(&self, arch: Arch, flags: &[String]) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (
            flags,
            self.profile,
            self.profile_settings(),
            &self.toolchain.root,
        )
            .hash(&mut hasher);
        for part in [Part::Libnvvm, Part::Libdevice] {
            self.toolkit
                .get(part)
                .map(|found| &found.path)
                .hash(&mut hasher);
        }
        let name = format!("{}-{:08x}", arch.sm(), hasher.finish() as u32);
        self.target.join("cuda-builder").join(name)
    }

    /// A name for what is not shared.
    fn hash_of_options(&self, flags: &[String]) -> String {
        let mut hasher = DefaultHasher::new();
        let options = self.options;
        (
            &self.krate,
            flags,
            &options.features,
            options.default_features,
        )
            .hash(&mut hasher);
        (&options.cargo_args, &options.env).hash(&mut hasher);
        format!("{:08x}", hasher.finish() as u32)
    }

    fn tell_cargo_what_to_watch(&self) {
        let lock = self
            .krate
            .ancestors()
            .map(|folder| folder.join("Cargo.lock"))
            .find(|lock| lock.exists());
        for file in self.watch.iter().cloned().chain(lock) {
            // Cargo runs the script every time if a file that it watches does not exist.
            if file.exists() {
                tell_cargo(&format!("rerun-if-changed={}", file.display()));
            }
        }
    }
}

/// Waits until no other build script uses a folder. The lock ends with the file.
fn lock(folder: &Path) -> Result<File, Error> {
    let failed = |source| Error::Io {
        action: format!("lock `{}`", folder.display()),
        source,
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let file = File::create(folder.join(".cuda_builder-lock")).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

/// Passes warnings on: cargo does not show the output of a build script that succeeds.
fn warn(report: &Report) {
    for diagnostic in &report.diagnostics {
        if diagnostic.level == Level::Warning {
            for line in diagnostic.rendered.trim_end().lines() {
                tell_cargo(&format!("warning={line}"));
            }
        }
    }
}

/// Finds libnvvm, libdevice and, if cubins are asked for, ptxas.
fn find_toolkit(options: &CudaBuilder, target: &Path) -> Result<Toolkit, Error> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cuda");
    let mut extra: Vec<PathBuf> = repository.canonicalize().into_iter().collect();
    extra.push(target.join("cuda"));
    let toolkit = cuda_toolkit::find(&extra);
    toolkit
        .warnings()
        .for_each(|warning| tell_cargo(&format!("warning={warning}")));
    let needed = |part: &Part| *part != Part::Ptxas || options.emit != Emit::Ptx;
    let missing: Vec<Part> = toolkit.missing().filter(needed).collect();
    if missing.is_empty() {
        Ok(toolkit)
    } else {
        Err(Error::NoToolkit {
            missing,
            searched: toolkit.searched,
        })
    }
}

/// The profile of the build script's own build.
fn outer_profile() -> Profile {
    match std::env::var("PROFILE").as_deref() {
        Ok("debug") => Profile::Debug,
        _ => Profile::Release,
    }
}

/// The folder for build artefacts.
fn target_folder(options: &CudaBuilder, krate: &Path) -> PathBuf {
    if let Some(folder) = &options.target_dir {
        return std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
    }
    if let Some(out_dir) = std::env::var_os("OUT_DIR") {
        let out_dir = PathBuf::from(out_dir);
        return target_of(&out_dir).unwrap_or(&out_dir).to_path_buf();
    }
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => krate.join("target"),
    }
}

/// The target folder that a build script's `OUT_DIR` lies in: cargo marks it with a
/// `CACHEDIR.TAG` if it made the folder itself, and keeps what it knows of rustc there. How deep
/// `OUT_DIR` lies depends on cargo's version and on `--target`.
pub(crate) fn target_of(out_dir: &Path) -> Option<&Path> {
    out_dir.ancestors().find(|folder| {
        ["CACHEDIR.TAG", ".rustc_info.json"]
            .iter()
            .any(|file| folder.join(file).exists())
    })
}

/// Prints an instruction for the outer cargo, if there is one.
fn tell_cargo(instruction: &str) {
    if std::env::var_os("OUT_DIR").is_some() {
        println!("cargo::{instruction}");
    }
}
