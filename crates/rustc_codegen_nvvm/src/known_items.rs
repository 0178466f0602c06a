//! Items of the standard library that the backend recognizes.
//!
//! Every path in `core`, `alloc` or `std` that the backend compares with is in a table of this
//! file. The test at the end looks each entry up in the pinned toolchain's library, so an update of
//! the nightly that moves an item fails the test. Without it, the backend would silently stop
//! replacing the item. Tables use language items where core has them: rustc itself depends on
//! these.
//!
//! Other names are checked elsewhere: intrinsics by `tests/intrinsics.rs`, and the symbols of the
//! allocator come from `rustc_ast::expand::allocator`.

use rustc_attr_ir::LangItem;
use rustc_hir::def::DefKind;
use rustc_hir::definitions::DefPathData;
use rustc_middle::ty::{self, Instance, Ty, TyCtxt};
use rustc_span::def_id::{CrateNum, DefId};

/// A function of the standard library.
pub(crate) enum Known {
    Lang(LangItem),
    Path(&'static str),
}

/// The functions that the program may replace, with the symbols of the replacements: see
/// [`crate::replacements`].
pub(crate) const REPLACED: &[(Known, &str)] = &[
    (
        Known::Path("alloc::alloc::__alloc_error_handler::__rdl_alloc_error_handler"),
        "__cuda_std_alloc_error_handler",
    ),
    (
        Known::Path("core::cell::panic_already_borrowed"),
        "__cuda_std_panic_already_borrowed",
    ),
    (
        Known::Path("core::cell::panic_already_mutably_borrowed"),
        "__cuda_std_panic_already_mutably_borrowed",
    ),
    (
        Known::Path("core::option::expect_failed"),
        "__cuda_std_panic_str",
    ),
    (Known::Lang(LangItem::Panic), "__cuda_std_panic_str"),
    (
        Known::Lang(LangItem::PanicBoundsCheck),
        "__cuda_std_panic_bounds_check",
    ),
    (Known::Lang(LangItem::PanicFmt), "__cuda_std_panic_fmt"),
    (
        Known::Path("core::panicking::panic_nounwind_fmt"),
        "__cuda_std_panic_nounwind_fmt",
    ),
    (
        Known::Path("core::slice::copy_from_slice_impl::len_mismatch_fail"),
        "__cuda_std_len_mismatch_fail",
    ),
    (
        Known::Path("core::slice::index::slice_index_fail"),
        "__cuda_std_slice_index_fail",
    ),
    // Reached only in single-source programs. `panic!` of the editions before 2021 calls the first
    // one, which is generic: see `is_replaced_instance`.
    (Known::Lang(LangItem::BeginPanic), "__cuda_std_panic_str"),
    (Known::Path("std::io::stdio::_eprint"), "__cuda_std_eprint"),
    (Known::Path("std::io::stdio::_print"), "__cuda_std_print"),
    (Known::Path("std::process::abort"), "__cuda_std_abort"),
    // `panic_any` with another payload.
    (
        Known::Path("std::panicking::panic_with_hook"),
        "__cuda_std_panic_with_payload",
    ),
    (
        Known::Path("std::panicking::resume_unwind"),
        "__cuda_std_resume_unwind",
    ),
];

/// The method of slices in [`SLICES`] that the program may replace where [`PARTITION_POINT`] calls it.
const SEARCH: &str = "binary_search_by";

/// The method of slices in [`SLICES`] of which a closure compares the elements.
const PARTITION_POINT: &str = "partition_point";

/// The module of slices.
const SLICES: &str = "core::slice";

/// The crate and the module of the function that replaces [`SEARCH`]. It is generic, so it has no
/// symbol.
const SEARCHES: [&str; 2] = ["cuda_std", "search"];

/// The method of iterators that the program may replace for iterators with [`FILTERS`].
const REDUCE: &str = "core::iter::traits::iterator::Iterator::reduce";

/// The adapters whose iterators skip elements.
const FILTERS: [&str; 2] = [
    "core::iter::adapters::filter::Filter",
    "core::iter::adapters::filter_map::FilterMap",
];

/// The module of the adapters of iterators.
const ADAPTERS: &str = "core::iter::adapters";

/// The names of the functions of iterators that skip elements: the method of `Iterator`, and what it
/// calls for zipped iterators.
const SKIPS: [&str; 2] = ["nth", "super_nth"];

/// The modules of the iterators of the standard library whose [`SKIPS`] are inlined.
const ITERATORS: [&str; 2] = [ADAPTERS, "core::slice::iter"];

/// The crate, the module and the name of the function that replaces [`REDUCE`].
const REDUCTION: [&str; 3] = ["cuda_std", "reduction", "reduce"];

/// The modules that format and parse text.
const FORMATTING: &[&str] = &[
    "alloc::fmt",
    "core::fmt",
    "core::num::imp::bignum",
    "core::num::imp::dec2flt",
    "core::num::imp::diy_float",
    "core::num::imp::flt2dec",
    "core::num::imp::fmt",
    "core::panicking",
];

/// The module of the formatting traits, whose implementations in all crates format text.
const FORMATTING_TRAITS: &str = "core::fmt";

/// The traits whose functions [`crate::formatters`] knows.
const TRAITS: [(&str, FormattingTrait); 2] = [
    ("core::fmt::Debug", FormattingTrait::Debug),
    ("core::fmt::Display", FormattingTrait::Display),
];

/// The type of messages.
const ARGUMENTS: &str = "core::fmt::Arguments";

/// The functions that report a failed comparison and an `unwrap` of an `Err`. Where LLVM inlines them, the
/// types of the values are known.
const FAILURES: [&str; 4] = [
    "core::panicking::assert_failed",
    "core::panicking::assert_failed_inner",
    "core::result::unwrap_failed",
    "core::result::unwrap_failed::unwrap_failed_inner",
];

/// A function that `--roots=all` omits: rustc's lowering of the intrinsic that it calls fails, also
/// with rustc's other backends.
pub(crate) const NOT_LOWERABLE: &str = "core::process::resumable_breakpoint";

/// The crates of the standard library.
const STANDARD_LIBRARY: [&str; 3] = ["alloc", "core", "std"];

/// The crate of `std`'s hash tables, which allocates.
const HASH_TABLES: &str = "hashbrown";

/// Returns whether a crate is part of the standard library.
pub(crate) fn is_standard_library(tcx: TyCtxt<'_>, krate: CrateNum) -> bool {
    STANDARD_LIBRARY.contains(&tcx.crate_name(krate).as_str())
}

/// Returns whether a crate is `core` or `alloc`.
pub(crate) fn is_core_or_alloc(tcx: TyCtxt<'_>, krate: CrateNum) -> bool {
    matches!(tcx.crate_name(krate).as_str(), "alloc" | "core")
}

/// Returns whether a crate is one of the libraries between the program and the allocator: the
/// standard library with its hash tables, or `cuda_std`.
pub(crate) fn is_allocating_library(tcx: TyCtxt<'_>, krate: CrateNum) -> bool {
    let name = tcx.crate_name(krate);
    is_standard_library(tcx, krate) || matches!(name.as_str(), HASH_TABLES | "cuda_std")
}

/// Returns whether an instance of a function with a replacement has it: functions that are not
/// generic, and `std`'s panics with a `&'static str`, which have the replacement's signature.
pub(crate) fn is_replaced_instance<'tcx>(tcx: TyCtxt<'tcx>, instance: Instance<'tcx>) -> bool {
    let is_str = |ty: Ty<'tcx>| matches!(ty.kind(), ty::Ref(_, to, _) if to.is_str());
    instance.args.is_empty()
        || tcx.is_lang_item(instance.def_id(), LangItem::BeginPanic)
            && instance.args.types().all(is_str)
}

/// Returns the symbol of the replacement for a function of the standard library.
pub(crate) fn replacement(tcx: TyCtxt<'_>, def_id: DefId) -> Option<&'static str> {
    if !is_standard_library(tcx, def_id.krate) {
        return None;
    }
    let lang = tcx.as_lang_item(def_id);
    let path = path(tcx, def_id)?;
    let is = |known: &Known| match *known {
        Known::Lang(item) => lang == Some(item),
        Known::Path(known) => path == known,
    };
    let (_, symbol) = REPLACED.iter().find(|(known, _)| is(known))?;
    Some(symbol)
}

/// Returns whether an instance is the binary search of `slice::partition_point`.
pub(crate) fn is_partition_search<'tcx>(tcx: TyCtxt<'tcx>, instance: Instance<'tcx>) -> bool {
    let compares = |ty: Ty<'tcx>| {
        let ty::Closure(closure, _) = ty.kind() else {
            return false;
        };
        tcx.opt_parent(*closure)
            .is_some_and(|parent| is_slice_method(tcx, parent, PARTITION_POINT))
    };
    is_slice_method(tcx, instance.def_id(), SEARCH) && instance.args.types().any(compares)
}

/// Returns whether a function is a method of slices with this name.
fn is_slice_method(tcx: TyCtxt<'_>, def_id: DefId, name: &str) -> bool {
    let is_named = || {
        tcx.opt_item_name(def_id)
            .is_some_and(|own| own.as_str() == name)
    };
    !def_id.is_local()
        && tcx.def_kind(def_id) == DefKind::AssocFn
        && is_named()
        && module_path(tcx, def_id) == SLICES
        && tcx
            .inherent_impl_of_assoc(def_id)
            .is_some_and(|implementation| {
                let of = tcx.type_of(implementation).instantiate_identity();
                of.skip_norm_wip().is_slice()
            })
}

/// Returns the function that replaces the binary search of `slice::partition_point`, if the program
/// uses `cuda_std`.
pub(crate) fn partition_search(tcx: TyCtxt<'_>) -> Option<DefId> {
    let [krate, module] = SEARCHES;
    function(tcx, [krate, module, SEARCH])
}

/// Returns whether an instance is `Iterator::reduce` of an iterator that skips elements.
pub(crate) fn is_filtered_reduction<'tcx>(tcx: TyCtxt<'tcx>, instance: Instance<'tcx>) -> bool {
    let def_id = instance.def_id();
    let is_reduce = !def_id.is_local()
        && tcx.def_kind(def_id) == DefKind::AssocFn
        && tcx.trait_of_assoc(def_id).is_some()
        && is(tcx, def_id, REDUCE);
    let iterator = is_reduce.then(|| instance.args.types().next());
    (iterator.flatten()).is_some_and(|iterator| is_filtered(tcx, iterator))
}

/// Returns whether an iterator, or the one that it adapts, skips elements.
fn is_filtered<'tcx>(tcx: TyCtxt<'tcx>, iterator: Ty<'tcx>) -> bool {
    let ty::Adt(adapter, args) = iterator.kind() else {
        return false;
    };
    let adapter = adapter.did();
    !adapter.is_local()
        && path(tcx, adapter).is_some_and(|path| {
            is_within(&path, ADAPTERS)
                && (FILTERS.contains(&path.as_str())
                    || args.types().any(|inner| is_filtered(tcx, inner)))
        })
}

/// Returns the function that replaces `Iterator::reduce` of an iterator that skips elements, if the
/// program uses `cuda_std`.
pub(crate) fn filtered_reduction(tcx: TyCtxt<'_>) -> Option<DefId> {
    function(tcx, REDUCTION)
}

/// Returns a function of a crate, if the program uses the crate: its path has these three names.
fn function(tcx: TyCtxt<'_>, [krate, module, name]: [&str; 3]) -> Option<DefId> {
    let krate = (tcx.crates(()).iter()).find(|&&it| tcx.crate_name(it).as_str() == krate)?;
    let child = |of: DefId, name: &str| {
        let children = tcx.module_children(of).iter();
        let mut found = children.filter(|child| child.ident.as_str() == name);
        found.find_map(|child| child.res.opt_def_id())
    };
    child(child(krate.as_def_id(), module)?, name)
}

/// Returns whether a function formats or parses text: the standard library's own code, and every
/// implementation of its formatting traits.
pub(crate) fn is_formatting(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    if is_core_or_alloc(tcx, def_id.krate) {
        let path = module_path(tcx, def_id);
        if FORMATTING.iter().any(|module| is_within(&path, module)) {
            return true;
        }
    }
    tcx.trait_impl_of_assoc(def_id)
        .and_then(|implementation| tcx.impl_opt_trait_id(implementation))
        .is_some_and(|of| is_within(&module_path(tcx, of), FORMATTING_TRAITS))
}

/// A trait of `core::fmt`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormattingTrait {
    Debug,
    Display,
}

/// Returns which trait of `core::fmt` a trait is.
pub(crate) fn formatting_trait(tcx: TyCtxt<'_>, def_id: DefId) -> Option<FormattingTrait> {
    let path = path(tcx, def_id)?;
    let (_, found) = TRAITS.iter().find(|(known, _)| path == *known)?;
    Some(*found)
}

/// Returns the trait `Debug`.
pub(crate) fn debug(tcx: TyCtxt<'_>) -> Option<DefId> {
    tcx.get_diagnostic_item(rustc_span::sym::Debug)
}

/// Returns whether a type is `core::fmt::Arguments`.
pub(crate) fn is_arguments(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    is(tcx, def_id, ARGUMENTS)
}

/// Returns whether a function reports a failed comparison or an `unwrap` of an `Err`.
pub(crate) fn is_failure(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    is_core_or_alloc(tcx, def_id.krate)
        && path(tcx, def_id).is_some_and(|path| FAILURES.contains(&path.as_str()))
}

/// Returns whether a function is the method of an iterator over slices, or of an adapter, that skips
/// elements.
///
/// `Skip::nth` has an unlikely call of one, which LLVM does not inline unless it must, and then all of
/// the iterator stays in memory.
pub(crate) fn is_skip(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    let is_named = || {
        let name = tcx.opt_item_name(def_id);
        name.is_some_and(|name| SKIPS.contains(&name.as_str()))
    };
    is_core_or_alloc(tcx, def_id.krate)
        && tcx.def_kind(def_id) == DefKind::AssocFn
        && is_named()
        && {
            let path = module_path(tcx, def_id);
            ITERATORS.iter().any(|module| is_within(&path, module))
        }
}

/// Returns whether an item is the one with this path.
pub(crate) fn is(tcx: TyCtxt<'_>, def_id: DefId, known: &str) -> bool {
    path(tcx, def_id).is_some_and(|path| path == known)
}

/// Returns the path of an item such as `core::cell::panic_already_borrowed`, or `None` for an item
/// within an `impl` or a closure.
fn path(tcx: TyCtxt<'_>, def_id: DefId) -> Option<String> {
    let mut path = tcx.crate_name(def_id.krate).to_string();
    for part in &tcx.def_path(def_id).data {
        let (DefPathData::TypeNs(name) | DefPathData::ValueNs(name)) = part.data else {
            return None;
        };
        path.push_str("::");
        path.push_str(name.as_str());
    }
    Some(path)
}

/// Returns the path of the module or type around an item.
fn module_path(tcx: TyCtxt<'_>, def_id: DefId) -> String {
    let mut path = tcx.crate_name(def_id.krate).to_string();
    for part in &tcx.def_path(def_id).data {
        let DefPathData::TypeNs(name) = part.data else {
            break;
        };
        path.push_str("::");
        path.push_str(name.as_str());
    }
    path
}

fn is_within(path: &str, module: &str) -> bool {
    let rest = path.strip_prefix(module);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_driver::{Callbacks, Compilation, compiler_entrypoint};
    use rustc_interface::interface::Compiler;
    use rustc_span::def_id::DefIndex;
    use std::collections::HashMap;

    /// The names in the tables that the toolchain's library does not have.
    #[derive(Default)]
    struct Missing(Vec<String>);

    impl Callbacks for Missing {
        fn after_analysis<'tcx>(&mut self, _: &Compiler, tcx: TyCtxt<'tcx>) -> Compilation {
            for name in [SEARCH, PARTITION_POINT] {
                let mut of_crates = tcx.crates(()).iter().flat_map(|&krate| {
                    let count = tcx.num_extern_def_ids(krate);
                    (0..count).map(move |index| DefId {
                        krate,
                        index: DefIndex::from_usize(index),
                    })
                });
                if !of_crates.any(|def_id| is_slice_method(tcx, def_id, name)) {
                    self.0.push(name.to_owned());
                }
            }
            let library = items(tcx);
            let mut check = |path: &str, is: fn(DefKind) -> bool| {
                if !library.get(path).is_some_and(|&kind| is(kind)) {
                    self.0.push(path.to_owned());
                }
            };
            for (known, _) in REPLACED {
                match *known {
                    Known::Path(path) => check(path, DefKind::is_fn_like),
                    Known::Lang(item) => {
                        let path = tcx.lang_items().get(item).and_then(|it| path(tcx, it));
                        check(path.as_deref().unwrap_or(item.name().as_str()), |kind| {
                            kind.is_fn_like()
                        });
                    }
                }
            }
            for module in FORMATTING.iter().chain([&FORMATTING_TRAITS]) {
                check(module, |kind| kind == DefKind::Mod);
            }
            check(NOT_LOWERABLE, DefKind::is_fn_like);
            for (path, _) in TRAITS {
                check(path, |kind| kind == DefKind::Trait);
            }
            check(ARGUMENTS, |kind| kind == DefKind::Struct);
            for path in FAILURES {
                check(path, DefKind::is_fn_like);
            }
            check(REDUCE, DefKind::is_fn_like);
            for module in ITERATORS {
                check(module, |kind| kind == DefKind::Mod);
            }
            for adapter in FILTERS {
                check(adapter, |kind| kind == DefKind::Struct);
            }
            for path in ptx::stack::KNOWN_PATHS {
                check(path, |kind| kind == DefKind::Mod || kind.is_fn_like());
            }
            for krate in STANDARD_LIBRARY.iter().chain([&HASH_TABLES]) {
                check(krate, |kind| kind == DefKind::Mod);
            }
            let builtins = nvvm_ir::legalize::SOFT_FLOAT.iter();
            for symbol in builtins.chain([&crate::intrinsics::POWI_F128]) {
                let is_symbol = |path: &&String| {
                    let (krate, rest) = path.split_once("::").unwrap_or_default();
                    krate == "compiler_builtins" && rest.rsplit("::").next() == Some(symbol)
                };
                let path = library
                    .keys()
                    .find(is_symbol)
                    .map_or(*symbol, String::as_str);
                check(path, DefKind::is_fn_like);
            }
            // The check finds what is missing, and items of another kind.
            check("core::panicking::no_such_panic", |_| true);
            check("core::fmt", DefKind::is_fn_like);
            Compilation::Stop
        }
    }

    /// Returns the items of the standard library and of the crates that it is built from, by path.
    /// The root module of a crate has the crate's name.
    fn items(tcx: TyCtxt<'_>) -> HashMap<String, DefKind> {
        let mut items = HashMap::new();
        for &krate in tcx.crates(()) {
            for index in 0..tcx.num_extern_def_ids(krate) {
                let index = DefIndex::from_usize(index);
                let def_id = DefId { krate, index };
                if let Some(path) = path(tcx, def_id) {
                    // A module may have the name of a function.
                    let kind = tcx.def_kind(def_id);
                    let known = items.entry(path).or_insert(kind);
                    if kind.is_fn_like() {
                        *known = kind;
                    }
                }
            }
        }
        items
    }

    #[test]
    fn the_library_has_all_known_items() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let source = directory.path().join("paths.rs");
        std::fs::write(&source, "extern crate alloc;\n").expect("a writable directory");
        let output = directory.path().join("paths.rmeta");
        let args = [
            "rustc".to_owned(),
            "--crate-type=rlib".to_owned(),
            "--emit=metadata".to_owned(),
            format!("-o{}", output.display()),
            source.display().to_string(),
        ];
        let mut missing = Missing::default();
        compiler_entrypoint(&args, &mut missing);
        assert_eq!(missing.0, ["core::panicking::no_such_panic", "core::fmt"]);
    }

    #[test]
    fn modules_contain_whole_names_only() {
        assert!(is_within("core::fmt", "core::fmt"));
        assert!(is_within("core::fmt::num", "core::fmt"));
        assert!(!is_within("core::fmtx", "core::fmt"));
        assert!(!is_within("core", "core::fmt"));
    }
}
