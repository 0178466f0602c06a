//! Single source: kernels beside host code.
//!
//! In a host session, rustc's LLVM backend compiles the crate as usual. If the crate has kernels,
//! this backend lowers them too, with everything that they reach in all crates, from the same MIR,
//! and embeds the PTX in the crate's object files ([`embed`]). Both sides therefore share one set
//! of types, closures and generic instances.
//!
//! The libraries use tool attributes ([`tool_attributes`]) to mark items that differ on the device.

use std::any::Any;
use std::sync::OnceLock;

use nvvm_ir::{AddrSpace, Linkage, Value};
use rustc_ast::expand::allocator::{ALLOC_ERROR_HANDLER, ALLOCATOR_METHODS, global_fn_name};
use rustc_attr_ir::InlineAttr;
use rustc_codegen_ssa::traits::{CodegenBackend, ConstCodegenMethods};
use rustc_codegen_ssa::{CompiledModules, CrateInfo, TargetConfig};
use rustc_data_structures::fx::FxHashMap;
use rustc_index::IndexVec;
use rustc_metadata::EncodedMetadata;
use rustc_metadata::creader::MetadataLoaderDyn;
use rustc_middle::dep_graph::WorkProductMap;
use rustc_middle::middle::dependency_format::Linkage as CrateLinkage;
use rustc_middle::middle::exported_symbols::{
    ExportedSymbol, SymbolExportInfo, SymbolExportKind, SymbolExportLevel,
};
use rustc_middle::queries;
use rustc_middle::ty::layout::{FnAbiOf, LayoutOf};
use rustc_middle::ty::{self, Instance, InstanceKind, SymbolName, TyCtxt};
use rustc_middle::util::Providers;
use rustc_session::config::{Lto, OutputFilenames, PrintRequest};
use rustc_session::{CodegenBackendInit, EarlySession, IncrCompSession, Session};
use rustc_span::Symbol;
use rustc_span::def_id::{CrateNum, DefId};
use rustc_structures::CrateType;
use rustc_target::spec::Arch;

use crate::context::CodegenCx;
use crate::known_items::is_standard_library;
use crate::options::{self, Options};
use crate::{
    NvvmCodegenBackend, device_functions, diagnostics, embed, incremental, kernels, pipeline,
    threading, tool_attributes,
};

/// Returns whether the session's target is a host.
pub(crate) fn is_host(sess: &EarlySession) -> bool {
    sess.target.arch != Arch::Nvptx64
}

/// The backend for the session's target, which rustc loads.
pub(crate) struct Backend(Box<dyn CodegenBackend>);

impl Default for Backend {
    fn default() -> Self {
        Backend(Box::new(NvvmCodegenBackend))
    }
}

/// rustc's backend for the host code, and this one for the kernels.
struct HostBackend {
    llvm: Box<dyn CodegenBackend>,
    /// For link-time optimization: the symbols of the images to link, by crate type.
    images: OnceLock<FxHashMap<CrateType, Vec<String>>>,
}

/// The value that `codegen_crate` passes to `join_codegen`.
struct Ongoing {
    llvm: Box<dyn Any>,
    /// The images of a crate that may have kernels, with the symbol of their records.
    module: Option<embed::Image>,
}

/// rustc's own query providers.
static RUSTC_PROVIDERS: OnceLock<queries::Providers> = OnceLock::new();

/// The attributes of functions that are replaced on the device.
const OF_DEVICE: [&str; 3] = ["foreign", "asm", "shared_memory"];

/// Substitutes `cuda_std`'s allocator for the host's: `alloc` calls `__rust_alloc` and the like,
/// which on the device are `__cuda_std_alloc` and the like.
pub(crate) fn add_allocator(tcx: TyCtxt<'_>, symbols: &mut FxHashMap<Symbol, DefId>) {
    let methods = ALLOCATOR_METHODS.iter().map(|method| method.name);
    for name in methods.chain([ALLOC_ERROR_HANDLER]) {
        let of_host = rustc_symbol_mangling::mangle_internal_symbol(tcx, &global_fn_name(name));
        let of_device = Symbol::intern(&format!("__cuda_std_{name}"));
        if let Some(&function) = symbols.get(&of_device) {
            symbols.insert(Symbol::intern(&of_host), function);
        }
    }
}

/// Returns the device version of a host function, if the function's attributes specify one.
pub(crate) fn device_function<'tcx>(
    cx: &CodegenCx<'tcx>,
    instance: Instance<'tcx>,
) -> Option<Value> {
    let InstanceKind::Item(def_id) = instance.def else {
        return None;
    };
    let tcx = cx.tcx;
    // The standard library's functions have no tool attributes.
    if !tcx.def_kind(def_id).is_fn_like() || is_standard_library(tcx, def_id.krate) {
        return None;
    }
    if let Some(known) = known(cx, def_id) {
        let abi = cx.fn_abi_of_instance(instance, ty::List::empty());
        let name = format!("__nvvm_known_{known}");
        let value = device_functions::declare_foreign(cx, &name, abi);
        cx.single_source.known.borrow_mut().insert(value, known);
        return Some(value);
    }
    if let Some(symbol) = tool_attributes::text(tcx, def_id, "foreign") {
        let declared = device_functions::declare(cx, symbol.as_str(), instance);
        return Some(declared.unwrap_or_else(|| {
            let abi = cx.fn_abi_of_instance(instance, ty::List::empty());
            device_functions::declare_foreign(cx, symbol.as_str(), abi)
        }));
    }
    if tool_attributes::has(tcx, def_id, "shared_memory") {
        return Some(shared_memory(cx, instance));
    }
    let texts = tool_attributes::find(tcx, def_id, "asm")?;
    let texts: Vec<&str> = texts.iter().map(Symbol::as_str).collect();
    Some(crate::asm::function(cx, instance, &texts))
}

/// Returns whether the crate can use `cuda_std`, and so may have kernels or instances of another
/// crate's kernels. It then has an image, possibly empty, so that the symbol is known beforehand.
fn may_launch(tcx: TyCtxt<'_>) -> bool {
    let mut crates = tcx.crates(()).iter();
    crates.any(|&cnum| tcx.crate_name(cnum).as_str() == "cuda_std")
}

/// Returns the symbols of the images in statically linked libraries, by crate type.
fn upstream_images(tcx: TyCtxt<'_>) -> FxHashMap<CrateType, Vec<String>> {
    let image = |symbol: &ExportedSymbol<'_>| match symbol {
        ExportedSymbol::NoDefId(symbol) if embed::is_symbol(symbol.name) => {
            Some(symbol.name.to_owned())
        }
        _ => None,
    };
    let of = |linkages: &IndexVec<CrateNum, CrateLinkage>| {
        let is_static = |&&cnum: &&CrateNum| linkages.get(cnum) == Some(&CrateLinkage::Static);
        let crates = tcx.crates(()).iter().filter(is_static);
        let symbols = crates.flat_map(|&cnum| tcx.exported_non_generic_symbols(cnum));
        symbols.filter_map(|(symbol, _)| image(symbol)).collect()
    };
    let formats = tcx.dependency_formats(()).iter();
    let linked = |kind: &CrateType| !matches!(kind, CrateType::Rlib | CrateType::StaticLib);
    let formats = formats.filter(|(kind, _)| linked(kind));
    formats
        .map(|(&kind, linkages)| (kind, of(linkages)))
        .collect()
}

/// Returns the device code of the crate's kernels, if it has any, for each architecture. Errors are
/// reported.
fn compile(tcx: TyCtxt<'_>) -> Vec<embed::Code> {
    options::check_host(tcx.sess);
    let kernels = kernels::find(tcx);
    if kernels.is_empty() {
        return Vec::new();
    }
    let options = Options::from_session(tcx.sess);
    incremental::compile(tcx, &options, &kernels, || {
        let mut codes = Vec::new();
        for arch in options::host_archs(tcx.sess) {
            let Some(ptx) = pipeline::compile(tcx, &options, arch, kernels.clone()) else {
                // The other architectures would report the same errors.
                break;
            };
            let cubin = options::embeds_cubins(tcx.sess)
                .then(|| embed::cubin(tcx, &options, arch, &ptx))
                .flatten();
            codes.push(embed::Code { ptx, cubin });
        }
        codes
    })
}

/// Returns a function that returns the address of a shared memory parameter of one instance of a
/// generic kernel. The type arguments are the kernel's name, the type of the memory, and the
/// parameter's number.
fn shared_memory<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) -> Value {
    let ty = instance.args.type_at(1);
    let layout = cx.layout_of(ty);
    let address = {
        let bytes = cx.bytes(layout.size.bytes());
        let undefined = cx.const_undef(bytes);
        let name = cx.fresh_name("shared");
        let mut module = cx.module.borrow_mut();
        let global =
            (module.add_global(&name, bytes, AddrSpace::Shared)).expect("the name is fresh");
        let data = module.global_mut(global);
        data.init = Some(undefined);
        data.align = layout.align.abi.bytes();
        data.linkage = Linkage::Internal;
        let value = data.value;
        module.const_addr(value, 0)
    };
    let abi = cx.fn_abi_of_instance(instance, ty::List::empty());
    let sig = crate::abi::signature(cx, abi);
    let name = cx.fresh_name("shared_memory");
    device_functions::define(cx, &name, sig, |b, _| {
        b.ret(Some(address));
    })
}

/// Returns the value of a function whose calls evaluate to a constant on the device.
fn known(cx: &CodegenCx<'_>, def_id: DefId) -> Option<bool> {
    if tool_attributes::has(cx.tcx, def_id, "is_device") {
        return Some(true);
    }
    let feature = tool_attributes::text(cx.tcx, def_id, "has_feature")?;
    let feature = feature.as_str().parse();
    Some(feature.is_ok_and(|needed| cx.arch.has(needed)))
}

impl CodegenBackend for HostBackend {
    fn name(&self) -> &'static str {
        self.llvm.name()
    }

    fn init(&mut self, sess: &EarlySession) -> CodegenBackendInit {
        self.llvm.init(sess)
    }

    fn print(&self, request: &PrintRequest, out: &mut String, sess: &Session) {
        self.llvm.print(request, out, sess);
    }

    fn target_config(&self, sess: &EarlySession) -> TargetConfig {
        self.llvm.target_config(sess)
    }

    fn supported_crate_types(&self, sess: &Session) -> Vec<CrateType> {
        self.llvm.supported_crate_types(sess)
    }

    fn print_passes(&self) {
        self.llvm.print_passes();
    }

    fn print_version(&self) {
        self.llvm.print_version();
    }

    fn has_zstd(&self) -> bool {
        self.llvm.has_zstd()
    }

    fn has_mnemonic(&self, sess: &Session, mnemonic: &str) -> bool {
        self.llvm.has_mnemonic(sess, mnemonic)
    }

    fn metadata_loader(&self) -> Box<MetadataLoaderDyn> {
        self.llvm.metadata_loader()
    }

    fn provide(&self, providers: &mut Providers) {
        self.llvm.provide(providers);
        threading::provide(providers);
        threading::provide_for_others(providers);
        RUSTC_PROVIDERS.get_or_init(|| providers.queries);
        // A call of a function that is replaced on the device must remain a call in MIR. A function
        // that evaluates to a constant there has `#[rustc_no_mir_inline]`, and the host's backend
        // inlines it.
        providers.queries.codegen_fn_attrs = |tcx, def_id| {
            let rustc = RUSTC_PROVIDERS.get().expect("`provide` sets it");
            let mut attrs = (rustc.codegen_fn_attrs)(tcx, def_id);
            let of_device = |name| tool_attributes::has(tcx, def_id.to_def_id(), name);
            if tcx.def_kind(def_id).is_fn_like() && OF_DEVICE.into_iter().any(of_device) {
                attrs.inline = InlineAttr::Never;
            }
            attrs
        };
        // Code that launches a kernel refers to the image of the crate that it is compiled in.
        providers.queries.symbol_name = |tcx, instance| match instance.def {
            InstanceKind::Item(def_id)
                if tcx.is_foreign_item(def_id) && tool_attributes::has(tcx, def_id, "image") =>
            {
                SymbolName::new(tcx, &embed::symbol(tcx))
            }
            _ => {
                let rustc = RUSTC_PROVIDERS.get().expect("`provide` sets it");
                (rustc.symbol_name)(tcx, instance)
            }
        };
        // The linker extracts an object from an rlib only if something references it.
        providers.queries.exported_non_generic_symbols = |tcx, krate| {
            let rustc = RUSTC_PROVIDERS.get().expect("`provide` sets it");
            let symbols = (rustc.exported_non_generic_symbols)(tcx, krate);
            if !tcx.sess.opts.output_types.should_codegen() || !may_launch(tcx) {
                return symbols;
            }
            let symbol = SymbolName::new(tcx, &embed::symbol(tcx));
            let info = SymbolExportInfo {
                level: SymbolExportLevel::Rust,
                kind: SymbolExportKind::Data,
                used: true,
                rustc_std_internal_symbol: false,
            };
            let image = (ExportedSymbol::NoDefId(symbol), info);
            let all = symbols.iter().copied().chain([image]);
            let mut all: Vec<_> = all.collect();
            all.sort_by_cached_key(|(symbol, _)| symbol.symbol_name_for_local_instance(tcx));
            tcx.arena.alloc_from_iter(all)
        };
    }

    fn target_cpu(&self, sess: &Session) -> String {
        self.llvm.target_cpu(sess)
    }

    fn codegen_crate<'tcx>(&self, tcx: TyCtxt<'tcx>) -> Box<dyn Any> {
        if may_launch(tcx) && matches!(tcx.sess.lto(), Lto::Thin | Lto::Fat) {
            self.images.get_or_init(|| upstream_images(tcx));
        }
        let module = may_launch(tcx).then(|| {
            let codes = tcx.sess.time("nvvm_kernels", || compile(tcx));
            tcx.dcx().abort_if_errors();
            embed::Image::new(tcx, codes)
        });
        Box::new(Ongoing {
            llvm: self.llvm.codegen_crate(tcx),
            module,
        })
    }

    fn join_codegen(
        &self,
        ongoing: Box<dyn Any>,
        sess: &Session,
        incremental: Option<&IncrCompSession>,
        outputs: &OutputFilenames,
        crate_info: &CrateInfo,
    ) -> (CompiledModules, WorkProductMap) {
        let Ongoing { llvm, module } = *ongoing
            .downcast::<Ongoing>()
            .expect("the value that codegen_crate returned");
        let (mut modules, products) =
            (self.llvm).join_codegen(llvm, sess, incremental, outputs, crate_info);
        if let Some(image) = module {
            modules.modules.push(image.write(sess, outputs));
        }
        (modules, products)
    }

    fn link(
        &self,
        sess: &Session,
        modules: CompiledModules,
        mut crate_info: CrateInfo,
        metadata: EncodedMetadata,
        outputs: &OutputFilenames,
    ) {
        // rustc omits symbols that only `used` keeps.
        for (crate_type, symbols) in &mut crate_info.linked_symbols {
            let images = self.images.get().and_then(|images| images.get(crate_type));
            let images = images.into_iter().flatten().cloned();
            symbols.extend(images.map(|image| (image, SymbolExportKind::Data)));
        }
        let has_image = modules.modules.iter().any(embed::is_image);
        let is_library = crate_info.crate_types.contains(&CrateType::Rlib);
        let krate = crate_info.local_crate_name;
        self.llvm.link(sess, modules, crate_info, metadata, outputs);
        if has_image && is_library {
            embed::finish_rlib(sess, outputs, krate);
        }
    }
}

impl CodegenBackend for Backend {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn init(&mut self, sess: &EarlySession) -> CodegenBackendInit {
        if is_host(sess) {
            diagnostics::install_for_host();
            self.0 = Box::new(HostBackend {
                llvm: rustc_codegen_llvm::LlvmCodegenBackend::new(),
                images: OnceLock::new(),
            });
        }
        self.0.init(sess)
    }

    fn print(&self, request: &PrintRequest, out: &mut String, sess: &Session) {
        self.0.print(request, out, sess);
    }

    fn target_config(&self, sess: &EarlySession) -> TargetConfig {
        self.0.target_config(sess)
    }

    fn supported_crate_types(&self, sess: &Session) -> Vec<CrateType> {
        self.0.supported_crate_types(sess)
    }

    fn print_passes(&self) {
        self.0.print_passes();
    }

    fn print_version(&self) {
        self.0.print_version();
    }

    fn has_zstd(&self) -> bool {
        self.0.has_zstd()
    }

    fn has_mnemonic(&self, sess: &Session, mnemonic: &str) -> bool {
        self.0.has_mnemonic(sess, mnemonic)
    }

    fn metadata_loader(&self) -> Box<MetadataLoaderDyn> {
        self.0.metadata_loader()
    }

    fn provide(&self, providers: &mut Providers) {
        self.0.provide(providers);
    }

    fn target_cpu(&self, sess: &Session) -> String {
        self.0.target_cpu(sess)
    }

    fn codegen_crate<'tcx>(&self, tcx: TyCtxt<'tcx>) -> Box<dyn Any> {
        self.0.codegen_crate(tcx)
    }

    fn join_codegen(
        &self,
        ongoing: Box<dyn Any>,
        sess: &Session,
        incremental: Option<&IncrCompSession>,
        outputs: &OutputFilenames,
        crate_info: &CrateInfo,
    ) -> (CompiledModules, WorkProductMap) {
        self.0
            .join_codegen(ongoing, sess, incremental, outputs, crate_info)
    }

    fn link(
        &self,
        sess: &Session,
        modules: CompiledModules,
        crate_info: CrateInfo,
        metadata: EncodedMetadata,
        outputs: &OutputFilenames,
    ) {
        self.0.link(sess, modules, crate_info, metadata, outputs);
    }
}
