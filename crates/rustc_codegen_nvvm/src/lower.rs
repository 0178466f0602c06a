//! Lowers the whole program, starting from its kernels: each reachable function and static once.

use nvvm_ir::llvm::Messages;
use nvvm_ir::{Module, TypeKind, Value, passes};
use rustc_ast::expand::allocator::{ALLOC_ERROR_HANDLER, default_fn_name, global_fn_name};
use rustc_codegen_ssa::mir::codegen_mir;
use rustc_codegen_ssa::traits::*;
use rustc_data_structures::fx::{FxHashMap, FxHashSet};
use rustc_hir::def::DefKind;
use rustc_middle::middle::codegen_fn_attrs::CodegenFnAttrFlags;
use rustc_middle::ty::{Instance, TyCtxt};
use rustc_span::def_id::DefId;
use rustc_span::{DUMMY_SP, Span, Spanned, Symbol};

use crate::builder::Builder;
use crate::context::{CodegenCx, Item, Pending, unspanned};
use crate::kernels::Kernel;
use crate::options::{Options, Roots};
use crate::packed_types::PackedTypes;
use crate::{
    device_functions, diagnostics, kernels, known_items, plain_panics, reports, single_source,
};

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
    /// How reports describe messages that the host formats.
    pub messages: Messages,
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

/// The loop over the items of the program. It has the state that nothing changes while a function's
/// MIR is lowered; the rest is in [`CodegenCx`].
struct Lowering<'tcx> {
    cx: CodegenCx<'tcx>,
    /// The kernels' parameters that passes on PTX know.
    parameters: kernels::Parameters,
    packed: PackedTypes<'tcx>,
    /// In a single-source session: the functions and globals that reached code references.
    reached: FxHashSet<Value>,
    /// Whether infinite recursion in a generic function's instances has been reported. The other
    /// items in the queue would exceed the recursion limit as well.
    is_endless: bool,
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
    let mut lowering = Lowering {
        cx: CodegenCx::new(tcx, arch, symbols, kernels.clone()),
        parameters: kernels::Parameters::default(),
        packed: PackedTypes::default(),
        reached: FxHashSet::default(),
        is_endless: false,
    };
    for kernel in kernels {
        let entry = kernels::emit_entry(&lowering.cx, kernel, &mut lowering.parameters);
        if let Some(entry) = entry {
            lowering.require_reached(entry, None);
        }
    }
    if options.roots == Roots::All {
        require_everything(&lowering.cx);
    }
    for item in tcx.hir_crate_items(()).free_items() {
        // In a host session, `global_asm!` is for the host.
        if tcx.def_kind(item.owner_id) == DefKind::GlobalAsm && !lowering.cx.host {
            rustc_codegen_ssa::base::codegen_global_asm(&mut lowering.cx, item);
        }
    }
    lowering.lower_required();
    // Without kernels as roots, nothing removes the declaration of a function that is not used.
    if options.roots == Roots::All && plain_panics::require(&lowering.cx) {
        lowering.lower_required();
    }
    if lowering.require_soft_float() {
        lowering.lower_required();
    }
    if reports::complete(&lowering.cx) {
        lowering.lower_required();
    }
    let Lowering { cx, parameters, .. } = lowering;
    report_undefined(&cx, options);
    crate::locations::pass_on(&cx);
    if options.roots == Roots::Kernels {
        crate::virtual_calls::call_directly(&cx);
    }
    Lowered {
        instances: instances(&cx),
        messages: crate::formatters::messages(&cx),
        signatures: signatures(&cx),
        entries: entries(&cx),
        slices: parameters.slices,
        partitions: parameters.partitions,
        sizes: parameters.sizes,
        module: cx.module.into_inner(),
        asm_spans: cx.asm_spans.into_inner(),
        intrinsic_spans: cx.intrinsic_spans.into_inner(),
    }
}

/// Returns the functions by symbol.
fn instances<'tcx>(cx: &CodegenCx<'tcx>) -> FxHashMap<String, Instance<'tcx>> {
    let module = cx.module.borrow();
    let functions = cx.functions.borrow();
    let named = functions.iter().filter_map(|(&instance, &value)| {
        let func = module.as_func(value)?;
        Some((module.func(func).name.clone(), instance))
    });
    named.collect()
}

/// Returns the symbols and signatures of the kernels and of the statics that they use.
fn signatures(cx: &CodegenCx<'_>) -> Vec<(String, String)> {
    let kernels = cx.kernels.iter().filter_map(|kernel| {
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
    let entries = cx.kernels.iter().filter_map(|kernel| {
        let recorded = || cx.records.handles.get(&kernel.instance.def_id()).copied();
        let handle = kernel.handle.or_else(recorded)?;
        Some((handle, cx.symbol(kernel.instance)))
    });
    entries.collect()
}

impl<'tcx> Lowering<'tcx> {
    /// In a single-source session: requires the items that a function or global references, after
    /// branches on constants have been folded. `user` is the item of the function or global. In
    /// other sessions, all referenced items have already been required.
    fn require_reached(&mut self, value: Value, user: Option<Item<'tcx>>) {
        if !self.cx.host {
            return;
        }
        let mut queue = {
            let mut module = self.cx.module.borrow_mut();
            match module.as_func(value) {
                Some(func) => {
                    passes::prune(&mut module, func);
                    passes::symbols_of(&module, func)
                }
                None => initializer_symbols(&module, value),
            }
        };
        while let Some(value) = queue.pop() {
            if !self.reached.insert(value) {
                continue;
            }
            queue.extend(initializer_symbols(&self.cx.module.borrow(), value));
            let pending = self.cx.single_source.pending.borrow_mut().remove(&value);
            if let Some(pending) = pending {
                if let Some(user) = user {
                    let span = self
                        .cx
                        .single_source
                        .uses
                        .borrow()
                        .get(&(user, value))
                        .copied();
                    self.cx.current.set(Some(Spanned {
                        node: user,
                        span: span.unwrap_or(DUMMY_SP),
                    }));
                }
                require_pending(&self.cx, pending);
            }
        }
    }

    /// Requires a function that no instruction calls yet: the legalizer will.
    fn require_now(&mut self, value: Value) {
        let pending = self.cx.single_source.pending.borrow_mut().remove(&value);
        if let Some(Pending::Item(item)) = pending {
            self.reached.insert(value);
            self.cx.enqueue(item);
        }
    }

    /// Lowers the queued items and everything that these require in turn.
    fn lower_required(&mut self) {
        loop {
            let next = self.cx.queue.borrow_mut().pop_front();
            let Some(item) = next else {
                if plain_panics::require_used(&self.cx) {
                    continue;
                }
                break;
            };
            self.cx.current.set(Some(unspanned(item)));
            let value = match item {
                Item::Fn(instance) => {
                    self.lower_function(instance);
                    self.cx.functions.borrow().get(&instance).copied()
                }
                Item::Static(def_id) => {
                    self.cx.define_static(def_id);
                    self.cx.statics.borrow().get(&def_id).copied()
                }
            };
            if let Some(value) = value {
                self.require_reached(value, Some(item));
            }
            self.cx.current.set(None);
        }
    }

    /// Requires the functions that the legalizer calls for operations on `f128`, if the module has
    /// any. Returns whether it does.
    fn require_soft_float(&mut self) -> bool {
        let has_f128 = self.cx.ty(|types| types.has(&TypeKind::Fp128));
        if has_f128 {
            for name in nvvm_ir::legalize::SOFT_FLOAT {
                if let Some(&definition) = self.cx.symbols.get(&Symbol::intern(name)) {
                    let value = self.cx.get_fn(Instance::mono(self.cx.tcx, definition));
                    self.require_now(value);
                }
            }
        }
        has_f128
    }

    fn lower_function(&mut self, instance: Instance<'tcx>) {
        let cx = &self.cx;
        if !is_lowerable(cx, instance) || self.is_endless {
            return;
        }
        if !diagnostics::check_recursion(cx, instance) {
            self.is_endless = true;
            return;
        }
        if !diagnostics::check_constants(cx, instance) {
            return;
        }
        if cx.optimizes() && self.packed.are_handled_by(cx, instance) {
            let value = cx.get_fn(instance);
            let mut module = cx.module.borrow_mut();
            if let Some(func) = module.as_func(value) {
                module.func_mut(func).attrs.no_implicit_float = true;
            }
        }
        cx.locations.borrow_mut().enter(cx.tcx, instance);
        codegen_mir::<Builder<'_, 'tcx>>(cx, instance);
    }
}

/// Requires an item that reached code references, or reports that the GPU does not have it.
fn require_pending<'tcx>(cx: &CodegenCx<'tcx>, pending: Pending<'tcx>) {
    match pending {
        Pending::Item(item) => {
            cx.enqueue(item);
            if let Item::Static(def_id) = item {
                diagnostics::separate_static(cx, def_id);
            }
        }
        Pending::Undefined(def_id) => {
            let item = match cx.tcx.def_kind(def_id).is_fn_like() {
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

/// Returns the symbols that a global's initializer references.
fn initializer_symbols(module: &Module, value: Value) -> Vec<Value> {
    let init = module
        .as_global(value)
        .and_then(|global| module.global(global).init);
    init.map(|init| passes::symbols_in(module, init))
        .unwrap_or_default()
}

/// Returns whether a function has MIR that can be lowered. Reports an error if not.
fn is_lowerable<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) -> bool {
    let tcx = cx.tcx;
    let def_id = instance.def_id();
    let is_upstream = instance
        .def
        .def_id_if_not_guaranteed_local_codegen()
        .is_some()
        && !def_id.is_local();
    let kind = tcx.def_kind(def_id);
    if is_upstream && !tcx.is_mir_available(def_id) && !matches!(kind, DefKind::Ctor(..)) {
        diagnostics::without_code(cx, instance);
        return false;
    }
    let flags = tcx.codegen_instance_attrs(instance.def).flags;
    let unsupported = if flags.contains(CodegenFnAttrFlags::NAKED) {
        "a naked function"
    } else if matches!(kind, DefKind::Fn | DefKind::AssocFn)
        && tcx.fn_sig(def_id).skip_binder().c_variadic()
    {
        "a function with a variable number of arguments"
    } else {
        return true;
    };
    diagnostics::unsupported_item(cx, Item::Fn(instance), unsupported);
    false
}

/// Defines the symbols that rustc's allocator shim would define.
fn add_allocator_defaults(tcx: TyCtxt<'_>, symbols: &mut FxHashMap<Symbol, DefId>) {
    let mangled =
        |name: &str| Symbol::intern(&rustc_symbol_mangling::mangle_internal_symbol(tcx, name));
    let handler = mangled(&global_fn_name(ALLOC_ERROR_HANDLER));
    if !symbols.contains_key(&handler)
        && let Some(&default) = symbols.get(&mangled(&default_fn_name(ALLOC_ERROR_HANDLER)))
    {
        symbols.insert(handler, default);
    }
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
    // A library alone lacks the crates that provide panic handler, allocator and so on.
    if options.roots == Roots::All {
        return;
    }
    let tcx = cx.tcx;
    let mut undefined: Vec<_> = cx.undefined.borrow().iter().copied().collect();
    // In the order of the declarations.
    undefined.sort_by_key(|&def_id| (tcx.def_span(def_id).lo(), tcx.def_path_hash(def_id)));
    for def_id in undefined {
        let name = tcx.symbol_name(Instance::mono(tcx, def_id)).name;
        let is_function = tcx.def_kind(def_id).is_fn_like();
        if !(is_function && device_functions::comes_from_elsewhere(name)) {
            diagnostics::undefined(cx, def_id);
        }
    }
}
