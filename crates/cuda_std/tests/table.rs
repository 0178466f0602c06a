//! The table of intrinsics: every row assembles for the oldest and the newest architecture that has
//! it, has a unique name, and is listed in `docs/intrinsics.md`.
//!
//! `BLESS=1` regenerates that page.

use cuda_std::intrinsics::{Row, rows};
use cuda_toolkit::{Arch, Variant};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest architecture that the pinned ptxas supports.
const OLDEST: Arch = Arch::SM_75;
/// The newest architecture that the pinned ptxas supports.
const NEWEST: Arch = Arch::SM_121;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the architectures for which a row is assembled.
fn architectures(row: &Row) -> BTreeSet<Arch> {
    let mut found = BTreeSet::new();
    if row.requires.is_empty() {
        found.extend([OLDEST, NEWEST]);
    }
    for name in row.requires {
        let needed: Arch = name
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", row.name));
        match needed.variant() {
            Variant::Base => found.extend([needed.max(OLDEST), NEWEST]),
            _ => found.extend(Arch::KNOWN.iter().filter(|arch| {
                // 101 is the old name of 110, which ptxas 13 no longer accepts.
                arch.number() != 101 && arch.variant() != Variant::Base && arch.has(needed)
            })),
        }
    }
    found
}

/// Returns a PTX function that executes the row once, with operands from memory and results to
/// memory.
fn function(row: &Row, number: usize, largest: bool) -> Option<String> {
    let body = row.instantiate(
        |name| format!("%r_{name}"),
        |&(_, least, most)| if largest { most } else { least },
    )?;
    let mut text = format!(
        "// {}\n.visible .func f_{number}(.param .b64 p)\n{{\n",
        row.name
    );
    text.push_str(".reg .b64 %base;\nld.param.b64 %base, [p];\n");
    for (i, register) in row.registers.iter().enumerate() {
        let (name, bits) = (register.name, register.bits);
        let _ = writeln!(
            text,
            ".reg .b{bits} %r_{name};\nld.b{bits} %r_{name}, [%base+{}];",
            8 * i
        );
    }
    text.push_str(&body);
    text.push('\n');
    for (i, register) in row
        .registers
        .iter()
        .enumerate()
        .filter(|(_, register)| register.output)
    {
        let _ = writeln!(
            text,
            "st.b{} [%base+{}], %r_{};",
            register.bits,
            8 * i,
            register.name
        );
    }
    text.push_str("ret;\n}\n");
    Some(text)
}

#[test]
fn every_row_assembles() {
    let toolkit = cuda_toolkit::find(&[root().join("target/cuda")]);
    let Some(ptxas) = toolkit.ptxas else {
        test_outcome::skip("ptxas not found");
        return;
    };
    let mut modules: BTreeMap<Arch, String> = BTreeMap::new();
    for (number, row) in rows().enumerate() {
        for arch in architectures(row) {
            let header = || format!(".version 9.0\n.target {}\n.address_size 64\n", arch.sm());
            let module = modules.entry(arch).or_insert_with(header);
            module.extend(function(row, 2 * number, false));
            // Test the largest immediates only for rows with few registers: ptxas takes long for
            // the others.
            if !row.immediates.is_empty() && row.registers.len() <= 24 {
                module.extend(function(row, 2 * number + 1, true));
            }
        }
    }
    let directory = std::env::temp_dir().join(format!("intrinsics-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut failures = String::new();
    for (arch, module) in &modules {
        let file = directory.join(format!("{}.ptx", arch.sm()));
        let made = directory.join("made.cubin");
        std::fs::write(&file, module).unwrap();
        let output = Command::new(&ptxas.path)
            .args(["-c", "-O1", "-o"])
            .arg(&made)
            .arg(format!("-arch={}", arch.sm()))
            .arg(&file)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        // A warning means that ptxas interprets the PTX in another way. Advisories concern
        // performance.
        let warns = |line: &str| line.contains("warning") && !line.contains("Advisory");
        if !output.status.success() || text.lines().any(warns) {
            let _ = writeln!(failures, "{}:\n{}", arch.sm(), explained(&text, module));
            continue;
        }
        // Drivers do not load kernels that query these of a handle.
        let refused: [&[u8]; 2] = [b".nv.surfrefDescSize", b".nv.unified.texrefDescSize"];
        let made = std::fs::read(&made).unwrap();
        let has = |refused: &&[u8]| made.windows(refused.len()).any(|part| part == *refused);
        if refused.iter().any(has) {
            let _ = writeln!(
                failures,
                "{}: something asks for references to textures or surfaces",
                arch.sm()
            );
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(failures.is_empty(), "{failures}");
}

/// Returns the messages of ptxas, each with the row that caused it.
fn explained(text: &str, module: &str) -> String {
    let lines: Vec<&str> = module.lines().collect();
    let mut explained = String::new();
    for message in text.lines() {
        let number = message
            .split_once(", line ")
            .and_then(|(_, rest)| rest.split_once(';'));
        let number = number.and_then(|(number, _)| number.trim().parse::<usize>().ok());
        let row = number.and_then(|number| {
            lines[..number]
                .iter()
                .rev()
                .find_map(|line| line.strip_prefix("// "))
        });
        let line = number.map_or("", |number| lines[number - 1].trim());
        let _ = writeln!(explained, "{}: {message}\n    {line}", row.unwrap_or("?"));
    }
    explained
}

#[test]
fn names_are_unique_in_their_module() {
    let mut seen = BTreeSet::new();
    for row in rows() {
        assert!(
            seen.insert((row.module, row.name)),
            "duplicate row {}::{}",
            row.module,
            row.name
        );
    }
}

#[test]
fn the_page_is_current() {
    let path = root().join("docs/intrinsics.md");
    let page = page();
    if std::env::var_os("BLESS").is_some_and(|value| !value.is_empty()) {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/intrinsics.md is out of date: run the test with BLESS=1 to regenerate it"
    );
}

/// Generates the page from the rows.
fn page() -> String {
    let mut page = String::from(
        "# Intrinsics\n\n\
         The rows of `cuda_std::intrinsics`, generated from the table by its test \
         (`BLESS=1 cargo test -p cuda_std --test table`). Each row is a function that compiles to \
         the instruction shown. A test assembles each for the oldest and the newest architecture \
         that has it. The other modules of `cuda_std` are wrappers that are easier to use.\n",
    );
    let mut module = "";
    for row in rows() {
        if row.module != module {
            module = row.module;
            let _ = write!(
                page,
                "\n## {module}\n\n| function | instruction | requires | |\n|---|---|---|---|\n"
            );
        }
        let requires: Vec<String> = row
            .requires
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let _ = writeln!(
            page,
            "| `{}` | `{}` | {} | {} |",
            row.signature,
            row.source.replace('|', "\\|"),
            requires.join(" or "),
            row.doc.replace('\n', " ").replace('|', "\\|"),
        );
    }
    page
}

/// Every path in the page that maps CUDA C++ names exists: its last segment is an item in a file of
/// the module.
#[test]
fn names_for_those_who_come_from_cuda_exist() {
    let page = std::fs::read_to_string(root().join("docs/from-cuda-cpp.md")).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut missing = Vec::new();
    for path in page.split('`').skip(1).step_by(2) {
        let words: Vec<&str> = path.split("::").collect();
        let is_path = words.len() > 1
            && words.iter().all(|word| {
                !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            });
        let ours = is_path && !["core", "cuda", "nvcuda", "CudaBuilder"].contains(&words[0]);
        if !ours {
            continue;
        }
        let text = texts
            .entry(words[0].to_owned())
            .or_insert_with(|| module_text(&sources, words[0]));
        let last = words[words.len() - 1];
        let row = rows().any(|row| {
            let module = row.module.rsplit("::").next();
            row.module.ends_with(&format!("::{last}"))
                || (row.name == last && module == Some(words[words.len() - 2]))
        });
        let has = |kind: &str| text.contains(&format!("{kind} {last}"));
        let item = ["fn", "struct", "trait", "type", "mod"]
            .iter()
            .any(|kind| has(kind));
        // Functions that macros generate are in the macros' lists.
        let listed = text
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .any(|word| word == last);
        if !(row || item || listed) {
            missing.push(path.to_owned());
        }
    }
    assert!(missing.is_empty(), "not there: {missing:?}");
}

/// Returns the source of a module; of `intrinsics`, only `mod.rs`, without the rows.
fn module_text(sources: &Path, module: &str) -> String {
    // Shared with the host.
    if module == "vector" {
        let shared = root().join("crates/cust_core/src/vector.rs");
        return std::fs::read_to_string(shared).unwrap_or_default();
    }
    if module == "intrinsics" {
        return std::fs::read_to_string(sources.join("intrinsics/mod.rs")).unwrap_or_default();
    }
    let mut text =
        std::fs::read_to_string(sources.join(format!("{module}.rs"))).unwrap_or_default();
    for entry in std::fs::read_dir(sources.join(module))
        .into_iter()
        .flatten()
        .flatten()
    {
        text += &std::fs::read_to_string(entry.path()).unwrap_or_default();
    }
    text
}
