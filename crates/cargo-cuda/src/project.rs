//! `cargo cuda new` and `cargo cuda init`.

use crate::flags;
use anyhow::{Context, Result, bail};
use cuda_builder::TOOLCHAIN;
use cuda_builder::internal::Toolchain;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The components of the toolchain.
pub const COMPONENTS: &str = "rustc-dev,rust-src,llvm-tools,clippy,rustfmt";

const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

const MAIN: &str = include_str!("../template/main.rs");

const PROFILE: &str = "
# The emulator is about 20 times slower when unoptimized.
[profile.dev.package.ptx_emulator]
opt-level = 3
";

/// A table of `.cargo/config.toml` and its lines. The first entry has the lines before any table.
type Table = (&'static str, &'static str);

/// `.cargo/config.toml`. It marks build scripts and procedural macros: see [`flags::BUILD_TIME`].
/// Kernels refuse to be compiled without the wrapper, see [`flags::PREPARED`].
const CONFIG: [Table; 5] = [
    (
        "",
        "# Build scripts and procedural macros are compiled without the flags of kernels.\n\
         target-applies-to-host = false\n",
    ),
    (
        "[build]",
        "rustc-wrapper = \"cargo-cuda\"\nrustdoc = \"cuda-rustdoc\"\n",
    ),
    ("[host]", "rustflags = [\"--cfg=nvvm_build_time\"]\n"),
    (
        "[unstable]",
        "host-config = true\ntarget-applies-to-host = true\n",
    ),
    ("[env]", "CARGO_CUDA_PREPARED = \"1\"\n"),
];

/// `cargo cuda new NAME`: all arguments but `--path REPOSITORY` go to `cargo new`.
///
/// # Errors
///
/// Returns an error if cargo fails, or if a file cannot be written.
pub fn new(toolchain: &Toolchain, mut arguments: Vec<OsString>) -> Result<ExitCode> {
    let source = Source::take(&mut arguments)?;
    let value_options = [
        "--name",
        "--edition",
        "--vcs",
        "--registry",
        "--color",
        "--config",
        "-Z",
    ];
    let mut previous = None;
    let name = arguments.iter().find(|argument| {
        let text = argument.to_string_lossy();
        let is_value = previous
            .replace(text.to_string())
            .is_some_and(|option: String| value_options.contains(&option.as_str()));
        !text.starts_with('-') && !is_value
    });
    let Some(directory) = name.map(PathBuf::from) else {
        bail!("missing name of the new package\nhelp: cargo cuda new NAME");
    };
    cargo(toolchain, Path::new("."), "new", &arguments)?;
    write(&directory.join("src/main.rs"), MAIN)?;
    prepare(toolchain, &directory, &source)?;
    eprintln!("help: `cd {}`, then `cargo run`", directory.display());
    Ok(ExitCode::SUCCESS)
}

/// `cargo cuda init`, in a directory with or without a package.
///
/// # Errors
///
/// Returns an error if cargo fails, or if a file cannot be read or written.
pub fn init(toolchain: &Toolchain, mut arguments: Vec<OsString>) -> Result<ExitCode> {
    let source = Source::take(&mut arguments)?;
    let directory = Path::new(".");
    if !directory.join("Cargo.toml").exists() {
        let had_main =
            directory.join("src/main.rs").exists() || directory.join("src/lib.rs").exists();
        cargo(toolchain, directory, "init", &arguments)?;
        if !had_main && directory.join("src/main.rs").exists() {
            write(&directory.join("src/main.rs"), MAIN)?;
        }
    } else if let Some(unexpected) = arguments.first() {
        bail!(
            "unexpected argument `{}`: there is a package in this directory",
            unexpected.display()
        );
    }
    prepare(toolchain, directory, &source)?;
    Ok(ExitCode::SUCCESS)
}

/// Where the libraries come from.
enum Source {
    Git,
    /// A clone of the repository.
    Path(PathBuf),
}

impl Source {
    /// Removes `--path REPOSITORY` from the arguments.
    fn take(arguments: &mut Vec<OsString>) -> Result<Source> {
        let Some(at) = arguments.iter().position(|argument| argument == "--path") else {
            return Ok(Source::Git);
        };
        arguments.remove(at);
        if at == arguments.len() {
            bail!("`--path` needs a directory: a clone of {REPOSITORY}");
        }
        let given = PathBuf::from(arguments.remove(at));
        let path = given.canonicalize().ok();
        match path.filter(|path| path.join("crates/cuda_std/Cargo.toml").exists()) {
            Some(path) => Ok(Source::Path(path)),
            None => bail!("`{}` is not a clone of {REPOSITORY}", given.display()),
        }
    }

    /// The value of a dependency.
    fn dependency(&self, name: &str) -> String {
        match self {
            Source::Git => format!("{{ git = \"{REPOSITORY}\" }}"),
            Source::Path(path) => {
                let path = path.join("crates").join(name).display().to_string();
                format!("{{ path = {path:?} }}")
            }
        }
    }
}

fn cargo(
    toolchain: &Toolchain,
    directory: &Path,
    name: &str,
    arguments: &[OsString],
) -> Result<()> {
    let mut command = Command::new(toolchain.cargo());
    command.current_dir(directory).arg(name).args(arguments);
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("`cargo {name}` failed; its message is above");
    }
    Ok(())
}

/// Writes the dependencies of the package, and the profile, the toolchain and cargo's configuration
/// of its workspace: cargo ignores profiles of members, and builds members from the root, too.
fn prepare(toolchain: &Toolchain, directory: &Path, source: &Source) -> Result<()> {
    let manifest = directory.join("Cargo.toml");
    let root = workspace_root(toolchain, &manifest)?;
    let is_root = root.canonicalize().ok() == directory.canonicalize().ok();
    let root = if is_root { directory } else { &root };
    if is_package(&manifest)? {
        edit(&manifest, |text| with_dependencies(text, source))?;
    } else {
        eprintln!("help: run `cargo cuda init` in each package of the workspace that has kernels");
    }
    edit(&root.join("Cargo.toml"), |text| Ok(with_profile(text)))?;
    edit(&root.join("rust-toolchain.toml"), with_toolchain)?;
    edit(&root.join(".cargo/config.toml"), with_config)?;
    if !is_root {
        eprintln!("note: prepared the workspace at `{}`", root.display());
    }
    Ok(())
}

/// Returns the root directory of the workspace that a package belongs to.
fn workspace_root(toolchain: &Toolchain, manifest: &Path) -> Result<PathBuf> {
    let mut command = Command::new(toolchain.cargo());
    command
        .args(["locate-project", "--workspace", "--message-format=plain"])
        .arg("--manifest-path")
        .arg(manifest)
        .stderr(std::process::Stdio::inherit());
    let output = command.output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("`cargo locate-project` failed; its message is above");
    }
    let path = String::from_utf8(output.stdout).context("the workspace's path is not UTF-8")?;
    let root = Path::new(path.trim_end_matches(['\r', '\n'])).parent();
    Ok(root.unwrap_or(Path::new("")).to_path_buf())
}

/// Returns whether a manifest is that of a package, and not of a workspace alone.
fn is_package(manifest: &Path) -> Result<bool> {
    let text = fs::read_to_string(manifest)
        .with_context(|| format!("cannot read `{}`", manifest.display()))?;
    Ok(text
        .lines()
        .any(|line| line.trim_start().starts_with("[package]")))
}

/// Changes a file, or creates it.
fn edit(path: &Path, change: impl FnOnce(&str) -> Result<String>) -> Result<()> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.with_context(|| format!("cannot read `{}`", path.display()))?,
    };
    let new = change(&text).with_context(|| format!("cannot change `{}`", path.display()))?;
    if new == text {
        return Ok(());
    }
    write(path, &new)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let written = match path.parent() {
        Some(directory) => fs::create_dir_all(directory).and_then(|()| fs::write(path, text)),
        None => fs::write(path, text),
    };
    written.with_context(|| format!("cannot write `{}`", path.display()))
}

fn with_dependencies(text: &str, source: &Source) -> Result<String> {
    let mut text = text.to_owned();
    let has = |text: &str, name: &str| {
        let is = |line: &str| {
            let rest = line.trim_start().strip_prefix(name)?.trim_start();
            rest.starts_with(['=', '.']).then_some(())
        };
        text.lines().any(|line| is(line).is_some())
    };
    for name in ["cust", "cuda_std"] {
        if !has(&text, name) {
            let line = format!("{name} = {}\n", source.dependency(name));
            text = insert(&text, "[dependencies]", &line);
        }
    }
    Ok(text)
}

fn with_profile(text: &str) -> String {
    match text.contains("[profile.dev.package.ptx_emulator]") {
        true => text.to_owned(),
        false => format!("{text}{PROFILE}"),
    }
}

fn with_toolchain(text: &str) -> Result<String> {
    if text.contains(&format!("\"{TOOLCHAIN}\"")) {
        return Ok(text.to_owned());
    }
    if !text.is_empty() {
        bail!("it names another toolchain\nhelp: set `channel = \"{TOOLCHAIN}\"`");
    }
    let components: Vec<String> = COMPONENTS
        .split(',')
        .map(|name| format!("{name:?}"))
        .collect();
    Ok(format!(
        "# The compiler that cargo-cuda works with.\n[toolchain]\nchannel = \"{TOOLCHAIN}\"\n\
         components = [{}]\nprofile = \"minimal\"\n",
        components.join(", ")
    ))
}

fn with_config(text: &str) -> Result<String> {
    let mut text = text.to_owned();
    for (table, lines) in CONFIG {
        text = with_table(&text, table, lines)?;
    }
    Ok(text)
}

/// Adds those lines to a table that it does not have.
fn with_table(text: &str, table: &str, lines: &str) -> Result<String> {
    let mut missing = String::new();
    for line in lines.lines() {
        if in_table(text, table).any(|present| present == line) {
            continue;
        }
        if let Some((key, _)) = line.split_once(" = ")
            && in_table(text, table).any(|present| is_key(present, key))
        {
            bail!("it sets `{key}` to another value\nhelp: expected\n{table}\n{line}");
        }
        missing.push_str(line);
        missing.push('\n');
    }
    Ok(match missing.is_empty() {
        true => text.to_owned(),
        false => insert(text, table, &missing),
    })
}

/// Returns the lines of a table, without those of its subtables.
fn in_table<'a>(text: &'a str, table: &'a str) -> impl Iterator<Item = &'a str> {
    let mut current = "";
    text.lines().map(str::trim).filter(move |line| {
        if line.starts_with('[') {
            current = line;
        }
        current == table
    })
}

/// Returns whether a line sets a key.
fn is_key(line: &str, key: &str) -> bool {
    let rest = line.strip_prefix(key).map(str::trim_start);
    rest.is_some_and(|rest| rest.starts_with(['=', '.']))
}

/// Returns whether the environment, or a configuration file that cargo reads in the current
/// directory, has the flags of the table `host`.
pub fn has_host_flags() -> bool {
    if std::env::var(flags::HOST_FLAGS).is_ok_and(|given| given.contains(flags::BUILD_TIME)) {
        return true;
    }
    let current = std::env::current_dir().unwrap_or_default();
    let flags = flags::build_time();
    let has = |directory: &Path| {
        let text = fs::read_to_string(directory.join(".cargo/config.toml"));
        text.is_ok_and(|text| in_table(&text, "[host]").any(|line| line.contains(&flags)))
    };
    current.ancestors().any(has)
}

/// Inserts lines at the start of a table, which is appended if it does not exist.
fn insert(text: &str, table: &str, lines: &str) -> String {
    if table.is_empty() {
        let separator = if text.is_empty() { "" } else { "\n" };
        return format!("{lines}{separator}{text}");
    }
    let mut result = String::new();
    let mut inserted = false;
    for line in text.lines() {
        result.push_str(line);
        result.push('\n');
        if !inserted && line.trim() == table {
            result.push_str(lines);
            inserted = true;
        }
    }
    if !inserted {
        if !result.is_empty() {
            result.push('\n');
        }
        result.push_str(&format!("{table}\n{lines}"));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_manifest_gets_dependencies() {
        let text = "[package]\nname = \"a\"\n\n[dependencies]\n";
        let text = with_dependencies(text, &Source::Path("/r".into())).unwrap();
        let expected = "[dependencies]\ncuda_std = { path = \"/r/crates/cuda_std\" }\n\
                        cust = { path = \"/r/crates/cust\" }\n";
        assert!(text.contains(expected), "{text}");
        let with = with_profile(&text);
        assert!(with.ends_with(PROFILE), "{with}");
        assert_eq!(with_profile(&with), with);
        let again = with_dependencies(&text, &Source::Git).unwrap();
        assert_eq!(text, again);
    }

    #[test]
    fn a_dependency_with_a_longer_name_is_another_one() {
        let text = "[dependencies]\ncust_core = \"1\"\n";
        let text = with_dependencies(text, &Source::Git).unwrap();
        assert!(text.contains("\ncust = { git = "), "{text}");
    }

    const NEW: &str = "\
# Build scripts and procedural macros are compiled without the flags of kernels.
target-applies-to-host = false

[build]
rustc-wrapper = \"cargo-cuda\"
rustdoc = \"cuda-rustdoc\"

[host]
rustflags = [\"--cfg=nvvm_build_time\"]

[unstable]
host-config = true
target-applies-to-host = true

[env]
CARGO_CUDA_PREPARED = \"1\"
";

    #[test]
    fn configurations() {
        let new = with_config("").unwrap();
        assert_eq!(new, NEW);
        assert_eq!(with_config(&new).unwrap(), new);
        let with_build = with_config("[net]\na = 1\n[build]\njobs = 1\n").unwrap();
        let start = "# Build scripts and procedural macros are compiled without the flags of kernels.\n\
             target-applies-to-host = false\n\n[net]\na = 1\n[build]\n\
             rustc-wrapper = \"cargo-cuda\"\nrustdoc = \"cuda-rustdoc\"\njobs = 1\n\n[host]\n";
        assert!(with_build.starts_with(start), "{with_build}");
        assert_eq!(with_config(&with_build).unwrap(), with_build);
        for (text, key) in [
            ("[build]\nrustc-wrapper = \"sccache\"\n", "rustc-wrapper"),
            ("[host]\nrustflags=[]\n", "rustflags"),
        ] {
            let error = with_config(text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{key}`")), "{error}");
        }
    }

    #[test]
    fn the_configuration_has_the_flag() {
        let flag = format!("{:?}", flags::build_time());
        assert!(CONFIG.iter().any(|(_, lines)| lines.contains(&flag)));
        let prepared =
            |(_, lines): &Table| in_table(lines, "").any(|line| is_key(line, flags::PREPARED));
        assert!(CONFIG.iter().any(prepared));
        for (_, value) in flags::HOST_TABLE {
            let lines = CONFIG.iter().filter(|(_, lines)| lines.contains(value));
            assert!(lines.count() > 0, "{value}");
        }
    }

    #[test]
    fn toolchains() {
        let new = with_toolchain("").unwrap();
        assert!(new.contains("\"rust-src\", \"llvm-tools\""), "{new}");
        assert_eq!(with_toolchain(&new).unwrap(), new);
        assert!(with_toolchain("[toolchain]\nchannel = \"stable\"\n").is_err());
    }
}
