//! Divides a suite into parts: libnvvm takes more than twice as long for a module of twice the
//! size, so a whole suite is too large.
//!
//! A part is a set of the suite's modules. Each `mod` of the root, and of a module that is itself
//! divided, gets a `cfg` of the parts that contain it; modules that no part names are in all parts.

use anyhow::{Result, bail};
use std::path::Path;

/// A part of a suite.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The suite.
    pub suite: &'static str,
    /// The part's name, that of its crate.
    pub name: &'static str,
    /// Its modules, separated by spaces.
    modules: &'static str,
}

/// All parts.
pub const PARTS: &[Part] = &[
    part(
        "coretests",
        "core_basics",
        "alloc any array ascii ascii_char asserting async_iter bool \
        byte_str cell clone cmp const_ptr convert future index lazy macros manually_drop \
        option pattern pin pin_macro process result task tuple wtf8 waker",
    ),
    part(
        "coretests",
        "core_atomic",
        "atomic ffi hash hint intrinsics io",
    ),
    part("coretests", "core_char", "char unicode str str_lossy"),
    part("coretests", "core_fmt", "fmt time"),
    part("coretests", "core_iter", "iter"),
    part("coretests", "core_mem", "mem ops panic ptr simd"),
    part("coretests", "core_net", "net"),
    part("coretests", "core_signed", "num num::i8 num::i16 num::i32"),
    part("coretests", "core_signed_wide", "num num::i64 num::i128"),
    part(
        "coretests",
        "core_unsigned",
        "num num::u8 num::u16 num::u32",
    ),
    part("coretests", "core_unsigned_wide", "num num::u64 num::u128"),
    part(
        "coretests",
        "core_floats",
        "num num::complex num::float_conversions \
        num::float_ieee754_flt2dec_dec2flt num::float_iter_sum_identity num::floats num::clamp_magnitude \
        num::nan",
    ),
    part(
        "coretests",
        "core_decimal",
        "num num::dec2flt num::flt2dec num::bignum",
    ),
    part(
        "coretests",
        "core_num",
        "num num::carryless_mul num::cast num::const_from \
        num::int_log num::int_sqrt num::midpoint num::niche_types num::nonzero \
        num::ops num::wrapping",
    ),
    part("coretests", "core_slice", "slice"),
    part(
        "alloctests",
        "alloc_basics",
        "alloc_test autotraits borrow boxed btree_set_hash \
        byte_str c_str c_str2 collections const_fns cow_str fmt heap linked_list misc_tests num \
        task thin_box",
    ),
    part("alloctests", "alloc_io", "io"),
    part("alloctests", "alloc_rc", "arc rc sync"),
    part("alloctests", "alloc_slice", "slice"),
    part("alloctests", "alloc_sort", "sort"),
    part("alloctests", "alloc_str", "str string"),
    part("alloctests", "alloc_vec", "vec"),
    part("alloctests", "alloc_vec_deque", "vec_deque"),
    part(
        "alloc_internals",
        "internals_map",
        "collections::btree::map::tests collections::btree::node::tests",
    ),
    part(
        "alloc_internals",
        "internals_set",
        "collections::btree::set::tests collections::btree::borrow::tests",
    ),
    part(
        "alloc_internals",
        "internals_lists",
        "collections::linked_list::tests \
        collections::vec_deque::tests raw_vec::tests",
    ),
    part("alloc_internals", "internals_wtf8", "wtf8::tests"),
];

const fn part(suite: &'static str, name: &'static str, modules: &'static str) -> Part {
    Part {
        suite,
        name,
        modules,
    }
}

impl Part {
    fn modules(&self) -> impl Iterator<Item = &'static str> {
        self.modules.split_whitespace()
    }
}

/// Where the modules of a suite are declared: the root, whose modules have no prefix, and the
/// files of the modules that are divided.
fn prefix(suite: &str, root: &str, file: &str) -> Option<&'static str> {
    if file == root {
        return Some("");
    }
    // `alloc_internals` has the modules of `alloc` itself.
    let file = [Path::new(root).parent()?, Path::new("alloc/src")]
        .into_iter()
        .find_map(|directory| Path::new(file).strip_prefix(directory).ok())?;
    PARTS
        .iter()
        .filter(|part| part.suite == suite)
        .flat_map(Part::modules)
        .filter_map(|module| module.rsplit_once("::"))
        .map(|(parent, _)| parent)
        .find(|parent| {
            let path = parent.replace("::", "/");
            file == Path::new(&path).join("mod.rs") || file == Path::new(&format!("{path}.rs"))
        })
}

/// The text of a suite's file with its modules divided; nothing if it declares none that are.
pub fn divide(suite: &str, root: &str, file: &str, text: &str) -> Option<String> {
    let prefix = prefix(suite, root, file)?;
    let parts: Vec<&Part> = PARTS.iter().filter(|part| part.suite == suite).collect();
    let divide = |line: &str| {
        // Imports from a module belong to its part.
        let module = line
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_suffix(';'));
        let import = line
            .strip_prefix("use ")
            .and_then(|rest| rest.split_once("::"));
        let Some(name) = module.or(import.map(|(name, _)| name)) else {
            return line.to_owned();
        };
        let path = match prefix {
            "" => name.to_owned(),
            _ => format!("{prefix}::{name}"),
        };
        let having: Vec<String> = parts
            .iter()
            .filter(|part| part.modules().any(|module| module == path))
            .map(|part| format!("conformance_part = {:?}", part.name))
            .collect();
        if having.is_empty() {
            return line.to_owned();
        }
        format!("#[cfg(any({}))] {line}", having.join(", "))
    };
    let lines: Vec<String> = text.lines().map(divide).collect();
    Some(lines.join("\n") + "\n")
}

/// The parts of that name, of the suite of that name, or all.
pub fn select(names: &[String]) -> Result<Vec<Part>> {
    if names.is_empty() {
        return Ok(PARTS.to_vec());
    }
    let mut selected = Vec::new();
    for name in names {
        let before = selected.len();
        selected.extend(
            PARTS
                .iter()
                .filter(|part| part.name == name || part.suite == name),
        );
        if selected.len() == before {
            let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
            bail!("there is no part `{name}`; there are {}", names.join(", "));
        }
    }
    Ok(selected)
}
