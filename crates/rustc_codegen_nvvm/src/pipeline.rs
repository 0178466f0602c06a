//! Compiles the lowered module to PTX: verifies it, runs passes, writes it, runs libnvvm, and
//! removes dead functions.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use cuda_toolkit::Toolkit;
use nvvm::Library;
use nvvm_ir::llvm::Messages;
use nvvm_ir::{Dialect, Module, legalize, passes};
use rustc_data_structures::fx::FxHashMap;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_session::Session;
use rustc_span::def_id::LOCAL_CRATE;

use crate::bounded::{self, Libnvvm};
use crate::debuginfo::has_variables;
use crate::diagnostics::toolkit;
use crate::kernels::Kernel;
use crate::lower::Lowered;
use crate::options::{self, Options, Roots};
use crate::ptx_cache::{self, Key, PtxCache, Update};
use crate::{assembly_check, denied, device_functions, llvm, parts};

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
        messages,
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
    let toolkit = find_toolkit(options);
    let compiler = Compiler {
        sess,
        options,
        messages: options.move_checks.then_some(&messages),
        library: load_libnvvm(sess, &toolkit)?,
        toolkit,
        arch,
        dumper,
        crate_name: name.as_str(),
    };
    let cache = PtxCache::new(tcx, arch);
    let Compiled { ptx, to_store } = compiler.compile(module, &cache)?;
    let dumper = &compiler.dumper;
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
    if let Some((key, updates)) = to_store {
        cache.store(&key, updates, &ptx);
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
            ordinary_entries: (options.ordinary_entries)
                .unwrap_or_else(|| crate::single_source::is_host(sess)),
        }),
    };
    match sess.time("ptx_finish", || ptx::finish(&ptx, &[], purpose, &stack)) {
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

/// Compiles lowered modules to PTX.
struct Compiler<'a> {
    sess: &'a Session,
    options: &'a Options,
    /// How reports describe messages that the host formats, unless kernels are to print them.
    messages: Option<&'a Messages>,
    toolkit: Toolkit,
    library: Library,
    arch: nvvm::Arch,
    dumper: Dumper<'a>,
    crate_name: &'a str,
}

/// libnvvm's PTX.
struct Compiled {
    ptx: String,
    /// The key with which to store the PTX and the number of updates that it consists of, unless it
    /// is stored already or a warning was reported, which is to appear again.
    to_store: Option<(Key, usize)>,
}

/// The PTX of a module.
struct Translated {
    ptx: String,
    /// Whether no warning was reported.
    is_silent: bool,
    /// Whether the module has module-level assembly, which may refer to anything.
    has_assembly: bool,
}

/// A module for libnvvm.
struct Transformed {
    module: Module,
    dialect: Dialect,
    /// Why LLVM did not optimize the module, if it was to.
    failure: Option<llvm::Failure>,
}

impl Compiler<'_> {
    /// Compiles a module, with the PTX in the cache where that is possible. Returns `None` after
    /// reporting an error.
    fn compile(&self, mut module: Module, cache: &PtxCache) -> Option<Compiled> {
        self.prepare(&mut module)?;
        let dependencies =
            (self.sess).time("nvvm_dependencies", || ptx_cache::dependencies(&module));
        let options = [
            format!("{:?}", self.options),
            format!(
                "{:?} {:?}",
                self.sess.opts.optimize, self.sess.opts.debuginfo
            ),
            self.arch.sm(),
        ];
        let files = compiler_files(&self.toolkit);
        let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let key = Key::new(&module, &dependencies, &options, &files);
        // The stages are written to files only if they run.
        let cached = match self.options.dump {
            Some(_) => None,
            None => cache.load(),
        };
        if let Some(cached) = cached {
            if cached.key == key || cached.key == key.whole() {
                return Some(Compiled {
                    ptx: cached.ptx,
                    to_store: None,
                });
            }
            if self.is_divisible()
                && let Some(update) = Update::new(&cached, &key, &module, &dependencies)
            {
                let changed = match update.changed {
                    Some(changed) => Some(self.translate(changed)?),
                    None => None,
                };
                let has_assembly = changed.as_ref().is_some_and(|part| part.has_assembly);
                let is_silent = changed.as_ref().is_none_or(|part| part.is_silent);
                let changed = changed.as_ref().map(|part| &*part.ptx);
                let joined = self.sess.time("nvvm_join", || {
                    ptx_cache::join(&cached.ptx, &update.removed, changed, &module)
                });
                if !has_assembly && let Ok(ptx) = joined {
                    return Some(Compiled {
                        ptx,
                        to_store: is_silent.then_some((key, cached.updates + 1)),
                    });
                }
            }
        }
        let translated = match self.translate_parts(&module, &dependencies) {
            Some(translated) => translated,
            None => self.translate(module)?,
        };
        let key = match translated.has_assembly || !self.is_divisible() {
            true => key.whole(),
            false => key,
        };
        Some(Compiled {
            ptx: translated.ptx,
            to_store: translated.is_silent.then_some((key, 0)),
        })
    }

    /// Removes unreachable code from a lowered module, and verifies it.
    fn prepare(&self, module: &mut Module) -> Option<()> {
        self.dumper.dump("lowered.ll", || {
            nvvm_ir::write_module(module, Dialect::Modern)
        });
        // Unreachable blocks from MIR would otherwise be part of the checks.
        passes::remove_unreachable_blocks(module);
        check(self.sess, module, "lowering")?;
        if self.options.roots == Roots::Kernels {
            passes::dead_functions(module);
            passes::dead_globals(module);
        }
        Some(())
    }

    /// Returns whether the PTX of each kernel can be told apart.
    fn is_divisible(&self) -> bool {
        options::optimizes(self.sess)
            && self.options.roots == Roots::Kernels
            // `ptx::join` does not join debug information of variables.
            && !has_variables(self.sess)
    }

    /// Compiles a module to PTX in parts, in parallel. Returns `None` if the module has one part, or
    /// if something is to be reported: compiling the whole module reports it.
    fn translate_parts(
        &self,
        module: &Module,
        dependencies: &ptx_cache::Dependencies,
    ) -> Option<Translated> {
        if !self.options.parts || !self.is_divisible() || !module.asm.is_empty() {
            return None;
        }
        let parts = parts::divide(dependencies);
        if parts.len() < 2 {
            return None;
        }
        let translate = |number: usize| {
            let others = (parts.iter().enumerate())
                .filter(|&(other, _)| other != number)
                .flat_map(|(_, kernels)| kernels.iter().copied());
            let part = ptx_cache::part_of(module, others, ptx_cache::UPDATES + 1 + number);
            let compiler = Compiler {
                library: self.library.clone(),
                toolkit: self.toolkit.clone(),
                dumper: self.dumper.of_part(number),
                ..*self
            };
            let translated = compiler.translate(part)?;
            let is_plain = translated.is_silent && !translated.has_assembly;
            is_plain.then(|| translated.ptx.into_bytes())
        };
        self.sess.time("nvvm_parts", || {
            let at_once = std::thread::available_parallelism().map_or(1, NonZero::get);
            let mut text = String::new();
            for part in nvvm::in_children(parts.len(), at_once, translate) {
                text.push_str(str::from_utf8(&part?).ok()?);
                text.push('\n');
            }
            let ptx = ptx::join(&text, &ptx_cache::visible_symbols(module), "").ok()?;
            Some(Translated {
                ptx,
                is_silent: true,
                has_assembly: false,
            })
        })
    }

    /// Compiles a module to PTX.
    fn translate(&self, module: Module) -> Option<Translated> {
        let Transformed {
            mut module,
            dialect,
            failure,
        } = self.transform(module)?;
        let sess = self.sess;
        let compiled = sess.time("libnvvm", || {
            let (toolkit, library) = (&self.toolkit, &self.library);
            let name = self.crate_name;
            let libnvvm = Libnvvm::new(sess, toolkit, library, self.arch, self.options, name);
            libnvvm.compile(&mut module, dialect, &self.dumper)
        });
        // LLVM 23.1 crashes on a call of an intrinsic that it does not know. Such a call is an
        // error of its own: tests/ui/cases/intrinsic_unknown_optimized.rs.
        let is_unknown = |ptx: &[u8]| {
            str::from_utf8(ptx)
                .is_ok_and(|ptx| device_functions::unknown_intrinsics(ptx).next().is_some())
        };
        if let Some(failure) = &failure
            && !compiled.as_ref().is_some_and(|(ptx, _)| is_unknown(ptx))
        {
            toolkit::not_pre_optimized(sess, failure);
        }
        let (ptx, is_silent) = compiled?;
        let Ok(ptx) = String::from_utf8(ptx) else {
            sess.dcx().err("libnvvm produced PTX that is not UTF-8");
            return None;
        };
        Some(Translated {
            ptx,
            is_silent: is_silent && failure.is_none(),
            has_assembly: !module.asm.is_empty(),
        })
    }

    /// Optimizes and legalizes a module.
    fn transform(&self, mut module: Module) -> Option<Transformed> {
        let Compiler { sess, options, .. } = *self;
        let dumper = &self.dumper;
        let dialect = match self.library.dialect(self.arch) {
            nvvm::Dialect::Llvm7 => Dialect::Llvm7,
            nvvm::Dialect::Modern => Dialect::Modern,
        };
        let target = legalize::Target {
            dialect,
            sm: self.arch.number().into(),
        };
        let optimizes = options::optimizes(sess);
        let mut failure = None;
        if optimizes && options.pre_optimize && options.roots == Roots::Kernels {
            // LLVM must not duplicate or move convergent calls.
            passes::convergence(&mut module);
            passes::hoist_calls(&mut module);
            passes::merge_calls(&mut module);
            passes::unite_latches(&mut module);
            passes::pair_sin_cos(&mut module);
            let optimized = sess.time("nvvm_llvm", || {
                llvm::optimize(sess, &module, self.messages, dumper).and_then(|mut optimized| {
                    passes::store_sin_cos(&mut optimized);
                    passes::dead_functions(&mut optimized);
                    passes::widen_counters(&mut optimized);
                    passes::skip_swaps(&mut optimized);
                    passes::branch_on_orderings(&mut optimized);
                    passes::tabulate_cases(&mut optimized);
                    passes::select_cases(&mut optimized);
                    passes::select_refined(&mut optimized);
                    passes::select_joined(&mut optimized);
                    passes::merge_branches(&mut optimized);
                    passes::rejoin_branches(&mut optimized);
                    passes::skip_selects(&mut optimized);
                    passes::step_zips(&mut optimized);
                    passes::subtract_steps(&mut optimized);
                    passes::count_doublings(&mut optimized);
                    passes::bound_searches(&mut optimized);
                    passes::separate_locals(&mut optimized);
                    passes::expand_moves(&mut optimized);
                    passes::separate_fields(&mut optimized);
                    passes::copy_tails(&mut optimized);
                    passes::merge_loops(&mut optimized);
                    passes::unroll_array_loops(&mut optimized);
                    passes::check_windows(&mut optimized);
                    passes::unroll_windows(&mut optimized);
                    passes::compare_ends(&mut optimized);
                    passes::read_constants(&mut optimized);
                    passes::compare_indices(&mut optimized);
                    passes::compute_elements(&mut optimized);
                    passes::dead_globals(&mut optimized);
                    passes::select_elements(&mut optimized);
                    passes::keep_searches(&mut optimized);
                    passes::keep_strided_loops(&mut optimized);
                    passes::use_conditions(&mut optimized);
                    passes::index_walks(&mut optimized);
                    passes::count_iterations(&mut optimized);
                    passes::count_strides(&mut optimized);
                    passes::bound_counts(&mut optimized);
                    passes::unite_exits(&mut optimized);
                    passes::narrow_sums(&mut optimized);
                    passes::widen_differences(&mut optimized);
                    passes::square_differences(&mut optimized);
                    passes::scan_extremes(&mut optimized);
                    passes::narrow_products(&mut optimized);
                    passes::widen_bytes(&mut optimized);
                    // LLVM may introduce operations that the legalizer cannot handle.
                    legalize::legalize(&mut optimized, &target)
                        .map_err(|errors| llvm::Failure::Legalize(errors.into_iter().next()))?;
                    Ok(optimized)
                })
            });
            match optimized {
                Ok(optimized) => {
                    let module = self.finish_transform(optimized)?;
                    return Some(Transformed {
                        module,
                        dialect,
                        failure: None,
                    });
                }
                Err(error) => failure = Some(error),
            }
            passes::store_sin_cos(&mut module);
        }
        if let Err(errors) = legalize::legalize(&mut module, &target) {
            for err in errors {
                sess.dcx().err(err.to_string());
            }
            return None;
        }
        let module = self.finish_transform(module)?;
        Some(Transformed {
            module,
            dialect,
            failure,
        })
    }

    /// Runs the passes on legalized code.
    fn finish_transform(&self, mut module: Module) -> Option<Module> {
        let Compiler { sess, options, .. } = *self;
        let optimizes = options::optimizes(sess);
        bounded::apply_options(&mut module, options);
        if optimizes {
            passes::fold_null_tests(&mut module);
            passes::bound_inlining(&mut module);
        }
        passes::convergence(&mut module);
        passes::contract_halves(&mut module, optimizes && options.fma);
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
        if optimizes {
            passes::unroll_divergent_loops(&mut module);
            passes::load_elements(&mut module);
            passes::locate_addresses(&mut module);
            passes::align_accesses(&mut module);
            passes::load_payloads(&mut module);
        }
        self.dumper.dump("legalized.ll", || {
            nvvm_ir::write_module(&module, Dialect::Modern)
        });
        check_legalized(sess, options, &module)?;
        Some(module)
    }
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

fn load_libnvvm(sess: &Session, toolkit: &Toolkit) -> Option<Library> {
    match Library::from_toolkit(toolkit) {
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

/// Returns the files that the compiler consists of: those of the toolkit, and this library.
pub(crate) fn compiler_files(toolkit: &Toolkit) -> Vec<PathBuf> {
    let found = [&toolkit.libnvvm, &toolkit.libdevice, &toolkit.ptxas];
    (found.into_iter().flatten())
        .map(|component| component.path.clone())
        .chain(library_path())
        .collect()
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
    /// Returns the writer for the stages of a part.
    fn of_part(&self, number: usize) -> Self {
        Dumper {
            sess: self.sess,
            dir: self.dir.clone(),
            crate_name: format!("{}.{number}", self.crate_name),
        }
    }

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
