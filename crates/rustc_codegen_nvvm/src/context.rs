//! The codegen context: one NVVM IR module for the whole program, and what it contains so far.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use nvvm_ir::{Builder as IrBuilder, Di, Linkage, Module, Type, Value};
use rustc_abi::{HasDataLayout, TargetDataLayout};
use rustc_attr_ir::{InlineAttr, OptimizeAttr};
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

use crate::device_functions;
use crate::kernels::Kernel;
use crate::locations::Locations;
use crate::markers::{self, Marker};
use crate::records::Records;

/// What the function of a kernel is named besides the kernel, whose own name the entry has.
pub(crate) const BODY: &str = "__body";

/// Everything that lowering shares. The traits of `rustc_codegen_ssa` hand it out by shared
/// reference, so what changes lies in cells.
pub(crate) struct CodegenCx<'tcx> {
    pub tcx: TyCtxt<'tcx>,
    /// What the program is compiled for.
    pub arch: nvvm::Arch,
    pub module: RefCell<Module>,
    /// Functions, by what they are instances of.
    pub functions: RefCell<FxHashMap<Instance<'tcx>, Value>>,
    /// Statics; the value is the global itself.
    pub statics: RefCell<FxHashMap<DefId, Value>>,
    /// Anonymous constants.
    pub allocations: RefCell<FxHashMap<ConstAllocation<'tcx>, Value>>,
    pub vtables: RefCell<FxHashMap<(Ty<'tcx>, Option<ty::ExistentialTraitRef<'tcx>>), Value>>,
    pub strings: RefCell<FxHashMap<String, Value>>,
    /// What has been referred to and is still to be lowered.
    pub queue: RefCell<VecDeque<Item<'tcx>>>,
    /// Who referred to a function or static first: the chain of calls that a diagnostic shows.
    pub referrers: RefCell<FxHashMap<Item<'tcx>, Spanned<Item<'tcx>>>>,
    /// What is being lowered now.
    pub current: Cell<Option<Spanned<Item<'tcx>>>>,
    /// Definitions by symbol: what a foreign item of that name stands for.
    pub symbols: FxHashMap<Symbol, DefId>,
    /// Foreign functions that nothing in the program defines.
    pub undefined: RefCell<FxHashSet<DefId>>,
    /// The signatures of kernels and statics, and the symbols of statics.
    pub records: Records,
    /// The kernels.
    pub kernels: RefCell<Vec<Kernel<'tcx>>>,
    /// Whether the session is for a host, whose kernels are lowered besides: see
    /// [`crate::single_source`].
    pub host: bool,
    /// Whether the kernels are optimized.
    optimized: bool,
    /// In such a session: what functions and statics stand for that no reached code has named yet.
    pub pending: RefCell<FxHashMap<Value, Pending<'tcx>>>,
    /// In such a session: the functions and globals that reached code names.
    pub reached: RefCell<FxHashSet<Value>>,
    /// In such a session: where items name functions and statics.
    pub uses: RefCell<FxHashMap<(Item<'tcx>, Value), Span>>,
    /// In such a session: functions whose calls are a constant.
    pub known: RefCell<FxHashMap<Value, bool>>,
    /// In such a session: the calls of `std` that an error has been reported of.
    pub reported: RefCell<FxHashSet<Span>>,
    /// Whether some function needs instances of itself without end, which is then reported.
    pub endless: Cell<bool>,
    /// Where the lines of each inline assembly stand in the source, by the number in its first
    /// comment.
    pub asm_spans: RefCell<Vec<Vec<Span>>>,
    /// The slices among the kernels' parameters.
    pub slices: RefCell<Vec<ptx::Slice>>,
    /// Which types of variables hold packed values.
    pub packed: RefCell<FxHashMap<Ty<'tcx>, bool>>,
    /// Where each intrinsic that a crate names itself is called first.
    pub intrinsic_spans: RefCell<FxHashMap<&'tcx str, Span>>,
    /// Debug information of functions and files.
    pub scopes: RefCell<FxHashMap<Instance<'tcx>, Di>>,
    /// The debug information of types, by how many pointers led to them.
    pub debug_types: RefCell<FxHashMap<(Ty<'tcx>, u32), Di>>,
    pub compile_unit: Cell<Option<Di>>,
    /// Where in the program calls stand.
    pub locations: RefCell<Locations<'tcx>>,
    counter: Cell<u32>,
}

/// What is lowered as one piece.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Item<'tcx> {
    Fn(Instance<'tcx>),
    Static(DefId),
}

/// What a function or static stands for that may not be reached.
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
    ) -> Self {
        let name = tcx.crate_name(rustc_span::def_id::LOCAL_CRATE);
        CodegenCx {
            tcx,
            arch,
            module: RefCell::new(Module::new(name.as_str())),
            functions: Default::default(),
            statics: Default::default(),
            allocations: Default::default(),
            vtables: Default::default(),
            strings: Default::default(),
            queue: Default::default(),
            referrers: Default::default(),
            current: Default::default(),
            symbols,
            undefined: Default::default(),
            records: crate::records::collect(tcx),
            kernels: Default::default(),
            host: crate::single_source::is_host(tcx.sess),
            optimized: crate::options::optimizes(tcx.sess),
            pending: Default::default(),
            reached: Default::default(),
            uses: Default::default(),
            known: Default::default(),
            reported: Default::default(),
            endless: Default::default(),
            asm_spans: Default::default(),
            slices: RefCell::default(),
            packed: Default::default(),
            intrinsic_spans: Default::default(),
            scopes: Default::default(),
            debug_types: Default::default(),
            compile_unit: Default::default(),
            locations: Default::default(),
            counter: Default::default(),
        }
    }

    /// A symbol that no other item has.
    pub(crate) fn fresh_name(&self, prefix: &str) -> String {
        loop {
            let number = self.counter.get();
            self.counter.set(number + 1);
            let name = format!("{prefix}_{number}");
            if self.module.borrow().named(&name).is_none() {
                return name;
            }
        }
    }

    /// Notes that an item is needed, and by whom. In a single-source session the code that names it
    /// may turn out not to be reached, which [`crate::lower`] finds out.
    pub(crate) fn require(&self, value: Value, item: Item<'tcx>) {
        if self.host {
            self.pending.borrow_mut().insert(value, Pending::Item(item));
            return;
        }
        self.note_referrer(item);
        self.queue.borrow_mut().push_back(item);
    }

    /// Reports an error where code is lowered, or in a single-source session where it turns out to be
    /// reached: then a call of what is returned has to stand there.
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
        self.pending
            .borrow_mut()
            .insert(value, Pending::Unsupported(span, what.to_owned()));
        Some(value)
    }

    /// Requires what is named where the module does not show it, as in an assembly.
    pub(crate) fn require_now(&self, value: Value) {
        if let Some(Pending::Item(item)) = self.pending.borrow_mut().remove(&value) {
            self.reached.borrow_mut().insert(value);
            self.note_referrer(item);
            self.queue.borrow_mut().push_back(item);
        }
    }

    /// Notes where the item that is lowered names a function or static.
    fn note_use(&self, value: Value) {
        if self.host
            && let Some(current) = self.current.get()
        {
            self.uses
                .borrow_mut()
                .entry((current.node, value))
                .or_insert(current.span);
        }
    }

    /// Notes who uses an item first.
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

    /// The symbol that an instance gets: rustc's own where PTX can have it.
    pub(crate) fn symbol(&self, instance: Instance<'tcx>) -> String {
        sanitize(self.tcx.symbol_name(instance).name)
    }

    /// Notes a foreign item that nothing defines.
    pub(crate) fn note_undefined(&self, value: Value, def_id: DefId) {
        if self.host {
            self.pending
                .borrow_mut()
                .insert(value, Pending::Undefined(def_id));
        } else {
            self.undefined.borrow_mut().insert(def_id);
        }
    }

    fn declare_function(&self, instance: Instance<'tcx>) -> Value {
        let tcx = self.tcx;
        let def_id = instance.def_id();
        let mut undefined = false;
        if tcx.is_foreign_item(def_id) {
            let symbol = Symbol::intern(tcx.symbol_name(instance).name);
            let definition = self
                .symbols
                .get(&symbol)
                .copied()
                .filter(|&found| found != def_id && tcx.def_kind(found).is_fn_like())
                // A kernel may be named as a function of C is, and stands in for none.
                .filter(|&found| !matches!(markers::of_def(tcx, found), Marker::Kernel(_)));
            // libdevice's functions are faster than those of compiler-builtins.
            let libm = device_functions::libm(symbol.as_str());
            if let Some(definition) = definition
                && !(libm.is_some() && tcx.is_compiler_builtins(definition.krate))
            {
                return self.get_fn(Instance::mono(tcx, definition));
            }
            if let Some(name) = libm {
                let abi = self.fn_abi_of_instance(instance, ty::List::empty());
                return device_functions::declare_foreign(self, &name, abi);
            }
            self.note_referrer(Item::Fn(instance));
            if let Some(value) = device_functions::declare(self, symbol.as_str(), instance) {
                return value;
            }
            undefined = true;
        }
        if self.host
            && let Some(value) = crate::single_source::device_function(self, instance)
        {
            return value;
        }
        // An implementation of a trait's kernel has no marker of its own.
        let is_kernel = matches!(markers::of_function(tcx, instance), Marker::Kernel(_))
            || (self.host
                && self
                    .kernels
                    .borrow()
                    .iter()
                    .any(|kernel| kernel.instance == instance));
        let mut name = self.symbol(instance);
        if is_kernel {
            name.push_str(BODY);
        }
        let abi = self.fn_abi_of_instance(instance, ty::List::empty());
        let sig = crate::abi::signature(self, abi);
        if self.module.borrow().named(&name).is_some() {
            if tcx.is_foreign_item(def_id) {
                // Two declarations of one foreign function, maybe by different types.
                return self.module.borrow().named(&name).unwrap();
            }
            name = self.fresh_name(&name);
        }
        let attrs = tcx.codegen_instance_attrs(instance.def);
        let mut module = self.module.borrow_mut();
        let func = module.add_func(&name, sig).expect("the name is free");
        crate::abi::apply_function_attrs(self, &mut module, func, abi);
        let data = module.func_mut(func);
        data.attrs.no_unwind = true;
        data.attrs.cold = attrs.flags.contains(CodegenFnAttrFlags::COLD);
        let formats = self.optimizes() && is_formatting(tcx, def_id);
        data.attrs.opt_size = formats || (self.optimizes() && attrs.optimize == OptimizeAttr::Size);
        // What a closure borrows of its function stays in memory unless it is inlined. Those of core
        // itself, sorts above all, are called from many places.
        let borrows = self.optimizes()
            && tcx.is_closure_like(def_id)
            && !formats
            && !matches!(tcx.crate_name(def_id.krate).as_str(), "core" | "alloc")
            && is_small(tcx, def_id);
        match attrs.inline {
            InlineAttr::None | InlineAttr::Hint if borrows => data.attrs.always_inline = true,
            // libnvvm's inliner knows no bounds; see `is_formatting`.
            InlineAttr::None => data.attrs.no_inline = formats,
            InlineAttr::Hint => data.attrs.inline_hint = self.optimizes(),
            InlineAttr::Always | InlineAttr::Force { .. } => data.attrs.always_inline = true,
            InlineAttr::Never => data.attrs.no_inline = true,
        }
        // A kernel's entry has no place in the source: a debugger shows the kernel as what it calls.
        let entered = is_kernel && !self.has_variables();
        if entered || crate::replacements::is_inlined(tcx, &name) {
            data.attrs.always_inline = true;
            data.attrs.no_inline = false;
        }
        let value = data.value;
        if tcx.is_foreign_item(def_id) {
            drop(module);
            if undefined {
                self.note_undefined(value, def_id);
            }
            return value;
        }
        data.linkage = Linkage::Internal;
        drop(module);
        self.require(value, Item::Fn(instance));
        value
    }
}

/// Whether a function may be copied to every call of it without making the program much larger.
fn is_small(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    const BLOCKS: usize = 100;
    tcx.is_mir_available(def_id) && tcx.optimized_mir(def_id).basic_blocks.len() <= BLOCKS
}

/// The modules of core and alloc that format and parse text. A test of `replacements` checks that the
/// toolchain's core has them.
pub(crate) const FORMATTING: &[&[&str]] = &[
    &["fmt"],
    &["panicking"],
    &["num", "imp", "bignum"],
    &["num", "imp", "dec2flt"],
    &["num", "imp", "diy_float"],
    &["num", "imp", "flt2dec"],
    &["num", "imp", "fmt"],
];

/// Whether a function formats or parses text: core's own machinery for it, and everybody's
/// implementations of its traits. No kernel is fast because of it, and inlined and unrolled it is
/// most of the program: what ptxas takes for it is what a user waits for.
fn is_formatting(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    use rustc_hir::definitions::DefPathData;
    let in_core = |def_id: DefId| matches!(tcx.crate_name(def_id.krate).as_str(), "core" | "alloc");
    let modules = |def_id: DefId, wanted: &[&[&str]]| {
        let path: Vec<Symbol> = tcx
            .def_path(def_id)
            .data
            .iter()
            .map_while(|part| match part.data {
                DefPathData::TypeNs(name) => Some(name),
                _ => None,
            })
            .collect();
        wanted.iter().any(|wanted| {
            path.len() >= wanted.len() && wanted.iter().zip(&path).all(|(w, p)| *w == p.as_str())
        })
    };
    if in_core(def_id) && modules(def_id, FORMATTING) {
        return true;
    }
    tcx.trait_impl_of_assoc(def_id)
        .and_then(|implementation| tcx.impl_opt_trait_id(implementation))
        .is_some_and(|of| in_core(of) && modules(of, &[&["fmt"]]))
}

/// A symbol with only the characters that PTX and libnvvm both take.
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
        // Device code aborts on panic; what asks for a personality never calls it.
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

// Declarations are made where they are first needed.
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

/// The ABI of a function as everything here sees it.
pub(crate) type Abi<'tcx> = FnAbi<'tcx, Ty<'tcx>>;

/// Builds in a block of the module of a context.
pub(crate) fn with_builder<'tcx, R>(
    cx: &CodegenCx<'tcx>,
    block: nvvm_ir::Block,
    loc: Option<Di>,
    f: impl FnOnce(&mut IrBuilder<'_>) -> R,
) -> R {
    let mut module = cx.module.borrow_mut();
    f(&mut IrBuilder::at(&mut module, block, loc))
}

/// The span of an item, for diagnostics.
pub(crate) fn item_span<'tcx>(tcx: TyCtxt<'tcx>, item: Item<'tcx>) -> Span {
    match item {
        Item::Fn(instance) => tcx.def_span(instance.def_id()),
        Item::Static(def_id) => tcx.def_span(def_id),
    }
}

/// An item without a known place of use.
pub(crate) fn unspanned(item: Item<'_>) -> Spanned<Item<'_>> {
    Spanned {
        node: item,
        span: DUMMY_SP,
    }
}
