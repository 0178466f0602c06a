//! Compiles the lowered module to PTX: verifies it, runs passes, writes it, runs libnvvm, and
//! removes dead functions.

use std::fs;
use std::path::PathBuf;

use cuda_toolkit::Toolkit;
use nvvm::Library;
use nvvm_ir::{Dialect, Module, legalize, passes};
use rustc_data_structures::fx::FxHashMap;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_session::Session;
use rustc_span::def_id::LOCAL_CRATE;

use crate::bounded::{self, Libnvvm};
use crate::diagnostics::toolkit;
use crate::kernels::Kernel;
use crate::lower::Lowered;
use crate::options::{self, Options, Roots};
use crate::ptx_cache::PtxCache;
use crate::{assembly_check, denied, device_functions, llvm};

/// Compiles kernels to PTX. Returns `None` after reporting an error.
pub(crate) fn compile<'tcx>(
    tcx: TyCtxt<'tcx>,
    options: &Options,
    arch: nvvm::Arch,
    kernels: Vec<Kernel<'tcx>>,
) -> Option<Vec<u8>> {
    let sess = tcx.sess;
    let name = tcx.crate_name(LOCAL_CRATE);
    let denying = denied::find(tcx, &kernels);
    let Lowered {
        module,
        asm_spans,
        intrinsic_spans,
        instances,
        signatures,
        entries,
        slices,
        partitions,
        sizes,
    } = sess.time("nvvm_lower", || {
        crate::lower::lower(tcx, options, arch, kernels)
    });
    if sess.dcx().has_errors().is_some() {
        return None;
    }
    let dumper = Dumper {
        sess,
        dir: options.dump.clone(),
        crate_name: match options::has_several_archs(sess) {
            true => format!("{name}.{}", arch.sm()),
            false => name.to_string(),
        },
    };
    let kernels = (module.funcs())
        .filter_map(|func| {
            let data = module.func(func);
            let size = data.kernel.as_ref()?.stack_size?;
            Some((data.name.clone(), size.into()))
        })
        .collect();
    let stack = ptx::stack::Options {
        depth: options.recursion_depth,
        kernels,
    };
    let library = load_libnvvm(sess, options)?;
    let (mut module, dialect) = transform(sess, options, module, &library, arch, &dumper)?;
    let ptx = sess.time("libnvvm", || {
        let cache = PtxCache::new(tcx, arch);
        let libnvvm = Libnvvm::new(sess, &library, arch, options, name.as_str(), cache);
        libnvvm.compile(&mut module, dialect, &dumper)
    })?;
    drop(module);
    let Ok(ptx) = String::from_utf8(ptx) else {
        sess.dcx().err("libnvvm produced PTX that is not UTF-8");
        return None;
    };
    dumper.dump("libnvvm.ptx", || ptx.clone());
    let unknown: Vec<&str> = device_functions::unknown_intrinsics(&ptx).collect();
    for name in &unknown {
        toolkit::unknown_intrinsic(sess, intrinsic_spans.get(name).copied(), name);
    }
    if !unknown.is_empty() {
        return None;
    }
    if !asm_spans.is_empty() {
        assembly_check::check_assembly(sess, arch, options, &ptx, &asm_spans)?;
    }
    // ptxas does not optimize functions that libnvvm marks for debuggers. That suits only
    // unoptimized builds, whose functions are many and large.
    let without_spills: Vec<&str> = denying
        .iter()
        .filter_map(denied::Denying::without_spills)
        .collect();
    let purpose = match (options::optimizes(sess), options.move_checks) {
        (false, _) => ptx::Purpose::Debugging,
        (true, false) => ptx::Purpose::Plain,
        (true, true) => ptx::Purpose::Speed(ptx::Kernels {
            slices: &slices,
            partitions: &partitions,
            sizes: &sizes,
            without_spills: &without_spills,
        }),
    };
    match ptx::finish(&ptx, &[], purpose, &stack) {
        Ok(finished) => {
            toolkit::unbounded_stack(sess, &finished.cycles);
            let entries = crate::embed::entries(&entries);
            let text = finished.text + &entries + &ptx::write_signatures(&signatures);
            dumper.dump("stripped.ptx", || text.clone());
            denied::check(tcx, options, arch, &denying, &text);
            if let Some(limit) = options.frame_warning {
                warn_of_frames(tcx, &finished.frames, limit, &instances);
            }
            Some(text.into_bytes())
        }
        Err(err) => {
            let mut diag = sess
                .dcx()
                .struct_err(format!("libnvvm produced PTX that cannot be read: {err}"));
            toolkit::our_fault(&mut diag);
            diag.emit();
            None
        }
    }
}

/// Warns about functions whose variables take more than `limit` bytes of stack.
fn warn_of_frames<'tcx>(
    tcx: TyCtxt<'tcx>,
    frames: &[(String, u64)],
    limit: u64,
    instances: &FxHashMap<String, Instance<'tcx>>,
) {
    for &(ref symbol, bytes) in frames {
        if bytes > limit {
            // The function called by a kernel's entry has the name in the source.
            let body = format!("{symbol}{}", crate::context::BODY);
            let instance = instances.get(symbol).or_else(|| instances.get(&body));
            toolkit::large_frame(tcx, symbol, instance.copied(), bytes);
        }
    }
}

fn transform(
    sess: &Session,
    options: &Options,
    mut module: Module,
    library: &Library,
    arch: nvvm::Arch,
    dumper: &Dumper<'_>,
) -> Option<(Module, Dialect)> {
    let dialect = match library.dialect(arch) {
        nvvm::Dialect::Llvm7 => Dialect::Llvm7,
        nvvm::Dialect::Modern => Dialect::Modern,
    };
    dumper.dump("lowered.ll", || {
        nvvm_ir::write_module(&module, Dialect::Modern)
    });
    // Unreachable blocks from MIR would otherwise be part of the checks.
    passes::remove_unreachable_blocks(&mut module);
    check(sess, &module, "lowering")?;
    if options.roots == Roots::Kernels {
        passes::dead_functions(&mut module);
        passes::dead_globals(&mut module);
    }
    let target = legalize::Target {
        dialect,
        sm: arch.number().into(),
    };
    let optimizes = options::optimizes(sess);
    if optimizes && options.pre_optimize && options.roots == Roots::Kernels {
        // LLVM must not duplicate or move convergent calls.
        passes::convergence(&mut module);
        let optimized = sess.time("nvvm_llvm", || {
            llvm::optimize(sess, &module, dumper).and_then(|mut optimized| {
                passes::dead_functions(&mut optimized);
                passes::dead_globals(&mut optimized);
                passes::merge_branches(&mut optimized);
                passes::keep_strided_loops(&mut optimized);
                passes::count_iterations(&mut optimized);
                // LLVM may introduce operations that the legalizer cannot handle.
                legalize::legalize(&mut optimized, &target)
                    .map_err(|errors| llvm::Failure::Legalize(errors.into_iter().next()))?;
                Ok(optimized)
            })
        });
        match optimized {
            Ok(optimized) => return finish_transform(sess, options, optimized, dialect, dumper),
            Err(failure) => toolkit::not_pre_optimized(sess, &failure),
        }
    }
    if let Err(errors) = legalize::legalize(&mut module, &target) {
        for err in errors {
            sess.dcx().err(err.to_string());
        }
        return None;
    }
    finish_transform(sess, options, module, dialect, dumper)
}

/// Runs the passes on legalized code.
fn finish_transform(
    sess: &Session,
    options: &Options,
    mut module: Module,
    dialect: Dialect,
    dumper: &Dumper<'_>,
) -> Option<(Module, Dialect)> {
    let optimizes = options::optimizes(sess);
    bounded::apply_options(&mut module, options);
    if optimizes {
        passes::fold_null_tests(&mut module);
        passes::bound_inlining(&mut module);
    }
    passes::convergence(&mut module);
    if optimizes {
        passes::separate_panics(&mut module);
    }
    if let Some(frame) = options.share_slots {
        let sharing = match optimizes {
            false => passes::SlotSharing::unoptimized(frame),
            true => passes::SlotSharing::optimized(frame),
        };
        passes::share_slots(&mut module, sharing);
    }
    dumper.dump("legalized.ll", || {
        nvvm_ir::write_module(&module, Dialect::Modern)
    });
    check_legalized(sess, options, &module)?;
    Some((module, dialect))
}

/// Runs the verifier on the lowered module.
fn check(sess: &Session, module: &Module, stage: &str) -> Option<()> {
    report(
        sess,
        sess.time("nvvm_verify", || nvvm_ir::verify(module)),
        stage,
    )
}

/// Runs the verifier on the legalized module, and reports functions that the legalizer calls and
/// nothing defines: the soft-float functions of `f128`.
fn check_legalized(sess: &Session, options: &Options, module: &Module) -> Option<()> {
    let verified = sess.time("nvvm_verify", || nvvm_ir::verify::verify_legalized(module));
    report(sess, verified, "legalization")?;
    if options.roots == Roots::All {
        return Some(());
    }
    for func in module.funcs() {
        let data = module.func(func);
        if data.blocks.is_empty() && !device_functions::comes_from_elsewhere(&data.name) {
            let mut diag = sess.dcx().struct_err(format!(
                "the program needs `{}`, which no GPU has",
                data.name
            ));
            diag.note("operations on `f128` call such functions");
            diag.emit();
        }
    }
    sess.dcx().has_errors().is_none().then_some(())
}

/// Reports verifier errors, which are internal compiler errors.
fn report(
    sess: &Session,
    verified: Result<(), Vec<nvvm_ir::VerifyError>>,
    stage: &str,
) -> Option<()> {
    let Err(errors) = verified else {
        return Some(());
    };
    const SHOWN: usize = 5;
    for err in errors.iter().take(SHOWN) {
        let mut diag = sess
            .dcx()
            .struct_err(format!("{stage} produced invalid code: {err}"));
        toolkit::our_fault(&mut diag);
        diag.emit();
    }
    if errors.len() > SHOWN {
        sess.dcx().err(format!(
            "… and {} further errors of this kind",
            errors.len() - SHOWN
        ));
    }
    None
}

fn load_libnvvm(sess: &Session, options: &Options) -> Option<Library> {
    match Library::from_toolkit(&find_toolkit(options)) {
        Ok(library) => Some(library),
        Err(err) => {
            toolkit::no_libnvvm(sess, &err);
            None
        }
    }
}

/// Locates the toolkit: in the directory that the user specified, in the usual directories, and
/// beside this library.
pub(crate) fn find_toolkit(options: &Options) -> Toolkit {
    let beside: Vec<PathBuf> = beside_this_library().into_iter().collect();
    let usual = cuda_toolkit::find(&beside);
    let Some(given) = &options.cuda else {
        return usual;
    };
    let given = cuda_toolkit::find_in(&[(given.clone(), cuda_toolkit::Origin::Caller)]);
    Toolkit {
        libnvvm: given.libnvvm.or(usual.libnvvm),
        libdevice: given.libdevice.or(usual.libdevice),
        ptxas: given.ptxas.or(usual.ptxas),
        searched: given.searched.into_iter().chain(usual.searched).collect(),
        ignored: usual.ignored,
    }
}

/// Returns the directory `cuda` in the target directory in which this library was built.
fn beside_this_library() -> Option<PathBuf> {
    let me = library_path()?;
    me.ancestors()
        .skip(1)
        .map(|dir| dir.join("cuda"))
        .find(|dir| dir.is_dir())
}

/// Returns the path of the file from which this library was loaded.
pub(crate) fn library_path() -> Option<PathBuf> {
    let address = beside_this_library as fn() -> Option<PathBuf> as usize;
    mapped_file(&fs::read_to_string("/proc/self/maps").ok()?, address)
}

/// Returns the file that is mapped at an address, from lines such as `7f00-7f10 r-xp 00000000 fe:00
/// 123    /path with spaces/lib.so`.
fn mapped_file(maps: &str, address: usize) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        // Permissions, offset, device and inode contain no slash.
        let path = rest.get(rest.find(" /")? + 1..)?;
        (start..end).contains(&address).then(|| PathBuf::from(path))
    })
}

/// Writes each stage to a directory, if the user specified one.
pub(crate) struct Dumper<'a> {
    sess: &'a Session,
    dir: Option<PathBuf>,
    crate_name: String,
}

impl Dumper<'_> {
    pub(crate) fn dump(&self, stage: &str, text: impl FnOnce() -> String) {
        let Some(dir) = &self.dir else { return };
        let path = dir.join(format!("{}.{stage}", self.crate_name));
        let written = fs::create_dir_all(dir).and_then(|()| fs::write(&path, text()));
        if let Err(err) = written {
            self.sess
                .dcx()
                .warn(format!("cannot write the dump `{}`: {err}", path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn paths_of_mapped_files_may_have_spaces() {
        let maps = "1000-2000 rw-p 00000000 00:00 0 [heap]\n\
                    2000-3000 r-xp 00001000 fe:00 12345                      /a b/my  lib.so\n";
        let path = mapped_file(maps, 0x2fff);
        assert_eq!(path.as_deref(), Some(Path::new("/a b/my  lib.so")));
        assert_eq!(mapped_file(maps, 0x3000), None);
        assert_eq!(mapped_file(maps, 0x1000), None);
    }
}
