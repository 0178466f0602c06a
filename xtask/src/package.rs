//! `./x package`: packages the public crates as `cargo publish` would. The tests of this module check
//! what a package has to have besides its sources.

use crate::{only_flag, workspace};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::process::ExitCode;

/// Runs the command.
pub fn package(mut parser: lexopt::Parser) -> Result<ExitCode> {
    let verify = only_flag(&mut parser, "verify")?;
    let mut command = workspace::cargo();
    command
        .arg("package")
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"));
    for package in packages()?.iter().filter(|package| is_public(package)) {
        let name = package["name"].as_str().unwrap_or_default();
        command.arg("--package").arg(name);
    }
    if !verify {
        command.arg("--no-verify");
    }
    // As in the build of the backend, whose build script asks this compiler.
    if let Some(sysroot) = workspace::sysroot() {
        command.env("RUSTC", sysroot.join("bin/rustc"));
    }
    workspace::must_succeed(&mut command, "cargo package")?;
    println!("{}", workspace::target().join("package").display());
    Ok(ExitCode::SUCCESS)
}

/// Returns the workspace's packages, as cargo describes them.
fn packages() -> Result<Vec<Value>> {
    let mut command = workspace::cargo();
    command
        .args(["metadata", "--format-version=1", "--no-deps"])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"));
    let output = command.output().context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let mut metadata: Value = serde_json::from_slice(&output.stdout)?;
    match metadata["packages"].take() {
        Value::Array(packages) => Ok(packages),
        _ => bail!("`cargo metadata` lists no packages"),
    }
}

/// Returns whether a package may be published: `publish = false` is an empty list of registries.
fn is_public(package: &Value) -> bool {
    package["publish"].is_null()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn text<'a>(package: &'a Value, key: &str) -> &'a str {
        package[key].as_str().unwrap_or_default()
    }

    fn directory(package: &Value) -> &Path {
        let manifest = Path::new(text(package, "manifest_path"));
        manifest.parent().unwrap()
    }

    #[test]
    fn the_public_packages_are_those_of_crates() {
        let crates = workspace::root().join("crates");
        for package in packages().unwrap() {
            let inside = directory(&package).starts_with(&crates);
            assert_eq!(is_public(&package), inside, "{}", package["name"]);
        }
    }

    #[test]
    fn public_packages_are_described() {
        for package in packages().unwrap().iter().filter(|it| is_public(it)) {
            let name = text(package, "name");
            for key in ["description", "license", "repository", "readme"] {
                assert!(!text(package, key).is_empty(), "{name} has no {key}");
            }
            let length = |key: &str| package[key].as_array().map_or(0, Vec::len);
            // The registry's limits.
            assert!((1..=5).contains(&length("keywords")), "{name}");
            assert!((1..=5).contains(&length("categories")), "{name}");
            assert_eq!(
                package["rust_version"].is_null(),
                name == "rustc_codegen_nvvm",
                "{name}"
            );
            for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
                assert!(
                    directory(package).join(file).is_file(),
                    "{name} has no {file}"
                );
            }
        }
    }

    #[test]
    fn public_packages_depend_on_the_same_version() {
        for package in packages().unwrap().iter().filter(|it| is_public(it)) {
            let name = text(package, "name");
            let expected = format!("={}", text(package, "version"));
            for dependency in package["dependencies"].as_array().unwrap() {
                // Cargo removes development dependencies without a version.
                let is_local = !dependency["path"].is_null() && dependency["kind"] != "dev";
                let on = text(dependency, "name");
                let version = text(dependency, "req");
                assert!(!is_local || version == expected, "{name}: {on} {version}");
            }
        }
    }

    /// Examples of README files are those of the crates' documentation, which are tests.
    #[test]
    fn examples_of_readmes_are_tested() {
        let mut examples = 0;
        for package in packages().unwrap().iter().filter(|it| is_public(it)) {
            let directory = directory(package);
            let readme = fs::read_to_string(directory.join("README.md")).unwrap();
            let Some((_, rest)) = readme.split_once("```rust\n") else {
                continue;
            };
            let (example, _) = rest.split_once("```").unwrap();
            let documentation = fs::read_to_string(directory.join("src/lib.rs")).unwrap();
            let documentation: String = (documentation.lines())
                .filter_map(|line| line.strip_prefix("//!"))
                .map(|line| line.strip_prefix(' ').unwrap_or(line))
                .filter(|line| *line != "#" && !line.starts_with("# "))
                .fold(String::new(), |text, line| text + line + "\n");
            assert!(documentation.contains(example), "{}", text(package, "name"));
            examples += 1;
        }
        assert!(examples > 8, "{examples}");
    }
}
