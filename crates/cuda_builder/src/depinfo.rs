//! Reads cargo's dep-info files, which list the files that a build read.

use crate::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the source files of an artifact, from the `.d` file next to it. Omits libraries, which
/// the same build creates from listed files.
pub(crate) fn read_beside(artifact: &Path) -> Result<Vec<PathBuf>, Error> {
    let path = artifact.with_extension("d");
    let text =
        fs::read_to_string(&path).map_err(Error::io(format!("read `{}`", path.display())))?;
    let directory = path.parent().unwrap_or(Path::new(""));
    Ok(parse(&text)
        .into_iter()
        .filter(|file| {
            let extension = file.extension().and_then(|extension| extension.to_str());
            !matches!(
                extension,
                Some("rlib" | "rmeta" | "so" | "dylib" | "dll" | "a")
            )
        })
        .map(|file| directory.join(file))
        .collect())
}

/// Parses `output: file file …` lines, in which `\ ` stands for a space in a name.
fn parse(text: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in text.lines() {
        let Some((_, list)) = line.split_once(": ") else {
            continue;
        };
        let mut name = String::new();
        let mut characters = list.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\\' if characters.peek() == Some(&' ') => {
                    name.push(' ');
                    characters.next();
                }
                ' ' => files.push(std::mem::take(&mut name)),
                _ => name.push(character),
            }
        }
        files.push(name);
    }
    files.retain(|name| !name.is_empty());
    files.sort();
    files.dedup();
    files.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_spaces_and_backslashes() {
        let files = parse("/t/k.ptx: /k/src/lib.rs /my\\ kernels/a.rs C:\\x\\y.rs\n\n# env\n");
        let files: Vec<_> = files.iter().map(|file| file.to_str().unwrap()).collect();
        assert_eq!(files, ["/k/src/lib.rs", "/my kernels/a.rs", "C:\\x\\y.rs"]);
    }

    #[test]
    fn an_output_without_inputs() {
        assert_eq!(parse("/t/k.ptx: \n/t/k.ptx:\n"), Vec::<PathBuf>::new());
    }
}
