//! Builds a package and finds the files that have its device code.

use crate::command::Session;
use crate::images::{self, Image};
use crate::options::Selection;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A workspace and the packages of it that a command is about.
#[derive(Debug, Clone)]
pub struct Project {
    /// The directory of the workspace.
    pub root: PathBuf,
    /// The target directory.
    pub target: PathBuf,
    /// The names and the manifests of the packages.
    pub packages: Vec<(String, PathBuf)>,
    /// Whether a package builds its kernels with `cuda_builder`. Otherwise its kernels are beside
    /// host code.
    pub two_crates: bool,
}

impl Project {
    /// Finds the packages that cargo would build.
    ///
    /// # Errors
    ///
    /// Returns an error if `cargo metadata` fails, or if no package matches the selection.
    pub fn find(session: &Session, selection: &Selection) -> Result<Project> {
        let mut command = Command::new(session.toolchain.cargo());
        command.args(["metadata", "--no-deps", "--format-version=1"]);
        if let Some(manifest) = &selection.manifest {
            command.arg("--manifest-path").arg(manifest);
        }
        command.stderr(Stdio::inherit());
        let output = command.output().context("cannot run `cargo metadata`")?;
        if !output.status.success() {
            bail!("there is no package to build; cargo's message is above");
        }
        let metadata = serde_json::from_slice(&output.stdout).context("cargo prints no JSON")?;
        let start = match &selection.manifest {
            Some(manifest) => std::path::absolute(manifest)?,
            None => std::env::current_dir()?.join("Cargo.toml"),
        };
        let project = Project::parse(&metadata, &start, &selection.packages);
        project.context("cargo's description of the workspace is incomplete")
    }

    /// Reads cargo's metadata. `start` is the manifest of the current directory, which need not
    /// exist.
    fn parse(metadata: &Value, start: &Path, names: &[String]) -> Option<Project> {
        let path = |name: &str| metadata[name].as_str().map(PathBuf::from);
        let root = path("workspace_root")?;
        let mut packages = Vec::new();
        for package in metadata["packages"].as_array()? {
            let name = package["name"].as_str()?.to_owned();
            let manifest = PathBuf::from(package["manifest_path"].as_str()?);
            let builds = (package["dependencies"].as_array()?.iter()).any(|dependency| {
                dependency["name"] == "cuda_builder" && dependency["kind"] == "build"
            });
            packages.push((name, manifest, builds));
        }
        // The package in the nearest directory; in the directory of a workspace, all.
        let nearest = (start.ancestors().skip(1))
            .map(|directory| directory.join("Cargo.toml"))
            .find(|manifest| packages.iter().any(|(_, other, _)| other == manifest));
        packages.retain(|(name, manifest, _)| match &nearest {
            _ if !names.is_empty() => names.contains(name),
            Some(nearest) => manifest == nearest,
            None => true,
        });
        Some(Project {
            root,
            target: path("target_directory")?,
            two_crates: packages.iter().any(|(.., builds)| *builds),
            packages: (packages.into_iter())
                .map(|(name, manifest, _)| (name, manifest))
                .collect(),
        })
    }
}

/// The artifacts of a build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Built {
    /// Programs and shared libraries.
    pub programs: Vec<PathBuf>,
    /// The programs among them.
    pub executables: Vec<PathBuf>,
    /// Static libraries of Rust.
    pub libraries: Vec<PathBuf>,
    /// The output directories of build scripts.
    pub directories: Vec<PathBuf>,
}

/// How to build.
#[derive(Debug, Clone, Default)]
pub struct Options<'a> {
    /// Without an option for a profile, whether to build the release profile.
    pub release: bool,
    /// Arguments of rustc for the last crate.
    pub rustc: &'a [OsString],
    /// Environment variables.
    pub environment: &'a [(&'a str, OsString)],
}

/// Builds the packages. Cargo shows its progress and errors on standard error.
///
/// # Errors
///
/// Returns an error if cargo cannot be run or the build fails.
pub fn build(
    session: &Session,
    project: &Project,
    selection: &Selection,
    options: &Options<'_>,
) -> Result<Built> {
    let mut command = match project.two_crates {
        // The host's compiler is the user's.
        true => Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
        false => session.single_source()?,
    };
    command
        .arg(if options.rustc.is_empty() {
            "build"
        } else {
            "rustc"
        })
        .arg("--message-format=json-render-diagnostics")
        .args(&selection.cargo);
    if !selection.has_profile && options.release {
        command.arg("--release");
        if !project.two_crates {
            // `cuda_builder` asks for line tables by itself.
            for (name, _) in &project.packages {
                command.arg("--config").arg(format!(
                    "profile.release.package.{name}.debug=\"line-tables-only\""
                ));
            }
        }
    }
    for (name, value) in options.environment {
        command.env(name, value);
    }
    if !options.rustc.is_empty() {
        command.arg("--").args(options.rustc);
    }
    command.stderr(Stdio::inherit());
    let output = command.output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the build failed; cargo's message is above");
    }
    let manifests: Vec<&Path> = (project.packages.iter())
        .map(|(_, manifest)| manifest.as_path())
        .collect();
    Ok(parse(&String::from_utf8_lossy(&output.stdout), &manifests))
}

/// Reads cargo's messages about the packages with these manifests.
fn parse(messages: &str, manifests: &[&Path]) -> Built {
    let mut built = Built::default();
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if message["reason"] == "build-script-executed" {
            // The id of a package ends in its directory, name and version.
            let id = message["package_id"].as_str().unwrap_or_default();
            let is_own = manifests.iter().any(|manifest| {
                let directory = manifest.parent().unwrap_or(Path::new(""));
                id.contains(&format!("{}#", directory.display()))
            });
            if is_own && let Some(directory) = message["out_dir"].as_str() {
                built.directories.push(PathBuf::from(directory));
            }
            continue;
        }
        let manifest = message["manifest_path"].as_str().map(Path::new);
        let is_own = manifest.is_some_and(|manifest| manifests.contains(&manifest));
        if message["reason"] != "compiler-artifact" || !is_own {
            continue;
        }
        let kinds: Vec<&str> = (message["target"]["kind"].as_array().into_iter().flatten())
            .filter_map(Value::as_str)
            .collect();
        if kinds.contains(&"custom-build") || kinds.contains(&"proc-macro") {
            continue;
        }
        let files = message["filenames"].as_array().into_iter().flatten();
        for file in files.filter_map(Value::as_str).map(PathBuf::from) {
            let extension = file.extension().unwrap_or_default().to_string_lossy();
            match &*extension {
                "rlib" => built.libraries.push(file),
                "so" | "dll" | "dylib" => built.programs.push(file),
                _ => {}
            }
        }
        if let Some(executable) = message["executable"].as_str().map(PathBuf::from) {
            built.executables.push(executable.clone());
            if !built.programs.contains(&executable) {
                built.programs.push(executable);
            }
        }
    }
    built
}

impl Built {
    /// Returns the only program.
    ///
    /// # Errors
    ///
    /// Returns an error if there is none, or several.
    pub fn executable(&self) -> Result<&Path> {
        match &self.executables[..] {
            [one] => Ok(one),
            [] => bail!(
                "the package has no program\nhelp: `--example NAME` or `--test NAME` selects one"
            ),
            several => {
                let names: Vec<String> = (several.iter())
                    .map(|path| format!("  {}", path.display()))
                    .collect();
                bail!(
                    "the package has {} programs\n{}\nhelp: `--bin NAME` selects one",
                    several.len(),
                    names.join("\n")
                )
            }
        }
    }

    /// Returns the device code of each file. If no program or library has any, these are the
    /// files that build scripts wrote.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read.
    pub fn device_code(&self, with_libraries: bool) -> Result<Vec<(PathBuf, Vec<Image>)>> {
        let mut files = self.programs.clone();
        if with_libraries || files.is_empty() {
            files.extend(self.libraries.iter().cloned());
        }
        let read = |files: Vec<PathBuf>| -> Result<Vec<(PathBuf, Vec<Image>)>> {
            let mut found = Vec::new();
            for file in files {
                let images = images::read(&file)?;
                if !images.is_empty() {
                    found.push((file, images));
                }
            }
            Ok(found)
        };
        let found = read(files)?;
        if !found.is_empty() {
            return Ok(found);
        }
        let mut written = Vec::new();
        for directory in &self.directories {
            let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
            written.extend(entries.map(|entry| entry.path()).filter(|path| {
                let extension = path.extension().unwrap_or_default();
                extension == "ptx" || extension == "cubin"
            }));
        }
        written.sort();
        read(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn packages_are_those_of_the_directory() {
        let package = |name: &str, builds: bool| {
            json!({
                "name": name,
                "manifest_path": format!("/w/{name}/Cargo.toml"),
                "dependencies": [
                    { "name": "cuda_builder", "kind": if builds { json!("build") } else { json!(null) } },
                ],
            })
        };
        let metadata = json!({
            "workspace_root": "/w",
            "target_directory": "/t",
            "packages": [package("a", true), package("b", false)],
        });
        let find = |start: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            let found = Project::parse(&metadata, Path::new(start), &names).unwrap();
            let packages: Vec<String> = found.packages.into_iter().map(|it| it.0).collect();
            (packages.join(" "), found.two_crates)
        };
        assert_eq!(find("/w/Cargo.toml", &[]), ("a b".to_owned(), true));
        assert_eq!(find("/w/b/src/Cargo.toml", &[]), ("b".to_owned(), false));
        assert_eq!(find("/w/b/Cargo.toml", &["a"]), ("a".to_owned(), true));
        assert!(Project::parse(&json!({}), Path::new("/"), &[]).is_none());
    }

    #[test]
    fn messages_of_cargo() {
        let artifact = |manifest: &str, kind: &str, executable: Value, file: &str| {
            json!({
                "reason": "compiler-artifact", "manifest_path": manifest,
                "target": { "kind": [kind] }, "filenames": [file], "executable": executable,
            })
        };
        let own = "/w/a/Cargo.toml";
        let messages = [
            artifact(own, "bin", json!("/t/a"), "/t/a"),
            artifact(own, "cdylib", json!(null), "/t/liba.so"),
            artifact(own, "lib", json!(null), "/t/liba.rlib"),
            artifact(own, "custom-build", json!("/t/build"), "/t/build"),
            artifact(own, "proc-macro", json!(null), "/t/libm.so"),
            artifact("/other/Cargo.toml", "lib", json!(null), "/t/libo.rlib"),
            json!({ "reason": "build-script-executed", "out_dir": "/o",
                    "package_id": "path+file:///w/a#0.1.0" }),
            json!({ "reason": "build-script-executed", "out_dir": "/p",
                    "package_id": "path+file:///w/ab#0.1.0" }),
        ];
        let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
        let found = parse(&format!("text\n{}", lines.join("\n")), &[Path::new(own)]);
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(found.programs, paths(&["/t/a", "/t/liba.so"]));
        assert_eq!(found.executables, paths(&["/t/a"]));
        assert_eq!(found.executable().unwrap(), Path::new("/t/a"));
        assert!(Built::default().executable().is_err());
        assert_eq!(found.libraries, paths(&["/t/liba.rlib"]));
        assert_eq!(found.directories, paths(&["/o"]));
    }
}
