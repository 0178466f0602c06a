//! Reads the options of the commands that inspect device code, and those that they pass to cargo.

use anyhow::{Result, bail};
use lexopt::ValueExt;
use std::ffi::OsString;
use std::path::PathBuf;

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// An option with its dashes.
    Option(String),
    /// Another argument.
    Value(OsString),
}

/// Returns the next argument.
///
/// # Errors
///
/// Returns an error if the argument is not valid.
pub fn next(parser: &mut lexopt::Parser) -> Result<Option<Argument>> {
    Ok(parser.next()?.map(|argument| match argument {
        lexopt::Arg::Long(name) => Argument::Option(format!("--{name}")),
        lexopt::Arg::Short(name) => Argument::Option(format!("-{name}")),
        lexopt::Arg::Value(value) => Argument::Value(value),
    }))
}

/// Returns the error for an argument that a command does not know.
///
/// # Errors
///
/// Always returns the error.
pub fn unexpected<T>(command: &str, argument: &Argument) -> Result<T> {
    let text = match argument {
        Argument::Option(option) => option.clone(),
        Argument::Value(value) => value.display().to_string(),
    };
    bail!("unexpected argument `{text}`\nhelp: `cargo cuda {command} --help` lists the options")
}

/// Cargo's options that take a value.
const WITH_VALUE: [&str; 13] = [
    "-p",
    "--package",
    "--bin",
    "--example",
    "--test",
    "--bench",
    "-F",
    "--features",
    "--manifest-path",
    "--profile",
    "--target-dir",
    "-j",
    "--jobs",
];

/// Cargo's options without a value.
const FLAGS: [&str; 15] = [
    "--lib",
    "--bins",
    "--examples",
    "--tests",
    "--benches",
    "--all-targets",
    "--workspace",
    "--all-features",
    "--no-default-features",
    "--release",
    "--locked",
    "--offline",
    "--frozen",
    "-v",
    "--verbose",
];

/// The lines of a command's help about these options.
pub const HELP: &str = "\
Options of `cargo build`, with the same meaning:
  -p, --package NAME, --workspace, --lib, --bin NAME, --example NAME, --test NAME, --bench NAME
  -F, --features NAMES, --all-features, --no-default-features
  --release, --dev, --profile NAME, --target-dir DIR, --manifest-path FILE
  --locked, --offline, --frozen, -j, --jobs N, -v, --verbose
";

/// The packages and targets that cargo builds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The options that are passed to cargo.
    pub cargo: Vec<OsString>,
    /// The names of packages.
    pub packages: Vec<String>,
    /// The manifest.
    pub manifest: Option<PathBuf>,
    /// Whether an option selects a profile.
    pub has_profile: bool,
}

impl Selection {
    /// Takes an argument, with its value, if it is one of cargo's.
    ///
    /// # Errors
    ///
    /// Returns an error if the argument lacks its value.
    pub fn take(&mut self, argument: &Argument, parser: &mut lexopt::Parser) -> Result<bool> {
        let Argument::Option(option) = argument else {
            return Ok(false);
        };
        if option == "--dev" {
            self.has_profile = true;
            return Ok(true);
        }
        self.has_profile |= matches!(option.as_str(), "--release" | "--profile");
        if FLAGS.contains(&option.as_str()) {
            self.cargo.push(option.into());
            return Ok(true);
        }
        if !WITH_VALUE.contains(&option.as_str()) {
            return Ok(false);
        }
        let value = parser.value()?;
        match option.as_str() {
            "-p" | "--package" => self.packages.push(value.clone().string()?),
            "--manifest-path" => self.manifest = Some(PathBuf::from(&value)),
            _ => {}
        }
        self.cargo.push(option.into());
        self.cargo.push(value);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_options_are_passed_on() {
        let text = "--json --bin a -p k --features=x,y --dev file --manifest-path m/Cargo.toml";
        let mut parser = lexopt::Parser::from_args(text.split(' '));
        let mut selection = Selection::default();
        let mut own = Vec::new();
        while let Some(argument) = next(&mut parser).unwrap() {
            if !selection.take(&argument, &mut parser).unwrap() {
                own.push(argument);
            }
        }
        let expected = [
            Argument::Option("--json".to_owned()),
            Argument::Value("file".into()),
        ];
        assert_eq!(own, expected);
        let cargo = "--bin a -p k --features x,y --manifest-path m/Cargo.toml";
        let cargo: Vec<OsString> = cargo.split(' ').map(OsString::from).collect();
        assert_eq!(selection.cargo, cargo);
        assert_eq!(selection.packages, ["k"]);
        assert_eq!(selection.manifest, Some("m/Cargo.toml".into()));
        assert!(selection.has_profile);
    }

    #[test]
    fn a_missing_value_is_an_error() {
        let mut parser = lexopt::Parser::from_args(["--bin"]);
        let argument = next(&mut parser).unwrap().unwrap();
        assert!(Selection::default().take(&argument, &mut parser).is_err());
    }
}
