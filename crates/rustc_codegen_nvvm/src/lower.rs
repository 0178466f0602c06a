//! Lowers the whole program, starting from its kernels: each reachable function and static once.

use nvvm_ir::{Module, TypeKind, Value, passes};
use rustc_ast::expand::allocator::{ALLOC_ERROR_HANDLER, default_fn_name, global_fn_name};
use rustc_codegen_ssa::mir::codegen_mir;
use rustc_codegen_ssa::traits::*;
use rustc_data_structures::fx::FxHashMap;
use rustc_hir::def::DefKind;
use rustc_middle::middle::codegen_fn_attrs::CodegenFnAttrFlags;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_span::{Span, Symbol};

use crate::builder::Builder;
use crate::context::{CodegenCx, Item, Pending, unspanned};
use crate::kernels::Kernel;
use crate::options::{Options, Roots};
use crate::{device_functions, diagnostics, kernels, known_items, packed, single_source};

/// The result of lowering.
pub(crate) struct Lowered<'tcx> {
    /// The program.
    pub module: Module,
    /// The source lines of each inline assembly, indexed by the number in its comment.
    pub asm_spans: Vec<Vec<Span>>,
    /// The first call of each LLVM intrinsic that a crate declares itself.
    pub intrinsic_spans: FxHashMap<&'tcx str, Span>,
    /// The functions by symbol.
    pub instances: FxHashMap<String, Instance<'tcx>>,
    /// The symbols of kernels and statics, with their signatures.
    pub signatures: Vec<(String, String)>,
    /// In a single-source session: the identity of each kernel on the host, with its symbol.
    pub entries: Vec<(u128, String)>,
    /// The slices among the kernels' parameters.
    pub slices: Vec<ptx::Slice>,
    /// The kernels' parameters that partition buffers.
    pub partitions: Vec<ptx::Parameter>,
    /// The kernels' parameters of type `usize`.
    pub sizes: Vec<ptx::Parameter>,
}

/// Lowers everything that the crate's kernels reach. After an error, which is reported, the module
/// is incomplete and must not be used.
pub(crate) fn lower<'tcx>(
    tcx: TyCtxt<'tcx>,
    options: &Options,
    arch: nvvm::Arch,
    kernels: Vec<Kernel<'tcx>>,
) -> Lowered<'tcx> {
    let mut symbols = kernels::definitions(tcx);
    match single_source::is_host(tcx.sess) {
        true => single_source::add_allocator(tcx, &mut symbols),
        false => add_allocator_defaults(tcx, &mut symbols),
    }
    let cx = CodegenCx::new(tcx, arch, symbols);
    cx.kernels.borrow_mut().clone_from(&kernels);
    for kernel in kernels {
        if let Some(entry) = kernels::emit_entry(&cx, kernel) {
            require_reached(&cx, entry, None);
        }
    }
    if options.roots == Roots::All {
        require_everything(&cx);
    }
    let mut cx = cx;
    for item in tcx.hir_crate_items(()).free_items() {
        // In a host session, `global_asm!` is for the host.
        if tcx.def_kind(item.owner_id) == DefKind::GlobalAsm && !cx.host {
            rustc_codegen_ssa::base::codegen_global_asm(&mut cx, item);
        }
    }
    let cx = cx;
    lower_required(&cx);
    if require_soft_float(&cx) {
        lower_required(&cx);
    }
    report_undefined(&cx, options);
    crate::locations::pass_on(&cx);
    let instances = {
        let module = cx.module.borrow();
        let functions = cx.functions.borrow();
        let named = functions.iter().filter_map(|(&instance, &value)| {
            let func = module.as_func(value)?;
            Some((module.func(func).name.clone(), instance))
        });
        named.collect()
    };
    Lowered {
        instances,
        signatures: signatures(&cx),
        entries: entries(&cx),
        slices: cx.slices.take(),
        partitions: cx.partitions.take(),
        sizes: cx.sizes.take(),
        module: cx.module.into_inner(),
        asm_spans: cx.asm_spans.into_inner(),
        intrinsic_spans: cx.intrinsic_spans.into_inner(),
    }
}

/// Returns the symbols and signatures of the kernels and of the statics that they use.
fn signatures(cx: &CodegenCx<'_>) -> Vec<(String, String)> {
    let kernels = cx.kernels.borrow();
    let kernels = kernels.iter().filter_map(|kernel| {
        let name = cx.symbol(kernel.instance);
        let signature = cx.records.kernels.get(&name)?.clone();
        Some((name, signature))
    });
    let statics = cx.statics.borrow();
    let statics = statics
        .keys()
        .filter_map(|def_id| cx.records.statics.get(def_id));
    let mut signatures: Vec<_> = kernels.chain(statics.cloned()).collect();
    signatures.sort();
    signatures
}

/// Returns the identities of the kernels on the host, with their symbols.
fn entries(cx: &CodegenCx<'_>) -> Vec<(u128, String)> {
    let kernels = cx.kernels.borrow();
    let entries = kernels.iter().filter_map(|kernel| {
        let recorded = || cx.records.handles.get(&kernel.instance.def_id()).copied();
        let handle = kernel.handle.or_else(recorded)?;
        Some((handle, cx.symbol(kernel.instance)))
    });
    entries.collect()
}

/// In a single-source session: requires the items that a function or global references, after
/// branches on constants have been folded. In other sessions, all referenced items have already
/// been required.
fn require_reached<'tcx>(cx: &CodegenCx<'tcx>, value: Value, item: Option<Item<'tcx>>) {
    if !cx.host {
        return;
    }
    let named = {
        let mut module = cx.module.borrow_mut();
        match module.as_func(value) {
            Some(func) => {
                passes::prune(&mut module, func);
                passes::symbols_of(&module, func)
            }
            None => initializer_symbols(&module, value),
        }
    };
    let mut queue = named;
    while let Some(value) = queue.pop() {
        if !cx.reached.borrow_mut().insert(value) {
            continue;
        }
        queue.extend(initializer_symbols(&cx.module.borrow(), value));
        let Some(pending) = cx.pending.borrow_mut().remove(&value) else {
            continue;
        };
        if let Some(user) = item {
            let span = cx.uses.borrow().get(&(user, value)).copied();
            cx.current.set(Some(rustc_span::Spanned {
                node: user,
                span: span.unwrap_or(rustc_span::DUMMY_SP),
            }));
        }
        match pending {
            Pending::Item(item) => {
                cx.note_referrer(item);
                cx.queue.borrow_mut().push_back(item);
            }
            Pending::Undefined(def_id) => {
                let item = match tcx_is_fn(cx.tcx, def_id) {
                    true => Item::Fn(Instance::mono(cx.tcx, def_id)),
                    false => Item::Static(def_id),
                };
                cx.note_referrer(item);
                cx.undefined.borrow_mut().insert(def_id);
            }
            Pending::ThreadLocal(def_id) => {
                let item = Item::Static(def_id);
                cx.note_referrer(item);
                diagnostics::unsupported_item(cx, item, "a thread-local static");
            }
            Pending::Unsupported(span, what) => diagnostics::unsupported(cx, span, &what),
        }
    }
}

fn tcx_is_fn(tcx: TyCtxt<'_>, def_id: rustc_span::def_id::DefId) -> bool {
    tcx.def_kind(def_id).is_fn_like()
}

/// Returns the symbols that a global's initializer references.
fn initializer_symbols(module: &Module, value: Value) -> Vec<Value> {
    let init = module
        .as_global(value)
        .and_then(|global| module.global(global).init);
    init.map(|init| passes::symbols_in(module, init))
        .unwrap_or_default()
}

/// Lowers the queued items and everything that these require in turn.
fn lower_required(cx: &CodegenCx<'_>) {
    loop {
        let next = cx.queue.borrow_mut().pop_front();
        let Some(item) = next else { break };
        cx.current.set(Some(unspanned(item)));
        let value = match item {
            Item::Fn(instance) => {
                lower_function(cx, instance);
                cx.functions.borrow().get(&instance).copied()
            }
            Item::Static(def_id) => {
                cx.define_static(def_id);
                cx.statics.borrow().get(&def_id).copied()
            }
        };
        if let Some(value) = value {
            require_reached(cx, value, Some(item));
        }
        cx.current.set(None);
    }
}

/// Requires the functions that the legalizer calls for operations on `f128`, if the module has any.
/// Returns whether it does.
fn require_soft_float(cx: &CodegenCx<'_>) -> bool {
    let has_quads = cx.ty(|types| types.has(&TypeKind::Fp128));
    if has_quads {
        for name in nvvm_ir::legalize::SOFT_FLOAT {
            if let Some(&definition) = cx.symbols.get(&Symbol::intern(name)) {
                let value = cx.get_fn(Instance::mono(cx.tcx, definition));
                cx.require_now(value);
            }
        }
    }
    has_quads
}

/// Defines the symbols that rustc's allocator shim would define.
fn add_allocator_defaults(
    tcx: TyCtxt<'_>,
    symbols: &mut rustc_data_structures::fx::FxHashMap<Symbol, rustc_span::def_id::DefId>,
) {
    let mangled =
        |name: &str| Symbol::intern(&rustc_symbol_mangling::mangle_internal_symbol(tcx, name));
    let handler = mangled(&global_fn_name(ALLOC_ERROR_HANDLER));
    if !symbols.contains_key(&handler)
        && let Some(&default) = symbols.get(&mangled(&default_fn_name(ALLOC_ERROR_HANDLER)))
    {
        symbols.insert(handler, default);
    }
}

fn lower_function<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) {
    let tcx = cx.tcx;
    let def_id = instance.def_id();
    if instance
        .def
        .def_id_if_not_guaranteed_local_codegen()
        .is_some()
        && !def_id.is_local()
        && !tcx.is_mir_available(def_id)
        && !matches!(tcx.def_kind(def_id), DefKind::Ctor(..))
    {
        diagnostics::without_code(cx, instance);
        return;
    }
    let flags = tcx.codegen_instance_attrs(instance.def).flags;
    if flags.contains(CodegenFnAttrFlags::NAKED) {
        diagnostics::unsupported_item(cx, Item::Fn(instance), "a naked function");
        return;
    }
    if matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn)
        && tcx.fn_sig(def_id).skip_binder().c_variadic()
    {
        let what = "a function with a variable number of arguments";
        diagnostics::unsupported_item(cx, Item::Fn(instance), what);
        return;
    }
    if !diagnostics::check_recursion(cx, instance) || !diagnostics::check_constants(cx, instance) {
        return;
    }
    if cx.optimizes() && packed::handles_packed(cx, instance) {
        let value = cx.get_fn(instance);
        let mut module = cx.module.borrow_mut();
        if let Some(func) = module.as_func(value) {
            module.func_mut(func).attrs.no_implicit_float = true;
        }
    }
    cx.locations.borrow_mut().enter(tcx, instance);
    codegen_mir::<Builder<'_, 'tcx>>(cx, instance);
}

/// Requires every function of the crate without type parameters, for tests of the compiler.
fn require_everything(cx: &CodegenCx<'_>) {
    let tcx = cx.tcx;
    for local in tcx.hir_body_owners() {
        let def_id = local.to_def_id();
        let is_function = matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn)
            && !tcx.generics_of(def_id).requires_monomorphization(tcx)
            && !tcx.is_foreign_item(def_id)
            && tcx.intrinsic(def_id).is_none()
            // A function that exists only at compile time has no code.
            && tcx.constness(def_id) != rustc_hir::Constness::Const { always: true };
        if is_function && !known_items::is(tcx, def_id, known_items::NOT_LOWERABLE) {
            let value = cx.get_fn(Instance::mono(tcx, def_id));
            let mut module = cx.module.borrow_mut();
            if let Some(func) = module.as_func(value) {
                module.func_mut(func).linkage = nvvm_ir::Linkage::External;
            }
        }
    }
}

/// Reports foreign functions and statics without a definition, each with its users.
fn report_undefined(cx: &CodegenCx<'_>, options: &Options) {
    let tcx = cx.tcx;
    let mut undefined: Vec<_> = cx.undefined.borrow().iter().copied().collect();
    // In the order of the declarations.
    undefined.sort_by_key(|&def_id| (tcx.def_span(def_id).lo(), tcx.def_path_hash(def_id)));
    for def_id in undefined {
        let name = tcx.symbol_name(Instance::mono(tcx, def_id)).name;
        let is_function = tcx.def_kind(def_id).is_fn_like();
        // A library alone lacks the crates that provide panic handler, allocator and so on.
        if options.roots == Roots::All {
            continue;
        }
        if !(is_function && device_functions::comes_from_elsewhere(name)) {
            diagnostics::undefined(cx, def_id);
        }
    }
}
