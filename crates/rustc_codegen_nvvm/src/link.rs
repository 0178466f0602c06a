//! Writes the compiled output to the files that rustc and cargo expect: the last step of a
//! compilation.
//!
//! rustc writes rlibs, which hold only metadata: the MIR of every function (`-Zalways-encode-mir`)
//! and the evaluated initializer of every static. From these, the crate with the kernels is
//! compiled. A `cdylib` or a program is one PTX file. As in rustc's own backends, it passes from
//! `join_codegen` to `link` as the temporary object file of a [`CompiledModule`], so that
//! `-Zno-link` and `-Zlink-only` work.

use std::path::Path;
use std::{fs, io};

use rustc_codegen_ssa::back::archive::ArArchiveBuilderBuilder;
use rustc_codegen_ssa::back::link::{ensure_removed, link_binary};
use rustc_codegen_ssa::{CompiledModule, CompiledModules, CrateInfo, ModuleKind};
use rustc_metadata::EncodedMetadata;
use rustc_middle::ty::TyCtxt;
use rustc_session::Session;
use rustc_session::config::{OutFileName, OutputFilenames, OutputType};
use rustc_session::output::out_filename;
use rustc_structures::CrateType;

/// The supported crate types. rustc warns about others and skips them.
pub(crate) const CRATE_TYPES: [CrateType; 3] =
    [CrateType::Rlib, CrateType::Cdylib, CrateType::Executable];

/// Returns whether the session's outputs need PTX. An rlib needs none, unless `--emit=asm` requests
/// it.
pub(crate) fn needs_ptx(tcx: TyCtxt<'_>) -> bool {
    let outputs = &tcx.sess.opts.output_types;
    outputs.contains_key(&OutputType::Assembly)
        || outputs.should_link() && tcx.crate_types().iter().any(|&kind| holds_ptx(kind))
}

fn holds_ptx(kind: CrateType) -> bool {
    kind != CrateType::Rlib
}

/// Writes the output of `--emit=asm`, and saves the PTX for [`link`] if it is needed.
pub(crate) fn modules(
    sess: &Session,
    outputs: &OutputFilenames,
    crate_info: &CrateInfo,
    ptx: Option<Vec<u8>>,
) -> CompiledModules {
    let mut modules = Vec::new();
    if let Some(ptx) = ptx {
        if outputs.outputs.contains_key(&OutputType::Assembly) {
            let path = outputs.path(OutputType::Assembly);
            write_output(sess, &path, &ptx);
            notify(sess, &path, OutputType::Assembly.shorthand());
        }
        if outputs.outputs.should_link() && crate_info.crate_types.iter().any(|&k| holds_ptx(k)) {
            let path = outputs.temp_path_for_cgu(OutputType::Object, "ptx");
            write_file(sess, &path, &ptx);
            modules.push(CompiledModule {
                name: crate_info.local_crate_name.to_string(),
                kind: ModuleKind::Regular,
                object: Some(path),
                global_asm_object: None,
                dwarf_object: None,
                bytecode: None,
                assembly: None,
                llvm_ir: None,
            });
        }
    }
    CompiledModules {
        modules,
        allocator_module: None,
    }
}

/// Writes the crate's final files.
pub(crate) fn link(
    sess: &Session,
    modules: CompiledModules,
    mut crate_info: CrateInfo,
    metadata: EncodedMetadata,
    outputs: &OutputFilenames,
    backend: &'static str,
) {
    if outputs.outputs.should_link() {
        // With `-Zno-codegen` there is no object; rustc's own backends then link nothing either.
        for object in modules
            .modules
            .iter()
            .filter_map(|module| module.object.as_deref())
        {
            link_ptx(sess, &crate_info, outputs, object);
            if !sess.opts.cg.save_temps {
                ensure_removed(sess.dcx(), object);
            }
        }
    }
    crate_info.crate_types.retain(|&kind| !holds_ptx(kind));
    if crate_info.crate_types.is_empty() {
        return;
    }
    let no_code = CompiledModules {
        modules: Vec::new(),
        allocator_module: None,
    };
    link_binary(
        sess,
        &ArArchiveBuilderBuilder,
        no_code,
        crate_info,
        metadata,
        outputs,
        backend,
    );
}

fn link_ptx(sess: &Session, crate_info: &CrateInfo, outputs: &OutputFilenames, object: &Path) {
    let ptx = match fs::read(object) {
        Ok(ptx) => ptx,
        Err(err) => {
            let message = format!(
                "cannot read the compiled code in `{}`: {err}",
                object.display()
            );
            sess.dcx().fatal(message);
        }
    };
    for &kind in crate_info
        .crate_types
        .iter()
        .filter(|&&kind| holds_ptx(kind))
    {
        let path = out_filename(sess, kind, outputs, crate_info.local_crate_name);
        write_output(sess, &path, &ptx);
        notify(sess, &path, "link");
    }
}

/// Notifies cargo, if requested, that a file is complete.
fn notify(sess: &Session, path: &OutFileName, what: &str) {
    if sess.opts.json_artifact_notifications {
        sess.dcx().emit_artifact_notification(path.as_path(), what);
    }
}

fn write_output(sess: &Session, output: &OutFileName, bytes: &[u8]) {
    match output {
        OutFileName::Real(path) => write_file(sess, path, bytes),
        OutFileName::Stdout => {
            if let Err(err) = io::Write::write_all(&mut io::stdout(), bytes) {
                sess.dcx().fatal(format!("cannot write to stdout: {err}"));
            }
        }
    }
}

fn write_file(sess: &Session, path: &Path, bytes: &[u8]) {
    if let Err(err) = fs::write(path, bytes) {
        sess.dcx()
            .fatal(format!("cannot write `{}`: {err}", path.display()));
    }
}
