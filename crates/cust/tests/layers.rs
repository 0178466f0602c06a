//! The layers of the crate: a module uses modules of its own layer and of lower layers, and no
//! modules use each other in a cycle. The test reads the paths `crate::…` in the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The layers, from the lowest to the highest, with the modules of each. `docs/architecture.md`
/// describes them.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "driver table",
        &["error", "dimensions", "backend", "device"],
    ),
    (
        "context",
        &["bound_context", "host_call", "waker", "context"],
    ),
    (
        "reports",
        &["progress", "stack", "report", "launch_log", "wait"],
    ),
    (
        "ordering",
        &[
            "stream",
            "private_stream",
            "event",
            "future",
            "tracker",
            "green_context",
            "profiler",
        ],
    ),
    (
        "memory",
        &[
            "memory",
            "texture",
            "tensor_map",
            "external",
            "ipc",
            "dlpack",
            "interop",
        ],
    ),
    ("modules", &["module", "function"]),
    (
        "launches",
        &["launch", "host_slices", "kernel", "cpu", "ext"],
    ),
    ("graphs", &["graph"]),
    ("crate", &["lib", "prelude"]),
];

/// Returns the source without comments, and without the unit tests at its end.
fn code(source: &str) -> String {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = source
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the first segments of the paths after each `crate::` in the source.
fn uses(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = source;
    while let Some(at) = rest.find("crate::") {
        let before = rest[..at].chars().next_back();
        rest = &rest[at + "crate::".len()..];
        // `$crate::` is a path of a macro's user.
        if before.is_some_and(|c| c == '$' || c == '_' || c.is_alphanumeric()) {
            continue;
        }
        let group = rest.strip_prefix('{').map(first_segments);
        found.extend(group.unwrap_or_else(|| vec![segment(rest)]));
    }
    found
}

fn segment(path: &str) -> String {
    let is_part = |c: &char| *c == '_' || c.is_alphanumeric();
    path.trim_start().chars().take_while(is_part).collect()
}

/// Returns the first segments of the paths in a group, up to its closing brace.
fn first_segments(group: &str) -> Vec<String> {
    let (mut depth, mut start, mut segments) = (1, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && c == ',') {
            segments.push(segment(&group[start..at]));
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    segments.retain(|segment| !segment.is_empty());
    segments
}

fn files(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, into),
            false => into.push(path),
        }
    }
}

/// Returns the modules at the top of the crate, each with the modules that it uses.
fn graph() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&root, &mut all);
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in all {
        let inside = path.strip_prefix(&root).unwrap();
        let first = inside.components().next().unwrap().as_os_str();
        let module = first.to_str().unwrap().trim_end_matches(".rs");
        let used = uses(&code(&std::fs::read_to_string(&path).unwrap()));
        graph.entry(module.to_owned()).or_default().extend(used);
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for (module, used) in &mut graph {
        // Other names are items that `lib.rs` exports.
        used.retain(|other| other != module && modules.contains(other));
    }
    graph
}

fn layer(module: &str) -> Option<usize> {
    LAYERS
        .iter()
        .position(|(_, modules)| modules.contains(&module))
}

#[test]
fn modules_use_lower_layers() {
    let graph = graph();
    let mut wrong = Vec::new();
    for (module, used) in &graph {
        let Some(own) = layer(module) else {
            wrong.push(format!("`{module}` is in no layer"));
            continue;
        };
        let higher = used.iter().filter(|other| layer(other) > Some(own));
        wrong.extend(higher.map(|other| {
            format!(
                "`{module}` ({}) uses `{other}`, which is in a higher layer",
                LAYERS[own].0
            )
        }));
    }
    let listed = LAYERS.iter().flat_map(|(_, modules)| modules.iter());
    let missing = listed.filter(|module| !graph.contains_key(**module));
    wrong.extend(missing.map(|module| format!("there is no module `{module}`")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_modules_use_each_other_in_a_cycle() {
    let mut graph = graph();
    // Remove modules that use no others until none is left.
    loop {
        let free =
            |(module, used): (&String, &BTreeSet<String>)| used.is_empty().then(|| module.clone());
        let removed: Vec<String> = graph.iter().filter_map(free).collect();
        if removed.is_empty() {
            break;
        }
        for module in &removed {
            graph.remove(module);
        }
        for used in graph.values_mut() {
            used.retain(|other| !removed.contains(other));
        }
    }
    assert!(
        graph.is_empty(),
        "modules in cycles, or above cycles: {graph:#?}"
    );
}

#[test]
fn paths_are_found_in_all_forms() {
    let source = "use crate::a::b;\nuse crate::{c, d::{e, f}, g};\n$crate::macros!();\n\
                  fn h() -> crate::i::J { crate :: k() }";
    let found: Vec<_> = uses(source).into_iter().collect();
    assert_eq!(found, ["a", "c", "d", "g", "i"]);
    assert_eq!(
        code("use a; // crate::b\n#[cfg(test)]\nuse crate::c;"),
        "use a; "
    );
}
