//! The device build: its steps in order, and the inner cargo's command line.

use crate::flags::{TARGET, device_rustflags, last_crate_flags};
use crate::messages::{self, Level, Progress, Report, Show};
use crate::toolchain::Toolchain;
use crate::{
    Arch, Artifact, CudaBuilder, DebugInfo, Emit, Error, OptLevel, Output, Profile, backend,
    depinfo, distribution, embed, environment, output,
};
use cuda_toolkit::{Part, Toolkit, assemble};
use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names a directory for the output of every stage.
pub const DUMP_VARIABLE: &str = "CUDA_BUILDER_DUMP";

/// The part of a build that all architectures share.
struct Session<'a> {
    options: &'a CudaBuilder,
    krate: PathBuf,
    profile: Profile,
    toolchain: Toolchain,
    toolkit: Toolkit,
    backend: PathBuf,
    target: PathBuf,
    /// The user's cache, if this build uses it.
    cache: Option<PathBuf>,
    progress: Progress,
    /// The files that the outer cargo must watch.
    watch: BTreeSet<PathBuf>,
    /// The packages that the result contains.
    packages: BTreeSet<String>,
}

/// Implements [`CudaBuilder::build`].
pub(crate) fn build(options: &CudaBuilder) -> Result<Output, Error> {
    for name in [
        backend::VARIABLE,
        distribution::VARIABLE,
        messages::PROGRESS_VARIABLE,
        DUMP_VARIABLE,
    ]
    .iter()
    .chain(&cuda_toolkit::ENVIRONMENT)
    {
        // The destination of progress messages does not affect the output.
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
    let target = target_directory(options, &krate);
    let toolkit = find_toolkit(options, &target)?;
    let mut progress = Progress::from_environment();
    let cache = cache_directory(options);
    let artifacts = cache.as_deref().unwrap_or(&target);
    let backend = backend::find(&toolchain, artifacts, &mut progress)?;
    let mut session = Session {
        options,
        krate,
        profile: options.profile.unwrap_or_else(outer_profile),
        toolchain,
        toolkit,
        backend: backend.dylib,
        target,
        cache,
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
    if let Err(error) = result {
        // For a script that continues without device code. Cargo prints these lines before the
        // errors, so there are few of them, and does not need them after a failed script.
        session.watch = ["Cargo.toml", "src"]
            .map(|name| session.krate.join(name))
            .into();
        session.tell_cargo_what_to_watch();
        return Err(error);
    }
    session.tell_cargo_what_to_watch();
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
                let text = std::fs::read_to_string(&ptx.path)
                    .map_err(Error::io(format!("read `{}`", ptx.path.display())))?;
                let linked = ptx::is_to_be_linked(&text);
                let warn = |text: &str| tell_cargo(&format!("warning={text}"));
                let path = assemble::assemble(&ptxas.path, ptx.arch, &ptx.path, linked, warn)?;
                output.cubins.push(Artifact {
                    arch: ptx.arch,
                    path,
                    copy: None,
                });
            }
            if self.options.emit == Emit::Fatbin {
                let files = |artifacts: &[Artifact]| -> Vec<_> {
                    let files = artifacts.iter();
                    files.map(|file| (file.arch, file.path.clone())).collect()
                };
                let (ptx, cubins) = (files(&output.ptx), files(&output.cubins));
                let fatbin = assemble::pack(&ptxas.path, &ptx, &cubins)?;
                output.fatbin = Some(fatbin);
            }
        }
        Ok(())
    }

    fn build_one(&mut self, arch: Arch) -> Result<PathBuf, Error> {
        let shared = device_rustflags(&self.backend, arch);
        let mut own = last_crate_flags(self.options)?;
        own.extend(remap_flag(&self.krate));
        own.extend(self.dump_flags(arch)?);
        let key = self.key(arch, &shared);
        // The names of cargo's final artifacts have no hash, so each crate has its own directory.
        let directory = self.target.join("cuda-builder").join(&key);
        let directory = directory.join(self.name_of_crate());
        // Locked until the result is copied: another build script may build the same crate with
        // other flags in the same directory.
        let _lock = lock(&directory)?;
        let build_dir = self.cache.as_ref().unwrap_or(&self.target);
        let mut build_dir = build_dir.join("device").join(&key);
        // Cargo's hashes contain a package's path within its workspace only, so two workspaces must
        // not share a build directory. For a crate without a workspace, this makes its own hash
        // unique.
        own.push(format!(
            "--cfg=cuda_builder_crate=\"{}\"",
            self.name_of_crate()
        ));
        build_dir.extend(name_of_workspace(&self.krate, &self.toolchain));
        if self.cache.is_some() && !build_dir.exists() {
            self.progress.announce(&format!(
                "cuda_builder: compiling core and alloc for {arch} (once per user, about 20 seconds)"
            ));
        }
        let mut command = self.command(&directory, &shared, &own);
        // The names of intermediate artifacts have hashes that depend on the paths of their
        // packages, so `core` and `alloc` can be shared.
        command.env("CARGO_BUILD_BUILD_DIR", &build_dir);
        let report = messages::run(command, Show::All, &mut self.progress)?;
        self.watch.extend(report.manifests());
        if !report.success {
            self.tell_who_needs_std(&report);
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
        self.warn(&report);
        let ptx = report
            .artifacts_of(&self.krate.join("Cargo.toml"))
            .find(|file| file.extension().is_some_and(|extension| extension == "ptx"))
            .ok_or_else(|| Error::NoPtx(self.krate.clone()))?;
        self.watch.extend(depinfo::read_beside(ptx)?);
        let own = directory
            .join("cuda_builder")
            .join(self.hash_of_options(&own));
        let copy = own.join(ptx.file_name().unwrap_or_default());
        output::copy_if_different(ptx, &copy)?;
        Ok(copy)
    }

    /// The flags by which the backend and rustc write their stages, if [`DUMP_VARIABLE`] is set.
    fn dump_flags(&self, arch: Arch) -> Result<Vec<String>, Error> {
        let Some(directory) = std::env::var_os(DUMP_VARIABLE).filter(|value| !value.is_empty())
        else {
            return Ok(Vec::new());
        };
        let directory = Path::new(&directory).join(arch.sm());
        let text = directory.to_string_lossy();
        // The backend's options are separated by white space.
        if text.contains(char::is_whitespace) {
            return Err(Error::SpaceInPath(directory));
        }
        let created = std::fs::create_dir_all(&directory);
        created.map_err(Error::io(format!("create the directory `{text}`")))?;
        let name = self.krate.file_name().unwrap_or_default().to_string_lossy();
        Ok(vec![
            format!("-Cllvm-args=--dump={text}"),
            format!("--emit=mir={text}/{name}.mir"),
        ])
    }

    /// Prints the features that enable `std` in a dependency that fails to find it.
    fn tell_who_needs_std(&self, report: &Report) {
        let Some(package) = &report.uses_std else {
            return;
        };
        let mut command = Command::new(self.toolchain.cargo());
        environment::clean(&mut command);
        command
            .current_dir(&self.krate)
            .args(["tree", "--edges=features,no-dev,no-build", "--prefix=depth"])
            .arg(format!("--target={TARGET}"))
            .arg(format!("--invert={package}"))
            .args(self.feature_args())
            .env("RUSTC", self.toolchain.rustc());
        let Ok(output) = command.output() else {
            return;
        };
        let who = who_turned_on_std(&String::from_utf8_lossy(&output.stdout), package);
        if !who.is_empty() {
            eprintln!(
                "note: the feature `std` of `{package}` was enabled by {}",
                who.join(", ")
            );
            eprintln!("help: depend on it, or on what needs it, with `default-features = false`\n");
        }
    }

    fn feature_args(&self) -> Vec<String> {
        let options = self.options;
        let mut args = Vec::new();
        if !options.features.is_empty() {
            args.push(format!("--features={}", options.features.join(",")));
        }
        if !options.default_features {
            args.push("--no-default-features".to_owned());
        }
        args
    }

    /// The inner cargo's command line.
    fn command(&self, directory: &Path, shared: &[String], own: &[String]) -> Command {
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
            // Tells cargo that all crates depend on the contents of the backend.
            .arg("-Zbinary-dep-depinfo")
            .arg("--manifest-path")
            .arg(self.krate.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(directory);
        if self.profile == Profile::Release {
            command.arg("--release");
        }
        command.args(self.feature_args());
        command.args(&options.cargo_args).arg("--").args(own);

        command
            .env("RUSTC", self.toolchain.rustc())
            // Encoded: a path in a flag may contain a space.
            .env("CARGO_ENCODED_RUSTFLAGS", shared.join("\x1f"))
            // Only the last crate generates code, for the whole program.
            .env("CARGO_INCREMENTAL", "0");
        for (name, value) in self.profile_settings() {
            command.env(name, value);
        }
        // The backend locates libnvvm and libdevice itself; this makes it find the same files.
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

    /// Changes to the user's profile, as environment variables that override `Cargo.toml`.
    fn profile_settings(&self) -> Vec<(String, &'static str)> {
        let profile = match self.profile {
            Profile::Debug => "DEV",
            Profile::Release => "RELEASE",
        };
        // The backend optimizes the whole program anyway, and emits no input for LTO.
        let mut settings = vec![("LTO", "off"), ("CODEGEN_UNITS", "1"), ("STRIP", "none")];
        // Unoptimized kernels are a hundred times slower on the emulator. The checks of the `dev`
        // profile stay on.
        let level = match (self.options.opt_level, self.profile) {
            (Some(OptLevel::O0), _) => Some("0"),
            (Some(OptLevel::O1), _) => Some("1"),
            (Some(OptLevel::O2), _) => Some("2"),
            (Some(OptLevel::O3), _) | (None, Profile::Debug) => Some("3"),
            (None, Profile::Release) => None,
        };
        settings.extend(level.map(|level| ("OPT_LEVEL", level)));
        let debug_info = match self.options.debug_info {
            // Only the last crate gets a different flag, see `last_crate_flags`. The MIR of its
            // dependencies is the same, so builds with and without line tables share them.
            Some(DebugInfo::None | DebugInfo::LineTables) => Some("line-tables-only"),
            Some(DebugInfo::Full) => Some("full"),
            // For a debugger, as the profile says.
            None if level == Some("0") => None,
            None => Some("line-tables-only"),
        };
        settings.extend(debug_info.map(|debug_info| ("DEBUG", debug_info)));
        let name = |setting| format!("CARGO_PROFILE_{profile}_{setting}");
        settings
            .into_iter()
            .map(|(setting, value)| (name(setting), value))
            .collect()
    }

    /// Returns a name for a set of flags. GPU crates with the same flags share the dependencies
    /// that are compiled under this name.
    fn key(&self, arch: Arch, flags: &[String]) -> String {
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
        format!("{}-{:016x}", arch.sm(), hasher.finish())
    }

    /// Returns a name for the GPU crate, derived from its directory: two projects may have crates
    /// of the same name.
    fn name_of_crate(&self) -> String {
        name_of(&self.krate)
    }

    /// Returns a name for the artifacts that are not shared.
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
        format!("{:016x}", hasher.finish())
    }

    /// Forwards warnings and the backend's notes, because cargo hides the output of a successful
    /// build script. Lints of a crate that the host program depends on as well are left to the
    /// host's build.
    fn warn(&self, report: &Report) {
        let embedded = self.options.embed.is_some();
        let mut shown = BTreeSet::new();
        for diagnostic in &report.diagnostics {
            let is_new = diagnostic.level != Level::Error
                && !(embedded && diagnostic.code.is_some())
                && !diagnostic.is_count()
                && shown.insert(&diagnostic.rendered);
            if is_new {
                for line in diagnostic.rendered.trim_end().lines() {
                    tell_cargo(&format!("warning={line}"));
                }
            }
        }
    }

    fn tell_cargo_what_to_watch(&self) {
        let lock = self
            .krate
            .ancestors()
            .map(|directory| directory.join("Cargo.lock"))
            .find(|lock| lock.exists());
        for file in self.watch.iter().cloned().chain(lock) {
            // Cargo always reruns the script if a watched file does not exist.
            if file.exists() {
                tell_cargo(&format!("rerun-if-changed={}", file.display()));
            }
        }
    }
}

/// Returns a directory's name with a hash of its path.
fn name_of(directory: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    directory.hash(&mut hasher);
    let name = directory.file_name().unwrap_or_default();
    format!("{}-{:016x}", name.to_string_lossy(), hasher.finish())
}

/// Waits until no other build script uses a directory. Closing the file releases the lock.
fn lock(directory: &Path) -> Result<File, Error> {
    let failed = |source| Error::Io {
        action: format!("lock `{}`", directory.display()),
        source,
    };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let file = File::create(directory.join(".cuda_builder-lock")).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

/// Locates libnvvm, libdevice and, if cubins are requested, ptxas.
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

/// Returns the profile of the outer build.
fn outer_profile() -> Profile {
    match std::env::var("PROFILE").as_deref() {
        Ok("debug") => Profile::Debug,
        _ => Profile::Release,
    }
}

/// Parses the output of `cargo tree`, lines of a depth and a name such as `1memchr feature "std"`.
/// Returns the packages and features directly below a package's `std`, also where `default` enables
/// it.
fn who_turned_on_std(tree: &str, package: &str) -> Vec<String> {
    let lines: Vec<(usize, &str)> = tree
        .lines()
        .filter_map(|line| {
            let digits = line.find(|character: char| !character.is_ascii_digit())?;
            let name = line[digits..].trim_end_matches(" (*)");
            Some((line[..digits].parse().ok()?, name))
        })
        .collect();
    let own = format!("{package} feature ");
    let mut who = Vec::new();
    for (index, (depth, name)) in lines.iter().enumerate() {
        if *name != format!("{own}\"std\"") {
            continue;
        }
        let below = lines[index + 1..]
            .iter()
            .take_while(|(below, _)| below > depth);
        // Skips the package's own features in between, such as `default`.
        let mut wanted = depth + 1;
        for &(depth, name) in below {
            wanted = wanted.min(depth);
            if depth == wanted && name.starts_with(&own) {
                wanted += 1;
            } else if depth == wanted {
                let name = name.split(" (").next().unwrap_or(name);
                let name = format!("`{name}`");
                if !who.contains(&name) {
                    who.push(name);
                }
            }
        }
    }
    who
}

/// Returns the user's cache of the backend, `core` and `alloc`, which all projects share. `None`
/// selects the target directory, as when the user set that directory or a backend.
fn cache_directory(options: &CudaBuilder) -> Option<PathBuf> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let variable = cuda_toolkit::CACHE_VARIABLE;
    tell_cargo(&format!("rerun-if-env-changed={variable}"));
    if !is_set(variable) && (options.target_dir.is_some() || is_set(backend::VARIABLE)) {
        return None;
    }
    let directory = cuda_toolkit::user_cache()?;
    std::fs::create_dir_all(&directory).ok()?;
    Some(directory)
}

/// Reads the `Cargo.toml` of a directory; empty if there is none.
fn manifest_of(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("Cargo.toml")).unwrap_or_default()
}

/// Returns a name for the workspace of a GPU crate; `None` if the crate is certainly its only
/// package.
fn name_of_workspace(krate: &Path, toolchain: &Toolchain) -> Option<String> {
    let mut above = krate.ancestors().skip(1);
    let root = if above.any(|directory| manifest_of(directory).contains("[workspace")) {
        workspace_root(krate, toolchain)
    } else {
        krate.to_path_buf()
    };
    (root != krate || has_others(&manifest_of(krate))).then(|| name_of(&root))
}

/// Returns the root of a crate's workspace; the crate's directory if cargo does not report it.
fn workspace_root(krate: &Path, toolchain: &Toolchain) -> PathBuf {
    let mut command = Command::new(toolchain.cargo());
    environment::clean(&mut command);
    command
        .current_dir(krate)
        .args(["locate-project", "--workspace", "--message-format=plain"]);
    let output = command.output().ok();
    let output = output.filter(|output| output.status.success());
    let manifest = output.and_then(|output| String::from_utf8(output.stdout).ok());
    let root = manifest.and_then(|path| Some(Path::new(path.trim()).parent()?.to_path_buf()));
    root.unwrap_or_else(|| krate.to_path_buf())
}

/// Returns whether the workspace with this root manifest may have packages besides the root
/// package.
fn has_others(manifest: &str) -> bool {
    let mut paths = manifest.split("path").skip(1).filter_map(|rest| {
        let value = rest.trim_start().strip_prefix('=')?;
        value.trim_start().strip_prefix(['"', '\''])
    });
    manifest.contains("members")
        || paths.any(|path| !path.starts_with("..") && !path.starts_with('/'))
}

/// Makes paths in diagnostics and panic locations relative to the root of the outer workspace:
/// `kernels/src/lib.rs`, where `src/lib.rs` may be the host's file. In a workspace of its own, a
/// crate's paths would be relative to its directory.
fn remap_flag(krate: &Path) -> Option<String> {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    let manifest = manifest.canonicalize().ok()?;
    let root = manifest
        .ancestors()
        .find(|directory| directory.join("Cargo.lock").exists())
        .unwrap_or(&manifest);
    let relative = krate.strip_prefix(root).ok()?;
    let to = relative.join("src");
    (to != Path::new("src")).then(|| format!("--remap-path-prefix=src={}", to.display()))
}

/// Returns the directory for build artifacts.
fn target_directory(options: &CudaBuilder, krate: &Path) -> PathBuf {
    if let Some(directory) = &options.target_dir {
        return std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
    }
    if let Some(out_dir) = std::env::var_os("OUT_DIR") {
        let out_dir = PathBuf::from(out_dir);
        return target_of(&out_dir).unwrap_or(&out_dir).to_path_buf();
    }
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => krate.join("target"),
    }
}

/// Returns the target directory that contains a build script's `OUT_DIR`. Cargo marks a target
/// directory that it created with `CACHEDIR.TAG`, and caches information about rustc there. The
/// depth of `OUT_DIR` depends on cargo's version and on `--target`.
pub(crate) fn target_of(out_dir: &Path) -> Option<&Path> {
    out_dir.ancestors().find(|directory| {
        ["CACHEDIR.TAG", ".rustc_info.json"]
            .iter()
            .any(|file| directory.join(file).exists())
    })
}

/// Prints an instruction for the outer cargo, if the build runs in a build script.
fn tell_cargo(instruction: &str) {
    if std::env::var_os("OUT_DIR").is_some() {
        println!("cargo::{instruction}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_one_workspace_share_a_build_directory() {
        let Ok(toolchain) = Toolchain::find() else {
            return test_outcome::skip("no toolchain");
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().unwrap();
        let name = |directory: &str| name_of_workspace(&root.join(directory), &toolchain);
        assert_eq!(name("examples/vecadd/kernels"), Some(name_of(&root)));
        assert_eq!(name("tests/run/kernels"), Some(name_of(&root)));
        // Members of other workspaces may have the same paths and names.
        let directory = std::env::temp_dir().join(format!("workspaces-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        let write = |file: &str, text: &str| {
            let path = directory.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let package = "[package]\nname = \"kernels\"\nedition = \"2024\"\n";
        for workspace in ["a", "b"] {
            write(
                &format!("{workspace}/Cargo.toml"),
                "[workspace]\nmembers = [\"kernels\"]\nresolver = \"3\"\n",
            );
            write(&format!("{workspace}/kernels/Cargo.toml"), package);
            write(&format!("{workspace}/kernels/src/lib.rs"), "");
        }
        write("alone/Cargo.toml", package);
        let directory = directory.canonicalize().unwrap();
        let name = |name: &str| name_of_workspace(&directory.join(name), &toolchain);
        assert_eq!(name("a/kernels"), Some(name_of(&directory.join("a"))));
        assert_ne!(name("a/kernels"), name("b/kernels"));
        assert_eq!(name("alone"), None);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn who_turned_on_std_is_found() {
        let tree = "0memchr v2.8.3\n1memchr feature \"alloc\"\n2memchr feature \"std\"\n\
                    3memchr feature \"default\"\n4kernels v0.1.0 (/k)\n\
                    3nom feature \"std\"\n4kernels v0.1.0 (/k)\n1other v1.0.0\n";
        assert_eq!(
            who_turned_on_std(tree, "memchr"),
            ["`kernels v0.1.0`", "`nom feature \"std\"`"]
        );
        assert!(who_turned_on_std(tree, "other").is_empty());
    }
}
