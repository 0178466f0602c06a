//! `cargo cuda inspect`: the PTX, machine code, NVVM IR or MIR of one function, beside its source.

use crate::artifacts::{self, Built, Project};
use crate::command::Session;
use crate::device_code::demangle;
use crate::images::{self, Image};
use crate::options::{self, Argument, Selection};
use crate::source::{self, Colors, Sources};
use crate::{ptxas, tools};
use anyhow::{Context, Result, bail};
use ptx::{Function, Item, Launches, Module, Survey};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The command's help.
pub const HELP: &str = "\
Print the code of a kernel or device function beside its source

Usage: cargo cuda inspect [NAME] [--ptx | --sass | --ir | --mir | --registers]

NAME is a part of the function's path, or its symbol. Without NAME, the command lists the functions.
The command builds the release profile, with line tables; `--dev` selects the dev profile.

  --ptx            Print PTX with the lines of Rust it comes from (the default)
  --sass           Print the machine code; needs ptxas and nvdisasm
  --ir             Print the NVVM IR that libnvvm compiles
  --mir            Print the MIR
  --registers      Print registers, spills and memory as ptxas reports them
  --arch sm_90     Select an architecture if the program has several; otherwise the newest
  --file FILE      Read a program, library or PTX instead of building
";

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Ptx,
    Sass,
    Ir,
    Mir,
    Registers,
}

/// Runs the command.
///
/// # Errors
///
/// Returns an error for wrong arguments, if the build fails, or if no kernel matches.
pub fn inspect(session: &Session, arguments: Vec<OsString>) -> Result<ExitCode> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut selection = Selection::default();
    let (mut view, mut name, mut arch, mut file) = (None, None, None, None);
    while let Some(argument) = options::next(&mut parser)? {
        let chosen = match &argument {
            Argument::Option(option) => match option.as_str() {
                "--ptx" => View::Ptx,
                "--sass" => View::Sass,
                "--ir" => View::Ir,
                "--mir" => View::Mir,
                "--registers" => View::Registers,
                "--arch" => {
                    arch = Some(parser.value()?.to_string_lossy().into_owned());
                    continue;
                }
                "--file" => {
                    file = Some(PathBuf::from(parser.value()?));
                    continue;
                }
                _ if selection.take(&argument, &mut parser)? => continue,
                _ => return options::unexpected("inspect", &argument),
            },
            Argument::Value(value) if name.is_none() => {
                name = Some(value.to_string_lossy().into_owned());
                continue;
            }
            Argument::Value(_) => return options::unexpected("inspect", &argument),
        };
        if view.is_some_and(|view| view != chosen) {
            bail!("`--ptx`, `--sass`, `--ir`, `--mir` and `--registers` cannot be combined");
        }
        view = Some(chosen);
    }
    let view = view.unwrap_or(View::Ptx);
    let colors = Colors::of_stdout();
    if let (View::Ir | View::Mir, Some(_)) = (view, &file) {
        bail!("`--ir` and `--mir` need a build: a file has no IR\nhelp: leave out `--file`");
    }
    let (code, project) = match &file {
        Some(file) => (vec![(file.clone(), images::read(file)?)], None),
        None => {
            let project = Project::find(session, &selection)?;
            if let View::Ir | View::Mir = view {
                let text = stage(
                    session,
                    &project,
                    &selection,
                    view,
                    name.as_deref(),
                    arch.as_deref(),
                )?;
                print!("{text}");
                return Ok(ExitCode::SUCCESS);
            }
            let built = build(session, &project, &selection, &[], &[])?;
            (built.device_code(true)?, Some(project))
        }
    };
    let modules = modules(code, arch.as_deref())?;
    let parsed: Vec<Module<'_>> = modules
        .iter()
        .map(|text| Module::parse(text).context("cannot parse PTX"))
        .collect::<Result<_>>()?;
    let functions = functions(&parsed);
    let paths = functions.iter().map(|function| function.path.as_str());
    let Some(name) = name else {
        for function in &functions {
            let kind = if function.entry { "kernel" } else { "function" };
            println!("{kind} {}", function.path);
        }
        return Ok(ExitCode::SUCCESS);
    };
    let symbols = functions.iter().map(|function| function.symbol);
    let found = &functions[choose(&name, paths.zip(symbols))?];
    let text = &modules[found.module];
    let module = &parsed[found.module];
    let survey = ptx::Survey::new(module);
    let mut sources = Sources::new(directories(session, project.as_ref()));
    for function in survey.entries(found.symbol) {
        let kind = match ptx::kernel_of_entry(function.name) {
            None => "",
            Some((_, Launches::Ordinary)) => " (ordinary launches)",
            Some((_, Launches::Strided)) => " (strided launches)",
        };
        let found = Found {
            symbol: function.name,
            path: format!("{}{kind}", found.path),
            ..found.clone()
        };
        match view {
            View::Ptx => print!(
                "{}",
                interleave(text, module, function, &mut sources, colors)
            ),
            View::Registers => print!("{}", registers(text, &found)?),
            View::Sass => print!("{}", sass(text, &found, &mut sources, colors)?),
            View::Ir | View::Mir => unreachable!("these are printed above"),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The PTX of each module for one architecture.
///
/// # Errors
///
/// Returns an error if no module has PTX for the architecture.
pub fn modules(code: Vec<(PathBuf, Vec<Image>)>, arch: Option<&str>) -> Result<Vec<String>> {
    let mut modules: Vec<String> = Vec::new();
    for image in code.into_iter().flat_map(|(_, images)| images) {
        if let Image::Ptx(text) = image
            && !modules.contains(&text)
        {
            modules.push(text);
        }
    }
    if modules.is_empty() {
        bail!(
            "no PTX was found\n\
             help: `cargo cuda list` shows what a program carries; a program has PTX if it \
             launches a kernel beside host code, or embeds a module with `cust::include_module!`"
        );
    }
    select_arch(modules, arch)
}

/// Builds with line tables.
///
/// # Errors
///
/// Returns an error if the build fails.
pub fn build(
    session: &Session,
    project: &Project,
    selection: &Selection,
    rustc: &[OsString],
    environment: &[(&str, OsString)],
) -> Result<Built> {
    let options = artifacts::Options {
        release: true,
        rustc,
        environment,
    };
    artifacts::build(session, project, selection, &options)
}

/// Where the paths in line tables are relative to.
pub fn directories(session: &Session, project: Option<&Project>) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    if let Some(project) = project {
        directories.push(project.root.clone());
        let manifests = project.packages.iter().map(|(_, manifest)| manifest);
        directories.extend(manifests.filter_map(|manifest| manifest.parent().map(Path::to_owned)));
    }
    // The standard library's, whose build removes the prefix.
    directories.push(session.toolchain.root.join("lib/rustlib/src/rust/library"));
    directories
}

/// The modules for one architecture: that of the option, otherwise the newest one.
fn select_arch(modules: Vec<String>, arch: Option<&str>) -> Result<Vec<String>> {
    let arch_of = |text: &str| {
        let target = ptx::header(text).target;
        target.first().copied().unwrap_or_default().to_owned()
    };
    let archs: BTreeSet<String> = modules.iter().map(|text| arch_of(text)).collect();
    let number = |arch: &str| {
        let digits: String = arch.chars().filter(char::is_ascii_digit).collect();
        (digits.parse::<u32>().unwrap_or(0), arch.to_owned())
    };
    let Some(arch) = arch else {
        // Modules of other crates may be for fewer architectures.
        let mut newest: Vec<String> = Vec::new();
        let mut kernels: HashMap<Vec<String>, usize> = HashMap::new();
        for text in modules {
            let names: Vec<String> = (ptx::entries(&text).into_iter())
                .map(|entry| entry.name)
                .collect();
            match kernels.get(&names) {
                Some(&at) if number(&arch_of(&newest[at])) >= number(&arch_of(&text)) => {}
                Some(&at) => newest[at] = text,
                None => {
                    kernels.insert(names, newest.len());
                    newest.push(text);
                }
            }
        }
        return Ok(newest);
    };
    if !archs.contains(arch) {
        let archs: Vec<String> = archs.into_iter().collect();
        bail!(
            "there is no PTX for `{arch}`\nhelp: there is PTX for {}",
            archs.join(", ")
        );
    }
    Ok((modules.into_iter())
        .filter(|text| arch_of(text) == arch)
        .collect())
}

/// A function that can be inspected.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found<'a> {
    symbol: &'a str,
    path: String,
    entry: bool,
    module: usize,
}

/// The functions with a body, kernels first.
fn functions<'a>(modules: &[Module<'a>]) -> Vec<Found<'a>> {
    let mut all = Vec::new();
    for (module, parsed) in modules.iter().enumerate() {
        for item in &parsed.items {
            if let Item::Function(function) = item
                && function.body.is_some()
                && ptx::kernel_of_entry(function.name).is_none()
            {
                all.push(Found {
                    symbol: function.name,
                    path: demangle(function.name),
                    entry: function.entry,
                    module,
                });
            }
        }
    }
    all.sort_by_key(|function| (!function.entry, function.path.clone()));
    all
}

/// The index of the function that a name means. The best kind of match counts: the whole path or
/// the symbol, the path's end, then any part.
fn choose<'s>(name: &str, functions: impl Iterator<Item = (&'s str, &'s str)>) -> Result<usize> {
    let all: Vec<(&str, &str)> = functions.collect();
    // Generic arguments follow the name.
    let without_arguments = |path: &str| match path.ends_with('>') {
        true => path.split("::<").next().unwrap_or(path).to_owned(),
        false => path.to_owned(),
    };
    let rank = |path: &str, symbol: &str| {
        let whole = without_arguments(path);
        if path == name || symbol == name {
            Some(0)
        } else if whole == name || whole.ends_with(&format!("::{name}")) {
            Some(1)
        } else {
            (path.contains(name) || symbol.contains(name)).then_some(2)
        }
    };
    for wanted in 0..3 {
        let found: Vec<usize> = (0..all.len())
            .filter(|&index| rank(all[index].0, all[index].1) == Some(wanted))
            .collect();
        match found[..] {
            [] => {}
            // Modules of several crates may have the same function.
            [first, ..] if found.iter().all(|&index| all[index].1 == all[first].1) => {
                return Ok(first);
            }
            _ => {
                let same = found.iter().all(|&index| all[index].0 == all[found[0]].0);
                let lines: Vec<String> = (found.iter())
                    .map(|&index| match same {
                        true => format!("  {}", all[index].1),
                        false => format!("  {}", all[index].0),
                    })
                    .collect();
                bail!(
                    "`{name}` is ambiguous: it is a part of {} names\n{}\n\
                     help: pass a whole path or symbol",
                    found.len(),
                    lines.join("\n")
                );
            }
        }
    }
    let kernels: Vec<&str> = all.iter().map(|(path, _)| *path).take(10).collect();
    bail!(
        "no function is called `{name}`\nhelp: there are {}{}",
        kernels.join(", "),
        if all.len() > 10 {
            ", and others: `cargo cuda inspect` lists them"
        } else {
            ""
        }
    )
}

/// The lines of a function, from 0.
fn lines_of(text: &str, function: &Function<'_>) -> Range<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let name = (function.line as usize).saturating_sub(1);
    // The directive may be on a line before the name.
    let is_head = |line: &str| line.contains(".entry") || line.contains(".func");
    let start = (0..=name.min(lines.len().saturating_sub(1)))
        .rev()
        .take(8)
        .find(|&line| is_head(lines[line]))
        .unwrap_or(name);
    let (mut depth, mut opened) = (0i64, false);
    for (number, line) in lines.iter().enumerate().skip(start) {
        let code = line.split("//").next().unwrap_or_default();
        for character in code.chars() {
            match character {
                '{' => (depth, opened) = (depth + 1, true),
                '}' => depth -= 1,
                _ => {}
            }
        }
        if opened && depth <= 0 {
            return start..number + 1;
        }
    }
    start..lines.len()
}

/// The PTX of a function, with the lines of Rust before the instructions that they became.
fn interleave<'a>(
    text: &str,
    module: &Module<'a>,
    function: &Function<'a>,
    sources: &mut Sources,
    colors: Colors,
) -> String {
    let survey = Survey::new(module);
    let mut locs = BTreeMap::new();
    ptx::each_loc(function.body.as_deref().unwrap_or_default(), &mut |loc| {
        locs.insert(loc.key(), loc);
    });
    let lines: Vec<&str> = text.lines().collect();
    let mut result = String::new();
    let mut last = None;
    for line in &lines[lines_of(text, function)] {
        let trimmed = line.trim_start();
        if let Some(directive) = trimmed.strip_prefix(".loc") {
            let chain = parse_loc(directive)
                .and_then(|key| locs.get(&key))
                .map_or_else(Vec::new, |loc| survey.locations(function, loc));
            if let Some(location) = source::own(&chain)
                && last.as_ref() != Some(&(location.file.clone(), location.line))
            {
                last = Some((location.file.clone(), location.line));
                let code = sources.line(location).unwrap_or_default();
                let shown = format!("// {}: {code}", source::show(location));
                let shown = colors.source(shown.trim_end_matches([' ', ':']));
                result.push_str(&format!("\t{shown}\n"));
            }
            continue;
        }
        // Labels of debug information, to which no branch goes.
        let is_label = trimmed.starts_with('$') && trimmed.trim_end().ends_with(':');
        let is_debug = ["$L__tmp", "$L__func_begin", "$L__func_end"];
        if is_label && is_debug.iter().any(|prefix| trimmed.starts_with(prefix)) {
            continue;
        }
        match is_label {
            true => result.push_str(&colors.label(line)),
            false => result.push_str(line),
        }
        result.push('\n');
    }
    result
}

/// Reads what follows `.loc`.
fn parse_loc(directive: &str) -> Option<ptx::LocKey> {
    let place = |text: &str| {
        let mut numbers = text.split_ascii_whitespace();
        let mut next = || numbers.next()?.trim_end_matches([';', ',']).parse().ok();
        Some((next()?, next()?, next().unwrap_or(0)))
    };
    let own = directive.split(',').next()?;
    let (file, line, column) = place(own)?;
    let inlined = match directive.split_once("inlined_at") {
        Some((_, at)) => Some(place(at)?),
        None => None,
    };
    Some((file, line, column, inlined))
}

/// What ptxas reports about a function.
fn registers(text: &str, found: &Found<'_>) -> Result<String> {
    let directory = tempfile::tempdir().context("cannot create a temporary directory")?;
    let usages = ptxas::assemble(&ptxas::find(None)?, text, &directory.path().join("cubin"))?;
    let Some(usage) = usages.get(found.symbol) else {
        bail!(
            "ptxas reports nothing about `{}`\nhelp: it is inlined by ptxas, or not called",
            found.path
        );
    };
    let target = ptx::header(text).target;
    let registers = match usage.registers {
        Some(registers) => registers.to_string(),
        None => "of the kernel that calls it".to_owned(),
    };
    Ok(format!(
        "{} ({})\n\
         registers per thread  {registers}\n\
         stack frame           {} bytes\n\
         spill stores          {} bytes\n\
         spill loads           {} bytes\n\
         static shared memory  {} bytes\n\
         constant memory       {} bytes\n\
         barriers              {}\n",
        found.path,
        target.first().unwrap_or(&""),
        usage.stack,
        usage.spill_stores,
        usage.spill_loads,
        usage.shared,
        usage.constant,
        usage.barriers,
    ))
}

/// The machine code of a function, with lines of Rust.
fn sass(text: &str, found: &Found<'_>, sources: &mut Sources, colors: Colors) -> Result<String> {
    let nvdisasm = tools::NVDISASM.find()?;
    let directory = tempfile::tempdir().context("cannot create a temporary directory")?;
    let cubin = directory.path().join("cubin");
    ptxas::assemble(&ptxas::find(None)?, text, &cubin)?;
    let output = Command::new(&nvdisasm)
        .args(["--print-code", "--print-line-info"])
        .arg(&cubin)
        .output()
        .with_context(|| format!("cannot run `{}`", nvdisasm.display()))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed:\n{}", nvdisasm.display(), message.trim_end());
    }
    let all = String::from_utf8_lossy(&output.stdout);
    match disassembly(&all, found.symbol, sources, colors) {
        Some(text) => Ok(text),
        None => bail!(
            "the machine code has no function `{}`\nhelp: ptxas inlined it; inspect a kernel that \
             calls it",
            found.path
        ),
    }
}

/// The part of nvdisasm's output about a function: from its label to that of the next function.
/// A kernel's label is that of its section, and the functions that it calls are labels in there.
fn disassembly(all: &str, symbol: &str, sources: &mut Sources, colors: Colors) -> Option<String> {
    let own = [
        symbol.to_owned(),
        format!(".text.{symbol}"),
        format!("${symbol}"),
    ];
    let mut result = String::new();
    let mut inside = false;
    let mut last = None;
    for line in all.lines() {
        let trimmed = line.trim();
        if let Some(label) = trimmed.strip_suffix(':') {
            match label.starts_with(".L_") {
                true => {}
                false => inside = own.iter().any(|own| label == own),
            }
            if inside {
                result.push_str(&format!("{}\n", colors.label(line)));
            }
        } else if !inside {
        } else if let Some(info) = trimmed.strip_prefix("//## File ") {
            let Some(location) = line_info(info) else {
                continue;
            };
            if last.as_ref() != Some(&location) {
                let code = sources.line(&location).unwrap_or_default().to_owned();
                let shown = format!("// {}: {code}", source::show(&location));
                result.push_str(&format!("        {}\n", colors.source(&shown)));
                last = Some(location);
            }
        } else if !trimmed.is_empty() && !trimmed.starts_with(['/', '.'])
            || trimmed.starts_with("/*")
        {
            result.push_str(&format!("{line}\n"));
        }
    }
    (!result.is_empty()).then_some(result)
}

/// Reads `"FILE", line N` of a comment with line information.
fn line_info(text: &str) -> Option<ptx::Location> {
    let (file, rest) = text.strip_prefix('"')?.split_once('"')?;
    let (_, line) = rest.split_once("line ")?;
    let digits: String = line.chars().take_while(char::is_ascii_digit).collect();
    Some(ptx::Location {
        file: file.to_owned(),
        line: digits.parse().ok()?,
        column: 0,
    })
}

/// Builds once more, with a dump of the NVVM IR and the MIR, and returns the function's.
fn stage(
    session: &Session,
    project: &Project,
    selection: &Selection,
    view: View,
    name: Option<&str>,
    arch: Option<&str>,
) -> Result<String> {
    // A build of the same selection that has nothing to do writes no files: these have to be its own.
    let mut hasher = DefaultHasher::new();
    (&selection.cargo, selection.has_profile, &project.packages).hash(&mut hasher);
    let directory = project.target.join("cargo-cuda");
    let directory = directory.join(format!("dump-{:016x}", hasher.finish()));
    if directory.to_string_lossy().contains([' ', ',']) {
        bail!(
            "the target directory `{}` contains a space or a comma, which the path of a dump \
             cannot have\nhelp: pass `--target-dir DIR`",
            project.target.display()
        );
    }
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create `{}`", directory.display()))?;
    let dump = format!("nvvm_options=\"dump={}\"", directory.display());
    let mir = format!("--emit=mir={}", directory.join("host.mir").display());
    let rustc: [OsString; 3] = ["--cfg".into(), dump.into(), mir.into()];
    let variable = [(
        cuda_builder::internal::DUMP_VARIABLE,
        directory.clone().into_os_string(),
    )];
    match project.two_crates {
        true => build(session, project, selection, &[], &variable)?,
        false => build(session, project, selection, &rustc, &[])?,
    };
    let suffix = match view {
        View::Mir => ".mir",
        _ => ".written.ll",
    };
    let mut files = files_below(&directory, suffix);
    if let Some(arch) = arch {
        // A build for one architecture does not name it.
        let of_arch = |file: &PathBuf| file.to_string_lossy().contains(arch);
        if files.iter().any(of_arch) {
            files.retain(of_arch);
        }
    }
    let mut functions: BTreeMap<String, (String, String)> = BTreeMap::new();
    for file in &files {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        functions.extend(match view {
            View::Mir => mir_functions(&text),
            _ => ir_functions(&text),
        });
    }
    if functions.is_empty() {
        bail!(
            "the build wrote no code\nhelp: if the package has kernels, run `cargo clean` and build again"
        );
    }
    let paths = functions
        .iter()
        .map(|(symbol, (path, _))| (path.as_str(), symbol.as_str()));
    let Some(name) = name else {
        let lines: Vec<&str> = functions.values().map(|(path, _)| path.as_str()).collect();
        return Ok(lines.join("\n") + "\n");
    };
    let index = choose(name, paths)?;
    let (_, (_, text)) = functions
        .iter()
        .nth(index)
        .context("the function is gone")?;
    Ok(text.clone())
}

/// The files whose names have a suffix, in a directory and those in it.
fn files_below(directory: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(files_below(&path, suffix));
        } else if path.to_string_lossy().ends_with(suffix) {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Each function of NVVM IR, by its symbol, with its path.
fn ir_functions(text: &str) -> Vec<(String, (String, String))> {
    let mut functions = Vec::new();
    each_block(text, |head, block| {
        let name = head.strip_prefix("define ").and_then(|head| {
            let (_, rest) = head.split_once('@')?;
            rest.split('(').next()
        });
        if let Some(name) = name {
            let symbol = name.trim_matches('"').to_owned();
            let path = demangle(&symbol);
            functions.push((symbol, (path, block.to_owned())));
        }
    });
    functions
}

/// Each function of MIR, by its path.
fn mir_functions(text: &str) -> Vec<(String, (String, String))> {
    let mut functions = Vec::new();
    each_block(text, |head, block| {
        let head = ["fn ", "const fn "]
            .iter()
            .find_map(|word| head.strip_prefix(word));
        // The parameters start with `_1`, and the path may have parentheses.
        let name = head.and_then(|head| {
            let end = head.find("(_1").or_else(|| head.find("()"))?;
            Some(&head[..end])
        });
        if let Some(name) = name {
            functions.push((name.to_owned(), (name.to_owned(), block.to_owned())));
        }
    });
    functions
}

/// Calls `visit` with each block that starts at the left margin and ends in `}` there, and with
/// its first line.
fn each_block(text: &str, mut visit: impl FnMut(&str, &str)) {
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_end();
        if start.is_none() && code.ends_with('{') && !code.starts_with([' ', '\t']) {
            start = Some(at);
        }
        at += line.len();
        if code == "}"
            && let Some(start) = start.take()
        {
            let block = &text[start..at];
            visit(block.lines().next().unwrap_or_default(), block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_chosen_by_the_best_match() {
        let all = [
            "k::scale",
            "k::scale_all",
            "other::map::<f32>",
            "a::x",
            "b::x",
        ];
        let choose = |name| choose(name, all.iter().map(|path| (*path, *path)));
        assert_eq!(choose("k::scale").unwrap(), 0);
        assert_eq!(choose("scale").unwrap(), 0);
        assert_eq!(choose("all").unwrap(), 1);
        assert_eq!(choose("map").unwrap(), 2);
        let error = choose("x").unwrap_err().to_string();
        assert!(error.starts_with("`x` is ambiguous: it is a part of 2 names\n  a::x\n  b::x\n"));
        let error = choose("nothing").unwrap_err().to_string();
        assert!(
            error.contains("there are k::scale, k::scale_all"),
            "{error}"
        );
        // Instances with one path are told by their symbols.
        let error = super::choose("a", [("a", "_R1"), ("a", "_R2")].into_iter()).unwrap_err();
        assert!(error.to_string().contains("  _R1\n  _R2\n"), "{error}");
    }

    const PTX: &str = ".version 8.0\n.target sm_75\n.address_size 64\n\
        .file 1 \"src/lib.rs\"\n.file 2 \"/rustc/1/core.rs\"\n\
        .visible .entry a(\n\t.param .u64 p)\n{\n\t.reg .b64 %r<3>;\n\
        \t.loc 1 2 5\n\tmov.u64 %r1, 1;\n\
        \t.loc 2 9 1, function_name $info0, inlined_at 1 2 7\n\tmov.u64 %r1, 2;\n\
        $L__tmp1:\n\t{\n\t.param .b64 q;\n\t}\n\
        $L__BB0_1:\n\t.loc 1 3 5\n\tret;\n}\n.visible .entry b()\n{\n\tret;\n}\n";

    #[test]
    fn source_lines_precede_their_instructions() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        std::fs::write(
            directory.path().join("src/lib.rs"),
            "fn a() {\n    one();\n}\n",
        )
        .unwrap();
        let module = Module::parse(PTX).unwrap();
        let function = ptx::Survey::new(&module).function("a").unwrap();
        let mut sources = Sources::new(vec![directory.path().to_owned()]);
        let text = interleave(PTX, &module, function, &mut sources, Colors::NONE);
        // Code inlined from the standard library is attributed to the line that calls it.
        let expected = ".visible .entry a(\n\t.param .u64 p)\n{\n\t.reg .b64 %r<3>;\n\
            \t// src/lib.rs:2: one();\n\tmov.u64 %r1, 1;\n\tmov.u64 %r1, 2;\n\
            \t{\n\t.param .b64 q;\n\t}\n$L__BB0_1:\n\t// src/lib.rs:3: }\n\tret;\n}\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_newest_architecture_is_selected() {
        let ptx = |arch: &str| format!(".version 8.0\n.target {arch}\n.entry a() {{ ret; }}\n");
        let both = || vec![ptx("sm_90"), ptx("sm_100"), ptx("sm_80")];
        assert_eq!(select_arch(both(), None).unwrap(), [ptx("sm_100")]);
        assert_eq!(select_arch(both(), Some("sm_80")).unwrap(), [ptx("sm_80")]);
        let error = select_arch(both(), Some("sm_75")).unwrap_err().to_string();
        assert!(
            error.contains("there is PTX for sm_100, sm_80, sm_90"),
            "{error}"
        );
    }

    #[test]
    fn functions_of_ir_and_mir() {
        let ir = "target triple = \"t\"\ndefine void @_RNvCs1_5hello1b(i32 %a) #0 {\nstart:\n  \
                  ret void\n}\n\ndefine i32 @\"c\"() {\n  ret i32 1\n}\n";
        let found = ir_functions(ir);
        let paths: Vec<&str> = found.iter().map(|(_, (path, _))| path.as_str()).collect();
        assert_eq!(paths, ["hello::b", "c"]);
        assert_eq!(found[1].1.1, "define i32 @\"c\"() {\n  ret i32 1\n}\n");
        let mir = "// WARNING\nfn <impl at a.rs:1:1: 2:2>::get(_1: &A) -> u32 {\n    bb0: {\n    }\n}\n\
                   const C: u32 = {\n}\nfn main() -> () {\n}\n";
        let found: Vec<String> = mir_functions(mir).into_iter().map(|it| it.0).collect();
        assert_eq!(found, ["<impl at a.rs:1:1: 2:2>::get", "main"]);
    }

    #[test]
    fn a_function_of_the_disassembly() {
        let text = "\t.section\t.text.a,\"ax\"\n.text.a:\n\t//## File \"s.rs\", line 3 inlined at \
                    \"t.rs\", line 1\n        /*0000*/  MOV R1, c[0x0][0x28] ;\n.L_x_0:\n        \
                    /*0010*/  EXIT ;\n.text.b:\n        /*0000*/  NOP ;\n";
        let mut sources = Sources::default();
        let found = disassembly(text, "a", &mut sources, Colors::NONE).unwrap();
        assert!(
            found.contains("// s.rs:3: \n        /*0000*/  MOV"),
            "{found}"
        );
        assert!(
            found.contains(".L_x_0:") && found.contains("EXIT"),
            "{found}"
        );
        assert!(!found.contains("NOP"), "{found}");
        assert_eq!(disassembly(text, "c", &mut sources, Colors::NONE), None);
    }
}
