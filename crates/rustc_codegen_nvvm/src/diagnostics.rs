//! Diagnostics for code that cannot run on a GPU: at the user's line, with the chain of calls from
//! a kernel (`chain`) and a suggested fix.
//!
//! `toolkit` reports problems outside the code: the architecture, libnvvm, internal compiler
//! errors. `rustc` adds GPU-specific notes to rustc's own errors.

mod chain;
mod rustc;
pub(crate) mod toolkit;

pub(crate) use rustc::{install, install_for_host};

use rustc_attr_ir::LangItem;
use rustc_errors::Diag;
use rustc_hir::def::DefKind;
use rustc_lint_defs::Level;
use rustc_middle::mir::visit::Visitor;
use rustc_middle::mir::{ConstOperand, Location};
use rustc_middle::mono::CollectionMode;
use rustc_middle::ty::{self, Instance, Ty, TyCtxt, TypingEnv};

use rustc_span::Span;
use rustc_span::def_id::{DefId, LOCAL_CRATE};

use crate::context::{CodegenCx, Item, item_span};
use crate::known_items::is_standard_library;
use crate::markers;

/// Returns the suggestion for code that only the host needs.
fn host_only(cx: &CodegenCx<'_>) -> &'static str {
    match cx.host {
        true => "put host-only code behind `if !cuda_std::is_device()`",
        false => "put host-only code under `#[cfg(not(target_arch = \"nvptx64\"))]`",
    }
}

/// Returns what kernels use in the place of a function of `std`, which is named in backticks.
fn substitute(called: &str) -> Option<&'static str> {
    const SUBSTITUTES: [(&[&str], &str); 6] = [
        (
            // The only use of the host by `std`'s maps and sets.
            &["collections::Hash", "hash::RandomState", "hash::random"],
            "its hasher has random keys from the host: use a `BTreeMap`, or a fixed hasher, as \
             in `HashMap::<K, V, BuildHasherDefault<DefaultHasher>>::default()`",
        ),
        (
            &["time::Instant", "time::SystemTime"],
            "read the device's clock with `cuda_std::time::global_timer`, or measure the launch on \
             the host",
        ),
        (
            &["thread::sleep"],
            "suspend a thread of the device with `cuda_std::time::nanosleep`",
        ),
        (
            &["thread::spawn", "thread::scope", "thread::Builder"],
            "the threads of a launch run the kernel in parallel: launch more of them",
        ),
        (
            &["sync::Mutex", "sync::RwLock", "sync::Condvar"],
            "the threads of a launch share data through atomics, as in a parameter `&AtomicU32`, \
             or, within a block, through `#[shared]` memory",
        ),
        (
            &["fs::", "env::", "net::", "process::", "io::Stdin"],
            "call it on the host, and pass the result to the kernel as an argument",
        ),
    ];
    let called = called.trim_start_matches(['`', '<']);
    let called = called.strip_prefix("std::")?;
    let is_called = |(paths, _): &&(&[&str], _)| paths.iter().any(|path| called.starts_with(path));
    SUBSTITUTES.iter().find(is_called).map(|(_, help)| *help)
}

/// In a single-source session: reports host-only functionality that the standard library needs, at
/// the call of the library in other code. Each call is reported once. Returns false if it is other
/// code that needs the functionality.
fn in_library<'tcx>(
    cx: &CodegenCx<'tcx>,
    item: Item<'tcx>,
    place: Option<Span>,
    what: &str,
) -> bool {
    if !cx.host {
        return false;
    }
    let Some(call) = chain::call_of_library(cx, item, place) else {
        return false;
    };
    let is_first = cx.single_source.reported.borrow_mut().insert(call.span);
    if is_first {
        let message = format!("{} works only on the host", call.called);
        let mut diag = cx.tcx.dcx().struct_span_err(call.span, message);
        diag.span_label(
            call.span,
            format!("it needs {what}, which a GPU does not have"),
        );
        call.add_chain(&mut diag);
        diag.help(substitute(&call.called).unwrap_or_else(|| host_only(cx)));
        diag.emit();
    }
    true
}

/// Reports code that cannot run on a GPU, at a place of the item being lowered.
pub(crate) fn unsupported(cx: &CodegenCx<'_>, span: Span, what: &str) {
    let current = cx.current.get();
    if let Some(current) = current
        && in_library(cx, current.node, Some(span), what)
    {
        return;
    }
    let at = if span.is_dummy() {
        current.map_or(span, |current| item_span(cx.tcx, current.node))
    } else {
        span
    };
    let mut diag = not_for_gpu(cx, at, what);
    if let Some(current) = current {
        chain::add_from_place(cx, &mut diag, current.node, span);
    }
    if cx.host {
        diag.help(host_only(cx));
    }
    diag.emit();
}

/// Reports an item that cannot exist on a GPU, at its definition, with its users.
pub(crate) fn unsupported_item<'tcx>(cx: &CodegenCx<'tcx>, item: Item<'tcx>, what: &str) {
    if in_library(cx, item, None, what) {
        return;
    }
    let mut diag = not_for_gpu(cx, item_span(cx.tcx, item), what);
    chain::add_chain(cx, &mut diag, Some(item));
    if cx.host {
        diag.help(host_only(cx));
    }
    diag.emit();
}

fn not_for_gpu<'a>(cx: &CodegenCx<'a>, span: Span, what: &str) -> Diag<'a> {
    cx.tcx
        .dcx()
        .struct_span_err(span, format!("{what} cannot be compiled for a GPU"))
}

/// Reports a foreign function or static without a definition, at its first use.
pub(crate) fn undefined(cx: &CodegenCx<'_>, def_id: DefId) {
    let tcx = cx.tcx;
    let instance = Instance::mono(tcx, def_id);
    let name = tcx.symbol_name(instance).name;
    let is_static = matches!(tcx.def_kind(def_id), DefKind::Static { .. });
    let (kind, item) = if is_static {
        ("static", Item::Static(def_id))
    } else {
        ("function", Item::Fn(instance))
    };
    if in_library(cx, item, None, &format!("the foreign {kind} `{name}`")) {
        return;
    }
    let mut diag = at_use(
        cx,
        item,
        format!("the foreign {kind} `{name}` does not exist on a GPU"),
    );
    diag.span_note(tcx.def_span(def_id), "it is declared here");
    chain::add_chain(cx, &mut diag, Some(item));
    if is_static && cx.host {
        diag.help("`#[address_space(global)]` defines a static that the host can access");
    } else if is_static {
        diag.help("for a static that the host writes, define it in device code as a `static mut`");
    } else if let Some(equivalent) = equivalent_of_cuda_cpp(name) {
        diag.help(format!(
            "the equivalent of CUDA C++'s `{name}` is `cuda_std::{equivalent}`"
        ));
    } else {
        diag.help(
            "GPU code can call functions written in Rust and those of libdevice (such as \
             `__nv_sinf`)",
        );
    }
    diag.help(host_only(cx));
    diag.emit();
}

/// Returns the item of `cuda_std` for a built-in function of CUDA C++, which is not a symbol: a
/// foreign declaration of it compiles, but nothing defines the function.
fn equivalent_of_cuda_cpp(name: &str) -> Option<&'static str> {
    Some(match name {
        "__syncthreads" => "thread::sync_threads",
        "__syncwarp" => "warp::sync",
        "__threadfence" => "thread::device_fence",
        "__threadfence_block" => "thread::block_fence",
        "__threadfence_system" => "thread::system_fence",
        "__shfl_sync" => "warp::shuffle",
        "__shfl_up_sync" => "warp::shuffle_up",
        "__shfl_down_sync" => "warp::shuffle_down",
        "__shfl_xor_sync" => "warp::shuffle_xor",
        "__ballot_sync" => "warp::ballot",
        "__activemask" => "warp::active_mask",
        "__nanosleep" => "time::nanosleep",
        "atomicAdd" | "atomicSub" | "atomicMin" | "atomicMax" | "atomicAnd" | "atomicOr"
        | "atomicXor" | "atomicExch" | "atomicCAS" => "atomic::Atomic",
        "clock" => "time::clock",
        "clock64" => "time::clock64",
        "printf" => "println!",
        _ => return None,
    })
}

/// Reports a function of another crate whose MIR is not available.
pub(crate) fn without_code<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) {
    let tcx = cx.tcx;
    let def_id = instance.def_id();
    let message = format!(
        "missing MIR for `{}` in the crate `{}`",
        tcx.def_path_str(def_id),
        tcx.crate_name(def_id.krate)
    );
    let item = Item::Fn(instance);
    let mut diag = at_use(cx, item, message);
    diag.span_note(tcx.def_span(def_id), "it is defined here");
    chain::add_chain(cx, &mut diag, Some(item));
    diag.help(match cx.host {
        true => {
            "compile every crate that kernels reach with `cargo cuda`, or with the wrapper that \
             `cargo cuda init` sets"
        }
        false => {
            "compile every crate of a GPU program with `-Zalways-encode-mir`, which `RUSTFLAGS` \
             passes to all of them"
        }
    });
    diag.emit();
}

/// Evaluates the constants that a function's body requires. Returns false after reporting that an
/// evaluation failed, with the function's users.
pub(crate) fn check_constants<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) -> bool {
    let tcx = cx.tcx;
    let item = Item::Fn(instance);
    let errors = tcx.dcx().err_count_on_current_thread();
    if tcx
        .items_of_instance((instance, CollectionMode::UsedItems))
        .is_err()
    {
        let name = chain::name(tcx, item);
        let message = format!("the types in {name} cannot be resolved");
        let mut diag = tcx.dcx().struct_span_err(item_span(tcx, item), message);
        chain::add_chain(cx, &mut diag, Some(item));
        diag.emit();
        return false;
    }
    if tcx.dcx().err_count_on_current_thread() == errors {
        return true;
    }
    let encountered = |name| format!("the above error was encountered while compiling {name}");
    if let Some(failed) = chain::failed_constant(tcx, instance) {
        let mut diag = tcx
            .dcx()
            .struct_span_note(failed.span, encountered(failed.function));
        chain::add_from_scope(cx, &mut diag, instance, failed.scope);
        diag.emit();
    } else {
        let place = chain::place_of_use(cx, item);
        let mut diag = tcx
            .dcx()
            .struct_span_note(place, encountered(chain::name(tcx, item)));
        chain::add_chain(cx, &mut diag, Some(item));
        diag.emit();
    }
    false
}

/// Returns whether a function's instance may be lowered. Reports, as rustc does, a generic function
/// that recursively requires ever new instances of itself, and returns false.
pub(crate) fn check_recursion<'tcx>(cx: &CodegenCx<'tcx>, instance: Instance<'tcx>) -> bool {
    let tcx = cx.tcx;
    if instance.args.is_empty() {
        return true;
    }
    let depth = chain::instances_above(cx, instance);
    // The drop glue of a nested type needs one instance for each level.
    let is_glue = tcx.is_lang_item(instance.def_id(), LangItem::DropGlue);
    let depth = if is_glue { depth / 4 } else { depth };
    // Some types of the last instance within the limit would already exceed it.
    if tcx.recursion_limit().value_within_limit(depth + 2) {
        return true;
    }
    let def_id = instance.def_id();
    let name = tcx.def_path_str(def_id);
    let item = Item::Fn(instance);
    let message = format!(
        "reached the recursion limit while instantiating `{name}`: it calls itself with new type \
         arguments, and has more than {depth} instances"
    );
    let mut diag = at_use(cx, item, message);
    diag.span_note(tcx.def_span(def_id), format!("`{name}` is defined here"));
    chain::add_kernel(cx, &mut diag, item);
    diag.emit();
    false
}

/// Returns the span of the type of a function's parameter, or of the function's name if the
/// function is in another crate.
pub(crate) fn parameter_span(tcx: TyCtxt<'_>, function: DefId, index: usize) -> Span {
    let declaration = function
        .as_local()
        .and_then(|local| tcx.hir_node_by_def_id(local).fn_decl());
    declaration
        .and_then(|declaration| declaration.inputs.get(index))
        .map_or_else(|| ident_span(tcx, function), |ty| ty.span)
}

/// Reports a kernel that has the name of another kernel or item.
pub(crate) fn taken_name(cx: &CodegenCx<'_>, def_id: DefId, name: &str) {
    let tcx = cx.tcx;
    let span = ident_span(tcx, def_id);
    let message = format!("two kernels have the name `{name}`");
    let mut diag = tcx.dcx().struct_span_err(span, message);
    let others = cx.kernels.iter().map(|kernel| kernel.instance);
    let mut others = others.filter(|other| other.def_id() != def_id);
    if let Some(other) = others.find(|&other| tcx.symbol_name(other).name == name) {
        let other = other.def_id();
        let place = tcx.def_path_str(other);
        diag.span_note(
            ident_span(tcx, other),
            format!("the other one, `{place}`, is here"),
        );
    }
    diag.note("the host launches a kernel by its function's name, without the path of its module");
    diag.help("rename one of the kernels");
    diag.emit();
}

/// Reports a static with the symbol of another item.
pub(crate) fn taken_symbol(cx: &CodegenCx<'_>, def_id: DefId, symbol: &str) {
    let tcx = cx.tcx;
    let message = format!("the symbol `{symbol}` is already defined");
    let mut diag = tcx.dcx().struct_span_err(ident_span(tcx, def_id), message);
    let named = cx.module.borrow().named(symbol);
    let statics = cx.statics.borrow();
    let other = statics.iter().find(|&(_, value)| Some(*value) == named);
    if let Some((&other, _)) = other {
        let path = tcx.def_path_str(other);
        diag.span_note(ident_span(tcx, other), format!("it belongs to `{path}`"));
    }
    diag.note("the host finds a static in a module by its symbol");
    diag.help("if a macro expands to both statics, put each in its own module or function");
    diag.emit();
}

/// Reports a static in constant memory whose type has interior mutability: safe code could write to
/// it. `cuda_std::Constant` is exempt: only the host writes to it.
pub(crate) fn check_constant_memory(tcx: TyCtxt<'_>, def_id: DefId) {
    let env = TypingEnv::fully_monomorphized();
    let ty = Instance::mono(tcx, def_id).ty(tcx, env);
    let value = match *ty.kind() {
        ty::Adt(adt, args)
            if tcx.crate_name(adt.did().krate).as_str() == "cuda_std"
                && tcx.item_name(adt.did()).as_str() == "Constant" =>
        {
            args.type_at(0)
        }
        _ => ty,
    };
    if value.is_freeze(tcx, env) {
        return;
    }
    let span = ident_span(tcx, def_id);
    tcx.dcx()
        .struct_span_err(
            span,
            format!("constant memory cannot hold `{value}`: the type has interior mutability"),
        )
        .with_span_label(span, "kernels cannot write constant memory")
        .with_help(
            "use `#[address_space(global)]` for data that kernels modify, or `#[constant]` for \
             data that the host modifies",
        )
        .emit();
}

/// In a single-source session: warns about a mutable static that both sides can name. Each side has
/// its own copy, so that neither sees the other's changes. A static with an address space is marked
/// as the device's, and a `LazyLock` has the same value on both sides.
pub(crate) fn separate_static<'tcx>(cx: &CodegenCx<'tcx>, def_id: DefId) {
    let tcx = cx.tcx;
    let DefKind::Static { nested, .. } = tcx.def_kind(def_id) else {
        return;
    };
    // The memory behind a reference in a static's initializer is a static of its own.
    let named = match nested {
        true => tcx.parent(def_id),
        false => def_id,
    };
    let is_shared_in_source = || {
        let initial = tcx.eval_static_initializer(def_id);
        initial.is_ok_and(|initial| initial.inner().mutability.is_mut())
            && markers::section(tcx, named).is_none()
            && !is_lazy(tcx, named)
    };
    let allowed = tcx.sess.opts.lint_cap == Some(Level::Allow);
    if allowed || is_standard_library(tcx, named.krate) || !is_shared_in_source() {
        return;
    }
    let place = place_of_static(cx, def_id);
    // A dependency's own use of its statics, such as a cache or the level of a logger, is not this
    // crate's to change.
    let source_map = tcx.sess.source_map();
    let file = |span: Span| source_map.lookup_source_file(span.lo());
    let is_local = |span: Span| !span.is_dummy() && file(span).cnum == LOCAL_CRATE;
    if !named.is_local() && !is_local(place) {
        return;
    }
    let name = tcx.item_name(named);
    let message = format!("device code uses a copy of the static `{name}`, apart from the host's");
    let mut diag = tcx.dcx().struct_span_warn(place, message);
    diag.span_note(
        ident_span(tcx, named),
        format!("changes of `{name}` on one side are not seen on the other"),
    );
    chain::add_chain(cx, &mut diag, Some(Item::Static(def_id)));
    diag.help(
        "pass the value as a parameter: a kernel's `&AtomicU32` takes the host's `&mut u32`, and \
         copies it there and back",
    );
    diag.help(format!(
        "a static of the device is `#[address_space(global)] pub static {name}`, which the host \
         reads as `Global::<{name}>::own()?.load()?`"
    ));
    diag.emit();
}

/// Returns the place where the first user of a static refers to it.
fn place_of_static<'tcx>(cx: &CodegenCx<'tcx>, def_id: DefId) -> Span {
    struct Finder<'tcx>(TyCtxt<'tcx>, DefId, Option<Span>);

    impl<'tcx> Visitor<'tcx> for Finder<'tcx> {
        fn visit_const_operand(&mut self, operand: &ConstOperand<'tcx>, location: Location) {
            if operand.check_static_ptr(self.0) == Some(self.1) {
                self.2.get_or_insert(operand.span);
            }
            self.super_const_operand(operand, location);
        }
    }

    let item = Item::Static(def_id);
    let user = cx.referrers.borrow().get(&item).map(|user| user.node);
    let mut finder = Finder(cx.tcx, def_id, None);
    if let Some(Item::Fn(instance)) = user {
        finder.visit_body(cx.tcx.instance_mir(instance.def));
    }
    (finder.2).unwrap_or_else(|| chain::place_of_use(cx, item))
}

/// Returns whether a static's type is `LazyLock`.
fn is_lazy(tcx: TyCtxt<'_>, def_id: DefId) -> bool {
    let ty = Instance::mono(tcx, def_id).ty(tcx, TypingEnv::fully_monomorphized());
    ty.ty_adt_def().is_some_and(|adt| {
        is_standard_library(tcx, adt.did().krate) && tcx.item_name(adt.did()).as_str() == "LazyLock"
    })
}

/// Reports a kernel with a return type.
pub(crate) fn kernel_with_value(tcx: TyCtxt<'_>, def_id: DefId) {
    let declaration = def_id
        .as_local()
        .and_then(|local| tcx.hir_node_by_def_id(local).fn_decl())
        .map(|declaration| declaration.output.span());
    let span = declaration.unwrap_or_else(|| ident_span(tcx, def_id));
    tcx.dcx()
        .struct_span_err(span, "a kernel cannot return a value")
        .with_help("write results to a parameter: a `PerThread`, an `&Atomic` or a raw pointer")
        .emit();
}

/// Reports a `#[grid_constant]` parameter of an unsupported type.
pub(crate) fn grid_constant<'tcx>(tcx: TyCtxt<'tcx>, def_id: DefId, ty: Ty<'tcx>) {
    let message = format!("a `#[grid_constant]` parameter cannot be `{ty}`");
    tcx.dcx()
        .struct_span_err(ident_span(tcx, def_id), message)
        .with_help(
            "expected `&T`, where `T` is sized, not zero-sized, and without interior mutability",
        )
        .emit();
}

/// Reports a kernel that is an associated function.
pub(crate) fn kernel_in_impl(tcx: TyCtxt<'_>, def_id: DefId) {
    let parent = tcx.parent(def_id);
    let (article, block) = match tcx.def_kind(parent) {
        DefKind::Trait => ("a", "trait"),
        _ => ("an", "`impl` block"),
    };
    tcx.dcx()
        .struct_span_err(
            ident_span(tcx, def_id),
            format!("a kernel is a free function and cannot be in {article} {block}"),
        )
        .with_span_label(tcx.def_span(parent), format!("in this {block}"))
        .with_help("move it out of the block; it may call the type's associated functions")
        .emit();
}

/// Reports a section of a static or function that has the backend's prefix but an unknown name.
pub(crate) fn unknown_section(tcx: TyCtxt<'_>, def_id: DefId, section: &str) {
    let is_static = matches!(tcx.def_kind(def_id), DefKind::Static { .. });
    let (what, known) = if is_static {
        (
            "static",
            "one of `nvvm.shared`, `nvvm.constant` and `nvvm.global`",
        )
    } else {
        ("function", "`nvvm.kernel`")
    };
    let message = format!("unknown section `{section}` of a {what}, expected {known}");
    tcx.dcx().span_err(tcx.def_span(def_id), message);
}

/// Reports a function that the architecture does not support, at the line outside `cuda_std` that
/// calls into `cuda_std`.
pub(crate) fn needs_architecture<'tcx>(
    cx: &CodegenCx<'tcx>,
    marker: Instance<'tcx>,
    needed: &[nvvm::Arch],
) {
    let names: Vec<String> = needed
        .iter()
        .map(|arch| format!("`{}`", arch.sm()))
        .collect();
    let needed = names.join(" or ");
    let here = cx.arch.sm();
    chain::report_from_user(cx, Item::Fn(marker), "cuda_std", |used, span| {
        let message = format!(
            "{used} requires the architecture {needed}, but the program is compiled for `{here}`"
        );
        let mut diag = cx.tcx.dcx().struct_span_err(span, message);
        diag.help(match cx.host {
            true => format!(
                "compile for {needed} with the option `arch` in the environment variable \
                 `NVVM_OPTIONS`, or guard the code with a condition such as \
                 `cuda_std::device_has!(\"sm_90\")`"
            ),
            false => format!(
                "compile for {needed} with `CudaBuilder::arch` or `-Ctarget-cpu`, or guard the \
                 code with a condition such as `cfg!(target_feature = \"compute_90\")`"
            ),
        });
        diag
    });
}

/// Reports a kernel with clusters for an architecture without clusters.
pub(crate) fn clusters(cx: &CodegenCx<'_>, def_id: DefId) {
    let here = cx.arch.sm();
    let message = format!(
        "clusters require the architecture `sm_90`, but the program is compiled for `{here}`"
    );
    (cx.tcx.dcx())
        .struct_span_err(ident_span(cx.tcx, def_id), message)
        .emit();
}

/// Creates an error at the first use of an item.
fn at_use<'a>(cx: &CodegenCx<'a>, item: Item<'a>, message: String) -> Diag<'a> {
    cx.tcx
        .dcx()
        .struct_span_err(chain::place_of_use(cx, item), message)
}

/// Returns the span of an item's name, which macros around the item preserve.
pub(crate) fn ident_span(tcx: TyCtxt<'_>, def_id: DefId) -> Span {
    tcx.def_ident_span(def_id)
        .unwrap_or_else(|| tcx.def_span(def_id))
}
