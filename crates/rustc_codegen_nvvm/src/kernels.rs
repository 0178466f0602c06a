//! Finds the kernels, and emits the PTX entry around each kernel's Rust function.
//!
//! The entry's parameters have the layout that `cust` and every other host relies on, in the order
//! of the Rust parameters: none for a zero-sized type, one for a scalar, two for a wide pointer (a
//! pair of scalars), and one with the value's bytes and alignment for any other value. The entry
//! calls the Rust function with the function's own ABI; the call is inlined.

use nvvm_ir::{
    Builder as IrBuilder, Intrinsic, KernelAttrs, Linkage, MemAccess, ParamAttrs, Type, Value,
};
use rustc_abi::{BackendRepr, Primitive, Size};
use rustc_codegen_ssa::traits::*;
use rustc_data_structures::fx::FxHashMap;
use rustc_hir::def::DefKind;
use rustc_middle::middle::exported_symbols::{ExportedSymbol, SymbolExportLevel};
use rustc_middle::mono::MonoItem;
use rustc_middle::ty::layout::{FnAbiOf, TyAndLayout};
use rustc_middle::ty::{self, Instance, InstanceKind, Ty, TyCtxt};
use rustc_span::Symbol;
use rustc_span::def_id::{DefId, LOCAL_CRATE};
use rustc_target::callconv::{ArgAbi, ArgAttribute, ArgAttributes, PassMode};

use crate::context::{Abi, CodegenCx, with_builder};
use crate::markers::{self, Marker};
use crate::{diagnostics, generic_arguments, single_source, tool_attributes};

/// A kernel that gets an entry.
#[derive(Clone, Debug)]
pub(crate) struct Kernel<'tcx> {
    /// The kernel's function, or one instance of a generic kernel's.
    pub instance: Instance<'tcx>,
    pub attrs: KernelAttrs,
    /// Identifies the instance of a generic kernel on the host.
    pub handle: Option<u128>,
}

/// Returns all kernels that this crate compiles, including those of other crates.
pub(crate) fn find(tcx: TyCtxt<'_>) -> Vec<Kernel<'_>> {
    let is_host = single_source::is_host(tcx.sess);
    // In a single-source program each crate compiles its own kernels and the instances of generic
    // kernels that it launches. rustc's collector, which finds the instances, aborts on errors, so
    // it runs first.
    let mut found = match is_host {
        true => instances(tcx),
        false => Vec::new(),
    };
    let mut add = |def_id, attrs| {
        found.push(Kernel {
            instance: Instance::mono(tcx, def_id),
            attrs,
            handle: None,
        });
    };
    for local in tcx.hir_body_owners() {
        let def_id = local.to_def_id();
        if !matches!(tcx.def_kind(def_id), DefKind::Fn | DefKind::AssocFn) {
            continue;
        }
        match markers::of_def(tcx, def_id) {
            Marker::None => {}
            Marker::Kernel(attrs) => {
                let is_associated = tcx.def_kind(def_id) == DefKind::AssocFn;
                if is_associated && !is_host {
                    diagnostics::kernel_in_impl(tcx, def_id);
                    continue;
                }
                crate::lifetimes::check(tcx, def_id);
                if is_associated {
                    // Generic kernels are compiled where the host launches them.
                } else if !tcx.generics_of(def_id).requires_monomorphization(tcx) {
                    add(def_id, attrs);
                } else if !is_host {
                    tcx.dcx().span_err(
                        diagnostics::ident_span(tcx, def_id),
                        "a kernel cannot be generic: its entry needs one name and one layout",
                    );
                }
            }
            Marker::Unknown(section) => {
                diagnostics::unknown_section(tcx, def_id, &section);
            }
        }
    }
    if is_host {
        return found;
    }
    for &cnum in tcx.crates(()) {
        for &(symbol, info) in tcx.exported_non_generic_symbols(cnum) {
            if let ExportedSymbol::NonGeneric(def_id) = symbol
                && info.level == SymbolExportLevel::C
                && tcx.def_kind(def_id) == DefKind::Fn
                && let Marker::Kernel(attrs) = markers::of_def(tcx, def_id)
            {
                crate::lifetimes::check(tcx, def_id);
                add(def_id, attrs);
            }
        }
    }
    found
}

/// Returns the instances of generic kernels that this crate's host code launches. Each has an
/// instance of `cuda_std::kernel::mark_instance`, whose arguments are the type that names the
/// kernel and the kernel's function.
fn instances(tcx: TyCtxt<'_>) -> Vec<Kernel<'_>> {
    let mut found = Vec::new();
    for unit in tcx.collect_and_partition_mono_items(()).codegen_units {
        for item in unit.items().keys() {
            if let MonoItem::Fn(marker) = item
                && let InstanceKind::Item(def_id) = marker.def
                && tcx.def_kind(def_id) == DefKind::Fn
                && tcx.crate_name(def_id.krate).as_str() == "cuda_std"
                && tool_attributes::has(tcx, def_id, "instance")
                && let [handle, function] = marker.args.types().collect::<Vec<_>>()[..]
                && let ty::FnDef(kernel, args) = *function.kind()
                && let Marker::Kernel(attrs) = markers::of_def(tcx, kernel)
            {
                let args = args.no_bound_vars().expect("regions are erased");
                // Resolves a trait's function to its implementation.
                let env = ty::TypingEnv::fully_monomorphized();
                let span = tcx.def_span(kernel);
                found.push(Kernel {
                    instance: Instance::expect_resolve(tcx, env, kernel, args, span),
                    attrs,
                    handle: Some(tcx.type_id_hash(handle).as_u128()),
                });
            }
        }
    }
    found.sort_by_cached_key(|kernel| (tcx.symbol_name(kernel.instance).name, kernel.handle));
    found.dedup_by_key(|kernel| kernel.handle);
    found
}

/// How the entry receives a Rust parameter.
enum Passing {
    Nothing,
    Scalar(Type),
    Wide(Type, Type),
    Bytes(Type),
    /// A reference to bytes among the launch's parameters, with their alignment.
    Constant(Type, u64),
}

fn passing<'tcx>(cx: &CodegenCx<'tcx>, layout: TyAndLayout<'tcx>) -> Passing {
    if layout.is_zst() {
        return Passing::Nothing;
    }
    match layout.backend_repr {
        BackendRepr::Scalar(scalar) => Passing::Scalar(cx.scalar_type(scalar)),
        BackendRepr::ScalarPair { a, b, .. }
            if matches!(a.primitive(), Primitive::Pointer(_))
                && layout.ty.builtin_deref(true).is_some() =>
        {
            Passing::Wide(cx.scalar_type(a), cx.scalar_type(b))
        }
        _ => Passing::Bytes(bytes(cx, layout)),
    }
}

/// Returns an integer array with the size and alignment of the type, for `byval`.
fn bytes<'tcx>(cx: &CodegenCx<'tcx>, layout: TyAndLayout<'tcx>) -> Type {
    let align = layout.align.abi.bytes().min(16);
    let size = layout.size.bytes();
    let unit = align.min(8);
    cx.ty(|t| {
        let int = t.int(unit as u32 * 8);
        t.array(int, size / unit)
    })
}

/// Returns the alignment of a parameter that is passed as bytes.
///
/// libnvvm 13.0 for sm_100 and later loads two adjacent floats of such a parameter with
/// `ld.param.v2.f32`, whatever the parameter's alignment. The PTX ISA requires an address that is a
/// multiple of 8 ("Vectors as operands"), which an address after a parameter of 12 bytes is not.
/// ptxas splits such a load if it knows the address, as it does on an H100. The parameter is
/// aligned so that no load depends on that. The sample `monte_carlo_call` shows the problem on the
/// emulator as sm_100.
fn param_align(cx: &CodegenCx<'_>, bytes: Type, align: u64) -> u64 {
    if cx.arch.dialect() == nvvm::Dialect::Llvm7 {
        return align;
    }
    let size = cx.ty(|types| types.size(bytes));
    let widest = (size + 1).next_power_of_two() / 2;
    align.max(widest.min(16))
}

/// Returns how a `#[grid_constant]` parameter is passed: as the bytes of the referenced value.
fn passing_constant<'tcx>(
    cx: &CodegenCx<'tcx>,
    def_id: DefId,
    layout: TyAndLayout<'tcx>,
) -> Option<Passing> {
    if let ty::Ref(_, pointee, ty::Mutability::Not) = *layout.ty.kind() {
        let pointee = cx.layout_of(pointee);
        let frozen = pointee
            .ty
            .is_freeze(cx.tcx, ty::TypingEnv::fully_monomorphized());
        if pointee.is_sized() && !pointee.is_zst() && frozen {
            let align = pointee.align.abi.bytes();
            return Some(Passing::Constant(bytes(cx, pointee), align));
        }
    }
    diagnostics::grid_constant(cx.tcx, def_id, layout.ty);
    None
}

/// Returns whether a type is one of `cuda_std`'s that partition a buffer, such as `PerThread`.
fn is_partition<'tcx>(tcx: TyCtxt<'tcx>, ty: Ty<'tcx>) -> bool {
    let ty::Adt(adt, _) = ty.kind() else {
        return false;
    };
    let did = adt.did();
    tcx.crate_name(did.krate).as_str() == "cuda_std"
        && tcx.item_name(did).as_str().starts_with("Per")
}

/// The parameters of kernels that the passes on PTX know.
#[derive(Default)]
pub(crate) struct Parameters {
    /// The slices.
    pub slices: Vec<ptx::Slice>,
    /// The parameters that partition buffers.
    pub partitions: Vec<ptx::Parameter>,
    /// The parameters of type `usize`.
    pub sizes: Vec<ptx::Parameter>,
}

/// Emits the entry of a kernel, and adds its parameters to `parameters`. Returns `None` after
/// reporting an error.
pub(crate) fn emit_entry<'tcx>(
    cx: &CodegenCx<'tcx>,
    kernel: Kernel<'tcx>,
    parameters: &mut Parameters,
) -> Option<Value> {
    let tcx = cx.tcx;
    let Kernel {
        instance, attrs, ..
    } = kernel;
    let def_id = instance.def_id();
    if !generic_arguments::check(cx, instance) {
        return None;
    }
    let abi = cx.fn_abi_of_instance(instance, ty::List::empty());
    if !abi.ret.layout.is_zst() && !abi.ret.layout.is_uninhabited() {
        diagnostics::kernel_with_value(tcx, def_id);
        return None;
    }
    let clusters = attrs.cluster.is_some() || attrs.max_cluster.is_some();
    if clusters && !cx.arch.has(nvvm::Arch::SM_90) {
        diagnostics::clusters(cx, def_id);
    }
    let body = cx.get_fn(instance);
    let name = cx.symbol(instance);
    let passings = passings(cx, def_id, abi)?;
    let mut signature = Signature::default();
    for (arg, passing) in abi.args.iter().zip(&passings) {
        record_parameter(cx, &name, signature.types.len(), arg, passing, parameters);
        signature.push(cx, arg, passing);
    }
    let void = cx.ty(|t| t.void());
    let sig = cx.type_func(&signature.types, void);
    let mut module = cx.module.borrow_mut();
    let Some(func) = module.add_func(&name, sig) else {
        diagnostics::taken_name(cx, def_id, &name);
        return None;
    };
    let data = module.func_mut(func);
    let entry = data.value;
    data.kernel = Some(attrs);
    data.linkage = Linkage::External;
    data.param_attrs = signature.attrs;
    data.attrs.no_unwind = true;
    let params = data.params.clone();
    let block = module.add_block(func, "start");
    drop(module);

    let mut params = params.into_iter();
    let mut args = Vec::new();
    for (arg, passing) in abi.args.iter().zip(&passings) {
        let mut next = || params.next().expect("as many parameters as were declared");
        let incoming = match passing {
            Passing::Nothing => Incoming::Nothing,
            // A grid constant's reference is the address of the parameter.
            Passing::Scalar(_) | Passing::Constant(..) => Incoming::Values(vec![next()]),
            Passing::Wide(..) => Incoming::Values(vec![next(), next()]),
            Passing::Bytes(_) => Incoming::Memory(next()),
        };
        let layout = arg.layout;
        let param = EntryParam { cx, block, layout };
        param.pass(&arg.mode, incoming, &mut args);
    }
    let sig = crate::abi::signature(cx, abi);
    let location = crate::debuginfo::entry_location(cx, instance, func);
    with_builder(cx, block, location, |b| {
        b.call(sig, body, &args);
        if abi.ret.layout.is_uninhabited() {
            b.unreachable();
        } else {
            b.ret(None);
        }
    });
    Some(entry)
}

/// Returns how the entry receives each Rust parameter, or `None` after reporting an error.
fn passings<'tcx>(cx: &CodegenCx<'tcx>, def_id: DefId, abi: &Abi<'tcx>) -> Option<Vec<Passing>> {
    let constants = markers::grid_constants(cx.tcx, def_id);
    let args = abi.args.iter().enumerate();
    args.map(|(index, arg)| match constants.contains(&index) {
        true => passing_constant(cx, def_id, arg.layout),
        false => Some(passing(cx, arg.layout)),
    })
    .collect()
}

/// The parameters of an entry.
#[derive(Default)]
struct Signature {
    types: Vec<Type>,
    attrs: Vec<ParamAttrs>,
}

impl Signature {
    /// Adds the parameters for a Rust parameter.
    fn push<'tcx>(
        &mut self,
        cx: &CodegenCx<'tcx>,
        arg: &ArgAbi<'tcx, Ty<'tcx>>,
        passing: &Passing,
    ) {
        let byval = |ty, align| ParamAttrs {
            byval: Some(ty),
            align: param_align(cx, ty, align),
            ..ParamAttrs::default()
        };
        match *passing {
            Passing::Nothing => {}
            Passing::Scalar(ty) => {
                self.types.push(ty);
                self.attrs.push(match &arg.mode {
                    PassMode::Direct(attrs) => guarantees(cx, attrs, arg.layout),
                    _ => ParamAttrs::default(),
                });
            }
            Passing::Wide(a, b) => {
                self.types.extend([a, b]);
                self.attrs.push(match &arg.mode {
                    PassMode::Pair(attrs, _) => guarantees(cx, attrs, arg.layout),
                    _ => ParamAttrs::default(),
                });
                self.attrs.push(ParamAttrs::default());
            }
            Passing::Bytes(ty) => {
                self.types.push(cx.type_ptr());
                self.attrs.push(byval(ty, arg.layout.align.abi.bytes()));
            }
            Passing::Constant(ty, align) => {
                self.types.push(cx.type_ptr());
                self.attrs.push(ParamAttrs {
                    grid_constant: true,
                    ..byval(ty, align)
                });
            }
        }
    }
}

/// Returns the attributes of a pointer parameter. The guarantees of reference types hold for the
/// whole grid, and enable `ld.global.nc` among others. For an empty slice, `cust` passes an aligned
/// address and not null. With the alignment, libnvvm combines loads of neighboring fields, whose own
/// type may be smaller than the element's.
fn guarantees<'tcx>(
    cx: &CodegenCx<'tcx>,
    attrs: &ArgAttributes,
    layout: TyAndLayout<'tcx>,
) -> ParamAttrs {
    let (element, readable) = match pointee(layout) {
        Some(pointee) if cx.optimizes() => match *pointee.kind() {
            ty::Slice(element) => (cx.layout_of(element).size.bytes(), false),
            _ => match cx.layout_of(pointee) {
                pointee if pointee.is_sized() => (pointee.size.bytes(), true),
                _ => (0, false),
            },
        },
        _ => (0, false),
    };
    ParamAttrs {
        noalias: cx.optimizes() && attrs.regular.contains(ArgAttribute::NoAlias),
        nonnull: cx.optimizes() && attrs.regular.contains(ArgAttribute::NonNull),
        readonly: cx.optimizes() && attrs.regular.contains(ArgAttribute::ReadOnly),
        align: match attrs.pointee_align {
            Some(align) if cx.optimizes() => align.bytes(),
            _ => 0,
        },
        element,
        readable,
        ..ParamAttrs::default()
    }
}

/// Adds a Rust parameter to `parameters`, if passes on PTX use its kind. `index` is the number of
/// its first parameter in the entry of `kernel`.
fn record_parameter<'tcx>(
    cx: &CodegenCx<'tcx>,
    kernel: &str,
    index: usize,
    arg: &ArgAbi<'tcx, Ty<'tcx>>,
    passing: &Passing,
    parameters: &mut Parameters,
) {
    let parameter = || ptx::Parameter {
        kernel: kernel.to_owned(),
        index,
    };
    match passing {
        Passing::Scalar(_) if arg.layout.ty == cx.tcx.types.usize => {
            parameters.sizes.push(parameter());
        }
        Passing::Wide(..) => {
            if let Some(ty::Slice(element)) = pointee(arg.layout).map(Ty::kind) {
                parameters.slices.push(ptx::Slice {
                    kernel: kernel.to_owned(),
                    pointer: index,
                    length: index + 1,
                    element: cx.layout_of(*element).size.bytes(),
                });
            }
        }
        Passing::Bytes(_) if is_partition(cx.tcx, arg.layout.ty) => {
            parameters.partitions.push(parameter());
        }
        _ => {}
    }
}

/// Returns the type that a reference points to.
fn pointee<'tcx>(layout: TyAndLayout<'tcx>) -> Option<Ty<'tcx>> {
    match *layout.ty.kind() {
        ty::Ref(_, pointee, _) => Some(pointee),
        _ => None,
    }
}

/// The values of an entry's parameters for one Rust parameter.
enum Incoming {
    Nothing,
    Values(Vec<Value>),
    Memory(Value),
}

/// A Rust parameter in the entry's block, which converts it to the arguments of the Rust function.
struct EntryParam<'a, 'tcx> {
    cx: &'a CodegenCx<'tcx>,
    block: nvvm_ir::Block,
    layout: TyAndLayout<'tcx>,
}

impl EntryParam<'_, '_> {
    /// Adds the arguments for the parameter, which the Rust function expects in the given mode.
    fn pass(&self, mode: &PassMode, incoming: Incoming, args: &mut Vec<Value>) {
        let (cx, layout) = (self.cx, self.layout);
        match mode {
            PassMode::Ignore => {}
            PassMode::Direct(_) => match (layout.backend_repr, &incoming) {
                (BackendRepr::Scalar(scalar), Incoming::Values(values)) => {
                    args.push(self.to_register(values[0], scalar));
                }
                _ => {
                    let from = self.address(&incoming);
                    args.push(self.load(from, Size::ZERO, cx.immediate_backend_type(layout)));
                }
            },
            PassMode::Pair(..) => {
                let BackendRepr::ScalarPair { a, b, b_offset } = layout.backend_repr else {
                    rustc_span::bug!("a pair without a pair's layout")
                };
                let (first, second) = match incoming {
                    Incoming::Values(values) => (values[0], values[1]),
                    _ => {
                        let from = self.address(&incoming);
                        (
                            self.load_scalar(from, Size::ZERO, a),
                            self.load_scalar(from, b_offset, b),
                        )
                    }
                };
                args.push(self.to_register(first, a));
                args.push(self.to_register(second, b));
            }
            PassMode::Cast { cast, .. } => {
                let ty = cx.cast_backend_type(cast);
                let from = self.address(&incoming);
                args.push(self.load(from, Size::ZERO, ty));
            }
            PassMode::Indirect { .. } => args.push(self.spill(&incoming)),
            PassMode::IndirectUnsized { .. } => rustc_span::bug!("an unsized kernel parameter"),
        }
    }

    /// Stores the parameter in the entry's local memory and returns the address. The Rust function
    /// may write to an argument that it takes by value, so it gets a copy.
    fn spill(&self, incoming: &Incoming) -> Value {
        let size = self.layout.size.bytes();
        let align = self.layout.align.abi.bytes();
        let ty = self.cx.bytes(size);
        with_builder(self.cx, self.block, None, |b| {
            let slot = b.alloca(ty, align);
            match incoming {
                Incoming::Nothing => {}
                Incoming::Memory(from) => copy(b, slot, *from, size, align),
                Incoming::Values(values) => {
                    let mut offset = 0;
                    for &value in values {
                        let ty = b.module.ty(value);
                        let to = at_offset(b, slot, offset);
                        let size = b.module.types.size(ty);
                        b.store(value, to, access(size.min(align)));
                        offset += size;
                    }
                }
            }
            slot
        })
    }

    /// Returns the address of the parameter, from which the entry loads it.
    fn address(&self, incoming: &Incoming) -> Value {
        match *incoming {
            Incoming::Memory(from) => from,
            _ => self.spill(incoming),
        }
    }

    /// Loads a part of the parameter from an address.
    fn load(&self, from: Value, offset: Size, ty: Type) -> Value {
        self.load_with(from, offset, ty, false)
    }

    fn load_scalar(&self, from: Value, offset: Size, scalar: rustc_abi::Scalar) -> Value {
        let pointer = matches!(scalar.primitive(), rustc_abi::Primitive::Pointer(_));
        let nonnull =
            pointer && !scalar.is_uninit_valid() && !scalar.valid_range(self.cx).contains(0);
        self.load_with(
            from,
            offset,
            self.cx.scalar_type(scalar),
            nonnull && self.cx.optimizes(),
        )
    }

    fn load_with(&self, from: Value, offset: Size, ty: Type, nonnull: bool) -> Value {
        with_builder(self.cx, self.block, None, |b| {
            let from = at_offset(b, from, offset.bytes());
            let align = self.layout.align.abi.restrict_for_offset(offset);
            let access = access(align.bytes());
            b.load(ty, from, MemAccess { nonnull, ..access })
        })
    }

    /// Converts a scalar from its form in memory and in the entry, where `bool` is a byte, to its
    /// form in registers, where `bool` is `i1`.
    fn to_register(&self, value: Value, scalar: rustc_abi::Scalar) -> Value {
        if !scalar.is_bool() {
            return value;
        }
        let i1 = self.cx.int(1);
        with_builder(self.cx, self.block, None, |b| {
            b.cast(nvvm_ir::CastOp::Trunc, value, i1)
        })
    }
}

fn access(align: u64) -> MemAccess {
    MemAccess {
        align,
        ..MemAccess::default()
    }
}

/// Returns the address `offset` bytes after `ptr`.
fn at_offset(b: &mut IrBuilder<'_>, ptr: Value, offset: u64) -> Value {
    let i8 = b.module.types.int(8);
    let offset = b.module.const_i64(offset as i64);
    b.gep(i8, ptr, &[offset], true)
}

fn copy(b: &mut IrBuilder<'_>, to: Value, from: Value, size: u64, align: u64) {
    let void = b.module.types.void();
    let size = b.module.const_i64(size as i64);
    let volatile = b.module.const_bool(false);
    let args = vec![to, from, size, volatile];
    let sig = b.module.signature(void, &args);
    let aligned = ParamAttrs {
        align,
        ..ParamAttrs::default()
    };
    b.call_with(nvvm_ir::Call {
        arg_attrs: vec![
            aligned.clone(),
            aligned,
            ParamAttrs::default(),
            ParamAttrs::default(),
        ],
        ..nvvm_ir::Call::new(nvvm_ir::Callee::Intrinsic(Intrinsic::Memcpy), sig, args)
    });
}

/// Returns the definitions of all crates by symbol, except those whose symbol rustc mangles. Foreign
/// items of the same name resolve to them.
pub(crate) fn definitions(tcx: TyCtxt<'_>) -> FxHashMap<Symbol, DefId> {
    let mut symbols = FxHashMap::default();
    let mut add = |cnum| {
        // rustc exports all symbols of this crate at the same level as mangled ones.
        let is_builtins = tcx.is_compiler_builtins(cnum);
        for &(symbol, info) in tcx.exported_non_generic_symbols(cnum) {
            // Mangling thousands of paths of `core` would take milliseconds.
            let is_mangled = info.level == SymbolExportLevel::Rust
                && !info.rustc_std_internal_symbol
                && !is_builtins;
            if let ExportedSymbol::NonGeneric(def_id) = symbol
                && !is_mangled
                && !tcx.is_foreign_item(def_id)
            {
                let name = tcx.symbol_name(Instance::mono(tcx, def_id)).name;
                let symbol = Symbol::intern(name);
                // Only a declaration of the kernel itself resolves to a kernel.
                match markers::of_def(tcx, def_id) {
                    Marker::Kernel(_) => drop(symbols.entry(symbol).or_insert(def_id)),
                    _ => drop(symbols.insert(symbol, def_id)),
                }
            }
        }
    };
    for &cnum in tcx.crates(()) {
        add(cnum);
    }
    add(LOCAL_CRATE);
    symbols
}
