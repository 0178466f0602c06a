//! The lines of source files that locations in PTX name, and colors.

use ptx::Location;
use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Source files, which are read once.
#[derive(Debug, Default)]
pub struct Sources {
    /// Where relative paths are searched.
    directories: Vec<PathBuf>,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Searches relative paths in these directories, then in the current one.
    pub fn new(mut directories: Vec<PathBuf>) -> Sources {
        directories.push(PathBuf::new());
        Sources {
            directories,
            files: HashMap::new(),
        }
    }

    /// Returns the text of a line, without indentation.
    pub fn line(&mut self, location: &Location) -> Option<&str> {
        let directories = &self.directories;
        let read = |name: &str| {
            let mut paths = directories.iter().map(|directory| directory.join(name));
            let text = paths.find_map(|path| std::fs::read_to_string(path).ok())?;
            Some(text.lines().map(|line| line.trim().to_owned()).collect())
        };
        let lines = self
            .files
            .entry(location.file.clone())
            .or_insert_with(|| read(&location.file));
        let index = location.line.checked_sub(1)? as usize;
        lines.as_ref()?.get(index).map(String::as_str)
    }
}

/// Whether a file is part of the standard library, `cuda_std`, or a package of a registry.
fn is_library(file: &str) -> bool {
    let file = file.replace('\\', "/");
    // The standard library's crates, without the prefix that its build removes.
    ["/rustc/", "core/src/", "alloc/src/", "std/src/"]
        .iter()
        .any(|prefix| file.starts_with(prefix))
        || [
            "/rustlib/src/",
            "/cuda_std/src/",
            "/registry/src/",
            "crates/cuda_std/",
        ]
        .iter()
        .any(|part| file.contains(part))
}

/// Of a location and the calls by which it was inlined, outwards, returns the first one in the
/// user's code, otherwise the location itself.
pub fn own(locations: &[Location]) -> Option<&Location> {
    let own = locations.iter().find(|it| !is_library(&it.file));
    own.or(locations.first())
}

/// A location as text: relative to the current directory if it is below, and to the directory of
/// the package in a library.
pub fn show(location: &Location) -> String {
    let file = relative(&location.file);
    let package = is_library(&file).then(|| {
        let (before, _) = file.rsplit_once("/src/")?;
        let start = before.rfind('/').map_or(0, |at| at + 1);
        Some(file[start..].to_owned())
    });
    format!("{}:{}", package.flatten().unwrap_or(file), location.line)
}

/// A path relative to the current directory, if it is below.
pub fn relative(path: &str) -> String {
    let below = std::env::current_dir().ok().and_then(|directory| {
        let below = Path::new(path).strip_prefix(directory).ok()?;
        Some(below.to_str()?.to_owned())
    });
    below.unwrap_or_else(|| path.to_owned())
}

/// Colors for a terminal, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colors(bool);

impl Colors {
    /// Colors if standard output is a terminal and `NO_COLOR` is not set.
    pub fn of_stdout() -> Colors {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Colors(!refused && std::io::stdout().is_terminal())
    }

    /// No colors.
    pub const NONE: Colors = Colors(false);

    /// A line of the source.
    pub fn source(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// A name.
    pub fn name(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// A label.
    pub fn label(self, text: &str) -> String {
        self.paint("33", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self.0 {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(file: &str, line: u32) -> Location {
        Location {
            file: file.to_owned(),
            line,
            column: 1,
        }
    }

    #[test]
    fn lines_are_found_in_the_directories() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        std::fs::write(directory.path().join("src/lib.rs"), "one\n    two\n").unwrap();
        let mut sources = Sources::new(vec![directory.path().to_owned()]);
        assert_eq!(sources.line(&at("src/lib.rs", 2)), Some("two"));
        assert_eq!(sources.line(&at("src/lib.rs", 3)), None);
        assert_eq!(sources.line(&at("src/lib.rs", 0)), None);
        assert_eq!(sources.line(&at("src/nothing.rs", 1)), None);
    }

    #[test]
    fn the_users_code_comes_before_libraries() {
        let library = at("/rustc/1/library/core/src/slice/index.rs", 9);
        let chain = [library.clone(), at("kernels/src/lib.rs", 4), at("b.rs", 1)];
        assert_eq!(own(&chain), Some(&chain[1]));
        assert_eq!(own(&chain[..1]), Some(&library));
        assert_eq!(own(&[]), None);
    }

    #[test]
    fn libraries_are_shown_by_their_package() {
        let shown = |file: &str| show(&at(file, 3));
        assert_eq!(
            shown("/r/crates/cuda_std/src/a/b.rs"),
            "cuda_std/src/a/b.rs:3"
        );
        assert_eq!(shown("core/src/num/mod.rs"), "core/src/num/mod.rs:3");
        assert_eq!(shown("/home/me/k/src/lib.rs"), "/home/me/k/src/lib.rs:3");
    }

    #[test]
    fn only_terminals_get_colors() {
        assert_eq!(Colors::NONE.source("a"), "a");
        assert_eq!(Colors(true).source("a"), "\x1b[36ma\x1b[0m");
    }
}
