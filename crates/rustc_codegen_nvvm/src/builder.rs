//! The builder that `rustc_codegen_ssa` drives: emits the instructions for MIR operations.

use std::ops::Deref;

use nvvm_ir::{
    BinOp, Block, Builder as IrBuilder, Call, Callee, CastOp, Di, Flags, InstKind, Intrinsic,
    MemAccess, Ordering, ParamAttrs, RmwOp, Scope, Type, Value,
};
use rustc_abi::{
    self as abi, Align, BackendRepr, CanonAbi, HasDataLayout, Size, TargetDataLayout, WrappingRange,
};
use rustc_ast::expand::typetree::FncTree;
use rustc_codegen_ssa::MemFlags;
use rustc_codegen_ssa::common::{
    AtomicRmwBinOp, IntPredicate, RealPredicate, SynchronizationScope,
};
use rustc_codegen_ssa::mir::operand::{OperandRef, OperandValue};
use rustc_codegen_ssa::mir::place::{PlaceRef, PlaceValue};
use rustc_codegen_ssa::traits::*;
use rustc_middle::middle::codegen_fn_attrs::CodegenFnAttrs;
use rustc_middle::ty::layout::{
    FnAbiError, FnAbiOfHelpers, FnAbiRequest, HasTyCtxt, HasTypingEnv, LayoutError,
    LayoutOfHelpers, TyAndLayout,
};
use rustc_middle::ty::{self, AtomicOrdering, Instance, Ty, TyCtxt};
use rustc_session::config::OptLevel;
use rustc_span::{DUMMY_SP, Span, Spanned, bug};
use rustc_target::callconv::FnAbi;
use rustc_target::spec::{HasTargetSpec, Target};

use crate::context::CodegenCx;

/// Variables of up to this many bytes are not merged with others, since they may be promoted to
/// registers.
const STAYS_APART: u64 = 512;

/// Appends instructions to a basic block.
pub(crate) struct Builder<'a, 'tcx> {
    pub cx: &'a CodegenCx<'tcx>,
    pub block: Block,
    pub loc: Option<Di>,
    pub span: Span,
}

impl<'a, 'tcx> Builder<'a, 'tcx> {
    /// Runs `f` with a builder of the IR at the current position.
    pub(crate) fn ir<R>(&self, f: impl FnOnce(&mut IrBuilder<'_>) -> R) -> R {
        crate::context::with_builder(self.cx, self.block, self.loc, f)
    }

    fn bin_flags(&mut self, op: BinOp, lhs: Value, rhs: Value, flags: Flags) -> Value {
        self.ir(|b| b.bin_flags(op, lhs, rhs, flags))
    }

    fn cast(&mut self, op: CastOp, value: Value, ty: Type) -> Value {
        self.ir(|b| {
            if b.module.ty(value) == ty {
                value
            } else {
                b.cast(op, value, ty)
            }
        })
    }

    /// Calls an intrinsic.
    pub(crate) fn intrinsic(&mut self, intrinsic: Intrinsic, ret: Type, args: &[Value]) -> Value {
        self.ir(|b| b.intrinsic(intrinsic, ret, args))
    }

    fn func(&self) -> nvvm_ir::Func {
        self.cx.module.borrow().block(self.block).func
    }

    fn void(&self) -> Type {
        self.cx.ty(|t| t.void())
    }

    fn access(&self, align: Align) -> MemAccess {
        MemAccess {
            align: align.bytes(),
            ..MemAccess::default()
        }
    }

    /// Calls a foreign function by name, for example one of libdevice.
    pub(crate) fn call_named(&mut self, name: &str, ret: Type, args: &[Value]) -> Value {
        self.ir(|b| {
            let params: Vec<Type> = args.iter().map(|&a| b.module.ty(a)).collect();
            let sig = b.module.types.func(ret, &params, false);
            let callee = b.module.named(name).unwrap_or_else(|| {
                let func = b.module.add_func(name, sig).expect("the name is free");
                b.module.func(func).value
            });
            b.call(sig, callee, args)
        })
    }
}

impl BackendTypes for Builder<'_, '_> {
    type Function = Value;
    type BasicBlock = Block;
    type Funclet = ();
    type Value = Value;
    type Type = Type;
    type FunctionSignature = Type;
    type DIScope = Di;
    type DILocation = Di;
    type DIVariable = Di;
}

impl<'tcx> Deref for Builder<'_, 'tcx> {
    type Target = CodegenCx<'tcx>;
    fn deref(&self) -> &CodegenCx<'tcx> {
        self.cx
    }
}

impl HasDataLayout for Builder<'_, '_> {
    fn data_layout(&self) -> &TargetDataLayout {
        self.cx.data_layout()
    }
}

impl<'tcx> HasTyCtxt<'tcx> for Builder<'_, 'tcx> {
    fn tcx(&self) -> TyCtxt<'tcx> {
        self.cx.tcx
    }
}

impl<'tcx> HasTypingEnv<'tcx> for Builder<'_, 'tcx> {
    fn typing_env(&self) -> ty::TypingEnv<'tcx> {
        self.cx.typing_env()
    }
}

impl HasTargetSpec for Builder<'_, '_> {
    fn target_spec(&self) -> &Target {
        self.cx.target_spec()
    }
}

impl<'tcx> LayoutOfHelpers<'tcx> for Builder<'_, 'tcx> {
    fn handle_layout_err(&self, err: LayoutError<'tcx>, span: Span, ty: Ty<'tcx>) -> ! {
        self.cx.handle_layout_err(err, span, ty)
    }
}

impl<'tcx> FnAbiOfHelpers<'tcx> for Builder<'_, 'tcx> {
    fn handle_fn_abi_err(
        &self,
        err: FnAbiError<'tcx>,
        span: Span,
        request: FnAbiRequest<'tcx>,
    ) -> ! {
        self.cx.handle_fn_abi_err(err, span, request)
    }
}

impl AbiBuilderMethods for Builder<'_, '_> {
    fn get_param(&mut self, index: usize) -> Value {
        let func = self.func();
        self.cx.module.borrow().func(func).params[index]
    }
}

impl<'tcx> CoverageInfoBuilderMethods<'tcx> for Builder<'_, 'tcx> {
    fn add_coverage(
        &mut self,
        _instance: Instance<'tcx>,
        _kind: &rustc_middle::mir::coverage::CoverageKind,
    ) {
    }
}

macro_rules! binary {
    ($($name:ident => $op:ident $({ $($flag:ident),* })?;)*) => {
        $(fn $name(&mut self, lhs: Value, rhs: Value) -> Value {
            self.bin_flags(BinOp::$op, lhs, rhs, Flags { $($($flag: true,)*)? ..Flags::default() })
        })*
    };
}

macro_rules! casts {
    ($($name:ident => $op:ident;)*) => {
        $(fn $name(&mut self, value: Value, ty: Type) -> Value {
            self.cast(CastOp::$op, value, ty)
        })*
    };
}

impl<'a, 'tcx> BuilderMethods<'a, 'tcx> for Builder<'a, 'tcx> {
    type CodegenCx = CodegenCx<'tcx>;

    fn build(cx: &'a CodegenCx<'tcx>, block: Block) -> Self {
        Builder {
            cx,
            block,
            loc: None,
            span: DUMMY_SP,
        }
    }

    fn cx(&self) -> &CodegenCx<'tcx> {
        self.cx
    }

    fn llbb(&self) -> Block {
        self.block
    }

    fn set_span(&mut self, span: Span) {
        self.span = span;
        // Items required from here on are attributed to this span.
        if let Some(current) = self.cx.current.get() {
            self.cx.current.set(Some(Spanned {
                node: current.node,
                span,
            }));
        }
    }

    fn append_block(cx: &'a CodegenCx<'tcx>, func: Value, name: &str) -> Block {
        let mut module = cx.module.borrow_mut();
        let func = module.as_func(func).expect("blocks belong to functions");
        let block = module.add_block(func, name);
        cx.locations.borrow_mut().note_block(block, name);
        block
    }

    fn append_sibling_block(&mut self, name: &str) -> Block {
        let func = self.func();
        let block = self.cx.module.borrow_mut().add_block(func, name);
        self.cx
            .locations
            .borrow_mut()
            .note_sibling(block, self.block);
        block
    }

    fn switch_to_block(&mut self, block: Block) {
        self.block = block;
    }

    fn ret_void(&mut self) {
        self.ir(|b| b.ret(None));
    }

    fn ret(&mut self, value: Value) {
        self.ir(|b| b.ret(Some(value)));
    }

    fn br(&mut self, to: Block) {
        self.ir(|b| b.br(to));
    }

    fn cond_br(&mut self, cond: Value, then: Block, otherwise: Block) {
        self.ir(|b| b.cond_br(cond, then, otherwise));
    }

    fn switch(
        &mut self,
        value: Value,
        default: Block,
        cases: impl ExactSizeIterator<Item = (u128, Block)>,
    ) {
        let cases = cases.collect();
        self.ir(|b| b.switch(value, default, cases));
    }

    fn invoke(
        &mut self,
        sig: Type,
        fn_attrs: Option<&CodegenFnAttrs>,
        fn_abi: Option<&FnAbi<'tcx, Ty<'tcx>>>,
        func: Value,
        return_slot: ReturnSlot<Value>,
        args: &[Value],
        then: Block,
        _catch: Block,
        funclet: Option<&()>,
        instance: Option<Instance<'tcx>>,
    ) -> Value {
        // Device code does not unwind, so an `invoke` is a call.
        let value = self.call(
            sig,
            fn_attrs,
            fn_abi,
            func,
            return_slot,
            args,
            funclet,
            instance,
        );
        self.br(then);
        value
    }

    fn unreachable(&mut self) {
        self.ir(|b| b.unreachable());
    }

    fn unreachable_nonterminator(&mut self) {
        let no = self.const_bool(false);
        self.assume(no);
    }

    binary! {
        add => Add;
        sub => Sub;
        mul => Mul;
        udiv => UDiv;
        exactudiv => UDiv { exact };
        sdiv => SDiv;
        exactsdiv => SDiv { exact };
        urem => URem;
        srem => SRem;
        shl => Shl;
        lshr => LShr;
        ashr => AShr;
        and => And;
        or => Or;
        xor => Xor;
        unchecked_sadd => Add { nsw };
        unchecked_uadd => Add { nuw };
        unchecked_suadd => Add { nsw, nuw };
        unchecked_ssub => Sub { nsw };
        unchecked_usub => Sub { nuw };
        unchecked_susub => Sub { nsw, nuw };
        unchecked_smul => Mul { nsw };
        unchecked_umul => Mul { nuw };
        unchecked_sumul => Mul { nsw, nuw };
        fadd => FAdd;
        fsub => FSub;
        fmul => FMul;
        fdiv => FDiv;
        frem => FRem;
        fadd_fast => FAdd { fast };
        fsub_fast => FSub { fast };
        fmul_fast => FMul { fast };
        fdiv_fast => FDiv { fast };
        frem_fast => FRem { fast };
        fadd_algebraic => FAdd { algebraic };
        fsub_algebraic => FSub { algebraic };
        fmul_algebraic => FMul { algebraic };
        fdiv_algebraic => FDiv { algebraic };
        frem_algebraic => FRem { algebraic };
    }

    fn neg(&mut self, value: Value) -> Value {
        let zero = self.const_null(self.val_ty(value));
        self.sub(zero, value)
    }

    fn fneg(&mut self, value: Value) -> Value {
        self.ir(|b| b.fneg(value))
    }

    fn not(&mut self, value: Value) -> Value {
        let ty = self.val_ty(value);
        let ones = match self.type_kind(ty) {
            rustc_codegen_ssa::common::TypeKind::Vector => {
                let ones = self.const_int(self.element_type(ty), -1);
                self.vector_splat(self.vector_length(ty), ones)
            }
            _ => self.const_int(ty, -1),
        };
        self.xor(value, ones)
    }

    fn checked_binop(
        &mut self,
        op: OverflowOp,
        ty: Ty<'tcx>,
        lhs: Value,
        rhs: Value,
    ) -> (Value, Value) {
        let (_, signed) = ty.int_size_and_signed(self.tcx);
        let intrinsic = match (op, signed) {
            (OverflowOp::Add, false) => {
                let sum = self.add(lhs, rhs);
                return (sum, self.icmp(IntPredicate::IntULT, sum, lhs));
            }
            (OverflowOp::Sub, false) => {
                let difference = self.sub(lhs, rhs);
                return (difference, self.icmp(IntPredicate::IntULT, lhs, rhs));
            }
            (OverflowOp::Mul, false) => Intrinsic::UMulOverflow,
            (OverflowOp::Add, true) => Intrinsic::SAddOverflow,
            (OverflowOp::Sub, true) => Intrinsic::SSubOverflow,
            (OverflowOp::Mul, true) => Intrinsic::SMulOverflow,
        };
        let int = self.val_ty(lhs);
        let pair = self.cx.ty(|t| {
            let i1 = t.int(1);
            t.structure(&[int, i1], false)
        });
        let result = self.intrinsic(intrinsic, pair, &[lhs, rhs]);
        (self.extract_value(result, 0), self.extract_value(result, 1))
    }

    fn from_immediate(&mut self, value: Value) -> Value {
        if self.val_ty(value) == self.int(1) {
            let i8 = self.type_i8();
            self.zext(value, i8)
        } else {
            value
        }
    }

    fn to_immediate_scalar(&mut self, value: Value, scalar: abi::Scalar) -> Value {
        if scalar.is_bool() {
            let i1 = self.int(1);
            return self.trunc(value, i1);
        }
        value
    }

    fn alloca(&mut self, size: Size, align: Align) -> Value {
        // The type is an array of the largest integers that fill the variable. SROA in libnvvm
        // splits a variable that is only copied by its declared type, and would reassemble single
        // bytes with shifts.
        let (size, mut unit) = (size.bytes(), align.bytes().min(8));
        while size % unit != 0 {
            unit /= 2;
        }
        let ty = self.ty(|types| {
            let int = types.int(8 * unit as u32);
            let array = types.array(int, size / unit);
            // LLVM's inliner merges array allocas from different call sites to save stack. After
            // promotion to registers, the merged variable appears to hold the previous one's
            // contents, and libnvvm has miscompiled such code. It does not merge allocas of struct
            // type.
            match size {
                ..=STAYS_APART => types.structure(&[array], false),
                _ => array,
            }
        });
        self.ir(|b| b.alloca(ty, align.bytes()))
    }

    fn alloca_with_ty(&mut self, layout: TyAndLayout<'tcx>) -> Value {
        self.alloca(layout.size, layout.align.abi)
    }

    fn load(&mut self, ty: Type, ptr: Value, align: Align) -> Value {
        let access = self.access(align);
        self.ir(|b| b.load(ty, ptr, access))
    }

    fn volatile_load(&mut self, ty: Type, ptr: Value, align: Align) -> Value {
        let access = MemAccess {
            volatile: true,
            ..self.access(align)
        };
        self.ir(|b| b.load(ty, ptr, access))
    }

    fn atomic_load(
        &mut self,
        ty: Type,
        ptr: Value,
        order: AtomicOrdering,
        volatile: bool,
        size: Size,
    ) -> Value {
        let access = MemAccess {
            align: size.bytes(),
            volatile,
            atomic: Some((ordering(order), Scope::System)),
            ..MemAccess::default()
        };
        self.ir(|b| b.load(ty, ptr, access))
    }

    fn load_operand(&mut self, place: PlaceRef<'tcx, Value>) -> OperandRef<'tcx, Value> {
        if place.layout.is_zst() {
            return OperandRef::zero_sized(place.layout);
        }
        let value = if place.val.llextra.is_some() {
            OperandValue::Ref(place.val)
        } else if place.layout.backend_repr.is_scalar_or_simd() {
            let ty = self.backend_type(place.layout);
            let load = self.load(ty, place.val.llval, place.val.align);
            OperandValue::Immediate(match place.layout.backend_repr {
                BackendRepr::Scalar(scalar) => {
                    self.scalar_metadata(load, scalar);
                    self.to_immediate_scalar(load, scalar)
                }
                _ => load,
            })
        } else if let BackendRepr::ScalarPair { a, b, b_offset } = place.layout.backend_repr {
            let first = self.load_half(place.layout, 0, a, place.val.llval, place.val.align);
            let offset = self.const_usize(b_offset.bytes());
            let second = self.inbounds_ptradd(place.val.llval, offset);
            let align = place.val.align.restrict_for_offset(b_offset);
            OperandValue::Pair(first, self.load_half(place.layout, 1, b, second, align))
        } else {
            OperandValue::Ref(place.val)
        };
        OperandRef {
            val: value,
            layout: place.layout,
            move_annotation: None,
        }
    }

    fn write_operand_repeatedly(
        &mut self,
        element: OperandRef<'tcx, Value>,
        count: u64,
        dest: PlaceRef<'tcx, Value>,
    ) {
        let zero = self.const_usize(0);
        let count = self.const_usize(count);
        let entry = self.block;
        let header = self.append_sibling_block("repeat_header");
        let body = self.append_sibling_block("repeat_body");
        let next = self.append_sibling_block("repeat_next");
        self.br(header);

        self.switch_to_block(header);
        let i64 = self.type_i64();
        let index = self.ir(|b| b.phi(i64, vec![(zero, entry)]));
        let more = self.icmp(IntPredicate::IntULT, index, count);
        self.cond_br(more, body, next);

        self.switch_to_block(body);
        let place = dest.project_index(self, index);
        element.val.store(self, place);
        let one = self.const_usize(1);
        let following = self.unchecked_uadd(index, one);
        let latch = self.block;
        self.br(header);
        let mut module = self.cx.module.borrow_mut();
        if let Some(InstKind::Phi(incoming)) = module.inst_mut(index).map(|i| &mut i.kind) {
            incoming.push((following, latch));
        }
        drop(module);
        self.switch_to_block(next);
    }

    fn range_metadata(&mut self, load: Value, range: WrappingRange) {
        if !self.optimizes() {
            return;
        }
        let mut module = self.cx.module.borrow_mut();
        if let Some(InstKind::Load { access, .. }) = module.inst_mut(load).map(|i| &mut i.kind) {
            access.range = Some((range.start, range.end));
        }
    }

    fn nonnull_metadata(&mut self, load: Value) {
        if !self.optimizes() {
            return;
        }
        let mut module = self.cx.module.borrow_mut();
        if let Some(InstKind::Load { access, .. }) = module.inst_mut(load).map(|i| &mut i.kind) {
            access.nonnull = true;
        }
    }

    fn store(&mut self, value: Value, ptr: Value, align: Align) -> Value {
        self.store_with_flags(value, ptr, align, MemFlags::empty())
    }

    fn store_with_flags(
        &mut self,
        value: Value,
        ptr: Value,
        align: Align,
        flags: MemFlags,
    ) -> Value {
        let access = MemAccess {
            volatile: flags.contains(MemFlags::VOLATILE),
            ..self.access(align)
        };
        self.ir(|b| b.store(value, ptr, access))
    }

    fn atomic_store(
        &mut self,
        value: Value,
        ptr: Value,
        order: AtomicOrdering,
        volatile: bool,
        size: Size,
    ) {
        let access = MemAccess {
            align: size.bytes(),
            volatile,
            atomic: Some((ordering(order), Scope::System)),
            ..MemAccess::default()
        };
        self.ir(|b| b.store(value, ptr, access));
    }

    fn gep(&mut self, ty: Type, ptr: Value, indices: &[Value]) -> Value {
        self.ir(|b| b.gep(ty, ptr, indices, false))
    }

    fn inbounds_gep(&mut self, ty: Type, ptr: Value, indices: &[Value]) -> Value {
        self.ir(|b| b.gep(ty, ptr, indices, true))
    }

    casts! {
        trunc => Trunc;
        sext => SExt;
        zext => ZExt;
        fptoui => FpToUi;
        fptosi => FpToSi;
        uitofp => UiToFp;
        sitofp => SiToFp;
        fptrunc => FpTrunc;
        fpext => FpExt;
        ptrtoint => PtrToInt;
        inttoptr => IntToPtr;
        bitcast => Bitcast;
    }

    fn fptoui_sat(&mut self, value: Value, ty: Type) -> Value {
        self.intrinsic(Intrinsic::FpToUiSat, ty, &[value])
    }

    fn fptosi_sat(&mut self, value: Value, ty: Type) -> Value {
        self.intrinsic(Intrinsic::FpToSiSat, ty, &[value])
    }

    fn intcast(&mut self, value: Value, ty: Type, signed: bool) -> Value {
        let from = self.val_ty(value);
        let bits = |ty: Type| {
            let module = self.cx.module.borrow();
            let scalar = module.types.scalar(ty);
            module.types.bits(scalar)
        };
        let op = match bits(from).cmp(&bits(ty)) {
            std::cmp::Ordering::Equal => return value,
            std::cmp::Ordering::Greater => CastOp::Trunc,
            std::cmp::Ordering::Less if signed => CastOp::SExt,
            std::cmp::Ordering::Less => CastOp::ZExt,
        };
        self.cast(op, value, ty)
    }

    fn pointercast(&mut self, value: Value, ty: Type) -> Value {
        self.cast(CastOp::AddrSpaceCast, value, ty)
    }

    fn icmp(&mut self, pred: IntPredicate, lhs: Value, rhs: Value) -> Value {
        let pred = int_pred(pred);
        self.ir(|b| b.icmp(pred, lhs, rhs))
    }

    fn fcmp(&mut self, pred: RealPredicate, lhs: Value, rhs: Value) -> Value {
        let pred = float_pred(pred);
        self.ir(|b| b.fcmp(pred, lhs, rhs))
    }

    fn typed_place_copy_with_flags(
        &mut self,
        dst: PlaceValue<Value>,
        src: PlaceValue<Value>,
        layout: TyAndLayout<'tcx>,
        flags: MemFlags,
    ) {
        // As in the default method: small code matters more than what LLVM infers from a copy.
        if self.sess().opts.optimize == OptLevel::No && layout.backend_repr.is_scalar_or_simd() {
            let value = self.load_operand(src.with_type(layout));
            let dst = dst.with_type(layout);
            match flags {
                MemFlags::VOLATILE => value.val.volatile_store(self, dst),
                MemFlags::NONTEMPORAL => value.val.nontemporal_store(self, dst),
                _ => value.val.store(self, dst),
            }
            return;
        }
        let words = self.cx.optimizes() && !flags.contains(MemFlags::VOLATILE);
        if layout.is_zst() || words && crate::small_copies::copy_typed(self, dst, src, layout) {
            return;
        }
        let size = self.const_usize(layout.size.bytes());
        self.memcpy(
            dst.llval, dst.align, src.llval, src.align, size, flags, None,
        );
    }

    fn memcpy(
        &mut self,
        dst: Value,
        dst_align: Align,
        src: Value,
        src_align: Align,
        size: Value,
        flags: MemFlags,
        _types: Option<FncTree>,
    ) {
        let words = self.cx.optimizes() && !flags.contains(MemFlags::VOLATILE);
        if words && crate::small_copies::copy(self, (dst, dst_align), (src, src_align), size) {
            return;
        }
        self.copy(
            Intrinsic::Memcpy,
            (dst, dst_align),
            (src, src_align),
            size,
            flags,
        );
    }

    fn memmove(
        &mut self,
        dst: Value,
        dst_align: Align,
        src: Value,
        src_align: Align,
        size: Value,
        flags: MemFlags,
    ) {
        self.copy(
            Intrinsic::Memmove,
            (dst, dst_align),
            (src, src_align),
            size,
            flags,
        );
    }

    fn memset(&mut self, ptr: Value, byte: Value, size: Value, align: Align, flags: MemFlags) {
        // An array of `MaybeUninit`: the contents need not change.
        if self.module.borrow().as_const(byte) == Some(&nvvm_ir::Const::Undef) {
            return;
        }
        let i64 = self.type_i64();
        let size = self.intcast(size, i64, false);
        let volatile = self.const_bool(flags.contains(MemFlags::VOLATILE));
        let attrs = vec![
            aligned(align),
            ParamAttrs::default(),
            ParamAttrs::default(),
            ParamAttrs::default(),
        ];
        self.call_intrinsic(Intrinsic::Memset, &[ptr, byte, size, volatile], attrs);
    }

    fn vscale(&mut self, _ty: Type) -> Value {
        bug!("scalable vectors on a GPU")
    }

    fn select(&mut self, cond: Value, then: Value, otherwise: Value) -> Value {
        self.ir(|b| b.select(cond, then, otherwise))
    }

    fn va_arg(&mut self, _list: Value, ty: Type) -> Value {
        self.unsupported("C-variadic functions");
        self.const_undef(ty)
    }

    fn extract_element(&mut self, vector: Value, index: Value) -> Value {
        self.ir(|b| b.extract_element(vector, index))
    }

    fn vector_splat(&mut self, count: usize, element: Value) -> Value {
        self.ir(|b| {
            let scalar = b.module.ty(element);
            let ty = b.module.types.vector(scalar, count as u32);
            let undef = b.module.const_undef(ty);
            let zero = b.module.const_i32(0);
            let first = b.insert_element(undef, element, zero);
            b.shuffle(first, undef, vec![Some(0); count])
        })
    }

    fn extract_value(&mut self, aggregate: Value, index: u64) -> Value {
        self.ir(|b| b.extract_value(aggregate, index as u32))
    }

    fn insert_value(&mut self, aggregate: Value, element: Value, index: u64) -> Value {
        self.ir(|b| b.insert_value(aggregate, element, index as u32))
    }

    // Device code does not unwind: the landing pads in MIR are never reached.

    fn set_personality_fn(&mut self, _personality: Value) {}

    fn cleanup_landing_pad(&mut self, _personality: Value) -> (Value, Value) {
        (
            self.const_undef(self.type_ptr()),
            self.const_undef(self.type_i32()),
        )
    }

    fn filter_landing_pad(&mut self, _personality: Value) {}

    fn resume(&mut self, _exn0: Value, _exn1: Value) {
        self.unreachable();
    }

    fn cleanup_pad(&mut self, _parent: Option<Value>, _args: &[Value]) {}

    fn cleanup_ret(&mut self, _funclet: &(), _unwind: Option<Block>) {
        self.unreachable();
    }

    fn catch_pad(&mut self, _parent: Value, _args: &[Value]) {}

    fn catch_switch(
        &mut self,
        _parent: Option<Value>,
        _unwind: Option<Block>,
        _handlers: &[Block],
    ) -> Value {
        self.const_undef(self.type_ptr())
    }

    fn get_funclet_cleanuppad(&self, _funclet: &()) -> Value {
        self.const_undef(self.type_ptr())
    }

    fn atomic_cmpxchg(
        &mut self,
        dst: Value,
        expected: Value,
        new: Value,
        success: AtomicOrdering,
        failure: AtomicOrdering,
        _weak: bool,
    ) -> (Value, Value) {
        let orderings = (ordering(success), ordering(failure));
        let pair = self.ir(|b| b.cmpxchg(dst, expected, new, orderings, Scope::System));
        (self.extract_value(pair, 0), self.extract_value(pair, 1))
    }

    fn atomic_rmw(
        &mut self,
        op: AtomicRmwBinOp,
        dst: Value,
        src: Value,
        order: AtomicOrdering,
        ret_ptr: bool,
    ) -> Value {
        let op = match op {
            AtomicRmwBinOp::AtomicXchg => RmwOp::Xchg,
            AtomicRmwBinOp::AtomicAdd => RmwOp::Add,
            AtomicRmwBinOp::AtomicSub => RmwOp::Sub,
            AtomicRmwBinOp::AtomicAnd => RmwOp::And,
            AtomicRmwBinOp::AtomicNand => RmwOp::Nand,
            AtomicRmwBinOp::AtomicOr => RmwOp::Or,
            AtomicRmwBinOp::AtomicXor => RmwOp::Xor,
            AtomicRmwBinOp::AtomicMax => RmwOp::Max,
            AtomicRmwBinOp::AtomicMin => RmwOp::Min,
            AtomicRmwBinOp::AtomicUMax => RmwOp::UMax,
            AtomicRmwBinOp::AtomicUMin => RmwOp::UMin,
        };
        let old = self.ir(|b| b.atomic_rmw(op, dst, src, ordering(order), Scope::System));
        let ptr = self.type_ptr();
        if ret_ptr && self.val_ty(old) != ptr {
            self.inttoptr(old, ptr)
        } else {
            old
        }
    }

    fn atomic_fence(&mut self, order: AtomicOrdering, scope: SynchronizationScope) {
        match scope {
            // Only a compiler fence: an empty asm with a memory clobber.
            SynchronizationScope::SingleThread => {
                let void = self.void();
                let asm = nvvm_ir::InlineAsm {
                    template: String::new(),
                    constraints: "~{memory}".to_owned(),
                    side_effects: true,
                    convergent: false,
                    read_none: false,
                };
                self.ir(|b| b.asm(asm, void, &[]));
            }
            SynchronizationScope::CrossThread => {
                self.ir(|b| b.fence(ordering(order), Scope::System));
            }
        }
    }

    fn set_invariant_load(&mut self, load: Value) {
        let mut module = self.cx.module.borrow_mut();
        if let Some(InstKind::Load { access, .. }) = module.inst_mut(load).map(|i| &mut i.kind) {
            access.invariant = true;
        }
    }

    fn lifetime_start(&mut self, ptr: Value, size: Size) {
        self.lifetime(Intrinsic::LifetimeStart, ptr, size);
    }

    fn lifetime_end(&mut self, ptr: Value, size: Size) {
        self.lifetime(Intrinsic::LifetimeEnd, ptr, size);
    }

    fn call(
        &mut self,
        sig: Type,
        _caller_attrs: Option<&CodegenFnAttrs>,
        fn_abi: Option<&FnAbi<'tcx, Ty<'tcx>>>,
        func: Value,
        return_slot: ReturnSlot<Value>,
        args: &[Value],
        _funclet: Option<&()>,
        instance: Option<Instance<'tcx>>,
    ) -> Value {
        if let Some(&known) = self.cx.single_source.known.borrow().get(&func) {
            return self.const_bool(known);
        }
        let call = crate::plain_panics::call(self, func, args)
            .unwrap_or_else(|| self.emit_call(sig, fn_abi, func, return_slot, args, false));
        if let Some(instance) = instance {
            crate::virtual_calls::note(self.cx, call, func, instance);
            let mut locations = self.cx.locations.borrow_mut();
            locations.note_call(self.tcx, call, self.block, self.span);
        } else if fn_abi.is_some_and(|abi| abi.conv == CanonAbi::Rust) {
            crate::virtual_calls::note_pointer(self.cx, call, func);
        }
        call
    }

    fn tail_call(
        &mut self,
        sig: Type,
        _caller_attrs: Option<&CodegenFnAttrs>,
        fn_abi: &FnAbi<'tcx, Ty<'tcx>>,
        func: Value,
        return_slot: ReturnSlot<Value>,
        args: &[Value],
        _funclet: Option<&()>,
        _instance: Option<Instance<'tcx>>,
    ) {
        let value = self.emit_call(sig, Some(fn_abi), func, return_slot, args, true);
        let void = self.void();
        if self.val_ty(value) == void {
            self.ret_void()
        } else {
            self.ret(value)
        }
    }

    fn apply_attrs_to_cleanup_callsite(&mut self, _call: Value) {}
}

impl<'a, 'tcx> Builder<'a, 'tcx> {
    /// Calls a function whose result is not returned in memory.
    pub(crate) fn emit_direct_call(
        &mut self,
        sig: Type,
        fn_abi: &FnAbi<'tcx, Ty<'tcx>>,
        func: Value,
        args: &[Value],
    ) -> Value {
        self.emit_call(sig, Some(fn_abi), func, ReturnSlot::Direct, args, false)
    }

    fn emit_call(
        &mut self,
        sig: Type,
        fn_abi: Option<&FnAbi<'tcx, Ty<'tcx>>>,
        func: Value,
        return_slot: ReturnSlot<Value>,
        args: &[Value],
        musttail: bool,
    ) -> Value {
        let mut all = Vec::with_capacity(args.len() + 1);
        if let ReturnSlot::Indirect(slot) = return_slot {
            all.push(slot);
        }
        all.extend_from_slice(args);
        let (mut arg_attrs, ret_attrs) = fn_abi
            .map(|abi| crate::abi::attributes(self.cx, abi))
            .unwrap_or_default();
        if arg_attrs.len() < all.len() {
            arg_attrs.resize(all.len(), ParamAttrs::default());
        }
        let noreturn = fn_abi.is_some_and(|abi| abi.ret.layout.is_uninhabited());
        self.ir(|b| {
            // The pass `convergence` sets `convergent`, since it knows what the callee reaches.
            b.call_with(Call {
                arg_attrs,
                ret_attrs,
                noreturn,
                musttail,
                ..Call::new(Callee::Value(func), sig, all)
            })
        })
    }

    fn copy(
        &mut self,
        intrinsic: Intrinsic,
        (dst, dst_align): (Value, Align),
        (src, src_align): (Value, Align),
        size: Value,
        flags: MemFlags,
    ) {
        let i64 = self.type_i64();
        let size = self.intcast(size, i64, false);
        let volatile = self.const_bool(flags.contains(MemFlags::VOLATILE));
        let attrs = vec![
            aligned(dst_align),
            aligned(src_align),
            ParamAttrs::default(),
            ParamAttrs::default(),
        ];
        self.call_intrinsic(intrinsic, &[dst, src, size, volatile], attrs);
    }

    fn call_intrinsic(&mut self, intrinsic: Intrinsic, args: &[Value], arg_attrs: Vec<ParamAttrs>) {
        self.ir(|b| {
            let void = b.module.types.void();
            let sig = b.module.signature(void, args);
            b.call_with(Call {
                arg_attrs,
                ..Call::new(Callee::Intrinsic(intrinsic), sig, args.to_vec())
            })
        });
    }

    fn lifetime(&mut self, intrinsic: Intrinsic, ptr: Value, size: Size) {
        if !self.optimizes() || size.bytes() == 0 {
            return;
        }
        // LLVM accepts lifetime markers for whole allocas only.
        let is_alloca = matches!(
            self.cx.module.borrow().inst(ptr).map(|i| &i.kind),
            Some(InstKind::Alloca { .. })
        );
        if is_alloca {
            let size = self.const_i64(size.bytes() as i64);
            let void = self.void();
            self.intrinsic(intrinsic, void, &[size, ptr]);
        }
    }

    /// Loads one of the scalars of a pair, which is at `ptr`.
    fn load_half(
        &mut self,
        pair: TyAndLayout<'tcx>,
        index: usize,
        scalar: abi::Scalar,
        ptr: Value,
        align: Align,
    ) -> Value {
        let ty = self.scalar_pair_element_backend_type(pair, index, false);
        let load = self.load(ty, ptr, align);
        self.scalar_metadata(load, scalar);
        self.to_immediate_scalar(load, scalar)
    }

    /// Adds the value range that a load of a scalar is known to have.
    fn scalar_metadata(&mut self, load: Value, scalar: abi::Scalar) {
        if !self.optimizes() || scalar.is_always_valid(self) || scalar.is_uninit_valid() {
            return;
        }
        let range = scalar.valid_range(self);
        match scalar.primitive() {
            abi::Primitive::Int(..) => self.range_metadata(load, range),
            abi::Primitive::Pointer(_) if !range.contains(0) => self.nonnull_metadata(load),
            _ => {}
        }
    }

    /// Reports code that cannot run on a GPU, at the current span. In a single-source session,
    /// emits a call that makes it an error only if it is reached.
    pub(crate) fn unsupported(&self, what: &str) {
        if let Some(func) = self.cx.refuse(self.span, what) {
            let sig = self.cx.ty(|types| {
                let void = types.void();
                types.func(void, &[], false)
            });
            self.ir(|b| b.call(sig, func, &[]));
        }
    }
}

fn aligned(align: Align) -> ParamAttrs {
    ParamAttrs {
        align: align.bytes(),
        ..ParamAttrs::default()
    }
}

fn ordering(order: AtomicOrdering) -> Ordering {
    match order {
        AtomicOrdering::Relaxed => Ordering::Relaxed,
        AtomicOrdering::Release => Ordering::Release,
        AtomicOrdering::Acquire => Ordering::Acquire,
        AtomicOrdering::AcqRel => Ordering::AcqRel,
        AtomicOrdering::SeqCst => Ordering::SeqCst,
    }
}

fn int_pred(pred: IntPredicate) -> nvvm_ir::IntPred {
    use nvvm_ir::IntPred::*;
    match pred {
        IntPredicate::IntEQ => Eq,
        IntPredicate::IntNE => Ne,
        IntPredicate::IntUGT => Ugt,
        IntPredicate::IntUGE => Uge,
        IntPredicate::IntULT => Ult,
        IntPredicate::IntULE => Ule,
        IntPredicate::IntSGT => Sgt,
        IntPredicate::IntSGE => Sge,
        IntPredicate::IntSLT => Slt,
        IntPredicate::IntSLE => Sle,
    }
}

fn float_pred(pred: RealPredicate) -> nvvm_ir::FloatPred {
    use nvvm_ir::FloatPred::*;
    match pred {
        RealPredicate::RealPredicateFalse => False,
        RealPredicate::RealOEQ => Oeq,
        RealPredicate::RealOGT => Ogt,
        RealPredicate::RealOGE => Oge,
        RealPredicate::RealOLT => Olt,
        RealPredicate::RealOLE => Ole,
        RealPredicate::RealONE => One,
        RealPredicate::RealORD => Ord,
        RealPredicate::RealUNO => Uno,
        RealPredicate::RealUEQ => Ueq,
        RealPredicate::RealUGT => Ugt,
        RealPredicate::RealUGE => Uge,
        RealPredicate::RealULT => Ult,
        RealPredicate::RealULE => Ule,
        RealPredicate::RealUNE => Une,
        RealPredicate::RealPredicateTrue => True,
    }
}
