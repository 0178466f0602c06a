//! Functions of core, alloc and std that the program may replace with versions for the device.
//!
//! The main use is panics: core formats their messages through function pointers, which increases
//! the register count of every kernel with a bounds check (see `cuda_std::panic`). A function of
//! the table replaces core's if a crate of the program defines its symbol; otherwise core's is
//! used.

use rustc_hir::definitions::DefPathData;
use rustc_middle::ty::{Instance, InstanceKind, TyCtxt};
use rustc_span::Symbol;

use crate::context::CodegenCx;

/// The path of a function, and the symbol of its replacement, which has the same signature,
/// including `#[track_caller]`.
const TABLE: &[(&[&str], &str)] = &[
    (
        &[
            "alloc",
            "alloc",
            "__alloc_error_handler",
            "__rdl_alloc_error_handler",
        ],
        "__cuda_std_alloc_error_handler",
    ),
    (
        &["core", "cell", "panic_already_borrowed"],
        "__cuda_std_panic_already_borrowed",
    ),
    (
        &["core", "cell", "panic_already_mutably_borrowed"],
        "__cuda_std_panic_already_mutably_borrowed",
    ),
    (&["core", "option", "expect_failed"], "__cuda_std_panic_str"),
    (&["core", "panicking", "panic"], "__cuda_std_panic_str"),
    (
        &["core", "panicking", "panic_bounds_check"],
        "__cuda_std_panic_bounds_check",
    ),
    (&["core", "panicking", "panic_fmt"], "__cuda_std_panic_fmt"),
    (
        &["core", "panicking", "panic_nounwind_fmt"],
        "__cuda_std_panic_nounwind_fmt",
    ),
    (
        &["core", "slice", "copy_from_slice_impl", "len_mismatch_fail"],
        "__cuda_std_len_mismatch_fail",
    ),
    (
        &["core", "slice", "index", "slice_index_fail"],
        "__cuda_std_slice_index_fail",
    ),
    // Reached only in single-source programs.
    (&["std", "io", "stdio", "_eprint"], "__cuda_std_eprint"),
    (&["std", "io", "stdio", "_print"], "__cuda_std_print"),
];

/// Returns whether a replacement is always inlined. Its own attributes cannot request that, because
/// rustc ignores `#[inline]` on `#[no_mangle]` functions. It is not inlined with checks for
/// undefined behavior: its own checks panic.
pub(crate) fn is_inlined(tcx: TyCtxt<'_>, symbol: &str) -> bool {
    symbol == "__cuda_std_panic_fmt" && !tcx.sess.ub_checks()
}

/// Returns the replacement of a function in this program, if there is one.
pub(crate) fn of<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) -> Option<Instance<'tcx>> {
    let tcx = cx.tcx;
    let InstanceKind::Item(def_id) = instance.def else {
        return None;
    };
    if def_id.is_local() || !instance.args.is_empty() || !tcx.def_kind(def_id).is_fn_like() {
        return None;
    }
    let name = tcx.opt_item_name(def_id)?;
    let (_, symbol) = TABLE
        .iter()
        .find(|(path, _)| path.last() == Some(&name.as_str()) && path_is(tcx, def_id, path))?;
    let definition = *cx.symbols.get(&Symbol::intern(symbol))?;
    let replacement = Instance::mono(tcx, definition);
    // Without a location argument from the caller, the parameter would be uninitialized.
    let asks = |instance: Instance<'tcx>| instance.def.requires_caller_location(tcx);
    assert_eq!(
        asks(replacement),
        asks(instance),
        "`#[track_caller]` of {symbol}"
    );
    Some(replacement)
}

fn path_is(tcx: TyCtxt<'_>, def_id: rustc_span::def_id::DefId, wanted: &[&str]) -> bool {
    let path = tcx.def_path(def_id);
    let names = path.data.iter().filter_map(|part| match part.data {
        DefPathData::TypeNs(name) | DefPathData::ValueNs(name) => Some(name),
        _ => None,
    });
    let names: Vec<Symbol> = std::iter::once(tcx.crate_name(path.krate))
        .chain(names)
        .collect();
    names.iter().map(Symbol::as_str).eq(wanted.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_driver::{Callbacks, Compilation, compiler_entrypoint};
    use rustc_hir::def::DefKind;
    use rustc_interface::interface::Compiler;
    use rustc_span::def_id::{DefId, DefIndex};

    /// The paths that no item of core, alloc or std has.
    #[derive(Default)]
    struct Missing(Vec<String>);

    impl Callbacks for Missing {
        fn after_analysis<'tcx>(&mut self, _: &Compiler, tcx: TyCtxt<'tcx>) -> Compilation {
            let items = |krate| {
                let count = tcx.num_extern_def_ids(krate);
                (0..count).map(move |index| DefId {
                    krate,
                    index: DefIndex::from_usize(index),
                })
            };
            let crates = tcx.crates(()).iter().copied();
            let all: Vec<DefId> = crates
                .filter(|&krate| matches!(tcx.crate_name(krate).as_str(), "core" | "alloc" | "std"))
                .flat_map(items)
                .collect();
            let exists = |path: &[&str], is: fn(DefKind) -> bool| {
                all.iter().any(|&def_id| {
                    let name = tcx.def_key(def_id).get_opt_name();
                    name.is_some_and(|name| path.last() == Some(&name.as_str()))
                        && path_is(tcx, def_id, path)
                        && is(tcx.def_kind(def_id))
                })
            };
            let mut check = |path: &[&str], is: fn(DefKind) -> bool| {
                if !exists(path, is) {
                    self.0.push(path.join("::"));
                }
            };
            for (path, _) in TABLE {
                check(path, DefKind::is_fn_like);
            }
            for modules in crate::context::FORMATTING {
                check(&[&["core"], *modules].concat(), |kind| kind == DefKind::Mod);
            }
            for path in ptx::stack::KNOWN_PATHS {
                let path: Vec<&str> = path.split("::").collect();
                check(&path, |kind| kind == DefKind::Mod || kind.is_fn_like());
            }
            check(&["core", "panicking", "no_such_panic"], |_| true);
            Compilation::Stop
        }
    }

    #[test]
    fn core_has_what_is_known_by_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("paths.rs");
        std::fs::write(&source, "extern crate alloc;\n").expect("it is written");
        let output = folder.path().join("paths.rmeta");
        let args = [
            "rustc".to_owned(),
            "--crate-type=rlib".to_owned(),
            "--emit=metadata".to_owned(),
            format!("-o{}", output.display()),
            source.display().to_string(),
        ];
        let mut missing = Missing::default();
        compiler_entrypoint(&args, &mut missing);
        assert_eq!(missing.0, ["core::panicking::no_such_panic"]);
    }
}
