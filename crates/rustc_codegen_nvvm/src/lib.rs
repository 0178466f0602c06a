//! A rustc codegen backend for NVIDIA GPUs.
//!
//! rustc loads this library with `-Zcodegen-backend=PATH` for the target `nvptx64-nvidia-cuda`. The
//! metadata of a library crate holds its MIR and the evaluated initializers of its statics. The
//! crate with the kernels lowers everything that the kernels reach (`lower`) to one NVVM IR module,
//! which `pipeline` compiles to PTX.

#![feature(rustc_private)]

extern crate rustc_abi;
extern crate rustc_ast;
extern crate rustc_attr_ir;
extern crate rustc_codegen_llvm;
extern crate rustc_codegen_ssa;
extern crate rustc_data_structures;
extern crate rustc_driver;
extern crate rustc_errors;
extern crate rustc_hir;
extern crate rustc_index;
extern crate rustc_infer;
#[cfg(test)]
extern crate rustc_interface;
extern crate rustc_lint_defs;
extern crate rustc_metadata;
extern crate rustc_middle;
extern crate rustc_serialize;
extern crate rustc_session;
extern crate rustc_span;
extern crate rustc_structures;
extern crate rustc_symbol_mangling;
extern crate rustc_target;
extern crate rustc_trait_selection;

mod abi;
mod asm;
mod asm_x86;
mod assembly_check;
mod bounded;
mod builder;
mod c_abi;
mod consts;
mod context;
mod debuginfo;
mod denied;
mod device_functions;
mod diagnostics;
mod embed;
mod formatters;
mod generic_arguments;
mod incremental;
mod inlining;
mod intrinsics;
mod kernels;
mod known_items;
mod lifetimes;
mod link;
mod llvm;
mod locations;
mod lower;
mod markers;
mod options;
mod packed_types;
mod parts;
mod pipeline;
mod plain_panics;
mod ptx_cache;
mod records;
mod replacements;
mod reports;
mod rlib;
mod simd;
mod single_source;
mod small_copies;
mod sse;
mod threading;
mod tool_attributes;
mod types;
mod virtual_calls;

use std::any::Any;

use rustc_codegen_ssa::traits::CodegenBackend;
use rustc_codegen_ssa::{CompiledModules, CrateInfo, TargetConfig};
use rustc_metadata::EncodedMetadata;
use rustc_middle::dep_graph::WorkProductMap;
use rustc_middle::ty::TyCtxt;
use rustc_middle::util::Providers;
use rustc_session::config::OutputFilenames;
use rustc_session::{CodegenBackendInit, EarlySession, IncrCompSession, Session};
use rustc_structures::CrateType;

/// The default architecture: the oldest that the pinned libnvvm supports.
const DEFAULT_ARCH: &str = "sm_75";

/// Returns the architecture of a device session. `check_arch` has rejected invalid names.
fn arch(sess: &Session) -> nvvm::Arch {
    arch_of_name(sess.opts.cg.target_cpu.as_deref())
}

fn arch_of_name(name: Option<&str>) -> nvvm::Arch {
    let name = name.unwrap_or(DEFAULT_ARCH);
    name.parse().unwrap_or(nvvm::Arch::SM_75)
}

/// Returns the features for which `cfg(target_feature = "..")` is true: the architecture and those
/// that it includes, under rustc's names. rustc does not know names such as `compute_90`;
/// `cuda_builder` passes these as flags.
fn features(arch: nvvm::Arch) -> impl Iterator<Item = rustc_span::Symbol> {
    let included = nvvm::Arch::KNOWN
        .iter()
        .filter(move |&&known| arch.has(known));
    included.map(|known| rustc_span::Symbol::intern(&known.sm()))
}

struct NvvmCodegenBackend;

/// The value that `codegen_crate` passes to `join_codegen`.
struct Ongoing {
    /// The PTX of a crate with kernels.
    ptx: Option<Vec<u8>>,
}

impl CodegenBackend for NvvmCodegenBackend {
    fn name(&self) -> &'static str {
        "nvvm"
    }

    fn init(&mut self, sess: &EarlySession) -> CodegenBackendInit {
        diagnostics::install();
        options::check_early(sess);
        diagnostics::toolkit::check_arch(sess);
        CodegenBackendInit {
            thin_lto_supported: false,
            ..Default::default()
        }
    }

    fn target_config(&self, sess: &EarlySession) -> TargetConfig {
        TargetConfig {
            internal_target_features: features(arch_of_name(sess.opts.cg.target_cpu.as_deref()))
                .collect(),
            has_reliable_f16: true,
            has_reliable_f16_math: true,
            has_reliable_f16b: false,
            has_reliable_f128: true,
            has_reliable_f128_math: false,
        }
    }

    fn supported_crate_types(&self, _sess: &Session) -> Vec<CrateType> {
        link::CRATE_TYPES.to_vec()
    }

    fn target_cpu(&self, sess: &Session) -> String {
        sess.opts
            .cg
            .target_cpu
            .clone()
            .unwrap_or_else(|| DEFAULT_ARCH.to_owned())
    }

    fn provide(&self, providers: &mut Providers) {
        // The whole program is lowered from MIR, so nothing is linked.
        providers.hooks.should_codegen_locally = |tcx, instance| {
            let def_id = instance.def.def_id_if_not_guaranteed_local_codegen();
            def_id.is_none_or(|def_id| !tcx.is_foreign_item(def_id))
        };
        threading::provide(providers);
        c_abi::provide(providers);
        // `lower` replaces rustc's own collector and partitioner.
        providers.queries.collect_and_partition_mono_items =
            |tcx, ()| rustc_middle::mono::MonoItemPartitions {
                codegen_units: &[],
                all_mono_items: tcx.arena.alloc(Default::default()),
            };
        providers.queries.exported_generic_symbols = |_, _| &[];
    }

    fn codegen_crate<'tcx>(&self, tcx: TyCtxt<'tcx>) -> Box<dyn Any> {
        let options = options::Options::from_session(tcx.sess);
        let needed = link::needs_ptx(tcx) || options.roots == options::Roots::All;
        let ptx = if needed {
            pipeline::compile(tcx, &options, arch(tcx.sess), kernels::find(tcx))
        } else {
            None
        };
        tcx.dcx().abort_if_errors();
        Box::new(Ongoing { ptx })
    }

    fn join_codegen(
        &self,
        ongoing: Box<dyn Any>,
        sess: &Session,
        _incremental: Option<&IncrCompSession>,
        outputs: &OutputFilenames,
        crate_info: &CrateInfo,
    ) -> (CompiledModules, WorkProductMap) {
        let ongoing = ongoing
            .downcast::<Ongoing>()
            .expect("the value that codegen_crate returned");
        let modules = link::modules(sess, outputs, crate_info, ongoing.ptx);
        (modules, WorkProductMap::default())
    }

    fn link(
        &self,
        sess: &Session,
        modules: CompiledModules,
        crate_info: CrateInfo,
        metadata: EncodedMetadata,
        outputs: &OutputFilenames,
    ) {
        link::link(sess, modules, crate_info, metadata, outputs, self.name());
    }
}

/// The entry point that rustc calls after loading the library.
#[unsafe(no_mangle)]
pub fn __rustc_codegen_backend() -> Box<dyn CodegenBackend> {
    Box::new(single_source::Backend::default())
}
