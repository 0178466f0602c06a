//! Functions that the backend recognizes by name: functions of libdevice and the driver,
//! architecture requirements, and functions that the backend defines itself.

use nvvm::Arch;
use nvvm_ir::{BinOp, Builder as IrBuilder, CastOp, Func, IntPred, Linkage, MemAccess, Value};
use rustc_codegen_ssa::traits::*;
use rustc_middle::ty::layout::FnAbiOf;
use rustc_middle::ty::{self, Instance};

use crate::context::CodegenCx;
use crate::{diagnostics, inlining};

/// The prefix of foreign functions that stand for an architecture requirement of the code around
/// the call, for example `__cuda_std_requires_sm_90a_or_sm_100f`.
const REQUIRES: &str = "__cuda_std_requires_";

/// The foreign function that returns the location where the program called the standard library;
/// see [`crate::locations`].
pub(crate) const PROGRAM_LOCATION: &str = "__cuda_std_program_location";

/// Returns the architectures that a foreign function such as `__cuda_std_requires_sm_90` stands
/// for: the code around its call requires one of them.
fn required(symbol: &str) -> Option<Vec<Arch>> {
    let names = symbol.strip_prefix(REQUIRES)?.split("_or_");
    names.map(|name| name.parse().ok()).collect()
}

/// Returns whether libnvvm, libdevice, the driver, or the device runtime library, with which the
/// host links the module, provides a function.
pub(crate) fn comes_from_elsewhere(name: &str) -> bool {
    name.starts_with("__nv_")
        || name.starts_with("llvm.")
        || matches!(
            name,
            "vprintf" | "malloc" | "free" | "__assertfail" | "rust_eh_personality"
            // Of the device runtime, libcudadevrt.
            | "cudaGraphSetConditional"
            | "__cudaCDP2GetParameterBufferV2"
            | "__cudaCDP2LaunchDeviceV2"
        )
}

/// C's math functions for `f64`; the names of those for `f32` end in `f`.
const LIBM: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "j0",
    "j1",
    "ldexp",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "rint",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
];

/// Returns the libdevice function that implements a function of C's math library.
pub(crate) fn libm(symbol: &str) -> Option<String> {
    let known = |name: &str| LIBM.contains(&name);
    (known(symbol) || symbol.strip_suffix('f').is_some_and(known)).then(|| format!("__nv_{symbol}"))
}

/// Declares a function that is defined outside the program.
pub(crate) fn declare_foreign<'tcx>(
    cx: &CodegenCx<'tcx>,
    name: &str,
    abi: &crate::context::Abi<'tcx>,
) -> Value {
    let sig = crate::abi::signature(cx, abi);
    let mut module = cx.module.borrow_mut();
    if let Some(value) = module.named(name) {
        return value;
    }
    let func = module.add_func(name, sig).expect("the name is free");
    let data = module.func_mut(func);
    data.attrs.convergent = is_convergent(name);
    data.value
}

/// Returns the value of a foreign function that the backend itself defines.
pub(crate) fn declare<'tcx>(
    cx: &CodegenCx<'tcx>,
    symbol: &str,
    instance: Instance<'tcx>,
) -> Option<Value> {
    if let Some(needed) = required(symbol) {
        if !needed.iter().any(|&needed| cx.arch.has(needed)) {
            diagnostics::needs_architecture(cx, instance, &needed);
        }
        let abi = cx.fn_abi_of_instance(instance, ty::List::empty());
        let sig = crate::abi::signature(cx, abi);
        return Some(define(cx, symbol, sig, |b, _| {
            b.ret(None);
        }));
    }
    if symbol == PROGRAM_LOCATION {
        let abi = cx.fn_abi_of_instance(instance, ty::List::empty());
        let sig = crate::abi::signature(cx, abi);
        let unknown = crate::locations::unknown(cx);
        return Some(define(cx, symbol, sig, |b, _| {
            b.ret(Some(unknown));
        }));
    }
    // `alloc` calls this function so that linking fails without an allocator, which the compiler
    // reports for device code.
    let marker = rustc_symbol_mangling::mangle_internal_symbol(
        cx.tcx,
        rustc_ast::expand::allocator::NO_ALLOC_SHIM_IS_UNSTABLE,
    );
    (symbol == marker).then(|| {
        let abi = cx.fn_abi_of_instance(instance, ty::List::empty());
        let sig = crate::abi::signature(cx, abi);
        define(cx, symbol, sig, |b, _| {
            b.ret(None);
        })
    })
}

/// The PTX of LLVM's barrier intrinsics under their newer names, which rustc's `core::arch::nvptx`
/// uses and libnvvm does not know.
const BARRIERS: &[(&str, &str)] = &[
    ("sync.aligned.all", "bar.sync $0;"),
    ("sync.aligned.count", "bar.sync $0, $1;"),
    ("sync.all", "barrier.sync $0;"),
    ("sync.count", "barrier.sync $0, $1;"),
    ("arrive.aligned.count", "bar.arrive $0, $1;"),
    ("arrive.count", "barrier.arrive $0, $1;"),
];

/// Returns the PTX of an LLVM intrinsic that libnvvm lacks.
pub(crate) fn intrinsic_as_ptx(name: &str) -> Option<&'static str> {
    let barrier = name.strip_prefix("llvm.nvvm.barrier.cta.")?;
    let (_, ptx) = BARRIERS.iter().find(|(of, _)| *of == barrier)?;
    Some(ptx)
}

/// Returns the intrinsics that libnvvm does not know, which it emits as external functions.
pub(crate) fn unknown_intrinsics(ptx: &str) -> impl Iterator<Item = &str> {
    let declared = ptx::external_functions(ptx).into_iter();
    declared.filter(|name| name.starts_with("llvm."))
}

/// Returns whether the threads of a warp execute an intrinsic together.
fn is_convergent(name: &str) -> bool {
    const CONVERGENT: &[&str] = &[
        "activemask",
        "bar.",
        "barrier",
        "elect",
        "ldmatrix",
        "match.",
        "mbarrier",
        "mma",
        "movmatrix",
        "redux.",
        "setmaxnreg",
        "shfl.",
        "stmatrix",
        "tcgen05",
        "vote.",
        "wgmma",
        "wmma",
    ];
    let nvvm = name.strip_prefix("llvm.nvvm.");
    nvvm.is_some_and(|name| CONVERGENT.iter().any(|prefix| name.starts_with(prefix)))
}

/// Declares an LLVM intrinsic that a crate declares itself (`#[link_name = "llvm.nvvm.…"]`).
pub(crate) fn declare_intrinsic(
    cx: &CodegenCx<'_>,
    name: &str,
    ret: nvvm_ir::Type,
    args: &[Value],
) {
    let mut module = cx.module.borrow_mut();
    let params: Vec<nvvm_ir::Type> = args.iter().map(|&arg| module.ty(arg)).collect();
    let sig = module.types.func(ret, &params, false);
    if let Some(func) = module.add_func(name, sig) {
        module.func_mut(func).attrs.convergent = is_convergent(name);
    }
}

/// Defines a function of the backend in the module, unless it is already defined.
pub(crate) fn define(
    cx: &CodegenCx<'_>,
    name: &str,
    sig: nvvm_ir::Type,
    body: impl FnOnce(&mut IrBuilder<'_>, Func),
) -> Value {
    let mut module = cx.module.borrow_mut();
    if let Some(value) = module.named(name) {
        return value;
    }
    let func = module.add_func(name, sig).expect("the name is free");
    let data = module.func_mut(func);
    data.linkage = Linkage::Internal;
    inlining::always(&mut data.attrs);
    data.attrs.no_unwind = true;
    let value = data.value;
    let entry = module.add_block(func, "entry");
    body(&mut IrBuilder::new(&mut module, entry), func);
    value
}

/// The name of the backend's `memcmp`.
pub(crate) const MEMCMP: &str = "__rust_nvvm_memcmp";

/// Defines `memcmp`, which compares byte by byte and returns the sign of the first difference.
pub(crate) fn memcmp(cx: &CodegenCx<'_>) {
    let (ptr, i64, i32, i8) = (cx.type_ptr(), cx.type_i64(), cx.type_i32(), cx.type_i8());
    let sig = cx.type_func(&[ptr, ptr, i64], i32);
    if cx.module.borrow().named(MEMCMP).is_some() {
        return;
    }
    define(cx, MEMCMP, sig, |b, func| {
        b.module.func_mut(func).attrs.always_inline = false;
        let [left, right, len] = b.module.func(func).params[..] else {
            unreachable!()
        };
        let entry = b.block();
        let header = b.module.add_block(func, "header");
        let body = b.module.add_block(func, "body");
        let next = b.module.add_block(func, "next");
        let differ = b.module.add_block(func, "differ");
        let equal = b.module.add_block(func, "equal");
        let zero = b.module.const_i64(0);
        let one = b.module.const_i64(1);
        let access = MemAccess {
            align: 1,
            ..MemAccess::default()
        };
        b.br(header);

        b.switch_to(header);
        let index = b.phi(i64, vec![(zero, entry)]);
        let more = b.icmp(IntPred::Ult, index, len);
        b.cond_br(more, body, equal);

        b.switch_to(body);
        let left = b.gep(i8, left, &[index], true);
        let right = b.gep(i8, right, &[index], true);
        let left = b.load(i8, left, access);
        let right = b.load(i8, right, access);
        let same = b.icmp(IntPred::Eq, left, right);
        b.cond_br(same, next, differ);

        b.switch_to(next);
        let following = b.bin(BinOp::Add, index, one);
        b.br(header);
        if let Some(nvvm_ir::InstKind::Phi(incoming)) =
            b.module.inst_mut(index).map(|inst| &mut inst.kind)
        {
            incoming.push((following, next));
        }

        b.switch_to(differ);
        let left = b.cast(CastOp::ZExt, left, i32);
        let right = b.cast(CastOp::ZExt, right, i32);
        let order = b.bin(BinOp::Sub, left, right);
        b.ret(Some(order));

        b.switch_to(equal);
        let zero = b.module.const_i32(0);
        b.ret(Some(zero));
    });
}
