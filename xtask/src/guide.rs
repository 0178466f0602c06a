//! `./x guide`: builds the guide with mdBook, into `target/guide/book`.
//!
//! The chapters include regions of `guide/listings`, and whole pages of `docs`. mdBook resolves
//! includes itself, but not the links of a page that is included from another directory, nor links
//! to files outside the book. So this command writes the chapters to `target/guide/src` with all
//! includes resolved and all links rewritten, and runs mdBook there.
//!
//! The tests of this module check the same sources without mdBook.

use crate::{only_flag, workspace};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode};

/// Runs the command.
pub fn guide(mut parser: lexopt::Parser) -> Result<ExitCode> {
    let open = only_flag(&mut parser, "open")?;
    let staged = Book::read()?.stage()?;
    if workspace::output_of("mdbook", &["--version"]).is_none() {
        bail!("mdbook was not found\nhelp: install it with `cargo install mdbook`");
    }
    let mut command = Command::new("mdbook");
    command.arg("build").arg(&staged);
    if open {
        command.arg("--open");
    }
    workspace::must_succeed(&mut command, "mdbook")?;
    println!("{}", staged.join("book/index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// The directory of the chapters, relative to the repository's root.
const CHAPTERS: &str = "guide/src";
const SUMMARY: &str = "guide/src/SUMMARY.md";

/// The chapters. All paths are relative to the repository's root.
struct Book {
    /// Each chapter that the summary lists, with its text.
    chapters: BTreeMap<PathBuf, String>,
    /// Pages of `docs` that are chapters, with the chapter that includes each.
    included: BTreeMap<PathBuf, PathBuf>,
}

impl Book {
    fn read() -> Result<Book> {
        let summary = Path::new(SUMMARY);
        let mut book = Book {
            chapters: BTreeMap::new(),
            included: BTreeMap::new(),
        };
        for link in links(&read(summary)?) {
            let path = resolve(summary, link.path());
            let text = read(&path)?;
            if let Some(page) = whole_page(&text) {
                book.included.insert(resolve(&path, page), path.clone());
            }
            book.chapters.insert(path, text);
        }
        Ok(book)
    }

    /// Writes everything that mdBook needs to `target/guide`, and returns that directory.
    fn stage(&self) -> Result<PathBuf> {
        let staged = workspace::target().join("guide");
        let source = staged.join("src");
        if source.exists() {
            fs::remove_dir_all(&source)?;
        }
        write(
            &staged.join("book.toml"),
            &read(Path::new("guide/book.toml"))?,
        )?;
        write(&source.join("SUMMARY.md"), &read(Path::new(SUMMARY))?)?;
        for chapter in self.chapters.keys() {
            let text = self.expand(chapter)?;
            write(&source.join(chapter.strip_prefix(CHAPTERS)?), &text)?;
        }
        for image in files(Path::new(CHAPTERS), "svg")? {
            write(&source.join(image.strip_prefix(CHAPTERS)?), &read(&image)?)?;
        }
        Ok(staged)
    }

    /// A chapter's text with its includes resolved and its links rewritten.
    fn expand(&self, chapter: &Path) -> Result<String> {
        let text = &self.chapters[chapter];
        if let Some(page) = whole_page(text) {
            let page = resolve(chapter, page);
            return Ok(self.rewrite(&read(&page)?, &page, chapter));
        }
        let mut expanded = String::new();
        for line in text.lines() {
            match include(line) {
                Some(included) => expanded.push_str(&included_text(chapter, included)?),
                None => {
                    expanded.push_str(line);
                    expanded.push('\n');
                }
            }
        }
        Ok(self.rewrite(&expanded, chapter, chapter))
    }

    /// Rewrites the links in part of the file `source`, which becomes part of a chapter.
    fn rewrite(&self, text: &str, source: &Path, chapter: &Path) -> String {
        let mut rewritten = String::new();
        let mut end = 0;
        for link in links(text).into_iter().filter(Link::is_relative) {
            rewritten.push_str(&text[end..link.start]);
            end = link.start + link.target.len();
            let target = match link.path() {
                "" => source.to_owned(),
                path => resolve(source, path),
            };
            let target = self.included.get(&target).unwrap_or(&target);
            let fragment = link.fragment().map(|name| format!("#{name}"));
            let fragment = fragment.unwrap_or_default();
            if target == chapter {
                rewritten.push_str(&fragment);
            } else if self.chapters.contains_key(target) || target.starts_with(CHAPTERS) {
                rewritten.push_str(&format!("{}{fragment}", relative(chapter, target)));
            } else {
                rewritten.push_str(&online(target, &fragment, link.text));
            }
        }
        rewritten.push_str(&text[end..]);
        rewritten
    }
}

/// The address of a file in the repository. A link to a source file whose text is the name of a
/// function leads to the function.
fn online(path: &Path, fragment: &str, text: &str) -> String {
    let file = workspace::root().join(path);
    let kind = if file.is_dir() { "tree" } else { "blob" };
    let name = text.trim_matches('`');
    let line = match fs::read_to_string(&file) {
        Ok(source) if path.extension().is_some_and(|extension| extension == "rs") => source
            .lines()
            .position(|line| line.contains(&format!("fn {name}(")))
            .map(|line| format!("#L{}", line + 1)),
        _ => None,
    };
    let fragment = line.as_deref().unwrap_or(fragment);
    let repository = env!("CARGO_PKG_REPOSITORY");
    format!("{repository}/{kind}/main/{}{fragment}", path.display())
}

/// Reads a file of the repository.
fn read(path: &Path) -> Result<String> {
    fs::read_to_string(workspace::root().join(path))
        .with_context(|| format!("{} cannot be read", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// The files below a directory with an extension, sorted.
fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(workspace::root().join(directory))? {
        let entry = entry?;
        let path = directory.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Resolves a link in a file. `..` is removed without looking at the file system.
fn resolve(file: &Path, link: &str) -> PathBuf {
    let mut resolved = file.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(link).components() {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    resolved
}

/// The link from one file to another.
fn relative(from: &Path, to: &Path) -> String {
    let from: Vec<Component> = from
        .parent()
        .unwrap_or(Path::new(""))
        .components()
        .collect();
    let to: Vec<Component> = to.components().collect();
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut link = PathBuf::new();
    link.extend(std::iter::repeat_n("..", from.len() - common));
    link.extend(&to[common..]);
    link.display().to_string()
}

/// A Markdown link, or a definition of one.
struct Link<'a> {
    /// Where the target starts in the text.
    start: usize,
    target: &'a str,
    text: &'a str,
}

impl<'a> Link<'a> {
    /// The target without its fragment.
    fn path(&self) -> &'a str {
        self.target.split('#').next().unwrap_or_default()
    }

    fn fragment(&self) -> Option<&'a str> {
        self.target.split_once('#').map(|(_, fragment)| fragment)
    }

    fn is_relative(&self) -> bool {
        !self.target.contains("://") && !self.target.starts_with("mailto:")
    }
}

/// The links of a Markdown text, in order: `[text](target)`, images, and definitions
/// `[name]: target`. Code is skipped, except as the text of a link.
fn links(text: &str) -> Vec<Link<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let trimmed = line.trim();
        if let Some(open) = fence {
            if trimmed == open {
                fence = None;
            }
            continue;
        }
        if trimmed.starts_with("```") {
            let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
            fence = Some(&trimmed[..ticks]);
            continue;
        }
        if let Some((name, target)) = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]: "))
            && !target.contains(' ')
        {
            let start = start + line.find("]: ").unwrap_or_default() + 3;
            found.push(Link {
                start,
                target,
                text: name,
            });
            continue;
        }
        for (middle, _) in line.match_indices("](") {
            let target = &line[middle + 2..];
            let Some(end) = target.find(')') else {
                continue;
            };
            // An odd number of backticks in front of the bracket: it is in inline code.
            let open = line[..middle].rfind('[').unwrap_or_default();
            if line[..open].matches('`').count() % 2 == 1 {
                continue;
            }
            found.push(Link {
                start: start + middle + 2,
                target: &target[..end],
                text: line.get(open + 1..middle).unwrap_or_default(),
            });
        }
    }
    found
}

/// The path and anchor that a line includes, if it is an include.
fn include(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("{{#include ")?;
    rest.strip_suffix("}}").map(str::trim)
}

/// The page of Markdown that is the whole of a chapter.
fn whole_page(text: &str) -> Option<&str> {
    include(text).filter(|included| included.ends_with(".md"))
}

/// The text of an include `FILE` or `FILE:ANCHOR` of a chapter.
fn included_text(chapter: &Path, included: &str) -> Result<String> {
    let (file, anchor) = match included.split_once(':') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (included, None),
    };
    let file = resolve(chapter, file);
    let text = read(&file).with_context(|| format!("{} includes it", chapter.display()))?;
    let Some(anchor) = anchor else {
        return Ok(text
            .lines()
            .filter(|line| !is_anchor(line))
            .fold(String::new(), |text, line| text + line + "\n"));
    };
    let mut lines = text.lines();
    let begins = |line: &str| anchor_of(line, "ANCHOR: ") == Some(anchor);
    if !lines.any(begins) {
        bail!("{} has no anchor {anchor}", file.display());
    }
    let mut region = Vec::new();
    loop {
        let Some(line) = lines.next() else {
            bail!("{} has no end of the anchor {anchor}", file.display());
        };
        if anchor_of(line, "ANCHOR_END: ") == Some(anchor) {
            break;
        }
        if !is_anchor(line) {
            region.push(line);
        }
    }
    // A region within a function is shown without the function's indentation.
    let indentation = region
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let line = |line: &&str| format!("{}\n", line.get(indentation..).unwrap_or(""));
    Ok(region.iter().map(line).collect())
}

fn anchor_of<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    let (_, name) = line.split_once(marker)?;
    Some(name.trim())
}

fn is_anchor(line: &str) -> bool {
    anchor_of(line, "ANCHOR: ").is_some() || anchor_of(line, "ANCHOR_END: ").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// All pages whose links are checked.
    fn pages() -> Vec<PathBuf> {
        let mut pages = Vec::new();
        for directory in ["docs", CHAPTERS, "benches"] {
            pages.extend(files(Path::new(directory), "md").unwrap());
        }
        for page in [
            "README.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "SECURITY.md",
        ] {
            pages.push(page.into());
        }
        pages
    }

    /// The fragments that lead to a page's headings.
    fn headings(text: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut code = false;
        for line in text.lines() {
            code ^= line.trim_start().starts_with("```");
            let title = line.trim_start_matches('#');
            if code || title == line || !title.starts_with(' ') {
                continue;
            }
            let slug: String = title
                .trim()
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect();
            let mut unique = slug.clone();
            for number in 1.. {
                if found.insert(unique.clone()) {
                    break;
                }
                unique = format!("{slug}-{number}");
            }
        }
        found
    }

    #[test]
    fn links_lead_somewhere() {
        let book = Book::read().unwrap();
        let mut wrong = Vec::new();
        for page in pages() {
            let text = read(&page).unwrap();
            for link in links(&text).into_iter().filter(Link::is_relative) {
                let target = match link.path() {
                    "" => page.clone(),
                    path => resolve(&page, path),
                };
                let exists = workspace::root().join(&target).exists();
                let anchored = match link.fragment() {
                    Some(fragment) if exists && target.extension().is_some_and(|e| e == "md") => {
                        let text = match book.chapters.get(&target) {
                            Some(_) => book.expand(&target).unwrap(),
                            None => read(&target).unwrap(),
                        };
                        headings(&text).contains(fragment)
                    }
                    _ => true,
                };
                if !exists || !anchored {
                    wrong.push(format!("{}: {}", page.display(), link.target));
                }
            }
        }
        assert!(wrong.is_empty(), "dead links:\n{}", wrong.join("\n"));
    }

    /// Paths that pages for contributors have as inline code.
    #[test]
    fn paths_for_contributors_exist() {
        const TOP: [&str; 6] = [
            "crates/",
            "docs/",
            "examples/",
            "guide/",
            "tests/",
            "xtask/",
        ];
        let mut pages = files(Path::new("docs/contributing"), "md").unwrap();
        pages.push("CONTRIBUTING.md".into());
        let mut missing = Vec::new();
        for page in pages {
            let text = read(&page).unwrap();
            for code in text.split('`').skip(1).step_by(2) {
                let is_path = TOP.iter().any(|top| code.starts_with(top))
                    && !code.contains([' ', '*'])
                    && !code.contains("NAME");
                if is_path && !workspace::root().join(code).exists() {
                    missing.push(format!("{}: {code}", page.display()));
                }
            }
        }
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }

    #[test]
    fn includes_resolve_and_chapters_are_listed() {
        let book = Book::read().unwrap();
        for chapter in files(Path::new(CHAPTERS), "md").unwrap() {
            if chapter != Path::new(SUMMARY) {
                assert!(
                    book.chapters.contains_key(&chapter),
                    "{} is not in SUMMARY.md",
                    chapter.display()
                );
                book.expand(&chapter).unwrap();
            }
        }
    }

    /// A listing of Rust that is not included from a file would not be compiled.
    #[test]
    fn listings_of_rust_are_included() {
        for (chapter, text) in Book::read().unwrap().chapters {
            let mut rust = false;
            for line in text.lines() {
                if line.trim_start().starts_with("```") {
                    rust = line.trim_start().starts_with("```rust");
                } else {
                    assert!(
                        !rust || include(line).is_some(),
                        "{}: `{line}` is not compiled: include it from guide/listings",
                        chapter.display()
                    );
                }
            }
        }
    }

    #[test]
    fn every_region_is_included() {
        let book = Book::read().unwrap();
        let mut included = BTreeSet::new();
        for (chapter, text) in &book.chapters {
            for (file, anchor) in text
                .lines()
                .filter_map(include)
                .filter_map(|i| i.split_once(':'))
            {
                included.insert((resolve(chapter, file), anchor.to_owned()));
            }
        }
        for file in files(Path::new("guide/listings"), "rs").unwrap() {
            for line in read(&file).unwrap().lines() {
                if let Some(anchor) = anchor_of(line, "ANCHOR: ") {
                    let region = (file.clone(), anchor.to_owned());
                    assert!(included.contains(&region), "no chapter includes {region:?}");
                }
            }
        }
    }

    /// The names of the kernels of a source file.
    fn kernels(source: &str) -> Vec<String> {
        let mut names = Vec::new();
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            if line.trim_start().starts_with("#[kernel")
                && let Some((_, rest)) = lines.by_ref().find_map(|line| line.split_once("fn "))
                && let Some(name) = rest.split(['(', '<']).next()
                // That of a macro.
                && !name.starts_with('$')
            {
                names.push(name.to_owned());
            }
        }
        names
    }

    #[test]
    fn the_cookbook_lists_every_sample() {
        let page = Path::new("guide/src/cookbook.md");
        let text = read(page).unwrap();
        let listed: Vec<(PathBuf, String)> = links(&text)
            .into_iter()
            .filter(|link| link.text.starts_with('`') && link.target.ends_with(".rs"))
            .map(|link| {
                let name = link.text.trim_matches('`').to_owned();
                (resolve(page, link.path()), name)
            })
            .collect();
        let unique: BTreeSet<_> = listed.iter().cloned().collect();
        assert_eq!(unique.len(), listed.len(), "a sample is listed twice");
        let mut samples = BTreeSet::new();
        for directory in ["tests/samples/kernels/src", "tests/samples/newer/src"] {
            for file in files(Path::new(directory), "rs").unwrap() {
                for name in kernels(&read(&file).unwrap()) {
                    samples.insert((file.clone(), name));
                }
            }
        }
        let missing: Vec<_> = samples.difference(&unique).collect();
        assert!(missing.is_empty(), "not in the cookbook: {missing:#?}");
        let gone: Vec<_> = unique.difference(&samples).collect();
        assert!(gone.is_empty(), "no longer in tests/samples: {gone:#?}");
    }

    /// The variants of an enum.
    fn variants(source: &str, name: &str) -> Vec<String> {
        let (_, rest) = source
            .split_once(&format!("\npub enum {name} {{\n"))
            .unwrap();
        let (body, _) = rest.split_once("\n}").unwrap();
        body.lines()
            .filter_map(|line| line.strip_prefix("    "))
            .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
            .filter_map(|line| line.split(|c: char| !c.is_alphanumeric()).next())
            .map(str::to_owned)
            .collect()
    }

    /// The environment variables that the crates read.
    fn variables() -> BTreeSet<String> {
        let mut sources = files(Path::new("xtask/src"), "rs").unwrap();
        for entry in fs::read_dir(workspace::root().join("crates")).unwrap() {
            let krate = Path::new("crates").join(entry.unwrap().file_name());
            sources.extend(files(&krate.join("src"), "rs").unwrap());
        }
        let mut found = BTreeSet::new();
        for source in sources {
            let text = read(&source).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            for marker in ["var(\"", "var_os(\"", "VARIABLE: &str = \""] {
                for part in text.split(marker).skip(1) {
                    found.extend(part.split('"').next().map(str::to_owned));
                }
            }
        }
        // Cargo's and the system's.
        const OTHERS: [&str; 14] = [
            "CARGO",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_MANIFEST_DIR",
            "CARGO_PKG_NAME",
            "CARGO_PKG_VERSION",
            "CARGO_TARGET_DIR",
            "CI",
            "CUDA_PATH",
            "HOME",
            "OPT_LEVEL",
            "OUT_DIR",
            "PATH",
            "PROFILE",
            "TARGET",
        ];
        found.retain(|name| !OTHERS.contains(&&**name) && !name.starts_with("RUSTC"));
        found.insert("RUSTC_CODEGEN_NVVM".to_owned());
        found
    }

    /// Fails unless the page has each name as inline code.
    #[track_caller]
    fn listed(page: &str, names: impl IntoIterator<Item = String>) {
        let text = read(Path::new(page)).unwrap();
        let missing: Vec<String> = names
            .into_iter()
            .filter(|name| {
                ["`", "(", " ", "=", "::"]
                    .iter()
                    .all(|end| !text.contains(&format!("`{name}{end}")))
            })
            .collect();
        assert!(missing.is_empty(), "{page} does not list {missing:?}");
    }

    #[test]
    fn the_reference_is_complete() {
        let source = |path: &str| read(Path::new(path)).unwrap();
        let options = source("crates/cuda_builder/src/options.rs");
        let (_, methods) = options.split_once("impl CudaBuilder").unwrap();
        let methods = methods
            .lines()
            .filter_map(|line| line.strip_prefix("    pub fn "));
        let methods = methods.filter_map(|line| line.split(['(', '<']).next());
        listed("guide/src/reference/builder.md", methods.map(str::to_owned));

        let backend = source("crates/rustc_codegen_nvvm/src/options.rs");
        let backend = backend
            .lines()
            .filter_map(|line| line.trim().strip_prefix("name: \""))
            .filter_map(|rest| rest.split('"').next());
        let backend = backend.map(|name| format!("--{name}"));
        listed("guide/src/reference/backend.md", backend);

        listed("guide/src/reference/environment.md", variables());

        let page = "guide/src/reference/errors.md";
        let error = source("crates/cust/src/error.rs");
        listed(page, variants(&error, "Error"));
        listed(page, variants(&error, "CpuFault"));
        listed(
            page,
            variants(&source("crates/cuda_builder/src/error.rs"), "Error"),
        );
    }

    #[test]
    fn links_are_rewritten() {
        let book = Book::read().unwrap();
        let page = book
            .expand(Path::new("guide/src/cuda-cpp/device.md"))
            .unwrap();
        // Another page that is a chapter, and one that is not.
        assert!(page.contains("](runtime.md)"), "{page:.500}");
        let online = format!(
            "]({}/blob/main/docs/intrinsics.md)",
            env!("CARGO_PKG_REPOSITORY")
        );
        assert!(page.contains(&online), "{page:.500}");
        let cookbook = book.expand(Path::new("guide/src/cookbook.md")).unwrap();
        assert!(cookbook.contains("/language.rs#L"), "{cookbook:.500}");
        let memory = book
            .expand(Path::new("guide/src/basics/memory.md"))
            .unwrap();
        assert!(
            memory.contains("\nlet mut data = DeviceBuffer::from_slice"),
            "{memory:.500}"
        );
        assert!(!memory.contains("ANCHOR"), "{memory:.500}");
    }

    #[test]
    fn links_are_found() {
        let text = "[a](b.md#c) and `[x](y)`\n```\n[no](no)\n```\n[d]: e.md\n![f](g.svg)\n";
        let found: Vec<_> = links(text).iter().map(|l| (l.text, l.target)).collect();
        assert_eq!(found, [("a", "b.md#c"), ("d", "e.md"), ("f", "g.svg")]);
        assert_eq!(&text[links(text)[2].start..][..5], "g.svg");
        assert_eq!(
            resolve(Path::new("guide/src/a/b.md"), "../../../docs/c.md"),
            Path::new("docs/c.md")
        );
        let (from, to) = (Path::new("guide/src/a/b.md"), Path::new("guide/src/c.md"));
        assert_eq!(relative(from, to), "../c.md");
    }
}
