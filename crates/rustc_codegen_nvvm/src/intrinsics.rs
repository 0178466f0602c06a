//! Rust intrinsics that `rustc_codegen_ssa` leaves to the backend.
//!
//! Intrinsics that are not listed here use the fallback body from core.

use nvvm_ir::{InlineAsm, Intrinsic, Type, Value};
use rustc_abi::{Align, BackendRepr, Float, Primitive};
use rustc_codegen_ssa::RetagInfo;
use rustc_codegen_ssa::common::IntPredicate;
use rustc_codegen_ssa::mir::IntrinsicResult;
use rustc_codegen_ssa::mir::operand::{OperandRef, OperandValue};
use rustc_codegen_ssa::mir::place::{PlaceRef, PlaceValue};
use rustc_codegen_ssa::traits::*;
use rustc_middle::ty::layout::{HasTypingEnv, LayoutOf, TyAndLayout};
use rustc_middle::ty::{self, Instance};
use rustc_span::{Span, Symbol, sym};

use crate::builder::Builder;
use crate::device_functions;

/// The function of compiler-builtins for `powi` of `f128`.
pub(crate) const POWI_F128: &str = "__powitf2";

type Operand<'tcx> = OperandRef<'tcx, Value>;

impl<'a, 'tcx> Builder<'a, 'tcx> {
    fn float_kind(&self, ty: ty::Ty<'tcx>) -> Option<Float> {
        match ty.kind() {
            ty::Float(ty::FloatTy::F16) => Some(Float::F16),
            ty::Float(ty::FloatTy::F32) => Some(Float::F32),
            ty::Float(ty::FloatTy::F64) => Some(Float::F64),
            ty::Float(ty::FloatTy::F128) => Some(Float::F128),
            _ => None,
        }
    }

    /// Calls a libdevice function, given its name for `f64`. The name for `f32` has the suffix `f`;
    /// `f16` is computed as `f32`.
    fn libdevice(&mut self, name: &str, float: Float, args: &[Value]) -> Value {
        match float {
            Float::F32 => {
                let ty = self.type_f32();
                self.call_named(&format!("__nv_{name}f"), ty, args)
            }
            Float::F16 => {
                let f32 = self.type_f32();
                let f16 = self.type_f16();
                let wide: Vec<Value> = args
                    .iter()
                    .map(|&a| {
                        if self.val_ty(a) == f16 {
                            self.fpext(a, f32)
                        } else {
                            a
                        }
                    })
                    .collect();
                let result = self.call_named(&format!("__nv_{name}f"), f32, &wide);
                self.fptrunc(result, f16)
            }
            Float::F64 => {
                let ty = self.type_f64();
                self.call_named(&format!("__nv_{name}"), ty, args)
            }
            _ => {
                self.unsupported(&format!("`{name}` for `f128`"));
                let ty = self.val_ty(args[0]);
                self.const_undef(ty)
            }
        }
    }

    /// Calls a function of compiler-builtins.
    fn builtin(&mut self, symbol: &str, ret: Type, args: &[Value]) -> Value {
        if let Some(&definition) = self.cx.symbols.get(&Symbol::intern(symbol)) {
            // Requires the function. It has the symbol as its name in the module.
            self.cx.get_fn(Instance::mono(self.tcx, definition));
        }
        self.call_named(symbol, ret, args)
    }

    /// Calls a libdevice function on values of a Rust float type.
    pub(crate) fn libdevice_of(
        &mut self,
        name: &str,
        ty: ty::Ty<'tcx>,
        args: &[Value],
    ) -> Option<Value> {
        let float = self.float_kind(ty)?;
        Some(self.libdevice(name, float, args))
    }

    fn float_math(&mut self, name: Symbol, args: &[Operand<'tcx>]) -> Option<Value> {
        let float = self.float_kind(args.first()?.layout.ty)?;
        let values: Vec<Value> = args.iter().map(|a| a.immediate()).collect();
        let ty = self.val_ty(values[0]);
        let direct = |this: &mut Self, intrinsic| this.intrinsic(intrinsic, ty, &values);
        let text = name.as_str();
        Some(match text {
            "fabs" => direct(self, Intrinsic::Fabs),
            "sqrt" => direct(self, Intrinsic::Sqrt),
            "fma" => direct(self, Intrinsic::Fma),
            "floor" => direct(self, Intrinsic::Floor),
            "ceil" => direct(self, Intrinsic::Ceil),
            "trunc" => direct(self, Intrinsic::Trunc),
            "round" => direct(self, Intrinsic::Round),
            "round_ties_even" => direct(self, Intrinsic::Rint),
            "fmuladd" => {
                let product = self.fmul(values[0], values[1]);
                self.fadd(product, values[2])
            }
            "powf" => self.libdevice("pow", float, &values),
            "exp" | "exp2" | "log" | "log10" | "log2" | "sin" | "cos" => {
                self.libdevice(text, float, &values)
            }
            "powi" if float == Float::F128 => self.builtin(POWI_F128, ty, &values),
            "powi" => self.libdevice("powi", float, &values),
            "copysignf16" | "copysignf32" | "copysignf64" | "copysignf128" => {
                direct(self, Intrinsic::Copysign)
            }
            "minimumf16" | "minimumf32" | "minimumf64" | "minimumf128" => {
                direct(self, Intrinsic::Minimum)
            }
            "maximumf16" | "maximumf32" | "maximumf64" | "maximumf128" => {
                direct(self, Intrinsic::Maximum)
            }
            _ if text.starts_with("minimum_number_nsz") => direct(self, Intrinsic::MinNum),
            _ if text.starts_with("maximum_number_nsz") => direct(self, Intrinsic::MaxNum),
            _ => return None,
        })
    }

    fn integer_math(
        &mut self,
        name: Symbol,
        args: &[Operand<'tcx>],
        result: TyAndLayout<'tcx>,
    ) -> Option<Value> {
        let ty = args.first()?.layout.ty;
        if !ty.is_integral() {
            return None;
        }
        let (size, signed) = ty.int_size_and_signed(self.tcx);
        let values: Vec<Value> = args.iter().map(|a| a.immediate()).collect();
        let int = self.val_ty(values[0]);
        Some(match name {
            sym::ctlz | sym::ctlz_nonzero | sym::cttz | sym::cttz_nonzero => {
                let nonzero = matches!(name, sym::ctlz_nonzero | sym::cttz_nonzero);
                let nonzero = self.const_bool(nonzero);
                let intrinsic = match name {
                    sym::ctlz | sym::ctlz_nonzero => Intrinsic::Ctlz,
                    _ => Intrinsic::Cttz,
                };
                let count = self.intrinsic(intrinsic, int, &[values[0], nonzero]);
                let ty = self.backend_type(result);
                self.intcast(count, ty, false)
            }
            sym::ctpop => self.ctpop(values[0]),
            sym::bswap if size.bytes() == 1 => values[0],
            sym::bswap => self.intrinsic(Intrinsic::Bswap, int, &values),
            sym::bitreverse => self.intrinsic(Intrinsic::Bitreverse, int, &values),
            sym::integer_min | sym::integer_max => {
                let intrinsic = match (name, signed) {
                    (sym::integer_max, false) => Intrinsic::UMax,
                    (sym::integer_max, true) => Intrinsic::SMax,
                    (_, false) => Intrinsic::UMin,
                    (_, true) => Intrinsic::SMin,
                };
                self.intrinsic(intrinsic, int, &values)
            }
            sym::unchecked_funnel_shl | sym::unchecked_funnel_shr => {
                let intrinsic = if name == sym::unchecked_funnel_shl {
                    Intrinsic::Fshl
                } else {
                    Intrinsic::Fshr
                };
                let shift = self.intcast(values[2], int, false);
                self.intrinsic(intrinsic, int, &[values[0], values[1], shift])
            }
            sym::saturating_add | sym::saturating_sub => {
                let intrinsic = match (name, signed) {
                    (sym::saturating_add, false) => Intrinsic::UAddSat,
                    (sym::saturating_add, true) => Intrinsic::SAddSat,
                    (_, false) => Intrinsic::USubSat,
                    (_, true) => Intrinsic::SSubSat,
                };
                self.intrinsic(intrinsic, int, &values)
            }
            _ => return None,
        })
    }

    /// Calls C's `memcmp`, which the backend defines in the module.
    fn memcmp(&mut self, a: Value, b: Value, size: Value) -> Value {
        let i32 = self.type_i32();
        device_functions::memcmp(self.cx);
        self.call_named(device_functions::MEMCMP, i32, &[a, b, size])
    }

    fn raw_eq(&mut self, layout: TyAndLayout<'tcx>, a: Value, b: Value) -> Value {
        let bytes = layout.size.bytes();
        if bytes == 0 {
            return self.const_bool(true);
        }
        if matches!(bytes, 1 | 2 | 4 | 8 | 16) {
            let int = self.int(bytes * 8);
            let a = self.load(int, a, layout.align.abi);
            let b = self.load(int, b, layout.align.abi);
            return self.icmp(IntPredicate::IntEQ, a, b);
        }
        let size = self.const_usize(bytes);
        let order = self.memcmp(a, b, size);
        let zero = self.const_i32(0);
        self.icmp(IntPredicate::IntEQ, order, zero)
    }

    /// Emits an empty inline assembly that optimizers must assume to read and write the memory.
    fn black_box(&mut self, place: Option<Value>) {
        let void = self.cx.ty(|t| t.void());
        let mut constraints = "~{memory}".to_owned();
        let mut args = Vec::new();
        if let Some(ptr) = place {
            let i64 = self.type_i64();
            args.push(self.ptrtoint(ptr, i64));
            constraints.insert_str(0, "l,");
        }
        let asm = InlineAsm {
            template: String::new(),
            constraints,
            side_effects: true,
            convergent: false,
            read_none: false,
        };
        self.ir(|b| b.asm(asm, void, &args));
    }

    fn asm_statement(&mut self, template: &str) {
        let void = self.cx.ty(|t| t.void());
        let asm = InlineAsm {
            template: template.to_owned(),
            constraints: "~{memory}".to_owned(),
            side_effects: true,
            convergent: true,
            read_none: false,
        };
        self.ir(|b| b.asm(asm, void, &[]));
    }

    fn volatile_read(
        &mut self,
        name: Symbol,
        ptr: Value,
        layout: TyAndLayout<'tcx>,
        place: Option<PlaceValue<Value>>,
    ) -> IntrinsicResult<'tcx, Value> {
        if layout.is_zst() {
            return IntrinsicResult::Operand(OperandValue::ZeroSized);
        }
        let align = if name == sym::volatile_load {
            layout.align.abi
        } else {
            Align::ONE
        };
        if let BackendRepr::Scalar(scalar) = layout.backend_repr {
            let ty = self.backend_type(layout);
            let load = self.volatile_load(ty, ptr, align);
            let value = self.to_immediate_scalar(load, scalar);
            return IntrinsicResult::Operand(OperandValue::Immediate(value));
        }
        let temp = match place {
            Some(place) => PlaceRef { val: place, layout },
            None => PlaceRef::alloca(self, layout),
        };
        // Loads the largest aligned chunks.
        let unit = align.bytes().min(8);
        let mut offset = 0;
        while offset < layout.size.bytes() {
            let mut size = unit;
            while size > layout.size.bytes() - offset {
                size /= 2;
            }
            let int = self.int(size * 8);
            let at = self.const_usize(offset);
            let from = self.inbounds_ptradd(ptr, at);
            let to = self.inbounds_ptradd(temp.val.llval, at);
            let align = Align::from_bytes(size).expect("a power of two");
            let value = self.volatile_load(int, from, align);
            self.store(value, to, align.min(temp.val.align));
            offset += size;
        }
        match place {
            Some(_) => IntrinsicResult::WroteIntoPlace,
            None => IntrinsicResult::Operand(self.load_operand(temp).val),
        }
    }

    /// `catch_unwind` without unwinding is just the call.
    fn call_without_catching(&mut self, function: Value, data: Value) -> Value {
        let (void, ptr) = (self.cx.ty(|t| t.void()), self.type_ptr());
        let sig = self.type_func(&[ptr], void);
        self.ir(|b| b.call(sig, function, &[data]));
        self.const_i32(0)
    }
}

impl<'a, 'tcx> Builder<'a, 'tcx> {
    /// Handles an x86 instruction in a single-source program. An instruction of the x86-64 baseline
    /// without an equivalent is an error. Any other is guarded by feature detection, which finds no
    /// features on the device, so the program that reaches it panics.
    fn intrinsic_of_x86(&mut self, name: &str, ret: Type, args: &[Value]) -> Value {
        if let Some(value) = self.sse(name, ret, args) {
            return value;
        }
        if let Some(value) = self.carries_of_x86(name, ret, args) {
            return value;
        }
        const BASELINE: [&str; 5] = ["fxrstor", "fxsave", "rdtsc", "sse.", "sse2."];
        let baseline = BASELINE.iter().any(|start| name.starts_with(start));
        match name {
            "sse2.pause" | "xgetbv" => {}
            _ if baseline => self.unsupported(&format!("the instruction `{name}` of x86")),
            _ => self.panic_at_instruction(name),
        }
        let void = self.cx.ty(|types| types.void());
        match ret == void {
            true => self.const_undef(self.type_i32()),
            false => self.const_null(ret),
        }
    }
}

impl<'a, 'tcx> Builder<'a, 'tcx> {
    /// Panics with a message that names the instruction, or traps if the program has no panic
    /// handler.
    fn panic_at_instruction(&mut self, name: &str) {
        let symbol = Symbol::intern("__cuda_std_missing_instruction");
        if let Some(&definition) = self.cx.symbols.get(&symbol) {
            let function = Instance::mono(self.tcx, definition);
            let abi = self.cx.fn_abi_of_instance(function, ty::List::empty());
            let signature = crate::abi::signature(self.cx, abi);
            let function = self.cx.get_fn(function);
            let message = format!("the instruction `{name}` of x86 does not exist on a GPU");
            let (address, len) = self.const_str(&message);
            let args = [address, len];
            self.call(
                signature,
                None,
                None,
                function,
                ReturnSlot::Direct,
                &args,
                None,
                None,
            );
        }
        self.abort_immediate();
    }

    fn intrinsic_call(
        &mut self,
        name: Symbol,
        instance: Instance<'tcx>,
        args: &[Operand<'tcx>],
        result_layout: TyAndLayout<'tcx>,
        result_place: Option<PlaceValue<Value>>,
    ) -> IntrinsicResult<'tcx, Value> {
        match name {
            sym::breakpoint => {
                self.asm_statement("brkpt;");
                return IntrinsicResult::Operand(OperandValue::ZeroSized);
            }
            sym::volatile_load | sym::unaligned_volatile_load => {
                return self.volatile_read(name, args[0].immediate(), result_layout, result_place);
            }
            sym::prefetch_read_data
            | sym::prefetch_write_data
            | sym::prefetch_read_instruction
            | sym::prefetch_write_instruction => {
                return IntrinsicResult::Operand(OperandValue::ZeroSized);
            }
            sym::black_box => {
                let place = result_place.expect("black_box asks for a place");
                let result = PlaceRef {
                    val: place,
                    layout: result_layout,
                };
                args[0].val.store(self, result);
                self.black_box((!result_layout.is_zst()).then_some(place.llval));
                return IntrinsicResult::WroteIntoPlace;
            }
            _ => {}
        }
        let value = self
            .float_math(name, args)
            .or_else(|| self.integer_math(name, args, result_layout))
            .or_else(|| self.intrinsic_value(name, instance, args, result_layout));
        let value = match value {
            Some(value) => value,
            None if self.has_fallback(name, instance) => {
                let fallback = Instance::new_raw(instance.def_id(), instance.args);
                return IntrinsicResult::Fallback(fallback);
            }
            None => {
                self.unsupported(&format!("the intrinsic `{name}`"));
                if result_layout.is_zst() || result_layout.is_uninhabited() {
                    return IntrinsicResult::Operand(OperandValue::ZeroSized);
                }
                let ty = self.immediate_backend_type(result_layout);
                self.const_undef(ty)
            }
        };
        let void = self.cx.ty(|t| t.void());
        if result_layout.is_zst() || self.val_ty(value) == void {
            return IntrinsicResult::Operand(OperandValue::ZeroSized);
        }
        if let BackendRepr::Memory { .. } = result_layout.backend_repr {
            self.store_to_place(value, result_place.expect("a place for a result in memory"));
            return IntrinsicResult::WroteIntoPlace;
        }
        IntrinsicResult::Operand(
            OperandRef::from_immediate_or_packed_pair(self, value, result_layout).val,
        )
    }

    /// Returns whether core has a body for an intrinsic that the backend does not lower itself.
    fn has_fallback(&self, name: Symbol, instance: Instance<'tcx>) -> bool {
        let intrinsic = self.tcx.intrinsic(instance.def_id());
        let needs_backend = intrinsic.is_some_and(|intrinsic| intrinsic.must_be_overridden);
        !needs_backend && !name.as_str().starts_with("simd_")
    }

    /// Returns the result of an intrinsic that is not one of mathematics.
    fn intrinsic_value(
        &mut self,
        name: Symbol,
        instance: Instance<'tcx>,
        args: &[Operand<'tcx>],
        result_layout: TyAndLayout<'tcx>,
    ) -> Option<Value> {
        Some(match name {
            sym::is_val_statically_known => match args[0].layout.backend_repr {
                BackendRepr::Scalar(scalar)
                    if matches!(scalar.primitive(), Primitive::Int(..)) && self.optimizes() =>
                {
                    let bool = self.cx.ty(|t| t.int(1));
                    self.intrinsic(Intrinsic::IsConstant, bool, &[args[0].immediate()])
                }
                _ => self.const_bool(false),
            },
            sym::ptr_mask => {
                let i64 = self.type_i64();
                let address = self.ptrtoint(args[0].immediate(), i64);
                let masked = self.and(address, args[1].immediate());
                let ty = self.type_ptr();
                self.inttoptr(masked, ty)
            }
            sym::catch_unwind => {
                self.call_without_catching(args[0].immediate(), args[1].immediate())
            }
            sym::raw_eq => {
                let layout = self.layout_of(instance.args.type_at(0));
                self.raw_eq(layout, args[0].immediate(), args[1].immediate())
            }
            sym::compare_bytes => self.memcmp(
                args[0].immediate(),
                args[1].immediate(),
                args[2].immediate(),
            ),
            sym::return_address => {
                let ty = self.type_ptr();
                self.const_null(ty)
            }
            _ if name.as_str().starts_with("simd_") => {
                crate::simd::intrinsic(self, name, instance, args, result_layout)?
            }
            _ => return None,
        })
    }
}

impl<'a, 'tcx> IntrinsicCallBuilderMethods<'tcx> for Builder<'a, 'tcx> {
    fn codegen_intrinsic_call(
        &mut self,
        instance: Instance<'tcx>,
        args: &[Operand<'tcx>],
        result_layout: TyAndLayout<'tcx>,
        result_place: Option<PlaceValue<Value>>,
        span: Span,
    ) -> IntrinsicResult<'tcx, Value> {
        let name = self.tcx.item_name(instance.def_id());
        let outer_span = std::mem::replace(&mut self.span, span);
        let result = self.intrinsic_call(name, instance, args, result_layout, result_place);
        self.span = outer_span;
        result
    }

    fn codegen_llvm_intrinsic_call(
        &mut self,
        instance: Instance<'tcx>,
        args: &[Operand<'tcx>],
        _is_cleanup: bool,
    ) -> Value {
        // Intrinsics have no ABI: their types are those of the declaration.
        let sig = instance.ty(self.tcx, self.typing_env()).fn_sig(self.tcx);
        let sig = self.tcx.instantiate_bound_regions_with_erased(sig);
        let layout = self.layout_of(sig.output());
        let ret = if layout.is_zst() || layout.is_uninhabited() {
            self.cx.ty(|t| t.void())
        } else {
            self.immediate_backend_type(layout)
        };
        let mut values = Vec::new();
        for arg in args {
            match arg.val {
                OperandValue::ZeroSized => {}
                OperandValue::Immediate(value) => values.push(value),
                OperandValue::Pair(a, b) => values.extend([a, b]),
                OperandValue::Ref(place) => {
                    let ty = self.backend_type(arg.layout);
                    values.push(self.load(ty, place.llval, place.align));
                }
            }
        }
        let name = self.tcx.symbol_name(instance).name;
        if let Some(host) = name.strip_prefix("llvm.x86.") {
            return self.intrinsic_of_x86(host, ret, &values);
        }
        // The functions of `std::arch` that prefetch. A prefetch has no effect on results.
        if name.starts_with("llvm.prefetch.") {
            return self.const_undef(self.type_i32());
        }
        if let Some(template) = device_functions::intrinsic_as_ptx(name) {
            // A constant barrier number must be an immediate in PTX: with a register, ptxas
            // reserves all barriers.
            let constraint = |&value| match self.const_to_opt_uint(value) {
                Some(_) => "n,",
                None => "r,",
            };
            let constraints: String = values.iter().map(constraint).collect();
            let asm = InlineAsm {
                template: template.to_owned(),
                constraints: constraints + "~{memory}",
                side_effects: true,
                convergent: true,
                read_none: false,
            };
            return self.ir(|b| b.asm(asm, ret, &values));
        }
        // LLVM's target-independent intrinsics are legalized if libnvvm lacks them.
        if let Some(intrinsic) = Intrinsic::named(name)
            && intrinsic.signature().len() == values.len() + 1
        {
            return self.intrinsic(intrinsic, ret, &values);
        }
        let span = self.span;
        (self.intrinsic_spans.borrow_mut())
            .entry(name)
            .or_insert(span);
        device_functions::declare_intrinsic(self.cx, name, ret, &values);
        self.call_named(name, ret, &values)
    }

    fn abort_immediate(&mut self) {
        let void = self.cx.ty(|t| t.void());
        self.intrinsic(Intrinsic::Trap, void, &[]);
    }

    fn assume(&mut self, value: Value) {
        if self.optimizes() {
            let void = self.cx.ty(|t| t.void());
            self.intrinsic(Intrinsic::Assume, void, &[value]);
        }
    }

    fn expect(&mut self, cond: Value, expected: bool) -> Value {
        if !self.optimizes() {
            return cond;
        }
        let expected = self.const_bool(expected);
        let ty: Type = self.val_ty(cond);
        self.intrinsic(Intrinsic::Expect, ty, &[cond, expected])
    }

    fn ctpop(&mut self, value: Value) -> Value {
        let ty = self.val_ty(value);
        let count = self.intrinsic(Intrinsic::Ctpop, ty, &[value]);
        let i32 = self.type_i32();
        self.intcast(count, i32, false)
    }

    fn type_checked_load(&mut self, vtable: Value, offset: u64, _typeid: &[u8]) -> Value {
        let offset = self.const_usize(offset);
        let slot = self.inbounds_ptradd(vtable, offset);
        let ty = self.type_ptr();
        self.load(ty, slot, Align::from_bytes(8).expect("a power of two"))
    }

    fn va_start(&mut self, _list: Value) {
        self.unsupported("C-variadic functions");
    }

    fn retag_mem(&mut self, _place: Value, _info: &RetagInfo<Value>) {}

    fn retag_reg(&mut self, ptr: Value, _info: &RetagInfo<Value>) -> Value {
        ptr
    }
}
