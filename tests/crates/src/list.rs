//! Generates `docs/crates.md`, the list of the tested crates, from the cases and the manifest. A
//! test compares it with the file; `BLESS=1` writes the file.

use std::fmt::Write;
use std::path::Path;

/// A remark for users of the crate, if any.
const REMARKS: &[(&str, &str)] = &[
    (
        "blake3",
        "`pure`: the other implementations are CPU assembly and C",
    ),
    (
        "glam",
        "`scalar-math`: the device has no SSE, and the CPU then adds in the same order",
    ),
    (
        "hashbrown",
        "with a fixed hasher: the default hasher is seeded from addresses, which differ. Maps \
         iterate in a different order than on a CPU with SIMD",
    ),
    ("indexmap", "with a fixed hasher, as for `hashbrown`"),
    (
        "k256",
        "without `precomputed-tables`, which requires `std` or the crate `critical-section`",
    ),
    ("libm", "bit-exact: the crate does not use libdevice"),
    (
        "regex-automata",
        "parser, NFA, PikeVM and dense DFAs, constructed on the device that uses them",
    ),
    (
        "rust_decimal",
        "`{:.3}` of the largest decimals panics, on the CPU too",
    ),
];

/// The list.
pub fn list() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    let manifest =
        std::fs::read_to_string(root.join("tests/crates/kernels/Cargo.toml")).unwrap_or_default();
    let mut rows: Vec<(&str, u32, Vec<&str>)> = Vec::new();
    for case in (crate_tests_kernels::MODULES.iter()).flat_map(|(_, cases)| cases.iter()) {
        match rows.iter_mut().find(|(krate, ..)| *krate == case.krate) {
            Some((_, inputs, names)) => {
                *inputs += case.inputs;
                names.push(case.name);
            }
            None => rows.push((case.krate, case.inputs, vec![case.name])),
        }
    }
    rows.sort();
    let mut out = String::from(
        "# Published crates\n\n\
         Published crates, compiled for the device without modification. Each case in \
         `tests/crates` is a\nfunction that runs on the device and on the CPU, for the number of \
         inputs in the table (edge cases and\nrandom inputs), in a release and in an unoptimized \
         build; all results must be equal bit for bit. The\ndevice code is built without \
         contraction to fused multiply-add (`fma_contraction(false)`), which would\nchange the last \
         bit. Of the crates' features, `std` is disabled.\n\n\
         `./x test crate-tests` runs all cases; `./x test` runs release builds, without the modules \
         `algebra`,\n`bignums`, `curves`, `numbers`, `packing`, `parsers`, `regex`, `science` and \
         `structures`.\n\n\
         | crate | version | features | cases | inputs | remarks |\n|---|---|---|---|---|---|\n",
    );
    for (krate, inputs, names) in rows {
        let remark = REMARKS
            .iter()
            .find(|(other, _)| *other == krate)
            .map_or("", |(_, remark)| remark);
        let _ = writeln!(
            out,
            "| `{krate}` | {} | {} | {} | {inputs} | {remark} |",
            version(&lock, krate).unwrap_or("?"),
            features(&manifest, krate),
            names.join(", "),
        );
    }
    out
}

/// The version in the lock file.
fn version<'a>(lock: &'a str, krate: &str) -> Option<&'a str> {
    let (_, rest) = lock.rsplit_once(&format!("name = \"{krate}\"\nversion = \""))?;
    Some(rest.split_once('"')?.0)
}

/// The features in the manifest, as it names them.
fn features(manifest: &str, krate: &str) -> String {
    let start = format!("\n{krate} = ");
    let line = manifest
        .split_once(&start)
        .map_or("", |(_, rest)| rest.lines().next().unwrap_or(""));
    let Some((_, rest)) = line.split_once("features = [") else {
        return if line.contains("default-features = false") {
            "none"
        } else {
            "default"
        }
        .to_owned();
    };
    let list = rest
        .split_once(']')
        .map_or("", |(list, _)| list)
        .replace('"', "`");
    if line.contains("default-features = false") {
        list
    } else {
        format!("default, {list}")
    }
}

/// Compares the list with the file.
pub fn check() -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/crates.md");
    let list = list();
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(&path, list).map_err(|error| error.to_string());
    }
    if std::fs::read_to_string(&path).unwrap_or_default() == list {
        Ok(())
    } else {
        Err("docs/crates.md is not what the cases say; run this test with BLESS=1".to_owned())
    }
}
