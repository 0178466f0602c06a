//! The codegen context: the NVVM IR module of the whole program, and the items lowered so far.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use nvvm_ir::{Builder as IrBuilder, Di, Linkage, Module, Type, Value};
use rustc_abi::{HasDataLayout, TargetDataLayout};
use rustc_codegen_ssa::traits::{BackendTypes, MiscCodegenMethods, PreDefineCodegenMethods};
use rustc_data_structures::fx::{FxHashMap, FxHashSet};
use rustc_middle::middle::codegen_fn_attrs::CodegenFnAttrFlags;
use rustc_middle::mir::interpret::ConstAllocation;
use rustc_middle::ty::layout::{
    FnAbiError, FnAbiOf, FnAbiOfHelpers, FnAbiRequest, HasTyCtxt, HasTypingEnv, LayoutError,
    LayoutOfHelpers,
};
use rustc_middle::ty::{self, Instance, Ty, TyCtxt};
use rustc_session::{PointerAuthSchema, Session};
use rustc_span::def_id::DefId;
use rustc_span::{DUMMY_SP, Span, Spanned, Symbol};
use rustc_target::callconv::FnAbi;
use rustc_target::spec::{HasTargetSpec, Target};

use crate::debuginfo::DebugNodes;
use crate::kernels::Kernel;
use crate::locations::Locations;
use crate::markers::{self, Marker};
use crate::records::Records;
use crate::virtual_calls::VirtualCall;
use crate::{device_functions, inlining};

/// The suffix of a kernel's function. The kernel's own name belongs to its PTX entry.
pub(crate) const BODY: &str = "__body";

/// The state that all lowering shares.
///
/// `rustc_codegen_ssa` passes the context by shared reference: its traits take `&self`, and each
/// [`crate::builder::Builder`] holds a reference. Lowering an instruction may declare a function, a
/// static or a constant, so the fields that record these are cells. State that does not change
/// while a function is lowered is not here: `lower` has it.
pub(crate) struct CodegenCx<'tcx> {
    pub tcx: TyCtxt<'tcx>,
    /// The target architecture.
    pub arch: nvvm::Arch,
    /// Whether the session's target is a host, and the crate's kernels are lowered in addition: see
    /// [`crate::single_source`].
    pub host: bool,
    /// Whether the kernels are optimized.
    optimized: bool,
    /// The kernels.
    pub kernels: Vec<Kernel<'tcx>>,
    /// Definitions by symbol, for foreign items of the same name.
    pub symbols: FxHashMap<Symbol, DefId>,
    /// The signatures of kernels and statics, and the symbols of statics.
    pub records: Records,

    pub module: RefCell<Module>,
    /// For each prefix, the number of the next symbol that [`Self::fresh_name`] tries.
    numbers: RefCell<FxHashMap<String, u32>>,
    /// The function value of each instance.
    pub functions: RefCell<FxHashMap<Instance<'tcx>, Value>>,
    /// The global of each static.
    pub statics: RefCell<FxHashMap<DefId, Value>>,
    /// The anonymous globals of constants.
    pub allocations: RefCell<FxHashMap<ConstAllocation<'tcx>, Value>>,
    pub vtables: RefCell<FxHashMap<(Ty<'tcx>, Option<ty::ExistentialTraitRef<'tcx>>), Value>>,
    /// The calls through vtables.
    pub virtual_calls: RefCell<Vec<VirtualCall<'tcx>>>,
    /// Calls of function pointers.
    pub pointer_calls: RefCell<Vec<Value>>,
    pub strings: RefCell<FxHashMap<String, Value>>,
    /// Items that have been referenced and are still to be lowered.
    pub queue: RefCell<VecDeque<Item<'tcx>>>,
    /// The first user of each function or static, from which diagnostics show the chain of calls.
    pub referrers: RefCell<FxHashMap<Item<'tcx>, Spanned<Item<'tcx>>>>,
    /// The item being lowered, with the span of the code being lowered.
    pub current: Cell<Option<Spanned<Item<'tcx>>>>,
    /// Foreign functions that nothing in the program defines.
    pub undefined: RefCell<FxHashSet<DefId>>,
    pub single_source: SingleSource<'tcx>,
    /// The replacement of `panic_fmt`, unless it has been required: see [`crate::plain_panics`].
    pub panic_fmt: Cell<Option<(Value, Instance<'tcx>)>>,
    /// The function of a report that [`crate::reports`] completes.
    pub is_claimed: Cell<Option<(Value, Instance<'tcx>)>>,
    /// The source lines of each inline assembly, indexed by the number in its first comment.
    pub asm_spans: RefCell<Vec<Vec<Span>>>,
    /// The first call of each LLVM intrinsic that a crate declares itself.
    pub intrinsic_spans: RefCell<FxHashMap<&'tcx str, Span>>,
    pub debug: DebugNodes<'tcx>,
    /// The source locations of calls.
    pub locations: RefCell<Locations<'tcx>>,
}

/// The state of a single-source session, where an item is lowered only if reached code references
/// it: code behind `if !is_device()` is not.
#[derive(Default)]
pub(crate) struct SingleSource<'tcx> {
    /// The items of functions and statics that no reached code has referenced yet.
    pub pending: RefCell<FxHashMap<Value, Pending<'tcx>>>,
    /// Where each item references functions and statics.
    pub uses: RefCell<FxHashMap<(Item<'tcx>, Value), Span>>,
    /// The functions whose calls evaluate to a constant on the device.
    pub known: RefCell<FxHashMap<Value, bool>>,
    /// The calls of `std` for which an error has been reported.
    pub reported: RefCell<FxHashSet<Span>>,
}

/// An item that is lowered as a unit.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Item<'tcx> {
    Fn(Instance<'tcx>),
    Static(DefId),
}

/// The deferred item or error of a function or static that no reached code references yet.
pub(crate) enum Pending<'tcx> {
    Item(Item<'tcx>),
    /// A foreign item that nothing defines.
    Undefined(DefId),
    /// A thread-local static.
    ThreadLocal(DefId),
    /// Code that cannot be compiled for a GPU.
    Unsupported(Span, String),
}

impl<'tcx> CodegenCx<'tcx> {
    pub(crate) fn new(
        tcx: TyCtxt<'tcx>,
        arch: nvvm::Arch,
        symbols: FxHashMap<Symbol, DefId>,
        kernels: Vec<Kernel<'tcx>>,
    ) -> Self {
        let name = tcx.crate_name(rustc_span::def_id::LOCAL_CRATE);
        CodegenCx {
            tcx,
            arch,
            host: crate::single_source::is_host(tcx.sess),
            optimized: crate::options::optimizes(tcx.sess),
            kernels,
            symbols,
            records: crate::records::collect(tcx),
            module: RefCell::new(Module::new(name.as_str())),
            numbers: Default::default(),
            functions: Default::default(),
            statics: Default::default(),
            allocations: Default::default(),
            vtables: Default::default(),
            virtual_calls: Default::default(),
            pointer_calls: Default::default(),
            strings: Default::default(),
            queue: Default::default(),
            referrers: Default::default(),
            current: Default::default(),
            undefined: Default::default(),
            single_source: Default::default(),
            panic_fmt: Default::default(),
            is_claimed: Default::default(),
            asm_spans: Default::default(),
            intrinsic_spans: Default::default(),
            debug: Default::default(),
            locations: Default::default(),
        }
    }

    /// Returns a symbol that no other item has.
    pub(crate) fn fresh_name(&self, prefix: &str) -> String {
        let mut numbers = self.numbers.borrow_mut();
        let number = numbers.entry(prefix.to_owned()).or_default();
        loop {
            let name = format!("{prefix}_{number}");
            *number += 1;
            if self.module.borrow().named(&name).is_none() {
                return name;
            }
        }
    }

    /// Records that `item` is needed, and by whom. In a single-source session, [`crate::lower`]
    /// later determines whether the referencing code is reached.
    pub(crate) fn require(&self, value: Value, item: Item<'tcx>) {
        match self.host {
            true => self.defer(value, Pending::Item(item)),
            false => self.enqueue(item),
        }
    }

    /// In a single-source session: records what is to be done when reached code references a
    /// function or static.
    pub(crate) fn defer(&self, value: Value, pending: Pending<'tcx>) {
        let mut all = self.single_source.pending.borrow_mut();
        all.insert(value, pending);
    }

    /// Adds an item to the queue of those to lower, and records its first user.
    pub(crate) fn enqueue(&self, item: Item<'tcx>) {
        self.note_referrer(item);
        self.queue.borrow_mut().push_back(item);
    }

    /// Reports that code cannot be lowered. In a single-source session the error appears only if
    /// the code is reached: the caller emits a call of the returned function in its place.
    pub(crate) fn refuse(&self, span: Span, what: &str) -> Option<Value> {
        if !self.host {
            crate::diagnostics::unsupported(self, span, what);
            return None;
        }
        let name = self.fresh_name("__nvvm_unsupported");
        let sig = self.ty(|types| {
            let void = types.void();
            types.func(void, &[], false)
        });
        let mut module = self.module.borrow_mut();
        let func = module.add_func(&name, sig).expect("the name is free");
        let value = module.func(func).value;
        self.defer(value, Pending::Unsupported(span, what.to_owned()));
        Some(value)
    }

    /// Records where the item being lowered references a function or static.
    fn note_use(&self, value: Value) {
        if self.host
            && let Some(current) = self.current.get()
        {
            let mut uses = self.single_source.uses.borrow_mut();
            uses.entry((current.node, value)).or_insert(current.span);
        }
    }

    /// Records the first user of an item.
    pub(crate) fn note_referrer(&self, item: Item<'tcx>) {
        if let Some(current) = self.current.get() {
            self.referrers.borrow_mut().entry(item).or_insert(current);
        }
    }

    /// Whether optimizations are on.
    pub(crate) fn optimizes(&self) -> bool {
        self.optimized
    }

    /// Runs a closure on a type interner.
    pub(crate) fn ty<R>(&self, f: impl FnOnce(&mut nvvm_ir::Types) -> R) -> R {
        f(&mut self.module.borrow_mut().types)
    }

    /// Returns the symbol of an instance: rustc's symbol, with the characters that PTX does not
    /// allow replaced.
    pub(crate) fn symbol(&self, instance: Instance<'tcx>) -> String {
        sanitize(self.tcx.symbol_name(instance).name)
    }

    /// Records a foreign item that nothing defines.
    pub(crate) fn note_undefined(&self, value: Value, def_id: DefId) {
        if self.host {
            self.defer(value, Pending::Undefined(def_id));
        } else {
            self.undefined.borrow_mut().insert(def_id);
        }
    }

    /// Declares the function of an instance, and requires the function.
    fn declare_function(&self, instance: Instance<'tcx>) -> Value {
        let tcx = self.tcx;
        let def_id = instance.def_id();
        let is_foreign = tcx.is_foreign_item(def_id);
        if is_foreign && let Some(value) = self.resolve_foreign(instance) {
            return value;
        }
        if self.host {
            self.note_referrer(Item::Fn(instance));
            if let Some(value) = crate::single_source::device_function(self, instance) {
                return value;
            }
        }
        let is_kernel = self.is_kernel(instance);
        let mut name = self.symbol(instance);
        if is_kernel {
            name.push_str(BODY);
        }
        let abi = self.fn_abi_of_instance(instance, ty::List::empty());
        let sig = crate::abi::signature(self, abi);
        let taken = self.module.borrow().named(&name);
        if let Some(taken) = taken {
            if is_foreign {
                // Two declarations of the same foreign function, possibly with different types.
                return taken;
            }
            name = self.fresh_name(&name);
        }
        let value = {
            let mut module = self.module.borrow_mut();
            let func = module.add_func(&name, sig).expect("the name is free");
            crate::abi::apply_function_attrs(self, &mut module, func, abi);
            let data = module.func_mut(func);
            let flags = tcx.codegen_instance_attrs(instance.def).flags;
            data.attrs.no_unwind = true;
            data.attrs.cold = flags.contains(CodegenFnAttrFlags::COLD);
            inlining::set_attributes(self, &mut data.attrs, instance, &name, is_kernel);
            if !is_foreign {
                data.linkage = Linkage::Internal;
            }
            data.value
        };
        match is_foreign {
            true => self.note_undefined(value, def_id),
            false if crate::plain_panics::defer(self, &name, value, instance) => {}
            false if crate::reports::leave_out(self, &name, value, instance) => {}
            false => self.require(value, Item::Fn(instance)),
        }
        value
    }

    /// Returns the function that a foreign declaration stands for: the program's, libdevice's or
    /// the backend's own, if one of these has it.
    fn resolve_foreign(&self, instance: Instance<'tcx>) -> Option<Value> {
        let tcx = self.tcx;
        let def_id = instance.def_id();
        let symbol = Symbol::intern(tcx.symbol_name(instance).name);
        let definition = self
            .symbols
            .get(&symbol)
            .copied()
            .filter(|&found| found != def_id && tcx.def_kind(found).is_fn_like())
            // A kernel may have the name of a C function, but does not define it.
            .filter(|&found| !matches!(markers::of_def(tcx, found), Marker::Kernel(_)));
        // libdevice's functions are faster than those of compiler-builtins.
        let libm = device_functions::libm(symbol.as_str());
        if let Some(definition) = definition
            && !(libm.is_some() && tcx.is_compiler_builtins(definition.krate))
        {
            return Some(self.get_fn(Instance::mono(tcx, definition)));
        }
        if let Some(name) = libm {
            let abi = self.fn_abi_of_instance(instance, ty::List::empty());
            return Some(device_functions::declare_foreign(self, &name, abi));
        }
        self.note_referrer(Item::Fn(instance));
        device_functions::declare(self, symbol.as_str(), instance)
    }

    /// Returns whether a PTX entry calls the function of an instance.
    fn is_kernel(&self, instance: Instance<'tcx>) -> bool {
        // In a single-source session, the implementation of a trait's kernel has no marker of its
        // own.
        matches!(markers::of_function(self.tcx, instance), Marker::Kernel(_))
            || (self.host
                && self
                    .kernels
                    .iter()
                    .any(|kernel| kernel.instance == instance))
    }
}

/// Replaces the characters of a symbol that PTX or libnvvm does not accept.
pub(crate) fn sanitize(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

impl<'tcx> BackendTypes for CodegenCx<'tcx> {
    type Function = Value;
    type BasicBlock = nvvm_ir::Block;
    type Funclet = ();
    type Value = Value;
    type Type = Type;
    type FunctionSignature = Type;
    type DIScope = Di;
    type DILocation = Di;
    type DIVariable = Di;
}

impl<'tcx> MiscCodegenMethods<'tcx> for CodegenCx<'tcx> {
    fn vtables(
        &self,
    ) -> &RefCell<FxHashMap<(Ty<'tcx>, Option<ty::ExistentialTraitRef<'tcx>>), Value>> {
        &self.vtables
    }

    fn get_fn(&self, instance: Instance<'tcx>) -> Value {
        if let Some(&value) = self.functions.borrow().get(&instance) {
            self.note_use(value);
            return value;
        }
        let value = match crate::replacements::of(self, instance) {
            Some(replacement) => self.get_fn(replacement),
            None => self.declare_function(instance),
        };
        self.functions.borrow_mut().insert(instance, value);
        self.note_use(value);
        value
    }

    fn get_fn_addr(&self, instance: Instance<'tcx>, _schema: Option<&PointerAuthSchema>) -> Value {
        self.get_fn(instance)
    }

    fn eh_personality(&self) -> Value {
        // Device code does not unwind, so the personality function is never called.
        let mut module = self.module.borrow_mut();
        if let Some(value) = module.named("rust_eh_personality") {
            return value;
        }
        let void = module.types.void();
        let sig = module.types.func(void, &[], false);
        let func = module
            .add_func("rust_eh_personality", sig)
            .expect("the name is free");
        module.func(func).value
    }

    fn sess(&self) -> &Session {
        self.tcx.sess
    }

    fn set_frame_pointer_type(&self, _func: Value) {}

    fn apply_target_cpu_attr(&self, _func: Value) {}

    fn declare_c_main(&self, _sig: Type) -> Option<Value> {
        None
    }

    fn intrinsic_call_expects_place_always(&self, name: Symbol) -> bool {
        name == rustc_span::sym::black_box
    }
}

// Items are declared on first use.
impl<'tcx> PreDefineCodegenMethods<'tcx> for CodegenCx<'tcx> {
    fn predefine_static(
        &mut self,
        def_id: DefId,
        _linkage: rustc_attr_ir::Linkage,
        _visibility: rustc_middle::mono::Visibility,
        _symbol_name: &str,
    ) {
        self.static_address(def_id);
    }

    fn predefine_fn(
        &mut self,
        instance: Instance<'tcx>,
        _linkage: rustc_attr_ir::Linkage,
        _visibility: rustc_middle::mono::Visibility,
        _symbol_name: &str,
    ) {
        self.get_fn(instance);
    }
}

impl<'tcx> HasDataLayout for CodegenCx<'tcx> {
    fn data_layout(&self) -> &TargetDataLayout {
        &self.tcx.data_layout
    }
}

impl<'tcx> HasTargetSpec for CodegenCx<'tcx> {
    fn target_spec(&self) -> &Target {
        &self.tcx.sess.target
    }
}

impl<'tcx> HasTyCtxt<'tcx> for CodegenCx<'tcx> {
    fn tcx(&self) -> TyCtxt<'tcx> {
        self.tcx
    }
}

impl<'tcx> HasTypingEnv<'tcx> for CodegenCx<'tcx> {
    fn typing_env(&self) -> ty::TypingEnv<'tcx> {
        ty::TypingEnv::fully_monomorphized()
    }
}

impl<'tcx> LayoutOfHelpers<'tcx> for CodegenCx<'tcx> {
    fn handle_layout_err(&self, err: LayoutError<'tcx>, span: Span, _ty: Ty<'tcx>) -> ! {
        self.tcx.dcx().span_fatal(span, err.to_string())
    }
}

impl<'tcx> FnAbiOfHelpers<'tcx> for CodegenCx<'tcx> {
    fn handle_fn_abi_err(
        &self,
        err: FnAbiError<'tcx>,
        span: Span,
        _request: FnAbiRequest<'tcx>,
    ) -> ! {
        match err {
            FnAbiError::Layout(err) => self.tcx.dcx().span_fatal(span, err.to_string()),
        }
    }
}

/// The ABI of a function.
pub(crate) type Abi<'tcx> = FnAbi<'tcx, Ty<'tcx>>;

/// Runs `f` with an IR builder that appends to `block`.
pub(crate) fn with_builder<'tcx, R>(
    cx: &CodegenCx<'tcx>,
    block: nvvm_ir::Block,
    loc: Option<Di>,
    f: impl FnOnce(&mut IrBuilder<'_>) -> R,
) -> R {
    let mut module = cx.module.borrow_mut();
    f(&mut IrBuilder::at(&mut module, block, loc))
}

/// Returns the span of an item, for diagnostics.
pub(crate) fn item_span<'tcx>(tcx: TyCtxt<'tcx>, item: Item<'tcx>) -> Span {
    match item {
        Item::Fn(instance) => tcx.def_span(instance.def_id()),
        Item::Static(def_id) => tcx.def_span(def_id),
    }
}

/// Wraps an item that has no known place of use.
pub(crate) fn unspanned(item: Item<'_>) -> Spanned<Item<'_>> {
    Spanned {
        node: item,
        span: DUMMY_SP,
    }
}
