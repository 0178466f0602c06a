//! Runs cargo, forwards its output, and collects its JSON messages.

use crate::Error;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment variable that names a file for cargo's progress.
pub(crate) const PROGRESS_VARIABLE: &str = "CUDA_BUILDER_PROGRESS";

/// An additional destination of cargo's progress besides standard error.
pub struct Progress(Option<File>);

impl Progress {
    /// The destination that `CUDA_BUILDER_PROGRESS` names.
    pub fn from_environment() -> Progress {
        let path = std::env::var_os(PROGRESS_VARIABLE).filter(|path| !path.is_empty());
        // A build does not fail because its progress cannot be shown.
        Progress(path.and_then(|path| OpenOptions::new().append(true).open(path).ok()))
    }

    /// Announces a step that takes long on the terminal, because cargo hides the output of build
    /// scripts.
    pub fn announce(&mut self, line: &str) {
        self.line(line);
        if self.0.is_none()
            && !io::stderr().is_terminal()
            && let Ok(mut terminal) = OpenOptions::new().append(true).open("/dev/tty")
        {
            let _ = write!(terminal, "\r\x1b[K{line}\r\n");
        }
    }

    fn line(&mut self, line: &str) {
        eprintln!("{line}");
        if let Some(file) = &mut self.0 {
            let _ = writeln!(file, "{line}");
        }
    }
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// An error: the crate does not compile.
    Error,
    /// A warning: the crate compiles.
    Warning,
    /// Any other diagnostic.
    Note,
}

/// A diagnostic of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity.
    pub level: Level,
    /// The error code (`E0463`), if any.
    pub code: Option<String>,
    /// The message, without location and notes.
    pub message: String,
    /// The complete diagnostic, as rendered by rustc.
    pub rendered: String,
}

impl Diagnostic {
    /// Whether this is a summary of other diagnostics: "2 warnings emitted".
    pub(crate) fn is_count(&self) -> bool {
        self.message.ends_with(" emitted")
    }

    /// Whether the cause is that the target has no standard library.
    pub(crate) fn misses_std(&self) -> bool {
        self.code.as_deref() == Some("E0463") && self.message.contains("`std`")
    }
}

/// The result of a run of cargo.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) success: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Cargo's own output.
    pub(crate) output: String,
    /// For each crate that was built or fresh: its manifest, whether it is local (not from a
    /// registry or the standard library), and its output files.
    crates: Vec<(PathBuf, bool, Vec<PathBuf>)>,
    /// The package that was rejected because it uses `std`.
    pub(crate) uses_std: Option<String>,
    /// The names of the packages of these crates.
    pub(crate) packages: std::collections::BTreeSet<String>,
}

impl Report {
    /// The output files of the package with this manifest.
    pub(crate) fn artifacts_of(&self, manifest: &Path) -> impl Iterator<Item = &PathBuf> {
        let wanted = manifest.canonicalize().ok();
        self.crates
            .iter()
            .filter(move |(path, ..)| path.canonicalize().ok() == wanted)
            .flat_map(|(_, _, files)| files)
    }

    /// The manifests of local packages, which may change.
    pub(crate) fn manifests(&self) -> Vec<PathBuf> {
        let own = self.crates.iter().filter(|(_, own, _)| *own);
        own.map(|(manifest, ..)| manifest.clone()).collect()
    }

    fn read(&mut self, line: &str, show: Show) {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            // A line from a build script or from cargo itself.
            return eprintln!("{line}");
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match message["reason"].as_str() {
            Some("compiler-message") => {
                let inner = &message["message"];
                let diagnostic = Diagnostic {
                    level: match inner["level"].as_str() {
                        Some("warning") => Level::Warning,
                        Some(level) if level.starts_with("error") => Level::Error,
                        _ => Level::Note,
                    },
                    code: inner["code"]["code"].as_str().map(str::to_owned),
                    message: text(&inner["message"]),
                    rendered: text(&inner["rendered"]),
                };
                if show == Show::All || diagnostic.level == Level::Error {
                    eprint!("{}", diagnostic.rendered);
                }
                if diagnostic.misses_std() {
                    self.uses_std = Some(package_name(&text(&message["package_id"])));
                }
                self.diagnostics.push(diagnostic);
            }
            Some("compiler-artifact") => {
                let files = message["filenames"].as_array().into_iter().flatten();
                let manifest = PathBuf::from(text(&message["manifest_path"]));
                let own = text(&message["package_id"]).starts_with("path+")
                    && !manifest
                        .components()
                        .any(|part| part.as_os_str() == "rustlib");
                self.packages
                    .insert(package_name(&text(&message["package_id"])));
                self.crates
                    .push((manifest, own, files.map(text).map(PathBuf::from).collect()));
            }
            _ => {}
        }
    }
}

/// The name in a package's identifier: `path+file:///a/b#name@0.1.0`, or without the name if it
/// equals the directory's.
fn package_name(id: &str) -> String {
    let (place, version) = id.rsplit_once('#').unwrap_or((id, ""));
    let name = match version.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or_default(),
    };
    name.to_owned()
}

/// Selects the diagnostics that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    All,
    Errors,
}

/// Runs a cargo command with `--message-format=json`.
pub(crate) fn run(
    mut command: Command,
    show: Show,
    progress: &mut Progress,
) -> Result<Report, Error> {
    let program = command.get_program().display().to_string();
    let started = |source: io::Error| Error::Io {
        action: format!("run `{program}`"),
        source,
    };
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A progress bar makes no sense in a pipe.
    command.env("CARGO_TERM_PROGRESS_WHEN", "never");
    let mut child = command.spawn().map_err(started)?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(started(io::ErrorKind::BrokenPipe.into()));
    };
    let mut report = Report::default();
    // Both pipes are read concurrently: cargo blocks if one of them is full.
    let output = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut output = String::new();
            for line in lines(stderr) {
                progress.line(&line);
                output.push_str(&line);
                output.push('\n');
            }
            output
        });
        for line in lines(stdout) {
            report.read(&line, show);
        }
        reader.join().unwrap_or_default()
    });
    report.output = output;
    report.success = child.wait().map_err(started)?.success();
    Ok(report)
}

/// Lines of a pipe, which may contain invalid UTF-8.
fn lines(pipe: impl io::Read) -> impl Iterator<Item = String> {
    BufReader::new(pipe)
        .split(b'\n')
        .map_while(Result::ok)
        .map(|line| String::from_utf8_lossy(&line).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read() {
        let mut report = Report::default();
        report.read(
            r#"{"reason":"compiler-message","package_id":"path+file:///memchr#2.8.3","message":{"level":"error","code":{"code":"E0463"},
            "message":"can't find crate for `std`","rendered":"error[E0463]: ...\n"}}"#,
            Show::Errors,
        );
        report.read(
            r#"{"reason":"compiler-artifact","package_id":"path+file:///k#0.1.0",
            "manifest_path":"/k/Cargo.toml","filenames":["/t/k.ptx"]}"#,
            Show::Errors,
        );
        report.read(
            r#"{"reason":"compiler-artifact","package_id":"path+file:///x/rustlib/src/core#0.0.0",
            "manifest_path":"/x/rustlib/src/core/Cargo.toml","filenames":["/t/libcore.rlib"]}"#,
            Show::Errors,
        );
        report.read(r#"{"reason":"build-finished","success":true}"#, Show::All);
        assert!(report.diagnostics[0].misses_std());
        assert_eq!(report.uses_std.as_deref(), Some("memchr"));
        assert_eq!(report.diagnostics[0].level, Level::Error);
        assert_eq!(report.manifests(), [PathBuf::from("/k/Cargo.toml")]);
    }

    #[test]
    fn artifacts_are_those_of_one_package() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let [own, dependency] =
            ["Cargo.toml", "../ptx/Cargo.toml"].map(|manifest| directory.join(manifest));
        let files = |name: &str| vec![PathBuf::from(name)];
        let report = Report {
            crates: vec![
                (own.clone(), true, files("own.ptx")),
                (dependency, true, files("dependency.rlib")),
            ],
            ..Report::default()
        };
        assert!(report.artifacts_of(&own).eq(&files("own.ptx")));
    }

    #[test]
    fn an_internal_compiler_error_is_an_error() {
        let mut report = Report::default();
        report.read(
            r#"{"reason":"compiler-message","package_id":"path+file:///k#0.1.0",
            "message":{"level":"error: internal compiler error","code":null,
            "message":"m","rendered":""}}"#,
            Show::Errors,
        );
        assert_eq!(report.diagnostics[0].level, Level::Error);
    }
}
