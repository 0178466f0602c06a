//! Function signatures and the attributes of their parameters.

use nvvm_ir::{ByValue, Func, Module, ParamAttrs, Type};
use rustc_codegen_ssa::MemFlags;
use rustc_codegen_ssa::mir::operand::{OperandRef, OperandValue};
use rustc_codegen_ssa::mir::place::{PlaceRef, PlaceValue};
use rustc_codegen_ssa::traits::*;
use rustc_middle::ty::Ty;
use rustc_middle::ty::layout::LayoutOf;
use rustc_span::bug;
use rustc_target::callconv::{ArgAbi, ArgAttribute, ArgAttributes, ArgExtension, PassMode};

use crate::builder::Builder;
use crate::context::{Abi, CodegenCx};

/// Returns the LLVM signature of a function: the return slot, if there is one, followed by the
/// arguments as `rustc_codegen_ssa` passes them.
pub(crate) fn signature<'tcx>(cx: &CodegenCx<'tcx>, abi: &Abi<'tcx>) -> Type {
    let mut params = Vec::with_capacity(abi.args.len() + 1);
    let ret = match &abi.ret.mode {
        PassMode::Ignore => cx.ty(|t| t.void()),
        PassMode::Direct(_) | PassMode::Pair(..) => cx.immediate_backend_type(abi.ret.layout),
        PassMode::Cast { cast, .. } => cx.cast_backend_type(cast),
        PassMode::Indirect { .. } => {
            params.push(cx.type_ptr());
            cx.ty(|t| t.void())
        }
        PassMode::IndirectUnsized { .. } => bug!("an unsized result"),
    };
    for arg in fixed_args(abi) {
        match &arg.mode {
            PassMode::Ignore => {}
            PassMode::Direct(_) => params.push(cx.immediate_backend_type(arg.layout)),
            PassMode::Pair(..) => {
                params.push(cx.scalar_pair_element_backend_type(arg.layout, 0, true));
                params.push(cx.scalar_pair_element_backend_type(arg.layout, 1, true));
            }
            PassMode::Indirect { .. } => params.push(cx.type_ptr()),
            PassMode::IndirectUnsized { .. } => {
                let ptr = cx.layout_of(Ty::new_mut_ptr(cx.tcx, arg.layout.ty));
                params.push(cx.scalar_pair_element_backend_type(ptr, 0, true));
                params.push(cx.scalar_pair_element_backend_type(ptr, 1, true));
            }
            PassMode::Cast {
                cast,
                pad_i32_count,
            } => {
                params.extend((0..*pad_i32_count).map(|_| cx.type_i32()));
                params.push(cx.cast_backend_type(cast));
            }
        }
    }
    cx.ty(|t| t.func(ret, &params, abi.c_variadic))
}

/// Returns the arguments without those that a variadic function takes in addition.
fn fixed_args<'a, 'tcx>(abi: &'a Abi<'tcx>) -> &'a [ArgAbi<'tcx, Ty<'tcx>>] {
    match abi.c_variadic {
        true => &abi.args[..abi.fixed_count as usize],
        false => &abi.args,
    }
}

fn param_attrs(cx: &CodegenCx<'_>, attrs: &ArgAttributes) -> ParamAttrs {
    let mut result = ParamAttrs::default();
    if let Some(align) = attrs.pointee_align {
        result.align = align.bytes();
    }
    match attrs.arg_ext {
        ArgExtension::None => {}
        ArgExtension::Zext => result.zeroext = true,
        ArgExtension::Sext => result.signext = true,
    }
    if cx.optimizes() {
        let has = |attr| attrs.regular.contains(attr);
        // LLVM 7 duplicated alias scopes incorrectly when it unrolled loops, so rustc did not emit
        // `noalias` for it (rust-lang/rust#54878). The crate `nvvm` tells libnvvm not to create
        // alias scopes when it inlines; within one function `noalias` is sound.
        result.noalias = has(ArgAttribute::NoAlias);
        result.nonnull = has(ArgAttribute::NonNull);
        result.readonly = has(ArgAttribute::ReadOnly);
        result.nocapture = has(ArgAttribute::CapturesNone);
        if result.nonnull {
            result.dereferenceable = attrs.pointee_size.bytes();
        }
    }
    result
}

/// Returns the attributes of a signature's parameters, in the signature's order, and of its result.
pub(crate) fn attributes<'tcx>(
    cx: &CodegenCx<'tcx>,
    abi: &Abi<'tcx>,
) -> (Vec<ParamAttrs>, ParamAttrs) {
    let mut params = Vec::new();
    let mut ret = ParamAttrs::default();
    match &abi.ret.mode {
        PassMode::Direct(attrs) => ret = param_attrs(cx, attrs),
        PassMode::Indirect { attrs, .. } => params.push(ParamAttrs {
            by_value: Some(ByValue::Result(attrs.pointee_size.bytes())),
            ..param_attrs(cx, attrs)
        }),
        _ => {}
    }
    for arg in fixed_args(abi) {
        match &arg.mode {
            PassMode::Ignore => {}
            PassMode::Direct(attrs) => params.push(param_attrs(cx, attrs)),
            PassMode::Pair(a, b) => {
                params.push(param_attrs(cx, a));
                params.push(param_attrs(cx, b));
            }
            PassMode::Indirect { attrs, .. } => {
                let mut param = param_attrs(cx, attrs);
                // `byval` is correct only if the callee does not write to the value. Unoptimized
                // code does not mark read-only parameters.
                if param.readonly || !attrs.regular.contains(ArgAttribute::ReadOnly) {
                    param.by_value = Some(ByValue::Argument(attrs.pointee_size.bytes()));
                }
                params.push(param);
            }
            PassMode::IndirectUnsized { attrs, meta_attrs } => {
                params.push(param_attrs(cx, attrs));
                params.push(param_attrs(cx, meta_attrs));
            }
            PassMode::Cast { pad_i32_count, .. } => {
                params.extend((0..=*pad_i32_count).map(|_| ParamAttrs::default()));
            }
        }
    }
    (params, ret)
}

/// Applies the attributes of a function's ABI to the function.
pub(crate) fn apply_function_attrs<'tcx>(
    cx: &CodegenCx<'tcx>,
    module: &mut Module,
    func: Func,
    abi: &Abi<'tcx>,
) {
    let (params, ret) = attributes(cx, abi);
    let data = module.func_mut(func);
    data.param_attrs = params;
    data.ret_attrs = ret;
    data.attrs.no_return = abi.ret.layout.is_uninhabited();
}

impl<'a, 'tcx> ArgAbiBuilderMethods<'tcx> for Builder<'a, 'tcx> {
    fn store_fn_arg(
        &mut self,
        arg: &ArgAbi<'tcx, Ty<'tcx>>,
        index: &mut usize,
        dst: PlaceRef<'tcx, Self::Value>,
    ) {
        let mut next = || {
            let value = self.get_param(*index);
            *index += 1;
            value
        };
        match arg.mode {
            PassMode::Ignore => {}
            PassMode::Pair(..) => OperandValue::Pair(next(), next()).store(self, dst),
            PassMode::IndirectUnsized { .. } => bug!("an unsized argument cannot be stored"),
            PassMode::Direct(_) | PassMode::Indirect { .. } | PassMode::Cast { .. } => {
                let value = next();
                self.store_arg(arg, value, dst);
            }
        }
    }

    fn store_arg(
        &mut self,
        arg: &ArgAbi<'tcx, Ty<'tcx>>,
        value: Self::Value,
        dst: PlaceRef<'tcx, Self::Value>,
    ) {
        match &arg.mode {
            PassMode::Ignore => {}
            PassMode::Indirect { attrs, .. } => {
                let align = attrs.pointee_align.unwrap_or(arg.layout.align.abi);
                OperandValue::Ref(PlaceValue::new_sized(value, align)).store(self, dst);
            }
            PassMode::IndirectUnsized { .. } => bug!("an unsized argument cannot be stored"),
            PassMode::Cast { cast, .. } => {
                // The registers may hold more bytes than the type has, so the value goes through
                // memory.
                let size = cast.size(self);
                let align = cast.align(self).max(arg.layout.align.abi);
                let scratch = self.alloca(size, align);
                rustc_codegen_ssa::mir::store_cast(self, cast, value, scratch, align);
                let bytes = cast
                    .unaligned_size(self)
                    .bytes()
                    .min(arg.layout.size.bytes());
                let bytes = self.const_usize(bytes);
                self.memcpy(
                    dst.val.llval,
                    arg.layout.align.abi,
                    scratch,
                    align,
                    bytes,
                    MemFlags::empty(),
                    None,
                );
            }
            PassMode::Pair(..) | PassMode::Direct(_) => {
                OperandRef::from_immediate_or_packed_pair(self, value, arg.layout)
                    .val
                    .store(self, dst);
            }
        }
    }
}
